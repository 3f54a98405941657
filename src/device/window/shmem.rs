//! The window of a front end that knows nothing of Hesper, as QEMU 11.1 is: vhost-user's SHMEM_MAP and SHMEM_UNMAP.
//!
//! The arena is ours, one sealed memory file; the front end maps ranges of it where we ask. Two things need care:
//! - A front end that stops a queue waits for us and answers nothing meanwhile. So a thread of its own asks, and a request
//!   that a stop overtakes counts as done: the front end reads it right after the stop, before the guest runs again.
//! - QEMU answers before the guest sees the change, but then sends a new memory table, which has every map in it as a region
//!   of its own. A map or unmap has happened when the table says so.

use std::collections::{BTreeMap, VecDeque};
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hesper_front::Arena;
use hesper_log::guest_warn;
use hesper_memory::{Mapping, PAGE_SIZE};
use vhost::vhost_user::message::{VhostUserMMap, VhostUserMMapFlags};
use vhost::vhost_user::{Backend as BackendRequests, VhostUserFrontendReqHandler};
use vm_memory::{GuestMemoryBackend, GuestMemoryRegion};

use super::{FrontEnd, Window, WindowError};
use crate::vring::Memory;

/// The virtio-gpu device's host-visible region (virtio 1.2, 5.7.7).
pub const SHMEM_ID: u8 = 1;
/// Maps at a time: vhost-user front ends have 509 memory regions, and the guest's RAM needs some.
const MAPS_MAX: usize = 448;
/// Requests that wait for the thread: more than one only while a front end does not answer.
const REQUESTS_MAX: usize = 64;
/// How long a memory table may follow its answer. Front ends that send none go on after this.
const TABLE_LIMIT: Duration = Duration::from_secs(1);
/// What the front wants of an arena behind its window. Nothing is saved there.
const IMAGE_LEN: u64 = 16 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Map { arena_offset: u64 },
    Unmap,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    number: u64,
    action: Action,
    window_offset: u64,
    len: u64,
}

/// What became of the wait for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    /// Somebody waits.
    Yes,
    /// The queues stopped first: taken as done.
    Assumed,
    /// It took too long: taken as failed.
    GivenUp,
    /// Nobody ever did.
    No,
}

#[derive(Default)]
struct State {
    requests: VecDeque<Request>,
    /// Where requests go, once the front end has said so.
    front_end: Option<BackendRequests>,
    next_number: u64,
    /// What somebody waits for.
    waiting: BTreeMap<u64, Waiting>,
    /// Answers that nobody has taken yet.
    answers: BTreeMap<u64, Result<(), WindowError>>,
    /// The maps there are: window offset, and arena offset and length.
    maps: BTreeMap<u64, (u64, u64)>,
    /// Those of them that no answer has confirmed.
    assumed: Vec<(u64, u64)>,
    /// Ranges of the arena that the memory table shows.
    shown: Vec<(u64, u64)>,
    stopping: bool,
    closed: bool,
}

impl State {
    fn shows(&self, (offset, len): (u64, u64)) -> bool {
        self.shown
            .iter()
            .any(|(start, shown)| *start <= offset && offset + len <= start + shown)
    }

    fn push(&mut self, action: Action, window_offset: u64, len: u64, waiting: Waiting) -> u64 {
        let number = self.next_number;
        self.next_number += 1;
        self.waiting.insert(number, waiting);
        self.requests.push_back(Request {
            number,
            action,
            window_offset,
            len,
        });
        number
    }
}

/// A window in the front end's shared memory region.
pub struct Shmem {
    arena: Arena,
    state: Mutex<State>,
    changed: Condvar,
    timeout: Duration,
}

