//! The simulated world around the three state machines.

use std::collections::BTreeMap;

use super::{Mutant, Options, Process};
use crate::machine::agent::{Agent, AgentIn, Phase as AgentPhase};
use crate::machine::guard::{Guard, GuardIn};
use crate::machine::standby::{Standby, StandbyIn};
use crate::machine::{Epoch, LeaseRecord, Term};
use crate::rng::Rng;

/// Longest pause of the VM that counts as sound, in simulated milliseconds.
pub const PAUSE_MS_MAX: u64 = 1_500;
/// Faults happen before this.
pub(super) const FAULTS_MS: u64 = 2_500;
/// The world ends here, with several seconds of peace.
const END_MS: u64 = 9_000;
/// Time between two checkpoints.
pub(super) const INTERVAL_MS: u64 = 150;
/// Ticks of agent and standby.
const TICK_MS: u64 = 50;
/// Page messages of one epoch; any lost one makes it incomplete.
pub(super) const CHUNKS: u64 = 3;
/// Lines of trace kept.
const TRACE_MAX: usize = 20_000;

/// What came of a run.
#[derive(Debug, Default)]
pub struct Report {
    /// The first broken rule, in words.
    pub violation: Option<String>,
    /// A takeover took place.
    pub takeover: bool,
    /// The crash that was asked for took place.
    pub crashed: bool,
    /// Steps that each process took, in the order of [`Process`].
    pub steps: [u64; 4],
    /// Epochs whose ack the agent saw.
    pub epochs: u64,
    /// A line for each step, if asked for.
    pub trace: Vec<String>,
}

/// Something that happens to one of the parts. The number is the life or connection it belongs to:
/// what belongs to an earlier one is lost.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    Guard(u32, GuardIn),
    Agent(u32, AgentIn),
    /// From the guard to the agent, over their connection.
    ToAgent(u32, AgentIn),
    /// From the agent to the guard, over their connection.
    ToGuard(u32, GuardIn),
    /// From QEMU's stream to the agent.
    Stream(u32, AgentIn),
    /// Over the link, to the agent.
    LinkToAgent(u32, AgentIn),
    /// Over the link, to the standby.
    LinkToStandby(u32, Frame),
    Standby(u32, StandbyIn),
    Qemu(u32, QemuStep),
    AgentTick(u32),
    StandbyTick(u32),
    /// Agent connects to the guard.
    Dial(u32),
    /// Agent connects to the standby.
    DialLink(u32),
    /// The agent or the standby notices the end of a link.
    LinkGone {
        link: u32,
        at_agent: bool,
    },
    Restart(Process),
    Mend,
    Fault(Fault),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Frame {
    SyncBegin(Term),
    Chunk,
    Commit(Term, Epoch),
    Prepare(Term),
    Fenced(Term, Epoch),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum QemuStep {
    /// The first state is out, the VM is paused.
    Synced(Epoch),
    /// Time for a checkpoint.
    Request,
    /// The checkpoint is out, the VM is paused.
    Sent(Epoch),
    /// The VM goes on.
    Resume,
    /// The stream's end is noticed.
    Broken,
    /// Lost-heartbeat or cancel took effect, for the agent or the guard.
    Freed { by_guard: bool, life: u32 },
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    Crash(Process),
    CleanExit,
    CutLink {
        for_ms: u64,
    },
    BreakStream,
    DropAgent,
    Hang,
    /// The guard drops the agent just when that asks for a fence.
    HangAndDrop,
    Failover,
}

/// QEMU's part in COLO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Colo {
    Off,
    Syncing,
    On,
    Broken,
}

pub(super) struct World {
    pub(super) options: Options,
    pub(super) rng: Rng,
    pub(super) now: u64,
    pub(super) order: u64,
    pub(super) queue: BTreeMap<(u64, u64), Event>,
    /// Time of the last delivery per channel, so that each stays in order.
    pub(super) lanes: BTreeMap<&'static str, u64>,
    pub(super) report: Report,
    pub(super) steps: [u64; 4],

    pub(super) guard: Option<Guard>,
    pub(super) guard_life: u32,
    /// The guard's record when it died.
    pub(super) last_record: LeaseRecord,

    pub(super) agent: Option<Agent>,
    pub(super) agent_life: u32,
    /// Connection of agent and guard.
    pub(super) wire: u32,
    pub(super) wired: bool,
    /// When the agent learns that the guard dropped it.
    pub(super) dropped_at: u64,

    pub(super) standby: Option<Standby>,
    pub(super) standby_life: u32,
    /// What is in the standby's files.
    pub(super) content: Option<Epoch>,
    /// The standby's QEMU has loaded what is in place.
    pub(super) prepared: bool,
    /// Page messages of the epoch that is arriving.
    pub(super) chunks: u64,
    /// The standby has lost its data since QEMU died.
    pub(super) lost_data: bool,

