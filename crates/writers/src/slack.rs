//! Entries as a message for Slack: the layout of Markdown in Slack's syntax, `mrkdwn`.
//!
//! ````text
//! *claude-opus-4-5 · `~/shop`*         titles are bold
//! • *Bash* `Run the cart tests`        results are below their calls, verbatim text in fences
//! ```
//! cargo test -p cart
//! ```
//! │ • *Grep* `total` · 3 files         steps of a sub-agent are after a bar: quotes can't contain fences
//! *Answer*
//! ````
//!
//! Slack has entities for `&`, `<` and `>`, which all mentions and links need, and no way to escape other characters. So a
//! character of a foreign text that would format it, mention somebody or become an emoji is replaced by one that
//! looks the same. In code, only the backquotes that end it have a meaning, so paths, commands and results
//! can be copied.

use crate::commonmark;
use crate::lines::LineWriter;
use crate::markdown::{Markdown, MarkupSyntax, SyntaxMarks};
use crate::page::{self, PageOptions};
use streamfmt_core::entry::{Line, Point};
use streamfmt_core::theme::{self, Glyphs};

/// Looks like a backquote, but doesn't end code.
const BACKQUOTE: &str = "ˋ";

/// The longest name of an emoji, in bytes.
const MAX_EMOJI: usize = 100;

/// Creates a writer of messages for Slack. They have neither folds nor images.
pub fn message(options: PageOptions) -> Markdown {
    Markdown::with_syntax(PageOptions { fold: None, ..options }, &Mrkdwn { is_verbatim: false })
}

/// Slack's syntax.
#[derive(Debug)]
struct Mrkdwn {
    /// Whether the text is inside a fence.
    is_verbatim: bool,
}

impl MarkupSyntax for Mrkdwn {
    fn marks(&self) -> &'static SyntaxMarks {
        const MARKS: SyntaxMarks = SyntaxMarks {
            strong: "*",
            emphasis: "_",
            strike: "~",
            brackets: ["[", "]"],
            bullets: ["• ", "• "],
            tasks: ["☐ ", "✓ "],
            set_in: "",
            nest: "│ ",
            quote: "> ",
            line_break: "\n",
            bar: "|",
            rule: "———",
            has_strong_headings: true,
            has_pictures: false,
        };
        if self.is_verbatim { &SyntaxMarks { strong: "", emphasis: "", strike: "", ..MARKS } } else { &MARKS }
    }

    fn heading(&self, _depth: usize) -> [&'static str; 2] {
        ["*", "*"]
    }

    fn text(&self, text: &str, begins: bool, out: &mut String) {
        if self.is_verbatim {
            return verbatim(text, BACKQUOTE, out);
        }
        let (mut at, mut before, mut end_of_address) = (0, None, 0);
        while let Some(ch) = text[at..].chars().next() {
            let behind = &text[at + ch.len_utf8()..];
            let next = behind.chars().next();
            let is_word = |ch: Option<char>| ch.is_some_and(char::is_alphanumeric);
            if ch == 'h' && at >= end_of_address && !is_word(before) {
                let address = address(&text[at..]);
                end_of_address = at + address.len();
                if commonmark::address(address).as_deref() == Some(address) {
                    link(address, None, out);
                    before = address.chars().next_back();
                    at = end_of_address;
                    continue;
                }
            }
            match ch {
                '>' if begins && text[..at].trim_start().is_empty() => out.push('›'),
                '@' if is_word(next) && !is_word(before) => out.push('﹫'),
                ':' if is_emoji(behind) => out.push('꞉'),
                '*' | '_' | '~' if !may_format(before, next) => out.push(ch),
                '*' => out.push('∗'),
                '_' => out.push('ˍ'),
                '~' => out.push('∼'),
                _ => entity(ch, BACKQUOTE, out),
            }
            before = Some(ch);
            at += ch.len_utf8();
        }
    }

    fn code(&self, text: &str, out: &mut String) {
        let text = text.trim();
        // Directly after a word, a backquote doesn't start code.
        if self.is_verbatim || text.is_empty() || out.ends_with(char::is_alphanumeric) {
            return self.text(text, false, out);
        }
        out.push('`');
        verbatim(text, BACKQUOTE, out);
        out.push('`');
    }

    fn link(&self, label: &str, target: &str, shown: &str, out: &mut String) {
        let is_of_web = |address: &str| address.get(..4).is_some_and(|it| it.eq_ignore_ascii_case("http"));
        match commonmark::address(target).filter(|address| is_of_web(address) && !self.is_verbatim) {
            Some(address) if label.trim().is_empty() || target == shown => link(&address, None, out),
            Some(address) => {
                link(&address, Some(label), out);
                self.revealed(target, shown, out);
            }
            None => self.unlinked(label, target, shown, out),
        }
    }

    fn fenced(&self, writer: &mut LineWriter<'_>, text: &str, _language: &str) {
        let mut row = String::new();
        if writer.prefix().contains('>') {
            // Quotes apply to single lines, and can't contain a fence.
            for line in page::split(text) {
                row.clear();
                self.code(line, &mut row);
                writer.line(&row);
            }
            return;
        }
        writer.line("```");
        for line in page::split(text) {
            row.clear();
            verbatim(line, if line.contains("```") { BACKQUOTE } else { "`" }, &mut row);
            writer.line(&row);
        }
        writer.line("```");
    }

    fn point(&self, point: Point, _bullet: &str, out: &mut String) {
        out.push_str(theme::glyph(Glyphs::Unicode, point.name()));
        out.push(' ');
    }

    fn begin_fold(&self, writer: &mut LineWriter<'_>, summary: &Line) {
        let mut line = String::from("▸ ");
        for span in summary.spans() {
            let mut label = String::new();
            self.text(span.text(), false, &mut label);
            match &span.link {
                Some(target) => self.link(&label, target, span.text(), &mut line),
                None => line.push_str(&label),
            }
        }
        writer.line(&line);
    }

    fn end_fold(&self, writer: &mut LineWriter<'_>) {
        writer.gap();
    }

    fn of_cells(&self) -> &'static dyn MarkupSyntax {
        &Self { is_verbatim: true }
    }

    fn edge_of_table(&self, writer: &mut LineWriter<'_>) {
        writer.line("```");
    }
}

