//! Formatting of calls and results: single fields, whole views, layers, and defaults.

use super::*;

#[test]
fn a_few_fields_change_how_a_tool_is_shown() {
    check(
        r#"sf.tool("Bash", { label = "sh", arg = function(input) return input.command end })"#,
        &strs(&bash()),
        "<<mark.call::●>> <<tool.name::sh>> <<call.arg::cargo test>>\n<<mark.output::└>> <<result.text::fine>>\n<<reply::Bye.>>",
    );
    check(
        r#"sf.tool("Bash", { label = "{tool}!", arg = "$ {command}", summary = "{lines}: {text}", icon = "$" })"#,
        &strs(&bash()),
        "<<mark.call::●>> <<tool.icon::$ >><<tool.name::Bash!>> <<call.arg::$ cargo test>>\n\
         <<mark.output::└>> <<result.note::1: fine>>\n<<reply::Bye.>>",
    );
}

#[test]
fn a_separate_result_names_its_call_as_that_was_shown() {
    let lines =
        [call("1", "A", "{}"), call("2", "A", "{}"), result("1", "one", false), result("2", "two", false)];
    check(
        "local n = 0 sf.tool('A', { label = function() n += 1 return '#' .. n end, arg = function() return false end })",
        &strs(&lines),
        "<<mark.call::●>> <<tool.name::#1>>\n<<mark.call::●>> <<tool.name::#2>>\n\
         <<mark.result::↳>> <<tool.name::#1>><<result.note:: · one>>\n\
         <<mark.result::↳>> <<tool.name::#2>><<result.note:: · two>>",
    );
}

#[test]
fn handles_of_one_item_are_equal() {
    let plugin = r#"
        local last
        sf.tool("A", {
          arg = function(input, call) last = call assert(input ~= call) return type(call) end,
          label = function(call) assert(call == last) return tostring(call) end,
          result = function(result, call)
            assert(result.call == call and call.call == nil and call.result == nil and result ~= call)
            for _, wrong in {
              function() call.x = 1 end, function() setmetatable(call, {}) end, function() return pairs(call) end,
              function() for _ in call do end end, function() return #call end, function() return last.tool end,
            } do assert(not pcall(wrong)) end
            assert(getmetatable(call) == false)
            return tostring(result)
          end })"#;
    check(
        plugin,
        &[&call("1", "A", "{}"), &result("1", "one", false)],
        "<<mark.call::●>> <<tool.name::call A>> <<call.arg::userdata>>\n<<mark.output::└>> result A",
    );
}

