//! The pure core of streamfmt: the bytes of a coding agent's event stream become items (the facts),
//! items become entries (their presentation), entries become text.
//!
//! ```text
//! bytes → frame → event → item → entry → text
//!         frame   dialect session formatter writer
//! ```
//!
//! It uses no files, sockets, environment, clock, threads or randomness: callers pass bytes and the time.

pub mod bounded;
pub mod budget;
pub mod clip;
pub mod contract;
pub mod dialect;
pub mod entry;
pub mod event;
pub mod fence;
pub mod figures;
pub mod find;
pub mod formatter;
pub mod frame;
pub mod hash;
pub mod home;
pub mod item;
pub mod json;
pub mod name_table;
pub mod names;
pub mod nearest;
pub mod observer;
pub mod outline;
pub mod pattern;
pub mod pipeline;
pub mod profile;
pub mod reading;
pub mod recent;
pub mod records;
pub mod redact;
pub mod report;
pub mod session;
pub mod syntax_errors;
pub mod text;
pub mod theme;
pub mod writer;
