//! `sessions` on a data folder other than the one where its runs were recorded: moved, restored, mounted elsewhere, with names that aren't
//! UTF-8.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::program::{Folder, Outcome, SESSION, Signal, has_program, skip, until};
use crate::run::{SESSIONS, agents, command, run};
use crate::serve::{Served, ids};
use crate::sessions::{DATA, rows};

/// Runs a script, with the program as `$0`, in its own mount namespace. If nothing can be mounted, the calling test counts as skipped.
pub(crate) fn with_mounts(folder: &Folder, script: &str) -> Option<Outcome> {
    if !has_program("unshare") || !has_program("mount") {
        return None;
    }
    let within = |options: &str, script: &str| {
        let mut command = Command::new("unshare");
        command.args([options, "sh", "-ec", script, env!("CARGO_BIN_EXE_streamfmt")]);
        command.current_dir(folder.path("")).env_clear().env("HOME", folder.path("home"));
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").output().unwrap()
    };
    let options = ["-m", "-rm"].into_iter();
    let can_mount = |options: &&str| within(options, "mount -t tmpfs none /mnt").status.success();
    let found = options.filter(can_mount).map(|options| within(options, script).into()).next();
    if found.is_none() {
        skip("nothing can be mounted here (unshare -m)");
    }
    found
}

/// The command, run on another data folder.
fn on(folder: &Folder, data: &Path, arguments: &str) -> Outcome {
    command(folder, arguments).env("XDG_DATA_HOME", data).output().unwrap().into()
}

fn listed(outcome: &Outcome) -> Vec<Value> {
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""), "{outcome:?}");
    outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_data_folder_that_was_moved_works_as_it_is() {
    let folder = agents(&[
        ("claude", "cat session; echo warning >&2"),
        ("slow", "cat reply; touch begun; exec sleep 1000"),
    ]);
    run(&folder, "run --label team=shop -- ./claude -p Fix");
    run(&folder, "run --log elsewhere.ndjson -- ./claude -p More");
    // This run's figures are read only after the move.
    let mut killed = command(&folder, "run -- ./slow").spawn().unwrap();
    // What the agent wrote is recorded a little later.
    let is_recorded = |name: &String| folder.read(&format!("{SESSIONS}/{name}")).contains("reply number 7.");
    let logs = || folder.names_in(SESSIONS).into_iter().filter(|name| name.ends_with(".ndjson"));
    until(
        || "the agent".to_owned(),
        || folder.path("begun").exists() && logs().any(|name| is_recorded(&name)),
    );
    rustix::process::kill_process(rustix::process::Pid::from_child(&killed), Signal::KILL).unwrap();
    killed.wait().unwrap();
    let shown = run(&folder, "sessions show last~2").stdout;
    for (old, new) in [("home/.local/share", "new home/data"), ("new home/data", "n/\u{e9}")] {
        let data = folder.path(new);
        fs::create_dir_all(data.parent().unwrap()).unwrap();
        fs::rename(folder.path(old), &data).unwrap();
        let sessions = data.join("streamfmt/sessions");
        let check = |what: &str| {
            let rows = listed(&on(&folder, &data, "sessions list --json"));
            assert_eq!(rows.len(), 3, "{what}");
            for row in &rows {
                assert!(row.get("source_gone").is_none(), "{what}: {row}");
                let log = Path::new(row["log"].as_str().unwrap());
                let is_elsewhere = row["title"] == "More";
                assert_eq!(log.parent().unwrap() == sessions, !is_elsewhere, "{what}: {row}");
            }
            let first = rows.iter().find(|row| row["title"] == "Fix").unwrap();
            assert_eq!((&first["labels"]["team"], &first["num_turns"]), (&"shop".into(), &2.into()));
            assert!(
                rows.iter().any(|row| row["status"] == "interrupted" && row["title"] == "reply number 7.")
            );
            assert_eq!(on(&folder, &data, "sessions show last~2").expect(0, "").stdout, shown, "{what}");
            assert!(on(&folder, &data, "sessions show last~1").expect(0, "").stdout.contains("First reply."));
        };
        check("moved");
        assert_eq!(on(&folder, &data, "sessions reindex").expect(0, "").stdout, "3 runs\n");
        check("indexed again");
        let planned = on(&folder, &data, "sessions rm last~2 --dry-run").expect(0, "").stdout;
        assert_eq!(planned.matches(sessions.to_str().unwrap()).count(), 3, "{planned}");
        let mut serve = command(&folder, "serve");
        serve.env("XDG_DATA_HOME", &data);
        let served = Served::of(&folder, serve);
        let rows = listed(&on(&folder, &data, "sessions list --json"));
        let page = format!("/sessions/{}", rows[2]["id"].as_str().unwrap());
        assert_eq!(served.get(&format!("{page}/log")).body, SESSION);
        assert!(served.get(&page).body.contains(sessions.to_str().unwrap()));
    }
    let data = folder.path("n/\u{e9}");
    let removed = on(&folder, &data, "sessions prune --keep 0 --yes").expect(0, "").stdout;
    assert!(
        removed.contains("elsewhere.ndjson stays") && folder.path("elsewhere.ndjson").exists(),
        "{removed}"
    );
    assert_eq!(fs::read_dir(data.join("streamfmt/sessions")).unwrap().count(), 0);
}