impl Shmem {
    /// Makes the arena, with `window_len` bytes for the guest, and starts the thread. Requests are given up after
    /// `timeout`.
    ///
    /// # Errors
    /// When there is no memory, or no thread.
    pub fn start(window_len: u64, timeout: Duration) -> std::io::Result<Arc<Self>> {
        let wrong = || std::io::Error::other(format!("A window of {window_len} bytes"));
        if window_len == 0 || !window_len.is_multiple_of(PAGE_SIZE) {
            return Err(wrong());
        }
        let len = window_len.checked_add(IMAGE_LEN).ok_or_else(wrong)?;
        let mapping = Mapping::anonymous("arena", len).map_err(std::io::Error::other)?;
        let shmem = Arc::new(Self {
            arena: Arena {
                mapping,
                window_len,
                bitmap: None,
            },
            state: Mutex::default(),
            changed: Condvar::new(),
            timeout,
        });
        let asking = Arc::clone(&shmem);
        std::thread::Builder::new()
            .name("window".into())
            .spawn(move || asking.ask_all())?;
        Ok(shmem)
    }

    /// The arena.
    pub fn arena(&self) -> &Arena {
        &self.arena
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread that talks to the front end.
    fn ask_all(&self) {
        let mut state = self.lock();
        while !state.closed {
            let next = match &state.front_end {
                Some(front_end) => state.requests.front().map(|r| (*r, front_end.clone())),
                None => None,
            };
            let Some((request, front_end)) = next else {
                state = self.wait(state, None);
                continue;
            };
            state.requests.pop_front();
            drop(state);
            let answer = self.ask(&front_end, &request);
            state = self.lock();
            Self::answered(&mut state, &request, answer);
            self.changed.notify_all();
        }
    }

    fn ask(&self, front_end: &BackendRequests, request: &Request) -> Result<(), WindowError> {
        let mut message = VhostUserMMap {
            shmid: SHMEM_ID,
            shm_offset: request.window_offset,
            len: request.len,
            ..Default::default()
        };
        let done = match request.action {
            Action::Map { arena_offset } => {
                message.fd_offset = arena_offset;
                message.flags = VhostUserMMapFlags::WRITABLE.bits();
                front_end.shmem_map(&message, self.arena.mapping.file())
            }
            Action::Unmap => front_end.shmem_unmap(&message),
        };
        match done {
            Ok(_) => Ok(()),
            Err(error) => Err(refusal(error)),
        }
    }

    fn answered(state: &mut State, request: &Request, answer: Result<(), WindowError>) {
        let range = (request.window_offset, request.len);
        match (state.waiting.remove(&request.number), answer) {
            (Some(Waiting::Yes), answer) => {
                state.waiting.insert(request.number, Waiting::Yes);
                state.answers.insert(request.number, answer);
            }
            (Some(Waiting::Assumed), Err(error)) => {
                guest_warn!(?range, %error, "Not shown, and the guest was told otherwise");
            }
            (Some(Waiting::GivenUp), Ok(())) if request.action != Action::Unmap => {
                // The guest was told that there is none.
                state.push(
                    Action::Unmap,
                    request.window_offset,
                    request.len,
                    Waiting::No,
                );
            }
            (_, Ok(())) => {}
            (_, Err(error)) => tracing::debug!(?range, %error, "Window request"),
        }
    }

    /// Has the thread ask and waits for the answer, and for the memory table that follows it.
    fn request(&self, action: Action, window_offset: u64, len: u64) -> Result<(), WindowError> {
        let deadline = Instant::now() + self.timeout;
        let mut state = self.lock();
        if state.front_end.is_none() {
            return Err(WindowError::Closed);
        }
        if state.requests.len() >= REQUESTS_MAX {
            return Err(WindowError::Timeout);
        }
        let number = state.push(action, window_offset, len, Waiting::Yes);
        self.changed.notify_all();
        loop {
            if let Some(answer) = state.answers.remove(&number) {
                state.waiting.remove(&number);
                answer?;
                break;
            }
            if state.closed {
                return Err(WindowError::Closed);
            }
            if state.stopping {
                state.waiting.insert(number, Waiting::Assumed);
                state.assumed.push((window_offset, len));
                return Ok(());
            }
            if Instant::now() >= deadline {
                state.waiting.insert(number, Waiting::GivenUp);
                return Err(WindowError::Timeout);
            }
            state = self.wait(state, Some(deadline));
        }
        let (range, wanted) = match action {
            Action::Map { arena_offset } => ((arena_offset, len), true),
            Action::Unmap => match state.maps.get(&window_offset) {
                Some(range) => (*range, false),
                None => return Ok(()),
            },
        };
        let deadline = Instant::now() + TABLE_LIMIT;
        while state.shows(range) != wanted && !state.closed && !state.stopping {
            if Instant::now() >= deadline {
                tracing::debug!(?range, wanted, "No memory table says so");
                break;
            }
            state = self.wait(state, Some(deadline));
        }
        Ok(())
    }

    fn wait<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        until: Option<Instant>,
    ) -> MutexGuard<'a, State> {
        match until {
            None => self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner),
            Some(until) => {
                let left = until.saturating_duration_since(Instant::now());
                self.changed
                    .wait_timeout(state, left)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0
            }
        }
    }
}

