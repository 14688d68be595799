//! Writes the hunks of a diff as rows: line number, mark and text. In paired lines, the changed words are highlighted.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use similar::{Algorithm, DiffOp, capture_diff_slices};
use unicode_segmentation::UnicodeSegmentation;

use super::Look;
use super::block::digits;
use super::rows::{RowWriter, glyph};
use super::wrap::{self, StyledText};
use crate::highlight::{self, HighlightedText, Highlighter};
use streamfmt_core::entry::{DiffLine, Hunk, LineChange, PairedLine, Role};

/// The longest lines that are compared word by word, in bytes.
const MAX_COMPARED: usize = 500;

/// The first number of words with several bytes: the number of a one-byte word is that byte.
const FIRST_NUMBER: u16 = 256;

/// The most bytes of a hunk whose syntax is highlighted.
const MAX_PAINTED: usize = 64 * 1024;

/// Returns the text of a new file and the number of its first line, if the hunks are one with only added lines. Such a file is shown as
/// code, since there are no other lines to distinguish.
pub(super) fn new_file(hunks: &[Hunk]) -> Option<(String, u64)> {
    let [Hunk { old_start: None, new_start: Some(start), lines }] = hunks else { return None };
    if lines.iter().any(|line| line.change != LineChange::Add) {
        return None;
    }
    let mut text = String::with_capacity(lines.iter().map(|line| line.text.len() + 1).sum());
    for (at, line) in lines.iter().enumerate() {
        text.push_str(if at == 0 { "" } else { "\n" });
        text.push_str(line.text);
    }
    Some((text, *start))
}

pub(super) fn write(writer: &mut RowWriter<'_>, path: Option<&str>, hunks: &[Hunk]) {
    let digits = hunks.iter().map(last_number).max().filter(|last| *last > 0).map(digits);
    let look = writer.look();
    let marks = ["diff-keep", "diff-add", "diff-remove"].map(|name| {
        let shape = glyph(look, name);
        let columns = wrap::width(shape);
        let text = [wrap::spaces(1 - columns.min(1)), shape, " "].concat();
        DiffMark { text, columns: columns.max(1) + 1 }
    });
    let mut gutter = Gutter { digits, number: String::new(), marks };
    for (at, hunk) in hunks.iter().enumerate() {
        if at > 0 {
            writer.line(&[look.piece("diff.hunk", glyph(look, "diff-hunk"))], 0);
        }
        write_hunk(writer, hunk, &mut gutter, syntax_of(look, path, hunk));
    }
}

/// The part of a row before the text of its line.
struct Gutter {
    /// The number of digits of the largest line number, if lines have numbers.
    digits: Option<usize>,
    /// The formatted number of the current line.
    number: String,
    /// The marks of kept, added and removed lines.
    marks: [DiffMark; 3],
}

/// The mark between the number of a line and its text.
struct DiffMark {
    text: String,
    columns: usize,
}

impl Gutter {
    /// Puts the line number before the next row, if lines have numbers.
    fn begin(&mut self, number: Option<u64>, writer: &mut RowWriter<'_>) {
        let Some(digits) = self.digits else { return };
        let number = number.map(|number| number.to_string()).unwrap_or_default();
        self.number.clear();
        self.number.push_str(wrap::spaces(digits.saturating_sub(number.len())));
        self.number.push_str(&number);
        writer.mark(writer.look().piece("diff.number", &self.number), digits);
    }
}

/// Returns the largest line number of a hunk; 0 if it has none.
fn last_number(hunk: &Hunk) -> u64 {
    let starts = hunk.old_start.max(hunk.new_start);
    starts.map_or(0, |start| start.saturating_add(hunk.lines.len() as u64))
}

/// Returns a highlighter for the syntax of a hunk. Only if added and removed lines have backgrounds: otherwise the colours of the syntax
/// would hide which lines changed.
fn syntax_of(look: &Look, path: Option<&str>, hunk: &Hunk) -> Option<Highlighter> {
    let has_grounds = ["diff.add", "diff.remove"].into_iter().all(|role| look.style(role).bg.is_some());
    if !look.is_ansi() || !has_grounds {
        return None;
    }
    let syntax = Highlighter::of(highlight::language_of(path?)?)?;
    let bytes: usize = hunk.lines.iter().map(|line| line.text.len()).sum();
    (bytes <= MAX_PAINTED).then_some(syntax)
}

fn write_hunk(writer: &mut RowWriter<'_>, hunk: &Hunk, gutter: &mut Gutter, mut syntax: Option<Highlighter>) {
    let fill = writer.room().map(|room| widest(hunk).min(room));
    let (mut syntax_of_old, mut before) = (None, LineChange::Keep);
    hunk.paired_lines(|PairedLine { line, partner, numbers: [old, new] }| {
        let is_old = line.change == LineChange::Remove;
        if is_old && before != LineChange::Remove {
            // Added lines start in the same syntax as the removed ones: in a comment, or not.
            syntax_of_old.clone_from(&syntax);
        }
        before = line.change;
        let level = writer.level();
        gutter.begin(if is_old { old } else { new }, writer);
        let syntax = if is_old { &mut syntax_of_old } else { &mut syntax };
        write_line(writer, line, partner, &gutter.marks, fill, syntax.as_mut());
        writer.dedent(level);
    });
}

