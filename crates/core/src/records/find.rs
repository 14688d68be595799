//! Finds records in the text of a reply, which may grow. Each line is examined once, when it is complete.

use std::ops::Range;

use crate::fence::Fence;
use crate::item::{Fact, Id, Item, Kind};
use crate::json::Record;

/// A record in a text.
#[derive(Clone, Debug)]
pub struct FoundRecord {
    /// The object.
    pub record: Record,
    /// Its number in the text, from 1.
    pub number: usize,
    /// The range of its line, including the line feed.
    pub line: Range<usize>,
    /// Whether the line is in a fenced code block.
    pub is_fenced: bool,
}

/// Finds the records in a text, which may grow, and remembers how much was searched: each line is examined once, when it is complete.
///
/// A record is a line with one JSON object that has a string as its `type`; white space around it is ignored.
#[derive(Clone, Debug, Default)]
pub struct RecordFinder {
    /// The start of the first line that wasn't examined.
    at: usize,
    fence: Fence,
    /// How many records were found.
    found: usize,
}

impl RecordFinder {
    /// The next record in the text, which must be the same as in the last call, or have grown. `is_whole`: whether it is complete, so
    /// that its last line needs no line feed.
    pub fn next(&mut self, text: &str, is_whole: bool) -> Option<FoundRecord> {
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
                Some(record) => {
                    self.found += 1;
                    let is_fenced = self.fence.open().is_some();
                    return Some(FoundRecord { record, number: self.found, line, is_fenced });
                }
                None => drop(self.fence.pass(written)),
            }
        }
    }
}

impl FoundRecord {
    /// Its item, if it was found in the text of a reply, and the range of its line.
    pub(crate) fn item(self, reply: &Item) -> (Item, Range<usize>) {
        let Self { record, number, line, is_fenced } = self;
        let id = Id::below(reply.id.as_str(), &format!("record-{number}"));
        let mut item = Item::new(id, Kind::Record, reply.line);
        item.parent.clone_from(&reply.parent);
        item.session.clone_from(&reply.session);
        item.data.push(("value", Fact::Node(record.root().node())));
        if is_fenced {
            item.data.push(("fenced", Fact::Bool(true)));
        }
        item.record = Some(record);
        (item, line)
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
        std::iter::from_fn(|| finder.next(text, is_whole))
            .map(|found| {
                let (item, line) = found.item(&reply);
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
