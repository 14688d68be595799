//! The sessions in agents' own folders: found without naming the folders.

use serde_json::{Value, json};

use crate::agent_folders::{sessions_of, write};
use crate::program::{Folder, Running, SESSION, Signal, reply, until};
use crate::run::{command, run};
use crate::serve::Served;
use crate::sessions::rows;

const CLEANUP: &str = "streamfmt: claude deletes its sessions after 30 days (cleanupPeriodDays in ~/.claude/settings.json); only their entries here remain (to keep copies: streamfmt sessions import --keep)\n";

/// Where Claude Code keeps a session with this id.
fn history(id: &str) -> String {
    format!("home/.claude/projects/-home-dev-shop/{id}.jsonl")
}

fn write_history(folder: &Folder, id: &str) {
    folder.write(&history(id), SESSION.replace("s-1", id));
}

#[test]
fn without_a_path_the_folders_of_all_agents_are_imported() {
    let folder = Folder::new();
    // A session of each agent but Aider, which has no folder for all of them.
    let sessions = sessions_of("/home/dev/shop", 1);
    let kept: Vec<_> = sessions.iter().filter(|session| !session.folder.is_empty()).collect();
    for session in &kept {
        write(&folder, session);
    }
    write_history(&folder, "s-1");
    folder.write(
        ".aider.chat.history.md",
        "\n# aider chat started at 2026-11-20 10:01:00\n\n#### Ask\n\nAider.\n",
    );
    let count = run(&folder, "sessions import").expect(0, CLEANUP).stdout;
    let again = run(&folder, "sessions import").expect(0, CLEANUP).stdout;
    let all = rows(&folder, "").len();
    assert!(all > 4 && count.starts_with(&format!("{all} new, ")), "{all}: {count}");
    assert!(again.starts_with("0 new, 0 changed, ") && !again.contains(" 0 unchanged"), "{again}");
    // A variable of an agent moves its folder.
    folder.write("moved/projects/-x/s-2.jsonl", SESSION.replace("s-1", "s-2"));
    let mut moved = command(&folder, "sessions import");
    moved.env("CLAUDE_CONFIG_DIR", folder.path("moved"));
    assert!(moved.output().unwrap().stdout.starts_with(b"1 new, "));
    assert_eq!(rows(&folder, "").len(), all + 1);
}

#[test]
fn without_a_folder_of_an_agent_a_line_says_which_were_looked_for() {
    let folder = Folder::new();
    let imported = run(&folder, "sessions import");
    assert_eq!((imported.code, &*imported.stdout), (Some(0), ""));
    let (begin, rest) = imported.stderr.split_once(" (looked for ").unwrap();
    assert_eq!(begin, "streamfmt: no agent keeps sessions here");
    let names: Vec<&str> = rest.trim_end().trim_end_matches(')').split(", ").collect();
    assert!(names.len() > 8 && names.contains(&"~/.claude/projects"), "{rest}");
    let page = include_str!("../../../../docs/agents.md");
    for name in names {
        assert!(page.contains(&format!(" | `{name}` | ")), "docs/agents.md lacks {name}");
    }
}

#[test]
fn an_import_that_was_killed_goes_on() {
    let folder = Folder::new();
    for number in 0..200 {
        write_history(&folder, &format!("s-{number}"));
    }
    // Killed while it adds files, and once more after it has read some of them.
    let turns = |folder: &Folder| rows(folder, "").iter().filter(|row| row["num_turns"] == 2).count();
    for is_reached in [|listed: usize, _| listed > 0, |_, read: usize| read > 0] {
        let importing = Running::of(&folder, command(&folder, "sessions import"));
        until(|| importing.messages(), || is_reached(rows(&folder, "").len(), turns(&folder)));
        importing.end(Signal::KILL);
    }
    let read = turns(&folder);
    let goes_on = run(&folder, "sessions import").expect(0, CLEANUP).stdout;
    assert_eq!((rows(&folder, "").len(), turns(&folder)), (200, 200), "{goes_on}");
    // Those that had been read aren't read again, and those that were only added aren't new.
    let counts: Vec<usize> =
        goes_on.split(|ch: char| !ch.is_ascii_digit()).filter_map(|it| it.parse().ok()).collect();
    assert!(counts[0] < 200 && counts[2] >= read && counts.iter().sum::<usize>() == 200, "{goes_on}");
    folder.append(&history("s-3"), &reply(7));
    assert_eq!(
        run(&folder, "sessions import").expect(0, CLEANUP).stdout,
        "0 new, 1 changed, 199 unchanged\n"
    );
}

