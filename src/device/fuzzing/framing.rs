//! The relay between a front end that cuts its messages anywhere and the device: what the fuzz target `relay_framing`
//! runs, and a test over its corpus.
//!
//! A script puts messages and plain bytes together, sends them in pieces with descriptors, and has the device reply in
//! between. A model beside it says what must arrive: each message once and whole, with the descriptors that came with it
//! and no others, and each reply. At the end no descriptor may be open any more.

use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use vhost::vhost_user::message::FrontendReq;

use super::Script;
use crate::relay::{self, Checker, Verdict};

/// Moves of one script at most.
const MOVES_MAX: usize = 64;
/// Bytes that wait to be sent at most.
const PENDING_MAX: usize = 1 << 14;
/// What arrives does so at once; this long, and it is lost.
const LIMIT: Duration = Duration::from_secs(10);
/// The protocol's numbers, again: the model takes none of the relay's.
const HEADER_LEN: usize = 12;
const BODY_LEN_MAX: usize = 0x1000;
const FDS_MAX: usize = 32;
const REPLY_ACK: u64 = 1 << 3;
const VERSION: u32 = 1;
const REPLY: u32 = 1 << 2;
const NEED_REPLY: u32 = 1 << 3;

/// Runs a script.
///
/// # Panics
/// When the relay does what it must not.
pub fn relay_framing(script: &[u8]) {
    let mut run = Run::new();
    let mut script = Script(script);
    for _ in 0..MOVES_MAX {
        if script.0.is_empty() || run.model.broken {
            break;
        }
        run.step(&mut script);
    }
    run.end(script.u8());
}

/// What tells a file from others.
type Identity = (u64, u64);

fn identity(fd: impl AsFd) -> Identity {
    let file = fd.as_fd().try_clone_to_owned().expect("a descriptor");
    let metadata = File::from(file).metadata().expect("it is open");
    (metadata.dev(), metadata.ino())
}

/// What must come of a piece.
#[derive(Debug)]
enum Effect {
    /// The device gets a message with these files.
    Message(Vec<u8>, Vec<Identity>),
    /// The front end gets an answer.
    Answer(Vec<u8>),
}

/// What the relay is to make of what it gets.
#[derive(Default)]
struct Model {
    checker: Checker,
    reply_ack: bool,
    message: Vec<u8>,
    files: Vec<Identity>,
    /// The connection ends here.
    broken: bool,
}

impl Model {
    /// One piece, which files come with.
    fn take(&mut self, piece: &[u8], files: &[Identity]) -> Vec<Effect> {
        self.files.extend(files);
        self.broken = self.files.len() > FDS_MAX;
        let mut effects = Vec::new();
        for byte in piece {
            if self.broken {
                break;
            }
            self.message.push(*byte);
            if self.message.len() < HEADER_LEN {
                continue;
            }
            let len = self.word(2) as usize;
            self.broken = len > BODY_LEN_MAX;
            if self.message.len() == HEADER_LEN.saturating_add(len) {
                effects.extend(self.whole());
            }
        }
        effects
    }

    fn whole(&mut self) -> Option<Effect> {
        let (request, flags) = (self.word(0), self.word(1));
        let (message, files) = (
            std::mem::take(&mut self.message),
            std::mem::take(&mut self.files),
        );
        let body = &message[HEADER_LEN..];
        if request == FrontendReq::SET_PROTOCOL_FEATURES as u32 {
            let taken = body.first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
            self.reply_ack = taken & REPLY_ACK != 0;
        }
        let status = match self.checker.look(request, body) {
            Verdict::Pass => return Some(Effect::Message(message, files)),
            Verdict::Drop => 0,
            Verdict::Refuse => 1,
        };
        let wanted = self.reply_ack && flags & NEED_REPLY != 0;
        wanted.then(|| Effect::Answer(words(&[request, VERSION | REPLY, 8, status, 0])))
    }

