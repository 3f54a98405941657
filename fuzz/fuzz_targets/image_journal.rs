//! The journal reader on an area of any bytes, whose checksums are made to fit so that it gets
//! somewhere.
#![no_main]

use hesper_image::{Extent, ImageArea, JournalPosition, JournalReader};
use hesper_memory::Mapping;
use libfuzzer_sys::fuzz_target;

const START: u64 = 65536;
const EXTENT: u64 = 65536;
const EXTENTS: u64 = 4;
const ARENA: u64 = START + (EXTENTS + 1) * EXTENT;
const ID: u64 = 7;
/// Bytes of one extent that the input fills.
const FILLED: usize = 2048;

thread_local! {
    static AREA: ImageArea =
        ImageArea::new(Mapping::anonymous("fuzz", ARENA).unwrap(), START, None).unwrap();
}

/// Gives what looks like records in an extent the checksums that they should have, and counts up
/// what the end of the journal would be.
fn seal(bytes: &mut [u8], position: &mut JournalPosition, records_max: u64) {
    let mut at = 32;
    while at + 24 <= bytes.len() && position.records < records_max {
        let len = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        let total = 24 + len.min(1 << 30).next_multiple_of(8);
        let Some(record) = bytes.get_mut(at..at + total) else {
            return;
        };
        record[16..20].fill(0);
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&ID.to_le_bytes());
        hasher.update(record);
        let crc = hasher.finalize();
        record[16..20].copy_from_slice(&crc.to_le_bytes());
        let mut rolling = crc32fast::Hasher::new();
        rolling.update(&position.rolling_crc32.to_le_bytes());
        rolling.update(&crc.to_le_bytes());
        position.rolling_crc32 = rolling.finalize();
        position.bytes += total as u64;
        if record[4..8] == [0xff; 4] {
            // A link; the next extent goes on.
            return;
        }
        position.records += 1;
        position.last_sequence += 1;
        at += total;
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((how, data)) = data.split_first() else {
        return;
    };
    let first = Extent::new(START + EXTENT, EXTENT);
    let mut position = JournalPosition {
        journal_id: ID,
        first,
        records: 0,
        bytes: 0,
        last_sequence: 0,
        rolling_crc32: 0,
    };
    AREA.with(|area| {
        for index in 0..EXTENTS {
            let mut bytes = vec![0; FILLED];
            let from = data.len().min(index as usize * FILLED);
            let some = &data[from..data.len().min(from + FILLED)];
            bytes[..some.len()].copy_from_slice(some);
            if how & 1 == 0 {
                bytes[..8].copy_from_slice(b"HSPRJNL\x01");
                bytes[8..16].copy_from_slice(&ID.to_le_bytes());
                bytes[16..24].copy_from_slice(&EXTENT.to_le_bytes());
                bytes[24..28].copy_from_slice(&(index as u32).to_le_bytes());
                let crc = crc32fast::hash(&bytes[..28]);
                bytes[28..32].copy_from_slice(&crc.to_le_bytes());
                seal(&mut bytes, &mut position, u64::from(how >> 1));
            }
            area.write(START + (index + 1) * EXTENT, &bytes).unwrap();
        }
        if let Ok(reader) = JournalReader::open(area, &position) {
            assert!(!reader.extents().is_empty());
            let mut records = 0;
            for record in reader {
                // Nobody writes meanwhile: what was verified reads the same.
                let record = record.unwrap();
                assert!(record.payload.len() <= FILLED);
                records += 1;
            }
            assert_eq!(records, position.records);
        }
    });
});
