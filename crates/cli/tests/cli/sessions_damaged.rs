//! `sessions` with a damaged database, with files left by a kill, and with histories that only the database has.

use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::program::{Folder, SESSION};
use crate::run::{SESSIONS, agents, run};

const DATABASE: &str = "home/.local/share/streamfmt/sessions.db";

/// Lists the sessions. Returns the rows and standard error.
fn listed(folder: &Folder) -> (Vec<Value>, String) {
    let listed = run(folder, "sessions list --json");
    assert_eq!(listed.code, Some(0), "{listed:?}");
    (listed.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), listed.stderr)
}

/// A history of Claude Code with one prompt.
fn history(session: &str, prompt: &str) -> String {
    format!(
        r#"{{"type":"user","sessionId":"{session}","cwd":"/home/dev/shop","uuid":"u-{session}","parentUuid":null,"isSidechain":false,"timestamp":"2026-01-20T10:00:00.000Z","message":{{"role":"user","content":"{prompt}"}}}}"#
    ) + "\n"
}

/// Replaces bytes in the database, which must contain them.
fn replace(folder: &Folder, from: &[u8], to: &[u8]) {
    let mut bytes = fs::read(folder.path(DATABASE)).unwrap();
    let places: Vec<usize> =
        (0..bytes.len() - from.len()).filter(|at| bytes[*at..].starts_with(from)).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    fs::write(folder.path(DATABASE), bytes).unwrap();
}

#[test]
fn damage_is_reported_by_check_and_mended_on_request() {
    let folder = agents(&[("claude", "cat session")]);
    run(&folder, "run -- ./claude -p Fix");
    folder.write("h/one.jsonl", history("h-1", "Ask the cart"));
    folder.write("h/two.jsonl", history("h-2", "Ask the shop"));
    run(&folder, "sessions import h");
    let sound = run(&folder, "sessions check");
    assert_eq!((sound.code, &*sound.stdout, &*sound.stderr), (Some(0), "nothing is wrong\n", ""));
    let before = listed(&folder).0;
    fs::remove_dir_all(folder.path("h")).unwrap();
    replace(&folder, b"Ask the cart", b"Ask \xff");
    let (rows, stderr) = listed(&folder);
    let titles: Vec<_> = rows.iter().map(|row| row.get("title").and_then(Value::as_str)).collect();
    assert_eq!((titles.len(), titles.iter().flatten().count()), (3, 2), "{titles:?}");
    assert!(stderr.contains("can't be decoded (to mend it: streamfmt sessions check --repair)"), "{stderr}");
    let id = rows.iter().find(|row| row.get("title").is_none()).unwrap()["id"].as_str().unwrap().to_owned();
    let shown = run(&folder, &format!("sessions show {id} --json"));
    let row: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!((shown.code, row["id"].as_str(), row.get("title")), (Some(0), Some(&*id), None), "{shown:?}");
    let bytes = fs::read(folder.path(DATABASE)).unwrap();
    let found = run(&folder, "sessions check");
    let expected = format!("the database: {id}: sessions.title can't be decoded\n");
    assert_eq!((found.code, found.stdout), (Some(1), expected));
    assert!(found.stderr.contains("--repair"), "{}", found.stderr);
    assert_eq!(fs::read(folder.path(DATABASE)).unwrap(), bytes, "nothing is changed");
    let mended = run(&folder, "sessions check --repair");
    assert_eq!((mended.code, &*mended.stdout), (Some(0), "nothing is wrong\n"));
    assert!(mended.stderr.contains("the database of sessions was damaged: "), "{}", mended.stderr);
    let (rows, stderr) = listed(&folder);
    assert_eq!((rows.len(), &*stderr), (3, ""));
    assert!(rows.iter().any(|row| row["title"] == "Ask \u{fffd}he cart"), "{rows:?}");
    // The last page is missing.
    let bytes = fs::read(folder.path(DATABASE)).unwrap();
    fs::write(folder.path(DATABASE), &bytes[..bytes.len() - 4_096]).unwrap();
    assert_eq!(run(&folder, "sessions check").code, Some(1));
    let (rows, stderr) = listed(&folder);
    assert_eq!(rows.len(), before.len(), "{stderr}");
    assert!(stderr.contains("of the 3 entries") || stderr.contains("of about 3 entries"), "{stderr}");
    fs::write(folder.path(DATABASE), b"").unwrap();
    let found = run(&folder, "sessions check");
    assert_eq!((found.code, &*found.stdout), (Some(1), "the database: the file is empty\n"));
    let (rows, stderr) = listed(&folder);
    assert_eq!(rows.len(), 1, "that of the run");
    assert!(stderr.contains("import histories again"), "{stderr}");
    // A newer version isn't damage.
    let mut bytes = fs::read(folder.path(DATABASE)).unwrap();
    bytes[63] = 99;
    fs::write(folder.path(DATABASE), bytes).unwrap();
    for command in ["sessions check", "sessions check --repair", "sessions list"] {
        let refused = run(&folder, command);
        assert_eq!(refused.code, Some(2));
        assert!(refused.stderr.contains("a newer version"), "{refused:?}");
    }
}

