//! Detects the dialect of a stream.

use std::sync::Arc;

use crate::budget::Budget;
use crate::dialect::{CLAIM, Decoder, Dialect, DialectPlugin, Dialects, ForeignProgram, Input};
use crate::event::Event;
use crate::json::{Record, ValueKind};
use crate::reading::ParsedLine;

/// The dialect of the input, detected or configured.
pub(super) struct ChosenDialect {
    pub(super) name: Arc<str>,
    /// Whether no step has reported it.
    pub(super) is_new: bool,
    /// Its row; `None` for a dialect plugin.
    pub(super) row: Option<&'static Dialect>,
    pub(super) decoder: Box<dyn Decoder>,
    /// Whether the input is known to have a form that ends with an outcome.
    pub(super) awaits_outcome: bool,
}

/// Detects the dialect.
pub(super) struct Detection {
    budget: Budget,
    pub(super) dialects: Dialects,
    plugins: Vec<DialectPlugin>,
    /// The program without a dialect that wrote a record. The dialect that it resembles can't claim the input.
    foreign: Option<ForeignProgram>,
    /// The dialect that claimed a record, but not for certain.
    likely: Option<&'static Dialect>,
    /// The records so far, if there are plugins to weigh them.
    first: Vec<Record>,
}

impl Detection {
    pub(super) fn new(dialects: Dialects, plugins: Vec<DialectPlugin>, budget: Budget) -> Self {
        Self { budget: budget.at_least(), dialects, plugins, foreign: None, likely: None, first: Vec::new() }
    }

    /// The dialect of this name, if any. A plugin takes precedence over a built-in dialect, a later plugin over an earlier one.
    pub(super) fn named(&mut self, name: &str) -> Option<ChosenDialect> {
        if let Some(plugin) = self.plugins.iter().rposition(|plugin| &*plugin.name == name) {
            return Some(self.plugin(plugin));
        }
        Some(self.built_in(self.dialects.find(name)?))
    }

    /// Returns the dialect that claims the input, given this line and those before it.
    pub(super) fn claiming(&mut self, reading: &ParsedLine) -> Option<ChosenDialect> {
        match reading {
            ParsedLine::Record(record) => self.claiming_record(record),
            ParsedLine::Parts(parts) => parts.records().find_map(|record| self.claiming_record(&record)),
            ParsedLine::Wrapped(lines) => {
                lines.records().find_map(|(_, record)| self.claiming_record(&record))
            }
            ParsedLine::Text(text) => self.dialects.claiming_text(text).map(|dialect| self.built_in(dialect)),
            ParsedLine::Blank | ParsedLine::Oversized { .. } => None,
        }
    }

    /// Returns the dialect that claims the input, given this record and those before it. If several do, a plugin wins that is more
    /// certain than a built-in dialect and all other plugins.
    fn claiming_record(&mut self, record: &Record) -> Option<ChosenDialect> {
        self.foreign = self.foreign.or_else(|| (self.dialects.recognise)(record.root()));
        let resembled = self.foreign.and_then(|program| program.resembles);
        let known = self.dialects.claiming(record.root()).filter(|known| resembled != Some(known.name));
        if !self.plugins.is_empty() {
            self.first.push(record.clone());
            let weights = self.plugins.iter_mut().map(|plugin| plugin.decoder.weigh(&self.first));
            // Among equals the later one takes precedence.
            let surest = weights.enumerate().max_by(|(_, one), (_, other)| one.total_cmp(other));
            let enough = if known.is_some() { CLAIM } else { 0.0 };
            if let Some((index, _)) = surest.filter(|(_, weight)| *weight > enough) {
                return Some(self.plugin(index));
            }
        }
        let is_certain = known.is_some_and(|known| (known.is_certain)(record.root()));
        self.likely = self.likely.or(known);
        known.filter(|_| is_certain).map(|known| self.built_in(known))
    }

    /// Returns the dialect that claimed a record, though not for certain, if no other program wrote one.
    pub(super) fn likely(&mut self) -> Option<ChosenDialect> {
        let likely = self.likely.take().filter(|_| self.foreign.is_none())?;
        Some(self.built_in(likely))
    }

    /// The dialect for these lines, which no dialect claimed, if each is an object or blank.
    pub(super) fn fallback(&self, lines: &[(u64, ParsedLine)]) -> Option<ChosenDialect> {
        let is_object = |reading: &ParsedLine| match reading {
            ParsedLine::Record(record) => record.root().kind() == ValueKind::Object,
            ParsedLine::Blank => true,
            _ => false,
        };
        let has_record = lines.iter().any(|(_, reading)| matches!(reading, ParsedLine::Record(_)));
        (has_record && lines.iter().all(|(_, reading)| is_object(reading)))
            .then(|| self.dialects.find(self.dialects.fallback).map(|row| self.built_in(row)))?
    }

    /// The dialect plugin at this index.
    fn plugin(&mut self, index: usize) -> ChosenDialect {
        let DialectPlugin { name, decoder } = self.plugins.swap_remove(index);
        ChosenDialect { name, is_new: true, row: None, decoder, awaits_outcome: false }
    }

    /// The built-in dialect of a row.
    pub(super) fn built_in(&self, row: &'static Dialect) -> ChosenDialect {
        let decoder = (row.decoder)(self.budget);
        ChosenDialect { name: row.name.into(), is_new: true, row: Some(row), decoder, awaits_outcome: false }
    }

    /// Whether a record is an event that a dialect knows, and not one of another program that resembles it.
    pub(super) fn understands(&self, row: &'static Dialect, input: Input<'_>) -> bool {
        let program = self.foreign.or_else(|| (self.dialects.recognise)(input.value));
        if program.and_then(|program| program.resembles) == Some(row.name) {
            return false;
        }
        let mut events = Vec::new();
        (row.decoder)(self.budget).decode(input, &mut events);
        !matches!(events.first(), None | Some(Event::Unknown(_)))
    }

    /// Drops the plugins: they can't claim the input any more.
    pub(super) fn forget_plugins(&mut self) {
        (self.plugins, self.first) = (Vec::new(), Vec::new());
    }
}
