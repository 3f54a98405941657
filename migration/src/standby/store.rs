//! What the standby keeps of the VM: big blocks in the files that its QEMU maps, small ones and the
//! device state in memory.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use nix::fcntl::{FallocateFlags, fallocate};

use crate::batch::Batch;
use crate::error::{Context, Error, Result};
use crate::stream::{BLOCKS_MAX, Block, DEVICE_BYTES_MAX, PAGE_BYTES, RAM_BYTES_MAX};
use crate::synth::{self, SynthBlock};

/// Most bytes of all blocks that are kept in memory.
const MEMORY_BYTES_MAX: u64 = 512 << 20;

#[derive(Debug)]
enum Target {
    File(File),
    Memory(Vec<u8>),
}

/// The stored VM.
#[derive(Debug)]
pub struct Store {
    files: BTreeMap<String, PathBuf>,
    machine: String,
    blocks: Vec<Block>,
    targets: Vec<Target>,
    device: Vec<u8>,
}

impl Store {
    /// A store that is empty. `files` says which blocks are kept in which file, by the block's name
    /// or the last part of it.
    pub fn new(files: BTreeMap<String, PathBuf>) -> Self {
        Self {
            files,
            machine: String::new(),
            blocks: Vec::new(),
            targets: Vec::new(),
            device: Vec::new(),
        }
    }

    /// Begins a first state: all content becomes zero.
    ///
    /// # Errors
    /// [`Error::Frame`] for a list past the limits, or one without a block of `files`;
    /// [`Error::Io`] when a file can't be made.
    pub fn begin(&mut self, machine: String, blocks: Vec<Block>) -> Result<()> {
        check(&blocks)?;
        let mut targets = Vec::with_capacity(blocks.len());
        let mut in_memory = 0;
        let mut in_files = 0;
        for block in &blocks {
            let last = block.name.rsplit('/').next().unwrap_or(&block.name);
            let path = self.files.get(&block.name).or_else(|| self.files.get(last));
            let Some(path) = path else {
                in_memory += block.len;
                if in_memory > MEMORY_BYTES_MAX {
                    let name = &block.name;
                    return Err(Error::Frame(format!(
                        "block {name} needs a file of its own"
                    )));
                }
                targets.push(Target::Memory(vec![0; block.len as usize]));
                continue;
            };
            in_files += 1;
            targets.push(Target::File(empty_file(path, block.len)?));
        }
        if in_files != self.files.len() {
            return Err(Error::Frame("a configured block is not in the list".into()));
        }
        self.machine = machine;
        self.blocks = blocks;
        self.targets = targets;
        self.device.clear();
        Ok(())
    }

    /// Puts pages in place. The batch was decoded for this store's blocks.
    ///
    /// # Errors
    /// [`Error::Io`] when a file can't be written.
    pub fn apply(&mut self, batch: &Batch) -> Result<()> {
        for (run, bytes) in batch.iter() {
            let from = run.first * PAGE_BYTES as u64;
            let len = run.count * PAGE_BYTES as u64;
            match (self.targets.get_mut(run.block as usize), bytes) {
                (Some(Target::File(file)), Some(bytes)) => file
                    .write_all_at(bytes, from)
                    .context(|| "write pages".into())?,
                (Some(Target::File(file)), None) => zero(file, from, len)?,
                (Some(Target::Memory(content)), bytes) => {
                    let space = content
                        .get_mut(from as usize..(from + len) as usize)
                        .ok_or_else(|| Error::Frame("pages outside their block".into()))?;
                    match bytes {
                        Some(bytes) => space.copy_from_slice(bytes),
                        None => space.fill(0),
                    }
                }
                (None, _) => return Err(Error::Frame("pages of an unknown block".into())),
            }
        }
        Ok(())
    }

    /// Replaces the device state.
    pub fn set_device(&mut self, device: Vec<u8>) {
        self.device = device;
    }

    /// The stream that starts a waiting QEMU from what is in place.
    ///
    /// # Errors
    /// [`Error::Takeover`] when nothing is.
    pub fn stream(&self) -> Result<Vec<u8>> {
        if self.device.is_empty() {
            return Err(Error::Takeover("no device state is in place".into()));
        }
        let blocks: Vec<SynthBlock> = self
            .blocks
            .iter()
            .zip(&self.targets)
            .map(|(block, target)| SynthBlock {
                block,
                content: match target {
                    Target::File(_) => None,
                    Target::Memory(content) => Some(content),
                },
            })
            .collect();
        let mut bytes = Vec::new();
        let wrote = || "write the stream".into();
        synth::write_prefix(&mut bytes, &self.machine, &blocks).context(wrote)?;
        synth::write_device(&mut bytes, &self.device).context(wrote)?;
        bytes.flush().context(wrote)?;
        Ok(bytes)
    }
}

