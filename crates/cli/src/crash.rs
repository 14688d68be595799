//! What happens if the program has a bug: one line, a terminal as it was, exit code 70.

use std::io::{self, IsTerminal, Write};
use std::panic::{self, AssertUnwindSafe};

use crate::echo;
use crate::message::{INTERNAL, tell};

/// Runs `work`; a panic in it is told and becomes an exit code.
pub(crate) fn contain(work: impl FnOnce() -> u8) -> u8 {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
            usual(panic);
        }
        if echo::restore() {
            // Something may stand in the row that the terminal is at.
            let mut stdout = io::stdout();
            let _ = stdout.write_all(b"\x1b[0m\x1b[?7h\n").and_then(|()| stdout.flush());
        }
        let place = panic
            .location()
            .map(|place| format!(" at {}:{}", place.file(), place.line()))
            .unwrap_or_default();
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let what =
            text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
        tell(&format!("internal error{place}: {what} (this is a bug of streamfmt; please report it)"));
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
}
