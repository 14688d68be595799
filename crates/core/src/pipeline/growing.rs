//! Formats items that still grow: of a long text only the end, and no byte that will be masked once the text is complete.
//!
//! ```text
//! open item ─▶ end of its text ─▶ its settled part (redact) ─▶ formatters, masking, limits ─▶ Elided, entry
//! ```
//!
//! The cost depends on the length of that end, not on the length of the text: what was left out is scanned only once.

use crate::entry::Block;
use crate::fence::Fence;
use crate::item::{Content, Does, Fact, Item, Kind};
use crate::json::{Record, left_out};
use crate::redact::Redactor;
use crate::session::Session;

use super::format::{EntryResult, EntryStage};

/// How many bytes of a growing text are formatted at most. Of a longer text only the end is, from the start of a line if there is one
/// nearby. The end is cut to three quarters of this and grows again until it is too long.
pub const GROWING_TEXT: usize = 16 << 10;
/// How many text ends are remembered. No more texts can grow at a time, unless a host raises the limit of open items.
const MAX_TAILS: usize = 512;
/// How many bytes before the shown end must be unchanged for a text to count as the same.
const MEMORY: usize = 32;
/// The longest name of a language after a fence, in bytes.
const MAX_LANGUAGE: usize = 16;

/// The shown end of a growing text.
#[derive(Default)]
pub(super) struct TextEnd {
    /// Its offset in the text, in bytes.
    start: usize,
    /// The number of line feeds before it.
    lines: u64,
    /// The code block that it begins in.
    fence: Fence,
    /// The bytes right before it.
    before: Vec<u8>,
}

impl TextEnd {
    /// Moves forward to the end of `text`. Starts over if `text` isn't the previous text or a continuation of it.
    fn advance(&mut self, text: &str) {
        if !text.get(..self.start).is_some_and(|begin| begin.as_bytes().ends_with(&self.before)) {
            *self = Self::default();
        }
        if text.len() - self.start <= GROWING_TEXT {
            return;
        }
        let mut start = text.len() - GROWING_TEXT / 4 * 3;
        let line = memchr::memchr(b'\n', &text.as_bytes()[start..text.len() - GROWING_TEXT / 4]);
        match line {
            Some(end) => start += end + 1,
            None => start = (start..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len()),
        }
        let passed = &text[self.start..start];
        let lines = passed.split_inclusive('\n').skip(usize::from(!self.is_at_line()));
        for line in lines.filter(|line| line.ends_with('\n')) {
            self.fence.pass(line.trim_end());
        }
        self.lines += memchr::memchr_iter(b'\n', passed.as_bytes()).count() as u64;
        self.start = start;
        self.before = text.as_bytes()[start.saturating_sub(MEMORY)..start].to_vec();
    }

    /// Whether it begins at the beginning of a line.
    fn is_at_line(&self) -> bool {
        self.before.last().is_none_or(|byte| *byte == b'\n')
    }
}

/// The line that reopens a code block: the marks of its fence, and the language if that is a name. The rest of the line was shown before.
fn begun_again(fence: &str) -> String {
    let marks = fence.trim_start_matches(' ').trim_start_matches(['`', '~']);
    let is_part = |ch: char| ch.is_ascii_alphanumeric() || "+#-._".contains(ch);
    let name = marks.split_whitespace().next().filter(|name| {
        name.len() <= MAX_LANGUAGE
            && name.starts_with(|ch: char| ch.is_ascii_alphabetic())
            && name.chars().all(is_part)
    });
    fence[..fence.len() - marks.len()].to_owned() + name.unwrap_or_default()
}

impl EntryStage {
    /// Formats an item that still grows. Nothing is counted, because how often this happens depends on the pace: the complete item is
    /// counted.
    pub(super) fn growing_entry(&mut self, item: &Item, session: &Session) -> EntryResult {
        let (shown, elided) = match &item.text {
            Content::Own(text) if item.kind != Kind::Call => self.end_of(item, text),
            _ => (None, None),
        };
        self.chain.uncounted(|chain| {
            let shown = match &mut chain.redactor {
                Some(redactor) => Some(settled(item, shown, redactor).ok_or("growing")?),
                None => shown,
            };
            let mut entry = chain.entry(shown.as_ref().unwrap_or(item), session)?;
            entry.view.body.splice(0..0, elided);
            Ok(entry)
        })
    }

