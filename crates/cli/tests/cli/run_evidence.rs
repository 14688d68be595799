//! `run`: the kept records are true, whatever happens to the files, the display and the agent.

use std::fs::{self, File, OpenOptions};
use std::process::Command;

use serde_json::{Value, json};

use crate::agent::{scripted, until_all_gone, until_gone};
use crate::program::{Folder, Outcome, Running, SESSION, Signal, reply, until};
use crate::run::{NO_RESULT, agents, command, kept, run, side_file};
use crate::tty::Terminal;

#[test]
fn a_log_that_the_agent_removes_is_written_anew() {
    for (log, removal) in [
        ("--log run.ndjson", "rm run.ndjson"),
        ("--log logs/run.ndjson", "rm -r logs"),
        ("", "rm -f home/.local/share/streamfmt/sessions/*"),
        ("--log run.ndjson", "mv run.ndjson moved"),
    ] {
        for rest in ["cat reply; cat session", "true"] {
            let folder = agents(&[("agent", "")]);
            fs::create_dir(folder.path("logs")).unwrap();
            let name = log.strip_prefix("--log ").unwrap_or("home/.local/share/streamfmt/sessions/*.ndjson");
            let logged = format!("until [ -s {name} ]; do sleep 0.01; done");
            folder.write("agent", format!("#!/bin/sh\ncat session; {logged}; {removal}; {rest}\n"));
            let told = run(&folder, &format!("run --to text {log} -- ./agent"));
            assert_eq!(told.code, Some(0), "{log} {removal} {rest}: {told:?}");
            assert_eq!(told.stderr.lines().count(), 1, "{told:?}");
            assert!(told.stderr.contains("the log was removed while it was written: "), "{told:?}");
            let side = side_file(&folder);
            let written =
                if rest == "true" { SESSION.to_owned() } else { format!("{SESSION}{}{SESSION}", reply(7)) };
            let log = folder.path("").join(side["log"].as_str().unwrap());
            assert_eq!(fs::read_to_string(log).unwrap(), written);
            assert_eq!((&side["status"], &side["log_bytes"]), (&json!("done"), &json!(written.len())));
        }
    }
}

#[test]
fn a_log_that_the_agent_cuts_has_a_gap() {
    for rest in ["cat reply; cat session", "true"] {
        let logged = "until [ -s run.ndjson ]; do sleep 0.01; done";
        let folder = agents(&[("agent", &format!("cat session; {logged}; : > run.ndjson; {rest}"))]);
        let told = run(&folder, "run --to text --log run.ndjson -- ./agent");
        assert_eq!(told.code, Some(74), "{told:?}");
        assert!(told.stderr.starts_with("streamfmt: run.ndjson: another program cut the log; "), "{told:?}");
        let written = if rest == "true" { String::new() } else { format!("{}{SESSION}", reply(7)) };
        assert_eq!(folder.read("run.ndjson"), written);
        let side = side_file(&folder);
        assert_eq!(side["gaps"], json!([{"at": 0, "bytes": SESSION.len()}]));
        assert_eq!(side["log_bytes"], written.len());
    }
}

#[test]
fn a_known_agent_without_a_result_has_failed() {
    for (name, arguments, script) in [
        ("claude", "-p x", "true"),
        ("claude", "-p x", "echo 'Error: not logged in'"),
        ("claude", "-p x", "head -2 session"),
        ("codex", "exec x", "true"),
        // Its stream identifies it.
        ("agent", "", "head -2 session"),
    ] {
        for (options, code) in [("", 0), ("--fail", 1), ("--profile ci --fail", 1)] {
            let folder = agents(&[(name, script)]);
            let told = run(&folder, &format!("run {options} -- ./{name} {arguments}"));
            assert_eq!(told.code, Some(code), "{name} {script} {options}: {told:?}");
            let shown = format!("{}{}", told.stdout, told.stderr);
            assert_eq!(shown.matches("without a result").count(), 1, "{told:?}");
            assert_eq!(told.stderr.contains(NO_RESULT), !script.starts_with("head"), "{told:?}");
            assert_eq!(side_file(&folder)["status"], "failed", "{name} {script}");
        }
    }
    let folder = agents(&[("agent", "echo Done.")]);
    assert_eq!(
        run(&folder, "run --fail -- ./agent").code,
        Some(0),
        "only the code of another program counts"
    );
    assert_eq!(side_file(&folder)["status"], "done");
}

