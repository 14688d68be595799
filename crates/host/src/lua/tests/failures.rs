//! Failures of plugins: each is reported once, with its line, and nothing is lost.

use streamfmt_core::formatter::{Formatter, PluginFormatter};
use streamfmt_core::item::{Item, Kind};
use streamfmt_core::session::Session;

use super::*;
use crate::lua::Scripts;

#[test]
fn a_failure_is_reported_once_with_its_line_and_loses_nothing() {
    let plugin = "sf.tool('Bash', {\n\tcall = function(call)\n\t\treturn call.input.nope .. 'x'\n\tend,\n})";
    let lines = [bash(), bash().map(|line| line.replace("\"1\"", "\"2\""))].concat();
    let ran = run(plugin, &strs(&lines));
    assert_eq!(trimmed(&ran.text).matches("<<call.command::cargo test>>").count(), 2);
    assert_eq!((ran.warnings.len(), ran.failures), (1, 2));
    let warning = ran.warnings[0].to_string();
    assert_eq!(
        warning,
        "warning[plugin]: p.lua failed while formatting Bash (line 1)\n  --> p.lua:3\n  |\n3 |         return \
         call.input.nope .. 'x'\n  |         ^ attempt to concatenate nil with string\n  = shown as without the plugin \
         (reported once)"
    );
    assert_eq!(ran.report.failures.values().sum::<u64>(), 2);
    assert!(!warning.contains('/'), "no path of the machine");
}

#[test]
fn an_error_that_is_a_table_is_reported_with_its_fields() {
    for (raise, message) in [
        ("error({ code = 1, why = 'no' })", "{ code = 1, why = \"no\" }"),
        ("error({ code = 1 }, 2)", "{ code = 1 }"),
        ("pcall(error, { code = 1 }) error({ code = 2 })", "{ code = 2 }"),
        ("pcall(error, { code = 1 }) error('text')", "text"),
        ("error(setmetatable({}, { __tostring = function() return 'own words' end }))", "own words"),
    ] {
        let ran = run(&format!("sf.tool('Bash', {{ call = function()\n{raise}\nend }})"), &strs(&bash()));
        let warning = &ran.warnings[0];
        assert_eq!(warning.message, message, "{raise}");
        assert_eq!(warning.place.as_ref().map(|place| place.1), Some(2), "{raise}: {warning}");
    }
    let caught = "sf.tool('Bash', { label = function() local _, e = pcall(error, { code = 7 }) return 'code ' .. e.code end })";
    check(caught, &strs(&bash()), &BASH.replace("Bash", "code 7"));
}

#[test]
fn no_text_has_an_address() {
    let own = "setmetatable({}, { __tostring = function() return 'own' end })";
    for (value, text) in [
        ("tostring({})", "table"),
        ("tostring(print)", "function"),
        ("tostring(function() end)", "function"),
        ("tostring(coroutine.create(print))", "thread"),
        ("tostring(setmetatable({}, {}))", "table"),
        (&format!("tostring({own})"), "own"),
        ("string.format('%* %d %s', {}, 3, 'x')", "table 3 x"),
        ("string.format('%*|%*|%*', print, nil, true)", "function|nil|true"),
        ("`{ {} } {print} {1.5}`", "table function 1.5"),
        (&format!("`{{{own}}}`"), "own"),
        ("select(2, pcall(string.format, '%d', 'x')):match('number expected')", "number expected"),
    ] {
        let plugin = format!("sf.tool('Bash', {{ label = function(call) return 'got ' .. {value} end }})");
        check(&plugin, &strs(&bash()), &BASH.replace("Bash", &format!("got {text}")));
    }
    for (raise, message) in [
        ("error(setmetatable({}, {}))", "table"),
        ("error(print)", "function"),
        ("print({}, print) error('after')", "after"),
    ] {
        let ran = run(&format!("sf.tool('Bash', {{ call = function()\n{raise}\nend }})"), &strs(&bash()));
        assert_eq!(ran.warnings[0].message, message, "{raise}");
    }
}

#[test]
fn failures_may_be_shown_where_they_happen() {
    let engine = Engine::builder()
        .writer("roles")
        .pack(PluginSource::from_text(
            "p.lua",
            "sf.tool('Bash', { label = function() error('o\\27no') end })",
        ))
        .inline_plugin_errors(true)
        .build()
        .unwrap();
    let mut pipeline = Pipeline::new(engine.setup());
    let mut text = String::new();
    pipeline.push(bash().join("\n").as_bytes(), &mut text).unwrap();
    pipeline.finish(&mut text).unwrap();
    assert!(text.contains("<<notice.warning::p.lua failed: o␛no>>"), "{text}");
    assert_eq!(engine.journal().take(), []);
    assert_eq!(engine.journal().failures(), 1);
}

