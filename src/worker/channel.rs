//! The channel between the front and one worker: a `SOCK_SEQPACKET` pair, one message a packet.
//!
//! Both ends are ours, yet the worker runs a driver over hostile input and may be taken over: the
//! front checks every field it acts on, and neither side trusts a length.

use std::io::IoSlice;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use hesper_image::{Extent, SealedExtent};
use hesper_memory::Received;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{
    AddressFamily, ControlMessage, MsgFlags, SockFlag, SockType, UnixAddr, sendmsg, setsockopt,
    socketpair, sockopt,
};
use nix::sys::time::TimeSpec;
use serde::{Deserialize, Serialize};

/// Longest packet, bytes. A submission that does not fit goes through a command stream instead.
pub const PACKET_LEN_MAX: usize = 1 << 20;

/// Descriptors that one packet may carry.
const FDS_MAX: usize = 4;

/// What a request for memory is served from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Area {
    /// The part that may become guest-visible.
    Window,
    /// The vGPU image.
    Image,
    /// No range: bytes of the VM's quota of device-local memory.
    Device,
    /// No range: bytes of the quota of host-visible memory where there is no arena (vtest).
    Host,
}

/// Which device a worker runs on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostDevice {
    /// Device name.
    pub name: String,
    /// `VkPhysicalDeviceIDProperties::deviceUUID`.
    pub device_uuid: [u8; 16],
    /// `VkPhysicalDeviceIDProperties::driverUUID`.
    pub driver_uuid: [u8; 16],
    /// `VkPhysicalDeviceProperties::vendorID`.
    pub vendor_id: u32,
    /// `VkPhysicalDeviceProperties::deviceID`.
    pub device_id: u32,
    /// Name and version of the driver.
    pub driver_version: String,
}

/// How much of the audit works. All but [`Audit::On`] are for measurements and tests, and forbid migration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Audit {
    /// All of it.
    #[default]
    On,
    /// Commands are followed, submissions neither resolved nor marked.
    Unmarked,
    /// Nothing is followed or marked.
    Off,
    /// Blind to the command of this name, so that its writes are missed.
    Blind(String),
}

impl std::str::FromStr for Audit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "on" => Ok(Self::On),
            "unmarked" => Ok(Self::Unmarked),
            "off" => Ok(Self::Off),
            _ => match text.strip_prefix("blind:") {
                Some(name) => Ok(Self::Blind(name.into())),
                None => Err(format!(
                    "{text:?} is none of on, unmarked, off, blind:COMMAND"
                )),
            },
        }
    }
}

/// How a worker starts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkerConfig {
    /// Context id, for logs.
    pub ctx_id: u32,
    /// Part of the host device's name, to pick one.
    pub device: Option<String>,
    /// Arena length and window length, bytes, where there is an arena; its descriptor and then
    /// the dirty bitmap's (if `bitmap`) come with the packet.
    pub arena: Option<(u64, u64)>,
    /// Whether a dirty bitmap comes along.
    pub bitmap: bool,
    /// Device-local memory that all contexts of the guest together may have, bytes.
    pub device_memory_max: u64,
    /// The same for host-visible memory.
    pub host_memory_max: u64,
    /// No progress for this long means hang.
    pub hang_timeout: Duration,
    /// Whether the oracle checks every submission.
    pub oracle: bool,
    /// How much of the audit works.
    pub audit: Audit,
    /// Whether faults may be injected.
    pub fault_injection: bool,
}

/// A fault to inject, for tests and the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// Submit a dispatch that never ends.
    Hang,
}

/// Bytes in one piece: serde would take them one by one, and each of 251 or more as three.
mod as_bytes {
    use serde::de::{Deserializer, Visitor};
    use serde::ser::Serializer;

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Vec<u8>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
                Ok(bytes.to_vec())
            }

            fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<Vec<u8>, E> {
                Ok(bytes)
            }
        }
        deserializer.deserialize_byte_buf(Bytes)
    }
}

