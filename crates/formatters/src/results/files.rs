//! Formats the results of reading, changing and searching files.

use std::borrow::Cow;

use super::{ResultContext, TITLE, holds};
use crate::calls::changed_files::ChangedFiles;
use crate::calls::extension;
use crate::context::{ItemContext, images};
use crate::file_diff::{FileDiff, number_of};
use crate::generic;
use streamfmt_core::entry::{Block, Line, View};
use streamfmt_core::figures;
use streamfmt_core::find::find;
use streamfmt_core::item::FactRef;
use streamfmt_core::item::{Action, DoesRef, Item};
use streamfmt_core::text::Text;

pub(crate) fn read(answer: &mut ResultContext<'_>) -> Option<View> {
    let context = answer.context;
    let kind = context.fact("type").and_then(FactRef::str);
    let images = context.list("images");
    match kind.as_deref() {
        Some("image") => answer.note(Text::own("image")),
        Some("pdf") => answer.note(Text::own("PDF")),
        Some("parts") => answer.note(match context.count("count") {
            Some(pages) => figures::count_of(pages, "page", "pages"),
            None => Text::own("in parts"),
        }),
        Some("unchanged") => answer.note(Text::own("unchanged")),
        Some("notebook") => {
            let number = context.fact("cells").map_or(0, |cells| cells.list().len() as u64);
            answer.note(figures::count_of(number, "cell", "cells"));
            if let (true, Some(FactRef::Json(cells))) = (context.whole, context.fact("cells")) {
                answer.body.push(Block::text("result.text", generic::laid_out(cells, false)));
            }
        }
        _ => return read_lines(answer),
    }
    // An image that is shown below in its original size has its size there.
    let is_listed = |bytes: &u64| images.iter().any(|image| image.count_at("bytes") == Some(*bytes));
    answer.note_known(context.count("bytes").filter(|bytes| !is_listed(bytes)).map(figures::size));
    answer.done()
}

/// Returns the first line of the part of a file that was read, its number of lines, and that of the file, without the empty line that some
/// agents count after a final line feed.
fn counted(context: ItemContext<'_>) -> (u64, Option<u64>, Option<u64>) {
    let start = context.count("start").unwrap_or(1);
    let (lines, total) = (context.count("lines"), context.count("total"));
    let text = || context.fact("content");
    match lines {
        Some(lines @ 1..) if text().is_some_and(|text| line_feed_ends(text, lines)) => {
            let is_last = total == Some(start.saturating_add(lines - 1));
            (start, Some(lines - 1), total.map(|total| if is_last { total - 1 } else { total }))
        }
        _ => (start, lines, total),
    }
}

/// Whether the last of this many lines is empty: the text is empty, or ends in a line feed. A text in the record isn't decoded for this.
fn line_feed_ends(text: FactRef<'_>, lines: u64) -> bool {
    let FactRef::Json(value) = text else {
        return text.str().is_some_and(|text| {
            (text.is_empty() || text.ends_with('\n')) && text.split('\n').count() as u64 == lines
        });
    };
    let written = value.raw().as_bytes();
    if written.len() > 2 && !written.ends_with(b"\\n\"") {
        return false;
    }
    let (mut at, mut feeds, mut is_at_end) = (0, 0, written.len() == 2);
    while let Some(next) = find(b'\\', &written[at..]) {
        let is_feed = written.get(at + next + 1) == Some(&b'n');
        at = (at + next + 2).min(written.len());
        feeds += u64::from(is_feed);
        is_at_end = is_feed && at + 1 == written.len();
    }
    is_at_end && feeds + 1 == lines
}

