//! Accumulators in Lua: the same result however the text arrives, a state for each thread, and nothing lost when they fail.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use streamfmt_core::entry::Entry;
use streamfmt_core::item::{Kind, Status};
use streamfmt_core::outline::{Document, EntryChange};
use streamfmt_core::pipeline::Setup;
use streamfmt_core::profile::DrawnRecords;

use super::*;
use crate::lua::Plugins;
use crate::plugin::EnabledPlugin;
use crate::plugin::source::PluginLayer;

const REPLY: &str = r#"Votes so far:
{"type": "vote", "who": "Ana", "for": "tea"}
{"type": "vote", "who": "Bo", "for": "coffee"}
A late one.
{"type": "weather", "sky": "blue"}
{"type": "vote", "who": "Bo", "for": "tea"}
Done."#;

/// The example in the page on plugins: the script, a reply, and the output.
fn page() -> [String; 3] {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/plugins.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once("\n## Adding up records\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let mut blocks = section.split("\n```").skip(1).step_by(2);
    ["lua\n", "text\n", "text\n"].map(|lang| blocks.next().unwrap().strip_prefix(lang).unwrap().to_owned())
}

fn poll() -> String {
    page()[0].clone()
}

/// An engine with one plugin.
fn engine(source: &str, writer: &str) -> Engine {
    let builder = Engine::builder().dialect("claude").profile("default").writer(writer);
    builder.pack(PluginSource::from_text("p.lua", source)).build().unwrap()
}

/// The setup of an engine whose records are shown by the accumulator `poll`.
fn drawn(engine: &Engine) -> Setup {
    let mut setup = engine.setup();
    setup.profile.records = Some(DrawnRecords::Accumulator("poll".to_owned()));
    setup
}

/// Runs one plugin on an input.
fn of(source: &str, writer: &str, lines: &[String]) -> Ran {
    let engine = engine(source, writer);
    let (mut pipeline, mut text) = (Pipeline::new(drawn(&engine)), String::new());
    for line in lines {
        pipeline.push(line.as_bytes(), &mut text).unwrap();
    }
    pipeline.finish(&mut text).unwrap();
    let warnings = engine.journal().take().into_iter().filter_map(|message| match message {
        PluginMessage::Warning(warning) => Some(warning),
        PluginMessage::Printed(..) => None,
    });
    let warnings = warnings.collect();
    let failures = engine.journal().failures();
    Ran { text, report: pipeline.report().clone(), warnings, printed: Vec::new(), failures }
}

/// A reply as a whole message.
fn whole(id: &str, text: &str, parent: Option<&str>) -> String {
    let message = json!({"id": id, "role": "assistant", "content": [{"type": "text", "text": text}]});
    let mut line = json!({"type": "assistant", "message": message, "session_id": "s", "uuid": id});
    line["parent_tool_use_id"] = json!(parent);
    format!("{line}\n")
}

/// The lines of a message that streams its text in pieces of `length` characters and doesn't end.
fn streamed(id: &str, text: &str, length: usize) -> Vec<String> {
    let begin = [
        json!({"type": "message_start", "message": {"id": id, "content": []}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    ];
    let letters: Vec<char> = text.chars().collect();
    let deltas = letters.chunks(length).map(|piece| {
        let piece: String = piece.iter().collect();
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}})
    });
    let lines = begin.into_iter().chain(deltas);
    lines
        .map(|event| format!("{}\n", json!({"type": "stream_event", "event": event, "session_id": "s"})))
        .collect()
}

/// The updates after each line, and at the end.
fn updates(source: &str, lines: &[String]) -> Vec<Vec<EntryChange>> {
    let engine = engine(source, "json").updating();
    let mut pipeline = Pipeline::new(drawn(&engine));
    let mut taken = Vec::new();
    for line in lines {
        pipeline.push(line.as_bytes(), &mut String::new()).unwrap();
        taken.push(pipeline.take_updates().into_iter().map(|update| update.change).collect());
    }
    pipeline.finish(&mut String::new()).unwrap();
    taken.push(pipeline.take_updates().into_iter().map(|update| update.change).collect());
    taken
}

fn folded(source: &str, lines: &[String]) -> Vec<Entry> {
    let engine = engine(source, "json").updating();
    let (mut pipeline, mut document) = (Pipeline::new(drawn(&engine)), Document::default());
    for line in lines {
        pipeline.push(line.as_bytes(), &mut String::new()).unwrap();
        document.apply(pipeline.take_updates());
    }
    pipeline.finish(&mut String::new()).unwrap();
    document.apply(pipeline.take_updates());
    let mut entries: Vec<Entry> = document.entries().cloned().collect();
    entries.sort_by(|a, b| a.id.cmp(&b.id));
    entries
}

const SHOWN: &str = "  Votes so far:

  A late one.
  {\"type\": \"weather\", \"sky\": \"blue\"}

  Done.

≡ Votes
  tea ██ 2
";

#[test]
fn the_example_of_the_page_does_what_it_shows() {
    let [script, reply, shown] = page();
    let ran = of(&script, "text", &[whole("m", &reply, None)]);
    assert_eq!(ran.warnings, []);
    assert_eq!(ran.text.trim_end(), shown);
}

#[test]
fn records_are_folded_the_same_however_the_text_arrives() {
    let poll = poll();
    let last = whole("m", REPLY, None);
    let ran = of(&poll, "text", std::slice::from_ref(&last));
    assert_eq!((ran.text.as_str(), ran.warnings.as_slice()), (SHOWN, &[][..]));
    let expected = folded(&poll, std::slice::from_ref(&last));
    for length in [1, 2, 5, 40, REPLY.len()] {
        let mut lines = streamed("m", REPLY, length);
        lines.push(last.clone());
        assert_eq!(of(&poll, "text", &lines).text, SHOWN, "pieces of {length}");
        assert_eq!(folded(&poll, &lines), expected, "pieces of {length}");
    }
}

#[test]
fn each_new_record_is_one_update_of_one_entry() {
    let poll = poll();
    let mut ids = Vec::new();
    for changes in updates(&poll, &streamed("m", REPLY, 7)) {
        let put: Vec<&Entry> = changes
            .iter()
            .filter_map(|change| match change {
                EntryChange::Put { entry, .. } if entry.kind == Kind::Record => Some(&**entry),
                _ => None,
            })
            .collect();
        assert!(put.len() <= 1, "{put:?}");
        ids.extend(put.into_iter().map(|entry| (entry.id.to_string(), entry.status)));
    }
    let id = || "m/0/record-1".to_owned();
    let open = (id(), Status::Open);
    assert_eq!(ids, [open.clone(), open.clone(), open, (id(), Status::Done)]);
    let last = updates(&poll, &[whole("m", REPLY, None)]).pop().unwrap();
    let [EntryChange::Put { entry, partial: false, .. }] = &last[..] else { panic!("{last:?}") };
    assert_eq!((entry.id.to_string(), entry.status), (id(), Status::Done));
}

#[test]
fn each_thread_has_a_state_of_its_own() {
    let vote = |who: &str, choice: &str| json!({"type": "vote", "who": who, "for": choice}).to_string();
    let lines = [
        call("agent", "Task", r#"{"prompt":"Ask"}"#) + "\n",
        whole("a", &vote("Ana", "tea"), None),
        whole("b", &vote("Bo", "milk"), Some("agent")),
        whole("c", &vote("Cem", "tea"), None),
    ];
    let ran = of(&poll(), "text", &lines);
    assert_eq!(ran.warnings, []);
    assert!(ran.text.contains("\n  tea ██ 2\n"), "{}", ran.text);
    assert!(ran.text.contains("  milk █ 1\n"), "{}", ran.text);
    assert_eq!(ran.text.matches("Votes").count(), 2, "{}", ran.text);
}

#[test]
fn machine_output_has_the_records_and_the_state() {
    let items = |source: &str| {
        let ran = of(source, "items", &[whole("m", REPLY, None)]);
        let items: Vec<Value> = ran.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (items, ran)
    };
    let (all, ran) = items(&poll());
    let ids: Vec<&str> = all.iter().map(|item| item["id"].as_str().unwrap()).collect();
    let records = ["m/0", "m/0/record-1", "m/0/record-2", "m/0/record-3", "m/0/record-4"];
    assert_eq!(ids, [&records[..], &["m/0/record-1/tree"]].concat());
    assert_eq!(all[5]["data"]["tree"], json!({"Ana": "tea", "Bo": "tea"}));
    assert_eq!((all[5]["status"].as_str(), ran.warnings.len()), (Some("done"), 0));

    for (add, message) in [
        ("s.f = print", "a function can't be kept"),
        ("s.s = s", "tables are nested more than 64 deep"),
        ("s.r = record", "a userdata can't be kept"),
        ("for i = 1, 1e5 + 1 do s[i] = i end", "the value is too large"),
        ("s.n = 0 / 0", "a number without a value"),
    ] {
        let source =
            format!("sf.records('poll', {{ view = print,\nadd = function(s, record) {add} return s end }})");
        let (all, ran) = items(&source);
        assert_eq!(all.len(), 6, "{add}");
        assert_eq!(all[5]["data"]["tree"], Value::Null, "{add}");
        let warnings: Vec<String> = ran.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        for part in [
            "p.lua failed while writing the state of poll as JSON",
            "--> p.lua:2",
            message,
            "= machine output has the records, and nothing of the state (reported once)",
        ] {
            assert!(warnings[0].contains(part), "{part}: {}", warnings[0]);
        }
        assert_eq!(ran.report.failures.values().sum::<u64>(), 1, "{:?}", ran.report.failures);
    }
}

/// A plugin with an accumulator whose functions have these bodies.
fn bodies(begin: &str, add: &str, view: &str) -> String {
    format!(
        "sf.records('poll', {{\nbegin = function(ctx) {begin} end,\nadd = function(state, record, ctx) {add} end,\nview = function(state, ctx) {view} end }})"
    )
}

const BEGIN: &str = "return {}";
const ADD: &str =
    "if record.type == 'vote' then state[record.who] = record['for'] return state end return false";
const VIEW: &str = "return 'Bo drinks ' .. (state.Bo or 'nothing')";

#[test]
fn a_record_at_which_a_script_fails_stays_in_the_text() {
    let ran = of(&bodies(BEGIN, ADD, VIEW), "text", &[whole("m", REPLY, None)]);
    assert_eq!((ran.text.matches("Bo drinks tea").count(), ran.warnings.len()), (1, 0), "{}", ran.text);
    for (begin, add, line, message) in [
        ("error('no')", ADD, 2, "no"),
        ("return nil", ADD, 2, "begin returns the state that records are added to, not nil or false"),
        ("return print", ADD, 2, "expected the state, which is a table, text or number, not a function"),
        ("while true do end", ADD, 2, "stopped after 1000000 steps or 250 ms"),
        (BEGIN, "return record", 3, "expected the state, which is a table, text or number, not a userdata"),
        (BEGIN, "return state .. 'x'", 3, "attempt to concatenate table with string"),
        (BEGIN, "record.x = 1", 3, "what the stream says can't be changed"),
        (BEGIN, "ctx.state.x = 1", 3, "attempt to modify a readonly table"),
        (BEGIN, "return ctx.sate", 3, "there is no ctx.sate (did you mean `ctx.state`?)"),
        (BEGIN, "return record.type:nope()", 3, "attempt to call missing method 'nope' of string"),
        (BEGIN, "while true do pcall(function() while true do end end) end", 3, "stopped after"),
        (
            BEGIN,
            "local t = {} while true do t[#t + 1] = string.rep('x', 1e6) .. #t end",
            3,
            "stopped: more than 32 MiB in use",
        ),
    ] {
        let ran = of(&bodies(begin, add, VIEW), "text", &[whole("m", REPLY, None)]);
        let error = ran.warnings[0].to_string();
        assert!(error.contains(message) && error.contains(&format!("--> p.lua:{line}")), "{add}: {error}");
        assert!(error.contains("p.lua failed while adding a record to poll (line 1)"), "{error}");
        assert!(error.contains("= the record stays in the text of its reply (reported once)"), "{error}");
        assert!(ran.failures >= 3, "{begin} {add}: {}", ran.failures);
        let is_off =
            ran.warnings.len() == 2 && ran.warnings[1].outcome == "it is off for the rest of the run";
        assert!(is_off || ran.warnings.len() == 1, "{:?}", ran.warnings);
        assert!(ran.report.failures.values().sum::<u64>() >= 1, "{:?}", ran.report.failures);
        assert_eq!(trimmed(&ran.text), REPLY, "{begin} {add}");
    }
}

#[test]
fn a_failure_costs_one_record_and_no_other() {
    let add = ADD.replace("then ", "then if record.who == 'Ana' then error('not her') end ");
    let lines = [whole("m", REPLY, None)];
    let ran = of(&bodies(BEGIN, &add, VIEW), "text", &lines);
    let expected = "  Votes so far:
  {\"type\": \"vote\", \"who\": \"Ana\", \"for\": \"tea\"}

  A late one.
  {\"type\": \"weather\", \"sky\": \"blue\"}

  Done.

  Bo drinks tea
";
    assert_eq!((ran.text.as_str(), ran.warnings.len(), ran.failures), (expected, 1, 1));
    // The plugin's other functions still run.
    let source =
        bodies(BEGIN, "error('no')", VIEW) + "\nsf.view('reply', function(r) return r.text:upper() end)";
    assert!(of(&source, "text", &lines).text.contains("DONE."));
}

#[test]
fn if_the_state_has_no_view_the_records_are_shown() {
    let votes: Vec<&str> = REPLY.lines().filter(|line| line.contains("\"vote\"")).collect();
    for (view, message) in [
        ("return nil", ""),
        ("error('no')", "no"),
        ("return {}", "what it returns shows nothing: return false to hide the records, or nil"),
        ("return ''", "what it returns shows nothing"),
        ("return { bars = 1 }", "a table with the key \"bars\" is neither a block nor a list"),
        ("return print", "a function"),
        ("while true do end", "stopped after"),
        ("state.x = 1 return state.me.you", "attempt to index nil with 'you'"),
    ] {
        for lines in [vec![whole("m", REPLY, None)], {
            let mut lines = streamed("m", REPLY, 9);
            lines.push(whole("m", REPLY, None));
            lines
        }] {
            let source = bodies(BEGIN, ADD, view);
            let ran = of(&source, "text", &lines);
            for vote in &votes {
                assert_eq!(ran.text.matches(vote).count(), 1, "{view}: {vote} in {}", ran.text);
            }
            if message.is_empty() {
                assert_eq!(ran.warnings, []);
            } else {
                let error = ran.warnings[0].to_string();
                for part in [
                    message,
                    "p.lua failed while viewing the records of poll",
                    "--> p.lua:4",
                    "= its records are shown as they are (reported once)",
                ] {
                    assert!(error.contains(part), "{part}: {error}");
                }
                assert_eq!(ran.failures, 1, "it is asked once of a state");
            }
            let shown = folded(&source, &lines);
            let record = shown.iter().find(|entry| entry.kind == Kind::Record).unwrap();
            assert!(format!("{:?}", record.view).contains("coffee"), "{record:?}");
        }
    }
}

#[test]
fn a_view_that_fails_in_a_preview_is_not_counted() {
    let engine = engine(&bodies(BEGIN, ADD, "error('no')"), "text");
    let (mut pipeline, mut text) =
        (Pipeline::new(Setup { shows_open: true, ..drawn(&engine) }), String::new());
    let mut lines = streamed("m", REPLY, 9);
    lines.push(whole("n", "Another reply, at which failures are counted.", None));
    for line in lines {
        pipeline.push(line.as_bytes(), &mut text).unwrap();
        pipeline.open_nodes();
    }
    assert!(text.contains("Another reply") && !text.contains("vote"), "{text}");
    assert_eq!((engine.journal().failures(), pipeline.report().failures.len()), (3, 0));
}

#[test]
fn a_hidden_view_is_dropped_and_may_return() {
    let view = "if state.Bo == 'coffee' then return false end return 'Bo: ' .. (state.Bo or '?')";
    let source = bodies(BEGIN, ADD, view);
    let changes: Vec<EntryChange> = updates(&source, &streamed("m", REPLY, 1_000)).concat();
    assert!(format!("{changes:?}").contains("Bo: tea"), "{changes:?}");
    let mut seen = Vec::new();
    for changes in updates(&source, &streamed("m", REPLY, 3)) {
        seen.extend(changes.into_iter().filter_map(|change| match change {
            EntryChange::Put { entry, .. } if entry.kind == Kind::Record => Some("put"),
            EntryChange::Drop(id) if id.as_str().contains("record") => Some("drop"),
            _ => None,
        }));
    }
    assert_eq!(seen[..3], ["put", "drop", "put"]);
}

#[test]
fn a_plugin_that_fills_the_memory_is_disabled_and_loses_nothing() {
    let add = "for i = 1, 6 do state[#state + 1] = string.rep(record.who, 1e5) .. i end return state";
    let vote = |number: usize| json!({"type": "vote", "who": format!("voter{number:03}")}).to_string();
    let lines: Vec<String> =
        (0..12).map(|number| whole(&format!("m{number}"), &vote(number), None)).collect();
    let ran = of(&bodies(BEGIN, add, "return 'so many: ' .. #state"), "text", &lines);
    assert!(ran.warnings[0].message.contains("more than 32 MiB in use"), "{:?}", ran.warnings);
    assert_eq!(ran.warnings[1].message, "it ran into limits too often");
    for number in 0..12 {
        assert!(ran.text.contains(&vote(number)), "{number}: {}", ran.text);
    }
}

#[test]
fn states_may_be_texts_and_numbers_and_begin_gets_the_context() {
    for (begin, add, view, expected) in [
        ("return 0", "return state + 1", "return 'n ' .. state", "n 4"),
        ("return ''", "return state .. record.type:sub(1, 1)", "return state", "vvwv"),
        ("return true", "return state", "return tostring(state)", "true"),
        (
            "return { is_page = ctx.page }",
            "return state",
            "return 'page: ' .. tostring(state.is_page)",
            "page: false",
        ),
    ] {
        let ran = of(&bodies(begin, add, view), "text", &[whole("m", REPLY, None)]);
        assert_eq!(ran.warnings, []);
        assert!(ran.text.contains(&format!("\n  {expected}\n")), "{expected}: {}", ran.text);
    }
}

#[test]
fn a_wrong_accumulator_is_refused_with_its_line() {
    for (spec, message) in [
        ("'poll', { add = print }", "an accumulator needs the functions add and view; there is no view"),
        ("'poll', { view = print }", "there is no add"),
        ("'poll', { add = print, view = 1 }", "view is a function, not an integer"),
        (
            "'poll', { add = print, view = print, vew = print }",
            "unknown field \"vew\" (did you mean \"view\"?)",
        ),
        (
            "'a poll', { add = print, view = print }",
            "the name of an accumulator is made of letters, digits, - and _",
        ),
        ("'none', { add = print, view = print }", "none is the word for no accumulator"),
        ("'poll'", "argument 2 must be a table"),
        (
            "'x', { add = print, view = print })\nsf.records('x', { add = print, view = print }",
            "the accumulator x is defined twice",
        ),
    ] {
        let ran = run(&format!("sf.records({spec})"), &strs(&bash()));
        assert_eq!(ran.warnings.len(), 1, "{spec}");
        let error = ran.warnings[0].to_string();
        assert!(error.contains(message) && error.contains("--> p.lua:"), "{spec}: {error}");
    }
}

#[test]
fn plugins_name_their_accumulators() {
    let pack = std::sync::Arc::new(PluginSource::from_text("p.lua", poll()));
    let enabled = EnabledPlugin::new(PluginLayer::Run, std::sync::Arc::clone(&pack), "this run");
    let names = Plugins::names(&[enabled]);
    assert_eq!((names.accumulators, names.dialects), (vec!["poll".to_owned()], Vec::new()));
    let hooks = Plugins::hooks_of(&pack, &crate::plugin::journal::Journal::default()).unwrap();
    let [hook] = &hooks[..] else { panic!("{hooks:?}") };
    assert_eq!((hook.what.as_str(), hook.place.clone()), ("records poll", Some(("p.lua".to_owned(), 2))));
}

#[test]
fn the_highest_plugin_shows_the_records_and_without_one_they_stay_in_the_text() {
    let lines = whole("m", REPLY, None);
    let text = |plugins: &[(&str, &str)]| {
        let mut builder = Engine::builder().dialect("claude").writer("text").profile("default");
        for (name, source) in plugins {
            builder = builder.pack(PluginSource::from_text(name, *source));
        }
        let engine = builder.build().unwrap();
        let (mut pipeline, mut text) = (Pipeline::new(drawn(&engine)), String::new());
        pipeline.push(lines.as_bytes(), &mut text).unwrap();
        pipeline.finish(&mut text).unwrap();
        text
    };
    let (low, high) = (bodies(BEGIN, ADD, "return 'low'"), bodies(BEGIN, ADD, "return 'high'"));
    let both = text(&[("a.lua", &low), ("b.lua", &high)]);
    assert!(both.contains("\n  high\n") && !both.contains("low"), "{both}");
    assert_eq!(trimmed(&text(&[])), REPLY);
    assert_eq!(trimmed(&text(&[("a.lua", &low.replace("'poll'", "'other'"))])), REPLY);
}

#[test]
fn the_key_records_names_an_accumulator() {
    let with = |name: &str, plugins: &[(&str, &str)]| {
        let profile = format!("records = \"{name}\"\n");
        let mut builder = Engine::builder().dialect("claude").writer("text");
        builder = builder.add_profile("mine", profile).profile("mine");
        for (name, source) in plugins {
            builder = builder.pack(PluginSource::from_text(name, *source));
        }
        builder.build()
    };
    let poll = poll();
    let engine = with("poll", &[("p.lua", &poll)]).unwrap();
    let drawn = DrawnRecords::Accumulator("poll".to_owned());
    assert_eq!(engine.settings().profile.records, Some(drawn));
    let (mut pipeline, mut text) = (Pipeline::new(engine.setup()), String::new());
    pipeline.push(whole("m", REPLY, None).as_bytes(), &mut text).unwrap();
    pipeline.finish(&mut text).unwrap();
    assert_eq!(text, SHOWN);
    // A schema takes precedence over an accumulator of the same name.
    let project = poll.replace("\"poll\"", "\"project\"");
    let engine = with("project", &[("p.lua", &project)]).unwrap();
    assert!(matches!(engine.settings().profile.records, Some(DrawnRecords::Schema(_))));
    assert_eq!(with("none", &[("p.lua", &poll)]).unwrap().settings().profile.records, None);
    for (name, plugins, message) in [
        ("pol", &[("p.lua", poll.as_str())][..], "unknown schema \"pol\" (did you mean \"poll\"?)"),
        ("weather", &[("p.lua", poll.as_str())], "unknown schema \"weather\" (one of: project, poll, none; "),
        ("poll", &[], "unknown schema \"poll\" (one of: project, none; "),
        ("poll", &[("p.lua", "sf.records('poll', {})")], "there is no add"),
    ] {
        let problems = with(name, plugins).err().unwrap().to_string();
        assert!(problems.contains(message), "{problems}");
        assert!(problems.contains(":1:11: unknown schema"), "{problems}");
    }
}
