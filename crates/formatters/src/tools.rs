//! The table from kinds of tools to the functions that format calls and results, and most of these functions.
//!
//! Those for commands, files and searches are in `calls.rs` and `results`, together with what all tools share.

#![expect(clippy::unnecessary_wraps, reason = "the rows of the table have one type")]

use std::borrow::Cow;

use streamfmt_core::entry::{Block, Line, ListItem, Point, Role, View};
use streamfmt_core::figures;
use streamfmt_core::item::{FactRef, GrowingInput, ToolKind};
use streamfmt_core::json::Record;
use streamfmt_core::text::Text;

use crate::calls::{self, CallContext, FormatCall, in_background, is_array};
use crate::generic::is_short;
use crate::results::{self, FormatResult, ResultContext, holds, is_refusal, show_text};
use crate::sentence::in_words;

/// Returns the functions that format the calls and results of a kind of tool; for an unknown one, those of unknown tools.
pub(super) fn functions_of(tool_kind: Option<ToolKind>) -> (FormatCall, FormatResult) {
    match tool_kind.unwrap_or(ToolKind::Other) {
        ToolKind::Run => (calls::run, results::run),
        ToolKind::Watch => (calls::run, results::note),
        ToolKind::Command => (calls::run, results::other),
        ToolKind::Job => (job, results::job),
        ToolKind::EndJob => (job, results::note),
        ToolKind::Read => (calls::read, results::read),
        ToolKind::List => (calls::list, results::list),
        ToolKind::Write => (calls::write, results::change),
        ToolKind::Edit => (calls::edit, results::change),
        ToolKind::EditCell => (calls::edit_cell, results::cell),
        ToolKind::Find => (calls::find, results::search),
        ToolKind::Grep => (calls::grep, results::search),
        ToolKind::FindTools => (find_tools_call, find_tools_result),
        ToolKind::Fetch => (fetch_call, fetch_result),
        ToolKind::Delegate => (delegate_call, delegate_result),
        ToolKind::Todos => (todos_call, todos_result),
        ToolKind::Plan => (todos_call, tasks),
        ToolKind::Task => (task, tasks),
        ToolKind::Tasks => (calls::bare, tasks),
        ToolKind::PlanMode => (plan_call, plan_result),
        ToolKind::Ask => (ask_call, ask_result),
        ToolKind::Skill => (skill_call, skill_result),
        ToolKind::Message => (calls::generic, results::note),
        ToolKind::Mcp | ToolKind::Resource | ToolKind::Answer | ToolKind::Other => {
            (calls::generic, results::other)
        }
    }
}

/// Formats a call that checks, writes to or stops a background job.
fn job(call: &mut CallContext<'_>) -> Option<()> {
    call.show_part("call.arg", "job")?;
    call.show_part("call.detail", "filter");
    if let Some(input) = call.text("stdin").filter(|input| !input.is_empty()) {
        call.show("call.command", input.trimmed_end());
    }
    Some(())
}

fn fetch_call(call: &mut CallContext<'_>) -> Option<()> {
    match call.text("url") {
        Some(url) if is_short(&url) => {
            call.title.attach("text", Text::own(" "));
            call.title.attach("call.arg", &url);
            call.title.link(url);
        }
        Some(url) => call.show("call.arg", url),
        None => return call.show_part("call.arg", "query").and_then(|()| prompt(call)),
    }
    // What is looked for on the page.
    call.show_part("call.detail", "query");
    prompt(call)
}

/// Adds the prompt for another model, unless calls are shown on one line. A prompt that is being written is always shown.
fn prompt(call: &mut CallContext<'_>) -> Option<()> {
    if call.context.whole || call.shows_content() {
        let prompt = call.content("prompt");
        call.body.extend(prompt.map(|prompt| Block::prose("prompt.task", prompt)));
    }
    Some(())
}

fn fetch_result(answer: &mut ResultContext<'_>) -> Option<View> {
    let context = answer.context;
    if let Some(code) = context.fact("code").and_then(FactRef::words) {
        let words = context.text("code_text").unwrap_or_default();
        let status = Text::clean_owned(format!("{} {}", &*code, &*words)).trimmed_end();
        let is_refused = context.count("code").is_some_and(is_refusal);
        if is_refused { answer.trouble(status) } else { answer.note(status) }
    }
    answer.note_known(context.count("bytes").map(figures::size));
    let hits = context.list("hits");
    if !hits.is_empty() {
        answer.note(figures::count_of(hits.len() as u64, "hit", "hits"));
    }
    answer.note_known(context.count("duration_ms").map(figures::duration));
    let items: Vec<_> =
        hits.into_iter().map(|hit| ListItem { point: Point::Plain, line: link(hit) }).collect();
    if !items.is_empty() {
        answer.body.push(Block::List { items });
    }
    let reply = context.text("answer").map(Text::trimmed_end).filter(|text| !text.is_empty());
    let reply = reply.or_else(|| answer.body.is_empty().then(|| answer.text()));
    answer.answer(reply.unwrap_or_default());
    answer.done()
}

