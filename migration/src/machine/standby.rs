//! The standby's rules: which epoch counts, and when the VM may start here.

use super::{Epoch, Term};

/// How long a lost link is given to come back before the fence command runs, and between two runs.
const FENCE_WAIT_MS: u64 = 500;

/// What happens to the standby.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandbyIn {
    /// An agent of this term is connected.
    LinkUp {
        /// The agent's term.
        term: Term,
    },
    /// The agent's connection is gone or silent.
    LinkLost,
    /// A first state begins to arrive; it overwrites what was there.
    SyncBegin {
        /// The sender's term.
        term: Term,
    },
    /// All of an epoch is here and checked; nothing of it is applied yet (but for a first state).
    Complete {
        /// The sender's term.
        term: Term,
        /// Its number.
        epoch: Epoch,
    },
    /// The agent says that QEMU is being ended.
    Prepare {
        /// The sender's term.
        term: Term,
    },
    /// The agent says that QEMU has ended under a record that says protected.
    Fenced {
        /// The sender's term.
        term: Term,
        /// The last epoch that was acked.
        epoch: Epoch,
    },
    /// The fence command confirmed that QEMU has ended for this epoch.
    FenceConfirmed {
        /// The epoch that it was run for.
        epoch: Epoch,
    },
    /// The fence command says that the VM is not ours to take.
    FenceRefused,
    /// The fence command did not get through.
    FenceUnknown,
    /// An operator asks for a takeover; `forced` when he vouches that the primary's VM has ended.
    Failover {
        /// See above.
        forced: bool,
    },
    /// The VM runs here.
    Restored,
    /// The VM did not start here.
    RestoreFailed,
    /// Time passes.
    Tick {
        /// Milliseconds since any start.
        now_ms: u64,
    },
}

/// What the standby does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandbyOut {
    /// Put the complete epoch in place.
    Apply {
        /// Its number.
        epoch: Epoch,
    },
    /// Tell the agent that the epoch is safe.
    Ack {
        /// Its number.
        epoch: Epoch,
    },
    /// Forget what has arrived of an incomplete epoch.
    Discard,
    /// Close the link: its sender is not who we follow.
    DropLink,
    /// Run the fence command.
    RunFence {
        /// The epoch that is to be taken over from.
        epoch: Epoch,
    },
    /// Load the VM from what is in place, but do not let it run.
    Prepare {
        /// The epoch that is in place.
        epoch: Epoch,
    },
    /// Throw away what [`StandbyOut::Prepare`] has loaded, before anything else is put in place.
    Abort,
    /// Start the VM from what is in place.
    Restore {
        /// The epoch that is in place.
        epoch: Epoch,
        /// The new term.
        term: Term,
    },
    /// Tell the agent that the VM runs here.
    TellTakenOver {
        /// The new term.
        term: Term,
    },
    /// Ask the agent for a takeover.
    AskFailover,
    /// Tell the operator that there is no takeover.
    Refuse {
        /// Why.
        reason: &'static str,
    },
}

/// Where the standby stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing usable is in place.
    Empty,
    /// A first state is arriving.
    Syncing,
    /// A complete epoch is in place, and may be taken over from.
    Ready,
    /// As [`Phase::Ready`], and the VM is loaded from it: nothing is put in place any more.
    Preparing,
    /// A complete epoch is in place, but the VM went on without us.
    Stale,
    /// The VM is starting here.
    TakingOver,
    /// The VM runs here.
    Active,
    /// The VM did not start here.
    Failed,
}

/// The standby's state.
#[derive(Clone, Debug)]
pub struct Standby {
    phase: Phase,
    term: Term,
    epoch: Epoch,
    link: bool,
    fence_command: bool,
    fencing: bool,
    now_ms: u64,
    fence_ms: Option<u64>,
}

impl Standby {
    /// A standby that has nothing; `fence_command` when it can end the primary's QEMU by itself.
    pub fn new(term: Term, fence_command: bool) -> Self {
        Self {
            phase: Phase::Empty,
            term,
            epoch: 0,
            link: false,
            fence_command,
            fencing: false,
            now_ms: 0,
            fence_ms: None,
        }
    }

    /// Where the standby stands.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Its term.
    pub fn term(&self) -> Term {
        self.term
    }

    /// Its last complete epoch; zero when there is none.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Whether an agent is connected.
    pub fn link(&self) -> bool {
        self.link
    }

