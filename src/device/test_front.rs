//! A front that hands out ranges of the window and notes what it is asked, for tests and the fuzz target.
// The fuzz target asks it nothing.
#![cfg_attr(not(test), allow(dead_code))]

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use hesper_front::{Arena, Blob, ContextEvent};

use crate::front_api::{FrontApi, FrontError};
use crate::gpu::DeviceLimits;

/// Length of the arena, bytes.
pub const ARENA_LEN: u64 = 16 << 20;
/// Length of the window at its beginning, bytes.
pub const WINDOW_LEN: u64 = 1 << 19;

type Handler = Box<dyn Fn(ContextEvent) + Send + Sync>;

#[derive(Default)]
pub struct TestFront {
    pub handler: Mutex<Option<Handler>>,
    pub blobs: Mutex<BTreeMap<u32, Blob>>,
    pub log: Mutex<Vec<String>>,
    pub tables: Mutex<Vec<u8>>,
    pub signal_at_once: bool,
    pub hung: bool,
    pub limits: DeviceLimits,
}

impl TestFront {
    pub fn note(&self, what: String) {
        self.log.lock().unwrap().push(what);
    }

    pub fn noted(&self, what: &str) -> usize {
        let log = self.log.lock().unwrap();
        log.iter().filter(|line| line.starts_with(what)).count()
    }

    pub fn signal(&self, ctx_id: u32, ring_idx: u32, fence_id: u64) {
        let handler = self.handler.lock().unwrap();
        handler.as_ref().unwrap()(ContextEvent::Fence {
            ctx_id,
            ring_idx,
            fence_id,
        });
    }
}

impl FrontApi for TestFront {
    fn attach_arena(&self, _arena: Arena) -> Result<(), FrontError> {
        self.note("arena".into());
        Ok(())
    }

    fn adopt_blobs(&self, blobs: &[(u32, Blob)]) -> Result<(), FrontError> {
        self.note(format!("adopt {blobs:?}"));
        self.blobs.lock().unwrap().extend(blobs.iter().copied());
        Ok(())
    }

    fn capset(&self) -> Result<Vec<u8>, FrontError> {
        Ok((0..160).collect())
    }

    fn create_context(&self, ctx_id: u32, name: &str) -> Result<(), FrontError> {
        self.note(format!("context {ctx_id} {name}"));
        Ok(())
    }

    fn destroy_context(&self, _ctx_id: u32) -> Result<(), FrontError> {
        Ok(())
    }

    fn submit(&self, ctx_id: u32, stream: &[u8]) -> Result<(), FrontError> {
        self.note(format!("submit {ctx_id} {}", stream.len()));
        Ok(())
    }

    fn create_blob(
        &self,
        _ctx_id: u32,
        res_id: u32,
        _blob_id: u64,
        size: u64,
    ) -> Result<Blob, FrontError> {
        let mut blobs = self.blobs.lock().unwrap();
        let offset: u64 = blobs.values().map(|blob| blob.len).sum();
        let len = size
            .checked_next_multiple_of(4096)
            .filter(|len| len + offset <= WINDOW_LEN)
            .ok_or(FrontError::OutOfMemory)?;
        let blob = Blob { offset, len };
        blobs.insert(res_id, blob);
        Ok(blob)
    }

    fn unref_resource(&self, res_id: u32) -> Result<(), FrontError> {
        self.note(format!("unref {res_id}"));
        Ok(())
    }

    fn attach_resource(&self, _ctx_id: u32, _res_id: u32) -> Result<(), FrontError> {
        Ok(())
    }

    fn detach_resource(&self, _ctx_id: u32, _res_id: u32) -> Result<(), FrontError> {
        Ok(())
    }

    fn create_fence(&self, ctx_id: u32, ring_idx: u32, fence_id: u64) -> Result<(), FrontError> {
        if ctx_id != 1 {
            return Err(FrontError::NoContext(ctx_id));
        }
        self.note(format!("fence {ring_idx} {fence_id}"));
        if self.signal_at_once {
            self.signal(ctx_id, ring_idx, fence_id);
        }
        Ok(())
    }

    fn set_event_handler(&self, handler: Handler) {
        *self.handler.lock().unwrap() = Some(handler);
    }

    fn reset(&self) {
        self.note("reset".into());
    }

    fn set_log(&self, on: bool) {
        self.note(format!("log {on}"));
    }

    fn quiesce(&self, device_tables: &[u8], _deadline: Duration) -> Result<(), FrontError> {
        self.note("quiesce".into());
        *self.tables.lock().unwrap() = device_tables.to_vec();
        if self.hung {
            return Err(FrontError::Hung);
        }
        Ok(())
    }

    fn resume(&self) {
        self.note("resume".into());
    }

    fn save(&self) -> Result<Vec<u8>, FrontError> {
        Ok(self.tables.lock().unwrap().clone())
    }

    fn load(&self, state: &[u8]) -> Result<Vec<u8>, FrontError> {
        Ok(state.to_vec())
    }
}
