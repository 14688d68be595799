//! Pictures: their bytes stay in the record.

use std::borrow::Cow;
use std::fmt;

use crate::json::Record;

use super::metadata::without_metadata;

/// The bytes of a picture: a string in its record, decoded on request.
#[derive(Clone)]
pub struct Picture {
    record: Record,
    node: u32,
    /// Whether only its pixels are shown.
    is_bare: bool,
}

impl Picture {
    /// The picture whose bytes are the string `node` of `record`: Base64, or a data URL such as `data:image/png;base64,…`.
    pub fn new(record: &Record, node: u32) -> Self {
        Self { record: record.detached(), node, is_bare: false }
    }

    /// Leaves out its metadata from now on: texts, comments, and where and with what it was taken.
    pub(crate) fn strip(&mut self) {
        self.is_bare = true;
    }

    /// Its bytes in Base64; `None` if the string isn't valid Base64.
    pub fn base64(&self) -> Option<Cow<'_, str>> {
        let text = without_head(self.record.value(self.node).decode()?);
        let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
        let digits = text.trim_end_matches('=');
        let is_whole = text.len().is_multiple_of(4) && text.len() - digits.len() <= 2;
        let is_valid = !digits.is_empty() && is_whole && digits.bytes().all(is_digit);
        is_valid.then(|| if self.is_bare { without_metadata(text) } else { text })
    }

    /// The size of its string in the record, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.record.value(self.node).raw().len()
    }
}

/// The text without the head of a data URL, if it has one.
fn without_head(text: Cow<'_, str>) -> Cow<'_, str> {
    let head = text.strip_prefix("data:").and_then(|rest| rest.find(";base64,"));
    let start = head.map(|at| at + "data:;base64,".len());
    match (start, text) {
        (None, text) => text,
        (Some(start), Cow::Borrowed(text)) => Cow::Borrowed(&text[start..]),
        (Some(start), Cow::Owned(text)) => Cow::Owned(text[start..].to_owned()),
    }
}

impl PartialEq for Picture {
    fn eq(&self, other: &Self) -> bool {
        self.is_bare == other.is_bare
            && self.record.value(self.node).raw() == other.record.value(other.node).raw()
    }
}

impl Eq for Picture {}

impl fmt::Debug for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Picture({} bytes of Base64)", self.size())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_may_be_a_data_url() {
        for (written, expected) in [
            ("aGk=", Some("aGk=")),
            ("data:image/png;base64,aGk=", Some("aGk=")),
            ("data:;base64,aGk=", Some("aGk=")),
            ("data:image/png;base64,", None),
            ("data:image/png,aGk=", None),
            ("https://example.org/a.png", None),
        ] {
            let record = Record::from_line(format!("{written:?}")).expect("a string");
            assert_eq!(Picture::new(&record, 0).base64().as_deref(), expected, "{written}");
        }
    }
}
