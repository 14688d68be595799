//! Writers in Lua.

use streamfmt_core::profile::Ci;

use super::*;
use crate::OutputCapabilities;

const JIRA: &str = r#"
    sf.writer("jira", {
      base = "text", ext = "txt",
      heading = function(b, w) return "h" .. b.level .. ". " .. w:inlines(b) .. "\n" end,
      code = function(b) return "{code:" .. (b.lang or "none") .. "}\n" .. b.text .. "\n{code}\n" end,
      diff = function(b, w) return w:block(sf.code(b:unified(), "diff")) end,
      span = { ["tool.name"] = function(s) return "*" .. s .. "*" end,
               muted = function(s) return "{color:gray}" .. s .. "{color}" end },
    })"#;

fn run_to(plugins: &[(&str, &str)], writer: &str, lines: &[&str]) -> Ran {
    run_with("default", writer, plugins, lines)
}

#[test]
fn parts_are_written_by_the_script_and_the_rest_by_the_base() {
    let edit = call("1", "Edit", r#"{"file_path":"/a.rs","old_string":"1\n2","new_string":"1\n3"}"#);
    let prose = "## What *now*?\n\nSome text.\n\n```rust\nlet x = 1;\n```\n\n- a\n- b\n";
    let structured = r#","tool_use_result":{"filePath":"/a.rs","oldString":"1","newString":"2","structuredPatch":[{"oldStart":7,"oldLines":2,"newStart":7,"newLines":2,"lines":[" 1","-2","+3"]}]}}"#;
    let done = result("1", "ok", false);
    let done = format!("{}{structured}", done.strip_suffix('}').unwrap());
    let ran = run_to(&[("jira.lua", JIRA)], "jira", &[&edit, &done, &reply(prose)]);
    assert_eq!(ran.warnings, []);
    let expected = "● *Edit* /a.rs
  └ +1 −1
    {code:diff}
    --- a/a.rs
    +++ b/a.rs
    @@ -7,2 +7,2 @@
     1
    -2
    +3
    {code}

  h2. What now?

  Some text.

  {code:rust}
  let x = 1;
  {code}

  - a
  - b
";
    let found = ran.text.lines().filter(|line| !line.trim().is_empty());
    let wanted = expected.lines().filter(|line| !line.trim().is_empty());
    assert_eq!(found.collect::<Vec<_>>(), wanted.collect::<Vec<_>>(), "{}", ran.text);
}

#[test]
fn a_writer_may_extend_markdown() {
    let source = JIRA.replace("base = \"text\"", "base = \"markdown\"");
    let prose = "## What *now*?\n\nSome text.\n\n```rust\nlet x = 1;\n```\n";
    let edit = call("e", "Edit", r#"{"file_path":"/a.rs","old_string":"1\n2","new_string":"1\n3"}"#);
    let structured = r#","tool_use_result":{"filePath":"/a.rs","structuredPatch":[{"oldStart":7,"oldLines":2,"newStart":7,"newLines":2,"lines":[" 1","-2","+3"]}]}}"#;
    let done = result("e", "ok", false);
    let done = format!("{}{structured}", done.strip_suffix('}').unwrap());
    let [shell, fine, _] = bash();
    let ran = run_to(&[("jira.lua", &source)], "jira", &strs(&[reply(prose), shell, fine, edit, done]));
    assert_eq!(ran.warnings, []);
    for part in [
        "h2. What now?\n\nSome text.\n\n{code:rust}\nlet x = 1;\n{code}\n",
        "*Bash*",
        "  {code:none}\n  fine\n  {code}\n",
        "  {code:diff}\n  --- a/a.rs\n",
        "\n  +3\n  {code}\n",
    ] {
        assert!(ran.text.contains(part), "{part:?} in {:?}", ran.text);
    }
}

#[test]
fn whole_entries_titles_and_edges_may_be_written() {
    let plugin = r#"sf.writer("csv", {
      begin = function() return "kind,what\n" end,
      finish = function() return "end\n" end,
      entry = function(e, w)
        if e.kind == "reply" then return nil end
        return e.kind .. "," .. w:inlines(e.title) .. "," .. #e.blocks .. "\n"
      end,
      title = function(t, w) return "[" .. w:inlines(t) .. "]" end,
    })"#;
    let ran = run_to(&[("csv.lua", plugin)], "csv", &strs(&bash()));
    assert_eq!(ran.warnings, []);
    assert_eq!(ran.text, "kind,what\ncall,Bash cargo test,0\nresult,,1\n  Bye.\nend\n");
}