#[test]
fn the_verdict_waits_for_no_display() {
    let flood: String = (0..3000).map(reply).collect();
    let folder = scripted(&[("agent", "write flood\nwrite session")]);
    folder.write("flood", &flood);
    let child = command(&folder, "run --to text --log run.ndjson -- ./agent").spawn().unwrap();
    let mut seen: Vec<Value> = Vec::new();
    let status = || {
        let folder = fs::read_dir(folder.path("home/.local/share/streamfmt/sessions")).into_iter().flatten();
        let mut names = folder.flatten().map(|entry| entry.path());
        let name = names.find(|path| path.extension().is_some_and(|it| it == "json"))?;
        Some(serde_json::from_slice::<Value>(&fs::read(name).ok()?).unwrap()["status"].clone())
    };
    // By now, nobody reads the output.
    let is_over = || {
        let Some(status) = status() else { return false };
        if seen.last() != Some(&status) {
            seen.push(status);
        }
        seen.last().is_some_and(|status| status != "running")
    };
    until(|| "the end of the run".to_owned(), is_over);
    assert_eq!(seen, ["running", "done"], "a good run never looks like another");
    let told = Outcome::from(child.wait_with_output().unwrap()).expect(0, "");
    assert_eq!(told.stdout.matches("reply number ").count(), 3000);
    assert_eq!(side_file(&folder)["status"], "done");
}

#[test]
fn what_a_late_display_holds_back_is_shown_even_if_it_can_t_be_read_again() {
    let flood: String = (0..20_000).map(reply).collect();
    // A helper keeps writing after the agent's end, and blocks once enough is in memory.
    let folder = scripted(&[
        ("agent", "start helper\nexit 0"),
        ("helper", "until-orphaned\nwrite flood\nwrite session\nmark ended"),
    ]);
    folder.write("flood", &flood);
    let child = command(&folder, "run --to text --log /dev/null -- ./agent").spawn().unwrap();
    until_gone_once_started(&folder, "agent.pid");
    let told = Outcome::from(child.wait_with_output().unwrap());
    assert_eq!((told.code, folder.names().contains(&"ended".to_owned())), (Some(0), true), "{}", told.stderr);
    assert_eq!(told.stdout.matches("reply number ").count(), 20_000);
    assert!(told.stdout.contains("Second reply.") && told.kept.is_none(), "{:?}", told.kept);
}

fn until_gone_once_started(folder: &Folder, file: &str) {
    until(|| file.to_owned(), || folder.names().contains(&file.to_owned()));
    until_gone(folder, file);
}

#[test]
fn a_quit_is_forwarded_and_the_second_kills() {
    let folder = scripted(&[("agent", "catch QUIT\nwrite session\nuntil-signal\nwrite reply\nhang")]);
    let mut running = Running::of(&folder, command(&folder, "run --to text -- ./agent"));
    running.until_shown("Second reply.");
    running.send(Signal::QUIT);
    running.until_shown("reply number 7.");
    assert_eq!(running.end(Signal::QUIT).code, Some(131));
    until_all_gone(&folder);
    let side = side_file(&folder);
    assert_eq!((&side["status"], &side["exit"]), (&json!("interrupted"), &json!({"signal": 9})));
}

#[test]
fn a_quit_on_a_terminal_is_the_agent_s_end_and_not_only_that_of_the_display() {
    let folder = scripted(&[("agent", "write session\nhang")]);
    let home = folder.path("home");
    let variables = [("HOME", home.to_str().unwrap()), ("PATH", "/usr/bin:/bin"), ("TERM", "xterm")];
    let mut terminal = Terminal::start(&folder, "run -- ./agent", &variables, "");
    assert!(terminal.shows("Second reply."));
    terminal.hit("\u{1c}");
    terminal.until_end();
    until_all_gone(&folder);
    let side = side_file(&folder);
    assert_eq!((&side["status"], &side["exit"]), (&json!("interrupted"), &json!({"signal": 3})));
}

