//! The wire format of virtio-gpu (virtio 1.3, section 5.7), decoded from a private copy.

use serde::{Deserialize, Serialize};

/// `VIRTIO_GPU_F_VIRGL`: 3D contexts.
pub const F_VIRGL: u64 = 1 << 0;
/// `VIRTIO_GPU_F_EDID`.
pub const F_EDID: u64 = 1 << 1;
/// `VIRTIO_GPU_F_RESOURCE_UUID`.
pub const F_RESOURCE_UUID: u64 = 1 << 2;
/// `VIRTIO_GPU_F_RESOURCE_BLOB`.
pub const F_RESOURCE_BLOB: u64 = 1 << 3;
/// `VIRTIO_GPU_F_CONTEXT_INIT`.
pub const F_CONTEXT_INIT: u64 = 1 << 4;

/// `VIRTIO_GPU_FLAG_FENCE`.
pub const FLAG_FENCE: u32 = 1 << 0;
/// `VIRTIO_GPU_FLAG_INFO_RING_IDX`.
pub const FLAG_INFO_RING_IDX: u32 = 1 << 1;

/// `VIRTIO_GPU_CMD_CTX_DESTROY`.
pub const CTX_DESTROY: u32 = 0x201;
/// `VIRTIO_GPU_CAPSET_VENUS`.
pub const CAPSET_VENUS: u32 = 4;
/// Blob backed by guest RAM.
pub const BLOB_MEM_GUEST: u32 = 1;
/// Blob backed by the host.
pub const BLOB_MEM_HOST3D: u32 = 2;
/// Blob backed by the host, with guest RAM that it may be copied from.
pub const BLOB_MEM_HOST3D_GUEST: u32 = 3;
/// `VIRTIO_GPU_MAP_CACHE_CACHED`.
pub const MAP_CACHE_CACHED: u32 = 1;

/// Scanouts at most (`VIRTIO_GPU_MAX_SCANOUTS`).
pub const SCANOUTS_MAX: usize = 16;
/// Timelines of a context.
pub const RINGS_MAX: u32 = 64;
/// Bytes of one SUBMIT_3D at most.
pub const SUBMIT_LEN_MAX: u32 = 1 << 20;
/// Backing entries of one resource at most: 256 MiB of single pages.
pub const BACKING_ENTRIES_MAX: u32 = 1 << 16;
/// Bytes of one request at most; what comes after is not read.
pub const REQUEST_LEN_MAX: usize = (1 << 20) + 4096;
/// Length of the header of requests and responses, bytes.
pub const HEADER_LEN: usize = 24;

/// Response types.
pub mod resp {
    #![allow(missing_docs)]
    pub const OK_NODATA: u32 = 0x1100;
    pub const OK_DISPLAY_INFO: u32 = 0x1101;
    pub const OK_CAPSET_INFO: u32 = 0x1102;
    pub const OK_CAPSET: u32 = 0x1103;
    pub const OK_EDID: u32 = 0x1104;
    pub const OK_RESOURCE_UUID: u32 = 0x1105;
    pub const OK_MAP_INFO: u32 = 0x1106;
}

/// The error responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// `VIRTIO_GPU_RESP_ERR_UNSPEC`.
    Unspecified = 0x1200,
    /// `VIRTIO_GPU_RESP_ERR_OUT_OF_MEMORY`.
    OutOfMemory = 0x1201,
    /// `VIRTIO_GPU_RESP_ERR_INVALID_SCANOUT_ID`.
    ScanoutId = 0x1202,
    /// `VIRTIO_GPU_RESP_ERR_INVALID_RESOURCE_ID`.
    ResourceId = 0x1203,
    /// `VIRTIO_GPU_RESP_ERR_INVALID_CONTEXT_ID`.
    ContextId = 0x1204,
    /// `VIRTIO_GPU_RESP_ERR_INVALID_PARAMETER`.
    Parameter = 0x1205,
}

/// A success, without its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Response type, see [`resp`].
    pub kind: u32,
    /// What follows the header.
    pub body: Vec<u8>,
}

