//! Shared parts of this folder's tests, and tests of the whole folder.

mod document;
mod modes;
pub(super) mod site;
