//! `sf.raw`, `sf.cut` and `sf.redact`: exact text, and text that must not be shown.

use super::*;

/// The output for a reply that is formatted by a function with this body.
fn of_reply(says: &str, text: &str) -> String {
    let ran = run(&format!("sf.view('reply', function(reply) {says} end)"), &[&reply(text)]);
    assert_eq!(ran.warnings, []);
    trimmed(&ran.text)
}

/// The warnings about a plugin.
#[track_caller]
fn wrong(source: &str) -> String {
    let ran = run(source, &[&reply("x")]);
    assert!(ran.text.contains('x'), "{}", ran.text);
    ran.warnings.into_iter().map(|warning| warning.message).collect()
}

#[test]
fn raw_is_the_json_as_it_was_written() {
    let input = r#"{"z": 1.50, "a": {"b":[1e400, "\u00e4"]}, "n": null}"#;
    let says = |what: &str| {
        format!("sf.tool('T', {{ call = function(call) return sf.code({what} or 'nothing') end }})")
    };
    for (what, expected) in [
        ("sf.raw(call.input)", input),
        ("sf.raw(call.input, 'z')", "1.50"),
        ("sf.raw(call.input, 'a')", r#"{"b":[1e400, "\u00e4"]}"#),
        ("sf.raw(call.input.a, 'b')", r#"[1e400, "\u00e4"]"#),
        ("sf.raw(call.input.a.b, 2)", r#""\u00e4""#),
        ("sf.raw(call.input, 'n')", "null"),
        ("sf.raw(call.input, 'none')", "nothing"),
        ("sf.raw(call.input.a.b, 3)", "nothing"),
        ("sf.raw(call.input.a.b, 0)", "nothing"),
    ] {
        let ran = run_with("default", "text", &[("p.lua", &says(what))], &[&call("t-1", "T", input)]);
        assert_eq!(ran.warnings, [], "{what}");
        let shown = ran.text.lines().next().unwrap().trim_start_matches("● ");
        assert_eq!(shown, expected, "{what}");
    }
}

#[test]
fn raw_accepts_only_parts_of_items() {
    for what in ["{}", "'text'", "nil"] {
        let error = wrong(&format!("sf.view('reply', function() return sf.raw({what}, 'z') end)"));
        assert!(error.contains("sf.raw: expected a part of an item, such as call.input"), "{what}: {error}");
    }
}

#[test]
fn cut_measures_in_the_given_unit_and_never_splits_a_character() {
    // In bytes 1, 2, 4, 1; in UTF-16 1, 1, 2, 1.
    let text = "aä🦀z";
    for (arguments, expected) in [
        ("8", "aä🦀z false"),
        ("7", "aä🦀 true"),
        ("6", "aä true"),
        ("2", "a true"),
        ("0", " true"),
        ("-1", " true"),
        ("0/0", " true"),
        ("1/0", "aä🦀z false"),
        ("3, 'utf16'", "aä true"),
        ("4, 'utf16'", "aä🦀 true"),
        ("3, 'characters'", "aä🦀 true"),
        ("4, 'characters'", "aä🦀z false"),
    ] {
        let says = format!(
            "local cut, more = sf.cut(reply.text, {arguments}) return sf.text('[' .. cut .. ' ' .. tostring(more) .. ']')"
        );
        assert!(of_reply(&says, text).contains(&format!("[{expected}]")), "{arguments}");
    }
}

#[test]
fn cut_knows_three_units() {
    let error = wrong("sf.view('reply', function(reply) return sf.cut(reply.text, 1, 'words') end)");
    assert!(error.contains("sf.cut: the unit is bytes, utf16 or characters, not \"words\""), "{error}");
}

#[test]
fn redact_masks_all_output() {
    let source = "sf.redact({ emails = true, patterns = { ticket = 'T-(\\\\d+)' } })
        sf.view('reply', function(reply) return { sf.text(reply.text), sf.text('see T-' .. 77) } end)";
    let lines = [reply("ask ada@example.com of T-12"), call("c-1", "Bash", r#"{"command":"show T-34"}"#)];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    for writer in ["text", "json", "html", "markdown"] {
        let ran = run_with("default", writer, &[("p.lua", source)], &lines);
        assert_eq!(ran.warnings, [], "{writer}");
        for secret in ["ada@", "T-12", "T-77", "T-34"] {
            assert!(!ran.text.contains(secret), "{writer} shows {secret}: {}", ran.text);
        }
        assert!(ran.text.contains("redacted"), "{writer}: {}", ran.text);
    }
}

#[test]
fn redact_adds_to_what_others_mask() {
    let plugins = [
        ("a.lua", "sf.redact({ patterns = { a = 'aaa+' } })"),
        ("b.lua", "sf.redact({ patterns = { 'bbb+' } })"),
    ];
    let ran = run_with("default", "text", &plugins, &[&reply("aaaa bbbb cccc")]);
    assert_eq!(ran.text.trim(), "[redacted a] [redacted text] cccc");
}

#[test]
fn redact_reports_wrong_arguments() {
    for (what, expected) in [
        ("{ secrts = true }", "sf.redact: there is no \"secrts\" (did you mean \"secrets\"?)"),
        ("{ secrets = 'yes' }", "sf.redact: secrets is true or false, not a string"),
        ("{ patterns = true }", "sf.redact: patterns is a table, not a boolean"),
        ("{ patterns = { true } }", "sf.redact: a pattern is a text"),
        ("{ patterns = { x = '(' } }", "sf.redact: the pattern \"(\": "),
    ] {
        let error = Engine::builder()
            .pack(PluginSource::from_text("p.lua", format!("sf.redact({what})")))
            .build()
            .map(|engine| ran(&engine, &[&reply("x")]).warnings);
        let error = format!("{error:?}").replace("\\\"", "\"");
        assert!(error.contains(expected), "{what}: {error}");
    }
    let late = wrong("sf.view('reply', function() sf.redact({ secrets = true }) end)");
    assert!(late.contains("sf.redact: only while the plugin is loaded"), "{late}");
}
