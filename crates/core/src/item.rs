//! The typed model of a session: the facts, in the same form for all dialects.
//!
//! An item owns its data: a shared copy of the record that it came with, and spans into it.
//! Text is decoded on request, so an item that isn't shown costs little.

mod does;
mod fact;
mod fact_list;
pub mod facts;
mod metadata;
mod part;
mod picture;
mod tool_kind;
mod turn;
mod waiting;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};
use strum::{EnumString, IntoStaticStr, VariantArray, VariantNames};

use crate::hash::hash;
use crate::json::{Cut, Record, Str, Value, is_same};
use crate::text::Text;

pub use does::{Does, DoesRef};
pub use fact::{Fact, FactRef, MakeFact};
pub use fact_list::FactList;
pub use part::{FactSpec, FactTable, FindFact, PresentParts};
pub use picture::Picture;
pub use tool_kind::ToolKind;
pub use turn::{AnswerClaim, TurnStep};
pub use waiting::{WAITED, WAITING, Waiting, WaitsFor};

/// The longest id, in bytes: a longer one is cut, and a hash of the whole id is appended.
const MAX_ID: usize = 512;

/// An item's id: the stream's own, or `line-<n>`. Cheap to clone, and never long.
#[derive(Clone, Deserialize)]
#[serde(from = "String")]
pub struct Id {
    text: Arc<str>,
    /// The hash of the text, kept because it is needed often.
    hash: u64,
}

impl Id {
    /// The text of the id: foreign, not cleaned.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The hash of its text, the same in every run: used in place of the id where that would take too much memory.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// An id below another: `call/result`.
    pub fn below(parent: &str, name: &str) -> Self {
        // Most ids are short: they are joined without an allocation of their own.
        let mut room = [b'/'; 128];
        let joined = room.get_mut(..parent.len() + 1 + name.len()).and_then(|room| {
            room[..parent.len()].copy_from_slice(parent.as_bytes());
            room[parent.len() + 1..].copy_from_slice(name.as_bytes());
            str::from_utf8(room).ok()
        });
        joined.map_or_else(|| Self::from([parent, "/", name].concat()), Self::from)
    }
}

impl From<&str> for Id {
    fn from(id: &str) -> Self {
        if id.len() <= MAX_ID {
            return Self { text: id.into(), hash: hash(id) };
        }
        let end = (0..=MAX_ID).rev().find(|&at| id.is_char_boundary(at)).unwrap_or(0);
        let text = format!("{}…{:016x}", &id[..end], hash(id));
        Self { hash: hash(&*text), text: text.into() }
    }
}

impl From<String> for Id {
    fn from(id: String) -> Self {
        Self::from(id.as_str())
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Id").field(&self.text).finish()
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.text == other.text
    }
}

impl Eq for Id {}

impl Hash for Id {
    /// Hashes the text, not the stored hash: with a secret seed, a table is safe from ids that were made to collide.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl PartialOrd for Id {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Id {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

/// The kind of an item.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    EnumString,
    IntoStaticStr,
    VariantArray,
    VariantNames,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Kind {
    /// A prompt of the user or, inside a sub-agent, its task.
    Prompt,
    /// A reply of the agent.
    Reply,
    /// A thought of the agent.
    Thinking,
    /// A call of a tool.
    Call,
    /// The result of a call.
    Result,
    /// The agent's to-do list.
    Plan,
    /// A message of the agent's program: `data.event` names it.
    Notice,
    /// The end of a run.
    Outcome,
    /// A structured line inside a reply.
    Record,
    /// Anything that isn't understood: shown unchanged. A kind in JSON that this version doesn't know is read as this one.
    #[serde(other)]
    Unknown,
}

impl Kind {
    /// Its name in the machine formats.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// All kinds, in the order of their declaration.
    pub const ALL: &'static [Self] = <Self as VariantArray>::VARIANTS;

    /// The names of all kinds, in the same order.
    pub const NAMES: &'static [&'static str] = <Self as VariantNames>::VARIANTS;
}

/// The status of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Status {
    /// It may still grow.
    Open,
    /// It is a call that waits for a person. Only updates have this status: an item of any other output is complete when it comes.
    Waiting,
    /// It is complete.
    Done,
    /// It is complete and reports a failure.
    Failed,
    /// It was cut off.
    Cancelled,
}

