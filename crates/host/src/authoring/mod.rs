//! Tools for plugin authors: starter plugins, and checks.

pub mod examine;
pub mod starter;
mod trial;
