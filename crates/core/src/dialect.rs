//! Dialects: the stream formats of agents' programs, and the decoders that turn their records into events.
//!
//! The dialects themselves are in a separate crate, a row for each. The stages before ([`crate::reading`]) and after them don't depend on
//! the dialect.

pub mod launch;

use std::sync::Arc;

use crate::budget::Budget;
use crate::event::Event;
use crate::item::{Does, FactSpec, Id, Item, ToolKind};
use crate::json::{Record, Value};
use crate::session::counted::Counting;

use launch::Launch;

/// The stream format of one product.
pub struct Dialect {
    /// Its name on the command line.
    pub name: &'static str,
    /// Whether a value is one of its events.
    pub claim: fn(Value<'_>) -> bool,
    /// Whether a line of text begins an input of this dialect. `None` for a dialect of records; any other dialect reads all lines of its
    /// input as text, whatever they look like.
    pub claim_text: Option<fn(&str) -> bool>,
    /// Whether a claimed value has marks that values of other programs lack. After one without, the input is claimed only if no value
    /// of another program follows.
    pub is_certain: fn(Value<'_>) -> bool,
    /// Whether a claimed value has a form that ends with an outcome: that of a stream does, that of a history doesn't. An input of such
    /// a form without an outcome is incomplete.
    pub ends_with_outcome: fn(Value<'_>) -> bool,
    /// Creates a decoder for one input, with these memory limits.
    pub decoder: fn(Budget) -> Box<dyn Decoder>,
    /// The product's own tools, as far as they are known. A stream may have others.
    pub tools: &'static [(&'static str, Tool)],
    /// The tool of this name, if it is one of them.
    pub tool: fn(&str) -> Option<Tool>,
    /// The sentences that its program writes around texts. Only the dialect may search for them.
    pub sentences: fn() -> Vec<&'static str>,
    /// The files that its sub-agents write, if they write any.
    pub side_files: Option<SideFiles>,
    /// The histories of its sessions, if their location is known.
    pub histories: Option<Histories>,
    /// The database in which it keeps its sessions, if it uses one.
    pub database: Option<SessionDatabase>,
    /// How to start its program so that it writes a stream, if that is known.
    pub launch: Option<Launch>,
    /// The sums in outcomes that may include those of the run that a run resumes.
    pub counting: Counting,
}

/// The histories of a product's sessions: where they are, and how they are named.
#[derive(Clone, Copy)]
pub struct Histories {
    /// The environment variables that contain the path of a folder of the product, each with the path in it that takes the place of `home`.
    /// The first that is set counts.
    pub variables: &'static [(&'static str, &'static str)],
    /// The product's folder in the user's home directory, if no variable is set.
    pub home: &'static str,
    /// The folder in it for the histories of a working directory. If `work` is set, it also contains those of other directories. An absolute
    /// path is a folder elsewhere.
    pub folder: fn(&str) -> String,
    /// The folder in it that contains the histories of all working directories; empty for the product's folder itself. `None` if there is
    /// none, as where each working directory contains its own.
    pub root: Option<&'static str>,
    /// How many levels of folders are between that folder and the histories.
    pub depth: usize,
    /// Returns the working directory that the first record of a history, or the record of its facts, names. `None` if there is a folder for
    /// each working directory.
    pub work: Option<fn(Value<'_>) -> Option<WorkMark>>,
    /// Whether a file in these folders with this name is a history. The name lacks the ending of a compressed file.
    pub is_named: fn(&str) -> bool,
    /// The name of the file beside a history that contains facts of its session, by the history's name: a document of one record.
    pub facts: fn(&str) -> Option<String>,
    /// The session's id, by the history's name without its extension, if records don't contain it.
    pub session: fn(&str) -> Option<&str>,
    /// How the product deletes old ones by itself, if it does.
    pub cleanup: Option<HistoryCleanup>,
}

/// How a product deletes the histories of old sessions by itself.
#[derive(Clone, Copy)]
pub struct HistoryCleanup {
    /// The path of its settings in the product's folder: a document of one record.
    pub settings: &'static str,
    /// The name of the setting.
    pub key: &'static str,
    /// The days after which a history is deleted, from the settings. `None` if they don't contain it.
    pub days: fn(Value<'_>) -> Option<u64>,
    /// The days if the settings don't contain it.
    pub default: u64,
}

impl Histories {
    /// Files of records on lines, which contain all facts of their session.
    pub const LINES: Self = Self {
        variables: &[],
        home: "",
        folder: |_| String::new(),
        root: None,
        depth: 0,
        work: None,
        is_named: |name| matches!(name.rsplit_once('.'), Some((_, "jsonl"))),
        facts: |_| None,
        session: |_| None,
        cleanup: None,
    };
}

/// A working directory, as a history names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkMark {
    /// Its path.
    Path(String),
    /// The SHA-256 of its path, in hexadecimal digits.
    Sha256(String),
}

/// A database of `SQLite` in which a product keeps its sessions. Its queries turn a session into records, as they would be in a file.
pub struct SessionDatabase {
    /// The environment variables that move it, as [`Histories::variables`].
    pub variables: &'static [(&'static str, &'static str)],
    /// Its folder in the user's home directory, if no variable is set.
    pub home: &'static str,
    /// Whether a file of this name is such a database.
    pub is_named: fn(&str) -> bool,
    /// The product's own command that writes a session to a file, for messages.
    pub export: &'static str,
    /// Selects the ids of all sessions, except those of sub-agents that are shown in another one.
    pub sessions: &'static str,
    /// Selects the ids of the sessions below a session `?1`: those of its sub-agents, and of theirs.
    pub below: &'static str,
    /// Selects when a session `?1`, with those below it, was last `changed`, in milliseconds since 1970, and the number of its `entries`.
    pub changed: &'static str,
    /// Selects the keys of the records of a session `?1`, in their order: first that of the session itself.
    pub records: &'static str,
    /// Selects the record with the key `?1`, as JSON.
    pub record: &'static str,
}

/// The files that a product's sub-agents write beside the history to which they belong. The host finds and reads them.
pub struct SideFiles {
    /// The folders that contain them, from that of the history; `*` is the history's name without its extension.
    pub folders: &'static [&'static str],
    /// Whether they are also in a folder that is named after the session, beside the history. Then they needn't name it.
    pub is_in_session_folder: bool,
    /// The sub-agent's id in the name of a file; `None` if the file isn't that of a sub-agent.
    pub agent: fn(&str) -> Option<&str>,
    /// Whether histories have such names, too. Otherwise a file with such a name has no files of sub-agents.
    pub is_named_alike: bool,
    /// The extension of the optional meta file beside such a file.
    pub meta: &'static str,
    /// The call that a meta file names.
    pub call: fn(Value<'_>) -> Option<String>,
    /// The beginning of such a file, from one of its first records; `None` if a later record contains it.
    pub beginning: fn(Value<'_>) -> Option<Beginning>,
    /// The session to which a call of a history, or its result, belongs.
    pub session: fn(&Item) -> Option<String>,
}

/// The beginning of a sub-agent's file. A file that doesn't contain both has nothing to show.
pub struct Beginning {
    /// The session to which it belongs.
    pub session: Option<String>,
    /// The sub-agent's task.
    pub prompt: Option<String>,
}

/// The built-in dialects.
#[derive(Clone, Copy)]
pub struct Dialects {
    /// The dialects. The first that claims a value wins.
    pub rows: &'static [Dialect],
    /// The name of the dialect for an input of JSON objects that no dialect claims. It claims nothing itself.
    pub fallback: &'static str,
    /// Recognises a program without a built-in dialect by the form of a value.
    pub recognise: fn(Value<'_>) -> Option<ForeignProgram>,
}

impl Dialects {
    /// The dialect called `name`.
    pub fn find(&self, name: &str) -> Option<&'static Dialect> {
        self.rows.iter().find(|dialect| dialect.name == name)
    }

    /// The dialect that claims a value as its event.
    pub fn claiming(&self, value: Value<'_>) -> Option<&'static Dialect> {
        self.rows.iter().find(|dialect| (dialect.claim)(value))
    }

    /// The dialect of text lines whose input begins with this line.
    pub fn claiming_text(&self, line: &str) -> Option<&'static Dialect> {
        self.rows.iter().find(|dialect| dialect.claim_text.is_some_and(|claim| claim(line)))
    }

    /// The dialect that claims a value for certain, if it isn't the one called `name`.
    pub fn certain_other(&self, value: Value<'_>, name: &str) -> Option<&'static Dialect> {
        self.claiming(value).filter(|other| other.name != name && (other.is_certain)(value))
    }

    /// Whether a value is an event of any dialect.
    pub fn is_event(&self, value: Value<'_>) -> bool {
        self.claiming(value).is_some()
    }
}

/// A program without a built-in dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignProgram {
    /// Its name.
    pub name: &'static str,
    /// The dialect that would claim its events because they are so similar. Users may still choose it by name.
    pub resembles: Option<&'static str>,
}

/// The first line of a session's file.
pub struct SessionStart {
    /// The session's id.
    pub id: String,
    /// The session whose lines the file repeats after this line, if it names one.
    pub repeats: Option<String>,
}

/// What a line of a session's file has in common with its copy in the file of a session that repeats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineKey {
    /// The hash of the line's content, without what a copy changes, such as its time.
    pub hash: u64,
    /// Whether it is the user's prompt.
    pub is_prompt: bool,
}

/// A tool of a product.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    /// Its name. Empty for all tools that aren't known.
    pub name: &'static str,
    /// What it does.
    pub tool_kind: ToolKind,
    /// The parts of its input.
    pub parts: &'static [FactSpec],
}

impl Tool {
    /// Sets the kind and the parts of a call.
    pub fn apply_to(self, call: &mut Item) {
        call.tool_kind = Some(self.tool_kind);
        call.does = Some(Does::Input(self.parts));
    }
}

/// A record to decode.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// The record, shared by its items.
    pub record: &'a Record,
    /// The event in it: its root, or an element of it.
    pub value: Value<'a>,
    /// The number of its line.
    pub line: u64,
    /// The call that the whole input is inside of, if it is the file of a sub-agent.
    pub parent: Option<&'a Id>,
    /// The session whose line this one repeats, if it is known. On the first line of a file: the session whose lines follow.
    pub origin: Option<&'a str>,
    /// Whether an output may show items of minor importance: thoughts, and minor notices. If none does, they may be emitted as
    /// [`Event::Hidden`], without facts.
    pub shows_minor: bool,
    /// Whether an observer needs the details of [`Event::Usage`].
    pub counts: bool,
}

