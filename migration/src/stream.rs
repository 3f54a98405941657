//! Parser of QEMU's migration stream, as a passive receiver of COLO checkpoints needs it.
//!
//! The stream is big-endian. It starts with a header and a configuration section; RAM sections
//! carry the block list and pages; device sections follow. A device section has no length, so the
//! end of the first device state is found by the JSON description that QEMU appends; later
//! checkpoints announce their size. Source: QEMU's migration/savevm.c, ram.c and colo.c (10.0.x).
//!
//! The bytes come from a process that runs a hostile guest: each length is checked against a limit
//! before anything is allocated, each page against its block.

use std::collections::BTreeMap;
use std::io::Read;

use crate::error::{Context, Error, Result};

/// Bytes of a page of the x86 target.
pub const PAGE_BYTES: usize = 4096;
/// Most RAM blocks of one machine; a machine with many devices has about 20.
pub const BLOCKS_MAX: usize = 4096;
/// Most bytes of RAM of one machine, all blocks together (64 TiB).
pub const RAM_BYTES_MAX: u64 = 64 << 40;
/// Most bytes of one device state. Ours is some 100 KiB; big device states are a fault.
pub const DEVICE_BYTES_MAX: u64 = 512 << 20;
/// Most bytes of the JSON description behind the first device state.
const DESCRIPTION_BYTES_MAX: usize = 64 << 20;
/// Most live sections (RAM is one) and most commands of one stream.
const SECTIONS_MAX: usize = 64;
const COMMANDS_MAX: usize = 4096;
/// Most entries of lists inside the configuration section.
const CONFIGURATION_MAX: u32 = 256;

/// "QEVM".
pub(crate) const MAGIC: u32 = 0x5145_564d;
/// Version of the stream format.
pub(crate) const VERSION: u32 = 3;

/// Types of sections.
pub(crate) mod section {
    pub const EOF: u8 = 0x00;
    pub const START: u8 = 0x01;
    pub const PART: u8 = 0x02;
    pub const END: u8 = 0x03;
    pub const FULL: u8 = 0x04;
    pub const SUBSECTION: u8 = 0x05;
    pub const DESCRIPTION: u8 = 0x06;
    pub const CONFIGURATION: u8 = 0x07;
    pub const COMMAND: u8 = 0x08;
    pub const FOOTER: u8 = 0x7e;
}

/// Flags in the low bits of a RAM record's address.
pub(crate) mod ram {
    pub const ZERO: u64 = 0x02;
    pub const MEM_SIZE: u64 = 0x04;
    pub const PAGE: u64 = 0x08;
    pub const EOS: u64 = 0x10;
    pub const CONTINUE: u64 = 0x20;
}

/// Numbers of COLO's messages, each a big-endian u32 (an enum of QEMU's qapi/migration.json).
pub mod message {
    /// The receiver has the whole first state.
    pub const READY: u32 = 0;
    /// QEMU asks for a checkpoint; the VM still runs.
    pub const REQUEST: u32 = 1;
    /// The receiver agrees; the VM stops.
    pub const REPLY: u32 = 2;
    /// RAM follows.
    pub const VMSTATE_SEND: u32 = 3;
    /// A u64 and so many bytes of device state follow.
    pub const VMSTATE_SIZE: u32 = 4;
    /// The receiver has RAM and device state.
    pub const RECEIVED: u32 = 5;
    /// The receiver is done; the VM goes on.
    pub const LOADED: u32 = 6;
}

/// Which COLO QEMU speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// 10.x: no return path; READY alone ends the first state.
    V10,
    /// 11.x: a return path; pings are answered and it is shut before READY.
    V11,
}

impl Dialect {
    /// Picks the dialect from QEMU's major version.
    pub fn of(major: u64) -> Self {
        if major >= 11 { Self::V11 } else { Self::V10 }
    }

    /// Migration capabilities, with their wanted values, before `migrate`.
    pub fn capabilities(self) -> [(&'static str, bool); 2] {
        [("x-colo", true), ("return-path", self == Self::V11)]
    }

    /// What the receiver sends when it has the first state, READY included. `pings` are the values
    /// of the ping commands in the stream.
    pub fn ready(self, pings: &[u32]) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self == Self::V11 {
            for value in pings {
                bytes.extend_from_slice(&[0, 2, 0, 4]);
                bytes.extend_from_slice(&value.to_be_bytes());
            }
            bytes.extend_from_slice(&[0, 1, 0, 4, 0, 0, 0, 0]);
        }
        bytes.extend_from_slice(&message::READY.to_be_bytes());
        bytes
    }
}

/// A RAM block of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// QEMU's name of it, as in "pc.ram".
    pub name: String,
    /// Its length in bytes.
    pub len: u64,
}

