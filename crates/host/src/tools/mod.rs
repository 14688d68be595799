//! What is said of tools without a script: the tables `[tool.NAME]` of profiles, and how what is said of tools, by them or
//! by plugins, is put into what the built-in formatter says.

pub(crate) mod amend;
pub(crate) mod field;
mod filled;
pub(crate) mod formatter;
pub(crate) mod pattern;
pub mod rule;
pub(crate) mod template;
