//! The facts of an item: a fact is a value of the record or was made by the decoder, and both are read in the same way.

use std::borrow::Cow;

use jiff::Timestamp;

use crate::item::{FactSpec, Item, Picture, PresentParts, part, time_of};
use crate::json::{Record, Str, Value, ValueKind, is_same};
use crate::text::Text;

/// Makes a text, a number or a truth value of a JSON value.
pub type MakeFact = fn(Value<'_>) -> Option<Fact>;

/// A typed fact of an item's `data`.
#[derive(Clone, Debug)]
pub enum Fact {
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// An owned text, not cleaned.
    Text(String),
    /// A value of the item's record, by node.
    Node(u32),
    /// A text or number that is made on request from a value of the item's record.
    Made(MakeFact, u32),
    /// The milliseconds from a time in another record, by node, to the item's time, computed on request.
    Since(Record, u32),
    /// A value of the item's record, by node, whose parts have shared names. Machine output has the unchanged value.
    Named(u32, &'static [FactSpec]),
    /// Parts of a value of the item's record, which are facts of the item.
    Parts(PresentParts),
    /// The Base64 of a picture: a string of the item's record, by node. Machine output omits it.
    Bytes(u32),
    /// Several facts.
    List(Vec<Fact>),
    /// Named facts.
    Map(Vec<(&'static str, Fact)>),
}

/// A fact, or a part of one.
#[derive(Clone, Copy)]
pub enum FactRef<'a> {
    /// A value of the item's record.
    Json(Value<'a>),
    /// A value of the record, whose parts have shared names.
    Named(Value<'a>, &'static [FactSpec]),
    /// A list whose only element is such a value.
    Sole(Value<'a>, &'static [FactSpec]),
    /// A text, number or truth value that is made of a value on request.
    Of(MakeFact, Value<'a>),
    /// A constant of the tool.
    Word(&'static str),
    /// A fact that the decoder made, with the item to which its nodes refer.
    Made(&'a Item, &'a Fact),
}

impl Fact {
    fn into_text(self) -> Option<String> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    fn int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            Self::Float(number) if number.fract() == 0.0 && number.abs() < 9e15 => Some(*number as i64),
            _ => None,
        }
    }

    fn float(&self) -> Option<f64> {
        if let Self::Float(number) = self { Some(*number) } else { self.int().map(|number| number as f64) }
    }

    fn bool(&self) -> Option<bool> {
        if let Self::Bool(truth) = self { Some(*truth) } else { None }
    }
}

impl<'a> FactRef<'a> {
    /// A fact of this item, unless it is `null`.
    pub fn new(item: &'a Item, fact: &'a Fact) -> Option<Self> {
        match fact {
            Fact::Node(node) => Self::of_json(item.record.as_ref()?.value(*node)),
            Fact::Named(node, parts) => match Self::of_json(item.record.as_ref()?.value(*node))? {
                Self::Json(value) => Some(Self::Named(value, parts)),
                other => Some(other),
            },
            Fact::Made(make, node) => Some(Self::Of(*make, item.record.as_ref()?.value(*node))),
            _ => Some(Self::Made(item, fact)),
        }
    }

    fn of_json(value: Value<'a>) -> Option<Self> {
        (!value.is_null()).then_some(Self::Json(value))
    }

    /// The part called `name`, unless it is `null`.
    pub fn get(self, name: &str) -> Option<Self> {
        match self {
            Self::Json(value) => Self::of_json(value.get(name)?),
            Self::Named(value, parts) => {
                let is_it = |part: &&FactSpec| is_same(part.name.as_bytes(), name.as_bytes());
                parts.iter().filter(is_it).find_map(|part| part.of(value))
            }
            Self::Made(item, Fact::Map(parts)) => {
                let (_, fact) = parts.iter().find(|(key, _)| *key == name)?;
                Self::new(item, fact)
            }
            Self::Sole(..) | Self::Of(..) | Self::Word(_) | Self::Made(..) => None,
        }
    }

    /// The value of the record that it is, or from which it is made.
    pub fn value(self) -> Option<Value<'a>> {
        match self {
            Self::Json(value) | Self::Named(value, _) | Self::Sole(value, _) | Self::Of(_, value) => {
                Some(value)
            }
            Self::Word(_) | Self::Made(..) => None,
        }
    }

    /// Whether it has no parts other than those with these names.
    pub fn has_only(self, names: &[&str]) -> bool {
        let Self::Named(value, parts) = self else { return true };
        let is_named = |key: Str<'_>| {
            let found = parts.iter().find(|part| part.key_of().is_some_and(|own| key.is(own)));
            found.is_some_and(|part| names.contains(&part.name))
        };
        value.entries().all(|(key, _)| is_named(key))
    }

    /// The text under `name`, cleaned.
    pub fn text_at(self, name: &str) -> Option<Text> {
        self.get(name)?.text()
    }

    /// The whole number under `name`, unless negative.
    pub fn count_at(self, name: &str) -> Option<u64> {
        self.get(name)?.count()
    }

    /// Its elements; empty if it isn't a list.
    pub fn list(self) -> Vec<Self> {
        match self {
            Self::Json(value) => value.items().map(Self::Json).collect(),
            Self::Named(value, parts) if value.kind() == ValueKind::Array => {
                value.items().map(|value| Self::Named(value, parts)).collect()
            }
            Self::Sole(value, parts) => vec![Self::Named(value, parts)],
            Self::Made(item, Fact::List(facts)) => {
                facts.iter().filter_map(|fact| Self::new(item, fact)).collect()
            }
            Self::Named(..) | Self::Of(..) | Self::Word(_) | Self::Made(..) => Vec::new(),
        }
    }

    /// Its named parts in their order; empty if it has none.
    pub fn parts(self) -> Vec<(Text, Self)> {
        match self {
            Self::Json(value) => {
                value.entries().map(|(key, value)| (Text::from_json(key), Self::Json(value))).collect()
            }
            Self::Named(..) => self.named().into_iter().map(|(name, part)| (Text::own(name), part)).collect(),
            Self::Made(item, Fact::Map(parts)) => parts
                .iter()
                .filter_map(|(key, fact)| Some((Text::clean(key), Self::new(item, fact)?)))
                .collect(),
            Self::Sole(..) | Self::Of(..) | Self::Word(_) | Self::Made(..) => Vec::new(),
        }
    }

    /// Its parts in the order of their table, each name once; empty if it has no table.
    pub(super) fn named(self) -> Vec<(&'static str, Self)> {
        let Self::Named(_, parts) = self else { return Vec::new() };
        part::named(parts.iter().map(|part| part.name), |name| self.get(name))
    }

    /// Its text, cleaned, if it is a string.
    pub fn text(self) -> Option<Text> {
        match self {
            Self::Json(value) | Self::Named(value, _) => value.str().map(Text::from_json),
            Self::Word(word) => Some(Text::own(word)),
            Self::Of(make, value) => make(value)?.into_text().map(Text::clean_owned),
            Self::Sole(..) | Self::Made(..) => self.str().map(|text| Text::clean(&text)),
        }
    }

    /// Whether it is a string.
    pub fn is_text(self) -> bool {
        match self {
            Self::Json(value) | Self::Named(value, _) => value.kind() == ValueKind::String,
            Self::Made(_, fact) => matches!(fact, Fact::Text(_)),
            Self::Of(make, value) => matches!(make(value), Some(Fact::Text(_))),
            Self::Sole(..) => false,
            Self::Word(_) => true,
        }
    }

    /// Whether it is a number.
    pub fn is_number(self) -> bool {
        match self {
            Self::Json(value) | Self::Named(value, _) => value.kind() == ValueKind::Number,
            Self::Made(..) | Self::Of(..) => self.float().is_some(),
            Self::Sole(..) | Self::Word(_) => false,
        }
    }

    /// The picture, if it contains the bytes of one.
    pub fn picture(self) -> Option<Picture> {
        match self {
            Self::Made(item, Fact::Bytes(node)) => Some(Picture::new(item.record.as_ref()?, *node)),
            _ => None,
        }
    }

    /// Its text, not cleaned, if it is a string.
    pub fn str(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Json(value) | Self::Named(value, _) => value.decode(),
            Self::Made(_, Fact::Text(text)) => Some(Cow::Borrowed(text)),
            Self::Word(word) => Some(Cow::Borrowed(word)),
            Self::Of(make, value) => make(value)?.into_text().map(Cow::Owned),
            Self::Sole(..) | Self::Made(..) => None,
        }
    }

    /// A scalar as text: a string cleaned, a number as written.
    pub fn words(self) -> Option<Text> {
        self.text().or_else(|| match self {
            Self::Json(value) | Self::Named(value, _) => {
                matches!(value.kind(), ValueKind::Number | ValueKind::True | ValueKind::False)
                    .then(|| Text::clean(value.raw()))
            }
            _ => match (self.bool(), self.int(), self.float()) {
                (Some(truth), ..) => Some(Text::own(if truth { "true" } else { "false" })),
                (None, Some(number), _) => Some(Text::clean_owned(number.to_string())),
                (None, None, number) => number.map(|number| Text::clean_owned(number.to_string())),
            },
        })
    }

    /// Its whole number, unless negative.
    pub fn count(self) -> Option<u64> {
        self.int().and_then(|number| u64::try_from(number).ok())
    }

    /// Its whole number.
    pub fn int(self) -> Option<i64> {
        match self {
            Self::Json(value) | Self::Named(value, _) => value.int(),
            Self::Of(make, value) => make(value)?.int(),
            Self::Made(item, Fact::Since(record, node)) => passed(record.value(*node), item.at()?),
            Self::Made(_, fact) => fact.int(),
            Self::Sole(..) | Self::Word(_) => None,
        }
    }

    /// Its number.
    pub fn float(self) -> Option<f64> {
        match self {
            Self::Json(value) | Self::Named(value, _) => value.float(),
            Self::Of(make, value) => make(value)?.float(),
            Self::Made(_, Fact::Float(number)) => Some(*number),
            _ => self.int().map(|number| number as f64),
        }
    }

    /// Its truth value.
    pub fn bool(self) -> Option<bool> {
        match self {
            Self::Json(value) | Self::Named(value, _) => value.bool(),
            Self::Of(make, value) => make(value)?.bool(),
            Self::Made(_, fact) => fact.bool(),
            Self::Sole(..) | Self::Word(_) => None,
        }
    }
}

/// The milliseconds from the time in `since` to `at`; `None` if that is negative.
pub(super) fn passed(since: Value<'_>, at: Timestamp) -> Option<i64> {
    let passed = at.duration_since(time_of(since)?).as_millis();
    i64::try_from(passed).ok().filter(|passed| *passed >= 0)
}
