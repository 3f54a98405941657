//! A limit for what a guest can have logged.
//!
//! [`guest_warn!`] and [`guest_error!`] log like `tracing`'s macros, but no place in the code more often for one [`Guest`]
//! than [`FULL`] times in full and then once in [`EVERY`], with how many lines were left out before (`left_out`).
//! Whoever calls them depends on `tracing`.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Lines in full.
pub const FULL: u32 = 10;
/// How often there is a line after that.
pub const EVERY: Duration = Duration::from_secs(60);
/// After so much time without any, it begins anew.
pub const QUIET: Duration = Duration::from_secs(600);
/// Guests that one place counts apart.
pub const GUESTS_MAX: usize = 64;

/// Who has brought a line about. Each is counted apart, so that none can silence the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Guest {
    /// The only one that this process serves: the VM, or a worker's context.
    #[default]
    Only,
    /// The vtest clients of one user, by id. A client is nobody: it goes and comes again as another.
    User(u32),
    /// All those together who can't be told apart, or of whom there are too many.
    Others,
}

/// What one guest has had logged by one place in the code.
#[derive(Debug)]
struct State {
    in_full: u32,
    left_out: u64,
    logged: Option<Instant>,
    asked: Instant,
}

impl State {
    fn new(now: Instant) -> Self {
        Self {
            in_full: 0,
            left_out: 0,
            logged: None,
            asked: now,
        }
    }

    fn pass(&mut self, now: Instant, before: u64) -> Option<u64> {
        if now.saturating_duration_since(self.asked) >= QUIET {
            self.in_full = 0;
        }
        self.asked = now;
        self.left_out = self.left_out.saturating_add(before);
        let is_soon = |logged: Instant| now.saturating_duration_since(logged) < EVERY;
        if self.in_full < FULL {
            self.in_full += 1;
        } else if self.logged.is_some_and(is_soon) {
            self.left_out = self.left_out.saturating_add(1);
            return None;
        }
        self.logged = Some(now);
        Some(std::mem::take(&mut self.left_out))
    }
}

/// What one place in the code has logged.
#[derive(Debug, Default)]
pub struct Limits(Mutex<BTreeMap<Guest, State>>);

impl Limits {
    /// Nothing logged yet.
    pub const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Whether to log a line of `guest`'s at `now`, and how many were left out before it: here, and the `before` that were
    /// left out by whoever asks.
    pub fn pass(&self, guest: Guest, now: Instant, before: u64) -> Option<u64> {
        let mut states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(state) = states.get_mut(&guest) {
            return state.pass(now, before);
        }
        if states.len() >= GUESTS_MAX {
            states.retain(|_, state| now.saturating_duration_since(state.asked) < QUIET);
        }
        let guest = if states.len() >= GUESTS_MAX {
            Guest::Others
        } else {
            guest
        };
        let state = states.entry(guest).or_insert_with(|| State::new(now));
        state.pass(now, before)
    }
}

/// Logs at a level of `tracing`'s, within the place's [`Limits`].
#[doc(hidden)]
#[macro_export]
macro_rules! guest_log {
    ($level:ident, for $guest:expr, $($line:tt)+) => {{
        static LIMITS: $crate::Limits = $crate::Limits::new();
        match LIMITS.pass($guest, ::std::time::Instant::now(), 0) {
            Some(0) => tracing::$level!($($line)+),
            Some(left_out) => tracing::$level!(left_out, $($line)+),
            None => {}
        }
    }};
    ($level:ident, $($line:tt)+) => {
        $crate::guest_log!($level, for $crate::Guest::Only, $($line)+)
    };
}

/// `tracing::warn!` for what a guest can bring about as often as it likes; `for GUEST,` first where there are several.
#[macro_export]
macro_rules! guest_warn {
    ($($line:tt)+) => { $crate::guest_log!(warn, $($line)+) };
}

/// `tracing::error!` for what a guest can bring about as often as it likes; `for GUEST,` first where there are several.
#[macro_export]
macro_rules! guest_error {
    ($($line:tt)+) => { $crate::guest_log!(error, $($line)+) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_lines_are_in_full_and_then_one_a_minute_says_how_many_were_left_out() {
        let limits = Limits::new();
        let start = Instant::now();
        for _ in 0..FULL {
            assert_eq!(limits.pass(Guest::Only, start, 0), Some(0));
        }
        for second in 1..60 {
            let now = start + Duration::from_secs(second);
            assert_eq!(limits.pass(Guest::Only, now, 0), None);
        }
        assert_eq!(limits.pass(Guest::Only, start + EVERY, 0), Some(59));
        assert_eq!(limits.pass(Guest::Only, start + EVERY, 5), None);
        assert_eq!(limits.pass(Guest::Only, start + EVERY * 2, 10), Some(16));
    }

    #[test]
    fn after_a_long_silence_lines_are_in_full_again() {
        let limits = Limits::new();
        let start = Instant::now();
        for _ in 0..=FULL {
            limits.pass(Guest::Only, start, 0);
        }
        assert_eq!(limits.pass(Guest::Only, start + QUIET, 0), Some(1));
        for _ in 1..FULL {
            assert_eq!(limits.pass(Guest::Only, start + QUIET, 0), Some(0));
        }
        assert_eq!(limits.pass(Guest::Only, start + QUIET, 0), None);
    }

    #[test]
    fn one_guest_does_not_silence_another() {
        let limits = Limits::new();
        let now = Instant::now();
        let loud = Guest::User(1);
        assert!((0..1000).filter_map(|_| limits.pass(loud, now, 0)).count() == FULL as usize);
        assert_eq!(limits.pass(Guest::User(2), now, 0), Some(0));
    }

    #[test]
    fn guests_past_the_limit_share_one_count_and_make_room_when_they_are_silent() {
        let limits = Limits::new();
        let start = Instant::now();
        let lines = |now| {
            let users = (0..10_000).map(Guest::User);
            users.filter_map(|user| limits.pass(user, now, 0)).count()
        };
        let bound = GUESTS_MAX + FULL as usize;
        assert!((GUESTS_MAX..=bound).contains(&lines(start)));
        assert!(limits.0.lock().unwrap().len() <= GUESTS_MAX + 1);

        // None but those who were counted together has been heard in between.
        assert_eq!(limits.pass(Guest::User(50_000), start + QUIET, 0), Some(0));
        assert!(limits.0.lock().unwrap().len() <= 2);
    }
}
