//! `--tee`: the copy of the input.

use std::fs;

use crate::program::{Folder, SESSION};

#[test]
fn every_byte_is_copied_and_what_was_there_stays() {
    let folder = Folder::new();
    let input = format!("no json\r\n{SESSION}{{\"broken\": \u{0}\u{1b}[2J\nhalf a line");
    folder.write("copy", "before\n");
    folder.pipe("--tee copy", &input);
    assert_eq!(folder.read("copy"), format!("before\n{input}"));
}

#[cfg(unix)]
#[test]
fn a_new_copy_is_for_its_owner_only() {
    let folder = Folder::new();
    folder.pipe("--tee copy", SESSION).expect(0, "");
    assert!(crate::program::is_private(&folder.path("copy")));
}

#[cfg(unix)]
#[test]
fn a_link_is_not_followed_and_the_text_is_shown_all_the_same() {
    let folder = Folder::with(&[("secret", "mine")]);
    std::os::unix::fs::symlink(folder.path("secret"), folder.path("copy")).unwrap();
    let outcome = folder.pipe("--tee copy", SESSION);
    assert!(outcome.stdout.contains("Second reply."));
    assert!(
        outcome.stderr.starts_with("streamfmt: no copy is saved: can't open copy: symbolic link\n"),
        "{outcome:?}"
    );
    assert_eq!(outcome.code, Some(74));
    assert_eq!(folder.read("secret"), "mine");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_costs_the_copy_and_not_the_text() {
    let folder = Folder::new();
    let outcome = folder.pipe("--tee /dev/full", SESSION);
    assert!(outcome.stdout.contains("Second reply."));
    assert!(
        outcome.stderr.starts_with("streamfmt: the copy ends here: can't write /dev/full: no space left"),
        "{outcome:?}"
    );
    assert_eq!(outcome.code, Some(74));
}

#[test]
fn the_copy_goes_on_when_nobody_reads_the_text() {
    let folder = Folder::new();
    let input = SESSION.repeat(5_000);
    let mut command = folder.command("--tee copy --profile full");
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, input.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""));
    assert!(fs::read(folder.path("copy")).unwrap() == input.as_bytes());
}

#[test]
fn an_input_is_never_written_to() {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    for option in ["--tee", "--output"] {
        folder
            .run(&format!("s.jsonl {option} ./s.jsonl"))
            .expect(2, "streamfmt: s.jsonl: can't be both read and written\n");
    }
    assert_eq!(folder.read("s.jsonl"), SESSION);
}

#[test]
fn standard_input_is_no_file_that_is_written_to() {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    let open = || fs::OpenOptions::new().read(true).append(true).open(folder.path("s.jsonl")).unwrap();
    let message = "standard input: can't be both read and written";
    for arguments in
        ["--tee s.jsonl", "-o s.jsonl", "--also items=s.jsonl", "-", "--follow - --tee ./s.jsonl"]
    {
        let mut command = folder.command(arguments);
        command.stdin(open());
        if arguments == "-" {
            command.stdout(open());
        }
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(message), "{arguments}");
        assert_eq!(folder.read("s.jsonl"), SESSION, "{arguments}");
    }
    let mut command = folder.command("s.jsonl");
    let output = command.stdout(open()).output().unwrap();
    assert_eq!((output.status.code(), folder.read("s.jsonl").as_str()), (Some(2), SESSION));
}

#[test]
fn neither_a_file_of_a_sub_agent_nor_a_recording_of_golden_is_written_to() {
    let folder = Folder::with(&[("s.jsonl", SESSION), ("s/subagents/agent-1.jsonl", SESSION)]);
    folder
        .run("s.jsonl -o s/subagents/agent-1.jsonl")
        .expect(2, "streamfmt: s.jsonl: can't be read while a file of its sub-agents is written\n");
    folder
        .run("golden drift s.jsonl --baseline s.jsonl --write-baseline")
        .expect(2, "streamfmt: s.jsonl: can't be both read and written\n");
    folder.run("golden add ok --from s.jsonl --root .").expect(0, "");
    folder
        .run("golden check . --report-file ok/input.ndjson")
        .expect(2, "streamfmt: --report-file ok/input.ndjson: is inside of a golden case\n");
    for name in ["s.jsonl", "s/subagents/agent-1.jsonl"] {
        assert_eq!(folder.read(name), SESSION);
    }
}
