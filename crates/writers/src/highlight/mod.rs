//! Classifies the words of code: keywords, strings, comments, …
//!
//! Each class is a role of the theme (`syntax.keyword`), so one theme file determines the whole look. A language is
//! a row of a table, and each line is read once, from left to right. This is correct for nearly all real
//! code, costs no more than writing it, and no text can make it slow.

mod language;

use std::collections::VecDeque;

use streamfmt_core::entry::Role;

use self::language::{LANGUAGES, Language, LanguageFamily, Quote};

/// The longest code that is highlighted, in bytes.
const MAX_CODE: usize = 256 * 1024;

/// The longest line that is highlighted, in bytes. Longer ones are generated.
const MAX_LINE: usize = 2_000;

/// The initial capacity for the parts of a line: most have fewer.
const PARTS: usize = 16;

/// The most heredocs that may be pending.
const MAX_HEREDOCS: usize = 8;

/// A part of a line, with its role if it has one.
pub(super) type HighlightedText<'l> = (&'l str, Option<Role>);

/// Highlights code line by line.
#[derive(Clone, Debug)]
pub(super) struct Highlighter {
    language: &'static Language,
    /// Whether a comment or string may begin with a byte.
    has_mark: [bool; 256],
    /// The syntax that was open at the end of the last line.
    inside: OpenSyntax,
    /// In a shell: whether the next line continues the arguments of a command.
    is_in_command: bool,
    /// In a shell: the heredocs that follow, in order.
    heredocs: VecDeque<AwaitedHeredoc>,
}

/// A heredoc: the lines below a command of a shell that are its input, as in `cat <<EOF`.
#[derive(Clone, Debug)]
struct AwaitedHeredoc {
    /// The line that ends it.
    end: String,
    /// Whether that line may be indented with tabs.
    is_indented: bool,
}

/// The syntax that is open at the end of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
enum OpenSyntax {
    /// None that continues on the next line.
    Nothing,
    /// A comment, which ends with this mark.
    Comment(&'static str),
    /// A string.
    Text(Quote),
    /// A tag.
    Tag,
}

/// Returns a highlighter for `code` in a language, which is a name as after a fence or a file extension. `None` if the language is
/// unknown or the code is too long.
pub(super) fn lines(language: &str, code: &str) -> Option<Highlighter> {
    if code.len() > MAX_CODE { None } else { Highlighter::of(language) }
}

/// Returns the name of a file's language: its extension.
pub(super) fn language_of(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension)
}

impl Highlighter {
    /// Returns a highlighter for a language, named as for [`lines`]. The caller must limit the length of the code.
    pub(super) fn of(language: &str) -> Option<Self> {
        let name = language.split([' ', ',', '{', ':']).next()?.trim_start_matches('.');
        if name.is_empty() {
            return None;
        }
        let has_name = |row: &&Language| row.names.all().iter().any(|known| known.eq_ignore_ascii_case(name));
        let language = LANGUAGES.iter().find(has_name)?;
        let mut has_mark = [false; 256];
        for mark in language.marks() {
            has_mark[usize::from(mark.as_bytes()[0])] = true;
        }
        let inside = OpenSyntax::Nothing;
        Some(Self { language, has_mark, inside, is_in_command: false, heredocs: VecDeque::new() })
    }

    /// Returns the parts of the next line; `None` if the line is too long to highlight.
    pub(super) fn line<'l>(&mut self, line: &'l str) -> Option<Vec<HighlightedText<'l>>> {
        if line.len() > MAX_LINE {
            return None;
        }
        if let (Some(heredoc), OpenSyntax::Nothing) = (self.heredocs.front(), self.inside) {
            let text = if heredoc.is_indented { line.trim_start_matches('\t') } else { line };
            if text == heredoc.end {
                self.heredocs.pop_front();
                return Some(vec![(line, None)]);
            }
            return Some(vec![(line, Some(Role::of("syntax.string")))]);
        }
        let heredocs = &mut self.heredocs;
        let (language, has_mark) = (self.language, &self.has_mark);
        let parts = Vec::with_capacity(PARTS);
        let command = !self.is_in_command;
        let is_before_in = false;
        let mut reader =
            LineHighlighter { line, language, has_mark, at: 0, parts, command, is_before_in, heredocs };
        if self.language.family == LanguageFamily::Changes {
            reader.change();
        } else {
            while reader.at < line.len() {
                self.inside = reader.next(self.inside);
            }
        }
        self.is_in_command = line.ends_with('\\') && !reader.command;
        if let OpenSyntax::Text(Quote { long: false, .. }) = self.inside {
            self.inside = OpenSyntax::Nothing;
        }
        Some(reader.parts)
    }
}

