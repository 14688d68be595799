//! `run`: the agent is a script, with every shape that an agent may have.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::agent::{is_running, kill, scripted, until_all_gone, until_gone};
use crate::program::{Folder, Outcome, Running, SESSION, Signal, is_private, reply, until};

/// The folder of a home folder's runs.
pub(crate) const SESSIONS: &str = "home/.local/share/streamfmt/sessions";

/// A folder with agents: scripts, each with the session beside it.
pub(crate) fn agents(scripts: &[(&str, &str)]) -> Folder {
    let folder = Folder::for_programs();
    folder.write("session", SESSION);
    folder.write("reply", reply(7));
    for (name, script) in scripts {
        folder.write_program(name, &format!("#!/bin/sh\n{script}\n"));
    }
    folder
}

pub(crate) fn command(folder: &Folder, arguments: &str) -> Command {
    let mut command = folder.command(arguments);
    command.env("PATH", "/usr/bin:/bin");
    command
}

/// The report about a known agent that wrote no known line.
pub(crate) const NO_RESULT: &str = "streamfmt: the agent ended without a result\n";

pub(crate) fn run(folder: &Folder, arguments: &str) -> Outcome {
    command(folder, arguments).output().unwrap().into()
}

/// The only run's file with this ending.
pub(crate) fn kept(folder: &Folder, ending: &str) -> PathBuf {
    let names = folder.names_in(SESSIONS);
    let found: Vec<&String> = names.iter().filter(|name| name.ends_with(ending)).collect();
    assert_eq!(found.len(), 1, "{names:?}");
    folder.path(SESSIONS).join(found[0])
}

pub(crate) fn side_file(folder: &Folder) -> Value {
    serde_json::from_slice(&fs::read(kept(folder, ".json")).unwrap()).unwrap()
}

