//! State records: serde types behind a version header. The only module that knows `bincode`.
//!
//! A record says what it is before anything is decoded, so that another serialiser can replace this
//! one version by version.

use bincode::config;
use bincode::error::DecodeError;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bytes::{u32_at, u64_at};
use crate::{Extent, ImageArea, ImageError, RecordFault, SealedExtent};

/// Bytes before the payload.
pub const RECORD_HEADER_LEN: usize = 24;

/// Longest payload, bytes.
pub const MAX_RECORD_LEN: u64 = 256 << 20;

/// Longest message, bytes.
pub const MAX_MESSAGE_LEN: u64 = 1 << 20;

/// Stands for the kind in errors about messages, which have none.
const KIND_MESSAGE: u32 = u32::from_le_bytes(*b"MSSG");

const MAGIC: [u8; 4] = *b"HSPR";

/// Encodes `value` as a record of `kind`, whose layout has `version`.
///
/// # Errors
/// [`ImageError::Record`] when the value can't be serialised or is longer than [`MAX_RECORD_LEN`].
pub fn encode_record<T: Serialize>(
    kind: u32,
    version: u32,
    value: &T,
) -> Result<Vec<u8>, ImageError> {
    let refused = |fault| ImageError::Record { kind, fault };
    let payload = bincode::serde::encode_to_vec(value, config::standard())
        .map_err(|e| refused(RecordFault::Payload(e.to_string())))?;
    let len = payload.len() as u64;
    check_limit(len, MAX_RECORD_LEN).map_err(refused)?;
    let mut bytes = Vec::with_capacity(RECORD_HEADER_LEN + payload.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&kind.to_le_bytes());
    bytes.extend_from_slice(&version.to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&len.to_le_bytes());
    bytes.extend_from_slice(&payload);
    let crc = crc32fast::hash(&bytes);
    bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    Ok(bytes)
}

/// Decodes a record of `kind` and `version` whose payload has no more than `limit` bytes. `bytes` is
/// a private copy of the whole record and nothing else.
///
/// Decoding takes memory in proportion to `limit`, whatever the payload claims. The types must not
/// hold lists of zero-sized elements: those take no bytes, and so a payload could claim any number.
///
/// # Errors
/// [`ImageError::Record`]. The checksum is looked at before kind and version, so that a damaged
/// record isn't taken for one of another version.
pub fn decode_record<T: DeserializeOwned>(
    kind: u32,
    version: u32,
    bytes: &[u8],
    limit: u64,
) -> Result<T, ImageError> {
    decode(kind, version, bytes, limit.min(MAX_RECORD_LEN))
        .map_err(|fault| ImageError::Record { kind, fault })
}

/// Encodes `value` as a record into a new extent from `alloc`, which gets the least length and answers
/// with an offset or none. Returns what refers to it, and what to free in the end.
///
/// # Errors
/// As [`encode_record`] and [`ImageArea::write`]; [`ImageError::Full`]. After an error nothing refers
/// to the extent, but it is allocated.
pub fn write_record<T: Serialize>(
    area: &ImageArea,
    kind: u32,
    version: u32,
    value: &T,
    alloc: &mut dyn FnMut(u64) -> Option<u64>,
) -> Result<(SealedExtent, Extent), ImageError> {
    let bytes = encode_record(kind, version, value)?;
    let len = bytes.len() as u64;
    let wanted = len.next_multiple_of(crate::EXTENT_ALIGN);
    let offset = alloc(wanted).ok_or(ImageError::Full { wanted })?;
    let sealed = SealedExtent::write(area, offset, &bytes)?;
    Ok((sealed, Extent::new(offset, wanted)))
}

/// Reads a record that [`write_record`] wrote; its payload has no more than `limit` bytes.
///
/// # Errors
/// As [`SealedExtent::read`] and [`decode_record`].
pub fn read_record<T: DeserializeOwned>(
    area: &ImageArea,
    sealed: &SealedExtent,
    kind: u32,
    version: u32,
    limit: u64,
) -> Result<T, ImageError> {
    let longest = limit.saturating_add(RECORD_HEADER_LEN as u64);
    let bytes = sealed.read(area, "Record", longest)?;
    decode_record(kind, version, &bytes, limit)
}

/// Encodes a message between two processes of one build. It is never stored, so it has no header.
///
/// # Errors
/// [`ImageError::Record`] when the value can't be serialised or is longer than [`MAX_MESSAGE_LEN`].
pub fn encode_message<T: Serialize>(value: &T) -> Result<Vec<u8>, ImageError> {
    let refused = |fault| ImageError::Record {
        kind: KIND_MESSAGE,
        fault,
    };
    let bytes = bincode::serde::encode_to_vec(value, config::standard())
        .map_err(|e| refused(RecordFault::Payload(e.to_string())))?;
    check_limit(bytes.len() as u64, MAX_MESSAGE_LEN).map_err(refused)?;
    Ok(bytes)
}