/// Highlights one line.
struct LineHighlighter<'l, 'a> {
    line: &'l str,
    language: &'static Language,
    has_mark: &'a [bool; 256],
    at: usize,
    parts: Vec<HighlightedText<'l>>,
    /// In a shell: whether the next word is a command.
    command: bool,
    /// In a shell: whether an `in` belongs to the `for` before it.
    is_before_in: bool,
    heredocs: &'a mut VecDeque<AwaitedHeredoc>,
}

impl<'l> LineHighlighter<'l, '_> {
    fn rest(&self) -> &'l str {
        &self.line[self.at..]
    }

    /// Takes the next `length` bytes as a part, merged with the part before if that has the same role.
    fn take(&mut self, length: usize, role: Option<Role>) {
        let end = self.at + length;
        match self.parts.last_mut() {
            Some((part, before)) if *before == role => {
                let start = self.at - part.len();
                *part = &self.line[start..end];
            }
            _ => self.parts.push((&self.line[self.at..end], role)),
        }
        self.at = end;
    }

    /// Takes the next part up to `end`, or the rest of the line if it doesn't end there. Returns the syntax that is open after it, which is
    /// `inside` in the latter case.
    fn take_to(&mut self, end: Option<usize>, role: Role, inside: OpenSyntax) -> OpenSyntax {
        self.take(end.unwrap_or(self.rest().len()), Some(role));
        if end.is_some() { OpenSyntax::Nothing } else { inside }
    }

    /// Takes a line of a diff.
    fn change(&mut self) {
        let role = match self.line.as_bytes() {
            [b'@', b'@', ..] => Some(Role::of("syntax.heading")),
            [b'+', ..] => Some(Role::of("syntax.inserted")),
            [b'-', ..] => Some(Role::of("syntax.deleted")),
            _ => None,
        };
        self.take(self.line.len(), role);
    }

    /// Takes the next part. Returns the syntax that is open after it.
    fn next(&mut self, inside: OpenSyntax) -> OpenSyntax {
        match inside {
            OpenSyntax::Comment(close) => {
                let end = self.rest().find(close).map(|at| at + close.len());
                self.take_to(end, Role::of("syntax.comment"), inside)
            }
            OpenSyntax::Text(quote) => {
                self.take_to(string_end(self.rest(), quote), Role::of("syntax.string"), inside)
            }
            OpenSyntax::Tag => self.in_tag(),
            OpenSyntax::Nothing => self.outside(),
        }
    }

    fn outside(&mut self) -> OpenSyntax {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return OpenSyntax::Nothing };
        if self.has_mark[usize::from(rest.as_bytes()[0])]
            && let Some(inside) = self.marked()
        {
            return inside;
        }
        if self.language.family == LanguageFamily::Tags {
            return self.between_tags();
        }
        match first {
            ' ' => self.take(rest.bytes().take_while(|byte| *byte == b' ').count(), None),
            '0'..='9' => self.take(number_length(rest), Some(Role::of("syntax.number"))),
            '$' if self.language.family == LanguageFamily::Shell => self.variable(),
            '-' if self.language.family == LanguageFamily::Shell && self.is_after_blank() => {
                let is_end = |ch: char| ch.is_whitespace() || "=;|&()<>".contains(ch);
                let length = rest.find(is_end).unwrap_or(rest.len());
                self.take(length, Some(Role::of("syntax.attribute")));
            }
            '@' | '#'
                if self.language.family != LanguageFamily::Shell && is_word(rest[1..].chars().next()) =>
            {
                self.take(1 + word_length(&rest[1..]), Some(Role::of("syntax.attribute")));
            }
            '<' if self.language.family == LanguageFamily::Shell => self.redirection(),
            _ if is_word(Some(first)) => self.word(),
            // `&>` and `>&` redirect output.
            '&' if rest[1..].starts_with('>') || self.line[..self.at].ends_with('>') => self.take(1, None),
            '|' | ';' | '&' | '(' | '{' | '`' => {
                self.command = true;
                self.take(1, None);
            }
            _ => self.take(first.len_utf8(), None),
        }
        OpenSyntax::Nothing
    }

    /// Takes the mark of a comment, or a whole comment or string, if one begins here.
    fn marked(&mut self) -> Option<OpenSyntax> {
        let rest = self.rest();
        if let Some((open, close)) = self.language.block.filter(|(open, _)| rest.starts_with(open)) {
            self.take(open.len(), Some(Role::of("syntax.comment")));
            return Some(OpenSyntax::Comment(close));
        }
        if self.is_comment() {
            self.take(rest.len(), Some(Role::of("syntax.comment")));
            return Some(OpenSyntax::Nothing);
        }
        let is_open = |quote: &&Quote| rest.starts_with(quote.mark) && (!quote.single || is_character(rest));
        let quote = self.language.quotes.iter().find(is_open)?;
        Some(self.string(*quote))
    }

    fn is_after_blank(&self) -> bool {
        self.line[..self.at].chars().next_back().is_none_or(char::is_whitespace)
    }

    /// Whether a comment begins here. A `#` within a word doesn't begin one, nor does `//` within a URL.
    fn is_comment(&self) -> bool {
        let before = self.line[..self.at].chars().next_back();
        self.language.comments.iter().any(|mark| {
            self.rest().starts_with(mark)
                && match *mark {
                    "#" => before.is_none_or(|ch| ch.is_whitespace() || ch == ';'),
                    _ => before != Some(':'),
                }
        })
    }

    /// Takes a string, which may be a key.
    fn string(&mut self, quote: Quote) -> OpenSyntax {
        let length = quote.mark.len();
        let end = string_end(&self.rest()[length..], quote).map(|end| length + end);
        let is_key = self.language.family == LanguageFamily::Data
            && end.is_some_and(|end| self.rest()[end..].trim_start().starts_with([':', '=']));
        let role = if is_key { Role::of("syntax.attribute") } else { Role::of("syntax.string") };
        self.command = false;
        self.take_to(end, role, OpenSyntax::Text(quote))
    }

    /// Takes a redirection: `<`, `<<END`, `<<<`. Within `((…))`, `<<` is a shift.
    fn redirection(&mut self) {
        let length = self.rest().bytes().take_while(|byte| *byte == b'<').count();
        let is_heredoc = length == 2 && !self.line[..self.at].contains("((");
        self.take(length, None);
        if !is_heredoc || self.heredocs.len() == MAX_HEREDOCS {
            return;
        }
        let is_indented = self.rest().starts_with('-');
        let word = self.rest().trim_start_matches('-').trim_start_matches([' ', '\t']);
        let end = if let Some(quote @ ('"' | '\'')) = word.chars().next() {
            word[1..].split(quote).next()
        } else {
            let is_end = |ch: char| ch.is_whitespace() || "|&;<>()".contains(ch);
            word.trim_start_matches('\\').split(is_end).next()
        };
        let end = end.unwrap_or_default();
        if !end.is_empty() {
            self.heredocs.push_back(AwaitedHeredoc { end: end.to_owned(), is_indented });
        }
    }

    fn variable(&mut self) {
        let rest = &self.rest()[1..];
        match rest.chars().next() {
            Some('{') => {
                let length = rest.find('}').map_or(rest.len(), |end| end + 1);
                self.take(1 + length, Some(Role::of("syntax.variable")));
            }
            first if is_word(first) => self.take(1 + word_length(rest), Some(Role::of("syntax.variable"))),
            _ => self.take(1, None),
        }
    }

    fn word(&mut self) {
        let rest = self.rest();
        let length = match self.language.family {
            LanguageFamily::Shell | LanguageFamily::Data => {
                let is_end = |ch: char| !is_word(Some(ch)) && !matches!(ch, '-' | '.' | '/' | '+' | '~');
                rest.find(is_end).unwrap_or(rest.len())
            }
            _ => word_length(rest),
        };
        let (word, behind) = rest.split_at(length);
        let is_keyword = |word: &str| self.language.keywords.find(word).is_some();
        let role = match self.language.family {
            LanguageFamily::Data => self.data_word(word, behind),
            LanguageFamily::Shell => {
                let role = match word {
                    _ if behind.starts_with('=') => Some(Role::of("syntax.variable")),
                    "in" if std::mem::take(&mut self.is_before_in) => Some(Role::of("syntax.keyword")),
                    _ if !self.command => None,
                    _ if is_keyword(word) => Some(Role::of("syntax.keyword")),
                    _ => Some(Role::of("syntax.function")),
                };
                // These are followed by a name or a value.
                if self.command && matches!(word, "case" | "for" | "select") {
                    (self.command, self.is_before_in) = (false, true);
                }
                // After an assignment or another keyword, the command follows.
                self.command = self.command && role != Some(Role::of("syntax.function"));
                role
            }
            LanguageFamily::Query if is_keyword(&word.to_ascii_lowercase()) => {
                Some(Role::of("syntax.keyword"))
            }
            _ if is_keyword(word) => Some(Role::of("syntax.keyword")),
            _ => named(word, behind),
        };
        self.take(length, role);
    }

    fn data_word(&self, word: &str, behind: &str) -> Option<Role> {
        let is_first = self.line[..self.at].trim_start_matches([' ', '\t', '-', '.', '&', '[']).is_empty();
        match behind.trim_start().as_bytes().first() {
            Some(b':' | b'=') if is_first => Some(Role::of("syntax.attribute")),
            Some(b']') if is_first => Some(Role::of("syntax.heading")),
            _ => is_constant(word).then_some(Role::of("syntax.constant")),
        }
    }

    /// Takes the next part between tags.
    fn between_tags(&mut self) -> OpenSyntax {
        let rest = self.rest();
        match rest.find('<') {
            Some(0) => {
                let sign = rest.bytes().take_while(|byte| matches!(byte, b'<' | b'/' | b'!' | b'?')).count();
                self.take(sign, None);
                let length = name_length(self.rest());
                if length > 0 {
                    self.take(length, Some(Role::of("syntax.tag")));
                    return OpenSyntax::Tag;
                }
            }
            end => self.take(end.unwrap_or(rest.len()), None),
        }
        OpenSyntax::Nothing
    }

    fn in_tag(&mut self) -> OpenSyntax {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return OpenSyntax::Tag };
        match first {
            '>' => {
                self.take(1, None);
                return OpenSyntax::Nothing;
            }
            '"' | '\'' => {
                let mark = if first == '"' { "\"" } else { "'" };
                let Some(end) = rest[1..].find(first) else {
                    self.take(rest.len(), Some(Role::of("syntax.string")));
                    return OpenSyntax::Text(Quote { mark, long: false, escapes: false, single: false });
                };
                self.take(end + 2, Some(Role::of("syntax.string")));
            }
            _ => match name_length(rest) {
                0 => self.take(first.len_utf8(), None),
                length => self.take(length, Some(Role::of("syntax.attribute"))),
            },
        }
        OpenSyntax::Tag
    }
}

