//! The formatting of calls.

use super::*;
use streamfmt_core::contract::write_item;
use streamfmt_core::item::{Does, Fact, FactSpec, ToolKind};

#[test]
fn calls_are_one_line_if_they_fit() {
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
                "<call> MultiEdit a\n",
            ),
            (
                r#"{"kind":"call","tool":"MultiEdit","input":{"file_path":"a","edits":[{"old_string":"x","new_string":"y"},{"old_string":"z","new_string":"y","replace_all":true}]}}"#,
                "<call> MultiEdit a 2 edits (#2 everywhere)\n",
            ),
            (
                r#"{"kind":"call","tool":"MultiEdit","input":{"file_path":"a","edits":[{"old_string":"x","new_string":"y","replace_all":true}]}}"#,
                "<call> MultiEdit a everywhere\n",
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
                r#"{"kind":"call","tool":"TaskUpdate","input":{"taskId":"3","owner":"ann","addBlocks":["4"],"addBlockedBy":["1","2"],"description":"long"}}"#,
                "<call> TaskUpdate #3 for ann blocks #4 blocked by #1, #2 with a new description\n",
            ),
            (
                r#"{"kind":"call","tool":"TaskUpdate","input":{"taskId":"3","addBlocks":7}}"#,
                "<call> TaskUpdate taskId: 3, addBlocks: 7\n",
            ),
            (
                r#"{"kind":"call","tool":"ExitPlanMode","input":{"plan":"1. do"}}"#,
                "<call> ExitPlanMode\n  (plan) 1. do\n",
            ),
            (
                r#"{"kind":"call","tool":"AskUserQuestion","input":{"questions":[{"question":"Which?","options":[{"label":"A","description":"first"},{"label":"B"}]}]}}"#,
                "<call> AskUserQuestion\n  Which?\n  - A – first\n  - B\n",
            ),
            (
                r#"{"kind":"call","tool":"mcp__db__query","input":{"sql":"select 1\nfrom t","limit":10},"facts":{"server":"db","tool":"query"}}"#,
                "<call> db · query\n  sql:\n  [call.value sql] select 1\n  [call.value sql] from t\n  limit: 10\n",
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
            (
                r#"{"kind":"call","tool":"Odd","input":"a\n\nb\n"}"#,
                "<call> Odd\n  [call.input] a\n  [call.input] \n  [call.input] b\n",
            ),
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
                "<call> Task E · d\n  (prompt.task) look\n  (prompt.task) well\n  model: m\n",
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

/// A job whose name is a number.
const NUMBERED: &[FactSpec] = &[
    FactSpec::made("job", "job", |value| value.int().map(|number| Fact::Text(number.to_string()))),
    FactSpec::key("stdin", "stdin"),
];

#[test]
fn calls_of_tools_that_no_product_is_known_to_have() {
    let call = |action: &str, input: &str| {
        format!(r#"{{"kind":"call","tool":"t","action":"{action}","input":{input}}}"#)
    };
    for (action, input, expected) in [
        ("read", r#"{"path":"a.rs","start_line":10,"end_line":20}"#, "<call> t a.rs lines 10–20\n"),
        ("read", r#"{"path":"a.rs","end_line":20}"#, "<call> t a.rs first 20 lines\n"),
        ("run", r#"{"cmd":"ls","workdir":"/home/dev/shop/sub"}"#, "<call> t ls in sub\n"),
        ("run", r#"{"cmd":"ls","workdir":"/tmp"}"#, "<call> t ls in /tmp\n"),
        ("run", r#"{"cmd":"ls","workdir":"/home/dev/shop/"}"#, "<call> t ls\n"),
        ("run", r#"{"cmd":"ls","workdir":7}"#, "<call> t ls\n"),
        ("plan", r#"{"todos":[{"text":"a","completed":true}]}"#, "Hide\n"),
    ] {
        assert_eq!(formatted(Detail::Compact, None, &call(action, input)), expected, "{action} {input}");
    }
    let same = call("run", r#"{"cmd":"ls","workdir":"/home/dev/shop"}"#);
    assert_eq!(formatted(Detail::Full, None, &same), "<call> t ls\n  workdir: /home/dev/shop\n");
    let mut job = item(r#"{"kind":"call","tool":"t","input":{"job":7,"stdin":"yes\n"}}"#);
    job.tool_kind = Some(ToolKind::Job);
    job.does = Some(Does::Input(NUMBERED));
    let verdict = Standard::new(Detail::Compact).format(&job, &session(None));
    assert!(matches!(&verdict, Ok(Verdict::Show(view)) if shown(view) == "<call> t 7 yes\n"), "{verdict:?}");
}

#[test]
fn a_call_without_a_name_is_shown_all_the_same() {
    for tool in ["", " "] {
        let call = format!(r#"{{"kind":"call","tool":"{tool}","input":{{}}}}"#);
        assert_eq!(formatted(Detail::Compact, None, &call), "<call> call\n");
    }
}

/// Returns a call of a tool that changes the files named in its input.
fn changing(changes: &str) -> String {
    format!(r#"{{"kind":"call","tool":"patch","action":"edit","input":{{"changes":[{changes}]}}}}"#)
}

const DIFF: &str =
    r#"{"path":"/home/dev/shop/a.rs","kind":"update","diff":"@@ -4,3 +4,3 @@ fn a()\n k\n-old\n+new\n l\n"}"#;
const NEW: &str = r#"{"path":"b.rs","kind":"add","content":"x\ny\n"}"#;
const GONE: &str = r#"{"path":"c.rs","kind":"delete"}"#;
const MOVED: &str = r#"{"path":"d.rs","kind":"update","to":"/home/dev/shop/e.rs"}"#;

#[test]
fn a_call_may_change_several_files() {
    for (changes, expected) in [
        (DIFF.to_owned(), "<call> patch a.rs\n"),
        (NEW.to_owned(), "<call> patch b.rs new\n"),
        (GONE.to_owned(), "<call> patch c.rs deleted\n"),
        (MOVED.to_owned(), "<call> patch d.rs → e.rs\n"),
        // The changes are in the result.
        (format!("{DIFF},{NEW}"), "<call> patch 2 files (a.rs, b.rs)\n"),
        (format!("{GONE},{MOVED}"), "<call> patch 2 files\n  c.rs deleted\n  d.rs → e.rs\n"),
        (
            r#"{"path":"f.rs","kind":"update"},{"path":"g.rs"}"#.to_owned(),
            "<call> patch 2 files (f.rs, g.rs)\n",
        ),
        // A change without a file, or with an invalid diff.
        (
            r#"{"path":"f.rs"},{"kind":"add"}"#.to_owned(),
            "<call> patch\n  changes: [{path: f.rs}, {kind: add}]\n",
        ),
    ] {
        assert_eq!(formatted(Detail::Compact, None, &changing(&changes)), expected, "{changes}");
    }
    let long = |number: usize| format!(r#"{{"path":"{}/{number}"}}"#, "long".repeat(20));
    let many: Vec<String> = (0..3).map(long).collect();
    let text = formatted(Detail::Compact, None, &changing(&many.join(",")));
    assert_eq!(text.lines().map(str::len).collect::<Vec<_>>(), [20, 84, 84, 84], "{text}");
}

#[test]
fn in_full_a_call_shows_the_changes_of_all_files() {
    for (changes, expected) in [
        (DIFF.to_owned(), "<call> patch a.rs\n  diff a.rs\n  @ 4 4\n   k\n  -old\n  +new\n   l\n"),
        (
            format!("{DIFF},{NEW},{GONE},{MOVED}"),
            "<call> patch 4 files\n  a.rs +1 −1\n  diff a.rs\n  @ 4 4\n   k\n  -old\n  +new\n   l\n  \
             b.rs new +2\n  diff b.rs\n  +x\n  +y\n  c.rs deleted\n  d.rs → e.rs\n",
        ),
        // Unknown parts follow verbatim.
        (r#"{"path":"f.rs","mode":7}"#.to_owned(), "<call> patch f.rs\n  changes: [{path: f.rs, mode: 7}]\n"),
        (
            r#"{"path":"f.rs","diff":"no hunk"}"#.to_owned(),
            "<call> patch\n  changes: [{path: f.rs, diff: no hunk}]\n",
        ),
    ] {
        assert_eq!(formatted(Detail::Full, None, &changing(&changes)), expected, "{changes}");
    }
}

#[test]
fn an_input_of_any_type_may_be_what_a_dialect_made_facts_of() {
    let mut call = item(r#"{"kind":"call","tool":"patch","action":"edit","input":"free text"}"#);
    let text = |text: &str| Fact::Text(text.to_owned());
    let change =
        vec![("path", text("a.rs")), ("kind", text("update")), ("diff", text("@@ @@ fn a()\n-x\n+y\n"))];
    let facts = Box::new([("changes", Fact::List(vec![Fact::Map(change)]))]);
    call.does = Some(Does::Facts { facts, of: call.input.unwrap() });
    let shown_in = |detail| match Standard::new(detail).format(&call, &session(None)) {
        Ok(Verdict::Show(view)) => shown(&view),
        other => format!("{other:?}"),
    };
    assert_eq!(shown_in(Detail::Compact), "<call> patch a.rs\n");
    assert_eq!(shown_in(Detail::Full), "<call> patch a.rs\n  diff a.rs\n   fn a()\n  -x\n  +y\n");
    let mut line = String::new();
    write_item(&call, &mut line).unwrap();
    let does = r#""does":{"changes":[{"path":"a.rs","kind":"update","diff":"@@ @@ fn a()\n-x\n+y\n"}]},"input":"free text""#;
    assert!(line.contains(does), "{line}");
}
