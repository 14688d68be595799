//! Events of Markdown that keep what was written.
//!
//! `CommonMark` drops characters that models mean literally: the backslashes of `C:\a\_b` and `\(x\)`, the stars of `2*3*4`, the underscores
//! of `__init__.py`, single tildes, the brackets of `Vec<std::string>`, cells that a row has too many. [`AsWritten`] changes the events of the
//! parser so that only marks that format something disappear. It knows from the offsets of the events which part of the source
//! each shows. Text outside of code is always a slice of the source, with its entities and backslashes.

mod definitions;
mod emphasis;
mod escapes;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, CowStr, Event, LinkType, OffsetIter, Parser, Tag, TagEnd};

use crate::commonmark;

/// An event, and the part of the source that it comes from.
pub(super) type PlacedEvent<'t> = (Event<'t>, Range<usize>);

/// Stands for a `|` inside code, which doesn't end the cell of a table. It has the same length, and occurs in no clean text.
const BAR_IN_CODE: char = '\u{1}';

/// The most marks around code in a cell. Nobody writes more, and each number of them may need a search to the end of the line.
const MAX_CODE_MARKS: usize = 16;

/// The positions in a source that need more than the parser's events.
pub(super) struct SourceNotes {
    /// The backslashes that stay although they escape something, in order.
    kept: Vec<usize>,
    /// The link definitions that no link uses, in order. They are shown, since they appear nowhere else.
    definitions: VecDeque<Range<usize>>,
}

/// Returns `source` with the bars inside code replaced.
pub(super) fn mask(source: &str) -> Cow<'_, str> {
    let has = |byte: u8| memchr::memchr(byte, source.as_bytes()).is_some();
    if !has(b'|') || !has(b'`') || has(BAR_IN_CODE as u8) {
        return Cow::Borrowed(source);
    }
    let mut masked = String::with_capacity(source.len());
    for line in source.split_inclusive('\n') {
        let mut rest = line;
        while let Some((before, code)) = code_in(rest) {
            masked.push_str(&rest[..before]);
            let (code, behind) = rest[before..].split_at(code);
            let mut is_escaped = false;
            for ch in code.chars() {
                masked.push(if ch == '|' && !is_escaped { BAR_IN_CODE } else { ch });
                is_escaped = ch == '\\';
            }
            rest = behind;
        }
        masked.push_str(rest);
    }
    Cow::Owned(masked)
}

/// Returns the start and the length of the first code span in a line, with its marks.
fn code_in(line: &str) -> Option<(usize, usize)> {
    let bytes = line.as_bytes();
    let run = |at: usize| bytes[at..].iter().take_while(|byte| **byte == b'`').count();
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'`', b'\\', &bytes[at..])?;
        if bytes[at] == b'\\' {
            at = (at + 2).min(bytes.len());
            continue;
        }
        let length = run(at);
        if length > MAX_CODE_MARKS {
            at += length;
            continue;
        }
        let mut end = at + length;
        while let Some(found) = memchr::memchr(b'`', &bytes[end..]) {
            let closing = run(end + found);
            end += found + closing;
            if closing == length {
                return Some((at, end - at));
            }
        }
        // No other run of the same length follows: none of the marks is one of code.
        at += length;
    }
}

impl SourceNotes {
    /// Reads a source. `masked`: the same, masked.
    pub(super) fn of(source: &str, masked: &str) -> Self {
        Self { kept: escapes::kept(source, masked), definitions: definitions::unused(source, masked) }
    }
}

/// The events of a parser, changed to keep what was written.
pub(super) struct AsWritten<'t> {
    source: &'t str,
    events: OffsetIter<'t>,
    notes: SourceNotes,
    /// Events to return before the next ones are parsed.
    ready: VecDeque<PlacedEvent<'t>>,
    /// The text that continues, as long as its parts are adjacent.
    text: Range<usize>,
    /// The end of the source that is already shown.
    done: usize,
    is_verbatim: bool,
    open: Vec<OpenTag>,
    lists: Vec<OpenList>,
    /// The number of columns of the table, and of the cells of its row so far.
    columns: usize,
    cells: usize,
    row: Range<usize>,
}

