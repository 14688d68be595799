//! Contains a bug of the program: one line is reported, the terminal is restored, and the exit code is 70.

use std::io::{self, IsTerminal, Write};
use std::panic::{self, AssertUnwindSafe};

use crate::echo;
use crate::exit_code::INTERNAL;
use crate::message::print;

/// Runs `work`; a panic in it is reported and becomes an exit code.
pub(crate) fn contain(work: impl FnOnce() -> u8) -> u8 {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if echo::restore() {
            // The cursor's row may hold something.
            let mut stdout = io::stdout();
            let _ = stdout.write_all(b"\x1b[0m\x1b[?7h\n").and_then(|()| stdout.flush());
        }
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
            usual(panic);
        }
        let place = panic
            .location()
            .map(|place| format!(" at {}:{}", place.file(), place.line()))
            .unwrap_or_default();
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let what =
            text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
        print(&format!("internal error{place}: {what} (this is a bug of streamfmt; please report it)"));
    }));
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let mut stdout = io::stdout();
        if stdout.is_terminal() {
            let _ = stdout.write_all(b"\x1b[0m\x1b[?25h\n").and_then(|()| stdout.flush());
        }
        INTERNAL
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bug_is_told_and_becomes_an_exit_code() {
        assert_eq!(contain(|| 0), 0);
        let code = contain(|| panic!("a bug that this test made"));
        drop(panic::take_hook());
        assert_eq!(code, INTERNAL);
    }

    /// Set in the crashing process: this test, started again on a terminal.
    #[cfg(unix)]
    const HAS_BUG: &str = "STREAMFMT_TEST_HAS_BUG";

    #[cfg(unix)]
    #[test]
    fn a_bug_amid_a_frame_leaves_the_terminal_as_it_was() {
        use std::io::Read;

        use rustix::termios::{LocalModes, tcgetattr};

        if std::env::var_os(HAS_BUG).is_some() {
            let _echo = crate::echo::Echo::off();
            let is_quiet = tcgetattr(io::stdout()).is_ok_and(|it| !it.local_modes.contains(LocalModes::ECHO));
            print!("quiet: {is_quiet} \x1b[?7lhalf a row");
            let _ = io::stdout().flush();
            std::process::exit(i32::from(contain(|| panic!("a bug that this test made"))));
        }
        let (mut pty, pts) = pty_process::blocking::open().unwrap();
        let test = "crash::tests::a_bug_amid_a_frame_leaves_the_terminal_as_it_was";
        let command = pty_process::blocking::Command::new(std::env::current_exe().unwrap());
        let mut child = command.args(["--exact", test, "--nocapture"]).env(HAS_BUG, "1").spawn(pts).unwrap();
        let (mut shown, mut buffer) = (Vec::new(), [0; 1024]);
        // A terminal can't be read any more once its last program has ended.
        while let Ok(count @ 1..) = pty.read(&mut buffer) {
            shown.extend_from_slice(&buffer[..count]);
        }
        assert_eq!(child.wait().unwrap().code(), Some(i32::from(INTERNAL)));
        let shown = String::from_utf8(shown).unwrap();
        let (before, after) = shown.split_once("half a row").unwrap();
        assert!(before.contains("quiet: true"), "{shown:?}");
        assert!(after.starts_with("\x1b[0m\x1b[?7h\r\n"), "{shown:?}");
        assert!(after.contains("\r\nstreamfmt: internal error at "), "{shown:?}");
        assert!(tcgetattr(&pty).unwrap().local_modes.contains(LocalModes::ECHO));
    }
}
