//! Formats the event streams of coding agents inside another program:
//!
//! ```
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/samples/shop.jsonl");
//! let engine = streamfmt::Engine::builder().writer("text").build()?;
//! let mut text = String::new();
//! engine.format_file(path, &mut text)?;
//! # assert!(text.contains("● Bash "));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An [`Engine`] holds a user's choices, read and checked once. It is cheap to clone and can be shared between threads.
//!
//! | for | call | where the text goes |
//! |---|---|---|
//! | a line | [`Engine::format_line`]`(&self, line: &str) -> String` | it is returned |
//! | an input | [`Engine::format`]`(&self, input: impl Read, out: &mut dyn fmt::Write) -> io::Result<()>` | to a `String`, or to a [`Tail`], which keeps the end of it |
//! | a file | [`Engine::format_file`]`(&self, path: impl AsRef<Path>, out: &mut dyn fmt::Write) -> io::Result<()>` | the same, with the files of its sub-agents |
//! | a stream, in pieces | [`Pipeline::push`], [`Pipeline::finish`] | to a `fmt::Write`, as it arrives |
//! | a display that changes | [`Engine::updating`], [`Pipeline::take_updates`] | [`Update`]s, which a [`Document`] folds |
//! | several outputs at once | [`Setup::also`], [`Engine::sink`] | a function for each |
//! | figures of a stream, or anything else that isn't output | [`Engine::watch`], [`Setup::observers`], [`Observer`](observer::Observer) | none is made |
//!
//! # Pieces of a stream
//!
//! ```
//! use streamfmt::{Engine, Pipeline};
//!
//! let engine = Engine::builder().dialect("claude").writer("text").build()?;
//! let (mut pipeline, mut text) = (Pipeline::new(engine.setup()), String::new());
//! for piece in [&b"{\"type\":\"result\",\"sub"[..], b"type\":\"success\",\"result\":\"done\"}\n"] {
//!     pipeline.push(piece, &mut text)?;
//! }
//! pipeline.finish(&mut text)?;
//! assert_eq!(text, "✓ done\n  done\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Updates
//!
//! A put shows an [entry](entry::Entry), replacing the one with its id; a drop removes one:
//!
//! ```
//! use streamfmt::{Engine, EntryChange, Pipeline};
//!
//! let engine = Engine::builder().dialect("claude").build()?.updating();
//! let mut pipeline = Pipeline::new(engine.setup());
//! let line = br#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}"#;
//! pipeline.push(line, &mut String::new())?;
//! pipeline.push(b"\n", &mut String::new())?;
//! for update in pipeline.take_updates() {
//!     match &update.change {
//!         EntryChange::Put { entry, partial, .. } => {
//!             let title = entry.view.title.text();
//!             assert_eq!((entry.id.as_str(), title, *partial), ("t", "Bash ls", false));
//!         }
//!         EntryChange::Drop(id) => println!("{id} is gone"),
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Additions
//!
//! [`Builder::add_formatter`], [`add_dialect`](Builder::add_dialect), [`add_writer`](Builder::add_writer) and
//! [`add_theme`](Builder::add_theme) register additions in Rust, through the traits [`Formatter`](formatter::Formatter),
//! [`Decoder`](dialect::Decoder) and [`Writer`](writer::Writer). [`Builder::add_profile`] and [`Builder::script`] take a profile in TOML and
//! a plugin in Lua as text. Files are read only if their path is named, or in the folders set by [`Builder::folders`].
//! The [`Journal`](plugin::journal::Journal) of an engine has the failures of its plugins. [`records`] are the JSON lines in a reply.
//!
//! A longer page, with an example of each, is `docs/embedding.md` in the repository.
//!
//! # Features and versions
//!
//! `lua` is for plugins in Lua, which include the built-in ones, `native` for plugins that are shared libraries; both are on by default.
//! So is `zstd`, for archives. Without a feature, naming such a plugin, or reading such an archive, is an error with the reason; profiles,
//! themes and additions in Rust work the same. Rust 1.90 or newer is needed; only a new minor version may raise that.
//!
//! Nothing here prints, exits, or reads the environment: errors are returned as [`Problems`], or as an [`std::io::Error`] with the path of the
//! file.

#![cfg_attr(
    not(feature = "lua"),
    expect(dead_code, reason = "what only scripts use, and what explains them")
)]

#[cfg(feature = "lua")]
pub mod authoring;
pub mod engine;
#[cfg(feature = "lua")]
pub mod explain;
pub mod files;
pub mod folders;
pub mod follow;
pub mod golden;
pub mod histories;
pub mod install;
pub mod json;
#[cfg(feature = "lua")]
pub mod lua;
mod native;
pub mod origins;
pub mod plugin;
pub mod problem;
mod read_ahead;
pub mod settings;
pub mod side_files;
mod spool;
mod text_end;
pub mod tools;
pub mod trust;
pub mod unpack;
pub mod writers;

pub use engine::{Builder, Engine};
pub use files::Files;
pub use folders::Folders;
pub use origins::origins;
pub use problem::{FilePosition, Problem, ProblemKind, Problems, RunChoice};
pub use read_ahead::format_ahead;
pub use settings::Settings;
pub use settings::themes::Themes;
pub use side_files::{GrowingSideFiles, SideFile, side_files, side_files_of, subagents, subagents_among};
pub use spool::Spool;
#[doc(hidden)]
pub use streamfmt_core as core;
pub use streamfmt_core::budget::Budget;
pub use streamfmt_core::outline::{Document, EntryChange, Update};
pub use streamfmt_core::pipeline::{LivePace, Pipeline, Setup};
#[doc(inline)]
pub use streamfmt_core::{
    budget, contract, entry, event, item, observer, outline, pipeline, profile, redact, session, text, theme,
};
/// The types for dialects, and the known dialects.
pub mod dialect {
    pub use streamfmt_core::dialect::*;
    pub use streamfmt_dialects::*;
}
/// The types for formatters, and the built-in formatter.
pub mod formatter {
    pub use streamfmt_core::formatter::*;
    pub use streamfmt_formatters::*;
}
/// Records: finds them in text, builds their tree, checks them against a schema, and writes the instructions for a model.
pub mod records {
    pub use crate::settings::records::load;
    pub use streamfmt_core::records::*;
}
/// The types for writers, and the writers of the built-in formats.
pub mod writer {
    pub use streamfmt_core::writer::*;
    pub use streamfmt_writers::*;
}
pub use text_end::Tail;
pub use tools::rule::ToolRule;
pub use trust::{Closure, Trust, TrustStatus};
pub use writers::{Background, OutputCapabilities};

/// The page for embedders, whose examples are run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
pub struct EmbeddingPage;

/// The page for programs, whose example is run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/json.md")]
pub struct JsonPage;
