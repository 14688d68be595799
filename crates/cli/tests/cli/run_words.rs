//! `run`: messages about command lines that can't work, and about outputs that wait or fail.

use std::process::Stdio;

use crate::program::{Folder, Running, SESSION, Signal, draft, reply, until};
use crate::run::{agents, command, run};

#[test]
fn a_command_without_the_dashes_before_it_is_shown_with_them() {
    let folder = agents(&[]);
    for (typed, meant) in [
        ("run claude -p x", "run -- claude -p x"),
        ("run --profile ci claude -p x", "run --profile ci -- claude -p x"),
        ("run --agent claude claude -p x", "run --agent claude -- claude -p x"),
    ] {
        let told = run(&folder, typed).stderr;
        assert_eq!(
            told,
            format!(
                "streamfmt: \"claude\" is an unexpected argument of run; see streamfmt run --help\n  \
                 did you mean streamfmt {meant}?\n"
            )
        );
    }
}

#[test]
fn advice_for_the_script_of_a_shell_works() {
    let folder = agents(&[
        ("claude", "echo \"$@\" > given; cat session"),
        ("codex", "echo \"$@\" > given; cat session"),
    ]);
    for (agent, script, advised, given) in [
        (
            "claude",
            "./claude -p x",
            "./claude --output-format stream-json --verbose -p x",
            "--output-format stream-json --verbose -p x",
        ),
        (
            "claude",
            "cd . && ./claude x",
            "cd . && ./claude --output-format stream-json --verbose -p x",
            "--output-format stream-json --verbose -p x",
        ),
        ("codex", "./codex exec x", "./codex exec --json x", "exec --json x"),
        ("codex", "./codex x", "./codex exec --json x", "exec --json x"),
    ] {
        let run_script = |script: &str| {
            let mut command = command(&folder, &format!("run --agent {agent} -- sh -c"));
            crate::program::Outcome::from(command.arg(script).output().unwrap())
        };
        let refused = run_script(script);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        let advice = format!("; use: streamfmt run --agent {agent} -- sh -c '{advised}'\n");
        assert!(refused.stderr.ends_with(&advice), "{refused:?}");
        assert!(!folder.path("given").exists(), "{script}");
        assert_eq!(run_script(advised).code, Some(0));
        assert_eq!(folder.read("given"), format!("{given}\n"));
        std::fs::remove_file(folder.path("given")).unwrap();
    }
    let other = run(&folder, "run --agent claude -- sh -c true");
    assert_eq!(other.code, Some(0), "nothing is known of the script's options: {other:?}");
}

#[test]
fn what_can_t_be_run_is_named_in_full_with_the_reason() {
    let folder = agents(&[]);
    folder.write("plain", "no program");
    folder.write("folder/file", "");
    for (program, code, why) in [
        ("./no/such/agent", 127, "no such file or directory"),
        ("nothing-like-it", 127, "no such file or directory"),
        ("./folder", 126, "it is a folder"),
        ("./plain", 126, "permission denied"),
    ] {
        run(&folder, &format!("run -- {program}"))
            .expect(code, &format!("streamfmt: can't run {program}: {why}\n"));
    }
}

#[test]
fn a_program_that_may_start_a_known_agent_is_reported() {
    let folder = agents(&[("claude", "echo words")]);
    let told = run(&folder, "run -- env ./claude -p x").stderr;
    let wanted = " (if it starts claude, use --agent claude)";
    assert!(
        told.lines().any(|line| line.starts_with("streamfmt: env: no events") && line.ends_with(wanted)),
        "{told}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_report_cut_by_a_full_disk_is_a_failure_with_one_message() {
    let folder =
        agents(&[("agent", "cat session"), ("long", "for i in 1 2 3 4 5 6 7 8; do cat session; done")]);
    for (arguments, log) in [
        ("run --log log -- ./agent", SESSION),
        ("--help", ""),
        ("run --help", ""),
        ("man", ""),
        ("session", ""),
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = command(&folder, arguments).stdout(full).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(74), "{arguments}: {told}");
        let failed = "streamfmt: can't write standard output: no space left on device";
        assert_eq!(told.lines().filter(|line| *line == failed).count(), 1, "{arguments}: {told}");
        assert!(log.is_empty() || folder.read("log") == log);
    }
}

#[test]
fn a_pipe_without_a_reader_is_waited_for_with_a_word() {
    for options in ["-o pipe", "--also items=pipe", "--tee pipe", "--summary pipe"] {
        let folder = agents(&[("agent", "cat session")]);
        assert!(std::process::Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap().success());
        let running = Running::of(&folder, command(&folder, &format!("run {options} -- ./agent")));
        running.until_reported("streamfmt: pipe: waiting for a reader of this pipe\n");
        let read = std::process::Command::new("cat")
            .arg(folder.path("pipe"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap();
        let text = String::from_utf8(read.stdout).unwrap();
        assert!(text.contains("Second reply."), "{options}: {text}");
        assert_eq!(running.wait().code, Some(0), "{options}");
    }
}

/// Only if the file system supports unnamed files.
#[cfg(target_os = "linux")]
#[test]
fn nothing_is_left_of_an_output_whose_program_was_killed() {
    let folder = Folder::new();
    let mut running = Running::start(&folder, "--also html=page.html -o text");
    running.feed(&reply(1));
    until(|| "an output that is begun".to_owned(), || draft(running.id(), &folder).is_some());
    let is_named = !draft(running.id(), &folder).unwrap().starts_with("/proc");
    running.end(Signal::KILL);
    assert!(is_named || folder.names().is_empty(), "{:?}", folder.names());
}

#[test]
fn a_summary_that_was_removed_meanwhile_is_written() {
    let folder = agents(&[("agent", "rm summary.md; cat session")]);
    assert_eq!(run(&folder, "run --summary summary.md -- ./agent").code, Some(0));
    assert!(folder.read("summary.md").contains("Second reply."));
}