fn check(blocks: &[Block]) -> Result<()> {
    let mut total = 0u64;
    for block in blocks {
        total = total.saturating_add(block.len);
        let sound = block.len > 0 && block.len.is_multiple_of(PAGE_BYTES as u64);
        if !sound || total > RAM_BYTES_MAX || block.name.len() > 255 {
            return Err(Error::Frame("list of blocks is past a limit".into()));
        }
    }
    if blocks.is_empty() || blocks.len() > BLOCKS_MAX {
        return Err(Error::Frame("list of blocks is empty or too long".into()));
    }
    Ok(())
}

/// The file of a block, all zero. A waiting QEMU may have mapped it: its length only grows.
fn empty_file(path: &PathBuf, len: u64) -> Result<File> {
    let open = || format!("open {}", path.display());
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .context(open)?;
    if file.metadata().context(open)?.len() < len {
        file.set_len(len).context(open)?;
    }
    zero(&file, 0, len)?;
    Ok(file)
}

/// Zeroes a range by giving its memory back, or by writing where that is not possible.
fn zero(file: &File, from: u64, len: u64) -> Result<()> {
    let flags = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
    // RAM_BYTES_MAX bounds both, far below the sign.
    if fallocate(file, flags, from as i64, len as i64).is_ok() {
        return Ok(());
    }
    let page = [0u8; PAGE_BYTES];
    for at in (from..from + len).step_by(PAGE_BYTES) {
        file.write_all_at(&page, at)
            .context(|| "zero pages".into())?;
    }
    Ok(())
}

/// Most bytes of device state that are taken in.
pub const DEVICE_MAX: u64 = DEVICE_BYTES_MAX;

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks() -> Vec<Block> {
        [("mem", 8), ("0000:00:02.0/vgpu-arena", 4), ("pc.bios", 2)]
            .map(|(name, pages)| Block {
                name: name.into(),
                len: pages * PAGE_BYTES as u64,
            })
            .to_vec()
    }

    #[test]
    fn apply_pages_go_to_files_and_memory() {
        let dir = tempfile::tempdir().expect("temp folder");
        let (ram, arena) = (dir.path().join("ram"), dir.path().join("arena"));
        let files = BTreeMap::from([
            ("mem".to_owned(), ram.clone()),
            ("vgpu-arena".to_owned(), arena.clone()),
        ]);
        std::fs::write(&ram, [7u8; PAGE_BYTES]).expect("old content");
        let mut store = Store::new(files);
        store.begin("pc".into(), blocks()).expect("begin");
        let mut batch = Batch::default();
        batch.page(0, 2, &[1; PAGE_BYTES]);
        batch.page(0, 3, &[2; PAGE_BYTES]);
        batch.page(1, 0, &[3; PAGE_BYTES]);
        batch.page(2, 1, &[4; PAGE_BYTES]);
        batch.zero(0, 3);
        store.apply(&batch).expect("apply");
        store.set_device(b"\x04d\0".to_vec());

        let ram = std::fs::read(&ram).expect("RAM");
        assert_eq!(ram.len(), 8 * PAGE_BYTES);
        assert_eq!(ram[0], 0, "old content is gone");
        assert_eq!(ram[2 * PAGE_BYTES], 1);
        assert_eq!(ram[3 * PAGE_BYTES], 0, "the later record wins");
        assert_eq!(std::fs::read(&arena).expect("arena")[0], 3);
        let stream = store.stream().expect("stream");
        let sent = stream.windows(PAGE_BYTES).any(|w| w == [4; PAGE_BYTES]);
        assert!(sent, "the small block is in the stream");
    }

    #[test]
    fn begin_without_a_configured_block_is_refused() {
        let dir = tempfile::tempdir().expect("temp folder");
        let files = BTreeMap::from([("ram".to_owned(), dir.path().join("ram"))]);
        assert!(Store::new(files).begin("pc".into(), blocks()).is_err());
    }

    #[test]
    fn begin_claim_of_terabytes_in_memory_is_refused() {
        let list = vec![Block {
            name: "mem".into(),
            len: 1 << 40,
        }];
        assert!(
            Store::new(BTreeMap::new())
                .begin("pc".into(), list)
                .is_err()
        );
    }

    #[test]
    fn stream_without_device_state_is_refused() {
        assert!(Store::new(BTreeMap::new()).stream().is_err());
    }
}
