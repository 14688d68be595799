//! Prevents texts of the stream from acting as commands in the log of a CI service.
//!
//! Such services parse commands in the output: GitHub Actions `::name` at the start of a row, after any blanks, and `##[name]` anywhere;
//! Azure and `TeamCity` `##vso[` and `##teamcity[`; GitLab `section_start:1`; Travis `travis_fold:start`. So a text of the stream could
//! fold rows, mask words or fake a failed step. This module inserts a blank into the beginning of each such command.

use std::borrow::Cow;
use std::fmt::{self, Write};

use streamfmt_core::outline::{Answer, DocumentHead, Nest, Node};
use streamfmt_core::writer::{HeadWriter, Wants, Writer};

/// Writes the output of another writer without commands to a CI service.
pub struct CiSafe<W: ?Sized> {
    /// Whether the last row isn't complete.
    is_begun: bool,
    rows: Box<W>,
}

impl<W: Writer + ?Sized> CiSafe<W> {
    /// Wraps the writer `rows`.
    pub fn new(rows: Box<W>) -> Self {
        Self { rows, is_begun: false }
    }

    /// Calls `write` with an output that removes commands.
    ///
    /// `margin`: the indentation of each row.
    pub(super) fn safely(
        &mut self,
        margin: &'static str,
        out: &mut dyn Write,
        write: impl FnOnce(&mut W, &mut dyn Write) -> fmt::Result,
    ) -> fmt::Result {
        let mut rows = CommandFilter { out, row: String::new(), margin, is_begun: self.is_begun };
        write(&mut self.rows, &mut rows)?;
        self.is_begun = rows.end()?;
        Ok(())
    }
}

impl<W: Writer + ?Sized> Writer for CiSafe<W> {
    fn wants(&self) -> Wants {
        self.rows.wants()
    }

    fn begin(&mut self, out: &mut dyn Write) -> fmt::Result {
        self.safely("", out, |rows, out| rows.begin(out))
    }

    fn node(&mut self, node: &Node, out: &mut dyn Write) -> fmt::Result {
        self.safely("", out, |rows, out| rows.node(node, out))
    }

    fn enter(&mut self, nest: &Nest, out: &mut dyn Write) -> fmt::Result {
        self.safely("", out, |rows, out| rows.enter(nest, out))
    }

    fn leave(&mut self, out: &mut dyn Write) -> fmt::Result {
        self.safely("", out, |rows, out| rows.leave(out))
    }

    fn notices(&mut self, nodes: &[Node], out: &mut dyn Write) -> fmt::Result {
        self.safely("", out, |rows, out| rows.notices(nodes, out))
    }

    fn answer(&mut self, answer: &Answer, out: &mut dyn Write) -> fmt::Result {
        self.safely("", out, |rows, out| rows.answer(answer, out))
    }

    fn end(&mut self, out: &mut dyn Write) -> fmt::Result {
        self.safely("", out, |rows, out| rows.end(out))?;
        // Anything after the end goes to another place.
        self.is_begun = false;
        Ok(())
    }

    fn head(&mut self) -> Option<&mut dyn HeadWriter> {
        if self.rows.head().is_some() { Some(self) } else { None }
    }
}

impl<W: Writer + ?Sized> HeadWriter for CiSafe<W> {
    fn hold(&mut self) {
        self.rows.head().into_iter().for_each(HeadWriter::hold);
    }

    fn write_head(&mut self, head: &DocumentHead, out: &mut dyn Write) -> fmt::Result {
        self.safely("", out, |rows, out| rows.head().map_or(Ok(()), |writer| writer.write_head(head, out)))
    }
}

/// Removes commands from rows, and forwards the rows.
struct CommandFilter<'a> {
    out: &'a mut dyn Write,
    /// The row that is being written.
    row: String,
    /// The indentation of each row.
    margin: &'static str,
    /// Whether the beginning of the row was already forwarded.
    is_begun: bool,
}

impl CommandFilter<'_> {
    /// Forwards the row so far.
    fn forward(&mut self) -> fmt::Result {
        if !self.is_begun && !self.row.is_empty() {
            self.out.write_str(self.margin)?;
        }
        let row = harmless(&self.row, !self.is_begun);
        self.out.write_str(&row)?;
        self.row.clear();
        Ok(())
    }

    /// Forwards the rest. Returns whether it is an incomplete row.
    fn end(mut self) -> Result<bool, fmt::Error> {
        let is_begun = self.is_begun || !self.row.is_empty();
        self.forward()?;
        Ok(is_begun)
    }
}

