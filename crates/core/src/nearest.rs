//! Suggests known names for misspelled ones.

/// The name of `names` that is similar enough to `word` to be probably meant.
pub fn nearest<'a>(word: &str, names: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase().replace('_', "-");
    let tolerated = (word.chars().count() / 3).clamp(1, 4);
    let (distance, name) = names.iter().map(|name| (distance(&word, name), *name)).min()?;
    (distance <= tolerated).then_some(name)
}

/// A hint for an unknown name: the most similar known name, or all known names if none is similar.
pub(crate) fn hint(word: &str, names: &[&str]) -> String {
    match nearest(word, names) {
        Some(near) => format!("(did you mean {near:?}?)"),
        None => format!("(one of: {})", names.join(", ")),
    }
}

/// How many characters must be inserted, removed, replaced or swapped with the next one to turn `a` into `b`.
/// Only the first 64 characters count.
fn distance(a: &str, b: &str) -> usize {
    let [a, b] = [a, b].map(|word| word.char_indices().nth(64).map_or(word, |(end, _)| &word[..end]));
    strsim::osa_distance(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_only_if_it_is_similar() {
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
