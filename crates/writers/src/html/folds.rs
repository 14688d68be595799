//! Folds of several entries: the steps of a sub-agent, and consecutive notices. Also the rule at the end of a turn.

use super::{Html, begin_entry, block, failed, is_long, row, session_title};
use crate::html::out::HtmlOut;
use crate::page;
use streamfmt_core::entry::{Block, Entry, Line, Role, Span};
use streamfmt_core::figures;
use streamfmt_core::item::Kind;
use streamfmt_core::outline::{Answer, Nest, Node};
use streamfmt_core::text::Text;

/// The most names in the row of several notices.
const MAX_NAMES: usize = 5;
/// The longest of these names, in characters.
const LONGEST_NAME: usize = 40;

impl Html {
    /// Begins the fold of the steps inside a call.
    pub(super) fn enter_nest(&mut self, nest: &Nest, out: &mut HtmlOut<'_>) {
        let Some(node) = &nest.node else {
            out.raw("<details class=\"inside\"><summary><span class=\"mark\" aria-hidden=\"true\">⤷</span> <span class=\"t\">Inside <span class=\"arg\">");
            out.text(nest.title.as_ref().map(session_title).as_deref().unwrap_or("sub-agent"));
            out.raw("</span></span></summary><div>\n");
            self.inside.push(None);
            return;
        };
        let entry = &*node.entry;
        self.timeline.note(entry);
        let failed = failed(node.entries().any(Entry::is_failed));
        out.raw_parts(&["<details class=\"inside", failed, "\"><summary>"]);
        Self::summary(node, block::label, out);
        out.raw("</summary><div>\n");
        let has_body = !entry.view.body.is_empty() || entry.view.title.has_links();
        // Filters and links need the call's element, even if the row shows all of it.
        let class = if has_body { "call prompt" } else { "call bare" };
        let anchor = begin_entry(entry, &[class, failed], out);
        if has_body {
            out.raw("<p class=\"label\">Task</p>");
            block::links(out, &entry.view.title);
            self.body(&entry.view.body, out);
            self.time(entry, &anchor, out);
        }
        out.raw("</div>\n");
        self.inside.push(node.result.clone());
    }

    /// Ends the innermost fold, with the result of its call.
    pub(super) fn leave_nest(&mut self, out: &mut HtmlOut<'_>) {
        if let Some(result) = self.inside.pop().flatten() {
            self.timeline.note(&result);
            let view = &result.view;
            let is_title_cut = is_long(&view.title);
            if is_title_cut || !view.body.is_empty() {
                let anchor = begin_entry(&result, &["reply"], out);
                out.raw("<p class=\"label\">Result</p>");
                if is_title_cut {
                    block::paragraph(out, &view.title);
                }
                self.body(&view.body, out);
                self.time(&result, &anchor, out);
                out.raw("</div>\n");
            } else {
                out.raw_parts(&["<span id=\"", &page::anchor(result.id.as_str()), "\"></span>"]);
            }
        }
        out.raw("</div></details>\n");
    }

    /// Writes consecutive notices, folded in one row.
    pub(super) fn notices_row(&self, nodes: &[Node], out: &mut HtmlOut<'_>) {
        out.raw("<details class=\"inside notice\"><summary>");
        row::mark(None, out);
        out.raw("<span class=\"t\">");
        out.number(nodes.len());
        out.raw(" notices");
        let mut names: Vec<String> = Vec::new();
        for name in nodes.iter().filter_map(|node| name_of(&node.entry)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        for (at, name) in names.iter().take(MAX_NAMES).enumerate() {
            out.raw(if at == 0 { ": " } else { ", " });
            out.text(name);
        }
        out.raw(if names.len() > MAX_NAMES { ", …" } else { "" });
        out.raw("</span></summary><div>\n");
        for node in nodes {
            self.write(node, out);
        }
        out.raw("</div></details>\n");
    }

    /// Writes the end of a turn that isn't the last: its replies, and a rule with its figures.
    pub(super) fn turn(&self, answer: &Answer, out: &mut HtmlOut<'_>) {
        for node in &answer.nodes {
            if node.entry.kind == Kind::Outcome {
                self.turn_end(&node.entry, answer.turn, out);
            } else {
                self.write(node, out);
            }
        }
    }

    /// Writes the rule at the end of a turn that isn't the last.
    pub(super) fn turn_end(&self, entry: &Entry, number: usize, out: &mut HtmlOut<'_>) {
        let view = &entry.view;
        let is_failed = entry.is_failed();
        let anchor = begin_entry(entry, &["outcome turn", failed(is_failed)], out);
        let is_account = |block: &Block| matches!(block, Block::Lines { .. });
        let (accounts, shown): (Vec<Block>, Vec<Block>) = view.body.iter().cloned().partition(is_account);
        self.body(&shown, out);
        let is_folded = !accounts.is_empty();
        out.raw(row::begin(is_folded, is_failed));
        row::mark(view.mark, out);
        out.raw("<span class=\"t\">");
        block::label(out, &turn_title(&view.title, number, is_failed));
        out.raw("</span>");
        if is_folded {
            out.raw("</summary><div class=\"body\">");
            self.body(&accounts, out);
            out.raw("</div></details>");
        } else {
            out.raw("</p>");
        }
        self.time(entry, &anchor, out);
        out.raw("</div>\n");
    }
}

/// Returns the title of a turn's end: `turn 2 · 502ms · $0.03`. The number of the turn replaces the agent's own count of turns.
fn turn_title(title: &Line, number: usize, is_failed: bool) -> Line {
    let is_between = |span: &Span<'_>| matches!(span.text().trim(), "" | "·");
    let mut words: Vec<_> = title.spans().collect();
    if let Some(at) = words.iter().position(|span| figures::is_count_of(span.text(), "turn", "turns")) {
        let start = words[..at].iter().rposition(|span| !is_between(span)).map_or(0, |last| last + 1);
        words.drain(start..=at);
    }
    // The mark already shows success.
    if !is_failed && words.first().is_some_and(|first| first.role == Role::of("outcome.ok")) {
        words.remove(0);
    }
    let mut line = Line::of("outcome.note", format!("turn {number}"));
    if words.first().is_some_and(|first| !is_between(first)) {
        line.attach("outcome.note", Text::own(" · "));
    }
    for span in words {
        line.attach_span(span);
    }
    line
}

/// Returns the name of a notice in the row of several: the beginning of its title.
fn name_of(entry: &Entry) -> Option<String> {
    let title = entry.view.title.spans().map(|span| span.text().trim()).find(|text| !text.is_empty())?;
    let mut name: String = title.chars().take(LONGEST_NAME).collect();
    if title.chars().nth(LONGEST_NAME).is_some() {
        name.truncate(name.trim_end().len());
        name.push('…');
    }
    Some(name)
}
