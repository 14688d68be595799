//! The signals that a recorder hands on to its agent.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::{flag, low_level};

/// Signals that end a run, each with the line that it comes in by.
pub(crate) struct SignalLines {
    pub(crate) lines: Vec<(Signal, UnixStream)>,
    /// Once it is up, a signal ends the program at once.
    is_over: Arc<AtomicBool>,
}

impl SignalLines {
    /// Begins to catch them; `hangup` is left alone by a program that is to outlive its terminal.
    pub(crate) fn catch(hangup: bool) -> io::Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let mut caught = Self { lines: Vec::new(), is_over: Arc::clone(&is_over) };
        let hangup = hangup.then_some((SIGHUP, Signal::HUP));
        for (number, signal) in [(SIGINT, Signal::INT), (SIGTERM, Signal::TERM)].into_iter().chain(hangup) {
            let (line, end) = UnixStream::pair()?;
            flag::register_conditional_default(number, Arc::clone(&is_over))?;
            low_level::pipe::register(number, end)?;
            caught.lines.push((signal, line));
        }
        // A file that may not grow any more is then a failure to write.
        flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
        Ok(caught)
    }

    /// How often one came; it is known that it did.
    pub(crate) fn take(&mut self, index: usize) -> usize {
        self.lines[index].1.read(&mut [0; 16]).unwrap_or(0)
    }

    /// From here on, a signal ends the program at once.
    pub(crate) fn release(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

impl Drop for SignalLines {
    fn drop(&mut self) {
        self.release();
    }
}
