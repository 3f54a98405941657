//! The parser of the vtest socket.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code)]
#[path = "../../src/vtest/wire.rs"]
mod wire;

/// What the parser needs of its crate.
#[derive(Debug, thiserror::Error)]
pub enum VtestError {
    #[error("Socket: {0}")]
    Io(#[from] std::io::Error),
    #[error("Request {command}: {reason}")]
    Protocol { command: u32, reason: String },
}

fuzz_target!(|data: &[u8]| {
    let mut rest = data;
    while let Ok(Some(request)) = wire::read(&mut rest) {
        for at in [0, 1, request.body.len().saturating_sub(1), usize::MAX - 1] {
            assert_eq!(request.word(at).is_ok(), at < request.body.len());
            assert_eq!(
                request.long(at).is_ok(),
                at < request.body.len().saturating_sub(1)
            );
        }
    }
});
