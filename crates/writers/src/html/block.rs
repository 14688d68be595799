//! Writes the blocks of a body as HTML.

use std::mem;
use std::sync::LazyLock;

use super::out::HtmlOut;
use super::prose::{self, LineBreaks};
use crate::link_text::misleads;
use crate::page::{self, PageOptions, PictureSource};
use crate::terminal::changed;
use crate::{commonmark, highlight};
use streamfmt_core::clip::first_failure;
use streamfmt_core::entry::{
    Block, Hunk, Line, LineChange, ListItem, PairedLine, Picture, Point, Role, TextLayout,
};
use streamfmt_core::figures;
use streamfmt_core::theme::roles;

/// The most levels of nested folds.
const MAX_FOLDS: usize = 64;

/// Writes blocks.
pub(super) struct HtmlBlocks<'b, 'p> {
    pub(super) out: &'b mut HtmlOut<'p>,
    pub(super) options: &'b PageOptions,
    /// Whether headings of a model's text keep their levels.
    pub(super) keeps_levels: bool,
}

/// The number of lines above a failure that are shown of a long output.
const LINES_ABOVE: usize = 2;

/// The number of lines of a long output that its box shows without scrolling.
const SEEN_LINES: usize = 12;

impl HtmlBlocks<'_, '_> {
    /// Writes blocks one below the other. Folded blocks, which may be nested to any depth, are handled with a stack instead
    /// of recursion.
    pub(super) fn blocks(&mut self, blocks: &[Block]) {
        let mut blocks = blocks.iter();
        // The rest of the blocks after each open fold.
        let mut outer = Vec::new();
        loop {
            match blocks.next() {
                // Browsers don't support deeper nesting.
                Some(Block::Details { summary, body }) if outer.len() >= MAX_FOLDS => {
                    line(self.out, summary);
                    outer.push(mem::replace(&mut blocks, body.iter()));
                }
                Some(Block::Details { summary, body }) => {
                    self.out.raw("<details class=\"fold\"><summary>");
                    label(self.out, summary);
                    self.out.raw("</summary>");
                    links(self.out, summary);
                    outer.push(mem::replace(&mut blocks, body.iter()));
                }
                Some(block) => self.block(block),
                None => {
                    let Some(behind) = outer.pop() else { return };
                    blocks = behind;
                    if outer.len() < MAX_FOLDS {
                        self.out.raw("</details>");
                    }
                }
            }
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Lines { lines } => {
                for line in lines {
                    paragraph(self.out, line);
                }
            }
            Block::Prose { text, role } => {
                // Line feeds of the user are kept. Those of a model follow Markdown.
                let is_typed = role.text_layout() == TextLayout::Typed;
                let breaks = if is_typed { LineBreaks::Kept } else { LineBreaks::Flowing };
                if self.keeps_levels && !is_typed {
                    prose::write_alone(self.out, text);
                } else {
                    prose::write(self.out, text, breaks);
                }
            }
            Block::Code { text, lang, start, role } => self.code(text, lang.as_deref(), *start, *role),
            Block::Diff { hunks, path } => self.diff(hunks, path.as_deref()),
            Block::List { items } => self.list(items),
            Block::Table { head, rows } => self.table(head, rows),
            Block::Image { media, bytes, name, picture } => {
                self.image(media, *bytes, name.as_deref(), picture.as_ref());
            }
            // Folded blocks are opened by the caller.
            Block::Details { .. } => {}
            Block::Elided { lines, bytes } => {
                self.out.within("<p class=\"line dim\">… ", &page::amount(*lines, *bytes), " more</p>");
            }
        }
    }