/// Guesses the role of a name from its form: a call, a type, a constant.
fn named(word: &str, behind: &str) -> Option<Role> {
    let is_upper = word.starts_with(|ch: char| ch.is_uppercase());
    let is_loud = is_upper && word.len() > 1 && !word.contains(char::is_lowercase);
    if is_loud || is_constant(word) {
        Some(Role::of("syntax.constant"))
    } else if is_upper {
        Some(Role::of("syntax.type"))
    } else if behind.starts_with('(') || (behind.starts_with('!') && !behind.starts_with("!=")) {
        Some(Role::of("syntax.function"))
    } else {
        None
    }
}

/// Whether a word is a constant in most languages.
fn is_constant(word: &str) -> bool {
    matches!(
        word,
        "False"
            | "NULL"
            | "None"
            | "True"
            | "false"
            | "inf"
            | "nan"
            | "nil"
            | "null"
            | "true"
            | "undefined"
            | "yes"
            | "no"
    )
}

fn is_word(ch: Option<char>) -> bool {
    ch.is_some_and(|ch| ch.is_alphanumeric() || ch == '_')
}

fn word_length(text: &str) -> usize {
    text.find(|ch| !is_word(Some(ch))).unwrap_or(text.len())
}

/// Returns the length of the name of a tag or attribute.
fn name_length(text: &str) -> usize {
    let is_end = |ch: char| !is_word(Some(ch)) && !matches!(ch, '-' | ':' | '.' | '@');
    text.find(is_end).unwrap_or(text.len())
}

