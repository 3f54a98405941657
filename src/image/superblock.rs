//! The superblock: what an image holds, in two copies that are written in turn.

use std::sync::atomic::{Ordering, fence};

use crate::{Extent, ImageArea, ImageError, SealedExtent, SuperblockFault};

/// Bytes of one copy. Copy `n` lies at `n * SUPERBLOCK_LEN` from the start of the area.
pub const SUPERBLOCK_LEN: u64 = 4096;

/// Version of everything that `docs/format.md` specifies.
pub const FORMAT_VERSION: u32 = 1;

/// Most contexts in an image.
pub const MAX_CONTEXTS: usize = 64;

/// Longest driver version, bytes of UTF-8.
pub const MAX_DRIVER_VERSION_LEN: usize = 256;

const LEN: usize = SUPERBLOCK_LEN as usize;
const MAGIC: [u8; 8] = *b"HSPRIMG\x01";

// Field offsets, as in docs/format.md.
const AT_VERSION: usize = 8;
const AT_SEQUENCE: usize = 16;
const AT_ARENA_LEN: usize = 24;
const AT_WINDOW_LEN: usize = 32;
const AT_DRIVER_UUID: usize = 40;
const AT_DEVICE_UUID: usize = 56;
const AT_VENDOR_ID: usize = 72;
const AT_DEVICE_ID: usize = 76;
const AT_DRIVER_VERSION_LEN: usize = 80;
const AT_CONTEXT_COUNT: usize = 84;
const AT_FRONT: usize = 88;
const AT_DRIVER_VERSION: usize = 112;
const AT_CONTEXTS: usize = AT_DRIVER_VERSION + MAX_DRIVER_VERSION_LEN;
const CONTEXT_LEN: usize = 32;
const AT_CRC: usize = LEN - 4;
const _: () = assert!(AT_CONTEXTS + MAX_CONTEXTS * CONTEXT_LEN <= AT_CRC);

/// Which driver and device made an image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// `VkPhysicalDeviceIDProperties::driverUUID`.
    pub driver_uuid: [u8; 16],
    /// `VkPhysicalDeviceIDProperties::deviceUUID`. Two boards of one kind differ here.
    pub device_uuid: [u8; 16],
    /// `VkPhysicalDeviceProperties::vendorID`.
    pub vendor_id: u32,
    /// `VkPhysicalDeviceProperties::deviceID`.
    pub device_id: u32,
    /// Name and version of the driver, for people and for comparing.
    pub driver_version: String,
}

impl Identity {
    /// The first field that keeps an image of `self` from being restored on `host`, with both
    /// values. The device UUID doesn't count: it tells two equal boards apart.
    pub fn difference(&self, host: &Identity) -> Option<String> {
        let differ = |field: &str, image: String, host: String| {
            (image != host).then(|| format!("{field} is {image} in the image, {host} here"))
        };
        let hex = |id: u32| format!("{id:#06x}");
        let uuid = |uuid: &[u8; 16]| uuid.iter().map(|b| format!("{b:02x}")).collect::<String>();
        differ("vendorID", hex(self.vendor_id), hex(host.vendor_id))
            .or_else(|| differ("deviceID", hex(self.device_id), hex(host.device_id)))
            .or_else(|| {
                differ(
                    "driver version",
                    format!("{:?}", self.driver_version),
                    format!("{:?}", host.driver_version),
                )
            })
            .or_else(|| {
                differ(
                    "driverUUID",
                    uuid(&self.driver_uuid),
                    uuid(&host.driver_uuid),
                )
            })
    }
}

/// A context of the image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextEntry {
    /// Context id, not 0.
    pub ctx_id: u32,
    /// Its state record, which leads to its journal and shadow.
    pub state: SealedExtent,
}

