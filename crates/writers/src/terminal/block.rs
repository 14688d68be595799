//! Writes the blocks of a body as rows.

use std::borrow::Cow;
use std::fmt::Write;

use super::rows::{RowWriter, glyph};
use super::wrap::{self, StyledText};
use super::{Look, diff, prose, table};
use crate::pieces::PIECE;
use crate::{commonmark, highlight, page};
use streamfmt_core::entry::{Block, Line, ListItem, Point, Role, Span, TextLayout};
use streamfmt_core::figures;
use streamfmt_core::theme::{Glyphs, Style};

/// The indentation of further rows of a line of code.
const CODE_HANG: usize = 2;

/// The language of commands.
const SHELL: &str = "sh";

/// Whether a block has any content to write.
pub(super) fn has_content(block: &Block) -> bool {
    match block {
        Block::Prose { text, .. } => !text.trim().is_empty(),
        Block::Lines { lines } => !lines.is_empty(),
        Block::Diff { hunks, .. } => !hunks.is_empty(),
        Block::List { items } => !items.is_empty(),
        Block::Table { head, rows } => !head.is_empty() || !rows.is_empty(),
        Block::Details { summary, .. } => layout_of(summary) != TextLayout::Hidden,
        _ => true,
    }
}

/// Returns the layout of a line, which its first span determines.
fn layout_of(line: &Line) -> TextLayout {
    line.roles().next().map_or(TextLayout::Plain, Role::text_layout)
}

