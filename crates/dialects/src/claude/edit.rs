//! Reconstructs the file after an edit from the edit's structured result.
//!
//! Which fields the result has depends on the tool, its version and the size of the file:
//!
//! ```text
//! Edit          originalFile, oldString, newString          one replacement
//! MultiEdit     originalFileContents, edits                 several, applied in order
//! both          structuredPatch                             the resulting change
//! ```
//!
//! The strings are the requested edit, the patch is the edit that was made. They differ if the user changed the proposal, if
//! the agent matched typographic quotes with plain ones, or if deleting a line also deleted its line feed. In these cases the patch is
//! used, provided that it applies to the original.

use std::borrow::Cow;
use std::str::SplitInclusive;

use streamfmt_core::json::{Value, ValueKind};

/// The most bytes that are read and written to reconstruct one file: even a short result may contain edits that multiply the text.
const MAX_WORK: usize = 64 << 20;

/// Whether only the structured results of edits have a field of this name.
pub(super) fn is_edit_field(name: &[u8]) -> bool {
    matches!(name, b"oldString" | b"edits")
}

/// Returns the file after the edit, or `None` if the result has too few fields to reconstruct it.
pub(super) fn modified(structured: Value<'_>) -> Option<String> {
    let original = text(structured, ["originalFile", "originalFileContents"]);
    let edited = edited(structured, original.as_deref());
    let patch = structured.get("structuredPatch").filter(|patch| patch.items().next().is_some());
    let patched = patch.zip(original).and_then(|(patch, original)| patched(&original, patch));
    match (edited, patched) {
        // The patch may not show whether the file ends in a line feed.
        (Some(edited), Some(patched)) if edited.lines().eq(patched.lines()) => Some(edited),
        (edited, patched) => patched.or(edited),
    }
}

/// Returns the string under the first of these names that is present: versions and tools spell them differently.
fn text<'a>(value: Value<'a>, names: [&str; 2]) -> Option<Cow<'a, str>> {
    names.into_iter().find_map(|name| value.get(name)?.decode())
}

/// Returns the original with all replacements. A new file starts empty.
fn edited(structured: Value<'_>, original: Option<&str>) -> Option<String> {
    let mut work = MAX_WORK;
    let Some(edits) = structured.get("edits").filter(|edits| edits.kind() == ValueKind::Array) else {
        return replaced(original, structured, &mut work);
    };
    let mut edited = original.map(str::to_owned);
    for edit in edits.items() {
        edited = Some(replaced(edited.as_deref(), edit, &mut work)?);
    }
    edited
}

/// Returns the text with one replacement. If the new string is missing, the old one is deleted; if the old one is empty, the new one is
/// inserted at the start. `work`: the bytes that may still be read and written.
fn replaced(original: Option<&str>, edit: Value<'_>, work: &mut usize) -> Option<String> {
    let mut old = text(edit, ["oldString", "old_string"])?;
    let mut new = match ["newString", "new_string"].into_iter().find_map(|name| edit.get(name)) {
        Some(new) if !new.is_null() => new.decode()?,
        _ => Cow::Borrowed(""),
    };
    // Only an edit that creates a file needs no original.
    let original = original.or(old.is_empty().then_some(""))?;
    if original.contains("\r\n") && !original.contains(&*old) {
        // The model reads and writes lines that end in LF alone.
        old = with_carriage_returns(&old).into();
        new = with_carriage_returns(&new).into();
    }
    let is_all = ["replaceAll", "replace_all"]
        .into_iter()
        .any(|name| edit.get(name).and_then(Value::bool) == Some(true));
    let most = if is_all && !old.is_empty() { usize::MAX } else { 1 };
    *work = work.checked_sub(original.len())?;
    let count = original.matches(&*old).take(most).count();
    *work = work.checked_sub(original.len().checked_add(count.checked_mul(new.len())?)?)?;
    Some(original.replacen(&*old, &new, count))
}

