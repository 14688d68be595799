//! Finds out what the words of code are: keyword, string, comment, …
//!
//! The answer is a role of the theme (`syntax.keyword`), so one theme file says all of a look.
//! Grammars are loaded at the first code that wants them.

use std::sync::OnceLock;

use syntect::parsing::{ParseState, Scope, ScopeStack, ScopeStackOp, SyntaxSet};

/// Longer code is left plain.
const MAX_CODE: usize = 256 * 1024;

/// Longer lines are left plain.
const MAX_LINE: usize = 2_000;

/// Squares of line lengths that may be read of one code. Grammars look ahead from every character, so
/// the cost of a line grows with its square at worst; this much is a few thousand lines of the usual kind.
const MAX_WORK: usize = 16 << 20;

/// Scopes of grammars and the roles that they become. The innermost scope that has a row decides.
const ROLES: &[(&str, &str)] = &[
    ("comment", "syntax.comment"),
    ("constant.character.escape", "syntax.constant"),
    ("constant.numeric", "syntax.number"),
    ("constant", "syntax.constant"),
    ("string", "syntax.string"),
    ("keyword.operator", "syntax.operator"),
    ("keyword", "syntax.keyword"),
    ("storage", "syntax.keyword"),
    ("entity.name.function", "syntax.function"),
    ("support.function", "syntax.function"),
    ("variable.function", "syntax.function"),
    ("entity.name.tag", "syntax.tag"),
    ("entity.other.attribute-name", "syntax.attribute"),
    ("meta.annotation", "syntax.attribute"),
    ("entity.name.section", "syntax.heading"),
    ("markup.heading", "syntax.heading"),
    ("entity.name", "syntax.type"),
    ("entity.other.inherited-class", "syntax.type"),
    ("support.type", "syntax.type"),
    ("support.class", "syntax.type"),
    ("variable.language", "syntax.keyword"),
    ("variable", "syntax.variable"),
    ("markup.inserted", "syntax.inserted"),
    ("markup.deleted", "syntax.deleted"),
    ("invalid", "syntax.invalid"),
];

/// Names of languages that the grammars know by another name, or know a close relative of.
const ALIASES: &[(&str, &str)] = &[
    ("ts", "js"),
    ("tsx", "js"),
    ("jsx", "js"),
    ("mjs", "js"),
    ("cjs", "js"),
    ("typescript", "js"),
    ("console", "bash"),
    ("shell", "bash"),
    ("shell-session", "bash"),
    ("zsh", "bash"),
    ("fish", "bash"),
    ("jsonc", "json"),
    ("json5", "json"),
    ("jsonl", "json"),
    ("ndjson", "json"),
    ("toml", "properties"),
    ("ini", "properties"),
    ("kt", "java"),
    ("kotlin", "java"),
    ("vue", "html"),
    ("svelte", "html"),
    ("golang", "go"),
    ("patch", "diff"),
];

/// Grammars, and what their scopes mean.
pub(crate) struct Highlighter {
    grammars: SyntaxSet,
    roles: Vec<(Scope, &'static str)>,
}

impl Highlighter {
    fn new() -> Self {
        let roles = ROLES.iter().filter_map(|(scope, role)| Some((Scope::new(scope).ok()?, *role))).collect();
        Self { grammars: SyntaxSet::load_defaults_newlines(), roles }
    }

    /// Begins to read `code` in a language, named as after a fence or as a file extension. `None` if the
    /// language isn't known or the code is too long. The first call loads the grammars.
    pub(crate) fn lines(language: &str, code: &str) -> Option<Lines> {
        // Read-only data once it is made: all writers may share it.
        static LOADED: OnceLock<Highlighter> = OnceLock::new();

        let language =
            language.split([' ', ',', '{', ':']).next()?.trim_start_matches('.').to_ascii_lowercase();
        if language.is_empty()
            || language.len() > 32
            || code.len() > MAX_CODE
            || matches!(&*language, "text" | "txt" | "plain")
        {
            return None;
        }
        let highlighter = LOADED.get_or_init(Self::new);
        let name = ALIASES.iter().find(|(alias, _)| *alias == language).map_or(&*language, |(_, name)| *name);
        let grammar = highlighter.grammars.find_syntax_by_token(name)?;
        let state = ParseState::new(grammar);
        Some(Lines { highlighter, state, stack: ScopeStack::new(), line: String::new(), work: 0 })
    }

