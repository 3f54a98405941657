//! The GPU device: resources, contexts and scanouts, and what each command does to them.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hesper_front::Arena;

use crate::display::{CURSOR_SIZE, Display, Source, View};
use crate::front_api::{FrontApi, FrontError};
use crate::pending::Waiting;
use crate::pixels::{self, Format};
use crate::protocol::{
    BLOB_MEM_GUEST, BLOB_MEM_HOST3D, CAPSET_VENUS, Command, FLAG_FENCE, FLAG_INFO_RING_IDX, Header,
    MAP_CACHE_CACHED, RINGS_MAX, Rect, Refusal, Reply, SCANOUTS_MAX, Segment, resp,
};
use crate::tables::{
    BACKING_TOTAL_MAX, BlobLayout, CONTEXTS_MAX, Context, IMAGE_BYTES_MAX, Kind, RESOURCES_MAX,
    Resource, ScanoutState, Tables, new_pixels,
};
use crate::vring::AtomicMemory;
use crate::window::{Window, WindowError};

/// What a command comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is done.
    Done(Reply),
    /// It is done, but its fence of a context's timeline has not signalled.
    Fenced(Reply, Waiting),
    /// Only the front end knows the answer.
    Ask(Waiting),
}

impl From<FrontError> for Refusal {
    fn from(error: FrontError) -> Self {
        match error {
            FrontError::OutOfMemory => Refusal::OutOfMemory,
            FrontError::NoContext(_) => Refusal::ContextId,
            FrontError::NoResource(_) => Refusal::ResourceId,
            FrontError::Hung | FrontError::Lost | FrontError::Other(_) => Refusal::Unspecified,
        }
    }
}

/// The device behind the queues.
pub struct Gpu {
    front: Arc<dyn FrontApi>,
    window: Arc<dyn Window>,
    display: Arc<Display>,
    memory: AtomicMemory,
    arena: OnceLock<Arena>,
    capset: OnceLock<Vec<u8>>,
    tables: Mutex<Tables>,
}

impl Gpu {
    /// A device with nothing in it.
    pub fn new(
        front: Arc<dyn FrontApi>,
        window: Arc<dyn Window>,
        display: Arc<Display>,
        memory: AtomicMemory,
    ) -> Self {
        Self {
            front,
            window,
            display,
            memory,
            arena: OnceLock::new(),
            capset: OnceLock::new(),
            tables: Mutex::default(),
        }
    }

    /// Takes over the arena.
    ///
    /// # Errors
    /// When the front refuses it.
    pub fn attach_arena(&self, arena: Arena) -> Result<(), FrontError> {
        self.front.attach_arena(arena.clone())?;
        self.arena
            .set(arena)
            .map_err(|_| FrontError::Other("The arena came twice".into()))
    }

    /// The Venus capability set, if the front has one.
    pub fn capset(&self) -> Option<&[u8]> {
        if self.capset.get().is_none() {
            match self.front.capset() {
                Ok(capset) => {
                    // Only this thread or one with the same bytes can have been faster.
                    let _ = self.capset.set(capset);
                }
                Err(error) => tracing::warn!(%error, "No capability set"),
            }
        }
        self.capset.get().map(Vec::as_slice)
    }

