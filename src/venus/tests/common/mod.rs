//! Bytes written by hand, as a guest's driver would write them.
#![allow(dead_code)]

#[derive(Default)]
pub struct Wire(pub Vec<u8>);

impl Wire {
    /// A command's header.
    pub fn command(id: u32, flags: u32) -> Self {
        Wire::default().u32(id).u32(flags)
    }

    pub fn u32(mut self, value: u32) -> Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub fn u64(mut self, value: u64) -> Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Bytes padded to the wire's alignment.
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }
}
