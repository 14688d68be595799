//! A session file gives the same items as the stream of the same session.
//!
//! The same kinds, tools, arguments, texts, results and facts, in the same order, and the same ids where both have some. Differences
//! between the files themselves are listed here, as narrowly as possible; any other difference is a fault of a dialect. So is an unused
//! row.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::agents::{Scenario, scenarios};
use crate::{Form, form_of_agent, format};

/// The kinds of items to compare. Outcomes and notices are mostly about a run.
const KINDS: [&str; 5] = ["prompt", "reply", "thinking", "call", "result"];
/// The fields to compare.
const FIELDS: [&str; 11] =
    ["kind", "parent", "tool", "action", "does", "input", "text", "status", "error", "call", "id"];
/// Facts that each writer measures itself.
const MEASURED: [&str; 1] = ["took_ms"];

/// A difference between the files themselves.
struct Difference {
    agent: &'static str,
    /// The only scenario with this difference, or `""` for all.
    scenario: &'static str,
    is: Is,
    /// The reason, for readers.
    why: &'static str,
}

/// The kinds of difference.
enum Is {
    /// Only the session file has such an item.
    Kept(fn(&Value) -> bool),
    /// Only the stream has such an item.
    Streamed(fn(&Value) -> bool),
    /// A field or fact of an item; the function gets the stream's item first, then the session file's.
    Field(&'static str, fn(&Value, &Value) -> bool),
    /// The session is in the file with this name.
    In(&'static str),
    /// The session file begins with the last run.
    LastRun,
}

const fn of(agent: &'static str, scenario: &'static str, is: Is, why: &'static str) -> Difference {
    Difference { agent, scenario, is, why }
}

const DIFFERENCES: &[Difference] = &[
    of("gemini", "", Is::Kept(is_thought), "a stream has no thoughts"),
    of(
        "gemini",
        "",
        Is::Field("text", is_for_the_screen),
        "of what a tool returns, a stream has a line or nothing",
    ),
    of(
        "gemini",
        "",
        Is::Field("input", has_default_context),
        "the session file adds the default of an argument",
    ),
    of(
        "gemini",
        "",
        Is::Field("status", is_failed_command),
        "only the session file tells that a command failed",
    ),
    of(
        "gemini",
        "",
        Is::Field("error", is_failed_command),
        "only the session file tells that a command failed",
    ),
    of(
        "gemini",
        "markdown",
        Is::Field("text", lacks_line_feed),
        "the session file cuts the blanks around a reply",
    ),
    of("gemini", "interrupt", Is::Streamed(is_call), "the session file isn't written while a tool runs"),
    of(
        "gemini",
        "json-output",
        Is::Kept(|item| !is_reply_of(item, "One")),
        "the document on standard output is the last reply",
    ),
    of("opencode", "", Is::Kept(is_prompt), "a stream has no prompts"),
    of("opencode", "interrupt", Is::Kept(is_step), "the stream has a call with its result"),
    of("opencode", "no-thinking", Is::Kept(is_thought), "the stream has thoughts only if they are asked for"),
    of("pi", "interrupt", Is::Streamed(is_result), "the session file isn't written while a tool runs"),
    of("copilot", "", Is::Field("id", is_thinking), "only the stream has the id of a thought"),
    of(
        "copilot",
        "mcp",
        Is::Field("images", |_, _| true),
        "the session file leaves out the bytes of pictures",
    ),
    of("copilot", "interrupt", Is::Streamed(is_result), "the session file isn't written while a tool runs"),
    of("qwen", "", Is::Kept(is_prompt), "a stream has no prompts"),
    of("qwen", "", Is::Field("id", |live, _| !is_step(live)), "the ids of messages are drawn anew"),
    of("qwen", "", Is::Field("text", is_for_the_screen), "of what a search returns, the stream has a line"),
    of("qwen", "mcp", Is::Field("text", has_picture), "the stream has a line in place of a picture"),
    of("qwen", "api-400", Is::Streamed(is_api_error), "the stream has the error as a reply"),
    of("qwen", "api-500", Is::Streamed(is_api_error), "the stream has the error as a reply"),
    of("qwen", "stream-drop", Is::Streamed(is_before_retry), "what was said before a retry isn't kept"),
    of("qwen", "subagent", Is::In("session-2.jsonl"), "the other one is that of the agent's helper"),
    of("qwen", "subagent", Is::Streamed(is_below), "the steps of a helper are in a file of their own"),
    of("cline", "", Is::Kept(is_prompt), "a stream has no prompts"),
    of(
        "cline",
        "interrupt",
        Is::Field("text", |live, _| is_result(live)),
        "the session file has the words for the model",
    ),
    of(
        "cline",
        "interrupt",
        Is::Field("status", |live, _| is_result(live)),
        "the session file has a failure",
    ),
    of("cline", "interrupt", Is::Field("error", |live, _| is_result(live)), "the session file has a failure"),
    of("cline", "resume", Is::LastRun, "the messages of the first run are replaced by those of the second"),
    of("cline", "subagent", Is::Streamed(is_below), "the steps of a helper are in a file of their own"),
];

fn is_prompt(item: &Value) -> bool {
    item["kind"] == "prompt" && item["parent"].is_null()
}

fn is_thought(item: &Value) -> bool {
    item["kind"] == "thinking"
}

fn is_thinking(live: &Value, _: &Value) -> bool {
    is_thought(live)
}

fn is_before_retry(item: &Value) -> bool {
    is_thought(item) && text(item).ends_with("This stream will be cut.")
}

fn is_call(item: &Value) -> bool {
    item["kind"] == "call"
}

fn is_result(item: &Value) -> bool {
    item["kind"] == "result"
}

fn is_step(item: &Value) -> bool {
    is_call(item) || is_result(item)
}

fn is_below(item: &Value) -> bool {
    item["parent"].is_string()
}

fn is_reply_of(item: &Value, start: &str) -> bool {
    item["kind"] == "reply" && text(item).starts_with(start)
}

fn is_api_error(item: &Value) -> bool {
    is_reply_of(item, "[API Error: ")
}

/// A result that the stream lacks or shortens for display: a line with a count or an address.
fn is_for_the_screen(live: &Value, kept: &Value) -> bool {
    const LINES: [&str; 2] = ["Found ", "Search results for "];
    let shown = text(live);
    let is_line = !shown.contains('\n') && LINES.iter().any(|start| shown.starts_with(start));
    is_result(live) && (live["text"].is_null() || is_line) && !text(kept).is_empty()
}

fn has_default_context(live: &Value, kept: &Value) -> bool {
    let mut kept = kept["input"].clone();
    let removed = kept.as_object_mut().and_then(|input| input.remove("context"));
    live["tool"] == "grep_search" && removed.is_some() && kept == live["input"]
}

fn is_failed_command(live: &Value, kept: &Value) -> bool {
    is_result(live) && live["action"] == "run" && live["status"] == "done" && kept["status"] == "failed"
}

fn lacks_line_feed(live: &Value, kept: &Value) -> bool {
    live["kind"] == "reply" && text(live).trim_end() == text(kept)
}

fn has_picture(live: &Value, kept: &Value) -> bool {
    is_result(live) && text(live).strip_suffix("\n[image/png]") == Some(text(kept))
}

fn text(item: &Value) -> &str {
    item["text"].as_str().unwrap_or_default()
}

#[test]
fn a_session_file_has_the_items_of_its_stream() {
    let form = form_of_agent("items", "default");
    let (mut compared, mut used) = (BTreeSet::new(), BTreeSet::new());
    for scenario in scenarios() {
        if Pair::of(scenario, &form, &mut used).is_some_and(|pair| pair.compare(&mut used)) {
            compared.insert(&*scenario.agent);
        }
    }
    for agent in ["cline", "copilot", "gemini", "opencode", "pi", "qwen"] {
        assert!(compared.contains(agent), "nothing of {agent} was compared");
    }
    // A row for one scenario is required if the scenario exists.
    let is_there = |row: &Difference| {
        let mut all = scenarios().iter();
        all.any(|scenario| scenario.agent == row.agent && scenario.name == row.scenario)
    };
    let unused = DIFFERENCES.iter().enumerate().filter(|(at, row)| !used.contains(at) && is_there(row));
    let unused: Vec<_> = unused.map(|(_, row)| (row.agent, row.scenario, row.why)).collect();
    assert!(unused.is_empty(), "these don't differ: {unused:?}");
}

/// The items of a session, from the stream and from the session file.
struct Pair<'a> {
    scenario: &'a Scenario,
    live: Vec<Value>,
    kept: Vec<Value>,
}

impl<'a> Pair<'a> {
    /// `None` if a scenario lacks one of the files. `used`: the differences found.
    fn of(scenario: &'a Scenario, form: &Form, used: &mut BTreeSet<usize>) -> Option<Self> {
        let mut runs: Vec<&[u8]> = scenario.streams().collect();
        let mut name = None;
        for (at, row) in rows(scenario) {
            match row.is {
                Is::In(file) => name = Some(file),
                Is::LastRun => drop(runs.drain(..runs.len() - 1)),
                _ => continue,
            }
            used.insert(at);
        }
        let names = ["session.messages.json", "session.jsonl", "session.json"];
        let kept = name.into_iter().chain(names).find_map(|name| scenario.file(name))?;
        // Other agents' files are only compared if their differences are known; a session file may have more than a stream.
        let is_compared = DIFFERENCES.iter().any(|row| row.agent == scenario.agent);
        if runs.is_empty() || !is_compared {
            return None;
        }
        let [live, kept] = [runs, vec![kept]].map(|files| {
            let text = format(form, files).text;
            let items = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            items.filter(|item| KINDS.iter().any(|kind| item["kind"] == *kind)).collect()
        });
        Some(Self { scenario, live, kept })
    }

