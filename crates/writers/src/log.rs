//! One line per event, easy to search, for the logs of CI services.
//!
//! ```text
//! [tool] Bash Run all tests · $ cargo test
//! [tool] (Find callers) Grep total                             with the name of its sub-agent
//! [result] Bash Run all tests: running 14 tests … (+12 lines)
//! ::group::14 lines                                            all lines, folded, if the service supports that
//!   running 14 tests
//! ::endgroup::
//! ::warning title=Read,file=src/a.rs::[error] Read src/a.rs: File does not exist.
//! [answer] All tests pass. (+4 lines)
//! [cost] $0.31 · 12 turns · 1m 42s
//! ```
//!
//! Texts of the stream can't act as commands: see [`ci`](super::ci).

mod file_line;

use std::borrow::Cow;
use std::fmt::{self, Write};

use crate::ci::{CiSafe, harmless};
use crate::page;
use crate::terminal::Terminal;
use streamfmt_core::entry::{Block, Entry, Line, Point, Role, TextLayout, View};
use streamfmt_core::figures;
use streamfmt_core::item::{Action, Kind, Status};
use streamfmt_core::outline::{Answer, Node, Relation};
use streamfmt_core::profile::{Ci, Keep};
use streamfmt_core::text::Text;
use streamfmt_core::writer::{Order, Wants, Writer};

use self::file_line::FileLine;

/// The longest text of an event other than a reply, in bytes.
const LONGEST: usize = 300;

/// The longest message of an annotation, in bytes; the service cuts at about twice that.
const LONGEST_MESSAGE: usize = 2000;

/// Ends a command of GitLab, and hides it on a terminal.
const ERASE: &str = "\r\x1b[0K";

/// Writes one line per event.
pub struct Log {
    rows: CiSafe<Terminal>,
    ci: Ci,
    /// The number of sections written.
    sections: u64,
}

/// The name in the title of an annotation that is about no tool.
const AGENT: &str = "agent";

impl Log {
    /// Creates a writer for the log of this service. `rows`: the terminal, without gap and margin, that writes the rows.
    pub fn new(rows: Terminal, ci: Ci) -> Self {
        Self { rows: CiSafe::new(Box::new(rows)), ci, sections: 0 }
    }

    /// Writes an event. `is_answer`: whether it belongs to the answer of a run.
    fn event(&mut self, node: &Node, is_answer: bool, out: &mut dyn Write) -> fmt::Result {
        let entry = &*node.entry;
        let is_answer = is_answer && entry.kind == Kind::Reply;
        let call = match &node.relation {
            Relation::Apart(title) if entry.kind == Kind::Result => Some(title),
            _ => None,
        };
        let tag = if is_answer { "answer" } else { tag(entry) };
        let keeps = match self.ci.has_groups() {
            false => Keeps::Nothing,
            true if is_answer => Keeps::Lines,
            true => Keeps::LongResult,
        };
        let view = fold(entry, head(tag, node), call, keeps);
        // For searching, a line begins with the kind of its event, without indentation.
        let row = Entry { view, depth: 0, ..entry.clone() };
        self.title(tag, &row, out)?;
        if row.view.body.is_empty() { Ok(()) } else { self.group(&row, is_answer, out) }
    }

    /// Writes an entry's title: as an annotation, if it reports a failure and the service has annotations.
    fn title(&mut self, tag: &str, entry: &Entry, out: &mut dyn Write) -> fmt::Result {
        let level = match (self.ci, entry.kind, tag) {
            (Ci::Github, _, "failed") => "error",
            // A failed call is common, and the run may still succeed.
            (Ci::Github, Kind::Result, "error") => "warning",
            _ => {
                let line = View { body: Vec::new(), ..entry.view.clone() };
                let titled = Node::from(Entry { view: line, ..entry.clone() });
                return self.rows.safely("", out, |rows, out| rows.node(&titled, out));
            }
        };
        let name = entry.tool.as_deref().unwrap_or(AGENT);
        write!(out, "::{level} title={}", property(&harmless(name, false)))?;
        if let Some((file, line)) = failing_line(entry) {
            write!(out, ",file={}", property(&harmless(&file, false)))?;
            if let Some(line) = line {
                write!(out, ",line={line}")?;
            }
        }
        let message = harmless(entry.view.title.text(), false);
        let end = streamfmt_core::clip::floor(&message, LONGEST_MESSAGE);
        let more = if end < message.len() { "…" } else { "" };
        writeln!(out, "::{}{more}", data(&message[..end]))
    }

