//! The journal through its public face; hostile chains are made by hand from `docs/format.md`.

use hesper_image::{
    EXTENT_ALIGN, Extent, ImageArea, ImageError, JournalFault, JournalPosition, JournalReader,
    JournalWriter, KIND_LINK, MAX_JOURNAL_EXTENTS, RangeAllocator,
};
use hesper_memory::Mapping;
use proptest::prelude::*;

const ARENA: u64 = 8 << 20;
const ID: u64 = 0x0003_0000_0001;

struct Image {
    area: ImageArea,
    allocator: RangeAllocator,
}

impl Image {
    fn new() -> Self {
        let mapping = Mapping::anonymous("t", ARENA).unwrap();
        let area = ImageArea::new(mapping, 4096, None).unwrap();
        let allocator = area.extent_allocator();
        Self { area, allocator }
    }

    fn journal(&mut self) -> JournalWriter {
        JournalWriter::new(&self.area, ID, &mut |len| self.allocator.alloc(len)).unwrap()
    }

    fn append(&mut self, journal: &mut JournalWriter, kind: u32, payload: &[u8]) -> u64 {
        journal
            .append(kind, payload, &mut |len| self.allocator.alloc(len))
            .unwrap()
    }
}

fn read(
    area: &ImageArea,
    position: &JournalPosition,
) -> Result<Vec<(u32, u64, Vec<u8>)>, ImageError> {
    JournalReader::open(area, position)?
        .map(|r| r.map(|r| (r.kind, r.sequence, r.payload)))
        .collect()
}

fn fault<T: std::fmt::Debug>(result: Result<T, ImageError>) -> JournalFault {
    match result {
        Err(ImageError::Journal { fault, .. }) => fault,
        other => panic!("{other:?}"),
    }
}

/// A record as the format gives it.
fn record(id: u64, kind: u32, sequence: u64, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend((payload.len() as u32).to_le_bytes());
    bytes.extend(kind.to_le_bytes());
    bytes.extend(sequence.to_le_bytes());
    bytes.extend([0; 8]);
    bytes.extend(payload);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let crc = crc32fast::hash(&[&id.to_le_bytes()[..], &bytes].concat());
    bytes[16..20].copy_from_slice(&crc.to_le_bytes());
    bytes
}

fn link(id: u64, sequence: u64, next: Extent) -> Vec<u8> {
    let payload = [next.offset.to_le_bytes(), next.len.to_le_bytes()].concat();
    record(id, KIND_LINK, sequence, &payload)
}

fn header(id: u64, len: u64, index: u32) -> Vec<u8> {
    let mut bytes = b"HSPRJNL\x01".to_vec();
    bytes.extend(id.to_le_bytes());
    bytes.extend(len.to_le_bytes());
    bytes.extend(index.to_le_bytes());
    let crc = crc32fast::hash(&bytes);
    bytes.extend(crc.to_le_bytes());
    bytes
}

#[test]
fn bytes_in_memory_are_those_of_the_specification() {
    let mut image = Image::new();
    let mut journal = image.journal();
    image.append(&mut journal, 7, b"vkCreateBuffer");
    image.append(&mut journal, 8, b"");
    let first = journal.position().first;
    let want = [
        header(ID, EXTENT_ALIGN, 0),
        record(ID, 7, 1, b"vkCreateBuffer"),
        record(ID, 8, 2, b""),
    ]
    .concat();
    let mut found = vec![0; want.len()];
    image.area.read(first.offset, &mut found).unwrap();
    assert_eq!(found, want);
    let rolling = [
        want[32 + 16..][..4].to_vec(),
        want[32 + 40 + 16..][..4].to_vec(),
    ]
    .iter()
    .fold(0, |rolling: u32, crc| {
        crc32fast::hash(&[&rolling.to_le_bytes()[..], crc].concat())
    });
    assert_eq!(
        journal.position(),
        JournalPosition {
            journal_id: ID,
            first: Extent::new(first.offset, EXTENT_ALIGN),
            records: 2,
            bytes: 64,
            last_sequence: 2,
            rolling_crc32: rolling,
        }
    );
}

