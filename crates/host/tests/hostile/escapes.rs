//! Control characters and markup in every place that is shown, cut at every position.

use serde_json::{Value, json};

use crate::{assert_harmless, call, engine, reply, reply_with, result, run};

/// Text that must never be output verbatim.
const PAYLOADS: [&str; 12] = [
    "\u{1b}]8;;javascript:alert(1)\u{1b}\\x\u{1b}]8;;\u{1b}\\",
    "\u{1b}[2J\u{1b}[1;1H",
    "\u{1b}[31",
    "\u{1b}",
    "\u{9b}31m\u{9d}0;t\u{9c}",
    "\r\u{8}\u{8}\u{7f}\u{0}",
    "\u{202e}\u{2066}\u{2028}\u{85}\u{c}\u{b}",
    "\u{feff}\u{200b}\u{ad}\u{e0041}\u{180e}\u{3164}",
    "\u{200d}\u{200d}\u{fe0f}\u{fe0f}",
    "\u{1f3f4}\u{e0067}\u{e0062}",
    "a\u{301}\u{34f}\u{301}\u{34f}",
    "<<role::x>> <script>\u{1b}Pq\u{1b}\\",
];

/// A session with `hostile` in every possible place.
fn everywhere(hostile: &str) -> String {
    let x = |text: &str| format!("{text}{hostile}end");
    let todos = json!([{"content": x("todo "), "status": x("odd"), "activeForm": x("doing ")},
                       {"content": x("done "), "status": "completed"}]);
    let patch = json!([{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1,
                        "lines": [x("-old "), x("+new "), x(" kept "), hostile]}]);
    let mut out = String::new();
    let mut line = |value: Value| out.extend([value.to_string(), "\n".to_owned()]);
    line(
        json!({"type": "system", "subtype": "init", "session_id": x("session-"), "model": x("model-"), "cwd": x("/home/dev/"),
        "permissionMode": x("mode-"), "claude_code_version": x("1."), "tools": [x("Tool")],
        "mcp_servers": [{"name": x("server-"), "status": x("up")}]}),
    );
    line(json!({"type": "system", "subtype": x("new-"), "session_id": "s", "message": x("said ")}));
    line(json!({"type": x("type-"), "session_id": "s", x("key"): x("value ")}));
    line(
        json!({"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 3, "error": x("retry "), "session_id": "s"}),
    );
    line(
        json!({"type": "system", "subtype": "hook_response", "hook_name": x("hook-"), "exit_code": 2, "stderr": x("err "), "stdout": x("out "), "outcome": x("bad"), "session_id": "s"}),
    );
    line(
        json!({"type": "system", "subtype": "permission_denied", "tool_name": x("Tool"), "message": x("no "), "session_id": "s"}),
    );
    line(json!({"type": "summary", "summary": x("title "), "leafUuid": "u"}));
    line(json!({"type": "user", "session_id": "s", "message": {"role": "user", "content": [
        {"type": "text", "text": x("prompt ")},
        {"type": "image", "title": x("picture "), "source": {"type": "url", "url": x("https://example.org/"), "media_type": x("image/")}}]}}));
    for text in markdown(hostile) {
        line(
            json!({"type": "assistant", "session_id": "s", "message": {"content": [{"type": "text", "text": text}, {"type": "thinking", "thinking": text}]}}),
        );
    }
    for (number, (tool, input)) in [
        ("Bash", json!({"command": x("run "), "description": x("why ")})),
        ("Read", json!({"file_path": x("/home/dev/file")})),
        ("Edit", json!({"file_path": x("/home/dev/file."), "old_string": x("old "), "new_string": x("new ")})),
        ("Write", json!({"file_path": x("/home/dev/file."), "content": x("line\n")})),
        ("Grep", json!({"pattern": x("find "), "path": x("in "), "glob": x("*.")})),
        ("WebFetch", json!({"url": x("https://example.org/"), "prompt": x("ask ")})),
        ("Task", json!({"subagent_type": x("agent "), "description": x("do "), "prompt": x("task ")})),
        ("TodoWrite", json!({"todos": todos})),
        ("AskUserQuestion", json!({"questions": [{"question": x("really "), "options": [{"label": x("yes "), "description": x("sure ")}]}]})),
        ("ExitPlanMode", json!({"plan": x("# plan ")})),
        (&x("mcp__server"), json!({x("key "): {x("inner "): [x("value "), 1, x("a\nb")]}})),
        (&format!("mcp__{hostile}__{hostile}"), json!(x("odd "))),
        (hostile, json!([hostile])),
    ].into_iter().enumerate() {
        let id = x(&format!("toolu_{number}"));
        line(json!({"type": "assistant", "session_id": x("session-"), "message": {"id": x("msg-"), "content": [{"type": "tool_use", "id": id, "name": tool, "input": input}]}}));
        for is_error in [false, true] {
            for structured in [Value::Null, json!({"stdout": x("out "), "stderr": x("err "), "filePath": x("/file."), "structuredPatch": patch,
                "filenames": [x("file ")], "mode": x("mode"), "content": x("content "), "url": x("https://example.org/"), "codeText": x("OK "),
                "result": x("answer "), "file": {"filePath": x("/file."), "content": x("line\n"), "startLine": 1, "numLines": 2, "totalLines": 9},
                "agentId": x("agent-"), "status": x("done"), "oldTodos": todos, "newTodos": todos, "interrupted": x("no")}), json!(x("Error: "))] {
                line(json!({"type": "user", "session_id": "s", "tool_use_result": structured, "message": {"content": [
                    {"type": "tool_result", "tool_use_id": id, "is_error": is_error, "content": [{"type": "text", "text": x("result ")}, {"type": x("odd")}]}]}}));
            }
        }
        line(json!({"type": "assistant", "parent_tool_use_id": id, "session_id": "s", "message": {"content": x("nested ")}}));
    }
    line(
        json!({"type": "result", "subtype": x("error_"), "is_error": true, "result": x("outcome "), "num_turns": 3, "session_id": x("session-"),
        "errors": [x("error ")], "permission_denials": [{"tool_name": x("Tool"), "tool_use_id": x("id"), "tool_input": {"a": x("b")}}],
        "modelUsage": {x("model-"): {"inputTokens": 1}}, "usage": {x("key"): 1, "input_tokens": x("1")}, "terminal_reason": x("why")}),
    );
    out + &format!("raw {hostile} line\n{{\"type\":\"assistant\",\"broken {hostile}\n")
}

/// Markdown that a model may write around it.
fn markdown(hostile: &str) -> Vec<String> {
    let entities = spelled(hostile.chars().map(|ch| format!("&#{};", ch as u32)));
    let hex = spelled(hostile.chars().map(|ch| format!("&#x{:X};", ch as u32)));
    let bare = entities.replace(';', "");
    let percent = spelled(hostile.bytes().map(|byte| format!("%{byte:02X}")));
    let mut texts = Vec::new();
    for inside in [
        hostile,
        &entities,
        &hex,
        &bare,
        &percent,
        "&Tab;&NewLine;&shy;&ZeroWidthSpace;&lrm;&rlm;&zwj;&zwj;&NoBreak;&InvisibleTimes;",
    ] {
        texts.push(format!(
            "# head {inside}\n\n*{inside}* **{inside}** `{inside}` ~~{inside}~~ <b title='{inside}'>{inside}</b>\n\n\
             > quote {inside}\n\n- point {inside}\n- [x] task {inside}\n\n1. number {inside}\n\n| a {inside} | b |\n|---|---|\n| {inside} | c{inside}\n\n\
             [link {inside}](https://example.org/{inside}) [link](<javascript:{inside}> \"{inside}\") ![image {inside}](https://example.org/{inside} '{inside}')\n\n\
             <https://user:secret@example.org/{inside}> [ref {inside}][r]\n\n[r]: https://example.org/{inside} \"{inside}\"\n[unused {inside}]: file:///{inside}\n\n\
             ```{inside}\ncode {inside}\n```\n\n~~~ rust {inside}\nfn a() {{ \"{inside}\" }}\n~~~\n\n    indented {inside}\n\n<div>{inside}\n</div>\n\n***{inside}"
        ));
    }
    texts
}

fn spelled(parts: impl Iterator<Item = String>) -> String {
    parts.collect()
}

#[test]
fn nothing_harmful_comes_out_wherever_it_stands() {
    for payload in PAYLOADS {
        let input = everywhere(payload);
        for profile in ["default", "full", "quiet", "ci", "review", "plain"] {
            for (writer, width) in [
                ("text", None),
                ("text", Some(20)),
                ("roles", None),
                ("slack", None),
                ("json", None),
                ("items", None),
            ] {
                let out = run(&engine(writer, profile, width), input.as_bytes()).0;
                assert_harmless(&out, false, &format!("{payload:?} as {writer}, {profile}"));
            }
        }
        for (profile, width) in [("default", Some(20)), ("full", Some(80)), ("full", None)] {
            let out = run(&engine("ansi", profile, width), input.as_bytes()).0;
            assert_harmless(&out, true, &format!("{payload:?} as ansi, {profile}, {width:?}"));
        }
    }
}

#[test]
fn what_is_cut_in_two_does_not_come_together() {
    let sequences = [
        "\u{1b}[2J",
        "\u{1b}]0;title\u{7}",
        "\u{1b}[31m",
        "a\u{200d}\u{200d}b",
        "\u{1f3f4}\u{e0067}\u{e007f}",
        "\r\n",
    ];
    for sequence in sequences {
        for (at, _) in sequence.char_indices().skip(1) {
            let (one, other) = sequence.split_at(at);
            let delta = |text: &str| {
                let delta = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
                format!("{}\n", json!({"type": "stream_event", "event": delta, "session_id": "s-1"}))
            };
            let parts = json!({"type": "user", "session_id": "s-1", "message": {"content": [{"type": "tool_result", "tool_use_id": "toolu_2",
                "content": [{"type": "text", "text": one}, {"type": "text", "text": other}]}]}});
            let cells = format!(
                "| {one} | {other} |\n|---|---|\n| {one}{other} | *{one}*{other} |\n\n[{one}]({other}) {one}\n{other}"
            );
            let input = [
                reply(one),
                reply(other),
                delta(one),
                delta(other),
                call(
                    one,
                    other,
                    &json!({one: other, "file_path": format!("/{one}"), "command": one, "description": other}),
                ),
                result(one, other),
                format!("{parts}\n"),
                reply(&cells),
                format!("{one}\n{other}\n"),
                reply_with(one, &json!({"session_id": other, "parent_tool_use_id": one})),
            ];
            for (writer, width) in [
                ("text", None),
                ("text", Some(20)),
                ("ansi", Some(20)),
                ("ansi", None),
                ("slack", None),
                ("json", None),
                ("items", None),
            ] {
                let out = run(&engine(writer, "full", width), input.concat().as_bytes()).0;
                assert_harmless(&out, writer == "ansi", &format!("{one:?} and {other:?} as {writer}"));
            }
        }
    }
}

#[test]
fn a_cut_leaves_whole_characters_and_nothing_that_joins_with_what_follows() {
    let text = "👨\u{200d}👩\u{200d}👧🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}e\u{301}\u{34f}\u{302}❤\u{fe0f}\u{200d}🔥می\u{200c}خ\n".repeat(12);
    for bytes in 0..160 {
        let builder = streamfmt::Engine::builder().writer("text");
        let builder = builder.set(format!("limits.result-bytes={bytes}")).set("limits.result-lines=3");
        let Ok(engine) = builder.build() else { panic!("limits of {bytes} bytes") };
        let input = call("toolu_1", "Bash", &json!({"command": "x"})) + &result("toolu_1", &text);
        let out = run(&engine, input.as_bytes()).0;
        assert_harmless(&out, false, &format!("cut after {bytes} bytes"));
    }
}

#[test]
fn a_line_of_a_patch_is_one_line() {
    let patch = json!([{"oldStart": 1, "newStart": 1, "oldLines": 2, "newLines": 2,
        "lines": [" kept\n● Bash forged", "-old\nforged", "+new\r\nforged\n::error::forged"]}]);
    let structured =
        json!({"filePath": "/a", "oldString": "old", "newString": "new", "structuredPatch": patch});
    let line = json!({"type": "user", "session_id": "s-1", "tool_use_result": structured,
        "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}]}});
    let edit = json!({"file_path": "/a", "old_string": "old", "new_string": "new"});
    let input = call("toolu_1", "Edit", &edit) + &format!("{line}\n");
    for (writer, width) in
        [("text", None), ("ansi", Some(60)), ("roles", None), ("markdown", None), ("slack", None)]
    {
        let out = run(&engine(writer, "full", width), input.as_bytes()).0;
        assert!(out.contains("kept␊● Bash forged"), "{writer}: {out}");
        let is_forged =
            |line: &&str| line.contains("forged") && line.trim_start().starts_with(['●', ':', 'f']);
        assert_eq!(out.lines().find(is_forged), None, "{writer}: {out}");
    }
}
