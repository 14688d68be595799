//! Plugins as they lie on the disk: what they are made of, what they tell of themselves, and what is told of them.

pub mod built_in;
pub mod journal;
pub mod manifest;
pub mod pack;