/// Returns the title and the URL of a hit, both as links.
fn link(hit: FactRef<'_>) -> Line {
    let url = hit.text_at("url").unwrap_or_default();
    let title = hit.text_at("title").filter(|title| !title.is_empty());
    let mut line = Line::of("result.link", title.as_ref().unwrap_or(&url));
    line.link(url.clone());
    if title.is_some() {
        line.push("result.note", url);
    }
    line
}

fn delegate_call(call: &mut CallContext<'_>) -> Option<()> {
    let agent = call.text("agent");
    let description = call.text("description");
    if agent.is_none() && description.is_none() {
        return None;
    }
    let both = agent.is_some() && description.is_some();
    if let Some(agent) = agent {
        call.show("tool.agent", agent);
    }
    if both {
        call.title.push("tool.note", Text::own("·"));
    }
    if let Some(description) = description {
        call.show("call.arg", description);
    }
    in_background(call);
    prompt(call)
}

fn delegate_result(answer: &mut ResultContext<'_>) -> Option<View> {
    let context = answer.context;
    let state = context.fact("state").and_then(FactRef::str);
    let is_done = matches!(state.as_deref(), None | Some("completed"));
    match state.as_deref() {
        None | Some("completed") => {}
        Some("async_launched") if answer.was_asked_for("background") => answer.note(Text::own("started")),
        Some("async_launched") => answer.note(Text::own("started in the background")),
        Some(state) => answer.note(Text::clean_owned(in_words(state, &['_']))),
    }
    if context.is("interrupted") {
        answer.trouble(Text::own("interrupted"));
    }
    if let Some(url) = context.text("url") {
        let mut line = Line::of("result.link", &url);
        line.link(url);
        answer.body.push(Block::line(line));
    }
    answer.note_known(context.count("tool_uses").map(|number| figures::count_of(number, "tool", "tools")));
    answer.note_known(context.count("tokens").map(|number| format!("{} tokens", figures::tokens(number))));
    answer.note_known(context.count("duration_ms").map(figures::duration));
    let last = context.text("answer").map(Text::trimmed_end).filter(|text| !text.is_empty());
    let text = answer.text();
    if context.is("repeated") {
        // The sub-agent's last reply right above is the same.
        if answer.title.is_empty() {
            answer.note(Text::own("done"));
        }
        return if context.full { Some(answer.finish_but_for(&last.unwrap_or(text))) } else { answer.done() };
    }
    answer.answer(match last {
        // The text often contains the answer, followed by bookkeeping.
        Some(last) if !context.full || !holds(&text, &last) => last,
        None if !context.full && !is_done => Text::EMPTY,
        _ => text,
    });
    answer.done()
}

/// Formats a call that writes a to-do list: hidden, since the list follows as an item.
fn todos_call(call: &mut CallContext<'_>) -> Option<()> {
    let todos = call.does.get("todos").filter(is_array)?;
    let points = todos.list();
    if let Some(growing) = call.growing {
        return growing_todos(call, todos, growing);
    }
    if !points.iter().all(|point| ["content", "status"].iter().all(|name| has_text(*point, name))) {
        return None;
    }
    // The list shows only these parts.
    if call.context.whole && points.iter().all(|point| point.has_only(&["content", "status", "active"])) {
        call.know(todos);
    }
    call.hidden = true;
    Some(())
}

/// Shows the to-do items so far, until the list follows.
fn growing_todos(call: &mut CallContext<'_>, todos: FactRef<'_>, growing: &GrowingInput) -> Option<()> {
    let mut items = points(todos, call.context.full);
    let status = todos.list().last().and_then(|point| point.get("status")?.value());
    if let (Some(point), true) = (items.last_mut(), status.is_some_and(|it| Some(it.node()) == growing.open))
    {
        // Don't show an incomplete status.
        point.line = point.line.spans().filter(|span| span.role != Role::of("plan.note")).collect();
    }
    call.know(todos);
    call.body.push(Block::List { items });
    Some(())
}

fn has_text(part: FactRef<'_>, name: &str) -> bool {
    part.get(name).is_some_and(FactRef::is_text)
}

/// Formats the result of writing a to-do list. The list itself was shown before.
fn todos_result(answer: &mut ResultContext<'_>) -> Option<View> {
    let text = answer.text();
    if text.is_empty() && !answer.context.full {
        return None;
    }
    answer.code("result.text", text);
    answer.done()
}