#[test]
fn empty_journal_reads_as_empty() {
    let mut image = Image::new();
    let journal = image.journal();
    assert_eq!(read(&image.area, &journal.position()).unwrap(), []);
}

#[test]
fn earlier_position_reads_the_same_after_more_was_appended() {
    let mut image = Image::new();
    let mut journal = image.journal();
    for i in 0..5u8 {
        image.append(&mut journal, 1, &[i; 9000]);
    }
    let position = journal.position();
    let before = read(&image.area, &position).unwrap();
    for i in 0..50u8 {
        image.append(&mut journal, 2, &[i; 9000]);
    }
    assert!(journal.extents().len() > 2);
    assert_eq!(read(&image.area, &position).unwrap(), before);
    assert_eq!(read(&image.area, &journal.position()).unwrap().len(), 55);
}

#[test]
fn append_changes_no_byte_before_its_position() {
    let mut image = Image::new();
    let mut journal = image.journal();
    let mut written: Vec<(u64, Vec<u8>)> = Vec::new();
    for i in 0..60u32 {
        let sizes = [0, 1, 8, 20000, 65536 - 32 - 40 - 24, 70000];
        image.append(&mut journal, i, &vec![i as u8; sizes[i as usize % 6]]);
        for (offset, bytes) in &written {
            let mut now = vec![0; bytes.len()];
            image.area.read(*offset, &mut now).unwrap();
            assert!(now == *bytes, "append {i} changed bytes at {offset:#x}");
        }
        // What is not zero now is written: payloads of record 0 are empty, others are not zero.
        written.clear();
        for extent in journal.extents() {
            let mut bytes = vec![0; extent.len as usize];
            image.area.read(extent.offset, &mut bytes).unwrap();
            let used = bytes.iter().rposition(|b| *b != 0).map_or(0, |at| at + 1);
            bytes.truncate(used);
            written.push((extent.offset, bytes));
        }
    }
}

#[test]
fn any_flipped_bit_is_refused() {
    let mut image = Image::new();
    let mut journal = image.journal();
    for len in [3usize, 0, 64 * 1024 - 300, 40, 17, 66000, 66000, 5] {
        image.append(&mut journal, 9, &vec![0x5a; len]);
    }
    let position = journal.position();
    let good = read(&image.area, &position).unwrap();
    let extents = journal.extents().to_vec();
    assert_eq!(extents.len(), 3);
    // Where each extent's records end: the last byte that the journal wrote there.
    for extent in extents {
        let mut bytes = vec![0; extent.len as usize];
        image.area.read(extent.offset, &mut bytes).unwrap();
        let used = (bytes.iter().rposition(|b| *b != 0).unwrap() + 1).next_multiple_of(8);
        // All bytes near the ends, where the headers and links are, and a sample of the payloads.
        let edge = |at: &usize| *at < 256 || used - *at < 128 || at.is_multiple_of(97);
        for at in (0..used).filter(edge) {
            let flipped = bytes[at] ^ (1 << (at % 8));
            image
                .area
                .write(extent.offset + at as u64, &[flipped])
                .unwrap();
            assert!(
                JournalReader::open(&image.area, &position).is_err(),
                "byte {at} of {extent:?}"
            );
            image
                .area
                .write(extent.offset + at as u64, &bytes[at..=at])
                .unwrap();
        }
    }
    assert_eq!(read(&image.area, &position).unwrap(), good);
}

