//! Escapes text within a line, so that Markdown shows it verbatim.
//!
//! No text becomes markup, HTML or an entity, ends the block that contains it, mentions anyone (`@name`), refers to an
//! issue (`#12`, `!12`, `GH-12`), closes one, or is a command to GitLab (`/close` at the start of a line). An empty comment
//! is inserted into a reference, since hosts find references after parsing the markup. All else is escaped by a backslash,
//! only where needed, so that the source stays readable.

use std::fmt::Write;
use std::iter;

use crate::byte_set::byte_set;
use crate::commonmark;
use crate::link_text::misleads;

/// Writes `text`, which has no line feed. `begins`: whether it is at the start of a line.
pub(super) fn text(text: &str, begins: bool, out: &mut String) {
    let mut rest = if begins { line_start(text, out) } else { text };
    let mut before = None;
    let mut has_formula = None;
    while let Some(at) = first_special(rest) {
        let (plain, behind) = rest.split_at(at);
        out.push_str(plain);
        before = plain.chars().next_back().or(before);
        let Some(ch) = behind.chars().next() else { return };
        let used = if ch == '$' {
            // Only pairs of dollar signs have a meaning.
            let is_pair = || memchr::memchr_iter(b'$', text.as_bytes()).nth(1).is_some();
            out.push_str(if *has_formula.get_or_insert_with(is_pair) { "\\$" } else { "$" });
            1
        } else {
            special(ch, behind, before, out)
        };
        before = behind[..used].chars().next_back();
        rest = &behind[used..];
    }
    out.push_str(rest);
}

/// Returns the position of the first character that may need escaping.
fn first_special(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_special = |(at, byte): (usize, &u8)| {
        // An `h` is special only at the start of an address.
        IS_SPECIAL[usize::from(*byte)] && (*byte != b'h' || bytes[at..].starts_with(b"http"))
    };
    bytes.iter().enumerate().position(is_special)
}

/// Whether a byte is a character that may need escaping. All of these are ASCII.
static IS_SPECIAL: [bool; 256] = byte_set(b"\\`*_[]<&~|@#!$%=-h\t", &[]);

/// Writes the special character `ch` at the start of `text`, or the whole address that it begins. Returns the number of bytes read.
fn special(ch: char, text: &str, before: Option<char>, out: &mut String) -> usize {
    let next = text[ch.len_utf8()..].chars().next();
    let is_word = |ch: Option<char>| ch.is_some_and(char::is_alphanumeric);
    let is_digit = next.is_some_and(|ch| ch.is_ascii_digit());
    match ch {
        'h' => {
            if !is_word(before)
                && let Some(length) = url(text, out)
            {
                return length;
            }
            out.push('h');
        }
        '\t' => out.push(' '),
        '_' if is_word(before) && is_word(next) => out.push('_'),
        '&' if is_digit => out.push_str("&amp;<!-- -->"),
        '&' if next.is_some_and(|ch| ch == '#' || ch.is_ascii_alphabetic()) => out.push_str("&amp;"),
        '@' if is_word(next) && !is_word(before) => out.push_str("@<!-- -->"),
        '#' | '!' if is_digit => {
            out.push(ch);
            out.push_str("<!-- -->");
        }
        '!' if next == Some('[') => out.push_str("\\!"),
        // `GH-12`
        '-' if is_digit && before.is_some_and(|ch| ch.eq_ignore_ascii_case(&'h')) => {
            out.push_str("-<!-- -->");
        }
        '&' | '@' | '#' | '!' | '-' => out.push(ch),
        // Obsidian hides the text between two pairs of `%`, and marks that between two of `=`.
        '%' | '=' if next != Some(ch) => out.push(ch),
        _ => {
            out.push('\\');
            out.push(ch);
        }
    }
    ch.len_utf8()
}

