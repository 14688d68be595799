//! What scripts receive: items, hooks, the facts of the run, and the functions of `sf`.

use super::*;
use crate::lua::{api, reference};

#[test]
fn inputs_are_read_lazily_and_walked_like_tables() {
    let plugin = r#"
        sf.tool("T", { arg = function(input, call)
          local keys = {}
          for key, value in pairs(input) do keys[#keys + 1] = key end
          local sum = 0
          for _, n in ipairs(input.list) do sum += n end
          for i = 1, #input.list do sum += input.list[i] end
          local copy = input:table()
          assert(type(copy) == "table" and copy.list[2] == 2 and copy.deep.a.b == "x" and copy.nothing == nil)
          assert(input.table == nil or type(input.table) == "function")
          assert(input.deep.a.b == "x" and input.missing == nil and input.yes == true)
          assert(input.id == "9007199254740993" and input.real == 1.5)
          assert(call.input:raw():sub(1, 1) == "{" and call.raw:find("tool_use", 1, true))
          return table.concat(keys, ",") .. "=" .. sum
        end })"#;
    let input = r#"{"list":[1,2,3],"deep":{"a":{"b":"x"}},"nothing":null,"yes":true,"id":9007199254740993,"real":1.5}"#;
    check(
        plugin,
        &[&call("1", "T", input), &result("1", "", false)],
        "<<mark.call::●>> <<tool.name::T>> <<call.arg::list,deep,nothing,yes,id,real=12>>\n<<mark.output::└>> <<result.note::no output>>",
    );
}

#[test]
fn a_view_of_frames_replaces_all_items_of_a_record() {
    let plugin = r#"
        sf.view("frame", function(item)
          local frame = item.frame
          assert(item.raw == sf.raw(frame) and item.line > 0)
          if frame.type == "user" then return nil end
          if frame.type == "result" then return false end
          return sf.text(frame.type .. " " .. (frame.subtype or frame.message and #frame.message.content or "-"))
        end)
        sf.view("unknown", function(item) return sf.text("no frame: " .. item.text) end)"#;
    let [call, result, reply] = bash();
    let retry = r#"{"type":"system","subtype":"api_retry","attempt":1}"#;
    let status = r#"{"type":"system","subtype":"status"}"#;
    let two = assistant(r#"{"type":"text","text":"One."},{"type":"text","text":"Two."}"#);
    let message = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"x"}]}}"#;
    let outcome = r#"{"type":"result","subtype":"success","result":"x"}"#;
    let lines = [&call, &result, &reply, retry, retry, status, &two, message, message, outcome, "no JSON"]
        .map(str::to_owned);
    check(
        plugin,
        &strs(&lines),
        "assistant 1\n<<mark.output::└>> <<result.text::fine>>\nassistant 1\nsystem api_retry\n\
         system api_retry\nsystem status\nassistant 2\nassistant 1\n\
         assistant 1\nno frame: no JSON",
    );
}

