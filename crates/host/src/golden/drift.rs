//! Finds what recordings contain that no formatter shows: types, blocks, tools and fields.
//!
//! Whether something is shown is tested, not declared: a line is formatted once unchanged, among the lines around it, and once
//! without the part in question, or with another value there. If the output is the same, the part isn't shown. So plugins count,
//! and no table has to be maintained.
//!
//! ```text
//! line ─▶ parts (names, places) ─▶ known to be shown? ─▶ formatted without it ─▶ found
//! ```

mod baseline;
mod groups;
mod parts;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{self, BufRead, Read};

use streamfmt_core::item::{Action, Item, Kind};
use streamfmt_core::json::Record;
use streamfmt_core::pipeline::Pipeline;
use streamfmt_dialects::DIALECTS;

pub use baseline::Baseline;
pub use groups::DriftGroup;
pub use parts::DriftSubject;
use parts::parts;

use super::witness::witness;
use crate::engine::Engine;

/// Number of lines before a line that may influence how it is shown, and after it.
const BEFORE: usize = 12;
const AFTER: usize = 6;
/// Most bytes of the lines on either side; the farthest are left out.
const AROUND: usize = 256 << 10;
/// Longest line that is read, in bytes; the rest of it is skipped. It is too long to be tested.
const MOST_BYTES: u64 = 64 << 20;
/// Longest line whose parts are tested, in bytes. Longer ones are counted.
const LONGEST: usize = 1 << 20;
/// Longest sample, in bytes.
pub const LONGEST_SAMPLE: usize = 60;
/// Number of lines in which a part is tested before it counts as not shown.
const TRIES: u8 = 4;
/// Most distinct names that are tracked.
const MOST_NAMES: usize = 20_000;

/// Something that no formatter shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriftFound {
    /// The kind of part.
    pub what: DriftSubject,
    /// Its qualified name: `assistant.message.content[tool_use].caller`.
    pub name: String,
    /// Whether the dialect doesn't know it. Anything else is known, and not shown.
    pub is_unknown: bool,
    /// The number of lines that contain it.
    pub count: u64,
    /// The recording of its first occurrence.
    pub file: String,
    /// The line of its first occurrence, from 1.
    pub line: u64,
    /// The value of a field at its first occurrence: at most [`LONGEST_SAMPLE`] bytes of its JSON.
    pub sample: Option<String>,
}

/// The state of a part so far.
struct Known {
    is_shown: bool,
    /// Whether it occurred in a line that is short enough to be tested.
    is_tested: bool,
    /// Whether the dialect reported it as unknown. Then it is a finding, shown or not.
    is_unknown: bool,
    tries: u8,
    count: u64,
    first: (usize, u64),
    sample: Option<String>,
}

/// Searches any number of recordings for what no formatter shows.
pub struct Drift {
    engine: Engine,
    files: Vec<String>,
    known: HashMap<(DriftSubject, String), Known>,
    /// The number of lines read.
    pub lines: u64,
    /// The number of those that are events.
    pub events: u64,
    /// The number of those that were too long to be tested.
    untested: u64,
}

impl Drift {
    /// Creates a search with the formatters of `engine`, which should show everything and write `json`.
    pub fn new(engine: Engine) -> Self {
        Self { engine, files: Vec::new(), known: HashMap::new(), lines: 0, events: 0, untested: 0 }
    }