/// Formats the lines of a file: their number and, with `whole`, the lines.
fn read_lines(answer: &mut ResultContext<'_>) -> Option<View> {
    let context = answer.context;
    let (start, lines, total) = counted(context);
    if let (Some(lines), false) = (lines, context.whole) {
        if !asks_for(answer, start, lines) {
            answer.note(lines_read(start, lines, total));
        } else if let Some(total) = total {
            answer.continues_call(Text::clean_owned(format!("of {}", &*figures::count(total))));
        } else {
            return None;
        }
        return answer.done();
    }
    let is_once = context.whole && !context.full;
    let text = if is_once { Cow::Owned(answer.text().into_string()) } else { context.item.text() };
    let asked = answer.call.map(Item::does);
    let range = asked.as_ref().and_then(|asked| asked.get("range"));
    let has_limit = asked.as_ref().is_none_or(|asked| asked.input().is_none())
        || range.is_some_and(|range| ["lines", "end"].iter().any(|name| range.get(name).is_some()));
    let own = context.text("content").map(Text::trimmed_end);
    // With the content of the file, the text for the model is needed only in full.
    let is_needed = own.is_none() || !is_once;
    let numbered = is_needed.then(|| NumberedText::of(&text, !has_limit)).flatten();
    let has_count = lines.is_some();
    let (start, lines, total) = match &numbered {
        Some(numbered) if !has_count => (numbered.start, numbered.lines, None),
        _ => (start, lines.unwrap_or(0), total),
    };
    let is_asked = asks_for(answer, start, lines);
    if !context.whole && is_asked && numbered.is_some() && total.is_none() {
        return None;
    }
    if is_asked && is_once {
        if let Some(total) = total {
            answer.continues_call(Text::clean_owned(format!("of {}", &*figures::count(total))));
        }
    } else if lines > 0 || has_count {
        answer.note(lines_read(start, lines, total));
    }
    if !context.whole || (own.is_none() && numbered.is_none()) {
        if numbered.is_none() {
            if let Some(cells) = context.count("cell_count") {
                answer.note(figures::count_of(cells, "cell", "cells"));
                if !context.whole {
                    return answer.done();
                }
            }
            let text = answer.text();
            if text.trim().is_empty() && answer.is_empty() && !context.is("success") {
                let start = range.and_then(|range| range.get("start")?.int());
                answer.note(Text::own(if start.unwrap_or(1) > 1 { "no lines" } else { "empty file" }));
            }
            answer.code("result.text", text);
        }
        return answer.done();
    }
    let path = asked.and_then(|asked| asked.text("path")).or_else(|| context.text("path"));
    let lang = path.as_deref().and_then(extension);
    let bare = numbered.as_ref().map(|numbered| Text::clean(numbered.bare.trim_end()));
    if let Some(text) = own.or(bare).filter(|text| !text.is_empty()) {
        answer.body.push(Block::Code { text, lang, start: Some(start), role: "result.text".into() });
    }
    match numbered {
        // The numbered lines were shown; the text after them was not.
        Some(numbered) => {
            answer.code("result.text", Text::clean(numbered.rest.trim()));
            images(context, &mut answer.body);
            if context.full {
                answer.structured();
            }
            Some(View {
                mark: None,
                title: std::mem::take(&mut answer.title),
                body: std::mem::take(&mut answer.body),
                continues_call: answer.continues_call,
            })
        }
        None => answer.done(),
    }
}

/// Whether the call requested exactly these lines, so that its title shows them.
fn asks_for(answer: &ResultContext<'_>, start: u64, lines: u64) -> bool {
    let Some(call) = answer.call.filter(|_| !answer.context.is_apart && lines > 0) else { return false };
    let does = call.does();
    let Some(range) = does.get("range") else { return false };
    let count = |name: &str| range.count_at(name);
    let asked = match (count("start"), count("lines"), count("end")) {
        (from, None, Some(end)) => {
            let from = from.unwrap_or(1);
            Some((from, end.saturating_add(1).saturating_sub(from)))
        }
        (from, lines, _) => from.zip(lines),
    };
    asked == Some((start, lines))
}

/// Returns a phrase for the lines that were read: `lines 1–50 of 533`, `11 lines`, `empty file`.
fn lines_read(start: u64, lines: u64, total: Option<u64>) -> Text {
    // Some agents count an empty line after a final line feed.
    let is_whole = start <= 1 && total.is_none_or(|total| total <= lines + 1);
    if lines == 0 {
        return Text::own(if is_whole { "empty file" } else { "no lines" });
    }
    if is_whole {
        return figures::count_of(lines, "line", "lines");
    }
    let last = start.saturating_add(lines - 1);
    let of = total.map(|total| format!(" of {}", &*figures::count(total))).unwrap_or_default();
    Text::clean_owned(format!("lines {}–{}{of}", &*figures::count(start), &*figures::count(last)))
}

