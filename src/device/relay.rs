//! Between the front end and the vhost-user crate: what is said of the queues is checked here first.
//!
//! The crate ends a connection, and with it the device of a VM that runs, at the first address or size of a queue that it
//! doesn't like. But those are the guest's: QEMU hands on whatever a driver has written. Here such a queue is refused: it
//! does not start, and says so in the log. The guest finds a queue that does nothing until it resets the device.
//! All other messages go through as they are, with their descriptors, and so do replies.
//!
//! A refused queue is no error to the front end: QEMU would give up a migration for it. What only a front end can get
//! wrong (a queue that isn't there) is one.

use std::io::{self, IoSlice, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::thread::JoinHandle;

use hesper_log::guest_warn;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, Backlog, ControlMessage, MsgFlags, SockFlag, SockType, UnixAddr, bind, connect,
    getsockname, listen, sendmsg, socket,
};
use vhost::vhost_user::message::{FrontendReq, VhostUserProtocolFeatures};

use crate::backend::QUEUE_SIZE_MAX;
use crate::pending::QUEUES;

/// Length of a message's header, bytes: request, flags, length of the body.
const HEADER_LEN: usize = 12;
/// Longest body, bytes.
const BODY_LEN_MAX: usize = 0x1000;
/// Descriptors of one message at most: as many as regions of memory, of which the crate takes this many.
const FDS_MAX: usize = 32;
/// In the flags: this is version 1, this is a reply, a reply is wanted.
const VERSION: u32 = 1;
const REPLY: u32 = 1 << 2;
const NEED_REPLY: u32 = 1 << 3;
/// Connections that others made to our own socket at the very moment.
const TRIES: usize = 16;
/// Bytes of a memory region in a message, and where they begin in each.
const REGION_LEN: usize = 32;
const TABLE_REGIONS_AT: usize = 8;
const SINGLE_REGION_AT: usize = 8;

/// A part of guest RAM that the front end has shared.
#[derive(Clone, Copy, Debug)]
struct Region {
    guest_addr: u64,
    len: u64,
    /// Where the front end has it mapped: queues are given by these addresses.
    user_addr: u64,
}

/// Where a queue is, in the front end's addresses.
#[derive(Clone, Copy, Debug)]
struct Place {
    descriptors: u64,
    used: u64,
    available: u64,
}

#[derive(Clone, Debug, Default)]
struct Queue {
    size: Option<u16>,
    place: Option<Place>,
    /// The log has it that the size or the place is refused.
    told: bool,
    /// The crate has its kick.
    started: bool,
}

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes through.
    Pass,
    /// It does not; that is no error.
    Drop,
    /// It does not, and is an error.
    Refuse,
}

/// What the front end has said of the queues, and whether it can be.
#[derive(Debug, Default)]
pub struct Checker {
    regions: Vec<Region>,
    queues: [Queue; QUEUES],
    reply_ack: bool,
}