    /// Writes a body in rows that the service can fold. `is_open`: whether they are unfolded at first, if the service supports that.
    fn group(&mut self, entry: &Entry, is_open: bool, out: &mut dyn Write) -> fmt::Result {
        let name = figures::count_of(lines(&entry.view.body), "line", "lines");
        self.sections += 1;
        let (at, number) = (entry.at.map_or(0, jiff::Timestamp::as_second), self.sections);
        let collapsed = if is_open { "" } else { "[collapsed=true]" };
        match self.ci {
            Ci::Github => writeln!(out, "::group::{}", &*name)?,
            _ => writeln!(out, "section_start:{at}:streamfmt_{number}{collapsed}{ERASE}{}", &*name)?,
        }
        let body = Entry { view: View::of(entry.view.body.clone()), ..entry.clone() };
        self.rows.safely("  ", out, |rows, out| rows.node(&Node::from(body), out))?;
        match self.ci {
            Ci::Github => out.write_str("::endgroup::\n"),
            _ => writeln!(out, "section_end:{at}:streamfmt_{number}{ERASE}"),
        }
    }
}

impl Writer for Log {
    fn wants(&self) -> Wants {
        let time = self.ci == Ci::Gitlab || self.rows.wants().time;
        Wants { time, names: true, agents: true, answer: true, order: Order::Completion, ..Wants::default() }
    }

    fn node(&mut self, node: &Node, out: &mut dyn Write) -> fmt::Result {
        self.event(node, false, out)
    }

    fn answer(&mut self, answer: &Answer, out: &mut dyn Write) -> fmt::Result {
        answer.before.iter().chain(&answer.nodes).try_for_each(|node| self.event(node, true, out))
    }

    fn end(&mut self, out: &mut dyn Write) -> fmt::Result {
        self.rows.end(out)
    }
}

/// Returns the kind of event of a line.
fn tag(entry: &Entry) -> &'static str {
    match entry.kind {
        _ if entry.view.mark == Some("error") => "error",
        _ if entry.view.mark == Some("warning") => "warning",
        Kind::Call => "tool",
        Kind::Outcome if entry.status == Status::Failed || entry.view.is_failure() => "failed",
        Kind::Outcome => "cost",
        Kind::Notice if entry.view.is_totals() => "cost",
        Kind::Notice if entry.view.is_heading() => "session",
        kind => kind.name(),
    }
}

/// Returns the beginning of a line: the kind of event, and its sub-agent.
fn head(tag: &str, node: &Node) -> Line {
    let mut line = Line::of("tag", format!("[{tag}]"));
    if let Some(agent) = &node.agent {
        line.push(
            "agent",
            match &agent.name {
                Some(name) => format!("({})", &**name),
                None => format!("(agent {})", agent.number),
            },
        );
    }
    line
}

/// What is written below a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keeps {
    Nothing,
    /// The body of a result that doesn't fit in the line.
    LongResult,
    /// A text of several lines, the first of which is in the line.
    Lines,
}

