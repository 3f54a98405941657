//! The server's side of the control socket.

use std::collections::HashMap;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, getsockopt, listen, socket, sockopt,
};
use nix::sys::stat::{Mode, fchmod};
use nix::unistd::geteuid;
use serde_json::{Value, json};

use crate::lines::LineReader;
use crate::{ControlError, MAX_ANSWER_LEN, MAX_REQUEST_LEN, Message, Request};

/// Most connections at a time.
pub const MAX_CLIENTS: usize = 16;

/// Most lines that wait for a client; a watcher with more loses its connection.
pub const EVENT_QUEUE_LEN: usize = 256;

/// How long a client may leave a line unread before its connection is closed.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// Answers a request; the error is shown to the client. Called from many threads at once.
pub type Handler = Arc<dyn Fn(&Request) -> Result<Value, String> + Send + Sync>;

/// A control socket. Dropping it closes all connections and removes the socket; a handler that is
/// running then runs to its end, unheard.
pub struct ControlServer {
    path: PathBuf,
    /// Device and inode of the socket, so that nobody else's is removed.
    inode: Option<(u64, u64)>,
    shared: Arc<Shared>,
    /// Closed to stop the accepting thread.
    stop: Option<UnixStream>,
    acceptor: Option<JoinHandle<()>>,
}

struct Shared {
    handler: Handler,
    clients: Mutex<Clients>,
}

#[derive(Default)]
struct Clients {
    next: u64,
    by_id: HashMap<u64, Client>,
}

/// What others need of a connection.
#[derive(Clone)]
struct Client {
    stream: Arc<UnixStream>,
    lines: SyncSender<Arc<[u8]>>,
    watches: Arc<AtomicBool>,
}

impl std::fmt::Debug for ControlServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ControlServer")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl ControlServer {
    /// Serves at `path`: mode 0600, and only root and our own user are answered. A socket left by a
    /// process that is gone is replaced. The command `watch` is answered here, all others by
    /// `handler`.
    ///
    /// # Errors
    /// [`ControlError::InUse`], [`ControlError::Bind`].
    pub fn bind(path: &Path, handler: Handler) -> Result<Self, ControlError> {
        remove_stale(path)?;
        let refused = |source: io::Error| ControlError::Bind {
            path: path.to_owned(),
            source,
        };
        let listener = open(path).map_err(refused)?;
        let inode = fs::symlink_metadata(path).ok().map(|m| (m.dev(), m.ino()));
        let shared = Arc::new(Shared {
            handler,
            clients: Mutex::default(),
        });
        // From here on, dropping the server removes the socket.
        let mut server = Self {
            path: path.to_owned(),
            inode,
            shared: Arc::clone(&shared),
            stop: None,
            acceptor: None,
        };
        let (stop, stopped) = UnixStream::pair().map_err(refused)?;
        let acceptor = std::thread::Builder::new()
            .name("control".into())
            .spawn(move || accept_all(&listener, &stopped, &shared))
            .map_err(refused)?;
        server.stop = Some(stop);
        server.acceptor = Some(acceptor);
        Ok(server)
    }

    /// Where the socket is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sends `event` to every client that watches. Never blocks: a watcher whose queue is full loses
    /// its connection.
    pub fn broadcast(&self, event: Value) {
        let clients = self.shared.clients();
        let mut watchers = clients
            .by_id
            .values()
            .filter(|c| c.watches.load(Ordering::Acquire))
            .peekable();
        if watchers.peek().is_none() {
            return;
        }
        let line = encode(&Message::Event { event });
        for client in watchers {
            if let Err(TrySendError::Full(_)) = client.lines.try_send(Arc::clone(&line)) {
                tracing::warn!("A watcher is too slow for its events: closing its connection");
                client.close();
            }
        }
    }

    /// Connections that are open now.
    pub fn client_count(&self) -> usize {
        self.shared.clients().by_id.len()
    }
}

impl Drop for ControlServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(acceptor) = self.acceptor.take() {
            // It ends at once, and what it panicked about has been printed.
            let _ = acceptor.join();
        }
        for client in self.shared.clients().by_id.values() {
            client.close();
        }
        let is_ours =
            fs::symlink_metadata(&self.path).is_ok_and(|m| self.inode == Some((m.dev(), m.ino())));
        if is_ours && let Err(e) = fs::remove_file(&self.path) {
            tracing::warn!("Control socket {} stays behind: {e}", self.path.display());
        }
    }
}