impl Checker {
    /// Looks at a message: its request and its body. Bodies that are too short go through: the crate says what is wrong.
    pub fn look(&mut self, request: u32, body: &[u8]) -> Verdict {
        let code = |known: FrontendReq| known as u32;
        if request == code(FrontendReq::SET_PROTOCOL_FEATURES) {
            let reply_ack = VhostUserProtocolFeatures::REPLY_ACK.bits();
            self.reply_ack = u64_at(body, 0).is_some_and(|taken| taken & reply_ack != 0);
        } else if request == code(FrontendReq::SET_MEM_TABLE) {
            let regions = body.get(TABLE_REGIONS_AT..).unwrap_or(&[]);
            self.regions = regions
                .chunks_exact(REGION_LEN)
                .filter_map(region)
                .collect();
        } else if request == code(FrontendReq::ADD_MEM_REG) {
            self.regions
                .extend(body.get(SINGLE_REGION_AT..).and_then(region));
        } else if request == code(FrontendReq::REM_MEM_REG) {
            if let Some(gone) = body.get(SINGLE_REGION_AT..).and_then(region) {
                self.regions.retain(|r| r.guest_addr != gone.guest_addr);
            }
        } else if [
            FrontendReq::SET_VRING_NUM,
            FrontendReq::SET_VRING_ADDR,
            FrontendReq::SET_VRING_BASE,
            FrontendReq::SET_VRING_ENABLE,
        ]
        .map(code)
        .contains(&request)
        {
            let (Some(index), Some(value)) = (u32_at(body, 0), u32_at(body, 4)) else {
                return Verdict::Pass;
            };
            return self.look_at_queue(request, index, value, body);
        } else if [
            FrontendReq::SET_VRING_KICK,
            FrontendReq::SET_VRING_CALL,
            FrontendReq::SET_VRING_ERR,
        ]
        .map(code)
        .contains(&request)
        {
            let Some(index) = body.first() else {
                return Verdict::Pass;
            };
            if usize::from(*index) >= QUEUES {
                return refuse_queue((*index).into());
            }
            if request == code(FrontendReq::SET_VRING_KICK) {
                return self.kick(usize::from(*index));
            }
        } else if request == code(FrontendReq::GET_VRING_BASE)
            && let Some(queue) = u32_at(body, 0).and_then(|at| self.queues.get_mut(at as usize))
        {
            queue.started = false;
        }
        Verdict::Pass
    }

    fn look_at_queue(&mut self, request: u32, index: u32, value: u32, body: &[u8]) -> Verdict {
        let Some(queue) = self.queues.get_mut(index as usize) else {
            return refuse_queue(index);
        };
        if request == FrontendReq::SET_VRING_NUM as u32 {
            let size = u16::try_from(value)
                .ok()
                .filter(|size| size.is_power_of_two() && usize::from(*size) <= QUEUE_SIZE_MAX);
            if size.is_none() {
                guest_warn!(
                    queue = index,
                    "The queue is refused until the guest resets the device: a size of {value}, \
                     not a power of two up to {QUEUE_SIZE_MAX}"
                );
                (queue.size, queue.told) = (None, true);
                return Verdict::Drop;
            }
            queue.size = size;
        } else if request == FrontendReq::SET_VRING_BASE as u32 {
            if value > u16::MAX.into() {
                guest_warn!(queue = index, "No index of a queue: {value}");
                return Verdict::Refuse;
            }
        } else if request == FrontendReq::SET_VRING_ENABLE as u32 {
            if value > 1 {
                guest_warn!(queue = index, "Neither on nor off: {value}");
                return Verdict::Refuse;
            }
        } else {
            return self.place(index, body);
        }
        Verdict::Pass
    }

    /// SET_VRING_ADDR.
    fn place(&mut self, index: u32, body: &[u8]) -> Verdict {
        let (Some(descriptors), Some(used), Some(available)) =
            (u64_at(body, 8), u64_at(body, 16), u64_at(body, 24))
        else {
            return Verdict::Pass;
        };
        let place = Place {
            descriptors,
            used,
            available,
        };
        let queue = &self.queues[index as usize];
        // Its size may come later; then the kick is what is too early.
        let checked = self.check(&place, queue.size.unwrap_or(1));
        let queue = &mut self.queues[index as usize];
        match checked {
            Ok(()) => {
                queue.place = Some(place);
                Verdict::Pass
            }
            Err(why) if queue.started => {
                guest_warn!(queue = index, why, "The queue stays where it is");
                Verdict::Drop
            }
            Err(why) => {
                refused(index, &why);
                (queue.place, queue.told) = (None, true);
                Verdict::Drop
            }
        }
    }

    /// SET_VRING_KICK: the queue starts.
    fn kick(&mut self, index: usize) -> Verdict {
        let queue = &self.queues[index];
        if queue.started {
            return Verdict::Pass;
        }
        let checked = match (&queue.place, queue.size) {
            (Some(place), Some(size)) => self.check(place, size),
            _ => Err("it has no size or no place".into()),
        };
        let queue = &mut self.queues[index];
        let told = std::mem::take(&mut queue.told);
        match checked {
            Ok(()) => {
                queue.started = true;
                return Verdict::Pass;
            }
            Err(why) if !told => refused(index as u32, &why),
            Err(_) => {}
        }
        Verdict::Drop
    }

