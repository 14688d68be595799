//! A terminal other than the session's own, such as the pty of a recording program.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::process::Stdio;

use crate::program::{Folder, Reader, contains};

const CALL: &str = r#"{"type":"assistant","message":{"id":"m-1","role":"assistant","content":[{"type":"tool_use","id":"t-1","name":"Bash","input":{"command":"cargo test"}}]},"session_id":"s-1","uuid":"u-1"}
"#;

#[test]
fn what_is_open_is_shown_there_too() {
    let folder = Folder::new();
    let (pty, pts) = pty_process::blocking::open().unwrap();
    pty.resize(pty_process::Size::new(24, 80)).unwrap();
    let file = |end: std::os::fd::BorrowedFd<'_>| File::from(end.try_clone_to_owned().unwrap());
    let terminal = file(pts.as_fd());
    let before = rustix::termios::tcgetattr(&terminal).unwrap().local_modes;
    // No session is started on it, so it has no foreground process group either.
    let mut command = folder.command("");
    command.env("TERM", "xterm-256color").stdin(Stdio::piped()).stdout(terminal.try_clone().unwrap());
    let mut child = command.spawn().unwrap();
    let mut screen = Reader::new(file(pty.as_fd()));
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(CALL.as_bytes()).unwrap();
    // Plain output would hold back a call without a result.
    screen.until(|seen| contains(seen, "cargo"));
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert_eq!(rustix::termios::tcgetattr(&terminal).unwrap().local_modes, before, "it is left as it was");
}
