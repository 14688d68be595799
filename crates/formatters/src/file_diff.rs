//! Changes of files as hunks: read from a patch in the stream, or found by comparing two texts.

use similar::{Algorithm, ChangeTag, DiffOp, TextDiff, capture_diff_slices};

use streamfmt_core::entry::{Block, DiffLines, Hunk, Line, LineChange};
use streamfmt_core::figures;
use streamfmt_core::item::FactRef;
use streamfmt_core::text::Text;

/// The most lines, of both texts together, that are compared. Longer texts are shown as replaced as a whole,
/// since the time grows with lines × changes.
const COMPARED: usize = 4000;

/// The same for texts that are compared repeatedly while one of them is being written.
const COMPARED_WHILE_GROWING: usize = 1000;
/// The most old lines that are skipped for each new line that equals an old one.
const REACH: usize = 4;

/// The changes of one file.
#[derive(Default)]
pub(super) struct FileDiff {
    hunks: Vec<Hunk>,
    added: u64,
    removed: u64,
    /// Whether the old file doesn't end in a line feed.
    was_open: bool,
    /// Whether the new file doesn't end in a line feed.
    is_open: bool,
}

impl FileDiff {
    /// Reads the hunks of a structured patch; `None` if it has none.
    pub(super) fn of_patch(patch: FactRef<'_>) -> Option<Self> {
        let mut changes = Self::default();
        for hunk in patch.list() {
            changes.begin(["oldStart", "newStart"].map(|name| hunk.count_at(name)));
            for line in hunk.get("lines").map(FactRef::list).unwrap_or_default() {
                let Some(line) = line.str() else { continue };
                changes.marked(&line);
            }
        }
        Some(changes.finished()).filter(|changes| !changes.hunks.is_empty())
    }

    /// Parses a unified diff of one file. In a hunk without line numbers, the section heading is a line of the file. `None` if the text
    /// isn't blank but has no hunk.
    pub(super) fn of_diff(diff: &str) -> Option<Self> {
        let mut changes = Self::default();
        let mut left: Option<LinesLeft> = None;
        for line in diff.lines() {
            if let Some(head) = line.strip_prefix("@@") {
                left = Some(changes.begin_at(head));
            } else if left.as_mut().is_some_and(|left| left.takes(line)) {
                changes.marked(line);
            }
        }
        Some(changes.finished()).filter(|changes| !changes.hunks.is_empty() || diff.trim().is_empty())
    }

    /// Begins a hunk. `head`: its header line without the first `@@`, as ` -1,2 +1,3 @@ heading`.
    fn begin_at(&mut self, head: &str) -> LinesLeft {
        let (ranges, heading) = head.split_once("@@").unwrap_or((head, ""));
        let range = |mark| ranges.split(' ').find_map(|range| range_of(range.strip_prefix(mark)?));
        let Some(((old_start, old), (new_start, new))) = range('-').zip(range('+')) else {
            self.begin([None; 2]);
            let heading = heading.trim();
            if !heading.is_empty() {
                self.line(LineChange::Keep, heading);
            }
            return LinesLeft::All;
        };
        self.begin([old_start, new_start].map(Some));
        LinesLeft::Lines { old, new }
    }

    /// Begins a hunk whose first line has these numbers in the old and the new file.
    fn begin(&mut self, [old_start, new_start]: [Option<u64>; 2]) {
        self.hunks.push(Hunk { old_start, new_start, lines: DiffLines::default() });
    }

    /// Removes hunks without lines.
    fn finished(mut self) -> Self {
        self.hunks.retain(|hunk| !hunk.lines.is_empty());
        self
    }

    /// Adds a line that begins with its mark to the last hunk.
    fn marked(&mut self, line: &str) {
        let (change, text) = match line.as_bytes().first() {
            Some(b'+') => (LineChange::Add, &line[1..]),
            Some(b'-') => (LineChange::Remove, &line[1..]),
            Some(b' ') => (LineChange::Keep, &line[1..]),
            // "\ No newline at end of file" is no line of the file; it applies to the line before.
            Some(b'\\') => {
                let lines = self.hunks.last().map(|hunk| &hunk.lines);
                let before =
                    lines.and_then(|lines| lines.get(lines.len().checked_sub(1)?)).map(|line| line.change);
                self.was_open |= before != Some(LineChange::Add);
                self.is_open |= before != Some(LineChange::Remove);
                return;
            }
            _ => (LineChange::Keep, line),
        };
        self.line(change, text);
    }

