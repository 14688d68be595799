//! The arguments of a call, such as its command or path, read from its input.

use crate::json::{Record, Value, ValueKind};
use crate::text::Text;

use super::{Fact, FactRef, FactSpec, Item, part};

/// The source of a call's arguments.
#[derive(Clone, Debug)]
pub enum Does {
    /// These parts of its input.
    Input(&'static [FactSpec]),
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
        part::named(names.into_iter().chain(SERVER), |name| self.get(name))
    }
}

/// Facts of a call that count as its arguments: the server of an MCP tool, and the tool's name there.
const SERVER: [&str; 2] = ["server", "tool"];
