//! The dirty log of guest RAM that a migrating front end shares with us.

use std::io;
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, PoisonError, RwLock};

use vhost_user_backend::bitmap::{AtomicBitmapMmap, BitmapReplace, MemRegionBitmap, MmapLogReg};
use vm_memory::bitmap::{Bitmap, BitmapSlice, WithBitmapSlice};
use vm_memory::mmap::NewBitmap;
use vm_memory::{GuestAddress, GuestMemoryRegion};

/// Bytes behind one bit of the log.
const LOG_PAGE_SIZE: usize = 4096;

/// One region's share of the log. Unlike the crate's own, it can be turned off again, and moved
/// to the regions of a new memory table.
#[derive(Clone, Default, Debug)]
pub struct LogBitmap {
    log: Arc<RwLock<Option<RegionLog>>>,
    /// Where this slice starts in its region, bytes.
    base: usize,
}

/// The log memory and where a region's pages lie in it.
#[derive(Clone, Debug)]
pub struct RegionLog {
    memory: Arc<MmapLogReg>,
    first_page: usize,
    pages: usize,
}

impl RegionLog {
    fn mark(&self, offset: usize, len: usize) {
        if len == 0 {
            return;
        }
        // The write must be seen by whoever sees the bit.
        fence(Ordering::Release);
        let first = offset / LOG_PAGE_SIZE;
        let last = (offset.saturating_add(len - 1) / LOG_PAGE_SIZE).min(self.pages - 1);
        for page in first..=last {
            let bit = self.first_page + page;
            self.memory[bit / 8].fetch_or(1 << (bit % 8), Ordering::Release);
        }
    }

    fn marked(&self, offset: usize) -> bool {
        let page = offset / LOG_PAGE_SIZE;
        if page >= self.pages {
            return false;
        }
        let bit = self.first_page + page;
        self.memory[bit / 8].load(Ordering::Acquire) & (1 << (bit % 8)) != 0
    }
}

impl MemRegionBitmap for RegionLog {
    fn new<R: GuestMemoryRegion>(region: &R, memory: Arc<MmapLogReg>) -> io::Result<Self> {
        // The crate's own constructor is the only thing that knows how long the log is.
        AtomicBitmapMmap::new(region, Arc::clone(&memory))?;
        let GuestAddress(start) = region.start_addr();
        let last = region.last_addr().0;
        let first_page = start as usize / LOG_PAGE_SIZE;
        Ok(Self {
            memory,
            first_page,
            pages: last as usize / LOG_PAGE_SIZE - first_page + 1,
        })
    }
}

impl LogBitmap {
    /// The log memory in use, if logging is on.
    pub fn memory(&self) -> Option<Arc<MmapLogReg>> {
        let log = self.log.read().unwrap_or_else(PoisonError::into_inner);
        log.as_ref().map(|log| Arc::clone(&log.memory))
    }

    /// Stops marking.
    pub fn turn_off(&self) {
        *self.log.write().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Bitmap for LogBitmap {
    fn mark_dirty(&self, offset: usize, len: usize) {
        let log = self.log.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(log) = log.as_ref() {
            log.mark(self.base.saturating_add(offset), len);
        }
    }

    fn dirty_at(&self, offset: usize) -> bool {
        let log = self.log.read().unwrap_or_else(PoisonError::into_inner);
        log.as_ref()
            .is_some_and(|log| log.marked(self.base.saturating_add(offset)))
    }

    fn slice_at(&self, offset: usize) -> Self {
        Self {
            log: Arc::clone(&self.log),
            base: self.base.saturating_add(offset),
        }
    }
}

impl BitmapSlice for LogBitmap {}

impl WithBitmapSlice<'_> for LogBitmap {
    type S = Self;
}

impl NewBitmap for LogBitmap {
    fn with_len(_len: usize) -> Self {
        Self::default()
    }
}

impl BitmapReplace for LogBitmap {
    type InnerBitmap = RegionLog;

    fn replace(&self, bitmap: RegionLog) {
        *self.log.write().unwrap_or_else(PoisonError::into_inner) = Some(bitmap);
    }
}
