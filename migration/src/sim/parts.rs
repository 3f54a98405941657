//! QEMU, guard, agent and standby inside the simulated world: each hands its rules' actions on.

use super::world::{CHUNKS, Colo, Event, FAULTS_MS, Frame, INTERVAL_MS, QemuStep, World};
use super::{Mutant, Process};
use crate::machine::agent::{Agent, AgentIn, AgentOut, Phase as AgentPhase};
use crate::machine::guard::{Guard, GuardIn, GuardOut};
use crate::machine::standby::{Phase as StandbyPhase, StandbyIn, StandbyOut};
use crate::machine::{Epoch, LeaseRecord};

impl World {
    // QEMU.

    pub(super) fn qemu_dies(&mut self, clean: bool) {
        if !std::mem::replace(&mut self.qemu_alive, false) {
            return;
        }
        self.note(|| format!("QEMU dies, clean {clean}"));
        self.running = false;
        self.died_complete = self.content.is_some();
        self.died_protected = !clean && self.protected;
        self.lost_data = false;
        let wait = self.rng.below(4);
        self.after(
            wait,
            Event::Guard(self.guard_life, GuardIn::Exited { clean }),
        );
        self.close_stream(true);
    }

    pub(super) fn qemu(&mut self, stream: u32, step: QemuStep) {
        if !self.qemu_alive {
            return;
        }
        if let QemuStep::Freed { by_guard, life } = step {
            return self.freed(by_guard, life);
        }
        if stream != self.stream || self.step(Process::Qemu) {
            return;
        }
        match step {
            QemuStep::Broken => match self.colo {
                // A migration that fails before COLO leaves the VM running.
                Colo::Syncing => {
                    self.colo = Colo::Off;
                    self.running = true;
                }
                Colo::On => self.colo = Colo::Broken,
                Colo::Off | Colo::Broken => {}
            },
            QemuStep::Synced(epoch) if self.colo == Colo::Syncing => {
                self.colo = Colo::On;
                self.running = false;
                self.send("stream", 5, Event::Stream(stream, AgentIn::Staged(epoch)));
            }
            QemuStep::Request if self.colo == Colo::On => {
                self.send("stream", 2, Event::Stream(stream, AgentIn::Requested));
            }
            QemuStep::Sent(epoch) if self.colo == Colo::On => {
                self.send("stream", 5, Event::Stream(stream, AgentIn::Staged(epoch)));
            }
            QemuStep::Resume if self.colo == Colo::On => {
                self.running = true;
                self.after(INTERVAL_MS, Event::Qemu(stream, QemuStep::Request));
            }
            _ => {}
        }
    }

    pub(super) fn freed(&mut self, by_guard: bool, life: u32) {
        let current = if by_guard {
            self.guard_life
        } else {
            self.release
        };
        if life != current {
            return;
        }
        // A cancelled or failed-over QEMU runs, and its stream is gone.
        if self.colo != Colo::Off {
            self.colo = Colo::Off;
            self.close_stream(by_guard);
        }
        self.running = true;
        self.went_on = true;
        if by_guard {
            self.after(0, Event::Guard(life, GuardIn::Released));
        } else {
            self.after(0, Event::Agent(self.agent_life, AgentIn::Running));
        }
    }

    // The guard.

    pub(super) fn guard_in(&mut self, input: GuardIn) {
        if self.guard.is_none() || self.step(Process::Guard) {
            return;
        }
        self.note(|| format!("guard   <- {input:?}"));
        let ignored = self.broken(Mutant::RecordIgnored);
        let Some(guard) = &mut self.guard else { return };
        if let GuardIn::Record {
            protected: true, ..
        } = input
        {
            self.went_on = false;
        }
        let mut out = guard.on(input);
        if ignored
            && let GuardIn::FenceIfProtected { asker, .. } = input
            && matches!(out[..], [GuardOut::Refused { .. }])
        {
            out = guard.on(GuardIn::Fence { asker });
        }
        for action in out {
            if self.guard.is_none() || self.step(Process::Guard) {
                return;
            }
            self.note(|| format!("guard   -> {action:?}"));
            self.guard_out(action);
        }
    }