    pub(super) link: u32,
    pub(super) linked: bool,
    /// The links that either end believes in; zero for none.
    pub(super) agent_link: u32,
    pub(super) standby_link: u32,
    pub(super) cut: bool,

    pub(super) qemu_alive: bool,
    pub(super) running: bool,
    pub(super) colo: Colo,
    /// Connection of QEMU and agent.
    pub(super) stream: u32,
    pub(super) paused_since: Option<u64>,
    pub(super) acked: Epoch,
    /// Number of the agent's last release.
    pub(super) release: u32,
    /// The VM was released since the guard last recorded protection.
    pub(super) went_on: bool,
    pub(super) active: bool,
    pub(super) died_complete: bool,
    /// Everyone is there, connected, and of one mind that the VM is protected.
    pub(super) protected: bool,
    /// That was so when QEMU died, and no fault has happened since.
    pub(super) died_protected: bool,
}

/// Runs one world.
pub fn run(options: Options) -> Report {
    let mut world = World::new(options);
    while let Some(((at, _), event)) = world.queue.pop_first() {
        if at > END_MS || world.report.violation.is_some() {
            break;
        }
        world.now = at;
        world.handle(event);
        world.check();
    }
    if world.report.violation.is_none() {
        world.check_end();
    }
    world.report.steps = world.steps;
    world.report
}

impl World {
    pub(super) fn new(options: Options) -> Self {
        let mut world = Self {
            options,
            rng: Rng::new(options.seed),
            now: 0,
            order: 0,
            queue: BTreeMap::new(),
            lanes: BTreeMap::new(),
            report: Report::default(),
            steps: [0; 4],
            guard: Some(Guard::new(1)),
            guard_life: 1,
            last_record: LeaseRecord::default(),
            agent: None,
            agent_life: 0,
            wire: 0,
            wired: false,
            dropped_at: 0,
            standby: None,
            standby_life: 0,
            content: None,
            prepared: false,
            chunks: 0,
            lost_data: false,
            link: 0,
            linked: false,
            agent_link: 0,
            standby_link: 0,
            cut: false,
            qemu_alive: true,
            running: true,
            colo: Colo::Off,
            stream: 0,
            paused_since: None,
            acked: 0,
            release: 0,
            went_on: false,
            active: false,
            died_complete: false,
            protected: false,
            died_protected: false,
        };
        world.after(0, Event::Restart(Process::Standby));
        world.after(0, Event::Restart(Process::Agent));
        if options.crash.is_none() {
            world.draw_faults();
        }
        world
    }

    pub(super) fn draw_faults(&mut self) {
        for _ in 0..=self.rng.below(3) {
            let at = self.rng.below(FAULTS_MS);
            let fault = match self.rng.below(13) {
                0 | 1 => Fault::Crash(Process::Agent),
                2 => Fault::Crash(Process::Guard),
                3 => Fault::Crash(Process::Standby),
                4 => Fault::Crash(Process::Qemu),
                5 => Fault::CleanExit,
                6 | 7 => Fault::CutLink {
                    for_ms: 20 + self.rng.below(2_000),
                },
                8 => Fault::BreakStream,
                9 => Fault::DropAgent,
                10 => Fault::Hang,
                11 => Fault::HangAndDrop,
                _ => Fault::Failover,
            };
            self.after(at, Event::Fault(fault));
        }
    }

    pub(super) fn broken(&self, mutant: Mutant) -> bool {
        self.options.mutant == Some(mutant)
    }

    pub(super) fn after(&mut self, delay: u64, event: Event) {
        self.order += 1;
        self.queue.insert((self.now + delay, self.order), event);
    }

    /// Sends over a channel that keeps its order.
    pub(super) fn send(&mut self, lane: &'static str, most_ms: u64, event: Event) {
        let slow = if self.rng.percent(5) { 8 } else { 1 };
        let at = self.now + self.rng.below(most_ms * slow + 1);
        let last = self.lanes.entry(lane).or_insert(0);
        let at = at.max(*last);
        *last = at;
        self.order += 1;
        self.queue.insert((at, self.order), event);
    }

    pub(super) fn fail(&mut self, text: String) {
        if self.report.violation.is_none() {
            self.report.violation = Some(format!("at {} ms: {text}", self.now));
        }
    }

    pub(super) fn note(&mut self, text: impl FnOnce() -> String) {
        if self.options.trace && self.report.trace.len() < TRACE_MAX {
            let line = format!("{:>6} ms  {}", self.now, text());
            self.report.trace.push(line);
        }
    }

