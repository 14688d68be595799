//! What scripts are given: items, hooks, the facts of the run, and the functions of `sf`.

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
        "<<mark.call::●>> <<tool.name::T>> <<call.arg::list,deep,nothing,yes,id,real=12>>\n<<result.note::no output>>",
    );
}

#[test]
fn an_item_that_was_kept_is_no_longer_good() {
    let plugin = r#"
        local kept
        sf.on("call", function(call) kept = kept or call.input end)
        sf.view("reply", function() return kept.command end)"#;
    let ran = run(plugin, &strs(&bash()));
    assert!(ran.text.contains("<<reply::Bye.>>"));
    assert!(ran.warnings[0].message.contains("of an earlier call"), "{}", ran.warnings[0]);
}

#[test]
fn results_know_their_facts_and_patches() {
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
fn facts_options_and_helpers_are_at_hand() {
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
fn hooks_see_each_item_once_and_say_things_at_the_end() {
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
fn blocks_of_hooks_stand_under_their_item_and_views_may_not_write() {
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
fn an_old_name_goes_on_working_and_tells_once() {
    let plugin = "sf.view('reply', function(r)\nreturn sf.markdown(r.text .. '!') end)";
    let ran = run(plugin, &strs(&[reply("a"), reply("b")]));
    assert_eq!(ran.warnings, []);
    assert!(ran.text.contains("a!") && ran.text.contains("b!"), "{}", ran.text);
    assert_eq!(ran.printed, ["p.lua: p.lua:2: sf.markdown is called sf.prose now"]);
}

#[test]
fn a_first_line_for_the_shell_keeps_the_numbers_of_the_others() {
    let ran = run("#!/usr/bin/env luau\n\nerror('x')", &[]);
    assert_eq!(ran.warnings[0].place.as_ref().map(|place| place.1), Some(3));
}