    pub(super) fn guard_out(&mut self, action: GuardOut) {
        let wire = self.wire;
        match action {
            GuardOut::Kill => self.qemu_dies(false),
            GuardOut::Release => {
                if !self.broken(Mutant::NoRelease) {
                    let wait = 1 + self.rng.below(100);
                    let (by_guard, life) = (true, self.guard_life);
                    self.after(wait, Event::Qemu(0, QemuStep::Freed { by_guard, life }));
                }
            }
            GuardOut::Welcome { record, gone } => {
                let input = AgentIn::Welcome { record, gone };
                self.send("from-guard", 3, Event::ToAgent(wire, input));
            }
            GuardOut::Recorded(record) => {
                let input = AgentIn::Recorded(record);
                self.send("from-guard", 3, Event::ToAgent(wire, input));
            }
            GuardOut::Gone(record) => {
                self.send("from-guard", 3, Event::ToAgent(wire, AgentIn::Gone(record)));
            }
            // Askers below the mark are lives of the standby, with the epoch they ask for.
            GuardOut::Fenced { asker, record } => {
                let Some((life, epoch)) = standby_asker(asker) else {
                    return;
                };
                let ok = record.protected || self.broken(Mutant::RecordIgnored);
                let input = if ok {
                    StandbyIn::FenceConfirmed { epoch }
                } else {
                    StandbyIn::FenceRefused
                };
                let wait = self.rng.below(30);
                self.after(wait, Event::Standby(life, input));
            }
            GuardOut::Refused { asker, .. } => {
                if let Some((life, _)) = standby_asker(asker) {
                    let wait = self.rng.below(30);
                    self.after(wait, Event::Standby(life, StandbyIn::FenceRefused));
                }
            }
        }
    }

    // The agent.

    pub(super) fn agent_in(&mut self, input: AgentIn) {
        let tick = matches!(input, AgentIn::Tick { .. });
        if self.agent.is_none() || (!tick && self.step(Process::Agent)) {
            return;
        }
        // The agent looks whether QEMU has died before it takes a stream for lost.
        let hasty = self.broken(Mutant::DeathIsStreamLoss);
        if input == AgentIn::StreamLost && !self.qemu_alive && !hasty {
            return;
        }
        if !tick {
            self.note(|| format!("agent   <- {input:?}"));
        }
        let Some(agent) = &mut self.agent else { return };
        if let AgentIn::Acked(epoch) = input
            && !matches!(agent.phase(), AgentPhase::Down | AgentPhase::Ended)
        {
            self.acked = self.acked.max(epoch);
            self.report.epochs += 1;
        }
        let mut out = agent.on(input);
        if input == AgentIn::GuardLost {
            self.close_stream(false);
        }
        if self.broken(Mutant::NoRecord)
            && let [
                AgentOut::Record {
                    protected: false, ..
                },
            ] = out[..]
        {
            let term = 1;
            let (protected, acked) = (false, 0);
            let record = LeaseRecord {
                term,
                protected,
                acked,
            };
            if let Some(agent) = &mut self.agent {
                out = agent.on(AgentIn::Recorded(record));
            }
        }
        for action in out {
            if self.agent.is_none() || self.step(Process::Agent) {
                return;
            }
            self.note(|| format!("agent   -> {action:?}"));
            self.agent_out(action);
        }
    }