    /// Counts a step of a process; true if it dies here.
    pub(super) fn step(&mut self, process: Process) -> bool {
        let count = &mut self.steps[process as usize];
        let now = *count;
        *count += 1;
        if self.options.crash == Some((process, now)) && !self.report.crashed {
            self.report.crashed = true;
            self.crash(process);
            return true;
        }
        false
    }

    pub(super) fn handle(&mut self, event: Event) {
        match event {
            Event::Guard(life, input) if life == self.guard_life => self.guard_in(input),
            Event::ToGuard(wire, input) if wire == self.wire && self.wired => self.guard_in(input),
            Event::Agent(life, input) if life == self.agent_life => self.agent_in(input),
            Event::ToAgent(wire, input) if wire == self.wire && self.wired => self.agent_in(input),
            Event::Stream(stream, input) if stream == self.stream => self.agent_in(input),
            Event::LinkToAgent(link, input) if link == self.link && self.linked => {
                self.agent_in(input);
            }
            Event::LinkToStandby(link, frame) if link == self.link && self.linked => {
                self.frame(frame);
            }
            Event::Standby(life, input) if life == self.standby_life => self.standby_in(input),
            Event::Qemu(stream, step) => self.qemu(stream, step),
            Event::AgentTick(life) if life == self.agent_life && self.agent.is_some() => {
                let now_ms = self.now;
                self.agent_in(AgentIn::Tick { now_ms });
                self.after(TICK_MS, Event::AgentTick(life));
            }
            Event::StandbyTick(life) if life == self.standby_life && self.standby.is_some() => {
                let now_ms = self.now;
                self.standby_in(StandbyIn::Tick { now_ms });
                self.after(TICK_MS, Event::StandbyTick(life));
            }
            Event::Dial(life) if life == self.agent_life => self.dial(),
            Event::DialLink(life) if life == self.agent_life => self.dial_link(),
            Event::LinkGone { link, at_agent } => self.link_gone(link, at_agent),
            Event::Restart(process) => self.restart(process),
            Event::Mend => self.cut = false,
            Event::Fault(fault) => self.fault(fault),
            _ => {}
        }
    }

    pub(super) fn fault(&mut self, fault: Fault) {
        self.note(|| format!("fault {fault:?}"));
        self.died_protected = false;
        match fault {
            Fault::Crash(process) => self.crash(process),
            Fault::CleanExit => self.qemu_dies(true),
            Fault::CutLink { for_ms } => {
                self.cut = true;
                self.unlink();
                self.after(for_ms, Event::Mend);
            }
            Fault::BreakStream => self.close_stream(true),
            Fault::DropAgent => self.unwire(),
            Fault::Hang => self.agent_in(AgentIn::Hang),
            Fault::HangAndDrop => {
                self.agent_in(AgentIn::Hang);
                self.unwire();
            }
            Fault::Failover => self.standby_in(StandbyIn::Failover { forced: false }),
        }
    }

    pub(super) fn crash(&mut self, process: Process) {
        self.note(|| format!("{process:?} dies"));
        match process {
            Process::Guard => {
                if let Some(guard) = self.guard.take() {
                    self.last_record = guard.record();
                    self.guard_life += 1;
                    self.wired = false;
                    self.qemu_dies(false);
                    // The agent looks at both pidfds, after it has read the guard's last words.
                    let wait = self.dropped_at.saturating_sub(self.now) + 1;
                    self.after(wait, Event::Agent(self.agent_life, AgentIn::GuardDead));
                }
            }
            Process::Agent => {
                if self.agent.take().is_some() {
                    self.agent_life += 1;
                    self.release += 1;
                    self.agent_link = 0;
                    self.unwire();
                    self.unlink();
                    self.close_stream(false);
                    let wait = 50 + self.rng.below(1_000);
                    self.after(wait, Event::Restart(Process::Agent));
                }
            }
            Process::Standby => {
                if self.standby.take().is_some() {
                    self.standby_life += 1;
                    self.standby_link = 0;
                    self.content = None;
                    self.prepared = false;
                    self.lost_data = true;
                    // Its QEMU is its child and dies with it.
                    self.active = false;
                    self.unlink();
                    let wait = 50 + self.rng.below(1_000);
                    self.after(wait, Event::Restart(Process::Standby));
                }
            }
            Process::Qemu => self.qemu_dies(false),
        }
    }

    pub(super) fn restart(&mut self, process: Process) {
        match process {
            Process::Agent if self.agent.is_none() => {
                self.agent_life += 1;
                self.agent = Some(Agent::new());
                self.after(0, Event::AgentTick(self.agent_life));
                self.after(5, Event::Dial(self.agent_life));
                self.after(5, Event::DialLink(self.agent_life));
            }
            Process::Standby if self.standby.is_none() => {
                self.standby_life += 1;
                self.standby = Some(Standby::new(0, true));
                self.after(0, Event::StandbyTick(self.standby_life));
            }
            _ => {}
        }
    }

