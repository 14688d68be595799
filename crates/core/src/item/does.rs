//! What a call works with and on, as a command or a path. An `InputPart` says where the input of a product's tool has it; it is
//! read when it is asked for, under a name that all products share.

use crate::json::{Record, Value, ValueKind};
use crate::text::Text;

use super::{Fact, FactRef, Item};

/// One part of what a call does: what we call it, and where a product's input has it. Of several parts with one name
/// the first that is there counts.
#[derive(Clone, Copy, Debug)]
pub struct InputPart {
    /// What we call it.
    pub name: &'static str,
    pub(super) from: PartSource,
    /// What it has inside, if it is an object or a list of them.
    pub(super) parts: &'static [InputPart],
}

/// Where a part comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum PartSource {
    /// The value of a key.
    Key(&'static str),
    /// A text made of the value of a key.
    Made(&'static str, fn(Value<'_>) -> Option<String>),
    /// The object itself has its parts.
    Here,
    /// The object itself is the only element.
    Sole,
    /// It is the same for every call of the tool.
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

    /// What `make` makes of the value under `key`.
    pub const fn made(key: &'static str, name: &'static str, make: fn(Value<'_>) -> Option<String>) -> Self {
        Self { name, from: PartSource::Made(key, make), parts: &[] }
    }

    /// An object whose parts the input has among its own.
    pub const fn here(name: &'static str, parts: &'static [Self]) -> Self {
        Self { name, from: PartSource::Here, parts }
    }

    /// A list with one element, whose parts the input has among its own.
    pub const fn sole(name: &'static str, parts: &'static [Self]) -> Self {
        Self { name, from: PartSource::Sole, parts }
    }

    /// The same for every call.
    pub const fn word(name: &'static str, word: &'static str) -> Self {
        Self { name, from: PartSource::Word(word), parts: &[] }
    }

    /// The key that it is found under, if it is found so.
    pub fn key_of(&self) -> Option<&'static str> {
        match self.from {
            PartSource::Key(key) | PartSource::Made(key, _) => Some(key),
            PartSource::Here | PartSource::Sole | PartSource::Word(_) => None,
        }
    }

    /// What it has inside.
    pub fn inside(&self) -> &'static [Self] {
        self.parts
    }

    /// This part of a value, if it is there and not `null`.
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

/// How it is known what a call does.
#[derive(Clone, Debug)]
pub enum Does {
    /// Its input tells, in these parts.
    Input(&'static [InputPart]),
    /// Its dialect has made these facts.
    Facts {
        /// The facts, under the names of parts.
        facts: Box<[(&'static str, Fact)]>,
        /// What of the record those were made of that aren't values of it themselves, by node: who shows them shows that.
        of: u32,
    },
}

/// What a call does it with and to. Nothing is decoded before it is asked for.
pub struct DoesRef<'a> {
    item: &'a Item,
    /// The call's input, as the stream has it.
    input: Option<Value<'a>>,
    /// The input, where the stream has it as JSON in a string.
    unpacked: Option<Record>,
}

impl<'a> DoesRef<'a> {
    pub(super) fn new(item: &'a Item) -> Self {
        let input = item.input();
        let unpacked = input.and_then(|input| Record::from_line(input.decode()?.into_owned()).ok());
        let unpacked = unpacked.filter(|record| record.root().kind() == ValueKind::Object);
        Self { item, input, unpacked }
    }

    /// The call's input; what is in it, if the stream has it as JSON in a string.
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

    /// The value of the record that a part is, or was made of.
    pub fn source(&self, part: FactRef<'_>) -> Option<u32> {
        let made_of = || match self.item.does.as_ref()? {
            Does::Facts { of, .. } => Some(*of),
            Does::Input(_) => None,
        };
        part.value().map(Value::node).or_else(made_of)
    }

    /// Whether its dialect has read the input, of whatever type that is.
    pub fn is_made(&self) -> bool {
        matches!(self.item.does, Some(Does::Facts { .. }))
    }

    /// The string that the part called `name` is, cleaned.
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

/// Facts of a call that tell what it does: an MCP tool's server, and its name there.
const SERVER: [&str; 2] = ["server", "tool"];

/// What there is of these names, each once.
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
