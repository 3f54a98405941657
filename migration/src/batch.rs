//! Pages on their way: runs of pages with their bytes, and their form on the link.
//!
//! Payload of a `Pages` frame, little-endian: u32 number of runs; u32 form of the bytes (0 as they
//! are, 1 zstd); per run u32 block, u32 kind (0 bytes, 1 zero), u64 first page, u64 pages; then the
//! bytes of all runs that have some, in order.

use crate::error::{Context, Error, Result};
use crate::stream::PAGE_BYTES;

/// A batch is closed when it holds so many bytes of pages.
pub const BATCH_BYTES: usize = 4 << 20;
/// A batch is closed when it holds so many runs.
pub const BATCH_RUNS: usize = 32 << 10;
const HEAD_BYTES: usize = 8;
const RUN_BYTES: usize = 24;
/// A compressed batch must save an eighth, or it is not worth the standby's time.
const WORTH_NUM: usize = 7;
const WORTH_DEN: usize = 8;

/// Successive pages of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Index of the block.
    pub block: u32,
    /// Whether all bytes are zero, and none are kept.
    pub zero: bool,
    /// First page, in pages from the block's start.
    pub first: u64,
    /// Pages.
    pub count: u64,
}

/// Runs and their bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// The runs, in the order of arrival: a later page wins over an earlier one.
    pub runs: Vec<Run>,
    /// Bytes of the runs that are not zero.
    pub data: Vec<u8>,
}

impl Batch {
    /// Whether it should be closed.
    pub fn full(&self) -> bool {
        self.data.len() >= BATCH_BYTES || self.runs.len() >= BATCH_RUNS
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Empties it and keeps its memory.
    pub fn clear(&mut self) {
        self.runs.clear();
        self.data.clear();
    }

    /// Adds a page with its bytes.
    pub fn page(&mut self, block: u32, page: u64, bytes: &[u8; PAGE_BYTES]) {
        self.extend(block, page, false);
        self.data.extend_from_slice(bytes);
    }

    /// Adds a zero page.
    pub fn zero(&mut self, block: u32, page: u64) {
        self.extend(block, page, true);
    }

    fn extend(&mut self, block: u32, page: u64, zero: bool) {
        if let Some(run) = self.runs.last_mut()
            && run.block == block
            && run.zero == zero
            && run.first + run.count == page
        {
            run.count += 1;
            return;
        }
        self.runs.push(Run {
            block,
            zero,
            first: page,
            count: 1,
        });
    }

    /// Each run with its bytes; none for zero runs.
    pub fn iter(&self) -> impl Iterator<Item = (Run, Option<&[u8]>)> {
        let mut rest = &self.data[..];
        self.runs.iter().map(move |&run| {
            if run.zero {
                return (run, None);
            }
            // Whoever built the batch added as many bytes as its runs say; decode() checks.
            let (bytes, after) = rest.split_at(run.count as usize * PAGE_BYTES);
            rest = after;
            (run, Some(bytes))
        })
    }
}

/// Makes payloads, and learns whether compression pays.
#[derive(Debug)]
pub struct Encoder {
    policy: Compress,
    /// Batches that are sent as they are before compression is tried again.
    skip: u32,
    runs: Vec<u8>,
    packed: Vec<u8>,
}

/// When pages are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Compress {
    /// When it saves enough; tried again now and then.
    Auto,
    /// Never.
    Never,
}

/// After a batch that did not shrink, so many go as they are.
const SKIP: u32 = 15;

impl Encoder {
    /// An encoder of this policy.
    pub fn new(policy: Compress) -> Self {
        Self {
            policy,
            skip: 0,
            runs: Vec::new(),
            packed: Vec::new(),
        }
    }

    /// The payload of a batch, in two parts.
    ///
    /// # Errors
    /// [`Error::Io`] when zstd fails.
    pub fn encode<'a>(&'a mut self, batch: &'a Batch) -> Result<(&'a [u8], &'a [u8])> {
        let packed = self.pack(&batch.data)?;
        self.runs.clear();
        let count = batch.runs.len() as u32;
        self.runs.extend_from_slice(&count.to_le_bytes());
        self.runs
            .extend_from_slice(&u32::from(packed).to_le_bytes());
        for run in &batch.runs {
            self.runs.extend_from_slice(&run.block.to_le_bytes());
            self.runs
                .extend_from_slice(&u32::from(run.zero).to_le_bytes());
            self.runs.extend_from_slice(&run.first.to_le_bytes());
            self.runs.extend_from_slice(&run.count.to_le_bytes());
        }
        let data = if packed { &self.packed } else { &batch.data };
        Ok((&self.runs, data))
    }

    fn pack(&mut self, data: &[u8]) -> Result<bool> {
        if self.policy == Compress::Never || data.is_empty() {
            return Ok(false);
        }
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(false);
        }
        self.packed
            .resize(zstd::zstd_safe::compress_bound(data.len()), 0);
        let len = zstd::bulk::compress_to_buffer(data, &mut self.packed, 1)
            .context(|| "compress pages".into())?;
        self.packed.truncate(len);
        let worth = len <= data.len() / WORTH_DEN * WORTH_NUM;
        if !worth {
            self.skip = SKIP;
        }
        Ok(worth)
    }
}

