//! The vtest socket: Venus contexts without a VM.
