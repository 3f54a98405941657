//! hesper-device with a front that only hands out arena ranges: for trying the device alone.
fn main() {}
