//! The neighbours of an item, for `sessions show --at`.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use streamfmt::core::item::{Id, Item, Kind};
use streamfmt::core::observer::Observer;
use streamfmt::core::session::Session;

/// The most lines that an item and its neighbours may take.
const MOST: usize = 52;
/// The most items of a session that are kept on each side of the item.
const KEPT: usize = 16;
/// The width at which lines are expected to be wrapped.
const WIDTH: usize = 76;

/// Watches a session for an item, and keeps what is around it.
#[derive(Clone)]
pub(super) struct AroundItem {
    wanted: Id,
    seen: Arc<Mutex<SeenItems>>,
}

#[derive(Default)]
struct SeenItems {
    before: VecDeque<SeenItem>,
    /// The item and those after it. Empty until it has come.
    after: Vec<SeenItem>,
}

struct SeenItem {
    id: Id,
    /// The number of lines that it takes at most, with the limits of the profile `default`.
    lines: usize,
}

impl AroundItem {
    pub(super) fn new(id: &str) -> Self {
        Self { wanted: Id::from(id), seen: Arc::default() }
    }

    fn seen(&self) -> MutexGuard<'_, SeenItems> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The ids of the item and of its neighbours, as many as fit. `None` if the session doesn't have the item.
    pub(super) fn ids(&self) -> Option<Vec<String>> {
        let seen = self.seen();
        let mut after = seen.after.iter();
        let item = after.next()?;
        let mut ids = vec![item.id.as_str().to_owned()];
        let mut left = MOST.saturating_sub(item.lines);
        let mut sides: [&mut dyn Iterator<Item = &SeenItem>; 2] = [&mut after, &mut seen.before.iter().rev()];
        let mut is_open = [true; 2];
        while is_open != [false; 2] {
            for (side, is_open) in sides.iter_mut().zip(&mut is_open).filter(|(_, is_open)| **is_open) {
                // Each side ends with the first item that doesn't fit: there is no gap.
                let next = side.next().filter(|next| next.lines <= left);
                *is_open = next.is_some();
                ids.extend(next.map(|next| next.id.as_str().to_owned()));
                left -= next.map_or(0, |next| next.lines);
            }
        }
        Some(ids)
    }
}

impl Observer for AroundItem {
    fn item(&mut self, item: &Item, _: &Session) {
        let mut seen = self.seen();
        let is_after = !seen.after.is_empty();
        if !is_after && item.id != self.wanted {
            if seen.before.len() == KEPT {
                seen.before.pop_front();
            }
            seen.before.push_back(SeenItem { id: item.id.clone(), lines: lines_of(item) });
        } else if seen.after.len() <= KEPT {
            seen.after.push(SeenItem { id: item.id.clone(), lines: lines_of(item) });
        }
    }
}

/// The number of lines that an item takes at most, with those around it.
fn lines_of(item: &Item) -> usize {
    let wrapped = |text: &str| text.lines().map(|line| 1 + line.len() / WIDTH).sum::<usize>();
    let text = wrapped(&item.text());
    let most = match item.kind {
        // The text of an edit or a command is in the input, where a line feed has two characters.
        Kind::Call => {
            let input = item.input().map_or(0, |input| input.raw().matches("\\n").count());
            return 3 + (text + input).min(62);
        }
        Kind::Result if item.error => 40,
        Kind::Result => 20,
        Kind::Prompt => 24,
        Kind::Thinking => 12,
        Kind::Notice => 6,
        _ => usize::MAX,
    };
    3 + text.min(most)
}
