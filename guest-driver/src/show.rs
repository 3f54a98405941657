//! `show`: a picture that the host knows, on a display of the virtual GPU, through the kernel's
//! mode setting. The pattern's pixel at (x, y) is red x, green y, blue x ^ y, each modulo 256.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::time::Duration;

use clap::Args;

use crate::drm;
use crate::error::Error;
use crate::vulkan::graphics::{Graphics, SIDE};

/// Options of `show`.
#[derive(Args)]
pub struct Options {
    /// Which display, from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    scanout: usize,
    /// Show a guest blob instead of a 2D resource
    #[arg(long)]
    blob: bool,
    /// Put a picture that the virtual GPU renders into the top left corner
    #[arg(long)]
    rendered: bool,
    /// End after this time
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    seconds: u64,
}

/// Shows it until the time is over or somebody ends the process.
pub fn run(options: &Options) -> Result<bool, Error> {
    let path = drm::nodes()
        .into_iter()
        .map(|node| node.path)
        .find(|path| path.to_string_lossy().contains("card"))
        .ok_or_else(|| Error::Option("There is no DRM card".into()))?;
    let file = File::options()
        .read(true)
        .write(true)
        .open(&path)
        .map_err(|error| kernel("open", error))?;
    let card = Card { file };
    let (connector, crtc, mode) = card.output(options.scanout)?;
    let (width, height) = (u32::from(mode.hdisplay), u32::from(mode.vdisplay));
    let buffer = if options.blob {
        card.blob(width, height)?
    } else {
        card.dumb(width, height)?
    };
    let picture = if options.rendered {
        Some(rendered()?)
    } else {
        None
    };
    let rows = card.map(&buffer)?;
    for (y, row) in (0u32..).zip(rows.chunks_exact_mut(buffer.pitch as usize)) {
        for (x, pixel) in (0u32..width).zip(row.chunks_exact_mut(4)) {
            pixel.copy_from_slice(&[(x ^ y) as u8, y as u8, x as u8, 0]);
        }
    }
    if let Some(picture) = &picture {
        let side = SIDE as usize;
        let texels = picture.chunks_exact(side * 4);
        for (row, texels) in rows.chunks_exact_mut(buffer.pitch as usize).zip(texels) {
            for (pixel, texel) in row.chunks_exact_mut(4).zip(texels.chunks_exact(4)) {
                pixel.copy_from_slice(&[texel[2], texel[1], texel[0], 0]);
            }
        }
    }
    card.show(&buffer, (connector, crtc, mode), (width, height))?;
    println!("show: {width}x{height} on display {}", options.scanout);
    std::thread::sleep(Duration::from_secs(options.seconds));
    Ok(true)
}

/// The first picture of the graphics self-test, red, green, blue, alpha.
fn rendered() -> Result<Vec<u8>, Error> {
    let graphics = Graphics::open(None)?;
    let mut first = None;
    graphics.pictures(|_, content| {
        first.get_or_insert_with(|| content.to_vec());
    })?;
    first.ok_or_else(|| Error::Option("Nothing was rendered".into()))
}

fn kernel(call: &str, error: std::io::Error) -> Error {
    Error::Option(format!("DRM {call}: {error}"))
}

/// `struct drm_mode_modeinfo`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Mode {
    clock: u32,
    hdisplay: u16,
    hsync: [u16; 4],
    vdisplay: u16,
    vsync: [u16; 4],
    vrefresh: u32,
    flags: u32,
    kind: u32,
    name: [u8; 32],
}

/// `struct drm_mode_card_res`.
#[repr(C)]
#[derive(Default)]
struct Resources {
    /// Framebuffers, CRTCs, connectors, encoders: addresses of the lists, then their lengths.
    lists: [u64; 4],
    counts: [u32; 4],
    limits: [u32; 4],
}

/// `struct drm_mode_get_connector`.
#[repr(C)]
#[derive(Default)]
struct Connector {
    encoders_ptr: u64,
    modes_ptr: u64,
    props_ptr: u64,
    values_ptr: u64,
    count_modes: u32,
    count_props: u32,
    count_encoders: u32,
    encoder_id: u32,
    connector_id: u32,
    rest: [u32; 7],
}

/// `struct drm_mode_crtc`.
#[repr(C)]
#[derive(Default)]
struct Crtc {
    connectors_ptr: u64,
    count_connectors: u32,
    crtc_id: u32,
    fb_id: u32,
    x: u32,
    y: u32,
    gamma_size: u32,
    mode_valid: u32,
    mode: Mode,
}