/// An open tag whose end depends on its start.
enum OpenTag {
    /// Ends as usual.
    Marked,
    /// Ends with a title.
    Titled(String),
    /// Isn't a tag but text; ends with so many marks.
    Text(usize),
    /// Isn't a link but text, up to the end of its source.
    Link,
    /// Isn't a heading but a paragraph, whose last line is this long.
    Paragraph(usize),
}

/// An open list: the number of the next item if it is numbered, and whether all items so far have the first number.
#[derive(Clone, Copy)]
struct OpenList {
    first: Option<u64>,
    next: u64,
    is_lazy: bool,
}

impl<'t> AsWritten<'t> {
    /// Returns the events of `parser`, which parses `source` masked.
    pub(super) fn new(source: &'t str, parser: Parser<'t>, notes: SourceNotes) -> Self {
        Self {
            source,
            events: parser.into_offset_iter(),
            notes,
            ready: VecDeque::new(),
            text: 0..0,
            done: 0,
            is_verbatim: false,
            open: Vec::new(),
            lists: Vec::new(),
            columns: 0,
            cells: 0,
            row: 0..0,
        }
    }

    fn take(&mut self, event: Event<'t>, span: Range<usize>) {
        let reached = if matches!(event, Event::End(_)) { span.end } else { span.start };
        while let Some(definition) = self.notes.definitions.front().filter(|it| it.end <= reached) {
            self.paragraph(definition.clone());
            self.notes.definitions.pop_front();
        }
        match event {
            Event::Text(_) if !self.is_verbatim => self.text(span.start - self.escape(&span), span.end),
            Event::Start(tag) => self.start(tag, span),
            Event::End(tag) => self.end(tag, span),
            // A backslash at the end of a line is text: it continues a command, or ends a path.
            Event::HardBreak if self.source[span.start..].starts_with('\\') => {
                self.text(span.start, span.start + 1);
                self.pass(Event::HardBreak, span);
            }
            event => self.pass(unmasked(event), span),
        }
    }

    /// Returns the number of backslashes before a text that belong to it.
    fn escape(&self, span: &Range<usize>) -> usize {
        usize::from(
            escapes::before(self.source, self.done, span.start)
                .is_some_and(|at| self.notes.kept.binary_search(&at).is_ok()),
        )
    }

    fn start(&mut self, tag: Tag<'t>, span: Range<usize>) {
        let source = &self.source[span.clone()];
        let done = span.start;
        match &tag {
            Tag::Emphasis | Tag::Strong | Tag::Strikethrough => {
                let marks = match tag {
                    Tag::Strong => 2,
                    Tag::Strikethrough if source.starts_with("~~") => 2,
                    _ => 1,
                };
                let is_text = match tag {
                    Tag::Strikethrough => marks == 1,
                    _ => !emphasis::formats(self.source, &span, marks),
                };
                if is_text {
                    self.open.push(OpenTag::Text(marks));
                    return self.text(done, done + marks);
                }
                self.open.push(OpenTag::Marked);
            }
            Tag::Link { link_type, dest_url, title, .. } | Tag::Image { link_type, dest_url, title, .. } => {
                if self.is_text(*link_type, dest_url, &span) {
                    self.open.push(OpenTag::Link);
                    let marks = if matches!(tag, Tag::Image { .. }) { 2 } else { 1 };
                    return self.text(done, done + marks);
                }
                let title = title.trim();
                self.open.push(if title.is_empty() {
                    OpenTag::Marked
                } else {
                    OpenTag::Titled(format!(" \"{}\"", restored(title)))
                });
            }
            Tag::Heading { .. } => {
                let is_underlined = source.trim_end().contains('\n');
                let line = source.trim_end().trim_end_matches(['=', '-']).len();
                let marks = source.trim_end().len() - line;
                if is_underlined && marks < SHORTEST_UNDERLINE {
                    self.open.push(OpenTag::Paragraph(marks));
                    return self.pass(Event::Start(Tag::Paragraph), done..done);
                }
                self.open.push(OpenTag::Marked);
            }
            Tag::CodeBlock(kind) => {
                self.is_verbatim = true;
                if let CodeBlockKind::Fenced(info) = kind
                    && !info.trim().is_empty()
                    && !commonmark::is_language(info.trim())
                    && let Some(line) = source.lines().next()
                {
                    let start = done + line.len() - line.trim_start_matches(['`', '~', ' ']).len();
                    self.paragraph(start..done + line.trim_end().len());
                }
            }
            Tag::HtmlBlock => self.is_verbatim = true,
            Tag::List(first) => {
                self.lists.push(OpenList { first: *first, next: first.unwrap_or_default(), is_lazy: true });
            }
            Tag::Item => self.item(source, done),
            Tag::Table(columns) => self.columns = columns.len(),
            Tag::TableHead | Tag::TableRow => (self.cells, self.row) = (0, span.clone()),
            _ => {}
        }
        self.pass(Event::Start(unmasked_tag(tag)), done..done.max(self.done));
    }