/// From the front to a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ToWorker {
    /// First packet.
    Init(WorkerConfig),
    /// Re-create the context of `state` before anything else; answered by `Restored`.
    Restore {
        /// Request number.
        request: u64,
        /// Its state record.
        state: SealedExtent,
    },
    /// A resource is attached: an arena range, or (with a descriptor) a memory file.
    Attach {
        /// Resource id.
        res_id: u32,
        /// Arena range, or `None` when the packet carries a memory file of `len` bytes.
        extent: Option<Extent>,
        /// Length, bytes.
        len: u64,
    },
    /// A resource is not the context's any more. Answered by `Detached`: its range is used again only then.
    Detach {
        /// Request number.
        request: u64,
        /// Resource id.
        res_id: u32,
    },
    /// Commands for the context itself.
    Submit(#[serde(with = "as_bytes")] Vec<u8>),
    /// Tell when everything before on this timeline is done.
    Fence {
        /// Timeline; 0 is the CPU's.
        ring_idx: u32,
        /// Number to echo.
        fence_id: u64,
    },
    /// Where does this device memory live? Answered by `Exported`.
    Export {
        /// Request number.
        request: u64,
        /// Guest id of a VkDeviceMemory.
        memory: u64,
        /// Bytes that must be there.
        len: u64,
    },
    /// Start or stop writing the image in the background.
    Log(bool),
    /// Gate, then cut; answered by `Cut`. Nothing runs until `Resume`.
    Cut {
        /// Request number.
        request: u64,
        /// How long the gate may take.
        deadline: Duration,
    },
    /// Go on.
    Resume,
    /// Answer to `Allocate` and `Hold`.
    Allocated(Option<Extent>),
    /// Inject a fault.
    Inject(Fault),
    /// Answered by `Status`.
    Status {
        /// Request number.
        request: u64,
    },
}

/// What one kind of command marked so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandMarks {
    /// Its name in vk.xml.
    pub command: String,
    /// Bytes that it marked, each effect by itself.
    pub marked_bytes: u64,
    /// Bytes of device-local memory that it marked, each once a submission. This and the rest only with the oracle.
    pub oracle_marked_bytes: u64,
    /// Bytes of them that changed.
    pub oracle_changed_bytes: u64,
    /// Chunks of device-local memory that it marked, each once a submission.
    pub oracle_marked_chunks: u64,
    /// Chunks of them in which marked bytes changed.
    pub oracle_changed_chunks: u64,
}

impl CommandMarks {
    /// Adds up lists, by the command.
    pub fn add(sums: &mut Vec<Self>, more: &[Self]) {
        for one in more {
            let at = sums.iter().position(|sum| sum.command == one.command);
            let at = at.unwrap_or_else(|| {
                sums.push(Self {
                    command: one.command.clone(),
                    ..Self::default()
                });
                sums.len() - 1
            });
            let sum = &mut sums[at];
            sum.marked_bytes += one.marked_bytes;
            sum.oracle_marked_bytes += one.oracle_marked_bytes;
            sum.oracle_changed_bytes += one.oracle_changed_bytes;
            sum.oracle_marked_chunks += one.oracle_marked_chunks;
            sum.oracle_changed_chunks += one.oracle_changed_chunks;
        }
    }
}

/// What a worker tells of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerStatus {
    /// Live objects.
    pub objects: u64,
    /// Device-local bytes allocated.
    pub device_bytes: u64,
    /// Host-visible bytes allocated.
    pub host_bytes: u64,
    /// Submissions so far.
    pub submissions: u64,
    /// Commands decoded so far.
    pub commands: u64,
    /// Chunks that the audit marked, 64 KiB each.
    pub chunks_marked: u64,
    /// Pages that the drain moved, 4 KiB each.
    pub pages_moved: u64,
    /// Bytes of marked chunks that were compared with their shadows.
    pub drained_bytes: u64,
    /// Bytes of them that had not changed, and so did not move.
    pub narrowed_bytes: u64,
    /// Submissions that the oracle checked.
    pub oracle_checked: u64,
    /// Submissions handed to the host that it did not check, because they did not finish within the hang limit.
    pub oracle_unchecked: u64,
    /// Writes that the oracle found unmarked.
    pub oracle_misses: u64,
    /// What each kind of command marked.
    pub marked_by: Vec<CommandMarks>,
    /// Why the context can't be restored elsewhere, if so.
    pub not_migratable: Option<String>,
    /// Name of the host device.
    pub device: String,
}