#[test]
fn an_empty_list_names_what_agents_keep() {
    let folder = Folder::new();
    run(&folder, "sessions list").expect(0, "");
    write_history(&folder, "s-1");
    write_history(&folder, "s-2");
    folder.write("home/.claude/projects/-home-dev-shop/s-1/subagents/agent-1.jsonl", "");
    folder.write("home/.local/share/opencode/opencode.db", "");
    let expected = "streamfmt: no sessions yet; to add those of agents: streamfmt sessions import
streamfmt: claude: 2 sessions in ~/.claude/projects
streamfmt: opencode: 1 database of sessions in ~/.local/share/opencode
";
    run(&folder, "sessions list").expect(0, expected);
    run(&folder, "sessions list --json").expect(0, "");
    let server = Served::start(&folder, "");
    let page = server.get("/");
    for text in
        ["<code>streamfmt sessions import</code>", "<li>claude: 2 sessions in ", "/.claude/projects</span>"]
    {
        assert!(page.body.contains(text), "{text}: {}", page.body);
    }
    run(&folder, "sessions import home/.claude").expect(0, CLEANUP);
    run(&folder, "sessions list --agent codex").expect(0, "");
    until(|| server.messages(), || !server.get("/").body.contains("class=\"importable\""));
}

#[test]
fn an_import_reports_that_the_agent_will_delete_sessions() {
    let folder = Folder::new();
    write_history(&folder, "s-1");
    folder.write("elsewhere/s-2.jsonl", SESSION.replace("s-1", "s-2"));
    let after = |days: &str| CLEANUP.replace("30 days", days);
    for (settings, paths, reported) in [
        ("{\n \"cleanupPeriodDays\": 7\n}\n", "", after("7 days")),
        ("{\"cleanupPeriodDays\": 1}", "home", after("1 day")),
        ("{\"cleanupPeriodDays\": 1}", "home/.claude/projects/-home-dev-shop", after("1 day")),
        ("{\"cleanupPeriodDays\": \"no\"", "", after("30 days")),
        ("{\"cleanupPeriodDays\": 99999}", "", String::new()),
        ("{}", "elsewhere", String::new()),
        ("{}", &history("s-1"), String::new()),
    ] {
        folder.write("home/.claude/settings.json", settings);
        run(&folder, &format!("sessions import {paths}")).expect(0, &reported);
    }
}

/// The number of turns of the session with this id of its agent.
fn turns_of(folder: &Folder, id: &str) -> Option<u64> {
    let rows = rows(folder, "");
    rows.iter().find(|row| row["agent_session"] == id)?["num_turns"].as_u64()
}

#[test]
fn what_appears_and_grows_in_imported_folders_is_imported_while_one_process_watches() {
    let folder = Folder::new();
    write_history(&folder, "s-1");
    folder.write("other/s-8.jsonl", SESSION.replace("s-1", "s-8"));
    folder.write("alone/s-9.jsonl", SESSION.replace("s-1", "s-9"));
    run(&folder, "sessions import other alone/s-9.jsonl").expect(0, "");
    let mut watching = Running::of(&folder, command(&folder, "sessions import --watch"));
    watching.until_shown("1 new, 0 changed, 0 unchanged\n");
    // A new folder of a project, a file that grows, and a folder that was imported before. A file that was imported alone names no folder.
    folder.write("alone/s-7.jsonl", SESSION.replace("s-1", "s-7"));
    folder.write("home/.claude/projects/-new/s-2.jsonl", SESSION.replace("s-1", "s-2"));
    folder.append(&history("s-1"), &SESSION.replace("u-", "v-"));
    folder.write("other/s-3.jsonl", SESSION.replace("s-1", "s-3"));
    let seen = || watching.messages();
    until(seen, || turns_of(&folder, "s-2") == Some(2) && turns_of(&folder, "s-3") == Some(2));
    until(seen, || turns_of(&folder, "s-1") == Some(4));
    assert_eq!(turns_of(&folder, "s-7"), None);
    // A second process says that there is one.
    let second = run(&folder, "sessions import --watch");
    assert_eq!((second.code, &*second.stdout), (Some(2), ""));
    assert!(
        second.stderr.starts_with("streamfmt: another process imports what appears"),
        "{}",
        second.stderr
    );
    let ended = watching.end(Signal::TERM);
    assert_eq!(ended.code, Some(0));
    assert!(
        ended.stdout.contains("new, ") && !ended.stdout.contains("0 new, 0 changed\n"),
        "{}",
        ended.stdout
    );
    // Without a watching process, nothing more is imported.
    write_history(&folder, "s-4");
    assert_eq!(turns_of(&folder, "s-4"), None);
}

