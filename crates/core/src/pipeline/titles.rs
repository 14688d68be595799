//! The titles by which results name calls that aren't right above them.
//!
//! Two calls may have the same title: then a detail is added, the first line of their bodies in which they differ. A call that
//! wasn't shown is named with the first line of its body.

use std::collections::VecDeque;

use crate::clip::{floor, start_of};
use crate::entry::{Block, Entry, Line, Role};
use crate::item::Id;
use crate::text::Text;

/// How many titles are remembered.
const MOST_TITLES: usize = 32;
/// The longest detail after the title of a call that was shown, in bytes.
const MOST_OF_SHOWN: usize = 60;
/// The longest detail after the title of a call that wasn't shown, in bytes.
const MOST_OF_HIDDEN: usize = 200;

/// The titles of the calls that were shown last.
#[derive(Default)]
pub(super) struct CallTitles {
    shown: VecDeque<ShownTitle>,
}

struct ShownTitle {
    call: Id,
    title: Line,
    /// Distinguishes the call from another with the same title.
    detail: Option<(Role, Text)>,
}

impl CallTitles {
    /// Remembers the title of a call. Returns the last other call with the same title.
    pub(super) fn remember(&mut self, entry: &Entry) -> Option<Id> {
        // The allocation of the oldest title is reused.
        let oldest = if self.shown.len() == MOST_TITLES { self.shown.pop_front() } else { None };
        let mut title = oldest.map(|oldest| oldest.title).unwrap_or_default();
        title.clear();
        title.append(&entry.view.title);
        let same = self.shown.iter().rev().find(|other| other.title.is_same(&title));
        let same = same.map(|other| other.call.clone()).filter(|other| *other != entry.id);
        self.shown.push_back(ShownTitle { call: entry.id.clone(), title, detail: None });
        same
    }

    /// Distinguishes two calls with the same title by the first lines of their bodies that differ.
    pub(super) fn distinguish(&mut self, one: (&Id, &[Block]), other: (&Id, &[Block])) {
        let (mut lines, mut others) = (lines(one.1), lines(other.1));
        let differing = loop {
            match (lines.next(), others.next()) {
                (None, None) => return,
                (Some(line), Some(other)) if line.1 == other.1 => {}
                differing => break differing,
            }
        };
        let [line, other_line] = [differing.0, differing.1].map(|line| line.map_or("", |(_, text)| text));
        let same = line.bytes().zip(other_line.bytes()).take_while(|(byte, other)| byte == other).count();
        for (call, line) in [(one.0, differing.0), (other.0, differing.1)] {
            let Some(shown) = self.shown.iter_mut().rev().find(|shown| shown.call == *call) else { continue };
            if let (None, Some((role, line))) = (&shown.detail, line) {
                shown.detail = Some((role, around(line, same)));
            }
        }
    }

    /// The title of a call that was shown, with its detail, if it is remembered.
    pub(super) fn of(&self, call: &Id) -> Option<Line> {
        let shown = self.shown.iter().rev().find(|shown| shown.call == *call)?;
        let mut title = shown.title.clone();
        if let Some((role, detail)) = &shown.detail {
            add(&mut title, *role, detail);
        }
        Some(title)
    }
}

/// The title of a call that wasn't shown, with the first line of its body.
pub(super) fn of_hidden(mut title: Line, body: &[Block]) -> Line {
    if let Some((role, line)) = lines(body).next() {
        add(&mut title, role, &start_of(line, MOST_OF_HIDDEN));
    }
    title
}

fn add(title: &mut Line, role: Role, detail: &Text) {
    title.push("tool.note", Text::own("·"));
    title.push(role, detail);
}

/// The lines of a body that aren't blank, and their roles: of a command or another long argument.
fn lines(body: &[Block]) -> impl Iterator<Item = (Role, &str)> {
    let texts = body.iter().filter_map(Block::source);
    let lines = texts.flat_map(|(role, text)| text.split('\n').map(move |line| (role, line.trim())));
    lines.filter(|(_, line)| !line.is_empty())
}

/// A line, or as much of it as fits, from shortly before the byte `at`.
fn around(line: &str, at: usize) -> Text {
    if line.len() <= MOST_OF_SHOWN || at < MOST_OF_SHOWN / 2 {
        return start_of(line, MOST_OF_SHOWN);
    }
    let start = floor(line, at - MOST_OF_SHOWN / 3);
    Text::clean_owned(format!("…{}", &*start_of(&line[start..], MOST_OF_SHOWN)))
}
