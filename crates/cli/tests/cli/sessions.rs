//! `sessions`: kept runs and histories are listed, shown and removed.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::process::Stdio;

use serde_json::Value;

use crate::program::{Folder, Outcome, SESSION, Signal, until};
use crate::run::{SESSIONS, agents, kept, run};
use crate::tty::Terminal;

pub(crate) const DATA: &str = "home/.local/share/streamfmt";

/// Lists the sessions.
pub(crate) fn rows(folder: &Folder, options: &str) -> Vec<Value> {
    let listed = run(folder, &format!("sessions list --json {options}"));
    assert_eq!((listed.code, &*listed.stderr), (Some(0), ""));
    listed.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The details of a session.
pub(crate) fn details(folder: &Folder, name: &str) -> Value {
    let shown = run(folder, &format!("sessions show {name} --json"));
    serde_json::from_str(&shown.stdout).unwrap_or_else(|_| panic!("{shown:?}"))
}

fn fields<'a>(row: &'a Value, names: &[&str]) -> Vec<Option<&'a str>> {
    names.iter().map(|name| row[*name].as_str()).collect()
}

/// The files of the data folder that contain a text.
fn holding(folder: &Folder, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for place in [DATA, SESSIONS] {
        for name in folder.names_in(place) {
            let bytes = fs::read(folder.path(place).join(&name)).unwrap_or_default();
            if bytes.windows(text.len()).any(|part| part == text.as_bytes()) {
                found.push(name);
            }
        }
    }
    found
}