    fn code(&mut self, text: &str, lang: Option<&str>, start: Option<u64>, role: Role) {
        let is_command = role.text_layout() == TextLayout::Command;
        let class = match role.name() {
            _ if is_command => "cmd",
            "result.error" | "result.error.text" | "outcome.error" => "err",
            _ if start.is_some() => "num",
            _ => "",
        };
        let folds = |text: &str| self.options.folds(page::lines(text)) && !is_command;
        let mut rest = text;
        if class == "err" && start.is_none() && folds(text) {
            // A scrolling box would hide the failure.
            let (before, behind) = text.split_at(above_failure(text).unwrap_or(0));
            if !before.is_empty() {
                let before = before.trim_end_matches('\n');
                let number = figures::count_of(page::lines(before) as u64, "line", "lines");
                self.out.within("<details class=\"fold\"><summary>", &number, " before</summary>");
                self.pre(before, "", folds(before), lang, start);
                self.out.raw("</details>");
                rest = behind;
            }
        }
        self.pre(rest, class, folds(rest), lang, start);
    }

    fn pre(&mut self, text: &str, class: &str, is_folded: bool, lang: Option<&str>, start: Option<u64>) {
        // Long output scrolls in a box, so that the rest of the page stays near.
        match (class, is_folded) {
            ("", false) => self.out.raw("<pre tabindex=\"0\"><code>"),
            ("", true) => self.out.raw("<pre tabindex=\"0\" class=\"long\"><code>"),
            (_, false) => self.out.raw_parts(&["<pre tabindex=\"0\" class=\"", class, "\"><code>"]),
            (_, true) => self.out.raw_parts(&["<pre tabindex=\"0\" class=\"", class, " long\"><code>"]),
        }
        code_lines(self.out, text, lang, start);
        self.out.raw("</code></pre>");
    }

    fn diff(&mut self, hunks: &[Hunk], path: Option<&str>) {
        let language =
            path.and_then(|path| path.rsplit(['/', '\\']).next()).and_then(|name| name.rsplit_once('.'));
        let language = language.map(|(_, ending)| ending);
        self.out.raw("<div class=\"scroll\" tabindex=\"0\"><table class=\"diff\"><tbody>");
        for (at, hunk) in hunks.iter().enumerate() {
            if at > 0 {
                self.out.raw("<tr class=\"hunk\"><td></td><td></td><td>⋯</td></tr>");
            }
            hunk.paired_lines(|line| self.diff_line(&line, language));
        }
        self.out.raw("</tbody></table></div>");
    }

    fn diff_line(&mut self, paired: &PairedLine<'_>, language: Option<&str>) {
        let line = paired.line;
        let (row, mark) = match line.change {
            LineChange::Keep => ("<tr>", " "),
            LineChange::Add => ("<tr class=\"ins\">", "+"),
            LineChange::Remove => ("<tr class=\"del\">", "-"),
        };
        self.out.raw(row);
        for number in paired.numbers {
            self.out.raw("<td class=\"n\"");
            if let Some(number) = number {
                self.out.raw(" data-n=\"");
                self.out.number(number);
                self.out.raw("\"");
            }
            self.out.raw("></td>");
        }
        self.out.raw_parts(&["<td><span class=\"sign\">", mark, "</span>"]);
        match paired.partner.and_then(|partner| changed(line.text, partner.text)) {
            Some(parts) => {
                for (part, is_changed) in parts {
                    self.out.raw(if is_changed { "<mark>" } else { "" });
                    self.out.text(part);
                    self.out.raw(if is_changed { "</mark>" } else { "" });
                }
            }
            None => code_lines(self.out, line.text, language, None),
        }
        self.out.raw("</td></tr>");
    }

    fn list(&mut self, items: &[ListItem]) {
        self.out.raw("<ul class=\"points\">");
        for item in items {
            let (tag, class, name, shape) = match item.point {
                Point::Plain => ("<li class=\"plain\">", "", "", ""),
                Point::Open => ("<li>", "box", "to do", ""),
                Point::Active => ("<li class=\"now\">", "box active", "doing", "▸"),
                Point::Done => ("<li class=\"was\">", "box done", "done", "✓"),
                Point::Failed => ("<li>", "box failed", "failed", "✗"),
            };
            self.out.raw(tag);
            if !name.is_empty() {
                self.out.raw_parts(&["<span role=\"img\" class=\"", class, "\" aria-label=\"", name, "\">"]);
                self.out.raw_parts(&[shape, "</span> "]);
            }
            line(self.out, &item.line);
            self.out.raw("</li>");
        }
        self.out.raw("</ul>");
    }

