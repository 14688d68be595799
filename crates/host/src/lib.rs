//! Formats the event streams of coding agents. This crate is the one to embed: it reads profiles, themes and plugins, and sets
//! up the pipelines of the core.
//!
//! ```text
//! name of a profile ─▶ Settings ─▶ Engine ─▶ Setup ─▶ core's Pipeline
//!                    (settings)  (engine)           bytes in, text out
//! ```
//!
//! ```
//! use streamfmt::{Engine, core::pipeline::Pipeline};
//!
//! let engine = Engine::builder().profile("quiet").writer("items").build()?;
//! let mut pipeline = Pipeline::new(engine.setup());
//! let mut out = String::new();
//! pipeline.push(b"{\"type\":\"system\"}\n", &mut out)?;
//! pipeline.finish(&mut out)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Those who want no more than text need no pipeline: [`Engine::format_line`], [`Engine::format`] and
//! [`Engine::format_file`] format a line, an input and a file in any profile, and a [`Tail`] keeps the end of it.
//!
//! The feature `lua`, which is on unless `default-features = false` is asked for, brings plugins in Lua and those that come
//! with the program. Without it whoever names a plugin learns why there is none; profiles, themes and what is written in Rust
//! do the same.
//!
//! Nothing here prints, exits, or reads the environment: what is wrong comes back as [`Problems`].

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
pub mod install;
pub mod json;
#[cfg(feature = "lua")]
pub mod lua;
#[cfg_attr(not(all(feature = "native", unix)), path = "native/without.rs")]
mod native;
mod parallel;
pub mod plugin;
pub mod problem;
pub mod settings;
pub mod side_files;
mod spool;
mod text_end;
pub mod tools;
pub mod trust;
pub mod writers;

pub use engine::{Builder, Engine};
pub use files::Files;
pub use folders::Folders;
pub use parallel::run_parallel;
pub use problem::{FilePosition, Problem, Problems};
pub use settings::Settings;
pub use settings::themes::Themes;
pub use side_files::{GrowingSideFiles, SideFile, side_files, subagents};
pub use spool::Spool;
pub use streamfmt_core as core;
pub use text_end::Tail;
pub use tools::rule::ToolRule;
pub use trust::{Closure, Standing, Trust};
pub use writers::{Background, Looks};

/// The page for embedders: its examples are run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
pub struct EmbeddingPage;

/// The page for programs: its example is run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/json.md")]
pub struct JsonPage;
