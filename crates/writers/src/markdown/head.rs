//! The head of a Markdown page, which is written last and put first: the title, the answer, the totals.
//!
//! ````text
//! # Add percentage discounts           the first prompt, or a heading of the answer, or the folder
//!
//! 21 Nov 2026 21:05 UTC · claude-sonnet-5-5 · `~/shop` · 3 turns · 35s · $0.21
//!
//! > Please add percentage discounts.   the prompt, if there is only one and it is longer than the title
//!
//! ## Answer
//! …
//! <details><summary>18 calls, 3 failed</summary>
//! ````

use std::fmt::{self, Write};

use super::Markdown;
use crate::page;
use streamfmt_core::entry::{Entry, Line, text_size};
use streamfmt_core::item::Kind;
use streamfmt_core::outline::{Answer, DocumentHead, Node, Relation};

/// The longest first prompt in the head, in bytes. A longer one stays at its place in the activity.
const MAX_PROMPT: usize = 64 * 1024;

/// The parts that are kept until the head is written.
#[derive(Debug, Default)]
pub(super) struct KeptHead {
    /// The first prompt, unless it is long.
    prompt: Option<Box<Entry>>,
    prompts: u64,
    pub(super) answer: Option<Answer>,
    /// The title of the last heading of a session.
    session: Option<Line>,
    /// Whether something was written below the head.
    pub(super) has_body: bool,
}

impl KeptHead {
    /// Keeps a node for the head. Returns the node if it belongs to the body instead.
    pub(super) fn keep<'n>(&mut self, node: &'n Node) -> Option<&'n Node> {
        let entry = &*node.entry;
        if entry.view.is_heading() {
            let is_again = self.session.as_ref() == Some(&entry.view.title) && entry.view.body.is_empty();
            self.session = Some(entry.view.title.clone());
            return (!is_again).then_some(node);
        }
        if !entry.begins_turn() {
            return Some(node);
        }
        self.prompts += 1;
        if self.prompts > 1 || text_size(&entry.view.body) > MAX_PROMPT {
            return Some(node);
        }
        self.prompt = Some(node.entry.clone());
        None
    }
}

impl Markdown {
    /// Writes the head, and the beginning of the fold around the activity below it.
    pub(super) fn write_kept(
        &mut self,
        mut kept: KeptHead,
        head: &DocumentHead,
        out: &mut dyn Write,
    ) -> fmt::Result {
        let answer =
            kept.answer.take().map(|answer| [answer.before, answer.nodes].concat()).unwrap_or_default();
        let of = |kind: Kind| answer.iter().filter(move |node| node.entry.kind == kind);
        let title = page::title(head);
        let mut text = String::new();
        if head.folder.as_deref() == Some(title) {
            self.syntax.code(title, &mut text);
        } else {
            self.syntax.text(title, false, &mut text);
        }
        writeln!(out, "# {text}")?;
        self.before = Some(super::LastMarkdownEntry { depth: 0, is_point: false, ends_in_lines: false });
        let facts = self.facts(head, title);
        if !facts.is_empty() {
            writeln!(out, "\n{facts}")?;
        }
        let has_one_prompt = kept.prompts == 1;
        let is_title = |entry: &Entry| page::is_only(&entry.view, title);
        if let Some(prompt) = kept.prompt.take_if(|prompt| has_one_prompt && !is_title(prompt)) {
            self.write(&prompt, &Relation::Own, out)?;
        }
        let (failed, done): (Vec<&Node>, Vec<&Node>) =
            of(Kind::Outcome).partition(|node| node.entry.is_failed());
        for node in failed {
            self.write(&node.entry, &Relation::Own, out)?;
        }
        let has_answer = answer.iter().any(|node| node.entry.kind == Kind::Reply);
        if has_answer {
            self.heading("Answer", out)?;
        }
        // If the cost is known, the line below the title already has all totals.
        let totals = of(Kind::Notice).filter(|node| node.is_of_answer() && head.cost.is_none());
        let replies = answer.iter().filter(|node| node.entry.kind == Kind::Reply || node.entry.is_in_tree());
        for (at, node) in replies.chain(done).chain(totals).enumerate() {
            let below = if at == 0 { page::below_title(&node.entry, title) } else { None };
            self.write(below.as_ref().unwrap_or(&node.entry), &Relation::Own, out)?;
        }
        self.end_line(out)?;
        if !kept.has_body {
            return Ok(());
        }
        let first = kept.prompt.take().filter(|_| !has_one_prompt);
        let mut line = String::from(if has_answer { "<details>" } else { "<details open>" });
        line.push_str("<summary>");
        line.push_str(page::activity(head).as_deref().unwrap_or("Activity"));
        writeln!(out, "\n{line}</summary>\n")?;
        self.before = None;
        if let Some(prompt) = first {
            self.write(&prompt, &Relation::Own, out)?;
            out.write_char('\n')?;
        }
        Ok(())
    }

    /// Returns the line below the title: `21 Nov 2026 21:05 UTC · claude-sonnet-5-5 · …`.
    fn facts(&self, head: &DocumentHead, title: &str) -> String {
        let mut facts = Vec::new();
        let plain = |text: &str| {
            let mut out = String::new();
            self.syntax.text(text, facts_begin(text), &mut out);
            out
        };
        facts.extend(page::when(head));
        facts.extend(head.model.as_deref().map(plain));
        facts.extend(head.folder.as_deref().filter(|folder| *folder != title).map(|folder| {
            let mut out = String::new();
            self.syntax.code(folder, &mut out);
            out
        }));
        facts.extend(page::figures(head).iter().map(|figure| plain(figure)));
        facts.join(" · ")
    }
}

/// Whether a text is escaped as at the start of a line: the model may be there.
fn facts_begin(text: &str) -> bool {
    !text.starts_with(|ch: char| ch.is_ascii_digit() || ch == '$')
}

#[cfg(test)]
mod tests {
    use super::*;
    use streamfmt_core::entry::{Block, View};

    #[test]
    fn the_head_keeps_the_first_prompt_unless_it_is_long() {
        for (bytes, is_kept) in [(1, true), (MAX_PROMPT - 1_024, true), (MAX_PROMPT + 1, false)] {
            let prompt = || {
                let text = Block::prose("prompt", "x".repeat(bytes).as_str());
                Node::from(Box::new(Entry::new("p", Kind::Prompt, View::of(vec![text]))))
            };
            let mut head = KeptHead::default();
            let (first, second) = (prompt(), prompt());
            assert_eq!(head.keep(&first).is_none(), is_kept, "{bytes} bytes");
            assert_eq!(head.prompt.is_some(), is_kept, "{bytes} bytes");
            assert!(head.keep(&second).is_some(), "a second prompt stays at its place");
        }
    }
}
