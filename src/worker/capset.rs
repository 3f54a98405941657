//! The Venus capset (capset id 4): what Hesper tells the guest's driver before anything else.

/// Length of the capset, bytes.
pub const LEN: usize = 160;

/// Timelines of one context: the CPU's and one for each queue.
pub const TIMELINES_MAX: u32 = 64;

/// The capset's bytes: little-endian `u32` fields in the order of the protocol.
pub fn venus() -> Vec<u8> {
    let mut words = vec![
        1, // wire format version
        hesper_gpu::VENUS_VK_XML_VERSION,
        1, // VK_EXT_command_serialization
        2, // VK_MESA_venus_protocol
        1, // blob id 0 is shared memory
    ];
    words.extend(hesper_gpu::extension_mask());
    words.extend([
        1, // vkWait* may be sent
        1, // several timelines
        0, // no guest VRAM
    ]);
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.resize(LEN, 0);
    bytes
}

#[cfg(test)]
mod tests {
    #[test]
    fn venus_capset_has_every_field_in_its_place() {
        let bytes = super::venus();
        assert_eq!(bytes.len(), super::LEN);
        assert_eq!(bytes[..4], [1, 0, 0, 0]);
        assert_eq!(bytes[20] & 1, 1, "the extension mask is valid");
        assert_eq!(
            bytes[5 * 4 + 32 * 4..][..12],
            [1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
        );
    }
}
