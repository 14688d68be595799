//! Formatters decide how an item is presented.
//!
//! A chain calls its formatters in turn until one decides. The last is the built-in one ([`Presentation`]), which always decides, so no
//! item is lost.

use std::any::Any;
use std::fmt;

use crate::entry::{Block, View};
use crate::item::Item;
use crate::profile::Profile;
use crate::records::{RecordTree, TreeNode};
use crate::session::Session;

/// The decision of a formatter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Show this view.
    Show(View),
    /// Show nothing; the item is counted as hidden.
    Hide,
    /// Leave the decision to the next formatter.
    Pass,
}

/// A failure of a formatter. The next formatter decides, and the failure is reported once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatError {
    /// What went wrong, in one line.
    pub message: String,
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for FormatError {}

/// An event that a [`StreamFormatter`] sees, besides the items that it formats. Each comes once, in the order of the stream.
#[derive(Clone, Copy, Debug)]
pub enum Observation<'a> {
    /// The first item is about to come.
    Begin,
    /// An item is complete. It may be hidden.
    Complete(&'a Item),
    /// The input has ended.
    End,
}

/// Decides how an item is presented. It sees neither bytes nor colours nor width. A formatter that works only on the thread that
/// created it must check this itself, and panics on other threads.
pub trait Formatter: Send {
    /// Its name, for `explain` and for messages.
    fn name(&self) -> &str;

    /// Decides about `item`. The result must depend only on the arguments, so that it is the same in a replay.
    fn format(&self, item: &Item, session: &Session) -> Result<Verdict, FormatError>;

    /// The part that formats whole records, if it has one.
    fn frames(&self) -> Option<&dyn FrameFormatter> {
        None
    }

    /// The part that shows blocks of its own in the stream, if it has one.
    fn stream(&self) -> Option<&dyn StreamFormatter> {
        None
    }

    /// The part that runs plugins, if it has one.
    fn plugins(&self) -> Option<&dyn PluginFormatter> {
        None
    }
}

/// A formatter that may show a whole record of the stream in place of all items that are made of it.
pub trait FrameFormatter {
    /// Decides about a record; `frame` is an item that has nothing but the record. If all formatters pass, its items are formatted.
    fn frame(&self, frame: &Item, session: &Session) -> Result<Verdict, FormatError>;
}

/// A formatter that sees all items, those that are hidden as well, and may show blocks behind each. To watch items without showing any, see
/// [`Observer`](crate::observer::Observer).
pub trait StreamFormatter {
    /// Called once for each observation, before its item is formatted. Returns blocks to show after that item.
    fn observe(&self, observation: Observation<'_>, session: &Session) -> Vec<Block>;
}

/// A formatter that runs plugins, which may have state, fail, and be replaced in the middle of a run.
pub trait PluginFormatter {
    /// Returns the failures since the last call that didn't prevent a verdict. They are counted.
    fn take_failures(&self) -> Vec<FormatError>;

    /// Its state, for the version that replaces it in the middle of the run.
    fn memory(&self) -> Option<Box<dyn Any>> {
        None
    }

    /// Replaces an earlier version in the middle of a run; `memory` is the state of that version.
    fn resume(&self, memory: Option<Box<dyn Any>>, session: &Session);

    /// A new accumulator of this name, if it has one.
    fn accumulator(&self, name: &str) -> Option<Box<dyn Accumulator>> {
        let _ = name;
        None
    }
}

/// Folds the records of one thread into a single growing view, if a [`RecordSchema`](crate::records::RecordSchema) isn't expressive enough.
pub trait Accumulator: Send {
    /// Adds the next record. Returns whether it accepts the record; any other stays prose.
    fn add(&mut self, record: &Item, session: &Session) -> Result<bool, FormatError>;

    /// Presents all records so far. If it passes or fails, they are shown as JSON.
    fn view(&mut self, session: &Session) -> Result<Verdict, FormatError>;

    /// All records so far as a JSON value, for machine output; `None` if it has none.
    fn json(&mut self) -> Result<Option<String>, FormatError>;
}

/// The built-in presentation, which is used if no other formatter decides.
#[derive(Clone, Copy)]
pub struct Presentation {
    /// Creates the formatter for a profile. It always decides and never fails.
    pub formatter: fn(&Profile) -> Box<dyn Formatter>,
    /// Whether the formatter of a profile may show items of minor importance: thoughts, and minor notices.
    pub shows_minor: fn(&Profile) -> bool,
    /// Formats a node of a tree of records; `None` hides it.
    pub node: fn(&RecordTree, &TreeNode) -> Option<View>,
}
