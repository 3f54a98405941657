//! Guard, agent, standby, QMP, QEMU streams and the failover state machine.