impl Reply {
    /// `VIRTIO_GPU_RESP_OK_NODATA`.
    pub fn nodata() -> Self {
        Self::new(resp::OK_NODATA, &[])
    }

    /// A response of `kind` with `words` after the header.
    pub fn new(kind: u32, words: &[u32]) -> Self {
        Self {
            kind,
            body: words.iter().flat_map(|word| word.to_le_bytes()).collect(),
        }
    }
}

/// `virtio_gpu_ctrl_hdr`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Command type.
    pub kind: u32,
    /// [`FLAG_FENCE`], [`FLAG_INFO_RING_IDX`].
    pub flags: u32,
    /// Fence id, with [`FLAG_FENCE`].
    pub fence_id: u64,
    /// Context id.
    pub ctx_id: u32,
    /// Timeline, with [`FLAG_INFO_RING_IDX`].
    pub ring_idx: u8,
}

impl Header {
    /// The bytes of a response to this request.
    pub fn answer(&self, outcome: &Result<Reply, Refusal>) -> Vec<u8> {
        let (kind, body) = match outcome {
            Ok(reply) => (reply.kind, reply.body.as_slice()),
            Err(refusal) => (*refusal as u32, [].as_slice()),
        };
        let fenced = self.flags & FLAG_FENCE != 0;
        let flags = if fenced {
            self.flags & (FLAG_FENCE | FLAG_INFO_RING_IDX)
        } else {
            0
        };
        let mut bytes = Vec::with_capacity(HEADER_LEN + body.len());
        bytes.extend(kind.to_le_bytes());
        bytes.extend(flags.to_le_bytes());
        bytes.extend(if fenced { self.fence_id } else { 0 }.to_le_bytes());
        bytes.extend(if fenced { self.ctx_id } else { 0 }.to_le_bytes());
        bytes.extend([if fenced { self.ring_idx } else { 0 }, 0, 0, 0]);
        bytes.extend(body);
        bytes
    }
}

/// `virtio_gpu_rect`, pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Rect {
    pub x: u32,
    pub y: u32,
    pub width: u32,
    pub height: u32,
}

impl Rect {
    /// True when all of it lies inside `width` × `height`.
    pub fn inside(&self, width: u32, height: u32) -> bool {
        let fits = |at: u32, len: u32, limit: u32| u64::from(at) + u64::from(len) <= limit.into();
        fits(self.x, self.width, width) && fits(self.y, self.height, height)
    }

    /// The part that both cover, if any.
    pub fn intersection(&self, other: &Rect) -> Option<Rect> {
        let span = |a: u32, a_len: u32, b: u32, b_len: u32| {
            let start = a.max(b);
            let end = a.saturating_add(a_len).min(b.saturating_add(b_len));
            (end > start).then(|| (start, end - start))
        };
        let (x, width) = span(self.x, self.width, other.x, other.width)?;
        let (y, height) = span(self.y, self.height, other.y, other.height)?;
        Some(Rect {
            x,
            y,
            width,
            height,
        })
    }

    /// The smallest rectangle around both.
    pub fn union(&self, other: &Rect) -> Rect {
        let span = |a: u32, a_len: u32, b: u32, b_len: u32| {
            let start = a.min(b);
            let end = a.saturating_add(a_len).max(b.saturating_add(b_len));
            (start, end - start)
        };
        let (x, width) = span(self.x, self.width, other.x, other.width);
        let (y, height) = span(self.y, self.height, other.y, other.height);
        Rect {
            x,
            y,
            width,
            height,
        }
    }
}

/// A piece of guest RAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// Guest physical address.
    pub addr: u64,
    /// Length, bytes.
    pub len: u32,
}

