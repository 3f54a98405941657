//! Guard, agent, standby, QMP, QEMU streams and the failover state machine.

pub mod error;
pub mod guard;
pub mod lines;
pub mod machine;
pub mod process;
pub mod qmp;
pub mod release;
pub mod rng;
pub mod sim;
pub mod stream;
pub mod synth;