#[test]
fn a_view_of_frames_is_filtered_like_the_first_item() {
    let plugin = r#"sf.view("frame", function(item) return sf.text("frame " .. item.line) end)"#;
    let [call, result, reply] = bash();
    let lines = [&call, &result, &reply, r#"{"type":"system","subtype":"status"}"#, &call, &reply];
    for (setting, expected) in [
        ("hide=Bash", "frame 3\nframe 4\nframe 6"),
        ("only=reply", "frame 3\nframe 6"),
        ("hide=notice", "frame 1\n<<mark.output::└>> frame 2\nframe 3\nframe 5\nframe 6"),
    ] {
        let engine = Engine::builder().writer("roles").set("layout.gap=0").set(setting);
        let engine = engine.pack(PluginSource::from_text("p.lua", plugin)).build().unwrap();
        assert_eq!(trimmed(&ran(&engine, &lines).text), expected, "{setting}");
    }
}

#[test]
fn items_and_the_trees_of_their_records_know_no_view_of_frames() {
    let plugin = r#"sf.view("frame", function(item) return "replaced" end)"#;
    let records =
        r#"{\"type\":\"project\",\"name\":\"A\",\"startDate\":\"2026-01-01\",\"endDate\":\"2026-02-01\"}"#;
    let reply = assistant(&format!(r#"{{"type":"text","text":"{records}"}}"#));
    let items = |builder: crate::Builder| {
        let engine = builder.writer("items").set("records=project").build().unwrap();
        ran(&engine, &[&reply]).text
    };
    let expected = items(Engine::builder());
    assert!(expected.contains("\"tree\""), "{expected}");
    assert_eq!(items(Engine::builder().pack(PluginSource::from_text("p.lua", plugin))), expected);
}

#[test]
fn a_view_of_frames_that_fails_leaves_the_record_to_its_items() {
    let plugin = r#"sf.view("frame", function(item) return sf.text(item.frame.message.content[1].name) end)"#;
    let ran = run(plugin, &strs(&bash()));
    assert_eq!(ran.warnings.len(), 1, "{:?}", ran.warnings);
    assert_eq!(trimmed(&ran.text), "Bash\n<<mark.output::└>> <<result.text::fine>>\n<<reply::Bye.>>");
}

#[test]
fn plugins_know_whether_they_write_a_page() {
    let plugin =
        r#"sf.view("reply", function(_, ctx) return sf.text(if ctx.page then "page" else "lines") end)"#;
    for (writer, expected) in [("text", "lines"), ("json", "lines"), ("markdown", "page"), ("html", "page")] {
        let ran = run_with("default", writer, &[("p.lua", plugin)], &[&reply("Hello.")]);
        assert!(ran.text.contains(expected), "{writer}: {}", ran.text);
    }
}

#[test]
fn what_a_call_does_has_the_same_names_for_every_tool() {
    let plugin = r#"
        sf.tool("*", { arg = function(_, call)
          local does, names = call.does, {}
          for name in pairs(does) do names[#names + 1] = name end
          local change = does.changes and does.changes[1]
          local told = change and `{change.old}→{change.new} {change.everywhere}` or does.range and does.range.lines
          return `{does.path} {told} {does.nothing} {table.concat(names, ",")}`
        end })"#;
    check(
        plugin,
        &[
            &call("1", "Edit", r#"{"file_path":"/a","old_string":"x","new_string":"y","replace_all":true}"#),
            &call("2", "MultiEdit", r#"{"file_path":"/b","edits":[{"old_string":"1","new_string":"2"}]}"#),
            &call("3", "Read", r#"{"file_path":"/c","limit":7}"#),
        ],
        "<<mark.call::●>> <<tool.name::Edit>> <<call.arg::/a x→y true nil path,changes>>\n\
         <<mark.call::●>> <<tool.name::MultiEdit>> <<call.arg::/b 1→2 nil nil path,changes>>\n\
         <<mark.call::●>> <<tool.name::Read>> <<call.arg::/c 7 nil path,range>>\n\
         <<mark.warning::▲>> <<notice.warning::3 calls have no result:>> <<notice.text::Edit /a everywhere; MultiEdit /b; Read /c first 7 lines>>",
    );
}

#[test]
fn a_kept_item_is_no_longer_valid() {
    let plugin = r#"
        local kept
        sf.on("call", function(call) kept = kept or call.input end)
        sf.view("reply", function() return kept.command end)"#;
    let ran = run(plugin, &strs(&bash()));
    assert!(ran.text.contains("<<reply::Bye.>>"));
    assert!(ran.warnings[0].message.contains("belongs to an earlier call"), "{}", ran.warnings[0]);
}

#[test]
fn results_have_facts_and_patches() {
    let plugin = r#"
        sf.tool("Edit", { result = function(result, call)
          return { sf.text(call.name .. " " .. result.data.path), sf.patch(result.data.patch) }
        end })"#;
    let structured = r#","tool_use_result":{"filePath":"/a.rs","oldString":"1","newString":"2","structuredPatch":[{"oldStart":7,"oldLines":1,"newStart":7,"newLines":1,"lines":["-1","+2"]}]}}"#;
    let result = result("1", "ok", false);
    let result = format!("{}{structured}", result.strip_suffix('}').unwrap());
    let edit = call("1", "Edit", r#"{"file_path":"/a.rs","old_string":"1","new_string":"2"}"#);
    let ran = run(plugin, &[&edit, &result]);
    assert_eq!(ran.warnings, []);
    for part in ["Edit /a.rs", "<<diff.remove::", "<<diff.add::"] {
        assert!(ran.text.contains(part), "{part} in {}", ran.text);
    }
}

#[test]
fn facts_options_and_helpers_are_available() {
    let plugin = r#"
        sf.view("reply", function(reply, ctx)
          local re = sf.re("(?P<word>B)y(e)")
          local found = re:find(reply.text)
          assert(found.word == "B" and found[2] == "e" and found[0] == "Bye")
          assert(#re:all("Bye Bye") == 2 and re:replace("Bye!", "<$1>") == "<B>!" and re:test("x") == false)
          assert(sf.has("diff") and not sf.has("teleport") and ctx.limits.result_lines ~= 0)
          assert(sf.json("{") == nil and sf.json("[1,[2]]")[2][1] == 2)
          assert(sf.basename("/a/b.rs/") == "b.rs" and sf.first_line("a\nb") == "a")
          assert(sf.count_lines("a\nb\n") == 2 and sf.count_lines("") == 0)
          assert(string.find("a.b", ".", 1, true) == 2 and #string.split("a,b,,c", ",") == 4)
          return table.concat({ ctx.session.model, sf.truncate("häuser", 4), sf.plural(2, "file"),
            sf.plural(1, "entry", "entries"), sf.duration(3400), sf.bytes(2048) }, " ")
        end)"#;
    let init = r#"{"type":"system","subtype":"init","model":"m-1","session_id":"s"}"#;
    let ran = run(plugin, &[init, &reply("Bye")]);
    assert_eq!(ran.warnings, []);
    assert!(ran.text.contains("m-1 häu… 2 files 1 entry 3.4s 2.0 KB"), "{}", ran.text);
}

#[test]
fn hooks_see_each_item_once_and_add_blocks_at_the_end() {
    let plugin = r#"
        local M = sf.plugin { name = "cost-meter", api = 1 }
        M.on("session.start", function(ev, ctx) ctx.state.calls, ctx.state.by = 0, {} end)
        M.on("call", function(call, ctx)
          local s = ctx.state
          s.calls = s.calls + 1
          s.by[call.tool] = (s.by[call.tool] or 0) + 1
        end)
        M.on("session.end", function(ev, ctx)
          local rows = {}
          for tool, n in sf.sorted(ctx.state.by) do rows[#rows + 1] = { tool, n } end
          return sf.table({ "tool", "calls" }, rows, { title = ctx.state.calls .. " calls" })
        end)
        return M"#;
    let mut lines = bash().to_vec();
    lines.push(call("2", "Agent2", "{}"));
    lines.push(lines[0].clone());
    let ran = run(plugin, &strs(&lines));
    assert_eq!(ran.warnings, []);
    let table = &ran.text[ran.text.find("<<details").unwrap()..];
    assert_eq!(
        trimmed(table).split_whitespace().collect::<Vec<_>>().join(" "),
        "<<details.summary::2 calls>> <<table.head::tool>> <<table.head::calls>> Agent2 1 Bash 1"
    );
}

#[test]
fn blocks_of_hooks_follow_their_item_and_views_may_not_write() {
    let plugin = r#"
        sf.on("result", function(result, ctx)
          ctx.state.n = (ctx.state.n or 0) + 1
          return sf.note("info", `{ctx.state.n} after {result.call.tool}`)
        end)
        sf.view("reply", function(reply, ctx) ctx.state.n = 5 return "never" end)"#;
    let ran = run(plugin, &strs(&bash()));
    assert!(
        ran.text.contains("<<notice::1 after Bash>>") && ran.text.contains("<<reply::Bye.>>"),
        "{}",
        ran.text
    );
    assert_eq!(ran.warnings.len(), 1);
    assert!(ran.warnings[0].message.contains("readonly"), "{}", ran.warnings[0]);
}

/// The message and line of the script's only warning.
fn misused(source: &str) -> (String, usize) {
    let lines = bash();
    let init = r#"{"type":"system","subtype":"init","model":"m-1","session_id":"s"}"#;
    let outcome = r#"{"type":"result","subtype":"success","is_error":false,"result":"x","session_id":"s"}"#;
    let ran = run(source, &[init, &lines[0], &lines[1], &lines[2], outcome]);
    assert_eq!(ran.warnings.len(), 1, "{source}: {:?}", ran.warnings);
    let warning = ran.warnings.into_iter().next().unwrap();
    (warning.message, warning.place.unwrap().1)
}

#[test]
fn an_unknown_field_is_an_error_with_a_suggestion() {
    for (hook, read, message) in [
        (
            "sf.tool('Bash', { result = function(it, call, ctx)",
            "it.txt",
            "a result has no field `txt` (did you mean `text`?)",
        ),
        (
            "sf.tool('Bash', { result = function(it, call, ctx)",
            "it.stdout",
            "a result has no field `stdout` (did you mean `data.stdout`?)",
        ),
        ("sf.tool('Bash', { result = function(it, call, ctx)", "it.xyzzy", "a result has no field `xyzzy`"),
        (
            "sf.tool('Bash', { result = function(it, call, ctx)",
            "call.nme",
            "a call has no field `nme` (did you mean `name`?)",
        ),
        (
            "sf.tool('Bash', { summary = function(it, call, ctx)",
            "it.call.tol",
            "a call has no field `tol` (did you mean `tool`?)",
        ),
        (
            "sf.tool('Bash', { call = function(it, ctx)",
            "it.command",
            "a call has no field `command` (did you mean `input.command`?)",
        ),
        (
            "sf.tool('Bash', { label = function(it, ctx)",
            "ctx.sesion",
            "there is no ctx.sesion (did you mean `ctx.session`?)",
        ),
        (
            "sf.tool('Bash', { label = function(it, ctx)",
            "ctx.session.vesion",
            "there is no ctx.session.vesion (did you mean `ctx.session.version`?)",
        ),
        (
            "sf.tool('Bash', { label = function(it, ctx)",
            "ctx.session.usage.inputs",
            "there is no ctx.session.usage.inputs (did you mean `ctx.session.usage.input`?)",
        ),
        (
            "sf.tool('Bash', { label = function(it, ctx)",
            "ctx.limits.result_line",
            "there is no ctx.limits.result_line (did you mean `ctx.limits.result_lines`?)",
        ),
        (
            "sf.tool('Bash', { label = function(it, ctx)",
            "ctx.options.columns",
            "there is no ctx.options.columns (a plugin declares its options in plugin.toml)",
        ),
        (
            "sf.tool('Bash', { label = function(it, ctx)",
            "sf.tabel",
            "there is no sf.tabel (did you mean `sf.table`?)",
        ),
        (
            "sf.tool('Bash', { label = function(it, ctx)",
            "sf.item.repl",
            "there is no sf.item.repl (did you mean `sf.item.reply`?)",
        ),
        ("sf.view('reply', function(it)", "it.texts", "a reply has no field `texts` (did you mean `text`?)"),
        (
            "sf.view('outcome', function(it)",
            "it.turns",
            "an outcome has no field `turns` (did you mean `data.turns`?)",
        ),
        ("sf.on('call', function(it)", "it.inputs", "a call has no field `inputs` (did you mean `input`?)"),
        ("sf.on('session.end', function(it)", "it.time", "there is no event.time"),
    ] {
        let end = if hook.contains("sf.tool") { "})" } else { ")" };
        let source = format!("{hook}\nlocal x = {read}\nend {end}");
        let (warning, line) = misused(&source);
        assert!(warning.starts_with(message), "{source}: {warning}");
        assert_eq!(line, 2, "{source}");
    }
}

#[test]
fn inputs_and_facts_may_have_any_name_and_kinds_share_functions() {
    let plugin = r#"
        local seen = {}
        local function see(item, ctx)
          assert(item.data.nothing == nil and item.took == nil and item.result == nil)
          assert(ctx.state.nothing == nil and (ctx.limits.notice_lines == nil or ctx.limits.notice_lines > 0))
          if item.kind == "call" then assert(item.input.nothing == nil and item.call == nil) end
          if item.kind == "reply" then assert(item.tool == nil and item.input == nil and item.call == nil) end
        end
        for _, kind in { "call", "result", "reply" } do sf.on(kind, see) end"#;
    check(plugin, &strs(&bash()), BASH);
}

#[test]
fn arguments_are_refused_in_the_terms_of_lua() {
    for (call, message) in [
        ("sf.first_line(nil)", "sf.first_line: argument 1 must be a string, got nil"),
        ("sf.first_line({})", "sf.first_line: argument 1 must be a string, got table"),
        ("sf.truncate('a')", "sf.truncate: argument 2 must be a number, got nil"),
        ("sf.text(it)", "sf.text: argument 1 must be a string, got userdata"),
        ("sf.text('a', {})", "sf.text: argument 2 must be a string or nil, got table"),
        ("sf.code('a', 'b', 'c')", "sf.code: argument 3 must be a table or nil, got string"),
        ("sf.prose(nil)", "sf.prose: argument 1 must be a string, got nil"),
        ("sf.link('a')", "sf.link: argument 2 must be a string, got nil"),
        ("sf.header('a')", "sf.header: argument 1 must be a call or nil, got string"),
        ("sf.list('a')", "sf.list: argument 1 must be a table, got string"),
        ("sf.duration('soon')", "sf.duration: argument 1 must be a number, got string"),
        ("sf.trim()", "sf.trim: argument 1 must be a string, got nil"),
        ("sf.json_encode(print)", "sf.json_encode: a function can't be kept"),
        ("sf.re('a'):test(nil)", "re:test: argument 1 must be a string, got nil"),
        ("string.split(nil, ',')", "invalid argument #1 to 'split' (string expected, got nil)"),
        ("string.find(nil, 'a', 1, true)", "invalid argument #1 to 'find' (string expected, got nil)"),
    ] {
        let (warning, line) =
            misused(&format!("sf.tool('Bash', {{ label = function(it)\nlocal x = {call}\nend }})"));
        assert_eq!((warning.as_str(), line), (message, 2), "{call}");
    }
    for (call, message) in [
        ("sf.tool({}, 'Bash')", "sf.tool: argument 1 must be a string, got table"),
        ("sf.tool('Bash')", "sf.tool: argument 2 must be a table, got nil"),
        ("sf.view('reply', {})", "sf.view: argument 2 must be a function, got table"),
        ("sf.on('reply', nil)", "sf.on: argument 2 must be a function, got nil"),
        ("sf.plugin('name')", "sf.plugin: argument 1 must be a table, got string"),
    ] {
        let ran = run(&format!("\n{call}"), &[]);
        let place = ran.warnings[0].place.as_ref().map(|place| place.1);
        assert_eq!((ran.warnings[0].message.as_str(), place), (message, Some(2)), "{call}");
    }
}

#[test]
fn missing_and_forbidden_features_have_hints() {
    for (line, message) in [
        ("local x = os.time()", "there is no `os`"),
        ("local x = io.open('x')", "there is no `io`"),
        ("local x = require('x')", "there is no `require` in a plugin of one file"),
        ("local x = load('x')", "there is no `load`"),
        ("ctx.state.n = 1", "only functions of sf.on may write ctx.state"),
        ("sf.text = 1", "nothing of sf, ctx and the libraries can be changed"),
        ("call.input.command = 'x'", "`:table()` of an input gives a copy"),
        ("call.input = {}", "an item can't be changed"),
        ("call.tool = 'x'", "an item can't be changed"),
        ("call.data.stdout = 'x'", "what the stream says can't be changed"),
        ("ctx.session.model = 'x'", "can't be changed"),
        (
            "local x = call.default().input.command",
            "attempt to index nil with 'command': only a call has an input",
        ),
    ] {
        let (warning, place) =
            misused(&format!("sf.tool('Bash', {{ call = function(call, ctx)\n{line}\nend }})"));
        assert!(warning.contains(message), "{line}: {warning}");
        assert_eq!(place, 2, "{line}");
    }
    // A nil of the script's own gets no such hint.
    let (warning, _) =
        misused("sf.tool('Bash', { call = function(call)\nlocal chaos = nil return chaos.time end })");
    assert_eq!(warning, "attempt to index nil with 'time'");
}

#[test]
fn values_are_written_as_json_and_as_lua() {
    let plugin = r#"
        sf.tool("T", { label = function(call)
          assert(sf.json_encode({ 1, "a\n", { b = true } }) == '[1,"a\\n",{"b":true}]')
          assert(sf.json_encode(call.input) == '{"z":1.50,"a":[]}' and sf.json_encode(nil) == "null")
          assert(sf.json_encode({ x = call.input.a, c = 1 }) == '{"c":1,"x":[]}' and sf.json_encode({}) == "{}")
          assert(sf.inspect({ 1, "a", z = { true }, b = 2, ["x y"] = {} }) == '{ 1, "a", ["x y"] = {}, b = 2, z = { true } }')
          assert(sf.inspect(nil) == "nil" and sf.inspect(call) == "call T" and sf.inspect(call.input.a) == "[]")
          local deep = {} deep.deep = deep
          assert(#sf.inspect(deep) < 100 and #sf.inspect(string.rep("x", 100000)) < 4010)
          assert(sf.trim(" \t a b\r\n") == "a b" and sf.trim("") == "")
          return "fine"
        end })"#;
    let ran = run(plugin, &[&call("1", "T", r#"{"z":1.50,"a":[]}"#)]);
    assert_eq!(ran.warnings, []);
    assert!(ran.text.contains("<<tool.name::fine>>"), "{}", ran.text);
}

#[test]
fn results_have_durations_and_changes_have_line_counts() {
    let at =
        |line: &str, time: &str| format!(r#"{},"timestamp":"{time}"}}"#, line.strip_suffix('}').unwrap());
    let plugin = r#"sf.tool("*", { summary = function(r, c)
        assert(c.took == nil and r.data.took_ms == r.took)
        return `{r.took} {r.data.added} {r.data.removed}` end })"#;
    let structured = |rest: &str| {
        format!(r#"{},"tool_use_result":{rest}}}"#, result("1", "ok", false).strip_suffix('}').unwrap())
    };
    let patch = r#"{"filePath":"/a","structuredPatch":[{"lines":["-1","+2","+3"," 4"]},{"lines":["-5"]}]}"#;
    let new = r#"{"type":"create","filePath":"/a","content":"1\n2\n3","structuredPatch":[]}"#;
    let edit = call("1", "Edit", r#"{"file_path":"/a"}"#);
    let (start, end) = ("2026-01-02T03:04:05.250Z", "2026-01-02T04:04:07+01:00");
    for (call, result, expected) in [
        (at(&edit, start), at(&structured(patch), end), "1750 2 2"),
        (edit.clone(), at(&structured(new), end), "nil 3 0"),
        (at(&edit, end), at(&structured("{}"), start), "nil nil nil"),
        (at(&edit, "soon"), at(&structured("[1]"), end), "nil nil nil"),
        (at(&edit, start), structured(r#"{"structuredPatch":5}"#), "nil nil nil"),
    ] {
        let ran = run(plugin, &[&call, &result]);
        assert_eq!(ran.warnings, []);
        assert!(ran.text.contains(&format!("<<result.note::{expected}>>")), "{expected}: {}", ran.text);
    }
}

#[test]
fn every_function_and_field_is_described() {
    let types = reference::types();
    for row in api::FUNCTIONS {
        assert!(
            row.doc.ends_with('.') && types.contains(&format!("function sf.{}(", row.name)),
            "{}",
            row.name
        );
    }
    let names: Vec<_> = api::FUNCTIONS.iter().map(|row| format!("assert(sf.{})", row.name)).collect();
    assert_eq!(run(&names.join("\n"), &[]).warnings, []);
    let fields = |of: &[&str], value: &str| -> String {
        let fields = api::FIELDS.iter().filter(|field| of.contains(&field.of));
        let needed = fields.filter(|field| !field.kind.ends_with('?') || field.name == "call");
        needed
            .map(|field| format!("assert({value}.{} ~= nil, '{}')", field.name, field.name))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let plugin = format!(
        "sf.on('call', function(call, ctx) {} {} end) sf.on('result', function(result) {} end)",
        fields(&["Item", "Call"], "call"),
        fields(&["Context"], "ctx"),
        fields(&["Item", "Result"], "result"),
    );
    assert_eq!(run(&plugin, &strs(&bash())).warnings, []);
}

#[test]
fn a_shebang_line_keeps_the_line_numbers() {
    let ran = run("#!/usr/bin/env luau\n\nerror('x')", &[]);
    assert_eq!(ran.warnings[0].place.as_ref().map(|place| place.1), Some(3));
}

#[test]
fn a_manifest_may_require_each_function() {
    let names: Vec<&str> = api::FUNCTIONS.iter().map(|row| row.name).collect();
    assert_eq!(names, *crate::plugin::manifest::FEATURES);
}
