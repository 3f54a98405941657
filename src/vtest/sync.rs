//! Sync objects of one client: counters that fences raise and clients wait for.

use std::collections::HashMap;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::sys::eventfd::{EfdFlags, EventFd};

/// Sync objects, pending fences and waits of one client, at most each.
const ENTRIES_MAX: usize = 1 << 16;

/// A wait: done when any or all of its (sync, value) are reached.
struct Wait {
    any: bool,
    wanted: Vec<(u32, u64)>,
    event: Arc<EventFd>,
}

#[derive(Default)]
struct State {
    values: HashMap<u32, u64>,
    next_id: u32,
    fences: HashMap<u64, Vec<(u32, u64)>>,
    next_fence: u64,
    waits: Vec<Wait>,
}

/// The sync objects of one client.
pub struct Syncs {
    state: Mutex<State>,
    stream: UnixStream,
}

impl Syncs {
    pub fn new(stream: UnixStream) -> Self {
        Self {
            state: Mutex::default(),
            stream,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new sync object; `None` when there are too many.
    pub fn create(&self, value: u64) -> Option<u32> {
        let mut state = self.lock();
        if state.values.len() >= ENTRIES_MAX {
            return None;
        }
        state.next_id = state.next_id.checked_add(1)?;
        let id = state.next_id;
        state.values.insert(id, value);
        Some(id)
    }

    pub fn unref(&self, id: u32) -> bool {
        self.lock().values.remove(&id).is_some()
    }

    pub fn read(&self, id: u32) -> Option<u64> {
        self.lock().values.get(&id).copied()
    }

    pub fn write(&self, id: u32, value: u64) -> bool {
        let mut state = self.lock();
        let known = state.values.insert(id, value).is_some();
        state.wake();
        known
    }

    /// A fence that raises syncs when it is done; `None` for an unknown sync or too many fences.
    pub fn add_fence(&self, raises: Vec<(u32, u64)>) -> Option<u64> {
        let mut state = self.lock();
        if state.fences.len() >= ENTRIES_MAX
            || raises.iter().any(|(id, _)| !state.values.contains_key(id))
        {
            return None;
        }
        state.next_fence += 1;
        let fence = state.next_fence;
        state.fences.insert(fence, raises);
        Some(fence)
    }

    pub fn fence_done(&self, fence: u64) {
        let mut state = self.lock();
        for (id, value) in state.fences.remove(&fence).unwrap_or_default() {
            if let Some(current) = state.values.get_mut(&id) {
                *current = (*current).max(value);
            }
        }
        state.wake();
    }

    /// A descriptor that becomes readable when the wait is over.
    pub fn wait(&self, any: bool, wanted: Vec<(u32, u64)>) -> Result<Arc<EventFd>, std::io::Error> {
        let event = Arc::new(EventFd::from_flags(
            EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK,
        )?);
        let mut state = self.lock();
        // Clients that gave up close their end; ours is the only one left then.
        state.waits.retain(|wait| !wait.wanted.is_empty());
        if state.waits.len() >= ENTRIES_MAX {
            return Err(std::io::ErrorKind::QuotaExceeded.into());
        }
        state.waits.push(Wait {
            any,
            wanted,
            event: Arc::clone(&event),
        });
        state.wake();
        Ok(event)
    }

    /// Ends the connection: the context is lost.
    pub fn hang_up(&self) {
        // Fails only when the client is gone already.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl State {
    fn wake(&mut self) {
        let values = &self.values;
        self.waits.retain(|wait| {
            let reached =
                |(id, wanted): &(u32, u64)| values.get(id).is_none_or(|value| value >= wanted);
            let done = if wait.any {
                wait.wanted.iter().any(reached)
            } else {
                wait.wanted.iter().all(reached)
            };
            if done {
                // A full counter is readable as well.
                let _ = wait.event.write(1);
            }
            !done
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn syncs() -> Syncs {
        Syncs::new(UnixStream::pair().unwrap().0)
    }

    fn is_signalled(event: &EventFd) -> bool {
        event.read().is_ok()
    }

    #[test]
    fn fence_done_raises_its_syncs_and_wakes_waits() {
        let syncs = syncs();
        let (a, b) = (syncs.create(0).unwrap(), syncs.create(5).unwrap());
        let all = syncs.wait(false, vec![(a, 2), (b, 6)]).unwrap();
        let any = syncs.wait(true, vec![(a, 2), (b, 9)]).unwrap();
        let fence = syncs.add_fence(vec![(a, 2)]).unwrap();

        syncs.fence_done(fence);

        assert_eq!(syncs.read(a), Some(2));
        assert!(is_signalled(&any) && !is_signalled(&all));
        syncs.write(b, 6);
        assert!(is_signalled(&all));
    }

    #[test]
    fn fence_on_unknown_sync_is_refused() {
        assert_eq!(syncs().add_fence(vec![(7, 1)]), None);
    }
}
