//! Formats the outcome of a run.

use crate::context::ItemContext;
use crate::generic;
use crate::sentence::{first_sentence, in_words, without_brackets, without_json};
use streamfmt_core::entry::{Block, Line, View};
use streamfmt_core::figures;
use streamfmt_core::item::FactRef;
use streamfmt_core::item::Status;
use streamfmt_core::text::Text;

/// Returns the view of an outcome. Unknown figures are left out, never shown as 0.
pub(super) fn view(context: ItemContext<'_>) -> View {
    let is_failed = context.item.error || context.item.status == Status::Failed;
    let (mark, role) =
        if is_failed { ("outcome-error", "outcome.error") } else { ("outcome-ok", "outcome.ok") };
    let mut reason = if is_failed { Reason::of(context) } else { Reason::default() };
    let mut title =
        Line::of(role, if is_failed { why(context, reason.sentence.take()) } else { Text::own("done") });
    if let Some(turns) = context.count("turns") {
        let shown = figures::count_of(turns, "turn", "turns");
        let is_of_turn = context.fact("turn").is_none_or(|turn| turn.get("turns").is_some());
        figure(&mut title, if is_of_turn { shown } else { Text::clean_owned(format!("{} so far", &*shown)) });
    }
    if let Some(ms) = context.count("duration_ms") {
        figure(&mut title, figures::duration(ms));
    }
    if !push_cost(context, &mut title) && !context.full {
        // In full, the counts follow in the body.
        push_tokens(context, &mut title);
    }
    let denials = context.list("denials");
    // Each failure is shown where it happened. In full, the denied calls are listed below.
    let denied = if context.full { 0 } else { denials.len() as u64 };
    if let [Some(added), Some(removed)] = ["added", "removed"].map(|name| context.count(name))
        && added.max(removed) > 0
    {
        dot(&mut title);
        title.push("change.add", format!("+{}", &*figures::count(added)));
        title.push("change.remove", format!("−{}", &*figures::count(removed)));
    }
    if let Some(failed) = failures(context.count("failed_calls").unwrap_or(0), denied) {
        warning(&mut title, failed);
    }
    let mut view = View::titled(mark, title);
    let text = if reason.is_text { reason.rest.clone() } else { context.item.clean_text() };
    let structured = context.fact("structured").and_then(FactRef::value);
    if let Some(answer) = structured.filter(|_| !is_failed && !context.is("structured_repeated")) {
        view.body.push(json(Text::clean(answer.raw()), "reply"));
    }
    if !context.is("repeated") && !text.trim().is_empty() {
        let role = match (is_failed, reason.is_text) {
            (true, true) => "outcome.note",
            (true, false) => "outcome.error",
            (false, _) => "reply",
        };
        // A structured answer is data, not Markdown.
        let is_json = text.trim_start().starts_with(['{', '[']);
        view.body.push(if is_json { json(text, role) } else { Block::prose(role, text) });
    }
    let odd = context.list("more").into_iter().filter_map(FactRef::value);
    view.body.extend(odd.map(|value| Block::text("reply", generic::laid_out(value, false))));
    let mut lines = Vec::new();
    for (index, error) in problems(context).into_iter().enumerate() {
        let (role, error) = if reason.is_error && index == 0 {
            ("outcome.note", reason.rest.clone())
        } else {
            (reason.role_of_others(), error)
        };
        if error.trim().is_empty() {
            continue;
        }
        if error.contains('\n') {
            view.body.push(Block::text(role, error.trimmed_end()));
        } else {
            lines.push(Line::of(role, error));
        }
    }
    for denial in denials.into_iter().filter(|_| context.full) {
        let name = denial.text_at("call").and_then(|call| context.tool_name(&call));
        let tool = name.or_else(|| denial.text_at("tool")).unwrap_or(Text::own("a call"));
        lines.push(Line::of("notice.warning", "denied").with("tool.name", tool));
    }
    if context.whole {
        accounts(context, &mut lines);
    }
    if !lines.is_empty() {
        view.body.push(Block::Lines { lines });
    }
    view
}

/// Returns the block of an answer in JSON.
pub(super) fn json(text: Text, role: &'static str) -> Block {
    Block::Code { text: text.trimmed_end(), lang: Some(Text::own("json")), start: None, role: role.into() }
}

