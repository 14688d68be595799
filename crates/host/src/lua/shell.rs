//! The commands of a shell's command line, as far as they can be read without being the shell.
//!
//! Quotes are resolved, since what they say is certain; what the shell puts in place of something (variables,
//! substitutions) stays as it is written, and the command says that it isn't plain. The one substitution that is
//! certain is a text that agents write with: `"$(cat <<'EOF' … EOF)"`.

use std::rc::Rc;

use mlua::{Function, Lua, LuaString, Table, Value};

use super::api::Plugin;

/// Longest command line that is read, in bytes.
const LONGEST: usize = 64 * 1024;

/// Quotes and substitutions inside one another.
const DEEPEST: usize = 64;

/// A simple command.
#[derive(Debug, Default, PartialEq)]
struct Command {
    words: Vec<String>,
    /// What stands between it and the command before it.
    before: Option<&'static str>,
    /// Whether its words are all that there is to it: nothing that the shell fills in, no redirection, no subshell.
    plain: bool,
    /// Where it stands in the text.
    start: usize,
    end: usize,
}

/// `sf.commands(text)`.
pub(super) fn commands(lua: &Lua, _: &Rc<Plugin>) -> mlua::Result<Function> {
    lua.create_function(|lua, text: LuaString| {
        let text = text.to_string_lossy();
        let Some(commands) = read(&text) else { return Ok(Value::Nil) };
        let list = lua.create_table_with_capacity(commands.len(), 0)?;
        for command in commands {
            let Command { words, before, plain, start, end } = command;
            let table: Table = lua.create_table_with_capacity(0, 4)?;
            table.raw_set("words", words)?;
            table.raw_set("before", before)?;
            table.raw_set("plain", plain)?;
            table.raw_set("text", &text[start..end])?;
            list.raw_push(table)?;
        }
        Ok(Value::Table(list))
    })
}

/// The commands of a text, in order. `None`: a quote has no end, or it is longer or deeper than anybody writes.
fn read(text: &str) -> Option<Vec<Command>> {
    if text.len() > LONGEST {
        return None;
    }
    let mut reader = ShellReader { text, ..ShellReader::default() };
    while reader.at < text.len() {
        reader.step()?;
    }
    reader.end_command(None);
    Some(reader.commands)
}

/// What becomes of the next word.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Next {
    #[default]
    Word,
    /// It is where something is redirected to.
    Target,
    /// It ends a text that begins in the next line, in which tabs at the beginning may not count.
    Delimiter { is_indented: bool },
}

/// A text in the lines below a command.
#[derive(Debug)]
struct Heredoc {
    end: String,
    is_indented: bool,
}

#[derive(Debug, Default)]
struct ShellReader<'a> {
    text: &'a str,
    at: usize,
    commands: Vec<Command>,
    words: Vec<String>,
    /// The word that is being read.
    word: Option<String>,
    next: Next,
    before: Option<&'static str>,
    is_special: bool,
    /// Where the command began and where its last word ended.
    start: Option<usize>,
    end: usize,
    /// Subshells that are open.
    depth: usize,
    heredocs: Vec<Heredoc>,
}

