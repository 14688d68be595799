//! Where the bytes may come from.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::program::{Folder, SESSION, reply, send};

#[test]
fn files_pipes_and_standard_input_say_the_same() {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    let file = folder.run("s.jsonl").expect(0, "").stdout;
    assert!(file.contains("First reply.") && file.contains("Second reply."), "{file}");
    assert_eq!(folder.pipe("", SESSION).expect(0, "").stdout, file);
    assert_eq!(folder.pipe("-", SESSION).expect(0, "").stdout, file);
    let stdin = std::fs::File::open(folder.path("s.jsonl")).unwrap();
    let output = folder.command("").stdin(stdin).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), file);
}

#[test]
fn a_missing_file_and_a_folder_are_told_before_anything_is_written() {
    let folder = Folder::with(&[("s.jsonl", SESSION)]);
    std::fs::create_dir(folder.path("sub")).unwrap();
    let outcome = folder.run("s.jsonl nowhere.jsonl sub");
    assert_eq!(outcome.stdout, "");
    outcome.expect(
        2,
        "streamfmt: nowhere.jsonl: no such file or directory\nstreamfmt: sub: is a folder (give the files in it)\n",
    );
}

#[test]
fn several_files_have_headings_except_for_programs() {
    let folder = Folder::with(&[("a.jsonl", SESSION), ("b.jsonl", SESSION)]);
    let one = folder.run("a.jsonl").stdout;
    let two = folder.run("a.jsonl b.jsonl").expect(0, "").stdout;
    assert_eq!(two, format!("==> a.jsonl <==\n{one}\n==> b.jsonl <==\n{one}"));
    let items = folder.run("--to items a.jsonl b.jsonl").expect(0, "").stdout;
    assert!(!items.is_empty() && items.lines().all(|line| line.starts_with('{')), "{items}");
}

#[test]
fn a_file_named_like_a_command_is_given_with_its_folder() {
    let folder = Folder::with(&[("man", SESSION)]);
    assert!(folder.run("./man").expect(0, "").stdout.contains("First reply."));
}

#[test]
fn what_is_no_stream_passes_through_with_one_line_of_notice() {
    let folder = Folder::new();
    let outcome = folder.pipe("", "just\nsome text\n");
    assert!(outcome.stdout.contains("just") && outcome.stdout.contains("some text"), "{outcome:?}");
    outcome.expect(0, "streamfmt: standard input: no event of a known agent; passed through as it is\n");
    folder.pipe("", "").expect(0, "");
}

#[test]
fn each_line_is_shown_while_the_next_is_awaited() {
    let folder = Folder::new();
    let mut child = folder.command("").stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for number in 0..3 {
        stdin.write_all(reply(number).as_bytes()).unwrap();
        let mut line = String::new();
        while !line.contains(&format!("reply number {number}.")) {
            line.clear();
            assert!(stdout.read_line(&mut line).unwrap() > 0, "no reply {number}");
        }
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[cfg(unix)]
#[test]
fn a_named_pipe_is_an_input() {
    let folder = Folder::new();
    assert!(Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap().success());
    let child = folder.command("pipe").spawn().unwrap();
    std::fs::write(folder.path("pipe"), SESSION).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && String::from_utf8(output.stdout).unwrap().contains("First reply."));
}

#[cfg(unix)]
#[test]
fn ctrl_c_lets_the_writer_finish_and_is_told_by_the_exit_code() {
    let folder = Folder::new();
    let mut child = folder.command("").stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdin.write_all(reply(1).as_bytes()).unwrap();
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    send(&child, "INT");
    stdin.write_all(reply(2).as_bytes()).unwrap();
    drop(stdin);
    let rest: Vec<String> = stdout.lines().map(Result::unwrap).collect();
    assert!(rest.join("\n").contains("reply number 2."), "{rest:?}");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