#[test]
fn serve_imports_from_imported_folders_only() {
    let folder = Folder::new();
    write_history(&folder, "s-1");
    folder.write("other/s-8.jsonl", SESSION.replace("s-1", "s-8"));
    run(&folder, "sessions import other").expect(0, "");
    let served = Served::start(&folder, "");
    folder.write("other/s-2.jsonl", SESSION.replace("s-1", "s-2"));
    until(|| served.messages(), || turns_of(&folder, "s-2") == Some(2));
    until(|| served.messages(), || served.get("/").body.matches("<tr data-id=").count() == 2);
    // Its agent's own folder was never imported.
    assert_eq!(turns_of(&folder, "s-1"), None);
    assert_eq!(run(&folder, "sessions import --watch").code, Some(2));
    assert_eq!(served.messages(), "");
}

/// A history of Claude Code in which calls were made, each with its tool, its input, the text of its result, and whether it failed.
fn history_of(id: &str, day: u32, calls: &[(&str, Value, &str, bool)]) -> String {
    let mut lines = String::new();
    let mut add = |number: usize, kind: &str, role: &str, content: Value| {
        let line = json!({"type": kind, "sessionId": id, "cwd": "/home/dev/shop", "version": "2.1.0", "uuid": format!("{id}-{kind}-{number}"),
            "parentUuid": null, "isSidechain": false, "timestamp": format!("2026-11-{day:02}T09:00:{number:02}.000Z"),
            "message": {"id": format!("m-{id}-{number}"), "role": role, "model": "model-1", "content": content}});
        lines.extend([line.to_string(), "\n".to_owned()]);
    };
    add(0, "user", "user", json!(format!("Task of {id}")));
    for (number, (tool, input, text, failed)) in (1..).zip(calls) {
        let call = format!("toolu_{id}_{number}");
        add(
            number,
            "assistant",
            "assistant",
            json!([{"type": "tool_use", "id": call, "name": tool, "input": input}]),
        );
        add(
            number,
            "user",
            "user",
            json!([{"type": "tool_result", "tool_use_id": call, "content": text, "is_error": failed}]),
        );
    }
    lines
}

#[test]
fn the_session_that_made_something_is_found() {
    let folder = Folder::new();
    let edit = |path: &str| json!({"file_path": path, "old_string": "a", "new_string": "b"});
    let bash = |command: &str| json!({"command": command});
    let commit = bash("git add -A && git commit -m 'Mend the cart'");
    let pull_request = "{\"type\":\"pr-link\",\"sessionId\":\"one\",\"prNumber\":7,\"prUrl\":\"https://github.com/o/r/pull/7\",\"prRepository\":\"o/r\",\"timestamp\":\"2026-11-01T09:10:00Z\"}\n";
    let one = history_of(
        "one",
        1,
        &[
            ("Edit", edit("/home/dev/shop/src/a.rs"), "done", false),
            ("Bash", commit, "[main 1a2b3c4] Mend the cart\n 1 file changed", false),
            ("Edit", edit("/home/dev/shop/src/b.rs"), "no such file", true),
            ("Read", json!({"file_path": "/home/dev/shop/src/c.rs"}), "text", false),
            ("Bash", bash("git log --oneline"), "7654321 Of somebody else", false),
        ],
    );
    folder.write("h/one.jsonl", one + pull_request);
    folder.write(
        "h/two.jsonl",
        history_of(
            "two",
            2,
            &[
                ("Write", json!({"file_path": "/home/dev/shop/src/a.rs", "content": "x"}), "done", false),
                ("Bash", bash("gh pr create --fill"), "https://github.com/o/r/pull/71\n", false),
            ],
        ),
    );
    run(&folder, "sessions import h").expect(0, "");
    let found = |what: &str| {
        let found = run(&folder, &format!("sessions find {what} --json"));
        assert_eq!((found.code, &*found.stderr), (Some(i32::from(found.stdout.is_empty())), ""), "{what}");
        let hits = found.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        hits.map(|hit| format!("{} {}", hit["title"].as_str().unwrap(), hit["item"].as_str().unwrap()))
            .collect::<Vec<_>>()
    };
    let changed = ["Task of two toolu_two_1", "Task of one toolu_one_1"];
    assert_eq!(found("--file /home/dev/shop/./src/a.rs"), changed);
    assert_eq!(found("--file src/a.rs"), [""; 0], "of another working directory");
    for none in ["src/b.rs", "src/c.rs", "a.rs"] {
        assert_eq!(found(&format!("--file /home/dev/shop/{none}")), [""; 0], "{none}");
    }
    for hash in ["1a2b3c4", "1A2B3C4D5E"] {
        assert_eq!(found(&format!("--commit {hash}")), ["Task of one toolu_one_2"]);
    }
    assert_eq!(found("--commit 7654321"), [""; 0]);
    let requested = found("--pr 7");
    assert!(requested.len() == 1 && requested[0].starts_with("Task of one "), "{requested:?}");
    assert_eq!(found("--pr https://github.com/o/r/pull/7/files"), requested);
    assert_eq!(found("--pr 71"), ["Task of two toolu_two_2"]);
    assert_eq!(found("--pr https://github.com/o/other/pull/7"), [""; 0]);
    let shown = command(&folder, "sessions find --commit 1a2b3c4").env("TZ", "UTC").output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("  toolu_one_2  2026-11-01 09:00  Task of one\n"), "{shown}");
    for wrong in ["", "--json", "--pr x", "--commit 1a2b3c", "--pr 7 --commit 1a2b3c4"] {
        assert_eq!(run(&folder, &format!("sessions find {wrong}")).code, Some(2), "{wrong}");
    }
}