#[test]
fn a_run_is_listed_and_shown_like_a_file() {
    let folder = agents(&[("claude", "cat session"), ("other", "cat session >&2; cat reply")]);
    assert_eq!(
        run(&folder, "run --label team=shop --label k=v=w -- ./claude -p --model opus Fix").code,
        Some(0)
    );
    assert_eq!(run(&folder, "run --log shared -- ./other").code, Some(0));
    assert_eq!(run(&folder, "run --log shared -- ./claude -p More").code, Some(0));
    let listed = rows(&folder, "");
    let titles: Vec<_> = listed.iter().map(|row| row["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["More", "reply number 7.", "Fix"]);
    let first = details(&folder, "last~2");
    assert_eq!(
        fields(&first, &["status", "agent", "model"]),
        [Some("done"), Some("claude"), Some("model-1")]
    );
    assert_eq!(first["labels"], serde_json::json!({"k": "v=w", "team": "shop"}));
    assert_eq!((&first["num_turns"], &first["response"]), (&Value::from(2), &Value::from("Second reply.")));
    assert_eq!((first.get("cost_usd"), first.get("error")), (None, None));
    assert_eq!(rows(&folder, "--agent claude -n 1")[0]["title"], "More");
    assert_eq!(rows(&folder, "--status failed")[0]["title"], "reply number 7.");
    assert_eq!(fields(&details(&folder, "last~1"), &["agent"]), [Some("claude")], "as its stream shows");
    for (name, file) in [("last", "session"), ("last~1", "reply"), ("last~2", "session")] {
        for options in ["--to items", "--to text --profile full"] {
            let expected = run(&folder, &format!("{options} {file}")).stdout;
            let shown = run(&folder, &format!("sessions show {name} {options}"));
            assert_eq!((shown.code, shown.stdout), (Some(0), expected), "{name} {options}");
        }
    }
    let table = run(&folder, "sessions list").stdout;
    assert!(table.starts_with("ID ") && table.lines().count() == 4, "{table}");
    assert_eq!(run(&folder, "sessions show 2").stderr.lines().count(), 4);
    assert_eq!(run(&folder, "sessions show nope").code, Some(2));
}

#[test]
fn rows_are_made_anew_from_logs_and_side_files() {
    let folder = agents(&[("claude", "cat > /dev/null; cat session"), ("fails", "cat reply; exit 3")]);
    let mut child = crate::run::command(&folder, "run -- ./claude -p").stdin(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), b"\nBy standard input\n").unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    run(&folder, "run -- ./fails");
    let before = rows(&folder, "");
    assert_eq!(fields(&before[0], &["status", "title"]), [Some("failed"), Some("reply number 7.")]);
    assert_eq!(fields(&before[1], &["status", "title"]), [Some("done"), Some("By standard input")]);
    assert_eq!(run(&folder, "sessions reindex").stdout, "2 runs\n");
    assert_eq!(rows(&folder, ""), before);
    for name in folder.names_in(DATA).iter().filter(|name| name.starts_with("sessions.db")) {
        fs::remove_file(folder.path(DATA).join(name)).unwrap();
    }
    assert_eq!(rows(&folder, ""), before);
    let garbage = "no database ".repeat(1_000);
    for name in folder.names_in(DATA).iter().filter(|name| name.starts_with("sessions.db")) {
        fs::remove_file(folder.path(DATA).join(name)).unwrap();
    }
    folder.write(&format!("{DATA}/sessions.db"), &garbage);
    let listed = run(&folder, "sessions list --json");
    assert!(
        listed.stderr.starts_with("streamfmt: the database of sessions was damaged: "),
        "{}",
        listed.stderr
    );
    assert_eq!(rows(&folder, ""), before);
    let aside = folder.names_in(DATA).into_iter().find(|name| name.contains(".damaged-")).unwrap();
    assert_eq!(folder.read(&format!("{DATA}/{aside}")), garbage);
}

#[test]
fn a_run_whose_recorder_is_killed_is_interrupted() {
    let folder = agents(&[("agent", "cat reply; touch begun; exec sleep 1000")]);
    let mut child = crate::run::command(&folder, "run -- ./agent").spawn().unwrap();
    until(|| "the agent".to_owned(), || folder.path("begun").exists());
    assert_eq!(rows(&folder, "--status running").len(), 1);
    let id = rows(&folder, "")[0]["id"].as_str().unwrap().to_owned();
    assert!(run(&folder, "sessions list").stdout.contains("  ./agent  "), "its command is its title");
    let lacks_result = || {
        let shown = run(&folder, "sessions show last --fail");
        (shown.code, shown.stdout.contains("the stream ended without a result"))
    };
    assert_eq!(lacks_result(), (Some(0), false));
    let refused = run(&folder, &format!("sessions rm {id} --yes"));
    assert_eq!(
        (refused.code, refused.stderr),
        (Some(2), format!("streamfmt: {id}: in progress; end it first\n"))
    );
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
    child.wait().unwrap();
    until(|| "the status".to_owned(), || rows(&folder, "")[0]["status"] == "interrupted");
    assert_eq!(lacks_result(), (Some(1), true));
    let row = details(&folder, "last");
    assert_eq!(
        (row["title"].as_str(), row.get("num_turns"), row.get("ended")),
        (Some("reply number 7."), None, None)
    );
}

#[test]
fn histories_are_imported_once_and_outlive_their_files() {
    let folder = Folder::new();
    let prompt = r#"{"type":"user","sessionId":"h-1","cwd":"/home/dev/shop","uuid":"u0","parentUuid":null,"isSidechain":false,"timestamp":"2026-11-20T10:00:00.000Z","message":{"role":"user","content":"Ask"}}"#;
    folder.write("h/one.jsonl", format!("{prompt}\n"));
    folder.write("h/notes.jsonl", "{\"a\":1}\n");
    let imported = run(&folder, "sessions import h").stdout;
    assert_eq!(imported, "1 new, 0 changed, 0 unchanged; 1 file is no session of a known agent\n");
    let before = rows(&folder, "");
    assert_eq!(
        fields(&before[0], &["title", "agent", "agent_session"]),
        [Some("Ask"), Some("claude"), Some("h-1")]
    );
    assert!(run(&folder, "sessions import h").stdout.starts_with("0 new, 0 changed, 1 unchanged"));
    assert_eq!(rows(&folder, ""), before);
    folder.append(
        "h/one.jsonl",
        &format!("{}\n", prompt.replace("u0", "u1").replace("10:00", "10:07").replace("\"Ask\"", "\"More\"")),
    );
    assert!(run(&folder, "sessions import h").stdout.starts_with("0 new, 1 changed"));
    let after = rows(&folder, "");
    assert_eq!(
        (after.len(), &after[0]["id"], &after[0]["ended"]),
        (1, &before[0]["id"], &"2026-11-20T10:07:00Z".into())
    );
    // Another session in the same file has its own row.
    folder.write("h/one.jsonl", format!("{}\n", prompt.replace("h-1", "h-2").replace("11-20", "11-21")));
    assert!(run(&folder, "sessions import h").stdout.starts_with("1 new, 0 changed"));
    let both = rows(&folder, "");
    assert_eq!(
        (both.len(), &both[0]["agent_session"], &both[0]["started"]),
        (2, &"h-2".into(), &"2026-11-21T10:00:00Z".into())
    );
    assert_eq!((&both[1]["id"], &both[1]["source_gone"]), (&before[0]["id"], &true.into()));
    assert!(run(&folder, "sessions import h").stdout.starts_with("0 new, 0 changed, 1 unchanged"));
    assert!(run(&folder, "sessions rm last --yes").stdout.contains("h/one.jsonl stays"));
    run(&folder, "sessions rm last --yes");
    assert_eq!((rows(&folder, "").len(), folder.path("h/one.jsonl").exists()), (0, true));
    assert!(run(&folder, "sessions import h").stdout.contains("that was removed is left out"));
    run(&folder, "sessions import h/one.jsonl");
    fs::remove_file(folder.path("h/one.jsonl")).unwrap();
    run(&folder, "sessions reindex");
    assert_eq!(rows(&folder, "")[0]["source_gone"], true);
}

#[test]
fn a_history_in_which_nobody_asked_anything_is_listed_only_if_all_are() {
    let folder = Folder::new();
    let line = |session: &str, text: &str| {
        format!(
            r#"{{"type":"user","sessionId":"{session}","cwd":"/home/dev/shop","uuid":"u-{session}","parentUuid":null,"isSidechain":false,"timestamp":"2026-11-20T10:00:00.000Z","message":{{"role":"user","content":"{text}"}}}}"#
        )
    };
    folder.write("h/one.jsonl", line("h-1", "Ask"));
    folder.write("h/two.jsonl", line("h-2", "<command-name>/exit</command-name>"));
    run(&folder, "sessions import h");
    let statuses = |options: &str| {
        let rows = rows(&folder, options);
        let mut statuses: Vec<_> =
            rows.iter().map(|row| row["status"].as_str().unwrap().to_owned()).collect();
        statuses.sort();
        statuses
    };
    assert_eq!(statuses(""), ["done"]);
    assert_eq!(statuses("--all"), ["done", "empty"]);
    assert_eq!(statuses("--status empty"), ["empty"]);
    assert_eq!(details(&folder, "last")["agent_session"], "h-1");
    let id = rows(&folder, "--status empty")[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(details(&folder, &id)["agent_session"], "h-2");
}

#[test]
fn the_title_that_a_person_gives_a_run_comes_before_its_task() {
    let title = r#"{"type":"system","subtype":"session_title_changed","title":"Cart rounding","session_id":"s-1","uuid":"u-5"}"#;
    let interrupt = r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]},"session_id":"s-1","uuid":"u-6"}"#;
    let folder = agents(&[("claude", "cat session title"), ("other", "head -n 2 session; cat stopped")]);
    folder.write("title", format!("{title}\n"));
    folder.write("stopped", format!("{interrupt}\n"));
    run(&folder, "run -- ./claude -p Fix");
    run(&folder, "run -- ./other -p Fix");
    let listed = rows(&folder, "");
    assert_eq!(fields(&listed[0], &["title", "status"]), [Some("First reply."), Some("interrupted")]);
    assert_eq!(fields(&listed[1], &["title", "status"]), [Some("Cart rounding"), Some("done")]);
}