impl RowWriter<'_> {
    /// Writes blocks one below the other. Folded blocks, which may be nested to any depth, are handled without
    /// recursion.
    pub(super) fn blocks(&mut self, blocks: &[Block]) {
        let (mut blocks, mut level) = (blocks.iter(), self.level());
        let mut around = Vec::new();
        loop {
            match blocks.next() {
                Some(Block::Details { summary, body }) => {
                    let layout = layout_of(summary);
                    if layout == TextLayout::Hidden {
                        continue;
                    }
                    self.spans(summary);
                    if layout == TextLayout::Folded {
                        continue;
                    }
                    around.push((blocks, level));
                    level = self.shift(self.look().layout.margin);
                    blocks = body.iter();
                }
                Some(block) => self.block(block),
                None => {
                    self.dedent(level);
                    let Some(outer) = around.pop() else { return };
                    (blocks, level) = outer;
                }
            }
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Lines { lines } => lines.iter().for_each(|line| self.spans(line)),
            Block::Prose { text, role } => self.prose(text, *role),
            Block::Code { text, lang, start, role } => self.code(text, lang.as_deref(), *start, *role),
            Block::Diff { path, hunks } => match diff::new_file(hunks) {
                Some((text, start)) => {
                    let language = path.as_deref().and_then(highlight::language_of);
                    self.code(&text, language, Some(start), "text".into());
                }
                None => diff::write(self, path.as_deref(), hunks),
            },
            Block::List { items } => items.iter().for_each(|item| self.point(item)),
            Block::Table { head, rows } => table::write(self, head, rows),
            Block::Image { media, bytes, name, .. } => self.image(media, *bytes, name.as_deref()),
            // Folded blocks are opened by the caller.
            Block::Details { .. } => {}
            Block::Elided { lines, bytes } => self.elided(*lines, *bytes),
        }
    }

    /// Writes a line of spans.
    fn spans(&mut self, line: &Line) {
        self.hanging(line, 0);
    }

    /// Returns the text of a line that is written as it is.
    fn plain_text<'l>(&self, line: &'l Line) -> Option<&'l str> {
        let is_plain = self.is_plain() && !self.look().layout.is_ascii();
        line.plain().filter(|text| is_plain && text.len() <= PIECE)
    }

    /// Writes a line of spans. `hang`: the indentation of its rows after the first.
    pub(super) fn hanging(&mut self, line: &Line, hang: usize) {
        let look = self.look();
        if let Some(text) = self.plain_text(line) {
            return self.plain_row(text);
        }
        let line = &addressed(look, line);
        let targets = targets(look.links(), line);
        let pieces = pieces(look, line, &targets);
        if pieces.iter().any(|piece| piece.is_spelled && piece.text.contains('\n')) {
            self.spelled_rows(&pieces);
        } else {
            self.line(&pieces, hang);
        }
    }

    /// Writes a line with preformatted pieces of several lines, which are written below one another.
    fn spelled_rows(&mut self, pieces: &[StyledText<'_>]) {
        let mut row: Vec<StyledText<'_>> = Vec::new();
        let level = self.level();
        for piece in pieces {
            let mut lines = piece.text.split('\n');
            let before = wrap::width_of(&row);
            row.extend(lines.next().map(|first| piece.with(first)));
            for (at, line) in lines.enumerate() {
                self.row(&row);
                if at == 0 {
                    self.shift(before);
                }
                row = vec![piece.with(line)];
            }
        }
        self.row(&row);
        self.dedent(level);
    }

    fn prose(&mut self, text: &str, role: Role) {
        if self.look().layout.bare {
            return self.verbatim(text, role, 0);
        }
        // Remove blank lines around a text: the layout adds its own.
        let start = text.len() - text.trim_start_matches(['\n', ' ', '\t']).len();
        let start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let text = text[start..].trim_end();
        if text.is_empty() {
            return;
        }
        let end;
        let text = match self.look().text_end {
            Some(bytes) if text.len() > bytes => {
                end = end_of(text, bytes);
                &*end
            }
            _ => text,
        };
        if self.look().markdown && commonmark::is_sane(text) {
            prose::write(self, text, role);
        } else {
            self.verbatim(text, role, 0);
        }
    }

    /// Writes verbatim text, with line numbers, a prompt and colours if they apply.
    pub(super) fn code(&mut self, text: &str, lang: Option<&str>, start: Option<u64>, role: Role) {
        let look = self.look();
        let mut numbers = start.map(|start| LineNumbers::new(start, text));
        let level = match role.text_layout() {
            TextLayout::Command => {
                let shape = look.piece("mark.command", glyph(look, "command"));
                Some(self.mark(shape, wrap::width(shape.text)))
            }
            // Indented further than a result that may follow.
            TextLayout::Value => Some(self.shift(2 * look.layout.margin)),
            TextLayout::Plain | TextLayout::Typed | TextLayout::Folded | TextLayout::Hidden => None,
        };
        let mut colours = match lang {
            Some(lang) if look.is_ansi() => highlight::lines(lang, text),
            _ => None,
        };
        if numbers.is_none() && colours.is_none() {
            self.verbatim(text, role, CODE_HANG);
        } else {
            let base = look.style(role);
            for line in page::split(text) {
                let pieces = coloured(look, line, colours.as_mut(), role, base);
                let level = numbers.as_mut().map(|numbers| numbers.next(self));
                self.line(&pieces, CODE_HANG);
                if let Some(level) = level {
                    self.dedent(level);
                }
            }
        }
        if let Some(level) = level {
            self.dedent(level);
        }
    }

    fn point(&mut self, item: &ListItem) {
        let look = self.look();
        let (name, mark, role) = match item.point {
            Point::Plain => ("plain", "mark.plain", "list.plain"),
            Point::Open => ("open", "mark.open", "list.open"),
            Point::Active => ("active", "mark.active", "list.active"),
            Point::Done => ("done", "mark.done", "list.done"),
            Point::Failed => ("failed", "mark.failed", "list.failed"),
        };
        let shape = look.piece(mark, glyph(look, name));
        let level = self.mark(shape, wrap::width(shape.text));
        if let Some(text) = self.plain_text(&item.line) {
            self.plain_row(text);
            return self.dedent(level);
        }
        let line = addressed(look, &item.line);
        let targets = targets(look.links(), &line);
        let mut pieces = pieces(look, &line, &targets);
        // The words show the state, too, unless they have their own style.
        for piece in pieces.iter_mut().filter(|piece| piece.role == Role::of("text")) {
            piece.style = look.style(role);
        }
        self.line(&pieces, 0);
        self.dedent(level);
    }

    fn image(&mut self, media: &str, bytes: Option<u64>, name: Option<&str>) {
        let look = self.look();
        let format = media.strip_prefix("image/");
        let kind = match media {
            "application/pdf" => "PDF",
            _ if format.is_some() || matches!(media, "" | "image") => glyph(look, "image"),
            _ => media,
        };
        let blank = if format.is_none_or(str::is_empty) { "" } else { " " };
        let kind = [kind, blank, format.unwrap_or_default()].concat();
        let text = format!("[{}]", page::described(kind, bytes, name));
        self.line(&[look.piece("image", &text)], 0);
    }

    fn elided(&mut self, lines: u64, bytes: u64) {
        let look = self.look();
        let mut text = String::from(glyph(look, "elided"));
        text.push(' ');
        let more = if look.layout.glyphs == Glyphs::Words { "" } else { " more" };
        let _ = match (lines, bytes) {
            (0, bytes) => write!(text, "{}{more}", &*figures::size(bytes)),
            (1, _) => write!(text, "1{more} line"),
            (lines, _) => write!(text, "{}{more} lines", &*figures::count(lines)),
        };
        self.line(&[look.piece("elided", &text)], 0);
    }
}