/// Reads a payload. `blocks` are the lengths of the blocks in pages.
///
/// # Errors
/// [`Error::Frame`] for a run outside its block, too many of anything, or bytes that don't fit.
pub fn decode(payload: &[u8], blocks: &[u64]) -> Result<Batch> {
    let fault = |what: &str| Error::Frame(format!("pages: {what}"));
    let (head, rest) = payload
        .split_at_checked(HEAD_BYTES)
        .ok_or_else(|| fault("no head"))?;
    let count = word(head, 0) as usize;
    let form = word(head, 4);
    if count > BATCH_RUNS || form > 1 {
        return Err(fault("too many runs, or an unknown form"));
    }
    let (table, bytes) = rest
        .split_at_checked(count * RUN_BYTES)
        .ok_or_else(|| fault("table is cut"))?;
    let mut batch = Batch::default();
    let mut pages = 0u64;
    for entry in table.chunks_exact(RUN_BYTES) {
        let run = Run {
            block: word(entry, 0),
            zero: word(entry, 4) == 1,
            first: u64::from(word(entry, 8)) | u64::from(word(entry, 12)) << 32,
            count: u64::from(word(entry, 16)) | u64::from(word(entry, 20)) << 32,
        };
        let len = blocks.get(run.block as usize).copied().unwrap_or(0);
        let end = run.first.checked_add(run.count);
        if run.count == 0 || word(entry, 4) > 1 || end.is_none_or(|end| end > len) {
            return Err(fault("run outside its block"));
        }
        if !run.zero {
            // Each count is at most a block's length, so this can't overflow in u64.
            pages += run.count;
        }
        if pages > (BATCH_BYTES / PAGE_BYTES) as u64 {
            return Err(fault("too many pages"));
        }
        batch.runs.push(run);
    }
    let wanted = pages as usize * PAGE_BYTES;
    batch.data = if form == 1 {
        zstd::bulk::decompress(bytes, wanted).context(|| "decompress pages".into())?
    } else {
        bytes.to_vec()
    };
    if batch.data.len() != wanted {
        return Err(fault("bytes don't fit the runs"));
    }
    Ok(batch)
}

/// The little-endian word at a place that the caller knows to be inside.
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKS: [u64; 2] = [100, 8];

    fn sample(noise: bool) -> Batch {
        let mut rng = crate::rng::Rng::new(3);
        let mut batch = Batch::default();
        for page in [5, 6, 7, 90] {
            let mut bytes = [page as u8; PAGE_BYTES];
            if noise {
                bytes.fill_with(|| rng.next() as u8);
            }
            batch.page(0, page, &bytes);
        }
        batch.zero(1, 2);
        batch.zero(1, 3);
        let mut last = [1; PAGE_BYTES];
        if noise {
            last.fill_with(|| rng.next() as u8);
        }
        batch.page(1, 4, &last);
        batch
    }

    fn payload(encoder: &mut Encoder, batch: &Batch) -> Vec<u8> {
        let (runs, data) = encoder.encode(batch).expect("encode");
        [runs, data].concat()
    }

    #[test]
    fn page_successive_pages_make_one_run() {
        let batch = sample(false);
        let counts: Vec<u64> = batch.runs.iter().map(|run| run.count).collect();
        assert_eq!(counts, [3, 1, 2, 1]);
    }

    #[test]
    fn decode_encoded_batch_is_the_same_with_and_without_compression() {
        for policy in [Compress::Auto, Compress::Never] {
            let batch = sample(false);
            let bytes = payload(&mut Encoder::new(policy), &batch);
            assert_eq!(bytes.len() < 1000, policy == Compress::Auto);
            assert_eq!(decode(&bytes, &BLOCKS).expect("decode"), batch);
        }
    }

    #[test]
    fn encode_noise_is_sent_as_it_is() {
        let batch = sample(true);
        let mut encoder = Encoder::new(Compress::Auto);
        let bytes = payload(&mut encoder, &batch);
        assert!(bytes.len() >= batch.data.len());
        assert_eq!(encoder.skip, SKIP);
        assert_eq!(decode(&bytes, &BLOCKS).expect("decode"), batch);
    }

    #[test]
    fn decode_run_outside_its_block_is_refused() {
        let mut batch = Batch::default();
        batch.zero(1, 8);
        let bytes = payload(&mut Encoder::new(Compress::Never), &batch);
        assert!(decode(&bytes, &BLOCKS).is_err());
        let unknown = decode(&bytes, &[]).expect_err("no such block");
        assert!(matches!(unknown, Error::Frame(_)));
    }

    #[test]
    fn decode_damaged_payload_never_panics() {
        let bytes = payload(&mut Encoder::new(Compress::Auto), &sample(false));
        let mut rng = crate::rng::Rng::new(9);
        for _ in 0..5000 {
            let mut damaged = bytes.clone();
            let at = rng.below(damaged.len() as u64) as usize;
            damaged[at] = rng.next() as u8;
            damaged.truncate(rng.below(bytes.len() as u64 + 1) as usize);
            if let Ok(batch) = decode(&damaged, &BLOCKS) {
                batch.iter().for_each(drop);
            }
        }
    }

    #[test]
    fn decode_claim_of_many_zero_runs_stays_small() {
        let mut bytes = u32::MAX.to_le_bytes().to_vec();
        bytes.extend_from_slice(&[0; 4]);
        assert!(decode(&bytes, &BLOCKS).is_err());
    }
}
