//! Finds records in the text of a reply, which may grow. Each line is examined once, when it is complete.

use std::ops::Range;

use crate::fence::Fence;
use crate::item::{Fact, Id, Item, Kind};
use crate::json::Record;

/// Finds the records in the text of a reply, and remembers how much was searched.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordFinder {
    /// The start of the first line that wasn't examined.
    at: usize,
    fence: Fence,
    /// How many records were found.
    found: usize,
}

impl RecordFinder {
    /// The item of the next record in the text of a reply, and the range of its line, including its line feed. The text must be the same
    /// as in the last call, or have grown. `is_whole`: whether it is complete, so that its last line needs no line feed.
    pub(crate) fn next(&mut self, reply: &Item, text: &str, is_whole: bool) -> Option<(Item, Range<usize>)> {
        loop {
            let rest = text.get(self.at..).filter(|rest| !rest.is_empty())?;
            let length = match memchr::memchr(b'\n', rest.as_bytes()) {
                Some(feed) => feed + 1,
                None if is_whole => rest.len(),
                None => return None,
            };
            let line = self.at..self.at + length;
            self.at = line.end;
            let written = rest[..length].trim_end();
            match record_of(written) {
                Some(record) => return Some((self.item(reply, record), line)),
                None => drop(self.fence.pass(written)),
            }
        }
    }

    /// Makes the item of the next record of a reply.
    fn item(&mut self, reply: &Item, record: Record) -> Item {
        self.found += 1;
        let id = Id::below(reply.id.as_str(), &format!("record-{}", self.found));
        let mut item = Item::new(id, Kind::Record, reply.line);
        item.parent.clone_from(&reply.parent);
        item.session.clone_from(&reply.session);
        item.data.push(("value", Fact::Node(record.root().node())));
        if self.fence.open().is_some() {
            item.data.push(("fenced", Fact::Bool(true)));
        }
        item.record = Some(record);
        item
    }
}

/// Parses a record: an object with a string as its `type`.
fn record_of(line: &str) -> Option<Record> {
    let line = line.trim_start();
    if !(line.starts_with('{') && line.ends_with('}')) {
        return None;
    }
    let record = Record::from_line(line.to_owned()).ok()?;
    let is_typed = record.root().get("type").is_some_and(|name| name.str().is_some());
    is_typed.then_some(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "First.\n{\"type\":\"a\"}\n```json\n  {\"type\":\"b\"}\r\n{\"type\":1}\n{\n```\n{\"type\":\"c\"}";

    fn found(finder: &mut RecordFinder, text: &str, is_whole: bool) -> Vec<(String, Range<usize>, bool)> {
        let reply = Item::new("m", Kind::Reply, 1);
        std::iter::from_fn(|| finder.next(&reply, text, is_whole))
            .map(|(item, line)| {
                let record = item.record.as_ref().map(Record::text).unwrap_or_default();
                (format!("{} {record}", item.id), line, item.fact("fenced").is_some())
            })
            .collect()
    }

    #[test]
    fn the_same_is_found_however_the_text_grows() {
        let whole = found(&mut RecordFinder::default(), TEXT, true);
        let texts: Vec<&str> = whole.iter().map(|(text, ..)| text.as_str()).collect();
        let expected =
            ["m/record-1 {\"type\":\"a\"}", "m/record-2 {\"type\":\"b\"}", "m/record-3 {\"type\":\"c\"}"];
        assert_eq!(texts, expected);
        assert_eq!(whole.iter().map(|(.., is_fenced)| *is_fenced).collect::<Vec<_>>(), [false, true, false]);
        assert_eq!(&TEXT[whole[1].1.clone()], "  {\"type\":\"b\"}\r\n");
        let mut finder = RecordFinder::default();
        let mut grown = Vec::new();
        for end in 0..=TEXT.len() {
            grown.extend(found(&mut finder, &TEXT[..end], false));
        }
        grown.extend(found(&mut finder, TEXT, true));
        assert_eq!(grown, whole);
    }
}
