//! `cargo xtask bench`: what Hesper costs, in figures.

use crate::error::{Error, Result};

/// Runs the measurements.
pub fn run() -> Result<()> {
    Err(Error::Usage("There is no measurement yet".into()))
}
