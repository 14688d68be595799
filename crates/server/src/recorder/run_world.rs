//! The agent's process and the clock, as the loop of a run uses them.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::helper::{Helper, running_in};
use crate::watchdog::Watchdog;

/// The environment of a run's loop besides pipes and files. Tests script it, so that they need neither an agent nor real time.
pub(super) trait RunWorld {
    /// The time.
    fn now(&self) -> Instant;

    /// Waits until something can be read, or for this long. It may return early.
    fn wait(&mut self, sources: &mut [PollFd<'_>], patience: Option<Duration>);

    /// Sends a signal to the agent's group.
    fn send(&mut self, signal: Signal);

    /// The processes of the agent's group, without the agent and the watchdog.
    fn helpers(&self) -> Vec<Helper>;

    /// Waits for the agent's exit. Returns how it ended.
    fn exit(&mut self) -> ExitStatus;

    /// Ends the watchdog.
    fn dismiss_watchdog(&mut self);

    /// Schedules a signal that ends this program after a time, whatever it is doing then.
    fn end_by(&mut self, signal: Signal, time: Duration);
}

/// The process of an agent.
pub(super) struct AgentProcess {
    pub(super) child: Child,
    pub(super) group: Pid,
    pub(super) watchdog: Option<Watchdog>,
}

impl RunWorld for AgentProcess {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn wait(&mut self, sources: &mut [PollFd<'_>], patience: Option<Duration>) {
        let patience = patience.and_then(|patience| Timespec::try_from(patience).ok());
        // If this fails, nothing can be read yet.
        let _ = poll(sources, patience.as_ref());
    }

    fn send(&mut self, signal: Signal) {
        // This fails only if the group has ended.
        let _ = kill_process_group(self.group, signal);
    }

    fn helpers(&self) -> Vec<Helper> {
        let watchdog = self.watchdog.as_ref().map(Watchdog::id);
        let own: Vec<u32> = [self.child.id()].into_iter().chain(watchdog).collect();
        running_in(self.group, &own)
    }

    fn exit(&mut self) -> ExitStatus {
        // An unknown exit is no success: the run has failed with 1.
        self.child.wait().unwrap_or_else(|_| ExitStatus::from_raw(1 << 8))
    }

    fn dismiss_watchdog(&mut self) {
        if let Some(watchdog) = self.watchdog.take() {
            watchdog.dismiss();
        }
    }

    fn end_by(&mut self, signal: Signal, time: Duration) {
        // Without a thread, the display has the time that it needs.
        let _ = thread::Builder::new().name("end".to_owned()).spawn(move || {
            thread::sleep(time);
            let _ = signal_hook::low_level::emulate_default_handler(signal.as_raw());
        });
    }
}
