//! A VNC client (RFB 3.8, RFC 6143) that looks at no picture: it asks a display for another size and hears of its size.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::{Error, FileContext, Result};
use crate::vm::DEVICE_ID;

const PROTOCOL: &[u8; 12] = b"RFB 003.008\n";
/// Security type `None`.
const NO_SECURITY: u8 = 1;
/// Longest name or reason taken from a server, bytes.
const TEXT_BYTES_MAX: u32 = 4096;
/// Client's messages.
const SET_ENCODINGS: u8 = 2;
const SET_DESKTOP_SIZE: u8 = 251;
/// Server's message.
const FRAMEBUFFER_UPDATE: u8 = 0;
/// The pseudo-encoding `ExtendedDesktopSize`: a rectangle that tells the screens' layout.
const EXTENDED_DESKTOP_SIZE: i32 = -308;
/// Why such a rectangle comes: this client has asked for another size.
const ASKED_BY_US: u16 = 1;
/// The answers of a server that does what it is asked, or has somebody else asked (a VM's guest).
const DONE: u16 = 0;
const FORWARDED: u16 = 4;

/// A connection that has done its handshake.
#[derive(Debug)]
pub struct Vnc {
    stream: UnixStream,
    size: (u16, u16),
}

/// A rectangle of the encoding `ExtendedDesktopSize`.
struct Layout {
    reason: u16,
    status: u16,
}

/// Where the server of one of a VM's displays listens.
pub fn socket(dir: &Path, display: u32) -> PathBuf {
    dir.join(format!("vnc{display}.sock"))
}

/// QEMU's arguments for a server of one display of our device.
pub fn arguments(dir: &Path, display: u32) -> [OsString; 2] {
    let socket = socket(dir, display);
    let server = format!(
        "unix:{},display={DEVICE_ID},head={display}",
        socket.display()
    );
    ["-vnc".into(), server.into()]
}

fn strange(what: impl Into<String>) -> Error {
    Error::Vnc(what.into())
}

fn io_error(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => strange("the server says nothing"),
        _ => strange(error.to_string()),
    }
}

impl Vnc {
    /// Connects to a server's unix socket; `limit` is how long the server may take for an answer, here and later.
    pub fn connect(path: &Path, limit: Duration) -> Result<Vnc> {
        let stream = UnixStream::connect(path).at("connect to", path)?;
        stream.set_read_timeout(Some(limit)).at("set up", path)?;
        let mut vnc = Vnc {
            stream,
            size: (0, 0),
        };
        let version: [u8; 12] = vnc.read()?;
        if version != *PROTOCOL {
            return Err(strange(format!(
                "the server speaks {:?}",
                version.escape_ascii().to_string()
            )));
        }
        vnc.send(PROTOCOL)?;
        let [count] = vnc.read()?;
        if count == 0 {
            let why = vnc.text()?;
            return Err(strange(why));
        }
        let mut kinds = vec![0; count.into()];
        vnc.stream.read_exact(&mut kinds).map_err(io_error)?;
        if !kinds.contains(&NO_SECURITY) {
            return Err(strange(format!("security types {kinds:?}")));
        }
        vnc.send(&[NO_SECURITY])?;
        if u32::from_be_bytes(vnc.read()?) != 0 {
            let why = vnc.text()?;
            return Err(strange(why));
        }
        // Others may stay connected.
        vnc.send(&[1])?;
        vnc.size = (vnc.u16()?, vnc.u16()?);
        let _pixel_format: [u8; 16] = vnc.read()?;
        vnc.text()?;
        let mut encodings = vec![SET_ENCODINGS, 0, 0, 1];
        encodings.extend(EXTENDED_DESKTOP_SIZE.to_be_bytes());
        vnc.send(&encodings)?;
        Ok(vnc)
    }

    /// Asks for a display of one screen of this size, in pixels. The server may only pass it on: [`Vnc::wait_size`].
    pub fn ask_size(&mut self, width: u16, height: u16) -> Result<()> {
        let mut message = vec![SET_DESKTOP_SIZE, 0];
        let halves = |message: &mut Vec<u8>, halves: &[u16]| {
            message.extend(halves.iter().flat_map(|half| half.to_be_bytes()));
        };
        halves(&mut message, &[width, height]);
        // One screen, padding; its id, place, size and flags.
        message.extend([1, 0]);
        halves(&mut message, &[0, 0, 0, 0, width, height, 0, 0]);
        self.send(&message)?;
        loop {
            let Some(answer) = self.update()? else {
                continue;
            };
            if answer.reason == ASKED_BY_US {
                return match answer.status {
                    DONE | FORWARDED => Ok(()),
                    status => Err(strange(format!(
                        "the server refuses {width} × {height}: status {status}"
                    ))),
                };
            }
        }
    }

    /// Waits until the display has a size.
    pub fn wait_size(&mut self, size: (u16, u16), limit: Duration) -> Result<()> {
        let deadline = Instant::now() + limit;
        while self.size != size {
            if Instant::now() >= deadline {
                return Err(Error::Deadline {
                    what: format!("a display of {size:?}, which is {:?},", self.size),
                    limit,
                });
            }
            self.update()?;
        }
        Ok(())
    }

    /// Takes one of the server's messages, and what it says of the size.
    fn update(&mut self) -> Result<Option<Layout>> {
        let [kind] = self.read()?;
        if kind != FRAMEBUFFER_UPDATE {
            return Err(strange(format!("a message of type {kind}")));
        }
        let _padding: [u8; 1] = self.read()?;
        let mut last = None;
        for _ in 0..self.u16()? {
            let (reason, status) = (self.u16()?, self.u16()?);
            let size = (self.u16()?, self.u16()?);
            let encoding = i32::from_be_bytes(self.read()?);
            // No picture is asked for, so none comes.
            if encoding != EXTENDED_DESKTOP_SIZE {
                return Err(strange(format!("a rectangle of encoding {encoding}")));
            }
            let [screens, _, _, _] = self.read()?;
            for _ in 0..screens {
                let _screen: [u8; 16] = self.read()?;
            }
            self.size = size;
            last = Some(Layout { reason, status });
        }
        Ok(last)
    }

    fn send(&mut self, message: &[u8]) -> Result<()> {
        self.stream.write_all(message).map_err(io_error)
    }

    fn read<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes).map_err(io_error)?;
        Ok(bytes)
    }

    fn u16(&mut self) -> Result<u16> {
        self.read().map(u16::from_be_bytes)
    }

    /// A text with its length before it.
    fn text(&mut self) -> Result<String> {
        let len = u32::from_be_bytes(self.read()?);
        if len > TEXT_BYTES_MAX {
            return Err(strange(format!("a text of {len} bytes")));
        }
        let mut bytes = vec![0; len as usize];
        self.stream.read_exact(&mut bytes).map_err(io_error)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
