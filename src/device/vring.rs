//! A virtqueue as the vhost-user crate keeps it, with two of its races closed.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use vhost_user_backend::{VringMutex, VringState, VringStateGuard, VringStateMutGuard, VringT};
use virtio_queue::{Error as QueueError, QueueT};
use vm_memory::{GuestMemoryAtomic, GuestMemoryMmap};

use crate::log_bitmap::LogBitmap;

/// Guest memory with a dirty log.
pub type Memory = GuestMemoryMmap<LogBitmap>;
/// Guest memory whose regions the front end may exchange at any time.
pub type AtomicMemory = GuestMemoryAtomic<Memory>;

/// A [`VringMutex`] that
/// - keeps its own used index while it runs: the front end sends SET_VRING_ADDR to live rings
///   when logging goes on or off, and the crate then reads the index and sets it in two steps,
///   between which another thread may have used a buffer;
/// - takes a kick that was already consumed for what it is, instead of ending its thread.
#[derive(Clone)]
pub struct Vring {
    inner: VringMutex<AtomicMemory>,
}

impl Vring {
    /// True while buffers may be taken and used.
    pub fn running(&self) -> bool {
        let state = self.inner.get_ref();
        state.is_enabled() && state.get_queue().ready()
    }

    /// Has the event loop come back to this queue, as if the guest had kicked. Without a kick it must.
    pub fn come_back(&self) {
        let state = self.inner.get_ref();
        let Some(kick) = state.get_kick() else {
            return;
        };
        // SAFETY: the kick owns the descriptor and is borrowed for as long.
        let kick = unsafe { BorrowedFd::borrow_raw(kick.as_raw_fd()) };
        // An eventfd: adding to its count needs no other descriptor.
        if let Err(error) = nix::unistd::write(kick, &1u64.to_ne_bytes()) {
            tracing::debug!(%error, "A kick of our own");
        }
    }
}

impl<'a> VringStateGuard<'a, AtomicMemory> for Vring {
    type G = <VringMutex<AtomicMemory> as VringStateGuard<'a, AtomicMemory>>::G;
}

impl<'a> VringStateMutGuard<'a, AtomicMemory> for Vring {
    type G = <VringMutex<AtomicMemory> as VringStateMutGuard<'a, AtomicMemory>>::G;
}

impl VringT<AtomicMemory> for Vring {
    fn new(mem: AtomicMemory, max_queue_size: u16) -> Result<Self, QueueError> {
        Ok(Self {
            inner: VringMutex::new(mem, max_queue_size)?,
        })
    }

    fn get_ref(&self) -> <Self as VringStateGuard<'_, AtomicMemory>>::G {
        self.inner.get_ref()
    }

    fn get_mut(&self) -> <Self as VringStateMutGuard<'_, AtomicMemory>>::G {
        self.inner.get_mut()
    }

    fn add_used(&self, desc_index: u16, len: u32) -> Result<(), QueueError> {
        self.inner.add_used(desc_index, len)
    }

    fn signal_used_queue(&self) -> io::Result<()> {
        self.inner.signal_used_queue()
    }

    fn enable_notification(&self) -> Result<bool, QueueError> {
        self.inner.enable_notification()
    }

    fn disable_notification(&self) -> Result<(), QueueError> {
        self.inner.disable_notification()
    }

    fn needs_notification(&self) -> Result<bool, QueueError> {
        self.inner.needs_notification()
    }

    fn set_enabled(&self, enabled: bool) {
        self.inner.set_enabled(enabled);
    }

    fn set_queue_info(
        &self,
        desc_table: u64,
        avail_ring: u64,
        used_ring: u64,
    ) -> Result<(), QueueError> {
        self.inner.set_queue_info(desc_table, avail_ring, used_ring)
    }

    fn queue_next_avail(&self) -> u16 {
        self.inner.queue_next_avail()
    }

    fn set_queue_next_avail(&self, base: u16) {
        self.inner.set_queue_next_avail(base);
    }

    fn set_queue_next_used(&self, idx: u16) {
        let mut state: <Self as VringStateMutGuard<'_, AtomicMemory>>::G = self.inner.get_mut();
        let state: &mut VringState<AtomicMemory> = &mut state;
        if !state.get_queue().ready() {
            state.get_queue_mut().set_next_used(idx);
        }
    }

    fn queue_used_idx(&self) -> Result<u16, QueueError> {
        self.inner.queue_used_idx()
    }

    fn set_queue_size(&self, num: u16) {
        self.inner.set_queue_size(num);
    }

    fn set_queue_event_idx(&self, enabled: bool) {
        self.inner.set_queue_event_idx(enabled);
    }

    fn set_queue_ready(&self, ready: bool) {
        self.inner.set_queue_ready(ready);
    }

    fn set_kick(&self, file: Option<File>) {
        self.inner.set_kick(file);
    }

    fn read_kick(&self) -> io::Result<bool> {
        match self.inner.read_kick() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Ok(self.inner.get_ref().is_enabled())
            }
            other => other,
        }
    }

    fn set_call(&self, file: Option<File>) {
        self.inner.set_call(file);
    }

    fn set_err(&self, file: Option<File>) {
        self.inner.set_err(file);
    }
}
