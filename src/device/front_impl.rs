//! The real front behind the device.

use std::time::Duration;

use hesper_front::{Arena, Blob, ContextEvent, Front, FrontError as RealError};

use crate::{FrontApi, FrontError};

impl From<RealError> for FrontError {
    fn from(error: RealError) -> Self {
        match error {
            RealError::OutOfMemory(_) | RealError::Context(..) => Self::OutOfMemory,
            RealError::NoContext(ctx_id) => Self::NoContext(ctx_id),
            RealError::NoResource(res_id) => Self::NoResource(res_id),
            RealError::Hung { .. } => Self::Hung,
            other => Self::Other(other.to_string()),
        }
    }
}

impl FrontApi for Front {
    fn attach_arena(&self, arena: Arena) -> Result<(), FrontError> {
        Ok(Front::attach_arena(self, arena)?)
    }

    fn adopt_blobs(&self, blobs: &[(u32, Blob)]) -> Result<(), FrontError> {
        Ok(Front::adopt_blobs(self, blobs)?)
    }

    fn capset(&self) -> Result<Vec<u8>, FrontError> {
        Ok(Front::capset(self))
    }

    fn create_context(&self, ctx_id: u32, name: &str) -> Result<(), FrontError> {
        Ok(Front::create_context(self, ctx_id, name)?)
    }

    fn destroy_context(&self, ctx_id: u32) -> Result<(), FrontError> {
        Ok(Front::destroy_context(self, ctx_id)?)
    }

    fn submit(&self, ctx_id: u32, stream: &[u8]) -> Result<(), FrontError> {
        Ok(Front::submit(self, ctx_id, stream)?)
    }

    fn create_blob(
        &self,
        ctx_id: u32,
        res_id: u32,
        blob_id: u64,
        size: u64,
    ) -> Result<Blob, FrontError> {
        Ok(Front::create_blob(self, ctx_id, res_id, blob_id, size)?)
    }

    fn unref_resource(&self, res_id: u32) -> Result<(), FrontError> {
        Ok(Front::unref_resource(self, res_id)?)
    }

    fn attach_resource(&self, ctx_id: u32, res_id: u32) -> Result<(), FrontError> {
        Ok(Front::attach_resource(self, ctx_id, res_id)?)
    }

    fn detach_resource(&self, ctx_id: u32, res_id: u32) -> Result<(), FrontError> {
        Ok(Front::detach_resource(self, ctx_id, res_id)?)
    }

    fn create_fence(&self, ctx_id: u32, ring_idx: u32, fence_id: u64) -> Result<(), FrontError> {
        Ok(Front::create_fence(self, ctx_id, ring_idx, fence_id)?)
    }

    fn set_event_handler(&self, handler: Box<dyn Fn(ContextEvent) + Send + Sync>) {
        self.add_event_handler(handler);
    }

    fn reset(&self) {
        Front::reset(self);
    }

    fn set_log(&self, on: bool) {
        Front::set_log(self, on);
    }

    fn quiesce(&self, device_tables: &[u8], deadline: Duration) -> Result<(), FrontError> {
        Front::quiesce(self, device_tables, deadline)?;
        Ok(())
    }

    fn resume(&self) {
        Front::resume(self);
    }

    fn save(&self) -> Result<Vec<u8>, FrontError> {
        Ok(Front::save(self)?)
    }

    fn load(&self, state: &[u8]) -> Result<Vec<u8>, FrontError> {
        Ok(Front::load(self, state)?)
    }
}