    /// Searches a recording, named `name` in the findings.
    pub fn read(&mut self, name: &str, mut input: impl BufRead) -> io::Result<()> {
        self.files.push(name.to_owned());
        let mut window = Window::default();
        let (witness, met) = witness();
        let mut setup = self.engine.setup();
        setup.observers.push(witness);
        // It formats as well: a plugin that fails shows nothing, which is reported.
        let mut pipeline = Pipeline::new(setup);
        let mut number = 0;
        let mut unknown = BTreeMap::new();
        loop {
            let line = read_line(&mut input, MOST_BYTES)?;
            let is_over = line.is_empty();
            if is_over {
                let _ = pipeline.finish(&mut String::new());
                self.events += pipeline.report().events;
            } else {
                number += 1;
                self.lines += 1;
                let _ = pipeline.push(&line, &mut String::new());
                self.note_unknown(&mut unknown, &pipeline, number);
            }
            let items: Vec<Item> = met.try_iter().collect();
            self.note_tools(&items, number);
            let tool_of = items.into_iter().filter_map(result_of).collect::<Vec<_>>();
            if !is_over {
                window.push(line, number, tool_of);
            }
            // A line is examined when the lines after it are available, or when there are no more.
            while let Some(at) = window.next(is_over) {
                self.examine(&window, at);
            }
            if is_over {
                return Ok(());
            }
        }
    }

    /// The findings, sorted by kind and frequency.
    pub fn found(&self) -> Vec<DriftFound> {
        let is_found = |known: &Known| known.is_unknown || (known.is_tested && !known.is_shown);
        let unknown: Vec<&str> = self
            .known
            .iter()
            .filter(|((what, _), known)| *what == DriftSubject::Field && known.is_unknown)
            .map(|((_, name), _)| name.as_str())
            .collect();
        let is_inside_unknown = |name: &str| unknown.iter().any(|whole| parts::is_inside(name, whole));
        let found = self.known.iter().filter(|(_, known)| is_found(known));
        let mut found: Vec<DriftFound> = found
            .map(|((what, name), known)| DriftFound {
                what: *what,
                name: name.clone(),
                is_unknown: known.is_unknown || is_inside_unknown(name),
                count: known.count,
                file: self.files[known.first.0].clone(),
                line: known.first.1,
                sample: known.sample.clone(),
            })
            .collect();
        // If a type isn't shown, neither are its fields: reporting the type is enough.
        let hidden: Vec<String> =
            found.iter().filter(|it| it.what != DriftSubject::Field).map(|it| it.name.clone()).collect();
        let is_inside = |name: &str| hidden.iter().any(|whole| parts::is_inside(name, whole));
        found.retain(|it| it.what == DriftSubject::Tool || !is_inside(&it.name));
        // The fields inside of an unknown one are reported instead of it.
        let with_fields: Vec<String> = unknown
            .iter()
            .filter(|whole| found.iter().any(|it| parts::is_inside(&it.name, whole)))
            .map(|whole| (*whole).to_owned())
            .collect();
        found.retain(|it| it.what != DriftSubject::Field || !with_fields.contains(&it.name));
        found.sort_by(|a, b| {
            (a.what, u64::MAX - a.count, &a.name).cmp(&(b.what, u64::MAX - b.count, &b.name))
        });
        found
    }

    /// Sentences on what the findings may lack.
    pub fn left_out(&self) -> Vec<String> {
        let mut left_out = Vec::new();
        if self.untested > 0 {
            let (count, size) = (self.untested, LONGEST >> 20);
            let lines = if count == 1 { "1 line is".to_owned() } else { format!("{count} lines are") };
            left_out.push(format!("{lines} longer than {size} MiB and untested"));
        }
        if self.known.len() >= MOST_NAMES {
            left_out.push(format!("there are {MOST_NAMES} names; further ones are left out"));
        }
        left_out
    }

    fn known(&mut self, what: DriftSubject, name: &str, line: u64) -> Option<&mut Known> {
        known(&mut self.known, (what, name.to_owned()), (self.files.len() - 1, line))
    }

    /// Records the parts of a line that the dialect reported as unknown. `before` has the counts of the earlier lines.
    fn note_unknown(&mut self, before: &mut BTreeMap<String, u64>, pipeline: &Pipeline, line: u64) {
        let now = &pipeline.report().unknown;
        if now.values().sum::<u64>() == before.values().sum::<u64>() {
            return;
        }
        for (name, count) in now.iter().filter(|(name, count)| before.get(*name) != Some(count)) {
            let more = count - before.get(name).copied().unwrap_or_default();
            let what = match name.as_bytes() {
                bytes if bytes.contains(&b'.') => DriftSubject::Field,
                bytes if bytes.contains(&b'/') => DriftSubject::Subtype,
                _ => DriftSubject::Type,
            };
            if let Some(known) = self.known(what, name, line) {
                known.is_unknown = true;
                known.count += more;
            }
        }
        before.clone_from(now);
    }

