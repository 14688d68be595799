//! Calls whose input is shown while the model writes it: the last state equals the complete call, and a long input costs no more than its
//! visible end.

#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

#[path = "laws/recordings.rs"]
#[expect(dead_code, reason = "the laws use more of it")]
mod recordings;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use serde_json::{Value, json};
use streamfmt::core::entry::{Block, Entry};
use streamfmt::core::item::Status;
use streamfmt::core::pipeline::{EntryChange, Output, Pipeline, Setup};
use streamfmt::core::session::MAX_GROWING_FIELD;
use streamfmt::engine::Engine;
use streamfmt::plugin::source::PluginSource;

use recordings::{folders, recordings, root};

/// A sink that shows one call.
struct Looks {
    pipeline: Pipeline,
    shown: Option<Entry>,
}

impl Looks {
    /// A sink for a call of `tool` that begins.
    fn at(engine: &Engine, id: &str, tool: &str) -> Self {
        let setup = engine.setup();
        let output = match setup.output {
            Output::Entries { formatters, .. } => Output::Updates { formatters },
            output => output,
        };
        let mut looks = Self { pipeline: Pipeline::new(Setup { output, ..setup }), shown: None };
        looks.begin(id, tool);
        looks
    }

    fn begin(&mut self, id: &str, tool: &str) {
        let message = format!("msg-{id}");
        self.event(&json!({"type": "message_start", "message": {"id": message, "content": []}}));
        let block = json!({"type": "tool_use", "id": id, "name": tool, "input": {}});
        self.event(&json!({"type": "content_block_start", "index": 0, "content_block": block}));
    }

    fn delta(&mut self, piece: &str) {
        let delta = json!({"type": "input_json_delta", "partial_json": piece});
        self.event(&json!({"type": "content_block_delta", "index": 0, "delta": delta}));
    }

    /// Pushes the complete call.
    fn whole(&mut self, id: &str, tool: &str, input: &str) {
        let call = json!({"type": "tool_use", "id": id, "name": tool, "input": "INPUT"});
        let message = json!({"id": format!("msg-{id}"), "role": "assistant", "content": [call]});
        let line = json!({"type": "assistant", "message": message, "session_id": "s"});
        self.push(&line.to_string().replace("\"INPUT\"", input));
    }

    fn event(&mut self, event: &Value) {
        self.push(&json!({"type": "stream_event", "event": event, "session_id": "s"}).to_string());
    }

    fn push(&mut self, line: &str) {
        self.pipeline.push(format!("{line}\n").as_bytes(), &mut String::new()).unwrap();
    }

    /// Takes updates. Returns the call's current entry.
    fn look(&mut self) -> Option<&Entry> {
        for update in self.pipeline.take_updates() {
            match update.change {
                EntryChange::Put { entry, .. } if entry.tool.is_some() => self.shown = Some(*entry),
                EntryChange::Drop(id) if self.shown.as_ref().is_some_and(|shown| shown.id == id) => {
                    self.shown = None;
                }
                EntryChange::Put { .. } | EntryChange::Drop(_) => {}
            }
        }
        self.shown.as_ref()
    }

    fn title(&mut self) -> String {
        self.look()
            .map(|entry| text_of(entry).lines().next().unwrap_or_default().to_owned())
            .unwrap_or_default()
    }
}

/// The text of an entry, its title first.
fn text_of(entry: &Entry) -> String {
    let mut text = entry.view.title.text().to_owned();
    for block in &entry.view.body {
        let _ = match block {
            Block::Code { text: code, .. } | Block::Prose { text: code, .. } => write!(text, "\n{}", &**code),
            Block::Elided { lines, bytes } => write!(text, "\n({lines} lines, {bytes} bytes)"),
            other => write!(text, "\n{other:?}"),
        };
    }
    text
}

fn engine(profile: &str) -> Engine {
    Engine::builder().dialect("claude").writer("json").profile(profile).build().unwrap()
}

fn scripted(plugin: &str) -> Engine {
    let pack = PluginSource::from_text("p.lua", plugin);
    Engine::builder().dialect("claude").writer("roles").pack(pack).build().unwrap()
}

/// The inputs of calls in the recordings and golden cases of Claude Code, each with its tool; one for each shape.
fn inputs() -> Vec<(String, String)> {
    let (mut found, mut known) = (Vec::new(), BTreeSet::new());
    let recordings = recordings();
    let recorded = recordings.iter().flat_map(|recording| recording.forms().map(|(_, bytes)| bytes.to_vec()));
    let cases = folders(&root().join("tests/golden/claude"));
    let of_cases = cases.iter().filter_map(|folder| fs::read(folder.join("input.ndjson")).ok());
    for bytes in recorded.chain(of_cases) {
        for line in bytes.split(|&byte| byte == b'\n') {
            let Ok(line) = serde_json::from_slice::<Value>(line) else { continue };
            let blocks = line["message"]["content"].as_array().into_iter().flatten();
            for block in blocks.filter(|block| block["type"] == "tool_use") {
                let (tool, input) = (block["name"].as_str().unwrap_or_default(), &block["input"]);
                let keys: Vec<&String> =
                    input.as_object().into_iter().flat_map(|input| input.keys()).collect();
                let lines = input.to_string().matches("\\n").count();
                if known.insert(format!("{tool} {keys:?} {}", lines.min(20))) {
                    found.push((tool.to_owned(), input.to_string()));
                }
            }
        }
    }
    found
}