impl Status {
    /// Its name in the machine formats and in Lua.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The action of a call, whatever its dialect calls the tool.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, EnumString, IntoStaticStr, VariantNames,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
#[strum(serialize_all = "lowercase")]
pub enum Action {
    /// Runs a command.
    Run,
    /// Reads a file.
    Read,
    /// Writes a whole file.
    Write,
    /// Changes a part of a file.
    Edit,
    /// Searches for files or text.
    Search,
    /// Fetches something from the web.
    Fetch,
    /// Delegates a task to a sub-agent.
    Delegate,
    /// Updates a plan or a list of tasks.
    Plan,
    /// Asks the user.
    Ask,
    /// Calls a tool of an MCP server.
    Mcp,
    /// Anything else. An action in JSON that this version doesn't know is read as this one.
    #[serde(other)]
    Other,
}

impl Action {
    /// Its name in the machine formats and after `@` in lists.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The names of all actions, in the order of their declaration.
    pub const NAMES: &'static [&'static str] = Self::VARIANTS;
}

/// The text of an item: owned, or spans of its record.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Content {
    /// No text.
    #[default]
    None,
    /// An owned text: streamed, or made by a dialect.
    Own(String),
    /// A string of the item's record, by node.
    Node(u32),
    /// Several strings of the item's record, joined by line feeds.
    Parts(Vec<u32>),
}

/// An item of a session.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its id, unique within one input.
    pub id: Id,
    /// The call that it is inside of, such as that of the sub-agent that wrote it.
    pub parent: Option<Id>,
    /// Its place within its parent, from 0, by first appearance. Assigned by the session.
    pub place: u32,
    /// Its kind.
    pub kind: Kind,
    /// Its status.
    pub status: Status,
    /// The time of its frame: a value of the record, by node.
    pub at: Option<u32>,
    /// The session to which it belongs.
    pub session: Option<Arc<str>>,
    /// The number of the first line of the item, from 1.
    pub line: u64,
    /// On calls and results: the tool, as the stream names it.
    pub tool: Option<Arc<str>>,
    /// On calls and results: what the tool does, if that is known.
    pub tool_kind: Option<ToolKind>,
    /// On a call: the source of its arguments; see [`Item::does`].
    pub does: Option<Does>,
    /// On a result: the id of its call.
    pub call: Option<Id>,
    /// Whether it reports a failure.
    pub error: bool,
    /// On a call: its input, by node of the record.
    pub input: Option<u32>,
    /// The part of a message that it was made from, by node of the record.
    pub block: Option<u32>,
    /// Its text.
    pub text: Content,
    /// Removes from the cleaned text whatever the agent's program put around it; see [`Item::words`].
    pub words: Option<fn(&Item, Text) -> Text>,
    /// Its typed facts; names as in `docs/facts.md`.
    pub data: FactList,
    /// The record that it came with.
    pub record: Option<Record>,
    /// On a call whose input is being written: the state of the input. `None` once the input is complete, even if the call isn't.
    pub growing: Option<Box<GrowingInput>>,
}

/// The state of a call's input that is being written. The item's record contains the part that can be parsed.
#[derive(Clone, Debug, Default)]
pub struct GrowingInput {
    /// The string that is being written, by node of the record.
    pub open: Option<u32>,
    /// Strings whose beginning is left out, by node, each with the size of that beginning. Such a string begins with a line that
    /// says so.
    pub cuts: Vec<(u32, Cut)>,
}

impl GrowingInput {
    /// The size of the part that is left out at the start of a string.
    pub fn cut(&self, node: u32) -> Option<Cut> {
        self.cuts.iter().find(|(cut, _)| *cut == node).map(|(_, cut)| *cut)
    }
}

impl Item {
    /// An empty item with the status `done`.
    pub fn new(id: impl Into<Id>, kind: Kind, line: u64) -> Self {
        Self {
            id: id.into(),
            parent: None,
            place: 0,
            kind,
            status: Status::Done,
            at: None,
            session: None,
            line,
            tool: None,
            tool_kind: None,
            does: None,
            call: None,
            error: false,
            input: None,
            block: None,
            text: Content::None,
            words: None,
            data: FactList::default(),
            record: None,
            growing: None,
        }
    }

