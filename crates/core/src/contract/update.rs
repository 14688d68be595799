//! The lines of updates: `--to json --live always`.

use std::borrow::Cow;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::entry::Entry;
use crate::item::Id;
use crate::outline::{EntryChange, Update};

use super::{EntryLine, VERSION, version};

/// A change of the entries shown: a line of `--to json --live always`. Entries are identified by `entry.id`.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "update", rename_all = "lowercase")]
#[cfg_attr(feature = "schema", schemars(rename = "UpdateLine"))]
pub(super) enum UpdateLine {
    /// The entry is shown, in place of the one with the same id if there is one.
    Put {
        /// Version of the format.
        #[serde(rename = "v", deserialize_with = "version")]
        #[cfg_attr(feature = "schema", schemars(extend("const" = 1)))]
        _v: u32,
        /// The number of the last line read when this was taken; the end of the input counts as one more.
        revision: u64,
        /// True while the entry may still grow or change, else absent.
        #[cfg_attr(feature = "schema", schemars(extend("const" = true)))]
        partial: Option<bool>,
        /// On calls: whether the result has come, shown or hidden.
        answered: Option<bool>,
        /// The entry.
        entry: Box<EntryLine<'static>>,
    },
    /// The entry is removed, if it was shown.
    Drop {
        /// Version of the format.
        #[serde(rename = "v", deserialize_with = "version")]
        #[cfg_attr(feature = "schema", schemars(extend("const" = 1)))]
        _v: u32,
        /// The number of the last line read when this was taken; the end of the input counts as one more.
        revision: u64,
        /// The id of the entry.
        entry: EntryId<'static>,
    },
}

/// Identifies an entry.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct EntryId<'a> {
    /// The entry's id.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    id: Cow<'a, Id>,
}

impl Serialize for Update {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut line = serializer.serialize_struct("Update", 6)?;
        line.serialize_field("v", &VERSION)?;
        let name = if self.entry().is_some() { "put" } else { "drop" };
        line.serialize_field("update", name)?;
        line.serialize_field("revision", &self.revision)?;
        match &self.change {
            EntryChange::Put { entry, partial, answered } => {
                if *partial {
                    line.serialize_field("partial", partial)?;
                }
                if let Some(answered) = answered {
                    line.serialize_field("answered", answered)?;
                }
                line.serialize_field("entry", &**entry)?;
            }
            EntryChange::Drop(id) => line.serialize_field("entry", &EntryId { id: Cow::Borrowed(id) })?,
        }
        line.end()
    }
}

impl<'de> Deserialize<'de> for Update {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match UpdateLine::deserialize(deserializer)? {
            UpdateLine::Put { revision, partial, answered, entry, .. } => {
                let (entry, partial) = (Box::new(Entry::from(*entry)), partial == Some(true));
                Self { revision, change: EntryChange::Put { entry, partial, answered } }
            }
            UpdateLine::Drop { revision, entry, .. } => {
                Self { revision, change: EntryChange::Drop(entry.id.into_owned()) }
            }
        })
    }
}
