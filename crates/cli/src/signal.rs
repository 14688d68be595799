//! Waits for input, a signal or a closed output, whichever comes first.
//!
//! SIGINT, SIGTERM and SIGHUP end the input in an orderly way, so everything read is written; a second one ends
//! the program at once. If the program was started with SIGHUP ignored, as by `nohup`, it stays ignored. The others don't: shells
//! start background jobs with SIGINT ignored, yet whoever sends one to such a job means it.

use std::io;
use std::time::Duration;

use streamfmt::follow::{Bell, FollowWait};

pub(crate) use streamfmt::follow::Woken;

#[cfg(unix)]
pub(crate) use unix::{Signals, is_hangup_ignored_for_certain};

#[cfg(not(unix))]
pub(crate) use other::Signals;

/// How a follower waits: signals end the wait.
pub(crate) struct SignalWait<'a> {
    pub(crate) signals: &'a mut Signals,
    /// Whether a closed output ends a wait.
    pub(crate) watch_output: bool,
}

impl FollowWait for SignalWait<'_> {
    fn is_over(&self) -> bool {
        self.signals.caught().is_some()
    }

    fn wait(&mut self, bell: Option<Bell<'_>>, most: Duration) -> io::Result<Woken> {
        self.signals.wait(bell, Some(most), self.watch_output)
    }
}

