//! Many small cases in one file.
//!
//! ```text
//! === a blank line is nothing
//! {"type":"keep_alive"}
//! ----
//! what comes out
//! ```
//!
//! The longest line of dashes parts the input from what comes out, so that both may hold shorter ones.
//! Blank lines at the end of a case are only for the eye.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// One case of such a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) name: String,
    pub(super) input: String,
    /// With a newline at its end, unless it is empty.
    pub(super) expected: Option<String>,
}

/// Reads a file of short cases. What stands before the first name is a remark.
pub(super) fn sections(file: &str) -> Vec<Section> {
    let mut sections: Vec<(String, Vec<&str>)> = Vec::new();
    for line in file.lines() {
        if let Some(name) = line.strip_prefix("=== ") {
            sections.push((name.trim().to_owned(), Vec::new()));
        } else if let Some((_, lines)) = sections.last_mut() {
            lines.push(line);
        }
    }
    sections.into_iter().map(|(name, lines)| section(name, &lines)).collect()
}

fn section(name: String, lines: &[&str]) -> Section {
    let dashes =
        |line: &str| if line.len() >= 4 && line.bytes().all(|byte| byte == b'-') { line.len() } else { 0 };
    let longest = lines.iter().map(|line| dashes(line)).max().unwrap_or(0);
    let divider = lines.iter().position(|line| longest > 0 && dashes(line) == longest);
    let Some(divider) = divider else { return Section { name, input: text(lines), expected: None } };
    Section { name, input: joined(&lines[..divider]), expected: Some(text(&lines[divider + 1..])) }
}

/// The lines without the blank ones at their end.
fn text(lines: &[&str]) -> String {
    let length = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    joined(&lines[..length])
}

/// The lines, each with a newline.
fn joined(lines: &[&str]) -> String {
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}

/// Writes the expected text of one case into its file.
pub(super) fn rewrite(path: &Path, name: &str, expected: &str) -> io::Result<()> {
    // Cells are checked on several threads, and some share a file.
    static WRITING: Mutex<()> = Mutex::new(());
    let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let file = fs::read_to_string(path)?;
    let remark = file.split("=== ").next().filter(|remark| file.len() > remark.len()).unwrap_or_default();
    let mut new = remark.to_owned();
    for (index, section) in sections(&file).into_iter().enumerate() {
        let gap = if index > 0 { "\n" } else { "" };
        let said = if section.name == name { Some(expected) } else { section.expected.as_deref() };
        new.extend([gap, "=== ", &section.name, "\n", &section.input]);
        if let Some(said) = said {
            let divider = "-".repeat(longest_dashes(&section.input).max(longest_dashes(said)) + 1);
            new.extend([&divider, "\n", said]);
        }
    }
    fs::write(path, new)
}

/// The length of the longest line of dashes; at least 3, so that a divider has 4.
fn longest_dashes(text: &str) -> usize {
    let dashes = text.lines().filter(|line| line.bytes().all(|byte| byte == b'-'));
    dashes.map(str::len).max().unwrap_or(0).max(3)
}
