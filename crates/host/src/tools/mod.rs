//! What is said of tools without a script.

pub(crate) mod filled;
pub mod rule;
pub(crate) mod template;
