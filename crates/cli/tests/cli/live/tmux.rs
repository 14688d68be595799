//! The same in tmux, which many users run in their terminals: with a shell, where the user interrupts and suspends the program.

use std::fs::File;
use std::io::Write;
use std::process::{Command, Output};

use rustix::termios::tcgetwinsize;

use super::run::without_times;
use super::stream::{agent, closes, command, ends, grows, inside, reply, reply_begins, result};
use crate::program::{Folder, has_program, open_for_writing, quoted, skip, until};

/// A tmux terminal that runs a shell.
struct Tmux {
    folder: Folder,
    input: Option<File>,
}

impl Tmux {
    /// Starts tmux, if it is installed.
    fn start((columns, rows): (usize, usize)) -> Option<Self> {
        if !has_program("tmux") {
            return None;
        }
        let tmux = Self { folder: Folder::new(), input: None };
        assert!(Command::new("mkfifo").arg(tmux.folder.path("in")).status().unwrap().success());
        let size = format!("new-session -d -x {columns} -y {rows}");
        let shell = ["env", "PS1=$ ", "STREAMFMT_BACKGROUND=dark", "STREAMFMT_MOTION=0", "/bin/sh"];
        tmux.run(&[size.split(' ').collect::<Vec<_>>().as_slice(), &shell].concat());
        tmux.resize(columns, rows);
        tmux.until_shown("$");
        Some(tmux)
    }

    fn tmux(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("tmux");
        command.arg("-u").arg("-S").arg(self.folder.path("tmux")).args(["-f", "/dev/null"]).args(arguments);
        command.current_dir(self.folder.path("")).env_clear().env("HOME", self.folder.path("home"));
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.env("LC_ALL", "C.UTF-8").env("TERM", "xterm-256color").output().unwrap()
    }

