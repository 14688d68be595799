//! `--follow`: a file as it grows, is cut, and is replaced.
#![cfg(unix)]

use std::fs;

use crate::program::{Folder, Outcome, Running, Signal, reply};

/// Which of the numbered replies are shown, in order.
fn numbers(shown: &str) -> Vec<usize> {
    shown
        .split("reply number ")
        .skip(1)
        .map(|rest| rest.split('.').next().unwrap().parse().unwrap())
        .collect()
}

#[test]
fn lines_are_shown_as_they_come_and_a_half_line_waits() {
    let folder = Folder::new();
    folder.write("run.jsonl", reply(0));
    let mut running = Running::start(&folder, "-f run.jsonl");
    running.until_shown("reply number 0.");
    let line = reply(1);
    folder.append("run.jsonl", &line[..line.len() / 2]);
    folder.append("run.jsonl", &line[line.len() / 2..]);
    running.until_shown("reply number 1.");
    assert_eq!(numbers(&running.shown()), [0, 1]);
    running.end(Signal::INT).expect(130, "");
}

#[test]
fn what_was_read_is_written_when_a_signal_ends_it() {
    let folder = Folder::new();
    folder.write("run.jsonl", reply(0) + reply(1).trim_end());
    let mut running = Running::start(&folder, "-f run.jsonl");
    running.until_shown("reply number 0.");
    let outcome = running.end(Signal::TERM);
    assert_eq!((outcome.code, numbers(&outcome.stdout)), (Some(143), vec![0, 1]));
}

#[test]
fn replaced_files_are_read_to_their_end_and_each_line_once() {
    let folder = Folder::new();
    folder.write("run.jsonl", reply(3000));
    let mut running = Running::start(&folder, "-f run.jsonl");
    running.until_shown("reply number 3000.");
    for round in 0..6 {
        for number in round * 10..round * 10 + 10 {
            folder.append("run.jsonl", &reply(number));
        }
        // The old file is still being read when the new one comes.
        fs::rename(folder.path("run.jsonl"), folder.path("old.jsonl")).unwrap();
        folder.append("old.jsonl", &reply(1000 + round));
        folder.append("run.jsonl", &reply(2000 + round));
        running.until_shown(&format!("reply number {}.", 2000 + round));
    }
    let mut expected = vec![3000];
    for round in 0..6 {
        expected.extend(round * 10..round * 10 + 10);
        expected.extend([1000 + round, 2000 + round]);
    }
    assert_eq!(numbers(&running.shown()), expected);
    running.end(Signal::INT).expect(130, "");
}

#[test]
fn a_deleted_file_is_awaited_and_its_half_line_does_not_spoil_the_next() {
    let folder = Folder::new();
    folder.write("run.jsonl", reply(0) + "{\"type\":\"assi");
    let mut running = Running::start(&folder, "-f run.jsonl");
    running.until_shown("reply number 0.");
    fs::remove_file(folder.path("run.jsonl")).unwrap();
    folder.write("run.jsonl", reply(1));
    running.until_shown("reply number 1.");
    assert_eq!(numbers(&running.shown()), [0, 1]);
    assert_eq!(running.end(Signal::INT).code, Some(130));
}

#[test]
fn a_file_that_is_cut_is_read_from_its_start_with_a_note() {
    let folder = Folder::new();
    folder.write("run.jsonl", reply(100) + &reply(200));
    let mut running = Running::start(&folder, "-f run.jsonl");
    running.until_shown("reply number 200.");
    // Cut, with a repeat of what was shown; then written anew in place, longer than before.
    folder.write("run.jsonl", reply(100));
    folder.append("run.jsonl", &reply(300));
    running.until_shown("reply number 300.");
    folder.write("run.jsonl", reply(4) + &reply(5) + &reply(6) + &reply(7));
    running.until_shown("reply number 7.");
    assert_eq!(numbers(&running.shown()), [100, 200, 300, 4, 5, 6, 7]);
    let Outcome { code, stderr: told, .. } = running.end(Signal::INT);
    assert_eq!(code, Some(130));
    let note = "streamfmt: run.jsonl: cut short or written anew; reading it from its start\n";
    assert!(told.replace(note, "").is_empty() && told.contains(note), "{told}");
}

#[test]
fn a_link_that_is_switched_leads_to_the_other_file() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    folder.write("a.jsonl", reply(0));
    folder.write("b.jsonl", reply(1));
    symlink("a.jsonl", folder.path("run.jsonl")).unwrap();
    let mut running = Running::start(&folder, "-f run.jsonl");
    running.until_shown("reply number 0.");
    symlink("b.jsonl", folder.path("next.jsonl")).unwrap();
    fs::rename(folder.path("next.jsonl"), folder.path("run.jsonl")).unwrap();
    running.until_shown("reply number 1.");
    assert_eq!(running.end(Signal::INT).code, Some(130));
}

#[test]
fn it_ends_when_nobody_reads_any_more() {
    let folder = Folder::new();
    folder.write("run.jsonl", reply(0));
    let mut child = folder.command("-f run.jsonl").spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""));
}
