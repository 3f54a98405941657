//! The host GPU through ash: instances, devices, memory providers.