/// A text whose lines begin with their numbers: `     1→` or `1` and a tab.
struct NumberedText<'a> {
    start: u64,
    lines: u64,
    /// The lines without their numbers.
    bare: String,
    /// The text after them.
    rest: Cow<'a, str>,
}

impl<'a> NumberedText<'a> {
    /// Parses numbered lines. `to_end`: whether they reach the end of the file. Then an empty last line isn't counted: it only shows that
    /// the line before it ends in a line feed.
    fn of(text: &'a str, to_end: bool) -> Option<Self> {
        let (start, _) = number_of(text)?;
        let mut bare = String::with_capacity(text.len());
        let (mut lines, mut at, mut is_empty) = (0, 0, false);
        while let Some((number, line)) = number_of(&text[at..]) {
            if number != start.saturating_add(lines) {
                break;
            }
            let line_start = text.len() - line.len();
            let end = find(b'\n', line.as_bytes()).map_or(text.len(), |end| line_start + end + 1);
            bare.push_str(&text[line_start..end]);
            is_empty = text[line_start..end].trim_end_matches(['\n', '\r']).is_empty();
            lines += 1;
            at = end;
        }
        // The tab after the last number is missing if blanks at the end of the text were removed.
        if at > 0 && text[at..].trim_end() == start.saturating_add(lines).to_string() {
            (lines, at, is_empty) = (lines + 1, text.len(), true);
        }
        if to_end && is_empty && lines > 1 {
            lines -= 1;
        }
        Some(Self { start, lines, bare, rest: Cow::Borrowed(&text[at..]) })
    }
}

/// Formats the result of a change of files.
pub(crate) fn change(answer: &mut ResultContext<'_>) -> Option<View> {
    let context = answer.context;
    let call = answer.call.map(Item::does);
    let reported = context.fact("changes");
    let changes = reported.or_else(|| call.as_ref()?.get("changes"));
    if let Some(files) = changes.and_then(|changes| ChangedFiles::of(changes, context)) {
        return change_files(answer, &files, reported.is_none());
    }
    let path = context.text("path").or_else(|| call.as_ref()?.text("path"));
    let path = path.map(|path| context.path(path));
    let is_patched = context.fact("patch").is_some();
    let is_created = context.is("created");
    let changes = context.fact("patch").and_then(FileDiff::of_patch).or_else(|| {
        if is_created {
            let written = context.fact("content").or_else(|| call.as_ref()?.get("content"));
            return Some(FileDiff::created(&written.and_then(FactRef::str)?));
        }
        let mut changes = asked(call.as_ref()?)?;
        if let Some(snippet) = context.text("snippet").filter(|_| !is_patched) {
            changes.place(&snippet);
        }
        Some(changes)
    });
    let Some(changes) = changes else {
        if is_created {
            answer.note(Text::own("created, empty"));
            return answer.done();
        }
        // Without known changes, the text for the model is left, and what the call wrote. In full, the call shows that.
        let is_shown = context.full && !context.is_apart;
        let written = call.as_ref().filter(|_| !is_shown).and_then(|call| call.get("content")?.str());
        let written = written.map(|content| FileDiff::created(&content));
        let text = answer.text();
        let first = find(b'\n', text.as_bytes()).unwrap_or(text.len());
        match &written {
            Some(written) if text.is_empty() => {
                let lines = figures::count_of(written.added(), "line", "lines");
                answer.note(Text::clean_owned(format!("written, {}", &*lines)));
            }
            _ if !context.whole && !text.is_empty() && first <= TITLE => answer.note(text.slice(0, first)),
            _ => answer.code("result.text", text),
        }
        answer.body.extend(written.and_then(|written| written.block(path)));
        return answer.done();
    };
    if is_created {
        let lines = figures::count_of(changes.added(), "line", "lines");
        answer.note(Text::clean_owned(format!("created, {}", &*lines)));
    } else if is_patched || !call.as_ref().is_some_and(is_everywhere) {
        changes.push_counts(&mut answer.title);
    }
    answer.note_user_change();
    answer.body.extend(changes.block(path));
    answer.done()
}

