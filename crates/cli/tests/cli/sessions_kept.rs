//! Copies of imported sessions: they stay when the agent deletes, shortens or rewrites its files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;

use crate::program::{Folder, SESSION, contains, is_private};
use crate::run::{SESSIONS, agents, command, run};
use crate::sessions::{DATA, rows};

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/samples");

/// A folder with histories of several agents: sub-agents in files of their own, facts beside, a document that is rewritten.
fn histories() -> Folder {
    let folder = agents(&[]);
    let samples = Path::new(SAMPLES);
    for (from, to) in [
        ("shop.history.jsonl", "h/s.jsonl"),
        (
            "shop.history/subagents/agent-a4c19e07b25d83f61.jsonl",
            "h/s/subagents/agent-a4c19e07b25d83f61.jsonl",
        ),
        (
            "shop.history/subagents/agent-a4c19e07b25d83f61.meta.json",
            "h/s/subagents/agent-a4c19e07b25d83f61.meta.json",
        ),
        ("cline/3.0.65/files/session.messages.json", "h/c/session.messages.json"),
        ("gemini/0.61.0/files/session.jsonl", "h/g/session.jsonl"),
    ] {
        folder.write(to, fs::read(samples.join(from)).unwrap());
    }
    folder.write("h/c/session.json", r#"{"title":"The facts beside it","cwd":"/home/kim/shop"}"#);
    folder
}

/// A line of a history of Claude Code.
fn line(session: &str, number: usize) -> String {
    let line = json!({"type": "user", "sessionId": session, "cwd": "/", "version": "2.1.0", "uuid": format!("u-{number}"), "parentUuid": null,
        "isSidechain": false, "timestamp": "2026-11-20T09:00:00.000Z", "message": {"role": "user", "content": format!("Prompt {number} of {session}.")}});
    format!("{line}\n")
}

fn lines(session: &str, count: usize) -> String {
    (1..=count).map(|number| line(session, number)).collect()
}

fn import(folder: &Folder, options: &str) -> String {
    run(folder, &format!("sessions import {options}")).expect(0, "").stdout
}

/// The number of prompts in what is shown.
fn prompts(text: &str) -> usize {
    text.lines().filter(|line| line.contains("\"kind\":\"prompt\"")).count()
}

/// All files of a folder and of those in it.
pub(crate) fn files_below(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_type().unwrap().is_dir() {
            found.extend(files_below(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found.sort();
    found
}

fn copies(folder: &Folder) -> Vec<PathBuf> {
    let mut files = files_below(&folder.path(DATA).join("copies"));
    files.retain(|file| file.extension().is_some_and(|ending| ending == "zst"));
    files
}

/// The ids of all sessions, the newest first.
fn ids(folder: &Folder) -> Vec<String> {
    rows(folder, "").iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

/// What `show` writes of each session.
fn shown(folder: &Folder) -> Vec<String> {
    let show = |id: String| run(folder, &format!("sessions show {id} --to items")).expect(0, "").stdout;
    ids(folder).into_iter().map(show).collect()
}

#[test]
fn sessions_whose_files_are_gone_are_shown_as_before() {
    let folder = histories();
    assert_eq!(import(&folder, "--keep h"), "3 new, 0 changed, 0 unchanged; 6 files copied\n");
    assert_eq!(import(&folder, "h"), "0 new, 0 changed, 3 unchanged\n");
    let before = shown(&folder);
    assert!(before.iter().all(|text| text.lines().count() > 10));
    assert!(before.iter().any(|text| text.contains("\"parent\"")), "sub-agents");
    let private = files_below(&folder.path(DATA).join("copies"));
    assert_eq!((private.len(), private.iter().all(|file| is_private(file))), (9, true));
    for gone in ["gone", "h"] {
        fs::rename(folder.path("h"), folder.path("away")).unwrap();
        assert_eq!(shown(&folder), before, "{gone}");
        fs::rename(folder.path("away"), folder.path("h")).unwrap();
    }
    fs::remove_dir_all(folder.path("h")).unwrap();
    folder.write("h/x.jsonl", lines("s-x", 1));
    assert_eq!(import(&folder, "h"), "1 new, 0 changed, 0 unchanged\n");
    let listed = rows(&folder, "");
    assert_eq!(listed.iter().filter(|row| row["source_gone"] == json!(true)).count(), 3);
    assert_eq!(shown(&folder)[..3].len(), 3);
    let markdown = run(&folder, &format!("sessions show {} --to markdown", ids(&folder)[0]));
    assert!(!markdown.expect(0, "").stdout.is_empty());
}

#[test]
fn a_copy_is_only_added_to_and_another_begins_when_a_file_was_rewritten() {
    let folder = agents(&[]);
    folder.write("home/.config/streamfmt/config.toml", "[store]\nkeep = true\n");
    folder.write("h/s.jsonl", lines("s-1", 2));
    assert_eq!(import(&folder, "h"), "1 new, 0 changed, 0 unchanged; 1 file copied\n");
    let first = fs::read(&copies(&folder)[0]).unwrap();
    folder.append("h/s.jsonl", &line("s-1", 3)[..20]);
    assert_eq!(import(&folder, "h"), "0 new, 1 changed, 0 unchanged; 1 file copied\n");
    folder.append("h/s.jsonl", &line("s-1", 3)[20..]);
    assert_eq!(import(&folder, "h"), "0 new, 1 changed, 0 unchanged; 1 file copied\n");
    let [copy] = &copies(&folder)[..] else { panic!("{:?}", copies(&folder)) };
    assert!(fs::read(copy).unwrap().starts_with(&first));
    assert_eq!(prompts(&run(&folder, &format!("--to items {}", copy.display())).stdout), 3);
    // A stub: both stay.
    folder.write("h/s.jsonl", line("s-1", 1));
    assert_eq!(import(&folder, "h"), "0 new, 1 changed, 0 unchanged; 1 file copied\n");
    assert_eq!(copies(&folder).len(), 2);
    // Everything again, in another order: it replaces both.
    folder.write("h/s.jsonl", line("s-1", 4) + &lines("s-1", 3));
    assert_eq!(import(&folder, "h"), "0 new, 1 changed, 0 unchanged; 1 file copied\n");
    assert_eq!(copies(&folder).len(), 1);
    // Without the setting, what has copies is copied on.
    fs::remove_file(folder.path("home/.config/streamfmt/config.toml")).unwrap();
    folder.append("h/s.jsonl", &line("s-1", 5));
    folder.write("h/t.jsonl", lines("s-2", 1));
    assert_eq!(import(&folder, "h"), "1 new, 1 changed, 0 unchanged; 1 file copied\n");
    // What a killed process left is cut off.
    let [copy] = &copies(&folder)[..] else { panic!("{:?}", copies(&folder)) };
    let whole = fs::read(copy).unwrap();
    fs::write(copy, [&whole[..], &whole[..30]].concat()).unwrap();
    fs::rename(folder.path("h"), folder.path("away")).unwrap();
    let session = ids(&folder).into_iter().find(|id| copy.display().to_string().contains(id)).unwrap();
    let shown = run(&folder, &format!("sessions show {session} --to items")).expect(0, "").stdout;
    assert_eq!(prompts(&shown), 5);
    fs::rename(folder.path("away"), folder.path("h")).unwrap();
    folder.append("h/s.jsonl", &line("s-1", 6));
    assert_eq!(import(&folder, "h"), "0 new, 1 changed, 1 unchanged; 1 file copied\n");
    assert!(fs::read(copy).unwrap().starts_with(&whole));
    assert_eq!(prompts(&run(&folder, &format!("--to items {}", copy.display())).expect(0, "").stdout), 6);
}

#[test]
fn a_session_whose_path_belongs_to_another_one_now_is_read_from_its_copy() {
    let folder = agents(&[]);
    folder.write("h/s.jsonl", lines("s-1", 2));
    import(&folder, "--keep h");
    let [id] = &ids(&folder)[..] else { panic!() };
    let before = run(&folder, &format!("sessions show {id} --to items")).stdout;
    folder.write("h/s.jsonl", lines("s-2", 3));
    import(&folder, "h");
    assert_eq!(run(&folder, &format!("sessions show {id} --to items")).stdout, before);
}

#[test]
fn a_document_that_is_rewritten_all_the_time_takes_little() {
    let folder = agents(&[]);
    let text =
        fs::read_to_string(Path::new(SAMPLES).join("cline/3.0.65/files/session.messages.json")).unwrap();
    let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
    folder.write("h/session.messages.json", &text);
    import(&folder, "--keep h");
    for number in 0..30 {
        let messages = document["messages"].as_array_mut().unwrap();
        let mut last = messages.last().unwrap().clone();
        last["id"] = json!(format!("m-{number}"));
        messages.push(last);
        folder.write("h/session.messages.json", document.to_string());
        import(&folder, "h");
    }
    let taken: u64 = copies(&folder).iter().map(|file| file.metadata().unwrap().len()).sum();
    assert!(taken < 3 * text.len() as u64, "{taken}");
}

#[test]
fn at_the_limit_nothing_is_deleted_and_nothing_more_is_copied() {
    let folder = agents(&[]);
    folder.write("home/.config/streamfmt/config.toml", "[store]\nkeep = true\nkeep-most = \"2 KB\"\n");
    folder.write("h/a.jsonl", lines("s-1", 2));
    import(&folder, "h");
    let before: Vec<_> = copies(&folder).iter().map(|file| fs::read(file).unwrap()).collect();
    // Text that doesn't become shorter.
    let noise: Vec<String> = (0..4_000_u32).map(|at| at.wrapping_mul(2_654_435_761).to_string()).collect();
    let noise = noise.concat();
    folder.append("h/a.jsonl", &line("s-1", 3).replace("Prompt", &noise));
    folder.write("h/b.jsonl", lines("s-2", 1));
    let message = "streamfmt: the copies of sessions take the 2000 bytes that they may (store.keep-most): nothing more is copied\n";
    for _ in 0..2 {
        let imported = run(&folder, "sessions import h");
        assert_eq!((imported.code, &*imported.stderr), (Some(0), message), "{}", imported.stdout);
        assert_eq!(copies(&folder).iter().map(|file| fs::read(file).unwrap()).collect::<Vec<_>>(), before);
    }
    folder.write("home/.config/streamfmt/config.toml", "[store]\nkept = true\n");
    let imported = run(&folder, "sessions import h");
    assert!(
        imported.stderr.contains("unknown key \"store.kept\" (one of: keep, keep-most)"),
        "{}",
        imported.stderr
    );
}

#[test]
fn copies_are_verified_and_each_line_has_what_is_missing() {
    let folder = histories();
    assert_eq!(run(&folder, "sessions verify").expect(0, "").stdout, "no session has copies\n");
    folder.write("h/r.jsonl", SESSION.split_inclusive('\n').take(3).collect::<String>());
    import(&folder, "--keep h");
    let verified = run(&folder, "sessions verify").expect(0, "").stdout;
    assert_eq!(
        verified.lines().filter(|line| line.ends_with(": nothing is missing")).count(),
        3,
        "{verified}"
    );
    assert_eq!(verified.lines().filter(|line| line.contains(": no result")).count(), 1, "{verified}");
    fs::remove_file(folder.path("h/s.jsonl")).unwrap();
    let id = rows(&folder, "--agent claude")
        .into_iter()
        .find(|row| row["log"].as_str().unwrap().ends_with("s.jsonl"));
    let id = id.unwrap()["id"].as_str().unwrap().to_owned();
    let verified = run(&folder, "sessions verify").expect(0, "").stdout;
    let line = verified.lines().find(|line| line.starts_with(&id)).unwrap();
    assert!(line.contains("  3 files, ") && line.ends_with("s.jsonl is gone"), "{line}");
    let copy = copies(&folder).into_iter().find(|file| file.ends_with("s.jsonl.zst")).unwrap();
    let mut bytes = fs::read(&copy).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(&copy, bytes).unwrap();
    let verified =
        run(&folder, "sessions verify").expect(1, "streamfmt: the copies of 1 session are damaged\n").stdout;
    assert!(verified.contains("s.jsonl.zst is damaged; "), "{verified}");
}

#[test]
fn a_removed_session_is_in_no_file_and_comes_again_only_by_its_name() {
    let folder = histories();
    import(&folder, "--keep h");
    let id = ids(&folder).into_iter().next_back().unwrap();
    let removed = run(&folder, &format!("sessions rm {id} --yes")).expect(0, "").stdout;
    assert!(removed.starts_with(&format!("removed {id}\n")), "{removed}");
    for text in ["s.jsonl", "c963cfe0-afae-4a3b-b909-6a04e7d80068", "20.01 for three items", &id] {
        for file in files_below(&folder.path(DATA)) {
            assert!(!contains(&fs::read(&file).unwrap(), text), "{text} in {}", file.display());
        }
    }
    assert!(!folder.path(DATA).join("copies").join(&id).exists());
    for _ in 0..2 {
        let text = "0 new, 0 changed, 2 unchanged; 1 session that was removed is left out\n";
        assert_eq!(import(&folder, "--keep h"), text);
    }
    // A copy of the file elsewhere is the same session.
    folder.write("other/again.jsonl", folder.read("h/s.jsonl"));
    assert!(import(&folder, "other").contains("1 session that was removed is left out"));
    assert_eq!(import(&folder, "--keep h/s.jsonl"), "1 new, 0 changed, 0 unchanged; 3 files copied\n");
    assert_eq!(import(&folder, "h"), "0 new, 0 changed, 3 unchanged\n");
}

#[test]
fn prune_removes_copies_only_when_it_is_asked_for_them() {
    let folder = histories();
    import(&folder, "--keep h");
    let before = files_below(&folder.path(DATA).join("copies"));
    assert_eq!(run(&folder, "sessions prune --older 1s --yes").expect(0, "").stdout, "nothing to remove\n");
    assert_eq!(files_below(&folder.path(DATA).join("copies")), before);
    assert_eq!(run(&folder, "sessions prune --copies --yes").code, Some(2));
    fs::remove_file(folder.path("h/s.jsonl")).unwrap();
    let message = "streamfmt: 1 of 3 sessions have no other source any more\n";
    let listed = run(&folder, "sessions prune --copies --older 1s --dry-run").expect(0, message).stdout;
    assert_eq!(listed.lines().filter(|line| line.contains("/copies/")).count(), 3, "{listed}");
    let pruned = run(&folder, "sessions prune --copies --older 1s --yes").expect(0, message).stdout;
    assert_eq!(pruned.lines().filter(|line| line.starts_with("removed ")).count(), 3, "{pruned}");
    assert_eq!((copies(&folder).len(), rows(&folder, "").len()), (0, 0));
    assert_eq!(import(&folder, "h"), "2 new, 0 changed, 0 unchanged\n");
}

#[test]
fn copies_are_readable_whenever_the_import_is_killed() {
    let folder = agents(&[]);
    let history = |count: usize| (1..=count).map(|number| line("s-1", number)).collect::<String>();
    folder.write("h/s.jsonl", history(1));
    import(&folder, "--keep h");
    for round in 0..12_usize {
        // It grows, and is rewritten every third time.
        let count = 400 * (round + 1);
        let text = history(count);
        folder.write("h/s.jsonl", if round % 3 == 2 { line("s-1", 9_999) + &text } else { text });
        folder.write(&format!("h/{round}.jsonl"), lines(&format!("t-{round}"), 300));
        let mut child = command(&folder, "sessions import --keep h").stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(17 * round as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        let verified = run(&folder, "sessions verify");
        assert_eq!((verified.code, &*verified.stderr), (Some(0), ""), "{round}: {}", verified.stdout);
    }
    import(&folder, "--keep h");
    assert!(copies(&folder).len() >= 13);
    fs::rename(folder.path("h"), folder.path("away")).unwrap();
    let texts = shown(&folder);
    assert!(
        texts.iter().any(|text| prompts(text) >= 4_800),
        "{:?}",
        texts.iter().map(|it| prompts(it)).collect::<Vec<_>>()
    );
}

#[test]
fn packed_logs_are_read_as_before() {
    let folder =
        agents(&[("claude", "cat session session session; echo warning >&2"), ("other", "cat reply")]);
    run(&folder, "run --label a=b -- ./claude -p Fix");
    run(&folder, "run --log elsewhere.ndjson -- ./claude -p More");
    run(&folder, "run -- ./other");
    let (before, listed) = (shown(&folder), rows(&folder, ""));
    let log = listed.iter().find(|row| row["title"] == "Fix").unwrap()["log"].as_str().unwrap().to_owned();
    let raw = fs::read(&log).unwrap();
    assert_eq!(run(&folder, "sessions compress --older 1h").expect(0, "").stdout, "no log to compress\n");
    std::thread::sleep(Duration::from_millis(1_100));
    let packed = run(&folder, "sessions compress --older 1s").expect(0, "").stdout;
    assert!(packed.starts_with("1 log: ") || packed.starts_with("2 logs: "), "{packed}");
    assert!(!Path::new(&log).exists() && Path::new(&format!("{log}.zst")).exists());
    assert!(is_private(Path::new(&format!("{log}.zst"))) && folder.path("elsewhere.ndjson").exists());
    assert_eq!(shown(&folder), before);
    // Without the database, and in a folder that was moved.
    for name in ["sessions.db", "sessions.db-wal", "sessions.db-shm"] {
        let _ = fs::remove_file(folder.path(DATA).join(name));
    }
    assert_eq!(shown(&folder), before);
    let run_row = |row: &serde_json::Value| {
        let mut row = row.clone();
        row.as_object_mut().unwrap().remove("log");
        row
    };
    let now = rows(&folder, "");
    assert_eq!(now.iter().map(run_row).collect::<Vec<_>>(), listed.iter().map(run_row).collect::<Vec<_>>());
    run(&folder, "sessions reindex").expect(0, "");
    assert_eq!(rows(&folder, ""), now);
    // A folder with packed logs is imported elsewhere, and a killed process may have left both.
    let id = now.iter().find(|row| row["title"] == "Fix").unwrap()["id"].as_str().unwrap().to_owned();
    fs::create_dir(folder.path("artifact")).unwrap();
    for ending in ["json", "ndjson.zst", "stderr"] {
        let name = format!("{id}.{ending}");
        fs::copy(folder.path(SESSIONS).join(&name), folder.path("artifact").join(&name)).unwrap();
    }
    assert_eq!(import(&folder, "artifact"), "0 new, 0 changed, 1 unchanged\n");
    fs::write(&log, &raw).unwrap();
    run(&folder, "sessions compress --older 1s").expect(0, "");
    assert!(!Path::new(&log).exists());
    run(&folder, &format!("sessions rm {id} --yes")).expect(0, "");
    assert!(folder.names_in(SESSIONS).iter().all(|name| !name.starts_with(&id)));
    assert_eq!(import(&folder, "artifact"), "1 new, 0 changed, 0 unchanged\n");
    assert_eq!(fs::read(&log).unwrap(), raw);
}

#[test]
fn the_list_says_what_sessions_take() {
    let folder = histories();
    import(&folder, "--keep h");
    folder.write_program("claude", "#!/bin/sh\ncat session; echo warning >&2\n");
    run(&folder, "run -- ./claude -p Fix");
    let listed = run(&folder, "sessions list --disk --json").expect(0, "").stdout;
    let lines: Vec<serde_json::Value> =
        listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (total, sessions) = lines.split_last().unwrap();
    assert_eq!(sessions.len(), 4);
    assert_eq!(
        (&total["total"], &total["log_bytes"], &total["stderr_bytes"]),
        (&json!(true), &json!(SESSION.len()), &json!(8))
    );
    let below: u64 =
        files_below(&folder.path(DATA).join("copies")).iter().map(|it| it.metadata().unwrap().len()).sum();
    assert_eq!(total["copies_bytes"], json!(below));
    assert!(total["database_bytes"].as_u64().unwrap() > 4_096);
    let table = run(&folder, "sessions list --disk").expect(0, "").stdout;
    assert!(
        table.starts_with("ID ") && table.lines().count() == 7 && table.contains("\nthe database: "),
        "{table}"
    );
}

#[test]
fn copies_are_no_histories_of_their_own() {
    let folder = histories();
    import(&folder, "--keep h");
    let before = (copies(&folder), rows(&folder, "--all"));
    // Of a folder above the data folder.
    for _ in 0..2 {
        assert!(import(&folder, "home").starts_with("0 new, 0 changed, 0 unchanged"));
        assert!(import(&folder, ".").starts_with("0 new, 0 changed, "));
    }
    assert_eq!((copies(&folder), rows(&folder, "--all")), before);
}

#[test]
fn without_its_manifest_no_copy_is_replaced() {
    let folder = agents(&[]);
    folder.write("h/s.jsonl", lines("s-1", 3));
    import(&folder, "--keep h");
    let kept = copies(&folder);
    let manifest = kept[0].parent().unwrap().with_file_name("manifest.json");
    fs::remove_file(&manifest).unwrap();
    let bytes = fs::read(&kept[0]).unwrap();
    folder.append("h/s.jsonl", &line("s-1", 4));
    let outcome = run(&folder, "sessions import --keep h");
    assert!(outcome.stderr.contains("the manifest of the copies is missing"), "{outcome:?}");
    assert_eq!((copies(&folder), fs::read(&kept[0]).unwrap()), (kept, bytes));
    assert_eq!(run(&folder, "sessions verify").code, Some(1));
}

#[test]
fn agents_of_workflows_are_copied() {
    let folder = agents(&[]);
    folder.write("h/s-1.jsonl", lines("s-1", 2));
    let agent = line("s-1", 9).replace("\"isSidechain\":false", "\"isSidechain\":true,\"agentId\":\"b2\"");
    folder.write("h/s-1/subagents/workflows/wf_1/agent-b2.jsonl", agent);
    assert!(import(&folder, "--keep h").ends_with("; 2 files copied\n"));
    assert_eq!(run(&folder, "sessions verify").code, Some(0));
}

#[test]
fn what_a_packed_log_or_a_copy_holds_is_found() {
    let folder = agents(&[("claude", "cat session")]);
    run(&folder, "run -- ./claude -p Go");
    folder.write("h/s.jsonl", lines("s-1", 3));
    import(&folder, "--keep h");
    fs::remove_dir_all(folder.path("h")).unwrap();
    std::thread::sleep(Duration::from_millis(1_100));
    let figures = || run(&folder, "sessions stats --json --by agent").expect(0, "").stdout;
    let before = figures();
    run(&folder, "sessions compress --older 1s").expect(0, "");
    assert_eq!(figures(), before);
    for row in rows(&folder, "") {
        let id = row["id"].as_str().unwrap();
        let items = run(&folder, &format!("sessions show {id} --to items")).expect(0, "").stdout;
        let items: Vec<serde_json::Value> =
            items.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let item =
            items.iter().find(|item| matches!(item["kind"].as_str(), Some("prompt" | "reply"))).unwrap();
        let at =
            run(&folder, &format!("sessions show {id} --at {} --to items", item["id"].as_str().unwrap()));
        assert_eq!(at.code, Some(0), "{at:?}");
    }
}
