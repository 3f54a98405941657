//! The display: scanouts and the cursor, shown through the front end's display socket.
//!
//! A thread of its own does all of it, because a front end that is busy (or stopping) reads that
//! socket late or never, and nothing else of the device may wait for it. Flushes are merged, so
//! a slow reader costs pictures, not memory.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use hesper_memory::Mapping;
use vhost::vhost_user::GpuBackend;
use vhost::vhost_user::gpu_message::{
    VhostUserGpuCursorPos, VhostUserGpuCursorUpdate, VhostUserGpuEdidRequest, VhostUserGpuScanout,
    VhostUserGpuUpdate,
};
use vhost::vhost_user::message::VhostUserU64;
use vm_memory::ByteValued;

use crate::pending::{Completions, Waiting};
use crate::pixels::{self, Format};
use crate::protocol::{Rect, Refusal, Reply, SCANOUTS_MAX, Segment, resp};
use crate::vring::AtomicMemory;

/// `VHOST_USER_GPU_PROTOCOL_F_EDID`.
const PROTOCOL_F_EDID: u64 = 1 << 0;
/// Width and height of a cursor, pixels.
pub const CURSOR_SIZE: u32 = 64;
/// Bytes of one update message's pixels at most: what QEMU allocates at a time.
const UPDATE_LEN_MAX: u64 = 8 << 20;

/// Pixels of a 2D resource, 4 bytes each, rows without gaps.
pub type Pixels = Arc<Mutex<Vec<u8>>>;

/// Where a scanout's pixels are.
#[derive(Clone)]
pub enum Source {
    /// A 2D resource.
    Image(Pixels),
    /// A blob in the arena.
    Arena(Mapping),
    /// A blob in guest RAM.
    Guest(AtomicMemory, Arc<Vec<Segment>>),
}

/// What a scanout shows.
#[derive(Clone)]
pub struct View {
    /// The pixels.
    pub source: Source,
    /// Their layout.
    pub format: Format,
    /// Where the first byte of the top left pixel is, bytes.
    pub offset: u64,
    /// From row to row, bytes.
    pub stride: u64,
    /// Width, pixels.
    pub width: u32,
    /// Height, pixels.
    pub height: u32,
}

impl View {
    /// Reads a rectangle inside the view as rows of x8r8g8b8 pixels without gaps.
    fn read(&self, rect: &Rect) -> Option<Vec<u8>> {
        let row_len = rect.width as usize * 4;
        let mut out = vec![0; row_len.checked_mul(rect.height as usize)?];
        for (row, bytes) in (0u64..).zip(out.chunks_exact_mut(row_len)) {
            let start = (u64::from(rect.y) + row)
                .checked_mul(self.stride)?
                .checked_add(u64::from(rect.x) * 4)?
                .checked_add(self.offset)?;
            match &self.source {
                Source::Image(pixels) => {
                    let pixels = pixels.lock().unwrap_or_else(PoisonError::into_inner);
                    let start = usize::try_from(start).ok()?;
                    bytes.copy_from_slice(pixels.get(start..start.checked_add(row_len)?)?);
                }
                Source::Arena(mapping) => mapping.read(start, bytes).ok()?,
                Source::Guest(memory, backing) => {
                    pixels::read_backing(memory, backing, start, bytes)?;
                }
            }
        }
        self.format.to_xrgb(&mut out);
        Some(out)
    }
}

/// Where a cursor is, and what it looks like.
#[derive(Clone)]
struct Cursor {
    scanout_id: u32,
    x: u32,
    y: u32,
    hot_x: u32,
    hot_y: u32,
    /// 64 × 64 pixels; none hides it.
    image: Option<Box<[u8; (CURSOR_SIZE * CURSOR_SIZE * 4) as usize]>>,
}

#[derive(Default)]
struct Scanout {
    view: Option<View>,
    /// The front end does not know of `view` yet.
    changed: bool,
    dirty: Option<Rect>,
}

#[derive(Default)]
struct State {
    socket: Option<GpuBackend>,
    socket_is_new: bool,
    scanouts: [Scanout; SCANOUTS_MAX],
    cursor: Option<Cursor>,
    cursor_moved: bool,
    cursor_changed: bool,
    queries: VecDeque<(u64, Waiting)>,
    stop: bool,
}

/// The device's end of the display.
pub struct Display {
    state: Mutex<State>,
    changed: Condvar,
    completions: Arc<Completions>,
    /// There may be a front end that shows something.
    shown: bool,
}

/// One thing to tell the front end.
enum Job {
    Negotiate,
    Query(u64, Waiting),
    Scanout(u32, u32, u32),
    Update(u32, View, Rect),
    CursorImage(Cursor),
    CursorPosition(Cursor),
}