/// Returns the end of Markdown, at most this many bytes, from the beginning of a paragraph, or of a line if there is none. If it begins
/// inside a code block, the fence is repeated.
fn end_of(text: &str, bytes: usize) -> Cow<'_, str> {
    let from = (text.len().saturating_sub(bytes)..=text.len()).find(|&at| text.is_char_boundary(at));
    let from = from.unwrap_or(text.len());
    let behind = |end: &str| text[from..].find(end).map(|at| from + at + end.len());
    let (before, end) = text.split_at(behind("\n\n").or_else(|| behind("\n")).unwrap_or(from));
    let mut fence = None;
    for line in before.lines() {
        if ["```", "~~~"].iter().any(|mark| line.trim_start().starts_with(mark)) {
            fence = if fence.is_some() { None } else { Some(line) };
        }
    }
    match fence {
        Some(fence) => Cow::Owned([fence, "\n", end].concat()),
        None => Cow::Borrowed(end),
    }
}

/// Returns the pieces of a line of code, highlighted if `colours` is given.
pub(super) fn coloured<'a>(
    look: &Look,
    line: &'a str,
    colours: Option<&mut highlight::Highlighter>,
    role: Role,
    base: Style,
) -> Vec<StyledText<'a>> {
    let plain = StyledText { text: line, role, style: base, ..StyledText::blank(0) };
    match colours.and_then(|colours| colours.line(line)) {
        Some(parts) => {
            let style = |role: Role| look.exact_style(role).unwrap_or_default().over(base);
            let is_command = role.text_layout() == TextLayout::Command;
            let role_of = |part: Option<Role>| if is_command { role_in_command(part) } else { part };
            parts
                .into_iter()
                .map(|(text, part)| StyledText { text, style: role_of(part).map_or(base, style), ..plain })
                .collect()
        }
        None => vec![plain],
    }
}

/// Returns the role of a word in a command: programs, strings and comments have one, the rest is plain.
fn role_in_command(syntax: Option<Role>) -> Option<Role> {
    match syntax? {
        role if role == Role::of("syntax.function") => Some("call.command.program".into()),
        role if role == Role::of("syntax.string") => Some("call.command.string".into()),
        role => Some(role).filter(|role| *role == Role::of("syntax.comment")),
    }
}

/// The gutter of numbered lines.
struct LineNumbers {
    next: u64,
    width: usize,
}

impl LineNumbers {
    fn new(start: u64, text: &str) -> Self {
        let lines = memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64;
        Self { next: start, width: digits(start.saturating_add(lines)) }
    }

    fn next(&mut self, writer: &mut RowWriter<'_>) -> super::rows::RowLevel {
        let look = writer.look();
        let number = format!("{:>width$}", self.next, width = self.width);
        self.next = self.next.saturating_add(1);
        writer.indent(
            &[look.piece("code.number", &number), StyledText::blank(2)],
            &[StyledText::blank(self.width + 2)],
        )
    }
}

/// Returns the pieces of a line. `targets`: the link targets of its spans.
pub(super) fn pieces<'a>(
    look: &Look,
    line: &'a Line,
    targets: &'a [Option<Cow<'a, str>>],
) -> Vec<StyledText<'a>> {
    let mut pieces = Vec::with_capacity(line.spans().len());
    for (at, span) in line.spans().enumerate() {
        let leads_to = targets.get(at).and_then(|target| target.as_deref());
        let piece = look.piece(span.role, span.text());
        let piece = StyledText { link: leads_to, is_spelled: span.is_spelled, ..piece };
        if look.is_ansi() && !span.is_spelled && span.role.text_layout() == TextLayout::Command {
            let mut colours = highlight::lines(SHELL, piece.text);
            pieces.extend(coloured(look, piece.text, colours.as_mut(), piece.role, piece.style));
        } else if look.layout.is_ascii() && !span.is_spelled && is_ours(&span) {
            push_in_ascii(piece, &mut pieces);
        } else {
            pieces.push(piece);
        }
    }
    pieces
}

