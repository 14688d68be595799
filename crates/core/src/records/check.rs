//! Checks lines against a schema.

use std::collections::{HashMap, HashSet};

use crate::json::{Damage, Record, Value};
use crate::nearest::hint;

use super::schema::RecordSchema;
use super::tree::{MAX_BYTES, MAX_NODES, MAX_RECORD};

/// The longest text of a record that is quoted, in characters.
const QUOTED: usize = 60;

/// A line that doesn't fit a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The number of the line, from 1. If something is missing at the end, it is the number after the last line.
    pub line: u64,
    /// What is wrong with it. It may quote the line, uncleaned.
    pub reason: String,
}

/// Checks a text against a schema. Returns at most one flaw per line.
pub fn check(schema: &RecordSchema, text: &str) -> Vec<Flaw> {
    let mut check = RecordCheck::new(schema);
    let mut flaws: Vec<Flaw> = text.lines().filter_map(|line| check.line(line.as_bytes())).collect();
    flaws.extend(check.finish());
    flaws
}

/// Checks one line after the other against a schema. Lines that don't begin with `{` are prose.
///
/// A [`RecordTree`](super::RecordTree) accepts all records that this accepts, and more, such as children before their parents.
#[derive(Debug)]
pub struct RecordCheck<'s> {
    schema: &'s RecordSchema,
    lines: u64,
    tree: TreeSoFar,
    has_records: bool,
    /// Whether the last record completed its tree.
    has_ended: bool,
}

/// The records of one tree.
#[derive(Debug, Default)]
struct TreeSoFar {
    /// The line of each id, by the number of its type and the id.
    ids: HashMap<(usize, String), u64>,
    /// Types with at least one record.
    seen: HashSet<usize>,
    /// The highest order of a type.
    order: u32,
    /// For each type: the parent of the last record, and the parents of earlier records with other parents.
    parents: HashMap<usize, (String, HashSet<String>)>,
    nodes: usize,
    bytes: usize,
}

impl<'s> RecordCheck<'s> {
    /// A check that begins at the first line.
    pub fn new(schema: &'s RecordSchema) -> Self {
        Self { schema, lines: 0, tree: TreeSoFar::default(), has_records: false, has_ended: false }
    }

    /// Checks the next line, without its line feed.
    pub fn line(&mut self, written: &[u8]) -> Option<Flaw> {
        self.lines += 1;
        let written = written.trim_ascii();
        if !written.starts_with(b"{") {
            return None;
        }
        if written.len() > MAX_RECORD {
            return Some(self.flaw(too_long()));
        }
        let reason = match std::str::from_utf8(written) {
            Ok(written) => self.record(written).err()?,
            Err(error) => {
                let before = String::from_utf8_lossy(&written[..error.valid_up_to()]);
                format!("it isn't UTF-8 from column {}", before.chars().count() + 1)
            }
        };
        Some(self.flaw(reason))
    }

    /// Returns the flaw of a line that is longer than [`MAX_RECORD`] and wasn't kept.
    pub fn long_line(&mut self) -> Flaw {
        self.lines += 1;
        self.flaw(too_long())
    }

    /// Ends the text. Returns a flaw if something is missing.
    pub fn finish(mut self) -> Option<Flaw> {
        self.lines += 1;
        let reason = match &self.schema.end {
            _ if !self.has_records => "there is no record".to_owned(),
            Some(end) if !self.has_ended => format!("there is no {end} at the end"),
            _ => return None,
        };
        Some(self.flaw(reason))
    }

    fn flaw(&self, reason: String) -> Flaw {
        Flaw { line: self.lines, reason }
    }