    /// Compares both. Returns whether there is anything to compare.
    fn compare(&self, used: &mut BTreeSet<usize>) -> bool {
        let mut kept = self.kept.iter().peekable();
        for live in &self.live {
            loop {
                let differs = match kept.peek() {
                    Some(other) => self.differing(live, other, used),
                    None => Some("kind"),
                };
                let Some(field) = differs else {
                    kept.next();
                    break;
                };
                if self.met(used, |is| matches!(is, Is::Streamed(is) if is(live))) {
                    break;
                }
                let is_only_kept =
                    |item: &&Value| self.met(used, |is| matches!(is, Is::Kept(is) if is(item)));
                assert!(
                    kept.next_if(is_only_kept).is_some(),
                    "{}: {field} of\n{live}\nin the stream differs from\n{}",
                    self.scenario.place(),
                    kept.peek().map_or_else(|| "nothing".to_owned(), ToString::to_string)
                );
            }
        }
        for item in kept {
            let is_listed = self.met(used, |is| matches!(is, Is::Kept(is) if is(item)));
            assert!(is_listed, "{}: only the session file has {item}", self.scenario.place());
        }
        !self.live.is_empty()
    }

    /// The first field or fact that differs without a listed difference.
    fn differing(&self, live: &Value, kept: &Value, used: &mut BTreeSet<usize>) -> Option<&'static str> {
        let is_own = |item: &Value| !item["id"].as_str().is_some_and(|id| id.starts_with("line-"));
        let has_ids = is_own(live) && is_own(kept);
        let fields = FIELDS.iter().filter(|field| has_ids || **field != "id");
        let differing = fields.filter(|field| live.get(**field) != kept.get(**field));
        // Only facts that both have.
        let facts = live["data"].as_object().into_iter().flatten();
        let facts =
            facts.filter(|(name, fact)| kept["data"].get(&**name).is_some_and(|other| other != *fact));
        let facts: Vec<&str> =
            facts.map(|(name, _)| &**name).filter(|name| !MEASURED.contains(name)).collect();
        let mut met = Vec::new();
        for field in differing {
            let rows = rows(self.scenario);
            let mut rows = rows
                .filter(|(_, row)| matches!(row.is, Is::Field(name, is) if name == *field && is(live, kept)));
            let Some((at, _)) = rows.next() else { return Some(field) };
            met.push(at);
        }
        for fact in facts {
            let mut rows = rows(self.scenario);
            let row =
                rows.find(|(_, row)| matches!(row.is, Is::Field(name, is) if name == fact && is(live, kept)));
            let Some((at, _)) = row else { return Some("a fact") };
            met.push(at);
        }
        used.extend(met);
        None
    }

    /// Whether this difference is listed. Marks it as used.
    fn met(&self, used: &mut BTreeSet<usize>, is: impl Fn(&Is) -> bool) -> bool {
        let found = rows(self.scenario).find(|(_, row)| is(&row.is));
        used.extend(found.iter().map(|(at, _)| at));
        found.is_some()
    }
}

/// The differences that a scenario may have, with their indexes.
fn rows(scenario: &Scenario) -> impl Iterator<Item = (usize, &'static Difference)> {
    let is_of = |row: &Difference| {
        row.agent == scenario.agent && (row.scenario.is_empty() || row.scenario == scenario.name)
    };
    DIFFERENCES.iter().enumerate().filter(move |(_, row)| is_of(row))
}
