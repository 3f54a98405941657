//! Sync objects of one client: counters that fences raise and clients wait for.

use std::collections::HashMap;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hesper_log::Guest;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::{pipe2, write};

/// Sync objects and pending fences of one client, at most each.
const ENTRIES_MAX: usize = 1 << 16;
/// Waits of one client that are not over, at most.
const WAITS_MAX: usize = 1024;
/// From this many waits on, those whose clients gave up are looked for.
const WAITS_SWEEP: usize = 64;

/// A wait: done when any or all of its (sync, value) are reached.
struct Wait {
    any: bool,
    wanted: Vec<(u32, u64)>,
    /// Our end of a pipe: the client's becomes readable by a byte, and ours tells when the client closed its own.
    told: OwnedFd,
}

impl Wait {
    fn given_up(&self) -> bool {
        let mut polled = [PollFd::new(self.told.as_fd(), PollFlags::empty())];
        matches!(poll(&mut polled, PollTimeout::ZERO), Ok(1..))
    }
}

#[derive(Default)]
struct State {
    values: HashMap<u32, u64>,
    next_id: u32,
    fences: HashMap<u64, Vec<(u32, u64)>>,
    next_fence: u64,
    waits: Vec<Wait>,
    /// So many waits were left when those given up were last looked for.
    swept: usize,
}

/// The sync objects of one client.
pub struct Syncs {
    state: Mutex<State>,
    stream: UnixStream,
    /// Whose client it is, for logs.
    pub guest: Guest,
}

impl Syncs {
    pub fn new(stream: UnixStream, guest: Guest) -> Self {
        Self {
            state: Mutex::default(),
            stream,
            guest,
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
        let Some(current) = state.values.get_mut(&id) else {
            return false;
        };
        *current = value;
        state.wake();
        true
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
    pub fn wait(&self, any: bool, wanted: Vec<(u32, u64)>) -> Result<OwnedFd, std::io::Error> {
        let (event, told) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
        let mut state = self.lock();
        if state.waits.len() >= WAITS_SWEEP.max(2 * state.swept) || state.waits.len() >= WAITS_MAX {
            state.waits.retain(|wait| !wait.given_up());
            state.swept = state.waits.len();
        }
        if state.waits.len() >= WAITS_MAX {
            return Err(std::io::ErrorKind::QuotaExceeded.into());
        }
        state.waits.push(Wait { any, wanted, told });
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
                // Fails only when the client has closed its end.
                let _ = write(&wait.told, &[1]);
            }
            !done
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn syncs() -> Syncs {
        Syncs::new(UnixStream::pair().unwrap().0, Guest::Only)
    }

    fn is_signalled(event: &OwnedFd) -> bool {
        nix::unistd::read(event, &mut [0]) == Ok(1)
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
    fn waits_that_are_pending_are_limited_and_given_up_ones_do_not_count() {
        let syncs = syncs();
        let sync = syncs.create(0).unwrap();
        for _ in 0..2 * WAITS_MAX {
            syncs.wait(true, vec![(sync, 1)]).unwrap();
        }

        let kept: Vec<_> = (0..WAITS_MAX)
            .map_while(|_| syncs.wait(true, vec![(sync, 1)]).ok())
            .collect();

        assert!(syncs.wait(true, vec![(sync, 1)]).is_err());
        assert!(kept.len() > WAITS_MAX / 2);
        syncs.write(sync, 1);
        assert!(kept.iter().all(is_signalled));
        assert!(syncs.wait(true, vec![(sync, 2)]).is_ok());
    }

    #[test]
    fn fence_on_unknown_sync_is_refused() {
        assert_eq!(syncs().add_fence(vec![(7, 1)]), None);
    }
}