    /// Records the calls of tools that only the general formatter shows.
    fn note_tools(&mut self, items: &[Item], line: u64) {
        let is_plain = |item: &&Item| {
            item.kind == Kind::Call && item.action().is_none_or(|action| action == Action::Other)
        };
        for tool in items.iter().filter(is_plain).filter_map(|item| item.tool.as_deref()) {
            if let Some(known) = self.known(DriftSubject::Tool, tool, line) {
                known.is_tested = true;
                known.count += 1;
            }
        }
    }

    /// Examines the parts of a line, and tests those that aren't known to be shown yet.
    fn examine(&mut self, window: &Window, at: usize) {
        let DriftLine { bytes, number, tools } = &window.lines[at];
        let is_testable = bytes.len() <= LONGEST;
        self.untested += u64::from(!is_testable);
        let Some(record) =
            std::str::from_utf8(bytes).ok().and_then(|text| Record::from_line(text.to_owned()).ok())
        else {
            return;
        };
        let mut usual: Option<[String; 2]> = None;
        let mut hidden: Vec<String> = Vec::new();
        for part in parts(&record, tools) {
            let is_hidden = hidden.iter().any(|whole| parts::is_inside(&part.name, whole));
            let key = (part.what, part.name.clone());
            let first = (self.files.len() - 1, *number);
            let Some(known) = known(&mut self.known, key, first) else { continue };
            if part.what == DriftSubject::Field && known.sample.is_none() {
                known.sample = Some(part.sample(record.text(), LONGEST_SAMPLE));
            }
            // Parts that are unknown to the dialect are counted where it reports them.
            known.count += u64::from(!known.is_unknown);
            if known.is_shown || known.is_unknown || !is_testable {
                continue;
            }
            known.is_tested = true;
            if is_hidden {
                continue;
            }
            if known.tries < TRIES {
                known.tries += 1;
                let usual = usual.get_or_insert_with(|| window.formatted(&self.engine, at, None));
                let differs = |other: &String| window.formatted(&self.engine, at, Some(other)) != *usual;
                known.is_shown = part.variants(record.text()).iter().any(differs);
            }
            if !known.is_shown {
                hidden.push(part.name);
            }
        }
    }
}

/// Reads a line of at most `most` bytes and skips the rest of a longer one. Empty at the end.
fn read_line(input: &mut impl BufRead, most: u64) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    input.by_ref().take(most).read_until(b'\n', &mut line)?;
    if line.len() as u64 == most && !line.ends_with(b"\n") {
        input.skip_until(b'\n')?;
        line.push(b'\n');
    }
    Ok(line)
}

/// The state of a part, created if missing. Returns `None` if there are too many.
fn known(
    all: &mut HashMap<(DriftSubject, String), Known>,
    key: (DriftSubject, String),
    first: (usize, u64),
) -> Option<&mut Known> {
    if all.len() >= MOST_NAMES && !all.contains_key(&key) {
        return None;
    }
    let fresh = || Known {
        is_shown: false,
        is_tested: false,
        is_unknown: false,
        tries: 0,
        count: 0,
        first,
        sample: None,
    };
    Some(all.entry(key).or_insert_with(fresh))
}

/// The tool of a result, or `None` for another item.
fn result_of(item: Item) -> Option<String> {
    (item.kind == Kind::Result).then_some(item.tool?.to_string())
}

/// A line of a recording.
struct DriftLine {
    bytes: Vec<u8>,
    number: u64,
    /// The tools whose results it contains.
    tools: Vec<String>,
}

/// Consecutive lines of a recording.
#[derive(Default)]
struct Window {
    lines: VecDeque<DriftLine>,
    /// How many of them were examined.
    done: usize,
}