impl Write for CommandFilter<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for piece in text.split_inclusive('\n') {
            let Some(end) = piece.strip_suffix('\n') else {
                self.row.push_str(piece);
                continue;
            };
            self.row.push_str(end);
            self.forward()?;
            self.out.write_char('\n')?;
            self.is_begun = false;
        }
        Ok(())
    }
}

/// Returns a text without commands to a CI service, by inserting a blank into the beginning of each.
pub fn parted(text: &str) -> Cow<'_, str> {
    let has_command = |row: &str| matches!(harmless(row, true), Cow::Owned(_));
    if !text.split('\n').any(has_command) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.split('\n').map(|row| harmless(row, true)).collect::<Vec<_>>().join("\n"))
}

/// Returns a row without commands. `is_whole`: whether it starts at the beginning of the row.
pub(super) fn harmless(row: &str, is_whole: bool) -> Cow<'_, str> {
    let mut cuts = Vec::new();
    let start = blanks(row);
    if is_whole && row[start..].starts_with("::") {
        cuts.push(start + 1);
    }
    let bytes = row.as_bytes();
    for at in memchr::memchr_iter(b'#', bytes) {
        let name = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        if at > 0 && bytes[at - 1] == b'#' && bytes.get(at + 1 + name) == Some(&b'[') {
            cuts.push(at + 1);
        }
    }
    for command in ["section_start:", "section_end:", "travis_fold:", "travis_time:"] {
        let ends = memchr::memmem::find_iter(bytes, command).map(|at| at + command.len());
        cuts.extend(ends.filter(|end| bytes.get(*end).is_some_and(u8::is_ascii_alphanumeric)));
    }
    if cuts.is_empty() {
        return Cow::Borrowed(row);
    }
    cuts.sort_unstable();
    let mut safe = String::with_capacity(row.len() + cuts.len());
    let mut done = 0;
    for cut in cuts {
        safe.push_str(&row[done..cut]);
        safe.push(' ');
        done = cut;
    }
    safe.push_str(&row[done..]);
    Cow::Owned(safe)
}

/// Returns the number of bytes before the first visible character of a row: blanks of any kind, and escape sequences.
fn blanks(row: &str) -> usize {
    let mut rest = row;
    loop {
        rest = rest.trim_start();
        let Some(style) = rest.strip_prefix("\x1b[") else { return row.len() - rest.len() };
        let Some(end) = style.find(|char: char| char.is_ascii_alphabetic()) else {
            return row.len() - rest.len();
        };
        rest = &style[end + 1..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blank_is_inserted_into_commands() {
        for (row, safe) in [
            ("::error::x", ": :error::x"),
            ("  \u{a0}\u{3000}::add-mask::x", "  \u{a0}\u{3000}: :add-mask::x"),
            ("\x1b[2m ::group::x", "\x1b[2m : :group::x"),
            ("a ::error::x", "a ::error::x"),
            ("#::error::x", "#::error::x"),
            ("a ##[error]x", "a ## [error]x"),
            ("###[group]x", "### [group]x"),
            ("##vso[task.x]", "## vso[task.x]"),
            ("##teamcity[x] ##[y]", "## teamcity[x] ## [y]"),
            ("## [a](b)", "## [a](b)"),
            ("## Title[1]", "## Title[1]"),
            ("section_start:1:x", "section_start: 1:x"),
            ("xsection_end:12:x", "xsection_end: 12:x"),
            ("section_start:", "section_start:"),
            ("travis_fold:start:x travis_time:end:x", "travis_fold: start:x travis_time: end:x"),
            ("", ""),
        ] {
            assert_eq!(harmless(row, true), safe, "{row:?}");
            assert_eq!(harmless(safe, true), safe, "it stays as it is");
        }
        assert_eq!(harmless("::error::x", false), "::error::x", "the row began before");
    }

    #[test]
    fn texts_are_parted_row_by_row() {
        assert_eq!(parted("a\n ::b::\n\n##[c]"), "a\n : :b::\n\n## [c]");
        assert!(matches!(parted("a ::b\n::"), Cow::Owned(_)));
        assert!(matches!(parted("a ::b\nc"), Cow::Borrowed(_)));
    }

    #[test]
    fn rows_are_read_whole_however_they_come() {
        for size in 1..8 {
            let mut out = String::new();
            let mut rows = CommandFilter { out: &mut out, row: String::new(), margin: "", is_begun: false };
            for piece in "a\n::b::\n##[c]\nd".as_bytes().chunks(size) {
                rows.write_str(std::str::from_utf8(piece).unwrap()).unwrap();
            }
            assert!(rows.end().unwrap(), "the last row goes on");
            assert_eq!(out, "a\n: :b::\n## [c]\nd");
        }
    }
}