/// Decodes a message from [`encode_message`]; nothing may follow it.
///
/// # Errors
/// [`ImageError::Record`].
pub fn decode_message<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ImageError> {
    check_limit(bytes.len() as u64, MAX_MESSAGE_LEN)
        .and_then(|()| decode_payload(bytes, MAX_MESSAGE_LEN))
        .map_err(|fault| ImageError::Record {
            kind: KIND_MESSAGE,
            fault,
        })
}

fn check_limit(len: u64, limit: u64) -> Result<(), RecordFault> {
    match len > limit {
        true => Err(RecordFault::TooLarge { len, limit }),
        false => Ok(()),
    }
}

fn decode<T: DeserializeOwned>(
    kind: u32,
    version: u32,
    bytes: &[u8],
    limit: u64,
) -> Result<T, RecordFault> {
    let Some((header, payload)) = bytes.split_at_checked(RECORD_HEADER_LEN) else {
        return Err(RecordFault::Short(bytes.len() as u64));
    };
    if header[..4] != MAGIC {
        return Err(RecordFault::Magic);
    }
    let claimed = u64_at(header, 16);
    let found = payload.len() as u64;
    if claimed != found {
        return Err(RecordFault::Length { claimed, found });
    }
    check_limit(found, limit)?;
    let expected = u32_at(header, 12);
    let mut crc = crc32fast::Hasher::new();
    crc.update(&header[..12]);
    crc.update(&[0; 4]);
    crc.update(&header[16..]);
    crc.update(payload);
    let found = crc.finalize();
    if found != expected {
        return Err(RecordFault::Checksum { expected, found });
    }
    if u32_at(header, 4) != kind {
        return Err(RecordFault::Kind(u32_at(header, 4)));
    }
    let found = u32_at(header, 8);
    if found != version {
        return Err(RecordFault::Version {
            expected: version,
            found,
        });
    }
    decode_payload(payload, limit)
}

/// Decodes a payload, all of it.
fn decode_payload<T: DeserializeOwned>(payload: &[u8], limit: u64) -> Result<T, RecordFault> {
    let (value, used) =
        decode_limited(payload, limit).map_err(|e| RecordFault::Payload(e.to_string()))?;
    match payload.len() - used {
        0 => Ok(value),
        trailing => Err(RecordFault::Trailing(trailing as u64)),
    }
}

