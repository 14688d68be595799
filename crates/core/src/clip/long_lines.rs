//! Shortens the long lines of a diff to the parts that changed.

use std::borrow::Cow;

use super::{ceil, floor};
use crate::entry::{Block, DiffLine, DiffLines, Hunk, LineChange, PairedLine};

/// The longest line that isn't shortened, in bytes.
const LONG: usize = 240;
/// How many characters are kept before and after the changed part.
const AROUND: usize = 60;
/// How many bytes of the changed part are kept, half of them at its start.
const CHANGED: usize = 400;

/// Shortens the long lines of diffs. Returns how many bytes were removed.
pub(super) fn shorten(body: &mut [Block]) -> usize {
    let hunks = body.iter_mut().filter_map(|block| match block {
        Block::Diff { hunks, .. } => Some(hunks),
        _ => None,
    });
    hunks.flatten().map(shorten_hunk).sum()
}

fn shorten_hunk(hunk: &mut Hunk) -> usize {
    if hunk.lines.iter().all(|line| line.text.len() <= LONG) {
        return 0;
    }
    let mut removed_bytes = 0;
    let mut short = DiffLines::default();
    hunk.paired_lines(|PairedLine { line, partner, .. }| {
        let text = shortened(line, partner);
        removed_bytes += line.text.len().saturating_sub(text.len());
        short.push(line.change, &text);
    });
    hunk.lines = short;
    removed_bytes
}

/// A line or, if it is long, the part that differs from `partner`, with a little text around it.
fn shortened<'t>(line: DiffLine<'t>, partner: Option<DiffLine<'_>>) -> Cow<'t, str> {
    let text = line.text;
    if text.len() <= LONG {
        return Cow::Borrowed(text);
    }
    let (start, end) = match (partner, line.change) {
        (Some(partner), _) => {
            let (start, end) = changed(text, partner.text);
            let before = text[..start].char_indices().rev().take(AROUND).last().map_or(start, |(at, _)| at);
            let behind = text[end..].char_indices().nth(AROUND).map_or(text.len(), |(at, _)| end + at);
            (floor(text, before), ceil(text, behind))
        }
        (None, LineChange::Keep) => (0, floor(text, LONG / 2)),
        (None, _) => (0, floor(text, CHANGED)),
    };
    let mut out = String::new();
    if start > 0 {
        out.push('…');
    }
    if end - start > CHANGED + 2 * AROUND {
        out.push_str(&text[start..floor(text, start + AROUND + CHANGED / 2)]);
        out.push_str(" … ");
        out.push_str(&text[ceil(text, end - AROUND - CHANGED / 2)..end]);
    } else {
        out.push_str(&text[start..end]);
    }
    if end < text.len() {
        out.push('…');
    }
    Cow::Owned(out)
}

/// The range of `text` between the beginning and the end that it has in common with `other`.
fn changed(text: &str, other: &str) -> (usize, usize) {
    let same = |pair: &(char, char)| pair.0 == pair.1;
    let start: usize = text.chars().zip(other.chars()).take_while(same).map(|(ch, _)| ch.len_utf8()).sum();
    let (text_rest, other_rest) = (&text[start..], &other[start..]);
    let end = text_rest.chars().rev().zip(other_rest.chars().rev()).take_while(same);
    (start, text.len() - end.map(|(ch, _)| ch.len_utf8()).sum::<usize>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(lines: &[(LineChange, &str)]) -> (Vec<String>, usize) {
        let lines = lines.iter().map(|&(change, text)| DiffLine { change, text }).collect();
        let hunk = Hunk { old_start: Some(1), new_start: Some(1), lines };
        let mut body = [Block::Diff { path: None, hunks: vec![hunk] }];
        let bytes = shorten(&mut body);
        let [Block::Diff { hunks, .. }] = &body else { panic!() };
        (hunks[0].lines.iter().map(|line| line.text.to_owned()).collect(), bytes)
    }

    #[test]
    fn the_changed_part_of_a_long_line_is_kept_with_a_little_around_it() {
        use LineChange::{Add, Keep, Remove};
        let (a, b) = ("a".repeat(5000), "é".repeat(5000));
        let around = |middle: &str| format!("…{}{middle}{}…", "a".repeat(60), "é".repeat(60));
        let (old, new) = (format!("{a}old{b}"), format!("{a}newer{b}"));
        let (shown, bytes) = lines(&[(Remove, &old), (Add, &new), (Keep, "short")]);
        assert_eq!(shown, [around("old"), around("newer"), "short".to_owned()]);
        assert_eq!(bytes, old.len() + new.len() - around("old").len() - around("newer").len());
        // Where a word was removed, only the text around it is kept.
        assert_eq!(lines(&[(Remove, &old), (Add, &format!("{a}{b}"))]).0[1], around(""));
        // If the whole line is new, its start is kept.
        assert_eq!(lines(&[(Add, &a)]).0, [format!("{}…", "a".repeat(400))]);
        assert_eq!(lines(&[(Keep, &a)]).0, [format!("{}…", "a".repeat(120))]);
        let (shown, _) = lines(&[(Remove, &a), (Add, &"b".repeat(5000))]);
        assert_eq!(shown[1], format!("{} … {}", "b".repeat(260), "b".repeat(260)));
        assert_eq!(
            lines(&[(Remove, "short"), (Add, "shorter")]),
            (vec!["short".into(), "shorter".into()], 0)
        );
    }
}