#[test]
fn a_run_and_its_history_are_one_session() {
    let folder = agents(&[("claude", "cat session")]);
    run(&folder, "run -- ./claude -p Fix");
    let before = rows(&folder, "");
    folder.write("s.jsonl", SESSION);
    run(&folder, "sessions import s.jsonl");
    assert_eq!(rows(&folder, ""), before);
}

#[test]
fn nothing_is_left_of_what_was_removed() {
    let folder = agents(&[("claude", "cat session; echo SECRETerror >&2"), ("other", "cat reply")]);
    run(&folder, "run --label a=SECRETlabel -- ./claude -p SECRETtask");
    run(&folder, "run -- ./other");
    let marks = ["SECRETerror", "SECRETlabel", "SECRETtask", "First reply"];
    let asked = run(&folder, "sessions rm last~1");
    assert_eq!((asked.code, rows(&folder, "").len()), (Some(1), 2));
    let planned = run(&folder, "sessions prune --keep 1 --dry-run");
    assert!(planned.stdout.contains("SECRETtask") && planned.stdout.contains(".stderr"), "{planned:?}");
    assert!(marks.iter().all(|mark| !holding(&folder, mark).is_empty()));
    let removed: Outcome = run(&folder, "sessions prune --keep 1 --yes");
    assert_eq!((removed.code, &*removed.stderr), (Some(0), ""));
    for mark in marks {
        assert_eq!(holding(&folder, mark), [""; 0], "{mark}");
    }
    assert_eq!(rows(&folder, "").len(), 1);
    assert!(kept(&folder, ".ndjson").exists());
    assert_eq!(run(&folder, "sessions prune --older 1d --yes").stdout, "nothing to remove\n");
}