    fn role(&self, stack: &ScopeStack) -> Option<&'static str> {
        let inwards = stack.as_slice().iter().rev();
        inwards.into_iter().find_map(|scope| {
            self.roles.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope)).map(|(_, role)| *role)
        })
    }
}

/// Reads code line by line.
pub(crate) struct Lines {
    highlighter: &'static Highlighter,
    state: ParseState,
    stack: ScopeStack,
    line: String,
    work: usize,
}

impl Lines {
    /// The parts of the next line, each with its role if it has one; `None` if the line is to stay plain.
    pub(crate) fn line<'l>(&mut self, line: &'l str) -> Option<Vec<(&'l str, Option<&'static str>)>> {
        self.work = self.work.saturating_add(line.len().min(MAX_LINE).pow(2));
        if line.len() > MAX_LINE || self.work > MAX_WORK {
            return None;
        }
        self.line.clear();
        self.line.push_str(line);
        self.line.push('\n');
        let Ok(operations) = self.state.parse_line(&self.line, &self.highlighter.grammars) else {
            self.work = usize::MAX;
            return None;
        };
        let mut parts: Vec<(&str, Option<&'static str>)> = Vec::new();
        let mut from = 0;
        for (at, operation) in &operations {
            let at = (*at).min(line.len());
            self.part(line, from, at, &mut parts);
            from = from.max(at);
            self.apply(operation);
        }
        self.part(line, from, line.len(), &mut parts);
        Some(parts)
    }

    fn part<'l>(
        &self,
        line: &'l str,
        from: usize,
        to: usize,
        parts: &mut Vec<(&'l str, Option<&'static str>)>,
    ) {
        if let Some(text) = line.get(from..to).filter(|text| !text.is_empty()) {
            parts.push((text, self.highlighter.role(&self.stack)));
        }
    }

    fn apply(&mut self, operation: &ScopeStackOp) {
        if self.stack.apply(operation).is_err() {
            self.work = usize::MAX;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    fn roles(language: &str, code: &str) -> Vec<(String, Option<&'static str>)> {
        let mut lines = Highlighter::lines(language, code).unwrap();
        let parts = code.lines().flat_map(|line| lines.line(line).unwrap()).collect::<Vec<_>>();
        parts.into_iter().map(|(text, role)| (text.to_owned(), role)).collect()
    }

    #[test]
    fn every_scope_of_the_table_can_be_read() {
        for (scope, _) in ROLES {
            assert!(Scope::from_str(scope).is_ok(), "{scope}");
        }
    }

    #[test]
    fn words_of_code_have_roles() {
        let parts = roles("rust", "fn main() { let x = \"s\"; } // no");
        for (text, role) in [
            ("fn", "syntax.keyword"),
            ("main", "syntax.function"),
            ("s", "syntax.string"),
            (" no", "syntax.comment"),
        ] {
            assert!(parts.contains(&(text.to_owned(), Some(role))), "{text}: {parts:?}");
        }
        assert_eq!(
            parts.iter().map(|(text, _)| &**text).collect::<String>(),
            "fn main() { let x = \"s\"; } // no"
        );
    }

    #[test]
    fn every_alias_names_a_grammar() {
        let highlighter = Highlighter::new();
        for (alias, name) in ALIASES {
            assert!(highlighter.grammars.find_syntax_by_token(name).is_some(), "{alias}");
        }
    }

    #[test]
    fn unknown_languages_and_long_code_stay_plain() {
        assert!(Highlighter::lines("rust", &"x".repeat(MAX_CODE + 1)).is_none());
        assert!(Highlighter::lines("nonesuch", "x").is_none());
        let mut lines = Highlighter::lines("rust", "x").unwrap();
        assert!(lines.line(&"x".repeat(MAX_LINE + 1)).is_none());
        assert!(lines.line("let x").is_some());
        let read = (0..100).filter(|_| lines.line(&"x".repeat(MAX_LINE)).is_some()).count();
        assert!((1..10).contains(&read), "{read} of 100 long lines");
    }
}