impl Shared {
    /// The lock guards plain maps that are whole between any two statements: poison means nothing.
    fn clients(&self) -> MutexGuard<'_, Clients> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(self: &Arc<Self>, stream: UnixStream) -> io::Result<()> {
        let own = geteuid().as_raw();
        let peer = getsockopt(&stream, sockopt::PeerCredentials)?.uid();
        if peer != own && peer != 0 {
            tracing::warn!("Control connection of user {peer} refused");
            return refuse(&stream, "Only the owner may use this socket");
        }
        stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
        let (sender, receiver) = sync_channel(EVENT_QUEUE_LEN);
        let client = Client {
            stream: Arc::new(stream),
            lines: sender,
            watches: Arc::default(),
        };
        let id = {
            let mut clients = self.clients();
            if clients.by_id.len() >= MAX_CLIENTS {
                drop(clients);
                tracing::warn!("Control connection refused: {MAX_CLIENTS} are open");
                return refuse(&client.stream, "Too many clients");
            }
            clients.next += 1;
            let id = clients.next;
            clients.by_id.insert(id, client.clone());
            id
        };
        let started = self.start(id, client, receiver);
        if started.is_err() {
            self.clients().by_id.remove(&id);
        }
        started
    }

    /// One thread reads and answers, one writes, so that events never wait for an answer.
    fn start(
        self: &Arc<Self>,
        id: u64,
        client: Client,
        lines: Receiver<Arc<[u8]>>,
    ) -> io::Result<()> {
        let stream = Arc::clone(&client.stream);
        let reader = LineReader::new(stream.try_clone()?, MAX_REQUEST_LEN);
        std::thread::Builder::new()
            .name("control-write".into())
            .spawn(move || {
                for line in lines {
                    if (&*stream).write_all(&line).is_err() {
                        break;
                    }
                }
                // All has been written, or nothing can be: the reader ends, too.
                let _ = stream.shutdown(Shutdown::Both);
            })?;
        let shared = Arc::clone(self);
        std::thread::Builder::new()
            .name("control-read".into())
            .spawn(move || {
                // Removed even when the handler panics. The writer ends with the last sender,
                // once it has written what is queued.
                let _entry = Entry {
                    shared: &shared,
                    id,
                };
                answer_all(reader, &client, &shared.handler);
            })?;
        Ok(())
    }
}

/// A connection's place in the table.
struct Entry<'a> {
    shared: &'a Shared,
    id: u64,
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.shared.clients().by_id.remove(&self.id);
    }
}

impl Client {
    fn close(&self) {
        // Fails when the other side is gone already.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

fn answer_all(mut lines: LineReader, client: &Client, handler: &Handler) {
    loop {
        let (answer, last) = match lines.next_line(None) {
            Ok(Some(line)) => (answer(&line, client, handler), false),
            Ok(None) => return,
            Err(e @ ControlError::TooLong { .. }) => (error(0, e.to_string()), true),
            Err(_) => return,
        };
        // Fails when the writer is gone: the client has left, or left its answers unread.
        if client.lines.send(encode(&answer)).is_err() || last {
            return;
        }
    }
}

fn answer(line: &[u8], client: &Client, handler: &Handler) -> Message {
    let request: Request = match serde_json::from_slice(line) {
        Ok(request) => request,
        Err(e) => return error(0, format!("Not a request: {e}")),
    };
    if request.command == "watch" {
        client.watches.store(true, Ordering::Release);
        return Message::Ok {
            id: request.id,
            ok: json!({}),
        };
    }
    match handler(&request) {
        Ok(ok) => Message::Ok { id: request.id, ok },
        Err(text) => error(request.id, text),
    }
}

fn error(id: u64, error: String) -> Message {
    Message::Error { id, error }
}

fn encode(message: &Message) -> Arc<[u8]> {
    let line = |message: &Message| {
        // Strings, numbers and maps with string keys always have a JSON form.
        let mut line = serde_json::to_vec(message).unwrap_or_default();
        line.push(b'\n');
        line
    };
    let bytes = line(message);
    if bytes.len() - 1 <= MAX_ANSWER_LEN {
        return bytes.into();
    }
    let text = format!("Answer of {} bytes is longer than allowed", bytes.len() - 1);
    line(&match message {
        Message::Ok { id, .. } | Message::Error { id, .. } => error(*id, text),
        Message::Event { .. } => Message::Event {
            event: json!({ "error": text }),
        },
    })
    .into()
}

fn refuse(mut stream: &UnixStream, why: &str) -> io::Result<()> {
    // Fits the empty buffer of a new connection, so this doesn't block.
    stream.write_all(&encode(&error(0, why.into())))
}

fn accept_all(listener: &UnixListener, stopped: &UnixStream, shared: &Arc<Shared>) {
    loop {
        let mut fds = [
            PollFd::new(listener.as_fd(), PollFlags::POLLIN),
            PollFd::new(stopped.as_fd(), PollFlags::POLLIN),
        ];
        let waited = poll(&mut fds, PollTimeout::NONE);
        if fds[1].revents().is_some_and(|r| !r.is_empty()) {
            return;
        }
        let served = match waited {
            Ok(_) => listener
                .accept()
                .and_then(|(stream, _)| shared.serve(stream)),
            Err(e) => Err(e.into()),
        };
        match served {
            Ok(()) => {}
            // The client left before it was accepted, or a signal came.
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(e) => {
                // Out of descriptors or threads, most likely: that passes, and must not spin.
                tracing::warn!("Control connection lost: {e}");
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }
}

/// Removes a socket that nobody listens on any more.
fn remove_stale(path: &Path) -> Result<(), ControlError> {
    let refused = |source: io::Error| ControlError::Bind {
        path: path.to_owned(),
        source,
    };
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.file_type().is_socket() => {}
        // Binding says what is wrong with anything else.
        _ => return Ok(()),
    }
    match UnixStream::connect(path) {
        Ok(_) => Err(ControlError::InUse(path.to_owned())),
        Err(e) if e.kind() == ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(refused)
        }
        Err(e) => Err(refused(e)),
    }
}

fn open(path: &Path) -> io::Result<UnixListener> {
    let address = UnixAddr::new(path)?;
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let fd: OwnedFd = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    // Before binding: the socket file takes its mode from here, so it is never wider open.
    fchmod(&fd, Mode::S_IRUSR | Mode::S_IWUSR)?;
    bind(fd.as_raw_fd(), &address)?;
    listen(&fd, Backlog::new(MAX_CLIENTS as i32)?)?;
    Ok(UnixListener::from(fd))
}
