//! Control socket, metrics and configuration.
