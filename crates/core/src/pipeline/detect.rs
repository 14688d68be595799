//! Detects the dialect of a stream.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::budget::Budget;
use crate::dialect::{CLAIM, Decoder, Dialect, DialectPlugin, Dialects};
use crate::json::{Record, Value};
use crate::reading::LineReading;

use super::held::Held;

/// How many lines may be held back while no dialect has claimed the input.
const MAX_HELD_LINES: usize = 64;
/// How many bytes may be held back while no dialect has claimed the input.
const MAX_HELD_BYTES: usize = 64 << 10;

/// The dialect of the input, detected or configured.
pub(super) struct ChosenDialect {
    pub(super) name: Arc<str>,
    /// Whether an array is a list of its events. `None` for a dialect plugin: then every array is one.
    pub(super) claim: Option<fn(Value<'_>) -> bool>,
    /// See [`Dialect::ends_with_outcome`]. `None` for a dialect plugin, and once the input is known to end with an outcome.
    pub(super) ends_with_outcome: Option<fn(Value<'_>) -> bool>,
    pub(super) decoder: Box<dyn Decoder>,
    /// Whether the step that reports the dialect was emitted.
    pub(super) is_counted: bool,
}

impl ChosenDialect {
    /// The built-in dialect of this row.
    fn known(dialect: &'static Dialect, budget: Budget) -> Self {
        Self {
            name: dialect.name.into(),
            claim: Some(dialect.claim),
            ends_with_outcome: Some(dialect.ends_with_outcome),
            decoder: (dialect.decoder)(budget),
            is_counted: false,
        }
    }
}

impl From<DialectPlugin> for ChosenDialect {
    fn from(DialectPlugin { name, decoder }: DialectPlugin) -> Self {
        Self { name, claim: None, ends_with_outcome: None, decoder, is_counted: false }
    }
}

/// Detects the dialect, and holds back lines until then, within a limit.
pub(super) struct Detection {
    budget: Budget,
    pub(super) dialects: Dialects,
    plugins: Vec<DialectPlugin>,
    /// The dialect that an unknown program's events resemble: it can't claim the input.
    resembled: Option<&'static str>,
    /// The records so far, if there are plugins to weigh them.
    first: Vec<Record>,
    held: Held<(u64, LineReading)>,
}

impl Detection {
    pub(super) fn new(dialects: Dialects, plugins: Vec<DialectPlugin>, budget: Budget) -> Self {
        let (resembled, first) = (None, Vec::new());
        let budget = budget.at_least();
        Self { budget, dialects, plugins, resembled, first, held: Held::new(MAX_HELD_LINES, MAX_HELD_BYTES) }
    }

    /// The dialect of this name, if any. A plugin takes precedence over a built-in dialect, a later plugin over an earlier one.
    pub(super) fn named(&mut self, name: &str) -> Option<ChosenDialect> {
        if let Some(plugin) = self.plugins.iter().rposition(|plugin| &*plugin.name == name) {
            return Some(self.plugins.swap_remove(plugin).into());
        }
        Some(ChosenDialect::known(self.dialects.find(name)?, self.budget))
    }

    /// Whether a dialect plugin may still claim the input.
    pub(super) fn has_plugins(&self) -> bool {
        !self.plugins.is_empty()
    }

    /// Returns the dialect that claims the input, given this line and those before it.
    pub(super) fn claiming(&mut self, reading: &LineReading) -> Option<ChosenDialect> {
        match reading {
            LineReading::Record(record) => self.claiming_record(record),
            LineReading::Parts(parts) => parts.records().find_map(|record| self.claiming_record(&record)),
            LineReading::Blank | LineReading::Text(_) | LineReading::Oversized(_) => None,
        }
    }

    /// Returns the dialect that claims the input, given this record and those before it. If several do, a plugin wins that is more
    /// certain than a built-in dialect and all other plugins.
    fn claiming_record(&mut self, record: &Record) -> Option<ChosenDialect> {
        if self.resembled.is_none() {
            self.resembled = (self.dialects.recognise)(record.root()).and_then(|program| program.resembles);
        }
        let known = self.dialects.claiming(record.root()).filter(|known| self.resembled != Some(known.name));
        if !self.plugins.is_empty() {
            self.first.push(record.clone());
            let weights = self.plugins.iter_mut().map(|plugin| plugin.decoder.weigh(&self.first));
            // Among equals the later one takes precedence.
            let surest = weights.enumerate().max_by(|(_, one), (_, other)| one.total_cmp(other));
            let enough = if known.is_some() { CLAIM } else { 0.0 };
            if let Some((index, _)) = surest.filter(|(_, weight)| *weight > enough) {
                return Some(self.plugins.swap_remove(index).into());
            }
        }
        known.map(|known| ChosenDialect::known(known, self.budget))
    }

    /// Whether a line is held back that no dialect claims. Raw text is held back only if earlier lines are.
    pub(super) fn holds(&self, reading: &LineReading) -> bool {
        let is_record = matches!(reading, LineReading::Record(..) | LineReading::Parts(_));
        is_record || !self.held.is_empty()
    }

    /// Holds a line back. Returns the lines that needn't wait any longer: all of them, once the limit is reached.
    pub(super) fn hold(&mut self, line: u64, reading: LineReading) -> VecDeque<(u64, LineReading)> {
        let bytes = match &reading {
            LineReading::Parts(parts) => MAX_HELD_BYTES / 4 + parts.text().len(),
            LineReading::Record(record) => record.text().len(),
            LineReading::Text(text) => text.len(),
            LineReading::Blank | LineReading::Oversized(_) => 0,
        };
        self.held.push((line, reading), 1, bytes);
        if self.held.is_full() { self.release() } else { VecDeque::new() }
    }

    /// Stops waiting for a claim. Returns the lines that were held back. Without a chosen dialect they pass through as text.
    pub(super) fn release(&mut self) -> VecDeque<(u64, LineReading)> {
        (self.plugins, self.first) = (Vec::new(), Vec::new());
        self.held.release()
    }
}
