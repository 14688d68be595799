//! Finds source locations in the output of compilers and tests: `src/cart.rs:41:9`, `src/cart.ts(41,9)`, `File "cart.py", line 41`.

use crate::highlight;

/// The most bytes of a text that are searched.
const MAX_TEXT: usize = 64 * 1024;
/// The number of bytes before a location that are searched for the kind of its message.
const BEFORE: usize = 200;
/// The longest path, in bytes.
const MAX_PATH: usize = 300;

/// Folders of third-party code, which is rarely the cause.
const FOREIGN: [&str; 6] = ["node_modules", "site-packages", "dist-packages", ".cargo", ".rustup", "rustc"];

/// A source location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileLine<'t> {
    /// The path in the text.
    pub(super) file: &'t str,
    /// The line number, from 1.
    pub(super) line: u32,
}

/// Returns the first location in a text that `is_wanted`, without those of warnings.
pub(super) fn first(text: &str, is_wanted: impl Fn(FileLine<'_>) -> bool) -> Option<FileLine<'_>> {
    let text = &text[..streamfmt_core::clip::floor(text, MAX_TEXT)];
    memchr::memchr3_iter(b':', b'(', b'"', text.as_bytes()).find_map(|at| {
        let (number, rest) = number(match text.as_bytes()[at] {
            b'"' => text[at..].strip_prefix("\", line ")?,
            _ => &text[at + 1..],
        })?;
        let is_closed = text.as_bytes()[at] != b'(' || rest.starts_with([',', ')']);
        let is_of_path = |ch: char| ch.is_alphanumeric() || "_-./\\+@~".contains(ch);
        let start = text[..at].char_indices().rev().take_while(|(_, ch)| is_of_path(*ch)).last()?.0;
        let place = FileLine { file: &text[start..at], line: number };
        // After `https:` and `C:`, the path isn't complete.
        let is_whole = !text[..start].ends_with(':');
        let is_place = is_closed && is_whole && is_source(place.file) && is_wanted(place);
        (is_place && !is_warned_of(&text[..start], rest)).then_some(place)
    })
}

/// Whether the message of a location is a warning rather than an error. The message is after the location (`a.c:1:2: warning: …`), or
/// else before it.
fn is_warned_of(before: &str, behind: &str) -> bool {
    let rest = behind.trim_start_matches(|ch: char| ch.is_ascii_digit() || ":,)".contains(ch));
    let column = &behind[..behind.len() - rest.len()];
    let rest = rest.strip_prefix(" - ").or_else(|| rest.strip_prefix(' ').filter(|_| column.ends_with(':')));
    if let Some(rest) = rest {
        for (word, is_warning) in [("warning", true), ("Warning", true), ("error", false), ("Error", false)] {
            if rest.starts_with(word) {
                return is_warning;
            }
        }
    }
    let before = before.as_bytes();
    let before = &before[before.len().saturating_sub(BEFORE)..];
    let last = |word: &str| memchr::memmem::rfind(before, word.as_bytes());
    last("arning") > last("rror").max(last("anic"))
}

/// Parses the number at the start of a text. Returns it with the rest.
fn number(text: &str) -> Option<(u32, &str)> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = text[..end].parse().ok().filter(|number| (1..10_000_000).contains(number))?;
    Some((number, &text[end..]))
}

/// Whether a path is a source file that may belong to the project.
fn is_source(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let is_code = name
        .rsplit_once('.')
        .is_some_and(|(stem, ending)| !stem.is_empty() && highlight::lines(ending, "").is_some());
    let is_foreign = path.split(['/', '\\']).any(|part| FOREIGN.contains(&part));
    is_code && path.len() <= MAX_PATH && !is_foreign && !path.starts_with("/usr/") && !path.contains("//")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_of_compilers_and_tests_are_found() {
        for (text, expected) in [
            ("thread 'a' panicked at src/cart.rs:41:9:", Some(("src/cart.rs", 41))),
            ("  --> /home/dev/shop/src/cart.rs:3:5", Some(("/home/dev/shop/src/cart.rs", 3))),
            ("src/a.ts(12,5): error TS2304", Some(("src/a.ts", 12))),
            ("\t./main.go:12: undefined: x", Some(("./main.go", 12))),
            ("    at f (src/a.test.js:3:5)", Some(("src/a.test.js", 3))),
            ("E   test/test_a.py:7: AssertionError", Some(("test/test_a.py", 7))),
            ("  File \"app/x.py\", line 12, in f", Some(("app/x.py", 12))),
            ("at x (/p/node_modules/y/z.js:1:2)\nat w (src/w.js:9:1)", Some(("src/w.js", 9))),
            ("/rustc/0123/library/core/src/a.rs:1:2\nsrc/é.rs:2", Some(("src/é.rs", 2))),
            ("warning: unused\n --> src/a.rs:1:2\nerror\n --> src/b.rs:2:2", Some(("src/b.rs", 2))),
            ("a.c:3:5: warning: x\nb.c:9:1: error: y", Some(("b.c", 9))),
            ("warning: unused --> src/a.rs:1:2 error[E1] --> src/b.rs:2:2", Some(("src/b.rs", 2))),
            ("https://host.rs:443/a.rs:1", None),
            ("C:\\a\\b.rs:3", None),
            ("12:30:45 it began", None),
            ("example.com:443", None),
            ("src/cart.rs: no line", None),
            ("src/cart.rs:0", None),
            (".rs:3", None),
            ("f(3)", None),
            ("", None),
        ] {
            let found = first(text, |_| true).map(|place| (place.file, place.line));
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn only_places_that_are_wanted_count() {
        let place = first("src/a.rs:1\nsrc/b.rs:2", |place| place.file.ends_with("b.rs"));
        assert_eq!(place, Some(FileLine { file: "src/b.rs", line: 2 }));
    }
}
