//! Restrictions that no script can evade.

use super::*;

#[test]
fn returned_text_is_cleaned() {
    let plugin = r#"sf.tool("Bash", { label = "\27[2Jsh\r", call = function(call)
        return { sf.header(call, sf.link("a\7b", "http://\27x")), sf.code("x\27]0;t\7\nb"), sf.prose("\226\128\174evil") }
      end })"#;
    let ran = run(plugin, &strs(&bash()));
    assert_eq!(ran.warnings, []);
    assert!(!ran.text.contains(['\u{1b}', '\u{7}', '\r', '\u{202e}']), "{:?}", ran.text);
    assert!(ran.text.contains("a␇b") && ran.text.contains("<U+202E>evil"), "{}", ran.text);
}

#[test]
fn endless_scripts_are_stopped_wherever_they_run() {
    for body in [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "coroutine.wrap(function() while true do end end)()",
        "local function f() return f() end f()",
        "xpcall(function() while true do end end, function() while true do end end)",
        "string.find(('a'):rep(100000), ('.-'):rep(20) .. 'b')",
        "for _ = 1, 1e9 do pcall(error, 'x') end",
        "error(setmetatable({}, { __tostring = function() while true do end end }))",
        "local t = setmetatable({}, { __index = function(t, k) return t[k + 1] end }) pcall(function() return t[1] end) while true do end",
    ] {
        let source = format!("sf.tool('Bash', {{ label = function() {body} end }})");
        let ran = run(&source, &strs(&bash()));
        assert_eq!(trimmed(&ran.text), BASH, "{body}");
        assert_eq!(ran.warnings.len(), 1, "{body}");
    }
}

#[test]
fn memory_is_limited_and_freed() {
    for body in [
        // Each loop ends by itself, long before its steps run out.
        "local t = {} for at = 1, 400 do t[at] = table.create(10000, 1) end",
        "local s = 'x' for _ = 1, 26 do s = s .. s end",
        "local t = {} for at = 1, 64 do t[at] = ('x'):rep(1000000) .. at end",
        "return table.create(2 ^ 26, 1)",
        // Values that the host creates for a script count too.
        "local text = '[' .. ('[],'):rep(340000) .. '1]' return sf.json(text), sf.json(text)",
    ] {
        let source = format!(
            "local n = 0\nsf.tool('Bash', {{ label = function() n += 1 if n > 1 then return 'again' end {body} end }})"
        );
        let lines = [call("1", "Bash", "{}"), call("2", "Bash", "{}")];
        let ran = run(&source, &strs(&lines));
        assert_eq!((ran.warnings.len(), ran.failures), (1, 1), "{body}");
        assert!(ran.warnings[0].message.contains("32 MiB"), "{body}: {}", ran.warnings[0]);
        assert!(ran.text.contains("<<tool.name::again>>"), "{body}: {}", ran.text);
    }
}

#[test]
fn only_what_a_formatter_needs_exists() {
    let plugin = r#"
        for _, name in { "io", "os", "package", "debug", "buffer", "vector", "require", "load", "loadstring", "dofile", "loadfile",
            "getfenv", "setfenv", "newproxy", "gcinfo", "collectgarbage" } do
          if _G[name] ~= nil then print(name) end
        end
        for _, t in { _G, string, table, math, sf, getmetatable("").__index } do
          if type(t) == "table" and pcall(function() t.poison = 1 end) and t ~= _G then print("writable") end
        end
        assert(not pcall(string.rep, "x", 2^30) and not pcall(table.move, {}, 1, 2^30, 2))
        assert(not pcall(string.find, ("x"):rep(2^20) .. "y", "x") and not pcall(string.match, "x", ("x"):rep(257)))
        assert(not pcall(sf.re, ("x"):rep(300)) and not pcall(sf.re, "(a{1000}){1000}"))
        print(math.random(1000000))"#;
    let first = run(plugin, &[]);
    assert_eq!(first.warnings, []);
    assert_eq!(first.printed.len(), 1, "{:?}", first.printed);
    assert_eq!(first.printed, run(plugin, &[]).printed);
}