    /// Begins another list before an item whose number isn't the next one: writers count items.
    fn item(&mut self, source: &str, at: usize) {
        let Some(list) = self.lists.last_mut() else { return };
        let Some(first) = list.first else { return };
        let digits = source.trim_start().bytes().take_while(u8::is_ascii_digit).count();
        let number = source.trim_start()[..digits].parse().unwrap_or(list.next);
        let is_counted = number == list.next || (list.is_lazy && number == first);
        list.is_lazy &= number == first;
        if is_counted {
            list.next += 1;
            return;
        }
        *list = OpenList { first: Some(number), next: number + 1, is_lazy: true };
        self.pass(Event::End(TagEnd::List(true)), at..at);
        self.pass(Event::Start(Tag::List(Some(number))), at..at);
    }

    /// Whether a link is text: it leads nowhere, and brackets are a part of what it shows.
    fn is_text(&self, kind: LinkType, target: &str, span: &Range<usize>) -> bool {
        if !matches!(kind, LinkType::Inline | LinkType::Autolink) || commonmark::address(target).is_some() {
            return false;
        }
        let source = &self.source[span.clone()];
        let is_index = || {
            let before = self.source[..span.start].chars().next_back();
            before.is_some_and(|ch| ch.is_alphanumeric() || matches!(ch, '_' | ')' | ']'))
        };
        // The parser has removed the backslashes of a path.
        matches!(kind, LinkType::Autolink)
            || source.starts_with("[]")
            || source.starts_with("![]")
            || target.is_empty()
            || source.as_bytes().iter().rev().take(commonmark::LONGEST_ADDRESS).any(|byte| *byte == b'\\')
            || is_index()
    }

    fn end(&mut self, tag: TagEnd, span: Range<usize>) {
        match tag {
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image => {
                match self.open.pop() {
                    Some(OpenTag::Text(marks)) => return self.text(span.end - marks, span.end),
                    Some(OpenTag::Link) => return self.text(self.done.min(span.end), span.end),
                    Some(OpenTag::Titled(title)) => {
                        self.pass(Event::End(tag), span.clone());
                        return self.pass(Event::Text(title.into()), span);
                    }
                    _ => {}
                }
            }
            TagEnd::Heading(level) => {
                if let Some(OpenTag::Paragraph(marks)) = self.open.pop() {
                    let end = span.start + self.source[span.clone()].trim_end().len();
                    self.pass(Event::SoftBreak, end - marks..end - marks);
                    self.text(end - marks, end);
                    return self.pass(Event::End(TagEnd::Paragraph), span);
                }
                // Marks that close a heading are as many as those that open it.
                let behind = self.source.get(self.done..span.end).unwrap_or_default().trim_end();
                let marks = behind.trim_start().len();
                if self.done > span.start && marks != level as usize && is_all(behind.trim_start(), b'#') {
                    self.text(self.done, self.done + behind.len());
                }
            }
            TagEnd::TableCell => {
                self.cells += 1;
                let rest = self.source.get(span.end..self.row.end).unwrap_or_default();
                let is_cell = |ch: char| ch != '|' && !ch.is_whitespace();
                if self.cells == self.columns && rest.contains(is_cell) {
                    self.text(self.done, span.end + rest.trim_end().trim_end_matches('|').trim_end().len());
                }
            }
            TagEnd::CodeBlock | TagEnd::HtmlBlock => self.is_verbatim = false,
            TagEnd::List(_) => {
                self.lists.pop();
            }
            _ => {}
        }
        self.pass(Event::End(tag), span);
    }

