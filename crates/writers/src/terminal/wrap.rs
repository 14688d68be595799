//! Measures text in columns and breaks it into rows.
//!
//! Each character is processed a fixed number of times, whatever the text: a line of megabytes, or a
//! letter with two million accents, takes linear time.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use streamfmt_core::entry::Role;
use streamfmt_core::theme::Style;

/// The distance of tab stops.
pub(super) const TAB: usize = 4;

/// Spaces to pad with.
pub(super) const SPACES: &str =
    "                                                                                ";

/// A piece of a row: text with one style.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct StyledText<'a> {
    pub(super) text: &'a str,
    pub(super) role: Role,
    pub(super) style: Style,
    /// The target of its link, checked and encoded.
    pub(super) link: Option<&'a str>,
    /// Whether it is preformatted: written verbatim, and never split.
    pub(super) is_spelled: bool,
}

impl<'a> StyledText<'a> {
    /// Returns a piece of the same style with another text.
    pub(super) fn with(self, text: &'a str) -> Self {
        Self { text, ..self }
    }

    /// Returns blanks without a style.
    pub(super) fn blank(width: usize) -> Self {
        Self {
            text: spaces(width),
            role: Role::of("text"),
            style: Style::default(),
            link: None,
            is_spelled: false,
        }
    }
}

/// Returns `width` spaces, at most as many as [`SPACES`] has.
pub(super) fn spaces(width: usize) -> &'static str {
    &SPACES[..width.min(SPACES.len())]
}

/// Returns the columns that `text` takes. A tab counts as [`TAB`].
pub(super) fn width(text: &str) -> usize {
    if text.is_ascii() {
        return text.len() + text.bytes().filter(|&byte| byte == b'\t').count() * (TAB - 1);
    }
    let mut chars = text.chars();
    if let (Some(ch), None) = (chars.next(), chars.next()) {
        return ch.width().unwrap_or(0);
    }
    let mut rest = text;
    let mut width = 0;
    while let Some((length, columns)) = next(rest) {
        width += columns;
        rest = &rest[length..];
    }
    width
}

/// Returns the columns that `pieces` take.
pub(super) fn width_of(pieces: &[StyledText<'_>]) -> usize {
    pieces.iter().map(|piece| width(piece.text)).sum()
}

/// Returns the columns of the leading blanks of `pieces`.
pub(super) fn leading(pieces: &[StyledText<'_>]) -> usize {
    let mut columns = 0;
    for piece in pieces {
        for byte in piece.text.bytes() {
            match byte {
                b' ' => columns += 1,
                b'\t' => columns += TAB - columns % TAB,
                _ => return columns,
            }
        }
    }
    columns
}

/// Returns `pieces` with `columns` blanks instead of their leading ones.
pub(super) fn without_leading<'a>(pieces: &[StyledText<'a>], columns: usize) -> Vec<StyledText<'a>> {
    let mut moved = vec![StyledText::blank(columns)];
    let mut text = false;
    for piece in pieces {
        let kept = if text { piece.text } else { piece.text.trim_start_matches([' ', '\t']) };
        text |= !kept.is_empty();
        moved.push(piece.with(kept));
    }
    moved
}

/// Returns the bytes and columns of the first grapheme of `text`.
fn next(text: &str) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    match bytes {
        [] => None,
        [b'\t', ..] => Some((1, TAB)),
        // Nothing can combine with it: it is a grapheme.
        [0..=0x7f] | [0..=0x7f, 0..=0x7f, ..] => Some((1, 1)),
        _ => text.graphemes(true).next().map(|grapheme| (grapheme.len(), grapheme.width())),
    }
}

/// The class of a grapheme for breaking rows.
#[derive(Clone, Copy, PartialEq)]
enum BreakClass {
    Space,
    /// East Asian: a row may end before or after it.
    Wide,
    /// East Asian punctuation that begins no row.
    Closing,
    Other,
}

fn class(grapheme: &str, width: usize) -> BreakClass {
    match grapheme {
        " " | "\t" => BreakClass::Space,
        "、" | "。" | "，" | "．" | "」" | "』" | "）" | "】" | "》" | "！" | "？" | "：" | "；" => {
            BreakClass::Closing
        }
        _ if width == 2 => BreakClass::Wide,
        _ => BreakClass::Other,
    }
}

