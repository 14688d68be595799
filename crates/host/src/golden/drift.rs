//! Finds what recordings hold that no formatter shows: types, blocks, tools and fields.
//!
//! Whether something is shown is tried, not declared: a line is formatted once as it is, among those around it,
//! and once without the part in question, or with another value there. If the same comes out, nobody showed it.
//! So plugins count, and no table has to be kept.
//!
//! ```text
//! line ─▶ parts (names, places) ─▶ known to be shown? ─▶ tried without it ─▶ found
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
pub use parts::What;
use parts::parts;

use super::witness::items_of;
use crate::engine::Engine;

/// Lines around one that decide how it is shown.
const BEFORE: usize = 12;
const AFTER: usize = 6;
/// Bytes of those lines: farther ones are left out.
const AROUND: usize = 256 << 10;
/// What is longer than this of a line is left out.
const MOST_BYTES: u64 = 64 << 20;
/// A longer line is not tried in parts.
const LONGEST: usize = 1 << 20;
/// Bytes of a sample.
pub const LONGEST_SAMPLE: usize = 60;
/// A part that is shown nowhere in so many lines counts as one that is not shown.
const TRIES: u8 = 4;
/// Different names that are told.
const MOST_NAMES: usize = 20_000;

/// Something that no formatter shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriftFound {
    /// What it is.
    pub what: What,
    /// Its name, with where it stands: `assistant.message.content[tool_use].caller`.
    pub name: String,
    /// In how many lines it is.
    pub count: u64,
    /// The recording where it is first.
    pub file: String,
    /// The line there, from 1.
    pub line: u64,
    /// The value that a field has there, as JSON and at most [`LONGEST_SAMPLE`] bytes of it.
    pub sample: Option<String>,
}

/// What is known of a part by now.
struct Known {
    is_shown: bool,
    /// Whether the dialect itself doesn't know it: then it doesn't matter how it is shown.
    is_unknown: bool,
    tries: u8,
    count: u64,
    first: (usize, u64),
    sample: Option<String>,
}

/// Looks for what no formatter shows, in any number of recordings.
pub struct Drift {
    engine: Engine,
    files: Vec<String>,
    known: HashMap<(What, String), Known>,
    /// Lines that were read.
    pub lines: u64,
    /// Those of them that are events.
    pub events: u64,
}

impl Drift {
    /// Looks with the formatters of an engine, which should be one that shows everything and writes `json`.
    pub fn new(engine: Engine) -> Self {
        Self { engine, files: Vec::new(), known: HashMap::new(), lines: 0, events: 0 }
    }

    /// Reads a recording that is called `name`.
    pub fn read(&mut self, name: &str, mut input: impl BufRead) -> io::Result<()> {
        self.files.push(name.to_owned());
        let mut window = Window::default();
        let mut setup = self.engine.setup();
        let met = items_of(&mut setup);
        let mut pipeline = Pipeline::new(setup);
        let mut number = 0;
        let mut unknown = BTreeMap::new();
        loop {
            let mut line = Vec::new();
            let is_over = input.by_ref().take(MOST_BYTES).read_until(b'\n', &mut line)? == 0;
            if line.len() as u64 == MOST_BYTES && !line.ends_with(b"\n") {
                input.skip_until(b'\n')?;
                line.push(b'\n');
            }
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
            // Each line is looked at when those after it are there, or won't come.
            while let Some(at) = window.next(is_over) {
                self.look(&window, at);
            }
            if is_over {
                return Ok(());
            }
        }
    }

    /// What was found, by what it is and how often.
    pub fn found(&self) -> Vec<DriftFound> {
        let is_found = |known: &Known| known.is_unknown || !known.is_shown;
        let found = self.known.iter().filter(|(_, known)| is_found(known));
        let mut found: Vec<DriftFound> = found
            .map(|((what, name), known)| DriftFound {
                what: *what,
                name: name.clone(),
                count: known.count,
                file: self.files[known.first.0].clone(),
                line: known.first.1,
                sample: known.sample.clone(),
            })
            .collect();
        // A type that isn't shown has no field that is: the type says it all.
        let hidden: Vec<String> =
            found.iter().filter(|it| it.what != What::Field).map(|it| it.name.clone()).collect();
        let is_inside = |name: &str| hidden.iter().any(|whole| parts::is_inside(name, whole));
        found.retain(|it| it.what == What::Tool || !is_inside(&it.name));
        found.sort_by(|a, b| {
            (a.what, u64::MAX - a.count, &a.name).cmp(&(b.what, u64::MAX - b.count, &b.name))
        });
        found
    }