    /// Adds a part of the source to the text.
    fn text(&mut self, start: usize, end: usize) {
        if self.text.end != start || self.text.is_empty() {
            self.flush();
            self.text = start..end;
        }
        self.text.end = end;
        self.done = self.done.max(end);
    }

    fn flush(&mut self) {
        let span = std::mem::replace(&mut self.text, 0..0);
        if let Some(text) = self.source.get(span.clone()).filter(|text| !text.is_empty()) {
            self.ready.push_back((Event::Text(text.into()), span));
        }
    }

    /// Returns an event as it is.
    fn pass(&mut self, event: Event<'t>, span: Range<usize>) {
        self.flush();
        self.done = self.done.max(span.end);
        self.ready.push_back((event, span));
    }

    /// Returns the events of a paragraph with the lines of a part of the source.
    fn paragraph(&mut self, span: Range<usize>) {
        let Some(text) = self.source.get(span.clone()) else { return };
        self.pass(Event::Start(Tag::Paragraph), span.start..span.start);
        self.ready.extend(lines(text).map(|event| (event, span.clone())));
        self.pass(Event::End(TagEnd::Paragraph), span);
    }
}

impl<'t> Iterator for AsWritten<'t> {
    type Item = PlacedEvent<'t>;

    fn next(&mut self) -> Option<PlacedEvent<'t>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            match self.events.next() {
                Some((event, span)) => self.take(event, span),
                None if !self.text.is_empty() => self.flush(),
                None => {
                    let definition = self.notes.definitions.pop_front()?;
                    self.paragraph(definition);
                }
            }
        }
    }
}

/// The fewest marks below a heading. Fewer are more likely a sign, or a list item that isn't complete.
const SHORTEST_UNDERLINE: usize = 3;

/// Returns the events of the lines of a paragraph.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Event<'_>> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.enumerate().flat_map(|(at, line)| {
        let line_break = (at > 0).then_some(Event::SoftBreak);
        line_break.into_iter().chain([Event::Text(line.into())])
    })
}

fn is_all(text: &str, byte: u8) -> bool {
    !text.is_empty() && text.bytes().all(|it| it == byte)
}

/// Replaces what stands for bars in code.
fn restored<'t>(text: impl Into<CowStr<'t>>) -> CowStr<'t> {
    let text = text.into();
    if memchr::memchr(BAR_IN_CODE as u8, text.as_bytes()).is_some() {
        text.replace(BAR_IN_CODE, "|").into()
    } else {
        text
    }
}

fn unmasked(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Text(text) => Event::Text(restored(text)),
        Event::Code(text) => Event::Code(restored(text)),
        Event::Html(text) => Event::Html(restored(text)),
        Event::InlineHtml(text) => Event::InlineHtml(restored(text)),
        event => event,
    }
}

