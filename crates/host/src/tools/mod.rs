//! Formatting of tools without a script: the tables `[tool.NAME]` of profiles, and how what rules and plugins set overrides the
//! built-in formatting.

pub(crate) mod field;
pub(crate) mod formatter;
pub(crate) mod overrides;
pub(crate) mod pattern;
pub(crate) mod request;
pub mod rule;
pub(crate) mod template;
