//! The agent's rules: when to attach, when a checkpoint may begin, what a loss leads to.

use super::{Epoch, LeaseRecord, Term};

/// First wait before a new attachment after one failed, in milliseconds; doubles up to the last.
const RETRY_MS_FIRST: u64 = 250;
const RETRY_MS_LAST: u64 = 8_000;
/// How often the standby is told again that QEMU has ended, until it answers.
const TELL_MS: u64 = 250;

/// What happens to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentIn {
    /// The guard lets us begin.
    Welcome {
        /// Its record.
        record: LeaseRecord,
        /// QEMU has ended.
        gone: bool,
    },
    /// The connection to a guard that still lives is gone.
    GuardLost,
    /// The guard is dead, and so is QEMU; both are confirmed.
    GuardDead,
    /// The guard has this on record now.
    Recorded(LeaseRecord),
    /// QEMU has ended, by the guard's kill or otherwise; the record is frozen.
    Gone(LeaseRecord),
    /// The standby is connected and said where it stands.
    LinkUp {
        /// Its term.
        term: Term,
        /// Its last complete epoch.
        epoch: Epoch,
    },
    /// The standby is gone or silent.
    LinkLost,
    /// The standby has all of an epoch.
    Acked(Epoch),
    /// The standby runs the VM.
    TakenOver(Term),
    /// An operator asks for a takeover, through the standby.
    FailoverAsked,
    /// All of QEMU's state of this epoch is in our memory; the VM is paused.
    Staged(Epoch),
    /// QEMU asks for a checkpoint; the VM runs.
    Requested,
    /// QEMU's stream broke.
    StreamLost,
    /// The VM runs by itself, as [`AgentOut::Release`] asked.
    Running,
    /// The GPU hangs or is lost.
    Hang,
    /// Time passes.
    Tick {
        /// Milliseconds since any start.
        now_ms: u64,
    },
}

/// What the agent does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentOut {
    /// Close the stream, make QEMU leave COLO and run, then say [`AgentIn::Running`].
    Release,
    /// Start a stream whose first state is this epoch, and pass it on as it comes.
    Attach {
        /// Its number.
        epoch: Epoch,
    },
    /// Let QEMU stop the VM and send a checkpoint.
    Reply {
        /// Its number.
        epoch: Epoch,
    },
    /// Let the VM go on.
    Resume,
    /// Ship what is staged and close the epoch.
    Commit {
        /// Its number.
        epoch: Epoch,
    },
    /// Ask the guard to record this.
    Record {
        /// See [`LeaseRecord::protected`].
        protected: bool,
        /// See [`LeaseRecord::acked`].
        acked: Epoch,
    },
    /// Ask the guard to end QEMU.
    Fence,
    /// Tell the standby that a takeover is near: it loads the VM while QEMU is being ended.
    TellPrepare,
    /// Tell the standby that QEMU has ended and that it is to take over.
    TellFenced {
        /// Our term.
        term: Term,
        /// The last epoch it acked.
        epoch: Epoch,
    },
    /// Tell the operator, through the standby, that there is no takeover.
    RefuseFailover,
}

/// Where the agent stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// There is no guard to talk to.
    Down,
    /// QEMU is being made to run.
    Freeing,
    /// The VM runs without protection.
    Unprotected,
    /// The first state is on its way out of QEMU.
    Attaching(Epoch),
    /// The VM runs; the first state is on its way to the standby.
    Syncing(Epoch),
    /// The standby has the first state; the guard is to record it.
    Recording(Epoch),
    /// The standby may take over at any time.
    Protected,
    /// Protection is lost; the guard is to record it before anything else.
    Losing,
    /// The guard is to end QEMU.
    Fencing,
    /// QEMU has ended; the standby is to take over.
    Handed,
    /// QEMU has ended and nothing is left to do.
    Ended,
}

/// The agent's state.
#[derive(Clone, Debug)]
pub struct Agent {
    phase: Phase,
    record: LeaseRecord,
    link: Option<(Term, Epoch)>,
    last: Epoch,
    /// The epoch that is being taken or shipped: there is never a second one.
    inflight: Option<Epoch>,
    /// QEMU waits for a reply.
    requested: bool,
    now_ms: u64,
    next_ms: u64,
    retry_ms: u64,
}

