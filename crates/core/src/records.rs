//! Records: objects that a model writes as JSON lines between its sentences, and the trees that are made of them.
//!
//! ```text
//! text of a reply ─▶ find ─▶ records ─▶ tree ─▶ nodes, each an item under its parent's
//!  as it grows       whole              schema
//!                    lines
//! ```
//!
//! A [`RecordSchema`] names the types of records, and which field of one names its parent; [`RecordTree`] puts them in their places as
//! they come. [`check`] compares a file with a schema, and [`instructions`] asks a model for records that fit.

mod check;
mod find;
mod prompt;
mod schema;
mod tree;

pub use check::{Flaw, RecordCheck, check};
pub use prompt::{examples, instructions};
pub use schema::{RecordField, RecordParent, RecordSchema, RecordType, SchemaProblem};
pub use tree::{MAX_RECORD, PlacedRecord, RecordMisfit, RecordTree, TreeNode};

pub(crate) use find::{FoundRecord, RecordFinder};

#[cfg(test)]
mod tests;
