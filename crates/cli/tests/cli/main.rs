//! The program as a whole: its arguments, its exit codes, its files.

mod program;

mod arguments;
mod copy;
mod follow;
mod inputs;
mod outputs;