#[test]
fn a_plugin_that_does_not_load_is_left_out_and_the_others_run() {
    let good = r#"sf.tool("Bash", { label = "sh" })"#;
    for (bad, line, message) in [
        ("local x = = 1", Some(1), "Expected identifier"),
        ("\n\nerror('boom')", Some(3), "boom"),
        ("\nsf.tool('Bash', { lable = 'x' })", Some(2), "did you mean \"label\"?"),
        ("sf.tool('@walk', {})", Some(1), "unknown action @walk"),
        ("sf.on('never', print)", Some(1), "unknown kind \"never\""),
        ("sf.view('call', print)", Some(1), "sf.tool"),
        ("sf.tool('x', { arg = '{a' })", Some(1), "brace"),
        ("sf.plugin { api = 2 }", Some(1), "needs api 2"),
        ("\u{1}\u{2}LuaS", Some(1), "compiled Lua is not loaded"),
    ] {
        let ran = run_with("default", "roles", &[("bad.lua", bad), ("good.lua", good)], &strs(&bash()));
        assert!(ran.text.contains("<<tool.name::sh>>"), "{bad}");
        assert_eq!(ran.warnings.len(), 1, "{bad}");
        let warning = &ran.warnings[0];
        assert!(warning.message.contains(message), "{bad}: {warning}");
        assert_eq!(warning.place.as_ref().map(|place| place.1), line, "{bad}: {warning}");
    }
}

#[test]
fn wrong_answers_are_refused_at_the_function_that_returned_them() {
    for (answer, message) in [
        ("{ function() end }", "expected a text, not a function"),
        ("0/0", "without a value"),
        ("true", "not a boolean"),
        ("{ type = 'nope' }", "unknown block type \"nope\""),
        ("call", "expected a text, not a userdata"),
        ("(function() local t = {} for n = 2, 99 do t[{}] = n end return t end)()", "the key of type table"),
        (
            "(function() local t = { type = 'text' } for n = 2, 99 do t[{}] = n end return t end)()",
            "more than 32 fields",
        ),
        ("sf.span('a', 'a b')", "is not a role name"),
        ("sf.note('loud', 'a')", "level: expected one of info, warning, error, not \"loud\""),
        ("sf.table({ 'a' }, { 5 })", "rows: expected a table, not an integer"),
        ("sf.details('a', function() end)", "not a function"),
        (
            "sf.list { { text = 'a', point = 'lost' } }",
            "point: expected one of plain, open, active, done, failed, not \"lost\"",
        ),
        ("(function() local t = {} t[1] = t return t end)()", "nested more than"),
        (
            "(function() local t = {} for i = 1, 30000 do t[i] = 'x' end return t end)()",
            "more than 20000 parts",
        ),
        (
            "(function() local t, s = {}, ('x'):rep(1048576) for i = 1, 9 do t[i] = s end return t end)()",
            "8 MiB",
        ),
        (
            "(function() local t = {} for i = 1, 20 do t[i] = sf.diff(('a\\n'):rep(1000), ('b\\n'):rep(1000)) end return t end)()",
            "to compare",
        ),
        (
            "(function() local none, t = {}, {} for i = 1, 15000 do none[i] = false t[i] = none end return t end)()",
            "more than 20000 parts",
        ),
        (
            "(function() local line, t = { type = 'line' }, {} for i = 1, 15000 do line['k' .. i] = i t[i] = line end return t end)()",
            "more than 20000 parts",
        ),
        ("sf.table({ 'a' }, { { [0] = 'a' } })", "a place from 1 to 1000, not 0"),
        ("sf.table({ 'a' }, { { b = 'a' } })", "expected a number from 0, not a string"),
        ("sf.table({ 'a' }, { { [5000] = 'a' } })", "a place from 1 to 1000, not 5000"),
        ("sf.kv { { 'a' } }", "a pair of a key and a value"),
        ("{ { point = 'done', text = 'a' } }", "in sf.list alone"),
        ("{ type = 'code', lang = 'lua' }", "missing field `text`"),
        ("{ type = 'a text' }", "expected a text, not a table"),
        ("sf.line(sf.line('a'))", "only texts, spans, paths and links"),
        ("sf.line({ 'a' })", "a list is not allowed inside a line"),
        ("sf.patch({ { lines = 5 } })", "lines: expected a list, not an integer"),
    ] {
        let source = format!("\nsf.tool('Bash', {{ call = function(call)\nreturn {answer} end }})");
        let ran = run(&source, &strs(&bash()));
        assert_eq!(trimmed(&ran.text), BASH, "{answer}");
        assert_eq!(ran.warnings.len(), 1, "{answer}");
        assert!(ran.warnings[0].message.contains(message), "{answer}: {}", ran.warnings[0]);
        assert_eq!(ran.warnings[0].place.as_ref().map(|place| place.1), Some(2), "{answer}");
    }
}

