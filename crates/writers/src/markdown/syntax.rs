//! The syntax of formats that have the structure of Markdown.

use std::borrow::Cow;
use std::fmt;
use std::mem;

use super::{block, inline};
use crate::commonmark;
use crate::lines::LineWriter;
use crate::link_text::misleads;
use crate::page;
use streamfmt_core::entry::{Line, Point};

/// Writes the parts of a page in the syntax of a format. No text may have a meaning in the format, whatever it contains.
pub(crate) trait MarkupSyntax: fmt::Debug + Sync {
    /// Returns the fixed marks of the format.
    fn marks(&self) -> &'static SyntaxMarks;

    /// Returns the marks before and after a heading of this depth, from 1 to 6.
    fn heading(&self, depth: usize) -> [&'static str; 2];

    /// Writes `text`, which has no line feed. `begins`: whether it is at the start of a line.
    fn text(&self, text: &str, begins: bool, out: &mut String);

    /// Writes `text` as code within a line.
    fn code(&self, text: &str, out: &mut String);

    /// Writes a link to `target`; if that isn't allowed, the label and the address. `label`: the formatted label. `shown`: its plain text.
    fn link(&self, label: &str, target: &str, shown: &str, out: &mut String);

    /// Writes the label and the address of a link that isn't allowed.
    fn unlinked(&self, label: &str, target: &str, shown: &str, out: &mut String) {
        out.push_str(label);
        if !target.is_empty() && target != shown && target.strip_prefix("mailto:") != Some(shown) {
            out.push_str(if label.is_empty() { "" } else { " " });
            self.code(target, out);
        }
    }

    /// Writes the address after a link whose text names another one.
    fn revealed(&self, target: &str, shown: &str, out: &mut String) {
        if misleads(shown, target) {
            out.push(' ');
            self.code(target, out);
        }
    }

    /// Writes a link as [`MarkupSyntax::link`] does, in a model's text, where an address may be its own label.
    fn link_in_prose(&self, label: &str, target: &str, shown: &str, out: &mut String) {
        self.link(label, target, shown, out);
    }

    /// Writes `text` in a fence that no line of it ends.
    fn fenced(&self, writer: &mut LineWriter<'_>, text: &str, language: &str);

    /// Writes the beginning of a list item.
    fn point(&self, point: Point, bullet: &str, out: &mut String);

    /// Begins a fold with a summary, where the format supports folds.
    fn begin_fold(&self, writer: &mut LineWriter<'_>, summary: &Line);

    /// Ends a fold.
    fn end_fold(&self, writer: &mut LineWriter<'_>);

    /// Returns the syntax inside the cells of tables.
    fn of_cells(&self) -> &'static dyn MarkupSyntax;

    /// Writes the line before and after the rows of a table, if the format has one.
    fn edge_of_table(&self, writer: &mut LineWriter<'_>) {
        let _ = writer;
    }
}

/// Marks of a format.
#[derive(Debug)]
pub(crate) struct SyntaxMarks {
    /// Around strong text.
    pub(crate) strong: &'static str,
    /// Around emphasised text.
    pub(crate) emphasis: &'static str,
    /// Around struck out text.
    pub(crate) strike: &'static str,
    /// Around the description of an image that isn't shown.
    pub(crate) brackets: [&'static str; 2],
    /// Before list items, and before those of a list directly below another list.
    pub(crate) bullets: [&'static str; 2],
    /// Before tasks of a list: open, done.
    pub(crate) tasks: [&'static str; 2],
    /// Before further lines of a list item.
    pub(crate) set_in: &'static str,
    /// Before the steps of a sub-agent, once for each level.
    pub(crate) nest: &'static str,
    /// Before the lines of a quote.
    pub(crate) quote: &'static str,
    /// At the end of a line of a paragraph.
    pub(crate) line_break: &'static str,
    /// A bar inside code in a cell of a table.
    pub(crate) bar: &'static str,
    /// A horizontal rule.
    pub(crate) rule: &'static str,
    /// Whether headings are written as strong text, which can't be nested.
    pub(crate) has_strong_headings: bool,
    /// Whether images can be shown.
    pub(crate) has_pictures: bool,
}

/// Markdown, as code hosts render it.
#[derive(Debug)]
pub(super) struct Commonmark;

impl MarkupSyntax for Commonmark {
    fn marks(&self) -> &'static SyntaxMarks {
        &SyntaxMarks {
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
            bar: "\\|",
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
                // Parsers decode entities in addresses.
                let mut between = "";
                for part in address.split('&') {
                    out.extend([mem::replace(&mut between, "&amp;"), part]);
                }
                out.push(')');
                self.revealed(target, shown, out);
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
        writer.continue_line(if commonmark::is_language(language) { language } else { "" });
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
        // An empty line is needed to end the HTML, even before a fence.
        writer.line("");
    }

    fn end_fold(&self, writer: &mut LineWriter<'_>) {
        writer.gap();
        writer.line("</details>");
        writer.gap();
    }

    fn of_cells(&self) -> &'static dyn MarkupSyntax {
        &Self
    }
}