    /// Executes a command of the control queue. Its fence, if it is one of a context's timeline,
    /// is still to be asked for.
    ///
    /// # Errors
    /// What to answer instead.
    pub fn control(&self, header: &Header, command: Command<'_>) -> Result<Outcome, Refusal> {
        let reply = match command {
            Command::GetDisplayInfo => return Ok(Outcome::Ask(Waiting::DisplayInfo)),
            Command::GetEdid { scanout_id } => {
                if scanout_id as usize >= SCANOUTS_MAX {
                    return Err(Refusal::ScanoutId);
                }
                return Ok(Outcome::Ask(Waiting::Edid { scanout_id }));
            }
            Command::GetCapsetInfo { index } => self.capset_info(index)?,
            Command::GetCapset { capset_id } => match self.capset() {
                Some(capset) if capset_id == CAPSET_VENUS => Reply {
                    kind: resp::OK_CAPSET,
                    body: capset.to_vec(),
                },
                _ => return Err(Refusal::Parameter),
            },
            Command::MapBlob { res_id, offset } => self.map_blob(res_id, offset)?,
            other => {
                self.change(header, other)?;
                Reply::nodata()
            }
        };
        if header.flags & (FLAG_FENCE | FLAG_INFO_RING_IDX) != FLAG_FENCE | FLAG_INFO_RING_IDX
            || header.ring_idx == 0
        {
            return Ok(Outcome::Done(reply));
        }
        let ring_idx = u32::from(header.ring_idx);
        if ring_idx >= RINGS_MAX {
            return Err(Refusal::Parameter);
        }
        Ok(Outcome::Fenced(
            reply,
            Waiting::Fence {
                ctx_id: header.ctx_id,
                ring_idx,
                fence_id: header.fence_id,
            },
        ))
    }

    /// Executes a command of the cursor queue.
    ///
    /// # Errors
    /// What to answer instead.
    pub fn cursor(&self, command: Command<'_>) -> Result<Reply, Refusal> {
        match command {
            Command::MoveCursor { scanout_id, x, y } => {
                check_scanout(scanout_id)?;
                self.display.move_cursor(scanout_id, x, y);
            }
            Command::UpdateCursor {
                scanout_id,
                x,
                y,
                res_id,
                hot_x,
                hot_y,
            } => {
                check_scanout(scanout_id)?;
                let image = if res_id == 0 {
                    None
                } else {
                    Some(self.tables().cursor_image(res_id)?)
                };
                self.display
                    .set_cursor(scanout_id, (x, y), (hot_x, hot_y), image);
            }
            _ => return Err(Refusal::Unspecified),
        }
        Ok(Reply::nodata())
    }

    /// Asks the front for a fence.
    ///
    /// # Errors
    /// As the front says.
    pub fn create_fence(
        &self,
        ctx_id: u32,
        ring_idx: u32,
        fence_id: u64,
    ) -> Result<(), FrontError> {
        self.front.create_fence(ctx_id, ring_idx, fence_id)
    }

    /// Drops everything; the front does the same.
    pub fn reset(&self) {
        self.front.reset();
        *self.tables() = Tables::default();
        self.display.clear();
    }

    /// The tables as they are now.
    pub fn save(&self) -> Tables {
        self.tables().clone()
    }

    /// Replaces the tables. What is in guest RAM is read by [`reload`](Self::reload).
    pub fn restore(&self, tables: Tables) {
        *self.tables() = tables;
        self.display.clear();
    }

