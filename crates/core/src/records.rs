//! Records: objects that a model writes as JSON lines between its prose, and the trees that they form.
//!
//! ```text
//! text of a reply ─▶ find ─▶ records ─▶ tree ─▶ nodes, each an item under its parent's
//!  as it grows       whole              schema
//!                    lines
//! ```
//!
//! A [`RecordFinder`] finds records in a text as it grows. A [`RecordSchema`] defines the types of records, and which field of each refers
//! to its parent. A [`RecordTree`] adds them to the tree as they come. [`check`] compares a text with a schema, and [`instructions`]
//! returns a prompt that asks a model for such records.

mod check;
mod find;
mod prompt;
mod schema;
mod tree;

pub use check::{Flaw, RecordCheck, check};
pub use find::{FoundRecord, RecordFinder};
pub use prompt::{examples, instructions};
pub use schema::{RecordField, RecordParent, RecordSchema, RecordType, SchemaProblem};
pub use tree::{MAX_RECORD, PlacedRecord, Placement, RecordMisfit, RecordTree, TreeNode};

#[cfg(test)]
mod tests;