impl ShellReader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// Reads the next piece; it is never empty.
    fn step(&mut self) -> Option<()> {
        let rest = self.rest();
        match rest.as_bytes()[0] {
            b' ' | b'\t' | b'\r' => self.end_word(1),
            b'\n' => {
                self.end_command(Some("\n"));
                self.at += 1;
                for heredoc in std::mem::take(&mut self.heredocs) {
                    self.at = behind(self.text, self.at, &heredoc);
                }
            }
            b'#' if self.word.is_none() => self.at += rest.find('\n').unwrap_or(rest.len()),
            b'\'' => {
                let length = rest[1..].find('\'')?;
                self.push(1, length, 1);
            }
            b'"' => self.double()?,
            b'\\' => match rest[1..].chars().next() {
                Some('\n') => self.at += 2,
                Some(ch) => self.push(1, ch.len_utf8(), 0),
                None => self.push(0, 1, 0),
            },
            b'$' | b'`' => self.expansion()?,
            b';' | b'&' | b'|' | b'(' | b')' => self.operator(),
            b'<' | b'>' => self.redirection()?,
            _ => {
                let is_special = |ch: char| " \t\r\n'\"\\$`;&|()<>".contains(ch);
                self.push(0, rest.find(is_special).unwrap_or(rest.len()), 0);
            }
        }
        Some(())
    }

    /// Takes bytes as a part of the word, with so many before and after them that are none.
    fn push(&mut self, before: usize, length: usize, after: usize) {
        let start = self.at;
        self.start.get_or_insert(start);
        let from = start + before;
        let text = self.text;
        self.word.get_or_insert_default().push_str(&text[from..from + length]);
        self.at = from + length + after;
    }

    /// Ends the word, if there is one, before so many bytes that part words.
    fn end_word(&mut self, parting: usize) {
        if let Some(word) = self.word.take() {
            self.end = self.at;
            match std::mem::take(&mut self.next) {
                Next::Word => self.words.push(word),
                Next::Target => {}
                Next::Delimiter { is_indented } => self.heredocs.push(Heredoc { end: word, is_indented }),
            }
        }
        self.at += parting;
    }

    /// Ends the command, if there is one. `operator` stands behind it.
    fn end_command(&mut self, operator: Option<&'static str>) {
        self.end_word(0);
        self.next = Next::Word;
        let start = self.start.take();
        let is_special = std::mem::take(&mut self.is_special) || self.depth > 0;
        if let Some(start) = start.filter(|_| !self.words.is_empty() || is_special) {
            let words = std::mem::take(&mut self.words);
            let (before, end) = (self.before, self.end);
            self.commands.push(Command { words, before, plain: !is_special, start, end });
            self.before = None;
        }
        // Empty lines part nothing, and neither does a line feed behind `&&`.
        if operator != Some("\n") || self.before.is_none() {
            self.before = operator.filter(|_| !self.commands.is_empty());
        }
    }

    fn operator(&mut self) {
        let rest = self.rest();
        let operators = ["&&", "||", "|&", ";;", ";", "&", "|"];
        if let Some(redirection) = ["&>>", "&>"].into_iter().find(|it| rest.starts_with(it)) {
            let length = redirection.len();
            self.end_word(0);
            self.redirect(length);
        } else if let Some(operator) = operators.into_iter().find(|it| rest.starts_with(it)) {
            self.end_command(Some(operator));
            self.at += operator.len();
        } else if rest.starts_with('(') {
            // `name()` begins a function: what it names isn't run here.
            self.is_special |= self.word.is_some() || !self.words.is_empty();
            self.end_command(self.before);
            self.depth += 1;
            self.at += 1;
        } else {
            self.end_command(None);
            self.depth = self.depth.saturating_sub(1);
            self.at += 1;
        }
    }

    /// `2>file`, `<in`, `<<END`, `<(command)`.
    fn redirection(&mut self) -> Option<()> {
        if self.rest().starts_with("<(") || self.rest().starts_with(">(") {
            self.is_special = true;
            let length = substitution(self.text, self.at + 1)? - self.at;
            self.push(0, length, 0);
            return Some(());
        }
        // A number right before it is no word but which file is meant.
        if self.word.as_ref().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word(0);
        let forms = ["<<<", "<<-", "<<", "<>", "<&", "<", ">>", ">&", ">|", ">"];
        let form = forms.into_iter().find(|form| self.rest().starts_with(form))?;
        self.redirect(form.len());
        if form.starts_with("<<") && form != "<<<" {
            self.next = Next::Delimiter { is_indented: form == "<<-" };
        }
        Some(())
    }

    fn redirect(&mut self, length: usize) {
        self.start.get_or_insert(self.at);
        self.is_special = true;
        self.next = Next::Target;
        self.at += length;
        self.end = self.at;
    }

    /// What is between double quotes.
    fn double(&mut self) -> Option<()> {
        self.push(1, 0, 0);
        loop {
            let rest = self.rest();
            let length = rest.find(['"', '\\', '$', '`'])?;
            self.push(0, length, 0);
            let rest = self.rest();
            match rest.as_bytes()[0] {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => match rest[1..].chars().next()? {
                    '\n' => self.at += 2,
                    '"' | '\\' | '$' | '`' => self.push(1, 1, 0),
                    _ => self.push(0, 1, 0),
                },
                _ => self.expansion()?,
            }
        }
    }

    /// What the shell puts something in place of; as it is written, unless that is certain.
    fn expansion(&mut self) -> Option<()> {
        let rest = self.rest();
        let second = rest[1..].chars().next();
        let length = match (rest.as_bytes()[0], second) {
            (b'`', _) | (_, Some('(' | '{')) => {
                let end = substitution(self.text, if rest.starts_with('`') { self.at } else { self.at + 1 })?;
                if let Some((start, length)) = literal(&self.text[self.at..end]) {
                    self.push(start, length, end - self.at - start - length);
                    return Some(());
                }
                end - self.at
            }
            (_, Some('\'')) if self.word.is_none() => 1 + ansi_quoted(&rest[1..])?,
            (_, Some(ch)) if ch.is_ascii_alphanumeric() || "_@*#?$!-".contains(ch) => 2,
            _ => {
                self.push(0, 1, 0);
                return Some(());
            }
        };
        self.is_special = true;
        self.push(0, length, 0);
        Some(())
    }
}

