//! Formats the event streams of coding agents.
//!
//! ```text
//! name of a profile ─▶ Settings ─▶ Engine ─▶ Setup ─▶ core's Pipeline
//!        (profile)      (keys)     (engine)           bytes in, text out
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
//! Nothing here prints, exits, or reads the environment: what is wrong comes back as [`Problems`].

mod banner;
pub mod config;
pub mod engine;
pub mod explain;
pub mod files;
pub mod folders;
pub mod golden;
mod group;
pub mod install;
pub mod json;
pub mod keys;
pub mod lua;
pub mod problem;
pub mod profile;
mod relay;
pub mod rule;
pub mod source;
mod template;
pub mod themes;
pub mod trust;

pub use engine::{Builder, Engine, Looks};
pub use files::Files;
pub use folders::Folders;
pub use problem::{Place, Problem, Problems};
pub use profile::Settings;
pub use relay::relay;
pub use rule::ToolRule;
pub use source::{SideFile, side_files, subagents};
pub use streamfmt_core as core;
pub use themes::{Background, Themes};
pub use trust::{Closure, Standing, Trust};
