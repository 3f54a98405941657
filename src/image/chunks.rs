//! Checksums of a shadow extent, one per chunk.

use serde::{Deserialize, Serialize};

use crate::{Extent, ImageArea, ImageError};

/// Bytes behind one checksum: the unit in which device memory is tracked.
pub const CHUNK_LEN: u64 = 65536;

/// CRC-32 (IEEE) of each 64 KiB chunk of an extent; the last chunk may be shorter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkTable {
    crc32s: Vec<u32>,
}

impl ChunkTable {
    /// The table of an extent that reads as zeros, as every fresh extent does.
    pub fn zeros(extent: Extent) -> Self {
        let whole = crc32fast::hash(&[0; CHUNK_LEN as usize]);
        let mut crc32s = vec![whole; chunk_count(extent)];
        let rest = (extent.len % CHUNK_LEN) as usize;
        if let (Some(last), true) = (crc32s.last_mut(), rest != 0) {
            *last = crc32fast::hash(&vec![0; rest]);
        }
        Self { crc32s }
    }

    /// The table of what `extent` holds now.
    ///
    /// # Errors
    /// [`ImageError::OutsideArea`].
    pub fn compute(area: &ImageArea, extent: Extent) -> Result<Self, ImageError> {
        area.check(extent.offset, extent.len)?;
        let mut table = Self {
            crc32s: vec![0; chunk_count(extent)],
        };
        for index in 0..table.crc32s.len() {
            table.update(area, extent, index)?;
        }
        Ok(table)
    }

    /// Chunks that do not read as zeros, as far as their checksums tell. Only for extents of whole
    /// chunks.
    pub fn not_zero(&self) -> impl Iterator<Item = usize> {
        let zeros = crc32fast::hash(&[0; CHUNK_LEN as usize]);
        let all = self.crc32s.iter().enumerate();
        all.filter(move |(_, crc)| **crc != zeros).map(|(at, _)| at)
    }

    /// Number of chunks.
    pub fn len(&self) -> usize {
        self.crc32s.len()
    }

    /// True for the table of an empty extent.
    pub fn is_empty(&self) -> bool {
        self.crc32s.is_empty()
    }

    /// Takes in what chunk `index` holds now.
    ///
    /// # Errors
    /// [`ImageError::ChunkCount`] when the table is not one of `extent` or has no such chunk;
    /// [`ImageError::OutsideArea`].
    pub fn update(
        &mut self,
        area: &ImageArea,
        extent: Extent,
        index: usize,
    ) -> Result<(), ImageError> {
        let chunk = self.chunk(extent, index)?;
        let crc32 = crc32fast::hash(&area.read_vec(chunk, "Chunk", CHUNK_LEN)?);
        self.crc32s[index] = crc32;
        Ok(())
    }

    /// Copies chunk `index` out and checks the copy.
    ///
    /// # Errors
    /// As [`ChunkTable::update`], and [`ImageError::Checksum`].
    pub fn read(
        &self,
        area: &ImageArea,
        extent: Extent,
        index: usize,
    ) -> Result<Vec<u8>, ImageError> {
        let chunk = self.chunk(extent, index)?;
        let bytes = area.read_vec(chunk, "Chunk", CHUNK_LEN)?;
        let (expected, found) = (self.crc32s[index], crc32fast::hash(&bytes));
        if expected != found {
            return Err(ImageError::Checksum {
                what: "Chunk",
                offset: chunk.offset,
                expected,
                found,
            });
        }
        Ok(bytes)
    }

    /// Checks every chunk.
    ///
    /// # Errors
    /// [`ImageError::Checksum`] with the first bad chunk; [`ImageError::ChunkCount`],
    /// [`ImageError::OutsideArea`].
    pub fn verify(&self, area: &ImageArea, extent: Extent) -> Result<(), ImageError> {
        area.check(extent.offset, extent.len)?;
        if self.crc32s.len() != chunk_count(extent) {
            return Err(self.mismatch(extent));
        }
        for index in 0..self.crc32s.len() {
            self.read(area, extent, index)?;
        }
        Ok(())
    }

    fn chunk(&self, extent: Extent, index: usize) -> Result<Extent, ImageError> {
        if self.crc32s.len() != chunk_count(extent) || index >= self.crc32s.len() {
            return Err(self.mismatch(extent));
        }
        // Less than the extent's length, as the index is less than the number of chunks.
        let start = index as u64 * CHUNK_LEN;
        let len = (extent.len - start).min(CHUNK_LEN);
        Ok(Extent::new(extent.offset.saturating_add(start), len))
    }

    fn mismatch(&self, extent: Extent) -> ImageError {
        ImageError::ChunkCount {
            entries: self.crc32s.len() as u64,
            len: extent.len,
        }
    }
}

fn chunk_count(extent: Extent) -> usize {
    extent.len.div_ceil(CHUNK_LEN) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use hesper_memory::Mapping;

    fn area() -> ImageArea {
        ImageArea::new(Mapping::anonymous("t", 1 << 20).unwrap(), 0, None).unwrap()
    }

    #[test]
    fn table_of_zeros_equals_the_table_of_a_fresh_extent() {
        let area = area();
        for len in [65536, 3 * 65536, 65536 + 4096] {
            let extent = Extent::new(65536, len);
            assert_eq!(
                ChunkTable::zeros(extent),
                ChunkTable::compute(&area, extent).unwrap()
            );
        }
    }

    #[test]
    fn verify_names_the_changed_chunk_until_it_is_taken_in() {
        let area = area();
        let extent = Extent::new(0x20000, 2 * CHUNK_LEN + 100);
        let mut table = ChunkTable::compute(&area, extent).unwrap();
        assert_eq!(table.len(), 3);
        area.write(extent.offset + extent.len, &[1]).unwrap();
        table.verify(&area, extent).unwrap();
        area.write(extent.offset + extent.len - 1, &[1]).unwrap();
        let last = extent.offset + 2 * CHUNK_LEN;
        assert!(matches!(
            table.verify(&area, extent),
            Err(ImageError::Checksum { offset, .. }) if offset == last
        ));
        table.update(&area, extent, 2).unwrap();
        table.verify(&area, extent).unwrap();
        assert_eq!(table.read(&area, extent, 2).unwrap().len(), 100);
    }

    #[test]
    fn table_of_another_extent_is_refused() {
        let area = area();
        let mut table = ChunkTable::compute(&area, Extent::new(0x20000, CHUNK_LEN)).unwrap();
        for extent in [
            Extent::new(0x20000, CHUNK_LEN + 1),
            Extent::new(0x20000, 0),
            Extent::new(1 << 20, CHUNK_LEN),
            Extent::new(u64::MAX, CHUNK_LEN),
        ] {
            assert!(table.verify(&area, extent).is_err(), "{extent:?}");
            assert!(table.update(&area, extent, 0).is_err(), "{extent:?}");
        }
        assert!(
            table
                .update(&area, Extent::new(0x20000, CHUNK_LEN), 1)
                .is_err()
        );
    }
}
