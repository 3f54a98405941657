//! A client that has done its work and keeps its device.

use std::time::Duration;

use crate::error::Error;
use crate::selftest;
use crate::session::Session;

/// Works once, then rests; true if the work was right.
pub fn run(device: Option<&str>, seconds: u64) -> Result<bool, Error> {
    let (gpu, shape) = selftest::open(device)?;
    let mut session = Session::on(gpu, shape)?;
    let good = selftest::check(&mut session)?;
    println!("idle: resting");
    std::thread::sleep(Duration::from_secs(seconds));
    Ok(good)
}