#[test]
fn a_written_span_replaces_the_marks_of_the_base() {
    let plugin = |base: &str| {
        format!(
            "sf.writer('w', {{ base = '{base}', span = {{ ['tool.name'] = function(s) return '*' .. s .. '*' end,
             ['call.command'] = function(s) return '{{{{' .. s .. '}}}}' end }} }})"
        )
    };
    for (base, expected) in [
        ("markdown", "- *Bash* {{cargo test}}"),
        ("text", "● *Bash* {{cargo test}}"),
        ("roles", "<<mark.call::●>> *Bash* {{cargo test}}"),
    ] {
        let ran = run_to(&[("w.lua", &plugin(base))], "w", &strs(&bash()));
        assert_eq!(ran.warnings, []);
        assert_eq!(ran.text.lines().next(), Some(expected), "{base}");
    }
}

#[test]
fn only_false_leaves_an_entry_out() {
    for (answer, text) in [("''", "  Bye.\n"), ("' \\n'", "  Bye.\n"), ("false", "")] {
        let plugin = format!("sf.writer('w', {{ entry = function() return {answer} end }})");
        let ran = run_to(&[("w.lua", &plugin)], "w", &[&reply("Bye.")]);
        assert_eq!((ran.text.as_str(), ran.warnings.is_empty()), (text, text.is_empty()), "{answer}");
    }
}

#[test]
fn returned_text_is_cleaned_and_failures_fall_back_to_the_base() {
    for (body, message) in [
        ("error('no')", "no"),
        ("while true do end", "stopped after"),
        ("return {}", "expected a text"),
        ("return w:block(5 .. nope)", "attempt to"),
        ("return w:block(5 .. sf.nope)", "there is no sf.nope"),
        ("return w:block({ type = 'nope' })", "unknown block type"),
    ] {
        let plugin = format!("sf.writer('w', {{\ncode = function(b, w) {body} end }})");
        let ran = run_to(&[("w.lua", &plugin)], "w", &strs(&bash()));
        let plain = run_to(&[], "text", &strs(&bash()));
        assert_eq!(ran.text, plain.text, "{body}");
        assert_eq!(ran.warnings.len(), 1, "{body}: {:?}", ran.warnings);
        let error = ran.warnings[0].to_string();
        assert!(error.contains(message) && error.contains("written by the base writer"), "{body}: {error}");
    }
    let plugin = r#"sf.writer("w", { code = function(b) return "a\27[2J\r\226\128\174b" end })"#;
    let ran = run_to(&[("w.lua", plugin)], "w", &strs(&bash()));
    assert!(ran.text.contains("a␛[2J␍<U+202E>b"), "{:?}", ran.text);
}

#[test]
fn a_block_inside_its_own_function_is_written_by_the_base_and_false_hides() {
    let plugin = r#"sf.writer("w", {
      code = function(b, w) return "<" .. w:block(b) .. ">" end,
      prose = function() return false end,
    })"#;
    let ran = run_to(&[("w.lua", plugin)], "w", &strs(&bash()));
    assert_eq!(ran.warnings, []);
    assert!(ran.text.contains("<fine\n") && !ran.text.contains("Bye."), "{}", ran.text);
}

#[test]
fn of_functions_nested_through_blocks_the_ninth_is_left_to_the_base() {
    let blocks = [
        ("begin", "sf.table(nil, { { 'x' } })"),
        ("table", "sf.list { 'x' }"),
        ("list", "sf.diff('x', 'y')"),
        ("diff", "sf.code('x')"),
        ("code", "sf.details('x', sf.prose('x'))"),
        ("details", "sf.line('x')"),
        ("lines", "sf.prose('x')"),
        ("prose", "sf.prose('# Title')"),
    ];
    let functions = |first: usize| {
        let function = |(part, block): &(&str, &str)| {
            format!("{part} = function(_, w) return '{part} ' .. w:block({block}) end, ")
        };
        let heading = "heading = function() return 'by the script' end";
        let functions: String = blocks[first..].iter().map(function).collect();
        format!(
            "sf.writer('w', {{ {functions}{heading} }})\nsf.view('reply', function() return sf.table(nil, {{ {{ 'x' }} }}) end)"
        )
    };
    for (first, nested) in [
        (1, "table list diff code details lines prose by the script"),
        (0, "begin table list diff code details lines prose # Title"),
    ] {
        let ran = run_to(&[("w.lua", &functions(first))], "w", &[&reply("Hello.")]);
        assert_eq!(ran.warnings, []);
        assert!(ran.text.contains(nested), "{}", ran.text);
    }
}

