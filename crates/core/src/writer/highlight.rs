//! Finds out what the words of code are: keyword, string, comment, …
//!
//! The answer is a role of the theme (`syntax.keyword`), so one theme file says all of a look.
//! Grammars are loaded at the first code that wants them.

use syntect::parsing::{ParseState, Scope, ScopeStack, ScopeStackOp, SyntaxSet};

/// Longer code is left plain.
const MAX_CODE: usize = 256 * 1024;

/// Longer lines are left plain.
const MAX_LINE: usize = 2_000;

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
    /// language isn't known or the code is too long. Loads the grammars into `slot` if it is empty.
    pub(crate) fn lines<'h>(slot: &'h mut Option<Self>, language: &str, code: &str) -> Option<Lines<'h>> {
        let language =
            language.split([' ', ',', '{', ':']).next()?.trim_start_matches('.').to_ascii_lowercase();
        if language.is_empty()
            || language.len() > 32
            || code.len() > MAX_CODE
            || matches!(&*language, "text" | "txt" | "plain")
        {
            return None;
        }
        let highlighter = slot.get_or_insert_with(Self::new);
        let name = ALIASES.iter().find(|(alias, _)| *alias == language).map_or(&*language, |(_, name)| *name);
        let grammar = highlighter.grammars.find_syntax_by_token(name)?;
        let state = ParseState::new(grammar);
        Some(Lines { highlighter, state, stack: ScopeStack::new(), line: String::new(), failed: false })
    }

    fn role(&self, stack: &ScopeStack) -> Option<&'static str> {
        let inwards = stack.as_slice().iter().rev();
        inwards.into_iter().find_map(|scope| {
            self.roles.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope)).map(|(_, role)| *role)
        })
    }
}

/// Reads code line by line.
pub(crate) struct Lines<'h> {
    highlighter: &'h Highlighter,
    state: ParseState,
    stack: ScopeStack,
    line: String,
    failed: bool,
}

impl Lines<'_> {
    /// The parts of the next line, each with its role if it has one; `None` if the line is to stay plain.
    pub(crate) fn line<'l>(&mut self, line: &'l str) -> Option<Vec<(&'l str, Option<&'static str>)>> {
        if self.failed || line.len() > MAX_LINE {
            return None;
        }
        self.line.clear();
        self.line.push_str(line);
        self.line.push('\n');
        let Ok(operations) = self.state.parse_line(&self.line, &self.highlighter.grammars) else {
            self.failed = true;
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
            self.failed = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    fn roles(language: &str, code: &str) -> Vec<(String, Option<&'static str>)> {
        let mut slot = None;
        let mut lines = Highlighter::lines(&mut slot, language, code).unwrap();
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
        let mut slot = None;
        assert!(Highlighter::lines(&mut slot, "rust", &"x".repeat(MAX_CODE + 1)).is_none());
        assert!(slot.is_none(), "nothing is loaded for code that stays plain");
        assert!(Highlighter::lines(&mut slot, "nonesuch", "x").is_none());
        let mut lines = Highlighter::lines(&mut slot, "rust", "x").unwrap();
        assert!(lines.line(&"x".repeat(MAX_LINE + 1)).is_none());
        assert!(lines.line("let x").is_some());
    }
}