#[test]
fn what_a_killed_agent_leaves_running_is_ended() {
    for signal in ["KILL", "TERM"] {
        let script = format!("start helper aside\nwrite session\ncrash {signal}");
        let folder = scripted(&[("agent", &script), ("helper", "catch TERM HUP INT\nhang")]);
        let told = run(&folder, "run --to text -- ./agent");
        assert!(told.code > Some(128) && told.stderr.is_empty(), "{told:?}");
        until_all_gone(&folder);
    }
}

#[test]
fn the_end_of_a_run_names_its_log() {
    let folder = agents(&[("agent", "cat session"), ("bad", "head -2 session")]);
    let told = run(&folder, "run -- ./agent");
    assert_eq!(told.kept.as_deref(), kept(&folder, ".ndjson").to_str());
    assert_eq!(run(&folder, "run --log run.ndjson -- ./agent").kept.as_deref(), Some("run.ndjson"));
    let id = kept(&folder, ".ndjson").file_stem().unwrap().to_string_lossy().into_owned();
    assert_eq!(told.session, Some(id));
    let quiet = run(&folder, "run --profile quiet --log run.ndjson -- ./agent");
    assert_eq!((quiet.session, quiet.kept), (None, None));
    assert_eq!(
        run(&folder, "run --profile quiet --log run.ndjson -- ./bad").kept.as_deref(),
        Some("run.ndjson")
    );
    assert_eq!(run(&folder, "run -- ./nothing").kept, None);
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_shows_what_is_typed_after_a_kill() {
    let folder = scripted(&[("agent", "write session\nhang")]);
    let home = folder.path("home");
    let variables = [("HOME", home.to_str().unwrap()), ("PATH", "/usr/bin:/bin"), ("TERM", "xterm")];
    let mut terminal = Terminal::start(&folder, "run -- ./agent", &variables, "");
    assert!(terminal.shows("Second reply."));
    let recorder = side_file(&folder)["recorder"]["pid"].to_string();
    assert!(Command::new("kill").args(["-9", &recorder]).status().unwrap().success());
    terminal.until_end();
    until_all_gone(&folder);
    // This waits until the terminal shows the text, and fails otherwise.
    assert_eq!(terminal.line_after("typed").1, "typed\n");
}

#[test]
fn a_log_of_another_run_stays_if_a_program_can_t_be_started() {
    let folder = agents(&[("agent", "cat session; read line")]);
    let mut first = Running::of(&folder, command(&folder, "run --to text --log run.ndjson -- ./agent"));
    first.until_shown("Second reply.");
    folder.write("old", "");
    for log in ["run.ndjson", "old"] {
        assert_eq!(run(&folder, &format!("run --log {log} -- ./nothing")).code, Some(127));
    }
    assert_eq!((folder.read("run.ndjson"), folder.read("old")), (SESSION.to_owned(), String::new()));
    assert!(!folder.names().contains(&"run-2.ndjson".to_owned()));
    first.feed("go on\n");
    assert_eq!(first.finish().code, Some(0));
}

#[test]
fn a_lock_shows_that_a_run_is_in_progress() {
    let folder = scripted(&[("agent", "write session\nuntil go")]);
    let mut running = Running::of(&folder, command(&folder, "run --to text -- ./agent"));
    running.until_shown("Second reply.");
    let lock = kept(&folder, ".lock");
    let is_free =
        || OpenOptions::new().read(true).open(&lock).is_ok_and(|file: File| file.try_lock_shared().is_ok());
    assert!(!is_free());
    folder.write("go", "");
    running.wait().expect(0, "");
    assert!(!lock.exists());
    let mut running = Running::of(&folder, command(&folder, "run --to text --log run.ndjson -- ./agent"));
    fs::remove_file(folder.path("go")).unwrap();
    running.until_shown("Second reply.");
    running.end(Signal::KILL);
    let folder_of_runs = lock.parent().unwrap();
    let left = fs::read_dir(folder_of_runs).unwrap().flatten().map(|entry| entry.path());
    let left: Vec<_> = left.filter(|path| path.extension().is_some_and(|it| it == "lock")).collect();
    assert!(left.iter().all(|path| File::open(path).unwrap().try_lock_shared().is_ok()), "{left:?}");
    until_all_gone(&folder);
}
