//! Ends an agent whose recorder was killed.
//!
//! It is a separate process and leads the group that the agent runs in, so the group's id can't be reused while it watches. It reads a
//! pipe from the recorder: a byte means that the run is over, the end of the pipe without a byte that the recorder was killed. In the
//! latter case, it also restores the terminal's echo, which the recorder's display had turned off.

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

/// The name (`argv[0]`) under which the program runs as a watchdog.
pub const NAME: &str = "streamfmt-watchdog";

/// How long the group has to end after SIGTERM before it is killed.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often it is checked whether the group has ended.
const LOOK: Duration = Duration::from_millis(50);

/// The argument by which the recorder reports that standard error is a terminal with echo.
const ECHO: &str = "echo";

/// Runs the watchdog: standard input is the pipe, and a byte on standard output reports that signals are handled.
pub fn watch() -> io::Result<()> {
    // Signals to the group are meant for the agent; the watchdog stays.
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    guard(io::stdin(), io::stdout(), &mut OwnGroup)
}

/// Waits for the end of `line`. If it comes without a byte, ends the group. A byte on `ready` reports that it waits.
fn guard(mut line: impl Read, mut ready: impl Write, group: &mut impl GuardedGroup) -> io::Result<()> {
    ready.write_all(b"\n")?;
    ready.flush()?;
    // `read_exact` retries after a signal.
    if line.read_exact(&mut [0]).is_ok() {
        return Ok(());
    }
    group.restore_terminal();
    let mut ending = GroupEnding::default();
    loop {
        match ending.next(group.is_running(), group.now()) {
            GroupStep::Send(signal) => {
                group.send(signal)?;
                if signal == Signal::KILL {
                    return Ok(());
                }
            }
            GroupStep::Wait => group.wait(LOOK),
        }
    }
}

/// The group that a watchdog ends, and time. Tests script it.
trait GuardedGroup {
    /// The time.
    fn now(&self) -> Instant;

    /// Lets time pass.
    fn wait(&mut self, time: Duration);

    /// Whether a process of the group other than the watchdog is running.
    fn is_running(&self) -> bool;

    /// Sends a signal to it.
    fn send(&mut self, signal: Signal) -> io::Result<()>;

    /// Undoes what the recorder's display did to the terminal.
    fn restore_terminal(&mut self);
}

/// The group that this process leads.
struct OwnGroup;

impl GuardedGroup for OwnGroup {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn wait(&mut self, time: Duration) {
        thread::sleep(time);
    }

    fn is_running(&self) -> bool {
        let group = getpid();
        !running_in(group, &[group.as_raw_nonzero().get().unsigned_abs()]).is_empty()
    }

    fn send(&mut self, signal: Signal) -> io::Result<()> {
        // SIGKILL ends this process as well.
        Ok(kill_process_group(getpid(), signal)?)
    }

    fn restore_terminal(&mut self) {
        if std::env::args().nth(1).is_some_and(|argument| argument == ECHO) {
            restore_echo();
        }
    }
}

/// Decides how a group is ended. It reads no clock: callers pass the time.
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
    /// Returns the next step. `is_running`: whether a process of the group other than the watchdog is running.
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