/// Formats changes that name their files. `is_asked`: whether they come from the call rather than from the result.
fn change_files(answer: &mut ResultContext<'_>, files: &ChangedFiles<'_>, is_asked: bool) -> Option<View> {
    let context = answer.context;
    // In full, the call already shows its changes.
    let is_new = !is_asked || context.is_apart || !context.full;
    if is_new && files.result(&mut answer.title, &mut answer.body).is_some() {
        answer.note_user_change();
        return answer.done();
    }
    if context.is_apart {
        answer.body.push(Block::Lines { lines: files.lines("result.file", "result.note") });
    }
    let text = answer.text();
    if !context.full && text.trim().is_empty() && answer.is_empty() {
        return None;
    }
    if !text.trim().is_empty() && generic::is_short(&text) {
        answer.note(text);
    } else {
        answer.code("result.text", text);
    }
    answer.done()
}

/// Formats the change of a notebook's cell, from its old source, if known, to its new one.
pub(crate) fn cell(answer: &mut ResultContext<'_>) -> Option<View> {
    let context = answer.context;
    let call = answer.call.map(Item::does);
    let asked = |name: &str| call.as_ref()?.get(name)?.str();
    let fact = |name: &str| context.fact(name).and_then(FactRef::str);
    let mode = fact("edit_mode").or_else(|| asked("mode"));
    let is_deleted = mode.as_deref() == Some("delete");
    let old = fact("old_source").unwrap_or_default();
    let new =
        if is_deleted { Some(Cow::Borrowed("")) } else { fact("new_source").or_else(|| asked("source")) };
    let Some(new) = new else { return change(answer) };
    let changes = FileDiff::between(&old, &new, CONTEXT);
    if is_deleted {
        answer.note(Text::own("cell deleted"));
    }
    if !is_deleted || !old.is_empty() {
        changes.push_counts(&mut answer.title);
    }
    answer.note_user_change();
    let path = context.text("path").or_else(|| asked("path").map(|path| Text::clean(&path)));
    answer.body.extend(changes.block(path.map(|path| context.path(path))));
    answer.done()
}

/// The number of unchanged lines around a change.
const CONTEXT: Option<usize> = Some(3);

/// Adds the changes that a failed call requested. A successful result would show them, so the call doesn't.
pub(super) fn proposed(answer: &mut ResultContext<'_>) {
    let (context, Some(call)) = (answer.context, answer.call) else { return };
    if !matches!(call.action(), Some(Action::Edit | Action::Write)) {
        return;
    }
    let does = call.does();
    let changes = does.get("changes");
    if let Some(files) = changes.and_then(|changes| ChangedFiles::of(changes, context)) {
        // Discard the title: it reads as if the change had been made.
        files.result(&mut Line::default(), &mut answer.body);
        return;
    }
    let written = || ["content", "source"].iter().find_map(|name| does.get(name)?.str());
    let changes = asked(&does).or_else(|| Some(FileDiff::created(&written()?)));
    let path = does.text("path").map(|path| context.path(path));
    answer.body.extend(changes.and_then(|changes| changes.block(path)));
}

/// Whether a call requested the replacement of all occurrences, whose number is unknown.
fn is_everywhere(call: &DoesRef<'_>) -> bool {
    let changes = call.get("changes").map(FactRef::list).unwrap_or_default();
    changes.into_iter().any(|change| change.get("everywhere").and_then(FactRef::bool) == Some(true))
}

/// Returns the changes that a call requested.
fn asked(call: &DoesRef<'_>) -> Option<FileDiff> {
    let mut all = FileDiff::default();
    for change in call.get("changes")?.list() {
        all.extend(FileDiff::asked(change, CONTEXT)?);
    }
    Some(all)
}