#[test]
fn position_that_differs_in_any_field_is_refused() {
    let mut image = Image::new();
    let mut journal = image.journal();
    for i in 0..40u8 {
        image.append(&mut journal, 1, &[i; 5000]);
    }
    let good = journal.position();
    let extent = |offset, len| JournalPosition {
        first: Extent::new(offset, len),
        ..good
    };
    let second = journal.extents()[1];
    let bad = [
        JournalPosition {
            journal_id: ID + 1,
            ..good
        },
        JournalPosition {
            records: good.records + 1,
            ..good
        },
        JournalPosition {
            records: good.records - 1,
            ..good
        },
        JournalPosition { records: 0, ..good },
        JournalPosition {
            records: u64::MAX,
            ..good
        },
        JournalPosition {
            bytes: good.bytes + 8,
            ..good
        },
        JournalPosition {
            bytes: good.bytes - 8,
            ..good
        },
        JournalPosition {
            bytes: u64::MAX,
            ..good
        },
        JournalPosition {
            last_sequence: good.last_sequence + 1,
            ..good
        },
        JournalPosition {
            rolling_crc32: good.rolling_crc32 ^ 1,
            ..good
        },
        extent(good.first.offset + 8, good.first.len),
        extent(good.first.offset, good.first.len * 2),
        extent(second.offset, second.len),
        extent(0, EXTENT_ALIGN),
        extent(u64::MAX - 65535, EXTENT_ALIGN),
        extent(ARENA, EXTENT_ALIGN),
        extent(good.first.offset, 0),
        extent(good.first.offset, !65535),
    ];
    assert!(JournalReader::open(&image.area, &good).is_ok());
    for position in bad {
        assert!(
            JournalReader::open(&image.area, &position).is_err(),
            "{position:?}"
        );
    }
}

#[test]
fn chain_that_loops_or_leaves_the_area_is_refused() {
    let image = Image::new();
    let first = Extent::new(2 * EXTENT_ALIGN, EXTENT_ALIGN);
    let wide = Extent::new(EXTENT_ALIGN, 4 * EXTENT_ALIGN);
    let position = JournalPosition {
        journal_id: ID,
        first,
        records: 5,
        bytes: u64::MAX,
        last_sequence: 5,
        rolling_crc32: 0,
    };
    image
        .area
        .write(first.offset, &header(ID, first.len, 0))
        .unwrap();
    image
        .area
        .write(wide.offset, &header(ID, wide.len, 1))
        .unwrap();
    let after_link = |next: Extent| {
        image
            .area
            .write(first.offset + 32, &link(ID, 0, next))
            .unwrap();
        fault(JournalReader::open(&image.area, &position))
    };
    assert_eq!(after_link(first), JournalFault::Overlap(first));
    assert_eq!(after_link(wide), JournalFault::Overlap(wide));
    for next in [
        Extent::new(0, EXTENT_ALIGN),
        Extent::new(ARENA, EXTENT_ALIGN),
        Extent::new(u64::MAX - 65535, EXTENT_ALIGN),
        Extent::new(3 * EXTENT_ALIGN, 0),
        Extent::new(3 * EXTENT_ALIGN, u64::MAX - 65535),
        Extent::new(3 * EXTENT_ALIGN + 4096, EXTENT_ALIGN),
    ] {
        assert_eq!(after_link(next), JournalFault::Extent(next));
    }
}

