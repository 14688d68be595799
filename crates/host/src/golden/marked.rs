//! Text with its roles marked (`roles`), held against the same without marks (`text`).

use std::collections::BTreeSet;

/// Where `marked` is not `text` with roles marked: the number of the line of `text`, from 1. `None`: it is.
///
/// A mark is `<<role::…>>`, and a `<` of the text is doubled. A `>>`, or what looks like a mark, may be of the text as well, so all
/// ways to read it are followed beside each other.
pub(super) fn first_difference(marked: &str, text: &str) -> Option<usize> {
    let mut places = BTreeSet::from([0]);
    let mut line = 1;
    for character in text.chars() {
        let mut buffer = [0; 4];
        let written = if character == '<' { "<<" } else { character.encode_utf8(&mut buffer) };
        let mut after = BTreeSet::new();
        for place in reached(marked, &places) {
            if marked[place..].starts_with(written) {
                after.insert(place + written.len());
            }
        }
        if after.is_empty() {
            return Some(line);
        }
        places = after;
        line += usize::from(character == '\n');
    }
    (!reached(marked, &places).contains(&marked.len())).then_some(line)
}

/// The places, and those that marks lead to from there.
fn reached(marked: &str, places: &BTreeSet<usize>) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut left: Vec<usize> = places.iter().copied().collect();
    while let Some(place) = left.pop() {
        if reached.insert(place) {
            let rest = &marked[place..];
            left.extend(begin_length(rest).map(|length| place + length));
            left.extend(rest.starts_with(">>").then_some(place + 2));
        }
    }
    reached
}

/// The length of the beginning of a mark, if one stands here.
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
    fn marks_are_the_only_difference_that_there_may_be() {
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
        ] {
            assert_eq!(first_difference(marked, text), difference, "{marked:?} {text:?}");
        }
    }
}