fn with_carriage_returns(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// The lines of a file that the patch hasn't reached, each with its line ending.
type Rest<'a> = SplitInclusive<'a, char>;

/// Applies a patch to the original. `None` if a line that the patch keeps or removes differs from the original.
fn patched(original: &str, patch: Value<'_>) -> Option<String> {
    let end = if original.contains("\r\n") { "\r\n" } else { "\n" };
    let mut rest = original.split_inclusive('\n');
    let mut next = 1;
    let mut out = String::with_capacity(original.len());
    for hunk in patch.items() {
        let start = hunk.get("oldStart")?.int()?.max(1);
        if start < next {
            return None;
        }
        while next < start {
            // A hunk that only adds lines may start after the last line.
            let Some(line) = rest.next() else { break };
            out.push_str(line);
            next += 1;
        }
        next = apply(hunk, &mut rest, start, end, &mut out)?;
    }
    out.extend(rest);
    Some(out)
}

/// Applies a hunk that starts at the first line of `rest`. Returns the number of the line after it.
fn apply(hunk: Value<'_>, rest: &mut Rest<'_>, start: i64, end: &str, out: &mut String) -> Option<i64> {
    let mut next = start;
    let mut is_added = false;
    for line in hunk.get("lines")?.items() {
        let line = line.decode()?;
        // An empty context line may lack even its mark.
        let mark = line.chars().next().unwrap_or(' ');
        let content = line.get(mark.len_utf8()..).unwrap_or_default();
        match mark {
            ' ' | '-' => {
                let there = rest.next().filter(|there| without_end(there) == without_end(content))?;
                next += 1;
                if mark == ' ' {
                    out.push_str(there);
                }
            }
            '+' => {
                if !out.is_empty() && !out.ends_with('\n') {
                    out.push_str(end);
                }
                out.push_str(without_end(content));
                out.push_str(end);
            }
            // "\ No newline at end of file": applies to the line above.
            '\\' => {
                if is_added {
                    out.truncate(out.len() - end.len());
                }
            }
            _ => return None,
        }
        is_added = mark == '+';
    }
    Some(next)
}

fn without_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use streamfmt_core::json::Record;

    fn modified_by(structured: &str) -> Option<String> {
        let record = Record::from_line(structured.to_owned()).expect("a structured result");
        modified(record.root())
    }

    #[test]
    fn an_edit_is_applied_whatever_fields_it_has() {
        for (structured, expected) in [
            // The requested edit.
            (r#"{"originalFile":"a a","oldString":"a","newString":"b"}"#, Some("b a")),
            (r#"{"originalFile":"a a","oldString":"a","newString":"b","replaceAll":true}"#, Some("b b")),
            (r#"{"originalFile":"a a","oldString":"a","newString":"b","replaceAll":null}"#, Some("b a")),
            (r#"{"originalFile":"a a","old_string":"a","new_string":"b","replace_all":true}"#, Some("b b")),
            (r#"{"originalFile":"a","oldString":"a","newString":"$& \\1"}"#, Some("$& \\1")),
            (r#"{"originalFile":"aaa","oldString":"aa","newString":"b","replaceAll":true}"#, Some("ba")),
            (r#"{"originalFile":"a","oldString":"a","newString":"a"}"#, Some("a")),
            // Without a new text the old one is deleted.
            (r#"{"originalFile":"a b a","oldString":"a "}"#, Some("b a")),
            (r#"{"originalFile":"a b a","oldString":"a","newString":null}"#, Some(" b a")),
            (r#"{"originalFile":"a b a","oldString":"a","newString":"","replaceAll":true}"#, Some(" b ")),
            (r#"{"originalFile":"a b a","oldString":"a","replaceAll":true}"#, Some(" b ")),
            (r#"{"originalFile":"a","oldString":"a","newString":1}"#, None),
            // Text that isn't in the file isn't replaced.
            (r#"{"originalFile":"a","oldString":"b","newString":"c"}"#, Some("a")),
            (r#"{"originalFile":"a","oldString":"b"}"#, Some("a")),
            // An edit that creates a file.
            (r#"{"originalFile":"","oldString":"","newString":"a\n"}"#, Some("a\n")),
            (r#"{"originalFile":null,"oldString":"","newString":"a"}"#, Some("a")),
            (r#"{"oldString":"","newString":"a"}"#, Some("a")),
            (r#"{"originalFile":"b","oldString":"","newString":"a","replaceAll":true}"#, Some("ab")),
            // Too few fields.
            (r#"{"oldString":"a","newString":"b"}"#, None),
            (r#"{"originalFile":null,"oldString":"a","newString":"b"}"#, None),
            (r#"{"originalFile":"a","newString":"b"}"#, None),
            (r#"{"originalFile":"a","oldString":null,"newString":"b"}"#, None),
            (r#"{"originalFile":7,"oldString":"a","newString":"b"}"#, None),
            (r#"{"originalFile":"a","structuredPatch":[]}"#, None),
            // Files with CRLF line endings.
            (r#"{"originalFile":"a\r\nb\r\n","oldString":"a\nb","newString":"c\nd"}"#, Some("c\r\nd\r\n")),
            (r#"{"originalFile":"a\r\nb\r\n","oldString":"a\r\nb","newString":"c"}"#, Some("c\r\n")),
            (r#"{"originalFile":"a\r\nb\r\n","oldString":"a","newString":"c"}"#, Some("c\r\nb\r\n")),
            (r#"{"originalFile":"a\r\nb\r\n","oldString":"a\n"}"#, Some("b\r\n")),
            // Several edits.
            (
                r#"{"originalFileContents":"a b c","edits":[{"old_string":"a","new_string":"b"},{"old_string":"b","new_string":"x","replace_all":true},{"old_string":" c"}]}"#,
                Some("x x"),
            ),
            (r#"{"originalFileContents":"a","edits":[]}"#, Some("a")),
            (
                r#"{"originalFileContents":null,"edits":[{"old_string":"","new_string":"a"},{"old_string":"a","new_string":"b"}]}"#,
                Some("b"),
            ),
            (r#"{"originalFileContents":"","edits":[{"oldString":"","newString":"a"}]}"#, Some("a")),
            (r#"{"originalFileContents":"a","edits":[{"old_string":"a","new_string":"b"},"odd"]}"#, None),
            (r#"{"originalFileContents":"a","edits":null,"oldString":"a","newString":"b"}"#, Some("b")),
            (r#"{"edits":[]}"#, None),
        ] {
            assert_eq!(modified_by(structured).as_deref(), expected, "{structured}");
        }
    }

    #[test]
    fn a_patch_wins_if_it_applies() {
        let patch = |start: u32, lines: &str| {
            format!(r#""structuredPatch":[{{"oldStart":{start},"lines":[{lines}]}}]"#)
        };
        for (told, patch, expected) in [
            // The user changed the proposal.
            (
                r#""originalFile":"a\nb\n","oldString":"b","newString":"c","userModified":true"#,
                patch(1, r#"" a","-b","+d""#),
                "a\nd\n",
            ),
            // The line feed is deleted with the old text.
            (
                r#""originalFile":"a\nb\nc\n","oldString":"b","newString":"""#,
                patch(1, r#"" a","-b"," c""#),
                "a\nc\n",
            ),
            // The file has other quotes.
            (
                r#""originalFile":"a\n‘b’\n","oldString":"'b'","newString":"c""#,
                patch(2, r#""-‘b’","+c""#),
                "a\nc\n",
            ),
            (r#""originalFile":"a\nb\nc""#, patch(2, r#""-b"," c""#), "a\nc"),
            (r#""originalFile":"a""#, patch(1, r#"" a","+b""#), "a\nb\n"),
            (
                r#""originalFile":"a""#,
                patch(1, r#"" a","\\ No newline at end of file","+b","\\ No newline at end of file""#),
                "a\nb",
            ),
            (r#""originalFile":"a""#, patch(1, r#""-a","\\ No newline at end of file","+b""#), "b\n"),
            (r#""originalFile":"a\r\nb\r\n""#, patch(1, r#"" a","+c"," b""#), "a\r\nc\r\nb\r\n"),
            (r#""originalFile":"a\n\nb\n""#, patch(1, r#"" a","","-b""#), "a\n\n"),
            (r#""originalFile":"""#, patch(0, r#""+a""#), "a\n"),
            // Where both agree, the strings determine how the file ends.
            (r#""originalFile":"a b","oldString":"b","newString":"c""#, patch(1, r#""-a b","+a c""#), "a c"),
            // A patch of another file, or of a part of this one.
            (
                r#""originalFile":"old content","oldString":"old","newString":"new""#,
                patch(1, r#""-old","+new""#),
                "new content",
            ),
            (r#""originalFile":"a","oldString":"a","newString":"b""#, patch(9, r#""-a","+c""#), "b"),
            (r#""originalFile":"a","oldString":"a","newString":"b""#, patch(1, r#""-a",7"#), "b"),
            (
                r#""originalFile":"a","oldString":"a","newString":"b""#,
                r#""structuredPatch":null"#.to_owned(),
                "b",
            ),
            (
                r#""originalFile":"a","oldString":"a","newString":"b""#,
                r#""structuredPatch":[{}]"#.to_owned(),
                "b",
            ),
            (
                r#""originalFile":"a","oldString":"a","newString":"b""#,
                r#""structuredPatch":"x""#.to_owned(),
                "b",
            ),
        ] {
            assert_eq!(
                modified_by(&format!("{{{told},{patch}}}")).as_deref(),
                Some(expected),
                "{told} {patch}"
            );
        }
        let two = r#"{"originalFile":"1\n2\n3\n4\n","structuredPatch":[{"oldStart":1,"lines":["-1"]},{"oldStart":3,"lines":[" 3","+x"]}]}"#;
        assert_eq!(modified_by(two).as_deref(), Some("2\n3\nx\n4\n"));
        let back = two.replace(r#""oldStart":3"#, r#""oldStart":1"#);
        assert_eq!(modified_by(&back), None);
    }

    #[test]
    fn edits_that_grow_without_end_make_no_file() {
        let (many, long) = ("a".repeat(100_000), "b".repeat(100_000));
        let all =
            format!(r#"{{"originalFile":"{many}","oldString":"a","newString":"{long}","replaceAll":true}}"#);
        assert_eq!(modified_by(&all), None);
        let edits = vec![r#"{"old_string":"c","new_string":"d"}"#; 10_000].join(",");
        assert_eq!(modified_by(&format!(r#"{{"originalFileContents":"{many}","edits":[{edits}]}}"#)), None);
    }
}