/// A line to decode of a dialect of text lines.
#[derive(Clone, Copy)]
pub struct TextLine<'a> {
    /// The line, without its line feed.
    pub text: &'a str,
    /// Its number.
    pub line: u64,
}

/// A dialect that the host provides in addition to the built-in ones, for one input.
pub struct DialectPlugin {
    /// Its name.
    pub name: Arc<str>,
    /// Decodes its records.
    pub decoder: Box<dyn Decoder>,
}

/// The weight of a built-in dialect that claims a record, compared with those of dialect plugins.
pub const CLAIM: f64 = 0.5;

/// Turns the records of one dialect into events, and holds the state of decoding. It doesn't know how earlier events
/// were shown. On threads, see [`crate::formatter::Formatter`].
pub trait Decoder: Send {
    /// How certain it is that the first records of an input belong to its dialect, from 0 to 1. Dialect plugins
    /// are asked with each further record until one of them or a built-in dialect claims the input;
    /// above [`CLAIM`], a dialect plugin takes precedence over a built-in dialect.
    fn weigh(&mut self, first: &[Record]) -> f64 {
        let _ = first;
        0.0
    }

    /// For a dialect plugin: whether its inputs end with an outcome, so that one without it is incomplete.
    fn ends_with_outcome(&self) -> bool {
        false
    }

    /// Parses the first line of a session's file. `None` if it is another line, or if no file of this dialect repeats another one.
    fn session_start(&self, value: Value<'_>) -> Option<SessionStart> {
        let _ = value;
        None
    }

    /// Returns the key of a line of a session's file. `None` if files of this dialect don't repeat others.
    fn line_key(&self, value: Value<'_>) -> Option<LineKey> {
        let _ = value;
        None
    }

    /// Decodes `input` and adds its events to `out`. Any value is valid: one that isn't understood becomes an unknown item.
    fn decode(&mut self, input: Input<'_>, out: &mut Vec<Event>);

    /// Decodes a line of text and adds its events to `out`. Only called for a dialect of text lines
    /// ([`Dialect::claim_text`]), with every line of its input.
    fn text(&mut self, line: TextLine<'_>, out: &mut Vec<Event>) {
        let _ = (line, out);
    }

    /// Ends the input, and adds the remaining events to `out`.
    fn end(&mut self, out: &mut Vec<Event>);
}