/// Writes a link to an address that has no characters with a meaning between angle brackets.
fn link(address: &str, label: Option<&str>, out: &mut String) {
    out.push('<');
    out.push_str(&address.replace('&', "&amp;"));
    if let Some(label) = label {
        out.push('|');
        // Brackets in foreign text are entities. These come from links in the label, and links can't be nested.
        out.push_str(&label.replace(['<', '>'], "").replace('|', "¦").replace('\n', " "));
    }
    out.push('>');
}

/// Writes text verbatim, except for backquotes.
fn verbatim(text: &str, backquote: &str, out: &mut String) {
    text.chars().for_each(|ch| entity(ch, backquote, out));
}

fn entity(ch: char, backquote: &str, out: &mut String) {
    match ch {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '`' => out.push_str(backquote),
        '\n' => out.push(' '),
        _ => out.push(ch),
    }
}

/// Whether a mark may begin or end a format between these characters. Within a word and between blanks it doesn't.
fn may_format(before: Option<char>, next: Option<char>) -> bool {
    let are = |is: fn(&char) -> bool| before.as_ref().is_some_and(is) && next.as_ref().is_some_and(is);
    !are(char::is_ascii_alphanumeric) && !are(|ch| ch.is_whitespace())
}

/// Whether the text after a colon is the rest of an emoji's name: `smile:`. All numbers but two are times and line numbers instead.
fn is_emoji(behind: &str) -> bool {
    let is_part = |ch: char| ch.is_alphanumeric() || "_-+'".contains(ch);
    let start = &behind[..streamfmt_core::clip::floor(behind, MAX_EMOJI)];
    let name = &start[..start.find(|ch| !is_part(ch)).unwrap_or(start.len())];
    let is_number = name.bytes().all(|byte| byte.is_ascii_digit()) && !matches!(name, "100" | "1234");
    !is_number && behind[name.len()..].starts_with(':')
}

