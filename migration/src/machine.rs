//! Protection and takeover as pure state machines: messages and ticks in, messages and actions out.
//!
//! No clock, socket or process is touched here, so that the same code runs in the real guard,
//! agent and standby and in the simulator ([`crate::sim`]), which delays, loses and crashes.
//!
//! The rules that all three keep together:
//! 1. The guard alone ends the primary's QEMU, and its record {term, protected, acked} says who may
//!    run the VM. Once QEMU is gone the record is frozen.
//! 2. A VM that is about to run without protection is recorded as unprotected first.
//! 3. The standby starts the VM only when QEMU's end is confirmed under a record that says
//!    protected, and only from an epoch that is complete and not older than the acked one.
//! 4. A first state that is under way makes the standby ineligible until it is complete.

pub mod agent;
pub mod guard;
pub mod standby;

use serde::{Deserialize, Serialize};

/// Number of a checkpoint; grows by one, also across attachments. Zero means none.
pub type Epoch = u64;
/// Number of an ownership; the side that takes over goes one up.
pub type Term = u64;

/// What the owner of a VM has put on record. The guard keeps it now; a lease service will.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseRecord {
    /// The owner's term.
    pub term: Term,
    /// Whether a standby may take over from what it acked.
    pub protected: bool,
    /// Last epoch that the standby acked.
    pub acked: Epoch,
}