#[test]
fn extent_header_of_another_place_is_refused_by_field() {
    let image = Image::new();
    let first = Extent::new(EXTENT_ALIGN, EXTENT_ALIGN);
    let position = JournalPosition {
        journal_id: ID,
        first,
        records: 0,
        bytes: 0,
        last_sequence: 0,
        rolling_crc32: 0,
    };
    let with = |bytes: Vec<u8>| {
        image.area.write(first.offset, &bytes).unwrap();
        JournalReader::open(&image.area, &position).map(|_| ())
    };
    with(header(ID, first.len, 0)).unwrap();
    for (bytes, want) in [
        (header(ID, first.len, 1), "index"),
        (header(ID + 1, first.len, 0), "journal id"),
        (header(ID, first.len * 2, 0), "length"),
        (vec![0; 32], "magic"),
    ] {
        match fault(with(bytes)) {
            JournalFault::Header { field, .. } => assert_eq!(field, want),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn chain_of_too_many_extents_is_refused() {
    let mapping = Mapping::anonymous("t", (MAX_JOURNAL_EXTENTS + 2) * EXTENT_ALIGN).unwrap();
    let area = ImageArea::new(mapping, 0, None).unwrap();
    let extent = |index: u64| Extent::new((index + 1) * EXTENT_ALIGN, EXTENT_ALIGN);
    for index in 0..=MAX_JOURNAL_EXTENTS {
        let at = extent(index).offset;
        area.write(at, &header(ID, EXTENT_ALIGN, index as u32))
            .unwrap();
        area.write(at + 32, &link(ID, 0, extent(index + 1)))
            .unwrap();
    }
    let position = JournalPosition {
        journal_id: ID,
        first: extent(0),
        records: 1,
        bytes: u64::MAX,
        last_sequence: 1,
        rolling_crc32: 0,
    };
    assert_eq!(
        fault(JournalReader::open(&area, &position)),
        JournalFault::TooManyExtents(MAX_JOURNAL_EXTENTS)
    );
}

#[test]
fn record_with_a_right_checksum_and_a_wrong_place_is_refused() {
    let image = Image::new();
    let first = Extent::new(EXTENT_ALIGN, EXTENT_ALIGN);
    image
        .area
        .write(first.offset, &header(ID, first.len, 0))
        .unwrap();
    let position = JournalPosition {
        journal_id: ID,
        first,
        records: 1,
        bytes: 32,
        last_sequence: 1,
        rolling_crc32: 0,
    };
    let after = |bytes: &[u8]| {
        image.area.write(first.offset + 32, bytes).unwrap();
        fault(JournalReader::open(&image.area, &position))
    };
    assert!(matches!(
        after(&record(ID, 1, 2, b"12345678")),
        JournalFault::Sequence {
            expected: 1,
            found: 2
        }
    ));
    assert!(matches!(
        after(&record(ID + 1, 1, 1, b"12345678")),
        JournalFault::Checksum { .. }
    ));
    assert_eq!(
        after(&record(ID, 1, 1, b"123456789")),
        JournalFault::RecordLen { len: 9 }
    );
    assert_eq!(
        after(&record(ID, KIND_LINK, 0, b"12345678")),
        JournalFault::RecordLen { len: 8 }
    );
    assert!(matches!(
        after(&record(ID, 1, 1, b"12345678")),
        JournalFault::End {
            field: "Rolling checksum",
            ..
        }
    ));
}

#[test]
fn record_that_changes_after_open_ends_the_iteration_with_an_error() {
    let mut image = Image::new();
    let mut journal = image.journal();
    for i in 0..3u8 {
        image.append(&mut journal, 1, &[i; 8]);
    }
    let position = journal.position();
    let mut reader = JournalReader::open(&image.area, &position).unwrap();
    assert!(reader.next().unwrap().is_ok());
    image
        .area
        .write(position.first.offset + 32 + 32 + 24, &[9])
        .unwrap();
    assert!(reader.next().unwrap().is_err());
    assert!(reader.next().is_none());
}

#[test]
fn resume_from_an_earlier_position_forgets_what_came_after() {
    let mut image = Image::new();
    let mut journal = image.journal();
    image.append(&mut journal, 1, &[1; 30000]);
    image.append(&mut journal, 1, &[2; 30000]);
    let position = journal.position();
    image.append(&mut journal, 1, &[3; 30000]);
    assert_eq!(journal.extents().len(), 2);
    drop(journal);

    let mut resumed = JournalWriter::resume_from(&image.area, &position).unwrap();
    assert_eq!((resumed.position(), resumed.extents().len()), (position, 1));
    assert_eq!(image.append(&mut resumed, 1, &[4; 100]), 3);
    assert_eq!(image.append(&mut resumed, 1, &[5; 100_000]), 4);
    let records = read(&image.area, &resumed.position()).unwrap();
    let heads: Vec<_> = records
        .iter()
        .map(|(_, s, p)| (*s, p[0], p.len()))
        .collect();
    assert_eq!(
        heads,
        [(1, 1, 30000), (2, 2, 30000), (3, 4, 100), (4, 5, 100_000)]
    );
    assert_eq!(read(&image.area, &position).unwrap(), records[..2]);
}

#[test]
fn append_without_room_changes_nothing_and_may_be_repeated() {
    let mut image = Image::new();
    let mut journal = image.journal();
    image.append(&mut journal, 1, &[1; 60000]);
    let position = journal.position();
    let full = journal.append(1, &[2; 60000], &mut |_| None);
    assert!(matches!(full, Err(ImageError::Full { wanted: 65536 })));
    let unfit = journal.append(1, &[2; 60000], &mut |_| Some(0));
    assert!(matches!(fault(unfit), JournalFault::Extent(_)));
    assert!(matches!(
        fault(journal.append(KIND_LINK, &[0; 16], &mut |_| None)),
        JournalFault::Kind
    ));
    assert_eq!(journal.position(), position);
    assert_eq!(image.append(&mut journal, 1, &[2; 60000]), 2);
    assert_eq!(read(&image.area, &journal.position()).unwrap().len(), 2);
}

#[test]
fn record_longer_than_allowed_is_refused() {
    let mut image = Image::new();
    let mut journal = image.journal();
    let payload = vec![0; (64 << 20) + 1];
    assert!(matches!(
        journal.append(1, &payload, &mut |_| None),
        Err(ImageError::TooLarge { .. })
    ));
}

#[test]
fn freeing_all_extents_leaves_nothing_in_use() {
    let mut image = Image::new();
    let mut journal = image.journal();
    for _ in 0..100 {
        image.append(&mut journal, 1, &[7; 20000]);
    }
    assert!(journal.extents().len() < 12, "extents grow");
    for extent in journal.extents() {
        image.allocator.free(extent.offset, extent.len).unwrap();
    }
    assert_eq!(image.allocator.used_bytes(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_appended_is_read(
        records in prop::collection::vec(
            (0..KIND_LINK, prop_oneof![4 => 0..200usize, 1 => 0..140_000usize]), 0..24
        ),
        resume_at in 0..24usize,
    ) {
        let mut image = Image::new();
        let mut journal = image.journal();
        let mut want = Vec::new();
        for (i, (kind, len)) in records.into_iter().enumerate() {
            if i == resume_at {
                journal = JournalWriter::resume_from(&image.area, &journal.position()).unwrap();
            }
            let payload: Vec<u8> = (0..len).map(|b| (b * 31 + i) as u8).collect();
            prop_assert_eq!(image.append(&mut journal, kind, &payload), i as u64 + 1);
            want.push((kind, i as u64 + 1, payload));
        }
        prop_assert_eq!(read(&image.area, &journal.position()).unwrap(), want);
    }

    /// Random edits, some with a checksum made right again: an answer, no panic, no endless walk.
    #[test]
    fn hostile_journal_gives_an_answer(
        edits in prop::collection::vec((0..400usize, any::<u8>()), 1..4),
        records in prop_oneof![Just(u64::MAX), 0..12u64],
        bytes in prop_oneof![Just(u64::MAX), 0..2000u64],
        reseal in any::<bool>(),
    ) {
        let mut image = Image::new();
        let mut journal = image.journal();
        for i in 0..8u8 {
            image.append(&mut journal, u32::from(i), &[i; 24]);
        }
        let first = journal.position().first.offset;
        for (at, value) in edits {
            image.area.write(first + at as u64, &[value]).unwrap();
            if reseal && at >= 32 {
                let start = first + 32 + (at as u64 - 32) / 48 * 48;
                let mut r = [0; 48];
                image.area.read(start, &mut r).unwrap();
                r[16..20].fill(0);
                let crc = crc32fast::hash(&[&ID.to_le_bytes()[..], &r].concat());
                image.area.write(start + 16, &crc.to_le_bytes()).unwrap();
            }
        }
        let position = JournalPosition { records, bytes, ..journal.position() };
        let _ = read(&image.area, &position);
    }
}