/// Formats a call about one task of a list, which is created, changed or queried.
fn task(call: &mut CallContext<'_>) -> Option<()> {
    let id = call.text("id");
    let is_new = id.is_none();
    if let Some(id) = id {
        call.show("call.arg", Text::clean_owned(format!("#{}", &*id)));
    }
    call.show_phrase("status", |status| format!("→ {}", in_words(&status, &['_'])));
    if call.show_part("call.arg", "subject").is_none() && is_new {
        return None;
    }
    call.show_phrase("owner", |owner| format!("for {owner}"));
    for (name, words) in [("blocks", "blocks"), ("blocked_by", "blocked by")] {
        let Some(others) = call.does.get(name) else { continue };
        let ids: Vec<_> = others.list().into_iter().map(FactRef::text).collect();
        let ids: Option<Vec<_>> = ids.into_iter().collect();
        let ids = ids.filter(|_| is_array(&others));
        if ids.as_ref().is_some_and(Vec::is_empty) {
            continue;
        }
        if let Some(ids) = call.accept(others, ids) {
            let ids: Vec<_> = ids.iter().map(|id| format!("#{}", &**id)).collect();
            call.show("call.detail", Text::clean_owned(format!("{words} {}", ids.join(", "))));
        }
    }
    if !call.context.whole && !is_new && call.text("description").is_some() {
        call.show("call.detail", Text::own("with a new description"));
    }
    Some(())
}

/// Formats a result about one task, about all tasks, or one without details.
fn tasks(answer: &mut ResultContext<'_>) -> Option<View> {
    let context = answer.context;
    let all = context.fact("tasks").or_else(|| context.fact("todos"));
    if let Some(task) = context.fact("task") {
        let mut line = Line::default();
        if let Some(id) = task.get("id").and_then(FactRef::words) {
            line.push("result.note", format!("#{}", &*id));
        }
        let asked = answer.call.and_then(|call| call.does().text("subject"));
        let is_new = |subject: &Text| context.full || context.is_apart || Some(subject) != asked.as_ref();
        let subject = task.text_at("subject").filter(is_new);
        line.push("result.note", subject.unwrap_or_default());
        line.push("result.note", task.text_at("status").map(|status| spaced(&status)).unwrap_or_default());
        answer.title = line;
    } else if context.is("success") && !context.full {
        // The call shows all of it.
        return None;
    }
    let written = answer.text();
    let listed = written.find("[{").and_then(|at| Some(Record::read(&written[at..]).ok()?.0));
    let all = all.or_else(|| Some(FactRef::Json(listed.as_ref()?.root())));
    let items = all.map(|all| points(all, context.full)).unwrap_or_default();
    if !items.is_empty() {
        answer.note(figures::count_of(items.len() as u64, "task", "tasks"));
        // The list itself follows as a plan.
        if context.full {
            answer.body.push(Block::List { items });
        }
    }
    if answer.title.is_empty() {
        show_text(answer);
    }
    answer.done()
}

/// Returns the items of a to-do list or a list of tasks.
pub(super) fn points(todos: FactRef<'_>, full: bool) -> Vec<ListItem> {
    let point = |todo: FactRef<'_>| {
        let status = todo.get("status").and_then(FactRef::str);
        let (point, known) = match status.as_deref() {
            Some("completed" | "done") => (Point::Done, true),
            Some("in_progress" | "active") => (Point::Active, true),
            Some("deleted" | "cancelled" | "failed") => (Point::Failed, true),
            Some("pending" | "open") => (Point::Open, true),
            _ => (Point::Open, false),
        };
        let mut line = Line::default();
        if let Some(id) = todo.get("id").and_then(FactRef::words) {
            line.push("plan.note", format!("#{}", &*id));
        }
        line.push("plan.point", todo.text_at("content").or_else(|| todo.words()).unwrap_or_default());
        let before = todo.get("blocked_by").map(FactRef::list).unwrap_or_default();
        let before: Vec<_> =
            before.into_iter().filter_map(FactRef::words).map(|id| format!("#{id}")).collect();
        let notes = [
            status.filter(|_| !known).map(Cow::into_owned),
            todo.text_at("owner").filter(|owner| !owner.is_empty()).map(Text::into_string),
            (!before.is_empty()).then(|| format!("blocked by {}", before.join(", "))),
            full.then(|| todo.text_at("active")).flatten().map(Text::into_string),
        ];
        for note in notes.into_iter().flatten() {
            line.push("plan.note", format!("({note})"));
        }
        ListItem { point, line }
    };
    todos.list().into_iter().map(point).collect()
}