    fn known(&mut self, what: What, name: &str, line: u64) -> Option<&mut Known> {
        known(&mut self.known, (what, name.to_owned()), (self.files.len() - 1, line))
    }

    /// Takes in what the dialect didn't know of a line; `before` is what it didn't know of those before.
    fn note_unknown(&mut self, before: &mut BTreeMap<String, u64>, pipeline: &Pipeline, line: u64) {
        let now = &pipeline.report().unknown;
        if now.values().sum::<u64>() == before.values().sum::<u64>() {
            return;
        }
        for (name, count) in now.iter().filter(|(name, count)| before.get(*name) != Some(count)) {
            let more = count - before.get(name).copied().unwrap_or_default();
            let what = match name.as_bytes() {
                bytes if bytes.contains(&b'.') => What::Field,
                bytes if bytes.contains(&b'/') => What::Subtype,
                _ => What::Type,
            };
            if let Some(known) = self.known(what, name, line) {
                known.is_unknown = true;
                known.count += more;
            }
        }
        before.clone_from(now);
    }

    /// Takes in calls of tools for which there is no formatter but the general one.
    fn note_tools(&mut self, items: &[Item], line: u64) {
        let is_plain = |item: &&Item| {
            item.kind == Kind::Call && item.action().is_none_or(|action| action == Action::Other)
        };
        for tool in items.iter().filter(is_plain).filter_map(|item| item.tool.as_deref()) {
            if let Some(known) = self.known(What::Tool, tool, line) {
                known.count += 1;
            }
        }
    }

    /// Looks at the parts of a line, and tries those of which it isn't known yet whether they are shown.
    fn look(&mut self, window: &Window, at: usize) {
        let DriftLine { bytes, number, tools } = &window.lines[at];
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
            if part.what == What::Field && known.sample.is_none() {
                known.sample = Some(part.sample(record.text(), LONGEST_SAMPLE));
            }
            // What the dialect didn't know is counted where it said so.
            known.count += u64::from(!known.is_unknown);
            if known.is_shown || known.is_unknown || is_hidden {
                continue;
            }
            if known.tries < TRIES && bytes.len() <= LONGEST {
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

/// What is known of a part, from now on at least that it is there; nothing if there are too many.
fn known(
    all: &mut HashMap<(What, String), Known>,
    key: (What, String),
    first: (usize, u64),
) -> Option<&mut Known> {
    if all.len() >= MOST_NAMES && !all.contains_key(&key) {
        return None;
    }
    let fresh = || Known { is_shown: false, is_unknown: false, tries: 0, count: 0, first, sample: None };
    Some(all.entry(key).or_insert_with(fresh))
}

/// The tool of a result.
fn result_of(item: Item) -> Option<String> {
    (item.kind == Kind::Result).then_some(item.tool?.to_string())
}

/// A line with what is known of it.
struct DriftLine {
    bytes: Vec<u8>,
    number: u64,
    /// The tools whose results are in it.
    tools: Vec<String>,
}

/// Some lines of a recording that follow one another.
#[derive(Default)]
struct Window {
    lines: VecDeque<DriftLine>,
    /// How many of them were looked at.
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

    /// The place of the next line to be looked at: one with lines after it, unless no more will come.
    fn next(&mut self, is_over: bool) -> Option<usize> {
        let wanted = if is_over { 1 } else { AFTER + 1 };
        if self.lines.len() < self.done + wanted {
            return None;
        }
        self.done += 1;
        Some(self.done - 1)
    }

    /// What comes out of these lines, and of those up to the line at `at`, with another line in its place.
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
            let mut pipeline = Pipeline::new(engine.apart().setup());
            let mut text = String::new();
            // Writing to a string doesn't fail.
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