#[test]
fn a_damaged_side_file_is_something_wrong_that_no_repair_mends() {
    let folder = agents(&[("claude", "cat session")]);
    run(&folder, "run -- ./claude -p Fix");
    let side = folder.names_in(SESSIONS).into_iter().find(|name| name.contains(".json")).unwrap();
    folder.write(&format!("{SESSIONS}/{side}"), "{");
    for command in ["sessions check", "sessions check --repair"] {
        let found = run(&folder, command);
        assert_eq!(found.code, Some(1));
        assert!(found.stdout.contains(&side) && found.stdout.lines().count() == 1, "{found:?}");
    }
}

#[test]
fn prune_removes_what_we_recorded_and_never_a_history() {
    let folder = agents(&[("claude", "cat session")]);
    run(&folder, "run -- ./claude -p Fix");
    run(&folder, "run --log shared -- ./claude -p More");
    folder.write("h/one.jsonl", history("h-1", "Ask"));
    folder.write("h/two.jsonl", history("h-2", "More"));
    folder.write("h/stream.jsonl", SESSION.replace("s-1", "s-2"));
    run(&folder, "sessions import h");
    let histories = listed(&folder).0.into_iter().filter(|row| row.get("command").is_none());
    let histories: Vec<Value> = histories.collect();
    assert_eq!(histories.len(), 3);
    let removed = run(&folder, "sessions prune --keep 0 --yes");
    assert_eq!((removed.code, removed.stdout.matches("removed ").count()), (Some(0), 2), "{removed:?}");
    assert_eq!(listed(&folder).0, histories);
    for options in ["--keep 0", "--older 1s", "--older 1s --keep 0"] {
        assert_eq!(run(&folder, &format!("sessions prune {options} --yes")).stdout, "nothing to remove\n");
    }
    assert_eq!(folder.names_in("h").len(), 3);
    assert_eq!(listed(&folder).0, histories);
}

#[test]
fn files_that_a_kill_left_are_removed_as_orphans() {
    let folder = agents(&[("claude", "cat session")]);
    run(&folder, "run -- ./claude -p Fix");
    assert_eq!(run(&folder, "sessions prune --orphans --yes").stdout, "nothing to remove\n");
    let [log, lock] = ["20260101-000000-aaaaaa.ndjson", "20260101-000001-aaaaaa.lock"];
    folder.write(&format!("{SESSIONS}/{log}"), "a SECRET\n");
    folder.write(&format!("{SESSIONS}/{lock}"), "");
    let file = fs::File::options().write(true).open(folder.path(SESSIONS).join(lock)).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    let planned = run(&folder, "sessions prune --orphans --dry-run");
    let lines: Vec<&str> = planned.stdout.lines().map(str::trim).collect();
    assert_eq!((lines.len(), lines[0], lines[2]), (4, &lock[..22], &log[..22]), "{planned:?}");
    assert!(lines[1].ends_with(lock) && lines[3].ends_with(log), "{planned:?}");
    assert_eq!(run(&folder, "sessions prune --orphans").code, Some(1), "it asks");
    assert_eq!(run(&folder, "sessions prune --orphans --keep 1").code, Some(2));
    let removed = run(&folder, "sessions prune --orphans --yes");
    assert_eq!(removed.stdout, format!("removed {}\nremoved {}\n", &lock[..22], &log[..22]));
    assert_eq!(run(&folder, "sessions prune --orphans --yes").stdout, "nothing to remove\n");
    assert_eq!((listed(&folder).0.len(), folder.names_in(SESSIONS).len()), (1, 2));
}
