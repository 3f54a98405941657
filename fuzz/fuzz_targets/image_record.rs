//! The record and message decoders on any bytes, with lists, maps, text and options inside.
#![no_main]

use std::collections::BTreeMap;

use hesper_image::{Extent, decode_message, decode_record};
use libfuzzer_sys::fuzz_target;
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Item {
    Nothing,
    Text(String),
    Many(Vec<(u64, Option<Extent>)>),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Payload {
    map: BTreeMap<u32, Vec<Extent>>,
    items: Vec<Item>,
    bytes: Vec<u8>,
}

const KIND: u32 = 1;
const VERSION: u32 = 1;
const LIMIT: u64 = 1 << 16;

fuzz_target!(|data: &[u8]| {
    let _ = decode_message::<Payload>(data);
    let _ = decode_record::<Payload>(KIND, VERSION, data, LIMIT);
    // The same as the payload of a record whose header is right.
    let mut bytes = Vec::with_capacity(24 + data.len());
    bytes.extend_from_slice(b"HSPR");
    bytes.extend_from_slice(&KIND.to_le_bytes());
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&(data.len() as u64).to_le_bytes());
    bytes.extend_from_slice(data);
    let crc = crc32fast::hash(&bytes);
    bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    if let Ok(payload) = decode_record::<Payload>(KIND, VERSION, &bytes, LIMIT) {
        let again = hesper_image::encode_record(KIND, VERSION, &payload).unwrap();
        let back: Payload = decode_record(KIND, VERSION, &again, LIMIT).unwrap();
        assert_eq!(payload, back);
    }
});
