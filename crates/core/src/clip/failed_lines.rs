//! Chooses the lines of a failed output that are kept: those that report a failure, each with the line before and the lines after it,
//! then the end, then the start.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use memchr::{memchr, memchr_iter, memrchr};
use regex::Regex;

use super::push_gap;
use crate::entry::{Block, BlockSize};
use crate::profile::Keep;

/// The longest line, in bytes, that is shown instead of a gap of one line: the gap would take a line, too.
const SHORT_GAP: usize = 200;

/// How many lines after a failure are kept if there is room.
const EXPLANATION: usize = 6;

/// Words of a line that reports a failure. Only whole words count, so `terrors` and `errorless` don't.
static FAILURE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?-u:\b)not ok(?-u:\b)|(?-u:\b)FAIL(?:ED|URES?)?(?-u:\b)|(?-u:\b)(?:panicked|Traceback)(?-u:\b)|[✗✖✘] ",
        r"|(?-u:\b)(?:[Ee]rrors?|ERRORS?)(?-u:\b)|(?:Error|Exception)(?-u:\b)|(?-u:\b)(?:assert|Assert|ASSERT)",
    ))
    .ok()
});

/// Clips the longest text in a body, and keeps the lines that report failures and as many others as fit. Returns false, without a
/// change, if the body has no such text, no line reports a failure, or the text may take only half of the room or less.
pub(super) fn keep(body: &mut Vec<Block>, sizes: &[Option<BlockSize>], limit: BlockSize, keep: Keep) -> bool {
    let counted = |block: &Block, size: &Option<BlockSize>| match (block, size) {
        (Block::Code { .. }, Some(size)) => size.lines,
        _ => 0,
    };
    let lines = body.iter().zip(sizes).map(|(block, size)| counted(block, size));
    let Some((at, _)) = lines.enumerate().max_by_key(|(_, lines)| *lines) else { return false };
    let others = sizes.iter().enumerate().filter(|(other, _)| *other != at).filter_map(|(_, size)| *size);
    let others: BlockSize = others.sum();
    let room = BlockSize {
        lines: limit.lines.saturating_sub(others.lines),
        bytes: limit.bytes.saturating_sub(others.bytes),
    };
    let Some(Block::Code { text, .. }) = body.get(at) else { return false };
    if room.lines <= limit.lines / 2 || room.bytes <= limit.bytes / 2 || room.lines == usize::MAX {
        return false;
    }
    let Some(kept) = KeptLines::of(text, room, keep) else { return false };
    let parts = kept.parts();
    let Block::Code { text, lang, start, role } = body.remove(at) else { return true };
    let mut cut = Vec::with_capacity(2 * parts.len() + 1);
    let gap = |range: Range<usize>, cut: &mut Vec<Block>| {
        if !range.is_empty() {
            let feeds = memchr_iter(b'\n', text[range.clone()].as_bytes()).count();
            // A gap between two parts has one more line feed than lines.
            let is_between = range.start > 0 && range.end < text.len();
            let lines = (feeds - usize::from(is_between)) as u64;
            push_gap(cut, Block::Elided { lines, bytes: range.len() as u64 });
        }
    };
    let (mut end, mut line) = (0, 0);
    for part in parts {
        gap(end..part.start, &mut cut);
        line += memchr_iter(b'\n', text[end..part.start].as_bytes()).count() as u64;
        cut.push(Block::Code {
            text: text.slice(part.start, part.end),
            lang: lang.clone(),
            start: start.map(|start| start.saturating_add(line)),
            role,
        });
        line += memchr_iter(b'\n', text[part.clone()].as_bytes()).count() as u64;
        end = part.end;
    }
    gap(end..text.len(), &mut cut);
    body.splice(at..at, cut);
    true
}

/// The chosen lines of a text.
struct KeptLines<'t> {
    text: &'t str,
    /// The remaining room.
    room: BlockSize,
    /// The start and end of each line, without its line feed.
    lines: BTreeMap<usize, usize>,
}

