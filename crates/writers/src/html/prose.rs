//! Writes the Markdown of a model as HTML.
//!
//! Raw HTML becomes text, images become links, and only addresses of harmless schemes are linked.

use pulldown_cmark::{Alignment, Event, HeadingLevel, Tag, TagEnd};

use super::block::{begin_link, code_lines, reveal};
use super::out::HtmlOut;
use crate::commonmark::{self, OpenCode};
use streamfmt_core::text;

/// The most levels of nested elements. Browsers support about five times as many.
const MAX_DEPTH: usize = 96;

/// The meaning of single line feeds within a paragraph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineBreaks {
    /// Line breaks.
    Kept,
    /// Blanks, as in Markdown.
    Flowing,
}

/// Writes Markdown, or its source if parsing it might take too long.
pub(super) fn write(out: &mut HtmlOut<'_>, source: &str, breaks: LineBreaks) {
    write_with(out, source, breaks, Headings::default());
}

/// Writes separate Markdown, whose headings keep their levels.
pub(super) fn write_alone(out: &mut HtmlOut<'_>, source: &str) {
    write_with(out, source, LineBreaks::Flowing, Headings { are_kept: true, ..Headings::default() });
}

fn write_with(out: &mut HtmlOut<'_>, source: &str, breaks: LineBreaks, headings: Headings) {
    let source = source.trim_matches('\n').trim_end();
    if source.trim().is_empty() {
        return;
    }
    out.raw("<div class=\"md\">");
    if !commonmark::is_sane(source) {
        out.within("<pre class=\"wrap\" tabindex=\"0\">", source, "</pre>");
    } else if commonmark::is_words(source) {
        out.within("<p>", &text::clean(source), "</p>");
    } else {
        let mut prose =
            HtmlProse { out, breaks, code: None, links: Vec::new(), table: None, headings, depth: 0 };
        commonmark::read(source, |event| prose.event(event));
    }
    out.raw("</div>\n");
}

/// An open link.
struct OpenHtmlLink {
    target: String,
    is_followed: bool,
    shown: String,
}

struct HtmlTable {
    aligns: Vec<Alignment>,
    column: usize,
    in_head: bool,
}

struct HtmlProse<'w, 'p> {
    out: &'w mut HtmlOut<'p>,
    breaks: LineBreaks,
    code: Option<OpenCode>,
    links: Vec<OpenHtmlLink>,
    table: Option<HtmlTable>,
    headings: Headings,
    /// The number of open tags.
    depth: usize,
}