/// Condenses an entry to a line that begins with `line`. `call`: the title of a result's call, which may be far above.
fn fold(entry: &Entry, mut line: Line, call: Option<&Line>, keeps: Keeps) -> View {
    let view = &entry.view;
    if keeps == Keeps::Lines && lines(&view.body) > 1 {
        return first_line(line, view);
    }
    if let Some(call) = call {
        call.spans().filter(|span| span.text() != " ").for_each(|span| line.push_span(span));
        line.attach("result.note", Text::own(":"));
    }
    if entry.kind == Kind::Outcome || view.is_totals() {
        cost_first(&view.title, &mut line);
    } else {
        for span in view.title.spans() {
            line.push_like(span, span.text().trim());
        }
    }
    let is_whole = matches!(entry.kind, Kind::Reply | Kind::Outcome);
    let mut hidden = 0;
    let mut room = LONGEST;
    // The end of a failed command's output is more informative than its start.
    let keep = if is_whole {
        Keep::HeadTail
    } else if entry.view.is_failure() {
        Keep::Tail
    } else {
        Keep::Head
    };
    for (at, block) in view.body.iter().enumerate() {
        // The empty span isn't kept: because of it, a blank comes before the first text that is pushed.
        let mut more = Line::of("text", "");
        fold_block(block, keep, &mut room, &mut hidden, &mut more);
        let announces = |line: &Line| line.last().is_some_and(|text| text.ends_with(':'));
        let is_apart = !is_whole && (at > 0 || !(view.title.is_empty() || announces(&view.title)));
        if is_apart && !more.is_empty() {
            line.attach("result.note", " ");
            line.attach("result.note", "·");
        }
        more.spans().skip(1).for_each(|span| line.attach_span(span));
    }
    let is_kept = hidden > 0 && keeps == Keeps::LongResult && entry.kind == Kind::Result;
    let body = if is_kept { view.body.clone() } else { Vec::new() };
    if hidden > 0 {
        line.push("elided", format!("(+{})", &*figures::count_of(hidden, "line", "lines")));
    }
    View { title: line, ..View::of(body) }
}

/// Returns a view with the first line of a text as its title, and all of it below.
fn first_line(mut line: Line, view: &View) -> View {
    let text = view.body.iter().filter_map(Block::source).find_map(|(role, text)| {
        text.split('\n').map(str::trim).find(|line| !line.is_empty()).map(|line| (role, line))
    });
    if let Some((role, text)) = text {
        line.push(role, text.to_owned());
    }
    let more = lines(&view.body).saturating_sub(u64::from(text.is_some()));
    line.push("elided", format!("(+{})", &*figures::count_of(more, "line", "lines")));
    View { title: line, ..View::of(view.body.clone()) }
}

/// Adds the title of an outcome, with its cost first: `$0.31 · 12 turns · 1m 42s`.
fn cost_first(title: &Line, line: &mut Line) {
    let first = title.roles().next().map_or("", Role::name);
    let (is_good, is_figure) = (first == "outcome.ok", first == "outcome.figure");
    let mut spans: Vec<_> = title.spans().filter(|span| !matches!(span.text(), " " | "·")).collect();
    if is_good && spans.len() > 1 {
        spans.remove(0);
    }
    if let Some(at) = spans.iter().position(|span| span.text().starts_with(['$', '<'])) {
        let cost = spans.remove(at);
        spans.insert(usize::from(!is_good && !is_figure), cost);
    }
    for (index, span) in spans.into_iter().enumerate() {
        if index > 0 {
            line.push("outcome.note", Text::own("·"));
        }
        line.push_span(span);
    }
}

