//! Messages of unix sockets that bring descriptors with them.

use std::io::IoSliceMut;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recvmsg};

/// Descriptors of one message at most: `SCM_MAX_FD` of Linux.
const FDS_MAX: usize = 253;
/// `struct cmsghdr`: a length with the header, then level and kind.
const LEVEL_AT: usize = size_of::<usize>();
const HEADER_LEN: usize = size_of::<libc::cmsghdr>();
/// Room for them all, with the header.
const SPACE_LEN: usize = HEADER_LEN + (FDS_MAX * size_of::<RawFd>()).next_multiple_of(LEVEL_AT);

/// What a header is aligned to.
#[repr(align(16))]
struct Space([u8; SPACE_LEN]);

/// What came.
#[derive(Debug)]
pub struct Received {
    /// Length, bytes; 0 is the end of a stream.
    pub len: usize,
    /// The descriptors that came with it, closed on exec.
    pub fds: Vec<OwnedFd>,
    /// There was more than fits: of the bytes (of a packet), or of the descriptors (this process may have no more open).
    pub truncated: bool,
}

/// Receives bytes and the descriptors that come with them. Whatever comes has an owner, also of a message that is cut
/// off: a sender can't fill this process' table of descriptors.
///
/// # Errors
/// The kernel's; then nothing came. A signal is none.
pub fn receive(fd: impl AsFd, buffer: &mut [u8], flags: MsgFlags) -> Result<Received, Errno> {
    let mut space = Space([0; SPACE_LEN]);
    let (len, flags) = loop {
        let mut buffers = [IoSliceMut::new(buffer)];
        match recvmsg::<()>(
            fd.as_fd().as_raw_fd(),
            &mut buffers,
            Some(&mut space.0),
            flags | MsgFlags::MSG_CMSG_CLOEXEC,
        ) {
            Ok(message) => break (message.bytes, message.flags),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
    };
    let fds = rights(&space.0)
        .map(|fd| {
            // SAFETY: the kernel has just made this descriptor for us; nothing else knows of it. `space` was zeros before,
            // so nothing in it is of another message.
            unsafe { OwnedFd::from_raw_fd(fd) }
        })
        .collect();
    Ok(Received {
        len,
        fds,
        truncated: flags.intersects(MsgFlags::MSG_TRUNC | MsgFlags::MSG_CTRUNC),
    })
}

/// The descriptors in a control buffer. By hand: nix gives none of those of a truncated message.
fn rights(space: &[u8; SPACE_LEN]) -> impl Iterator<Item = RawFd> {
    let (len, rest) = space.split_at(LEVEL_AT);
    let len = len.first_chunk().map_or(0, |b| usize::from_ne_bytes(*b));
    let ours = [libc::SOL_SOCKET, libc::SCM_RIGHTS].map(i32::to_ne_bytes);
    let end = if rest.starts_with(ours.as_flattened()) {
        len.min(SPACE_LEN)
    } else {
        0
    };
    space
        .get(HEADER_LEN..end)
        .unwrap_or_default()
        .chunks_exact(size_of::<RawFd>())
        .filter_map(|bytes| bytes.first_chunk())
        .map(|bytes| RawFd::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::fs::File;
    use std::io::{IoSlice, Read};
    use std::os::unix::net::UnixStream;

    use nix::fcntl::OFlag;
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    use nix::sys::socket::{ControlMessage, sendmsg};

    fn send(to: &UnixStream, bytes: &[u8], fds: &[RawFd]) {
        let rights = [ControlMessage::ScmRights(fds)];
        let buffers = [IoSlice::new(bytes)];
        let sent = sendmsg::<()>(to.as_raw_fd(), &buffers, &rights, MsgFlags::empty(), None);
        assert_eq!(sent, Ok(bytes.len()));
    }

    fn pipe() -> (File, OwnedFd) {
        let (reader, writer) = nix::unistd::pipe2(OFlag::O_NONBLOCK).unwrap();
        (reader.into(), writer)
    }

    /// Fails unless every writing end of the pipe is closed.
    fn closed(mut pipe: File) {
        assert_eq!(pipe.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn as_many_descriptors_as_there_can_be_arrive_in_order() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (reader, writer) = pipe();
        let mut sent = vec![writer.as_raw_fd(); FDS_MAX];
        sent[FDS_MAX - 1] = ours.as_raw_fd();
        send(&ours, b"abc", &sent);
        drop(writer);

        let mut buffer = [0; 8];
        let mut received = receive(&theirs, &mut buffer, MsgFlags::empty()).unwrap();

        assert_eq!((received.len, &buffer[..3]), (3, &b"abc"[..]));
        assert_eq!((received.fds.len(), received.truncated), (FDS_MAX, false));
        let last = UnixStream::from(received.fds.pop().unwrap());
        send(&last, b"d", &[last.as_raw_fd()]);
        let received_last = receive(&theirs, &mut buffer, MsgFlags::empty()).unwrap();
        assert_eq!((received_last.len, received_last.fds.len()), (1, 1));
        drop(received);
        closed(reader);
    }

    #[test]
    fn no_descriptors_and_the_end_of_the_stream() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        send(&ours, b"a", &[]);
        let received = receive(&theirs, &mut [0; 8], MsgFlags::empty()).unwrap();
        assert_eq!((received.len, received.fds.len()), (1, 0));
        drop(ours);
        let received = receive(&theirs, &mut [0; 8], MsgFlags::empty()).unwrap();
        assert_eq!((received.len, received.truncated), (0, false));
    }

    /// In a process of its own: the limit is the process'.
    #[test]
    fn descriptors_that_find_no_room_leave_none_behind() {
        const CHILD: &str = "HESPER_TEST_FEW_DESCRIPTORS";
        if std::env::var_os(CHILD).is_none() {
            let name = "descriptors::tests::descriptors_that_find_no_room_leave_none_behind";
            let status = std::process::Command::new(std::env::current_exe().unwrap())
                .args([name, "--exact"])
                .env(CHILD, "1")
                .status()
                .unwrap();
            assert!(status.success());
            return;
        }
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (reader, writer) = pipe();
        send(&ours, b"a", &[writer.as_raw_fd(); 100]);
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        setrlimit(Resource::RLIMIT_NOFILE, 40, hard).unwrap();
        drop(writer);

        let received = receive(&theirs, &mut [0; 1], MsgFlags::empty()).unwrap();

        assert!(received.truncated);
        assert!((1..100).contains(&received.fds.len()));
        drop(received);
        closed(reader);
    }
}
