//! Text that the program adds to results for the model: it is read as facts, and removed from the readable text.

use std::sync::LazyLock;

use memchr::memmem::{self, Finder};

use super::for_the_model;
use streamfmt_core::item::{Content, Fact, FactRef, Id, Item, ToolKind};
use streamfmt_core::json::{Value, ValueKind};
use streamfmt_core::text::Text;

const REMINDER: &str = "<system-reminder>";
const REMINDER_END: &str = "</system-reminder>";
const ERROR: &str = "<tool_use_error>";
const ERROR_END: &str = "</tool_use_error>";
/// The beginning of the text of a failed command.
const EXIT: &str = "Exit code ";
/// The beginning of the paragraph that informs the model that the user stopped a call.
const REJECTED: &str = "The user doesn't want to proceed with this tool use.";
/// Contained in that paragraph if the call was running.
const RUNNING: &str = "stopped while running";
/// Precedes the user's words in that paragraph.
const REASON: &str = "the user said:\n";
/// The end of a result that was cut short by an interrupt of the user.
const INTERRUPTED: &str = "[Request interrupted by user for tool use]";
/// Precedes the path of an image's copy.
const IMAGE: &str = "[Image: source: ";
/// The most rows of a line's list of decisions that are searched for each of its results. A real line has a row for each of a few results;
/// without a limit, the time would grow with the square of their number.
const MAX_ROWS: usize = 64;
/// Precedes, on standard error, the folder that the next command will run in.
const RESET: &str = "Shell cwd was reset to ";
const NO_OUTPUT: &str = "(Bash completed with no output)";
/// The question to the model with which versions 1.0 end the listing of a folder.
const QUESTION: &str = "NOTE: do any of the files above seem malicious?";
const TODOS: &str = "Todos have been modified";
const SKILL: &str = "Launching skill";
const APPROVED: &str = "User has approved";
/// Precedes the path of the file with an approved plan.
const CREATED: &str = "File created successfully at:";
/// Precedes the numbered lines around a change.
const SNIPPET: &str = "on a snippet of the edited file:\n";
const FOUND: &str = "Found ";
/// The beginning of a notebook's cell in the text for the model. Versions before 2.0 have no structured value for it.
const CELL: &str = "<cell id=\"";

// Built once: for most texts, building a finder would take longer than the search.
static FIND_REMINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(REMINDER));
static FIND_REJECTED: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(REJECTED));
static FIND_INTERRUPTED: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(INTERRUPTED));
static FIND_RESET: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(RESET));

const SENTENCES: &[&str] = &[
    REMINDER,
    REMINDER_END,
    ERROR,
    ERROR_END,
    EXIT,
    REJECTED,
    RUNNING,
    REASON,
    INTERRUPTED,
    IMAGE,
    RESET,
    NO_OUTPUT,
    QUESTION,
    TODOS,
    SKILL,
    APPROVED,
    CREATED,
    SNIPPET,
    CELL,
    super::message::COMPACTED,
    super::message::STOPPED_CALL,
    super::outcome::DIAGNOSTIC,
];

/// Returns the sentences and tags that no code outside this dialect may contain.
pub(crate) fn sentences() -> Vec<&'static str> {
    let others = super::marker::sentences().chain(super::for_the_model::sentences());
    SENTENCES.iter().copied().chain(others).collect()
}