/// Adds the lines of a block to the line, and counts those that don't fit. `keep`: the end of the block to keep; with
/// [`Keep::HeadTail`], all lines of a text are added.
fn fold_block(block: &Block, keep: Keep, room: &mut usize, hidden: &mut u64, line: &mut Line) {
    match block {
        Block::Prose { text, role } | Block::Code { text, role, .. } => {
            if role.text_layout() == TextLayout::Command && !text.trim().is_empty() {
                line.push("mark.command", Text::own("$"));
            }
            if keep == Keep::HeadTail {
                for part in text.split('\n').map(str::trim).filter(|part| !part.is_empty()) {
                    line.push(*role, part.to_owned());
                }
                return;
            }
            let text = if keep == Keep::Tail { last_lines(text, *room, hidden) } else { text };
            let mut lines = text.split('\n').map(str::trim).filter(|text| !text.is_empty());
            while let Some(first) = lines.next() {
                if *room < first.len() && *room < LONGEST {
                    *hidden += 1 + lines.count() as u64;
                    return;
                }
                let end = streamfmt_core::clip::floor(first, *room);
                let mut shown = first[..end].to_owned();
                if end < first.len() {
                    shown.push('…');
                }
                line.push(*role, shown);
                *room = room.saturating_sub(first.len());
            }
        }
        Block::List { items } => {
            for (at, item) in items.iter().enumerate() {
                let mut more = Line::default().with("plan.note", state(item.point));
                item.line.spans().filter(|span| span.text() != " ").for_each(|span| more.push_span(span));
                add(&more, at > 0, room, hidden, line);
            }
        }
        // The title has the number of added and removed lines.
        Block::Diff { .. } => {}
        Block::Image { media, .. } => line.push("image", format!("[{}]", &**media)),
        Block::Elided { lines, .. } => *hidden += lines,
        Block::Table { rows, .. } => *hidden += rows.len() as u64,
        block => {
            for (at, part) in block.lines().enumerate() {
                add(part, at > 0, room, hidden, line);
            }
        }
    }
}

/// Returns the state of a to-do item, in characters that are easy to search for.
fn state(point: Point) -> &'static str {
    match point {
        Point::Plain => "",
        Point::Open => "[ ]",
        Point::Active => "[>]",
        Point::Done => "[x]",
        Point::Failed => "[!]",
    }
}

/// Returns the last lines of `text` that fit, at least one, and counts the others as hidden.
fn last_lines<'t>(text: &'t str, room: usize, hidden: &mut u64) -> &'t str {
    let text = text.trim_end();
    let Some(cut) = text.len().checked_sub(room).filter(|cut| *cut > 0) else { return text };
    let cut = streamfmt_core::clip::floor(text, cut);
    let start = match text[cut..].find('\n') {
        Some(end) => cut + end + 1,
        None => text.rfind('\n').map_or(0, |end| end + 1),
    };
    *hidden += text[..start].lines().filter(|line| !line.trim().is_empty()).count() as u64;
    &text[start..]
}

/// Adds a line `more`, if it fits. `is_apart`: whether it is separated from the text before it by a dot.
fn add(more: &Line, is_apart: bool, room: &mut usize, hidden: &mut u64, line: &mut Line) {
    let length = more.text().len();
    if *room == 0 || (length > *room && *room < LONGEST) {
        *hidden += 1;
        return;
    }
    *room = room.saturating_sub(length);
    if is_apart {
        line.push("result.note", Text::own("·"));
    }
    line.attach("text", Text::own(" "));
    line.append(more);
}

/// Returns the file of a failure, and the line if it is known: the file of a call, or else the first one that the output reports an error
/// for.
fn failing_line(entry: &Entry) -> Option<(String, Option<u32>)> {
    let is_of_file = matches!(entry.action, Some(Action::Read | Action::Edit | Action::Write));
    let path = entry.view.title.spans().find(|span| span.role == Role::of("call.arg"));
    let path = path.filter(|_| is_of_file).map(|span| span.text());
    let is_wanted = |place: FileLine<'_>| path.is_none_or(|path| is_same(path, place.file));
    let first =
        |text: &str| file_line::first(text, is_wanted).map(|place| (place.file.to_owned(), place.line));
    let found = entry.view.body.iter().filter_map(Block::source).find_map(|(_, text)| first(text));
    let found = found.or_else(|| first(entry.view.title.text()));
    match (path, found) {
        // The path in the call is usually relative to the project.
        (Some(path), found) => Some((path.to_owned(), found.map(|(_, line)| line))),
        (None, found) => found.map(|(file, line)| (file, Some(line))),
    }
}

