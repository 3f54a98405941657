//! Whether the device runs, and who may touch what when it does not.
//!
//! ```text
//!            a ready control queue            QUIESCE
//!  Stopped ───────────────────────▶ Running ──────────▶ Quiesced
//!     ▲                                │                    │
//!     └────────────────────────────────┴────────────────────┘
//!                        the front end stops a queue
//! ```
//! A late start (its event still on the way while QUIESCE overtakes it) must not run, which is
//! why only a stopped queue leads out of Quiesced.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Whether commands are taken from the queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No queue runs.
    Stopped,
    /// Commands are taken.
    Running,
    /// The VM is about to stop.
    Quiesced,
}

/// What came of a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The front holds it.
    Made,
    /// The front could not make it, and can't before it was resumed.
    Failed,
}

struct State {
    phase: Phase,
    /// A command is being executed.
    busy: bool,
    /// Somebody replaces state; commands wait.
    paused: bool,
    /// The front was brought to a cut, or tried, or has loaded: it has to be resumed.
    resume_front: bool,
    /// The cut of what runs no more, if there was one.
    cut: Option<Cut>,
}

/// The gate that every command goes through.
pub struct Run {
    state: Mutex<State>,
    changed: Condvar,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            state: Mutex::new(State {
                phase: Phase::Stopped,
                busy: false,
                paused: false,
                resume_front: false,
                cut: None,
            }),
            changed: Condvar::new(),
        }
    }
}

impl Run {
    /// The phase now.
    pub fn phase(&self) -> Phase {
        self.lock().phase
    }

    /// Asks to execute one command. False: leave it in the queue.
    pub fn enter(&self) -> bool {
        let mut state = self.lock();
        while state.paused {
            state = self.wait(state);
        }
        if state.phase != Phase::Running {
            return false;
        }
        state.busy = true;
        true
    }

    /// The command is done.
    pub fn leave(&self) {
        self.lock().busy = false;
        self.changed.notify_all();
    }

    /// Starts running if the device is stopped. `prepare` is called before any command, with
    /// whether the front has to be resumed. It must not wait for anything that waits for
    /// commands to be over.
    pub fn start(&self, prepare: impl FnOnce(bool)) {
        {
            let mut state = self.lock();
            while state.paused {
                state = self.wait(state);
            }
            if state.phase != Phase::Stopped || state.busy {
                return;
            }
            // `busy` keeps everybody else off while the lock is not held.
            state.busy = true;
        }
        let resume = {
            let mut state = self.lock();
            state.cut = None;
            std::mem::take(&mut state.resume_front)
        };
        prepare(resume);
        let mut state = self.lock();
        state.busy = false;
        if state.phase == Phase::Stopped {
            state.phase = Phase::Running;
        }
        drop(state);
        self.changed.notify_all();
    }

    /// A queue was stopped by the front end: no more commands, and the one in progress is over
    /// afterwards. False if it was not by the deadline.
    pub fn stop(&self, deadline: Duration) -> bool {
        self.lock().phase = Phase::Stopped;
        self.idle(deadline)
    }

    /// The VM is about to stop: no more commands. False as for [`stop`](Self::stop).
    pub fn quiesce(&self, deadline: Duration) -> bool {
        self.lock().phase = Phase::Quiesced;
        self.idle(deadline)
    }

    /// The front was asked for a cut, or has loaded one.
    pub fn set_cut(&self, cut: Cut) {
        let mut state = self.lock();
        state.resume_front = true;
        state.cut = Some(cut);
    }

    /// The front can't be asked for a cut before the device has run again.
    pub fn forbid_cut(&self) {
        self.lock().cut = Some(Cut::Failed);
    }

    /// What was cut is gone: a new cut may be made.
    pub fn forget_cut(&self) {
        self.lock().cut = None;
    }

    /// The cut of what ran last.
    pub fn cut(&self) -> Option<Cut> {
        self.lock().cut
    }

    /// Keeps commands out while `work` replaces state. None if the command in progress was not
    /// over by the deadline.
    pub fn paused<T>(&self, deadline: Duration, work: impl FnOnce() -> T) -> Option<T> {
        {
            let mut state = self.lock();
            while state.paused {
                state = self.wait(state);
            }
            state.paused = true;
        }
        let out = self.idle(deadline).then(work);
        self.lock().paused = false;
        self.changed.notify_all();
        out
    }

    /// Waits until no command is being executed.
    pub fn idle(&self, deadline: Duration) -> bool {
        let end = Instant::now() + deadline;
        let mut state = self.lock();
        while state.busy {
            let now = Instant::now();
            if now >= end {
                return false;
            }
            state = self
                .changed
                .wait_timeout(state, end - now)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner)
    }
}
