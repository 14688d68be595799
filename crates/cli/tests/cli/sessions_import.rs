//! `sessions import` of runs recorded elsewhere, such as the folder that a CI job uploads.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::inputs::gzip;
use crate::program::{Folder, SESSION, is_private, reply};
use crate::run::{SESSIONS, agents, kept, run, side_file};
use crate::serve::ids;
use crate::sessions::{DATA, details, rows};

const ID: &str = "20261123-224103-k3x9qa";

/// The uploaded folder of a CI job with one run; nothing else is left of the job.
fn job() -> Folder {
    let folder = agents(&[("claude", "cat session; echo warning >&2; exit 3"), ("other", "cat reply")]);
    assert_eq!(run(&folder, "run --label job=4711 -- ./claude -p Fix").code, Some(3));
    fs::rename(folder.path(SESSIONS), folder.path("artifact")).unwrap();
    fs::remove_dir_all(folder.path("home")).unwrap();
    folder
}

/// A side file with these fields changed.
fn side(changes: &Value) -> String {
    let mut side = json!({"v": 1, "id": ID, "status": "done", "command": ["claude", "-p", "x"], "folder": "/ci", "log": "/ci/log",
        "started": "2026-11-23T22:41:03Z", "ended": "2026-11-23T22:42:03Z", "exit": {"code": 0}, "recorder": {"pid": 1}});
    for (key, value) in changes.as_object().unwrap() {
        side[key] = value.clone();
    }
    side.to_string()
}

fn import(folder: &Folder, path: &str) -> String {
    run(folder, &format!("sessions import {path}")).expect(0, "").stdout
}

#[test]
fn a_ci_job_s_folder_becomes_sessions() {
    let folder = job();
    assert_eq!(import(&folder, "artifact"), "1 new, 0 changed, 0 unchanged\n");
    let row = details(&folder, "last");
    assert_eq!(
        (&row["labels"]["job"], &row["exit"]["code"], &row["status"], &row["title"]),
        (&json!("4711"), &json!(3), &json!("failed"), &json!("Fix"))
    );
    assert_eq!((&row["num_turns"], &row["response"]), (&json!(2), &json!("Second reply.")));
    assert!(row["command"].as_array().unwrap().contains(&json!("Fix")), "{row}");
    assert_eq!(row["log"], kept(&folder, ".ndjson").to_str().unwrap());
    let before = rows(&folder, "");
    for path in ["artifact", "artifact", &format!("artifact/{}.ndjson", ids(&folder)[0])] {
        assert_eq!(import(&folder, path), "0 new, 0 changed, 1 unchanged\n", "{path}");
    }
    assert_eq!(
        import(&folder, &format!("artifact/{}.json", ids(&folder)[0])),
        "0 new, 0 changed, 1 unchanged\n"
    );
    // The import doesn't depend on the original files.
    fs::remove_dir_all(folder.path("artifact")).unwrap();
    assert_eq!(run(&folder, "sessions reindex").stdout, "1 runs\n");
    assert_eq!(rows(&folder, ""), before);
    assert!(run(&folder, "sessions show last").expect(0, "").stdout.contains("First reply."));
    assert_eq!(fs::read_to_string(kept(&folder, ".stderr")).unwrap(), "warning\n");
    for ending in [".json", ".ndjson", ".stderr"] {
        assert!(is_private(&kept(&folder, ending)), "{ending}");
    }
    assert_eq!(run(&folder, "sessions rm last --yes").code, Some(0));
    assert_eq!(folder.names_in(SESSIONS), [""; 0]);
}

#[test]
fn a_damaged_archive_is_imported_up_to_the_damage_and_reported() {
    let folder = Folder::new();
    let whole = gzip(SESSION.as_bytes());
    let mut wrong = whole.clone();
    let sum = wrong.len() - 8;
    wrong[sum] ^= 1;
    for (name, archive, counts, why) in [
        ("whole", &whole[..], "1 new, 0 changed, 0 unchanged\n", ""),
        ("sum", &wrong, "0 new, 1 changed, 0 unchanged\n", "its checksum doesn't fit"),
        ("cut", &whole[..whole.len() - 3], "0 new, 1 changed, 0 unchanged\n", "it ends too early"),
        (
            "early",
            &whole[..12],
            "0 new, 0 changed, 0 unchanged; 1 file is no session of a known agent\n",
            "it ends too early",
        ),
    ] {
        let file = format!("{name}.jsonl.gz");
        fs::write(folder.path(&file), archive).unwrap();
        let imported = run(&folder, &format!("sessions import {file}"));
        assert_eq!((&*imported.stdout, imported.code), (counts, Some(if why.is_empty() { 0 } else { 2 })));
        assert_eq!(
            imported.stderr.contains(&format!("{file}: the gzip archive is damaged: {why}")),
            !why.is_empty(),
            "{}",
            imported.stderr
        );
    }
}

