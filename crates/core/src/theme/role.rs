//! The table of the roles that themes can style. It is used to detect misspelled roles.
//!
//! Any name may be added below each of them: `tool.name.mine` has the style of `tool.name`. So a name is reported only if
//! no part of it is known, or if its first unknown part is spelled almost like a known one.

use std::collections::HashSet;
use std::sync::LazyLock;

use foldhash::fast::FixedState;

use super::glyph;
use crate::nearest::nearest;

/// All roles that entries, writers and the built-in themes use, except those of marks.
#[rustfmt::skip]
const ROLES: &[&str] = &[
    "text", "strong", "muted", "faint", "accent", "code", "link", "path", "time", "nest", "agent", "agent.1", "agent.2", "agent.3", "agent.4", "agent.5", "elided", "image",
    "ok", "warning", "error", "id", "unknown",
    "tool", "tool.name", "tool.server", "tool.agent", "tool.icon", "tool.note",
    "call", "call.arg", "call.command", "call.command.program", "call.command.string", "call.input", "call.detail", "call.key", "call.value", "call.note",
    "plan", "plan.point", "plan.note",
    "ask", "ask.question", "ask.option", "ask.answer",
    "details", "details.summary", "details.folded", "details.hidden",
    "result", "result.text", "result.ok", "result.ok.note", "result.error", "result.error.text", "result.note",
    "result.note.of", "result.answer", "result.file", "result.link", "result.structured",
    "change", "change.add", "change.remove",
    "diff.add", "diff.remove", "diff.keep", "diff.add.word", "diff.remove.word", "diff.number", "diff.hunk",
    "code.number",
    "list.plain", "list.open", "list.active", "list.done", "list.failed",
    "table.head", "table.border",
    "outcome", "outcome.ok", "outcome.warning", "outcome.error", "outcome.note", "outcome.figure",
    "prompt", "prompt.task", "reply", "thinking",
    "record", "record.label", "record.note", "record.text",
    "notice", "notice.info", "notice.warning", "notice.error", "notice.text", "notice.note", "notice.record",
    "badge", "badge.info", "badge.warning", "badge.critical",
    "session", "session.model", "session.id", "session.version", "session.mode", "session.folder", "session.date", "session.tool",
    "session.note",
    "markdown.heading", "markdown.heading.1", "markdown.heading.2", "markdown.heading.3", "markdown.heading.4",
    "markdown.strong", "markdown.emphasis", "markdown.strike", "markdown.code", "markdown.block", "markdown.quote",
    "markdown.bar", "markdown.rule", "markdown.bullet", "markdown.url", "markdown.html",
    "syntax.keyword", "syntax.string", "syntax.comment", "syntax.number", "syntax.constant", "syntax.function",
    "syntax.type", "syntax.variable", "syntax.tag", "syntax.attribute", "syntax.operator", "syntax.heading",
    "syntax.inserted", "syntax.deleted", "syntax.invalid",
    "mark",
];

/// The shortest part of a name that is compared with others: shorter ones are similar to too many.
const SHORTEST: usize = 3;

/// All roles in use.
static KNOWN: LazyLock<HashSet<String, FixedState>> = LazyLock::new(|| {
    let marks = glyph::names().map(|name| format!("mark.{name}"));
    ROLES.iter().map(|role| (*role).to_owned()).chain(marks).collect()
});

/// The roles in use, in no order.
pub fn roles() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(String::as_str)
}

/// Whether a role is one of those in use.
pub fn is_role(role: &str) -> bool {
    KNOWN.contains(role)
}

