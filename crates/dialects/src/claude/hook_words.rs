//! What hooks said at the end of a turn: a history has it in up to three lines.

use crate::facts::echoed;
use streamfmt_core::event::Event;
use streamfmt_core::hash::hash;
use streamfmt_core::item::{FactRef, Item, Kind};

/// The most lines that are remembered.
const MOST_LINES: usize = 512;
/// The heading that the program puts above a hook's words.
const HEADING: &str = "Stop hook feedback:";

/// The lines that hooks said since the last reply.
#[derive(Default)]
pub(super) struct HookWords(Vec<u64>);

impl HookWords {
    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Marks notices whose words an earlier one has as echoes, and remembers the words of the others.
    pub(super) fn mark_repeated(&mut self, events: &mut [Event]) {
        for event in events {
            let Event::Put(item) = event else { continue };
            if item.kind != Kind::Notice || !is_shown_at_end(item) {
                continue;
            }
            let text = item.text();
            let lines = text.lines().map(said).filter(|line| !line.is_empty()).map(hash);
            let lines: Vec<u64> = lines.take(MOST_LINES + 1).collect();
            if lines.is_empty() || lines.len() > MOST_LINES {
                continue;
            }
            if lines.iter().all(|line| self.0.contains(line)) {
                drop(text);
                **item = echoed(std::mem::replace(item, Item::new("", Kind::Notice, 0)));
            } else if self.0.len() + lines.len() <= MOST_LINES {
                self.0.extend(lines);
            }
        }
    }
}

/// Whether a notice is of a hook that runs at the end of a turn, and isn't minor.
fn is_shown_at_end(notice: &Item) -> bool {
    let word = |name: &str| notice.fact(name).and_then(FactRef::str);
    word("event").as_deref() == Some("hook")
        && word("hook_event").is_none_or(|event| event.ends_with("Stop"))
        && notice.fact("minor").is_none()
}

/// Returns what a hook said in a line, without the program's words before it: `- [lint.sh]: run the linter first`.
fn said(line: &str) -> &str {
    let line = line.trim();
    let line = line.strip_prefix(HEADING).unwrap_or(line).trim_start();
    let listed = line.strip_prefix("- ").unwrap_or(line);
    match listed.strip_prefix('[').and_then(|rest| rest.split_once("]: ")) {
        Some((_, words)) => words.trim_start(),
        None => listed,
    }
}
