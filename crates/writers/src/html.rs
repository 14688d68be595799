//! Entries as one self-contained HTML page: no requests, no other files, no server.
//!
//! ```text
//! header    the title, the facts of the run    written last and put first, if the text can wait for that;
//! main      the answer, and the outcome          otherwise written after the activity, and shown first by the order of CSS
//!           the timeline, the prompts
//!           the activity: entries in order, calls folded to one line
//! script    search, filters, keys, and folded content; without it, everything is still readable
//! ```
//!
//! Memory doesn't grow with the run. Replies are held back while they may be the answer, and calls for a while, so that
//! their results are inside them; a result that comes later is separate and links to its call.
//!
//! The page's policy allows only one style and one script, by their hashes. All content of the stream is text, and is
//! written by `HtmlOut::text`.

mod block;
mod chunks;
mod contents;
mod folds;
mod fragment;
mod head;
mod highlights;
mod index;
mod out;
mod prose;
mod raw_lines;
mod row;
mod samples;
mod timeline;

use std::fmt;

use jiff::tz::TimeZone;

use crate::page::{self, PageOptions, UtcTime};
use streamfmt_core::entry::{Block, Entry, Line, Role};
use streamfmt_core::item::{Action, Kind};
use streamfmt_core::outline::{Answer, DocumentHead, Nest, Node, Relation};
use streamfmt_core::writer::{HeadWriter, Order, Wants, Writer};

pub use self::fragment::{HtmlFragments, HtmlRow};
pub use self::index::IndexedPage;

use self::block::HtmlBlocks;
use self::chunks::RowChunks;
use self::head::KeptPage;
use self::out::HtmlOut;
use self::raw_lines::{RawLines, short_line};
use self::timeline::Timeline;

/// The style and the script of every page.
const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");
/// Their hashes for the policy. A test prints the correct ones if they differ.
const STYLE_HASH: &str = "sha256-4rzSXSKRD0jYOcx95tUSOU+N87tUrPRavv9R/KSesnY=";
const SCRIPT_HASH: &str = "sha256-qOe92ldwmg3bNHQkQOhN4TMniwTFp21yhdLHehfL1b0=";

/// The classes of nodes in a tree, by level. Deeper nodes have the last one.
const LEVELS: [&str; 9] = ["", " l1", " l2", " l3", " l4", " l5", " l6", " l7", " l8"];

/// The most lines of a failure that is unfolded at first.
const OPEN_FAILURE: usize = 60;

/// Writes entries as an HTML page.
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
#[derive(Debug, Default)]
pub struct Html {
    options: PageOptions,
    /// Whether headings of a model's text keep their levels, instead of those below the page's.
    keeps_levels: bool,
    /// Whether calls that wait for a person are unfolded.
    opens_waiting: bool,
    buffer: String,
    is_begun: bool,
    /// Whether the activity has ended.
    is_over: bool,
    /// Whether the activity has any entries.
    has_activity: bool,
    timeline: Timeline,
    chunks: RowChunks,
    raw: RawLines,
    /// The results of the calls whose folds are open.
    inside: Vec<Option<Box<Entry>>>,
    /// The parts that are kept for the head.
    kept: Option<Box<KeptPage>>,
}

impl Html {
    /// Creates a writer with this layout.
    pub fn new(options: PageOptions) -> Self {
        Self { options, ..Self::default() }
    }

    fn begin_page(&mut self, first: Option<&Entry>, out: &mut HtmlOut<'_>) {
        self.end_raw_lines(out);
        if std::mem::replace(&mut self.is_begun, true) {
            return;
        }
        let session = first.filter(|entry| entry.view.is_heading());
        if let Some(kept) = &mut self.kept {
            if let Some(entry) = session {
                kept.session = Some(Box::new(entry.clone()));
            }
            return;
        }
        let title = session.map(|entry| session_title(&entry.view.title));
        let title = title.as_deref().filter(|title| !title.is_empty()).unwrap_or("Agent session");
        head(title, out);
        out.raw("<header class=\"top\"><h1>");
        match session {
            Some(entry) => block::line(out, &entry.view.title),
            None => out.text(title),
        }
        out.raw("</h1>");
        if let Some(entry) = session.filter(|entry| !entry.view.body.is_empty()) {
            let is_long = blocks_lines(&entry.view.body) > 2;
            out.raw(if is_long {
                "<details class=\"fold\"><summary>Set-up</summary>"
            } else {
                "<div class=\"setup\">"
            });
            self.body(&entry.view.body, out);
            out.raw(if is_long { "</details>" } else { "</div>" });
        }
        out.raw("</header>\n");
        Self::begin_main(out);
        // It is unknown whether entries will follow.
        Self::begin_activity(true, out);
    }

