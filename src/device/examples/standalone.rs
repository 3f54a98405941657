//! hesper-device with a front that executes nothing: it hands out arena ranges and lets fences
//! signal after a while. For trying the device, and QEMU's side of it, alone.
//!
//! Blobs with id 77 are written to all the time, as a GPU would: a page of counters at byte 8192. So one
//! can see in a guest that a migration carries what the back end writes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use clap::Parser;
use hesper_device::{DeviceConfig, FrontApi, FrontError, WindowConfig, serve};
use hesper_front::{Arena, Blob, ContextEvent};
use serde::{Deserialize, Serialize};

/// Blob id of the memory that is written to.
const WRITTEN_BLOB: u64 = 77;
/// Where in it, bytes.
const WRITTEN_OFFSET: u64 = 8192;

#[derive(Parser)]
struct Options {
    /// The vhost-user socket.
    #[arg(long)]
    socket_path: PathBuf,
    /// The window channel's socket.
    #[arg(long)]
    window_socket: PathBuf,
    /// How long a fence takes, milliseconds.
    #[arg(long, default_value_t = 0)]
    fence_delay_ms: u64,
    /// How long a cut takes, milliseconds.
    #[arg(long, default_value_t = 0)]
    cut_delay_ms: u64,
    /// Refuse to load any state.
    #[arg(long)]
    fail_load: bool,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Range {
    blob_id: u64,
    offset: u64,
    len: u64,
}

#[derive(Default, Clone, Serialize, Deserialize)]
struct Saved {
    contexts: Vec<u32>,
    ranges: BTreeMap<u32, Range>,
    counter: u64,
    tables: Vec<u8>,
}

type Handler = Box<dyn Fn(ContextEvent) + Send + Sync>;

#[derive(Default)]
struct State {
    saved: Saved,
    arena: Option<Arena>,
    running: bool,
}

struct Front {
    state: Mutex<State>,
    handler: Mutex<Option<Arc<Handler>>>,
    myself: Weak<Front>,
    options: Options,
}

impl Front {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, event: ContextEvent) {
        let handler = self
            .handler
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let Some(handler) = handler {
            handler(event);
        }
    }

    fn tick(&self) {
        let mut state = self.lock();
        if !state.running {
            return;
        }
        let Some(arena) = state.arena.clone() else {
            return;
        };
        state.saved.counter += 1;
        let page = state.saved.counter.to_le_bytes().repeat(512);
        for range in state.saved.ranges.values() {
            if range.blob_id != WRITTEN_BLOB || range.len < WRITTEN_OFFSET + 4096 {
                continue;
            }
            let at = range.offset + WRITTEN_OFFSET;
            if arena.mapping.write(at, &page).is_ok()
                && let Some(bitmap) = &arena.bitmap
            {
                let _ = bitmap.mark(at, 4096);
            }
        }
    }
}

impl FrontApi for Front {
    fn attach_arena(&self, arena: Arena) -> Result<(), FrontError> {
        let mut state = self.lock();
        state.arena = Some(arena);
        state.running = true;
        Ok(())
    }

    fn adopt_blobs(&self, _blobs: &[(u32, Blob)]) -> Result<(), FrontError> {
        Err(FrontError::Other("Not in this example".into()))
    }

    fn capset(&self) -> Result<Vec<u8>, FrontError> {
        let mut words = vec![1, 1 << 22 | 3 << 12, 1, 1, 1];
        words.extend([0; 32]);
        words.extend([1, 1, 0]);
        Ok(words
            .iter()
            .flat_map(|word: &u32| word.to_le_bytes())
            .collect())
    }

    fn create_context(&self, ctx_id: u32, name: &str) -> Result<(), FrontError> {
        tracing::info!(ctx_id, name, "Context");
        self.lock().saved.contexts.push(ctx_id);
        Ok(())
    }

    fn destroy_context(&self, ctx_id: u32) -> Result<(), FrontError> {
        self.lock().saved.contexts.retain(|id| *id != ctx_id);
        Ok(())
    }

    fn submit(&self, ctx_id: u32, stream: &[u8]) -> Result<(), FrontError> {
        tracing::debug!(ctx_id, len = stream.len(), "Submit");
        Ok(())
    }

