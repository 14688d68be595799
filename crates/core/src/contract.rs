//! What the machine outputs promise: the lines of `items` and of `json`, as types.
//!
//! The writers spell these lines by hand, for speed. The types stand beside them for the JSON Schemas
//! (`docs/schema`) and for the test that reads every line back, so that both stay true.
//! Their comments are the descriptions in the schemas; the facts are those of their table.

mod page;
mod schema;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::entry::{Change, Point};
use crate::item::{Action, Kind, Status};

pub use page::facts as facts_page;
pub use schema::{items as items_schema, json as json_schema};

/// One thing of a session, as it is: a line of `--to items`. It is written once, when it is whole.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ItemLine {
    /// Version of the format.
    #[schemars(extend("const" = 1))]
    pub v: u32,
    /// The stream's own id, else `line-<n>`; unique within one input.
    pub id: String,
    /// On what a sub-agent did: the id of the call that it is inside of.
    pub parent: Option<String>,
    /// Its place within its parent, from 0, by first appearance.
    pub place: u32,
    /// What it is.
    pub kind: Kind,
    /// Where it is in its life. A call is done when its input is whole; a failure is its result's.
    pub status: Status,
    /// When it happened, in UTC, if the stream says so.
    #[schemars(extend("format" = "date-time"))]
    pub at: Option<String>,
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
    #[schemars(with = "Option<schema::Does>")]
    pub does: Option<Value>,
    /// On calls: the input as it came; key order and numbers stay.
    pub input: Option<Value>,
    /// On results: the id of the call.
    pub call: Option<String>,
    /// What it says, faithful to the stream.
    pub text: Option<String>,
    /// True if it tells of a failure, else absent.
    #[schemars(extend("const" = true))]
    pub error: Option<bool>,
    /// Typed facts, named alike for every agent.
    #[schemars(with = "Option<schema::Facts>")]
    pub data: Option<Value>,
}

/// What is said of one item: a line of `--to json`. All text is cleaned: nothing in it can steer a terminal.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct EntryLine {
    /// Version of the format.
    #[schemars(extend("const" = 1))]
    pub v: u32,
    /// The item's id.
    pub id: String,
    /// On what a sub-agent did: the id of the call that it is inside of.
    pub parent: Option<String>,
    /// The item's place within its parent, from 0.
    pub place: u32,
    /// What the item is.
    pub kind: Kind,
    /// On calls and results: the tool.
    pub tool: Option<String>,
    /// On calls and results: what the tool does.
    pub action: Option<Action>,
    /// Where the item is in its life.
    pub status: Status,
    /// When it happened, in UTC, if the stream says so.
    #[schemars(extend("format" = "date-time"))]
    pub at: Option<String>,
    /// On results: milliseconds since the call, if the stream tells both times.
    pub took_ms: Option<u64>,
    /// On what doesn't directly follow the call that it belongs to: that call's title.
    pub of: Option<LineShape>,
    /// Name of the glyph in front; a theme spells it. Absent: none.
    pub mark: Option<String>,
    /// The title; empty if the body says it all.
    pub title: LineShape,
    /// What stands under the title; absent if there is nothing.
    pub body: Option<Vec<BlockShape>>,
}

/// One line: its pieces, to be written one after the other with nothing between.
pub type LineShape = Vec<SpanShape>;

/// A piece of a line.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Span")]
pub struct SpanShape {
    /// What it says; no line feed is in it.
    pub text: String,
    /// What it is: a dotted name such as `tool.name`. One that isn't known counts as its parent, `tool`.
    pub role: String,
    /// Where it leads. The scheme isn't checked.
    pub link: Option<String>,
}

/// A part of a body. Newer versions may have more types.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
#[schemars(rename = "Block")]
pub enum BlockShape {
    /// Short lines with roles of their own.
    Lines {
        /// The lines.
        lines: Vec<LineShape>,
    },
    /// Markdown, as a model writes it.
    Prose {
        /// Its source.
        text: String,
        /// What it is.
        role: String,
    },
    /// Verbatim text: output, file contents, commands.
    Code {
        /// The text, without a final line feed.
        text: String,
        /// Language or file extension.
        lang: Option<String>,
        /// Number of the first line, if lines are numbered.
        start: Option<u64>,
        /// What it is.
        role: String,
    },
    /// Changes of a file.
    Diff {
        /// The file.
        path: Option<String>,
        /// Stretches of changed lines.
        hunks: Vec<HunkShape>,
    },
    /// Points with states.
    List {
        /// The points.
        items: Vec<PointShape>,
    },
    /// Rows and columns.
    Table {
        /// Heads of the columns; may be empty.
        head: Vec<LineShape>,
        /// The rows.
        rows: Vec<Vec<LineShape>>,
    },
    /// A picture or document that is told, not shown.
    Image {
        /// Its media type, as claimed.
        media: String,
        /// Its size.
        bytes: Option<u64>,
        /// Its name, place or address.
        name: Option<String>,
    },
    /// Something that may be folded.
    Details {
        /// What stands for it when it is folded.
        summary: LineShape,
        /// What is inside.
        body: Vec<BlockShape>,
    },
    /// Something was left out here, by a limit of the profile.
    Elided {
        /// Whole lines that were left out.
        lines: u64,
        /// Bytes that were left out.
        bytes: u64,
    },
}

/// One hunk of a diff.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Hunk")]
pub struct HunkShape {
    /// Number of its first line in the old file, from 1; absent if only the changed text is known.
    pub old_start: Option<u64>,
    /// Number of its first line in the new file, from 1; absent likewise.
    pub new_start: Option<u64>,
    /// Its lines.
    pub lines: Vec<DiffLineShape>,
}

/// One line of a hunk.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "DiffLine")]
pub struct DiffLineShape {
    /// Kept, added or removed.
    pub change: Change,
    /// The line without its mark and line feed.
    pub text: String,
}

/// A point of a list.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ListPoint")]
pub struct PointShape {
    /// Its state.
    pub point: Point,
    /// What it says.
    pub line: LineShape,
}
