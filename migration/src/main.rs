//! The `hesper` command.
fn main() {}
