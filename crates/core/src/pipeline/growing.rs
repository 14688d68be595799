//! What is said of items that still grow: of a long text the end, and no byte that is masked once it is whole.
//!
//! ```text
//! open item ─▶ end of its text ─▶ what is settled of it (redact) ─▶ formatters, masking, limits ─▶ Elided, entry
//! ```
//!
//! All of it costs no more than the end of the text does, however long the text is: what was left out is looked at once.

use std::sync::Arc;

use crate::entry::{Block, Entry};
use crate::fence::Fence;
use crate::item::{Content, Does, Fact, Id, Item, Kind};
use crate::json::{Record, left_out};
use crate::redact::Redactor;
use crate::session::{Map, Session};

use super::format::EntryStage;

/// Bytes of a growing text that are formatted at most. Of a longer one it is the end, from the start of a line if there is one
/// near; then it grows from three quarters of this again.
pub const GROWING_TEXT: usize = 16 << 10;
/// Texts whose beginnings are remembered: more can't grow at a time, unless a host allows it.
const MAX_TAILS: usize = 512;
/// Bytes before the end of a text that must be the same as before: else it is another text.
const MEMORY: usize = 32;
/// Longest name of a language behind a fence, in bytes.
const MAX_LANGUAGE: usize = 16;

/// The ends of growing texts, by the ids of their items.
#[derive(Default)]
pub(super) struct GrowingTexts(Map<Id, TextEnd>);

impl GrowingTexts {
    /// An item doesn't grow any longer.
    pub(super) fn forget(&mut self, id: &Id) {
        if !self.0.is_empty() {
            self.0.swap_remove(id);
        }
    }

    fn of(&mut self, id: &Id) -> &mut TextEnd {
        if self.0.len() >= MAX_TAILS && !self.0.contains_key(id) {
            self.0.clear();
        }
        self.0.entry(id.clone()).or_default()
    }
}

/// The end of a text that grows.
#[derive(Default)]
struct TextEnd {
    /// Where it begins.
    start: usize,
    /// The line feeds before it.
    lines: u64,
    /// The block of code that it begins in.
    fence: Fence,
    /// What is right before it.
    before: Vec<u8>,
}

impl TextEnd {
    /// Goes on to the end of `text`, which is the same as before or has grown.
    fn advance(&mut self, text: &str) {
        let is_same = text.as_bytes().get(..self.start).is_some_and(|begin| begin.ends_with(&self.before));
        if !is_same || !text.is_char_boundary(self.start) {
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
        let is_at_line = self.start == 0 || text.as_bytes()[self.start - 1] == b'\n';
        let lines = passed.split_inclusive('\n').skip(usize::from(!is_at_line));
        for line in lines.filter(|line| line.ends_with('\n')) {
            self.fence.pass(line.trim_end());
        }
        self.lines += memchr::memchr_iter(b'\n', passed.as_bytes()).count() as u64;
        self.start = start;
        self.before = text.as_bytes()[start.saturating_sub(MEMORY)..start].to_vec();
    }
}

/// The line that begins a fence again: its marks, and the language if that is a name. What else stands there was shown once.
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
    /// What is said of an item that still grows. Nothing of it is counted: it is once the item is whole, and how often it is
    /// formatted until then is a matter of pace. The error is the rule that hides it.
    pub(super) fn growing_entry(
        &mut self,
        item: &Item,
        session: &Session,
    ) -> Result<Box<Entry>, &'static str> {
        let mut elided = None;
        let shown = match &item.text {
            Content::Own(text) if item.kind != Kind::Call => Some(self.end_of(item, text, &mut elided)),
            _ => None,
        };
        self.chain.uncounted(|chain| {
            let shown = match (&mut chain.redactor, shown) {
                (Some(redactor), shown) => Some(settled(item, shown, redactor).ok_or("growing")?),
                (None, shown) => shown,
            };
            let mut entry = chain.entry(shown.as_ref().unwrap_or(item), session)?;
            if let Some(elided) = elided {
                entry.view.body.insert(0, elided);
            }
            Ok(entry)
        })
    }

    /// The item with no more of its text than its end, as far as that may be shown.
    fn end_of(&mut self, item: &Item, text: &str, elided: &mut Option<Block>) -> Item {
        let end = self.growing_texts.of(&item.id);
        end.advance(text);
        if end.start > 0 {
            *elided = Some(Block::Elided { lines: end.lines, bytes: end.start as u64 });
        }
        let is_at_line = end.start == 0 || text.as_bytes()[end.start - 1] == b'\n';
        let settled = match &self.chain.redactor {
            None => text[end.start..].to_owned(),
            // Its line began before, so that it isn't known what it is.
            Some(redactor) => {
                let line = text[end.start..].find('\n').map(|line| end.start + line + 1);
                let start = if is_at_line { Some(end.start) } else { line };
                start.map(|start| redactor.settled(text, start).into_string()).unwrap_or_default()
            }
        };
        let is_markdown = matches!(item.kind, Kind::Reply | Kind::Thinking | Kind::Prompt | Kind::Plan);
        let shown = match end.fence.open() {
            Some(fence) if is_markdown && !settled.is_empty() => format!("{}\n{settled}", begun_again(fence)),
            _ => settled,
        };
        Item { text: Content::Own(shown), ..item.copy_without_text() }
    }
}

