//! Facts that are read from a JSON value on request. A `FactSpec` maps a field of the input of a tool, or of a line of a stream, to a name
//! that all dialects share.

use super::{FactRef, MakeFact};
use crate::json::{Record, Value, is_same};
use crate::name_table::NameTable;

/// A fact that is read from a JSON value, such as an argument from a call's input: its shared name, and its source in the value. Of several
/// parts with the same name, the first that is present counts.
#[derive(Clone, Copy, Debug)]
pub struct FactSpec {
    /// Its shared name.
    pub name: &'static str,
    from: PartSource,
    /// Its own parts, if it is an object or a list of objects.
    parts: &'static [FactSpec],
}

/// Finds a part in a value, given also the value of its key.
pub type FindFact = for<'a> fn(Value<'a>, Value<'a>) -> Option<FactRef<'a>>;

/// The source of a part.
#[derive(Clone, Copy, Debug)]
enum PartSource {
    /// The value of a key.
    Key(&'static str),
    /// A fact that is made of the value of a key.
    Made(&'static str, MakeFact),
    /// Found by a function in the value of a key, which may be `null`, and in the value itself.
    Found(&'static str, FindFact),
    /// The value itself, as an object with these parts.
    Here,
    /// The value itself, as the only element of a list.
    Sole,
    /// A constant, the same for every value.
    Word(&'static str),
}

impl FactSpec {
    /// The value under `key`.
    pub const fn key(key: &'static str, name: &'static str) -> Self {
        Self { name, from: PartSource::Key(key), parts: &[] }
    }

    /// The object, or the list of objects, under `key`.
    pub const fn within(key: &'static str, name: &'static str, parts: &'static [Self]) -> Self {
        Self { name, from: PartSource::Key(key), parts }
    }

    /// The fact that `make` returns for the value under `key`.
    pub const fn made(key: &'static str, name: &'static str, make: MakeFact) -> Self {
        Self { name, from: PartSource::Made(key, make), parts: &[] }
    }

    /// What `find` returns for the value itself and the value under `key`, even if that is `null`.
    pub const fn found(key: &'static str, name: &'static str, find: FindFact) -> Self {
        Self { name, from: PartSource::Found(key, find), parts: &[] }
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
            PartSource::Key(key) | PartSource::Made(key, _) | PartSource::Found(key, _) => Some(key),
            PartSource::Here | PartSource::Sole | PartSource::Word(_) => None,
        }
    }

    /// Its own parts.
    pub fn parts(&self) -> &'static [Self] {
        self.parts
    }

    /// This part of a value, if it is present and not `null`.
    pub(super) fn of<'a>(&self, value: Value<'a>) -> Option<FactRef<'a>> {
        match self.key_of() {
            Some(key) => self.at(value, value.get(key)?),
            None => self.at(value, value),
        }
    }

    /// This part of a value. `field`: the value of its key.
    #[inline]
    fn at<'a>(&self, value: Value<'a>, field: Value<'a>) -> Option<FactRef<'a>> {
        let known = |field: Value<'a>| Some(field).filter(|field| !field.is_null());
        match self.from {
            PartSource::Key(_) if self.parts.is_empty() => known(field).map(FactRef::Json),
            PartSource::Key(_) => known(field).map(|field| FactRef::Named(field, self.parts)),
            PartSource::Made(_, make) => known(field).map(|field| FactRef::Of(make, field)),
            PartSource::Found(_, find) => find(value, field),
            PartSource::Here | PartSource::Sole if self.parts.iter().all(|part| part.of(value).is_none()) => {
                None
            }
            PartSource::Here => Some(FactRef::Named(value, self.parts)),
            PartSource::Sole => Some(FactRef::Sole(value, self.parts)),
            PartSource::Word(word) => Some(FactRef::Word(word)),
        }
    }
}

/// Many parts, most of which any one value lacks, such as those of the results of all tools. Of several parts with the same name, the last
/// in the order of the value's fields counts.
#[derive(Debug)]
pub struct FactTable {
    parts: Vec<FactSpec>,
    /// The index of the first part of each key.
    by_key: NameTable<usize>,
}