    /// A warning of this program itself, as a notice.
    pub(crate) fn warning(id: impl Into<Id>, event: &str, line: u64) -> Self {
        let mut notice = Self::new(id, Kind::Notice, line);
        let fact = |text: &str| Fact::Text(text.to_owned());
        notice.data.extend([("event", fact(event)), ("level", fact("warning"))]);
        notice
    }

    /// A copy without the text, which may be long. Unlike `clone`, it doesn't copy the text first.
    pub(crate) fn copy_without_text(&self) -> Self {
        Self {
            id: self.id.clone(),
            parent: self.parent.clone(),
            place: self.place,
            kind: self.kind,
            status: self.status,
            at: self.at,
            session: self.session.clone(),
            line: self.line,
            tool: self.tool.clone(),
            tool_kind: self.tool_kind,
            does: self.does.clone(),
            call: self.call.clone(),
            error: self.error,
            input: self.input,
            block: self.block,
            text: Content::None,
            words: self.words,
            data: self.data.clone(),
            record: self.record.clone(),
            growing: self.growing.clone(),
        }
    }

    /// Makes a record the input of a call. It is appended to the item's record, whose nodes stay valid. Returns the offset that must be
    /// added to the nodes of `input`.
    pub(crate) fn take_input(&mut self, input: Record) -> u32 {
        let root = self.append(input);
        self.input = Some(root);
        root
    }

    /// Makes a string the time of the item. It is appended to the item's record.
    pub(crate) fn take_time(&mut self, time: Record) {
        self.at = Some(self.append(time));
    }

    /// Appends a record to that of the item, and returns the node of its value.
    fn append(&mut self, record: Record) -> u32 {
        let (record, root) = match self.record.take() {
            Some(before) => before.followed_by(&record),
            None => (record, 0),
        };
        self.record = Some(record);
        root
    }