/// What an image holds. Everything it refers to is complete before it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Superblock {
    /// Number of this superblock in its image; [`Superblock::write_next`] counts up from 1.
    pub sequence: u64,
    /// Length of the arena, bytes.
    pub arena_len: u64,
    /// Length of the guest's window: where the image area starts, bytes.
    pub window_len: u64,
    /// Which driver and device the content belongs to.
    pub identity: Identity,
    /// The front's tables; empty if there are none.
    pub front: SealedExtent,
    /// The contexts, each id once, at most [`MAX_CONTEXTS`].
    pub contexts: Vec<ContextEntry>,
}

impl Superblock {
    /// A superblock with no content, shaped for `area`.
    pub fn empty(area: &ImageArea, identity: Identity) -> Self {
        Self {
            arena_len: area.end(),
            window_len: area.start(),
            identity,
            ..Self::default()
        }
    }

    /// Writes `self` with the next sequence into the copy that is not current, which then is the
    /// current one. Returns the sequence. What the previous superblock refers to may be freed after
    /// that, and not before.
    ///
    /// # Errors
    /// [`ImageError::BadSuperblock`] when a reader would refuse it: nothing is written then.
    pub fn write_next(area: &ImageArea, superblock: &Superblock) -> Result<u64, ImageError> {
        let current = match Self::read_current(area) {
            Ok(current) => current.sequence,
            // A first image, or one that can't be saved any more.
            Err(ImageError::NoSuperblock { .. }) => 0,
            Err(other) => return Err(other),
        };
        let sequence =
            current
                .checked_add(1)
                .ok_or(ImageError::BadSuperblock(SuperblockFault::Sequence(
                    current,
                )))?;
        let bytes = superblock
            .encode(sequence)
            .map_err(ImageError::BadSuperblock)?;
        // Written and read by the same rules: what a reader would refuse is never written.
        decode(area, &bytes, sequence & 1).map_err(ImageError::BadSuperblock)?;
        // What it refers to must be visible before it is.
        fence(Ordering::Release);
        area.write(area.start() + (sequence & 1) * SUPERBLOCK_LEN, &bytes)?;
        Ok(sequence)
    }

    /// The newest valid superblock.
    ///
    /// # Errors
    /// [`ImageError::NoSuperblock`] with what is wrong with each copy.
    pub fn read_current(area: &ImageArea) -> Result<Superblock, ImageError> {
        match (read_copy(area, 0)?, read_copy(area, 1)?) {
            (Ok(first), Ok(second)) if first.sequence > second.sequence => Ok(first),
            (_, Ok(second)) => Ok(second),
            (Ok(first), Err(_)) => Ok(first),
            (Err(first), Err(second)) => Err(ImageError::NoSuperblock { first, second }),
        }
    }

    /// The state record of a context.
    pub fn context(&self, ctx_id: u32) -> Option<&ContextEntry> {
        self.contexts.iter().find(|c| c.ctx_id == ctx_id)
    }

    fn encode(&self, sequence: u64) -> Result<[u8; LEN], SuperblockFault> {
        let version = self.identity.driver_version.as_bytes();
        check_len("driver version", version.len(), MAX_DRIVER_VERSION_LEN)?;
        check_len("list of contexts", self.contexts.len(), MAX_CONTEXTS)?;
        let mut bytes = [0; LEN];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(0, &MAGIC);
        put(AT_VERSION, &FORMAT_VERSION.to_le_bytes());
        put(AT_SEQUENCE, &sequence.to_le_bytes());
        put(AT_ARENA_LEN, &self.arena_len.to_le_bytes());
        put(AT_WINDOW_LEN, &self.window_len.to_le_bytes());
        put(AT_DRIVER_UUID, &self.identity.driver_uuid);
        put(AT_DEVICE_UUID, &self.identity.device_uuid);
        put(AT_VENDOR_ID, &self.identity.vendor_id.to_le_bytes());
        put(AT_DEVICE_ID, &self.identity.device_id.to_le_bytes());
        put(AT_DRIVER_VERSION_LEN, &(version.len() as u32).to_le_bytes());
        put(
            AT_CONTEXT_COUNT,
            &(self.contexts.len() as u32).to_le_bytes(),
        );
        put(AT_FRONT, &encode_sealed(&self.front));
        put(AT_DRIVER_VERSION, version);
        for (i, context) in self.contexts.iter().enumerate() {
            let at = AT_CONTEXTS + i * CONTEXT_LEN;
            put(at, &context.ctx_id.to_le_bytes());
            put(at + 8, &encode_sealed(&context.state));
        }
        let crc = crc32fast::hash(&bytes[..AT_CRC]);
        bytes[AT_CRC..].copy_from_slice(&crc.to_le_bytes());
        Ok(bytes)
    }
}

