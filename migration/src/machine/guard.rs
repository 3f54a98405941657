//! The guard's rules: who may end QEMU, and what the record says then.

use super::{Epoch, LeaseRecord};

/// Most requests to fence that wait for the same death.
const ASKERS_MAX: usize = 16;

/// What happens to the guard. `asker` names whoever waits for the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardIn {
    /// An agent connected.
    AgentUp,
    /// The agent's connection is gone, or it went silent.
    AgentLost,
    /// The agent wants this on record.
    Record {
        /// See [`LeaseRecord::protected`].
        protected: bool,
        /// See [`LeaseRecord::acked`].
        acked: Epoch,
    },
    /// The agent or an operator wants QEMU dead.
    Fence {
        /// Whom to answer.
        asker: u64,
    },
    /// A standby wants QEMU dead, in order to take over from `epoch`.
    FenceIfProtected {
        /// Whom to answer.
        asker: u64,
        /// The standby's last complete epoch.
        epoch: Epoch,
    },
    /// QEMU is dead: by our kill, by a crash, or `clean` because its guest or operator ended it.
    Exited {
        /// Whether it ended with status 0.
        clean: bool,
    },
    /// The VM runs by itself, as [`GuardOut::Release`] asked.
    Released,
}

/// What the guard does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardOut {
    /// SIGKILL QEMU.
    Kill,
    /// Make QEMU leave COLO and run, again and again until it does.
    Release,
    /// Tell the agent that it may begin, with the record, and whether QEMU is gone.
    Welcome {
        /// The record.
        record: LeaseRecord,
        /// QEMU has ended.
        gone: bool,
    },
    /// Tell the agent what is on record now.
    Recorded(LeaseRecord),
    /// Tell the agent that QEMU has ended, with the frozen record.
    Gone(LeaseRecord),
    /// Tell the asker that QEMU has ended, with the frozen record.
    Fenced {
        /// Whom to answer.
        asker: u64,
        /// The frozen record.
        record: LeaseRecord,
    },
    /// Tell the asker that QEMU is not to be ended for it.
    Refused {
        /// Whom to answer.
        asker: u64,
        /// Why.
        reason: &'static str,
    },
}

/// QEMU as the guard sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Vm {
    Alive,
    Killing,
    Gone,
}

/// The guard's state.
#[derive(Clone, Debug)]
pub struct Guard {
    record: LeaseRecord,
    vm: Vm,
    agent: bool,
    releasing: bool,
    askers: Vec<u64>,
}

impl Guard {
    /// A guard whose QEMU has just started, unprotected.
    pub fn new(term: u64) -> Self {
        Self {
            record: LeaseRecord {
                term,
                protected: false,
                acked: 0,
            },
            vm: Vm::Alive,
            agent: false,
            releasing: false,
            askers: Vec::new(),
        }
    }

    /// The record.
    pub fn record(&self) -> LeaseRecord {
        self.record
    }

    /// Whether QEMU has ended.
    pub fn gone(&self) -> bool {
        self.vm == Vm::Gone
    }

    /// Whether an agent is connected.
    pub fn agent(&self) -> bool {
        self.agent
    }

    /// Takes one input.
    pub fn on(&mut self, input: GuardIn) -> Vec<GuardOut> {
        match input {
            GuardIn::AgentUp => {
                self.agent = true;
                // An agent that began while QEMU is being released would lose its new attachment.
                if self.releasing {
                    Vec::new()
                } else {
                    vec![self.welcome()]
                }
            }
            GuardIn::AgentLost => self.agent_lost(),
            GuardIn::Record { protected, acked } => {
                if self.vm != Vm::Alive {
                    return Vec::new();
                }
                self.record.protected = protected;
                self.record.acked = self.record.acked.max(acked);
                vec![GuardOut::Recorded(self.record)]
            }
            GuardIn::Fence { asker } => self.fence(asker),
            GuardIn::FenceIfProtected { asker, epoch } => {
                if !self.record.protected {
                    let reason = "the VM is on record as unprotected";
                    return vec![GuardOut::Refused { asker, reason }];
                }
                if epoch < self.record.acked {
                    let reason = "a later epoch was acked";
                    return vec![GuardOut::Refused { asker, reason }];
                }
                self.fence(asker)
            }
            GuardIn::Exited { clean } => self.exited(clean),
            GuardIn::Released => self.released(),
        }
    }

