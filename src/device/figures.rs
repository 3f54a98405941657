//! What happens on the queues, counted.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

/// Counters of both queues together.
#[derive(Debug, Default)]
pub struct Figures {
    kicks: AtomicU64,
    interrupts: AtomicU64,
    requests: AtomicU64,
}

/// The counts at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct QueueFigures {
    /// Notifications by the guest.
    pub kicks: u64,
    /// Notifications of the guest.
    pub interrupts: u64,
    /// Requests executed.
    pub requests: u64,
}

impl Figures {
    /// The counts now.
    pub fn read(&self) -> QueueFigures {
        QueueFigures {
            kicks: self.kicks.load(Ordering::Relaxed),
            interrupts: self.interrupts.load(Ordering::Relaxed),
            requests: self.requests.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn kick(&self) {
        self.kicks.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn interrupt(&self) {
        self.interrupts.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }
}
