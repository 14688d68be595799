//! `run`: the agent's arguments and input, how it may end or be stopped, and what is kept then.

use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::agent::{kill, scripted, until_all_gone};
use crate::program::{Folder, Outcome, Running, SESSION, Signal, has_program, reply, skip, until};
use crate::run::{SESSIONS, agents, command, kept, kept_status, run, side_file};
use crate::tty::Terminal;

#[test]
fn the_agent_has_pipes_a_size_a_group_and_a_side_file_from_its_start() {
    let script = format!(
        "test -t 0 || test -t 1 || test -t 2 || echo \"$COLUMNS $LINES\" > size\n\
         group_of() {{ cut -d ' ' -f 5 /proc/$1/stat 2>/dev/null || ps -o pgid= -p $1; }}\n\
         group_of $$ > group; group_of $PPID > parent\n\
         cp {SESSIONS}/*.json before; cat session"
    );
    let folder = agents(&[("agent", &script)]);
    run(&folder, "run -- ./agent").expect(0, "");
    assert_eq!(folder.read("size"), "80 24\n");
    let (group, parent) = (folder.read("group"), folder.read("parent"));
    assert!(
        group != parent && !group.trim().is_empty() && !parent.trim().is_empty(),
        "{group:?}, {parent:?}"
    );
    let before: serde_json::Value = serde_json::from_str(&folder.read("before")).unwrap();
    assert_eq!((&before["status"], &before["command"]), (&json!("running"), &json!(["./agent"])));
    assert_eq!(before["id"], side_file(&folder)["id"]);
}

#[test]
fn a_side_file_is_written_before_the_agent_is_started() {
    let folder = agents(&[]);
    folder.write("agent", "no program");
    fs::create_dir_all(folder.path(SESSIONS)).unwrap();
    let sessions = File::open(folder.path(SESSIONS)).unwrap();
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
    sessions.set_modified(long_ago).unwrap();
    assert_eq!(run(&folder, "run --log run.ndjson -- ./agent").code, Some(126));
    assert_eq!(folder.names_in(SESSIONS), [""; 0], "nothing was run");
    assert_ne!(sessions.metadata().unwrap().modified().unwrap(), long_ago, "there was a file in between");
}

#[test]
fn a_pipe_and_a_file_are_passed_and_a_terminal_is_not() {
    let folder = agents(&[
        ("agent", "cat > read; cat session"),
        ("claude", "echo \"$@\" > given; cat > read; cat session"),
        ("codex", "cat > read"),
    ]);
    let mut running = Running::of(&folder, command(&folder, "run -- ./agent"));
    running.feed("from a pipe");
    assert_eq!(running.finish().code, Some(0));
    assert_eq!(folder.read("read"), "from a pipe");
    let mut codex = command(&folder, "run -- ./codex exec fix");
    codex.stdin(File::open(folder.path("reply")).unwrap());
    let told = Outcome::from(codex.output().unwrap());
    assert_eq!((told.code, folder.read("read")), (Some(0), reply(7)));
    let home = folder.path("home");
    let variables = [("HOME", home.to_str().unwrap()), ("PATH", "/usr/bin:/bin"), ("TERM", "xterm")];
    let mut terminal = Terminal::start(&folder, "run -- ./claude -p fix", &variables, "typed\n");
    terminal.until_end();
    assert_eq!(folder.read("read"), "");
    // The live display requests partial messages.
    assert_eq!(
        folder.read("given"),
        "--output-format stream-json --verbose --include-partial-messages -p fix\n"
    );
}

#[test]
fn sub_agents_messages_are_asked_for_where_the_version_can() {
    let folder = agents(&[("2.1.330/claude", "cat session"), ("2.1.210/claude", "cat session")]);
    run(&folder, "run -- ./2.1.330/claude -p fix")
        .expect(0, "streamfmt: added --output-format stream-json --verbose --forward-subagent-text\n");
    run(&folder, "run -- ./2.1.210/claude -p fix")
        .expect(0, "streamfmt: added --output-format stream-json --verbose\n");
}