impl Default for Agent {
    fn default() -> Self {
        Self::new()
    }
}

impl Agent {
    /// An agent that knows nothing yet.
    pub fn new() -> Self {
        Self {
            phase: Phase::Down,
            record: LeaseRecord::default(),
            link: None,
            last: 0,
            inflight: None,
            requested: false,
            now_ms: 0,
            next_ms: 0,
            retry_ms: RETRY_MS_FIRST,
        }
    }

    /// Where the agent stands.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The last record the guard confirmed.
    pub fn record(&self) -> LeaseRecord {
        self.record
    }

    /// Takes one input.
    pub fn on(&mut self, input: AgentIn) -> Vec<AgentOut> {
        match input {
            AgentIn::Welcome { record, gone } => self.welcome(record, gone),
            AgentIn::GuardLost => {
                self.phase = Phase::Down;
                // A guard that drops us records the VM as unprotected: our copy is worth nothing.
                self.record.protected = false;
                Vec::new()
            }
            AgentIn::GuardDead => self.gone(self.record),
            AgentIn::Recorded(record) => self.recorded(record),
            AgentIn::Gone(record) => self.gone(record),
            AgentIn::LinkUp { term, epoch } => self.link_up(term, epoch),
            AgentIn::LinkLost => {
                self.link = None;
                self.lose()
            }
            AgentIn::Acked(epoch) => self.acked(epoch),
            AgentIn::TakenOver(term) => self.taken_over(term),
            AgentIn::FailoverAsked => match self.phase {
                Phase::Protected => self.fence(),
                Phase::Handed => self.tell(),
                _ => vec![AgentOut::RefuseFailover],
            },
            AgentIn::Staged(epoch) => self.staged(epoch),
            AgentIn::Requested => {
                self.requested = true;
                self.reply()
            }
            AgentIn::StreamLost => self.lose(),
            AgentIn::Running => {
                if self.phase != Phase::Freeing {
                    return Vec::new();
                }
                self.phase = Phase::Unprotected;
                self.attach()
            }
            // Without protection a fence would end the VM with nobody to go on.
            AgentIn::Hang if self.phase == Phase::Protected => self.fence(),
            AgentIn::Hang => Vec::new(),
            AgentIn::Tick { now_ms } => self.tick(now_ms),
        }
    }

    fn welcome(&mut self, record: LeaseRecord, gone: bool) -> Vec<AgentOut> {
        self.record = record;
        self.last = self.last.max(record.acked);
        self.retry_ms = RETRY_MS_FIRST;
        if gone {
            return self.gone(record);
        }
        if record.protected {
            // Whatever attachment it speaks of, it is not ours.
            return self.unrecord();
        }
        self.free()
    }

    fn link_up(&mut self, term: Term, epoch: Epoch) -> Vec<AgentOut> {
        if term > self.record.term && self.phase != Phase::Down {
            return self.taken_over(term);
        }
        self.link = Some((term, epoch));
        self.last = self.last.max(epoch);
        match self.phase {
            Phase::Handed => self.tell(),
            _ => self.attach(),
        }
    }

    /// Starts an attachment if all is there for it.
    fn attach(&mut self) -> Vec<AgentOut> {
        let ready = self.phase == Phase::Unprotected && self.now_ms >= self.next_ms;
        if self.link.is_none() || !ready {
            return Vec::new();
        }
        self.last += 1;
        self.inflight = None;
        self.requested = false;
        self.phase = Phase::Attaching(self.last);
        vec![AgentOut::Attach { epoch: self.last }]
    }

    fn staged(&mut self, epoch: Epoch) -> Vec<AgentOut> {
        match self.phase {
            Phase::Attaching(wanted) if wanted == epoch => {
                self.phase = Phase::Syncing(epoch);
            }
            Phase::Protected if self.inflight == Some(epoch) => {}
            _ => return Vec::new(),
        }
        vec![AgentOut::Resume, AgentOut::Commit { epoch }]
    }

