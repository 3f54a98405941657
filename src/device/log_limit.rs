//! A limit for what a guest can have logged.
//!
//! [`guest_warn!`] and [`guest_error!`] log like `tracing`'s macros, but no place in the code more often than
//! [`FULL`] times in full and then once in [`EVERY`], with how many lines were left out before (`left_out`).
//! A process serves one VM, so this is a limit per VM and kind of line.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Lines in full.
pub const FULL: u32 = 10;
/// How often there is a line after that.
pub const EVERY: Duration = Duration::from_secs(60);
/// After so much time without any, it begins anew.
pub const QUIET: Duration = Duration::from_secs(600);

/// What one place in the code has logged.
pub struct Limit(Mutex<State>);

struct State {
    in_full: u32,
    left_out: u64,
    logged: Option<Instant>,
    asked: Option<Instant>,
}

impl Limit {
    /// Nothing logged yet.
    pub const fn new() -> Self {
        Self(Mutex::new(State {
            in_full: 0,
            left_out: 0,
            logged: None,
            asked: None,
        }))
    }

    /// Whether to log a line at `now`, and how many were left out before it.
    pub fn pass(&self, now: Instant) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let since = |then: Option<Instant>| then.map(|then| now.saturating_duration_since(then));
        if since(state.asked).is_some_and(|quiet| quiet >= QUIET) {
            state.in_full = 0;
        }
        state.asked = Some(now);
        if state.in_full < FULL {
            state.in_full += 1;
        } else if since(state.logged).is_some_and(|since| since < EVERY) {
            state.left_out += 1;
            return None;
        }
        state.logged = Some(now);
        Some(std::mem::take(&mut state.left_out))
    }
}

/// Logs at a level of `tracing`'s, within the place's [`Limit`].
macro_rules! guest_log {
    ($level:ident, $($line:tt)+) => {{
        static LIMIT: $crate::log_limit::Limit = $crate::log_limit::Limit::new();
        match LIMIT.pass(std::time::Instant::now()) {
            Some(0) => tracing::$level!($($line)+),
            Some(left_out) => tracing::$level!(left_out, $($line)+),
            None => {}
        }
    }};
}

/// `tracing::warn!` for what a guest can bring about as often as it likes.
macro_rules! guest_warn {
    ($($line:tt)+) => { $crate::log_limit::guest_log!(warn, $($line)+) };
}

/// `tracing::error!` for what a guest can bring about as often as it likes.
macro_rules! guest_error {
    ($($line:tt)+) => { $crate::log_limit::guest_log!(error, $($line)+) };
}

pub(crate) use {guest_error, guest_log, guest_warn};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_lines_are_in_full_and_then_one_a_minute_says_how_many_were_left_out() {
        let limit = Limit::new();
        let start = Instant::now();
        for _ in 0..FULL {
            assert_eq!(limit.pass(start), Some(0));
        }
        for second in 1..60 {
            assert_eq!(limit.pass(start + Duration::from_secs(second)), None);
        }
        assert_eq!(limit.pass(start + EVERY), Some(59));
        assert_eq!(limit.pass(start + EVERY), None);
        assert_eq!(limit.pass(start + EVERY * 2), Some(1));
    }

    #[test]
    fn after_a_long_silence_lines_are_in_full_again() {
        let limit = Limit::new();
        let start = Instant::now();
        for _ in 0..=FULL {
            limit.pass(start);
        }
        assert_eq!(limit.pass(start + QUIET), Some(1));
        for _ in 1..FULL {
            assert_eq!(limit.pass(start + QUIET), Some(0));
        }
        assert_eq!(limit.pass(start + QUIET), None);
    }
}
