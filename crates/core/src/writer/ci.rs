//! Entries for the log of a CI service.
//!
//! Such services read commands from the output itself: GitHub Actions a row that begins with `::name`, whatever blanks
//! stand before it, and `##[name]` anywhere; Azure and `TeamCity` `##vso[` and `##teamcity[`; GitLab `section_start:1`.
//! So a text of the stream could fold rows away, mask words or pass for a step that failed. Here a blank parts
//! what begins such a command, and the commands that remain are ours:
//!
//! ```text
//! [result] Bash Run all tests: running 14 tests … (+12 lines)
//! ::group::14 lines                                            all of it, folded
//!   running 14 tests
//! ::endgroup::
//! ::warning title=Read,file=src/a.rs::[error] Read src/a.rs: File does not exist.
//! ::warning title=Bash,file=src/cart.rs,line=41::[error] Bash Run the cart tests: exit 101 …
//! ```

mod place;

use std::borrow::Cow;
use std::fmt::{self, Write};

use crate::entry::{Block, Entry, View};
use crate::formatter::figures;
use crate::item::{Action, Kind};
use crate::outline::{Answer, Node};
use crate::profile::Ci;
use crate::writer::{Wants, Writer, sheet};

use self::place::Place;

/// Longest message of an annotation, in bytes; the service cuts at about twice that.
const LONGEST: usize = 2000;

/// What ends a command of GitLab's: invisible on a terminal.
const ERASE: &str = "\r\x1b[0K";

/// A writer of rows for the log of a CI service.
pub struct Log {
    rows: Box<dyn Writer>,
    ci: Ci,
    /// Whether what was written last is not yet a whole row.
    is_begun: bool,
    /// How many sections were written.
    sections: u64,
}

impl Log {
    /// Writes what `rows` writes as the log of this service wants it.
    pub fn new(rows: Box<dyn Writer>, ci: Ci) -> Self {
        Self { rows, ci, is_begun: false, sections: 0 }
    }

    /// Lets `write` write rows in which no command is left.
    fn safely(
        &mut self,
        margin: &'static str,
        out: &mut dyn Write,
        write: impl FnOnce(&mut dyn Writer, &mut dyn Write) -> fmt::Result,
    ) -> fmt::Result {
        let mut rows = Rows { out, row: String::new(), margin, is_begun: self.is_begun };
        write(&mut *self.rows, &mut rows)?;
        self.is_begun = rows.end()?;
        Ok(())
    }

    /// Writes an entry's title: as an annotation, if it tells of a failure and the service has such.
    fn title(&mut self, node: &Node, out: &mut dyn Write) -> fmt::Result {
        let entry = &node.entry;
        let level = match (self.ci, entry.kind, tag(entry)) {
            (Ci::Github, _, Some("[failed]")) => "error",
            // A call that fails is every agent's day: the run may end well all the same.
            (Ci::Github, Kind::Result, Some("[error]")) => "warning",
            _ => {
                let line = View { body: Vec::new(), ..entry.view.clone() };
                let titled = Node { entry: Entry { view: line, ..entry.clone() }, ..node.clone() };
                return self.safely("", out, |rows, out| rows.node(&titled, out));
            }
        };
        let name = entry.tool.as_deref().unwrap_or("agent");
        write!(out, "::{level} title={}", property(&harmless(name, false)))?;
        if let Some((file, line)) = told_place(entry) {
            write!(out, ",file={}", property(&harmless(&file, false)))?;
            if let Some(line) = line {
                write!(out, ",line={line}")?;
            }
        }
        let message = sheet::plain(&entry.view.title);
        let message = harmless(&message, false);
        let end = crate::clip::floor(&message, LONGEST);
        let more = if end < message.len() { "…" } else { "" };
        writeln!(out, "::{}{more}", data(&message[..end]))
    }

