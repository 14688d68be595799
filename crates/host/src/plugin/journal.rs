//! What plugins did wrong, and what they print: kept until somebody asks, each thing told once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use streamfmt_core::item::Id;
use streamfmt_core::text::clean;

use crate::files::lock;
use crate::problem::{FilePosition, Problem, one_line};

/// Different failures that are remembered, to tell each once.
const MOST_KNOWN: usize = 1_000;
/// Lines that plugins may print in one run.
pub(crate) const MOST_PRINTED: usize = 1_000;
/// Longest message, in characters.
const LONGEST: usize = 200;
/// Longest line that is printed, in characters.
pub(crate) const LONGEST_PRINT: usize = 400;

/// What one plugin did wrong.
///
/// It is displayed as it should be told, in several lines, cleaned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The plugin.
    pub plugin: String,
    /// What it did: `failed while loading`, `failed while formatting Bash (line 412)`.
    pub doing: String,
    /// The file of the plugin, the number of the line, and the line itself.
    pub place: Option<(String, usize, String)>,
    /// Where that file lies on the disk, if it does.
    pub path: Option<String>,
    /// What went wrong.
    pub message: String,
    /// Whether it is wrong whatever the stream says: a name that nothing has, an answer of no use.
    pub is_misuse: bool,
    /// What became of it.
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

    /// The same as what is wrong with a set-up.
    pub fn problem(&self) -> Problem {
        let Some((file, line, text)) = &self.place else { return Problem::of(&self.plugin, &self.message) };
        let column = text.chars().take_while(|ch| ch.is_whitespace()).count() + 1;
        let place =
            FilePosition { line: *line, column, text: text.clone(), length: text.trim().chars().count() };
        let origin = self.path.as_ref().unwrap_or(file).clone();
        Problem { origin, place: Some(place), message: self.message.clone() }
    }

    /// The same wherever the plugin lies, for whoever compares it.
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

/// What is to be told of plugins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PluginMessage {
    /// Something went wrong.
    Warning(Warning),
    /// A plugin printed a line: its name and the line, cleaned.
    Printed(String, String),
}

/// What is to become of one call of a plugin's function. The first call of a run has the number 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It raises an error.
    Fails(u64),
    /// It gives `nil`.
    Passes(u64),
    /// Every call raises an error.
    AllFail,
}

/// The call that a fault met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Met {
    /// Whether it was one that may write its plugin's state.
    pub(crate) is_hook: bool,
    /// The item that it was to tell, if nothing else of any plugin had a say in that.
    pub(crate) lone: Option<Id>,
}

/// What plugins did wrong and printed, over all inputs of a run.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    inner: Arc<Mutex<JournalState>>,
    /// Whether failures of calls are told in the output, where they happened.
    pub(crate) is_inline: bool,
    /// Of an output beside the main one.
    beside: Option<Arc<Beside>>,
}

/// How an output writes into the journal of the main one: what both have to tell is told once.
#[derive(Debug)]
struct Beside {
    number: u64,
    /// Plugins of the main output: what they print is told there.
    heard: BTreeSet<String>,
}

#[derive(Debug, Default)]
struct JournalState {
    fresh: VecDeque<PluginMessage>,
    /// The failures, each with the number of the output in which it happened first.
    known: BTreeMap<(String, String), u64>,
    failures: u64,
    /// What was questioned: the plugin and the message.
    doubts: BTreeSet<(String, String)>,
    printed: usize,
    /// How many outputs write beside the main one.
    besides: u64,
    /// Failures that such outputs told where they happened, each with the output's number.
    told_beside: BTreeSet<(u64, (String, String))>,
    /// Steps that plugins took, by name.
    spent: BTreeMap<String, u64>,
    /// Calls of plugins' functions.
    calls: u64,
    /// Which call is to be met by what.
    fault: Option<Fault>,
    /// The call that was met.
    met: Option<Met>,
}

impl Journal {
    /// What is new since this was last asked.
    pub fn take(&self) -> Vec<PluginMessage> {
        self.inner().fresh.drain(..).collect()
    }

    /// How often plugins failed.
    pub fn failures(&self) -> u64 {
        self.inner().failures
    }

    /// Failures that were not told since they were like others: how many.
    pub fn untold(&self) -> u64 {
        let inner = self.inner();
        inner.failures - inner.known.len() as u64
    }

    /// Steps that plugins took, by name: loop turns and calls, the same on every machine. A plugin's are known
    /// when its run has ended.
    pub fn spent(&self) -> BTreeMap<String, u64> {
        self.inner().spent.clone()
    }

    /// A journal of runs in which a call is met by a fault.
    pub(crate) fn with_fault(fault: Fault) -> Self {
        let journal = Self::default();
        journal.inner().fault = Some(fault);
        journal
    }

    /// This journal for one more output of the same input. Failures that another output had first are not counted again,
    /// and what the plugins `heard` print is left out.
    pub(crate) fn beside(&self, heard: BTreeSet<String>) -> Self {
        let mut inner = self.inner();
        inner.besides += 1;
        let beside = Arc::new(Beside { number: inner.besides, heard });
        Self { beside: Some(beside), ..self.clone() }
    }

    /// Whether what a plugin prints is told by another output.
    pub(crate) fn is_heard(&self, pack: &str) -> bool {
        self.beside.as_ref().is_some_and(|beside| beside.heard.contains(pack))
    }

    /// Takes in what another journal has to tell.
    pub(crate) fn take_in(&self, other: &Self) {
        for told in other.take() {
            match told {
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

    /// How many calls there were of plugins' functions.
    pub(crate) fn calls(&self) -> u64 {
        self.inner().calls
    }

    /// The call that a fault met, if it met one.
    pub(crate) fn met(&self) -> Option<Met> {
        self.inner().met.clone()
    }

    /// Takes in what plugins did in one run.
    pub(crate) fn note_run(&self, calls: u64, met: Option<Met>, spent: impl Iterator<Item = (String, u64)>) {
        let mut inner = self.inner();
        inner.calls += calls;
        inner.met = met.or(inner.met.take());
        for (name, steps) in spent {
            *inner.spent.entry(name).or_default() += steps;
        }
    }

    /// Takes in a failure. `quietly`: it is told elsewhere. Whether it is the first of its kind.
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
            // Each output has a place of its own to tell it.
            return inner.told_beside.len() < MOST_KNOWN && inner.told_beside.insert((output, key));
        }
        if is_new && !quietly {
            inner.fresh.push_back(PluginMessage::Warning(warning));
        }
        is_new
    }

    /// Takes in that a plugin can't be read.
    pub(crate) fn note_unread(&self, path: &Path, message: String) {
        let plugin = path.file_name().map_or_else(|| path.to_string_lossy(), |name| name.to_string_lossy());
        self.fail(Warning::new(plugin, "failed while loading", message, LEFT_OUT), false);
    }

    /// Takes in what is probably a mistake, but keeps nothing from being shown.
    pub(crate) fn doubt(&self, warning: Warning) {
        let mut inner = self.inner();
        let key = (warning.plugin.clone(), warning.message.clone());
        if inner.doubts.len() < MOST_KNOWN && inner.doubts.insert(key) {
            inner.fresh.push_back(PluginMessage::Warning(warning));
        }
    }

    /// Takes in a line that a plugin printed.
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

/// Foreign text as a part of one line, cleaned and cut.
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