/// The output of a command about sessions, on a terminal with this width on which `typed` was typed.
fn on_a_terminal(folder: &Folder, columns: u16, arguments: &str, typed: &str) -> String {
    let home = folder.path("home");
    let variables = [("HOME", home.to_str().unwrap()), ("TERM", "xterm")];
    let arguments = format!("sessions {arguments}");
    let mut terminal = Terminal::start_as_wide(columns, folder, &arguments, &variables, typed);
    terminal.until_end();
    terminal.written().replace('\r', "")
}

#[test]
fn a_list_is_as_wide_as_the_terminal_and_the_age_is_always_there() {
    let folder = agents(&[("claude", "cat session")]);
    run(&folder, "run -- ./claude -p A_task_whose_title_has_many_words_and_which_is_very_long");
    let heads = [
        "ID STATUS AGENT TITLE FOLDER TURNS COST AGE",
        "ID STATUS TITLE TURNS COST AGE",
        "ID STATUS TITLE AGE",
    ];
    for (columns, head) in [100, 64, 48].into_iter().zip(heads) {
        let text = on_a_terminal(&folder, columns, "list", "");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>().join(" "), head);
        assert!(lines[1].chars().count() <= usize::from(columns) && lines[1].ends_with('s'), "{text}");
    }
}

#[test]
fn on_a_terminal_it_is_asked_before_anything_is_removed() {
    let folder = agents(&[("claude", "cat session")]);
    run(&folder, "run -- ./claude -p Fix");
    let told = on_a_terminal(&folder, 80, "rm last", "n\n");
    let asked = "streamfmt: remove this session with its log? [y/N] ";
    assert!(told.contains(asked) && told.ends_with("streamfmt: nothing removed\n"), "{told}");
    assert_eq!(rows(&folder, "").len(), 1);
    let told = on_a_terminal(&folder, 80, "prune --keep 0", "y\n");
    assert!(told.contains(asked) && told.contains("removed 2"), "{told}");
    assert_eq!(rows(&folder, "").len(), 0);
}

#[test]
#[cfg(target_os = "linux")]
fn a_run_in_a_folder_whose_name_is_no_text_is_kept() {
    use std::os::unix::ffi::OsStrExt;
    let folder = agents(&[("claude", "cat ../session")]);
    let odd = folder.path("").join(std::ffi::OsStr::from_bytes(b"a\xff"));
    fs::create_dir(&odd).unwrap();
    let output = folder.command("run -- ../claude -p Fix").current_dir(&odd).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), stderr.contains("can't write")), (Some(0), false), "{stderr}");
    assert_eq!(fields(&rows(&folder, "")[0], &["status", "title"]), [Some("done"), Some("Fix")]);
}