    fn agent_lost(&mut self) -> Vec<GuardOut> {
        self.agent = false;
        if self.vm != Vm::Alive {
            return Vec::new();
        }
        self.record.protected = false;
        // A release that is under way goes on until the VM runs; no agent has begun meanwhile.
        if std::mem::replace(&mut self.releasing, true) {
            return Vec::new();
        }
        vec![GuardOut::Release]
    }

    fn released(&mut self) -> Vec<GuardOut> {
        let was = std::mem::replace(&mut self.releasing, false);
        if was && self.agent {
            vec![self.welcome()]
        } else {
            Vec::new()
        }
    }

    fn fence(&mut self, asker: u64) -> Vec<GuardOut> {
        let record = self.record;
        if self.vm == Vm::Gone {
            return vec![GuardOut::Fenced { asker, record }];
        }
        if self.askers.len() >= ASKERS_MAX {
            let reason = "too many requests wait for the same end";
            return vec![GuardOut::Refused { asker, reason }];
        }
        self.askers.push(asker);
        if std::mem::replace(&mut self.vm, Vm::Killing) == Vm::Alive {
            vec![GuardOut::Kill]
        } else {
            Vec::new()
        }
    }

    fn exited(&mut self, clean: bool) -> Vec<GuardOut> {
        // A guest that was shut down is not to come up again elsewhere.
        if self.vm == Vm::Alive && clean {
            self.record.protected = false;
        }
        self.vm = Vm::Gone;
        let record = self.record;
        let mut out: Vec<GuardOut> = std::mem::take(&mut self.askers)
            .into_iter()
            .map(|asker| GuardOut::Fenced { asker, record })
            .collect();
        if std::mem::replace(&mut self.releasing, false) && self.agent {
            out.push(self.welcome());
        } else if self.agent {
            out.push(GuardOut::Gone(record));
        }
        out
    }

    fn welcome(&self) -> GuardOut {
        GuardOut::Welcome {
            record: self.record,
            gone: self.gone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protected_guard() -> Guard {
        let mut guard = Guard::new(1);
        guard.on(GuardIn::AgentUp);
        guard.on(GuardIn::Record {
            protected: true,
            acked: 5,
        });
        guard
    }

    #[test]
    fn fence_if_protected_unprotected_is_refused() {
        let mut guard = Guard::new(1);
        let out = guard.on(GuardIn::FenceIfProtected { asker: 9, epoch: 3 });
        assert!(matches!(out[..], [GuardOut::Refused { asker: 9, .. }]));
        assert!(!guard.gone());
    }

    #[test]
    fn fence_if_protected_older_epoch_is_refused() {
        let mut guard = protected_guard();
        let out = guard.on(GuardIn::FenceIfProtected { asker: 9, epoch: 4 });
        assert!(matches!(out[..], [GuardOut::Refused { .. }]));
    }

    #[test]
    fn fence_two_askers_kill_once_and_both_are_told() {
        let mut guard = protected_guard();
        assert_eq!(guard.on(GuardIn::Fence { asker: 1 }), [GuardOut::Kill]);
        assert_eq!(
            guard.on(GuardIn::FenceIfProtected { asker: 2, epoch: 5 }),
            []
        );
        let record = guard.record();
        assert_eq!(
            guard.on(GuardIn::Exited { clean: false }),
            [
                GuardOut::Fenced { asker: 1, record },
                GuardOut::Fenced { asker: 2, record },
                GuardOut::Gone(record),
            ]
        );
        assert!(record.protected);
    }

    #[test]
    fn agent_lost_after_the_fence_keeps_the_record() {
        let mut guard = protected_guard();
        guard.on(GuardIn::Fence { asker: 1 });
        assert_eq!(guard.on(GuardIn::AgentLost), []);
        assert!(guard.record().protected);
    }

    #[test]
    fn agent_lost_alive_vm_is_recorded_unprotected_and_released() {
        let mut guard = protected_guard();
        assert_eq!(guard.on(GuardIn::AgentLost), [GuardOut::Release]);
        assert!(!guard.record().protected);
        // The next agent waits for the release.
        assert_eq!(guard.on(GuardIn::AgentUp), []);
        assert!(matches!(
            guard.on(GuardIn::Released)[..],
            [GuardOut::Welcome { gone: false, .. }]
        ));
    }

    #[test]
    fn exited_clean_is_recorded_unprotected() {
        let mut guard = protected_guard();
        guard.on(GuardIn::Exited { clean: true });
        assert!(!guard.record().protected);
    }
}