    /// After a restore, when guest RAM is there: images get their pixels back, and scanouts show
    /// again.
    pub fn reload(&self) {
        let tables = self.tables();
        for (res_id, resource) in &tables.resources {
            let Kind::Image {
                width,
                height,
                pixels,
                ..
            } = &resource.kind
            else {
                continue;
            };
            if resource.backing.is_empty() {
                continue;
            }
            let whole = Rect {
                x: 0,
                y: 0,
                width: *width,
                height: *height,
            };
            let mut pixels = pixels.lock().unwrap_or_else(PoisonError::into_inner);
            let size = (*width, *height);
            if pixels::transfer(
                &self.memory,
                &resource.backing,
                size,
                &whole,
                0,
                &mut pixels,
            )
            .is_err()
            {
                tracing::debug!(res_id, "An image's backing can't be read");
            }
        }
        for (scanout_id, scanout) in (0..).zip(&tables.scanouts) {
            let view = scanout
                .as_ref()
                .and_then(|scanout| self.view(&tables, scanout).ok());
            self.display.set_scanout(scanout_id, view);
        }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn capset_info(&self, index: u32) -> Result<Reply, Refusal> {
        let capset = self.capset().ok_or(Refusal::Parameter)?;
        if index != 0 {
            return Err(Refusal::Parameter);
        }
        let words = [CAPSET_VENUS, 0, capset.len() as u32, 0];
        Ok(Reply::new(resp::OK_CAPSET_INFO, &words))
    }

    /// The commands that answer nothing but success.
    fn change(&self, header: &Header, command: Command<'_>) -> Result<(), Refusal> {
        let ctx_id = header.ctx_id;
        match command {
            Command::CreateImage {
                res_id,
                format,
                width,
                height,
            } => self.create_image(res_id, format, width, height),
            Command::Unref { res_id } => self.unref(res_id),
            Command::SetScanout {
                rect,
                scanout_id,
                res_id,
            } => self.set_scanout(
                scanout_id,
                ScanoutState {
                    res_id,
                    rect,
                    blob: None,
                },
            ),
            Command::SetScanoutBlob {
                rect,
                scanout_id,
                res_id,
                width,
                height,
                format,
                stride,
                offset,
            } => self.set_scanout(
                scanout_id,
                ScanoutState {
                    res_id,
                    rect,
                    blob: Some(BlobLayout {
                        width,
                        height,
                        format,
                        stride,
                        offset,
                    }),
                },
            ),
            Command::Flush { rect, res_id } => self.flush(res_id, &rect),
            Command::Transfer {
                rect,
                offset,
                res_id,
            } => self.transfer(res_id, &rect, offset),
            Command::AttachBacking { res_id, backing } => self.attach_backing(res_id, backing),
            Command::DetachBacking { res_id } => {
                self.tables().resource(res_id)?.backing = Arc::default();
                Ok(())
            }
            Command::CreateBlob {
                res_id,
                blob_mem,
                blob_id,
                size,
                backing,
            } => self.create_blob(ctx_id, res_id, blob_mem, blob_id, size, backing),
            Command::UnmapBlob { res_id } => self.unmap_blob(res_id),
            Command::CreateContext { capset_id, name } => {
                self.create_context(ctx_id, capset_id, &name)
            }
            Command::DestroyContext => {
                let context = self.tables().contexts.remove(&ctx_id);
                if context.ok_or(Refusal::ContextId)?.venus {
                    self.front.destroy_context(ctx_id)?;
                }
                Ok(())
            }
            Command::AttachResource { res_id } => self.attach(ctx_id, res_id),
            Command::DetachResource { res_id } => self.detach(ctx_id, res_id),
            Command::Submit { stream } => {
                self.tables().venus_context(ctx_id)?;
                if stream.is_empty() {
                    return Ok(());
                }
                Ok(self.front.submit(ctx_id, stream)?)
            }
            Command::GetDisplayInfo
            | Command::GetEdid { .. }
            | Command::GetCapsetInfo { .. }
            | Command::GetCapset { .. }
            | Command::MapBlob { .. }
            | Command::UpdateCursor { .. }
            | Command::MoveCursor { .. } => Err(Refusal::Unspecified),
        }
    }

    fn create_image(
        &self,
        res_id: u32,
        format: u32,
        width: u32,
        height: u32,
    ) -> Result<(), Refusal> {
        Format::from_wire(format).ok_or(Refusal::Parameter)?;
        if width == 0 || height == 0 {
            return Err(Refusal::Parameter);
        }
        let mut tables = self.tables();
        tables.check_new(res_id)?;
        let pixels = new_pixels(width, height, IMAGE_BYTES_MAX - tables.image_bytes())
            .ok_or(Refusal::OutOfMemory)?;
        tables.resources.insert(
            res_id,
            Resource {
                kind: Kind::Image {
                    format,
                    width,
                    height,
                    pixels,
                },
                backing: Arc::default(),
            },
        );
        Ok(())
    }

    fn attach_backing(&self, res_id: u32, backing: Vec<Segment>) -> Result<(), Refusal> {
        let mut tables = self.tables();
        if tables.backing_total() + backing.len() > BACKING_TOTAL_MAX {
            return Err(Refusal::OutOfMemory);
        }
        let resource = tables.resource(res_id)?;
        if matches!(resource.kind, Kind::Host { .. }) || !resource.backing.is_empty() {
            return Err(Refusal::Unspecified);
        }
        resource.backing = Arc::new(backing);
        Ok(())
    }

    fn transfer(&self, res_id: u32, rect: &Rect, offset: u64) -> Result<(), Refusal> {
        let mut tables = self.tables();
        let resource = tables.resource(res_id)?;
        match &resource.kind {
            Kind::Image {
                width,
                height,
                pixels,
                ..
            } => {
                let mut pixels = pixels.lock().unwrap_or_else(PoisonError::into_inner);
                pixels::transfer(
                    &self.memory,
                    &resource.backing,
                    (*width, *height),
                    rect,
                    offset,
                    &mut pixels,
                )
            }
            // A blob is looked at where it is.
            Kind::Guest { .. } | Kind::Host { .. } => Ok(()),
        }
    }

    fn set_scanout(&self, scanout_id: u32, scanout: ScanoutState) -> Result<(), Refusal> {
        check_scanout(scanout_id)?;
        let mut tables = self.tables();
        if scanout.res_id == 0 {
            tables.scanouts[scanout_id as usize] = None;
            self.display.set_scanout(scanout_id, None);
            return Ok(());
        }
        let view = self.view(&tables, &scanout)?;
        tables.scanouts[scanout_id as usize] = Some(scanout);
        self.display.set_scanout(scanout_id, Some(view));
        Ok(())
    }

    fn view(&self, tables: &Tables, scanout: &ScanoutState) -> Result<View, Refusal> {
        let resource = tables
            .resources
            .get(&scanout.res_id)
            .ok_or(Refusal::ResourceId)?;
        let rect = scanout.rect;
        if rect.width == 0 || rect.height == 0 {
            return Err(Refusal::Parameter);
        }
        let (source, format, size, stride, base, len) = match (&resource.kind, &scanout.blob) {
            (
                Kind::Image {
                    format,
                    width,
                    height,
                    pixels,
                },
                None,
            ) => {
                let stride = u64::from(*width) * 4;
                let source = Source::Image(Arc::clone(pixels));
                let len = stride * u64::from(*height);
                (source, *format, (*width, *height), stride, 0, len)
            }
            (Kind::Guest { size }, Some(layout)) => {
                let source = Source::Guest(self.memory.clone(), Arc::clone(&resource.backing));
                let stride = layout.stride.into();
                (source, layout.format, layout.size(), stride, 0, *size)
            }
            (Kind::Host { offset, len, .. }, Some(layout)) => {
                let arena = self.arena.get().ok_or(Refusal::Unspecified)?;
                let source = Source::Arena(arena.mapping.clone());
                let stride = layout.stride.into();
                (source, layout.format, layout.size(), stride, *offset, *len)
            }
            _ => return Err(Refusal::Parameter),
        };
        let format = Format::from_wire(format).ok_or(Refusal::Parameter)?;
        // In 128 bits, for a blob's layout is whatever the guest says.
        let wide = |value: u32| u128::from(value);
        let start = scanout.blob.map_or(0, |layout| wide(layout.offset))
            + wide(rect.y) * u128::from(stride)
            + wide(rect.x) * 4;
        let end = start + wide(rect.height - 1) * u128::from(stride) + wide(rect.width) * 4;
        if !rect.inside(size.0, size.1) || stride < u64::from(size.0) * 4 || end > u128::from(len) {
            return Err(Refusal::Parameter);
        }
        let start = u64::try_from(start).map_err(|_| Refusal::Parameter)?;
        Ok(View {
            source,
            format,
            offset: base.checked_add(start).ok_or(Refusal::Parameter)?,
            stride,
            width: rect.width,
            height: rect.height,
        })
    }

    fn flush(&self, res_id: u32, rect: &Rect) -> Result<(), Refusal> {
        let tables = self.tables();
        if !tables.resources.contains_key(&res_id) {
            return Err(Refusal::ResourceId);
        }
        for (scanout_id, scanout) in (0..).zip(&tables.scanouts) {
            if let Some(scanout) = scanout
                && scanout.res_id == res_id
                && let Some(shown) = rect.intersection(&scanout.rect)
            {
                let moved = Rect {
                    x: shown.x - scanout.rect.x,
                    y: shown.y - scanout.rect.y,
                    ..shown
                };
                self.display.flush(scanout_id, moved);
            }
        }
        Ok(())
    }

    fn create_blob(
        &self,
        ctx_id: u32,
        res_id: u32,
        blob_mem: u32,
        blob_id: u64,
        size: u64,
        backing: Vec<Segment>,
    ) -> Result<(), Refusal> {
        if size == 0 {
            return Err(Refusal::Parameter);
        }
        let mut tables = self.tables();
        tables.check_new(res_id)?;
        let resource = match blob_mem {
            BLOB_MEM_GUEST => {
                if tables.backing_total() + backing.len() > BACKING_TOTAL_MAX {
                    return Err(Refusal::OutOfMemory);
                }
                let held: u64 = backing.iter().map(|segment| u64::from(segment.len)).sum();
                if held < size {
                    return Err(Refusal::Parameter);
                }
                Resource {
                    kind: Kind::Guest { size },
                    backing: Arc::new(backing),
                }
            }
            BLOB_MEM_HOST3D => {
                tables.venus_context(ctx_id)?;
                let blob = self.front.create_blob(ctx_id, res_id, blob_id, size)?;
                Resource {
                    kind: Kind::Host {
                        offset: blob.offset,
                        len: blob.len,
                        window: None,
                    },
                    backing: Arc::default(),
                }
            }
            _ => return Err(Refusal::Parameter),
        };
        tables.resources.insert(res_id, resource);
        Ok(())
    }

    fn map_blob(&self, res_id: u32, offset: u64) -> Result<Reply, Refusal> {
        let (arena_offset, len) = match self.tables().resource(res_id)?.kind {
            Kind::Host {
                offset,
                len,
                window: None,
            } => (offset, len),
            _ => return Err(Refusal::Parameter),
        };
        let window_len = self.arena.get().map_or(0, |arena| arena.window_len);
        let fits = offset.checked_add(len).is_some_and(|end| end <= window_len);
        if !offset.is_multiple_of(hesper_memory::PAGE_SIZE) || !fits {
            return Err(Refusal::Parameter);
        }
        // Without the lock: QEMU's answer may come late.
        self.window
            .map(arena_offset, offset, len)
            .map_err(|error| {
                tracing::warn!(res_id, offset, len, %error, "Mapping a blob");
                match error {
                    WindowError::Refused(_) => Refusal::Parameter,
                    _ => Refusal::Unspecified,
                }
            })?;
        match self.tables().resource(res_id)?.kind {
            Kind::Host { ref mut window, .. } => *window = Some(offset),
            _ => return Err(Refusal::Unspecified),
        }
        Ok(Reply::new(resp::OK_MAP_INFO, &[MAP_CACHE_CACHED, 0]))
    }

    fn unmap_blob(&self, res_id: u32) -> Result<(), Refusal> {
        let (offset, len) = match self.tables().resource(res_id)?.kind {
            Kind::Host {
                len,
                window: Some(offset),
                ..
            } => (offset, len),
            _ => return Err(Refusal::Parameter),
        };
        match self.window.unmap(offset, len) {
            // It is gone, and that is what counts.
            Ok(()) | Err(WindowError::Refused(_)) => {}
            Err(error) => {
                tracing::warn!(res_id, %error, "Unmapping a blob");
                return Err(Refusal::Unspecified);
            }
        }
        if let Kind::Host { ref mut window, .. } = self.tables().resource(res_id)?.kind {
            *window = None;
        }
        Ok(())
    }

    fn unref(&self, res_id: u32) -> Result<(), Refusal> {
        let mapped = matches!(
            self.tables().resource(res_id)?.kind,
            Kind::Host {
                window: Some(_),
                ..
            }
        );
        if mapped {
            // Its range must not be handed out again while the guest can see it.
            self.unmap_blob(res_id)?;
        }
        let mut tables = self.tables();
        let resource = tables.resources.remove(&res_id);
        for (scanout_id, scanout) in (0..).zip(&mut tables.scanouts) {
            if scanout.as_ref().is_some_and(|shown| shown.res_id == res_id) {
                *scanout = None;
                self.display.set_scanout(scanout_id, None);
            }
        }
        for context in tables.contexts.values_mut() {
            context.attached.remove(&res_id);
        }
        match resource.map(|resource| resource.kind) {
            Some(Kind::Host { .. }) => Ok(self.front.unref_resource(res_id)?),
            _ => Ok(()),
        }
    }

    fn create_context(&self, ctx_id: u32, capset_id: u32, name: &str) -> Result<(), Refusal> {
        if ![0, CAPSET_VENUS].contains(&capset_id) {
            return Err(Refusal::Parameter);
        }
        let mut tables = self.tables();
        if ctx_id == 0 || tables.contexts.contains_key(&ctx_id) {
            return Err(Refusal::ContextId);
        }
        if tables.contexts.len() >= CONTEXTS_MAX {
            return Err(Refusal::OutOfMemory);
        }
        let venus = capset_id == CAPSET_VENUS;
        if venus {
            self.front.create_context(ctx_id, name)?;
        }
        let context = Context {
            venus,
            name: name.into(),
            attached: Default::default(),
        };
        tables.contexts.insert(ctx_id, context);
        Ok(())
    }

    fn attach(&self, ctx_id: u32, res_id: u32) -> Result<(), Refusal> {
        let mut tables = self.tables();
        let host = matches!(tables.resource(res_id)?.kind, Kind::Host { .. });
        let context = tables.contexts.get_mut(&ctx_id).ok_or(Refusal::ContextId)?;
        // The front knows host blobs only.
        if context.attached.insert(res_id) && host && context.venus {
            self.front.attach_resource(ctx_id, res_id)?;
        }
        Ok(())
    }

    fn detach(&self, ctx_id: u32, res_id: u32) -> Result<(), Refusal> {
        let mut tables = self.tables();
        let host = matches!(tables.resource(res_id)?.kind, Kind::Host { .. });
        let context = tables.contexts.get_mut(&ctx_id).ok_or(Refusal::ContextId)?;
        if context.attached.remove(&res_id) && host && context.venus {
            self.front.detach_resource(ctx_id, res_id)?;
        }
        Ok(())
    }
}

impl Tables {
    fn resource(&mut self, res_id: u32) -> Result<&mut Resource, Refusal> {
        self.resources.get_mut(&res_id).ok_or(Refusal::ResourceId)
    }

