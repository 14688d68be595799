//! Formats notices: what the agent's program reports beside the conversation.

use std::ops::Deref;

use crate::context::{ItemContext, images};
use crate::sentence::in_words;
use crate::{calls, generic, outcome, sentence, tools};
use streamfmt_core::entry::{Block, Line, Span, View};
use streamfmt_core::figures;
use streamfmt_core::find::find;
use streamfmt_core::home::home;
use streamfmt_core::item::{Action, Content, FactRef, WAITED, WAITING, WaitsFor};
use streamfmt_core::json::Value;
use streamfmt_core::text::Text;

/// Returns the view of a notice; `None` hides it.
pub(super) fn view(context: ItemContext<'_>) -> Option<View> {
    if !context.full && ["repeated", "echo"].iter().any(|name| context.is(name)) {
        return None;
    }
    if !context.whole && context.is("minor") {
        return None;
    }
    let event = context.text("event").unwrap_or(Text::own("notice"));
    if &*event == "session" {
        // A minor one only repeats the one before.
        let is_again = context.is("minor") && !context.full;
        return (!is_again).then(|| session(context));
    }
    if &*event == "totals" {
        return Some(outcome::totals(context));
    }
    if !context.full && context.is("minor") && matches!(&*event, "report" | "turn" | "wrapped") {
        return None;
    }
    if &*event == "report" {
        let kind = context.text("type").unwrap_or_default();
        let name = in_words(kind.rsplit('/').next().unwrap_or_default(), &['_', '-']);
        return Some(uninterpreted(context, Text::clean_owned(name)));
    }
    let (mark, role) = mark(context);
    let mut view = View::titled(mark, Line::default());
    let known = words(context, &event);
    let phrase = context.text("words").filter(|_| !context.full);
    let mut text = phrase.unwrap_or_else(|| context.item.clean_text()).trimmed_end();
    if !context.full && mark != "error" && known.is_some() && IN_FACTS.contains(&&*event) {
        text = Text::EMPTY;
    }
    if &*event == "open-calls" && (!context.full || context.fact("titles").is_some()) {
        text = open_calls(context).unwrap_or(text);
    }
    if !context.full && &*event == "damaged" {
        text = runs_counted(&text);
    }
    let mut reason = None;
    if mark == "error" && known.is_none() && !context.full {
        text = sentence::without_json(text);
        reason = sentence::first_sentence(&text);
    }
    let first = find(b'\n', text.as_bytes()).unwrap_or(0);
    let longest = if context.item.error { LONG_ERROR } else { 2 * generic::SHORT };
    let is_line = first == 0 && text.len() <= longest && reason.is_none();
    match known.or_else(|| {
        let (sentence, rest) = reason?;
        text = rest;
        Some(sentence)
    }) {
        Some(words) => view.title.push(role, words),
        None if is_line && !text.is_empty() && !context.full => {}
        // The first line of a longer text becomes the title.
        None if !context.full && (1..=longest).contains(&first) && !is_tag(&text[..first]) => {
            view.title.push(role, text.slice(0, first));
            text = text.slice(first + 1, text.len());
        }
        None => view.title.push(role, Text::clean_owned(in_words(&event, &['_', '-']))),
    }
    if text.is_empty() {
        if let (false, true, Some(record)) = (is_in_words(&event), context.whole, &context.item.record) {
            view.body.push(Block::text("notice.record", generic::laid_out(record.root(), record.is_cut())));
        }
    } else if is_line {
        let before = view.title.last();
        if before.is_some_and(|before| !before.ends_with([':', '!'])) {
            view.title.push("notice.note", Text::own("·"));
        }
        view.title.push(if mark == "error" { role } else { "notice.text" }, text);
    } else {
        view.body.push(Block::text("notice.text", text));
    }
    for name in ["stdout", "stderr"] {
        if let Some(output) = context.text(name).filter(|output| !output.trim().is_empty()) {
            let is_shown =
                memchr::memmem::find(context.item.text().as_bytes(), output.trim().as_bytes()).is_some();
            if !is_shown {
                view.body.push(Block::text("notice.text", output.trimmed_end()));
            }
        }
    }
    if context.whole && !context.full && &*event == "open-calls" {
        view.body.extend(unanswered_changes(context));
    }
    images(context, &mut view.body);
    Some(view)
}

