//! The object journal: an append-only chain of extents with a sequence and checksum per record.
//!
//! Nothing that was written is ever written again: an extent's header is final, and the way to the
//! next extent is itself a record, the link, at the end of what the extent holds. So a journal can
//! always be read up to any [`JournalPosition`] that was taken from it, whatever was appended, or
//! half appended, after that.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bytes::{u32_at, u64_at};
use crate::{EXTENT_ALIGN, Extent, ImageArea, ImageError, JournalFault, SUPERBLOCK_LEN};

/// Longest payload of a record, bytes.
pub const MAX_JOURNAL_RECORD_LEN: u64 = 64 << 20;

/// Most extents in a chain.
pub const MAX_JOURNAL_EXTENTS: u64 = 4096;

/// The kind of links, not to be used for records.
pub const KIND_LINK: u32 = u32::MAX;

const MAGIC: u64 = u64::from_le_bytes(*b"HSPRJNL\x01");
const EXTENT_HEADER_LEN: u64 = 32;
const RECORD_HEADER_LEN: u64 = 24;
const LINK_PAYLOAD_LEN: u64 = 16;
const LINK_LEN: u64 = RECORD_HEADER_LEN + LINK_PAYLOAD_LEN;

/// Extents double up to this length, bytes.
const MAX_EXTENT_LEN: u64 = 4 << 20;

/// How far a journal goes: all that a reader needs, and enough to see that it got the right thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalPosition {
    /// The journal's id; checksums of its records cover it.
    pub journal_id: u64,
    /// The first extent of the chain.
    pub first: Extent,
    /// Records up to here, links not counted.
    pub records: u64,
    /// Their bytes with headers, padding and links, without extent headers.
    pub bytes: u64,
    /// Sequence of the last record; 0 before the first.
    pub last_sequence: u64,
    /// Checksum over the checksums of all records and links, in order.
    pub rolling_crc32: u32,
}

/// A record of a journal: a private copy, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalRecord {
    /// What the payload is; the journal's owner gives kinds their meaning.
    pub kind: u32,
    /// Place in the journal, counted from 1.
    pub sequence: u64,
    /// The bytes that were appended.
    pub payload: Vec<u8>,
}

/// The end of a journal, as both sides track it.
#[derive(Clone, Debug)]
struct Tail {
    position: JournalPosition,
    extents: Vec<Extent>,
    /// Where the next record goes, arena offset.
    cursor: u64,
}

impl Tail {
    fn advance(&mut self, crc32: u32, len: u64) {
        let rolling = self.position.rolling_crc32.to_le_bytes();
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&rolling);
        hasher.update(&crc32.to_le_bytes());
        self.position.rolling_crc32 = hasher.finalize();
        self.position.bytes += len;
        self.cursor += len;
    }

    /// End of the extent that the cursor is in. Extents were checked when they were entered.
    fn extent_end(&self) -> u64 {
        self.extents.last().map_or(0, |e| e.offset + e.len)
    }
}

/// Appends to a journal.
#[derive(Debug)]
pub struct JournalWriter {
    area: ImageArea,
    tail: Tail,
    scratch: Vec<u8>,
}

impl JournalWriter {
    /// Starts a journal. `alloc` hands out image extents of at least the length asked for (always a
    /// multiple of [`EXTENT_ALIGN`]) or none. `journal_id` should not have been used in this image
    /// before: then nothing old can pass for a record of it.
    ///
    /// # Errors
    /// [`ImageError::Full`], or [`ImageError::Journal`] when `alloc` hands out something unfit.
    pub fn new(
        area: &ImageArea,
        journal_id: u64,
        alloc: &mut dyn FnMut(u64) -> Option<u64>,
    ) -> Result<Self, ImageError> {
        let mut writer = Self {
            area: area.clone(),
            tail: Tail {
                position: JournalPosition {
                    journal_id,
                    first: Extent::default(),
                    records: 0,
                    bytes: 0,
                    last_sequence: 0,
                    rolling_crc32: 0,
                },
                extents: Vec::new(),
                cursor: 0,
            },
            scratch: Vec::new(),
        };
        let first = writer.new_extent(EXTENT_ALIGN, alloc)?;
        writer.tail.position.first = first;
        writer.enter(first);
        Ok(writer)
    }

