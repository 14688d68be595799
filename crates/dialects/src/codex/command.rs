//! Extracts commands from the shell invocations of Codex.

use std::borrow::Cow;

use streamfmt_core::item::Fact;
use streamfmt_core::json::{Value, ValueKind};

/// Returns the command in an input, which is a string or a list of words, without the shell that runs it.
pub(super) fn meant(command: Value<'_>) -> Option<Fact> {
    text_of(command).map(Fact::Text)
}

fn text_of(command: Value<'_>) -> Option<String> {
    match command.kind() {
        ValueKind::String => {
            let text = command.decode()?;
            let script = words(&text).and_then(|words| script(&words).map(str::to_owned));
            Some(script.unwrap_or_else(|| text.into_owned()))
        }
        ValueKind::Array => {
            let words: Vec<Cow<'_, str>> = command.items().map(Value::decode).collect::<Option<_>>()?;
            let script = script(&words).map(str::to_owned);
            Some(
                script.unwrap_or_else(|| words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")),
            )
        }
        _ => None,
    }
}

/// Returns the patch if the command is a list of words that starts with `apply_patch`, as in versions before 0.45.
pub(super) fn patch(command: Value<'_>) -> Option<Value<'_>> {
    let mut words = command.items();
    let is_patch = words.next()?.str()?.is(super::tools::PATCH);
    words.next().filter(|patch| is_patch && patch.str().is_some())
}

/// Returns the script of a shell invocation: `bash -lc SCRIPT`.
fn script<W: AsRef<str>>(words: &[W]) -> Option<&str> {
    let [_, option, script] = words else { return None };
    matches!(option.as_ref(), "-lc" | "-c" | "-Command").then(|| script.as_ref())
}

/// Quotes a word for a shell, if needed.
fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=@%+,".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''")).into()
}

/// Returns the position of the first line feed outside of a shell's quotes.
pub(super) fn end_of_line(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match (quote, byte) {
            (None, b'\n') => return Some(at),
            (None, b'\'' | b'"') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            (None | Some(b'"'), b'\\') => {
                bytes.next();
            }
            _ => {}
        }
    }
    None
}

/// Splits a shell command into words. `None` if a quote isn't closed, or if there are more words than `bash -lc SCRIPT` has.
fn words(text: &str) -> Option<Vec<String>> {
    const MOST: usize = 3;
    let mut words = Vec::new();
    let mut chars = text.chars();
    while let Some(first) = chars.by_ref().find(|char| !char.is_whitespace()) {
        if words.len() == MOST {
            return None;
        }
        let mut word = String::new();
        let mut next = Some(first);
        while let Some(char) = next.filter(|char| !char.is_whitespace()) {
            match char {
                '\'' => loop {
                    match chars.next()? {
                        '\'' => break,
                        char => word.push(char),
                    }
                },
                '"' => loop {
                    match chars.next()? {
                        '"' => break,
                        '\\' => match chars.next()? {
                            char @ ('$' | '`' | '"' | '\\') => word.push(char),
                            '\n' => {}
                            char => word.extend(['\\', char]),
                        },
                        char => word.push(char),
                    }
                },
                '\\' => word.push(chars.next()?),
                char => word.push(char),
            }
            next = chars.next();
        }
        words.push(word);
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use streamfmt_core::json::Record;

    #[test]
    fn a_command_is_what_the_shell_is_asked_to_run() {
        for (input, expected) in [
            (r#""/bin/bash -lc 'ls -1'""#, Some("ls -1")),
            (r#""/bin/bash -lc \"sed -n '1,9p' \\\"a b\\\"\"""#, Some(r#"sed -n '1,9p' "a b""#)),
            (r#""/bin/bash -lc ls""#, Some("ls")),
            (r#""bash -lc 'it'\\''s'""#, Some("it's")),
            (r#""/bin/zsh -c 'a\nb'""#, Some("a\nb")),
            (r#""cargo test --workspace""#, Some("cargo test --workspace")),
            (r#""bash -lc 'open""#, Some("bash -lc 'open")),
            (r#""""#, Some("")),
            (r#"["bash","-lc","ls | wc"]"#, Some("ls | wc")),
            (r#"["git","commit","-m","it's a b",""]"#, Some(r"git commit -m 'it'\''s a b' ''")),
            (r#"["git",1]"#, None),
            ("1", None),
        ] {
            let record = Record::from_line(input.to_owned()).unwrap();
            assert_eq!(text_of(record.root()).as_deref(), expected, "{input}");
        }
    }
}