/// Returns the mark and the role of a notice, by its level.
fn mark(context: ItemContext<'_>) -> (&'static str, &'static str) {
    match context.fact("level").and_then(FactRef::str).as_deref() {
        _ if context.item.error => ("error", "notice.error"),
        Some("error") => ("error", "notice.error"),
        Some("warning") => ("warning", "notice.warning"),
        _ => ("notice", "notice.info"),
    }
}

/// Returns the view of an item whose type isn't interpreted: its name with all that the event contains, or only its first words.
pub(super) fn uninterpreted(context: ItemContext<'_>, name: Text) -> View {
    let (mark, role) = mark(context);
    let [name_role, text_role] = if mark == "notice" { ["unknown"; 2] } else { [role, role] };
    let mut view = View::titled(mark, Line::of(name_role, name));
    let text = context.item.clean_text();
    let value = context.fact("value");
    if !text.is_empty() {
        view.body.push(Block::text("unknown", text.trimmed_end()));
    } else if let (true, Some(FactRef::Json(value))) = (context.whole, value) {
        view.body.push(Block::text("unknown", generic::laid_out(value, context.is_cut())));
    } else if let Some(words) = value.and_then(|event| {
        let status = || event.text_at("status").filter(|_| mark != "notice");
        first_words(event).or_else(status)
    }) {
        view.title.push("notice.note", Text::own("·"));
        view.title.push(text_role, words);
    }
    view
}

/// Returns the view of an object of an unknown program: its type and text, and below it the other fields, laid out.
pub(super) fn object(context: ItemContext<'_>, value: Value<'_>) -> View {
    let (mark, role) = mark(context);
    let role = if mark == "notice" { "unknown" } else { role };
    let mut view = View::titled(mark, Line::default());
    let part = |name: &str| context.fact(name).and_then(FactRef::value).map(Value::node);
    let mut known: Vec<u32> = [context.item.at, part("type"), part("level")].into_iter().flatten().collect();
    if let Some(kind) = context.text("type") {
        view.title.push(role, kind);
    }
    let text = context.item.clean_text().trimmed_end();
    if generic::is_short(&text) && !text.is_empty() {
        if view.title.last().is_some() {
            view.title.push("notice.note", Text::own("·"));
        }
        view.title.push(if mark == "error" { role } else { "notice.text" }, text);
    } else if !text.is_empty() {
        view.body.push(Block::text("notice.text", text));
    }
    if let Content::Node(text) = context.item.text {
        known.push(text);
    }
    let fields = generic::fields(value, &known, context.is_cut());
    if view.title.last().is_none() && view.body.is_empty() {
        match generic::input(value, context.is_cut()) {
            generic::InputLayout::Title(fields) => view.title.push("unknown", fields),
            generic::InputLayout::Body(fields) => view.body.extend(fields),
        }
    } else {
        view.body.extend(fields);
    }
    view
}

/// The longest line that is shown beside the name of an event, in characters.
const LONG_WORDS: usize = 300;

/// Returns the probable message of an event of an unknown type: the first line of the first text under one of the usual names.
fn first_words(event: FactRef<'_>) -> Option<Text> {
    let error = event.get("error");
    let inside = [error, event.get("item"), event.get("message")].into_iter().flatten();
    let text = ["text", "message", "content"].iter().find_map(|name| words_at(event, name));
    let text = text.or_else(|| {
        let mut inside =
            inside.flat_map(|part| ["formatted", "message", "text", "content"].map(|name| (part, name)));
        inside.find_map(|(part, name)| words_at(part, name))
    });
    let others = ["error", "reason", "summary", "description"];
    let text = text.or_else(|| others.iter().find_map(|name| words_at(event, name)));
    text.or_else(|| {
        let values = ["error", "failed", "lost"].iter().filter_map(|name| event.get(name)?.value());
        values.filter_map(generic::brief_value).find_map(|value| first_line(&value))
    })
}

/// Returns the first line of a text, or of the first text in a list, as messages have them.
fn words_at(event: FactRef<'_>, name: &str) -> Option<Text> {
    let value = event.get(name)?;
    let of_parts = || value.list().into_iter().find_map(|part| part.text_at("text"));
    first_line(&value.text().or_else(of_parts)?)
}

