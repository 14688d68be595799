//! Changes of files as hunks: from a patch that the stream tells, or found between two texts.

use similar::{ChangeTag, TextDiff};

use crate::entry::{Block, Change, DiffLines, Hunk, Line};
use crate::formatter::figures;
use crate::item::FactRef;
use crate::text::Text;

/// Texts with more lines than this together are not compared: the old one goes, the new one comes.
/// Comparing takes time by lines × changes.
const COMPARED: usize = 4000;

/// The changes of one file.
#[derive(Default)]
pub(super) struct Changes {
    hunks: Vec<Hunk>,
    added: u64,
    removed: u64,
    /// The last line of the file before ended without a line feed.
    was_open: bool,
    /// That of the file after does.
    is_open: bool,
}

impl Changes {
    /// Reads hunks as the stream tells them; `None` if there are none.
    pub(super) fn of_patch(patch: FactRef<'_>) -> Option<Self> {
        let mut changes = Self::default();
        for told in patch.list() {
            let mut lines = DiffLines::default();
            for line in told.get("lines").map(FactRef::list).unwrap_or_default() {
                let Some(line) = line.str() else { continue };
                let (change, text) = match line.as_bytes().first() {
                    Some(b'+') => (Change::Add, &line[1..]),
                    Some(b'-') => (Change::Remove, &line[1..]),
                    Some(b' ') => (Change::Keep, &line[1..]),
                    // What is said of a missing final line feed is no line of the file, but of the line before.
                    Some(b'\\') => {
                        let last = lines.len().checked_sub(1).and_then(|last| lines.get(last));
                        let before = last.map(|line| line.change);
                        changes.was_open |= before != Some(Change::Add);
                        changes.is_open |= before != Some(Change::Remove);
                        continue;
                    }
                    _ => (Change::Keep, &*line),
                };
                changes.line(change, text, &mut lines);
            }
            let [old_start, new_start] = ["oldStart", "newStart"].map(|name| told.count_at(name));
            changes.hunks.push(Hunk { old_start, new_start, lines });
        }
        changes.hunks.retain(|hunk| !hunk.lines.is_empty());
        (!changes.hunks.is_empty()).then_some(changes)
    }