/// Returns the view of a run's totals over all its turns: `6 prompts · 30 turns · 6.0s · $0.0856 · 2 of 18 calls failed`.
pub(super) fn totals(context: ItemContext<'_>) -> View {
    let mut title = Line::default();
    for (name, one, many) in [("prompts", "prompt", "prompts"), ("turns", "turn", "turns")] {
        if let Some(count) = context.count(name) {
            figure(&mut title, figures::count_of(count, one, many));
        }
    }
    if let Some(ms) = context.count("duration_ms") {
        figure(&mut title, figures::duration(ms));
    }
    if !push_cost(context, &mut title) {
        push_tokens(context, &mut title);
    }
    let calls = context.count("call_count").filter(|count| *count > 0);
    let calls = calls.map(|count| figures::count_of(count, "call", "calls"));
    match (calls, context.count("failed_calls").filter(|failed| *failed > 0)) {
        (Some(calls), Some(failed)) => {
            warning(&mut title, format!("{} of {} failed", &*figures::count(failed), &*calls));
        }
        (Some(calls), None) => figure(&mut title, calls),
        (None, _) => {}
    }
    if title.is_empty() {
        title.push("outcome.figure", Text::own("totals"));
    }
    View::titled("totals", title)
}

/// Adds the cost of the turn, and that of all turns so far if it is higher. Returns whether there is one.
fn push_cost(context: ItemContext<'_>, title: &mut Line) -> bool {
    let Some(all) = context.fact("cost_usd").and_then(FactRef::float) else { return false };
    let turn = context.fact("turn").and_then(|turn| turn.get("cost_usd")).and_then(FactRef::float);
    push_of_all(turn, all, figures::money, title)
}

/// Adds the number of tokens, in the same way.
fn push_tokens(context: ItemContext<'_>, title: &mut Line) {
    let spent = |used: FactRef<'_>| {
        let counts = ["input", "output"].into_iter().filter_map(|name| used.count_at(name));
        counts.fold(0, u64::saturating_add)
    };
    let all = context.fact("usage").map_or(0, spent);
    if all > 0 {
        let turn = context.fact("turn").and_then(|turn| turn.get("usage")).map(spent);
        let shown = |tokens| Some(Text::clean_owned(format!("{} tokens", &*figures::tokens(tokens))));
        push_of_all(turn, all, shown, title);
    }
}

/// Adds a figure of a turn, unless it is 0, and that of all turns so far if it is larger as shown: `$0.0334 · $0.0492 so far`. Returns
/// whether a figure was added.
fn push_of_all<T: Copy + Default + PartialOrd>(
    turn: Option<T>,
    all: T,
    shown: impl Fn(T) -> Option<Text>,
    title: &mut Line,
) -> bool {
    let Some(so_far) = shown(all) else { return false };
    let turn =
        turn.filter(|turn| *turn < all).map(|turn| (turn > T::default()).then(|| shown(turn)).flatten());
    match turn.filter(|turn| turn.as_ref() != Some(&so_far)) {
        None => figure(title, so_far),
        Some(turn) => {
            if let Some(turn) = turn {
                figure(title, turn);
            }
            dot(title);
            title.push("outcome.note", format!("{} so far", &*so_far));
        }
    }
    true
}

/// Returns a phrase for the number of failed calls, and how many of them were denied.
fn failures(failed: u64, denied: u64) -> Option<String> {
    let calls = || figures::count_of(failed, "call", "calls");
    match (failed > denied, denied) {
        (true, 0) => Some(format!("{} failed", &*calls())),
        (true, _) => Some(format!("{} failed, {} of them denied", &*calls(), &*figures::count(denied))),
        (false, 0) => None,
        (false, _) => Some(format!("{} denied", &*figures::count(denied))),
    }
}

fn warning(title: &mut Line, text: String) {
    dot(title);
    title.push("outcome.warning", text);
}

fn figure(title: &mut Line, text: Text) {
    dot(title);
    title.push("outcome.figure", text);
}

fn dot(title: &mut Line) {
    if !title.is_empty() {
        title.push("outcome.note", Text::own("·"));
    }
}

/// Returns the errors to show.
fn problems(context: ItemContext<'_>) -> Vec<Text> {
    let problems = context.fact("problems").filter(|_| !context.full).or_else(|| context.fact("errors"));
    let errors = problems.map(FactRef::list).unwrap_or_default();
    errors.into_iter().filter_map(FactRef::words).filter(|error| !error.trim().is_empty()).collect()
}