/// Writes the address at the start of `text`, which hosts turn into a link, and returns its length. The address of an issue is
/// written as code: a link would create a reference in the issue, and might close it.
fn url(text: &str, out: &mut String) -> Option<usize> {
    if !text.starts_with("http://") && !text.starts_with("https://") {
        return None;
    }
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._:/?#@+%,;=".contains(byte);
    let length = text.bytes().take_while(|byte| is_part(byte)).count();
    let length = text[..length].trim_end_matches(['_', '.', ',', ';', ':', '?', '%', '=']).len();
    let url = &text[..length];
    if refers(url) {
        code(url, out);
    } else {
        out.push_str(url);
    }
    Some(length)
}

/// Whether an address is one of an issue or a change in a project.
pub(super) fn refers(url: &str) -> bool {
    const REFERRING: [&str; 8] =
        ["issues", "pull", "pulls", "merge_requests", "epics", "work_items", "commit", "discussions"];
    let is_referring = |part: &str| REFERRING.contains(&part);
    let between = url.split_once('/').and_then(|(_, behind)| behind.rsplit_once('/'));
    between.is_some_and(|(parts, _)| parts.split('/').any(is_referring))
}

/// Writes a mark that would begin a block at the start of a line, escaped. Returns the rest.
fn line_start<'t>(text: &'t str, out: &mut String) -> &'t str {
    let text = text.trim_start_matches([' ', '\t']);
    let mut rest = text.chars();
    match rest.next() {
        // `_`, `*`, `[`, `<`, `|`, `~`, `` ` `` are always escaped.
        Some(ch @ ('#' | '>' | '+' | '-' | '=' | '/' | ':' | '^')) => {
            out.push('\\');
            out.push(ch);
            // Hosts find references in what the backslash leaves.
            if ch == '#' && rest.as_str().starts_with(|next: char| next.is_ascii_digit()) {
                out.push_str("<!-- -->");
            }
            rest.as_str()
        }
        Some('0'..='9') => {
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            let Some(mark @ ('.' | ')')) = text[digits..].chars().next() else { return text };
            let _ = write!(out, "{}\\{mark}", &text[..digits]);
            &text[digits + 1..]
        }
        _ => text,
    }
}

/// Writes `text` as code within a line.
pub(super) fn code(text: &str, out: &mut String) {
    let fence = longest_run(text, b'`') + 1;
    // Markdown removes one blank at each end if both have one, except from text of only blanks.
    let pad =
        if text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) || text.is_empty() { " " } else { "" };
    let pad = if text.bytes().all(|byte| byte == b' ') && !text.is_empty() { "" } else { pad };
    out.extend(iter::repeat_n('`', fence));
    out.push_str(pad);
    if text.as_bytes().contains(&b'\t') {
        out.push_str(&text.replace('\t', " "));
    } else {
        out.push_str(text);
    }
    out.push_str(pad);
    out.extend(iter::repeat_n('`', fence));
}

/// Returns the length of the longest run of `byte` in `text`.
pub(super) fn longest_run(text: &str, byte: u8) -> usize {
    let (mut longest, mut run, mut last) = (0, 0, None);
    for at in memchr::memchr_iter(byte, text.as_bytes()) {
        run = if last.is_some_and(|last| last + 1 == at) { run + 1 } else { 1 };
        longest = longest.max(run);
        last = Some(at);
    }
    longest
}

/// Writes a span into a line of HTML, as a link if it has one that is allowed.
pub(super) fn html_span(text: &str, link: Option<&str>, out: &mut String) {
    let address = link.and_then(commonmark::address).filter(|address| !refers(address));
    let Some(address) = address else { return html(text, out) };
    out.push_str("<a href=\"");
    // Its only character with a meaning in quotes.
    out.push_str(&address.replace('&', "&amp;"));
    out.push_str("\">");
    html(text, out);
    out.push_str("</a>");
    if let Some(target) = link.filter(|target| misleads(text, target)) {
        out.push_str(" <code>");
        html(target, out);
        out.push_str("</code>");
    }
}

