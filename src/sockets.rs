//! The sockets that hesperd listens on: made by path or inherited, removed at the end.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, UnixAddr, getsockopt, recvmsg, sendmsg, sockopt,
};

/// Descriptors in one message: what vhost-user sends at most, and the kernel's limit is higher.
const FDS_MAX: usize = 32;

/// Socket files that are ours. Removed with [`SocketFiles::remove`], or when dropped.
#[derive(Debug, Default)]
pub struct SocketFiles(Mutex<Vec<(PathBuf, u64, u64)>>);

impl SocketFiles {
    /// Remembers a socket file that was just made.
    pub fn add(&self, path: &Path) {
        if let Ok(metadata) = std::fs::symlink_metadata(path) {
            self.lock()
                .push((path.to_owned(), metadata.dev(), metadata.ino()));
        }
    }

    /// Removes them, but none that somebody else has put in the place of ours.
    pub fn remove(&self) {
        for (path, dev, ino) in self.lock().drain(..) {
            let ours = std::fs::symlink_metadata(&path)
                .is_ok_and(|metadata| (metadata.dev(), metadata.ino()) == (dev, ino));
            if ours && let Err(error) = std::fs::remove_file(&path) {
                tracing::warn!(path = %path.display(), %error, "A socket stays behind");
            }
        }
    }

    /// Listens at a path; a stale socket there is replaced, one that is served is not.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn listen(&self, path: &Path) -> io::Result<UnixListener> {
        let stale = std::fs::symlink_metadata(path)
            .is_ok_and(|metadata| metadata.file_type().is_socket())
            && UnixStream::connect(path)
                .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        if stale {
            std::fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        self.add(path);
        Ok(listener)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(PathBuf, u64, u64)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for SocketFiles {
    fn drop(&mut self) {
        self.remove();
    }
}

/// A listener out of an inherited descriptor. Behind one that is connected already, messages and
/// their descriptors are passed on: the vhost-user crate only takes connections that it accepts.
///
/// # Errors
/// When it isn't a unix stream socket.
pub fn inherited(fd: RawFd) -> io::Result<UnixListener> {
    let bad = |reason: &str| io::Error::new(io::ErrorKind::InvalidInput, reason.to_owned());
    // Whoever names 0 to 2 has made a mistake, and they are ours.
    if fd < 3 {
        return Err(bad("Standard input, output and error are no sockets"));
    }
    nix::fcntl::fcntl(
        // SAFETY: only asked about; the kernel says so when it isn't open.
        unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) },
        nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC),
    )?;
    // SAFETY: it is open, and whoever started us has left it to us; nothing else here uses it.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    if getsockopt(&fd, sockopt::SockType)? != nix::sys::socket::SockType::Stream {
        return Err(bad("It is no stream socket"));
    }
    if getsockopt(&fd, sockopt::AcceptConn)? {
        let listener = UnixListener::from(fd);
        // Fails for sockets of another family.
        listener.local_addr()?;
        listener.set_nonblocking(false)?;
        return Ok(listener);
    }
    let outer = UnixStream::from(fd);
    outer.peer_addr()?;
    outer.set_nonblocking(false)?;
    // Our own connection is the first one in the queue: nobody knows the name before.
    let name = format!("hesperd-{}-{}", std::process::id(), random()?);
    let address = SocketAddr::from_abstract_name(name)?;
    let listener = UnixListener::bind_addr(&address)?;
    let inner = UnixStream::connect_addr(&address)?;
    for (from, to) in [(outer.try_clone()?, inner.try_clone()?), (inner, outer)] {
        std::thread::Builder::new()
            .name("relay".into())
            .spawn(move || relay(&from, &to))?;
    }
    Ok(listener)
}

fn random() -> io::Result<u64> {
    use std::io::Read;
    let mut bytes = [0; 8];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

/// Passes on what comes, until one end closes.
fn relay(from: &UnixStream, to: &UnixStream) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(true) = pass(from, to, &mut bytes) {}
    // Either end may be closed already.
    let _ = from.shutdown(std::net::Shutdown::Read);
    let _ = to.shutdown(std::net::Shutdown::Write);
}

/// Passes on one message; false at the end.
fn pass(from: &UnixStream, to: &UnixStream, bytes: &mut [u8]) -> nix::Result<bool> {
    let mut space = nix::cmsg_space!([RawFd; FDS_MAX]);
    let (len, fds) = loop {
        let mut slices = [IoSliceMut::new(bytes)];
        let got = recvmsg::<UnixAddr>(
            from.as_raw_fd(),
            &mut slices,
            Some(&mut space),
            MsgFlags::MSG_CMSG_CLOEXEC,
        );
        match got {
            Err(nix::Error::EINTR) => {}
            Err(error) => return Err(error),
            Ok(message) => {
                let mut fds = Vec::new();
                for control in message.cmsgs()? {
                    if let ControlMessageOwned::ScmRights(more) = control {
                        // SAFETY: the kernel has just opened them for us.
                        fds.extend(
                            more.into_iter()
                                .map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }),
                        );
                    }
                }
                break (message.bytes, fds);
            }
        }
    };
    if len == 0 {
        return Ok(false);
    }
    let raw: Vec<RawFd> = fds.iter().map(AsRawFd::as_raw_fd).collect();
    let mut sent = 0;
    while sent < len {
        // The descriptors go with the first byte, as they came.
        let control = [ControlMessage::ScmRights(&raw)];
        let control = if sent == 0 && !raw.is_empty() {
            &control[..]
        } else {
            &[]
        };
        match sendmsg::<UnixAddr>(
            to.as_raw_fd(),
            &[IoSlice::new(&bytes[sent..len])],
            control,
            MsgFlags::MSG_NOSIGNAL,
            None,
        ) {
            Ok(more) => sent += more,
            Err(nix::Error::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}
