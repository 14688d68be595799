//! The failures and prints of plugins, kept until they are taken, each failure once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use streamfmt_core::entry::Line;
use streamfmt_core::formatter::FormatError;
use streamfmt_core::item::Id;
use streamfmt_core::text::clean;

use crate::files::lock;
use crate::problem::{FilePosition, Problem, ProblemKind, one_line};

/// Most distinct failures that are remembered, so that each is reported once.
const MOST_KNOWN: usize = 1_000;
/// Most failures that are kept until they are taken, so that an endless stream doesn't collect them without limit.
const MOST_KEPT: usize = 64;
/// Most lines that plugins may print in one run.
pub(crate) const MOST_PRINTED: usize = 1_000;
/// Longest message, in characters.
const LONGEST: usize = 200;
/// Longest printed line, in characters.
pub(crate) const LONGEST_PRINT: usize = 400;

/// A failure or doubtful use by a plugin.
///
/// `Display` writes the message to the user: several clean lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The plugin.
    pub plugin: String,
    /// What it did: `failed while loading`, `failed while formatting Bash (line 412)`.
    pub doing: String,
    /// The file of the plugin, the number of the line, and the line itself.
    pub place: Option<(String, usize, String)>,
    /// The path of that file on disk, if it has one.
    pub path: Option<String>,
    /// The error message.
    pub message: String,
    /// Whether it is a mistake for any input: an unknown name, or a value that can't be used.
    pub is_misuse: bool,
    /// The consequence, for the user.
    pub outcome: &'static str,
}

/// The outcome of a plugin that can't be loaded.
pub(crate) const LEFT_OUT: &str = "the plugin is not loaded";
/// The outcome of a call that failed.
pub(crate) const BELOW: &str = "shown as without the plugin";
/// The outcome of failing too often.
pub(crate) const OFF: &str = "it is off for the rest of the run";

impl Warning {
    /// A warning without a place.
    pub(crate) fn new(
        plugin: impl Into<String>,
        doing: impl Into<String>,
        message: impl Into<String>,
        outcome: &'static str,
    ) -> Self {
        let (plugin, doing, message) = (plugin.into(), doing.into(), message.into());
        Self { plugin, doing, place: None, path: None, message, is_misuse: false, outcome }
    }

    /// Converts it to a problem of the setup.
    pub fn problem(&self) -> Problem {
        let of = |origin: &str| Problem::of(ProblemKind::Plugin, origin, &self.message);
        let Some((file, line, text)) = &self.place else { return of(&self.plugin) };
        let column = text.chars().take_while(|ch| ch.is_whitespace()).count() + 1;
        let place =
            FilePosition { line: *line, column, text: text.clone(), length: text.trim().chars().count() };
        Problem { place: Some(place), ..of(self.path.as_ref().unwrap_or(file)) }
    }

    /// Removes the path of the file, to compare warnings independent of where the plugin is.
    pub(crate) fn anywhere(self) -> Self {
        Self { path: None, ..self }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = short(&self.message);
        write!(f, "warning[plugin]: {} {}", short(&self.plugin), short(&self.doing))?;
        match &self.place {
            None => write!(f, "\n  = {message}")?,
            Some((file, number, source)) => {
                let number = number.to_string();
                let blank = " ".repeat(number.len());
                let source = source.replace('\t', "    ");
                let indent = " ".repeat(source.len() - source.trim_start().len());
                write!(f, "\n{blank} --> {}:{number}\n{blank} |", clean(self.path.as_ref().unwrap_or(file)))?;
                write!(f, "\n{number} | {}", short(source.trim_end()))?;
                write!(f, "\n{blank} | {indent}^ {message}")?;
            }
        }
        write!(f, "\n  = {} (reported once)", self.outcome)
    }
}

/// A message from or about a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PluginMessage {
    /// Something went wrong.
    Warning(Warning),
    /// A plugin printed a line: its name and the line, cleaned.
    Printed(String, String),
}

/// A fault to inject into calls of plugins' functions. The first call of a run has the number 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// This call raises an error.
    Fails(u64),
    /// This call returns `nil`.
    Passes(u64),
    /// Every call raises an error.
    AllFail,
}

/// The call that a fault was injected into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FaultyCall {
    /// Whether it may write the plugin's state.
    pub(crate) is_hook: bool,
    /// The item that it formats, if no other function of any plugin formats it.
    pub(crate) lone: Option<Id>,
}

/// The failures and prints of plugins, in all inputs of a run.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    inner: Arc<Mutex<JournalState>>,
    /// Whether failures of calls are shown in the output, at the item concerned.
    pub(crate) is_inline: bool,
    /// Set for a further output beside the main one.
    beside: Option<Arc<Beside>>,
}

/// A further output that writes into the journal of the main one. What occurs in both is reported once.
#[derive(Debug)]
struct Beside {
    number: u64,
    /// The plugins of the main output, whose prints are reported there.
    heard: BTreeSet<String>,
}