#[test]
fn a_data_folder_that_is_mounted_elsewhere_works_as_it_is() {
    let folder = agents(&[("claude", "cat session")]);
    run(&folder, "run -- ./claude -p Fix");
    let script = "mkdir there; mount --bind home/.local there; mount -t tmpfs none home; \
                  XDG_DATA_HOME=$PWD/there/share \"$0\" sessions list --json; \
                  XDG_DATA_HOME=$PWD/there/share \"$0\" sessions show last --to items";
    let Some(outcome) = with_mounts(&folder, script) else { return };
    let expected = run(&folder, "--to items session").stdout;
    let (row, items) = outcome.stdout.split_once('\n').unwrap();
    assert!(row.contains("/there/share/streamfmt/sessions/") && !row.contains("source_gone"), "{outcome:?}");
    assert_eq!((outcome.code, items), (Some(0), &*expected));
}

#[test]
fn only_a_side_file_that_was_moved_without_its_log_leads_to_the_old_place() {
    let folder = agents(&[("claude", "cat session")]);
    run(&folder, "run -- ./claude -p Fix");
    let name = ids(&folder).remove(0);
    let old = folder.path("home/.local/share");
    let sessions = folder.path("new/streamfmt/sessions");
    fs::create_dir_all(&sessions).unwrap();
    fs::copy(folder.path(&format!("{SESSIONS}/{name}.json")), sessions.join(format!("{name}.json"))).unwrap();
    let data = folder.path("new");
    let log = |outcome: &Outcome| listed(outcome)[0]["log"].as_str().unwrap().to_owned();
    assert!(log(&on(&folder, &data, "sessions list --json")).starts_with(old.to_str().unwrap()));
    assert!(on(&folder, &data, "sessions show last").expect(0, "").stdout.contains("First reply."));
    // A log beside the side file takes precedence.
    fs::write(sessions.join(format!("{name}.ndjson")), SESSION.replace("First reply", "Restored reply"))
        .unwrap();
    assert!(log(&on(&folder, &data, "sessions list --json")).starts_with(data.to_str().unwrap()));
    assert!(on(&folder, &data, "sessions show last").expect(0, "").stdout.contains("Restored reply."));
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_no_text_are_kept_and_found() {
    let folder = agents(&[("claude", "cat \"$SESSION\"")]);
    let session = folder.path("session");
    // The last one looks like a name written by earlier versions.
    for name in [&b"n\xff"[..], b"\xe9t\xe9 'x' \\", b"a\nb\xc3", "\u{fffd}FF\u{fffd}".as_bytes()] {
        let odd = folder.path("").join(OsStr::from_bytes(name));
        fs::create_dir(&odd).unwrap();
        let in_odd = |arguments: &str| {
            let mut command = command(&folder, arguments);
            command.current_dir(&odd).env("SESSION", &session);
            command
        };
        let ran = Outcome::from(in_odd("run --log run.ndjson -- ../claude -p Fix").output().unwrap());
        assert_eq!((ran.code, ran.kept.as_deref()), (Some(0), Some("run.ndjson")), "{ran:?}");
        let shown = run(&folder, "sessions show last").expect(0, "").stdout;
        assert!(shown.contains("First reply."), "{shown}");
        let row = rows(&folder, "-n 1").remove(0);
        let text = row["folder"].as_str().unwrap().to_owned();
        assert_eq!(streamfmt_server::text_path(&text).as_os_str(), odd.as_os_str(), "{text}");
        assert_eq!(row["log"], format!("{text}/run.ndjson"));
        assert!(row.get("source_gone").is_none());
        assert_eq!(run(&folder, "sessions reindex").code, Some(0));
        assert_eq!(rows(&folder, "-n 1").remove(0), row);
        assert_eq!(rows(&folder, "-n 1 --redact")[0]["log"], row["log"]);
        let of_folder = Outcome::from(in_odd("sessions list --json --folder .").output().unwrap());
        assert_eq!(listed(&of_folder), [row], "by its folder");
        // As a data folder.
        let mut ran = in_odd("run -- ../claude -p Fix");
        let ran = Outcome::from(ran.env("XDG_DATA_HOME", &odd).output().unwrap());
        let kept = ran.kept.clone().unwrap();
        let mut printed = Command::new("bash");
        let word = if kept.starts_with("$'") { kept.clone() } else { crate::program::quoted(&kept) };
        printed.args(["-c", &format!("cat {word}")]);
        if has_program("bash") {
            assert_eq!(printed.output().unwrap().stdout, SESSION.as_bytes(), "{kept} can be copied");
        }
        assert!(on(&folder, &odd, "sessions show last").expect(0, "").stdout.contains("First reply."));
        // As a history.
        let history = odd.join(OsStr::from_bytes(b"h\xff.jsonl"));
        fs::write(&history, SESSION.replace("s-1", "s-9")).unwrap();
        let mut import = in_odd("sessions import");
        import.arg(&history).env("XDG_DATA_HOME", &odd);
        let imported = Outcome::from(import.output().unwrap());
        assert!(imported.stdout.starts_with("1 new, 0 changed"), "{imported:?}");
        let again = Outcome::from(import.output().unwrap());
        assert!(again.stdout.starts_with("0 new, 0 changed, 1 unchanged"), "{again:?}");
        assert!(on(&folder, &odd, "sessions show last~1").expect(0, "").stdout.contains("First reply."));
        assert_eq!(on(&folder, &odd, "sessions prune --keep 0 --yes").code, Some(0));
        assert_eq!(fs::read_dir(odd.join("streamfmt/sessions")).unwrap().count(), 0);
    }
    let numbered = folder.path("").join(OsStr::from_bytes(b"log\xff.ndjson"));
    let holder = fs::File::create(&numbered).unwrap();
    holder.lock().unwrap();
    let mut second = command(&folder, "run --log");
    second.arg(&numbered).args(["--", "./claude", "-p", "x"]).env("SESSION", &session);
    assert_eq!(second.output().unwrap().status.code(), Some(0));
    let second = folder.path("").join(OsStr::from_bytes(b"log\xff-2.ndjson"));
    assert_eq!(fs::read(second).unwrap(), SESSION.as_bytes());
    assert!(folder.names_in(DATA).iter().any(|name| name == "sessions.db"));
}
