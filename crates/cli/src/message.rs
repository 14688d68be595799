//! What the program says to its user: on standard error, one clean line each. And how it ends.

use std::io::{self, Write};

use streamfmt::Problems;
use streamfmt::core::text::clean;
use streamfmt::plugin::journal::{Journal, PluginMessage};

pub(crate) use streamfmt::problem::reason;

/// Formatted, whatever the content.
pub(crate) const OK: u8 = 0;
/// With `--fail`: the run that was read ended in an error.
pub(crate) const RUN_FAILED: u8 = 1;
/// The arguments or the set-up are wrong, or an input can't be read.
pub(crate) const USAGE: u8 = 2;
/// With `--strict-plugins`: a plugin failed.
pub(crate) const PLUGIN: u8 = 3;
/// A bug.
pub(crate) const INTERNAL: u8 = 70;
/// The output or a copy of the input could not be written.
pub(crate) const OUTPUT: u8 = 74;
/// Added to the number of the signal that ended the program.
pub(crate) const SIGNAL: u8 = 128;

/// Characters of a message that are told: what it quotes may be of any length.
const MAX_MESSAGE: usize = 1_000;

/// Tells the user one thing.
pub(crate) fn tell(message: &str) {
    let short = match message.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => &format!("{}…", &message[..end]),
        None => message,
    };
    let line = format!("streamfmt: {}\n", one_line(short));
    // Nobody is left to be told that this failed.
    let _ = io::stderr().write_all(line.as_bytes());
}

/// Tells what is wrong with the set-up, with the lines that it is about.
pub(crate) fn tell_problems(problems: &Problems) {
    for problem in &problems.0 {
        tell(&problem.to_string());
        for line in problem.excerpt().into_iter().flatten() {
            tell_below(&line);
        }
    }
}

/// Tells what belongs to the message before. The line is clean.
pub(crate) fn tell_below(line: &str) {
    let _ = writeln!(io::stderr(), "  {line}");
}

/// Tells what plugins did wrong and printed since the last time.
pub(crate) fn tell_journal(journal: &Journal) {
    tell_messages(journal.take());
}

/// Tells messages of plugins.
pub(crate) fn tell_messages(messages: Vec<PluginMessage>) {
    for told in messages {
        match told {
            // Its display is clean and has lines of its own.
            PluginMessage::Warning(warning) => {
                let _ = writeln!(io::stderr(), "{warning}");
            }
            PluginMessage::Printed(plugin, line) => tell(&format!("{plugin}: {line}")),
        }
    }
}

/// Foreign text as a part of one line.
pub(crate) fn one_line(text: &str) -> String {
    clean(text).replace('\n', "␊")
}
