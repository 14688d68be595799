//! The machine formats as types: the lines of `items`, of `json` and of its updates.
//!
//! An entry is serialised and deserialised by its type. The line of an item is written by hand, because its facts are passed on
//! unchanged, and is read back into a record by the dialects, which know the tools; a test compares both with the type here.
//! The JSON Schemas (`docs/schema`) are generated from these types and the table of facts; doc comments become descriptions.

mod fact_shape;
mod find;
mod item;
#[cfg(feature = "schema")]
mod schema;
mod update;

use std::borrow::Cow;

use jiff::Timestamp;
use serde::de::{Deserializer, Error as _, IgnoredAny};
use serde::{Deserialize, Serialize, Serializer};

use crate::entry::{Block, Entry, Figures, Line, Mark, View, read_blocks, read_mark};
use crate::item::{Action, Id, Kind, Status, Waiting};
use crate::outline::{Node, Relation};
use crate::text::Text;

pub use find::{FindAtPlace, FindLine, FindTotal};
pub use item::{write_does, write_entry, write_item, write_string, write_update};

#[cfg(feature = "schema")]
pub use schema::{
    finds as finds_schema, items as items_schema, json as json_schema, updates as updates_schema,
};

/// The version of the formats.
pub const VERSION: u32 = 1;

/// An item of a session: a line of `--to items`. It is written once, when the item is complete.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ItemLine {
    /// Version of the format.
    #[serde(rename = "v", deserialize_with = "version")]
    #[cfg_attr(feature = "schema", schemars(extend("const" = 1)))]
    _v: u32,
    /// The stream's own id, else `line-<n>`; unique within one input.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub id: Id,
    /// On items of a sub-agent: the id of the call that they are inside of.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub parent: Option<Id>,
    /// Its place within its parent, from 0, by first appearance.
    pub place: u32,
    /// Its kind.
    pub kind: Kind,
    /// Its status. A call is done when its input is complete; a failure is that of its result.
    pub status: Status,
    /// When it happened, in UTC, if the stream has a time.
    #[serde(rename = "at")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>", extend("format" = "date-time")))]
    _at: Option<IgnoredAny>,
    /// The session to which it belongs.
    pub session: Option<String>,
    /// The number of the first line of the item, from 1.
    pub line: u64,
    /// On calls and results: the tool, as the stream names it.
    pub tool: Option<String>,
    /// On calls and results: the action of the tool, whatever its name.
    pub action: Option<Action>,
    /// On calls: the arguments, under names that all agents share. A part of the input without such a name, or of another type, is
    /// only in `input`.
    #[serde(rename = "does")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<schema::DoesSchema>"))]
    _does: Option<IgnoredAny>,
    /// On calls: the unchanged input, with its key order and numbers.
    #[serde(rename = "input")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    _input: Option<IgnoredAny>,
    /// On results: the id of the call.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub call: Option<Id>,
    /// The text, unchanged.
    #[serde(rename = "text")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    _text: Option<IgnoredAny>,
    /// True if it reports a failure, else absent.
    #[cfg_attr(feature = "schema", schemars(extend("const" = true)))]
    pub error: Option<bool>,
    /// Typed facts, with the same names for every agent.
    #[serde(rename = "data")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<schema::FactsSchema>"))]
    _data: Option<IgnoredAny>,
}