/// Returns the first line that isn't blank. A long one is cut, visibly.
fn first_line(text: &str) -> Option<Text> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(match line.char_indices().nth(LONG_WORDS) {
        Some((end, _)) => Text::clean_owned(format!("{}…", line[..end].trim_end())),
        None => Text::clean(line),
    })
}

/// Returns the view of a session: `claude-opus-4-5 · ~/shop-api · 0123abcd`.
fn session(context: ItemContext<'_>) -> View {
    let facts = context.session.facts();
    let has_only_mode = context.fact("changed").is_some();
    if let (false, true, Some(mode)) = (context.full, has_only_mode, context.text("mode")) {
        return View::titled("notice", Line::of("notice.info", format!("permission mode: {}", &*mode)));
    }
    let mut line = Line::default();
    let mut add = |role: &'static str, text| add_part(&mut line, "", role, text);
    add("session.model", context.text("model").or_else(|| facts.model.clone()));
    add("session.folder", context.text("cwd").or_else(|| facts.cwd.clone()).map(home));
    let id = context.item.session.as_deref().map(Text::clean).or_else(|| facts.session.clone());
    add("session.id", id.map(|id| if context.full { id } else { short_id(id) }));
    if context.full {
        add("session.mode", context.text("mode"));
        add("session.version", context.text("version"));
    }
    let mut view = View::titled("session", line);
    if view.title.is_empty() {
        view.title.push("session.note", Text::own("session"));
    }
    if context.whole && !context.full {
        let mut line = Line::default();
        let id = context.item.session.as_deref().map(Text::clean);
        add_part(&mut line, "id:", "id", id);
        add_part(&mut line, "mode:", "session.mode", context.text("mode"));
        add_part(&mut line, "version:", "session.version", context.text("version"));
        if !line.is_empty() {
            view.body.push(Block::line(line));
        }
    }
    for problem in context.list("problems").into_iter().filter_map(FactRef::text) {
        view.body.push(Block::line(Line::of("notice.warning", problem)));
    }
    if context.whole {
        let mut line = Line::default();
        for (name, fact) in [("name:", "name"), ("role:", "agent_type"), ("started by:", "parent")] {
            add_part(&mut line, name, "session.note", context.text(fact));
        }
        if !line.is_empty() {
            view.body.push(Block::line(line));
        }
    }
    for (phrase, fact) in ORIGINS {
        if let Some(id) = context.text(fact) {
            view.body.push(Block::line(Line::of("session.note", phrase).with("session.id", id)));
        }
    }
    if !context.whole {
        let servers = context.list("servers");
        for (status, note) in [("failed", "that failed"), ("needs-auth", "that want a login")] {
            let such = servers.iter().filter(|server| server.text_at("status").as_deref() == Some(status));
            let names: Vec<_> =
                such.filter_map(|server| server.text_at("name")).map(Text::into_string).collect();
            if !names.is_empty() {
                let note = format!("MCP servers {note}: {}", names.join(", "));
                view.body.push(Block::line(Line::of("notice.warning", note)));
            }
        }
    }
    if context.whole {
        for name in ["tools", "servers"] {
            let mut line = Line::of("session.note", format!("{name}:"));
            for part in context.list(name) {
                line.push("session.tool", part.words().or_else(|| part.text_at("name")).unwrap_or_default());
                if let Some(status) = part.text_at("status") {
                    line.push("session.note", format!("({})", &*status));
                }
            }
            if line.spans().len() > 1 {
                view.body.push(Block::line(line));
            }
        }
        let text = context.item.clean_text();
        if !text.trim().is_empty() {
            view.body.push(Block::text("notice.text", text));
        }
    }
    view
}

/// The phrases for the sessions that a session continues, and their facts.
const ORIGINS: [(&str, &str); 2] = [
    ("begins with the history of session", "forked_from"),
    ("continues, from another file, session", "continues"),
];

/// Adds a property of a session to a line, after its name. Does nothing if the property is unknown.
fn add_part(line: &mut Line, name: &'static str, role: &'static str, text: Option<Text>) {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return };
    if !line.is_empty() {
        line.push("session.note", Text::own("·"));
    }
    line.push("session.note", Text::own(name));
    line.push(role, text);
}

/// Whether a line is only a tag, as the agent's program puts them around its messages.
fn is_tag(line: &str) -> bool {
    let name = line.trim().strip_prefix('<').and_then(|line| line.strip_suffix('>'));
    name.is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_/".contains(&byte)))
}