#[test]
fn an_answer_has_at_most_64_levels_of_tables() {
    for (levels, failures) in [(64, 0), (65, 1)] {
        let answer = format!("local t = 'x' for _ = 1, {levels} do t = {{ t }} end return t");
        let ran = run(&format!("sf.view('reply', function() {answer} end)"), &[&reply("Hello.")]);
        assert_eq!(ran.warnings.len(), failures, "{levels}: {:?}", ran.warnings);
    }
}

#[test]
fn of_too_many_failures_some_are_kept_and_all_are_counted() {
    let mut builder = Engine::builder().dialect("claude").writer("text");
    for name in ["a", "b", "c", "d"] {
        let source = "sf.tool('Bash', { label = function() error('x') end })";
        builder = builder.pack(PluginSource::from_text(name, source));
    }
    let engine = builder.build().unwrap();
    let scripts = Scripts::new(&engine.load_plugins(), &engine.settings().profile).unwrap();
    let mut item = Item::new("1", Kind::Call, 1);
    item.tool = Some("Bash".into());
    for _ in 0..20 {
        assert!(scripts.format(&item, &Session::default()).is_ok());
    }
    // The warning that the plugin is disabled counts as well.
    assert_eq!((scripts.take_failures().len(), engine.journal().failures()), (64, 4 * 21));
}

#[test]
fn an_answer_without_content_is_refused_and_hides_nothing() {
    let empty = "shows nothing: return false to hide the item";
    let named = "a table with the key \"text\" is neither a block nor a list";
    for (answer, message) in [
        ("{ text = 'x' }", named),
        ("{ { text = 'x' } }", named),
        ("{ 'a', text = 'b' }", named),
        ("{ sf.text('a'), { 'b', { text = 'x' } } }", named),
        ("{ [0] = 'a' }", "the key 0"),
        ("{ [1.5] = 'a' }", "the key 1.5"),
        ("{}", empty),
        ("{ nil }", empty),
        ("{ nil, false, {}, { {} } }", empty),
        ("''", empty),
        ("' \\n\\t'", empty),
        ("{ '', '' }", empty),
        ("sf.text('')", empty),
        ("sf.line()", empty),
        ("sf.line(sf.span(' '))", empty),
        ("sf.prose('\\n')", empty),
        ("sf.code('')", empty),
        ("sf.list {}", empty),
        ("sf.kv {}", empty),
        ("sf.table({}, {})", empty),
        ("sf.diff('a', 'a')", empty),
        ("sf.details('', { sf.text('') })", empty),
        ("sf.header(nil)", empty),
    ] {
        for (hook, kind) in [
            ("sf.tool('Bash', { call = function(it)\nreturn ANSWER end })", "call"),
            ("sf.tool('Bash', { result = function(it)\nreturn ANSWER end })", "result"),
            ("sf.tool('Bash', { summary = function(it)\nreturn ANSWER end })", "summary"),
            ("sf.view('reply', function(it)\nreturn ANSWER end)", "reply"),
        ] {
            // A summary is one line, so some of these are refused earlier, with another message.
            let refused = if kind == "summary" && (answer.contains("sf.") || answer.contains("{ {")) {
                ""
            } else {
                message
            };
            let ran = run(&hook.replace("ANSWER", answer), &strs(&bash()));
            assert_eq!(trimmed(&ran.text), BASH, "{kind}: {answer}");
            assert_eq!(ran.report.hidden.values().sum::<u64>(), 0, "{kind}: {answer}");
            assert_eq!(ran.warnings.len(), 1, "{kind}: {answer}: {:?}", ran.warnings);
            assert!(ran.warnings[0].message.contains(refused), "{kind}: {answer}: {}", ran.warnings[0]);
            assert_eq!(ran.warnings[0].place.as_ref().map(|place| place.1), Some(1), "{kind}: {answer}");
        }
    }
    for field in ["label", "arg"] {
        let ran = run(
            &format!("sf.tool('Bash', {{ {field} = function() return {{ text = 'x' }} end }})"),
            &strs(&bash()),
        );
        assert_eq!(trimmed(&ran.text), BASH, "{field}");
        assert!(ran.warnings[0].message.contains(named), "{field}: {}", ran.warnings[0]);
    }
    let ran = run("sf.on('call', function() return { text = 'x' } end)", &strs(&bash()));
    assert!(ran.text.starts_with("<<mark.call") && ran.warnings[0].message.contains(named), "{}", ran.text);
}