    /// Whether a queue can be at a place.
    fn check(&self, place: &Place, size: u16) -> Result<(), String> {
        let size = u64::from(size);
        // The event indices behind the rings are left out: not all drivers have them.
        for (what, addr, len, align) in [
            ("descriptor table", place.descriptors, 16 * size, 16),
            ("available ring", place.available, 4 + 2 * size, 2),
            ("used ring", place.used, 4 + 8 * size, 4),
        ] {
            // The crate takes the first region there is, too.
            let found = self.regions.iter().find_map(|region| {
                let offset = addr.checked_sub(region.user_addr)?;
                (offset < region.len).then_some((region, offset))
            });
            let Some((region, offset)) = found else {
                return Err(format!("its {what} is not in guest RAM"));
            };
            // Neither wraps: rings are short, and the offset is inside.
            if region.len - offset < len {
                return Err(format!("its {what} goes past the end of guest RAM"));
            }
            let guest_addr = region.guest_addr.checked_add(offset);
            if !addr.is_multiple_of(align) || !guest_addr.is_some_and(|at| at.is_multiple_of(align))
            {
                return Err(format!(
                    "its {what} at {:#x} is not aligned to {align}",
                    guest_addr.unwrap_or(addr)
                ));
            }
        }
        Ok(())
    }
}

fn refused(index: u32, why: &str) {
    guest_warn!(
        queue = index,
        "The queue is refused until the guest resets the device: {why}"
    );
}

fn refuse_queue(index: u32) -> Verdict {
    guest_warn!(queue = index, "There is no such queue");
    Verdict::Refuse
}

fn u32_at(body: &[u8], at: usize) -> Option<u32> {
    let bytes = body.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*bytes))
}

fn u64_at(body: &[u8], at: usize) -> Option<u64> {
    let bytes = body.get(at..)?.first_chunk::<8>()?;
    Some(u64::from_le_bytes(*bytes))
}

fn region(bytes: &[u8]) -> Option<Region> {
    Some(Region {
        guest_addr: u64_at(bytes, 0)?,
        len: u64_at(bytes, 8)?,
        user_addr: u64_at(bytes, 16)?,
    })
}

/// Starts to relay between a front end and whoever accepts the one connection that waits at the returned socket. Both
/// threads, which are returned, too, end, and both connections, when either side hangs up.
///
/// # Errors
/// When the kernel gives no socket or no thread.
pub fn start(front_end: UnixStream) -> io::Result<(UnixListener, [JoinHandle<()>; 2])> {
    let (listener, device) = own_socket()?;
    let (front_end, device) = (Arc::new(front_end), Arc::new(device));
    let (from, to) = (Arc::clone(&device), Arc::clone(&front_end));
    let replies = std::thread::Builder::new()
        .name("replies".into())
        .spawn(move || {
            if let Err(error) = relay_replies(&from, &to) {
                tracing::debug!(%error, "Replies to the front end");
            }
            hang_up(&from, &to);
        })?;
    let requests = std::thread::Builder::new()
        .name("requests".into())
        .spawn(move || {
            if let Err(error) = relay_requests(&front_end, &device) {
                tracing::warn!(%error, "Requests of the front end");
            }
            // What was passed on is still worked off, and answered if somebody listens.
            let _ = device.shutdown(Shutdown::Write);
        })?;
    Ok((listener, [replies, requests]))
}

/// Neither is connected any more; that they were not is no error.
fn hang_up(one: &UnixStream, other: &UnixStream) {
    let _ = one.shutdown(Shutdown::Both);
    let _ = other.shutdown(Shutdown::Both);
}