#[derive(Debug, Default)]
struct JournalState {
    fresh: VecDeque<PluginMessage>,
    /// The failures, each with the number of the output in which it happened first.
    known: BTreeMap<(String, String), u64>,
    failures: u64,
    /// The doubtful uses: the plugin and the message.
    doubts: BTreeSet<(String, String)>,
    printed: usize,
    /// The number of further outputs.
    besides: u64,
    /// The failures that further outputs showed inline, each with the output's number.
    shown_beside: BTreeSet<(u64, (String, String))>,
    /// The steps that plugins used, by name.
    spent: BTreeMap<String, u64>,
    /// The number of calls of plugins' functions.
    calls: u64,
    /// The fault to inject, if any.
    fault: Option<Fault>,
    /// The call that it was injected into.
    faulty_call: Option<FaultyCall>,
}

impl Journal {
    /// Takes the messages since the last call.
    pub fn take(&self) -> Vec<PluginMessage> {
        self.inner().fresh.drain(..).collect()
    }

    /// The failures among the messages that [`Self::take`] would return, as problems of the setup.
    pub(crate) fn problems(&self) -> Vec<Problem> {
        let inner = self.inner();
        let failures = inner.fresh.iter().filter_map(|message| match message {
            PluginMessage::Warning(warning) => Some(warning.problem()),
            PluginMessage::Printed(..) => None,
        });
        failures.collect()
    }

    /// The number of failures.
    pub fn failures(&self) -> u64 {
        self.inner().failures
    }

    /// The number of failures that weren't reported because they repeat others.
    pub fn unreported(&self) -> u64 {
        let inner = self.inner();
        inner.failures - inner.known.len() as u64
    }

    /// The steps (loop iterations and calls) that plugins used, by name, which are the same on every machine. Available when the
    /// run has ended.
    pub fn spent(&self) -> BTreeMap<String, u64> {
        self.inner().spent.clone()
    }

    /// A journal for runs with an injected fault.
    pub(crate) fn with_fault(fault: Fault) -> Self {
        let journal = Self::default();
        journal.inner().fault = Some(fault);
        journal
    }

    /// This journal for a further output of the same input. Failures that occurred in another output first aren't counted again,
    /// and prints of the plugins `heard` are dropped.
    pub(crate) fn beside(&self, heard: BTreeSet<String>) -> Self {
        let mut inner = self.inner();
        inner.besides += 1;
        let beside = Arc::new(Beside { number: inner.besides, heard });
        Self { beside: Some(beside), ..self.clone() }
    }

    /// Whether another output reports the prints of a plugin.
    pub(crate) fn is_heard(&self, pack: &str) -> bool {
        self.beside.as_ref().is_some_and(|beside| beside.heard.contains(pack))
    }

    /// Adds the messages of another journal.
    pub(crate) fn merge(&self, other: &Self) {
        for message in other.take() {
            match message {
                PluginMessage::Warning(warning) => {
                    self.fail(warning, false);
                }
                PluginMessage::Printed(plugin, line) => self.print(&plugin, line.as_bytes()),
            }
        }
    }

    pub(crate) fn fault(&self) -> Option<Fault> {
        self.inner().fault
    }

    /// The number of calls of plugins' functions.
    pub(crate) fn calls(&self) -> u64 {
        self.inner().calls
    }

    /// The call that the fault was injected into, if any.
    pub(crate) fn faulty_call(&self) -> Option<FaultyCall> {
        self.inner().faulty_call.clone()
    }

    /// Adds the counts of one run.
    pub(crate) fn note_run(
        &self,
        calls: u64,
        faulty_call: Option<FaultyCall>,
        spent: impl Iterator<Item = (String, u64)>,
    ) {
        let mut inner = self.inner();
        inner.calls += calls;
        inner.faulty_call = faulty_call.or(inner.faulty_call.take());
        for (name, steps) in spent {
            *inner.spent.entry(name).or_default() += steps;
        }
    }

    /// Records a failure. `quietly`: it is reported elsewhere. Returns whether it is the first of its kind.
    pub(crate) fn fail(&self, warning: Warning, quietly: bool) -> bool {
        let mut inner = self.inner();
        let place =
            warning.place.as_ref().map_or_else(String::new, |(file, line, _)| format!("{file}:{line}"));
        let key = (format!("{}/{place}", warning.plugin), short(&warning.message));
        let output = self.beside.as_ref().map_or(0, |beside| beside.number);
        let first = inner.known.get(&key).copied();
        if first.is_none_or(|first| first == output) {
            inner.failures += 1;
        }
        let is_new = first.is_none() && inner.known.len() < MOST_KNOWN;
        if is_new {
            inner.known.insert(key.clone(), output);
        }
        if quietly && output > 0 {
            // Each output shows it once, at its own item.
            return inner.shown_beside.len() < MOST_KNOWN && inner.shown_beside.insert((output, key));
        }
        if is_new && !quietly {
            inner.fresh.push_back(PluginMessage::Warning(warning));
        }
        is_new
    }