#[test]
fn a_log_is_not_written_to_while_it_is_shown() {
    let folder = agents(&[("claude", "cat session")]);
    assert_eq!(run(&folder, "run --log log -- ./claude -p Fix").code, Some(0));
    for option in ["-o", "--tee", "--summary"] {
        let shown = run(&folder, &format!("sessions show last {option} log"));
        assert!(
            shown.code == Some(2) && shown.stderr.contains("can't be both read and written"),
            "{shown:?}"
        );
    }
    assert_eq!(folder.read("log"), SESSION);
    assert_eq!(run(&folder, "sessions show last~-1").code, Some(2));
    assert_eq!(
        run(&folder, "sessions show last --json -o other").code,
        Some(2),
        "JSON goes to standard output"
    );
}

#[test]
fn details_in_json_hold_no_commands_to_a_terminal() {
    let folder = agents(&[("claude", "cat hostile")]);
    let reply = "a\u{9b}2J\u{202e}b";
    folder.write("hostile", SESSION.replace("Second reply.", reply));
    assert_eq!(run(&folder, "run --label k=\u{9b}2J -- ./claude -p Fix").code, Some(0));
    assert_eq!(details(&folder, "last")["response"], reply);
    for command in ["sessions show last --json", "sessions list --json"] {
        let text = run(&folder, command).stdout;
        assert!(!text.contains(['\u{9b}', '\u{202e}']), "{command}: {text:?}");
    }
}

#[test]
fn secrets_are_masked_where_that_is_asked_for() {
    let folder = agents(&[("claude", "cat session")]);
    let token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    run(&folder, &format!("run -- ./claude -p {token}"));
    assert!(rows(&folder, "")[0]["title"] == token);
    for command in ["list", "list --json", "show last", "show last --json"] {
        let told = run(&folder, &format!("sessions {command} --redact"));
        assert!(told.code == Some(0) && !told.stdout.contains(token), "{command}: {}", told.stdout);
    }
}

/// Writes an ended run as if it had been recorded; its side file also has these fields.
fn planted(folder: &Folder, id: &str, fields: &Value) {
    let log = folder.path(SESSIONS).join(format!("{id}.ndjson"));
    let mut side = serde_json::json!({
        "v": 1, "id": id, "status": "done", "command": ["./agent"], "folder": "/", "log": log,
        "exit": {"code": 0}, "recorder": {"pid": 1},
    });
    side.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder.path(SESSIONS)).unwrap();
    folder.write(&format!("{SESSIONS}/{id}.ndjson"), SESSION);
    folder.write(&format!("{SESSIONS}/{id}.json"), side.to_string());
}

/// The listed ids, without their random part.
fn listed_ids(folder: &Folder, options: &str) -> Vec<String> {
    let short = |row: &Value| row["id"].as_str().unwrap().rsplit_once('-').unwrap().0.to_owned();
    rows(folder, options).iter().map(short).collect()
}

#[test]
fn a_folder_stands_for_what_lies_below_it() {
    let folder = agents(&[]);
    for (day, of) in [("20261101", "/srv/a"), ("20261102", "/srv/a/b/c"), ("20261103", "/srv/ab")] {
        let time = "2026-11-01T00:00:00Z";
        let fields = serde_json::json!({"folder": of, "started": time, "ended": time});
        planted(&folder, &format!("{day}-000000-aaaaaa"), &fields);
    }
    let [first, second, third] = ["20261101-000000", "20261102-000000", "20261103-000000"];
    for (of, mut found) in
        [("/srv/a", vec![second, first]), ("/srv/a/b", vec![second]), ("/srv", vec![third, second, first])]
    {
        let mut listed = listed_ids(&folder, &format!("--folder {of}"));
        listed.sort();
        found.sort_unstable();
        assert_eq!(listed, found, "{of}");
    }
}

