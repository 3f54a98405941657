//! The GPU device: resources, contexts and scanouts, and what each command does to them.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hesper_front::{Arena, Blob};
use hesper_log::guest_warn;

use crate::display::{Display, Source, View};
use crate::front_api::{FrontApi, FrontError};
use crate::live::{Change, Left, Live, LiveError};
use crate::pending::Waiting;
use crate::pixels::{self, Format};
use crate::protocol::{
    CAPSET_VENUS, Command, FLAG_FENCE, FLAG_INFO_RING_IDX, Header, RINGS_MAX, Rect, Refusal, Reply,
    SCANOUTS_MAX, Segment, resp,
};
use crate::tables::{
    BACKING_TOTAL_MAX, BlobLayout, CONTEXTS_MAX, Context, CursorState, IMAGE_BYTES_MAX, Kind,
    RESOURCES_MAX, Resource, ScanoutState, Tables, new_pixels,
};
use crate::vring::AtomicMemory;
use crate::window::Window;

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

/// How much one VM may have. What is past it is answered with
/// `VIRTIO_GPU_RESP_ERR_OUT_OF_MEMORY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceLimits {
    /// Contexts, 64 at most.
    pub contexts_max: usize,
    /// Resources, 65,536 at most.
    pub resources_max: usize,
    /// Blobs mapped into the window.
    pub maps_max: usize,
}

impl Default for DeviceLimits {
    fn default() -> Self {
        Self {
            contexts_max: CONTEXTS_MAX,
            resources_max: RESOURCES_MAX,
            // Below what QEMU takes: each may cost it a memory slot.
            maps_max: 4096,
        }
    }
}

/// The device behind the queues.
pub struct Gpu {
    pub(crate) front: Arc<dyn FrontApi>,
    pub(crate) window: Arc<dyn Window>,
    display: Arc<Display>,
    memory: AtomicMemory,
    pub(crate) arena: OnceLock<Arena>,
    capset: OnceLock<Vec<u8>>,
    tables: Mutex<Tables>,
    live: Arc<Live>,
    pub(crate) limits: DeviceLimits,
}

impl Gpu {
    /// A device with nothing in it.
    pub fn new(
        front: Arc<dyn FrontApi>,
        window: Arc<dyn Window>,
        display: Arc<Display>,
        memory: AtomicMemory,
        live: Arc<Live>,
        limits: DeviceLimits,
    ) -> Self {
        Self {
            front,
            window,
            display,
            memory,
            arena: OnceLock::new(),
            capset: OnceLock::new(),
            tables: Mutex::default(),
            live,
            limits,
        }
    }

    /// Takes over the arena, and, with `left`, what a process has left in it that has died:
    /// returned, if there is any.
    ///
    /// # Errors
    /// When the front refuses it.
    pub fn attach_arena(&self, arena: Arena, left: bool) -> Result<Option<Left>, FrontError> {
        if let Some(known) = self.arena.get() {
            // Only the channel was opened again.
            let same =
                (known.mapping.len(), known.window_len) == (arena.mapping.len(), arena.window_len);
            return if left && same {
                Ok(None)
            } else {
                Err(FrontError::Other("The arena came twice".into()))
            };
        }
        self.front.attach_arena(arena.clone())?;
        let taken = if left {
            self.take_over(&arena)
                .inspect_err(|error| tracing::error!(%error, "What was left can't be used"))
                .ok()
        } else {
            None
        };
        if taken.is_none()
            && let Err(error) = self.live.start(&arena)
        {
            tracing::info!(%error, "A crash would lose the guest's display");
        }
        // Nobody else sets it: HELLOs are worked off one by one.
        let _ = self.arena.set(arena);
        Ok(taken)
    }

    fn take_over(&self, arena: &Arena) -> Result<Left, LiveError> {
        let mut left = self.live.take_over(arena)?;
        let mut blobs = Vec::new();
        for (res_id, resource) in &left.tables.resources {
            if let Kind::Host { offset, len, .. } = resource.kind {
                blobs.push((*res_id, Blob { offset, len }));
            }
        }
        self.front
            .adopt_blobs(&blobs)
            .map_err(|error| LiveError::Damaged(error.to_string()))?;
        for ring in &left.rings {
            // Its program polls it, and would wait for long.
            if let Some(Kind::Host { offset, len, .. }) =
                left.tables.resources.get(&ring.res_id).map(|r| &r.kind)
                && let Err(error) = arena.set_ring_fatal(
                    &Blob {
                        offset: *offset,
                        len: *len,
                    },
                    ring.status,
                )
            {
                tracing::debug!(%error, "A ring that was left");
            }
        }
        for context in left.tables.contexts.values_mut() {
            context.lost = context.venus;
        }
        *self.tables() = left.tables.clone();
        Ok(left)
    }