/// bincode takes its limit as a constant: the next one that is no smaller than the caller's.
///
/// It counts decoded bytes, of which there may be eight to an encoded one: integers are packed.
fn decode_limited<T: DeserializeOwned>(
    payload: &[u8],
    limit: u64,
) -> Result<(T, usize), DecodeError> {
    const SMALL: usize = 8 * (8 << 10);
    const MIDDLE: usize = 8 * (1 << 20);
    const LARGE: usize = 8 * (16 << 20);
    const LARGEST: usize = 8 * MAX_RECORD_LEN as usize;
    use bincode::serde::decode_from_slice;
    let standard = config::standard();
    match limit.saturating_mul(8) {
        n if n <= SMALL as u64 => decode_from_slice(payload, standard.with_limit::<SMALL>()),
        n if n <= MIDDLE as u64 => decode_from_slice(payload, standard.with_limit::<MIDDLE>()),
        n if n <= LARGE as u64 => decode_from_slice(payload, standard.with_limit::<LARGE>()),
        _ => decode_from_slice(payload, standard.with_limit::<LARGEST>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct State {
        name: String,
        payloads: Vec<u64>,
        held: Option<(u32, [u8; 16])>,
    }

    fn state() -> State {
        State {
            name: "timeline".into(),
            payloads: vec![1, u64::MAX, 7],
            held: Some((3, [9; 16])),
        }
    }

    fn fault<T: std::fmt::Debug>(result: Result<T, ImageError>) -> RecordFault {
        match result {
            Err(ImageError::Record { fault, .. }) => fault,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn decode_after_encode_returns_the_value() {
        let bytes = encode_record(5, 2, &state()).unwrap();
        assert_eq!(decode_record::<State>(5, 2, &bytes, 4096).unwrap(), state());
    }

    #[test]
    fn encoding_stays_as_specified() {
        let bytes = encode_record(0x41, 3, &(1u8, 300u32, "ab")).unwrap();
        let mut want =
            b"HSPR\x41\0\0\0\x03\0\0\0CRC_\x07\0\0\0\0\0\0\0\x01\xfb\x2c\x01\x02ab".to_vec();
        let crc = crc32fast::hash(&[&want[..12], &[0; 4], &want[16..]].concat());
        want[12..16].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(bytes, want);
    }

    #[test]
    fn any_flipped_bit_or_truncation_is_refused() {
        let good = encode_record(5, 2, &state()).unwrap();
        for bit in 0..good.len() * 8 {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(
                decode_record::<State>(5, 2, &bytes, 4096).is_err(),
                "bit {bit}"
            );
        }
        for len in 0..good.len() {
            assert!(
                decode_record::<State>(5, 2, &good[..len], 4096).is_err(),
                "{len} bytes"
            );
        }
        let longer = [&good[..], &[0]].concat();
        assert!(decode_record::<State>(5, 2, &longer, 4096).is_err());
    }

    #[test]
    fn other_kind_version_or_size_is_refused_by_name() {
        let bytes = encode_record(5, 2, &state()).unwrap();
        assert_eq!(
            fault(decode_record::<State>(6, 2, &bytes, 4096)),
            RecordFault::Kind(5)
        );
        assert_eq!(
            fault(decode_record::<State>(5, 3, &bytes, 4096)),
            RecordFault::Version {
                expected: 3,
                found: 2
            }
        );
        assert!(matches!(
            fault(decode_record::<State>(5, 2, &bytes, 8)),
            RecordFault::TooLarge { limit: 8, .. }
        ));
        assert!(matches!(
            fault(decode_record::<u8>(5, 2, &bytes, 4096)),
            RecordFault::Trailing(_)
        ));
    }

    /// A list that claims 2^60 elements, with a right checksum.
    #[test]
    fn hostile_list_length_is_refused_without_taking_memory() {
        let mut bytes = encode_record(5, 2, &[0u8; 9]).unwrap();
        bytes[RECORD_HEADER_LEN] = 253;
        bytes[RECORD_HEADER_LEN + 1..].copy_from_slice(&(1u64 << 60).to_le_bytes());
        bytes[12..16].fill(0);
        let crc = crc32fast::hash(&bytes);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
        for limit in [4096, 1 << 20, 16 << 20, u64::MAX] {
            assert!(matches!(
                fault(decode_record::<Vec<u64>>(5, 2, &bytes, limit)),
                RecordFault::Payload(_)
            ));
            assert!(matches!(
                fault(decode_record::<String>(5, 2, &bytes, limit)),
                RecordFault::Payload(_)
            ));
        }
    }

    #[test]
    fn read_after_write_returns_the_value_and_a_flipped_byte_is_refused() {
        let mapping = hesper_memory::Mapping::anonymous("t", 1 << 20).unwrap();
        let area = ImageArea::new(mapping, 4096, None).unwrap();
        let mut allocator = area.extent_allocator();
        let (sealed, extent) =
            write_record(&area, 5, 2, &state(), &mut |len| allocator.alloc(len)).unwrap();
        let read = || read_record::<State>(&area, &sealed, 5, 2, 4096);
        assert_eq!(read().unwrap(), state());
        allocator.free(extent.offset, extent.len).unwrap();
        assert_eq!(allocator.used_bytes(), 0);
        area.write(extent.offset + 30, &[0xff]).unwrap();
        assert!(matches!(read(), Err(ImageError::Checksum { .. })));
        assert!(matches!(
            write_record(&area, 5, 2, &state(), &mut |_| None),
            Err(ImageError::Full { wanted: 65536 })
        ));
    }

    #[test]
    fn message_comes_back_and_one_that_goes_on_is_refused() {
        let mut bytes = encode_message(&state()).unwrap();
        assert_eq!(decode_message::<State>(&bytes).unwrap(), state());
        assert!(decode_message::<State>(&bytes[..bytes.len() - 1]).is_err());
        bytes.push(0);
        assert_eq!(
            fault(decode_message::<State>(&bytes)),
            RecordFault::Trailing(1)
        );
        assert!(encode_message(&"x".repeat(1 << 20)).is_err());
        assert!(decode_message::<String>(&vec![0; (1 << 20) + 1]).is_err());
    }

    proptest! {
        #[test]
        fn any_payload_with_a_right_checksum_gives_an_answer(
            payload in prop::collection::vec(any::<u8>(), 0..64)
        ) {
            let mut bytes = [&b"HSPR\x05\0\0\0\x02\0\0\0\0\0\0\0"[..], &(payload.len() as u64).to_le_bytes(), &payload].concat();
            let crc = crc32fast::hash(&bytes);
            bytes[12..16].copy_from_slice(&crc.to_le_bytes());
            let _ = decode_record::<State>(5, 2, &bytes, 4096);
        }
    }
}
