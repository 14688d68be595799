//! Decides when a run is over and when its agent is killed. It reads no clock and sends no signals: callers pass time and events.

use std::time::{Duration, Instant};

use rustix::process::Signal;

/// How long the agent's pipes must be quiet after its exit, if other processes hold them open.
const QUIET: Duration = Duration::from_millis(500);
/// How long other processes may keep writing to the agent's pipes after its exit.
const ECHOES: Duration = Duration::from_secs(30);
/// How long the agent has to end after SIGTERM or SIGHUP before it is killed.
const PATIENCE: Duration = Duration::from_secs(10);

/// The state of a run.
#[derive(Debug)]
pub(super) struct RunState {
    kill_after: Option<Duration>,
    /// The first signal that arrived.
    signal: Option<Signal>,
    interrupts: u32,
    kill_at: Option<Instant>,
    /// Whether the agent was asked to end because it kept running after its result.
    is_stopped: bool,
    /// Whether the agent was interrupted because the run cost too much.
    is_over_cost: bool,
    exited: Option<Instant>,
    /// When something was read last, or could have been read if there had been room.
    last_byte: Instant,
    /// When reading was withheld last.
    last_withheld: Instant,
    is_withheld: bool,
}

/// Why a run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunOver {
    /// The agent has exited, and its pipes are closed or quiet.
    Heard,
    /// The agent has exited, but other processes keep writing to its pipes.
    StillWriting,
}

impl RunState {
    /// `kill_after`: how long after the first signal the agent is killed; without it, never after SIGINT and SIGQUIT.
    pub(super) fn new(kill_after: Option<Duration>, now: Instant) -> Self {
        Self {
            kill_after,
            signal: None,
            interrupts: 0,
            kill_at: None,
            is_stopped: false,
            is_over_cost: false,
            exited: None,
            last_byte: now,
            last_withheld: now,
            is_withheld: false,
        }
    }

    /// Handles a signal that arrived. Returns the one to send to the agent: the second Ctrl-C or Ctrl-\ kills it.
    pub(super) fn take_signal(&mut self, signal: Signal, now: Instant) -> Signal {
        self.signal = self.signal.or(Some(signal));
        let is_key = matches!(signal, Signal::INT | Signal::QUIT);
        self.interrupts += u32::from(is_key);
        let patience = if is_key { self.kill_after } else { Some(self.kill_after.unwrap_or(PATIENCE)) };
        self.kill_at = self.kill_at.or(patience.map(|patience| now + patience));
        if self.interrupts > 1 { Signal::KILL } else { signal }
    }

    /// Ends the agent because it keeps running after its result. Returns the signal to send to it.
    pub(super) fn stop(&mut self, now: Instant) -> Signal {
        self.is_stopped = true;
        self.kill_at = self.kill_at.or(Some(now + self.kill_after.unwrap_or(PATIENCE)));
        Signal::TERM
    }

    /// Interrupts the agent because the run cost too much. Returns the signal to send to it; `None` if it has exited, or was interrupted
    /// before.
    pub(super) fn stop_for_cost(&mut self, now: Instant) -> Option<Signal> {
        if self.interrupt().is_some() || self.exited.is_some() {
            return None;
        }
        self.is_over_cost = true;
        self.kill_at = self.kill_at.or(Some(now + self.kill_after.unwrap_or(PATIENCE)));
        Some(Signal::INT)
    }

    /// Records that the agent has exited. Its pipes may still contain output.
    pub(super) fn note_exit(&mut self, now: Instant) {
        self.exited = Some(now);
    }

    /// Records that something was read from the agent's pipes.
    pub(super) fn note_bytes(&mut self, now: Instant) {
        self.last_byte = now;
    }

    /// Records whether reading is withheld for lack of room. While it is, silence means nothing.
    pub(super) fn note_withheld(&mut self, is_withheld: bool, now: Instant) {
        if is_withheld || self.is_withheld {
            (self.last_byte, self.last_withheld) = (now, now);
        }
        self.is_withheld = is_withheld;
    }

    /// Returns why the run is over, or `None` if it isn't. `is_closed`: whether the agent's pipes are closed.
    pub(super) fn over(&self, is_closed: bool, now: Instant) -> Option<RunOver> {
        let exited = self.exited?;
        if is_closed {
            return Some(RunOver::Heard);
        }
        if self.is_withheld {
            return None;
        }
        let since = |at: Instant| now.saturating_duration_since(exited.max(at));
        let is_quiet = since(self.last_byte) >= QUIET;
        let is_enough = since(self.last_withheld) >= ECHOES;
        is_quiet.then_some(RunOver::Heard).or(is_enough.then_some(RunOver::StillWriting))
    }

    /// Whether it is time to kill the agent. True only once.
    pub(super) fn take_kill(&mut self, now: Instant) -> bool {
        self.kill_at.take_if(|at| *at <= now).is_some()
    }

    /// Returns when something is due even if nothing happens before.
    pub(super) fn due(&self) -> Option<Instant> {
        let exited = self.exited.filter(|_| !self.is_withheld);
        let quiet = exited.map(|exited| exited.max(self.last_byte) + QUIET);
        [quiet, self.kill_at].into_iter().flatten().min()
    }

    /// Whether the agent was interrupted because the run cost too much.
    pub(super) fn is_over_cost(&self) -> bool {
        self.is_over_cost
    }

    /// The signal that interrupted the run: the first that arrived, or the one that was sent because the run cost too much.
    pub(super) fn interrupt(&self) -> Option<Signal> {
        self.signal.or(self.is_over_cost.then_some(Signal::INT))
    }