/// What a worker has the front log. There is one front for all contexts of a VM, so its limits hold however often the guest
/// makes a new context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Warning {
    /// No instance or device on the host.
    #[error("No instance or device")]
    Instance,
    /// No device.
    #[error("No device")]
    Device,
    /// Pages of the guest's that are no memory of the device's.
    #[error("Import")]
    Import,
    /// A device that is destroyed does not come to rest.
    #[error("Waiting for a device that goes")]
    DeviceWait,
    /// A device stays behind when its instance goes.
    #[error("Device of an instance that goes")]
    InstanceDevice,
    /// Memory that was restored for others' sake only stays behind.
    #[error("Memory that was kept")]
    KeptMemory,
    /// The same for another object.
    #[error("Object that was kept")]
    KeptObject,
    /// The image can't grow.
    #[error("No image extent")]
    ImageExtent,
    /// A write can't be marked.
    #[error("Dirty bitmap")]
    DirtyBitmap,
    /// The kernel keeps its own timer slack.
    #[error("Timer slack")]
    TimerSlack,
}

impl Warning {
    /// How many kinds there are.
    pub const COUNT: usize = Self::TimerSlack as usize + 1;
    /// Longest reason that is logged, characters.
    pub const WHY_LEN_MAX: usize = 1024;
}

/// How a cut went.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CutReport {
    /// The state record.
    pub state: SealedExtent,
    /// Time that the gate took.
    pub gate: Duration,
    /// Time from gate to the record written.
    pub cut: Duration,
    /// Bytes copied from the device for the cut.
    pub drained_bytes: u64,
    /// Pages of them that had changed, 4 KiB each.
    pub pages_moved: u64,
}

/// From a worker to the front.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum FromWorker {
    /// Up and ready.
    Ready(HostDevice),
    /// Answer to `Restore`.
    Restored {
        /// Request number.
        request: u64,
        /// Why not, if it failed.
        result: Result<(), String>,
    },
    /// A fence is done.
    Fence {
        /// Timeline.
        ring_idx: u32,
        /// Number given.
        fence_id: u64,
    },
    /// A ring is served. Should this process die, the front marks it FATAL in its place, so that the guest's
    /// program doesn't wait.
    Ring {
        /// Resource that it lies in.
        res_id: u32,
        /// Where its status word is in the resource, bytes.
        status: u64,
    },
    /// Answer to `Detach`: nothing of the resource is read or written any more.
    Detached {
        /// Request number.
        request: u64,
    },
    /// Answer to `Export`: an arena extent, or a descriptor with the packet.
    Exported {
        /// Request number.
        request: u64,
        /// The extent; `Ok(None)` when a memory file comes along; or why not.
        result: Result<Option<Extent>, ExportError>,
    },
    /// Needs a range of the arena, or bytes of a quota; answered by `Allocated`.
    Allocate {
        /// Which part.
        area: Area,
        /// Length, bytes.
        len: u64,
    },
    /// Becomes one more holder of a resource's range in the window, which stays as it is until
    /// `Free`, whoever else gives it back; answered by `Allocated`.
    Hold {
        /// Resource id.
        res_id: u32,
    },
    /// Gives a range back; nothing on the device touches it any more.
    Free {
        /// Which part.
        area: Area,
        /// The range.
        extent: Extent,
    },
    /// Answer to `Cut`.
    Cut {
        /// Request number.
        request: u64,
        /// The report, or why not.
        result: Result<CutReport, CutError>,
    },
    /// The context can't go on: the front logs it, and the worker exits.
    Fatal(String),
    /// To be logged, within limits.
    Warning {
        /// What happened.
        what: Warning,
        /// Why.
        why: String,
        /// How many of the kind the worker left out since the last one.
        left_out: u64,
    },
    /// Submitted work made no progress for the hang limit.
    Hung {
        /// How long nothing moved.
        stalled: Duration,
    },
    /// Answer to `Status`.
    Status {
        /// Request number.
        request: u64,
        /// The answer.
        status: Box<WorkerStatus>,
    },
}

