//! `sessions list` and `show` on read-only data, and with an unusable home folder.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::Value;

use crate::program::{Folder, Outcome, has_program, skip};
use crate::run::{SESSIONS, agents, command, run};
use crate::serve_guard::is_root;
use crate::sessions::{DATA, rows};
use crate::sessions_moved::with_mounts;

/// A folder with three runs: one with a label and standard error, one that failed, and one that was killed and isn't in the database.
fn recorded() -> Folder {
    let folder = agents(&[("claude", "cat session; echo warning >&2"), ("fails", "cat reply; exit 3")]);
    run(&folder, "run --label team=shop -- ./claude -p Fix");
    run(&folder, "run -- ./fails");
    let id = "20261123-224103-k3x9qa";
    let side = format!(
        r#"{{"v":1,"id":"{id}","status":"running","command":["./slow"],"folder":"/ci","log":"/ci/log","started":"2026-11-23T22:41:03Z","recorder":{{"pid":1}}}}"#
    );
    folder.write(&format!("{SESSIONS}/{id}.json"), side);
    folder.write(&format!("{SESSIONS}/{id}.ndjson"), crate::program::reply(9));
    folder
}

const NOTICE: &str = "can't be written: this is read from side files and logs, without imported histories\n";

#[track_caller]
fn check(outcome: &Outcome, expected: &[Value], shown: &str) {
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(
        outcome.stderr.lines().all(|line| NOTICE.contains(line.rsplit_once("streamfmt ").unwrap().1)),
        "{outcome:?}"
    );
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    let listed: Vec<Value> = lines[..3].iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(listed, expected);
    assert_eq!(lines[3..].join("\n"), shown.trim_end());
}

const LOOK: &str = "\"$0\" sessions list --json; \"$0\" sessions list | cut -c 1-40; \"$0\" sessions show last~1; \
                    \"$0\" sessions show last~1 --json";

/// The expected output of [`LOOK`].
fn looked(folder: &Folder) -> (Vec<Value>, String) {
    let table = run(folder, "sessions list").stdout;
    let table: Vec<String> = table.lines().map(|line| line.chars().take(40).collect()).collect();
    let shown = run(folder, "sessions show last~1").stdout;
    let details = run(folder, "sessions show last~1 --json").stdout;
    (rows(folder, ""), format!("{}\n{shown}{details}", table.join("\n")))
}

#[test]
fn data_on_a_read_only_disk_is_listed_and_shown() {
    let folder = recorded();
    let read_only = "mount --bind home home; mount -o remount,ro,bind home";
    // Before the first write to the database here.
    let first = with_mounts(&folder, &format!("{read_only}; {LOOK}"));
    let (expected, shown) = looked(&folder);
    let Some(first) = first else { return };
    check(&first, &expected, &shown);
    check(&with_mounts(&folder, &format!("{read_only}; {LOOK}")).unwrap(), &expected, &shown);
    // With the runs only.
    fs::rename(folder.path(SESSIONS), folder.path("sessions")).unwrap();
    fs::remove_dir_all(folder.path(DATA)).unwrap();
    fs::create_dir(folder.path(DATA)).unwrap();
    fs::rename(folder.path("sessions"), folder.path(SESSIONS)).unwrap();
    let outcome = with_mounts(&folder, &format!("{read_only}; {LOOK}")).unwrap();
    check(&outcome, &expected, &shown);
    assert_eq!(outcome.stderr, "", "nothing is missing");
    let image = "mkdir image; mount -t tmpfs none image; cp -rp home/.local/share/streamfmt image; mount -o remount,ro image; \
                 export XDG_DATA_HOME=$PWD/image";
    let of_image = with_mounts(&folder, &format!("{image}; {LOOK}")).unwrap();
    assert_eq!(of_image.stdout.replace("/image/", "/home/.local/share/"), outcome.stdout);
    // With no data at all.
    fs::remove_dir_all(folder.path(DATA)).unwrap();
    let none = with_mounts(&folder, &format!("{read_only}; \"$0\" sessions list")).unwrap();
    assert_eq!((none.code, &*none.stdout, &*none.stderr), (Some(0), "", ""));
    // A command that would write reports why it can't.
    let refused = with_mounts(&folder, &format!("{read_only}; \"$0\" sessions reindex")).unwrap();
    assert!(refused.code == Some(74) && refused.stderr.contains("read-only file system"), "{refused:?}");
}

