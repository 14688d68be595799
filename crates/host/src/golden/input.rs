//! The input of a case: the bytes of a stream and, in a live case, steps between its lines.
//!
//! ```text
//! {"type":"stream_event", …}
//! @take                         the sink takes the updates now
//! {"type":"stream_event", …}
//! @wait 50ms                    time passes; a sink repaints at its pace
//! ```

use std::borrow::Cow;
use std::time::Duration;

use crate::json::{self, Record, Value};

/// The input of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseInput {
    /// The whole input is read, and then the output is compared.
    Whole(Vec<u8>),
    /// The sink's content is also compared in between.
    Live(Vec<LiveStep>),
}

/// A step in a live case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiveStep {
    /// Bytes to read.
    Read(Vec<u8>),
    /// The sink takes the updates.
    Take,
    /// Time passes.
    Wait(Duration),
}

impl CaseInput {
    /// Parses the input of a case. One with an `@take` or `@wait` line is live. The error describes an invalid step.
    pub(super) fn read(bytes: &[u8], patches: &[Patch]) -> Result<Self, String> {
        let mut steps: Vec<LiveStep> = Vec::new();
        for (number, line) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
            let step = step(line).map_err(|wrong| format!("line {}: {wrong}", number + 1))?;
            match (step, steps.last_mut()) {
                (Some(step), _) => steps.push(step),
                (None, Some(LiveStep::Read(read))) => read.extend_from_slice(&patched(line, patches)),
                (None, _) => steps.push(LiveStep::Read(patched(line, patches).into_owned())),
            }
        }
        Ok(match &mut steps[..] {
            [] => Self::Whole(Vec::new()),
            [LiveStep::Read(bytes)] => Self::Whole(std::mem::take(bytes)),
            _ => Self::Live(steps),
        })
    }

    /// The bytes of all steps.
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        match self {
            Self::Whole(bytes) => Cow::Borrowed(bytes),
            Self::Live(steps) => {
                let read = |step: &LiveStep| {
                    if let LiveStep::Read(bytes) = step { bytes.clone() } else { Vec::new() }
                };
                Cow::Owned(steps.iter().flat_map(read).collect())
            }
        }
    }
}

/// Parses a line as a step. Returns `None` if it isn't one.
fn step(line: &[u8]) -> Result<Option<LiveStep>, String> {
    let Some(words) = line.strip_prefix(b"@").and_then(|words| std::str::from_utf8(words).ok()) else {
        return Ok(None);
    };
    match words.trim().split_once(' ').unwrap_or((words.trim(), "")) {
        ("take", "") => Ok(Some(LiveStep::Take)),
        ("wait", time) => {
            let wrong = || format!("\"{time}\" is not a duration (use one like 50ms or 2s)");
            let time = time.trim();
            let (number, unit) = if let Some(number) = time.strip_suffix("ms") {
                (number, 1)
            } else {
                (time.strip_suffix('s').ok_or_else(wrong)?, 1000)
            };
            let number: u32 = number.trim().parse().map_err(|_| wrong())?;
            Ok(Some(LiveStep::Wait(Duration::from_millis(u64::from(number) * unit))))
        }
        ("take", _) => Err("@take takes no arguments".to_owned()),
        _ => Ok(None),
    }
}

/// A replacement for a value, in each line that has a value at this pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The parts of the JSON pointer, unescaped.
    pointer: Vec<String>,
    /// The new value as JSON.
    value: String,
}

impl Patch {
    /// Creates a replacement of the value at a JSON pointer such as `/message/id`. `value` is JSON.
    pub fn new(pointer: &str, value: String) -> Result<Self, String> {
        let Some(parts) = pointer.strip_prefix('/') else {
            return Err(format!("\"{pointer}\" is not a JSON pointer (it must begin with /)"));
        };
        let parts = parts.split('/').map(|part| part.replace("~1", "/").replace("~0", "~")).collect();
        Ok(Self { pointer: parts, value })
    }

    fn place<'a>(&self, record: &'a Record) -> Option<Value<'a>> {
        json::at(record.root(), &self.pointer)
    }
}

/// Applies all patches to a line.
fn patched<'a>(line: &'a [u8], patches: &[Patch]) -> Cow<'a, [u8]> {
    let mut line = Cow::Borrowed(line);
    for patch in patches {
        let Some(record) =
            std::str::from_utf8(&line).ok().and_then(|text| Record::from_line(text.to_owned()).ok())
        else {
            break;
        };
        let Some(value) = patch.place(&record) else { continue };
        let text = record.text();
        let start = value.raw().as_ptr() as usize - text.as_ptr() as usize;
        let rest = &text[start + value.raw().len()..];
        line = Cow::Owned([&text[..start], &patch.value, rest].concat().into_bytes());
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patched_with(pointer: &str, line: &str) -> String {
        let patch = Patch::new(pointer, "\"s-1\"".to_owned()).unwrap();
        String::from_utf8(CaseInput::read(line.as_bytes(), &[patch]).unwrap().bytes().into_owned()).unwrap()
    }

    #[test]
    fn patches_replace_existing_values() {
        let lines = "{\"id\": 7, \"m\":{\"id\":\"x\"}}\nno json\n{\"other\":[1,{\"id\":2}]}\n";
        assert_eq!(patched_with("/id", lines), lines.replace(": 7", ": \"s-1\""));
        assert_eq!(patched_with("/m/id", lines), lines.replace("\"x\"", "\"s-1\""));
        assert_eq!(patched_with("/other/1/id", lines), lines.replace(":2}", ":\"s-1\"}"));
        assert_eq!(patched_with("/none", lines), lines);
        assert!(Patch::new("id", String::new()).is_err());
    }

    #[test]
    fn steps_make_an_input_live() {
        let input = CaseInput::read(b"{}\n@take\n@wait 50ms\n{}\n{}\n@wait 2s", &[]).unwrap();
        let steps = [
            LiveStep::Read(b"{}\n".to_vec()),
            LiveStep::Take,
            LiveStep::Wait(Duration::from_millis(50)),
            LiveStep::Read(b"{}\n{}\n".to_vec()),
            LiveStep::Wait(Duration::from_secs(2)),
        ];
        assert_eq!(input, CaseInput::Live(steps.into()));
        assert_eq!(*input.bytes(), *b"{}\n{}\n{}\n");
        assert_eq!(
            CaseInput::read(b"@someone said\n", &[]),
            Ok(CaseInput::Whole(b"@someone said\n".to_vec()))
        );
        let error = CaseInput::read(b"{}\n@wait soon\n", &[]).unwrap_err();
        assert_eq!(error, "line 2: \"soon\" is not a duration (use one like 50ms or 2s)");
    }
}
