//! What a format that is laid out like Markdown may spell in its own way.

use std::borrow::Cow;
use std::fmt;
use std::mem;

use super::{block, inline};
use crate::commonmark;
use crate::lines::LineWriter;
use crate::page;
use streamfmt_core::entry::{Line, Point};

/// How the parts of a page are spelled. Whatever a text holds, it may not mean anything in the format.
pub(crate) trait Spelling: fmt::Debug + Sync {
    /// What is the same wherever it is written.
    fn marks(&self) -> &'static SpellingMarks;

    /// What is before and behind a heading of this depth, from 1 to 6.
    fn heading(&self, depth: usize) -> [&'static str; 2];

    /// Writes `text`, which holds no line feed. `begins`: it is at the start of a line.
    fn text(&self, text: &str, begins: bool, out: &mut String);

    /// Writes `text` as code within a line.
    fn code(&self, text: &str, out: &mut String);

    /// Writes a link to `target` around what is written to `label`; where it may not lead, label and address are shown.
    /// `shown`: what a reader sees of the label.
    fn link(&self, label: &str, target: &str, shown: &str, out: &mut String);

    /// Writes label and address of a link that may not lead to where it should.
    fn unlinked(&self, label: &str, target: &str, shown: &str, out: &mut String) {
        out.push_str(label);
        if !target.is_empty() && target != shown && target.strip_prefix("mailto:") != Some(shown) {
            out.push_str(if label.is_empty() { "" } else { " " });
            self.code(target, out);
        }
    }

    /// [`Spelling::link`] for a model's text, where an address may be its own label.
    fn link_in_prose(&self, label: &str, target: &str, shown: &str, out: &mut String) {
        self.link(label, target, shown, out);
    }

    /// Writes `text` verbatim, so that nothing in it ends that.
    fn fenced(&self, writer: &mut LineWriter<'_>, text: &str, language: &str);

    /// Begins a point of a list.
    fn point(&self, point: Point, bullet: &str, out: &mut String);

    /// Begins what may be folded behind a summary.
    fn begin_fold(&self, writer: &mut LineWriter<'_>, summary: &Line);

    /// Ends what may be folded.
    fn end_fold(&self, writer: &mut LineWriter<'_>);

    /// How the cells of tables are spelled.
    fn of_cells(&self) -> &'static dyn Spelling;

    /// Writes what is before and behind the rows of a table.
    fn edge_of_table(&self, writer: &mut LineWriter<'_>) {
        let _ = writer;
    }
}

/// Marks of a format.
#[derive(Debug)]
pub(crate) struct SpellingMarks {
    /// Around strong words.
    pub(crate) strong: &'static str,
    /// Around stressed words.
    pub(crate) emphasis: &'static str,
    /// Around words that are struck out.
    pub(crate) strike: &'static str,
    /// Around a picture that isn't shown.
    pub(crate) brackets: [&'static str; 2],
    /// Before points, and before those of a list right below another list.
    pub(crate) bullets: [&'static str; 2],
    /// Before tasks of a list: open, done.
    pub(crate) tasks: [&'static str; 2],
    /// Before what belongs to a point.
    pub(crate) set_in: &'static str,
    /// Before what a sub-agent does, for each that it is inside of.
    pub(crate) nest: &'static str,
    /// Before what a model quotes.
    pub(crate) quote: &'static str,
    /// Ends a line of a paragraph.
    pub(crate) line_break: &'static str,
    /// A rule.
    pub(crate) rule: &'static str,
    /// Whether a heading is spelled as strong words are, which don't nest.
    pub(crate) has_strong_headings: bool,
    /// Whether pictures can be shown.
    pub(crate) has_pictures: bool,
}

/// Markdown, as the hosts of code show it.
#[derive(Debug)]
pub(super) struct Commonmark;

impl Spelling for Commonmark {
    fn marks(&self) -> &'static SpellingMarks {
        &SpellingMarks {
            strong: "**",
            emphasis: "*",
            strike: "~~",
            brackets: ["\\[", "\\]"],
            bullets: ["- ", "* "],
            tasks: ["[ ] ", "[x] "],
            set_in: "  ",
            nest: "> ",
            quote: "> ",
            line_break: "\\\n",
            rule: "---",
            has_strong_headings: false,
            has_pictures: true,
        }
    }

    fn heading(&self, depth: usize) -> [&'static str; 2] {
        const HEADINGS: [&str; 6] = ["# ", "## ", "### ", "#### ", "##### ", "###### "];
        [HEADINGS[depth.clamp(1, 6) - 1], ""]
    }

    fn text(&self, text: &str, begins: bool, out: &mut String) {
        inline::text(text, begins, out);
    }

    fn code(&self, text: &str, out: &mut String) {
        inline::code(text, out);
    }

    fn link(&self, label: &str, target: &str, shown: &str, out: &mut String) {
        match commonmark::address(target).filter(|address| !inline::refers(address)) {
            Some(address) if !label.trim().is_empty() => {
                out.extend(["[", label, "]("]);
                // An entity in an address is decoded again.
                let mut between = "";
                for part in address.split('&') {
                    out.extend([mem::replace(&mut between, "&amp;"), part]);
                }
                out.push(')');
            }
            _ => self.unlinked(label, target, shown, out),
        }
    }

    fn link_in_prose(&self, label: &str, target: &str, shown: &str, out: &mut String) {
        if target == shown && inline::refers(target) {
            inline::code(target, out);
        } else if target == shown && commonmark::address(target).as_deref() == Some(target) {
            out.extend(["<", target, ">"]);
        } else {
            self.link(label, target, shown, out);
        }
    }

    fn fenced(&self, writer: &mut LineWriter<'_>, text: &str, language: &str) {
        let fence = match inline::longest_run(text, b'`') {
            0..3 => Cow::Borrowed("```"),
            longest => Cow::Owned("`".repeat(longest + 1)),
        };
        writer.open_line(&fence);
        writer.go_on(if is_language(language) { language } else { "" });
        writer.end_line();
        page::split(text).for_each(|line| writer.line(line));
        writer.line(&fence);
    }

    fn point(&self, point: Point, bullet: &str, out: &mut String) {
        out.push_str(bullet);
        out.push_str(match point {
            Point::Plain => "",
            Point::Open => "[ ] ",
            Point::Active => "[ ] ▸ ",
            Point::Done => "[x] ",
            Point::Failed => "[ ] ✗ ",
        });
    }

    fn begin_fold(&self, writer: &mut LineWriter<'_>, summary: &Line) {
        let mut line = String::from("<details><summary>");
        block::html_spans(summary, &mut line);
        line.push_str("</summary>");
        writer.line(&line);
        // Up to an empty line all is HTML, also before a fence.
        writer.line("");
    }

    fn end_fold(&self, writer: &mut LineWriter<'_>) {
        writer.gap();
        writer.line("</details>");
        writer.gap();
    }

    fn of_cells(&self) -> &'static dyn Spelling {
        &Self
    }
}

/// Whether a word may stand behind a fence: names of languages and file extensions.
fn is_language(word: &str) -> bool {
    (1..=20).contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+#-._".contains(&byte))
}