/// Where the text of a heredoc that begins at `at` ends: behind the line that ends it.
fn behind(text: &str, mut at: usize, heredoc: &Heredoc) -> usize {
    while at < text.len() {
        let line = text[at..].split('\n').next().unwrap_or_default();
        at = (at + line.len() + 1).min(text.len());
        let told = if heredoc.is_indented { line.trim_start_matches('\t') } else { line };
        if told == heredoc.end {
            break;
        }
    }
    at
}

/// The length of `'…'` with escapes in it.
fn ansi_quoted(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'\'' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    })?;
    Some(end + 2)
}

/// Where the substitution ends that opens at `at`, with `(`, `{` or a backquote. What is in it may be quoted, and hold
/// others.
fn substitution(text: &str, mut at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut open: Vec<u8> = Vec::new();
    let mut heredocs: Vec<Heredoc> = Vec::new();
    loop {
        let byte = *bytes.get(at)?;
        let inside = open.last().copied();
        at += 1;
        match (byte, inside) {
            (b'\\', _) => at += text[at..].chars().next()?.len_utf8(),
            (b'\'', Some(b')' | b'}')) => at += text[at..].find('\'')? + 1,
            (closing, Some(wanted)) if closing == wanted => {
                open.pop();
                if open.is_empty() {
                    return Some(at);
                }
            }
            (b'"' | b'`', _) => open.push(byte),
            (b'(', None | Some(b')')) => open.push(b')'),
            (b'{', None) => open.push(b'}'),
            (b'$', Some(_)) => match bytes.get(at) {
                Some(b'(') => (open.push(b')'), at += 1).1,
                Some(b'{') => (open.push(b'}'), at += 1).1,
                _ => {}
            },
            (b'<', Some(b')')) if text[at..].starts_with('<') => {
                let (length, heredoc) = announced(&text[at - 1..]);
                at += length - 1;
                heredocs.extend(heredoc);
            }
            (b'\n', Some(b')')) => {
                for heredoc in heredocs.drain(..) {
                    at = behind(text, at, &heredoc);
                }
            }
            _ => {}
        }
        if open.len() > DEEPEST {
            return None;
        }
    }
}