/// Why there is no memory to show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum ExportError {
    /// There was no room for it when the guest allocated it, and the guest did not wait for that answer.
    #[error("It could not be allocated")]
    NeverAllocated,
    /// Anything else.
    #[error("{0}")]
    Refused(String),
}

impl From<String> for ExportError {
    fn from(reason: String) -> Self {
        Self::Refused(reason)
    }
}

/// Why there is no cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum CutError {
    /// Submitted work did not finish before the deadline.
    #[error("Submitted work did not finish within {0:?}")]
    Hung(Duration),
    /// The context holds something that can't be restored.
    #[error("Not migratable: {0}")]
    NotMigratable(String),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

/// What can go wrong on the channel.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// The other end is gone.
    #[error("The other end of the channel is gone")]
    Closed,
    /// A message is longer than a packet.
    #[error("Message of {0} bytes is longer than a packet")]
    TooLong(usize),
    /// A packet does not decode.
    #[error("Packet does not decode: {0}")]
    Malformed(String),
    /// The kernel refused.
    #[error("Socket: {0}")]
    Socket(#[from] Errno),
}

impl From<Channel> for OwnedFd {
    fn from(channel: Channel) -> Self {
        channel.fd
    }
}

/// One end of the channel.
#[derive(Debug)]
pub struct Channel {
    fd: OwnedFd,
}

impl Channel {
    /// A connected pair.
    ///
    /// # Errors
    /// [`ChannelError::Socket`].
    pub fn pair() -> Result<(Self, Self), ChannelError> {
        let (a, b) = socketpair(
            AddressFamily::Unix,
            SockType::SeqPacket,
            None,
            SockFlag::SOCK_CLOEXEC,
        )?;
        Ok((Self::from_fd(a)?, Self::from_fd(b)?))
    }

    /// Wraps a connected socket.
    ///
    /// # Errors
    /// [`ChannelError::Socket`].
    pub fn from_fd(fd: OwnedFd) -> Result<Self, ChannelError> {
        // Large submissions need room; a refusal only lowers what fits.
        let _ = setsockopt(&fd, sockopt::SndBuf, &(2 * PACKET_LEN_MAX));
        let _ = setsockopt(&fd, sockopt::SndBufForce, &(2 * PACKET_LEN_MAX));
        Ok(Self { fd })
    }

