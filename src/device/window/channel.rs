//! The window channel of QEMU with Hesper's device: what virtio and vhost-user have no message for.
//!
//! The arena is QEMU's. QEMU connects to a socket of ours. Messages are 32 bytes, little-endian: `u32` type, `u32`
//! status, three `u64`. A reply has the type with its top bit set.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hesper_front::Arena;
use hesper_memory::{DirtyBitmap, Mapping, PAGE_SIZE};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::MsgFlags;

use super::{FrontEnd, Window, WindowError};

/// Length of a message, bytes.
const MESSAGE_LEN: usize = 32;
/// Descriptors of one message at most: HELLO has two.
const FDS_MAX: usize = 8;
/// Top bit of a reply's type.
const REPLY: u32 = 0x8000_0000;
/// Largest arena that is believed.
const ARENA_LEN_MAX: u64 = 1 << 44;
/// How often a thread that waits looks whether it should end.
const TICK: Duration = Duration::from_millis(200);

/// Message types.
mod kind {
    pub const HELLO: u32 = 1;
    pub const MAP: u32 = 2;
    pub const UNMAP: u32 = 3;
    pub const QUIESCE: u32 = 5;
    pub const RESET: u32 = 6;
    pub const LOG: u32 = 7;
}

/// What QEMU tells the device, in order.
#[derive(Debug)]
pub enum Notice {
    /// The arena, and which part of it is window.
    Hello {
        /// Both.
        arena: Arena,
        /// It holds what a process has left that is gone, and the guest counts on it.
        left: bool,
    },
    /// The VM stops: come to rest, then call [`Channel::quiesced`].
    Quiesce,
    /// The guest was reset.
    Reset,
    /// Dirty logging goes on or off.
    Log(bool),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Message {
    kind: u32,
    status: u32,
    a: u64,
    b: u64,
    c: u64,
}

impl Message {
    fn encode(&self) -> [u8; MESSAGE_LEN] {
        let mut bytes = [0; MESSAGE_LEN];
        bytes[..4].copy_from_slice(&self.kind.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.status.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.a.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.b.to_le_bytes());
        bytes[24..].copy_from_slice(&self.c.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8; MESSAGE_LEN]) -> Self {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        Self {
            kind: word(0) as u32,
            status: (word(0) >> 32) as u32,
            a: word(8),
            b: word(16),
            c: word(24),
        }
    }
}

struct State {
    stream: Option<Arc<UnixStream>>,
    /// The request that waits, and its reply.
    asked: Option<Message>,
    answer: Option<u32>,
    /// Bytes of a message that is still arriving.
    partial: Vec<u8>,
    fds: Vec<OwnedFd>,
    /// Notices handed on whose work is not done.
    open_notices: usize,
}

/// Our end of the window channel.
pub struct Channel {
    listener: UnixListener,
    state: Mutex<State>,
    changed: Condvar,
    /// One request at a time.
    request: Mutex<()>,
    stop: AtomicBool,
    timeout: Duration,
}

impl Channel {
    /// Serves `listener` from a thread of its own; what QEMU says comes out of the receiver.
    /// Requests are given up after `timeout`.
    ///
    /// # Errors
    /// When the thread or the socket can't be set up.
    pub fn listen(
        listener: UnixListener,
        timeout: Duration,
    ) -> io::Result<(Arc<Self>, Receiver<Notice>)> {
        listener.set_nonblocking(true)?;
        let window = Arc::new(Self {
            listener,
            state: Mutex::new(State {
                stream: None,
                asked: None,
                answer: None,
                partial: Vec::new(),
                fds: Vec::new(),
                open_notices: 0,
            }),
            changed: Condvar::new(),
            request: Mutex::new(()),
            stop: AtomicBool::new(false),
            timeout,
        });
        let (notices, receiver) = mpsc::channel();
        let reader = Arc::clone(&window);
        std::thread::Builder::new()
            .name("window".into())
            .spawn(move || reader.read_all(&notices))?;
        Ok((window, receiver))
    }

    /// Tells QEMU that the device is at rest, or that it could not come to rest (an errno).
    ///
    /// # Errors
    /// [`WindowError::Closed`], [`WindowError::Io`].
    pub fn quiesced(&self, outcome: Result<(), u32>) -> Result<(), WindowError> {
        self.send(&Message {
            kind: kind::QUIESCE | REPLY,
            status: outcome.err().unwrap_or(0),
            a: 0,
            b: 0,
            c: 0,
        })
    }

    /// The work for one notice is done.
    pub fn done(&self) {
        self.lock().open_notices -= 1;
        self.changed.notify_all();
    }

