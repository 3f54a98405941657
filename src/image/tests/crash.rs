//! A process that keeps an image is killed at any instant, and another goes on with what it left.

use std::fs::OpenOptions;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use hesper_image::{
    ContextEntry, EXTENT_ALIGN, Extent, Identity, ImageArea, ImageError, JournalPosition,
    JournalReader, JournalWriter, RangeAllocator, SealedExtent, Superblock, SuperblockFault,
    encode_record, read_record,
};
use hesper_memory::{DirtyBitmap, Mapping};
use serde::{Deserialize, Serialize};

const ARENA: u64 = 4 << 20;
const WINDOW: u64 = 4096;
const KIND: u32 = u32::from_le_bytes(*b"TEST");
/// The journal is written anew when it has grown to this.
const COMPACT_AT: u64 = 400_000;

/// A context's state record, as small as can be.
#[derive(Debug, Serialize, Deserialize)]
struct State {
    journal: JournalPosition,
    /// Numbers of the first and the last object in the journal.
    first: u64,
    last: u64,
}

/// What a keeper of an image holds.
struct Keeper {
    area: ImageArea,
    allocator: RangeAllocator,
    journal: JournalWriter,
    first: u64,
    last: u64,
    /// Freed after the next superblock.
    retired: Vec<Extent>,
    state: Option<Extent>,
}

fn payload(number: u64) -> Vec<u8> {
    let len = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as usize;
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.resize(8 + len, number as u8);
    bytes
}

/// The state in the image and its journal's records, all checked; none before the first cut.
fn load(area: &ImageArea) -> Option<(u64, State, SealedExtent)> {
    let superblock = match Superblock::read_current(area) {
        Ok(superblock) => superblock,
        // The first copy that is written is copy 1; a torn first write has no magic, or no checksum.
        Err(ImageError::NoSuperblock {
            first: SuperblockFault::Blank,
            ..
        }) => return None,
        Err(other) => panic!("{other}"),
    };
    let sealed = superblock.context(1).expect("context 1 is listed").state;
    let state: State = read_record(area, &sealed, KIND, 1, 4096).expect("its state is whole");
    let records: Result<Vec<_>, _> = JournalReader::open(area, &state.journal)
        .expect("its journal is whole")
        .collect();
    let records = records.expect("nobody writes now");
    let want: Vec<_> = (state.first..=state.last).map(payload).collect();
    let found: Vec<_> = records.into_iter().map(|r| r.payload).collect();
    assert!(found == want, "objects {}..={}", state.first, state.last);
    Some((superblock.sequence, state, sealed))
}

impl Keeper {
    fn open(area: &ImageArea) -> Self {
        let mut allocator = area.extent_allocator();
        let mut keeper = match load(area) {
            None => Self {
                area: area.clone(),
                journal: JournalWriter::new(area, 1, &mut |len| allocator.alloc(len)).unwrap(),
                allocator,
                first: 1,
                last: 0,
                retired: Vec::new(),
                state: None,
            },
            Some((_, state, sealed)) => Self {
                area: area.clone(),
                journal: JournalWriter::resume_from(area, &state.journal).unwrap(),
                allocator,
                first: state.first,
                last: state.last,
                retired: Vec::new(),
                state: Some(Extent::new(sealed.extent.offset, EXTENT_ALIGN)),
            },
        };
        if keeper.state.is_some() {
            for extent in keeper.journal.extents().iter().chain(&keeper.state) {
                keeper.allocator.reserve(extent.offset, extent.len).unwrap();
            }
        }
        keeper
    }

    fn append(&mut self) {
        let alloc = &mut |len| self.allocator.alloc(len);
        self.journal
            .append(7, &payload(self.last + 1), alloc)
            .unwrap();
        self.last += 1;
    }

    fn compact(&mut self) {
        let id = self.journal.position().journal_id + 1;
        let alloc = &mut |len| self.allocator.alloc(len);
        let mut journal = JournalWriter::new(&self.area, id, alloc).unwrap();
        self.first = self.last - (self.last - self.first) / 4;
        for number in self.first..=self.last {
            journal.append(7, &payload(number), alloc).unwrap();
        }
        self.retired.extend_from_slice(self.journal.extents());
        self.journal = journal;
    }