    /// The first signal that arrived.
    pub(super) fn signal(&self) -> Option<Signal> {
        self.signal
    }

    /// Whether the agent was asked to end because it kept running after its result, and nobody else asked.
    pub(super) fn is_stopped_after_result(&self) -> bool {
        self.is_stopped && self.interrupt().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const MILLI: Duration = Duration::from_millis(1);

    #[test]
    fn a_run_is_over_once_the_agent_has_exited_and_its_pipes_are_closed_or_quiet() {
        let begun = Instant::now();
        let mut run = RunState::new(None, begun);
        assert_eq!(
            (run.over(true, begun + 60 * SECOND), run.due()),
            (None, None),
            "it may close its pipes and go on"
        );
        let exited = begun + 60 * SECOND;
        run.note_exit(exited);
        assert_eq!((run.over(true, exited), run.over(false, exited)), (Some(RunOver::Heard), None));
        assert_eq!(run.due(), Some(exited + QUIET));
        let heard = exited + 400 * MILLI;
        run.note_bytes(heard);
        assert_eq!((run.over(false, heard + 499 * MILLI), run.due()), (None, Some(heard + QUIET)));
        assert_eq!(run.over(false, heard + QUIET), Some(RunOver::Heard));
    }

    #[test]
    fn silence_means_nothing_while_reading_is_withheld() {
        let begun = Instant::now();
        let mut run = RunState::new(None, begun);
        run.note_exit(begun);
        run.note_withheld(true, begun);
        let late = begun + 600 * SECOND;
        assert_eq!((run.over(false, late), run.due()), (None, None));
        run.note_withheld(false, late);
        assert_eq!(run.over(false, late), None, "what the pipe holds is still to be read");
        run.note_withheld(false, late + QUIET);
        assert_eq!(run.over(false, late + QUIET), Some(RunOver::Heard));
    }

    #[test]
    fn helpers_that_never_stop_writing_are_heard_for_half_a_minute() {
        let begun = Instant::now();
        let mut run = RunState::new(None, begun);
        run.note_exit(begun);
        for number in 1..300 {
            run.note_bytes(begun + number * 100 * MILLI);
            assert_eq!(run.over(false, begun + number * 100 * MILLI), None);
        }
        run.note_bytes(begun + ECHOES);
        assert_eq!(run.over(false, begun + ECHOES), Some(RunOver::StillWriting));
        // Output that couldn't be read before may come from the agent.
        run.note_withheld(true, begun + ECHOES);
        run.note_withheld(false, begun + ECHOES);
        assert_eq!(run.over(false, begun + ECHOES), None);
    }

    #[test]
    fn an_agent_is_asked_first_and_killed_at_the_second_key_or_after_the_time() {
        let begun = Instant::now();
        for key in [Signal::INT, Signal::QUIT] {
            let mut run = RunState::new(None, begun);
            assert_eq!((run.take_signal(key, begun), run.due()), (key, None));
            assert_eq!(run.take_signal(Signal::INT, begun + SECOND), Signal::KILL);
            assert_eq!(run.signal(), Some(key));
        }
        for signal in [Signal::TERM, Signal::HUP] {
            let mut run = RunState::new(None, begun);
            assert_eq!(run.take_signal(signal, begun), signal);
            // Another signal doesn't delay the kill.
            assert_eq!(run.take_signal(signal, begun + 9 * SECOND), signal);
            assert!(!run.take_kill(begun + 9 * SECOND) && run.due() == Some(begun + PATIENCE));
            assert!(run.take_kill(begun + PATIENCE) && !run.take_kill(begun + PATIENCE));
        }
        let mut run = RunState::new(Some(SECOND), begun);
        run.take_signal(Signal::INT, begun);
        assert!(!run.take_kill(begun) && run.take_kill(begun + SECOND));
    }

    #[test]
    fn an_agent_that_stays_after_its_result_is_ended_for_that_unless_somebody_interrupts() {
        let begun = Instant::now();
        let mut run = RunState::new(None, begun);
        assert!(!run.is_stopped_after_result());
        assert_eq!(run.stop(begun), Signal::TERM);
        assert!(run.is_stopped_after_result() && run.take_kill(begun + PATIENCE));
        run.take_signal(Signal::INT, begun + PATIENCE);
        assert!(!run.is_stopped_after_result());
    }

    #[test]
    fn a_run_that_costs_too_much_is_interrupted_once_and_then_killed() {
        let begun = Instant::now();
        let mut run = RunState::new(None, begun);
        assert_eq!(run.stop_for_cost(begun), Some(Signal::INT));
        assert_eq!(
            (run.stop_for_cost(begun), run.interrupt(), run.signal()),
            (None, Some(Signal::INT), None)
        );
        assert!(run.is_over_cost() && !run.take_kill(begun) && run.take_kill(begun + PATIENCE));
        // Who interrupts it again needs two keys to kill it, as always.
        assert_eq!(run.take_signal(Signal::TERM, begun), Signal::TERM);
        assert_eq!(run.interrupt(), Some(Signal::TERM));
        let mut run = RunState::new(None, begun);
        run.take_signal(Signal::INT, begun);
        assert_eq!((run.stop_for_cost(begun), run.is_over_cost()), (None, false));
        let mut run = RunState::new(None, begun);
        run.note_exit(begun);
        assert_eq!((run.stop_for_cost(begun), run.is_over_cost()), (None, false));
    }
}
