//! Tables by guest id.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// Mixes one u64. Guest ids are counters in practice; a guest that makes them collide slows its own context only.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        let mixed = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

pub(crate) type IdMap<T> = HashMap<u64, T, BuildHasherDefault<IdHasher>>;
pub(crate) type IdSet = HashSet<u64, BuildHasherDefault<IdHasher>>;
