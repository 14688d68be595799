//! What a formatter is: it decides how an item is presented.
//!
//! A chain asks its formatters in turn until one decides. The last is the built-in one ([`Presentation`]), which decides everything, so no
//! item is ever lost between them.

use std::any::Any;
use std::fmt;

use crate::entry::{Block, View};
use crate::item::Item;
use crate::profile::Profile;
use crate::records::{RecordTree, TreeNode};
use crate::session::Session;

/// What a formatter decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Say this.
    Show(View),
    /// Say nothing; counted as hidden.
    Hide,
    /// Ask the next formatter.
    Pass,
}

/// Why a formatter could not decide. The next one is asked, and the user is told once.
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

/// What a formatter is told of besides the items that it formats. Each comes once, in the order of the stream.
#[derive(Clone, Copy, Debug)]
pub enum Observation<'a> {
    /// The first item is about to come.
    Begin,
    /// An item is whole. It may be one that nobody will show.
    Complete(&'a Item),
    /// The input has ended.
    End,
}

/// Decides what to say of an item. Sees neither bytes nor colours nor width. One that may be used on the thread alone that
/// made it guards itself, and panics elsewhere.
pub trait Formatter: Send {
    /// Its name, for `explain` and for messages.
    fn name(&self) -> &str;

    /// Says what to show of `item`. Depends on its arguments alone, so that a replay says the same.
    fn format(&self, item: &Item, session: &Session) -> Result<Verdict, FormatError>;

    /// Its part that says something of whole records, if it does.
    fn frames(&self) -> Option<&dyn FrameFormatter> {
        None
    }

    /// Its part that is told of what happens beside the items that it formats, if it listens.
    fn observer(&self) -> Option<&dyn Observer> {
        None
    }

    /// Its part that runs plugins, if it does.
    fn plugins(&self) -> Option<&dyn PluginFormatter> {
        None
    }
}

/// A formatter that may say something of a whole record of the stream, in place of all items that are made of it.
pub trait FrameFormatter {
    /// Says what to show of the record that `frame` has, an item that has nothing else. If all formatters pass, the items are formatted.
    fn frame(&self, frame: &Item, session: &Session) -> Result<Verdict, FormatError>;
}

/// A formatter that listens.
pub trait Observer {
    /// Sees each observation once, before the item of it is formatted; gives what is to be said after that item.
    fn observe(&self, observation: Observation<'_>, session: &Session) -> Vec<Block>;
}

/// A formatter that runs plugins, which know something of the run, fail, and may be replaced in the middle of it.
pub trait PluginFormatter {
    /// What went wrong since this was last asked, though something could be said: it is counted.
    fn take_failures(&self) -> Vec<FormatError>;

    /// What it knows of the run so far, for the version of it that takes its place in the middle of the run.
    fn memory(&self) -> Option<Box<dyn Any>> {
        None
    }

    /// Takes the place of a version before it in the middle of a run. `memory` is what that one knew.
    fn resume(&self, memory: Option<Box<dyn Any>>, session: &Session);

    /// A new accumulator of this name, if it has one.
    fn accumulator(&self, name: &str) -> Option<Box<dyn Accumulator>> {
        let _ = name;
        None
    }
}

/// Folds the records of one thread into one view that grows with them: for what a [`RecordSchema`](crate::records::RecordSchema) can't say.
pub trait Accumulator: Send {
    /// Takes the next record. Returns whether it is one that it knows; any other stays prose.
    fn add(&mut self, record: &Item, session: &Session) -> Result<bool, FormatError>;

    /// Says what all records so far come to. If it passes, or fails, they are shown as they are.
    fn view(&mut self, session: &Session) -> Result<Verdict, FormatError>;

    /// The same as JSON, for machine output; `None`: there is nothing to give.
    fn json(&mut self) -> Result<Option<String>, FormatError>;
}

/// The built-in presentation, which is asked last.
#[derive(Clone, Copy)]
pub struct Presentation {
    /// The formatter that a profile wants: it decides everything, and never fails.
    pub formatter: fn(&Profile) -> Box<dyn Formatter>,
    /// Says a node of a tree of records; `None` hides it.
    pub node: fn(&RecordTree, &TreeNode) -> Option<View>,
}