#[test]
fn only_text_of_the_script_is_written_unchanged() {
    let text = "<b>*x*</b> <<path::x>> \u{1a}0\u{1a}";
    let reply = reply("TEXT").replace("\"TEXT\"", &serde_json::to_string(&format!("# A\n\n{text}")).unwrap());
    let plugin = |base: &str| {
        format!(
            "sf.view('reply', function(item)
                return {{ sf.line(sf.span(item.text:sub(6), 'path')), sf.line(sf.span(item.text:sub(6), 'muted')) }}
             end)
             sf.writer('w', {{ base = '{base}', span = {{ muted = function(s) return s end }} }})"
        )
    };
    let raw = "<b>*x*</b> <<path::x>> ␚0␚";
    for (base, other) in [
        ("text", raw),
        ("markdown", "`<b>*x*</b> <<path::x>> ␚0␚`"),
        ("roles", "<<path::<<b>*x*<</b> <<<<path::x>> ␚0␚>>"),
    ] {
        let ran = run_to(&[("w.lua", &plugin(base))], "w", &[&reply]);
        assert_eq!(ran.warnings, []);
        let lines: Vec<&str> = ran.text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let bare: Vec<&str> = lines.iter().map(|line| line.trim_start_matches("- ")).collect();
        assert!(bare.ends_with(&[other, raw]), "{base}: {}", ran.text);
    }
}

#[test]
fn text_of_several_lines_keeps_the_indentation_of_its_first() {
    let title =
        "sf.writer('w', { base = 'BASE', title = function(t, w) return w:inlines(t) .. '\\n\\nmore' end,
        code = function(b) return '{\\n' .. b.text .. '\\n}' end })";
    for (base, expected) in [
        ("text", "● Bash cargo test\n\n  more\n  └ {\n    fine\n    }\n  Bye.\n"),
        (
            "roles",
            "<<mark.call::●>> Bash cargo test\n\n  more\n  <<mark.output::└>> {\n    fine\n    }\n  Bye.\n",
        ),
        ("markdown", "- Bash cargo test\n\n  more\n  {\n  fine\n  }\n\n## Answer\n\nBye.\n"),
    ] {
        let ran = run_to(&[("w.lua", &title.replace("BASE", base))], "w", &strs(&bash()));
        assert_eq!(ran.warnings, []);
        let found = ran.text.replace("<<reply::Bye.>>", "Bye.");
        assert_eq!(found, expected, "{base}");
    }
}

#[test]
fn a_row_never_breaks_inside_written_text() {
    let source = "
        sf.view('reply', function(item)
            return sf.line(sf.span(item.text, 'path'), sf.span('tail', 'muted'), sf.span('more', 'muted'))
        end)
        sf.writer('said', { base = 'text', span = { muted = function(s) return '<' .. s .. ' of it>' end } })";
    let pack = PluginSource::from_text("said.lua", source);
    let capabilities = OutputCapabilities { width: Some(20), ..OutputCapabilities::default() };
    let engine = Engine::builder().pack(pack).writer("said").capabilities(capabilities).build().unwrap();
    for length in 1..=40 {
        let ran = ran(&engine, &[&reply(&"x".repeat(length))]);
        let text = ran.text;
        assert_eq!(ran.warnings, []);
        assert!(text.contains("<tail of it>") && text.contains("<more of it>"), "{length}: {text:?}");
        assert!(text.lines().all(|row| row.len() <= 20), "{length}: {text:?}");
    }
}

#[test]
fn a_script_makes_no_ci_command_of_foreign_text() {
    let source = "sf.view('reply', function(item) return sf.line(sf.span(item.text, 'muted')) end)
        sf.writer('said', { base = 'text', LOG span = { muted = function(s) return s end } })";
    // Even in a writer for logs, a span's text can't be a command: the base writes the line around it.
    for log in ["", "log = true,"] {
        let capabilities = OutputCapabilities { ci: Ci::Github, ..OutputCapabilities::default() };
        let pack = PluginSource::from_text("said.lua", source.replace("LOG", log));
        let engine = Engine::builder().pack(pack).writer("said").capabilities(capabilities);
        let ran = ran(&engine.build().unwrap(), &[&reply("::error::forged ##[group]x")]);
        assert!(ran.text.contains("forged"), "{}", ran.text);
        assert!(!ran.text.contains("::error::") && !ran.text.contains("##["), "{:?}", ran.text);
    }
}

#[test]
fn wrong_names_and_specs_are_reported() {
    for (source, message) in [
        ("sf.writer('x', { base = 'json' })", "can't be based on"),
        ("sf.writer('x', { haeding = print })", "did you mean \"heading\"?"),
        ("sf.writer('x', { code = 5 })", "code is a function"),
        ("sf.writer('a b', {})", "the name of a writer"),
        ("sf.writer('x', { span = { muted = 5 } })", "roles and functions"),
    ] {
        let ran = run(source, &[]);
        assert!(ran.warnings[0].message.contains(message), "{source}: {}", ran.warnings[0]);
    }
    let built = Engine::builder().writer("jria").pack(PluginSource::from_text("jira.lua", JIRA)).build();
    let problem = built.err().unwrap().to_string();
    assert!(problem.contains("did you mean \"jira\"?"), "{problem}");
}
