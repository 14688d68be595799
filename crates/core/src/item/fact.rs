//! An item's facts: a fact may be a value of the record or one that the decoder made, and both read alike.

use std::borrow::Cow;
use std::sync::Arc;

use crate::entry::Picture;
use crate::item::{Item, time_of};
use crate::json::{Kind, Record, Value};
use crate::text::Text;

/// A typed fact of an item's `data`.
#[derive(Clone, Debug)]
pub enum Fact {
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A text of its own, not cleaned.
    Text(String),
    /// A value of the item's record, by node.
    Node(u32),
    /// A text that is made, when it is asked for, from a value of the item's record.
    Made(fn(Value<'_>) -> Option<String>, u32),
    /// A whole number that is counted, when it is asked for, in a value of the item's record.
    Count(fn(Value<'_>) -> Option<i64>, u32),
    /// The milliseconds to the item's time from one of another record, by node, when they are asked for.
    Since(Arc<Record>, u32),
    /// The Base64 of a picture: a string of the item's record, by node. Machine output leaves it out.
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
    /// One that the decoder made, and the item that its nodes are of.
    Made(&'a Item, &'a Fact),
}

impl<'a> FactRef<'a> {
    /// A fact of this item, unless it is `null`.
    pub(super) fn new(item: &'a Item, fact: &'a Fact) -> Option<Self> {
        match fact {
            Fact::Node(node) => Self::of_json(item.record.as_deref()?.value(*node)),
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
            Self::Made(item, Fact::Map(parts)) => {
                let (_, fact) = parts.iter().find(|(key, _)| *key == name)?;
                Self::new(item, fact)
            }
            Self::Made(..) => None,
        }
    }

    /// The text under `name`, cleaned.
    pub fn text_at(self, name: &str) -> Option<Text> {
        self.get(name)?.text()
    }

    /// The number from 0 under `name`.
    pub fn count_at(self, name: &str) -> Option<u64> {
        self.get(name)?.count()
    }

    /// Its elements; none if it is no list.
    pub fn list(self) -> Vec<Self> {
        match self {
            Self::Json(value) => value.items().map(Self::Json).collect(),
            Self::Made(item, Fact::List(facts)) => {
                facts.iter().filter_map(|fact| Self::new(item, fact)).collect()
            }
            Self::Made(..) => Vec::new(),
        }
    }

    /// Its named parts in the order written; none if it has no names.
    pub fn parts(self) -> Vec<(Text, Self)> {
        match self {
            Self::Json(value) => {
                value.entries().map(|(key, value)| (Text::from_json(key), Self::Json(value))).collect()
            }
            Self::Made(item, Fact::Map(parts)) => parts
                .iter()
                .filter_map(|(key, fact)| Some((Text::clean(key), Self::new(item, fact)?)))
                .collect(),
            Self::Made(..) => Vec::new(),
        }
    }

    /// The string it is, cleaned.
    pub fn text(self) -> Option<Text> {
        match self {
            Self::Json(value) => value.str().map(Text::from_json),
            Self::Made(..) => self.str().map(|text| Text::clean(&text)),
        }
    }

    /// The picture whose bytes it is.
    pub fn picture(self) -> Option<Picture> {
        match self {
            Self::Made(item, Fact::Bytes(node)) => Some(Picture::new(item.record.clone()?, *node)),
            _ => None,
        }
    }

    /// The string it is, as it came.
    pub fn str(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Json(value) => value.decode(),
            Self::Made(_, Fact::Text(text)) => Some(Cow::Borrowed(text)),
            Self::Made(item, Fact::Made(make, node)) => {
                make(item.record.as_deref()?.value(*node)).map(Cow::Owned)
            }
            Self::Made(..) => None,
        }
    }

    /// The scalar it is, in words: a string cleaned, a number as written.
    pub fn words(self) -> Option<Text> {
        self.text().or_else(|| match self {
            Self::Json(value) => matches!(value.kind(), Kind::Number | Kind::True | Kind::False)
                .then(|| Text::clean(value.raw())),
            Self::Made(_, Fact::Float(number)) => Some(Text::clean_owned(number.to_string())),
            Self::Made(_, Fact::Bool(truth)) => Some(Text::own(if *truth { "true" } else { "false" })),
            Self::Made(..) => self.int().map(|number| Text::clean_owned(number.to_string())),
        })
    }

    /// The whole number it is, unless negative.
    pub fn count(self) -> Option<u64> {
        self.int().and_then(|number| u64::try_from(number).ok())
    }

    /// The whole number it is.
    pub fn int(self) -> Option<i64> {
        match self {
            Self::Json(value) => value.int(),
            Self::Made(_, Fact::Int(number)) => Some(*number),
            Self::Made(item, Fact::Count(count, node)) => count(item.record.as_deref()?.value(*node)),
            Self::Made(item, Fact::Since(record, node)) => {
                let passed = item.at()?.duration_since(time_of(record.value(*node))?).as_millis();
                i64::try_from(passed).ok().filter(|passed| *passed >= 0)
            }
            Self::Made(_, Fact::Float(number)) if number.fract() == 0.0 && number.abs() < 9e15 => {
                Some(*number as i64)
            }
            Self::Made(..) => None,
        }
    }

    /// The number it is.
    pub fn float(self) -> Option<f64> {
        match self {
            Self::Json(value) => value.float(),
            Self::Made(_, Fact::Float(number)) => Some(*number),
            Self::Made(..) => self.int().map(|number| number as f64),
        }
    }

    /// The truth value it is.
    pub fn bool(self) -> Option<bool> {
        match self {
            Self::Json(value) => value.bool(),
            Self::Made(_, Fact::Bool(truth)) => Some(*truth),
            Self::Made(..) => None,
        }
    }
}
