//! Results from elsewhere: the web, sub-agents, lists of tasks, the user.

use super::{ResultContext, holds, is_refusal, say_text};
use streamfmt_core::entry::{Block, Line, ListItem, Point, Span, View};
use streamfmt_core::figures;
use streamfmt_core::item::FactRef;
use streamfmt_core::json::Record;
use streamfmt_core::text::Text;

pub(crate) fn fetch(answer: &mut ResultContext<'_>) -> Option<View> {
    let context = answer.context;
    if let Some(code) = context.fact("code").and_then(FactRef::words) {
        let words = context.text("code_text").unwrap_or_default();
        let status = Text::clean_owned(format!("{} {}", &*code, &*words)).trimmed_end();
        let is_refused = context.count("code").is_some_and(is_refusal);
        if is_refused { answer.trouble(status) } else { answer.note(status) }
    }
    if let Some(bytes) = context.count("bytes") {
        answer.note(figures::size(bytes));
    }
    let hits = context.fact("hits").map(FactRef::list).unwrap_or_default();
    if !hits.is_empty() {
        answer.note(figures::count_of(hits.len() as u64, "hit", "hits"));
    }
    if let Some(ms) = context.count("duration_ms") {
        answer.note(figures::duration(ms));
    }
    let items: Vec<_> =
        hits.into_iter().map(|hit| ListItem { point: Point::Plain, line: link(hit) }).collect();
    if !items.is_empty() {
        answer.body.push(Block::List { items });
    }
    let said = context.text("answer").map(Text::trimmed_end);
    let has_list = !answer.body.is_empty();
    match said {
        Some(text) if !text.is_empty() => answer.body.push(Block::prose("result.answer", text)),
        _ if has_list => {}
        _ => {
            let text = answer.text();
            if !text.is_empty() {
                answer.body.push(Block::prose("result.answer", text));
            }
        }
    }
    answer.done()
}

/// `Title address`, both a link.
fn link(hit: FactRef<'_>) -> Line {
    let url = hit.text_at("url").unwrap_or_default();
    let title = hit.text_at("title").filter(|title| !title.is_empty());
    let mut line = Line {
        spans: vec![Span::new("result.link", title.clone().unwrap_or(url.clone())).linked(url.clone())],
    };
    if title.is_some() {
        line.push("result.note", url);
    }
    line
}

pub(crate) fn delegate(answer: &mut ResultContext<'_>) -> Option<View> {
    let context = answer.context;
    let state = context.fact("state").and_then(FactRef::str);
    let is_done = matches!(state.as_deref(), None | Some("completed"));
    match state.as_deref() {
        None | Some("completed") => {}
        Some("async_launched") if answer.was_asked_for("background") => answer.note(Text::own("started")),
        Some("async_launched") => answer.note(Text::own("started in the background")),
        Some(state) => answer.note(Text::clean(&state.replace('_', " "))),
    }
    if context.is("interrupted") {
        answer.trouble(Text::own("interrupted"));
    }
    if let Some(url) = context.text("url") {
        answer
            .body
            .push(Block::line(Line { spans: vec![Span::new("result.link", url.clone()).linked(url)] }));
    }
    if let Some(number) = context.count("tool_uses") {
        answer.note(figures::count_of(number, "tool", "tools"));
    }
    if let Some(number) = context.count("tokens") {
        answer.note(Text::clean_owned(format!("{} tokens", &*figures::tokens(number))));
    }
    if let Some(ms) = context.count("duration_ms") {
        answer.note(figures::duration(ms));
    }
    let told = context.text("answer").map(Text::trimmed_end).filter(|text| !text.is_empty());
    let text = answer.text();
    if context.is("repeated") && !answer.title.is_empty() {
        // It stands right above: the sub-agent's last reply.
        return if context.full { Some(answer.finish_but_for(&told.unwrap_or(text))) } else { answer.done() };
    }
    match told {
        // The text often holds the answer and bookkeeping after it.
        Some(told) if context.full && holds(&text, &told) => {
            answer.body.push(Block::prose("result.answer", text));
        }
        Some(told) => answer.body.push(Block::prose("result.answer", told)),
        None if (is_done || context.full) && !text.is_empty() => {
            answer.body.push(Block::prose("result.answer", text));
        }
        None => {}
    }
    answer.done()
}