    fn record(&mut self, written: &str) -> Result<(), String> {
        let record = Record::from_line(written.to_owned()).map_err(|(damage, _)| reason(written, damage))?;
        let value = record.root();
        let name = value.get("type").and_then(Value::decode);
        let name = name.ok_or("the record has no type that is a text")?;
        self.has_records = true;
        if self.schema.is_end(&name) {
            if std::mem::replace(&mut self.has_ended, true) || self.tree.seen.is_empty() {
                return Err(format!("there is nothing that {name} could end"));
            }
            return Ok(());
        }
        let number = self.schema.type_of(&name).ok_or_else(|| {
            let known = self.schema.types.iter().map(|kind| kind.name.as_str());
            let known: Vec<&str> = known.chain(self.schema.end.as_deref()).collect();
            format!("unknown type {} {}", quoted(&name), hint(&name, &known))
        })?;
        let kind = &self.schema.types[number];
        let parent = kind.parent_of(value);
        if self.has_ended {
            if parent.is_some() {
                let end = self.schema.end.as_deref().unwrap_or_default();
                return Err(format!("{name} comes after {end}"));
            }
            (self.tree, self.has_ended) = (TreeSoFar::default(), false);
        }
        let tree = &mut self.tree;
        tree.nodes += 1;
        tree.bytes += written.len();
        if tree.nodes > MAX_NODES || tree.bytes > MAX_BYTES {
            return Err("the tree is too large for more".to_owned());
        }
        // A record with a flaw is noted, so that the records that belong to it have no flaw.
        let is_first = tree.seen.insert(number);
        let id = kind.id_of(value);
        let before = id.as_ref().and_then(|id| tree.ids.insert((number, id.clone()), self.lines));
        if let Some(flaw) = kind.flaw_of(value) {
            return Err(flaw);
        }
        if let (Some(id), Some(before)) = (id, before) {
            return Err(format!("{name} {} is in line {before} already", quoted(&id)));
        }
        if kind.id.is_none() && kind.parent.is_none() && !is_first {
            return Err(format!("there is a {name} already"));
        }
        if let Some((above, id)) = parent {
            let known = self.schema.type_of(above).unwrap_or(number);
            match id {
                Some(id) if tree.ids.contains_key(&(known, id.clone())) => {
                    tree.takes_turn(number, &id).map_err(|()| {
                        format!("{name} belongs next to the others of {above} {}", quoted(&id))
                    })?;
                }
                Some(id) => return Err(format!("no {above} {} comes before it", quoted(&id))),
                None if tree.seen.contains(&known) => {}
                None => return Err(format!("no {above} comes before it")),
            }
        }
        if kind.order < tree.order {
            let types = self.schema.types.iter().enumerate();
            let mut later =
                types.filter(|(number, other)| other.order > kind.order && tree.seen.contains(number));
            let later = later.next().map_or("others", |(_, other)| other.name.as_str());
            return Err(format!("{name} belongs before any {later}"));
        }
        tree.order = kind.order;
        Ok(())
    }
}

impl TreeSoFar {
    /// Notes that a record of this type belongs to this parent. An error if other records of the parent came before, followed by those of
    /// another parent.
    fn takes_turn(&mut self, number: usize, parent: &str) -> Result<(), ()> {
        let (now, left) = self.parents.entry(number).or_default();
        if now == parent {
            return Ok(());
        }
        let before = std::mem::replace(now, parent.to_owned());
        left.insert(before);
        if left.contains(parent) { Err(()) } else { Ok(()) }
    }
}

/// Why a line that begins with `{` isn't a record.
fn reason(written: &str, damage: Damage) -> String {
    if damage.incomplete {
        return "the object doesn't end on its line".to_owned();
    }
    let (before, rest) = written.split_at_checked(damage.at).unwrap_or((written, ""));
    let column = before.chars().count() + 1;
    if Record::read(written).is_ok() {
        return format!("more than one object: it goes on in column {column}");
    }
    if rest.starts_with(['}', ']']) && before.trim_end().ends_with(',') {
        return format!("trailing comma before column {column}");
    }
    if rest.starts_with(['\'', '“', '”', '„', '‘', '’', '«']) {
        return format!("JSON has other quotes than that in column {column} (expected \")");
    }
    format!("invalid JSON from column {column}")
}

fn too_long() -> String {
    format!("longer than {} KiB", MAX_RECORD >> 10)
}

/// Quotes a text of a record for a message, cut if it is long.
fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}
