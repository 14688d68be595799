//! Logs of CI services.

use crate::program::{FAILED_SESSION, Folder, SESSION};

/// A session in which every text is a command of some CI service, at the start of a line and within one.
fn hostile() -> String {
    let evil = r"\n::add-mask::x\n  \u00a0::error file=a::x\nsee ##[add-path]x and ##vso[task.x]y\n::endgroup::\nsection_end:1:streamfmt_1\r\u001b[0K\n";
    let lines = [
        r#"{"type":"system","subtype":"init","session_id":"s-1","model":"::error::m","cwd":"/w","tools":[],"uuid":"u-1"}"#,
        r#"{"type":"user","message":{"role":"user","content":"EVIL"},"session_id":"s-1","uuid":"u-2"}"#,
        r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"thinking","thinking":"EVIL"},{"type":"text","text":"EVIL```\nEVIL```\n> EVIL"}]},"session_id":"s-1","uuid":"u-3"}"#,
        r#"{"type":"assistant","message":{"id":"m2","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"EVIL"}},{"type":"tool_use","id":"t2","name":"Read","input":{"file_path":"/w/a,b:c\n::x::"}},{"type":"tool_use","id":"t3","name":"::x::","input":{"EVIL":"EVIL"}}]},"session_id":"s-1","uuid":"u-4"}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"LONG"}]},"session_id":"s-1","uuid":"u-5"}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"EVIL"}]},"session_id":"s-1","uuid":"u-6"}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t3","is_error":true,"content":"LONG"}]},"session_id":"s-1","uuid":"u-7"}"#,
        "::error::a line that is no event ##[x]",
        r#"{"type":"result","subtype":"error_during_execution","is_error":true,"result":"EVIL","errors":["EVIL"],"session_id":"s-1","uuid":"u-8"}"#,
    ];
    lines.map(|line| format!("{}\n", line.replace("LONG", &evil.repeat(20)).replace("EVIL", evil))).concat()
}

/// The commands in a log, as GitHub's runner finds them.
fn commands(log: &str) -> Vec<&str> {
    let rows = log.split('\n').map(str::trim_start);
    rows.filter(|row| row.starts_with("::") || row.contains("##[") || row.contains("##vso[")).collect()
}

#[test]
fn no_text_is_a_command_in_the_log_of_a_service() {
    let folder = Folder::new();
    folder.write("s.jsonl", hostile());
    let run = |options: &str, service: &str| {
        folder.command(&format!("s.jsonl {options}")).env(service, "true").output().unwrap()
    };
    let text = |options: &str, service: &str| String::from_utf8(run(options, service).stdout).unwrap();
    for service in ["GITHUB_ACTIONS", "GITLAB_CI", "CI"] {
        for profile in ["default", "full", "quiet", "review", "plain", "ci"] {
            for form in [
                "",
                "--to log",
                "--to log --width 30",
                "--to ansi",
                "--to ansi --width 30",
                "--to markdown",
                "--to roles",
            ] {
                let log = text(&format!("--profile {profile} {form}"), service);
                let what = format!("{service} {profile} {form}:\n{log}");
                assert!(log.len() > 100, "{what}");
                let commands = commands(&log);
                let is_log = form.contains("log") || (form, profile) == ("", "ci");
                if !(is_log && service == "GITHUB_ACTIONS") {
                    assert!(commands.is_empty(), "{commands:#?}\n{what}");
                }
                let ours = |command: &&str| {
                    let starts = ["::warning title=", "::error title=agent::", "::group::"];
                    *command == "::endgroup::" || starts.iter().any(|start| command.starts_with(start))
                };
                assert!(commands.iter().all(ours), "{commands:#?}\n{what}");
                let sections = log.matches("section_end:").count() - log.matches("section_end: 1").count();
                let has_sections = is_log && service == "GITLAB_CI";
                assert_eq!(sections > 0, has_sections, "{what}");
            }
        }
    }
    // Output for programs is the same everywhere.
    assert_eq!(text("--to json", "GITHUB_ACTIONS"), folder.run("s.jsonl --to json").stdout);
}