/// Breaks `pieces` into rows of at most `first` columns, then `rest` columns, and passes each to `row`.
///
/// Words that fit in a row aren't split. Blanks at a break and at the end are removed. A row is too wide only if
/// it is a single character that is wider than a whole row.
pub(super) fn rows<'a>(
    pieces: &[StyledText<'a>],
    first: usize,
    rest: usize,
    row: impl FnMut(&[StyledText<'a>]),
) {
    let mut rows = RowBreaker {
        pieces,
        parts: Vec::new(),
        used: 0,
        room: first,
        rest,
        stop: None,
        text: false,
        behind_wide: false,
        cut: false,
        row,
    };
    for (index, piece) in pieces.iter().enumerate() {
        if piece.is_spelled {
            let whole = RowPart { piece: index, start: 0, end: piece.text.len(), blanks: 0 };
            rows.put(whole, width(piece.text), BreakClass::Other);
        } else {
            rows.fill(index, piece.text);
        }
    }
    // Blanks after a full last row have already ended it.
    if !rows.cut || !rows.parts.is_empty() {
        rows.emit(rows.parts.len(), 0);
    }
}

/// A part of a row: bytes of one piece, or the blanks that a tab becomes.
#[derive(Clone, Copy)]
struct RowPart {
    piece: usize,
    start: usize,
    end: usize,
    blanks: usize,
}

/// A place where the row may end: after this many whole parts and this many bytes of the next.
#[derive(Clone, Copy)]
struct RowEnd {
    parts: usize,
    bytes: usize,
    used: usize,
}

struct RowBreaker<'p, 'a, F> {
    pieces: &'p [StyledText<'a>],
    /// The row so far.
    parts: Vec<RowPart>,
    used: usize,
    room: usize,
    /// The columns of the rows after the first.
    rest: usize,
    stop: Option<RowEnd>,
    /// Whether the row has anything but blanks.
    text: bool,
    /// Whether the last character was East Asian.
    behind_wide: bool,
    /// Whether the row begins at a break, so that blanks at its start are removed.
    cut: bool,
    row: F,
}

impl<'a, F: FnMut(&[StyledText<'a>])> RowBreaker<'_, 'a, F> {
    fn fill(&mut self, piece: usize, text: &str) {
        let mut at = 0;
        while let Some((length, columns)) = next(&text[at..]) {
            let (start, end) = (at, at + length);
            at = end;
            let grapheme = &text[start..end];
            if grapheme == "\t" {
                let blanks = TAB - self.used % TAB;
                self.put(RowPart { piece, start, end, blanks }, blanks, BreakClass::Space);
            } else if columns > 2 {
                // Some sequences are one grapheme of any number of wide characters.
                for (offset, ch) in grapheme.char_indices() {
                    let start = start + offset;
                    let part = RowPart { piece, start, end: start + ch.len_utf8(), blanks: 0 };
                    self.put(part, ch.width().unwrap_or(0), BreakClass::Other);
                }
            } else {
                self.put(RowPart { piece, start, end, blanks: 0 }, columns, class(grapheme, columns));
            }
        }
    }

    /// Adds a grapheme to the row. If the row is full, breaks it before.
    fn put(&mut self, part: RowPart, columns: usize, class: BreakClass) {
        if class == BreakClass::Space && self.cut && self.parts.is_empty() {
            return;
        }
        let parts_here = class == BreakClass::Wide || (class == BreakClass::Other && self.behind_wide);
        if parts_here && self.text {
            self.stop_here();
        }
        self.behind_wide = matches!(class, BreakClass::Wide | BreakClass::Closing);
        while self.used + columns > self.room && self.used > 0 {
            match self.stop.take() {
                // Blanks at the end of a full row are removed by the break.
                _ if class == BreakClass::Space && self.text => {
                    self.emit(self.parts.len(), 0);
                    return;
                }
                Some(stop) => {
                    let left = self.used - stop.used;
                    self.emit(stop.parts, stop.bytes);
                    self.used = left;
                    self.text = left > 0;
                }
                None => self.emit(self.parts.len(), 0),
            }
        }
        match self.parts.last_mut() {
            Some(last)
                if last.piece == part.piece
                    && last.end == part.start
                    && last.blanks == 0
                    && part.blanks == 0 =>
            {
                last.end = part.end;
            }
            _ => self.parts.push(part),
        }
        self.used += columns;
        match class {
            BreakClass::Space if self.text => self.stop_here(),
            BreakClass::Space => {}
            BreakClass::Wide | BreakClass::Closing | BreakClass::Other => self.text = true,
        }
    }