#[test]
fn data_of_another_user_is_listed_and_shown() {
    if !has_program("setpriv") || !is_root() {
        return skip("only root can act as another user");
    }
    let folder = recorded();
    let (expected, shown) = looked(&folder);
    let open = |mode: &str| {
        for path in [folder.path(""), folder.path("home")] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut chmod = Command::new("chmod");
        assert!(chmod.args(["-R", mode]).arg(folder.path("home/.local")).status().unwrap().success());
    };
    let as_other = |script: &str| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-ec", script]);
        command.arg(env!("CARGO_BIN_EXE_streamfmt")).current_dir(folder.path("")).env_clear();
        Outcome::from(command.env("HOME", folder.path("home")).env("PATH", "/usr/bin:/bin").output().unwrap())
    };
    if as_other("\"$0\" --version").code != Some(0) {
        return skip("another user can't run the program where it lies");
    }
    // Other users can't read unshared data.
    let refused = as_other("\"$0\" sessions list");
    assert!(refused.code == Some(74) && refused.stderr.contains("permission denied"), "{refused:?}");
    open("u=rwX,go=rX");
    check(&as_other(LOOK), &expected, &shown);
    // An unshared log hides no other run.
    fs::set_permissions(expected[0]["log"].as_str().unwrap(), fs::Permissions::from_mode(0o600)).unwrap();
    let listed = as_other("\"$0\" sessions list --json");
    assert_eq!((listed.code, listed.stdout.lines().count()), (Some(0), 3), "{listed:?}");
    // Nothing is changed either: the folder's mode is as before.
    assert_eq!(fs::metadata(folder.path(DATA)).unwrap().permissions().mode() & 0o777, 0o755);
    // A folder that the user owns but can't write to.
    assert!(
        Command::new("chown")
            .args(["-R", "65534"])
            .arg(folder.path("home/.local"))
            .status()
            .unwrap()
            .success()
    );
    open("a-w");
    check(&as_other(LOOK), &expected, &shown);
}

#[test]
fn a_home_that_is_not_absolute_is_refused() {
    let folder = agents(&[("claude", "cat session")]);
    folder.write("rel/.config/streamfmt/config.toml", "hide = ['reply']\n");
    for home in ["rel", "./rel"] {
        for arguments in
            ["run -o out -- ./claude -p Fix", "sessions list", "sessions show last", "serve", "serve --link"]
        {
            let mut refused = command(&folder, arguments);
            let refused = Outcome::from(refused.env("HOME", home).output().unwrap());
            let variable = if arguments == "serve --link" { "XDG_STATE_HOME" } else { "XDG_DATA_HOME" };
            let told = format!(
                "streamfmt: HOME is \"{home}\", which isn't an absolute path; set it or {variable} to one\n"
            );
            refused.expect(2, &told);
            assert!(!folder.path("out").exists() && !folder.path("rel/.local").exists(), "{arguments}");
        }
        let data = folder.path("data");
        let mut known = command(&folder, "run -- ./claude -p Fix");
        let known = Outcome::from(known.env("HOME", home).env("XDG_DATA_HOME", &data).output().unwrap());
        assert!(known.code == Some(0) && known.kept.unwrap().starts_with(data.to_str().unwrap()));
        // The working folder may belong to anyone: its settings aren't the user's own.
        let mut shown = command(&folder, "session");
        let shown = Outcome::from(shown.env("HOME", home).output().unwrap()).expect(0, "");
        assert!(shown.stdout.contains("First reply."), "{home}: {shown:?}");
    }
}
