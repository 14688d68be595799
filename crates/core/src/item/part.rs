//! Facts that are read from a JSON value on request. A `NamedPart` maps a field of the input of a tool, or of a line of a stream, to a name
//! that all dialects share.

use super::FactRef;
use crate::json::Value;

/// A fact that is read from a JSON value, such as an argument from a call's input: its shared name, and its source in the value. Of several
/// parts with the same name, the first that is present counts.
#[derive(Clone, Copy, Debug)]
pub struct NamedPart {
    /// Its shared name.
    pub name: &'static str,
    from: PartSource,
    /// Its own parts, if it is an object or a list of objects.
    parts: &'static [NamedPart],
}

/// The source of a part.
#[derive(Clone, Copy, Debug)]
enum PartSource {
    /// The value of a key.
    Key(&'static str),
    /// A text made of the value of a key.
    Made(&'static str, fn(Value<'_>) -> Option<String>),
    /// The value itself, as an object with these parts.
    Here,
    /// The value itself, as the only element of a list.
    Sole,
    /// A constant, the same for every value.
    Word(&'static str),
}

impl NamedPart {
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

    /// An object whose parts are fields of the value itself.
    pub const fn here(name: &'static str, parts: &'static [Self]) -> Self {
        Self { name, from: PartSource::Here, parts }
    }

    /// A list with one element, whose parts are fields of the value itself.
    pub const fn sole(name: &'static str, parts: &'static [Self]) -> Self {
        Self { name, from: PartSource::Sole, parts }
    }

    /// A constant, the same for every value.
    pub const fn word(name: &'static str, word: &'static str) -> Self {
        Self { name, from: PartSource::Word(word), parts: &[] }
    }

    /// The key of its value, if it has one.
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
