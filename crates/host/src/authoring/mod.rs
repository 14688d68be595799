//! For those who write plugins: one to begin with, and what is wrong with one.

pub mod examine;
pub mod starter;
mod trial;