/// Returns the columns of the widest line, with its mark.
fn widest(hunk: &Hunk) -> usize {
    hunk.lines.iter().map(|line| wrap::width(line.text)).max().unwrap_or(0) + 2
}

fn write_line(
    writer: &mut RowWriter<'_>,
    line: DiffLine<'_>,
    partner: Option<DiffLine<'_>>,
    [keep, add, remove]: &[DiffMark; 3],
    fill: Option<usize>,
    syntax: Option<&mut Highlighter>,
) {
    let look = writer.look();
    let (role, word, mark) = match line.change {
        LineChange::Keep => (Role::of("diff.keep"), Role::of("diff.keep"), keep),
        LineChange::Add => (Role::of("diff.add"), Role::of("diff.add.word"), add),
        LineChange::Remove => (Role::of("diff.remove"), Role::of("diff.remove.word"), remove),
    };
    let style = look.style(role);
    let ground = fill.map(|fill| (style, fill));
    let hang = mark.columns;
    let mark = StyledText { text: &mark.text, role, style, ..StyledText::blank(0) };
    let parts = partner.filter(|_| look.is_ansi()).and_then(|partner| changed(line.text, partner.text));
    let painted = syntax.and_then(|syntax| syntax.line(line.text));
    if parts.is_none() && painted.is_none() {
        return writer.filled(&[mark, mark.with(line.text)], hang, ground);
    }
    let parts = parts.unwrap_or_else(|| vec![(line.text, false)]);
    let painted = painted.unwrap_or_else(|| vec![(line.text, None)]);
    let mut pieces = vec![mark];
    for (text, changed, syntax) in overlaid(&parts, &painted) {
        let piece = look.piece(if changed { word } else { role }, text);
        let own = syntax.and_then(|syntax| look.exact_style(syntax)).unwrap_or_default();
        pieces.push(StyledText { style: own.over(piece.style), ..piece });
    }
    writer.filled(&pieces, hang, ground);
}

/// Combines two ways to split a line: by changed words, and by syntax.
fn overlaid<'a>(
    words: &[(&'a str, bool)],
    painted: &[HighlightedText<'a>],
) -> Vec<(&'a str, bool, Option<Role>)> {
    let mut parts = Vec::with_capacity(words.len() + painted.len());
    let mut painted = painted.iter().copied();
    let mut left = painted.next();
    for &(mut text, changed) in words {
        while let Some((paint, syntax)) = left.filter(|_| !text.is_empty()) {
            let (part, rest) = text.split_at(text.len().min(paint.len()));
            parts.push((part, changed, syntax));
            text = rest;
            left = match &paint[part.len()..] {
                "" => painted.next(),
                paint => Some((paint, syntax)),
            };
        }
    }
    parts
}

/// Splits `text` into parts that `other` has, too, and parts that are changed (true). `None` if less than half of it is in `other`: then
/// the parts would be of no use.
pub(crate) fn changed<'a>(text: &'a str, other: &str) -> Option<Vec<(&'a str, bool)>> {
    if text.len() > MAX_COMPARED || other.len() > MAX_COMPARED {
        return None;
    }
    let (mine, theirs) = (words(text), words(other));
    let mut known = WordNumbers::default();
    let (my_numbers, their_numbers) = (numbers_of(&mine, &mut known), numbers_of(&theirs, &mut known));
    let all = solid(text);
    let is_useful = |kept: usize| kept * 2 >= all && kept > 0;
    // The words that both have, in any order, are an upper limit: most lines with little in common end here.
    if !is_useful(shared(&mine, &my_numbers, &their_numbers)) {
        return None;
    }
    let mut parts: Vec<(&str, bool)> = Vec::new();
    let mut rest = text;
    let mut kept = 0;
    for operation in capture_diff_slices(Algorithm::Myers, &my_numbers, &their_numbers) {
        let range = operation.old_range();
        if range.is_empty() {
            continue;
        }
        let same = matches!(operation, DiffOp::Equal { .. });
        let length: usize = mine[range].iter().map(|word| word.len()).sum();
        let (part, behind) = rest.split_at(length);
        rest = behind;
        if same {
            kept += solid(part);
        }
        parts.push((part, !same));
    }
    is_useful(kept).then_some(parts)
}

/// Returns the number of bytes of `text` that aren't blank.
fn solid(text: &str) -> usize {
    text.chars().filter(|ch| !ch.is_whitespace()).map(char::len_utf8).sum()
}

/// Returns the number of bytes of the words that both have, in any order.
fn shared(mine: &[&str], my_numbers: &[u16], their_numbers: &[u16]) -> usize {
    let most = my_numbers.iter().chain(their_numbers).max().copied().unwrap_or(0);
    let mut left = vec![0_u16; usize::from(most) + 1];
    for number in their_numbers {
        left[usize::from(*number)] += 1;
    }
    let mut shared = 0;
    for (word, number) in mine.iter().zip(my_numbers) {
        let left = &mut left[usize::from(*number)];
        if *left > 0 {
            *left -= 1;
            shared += solid(word);
        }
    }
    shared
}

/// The numbers of words with several bytes.
type WordNumbers<'w> = HashMap<&'w str, u16, FixedState>;

/// Returns a number for each word, equal ones for equal words, since words are compared many times. The numbers fit, since a compared
/// line has at most [`MAX_COMPARED`] bytes.
fn numbers_of<'w>(words: &[&'w str], known: &mut WordNumbers<'w>) -> Vec<u16> {
    let number = |word: &&'w str| {
        // Most characters between words are one byte, which is its own number.
        if let [byte] = word.as_bytes() {
            return u16::from(*byte);
        }
        let next = FIRST_NUMBER + known.len() as u16;
        *known.entry(word).or_insert(next)
    };
    words.iter().map(number).collect()
}