#[test]
fn no_reachable_name_looks_like_an_escape() {
    let plugin = r#"
        local bad = { load = 1, open = 1, exec = 1, execute = 1, popen = 1, system = 1, spawn = 1, fetch = 1, connect = 1, socket = 1,
          getenv = 1, environ = 1, remove = 1, rename = 1, exit = 1, dofile = 1, loadfile = 1, loadstring = 1, require = 1,
          getregistry = 1, sethook = 1, getupvalue = 1, setupvalue = 1, getfenv = 1, setfenv = 1, newproxy = 1, collectgarbage = 1,
          gcinfo = 1, clock = 1, time = 1, date = 1, tmpname = 1, read = 1, write = 1, dump = 1, loadlib = 1, ffi = 1, jit = 1 }
        local fine = { [table] = { remove = true } }
        local seen, open, count = {}, { _G, getmetatable("").__index, sf }, 0
        while #open > 0 do
          local t = table.remove(open)
          if type(t) == "table" and not seen[t] then
            seen[t] = true
            for key, value in pairs(t) do
              count += 1
              if t ~= bad and bad[key] and not (fine[t] and fine[t][key]) then print("way out: " .. tostring(key)) end
              open[#open + 1] = value
              local meta = getmetatable(value)
              if type(meta) == "table" then open[#open + 1] = meta end
            end
          end
        end
        print(count > 100)"#;
    let ran = run(plugin, &[]);
    assert_eq!(ran.warnings, []);
    assert_eq!(ran.printed, ["p.lua: true"]);
}

#[test]
fn plugins_and_inputs_know_nothing_of_each_other() {
    let spoil = "string_upper = 1 shared = 'spoilt' sf.on('call', function(_, ctx) ctx.state.x = 1 end)";
    let victim = r#"
        assert(shared == nil and string_upper == nil)
        sf.on("call", function(_, ctx) assert(ctx.state.x == nil) end)"#;
    let ran = run_with("default", "roles", &[("a", spoil), ("b", victim)], &strs(&bash()));
    assert_eq!(ran.warnings, []);
    let engine = Engine::builder()
        .dialect("claude")
        .writer("text")
        .pack(PluginSource::from_text("p", "sf.on('reply', function(_, ctx) ctx.state.n = (ctx.state.n or 0) + 1 return `n={ctx.state.n}` end)"))
        .build()
        .unwrap();
    for _ in 0..2 {
        let mut text = String::new();
        let mut pipeline = Pipeline::new(engine.setup());
        pipeline.push(format!("{}\n", reply("x")).as_bytes(), &mut text).unwrap();
        assert!(text.contains("n=1"), "{text}");
    }
}

#[test]
fn prints_are_cleaned_and_bounded() {
    let ran = run("print('a\\27[2J', 1, nil) for i = 1, 5000 do print(i) end print(('x'):rep(10000))", &[]);
    assert_eq!(ran.printed[0], "p.lua: a␛[2J\t1\tnil");
    assert_eq!(ran.printed.len(), 1001);
}

#[test]
fn what_a_pattern_scans_counts_as_steps() {
    for script in [
        // Each search scans to the end of the text.
        r#"local text = string.rep("A", 100000) return "n" .. #sf.re(".*[^A-Z]|[A-Z]"):all(text)"#,
        r#"local text = string.rep("A", 100000) return sf.re(".*[^A-Z]|[A-Z]"):replace(text, "b")"#,
        // A pcall doesn't help.
        r#"local re, text = sf.re("(?:[ab]{1,20}a){1,20}c"), string.rep("ab", 500000)
           for i = 1, 100000 do pcall(re.find, re, text) end return "x""#,
    ] {
        let ran = run(&format!("sf.view('reply', function() {script} end)"), &[&reply("Hello.")]);
        let warnings = format!("{:?}", ran.warnings);
        assert!(warnings.contains("stopped after 1000000 steps or 250 ms"), "{warnings}");
    }
    let fine =
        "sf.view('reply', function() return tostring(#sf.re('a(b)'):all(string.rep('ab ', 10000))) end)";
    let ran = run(fine, &[&reply("Hello.")]);
    assert!(ran.text.contains("10000") && ran.warnings.is_empty(), "{} {:?}", ran.text, ran.warnings);
}

#[test]
fn beyond_a_limit_of_patterns_is_an_error() {
    for (works, fails, message) in [
        ("sf.re(('x'):rep(256))", "sf.re(('x'):rep(257))", "sf.re: the pattern is longer than 256 bytes"),
        ("sf.re('(a{100}){10}')", "sf.re('(a{1000}){10}')", "sf.re: "),
        (
            "sf.re('a'):find(('b'):rep(2^20))",
            "sf.re('a'):find(('b'):rep(2^20) .. 'b')",
            "sf.re: the text is longer than 1 MiB",
        ),
        (
            "for n = 1, 64 do sf.re('a' .. n) end sf.re('a1')",
            "for n = 1, 65 do sf.re('a' .. n) end",
            "sf.re: more than 64 patterns",
        ),
    ] {
        let ran = run(works, &[]);
        assert_eq!(ran.warnings, [], "{works}");
        let warnings = run(fails, &[]).warnings;
        assert!(warnings.len() == 1 && warnings[0].message.contains(message), "{fails}: {warnings:?}");
    }
}
