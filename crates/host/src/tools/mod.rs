//! Formatting of tools without a script: the tables `[tool.NAME]` of profiles, and how the answers of rules and plugins amend the
//! built-in formatting.

pub(crate) mod amend;
pub(crate) mod field;
mod filled;
pub(crate) mod formatter;
pub(crate) mod pattern;
pub mod rule;
pub(crate) mod template;