    /// Goes on behind `position`, after all up to it has been verified. What lies behind is
    /// overwritten; extents that were chained there are the allocator's business.
    ///
    /// # Errors
    /// As [`JournalReader::open`].
    pub fn resume_from(area: &ImageArea, position: &JournalPosition) -> Result<Self, ImageError> {
        Ok(JournalReader::open(area, position)?.into_writer())
    }

    /// Appends a record and returns its sequence.
    ///
    /// # Errors
    /// [`ImageError::TooLarge`], [`ImageError::Full`], [`ImageError::Journal`] for a bad kind or
    /// extent. Nothing is appended then, and appending again is fine.
    pub fn append(
        &mut self,
        kind: u32,
        payload: &[u8],
        alloc: &mut dyn FnMut(u64) -> Option<u64>,
    ) -> Result<u64, ImageError> {
        if kind == KIND_LINK {
            return Err(self.fault(self.tail.cursor, JournalFault::Kind));
        }
        let len = payload.len() as u64;
        if len > MAX_JOURNAL_RECORD_LEN {
            return Err(ImageError::TooLarge {
                what: "Journal record",
                len,
                limit: MAX_JOURNAL_RECORD_LEN,
            });
        }
        let needed = record_len(len) + LINK_LEN;
        if self.tail.cursor + needed > self.tail.extent_end() {
            let in_use: u64 = self.tail.extents.iter().map(|e| e.len).sum();
            let wanted = (EXTENT_HEADER_LEN + needed)
                .next_multiple_of(EXTENT_ALIGN)
                .max(in_use.min(MAX_EXTENT_LEN) / EXTENT_ALIGN * EXTENT_ALIGN);
            let next = self.new_extent(wanted, alloc)?;
            let mut link = [0; LINK_PAYLOAD_LEN as usize];
            link[..8].copy_from_slice(&next.offset.to_le_bytes());
            link[8..].copy_from_slice(&next.len.to_le_bytes());
            self.put(KIND_LINK, self.tail.position.last_sequence, &link)?;
            self.enter(next);
        }
        let sequence = self.tail.position.last_sequence + 1;
        self.put(kind, sequence, payload)?;
        self.tail.position.records += 1;
        self.tail.position.last_sequence = sequence;
        Ok(sequence)
    }

    /// Where the journal ends now.
    pub fn position(&self) -> JournalPosition {
        self.tail.position
    }

    /// All extents of the chain, to be freed with the journal.
    pub fn extents(&self) -> &[Extent] {
        &self.tail.extents
    }

    /// Gets an extent and gives it its header; it isn't part of the chain yet.
    fn new_extent(
        &mut self,
        len: u64,
        alloc: &mut dyn FnMut(u64) -> Option<u64>,
    ) -> Result<Extent, ImageError> {
        if self.tail.extents.len() as u64 >= MAX_JOURNAL_EXTENTS {
            let fault = JournalFault::TooManyExtents(MAX_JOURNAL_EXTENTS);
            return Err(self.fault(self.tail.cursor, fault));
        }
        let offset = alloc(len).ok_or(ImageError::Full { wanted: len })?;
        let extent = Extent::new(offset, len);
        if !fits(&self.area, extent) {
            return Err(self.fault(offset, JournalFault::Extent(extent)));
        }
        let mut header = [0; EXTENT_HEADER_LEN as usize];
        header[..8].copy_from_slice(&MAGIC.to_le_bytes());
        header[8..16].copy_from_slice(&self.tail.position.journal_id.to_le_bytes());
        header[16..24].copy_from_slice(&len.to_le_bytes());
        header[24..28].copy_from_slice(&(self.tail.extents.len() as u32).to_le_bytes());
        let crc = crc32fast::hash(&header[..28]);
        header[28..].copy_from_slice(&crc.to_le_bytes());
        self.area.write(offset, &header)?;
        Ok(extent)
    }

    fn enter(&mut self, extent: Extent) {
        self.tail.cursor = extent.offset + EXTENT_HEADER_LEN;
        self.tail.extents.push(extent);
    }