    fn value(&self, node: u32) -> Option<Value<'_>> {
        self.record.as_ref().map(|record| record.value(node))
    }

    fn string(&self, node: u32) -> Option<Str<'_>> {
        self.value(node)?.str()
    }

    /// A call's input.
    pub fn input(&self) -> Option<Value<'_>> {
        self.value(self.input?)
    }

    /// The part of a message that it was made from.
    pub fn block(&self) -> Option<Value<'_>> {
        self.value(self.block?)
    }

    /// The arguments of a call, such as its command or path, under the names that all dialects share.
    pub fn does(&self) -> DoesRef<'_> {
        DoesRef::new(self)
    }

    /// The action of a call, or of the call of a result; `None` if it isn't known.
    pub fn action(&self) -> Option<Action> {
        self.tool_kind.map(ToolKind::action)
    }

    /// The text, unchanged and not cleaned.
    pub fn text(&self) -> Cow<'_, str> {
        match &self.text {
            Content::None => Cow::Borrowed(""),
            Content::Own(text) => Cow::Borrowed(text),
            Content::Node(node) => self.string(*node).map(Str::decode).unwrap_or_default(),
            Content::Parts(nodes) => {
                let parts: Vec<_> =
                    nodes.iter().filter_map(|&node| self.string(node)).map(Str::decode).collect();
                Cow::Owned(parts.join("\n"))
            }
        }
    }

    /// Writes the text, unchanged, without decoding all of it at once.
    pub fn write_text(&self, out: &mut impl fmt::Write) -> fmt::Result {
        match &self.text {
            Content::None => Ok(()),
            Content::Own(text) => out.write_str(text),
            Content::Node(node) => self.string(*node).map_or(Ok(()), |text| text.write_to(out)),
            Content::Parts(nodes) => {
                let mut between = "";
                for text in nodes.iter().filter_map(|&node| self.string(node)) {
                    out.write_str(std::mem::replace(&mut between, "\n"))?;
                    text.write_to(out)?;
                }
                Ok(())
            }
        }
    }

    /// Whether the text contains `ch`.
    pub fn text_holds(&self, ch: char) -> bool {
        match &self.text {
            Content::Node(node) if self.string(*node).is_some_and(|text| !text.may_hold(ch)) => false,
            _ => self.write_text(&mut AllBut(ch)).is_err(),
        }
    }

    /// The text, cleaned for an entry.
    pub fn clean_text(&self) -> Text {
        match &self.text {
            Content::Node(node) => self.string(*node).map(Text::from_json).unwrap_or_default(),
            _ => match self.text() {
                Cow::Borrowed(text) => Text::clean(text),
                Cow::Owned(text) => Text::clean_owned(text),
            },
        }
    }

    /// Whether it is a prompt, reply, thought, result or raw line, and its text is blank.
    pub fn is_blank(&self) -> bool {
        let is_text = matches!(self.kind, Kind::Prompt | Kind::Reply | Kind::Thinking | Kind::Result)
            || self.fact("raw").is_some();
        is_text && self.write_text(&mut Blanks).is_ok()
    }

    /// The text for readers, cleaned: without whatever the agent's program put around it.
    pub fn words(&self) -> Text {
        let text = self.clean_text();
        match self.words {
            Some(words) => words(self, text),
            None => text,
        }
    }

    /// The fact called `name`, unless it is `null`.
    #[inline]
    pub fn fact(&self, name: &str) -> Option<FactRef<'_>> {
        if self.data.lacks(name) { None } else { self.find(name) }
    }

    fn find(&self, name: &str) -> Option<FactRef<'_>> {
        for (known, fact) in &*self.data {
            if known.is_empty() {
                let part = match fact {
                    Fact::Parts(parts) => parts.get(self.record.as_ref()?, name),
                    parts => FactRef::new(self, parts).and_then(|parts| parts.get(name)),
                };
                if part.is_some() {
                    return part;
                }
            } else if is_same(known.as_bytes(), name.as_bytes()) {
                return FactRef::new(self, fact);
            }
        }
        None
    }

    /// The facts in their order, `None` for `null`. Of several with the same name, the first counts.
    pub fn facts(&self) -> Vec<(&'static str, Option<FactRef<'_>>)> {
        let mut facts = Vec::with_capacity(self.data.len());
        for (name, fact) in &*self.data {
            let parts = match fact {
                Fact::Parts(parts) => self.record.as_ref().map(|record| parts.all(record)),
                parts if name.is_empty() => FactRef::new(self, parts).map(FactRef::named),
                fact => {
                    facts.push((*name, FactRef::new(self, fact)));
                    continue;
                }
            };
            facts.extend(parts.into_iter().flatten().map(|(name, part)| (name, Some(part))));
        }
        facts
    }

    /// Whether its fact `event` has this name.
    pub fn is_event(&self, name: &str) -> bool {
        self.fact("event").and_then(FactRef::str).as_deref() == Some(name)
    }

    /// Whether it belongs to another session, which this one only repeats.
    pub fn is_repeated(&self) -> bool {
        self.fact("repeats").is_some()
    }

    /// When it happened, if the stream contains that in a form that can be parsed.
    pub fn at(&self) -> Option<Timestamp> {
        time_of(self.value(self.at?)?)
    }

    /// How long a result took to come, in milliseconds. `at`: its time, which the caller has parsed already.
    pub(crate) fn took_ms(&self, at: Option<Timestamp>) -> Option<u64> {
        let passed = match self.fact("took_ms")? {
            FactRef::Made(_, Fact::Since(record, node)) => fact::passed(record.value(*node), at?)?,
            other => other.int()?,
        };
        u64::try_from(passed).ok()
    }
}

/// Parses the time in a value: a text, or a number since 1970 in seconds, or in milli-, micro- or nanoseconds if it is that large.
pub fn time_of(value: Value<'_>) -> Option<Timestamp> {
    if let Some(text) = value.str() {
        return text.decode().parse().ok();
    }
    if let Some(number) = value.int() {
        // A smaller number is no time of a session: it counts something else.
        return match number.unsigned_abs() {
            0..1_000_000_000 => return None,
            1_000_000_000..100_000_000_000 => Timestamp::from_second(number),
            100_000_000_000..100_000_000_000_000 => Timestamp::from_millisecond(number),
            100_000_000_000_000..100_000_000_000_000_000 => Timestamp::from_microsecond(number),
            _ => Timestamp::from_nanosecond(number.into()),
        }
        .ok();
    }
    Timestamp::from_millisecond((value.float()? * 1e3).round() as i64).ok()
}

/// A sink that fails at the first text that isn't blank.
struct Blanks;

impl fmt::Write for Blanks {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if text.trim_start().is_empty() { Ok(()) } else { Err(fmt::Error) }
    }
}

/// A sink that fails at text that contains a character.
struct AllBut(char);

impl fmt::Write for AllBut {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if text.contains(self.0) { Err(fmt::Error) } else { Ok(()) }
    }
}