fn read_copy(
    area: &ImageArea,
    copy: u64,
) -> Result<Result<Superblock, SuperblockFault>, ImageError> {
    let mut bytes = [0; LEN];
    area.read(area.start() + copy * SUPERBLOCK_LEN, &mut bytes)?;
    Ok(decode(area, &bytes, copy))
}

fn decode(area: &ImageArea, bytes: &[u8; LEN], copy: u64) -> Result<Superblock, SuperblockFault> {
    if bytes.iter().all(|b| *b == 0) {
        return Err(SuperblockFault::Blank);
    }
    if bytes[..8] != MAGIC {
        return Err(SuperblockFault::Magic);
    }
    let expected = u32_at(bytes, AT_CRC);
    let found = crc32fast::hash(&bytes[..AT_CRC]);
    if expected != found {
        return Err(SuperblockFault::Checksum { expected, found });
    }
    let version = u32_at(bytes, AT_VERSION);
    if version != FORMAT_VERSION {
        return Err(SuperblockFault::Version(version));
    }
    let sequence = u64_at(bytes, AT_SEQUENCE);
    if sequence == 0 || sequence & 1 != copy {
        return Err(SuperblockFault::Sequence(sequence));
    }
    let shape = |field, at, expected| match u64_at(bytes, at) {
        found if found == expected => Ok(found),
        found => Err(SuperblockFault::Shape {
            field,
            expected,
            found,
        }),
    };
    let arena_len = shape("arena length", AT_ARENA_LEN, area.end())?;
    let window_len = shape("window length", AT_WINDOW_LEN, area.start())?;
    let version_len = u32_at(bytes, AT_DRIVER_VERSION_LEN) as usize;
    let context_count = u32_at(bytes, AT_CONTEXT_COUNT) as usize;
    check_len("driver version", version_len, MAX_DRIVER_VERSION_LEN)?;
    check_len("list of contexts", context_count, MAX_CONTEXTS)?;
    let version_end = AT_DRIVER_VERSION + version_len;
    let contexts_end = AT_CONTEXTS + context_count * CONTEXT_LEN;
    let reserved = [
        &bytes[AT_VERSION + 4..AT_SEQUENCE],
        &bytes[version_end..AT_CONTEXTS],
        &bytes[contexts_end..AT_CRC],
    ];
    if reserved.iter().any(|r| r.iter().any(|b| *b != 0)) {
        return Err(SuperblockFault::Reserved);
    }
    let driver_version = std::str::from_utf8(&bytes[AT_DRIVER_VERSION..version_end])
        .ok()
        .filter(|text| !text.contains('\0'))
        .ok_or(SuperblockFault::DriverVersion)?;
    let contexts = bytes[AT_CONTEXTS..contexts_end]
        .chunks_exact(CONTEXT_LEN)
        .map(|entry| {
            if u32_at(entry, 4) != 0 {
                return Err(SuperblockFault::Reserved);
            }
            Ok(ContextEntry {
                ctx_id: u32_at(entry, 0),
                state: decode_sealed(&entry[8..])?,
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    let superblock = Superblock {
        sequence,
        arena_len,
        window_len,
        identity: Identity {
            driver_uuid: array_at(bytes, AT_DRIVER_UUID),
            device_uuid: array_at(bytes, AT_DEVICE_UUID),
            vendor_id: u32_at(bytes, AT_VENDOR_ID),
            device_id: u32_at(bytes, AT_DEVICE_ID),
            driver_version: driver_version.to_owned(),
        },
        front: decode_sealed(&bytes[AT_FRONT..AT_DRIVER_VERSION])?,
        contexts,
    };
    check_contexts(&superblock)?;
    check_extents(area, &superblock)?;
    Ok(superblock)
}

fn check_contexts(superblock: &Superblock) -> Result<(), SuperblockFault> {
    let mut ids: Vec<u32> = superblock.contexts.iter().map(|c| c.ctx_id).collect();
    ids.sort_unstable();
    if ids.first() == Some(&0) {
        return Err(SuperblockFault::Context(0));
    }
    match ids.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(SuperblockFault::Context(pair[0])),
        None => Ok(()),
    }
}

/// Extents lie behind the superblock, inside the area, and overlap nowhere.
fn check_extents(area: &ImageArea, superblock: &Superblock) -> Result<(), SuperblockFault> {
    let front = (!superblock.front.is_empty()).then_some(superblock.front.extent);
    let states = superblock.contexts.iter().map(|c| c.state.extent);
    let mut extents: Vec<Extent> = front.into_iter().chain(states).collect();
    extents.sort_unstable();
    let mut floor = area.start() + 2 * SUPERBLOCK_LEN;
    for extent in extents {
        match extent.end() {
            Some(end) if extent.len > 0 && extent.offset >= floor && end <= area.end() => {
                floor = end;
            }
            _ => return Err(SuperblockFault::Extent(extent)),
        }
    }
    Ok(())
}

fn check_len(field: &'static str, found: usize, limit: usize) -> Result<(), SuperblockFault> {
    if found > limit {
        return Err(SuperblockFault::TooLong {
            field,
            found: found as u64,
            limit: limit as u64,
        });
    }
    Ok(())
}

/// offset u64, len u64, crc32 u32, zero u32.
fn encode_sealed(sealed: &SealedExtent) -> [u8; 24] {
    let mut bytes = [0; 24];
    bytes[..8].copy_from_slice(&sealed.extent.offset.to_le_bytes());
    bytes[8..16].copy_from_slice(&sealed.extent.len.to_le_bytes());
    bytes[16..20].copy_from_slice(&sealed.crc32.to_le_bytes());
    bytes
}

fn decode_sealed(bytes: &[u8]) -> Result<SealedExtent, SuperblockFault> {
    let sealed = SealedExtent {
        extent: Extent::new(u64_at(bytes, 0), u64_at(bytes, 8)),
        crc32: u32_at(bytes, 16),
    };
    if u32_at(bytes, 20) != 0 || (sealed.is_empty() && sealed != SealedExtent::default()) {
        return Err(SuperblockFault::Reserved);
    }
    Ok(sealed)
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array_at(bytes, at))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array_at(bytes, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hesper_memory::Mapping;
    use proptest::prelude::*;

    const WINDOW: u64 = 1 << 18;

    fn area() -> ImageArea {
        let mapping = Mapping::anonymous("t", 1 << 20).unwrap();
        ImageArea::new(mapping, WINDOW, None).unwrap()
    }

    fn entry(ctx_id: u32, offset: u64, len: u64) -> ContextEntry {
        ContextEntry {
            ctx_id,
            state: SealedExtent {
                extent: Extent::new(offset, len),
                crc32: 0x1234_5678,
            },
        }
    }

    fn superblock(area: &ImageArea) -> Superblock {
        let identity = Identity {
            driver_uuid: *b"driver-uuid-0123",
            device_uuid: *b"device-uuid-0123",
            vendor_id: 0x10005,
            device_id: 0,
            driver_version: "llvmpipe | Mesa 25.0.7 (LLVM 19.1.7) – é".into(),
        };
        Superblock {
            front: SealedExtent {
                extent: Extent::new(0x60000, 100),
                crc32: 7,
            },
            contexts: vec![entry(3, 0x70000, 0x10001), entry(9, 0x50000, 0x10000)],
            ..Superblock::empty(area, identity)
        }
    }

    #[test]
    fn read_after_write_returns_the_newest() {
        let area = area();
        let mut superblock = superblock(&area);
        for sequence in 1..=5 {
            superblock.front.crc32 = sequence as u32;
            assert_eq!(
                Superblock::write_next(&area, &superblock).unwrap(),
                sequence
            );
            superblock.sequence = sequence;
            assert_eq!(Superblock::read_current(&area).unwrap(), superblock);
        }
        assert_eq!(superblock.context(9), Some(&superblock.contexts[1]));
    }

    #[test]
    fn write_never_touches_the_current_copy() {
        let area = area();
        let superblock = superblock(&area);
        Superblock::write_next(&area, &superblock).unwrap();
        let mut before = [0; LEN];
        area.read(WINDOW + SUPERBLOCK_LEN, &mut before).unwrap();
        Superblock::write_next(&area, &superblock).unwrap();
        let mut after = [0; LEN];
        area.read(WINDOW + SUPERBLOCK_LEN, &mut after).unwrap();
        assert_eq!(before, after);
    }

    #[test]
    fn any_flipped_bit_of_the_newest_copy_falls_back_to_the_older() {
        let area = area();
        let mut newest = superblock(&area);
        Superblock::write_next(&area, &newest).unwrap();
        newest.contexts.pop();
        Superblock::write_next(&area, &newest).unwrap();
        for at in 0..LEN as u64 {
            let mut byte = [0];
            area.read(WINDOW + at, &mut byte).unwrap();
            area.write(WINDOW + at, &[byte[0] ^ (1 << (at % 8))])
                .unwrap();
            assert_eq!(
                Superblock::read_current(&area).unwrap().sequence,
                1,
                "byte {at}"
            );
            area.write(WINDOW + at, &byte).unwrap();
        }
        assert_eq!(Superblock::read_current(&area).unwrap().sequence, 2);
    }

    #[test]
    fn torn_write_of_any_length_leaves_the_older_copy() {
        let area = area();
        let first = superblock(&area);
        Superblock::write_next(&area, &first).unwrap();
        let next = Superblock {
            identity: Identity::default(),
            ..first
        };
        let bytes = next.encode(2).unwrap();
        for torn in (0..LEN).step_by(61).chain([AT_CRC]) {
            area.write(WINDOW, &[0; LEN]).unwrap();
            area.write(WINDOW, &bytes[..torn]).unwrap();
            assert_eq!(
                Superblock::read_current(&area).unwrap().sequence,
                1,
                "{torn} bytes"
            );
        }
    }

    #[test]
    fn blank_area_says_that_both_copies_are_blank() {
        let error = Superblock::read_current(&area()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "No valid superblock: copy 0 is blank; copy 1 is blank"
        );
    }

    #[test]
    fn image_of_another_arena_is_refused_naming_the_field() {
        let area = area();
        let superblock = superblock(&area);
        Superblock::write_next(&area, &superblock).unwrap();
        let mut bytes = [0; LEN];
        area.read(WINDOW + SUPERBLOCK_LEN, &mut bytes).unwrap();
        let longer = Mapping::anonymous("t", 1 << 21).unwrap();
        let longer = ImageArea::new(longer, WINDOW, None).unwrap();
        longer.write(WINDOW + SUPERBLOCK_LEN, &bytes).unwrap();
        let error = Superblock::read_current(&longer).unwrap_err();
        assert!(
            error.to_string().contains("arena length 0x100000"),
            "{error}"
        );
    }

    #[test]
    fn copy_in_the_wrong_place_is_refused() {
        let area = area();
        let bytes = superblock(&area).encode(1).unwrap();
        assert_eq!(decode(&area, &bytes, 0), Err(SuperblockFault::Sequence(1)));
        assert!(decode(&area, &bytes, 1).is_ok());
    }

    #[test]
    fn bad_superblocks_are_not_written() {
        let area = area();
        let good = superblock(&area);
        let with = |contexts: Vec<ContextEntry>| Superblock {
            contexts,
            ..good.clone()
        };
        let e = SuperblockFault::Extent;
        let cases = [
            (
                with(vec![entry(0, 0x70000, 1)]),
                SuperblockFault::Context(0),
            ),
            (
                with(vec![entry(5, 0x70000, 1), entry(5, 0x80000, 1)]),
                SuperblockFault::Context(5),
            ),
            (with(vec![entry(1, WINDOW, 1)]), e(Extent::new(WINDOW, 1))),
            (with(vec![entry(1, 4096, 1)]), e(Extent::new(4096, 1))),
            (
                with(vec![entry(1, 0xf_ffff, 2)]),
                e(Extent::new(0xf_ffff, 2)),
            ),
            (
                with(vec![entry(1, u64::MAX, 2)]),
                e(Extent::new(u64::MAX, 2)),
            ),
            (with(vec![entry(1, 0x60040, 8)]), e(Extent::new(0x60040, 8))),
            (
                with((1..66).map(|i| entry(i, 0x70000, 1)).collect()),
                SuperblockFault::TooLong {
                    field: "list of contexts",
                    found: 65,
                    limit: 64,
                },
            ),
            (
                Superblock {
                    identity: Identity {
                        driver_version: "x".repeat(257),
                        ..Identity::default()
                    },
                    ..good.clone()
                },
                SuperblockFault::TooLong {
                    field: "driver version",
                    found: 257,
                    limit: 256,
                },
            ),
            (
                Superblock {
                    window_len: 0,
                    ..good.clone()
                },
                SuperblockFault::Shape {
                    field: "window length",
                    expected: WINDOW,
                    found: 0,
                },
            ),
        ];
        for (bad, want) in cases {
            match Superblock::write_next(&area, &bad) {
                Err(ImageError::BadSuperblock(fault)) => assert_eq!(fault, want),
                other => panic!("{other:?} instead of {want:?}"),
            }
        }
        assert!(Superblock::read_current(&area).is_err());
    }

    #[test]
    fn difference_names_the_field_and_ignores_the_device_uuid() {
        let area = area();
        let image = superblock(&area).identity;
        let mut host = image.clone();
        host.device_uuid = [0; 16];
        assert_eq!(image.difference(&host), None);
        host.driver_version = "other".into();
        let text = image.difference(&host).unwrap();
        assert!(text.starts_with("driver version is \"llvmpipe"), "{text}");
    }

    proptest! {
        /// With a right checksum, too, hostile fields give an answer and no panic; what is
        /// accepted encodes to the very same bytes.
        #[test]
        fn hostile_superblock_is_refused_or_exact(
            edits in prop::collection::vec((8..AT_CRC, any::<u8>()), 0..6),
            word in prop::option::of((1..(AT_CRC / 8), prop_oneof![
                Just(u64::MAX), Just(1 << 63), Just(WINDOW), Just(1 << 20), any::<u64>()
            ])),
        ) {
            let area = area();
            let mut bytes = superblock(&area).encode(2).unwrap();
            for (at, value) in edits {
                bytes[at] = value;
            }
            if let Some((at, value)) = word {
                bytes[at * 8..at * 8 + 8].copy_from_slice(&value.to_le_bytes());
            }
            let crc = crc32fast::hash(&bytes[..AT_CRC]);
            bytes[AT_CRC..].copy_from_slice(&crc.to_le_bytes());
            if let Ok(superblock) = decode(&area, &bytes, 0) {
                prop_assert_eq!(superblock.encode(superblock.sequence).unwrap(), bytes);
            }
        }
    }
}