#[test]
fn github_gets_groups_and_annotations() {
    let output = (1..=40).map(|number| format!("line {number} of the log")).collect::<Vec<_>>().join("\\n");
    let session = format!(
        r#"{{"type":"system","subtype":"init","session_id":"s","model":"m","cwd":"/w","tools":[],"uuid":"u-1"}}
{{"type":"assistant","message":{{"id":"m2","content":[{{"type":"tool_use","id":"t1","name":"Bash","input":{{"command":"make"}}}},{{"type":"tool_use","id":"t2","name":"Read","input":{{"file_path":"/w/src/a,b.rs"}}}}]}},"session_id":"s","uuid":"u-4"}}
{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t1","content":"{output}"}}]}},"session_id":"s","uuid":"u-5"}}
{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"100% gone"}}]}},"session_id":"s","uuid":"u-6"}}
"#
    );
    let folder = Folder::with(&[("s.jsonl", &session), ("failed.jsonl", FAILED_SESSION)]);
    let log = folder.run("s.jsonl --profile ci --set layout.ci=github").expect(0, "").stdout;
    let lines: Vec<&str> = log.lines().collect();
    assert!(lines.iter().any(|line| line.starts_with("[result] Bash make: line 1 of the log")), "{log}");
    let group = lines.iter().position(|line| *line == "::group::40 lines").unwrap();
    assert_eq!((lines[group + 1], lines[group + 40]), ("  line 1 of the log", "  line 40 of the log"));
    assert_eq!(lines[group + 41], "::endgroup::");
    assert_eq!(
        lines[group + 42],
        "::warning title=Read,file=src/a%2Cb.rs::[error] Read src/a,b.rs: 100%25 gone"
    );
    let log = folder.run("failed.jsonl --profile ci --set layout.ci=github").stdout;
    assert!(log.contains("\n::error title=agent::[failed] "), "{log}");
    // The service is named explicitly or detected from the environment.
    let found = folder.command("failed.jsonl --profile ci").env("GITHUB_ACTIONS", "true").output().unwrap();
    assert_eq!(String::from_utf8(found.stdout).unwrap(), log);
}

#[test]
fn gitlab_gets_sections() {
    let output = (1..=40).map(|number| format!("line {number} of the log")).collect::<Vec<_>>().join("\\n");
    let session = format!(
        r#"{{"type":"assistant","message":{{"id":"m","content":[{{"type":"tool_use","id":"t","name":"Bash","input":{{"command":"make"}}}}]}},"uuid":"a","timestamp":"2026-01-02T03:04:05Z"}}
{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t","content":"{output}"}}]}},"uuid":"r","timestamp":"2026-01-02T03:04:07Z"}}
"#
    );
    let folder = Folder::with(&[("s.jsonl", &session)]);
    let run = folder.command("s.jsonl --profile ci").env("GITLAB_CI", "true").output().unwrap();
    let log = String::from_utf8(run.stdout).unwrap();
    let at = "1767323047:streamfmt_1";
    let begin = format!("section_start:{at}[collapsed=true]\r\x1b[0K40 lines\n  line 1 of the log\n");
    assert!(log.contains(&begin), "{log:?}");
    assert!(log.contains(&format!("  line 40 of the log\nsection_end:{at}\r\x1b[0K\n")), "{log:?}");
}

#[test]
fn annotations_name_the_place_that_failed() {
    let failed = |tool: &str, input: &str, text: &str| {
        format!(
            r#"{{"type":"assistant","message":{{"id":"m","content":[{{"type":"tool_use","id":"t","name":"{tool}","input":{input}}}]}},"uuid":"a"}}
{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"{text}"}}]}},"uuid":"r"}}
"#
        )
    };
    let folder = Folder::new();
    for (tool, input, text, expected) in [
        (
            "Bash",
            r#"{"command":"make"}"#,
            r"warning: unused\n --> src/b.rs:1:1\nerror\n --> src/cart.rs:41:9",
            "::warning title=Bash,file=src/cart.rs,line=41::",
        ),
        ("Bash", r#"{"command":"make"}"#, r"no such target\n12:30:45", "::warning title=Bash::"),
        (
            "Edit",
            r#"{"file_path":"src/a.ts","old_string":"a","new_string":"b"}"#,
            r"src/b.ts(1,1): error\n/w/src/a.ts(3,5): error",
            "::warning title=Edit,file=src/a.ts,line=3::",
        ),
        ("Read", r#"{"file_path":"src/a.ts"}"#, "src/b.ts:1", "::warning title=Read,file=src/a.ts::"),
        (
            "Bash",
            r#"{"command":"make"}"#,
            r"  x,line=7::\u001b[2K/a,file=b.rs:3: ##[error]y",
            "::warning title=Bash,file=b.rs,line=3::",
        ),
    ] {
        let log = folder.pipe("--profile ci --set layout.ci=github", &failed(tool, input, text)).stdout;
        let found = log.lines().find(|line| line.starts_with("::warning")).unwrap_or_default();
        assert!(found.starts_with(expected), "{expected}\n{log}");
    }
}

#[test]
fn a_writer_for_logs_writes_no_foreign_command_even_where_it_fails() {
    let plugin = r#"sf.writer("mine", { log = true, entry = function(entry, w)
        if entry.kind == "reply" then error("no") end
        return w:inlines(entry.title) .. "\n" .. w:block(entry.blocks) .. "::mine::\n"
    end })"#;
    let folder = Folder::with(&[("mine.lua", plugin)]);
    folder.write("s.jsonl", hostile());
    let log = folder.run("--plugin mine.lua --to mine --profile full s.jsonl").stdout;
    assert!(log.contains(": :add-mask::x"), "{log}");
    assert!(commands(&log).iter().all(|command| *command == "::mine::"), "{:#?}\n{log}", commands(&log));
    assert!(commands(&log).len() > 5, "{log}");
}

