//! The whole path: bytes in, text out.

use std::fmt;

use crate::formatter::Formatter;
use crate::profile::Profile;
use crate::writer::Writer;

/// What comes out of a pipeline.
pub enum Output {
    /// What is said: entries of a formatter chain, spelled by a writer.
    Entries {
        /// Formatters, asked in this order before the standard one.
        formatters: Vec<Box<dyn Formatter>>,
        /// Spells the entries.
        writer: Box<dyn Writer>,
    },
    /// What is: the items, one JSON object a line.
    Items,
}

/// How a pipeline is set up.
pub struct Setup {
    /// The dialect's name, or `None` to find out (`auto`).
    pub dialect: Option<&'static str>,
    /// Lines longer than this are told, not read. In bytes; 64 MiB by default.
    pub max_line: usize,
    /// The user's choices.
    pub profile: Profile,
    /// What comes out.
    pub output: Output,
}

/// Counts of a run, for `--report` and exit codes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Lines read, blank ones included.
    pub lines: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Lines that held an event.
    pub events: u64,
    /// Lines that were no JSON and passed through.
    pub raw_lines: u64,
    /// Damaged records told or counted.
    pub damaged: u64,
    /// Lines over the cap.
    pub oversized: u64,
    /// Items by kind, shown.
    pub shown: std::collections::BTreeMap<&'static str, u64>,
    /// Items hidden, by the rule that hid them.
    pub hidden: std::collections::BTreeMap<String, u64>,
    /// Items that repeated one already shown.
    pub repeated: u64,
    /// Types, subtypes and blocks that the dialect doesn't know, by name.
    pub unknown: std::collections::BTreeMap<String, u64>,
    /// Fields of known events that the dialect doesn't know, by name.
    pub unknown_fields: std::collections::BTreeMap<String, u64>,
    /// Whether the last run read ended in an error.
    pub failed: bool,
    /// Calls whose result never came.
    pub open_calls: u64,
}

/// Bytes of one input in, text out. One pipeline reads one input.
pub struct Pipeline {
    report: Report,
}

impl Pipeline {
    /// Sets a pipeline up.
    pub fn new(setup: Setup) -> Self {
        let _ = setup;
        Self { report: Report::default() }
    }

    /// Reads more of the input and writes what is complete.
    pub fn push(&mut self, bytes: &[u8], out: &mut dyn fmt::Write) -> fmt::Result {
        let _ = (bytes, out);
        Ok(())
    }

    /// Ends the input: writes what is left.
    pub fn finish(&mut self, out: &mut dyn fmt::Write) -> fmt::Result {
        let _ = out;
        Ok(())
    }

    /// What was counted so far.
    pub fn report(&self) -> &Report {
        &self.report
    }
}