/// Where parsed pages go.
pub trait Sink {
    /// The machine's versioned name and its blocks, once per stream, before any page; indices of
    /// [`Sink::page`] count in this list.
    fn blocks(&mut self, machine: &str, blocks: &[Block]) -> Result<()>;
    /// The content of the page at byte `offset` of a block.
    fn page(&mut self, block: usize, offset: u64, bytes: &[u8; PAGE_BYTES]) -> Result<()>;
    /// A page whose bytes are all zero.
    fn zero(&mut self, block: usize, offset: u64) -> Result<()>;
}

/// Parser over a byte stream.
pub struct Parser<R> {
    input: R,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    consumed: u64,
    machine: String,
    blocks: Vec<Block>,
    current: Option<usize>,
    sections: BTreeMap<u32, String>,
    commands: usize,
    pings: Vec<u32>,
}

/// Size of the read buffer: large enough that a system call is cheap against the copy.
const BUFFER_BYTES: usize = 1 << 20;

impl<R: Read> Parser<R> {
    /// A parser at the first byte of a stream.
    pub fn new(input: R) -> Self {
        Self {
            input,
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            start: 0,
            end: 0,
            consumed: 0,
            machine: String::new(),
            blocks: Vec::new(),
            current: None,
            sections: BTreeMap::new(),
            commands: 0,
            pings: Vec::new(),
        }
    }

    /// The machine's versioned name, as in "pc-q35-10.0"; empty before the configuration section.
    pub fn machine(&self) -> &str {
        &self.machine
    }

    /// The RAM blocks, empty before their list.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Values of the ping commands seen so far.
    pub fn pings(&self) -> &[u32] {
        &self.pings
    }

    /// Bytes consumed so far.
    pub fn consumed(&self) -> u64 {
        self.consumed
    }

    /// Reads the stream's header.
    ///
    /// # Errors
    /// [`Error::Stream`] when this is no stream of the known version.
    pub fn header(&mut self) -> Result<()> {
        if self.u32()? != MAGIC || self.u32()? != VERSION {
            return Err(self.fault("not a QEMU stream of version 3"));
        }
        Ok(())
    }

    /// Reads the live phase of the first state: everything before the first device section, which
    /// is left unread.
    ///
    /// # Errors
    /// [`Error::Stream`], [`Error::Ended`], or the sink's error.
    pub fn live(&mut self, sink: &mut impl Sink) -> Result<()> {
        while self.peek()? != section::FULL {
            if self.section(sink)? {
                return Err(self.fault("no device state"));
            }
        }
        if self.blocks.is_empty() {
            return Err(self.fault("no RAM blocks before the device state"));
        }
        Ok(())
    }

    /// Reads the RAM of one checkpoint, up to and with the end mark.
    ///
    /// # Errors
    /// As [`Parser::live`].
    pub fn checkpoint_ram(&mut self, sink: &mut impl Sink) -> Result<()> {
        while !self.section(sink)? {}
        Ok(())
    }

    /// Reads one message of COLO.
    ///
    /// # Errors
    /// [`Error::Ended`] when QEMU left.
    pub fn message(&mut self) -> Result<u32> {
        self.u32()
    }

    /// Reads a message that must be the given one.
    ///
    /// # Errors
    /// [`Error::Stream`] for another one.
    pub fn expect(&mut self, wanted: u32) -> Result<()> {
        let got = self.u32()?;
        if got != wanted {
            return Err(self.fault(&format!("message {got} in place of {wanted}")));
        }
        Ok(())
    }

    /// Reads the device state of a checkpoint: its size, then its bytes, the end mark included.
    ///
    /// # Errors
    /// [`Error::Stream`] for a size past [`DEVICE_BYTES_MAX`].
    pub fn checkpoint_device(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let len = self.u64()?;
        if len == 0 || len > DEVICE_BYTES_MAX {
            return Err(self.fault(&format!("device state of {len} bytes")));
        }
        out.clear();
        self.append(len as usize, out)?;
        if out.first() != Some(&section::FULL) || out.last() != Some(&section::EOF) {
            return Err(self.fault("device state has no sections or no end"));
        }
        Ok(())
    }