#[test]
fn a_log_that_is_gone_comes_back_from_a_copy() {
    let folder = agents(&[("claude", "cat session")]);
    run(&folder, "run -- ./claude -p Fix");
    assert!(
        Command::new("cp")
            .args(["-r", SESSIONS, "copy"])
            .current_dir(folder.path(""))
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(import(&folder, "copy"), "0 new, 0 changed, 1 unchanged\n");
    let before = rows(&folder, "");
    let log = kept(&folder, ".ndjson");
    fs::remove_file(&log).unwrap();
    assert_eq!(run(&folder, "sessions show last").code, Some(2));
    assert_eq!(import(&folder, "copy"), "0 new, 1 changed, 0 unchanged\n");
    assert_eq!((rows(&folder, ""), fs::read_to_string(&log).unwrap()), (before, SESSION.to_owned()));
}

#[test]
fn an_imported_run_is_never_in_progress() {
    let folder = Folder::new();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    for (boot, name) in [(boot.trim(), "here"), ("another", "elsewhere")] {
        let pid = std::process::id();
        let about = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let start: u64 =
            about.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(19)?.parse().ok()).unwrap_or(1);
        let mark = json!({"pid": pid, "start": start, "boot": boot});
        let changes =
            json!({"status": "running", "exit": null, "ended": null, "recorder": mark, "process": mark});
        folder.write(&format!("{name}/{ID}.json"), side(&changes));
        folder.write(&format!("{name}/{ID}.ndjson"), reply(1));
        folder.write(&format!("{name}/{ID}.lock"), "");
        let lock = fs::File::open(folder.path(&format!("{name}/{ID}.lock"))).unwrap();
        lock.lock().unwrap();
        assert!(import(&folder, name).starts_with("1 new"), "{name}");
        let rows = rows(&folder, "");
        assert_eq!((rows.len(), &rows[0]["status"]), (1, &json!("interrupted")), "{name}");
        assert_eq!(run(&folder, "sessions rm last --yes").code, Some(0), "{name}");
    }
}

#[test]
fn an_id_that_another_session_has_becomes_another_one() {
    let folder = Folder::new();
    for (name, text) in [("one", 1), ("two", 2), ("three", 3)] {
        folder.write(&format!("{name}/{ID}.json"), side(&json!({"labels": {"from": name}})));
        folder.write(&format!("{name}/{ID}.ndjson"), reply(text));
    }
    // The same side file with another log is another run.
    folder.write(&format!("four/{ID}.json"), side(&json!({"labels": {"from": "one"}})));
    folder.write(&format!("four/{ID}.ndjson"), reply(4));
    for name in ["one", "two", "three", "four"] {
        assert_eq!(import(&folder, name), "1 new, 0 changed, 0 unchanged\n", "{name}");
    }
    let all = rows(&folder, "");
    assert_eq!(all.len(), 4);
    assert_eq!(details(&folder, ID)["labels"]["from"], "one", "the first has its own id");
    for name in ["four", "two", "one", "three"] {
        assert_eq!(import(&folder, name), "0 new, 0 changed, 1 unchanged\n", "{name}");
    }
    assert_eq!(import(&folder, "."), "0 new, 0 changed, 4 unchanged\n");
    assert_eq!(rows(&folder, ""), all);
    for row in &all {
        let id = row["id"].as_str().unwrap();
        assert!(id.starts_with("20261123-224103-"), "{id}");
        let shown = run(&folder, &format!("sessions show {id}")).expect(0, "").stdout;
        assert_eq!(shown.matches("reply number").count(), 1, "{shown}");
    }
    // A history has its own row.
    let prompt = r#"{"type":"user","sessionId":"h-1","cwd":"/home/dev/shop","uuid":"u0","parentUuid":null,"isSidechain":false,"timestamp":"2026-11-20T10:00:00.000Z","message":{"role":"user","content":"Ask"}}"#;
    folder.write("h/one.jsonl", format!("{prompt}\n"));
    import(&folder, "h");
    let history = rows(&folder, "").into_iter().find(|row| row["agent_session"] == "h-1").unwrap();
    let id = history["id"].as_str().unwrap();
    folder.write(&format!("five/{id}.json"), side(&json!({"id": id})));
    assert!(import(&folder, "five").starts_with("1 new"));
    assert_eq!(rows(&folder, "").len(), 6);
    assert!(rows(&folder, "").contains(&history));
}

/// All files below a folder.
fn files(folder: &Folder, name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder.path(name)).unwrap().flatten() {
        let name = format!("{name}/{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(folder, &name));
        } else {
            found.push(entry.path());
        }
    }
    found
}

