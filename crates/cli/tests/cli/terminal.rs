//! What the program asks a terminal, and how it leaves it: in a real one, whose other end answers as it likes.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::program::{Folder, SESSION};

const QUESTION: &[u8] = b"\x1b]11;?\x1b\\\x1b[c";

/// A theme that shows which variant was chosen.
const THEME: &str = "[dark.roles]\nreply = \"red\"\n[light.roles]\nreply = \"blue\"\n";

/// How a terminal answers.
#[derive(Clone, Copy)]
enum Answer {
    /// At once, in these words.
    Soon(&'static str),
    /// After so many milliseconds.
    Late(u64, &'static str),
    Never,
}

const LIGHT: &str = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62;22c";
const DARK: &str = "\x1b]11;rgb:1b/1d/22\x07\x1b[?1;2c";

/// What the terminal got, whether it was asked, and what was left to be read on its line.
struct Seen {
    written: String,
    asked: bool,
    left: String,
}

/// Runs the program in a terminal on which `typed` was typed before.
fn run(arguments: &str, variables: &[(&str, &str)], typed: &str, answer: Answer) -> Seen {
    let folder = Folder::with(&[("theme.toml", THEME), ("s.jsonl", SESSION)]);
    let (pty, pts) = pty_process::blocking::open().unwrap();
    pty.resize(pty_process::Size::new(24, 80)).unwrap();
    // The line stays open while we hold it, so that what is left on it can be read.
    let line = File::from(pts.as_fd().try_clone_to_owned().unwrap());
    let mut keyboard = File::from(pty.as_fd().try_clone_to_owned().unwrap());
    let mut screen = File::from(pty.as_fd().try_clone_to_owned().unwrap());
    keyboard.write_all(typed.as_bytes()).unwrap();

    let mut command = pty_process::blocking::Command::new(env!("CARGO_BIN_EXE_streamfmt"))
        .args(arguments.split_whitespace())
        .current_dir(folder.path(""))
        .env_clear()
        .env("TERM", "xterm-256color");
    for (name, value) in variables {
        command = command.env(name, value);
    }
    let mut child = command.spawn(pts).unwrap();
    let (tell, told) = mpsc::channel();
    let (answered, has_answered) = mpsc::channel();
    let mut typing = keyboard.try_clone().unwrap();
    thread::spawn(move || {
        let mut seen = Vec::new();
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = screen.read(&mut bytes) {
            let was_asked = contains(&seen, QUESTION);
            seen.extend_from_slice(&bytes[..count]);
            if !was_asked && contains(&seen, QUESTION) {
                match answer {
                    Answer::Soon(words) => typing.write_all(words.as_bytes()).unwrap(),
                    Answer::Late(pause, words) => {
                        thread::sleep(Duration::from_millis(pause));
                        typing.write_all(words.as_bytes()).unwrap();
                    }
                    Answer::Never => {}
                }
                let _ = answered.send(());
            }
            let _ = tell.send(seen.clone());
            if contains(&seen, b"<end>") {
                break;
            }
        }
    });
    assert!(child.wait().unwrap().success());
    if let Answer::Late(..) = answer {
        has_answered.recv_timeout(Duration::from_secs(20)).unwrap();
    }
    // The terminal shows what is typed again, and gives it line by line.
    keyboard.write_all(b"<end>\n").unwrap();
    let mut left = String::new();
    BufReader::new(line).read_line(&mut left).unwrap();
    let seen = told.into_iter().last().unwrap();
    let text = String::from_utf8_lossy(&seen).into_owned();
    let written =
        text.strip_suffix("<end>\r\n").or_else(|| text.strip_suffix("<end>")).unwrap_or(&text).to_owned();
    assert!(text.contains("<end>"), "the terminal shows what is typed: {text:?}");
    Seen { written, asked: contains(&seen, QUESTION), left }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[track_caller]
fn check(seen: &Seen, asked: bool, color: u8) {
    assert_eq!(seen.asked, asked, "{:?}", seen.written);
    assert!(seen.written.contains(&format!("\x1b[{color}mFirst reply.")), "{:?}", seen.written);
    assert!(!seen.written.contains("rgb:"), "no answer is on the screen: {:?}", seen.written);
}

const DARK_RED: u8 = 31;
const LIGHT_BLUE: u8 = 34;

#[test]
fn the_terminal_tells_its_background() {
    for (words, color) in [(LIGHT, LIGHT_BLUE), (DARK, DARK_RED), ("\x1b[?6c", DARK_RED)] {
        let seen = run("--theme ./theme.toml s.jsonl", &[], "", Answer::Soon(words));
        check(&seen, true, color);
        assert_eq!(seen.left, "<end>\n");
    }
}

#[test]
fn a_terminal_that_is_silent_or_late_is_not_waited_for_and_its_answer_is_not_typing() {
    for answer in [Answer::Never, Answer::Late(250, LIGHT)] {
        let seen = run("--theme ./theme.toml s.jsonl", &[], "", answer);
        check(&seen, true, DARK_RED);
        assert_eq!(seen.left, "<end>\n");
    }
    let seen = run("--theme ./theme.toml s.jsonl", &[("COLORFGBG", "0;15")], "", Answer::Never);
    check(&seen, true, LIGHT_BLUE);
}

#[test]
fn what_was_typed_before_stays_and_then_nothing_is_asked() {
    let seen = run("--theme ./theme.toml s.jsonl", &[], "make te", Answer::Soon(LIGHT));
    check(&seen, false, DARK_RED);
    assert!(seen.left.starts_with("make te"), "{:?}", seen.left);
}

#[test]
fn nothing_is_asked_that_nobody_needs_to_know() {
    for (arguments, variables, color) in [
        ("--theme ./theme.toml:light s.jsonl", &[][..], LIGHT_BLUE),
        ("--theme ./theme.toml s.jsonl", &[("STREAMFMT_BACKGROUND", "light")], LIGHT_BLUE),
        ("--theme ./theme.toml s.jsonl", &[("TERM", "linux")], DARK_RED),
    ] {
        check(&run(arguments, variables, "", Answer::Soon(LIGHT)), false, color);
    }
    for arguments in ["--theme ansi s.jsonl", "--to text s.jsonl", "--color never s.jsonl", "-o out s.jsonl"]
    {
        let seen = run(arguments, &[], "", Answer::Never);
        assert!(!seen.asked, "{arguments}: {:?}", seen.written);
    }
}