    /// Writes a record or link at the cursor; the caller has made sure that it fits.
    fn put(&mut self, kind: u32, sequence: u64, payload: &[u8]) -> Result<(), ImageError> {
        let total = record_len(payload.len() as u64);
        self.scratch.clear();
        self.scratch
            .extend_from_slice(&(payload.len() as u32).to_le_bytes());
        self.scratch.extend_from_slice(&kind.to_le_bytes());
        self.scratch.extend_from_slice(&sequence.to_le_bytes());
        self.scratch.extend_from_slice(&[0; 8]);
        self.scratch.extend_from_slice(payload);
        self.scratch.resize(total as usize, 0);
        let crc32 = record_crc(self.tail.position.journal_id, &self.scratch);
        self.scratch[16..20].copy_from_slice(&crc32.to_le_bytes());
        self.area.write(self.tail.cursor, &self.scratch)?;
        self.tail.advance(crc32, total);
        Ok(())
    }

    fn fault(&self, offset: u64, fault: JournalFault) -> ImageError {
        ImageError::Journal {
            journal_id: self.tail.position.journal_id,
            offset,
            fault,
        }
    }
}

/// Reads a journal up to a position: verified as a whole first, then record by record once more, on
/// private copies. An iterator of records that ends after the first error.
#[derive(Debug)]
pub struct JournalReader {
    end: Tail,
    walk: Walk,
    done: bool,
}

impl JournalReader {
    /// Verifies everything up to `position`: headers, bounds, checksums, sequences, and that the
    /// chain has no loops and ends exactly there.
    ///
    /// # Errors
    /// [`ImageError::Journal`] with the first thing that is wrong.
    pub fn open(area: &ImageArea, position: &JournalPosition) -> Result<Self, ImageError> {
        let mut verify = Walk::new(area, position)?;
        while verify.step()?.is_some() {}
        Ok(Self {
            end: verify.tail,
            walk: Walk::new(area, position)?,
            done: false,
        })
    }

    /// All extents that the journal uses up to its position.
    pub fn extents(&self) -> &[Extent] {
        &self.end.extents
    }

    /// A writer that goes on where this reader's position ends.
    pub fn into_writer(self) -> JournalWriter {
        JournalWriter {
            area: self.walk.area,
            tail: self.end,
            scratch: Vec::new(),
        }
    }
}

impl Iterator for JournalReader {
    type Item = Result<JournalRecord, ImageError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let record = self.walk.step().transpose();
        self.done = !matches!(record, Some(Ok(_)));
        record
    }
}

/// One way through a journal, checking each step.
#[derive(Debug)]
struct Walk {
    area: ImageArea,
    target: JournalPosition,
    tail: Tail,
    /// Extents seen, offset to end.
    seen: BTreeMap<u64, u64>,
}

impl Walk {
    fn new(area: &ImageArea, target: &JournalPosition) -> Result<Self, ImageError> {
        let mut walk = Self {
            area: area.clone(),
            target: *target,
            tail: Tail {
                position: JournalPosition {
                    records: 0,
                    bytes: 0,
                    last_sequence: 0,
                    rolling_crc32: 0,
                    ..*target
                },
                extents: Vec::new(),
                cursor: target.first.offset,
            },
            seen: BTreeMap::new(),
        };
        walk.enter(target.first)?;
        Ok(walk)
    }

    /// The next record; none at the end, once that is the end that it should be.
    fn step(&mut self) -> Result<Option<JournalRecord>, ImageError> {
        if self.tail.position.records == self.target.records {
            return self.check_end().map(|()| None);
        }
        loop {
            let (kind, sequence, payload) = self.take()?;
            let last = self.tail.position.last_sequence;
            let is_link = kind == KIND_LINK;
            let expected = if is_link { last } else { last.wrapping_add(1) };
            if sequence != expected {
                return Err(self.fault(JournalFault::Sequence {
                    expected,
                    found: sequence,
                }));
            }
            if is_link {
                // `take` lets no link of another length through.
                let next = Extent::new(u64_at(&payload, 0), u64_at(&payload, 8));
                self.enter(next)?;
                continue;
            }
            self.tail.position.records += 1;
            self.tail.position.last_sequence = sequence;
            return Ok(Some(JournalRecord {
                kind,
                sequence,
                payload,
            }));
        }
    }

