//! Writer of the stream that starts a waiting QEMU (`-incoming`) from a stored epoch.
//!
//! Blocks whose pages are already in the files that the waiting QEMU maps are listed but not sent;
//! QEMU does not miss them. The small blocks (firmware, ACPI tables) are sent, then the device
//! state as the checkpoint had it.

use std::io::{self, Write};

use crate::stream::{Block, MAGIC, PAGE_BYTES, VERSION, ram, section};

/// Id of the RAM section; any will do, since only the footer refers to it.
const RAM_SECTION: u32 = 1;

/// One block of the synthesised stream.
#[derive(Clone, Copy, Debug)]
pub struct SynthBlock<'a> {
    /// Name and length, which must be those of the waiting QEMU.
    pub block: &'a Block,
    /// The content, of the block's length; `None` for a block that is already in place.
    pub content: Option<&'a [u8]>,
}

/// Writes everything that precedes the device state. A waiting QEMU may be fed with this early.
///
/// # Errors
/// Those of `out`; `InvalidInput` for a name or a content that does not fit its block.
pub fn write_prefix(out: &mut impl Write, machine: &str, blocks: &[SynthBlock]) -> io::Result<()> {
    out.write_all(&MAGIC.to_be_bytes())?;
    out.write_all(&VERSION.to_be_bytes())?;
    out.write_all(&[section::CONFIGURATION])?;
    let len = u32::try_from(machine.len()).map_err(|_| invalid("machine name is too long"))?;
    out.write_all(&len.to_be_bytes())?;
    out.write_all(machine.as_bytes())?;

    out.write_all(&[section::START])?;
    out.write_all(&RAM_SECTION.to_be_bytes())?;
    write_name(out, "ram")?;
    out.write_all(&0u32.to_be_bytes())?;
    out.write_all(&4u32.to_be_bytes())?;
    let total: u64 = blocks.iter().map(|entry| entry.block.len).sum();
    out.write_all(&(total | ram::MEM_SIZE).to_be_bytes())?;
    for entry in blocks {
        write_name(out, &entry.block.name)?;
        out.write_all(&entry.block.len.to_be_bytes())?;
    }
    for entry in blocks {
        let Some(content) = entry.content else {
            continue;
        };
        if content.len() as u64 != entry.block.len {
            return Err(invalid("content is not of its block's length"));
        }
        write_pages(out, &entry.block.name, content)?;
    }
    out.write_all(&ram::EOS.to_be_bytes())?;
    out.write_all(&[section::FOOTER])?;
    out.write_all(&RAM_SECTION.to_be_bytes())
}

/// Writes the device state, which ends with its end mark, and an empty description.
///
/// # Errors
/// Those of `out`.
pub fn write_device(out: &mut impl Write, device: &[u8]) -> io::Result<()> {
    out.write_all(device)?;
    out.write_all(&[section::DESCRIPTION])?;
    out.write_all(&2u32.to_be_bytes())?;
    out.write_all(b"{}")
}

fn write_pages(out: &mut impl Write, name: &str, content: &[u8]) -> io::Result<()> {
    let zero = [0u8; PAGE_BYTES];
    for (index, page) in content.chunks_exact(PAGE_BYTES).enumerate() {
        let offset = (index * PAGE_BYTES) as u64;
        let empty = page == zero;
        let kind = if empty { ram::ZERO } else { ram::PAGE };
        let follows = if index == 0 { 0 } else { ram::CONTINUE };
        out.write_all(&(offset | kind | follows).to_be_bytes())?;
        if index == 0 {
            write_name(out, name)?;
        }
        if empty {
            out.write_all(&[0])?;
        } else {
            out.write_all(page)?;
        }
    }
    Ok(())
}

fn write_name(out: &mut impl Write, name: &str) -> io::Result<()> {
    let len = u8::try_from(name.len()).map_err(|_| invalid("block name is too long"))?;
    out.write_all(&[len])?;
    out.write_all(name.as_bytes())
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}