    /// Takes one input.
    pub fn on(&mut self, input: StandbyIn) -> Vec<StandbyOut> {
        match input {
            StandbyIn::LinkUp { term } => self.link_up(term),
            StandbyIn::LinkLost => self.link_lost(),
            StandbyIn::SyncBegin { term } => {
                if !self.follows(term) {
                    return vec![StandbyOut::DropLink];
                }
                let before = std::mem::replace(&mut self.phase, Phase::Syncing);
                abort(before)
            }
            StandbyIn::Prepare { term } => {
                if self.phase != Phase::Ready || !self.follows(term) {
                    return Vec::new();
                }
                self.phase = Phase::Preparing;
                let epoch = self.epoch;
                vec![StandbyOut::Discard, StandbyOut::Prepare { epoch }]
            }
            StandbyIn::Complete { term, epoch } => self.complete(term, epoch),
            StandbyIn::Fenced { term, epoch } => self.fenced(term, epoch),
            StandbyIn::FenceConfirmed { epoch } => {
                self.fencing = false;
                if self.eligible() && epoch == self.epoch {
                    self.restore()
                } else {
                    Vec::new()
                }
            }
            StandbyIn::FenceRefused => {
                self.fencing = false;
                if !self.eligible() || self.link {
                    return Vec::new();
                }
                abort(std::mem::replace(&mut self.phase, Phase::Stale))
            }
            StandbyIn::FenceUnknown => {
                self.fencing = false;
                self.fence_ms = Some(self.now_ms + FENCE_WAIT_MS);
                Vec::new()
            }
            StandbyIn::Failover { forced } => self.failover(forced),
            StandbyIn::Restored => {
                if self.phase != Phase::TakingOver {
                    return Vec::new();
                }
                self.phase = Phase::Active;
                vec![StandbyOut::TellTakenOver { term: self.term }]
            }
            StandbyIn::RestoreFailed => {
                self.phase = Phase::Failed;
                Vec::new()
            }
            StandbyIn::Tick { now_ms } => {
                self.now_ms = now_ms;
                self.fence_if_due()
            }
        }
    }

    /// Whether a confirmed end of the primary's QEMU leads to a takeover.
    fn eligible(&self) -> bool {
        matches!(self.phase, Phase::Ready | Phase::Preparing)
    }

    /// Whether frames of this term count here.
    fn follows(&self, term: Term) -> bool {
        let open = matches!(
            self.phase,
            Phase::Empty | Phase::Syncing | Phase::Ready | Phase::Preparing | Phase::Stale
        );
        self.link && open && term == self.term
    }

    fn link_up(&mut self, term: Term) -> Vec<StandbyOut> {
        self.fence_ms = None;
        match self.phase {
            // The agent learns our term from the greeting, and that the VM is here.
            Phase::TakingOver | Phase::Active | Phase::Failed => {
                self.link = true;
                if self.phase == Phase::Active {
                    return vec![StandbyOut::TellTakenOver { term: self.term }];
                }
                Vec::new()
            }
            _ if term < self.term => vec![StandbyOut::DropLink],
            _ => {
                let mut out = Vec::new();
                // What an older owner sent is not to be continued by a newer one.
                if term > self.term && self.phase != Phase::Empty {
                    out = abort(std::mem::replace(&mut self.phase, Phase::Stale));
                }
                self.term = term;
                self.link = true;
                out
            }
        }
    }

    fn link_lost(&mut self) -> Vec<StandbyOut> {
        self.link = false;
        if self.phase == Phase::Syncing {
            self.phase = Phase::Empty;
            self.epoch = 0;
        }
        self.fence_ms = Some(self.now_ms + FENCE_WAIT_MS);
        vec![StandbyOut::Discard]
    }

    fn complete(&mut self, term: Term, epoch: Epoch) -> Vec<StandbyOut> {
        let next = match self.phase {
            Phase::Syncing => epoch > self.epoch,
            Phase::Ready => epoch == self.epoch + 1,
            _ => false,
        };
        if !self.follows(term) || !next {
            return vec![StandbyOut::DropLink];
        }
        self.phase = Phase::Ready;
        self.epoch = epoch;
        vec![StandbyOut::Apply { epoch }, StandbyOut::Ack { epoch }]
    }

    fn fenced(&mut self, term: Term, epoch: Epoch) -> Vec<StandbyOut> {
        if self.phase == Phase::Active {
            return vec![StandbyOut::TellTakenOver { term: self.term }];
        }
        if !self.follows(term) || !self.eligible() || self.epoch < epoch {
            return Vec::new();
        }
        self.restore()
    }

    fn failover(&mut self, forced: bool) -> Vec<StandbyOut> {
        let reason = match (self.phase, forced) {
            (Phase::Ready | Phase::Preparing | Phase::Stale, true) => return self.restore(),
            (Phase::Ready | Phase::Preparing, false) if self.link => {
                return vec![StandbyOut::AskFailover];
            }
            (Phase::Ready | Phase::Preparing, false) if self.fence_command => {
                return self.run_fence();
            }
            (Phase::Ready | Phase::Preparing, false) => {
                "the link is down and there is no fence command"
            }
            (Phase::Stale, false) => "the VM went on without protection after this epoch",
            (Phase::Empty | Phase::Syncing, _) => "no complete epoch is in place",
            (Phase::TakingOver | Phase::Active, _) => "the VM is here already",
            (Phase::Failed, _) => "the VM did not start here",
        };
        vec![StandbyOut::Refuse { reason }]
    }

    fn fence_if_due(&mut self) -> Vec<StandbyOut> {
        let due = self.fence_ms.is_some_and(|at| self.now_ms >= at);
        if !due || self.link || !self.eligible() || !self.fence_command {
            return Vec::new();
        }
        self.run_fence()
    }