/// `struct drm_mode_fb_cmd`.
#[repr(C)]
#[derive(Default)]
struct Framebuffer {
    fb_id: u32,
    width: u32,
    height: u32,
    pitch: u32,
    bpp: u32,
    depth: u32,
    handle: u32,
}

/// `struct drm_mode_fb_dirty_cmd`.
#[repr(C)]
#[derive(Default)]
struct Dirty {
    fb_id: u32,
    flags: u32,
    color: u32,
    num_clips: u32,
    clips_ptr: u64,
}

/// `struct drm_mode_create_dumb`.
#[repr(C)]
#[derive(Default)]
struct CreateDumb {
    height: u32,
    width: u32,
    bpp: u32,
    flags: u32,
    handle: u32,
    pitch: u32,
    size: u64,
}

/// `struct drm_mode_map_dumb`.
#[repr(C)]
#[derive(Default)]
struct MapDumb {
    handle: u32,
    pad: u32,
    offset: u64,
}

/// `struct drm_virtgpu_map`.
#[repr(C)]
#[derive(Default)]
struct MapBlob {
    offset: u64,
    handle: u32,
    pad: u32,
}

/// `struct drm_virtgpu_resource_create_blob`.
#[repr(C)]
#[derive(Default)]
struct CreateBlob {
    blob_mem: u32,
    blob_flags: u32,
    handle: u32,
    res_handle: u32,
    size: u64,
    pad: u32,
    cmd_size: u32,
    cmd: u64,
    blob_id: u64,
}

/// Numbers of the ioctls, from `drm.h` and `virtgpu_drm.h`.
mod nr {
    pub const GET_RESOURCES: u8 = 0xa0;
    pub const SET_CRTC: u8 = 0xa2;
    pub const GET_CONNECTOR: u8 = 0xa7;
    pub const ADD_FB: u8 = 0xae;
    pub const DIRTY_FB: u8 = 0xb1;
    pub const CREATE_DUMB: u8 = 0xb2;
    pub const MAP_DUMB: u8 = 0xb3;
    pub const MAP_BLOB: u8 = 0x41;
    pub const CREATE_BLOB: u8 = 0x4a;
}

/// A buffer that can be shown.
struct Buffer {
    handle: u32,
    pitch: u32,
    size: u64,
    offset: u64,
}

struct Card {
    file: File,
}

impl Card {
    /// Calls the kernel with a structure that it reads and writes.
    fn call<T>(&self, name: &str, number: u8, argument: &mut T) -> Result<(), Error> {
        // _IOWR('d', number, T)
        let size = std::mem::size_of::<T>() as u64;
        let request = 3 << 30 | size << 16 | u64::from(b'd') << 8 | u64::from(number);
        // SAFETY: each caller passes the structure that the kernel's headers give this number, so
        // the kernel reads and writes inside it; what its addresses point at lives as long.
        let rc = unsafe { libc::ioctl(self.file.as_raw_fd(), request, &raw mut *argument) };
        if rc != 0 {
            return Err(kernel(name, std::io::Error::last_os_error()));
        }
        Ok(())
    }

    /// A display's connector, its CRTC and its mode. One that isn't connected gets the first one's.
    fn output(&self, index: usize) -> Result<(u32, u32, Mode), Error> {
        const LIST_MAX: usize = 64;
        let (mut crtcs, mut connectors) = ([0u32; LIST_MAX], [0u32; LIST_MAX]);
        let mut resources = Resources::default();
        resources.lists[1] = crtcs.as_mut_ptr() as u64;
        resources.lists[2] = connectors.as_mut_ptr() as u64;
        resources.counts = [0, LIST_MAX as u32, LIST_MAX as u32, 0];
        self.call("resources", nr::GET_RESOURCES, &mut resources)?;
        let counts = resources.counts;
        if index >= LIST_MAX || index >= counts[1] as usize || index >= counts[2] as usize {
            return Err(Error::Option(format!("There is no display {index}")));
        }
        let mode = match self.first_mode(connectors[index])? {
            Some(mode) => Some(mode),
            None => self.first_mode(connectors[0])?,
        };
        let mode = mode.ok_or_else(|| Error::Option("No display has a mode".into()))?;
        Ok((connectors[index], crtcs[index], mode))
    }