#[test]
fn bytes_are_in_the_log_before_their_line_is_whole() {
    let folder = scripted(&[("agent", "begin session 100\nuntil go\nwrite rest")]);
    folder.write("rest", &SESSION[100..]);
    let running = Running::of(&folder, command(&folder, "run --to text --log run.ndjson -- ./agent"));
    folder.until_written("run.ndjson", &SESSION[..100]);
    assert_eq!(folder.read("run.ndjson"), SESSION[..100]);
    assert_eq!(running.shown(), "");
    folder.write("go", "");
    assert_eq!(running.finish().code, Some(0));
    assert_eq!(folder.read("run.ndjson"), SESSION);
}

#[test]
fn what_was_read_is_kept_when_streamfmt_and_the_agent_are_killed_at_once() {
    let folder = scripted(&[("agent", "write session\nhang")]);
    let mut running = Running::of(&folder, command(&folder, "run --to text -- ./agent"));
    running.until_shown("Second reply.");
    running.send(Signal::KILL);
    kill(&folder, "agent.pid");
    assert_eq!(running.finish().code, None);
    until_all_gone(&folder);
    assert_eq!(fs::read_to_string(kept(&folder, ".ndjson")).unwrap(), SESSION);
    assert_eq!(side_file(&folder)["status"], "running");
}

#[test]
fn a_flood_waits_for_nobody_who_shows_it() {
    let flood: String = (0..20_000).map(reply).collect();
    let folder = scripted(&[("agent", "write flood\nwrite reply\nmark ended")]);
    folder.write("flood", &flood);
    let child = command(&folder, "run --to text -- ./agent").spawn().unwrap();
    // By now, nobody reads the output.
    until(|| "the agent's end".to_owned(), || folder.names().contains(&"ended".to_owned()));
    let told = Outcome::from(child.wait_with_output().unwrap()).expect(0, "");
    assert_eq!(told.stdout.matches("reply number ").count(), 20_000);
    assert_eq!(fs::read_to_string(kept(&folder, ".ndjson")).unwrap(), format!("{flood}{}", reply(7)));
}

#[test]
fn an_agent_that_ignores_interrupts_is_killed_after_the_time_that_was_set() {
    for signal in [Signal::INT, Signal::TERM] {
        let folder = scripted(&[("agent", "catch INT TERM\nwrite session\nhang")]);
        let arguments = "run --to text --kill-after 0.1 -- ./agent";
        let mut running = Running::of(&folder, command(&folder, arguments));
        running.until_shown("Second reply.");
        assert_eq!(running.end(signal).code, Some(128 + signal.as_raw()));
        until_all_gone(&folder);
        assert_eq!(side_file(&folder)["exit"], json!({"signal": 9}));
    }
}

#[test]
fn a_terminal_that_is_closed_never_stops_a_run_that_is_to_outlive_it() {
    let folder = scripted(&[("agent", "mark started\nuntil go\nwrite session\nwrite reply")]);
    let (pty, pts) = pty_process::blocking::open().unwrap();
    let mut child = pty_process::blocking::Command::new("/bin/sh")
        .args(["-c", "trap '' HUP; exec \"$0\" run -- ./agent", env!("CARGO_BIN_EXE_streamfmt")])
        .current_dir(folder.path(""))
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", folder.path("home"))
        .spawn(pts)
        .unwrap();
    until(|| "the start".to_owned(), || folder.names().contains(&"started".to_owned()));
    drop(pty);
    folder.write("go", "");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let log = fs::read_to_string(kept(&folder, ".ndjson")).unwrap();
    assert_eq!(log, format!("{SESSION}{}", reply(7)));
}

#[test]
fn the_log_is_the_same_whenever_it_is_flushed() {
    let folder = agents(&[("agent", "cat session; cat reply")]);
    for when in ["always", "second", "end", "never"] {
        run(&folder, &format!("run --sync {when} --log {when}.ndjson -- ./agent")).expect(0, "");
        assert_eq!(folder.read(&format!("{when}.ndjson")), format!("{SESSION}{}", reply(7)));
    }
}

