//! Compares text with marked roles (`roles`) and the same text without marks (`text`).

use std::collections::BTreeSet;

/// A state in reading marked text: a byte offset, and whether it is inside a mark.
type ReadingState = (usize, bool);

/// The first line of `text`, from 1, at which `marked` isn't `text` with marked roles. `None` if there is no difference.
///
/// A mark is `<<role::…>>`, never inside another mark and never across a line feed, and a `<` in the text is doubled. A `>>`, or
/// something like a mark, may also be part of the text, so all possible readings are tracked in parallel.
pub(super) fn first_difference(marked: &str, text: &str) -> Option<usize> {
    let mut ways = BTreeSet::from([(0, false)]);
    let mut line = 1;
    for character in text.chars() {
        let mut buffer = [0; 4];
        let written = if character == '<' { "<<" } else { character.encode_utf8(&mut buffer) };
        let mut after = BTreeSet::new();
        for (place, is_inside) in reached(marked, &ways) {
            if marked[place..].starts_with(written) && !(is_inside && character == '\n') {
                after.insert((place + written.len(), is_inside));
            }
        }
        if after.is_empty() {
            return Some(line);
        }
        ways = after;
        line += usize::from(character == '\n');
    }
    (!reached(marked, &ways).contains(&(marked.len(), false))).then_some(line)
}

/// The states, and those after marks that begin or end here.
fn reached(marked: &str, ways: &BTreeSet<ReadingState>) -> BTreeSet<ReadingState> {
    let mut reached = BTreeSet::new();
    let mut left: Vec<ReadingState> = ways.iter().copied().collect();
    while let Some((place, is_inside)) = left.pop() {
        if reached.insert((place, is_inside)) {
            let rest = &marked[place..];
            let length = if is_inside { rest.starts_with(">>").then_some(2) } else { begin_length(rest) };
            left.extend(length.map(|length| (place + length, !is_inside)));
        }
    }
    reached
}

/// The length of the beginning of a mark, if there is one here.
fn begin_length(rest: &str) -> Option<usize> {
    let role = rest.strip_prefix("<<")?;
    let length =
        role.find(|character: char| !(character.is_ascii_alphanumeric() || "._-".contains(character)))?;
    (length > 0 && role[length..].starts_with("::")).then_some(2 + length + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_the_only_allowed_difference() {
        for (marked, text, difference) in [
            ("<<tool.name::Bash>> ls\n", "Bash ls\n", None),
            ("<<a::x>><<b.c::y>>", "xy", None),
            ("a << b", "a < b", None),
            ("<<code::<<b>>>", "<b>", None),
            ("<<code::a >> b>>", "a >> b", None),
            ("<<<<tool.name::x>>", "<<tool.name::x>>", None),
            ("", "", None),
            ("one\n<<tool.name::Bash>>\n", "one\nbash\n", Some(2)),
            ("one\n", "one\n\n", Some(2)),
            ("one\ntwo\n", "one\n", Some(2)),
            ("a < b", "a < b", Some(1)),
            // Unclosed marks, and ends without a beginning, are text.
            ("a >> b", "a  b", Some(1)),
            ("<<a::x>>>>", "x", Some(1)),
            ("<<a::x", "x", Some(1)),
            ("<<a::x\ny>>", "x\ny", Some(1)),
        ] {
            assert_eq!(first_difference(marked, text), difference, "{marked:?} {text:?}");
        }
    }
}