    fn begin_main(out: &mut HtmlOut<'_>) {
        out.raw("<div id=\"tools\" role=\"search\" hidden></div>\n<main>\n");
    }

    /// Begins the activity. `is_shown`: whether it has entries; the script needs an empty one, too.
    fn begin_activity(is_shown: bool, out: &mut HtmlOut<'_>) {
        let hidden = if is_shown { "" } else { " hidden" };
        out.raw_parts(&["<section id=\"activity\" aria-labelledby=\"h-activity\"", hidden, ">"]);
        out.raw("<h2 id=\"h-activity\">Activity</h2>\n");
    }

    /// Calls `write` with a buffered output for a part of the page.
    fn buffered(
        &mut self,
        out: &mut dyn fmt::Write,
        write: impl FnOnce(&mut Self, &mut HtmlOut<'_>),
    ) -> fmt::Result {
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut out = HtmlOut::new(&mut buffer, out);
        write(self, &mut out);
        let written = out.end();
        self.buffer = buffer;
        written
    }

    fn note(&mut self, node: &Node) {
        for entry in node.entries() {
            self.timeline.note(entry);
            self.kept.iter_mut().for_each(|kept| kept.contents.note(entry));
        }
    }

    fn body(&self, blocks: &[Block], out: &mut HtmlOut<'_>) {
        let Self { options, keeps_levels, .. } = self;
        HtmlBlocks { out, options, keeps_levels: *keeps_levels }.blocks(blocks);
    }

    /// Writes an entry, with its result if it is a call.
    fn write(&self, node: &Node, out: &mut HtmlOut<'_>) {
        let entry = &*node.entry;
        let level = usize::from(entry.level).min(LEVELS.len() - 1);
        let failed = failed(node.entries().any(Entry::is_failed));
        let anchor = begin_entry(entry, &[class_of(entry), LEVELS[level], failed], out);
        match entry.kind {
            Kind::Reply => self.body(&entry.view.body, out),
            Kind::Prompt => {
                let label = if entry.begins_turn() { "Prompt" } else { "Task" };
                out.raw_parts(&["<p class=\"label\">", label, "</p>"]);
                self.body(&entry.view.body, out);
            }
            _ => self.row(node, out),
        }
        self.time(entry, &anchor, out);
        out.raw("</div>\n");
    }

    /// Writes an entry as a row, with its body folded.
    fn row(&self, node: &Node, out: &mut HtmlOut<'_>) {
        let (entry, result) = (&*node.entry, node.result.as_deref());
        let view = &entry.view;
        if let (Some(thought), None) = (row::one_line_thought(entry), result) {
            out.raw("<div class=\"row\">");
            row::mark(view.mark, out);
            out.raw("<div class=\"t\">");
            self.body(std::slice::from_ref(thought), out);
            out.raw("</div></div>");
            return;
        }
        let is_said = |entry: &Entry| !entry.view.body.is_empty() && !is_line(entry);
        let is_folded =
            is_said(entry) || result.is_some_and(|result| is_said(result) || is_long(&result.view.title));
        let is_failed = || {
            node.entries().any(Entry::is_failed)
                && node.entries().map(|entry| page::lines_of(&entry.view.body)).sum::<usize>() <= OPEN_FAILURE
        };
        let is_open = matches!(entry.kind, Kind::Plan | Kind::Outcome | Kind::Record)
            || view.is_heading()
            || self.opens_waiting && entry.waiting.is_some()
            || is_failed();
        out.raw(row::begin(is_folded, is_open));
        Self::summary(node, if is_folded { block::label } else { block::line }, out);
        if !is_folded {
            out.raw("</p>");
            return;
        }
        // With scripts, browsers keep this as text, and the page's script parses it when it is needed: folded content costs
        // no elements. Without scripts, it is parsed at once. No text can end it, since each `<` of a text is escaped.
        out.raw(if is_open {
            "</summary><div class=\"body\">"
        } else {
            "</summary><noscript><div class=\"body\">"
        });
        block::links(out, &view.title);
        self.body(&view.body, out);
        if let Some(result) = result {
            let name = page::anchor(result.id.as_str());
            out.raw_parts(&["<div class=\"result\" id=\"", &name, "\">"]);
            if is_long(&result.view.title) {
                block::paragraph(out, &result.view.title);
            } else {
                block::links(out, &result.view.title);
            }
            self.body(&result.view.body, out);
            out.raw("</div>");
        }
        out.raw(if is_open { "</div></details>" } else { "</div></noscript></details>" });
    }

    /// Writes the mark and title of a row. A call's is followed by the title of its result.
    fn summary(node: &Node, line: fn(&mut HtmlOut<'_>, &Line), out: &mut HtmlOut<'_>) {
        let (entry, result) = (&*node.entry, node.result.as_deref());
        let mark = if result.is_some_and(Entry::is_failed) { Some("error") } else { entry.view.mark };
        let mark = if entry.kind == Kind::Result { mark.or(Some("result")) } else { mark };
        row::mark(mark, out);
        out.raw(if row::is_described(entry) { "<span class=\"t said\">" } else { "<span class=\"t\">" });
        Self::title(node, line, out);
        if let Some(input) = row::input_beginning(entry) {
            out.within(" <span class=\"more\">", &input, "</span>");
        }
        out.raw("</span>");
        if let Some(note) = result.map(|result| &result.view.title).filter(|title| !title.is_empty()) {
            out.raw(" <span class=\"note\">");
            line(out, note);
            out.raw("</span>");
        } else if entry.kind == Kind::Call && result.is_none() && entry.action != Some(Action::Delegate) {
            out.raw(" <span class=\"note dim\">…</span>");
        }
    }

    fn title(node: &Node, line: fn(&mut HtmlOut<'_>, &Line), out: &mut HtmlOut<'_>) {
        let Node { entry, relation, .. } = node;
        let view = &entry.view;
        if entry.kind == Kind::Result {
            out.raw("<span class=\"dim\">result of </span>");
            match relation {
                Relation::Apart(title) => out.text(&session_title(title)),
                _ => out.raw("the call above"),
            }
            out.raw(" ");
            if let Some(note) = Some(&view.title).filter(|title| !title.is_empty()) {
                out.raw("<span class=\"note\">");
                line(out, note);
                out.raw("</span>");
            }
        } else if !view.title.is_empty() {
            line(out, &view.title);
        } else if entry.kind == Kind::Thinking {
            out.within("Thinking <span class=\"dim\">", &beginning(&view.body), "</span>");
        } else {
            out.text(&beginning(&view.body));
        }
    }

    /// Writes the time of an entry, as a link to the entry.
    fn time(&self, entry: &Entry, anchor: &str, out: &mut HtmlOut<'_>) {
        out.raw_parts(&["<a class=\"at\" href=\"#", anchor]);
        match entry.at {
            Some(at) => {
                let utc = UtcTime::new(TimeZone::UTC.to_datetime(at));
                let local = self.options.timestamps.as_ref().map(|zone| UtcTime::new(zone.to_datetime(at)));
                let _ = out.formatted(format_args!("\"><time datetime=\"{utc}\">"));
                out.raw_parts(&[local.as_ref().unwrap_or(&utc).clock(), "</time></a>"]);
            }
            None => out.raw("\" aria-label=\"link to this\">#</a>"),
        }
    }

    /// Ends the activity, and writes the parts that are shown above it.
    fn end_page(&mut self, out: &mut HtmlOut<'_>) {
        self.end_activity(out);
        if self.kept.is_none() {
            self.timeline.write(None, out);
        }
        out.raw("</main>\n<footer>Written by streamfmt, with times in UTC</footer>\n");
        out.raw_parts(&["<script>", SCRIPT, "</script>\n</body>\n</html>\n"]);
    }

    /// Begins an entry or a fold of several in the activity, or in a fold of it.
    fn begin_part(&mut self, out: &mut HtmlOut<'_>) {
        self.has_activity = true;
        if self.inside.is_empty() {
            self.chunks.begin_part(out);
        }
    }

    fn end_activity(&mut self, out: &mut HtmlOut<'_>) {
        if !std::mem::replace(&mut self.is_over, true) {
            self.chunks.end(out);
            out.raw("<p id=\"none\" hidden>Nothing here matches.</p></section>\n");
        }
    }

    /// Writes the last answer, or keeps it for the top of the page.
    fn last_answer(&mut self, answer: &Answer, out: &mut HtmlOut<'_>) {
        let others = answer.nodes.iter().filter(|node| !node.is_of_answer());
        for node in others {
            self.begin_part(out);
            self.write(node, out);
        }
        if let Some(kept) = &mut self.kept {
            kept.answer = Some(answer.clone());
            return;
        }
        self.end_activity(out);
        self.write_answer(answer, "", out);
    }

    /// Writes the answer, without a heading that equals the title of the page.
    fn write_answer(&self, answer: &Answer, title: &str, out: &mut HtmlOut<'_>) {
        out.raw("<section id=\"answer\" aria-labelledby=\"h-answer\"><h2 id=\"h-answer\">Answer</h2>\n");
        self.answer_body(answer, title, out);
        out.raw("</section>\n");
    }

    fn answer_body(&self, answer: &Answer, title: &str, out: &mut HtmlOut<'_>) {
        let of = |kind: Kind| answer.nodes.iter().filter(move |node| node.entry.kind == kind);
        let totals = of(Kind::Notice).filter(|node| node.is_of_answer());
        of(Kind::Outcome).chain(totals).for_each(|node| self.outcome(&node.entry, out));
        let is_reply = |node: &&Node| node.entry.kind == Kind::Reply || node.entry.is_in_tree();
        let mut is_in_tree = false;
        let copies = answer.before.iter().map(|node| (node, true));
        let replies = copies.chain(answer.nodes.iter().filter(is_reply).map(|node| (node, false)));
        for (at, (node, is_copy)) in replies.enumerate() {
            let entry = &node.entry;
            if is_copy {
                // Its anchor is in the activity.
                out.raw("<div class=\"reply\">");
                if !entry.view.title.is_empty() {
                    block::paragraph(out, &entry.view.title);
                }
                self.body(&entry.view.body, out);
                out.raw("</div>\n");
                continue;
            }
            if is_in_tree != (entry.kind != Kind::Reply) {
                is_in_tree = !is_in_tree;
                out.raw(if is_in_tree { "<div class=\"tree\">\n" } else { "</div>\n" });
            }
            if is_in_tree {
                self.write(node, out);
                continue;
            }
            let below = if at == 0 { page::below_title(entry, title) } else { None };
            let entry = below.as_ref().unwrap_or(entry);
            let anchor = page::anchor(entry.id.as_str());
            out.raw_parts(&[
                "<div class=\"e reply\" data-kind=\"reply\" tabindex=\"-1\" id=\"",
                &anchor,
                "\">",
            ]);
            self.body(&entry.view.body, out);
            self.time(entry, &anchor, out);
            out.raw("</div>\n");
        }
        out.raw(if is_in_tree { "</div>\n" } else { "" });
    }

    fn outcome(&self, entry: &Entry, out: &mut HtmlOut<'_>) {
        let anchor = page::anchor(entry.id.as_str());
        let failed = failed(entry.is_failed());
        out.raw_parts(&["<div class=\"end", failed, "\" id=\"", &anchor, "\"><p class=\"row\">"]);
        row::mark(entry.view.mark, out);
        out.raw("<span class=\"t\">");
        block::line(out, &entry.view.title);
        out.raw("</span></p>");
        // The reason of a failure isn't folded.
        let is_reason = |line: &Line| line.roles().all(|role| role == Role::of("outcome.error"));
        let (mut shown, mut accounts) = (Vec::new(), Vec::new());
        for block in &entry.view.body {
            let Block::Lines { lines } = block else {
                shown.push(block.clone());
                continue;
            };
            let (reasons, lines): (Vec<Line>, Vec<Line>) = lines.iter().cloned().partition(is_reason);
            shown.extend((!reasons.is_empty()).then_some(Block::Lines { lines: reasons }));
            accounts.extend((!lines.is_empty()).then_some(Block::Lines { lines }));
        }
        self.body(&shown, out);
        if !accounts.is_empty() {
            out.raw("<details class=\"fold\"><summary>Accounts</summary>");
            self.body(&accounts, out);
            out.raw("</details>");
        }
        out.raw("</div>\n");
    }
}

impl Writer for Html {
    fn wants(&self) -> Wants {
        Wants {
            time: true,
            figures: true,
            answer: true,
            head: true,
            nests: true,
            notices: true,
            order: Order::Paired,
            ..Wants::default()
        }
    }

    fn node(&mut self, node: &Node, out: &mut dyn fmt::Write) -> fmt::Result {
        self.buffered(out, |page, out| {
            if let Some(text) = short_line(node) {
                if !page.is_begun {
                    page.begin_page(None, out);
                }
                page.note(node);
                return page.raw_line(node, text, out);
            }
            let is_header = !page.is_begun && node.entry.view.is_heading();
            page.begin_page(Some(&node.entry), out);
            page.note(node);
            if !is_header {
                page.begin_part(out);
                page.write(node, out);
            }
        })
    }

    fn enter(&mut self, nest: &Nest, out: &mut dyn fmt::Write) -> fmt::Result {
        self.buffered(out, |page, out| {
            page.begin_page(None, out);
            page.begin_part(out);
            page.enter_nest(nest, out);
        })
    }

    fn leave(&mut self, out: &mut dyn fmt::Write) -> fmt::Result {
        self.buffered(out, |page, out| {
            page.end_raw_lines(out);
            page.leave_nest(out);
        })
    }

    fn notices(&mut self, nodes: &[Node], out: &mut dyn fmt::Write) -> fmt::Result {
        self.buffered(out, |page, out| {
            page.begin_page(None, out);
            for node in nodes {
                page.note(node);
            }
            page.begin_part(out);
            page.notices_row(nodes, out);
        })
    }

    fn answer(&mut self, answer: &Answer, out: &mut dyn fmt::Write) -> fmt::Result {
        self.buffered(out, |page, out| {
            page.begin_page(None, out);
            answer.nodes.iter().for_each(|node| page.note(node));
            if answer.is_last {
                page.last_answer(answer, out);
            } else {
                page.begin_part(out);
                page.turn(answer, out);
            }
        })
    }

    fn end(&mut self, out: &mut dyn fmt::Write) -> fmt::Result {
        self.buffered(out, |page, out| {
            page.begin_page(None, out);
            page.end_page(out);
        })
    }

    fn head(&mut self) -> Option<&mut dyn HeadWriter> {
        Some(self)
    }
}

impl HeadWriter for Html {
    fn hold(&mut self) {
        self.kept = Some(Box::default());
    }

    fn write_head(&mut self, head: &DocumentHead, out: &mut dyn fmt::Write) -> fmt::Result {
        let Some(kept) = self.kept.take() else { return Ok(()) };
        self.buffered(out, |page, out| page.write_kept(&kept, head, out))
    }
}

fn head(title: &str, out: &mut HtmlOut<'_>) {
    out.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    let _ = out.formatted(format_args!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src '{SCRIPT_HASH}'; \
         style-src '{STYLE_HASH}'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
    ));
    out.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    out.raw("<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"color-scheme\" content=\"light dark\">\n");
    out.within("<meta name=\"generator\" content=\"streamfmt\">\n<title>", title, "</title>\n");
    out.raw_parts(&[
        "<style>",
        STYLE,
        "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#answer\">Skip to the answer</a>\n",
    ]);
}

/// Begins the element of an entry, with these classes. Returns its anchor.
fn begin_entry(entry: &Entry, classes: &[&str], out: &mut HtmlOut<'_>) -> String {
    let anchor = page::anchor(entry.id.as_str());
    out.raw("<div class=\"e ");
    out.raw_parts(classes);
    out.raw_parts(&["\" id=\"", &anchor, "\" data-kind=\"", entry.kind.name()]);
    if let Some(tool) = &entry.tool {
        out.within("\" data-tool=\"", tool, "");
    }
    out.raw("\" tabindex=\"-1\">");
    anchor
}

/// Returns the additional class of a failure.
fn failed(is_failed: bool) -> &'static str {
    if is_failed { " failed" } else { "" }
}

/// Returns the trimmed text of a title.
fn session_title(title: &Line) -> String {
    title.text().trim().to_owned()
}

/// Whether a title is too long for the end of a line.
fn is_long(title: &Line) -> bool {
    title.text().len() > 60
}

fn class_of(entry: &Entry) -> &'static str {
    match (entry.kind, entry.view.mark) {
        (Kind::Prompt, _) if !entry.begins_turn() => "prompt task",
        (Kind::Notice, Some("warning")) => "notice warning",
        (Kind::Notice, Some("error")) => "notice failed",
        (Kind::Notice, Some("session")) => "notice session",
        (kind, _) => kind.name(),
    }
}

/// Returns the beginning of the text of blocks, for the summary of their fold.
fn beginning(blocks: &[Block]) -> String {
    let text = blocks.iter().find_map(Block::source).map_or("", |(_, text)| text);
    row::clipped(text.trim_start().lines().next().unwrap_or(""), 100)
}

/// Whether an entry has no title, and its whole body fits in the row instead.
fn is_line(entry: &Entry) -> bool {
    let has_beginning = !matches!(entry.kind, Kind::Result | Kind::Thinking) && entry.view.title.is_empty();
    match &entry.view.body[..] {
        [Block::Code { text, .. }] if has_beginning => {
            text.len() <= 100 && !text.contains('\n') && !text.starts_with(char::is_whitespace)
        }
        _ => false,
    }
}

fn blocks_lines(blocks: &[Block]) -> usize {
    let lines = |block: &Block| if let Block::Lines { lines } = block { lines.len() } else { 2 };
    blocks.iter().map(lines).sum()
}

#[cfg(test)]
mod tests;
