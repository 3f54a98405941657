//! Resources: blobs that contexts make, attach and share.

use std::fs::File;
use std::os::fd::AsFd;
use std::sync::Arc;

use hesper_image::Extent;
use hesper_worker::channel::{Area, ExportError, FromWorker, ToWorker};

use crate::context::{Leaving, lock};
use crate::front::{ANSWER_TIMEOUT, Front, Shared};
use crate::{Blob, FrontError};

/// Resources of one front.
const RESOURCES_MAX: usize = 1 << 16;

/// A resource that both a context and a front end know.
#[derive(Clone, Debug)]
pub(crate) enum Resource {
    /// A range of the arena.
    Arena(Extent),
    /// A memory file, which the client and its worker hold (vtest): nothing of it is kept here, so that clients with
    /// thousands of blobs cost no descriptors. What it counts against the quota, bytes: nothing, if it is some
    /// context's memory.
    Vtest(u64),
}

/// A blob for a vtest client: a memory file of its own.
#[derive(Clone, Debug)]
pub struct VtestBlob {
    /// The file.
    pub file: Arc<File>,
    /// Its length, bytes.
    pub len: u64,
}

impl Front {
    pub(crate) fn check_new_resource(&self, res_id: u32) -> Result<(), FrontError> {
        let resources = lock(&self.shared.resources);
        if res_id == 0 || resources.contains_key(&res_id) {
            return Err(FrontError::ResourceExists(res_id));
        }
        if resources.len() >= RESOURCES_MAX {
            return Err(FrontError::OutOfMemory(0));
        }
        Ok(())
    }

    /// Creates a blob in the arena: shared memory for `blob_id` 0, else the context's device
    /// memory of that id.
    ///
    /// # Errors
    /// [`FrontError`]: out of memory, no such memory, context gone.
    pub fn create_blob(
        &self,
        ctx_id: u32,
        res_id: u32,
        blob_id: u64,
        size: u64,
    ) -> Result<Blob, FrontError> {
        self.check_new_resource(res_id)?;
        let held: u64 = lock(&self.shared.resources)
            .values()
            .map(|resource| match resource {
                Resource::Arena(extent) => extent.len,
                Resource::Vtest(_) => 0,
            })
            .sum();
        let max = self.shared.config.quotas.blob_memory_max;
        if held.checked_add(size).is_none_or(|sum| sum > max) {
            return Err(FrontError::OutOfMemory(size));
        }
        let extent = if blob_id == 0 {
            lock(&self.shared.arena)
                .as_mut()
                .ok_or(FrontError::NoArena)?
                .allocate(Area::Window, size)?
        } else {
            let (answer, _) = self.export(ctx_id, blob_id, size)?;
            let extent = answer.ok_or(FrontError::NoArena)?;
            if extent.len < size {
                return Err(FrontError::OutOfMemory(size));
            }
            lock(&self.shared.arena)
                .as_mut()
                .ok_or(FrontError::NoArena)?
                .hold(extent)?;
            extent
        };
        lock(&self.shared.resources).insert(res_id, Resource::Arena(extent));
        Ok(Blob {
            offset: extent.offset,
            len: extent.len,
        })
    }

    /// As [`Front::create_blob`], for a vtest client, attached at once.
    ///
    /// # Errors
    /// As [`Front::create_blob`].
    pub fn create_vtest_blob(
        &self,
        ctx_id: u32,
        res_id: u32,
        blob_id: u64,
        size: u64,
    ) -> Result<VtestBlob, FrontError> {
        self.check_new_resource(res_id)?;
        let len = size
            .checked_next_multiple_of(4096)
            .filter(|len| *len > 0)
            .ok_or(FrontError::OutOfMemory(size))?;
        let mut counted = 0;
        let file = if blob_id == 0 {
            lock(&self.shared.used)
                .reserve(Area::Host, len, &self.shared.config.quotas)
                .ok_or(FrontError::OutOfMemory(len))?;
            counted = len;
            Arc::new(hesper_memory::memfd("hesper-shm", len)?)
        } else {
            let (_, mut fds) = self.export(ctx_id, blob_id, size)?;
            let fd = fds.pop().ok_or_else(|| FrontError::Worker {
                ctx_id,
                reason: "sent no memory file".into(),
            })?;
            Arc::new(File::from(fd))
        };
        if blob_id == 0 {
            let attach = ToWorker::Attach {
                res_id,
                extent: None,
                len,
            };
            self.context(ctx_id)?.send(&attach, &[file.as_fd()])?;
        }
        lock(&self.shared.resources).insert(res_id, Resource::Vtest(counted));
        Ok(VtestBlob { file, len })
    }