    /// Compares `old` with `new`. `context`: the number of unchanged lines around each change; `None`: all.
    pub(super) fn between(old: &str, new: &str, context: Option<usize>) -> Self {
        let mut changes = Self::default();
        let number = |text: &str| memchr::memchr_iter(b'\n', text.as_bytes()).count() + 1;
        if number(old) + number(new) > COMPARED || old.is_empty() || new.is_empty() {
            changes.begin([None; 2]);
            changes.all(LineChange::Remove, old);
            changes.all(LineChange::Add, new);
            return changes.finished();
        }
        let diff = TextDiff::from_lines(old, new);
        for group in diff.grouped_ops(context.unwrap_or(usize::MAX / 4)) {
            changes.begin([None; 2]);
            for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
                let tag = match change.tag() {
                    ChangeTag::Equal => LineChange::Keep,
                    ChangeTag::Delete => LineChange::Remove,
                    ChangeTag::Insert => LineChange::Add,
                };
                let text = change.value();
                changes.line(tag, text.strip_suffix('\n').unwrap_or(text));
            }
        }
        changes.finished()
    }

    /// Compares `old` with `new` while the latter is being written. Lines of `old` that `new` hasn't reached are shown as unchanged, at
    /// most `rest` of them.
    pub(super) fn growing(old: &str, new: &str, rest: usize) -> Self {
        let (new, last) = new.rsplit_once('\n').map_or((None, new), |(new, last)| (Some(new), last));
        let old: Vec<&str> = old.lines().collect();
        let new: Vec<&str> = new.map(|new| new.split('\n').collect()).unwrap_or_default();
        let ops = if old.len() + new.len() > COMPARED_WHILE_GROWING {
            let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
            vec![DiffOp::Equal { old_index: 0, new_index: 0, len: same }]
        } else {
            capture_diff_slices(Algorithm::Myers, &old, &new)
        };
        // An equal line far below may be equal by chance: accept it only if there are enough equal lines for the old lines skipped.
        let (mut same, mut best, mut come_to) = (0, 0, (0, 0, 0));
        for (index, op) in ops.iter().enumerate() {
            if let DiffOp::Equal { old_index, new_index, len } = *op {
                same += len;
                let worth = (REACH * same).saturating_sub(old_index + len);
                if worth > best {
                    (best, come_to) = (worth, (index + 1, old_index + len, new_index + len));
                }
            }
        }
        let (ops_used, old_used, new_used) = come_to;
        let mut changes = Self::default();
        changes.begin([None; 2]);
        for op in &ops[..ops_used] {
            let (tag, old_range, new_range) = op.as_tag_tuple();
            let change = if tag == similar::DiffTag::Equal { LineChange::Keep } else { LineChange::Remove };
            old[old_range].iter().for_each(|line| changes.line(change, line));
            if change == LineChange::Remove {
                new[new_range].iter().for_each(|line| changes.line(LineChange::Add, line));
            }
        }
        new[new_used..].iter().for_each(|line| changes.line(LineChange::Add, line));
        // An incomplete line that one of the next old lines begins with may become that line.
        if !last.is_empty() && !old[old_used..].iter().take(REACH).any(|line| line.starts_with(last)) {
            changes.line(LineChange::Add, last);
        }
        old[old_used..].iter().take(rest).for_each(|line| changes.line(LineChange::Keep, line));
        changes.finished()
    }

    /// Reads a requested change: a replacement of one text by another, a patch, or a diff. `None` if it has none of them. If only the
    /// new text is known, it is shown as added.
    pub(super) fn asked(change: FactRef<'_>, context: Option<usize>) -> Option<Self> {
        if let Some(patch) = change.get("patch") {
            return Self::of_patch(patch);
        }
        if let Some(diff) = change.get("diff") {
            return Self::of_diff(&diff.str()?);
        }
        let [old, new] = ["old", "new"].map(|name| change.get(name).and_then(FactRef::str));
        Some(Self::between(&old.unwrap_or_default(), &new?, context))
    }

    /// Returns all lines of a new file as added.
    pub(super) fn created(content: &str) -> Self {
        Self::whole(LineChange::Add, content)
    }

    /// Returns all lines of a deleted file as removed.
    pub(super) fn deleted(content: &str) -> Self {
        Self::whole(LineChange::Remove, content)
    }

    fn whole(change: LineChange, content: &str) -> Self {
        let mut changes = Self::default();
        changes.begin([LineChange::Remove, LineChange::Add].map(|side| (change == side).then_some(1)));
        changes.all(change, content);
        changes.finished()
    }

    /// Sets the line numbers of the only hunk, if its new lines occur exactly once in a numbered snippet of the changed file.
    pub(super) fn place(&mut self, snippet: &str) {
        const MOST: usize = 400;
        let [hunk] = &mut self.hunks[..] else { return };
        let new = hunk.lines.iter().filter(|line| line.change != LineChange::Remove);
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

    /// Adds further changes of the same file.
    pub(super) fn extend(&mut self, more: Self) {
        self.count(&more);
        self.hunks.extend(more.hunks);
        self.was_open |= more.was_open;
        self.is_open |= more.is_open;
    }

    /// Adds the number of added and removed lines of another file.
    pub(super) fn count(&mut self, other: &Self) {
        self.added += other.added;
        self.removed += other.removed;
    }

    /// Whether there is no change.
    pub(super) fn is_empty(&self) -> bool {
        self.added == 0 && self.removed == 0 && self.was_open == self.is_open
    }

    /// Adds all lines of a text with the same change.
    fn all(&mut self, change: LineChange, text: &str) {
        let text = text.strip_suffix('\n').unwrap_or(text);
        if !text.is_empty() {
            text.split('\n').for_each(|line| self.line(change, line));
        }
    }

    /// Adds a line to the last hunk.
    fn line(&mut self, change: LineChange, text: &str) {
        match change {
            LineChange::Add => self.added += 1,
            LineChange::Remove => self.removed += 1,
            LineChange::Keep => {}
        }
        if let Some(hunk) = self.hunks.last_mut() {
            hunk.lines.push(change, text.strip_suffix('\r').unwrap_or(text));
        }
    }

    /// Returns the number of added lines.
    pub(super) fn added(&self) -> u64 {
        self.added
    }

    /// Adds `+2 −1` to a line, and a note if the final line feed was added or removed, since the lines themselves don't show that.
    pub(super) fn push_counts(&self, line: &mut Line) {
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

    /// Returns the hunks.
    pub(super) fn into_hunks(self) -> Vec<Hunk> {
        self.hunks
    }

    /// Returns the changes as a block; `None` if there are none.
    pub(super) fn block(self, path: Option<Text>) -> Option<Block> {
        (!self.hunks.is_empty()).then_some(Block::Diff { path, hunks: self.hunks })
    }
}

/// The remaining lines of a hunk.
enum LinesLeft {
    /// The number of lines of the old and the new file.
    Lines { old: u64, new: u64 },
    /// All up to the next hunk.
    All,
}

impl LinesLeft {
    /// Counts a line if it belongs to the hunk, and returns whether it does. Lines after its last one, such as the head of the next
    /// file, don't.
    fn takes(&mut self, line: &str) -> bool {
        let Self::Lines { old, new } = self else { return true };
        let (is_old, is_new) = match line.as_bytes().first() {
            Some(b'\\') => return true,
            Some(b'-') => (true, false),
            Some(b'+') => (false, true),
            _ => (true, true),
        };
        let is_left = (!is_old || *old > 0) && (!is_new || *new > 0);
        if is_left {
            *old -= u64::from(is_old);
            *new -= u64::from(is_new);
        }
        is_left
    }
}

/// Parses a range into its first line and number of lines: `3,5`, or `3` for a single line.
fn range_of(range: &str) -> Option<(u64, u64)> {
    let (start, count) = range.split_once(',').unwrap_or((range, "1"));
    Some((start.parse().ok()?, count.parse().ok()?))
}

/// Splits a numbered line into its number and text. The number has the form `    12→`, or `12` and a tab.
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

    fn shown(changes: FileDiff) -> String {
        let mut title = Line::default();
        changes.push_counts(&mut title);
        let mut out = title.text().to_owned() + "\n";
        for hunk in changes.hunks {
            hunk.unified(None, &mut out);
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
            assert_eq!(shown(FileDiff::between(old, new, context)), expected);
        }
    }

    #[test]
    fn diffs_are_read_hunk_by_hunk() {
        for (diff, expected) in [
            ("@@ -1,2 +1,2 @@\n a\n-b\n+B\n", Some("+1 −1\n a\n-b\n+B\n")),
            // Lines outside hunks aren't lines of the file, whatever their beginning; lines in a hunk are.
            ("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +0,0 @@\n--- y\n--- a/z\n", Some("−1\n--- y\n")),
            // Without numbers the heading is a line of the file.
            ("@@ @@ fn a()\n-x\n@@\n+y\n\n", Some("+1 −1\n fn a()\n-x\n+y\n \n")),
            ("@@ -1,0 +1 @@ fn a()\r\n+y\r\n", Some("+1\n+y\n")),
            ("@@ -x +1 @@\n+y", Some("+1\n+y\n")),
            ("@@ -1,99999999999999999999 +1 @@\n+y", Some("+1\n+y\n")),
            ("@@ -1,2 +1,2 @@\n a\n@@ -7 +7 @@\n-b\n+c", Some("+1 −1\n a\n-b\n+c\n")),
            ("", Some("+0\n")),
            ("Binary files differ", None),
        ] {
            assert_eq!(FileDiff::of_diff(diff).map(shown).as_deref(), expected, "{diff}");
        }
    }

    #[test]
    fn long_texts_are_replaced_as_a_whole() {
        let old = "a\n".repeat(COMPARED);
        let changes = FileDiff::between(&old, "b", None);
        assert_eq!((changes.removed, changes.added), (COMPARED as u64, 1));
    }
}
