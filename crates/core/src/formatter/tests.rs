//! Cases: one item in, what is said of it out.
//!
//! A view is written with its mark, its title, and its blocks indented; spans that aren't plain carry
//! no roles here, except in the cases that are about roles.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;

use crate::entry::{Block, Change, Line, Point, View};
use crate::formatter::standard::Standard;
use crate::formatter::{Formatter, Verdict};
use crate::item::{Action, Content, Fact, Id, Item, Kind};
use crate::json::{Record, Value};
use crate::profile::Detail;
use crate::session::{Facts, Session};
use crate::text::Text;

/// An item from JSON: `{"kind","tool","input","text","error", …facts}`.
fn item(json: &str) -> Item {
    let record =
        Record::from_line(json.to_owned()).unwrap_or_else(|(damage, _)| panic!("{json}: {damage:?}"));
    let root = record.root();
    let string = |key: &str| root.get(key).and_then(Value::decode).map(Cow::into_owned);
    let kind = string("kind").unwrap();
    let kind = Kind::ALL.into_iter().find(|other| other.name() == kind).unwrap();
    let mut item = Item::new(if kind == Kind::Result { "c/result" } else { "c" }, kind, 7);
    item.tool = string("tool").map(Arc::from);
    item.action =
        string("action").map(|name| Action::ALL.into_iter().find(|other| other.name() == name).unwrap());
    item.input = root.get("input").map(Value::node);
    item.text = root.get("text").map_or(Content::None, |text| Content::Node(text.node()));
    item.error = root.get("error").is_some();
    item.call = (kind == Kind::Result).then(|| Id::from("c"));
    let facts: Vec<(String, u32)> = root
        .get("facts")
        .map(|facts| facts.entries().map(|(key, value)| (key.decode().into_owned(), value.node())).collect())
        .unwrap_or_default();
    for (name, node) in facts {
        item.data.push((String::leak(name), Fact::Node(node)));
    }
    item.record = Some(Arc::new(record));
    item
}

fn session(call: Option<&str>) -> Session {
    let facts = Facts { cwd: Some(Text::clean("/home/dev/shop")), ..Facts::default() };
    Session::awaiting(facts, call.map(item))
}

fn said(detail: Detail, call: Option<&str>, json: &str) -> String {
    match Standard::new(detail).format(&item(json), &session(call)) {
        Ok(Verdict::Show(view)) if detail == Detail::Lines => {
            shown(&Standard::new(detail).fold(&item(json), &session(call), view))
        }
        Ok(Verdict::Show(view)) => shown(&view),
        Ok(other) => format!("{other:?}\n"),
        Err(error) => panic!("{error}"),
    }
}

pub(crate) fn shown(view: &View) -> String {
    let mut out = String::new();
    if let Some(mark) = view.mark {
        write!(out, "<{mark}> ").unwrap();
    }
    writeln!(out, "{}", line(&view.title)).unwrap();
    for block in &view.body {
        blocks(block, &mut out);
    }
    out
}

fn line(line: &Line) -> String {
    line.spans.iter().map(|span| span.text.as_str()).collect()
}

fn blocks(block: &Block, out: &mut String) {
    let mut add = |text: &str| writeln!(out, "  {text}").unwrap();
    match block {
        Block::Lines { lines } => lines.iter().for_each(|each| add(&line(each))),
        Block::Prose { text, role } => {
            text.lines().for_each(|each| add(&format!("({}) {each}", role.name())));
        }
        Block::Code { text, lang, start, role } => {
            let lang = lang.as_deref().map(|lang| format!(" {lang}")).unwrap_or_default();
            let start = start.map(|start| format!(" @{start}")).unwrap_or_default();
            text.lines().for_each(|each| add(&format!("[{}{lang}{start}] {each}", role.name())));
        }
        Block::Diff { path, hunks } => {
            add(&format!("diff {}", path.as_deref().unwrap_or("-")));
            for hunk in hunks {
                if let (Some(old), Some(new)) = (hunk.old_start, hunk.new_start) {
                    add(&format!("@ {old} {new}"));
                }
                for line in &hunk.lines {
                    let mark = match line.change {
                        Change::Keep => ' ',
                        Change::Add => '+',
                        Change::Remove => '-',
                    };
                    add(&format!("{mark}{}", &*line.text));
                }
            }
        }
        Block::List { items } => {
            for item in items {
                let mark = match item.point {
                    Point::Plain => '-',
                    Point::Open => 'o',
                    Point::Active => '>',
                    Point::Done => 'x',
                    Point::Failed => '!',
                };
                add(&format!("{mark} {}", line(&item.line)));
            }
        }
        Block::Image { media, bytes, .. } => add(&format!("image {} {bytes:?}", &**media)),
        Block::Elided { lines, bytes } => add(&format!("… {lines} lines, {bytes} bytes")),
        Block::Table { .. } | Block::Details { .. } => unreachable!("none is made"),
    }
}

