//! The signals that a recorder forwards to its agent.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::{flag, low_level};

/// The signals that end a run, each with a socket that receives a byte when it arrives.
pub(crate) struct SignalLines {
    pub(crate) lines: Vec<(Signal, UnixStream)>,
    /// Once set, a signal ends the program at once.
    is_over: Arc<AtomicBool>,
}

impl SignalLines {
    /// Lines that a test writes to.
    #[cfg(test)]
    pub(crate) fn scripted(lines: Vec<(Signal, UnixStream)>) -> Self {
        Self { lines, is_over: Arc::default() }
    }

    /// Starts to catch them; SIGHUP only with `hangup`, since a program may have been started to outlive its terminal.
    pub(crate) fn catch(hangup: bool) -> io::Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let mut caught = Self { lines: Vec::new(), is_over: Arc::clone(&is_over) };
        let hangup = hangup.then_some((SIGHUP, Signal::HUP));
        let others = [(SIGINT, Signal::INT), (SIGQUIT, Signal::QUIT), (SIGTERM, Signal::TERM)];
        for (number, signal) in others.into_iter().chain(hangup) {
            let (line, end) = UnixStream::pair()?;
            flag::register_conditional_default(number, Arc::clone(&is_over))?;
            low_level::pipe::register(number, end)?;
            caught.lines.push((signal, line));
        }
        // Without a handler, a file that reaches its size limit would end the program. And a program may have been started with SIGCHLD
        // ignored: then the system forgets how the agent ended before anyone asks.
        for number in [SIGXFSZ, SIGCHLD] {
            flag::register(number, Arc::new(AtomicBool::new(false)))?;
        }
        Ok(caught)
    }

    /// Returns the number of times that a signal arrived since the last call. Blocks if there were none.
    pub(crate) fn take(&mut self, index: usize) -> usize {
        self.lines[index].1.read(&mut [0; 16]).unwrap_or(0)
    }

    /// From now on, a signal ends the program at once.
    pub(crate) fn release(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

impl Drop for SignalLines {
    fn drop(&mut self) {
        self.release();
    }
}