    /// Writes all of a result in rows that the service folds.
    fn group(&mut self, entry: &Entry, out: &mut dyn Write) -> fmt::Result {
        let name = figures::count_of(lines(&entry.view.body), "line", "lines");
        self.sections += 1;
        let (at, number) = (entry.at.map_or(0, jiff::Timestamp::as_second), self.sections);
        match self.ci {
            Ci::Github => writeln!(out, "::group::{}", &*name)?,
            _ => writeln!(out, "section_start:{at}:streamfmt_{number}[collapsed=true]{ERASE}{}", &*name)?,
        }
        let body = Entry { view: View::of(entry.view.body.clone()), ..entry.clone() };
        self.safely("  ", out, |rows, out| rows.node(&Node::from(body), out))?;
        match self.ci {
            Ci::Github => out.write_str("::endgroup::\n"),
            _ => writeln!(out, "section_end:{at}:streamfmt_{number}{ERASE}"),
        }
    }
}

impl Writer for Log {
    fn wants(&self) -> Wants {
        let wants = self.rows.wants();
        Wants { time: self.ci == Ci::Gitlab || wants.time, ..wants }
    }

    fn begin(&mut self, out: &mut dyn Write) -> fmt::Result {
        self.safely("", out, |rows, out| rows.begin(out))
    }

    fn node(&mut self, node: &Node, out: &mut dyn Write) -> fmt::Result {
        let entry = &node.entry;
        if !self.ci.has_groups() || tag(entry).is_none() {
            return self.safely("", out, |rows, out| rows.node(node, out));
        }
        self.title(node, out)?;
        if entry.view.body.is_empty() { Ok(()) } else { self.group(entry, out) }
    }

    fn answer(&mut self, answer: &Answer, out: &mut dyn Write) -> fmt::Result {
        self.safely("", out, |rows, out| rows.answer(answer, out))
    }

    fn end(&mut self, out: &mut dyn Write) -> fmt::Result {
        self.safely("", out, |rows, out| rows.end(out))?;
        // What may be written after the end is written elsewhere.
        self.is_begun = false;
        Ok(())
    }
}

/// What stands in front of an entry that is one line: `[result]`.
fn tag(entry: &Entry) -> Option<&str> {
    entry.view.title.spans.first().filter(|span| span.role.name() == "tag").map(|span| &*span.text)
}

/// The file that a failure is of, and the line if one is told: of a call for a file that one, else the first that the output
/// complains of.
fn told_place(entry: &Entry) -> Option<(String, Option<u32>)> {
    let is_of_file = matches!(entry.action, Some(Action::Read | Action::Edit | Action::Write));
    let path = entry.view.title.spans.iter().find(|span| span.role.name() == "call.arg");
    let path = path.filter(|_| is_of_file).map(|span| span.text.as_str());
    let is_wanted = |place: Place<'_>| path.is_none_or(|path| is_same(path, place.file));
    let of_block = |block: &Block| match block {
        Block::Prose { text, .. } | Block::Code { text, .. } => {
            place::first(text, is_wanted).map(|place| (place.file.to_owned(), place.line))
        }
        _ => None,
    };
    let title = sheet::plain(&entry.view.title);
    let found = entry.view.body.iter().find_map(of_block);
    let found =
        found.or_else(|| place::first(&title, is_wanted).map(|place| (place.file.to_owned(), place.line)));
    match (path, found) {
        // As it is called in the call: that is what the project knows it as.
        (Some(path), found) => Some((path.to_owned(), found.map(|(_, line)| line))),
        (None, found) => found.map(|(file, line)| (file, Some(line))),
    }
}

/// Whether two paths may be of one file: one of them ends in the other.
fn is_same(one: &str, other: &str) -> bool {
    let ends = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    let other = other.trim_start_matches("./");
    ends(one, other) || ends(other, one)
}