/// A request, decoded. Ids and sizes are still as the guest gave them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Command<'a> {
    GetDisplayInfo,
    CreateImage {
        res_id: u32,
        format: u32,
        width: u32,
        height: u32,
    },
    Unref {
        res_id: u32,
    },
    SetScanout {
        rect: Rect,
        scanout_id: u32,
        res_id: u32,
    },
    Flush {
        rect: Rect,
        res_id: u32,
    },
    Transfer {
        rect: Rect,
        offset: u64,
        res_id: u32,
    },
    AttachBacking {
        res_id: u32,
        backing: Vec<Segment>,
    },
    DetachBacking {
        res_id: u32,
    },
    GetCapsetInfo {
        index: u32,
    },
    GetCapset {
        capset_id: u32,
    },
    GetEdid {
        scanout_id: u32,
    },
    AssignUuid {
        res_id: u32,
    },
    CreateBlob {
        res_id: u32,
        blob_mem: u32,
        blob_id: u64,
        size: u64,
        backing: Vec<Segment>,
    },
    SetScanoutBlob {
        rect: Rect,
        scanout_id: u32,
        res_id: u32,
        width: u32,
        height: u32,
        format: u32,
        stride: u32,
        offset: u32,
    },
    CreateContext {
        capset_id: u32,
        name: String,
    },
    DestroyContext,
    AttachResource {
        res_id: u32,
    },
    DetachResource {
        res_id: u32,
    },
    Submit {
        stream: &'a [u8],
    },
    MapBlob {
        res_id: u32,
        offset: u64,
    },
    UnmapBlob {
        res_id: u32,
    },
    UpdateCursor {
        scanout_id: u32,
        x: u32,
        y: u32,
        res_id: u32,
        hot_x: u32,
        hot_y: u32,
    },
    MoveCursor {
        scanout_id: u32,
        x: u32,
        y: u32,
    },
}

/// Takes little-endian values from the front of a request.
struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    fn bytes(&mut self, len: usize) -> Result<&'a [u8], Refusal> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(Refusal::Parameter)?;
        self.0 = rest;
        Ok(taken)
    }

    fn u32(&mut self) -> Result<u32, Refusal> {
        let bytes = self.bytes(4)?;
        Ok(u32::from_le_bytes(
            bytes.try_into().map_err(|_| Refusal::Parameter)?,
        ))
    }

    fn u64(&mut self) -> Result<u64, Refusal> {
        let low = u64::from(self.u32()?);
        Ok(low | u64::from(self.u32()?) << 32)
    }

    fn rect(&mut self) -> Result<Rect, Refusal> {
        Ok(Rect {
            x: self.u32()?,
            y: self.u32()?,
            width: self.u32()?,
            height: self.u32()?,
        })
    }

    fn backing(&mut self, entries: u32) -> Result<Vec<Segment>, Refusal> {
        if entries > BACKING_ENTRIES_MAX {
            return Err(Refusal::OutOfMemory);
        }
        let mut table = Words(self.bytes(entries as usize * 16)?);
        let mut backing = Vec::with_capacity(entries as usize);
        for _ in 0..entries {
            backing.push(Segment {
                addr: table.u64()?,
                len: table.u32()?,
            });
            table.u32()?;
        }
        Ok(backing)
    }
}

/// Decodes the header of a request, if there is enough of it.
pub fn decode_header(request: &[u8]) -> Option<Header> {
    let mut words = Words(request);
    Some(Header {
        kind: words.u32().ok()?,
        flags: words.u32().ok()?,
        fence_id: words.u64().ok()?,
        ctx_id: words.u32().ok()?,
        ring_idx: words.bytes(4).ok()?[0],
    })
}

