//! Guard, agent, standby, QMP, QEMU streams and the failover state machine.

pub mod error;
pub mod machine;
pub mod qmp;
pub mod rng;
pub mod sim;
pub mod stream;
pub mod synth;