impl FactTable {
    /// Makes a table. Each part must have a key; parts with the same key must follow each other.
    pub fn new(parts: impl IntoIterator<Item = FactSpec>) -> Self {
        let parts: Vec<_> = parts.into_iter().collect();
        let keys: Vec<_> =
            parts.iter().enumerate().filter_map(|(at, part)| Some((part.key_of()?, at))).collect();
        Self { by_key: NameTable::new(&keys), parts }
    }

    /// Notes the parts that a value may have, in the order of its fields. Passes fields with other keys to `others`.
    pub(super) fn of<'a>(
        &'static self,
        value: Value<'a>,
        mut others: impl FnMut(&[u8], Value<'a>),
    ) -> PresentParts {
        let mut fields = Vec::with_capacity(12);
        value.fields(|key, field| {
            let Some(first) = self.by_key.get(key) else { return others(key, field) };
            let parts = self.parts[first..].iter();
            let of_key = parts.take_while(|part| part.key_of() == self.parts[first].key_of());
            fields.extend(of_key.map(|part| (part, field.node())));
        });
        PresentParts { value: value.node(), fields }
    }
}

/// The parts of a table that a value may have.
#[derive(Clone, Debug)]
pub struct PresentParts {
    /// The value, by node of the item's record.
    value: u32,
    /// Each part, and the value of its key.
    fields: Vec<(&'static FactSpec, u32)>,
}

impl PresentParts {
    /// Their names.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.fields.iter().map(|(part, _)| part.name)
    }

    /// The part called `name`, unless it is `null`.
    pub(super) fn get<'a>(&self, record: &'a Record, name: &str) -> Option<FactRef<'a>> {
        let is_it = |part: &FactSpec| is_same(part.name.as_bytes(), name.as_bytes());
        let mut found = self.fields.iter().rev().filter(|(part, _)| is_it(part));
        found.find_map(|(part, field)| part.at(record.value(self.value), record.value(*field)))
    }

    /// All parts, each name once.
    pub(super) fn all<'a>(&self, record: &'a Record) -> Vec<(&'static str, FactRef<'a>)> {
        let value = record.value(self.value);
        let mut all: Vec<(&'static str, FactRef<'a>)> = Vec::with_capacity(self.fields.len());
        for (part, field) in &self.fields {
            let Some(found) = part.at(value, record.value(*field)) else { continue };
            match all.iter_mut().find(|(name, _)| *name == part.name) {
                Some((_, known)) => *known = found,
                None => all.push((part.name, found)),
            }
        }
        all
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

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;
    use crate::item::{Fact, Item, Kind};

    static TABLE: LazyLock<FactTable> = LazyLock::new(|| {
        FactTable::new([
            FactSpec::key("none", "first"),
            FactSpec::key("old", "first"),
            FactSpec::key("new", "first"),
            FactSpec::key("kind", "kind"),
            FactSpec::made("kind", "length", |kind| {
                Some(Fact::Int((kind.decode()?.len() as u64).cast_signed()))
            }),
            FactSpec::found("flag", "count", |object, flag| {
                flag.bool().filter(|flag| *flag).and(object.get("many")).map(FactRef::Json)
            }),
        ])
    });

    #[test]
    fn the_parts_of_a_table_are_facts_in_the_order_of_the_fields() {
        let json = r#"{"many":7,"kind":"text","old":1,"other":2,"flag":true,"new":3,"none":null}"#;
        let record = Record::from_line(json.to_owned()).unwrap_or_else(|(damage, _)| panic!("{damage:?}"));
        let mut item = Item::new("id", Kind::Result, 1);
        item.record = Some(record.clone());
        let mut others = Vec::new();
        item.data.read_present(record.root(), &TABLE, |key, _| others.push(key.to_vec()));
        item.data.push(("last", Fact::Int(9)));
        assert_eq!(others, [b"many".as_slice(), b"other"]);
        let facts = item.facts();
        let names: Vec<_> = facts.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["kind", "length", "first", "count", "last"]);
        for (name, fact) in facts {
            assert_eq!(fact.and_then(FactRef::int), item.fact(name).and_then(FactRef::int));
        }
        let number = |name| item.fact(name).and_then(FactRef::int);
        // The last field of several counts, but not if it is `null`.
        assert_eq!(["length", "first", "count", "last"].map(number), [4, 3, 7, 9].map(Some));
        assert!(item.fact("many").is_none());
    }
}
