//! The output formats of streamfmt: each writer writes the nodes of a document in one of them.
//!
//! A writer sees no item and no dialect; [`atif`] reads the lines of items, which are the output `items`. [`streamfmt_core::writer`] describes what it receives, and when.

pub mod atif;
mod byte_set;
pub mod cast;
pub mod ci;
mod commonmark;
mod highlight;
pub mod html;
pub mod json;
mod lines;
mod link_text;
pub mod log;
pub mod markdown;
pub mod page;
mod pieces;
pub mod slack;
pub mod summary;
pub mod terminal;
