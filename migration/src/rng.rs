//! A small seeded generator (xorshift64*), so that simulations and damaged-input tests replay.

/// The generator. Equal seeds give equal sequences.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator for a seed; seeds that differ in one bit give unlike sequences.
    pub fn new(seed: u64) -> Self {
        // Zero is the one state that xorshift can't leave; the odd product avoids it.
        let mixed = (seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mut rng = Self(mixed | 1);
        rng.next();
        rng.next();
        rng
    }

    /// The next 64 bits.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`, which must not be zero; the small bias does not matter here.
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0);
        (self.next() >> 11) % bound.max(1)
    }

    /// True in `percent` of 100 cases.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}