impl Display {
    /// Starts the thread. Queries are answered through `completions`: by the front end if it shows something, else with no
    /// display.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn start(completions: Arc<Completions>, shown: bool) -> std::io::Result<Arc<Self>> {
        let display = Arc::new(Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            completions,
            shown,
        });
        let showing = Arc::clone(&display);
        std::thread::Builder::new()
            .name("display".into())
            .spawn(move || showing.run())?;
        Ok(display)
    }

    /// A front end came (again): it is told everything anew.
    pub fn set_socket(&self, socket: GpuBackend) {
        let mut state = self.lock();
        state.socket = Some(socket);
        state.socket_is_new = true;
        for scanout in &mut state.scanouts {
            scanout.changed = scanout.view.is_some();
        }
        state.cursor_changed = state.cursor.is_some();
        self.changed.notify_all();
    }

    /// Shows a view on a scanout, or turns it off.
    pub fn set_scanout(&self, scanout_id: u32, view: Option<View>) {
        let mut state = self.lock();
        let Some(scanout) = state.scanouts.get_mut(scanout_id as usize) else {
            return;
        };
        if view.is_none() && scanout.view.is_none() {
            return;
        }
        scanout.view = view;
        scanout.changed = true;
        scanout.dirty = None;
        self.changed.notify_all();
    }

    /// Part of a view has new content.
    pub fn flush(&self, scanout_id: u32, rect: Rect) {
        let mut state = self.lock();
        let Some(scanout) = state.scanouts.get_mut(scanout_id as usize) else {
            return;
        };
        scanout.dirty = Some(scanout.dirty.map_or(rect, |dirty| dirty.union(&rect)));
        self.changed.notify_all();
    }

    /// Shows a cursor of 64 × 64 pixels of 4 bytes in x8r8g8b8, or hides it.
    pub fn set_cursor(
        &self,
        scanout_id: u32,
        (x, y): (u32, u32),
        (hot_x, hot_y): (u32, u32),
        image: Option<Vec<u8>>,
    ) {
        let image = image.and_then(|bytes| bytes.into_boxed_slice().try_into().ok());
        let mut state = self.lock();
        state.cursor = Some(Cursor {
            scanout_id,
            x,
            y,
            hot_x,
            hot_y,
            image,
        });
        state.cursor_changed = true;
        self.changed.notify_all();
    }

    /// Moves the cursor.
    pub fn move_cursor(&self, scanout_id: u32, x: u32, y: u32) {
        let mut state = self.lock();
        if let Some(cursor) = &mut state.cursor {
            (cursor.scanout_id, cursor.x, cursor.y) = (scanout_id, x, y);
            state.cursor_moved = true;
            self.changed.notify_all();
        }
    }

    /// Asks the front end what an open request waits for.
    pub fn query(&self, token: u64, waiting: Waiting) {
        if !self.shown {
            let none = match waiting {
                // `virtio_gpu_resp_display_info`: sixteen modes, none of them enabled.
                Waiting::DisplayInfo => Ok(Reply::new(resp::OK_DISPLAY_INFO, &[0; 16 * 6])),
                _ => Err(Refusal::Unspecified),
            };
            return self.completions.complete(token, &none);
        }
        self.lock().queries.push_back((token, waiting));
        self.changed.notify_all();
    }

    /// The guest was reset, or other state comes: nothing is shown, nothing asked.
    pub fn clear(&self) {
        let mut state = self.lock();
        state.queries.clear();
        state.cursor = None;
        for scanout in &mut state.scanouts {
            scanout.changed = scanout.view.is_some();
            scanout.view = None;
            scanout.dirty = None;
        }
        self.changed.notify_all();
    }

    /// Ends the thread, once the front end lets it.
    pub fn close(&self) {
        let mut state = self.lock();
        state.stop = true;
        state.socket = None;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut edid = false;
        while let Some((socket, job)) = self.next_job() {
            let lost_query = match &job {
                Job::Query(token, waiting) => Some((*token, waiting.clone())),
                _ => None,
            };
            if let Err(error) = self.tell(&socket, job, &mut edid) {
                tracing::debug!(%error, "Display socket");
                let mut state = self.lock();
                if !state.socket_is_new {
                    state.socket = None;
                }
                // It is asked again of the next front end.
                if let Some(query) = lost_query {
                    state.queries.push_front(query);
                }
            }
        }
    }

    fn next_job(&self) -> Option<(GpuBackend, Job)> {
        let mut state = self.lock();
        loop {
            if state.stop {
                return None;
            }
            if let Some(socket) = state.socket.clone()
                && let Some(job) = Self::take_job(&mut state)
            {
                return Some((socket, job));
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn take_job(state: &mut State) -> Option<Job> {
        if std::mem::take(&mut state.socket_is_new) {
            return Some(Job::Negotiate);
        }
        if let Some((token, waiting)) = state.queries.pop_front() {
            return Some(Job::Query(token, waiting));
        }
        for (id, scanout) in (0..).zip(&mut state.scanouts) {
            if std::mem::take(&mut scanout.changed) {
                let size = scanout.view.as_ref().map(|view| (view.width, view.height));
                let (width, height) = size.unwrap_or_default();
                scanout.dirty = size.map(|(width, height)| Rect {
                    x: 0,
                    y: 0,
                    width,
                    height,
                });
                return Some(Job::Scanout(id, width, height));
            }
            if let Some(dirty) = scanout.dirty.take()
                && let Some(view) = &scanout.view
            {
                let whole = Rect {
                    x: 0,
                    y: 0,
                    width: view.width,
                    height: view.height,
                };
                let Some(mut rect) = dirty.intersection(&whole) else {
                    continue;
                };
                let rows = (UPDATE_LEN_MAX / (u64::from(rect.width) * 4)).max(1) as u32;
                if rect.height > rows {
                    scanout.dirty = Some(Rect {
                        y: rect.y + rows,
                        height: rect.height - rows,
                        ..rect
                    });
                    rect.height = rows;
                }
                return Some(Job::Update(id, view.clone(), rect));
            }
        }
        let cursor = state.cursor.clone()?;
        if std::mem::take(&mut state.cursor_changed) {
            state.cursor_moved = false;
            return Some(Job::CursorImage(cursor));
        }
        if std::mem::take(&mut state.cursor_moved) {
            return Some(Job::CursorPosition(cursor));
        }
        None
    }

    fn tell(&self, socket: &GpuBackend, job: Job, edid: &mut bool) -> std::io::Result<()> {
        match job {
            Job::Negotiate => {
                let offered = socket.get_protocol_features()?.value;
                let taken = offered & PROTOCOL_F_EDID;
                socket.set_protocol_features(&VhostUserU64::new(taken))?;
                *edid = taken != 0;
            }
            Job::Query(token, Waiting::DisplayInfo) => {
                let info = socket.get_display_info()?;
                let mut reply = Reply::new(resp::OK_DISPLAY_INFO, &[]);
                for mode in &info.pmodes {
                    reply.body.extend(mode.as_slice());
                }
                self.completions.complete(token, &Ok(reply));
            }
            Job::Query(token, Waiting::Edid { scanout_id }) if *edid => {
                let info = socket.get_edid(&VhostUserGpuEdidRequest { scanout_id })?;
                let len = info.size.min(info.edid.len() as u32);
                let mut reply = Reply::new(resp::OK_EDID, &[len, 0]);
                reply.body.extend(info.edid);
                self.completions.complete(token, &Ok(reply));
            }
            Job::Query(token, _) => self.completions.complete(token, &Err(Refusal::Unspecified)),
            Job::Scanout(scanout_id, width, height) => {
                socket.set_scanout(&VhostUserGpuScanout {
                    scanout_id,
                    width,
                    height,
                })?;
            }
            Job::Update(scanout_id, view, rect) => match view.read(&rect) {
                Some(pixels) => {
                    let update = VhostUserGpuUpdate {
                        scanout_id,
                        x: rect.x,
                        y: rect.y,
                        width: rect.width,
                        height: rect.height,
                    };
                    socket.update_scanout(&update, &pixels)?;
                }
                None => tracing::debug!(scanout_id, "A scanout's pixels can't be read"),
            },
            Job::CursorImage(cursor) => {
                let pos = VhostUserGpuCursorPos {
                    scanout_id: cursor.scanout_id,
                    x: cursor.x,
                    y: cursor.y,
                };
                match cursor.image {
                    Some(image) => socket.cursor_update(
                        &VhostUserGpuCursorUpdate {
                            pos,
                            hot_x: cursor.hot_x,
                            hot_y: cursor.hot_y,
                        },
                        &image,
                    )?,
                    None => socket.cursor_pos_hide(&pos)?,
                }
            }
            Job::CursorPosition(cursor) => {
                let pos = VhostUserGpuCursorPos {
                    scanout_id: cursor.scanout_id,
                    x: cursor.x,
                    y: cursor.y,
                };
                if cursor.image.is_some() {
                    socket.cursor_pos(&pos)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::test_rig::Shown;
    use crate::vring::Memory;

    fn display() -> (Arc<Display>, Arc<Completions>) {
        let completions = Arc::new(Completions::new(
            AtomicMemory::new(Memory::new()),
            Arc::default(),
            Arc::default(),
        ));
        let display = Display::start(Arc::clone(&completions), true).unwrap();
        (display, completions)
    }

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn view() -> View {
        View {
            // R8G8B8X8, 4 × 2 pixels, of which the right 2 × 2 are shown.
            source: Source::Image(Arc::new(Mutex::new((0..32).collect()))),
            format: Format::from_wire(134).unwrap(),
            offset: 8,
            stride: 16,
            width: 2,
            height: 2,
        }
    }

    #[test]
    fn view_is_shown_whole_and_again_to_a_new_front_end() {
        let (display, _) = display();
        let mut shown = Shown::on(|socket| display.set_socket(socket));
        let whole = |shown: &mut Shown| {
            assert_eq!(shown.next(), (7, words(&[3, 2, 2])));
            let (kind, update) = shown.next();
            assert_eq!((kind, &update[..20]), (8, &words(&[3, 0, 0, 2, 2])[..]));
            let pixels = [10, 9, 8, 11, 14, 13, 12, 15, 26, 25, 24, 27, 30, 29, 28, 31];
            assert_eq!(update[20..], pixels);
        };
        display.set_scanout(3, Some(view()));
        whole(&mut shown);

        drop(shown);
        let mut shown = Shown::on(|socket| display.set_socket(socket));
        whole(&mut shown);

        // Past the view, a flush shows what is inside.
        let rect = Rect {
            x: 1,
            y: 1,
            width: u32::MAX,
            height: 7,
        };
        display.flush(3, rect);
        let (kind, update) = shown.next();
        assert_eq!((kind, &update[..20]), (8, &words(&[3, 1, 1, 1, 1])[..]));
        assert_eq!(update[20..], [30, 29, 28, 31]);

        display.set_scanout(3, None);
        assert_eq!(shown.next(), (7, words(&[3, 0, 0])));
        display.close();
    }

    #[test]
    fn view_of_another_size_is_announced_and_shown_whole() {
        let (display, _) = display();
        let mut shown = Shown::on(|socket| display.set_socket(socket));
        display.set_scanout(0, Some(view()));
        assert_eq!(shown.next(), (7, words(&[0, 2, 2])));
        assert_eq!(shown.next().1[..20], words(&[0, 0, 0, 2, 2]));

        let larger = View {
            offset: 0,
            width: 4,
            ..view()
        };
        display.set_scanout(0, Some(larger));
        assert_eq!(shown.next(), (7, words(&[0, 4, 2])));
        let (kind, update) = shown.next();
        assert_eq!((kind, &update[..20]), (8, &words(&[0, 0, 0, 4, 2])[..]));
        assert_eq!(update.len(), 20 + 4 * 2 * 4);

        // What is flushed of the larger one can't be shown on the smaller one.
        let smaller = View {
            width: 1,
            height: 1,
            ..view()
        };
        display.set_scanout(0, Some(smaller));
        assert_eq!(shown.next(), (7, words(&[0, 1, 1])));
        assert_eq!(shown.next().1[..20], words(&[0, 0, 0, 1, 1]));
        let rect = |x, y| Rect {
            x,
            y,
            width: 3,
            height: 1,
        };
        display.flush(0, rect(1, 0));
        display.flush(0, rect(0, 0));
        assert_eq!(shown.next().1[..20], words(&[0, 0, 0, 1, 1]));
        display.close();
    }

    #[test]
    fn query_that_a_front_end_leaves_open_is_asked_of_the_next() {
        let (display, _) = display();
        let mut shown = Shown::on(|socket| display.set_socket(socket));
        display.query(1, Waiting::Edid { scanout_id: 2 });
        assert_eq!(shown.next(), (11, words(&[2])));
        drop(shown);
        let mut shown = Shown::on(|socket| display.set_socket(socket));
        assert_eq!(shown.next(), (11, words(&[2])));
        display.close();
    }

    #[test]
    fn cursor_is_shown_moved_and_hidden() {
        let (display, _) = display();
        let mut shown = Shown::on(|socket| display.set_socket(socket));
        display.set_cursor(1, (5, 6), (7, 8), Some(vec![9; 64 * 64 * 4]));
        let (kind, update) = shown.next();
        assert_eq!((kind, &update[..20]), (6, &words(&[1, 5, 6, 7, 8])[..]));
        assert_eq!(update.len(), 20 + 64 * 64 * 4);
        display.move_cursor(1, 15, 16);
        assert_eq!(shown.next(), (4, words(&[1, 15, 16])));
        display.set_cursor(1, (15, 16), (0, 0), None);
        assert_eq!(shown.next(), (5, words(&[1, 15, 16])));
        display.close();
    }
}
