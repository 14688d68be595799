//! The prose of a reply between its records.

use std::ops::Range;
use std::sync::Arc;

use crate::fence::Fence;
use crate::item::{Content, Id, Item};
use crate::json::Record;
use crate::records::{PlacedRecord, RecordMisfit};
use crate::session::Map;

/// The prose of a reply between its records.
#[derive(Default)]
pub(super) struct ReplyPassages {
    /// Up to where its text is said.
    at: usize,
    /// The block of code that is open there.
    fence: Fence,
    /// How many of its records are in trees, and where the last of them is.
    records: u32,
    place: u32,
    /// What was said of it while it grew.
    pub(super) shown: Vec<Item>,
    /// What was found out of its records while it grew.
    pub(super) known: Map<Id, (Arc<Record>, Result<PlacedRecord, RecordMisfit>)>,
}

impl ReplyPassages {
    /// The part of the text in front of a record, as far as something is said there; goes on behind the record. `record`: where its
    /// line is.
    pub(super) fn passage(&mut self, text: &str, record: Range<usize>) -> Option<String> {
        let prose = text.get(self.at..record.start).unwrap_or_default();
        self.at = record.end;
        between_records(prose, &mut self.fence, true)
    }

    /// The rest of the text. Of one that grows, the last line is left out while it may become a record.
    pub(super) fn rest(&self, text: &str, is_growing: bool) -> Option<String> {
        let mut prose = text.get(self.at..).unwrap_or_default();
        if !is_growing && self.at == 0 {
            // There was no record.
            return Some(text.to_owned());
        }
        if is_growing {
            let last = prose.rfind('\n').map_or(0, |feed| feed + 1);
            if prose[last..].trim_start().starts_with('{') {
                prose = &prose[..last];
            }
        }
        between_records(prose, &mut self.fence.clone(), is_growing)
    }

    /// The item that a passage is shown as.
    pub(super) fn item(&self, reply: &Item, text: String) -> Item {
        let mut item = reply.copy_without_text();
        item.text = Content::Own(text);
        if self.records > 0 {
            item.id = Id::below(reply.id.as_str(), &format!("prose-{}", self.records));
            item.place = self.place;
        }
        item
    }

    /// Goes on behind a record that is in a tree.
    pub(super) fn pass(&mut self, record: &Item) {
        self.records = self.records.saturating_add(1);
        self.place = record.place;
    }
}

/// A passage of Markdown by itself: a block of code that goes on in it begins again, and one that doesn't end in it ends. A block in
/// which there were records alone is left out. `is_followed`: whether a record comes behind it. `None`: it says nothing.
fn between_records(prose: &str, fence: &mut Fence, is_followed: bool) -> Option<String> {
    let mut out = String::with_capacity(prose.len());
    // The line that began the block which is open, if nothing of the block was said yet.
    let mut begun = fence.open().map(str::to_owned);
    for line in prose.split_inclusive('\n') {
        let written = line.trim_end();
        let was_open = fence.open().is_some();
        if fence.pass(written) {
            if !was_open {
                begun = Some(written.to_owned());
            } else if begun.take().is_none() {
                out.push_str(line);
            }
            continue;
        }
        if written.is_empty() && begun.is_some() {
            continue;
        }
        if let Some(begun) = begun.take() {
            out.push_str(&begun);
            out.push('\n');
        }
        out.push_str(line);
    }
    if let (Some(open), None, true) = (fence.open(), &begun, is_followed) {
        let marks = open.trim_start().trim_end_matches(|ch| !matches!(ch, '`' | '~'));
        let marks = &marks[..marks.len() - marks.trim_start_matches(['`', '~']).len()];
        if !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(marks);
    }
    let said = out.trim_matches('\n');
    (!said.trim().is_empty()).then(|| said.to_owned())
}