/// Characters in our own texts, with their replacements in ASCII.
const TWINS: [(char, &str); 5] = [('·', "-"), ('−', "-"), ('–', "-"), ('…', "..."), ('→', "->")];

/// Whether a span is our own text. Text of tools and models is never changed.
fn is_ours(span: &Span<'_>) -> bool {
    match span.role.name() {
        "notice.info" | "notice.warning" | "notice.error" | "notice.note" | "session.note" | "tool.note"
        | "outcome.note" | "outcome.figure" | "outcome.ok" | "change.remove" | "muted" | "elided" => true,
        "call.detail" | "result.note" => {
            let begins = |words: &[&str]| words.iter().any(|word| span.text().starts_with(word));
            matches!(span.text(), "·" | " · " | "→") || begins(&["lines ", "→ "])
        }
        _ => false,
    }
}

fn push_in_ascii<'a>(piece: StyledText<'a>, out: &mut Vec<StyledText<'a>>) {
    let twin = |char: char| TWINS.iter().find(|(ours, _)| *ours == char);
    let mut rest = piece.text;
    while let Some(at) = rest.find(|char| twin(char).is_some()) {
        let (before, after) = rest.split_at(at);
        if !before.is_empty() {
            out.push(piece.with(before));
        }
        let mut after = after.chars();
        if let Some((_, twin)) = after.next().and_then(twin) {
            out.push(piece.with(twin));
        }
        rest = after.as_str();
    }
    if !rest.is_empty() {
        out.push(piece.with(rest));
    }
}

/// Returns the link targets of a line's spans, if links are written; empty if no span has a link.
pub(super) fn targets(links: bool, line: &Line) -> Vec<Option<Cow<'_, str>>> {
    if !links || !line.has_links() {
        return Vec::new();
    }
    line.spans().map(|span| span.link.and_then(|link| target(link))).collect()
}

/// Where links aren't written, adds the address after each link, unless the line already shows it.
pub(super) fn addressed<'l>(look: &Look, line: &'l Line) -> Cow<'l, Line> {
    if look.links() || !line.has_links() {
        return Cow::Borrowed(line);
    }
    let is_shown = |link: &str| {
        let bare = link.strip_prefix("mailto:").unwrap_or(link);
        line.spans().any(|span| [link, bare].contains(&span.text()))
    };
    let mut all = Line::default();
    let mut spans = line.spans().peekable();
    while let Some(span) = spans.next() {
        all.attach_span(span);
        let goes_on = spans.peek().is_some_and(|next| next.link == span.link);
        if let Some(link) = span.link.filter(|link| !goes_on && !is_shown(link) && target(link).is_some()) {
            all.push("link.address", format!("({link})"));
        }
    }
    Cow::Owned(all)
}

/// Returns a link's target as printable ASCII. `None` if its scheme isn't harmless, or if it is too long for terminals.
pub(super) fn target(link: &str) -> Option<Cow<'_, str>> {
    if !commonmark::has_scheme(link, &commonmark::SCHEMES) && !commonmark::has_scheme(link, &["file://"]) {
        return None;
    }
    if link.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Some(Cow::Borrowed(link));
    }
    let encoded = commonmark::encoded(link, |_, byte| byte.is_ascii_graphic());
    (encoded.len() <= commonmark::LONGEST_ADDRESS).then_some(Cow::Owned(encoded))
}

pub(super) fn digits(number: u64) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_text_begins_at_a_paragraph_and_within_its_code() {
        assert_eq!(end_of("first\n\nsecond\n\nthird one", 12), "third one");
        assert_eq!(end_of("```rust\nlet first = 1;\n\nlet second", 14), "```rust\nlet second");
        assert_eq!(end_of("- one point\n- another", 14), "- another");
        assert_eq!(end_of("one long line without an end", 6), "an end");
        assert_eq!(end_of("日本語", 4), "語");
    }

    #[test]
    fn only_harmless_targets_become_links() {
        assert_eq!(target("https://example.com/a b/é").as_deref(), Some("https://example.com/a%20b/%C3%A9"));
        assert_eq!(target("HTTPS://example.com").as_deref(), Some("HTTPS://example.com"));
        for bad in ["javascript:alert(1)", "example.com", "ssh://host", "file:", ""] {
            assert_eq!(target(bad), None, "{bad}");
        }
        assert_eq!(target(&format!("https://{}", "é".repeat(1000))), None);
    }
}
