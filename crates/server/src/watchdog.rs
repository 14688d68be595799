//! Ends an agent whose recorder was killed.
//!
//! It is a process of its own, the leader of the group that the agent runs in, so that the group can't come to mean other
//! processes while it watches. It holds a pipe to the recorder: a byte says that the run is over; its end without that says that
//! the recorder is gone.

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

/// What the program is called, as its first argument, when it is to watch over an agent.
pub const NAME: &str = "streamfmt-watchdog";

/// How long an agent whose recorder is gone has to end by itself.
const PATIENCE: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(50);

/// Watches, as the process that was started for it: standard input is the pipe, standard output says that it does.
pub fn watch() -> io::Result<()> {
    // They reach the whole group; it is to end with them, but for the watchdog.
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    let mut stdout = io::stdout();
    stdout.write_all(b"\n")?;
    stdout.flush()?;
    // A signal amid it is no end.
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

/// A watchdog at work. One that is dropped ends its group, as if its recorder had been killed.
pub struct Watchdog {
    process: Child,
    line: PipeWriter,
}

impl Watchdog {
    /// Starts one. It needs a moment, in which other things can be done.
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

    /// Waits until it takes no signal for the end any more.
    pub(crate) fn until_ready(&mut self) -> io::Result<()> {
        self.process.stdout.take().map_or(Ok(()), |mut stdout| stdout.read_exact(&mut [0]))
    }

    /// The group that it leads, for the agent to be in.
    pub(crate) fn group(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Ends the watch.
    pub(crate) fn dismiss(mut self) {
        // One that was killed with its group has left already.
        let _ = self.line.write_all(b"\n");
        let _ = self.process.wait();
    }
}

/// The program that runs, even where its file was replaced since.
fn own_program() -> io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    Ok(if program.exists() { program } else { PathBuf::from("/proc/self/exe") })
}
