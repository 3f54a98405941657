//! Pixels of 2D resources and how they come out of guest RAM.

use std::ops::Deref;

use vm_memory::{Bytes, GuestAddress, GuestAddressSpace};

use crate::protocol::{Rect, Refusal, Segment};
use crate::vring::AtomicMemory;

/// Where the four bytes of a pixel lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Index of blue, green and red among the four bytes.
    bgr: [usize; 3],
}

impl Format {
    /// The format of a `VIRTIO_GPU_FORMAT_*` number, if there is one.
    pub fn from_wire(number: u32) -> Option<Self> {
        let bgr = match number {
            1 | 2 => [0, 1, 2],    // B8G8R8A8, B8G8R8X8
            3 | 4 => [3, 2, 1],    // A8R8G8B8, X8R8G8B8
            67 | 134 => [2, 1, 0], // R8G8B8A8, R8G8B8X8
            68 | 121 => [1, 2, 3], // X8B8G8R8, A8B8G8R8
            _ => return None,
        };
        Some(Self { bgr })
    }

    /// Turns pixels into x8r8g8b8 as a little-endian word: bytes blue, green, red, unused (the
    /// alpha byte is kept there, which cursors need).
    pub fn to_xrgb(self, pixels: &mut [u8]) {
        if self.bgr == [0, 1, 2] {
            return;
        }
        let [b, g, r] = self.bgr;
        let a = 6 - b - g - r;
        for pixel in pixels.chunks_exact_mut(4) {
            let old = [pixel[b], pixel[g], pixel[r], pixel[a]];
            pixel.copy_from_slice(&old);
        }
    }
}

/// Reads `out.len()` bytes from `offset` of a resource's backing. None when there are not as
/// many, or when they are not in guest RAM.
pub fn read_backing(
    memory: &AtomicMemory,
    backing: &[Segment],
    mut offset: u64,
    out: &mut [u8],
) -> Option<()> {
    let memory = memory.memory();
    let mut rest = out;
    for segment in backing {
        if rest.is_empty() {
            break;
        }
        let len = u64::from(segment.len);
        if offset >= len {
            offset -= len;
            continue;
        }
        let take = rest.len().min((len - offset) as usize);
        let (now, later) = rest.split_at_mut(take);
        let addr = segment.addr.checked_add(offset)?;
        memory.deref().read_slice(now, GuestAddress(addr)).ok()?;
        rest = later;
        offset = 0;
    }
    rest.is_empty().then_some(())
}

/// Copies a rectangle of a 2D resource of `width` pixels a row from its backing, whose first
/// byte for the rectangle is at `offset`.
///
/// # Errors
/// [`Refusal::Parameter`] when the rectangle or its bytes are not there.
pub fn transfer(
    memory: &AtomicMemory,
    backing: &[Segment],
    (width, height): (u32, u32),
    rect: &Rect,
    offset: u64,
    pixels: &mut [u8],
) -> Result<(), Refusal> {
    if !rect.inside(width, height) {
        return Err(Refusal::Parameter);
    }
    let stride = u64::from(width) * 4;
    let row_len = rect.width as usize * 4;
    let mut row = |from: u64, at: u64, len: usize| {
        let at = usize::try_from(at).ok()?;
        let bytes = pixels.get_mut(at..at.checked_add(len)?)?;
        read_backing(memory, backing, from, bytes)
    };
    let start = u64::from(rect.y) * stride + u64::from(rect.x) * 4;
    if rect.width == width {
        let len = row_len
            .checked_mul(rect.height as usize)
            .ok_or(Refusal::Parameter)?;
        return row(offset, start, len).ok_or(Refusal::Parameter);
    }
    for line in 0..u64::from(rect.height) {
        let from = offset
            .checked_add(line * stride)
            .ok_or(Refusal::Parameter)?;
        row(from, start + line * stride, row_len).ok_or(Refusal::Parameter)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vring::Memory;

    fn memory() -> AtomicMemory {
        let memory = Memory::from_ranges(&[(GuestAddress(0x1000), 0x10000)]).unwrap();
        let bytes: Vec<u8> = (0..0x10000u32).map(|at| (at / 4 % 251) as u8).collect();
        memory.write_slice(&bytes, GuestAddress(0x1000)).unwrap();
        AtomicMemory::new(memory)
    }

    #[test]
    fn formats_all_come_out_as_blue_green_red() {
        for (number, bytes) in [
            (2, [1, 2, 3, 4]),
            (4, [4, 3, 2, 1]),
            (134, [3, 2, 1, 4]),
            (68, [4, 1, 2, 3]),
        ] {
            let mut pixel = bytes;
            Format::from_wire(number).unwrap().to_xrgb(&mut pixel);
            assert_eq!(pixel, [1, 2, 3, 4], "{number}");
        }
        assert_eq!(Format::from_wire(5), None);
    }

    #[test]
    fn backing_is_read_across_its_segments() {
        let backing = [
            Segment {
                addr: 0x1000,
                len: 8,
            },
            Segment {
                addr: 0x1100,
                len: 8,
            },
        ];
        let mut out = [0; 6];
        read_backing(&memory(), &backing, 5, &mut out).unwrap();
        assert_eq!(out, [1, 1, 1, 64, 64, 64]);
        assert_eq!(read_backing(&memory(), &backing, 11, &mut out), None);
        assert_eq!(read_backing(&memory(), &backing, u64::MAX, &mut out), None);
    }

    #[test]
    fn transfer_outside_the_image_is_refused() {
        let backing = [Segment {
            addr: 0x1000,
            len: 64,
        }];
        let mut pixels = vec![0; 64];
        let rect = Rect {
            x: 1,
            y: 0,
            width: 4,
            height: 1,
        };
        let outcome = transfer(&memory(), &backing, (4, 4), &rect, 0, &mut pixels);
        assert_eq!(outcome, Err(Refusal::Parameter));
    }

    #[test]
    fn transfer_of_a_part_keeps_the_rest() {
        let backing = [Segment {
            addr: 0x1000,
            len: 64,
        }];
        let mut pixels = vec![0xee; 64];
        let rect = Rect {
            x: 1,
            y: 1,
            width: 2,
            height: 2,
        };
        transfer(&memory(), &backing, (4, 4), &rect, 20, &mut pixels).unwrap();
        let texels: Vec<u8> = pixels.chunks(4).map(|texel| texel[0]).collect();
        assert_eq!(
            texels,
            [
                0xee, 0xee, 0xee, 0xee, 0xee, 5, 6, 0xee, 0xee, 9, 10, 0xee, 0xee, 0xee, 0xee, 0xee
            ]
        );
    }
}
