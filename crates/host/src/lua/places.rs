//! Words that stand for what a script said while the base writes an entry.

use std::collections::HashMap;

use streamfmt_core::entry::{Block, Entry, Line};
use streamfmt_core::text::Text;

/// Words that stand for what a script said, until the base has written them.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// Which of the possible beginnings of a word is not in the texts at hand.
    number: u64,
    count: u64,
    said: HashMap<String, String>,
}

/// No word is longer, in bytes.
const LONGEST: usize = 48;
/// What all words begin with.
const BEGIN: &str = "sfpart";

impl Words {
    /// Makes the next words unlike all that an entry and the title of its call say.
    pub(super) fn keep_apart_from(&mut self, entry: &Entry, call: Option<&Line>) {
        let text = serde_json::to_string(&(&entry.view.title, &entry.view.body, call)).unwrap_or_default();
        while text.contains(&format!("{BEGIN}{}x", self.number)) {
            self.number += 1;
        }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.said.is_empty()
    }

    /// A word for what was said within a line.
    pub(super) fn stand_for(&mut self, said: String) -> Text {
        let word = format!("{BEGIN}{}x{}z", self.number, self.count);
        self.count += 1;
        self.said.insert(word.clone(), said);
        Text::clean_owned(word)
    }

    /// A block that is a word for what was said.
    pub(super) fn block_for(&mut self, mut said: String) -> Block {
        said.truncate(said.strip_suffix('\n').unwrap_or(&said).len());
        Block::line(Line::of("text", self.stand_for(said)))
    }

    /// The text with the words replaced. Where more than one line stands for a word, the further ones stand as
    /// far in as the first.
    pub(super) fn put_back(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(BEGIN) {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let end = rest.bytes().take(LONGEST).position(|byte| byte == b'z').map_or(0, |end| end + 1);
            let Some(said) = self.said.remove(&rest[..end]) else {
                out.push_str(BEGIN);
                rest = &rest[BEGIN.len()..];
                continue;
            };
            rest = &rest[end..];
            let line = out.rfind('\n').map_or(0, |end| end + 1);
            let before = &out[line..];
            if said.is_empty() && before.trim().is_empty() && rest.starts_with('\n') {
                out.truncate(line);
                rest = &rest[1..];
                continue;
            }
            let is_margin = before.bytes().all(|byte| matches!(byte, b' ' | b'>'));
            let margin = if is_margin { before.to_owned() } else { " ".repeat(before.chars().count()) };
            for (number, part) in said.split('\n').enumerate() {
                if number > 0 {
                    out.push('\n');
                    // No blanks at the end of a line.
                    out.push_str(if part.is_empty() { margin.trim_end() } else { &margin });
                }
                out.push_str(part);
            }
        }
        out.push_str(rest);
        out
    }
}

/// A text without the margin that all its lines have, and without blank lines around it.
pub(super) fn dedented(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let is_said = |line: &&str| !line.trim().is_empty();
    let margin = lines
        .iter()
        .copied()
        .filter(is_said)
        .map(|line| line.len() - line.trim_start_matches(' ').len())
        .min();
    let (Some(first), Some(last)) = (lines.iter().position(&is_said), lines.iter().rposition(is_said)) else {
        return String::new();
    };
    let mut out = String::with_capacity(text.len());
    for line in &lines[first..=last] {
        out.push_str(line.get(margin.unwrap_or(0)..).unwrap_or_default());
        out.push('\n');
    }
    out
}
