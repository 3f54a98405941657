//! Mappings of shared files.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};

use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, FcntlArg, SealFlag, fallocate, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::statfs::{HUGETLBFS_MAGIC, TMPFS_MAGIC, fstatfs};
use nix::unistd::{Whence, lseek};
use vm_memory::mmap::MmapRegionBuilder;
use vm_memory::{FileOffset, MmapRegion, VolatileMemory, VolatileSlice};

use crate::MemoryError;

/// A memory file of `len` bytes whose size is sealed: nobody can truncate it under a mapping.
///
/// # Errors
/// [`MemoryError::File`] with the kernel's answer.
pub fn memfd(name: &str, len: u64) -> Result<File, MemoryError> {
    let file = (|| -> Result<File, std::io::Error> {
        let fd: OwnedFd = memfd_create(name, MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING)?;
        let file = File::from(fd);
        file.set_len(len)?;
        fcntl(
            &file,
            FcntlArg::F_ADD_SEALS(
                SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL,
            ),
        )?;
        Ok(file)
    })();
    file.map_err(|source| MemoryError::File { len, source })
}

/// A shared read-write mapping of part of a file. Cheap to clone; unmapped with the last clone.
#[derive(Clone)]
pub struct Mapping {
    region: Arc<MmapRegion>,
    file: Arc<File>,
    file_offset: u64,
}

impl std::fmt::Debug for Mapping {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mapping")
            .field("file_offset", &self.file_offset)
            .field("len", &self.len())
            .finish()
    }
}

impl Mapping {
    /// Maps `len` bytes of `file` from `offset` (both multiples of the page size), shared.
    ///
    /// # Errors
    /// [`MemoryError::Short`] when the file ends before the range does, [`MemoryError::Map`] when
    /// the kernel refuses.
    pub fn new(file: Arc<File>, offset: u64, len: u64) -> Result<Self, MemoryError> {
        let refused = |reason: String| MemoryError::Map {
            offset,
            len,
            reason,
        };
        let file_len = file
            .metadata()
            .map_err(|source| MemoryError::File { len, source })?
            .len();
        let wanted = offset
            .checked_add(len)
            .ok_or_else(|| refused("the range overflows".into()))?;
        if file_len < wanted {
            return Err(MemoryError::Short { file_len, wanted });
        }
        let size = usize::try_from(len).map_err(|e| refused(e.to_string()))?;
        let region = MmapRegionBuilder::new(size)
            .with_mmap_prot(libc::PROT_READ | libc::PROT_WRITE)
            .with_mmap_flags(libc::MAP_SHARED | libc::MAP_NORESERVE)
            .with_file_offset(FileOffset::from_arc(Arc::clone(&file), offset))
            .build()
            .map_err(|e| refused(e.to_string()))?;
        Ok(Self {
            region: Arc::new(region),
            file,
            file_offset: offset,
        })
    }