/// The reason of a failure, from the text or the errors of an outcome.
#[derive(Default)]
struct Reason {
    /// Its first sentence, unless the cause is known.
    sentence: Option<Text>,
    /// The rest of the text or error after the sentence.
    rest: Text,
    /// Whether it comes from the outcome's text.
    is_text: bool,
    /// Whether it comes from the first of the errors.
    is_error: bool,
    /// Whether the cause is known, so that no reason is needed.
    is_known: bool,
}

impl Reason {
    fn of(context: ItemContext<'_>) -> Self {
        if known_cause(context).is_some() {
            return Self { is_known: true, ..Self::default() };
        }
        let text = context.item.clean_text();
        // Repeated text was shown with its brackets.
        let text = if context.is("repeated") { text } else { without_brackets(text) };
        let is_answer = text.trim_start().starts_with(['{', '[']);
        if let (false, Some((sentence, rest))) = (is_answer, first_sentence(&without_json(text))) {
            return Self { sentence: Some(sentence), rest, is_text: true, ..Self::default() };
        }
        match problems(context).into_iter().next().and_then(|error| first_sentence(&without_json(error))) {
            Some((sentence, rest)) => {
                Self { sentence: Some(sentence), rest, is_error: true, ..Self::default() }
            }
            None => Self::default(),
        }
    }

    /// Returns the role of other errors.
    fn role_of_others(&self) -> &'static str {
        if self.is_known { "outcome.note" } else { "outcome.error" }
    }
}

/// Returns a phrase for the cause of a run's early end, if it is a known one.
fn known_cause(context: ItemContext<'_>) -> Option<&'static str> {
    let cause = context.fact("cause").and_then(FactRef::str);
    match cause.as_deref() {
        Some("interrupted") => Some("interrupted"),
        _ if context.is("interrupted") => Some("interrupted"),
        Some("turns") => Some("stopped: too many turns"),
        Some("budget") => Some("stopped: over budget"),
        Some("blocked") => Some("blocked by a hook"),
        Some("structure") => Some("failed: no valid structured output"),
        _ => None,
    }
}

/// Returns a phrase for a failure: its known cause, or else the first sentence of its reason.
fn why(context: ItemContext<'_>, sentence: Option<Text>) -> Text {
    if let Some(cause) = known_cause(context) {
        return Text::own(cause);
    }
    let cause = context.fact("cause").and_then(FactRef::str);
    let subtype = context.fact("subtype").and_then(FactRef::str);
    let failed = match (cause.as_deref(), subtype.as_deref()) {
        (Some("running"), _) => "failed while running".to_owned(),
        (_, None | Some("success" | "error")) => "failed".to_owned(),
        (_, Some(other)) => format!("failed: {}", in_words(other, &['_'])),
    };
    Text::clean_owned(match sentence {
        Some(sentence) => format!("{failed}: {}", sentence.trim_end_matches('.')),
        None => failed,
    })
}

/// Adds lines for the reason, the time spent waiting for the model, the tokens, and the usage of each model.
fn accounts(context: ItemContext<'_>, lines: &mut Vec<Line>) {
    let fact_line =
        |name: &'static str| Some(Line::of("outcome.note", name).with("outcome.figure", context.text(name)?));
    // For a successful run, these add nothing to its title.
    if context.full || context.item.error {
        lines.extend(["subtype", "reason"].into_iter().filter_map(fact_line));
    }
    if let Some(ms) = context.count("api_ms") {
        lines.push(
            Line::of("outcome.note", "waiting for the model").with("outcome.figure", figures::duration(ms)),
        );
    }
    if let Some(usage) = context.fact("usage") {
        let mut line = Line::of("outcome.note", "tokens");
        tokens(usage, &mut line);
        if line.spans().len() > 1 {
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

/// Adds a dot before a figure, unless it is the first of the line.
fn separate(line: &mut Line) {
    if line.spans().len() > 1 {
        line.push("outcome.note", Text::own("·"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_and_denied_calls_are_counted_in_few_words() {
        for (failed, denied, words) in [
            (0, 0, None),
            (1, 0, Some("1 call failed")),
            (2, 0, Some("2 calls failed")),
            (0, 1, Some("1 denied")),
            (1, 1, Some("1 denied")),
            (1, 2, Some("2 denied")),
            (2, 1, Some("2 calls failed, 1 of them denied")),
        ] {
            assert_eq!(failures(failed, denied).as_deref(), words, "{failed} failed, {denied} denied");
        }
    }
}
