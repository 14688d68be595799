//! What a dialect is: one product's way of speaking, whose events are made into ours.
//!
//! The dialects are in a crate of their own, a row for each. What comes before them ([`crate::reading`]) is the same for all; what
//! comes after them knows none.

pub mod launch;

use std::sync::Arc;

use crate::budget::Budget;
use crate::event::Event;
use crate::item::{Deed, Does, Id, InputPart, Item};
use crate::json::{Record, Value};

use launch::Launch;

/// One product's way of speaking.
pub struct Dialect {
    /// Its name on the command line.
    pub name: &'static str,
    /// Whether a value is one of its events.
    pub claim: fn(Value<'_>) -> bool,
    /// Whether a claimed value is of a form that ends with an outcome, as a stream is and a history isn't: if none came, something
    /// is missing.
    pub ends_with_outcome: fn(Value<'_>) -> bool,
    /// A decoder at the start of an input, which remembers as much as the budget says.
    pub decoder: fn(Budget) -> Box<dyn Decoder>,
    /// The product's own tools, as far as they are known. A stream may have others.
    pub tools: &'static [(&'static str, Tool)],
    /// The one of them that has this name.
    pub tool: fn(&str) -> Option<Tool>,
    /// What its program writes around texts: nothing but the dialect may look for that.
    pub sentences: fn() -> Vec<&'static str>,
    /// The files that its sub-agents write, if they write any.
    pub side_files: Option<SideFiles>,
    /// Where its program keeps the histories of its sessions, if that is known.
    pub histories: Option<Histories>,
    /// How its program is started so that it writes a stream, if that is known.
    pub launch: Option<Launch>,
    /// Figures of outcomes, by the names of their facts, that go on from those of the run which was resumed.
    pub cumulative: &'static [&'static str],
}

/// Where a product keeps the histories of its sessions: files whose names end in `.jsonl`.
pub struct Histories {
    /// The variable of the environment that names the product's folder.
    pub variable: &'static str,
    /// The product's folder in the user's home directory, where the variable isn't set.
    pub home: &'static str,
    /// The folder in it that has those of a working directory; where `work` is there, also those of others.
    pub folder: fn(&str) -> String,
    /// How many folders inside one another they lie in below that.
    pub depth: usize,
    /// The working directory that the first record of a history names; `None`: they lie in a folder for each.
    pub work: Option<fn(Value<'_>) -> Option<String>>,
}

/// The files that a product's sub-agents write beside the history which they belong to. The host finds and reads them.
pub struct SideFiles {
    /// Folders that they lie in, below that of the history; `*` is the history's name without its extension.
    pub folders: &'static [&'static str],
    /// The sub-agent's id in a file's name; `None`: no sub-agent wrote it.
    pub agent: fn(&str) -> Option<&str>,
    /// Whether histories have such names as well. Otherwise a file with such a name has none beside it.
    pub is_named_alike: bool,
    /// Extension of the meta file that may stand beside such a file.
    pub meta: &'static str,
    /// The call that a meta file names.
    pub call: fn(Value<'_>) -> Option<String>,
    /// How such a file begins; `None`: a later record tells it.
    pub beginning: fn(Value<'_>) -> Option<Beginning>,
    /// The session that a call of a history belongs to, or its result.
    pub session: fn(&Item) -> Option<String>,
}

/// How a sub-agent's file begins. One that doesn't tell both has nothing to show.
pub struct Beginning {
    /// The session that it belongs to.
    pub session: Option<String>,
    /// The sub-agent's task.
    pub prompt: Option<String>,
}

/// The known dialects: what a pipeline asks whose stream it reads.
#[derive(Clone, Copy)]
pub struct Dialects {
    /// In the order in which they are asked for a claim.
    pub rows: &'static [Dialect],
    /// The program that a value comes from, if its form gives it away and its dialect isn't among these.
    pub recognise: fn(Value<'_>) -> Option<ForeignProgram>,
}

impl Dialects {
    /// The dialect called `name`.
    pub fn find(&self, name: &str) -> Option<&'static Dialect> {
        self.rows.iter().find(|dialect| dialect.name == name)
    }

    /// The dialect that a value is an event of.
    pub fn claiming(&self, value: Value<'_>) -> Option<&'static Dialect> {
        self.rows.iter().find(|dialect| (dialect.claim)(value))
    }

    /// Whether a value is an event of any dialect.
    pub fn is_event(&self, value: Value<'_>) -> bool {
        self.claiming(value).is_some()
    }
}

/// A program whose dialect isn't known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignProgram {
    /// Its name.
    pub name: &'static str,
    /// The dialect whose events its own resemble so closely that that dialect would claim them. It may be chosen by name.
    pub resembles: Option<&'static str>,
}

/// A tool of a product.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    /// Its name. Empty: any name that isn't one of a known tool.
    pub name: &'static str,
    /// What it does.
    pub deed: Deed,
    /// What its input is made of.
    pub parts: &'static [InputPart],
}

impl Tool {
    /// Sets on a call what it does.
    pub fn apply_to(self, call: &mut Item) {
        call.deed = Some(self.deed);
        call.does = Some(Does::Input(self.parts));
    }
}

/// A record and where it stands.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// The record, for items to share.
    pub record: &'a Arc<Record>,
    /// The event in it: its root, or an element of it.
    pub value: Value<'a>,
    /// Number of its line.
    pub line: u64,
    /// The call that all of this input is inside of, if it is a sub-agent's own file.
    pub parent: Option<&'a Id>,
}

/// A dialect beside the known ones: one that the host brings along, for one input.
pub struct DialectPlugin {
    /// Its name.
    pub name: Arc<str>,
    /// Makes events of its records.
    pub decoder: Box<dyn Decoder>,
}

/// How sure a known dialect is of a record that it claims, beside what dialect plugins say.
pub const CLAIM: f64 = 0.5;

/// Makes events of the records of one dialect, and holds that dialect's state. What was said of earlier events it
/// doesn't know. For threads see [`crate::formatter::Formatter`].
pub trait Decoder: Send {
    /// How sure it is that the first records of an input are of its dialect: from 0, not at all, to 1. Dialect plugins
    /// are asked with each further record until one of them or a known dialect is sure of something;
    /// over [`CLAIM`] a dialect plugin goes first.
    fn weigh(&mut self, first: &[Arc<Record>]) -> f64 {
        let _ = first;
        0.0
    }

    /// Says what `input` tells. Any value is fine: what isn't understood becomes an unknown item.
    fn decode(&mut self, input: Input<'_>, out: &mut Vec<Event>);

    /// Ends the input.
    fn end(&mut self, out: &mut Vec<Event>);
}
