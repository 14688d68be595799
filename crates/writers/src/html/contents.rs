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
/// The most tools that are counted for a prompt.
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
        let more: u64 = tools.iter().skip(MAX_TOOLS).map(|(_, count)| count).sum();
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
fn changed(title: &Line, role: Role) -> u64 {
    let spans = title.spans().filter(|span| span.role == role);
    let numbers = spans.filter_map(|span| {
        let digits: String = span.text().chars().filter(char::is_ascii_digit).collect();
        digits.parse::<u64>().ok()
    });
    numbers.fold(0, u64::saturating_add)
}
