//! The superblock reader on any bytes, with a checksum that fits or does not.
#![no_main]

use hesper_image::{ImageArea, SUPERBLOCK_LEN, Superblock};
use hesper_memory::Mapping;
use libfuzzer_sys::fuzz_target;

const ARENA: u64 = 1 << 20;
const WINDOW: u64 = 1 << 19;
const LEN: usize = SUPERBLOCK_LEN as usize;

thread_local! {
    static AREA: ImageArea =
        ImageArea::new(Mapping::anonymous("fuzz", ARENA).unwrap(), WINDOW, None).unwrap();
}

fuzz_target!(|data: &[u8]| {
    let Some((how, data)) = data.split_first() else {
        return;
    };
    AREA.with(|area| {
        for (copy, bytes) in data
            .chunks(data.len().div_ceil(2).max(1))
            .take(2)
            .enumerate()
        {
            let mut page = [0; LEN];
            let len = bytes.len().min(LEN);
            page[..len].copy_from_slice(&bytes[..len]);
            if how & 1 == 0 {
                page[..8].copy_from_slice(b"HSPRIMG\x01");
                let crc = crc32fast::hash(&page[..LEN - 4]);
                page[LEN - 4..].copy_from_slice(&crc.to_le_bytes());
            }
            area.write(WINDOW + copy as u64 * SUPERBLOCK_LEN, &page)
                .unwrap();
        }
        if let Ok(found) = Superblock::read_current(area) {
            assert!(found.contexts.len() <= hesper_image::MAX_CONTEXTS);
            for context in &found.contexts {
                let end = context.state.extent.end().unwrap();
                assert!(context.state.extent.offset >= WINDOW && end <= ARENA);
                let _ = context.state.read(area, "state", 1 << 16);
            }
        }
    });
});
