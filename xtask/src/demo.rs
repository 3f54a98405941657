//! `cargo xtask demo`: what Hesper does, to watch.

use crate::error::{Error, Result};

/// Runs the demonstration.
pub fn run() -> Result<()> {
    Err(Error::Usage("There is no demonstration yet".into()))
}