fn check(detail: Detail, cases: &[(&str, &str)]) {
    for (json, expected) in cases {
        assert_eq!(said(detail, None, json), *expected, "{detail:?} {json}");
    }
}

fn check_result(detail: Detail, call: &str, cases: &[(&str, &str)]) {
    for (json, expected) in cases {
        assert_eq!(said(detail, Some(call), json), *expected, "{detail:?} {json}");
    }
}

#[test]
fn calls_are_said_in_a_line_if_that_will_do() {
    check(
        Detail::Compact,
        &[
            (r#"{"kind":"call","tool":"Bash","input":{"command":"cargo test"}}"#, "<call> Bash cargo test\n"),
            (
                r#"{"kind":"call","tool":"Bash","input":{"command":"cargo test\ncargo run\n","description":"Try it","run_in_background":true}}"#,
                "<call> Bash Try it in the background\n  [call.command sh] cargo test\n  [call.command sh] cargo run\n",
            ),
            (
                r#"{"kind":"call","tool":"Read","input":{"file_path":"/home/dev/shop/src/a.rs","offset":10,"limit":50}}"#,
                "<call> Read src/a.rs lines 10–59\n",
            ),
            (
                r#"{"kind":"call","tool":"Read","input":{"file_path":"/etc/hosts"}}"#,
                "<call> Read /etc/hosts\n",
            ),
            (
                r#"{"kind":"call","tool":"Edit","input":{"file_path":"/home/dev/shop/a","old_string":"x","new_string":"y","replace_all":true}}"#,
                "<call> Edit a everywhere\n",
            ),
            (
                r#"{"kind":"call","tool":"MultiEdit","input":{"file_path":"a","edits":[{"old_string":"x","new_string":"y"}]}}"#,
                "<call> MultiEdit a 1 edit\n",
            ),
            (
                r#"{"kind":"call","tool":"Write","input":{"file_path":"a.rs","content":"fn main() {}"}}"#,
                "<call> Write a.rs\n",
            ),
            (
                r#"{"kind":"call","tool":"Grep","input":{"pattern":"total\\(","path":"/home/dev/shop/src","glob":"*.rs"}}"#,
                "<call> Grep \"total\\(\" in src (*.rs)\n",
            ),
            (r#"{"kind":"call","tool":"Glob","input":{"pattern":"**/*.ts"}}"#, "<call> Glob **/*.ts\n"),
            (
                r#"{"kind":"call","tool":"WebFetch","input":{"url":"https://example.org/","prompt":"what?"}}"#,
                "<call> WebFetch https://example.org/\n",
            ),
            (
                r#"{"kind":"call","tool":"Task","input":{"subagent_type":"Explore","description":"find callers","prompt":"long"}}"#,
                "<call> Task Explore · find callers\n",
            ),
            (
                r#"{"kind":"call","tool":"TodoWrite","input":{"todos":[{"content":"a","status":"pending","activeForm":"doing a"}]}}"#,
                "Hide\n",
            ),
            (r#"{"kind":"call","tool":"TodoWrite","input":{"todos":42}}"#, "<call> TodoWrite todos: 42\n"),
            (
                r#"{"kind":"call","tool":"TaskUpdate","input":{"taskId":"3","status":"in_progress"}}"#,
                "<call> TaskUpdate #3 → in progress\n",
            ),
            (
                r#"{"kind":"call","tool":"ExitPlanMode","input":{"plan":"1. do"}}"#,
                "<call> ExitPlanMode\n  (plan) 1. do\n",
            ),
            (
                r#"{"kind":"call","tool":"AskUserQuestion","input":{"questions":[{"question":"Which?","options":[{"label":"A","description":"first"},{"label":"B"}]}]}}"#,
                "<call> AskUserQuestion\n  Which?\n  - A first\n  - B\n",
            ),
            (
                r#"{"kind":"call","tool":"mcp__db__query","input":{"sql":"select 1\nfrom t","limit":10},"facts":{"server":"db","tool":"query"}}"#,
                "<call> db · query\n  sql:\n  [call.input sql] select 1\n  [call.input sql] from t\n  limit: 10\n",
            ),
            (
                r#"{"kind":"call","tool":"mcp__db__list","input":{"table":"users"},"facts":{"server":"db","tool":"list"}}"#,
                "<call> db · list users\n",
            ),
            (
                r#"{"kind":"call","tool":"Bash","input":{"command":42,"note":"x"}}"#,
                "<call> Bash command: 42, note: x\n",
            ),
            (r#"{"kind":"call","tool":"Bash","input":"just text"}"#, "<call> Bash just text\n"),
            (
                r#"{"kind":"call","tool":"Вash","input":{"command":"x","description":"y"}}"#,
                "<call> Вash command: x, description: y\n",
            ),
            (
                r#"{"kind":"call","tool":"run_shell_command","action":"run","input":{"command":"ls"}}"#,
                "<call> run_shell_command ls\n",
            ),
            (r#"{"kind":"call","input":[1,2]}"#, "<call> call\n  [call.input] [1, 2]\n"),
            (r#"{"kind":"call","tool":"Odd"}"#, "<call> Odd\n"),
        ],
    );
}

#[test]
fn full_calls_leave_nothing_out() {
    check(
        Detail::Full,
        &[
            (
                r#"{"kind":"call","tool":"Bash","input":{"command":"ls","timeout":90000,"extra":{"a":[1]}}}"#,
                "<call> Bash ls timeout 1m 30s\n  extra: {a: [1]}\n",
            ),
            (
                r#"{"kind":"call","tool":"Edit","input":{"file_path":"a.rs","old_string":"x\nk","new_string":"y\nk"}}"#,
                "<call> Edit a.rs\n  diff a.rs\n  -x\n  +y\n   k\n",
            ),
            (
                r#"{"kind":"call","tool":"Write","input":{"file_path":"a.rs","content":"fn main() {}\n"}}"#,
                "<call> Write a.rs\n  [call.input rs] fn main() {}\n",
            ),
            (
                r#"{"kind":"call","tool":"Task","input":{"subagent_type":"E","description":"d","prompt":"look\nwell","model":"m"}}"#,
                "<call> Task E · d\n  (prompt) look\n  (prompt) well\n  model: m\n",
            ),
            (
                r#"{"kind":"call","tool":"TodoWrite","input":{"todos":[{"content":"a","status":"pending"}]}}"#,
                "<call> TodoWrite\n",
            ),
            (
                r#"{"kind":"call","tool":"TodoWrite","input":{"todos":[{"content":"a","status":"pending","id":"7"}]}}"#,
                "<call> TodoWrite\n  todos: [{content: a, status: pending, id: \"7\"}]\n",
            ),
            (
                r#"{"kind":"call","tool":"mcp__db__x","input":{"a":1,"a":2},"facts":{"server":"db","tool":"x"}}"#,
                "<call> mcp__db__x a: 1, a: 2\n",
            ),
            (
                r#"{"kind":"call","tool":"Bash","input":{"command":"x","command":"y"}}"#,
                "<call> Bash y\n  command: x\n",
            ),
            (
                r#"{"kind":"call","tool":"Edit","input":{"file_path":7,"old_string":"o","new_string":"n"}}"#,
                "<call> Edit file_path: 7, old_string: o, new_string: n\n",
            ),
        ],
    );
}

#[test]
fn results_of_commands() {
    let call = r#"{"kind":"call","tool":"Bash","input":{"command":"x"}}"#;
    check_result(
        Detail::Compact,
        call,
        &[
            (
                r#"{"kind":"result","tool":"Bash","text":"a\nb\n","facts":{"stdout":"a\nb\n","stderr":""}}"#,
                "\n  [result.text] a\n  [result.text] b\n",
            ),
            (
                r#"{"kind":"result","tool":"Bash","text":"a","facts":{"stdout":"a","stderr":"cwd was reset"}}"#,
                "\n  [result.text] a\n  [result.error.text] cwd was reset\n",
            ),
            (
                r#"{"kind":"result","tool":"Bash","text":"(Bash completed with no output)","facts":{"stdout":"","stderr":""}}"#,
                "no output\n",
            ),
            (r#"{"kind":"result","tool":"Bash","text":""}"#, "no output\n"),
            (r#"{"kind":"result","tool":"Bash","text":"old"}"#, "\n  [result.text] old\n"),
            (
                r#"{"kind":"result","tool":"Bash","text":"Command running in background with ID: b1","facts":{"background":"b1"}}"#,
                "in the background: b1\n",
            ),
            (
                r#"{"kind":"result","error":1,"tool":"Bash","text":"Exit code 101\nthread panicked\nat x","facts":{"exit":101}}"#,
                "<error> exit 101\n  [result.error.text] thread panicked\n  [result.error.text] at x\n",
            ),
            (
                r#"{"kind":"result","error":1,"tool":"Bash","text":"Exit code 1","facts":{"exit":1}}"#,
                "<error> exit 1\n",
            ),
            (
                r#"{"kind":"result","error":1,"tool":"Bash","text":"<tool_use_error>Error: No such tool</tool_use_error>"}"#,
                "<error> Error: No such tool\n",
            ),
            (
                r#"{"kind":"result","error":1,"tool":"Bash","text":"first\nsecond"}"#,
                "<error> first\n  [result.error.text] second\n",
            ),
            (r#"{"kind":"result","error":1,"tool":"Bash","text":""}"#, "<error> failed\n"),
            (
                r#"{"kind":"result","error":1,"tool":"Bash","text":"No.","facts":{"denied":"user"}}"#,
                "<error> denied by user\n  [result.error.text] No.\n",
            ),
            (
                r#"{"kind":"result","tool":"Bash","text":"x","facts":{"stdout":"x","files":[{"path":"/home/dev/shop/a","patch":[{"oldStart":3,"newStart":3,"lines":[" k","-o","+n"]}]}]}}"#,
                "\n  [result.text] x\n  a +1 −1\n  diff a\n  @ 3 3\n   k\n  -o\n  +n\n",
            ),
            (
                r#"{"kind":"result","tool":"Bash","text":"preview","facts":{"stdout":"all","persisted":{"path":"/tmp/o","bytes":2048}}}"#,
                "\n  [result.text] all\n  whole output: 2.0 KB /tmp/o\n",
            ),
        ],
    );
    check_result(
        Detail::Full,
        call,
        &[
            (
                r#"{"kind":"result","tool":"Bash","text":"a\nShell cwd was reset","facts":{"stdout":"a","stderr":"Shell cwd was reset"}}"#,
                "\n  [result.text] a\n  [result.text] Shell cwd was reset\n",
            ),
            (
                r#"{"kind":"result","tool":"Bash","text":"preview","facts":{"stdout":"all"}}"#,
                "\n  [result.text] all\n  [result.text] preview\n",
            ),
            (
                r#"{"kind":"result","error":1,"tool":"Bash","text":"Exit code 1\nx","facts":{"exit":1}}"#,
                "<error> exit 1\n  [result.error.text] Exit code 1\n  [result.error.text] x\n",
            ),
            (
                r#"{"kind":"result","tool":"Bash","text":"seen","facts":{"orphan":true}}"#,
                "of an unknown call\n  [result.text] seen\n",
            ),
        ],
    );
}

#[test]
fn results_of_files() {
    let read = r#"{"kind":"call","tool":"Read","input":{"file_path":"/home/dev/shop/a.rs"}}"#;
    check_result(
        Detail::Compact,
        read,
        &[
            (
                r#"{"kind":"result","tool":"Read","text":"x","facts":{"lines":50,"start":1,"total":533}}"#,
                "lines 1–50 of 533\n",
            ),
            (
                r#"{"kind":"result","tool":"Read","text":"x","facts":{"lines":11,"start":1,"total":11}}"#,
                "11 lines\n",
            ),
            (
                r#"{"kind":"result","tool":"Read","text":"     1→a\n     2→b\n\n<system-reminder>\nhush\n</system-reminder>\n"}"#,
                "2 lines\n",
            ),
            (r#"{"kind":"result","tool":"Read","text":"7\ta\n8\tb"}"#, "lines 7–8\n"),
            (
                r#"{"kind":"result","tool":"Read","text":"<system-reminder>Warning: empty</system-reminder>"}"#,
                "empty file\n",
            ),
            (
                r#"{"kind":"result","tool":"Read","text":"","facts":{"type":"image","bytes":2048,"images":[{"media":"image/png","bytes":2048}]}}"#,
                "image · 2.0 KB\n  image image/png Some(2048)\n",
            ),
        ],
    );
    check_result(
        Detail::Full,
        read,
        &[
            (
                r#"{"kind":"result","tool":"Read","text":"     7→a\n     8→b\n\n<system-reminder>\nhush\n</system-reminder>\n","facts":{"lines":2,"start":7,"total":9,"content":"a\nb\n"}}"#,
                "lines 7–8 of 9\n  [result.text rs @7] a\n  [result.text rs @7] b\n  [result.text] <system-reminder>\n  [result.text] hush\n  [result.text] </system-reminder>\n",
            ),
            (
                r#"{"kind":"result","tool":"Read","text":"7\ta\n8\tb"}"#,
                "lines 7–8\n  [result.text rs @7] a\n  [result.text rs @7] b\n",
            ),
            (r#"{"kind":"result","tool":"Read","text":"no numbers"}"#, "\n  [result.text] no numbers\n"),
        ],
    );
    let edit = r#"{"kind":"call","tool":"Edit","input":{"file_path":"/home/dev/shop/a.rs","old_string":"x","new_string":"y\nz"}}"#;
    check_result(
        Detail::Compact,
        edit,
        &[
            (
                r#"{"kind":"result","tool":"Edit","text":"The file has been updated.","facts":{"path":"/home/dev/shop/a.rs","patch":[{"oldStart":41,"newStart":41,"lines":["-a","+b","+c","\\ No newline at end of file"]}]}}"#,
                "+2 −1\n  diff a.rs\n  @ 41 41\n  -a\n  +b\n  +c\n",
            ),
            (r#"{"kind":"result","tool":"Edit","text":"done"}"#, "+2 −1\n  diff a.rs\n  -x\n  +y\n  +z\n"),
            (
                r#"{"kind":"result","tool":"Edit","error":1,"text":"<tool_use_error>String to replace not found\nString: x</tool_use_error>"}"#,
                "<error> String to replace not found\n  [result.error.text] String: x\n",
            ),
        ],
    );
    let write = r#"{"kind":"call","tool":"Write","input":{"file_path":"b.rs","content":"1\n2\n"}}"#;
    check_result(
        Detail::Compact,
        write,
        &[
            (
                r#"{"kind":"result","tool":"Write","text":"ok","facts":{"created":true,"patch":[]}}"#,
                "created, 2 lines\n  diff b.rs\n  +1\n  +2\n",
            ),
            (
                r#"{"kind":"result","tool":"Write","text":"File created successfully at: b.rs"}"#,
                "File created successfully at: b.rs\n",
            ),
        ],
    );
}

#[test]
fn results_of_searches_the_web_and_agents() {
    check(
        Detail::Compact,
        &[
            (
                r#"{"kind":"result","tool":"Glob","text":"a\nb","facts":{"files":["/home/dev/shop/a","/b"],"count":2}}"#,
                "2 files\n  [result.file] a\n  [result.file] /b\n",
            ),
            (
                r#"{"kind":"result","tool":"Glob","text":"No files found","facts":{"files":[],"count":0}}"#,
                "no files\n",
            ),
            (
                r#"{"kind":"result","tool":"Grep","text":"a:1:x","facts":{"mode":"content","files":[],"count":0,"content":"a:1:x\nb:2:x","lines":2}}"#,
                "2 lines\n  [result.text] a:1:x\n  [result.text] b:2:x\n",
            ),
            (
                r#"{"kind":"result","tool":"Grep","text":"a:3","facts":{"mode":"count","count":1,"matches":3,"content":"a:3"}}"#,
                "3 matches in 1 file\n  [result.text] a:3\n",
            ),
            (r#"{"kind":"result","tool":"Grep","text":"No matches found"}"#, "No matches found\n"),
            (
                r#"{"kind":"result","tool":"WebFetch","text":"t","facts":{"code":200,"code_text":"OK","bytes":1024,"answer":"It is so.","duration_ms":3200}}"#,
                "200 OK · 1.0 KB · 3.2s\n  (result.answer) It is so.\n",
            ),
            (
                r#"{"kind":"result","tool":"WebSearch","text":"t","facts":{"hits":[{"title":"T","url":"https://t.example"}]}}"#,
                "1 hit\n  - T https://t.example\n",
            ),
            (
                r#"{"kind":"result","tool":"Task","text":"Found.\nagentId: 1","facts":{"state":"completed","answer":"Found.","tool_uses":14,"tokens":32000,"duration_ms":62000}}"#,
                "14 tools · 32k tokens · 1m 2s\n  (result.answer) Found.\n",
            ),
            (
                r#"{"kind":"result","tool":"Agent","text":"Async agent launched successfully","facts":{"state":"async_launched"}}"#,
                "started in the background\n",
            ),
            (
                r#"{"kind":"result","tool":"TodoWrite","text":"Todos have been modified successfully."}"#,
                "Hide\n",
            ),
            (
                r#"{"kind":"result","tool":"TaskCreate","text":"Task #1 created","facts":{"task":{"id":"1","subject":"Do"}}}"#,
                "#1 Do\n",
            ),
            (
                r#"{"kind":"result","tool":"TaskUpdate","text":"Task not found","facts":{"success":false}}"#,
                "<warning> Task not found\n",
            ),
            (
                r#"{"kind":"result","tool":"AskUserQuestion","text":"t","facts":{"answers":{"Which?":"A"}}}"#,
                "\n  - Which? → A\n",
            ),
            (
                r#"{"kind":"result","tool":"ExitPlanMode","text":"long","facts":{"plan":"p"}}"#,
                "plan approved\n",
            ),
            (r#"{"kind":"result","tool":"Skill","text":"Launching skill: x"}"#, "Hide\n"),
            (
                r#"{"kind":"result","tool":"KillShell","text":"{\"message\":\"Killed b1\",\"shell_id\":\"b1\"}"}"#,
                "Killed b1\n",
            ),
            (
                r#"{"kind":"result","tool":"mcp__a__b","text":"{\"rows\":[{\"id\":1,\"name\":\"a longer name than fits in one line of sixty bytes\"}]}"}"#,
                "\n  [result.text] rows:\n  [result.text]   - id: 1\n  [result.text]     name: a longer name than fits in one line of sixty bytes\n",
            ),
            (r#"{"kind":"result","tool":"mcp__a__b","text":"short"}"#, "short\n"),
            (r#"{"kind":"result","tool":"mcp__a__b","text":""}"#, "no output\n"),
        ],
    );
    check(
        Detail::Full,
        &[
            (
                r#"{"kind":"result","tool":"Task","text":"Found.\nagentId: 1","facts":{"state":"completed","answer":"Found."}}"#,
                "\n  (result.answer) Found.\n  (result.answer) agentId: 1\n",
            ),
            (
                r#"{"kind":"result","tool":"TodoWrite","text":"Todos have been modified successfully."}"#,
                "\n  [result.text] Todos have been modified successfully.\n",
            ),
            (
                r#"{"kind":"result","tool":"mcp__a__b","text":"x","facts":{"structured":{"deep":"value"}}}"#,
                "x\n  [result.structured] {deep: value}\n",
            ),
        ],
    );
}

#[test]
fn results_of_older_versions_are_read_from_their_text() {
    check(
        Detail::Compact,
        &[
            (
                r#"{"kind":"result","tool":"Grep","text":"Found 2 files\n/home/dev/shop/a\n/b"}"#,
                "Found 2 files\n  [result.file] a\n  [result.file] /b\n",
            ),
            (
                r#"{"kind":"result","tool":"BashOutput","text":"<status>completed</status>\n\n<exit_code>0</exit_code>\n\n<stdout>\ntick\n</stdout>"}"#,
                "completed · exit 0\n  [result.text] tick\n",
            ),
            (
                r#"{"kind":"result","tool":"TodoRead","text":"Here is the list: [{\"content\":\"a\",\"status\":\"pending\"}]"}"#,
                "1 task\n",
            ),
            (
                r#"{"kind":"result","tool":"mcp__a__b","text":"seen\n[Image: source: /x/y.png]","facts":{"images":[{"media":"image/png"}]}}"#,
                "seen\n  image image/png None\n",
            ),
            (
                r#"{"kind":"result","tool":"TaskUpdate","text":"Updated task #1 status","facts":{"success":true}}"#,
                "Hide\n",
            ),
            (
                r#"{"kind":"result","tool":"NotebookEdit","text":"x","facts":{"edit_mode":"delete"}}"#,
                "cell deleted\n",
            ),
        ],
    );
}

#[test]
fn what_is_said_and_thought() {
    check(
        Detail::Compact,
        &[
            (r#"{"kind":"reply","text":"Hi **there**"}"#, "\n  (reply) Hi **there**\n"),
            (r#"{"kind":"prompt","text":"Do"}"#, "<prompt> \n  (prompt) Do\n"),
            (r#"{"kind":"thinking","text":"Hm"}"#, "Hide\n"),
            (r#"{"kind":"unknown","text":"npm warn","facts":{"raw":true}}"#, "\n  [unknown] npm warn\n"),
            (
                r#"{"kind":"plan","facts":{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"in_progress","active":"doing b"},{"content":"c","status":"weird"}]}}"#,
                "<plan> Plan 1 of 3 done\n  x a\n  > b\n  o c (weird)\n",
            ),
        ],
    );
    check(
        Detail::Full,
        &[
            (r#"{"kind":"thinking","text":"Hm"}"#, "<thinking> \n  (thinking) Hm\n"),
            (
                r#"{"kind":"thinking","facts":{"redacted":true}}"#,
                "<thinking> thinking, not shown by the model\n",
            ),
        ],
    );
}

#[test]
fn notices_and_outcomes() {
    check(
        Detail::Compact,
        &[
            (
                r#"{"kind":"notice","facts":{"event":"session","model":"opus","cwd":"/home/dev/shop-api"}}"#,
                "<session> opus · ~/shop-api\n",
            ),
            (r#"{"kind":"notice","text":"x","facts":{"event":"hook","quiet":true}}"#, "Hide\n"),
            (
                r#"{"kind":"notice","facts":{"event":"retry","attempt":1,"of":10,"delay_ms":500,"status":529,"level":"warning"}}"#,
                "<warning> trying again (1 of 10) in 500ms · 529\n",
            ),
            (
                r#"{"kind":"notice","text":"Something new","facts":{"event":"brand_new"}}"#,
                "<notice> Something new\n",
            ),
            (r#"{"kind":"notice","facts":{"event":"brand_new"}}"#, "<notice> brand new\n"),
            (
                r#"{"kind":"notice","text":"torn","facts":{"event":"damaged","level":"error","incomplete":true}}"#,
                "<error> line 7: incomplete record · torn\n",
            ),
            (
                r#"{"kind":"outcome","text":"Hi","facts":{"turns":12,"cost_usd":0.3123,"duration_ms":102000,"repeated":true}}"#,
                "<outcome-ok> done · 12 turns · 1m 42s · $0.31\n",
            ),
            (
                r#"{"kind":"outcome","text":"Hi","facts":{"turns":"12","cost_usd":"x"}}"#,
                "<outcome-ok> done\n  (reply) Hi\n",
            ),
            (
                r#"{"kind":"outcome","error":1,"facts":{"subtype":"error_max_turns","errors":["Reached maximum"],"denials":[{"tool":"Bash"}]}}"#,
                "<outcome-error> stopped: too many turns · 1 denied\n  Reached maximum\n",
            ),
        ],
    );
    check(
        Detail::Full,
        &[
            (
                r#"{"kind":"notice","text":"x","facts":{"event":"hook","name":"Stop","quiet":true}}"#,
                "<notice> hook Stop · x\n",
            ),
            (
                r#"{"kind":"outcome","facts":{"usage":{"input":1200,"output":3},"models":{"opus":{"input":1,"cost_usd":0.5}}}}"#,
                "<outcome-ok> done\n  tokens 1,200 in · 3 out\n  opus 1 in · $0.50\n",
            ),
        ],
    );
}

#[test]
fn lines_can_be_searched() {
    check(
        Detail::Lines,
        &[
            (
                r#"{"kind":"call","tool":"Bash","input":{"command":"cargo test -p cart"}}"#,
                "[tool] Bash cargo test -p cart\n",
            ),
            (
                r#"{"kind":"call","tool":"Bash","input":{"command":"a\nb","description":"Both"}}"#,
                "[tool] Bash Both a b\n",
            ),
            (r#"{"kind":"result","tool":"Bash","text":"one\ntwo\nthree"}"#, "[result] one two three\n"),
            (
                r#"{"kind":"result","tool":"Bash","error":1,"text":"Exit code 2\nno such file","facts":{"exit":2}}"#,
                "[error] exit 2 no such file\n",
            ),
            (r#"{"kind":"reply","text":"Done.\n\nAll well."}"#, "[reply] Done. All well.\n"),
            (
                r#"{"kind":"outcome","facts":{"turns":12,"cost_usd":0.3123,"duration_ms":102000}}"#,
                "[cost] $0.31 · 12 turns · 1m 42s\n",
            ),
            (
                r#"{"kind":"outcome","error":1,"facts":{"turns":1,"cost_usd":0.5}}"#,
                "[failed] failed · $0.50 · 1 turn\n",
            ),
            (r#"{"kind":"thinking","text":"Hm"}"#, "Hide\n"),
        ],
    );
    let long =
        format!(r#"{{"kind":"result","tool":"Bash","text":"{}"}}"#, "some words of output\\n".repeat(100));
    let line = said(Detail::Lines, None, &long);
    assert!(line.len() < 400 && line.ends_with("(+85 lines)\n"), "{line}");
}

mod laws {
    use super::*;
    use crate::formatter::tools;
    use crate::profile::Limits;
    use proptest::prelude::*;

    /// Keys and names of facts that some tool knows, and some that none knows.
    const KEYS: &[&str] = &[
        "command",
        "description",
        "timeout",
        "run_in_background",
        "file_path",
        "offset",
        "limit",
        "pages",
        "content",
        "old_string",
        "new_string",
        "replace_all",
        "edits",
        "pattern",
        "path",
        "glob",
        "url",
        "prompt",
        "query",
        "subagent_type",
        "todos",
        "subject",
        "taskId",
        "status",
        "plan",
        "questions",
        "question",
        "options",
        "label",
        "skill",
        "args",
        "task_id",
        "notebook_path",
        "new_source",
        "edit_mode",
        "cell_id",
        "odd key",
        "activeForm",
        "stdout",
        "stderr",
        "exit",
        "interrupted",
        "image",
        "background",
        "files",
        "patch",
        "lines",
        "start",
        "total",
        "type",
        "created",
        "mode",
        "count",
        "matches",
        "code",
        "answer",
        "hits",
        "state",
        "tokens",
        "answers",
        "cells",
        "success",
        "task",
        "tasks",
        "structured",
        "persisted",
        "images",
        "denied",
        "event",
        "turns",
        "cost_usd",
        "usage",
        "models",
        "errors",
        "denials",
        "level",
        "model",
        "cwd",
        "tools",
        "oldStart",
    ];

    /// Any JSON; strings hold marks of the form `mkN`, which are counted afterwards.
    fn json() -> impl Strategy<Value = String> {
        let scalar = prop_oneof![
            4 => "(mk|mk x\\\\n| mk y\\\\n\\\\nmk|mk \\\\u001b\\[2J mk|mk, mk: \\[mk)".prop_map(|text| format!("\"{text}\"")),
            1 => prop_oneof![Just("null"), Just("true"), Just("false"), Just("1e400"), Just("-3"), Just("7.50")]
                .prop_map(str::to_owned),
        ];
        scalar.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4)
                    .prop_map(|items| format!("[{}]", items.join(","))),
                object(inner),
            ]
        })
    }

    fn object(values: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
        let fields = proptest::collection::vec((proptest::sample::select(KEYS), values), 0..5);
        fields.prop_map(|fields| {
            let fields: Vec<_> =
                fields.into_iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
            format!("{{{}}}", fields.join(","))
        })
    }

    /// Gives each mark a number of its own.
    fn numbered(json: &str) -> (String, Vec<String>) {
        let mut parts = json.split("mk");
        let mut out = parts.next().unwrap_or_default().to_owned();
        let mut marks = Vec::new();
        for part in parts {
            let mark = format!("mk{}z", marks.len());
            out.push_str(&mark);
            out.push_str(part);
            marks.push(mark);
        }
        (out, marks)
    }

    fn tool() -> impl Strategy<Value = &'static str> {
        let names: Vec<&'static str> = tools::names().chain(["mcp__a__b", "Вash"]).collect();
        proptest::sample::select(names)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn full_calls_hold_every_string(tool in tool(), input in prop_oneof![object(json()), json()]) {
            let (input, marks) = numbered(&input);
            let call = format!(r#"{{"kind":"call","tool":"{tool}","input":{input}}}"#);
            let said = said(Detail::Full, None, &call);
            // Of a list of things to do, what a point says stands in the plan.
            let is_plan = said.trim() == "<call> TodoWrite";
            for mark in marks {
                prop_assert!(is_plan || said.contains(&mark), "{mark} of {call}\n{said}");
            }
        }

        #[test]
        fn full_results_hold_every_line_of_their_text(
            tool in tool(), error in any::<bool>(), facts in object(json()),
            text in "(mk|     1→mk\\\\n     2→mk\\\\n\\\\nmk|mk\\\\nmk|<tool_use_error>mk</tool_use_error>|Exit code 3\\\\nmk|<system-reminder>mk</system-reminder>mk)",
        ) {
            let (text, marks) = numbered(&text);
            let error = if error { r#""error":1,"# } else { "" };
            let result = format!(r#"{{"kind":"result",{error}"tool":"{tool}","text":"{text}","facts":{facts}}}"#);
            let said = said(Detail::Full, None, &result);
            for mark in marks {
                prop_assert!(said.contains(&mark), "{mark} of {result}\n{said}");
            }
        }

        #[test]
        fn nothing_panics_and_everything_can_be_clipped(
            kind in proptest::sample::select(Kind::ALL.to_vec()),
            tool in tool(), error in any::<bool>(), facts in object(json()), text in json(), input in json(),
        ) {
            let error = if error { r#""error":1,"# } else { "" };
            let item = item(&format!(
                r#"{{"kind":"{}",{error}"tool":"{tool}","text":{text},"input":{input},"facts":{facts}}}"#, kind.name()
            ));
            let call = format!(r#"{{"kind":"call","tool":"{tool}","input":{input}}}"#);
            for detail in [Detail::Compact, Detail::Full, Detail::Lines] {
                match Standard::new(detail).format(&item, &session(Some(&call))) {
                    Ok(Verdict::Show(mut view)) => {
                        if detail == Detail::Lines {
                            view = Standard::new(detail).fold(&item, &session(Some(&call)), view);
                        }
                        let limits = Limits { result_lines: Some(1), error_lines: Some(1), call_lines: Some(2),
                            diff_lines: Some(1), result_bytes: Some(5), ..Limits::default() };
                        crate::clip::clip(&mut view, kind, item.error, &limits);
                        shown(&view);
                        prop_assert!(detail != Detail::Lines || view.body.is_empty());
                    }
                    Ok(Verdict::Hide) => {}
                    other => prop_assert!(false, "{other:?}"),
                }
            }
        }
    }
}