impl<'t> KeptLines<'t> {
    /// Chooses lines; `None` if no line reports a failure.
    fn of(text: &'t str, room: BlockSize, keep: Keep) -> Option<Self> {
        let (certain, likely) = failures(text, room.lines);
        if certain.is_empty() && likely.is_empty() {
            return None;
        }
        let mut kept = Self { text, room, lines: BTreeMap::new() };
        // The end nearly always contains a summary, and the start shows what was run: some room is reserved for both.
        let for_ends = BlockSize { lines: room.lines / 3, bytes: room.bytes / 3 };
        kept.room = BlockSize { lines: room.lines - for_ends.lines, bytes: room.bytes - for_ends.bytes };
        let failures = || certain.iter().chain(&likely).cloned();
        for line in failures() {
            kept.choose(line.clone());
            kept.line_before(line.start).map(|line| kept.choose(line));
            kept.line_behind(line.end).map(|line| kept.choose(line));
        }
        failures().for_each(|line| kept.explanation(line.end));
        kept.room.lines += for_ends.lines;
        kept.room.bytes += for_ends.bytes;
        let for_head = match keep {
            Keep::Head => kept.room.lines,
            Keep::Tail => 0,
            Keep::HeadTail => kept.room.lines / 3,
        };
        kept.tail(for_head);
        kept.head();
        kept.fill_short_gaps();
        Some(kept)
    }

    /// Chooses a line if there is room for it.
    fn choose(&mut self, line: Range<usize>) -> bool {
        if self.lines.contains_key(&line.start) {
            return true;
        }
        if self.room.lines == 0 || line.len() > self.room.bytes {
            return false;
        }
        self.room.lines -= 1;
        self.room.bytes -= line.len();
        self.lines.insert(line.start, line.end);
        true
    }

    /// Chooses the lines after one that reports a failure, up to an empty one: they explain it.
    fn explanation(&mut self, mut end: usize) {
        for _ in 0..EXPLANATION {
            let Some(line) = self.line_behind(end).filter(|line| !line.is_empty()) else { return };
            end = line.end;
            if !self.choose(line) {
                return;
            }
        }
    }

    /// Chooses lines from the end backwards, until there is room for only `left` more.
    fn tail(&mut self, left: usize) {
        let mut next = Some(line_at(self.text, self.text.len()));
        while let Some(line) = next.filter(|_| self.room.lines > left) {
            let start = line.start;
            next = if self.choose(line) { self.line_before(start) } else { None };
        }
    }

    fn head(&mut self) {
        let mut next = Some(line_at(self.text, 0));
        while let Some(line) = next.filter(|_| self.room.lines > 0) {
            let end = line.end;
            next = if self.choose(line) { self.line_behind(end) } else { None };
        }
    }

    fn fill_short_gaps(&mut self) {
        let ends = [0].into_iter().chain(self.lines.values().map(|end| end + 1));
        let starts = self.lines.keys().copied().chain([self.text.len() + 1]);
        let gaps: Vec<Range<usize>> = ends
            .zip(starts)
            .filter(|(end, start)| end < start)
            .map(|(end, start)| end..start - 1)
            .filter(|gap| {
                gap.len() <= SHORT_GAP && memchr(b'\n', self.text[gap.clone()].as_bytes()).is_none()
            })
            .collect();
        self.lines.extend(gaps.into_iter().map(|gap| (gap.start, gap.end)));
    }

    fn line_before(&self, start: usize) -> Option<Range<usize>> {
        Some(line_at(self.text, start.checked_sub(1)?))
    }

    fn line_behind(&self, end: usize) -> Option<Range<usize>> {
        (end < self.text.len()).then(|| line_at(self.text, end + 1))
    }

    /// The parts of the text that consist of chosen lines, without their last line feeds.
    fn parts(&self) -> Vec<Range<usize>> {
        let mut parts: Vec<Range<usize>> = Vec::new();
        for (&start, &end) in &self.lines {
            match parts.last_mut() {
                Some(last) if last.end + 1 == start => last.end = end,
                _ => parts.push(start..end),
            }
        }
        parts
    }
}

/// The line that a position is in, without its line feed.
fn line_at(text: &str, at: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let start = memrchr(b'\n', &bytes[..at]).map_or(0, |feed| feed + 1);
    let end = memchr(b'\n', &bytes[at..]).map_or(text.len(), |feed| at + feed);
    start..end
}

/// The start of the first line that reports a failure: of one that certainly does, else of one that mentions an error.
pub fn first_failure(text: &str) -> Option<usize> {
    let (certain, likely) = failures(text, 1);
    certain.first().or(likely.first()).map(|line| line.start)
}