/// How many lines are in blocks, about.
fn lines(blocks: &[Block]) -> u64 {
    let count = |block: &Block| match block {
        Block::Prose { text, .. } | Block::Code { text, .. } => sheet::lines(text.trim_end()) as u64,
        Block::Lines { lines } => lines.len() as u64,
        Block::Diff { hunks, .. } => hunks.iter().map(|hunk| hunk.lines.len() as u64).sum(),
        Block::List { items } => items.len() as u64,
        Block::Table { rows, .. } => rows.len() as u64 + 1,
        Block::Elided { lines, .. } => *lines,
        Block::Image { .. } | Block::Details { .. } => 1,
    };
    blocks.iter().map(count).sum()
}

/// A text as what a command of GitHub's says.
fn data(text: &str) -> Cow<'_, str> {
    if text.contains(['%', '\r', '\n']) {
        Cow::Owned(text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A"))
    } else {
        Cow::Borrowed(text)
    }
}

/// A text as a property of such a command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Takes rows, and passes them on with no command in them.
struct Rows<'a> {
    out: &'a mut dyn Write,
    /// What there is of the row that is being written.
    row: String,
    /// What stands before each row.
    margin: &'static str,
    /// Whether the beginning of the row was passed on already.
    is_begun: bool,
}

impl Rows<'_> {
    fn pass_on(&mut self) -> fmt::Result {
        if !self.is_begun && !self.row.is_empty() {
            self.out.write_str(self.margin)?;
        }
        let row = harmless(&self.row, !self.is_begun);
        self.out.write_str(&row)?;
        self.row.clear();
        Ok(())
    }

    /// Passes on what is left; says whether that is not yet a whole row.
    fn end(mut self) -> Result<bool, fmt::Error> {
        let is_begun = self.is_begun || !self.row.is_empty();
        self.pass_on()?;
        Ok(is_begun)
    }
}

impl Write for Rows<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for piece in text.split_inclusive('\n') {
            let Some(end) = piece.strip_suffix('\n') else {
                self.row.push_str(piece);
                continue;
            };
            self.row.push_str(end);
            self.pass_on()?;
            self.out.write_char('\n')?;
            self.is_begun = false;
        }
        Ok(())
    }
}

/// A text in which no row is a command to a CI service: a blank parts what begins one.
pub fn parted(text: &str) -> Cow<'_, str> {
    let has_command = |row: &str| matches!(harmless(row, true), Cow::Owned(_));
    if !text.split('\n').any(has_command) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.split('\n').map(|row| harmless(row, true)).collect::<Vec<_>>().join("\n"))
}

/// A row in which nothing is a command. `is_whole`: its beginning is the row's.
fn harmless(row: &str, is_whole: bool) -> Cow<'_, str> {
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
    for command in ["section_start:", "section_end:"] {
        let ends = memchr::memmem::find_iter(bytes, command).map(|at| at + command.len());
        cuts.extend(ends.filter(|end| bytes.get(*end).is_some_and(u8::is_ascii_digit)));
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

/// How many bytes a row has before its first character that is seen: blanks of any kind, and styles.
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
    use crate::entry::Line;

    #[test]
    fn what_begins_a_command_is_parted() {
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
            let mut rows = Rows { out: &mut out, row: String::new(), margin: "", is_begun: false };
            for piece in "a\n::b::\n##[c]\nd".as_bytes().chunks(size) {
                rows.write_str(std::str::from_utf8(piece).unwrap()).unwrap();
            }
            assert!(rows.end().unwrap(), "the last row goes on");
            assert_eq!(out, "a\n: :b::\n## [c]\nd");
        }
    }

    #[test]
    fn annotations_hold_no_command_of_others() {
        assert_eq!(property("a:b,c%\n"), "a%3Ab%2Cc%25%0A");
        assert_eq!(data("x\n::error::%0A"), "x%0A::error::%250A");
    }

    #[test]
    fn lines_are_those_of_all_blocks() {
        let line = Line::of("text", "x");
        let blocks = [Block::text("text", "a\nb\n"), Block::line(line), Block::Elided { lines: 7, bytes: 9 }];
        assert_eq!(lines(&blocks), 10);
    }
}