    pub(super) fn agent_out(&mut self, action: AgentOut) {
        let (wire, link) = (self.wire, self.link);
        match action {
            AgentOut::Release => {
                self.close_stream(false);
                // A newer release replaces an older one.
                self.release += 1;
                let wait = 1 + self.rng.below(60);
                let (by_guard, life) = (false, self.release);
                self.after(wait, Event::Qemu(0, QemuStep::Freed { by_guard, life }));
            }
            AgentOut::Attach { epoch } => {
                self.stream += 1;
                let term = self.agent.as_ref().map_or(0, |agent| agent.record().term);
                let frame = Frame::SyncBegin(term);
                self.send("to-standby", 20, Event::LinkToStandby(link, frame));
                if self.qemu_alive && self.colo == Colo::Off {
                    self.colo = Colo::Syncing;
                    let wait = 50 + self.rng.below(200);
                    self.after(wait, Event::Qemu(self.stream, QemuStep::Synced(epoch)));
                } else {
                    self.close_stream(true);
                }
            }
            AgentOut::Reply { epoch } => {
                if self.qemu_alive && self.colo == Colo::On {
                    self.running = false;
                    let wait = 2 + self.rng.below(40);
                    self.after(wait, Event::Qemu(self.stream, QemuStep::Sent(epoch)));
                }
            }
            AgentOut::Resume => {
                let wait = 1 + self.rng.below(5);
                self.after(wait, Event::Qemu(self.stream, QemuStep::Resume));
            }
            AgentOut::Commit { epoch } => {
                let term = self.agent.as_ref().map_or(0, |agent| agent.record().term);
                for _ in 0..CHUNKS {
                    let event = Event::LinkToStandby(link, Frame::Chunk);
                    self.send("to-standby", 20, event);
                }
                let event = Event::LinkToStandby(link, Frame::Commit(term, epoch));
                self.send("to-standby", 20, event);
            }
            AgentOut::Record { protected, acked } => {
                let input = GuardIn::Record { protected, acked };
                self.send("to-guard", 3, Event::ToGuard(wire, input));
            }
            AgentOut::Fence if self.broken(Mutant::NoFence) => {
                let record = self.agent.as_ref().map(Agent::record).unwrap_or_default();
                self.after(0, Event::Agent(self.agent_life, AgentIn::Gone(record)));
            }
            AgentOut::Fence => {
                let input = GuardIn::Fence { asker: u64::MAX };
                self.send("to-guard", 3, Event::ToGuard(wire, input));
            }
            AgentOut::TellPrepare => {
                let term = self.agent.as_ref().map_or(0, |agent| agent.record().term);
                let frame = Frame::Prepare(term);
                self.send("to-standby", 20, Event::LinkToStandby(link, frame));
            }
            AgentOut::TellFenced { term, epoch } => {
                let frame = Frame::Fenced(term, epoch);
                self.send("to-standby", 20, Event::LinkToStandby(link, frame));
            }
            AgentOut::RefuseFailover => {}
        }
    }

    // The standby.

    /// The frame layer of the standby: what it makes of what arrives.
    pub(super) fn frame(&mut self, frame: Frame) {
        match frame {
            Frame::SyncBegin(term) => {
                self.chunks = 0;
                if self.broken(Mutant::SyncKeepsReady) {
                    self.content = None;
                } else {
                    self.standby_in(StandbyIn::SyncBegin { term });
                    if self.phase_is(StandbyPhase::Syncing) {
                        self.content = None;
                        if self.prepared {
                            self.fail("first state under a QEMU that has loaded the VM".into());
                        }
                    }
                }
            }
            // While there are faults, one in 200 is damaged: its checksum is wrong.
            Frame::Chunk => {
                let damaged = self.now < FAULTS_MS && self.rng.below(200) == 0;
                self.chunks += u64::from(!damaged);
            }
            Frame::Commit(term, epoch) => {
                let whole = self.chunks == CHUNKS;
                self.chunks = 0;
                if whole || self.broken(Mutant::PartialCommit) {
                    self.standby_in(StandbyIn::Complete { term, epoch });
                    if !whole {
                        self.content = None;
                    }
                } else {
                    self.unlink();
                }
            }
            Frame::Prepare(term) => self.standby_in(StandbyIn::Prepare { term }),
            Frame::Fenced(term, epoch) => self.standby_in(StandbyIn::Fenced { term, epoch }),
        }
    }

    pub(super) fn phase_is(&self, phase: StandbyPhase) -> bool {
        self.standby.as_ref().is_some_and(|s| s.phase() == phase)
    }