    fn create_blob(
        &self,
        _ctx_id: u32,
        res_id: u32,
        blob_id: u64,
        size: u64,
    ) -> Result<Blob, FrontError> {
        let mut state = self.lock();
        let arena = state.arena.clone().ok_or(FrontError::OutOfMemory)?;
        let len = size
            .checked_next_multiple_of(4096)
            .ok_or(FrontError::OutOfMemory)?;
        let mut taken: Vec<Range> = state.saved.ranges.values().copied().collect();
        taken.sort_by_key(|range| range.offset);
        let mut offset = 0;
        for range in taken {
            if range.offset - offset >= len {
                break;
            }
            offset = range.offset + range.len;
        }
        if arena
            .window_len
            .checked_sub(offset)
            .is_none_or(|left| left < len)
        {
            return Err(FrontError::OutOfMemory);
        }
        let refused = |error: hesper_memory::MemoryError| FrontError::Other(error.to_string());
        arena.mapping.punch_hole(offset, len).map_err(refused)?;
        if let Some(bitmap) = &arena.bitmap {
            bitmap.mark(offset, len).map_err(refused)?;
        }
        let range = Range {
            blob_id,
            offset,
            len,
        };
        state.saved.ranges.insert(res_id, range);
        Ok(Blob { offset, len })
    }

    fn unref_resource(&self, res_id: u32) -> Result<(), FrontError> {
        let range = self.lock().saved.ranges.remove(&res_id);
        range.map(|_| ()).ok_or(FrontError::NoResource(res_id))
    }

    fn attach_resource(&self, _ctx_id: u32, _res_id: u32) -> Result<(), FrontError> {
        Ok(())
    }

    fn detach_resource(&self, _ctx_id: u32, _res_id: u32) -> Result<(), FrontError> {
        Ok(())
    }

    fn create_fence(&self, ctx_id: u32, ring_idx: u32, fence_id: u64) -> Result<(), FrontError> {
        if !self.lock().saved.contexts.contains(&ctx_id) {
            return Err(FrontError::NoContext(ctx_id));
        }
        let event = ContextEvent::Fence {
            ctx_id,
            ring_idx,
            fence_id,
        };
        let delay = Duration::from_millis(self.options.fence_delay_ms);
        let myself = self.myself.clone();
        std::thread::spawn(move || {
            std::thread::sleep(delay);
            if let Some(front) = myself.upgrade() {
                front.tell(event);
            }
        });
        Ok(())
    }

    fn set_event_handler(&self, handler: Handler) {
        let mut told = self.handler.lock().unwrap_or_else(PoisonError::into_inner);
        *told = Some(Arc::new(handler));
    }

    fn reset(&self) {
        tracing::info!("Reset");
        let mut state = self.lock();
        state.saved = Saved::default();
        state.running = true;
    }

    fn set_log(&self, on: bool) {
        tracing::info!(on, "Log");
    }

    fn quiesce(&self, device_tables: &[u8], deadline: Duration) -> Result<(), FrontError> {
        tracing::info!(tables = device_tables.len(), "Cut");
        let wanted = Duration::from_millis(self.options.cut_delay_ms);
        std::thread::sleep(wanted.min(deadline));
        let mut state = self.lock();
        state.saved.tables = device_tables.to_vec();
        state.running = false;
        if wanted > deadline {
            return Err(FrontError::Hung);
        }
        Ok(())
    }

    fn resume(&self) {
        let mut state = self.lock();
        state.running = true;
        tracing::info!(counter = state.saved.counter, "Resume");
    }

    fn save(&self) -> Result<Vec<u8>, FrontError> {
        serde_json::to_vec(&self.lock().saved).map_err(|error| FrontError::Other(error.to_string()))
    }

    fn load(&self, bytes: &[u8]) -> Result<Vec<u8>, FrontError> {
        if self.options.fail_load {
            return Err(FrontError::Other("Asked to fail".into()));
        }
        let saved: Saved =
            serde_json::from_slice(bytes).map_err(|error| FrontError::Other(error.to_string()))?;
        let tables = saved.tables.clone();
        let mut state = self.lock();
        state.saved = saved;
        state.running = false;
        Ok(tables)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .with_writer(std::io::stderr)
        .init();
    let options = Options::parse();
    let config = DeviceConfig {
        socket: options.socket_path.clone().into(),
        window: WindowConfig::Channel(options.window_socket.clone().into()),
        deadlines: hesper_device::Deadlines::default(),
        limits: Default::default(),
        figures: Default::default(),
    };
    let front = Arc::new_cyclic(|myself| Front {
        state: Mutex::default(),
        handler: Mutex::new(None),
        myself: myself.clone(),
        options,
    });
    let ticking = Arc::downgrade(&front);
    std::thread::spawn(move || {
        while let Some(front) = ticking.upgrade() {
            front.tick();
            drop(front);
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    serve(config, front)?;
    Ok(())
}