#[test]
fn every_byte_is_kept_and_what_it_means_is_shown() {
    let folder = agents(&[(
        "agent",
        "cat session\nprintf 'garbage \\377\\001\\nunfinished'\nprintf 'a \\033[2Jwarning' >&2",
    )]);
    let told = run(&folder, "run --to text -- ./agent");
    assert_eq!(told.code, Some(0));
    assert!(told.stdout.contains("First reply.") && told.stdout.contains("unfinished"), "{}", told.stdout);
    assert_eq!(told.stderr, "  a ␛[2Jwarning\n");
    let (log, errors) = (kept(&folder, ".ndjson"), kept(&folder, ".stderr"));
    let expected = [SESSION.as_bytes(), b"garbage \xff\x01\nunfinished"].concat();
    assert_eq!(fs::read(&log).unwrap(), expected);
    assert_eq!(fs::read(&errors).unwrap(), b"a \x1b[2Jwarning");
    let side = side_file(&folder);
    assert_eq!(side["status"], "done");
    assert_eq!(side["agent_session"], "s-1");
    assert_eq!(side["exit"]["code"], 0);
    assert_eq!(side["log_bytes"], expected.len());
    assert_eq!(side["command"], serde_json::json!(["./agent"]));
    assert_eq!(side["log"], log.to_str().unwrap());
    for file in [log, errors, kept(&folder, ".json")] {
        assert!(is_private(&file), "{}", file.display());
    }
    let mode = fs::metadata(folder.path(SESSIONS)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn a_session_that_the_agent_could_not_save_fails_but_its_log_is_whole() {
    let lost = r#"{"type":"system","subtype":"session_writes_lost","error_code":"ENOSPC","lost":["transcript"],"session_id":"s-1"}"#;
    let folder = agents(&[("agent", &format!("cat session\necho '{lost}'"))]);
    let told = run(&folder, "run --fail --to text -- ./agent");
    assert!(told.stdout.ends_with("the disk was full (ENOSPC)\n"), "{}", told.stdout);
    let sentence =
        "streamfmt: the agent could not save all of its session, but the log of this run is whole\n";
    assert_eq!((told.code, &*told.stderr), (Some(1), sentence));
    assert_eq!(side_file(&folder)["status"], "done");
}

#[cfg(target_os = "linux")]
#[test]
fn the_exit_code_is_known_even_if_whoever_starts_the_program_ignores_ended_children() {
    let folder = agents(&[("agent", "exit 3")]);
    let mut starter = Command::new("env");
    starter.args(["--ignore-signal=CHLD", env!("CARGO_BIN_EXE_streamfmt"), "run", "--", "./agent"]);
    starter
        .current_dir(folder.path(""))
        .env_clear()
        .env("HOME", folder.path("home"))
        .env("PATH", "/usr/bin:/bin");
    let ended = Outcome::from(starter.output().unwrap());
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert_eq!(side_file(&folder)["exit"]["code"], 3);
    assert_eq!(side_file(&folder)["status"], "failed");
}

#[test]
fn an_agent_gets_the_flags_that_it_lacks() {
    let folder = agents(&[
        ("claude", "echo \"$@\" > given; cat session"),
        ("codex", "echo \"$@\" > given; cat > read"),
    ]);
    let told = run(&folder, "run -- ./claude -p fix");
    assert_eq!(
        (told.code, told.stderr.as_str()),
        (Some(0), "streamfmt: added --output-format stream-json --verbose\n")
    );
    assert_eq!(folder.read("given"), "--output-format stream-json --verbose -p fix\n");
    // The agent would wait for ever for an open and silent pipe.
    let codex = Running::of(&folder, command(&folder, "run -- ./codex exec fix"));
    codex.until_reported("streamfmt: added --json\n");
    codex.until_written("given", "exec --json fix\n");
    until(|| "the end".to_owned(), || !kept_status(&folder).contains(&"running".into()));
    let told = run(&folder, "run --agent claude -- sh -c true -p fix");
    assert_eq!(told.stderr, format!("streamfmt: added --output-format stream-json --verbose\n{NO_RESULT}"));
}

/// The status of each run in a folder.
pub(crate) fn kept_status(folder: &Folder) -> Vec<Value> {
    let paths = folder.names_in(SESSIONS).into_iter().map(|name| folder.path(SESSIONS).join(name));
    let files = paths.filter(|path| path.extension().is_some_and(|it| it == "json"));
    let contents = files.map(|path| serde_json::from_slice::<Value>(&fs::read(path).unwrap()).unwrap());
    contents.map(|content| content["status"].clone()).collect()
}

#[test]
fn what_can_t_be_recorded_is_refused_with_what_can() {
    let folder = agents(&[("claude", "touch started")]);
    for (arguments, working) in [
        ("./claude fix", "run -- ./claude -p fix"),
        ("./claude -p --output-format json fix", "run -- ./claude -p --output-format stream-json fix"),
    ] {
        let told = run(&folder, &format!("run -- {arguments}"));
        assert_eq!(told.code, Some(2));
        assert!(
            told.stderr.contains(working)
                && told.stderr.contains("(for interactive sessions: streamfmt --follow)"),
            "{}",
            told.stderr
        );
    }
    assert_eq!(folder.names(), ["claude", "reply", "session"]);
}

#[test]
fn the_agent_s_exit_code_is_passed_on() {
    let folder = agents(&[("agent", "exit 7"), ("killed", "kill -9 $$")]);
    folder.write("plain", "no program");
    assert_eq!(run(&folder, "run -- ./agent").code, Some(7));
    assert_eq!(run(&folder, "run -- ./killed").code, Some(137));
    assert_eq!(run(&folder, "run -- ./plain").code, Some(126));
    let before = folder.names_in(SESSIONS);
    run(&folder, "run -- ./nothing")
        .expect(127, "streamfmt: can't run ./nothing: no such file or directory\n");
    assert_eq!(folder.names_in(SESSIONS), before, "nothing was run");
    let mut status: Vec<String> = kept_status(&folder).iter().map(ToString::to_string).collect();
    status.sort();
    assert_eq!(status, ["\"failed\"", "\"interrupted\""]);
}

#[test]
fn the_first_interrupt_asks_and_the_second_kills() {
    let folder = scripted(&[("agent", "catch INT\nwrite session\nuntil-signal\nwrite reply\nhang")]);
    let mut running = Running::of(&folder, command(&folder, "run --to text -- ./agent"));
    running.until_shown("Second reply.");
    running.send(Signal::INT);
    running.until_shown("reply number 7.");
    assert_eq!(running.end(Signal::INT).code, Some(130));
    until_all_gone(&folder);
    assert_eq!(side_file(&folder)["status"], "interrupted");
    assert_eq!(side_file(&folder)["exit"]["signal"], 9);
    assert_eq!(fs::read_to_string(kept(&folder, ".ndjson")).unwrap(), format!("{SESSION}{}", reply(7)));
}

#[test]
fn term_and_hangup_are_passed_on_and_the_log_is_completed() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129)] {
        let folder = scripted(&[
            ("agent", "catch TERM HUP\nstart helper aside\nwrite session\nuntil-signal\nwrite reply\nexit 0"),
            ("helper", "catch TERM HUP\nhang"),
        ]);
        let mut running = Running::of(&folder, command(&folder, "run --to text -- ./agent"));
        running.until_shown("Second reply.");
        assert_eq!(running.end(signal).code, Some(code));
        assert_eq!(fs::read_to_string(kept(&folder, ".ndjson")).unwrap(), format!("{SESSION}{}", reply(7)));
        until_all_gone(&folder);
    }
}