#[test]
fn the_last_look_at_a_growing_call_is_the_whole_call() {
    let inputs = inputs();
    assert!(inputs.len() > 20, "only {} inputs were tried", inputs.len());
    for profile in ["default", "full"] {
        let engine = engine(profile);
        for (tool, input) in &inputs {
            let mut looks = Looks::at(&engine, "toolu_1", tool);
            let letters: Vec<char> = input.chars().collect();
            for piece in letters.chunks(letters.len() / 40 + 3) {
                looks.delta(&piece.iter().collect::<String>());
                let shown = looks.look().map(text_of).unwrap_or_default();
                assert!(!shown.contains("incomplete"), "{tool} {input}: {shown}");
            }
            let growing = looks.look().cloned();
            looks.whole("toolu_1", tool, input);
            let whole = looks.look().cloned();
            let is_shown = growing.as_ref().map(|entry| (entry.status, &entry.view));
            let expected = whole.as_ref().map(|entry| (Status::Open, &entry.view));
            assert_eq!(is_shown, expected, "{profile}: {tool} {input}");
            assert!(whole.is_none_or(|whole| whole.status == Status::Done));
        }
    }
}

#[test]
fn a_long_field_shows_its_end_and_how_much_is_left_out() {
    let lines: Vec<String> = (1..=2000).map(|number| format!("line {number} of them")).collect();
    let content = json!(lines.join("\n")).to_string();
    for (profile, most) in [("default", 12), ("full", 100)] {
        let mut looks = Looks::at(&engine(profile), "toolu_1", "Write");
        looks.delta(r#"{"file_path":"a.txt","content":"#);
        looks.delta(&content[..content.len() - 1]);
        let shown = text_of(looks.look().unwrap());
        let shown: Vec<&str> = shown.lines().collect();
        assert_eq!(shown[0], "Write a.txt", "{profile}");
        let left_out = format!("({} lines, ", 2000 - most);
        assert!(shown[1].starts_with(&left_out), "{profile}: {}", shown[1]);
        assert_eq!(shown[2..], lines[2000 - most..], "{profile}");
        // It stays shown while other fields follow, and is complete at the end.
        looks.delta(r#"","mode":"#);
        assert_eq!(text_of(looks.look().unwrap()).lines().last(), Some("line 2000 of them"));
        looks.whole("toolu_1", "Write", &format!(r#"{{"file_path":"a.txt","content":{content}}}"#));
        let whole = text_of(looks.look().unwrap());
        assert_eq!(whole.contains(&lines.join("\n")), profile == "full");
    }
}

#[test]
fn a_script_gets_the_input_so_far_and_the_end_of_a_long_field() {
    let engine = scripted(
        r#"sf.tool("Bash", { call = function(call)
             local input = call.input
             assert(call.partial == (call.status == "open"))
             return sf.text(#input.command .. " " .. (input.command:match("^%[… %d+ bytes left out%]") or "all"))
           end })"#,
    );
    let mut looks = Looks::at(&engine, "toolu_1", "Bash");
    assert_eq!(looks.title(), "Bash", "nothing of the input is there yet");
    looks.delta(r#"{"command":"#);
    assert_eq!(looks.title(), "Bash");
    looks.delta("\"ab");
    assert_eq!(text_of(looks.look().unwrap()).trim(), "2 all");
    looks.delta(&"c".repeat(2 * MAX_GROWING_FIELD));
    let shown = text_of(looks.look().unwrap());
    let (length, left_out) = shown.trim().split_once(' ').unwrap();
    let length: usize = length.parse().unwrap();
    assert!(length > MAX_GROWING_FIELD / 2 && length < MAX_GROWING_FIELD + 100, "{shown}");
    assert!(left_out.starts_with("[… 17"), "{shown}");
    let command = format!("ab{}", "c".repeat(2 * MAX_GROWING_FIELD));
    looks.whole("toolu_1", "Bash", &json!({ "command": command }).to_string());
    assert_eq!(text_of(looks.look().unwrap()).trim(), format!("{} all", command.len()));
}

#[test]
fn texts_that_are_too_long_for_a_script_end_with_how_much_is_left_out() {
    let engine = scripted(
        r#"local note
           sf.tool("Bash", {
             arg = function(input)
               note = input.note
               return input.command
             end,
             summary = function(result)
               assert(result.data.stdout == result.text and note == result.text)
               return #result.text .. result.text:sub(-40):gsub("x", "")
             end,
           })"#,
    );
    for (bytes, expected) in [(1 << 20, "1048576"), ((1 << 20) + 7, "1048536␊[… 71 bytes left out]")] {
        let mut pipeline = Pipeline::new(engine.setup());
        let (text, mut out) = ("x".repeat(bytes), String::new());
        let call =
            json!({"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "x", "note": text}});
        let message = json!({"id": "m", "role": "assistant", "content": [call]});
        let line = json!({"type": "assistant", "message": message, "session_id": "s"});
        pipeline.push(format!("{line}\n").as_bytes(), &mut out).unwrap();
        let result = json!({"type": "tool_result", "tool_use_id": "t", "content": text});
        let message = json!({"role": "user", "content": [result]});
        let line = json!({"type": "user", "message": message, "session_id": "s", "tool_use_result": {"stdout": text}});
        pipeline.push(format!("{line}\n").as_bytes(), &mut out).unwrap();
        pipeline.finish(&mut out).unwrap();
        assert_eq!(engine.journal().take(), []);
        assert!(out.contains(expected), "{bytes}: {out}");
    }
}

#[test]
fn what_fails_at_a_growing_call_is_asked_again_once_it_is_whole() {
    let engine = scripted(
        r#"local asked = { label = 0, arg = 0 }
           sf.tool("Bash", {
             label = function(call)
               asked.label += 1
               if call.partial then error("half") end
               return "label " .. asked.label
             end,
             arg = function(input, call)
               asked.arg += 1
               if call.partial then return { function() end } end
               return "arg " .. asked.arg
             end,
           })"#,
    );
    let mut looks = Looks::at(&engine, "toolu_1", "Bash");
    assert_eq!(looks.title(), "Bash");
    for (piece, expected) in [("{\"command\":\"l", "Bash l"), ("s", "Bash ls"), ("\"}", "Bash ls")] {
        looks.delta(piece);
        assert_eq!(looks.title(), expected);
    }
    looks.whole("toolu_1", "Bash", r#"{"command":"ls"}"#);
    assert_eq!(looks.title(), "label 2 arg 2");
    // The plugin is called for the next call as well.
    looks.begin("toolu_2", "Bash");
    assert_eq!(looks.title(), "Bash");
    looks.whole("toolu_2", "Bash", "{}");
    assert_eq!(looks.title(), "label 4 arg 3");
    looks.pipeline.finish(&mut String::new()).unwrap();
    assert_eq!((engine.journal().take(), engine.journal().failures()), (Vec::new(), 0));
    assert!(looks.pipeline.report().failures.is_empty());
}

#[test]
fn a_function_that_fails_at_the_whole_call_is_told_once() {
    let engine = scripted(r#"sf.tool("Bash", { label = function(call) error("never") end })"#);
    let mut looks = Looks::at(&engine, "toolu_1", "Bash");
    for piece in ["{\"command\":", "\"ls", "\"}"] {
        looks.delta(piece);
        looks.look();
    }
    assert_eq!(engine.journal().take(), []);
    looks.whole("toolu_1", "Bash", r#"{"command":"ls"}"#);
    assert_eq!(looks.title(), "Bash ls");
    assert_eq!((engine.journal().take().len(), engine.journal().failures()), (1, 1));
}

#[test]
fn limits_count_at_once() {
    let engine = scripted(
        r#"sf.tool("Bash", { label = function(call) while call.partial do end return "whole" end })"#,
    );
    let mut looks = Looks::at(&engine, "toolu_0", "Bash");
    for number in 0..3 {
        let id = format!("toolu_{number}");
        if number > 0 {
            looks.begin(&id, "Bash");
        }
        for piece in ["{\"command\":", "\"ls", "\"}"] {
            looks.delta(piece);
            assert!(looks.title().starts_with("Bash"), "{number}");
        }
        // One failure for each call; after three the plugin is disabled, which is reported.
        assert_eq!(engine.journal().failures(), if number < 2 { number + 1 } else { 4 });
        looks.whole(&id, "Bash", r#"{"command":"ls"}"#);
        assert_eq!(looks.title(), if number < 2 { "whole ls" } else { "Bash ls" });
    }
}

#[test]
fn what_is_masked_is_masked_while_it_grows() {
    let engine =
        Engine::builder().dialect("claude").writer("json").set("redact.secrets=true").build().unwrap();
    let mut looks = Looks::at(&engine, "toolu_1", "Write");
    let key =
        (1..200).map(|number| format!("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ{number:04}\\n"));
    looks.delta(r#"{"file_path":"key.pem","content":"-----BEGIN RSA PRIVATE KEY-----\n"#);
    for line in key.take(60) {
        looks.delta(&line);
        let shown = text_of(looks.look().unwrap());
        assert!(!shown.contains("MIIE"), "{shown}");
    }
}

#[test]
fn a_template_says_what_is_there_once_all_of_it_is() {
    let builder = Engine::builder().dialect("claude").writer("json");
    let engine = builder.set("tool.Bash.arg={description}: {command}").build().unwrap();
    let mut looks = Looks::at(&engine, "toolu_1", "Bash");
    let pieces =
        [("{\"command\":\"l", "Bash l"), ("s\",\"desc", "Bash ls"), ("ription\":\"Lis", "Bash Lis: ls")];
    for (piece, expected) in pieces {
        looks.delta(piece);
        assert_eq!(looks.title(), expected);
    }
}