#[test]
fn a_hostile_folder_leads_nowhere() {
    let folder = agents(&[("claude", "cat session")]);
    run(&folder, "run -- ./claude -p Mine");
    let mine = side_file(&folder);
    let secret = folder.path("secret");
    folder.write("secret", format!("SECRET\n{SESSION}"));
    let id = |last: char| format!("20261123-224103-aaaaa{last}");
    let named = |last: char, changes: Value| {
        let id = id(last);
        let mut changes = changes;
        if changes.get("id").is_none() {
            changes["id"] = json!(id);
        }
        folder.write(&format!("evil/{id}.json"), side(&changes));
    };
    // Paths to other files.
    named('a', json!({"log": secret, "errors": secret}));
    named(
        'b',
        json!({"log": mine["log"], "errors": folder.path(&format!("{SESSIONS}/{}.json", mine["id"].as_str().unwrap()))}),
    );
    named(
        'c',
        json!({"log": format!("{}/../../../../../secret", folder.path(SESSIONS).display()), "log_start": u64::MAX}),
    );
    // Links.
    named('d', json!({}));
    for ending in ["ndjson", "stderr"] {
        symlink(&secret, folder.path(&format!("evil/{}.{ending}", id('d')))).unwrap();
    }
    symlink(folder.path(&format!("evil/{}.json", id('a'))), folder.path(&format!("evil/{}.json", id('e'))))
        .unwrap();
    // Not regular files.
    named('f', json!({}));
    assert!(
        Command::new("mkfifo")
            .arg(folder.path(&format!("evil/{}.ndjson", id('f'))))
            .status()
            .unwrap()
            .success()
    );
    named('g', json!({}));
    fs::create_dir(folder.path(&format!("evil/{}.stderr", id('g')))).unwrap();
    let harmless = 6;
    // Damaged ones.
    named('h', json!({"id": "../../../../secret"}));
    named('i', json!({"id": mine["id"]}));
    named('j', json!({"labels": ["x"]}));
    named('k', json!({"log_start": -1}));
    named('m', json!({"started": 7}));
    named('n', json!({"stdin": "x".repeat(2 << 20)}));
    folder.write(&format!("evil/{}.json", id('p')), "[".repeat(100_000));
    folder.write(&format!("evil/{}.json", id('q')), b"\xff\x00");
    folder.write(&format!("evil/{}.json", id('r')), "");
    let before = folder.names_in(SESSIONS);
    let outside = fs::read(&secret).unwrap();
    for round in 0..2 {
        let imported = run(&folder, "sessions import evil");
        let (new, unchanged) = if round == 0 { (harmless, 0) } else { (0, harmless) };
        assert_eq!(imported.code, Some(0), "{imported:?}");
        assert_eq!(imported.stdout, format!("{new} new, 0 changed, {unchanged} unchanged\n"));
        assert!(imported.stderr.contains("(and 8 more) is damaged or can't be read"), "{imported:?}");
    }
    let listed = rows(&folder, "");
    assert_eq!(listed.len(), harmless + 1);
    for file in files(&folder, "home") {
        assert!(!String::from_utf8_lossy(&fs::read(&file).unwrap()).contains("SECRET"), "{}", file.display());
    }
    for row in &listed {
        let shown = run(&folder, &format!("sessions show {}", row["id"].as_str().unwrap()));
        assert!(!shown.stdout.contains("SECRET"), "{shown:?}");
        assert_eq!(shown.code, Some(if row["title"] == "Mine" { 0 } else { 2 }), "{shown:?}");
        if row["title"] != "Mine" {
            assert_eq!(
                run(&folder, &format!("sessions rm {} --yes", row["id"].as_str().unwrap())).code,
                Some(0)
            );
        }
    }
    assert_eq!(rows(&folder, "").len(), 1);
    assert_eq!(folder.names_in(SESSIONS), before, "nothing of mine was removed, nothing of it is left");
    assert_eq!((fs::read(&secret).unwrap(), side_file(&folder)), (outside, mine));
    assert!(files(&folder, "evil").len() >= 17, "what was imported stays as it is");
    assert_eq!(fs::metadata(folder.path(DATA)).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_session_removes_no_file_of_another_one() {
    let folder = agents(&[("claude", "cat session")]);
    run(&folder, "run -- ./claude -p Mine");
    let mine = ids(&folder).remove(0);
    // Planted by someone else.
    let log = folder.path(&format!("{SESSIONS}/{mine}.json"));
    folder.write(
        &format!("{SESSIONS}/{ID}.json"),
        side(&json!({"log": log, "errors": folder.path("session")})),
    );
    let removed = run(&folder, &format!("sessions rm {ID} --yes")).expect(0, "");
    assert!(removed.stdout.contains("stays"), "{removed:?}");
    assert_eq!((rows(&folder, "").len(), folder.path("session").exists(), log.exists()), (1, true, true));
}
