//! The list of prompts of a page with several, each with figures of its turn.

use std::fmt::Write;

use indexmap::IndexMap;

use super::out::HtmlOut;
use crate::page;
use streamfmt_core::entry::{Entry, Line, Role};
use streamfmt_core::figures;
use streamfmt_core::item::Kind;
use streamfmt_core::outline::headline;
use streamfmt_core::text::Text;

/// The most prompts that are listed.
const MAX_PROMPTS: usize = 500;
/// The most tools that are named for a prompt.
const MAX_TOOLS: usize = 4;
/// The most tools that are told apart for a prompt.
const MAX_COUNTED: usize = 64;

/// Collects the prompts.
#[derive(Debug, Default)]
pub(super) struct Contents {
    prompts: Vec<ListedPrompt>,
    /// The number of further prompts, which aren't listed.
    unlisted: u64,
}

#[derive(Debug)]
struct ListedPrompt {
    anchor: String,
    title: String,
    /// The number of calls of each tool.
    tools: IndexMap<Text, u64>,
    /// The number of calls of further tools.
    other_calls: u64,
    added: u64,
    removed: u64,
    failed: u64,
}

impl Contents {
    /// Counts an entry.
    pub(super) fn note(&mut self, entry: &Entry) {
        if entry.begins_turn() {
            if self.prompts.len() == MAX_PROMPTS {
                self.unlisted += 1;
                return;
            }
            self.prompts.push(ListedPrompt {
                anchor: page::anchor(entry.id.as_str()),
                title: headline(&entry.view).unwrap_or_else(|| "Prompt".to_owned()),
                tools: IndexMap::new(),
                other_calls: 0,
                added: 0,
                removed: 0,
                failed: 0,
            });
        }
        let Some(prompt) = self.prompts.last_mut().filter(|_| self.unlisted == 0) else { return };
        match (entry.kind, &entry.tool) {
            (Kind::Call, Some(tool))
                if prompt.tools.contains_key(tool) || prompt.tools.len() < MAX_COUNTED =>
            {
                *prompt.tools.entry(tool.clone()).or_default() += 1;
            }
            (Kind::Call, Some(_)) => prompt.other_calls += 1,
            (Kind::Result, _) => {
                prompt.failed += u64::from(entry.is_failed());
                prompt.added += changed(&entry.view.title, "change.add".into());
                prompt.removed += changed(&entry.view.title, "change.remove".into());
            }
            _ => {}
        }
    }

    /// Writes the list, if there is more than one prompt.
    pub(super) fn write(&self, out: &mut HtmlOut<'_>) {
        if self.prompts.len() < 2 {
            return;
        }
        out.raw(
            "<nav id=\"contents\" aria-labelledby=\"h-contents\"><h2 id=\"h-contents\">Prompts</h2>\n<ol>\n",
        );
        for prompt in &self.prompts {
            out.raw_parts(&["<li><a href=\"#", &prompt.anchor]);
            out.within("\">", &prompt.title, "</a>");
            prompt.write_figures(out);
            out.raw("</li>\n");
        }
        if self.unlisted > 0 {
            let more = figures::count_of(self.unlisted, "more prompt", "more prompts");
            out.within("<li class=\"dim\">", &more, "</li>\n");
        }
        out.raw("</ol></nav>\n");
    }
}

impl ListedPrompt {
    /// Writes the figures of a prompt: `4 Bash · 4 Read · +12 −3 · 1 failed`. Lines break between figures, not within one.
    fn write_figures(&self, out: &mut HtmlOut<'_>) {
        let mut tools: Vec<(&Text, u64)> = self.tools.iter().map(|(tool, count)| (tool, *count)).collect();
        tools.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let mut text = String::new();
        for (tool, count) in tools.iter().take(MAX_TOOLS) {
            let _ = write!(text, " · {}\u{a0}{}", &*figures::count(*count), tool.as_str());
        }
        let more = self.other_calls + tools.iter().skip(MAX_TOOLS).map(|(_, count)| count).sum::<u64>();
        if more > 0 {
            let _ = write!(text, " · {}\u{a0}more", &*figures::count(more));
        }
        if self.added + self.removed > 0 {
            let _ =
                write!(text, " · +{}\u{a0}−{}", &*figures::count(self.added), &*figures::count(self.removed));
        }
        if !text.is_empty() {
            out.within(" <span class=\"dim\">", &text, "</span>");
        }
        if self.failed > 0 {
            let failed = figures::count(self.failed);
            out.within(" <span class=\"dim\">·</span> <span class=\"bad\">", &failed, " failed</span>");
        }
    }
}

/// Returns the sum of the numbers in the spans of a role: `+12`.
pub(super) fn changed(title: &Line, role: Role) -> u64 {
    let spans = title.spans().filter(|span| span.role == role);
    let numbers = spans.filter_map(|span| {
        let digits: String = span.text().chars().filter(char::is_ascii_digit).collect();
        digits.parse::<u64>().ok()
    });
    numbers.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::out::written;
    use streamfmt_core::entry::{Block, View};

    fn prompt(text: &str) -> Entry {
        Entry::new("p", Kind::Prompt, View::of(vec![Block::prose("prompt", text)]))
    }

    fn call(tool: &str) -> Entry {
        Entry { tool: Some(Text::clean(tool)), ..Entry::new("c", Kind::Call, View::default()) }
    }

    /// The rows of the list: their texts without markup.
    fn rows(entries: impl IntoIterator<Item = Entry>) -> Vec<String> {
        let mut contents = Contents::default();
        entries.into_iter().for_each(|entry| contents.note(&entry));
        let list = written(|out| contents.write(out));
        let text_of =
            |row: &str| row.split('<').filter_map(|part| part.split_once('>')).map(|it| it.1).collect();
        list.lines().filter(|row| row.starts_with("<li")).map(text_of).collect()
    }

    #[test]
    fn prompts_beyond_the_limit_are_counted_and_their_calls_belong_to_no_other() {
        for (more, last) in [(0, None), (1, Some("1 more prompt")), (2, Some("2 more prompts"))] {
            let turn = |number: usize| [prompt(&format!("Prompt {number}")), call("Read")];
            let rows = rows((0..MAX_PROMPTS + more).flat_map(turn));
            for (number, row) in rows[..MAX_PROMPTS].iter().enumerate() {
                assert_eq!(*row, format!("Prompt {number}  · 1\u{a0}Read"));
            }
            assert_eq!(rows[MAX_PROMPTS..], last.map(str::to_owned).into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn of_the_tools_of_a_prompt_the_most_used_are_named_and_all_other_calls_counted() {
        let named = " · 2\u{a0}t0 · 1\u{a0}t1 · 1\u{a0}t2 · 1\u{a0}t3";
        for (tools, more) in [(MAX_TOOLS, 0), (MAX_TOOLS + 1, 1), (MAX_COUNTED, 60), (MAX_COUNTED + 2, 64)] {
            // The first tool is called twice, the second one beyond the limit three times.
            let called = (0..tools).chain([0]).chain((MAX_COUNTED + 1..tools).flat_map(|tool| [tool, tool]));
            let calls = called.map(|tool| call(&format!("t{tool}")));
            let rows = rows([prompt("p")].into_iter().chain(calls).chain([prompt("q")]));
            let more = if more == 0 { String::new() } else { format!(" · {more}\u{a0}more") };
            assert_eq!(rows, [format!("p {named}{more}"), "q".to_owned()], "{tools} tools");
        }
    }
}
