//! `run --notify`: calls for attention when the agent waits for a person, and when the run has ended.

use std::collections::HashSet;
use std::io::{self, IsTerminal, Write};

use streamfmt::core::item::Id;
use streamfmt::core::session::Session;
use streamfmt::core::text::Text;

use crate::message::message_redactor;

/// Sends notifications to the terminal that standard output goes to: a bell, and a message that many terminals show on the desktop (OSC 9).
pub(crate) struct Notifier {
    /// The calls that waited at the last look.
    waiting: HashSet<Id>,
}

impl Notifier {
    /// The notifier, if standard output is a terminal.
    pub(crate) fn on_terminal() -> Option<Self> {
        io::stdout().is_terminal().then(|| Self { waiting: HashSet::new() })
    }

    /// Notifies of each call that has begun to wait since the last look.
    pub(crate) fn look(&mut self, session: &Session) {
        // Nearly always nothing waits.
        if self.waiting.is_empty() && session.waiting_calls().next().is_none() {
            return;
        }
        let mut waiting = HashSet::new();
        for (call, wait) in session.waiting_calls() {
            if !self.waiting.contains(call) {
                let tool = session.call(call).and_then(|call| call.tool.as_deref());
                let tool = tool.map(|tool| format!(": {tool}")).unwrap_or_default();
                send(&format!("waits for {}{tool}", wait.waits_for.words()));
            }
            waiting.insert(call.clone());
        }
        self.waiting = waiting;
    }

    /// Notifies of the end of the run. `status`: how it ended.
    pub(crate) fn end(self, status: &str) {
        send(&format!("run {status}"));
    }
}

/// Sends a notification with a text, which may be foreign. Neither sequence moves the cursor.
fn send(text: &str) {
    let text = format!("streamfmt: {text}");
    let masked = message_redactor().map(|mut redactor| redactor.text(&text).into_owned());
    let clean = Text::clean_owned(masked.unwrap_or(text));
    let mut terminal = io::stdout();
    // Who doesn't see it sees the output, too.
    let _ = terminal.write_all(sequence(&clean).as_bytes()).and_then(|()| terminal.flush());
}

/// A bell, and the message on one line.
fn sequence(text: &Text) -> String {
    let line: String =
        text.chars().map(|ch| if ch.is_whitespace() { ' ' } else { ch }).take(LONGEST).collect();
    format!("\x07\x1b]9;{line}\x07")
}

/// The longest message, in characters.
const LONGEST: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_no_sequence_of_its_own_and_is_one_short_line() {
        let text = |text: &str| sequence(&Text::clean(text));
        assert_eq!(text("a\x07b\x1b]0;c\x1b\\\nd\te\u{9c}f"), "\x07\x1b]9;a␇b␛]0;c␛\\ d e<U+009C>f\x07");
        for (count, most) in [(200, 200), (201, 200)] {
            assert_eq!(text(&"é".repeat(count)), format!("\x07\x1b]9;{}\x07", "é".repeat(most)));
        }
    }
}
