//! streamfmt: readable output for the event streams of coding agents.
fn main() {}