/// Returns a phrase for the number of hits: `2 files`, `100 of 4,321 files`.
fn found(shown: u64, total: Option<u64>, one: &str, many: &str) -> Text {
    match total.filter(|total| *total > shown) {
        Some(total) => {
            let of = figures::count_of(total, one, many);
            Text::clean_owned(format!("{} of {}", &*figures::count(shown), &*of))
        }
        None => figures::count_of(shown, one, many),
    }
}

/// Formats the listing of a folder.
pub(crate) fn list(answer: &mut ResultContext<'_>) -> Option<View> {
    let text = answer.text();
    lines_found(answer, text, generic::SHORT)
}

/// Formats the lines of a text. A single line of at most `longest` bytes goes in the title.
fn lines_found(answer: &mut ResultContext<'_>, text: Text, longest: usize) -> Option<View> {
    if text.is_empty() {
        // A success without a text may have found anything.
        if !answer.context.is("success") {
            answer.note(Text::own("nothing"));
        }
    } else if text.len() <= longest && !text.contains('\n') {
        answer.note(text);
    } else {
        answer.note(figures::count_of(lines_of(&text), "line", "lines"));
        answer.code("result.text", text);
    }
    answer.done()
}

/// Shortens the paths with which lines begin.
fn relative_lines(context: ItemContext<'_>, text: Text) -> Text {
    let folder = context.session.facts().cwd.as_deref().filter(|folder| folder.len() > 1);
    if !folder.is_some_and(|folder| holds(&text, folder)) {
        return text;
    }
    let lines: Vec<_> = text.split('\n').map(|line| context.path(Text::clean(line)).into_string()).collect();
    Text::clean_owned(lines.join("\n"))
}

fn lines_of(text: &str) -> u64 {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64 + 1
}

pub(crate) fn search(answer: &mut ResultContext<'_>) -> Option<View> {
    let context = answer.context;
    let files = context.list("files");
    let number = context.count("count").unwrap_or(files.len() as u64);
    let total = context.count("total");
    let mode = context.fact("mode").and_then(FactRef::str);
    let hits = context.text("content").map(Text::trimmed_end).filter(|text| !text.is_empty());
    let text = answer.text();
    let is_known = context.fact("files").is_some() || hits.is_some() || context.fact("count").is_some();
    match mode.as_deref() {
        _ if !is_known => {
            // In full, the text follows verbatim.
            let is_listed = context.is("listed") && !context.full;
            if let Some((found, paths)) = text.split_once('\n').filter(|_| is_listed) {
                answer.note(Text::clean(found));
                answer.files(paths.split('\n').map(Text::clean));
                return answer.done();
            }
            return lines_found(answer, text, TITLE);
        }
        Some("content") => match context.count("lines").or_else(|| hits.as_deref().map(lines_of)) {
            Some(lines) if lines > 0 => answer.note(found(lines, total, "line", "lines")),
            _ => answer.note(Text::own("no matches")),
        },
        Some("count") => match context.count("matches") {
            Some(0) => answer.note(Text::own("no matches")),
            Some(matches) => {
                let places = figures::count_of(number, "file", "files");
                let matches = figures::count_of(matches, "match", "matches");
                answer.note(Text::clean_owned(format!("{} in {}", &*matches, &*places)));
            }
            None => answer.note(figures::count_of(number, "file", "files")),
        },
        _ if number == 0 => answer.note(Text::own("no files")),
        _ => answer.note(found(number, total, "file", "files")),
    }
    if context.is("truncated") && total.is_none() {
        answer.note(Text::own("not all"));
    }
    if context.is("timed_out") {
        answer.trouble(Text::own("timed out"));
    }
    if context.full && !text.is_empty() {
        answer.code("result.text", text);
    }
    if let Some(hits) = hits {
        let hits = if context.full { hits } else { relative_lines(context, hits) };
        answer.code_if_new("result.text", hits);
    }
    if !context.full {
        answer.files(files.into_iter().filter_map(FactRef::text));
    }
    answer.done()
}