    // Connections.

    pub(super) fn dial(&mut self) {
        if self.agent.is_none() || self.wired {
            return;
        }
        if self.guard.is_some() {
            self.wire += 1;
            self.wired = true;
            self.send("to-guard", 3, Event::ToGuard(self.wire, GuardIn::AgentUp));
        } else {
            self.after(100, Event::Dial(self.agent_life));
        }
    }

    /// The guard drops the agent, or the agent died.
    pub(super) fn unwire(&mut self) {
        if !std::mem::replace(&mut self.wired, false) {
            return;
        }
        let wait = self.rng.below(5);
        self.after(wait, Event::Guard(self.guard_life, GuardIn::AgentLost));
        let wait = wait + 1 + self.rng.below(50);
        self.dropped_at = self.now + wait;
        self.after(wait, Event::Agent(self.agent_life, AgentIn::GuardLost));
        self.after(wait + 20, Event::Dial(self.agent_life));
    }

    pub(super) fn dial_link(&mut self) {
        self.after(60, Event::DialLink(self.agent_life));
        // The agent greets with its term, which it has from the guard, and dials again only when it
        // has given up the old link.
        let own = self.agent.as_ref().map_or(0, |agent| agent.record().term);
        if own == 0 || self.agent_link != 0 || self.cut || self.standby.is_none() {
            return;
        }
        // The standby serves one link: a new one ends the old.
        self.link_gone(self.standby_link, false);
        let Some(standby) = &self.standby else { return };
        let (term, epoch) = (standby.term(), standby.epoch());
        self.link += 1;
        self.linked = true;
        self.agent_link = self.link;
        self.standby_link = self.link;
        self.chunks = 0;
        self.standby_in(StandbyIn::LinkUp { term: own });
        if self.linked {
            let input = AgentIn::LinkUp { term, epoch };
            self.send("to-agent", 5, Event::LinkToAgent(self.link, input));
        }
    }

    /// Both ends notice, each in its own time; what was on the way is lost.
    pub(super) fn unlink(&mut self) {
        if !std::mem::replace(&mut self.linked, false) {
            return;
        }
        for at_agent in [true, false] {
            let wait = self.rng.below(300);
            let link = self.link;
            self.after(wait, Event::LinkGone { link, at_agent });
        }
    }

    pub(super) fn link_gone(&mut self, link: u32, at_agent: bool) {
        let end = if at_agent {
            &mut self.agent_link
        } else {
            &mut self.standby_link
        };
        if link == 0 || *end != link {
            return;
        }
        *end = 0;
        if at_agent {
            self.agent_in(AgentIn::LinkLost);
        } else {
            self.standby_in(StandbyIn::LinkLost);
        }
    }

    pub(super) fn close_stream(&mut self, tell_agent: bool) {
        let old = self.stream;
        self.stream += 1;
        let wait = self.rng.below(10);
        self.after(wait, Event::Qemu(self.stream, QemuStep::Broken));
        if tell_agent && old != 0 {
            self.after(wait, Event::Agent(self.agent_life, AgentIn::StreamLost));
        }
    }

    // The rules.

    pub(super) fn check(&mut self) {
        let agent = self.agent.as_ref().map(Agent::phase);
        self.protected = self.qemu_alive
            && self.wired
            && self.linked
            && agent == Some(AgentPhase::Protected)
            && self.content.is_some();
        if self.active && self.qemu_alive {
            self.fail("the VM is on both sides".into());
        }
        if self.qemu_alive && !self.running {
            let since = *self.paused_since.get_or_insert(self.now);
            if self.now - since > PAUSE_MS_MAX {
                self.fail(format!("the VM is paused since {since} ms"));
            }
        } else {
            self.paused_since = None;
        }
    }

    pub(super) fn check_end(&mut self) {
        self.now = END_MS;
        self.check();
        let agent = self.agent.as_ref().map(Agent::phase);
        let standby = self.standby.as_ref().map(Standby::phase);
        if self.qemu_alive && agent != Some(AgentPhase::Protected) {
            self.fail(format!(
                "the VM is not protected again: {agent:?}, {standby:?}"
            ));
        }
        // With the guard dead, too, nobody may know the record: then nobody takes over.
        let due = !self.qemu_alive
            && self.guard.is_some()
            && self.record().protected
            && self.died_complete
            && !self.lost_data;
        if (due || self.died_protected) && !self.active {
            self.fail(format!("the VM was not taken over: {agent:?}, {standby:?}"));
        }
    }
}