/// Returns the length of a number: `0xff_u8`, `1.5e3`. A dot ends it unless a digit follows.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_in = |at: usize| match bytes[at] {
        b'.' => bytes.get(at + 1).is_some_and(u8::is_ascii_digit),
        byte => byte.is_ascii_alphanumeric() || byte == b'_',
    };
    (0..bytes.len()).find(|&at| !is_in(at)).unwrap_or(bytes.len())
}

/// Whether the quote at the start encloses a single character.
fn is_character(text: &str) -> bool {
    let mut chars = text.chars().skip(1);
    match chars.next() {
        Some('\\') => true,
        Some(_) => chars.next() == Some('\''),
        None => false,
    }
}

/// Returns the end of a string, if `text`, which begins inside it, contains that.
fn string_end(text: &str, quote: Quote) -> Option<usize> {
    let (bytes, mark) = (text.as_bytes(), quote.mark.as_bytes());
    let mut at = 0;
    while at < bytes.len() {
        if quote.escapes && bytes[at] == b'\\' {
            at += 2;
        } else if bytes[at..].starts_with(mark) {
            return Some(at + mark.len());
        } else {
            at += 1;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the parts with a role, as `word:role`.
    fn roles(language: &str, code: &str) -> Vec<String> {
        let mut lines = lines(language, code).unwrap();
        let parts = code.lines().flat_map(|line| lines.line(line).unwrap());
        let short = |role: Role| role.name().trim_start_matches("syntax.").to_owned();
        parts.filter_map(|(text, role)| Some(format!("{text}:{}", short(role?)))).collect()
    }

    #[test]
    fn words_of_code_have_roles() {
        for (language, code, expected) in [
            ("rust", "fn main() {} // no", "fn:keyword|main:function|// no:comment"),
            ("rust", "let x: &'a str = 'c';", "let:keyword|'c':string"),
            ("rs", "a /* b\nc */ d(1.5)", "/* b:comment|c */:comment|d:function|1.5:number"),
            ("ts", "const a = `x\ny` + MAX", "const:keyword|`x:string|y`:string|MAX:constant"),
            ("py", "@cached\ndef f(): # x", "@cached:attribute|def:keyword|f:function|# x:comment"),
            ("sql", "SELECT a FROM b", "SELECT:keyword|FROM:keyword"),
            (
                "sh",
                "A=1 cargo test -q | wc -l # n",
                "A:variable|1:number|cargo:function|-q:attribute|wc:function|-l:attribute|# n:comment",
            ),
            (
                "sh",
                "a --stat; b -x&& c &> d >&e",
                "a:function|--stat:attribute|b:function|-x:attribute|c:function",
            ),
            ("sh", "a b \\\nc d |\\\ne\nf", "a:function|e:function|f:function"),
            ("sh", "curl http://x.y/#z \"$A\" $B", "curl:function|\"$A\":string|$B:variable"),
            (
                "sh",
                "cat <<'EOF' > a && ls\nif $x; then\nEOF\nif b",
                "cat:function|'EOF':string|ls:function|if $x; then:string|if:keyword|b:function",
            ),
            ("sh", "a <<-X <<Y\n\tfor\n\tX\n\tY\nY\nb", "a:function|\tfor:string|\tY:string|b:function"),
            (
                "sh",
                "a <<< if\necho $((1 << x))\nb",
                "a:function|echo:function|1:number|x:function|b:function",
            ),
            (
                "sh",
                "for f in a in; do node $f; done",
                "for:keyword|in:keyword|do:keyword|node:function|$f:variable|done:keyword",
            ),
            ("sh", "case x in y) ls ;; esac", "case:keyword|in:keyword|esac:keyword"),
            ("json", "{\"a\": [true, \"b\"]}", "\"a\":attribute|true:constant|\"b\":string"),
            ("yaml", "- on: yes # x", "on:attribute|yes:constant|# x:comment"),
            ("toml", "[a.b]\nc = 1", "a.b:heading|c:attribute|1:number"),
            ("html", "<a href=\"x\">b</a>", "a:tag|href:attribute|\"x\":string|a:tag"),
            ("diff", "@@ 1\n+a\n-b\n c", "@@ 1:heading|+a:inserted|-b:deleted"),
        ] {
            assert_eq!(roles(language, code).join("|"), expected, "{code}");
        }
    }

    #[test]
    fn keywords_can_be_searched_and_names_are_given_once() {
        let mut names: Vec<&str> = Vec::new();
        for language in &LANGUAGES {
            assert!(language.keywords.all().is_sorted(), "{:?}", language.names);
            names.extend(language.names.all());
        }
        let number = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), number);
    }

    #[test]
    fn unknown_languages_and_long_code_stay_plain() {
        assert!(lines("rust", &"x".repeat(MAX_CODE + 1)).is_none());
        assert!(lines("nonesuch", "x").is_none());
        assert!(lines("", "x").is_none());
        let mut lines = lines("Rust,ignore", "x").unwrap();
        assert!(lines.line(&"x".repeat(MAX_LINE + 1)).is_none());
        assert!(lines.line("let x").is_some());
    }

    proptest! {
        #[test]
        fn every_line_comes_out_as_it_went_in(text in "[a-z0-9 \"'`#/*<>@$=:.\\\\é漢\\-]{0,40}") {
            for language in &LANGUAGES {
                let mut lines = lines(language.names.all()[0], &text).unwrap();
                for _ in 0..2 {
                    let parts = lines.line(&text).unwrap();
                    prop_assert_eq!(parts.iter().map(|(part, _)| *part).collect::<String>(), text.as_str());
                    prop_assert!(parts.windows(2).all(|pair| pair[0].1 != pair[1].1));
                }
            }
        }
    }
}