impl HtmlProse<'_, '_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Code(code) => {
                self.out.raw("<code>");
                self.text(&code);
                self.out.raw("</code>");
            }
            Event::Text(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text)
            | Event::InlineHtml(text)
            | Event::Html(text) => self.text(&text),
            Event::SoftBreak if self.breaks == LineBreaks::Flowing => self.out.raw("\n"),
            Event::SoftBreak | Event::HardBreak => self.out.raw("<br>"),
            Event::Rule => self.out.raw("<hr>"),
            Event::TaskListMarker(true) => {
                self.out.raw("<span class=\"box done\" role=\"img\" aria-label=\"done\">✓</span> ");
            }
            Event::TaskListMarker(false) => {
                self.out.raw("<span class=\"box\" role=\"img\" aria-label=\"to do\"></span> ");
            }
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(code) = &mut self.code {
            code.text.push_str(text);
            return;
        }
        let text = text::clean(text);
        if let Some(link) = self.links.last_mut() {
            link.shown.push_str(&text);
        }
        self.out.text(&text);
    }

    fn start(&mut self, tag: Tag<'_>) {
        self.depth += 1;
        match tag {
            // The content of elements that are too deep is written without the elements.
            Tag::BlockQuote(_) | Tag::List(_) | Tag::Emphasis | Tag::Strong | Tag::Strikethrough
                if self.depth > MAX_DEPTH => {}
            Tag::Item if self.depth > MAX_DEPTH + 1 => {}
            Tag::Paragraph => self.out.raw("<p>"),
            Tag::Heading { level, .. } => {
                let level = self.headings.next(level);
                self.out.raw_parts(&["<h", LEVELS[level - 1], ">"]);
            }
            Tag::BlockQuote(_) => self.out.raw("<blockquote>"),
            Tag::CodeBlock(kind) => self.code = Some(OpenCode::begin(&kind)),
            Tag::HtmlBlock => self.code = Some(OpenCode::of("")),
            Tag::List(Some(1)) => self.out.raw("<ol>"),
            Tag::List(Some(first)) => {
                self.out.raw("<ol start=\"");
                self.out.number(first);
                self.out.raw("\">");
            }
            Tag::List(None) => self.out.raw("<ul>"),
            Tag::Item => self.out.raw("<li>"),
            Tag::Table(aligns) => {
                self.table = Some(HtmlTable { aligns, column: 0, in_head: false });
                self.out.raw("<div class=\"scroll\" tabindex=\"0\"><table>");
            }
            Tag::TableHead => {
                self.out.raw("<thead><tr>");
                self.row(true);
            }
            Tag::TableRow => {
                self.out.raw("<tr>");
                self.row(false);
            }
            Tag::TableCell => self.start_cell(),
            Tag::Emphasis => self.out.raw("<em>"),
            Tag::Strong => self.out.raw("<strong>"),
            Tag::Strikethrough => self.out.raw("<del>"),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                let target = text::clean(&dest_url).replace('\n', " ");
                // A link can't contain another, nor can the label of an image.
                let address = commonmark::address(&target).filter(|_| self.links.is_empty());
                if let Some(address) = &address {
                    begin_link(self.out, address);
                }
                let is_followed = address.is_some();
                self.links.push(OpenHtmlLink { target, is_followed, shown: String::new() });
            }
            // Disabled by the options of the parser.
            _ => {}
        }
    }

    fn row(&mut self, in_head: bool) {
        if let Some(table) = &mut self.table {
            (table.column, table.in_head) = (0, in_head);
        }
    }

    fn start_cell(&mut self) {
        let Some(table) = &mut self.table else { return };
        let align = table.aligns.get(table.column);
        table.column += 1;
        self.out.raw(if table.in_head { "<th scope=\"col\"" } else { "<td" });
        self.out.raw(match align {
            Some(Alignment::Right) => " class=\"right\">",
            Some(Alignment::Center) => " class=\"center\">",
            _ => ">",
        });
    }

    fn end(&mut self, tag: TagEnd) {
        let depth = self.depth;
        self.depth -= 1;
        match tag {
            TagEnd::BlockQuote(_)
            | TagEnd::List(_)
            | TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
                if depth > MAX_DEPTH => {}
            TagEnd::Item if depth > MAX_DEPTH + 1 => {}
            TagEnd::Paragraph => self.out.raw("</p>"),
            TagEnd::Heading(_) => {
                self.out.raw_parts(&["</h", LEVELS[self.headings.last.clamp(1, 6) - 1], ">"]);
            }
            TagEnd::BlockQuote(_) => self.out.raw("</blockquote>"),
            TagEnd::CodeBlock | TagEnd::HtmlBlock => {
                if let Some(OpenCode { language, text: code }) = self.code.take() {
                    let code = text::clean(code.trim_end_matches('\n'));
                    self.out.raw("<pre tabindex=\"0\"><code>");
                    code_lines(self.out, &code, Some(&language), None);
                    self.out.raw("</code></pre>");
                }
            }
            TagEnd::List(true) => self.out.raw("</ol>"),
            TagEnd::List(false) => self.out.raw("</ul>"),
            TagEnd::Item => self.out.raw("</li>"),
            TagEnd::Table => {
                self.table = None;
                self.out.raw("</tbody></table></div>");
            }
            TagEnd::TableHead => self.out.raw("</tr></thead><tbody>"),
            TagEnd::TableRow => self.out.raw("</tr>"),
            TagEnd::TableCell => {
                let is_head = self.table.as_ref().is_some_and(|table| table.in_head);
                // The words of a page without its tags stay apart.
                self.out.raw(if is_head { "</th>\n" } else { "</td>\n" });
            }
            TagEnd::Emphasis => self.out.raw("</em>"),
            TagEnd::Strong => self.out.raw("</strong>"),
            TagEnd::Strikethrough => self.out.raw("</del>"),
            TagEnd::Link | TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    fn end_link(&mut self) {
        let Some(link) = self.links.pop() else { return };
        if link.is_followed && link.shown.trim().is_empty() {
            self.out.text(&link.target);
        }
        if link.is_followed {
            self.out.raw("</a>");
            reveal(self.out, &link.target, &link.shown);
        } else if link.target != link.shown && !link.target.is_empty() {
            self.out.within(" <code>", &link.target, "</code>");
        }
        if let Some(outer) = self.links.last_mut() {
            outer.shown.push_str(&link.shown);
        }
    }
}

/// The levels of a model's headings: below those of the page, and each at most one level below the one before.
#[derive(Default)]
struct Headings {
    /// The original level of the first heading.
    shift: Option<usize>,
    last: usize,
    /// Whether headings keep their original levels.
    are_kept: bool,
}

impl Headings {
    /// Returns the level for the next heading.
    fn next(&mut self, level: HeadingLevel) -> usize {
        let level = level as usize;
        if self.are_kept {
            self.last = level;
            return level;
        }
        let first = *self.shift.get_or_insert(level);
        self.last = (level + 3).saturating_sub(first).clamp(3, 6).min(self.last.max(2) + 1);
        self.last
    }
}

/// The levels of headings as text.
const LEVELS: [&str; 6] = ["1", "2", "3", "4", "5", "6"];
