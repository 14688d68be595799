//! Messages to the user, one clean line each on standard error.
//!
//! Messages quote file names, texts of plugins and an agent's standard error. So all of them are masked like the output, and none can be
//! a command to a CI service.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use streamfmt::Problems;
use streamfmt::core::redact::{Redaction, Redactor};
use streamfmt::core::text::clean;
use streamfmt::plugin::journal::{Journal, PluginMessage};
use streamfmt::writer::ci::parted;

pub(crate) use streamfmt::problem::reason;

/// The most characters of a message: what it quotes can be of any length.
const MAX_MESSAGE: usize = 1_000;

/// Makes all messages safe.
static GUARD: Mutex<MessageGuard> =
    Mutex::new(MessageGuard { redaction: None, redactor: None, is_ci: false });

struct MessageGuard {
    redaction: Option<Redaction>,
    redactor: Option<Redactor>,
    /// Whether standard error is the log of a CI service.
    is_ci: bool,
}

/// From now on, masks this in all messages, in addition to everything masked before.
pub(crate) fn mask_messages(redaction: &Redaction) {
    let mut guard = GUARD.lock().unwrap_or_else(PoisonError::into_inner);
    let mut all = guard.redaction.clone().unwrap_or_default();
    all.add(redaction);
    if guard.redaction.as_ref() != Some(&all) {
        guard.redactor = Redactor::new(&all);
        guard.redaction = Some(all);
    }
}

/// From now on, no message can be a command to a CI service.
pub(crate) fn keep_messages_from_ci() {
    GUARD.lock().unwrap_or_else(PoisonError::into_inner).is_ci = true;
}

/// A redactor that masks the same as in messages; `None` if nothing is masked.
#[cfg(unix)]
pub(crate) fn message_redactor() -> Option<Redactor> {
    let guard = GUARD.lock().unwrap_or_else(PoisonError::into_inner);
    guard.redaction.as_ref().and_then(Redactor::new)
}

/// Masks clean text.
fn masked(text: &str) -> String {
    let mut guard = GUARD.lock().unwrap_or_else(PoisonError::into_inner);
    guard.redactor.as_mut().map_or_else(|| text.to_owned(), |redactor| redactor.text(text).into_owned())
}

/// Writes rows, which are clean and masked.
fn write_rows(rows: &str) {
    let is_ci = GUARD.lock().unwrap_or_else(PoisonError::into_inner).is_ci;
    let safe = if is_ci { parted(rows) } else { rows.into() };
    // If this fails, there is nobody to report it to.
    let _ = io::stderr().write_all(format!("{safe}\n").as_bytes());
}

/// Reports a message.
pub(crate) fn print(message: &str) {
    // It is masked before it is shortened: half a secret isn't recognized.
    let message = masked(&clean(message)).replace('\n', "␊");
    write_rows(&format!("streamfmt: {}", shortened(message)));
}

fn shortened(message: String) -> String {
    match message.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => message,
    }
}

/// Reports problems, each with the lines of the file concerned.
pub(crate) fn print_problems(problems: &Problems) {
    for problem in &problems.0 {
        print(&problem.to_string());
        for line in problem.excerpt().into_iter().flatten() {
            print_below(&line);
        }
    }
}

/// Prints a line that belongs to the message before. The line must be clean.
pub(crate) fn print_below(line: &str) {
    write_rows(&format!("  {}", masked(line)));
}

/// Reports new failures and messages of plugins.
pub(crate) fn print_journal(journal: &Journal) {
    print_messages(journal.take());
}

/// Reports messages of plugins.
pub(crate) fn print_messages(messages: Vec<PluginMessage>) {
    for message in messages {
        match message {
            // Its display is clean and has lines of its own.
            PluginMessage::Warning(warning) => {
                write_rows(&masked(&warning.to_string()));
            }
            PluginMessage::Printed(plugin, line) => print(&format!("{plugin}: {line}")),
        }
    }
}

/// The message for a file that can't be written.
pub(crate) fn unwritten(path: &Path, error: &io::Error) -> String {
    format!("can't write {}: {}", path.display(), reason(error))
}

/// A path that can be copied into a command. One with bytes that no message can show is written as `$'…'`, which shells read.
pub(crate) fn usable(path: &Path) -> String {
    use std::fmt::Write as _;

    if let Some(text) = path.to_str().filter(|text| one_line(text) == *text) {
        return text.to_owned();
    }
    let mut text = "$'".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'\\' | b'\'' => text.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => text.push(char::from(*byte)),
            // Writing to a string can't fail.
            _ => {
                let _ = write!(text, "\\x{byte:02x}");
            }
        }
    }
    text.push('\'');
    text
}

/// Cleans foreign text for use within a line.
pub(crate) fn one_line(text: &str) -> String {
    clean(text).replace('\n', "␊")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_cut() {
        assert_eq!(shortened("é".repeat(1_000)), "é".repeat(1_000));
        assert_eq!(shortened("é".repeat(1_001)), "é".repeat(1_000) + "…");
    }
}
