//! Which libraries an ELF file needs: enough of the format for x86-64 shared objects and programs.

use crate::error::{Error, Result};
use std::path::Path;

const PROGRAM_LOAD: u32 = 1;
const PROGRAM_DYNAMIC: u32 = 2;
const PROGRAM_INTERPRETER: u32 = 3;
const DYNAMIC_NEEDED: u64 = 1;
const DYNAMIC_STRINGS: u64 = 5;

/// What an ELF file asks the dynamic loader for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Library names, such as `libc.so.6`.
    pub libraries: Vec<String>,
    /// The loader's path, for programs.
    pub interpreter: Option<String>,
}

fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(size)?)?;
    Some(
        field
            .iter()
            .rev()
            .fold(0, |value, byte| value << 8 | u64::from(*byte)),
    )
}

fn text(bytes: &[u8], at: usize) -> Option<String> {
    let rest = bytes.get(at..)?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    String::from_utf8(rest[..end].to_vec()).ok()
}

/// Reads a file's needs; none if it isn't ELF at all.
pub fn needs(path: &Path, bytes: &[u8]) -> Result<Option<Needs>> {
    if !bytes.starts_with(b"\x7fELF") {
        return Ok(None);
    }
    let wrong = |why| Error::Elf {
        path: path.to_owned(),
        why,
    };
    if !bytes[4..].starts_with(&[2, 1]) {
        return Err(wrong("not 64-bit little-endian"));
    }
    parse(bytes)
        .map(Some)
        .ok_or_else(|| wrong("its headers point outside of the file"))
}

fn parse(bytes: &[u8]) -> Option<Needs> {
    let table = usize::try_from(number(bytes, 32, 8)?).ok()?;
    let entry_size = number(bytes, 54, 2)? as usize;
    let count = number(bytes, 56, 2)? as usize;

    let mut loads = Vec::new();
    let mut dynamic = None;
    let mut needs = Needs::default();
    for index in 0..count {
        let at = table.checked_add(index * entry_size)?;
        let offset = usize::try_from(number(bytes, at + 8, 8)?).ok()?;
        let address = number(bytes, at + 16, 8)?;
        let size = number(bytes, at + 32, 8)?;
        match number(bytes, at, 4)? as u32 {
            PROGRAM_LOAD => loads.push((address, size, offset)),
            PROGRAM_DYNAMIC => dynamic = Some((offset, usize::try_from(size).ok()?)),
            PROGRAM_INTERPRETER => needs.interpreter = Some(text(bytes, offset)?),
            _ => {}
        }
    }
    let Some((offset, size)) = dynamic else {
        return Some(needs);
    };

    let entries = bytes.get(offset..offset.checked_add(size)?)?;
    let entries: Vec<(u64, u64)> = entries
        .chunks_exact(16)
        .filter_map(|entry| Some((number(entry, 0, 8)?, number(entry, 8, 8)?)))
        .collect();
    let (_, strings) = entries.iter().find(|(tag, _)| *tag == DYNAMIC_STRINGS)?;
    // The table's place is an address; a load segment says where in the file that is.
    let strings = loads.iter().find_map(|(address, size, offset)| {
        let inside = strings.checked_sub(*address).filter(|i| i < size)?;
        offset.checked_add(usize::try_from(inside).ok()?)
    })?;
    for (tag, value) in entries {
        if tag == DYNAMIC_NEEDED {
            let at = strings.checked_add(usize::try_from(value).ok()?)?;
            needs.libraries.push(text(bytes, at)?);
        }
    }
    Some(needs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_own_program_names_libc_and_loader() {
        let path = std::env::current_exe().unwrap();

        let needs = needs(&path, &std::fs::read(&path).unwrap())
            .unwrap()
            .unwrap();

        assert!(needs.libraries.contains(&"libc.so.6".to_owned()));
        assert!(needs.interpreter.unwrap().contains("ld-linux"));
    }

    #[test]
    fn needs_not_elf_is_none_and_truncated_is_error() {
        let path = std::env::current_exe().unwrap();
        let bytes = std::fs::read(&path).unwrap();

        assert_eq!(needs(&path, b"#!/bin/sh\n").unwrap(), None);
        assert!(needs(&path, &bytes[..100]).is_err());
    }
}