#[test]
fn an_empty_part_leaves_the_rest_visible() {
    let call =
        "<<mark.call::●>> <<tool.name::Bash>>\n<<mark.output::└>> <<result.text::fine>>\n<<reply::Bye.>>";
    for nothing in ["''", "{}", "{ nil }", "false"] {
        let arg = format!("sf.tool('Bash', {{ arg = function() return {nothing} end }})");
        check(&arg, &strs(&bash()), call);
        let both = format!(
            "sf.tool('Bash', {{ arg = function() return {nothing} end, label = function() return {nothing} end }})"
        );
        check(&both, &strs(&bash()), call);
        let after = format!("sf.on('call', function() return {nothing} end)");
        check(&after, &strs(&bash()), BASH);
    }
    check("sf.tool('Bash', { label = '', arg = '', summary = '' })", &strs(&bash()), call);
    // If the item has no text, a blank answer is no fault, and the layer below shows the item.
    let silent = [self::call("1", "Bash", r#"{"command":"cargo test"}"#), result("1", "", false)];
    for hook in
        ["result = function(it) return sf.code(it.text) end", "summary = function(it) return it.text end"]
    {
        let expected = "<<mark.call::●>> <<tool.name::Bash>> <<call.command::cargo test>>\n<<mark.output::└>> <<result.note::no output>>";
        check(&format!("sf.tool('Bash', {{ {hook} }})"), &strs(&silent), expected);
    }
}

#[test]
fn gaps_in_answers_are_skipped() {
    for answer in [
        "{ sf.text('a'), nil, sf.text('b') }",
        "{ sf.text('a'), false, sf.text('b') }",
        "{ nil, nil, { false, sf.text('a') }, nil, nil, sf.text('b'), nil }",
        "(function() local t = { sf.text('a') } t[9] = sf.text('b') return t end)()",
        "{ sf.line(nil, 'a', false), sf.line('b') }",
    ] {
        let plugin = format!("sf.view('reply', function() return {answer} end)");
        check(&plugin, &[&reply("Hello")], "a\nb");
    }
    let row =
        "sf.view('reply', function() return sf.table({ 'x', 'y', 'z' }, { { 'a', nil, 'c' }, false }) end)";
    check(row, &[&reply("Hello")], "<<table.head::x>>  <<table.head::y>>  <<table.head::z>>\na     c");
    check(
        "sf.view('reply', function() return sf.list { 'a', nil, 'b' } end)",
        &[&reply("Hello")],
        "<<mark.plain::•>> a\n<<mark.plain::•>> b",
    );
}

#[test]
fn a_plugin_that_fails_repeatedly_is_disabled() {
    let calls: Vec<String> = (0..40).map(|n| call(&n.to_string(), "Bash", "{}")).collect();
    let stopped =
        run("sf.tool('Bash', { label = function() print('asked') while true do end end })", &strs(&calls));
    assert_eq!(stopped.printed.len(), 3);
    let failing = run("sf.tool('Bash', { label = function() print('asked') error('x') end })", &strs(&calls));
    assert_eq!(failing.printed.len(), 20);
    for ran in [stopped, failing] {
        assert_eq!(ran.warnings.len(), 2);
        assert!(ran.warnings[1].to_string().contains("off for the rest of the run"));
        assert_eq!(ran.text.matches("<<tool.name::Bash>>").count(), 40);
    }
}

#[test]
fn the_message_of_a_failure_is_short_and_contains_no_path() {
    for body in [
        "error(('x'):rep(1000000))",
        "error({ ('y'):rep(1000) })",
        "error(setmetatable({}, { __tostring = function() error('z') end }))",
    ] {
        let ran = run(&format!("sf.tool('Bash', {{ label = function() {body} end }})"), &strs(&bash()));
        assert_eq!(trimmed(&ran.text), BASH, "{body}");
        let warning = ran.warnings[0].to_string();
        assert!(warning.lines().all(|line| line.chars().count() < 500), "{body}: {warning}");
        assert!(!warning.contains('/'), "{body}: {warning}");
    }
}
