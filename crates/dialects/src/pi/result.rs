//! The results of calls.

use streamfmt_core::item::{Fact, Id, Item, ToolKind};
use streamfmt_core::json::{Value, ValueKind};

use crate::calls::Calls;
use crate::facts::{fail, filled, nodes, result_content};
use crate::item_builder::ItemBuilder;

use super::messages::sole_text;
use super::wrapped;

/// The most lines of a change that are read.
const MAX_LINES: usize = 20_000;

/// Returns a result of a call, without content.
pub(super) fn of_call(call: &Id, calls: &Calls, builder: &ItemBuilder<'_>) -> Item {
    let mut result = calls.result_of(call, builder);
    result.words = Some(wrapped::words);
    result
}

/// Adds the content and the facts of a result.
pub(super) fn fill(
    content: Option<Value<'_>>,
    details: Option<Value<'_>>,
    is_error: bool,
    result: &mut Item,
) {
    result_content(result, content);
    if is_error {
        fail(result);
    }
    let text = sole_text(result);
    let details = details.filter(|details| details.kind() == ValueKind::Object);
    let [diff, truncation, path] =
        details.map_or([None; 3], |details| details.get_all(["diff", "truncation", "fullOutputPath"]));
    match result.tool_kind {
        Some(ToolKind::Run) => {
            result.data.extend(nodes([("persisted", filled(path))]));
            if let Some(node) = text.filter(|_| is_error) {
                for (name, make) in wrapped::COMMAND_FACTS {
                    result.data.push((name, Fact::Made(make, node)));
                }
            }
        }
        Some(ToolKind::Edit) => {
            let hunks = diff.and_then(Value::decode).map(|diff| hunks(&diff)).unwrap_or_default();
            if !hunks.is_empty() {
                result.data.push(("patch", Fact::List(hunks)));
            }
        }
        Some(ToolKind::Read) if !is_error => {
            if let Some(node) = text {
                result.data.push(("lines", Fact::Made(wrapped::lines_read, node)));
            }
            let total = truncation.and_then(|cut| cut.get("totalLines"));
            result.data.extend(nodes([("total", total)]));
        }
        _ => {}
    }
}

/// Returns the hunks of a change, whose lines have numbers: of the old file, or of the new one if they were added.
///
/// ```text
///    ...
///  6 fn sum() {
/// -7     a - b
/// +7     a + b
///  8 }
/// ```
fn hunks(diff: &str) -> Vec<Fact> {
    let mut hunks = Vec::new();
    let mut hunk = NumberedHunk::default();
    // How many lines more the new file has so far.
    let mut ahead = 0;
    for line in diff.lines().take(MAX_LINES) {
        let Some(line) = NumberedLine::of(line) else {
            hunks.extend(std::mem::take(&mut hunk).into_fact());
            continue;
        };
        if hunk.lines.is_empty() {
            let old = if line.sign == '+' { line.number.saturating_sub(ahead) } else { line.number };
            hunk.starts = [old, old.saturating_add(ahead)];
        }
        match line.sign {
            '+' => {
                ahead += 1;
                hunk.counts[1] += 1;
            }
            '-' => {
                ahead -= 1;
                hunk.counts[0] += 1;
            }
            _ => hunk.counts = hunk.counts.map(|count| count + 1),
        }
        hunk.lines.push(Fact::Text([line.sign.encode_utf8(&mut [0; 4]), line.text].concat()));
    }
    hunks.extend(hunk.into_fact());
    hunks
}

/// A line of a change.
struct NumberedLine<'a> {
    sign: char,
    number: i64,
    text: &'a str,
}

impl<'a> NumberedLine<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let sign = line.chars().next().filter(|sign| matches!(sign, ' ' | '+' | '-'))?;
        let rest = line[1..].trim_start_matches(' ');
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, text) = rest.split_at(digits);
        // The text may be empty, even without the blank.
        Some(Self { sign, number: number.parse().ok()?, text: text.strip_prefix(' ').unwrap_or(text) })
    }
}

/// Lines of a change that follow each other.
#[derive(Default)]
struct NumberedHunk {
    /// The numbers of the first line, in the old and in the new file.
    starts: [i64; 2],
    /// The numbers of lines, in the same way.
    counts: [i64; 2],
    lines: Vec<Fact>,
}

impl NumberedHunk {
    fn into_fact(self) -> Option<Fact> {
        let Self { starts: [old, new], counts: [old_count, new_count], lines } = self;
        (!lines.is_empty()).then(|| {
            Fact::Map(vec![
                ("oldStart", Fact::Int(old)),
                ("oldLines", Fact::Int(old_count)),
                ("newStart", Fact::Int(new)),
                ("newLines", Fact::Int(new_count)),
                ("lines", Fact::List(lines)),
            ])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(diff: &str) -> Vec<[i64; 4]> {
        let number = |parts: &[(&str, Fact)], at: usize| match parts[at].1 {
            Fact::Int(number) => number,
            _ => unreachable!("a number"),
        };
        let of = |fact| match fact {
            Fact::Map(parts) => [0, 1, 2, 3].map(|at| number(&parts, at)),
            _ => unreachable!("a hunk"),
        };
        hunks(diff).into_iter().map(of).collect()
    }

    #[test]
    fn the_numbers_of_lines_make_hunks() {
        for (diff, expected) in [
            (" 1 a\n-2 b\n+2 c\n+3 d\n 3 e", vec![[1, 3, 1, 4]]),
            ("    ...\n  6 a\n- 7 b\n  8 \n    ...\n 19 x\n+19 y\n 20 z", vec![[6, 3, 6, 2], [19, 2, 18, 3]]),
            ("+1 a\n+2 b", vec![[1, 0, 1, 2]]),
            ("-1 a", vec![[1, 1, 1, 0]]),
            ("", vec![]),
            ("@@ -1 +1 @@\nx", vec![]),
            ("+99999999999999999999 a\n-9223372036854775807 b", vec![[i64::MAX, 1, i64::MAX, 0]]),
        ] {
            assert_eq!(numbers(diff), expected, "{diff}");
        }
    }
}