    fn cut(&mut self) -> u64 {
        let state = State {
            journal: self.journal.position(),
            first: self.first,
            last: self.last,
        };
        let extent = Extent::new(self.allocator.alloc(EXTENT_ALIGN).unwrap(), EXTENT_ALIGN);
        let bytes = encode_record(KIND, 1, &state).unwrap();
        let state = SealedExtent::write(&self.area, extent.offset, &bytes).unwrap();
        let superblock = Superblock {
            contexts: vec![ContextEntry { ctx_id: 1, state }],
            ..Superblock::empty(&self.area, Identity::default())
        };
        let sequence = Superblock::write_next(&self.area, &superblock).unwrap();
        self.retired.extend(self.state.replace(extent));
        for extent in self.retired.drain(..) {
            self.allocator.free(extent.offset, extent.len).unwrap();
            self.area.discard(extent.offset, extent.len).unwrap();
        }
        sequence
    }
}

fn map(path: &Path) -> Mapping {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    Mapping::new(Arc::new(file), 0, ARENA).unwrap()
}

/// The process that is killed: keeps the image at the path in the environment for ever.
#[test]
fn keep_an_image_until_killed() {
    let Some(path) = std::env::var_os("HESPER_TEST_IMAGE") else {
        return;
    };
    let area = ImageArea::new(map(Path::new(&path)), WINDOW, None).unwrap();
    let mut keeper = Keeper::open(&area);
    loop {
        for _ in 0..=keeper.last % 7 {
            keeper.append();
        }
        if keeper.journal.position().bytes > COMPACT_AT {
            keeper.compact();
        }
        keeper.cut();
    }
}

#[test]
fn image_of_a_killed_process_holds_its_last_cut() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("arena");
    std::fs::File::create(&path)
        .unwrap()
        .set_len(ARENA)
        .unwrap();
    let area = ImageArea::new(map(&path), WINDOW, None).unwrap();
    let mut before = 0;
    for round in 0..40u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "keep_an_image_until_killed"])
            .env("HESPER_TEST_IMAGE", &path)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(20_000 + round * 7_919 % 30_000));
        child.kill().unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), None, "the keeper ended by itself");
        let sequence = load(&area).map_or(0, |(sequence, ..)| sequence);
        assert!(sequence >= before, "{sequence} after {before}");
        before = sequence;
    }
    let (sequence, state, _) = load(&area).expect("some cut was done");
    println!(
        "{sequence} cuts, {} objects, journal {}",
        state.last, state.journal.journal_id
    );
    assert!(
        state.journal.journal_id > 1,
        "no journal was compacted: too few cuts to say anything"
    );
}

/// What a migration does: only marked pages go over, after each cut.
#[test]
fn copy_of_marked_pages_holds_every_cut() {
    let words = Mapping::anonymous("t", DirtyBitmap::file_len(ARENA)).unwrap();
    let bitmap = DirtyBitmap::new(words, ARENA).unwrap();
    let source = Mapping::anonymous("t", ARENA).unwrap();
    let area = ImageArea::new(source.clone(), WINDOW, Some(bitmap.clone())).unwrap();
    let target = Mapping::anonymous("t", ARENA).unwrap();
    let target_area = ImageArea::new(target.clone(), WINDOW, None).unwrap();
    let mut keeper = Keeper::open(&area);
    let mut copied = 0;
    for round in 0..300u64 {
        for _ in 0..round % 5 {
            keeper.append();
        }
        if keeper.journal.position().bytes > COMPACT_AT {
            keeper.compact();
        }
        let sequence = keeper.cut();
        bitmap
            .take(|page| {
                let mut bytes = [0; 4096];
                source.read(page * 4096, &mut bytes).unwrap();
                target.write(page * 4096, &bytes).unwrap();
                copied += 1;
            })
            .unwrap();
        let (found, state, _) = load(&target_area).expect("the cut went over");
        assert_eq!((found, state.last), (sequence, keeper.last));
    }
    assert!(keeper.journal.position().journal_id > 1);
    // All of it is equal, holes included: nothing was written without its mark.
    let (mut here, mut there) = (vec![0; ARENA as usize], vec![0; ARENA as usize]);
    source.read(0, &mut here).unwrap();
    target.read(0, &mut there).unwrap();
    assert!(here == there);
    assert!(
        copied > 0 && copied < 300 * ARENA / 4096 / 4,
        "{copied} pages"
    );
}
