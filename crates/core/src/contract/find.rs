//! The lines of the list of finds: `share --json`.

use serde::Serialize;

use super::VERSION;
use crate::item::Id;
use crate::redact::{FindList, FindSort, ListedFind};

/// A line of `share --json`: a find, or, last, the sum.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum FindLine<'a> {
    /// What was found at a place.
    Find(FindAtPlace<'a>),
    /// The sum of all finds, listed or not, and the page.
    Total(FindTotal),
}

/// What was found at a place.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FindAtPlace<'a> {
    /// Version of the format.
    #[cfg_attr(feature = "schema", schemars(extend("const" = 1)))]
    v: u32,
    /// What became of it: `masked`; `left`, though it looks like a secret; `picture`, whose pixels weren't looked at; `file`, of
    /// which only the name is shown.
    find: &'static str,
    /// The name of the mask, why it looks like a secret, or the media type of a file.
    kind: &'a str,
    /// A number that equal finds share.
    value: usize,
    /// How often it is at this place.
    count: u64,
    /// The anchor of the place in the page, without `#`; absent for the head of the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    anchor: Option<String>,
    /// The item's id, masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    /// In a sub-agent: the id of the call that started it, masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<&'a str>,
    /// The item's kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<&'static str>,
    /// The tool of a call or a result, masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    /// The number of the item's first line, in the file that it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    /// A few words around it, in which everything found is hidden; the name of a file.
    #[serde(skip_serializing_if = "str::is_empty")]
    text: &'a str,
    /// Its first characters, if it was left.
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<&'a str>,
    /// The number of its characters, if it was left.
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<usize>,
}

/// The sum of all finds, listed or not, and the page.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FindTotal {
    /// Version of the format.
    #[cfg_attr(feature = "schema", schemars(extend("const" = 1)))]
    v: u32,
    #[cfg_attr(feature = "schema", schemars(extend("const" = true)))]
    total: bool,
    masked: u64,
    left: u64,
    pictures: u64,
    files: u64,
    /// How many of them have no line.
    unlisted: u64,
    /// The path of the page.
    page: String,
    /// The size of the page.
    bytes: u64,
}

impl<'a> FindLine<'a> {
    /// The line of a find. `anchor`: that of its place.
    pub fn of(find: &'a ListedFind, anchor: Option<String>) -> Self {
        let place = find.place.as_deref();
        Self::Find(FindAtPlace {
            v: VERSION,
            find: find.sort.name(),
            kind: &find.kind,
            value: find.value,
            count: find.count,
            anchor,
            id: place.map(|place| place.id.as_str()),
            parent: place.and_then(|place| place.parent.as_ref()).map(Id::as_str),
            item: place.map(|place| place.kind.name()),
            tool: place.and_then(|place| place.tool.as_deref()),
            line: place.map(|place| place.line),
            text: &find.text,
            start: find.start.as_ref().map(|(start, _)| start.as_str()),
            length: find.start.as_ref().map(|(_, length)| *length),
        })
    }

    /// The last line.
    pub fn total(list: &FindList, page: String, bytes: u64) -> Self {
        Self::Total(FindTotal {
            v: VERSION,
            total: true,
            masked: list.count(FindSort::Masked),
            left: list.count(FindSort::Left),
            pictures: list.count(FindSort::Picture),
            files: list.count(FindSort::File),
            unlisted: list.unlisted.values().sum(),
            page,
            bytes,
        })
    }
}