    #[track_caller]
    fn run(&self, arguments: &[&str]) -> String {
        let output = self.tmux(arguments);
        assert!(output.status.success(), "tmux {arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Starts the program from the shell, in the foreground.
    fn program(&mut self, arguments: &str) {
        self.type_line(&format!("{} {arguments} <in", quoted(env!("CARGO_BIN_EXE_streamfmt"))));
        self.input = Some(open_for_writing(&self.folder.path("in")));
    }

    fn type_line(&self, line: &str) {
        self.run(&["send-keys", "-l", line]);
        self.run(&["send-keys", "Enter"]);
    }

    fn feed(&mut self, text: &str) {
        self.input.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// The screen, without the running times of calls.
    fn screen(&self) -> String {
        without_times(&self.run(&["capture-pane", "-p"]))
    }

    /// Scrollback and screen, with rows joined that tmux wrapped itself.
    fn all(&self) -> String {
        self.run(&["capture-pane", "-p", "-J", "-S", "-"]).trim_end().to_owned()
    }

    #[track_caller]
    fn until(&self, what: &str, is_wanted: impl Fn(&str) -> bool) {
        until(|| format!("{what}:\n{}", self.screen()), || is_wanted(&self.screen()));
    }

    #[track_caller]
    fn until_shown(&self, text: &str) {
        self.until(text, |screen| screen.contains(text));
    }

    /// Resizes the terminal. Its programs are notified later.
    #[track_caller]
    fn resize(&self, columns: usize, rows: usize) {
        self.run(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }

    /// The same, and waits until its programs have been notified.
    #[track_caller]
    fn resize_and_tell(&self, columns: usize, rows: usize) {
        self.resize(columns, rows);
        let terminal = File::open(self.run(&["display-message", "-p", "#{pane_tty}"]).trim_end()).unwrap();
        let size =
            || tcgetwinsize(&terminal).map(|size| (usize::from(size.ws_col), usize::from(size.ws_row)));
        until(|| format!("{columns} columns, {rows} rows"), || size() == Ok((columns, rows)));
    }

    /// Ends the input, and waits until the shell has the terminal again, with a cursor and echo.
    #[track_caller]
    fn finish(&mut self) -> String {
        self.input = None;
        self.until_prompt();
        let state = self.run(&["display-message", "-p", "#{cursor_flag} #{wrap_flag} #{alternate_on}"]);
        assert_eq!(state.trim_end(), "1 1 0");
        self.all()
    }

    /// Checks that each of the numbered lines is there once. While the size changes, that also depends on how tmux rewraps rows: with an
    /// untested version, check only that no line is lost.
    #[track_caller]
    fn check_numbers(&self, all: &str, lines: usize) {
        let version = String::from_utf8(self.tmux(&["-V"]).stdout).unwrap();
        let is_tried = version.trim_end().ends_with(" 3.3a");
        if !is_tried {
            skip(&format!(
                "what tmux itself repeats is only known of tmux 3.3a, not of {}",
                version.trim_end()
            ));
        }
        let times = (0..lines).map(|number| (number, all.matches(&format!(" number {number}:")).count()));
        let wrong: Vec<_> = times.filter(|(_, times)| *times == 0 || is_tried && *times > 1).collect();
        assert!(wrong.is_empty(), "{wrong:?} in\n{all}");
    }

    #[track_caller]
    fn until_prompt(&self) {
        self.type_line("stty -a | grep -o ' echo ' | sed s/$/is.on/");
        self.until("a shell that shows what is typed", |screen| screen.contains(" echo is.on"));
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

fn open() -> String {
    reply("m-1", "I begin.") + &command("c-1", "cargo test") + &reply_begins("m-2") + &grows("It is gro")
}

#[test]
fn what_grows_is_seen_and_stays_once_it_is_done() {
    let Some(mut tmux) = Tmux::start((80, 24)) else { return };
    tmux.program("");
    tmux.feed(&open());
    tmux.until("the tail", |screen| screen.ends_with("  I begin.\n\n● Bash cargo test …\n\n  It is gro"));
    tmux.feed(&grows("wing\n\n- **one**"));
    tmux.until("the tail", |screen| screen.ends_with("● Bash cargo test …\n\n  It is growing\n\n  • one"));
    tmux.feed(&result("c-1", "ok"));
    tmux.until("the result", |screen| {
        screen.ends_with("● Bash cargo test\n  └ ok\n\n  It is growing\n\n  • one")
    });
    tmux.feed(&(closes() + &ends()));
    let all = tmux.finish();
    let whole = "  I begin.\n\n● Bash cargo test\n  └ ok\n\n  It is growing\n\n  • one\n\n✓ done · 2 turns\n  Done.\n";
    assert!(all.contains(whole), "{all}");
}

#[test]
fn parallel_agents_on_40_columns() {
    let Some(mut tmux) = Tmux::start((40, 24)) else { return };
    tmux.program("");
    tmux.feed(
        &(agent("a-1", "Find callers of total") + &agent("a-2", "Read all of the tests that there are")),
    );
    tmux.feed(&inside("a-1", &command("c-1", "grep total")));
    tmux.feed(&inside("a-2", &command("c-2", "ls tests")));
    tmux.until("both", |screen| {
        screen.contains("grep total …")
            && screen.contains("ls tests …")
            && screen.lines().all(|row| row.chars().count() <= 40)
    });
    tmux.feed(&(inside("a-1", &result("c-1", "cart.rs")) + &result("a-1", "In cart.rs.")));
    tmux.until("one", |screen| screen.contains("In cart.rs.") && screen.contains("ls tests …"));
    tmux.feed(&(inside("a-2", &result("c-2", "cart.rs")) + &result("a-2", "None.") + &ends()));
    let all = tmux.finish();
    for once in ["grep total", "ls tests", "In cart.rs.", "None.", "done"] {
        assert_eq!(all.matches(once).count(), 1, "{once}:\n{all}");
    }
    assert!(!all.contains('…'), "{all}");
}

#[test]
fn a_reply_longer_than_the_screen() {
    let Some(mut tmux) = Tmux::start((80, 12)) else { return };
    tmux.program("");
    tmux.feed(&reply_begins("m-1"));
    for number in 0..100 {
        tmux.feed(&grows(&format!("- number {number}.\n")));
        if number % 25 == 24 {
            tmux.until_shown(&format!("number {number}."));
            assert!(!tmux.all().contains("number 1."), "it isn't in the scrollback yet");
        }
    }
    tmux.feed(&(closes() + &ends()));
    let all = tmux.finish();
    for number in 0..100 {
        assert_eq!(all.matches(&format!(" number {number}.\n")).count(), 1, "{number}:\n{all}");
    }
}

/// Each size follows as soon as tmux has notified the program of the one before; with many in a row, tmux delays that. The growing text is
/// on the screen before: tmux wouldn't rewrap rows that only appear after a change of size.
#[test]
fn numbered_lines_stand_in_the_scrollback_once_each() {
    let Some(mut tmux) = Tmux::start((80, 24)) else { return };
    tmux.program("");
    tmux.feed(&agent("a-1", "Look around"));
    let sizes = [(61, 20), (47, 24), (90, 30), (60, 22), (120, 24), (75, 21), (80, 24)];
    // tmux takes up to a third of a second for each size.
    let lines = 84;
    for number in 0..lines {
        let text = format!("number {number}: {}", "and more ".repeat(number % 13));
        tmux.feed(&(reply_begins(&format!("m-{number}")) + &grows(&text)));
        if number % 4 == 1 {
            tmux.until_shown(&format!("number {number}:"));
            let (columns, rows) = sizes[number / 4 % sizes.len()];
            tmux.resize_and_tell(columns, rows);
        }
        tmux.feed(&(grows("end") + &closes()));
    }
    tmux.feed(&(result("a-1", "Seen.") + &ends()));
    let all = tmux.finish();
    tmux.check_numbers(&all, lines);
}

/// Sizes follow each other faster than tmux reports them: it waits up to a quarter of a second, and frames in between are painted for the
/// wrong size. No growing text is shown: only text narrower than all sizes has a known height then.
#[test]
fn numbered_lines_while_the_size_changes_faster_than_it_is_told() {
    let Some(mut tmux) = Tmux::start((80, 24)) else { return };
    tmux.program("");
    tmux.feed(&command("c-0", "make"));
    tmux.feed(&(result("c-0", "made") + &agent("a-1", "Look around")));
    let sizes = [(61, 20), (47, 24), (90, 30), (60, 22), (120, 24), (75, 21), (80, 24)];
    for number in 0..200 {
        let text = format!("number {number}: {}end", "and more ".repeat(number % 13));
        tmux.feed(&reply(&format!("m-{number}"), &text));
        if number % 4 == 1 {
            let (columns, rows) = sizes[number / 4 % sizes.len()];
            tmux.resize(columns, rows);
        }
    }
    tmux.feed(&(result("a-1", "Seen.") + &ends()));
    let all = tmux.finish();
    tmux.check_numbers(&all, 200);
}

#[test]
fn interrupted_and_suspended_from_a_shell() {
    let Some(mut tmux) = Tmux::start((80, 24)) else { return };
    tmux.type_line("set -m");
    tmux.program("");
    tmux.feed(&open());
    tmux.until_shown("It is gro");
    // Typed input isn't echoed, and goes to the shell.
    tmux.type_line("echo typed-$((1 + 1))");
    tmux.run(&["send-keys", "C-z"]);
    tmux.until("the shell", |screen| !screen.contains("It is gro") && screen.contains("I begin."));
    tmux.until_prompt();
    tmux.type_line("fg");
    tmux.until("the tail again", |screen| screen.ends_with("● Bash cargo test …\n\n  It is gro"));
    tmux.feed(&grows("wing"));
    tmux.until("the tail", |screen| screen.ends_with("● Bash cargo test …\n\n  It is growing"));
    tmux.run(&["send-keys", "C-c"]);
    tmux.until_prompt();
    let all = tmux.finish();
    for once in ["I begin.", "● Bash cargo test", "It is growing"] {
        assert_eq!(all.matches(once).count(), 1, "{once}:\n{all}");
    }
}

/// Continued in the background first, and in the foreground later.
#[test]
fn in_the_background_for_a_while() {
    let Some(mut tmux) = Tmux::start((80, 24)) else { return };
    tmux.type_line("set -m");
    tmux.program("");
    tmux.feed(&open());
    tmux.until_shown("It is gro");
    tmux.run(&["send-keys", "C-z"]);
    tmux.until_prompt();
    tmux.type_line("bg");
    tmux.feed(&result("c-1", "ok"));
    tmux.until("what is finished", |screen| screen.trim_end().ends_with("  └ ok"));
    assert!(!tmux.screen().contains("It is gro"), "{}", tmux.screen());
    tmux.type_line("fg");
    tmux.until("the tail, without more input", |screen| screen.ends_with("\n\n  It is gro"));
    tmux.run(&["send-keys", "-l", "typed"]);
    tmux.feed(&reply("m-3", "One."));
    tmux.feed(&(reply_begins("m-4") + &grows("And two")));
    tmux.until_shown("And two");
    let screen = tmux.screen();
    assert!(!screen.contains("typed"), "{screen}");
    tmux.run(&["send-keys", "C-c"]);
    tmux.until_prompt();
}

/// With `layout.wrap = "soft"` the terminal wraps long lines itself, and copies them as one line.
#[test]
fn a_long_command_is_copied_as_one_line() {
    let Some(mut tmux) = Tmux::start((60, 20)) else { return };
    tmux.program("--set layout.wrap=soft");
    let long = (0..43).map(|number| format!("arg{number:03}")).collect::<Vec<_>>().join(" ");
    assert_eq!(long.len(), 300);
    tmux.feed(&command("c-1", &long));
    tmux.until("the end of the command in the tail", |screen| screen.contains("arg042"));
    tmux.feed(&(result("c-1", "fine") + &ends()));
    let all = tmux.finish();
    assert!(all.lines().any(|line| line.ends_with(&long)), "{all}");
}