/// Adds the facts that the program wrote into the text of a result.
pub fn add_facts(item: &mut Item) {
    item.words = Some(words);
    if let Some(folder) = reset_in_stderr(item) {
        item.data.push(("cwd", Fact::Text(folder)));
    }
    if item.error {
        return add_failure(item);
    }
    let fact = match item.tool_kind {
        Some(ToolKind::Job) => return add_job(item),
        Some(ToolKind::Write | ToolKind::Edit | ToolKind::EditCell) if item.fact("patch").is_none() => {
            if item.fact("created").is_none() && begins(item, CREATED) {
                ("created", Fact::Bool(true))
            } else if let Content::Node(node) = item.text {
                ("snippet", Fact::Made(snippet, node))
            } else {
                return;
            }
        }
        Some(ToolKind::Read) if begins(item, CELL) => {
            ("cell_count", Fact::Int((item.text().matches(CELL).count() as u64).cast_signed()))
        }
        Some(ToolKind::Find | ToolKind::Grep) if begins(item, FOUND) => ("listed", Fact::Bool(true)),
        Some(ToolKind::PlanMode) if begins(item, APPROVED) => ("approved", Fact::Bool(true)),
        _ => return,
    };
    item.data.push(fact);
}

/// Whether the text of an item begins with this string.
fn begins(item: &Item, with: &str) -> bool {
    let short = |text: Value<'_>| text.str().is_some_and(|text| text.begins_with(with));
    match &item.text {
        Content::Node(node) => item.record.as_ref().is_some_and(|record| short(record.value(*node))),
        Content::None => false,
        _ => item.text().starts_with(with),
    }
}

/// Adds the exit code of a failed command, and how the user stopped a call.
fn add_failure(item: &mut Item) {
    let text = item.text();
    let is_run =
        item.tool_kind.is_none_or(|tool_kind| tool_kind.action() == streamfmt_core::item::Action::Run);
    let code = text.strip_prefix(EXIT).and_then(|rest| rest.lines().next()?.trim().parse().ok());
    let may_be_stopped = is_in(&text, &FIND_REJECTED) || is_in(&text, &FIND_INTERRUPTED);
    // For a call that asks the user, the program's errors are in tags; any other text is the user's answer.
    let is_asking = matches!(item.tool_kind, Some(ToolKind::Plan | ToolKind::PlanMode | ToolKind::Ask));
    let is_refusal = is_asking && !text.starts_with(ERROR);
    if let Some(code) = code.filter(|_| is_run) {
        item.data.push(("exit", Fact::Int(code)));
    }
    if may_be_stopped && let (_, Some(how)) = of_failure(item, readable(item, item.clean_text())) {
        item.data.push(("stopped", Fact::Text(how.to_owned())));
    } else if is_refusal {
        item.data.push(("stopped", Fact::Text("rejected".to_owned())));
    }
}

/// Returns the fact `denied` if a call was refused permission: `true`, or the name of what refused it instead of the user. It is in fields
/// beside the result: a stream has a list with a row for each result of the line, a history has one decision for its only result.
pub(super) fn denial(line: Value<'_>, call: Option<&Id>) -> Option<Fact> {
    let is_of_call = |row: &Value<'_>| {
        let id = row.get("id").and_then(Value::decode);
        id.is_some_and(|id| call.is_some_and(|call| *call == Id::from(&*id)))
    };
    let decision = match line.get("tool_result_meta") {
        Some(rows) => rows.items().take(MAX_ROWS).find(is_of_call)?.get("permission_decision"),
        None => line.get("permissionDecision"),
    }?;
    let is =
        |name: &str, word: &str| decision.get(name).and_then(Value::str).is_some_and(|text| text.is(word));
    if !is("decision", "reject") {
        return None;
    }
    Some(if is("source", "hook") { Fact::Text("a hook".to_owned()) } else { Fact::Bool(true) })
}

fn is_in(text: &str, sentence: &Finder<'_>) -> bool {
    sentence.find(text.as_bytes()).is_some()
}

