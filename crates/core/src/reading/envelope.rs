//! Records inside a string of another record, as logs of containers and of cloud services have them.

use crate::json::{Record, Value};

use super::prefix::{stamp_length, time_in};

/// How many records are looked at, if none of them is an event.
const LOOKED_AT: u8 = 64;
/// The longest time, in bytes.
const LONGEST_TIME: usize = 64;

/// Whether the records of an input are inside others.
#[derive(Debug)]
pub(super) enum RecordEnvelope {
    /// So many records were looked at.
    Unknown(u8),
    /// They aren't.
    Absent,
    /// They are in the string of this key.
    Key(String),
}

impl RecordEnvelope {
    /// Looks at a record, until it is known whether there is another inside. Returns the text inside.
    pub(super) fn open(&mut self, record: &Record, claim: &dyn Fn(Value<'_>) -> bool) -> Option<String> {
        let root = record.root();
        match self {
            Self::Absent => None,
            Self::Key(key) => Some(root.get(key)?.decode()?.into_owned()),
            Self::Unknown(LOOKED_AT) => {
                *self = Self::Absent;
                None
            }
            Self::Unknown(_) if claim(root) => {
                *self = Self::Absent;
                None
            }
            Self::Unknown(count) => {
                *count += 1;
                let (key, text) = root.entries().find_map(|(key, value)| {
                    let text = value.decode().filter(|text| text.starts_with('{'))?;
                    let inside = Record::from_line(text.clone().into_owned()).ok()?;
                    claim(inside.root()).then(|| (key.decode().into_owned(), text.into_owned()))
                })?;
                *self = Self::Key(key);
                Some(text)
            }
        }
    }
}

/// The time beside a text inside a record: a string that is a time with date and zone.
pub(super) fn time_beside(record: &Record) -> Option<String> {
    record.root().entries().find_map(|(_, value)| {
        let time = value.str()?.decode();
        let is_time = time.len() <= LONGEST_TIME && stamp_length(&time) == Some(time.len());
        is_time.then(|| time_in(&time).map(str::to_owned)).flatten()
    })
}
