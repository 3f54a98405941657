//! The device's own tables, and how they are saved.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use hesper_image::{decode_record, encode_record};
use serde::{Deserialize, Serialize};

use crate::display::{CURSOR_SIZE, Pixels};
use crate::gpu::DeviceLimits;
use crate::pending::SavedRequests;
use crate::pixels::Format;
use crate::protocol::{Rect, Refusal, SCANOUTS_MAX, Segment};

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
const RECORD_VERSION: u32 = 2;
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
    /// The process that served it is gone, and what it held with it.
    pub lost: bool,
}

impl Context {
    /// The same, with nothing attached.
    pub fn without_attached(&self) -> Self {
        Self {
            venus: self.venus,
            name: self.name.clone(),
            attached: BTreeSet::new(),
            lost: self.lost,
        }
    }
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
    /// What other devices of the VM may know it by, once the guest has asked.
    pub uuid: Option<[u8; 16]>,
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

/// What the cursor looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CursorState {
    /// Scanout that it is on.
    pub scanout_id: u32,
    /// Its image; 0 hides it.
    pub res_id: u32,
    /// Where it was when it got that image, pixels.
    pub position: (u32, u32),
    /// The pixel that points.
    pub hot_spot: (u32, u32),
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
    /// The cursor, once there is one.
    pub cursor: Option<CursorState>,
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

    /// Blobs that the guest sees in its window.
    pub fn maps(&self) -> usize {
        let kinds = self.resources.values().map(|resource| &resource.kind);
        kinds
            .filter(|kind| {
                matches!(
                    kind,
                    Kind::Host {
                        window: Some(_),
                        ..
                    }
                )
            })
            .count()
    }

    /// Backing entries of all resources.
    pub fn backing_total(&self) -> usize {
        self.resources
            .values()
            .map(|resource| resource.backing.len())
            .sum()
    }
}

impl Tables {
    /// A resource by its id.
    ///
    /// # Errors
    /// [`Refusal::ResourceId`].
    pub fn resource(&mut self, res_id: u32) -> Result<&mut Resource, Refusal> {
        self.resources.get_mut(&res_id).ok_or(Refusal::ResourceId)
    }

    /// Checks that a context is a Venus context that lives.
    ///
    /// # Errors
    /// What to answer instead.
    pub fn venus_context(&self, ctx_id: u32) -> Result<(), Refusal> {
        match self.contexts.get(&ctx_id) {
            Some(context) if context.lost => Err(Refusal::Unspecified),
            Some(context) if context.venus => Ok(()),
            Some(_) => Err(Refusal::Parameter),
            None => Err(Refusal::ContextId),
        }
    }

    /// Checks that a resource may be made with this id.
    ///
    /// # Errors
    /// [`Refusal::ResourceId`], [`Refusal::OutOfMemory`].
    pub fn check_new(&self, res_id: u32, limits: &DeviceLimits) -> Result<(), Refusal> {
        if res_id == 0 || self.resources.contains_key(&res_id) {
            return Err(Refusal::ResourceId);
        }
        if self.resources.len() >= limits.resources_max.min(RESOURCES_MAX) {
            return Err(Refusal::OutOfMemory);
        }
        Ok(())
    }

    /// Checks the pages of a blob of `size` bytes.
    ///
    /// # Errors
    /// [`Refusal::Parameter`], [`Refusal::OutOfMemory`].
    pub fn check_backing(&self, backing: &[Segment], size: u64) -> Result<(), Refusal> {
        if self.backing_total() + backing.len() > BACKING_TOTAL_MAX {
            return Err(Refusal::OutOfMemory);
        }
        let held: u64 = backing.iter().map(|segment| u64::from(segment.len)).sum();
        if held < size {
            return Err(Refusal::Parameter);
        }
        Ok(())
    }

    /// The pixels of a resource that is a cursor.
    ///
    /// # Errors
    /// [`Refusal::ResourceId`], [`Refusal::Parameter`].
    pub fn cursor_image(&mut self, res_id: u32) -> Result<Vec<u8>, Refusal> {
        match &self.resource(res_id)?.kind {
            Kind::Image {
                format,
                width: CURSOR_SIZE,
                height: CURSOR_SIZE,
                pixels,
            } => {
                let pixels = pixels.lock().unwrap_or_else(PoisonError::into_inner);
                let mut image = pixels.clone();
                Format::from_wire(*format)
                    .ok_or(Refusal::Parameter)?
                    .to_xrgb(&mut image);
                Ok(image)
            }
            _ => Err(Refusal::Parameter),
        }
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
    check(&mut state.tables)?;
    Ok(state)
}

/// Checks tables that come from anywhere, and gives images their pixels, all zero.
///
/// # Errors
/// What is wrong with them.
pub fn check(tables: &mut Tables) -> Result<(), String> {
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
    Ok(())
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
                uuid: Some([7; 16]),
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
