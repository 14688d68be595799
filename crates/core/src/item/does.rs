//! The arguments of a call, such as its command or path. An `InputPart` maps a field of a tool's input to a name that all dialects
//! share; the field is read on request.

use crate::json::{Record, Value, ValueKind};
use crate::text::Text;

use super::{Fact, FactRef, Item};

/// An argument of a call: its shared name, and its source in the input of a dialect's tool. Of several parts with the same name, the
/// first that is present counts.
#[derive(Clone, Copy, Debug)]
pub struct InputPart {
    /// Its shared name.
    pub name: &'static str,
    pub(super) from: PartSource,
    /// Its own parts, if it is an object or a list of objects.
    pub(super) parts: &'static [InputPart],
}

/// The source of a part.
#[derive(Clone, Copy, Debug)]
pub(super) enum PartSource {
    /// The value of a key.
    Key(&'static str),
    /// A text made of the value of a key.
    Made(&'static str, fn(Value<'_>) -> Option<String>),
    /// The input itself, as an object with these parts.
    Here,
    /// The input itself, as the only element of a list.
    Sole,
    /// A constant, the same for every call of the tool.
    Word(&'static str),
}

impl InputPart {
    /// The value under `key`.
    pub const fn key(key: &'static str, name: &'static str) -> Self {
        Self { name, from: PartSource::Key(key), parts: &[] }
    }

    /// The object, or the list of objects, under `key`.
    pub const fn within(key: &'static str, name: &'static str, parts: &'static [Self]) -> Self {
        Self { name, from: PartSource::Key(key), parts }
    }

    /// The text that `make` returns for the value under `key`.
    pub const fn made(key: &'static str, name: &'static str, make: fn(Value<'_>) -> Option<String>) -> Self {
        Self { name, from: PartSource::Made(key, make), parts: &[] }
    }

    /// An object whose parts are fields of the input itself.
    pub const fn here(name: &'static str, parts: &'static [Self]) -> Self {
        Self { name, from: PartSource::Here, parts }
    }

    /// A list with one element, whose parts are fields of the input itself.
    pub const fn sole(name: &'static str, parts: &'static [Self]) -> Self {
        Self { name, from: PartSource::Sole, parts }
    }

    /// A constant, the same for every call.
    pub const fn word(name: &'static str, word: &'static str) -> Self {
        Self { name, from: PartSource::Word(word), parts: &[] }
    }

    /// The key of its value in the input, if it has one.
    pub fn key_of(&self) -> Option<&'static str> {
        match self.from {
            PartSource::Key(key) | PartSource::Made(key, _) => Some(key),
            PartSource::Here | PartSource::Sole | PartSource::Word(_) => None,
        }
    }

    /// Its own parts.
    pub fn inside(&self) -> &'static [Self] {
        self.parts
    }

    /// This part of a value, if it is present and not `null`.
    pub(super) fn of<'a>(&self, value: Value<'a>) -> Option<FactRef<'a>> {
        let known = |key: &str| value.get(key).filter(|value| !value.is_null());
        match self.from {
            PartSource::Key(key) if self.parts.is_empty() => known(key).map(FactRef::Json),
            PartSource::Key(key) => known(key).map(|value| FactRef::Named(value, self.parts)),
            PartSource::Made(key, make) => known(key).map(|value| FactRef::Of(make, value)),
            PartSource::Here | PartSource::Sole if self.parts.iter().all(|part| part.of(value).is_none()) => {
                None
            }
            PartSource::Here => Some(FactRef::Named(value, self.parts)),
            PartSource::Sole => Some(FactRef::Sole(value, self.parts)),
            PartSource::Word(word) => Some(FactRef::Word(word)),
        }
    }
}

/// The source of a call's arguments.
#[derive(Clone, Debug)]
pub enum Does {
    /// These parts of its input.
    Input(&'static [InputPart]),
    /// Facts that its dialect has made.
    Facts {
        /// The facts, by the shared names of arguments.
        facts: Box<[(&'static str, Fact)]>,
        /// The value, by node of the record, from which the dialect made the facts that aren't values of the record themselves. Showing
        /// such a fact counts as showing this value.
        of: u32,
    },
}

/// The arguments of a call. Each is decoded on request.
pub struct DoesRef<'a> {
    item: &'a Item,
    /// The call's input, as in the stream.
    input: Option<Value<'a>>,
    /// The parsed input, if in the stream it is a string that contains JSON.
    unpacked: Option<Record>,
}

impl<'a> DoesRef<'a> {
    pub(super) fn new(item: &'a Item) -> Self {
        let input = item.input();
        let unpacked = input.and_then(|input| Record::from_line(input.decode()?.into_owned()).ok());
        let unpacked = unpacked.filter(|record| record.root().kind() == ValueKind::Object);
        Self { item, input, unpacked }
    }

    /// The call's input, parsed if in the stream it is a string that contains JSON.
    pub fn input(&self) -> Option<Value<'_>> {
        self.unpacked.as_ref().map(Record::root).or(self.input)
    }

    /// The part called `name`, unless it is `null`.
    pub fn get(&self, name: &str) -> Option<FactRef<'_>> {
        match self.item.does.as_ref()? {
            Does::Input(parts) => FactRef::Named(self.input()?, parts).get(name),
            Does::Facts { facts, .. } => {
                let (_, fact) = facts.iter().find(|(known, _)| *known == name)?;
                FactRef::new(self.item, fact)
            }
        }
        .or_else(|| if SERVER.contains(&name) { self.item.fact(name) } else { None })
    }

    /// The value, by node of the record, that a part is, or from which it was made.
    pub fn source(&self, part: FactRef<'_>) -> Option<u32> {
        let made_of = || match self.item.does.as_ref()? {
            Does::Facts { of, .. } => Some(*of),
            Does::Input(_) => None,
        };
        part.value().map(Value::node).or_else(made_of)
    }

    /// Whether the dialect has made facts of the input.
    pub fn is_made(&self) -> bool {
        matches!(self.item.does, Some(Does::Facts { .. }))
    }

    /// The part called `name` as cleaned text, if it is a string.
    pub fn text(&self, name: &str) -> Option<Text> {
        self.get(name)?.text()
    }

    /// Its parts, by name.
    pub fn parts(&self) -> Vec<(&'static str, FactRef<'_>)> {
        let names: Vec<&'static str> = match &self.item.does {
            None => return Vec::new(),
            Some(Does::Input(parts)) => parts.iter().map(|part| part.name).collect(),
            Some(Does::Facts { facts, .. }) => facts.iter().map(|(name, _)| *name).collect(),
        };
        named(names.into_iter().chain(SERVER), |name| self.get(name))
    }
}

/// Facts of a call that count as its arguments: the server of an MCP tool, and the tool's name there.
const SERVER: [&str; 2] = ["server", "tool"];

/// The parts with these names that are present, each name once.
pub(super) fn named<'a>(
    names: impl Iterator<Item = &'static str>,
    get: impl Fn(&'static str) -> Option<FactRef<'a>>,
) -> Vec<(&'static str, FactRef<'a>)> {
    let mut found: Vec<(&'static str, FactRef<'a>)> = Vec::new();
    for name in names {
        if found.iter().all(|(known, _)| *known != name) {
            found.extend(get(name).map(|part| (name, part)));
        }
    }
    found
}