    /// Creates a sealed memory file of `len` bytes and maps it whole.
    ///
    /// # Errors
    /// See [`memfd`] and [`Mapping::new`].
    pub fn anonymous(name: &str, len: u64) -> Result<Self, MemoryError> {
        Self::new(Arc::new(memfd(name, len)?), 0, len)
    }

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        self.region.len() as u64
    }

    /// True for a mapping of no bytes (the kernel refuses those, so never).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The file behind the mapping.
    pub fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Whether the file's pages are memory and nothing else: on tmpfs, where memory files are, too, or hugetlbfs. A driver
    /// may refuse to have its device reach others, which have a disk behind them.
    pub fn is_memory(&self) -> bool {
        fstatfs(&*self.file)
            .is_ok_and(|found| [TMPFS_MAGIC, HUGETLBFS_MAGIC].contains(&found.filesystem_type()))
    }

    /// Where the mapping starts in its file, bytes.
    pub fn file_offset(&self) -> u64 {
        self.file_offset
    }

    /// Address of byte `offset`, for handing a checked range of `len` bytes to a driver.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`].
    pub fn as_ptr(&self, offset: u64, len: u64) -> Result<*mut u8, MemoryError> {
        let start = self.check(offset, len)?;
        Ok(self.region.as_ptr().wrapping_add(start))
    }

    /// Copies bytes out of the mapping, once.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`].
    pub fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), MemoryError> {
        self.slice(offset, out.len() as u64)?.copy_to(out);
        Ok(())
    }

    /// Copies bytes into the mapping.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`].
    pub fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        self.slice(offset, bytes.len() as u64)?.copy_from(bytes);
        Ok(())
    }

    /// True when the file has no data in a range: it reads as zeros, and takes no memory. A file
    /// system that knows no holes says false.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`].
    pub fn is_hole(&self, offset: u64, len: u64) -> Result<bool, MemoryError> {
        self.check(offset, len)?;
        let start = self.file_offset.saturating_add(offset);
        let end = start.saturating_add(len);
        match lseek(&self.file, start as i64, Whence::SeekData) {
            Ok(data) => Ok(data as u64 >= end),
            // No data behind `start` at all.
            Err(Errno::ENXIO) => Ok(true),
            Err(_) => Ok(false),
        }
    }

    /// Makes a page-aligned range read as zeros and gives its pages back to the kernel.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`], or [`MemoryError::File`] when the file can't have holes.
    pub fn punch_hole(&self, offset: u64, len: u64) -> Result<(), MemoryError> {
        self.check(offset, len)?;
        if len == 0 {
            return Ok(());
        }
        let start = self.file_offset.saturating_add(offset);
        fallocate(
            &self.file,
            FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE,
            start as i64,
            len as i64,
        )
        .map_err(|e| MemoryError::File {
            len,
            source: e.into(),
        })
    }

    /// A 32-bit word that another process may change at any time.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`], [`MemoryError::Misaligned`].
    pub fn atomic_u32(&self, offset: u64) -> Result<&AtomicU32, MemoryError> {
        let start = self.check(offset, 4)?;
        self.region
            .get_atomic_ref(start)
            .map_err(|_| MemoryError::Misaligned(offset))
    }

    /// A 64-bit word that another process may change at any time.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`], [`MemoryError::Misaligned`].
    pub fn atomic_u64(&self, offset: u64) -> Result<&AtomicU64, MemoryError> {
        let start = self.check(offset, 8)?;
        self.region
            .get_atomic_ref(start)
            .map_err(|_| MemoryError::Misaligned(offset))
    }

    fn slice(&self, offset: u64, len: u64) -> Result<VolatileSlice<'_>, MemoryError> {
        let start = self.check(offset, len)?;
        self.region
            .get_slice(start, len as usize)
            .map_err(|_| self.out_of_range(offset, len))
    }

    fn check(&self, offset: u64, len: u64) -> Result<usize, MemoryError> {
        match offset.checked_add(len) {
            Some(end) if end <= self.len() => Ok(offset as usize),
            _ => Err(self.out_of_range(offset, len)),
        }
    }

    fn out_of_range(&self, offset: u64, len: u64) -> MemoryError {
        MemoryError::OutOfRange {
            offset,
            len,
            mapping_len: self.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn read_after_write_returns_the_bytes() {
        let mapping = Mapping::anonymous("t", 8192).unwrap();
        mapping.write(4094, &[1, 2, 3, 4]).unwrap();
        let mut out = [0; 6];
        mapping.read(4093, &mut out).unwrap();
        assert_eq!(out, [0, 1, 2, 3, 4, 0]);
        assert_eq!(
            mapping.atomic_u32(4096).unwrap().load(Ordering::Relaxed),
            0x0403
        );
    }

    #[test]
    fn memory_files_are_memory_and_files_on_a_disk_are_not() {
        assert!(Mapping::anonymous("t", 4096).unwrap().is_memory());
        let disk = tempfile::tempfile_in("/var/tmp").unwrap();
        if fstatfs(&disk).is_ok_and(|found| found.filesystem_type() == TMPFS_MAGIC) {
            println!("SKIPPED: /var/tmp lies in memory here");
            return;
        }
        disk.set_len(4096).unwrap();
        let mapping = Mapping::new(Arc::new(disk), 0, 4096).unwrap();
        assert!(!mapping.is_memory());
    }

    #[test]
    fn access_past_the_end_is_refused() {
        let mapping = Mapping::anonymous("t", 4096).unwrap();
        assert!(mapping.read(4095, &mut [0; 2]).is_err());
        assert!(mapping.write(u64::MAX, &[0]).is_err());
        assert!(mapping.atomic_u32(4093).is_err());
        assert!(mapping.atomic_u32(4096).is_err());
        assert!(mapping.as_ptr(1, u64::MAX).is_err());
    }

    #[test]
    fn misaligned_word_is_refused() {
        let mapping = Mapping::anonymous("t", 4096).unwrap();
        assert!(matches!(
            mapping.atomic_u64(4),
            Err(MemoryError::Misaligned(4))
        ));
    }

    #[test]
    fn sealed_file_can_not_be_truncated() {
        let file = memfd("t", 4096).unwrap();
        assert!(file.set_len(0).is_err());
        assert!(file.set_len(8192).is_err());
    }

    #[test]
    fn mapping_past_the_end_of_its_file_is_refused() {
        let file = Arc::new(memfd("t", 4096).unwrap());
        assert!(matches!(
            Mapping::new(file, 4096, 4096),
            Err(MemoryError::Short { .. })
        ));
    }

    #[test]
    fn only_a_range_without_data_is_a_hole() {
        let mapping = Mapping::anonymous("t", 1 << 20).unwrap();
        assert!(mapping.is_hole(0, 1 << 20).unwrap());
        mapping.write(8192, &[1]).unwrap();
        assert!(mapping.is_hole(0, 8192).unwrap());
        assert!(!mapping.is_hole(0, 8193).unwrap());
        assert!(!mapping.is_hole(8192, 4096).unwrap());
        assert!(mapping.is_hole(12288, 4096).unwrap());
        mapping.punch_hole(8192, 4096).unwrap();
        assert!(mapping.is_hole(0, 1 << 20).unwrap());
        assert!(mapping.is_hole(0, u64::MAX).is_err());
    }

    #[test]
    fn punched_hole_reads_as_zeros() {
        let mapping = Mapping::anonymous("t", 8192).unwrap();
        mapping.write(0, &[7; 8192]).unwrap();
        mapping.punch_hole(4096, 4096).unwrap();
        let mut out = [1; 8192];
        mapping.read(0, &mut out).unwrap();
        assert!(out[..4096].iter().all(|b| *b == 7) && out[4096..].iter().all(|b| *b == 0));
    }
}