    /// Cuts an item to the end of its text, as far as that may be shown. Also returns the block that stands for the beginning, if that is
    /// left out.
    fn end_of(&mut self, item: &Item, text: &str) -> (Option<Item>, Option<Block>) {
        if self.growing_texts.len() >= MAX_TAILS && !self.growing_texts.contains_key(&item.id) {
            self.growing_texts.clear();
        }
        let end = self.growing_texts.entry(item.id.clone()).or_default();
        end.advance(text);
        let rest = &text[end.start..];
        let settled = match &self.chain.redactor {
            None => rest.to_owned(),
            Some(redactor) => {
                // A line whose beginning is missing can't be checked for secrets.
                let line = if end.is_at_line() { Some(0) } else { rest.find('\n').map(|line| line + 1) };
                line.map(|line| redactor.settled(text, end.start + line).into_string()).unwrap_or_default()
            }
        };
        let is_markdown = matches!(item.kind, Kind::Reply | Kind::Thinking | Kind::Prompt | Kind::Plan);
        let shown = match end.fence.open() {
            Some(fence) if is_markdown && !settled.is_empty() => format!("{}\n{settled}", begun_again(fence)),
            _ => settled,
        };
        let elided = Block::Elided { lines: end.lines, bytes: end.start as u64 };
        let shown = Item { text: Content::Own(shown), ..item.copy_without_text() };
        (Some(shown), Some(elided).filter(|_| end.start > 0))
    }
}

/// The part of a growing item that may be shown if secrets are masked; `None` if none may. `shown`: the item with the part of its text
/// that may be shown, if its text was streamed.
fn settled(item: &Item, shown: Option<Item>, redactor: &mut Redactor) -> Option<Item> {
    let is_streamed = || matches!(item.text, Content::Own(_)) || item.fact("partial").is_some();
    let mut shown = match (item.kind, shown) {
        // A plan is replaced as a whole, so each state of it is complete.
        (Kind::Plan, None) => return Some(item.clone()),
        (Kind::Call, _) if !is_streamed() => return Some(item.clone()),
        (Kind::Call, _) => item.copy_without_text(),
        (_, Some(shown)) if !shown.text().is_empty() => shown,
        _ => return None,
    };
    // Texts in its facts and its record may be incomplete.
    shown.data.retain(|(_, fact)| matches!(fact, Fact::Bool(_) | Fact::Int(_) | Fact::Float(_)));
    (shown.record, shown.at, shown.block, shown.input) = (None, None, None, None);
    if item.kind == Kind::Call {
        let json = without_cut(item).and_then(|input| redactor.settled_input(&input));
        shown.record = json.and_then(|json| Record::from_line(json).ok());
        shown.input = shown.record.as_ref().map(|record| record.root().node());
        shown.does = shown.does.filter(|does| matches!(does, Does::Input(_)));
        // Its nodes belong to the original record.
        shown.growing = Some(Box::default());
    }
    Some(shown)
}

/// A call's input as JSON. A string whose beginning is left out is replaced by a note that says so: a secret may have begun there.
fn without_cut(item: &Item) -> Option<String> {
    let (record, input) = (item.record.as_ref()?, item.input()?.raw());
    let mut json = input.to_owned();
    let cuts = item.growing.as_deref().map(|growing| growing.cuts.as_slice()).unwrap_or_default();
    let mut places: Vec<_> = cuts
        .iter()
        .filter_map(|(node, cut)| {
            let string = record.value(*node).raw();
            // Both are slices of the record's text.
            let start = string.as_ptr().addr().checked_sub(input.as_ptr().addr())?;
            Some((start..start + string.len(), left_out(cut.bytes)))
        })
        .collect();
    places.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
    for (place, note) in places {
        json.get(place.clone())?;
        json.replace_range(place, &format!("\"{note}\""));
    }
    Some(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_text_begins_at_a_line_and_knows_its_fence() {
        let mut text = "intro\n".repeat(100);
        text.push_str("  ```rust\n");
        let mut end = TextEnd::default();
        for number in 0..4_000 {
            text.extend(["let x = ", &number.to_string(), ";\n"]);
            end.advance(&text);
            let shown = text.len() - end.start;
            assert!(shown <= GROWING_TEXT && (end.start == 0 || shown >= GROWING_TEXT / 2));
            assert!(end.start == 0 || text[..end.start].ends_with('\n'));
            assert_eq!(end.lines, text[..end.start].matches('\n').count() as u64);
        }
        assert_eq!(end.fence.open(), Some("  ```rust"));
        text.push_str("```\n");
        text.push_str(&"é".repeat(GROWING_TEXT));
        end.advance(&text);
        assert_eq!(end.fence.open(), None);
        assert!(text.len() - end.start <= GROWING_TEXT, "a line without an end is cut");
    }

    #[test]
    fn another_text_begins_anew() {
        let mut end = TextEnd::default();
        end.advance(&"one\n".repeat(10_000));
        assert!(end.start > 0);
        end.advance(&"two\n".repeat(10_001));
        let begun = end.start;
        end.advance("short");
        assert_eq!((begun > 0, end.start, end.lines), (true, 0, 0));
    }
}