#[test]
fn a_silent_agent_ends_soon_after_streamfmt_was_killed_whatever_it_ignores() {
    let folder = scripted(&[
        ("agent", "catch TERM HUP INT\nstart child aside\nuntil grandchild.pid\nwrite session\nhang"),
        ("child", "catch TERM HUP INT\nstart grandchild aside\nhang"),
        ("grandchild", "catch TERM HUP INT\nhang"),
    ]);
    let mut running = Running::of(&folder, command(&folder, "run --to text -- ./agent"));
    running.until_shown("Second reply.");
    let begun = Instant::now();
    assert_eq!(running.end(Signal::KILL).code, None);
    until_all_gone(&folder);
    // Five seconds on an idle machine.
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    assert_eq!(fs::read_to_string(kept(&folder, ".ndjson")).unwrap(), SESSION);
    assert_eq!(side_file(&folder)["status"], "running", "its recorder is gone: whoever reads it sees that");
}

#[test]
fn no_line_that_was_shown_is_lost_however_often_streamfmt_is_killed() {
    let lines: String = (0..5000).map(reply).collect();
    let folder = scripted(&[("agent", "write lines\nhang")]);
    folder.write("lines", &lines);
    let kills = std::env::var("STREAMFMT_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(20);
    for round in 0..kills {
        let log = format!("{round}.ndjson");
        let arguments = format!("run --to items --log {log} -- ./agent");
        let mut running = Running::of(&folder, command(&folder, &arguments));
        // At a different line each time, since none is special.
        running.until_shown(&format!("reply number {}.", round % 20 * 200));
        let shown = running.end(Signal::KILL).stdout;
        until_all_gone(&folder);
        let log = folder.read(&log);
        assert!(lines.starts_with(&log), "the log is the beginning of what was written");
        let whole = log.matches('\n').count();
        let shown = shown.matches("reply number ").count();
        assert!(shown <= whole && shown > 0, "{shown} of {whole}");
        fs::remove_dir_all(folder.path("home")).unwrap();
        fs::remove_file(folder.path(&format!("{round}.ndjson"))).unwrap();
    }
}

#[test]
fn a_display_that_ends_never_stops_the_run() {
    let folder = scripted(&[("agent", "write session\ntrickle reply 9 0.02\nmark ended")]);
    let mut child =
        command(&folder, "run -- ./agent").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let told = Outcome::from(child.wait_with_output().unwrap()).expect(0, "");
    assert_eq!(told.stdout, "");
    assert_eq!(folder.read("ended"), "");
    assert_eq!(
        fs::read_to_string(kept(&folder, ".ndjson")).unwrap(),
        format!("{SESSION}{}", reply(7).repeat(9))
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_log_that_can_t_be_written_is_told_and_the_rest_goes_on() {
    let folder = agents(&[("agent", "cat session; sleep 0.05; cat reply")]);
    let told = run(&folder, "run --to text --log /dev/full -- ./agent");
    assert_eq!(told.code, Some(74));
    assert!(
        told.stdout.contains("First reply.") && told.stdout.contains("reply number 7."),
        "{}",
        told.stdout
    );
    let missing = SESSION.len() + reply(7).len();
    assert_eq!(
        told.stderr,
        format!(
            "streamfmt: LOG NOT WRITTEN: /dev/full: no space left on device (the run continues; it is tried again every second)\n\
             streamfmt: {missing} bytes of the agent's output are missing in /dev/full\n"
        )
    );
    assert_eq!(side_file(&folder)["gaps"], serde_json::json!([{"at": 0, "bytes": missing}]));
    let limited = "trap '' XFSZ; ulimit -f 1; exec \"$0\" run --to text --log run.ndjson -- ./agent";
    let large = agents(&[("agent", "for number in 1 2 3 4 5 6 7 8 9; do cat session; done")]);
    let mut shell = command(&large, "");
    let program = shell.get_program().to_owned();
    shell = Command::new("sh");
    shell.arg("-c").arg(limited).arg(program).current_dir(large.path("")).env("HOME", large.path("home"));
    let told = Outcome::from(shell.output().unwrap());
    assert_eq!(told.code, Some(74), "{told:?}");
    let log = large.read("run.ndjson");
    assert!(SESSION.repeat(9).starts_with(&log) && !log.is_empty() && log.len() <= 1024, "{}", log.len());
}

#[test]
fn what_the_agent_leaves_running_is_named_and_ended_if_wanted() {
    let folder = agents(&[("agent", "sleep 1000 & echo $! > helper; cat session")]);
    let told = run(&folder, "run --to text -- ./agent");
    let helper = folder.read("helper").trim().to_owned();
    let message =
        format!("streamfmt: the agent left processes running: sleep ({helper}) (--end-helpers ends them)\n");
    assert_eq!((told.code, told.stderr), (Some(0), message));
    assert!(is_running(&folder, "helper"), "it was left alone");
    kill(&folder, "helper");
    run(&folder, "run --end-helpers -- ./agent").expect(0, "");
    until_gone(&folder, "helper");
}

#[test]
fn two_runs_with_one_log_don_t_disturb_each_other() {
    let folder = agents(&[("agent", "cat session; read line"), ("other", "cat reply")]);
    let mut first = Running::of(&folder, command(&folder, "run --to text --log run.ndjson -- ./agent"));
    first.until_shown("Second reply.");
    run(&folder, "run --log run.ndjson -- ./other")
        .expect(0, "streamfmt: another run is writing to that log; using run-2.ndjson instead\n");
    first.feed("go on\n");
    assert_eq!(first.finish().code, Some(0));
    assert_eq!((folder.read("run.ndjson"), folder.read("run-2.ndjson")), (SESSION.to_owned(), reply(7)));
}

#[test]
fn what_is_masked_is_masked_only_where_it_is_shown() {
    let folder = agents(&[("agent", "sed 's/First reply/mail to dev@example.org/' session")]);
    let told = run(&folder, "run --to text --redact --log run.ndjson -- ./agent");
    assert!(!told.stdout.contains("dev@example.org"), "{}", told.stdout);
    assert!(folder.read("run.ndjson").contains("dev@example.org"));
    assert!(told.stderr.contains("--redact doesn't apply to the log: "), "{}", told.stderr);
}