/// Returns the titles of the listed calls that have no result; `None` if one of them is no longer known. If a title is only the tool's
/// name, the id is added to distinguish calls of the same tool.
fn open_calls(context: ItemContext<'_>) -> Option<Text> {
    let ids = context.fact("calls").map(FactRef::list)?;
    let title = |id: &FactRef<'_>| {
        let id = id.text()?;
        if context.full {
            return Some(format!("{} {}", &*context.tool_name(&id)?, &*id));
        }
        let call = context.session.call(&id.as_str().into())?;
        let mut title = call_view(ItemContext { item: call, ..context })?.title;
        let name = context.tool_name(&id);
        if title.spans().len() == 1 {
            title.push("call.detail", id);
        }
        let Some(name) = name else { return Some(title.text().to_owned()) };
        let is_name = |span: &Span<'_>| span.role.name() == "tool.name";
        let before = title.spans().take_while(|span| !is_name(span));
        let after = title.spans().skip_while(|span| !is_name(span)).filter(|span| !is_name(span));
        let parts = before.map(|span| span.text()).chain([&*name]).chain(after.map(|span| span.text()));
        Some(parts.collect())
    };
    let titles: Option<Vec<String>> = ids.iter().map(title).collect();
    let rest = context.count("count")?.saturating_sub(ids.len() as u64);
    let more = if rest > 0 { format!("; and {} more", &*figures::count(rest)) } else { String::new() };
    Some(Text::clean_owned(titles?.join("; ") + &more))
}

/// Returns the view of a call.
fn call_view(call: ItemContext<'_>) -> Option<View> {
    calls::view(call, tools::functions_of(call.item.tool_kind).0)
}

/// Returns the changes of calls without a result. With `whole`, a call leaves its changes to its result, which didn't come.
fn unanswered_changes(context: ItemContext<'_>) -> impl Iterator<Item = Block> {
    let calls = context.session.unanswered_calls();
    let changes = calls.filter(|call| matches!(call.action(), Some(Action::Write | Action::Edit)));
    changes.filter_map(move |call| {
        let context = ItemContext { item: call, ..context };
        let summary = call_view(context)?.title;
        let body = call_view(ItemContext { full: true, ..context })?.body;
        (!body.is_empty()).then_some(Block::Details { summary, body })
    })
}

/// Replaces long runs of one control character by a count: `␀ × 512`.
fn runs_counted(text: &str) -> Text {
    const LONG: usize = 8;
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_control = ('\u{2400}'..='\u{2421}').contains(&first);
        let end = rest.find(|char| !is_control || char != first).unwrap_or(rest.len()).max(first.len_utf8());
        let (run, after) = rest.split_at(end);
        let count = end / first.len_utf8();
        if count > LONG {
            let blank = |is_needed: bool| if is_needed { " " } else { "" };
            let (before, behind) = (blank(!out.is_empty()), blank(!after.is_empty()));
            out.extend([before, first.encode_utf8(&mut [0; 4]), " × ", &count.to_string(), behind]);
        } else {
            out.push_str(run);
        }
        rest = after;
    }
    Text::clean_owned(out)
}

/// Returns the first group of a UUID. Other ids are returned unchanged.
fn short_id(id: Text) -> Text {
    match id.split_once('-') {
        Some((first, _)) if first.len() == 8 && id.len() == 36 => id.slice(0, 8),
        _ => id,
    }
}

/// The longest first line of an error that becomes its title, in bytes.
const LONG_ERROR: usize = 500;

/// Events whose text adds nothing to the phrase made from their facts.
const IN_FACTS: [&str; 6] = ["retry", "compaction", "limit", "mode", "interrupt", "retracted"];

/// Whether a phrase has all facts of such an event, so that its record needn't be shown.
fn is_in_words(event: &str) -> bool {
    IN_FACTS.contains(&event)
        || matches!(
            event,
            "session-change" | "cut" | "denied" | "task" | "damaged" | "oversized" | "foreign" | "dialect"
        )
        || matches!(event, "open-calls" | "count" | "fallback" | "no-outcome")
        || matches!(event, "turn" | WAITING | WAITED)
}

