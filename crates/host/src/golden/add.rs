//! Creates a case from a recorded session, or from a part of it.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::io::{self, BufRead, Read};
use std::ops::RangeInclusive;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use streamfmt_core::redact::{CustomPattern, Redaction, Redactor};

use super::suite::is_case;
use crate::files::FileError;

/// Largest input of a case, in bytes. A case should be the smallest input that shows something.
const LARGEST: usize = 16 << 20;

/// A range of lines in a recording, numbered from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineRange(RangeInclusive<u64>);

impl Default for LineRange {
    fn default() -> Self {
        Self(1..=u64::MAX)
    }
}

impl FromStr for LineRange {
    type Err = String;

    /// Parses `10..20`, which includes both ends. Either end may be omitted, and `7` is that line alone.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "expected line numbers from 1, as in 10..20".to_owned();
        let number = |text: &str, without: u64| match text.trim() {
            "" => Ok(without),
            text => text.parse().ok().filter(|number| *number > 0).ok_or_else(wrong),
        };
        let (first, last) = match text.split_once("..") {
            Some((first, last)) => (number(first, 1)?, number(last.trim_start_matches('='), u64::MAX)?),
            None if text.trim().is_empty() => return Err(wrong()),
            None => (number(text, 1)?, number(text, 1)?),
        };
        if first > last { Err(wrong()) } else { Ok(Self(first..=last)) }
    }
}

/// A newly created case.
#[derive(Debug)]
pub struct NewCase {
    /// The path of its input.
    pub input: PathBuf,
    /// The number of lines in its input.
    pub lines: usize,
    /// The number of redactions, by kind.
    pub taken: BTreeMap<String, u64>,
}

/// Creates the case `name` in the folder `root` from these lines of a recording, named `from` in messages. With `redacts`,
/// secrets and personal data of known shapes are masked.
pub fn add(
    root: &Path,
    name: &str,
    from: &str,
    mut recording: impl BufRead,
    lines: &LineRange,
    redacts: bool,
) -> Result<NewCase, String> {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(part) if !part.to_string_lossy().starts_with('.'));
    if name.is_empty() || name.chars().any(char::is_control) || !Path::new(name).components().all(is_plain) {
        return Err(format!("\"{name}\" is not a valid case name (use one like claude/a-failed-command)"));
    }
    let folder = root.join(name);
    if folder.exists() {
        return Err(format!("{}: already exists", folder.display()));
    }
    let inside = folder.ancestors().skip(1).find(|above| is_case(above));
    if let Some(case) = inside {
        return Err(format!("{}: this is a case; a case can't contain another", case.display()));
    }
    let file_error = |path: &dyn Display| {
        let path = path.to_string();
        move |error: io::Error| format!("{path}: {}", FileError::from(error))
    };
    let mut redactor = if redacts { Redactor::new(&private()) } else { None };
    let (mut kept, mut count) = (Vec::new(), 0);
    for _ in 1..*lines.0.start() {
        if recording.skip_until(b'\n').map_err(file_error(&from))? == 0 {
            break;
        }
    }
    for _ in lines.0.clone() {
        let mut line = Vec::new();
        // Reading one byte over the limit is enough to detect that it is exceeded.
        let most = (LARGEST - kept.len() + 1) as u64;
        if recording.by_ref().take(most).read_until(b'\n', &mut line).map_err(file_error(&from))? == 0 {
            break;
        }
        match &mut redactor {
            Some(redactor) => {
                let mut line = String::from_utf8_lossy(&line).into_owned();
                redactor.json(&mut line);
                kept.extend_from_slice(line.as_bytes());
            }
            None => kept.append(&mut line),
        }
        count += 1;
        if kept.len() > LARGEST {
            return Err(format!(
                "{from}: the selected lines exceed {} MiB; select fewer with --events",
                LARGEST >> 20
            ));
        }
    }
    if count == 0 {
        return Err(format!("{from}: no such line"));
    }
    fs::create_dir_all(&folder).map_err(file_error(&folder.display()))?;
    let input = folder.join("input.ndjson");
    fs::write(&input, kept).map_err(file_error(&input.display()))?;
    let taken = redactor.map(|mut redactor| redactor.take_counts()).unwrap_or_default();
    Ok(NewCase { input, lines: count, taken })
}

/// The secrets and personal data to mask. The names of project folders in histories contain the user's name, too.
fn private() -> Redaction {
    let folder = CustomPattern::new("user", r"-(?:home|Users)-([A-Za-z0-9_.]+)");
    Redaction { secrets: true, emails: true, home: true, own: folder.into_iter().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbers_from_one() {
        for (text, lines) in [
            ("10..20", Some(10..=20)),
            ("10..=20", Some(10..=20)),
            ("..3", Some(1..=3)),
            ("7", Some(7..=7)),
            ("7..", Some(7..=u64::MAX)),
            ("0..2", None),
            ("3..2", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(text.parse().ok(), lines.map(LineRange), "{text}");
        }
    }

    #[test]
    fn a_case_that_would_be_too_large_is_not_made() {
        let root = tempfile::TempDir::with_prefix("streamfmt-add-").unwrap();
        let add = |size: usize| {
            let recording = io::BufReader::new(io::repeat(b'x').take(size as u64));
            add(root.path(), &format!("case-{size}"), "session", recording, &LineRange::default(), false)
        };
        let problem = "session: the selected lines exceed 16 MiB; select fewer with --events";
        assert_eq!(add(LARGEST + 1).unwrap_err(), problem);
        assert!(!root.path().join(format!("case-{}", LARGEST + 1)).exists());
        assert_eq!(add(LARGEST).unwrap().input.metadata().unwrap().len(), LARGEST as u64);
    }
}