    fn venus_context(&self, ctx_id: u32) -> Result<(), Refusal> {
        match self.contexts.get(&ctx_id) {
            Some(context) if context.venus => Ok(()),
            Some(_) => Err(Refusal::Parameter),
            None => Err(Refusal::ContextId),
        }
    }

    fn check_new(&self, res_id: u32) -> Result<(), Refusal> {
        if res_id == 0 || self.resources.contains_key(&res_id) {
            return Err(Refusal::ResourceId);
        }
        if self.resources.len() >= RESOURCES_MAX {
            return Err(Refusal::OutOfMemory);
        }
        Ok(())
    }

    fn cursor_image(&mut self, res_id: u32) -> Result<Vec<u8>, Refusal> {
        match &self.resource(res_id)?.kind {
            Kind::Image {
                format,
                width: CURSOR_SIZE,
                height: CURSOR_SIZE,
                pixels,
            } => {
                let pixels = pixels.lock().unwrap_or_else(PoisonError::into_inner);
                let mut image = pixels.clone();
                Format::from_wire(*format)
                    .ok_or(Refusal::Parameter)?
                    .to_xrgb(&mut image);
                Ok(image)
            }
            _ => Err(Refusal::Parameter),
        }
    }
}

fn check_scanout(scanout_id: u32) -> Result<(), Refusal> {
    if scanout_id as usize >= SCANOUTS_MAX {
        return Err(Refusal::ScanoutId);
    }
    Ok(())
}