/// A front end says no, but not why; all else is the socket's failure.
fn refusal(error: std::io::Error) -> WindowError {
    use vhost::vhost_user::Error;
    match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(Error::FrontendInternalError) => WindowError::Refused(libc::EINVAL as u32),
        _ => WindowError::Io(error),
    }
}

impl Window for Shmem {
    fn front_end(&self) -> FrontEnd {
        FrontEnd::Standard {
            window_len: self.arena.window_len,
        }
    }

    fn map(&self, arena_offset: u64, window_offset: u64, len: u64) -> Result<(), WindowError> {
        let inside = |offset: u64, limit| offset.checked_add(len).is_some_and(|end| end <= limit);
        if len == 0
            || !inside(window_offset, self.arena.window_len)
            || !inside(arena_offset, self.arena.mapping.len())
        {
            return Err(WindowError::Refused(libc::EINVAL as u32));
        }
        {
            let state = self.lock();
            let below = state.maps.range(..window_offset + len).next_back();
            if below.is_some_and(|(start, (_, len))| start + len > window_offset) {
                return Err(WindowError::Refused(libc::EEXIST as u32));
            }
            if state.maps.len() >= MAPS_MAX {
                return Err(WindowError::Refused(libc::ENOSPC as u32));
            }
        }
        self.request(Action::Map { arena_offset }, window_offset, len)?;
        self.lock().maps.insert(window_offset, (arena_offset, len));
        Ok(())
    }

    fn unmap(&self, window_offset: u64, len: u64) -> Result<(), WindowError> {
        if self.lock().maps.get(&window_offset).map(|map| map.1) != Some(len) {
            return Err(WindowError::Refused(libc::ENOENT as u32));
        }
        let done = self.request(Action::Unmap, window_offset, len);
        if matches!(done, Ok(()) | Err(WindowError::Refused(_))) {
            self.lock().maps.remove(&window_offset);
        }
        done
    }

    fn settle(&self) -> bool {
        // A queue starts: what was assumed has been read by now.
        self.lock().stopping = false;
        true
    }

    fn is_closed(&self) -> bool {
        self.lock().closed
    }

    fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    fn connected(&self, requests: BackendRequests) {
        self.lock().front_end = Some(requests);
        self.changed.notify_all();
    }

    fn stopping(&self) {
        self.lock().stopping = true;
        self.changed.notify_all();
    }

    fn memory_changed(&self, memory: &Memory) {
        let Ok(ours) = self.arena.mapping.file().metadata() else {
            return;
        };
        let shown = memory
            .iter()
            .filter_map(|region| {
                let offset = region.file_offset()?;
                let file = offset.file().metadata().ok()?;
                ((file.dev(), file.ino()) == (ours.dev(), ours.ino()))
                    .then(|| (offset.start(), region.len()))
            })
            .collect();
        self.lock().shown = shown;
        self.changed.notify_all();
    }

    fn reset(&self) {
        let mut state = self.lock();
        state.maps.clear();
        // One that the front end read after it had reset the device is still there.
        for (window_offset, len) in std::mem::take(&mut state.assumed) {
            if state.requests.len() < REQUESTS_MAX {
                state.push(Action::Unmap, window_offset, len, Waiting::No);
            }
        }
        self.changed.notify_all();
    }
}
