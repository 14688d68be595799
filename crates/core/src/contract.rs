//! What the machine outputs promise: the lines of `items`, of `json` and of its updates, as types.
//!
//! An entry is written and read by its type. The line of an item is written by hand, since its facts are passed on as they
//! came, and read back into a record by the dialects, which know the tools; a test holds both to the type here.
//! The JSON Schemas (`docs/schema`) are made of these types and of the table of facts; comments are descriptions there.

mod fact_shape;
mod item;
#[cfg(feature = "schema")]
mod schema;
mod update;

use std::borrow::Cow;

use jiff::Timestamp;
use serde::de::{Deserializer, Error as _, IgnoredAny};
use serde::{Deserialize, Serialize, Serializer};

use crate::entry::{Block, Entry, Figures, Line, Mark, View, read_blocks, read_mark};
use crate::item::{Action, Id, Kind, Status};
use crate::outline::{Node, Relation};
use crate::text::Text;

pub use item::{write_does, write_entry, write_item, write_string, write_update};

#[cfg(feature = "schema")]
pub use schema::{items as items_schema, json as json_schema, updates as updates_schema};

/// Version of the formats.
pub const VERSION: u32 = 1;

/// One thing of a session, as it is: a line of `--to items`. It is written once, when it is whole.
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
    /// On what a sub-agent did: the id of the call that it is inside of.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub parent: Option<Id>,
    /// Its place within its parent, from 0, by first appearance.
    pub place: u32,
    /// What it is.
    pub kind: Kind,
    /// Where it is in its life. A call is done when its input is whole; a failure is its result's.
    pub status: Status,
    /// When it happened, in UTC, if the stream says so.
    #[serde(rename = "at")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>", extend("format" = "date-time")))]
    _at: Option<IgnoredAny>,
    /// The session it belongs to.
    pub session: Option<String>,
    /// Number of the first line that it came with, from 1.
    pub line: u64,
    /// On calls and results: the tool, as the stream names it.
    pub tool: Option<String>,
    /// On calls and results: what the tool does, whatever its name.
    pub action: Option<Action>,
    /// On calls: what it does it with and to, under names that all agents share. What of the input has no such name, or is of
    /// another type, is in `input` alone.
    #[serde(rename = "does")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<schema::DoesSchema>"))]
    _does: Option<IgnoredAny>,
    /// On calls: the input as it came; key order and numbers stay.
    #[serde(rename = "input")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    _input: Option<IgnoredAny>,
    /// On results: the id of the call.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub call: Option<Id>,
    /// What it says, faithful to the stream.
    #[serde(rename = "text")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    _text: Option<IgnoredAny>,
    /// True if it tells of a failure, else absent.
    #[cfg_attr(feature = "schema", schemars(extend("const" = true)))]
    pub error: Option<bool>,
    /// Typed facts, named alike for every agent.
    #[serde(rename = "data")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<schema::FactsSchema>"))]
    _data: Option<IgnoredAny>,
}

/// What is said of one item: a line of `--to json`. All text is cleaned: nothing in it can steer a terminal.
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
    /// On what a sub-agent did: the id of the call that it is inside of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    parent: Option<Cow<'a, Id>>,
    /// The item's place within its parent, from 0.
    place: u32,
    /// What the item is.
    kind: Kind,
    /// On calls and results: the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<Cow<'a, Text>>,
    /// On calls and results: what the tool does.
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<Action>,
    /// Where the item is in its life.
    status: Status,
    /// When it happened, in UTC, if the stream says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>", extend("format" = "date-time")))]
    at: Option<Timestamp>,
    /// On results: milliseconds since the call, if the stream tells both times.
    #[serde(skip_serializing_if = "Option::is_none")]
    took_ms: Option<u64>,
    /// On what doesn't directly follow the call that it belongs to: that call's title.
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<Cow<'a, Line>>,
    /// In updates alone, on results: the id of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    call: Option<Cow<'a, Id>>,
    /// In updates alone: how many sub-agents it is inside of, unless none.
    #[serde(default, skip_serializing_if = "is_zero")]
    depth: u16,
    /// On a node of a tree of records: how many nodes are above it, unless none.
    #[serde(default, skip_serializing_if = "is_zero")]
    level: u16,
    /// In updates alone: what the run had come to by then, if that is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    figures: Option<Figures>,
    /// Name of the glyph in front; a theme spells it. Absent: none.
    #[serde(default, deserialize_with = "read_mark", skip_serializing_if = "Option::is_none")]
    mark: Mark,
    /// The title; empty if the body says it all.
    title: Cow<'a, Line>,
    /// What stands under the title; absent if there is nothing.
    #[serde(default, deserialize_with = "body", skip_serializing_if = "<[Block]>::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<Block>>"))]
    body: Cow<'a, [Block]>,
}

/// Reads a version; any but ours is an error.
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
    /// The line of a node. What only updates have isn't in it, nor is the node's result, which has a line of its own.
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
        Self {
            id: line.id.into_owned(),
            in_agent: false,
            parent: line.parent.map(Cow::into_owned),
            place: line.place,
            kind: line.kind,
            tool: line.tool.map(Cow::into_owned),
            action: line.action,
            status: line.status,
            at: line.at,
            took: line.took_ms,
            depth: line.depth,
            level: line.level,
            call: line.call.map(Cow::into_owned),
            figures: line.figures,
            view: View { mark: line.mark, body: line.body.into_owned(), ..View::default() }
                .retitled(line.title.into_owned()),
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
    /// The line of `--to json`. The node's result isn't in it: there it has a line of its own.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        EntryLine::of(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Node {
    /// Reads a line of `--to json`, with the title of the call that it belongs to if the line has that.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut line = EntryLine::deserialize(deserializer)?;
        let relation = line.of.take().map_or(Relation::Own, |of| Relation::Apart(of.into_owned()));
        Ok(Self { relation, ..Self::from(Entry::from(line)) })
    }
}
