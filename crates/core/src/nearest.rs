//! Finds the name that was meant by one that is written wrong.

/// The name of `names` that is so like `word` that it was probably meant.
pub fn nearest<'a>(word: &str, names: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase().replace('_', "-");
    let tolerated = (word.chars().count() / 3).clamp(1, 4);
    let (distance, name) = names.iter().map(|name| (distance(&word, name), *name)).min()?;
    (distance <= tolerated).then_some(name)
}

/// How many characters must be put, taken, changed or swapped with the next to make `a` of `b`.
/// Of longer words only the first 64 characters count.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(64).collect();
    let b: Vec<char> = b.chars().take(64).collect();
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let changed = rows[i][j] + usize::from(a[i] != b[j]);
            let mut least = changed.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
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