    fn first_mode(&self, connector_id: u32) -> Result<Option<Mode>, Error> {
        // Asked for none first: that makes the kernel look what is connected.
        let mut connector = Connector {
            connector_id,
            ..Connector::default()
        };
        self.call("connector", nr::GET_CONNECTOR, &mut connector)?;
        let count = connector.count_modes;
        let mut modes = vec![Mode::default(); count as usize];
        let mut connector = Connector {
            connector_id,
            modes_ptr: modes.as_mut_ptr() as u64,
            count_modes: count,
            ..Connector::default()
        };
        self.call("connector", nr::GET_CONNECTOR, &mut connector)?;
        // More than before are counted, not written.
        Ok(modes.first().copied().filter(|mode| mode.hdisplay > 0))
    }

    fn dumb(&self, width: u32, height: u32) -> Result<Buffer, Error> {
        let mut create = CreateDumb {
            height,
            width,
            bpp: 32,
            ..CreateDumb::default()
        };
        self.call("create dumb", nr::CREATE_DUMB, &mut create)?;
        let mut map = MapDumb {
            handle: create.handle,
            ..MapDumb::default()
        };
        self.call("map dumb", nr::MAP_DUMB, &mut map)?;
        Ok(Buffer {
            handle: create.handle,
            pitch: create.pitch,
            size: create.size,
            offset: map.offset,
        })
    }

    fn blob(&self, width: u32, height: u32) -> Result<Buffer, Error> {
        const MEM_GUEST: u32 = 1;
        const USE_MAPPABLE: u32 = 1;
        let pitch = width * 4;
        let mut create = CreateBlob {
            blob_mem: MEM_GUEST,
            blob_flags: USE_MAPPABLE,
            size: (u64::from(pitch) * u64::from(height)).next_multiple_of(4096),
            ..CreateBlob::default()
        };
        self.call("create blob", nr::CREATE_BLOB, &mut create)?;
        let mut map = MapBlob {
            handle: create.handle,
            ..MapBlob::default()
        };
        self.call("map blob", nr::MAP_BLOB, &mut map)?;
        Ok(Buffer {
            handle: create.handle,
            pitch,
            size: create.size,
            offset: map.offset,
        })
    }

    /// Maps a buffer for the rest of the process' life.
    fn map(&self, buffer: &Buffer) -> Result<&'static mut [u8], Error> {
        let len = buffer.size as usize;
        // SAFETY: a new mapping at a place of the kernel's choosing.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                self.file.as_raw_fd(),
                buffer.offset as libc::off_t,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(kernel("mmap", std::io::Error::last_os_error()));
        }
        // SAFETY: the mapping has this length, is never unmapped, and nobody else in this process
        // has it.
        Ok(unsafe { std::slice::from_raw_parts_mut(address.cast(), len) })
    }

    fn show(
        &self,
        buffer: &Buffer,
        (connector, crtc_id, mode): (u32, u32, Mode),
        (width, height): (u32, u32),
    ) -> Result<(), Error> {
        let mut framebuffer = Framebuffer {
            width,
            height,
            pitch: buffer.pitch,
            bpp: 32,
            depth: 24,
            handle: buffer.handle,
            ..Framebuffer::default()
        };
        self.call("framebuffer", nr::ADD_FB, &mut framebuffer)?;
        let mut connectors = [connector];
        let mut crtc = Crtc {
            connectors_ptr: connectors.as_mut_ptr() as u64,
            count_connectors: 1,
            crtc_id,
            fb_id: framebuffer.fb_id,
            mode_valid: 1,
            mode,
            ..Crtc::default()
        };
        self.call("mode", nr::SET_CRTC, &mut crtc)?;
        let mut dirty = Dirty {
            fb_id: framebuffer.fb_id,
            ..Dirty::default()
        };
        self.call("flush", nr::DIRTY_FB, &mut dirty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_kernel_s_sizes() {
        assert_eq!(std::mem::size_of::<Mode>(), 68);
        assert_eq!(std::mem::size_of::<Resources>(), 64);
        assert_eq!(std::mem::size_of::<Connector>(), 80);
        assert_eq!(std::mem::size_of::<Crtc>(), 104);
        assert_eq!(std::mem::size_of::<Framebuffer>(), 28);
        assert_eq!(std::mem::size_of::<Dirty>(), 24);
        assert_eq!(std::mem::size_of::<CreateDumb>(), 32);
        assert_eq!(std::mem::size_of::<MapDumb>(), 16);
        assert_eq!(std::mem::size_of::<MapBlob>(), 16);
        assert_eq!(std::mem::size_of::<CreateBlob>(), 48);
    }
}