    /// Copies the record or link at the cursor out and checks the copy.
    fn take(&mut self) -> Result<(u32, u64, Vec<u8>), ImageError> {
        let room = (self.tail.extent_end() - self.tail.cursor)
            .min(self.target.bytes.saturating_sub(self.tail.position.bytes));
        if room < RECORD_HEADER_LEN {
            return Err(self.fault(JournalFault::RecordLen { len: 0 }));
        }
        let mut header = [0; RECORD_HEADER_LEN as usize];
        self.area.read(self.tail.cursor, &mut header)?;
        let len = u64::from(u32_at(&header, 0));
        let kind = u32_at(&header, 4);
        let total = record_len(len);
        let bad_link = kind == KIND_LINK && len != LINK_PAYLOAD_LEN;
        if len > MAX_JOURNAL_RECORD_LEN || total > room || bad_link {
            return Err(self.fault(JournalFault::RecordLen { len }));
        }
        let mut bytes = vec![0; total as usize];
        self.area.read(self.tail.cursor, &mut bytes)?;
        // One look only: the first copy of the header counts.
        bytes[..header.len()].copy_from_slice(&header);
        let expected = u32_at(&header, 16);
        bytes[16..20].fill(0);
        let found = record_crc(self.target.journal_id, &bytes);
        if expected != found {
            return Err(self.fault(JournalFault::Checksum { expected, found }));
        }
        self.tail.advance(found, total);
        bytes.truncate((RECORD_HEADER_LEN + len) as usize);
        bytes.drain(..RECORD_HEADER_LEN as usize);
        Ok((kind, u64_at(&header, 8), bytes))
    }

    fn enter(&mut self, extent: Extent) -> Result<(), ImageError> {
        if !fits(&self.area, extent) {
            return Err(self.fault(JournalFault::Extent(extent)));
        }
        let end = extent.offset + extent.len;
        let before = self.seen.range(..end).next_back();
        if before.is_some_and(|(_, before_end)| *before_end > extent.offset) {
            return Err(self.fault(JournalFault::Overlap(extent)));
        }
        let index = self.tail.extents.len() as u64;
        if index >= MAX_JOURNAL_EXTENTS {
            return Err(self.fault(JournalFault::TooManyExtents(MAX_JOURNAL_EXTENTS)));
        }
        let mut header = [0; EXTENT_HEADER_LEN as usize];
        self.area.read(extent.offset, &mut header)?;
        self.tail.cursor = extent.offset;
        let fields = [
            ("magic", MAGIC, u64_at(&header, 0)),
            (
                "checksum",
                u64::from(crc32fast::hash(&header[..28])),
                u64::from(u32_at(&header, 28)),
            ),
            ("journal id", self.target.journal_id, u64_at(&header, 8)),
            ("length", extent.len, u64_at(&header, 16)),
            ("index", index, u64::from(u32_at(&header, 24))),
        ];
        for (field, expected, found) in fields {
            if expected != found {
                return Err(self.fault(JournalFault::Header {
                    field,
                    expected,
                    found,
                }));
            }
        }
        self.seen.insert(extent.offset, end);
        self.tail.extents.push(extent);
        self.tail.cursor = extent.offset + EXTENT_HEADER_LEN;
        Ok(())
    }

    fn check_end(&self) -> Result<(), ImageError> {
        let (want, is) = (&self.target, &self.tail.position);
        let fields = [
            ("Bytes", want.bytes, is.bytes),
            ("Last sequence", want.last_sequence, is.last_sequence),
            (
                "Rolling checksum",
                u64::from(want.rolling_crc32),
                u64::from(is.rolling_crc32),
            ),
        ];
        for (field, expected, found) in fields {
            if expected != found {
                return Err(self.fault(JournalFault::End {
                    field,
                    expected,
                    found,
                }));
            }
        }
        Ok(())
    }

    fn fault(&self, fault: JournalFault) -> ImageError {
        ImageError::Journal {
            journal_id: self.target.journal_id,
            offset: self.tail.cursor,
            fault,
        }
    }
}

/// Bytes that a record of `len` payload bytes takes. `len` is a `u32` or checked: no overflow.
fn record_len(len: u64) -> u64 {
    RECORD_HEADER_LEN + len.next_multiple_of(8)
}

/// Over the journal id, then the record with its checksum field zero.
fn record_crc(journal_id: u64, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&journal_id.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize()
}

/// An aligned extent of the area, behind the superblock.
fn fits(area: &ImageArea, extent: Extent) -> bool {
    extent.len > 0
        && extent.offset.is_multiple_of(EXTENT_ALIGN)
        && extent.len.is_multiple_of(EXTENT_ALIGN)
        && extent.offset >= area.start() + 2 * SUPERBLOCK_LEN
        && area.check(extent.offset, extent.len).is_ok()
}
