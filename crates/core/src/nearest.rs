//! Finds the name that was meant by one that is written wrong.

/// The name of `names` that is so like `word` that it was probably meant.
pub fn nearest<'a>(word: &str, names: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase().replace('_', "-");
    let tolerated = (word.chars().count() / 3).clamp(1, 4);
    let (distance, name) = names.iter().map(|name| (distance(&word, name), *name)).min()?;
    (distance <= tolerated).then_some(name)
}

/// A hint for an unknown name: the known name that is nearest to it, or all known names if none is near.
pub(crate) fn hint(word: &str, names: &[&str]) -> String {
    match nearest(word, names) {
        Some(near) => format!("(did you mean {near:?}?)"),
        None => format!("(one of: {})", names.join(", ")),
    }
}

/// How many characters must be put, taken, changed or swapped with the next to make `a` of `b`.
/// Of longer words only the first 64 characters count.
fn distance(a: &str, b: &str) -> usize {
    let [a, b] = [a, b].map(|word| word.char_indices().nth(64).map_or(word, |(end, _)| &word[..end]));
    strsim::osa_distance(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_only_if_it_is_near() {
        for (word, names, found) in [
            ("haed", &["head", "tail"][..], Some("head")),
            ("Full", &["full", "lines"], Some("full")),
            ("xyz", &["full", "lines"], None),
            ("x", &[], None),
        ] {
            assert_eq!(nearest(word, names), found, "{word}");
        }
    }
}
