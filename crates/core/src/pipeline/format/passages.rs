//! Splits the text of a reply into passages of prose around its records.

use std::ops::Range;

use crate::fence::Fence;
use crate::item::{Content, Id, Item};
use crate::json::Record;
use crate::records::Placement;
use crate::session::Map;

/// The passages of a reply: the prose before, between and after its records.
#[derive(Default)]
pub(super) struct ReplyPassages {
    /// How much of the text is done, in bytes.
    at: usize,
    /// The code block that is open there.
    fence: Fence,
    /// How many of its records are in trees.
    records: u32,
    /// The place of the last of them.
    place: u32,
    /// The passages so far that aren't final: of a growing reply those that are shown, of a complete one those that are held back.
    pub(super) pending: Vec<Item>,
    /// The records that were found while it grew, and where each was placed.
    pub(super) known: Map<Id, (Record, Placement)>,
    /// Whether those of them that aren't in the complete reply were taken back.
    pub(super) is_taken_back: bool,
}

impl ReplyPassages {
    /// Returns the passage before a record that is in a tree, unless it is blank, and continues after the record. `line`: the range of its
    /// line in the text of the reply.
    pub(super) fn before(&mut self, record: &Item, line: &Range<usize>, reply: &Item) -> Option<Item> {
        let text = reply.text();
        let prose = text.get(self.at..line.start).unwrap_or_default();
        let passage = between_records(prose, &mut self.fence, true).map(|prose| self.item(reply, prose));
        (self.at, self.place) = (line.end, record.place);
        self.records = self.records.saturating_add(1);
        passage
    }

    /// Returns the passage after the last record. In a growing text, the last line is left out while it may become a record.
    pub(super) fn rest(&self, reply: &Item, is_growing: bool) -> Option<String> {
        let text = reply.text();
        let mut prose = text.get(self.at..).unwrap_or_default();
        if is_growing {
            let last = prose.rfind('\n').map_or(0, |feed| feed + 1);
            if prose[last..].trim_start().starts_with('{') {
                prose = &prose[..last];
            }
        } else if self.at == 0 {
            // There was no record.
            return Some(text.into_owned());
        }
        between_records(prose, &mut self.fence.clone(), is_growing)
    }

    /// Makes the item that shows the passage after the last record.
    pub(super) fn item(&self, reply: &Item, text: String) -> Item {
        let mut item = Item { text: Content::Own(text), ..reply.copy_without_text() };
        if self.records > 0 {
            item.id = Id::below(reply.id.as_str(), &format!("prose-{}", self.records));
            item.place = self.place;
        }
        item
    }
}

/// Makes a passage of Markdown self-contained: a code block that began before it is reopened, and one that doesn't end in it is closed.
/// A code block that contained nothing but records is left out. `is_followed`: whether a record follows. `None` if the passage is blank.
fn between_records(prose: &str, fence: &mut Fence, is_followed: bool) -> Option<String> {
    let mut out = String::with_capacity(prose.len());
    // The first line of the open code block, until something of the block is written.
    let mut begun = fence.open().map(str::to_owned);
    for line in prose.split_inclusive('\n') {
        let written = line.trim_end();
        if fence.pass(written) {
            match fence.open() {
                Some(first) => begun = Some(first.to_owned()),
                None if begun.take().is_none() => out.push_str(line),
                None => {}
            }
            continue;
        }
        if written.is_empty() && begun.is_some() {
            continue;
        }
        if let Some(begun) = begun.take() {
            out.extend([&begun, "\n"]);
        }
        out.push_str(line);
    }
    if let (Some(open), None, true) = (fence.open(), &begun, is_followed) {
        let marks = open.trim_start();
        let marks = &marks[..marks.len() - marks.trim_start_matches(['`', '~']).len()];
        if !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(marks);
    }
    let passage = out.trim_matches('\n');
    (!passage.trim().is_empty()).then(|| passage.to_owned())
}