    fn acked(&mut self, epoch: Epoch) -> Vec<AgentOut> {
        match self.phase {
            Phase::Syncing(wanted) if wanted == epoch => {
                self.phase = Phase::Recording(epoch);
            }
            Phase::Protected if self.inflight == Some(epoch) => {
                self.inflight = None;
            }
            _ => return Vec::new(),
        }
        let mut out = vec![AgentOut::Record {
            protected: true,
            acked: epoch,
        }];
        out.extend(self.reply());
        out
    }

    fn recorded(&mut self, record: LeaseRecord) -> Vec<AgentOut> {
        match self.phase {
            Phase::Recording(epoch) if record.protected && record.acked >= epoch => {
                self.record = record;
                self.phase = Phase::Protected;
                self.retry_ms = RETRY_MS_FIRST;
                self.reply()
            }
            Phase::Losing if !record.protected => {
                self.record = record;
                self.free()
            }
            Phase::Protected if record.protected => {
                self.record = record;
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// Lets a requested checkpoint begin once the former one is acked and on record.
    fn reply(&mut self) -> Vec<AgentOut> {
        if !self.requested || self.phase != Phase::Protected || self.inflight.is_some() {
            return Vec::new();
        }
        self.requested = false;
        self.last += 1;
        self.inflight = Some(self.last);
        vec![AgentOut::Reply { epoch: self.last }]
    }

    fn lose(&mut self) -> Vec<AgentOut> {
        match self.phase {
            Phase::Attaching(_) | Phase::Syncing(_) | Phase::Recording(_) | Phase::Protected => {
                self.next_ms = self.now_ms + self.retry_ms;
                self.retry_ms = (self.retry_ms * 2).min(RETRY_MS_LAST);
                self.unrecord()
            }
            _ => Vec::new(),
        }
    }

    /// Rule 2: the record first. Until the guard confirms, our copy already says unprotected, so
    /// that a guard that dies meanwhile leads to no takeover from a record we can't know.
    fn unrecord(&mut self) -> Vec<AgentOut> {
        self.phase = Phase::Losing;
        self.record.protected = false;
        vec![AgentOut::Record {
            protected: false,
            acked: self.record.acked,
        }]
    }

    fn free(&mut self) -> Vec<AgentOut> {
        self.phase = Phase::Freeing;
        self.inflight = None;
        self.requested = false;
        vec![AgentOut::Release]
    }

    fn fence(&mut self) -> Vec<AgentOut> {
        self.phase = Phase::Fencing;
        vec![AgentOut::Fence, AgentOut::TellPrepare]
    }

    fn gone(&mut self, record: LeaseRecord) -> Vec<AgentOut> {
        if self.phase == Phase::Ended {
            return Vec::new();
        }
        self.record = record;
        if record.protected {
            self.phase = Phase::Handed;
            self.tell()
        } else {
            self.phase = Phase::Ended;
            Vec::new()
        }
    }

    fn tell(&mut self) -> Vec<AgentOut> {
        self.next_ms = self.now_ms + TELL_MS;
        if self.link.is_none() {
            return Vec::new();
        }
        vec![AgentOut::TellFenced {
            term: self.record.term,
            epoch: self.record.acked,
        }]
    }

    fn taken_over(&mut self, term: Term) -> Vec<AgentOut> {
        if term <= self.record.term {
            return Vec::new();
        }
        let ended = matches!(self.phase, Phase::Handed | Phase::Ended);
        self.phase = Phase::Ended;
        // The standby owns the VM: whatever still runs here is a second one.
        if ended {
            Vec::new()
        } else {
            vec![AgentOut::Fence]
        }
    }

    fn tick(&mut self, now_ms: u64) -> Vec<AgentOut> {
        self.now_ms = now_ms;
        match self.phase {
            Phase::Unprotected => self.attach(),
            Phase::Handed if now_ms >= self.next_ms => self.tell(),
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: LeaseRecord = LeaseRecord {
        term: 3,
        protected: false,
        acked: 0,
    };

    /// An agent whose standby acked epoch 1.
    fn protected_agent() -> Agent {
        let mut agent = Agent::new();
        let gone = false;
        agent.on(AgentIn::Welcome {
            record: RECORD,
            gone,
        });
        agent.on(AgentIn::Running);
        let attach = agent.on(AgentIn::LinkUp { term: 3, epoch: 0 });
        assert_eq!(attach, [AgentOut::Attach { epoch: 1 }]);
        let staged = agent.on(AgentIn::Staged(1));
        assert_eq!(staged, [AgentOut::Resume, AgentOut::Commit { epoch: 1 }]);
        agent.on(AgentIn::Acked(1));
        agent.on(AgentIn::Recorded(protected_record(1)));
        assert_eq!(agent.phase(), Phase::Protected);
        agent
    }

    fn protected_record(acked: Epoch) -> LeaseRecord {
        LeaseRecord {
            protected: true,
            acked,
            ..RECORD
        }
    }

    #[test]
    fn requested_former_epoch_unacked_waits() {
        let mut agent = protected_agent();
        assert_eq!(agent.on(AgentIn::Requested), [AgentOut::Reply { epoch: 2 }]);
        agent.on(AgentIn::Staged(2));
        assert_eq!(agent.on(AgentIn::Requested), []);
        let out = agent.on(AgentIn::Acked(2));
        assert_eq!(out.last(), Some(&AgentOut::Reply { epoch: 3 }));
    }

    #[test]
    fn link_lost_records_before_it_releases() {
        let mut agent = protected_agent();
        let (protected, acked) = (false, 1);
        assert_eq!(
            agent.on(AgentIn::LinkLost),
            [AgentOut::Record { protected, acked }]
        );
        assert_eq!(agent.on(AgentIn::Recorded(RECORD)), [AgentOut::Release]);
    }

    #[test]
    fn link_lost_a_late_confirmation_of_protection_does_not_release() {
        let mut agent = protected_agent();
        agent.on(AgentIn::LinkLost);
        assert_eq!(agent.on(AgentIn::Recorded(protected_record(1))), []);
    }

    #[test]
    fn hang_unprotected_does_not_fence() {
        let mut agent = protected_agent();
        agent.on(AgentIn::LinkLost);
        assert_eq!(agent.on(AgentIn::Hang), []);
    }

    #[test]
    fn hang_protected_fences_then_tells() {
        let mut agent = protected_agent();
        assert_eq!(
            agent.on(AgentIn::Hang),
            [AgentOut::Fence, AgentOut::TellPrepare]
        );
        assert_eq!(
            agent.on(AgentIn::Gone(protected_record(1))),
            [AgentOut::TellFenced { term: 3, epoch: 1 }]
        );
    }

    #[test]
    fn gone_unprotected_tells_nobody() {
        let mut agent = protected_agent();
        agent.on(AgentIn::LinkLost);
        agent.on(AgentIn::Recorded(RECORD));
        assert_eq!(agent.on(AgentIn::Gone(RECORD)), []);
        assert_eq!(agent.phase(), Phase::Ended);
    }

    #[test]
    fn guard_lost_then_dead_tells_nobody() {
        let mut agent = protected_agent();
        agent.on(AgentIn::GuardLost);
        assert_eq!(agent.on(AgentIn::GuardDead), []);
        assert_eq!(agent.phase(), Phase::Ended);
    }

    #[test]
    fn link_up_a_higher_term_ends_the_vm_here() {
        let mut agent = protected_agent();
        agent.on(AgentIn::LinkLost);
        let out = agent.on(AgentIn::LinkUp { term: 4, epoch: 1 });
        assert_eq!(out, [AgentOut::Fence]);
    }

    #[test]
    fn tick_after_a_failed_attachment_waits_before_the_next() {
        let mut agent = protected_agent();
        agent.on(AgentIn::Tick { now_ms: 1000 });
        agent.on(AgentIn::StreamLost);
        agent.on(AgentIn::Recorded(RECORD));
        assert_eq!(agent.on(AgentIn::Running), []);
        assert_eq!(agent.on(AgentIn::Tick { now_ms: 1249 }), []);
        let out = agent.on(AgentIn::Tick { now_ms: 1250 });
        assert_eq!(out, [AgentOut::Attach { epoch: 2 }]);
    }
}