    fn table(&mut self, head: &[Line], rows: &[Vec<Line>]) {
        let columns = rows.iter().map(Vec::len).chain([head.len()]).max().unwrap_or(0);
        if columns == 0 {
            return;
        }
        self.out.raw("<div class=\"scroll\" tabindex=\"0\"><table>");
        if !head.is_empty() {
            self.out.raw("<thead>");
            self.row(head, columns, ["<th scope=\"col\">", "</th>"]);
            self.out.raw("</thead>");
        }
        self.out.raw("<tbody>");
        for row in rows {
            self.row(row, columns, ["<td>", "</td>"]);
        }
        if rows.is_empty() {
            self.row(&[], columns, ["<td>", "</td>"]);
        }
        self.out.raw("</tbody></table></div>");
    }

    fn row(&mut self, cells: &[Line], columns: usize, [open, close]: [&str; 2]) {
        self.out.raw("<tr>");
        for at in 0..columns {
            self.out.raw(open);
            if let Some(cell) = cells.get(at) {
                line(self.out, cell);
            }
            self.out.raw(close);
        }
        self.out.raw("</tr>");
    }

    fn image(&mut self, media: &str, bytes: Option<u64>, name: Option<&str>, picture: Option<&Picture>) {
        let description = page::description(media, bytes, name);
        match self.options.shown(media, picture) {
            PictureSource::Within(address) | PictureSource::Beside(address) => {
                self.out.within("<p><img loading=\"lazy\" alt=\"", &description, "\" src=\"");
                // It has only characters of Base64, or is a name that we chose.
                self.out.within("", &address, "\"></p>");
            }
            PictureSource::Absent(why) => {
                let comma = if why.is_empty() { "" } else { ", " };
                self.out.within("<p class=\"line dim\">[", &description, comma);
                self.out.raw_parts(&[why, "]</p>"]);
            }
        }
    }
}

/// Writes a line of spans.
pub(super) fn line(out: &mut HtmlOut<'_>, line: &Line) {
    spans(out, line, true);
}

/// Writes a line of spans as a paragraph.
pub(super) fn paragraph(out: &mut HtmlOut<'_>, description: &Line) {
    out.raw("<p class=\"line\">");
    line(out, description);
    out.raw("</p>");
}

/// Writes a line of spans without links, for places that are clickable themselves.
pub(super) fn label(out: &mut HtmlOut<'_>, line: &Line) {
    spans(out, line, false);
}

/// Writes the links of a line, each as a paragraph.
pub(super) fn links(out: &mut HtmlOut<'_>, line: &Line) {
    for span in line.spans().filter(|span| span.link.is_some()) {
        paragraph(out, &Line::from_iter([span]));
    }
}

fn spans(out: &mut HtmlOut<'_>, line: &Line, has_links: bool) {
    for span in line.spans() {
        let address = span.link.filter(|_| has_links).and_then(|link| commonmark::address(link));
        if let Some(address) = &address {
            begin_link(out, address);
        }
        classed(out, span.text(), class_of(span.role));
        if let (Some(_), Some(target)) = (address, span.link) {
            out.raw("</a>");
            reveal(out, target, span.text());
        }
    }
}

/// Begins a link to an address that was checked.
pub(super) fn begin_link(out: &mut HtmlOut<'_>, address: &str) {
    out.within("<a rel=\"noopener noreferrer\" href=\"", address, "\">");
}