    pub(super) fn standby_in(&mut self, input: StandbyIn) {
        let tick = matches!(input, StandbyIn::Tick { .. });
        if self.standby.is_none() || (!tick && self.step(Process::Standby)) {
            return;
        }
        if !tick {
            self.note(|| format!("standby <- {input:?}"));
        }
        let hasty = self.broken(Mutant::LinkLossIsDeath);
        let Some(standby) = &mut self.standby else {
            return;
        };
        let mut out = standby.on(input);
        if hasty && input == StandbyIn::LinkLost {
            let epoch = standby.epoch();
            out.extend(standby.on(StandbyIn::FenceConfirmed { epoch }));
        }
        for action in out {
            if self.standby.is_none() || self.step(Process::Standby) {
                return;
            }
            self.note(|| format!("standby -> {action:?}"));
            self.standby_out(action);
        }
    }

    pub(super) fn standby_out(&mut self, action: StandbyOut) {
        match action {
            StandbyOut::Prepare { epoch } => {
                self.prepared = true;
                if self.content != Some(epoch) {
                    self.fail(format!("epoch {epoch} is loaded and not in place"));
                }
            }
            StandbyOut::Abort => self.prepared = self.broken(Mutant::NoAbort),
            StandbyOut::Apply { epoch } => {
                if self.prepared {
                    self.fail("epoch put in place under a QEMU that has loaded the VM".into());
                }
                if !self.broken(Mutant::AckWithoutApply) {
                    self.content = Some(epoch);
                }
            }
            StandbyOut::Ack { epoch } => {
                let event = Event::LinkToAgent(self.link, AgentIn::Acked(epoch));
                self.send("to-agent", 20, event);
            }
            StandbyOut::Discard => self.chunks = 0,
            StandbyOut::DropLink => self.unlink(),
            StandbyOut::RunFence { epoch } => {
                let asker = u64::from(self.standby_life) << 32 | epoch;
                let wait = 5 + self.rng.below(60);
                if self.guard.is_some() && !self.rng.percent(15) {
                    let input = GuardIn::FenceIfProtected { asker, epoch };
                    self.after(wait, Event::Guard(self.guard_life, input));
                } else {
                    let input = StandbyIn::FenceUnknown;
                    self.after(wait, Event::Standby(self.standby_life, input));
                }
            }
            StandbyOut::Restore { epoch, .. } => self.restore(epoch),
            StandbyOut::TellTakenOver { term } => {
                let event = Event::LinkToAgent(self.link, AgentIn::TakenOver(term));
                self.send("to-agent", 20, event);
            }
            StandbyOut::AskFailover => {
                let event = Event::LinkToAgent(self.link, AgentIn::FailoverAsked);
                self.send("to-agent", 20, event);
            }
            StandbyOut::Refuse { .. } => {}
        }
    }

    pub(super) fn record(&self) -> LeaseRecord {
        self.guard.as_ref().map_or(self.last_record, Guard::record)
    }

    pub(super) fn restore(&mut self, epoch: Epoch) {
        self.active = true;
        self.report.takeover = true;
        if self.qemu_alive {
            self.fail("takeover while the primary's QEMU lives".into());
        }
        if self.content != Some(epoch) {
            let content = self.content;
            self.fail(format!(
                "takeover from epoch {epoch}, in place is {content:?}"
            ));
        }
        if epoch < self.acked {
            let acked = self.acked;
            self.fail(format!("takeover from epoch {epoch}, acked was {acked}"));
        }
        if self.went_on {
            self.fail(format!(
                "takeover from epoch {epoch}, the VM went on without protection"
            ));
        }
        if !self.record().protected {
            self.fail("takeover from a record that says unprotected".into());
        }
        let wait = 5 + self.rng.below(100);
        self.after(wait, Event::Standby(self.standby_life, StandbyIn::Restored));
    }
}

/// Splits an asker into a standby's life and its epoch; none for the agent.
fn standby_asker(asker: u64) -> Option<(u32, Epoch)> {
    (asker != u64::MAX).then_some(((asker >> 32) as u32, asker & 0xffff_ffff))
}
