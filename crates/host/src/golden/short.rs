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
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::case::LARGEST;
use crate::files::{FileError, read_plain_text};

/// One case of such a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section {
    /// The line of its name, from 1.
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) input: String,
    /// With a newline at its end, unless it is empty.
    pub(super) expected: Option<String>,
}

/// Reads a file of short cases. What stands before the first name is a remark.
pub(super) fn sections(file: &str) -> Vec<Section> {
    let mut sections: Vec<(usize, &str, Vec<&str>)> = Vec::new();
    for (index, line) in file.lines().enumerate() {
        if let Some(name) = name(line) {
            sections.push((index + 1, name, Vec::new()));
        } else if let Some((.., lines)) = sections.last_mut() {
            lines.push(line);
        }
    }
    sections.into_iter().map(|(line, name, lines)| section(line, name, &lines)).collect()
}

/// The name of the case that begins with this line, if one does.
fn name(line: &str) -> Option<&str> {
    line.strip_prefix("=== ").map(str::trim)
}

fn section(line: usize, name: &str, lines: &[&str]) -> Section {
    let dashes =
        |line: &str| if line.len() >= 4 && line.bytes().all(|byte| byte == b'-') { line.len() } else { 0 };
    let longest = lines.iter().map(|line| dashes(line)).max().unwrap_or(0);
    let divider = lines.iter().position(|line| longest > 0 && dashes(line) == longest);
    let name = name.to_owned();
    let Some(divider) = divider else { return Section { line, name, input: text(lines), expected: None } };
    Section { line, name, input: joined(&lines[..divider]), expected: Some(text(&lines[divider + 1..])) }
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

/// Writes the expected text of one case into its file. The error says why that is not done.
pub(super) fn rewrite(path: &Path, name: &str, expected: &str) -> Result<(), String> {
    // Cells are checked on several threads, and some share a file.
    static WRITING: Mutex<()> = Mutex::new(());
    let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let told = |error: FileError| format!("{}: {error}", path.display());
    let file = read_plain_text(path, LARGEST).map_err(told)?;
    let mut sections = sections(&file);
    let Some(section) = sections.iter_mut().find(|section| section.name == name) else {
        return Err(format!("{}: there is no case \"{name}\" in it any more", path.display()));
    };
    section.expected = Some(expected.to_owned());
    let new = spelled(&file, &sections);
    let comes_back = self::sections(&new)
        .iter()
        .map(|section| &section.expected)
        .eq(sections.iter().map(|section| &section.expected));
    if !comes_back {
        return Err("what comes out has a blank line at its end or one that begins with ===, so it can't be kept in a \
                    file of short cases; give the case a folder"
            .to_owned());
    }
    fs::write(path, new).map_err(|error| told(error.into()))
}

/// A file with these cases, after the remark that it begins with.
fn spelled(file: &str, sections: &[Section]) -> String {
    let mut new: String =
        file.split_inclusive('\n').take_while(|line| name(line.trim_end()).is_none()).collect();
    for (index, section) in sections.iter().enumerate() {
        let gap = if index > 0 { "\n" } else { "" };
        new.extend([gap, "=== ", &section.name, "\n", &section.input]);
        if let Some(said) = &section.expected {
            let divider = "-".repeat(longest_dashes(&section.input).max(longest_dashes(said)) + 1);
            new.extend([&divider, "\n", said]);
        }
    }
    new
}

/// The length of the longest line of dashes; at least 3, so that a divider has 4.
fn longest_dashes(text: &str) -> usize {
    let dashes = text.lines().filter(|line| line.bytes().all(|byte| byte == b'-'));
    dashes.map(str::len).max().unwrap_or(0).max(3)
}