    /// The descriptor, for poll.
    pub fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// Sends one message, blocking while the other end's queue is full.
    ///
    /// # Errors
    /// [`ChannelError`].
    pub fn send<T: Serialize>(&self, message: &T, fds: &[BorrowedFd]) -> Result<(), ChannelError> {
        let bytes = hesper_image::encode_message(message)
            .map_err(|e| ChannelError::Malformed(e.to_string()))?;
        if bytes.len() > PACKET_LEN_MAX {
            return Err(ChannelError::TooLong(bytes.len()));
        }
        let raw: Vec<_> = fds.iter().map(AsRawFd::as_raw_fd).collect();
        let rights = [ControlMessage::ScmRights(&raw)];
        let control: &[ControlMessage] = if raw.is_empty() { &[] } else { &rights };
        loop {
            match sendmsg::<UnixAddr>(
                self.fd.as_raw_fd(),
                &[IoSlice::new(&bytes)],
                control,
                MsgFlags::MSG_NOSIGNAL,
                None,
            ) {
                Ok(_) => return Ok(()),
                Err(Errno::EINTR) => {}
                Err(Errno::EPIPE | Errno::ECONNRESET) => return Err(ChannelError::Closed),
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Waits up to `timeout` (`None`: for ever) and receives one message with its descriptors.
    /// `Ok(None)` when nothing came.
    ///
    /// # Errors
    /// [`ChannelError`].
    pub fn receive<T: for<'de> Deserialize<'de>>(
        &self,
        buffer: &mut Vec<u8>,
        timeout: Option<Duration>,
    ) -> Result<Option<(T, Vec<OwnedFd>)>, ChannelError> {
        use std::os::fd::AsFd;
        if timeout.is_none_or(|t| !t.is_zero()) {
            let mut polled = [PollFd::new(self.fd.as_fd(), PollFlags::POLLIN)];
            // To the nanosecond: in whole milliseconds, shorter rests would be none.
            let limit = timeout.map(TimeSpec::from_duration);
            match ppoll(&mut polled, limit, None) {
                Ok(0) | Err(Errno::EINTR) => return Ok(None),
                Ok(_) => {}
                Err(e) => return Err(e.into()),
            }
        }
        buffer.resize(PACKET_LEN_MAX, 0);
        let received = match hesper_memory::receive(&self.fd, buffer, MsgFlags::MSG_DONTWAIT) {
            Ok(received) => received,
            Err(Errno::EAGAIN) => return Ok(None),
            Err(Errno::ECONNRESET) => return Err(ChannelError::Closed),
            Err(e) => return Err(e.into()),
        };
        let Received {
            len,
            fds,
            truncated,
        } = received;
        if len == 0 {
            return Err(ChannelError::Closed);
        }
        if truncated || fds.len() > FDS_MAX {
            return Err(ChannelError::Malformed("too long".into()));
        }
        let message = hesper_image::decode_message(&buffer[..len])
            .map_err(|e| ChannelError::Malformed(e.to_string()))?;
        Ok(Some((message, fds)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::fs::File;
    use std::io::Read;
    use std::os::fd::AsFd;

    use nix::fcntl::OFlag;

    #[test]
    fn message_with_descriptor_arrives_whole() {
        let (a, b) = Channel::pair().unwrap();
        let file = hesper_memory::memfd("t", 4096).unwrap();
        let sent = ToWorker::Submit(vec![7; 300_000]);

        a.send(&sent, &[file.as_fd()]).unwrap();
        let (got, fds) = b
            .receive::<ToWorker>(&mut Vec::new(), Some(Duration::from_secs(5)))
            .unwrap()
            .unwrap();

        assert!(matches!(got, ToWorker::Submit(bytes) if bytes == vec![7; 300_000]));
        assert_eq!(fds.len(), 1);
    }

    #[test]
    fn receive_with_a_short_limit_rests_for_as_long() {
        let (_a, b) = Channel::pair().unwrap();
        let limit = Duration::from_micros(300);
        let started = std::time::Instant::now();

        for _ in 0..10 {
            let got = b.receive::<ToWorker>(&mut Vec::new(), Some(limit)).unwrap();
            assert!(got.is_none());
        }

        assert!(started.elapsed() >= 10 * limit);
    }

    #[test]
    fn too_many_descriptors_are_no_message_and_none_stays() {
        let (a, b) = Channel::pair().unwrap();
        let (mut reader, writer) = nix::unistd::pipe2(OFlag::O_NONBLOCK)
            .map(|(reader, writer)| (File::from(reader), writer))
            .unwrap();
        let sent = ToWorker::Submit(vec![7; 16]);
        a.send(&sent, &[writer.as_fd(); FDS_MAX + 1]).unwrap();
        drop(writer);

        let got = b.receive::<ToWorker>(&mut Vec::new(), Some(Duration::from_secs(5)));

        assert!(matches!(got, Err(ChannelError::Malformed(_))));
        assert_eq!(reader.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn receive_without_message_returns_none_then_closed() {
        let (a, b) = Channel::pair().unwrap();
        let mut buffer = Vec::new();
        assert!(
            b.receive::<FromWorker>(&mut buffer, Some(Duration::ZERO))
                .unwrap()
                .is_none()
        );
        drop(a);
        assert!(matches!(
            b.receive::<FromWorker>(&mut buffer, None),
            Err(ChannelError::Closed)
        ));
    }
}