    fn hang_up(&self) {
        if let Some(stream) = self.lock().stream.take() {
            // It may be closed already.
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, kind: u32, a: u64, b: u64, c: u64) -> Result<(), WindowError> {
        let _one = self.request.lock().unwrap_or_else(PoisonError::into_inner);
        let message = Message {
            kind,
            status: 0,
            a,
            b,
            c,
        };
        {
            let mut state = self.lock();
            state.asked = Some(message);
            state.answer = None;
        }
        let deadline = Instant::now() + self.timeout;
        self.send(&message)?;
        let mut state = self.lock();
        loop {
            if let Some(status) = state.answer.take() {
                state.asked = None;
                return match status {
                    0 => Ok(()),
                    errno => Err(WindowError::Refused(errno)),
                };
            }
            if state.stream.is_none() {
                return Err(WindowError::Closed);
            }
            let now = Instant::now();
            if now >= deadline {
                state.asked = None;
                return Err(WindowError::Timeout);
            }
            state = self
                .changed
                .wait_timeout(state, deadline - now)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    fn send(&self, message: &Message) -> Result<(), WindowError> {
        let stream = self.lock().stream.clone().ok_or(WindowError::Closed)?;
        // 32 bytes go into the socket's buffer at once, so two senders never interleave.
        (&*stream).write_all(&message.encode())?;
        Ok(())
    }

    fn read_all(&self, notices: &Sender<Notice>) {
        while !self.stop.load(Ordering::Acquire) {
            match self.accept() {
                Ok(stream) => {
                    if let Err(error) = self.serve(&stream, notices) {
                        tracing::warn!(%error, "Window channel");
                    }
                    self.hang_up();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    wait_readable(&self.listener);
                }
                Err(error) => {
                    tracing::warn!(%error, "Accepting on the window socket");
                    std::thread::sleep(TICK);
                }
            }
        }
    }

    fn accept(&self) -> io::Result<Arc<UnixStream>> {
        // Accepting and showing the connection are one step for `settle`.
        let mut state = self.lock();
        let (stream, _) = self.listener.accept()?;
        stream.set_nonblocking(false)?;
        stream.set_write_timeout(Some(self.timeout))?;
        let stream = Arc::new(stream);
        state.partial.clear();
        state.fds.clear();
        state.stream = Some(Arc::clone(&stream));
        self.changed.notify_all();
        tracing::info!("Window channel connected");
        Ok(stream)
    }

    fn serve(&self, stream: &UnixStream, notices: &Sender<Notice>) -> io::Result<()> {
        while !self.stop.load(Ordering::Acquire) {
            if !wait_readable(stream) {
                continue;
            }
            // Reading and counting are one step for `settle`.
            let mut state = self.lock();
            if !receive(stream, &mut state)? {
                tracing::info!("Window channel closed");
                return Ok(());
            }
            if let Some(bytes) = state.partial.first_chunk::<MESSAGE_LEN>() {
                let message = Message::decode(bytes);
                state.partial.clear();
                let fds = std::mem::take(&mut state.fds);
                if let Some(notice) = Self::dispatch(&mut state, message, fds)? {
                    state.open_notices += 1;
                    if notices.send(notice).is_err() {
                        return Ok(());
                    }
                }
            }
            drop(state);
            self.changed.notify_all();
        }
        Ok(())
    }

    fn dispatch(
        state: &mut State,
        message: Message,
        fds: Vec<OwnedFd>,
    ) -> io::Result<Option<Notice>> {
        Ok(match message.kind {
            kind::HELLO => Some(Notice::Hello {
                arena: hello(&message, fds)?,
                left: message.c != 0,
            }),
            kind::QUIESCE => Some(Notice::Quiesce),
            kind::RESET => Some(Notice::Reset),
            kind::LOG => Some(Notice::Log(message.a != 0)),
            reply if reply & REPLY != 0 => {
                let expected = state.asked.is_some_and(|asked| {
                    asked.kind | REPLY == message.kind && asked.b == message.b
                });
                if expected {
                    state.answer = Some(message.status);
                } else {
                    tracing::warn!(?message, "Reply that nobody waits for");
                }
                None
            }
            _ => {
                tracing::warn!(?message, "Unknown window message");
                None
            }
        })
    }
}

impl Window for Channel {
    fn front_end(&self) -> FrontEnd {
        FrontEnd::Hesper
    }

    fn map(&self, arena_offset: u64, window_offset: u64, len: u64) -> Result<(), WindowError> {
        self.ask(kind::MAP, arena_offset, window_offset, len)
    }

    fn unmap(&self, window_offset: u64, len: u64) -> Result<(), WindowError> {
        self.ask(kind::UNMAP, 0, window_offset, len)
    }

    fn settle(&self) -> bool {
        let deadline = Instant::now() + self.timeout;
        let mut state = self.lock();
        loop {
            let unread = match &state.stream {
                Some(stream) => readable(stream),
                None => readable(&self.listener),
            };
            if !unread && state.open_notices == 0 && state.partial.is_empty() {
                return true;
            }
            let now = Instant::now();
            if now >= deadline || self.is_closed() {
                return false;
            }
            state = self
                .changed
                .wait_timeout(state, deadline - now)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    fn is_closed(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    fn close(&self) {
        self.stop.store(true, Ordering::Release);
        self.hang_up();
    }
}

/// Reads what is there of one message. False at the end of the stream.
fn receive(stream: &UnixStream, state: &mut State) -> io::Result<bool> {
    let mut bytes = [0; MESSAGE_LEN];
    let wanted = MESSAGE_LEN - state.partial.len();
    let received = hesper_memory::receive(stream, &mut bytes[..wanted], MsgFlags::empty())?;
    state.partial.extend(&bytes[..received.len]);
    state.fds.extend(received.fds);
    if received.truncated || state.fds.len() > FDS_MAX {
        state.fds.clear();
        return Err(io::Error::other("A message with too many descriptors"));
    }
    Ok(received.len > 0)
}

/// Makes the arena of a HELLO.
fn hello(message: &Message, fds: Vec<OwnedFd>) -> io::Result<Arena> {
    let (arena_len, window_len) = (message.a, message.b);
    let fds: Vec<OwnedFd> = fds;
    let mut fds = fds.into_iter().map(File::from);
    let (Some(arena), Some(bitmap)) = (fds.next(), fds.next()) else {
        return Err(io::Error::other("HELLO without its two descriptors"));
    };
    if arena_len == 0
        || arena_len > ARENA_LEN_MAX
        || window_len > arena_len
        || !arena_len.is_multiple_of(PAGE_SIZE)
        || !window_len.is_multiple_of(PAGE_SIZE)
    {
        return Err(io::Error::other("HELLO with impossible lengths"));
    }
    let mapping = Mapping::new(Arc::new(arena), 0, arena_len).map_err(io::Error::other)?;
    let words = Mapping::new(Arc::new(bitmap), 0, DirtyBitmap::file_len(arena_len))
        .map_err(io::Error::other)?;
    let bitmap = DirtyBitmap::new(words, arena_len).map_err(io::Error::other)?;
    tracing::info!(arena_len, window_len, "Arena");
    if !mapping.is_memory() {
        tracing::warn!(
            "The arena's file lies on a disk: drivers that pin memory (NVIDIA's) can't use it. Put it on tmpfs or hugetlbfs"
        );
    }
    Ok(Arena {
        mapping,
        window_len,
        bitmap: Some(bitmap),
    })
}

fn readable(fd: &impl AsFd) -> bool {
    let mut fds = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
    matches!(poll(&mut fds, PollTimeout::ZERO), Ok(1..))
}

fn wait_readable(fd: &impl AsFd) -> bool {
    let mut fds = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
    let timeout = PollTimeout::try_from(TICK).unwrap_or(PollTimeout::MAX);
    matches!(poll(&mut fds, timeout), Ok(1..))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hesper_memory::memfd;
    use nix::fcntl::OFlag;
    use nix::sys::socket::{ControlMessage, sendmsg};
    use std::io::{IoSlice, Read};
    use std::os::fd::AsRawFd;

    const TIMEOUT: Duration = Duration::from_millis(500);

    fn connect() -> (
        Arc<Channel>,
        Receiver<Notice>,
        UnixStream,
        tempfile::TempDir,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("window");
        let listener = UnixListener::bind(&path).unwrap();
        let (window, notices) = Channel::listen(listener, TIMEOUT).unwrap();
        let qemu = UnixStream::connect(&path).unwrap();
        (window, notices, qemu, dir)
    }

    fn send(qemu: &mut UnixStream, kind: u32, a: u64, b: u64) {
        let message = Message {
            kind,
            status: 0,
            a,
            b,
            c: 0,
        };
        qemu.write_all(&message.encode()).unwrap();
    }

    fn receive_one(qemu: &mut UnixStream) -> Message {
        let mut bytes = [0; MESSAGE_LEN];
        qemu.read_exact(&mut bytes).unwrap();
        Message::decode(&bytes)
    }

    #[test]
    fn too_many_descriptors_end_the_connection_and_none_stays() {
        let (_window, _notices, mut qemu, _dir) = connect();
        let (mut reader, writer) = nix::unistd::pipe2(OFlag::O_NONBLOCK)
            .map(|(reader, writer)| (File::from(reader), writer))
            .unwrap();
        let fds = [writer.as_raw_fd(); FDS_MAX + 1];
        sendmsg::<()>(
            qemu.as_raw_fd(),
            &[IoSlice::new(&[0; MESSAGE_LEN])],
            &[ControlMessage::ScmRights(&fds)],
            MsgFlags::empty(),
            None,
        )
        .unwrap();
        drop(writer);

        assert_eq!(qemu.read(&mut [0]).unwrap(), 0);
        assert_eq!(reader.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn hello_with_its_files_makes_the_arena() {
        let (window, notices, qemu, _dir) = connect();
        let arena = memfd("t", 1 << 20).unwrap();
        let bitmap = memfd("t", DirtyBitmap::file_len(1 << 20)).unwrap();
        let hello = Message {
            kind: kind::HELLO,
            status: 0,
            a: 1 << 20,
            b: 1 << 19,
            c: 0,
        };
        let fds = [arena.as_raw_fd(), bitmap.as_raw_fd()];
        sendmsg::<()>(
            qemu.as_raw_fd(),
            &[IoSlice::new(&hello.encode())],
            &[ControlMessage::ScmRights(&fds)],
            MsgFlags::empty(),
            None,
        )
        .unwrap();

        let notice = notices.recv_timeout(TIMEOUT).unwrap();

        let Notice::Hello { arena, left } = notice else {
            panic!("not a hello");
        };
        assert!(!left);
        assert_eq!(arena.mapping.len(), 1 << 20);
        assert_eq!(arena.window_len, 1 << 19);
        window.close();
    }

    #[test]
    fn hello_longer_than_its_file_closes_the_channel() {
        let (window, notices, mut qemu, _dir) = connect();
        let file = memfd("t", 4096).unwrap();
        let hello = Message {
            kind: kind::HELLO,
            status: 0,
            a: 1 << 20,
            b: 1 << 20,
            c: 0,
        };
        let fds = [file.as_raw_fd(), file.as_raw_fd()];
        sendmsg::<()>(
            qemu.as_raw_fd(),
            &[IoSlice::new(&hello.encode())],
            &[ControlMessage::ScmRights(&fds)],
            MsgFlags::empty(),
            None,
        )
        .unwrap();

        assert_eq!(qemu.read(&mut [0; 1]).unwrap(), 0);
        assert!(notices.try_recv().is_err());
        window.close();
    }

    #[test]
    fn map_returns_what_qemu_says() {
        let (window, _notices, mut qemu, _dir) = connect();
        let mapper = Arc::clone(&window);
        while window.lock().stream.is_none() {
            std::thread::yield_now();
        }
        let asking =
            std::thread::spawn(move || (mapper.map(4096, 8192, 12288), mapper.unmap(8192, 12288)));

        let map = receive_one(&mut qemu);
        assert_eq!((map.kind, map.a, map.b, map.c), (2, 4096, 8192, 12288));
        send(&mut qemu, kind::MAP | REPLY, 4096, 8192);
        let unmap = receive_one(&mut qemu);
        assert_eq!((unmap.kind, unmap.b, unmap.c), (3, 8192, 12288));
        let mut refusal = unmap;
        refusal.kind |= REPLY;
        refusal.status = libc::ENOENT as u32;
        qemu.write_all(&refusal.encode()).unwrap();

        let (mapped, unmapped) = asking.join().unwrap();
        assert!(mapped.is_ok());
        assert!(matches!(unmapped, Err(WindowError::Refused(2))));
        window.close();
    }

    #[test]
    fn map_without_a_reply_times_out() {
        let (window, _notices, qemu, _dir) = connect();
        while window.lock().stream.is_none() {
            std::thread::yield_now();
        }
        assert!(matches!(window.map(0, 0, 4096), Err(WindowError::Timeout)));
        drop(qemu);
        window.close();
    }

    #[test]
    fn settle_goes_on_as_soon_as_a_connection_is_accepted() {
        for _ in 0..20 {
            let (window, _notices, _qemu, _dir) = connect();
            let start = Instant::now();
            assert!(window.settle());
            assert!(start.elapsed() < TIMEOUT, "{:?}", start.elapsed());
            window.close();
        }
    }

    #[test]
    fn settle_waits_for_notices_that_are_not_done() {
        let (window, notices, mut qemu, _dir) = connect();
        while window.lock().stream.is_none() {
            std::thread::yield_now();
        }
        send(&mut qemu, kind::RESET, 0, 0);
        let worker = Arc::clone(&window);
        let working = std::thread::spawn(move || {
            let notice = notices.recv_timeout(TIMEOUT).unwrap();
            std::thread::sleep(Duration::from_millis(50));
            worker.done();
            notice
        });

        let start = Instant::now();
        assert!(window.settle());

        assert!(start.elapsed() >= Duration::from_millis(40));
        assert!(matches!(working.join().unwrap(), Notice::Reset));
        window.close();
    }
}
