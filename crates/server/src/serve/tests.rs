//! What the tests of this folder share, and those of all of it.

mod document;
mod modes;
pub(super) mod site;
