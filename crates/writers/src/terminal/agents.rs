//! Marks rows with the sub-agents that they are inside: a bar with a number for each, the outermost first.
//!
//! The number is in each row, since rows of agents that work at the same time alternate. Where words replace
//! glyphs, it comes once per entry, before its mark.

use std::borrow::Cow;
use std::sync::Arc;

use streamfmt_core::entry::{Entry, Line};
use streamfmt_core::outline::{Node, Relation, Subagent};
use streamfmt_core::text::Text;
use streamfmt_core::theme::Glyphs;

use super::rows::{RowWriter, glyph};
use super::wrap::{self, StyledText};
use super::{Look, MIN_WIDTH, TIME};

/// The most bars of a row. Deeper sub-agents get no more.
const MAX_NEST: usize = 8;
/// The columns that a row must have for each bar.
const COLUMNS_OF_BAR: usize = 16;

/// The highest number that exists as a circled character.
const LAST_CIRCLED: u32 = 20;

/// The roles of sub-agents, used in turn.
const ROLES: [&str; 5] = ["agent.1", "agent.2", "agent.3", "agent.4", "agent.5"];

/// Returns the numbers of the sub-agents that an entry is inside, for as many bars as fit; `None` for an unknown
/// one.
pub(super) fn levels(look: &Look, depth: u16, agent: Option<&Arc<Subagent>>) -> Vec<Option<u32>> {
    if depth == 0 || look.layout.bare {
        return Vec::new();
    }
    let time = if look.timestamps.is_some() { TIME } else { 0 };
    let width = look.width.unwrap_or(usize::MAX).max(MIN_WIDTH) - time;
    let shown = usize::from(depth).min(width / COLUMNS_OF_BAR).min(MAX_NEST);
    let mut numbers = vec![None; shown];
    let mut next = agent;
    for number in numbers.iter_mut().rev() {
        let Some(agent) = next else { break };
        *number = Some(agent.number);
        next = agent.outer.as_ref();
    }
    numbers
}

/// Returns the numbers that the rows of two entries have in common. Each entry is described by its depth and agent.
pub(super) fn common(
    look: &Look,
    (depth, agent): (u16, Option<&Arc<Subagent>>),
    (other_depth, other_agent): (u16, Option<&Arc<Subagent>>),
) -> Vec<Option<u32>> {
    let mut numbers = levels(look, depth, agent);
    let others = levels(look, other_depth, other_agent);
    let same = numbers.iter().zip(&others).take_while(|(one, other)| one == other).count();
    numbers.truncate(same);
    numbers
}

/// Puts a bar with the number of an agent before all rows.
pub(super) fn bar(writer: &mut RowWriter<'_>, number: Option<u32>) {
    let look = writer.look();
    let margin = look.layout.margin;
    let shape = glyph(look, "nest");
    let number = number.filter(|_| look.layout.glyphs != Glyphs::Words);
    let figure = number.map_or_else(String::new, |number| figure(look, number));
    let text = format!("{figure}{shape}");
    // Bars are in the same column with and without a number. The two parts are measured separately, which is fast for single characters.
    let taken = wrap::width(&figure);
    let (before, behind) = (margin.saturating_sub(taken), usize::from(!text.is_empty()));
    let pieces = [
        StyledText::blank(before),
        look.piece(number.map_or("nest", role), &text),
        StyledText::blank(behind),
    ];
    writer.indent_all(&pieces, before + taken + wrap::width(shape) + behind);
}

/// Puts the number of an agent before the next row, in words.
pub(super) fn spoken(writer: &mut RowWriter<'_>, number: u32) {
    let look = writer.look();
    let text = format!("agent {number}");
    writer.indent(&[look.piece(role(number), &text), StyledText::blank(1)], &[]);
}

/// Returns the entry and relation of a node that starts the agent of this number, or is its result, with the number before
/// the title of the call.
pub(super) fn numbered<'n>(look: &Look, node: &'n Node, number: u32) -> (Cow<'n, Entry>, Cow<'n, Relation>) {
    let (entry, relation) = (Cow::Borrowed(&*node.entry), Cow::Borrowed(&node.relation));
    match &node.relation {
        Relation::Apart(title) => (entry, Cow::Owned(Relation::Apart(with_number(look, title, number)))),
        Relation::Own if node.entry.call.is_none() => {
            let mut numbered = (*node.entry).clone();
            numbered.view.title = with_number(look, &numbered.view.title, number);
            (Cow::Owned(numbered), relation)
        }
        _ => (entry, relation),
    }
}

fn with_number(look: &Look, title: &Line, number: u32) -> Line {
    let text = match look.layout.glyphs {
        Glyphs::Words => format!("agent {number}:"),
        _ if is_circled(look, number) => figure(look, number),
        _ => format!("({number})"),
    };
    let mut line = Line::of(role(number), Text::clean_owned(text));
    line.attach("text", Text::own(" "));
    line.append(title);
    line
}

/// Formats a number in as few columns as possible.
fn figure(look: &Look, number: u32) -> String {
    let circled = is_circled(look, number).then(|| char::from_u32('①' as u32 + number - 1)).flatten();
    circled.map_or_else(|| number.to_string(), String::from)
}

fn is_circled(look: &Look, number: u32) -> bool {
    !look.layout.is_ascii() && (1..=LAST_CIRCLED).contains(&number)
}

/// Returns the role of an agent's number and bar.
fn role(number: u32) -> &'static str {
    ROLES[number.saturating_sub(1) as usize % ROLES.len()]
}