/// Restores the terminal's echo, unless the terminal is in a mode for single keys: then another program, such as the shell, has already
/// configured it.
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
    use std::io::PipeReader;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;

    /// A pipe of a scripted recorder, which continues when the watchdog waits for it.
    struct ScriptedLine {
        pipe: PipeReader,
        steps: Vec<Box<dyn FnOnce() -> Option<io::Error>>>,
    }

    impl Read for ScriptedLine {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            loop {
                let mut polled = [PollFd::new(&self.pipe, PollFlags::IN)];
                let at_once = Timespec::try_from(Duration::ZERO).unwrap();
                if poll(&mut polled, Some(&at_once)).unwrap() > 0 {
                    return self.pipe.read(buffer);
                }
                assert!(!self.steps.is_empty(), "the watchdog waits for ever");
                if let Some(error) = self.steps.remove(0)() {
                    return Err(error);
                }
            }
        }
    }

    /// A group with a process that runs until a time, or until it is killed.
    struct ScriptedGroup {
        begun: Instant,
        now: Instant,
        runs_for: Duration,
        sent: Vec<(Duration, Signal)>,
        is_restored: bool,
    }

    impl ScriptedGroup {
        fn new(runs_for: Duration) -> Self {
            let begun = Instant::now();
            Self { begun, now: begun, runs_for, sent: Vec::new(), is_restored: false }
        }
    }

    impl GuardedGroup for ScriptedGroup {
        fn now(&self) -> Instant {
            self.now
        }

        fn wait(&mut self, time: Duration) {
            self.now += time;
        }

        fn is_running(&self) -> bool {
            self.now < self.begun + self.runs_for
        }

        fn send(&mut self, signal: Signal) -> io::Result<()> {
            self.sent.push((self.now - self.begun, signal));
            Ok(())
        }

        fn restore_terminal(&mut self) {
            self.is_restored = true;
        }
    }

    #[test]
    fn a_recorder_that_ends_by_itself_leaves_its_group_alone() {
        let (pipe, mut line) = io::pipe().unwrap();
        let (mut waits, ready) = io::pipe().unwrap();
        let silence: Vec<Box<dyn FnOnce() -> Option<io::Error>>> = vec![
            Box::new(move || {
                waits.read_exact(&mut [0]).unwrap();
                None
            }),
            // A signal arrives.
            Box::new(|| Some(io::ErrorKind::Interrupted.into())),
            Box::new(move || {
                line.write_all(b"\n").unwrap();
                None
            }),
        ];
        let mut group = ScriptedGroup::new(PATIENCE);
        guard(ScriptedLine { pipe, steps: silence }, ready, &mut group).unwrap();
        assert!(group.sent.is_empty() && !group.is_restored);
    }

    #[test]
    fn a_recorder_that_is_killed_takes_its_group_with_it() {
        for (runs_for, end) in
            [(PATIENCE / 4, PATIENCE / 4), (10 * PATIENCE, PATIENCE), (Duration::ZERO, Duration::ZERO)]
        {
            let (pipe, line) = io::pipe().unwrap();
            // The line is open twice: the recorder was just starting a program.
            let other = line.try_clone().unwrap();
            let mut group = ScriptedGroup::new(runs_for);
            let steps: Vec<Box<dyn FnOnce() -> Option<io::Error>>> = vec![
                Box::new(move || {
                    drop(line);
                    None
                }),
                Box::new(move || {
                    drop(other);
                    None
                }),
            ];
            guard(ScriptedLine { pipe, steps }, io::sink(), &mut group).unwrap();
            assert_eq!(group.sent, [(Duration::ZERO, Signal::TERM), (end, Signal::KILL)]);
            assert!(group.is_restored);
        }
    }

    #[test]
    fn a_recorder_that_is_gone_before_the_watchdog_is_ready_is_an_error() {
        let (waits, ready) = io::pipe().unwrap();
        drop(waits);
        let (pipe, _line) = io::pipe().unwrap();
        let mut group = ScriptedGroup::new(PATIENCE);
        let guarded = guard(ScriptedLine { pipe, steps: Vec::new() }, ready, &mut group);
        assert_eq!(guarded.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert!(group.sent.is_empty());
    }

    #[test]
    fn a_group_has_two_seconds_to_end_by_itself() {
        let begun = Instant::now();
        let mut ending = GroupEnding::default();
        assert_eq!(ending.next(true, begun), GroupStep::Send(Signal::TERM));
        assert_eq!(ending.next(true, begun + LOOK), GroupStep::Wait);
        assert_eq!(ending.next(true, begun + PATIENCE), GroupStep::Send(Signal::KILL));
        // Signals are sent even if no process seems to be running, since that is uncertain.
        let mut ending = GroupEnding::default();
        assert_eq!(ending.next(false, begun), GroupStep::Send(Signal::TERM));
        assert_eq!(ending.next(false, begun), GroupStep::Send(Signal::KILL));
    }
}