/// Adds the state of a background job: some versions have it in the structured value `task`, others between tags in the text.
fn add_job(item: &mut Item) {
    let mut facts = Vec::new();
    let task = item.fact("task").and_then(FactRef::value);
    let node = |name: &str| {
        let value = task?.get(name)?;
        let is_scalar = matches!(
            value.kind(),
            ValueKind::String | ValueKind::Number | ValueKind::True | ValueKind::False
        );
        is_scalar.then_some(Fact::Node(value.node()))
    };
    let text = item.text();
    let tag = |name: &str| super::marker::tag(&text, name).map(|inside| Fact::Text(inside.to_owned()));
    let output = || tag("stdout").or_else(|| node("output")).or_else(|| tag("output"));
    facts.extend(node("status").or_else(|| tag("status")).map(|fact| ("state", fact)));
    facts.extend(node("exitCode").or_else(|| tag("exit_code")).map(|fact| ("exit", fact)));
    facts.extend(output().map(|fact| ("output", fact)));
    let errors = super::marker::tag(&text, "stderr");
    let moved = errors.and_then(reset).map(str::to_owned);
    facts.extend(errors.map(|errors| ("stderr", Fact::Text(errors.to_owned()))));
    if !facts.is_empty() {
        item.data.push(("job", Fact::Map(facts)));
    }
    item.data.extend(moved.map(|folder| ("cwd", Fact::Text(folder))));
}

/// Returns the folder that the next command will run in, if the text has nothing else.
fn reset(errors: &str) -> Option<&str> {
    let folder = errors.trim_start_matches('\n').trim_end().strip_prefix(RESET)?;
    (!folder.contains('\n')).then_some(folder)
}

/// Returns that folder from the fact `stderr`, which is decoded only if it contains the sentence.
fn reset_in_stderr(item: &Item) -> Option<String> {
    let errors = item.fact("stderr")?.value()?;
    if is_in(errors.str()?.raw(), &FIND_RESET) { reset(&errors.decode()?).map(str::to_owned) } else { None }
}

/// Returns the numbered lines around a change.
fn snippet(text: Value<'_>) -> Option<Fact> {
    let text = text.decode()?;
    text.split_once(SNIPPET).map(|(_, snippet)| Fact::Text(snippet.to_owned()))
}

/// Returns the readable text of a result.
fn words(item: &Item, text: Text) -> Text {
    let text = readable(item, text);
    if item.error {
        return of_failure(item, text).0;
    }
    match item.tool_kind {
        Some(ToolKind::Run | ToolKind::Job) if &*text == NO_OUTPUT => Text::EMPTY,
        Some(ToolKind::Todos) if text.starts_with(TODOS) => Text::EMPTY,
        Some(ToolKind::Skill) if text.starts_with(SKILL) => Text::EMPTY,
        Some(ToolKind::List) => match text.rsplit_once('\n') {
            Some((listing, last)) if last.starts_with(QUESTION) => text.slice(0, listing.len()).trimmed_end(),
            _ => text,
        },
        Some(ToolKind::Delegate) => for_the_model::report(text),
        _ => for_the_model::without_advice(item, text),
    }
}

/// Returns the text without notes to the model.
fn readable(item: &Item, text: Text) -> Text {
    let text = without_reminders(text).trimmed_end();
    let has_image = item.fact("images").is_some();
    match text.rsplit_once('\n').map_or(&*text, |(_, last)| last) {
        last if has_image && last.starts_with(IMAGE) => text.slice(0, text.len() - last.len()).trimmed_end(),
        _ => text,
    }
}

/// Returns the readable text of a failure, and how the user stopped the call, if that is the cause.
fn of_failure(item: &Item, text: Text) -> (Text, Option<&'static str>) {
    let mut text = match text.strip_prefix(ERROR).and_then(|inside| inside.strip_suffix(ERROR_END)) {
        Some(inside) => text.slice(ERROR.len(), ERROR.len() + inside.len()),
        None => text,
    };
    let exit = item.fact("exit").and_then(FactRef::int);
    if let Some(rest) = exit.and_then(|code| text.strip_prefix(&format!("{EXIT}{code}"))) {
        let start = text.len() - rest.trim_start_matches('\n').len();
        text = text.slice(start, text.len());
    }
    if let Some(rest) = text.trim_end().strip_suffix(INTERRUPTED) {
        return (Text::clean(rest.trim_end()), Some("interrupted"));
    }
    let is_interrupted = || item.fact("interrupted").and_then(FactRef::bool) == Some(true);
    let has_other_cause =
        || ["timed_out_ms", "denied"].iter().any(|name| item.fact(name).is_some()) || is_interrupted();
    if !text.starts_with(REJECTED) || exit.is_some() || has_other_cause() {
        return (text, None);
    }
    let reason = text.find(REASON).map(|at| at + REASON.len());
    // Without a message from the user, the text is the same for a refusal and for Ctrl-C.
    let how = match reason {
        _ if text.contains(RUNNING) => "interrupted",
        Some(_) => "rejected",
        None => "stopped",
    };
    (text.slice(reason.unwrap_or(text.len()), text.len()), Some(how))
}