fn unmasked_tag(tag: Tag<'_>) -> Tag<'_> {
    match tag {
        Tag::Link { link_type, dest_url, title, id } => {
            Tag::Link { link_type, dest_url: restored(dest_url), title, id }
        }
        Tag::Image { link_type, dest_url, title, id } => {
            Tag::Image { link_type, dest_url: restored(dest_url), title, id }
        }
        tag => tag,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commonmark::read;

    /// Returns the visible text of a source, with the marks of its formatting.
    fn shown(source: &str) -> String {
        let mut out = String::new();
        read(source, |event| match event {
            Event::Text(text) | Event::InlineHtml(text) | Event::Html(text) => out.push_str(&text),
            Event::Code(code) => out.extend(["`", &*code, "`"]),
            Event::SoftBreak | Event::HardBreak => out.push('/'),
            Event::Start(Tag::Emphasis | Tag::Strong | Tag::Strikethrough) => out.push('{'),
            Event::End(TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough) => out.push('}'),
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                out.extend(["<", &*dest_url, "|"]);
            }
            Event::End(TagEnd::Link | TagEnd::Image) => out.push('>'),
            Event::Start(Tag::Heading { .. }) => out.push('#'),
            Event::Start(Tag::List(Some(first))) => out.push_str(&first.to_string()),
            Event::End(TagEnd::Paragraph | TagEnd::Item | TagEnd::Heading(_) | TagEnd::CodeBlock) => {
                out.push('¶');
            }
            Event::End(TagEnd::TableCell) => out.push('│'),
            _ => {}
        });
        out
    }

    #[test]
    fn backslashes_stay_unless_they_escape_something() {
        for (source, expected) in [
            (r"C:\Users\ola\_notes_\*.md", r"C:\Users\ola\_notes_\*.md¶"),
            (r"C:\a\_b, \(a\), \\, \[x\] \$5", r"C:\a\_b, \(a\), \\, \[x\] \$5¶"),
            (r"\*not bold\* but \*", r"*not bold* but \*¶"),
            (r"\[a\](b) \`c\` \<i\>", "[a](b) `c` <i>¶"),
            ("\\# a\n\n1\\. b\n\n2 \\* 3", "# a¶1. b¶2 \\* 3¶"),
            ("cargo test \\\n  --all\\", "cargo test \\/--all\\¶"),
            (r"[a\_b](https://x.y)", r"<https://x.y|a\_b>¶"),
            (r"`a\_b` \_c\_ \~d\~", r"`a\_b` _c_ \~d\~¶"),
        ] {
            assert_eq!(shown(source), expected, "{source}");
        }
    }

    #[test]
    fn what_formats_nothing_stays() {
        for (source, expected) in [
            ("~one~ ~$120B (~$55 ~~gone~~", "~one~ ~$120B (~$55 {gone}¶"),
            ("__init__.py 2*3*4 **b** *e*", "__init__.py 2*3*4 {b} {e}¶"),
            ("&lt;b&gt; &copy;", "&lt;b&gt; &copy;¶"),
            ("Vec<std::string> <https://x.y>", "Vec<std::string> <https://x.y|https://x.y>¶"),
            ("a[i](x) [b](x) []() [c]()", "a[i](x) <x|b> []() [c]()¶"),
            ("[a](https://x.y 'why')", "<https://x.y|a> \"why\"¶"),
            ("a\n-\n", "a/-¶"),
            ("a\n---\n", "#a¶"),
            ("## a #\n# b #", "#a #¶#b¶"),
            ("```rust x=1\na\n```", "rust x=1¶a\n¶"),
            ("3. a\n2. b\n\n1. c", "3a¶¶2b¶¶1c¶¶"),
            ("1. a\n1. b", "1a¶b¶"),
        ] {
            assert_eq!(shown(source), expected, "{source}");
        }
    }

    #[test]
    fn each_cell_of_a_row_is_shown() {
        let source = "| a | `b | c` |\n|---|---|\n| `d \\| e` | f\\|g | h | `i` |\n| `j |\n";
        assert_eq!(shown(source), "a│`b | c`│`d | e`│f|g | h | `i`│`j││");
        // Elsewhere, bars are ordinary text.
        assert_eq!(shown("`a | b` | c\n\n    `d | e`"), "`a | b` | c¶`d | e`¶");
    }

    #[test]
    fn definitions_that_no_link_uses_stay_in_their_places() {
        let source = "[I]: starting\n\n[a]: /one\n[a]: /two\n\n[a]\n\n- [b]: /three\n\n> [c]: /four\n";
        assert_eq!(shown(source), "[I]: starting¶[a]: /two¶</one|a>¶[b]: /three¶¶[c]: /four¶");
    }
}
