//! What the tests of this folder share, and those of all of it.

mod modes;
pub(super) mod site;
