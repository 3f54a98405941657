//! Blobs: made, mapped into the window, known to other devices by a UUID.

use std::sync::Arc;

use hesper_log::guest_warn;

use crate::gpu::Gpu;
use crate::protocol::{
    BLOB_MEM_GUEST, BLOB_MEM_HOST3D, BLOB_MEM_HOST3D_GUEST, MAP_CACHE_CACHED, Refusal, Reply,
    Segment, resp,
};
use crate::tables::{Kind, Resource};
use crate::window::WindowError;

impl Gpu {
    pub(crate) fn create_blob(
        &self,
        ctx_id: u32,
        res_id: u32,
        blob_mem: u32,
        blob_id: u64,
        size: u64,
        backing: Vec<Segment>,
    ) -> Result<(), Refusal> {
        if size == 0 {
            return Err(Refusal::Parameter);
        }
        let mut tables = self.tables();
        tables.check_new(res_id, &self.limits)?;
        let resource = match blob_mem {
            BLOB_MEM_GUEST => {
                tables.check_backing(&backing, size)?;
                Resource {
                    kind: Kind::Guest { size },
                    backing: Arc::new(backing),
                    uuid: None,
                }
            }
            BLOB_MEM_HOST3D | BLOB_MEM_HOST3D_GUEST => {
                // What such a blob shows is the host's memory; the guest's is only kept.
                let backing = if blob_mem == BLOB_MEM_HOST3D {
                    Vec::new()
                } else {
                    tables.check_backing(&backing, size)?;
                    backing
                };
                tables.venus_context(ctx_id)?;
                let blob = self.front.create_blob(ctx_id, res_id, blob_id, size)?;
                Resource {
                    kind: Kind::Host {
                        offset: blob.offset,
                        len: blob.len,
                        window: None,
                    },
                    backing: Arc::new(backing),
                    uuid: None,
                }
            }
            _ => return Err(Refusal::Parameter),
        };
        tables.resources.insert(res_id, resource);
        self.note_resource(&tables, res_id);
        Ok(())
    }

    pub(crate) fn map_blob(&self, res_id: u32, offset: u64) -> Result<Reply, Refusal> {
        let (arena_offset, len) = match self.tables().resource(res_id)?.kind {
            Kind::Host {
                offset,
                len,
                window: None,
            } => (offset, len),
            _ => return Err(Refusal::Parameter),
        };
        let window_len = self.arena.get().map_or(0, |arena| arena.window_len);
        let fits = offset.checked_add(len).is_some_and(|end| end <= window_len);
        if !offset.is_multiple_of(hesper_memory::PAGE_SIZE) || !fits {
            return Err(Refusal::Parameter);
        }
        if self.tables().maps() >= self.limits.maps_max {
            return Err(Refusal::OutOfMemory);
        }
        // Without the lock: QEMU's answer may come late.
        self.window
            .map(arena_offset, offset, len)
            .map_err(|error| {
                guest_warn!(res_id, offset, len, %error, "Mapping a blob");
                match error {
                    WindowError::Refused(errno) if errno == libc::ENOSPC as u32 => {
                        Refusal::OutOfMemory
                    }
                    WindowError::Refused(_) => Refusal::Parameter,
                    _ => Refusal::Unspecified,
                }
            })?;
        self.set_window(res_id, Some(offset))?;
        Ok(Reply::new(resp::OK_MAP_INFO, &[MAP_CACHE_CACHED, 0]))
    }

    pub(crate) fn unmap_blob(&self, res_id: u32) -> Result<(), Refusal> {
        let (offset, len) = match self.tables().resource(res_id)?.kind {
            Kind::Host {
                len,
                window: Some(offset),
                ..
            } => (offset, len),
            _ => return Err(Refusal::Parameter),
        };
        match self.window.unmap(offset, len) {
            // It is gone, and that is what counts.
            Ok(()) | Err(WindowError::Refused(_)) => {}
            Err(error) => {
                guest_warn!(res_id, %error, "Unmapping a blob");
                return Err(Refusal::Unspecified);
            }
        }
        self.set_window(res_id, None)
    }

    pub(crate) fn set_window(&self, res_id: u32, offset: Option<u64>) -> Result<(), Refusal> {
        let mut tables = self.tables();
        match tables.resource(res_id)?.kind {
            Kind::Host { ref mut window, .. } => *window = offset,
            _ => return Err(Refusal::Unspecified),
        }
        self.note_resource(&tables, res_id);
        Ok(())
    }

    pub(crate) fn assign_uuid(&self, res_id: u32) -> Result<Reply, Refusal> {
        let mut tables = self.tables();
        let resource = tables.resource(res_id)?;
        let uuid = *resource.uuid.get_or_insert_with(new_uuid);
        self.note_resource(&tables, res_id);
        Ok(Reply {
            kind: resp::OK_RESOURCE_UUID,
            body: uuid.to_vec(),
        })
    }
}

/// A random UUID (version 4).
fn new_uuid() -> [u8; 16] {
    use std::hash::{BuildHasher, RandomState};
    // Two keys of the system's random numbers each; it needs to be unique, not secret.
    let half = || RandomState::new().hash_one(0u64).to_le_bytes();
    let mut uuid = [0; 16];
    uuid[..8].copy_from_slice(&half());
    uuid[8..].copy_from_slice(&half());
    uuid[6] = uuid[6] & 0x0f | 0x40;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    uuid
}
