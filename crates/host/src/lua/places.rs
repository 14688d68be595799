//! Texts that a writer in Lua spelled itself. Each has a numbered place (`Text::place`) in the entry while the writer below
//! writes that, and is put in there afterwards.

use streamfmt_core::entry::{Block, Line};
use streamfmt_core::text::Text;

/// What a script said, by the number of its place.
#[derive(Debug, Default)]
pub(super) struct Places {
    said: Vec<String>,
}

impl Places {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.said.is_empty()
    }

    /// A place within a line.
    pub(super) fn within(&mut self, said: String) -> Text {
        self.said.push(said);
        Text::place(self.said.len() - 1)
    }

    /// A place for a block.
    pub(super) fn block(&mut self, mut said: String) -> Block {
        said.truncate(said.strip_suffix('\n').unwrap_or(&said).len());
        Block::line(Line::of("text", self.within(said)))
    }

    /// The text that the base wrote with all places filled; there are none then. Further lines of what was said stand as
    /// far in as the first.
    pub(super) fn fill(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, said, behind)) = self.next(rest) {
            out.push_str(before);
            rest = behind;
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
        self.said.clear();
        out
    }

    /// The next place in a text: what is before it, what fills it, and what is behind it. What a limit has left of a place that it
    /// parted is filled with nothing: its sign is never written.
    fn next<'t>(&self, text: &'t str) -> Option<(&'t str, &str, &'t str)> {
        let (before, rest) = text.split_once(Text::PLACE)?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = rest.split_at(digits);
        let said = number.parse().ok().and_then(|number: usize| self.said.get(number));
        match (said, rest.strip_prefix(Text::PLACE)) {
            (Some(said), Some(behind)) => Some((before, said, behind)),
            _ => Some((before, "", rest)),
        }
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