#[test]
fn sessions_are_found_by_labels_and_times() {
    let folder = agents(&[("agent", "cat session")]);
    for (day, time, labels) in [
        ("20261101", "2026-11-01T23:59:59.9Z", serde_json::json!({"job": "1", "team": "shop"})),
        ("20261102", "2026-11-02T00:00:00Z", serde_json::json!({"job": "2", "team": "shop"})),
        ("20261103", "2026-11-02T23:59:59.9Z", serde_json::json!({"job": "1", "a=b": "c=d"})),
        ("20261104", "2026-11-03T00:00:00Z", serde_json::json!({})),
    ] {
        let fields = serde_json::json!({"started": time, "ended": time, "labels": labels});
        planted(&folder, &format!("{day}-000000-aaaaaa"), &fields);
    }
    run(&folder, "run --label job=now -- ./agent");
    let [first, second, third, fourth] =
        ["20261101-000000", "20261102-000000", "20261103-000000", "20261104-000000"];
    let old = |options: &str| -> Vec<String> {
        listed_ids(&folder, options).into_iter().filter(|id| id.starts_with("2026110")).collect()
    };
    assert_eq!(old(""), [fourth, third, second, first]);
    for (options, found) in [
        ("--label job=1", &[third, first][..]),
        ("--label job=1 --label team=shop", &[first]),
        ("--label job=1 --label job=2", &[]),
        ("--label job=", &[]),
        ("--label a=b=c=d", &[]),
        ("--since 2026-11-02 --until 2026-11-02", &[third, second]),
        ("--until 2026-11-01", &[first]),
        ("--since 2026-11-03", &[fourth]),
        ("--since 2026-11-02T23:59:59.9Z", &[fourth, third]),
        ("--until 2026-11-02T01:00:00+01:00", &[second, first]),
        ("--since 2026-11-02 --until 2026-11-01", &[]),
        ("--since 2026-11-02 --until 2026-11-02 --label job=1 -n 1", &[third]),
    ] {
        assert_eq!(old(options), found, "{options}");
    }
    let labelled = |option: &str| rows(&folder, option).len();
    assert_eq!((labelled("--label job=now --since 1h"), labelled("--label job=now --until 1h")), (1, 0));
    // A day is one of the local time zone.
    let mut there =
        crate::run::command(&folder, "sessions list --json --since 2026-11-02 --until 2026-11-02");
    let there: Outcome = there.env("TZ", "EST5").output().unwrap().into();
    assert_eq!(there.stdout.lines().count(), 2);
    assert!(there.stdout.contains("20261104-") && there.stdout.contains("20261103-"), "{}", there.stdout);
    for wrong in ["--since yesterday", "--until 2026-02-30", "--since 7w", "--label job", "--label =x"] {
        let refused = run(&folder, &format!("sessions list {wrong}"));
        assert_eq!(refused.code, Some(2), "{wrong}");
        assert!(refused.stderr.contains("expected"), "{}", refused.stderr);
    }
}