/// What may be shown of an item that grows where secrets are masked; `shown`: the item with what may be shown of its text, if it has
/// one of its own. `None`: nothing.
fn settled(item: &Item, shown: Option<Item>, redactor: &mut Redactor) -> Option<Item> {
    let is_no_text = |(_, fact): &(&str, Fact)| matches!(fact, Fact::Bool(_) | Fact::Int(_) | Fact::Float(_));
    match (item.kind, shown) {
        // Each state of a list that is given anew is whole.
        (Kind::Plan, None) => Some(item.clone()),
        (Kind::Call, _) => {
            let is_streamed = matches!(item.text, Content::Own(_)) || item.fact("partial").is_some();
            if !is_streamed {
                return Some(item.clone());
            }
            let mut item = item.copy_without_text();
            let json = without_cut(&item).and_then(|input| redactor.settled_input(&input));
            // The nodes that it knows are those of the record before.
            item.growing = Some(Box::default());
            item.data.retain(is_no_text);
            item.does = item.does.filter(|does| matches!(does, Does::Input(_)));
            (item.at, item.block, item.input) = (None, None, None);
            item.record = json.and_then(|json| Record::from_line(json).ok()).map(Arc::new);
            item.input = item.record.as_ref().map(|record| record.root().node());
            Some(item)
        }
        (_, Some(shown)) if matches!(&shown.text, Content::Own(text) if text.is_empty()) => None,
        // What a record tells of them may be half a text.
        (_, Some(mut shown)) => {
            shown.data.retain(is_no_text);
            (shown.record, shown.at, shown.block, shown.input) = (None, None, None, None);
            Some(shown)
        }
        (_, None) => None,
    }
}

/// A call's input as JSON, in which strings of which the beginning is left out say that alone: a secret may have begun there.
fn without_cut(item: &Item) -> Option<String> {
    let (record, input) = (item.record.as_deref()?, item.input()?.raw());
    let mut json = input.to_owned();
    let cuts = item.growing.as_deref().map(|growing| growing.cuts.as_slice()).unwrap_or_default();
    let mut places: Vec<_> = cuts
        .iter()
        .filter_map(|(node, cut)| {
            let string = record.value(*node).raw();
            // Both are parts of one text.
            let start = string.as_ptr().addr().checked_sub(input.as_ptr().addr())?;
            Some((start..start + string.len(), left_out(cut.bytes)))
        })
        .collect();
    places.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
    for (place, said) in places {
        json.get(place.clone())?;
        json.replace_range(place, &format!("\"{said}\""));
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
