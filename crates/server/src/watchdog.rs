//! Ends an agent whose recorder was killed.
//!
//! It is a separate process and leads the group that the agent runs in, so the group's id can't be reused while it watches. It reads a
//! pipe from the recorder: a byte means that the run is over, the end of the pipe without one that the recorder was killed.

use std::io::{self, PipeWriter, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpid, kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::helper::running_in;

/// The program runs as a watchdog if this is its name (`argv[0]`).
pub const NAME: &str = "streamfmt-watchdog";

/// How long the group has to end after SIGTERM before it is killed.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often it is checked whether the group has ended.
const LOOK: Duration = Duration::from_millis(50);

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
    let group = getpid();
    let own = [group.as_raw_nonzero().get().unsigned_abs()];
    let _ = kill_process_group(group, Signal::TERM);
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE && !running_in(group, &own).is_empty() {
        thread::sleep(LOOK);
    }
    // This ends the watchdog as well.
    let _ = kill_process_group(group, Signal::KILL);
    Ok(())
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
        let process = Command::new(own_program()?)
            .arg0(NAME)
            .stdin(end)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        Ok(Self { process, line })
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