/// Decodes what follows the header of a control request.
///
/// # Errors
/// [`Refusal::Unspecified`] for an unknown command, [`Refusal::Parameter`] for one that is too
/// short for what it announces, [`Refusal::OutOfMemory`] for one past a limit.
pub fn decode_control<'a>(header: &Header, request: &'a [u8]) -> Result<Command<'a>, Refusal> {
    let mut words = Words(request.get(HEADER_LEN..).ok_or(Refusal::Parameter)?);
    Ok(match header.kind {
        0x100 => Command::GetDisplayInfo,
        0x101 => Command::CreateImage {
            res_id: words.u32()?,
            format: words.u32()?,
            width: words.u32()?,
            height: words.u32()?,
        },
        0x102 => Command::Unref {
            res_id: words.u32()?,
        },
        0x103 => Command::SetScanout {
            rect: words.rect()?,
            scanout_id: words.u32()?,
            res_id: words.u32()?,
        },
        0x104 => Command::Flush {
            rect: words.rect()?,
            res_id: words.u32()?,
        },
        0x105 => Command::Transfer {
            rect: words.rect()?,
            offset: words.u64()?,
            res_id: words.u32()?,
        },
        0x106 => {
            let res_id = words.u32()?;
            let entries = words.u32()?;
            Command::AttachBacking {
                res_id,
                backing: words.backing(entries)?,
            }
        }
        0x107 => Command::DetachBacking {
            res_id: words.u32()?,
        },
        0x108 => Command::GetCapsetInfo {
            index: words.u32()?,
        },
        0x109 => Command::GetCapset {
            capset_id: words.u32()?,
        },
        0x10a => Command::GetEdid {
            scanout_id: words.u32()?,
        },
        0x10b => Command::AssignUuid {
            res_id: words.u32()?,
        },
        0x10c => {
            let res_id = words.u32()?;
            let blob_mem = words.u32()?;
            let _flags = words.u32()?;
            let entries = words.u32()?;
            Command::CreateBlob {
                res_id,
                blob_mem,
                blob_id: words.u64()?,
                size: words.u64()?,
                backing: words.backing(entries)?,
            }
        }
        0x10d => {
            let rect = words.rect()?;
            let scanout_id = words.u32()?;
            let res_id = words.u32()?;
            let width = words.u32()?;
            let height = words.u32()?;
            let format = words.u32()?;
            let _padding = words.u32()?;
            let stride = words.u32()?;
            words.bytes(12)?;
            Command::SetScanoutBlob {
                rect,
                scanout_id,
                res_id,
                width,
                height,
                format,
                stride,
                offset: words.u32()?,
            }
        }
        0x200 => {
            let name_len = words.u32()? as usize;
            let context_init = words.u32()?;
            let name = words.bytes(64)?;
            let name = name.get(..name_len).unwrap_or(name);
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            Command::CreateContext {
                capset_id: context_init & 0xff,
                name: String::from_utf8_lossy(name).into_owned(),
            }
        }
        CTX_DESTROY => Command::DestroyContext,
        0x202 => Command::AttachResource {
            res_id: words.u32()?,
        },
        0x203 => Command::DetachResource {
            res_id: words.u32()?,
        },
        0x207 => {
            let size = words.u32()?;
            words.u32()?;
            if size > SUBMIT_LEN_MAX {
                return Err(Refusal::OutOfMemory);
            }
            Command::Submit {
                stream: words.bytes(size as usize)?,
            }
        }
        0x208 => {
            let res_id = words.u32()?;
            words.u32()?;
            Command::MapBlob {
                res_id,
                offset: words.u64()?,
            }
        }
        0x209 => Command::UnmapBlob {
            res_id: words.u32()?,
        },
        _ => return Err(Refusal::Unspecified),
    })
}

