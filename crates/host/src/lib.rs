//! Formats the event streams of coding agents.
pub use streamfmt_core as core;
