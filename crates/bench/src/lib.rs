//! Measures streamfmt against plain JSON validation of the same bytes, in the same run.
//!
//! A ratio is more useful than a time: it is nearly the same on every machine. `benches/pace.rs` prints
//! the table, `examples/grow.rs` makes long sessions of short ones.

pub mod binary;
pub mod grow;
pub mod measure;
pub mod session;