    fn word(&self, at: usize) -> u32 {
        let bytes = self.message[at * 4..].first_chunk().expect("a header");
        u32::from_le_bytes(*bytes)
    }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The fuzzer's clock interrupts.
fn again<T, E: Into<io::Error>>(mut call: impl FnMut() -> Result<T, E>) -> io::Result<T> {
    loop {
        match call().map_err(Into::into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

struct Run {
    front_end: UnixStream,
    device: UnixStream,
    /// The first is the writing end of `pipe`.
    files: Vec<OwnedFd>,
    identities: Vec<Identity>,
    /// Hung up once nobody has any of the first file's descriptors.
    pipe: OwnedFd,
    threads: [JoinHandle<()>; 2],
    pending: Vec<u8>,
    model: Model,
}

impl Run {
    fn new() -> Self {
        let (front_end, theirs) = UnixStream::pair().expect("sockets");
        let (listener, threads) = relay::start(theirs).expect("a socket and threads");
        let (device, _) = listener.accept().expect("the relay's connection");
        for stream in [&front_end, &device] {
            stream.set_read_timeout(Some(LIMIT)).expect("not zero");
            stream.set_write_timeout(Some(LIMIT)).expect("not zero");
        }
        let (pipe, writer) = nix::unistd::pipe().expect("a pipe");
        let other = hesper_memory::memfd("t", 4096).expect("memory");
        let files = vec![writer, other.into()];
        Self {
            front_end,
            device,
            identities: files.iter().map(identity).collect(),
            files,
            pipe,
            threads,
            pending: Vec::new(),
            model: Model::default(),
        }
    }

    fn step(&mut self, script: &mut Script<'_>) {
        match script.u8() % 8 {
            0 => {
                let request = script.u8() % 48;
                let flags = script.u8();
                let len = u32::from(script.u16()) % (BODY_LEN_MAX as u32 + 2);
                let given = usize::from(script.u8());
                let mut body = script.bytes(given.min(len as usize)).to_vec();
                body.resize(len as usize, flags);
                self.put(&[words(&[request.into(), flags.into(), len]), body].concat());
            }
            1 => {
                let len = usize::from(script.u8());
                let bytes = script.bytes(len).to_vec();
                self.put(&bytes);
            }
            2 => {
                let request = FrontendReq::SET_PROTOCOL_FEATURES as u32;
                let taken = if script.u8() & 1 == 0 { REPLY_ACK } else { 0 };
                self.put(&words(&[request, VERSION, 8, taken as u32, 0]));
            }
            3 => {
                let requests = [
                    FrontendReq::SET_VRING_NUM,
                    FrontendReq::SET_VRING_BASE,
                    FrontendReq::SET_VRING_ENABLE,
                    FrontendReq::SET_VRING_KICK,
                ];
                let request = requests[usize::from(script.u8() % 4)] as u32;
                let (index, value) = (script.u8() % 4, script.u32());
                let flags = VERSION | NEED_REPLY;
                self.put(&words(&[request, flags, 8, index.into(), value]));
            }
            4 | 5 => {
                let len = usize::from(script.u16()).min(self.pending.len());
                let files = match script.u8() {
                    few @ 0..=199 => few % 4,
                    many @ 200..=249 => many % 33,
                    more => more % 7 * 36,
                };
                let which = script.u8();
                self.send(len, files.into(), which);
            }
            6 => self.send(self.pending.len(), 0, 0),
            _ => {
                let reply = vec![script.u8(); usize::from(script.u16()) % 10_000];
                self.device.write_all(&reply).expect("there is room");
                let mut arrived = vec![0; reply.len()];
                self.front_end
                    .read_exact(&mut arrived)
                    .expect("a reply arrives");
                assert_eq!(arrived, reply);
            }
        }
    }

    fn put(&mut self, bytes: &[u8]) {
        if self.pending.len() + bytes.len() <= PENDING_MAX {
            self.pending.extend(bytes);
        }
    }

    /// Sends a piece, and looks whether what must come of it comes.
    fn send(&mut self, len: usize, files: usize, which: u8) {
        if len == 0 || self.model.broken {
            return;
        }
        let piece: Vec<u8> = self.pending.drain(..len).collect();
        // Each bit of `which` says which of the two it is, again and again.
        let chosen: Vec<usize> = (0..files)
            .map(|at| usize::from(which >> (at % 8) & 1))
            .collect();
        let raw: Vec<RawFd> = chosen
            .iter()
            .map(|at| self.files[*at].as_raw_fd())
            .collect();
        let rights = [ControlMessage::ScmRights(&raw)];
        let rights = if raw.is_empty() { &[][..] } else { &rights };
        let sent = again(|| {
            sendmsg::<()>(
                self.front_end.as_raw_fd(),
                &[IoSlice::new(&piece)],
                rights,
                MsgFlags::MSG_NOSIGNAL,
                None,
            )
        });
        assert_eq!(sent.expect("the relay reads"), len);
        let identities: Vec<_> = chosen.iter().map(|at| self.identities[*at]).collect();
        for effect in self.model.take(&piece, &identities) {
            match effect {
                Effect::Message(message, files) => self.arrives(&message, &files),
                Effect::Answer(answer) => {
                    let mut arrived = vec![0; answer.len()];
                    self.front_end
                        .read_exact(&mut arrived)
                        .expect("an answer arrives");
                    assert_eq!(arrived, answer);
                }
            }
        }
    }

    /// The device gets a message as the crate reads it: descriptors come with the first byte.
    fn arrives(&mut self, message: &[u8], files: &[Identity]) {
        let mut arrived = vec![0; message.len()];
        let header =
            hesper_memory::receive(&self.device, &mut arrived[..HEADER_LEN], MsgFlags::empty())
                .expect("a message arrives");
        assert_eq!(header.len, HEADER_LEN);
        let found: Vec<_> = header.fds.iter().map(identity).collect();
        assert_eq!(found, files);
        self.device
            .read_exact(&mut arrived[HEADER_LEN..])
            .expect("the body arrives");
        assert_eq!(arrived, message);
    }

    /// One side hangs up, then the other; nothing more arrives, and nothing stays open.
    fn end(mut self, how: u8) {
        let mut byte = [0];
        if self.model.broken || how & 1 == 0 {
            if !self.model.broken {
                let how = [Shutdown::Write, Shutdown::Both][usize::from(how >> 1 & 1)];
                self.front_end.shutdown(how).expect("connected");
            }
            assert_eq!(again(|| self.device.read(&mut byte)).expect("an end"), 0);
        }
        drop(self.device);
        match again(|| self.front_end.read(&mut byte)) {
            Ok(len) => assert_eq!(len, 0),
            // What the relay has not read is lost.
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::ConnectionReset),
        }
        drop(self.front_end);
        drop(self.files);
        let mut polled = [PollFd::new(self.pipe.as_fd(), PollFlags::empty())];
        let limit = PollTimeout::try_from(LIMIT).expect("it is short");
        let hung_up = again(|| poll(&mut polled, limit)).expect("a pipe");
        assert_eq!(hung_up, 1, "a descriptor is still open");
        for thread in self.threads {
            thread.join().expect("it ends as it should");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corpus_of_the_fuzz_target_runs_to_its_end() {
        let folder = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fuzz/corpus/relay_framing"
        );
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            relay_framing(&std::fs::read(entry.unwrap().path()).unwrap());
            count += 1;
        }
        assert!(count >= 100, "{count} files");
    }

    #[test]
    fn model_cuts_messages_gives_files_to_theirs_and_answers() {
        let mut model = Model::default();
        let features = words(&[16, VERSION, 8, REPLY_ACK as u32, 0]);
        let bad_size = words(&[8, VERSION | NEED_REPLY, 8, 0, 3]);
        let (first, second) = ((1, 1), (2, 2));

        assert!(model.take(&features[..5], &[first]).is_empty());
        let rest = [&features[5..], &bad_size[..4]].concat();
        let effects = model.take(&rest, &[second]);
        assert!(matches!(&effects[..], [Effect::Message(message, files)]
            if *message == features && files[..] == [first, second]));

        let effects = model.take(&bad_size[4..], &[first]);
        assert!(matches!(&effects[..], [Effect::Answer(answer)]
            if *answer == words(&[8, VERSION | REPLY, 8, 0, 0])));
        model.take(&words(&[1, 1, 0x1001]), &[]);
        assert!(model.broken);
    }
}