/// Writes the address after a link whose text names another one.
pub(super) fn reveal(out: &mut HtmlOut<'_>, target: &str, text: &str) {
    if misleads(text, target) {
        out.within(" <code>", target, "</code>");
    }
}

/// Writes clean text, with a class if there is one.
fn classed(out: &mut HtmlOut<'_>, text: &str, class: Option<&str>) {
    let Some(class) = class else { return out.text(text) };
    out.raw_parts(&["<span class=\"", class, "\">"]);
    out.within("", text, "</span>");
}

/// Returns the position a little above the first line of a long output that reports a failure. `None` if that line is visible
/// without scrolling, or if there is none.
fn above_failure(text: &str) -> Option<usize> {
    let before = &text[..first_failure(text)?];
    let mut starts = memchr::memrchr_iter(b'\n', before.as_bytes()).map(|feed| feed + 1);
    let start = starts.nth(LINES_ABOVE)?;
    (page::lines(before) > SEEN_LINES).then_some(start)
}

/// Writes code with highlighted syntax, and with line numbers if `start` is given.
pub(super) fn code_lines(out: &mut HtmlOut<'_>, text: &str, lang: Option<&str>, start: Option<u64>) {
    let mut colours = lang.and_then(|lang| highlight::lines(lang, text));
    if colours.is_none() && start.is_none() {
        out.text(text);
        return;
    }
    let mut number = start;
    for (at, line) in page::split(text).enumerate() {
        if at > 0 {
            out.raw("\n");
        }
        if let Some(now) = number {
            out.raw("<i data-n=\"");
            out.number(now);
            out.raw("\"></i>");
            number = Some(now.saturating_add(1));
        }
        match colours.as_mut().and_then(|colours| colours.line(line)) {
            Some(parts) => {
                for (part, role) in parts {
                    classed(out, part, role.and_then(class_of));
                }
            }
            None => out.text(line),
        }
    }
}

/// Returns the class of a role, or of its nearest parent. Classes are fixed names, whatever roles plugins define.
pub(super) fn class_of(role: Role) -> Option<&'static str> {
    static CLASSES: LazyLock<Vec<Option<&str>>> = LazyLock::new(|| roles().map(class_of_name).collect());
    CLASSES.get(role.number()).copied().unwrap_or_else(|| class_of_name(role.name()))
}

fn class_of_name(role: &str) -> Option<&'static str> {
    let mut name = role;
    loop {
        let class = match name {
            "plan.point" => return None,
            "tool.name" => "tool",
            "call.arg" | "call.command" => "arg",
            "call.key" | "syntax.attribute" => "s-a",
            "muted" | "elided" | "time" | "session.mode" | "session.version" | "id" | "call.note"
            | "call.detail" | "result.note" | "result.ok.note" | "outcome.note" | "session.note"
            | "session.id" | "plan.note" | "record.note" | "tool.note" | "notice.note" | "list.done"
            | "notice.info" => "dim",
            "result.error" | "outcome.error" | "notice.error" | "error" | "list.failed" => "bad",
            "notice.warning" | "outcome.warning" | "warning" => "warn",
            "result.ok" | "outcome.ok" | "ok" => "good",
            "change.add" | "syntax.inserted" => "add",
            "change.remove" | "syntax.deleted" => "rem",
            "path" | "result.file" => "path",
            "badge" => "badge",
            "badge.warning" => "badge warn",
            "badge.critical" => "badge bad",
            "session.model" | "plan" | "record.label" | "syntax.heading" => "strong",
            "syntax.keyword" | "syntax.tag" => "s-k",
            "syntax.string" => "s-s",
            "syntax.comment" => "s-c",
            "syntax.number" | "syntax.constant" => "s-n",
            "syntax.function" => "s-f",
            "syntax.type" => "s-t",
            "syntax.variable" => "s-v",
            _ => match name.rsplit_once('.') {
                Some((parent, _)) => {
                    name = parent;
                    continue;
                }
                None => return None,
            },
        };
        return Some(class);
    }
}