    fn export(
        &self,
        ctx_id: u32,
        memory: u64,
        len: u64,
    ) -> Result<(Option<Extent>, Vec<std::os::fd::OwnedFd>), FrontError> {
        let context = self.context(ctx_id)?;
        let (answer, fds) = context
            .request(|request| ToWorker::Export {
                request,
                memory,
                len,
            })?
            .wait(ANSWER_TIMEOUT)?;
        match answer {
            FromWorker::Exported { result, .. } => {
                let extent = result.map_err(|error| match error {
                    ExportError::NeverAllocated => FrontError::OutOfMemory(len),
                    ExportError::Refused(reason) => context.error(reason),
                })?;
                Ok((extent, fds))
            }
            _ => Err(context.error("gave a wrong answer")),
        }
    }

    /// Makes a resource known to a context.
    ///
    /// # Errors
    /// [`FrontError`]: no such resource or context.
    pub fn attach_resource(&self, ctx_id: u32, res_id: u32) -> Result<(), FrontError> {
        let resource = lock(&self.shared.resources)
            .get(&res_id)
            .cloned()
            .ok_or(FrontError::NoResource(res_id))?;
        let context = self.context(ctx_id)?;
        match resource {
            Resource::Arena(extent) => context.send(
                &ToWorker::Attach {
                    res_id,
                    extent: Some(extent),
                    len: extent.len,
                },
                &[],
            ),
            // Attached when it was made, and to its own context only.
            Resource::Vtest(_) => Err(FrontError::NoResource(res_id)),
        }
    }

    /// Makes a context forget a resource.
    ///
    /// # Errors
    /// [`FrontError::NoContext`].
    pub fn detach_resource(&self, ctx_id: u32, res_id: u32) -> Result<(), FrontError> {
        self.context(ctx_id)?.detach(res_id, None)
    }

    /// Drops a resource.
    ///
    /// # Errors
    /// [`FrontError::NoResource`].
    pub fn unref_resource(&self, res_id: u32) -> Result<(), FrontError> {
        let resource = lock(&self.shared.resources)
            .remove(&res_id)
            .ok_or(FrontError::NoResource(res_id))?;
        if let Resource::Vtest(counted) = resource {
            self.shared.release(Area::Host, Extent::new(0, counted))?;
        }
        if let Resource::Arena(extent) = resource {
            // Contexts that still have it attached must not touch the range after it is used again.
            let range = Leaving::new(extent, &self.shared);
            let contexts: Vec<_> = lock(&self.shared.contexts).values().cloned().collect();
            for context in contexts {
                if let Err(error) = context.detach(res_id, Some(Arc::clone(&range))) {
                    tracing::debug!(%error, "Detaching");
                }
            }
        }
        Ok(())
    }
}

/// One more holder of a resource's range. That the worker has it attached is not asked: it maps the
/// whole arena anyway.
pub(crate) fn hold(shared: &Shared, res_id: u32) -> Result<Extent, FrontError> {
    // Locked until the range is held: a resource that goes meanwhile gives its own hold back
    // only after it has left the table.
    let resources = lock(&shared.resources);
    let Some(Resource::Arena(extent)) = resources.get(&res_id) else {
        return Err(FrontError::NoResource(res_id));
    };
    lock(&shared.arena)
        .as_mut()
        .ok_or(FrontError::NoArena)?
        .hold(*extent)?;
    Ok(*extent)
}