#[test]
fn a_session_of_the_future_is_not_the_last() {
    let folder = agents(&[("agent", "cat session")]);
    let future = "2199-11-02T00:00:00Z";
    planted(
        &folder,
        "21991102-000000-aaaaaa",
        &serde_json::json!({"started": future, "ended": "2026-11-02T00:00:00Z"}),
    );
    planted(&folder, "20261102-000000-aaaaaa", &serde_json::json!({"started": "2026-11-02T00:00:00Z"}));
    run(&folder, "run -- ./agent");
    let ids = listed_ids(&folder, "");
    assert_eq!((ids.len(), &*ids[1], &*ids[2]), (3, "20261102-000000", "21991102-000000"));
    for (name, place) in [("last", 0), ("last~1", 1), ("last~2", 2)] {
        assert!(details(&folder, name)["id"].as_str().unwrap().starts_with(&ids[place]), "{name}");
    }
    assert_eq!(listed_ids(&folder, "-n 1"), ids[..1]);
    assert_eq!(listed_ids(&folder, "--since 2100-01-01"), ids[2..]);
    assert_eq!(listed_ids(&folder, "--until 1d"), ids[1..2]);
    let pruned = run(&folder, "sessions prune --keep 2 --yes").stdout;
    assert!(pruned.starts_with("removed 21991102-000000-aaaaaa\n"), "{pruned}");
    assert_eq!(listed_ids(&folder, ""), ids[..2]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_that_seems_to_go_on_elsewhere_is_removed_if_that_is_forced() {
    let folder = agents(&[("agent", "cat reply; touch begun; exec sleep 1000")]);
    let id = "20261102-000000-aaaaaa";
    // As after a crash of the machine, on a file system without locks.
    let recorder = serde_json::json!({"pid": 7, "start": 1, "boot": "another"});
    let fields =
        serde_json::json!({"status": "running", "started": "2026-11-02T00:00:00Z", "recorder": recorder});
    planted(&folder, id, &fields);
    assert_eq!(rows(&folder, "")[0]["status"], "running elsewhere");
    let refused = run(&folder, &format!("sessions rm {id} --yes"));
    assert_eq!((refused.code, refused.stderr.contains("--force")), (Some(2), true), "{}", refused.stderr);
    assert_eq!(run(&folder, "sessions prune --keep 0 --yes").stdout, "nothing to remove\n");
    let would = run(&folder, &format!("sessions rm {id} --force --dry-run"));
    assert!(would.code == Some(0) && would.stdout.contains(&format!("{id}.ndjson")), "{would:?}");
    assert_eq!(rows(&folder, "").len(), 1);
    let removed = run(&folder, &format!("sessions rm {id} --force --yes"));
    assert_eq!((removed.code, &*removed.stdout), (Some(0), &*format!("removed {id}\n")), "{removed:?}");
    assert_eq!((rows(&folder, "").len(), folder.names_in(SESSIONS)), (0, Vec::<String>::new()));
    // A run that really goes on isn't removed.
    let mut child = crate::run::command(&folder, "run -- ./agent").spawn().unwrap();
    until(|| "the agent".to_owned(), || folder.path("begun").exists());
    assert_eq!(run(&folder, "sessions rm last --force --yes").code, Some(2));
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
}

#[test]
fn prune_takes_what_is_old_and_not_among_the_newest_and_nothing_in_progress() {
    let folder = agents(&[]);
    let now = jiff::Timestamp::now();
    let id = |name: char, hours: i64| {
        let started = now - jiff::SignedDuration::from_hours(hours);
        (format!("{}-aaaaa{name}", started.strftime("%Y%m%d-%H%M%S")), started.to_string())
    };
    let elsewhere = serde_json::json!({"pid": 7, "start": 1, "boot": "another"});
    let mut names = Vec::new();
    for (name, hours, status) in
        [('a', 9_600, "done"), ('b', 480, "running"), ('c', 240, "failed"), ('d', 2, "done")]
    {
        let (id, started) = id(name, hours);
        let mut fields = serde_json::json!({"status": status, "started": started});
        if status == "running" {
            fields["recorder"] = elsewhere.clone();
        }
        planted(&folder, &id, &fields);
        names.push((id, name));
    }
    let statuses: Vec<Value> = rows(&folder, "").iter().map(|row| row["status"].clone()).collect();
    assert_eq!(statuses, ["done", "failed", "running elsewhere", "done"]);
    for (options, expected) in [
        ("--keep 0", "dca"),
        ("--keep 1", "ca"),
        ("--keep 2", "a"),
        // A run in progress counts as one that is kept.
        ("--keep 3", "a"),
        ("--keep 4", ""),
        ("--older 1h", "dca"),
        ("--older 1d", "ca"),
        ("--older 30d", "a"),
        ("--older 500d", ""),
        ("--older 1d --keep 1", "ca"),
        ("--older 1d --keep 2", "a"),
        ("--older 30d --keep 0", "a"),
    ] {
        let planned = run(&folder, &format!("sessions prune {options} --dry-run"));
        let is_named = |line: &&str| !line.starts_with(' ') && *line != "nothing to remove";
        let found = planned.stdout.lines().filter(is_named).map(|line| {
            names.iter().find(|(id, _)| line.starts_with(id)).unwrap_or_else(|| panic!("{line}")).1
        });
        assert_eq!((planned.code, found.collect::<String>().as_str()), (Some(0), expected), "{options}");
    }
    assert_eq!(rows(&folder, "").len(), 4, "nothing was removed");
}