/// A list of things to do was written: the list itself was said.
pub(crate) fn todos(answer: &mut ResultContext<'_>) -> Option<View> {
    let text = answer.text();
    if text.is_empty() && !answer.context.full {
        return None;
    }
    answer.code("result.text", text);
    answer.done()
}

/// What is known of tasks: one, all, or how it went.
pub(crate) fn tasks(answer: &mut ResultContext<'_>) -> Option<View> {
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
        // The call said it.
        return None;
    }
    let written = answer.text();
    let listed = written.find("[{").and_then(|at| Some(Record::read(&written[at..]).ok()?.0));
    let all = all.or_else(|| Some(FactRef::Json(listed.as_ref()?.root())));
    let items = all.map(|all| points(all, context.full)).unwrap_or_default();
    if !items.is_empty() {
        answer.note(figures::count_of(items.len() as u64, "task", "tasks"));
        // The list follows as a plan.
        if context.full {
            answer.body.push(Block::List { items });
        }
    }
    if answer.title.is_empty() {
        say_text(answer);
    }
    answer.done()
}

/// Points of a plan or list of tasks.
pub(crate) fn points(todos: FactRef<'_>, full: bool) -> Vec<ListItem> {
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
        if let (false, Some(status)) = (known, &status) {
            line.push("plan.note", format!("({status})"));
        }
        if let Some(owner) = todo.text_at("owner").filter(|owner| !owner.is_empty()) {
            line.push("plan.note", format!("({})", &*owner));
        }
        let before = todo.get("blocked_by").map(FactRef::list).unwrap_or_default();
        let before: Vec<_> =
            before.into_iter().filter_map(FactRef::words).map(|id| format!("#{}", &*id)).collect();
        if !before.is_empty() {
            line.push("plan.note", format!("(blocked by {})", before.join(", ")));
        }
        if let Some(active) = todo.text_at("active").filter(|_| full) {
            line.push("plan.note", format!("({})", &*active));
        }
        ListItem { point, line }
    };
    todos.list().into_iter().map(point).collect()
}

pub(crate) fn plan_mode(answer: &mut ResultContext<'_>) -> Option<View> {
    let context = answer.context;
    if context.fact("plan").is_none() {
        if context.full {
            return answer.done();
        }
        if !context.is("approved") && !context.is_apart && answer.call.is_some() {
            // The call said that plan mode begins.
            return None;
        }
        answer.note(Text::own(if context.is("approved") { "plan approved" } else { "plan mode" }));
        return answer.done();
    }
    answer.note(Text::own("plan approved"));
    if let Some(path) = context.text("path") {
        answer.note(context.path(path));
    }
    // The call said the plan as it was proposed. The agent tells of changes where there are none, too.
    let asked = answer.call.and_then(|call| call.does().text("plan"));
    let plan = context.text("plan").filter(|_| context.is("user_modified"));
    if let Some(plan) = plan.filter(|plan| asked.as_ref() != Some(plan)) {
        answer.by_the_user();
        answer.body.push(Block::prose("plan", plan));
    }
    answer.done()
}

pub(crate) fn ask(answer: &mut ResultContext<'_>) -> Option<View> {
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
        say_text(answer);
    } else {
        answer.body.push(Block::List { items });
    }
    answer.done()
}

pub(crate) fn skill(answer: &mut ResultContext<'_>) -> Option<View> {
    let text = answer.text();
    if !answer.context.full && text.is_empty() {
        return None;
    }
    say_text(answer);
    answer.done()
}

pub(crate) fn find_tools(answer: &mut ResultContext<'_>) -> Option<View> {
    let names: Vec<_> = answer.context.fact("matches").map(FactRef::list).unwrap_or_default();
    let number = names.len() as u64;
    if number == 0 {
        say_text(answer);
        return answer.done();
    }
    answer.note(figures::count_of(number, "tool", "tools"));
    let names: Vec<_> = names.into_iter().filter_map(FactRef::text).map(Text::into_string).collect();
    answer.code("result.text", Text::clean_owned(names.join("\n")));
    answer.done()
}

/// A status as words: `in progress`.
fn spaced(status: &str) -> Text {
    Text::clean_owned(status.replace('_', " "))
}
