//! Ends an agent whose recorder was killed.
//!
//! It is a separate process and leads the group that the agent runs in, so the group's id can't be reused while it watches. It reads a
//! pipe from the recorder: a byte means that the run is over, the end of the pipe without one that the recorder was killed. It then also
//! lets the terminal show again what is typed, which the recorder's display had turned off.

use std::io::{self, IsTerminal, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpid, kill_process_group};
use rustix::termios::{LocalModes, Termios, tcgetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::helper::running_in;

/// The program runs as a watchdog if this is its name (`argv[0]`).
pub const NAME: &str = "streamfmt-watchdog";

/// How long the group has to end after SIGTERM before it is killed.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often it is checked whether the group has ended.
const LOOK: Duration = Duration::from_millis(50);

/// The argument by which the watchdog knows that its standard error is a terminal that shows what is typed.
const ECHO: &str = "echo";

/// Runs the watchdog: standard input is the pipe, and a byte on standard output reports that signals are handled.
pub fn watch() -> io::Result<()> {
    // Signals to the group are meant for the agent; the watchdog stays.
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    let mut stdout = io::stdout();
    stdout.write_all(b"\n")?;
    stdout.flush()?;
    // `read_exact` retries after a signal.
    if io::stdin().read_exact(&mut [0]).is_ok() {
        return Ok(());
    }
    if std::env::args().nth(1).is_some_and(|argument| argument == ECHO) {
        restore_echo();
    }
    let group = getpid();
    let own = [group.as_raw_nonzero().get().unsigned_abs()];
    let mut ending = GroupEnding::default();
    loop {
        match ending.next(!running_in(group, &own).is_empty(), Instant::now()) {
            // The last one ends the watchdog as well.
            GroupStep::Send(signal) => kill_process_group(group, signal)?,
            GroupStep::Wait => thread::sleep(LOOK),
        }
    }
}

/// Decides how a group is ended. It reads no clock: the time is handed in.
#[derive(Debug, Default)]
struct GroupEnding {
    begun: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GroupStep {
    /// Send this signal to the group.
    Send(Signal),
    /// Look again after a moment.
    Wait,
}

impl GroupEnding {
    /// What comes next. `is_running`: a process of the group is, beside the watchdog.
    fn next(&mut self, is_running: bool, now: Instant) -> GroupStep {
        match self.begun {
            None => {
                self.begun = Some(now);
                GroupStep::Send(Signal::TERM)
            }
            Some(begun) if is_running && now.saturating_duration_since(begun) < PATIENCE => GroupStep::Wait,
            Some(_) => GroupStep::Send(Signal::KILL),
        }
    }
}

/// Lets the terminal show again what is typed. A terminal that gives out single keys is another program's by now, such as the shell's,
/// which sets it up for itself.
fn restore_echo() {
    let terminal = io::stderr();
    let is_left_quiet = tcgetattr(&terminal).is_ok_and(|set_up| {
        set_up.local_modes.contains(LocalModes::ICANON) && !set_up.local_modes.contains(LocalModes::ECHO)
    });
    let Ok(terminal) = terminal.as_fd().try_clone_to_owned() else { return };
    if is_left_quiet {
        // Setting up a terminal from its background stops a program that doesn't ignore SIGTTOU.
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "trap '' TTOU; exec stty echo"]).stdin(terminal).stdout(Stdio::null());
        let _ = shell.status();
    }
}

/// A running watchdog. When dropped, it ends its group, as if the recorder had been killed.
pub struct Watchdog {
    process: Child,
    line: PipeWriter,
}

impl Watchdog {
    /// Starts a watchdog. It needs a moment to get ready, in which other things can be done.
    pub fn start() -> io::Result<Self> {
        let (end, line) = io::pipe()?;
        let mut command = Command::new(own_program()?);
        command.arg0(NAME).stdin(end).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let terminal = io::stdout();
        let echoes = |set_up: Termios| set_up.local_modes.contains(LocalModes::ECHO);
        if terminal.is_terminal() && tcgetattr(&terminal).is_ok_and(echoes) {
            command.arg(ECHO).stderr(terminal.as_fd().try_clone_to_owned()?);
        }
        Ok(Self { process: command.spawn()?, line })
    }

    /// Waits until signals don't end it anymore.
    pub(crate) fn until_ready(&mut self) -> io::Result<()> {
        self.process.stdout.take().map_or(Ok(()), |mut stdout| stdout.read_exact(&mut [0]))
    }

    /// The process group that it leads, for the agent to join.
    pub(crate) fn group(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Ends the watchdog, and nothing else.
    pub(crate) fn dismiss(mut self) {
        // It may have been killed with its group.
        let _ = self.line.write_all(b"\n");
        let _ = self.process.wait();
    }
}

/// This program, even if its file was replaced since the start (Linux).
fn own_program() -> io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    Ok(if program.exists() { program } else { PathBuf::from("/proc/self/exe") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_two_seconds_to_end_by_itself() {
        let begun = Instant::now();
        let mut ending = GroupEnding::default();
        assert_eq!(ending.next(true, begun), GroupStep::Send(Signal::TERM));
        assert_eq!(ending.next(true, begun + LOOK), GroupStep::Wait);
        assert_eq!(ending.next(true, begun + PATIENCE), GroupStep::Send(Signal::KILL));
        // What runs in it isn't known for certain: it is asked in any case, and nothing outlives the watchdog.
        let mut ending = GroupEnding::default();
        assert_eq!(ending.next(false, begun), GroupStep::Send(Signal::TERM));
        assert_eq!(ending.next(false, begun), GroupStep::Send(Signal::KILL));
    }
}