/// Decodes a request of the cursor queue.
///
/// # Errors
/// As [`decode_control`].
pub fn decode_cursor<'a>(header: &Header, request: &'a [u8]) -> Result<Command<'a>, Refusal> {
    let mut words = Words(request.get(HEADER_LEN..).ok_or(Refusal::Parameter)?);
    let scanout_id = words.u32()?;
    let x = words.u32()?;
    let y = words.u32()?;
    match header.kind {
        0x300 => {
            words.u32()?;
            Ok(Command::UpdateCursor {
                scanout_id,
                x,
                y,
                res_id: words.u32()?,
                hot_x: words.u32()?,
                hot_y: words.u32()?,
            })
        }
        0x301 => Ok(Command::MoveCursor { scanout_id, x, y }),
        _ => Err(Refusal::Unspecified),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(kind: u32, words: &[u32]) -> Vec<u8> {
        let mut bytes = kind.to_le_bytes().to_vec();
        bytes.extend([0; HEADER_LEN - 4]);
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes
    }

    fn decode(bytes: &[u8]) -> Result<Command<'_>, Refusal> {
        decode_control(&decode_header(bytes).unwrap(), bytes)
    }

    #[test]
    fn header_shorter_than_itself_is_none() {
        assert_eq!(decode_header(&[0; HEADER_LEN - 1]), None);
        assert_eq!(decode_header(&[0; HEADER_LEN]), Some(Header::default()));
    }

    #[test]
    fn unknown_command_is_refused() {
        assert_eq!(decode(&request(0x1ff, &[])), Err(Refusal::Unspecified));
        assert_eq!(decode(&request(0, &[])), Err(Refusal::Unspecified));
    }

    #[test]
    fn every_command_cut_short_is_refused_as_parameter() {
        for kind in (0x101..=0x10d).chain(0x200..=0x209) {
            if matches!(kind, 0x201 | 0x204..=0x206) {
                continue;
            }
            let bytes = request(kind, &[]);
            assert_eq!(decode(&bytes), Err(Refusal::Parameter), "{kind:#x}");
        }
    }

    #[test]
    fn backing_longer_than_the_request_is_refused() {
        assert_eq!(
            decode(&request(0x106, &[1, 2, 0x1000, 0, 4096, 0])),
            Err(Refusal::Parameter)
        );
        assert_eq!(
            decode(&request(0x106, &[1, u32::MAX])),
            Err(Refusal::OutOfMemory)
        );
    }

    #[test]
    fn backing_entries_are_decoded_in_order() {
        let bytes = request(0x106, &[7, 2, 0x1000, 1, 4096, 0, 0x3000, 0, 8192, 0]);
        let Ok(Command::AttachBacking { res_id, backing }) = decode(&bytes) else {
            panic!("not decoded");
        };
        assert_eq!(res_id, 7);
        assert_eq!(
            backing,
            [
                Segment {
                    addr: 0x1_0000_1000,
                    len: 4096
                },
                Segment {
                    addr: 0x3000,
                    len: 8192
                }
            ]
        );
    }

    #[test]
    fn submit_with_a_size_past_its_bytes_is_refused() {
        assert_eq!(decode(&request(0x207, &[8, 0, 1])), Err(Refusal::Parameter));
        assert_eq!(
            decode(&request(0x207, &[u32::MAX, 0, 1])),
            Err(Refusal::OutOfMemory)
        );
        assert_eq!(
            decode(&request(0x207, &[4, 0, 1])),
            Ok(Command::Submit {
                stream: &[1, 0, 0, 0]
            })
        );
    }

    #[test]
    fn context_name_without_end_is_cut_at_its_field() {
        let mut bytes = request(0x200, &[u32::MAX, 4]);
        bytes.extend([b'x'; 64]);
        assert_eq!(
            decode(&bytes),
            Ok(Command::CreateContext {
                capset_id: 4,
                name: "x".repeat(64)
            })
        );
    }

    #[test]
    fn rect_past_32_bits_is_not_inside() {
        let rect = Rect {
            x: u32::MAX,
            y: 0,
            width: 2,
            height: 1,
        };
        assert!(!rect.inside(16, 16));
        assert_eq!(
            rect.intersection(&Rect {
                x: 0,
                y: 0,
                width: 16,
                height: 16
            }),
            None
        );
    }

    #[test]
    fn answer_to_a_fenced_request_repeats_its_fence() {
        let header = Header {
            kind: 0x207,
            flags: FLAG_FENCE | FLAG_INFO_RING_IDX | 0x80,
            fence_id: 0x1_0000_0002,
            ctx_id: 3,
            ring_idx: 5,
        };
        let answer = header.answer(&Ok(Reply::nodata()));
        let back = decode_header(&answer).unwrap();
        assert_eq!(back.kind, resp::OK_NODATA);
        assert_eq!(back.flags, FLAG_FENCE | FLAG_INFO_RING_IDX);
        assert_eq!(
            (back.fence_id, back.ctx_id, back.ring_idx),
            (0x1_0000_0002, 3, 5)
        );
    }
}
