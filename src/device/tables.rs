//! The device's own tables, and how they are saved.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use hesper_image::{decode_record, encode_record};
use serde::{Deserialize, Serialize};

use crate::display::Pixels;
use crate::pending::SavedRequests;
use crate::pixels::Format;
use crate::protocol::{Rect, SCANOUTS_MAX, Segment};

/// Resources at most.
pub const RESOURCES_MAX: usize = 1 << 16;
/// Contexts at most.
pub const CONTEXTS_MAX: usize = 64;
/// Bytes of all 2D images together at most.
pub const IMAGE_BYTES_MAX: u64 = 256 << 20;
/// Backing entries of all resources together at most.
pub const BACKING_TOTAL_MAX: usize = 1 << 20;

/// Kind and version of the record that [`encode`] writes.
const RECORD_KIND: u32 = u32::from_le_bytes(*b"VGPU");
const RECORD_VERSION: u32 = 1;
/// Bytes of that record at most: the backing of every resource at its limit.
const RECORD_LEN_MAX: u64 = 16 << 20;

/// A context, as far as the device knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// It is a Venus context, which the front knows. The others are what a kernel's own clients
    /// (its console) open: resources may be attached to them, and nothing more.
    pub venus: bool,
    /// What the guest calls it.
    pub name: String,
    /// Resources it may use.
    pub attached: BTreeSet<u32>,
}

/// What a resource is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Kind {
    /// A 2D image of the host's; its pixels are read from the backing again after a restore.
    Image {
        /// `VIRTIO_GPU_FORMAT_*`.
        format: u32,
        /// Pixels.
        width: u32,
        /// Pixels.
        height: u32,
        /// The content.
        #[serde(skip)]
        pixels: Pixels,
    },
    /// A blob in guest RAM.
    Guest {
        /// Bytes.
        size: u64,
    },
    /// A blob in the arena.
    Host {
        /// Offset in the arena, bytes.
        offset: u64,
        /// Bytes.
        len: u64,
        /// Where the guest sees it in the window, bytes.
        window: Option<u64>,
    },
}

/// A resource.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Resource {
    /// What it is.
    pub kind: Kind,
    /// Its pages in guest RAM, if it has any.
    pub backing: Arc<Vec<Segment>>,
}

/// Layout of a blob that is scanned out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct BlobLayout {
    pub width: u32,
    pub height: u32,
    pub format: u32,
    pub stride: u32,
    pub offset: u32,
}

impl BlobLayout {
    /// Width and height, pixels.
    pub fn size(&self) -> (u32, u32) {
        (self.width, self.height)
    }
}

/// What a scanout shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanoutState {
    /// The resource.
    pub res_id: u32,
    /// Which part of it.
    pub rect: Rect,
    /// How its pixels lie, if it is a blob.
    pub blob: Option<BlobLayout>,
}

/// All tables.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Tables {
    /// Contexts by id.
    pub contexts: BTreeMap<u32, Context>,
    /// Resources by id.
    pub resources: BTreeMap<u32, Resource>,
    /// Scanouts by id.
    pub scanouts: [Option<ScanoutState>; SCANOUTS_MAX],
}

impl Tables {
    /// Bytes of all 2D images.
    pub fn image_bytes(&self) -> u64 {
        self.resources
            .values()
            .map(|resource| match resource.kind {
                Kind::Image { width, height, .. } => image_len(width, height),
                _ => 0,
            })
            .sum()
    }

    /// Backing entries of all resources.
    pub fn backing_total(&self) -> usize {
        self.resources
            .values()
            .map(|resource| resource.backing.len())
            .sum()
    }
}

fn image_len(width: u32, height: u32) -> u64 {
    // 4 × u32 × u32 may pass 64 bits; no sum of limits comes near.
    (u64::from(width) * u64::from(height)).saturating_mul(4)
}

/// Zeroed pixels of an image, if they are at most `limit` bytes.
pub fn new_pixels(width: u32, height: u32, limit: u64) -> Option<Pixels> {
    let len = image_len(width, height);
    (len <= limit).then(|| Arc::new(Mutex::new(vec![0; len as usize])))
}

/// Everything of the device's that a destination needs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DeviceState {
    /// The tables.
    pub tables: Tables,
    /// The requests that the guest waits for.
    pub requests: SavedRequests,
}

/// The bytes of a saved device.
///
/// # Errors
/// When there is more of it than a record holds.
pub fn encode(tables: Tables, requests: SavedRequests) -> Result<Vec<u8>, String> {
    let state = DeviceState { tables, requests };
    encode_record(RECORD_KIND, RECORD_VERSION, &state).map_err(|error| error.to_string())
}

/// Reads what [`encode`] wrote. It may come from anywhere: every limit is checked again.
///
/// # Errors
/// What is wrong with it.
pub fn decode(bytes: &[u8]) -> Result<DeviceState, String> {
    let mut state: DeviceState = decode_record(RECORD_KIND, RECORD_VERSION, bytes, RECORD_LEN_MAX)
        .map_err(|error| error.to_string())?;
    let tables = &mut state.tables;
    if tables.contexts.len() > CONTEXTS_MAX
        || tables.resources.len() > RESOURCES_MAX
        || tables.backing_total() > BACKING_TOTAL_MAX
    {
        return Err("Device tables past their limits".into());
    }
    let mut left = IMAGE_BYTES_MAX;
    for resource in tables.resources.values_mut() {
        if let Kind::Image {
            format,
            width,
            height,
            pixels,
        } = &mut resource.kind
        {
            Format::from_wire(*format).ok_or("Image of an unknown format")?;
            *pixels = new_pixels(*width, *height, left).ok_or("Images past their limit")?;
            left -= image_len(*width, *height);
        }
    }
    Ok(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(width: u32, height: u32) -> Tables {
        let mut tables = Tables::default();
        tables.resources.insert(
            3,
            Resource {
                kind: Kind::Image {
                    format: 2,
                    width,
                    height,
                    pixels: Pixels::default(),
                },
                backing: Arc::new(vec![Segment {
                    addr: 0x1000,
                    len: 64,
                }]),
            },
        );
        tables
    }

    #[test]
    fn tables_survive_encode_and_decode() {
        let mut tables = image(4, 4);
        tables.contexts.entry(1).or_default().attached.insert(3);
        tables.scanouts[2] = Some(ScanoutState {
            res_id: 3,
            rect: Rect {
                x: 0,
                y: 0,
                width: 4,
                height: 4,
            },
            blob: None,
        });

        let bytes = encode(tables.clone(), SavedRequests::default()).unwrap();
        let back = decode(&bytes).unwrap().tables;

        assert_eq!(back.contexts, tables.contexts);
        assert_eq!(back.scanouts, tables.scanouts);
        assert_eq!(back.resources[&3].backing, tables.resources[&3].backing);
        let Kind::Image { pixels, .. } = &back.resources[&3].kind else {
            panic!("not an image");
        };
        assert_eq!(pixels.lock().unwrap().len(), 64);
    }

    #[test]
    fn decode_of_an_image_past_the_limit_is_refused() {
        let bytes = encode(image(u32::MAX, u32::MAX), SavedRequests::default()).unwrap();
        assert!(decode(&bytes).unwrap_err().contains("limit"));
    }

    #[test]
    fn decode_of_garbage_is_refused() {
        assert!(decode(b"").is_err());
        assert!(decode(b"{}").is_err());
        assert!(decode(&[0xff; 100]).is_err());
    }
}
