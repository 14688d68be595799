//! `run` with a full disk, a power failure and refusals by the system: the side file still describes the run.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::program::{Folder, Outcome, SESSION, has_program, is_private, reply, skip};
use crate::run::{SESSIONS, agents, command, kept, run, side_file};
#[cfg(target_os = "linux")]
use crate::sessions_at_once::unshare;

#[cfg(target_os = "linux")]
const DISK: [&[&str]; 2] = [&["--user", "--map-root-user", "--mount"], &["--mount"]];

/// Runs `agent` with a data folder on a separate disk, and copies the folder to `copy`. `before`: a command that fills the disk, or `true`.
#[cfg(target_os = "linux")]
fn on_a_small_disk(folder: &Folder, before: &str, options: &str) -> Option<Outcome> {
    fs::create_dir(folder.path("disk")).unwrap();
    let mount = "mount -t tmpfs -o size=1m none disk";
    let mut shell = unshare(folder, &DISK, mount)?;
    let script = format!(
        "{mount}; {before}; XDG_DATA_HOME=$PWD/disk \"$0\" run --to text {options} -- ./agent > shown; code=$?
         cp -r disk/streamfmt/sessions copy; exit $code"
    );
    shell.args(["/bin/sh", "-c", &script]).arg(env!("CARGO_BIN_EXE_streamfmt"));
    Some(shell.output().unwrap().into())
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_full_disk_lacks_is_known_later() {
    const FLOOD: usize = 3_000_000;
    let interrupted = (json!("interrupted"), json!({"signal": 15}));
    for (end, code, (status, exit)) in [
        ("exit 3", 3, (json!("failed"), json!({"code": 3}))),
        ("exit 0", 74, (json!("done"), json!({"code": 0}))),
        ("kill $$", 143, interrupted),
    ] {
        let flood = format!("head -c {FLOOD} /dev/zero; {end}");
        let folder = agents(&[("agent", &flood)]);
        // The disk is full: no new file fits.
        let Some(told) = on_a_small_disk(&folder, "true", "--label job=7") else { return };
        assert_eq!(told.code, Some(code), "{told:?}");
        assert!(!told.stderr.contains("can't write"), "{}", told.stderr);
        let names = folder.names_in("copy");
        let is_side = |name: &&String| Path::new(name).extension().is_some_and(|it| it == "json");
        let side = folder.read(&format!("copy/{}", names.iter().find(is_side).unwrap()));
        let side: Value = serde_json::from_str(&side).unwrap();
        assert_eq!((&side["status"], &side["exit"], &side["labels"]["job"]), (&status, &exit, &json!("7")));
        let written = usize::try_from(side["log_bytes"].as_u64().unwrap()).unwrap();
        assert!(written > 0 && written < 1 << 20, "{written}");
        assert_eq!(side["gaps"], json!([{"at": written, "bytes": FLOOD - written}]));
        assert_eq!(names.len(), 2, "only the log is beside it: {names:?}");
        assert!(told.kept.is_some() && side["ended"].is_string(), "{told:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn where_nothing_was_kept_no_log_is_named() {
    let folder = agents(&[("agent", "cat session")]);
    let full = "head -c 2000000 /dev/zero > disk/filler 2> filled";
    let Some(told) = on_a_small_disk(&folder, full, "") else { return };
    assert_eq!((told.code, &told.kept), (Some(74), &None), "{told:?}");
    assert!(told.session.is_some(), "{told:?}");
    let folder = agents(&[("agent", "cat session"), ("silent", "true")]);
    let mut limited = Command::new("/bin/sh");
    limited.args(["-c", "ulimit -f 0; exec \"$0\" run -- ./agent 2> /dev/stderr"]);
    limited
        .arg(env!("CARGO_BIN_EXE_streamfmt"))
        .current_dir(folder.path(""))
        .env("HOME", folder.path("home"));
    let told = Outcome::from(limited.output().unwrap());
    assert_eq!((told.code, &told.kept, told.session.is_some()), (Some(74), &None, true), "{told:?}");
    let told = run(&folder, "run -- ./silent");
    assert_eq!((told.code, &told.kept, told.session.is_some()), (Some(0), &None, true), "{told:?}");
}

/// The calls of a run that flush or rename a file: the call's name, and the file's name without the run's id.
#[cfg(target_os = "linux")]
fn flushes(folder: &Folder, options: &str) -> Option<Vec<(String, String)>> {
    let mut traced = Command::new("strace");
    traced.args(["-f", "-y", "-qq", "-s", "4096", "-e", "trace=fsync,fdatasync,rename,renameat,renameat2"]);
    traced.args(["-o", "trace", env!("CARGO_BIN_EXE_streamfmt"), "run"]).args(options.split_whitespace());
    traced.args(["--", "./agent"]).current_dir(folder.path(""));
    traced.env("HOME", folder.path("home")).env("PATH", "/usr/bin:/bin");
    if !traced.output().unwrap().status.success() {
        skip("strace can't trace here");
        return None;
    }
    let id = kept(folder, ".json").file_stem().unwrap().to_string_lossy().into_owned();
    let mut calls = Vec::new();
    for line in
        folder.read("trace").lines().filter(|line| line.contains("/sessions") && !line.contains(".db"))
    {
        let (before, behind) = line.split_once('(').unwrap();
        // A call interrupted by another thread has its name in both of its lines.
        let call = before.rsplit(' ').next().unwrap().replace("fdatasync", "fsync");
        let path = behind.split(['<', '>', '"']).nth(1).unwrap();
        let name = Path::new(path).file_name().unwrap().to_string_lossy().replace(&id, "ID");
        calls.push((call, name));
    }
    Some(calls)
}

#[cfg(target_os = "linux")]
#[test]
fn a_side_file_and_its_name_are_on_disk_when_the_log_is() {
    if !has_program("strace") {
        return;
    }
    for (sync, is_safe_at_start, is_safe_at_end) in
        [("always", true, true), ("second", false, true), ("end", false, true), ("never", false, false)]
    {
        let folder = agents(&[("agent", "cat session")]);
        let Some(calls) = flushes(&folder, &format!("--sync {sync}")) else { return };
        let calls: Vec<(&str, &str)> = calls.iter().map(|(call, name)| (&**call, &**name)).collect();
        let at = |call: (&str, &str)| calls.iter().position(|made| *made == call);
        let (first, last) = (at(("rename", "ID.json.tmp")).unwrap(), at(("rename", "ID.json.end")).unwrap());
        // The content is flushed before the rename, and the folder after it.
        let is_safe = |renamed: usize| {
            let is_flushed = renamed > 0 && calls[renamed - 1] == ("fsync", calls[renamed].1);
            is_flushed && calls[renamed..].contains(&("fsync", "sessions"))
        };
        assert_eq!((is_safe(first), is_safe(last)), (is_safe_at_start, is_safe_at_end), "{sync}: {calls:?}");
        assert_eq!(calls.iter().any(|(call, _)| *call == "fsync"), sync != "never", "{sync}: {calls:?}");
        // The log is flushed at its end, and before that after each piece read: the agent writes everything at once.
        let logged = calls.iter().filter(|made| **made == ("fsync", "ID.ndjson")).count();
        let is_right = match sync {
            "always" => logged >= 2,
            // A slow machine takes more than a second.
            "second" => logged >= 1,
            "end" => logged == 1,
            _ => logged == 0,
        };
        assert!(is_right, "{sync}: {calls:?}");
        // A log elsewhere has its name in another folder.
        let folder = agents(&[("agent", "cat session")]);
        fs::create_dir(folder.path("sessions-elsewhere")).unwrap();
        let options = format!("--sync {sync} --log sessions-elsewhere/log");
        let Some(calls) = flushes(&folder, &options) else { return };
        let is_named = calls.iter().any(|(call, name)| call == "fsync" && name == "sessions-elsewhere");
        assert_eq!(is_named, sync != "never", "{sync}: {calls:?}");
    }
}

/// A user who has no processes yet.
const OTHER: u32 = 54_329;

/// Runs as that user, with this home folder and at most this many processes and threads.
fn as_other(folder: &Folder, home: Option<&Path>, most: u32) -> Command {
    let mut command = Command::new("prlimit");
    command.arg(format!("--nproc={most}")).arg("setpriv");
    command.arg(format!("--reuid={OTHER}")).arg(format!("--regid={OTHER}")).arg("--clear-groups");
    command
        .current_dir(folder.path(""))
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .envs(home.map(|home| ("HOME", home)));
    command
}

/// A folder of that user with agents, if one can be created.
fn others_agents(scripts: &[(&str, &str)]) -> Option<Folder> {
    if !["prlimit", "setpriv"].into_iter().all(has_program) {
        return None;
    }
    let folder = agents(scripts);
    fs::create_dir(folder.path("home")).unwrap();
    let can = std::os::unix::fs::chown(folder.path("home"), Some(OTHER), Some(OTHER)).is_ok()
        && std::os::unix::fs::chown(folder.path(""), Some(OTHER), Some(OTHER)).is_ok();
    let version = as_other(&folder, None, 1000).args([env!("CARGO_BIN_EXE_streamfmt"), "--version"]).output();
    if !can || !version.is_ok_and(|version| version.status.success()) {
        skip("only root can act as another user");
        return None;
    }
    Some(folder)
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_that_the_system_has_no_room_for_leaves_nothing() {
    let Some(folder) = others_agents(&[("agent", ": > ran; echo 1")]) else { return };
    let (mut refused, mut recorded, mut last) = (0, 0, None);
    // Other tests may have processes of that user at the same time.
    for limit in std::iter::successors(Some(1_u32), |limit| Some(limit + 1 + limit / 16)) {
        if recorded == 3 || limit > 100_000 {
            break;
        }
        let mut command = as_other(&folder, Some(&folder.path("home")), limit);
        command.args([env!("CARGO_BIN_EXE_streamfmt"), "run", "--id-file", "id", "--", "./agent"]);
        let told = Outcome::from(command.output().unwrap());
        let names = if folder.path(SESSIONS).exists() { folder.names_in(SESSIONS) } else { Vec::new() };
        if folder.path("ran").exists() {
            recorded += 1;
            assert_eq!((told.code, &*folder.read("id")), (Some(0), &*format!("{}\n", told.session.unwrap())));
            let side = side_file(&folder);
            assert_eq!((&side["status"], names.len()), (&json!("done"), 2), "{limit}: {names:?}");
            fs::remove_file(folder.path("ran")).unwrap();
            fs::remove_file(folder.path("id")).unwrap();
            fs::remove_dir_all(folder.path("home/.local")).unwrap();
        } else {
            refused += 1;
            assert!(told.code != Some(0) && names.is_empty(), "{limit}: {told:?} {names:?}");
            assert!(!folder.path("id").exists() && told.session.is_none(), "{limit}: {told:?}");
            last = Some(told);
        }
    }
    assert!(refused > 0 && recorded > 0, "{refused} {recorded}: {last:?}");
}

#[test]
fn the_id_of_a_session_is_in_its_file_before_the_agent_starts() {
    let folder = agents(&[("agent", "cat id > seen; cat session"), ("bad", "cat session; exit 1")]);
    let told = run(&folder, "run --id-file id -- ./agent");
    let id = told.session.unwrap();
    assert_eq!((folder.read("id"), folder.read("seen")), (format!("{id}\n"), format!("{id}\n")));
    assert!(is_private(&folder.path("id")) && kept(&folder, ".json").ends_with(format!("{id}.json")));
    // An existing file is replaced atomically and keeps its mode.
    fs::set_permissions(folder.path("id"), PermissionsExt::from_mode(0o640)).unwrap();
    fs::hard_link(folder.path("id"), folder.path("old")).unwrap();
    let next = run(&folder, "run --profile quiet --id-file id -- ./agent");
    assert_eq!((next.session, next.kept), (None, None), "quiet reports nothing of a run that went well");
    assert_ne!(folder.read("id"), format!("{id}\n"));
    assert_eq!(folder.read("old"), format!("{id}\n"));
    assert_eq!(fs::metadata(folder.path("id")).unwrap().permissions().mode() & 0o777, 0o640);
    let bad = run(&folder, "run --profile quiet --id-file id -- ./bad");
    assert_eq!(bad.session, Some(folder.read("id").trim_end().to_owned()));
    assert!(bad.kept.is_some());
    let told = run(&folder, "run --id-file /dev/stderr --to json -- ./agent");
    assert!(told.stderr.ends_with(&format!("{}\n", told.session.unwrap())), "{}", told.stderr);
    // No agent ran.
    assert_eq!(run(&folder, "run --id-file id -- ./nothing").code, Some(127));
    assert!(!folder.path("id").exists());
    fs::remove_file(folder.path("seen")).unwrap();
    for options in [
        "--id-file no/id",
        "--id-file home",
        "--id-file x --log x",
        "--id-file x -o ./x",
        "--id-file x --tee x",
        "--id-file run-2.ndjson --log run.ndjson",
    ] {
        let told = run(&folder, &format!("run {options} -- ./agent"));
        assert_eq!((told.code, folder.path("seen").exists()), (Some(2), false), "{options}: {told:?}");
        assert!(told.stderr.starts_with("streamfmt: ") && told.stderr.lines().count() == 1, "{told:?}");
        assert!(!folder.path("x").exists() && !folder.path("run-2.ndjson").exists(), "{options}");
    }
}

#[test]
fn a_data_folder_of_another_user_is_refused_before_the_agent_starts() {
    let Some(folder) = others_agents(&[("agent", "touch ran; cat reply")]) else { return };
    let program = env!("CARGO_BIN_EXE_streamfmt");
    let refusal = |told: Outcome, why: &str| {
        assert_eq!(told.code, Some(2), "{told:?}");
        assert!(told.stderr.contains(why) && told.stderr.contains("XDG_DATA_HOME"), "{}", told.stderr);
        assert!(told.stderr.lines().count() == 1 && !folder.path("ran").exists(), "{}", told.stderr);
    };
    let other = |home: Option<&Path>| -> Outcome {
        let mut command = as_other(&folder, home, 1000);
        command.args([program, "run", "--", "./agent"]).output().unwrap().into()
    };
    // The other user is refused our folders, and their modes don't change, whatever they are.
    for mode in [0o700, 0o755, 0o777, 0o2770] {
        for name in ["streamfmt", "streamfmt/sessions"] {
            let data = folder.path(&format!("shared-{mode:o}/{}/.local/share", name.len()));
            fs::create_dir_all(data.join(name)).unwrap();
            if name != "streamfmt" {
                std::os::unix::fs::chown(data.join("streamfmt"), Some(OTHER), None).unwrap();
            }
            fs::set_permissions(data.join(name), PermissionsExt::from_mode(mode)).unwrap();
            refusal(other(Some(data.parent().unwrap().parent().unwrap())), "belongs to another user (uid 0)");
            let about = fs::metadata(data.join(name)).unwrap();
            assert_eq!(about.permissions().mode() & 0o7777, mode);
            assert_eq!(fs::read_dir(data.join(name)).unwrap().count(), 0, "nothing was written there");
        }
    }
    // A home folder that can't be entered, and one that can't be created.
    fs::create_dir(folder.path("closed")).unwrap();
    fs::set_permissions(folder.path("closed"), PermissionsExt::from_mode(0o700)).unwrap();
    refusal(other(Some(&folder.path("closed"))), "closed belongs to another user (uid 0)");
    refusal(other(Some(Path::new("/nonexistent"))), "/ belongs to another user (uid 0)");
    refusal(other(None), "there is no home folder");
    // Root could write there, but would lock the owner out.
    fs::create_dir_all(folder.path("home/.local/share/streamfmt")).unwrap();
    std::os::unix::fs::chown(folder.path("home/.local/share/streamfmt"), Some(OTHER), None).unwrap();
    refusal(run(&folder, "run -- ./agent"), "streamfmt belongs to another user (uid 54329)");
    // The suggested workaround.
    let mut way_out = as_other(&folder, None, 1000);
    way_out.env("XDG_DATA_HOME", folder.path("home/own"));
    let told: Outcome = way_out.args([program, "run", "--", "./agent"]).output().unwrap().into();
    assert_eq!((told.code, told.kept.is_some()), (Some(0), true), "{told:?}");
    assert!(told.kept.unwrap().contains("/home/own/streamfmt/sessions/"));
}

#[test]
fn a_folder_of_ours_that_others_could_use_is_closed_with_a_line() {
    for (name, mode) in [("", 0o2770), ("/sessions", 0o755), ("/sessions", 0o777)] {
        let folder = agents(&[("agent", "cat session")]);
        let data = folder.path("home/.local/share/streamfmt");
        fs::create_dir_all(data.join("sessions")).unwrap();
        let wide = folder.path(&format!("home/.local/share/streamfmt{name}"));
        for path in [data.join("sessions"), data] {
            fs::set_permissions(path, PermissionsExt::from_mode(0o700)).unwrap();
        }
        let open = || fs::set_permissions(&wide, PermissionsExt::from_mode(mode)).unwrap();
        let line =
            format!("streamfmt: {} had mode {mode:o}; now it has 700, for you alone\n", wide.display());
        for arguments in ["run --to text -- ./agent", "sessions list"] {
            open();
            let told = command(&folder, arguments).output().unwrap();
            let told = Outcome::from(told);
            // Only a run reports a folder that others could read but not write.
            let is_reported = arguments != "sessions list" || mode != 0o755;
            let expected = if is_reported { &*line } else { "" };
            assert_eq!((told.code, &*told.stderr), (Some(0), expected), "{arguments}");
            assert_eq!(fs::metadata(&wide).unwrap().permissions().mode() & 0o7777, 0o700);
            assert_eq!(run(&folder, arguments).stderr, "", "it is reported once");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_missing_by_now_is_known_of_a_run_that_is_killed_later() {
    use crate::program::{Running, Signal};
    let folder = agents(&[(
        "agent",
        "cat session; until [ -s run.ndjson ]; do sleep 0.01; done; : > run.ndjson; cat reply; touch cut; exec sleep 1000",
    )]);
    let running = Running::of(&folder, command(&folder, "run --to text --log run.ndjson -- ./agent"));
    running.until_reported("another program cut the log");
    let gaps = json!([{"at": 0, "bytes": SESSION.len()}]);
    crate::program::until(|| format!("{}", side_file(&folder)), || side_file(&folder)["gaps"] == gaps);
    let end = kept(&folder, ".json.end");
    assert!(end.exists());
    running.end(Signal::KILL);
    let listed = run(&folder, "sessions list --json");
    assert!(listed.stdout.contains(r#""status":"interrupted""#), "{}", listed.stdout);
    assert!(!end.exists(), "what it left is gone");
    assert_eq!((&side_file(&folder)["gaps"], folder.read("run.ndjson")), (&gaps, reply(7)));
}