    /// Reads the first device state, end mark included, and drops the description behind it.
    ///
    /// The state's own end can't be told from its content, so this looks for the end mark followed
    /// by a description that is JSON with the known first member, with nothing behind it: QEMU
    /// waits for READY then. A guest that forges such bytes in its device state makes its own
    /// protection fail, no more.
    ///
    /// # Errors
    /// [`Error::Stream`] past the limits; [`Error::Ended`].
    pub fn first_device(&mut self, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        let mut searched = 0;
        loop {
            while let Some(at) = find_description(out, searched) {
                searched = at + 1;
                let len = u32::from_be_bytes([out[at + 2], out[at + 3], out[at + 4], out[at + 5]]);
                let len = len as usize;
                if len > DESCRIPTION_BYTES_MAX {
                    continue;
                }
                let body = at + 6;
                while out.len() < body + len {
                    self.append_some(out)?;
                }
                let text = &out[body..body + len];
                if serde_json::from_slice::<serde_json::Value>(text).is_ok_and(|v| v.is_object()) {
                    if out.len() != body + len {
                        return Err(self.fault("bytes behind the first state"));
                    }
                    out.truncate(at + 1);
                    return Ok(());
                }
            }
            // A mark may be split across two reads; it is found again from its first byte.
            searched = out.len().saturating_sub(DESCRIPTION_HEAD_BYTES);
            if out.len() as u64 > DEVICE_BYTES_MAX {
                return Err(self.fault("first device state has no end"));
            }
            self.append_some(out)?;
        }
    }

    /// One section; true for the end mark.
    fn section(&mut self, sink: &mut impl Sink) -> Result<bool> {
        match self.u8()? {
            section::EOF => return Ok(true),
            section::CONFIGURATION => self.configuration()?,
            section::COMMAND => self.command()?,
            section::START => {
                let id = self.u32()?;
                let name = self.name()?;
                let instance = self.u32()?;
                let version = self.u32()?;
                if name != "ram" || instance != 0 || version != 4 {
                    return Err(self.fault(&format!(
                        "live section {name} (instance {instance}, version {version}) is not known"
                    )));
                }
                if self.sections.len() >= SECTIONS_MAX {
                    return Err(self.fault("too many live sections"));
                }
                self.sections.insert(id, name);
                self.ram_section(id, sink)?;
            }
            section::PART | section::END => {
                let id = self.u32()?;
                if !self.sections.contains_key(&id) {
                    return Err(self.fault(&format!("section {id} was never started")));
                }
                self.ram_section(id, sink)?;
            }
            other => return Err(self.fault(&format!("section type {other:#x}"))),
        }
        Ok(false)
    }

    fn configuration(&mut self) -> Result<()> {
        let len = self.u32()?;
        if len > CONFIGURATION_MAX {
            return Err(self.fault("machine name is too long"));
        }
        self.machine = self.text(len as usize)?;
        while self.peek()? == section::SUBSECTION {
            self.u8()?;
            let name = self.name()?;
            let _version = self.u32()?;
            match name.as_str() {
                "configuration/capabilities" => {
                    let count = self.u32()?;
                    if count > CONFIGURATION_MAX {
                        return Err(self.fault("too many capabilities"));
                    }
                    for _ in 0..count {
                        self.name()?;
                    }
                }
                "configuration/target-page-bits" => {
                    if self.u32()? != 12 {
                        return Err(self.fault("pages are not of 4 KiB"));
                    }
                }
                "configuration/uuid" => {
                    for _ in 0..16 {
                        self.u8()?;
                    }
                }
                _ => return Err(self.fault(&format!("subsection {name} is not known"))),
            }
        }
        Ok(())
    }

    fn command(&mut self) -> Result<()> {
        const PING: u16 = 2;
        self.commands += 1;
        if self.commands > COMMANDS_MAX {
            return Err(self.fault("too many commands"));
        }
        let command = self.u16()?;
        let len = self.u16()?;
        if command == PING && len == 4 {
            let value = self.u32()?;
            self.pings.push(value);
        } else {
            for _ in 0..len {
                self.u8()?;
            }
        }
        Ok(())
    }

    fn ram_section(&mut self, id: u32, sink: &mut impl Sink) -> Result<()> {
        loop {
            let record = self.u64()?;
            let offset = record & !(PAGE_BYTES as u64 - 1);
            let flags = record & (PAGE_BYTES as u64 - 1);
            match flags & !ram::CONTINUE {
                ram::EOS => break,
                ram::MEM_SIZE => self.block_list(offset, sink)?,
                kind @ (ram::PAGE | ram::ZERO) => {
                    let block = self.page_block(flags, offset)?;
                    if kind == ram::ZERO {
                        if self.u8()? != 0 {
                            return Err(self.fault("page filled with a byte other than zero"));
                        }
                        sink.zero(block, offset)?;
                    } else {
                        self.fill(PAGE_BYTES)?;
                        let from = self.start;
                        self.advance(PAGE_BYTES);
                        let bytes = self.buffer[from..]
                            .first_chunk::<PAGE_BYTES>()
                            .ok_or(Error::Ended("in a page"))?;
                        sink.page(block, offset, bytes)?;
                    }
                }
                _ => return Err(self.fault(&format!("RAM flags {flags:#x}"))),
            }
        }
        if self.u8()? != section::FOOTER || self.u32()? != id {
            return Err(self.fault("RAM section has no footer"));
        }
        Ok(())
    }