/// The first lines that report a failure: those that certainly do, and those that mention errors. At most `most` of each.
fn failures(text: &str, most: usize) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let (mut certain, mut likely) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(word) =
        FAILURE.as_ref().filter(|_| at <= text.len()).and_then(|words| words.find_at(text, at))
    {
        let line = line_at(text, word.start());
        let is_likely = word.as_str().starts_with(['e', 'E', 'a', 'A']);
        let found = if is_likely { &mut likely } else { &mut certain };
        at = if counts_none(&text[line.start..word.start()], &text[word.end()..line.end]) {
            word.end()
        } else {
            if found.len() < most {
                found.push(line.clone());
            }
            line.end + 1
        };
        if certain.len() == most {
            break;
        }
    }
    (certain, likely)
}

/// Whether the text around a word for failures means that there are none: `0 errors`, `no errors`, `errors: 0`.
fn counts_none(before: &str, behind: &str) -> bool {
    let before = before.trim_end();
    let is_none = |word: &str| matches!(word, "0" | "no" | "No" | "without");
    let count = behind.trim_start_matches([':', '=', ' ']);
    let is_counted = behind.starts_with([':', '=']);
    before.rsplit(|ch: char| ch.is_whitespace() || ch == '(').next().is_some_and(is_none)
        || is_counted && count.strip_prefix('0').is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of the lines that certainly report a failure, and of those that mention errors.
    fn found(lines: &[&str]) -> (Vec<usize>, Vec<usize>) {
        let text = lines.join("\n");
        let (certain, likely) = failures(&text, 99);
        let number = |line: Range<usize>| text[..line.start].matches('\n').count();
        (certain.into_iter().map(number).collect(), likely.into_iter().map(number).collect())
    }

    #[test]
    fn lines_that_report_failures_are_found() {
        let certain = [
            "not ok 5 - x",
            "FAIL src/a.test.js",
            "test a ... FAILED",
            "  ✗ sums up",
            "thread 'a' panicked at",
        ];
        assert_eq!(found(&certain), (vec![0, 1, 2, 3, 4], vec![]));
        let likely = [
            "error[E0308]: no",
            "TypeError: x",
            "Errors: 3",
            "ERROR x",
            "assert_eq!(1, 2)",
            "java.io.IOException: x",
        ];
        assert_eq!(found(&likely), (vec![], vec![0, 1, 2, 3, 4, 5]));
        let none = [
            "ok 1 - a",
            "# fail 0",
            "0 errors",
            "(no errors)",
            "errors: 0",
            "terrors",
            "errorless",
            "FAILOVER",
            "my_error",
        ];
        assert_eq!(found(&none), (vec![], vec![]));
        assert_eq!(found(&["0 errors, 1 FAILED"]), (vec![0], vec![]));
    }

    fn kept(text: &str, lines: usize, keep: Keep) -> Vec<&str> {
        let room = BlockSize { lines, bytes: usize::MAX };
        let kept = KeptLines::of(text, room, keep).unwrap();
        kept.parts().into_iter().map(|part| &text[part]).collect()
    }

    #[test]
    fn a_line_around_each_is_kept_then_the_end_then_the_start() {
        let text = "a\nb\nc\nd\nnot ok\ne\n\ng\nh\ni\nj\nk";
        assert_eq!(kept(text, 6, Keep::HeadTail), ["a", "d\nnot ok\ne", "j\nk"]);
        assert_eq!(kept(text, 6, Keep::Tail), ["d\nnot ok\ne", "i\nj\nk"]);
        assert_eq!(kept(text, 6, Keep::Head), ["a\nb\nc\nd\nnot ok\ne"]);
        assert_eq!(kept("z\na\nb\nFAIL\nc\nd\n\ne\nf\ng\nh", 6, Keep::Tail), ["b\nFAIL\nc\nd", "g\nh"]);
        // The line is shown instead of a gap of one line.
        assert_eq!(kept("a\nb\nnot ok\nc\nd", 4, Keep::Head), ["a\nb\nnot ok\nc\nd"]);
        assert_eq!(kept("x\ny\nz\nFAIL", 2, Keep::HeadTail), ["z\nFAIL"]);
    }
}