/// A socket that nobody else has a connection to, and a connection to it.
fn own_socket() -> io::Result<(UnixListener, UnixStream)> {
    for _ in 0..TRIES {
        let new = || {
            let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
            socket(AddressFamily::Unix, SockType::Stream, flags, None)
        };
        let (listener, stream) = (new()?, new()?);
        // The kernel chooses a name that no file has.
        bind(listener.as_raw_fd(), &UnixAddr::new_unnamed())?;
        let name: UnixAddr = getsockname(listener.as_raw_fd())?;
        // One connection may wait: if ours does, there is no other.
        listen(&listener, Backlog::new(0)?)?;
        match connect(stream.as_raw_fd(), &name) {
            Ok(()) => {
                let (listener, stream) = (UnixListener::from(listener), UnixStream::from(stream));
                listener.set_nonblocking(false)?;
                stream.set_nonblocking(false)?;
                return Ok((listener, stream));
            }
            Err(Errno::EAGAIN) => {
                tracing::warn!("Somebody else connects to the device's own socket")
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::other(
        "Others connect to the device's own socket",
    ))
}

fn relay_replies(mut from: &UnixStream, mut to: &UnixStream) -> io::Result<()> {
    let mut bytes = [0; 2 * BODY_LEN_MAX];
    loop {
        match from.read(&mut bytes) {
            Ok(0) => return Ok(()),
            Ok(len) => to.write_all(&bytes[..len])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn relay_requests(mut from: &UnixStream, to: &UnixStream) -> io::Result<()> {
    let mut checker = Checker::default();
    let (mut message, mut fds) = (Vec::new(), Vec::new());
    loop {
        message.resize(HEADER_LEN, 0);
        fds.clear();
        if !receive(from, &mut message, &mut fds)? {
            return Ok(());
        }
        let word = |at| u32_at(&message, at).unwrap_or_default();
        let (request, flags, len) = (word(0), word(4), word(8) as usize);
        if len > BODY_LEN_MAX {
            return Err(io::Error::other(format!("A message of {len} bytes")));
        }
        message.resize(HEADER_LEN + len, 0);
        let body = &mut message[HEADER_LEN..];
        if !body.is_empty() && !receive(from, body, &mut fds)? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let verdict = checker.look(request, body);
        if verdict == Verdict::Pass {
            send(to, &message, &fds)?;
        } else if checker.reply_ack && flags & NEED_REPLY != 0 {
            // Nobody waits for another reply now: a front end sends nothing while it does.
            let status = u64::from(verdict == Verdict::Refuse);
            let mut reply = Vec::new();
            for word in [request, VERSION | REPLY, size_of_val(&status) as u32] {
                reply.extend(word.to_le_bytes());
            }
            reply.extend(status.to_le_bytes());
            from.write_all(&reply)?;
        }
    }
}

/// Fills a buffer with a part of a message, and adds the descriptors that come with it: a sender may cut a message, and
/// send descriptors, wherever it likes. False when the stream ends before the first byte.
fn receive(from: &UnixStream, buffer: &mut [u8], fds: &mut Vec<OwnedFd>) -> io::Result<bool> {
    let mut filled = 0;
    while filled < buffer.len() {
        let received = hesper_memory::receive(from, &mut buffer[filled..], MsgFlags::empty())?;
        if received.len == 0 {
            return match filled {
                0 => Ok(false),
                _ => Err(io::ErrorKind::UnexpectedEof.into()),
            };
        }
        filled += received.len;
        fds.extend(received.fds);
        if received.truncated || fds.len() > FDS_MAX {
            return Err(io::Error::other("A message with too many descriptors"));
        }
    }
    Ok(true)
}

fn send(mut to: &UnixStream, message: &[u8], fds: &[OwnedFd]) -> io::Result<()> {
    let raw: Vec<RawFd> = fds.iter().map(AsRawFd::as_raw_fd).collect();
    let rights = [ControlMessage::ScmRights(&raw)];
    let rights = if raw.is_empty() { &[][..] } else { &rights };
    let sent = loop {
        let buffers = [IoSlice::new(message)];
        match sendmsg::<()>(
            to.as_raw_fd(),
            &buffers,
            rights,
            MsgFlags::MSG_NOSIGNAL,
            None,
        ) {
            Err(Errno::EINTR) => {}
            other => break other?,
        }
    };
    to.write_all(&message[sent..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    const RAM: Region = Region {
        guest_addr: 0x4000_0000,
        len: 0x1_0000,
        user_addr: 0x7f00_0000_0000,
    };

    fn body(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn told(checker: &mut Checker, request: FrontendReq, words: &[u64]) -> Verdict {
        checker.look(request as u32, &body(words))
    }

    fn with_ram(ram: &Region) -> Checker {
        let mut checker = Checker::default();
        let words = [1, ram.guest_addr, ram.len, ram.user_addr, 0];
        let verdict = told(&mut checker, FrontendReq::SET_MEM_TABLE, &words);
        assert_eq!(verdict, Verdict::Pass);
        checker
    }

    /// Size, then place, then kick of queue 0; offsets are those of descriptors, used and available ring.
    fn set_up(checker: &mut Checker, size: u64, at: [u64; 3]) -> [Verdict; 3] {
        let [descriptors, used, available] = at.map(|offset| RAM.user_addr + offset);
        let place = [0, descriptors, used, available, 0];
        [
            told(checker, FrontendReq::SET_VRING_NUM, &[size << 32]),
            told(checker, FrontendReq::SET_VRING_ADDR, &place),
            told(checker, FrontendReq::SET_VRING_KICK, &[0]),
        ]
    }

    #[test]
    fn queue_in_ram_starts_and_stops() {
        let mut checker = with_ram(&RAM);
        let place = [0x1000, 0xff7c, 0xffdc];
        assert_eq!(set_up(&mut checker, 16, place), [Verdict::Pass; 3]);
        told(&mut checker, FrontendReq::GET_VRING_BASE, &[0]);
        assert_eq!(set_up(&mut checker, 16, place), [Verdict::Pass; 3]);
    }

    #[test]
    fn size_that_comes_after_the_place_counts_at_the_kick() {
        let mut checker = with_ram(&RAM);
        // A descriptor table of one entry at the very end of RAM.
        let place = [0, RAM.user_addr + 0xfff0, RAM.user_addr, RAM.user_addr, 0];
        let verdict = told(&mut checker, FrontendReq::SET_VRING_ADDR, &place);
        assert_eq!(verdict, Verdict::Pass);
        told(&mut checker, FrontendReq::SET_VRING_NUM, &[2 << 32]);
        let verdict = told(&mut checker, FrontendReq::SET_VRING_KICK, &[0]);
        assert_eq!(verdict, Verdict::Drop);
        told(&mut checker, FrontendReq::SET_VRING_NUM, &[1 << 32]);
        let verdict = told(&mut checker, FrontendReq::SET_VRING_KICK, &[0]);
        assert_eq!(verdict, Verdict::Pass);
    }

    #[test]
    fn alignment_counts_for_the_guest_and_for_the_front_end() {
        let odd = Region {
            guest_addr: RAM.guest_addr + 8,
            ..RAM
        };
        let mut checker = with_ram(&odd);
        let place = [0x1000, 0x2000, 0x3000];
        let [_, addr, kick] = set_up(&mut checker, 16, place);
        assert_eq!([addr, kick], [Verdict::Drop; 2]);
        let place = [0x1008, 0x2000, 0x3000];
        let [_, addr, kick] = set_up(&mut checker, 16, place);
        assert_eq!([addr, kick], [Verdict::Drop; 2]);
    }

    #[test]
    fn memory_that_is_gone_holds_no_queue() {
        let mut checker = with_ram(&RAM);
        let more = [0, 0, 0x1000, 0x1000, 0];
        told(&mut checker, FrontendReq::ADD_MEM_REG, &more);
        let place = [0x1000, 0x2000, 0x3000];
        let gone = [0, RAM.guest_addr, RAM.len, RAM.user_addr, 0];
        told(&mut checker, FrontendReq::REM_MEM_REG, &gone);
        let [num, addr, kick] = set_up(&mut checker, 16, place);
        assert_eq!(
            [num, addr, kick],
            [Verdict::Pass, Verdict::Drop, Verdict::Drop]
        );
        let back = [0, RAM.guest_addr, RAM.len, RAM.user_addr, 0];
        told(&mut checker, FrontendReq::ADD_MEM_REG, &back);
        assert_eq!(set_up(&mut checker, 16, place), [Verdict::Pass; 3]);
    }

    #[test]
    fn queue_without_a_place_does_not_start() {
        let mut checker = with_ram(&RAM);
        let verdict = told(&mut checker, FrontendReq::SET_VRING_KICK, &[0]);
        assert_eq!(verdict, Verdict::Drop);
        // The other queue does.
        let at = RAM.user_addr;
        told(&mut checker, FrontendReq::SET_VRING_NUM, &[16 << 32 | 1]);
        told(
            &mut checker,
            FrontendReq::SET_VRING_ADDR,
            &[1, at, at, at, 0],
        );
        let verdict = told(&mut checker, FrontendReq::SET_VRING_KICK, &[1]);
        assert_eq!(verdict, Verdict::Pass);
    }

    #[test]
    fn messages_and_replies_go_through_with_their_files_until_somebody_hangs_up() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (listener, _) = start(theirs).unwrap();
        let (device, _) = listener.accept().unwrap();

        let (file, _) = own_socket().unwrap();
        let text = tempfile::tempfile().unwrap();
        text.write_all_at(b"text", 0).unwrap();
        let message = [5u32, VERSION, 8, 0, 0].map(u32::to_le_bytes).concat();
        send(&ours, &message, &[file.into(), text.into()]).unwrap();

        let mut header = [0; HEADER_LEN];
        let mut fds = Vec::new();
        assert!(receive(&device, &mut header, &mut fds).unwrap());
        assert_eq!((fds.len(), &header[..]), (2, &message[..HEADER_LEN]));
        let mut bytes = [0; 8];
        (&device).read_exact(&mut bytes).unwrap();
        assert_eq!(bytes, message[HEADER_LEN..]);
        let text = File::from(fds.remove(1));
        text.read_exact_at(&mut bytes[..4], 0).unwrap();
        assert_eq!(bytes[..4], *b"text");

        (&device).write_all(b"reply").unwrap();
        let mut reply = [0; 5];
        (&ours).read_exact(&mut reply).unwrap();
        assert_eq!(&reply, b"reply");

        drop(ours);
        assert_eq!((&device).read(&mut bytes).unwrap(), 0);
    }

    #[test]
    fn front_end_is_disconnected_when_the_device_is() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (listener, _) = start(theirs).unwrap();
        drop(listener.accept().unwrap());
        assert_eq!((&ours).read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn message_longer_than_there_are_ends_the_connection() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (listener, _) = start(theirs).unwrap();
        let (device, _) = listener.accept().unwrap();
        let header = [1u32, 1, 1 << 20].map(u32::to_le_bytes).concat();
        (&ours).write_all(&header).unwrap();
        assert_eq!((&device).read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn nobody_else_gets_a_connection_to_the_own_socket() {
        let (listener, stream) = own_socket().unwrap();
        let name: UnixAddr = getsockname(listener.as_raw_fd()).unwrap();
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let other = socket(AddressFamily::Unix, SockType::Stream, flags, None).unwrap();
        let refused = connect(other.as_raw_fd(), &name);
        assert_eq!(refused, Err(Errno::EAGAIN));
        (&stream).write_all(b"x").unwrap();
        let (accepted, _) = listener.accept().unwrap();
        let mut byte = [0];
        (&accepted).read_exact(&mut byte).unwrap();
        assert_eq!(&byte, b"x");
    }
}