/// Whether two paths may be the same file: one of them ends in the other.
fn is_same(one: &str, other: &str) -> bool {
    let ends = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    let other = other.trim_start_matches("./");
    ends(one, other) || ends(other, one)
}

/// Returns the approximate number of lines in blocks.
fn lines(blocks: &[Block]) -> u64 {
    let count = |block: &Block| match block {
        Block::Prose { text, .. } | Block::Code { text, .. } => page::lines(text.trim_end()) as u64,
        Block::Table { rows, .. } => rows.len() as u64 + 1,
        Block::Elided { lines, .. } => *lines,
        Block::Image { .. } | Block::Details { .. } => 1,
        _ => block.size().lines as u64,
    };
    blocks.iter().map(count).sum()
}

/// Escapes a text for the message of a GitHub command.
fn data(text: &str) -> Cow<'_, str> {
    if text.contains(['%', '\r', '\n']) {
        Cow::Owned(text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Escapes a text for a property of a GitHub command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::Look;
    use streamfmt_core::profile::Layout;

    fn written(ci: Ci, entry: Entry) -> String {
        let layout = Layout { gap: 0, margin: 0, ..Layout::default() };
        let mut log = Log::new(Terminal::new(Look { layout, ..Look::default() }), ci);
        let mut out = String::new();
        // Writing to a string can't fail.
        let _ = log.node(&Node::from(entry), &mut out);
        let _ = log.end(&mut out);
        out
    }

    fn entry(kind: Kind, mark: Option<&'static str>, title: Line, body: Vec<Block>) -> Entry {
        Entry::new("id", kind, View { mark, title, ..View::of(body) })
    }

    #[test]
    fn an_event_is_one_line_that_can_be_searched() {
        let bash = || Line::of("tool.name", "Bash").with("call.arg", "Both");
        let cost = || Line::default().with("outcome.note", "12 turns").with("outcome.cost", "$0.31");
        for (entry, expected) in [
            (
                entry(Kind::Call, Some("call"), bash(), vec![Block::text("call.command", "a\nb")]),
                "[tool] Bash Both · $ a b\n",
            ),
            (
                entry(
                    Kind::Result,
                    None,
                    Line::default(),
                    vec![Block::text("result.text", "one\ntwo\n\n three")],
                ),
                "[result] one two three\n",
            ),
            (
                entry(
                    Kind::Result,
                    Some("error"),
                    Line::of("result.error", "exit 2"),
                    vec![Block::text("result.error.text", format!("{}no such file", "x\n".repeat(300)))],
                ),
                "[error] exit 2 · x x x x",
            ),
            (
                entry(Kind::Reply, None, Line::default(), vec![Block::prose("reply", "Done.\n\nAll well.")]),
                "[reply] Done. All well.\n",
            ),
            (
                entry(
                    Kind::Outcome,
                    Some("outcome-ok"),
                    Line::of("outcome.ok", "done").spans().chain(cost().spans()).collect(),
                    vec![],
                ),
                "[cost] $0.31 · 12 turns\n",
            ),
            (
                entry(
                    Kind::Outcome,
                    Some("outcome-error"),
                    Line::of("outcome.error", "failed").spans().chain(cost().spans()).collect(),
                    vec![],
                ),
                "[failed] failed · $0.31 · 12 turns\n",
            ),
        ] {
            let line = written(Ci::Plain, entry);
            assert!(line.starts_with(expected), "{line}");
            assert_eq!(line.matches('\n').count(), 1, "{line}");
        }
    }

    #[test]
    fn lines_that_do_not_fit_are_counted_and_folded_if_the_service_supports_that() {
        let long = || {
            let text = ["some words of output"; 100].join("\n");
            entry(Kind::Result, None, Line::default(), vec![Block::text("result.text", text)])
        };
        let line = written(Ci::Plain, long());
        assert!(line.len() < 400 && line.ends_with(" (+85 lines)\n"), "{line}");
        let group = written(Ci::Github, long());
        assert!(
            group.contains(" (+85 lines)\n::group::100 lines\n  some words")
                && group.ends_with("::endgroup::\n"),
            "{group}"
        );
        let failed = entry(
            Kind::Result,
            Some("error"),
            Line::default(),
            vec![Block::text("result.error.text", format!("{}the reason", "words\n".repeat(300)))],
        );
        let line = written(Ci::Plain, failed);
        assert!(line.contains("the reason (+") && line.starts_with("[error] words"), "{line}");
    }

    #[test]
    fn annotations_hold_no_command_of_others() {
        assert_eq!(property("a:b,c%\n"), "a%3Ab%2Cc%25%0A");
        assert_eq!(data("x\n::error::%0A"), "x%0A::error::%250A");
    }

    /// A command of each kind that some service's log understands.
    const COMMANDS: [&str; 17] = [
        // GitHub, at the beginning of a row.
        "::error::x",
        "::add-mask::x",
        "::stop-commands::x",
        "::group::x",
        "::set-output name=x::y",
        // GitHub's older commands and those of Azure and TeamCity, anywhere.
        "##[error]x",
        "##[add-path]x",
        "##vso[task.setvariable variable=x]y",
        "##teamcity[buildStatus status='SUCCESS']",
        // GitLab and Travis, anywhere.
        "section_start:1:x",
        "section_end:1:streamfmt_1",
        "travis_fold:start:x",
        "travis_time:start:x",
        // Buildkite, at the beginning of a row.
        "--- x",
        "+++ x",
        "~~~ x",
        "^^^ +++",
    ];

    /// Whether a service would take a row for a command that isn't ours.
    fn is_foreign_command(row: &str) -> bool {
        let is_numbered = |command: &str| {
            // No text has a carriage return.
            let ours = row.matches(ERASE).count();
            row.match_indices(command)
                .filter(|(at, _)| {
                    row[at + command.len()..].starts_with(|next: char| next.is_ascii_alphanumeric())
                })
                .count()
                > ours
        };
        let named = |(at, _): (usize, &str)| {
            row[at + 2..].trim_start_matches(|letter: char| letter.is_ascii_alphabetic()).starts_with('[')
        };
        let begun = row.trim_start();
        let is_count =
            |name: &str| name.strip_suffix(" lines").is_some_and(|count| count.parse::<u64>().is_ok());
        let is_ours = begun.strip_prefix("::group::").is_some_and(is_count)
            || ["::endgroup::", "::warning title=", "::error title="]
                .iter()
                .any(|start| begun.starts_with(start));
        begun.starts_with("::") && !is_ours
            || row.match_indices("##").any(named)
            || ["section_start:", "section_end:", "travis_fold:", "travis_time:"].into_iter().any(is_numbered)
            || ["---", "+++", "~~~", "^^^"].iter().any(|start| row.starts_with(start))
    }

    #[test]
    fn no_text_is_a_command_of_a_service_wherever_it_comes_to() {
        assert!(COMMANDS.iter().all(|command| is_foreign_command(command)));
        let texts = COMMANDS.iter().flat_map(|command| {
            ["", "  ", "\u{a0}", "x ", "x\n", "x,y=z"].map(|before| format!("{before}{command}"))
        });
        for text in texts {
            let title = || Line::of("tool.name", text.clone()).with("call.arg", text.clone());
            let many = || format!("{text}\n{}", format!("{text}\n").repeat(200));
            let bodies = [
                vec![],
                vec![Block::text("result.text", text.clone())],
                vec![Block::text("result.error.text", format!("{text}\n{text}/a.rs:7: {text}"))],
                vec![Block::text("call.command", many())],
                vec![Block::prose("reply", many())],
                vec![Block::line(title()), Block::line(title())],
            ];
            let entries = bodies.into_iter().flat_map(|body| {
                [
                    (Kind::Call, Some("call"), None),
                    (Kind::Result, None, None),
                    (Kind::Result, Some("error"), None),
                    (Kind::Result, Some("error"), Some(Action::Edit)),
                    (Kind::Reply, None, None),
                    (Kind::Prompt, None, None),
                    (Kind::Thinking, None, None),
                    (Kind::Notice, None, None),
                    (Kind::Outcome, Some("outcome-ok"), None),
                    (Kind::Outcome, Some("outcome-error"), None),
                ]
                .map(|(kind, mark, action)| {
                    let tool = Some(text.clone().into());
                    Entry { action, tool, ..entry(kind, mark, title(), body.clone()) }
                })
            });
            for entry in entries {
                for ci in [Ci::Plain, Ci::Github, Ci::Gitlab] {
                    let log = written(ci, entry.clone());
                    let found = log.split('\n').find(|row| is_foreign_command(row));
                    assert_eq!(
                        found, None,
                        "{ci:?} {:?} {:?}: {text:?}:\n{log}",
                        entry.kind, entry.view.mark
                    );
                    // No text may become a property of an annotation.
                    let annotation = log.strip_prefix("::warning ").or_else(|| log.strip_prefix("::error "));
                    let (properties, _) =
                        annotation.and_then(|text| text.split_once("::")).unwrap_or_default();
                    let names: Vec<&str> =
                        properties.split(',').filter_map(|it| Some(it.split_once('=')?.0)).collect();
                    let expected = &["title", "file", "line"][..names.len()];
                    assert_eq!(names, expected, "{log}");
                }
            }
        }
    }

    #[test]
    fn a_message_that_is_cut_ends_with_a_mark() {
        for (length, cut) in [(LONGEST_MESSAGE, ""), (LONGEST_MESSAGE + 1, "…")] {
            let text = "x".repeat(length - "[error] ".len());
            let title = Line::of("result.error", text.clone());
            let kept = &text[..text.len().min(LONGEST_MESSAGE - "[error] ".len())];
            assert_eq!(
                written(Ci::Github, entry(Kind::Result, Some("error"), title, Vec::new())),
                format!("::warning title=agent::[error] {kept}{cut}\n"),
                "{length}"
            );
        }
    }

    #[test]
    fn an_annotation_is_at_the_line_that_its_file_reports() {
        for (path, output, place) in [
            ("src/a.rs", "/home/ada/shop/src/a.rs:7: no such item", "file=src/a.rs,line=7"),
            ("/home/ada/shop/src/a.rs", "src/a.rs:7: no such item", "file=/home/ada/shop/src/a.rs,line=7"),
            ("src/a.rs", "./src/a.rs:7: no such item", "file=src/a.rs,line=7"),
            ("src/a.rs", "src/b.rs:7: no such item", "file=src/a.rs"),
            ("src/a.rs", "xsrc/a.rs:7: no such item", "file=src/a.rs"),
            ("xsrc/a.rs", "src/a.rs:7: no such item", "file=xsrc/a.rs"),
            ("src/a.rs", "xsrc/a.rs:7: x\nsrc/a.rs:9: y", "file=src/a.rs,line=9"),
        ] {
            let title = Line::of("tool.name", "Edit").with("call.arg", path);
            let body = vec![Block::text("result.error.text", output)];
            let failed = entry(Kind::Result, Some("error"), title, body);
            let line = written(Ci::Github, Entry { action: Some(Action::Edit), ..failed });
            let start = format!("::warning title=agent,{place}::[error] Edit");
            assert!(line.starts_with(&start), "{path}, {output}: {line}");
        }
    }

    #[test]
    fn lines_are_those_of_all_blocks() {
        let line = Line::of("text", "x");
        let blocks = [Block::text("text", "a\nb\n"), Block::line(line), Block::Elided { lines: 7, bytes: 9 }];
        assert_eq!(lines(&blocks), 10);
    }
}