/// The entry of an item: a line of `--to json`. All text is cleaned: it contains no terminal control sequences.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct EntryLine<'a> {
    /// Version of the format.
    #[serde(deserialize_with = "version")]
    #[cfg_attr(feature = "schema", schemars(extend("const" = 1)))]
    v: u32,
    /// The item's id.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    id: Cow<'a, Id>,
    /// On entries of a sub-agent: the id of the call that they are inside of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    parent: Option<Cow<'a, Id>>,
    /// The item's place within its parent, from 0.
    place: u32,
    /// The item's kind.
    kind: Kind,
    /// On calls and results: the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<Cow<'a, Text>>,
    /// On calls and results: the action of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<Action>,
    /// The item's status; only in updates it may be `waiting`.
    status: Status,
    /// Only in updates, on a call that waits for a person: what it needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<EntryData>,
    /// When it happened, in UTC, if the stream has a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>", extend("format" = "date-time")))]
    at: Option<Timestamp>,
    /// On results: milliseconds since the call, if the stream contains both times.
    #[serde(skip_serializing_if = "Option::is_none")]
    took_ms: Option<u64>,
    /// On entries that don't directly follow the call to which they belong: the title of that call.
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<Cow<'a, Line>>,
    /// Only in updates, on results: the id of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    call: Option<Cow<'a, Id>>,
    /// Only in updates: how many sub-agents it is inside of, unless none.
    #[serde(default, skip_serializing_if = "is_zero")]
    depth: u16,
    /// On a node of a tree of records: how many nodes are above it, unless none.
    #[serde(default, skip_serializing_if = "is_zero")]
    level: u16,
    /// Only in updates: the figures of the run up to this entry, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    figures: Option<Figures>,
    /// The name of the glyph before the title, which a theme defines. Absent if there is none.
    #[serde(default, deserialize_with = "read_mark", skip_serializing_if = "Option::is_none")]
    mark: Mark,
    /// The title; may be empty.
    title: Cow<'a, Line>,
    /// The blocks below the title; absent if there are none.
    #[serde(default, deserialize_with = "body", skip_serializing_if = "<[Block]>::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<Block>>"))]
    body: Cow<'a, [Block]>,
}

/// Typed facts of an entry.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct EntryData {
    /// What a call needs from a person, and since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<Waiting>,
}

/// Reads a version. Any other than [`VERSION`] is an error.
fn version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    match u32::deserialize(deserializer)? {
        VERSION => Ok(VERSION),
        other => Err(D::Error::custom(format!("version {other} of the format isn't known, only {VERSION}"))),
    }
}

fn body<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'static, [Block]>, D::Error> {
    read_blocks(deserializer).map(Cow::Owned)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(depth: &u16) -> bool {
    *depth == 0
}

impl<'a> EntryLine<'a> {
    /// The line of a node, without the fields that only updates have, and without the node's result, which has a separate line.
    pub(crate) fn of(node: &'a Node) -> Self {
        let of = match &node.relation {
            Relation::Apart(of) => Some(Cow::Borrowed(of)),
            Relation::Own | Relation::Below => None,
        };
        Self { of, call: None, depth: 0, figures: None, ..Self::from(&*node.entry) }
    }
}

impl<'a> From<&'a Entry> for EntryLine<'a> {
    fn from(entry: &'a Entry) -> Self {
        Self {
            v: VERSION,
            id: Cow::Borrowed(&entry.id),
            parent: entry.parent.as_ref().map(Cow::Borrowed),
            place: entry.place,
            kind: entry.kind,
            tool: entry.tool.as_ref().map(Cow::Borrowed),
            action: entry.action,
            status: entry.status,
            data: entry.waiting.map(|waiting| EntryData { waiting: Some(waiting) }),
            at: entry.at,
            took_ms: entry.took,
            of: None,
            call: entry.call.as_ref().map(Cow::Borrowed),
            depth: entry.depth,
            level: entry.level,
            figures: entry.figures,
            mark: entry.view.mark,
            title: Cow::Borrowed(&entry.view.title),
            body: Cow::Borrowed(&entry.view.body),
        }
    }
}

impl From<EntryLine<'_>> for Entry {
    fn from(line: EntryLine<'_>) -> Self {
        let view = View { mark: line.mark, body: line.body.into_owned(), ..View::default() };
        Self {
            parent: line.parent.map(Cow::into_owned),
            place: line.place,
            tool: line.tool.map(Cow::into_owned),
            action: line.action,
            status: line.status,
            waiting: line.data.and_then(|data| data.waiting),
            at: line.at,
            took: line.took_ms,
            depth: line.depth,
            level: line.level,
            call: line.call.map(Cow::into_owned),
            figures: line.figures,
            ..Self::new(line.id.into_owned(), line.kind, view.retitled(line.title.into_owned()))
        }
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        EntryLine::from(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        EntryLine::deserialize(deserializer).map(Self::from)
    }
}

impl Serialize for Node {
    /// Writes a line of `--to json`, without the node's result, which has a separate line.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        EntryLine::of(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Node {
    /// Reads a line of `--to json`, including the title of the call to which it belongs, if present.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut line = EntryLine::deserialize(deserializer)?;
        let relation = line.of.take().map_or(Relation::Own, |of| Relation::Apart(of.into_owned()));
        Ok(Self { relation, ..Self::from(Entry::from(line)) })
    }
}