    /// The Venus capability set, if the front has one.
    pub fn capset(&self) -> Option<&[u8]> {
        if self.capset.get().is_none() {
            match self.front.capset() {
                Ok(capset) => {
                    // Only this thread or one with the same bytes can have been faster.
                    let _ = self.capset.set(capset);
                }
                Err(error) => guest_warn!(%error, "No capability set"),
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
            Command::AssignUuid { res_id } => self.assign_uuid(res_id)?,
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
                if let Some(cursor) = &mut self.tables().cursor {
                    cursor.position = (x, y);
                }
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
                let mut tables = self.tables();
                let image = if res_id == 0 {
                    None
                } else {
                    Some(tables.cursor_image(res_id)?)
                };
                let cursor = CursorState {
                    scanout_id,
                    res_id,
                    position: (x, y),
                    hot_spot: (hot_x, hot_y),
                };
                let before = tables.cursor.replace(cursor);
                if before.is_none_or(|before| {
                    let position = cursor.position;
                    CursorState { position, ..before } != cursor
                }) {
                    self.live.note(&tables, &Change::Cursor(Some(cursor)));
                }
                drop(tables);
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
        if self.lost_contexts().contains(&ctx_id) {
            return Err(FrontError::Lost);
        }
        self.front.create_fence(ctx_id, ring_idx, fence_id)
    }

    /// Contexts whose process died with the one before this.
    pub fn lost_contexts(&self) -> Vec<u32> {
        let tables = self.tables();
        let lost = tables.contexts.iter().filter(|(_, context)| context.lost);
        lost.map(|(ctx_id, _)| *ctx_id).collect()
    }

    /// Drops everything; the front does the same.
    pub fn reset(&self) {
        self.front.reset();
        let mut tables = self.tables();
        *tables = Tables::default();
        self.live.forget_rings();
        self.live.replace(&tables);
        drop(tables);
        self.display.clear();
    }

    /// The tables as they are now.
    pub fn save(&self) -> Tables {
        self.tables().clone()
    }

    /// The front is about to load other contexts.
    pub fn forget_contexts(&self) {
        self.live.forget_rings();
    }

    /// Replaces the tables. What is in guest RAM is read by [`reload`](Self::reload).
    pub fn restore(&self, tables: Tables) {
        self.live.replace(&tables);
        *self.tables() = tables;
        self.display.clear();
    }

    /// After a restore, when guest RAM is there: images get their pixels back, and scanouts show
    /// again.
    pub fn reload(&self) {
        let mut tables = self.tables();
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
        if let Some(cursor) = tables.cursor {
            let image = tables.cursor_image(cursor.res_id).ok();
            self.display
                .set_cursor(cursor.scanout_id, cursor.position, cursor.hot_spot, image);
        }
    }

    pub(crate) fn note_resource(&self, tables: &Tables, res_id: u32) {
        let change = match tables.resources.get(&res_id) {
            Some(resource) => Change::Resource(res_id, resource.clone()),
            None => Change::Unref(res_id),
        };
        self.live.note(tables, &change);
    }

    pub(crate) fn tables(&self) -> MutexGuard<'_, Tables> {
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
                let mut tables = self.tables();
                tables.resource(res_id)?.backing = Arc::default();
                self.note_resource(&tables, res_id);
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
                let mut tables = self.tables();
                let context = tables.contexts.remove(&ctx_id);
                let context = context.ok_or(Refusal::ContextId)?;
                self.live.note(&tables, &Change::Destroy(ctx_id));
                drop(tables);
                if context.venus && !context.lost {
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
            | Command::AssignUuid { .. }
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
        tables.check_new(res_id, &self.limits)?;
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
                uuid: None,
            },
        );
        self.note_resource(&tables, res_id);
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
        self.note_resource(&tables, res_id);
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
            self.live.note(&tables, &Change::Scanout(scanout_id, None));
            self.display.set_scanout(scanout_id, None);
            return Ok(());
        }
        let view = self.view(&tables, &scanout)?;
        tables.scanouts[scanout_id as usize] = Some(scanout);
        let change = Change::Scanout(scanout_id, Some(scanout));
        self.live.note(&tables, &change);
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
        let mut hidden = Vec::new();
        for (scanout_id, scanout) in (0..).zip(&mut tables.scanouts) {
            if scanout.as_ref().is_some_and(|shown| shown.res_id == res_id) {
                *scanout = None;
                self.display.set_scanout(scanout_id, None);
                hidden.push(scanout_id);
            }
        }
        for scanout_id in hidden {
            self.live.note(&tables, &Change::Scanout(scanout_id, None));
        }
        self.note_resource(&tables, res_id);
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
        if tables.contexts.len() >= self.limits.contexts_max.min(CONTEXTS_MAX) {
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
            lost: false,
        };
        tables.contexts.insert(ctx_id, context.clone());
        self.live.note(&tables, &Change::Context(ctx_id, context));
        Ok(())
    }

    fn attach(&self, ctx_id: u32, res_id: u32) -> Result<(), Refusal> {
        let mut tables = self.tables();
        let host = matches!(tables.resource(res_id)?.kind, Kind::Host { .. });
        let context = tables.contexts.get_mut(&ctx_id).ok_or(Refusal::ContextId)?;
        // The front knows host blobs only.
        if context.attached.insert(res_id) && host && context.venus && !context.lost {
            self.front.attach_resource(ctx_id, res_id)?;
        }
        Ok(())
    }

    fn detach(&self, ctx_id: u32, res_id: u32) -> Result<(), Refusal> {
        let mut tables = self.tables();
        let host = matches!(tables.resource(res_id)?.kind, Kind::Host { .. });
        let context = tables.contexts.get_mut(&ctx_id).ok_or(Refusal::ContextId)?;
        if context.attached.remove(&res_id) && host && context.venus && !context.lost {
            self.front.detach_resource(ctx_id, res_id)?;
        }
        Ok(())
    }
}

fn check_scanout(scanout_id: u32) -> Result<(), Refusal> {
    if scanout_id as usize >= SCANOUTS_MAX {
        return Err(Refusal::ScanoutId);
    }
    Ok(())
}
