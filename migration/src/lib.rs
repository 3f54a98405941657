//! Guard, agent, standby, QMP, QEMU streams and the failover state machine.

pub mod agent;
pub mod batch;
pub mod error;
pub mod frame;
pub mod guard;
pub mod lines;
pub mod machine;
pub mod migrate;
pub mod process;
pub mod qmp;
pub mod release;
pub mod rng;
pub mod sim;
pub mod standby;
pub mod stream;
pub mod synth;
