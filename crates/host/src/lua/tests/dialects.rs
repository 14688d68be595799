//! Dialects in Lua.

use streamfmt_core::pipeline::{EntryChange, Output, Setup, Update};

use super::*;

const ACME: &str = r#"
    sf.dialect("acme-agent", {
      detect = function(sample) return sample[1] and sample[1].acme_version and 1 or 0 end,
      parse = function(o, ctx)
        ctx.state.lines = (ctx.state.lines or 0) + 1
        if o.acme_version then
          return sf.item.session { agent = "acme", model = o.model, id = o.session, cwd = "/w" }
        end
        if o.kind == "say" then return sf.item.reply { text = o.body } end
        if o.kind == "run" then return sf.item.call { id = o.id, tool = "Bash", input = { command = o.cmd }, time = o.at } end
        if o.kind == "use" then return sf.item.call { id = o.id, tool = o.tool, input = o.args, parent = o.under } end
        if o.kind == "ran" then return sf.item.result { id = o.id, text = o.out, error = o.code ~= 0, exit = o.code } end
        if o.kind == "tick" then return false end
        if o.kind == "two" then return { sf.item.thinking { text = "hm" }, sf.item.reply { text = "two" } } end
        if o.kind == "part" then
          if o.first then return { sf.item.reply { id = "r", open = true }, sf.item.append { id = "r", text = o.text } } end
          if o.last then return sf.item.close { id = "r" } end
          return sf.item.append { id = "r", text = o.text }
        end
        if o.kind == "end" then return sf.item.outcome { turns = ctx.state.lines, cost_usd = 0.5 } end
      end,
    })"#;

const LINES: [&str; 6] = [
    r#"{"acme_version":3,"model":"acme-1","session":"s-1"}"#,
    r#"{"kind":"say","body":"Hello."}"#,
    r#"{"kind":"run","id":"a","cmd":"make\ntest","at":"2026-01-02T03:04:05Z"}"#,
    r#"{"kind":"ran","id":"a","out":"boom","code":2}"#,
    r#"{"kind":"tick"}"#,
    r#"{"kind":"new","what":1}"#,
];

fn run_from(from: &str, plugins: &[(&str, &str)], writer: &str, lines: &[&str]) -> Ran {
    let mut builder = Engine::builder().dialect(from).writer(writer).set("layout.gap=0");
    for (name, source) in plugins {
        builder = builder.pack(PluginSource::from_text(name, *source));
    }
    ran(&builder.build().unwrap(), lines)
}