/// The length of `<<END`, and the text that it announces; `<<<` announces none.
fn announced(text: &str) -> (usize, Option<Heredoc>) {
    if text.starts_with("<<<") {
        return (3, None);
    }
    let is_indented = text[2..].starts_with('-');
    let before = 2 + usize::from(is_indented);
    let word = text[before..].trim_start_matches([' ', '\t']);
    let before = text.len() - word.len();
    let (length, end) = if let Some(quote @ ('\'' | '"')) = word.chars().next() {
        let end = word[1..].split(quote).next().unwrap_or_default();
        ((end.len() + 2).min(word.len()), end)
    } else {
        let is_end = |ch: char| ch.is_whitespace() || ";&|<>()".contains(ch);
        let end = word.split(is_end).next().unwrap_or_default();
        (end.len(), end.trim_start_matches('\\'))
    };
    (before + length, (!end.is_empty()).then(|| Heredoc { end: end.to_owned(), is_indented }))
}

/// The text that `$(cat <<'EOF' … EOF)` stands for, as where it begins in it and how long it is.
fn literal(substitution: &str) -> Option<(usize, usize)> {
    let inner = substitution.strip_prefix("$(")?.strip_suffix(')')?;
    let cat = inner.trim_start().strip_prefix("cat")?.trim_start();
    let (length, heredoc) = announced(cat.strip_prefix("<<").map(|_| cat)?);
    let heredoc = heredoc.filter(|heredoc| !heredoc.is_indented)?;
    let is_quoted = cat[..length].ends_with(['\'', '"']);
    let body = cat[length..].trim_start_matches([' ', '\t', '\r']).strip_prefix('\n')?;
    let from = substitution.len() - 1 - body.len();
    let end = behind(body, 0, &heredoc);
    let last = body[..end].trim_end_matches('\n').strip_suffix(&heredoc.end)?;
    let text = last.trim_end_matches('\n');
    let is_certain = is_quoted || !text.contains(['$', '`', '\\']);
    (is_certain && body[end..].trim().is_empty()).then_some((from, text.len()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Each command as `op [word|word]`, with `!` if it isn't plain.
    fn told(text: &str) -> String {
        let Some(commands) = read(text) else { return "none".to_owned() };
        let told = commands.iter().map(|command| {
            let before = command.before.map_or(String::new(), |before| format!("{before:?} "));
            let mark = if command.plain { "" } else { "!" };
            format!("{before}{mark}[{}]", command.words.join("|"))
        });
        told.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn words_are_those_that_the_shell_hands_over() {
        for (text, expected) in [
            ("", ""),
            ("git push  origin\tmain", "[git|push|origin|main]"),
            (r#"a 'b c'"d e"f g\ h "" ''"#, "[a|b cd ef|g h||]"),
            (r#"a "x\"y\\z\n\$" \\"#, r#"[a|x"y\z\n$|\]"#),
            ("a b#c # d 'e", "[a|b#c]"),
            ("a \\\n b", "[a|b]"),
            ("a *.rs {b,c} ~/d [e]", "[a|*.rs|{b,c}|~/d|[e]]"),
            ("echo 5$ $ é漢", "[echo|5$|$|é漢]"),
            ("a 'b", "none"),
            ("a \"b", "none"),
            ("a $(b", "none"),
        ] {
            assert_eq!(told(text), expected, "{text}");
        }
    }

    #[test]
    fn commands_are_parted_by_operators_and_know_the_one_before_them() {
        for (text, expected) in [
            ("cd a && b || c; d & e", "[cd|a] \"&&\" [b] \"||\" [c] \";\" [d] \"&\" [e]"),
            ("a | b |& c", "[a] \"|\" [b] \"|&\" [c]"),
            ("a\n\n b &&\n c\n", "[a] \"\\n\" [b] \"&&\" [c]"),
            ("a;", "[a]"),
            ("; a", "[a]"),
            ("(a && b) | c", "![a] \"&&\" ![b] \"|\" [c]"),
            ("f() { a; }", "![f] [{|a] \";\" [}]"),
        ] {
            assert_eq!(told(text), expected, "{text}");
        }
        let commands = read("cd a &&  git 'b c' >x ; d").unwrap();
        let text = "cd a &&  git 'b c' >x ; d";
        let texts: Vec<&str> = commands.iter().map(|command| &text[command.start..command.end]).collect();
        assert_eq!(texts, ["cd a", "git 'b c' >x", "d"]);
    }

    #[test]
    fn what_the_shell_fills_in_stays_as_written_and_is_not_plain() {
        for (text, expected) in [
            ("a $B ${C:-d e} $1x", "![a|$B|${C:-d e}|$1x]"),
            ("a \"$(b \"c )\" 'd)')\" e", "![a|$(b \"c )\" 'd)')|e]"),
            ("a `b \\` c` $'d\\'e'", "![a|`b \\` c`|$'d\\'e']"),
            ("a >b 2>&1 <c &>d e", "![a|e]"),
            ("a <(b c) && d", "![a|<(b c)] \"&&\" [d]"),
            ("cat <<EOF >x && b\nit's $(\nEOF\nc", "![cat] \"&&\" [b] \"\\n\" [c]"),
            ("cat <<-'X Y' | b\nit's\n\tX Y\nc", "![cat] \"|\" [b] \"\\n\" [c]"),
            ("a <<< 'b' c", "![a|c]"),
        ] {
            assert_eq!(told(text), expected, "{text}");
        }
    }

    #[test]
    fn a_text_that_is_put_in_by_cat_is_that_text() {
        for (text, expected) in [
            (
                "git commit -m \"$(cat <<'EOF'\nFix it, don't\n\nNow (really).\nEOF\n)\"",
                "[git|commit|-m|Fix it, don't\n\nNow (really).]",
            ),
            ("a \"$(cat <<EOF\nb\nEOF\n)\"", "[a|b]"),
            ("a \"$(cat <<EOF\n$b\nEOF\n)\"", "![a|$(cat <<EOF\n$b\nEOF\n)]"),
            ("a \"$(cat <<'EOF'\nb\nEOF\nrm -r c\n)\"", "![a|$(cat <<'EOF'\nb\nEOF\nrm -r c\n)]"),
            ("a \"$(cat <<'EOF'\nb\nEOF)\"", "none"),
            ("a \"$(cat <<'')\"", "![a|$(cat <<'')]"),
        ] {
            assert_eq!(told(text), expected, "{text}");
        }
    }

    #[test]
    fn long_and_deep_texts_are_refused_in_linear_time() {
        assert!(read(&"a ".repeat(LONGEST / 2 + 1)).is_none());
        for piece in ["$(", "\"$(", "`", "((", "<<a\n", "<(", "${", "'\"", "\\", "$(cat <<'a'\n", "a;", "<<<"]
        {
            let text = piece.repeat(LONGEST / piece.len());
            // Whatever comes of it, it comes.
            let _ = read(&text);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "[a-c \n\t'\"\\\\$`;&|()<>{}#é-]{0,40}") {
            for command in read(&text).into_iter().flatten() {
                prop_assert!(command.start <= command.end);
                prop_assert!(text.get(command.start..command.end).is_some());
            }
        }

        #[test]
        fn quoted_words_come_back(words in proptest::collection::vec("[a-c '\"\\\\$`;&|()<>{}#é\n-]{0,8}", 1..5)) {
            let quoted: Vec<String> =
                words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
            let commands = read(&quoted.join(" ")).unwrap();
            prop_assert_eq!(commands.len(), 1);
            prop_assert!(commands[0].plain);
            prop_assert_eq!(&commands[0].words, &words);
        }
    }
}
