//! How much all contexts of a front together may have.

use hesper_image::Extent;
use hesper_worker::channel::Area;

/// Contexts of one front at most.
pub const CONTEXTS_MAX: usize = 64;

/// How much all contexts of a front together may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotas {
    /// Contexts, 64 at most.
    pub contexts_max: usize,
    /// Bytes of blobs in the arena.
    pub blob_memory_max: u64,
    /// Bytes of device-local memory.
    pub device_memory_max: u64,
    /// Bytes of host-visible memory where there is no arena (vtest).
    pub host_memory_max: u64,
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            contexts_max: CONTEXTS_MAX,
            // The window is the limit.
            blob_memory_max: u64::MAX,
            device_memory_max: 4 << 30,
            host_memory_max: 4 << 30,
        }
    }
}

/// What counts against the quotas, bytes.
#[derive(Debug, Default)]
pub struct Used {
    device: u64,
    host: u64,
}

impl Used {
    /// Counts bytes against a quota; none when they don't fit.
    pub fn reserve(&mut self, area: Area, len: u64, quotas: &Quotas) -> Option<Extent> {
        let (used, max) = match area {
            Area::Device => (&mut self.device, quotas.device_memory_max),
            Area::Host => (&mut self.host, quotas.host_memory_max),
            Area::Window | Area::Image => return None,
        };
        *used = used.checked_add(len).filter(|used| *used <= max)?;
        Some(Extent::new(0, len))
    }

    /// Gives bytes back.
    pub fn release(&mut self, area: Area, len: u64) {
        let used = match area {
            Area::Device => &mut self.device,
            Area::Host => &mut self.host,
            Area::Window | Area::Image => return,
        };
        *used = used.saturating_sub(len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_past_a_quota_are_refused_until_some_are_given_back() {
        let quotas = Quotas {
            device_memory_max: 100,
            host_memory_max: 10,
            ..Quotas::default()
        };
        let mut used = Used::default();
        assert!(used.reserve(Area::Device, 60, &quotas).is_some());
        assert!(used.reserve(Area::Device, 41, &quotas).is_none());
        assert!(used.reserve(Area::Device, u64::MAX, &quotas).is_none());
        assert!(used.reserve(Area::Host, 10, &quotas).is_some());
        assert!(used.reserve(Area::Host, 1, &quotas).is_none());
        assert!(used.reserve(Area::Window, 1, &quotas).is_none());

        used.release(Area::Device, 20);

        assert!(used.reserve(Area::Device, 60, &quotas).is_some());
    }
}