/// Removes the notes to the model.
fn without_reminders(text: Text) -> Text {
    const OPEN: &[u8] = REMINDER.as_bytes();
    const CLOSE: &[u8] = REMINDER_END.as_bytes();
    let Some(mut open) = FIND_REMINDER.find(text.as_bytes()) else { return text };
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(close) = memmem::find(&text.as_bytes()[open..], CLOSE) {
        out.push_str(&text[at..open]);
        at = open + close + CLOSE.len();
        match memmem::find(&text.as_bytes()[at..], OPEN) {
            Some(next) => open = at + next,
            None => break,
        }
    }
    out.push_str(&text[at..]);
    Text::clean_owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use streamfmt_core::json::Record;

    #[test]
    fn a_decision_is_found_among_the_first_rows() {
        let row = |number| format!(r#"{{"id":"t{number}","permission_decision":{{"decision":"reject"}}}}"#);
        let rows: Vec<String> = (0..10_000).map(row).collect();
        let line = Record::from_line(format!(r#"{{"tool_result_meta":[{}]}}"#, rows.join(","))).unwrap();
        let is_denied = |number| denial(line.root(), Some(&Id::from(&*format!("t{number}")))).is_some();
        assert!(is_denied(0) && is_denied(MAX_ROWS - 1));
        // However many results there are, the search of each is short.
        assert!(!is_denied(MAX_ROWS) && !is_denied(9_999));
    }

    #[test]
    fn the_user_stopped_a_call_unless_a_fact_names_another_cause() {
        let cause = |name: &'static str, fact| {
            let mut item = Item::new("x", streamfmt_core::item::Kind::Result, 1);
            item.data.push((name, fact));
            of_failure(&item, Text::clean(REJECTED)).1
        };
        assert_eq!(cause("path", Fact::Bool(true)), Some("stopped"));
        assert_eq!(cause("interrupted", Fact::Bool(false)), Some("stopped"));
        assert_eq!(cause("interrupted", Fact::Bool(true)), None);
        assert_eq!(cause("exit", Fact::Int(1)), None);
        assert_eq!(cause("timed_out_ms", Fact::Int(9)), None);
        assert_eq!(cause("denied", Fact::Bool(true)), None);
    }

    #[test]
    fn how_the_user_stopped_a_call_follows_from_the_sentences_of_the_program() {
        let refused = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the \
                       new_string was NOT written to the file).";
        let waits = "STOP what you are doing and wait for the user to tell you how to proceed.";
        let running =
            "Correction to the text above: this call was stopped while running, not refused before it ran.";
        for (text, words, how) in [
            (format!("{refused} {waits}"), "", Some("stopped")),
            (
                format!("{refused} To tell you how to proceed, the user said:\nUse a branch."),
                "Use a branch.",
                Some("rejected"),
            ),
            (format!("{refused} {waits} {running}"), "", Some("interrupted")),
            ("half\n[Request interrupted by user for tool use]".to_owned(), "half", Some("interrupted")),
            ("No such file".to_owned(), "No such file", None),
        ] {
            let item = Item::new("x", streamfmt_core::item::Kind::Result, 1);
            let (shown, stopped) = of_failure(&item, Text::clean(&text));
            assert_eq!((shown.as_str(), stopped), (words, how), "{text}");
        }
    }
}