/// A message if the name of a role is probably wrong: if no part of it is known, or if it is a few letters off or
/// abbreviated.
pub fn wrong_role(role: &str) -> Option<String> {
    if is_role(role) {
        return None;
    }
    let mut known: Vec<&str> = KNOWN.iter().map(String::as_str).collect();
    known.sort_unstable();
    let is_group = |name: &str| known.iter().any(|role| is_below(role, name));
    let mut parent = "";
    let part = loop {
        let rest = if parent.is_empty() { role } else { role.get(parent.len() + 1..)? };
        let part = rest.split('.').next().unwrap_or_default();
        let longer = &role[..role.len() - rest.len() + part.len()];
        if !is_role(longer) && !is_group(longer) {
            break part;
        }
        parent = longer;
    };
    let beside: Vec<&str> = known.iter().filter_map(|role| part_below(role, parent)).collect();
    // An abbreviated name may be many letters off: notice.warn.
    let longer =
        || beside.iter().copied().filter(|known| known.starts_with(part)).min_by_key(|known| known.len());
    let near = nearest(part, &beside).or_else(longer);
    let near = near.filter(|_| !is_role(parent) || part.len() >= SHORTEST);
    let near = near.map(|near| if parent.is_empty() { near.to_owned() } else { format!("{parent}.{near}") });
    let whole = || {
        let is_end = |known: &&&str| known.strip_suffix(role).is_some_and(|before| before.ends_with('.'));
        let near = || nearest(role, &known).filter(|_| parent.is_empty());
        known.iter().find(is_end).copied().or_else(near).map(str::to_owned)
    };
    if near.is_none() && is_role(parent) {
        return None;
    }
    let hint = match near.or_else(whole) {
        Some(near) => format!("did you mean {near:?}?"),
        None => "a role of your own goes below a known one, as in \"tool.name.mine\"".to_owned(),
    };
    Some(format!("unknown role {role:?} ({hint})"))
}

fn is_below(role: &str, parent: &str) -> bool {
    role.strip_prefix(parent).is_some_and(|rest| rest.starts_with('.'))
}

/// The part of `role` that follows `parent`.
fn part_below<'r>(role: &'r str, parent: &str) -> Option<&'r str> {
    let rest = if parent.is_empty() { role } else { role.strip_prefix(parent)?.strip_prefix('.')? };
    rest.split('.').next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theme::{Appearance, Theme};

    #[test]
    fn typos_are_found_and_roles_of_plugins_are_not() {
        for (role, meant) in [
            ("tool", ""),
            ("tool.name.mine", ""),
            ("tool.mine", ""),
            ("result.mine", ""),
            ("result.error.text.a.b", ""),
            ("markdown", ""),
            ("markdown.heading.5", ""),
            ("mark.call", ""),
            ("replyy", "\"reply\""),
            ("Tool.name", "\"tool\""),
            ("tool.nam", "\"tool.name\""),
            ("tool.nam.mine", "\"tool.name\""),
            ("tool_name", "\"tool.name\""),
            ("notice.warn", "\"notice.warning\""),
            ("result.err.mine", "\"result.error\""),
            ("diff.rem", "\"diff.remove\""),
            ("notice.w", ""),
            ("result.error.txt", "\"result.error.text\""),
            ("syntax.keywrd", "\"syntax.keyword\""),
            ("syntax.mine", "goes below a known one"),
            ("keyword", "\"syntax.keyword\""),
            ("mark.cal", "\"mark.call\""),
            ("zzz", "goes below a known one"),
            ("zzz.tool", "goes below a known one"),
            ("ä.ö", "goes below a known one"),
        ] {
            let wrong = wrong_role(role);
            assert_eq!(wrong.is_none(), meant.is_empty(), "{role}: {wrong:?}");
            assert!(wrong.unwrap_or_default().contains(meant), "{role}");
        }
    }

    #[test]
    fn the_roles_of_the_built_in_themes_are_known_and_all_are_in_the_list_for_users() {
        let page = include_str!("../../../../docs/roles.md");
        for name in Theme::builtin_names() {
            let theme = Theme::builtin(name, Appearance::Dark).unwrap();
            for (role, _) in theme.roles() {
                assert_eq!(wrong_role(role), None, "{name}");
            }
        }
        for role in ROLES {
            assert!(page.contains(&format!("`{role}`")) || role.starts_with("markdown.heading."), "{role}");
        }
    }
}