#[test]
fn a_failure_keeps_its_message_beside_a_summary() {
    let plugin = r#"sf.tool("Bash", { summary = "{lines} lines" })"#;
    let failed = result("1", "Exit code 101\nerror: no", true);
    check(
        plugin,
        &strs(&[call("1", "Bash", r#"{"command":"cargo test"}"#), failed]),
        "<<mark.call::●>> <<tool.name::Bash>> <<call.command::cargo test>>\n\
         <<mark.error::✗>> <<result.error::exit 101>><<result.note:: · 2 lines>>\n\
         <<result.error.text::error: no>>",
    );
    let refused = result("1", "<tool_use_error>not allowed</tool_use_error>", true);
    check(
        plugin,
        &strs(&[call("1", "Bash", r#"{"command":"ls"}"#), refused]),
        "<<mark.call::●>> <<tool.name::Bash>> <<call.command::ls>>\n\
         <<mark.error::✗>> <<result.error::not allowed>><<result.note:: · 1 lines>>",
    );
}

#[test]
fn a_pattern_matches_several_tools_and_nil_falls_through() {
    let plugin = r##"
        sf.tool("mcp__github__*", {
          label = function(call) return "gh " .. call.tool end,
          arg = function(input)
            if not input.number then return nil end
            return { sf.span(input.owner .. "/" .. input.repo, "muted"), sf.span("#" .. input.number, "call.arg") }
          end,
          summary = function(result)
            if result.error then return nil end
            local body = sf.json(result.text)
            return body and sf.text(body.title or "(no title)", "muted")
          end,
        })"##;
    let lines = [
        call("1", "mcp__github__get_issue", r#"{"owner":"o","repo":"r","number":5}"#),
        result("1", r#"{"title":"Broken","more":[1,{"a":2}]}"#, false),
        call("2", "mcp__github__list", r#"{"q":"x"}"#),
        result("2", "no JSON", false),
    ];
    check(
        plugin,
        &strs(&lines),
        "<<mark.call::●>> <<tool.name::gh get_issue>> <<muted::o/r>> <<call.arg::#5>>\n<<mark.output::└>> <<muted::Broken>>\n\
         <<mark.call::●>> <<tool.name::gh list>> <<call.arg::x>>\n<<mark.output::└>> <<result.note::no JSON>>",
    );
}

#[test]
fn a_whole_view_has_blocks_and_an_empty_result_is_hidden() {
    let plugin = r#"
        sf.tool("@edit", {
          call = function(call, ctx)
            local i = call.input
            if call.partial or #i.old_string > 20000 then return nil end
            return { sf.header(call, sf.path(i.file_path)),
                     sf.diff(i.old_string, i.new_string, { path = i.file_path, context = 1 }) }
          end,
          result = function(result)
            if result.error then return sf.note("error", result.text) end
            return false
          end,
        })"#;
    let edit = r#"{"file_path":"/w/a.rs","old_string":"1\n2\n3\n4","new_string":"1\n2\nX\n4"}"#;
    let init = r#"{"type":"system","subtype":"init","cwd":"/w","session_id":"s"}"#.to_owned();
    let lines = [
        init,
        call("1", "Edit", edit),
        result("1", "done", false),
        call("2", "Edit", edit),
        result("2", "no such file", true),
    ];
    let ran = run(plugin, &strs(&lines));
    assert_eq!(ran.warnings, []);
    let diff = "<<mark.call::●>> <<tool.name::Edit>> <<call.arg::a.rs>>\n\
         <<diff.keep::  2>>\n<<diff.remove::- 3>>\n<<diff.add::+ X>>\n<<diff.keep::  4>>";
    assert_eq!(
        trimmed(ran.text.split_once('\n').unwrap().1),
        format!("{diff}\n{diff}\n<<mark.error::✗>> <<result.error::no such file>>")
    );
    assert_eq!(ran.report.hidden.get("result"), Some(&1));
}

#[test]
fn each_field_is_answered_by_the_highest_layer_that_has_an_answer() {
    let low = r#"sf.tool("Bash", { label = "low", arg = "low {command}" })"#;
    let high = r#"
        sf.tool("B*", { label = "glob" })
        sf.tool("@run", { label = "action", arg = "never" })
        sf.tool("Bash", { arg = function() return nil end, summary = "high" })
        sf.tool("*", { summary = "star" })"#;
    let ran = run_with("default", "roles", &[("low", low), ("high", high)], &strs(&bash()));
    assert_eq!(
        trimmed(&ran.text),
        "<<mark.call::●>> <<tool.name::glob>> <<call.arg::never>>\n<<mark.output::└>> <<result.note::high>>\n<<reply::Bye.>>"
    );
    let later = r#"sf.tool("Bash", { label = "1" }) sf.tool("Bash", { label = "2" })"#;
    assert!(run(later, &strs(&bash())).text.contains("<<tool.name::2>>"));
}

fn rule(pattern: &str, fields: &[(&str, &str)]) -> ToolRule {
    let origin = Origin { file: "team.toml".to_owned(), line: 7 };
    let mut rule = ToolRule::new(pattern, origin.clone());
    rule.fields.extend(fields.iter().map(|(name, value)| {
        let value = rule::RuleValue { value: (*value).to_owned(), origin: origin.clone() };
        (name.parse().unwrap(), value)
    }));
    rule
}

#[test]
fn a_profile_formats_tools_without_a_script() {
    let shell =
        [("label", "sh"), ("arg", "/command"), ("summary", "{lines}: {text}"), ("role", "tool.shell")];
    let engine = Engine::builder()
        .writer("roles")
        .set("layout.gap=0")
        .tool(rule("@run", &[("label", "never"), ("icon", "$")]))
        .tool(rule("Bash", &shell))
        .build()
        .unwrap();
    let text = written(&engine, &strs(&bash()));
    assert_eq!(
        trimmed(&text),
        "<<mark.call::●>> <<tool.icon::$ >><<tool.shell::sh>> <<call.arg::cargo test>>\n\
         <<mark.output::└>> <<result.note::1: fine>>\n<<reply::Bye.>>"
    );
}

#[test]
fn layers_rank_plugins_profile_user_project_and_run() {
    let label =
        |name: &str| PluginSource::from_text(name, format!("sf.tool('Bash', {{ label = '{name}' }})"));
    let expected = [(None, "pack"), (Some("profile"), "profile"), (Some("user"), "user")];
    let mut builder = Engine::builder().writer("roles").pack(label("pack"));
    for (added, expected) in expected.into_iter().chain([(Some("project"), "project"), (Some("run"), "run")])
    {
        builder = match added {
            None => builder,
            Some("profile") => builder.tool(rule("*", &[("label", "profile")])),
            Some("user") => builder.pack_at(PluginLayer::User, label("user")),
            Some("project") => builder.pack_at(PluginLayer::Project, label("project")),
            // Layers take precedence over the order of additions.
            _ => builder.pack_at(PluginLayer::Run, label("run")).pack(label("pack2")),
        };
        let text = written(&builder.clone().build().unwrap(), &strs(&bash()));
        assert!(text.contains(&format!("<<tool.name::{expected}>>")), "{expected}: {text}");
    }
}

fn written(engine: &Engine, lines: &[&str]) -> String {
    let mut pipeline = Pipeline::new(engine.setup());
    let mut text = String::new();
    pipeline.push(lines.join("\n").as_bytes(), &mut text).unwrap();
    pipeline.finish(&mut text).unwrap();
    assert_eq!(engine.journal().take(), []);
    text
}

#[test]
fn default_is_the_view_of_the_layers_below() {
    let low = r#"sf.tool("Bash", { call = function(call) return { sf.header(call, "low"), "body" } end })"#;
    let high = r#"
        sf.tool("*", { call = function(call)
          local view = call:default()
          table.insert(view, sf.details("more", { sf.code("x = 1", "lua"), sf.list { "a", { text = "b", point = "done" } } }))
          return view
        end })"#;
    let ran = run_with("default", "roles", &[("low", low), ("high", high)], &strs(&bash()[..1]));
    assert_eq!(ran.warnings, []);
    let lines = trimmed(&ran.text);
    assert!(lines.starts_with("<<mark.call::●>> <<tool.name::Bash>> <<call.arg::low>>\n"), "{lines}");
    for part in ["body", "<<details.summary::more>>", "x = 1"] {
        assert!(lines.contains(part), "{part} in {lines}");
    }
    // Returned unchanged, the default looks the same.
    let same = r#"
        local same = function(item) return item:default() end
        sf.tool("*", { call = same, result = same })
        sf.view("reply", same)"#;
    assert_eq!(run(same, &strs(&bash())).text, run("", &strs(&bash())).text);
    let edit = call("1", "Edit", r#"{"file_path":"/a.rs","old_string":"1\n2","new_string":"1\n3"}"#);
    for profile in ["default", "full", "ci"] {
        let with = |source| run_with(profile, "roles", &[("p", source)], &[&edit]).text;
        assert_eq!(with(same), with(""), "{profile}");
    }
}

#[test]
fn default_of_a_call_inside_its_result_is_that_of_the_call() {
    let low = r#"sf.tool("Bash", { call = function(call) return sf.header(call, `{call.kind} low`) end })"#;
    let high = r#"sf.tool("Bash", {
        arg = function(input, call) return call.kind end,
        result = function(result, call)
          local before = result.text
          local said = { sf.text("was:"), call:default(), result.call:default(), result:default() }
          assert(result.text == before and call.input.command == "cargo test")
          return said
        end })"#;
    let title = "<<mark.call::●>> <<tool.name::Bash>> <<call.arg::call>>";
    let ran = run_with("default", "roles", &[("high", high)], &strs(&bash()[..2]));
    assert_eq!(ran.warnings, []);
    assert_eq!(
        trimmed(&ran.text),
        format!(
            "{title}\n<<mark.output::└>> was:\n{0}\n{0}\n<<result.text::fine>>",
            "<<tool.name::Bash>> <<call.arg::call>>"
        )
    );
    // A plugin above sees the call as formatted by the plugin below, but not the other way round.
    let low_title = "<<tool.name::Bash>> <<call.arg::call low>>";
    let both = run_with("default", "roles", &[("low", low), ("high", high)], &strs(&bash()[..2]));
    assert!(both.text.contains(&format!("was:\n    {low_title}\n")), "{}", both.text);
    let turned = run_with("default", "roles", &[("high", high), ("low", low)], &strs(&bash()[..2]));
    assert!(turned.text.contains("was:\n    <<tool.name::Bash>> <<call.arg::call>>\n"), "{}", turned.text);
    assert_eq!((both.warnings.len(), turned.warnings.len()), (0, 0));
}

#[test]
fn a_list_in_one_line_gets_no_blank_that_it_has_or_does_not_want() {
    for (summary, line) in [
        ("{ 'a', 'b' }", "a b"),
        ("{ sf.span('2 passed'), ', ', sf.span('1 failed') }", "2 passed, 1 failed"),
        ("{ '2 passed', ',', '1 failed' }", "2 passed, 1 failed"),
        ("{ 'a ', 'b', ' c', nil, '(', 'd', ')' }", "a b c (d)"),
        ("{ 'a', '', 'b' }", "a b"),
        ("sf.line('a', 'b')", "ab"),
    ] {
        let source = format!("sf.tool('Bash', {{ summary = function() return {summary} end }})");
        let ran = run_with("default", "text", &[("p.lua", &source)], &strs(&bash()));
        assert_eq!(
            (ran.warnings, trimmed(&ran.text).lines().nth(1)),
            (Vec::new(), Some(&*format!("└ {line}"))),
            "{summary}"
        );
    }
}

#[test]
fn links_keep_their_address_in_every_output() {
    let plugin = r#"
        sf.tool("Bash", { summary = function() return { sf.link("docs", "https://a.example/x?a=1&b=2"), "ok" } end })
        sf.view("reply", function() return {
          sf.line("see ", sf.link("here", "https://b.example"), "."),
          sf.list { sf.link("point", "mailto:a@b.example"), sf.link("bad", "javascript:alert(1)") },
          sf.table({ "cell" }, { { sf.link("c", "https://c.example") } }),
          sf.details(sf.link("more", "https://d.example"), { sf.link("https://e.example", "https://e.example") }),
        } end)"#;
    for (profile, writer, parts) in [
        (
            "default",
            "text",
            &[
                "● Bash cargo test\n  └ docs (https://a.example/x?a=1&b=2) ok\n",
                "see here (https://b.example).",
                "• point (mailto:a@b.example)\n  • bad\n",
                "c (https://c.example)",
                "more (https://d.example)\n    https://e.example\n",
            ][..],
        ),
        (
            "default",
            "markdown",
            &[
                "· [docs](https://a.example/x?a=1&amp;b=2) ok\n",
                "see [here](https://b.example).",
                "- [point](mailto:a@b.example)\n- bad `javascript:alert(1)`\n",
                "[c](https://c.example)",
                "<summary><a href=\"https://d.example\">more</a></summary>",
                "[https://e.example](https://e.example)",
            ],
        ),
        (
            "default",
            "html",
            &[
                "href=\"https://a.example/x?a=1&amp;b=2\">",
                "href=\"https://b.example\">",
                "href=\"mailto:a@b.example\">",
                "href=\"https://c.example\">",
                "href=\"https://d.example\">",
                "href=\"https://e.example\">",
            ],
        ),
        ("plain", "text", &["docs (https://a.example/x?a=1&b=2) ok", "here (https://b.example)"]),
    ] {
        let ran = run_with(profile, writer, &[("p.lua", plugin)], &strs(&bash()));
        assert_eq!(ran.warnings, []);
        for part in parts {
            assert!(ran.text.contains(part), "{profile} {writer}: {part:?} in {}", ran.text);
        }
        assert!(!ran.text.contains("href=\"javascript"), "{}", ran.text);
    }
}