#[test]
fn a_session_is_shown_at_an_item() {
    let folder = Folder::new();
    let long = "A line of the result.\n".repeat(90);
    let texts: Vec<String> = (0..40).map(|number| format!("Result {number}.\n{long}")).collect();
    let calls: Vec<_> = texts
        .iter()
        .enumerate()
        .map(|(number, text)| {
            ("Bash", json!({"command": format!("./step-{number}")}), &**text, number % 3 == 0)
        })
        .collect();
    folder.write("h/one.jsonl", history_of("one", 1, &calls));
    folder
        .write("h/short.jsonl", history_of("short", 2, &[("Bash", json!({"command": "ls"}), "a\nb", false)]));
    run(&folder, "sessions import h").expect(0, "");
    let one = rows(&folder, "")[1]["id"].as_str().unwrap().to_owned();
    for number in [1, 2, 20, 39, 40] {
        for item in [format!("toolu_one_{number}"), format!("toolu_one_{number}/result")] {
            let shown = run(&folder, &format!("sessions show {one} --at {item}")).expect(0, "").stdout;
            let lines = shown.lines().count();
            assert!((5..60).contains(&lines), "{item}: {lines}\n{shown}");
            assert!(shown.contains(&format!("Result {}.", number - 1)), "{item}: {shown}");
        }
    }
    // Other options hold within the neighbours, and a short session is shown as a whole.
    let ids = |options: &str| {
        let items = run(&folder, &format!("sessions show {options} --to items")).expect(0, "").stdout;
        let items = items.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        items.map(|item| item["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all = ids(&one);
    let near = ids(&format!("{one} --at toolu_one_20"));
    let at = all.iter().position(|id| *id == near[0]).unwrap();
    assert!(
        near.contains(&"toolu_one_20".to_owned()) && near.len() < 10 && all[at..].starts_with(&near),
        "{near:?}"
    );
    assert_eq!(ids("last --at toolu_short_1"), ids("last"));
    assert!(ids(&format!("{one} --at toolu_one_20 --only call")).len() < near.len());
    assert_eq!(ids(&format!("{one} --at toolu_one_20 --only prompt")), [""; 0]);
    let page = run(&folder, &format!("sessions show {one} --at toolu_one_20 --to html")).expect(0, "").stdout;
    assert!(page.contains("step-19") && !page.contains("step-1<"), "{page}");
    let unknown = format!(
        "streamfmt: {one} has no item \"toolu_one_99\" (to list the ids of its items: streamfmt sessions show {one} --to items)\n"
    );
    run(&folder, &format!("sessions show {one} --at toolu_one_99")).expect(2, &unknown);
    assert_eq!(run(&folder, &format!("sessions show {one} --at x --json")).code, Some(2));
}