#[test]
fn two_runs_at_once_keep_what_is_theirs() {
    let folder = agents(&[("agent", "cat session; read line"), ("other", "cat session; read line")]);
    let mut runs = ["./agent", "./other"]
        .map(|agent| Running::of(&folder, command(&folder, &format!("run --to text -- {agent}"))));
    for run in &mut runs {
        run.until_shown("Second reply.");
    }
    assert_eq!(kept_status(&folder), ["running", "running"]);
    let [first, second] = runs;
    // The end of one doesn't affect the other.
    assert_eq!(first.end(Signal::TERM).code, Some(143));
    assert_eq!(kept_status(&folder).iter().filter(|status| **status == "running").count(), 1);
    assert_eq!(second.finish().code, Some(1), "read found the end");
    let logs = folder.names_in(SESSIONS).into_iter().filter(|name| name.ends_with(".ndjson"));
    let logs: Vec<String> = logs.map(|name| folder.read(&format!("{SESSIONS}/{name}"))).collect();
    assert_eq!(logs, [SESSION, SESSION]);
}

/// Runs an agent with its log on a full disk of 64 KiB, if a disk can be mounted here, and runs `meanwhile`. Returns the log as well.
#[cfg(target_os = "linux")]
fn on_a_full_disk(folder: &Folder, meanwhile: impl FnOnce(&Running<'_>)) -> Option<(Outcome, String)> {
    if !has_program("unshare") {
        return None;
    }
    // Where user namespaces are forbidden, root may still mount.
    let ways: [&[&str]; 2] = [&["--user", "--map-root-user", "--mount"], &["--mount"]];
    let unshare = |way: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(way).args(["/bin/sh", "-c"]).current_dir(folder.path(""));
        command.env("HOME", folder.path("home")).stdin(Stdio::null());
        command
    };
    fs::create_dir(folder.path("disk")).unwrap();
    let mount = "mount -t tmpfs -o size=64k none disk";
    let can_mount =
        |way: &&&[&str]| unshare(way).arg(mount).output().is_ok_and(|output| output.status.success());
    let Some(way) = ways.iter().find(can_mount) else {
        skip("no disk can be mounted here (unshare --mount, tmpfs)");
        return None;
    };
    let script = format!(
        "{mount}; head -c 1000000 /dev/zero > disk/filler 2> filled\n\
         \"$0\" run --to text --log disk/run.ndjson -- ./agent; code=$?; cp disk/run.ndjson copy; exit $code"
    );
    let mut command = unshare(way);
    command.arg(script).arg(env!("CARGO_BIN_EXE_streamfmt"));
    let running = Running::of_silent(folder, command);
    meanwhile(&running);
    let told = running.wait();
    Some((told, folder.read("copy")))
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_full_disk_the_display_is_whole_and_the_gap_is_noted() {
    let folder = agents(&[("agent", "cat session; cat reply")]);
    let Some((told, log)) = on_a_full_disk(&folder, |_| {}) else { return };
    assert_eq!(told.code, Some(74), "{told:?}");
    assert!(told.stdout.contains("First reply.") && told.stdout.contains("reply number 7."), "{told:?}");
    assert_eq!(told.stderr.matches("LOG NOT WRITTEN").count(), 1, "{}", told.stderr);
    let missing = SESSION.len() + reply(7).len();
    assert_eq!((log.as_str(), &side_file(&folder)["gaps"]), ("", &json!([{"at": 0, "bytes": missing}])));
}

#[cfg(target_os = "linux")]
#[test]
fn once_there_is_room_on_the_disk_the_log_is_whole() {
    let wait = "until test -e go || ! test -e agent; do sleep 0.01; done";
    let folder = agents(&[("agent", &format!("cat session; {wait}; rm disk/filler; cat reply"))]);
    let make_room = |running: &Running<'_>| {
        running.until_reported("LOG NOT WRITTEN");
        folder.write("go", "");
    };
    let Some((told, log)) = on_a_full_disk(&folder, make_room) else { return };
    assert_eq!(told.code, Some(0), "{told:?}");
    assert_eq!(told.stderr.matches("LOG NOT WRITTEN").count(), 1, "{}", told.stderr);
    assert_eq!(log, format!("{SESSION}{}", reply(7)));
    assert_eq!(side_file(&folder)["gaps"], serde_json::Value::Null);
}