/// Whether the text of a task's notice includes its final state: `Background command "Build" completed (exit code 0)`. The text of some
/// tasks is only their description.
fn reports_state(context: ItemContext<'_>) -> bool {
    let text = context.text("words").unwrap_or_else(|| context.item.clean_text());
    let status = context.fact("status").and_then(FactRef::str);
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    !text.is_empty()
        && match status.as_deref() {
            None => true,
            Some("completed") => has(&["completed", "finished", "ended"]),
            Some("stopped" | "killed") => has(&["stopped", "killed"]),
            Some(other) => has(&[other]),
        }
}

/// Joins the known parts of a phrase with dots: `rate limit · 80% used`.
fn dotted<T: Deref<Target = str>>(first: &str, parts: impl IntoIterator<Item = Option<T>>) -> String {
    let mut phrase = first.to_owned();
    for part in parts.into_iter().flatten() {
        phrase.extend([" · ", &*part]);
    }
    phrase
}

/// Returns a short phrase for an event, made from its facts; `None` if its text or its name is used instead.
fn words(context: ItemContext<'_>, event: &str) -> Option<Text> {
    let text = |name: &str| context.fact(name).and_then(FactRef::words);
    let phrase = match event {
        "no-outcome" if text("reason").is_some_and(|reason| &*reason == "cost") => {
            "interrupted: it cost more than allowed".to_owned()
        }
        "no-outcome" if context.is("interrupted") => "interrupted".to_owned(),
        "no-outcome" => "the stream ended without a result".to_owned(),
        "retry" => {
            let mut phrase = "trying again".to_owned();
            match (text("attempt"), text("of")) {
                (Some(attempt), Some(of)) => phrase = format!("{phrase} ({} of {})", &*attempt, &*of),
                (Some(attempt), None) => phrase = format!("{phrase} (attempt {})", &*attempt),
                (None, _) => {}
            }
            if let Some(ms) = context.count("delay_ms") {
                phrase = format!("{phrase} in {}", &*figures::duration(ms));
            }
            let (status, error) = (text("status"), text("error"));
            // The error may begin with the status.
            let status =
                status.filter(|status| !error.as_ref().is_some_and(|error| error.starts_with(&**status)));
            dotted(&phrase, [status, error])
        }
        "compaction" if context.item.error || !context.item.text().is_empty() => {
            "the conversation could not be compacted".to_owned()
        }
        "compaction" => match (context.count("before"), context.count("after")) {
            (Some(before), Some(after)) => {
                format!(
                    "conversation compacted · {} → {} tokens",
                    &*figures::tokens(before),
                    &*figures::tokens(after)
                )
            }
            (Some(before), None) => {
                format!("conversation compacted · {} tokens before", &*figures::tokens(before))
            }
            _ => "conversation compacted".to_owned(),
        },
        "damaged" => match (context.count("count"), context.is("incomplete")) {
            (Some(count), _) => format!("{count} damaged records in all, only the first were shown"),
            (None, true) => format!("line {}: incomplete record", context.item.line),
            (None, false) => format!("line {}: damaged record", context.item.line),
        },
        "oversized" => {
            let size = context.count("bytes").map(figures::size)?;
            format!("line {}: {}, over the limit: not read", context.item.line, &*size)
        }
        "wrapped" => format!("line {}: records behind a prefix", context.item.line),
        "cut" => format!("line {}: a value is cut: nested too deep, or too many elements", context.item.line),
        "dialect" => {
            let (from, to) = (text("from")?, text("to")?);
            let way = if context.is("unread") {
                format!(": read them with --from {}", &*to)
            } else {
                String::new()
            };
            format!("from line {} on there are lines of {}, not of {}{way}", context.item.line, &*to, &*from)
        }
        "open-calls" => match context.count("count")? {
            1 => "1 call has no result:".to_owned(),
            count => format!("{count} calls have no result:"),
        },
        "retracted" => match context.fact("items").map(|items| items.list().len())? {
            1 => "the model withdrew what it said before".to_owned(),
            count => format!("the model withdrew {count} things it said before"),
        },
        "limit" => {
            let [kind, status] = ["type", "status"].map(|name| Some(in_words(&text(name)?, &['_'])));
            let used = context.fact("utilization").and_then(FactRef::float);
            let used = used.map(|used| format!("{:.0}% used", used * 100.0));
            let end = context.fact("resets_at").and_then(FactRef::int).and_then(figures::moment);
            let end = end.map(|end| format!("resets {end}"));
            let [scope, error] = ["scope", "error"].map(|name| Some(in_words(&text(name)?, &['_'])));
            // While the limit allows more, the reason is only that of a setting.
            let reason = text("reason").filter(|_| context.full || context.item.error);
            let reason = reason.map(|reason| in_words(&reason, &['_']));
            dotted("rate limit", [kind, status, used, end, scope, error, reason])
        }
        "turn" => format!("the turn took {}", &*figures::duration(context.count("duration_ms")?)),
        "pull-request" => {
            let number = text("number").map(|number| format!(" #{}", &*number)).unwrap_or_default();
            let action = text("action").map(|action| format!(" {}", &*action)).unwrap_or_default();
            dotted(&format!("pull request{number}{action}"), [text("url")])
        }
        "denied" => {
            let name = context.text("call").and_then(|call| context.tool_name(&call));
            let note =
                [name.or_else(|| text("tool")), text("reason")].into_iter().flatten().map(Text::into_string);
            let note = note.collect::<Vec<_>>().join(" · ");
            if note.is_empty() { "denied".to_owned() } else { format!("denied: {note}") }
        }
        WAITING | WAITED => {
            let waits_for: WaitsFor = text("for").and_then(|name| name.parse().ok()).unwrap_or_default();
            let asks = if event == WAITING { "asks" } else { "no longer asks" };
            let name =
                context.text("call").and_then(|call| context.tool_name(&call)).or_else(|| text("tool"));
            let phrase = format!("{asks} for {}", waits_for.words());
            match name.filter(|_| waits_for == WaitsFor::Permission) {
                Some(name) => format!("{phrase}: {}", &*name),
                None => phrase,
            }
        }
        "session-change" => {
            let id = context.text("session")?;
            format!("session {}", &*if context.full { id } else { short_id(id) })
        }
        "mode" => format!("permission mode: {}", &*text("mode")?),
        // The agent's text already names the models and the reason.
        "fallback" if !context.full && !context.item.text().is_empty() => return None,
        "task" if text("from").is_some() => format!("{}:", &*text("from")?),
        "task" if !context.full && reports_state(context) => return None,
        "task" => match text("status") {
            Some(status) => format!("task {}", in_words(&status, &['_'])),
            None => "task".to_owned(),
        },
        "hook" => {
            let mut phrase = "hook".to_owned();
            for name in ["name", "outcome"] {
                if let Some(note) = text(name) {
                    phrase = format!("{phrase} {}", &*note);
                }
            }
            let code = text("exit").filter(|code| &**code != "0");
            dotted(&phrase, [code.map(|code| format!("exit {code}"))])
        }
        "command" => {
            let name = text("name")?;
            let args = text("args").unwrap_or_default();
            format!("{} {}", &*name, &*args)
        }
        "fallback" => match (text("from"), text("to")) {
            (Some(from), Some(to)) => format!("model {} → {}", &*from, &*to),
            _ => return None,
        },
        "skill" => format!("skill {}", &*text("path")?),
        "attachment" if context.whole && !context.full => in_words(&text("type")?, &['_']),
        "attachment" => format!("attachment · {}", in_words(&text("type")?, &['_'])),
        "teammate" | "session-message" | "agent" | "channel" | "coordinator" | "observer" | "message"
        | "continuation" | "memory" => {
            let what = match event {
                "session-message" => "another session",
                "agent" if text("from").is_none() => "another agent",
                "message" => "message from",
                "continuation" => "continued automatically",
                "memory" => "to be remembered",
                other => other,
            };
            match text("from") {
                Some(from) => format!("{what} {}:", &*from),
                None => format!("{what}:"),
            }
        }
        "interrupt" if context.item.text().trim().is_empty() => "interrupted".to_owned(),
        "summary" => "summary".to_owned(),
        "shell-input" => "shell".to_owned(),
        "shell-output" => "output of the shell".to_owned(),
        "refusal" => {
            let is_new = |note: &Text| !context.item.text().contains(&**note);
            let note = ["category", "explanation"].map(|name| text(name).filter(is_new));
            dotted("the model refused to answer", note)
        }
        "synthetic" if context.full => "from the agent's program".to_owned(),
        "interrupt" if !context.full => "interrupted by the user".to_owned(),
        _ => return None,
    };
    Some(Text::clean_owned(phrase).trimmed_end())
}