/// Writes text into a line of HTML, such as a summary, with entities instead of backslashes.
pub(super) fn html(text: &str, out: &mut String) {
    let mut before = None;
    for (at, ch) in text.char_indices() {
        match ch {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\n' | '\t' => out.push(' '),
            '@' | '#' | '!' if text[at + 1..].starts_with(char::is_alphanumeric) => {
                out.push(ch);
                out.push_str("<!-- -->");
            }
            '-' if before == Some('h') || before == Some('H') => out.push_str("-<!-- -->"),
            _ => out.push(ch),
        }
        before = Some(ch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(foreign: &str, begins: bool) -> String {
        let mut out = String::new();
        text(foreign, begins, &mut out);
        out
    }

    #[test]
    fn nothing_of_a_text_becomes_markup() {
        for (foreign, spelled) in [
            ("plain text, (nothing) to see: a-b a/b {c}", "plain text, (nothing) to see: a-b a/b {c}"),
            ("**bold** [link](x) <b> `code`", "\\*\\*bold\\*\\* \\[link\\](x) \\<b> \\`code\\`"),
            ("snake_case _em_", "snake_case \\_em\\_"),
            ("a & b &copy; &#x1b;", "a & b &amp;copy; &amp;#x1b;"),
            ("@team a@b.c", "@<!-- -->team a@b.c"),
            ("fixes #12 !3 GH-4 # 5", "fixes #<!-- -->12 !<!-- -->3 GH-<!-- -->4 # 5"),
            ("%%hidden%% ==marked==", "\\%%hidden\\%% \\==marked\\=="),
            ("$x^2$ and", "\\$x^2\\$ and"),
            ("costs $5", "costs $5"),
            ("see https://a.b/c_d_?e=f.", "see https://a.b/c_d_?e=f."),
            ("closes https://github.com/o/r/issues/1", "closes `https://github.com/o/r/issues/1`"),
        ] {
            assert_eq!(escaped(foreign, false), spelled);
        }
    }

    #[test]
    fn nothing_at_the_start_of_a_line_begins_a_block() {
        for (foreign, spelled) in [
            ("# a", "\\# a"),
            ("#12 a", "\\#<!-- -->12 a"),
            ("> a", "\\> a"),
            ("- a", "\\- a"),
            ("12. a", "12\\. a"),
            ("12 a", "12 a"),
            ("    code", "code"),
            ("---", "\\---"),
            ("===", "\\=\\=="),
            ("/close", "\\/close"),
            ("| a |", "\\| a \\|"),
        ] {
            assert_eq!(escaped(foreign, true), spelled);
        }
    }

    /// A summary is a line of HTML, where a backslash has no meaning.
    #[test]
    fn a_line_of_html_has_no_markup_and_mentions_no_one() {
        for (foreign, spelled) in [
            ("plain: a-b, c", "plain: a-b, c"),
            ("@team", "@<!-- -->team"),
            ("cc @Ada, @0x", "cc @<!-- -->Ada, @<!-- -->0x"),
            ("@ here", "@ here"),
            ("fixes #12", "fixes #<!-- -->12"),
            ("!3 and # 4", "!<!-- -->3 and # 4"),
            ("GH-4 gh-5", "GH-<!-- -->4 gh-<!-- -->5"),
            ("<b>a</b> & &amp;", "&lt;b&gt;a&lt;/b&gt; &amp; &amp;amp;"),
            ("a\tb\nc", "a b c"),
        ] {
            let mut out = String::new();
            html(foreign, &mut out);
            assert_eq!(out, spelled, "{foreign}");
        }
    }

    #[test]
    fn code_holds_any_text() {
        for (foreign, spelled) in [
            ("a", "`a`"),
            ("a`b", "``a`b``"),
            ("`a", "`` `a ``"),
            ("", "`  `"),
            (" a ", "`  a  `"),
            ("a\tb", "`a b`"),
        ] {
            let mut out = String::new();
            code(foreign, &mut out);
            assert_eq!(out, spelled);
        }
    }
}