/// Splits a line of code into words and the graphemes between them.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::with_capacity(text.len() / 2);
    let mut rest = text;
    while !rest.is_empty() {
        let (word, behind) = rest.split_at(first_word(rest));
        words.push(word);
        rest = behind;
    }
    words
}

/// Returns the length of the word or grapheme at the start of a text.
fn first_word(text: &str) -> usize {
    let is_word = |ch: char| ch.is_alphanumeric() || ch == '_';
    match text.as_bytes() {
        // An ASCII character before another is a grapheme, except in CRLF.
        [first, next, ..]
            if first.is_ascii() && next.is_ascii() && *first != b'\r' && !is_word(char::from(*first)) =>
        {
            1
        }
        _ => match text.find(|ch| !is_word(ch)) {
            Some(0) => text.graphemes(true).next().map_or(text.len(), str::len),
            Some(length) => length,
            None => text.len(),
        },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A simple implementation of [`changed`].
    fn changed_plainly<'a>(text: &'a str, other: &str) -> Option<Vec<(&'a str, bool)>> {
        let (mine, theirs) = (words_plainly(text), words_plainly(other));
        let mut parts = Vec::new();
        let (mut at, mut kept) = (0, 0);
        for operation in capture_diff_slices(Algorithm::Myers, &mine, &theirs) {
            let length: usize = mine[operation.old_range()].iter().map(|word| word.len()).sum();
            let (part, same) = (&text[at..at + length], matches!(operation, DiffOp::Equal { .. }));
            at += length;
            kept += if same { solid(part) } else { 0 };
            parts.extend((length > 0).then_some((part, !same)));
        }
        (kept * 2 >= solid(text) && kept > 0).then_some(parts)
    }

    fn words_plainly(text: &str) -> Vec<&str> {
        let mut words = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            let length = rest.find(|ch: char| !ch.is_alphanumeric() && ch != '_').unwrap_or(rest.len());
            let length = if length > 0 { length } else { rest.graphemes(true).next().unwrap().len() };
            words.push(&rest[..length]);
            at += length;
        }
        words
    }

    proptest! {
        #[test]
        fn no_short_cut_changes_what_is_found(
            text in "(a|b|ab|cd|_x|é|漢字|e\u{301}|👩\u{200d}👧|\u{301}| |  |\r\n|\u{a0}|\\(|\\)|;|->|=|1){0,24}",
            other in "(a|b|ab|cd|_x|é|漢字|e\u{301}|👩\u{200d}👧|\u{301}| |  |\r\n|\u{a0}|\\(|\\)|;|->|=|1){0,24}",
            cut in 0_usize..24,
        ) {
            prop_assert_eq!(words(&text), words_plainly(&text));
            // The same with a text that resembles it.
            let words = words_plainly(&text);
            let (start, end) = words.split_at(cut.min(words.len()));
            let alike = [&*start.concat(), &*other, &*end.concat()].concat();
            for other in [&other, &alike] {
                prop_assert_eq!(changed(&text, other), changed_plainly(&text, other));
                prop_assert_eq!(changed(other, &text), changed_plainly(other, &text));
            }
        }
    }

    #[test]
    fn changed_words_are_found_where_lines_resemble_each_other() {
        assert_eq!(
            changed("let total = items.sum();", "let total = items.count();"),
            Some(vec![("let total = items.", false), ("sum", true), ("();", false)])
        );
        assert_eq!(changed("entirely", "different"), None);
        assert_eq!(changed(&"a ".repeat(400), "a"), None);
        assert_eq!(changed("", ""), None);
    }
}