#[test]
fn objects_become_items_like_those_of_any_agent() {
    for from in ["auto", "acme-agent"] {
        let ran = run_from(from, &[("acme.lua", ACME)], "roles", &LINES);
        assert_eq!(ran.warnings, []);
        let text = trimmed(&ran.text);
        for part in [
            "<<session.model::acme-1>>",
            "<<reply::Hello.>>",
            "<<tool.name::Bash>>",
            "make",
            "<<result.error::exit 2>>",
            "boom",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert_eq!(ran.report.dialect.as_deref(), Some("acme-agent"));
        assert_eq!(ran.report.bookkeeping.get("acme-agent"), Some(&1));
        assert_eq!(ran.report.unknown.get("new"), Some(&1), "the line nobody knows is counted");
        assert!(text.contains("what"), "and kept: {text}");
    }
}

#[test]
fn programs_get_the_items_with_ids_parents_times_and_facts() {
    let lines = [
        r#"{"acme_version":3}"#,
        r#"{"kind":"run","id":"a","cmd":"make","at":"2026-01-02T03:04:05Z"}"#,
        r#"{"kind":"use","id":"b","tool":"mcp__x__y","args":{"z":1,"a":[1.50]},"under":"a"}"#,
        r#"{"kind":"ran","id":"a","out":"ok","code":0}"#,
        r#"{"kind":"two"}"#,
        r#"{"kind":"end"}"#,
    ];
    let ran = run_from("auto", &[("acme.lua", ACME)], "items", &lines);
    assert_eq!(ran.warnings, []);
    let items: Vec<serde_json::Value> =
        ran.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of =
        |id: &str| items.iter().find(|item| item["id"] == id).unwrap_or_else(|| panic!("{id}: {}", ran.text));
    assert_eq!(of("a")["input"]["command"], "make");
    assert_eq!(of("a")["at"], "2026-01-02T03:04:05Z");
    assert_eq!((&of("b")["action"], &of("b")["parent"]), (&"mcp".into(), &"a".into()));
    // A value from the line keeps its original JSON.
    assert!(ran.text.contains(r#""input":{"z":1,"a":[1.50]}"#), "{}", ran.text);
    assert_eq!((&of("a/result")["data"]["exit"], &of("a/result")["tool"]), (&0.into(), &"Bash".into()));
    assert_eq!((&of("line-5")["kind"], &of("line-5/2")["text"]), (&"thinking".into(), &"two".into()));
    let outcome = items.iter().find(|item| item["kind"] == "outcome").unwrap();
    assert_eq!((&outcome["data"]["turns"], &outcome["data"]["cost_usd"]), (&6.into(), &0.5.into()));
}

#[test]
fn items_may_grow() {
    let lines = [
        r#"{"acme_version":3}"#,
        r#"{"kind":"part","first":true,"text":"Hel"}"#,
        r#"{"kind":"part","text":"lo."}"#,
        r#"{"kind":"part","last":true}"#,
    ];
    let ran = run_from("auto", &[("acme.lua", ACME)], "text", &lines);
    assert_eq!(ran.warnings, []);
    assert!(ran.text.contains("Hello."), "{}", ran.text);
}

#[test]
fn a_raw_item_is_its_line_and_hooks_share_the_state() {
    let plugin = format!(
        "{ACME}\nsf.tool('*', {{ label = function(call, ctx) return call.raw end }})
            sf.on('call', function(call, ctx) return sf.text(`line {{ctx.state.lines}}`) end)"
    );
    let ran = run_from("auto", &[("acme.lua", &plugin)], "text", &LINES);
    assert_eq!(ran.warnings, []);
    assert!(ran.text.contains(r#"{"kind":"run","id":"a","cmd":"make"#), "{}", ran.text);
    assert!(ran.text.contains("line 3"), "{}", ran.text);
}

#[test]
fn the_surest_dialect_wins_and_a_known_agent_beats_a_guess() {
    let guess = |weight: &str| {
        format!(
            "sf.dialect('guess', {{ detect = function() return {weight} end, parse = function() return sf.item.reply {{ text = 'guessed' }} end }})"
        )
    };
    for (weight, expected) in [("0.4", false), ("0", false), ("0.9", true), ("true", true), ("0/0", false)] {
        let ran = run_from("auto", &[("guess.lua", &guess(weight))], "text", &[&reply("Said.")]);
        assert_eq!(ran.text.contains("guessed"), expected, "{weight}: {}", ran.text);
    }
    let ran = run_from("auto", &[("guess.lua", &guess("0.1")), ("acme.lua", ACME)], "text", &LINES);
    assert!(ran.text.contains("Hello."), "{}", ran.text);
    // Lines of an unknown format are held back until a dialect is detected.
    let late = "sf.dialect('late', { detect = function(s) return #s == 3 end, parse = function(o) return sf.item.reply { text = `got {o.n}` } end })";
    let ran = run_from("auto", &[("late.lua", late)], "text", &[r#"{"n":1}"#, r#"{"n":2}"#, r#"{"n":3}"#]);
    assert!(["got 1", "got 2", "got 3"].iter().all(|part| ran.text.contains(part)), "{}", ran.text);
}

#[test]
fn failures_keep_the_line_and_are_reported_once() {
    for (parse, message) in [
        ("error('no')", "no"),
        ("while true do end", "stopped after"),
        ("return 5", "expected an item of sf.item"),
        ("return { 5 }", "expected an item of sf.item"),
        ("return { text = 'x' }", "a table with the key \"text\" is neither an item nor a list of items"),
        ("return { sf.item.reply { text = 'x' }, text = 'y' }", "a table with the key \"text\""),
        ("return {}", "a list without items: return false to hide the line"),
        ("return { nil, false }", "a list without items"),
        ("return sf.item.reply { txt = 'x' }", "did you mean \"text\"?"),
        ("return sf.item.reply { text = {} }", "text: expected a text"),
        ("return sf.item.call { tool = 'X', action = 'rum' }", "did you mean \"run\"?"),
        ("return sf.item.call { tool = 'X', input = { f = print } }", "a function can't be kept"),
        ("local t = {} t.t = t return sf.item.call { input = t }", "nested more than"),
        ("return sf.item.append { text = 'x' }", "it has no id"),
    ] {
        let source = format!("sf.dialect('d', {{ parse = function(o)\n{parse} end }})");
        let line = r#"{"kind":"say","body":"kept"}"#;
        let ran = run_from("d", &[("d.lua", &source)], "text", &[line, line]);
        assert!(ran.text.contains("kept"), "{parse}: {}", ran.text);
        assert_eq!(ran.warnings.len(), 1, "{parse}: {:?}", ran.warnings);
        let error = ran.warnings[0].to_string();
        assert!(error.contains(message) && error.contains("the line is kept unchanged"), "{parse}: {error}");
    }
}

#[test]
fn gaps_between_items_are_skipped() {
    let source =
        "sf.dialect('d', { parse = function(o) return { nil, sf.item.reply { text = 'one' }, false, nil,
        sf.item.reply { text = 'two' } } end })";
    let ran = run_from("d", &[("d.lua", source)], "text", &["{}"]);
    assert_eq!(ran.warnings, []);
    assert!(ran.text.contains("one") && ran.text.contains("two"), "{}", ran.text);
}

#[test]
fn an_unknown_name_is_an_error_that_suggests_the_nearest() {
    let build =
        |name: &str| Engine::builder().dialect(name).pack(PluginSource::from_text("acme.lua", ACME)).build();
    let problem = build("acme-agen").err().unwrap().to_string();
    assert!(problem.contains("did you mean \"acme-agent\"?"), "{problem}");
    assert!(build("acme-agent").is_ok());
}

#[test]
fn an_input_may_grow_by_its_json() {
    let dialect = r#"sf.dialect("grow", { parse = function(o)
        if o.open then
          return sf.item.call { id = o.open, tool = "Bash", open = true, time = o.at, data = { server_side = o.far } }
        end
        if o.more then return sf.item.append { id = o.id, text = o.more } end
        return sf.item.close { id = o.id }
      end })"#;
    let lines = [
        r#"{"open":"a","at":"2026-01-02T03:04:05Z","far":true,"long":[1,2,3,4,5,6,7,8,9]}"#,
        r#"{"id":"a","more":"{\"command\":\"mak"}"#,
        r#"{"id":"a","more":"e test\"}"}"#,
        r#"{"id":"a"}"#,
    ];
    let engine =
        Engine::builder().dialect("grow").writer("items").pack(PluginSource::from_text("p.lua", dialect));
    let engine = engine.build().unwrap();
    let text = ran(&engine, &lines).text;
    let item = r#""status":"done","at":"2026-01-02T03:04:05Z","line":1,"tool":"Bash","action":"run""#;
    assert!(text.contains(item), "{text}");
    assert!(text.contains(r#""input":{"command":"make test"}"#), "{text}");
    assert!(text.contains(r#""data":{"server_side":true}"#), "{text}");

    let output = Output::Updates { formatters: Vec::new() };
    let mut pipeline = Pipeline::new(Setup { output, ..engine.setup() });
    let titles = lines.map(|line| {
        pipeline.push(format!("{line}\n").as_bytes(), &mut String::new()).unwrap();
        let updates = pipeline.take_updates();
        let [Update { change: EntryChange::Put { entry, .. }, .. }] = &updates[..] else {
            panic!("{updates:?}")
        };
        (entry.view.title.text().to_owned(), entry.at.is_some())
    });
    let expected =
        ["Bash", "Bash mak", "Bash make test", "Bash make test"].map(|title| (title.to_owned(), true));
    assert_eq!(titles, expected);
}

#[test]
fn a_record_becomes_at_most_a_thousand_items() {
    for (count, failures) in [(1_000, 0), (1_001, 1)] {
        let source = format!(
            "sf.dialect('d', {{ parse = function() return table.create({count}, sf.item.reply {{ text = 'one' }}) end }})"
        );
        let ran = run_from("d", &[("d.lua", &source)], "text", &[r#"{"kept":"whole"}"#]);
        assert_eq!((ran.warnings.len(), ran.failures), (failures, failures as u64), "{count}");
        for warning in &ran.warnings {
            assert_eq!(warning.message, "more than 1000 items for one record");
            assert!(ran.text.contains("whole"), "{}", ran.text);
        }
    }
}

#[test]
fn a_dialect_is_not_detected_by_a_long_record() {
    for (length, is_known) in [((64 << 10) - 1, true), ((64 << 10) + 2, false)] {
        let line = padded(r#"{"acme_version":3,"session":"s""#, length);
        let ran = run_from("auto", &[("acme.lua", ACME)], "text", &[&line]);
        assert_eq!(ran.report.dialect.as_deref() == Some("acme-agent"), is_known, "{length}");
    }
}

#[test]
fn an_item_with_made_values_has_no_long_line() {
    let plugin = format!(
        "{ACME}\nsf.tool('*', {{ label = function(call) return call.raw:find('pad') and 'with its line' or 'without' end }})"
    );
    for (length, label) in [((256 << 10) - 1, "with its line"), ((256 << 10) + 2, "without")] {
        let line = padded(r#"{"kind":"run","id":"a","cmd":"make""#, length);
        let ran = run_from("acme-agent", &[("acme.lua", &plugin)], "text", &[&line]);
        assert_eq!(ran.warnings, []);
        assert!(ran.text.contains(&format!("{label} make")), "{length}: {}", ran.text);
    }
}

/// An object with this beginning, padded to this length.
fn padded(beginning: &str, length: usize) -> String {
    let pad = "x".repeat(length - beginning.len() - r#","pad":""}"#.len());
    format!(r#"{beginning},"pad":"{pad}"}}"#)
}