/// Returns the address at the start of `text`, without punctuation at its end; empty if there is none.
fn address(text: &str) -> &str {
    let host = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    if !host.is_some_and(|host| host.starts_with(char::is_alphanumeric)) {
        return "";
    }
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._:/?#@+%,;=~&".contains(byte);
    let length = text.bytes().take_while(|byte| is_part(byte)).count();
    text[..length].trim_end_matches(['_', '.', ',', ';', ':', '?', '%', '=', '~', '&'])
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROSE: Mrkdwn = Mrkdwn { is_verbatim: false };

    fn escaped(foreign: &str, begins: bool) -> String {
        let mut out = String::new();
        PROSE.text(foreign, begins, &mut out);
        out
    }

    #[test]
    fn nothing_of_a_text_formats_mentions_or_becomes_a_picture() {
        for (foreign, spelled) in [
            ("plain text, (nothing) to see: a-b a/b [c]", "plain text, (nothing) to see: a-b a/b [c]"),
            (
                "<!channel> <@U1> <https://a.b|x> &lt;",
                "&lt;!channel&gt; &lt;﹫U1&gt; &lt;<https://a.b>|x&gt; &amp;lt;",
            ),
            ("*bold* _em_ ~gone~ `code`", "∗bold∗ ˍemˍ ∼gone∼ ˋcodeˋ"),
            ("snake_case 2*3 a * b", "snake_case 2*3 a * b"),
            ("@here @channel, me@a.b", "﹫here ﹫channel, me@a.b"),
            (":smile: :+1::skin-tone-2: :100:", "꞉smile: ꞉+1:꞉skin-tone-2: ꞉100:"),
            ("at 12:30:45, a.rs:41:9: and std::fs", "at 12:30:45, a.rs:41:9: and std::fs"),
            ("see https://a.b/c_d_?e=f&g.", "see <https://a.b/c_d_?e=f&amp;g>."),
            ("xhttps://a.b http:// h", "xhttps://a.b http:// h"),
        ] {
            assert_eq!(escaped(foreign, false), spelled);
        }
        assert_eq!(escaped(" > no quote", true), " › no quote");
    }

    #[test]
    fn links_lead_to_the_web_alone() {
        for (target, expected) in [
            ("https://a.b/?x=1&y=<>", "<https://a.b/?x=1&amp;y=%3C%3E|a¦ b>"),
            ("mailto:a@b.c", "a|\nb `mailto:a@b.c`"),
            ("javascript:alert(1)", "a|\nb `javascript:alert(1)`"),
            ("!channel", "a|\nb `!channel`"),
            ("a|\nb", "a|\nb"),
        ] {
            let mut out = String::new();
            PROSE.link("a|\nb", target, "a|\nb", &mut out);
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn code_and_fences_hold_any_text() {
        for (foreign, spelled) in
            [("a", "`a`"), ("a`*b*", "`aˋ*b*`"), (" <!here> ", "`&lt;!here&gt;`"), (" ", "")]
        {
            let mut out = String::new();
            PROSE.code(foreign, &mut out);
            assert_eq!(out, spelled);
        }
        let mut out = String::from("word");
        PROSE.code("*b*", &mut out);
        assert_eq!(out, "word∗b∗");
        for (prefix, expected) in [("", "```\n`a` <!here>\nˋˋˋ\n```\n"), ("> ", "> `ˋaˋ <!here>`\n> `ˋˋˋ`\n")]
        {
            let (mut buffer, mut room, mut out) = (String::new(), String::new(), String::new());
            let mut writer = LineWriter::new(&mut buffer, &mut room, &mut out, true);
            writer.open(prefix, prefix);
            PROSE.fenced(&mut writer, "`a` <!here>\n```", "rust");
            writer.end().unwrap();
            assert_eq!(out, expected.replace("<!here>", "&lt;!here&gt;"));
        }
    }
}