    fn run_fence(&mut self) -> Vec<StandbyOut> {
        if std::mem::replace(&mut self.fencing, true) {
            return Vec::new();
        }
        self.fence_ms = None;
        vec![StandbyOut::RunFence { epoch: self.epoch }]
    }

    fn restore(&mut self) -> Vec<StandbyOut> {
        self.phase = Phase::TakingOver;
        self.term += 1;
        vec![
            StandbyOut::Discard,
            StandbyOut::Restore {
                epoch: self.epoch,
                term: self.term,
            },
        ]
    }
}

/// What leaving a phase for one of no takeover needs.
fn abort(before: Phase) -> Vec<StandbyOut> {
    if before == Phase::Preparing {
        vec![StandbyOut::Abort]
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready_standby() -> Standby {
        let mut standby = Standby::new(0, true);
        let term = 3;
        standby.on(StandbyIn::LinkUp { term });
        standby.on(StandbyIn::SyncBegin { term });
        let out = standby.on(StandbyIn::Complete { term, epoch: 7 });
        assert_eq!(
            out,
            [StandbyOut::Apply { epoch: 7 }, StandbyOut::Ack { epoch: 7 }]
        );
        standby
    }

    #[test]
    fn complete_gap_drops_the_link() {
        let mut standby = ready_standby();
        let out = standby.on(StandbyIn::Complete { term: 3, epoch: 9 });
        assert_eq!(out, [StandbyOut::DropLink]);
        assert_eq!(standby.epoch(), 7);
    }

    #[test]
    fn fenced_during_a_first_state_is_not_taken_over() {
        let mut standby = ready_standby();
        standby.on(StandbyIn::SyncBegin { term: 3 });
        assert_eq!(standby.on(StandbyIn::Fenced { term: 3, epoch: 7 }), []);
    }

    #[test]
    fn fenced_epoch_that_is_not_here_is_not_taken_over() {
        let mut standby = ready_standby();
        assert_eq!(standby.on(StandbyIn::Fenced { term: 3, epoch: 8 }), []);
    }

    #[test]
    fn fenced_ready_restores_in_the_next_term() {
        let mut standby = ready_standby();
        let out = standby.on(StandbyIn::Fenced { term: 3, epoch: 7 });
        assert_eq!(out.last(), Some(&StandbyOut::Restore { epoch: 7, term: 4 }));
        assert_eq!(
            standby.on(StandbyIn::Restored),
            [StandbyOut::TellTakenOver { term: 4 }]
        );
    }

    #[test]
    fn prepare_epoch_after_it_is_not_put_in_place() {
        let mut standby = ready_standby();
        let out = standby.on(StandbyIn::Prepare { term: 3 });
        assert_eq!(out.last(), Some(&StandbyOut::Prepare { epoch: 7 }));
        let out = standby.on(StandbyIn::Complete { term: 3, epoch: 8 });
        assert_eq!(out, [StandbyOut::DropLink]);
        let out = standby.on(StandbyIn::Fenced { term: 3, epoch: 7 });
        assert_eq!(out.last(), Some(&StandbyOut::Restore { epoch: 7, term: 4 }));
    }

    #[test]
    fn prepare_a_first_state_after_it_aborts() {
        let mut standby = ready_standby();
        standby.on(StandbyIn::Prepare { term: 3 });
        let out = standby.on(StandbyIn::SyncBegin { term: 3 });
        assert_eq!(out, [StandbyOut::Abort]);
    }

    #[test]
    fn frames_of_an_older_term_drop_the_link() {
        let mut standby = ready_standby();
        let out = standby.on(StandbyIn::Complete { term: 2, epoch: 8 });
        assert_eq!(out, [StandbyOut::DropLink]);
    }

    #[test]
    fn link_lost_fences_after_a_while_and_refusal_makes_stale() {
        let mut standby = ready_standby();
        standby.on(StandbyIn::LinkLost);
        assert_eq!(standby.on(StandbyIn::Tick { now_ms: 499 }), []);
        let out = standby.on(StandbyIn::Tick { now_ms: 500 });
        assert_eq!(out, [StandbyOut::RunFence { epoch: 7 }]);
        assert_eq!(standby.on(StandbyIn::FenceRefused), []);
        assert_eq!(standby.phase(), Phase::Stale);
        let out = standby.on(StandbyIn::Failover { forced: false });
        assert!(matches!(out[..], [StandbyOut::Refuse { .. }]));
    }

    #[test]
    fn link_lost_without_a_fence_command_never_restores() {
        let mut standby = Standby::new(0, false);
        standby.on(StandbyIn::LinkUp { term: 3 });
        standby.on(StandbyIn::SyncBegin { term: 3 });
        standby.on(StandbyIn::Complete { term: 3, epoch: 7 });
        standby.on(StandbyIn::LinkLost);
        assert_eq!(standby.on(StandbyIn::Tick { now_ms: 90_000 }), []);
    }
}
