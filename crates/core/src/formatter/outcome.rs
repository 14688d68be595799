//! What is said of how a run ended.

use crate::entry::{Block, Line, View};
use crate::formatter::standard::ItemContext;
use crate::formatter::{figures, generic};
use crate::item::FactRef;
use crate::item::Status;
use crate::text::Text;

/// Says an outcome: figures that aren't known are left out, never taken for 0.
pub(super) fn view(context: ItemContext<'_>) -> View {
    let is_failed = context.item.error || context.item.status == Status::Failed;
    let (mark, role) =
        if is_failed { ("outcome-error", "outcome.error") } else { ("outcome-ok", "outcome.ok") };
    let mut title = Line::of(role, if is_failed { why(context) } else { Text::own("done") });
    if let Some(turns) = context.count("turns") {
        figure(&mut title, figures::count_of(turns, "turn", "turns"));
    }
    if let Some(ms) = context.count("duration_ms") {
        figure(&mut title, figures::duration(ms));
    }
    if let Some(cost) = context.fact("cost_usd").and_then(FactRef::float).and_then(figures::money) {
        figure(&mut title, cost);
    } else if let Some(tokens) = tokens_used(context).filter(|_| !context.full) {
        // In full they follow one by one.
        figure(&mut title, tokens);
    }
    let denials = context.fact("denials").map(FactRef::list).unwrap_or_default();
    // Each was told where it happened.
    if !denials.is_empty() && !context.full {
        title.push("outcome.note", Text::own("·"));
        title.push("outcome.warning", format!("{} denied", &*figures::count(denials.len() as u64)));
    }
    let mut view = View::titled(mark, title);
    let text = context.item.clean_text();
    if !context.is("repeated") && !text.trim().is_empty() {
        let role = if is_failed { "outcome.error" } else { "reply" };
        // A structured answer is data, not Markdown.
        view.body.push(if text.trim_start().starts_with(['{', '[']) {
            Block::Code {
                text: text.trimmed_end(),
                lang: Some(Text::own("json")),
                start: None,
                role: role.into(),
            }
        } else {
            Block::prose(role, text)
        });
    }
    for odd in context.fact("more").map(FactRef::list).unwrap_or_default() {
        if let FactRef::Json(value) = odd {
            view.body.push(Block::text("reply", generic::laid_out(value, false)));
        }
    }
    let mut lines = Vec::new();
    let problems = context.fact("problems").filter(|_| !context.full).or_else(|| context.fact("errors"));
    for error in problems.map(FactRef::list).unwrap_or_default() {
        if let Some(error) = error.words().filter(|error| !error.trim().is_empty()) {
            if error.contains('\n') {
                view.body.push(Block::text("outcome.error", error.trimmed_end()));
            } else {
                lines.push(Line::of("outcome.error", error));
            }
        }
    }
    for denial in denials.into_iter().filter(|_| context.full) {
        let tool = denial.text_at("tool").unwrap_or(Text::own("a call"));
        lines.push(Line::of("notice.warning", "denied").with("tool.name", tool));
    }
    if context.full {
        accounts(context, &mut lines);
    }
    if !lines.is_empty() {
        view.body.push(Block::Lines { lines });
    }
    view
}

/// The tokens that were used, if no price says what it took.
pub(super) fn tokens_used(context: ItemContext<'_>) -> Option<Text> {
    let used = context.fact("usage").filter(|_| context.fact("cost_usd").is_none())?;
    let tokens = ["input", "output"].iter().filter_map(|name| used.count_at(name));
    let tokens = tokens.fold(0, u64::saturating_add);
    (tokens > 0).then(|| Text::clean_owned(format!("{} tokens", &*figures::tokens(tokens))))
}

fn figure(title: &mut Line, text: Text) {
    title.push("outcome.note", Text::own("·"));
    title.push("outcome.figure", text);
}

/// Why a run failed, in words.
fn why(context: ItemContext<'_>) -> Text {
    if context.is("interrupted") {
        return Text::own("interrupted");
    }
    let cause = context.fact("cause").and_then(FactRef::str);
    let subtype = context.fact("subtype").and_then(FactRef::str);
    Text::own(match cause.as_deref() {
        Some("interrupted") => "interrupted",
        Some("turns") => "stopped: too many turns",
        Some("budget") => "stopped: over budget",
        Some("structure") => "failed: no valid structured output",
        Some("running") => "failed while running",
        _ => match subtype.as_deref() {
            None | Some("success" | "error") => "failed",
            Some(other) => return Text::clean_owned(format!("failed: {}", other.replace('_', " "))),
        },
    })
}

/// Reason, time at the model, tokens, and what each model took.
fn accounts(context: ItemContext<'_>, lines: &mut Vec<Line>) {
    let told =
        |name: &'static str| Some(Line::of("outcome.note", name).with("outcome.figure", context.text(name)?));
    lines.extend(["subtype", "reason"].into_iter().filter_map(told));
    if let Some(ms) = context.count("api_ms") {
        lines.push(
            Line::of("outcome.note", "waiting for the model").with("outcome.figure", figures::duration(ms)),
        );
    }
    if let Some(usage) = context.fact("usage") {
        let mut line = Line::of("outcome.note", "tokens");
        tokens(usage, &mut line);
        if line.spans.len() > 1 {
            lines.push(line);
        }
    }
    let models = context.fact("models");
    let named = models.map(FactRef::parts).unwrap_or_default();
    let listed = models.map(FactRef::list).unwrap_or_default().into_iter();
    let listed = listed.map(|usage| (usage.text_at("model").unwrap_or_default(), usage));
    for (model, usage) in named.into_iter().chain(listed) {
        let mut line = Line::of("session.model", model);
        tokens(usage, &mut line);
        if let Some(cost) = usage.get("cost_usd").and_then(FactRef::float).and_then(figures::money) {
            separate(&mut line);
            line.push("outcome.figure", cost);
        }
        lines.push(line);
    }
}

fn tokens(usage: FactRef<'_>, line: &mut Line) {
    let names =
        [("input", "in"), ("output", "out"), ("cache_read", "from cache"), ("cache_write", "to cache")];
    for (name, word) in names {
        if let Some(number) = usage.count_at(name) {
            separate(line);
            line.push("outcome.figure", figures::count(number));
            line.push("outcome.note", word);
        }
    }
}

/// Parts a figure with its word from the one before.
fn separate(line: &mut Line) {
    if line.spans.len() > 1 {
        line.push("outcome.note", Text::own("·"));
    }
}
