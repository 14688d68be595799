//! Finds records in a growing text. Each line is examined once, when it is complete.

use std::ops::Range;

use crate::fence::Fence;
use crate::json::Record;

/// Finds the records in a text, and remembers how much was searched.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordFinder {
    /// The start of the first line that wasn't examined.
    at: usize,
    fence: Fence,
}

/// A line that is a record.
#[derive(Debug)]
pub(crate) struct FoundRecord {
    pub(crate) record: Record,
    /// The range of the line in the text, including its line feed.
    pub(crate) line: Range<usize>,
    /// Whether it is in a code block.
    pub(crate) is_fenced: bool,
}

impl RecordFinder {
    /// The next record in the text, which must be the same as in the last call, or have grown. `is_whole`: whether the text is complete,
    /// so that its last line needs no line feed.
    pub(crate) fn next(&mut self, text: &str, is_whole: bool) -> Option<FoundRecord> {
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
                    return Some(FoundRecord { record, line, is_fenced: self.fence.open().is_some() });
                }
                None => drop(self.fence.pass(written)),
            }
        }
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
        std::iter::from_fn(|| finder.next(text, is_whole))
            .map(|found| (found.record.text().to_owned(), found.line, found.is_fenced))
            .collect()
    }

    #[test]
    fn the_same_is_found_however_the_text_grows() {
        let whole = found(&mut RecordFinder::default(), TEXT, true);
        let texts: Vec<&str> = whole.iter().map(|(text, ..)| text.as_str()).collect();
        assert_eq!(texts, ["{\"type\":\"a\"}", "{\"type\":\"b\"}", "{\"type\":\"c\"}"]);
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