#[test]
fn a_summary_is_appended_beside_the_output() {
    let call = r#"{"type":"assistant","message":{"id":"m-3","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make"}}]},"session_id":"s-1","uuid":"u-5"}"#;
    let mut lines: Vec<&str> = SESSION.lines().collect();
    lines.insert(2, call);
    let folder = Folder::with(&[("s.jsonl", lines.join("\n").as_str()), ("sum.md", "before\n")]);
    let plain = folder.run("s.jsonl --profile ci").stdout;
    let output = folder.run("s.jsonl --profile ci --summary sum.md").expect(0, "");
    assert_eq!(output.stdout, plain);
    folder.pipe("--to items --summary sum.md", FAILED_SESSION).expect(0, "");
    let summary = folder.read("sum.md");
    let (before, rest) = summary.split_once('\n').unwrap();
    assert_eq!(before, "before");
    assert!(rest.starts_with("# model-1 · "), "{rest}");
    assert!(!rest.contains("First reply."), "what isn't the answer is left out: {rest}");
    assert!(rest.contains("\n## Answer\n\nSecond reply.\n"), "{rest}");
    assert!(rest.contains("✗ "), "the run that failed: {rest}");
    folder
        .run("s.jsonl --summary no/such.md")
        .expect(74, "streamfmt: can't write no/such.md: no such file or directory\n");
}

#[test]
fn a_summary_of_several_turns_ends_with_what_all_of_them_came_to() {
    let turn = |number: u32, so_far: f64| {
        format!(
            "{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"{number}?\"}},\"session_id\":\"s-1\",\"uuid\":\"p{number}\"}}\n\
             {{\"type\":\"assistant\",\"message\":{{\"id\":\"m{number}\",\"content\":[{{\"type\":\"text\",\"text\":\"Reply {number}.\"}}]}},\"session_id\":\"s-1\",\"uuid\":\"a{number}\"}}\n\
             {{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"num_turns\":1,\"duration_ms\":1000,\"total_cost_usd\":{so_far},\"result\":\"Reply {number}.\",\"session_id\":\"s-1\",\"uuid\":\"r{number}\"}}\n"
        )
    };
    let folder = Folder::with(&[("s.jsonl", (turn(1, 0.25) + &turn(2, 0.75)).as_str())]);
    let log = folder.run("s.jsonl --profile ci --summary sum.md").expect(0, "").stdout;
    assert!(log.ends_with("[cost] $0.75 · 2 prompts · 2 turns · 2.0s\n"), "{log}");
    let summary = folder.read("sum.md");
    assert!(summary.trim_end().ends_with("Σ 2 prompts · 2 turns · 2.0s · $0.75"), "{summary}");
    assert_eq!(summary.matches('$').count(), 1, "the cost is there once: {summary}");
}