impl Window {
    fn push(&mut self, bytes: Vec<u8>, number: u64, tools: Vec<String>) {
        self.lines.push_back(DriftLine { bytes, number, tools });
        while self.done > BEFORE {
            self.lines.pop_front();
            self.done -= 1;
        }
    }

    /// The index of the next line to examine: one with enough lines after it, unless no more will come.
    fn next(&mut self, is_over: bool) -> Option<usize> {
        let wanted = if is_over { 1 } else { AFTER + 1 };
        if self.lines.len() < self.done + wanted {
            return None;
        }
        self.done += 1;
        Some(self.done - 1)
    }

    /// Formats the lines around `at` twice, once up to that line and once to the end, with `other` in place of the line.
    fn formatted(&self, engine: &Engine, at: usize, other: Option<&String>) -> [String; 2] {
        let line = |index: usize| match other {
            Some(other) if index == at => other.as_bytes(),
            _ => &self.lines[index].bytes,
        };
        let fits = |indices: &mut dyn Iterator<Item = usize>| {
            let mut room = AROUND;
            let fits = |&index: &usize| {
                let length = self.lines[index].bytes.len();
                let fits = length <= room;
                room = room.saturating_sub(length);
                fits
            };
            indices.take_while(fits).count()
        };
        let before = fits(&mut (0..at).rev());
        let after = fits(&mut (at + 1..self.lines.len()));
        [at, at + after].map(|last| {
            let mut pipeline = Pipeline::new(engine.with_own_journal().setup());
            let mut text = String::new();
            // Writing to a string can't fail.
            for index in at - before..=last {
                let _ = pipeline.push(line(index), &mut text);
            }
            let _ = pipeline.finish(&mut text);
            text
        })
    }
}

/// The dialect that claims one of these lines.
pub fn dialect_of(lines: &[u8]) -> Option<&'static str> {
    lines.split(|&byte| byte == b'\n').find_map(|line| {
        let record = Record::from_line(std::str::from_utf8(line).ok()?.to_owned()).ok()?;
        Some(DIALECTS.claiming(record.root())?.name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A search of one line of this length, and the names that it finds.
    fn searched(length: usize) -> (Drift, Vec<String>) {
        let engine = Engine::builder().profile("full").writer("json").dialect("claude").build().unwrap();
        let mut drift = Drift::new(engine);
        let (before, after) = (r#"{"type":"user","uuid":"u","message":{"role":"user","content":""#, "\"}}\n");
        let text = "x".repeat(length - before.len() - after.len());
        drift.read("a", [before, &text, after].concat().as_bytes()).unwrap();
        let names = drift.found().into_iter().map(|found| found.name).collect();
        (drift, names)
    }

    #[test]
    fn a_line_that_is_too_long_to_be_tested_is_counted_and_its_parts_are_not_called_hidden() {
        let (short, hidden) = searched(LONGEST);
        assert_eq!(short.left_out(), [""; 0]);
        assert_eq!(hidden, ["user.message.role", "user.uuid"]);
        let (long, hidden) = searched(LONGEST + 1);
        assert_eq!(long.left_out(), ["1 line is longer than 1 MiB and untested"]);
        assert_eq!((long.lines, hidden), (1, vec![]));
    }

    #[test]
    fn the_rest_of_a_line_that_is_too_long_to_be_read_is_skipped() {
        let mut input: &[u8] = b"abcd\nabcde\nabc\nabcdef";
        for line in ["abcd\n", "abcde\n", "abc\n", "abcde\n", ""] {
            assert_eq!(read_line(&mut input, 5).unwrap(), line.as_bytes());
        }
    }

    #[test]
    fn past_the_most_names_the_known_ones_are_still_counted() {
        let mut all = HashMap::new();
        let mut state = |name: String| known(&mut all, (DriftSubject::Field, name), (0, 1)).is_some();
        assert!((0..MOST_NAMES).all(|number| state(number.to_string())));
        assert!(!state(MOST_NAMES.to_string()) && state("0".to_owned()));
    }
}