#[cfg(unix)]
mod unix {
    use std::io::{self, Read};
    use std::os::fd::{AsFd, BorrowedFd};
    use std::os::unix::net::UnixStream;
    use std::process::Command;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH, SIGXFSZ};
    use signal_hook::{flag, low_level};

    use super::Woken;

    /// Catches signals.
    pub(crate) struct Signals {
        last: Arc<AtomicUsize>,
        /// Receives a byte for each signal, so a wait can't miss one that arrives just before it.
        bell: UnixStream,
        ring: UnixStream,
        /// Set by SIGTSTP, once that is caught.
        stops: Option<Arc<AtomicBool>>,
        /// Whether the signals that end the program are caught here.
        ends: bool,
    }

    /// Whether the program was started with SIGHUP ignored. Assumed where the system has no quick answer.
    fn is_hangup_ignored() -> bool {
        ignored_signals().is_none_or(includes_hangup)
    }

    /// The same, asking `ps` if needed.
    pub(crate) fn is_hangup_ignored_for_certain() -> bool {
        ignored_signals().or_else(ignored_signals_by_ps).is_none_or(includes_hangup)
    }

    fn includes_hangup(mask: u64) -> bool {
        mask >> (SIGHUP - 1) & 1 == 1
    }

    fn ignored_signals() -> Option<u64> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
        u64::from_str_radix(mask.trim(), 16).ok()
    }

    /// The same on a system without `/proc`.
    fn ignored_signals_by_ps() -> Option<u64> {
        let own = std::process::id().to_string();
        let output = Command::new("ps").args(["-o", "sigignore=", "-p", &own]).output().ok()?;
        u64::from_str_radix(std::str::from_utf8(&output.stdout).ok()?.trim(), 16).ok()
    }

    #[cfg(all(test, target_os = "linux"))]
    #[test]
    fn both_ways_to_ask_which_signals_are_ignored_give_the_same() {
        assert!(ignored_signals().is_some());
        assert_eq!(ignored_signals_by_ps(), ignored_signals());
    }

    impl Signals {
        /// Starts to catch signals.
        pub(crate) fn catch() -> io::Result<Self> {
            let (bell, ring) = UnixStream::pair()?;
            bell.set_nonblocking(true)?;
            let last = Arc::new(AtomicUsize::new(0));
            let hangup = (!is_hangup_ignored()).then_some(SIGHUP);
            for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
                let came = Arc::new(AtomicBool::new(false));
                // In this order: the first signal finds the flag down and puts it up.
                flag::register_conditional_default(signal, came.clone())?;
                flag::register(signal, came)?;
                flag::register_usize(signal, last.clone(), usize::try_from(signal).unwrap_or_default())?;
                low_level::pipe::register(signal, ring.try_clone()?)?;
            }
            // With a handler, writing to a file that reached its size limit fails, which is reported.
            flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
            Ok(Self { last, bell, ring, stops: None, ends: true })
        }

        /// Catches none of the signals that end the program: with a running agent, the recorder does.
        pub(crate) fn beside_a_run() -> io::Result<Self> {
            let (bell, ring) = UnixStream::pair()?;
            bell.set_nonblocking(true)?;
            Ok(Self { last: Arc::default(), bell, ring, stops: None, ends: false })
        }

        /// From now on, a wait also ends when the terminal's size changes, and at SIGTSTP, after which the caller calls
        /// [`Signals::stop`]. SIGQUIT ends the input in an orderly way as well, so that the terminal is restored. (Beside a run, its recorder
        /// forwards it.)
        pub(crate) fn catch_terminal(&mut self) -> io::Result<()> {
            let stops = Arc::new(AtomicBool::new(false));
            flag::register(SIGTSTP, Arc::clone(&stops))?;
            for signal in [SIGTSTP, SIGWINCH, SIGCONT] {
                low_level::pipe::register(signal, self.ring.try_clone()?)?;
            }
            if self.ends {
                let came = Arc::new(AtomicBool::new(false));
                flag::register_conditional_default(SIGQUIT, Arc::clone(&came))?;
                flag::register(SIGQUIT, came)?;
                flag::register_usize(
                    SIGQUIT,
                    self.last.clone(),
                    usize::try_from(SIGQUIT).unwrap_or_default(),
                )?;
                low_level::pipe::register(SIGQUIT, self.ring.try_clone()?)?;
            }
            self.stops = Some(stops);
            Ok(())
        }

        /// Whether SIGTSTP arrived since the last call.
        pub(crate) fn take_stop(&mut self) -> bool {
            self.stops.as_ref().is_some_and(|stops| stops.swap(false, Ordering::Relaxed))
        }

        /// Stops the program until SIGCONT.
        pub(crate) fn stop(&self) {
            // Where this isn't possible, the program continues.
            let _ = low_level::emulate_default_handler(SIGTSTP);
        }

        /// The number of the last signal that arrived.
        pub(crate) fn caught(&self) -> Option<u8> {
            u8::try_from(self.last.load(Ordering::Relaxed)).ok().filter(|&signal| signal > 0)
        }

        /// Whether the last signal is SIGINT: after Ctrl-C, the program that we read from got it as well.
        pub(crate) fn interrupted(&self) -> bool {
            self.caught().is_some_and(|signal| i32::from(signal) == SIGINT)
        }

        /// Waits for `input` or `timeout`. `watch_output` also wakes when standard output is closed at its other end.
        pub(crate) fn wait(
            &mut self,
            input: Option<BorrowedFd<'_>>,
            timeout: Option<Duration>,
            watch_output: bool,
        ) -> io::Result<Woken> {
            let output = io::stdout();
            let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
            let (bell_rings, input_ready, closed) = {
                let mut waiting = vec![PollFd::new(&self.bell, PollFlags::IN)];
                if watch_output {
                    waiting.push(PollFd::from_borrowed_fd(output.as_fd(), PollFlags::empty()));
                }
                if let Some(input) = input {
                    waiting.push(PollFd::from_borrowed_fd(input, PollFlags::IN));
                }
                match poll(&mut waiting, timeout.as_ref()) {
                    // The bell wakes the next wait.
                    Err(rustix::io::Errno::INTR) => return Ok(Woken::Signal),
                    Err(error) => return Err(error.into()),
                    Ok(0) => return Ok(Woken::Timeout),
                    Ok(_) => {}
                }
                let is_ready = |index: usize| waiting.get(index).is_some_and(|fd| !fd.revents().is_empty());
                let index = 1 + usize::from(watch_output);
                (is_ready(0), input.is_some() && is_ready(index), watch_output && is_ready(1))
            };
            if bell_rings {
                let _ = self.bell.read(&mut [0; 16]);
                return Ok(Woken::Signal);
            }
            Ok(if closed {
                Woken::Closed
            } else if input_ready {
                Woken::Input
            } else {
                Woken::Timeout
            })
        }
    }
}

#[cfg(not(unix))]
mod other {
    use std::io;
    use std::time::Duration;

    use super::Bell;
    use super::Woken;

    /// No signals are caught here: they end the program.
    pub(crate) struct Signals;

    impl Signals {
        pub(crate) fn catch() -> io::Result<Self> {
            Ok(Self)
        }

        pub(crate) fn caught(&self) -> Option<u8> {
            None
        }

        pub(crate) fn catch_terminal(&mut self) -> io::Result<()> {
            Ok(())
        }

        pub(crate) fn take_stop(&mut self) -> bool {
            false
        }

        pub(crate) fn stop(&self) {}

        pub(crate) fn interrupted(&self) -> bool {
            false
        }

        /// Sleeps, or returns at once if there is an input: reading it waits.
        pub(crate) fn wait(
            &mut self,
            input: Option<Bell<'_>>,
            timeout: Option<Duration>,
            _: bool,
        ) -> io::Result<Woken> {
            match (input, timeout) {
                (None, Some(timeout)) => {
                    std::thread::sleep(timeout);
                    Ok(Woken::Timeout)
                }
                _ => Ok(Woken::Input),
            }
        }
    }
}