    /// Records that a plugin can't be read.
    pub(crate) fn note_unread(&self, path: &Path, message: String) {
        let plugin = path.file_name().map_or_else(|| path.to_string_lossy(), |name| name.to_string_lossy());
        self.fail(Warning::new(plugin, "failed while loading", message, LEFT_OUT), false);
    }

    /// Records a probable mistake that doesn't affect the output.
    pub(crate) fn doubt(&self, warning: Warning) {
        let mut inner = self.inner();
        let key = (warning.plugin.clone(), warning.message.clone());
        if inner.doubts.len() < MOST_KNOWN && inner.doubts.insert(key) {
            inner.fresh.push_back(PluginMessage::Warning(warning));
        }
    }

    /// Records a line that a plugin printed.
    pub(crate) fn print(&self, plugin: &str, text: &[u8]) {
        let mut inner = self.inner();
        inner.printed += 1;
        let line = match inner.printed {
            1..=MOST_PRINTED => {
                let text = &text[..text.len().min(LONGEST_PRINT * 4 + 4)];
                cut(&String::from_utf8_lossy(text), LONGEST_PRINT)
            }
            more if more == MOST_PRINTED + 1 => "(further lines are omitted)".to_owned(),
            _ => return,
        };
        inner.fresh.push_back(PluginMessage::Printed(short(plugin), line));
    }

    fn inner(&self) -> MutexGuard<'_, JournalState> {
        lock(&self.inner)
    }
}

/// The failures of plugins in one output that weren't taken yet, and the notes about them for its next view.
#[derive(Default)]
pub(crate) struct PendingFailures {
    pub(crate) errors: Vec<FormatError>,
    pub(crate) notes: Vec<Line>,
}

impl PendingFailures {
    /// Keeps a failure until it is taken.
    pub(crate) fn keep(&mut self, warning: &Warning) {
        let place = warning.place.as_ref();
        let place = place.map_or(warning.plugin.clone(), |(file, line, _)| format!("{file}:{line}"));
        if self.errors.len() < MOST_KEPT {
            self.errors.push(FormatError { message: format!("{place}: {}", short(&warning.message)) });
        }
    }

    /// Keeps a failed call, and reports it if it is new: in the journal, or as a note with the message `shown`.
    pub(crate) fn fail(&mut self, journal: &Journal, warning: Warning, shown: &str) {
        self.keep(&warning);
        let note = format!("{} failed: {shown}", warning.plugin);
        if journal.fail(warning, journal.is_inline) && journal.is_inline {
            self.notes.push(Line::of("notice.warning", note));
        }
    }
}

/// Cleans and shortens foreign text for use within a line.
pub(crate) fn short(text: &str) -> String {
    cut(text, LONGEST)
}

fn cut(text: &str, most: usize) -> String {
    let end = text.char_indices().nth(most).map_or(text.len(), |(end, _)| end);
    let mut line = one_line(&text[..end]);
    if end < text.len() {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(message: String) -> Warning {
        Warning::new("demo", "failed", message, BELOW)
    }

    #[test]
    fn failures_past_the_limit_are_counted_and_not_reported() {
        let journal = Journal::default();
        let over = MOST_KNOWN + 9;
        for number in 0..over {
            assert_eq!(journal.fail(failure(format!("{number}")), false), number < MOST_KNOWN);
        }
        assert_eq!(journal.take().len(), MOST_KNOWN);
        assert_eq!((journal.failures(), journal.unreported()), (over as u64, 9));
        for number in 0..over {
            journal.doubt(failure(format!("{number}")));
        }
        assert_eq!(journal.take().len(), MOST_KNOWN);
        let beside = Journal::default().beside(BTreeSet::new());
        let shown = (0..over).filter(|number| beside.fail(failure(format!("{number}")), true));
        assert_eq!(shown.count(), MOST_KNOWN);
    }

    #[test]
    fn that_printed_lines_are_left_out_is_stated() {
        let journal = Journal::default();
        for number in 0..MOST_PRINTED + 9 {
            journal.print("demo", format!("{number}").as_bytes());
        }
        let printed = |line: &str| PluginMessage::Printed("demo".to_owned(), line.to_owned());
        let taken = journal.take();
        assert_eq!(taken.len(), MOST_PRINTED + 1);
        assert_eq!(taken[MOST_PRINTED - 1..], [printed("999"), printed("(further lines are omitted)")]);
    }

    #[test]
    fn a_cut_text_ends_with_an_ellipsis() {
        let journal = Journal::default();
        for text in ["é", "a"] {
            assert_eq!(short(&text.repeat(LONGEST)), text.repeat(200));
            assert_eq!(short(&text.repeat(LONGEST + 1)), text.repeat(200) + "…");
            for (length, end) in [(LONGEST_PRINT, ""), (LONGEST_PRINT + 1, "…"), (LONGEST_PRINT * 9, "…")]
            {
                journal.print("demo", text.repeat(length).as_bytes());
                let line = text.repeat(400) + end;
                assert_eq!(journal.take(), [PluginMessage::Printed("demo".to_owned(), line)]);
            }
        }
    }
}