/// A status as words: `in progress`.
fn spaced(status: &str) -> Text {
    Text::clean_owned(in_words(status, &['_']))
}

fn plan_call(call: &mut CallContext<'_>) -> Option<()> {
    if let Some(plan) = call.text("plan") {
        call.body.push(Block::prose("plan", plan));
    }
    Some(())
}

fn plan_result(answer: &mut ResultContext<'_>) -> Option<View> {
    let context = answer.context;
    if context.fact("plan").is_none() {
        if context.full {
            return answer.done();
        }
        if !context.is("approved") && !context.is_apart && answer.call.is_some() {
            // The call already shows that plan mode begins.
            return None;
        }
        answer.note(Text::own(if context.is("approved") { "plan approved" } else { "plan mode" }));
        return answer.done();
    }
    answer.note(Text::own("plan approved"));
    answer.note_known(context.text("path").map(|path| context.path(path)));
    // The call shows the proposed plan. Agents may report a change although there is none.
    let asked = answer.call.and_then(|call| call.does().text("plan"));
    let plan = context.text("plan").filter(|_| context.is("user_modified"));
    if let Some(plan) = plan.filter(|plan| asked.as_ref() != Some(plan)) {
        answer.note_user_change();
        answer.body.push(Block::prose("plan", plan));
    }
    answer.done()
}

fn ask_call(call: &mut CallContext<'_>) -> Option<()> {
    let questions = call.does.get("questions").filter(is_array)?;
    let mut has_more = false;
    for question in questions.list() {
        let Some(text) = question.text_at("question") else {
            if call.growing.is_some() {
                continue;
            }
            return None;
        };
        let mut line = Line::of("ask.question", text);
        if question.get("several").and_then(FactRef::bool) == Some(true) {
            line.push("call.detail", Text::own("(several)"));
        }
        call.body.push(Block::line(line));
        has_more |= !question.has_only(&["question", "several", "options"]);
        let mut items = Vec::new();
        for option in question.get("options").filter(is_array).map(FactRef::list).unwrap_or_default() {
            let label = option.text_at("label").or_else(|| call.growing.map(|_| Text::default()))?;
            let mut line = Line::of("ask.option", label);
            if let Some(text) = option.text_at("description") {
                line.push("muted", Text::own("–"));
                line.push("call.note", text);
            }
            has_more |= !option.has_only(&["label", "description"]);
            items.push(ListItem { point: Point::Plain, line });
        }
        if !items.is_empty() {
            call.body.push(Block::List { items });
        }
    }
    // With `whole`, fields that aren't shown above, such as headers and previews, follow with the rest of the input.
    if !call.context.whole || !has_more {
        call.know(questions);
    }
    Some(())
}

fn ask_result(answer: &mut ResultContext<'_>) -> Option<View> {
    let answers = answer.context.fact("answers").map(FactRef::parts).unwrap_or_default();
    let mut items = Vec::new();
    let annotations = answer.context.fact("annotations").map(FactRef::parts).unwrap_or_default();
    for (question, chosen) in answers {
        let beside = annotations.iter().find(|(about, _)| *about == question);
        let beside = beside.and_then(|(_, note)| note.text_at("notes").or_else(|| note.words()));
        let beside = beside.filter(|note| !note.is_empty()).map(|note| format!("({})", &*note));
        let line = Line::of("ask.question", question)
            .with("result.note", Text::own("→"))
            .with("ask.answer", chosen.words().unwrap_or_default())
            .with("result.note", beside.unwrap_or_default());
        items.push(ListItem { point: Point::Done, line });
    }
    if items.is_empty() {
        show_text(answer);
    } else {
        answer.body.push(Block::List { items });
    }
    answer.done()
}

fn skill_call(call: &mut CallContext<'_>) -> Option<()> {
    call.show_part("call.arg", "skill")?;
    call.show_part("call.detail", "args");
    Some(())
}

fn skill_result(answer: &mut ResultContext<'_>) -> Option<View> {
    let text = answer.text();
    if !answer.context.full && text.is_empty() {
        return None;
    }
    show_text(answer);
    answer.done()
}

fn find_tools_call(call: &mut CallContext<'_>) -> Option<()> {
    call.show_part("call.arg", "query")
}

fn find_tools_result(answer: &mut ResultContext<'_>) -> Option<View> {
    let names = answer.context.list("matches");
    let number = names.len() as u64;
    if number == 0 {
        show_text(answer);
        return answer.done();
    }
    answer.note(figures::count_of(number, "tool", "tools"));
    let names: Vec<_> = names.into_iter().filter_map(FactRef::text).map(Text::into_string).collect();
    answer.code("result.text", Text::clean_owned(names.join("\n")));
    answer.done()
}