    fn block_list(&mut self, total: u64, sink: &mut impl Sink) -> Result<()> {
        if !self.blocks.is_empty() {
            return Err(self.fault("second list of blocks"));
        }
        if total > RAM_BYTES_MAX {
            return Err(self.fault("too much RAM"));
        }
        let mut left = total;
        let mut blocks = Vec::new();
        while left > 0 {
            let name = self.name()?;
            let len = self.u64()?;
            if len == 0 || len > left || !len.is_multiple_of(PAGE_BYTES as u64) {
                return Err(self.fault(&format!("block {name} of {len} bytes")));
            }
            if blocks.len() >= BLOCKS_MAX {
                return Err(self.fault("too many blocks"));
            }
            if blocks.iter().any(|block: &Block| block.name == name) {
                return Err(self.fault(&format!("block {name} is listed twice")));
            }
            left -= len;
            blocks.push(Block { name, len });
        }
        sink.blocks(&self.machine, &blocks)?;
        self.blocks = blocks;
        Ok(())
    }

    fn page_block(&mut self, flags: u64, offset: u64) -> Result<usize> {
        if flags & ram::CONTINUE == 0 {
            let name = self.name()?;
            self.current = self.blocks.iter().position(|block| block.name == name);
            if self.current.is_none() {
                return Err(self.fault(&format!("page of unknown block {name}")));
            }
        }
        let Some(index) = self.current else {
            return Err(self.fault("page without a block"));
        };
        // Offsets and lengths are multiples of a page, so a start inside means an end inside.
        if offset >= self.blocks[index].len {
            return Err(self.fault("page past its block"));
        }
        Ok(index)
    }

    fn fault(&self, what: &str) -> Error {
        Error::Stream {
            at: self.consumed,
            what: what.to_owned(),
        }
    }

    /// Makes `count` bytes readable at `start`; `count` is at most the buffer's size.
    fn fill(&mut self, count: usize) -> Result<()> {
        if self.end - self.start >= count {
            return Ok(());
        }
        if self.start + count > self.buffer.len() || self.start == self.end {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        while self.end - self.start < count {
            let got = read_some(&mut self.input, &mut self.buffer[self.end..])?;
            self.end += got;
        }
        Ok(())
    }

    fn advance(&mut self, count: usize) {
        self.start += count;
        self.consumed += count as u64;
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.fill(N)?;
        let bytes = *self.buffer[self.start..]
            .first_chunk::<N>()
            .ok_or(Error::Ended("in a number"))?;
        self.advance(N);
        Ok(bytes)
    }

    fn peek(&mut self) -> Result<u8> {
        self.fill(1)?;
        Ok(self.buffer[self.start])
    }

    fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    /// A name behind its length byte.
    fn name(&mut self) -> Result<String> {
        let len = self.u8()?;
        self.text(usize::from(len))
    }

    fn text(&mut self, len: usize) -> Result<String> {
        self.fill(len)?;
        let bytes = self.buffer[self.start..self.start + len].to_vec();
        self.advance(len);
        String::from_utf8(bytes).map_err(|_| self.fault("name is no UTF-8"))
    }

    /// Appends exactly `len` bytes; the memory grows with what really arrives.
    fn append(&mut self, len: usize, out: &mut Vec<u8>) -> Result<()> {
        let mut left = len;
        while left > 0 {
            self.fill(1)?;
            let take = left.min(self.end - self.start);
            out.extend_from_slice(&self.buffer[self.start..self.start + take]);
            self.advance(take);
            left -= take;
        }
        Ok(())
    }

    /// Appends whatever is there, at least one byte.
    fn append_some(&mut self, out: &mut Vec<u8>) -> Result<()> {
        self.fill(1)?;
        self.append(self.end - self.start, out)
    }
}

/// End mark, type, length, and the first bytes of the JSON.
const DESCRIPTION_HEAD_BYTES: usize = 1 + 1 + 4 + 16;

/// Index of an end mark that a description seems to follow, at or after `from`.
fn find_description(bytes: &[u8], from: usize) -> Option<usize> {
    let last = bytes.len().checked_sub(DESCRIPTION_HEAD_BYTES)?;
    (from..=last).find(|&at| {
        bytes[at] == section::EOF
            && bytes[at + 1] == section::DESCRIPTION
            && (bytes[at + 6..].starts_with(b"{\"page_size\":")
                || bytes[at + 6..].starts_with(b"{\"configuration\""))
    })
}

fn read_some(input: &mut impl Read, space: &mut [u8]) -> Result<usize> {
    loop {
        match input.read(space) {
            Ok(0) => return Err(Error::Ended("QEMU closed its migration stream")),
            Ok(count) => return Ok(count),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error).context(|| "read the migration stream".into()),
        }
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
