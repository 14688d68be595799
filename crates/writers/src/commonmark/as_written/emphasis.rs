//! Which emphasis is emphasis, and which is a product, a glob or a name.

use std::ops::Range;

/// The most marks next to each other that are skipped. Nobody writes more.
const MAX_MARKS: usize = 8;

/// The longest name between underscores, in bytes.
const MAX_NAME: usize = 100;

/// Whether the marks around `span` of `source` format it. `marks`: how many they are on each side.
pub(super) fn formats(source: &str, span: &Range<usize>, marks: usize) -> bool {
    let is_underscore = source[span.start..].starts_with('_');
    let Some(inner) = source.get(span.start + marks..span.end - marks) else { return true };
    if is_underscore && is_name(inner, marks) {
        return false;
    }
    let joined = usize::from(joins_before(source, span.start)) + usize::from(joins_behind(source, span.end));
    let (first, last) = (inner.chars().next(), inner.chars().next_back());
    let is_bracket = matches!(first, Some(')' | ']' | '}')) || matches!(last, Some('(' | '[' | '{'));
    let is_odd =
        matches!(first, Some('.' | '/' | '\\' | ',' | ';' | ':')) || matches!(last, Some('/' | '\\'));
    !is_bracket && (joined == 0 || joined == 1 && !is_underscore && !is_odd)
}

/// Whether the words between underscores are a part of a name: `__init__`, `__LINE__`, `_my_field_`.
fn is_name(inner: &str, marks: usize) -> bool {
    if inner.len() > MAX_NAME {
        return false;
    }
    let is_word = inner.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let has_one_case = !inner.bytes().any(|byte| byte.is_ascii_lowercase())
        || !inner.bytes().any(|byte| byte.is_ascii_uppercase());
    is_word && (inner.contains('_') || marks == 2 && has_one_case)
}

/// Whether the word before marks continues behind them.
fn joins_before(source: &str, at: usize) -> bool {
    let before = source[..at].chars().rev().take(MAX_MARKS).find(|ch| !is_mark(*ch));
    before.is_some_and(|ch| {
        ch.is_ascii_alphanumeric() || matches!(ch, ')' | ']' | '}' | '/' | '\\' | '.' | '$' | '@')
    })
}

/// Whether the word behind marks continues the one before them.
fn joins_behind(source: &str, at: usize) -> bool {
    let mut behind = source[at..].chars().take(MAX_MARKS).skip_while(|ch| is_mark(*ch));
    match behind.next() {
        Some('.' | ':') => behind.next().is_some_and(|ch| ch.is_ascii_alphanumeric()),
        Some('(' | '[' | '{' | '/' | '\\' | '$' | '@') => true,
        Some(ch) => ch.is_ascii_alphanumeric(),
        None => false,
    }
}

fn is_mark(ch: char) -> bool {
    matches!(ch, '*' | '_' | '~')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_inside_of_words_formulas_and_globs_format_nothing() {
        for (source, marked, expected) in [
            ("a *b* c", "*b*", true),
            ("(*b*), c", "*b*", true),
            ("**A**pplication", "**A**", true),
            ("**/usr/bin**: all", "**/usr/bin**", true),
            ("**.env**", "**.env**", true),
            ("漢*強調*字", "*強調*", true),
            ("an _id_.", "_id_", true),
            ("__Note__: a", "__Note__", true),
            ("__two words__", "__two words__", true),
            ("2*3*4", "*3*", false),
            ("x**2 + y**2", "**2 + y**", false),
            ("(a+b)*c*(d)", "*c*", false),
            ("a/*.md, b/*.rs", "*.md, b/*", false),
            ("*.md, b/*.rs", "*.md, b/*", false),
            ("count(*), sum(*)", "*), sum(*", false),
            ("__init__.py", "__init__", false),
            ("__init__", "__init__", false),
            ("__LINE__ a", "__LINE__", false),
            ("_my_field_", "_my_field_", false),
            ("a/_b_/c", "_b_", false),
        ] {
            let start = source.find(marked).expect("marked");
            let marks = marked.bytes().take_while(|byte| matches!(byte, b'*' | b'_')).count();
            assert_eq!(formats(source, &(start..start + marked.len()), marks), expected, "{source}");
        }
    }
}