    fn stop_here(&mut self) {
        let (parts, bytes) = match self.parts.last() {
            // The last part may still grow, so the place is within it, at its current end.
            Some(last) if last.blanks == 0 => (self.parts.len() - 1, last.end - last.start),
            _ => (self.parts.len(), 0),
        };
        self.stop = Some(RowEnd { parts, bytes, used: self.used });
    }

    /// Passes on the row up to a place, and keeps the rest.
    fn emit(&mut self, parts: usize, bytes: usize) {
        let mut behind = self.parts.split_off(parts);
        if bytes > 0
            && let Some(first) = behind.first_mut()
        {
            let middle = first.start + bytes;
            self.parts.push(RowPart { end: middle, ..*first });
            first.start = middle;
            if first.start == first.end {
                behind.remove(0);
            }
        }
        let mut row: Vec<StyledText<'a>> = self.parts.iter().map(|part| self.piece(*part)).collect();
        (self.row)(trimmed(&mut row));
        self.parts = behind;
        self.used = 0;
        self.room = self.rest;
        self.stop = None;
        self.text = false;
        self.cut = true;
    }

    fn piece(&self, part: RowPart) -> StyledText<'a> {
        let piece = self.pieces[part.piece];
        if part.blanks > 0 {
            piece.with(spaces(part.blanks))
        } else {
            piece.with(&piece.text[part.start..part.end])
        }
    }
}

/// Removes the blanks at the end of `row`.
pub(super) fn trimmed<'r, 'a>(row: &'r mut Vec<StyledText<'a>>) -> &'r [StyledText<'a>] {
    while let Some(last) = row.last_mut() {
        last.text = last.text.trim_end_matches([' ', '\t']);
        if !last.text.is_empty() {
            break;
        }
        row.pop();
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(text: &str, first: usize, rest: usize) -> Vec<String> {
        let piece = |text| StyledText { text, ..StyledText::blank(0) };
        // The same text in one piece and cut in two must give the same rows.
        let middle =
            text.grapheme_indices(true).map(|(at, _)| at).find(|&at| at >= text.len() / 2).unwrap_or(0);
        let both = [vec![piece(text)], vec![piece(&text[..middle]), piece(&text[middle..])]].map(|pieces| {
            let mut out = Vec::new();
            rows(&pieces, first, rest, |row| {
                out.push(row.iter().map(|piece| piece.text).collect::<String>());
            });
            out
        });
        assert_eq!(both[0], both[1]);
        both[0].clone()
    }

    #[test]
    fn words_stay_whole_where_they_fit() {
        assert_eq!(broken("the quick  brown fox", 10, 10), ["the quick", "brown fox"]);
        assert_eq!(broken("the quick", 9, 4), ["the quick"]);
        assert_eq!(broken("aaaa   ", 4, 4), ["aaaa"]);
        assert_eq!(broken("aaaa   b", 4, 4), ["aaaa", "b"]);
        assert_eq!(broken("a bbbbbbbbb c", 4, 4), ["a", "bbbb", "bbbb", "b c"]);
        assert_eq!(broken("", 4, 4), [""]);
    }

    #[test]
    fn wide_characters_and_joined_ones_are_never_torn() {
        assert_eq!(broken("日本語のテキスト。", 8, 8), ["日本語の", "テキス", "ト。"]);
        assert_eq!(broken("ab👨\u{200d}👩\u{200d}👧cd", 4, 4), ["ab👨\u{200d}👩\u{200d}👧", "cd"]);
        assert_eq!(broken("e\u{301}e\u{301}e\u{301}", 2, 2), ["e\u{301}e\u{301}", "e\u{301}"]);
    }

    #[test]
    fn tabs_become_blanks_up_to_the_next_stop() {
        assert_eq!(broken("a\tb\tc", 20, 20), ["a   b   c"]);
        assert_eq!(width("a\tb"), 6);
    }

    #[test]
    fn a_grapheme_of_many_wide_characters_is_broken_all_the_same() {
        let text = "\u{1100}".repeat(100);
        assert!(broken(&text, 10, 10).iter().all(|row| row.chars().count() == 5));
    }

    #[test]
    fn a_letter_under_two_million_accents_is_one_grapheme() {
        let text = format!("a{} b", "\u{301}".repeat(2_000_000));
        assert_eq!(broken(&text, 2, 2).len(), 2);
    }
}