    /// Finds what changed from `old` to `new`. With `context`, only that many kept lines stand around a change.
    pub(super) fn between(old: &str, new: &str, context: Option<usize>) -> Self {
        let mut changes = Self::default();
        let number = |text: &str| memchr::memchr_iter(b'\n', text.as_bytes()).count() + 1;
        if number(old) + number(new) > COMPARED || old.is_empty() || new.is_empty() {
            let mut lines = DiffLines::default();
            changes.all(Change::Remove, old, &mut lines);
            changes.all(Change::Add, new, &mut lines);
            changes.push(lines);
            return changes;
        }
        let diff = TextDiff::from_lines(old, new);
        for group in diff.grouped_ops(context.unwrap_or(usize::MAX / 4)) {
            let mut lines = DiffLines::default();
            for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
                let tag = match change.tag() {
                    ChangeTag::Equal => Change::Keep,
                    ChangeTag::Delete => Change::Remove,
                    ChangeTag::Insert => Change::Add,
                };
                let text = change.value();
                changes.line(tag, text.strip_suffix('\n').unwrap_or(text), &mut lines);
            }
            changes.push(lines);
        }
        changes
    }

    /// The change that a call asks for: one text in place of another, or a patch. `None` if it tells neither.
    pub(super) fn asked(change: FactRef<'_>, context: Option<usize>) -> Option<Self> {
        if let Some(patch) = change.get("patch") {
            return Self::of_patch(patch);
        }
        let [old, new] = ["old", "new"].map(|name| change.get(name).and_then(FactRef::str));
        Some(Self::between(&old?, &new?, context))
    }

    /// All lines of a new file.
    pub(super) fn created(content: &str) -> Self {
        let mut changes = Self::default();
        let mut lines = DiffLines::default();
        changes.all(Change::Add, content, &mut lines);
        if !lines.is_empty() {
            changes.hunks.push(Hunk { old_start: None, new_start: Some(1), lines });
        }
        changes
    }

    /// Numbers the lines of the only hunk, if a snippet of the changed file, its lines numbered, holds them at one place.
    pub(super) fn place(&mut self, snippet: &str) {
        const MOST: usize = 400;
        let [hunk] = &mut self.hunks[..] else { return };
        let new = hunk.lines.iter().filter(|line| line.change != Change::Remove);
        let new: Vec<&str> = new.map(|line| line.text).collect();
        let [Some(first), Some(last)] = [new.first(), new.last()] else { return };
        let snippet: Vec<(u64, &str)> = snippet.lines().map_while(number_of).take(MOST).collect();
        // An edit may begin and end within a line.
        let is_here = |lines: &[(u64, &str)]| match lines {
            [(_, line)] => line.contains(first),
            [(_, begin), .., (_, end)] => {
                begin.ends_with(first)
                    && end.starts_with(last)
                    && lines.iter().zip(&new).skip(1).take(new.len() - 2).all(|((_, line), new)| line == new)
            }
            [] => false,
        };
        let mut places =
            snippet.windows(new.len().min(MOST)).filter(|lines| lines.len() == new.len() && is_here(lines));
        if let (Some([(number, _), ..]), None) = (places.next(), places.next()) {
            hunk.old_start = Some(*number);
            hunk.new_start = Some(*number);
        }
    }

    /// Takes in further changes of the same file.
    pub(super) fn extend(&mut self, more: Self) {
        self.hunks.extend(more.hunks);
        self.added += more.added;
        self.removed += more.removed;
        self.was_open |= more.was_open;
        self.is_open |= more.is_open;
    }

    fn push(&mut self, lines: DiffLines) {
        if !lines.is_empty() {
            self.hunks.push(Hunk { old_start: None, new_start: None, lines });
        }
    }

    fn all(&mut self, change: Change, text: &str, lines: &mut DiffLines) {
        let text = text.strip_suffix('\n').unwrap_or(text);
        if !text.is_empty() {
            text.split('\n').for_each(|line| self.line(change, line, lines));
        }
    }

    fn line(&mut self, change: Change, text: &str, lines: &mut DiffLines) {
        match change {
            Change::Add => self.added += 1,
            Change::Remove => self.removed += 1,
            Change::Keep => {}
        }
        lines.push(change, text.strip_suffix('\r').unwrap_or(text));
    }

    /// Number of lines that came.
    pub(super) fn added(&self) -> u64 {
        self.added
    }

    /// `+2 −1`
    pub(super) fn title(&self) -> Line {
        let mut line = Line::default();
        self.tell(&mut line);
        line
    }

    /// Adds `+2 −1` to a line, and what became of the final line feed: lines that differ in nothing else look the same.
    pub(super) fn tell(&self, line: &mut Line) {
        if self.added > 0 || self.removed == 0 {
            line.push("change.add", ["+", &figures::count(self.added)].concat());
        }
        if self.removed > 0 {
            line.push("change.remove", ["−", &figures::count(self.removed)].concat());
        }
        if self.was_open != self.is_open {
            line.push("result.note", Text::own("·"));
            let what = if self.is_open { "final line feed removed" } else { "final line feed added" };
            line.push("result.note", Text::own(what));
        }
    }

    /// The hunks of it.
    pub(super) fn into_hunks(self) -> Vec<Hunk> {
        self.hunks
    }

    /// The changes as a block; `None` if there are none.
    pub(super) fn block(self, path: Option<Text>) -> Option<Block> {
        (!self.hunks.is_empty()).then_some(Block::Diff { path, hunks: self.hunks })
    }
}

/// The number at the start of a line, and what follows it: `    12→`, or `12` and a tab.
pub(super) fn number_of(text: &str) -> Option<(u64, &str)> {
    let text = text.trim_start_matches(' ');
    let end = text.bytes().take(12).position(|byte| !byte.is_ascii_digit())?;
    let number = text[..end].parse().ok()?;
    let rest = text[end..].strip_prefix('\t').or_else(|| text[end..].strip_prefix('→'))?;
    Some((number, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(changes: Changes) -> String {
        let title: String = changes.title().spans.iter().map(|span| span.text.as_str()).collect();
        let mut out = title + "\n";
        for hunk in changes.hunks {
            for line in hunk.lines.iter() {
                let mark = match line.change {
                    Change::Keep => ' ',
                    Change::Add => '+',
                    Change::Remove => '-',
                };
                out.push(mark);
                out.push_str(line.text);
                out.push('\n');
            }
        }
        out
    }

    #[test]
    fn differences_are_found_line_by_line() {
        for (old, new, context, expected) in [
            ("a\nb\nc", "a\nB\nc", None, "+1 −1\n a\n-b\n+B\n c\n"),
            ("", "x\ny\n", None, "+2\n+x\n+y\n"),
            ("x\r\n", "", None, "−1\n-x\n"),
            ("1\n2\n3\n4\n5\nold", "1\n2\n3\n4\n5\nnew", Some(1), "+1 −1\n 5\n-old\n+new\n"),
            ("same", "same", None, "+0\n"),
        ] {
            assert_eq!(shown(Changes::between(old, new, context)), expected);
        }
    }

    #[test]
    fn long_texts_are_replaced_as_a_whole() {
        let old = "a\n".repeat(COMPARED);
        let changes = Changes::between(&old, "b", None);
        assert_eq!((changes.removed, changes.added), (COMPARED as u64, 1));
    }
}
