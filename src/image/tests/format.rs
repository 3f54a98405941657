//! Structures built by hand from `docs/format.md`. When one of these tests fails, the format has
//! changed: that takes a new version, and images of the old one must still be refused or read.

use hesper_image::{
    ChunkTable, ContextEntry, Extent, Identity, ImageArea, JournalPosition, RangeAllocator,
    SealedExtent, Superblock, encode_record,
};
use hesper_memory::Mapping;

const WINDOW: u64 = 0x10000;
const ARENA: u64 = 0x100000;

fn crc(parts: &[&[u8]]) -> [u8; 4] {
    crc32fast::hash(&parts.concat()).to_le_bytes()
}

fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    bytes[at..at + field.len()].copy_from_slice(field);
}

#[test]
fn crc32_is_the_one_of_the_specification() {
    // The check value of CRC-32/ISO-HDLC.
    assert_eq!(crc32fast::hash(b"123456789"), 0xcbf4_3926);
}

#[test]
fn superblock_is_as_specified() {
    let area = ImageArea::new(Mapping::anonymous("t", ARENA).unwrap(), WINDOW, None).unwrap();
    let sealed = |offset, len, crc32| SealedExtent {
        extent: Extent::new(offset, len),
        crc32,
    };
    let superblock = Superblock {
        sequence: 1,
        arena_len: ARENA,
        window_len: WINDOW,
        identity: Identity {
            driver_uuid: [0xd1; 16],
            device_uuid: [0xd2; 16],
            vendor_id: 0x10de,
            device_id: 0x2335,
            driver_version: "NVIDIA 580.1".into(),
        },
        front: sealed(0x20000, 0x123, 0xaabbccdd),
        contexts: vec![ContextEntry {
            ctx_id: 9,
            state: sealed(0x30000, 0x10001, 0x01020304),
        }],
    };

    let mut want = vec![0; 4096];
    put(&mut want, 0, b"HSPRIMG\x01");
    put(&mut want, 8, &1u32.to_le_bytes());
    put(&mut want, 16, &1u64.to_le_bytes());
    put(&mut want, 24, &ARENA.to_le_bytes());
    put(&mut want, 32, &WINDOW.to_le_bytes());
    put(&mut want, 40, &[0xd1; 16]);
    put(&mut want, 56, &[0xd2; 16]);
    put(&mut want, 72, &[0xde, 0x10, 0, 0, 0x35, 0x23, 0, 0]);
    put(&mut want, 80, &[12, 0, 0, 0, 1, 0, 0, 0]);
    put(&mut want, 88, &0x20000u64.to_le_bytes());
    put(&mut want, 96, &0x123u64.to_le_bytes());
    put(&mut want, 104, &[0xdd, 0xcc, 0xbb, 0xaa]);
    put(&mut want, 112, b"NVIDIA 580.1");
    put(&mut want, 368, &[9, 0, 0, 0]);
    put(&mut want, 376, &0x30000u64.to_le_bytes());
    put(&mut want, 384, &0x10001u64.to_le_bytes());
    put(&mut want, 392, &[4, 3, 2, 1]);
    let sum = crc(&[&want[..4092]]);
    put(&mut want, 4092, &sum);

    // Written by us: the very bytes, in copy 1, as 1 is odd.
    assert_eq!(Superblock::write_next(&area, &superblock).unwrap(), 1);
    let mut found = vec![0; 4096];
    area.read(WINDOW + 4096, &mut found).unwrap();
    assert_eq!(found, want);
    // Written by hand: the same superblock.
    area.write(WINDOW + 4096, &[0; 4096]).unwrap();
    area.write(WINDOW + 4096, &want).unwrap();
    assert_eq!(Superblock::read_current(&area).unwrap(), superblock);
}

#[test]
fn record_is_as_specified() {
    let value = (
        (7u8, true, 250u16, 251u32, 65536u32, u64::MAX),
        (-1i32, 1i64, 1.5f32),
        (Some(3u8), None::<u8>, "é", vec![1u16, 300], [9u8; 2]),
        Ok::<u8, u8>(5),
    );
    let payload = [
        &[7, 1, 250][..],
        &[251, 251, 0],
        &[252, 0, 0, 1, 0],
        &[253, 255, 255, 255, 255, 255, 255, 255, 255],
        &[1, 2, 0, 0, 0xc0, 0x3f],
        &[1, 3, 0, 2, 0xc3, 0xa9],
        &[2, 1, 251, 0x2c, 0x01, 9, 9],
        &[0, 5],
    ]
    .concat();
    let kind = u32::from_le_bytes(*b"TEST");
    let head = b"HSPRTEST\x02\0\0\0";
    let len = (payload.len() as u64).to_le_bytes();
    let sum = crc(&[head, &[0; 4], &len, &payload]);
    let want = [&head[..], &sum, &len, &payload].concat();
    assert_eq!(encode_record(kind, 2, &value).unwrap(), want);
}

#[test]
fn shared_types_are_as_specified() {
    let payload = |bytes: Vec<u8>| bytes[24..].to_vec();
    let position = JournalPosition {
        journal_id: 1,
        first: Extent::new(2, 3),
        records: 4,
        bytes: 5,
        last_sequence: 6,
        rolling_crc32: 7,
    };
    let bytes = payload(encode_record(0, 0, &position).unwrap());
    assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7]);

    let sealed = SealedExtent {
        extent: Extent::new(1, 2),
        crc32: 3,
    };
    assert_eq!(payload(encode_record(0, 0, &sealed).unwrap()), [1, 2, 3]);

    let mut allocator = RangeAllocator::new(0, 16, 2).unwrap().with_limit(12);
    allocator.reserve(4, 2).unwrap();
    let bytes = payload(encode_record(0, 0, &allocator).unwrap());
    assert_eq!(bytes, [0, 16, 2, 12, 2, 0, 4, 6, 10]);

    let area = ImageArea::new(Mapping::anonymous("t", ARENA).unwrap(), WINDOW, None).unwrap();
    area.write(0x30000, b"123456789").unwrap();
    let table = ChunkTable::compute(&area, Extent::new(0x20000, 0x10009)).unwrap();
    let mut want = vec![2, 252];
    want.extend(crc(&[&[0; 65536]]));
    want.push(252);
    want.extend(0xcbf4_3926u32.to_le_bytes());
    assert_eq!(payload(encode_record(0, 0, &table).unwrap()), want);
}
