//! Roles, and the table of those that themes can style. The table is also used to detect misspelled roles.
//!
//! Any name may be added below each of them: `tool.name.mine` has the style of `tool.name`. So a name is reported only if
//! no part of it is known, or if its first unknown part is spelled almost like a known one.

use std::fmt;
use std::iter;
use std::sync::{Mutex, PoisonError};

use foldhash::fast::FixedState;
use indexmap::IndexSet;
use serde::{Serialize, Serializer};

use crate::nearest::nearest;

/// All roles that entries, writers and the built-in themes use. The marks are the glyphs.
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
    "mark.call", "mark.result", "mark.output", "mark.inside", "mark.ok", "mark.error", "mark.warning", "mark.notice", "mark.prompt",
    "mark.reply", "mark.thinking", "mark.plan", "mark.session", "mark.outcome-ok", "mark.outcome-error", "mark.totals", "mark.nest",
    "mark.elided", "mark.command", "mark.arrow", "mark.image", "mark.quote", "mark.diff-add", "mark.diff-remove", "mark.diff-keep",
    "mark.diff-hunk", "mark.plain", "mark.open", "mark.active", "mark.done", "mark.failed", "mark.row", "mark.column", "mark.cross",
];

/// The shortest part of a name that is compared with others: shorter ones are similar to too many.
const SHORTEST: usize = 3;

/// The number of the role at the place of each name. A constant rather than a static, so that the compiler finds the number of a literal in
/// other crates as well.
const PLACES: [u8; 1 << PLACE_BITS] = {
    let mut places = [FREE; 1 << PLACE_BITS];
    let mut number = 0;
    while number < ROLES.len() {
        let place = place(ROLES[number]);
        assert!(number < FREE as usize && places[place] == FREE, "this name needs another FACTOR");
        places[place] = number as u8;
        number += 1;
    }
    places
};

/// No role has this number.
const FREE: u8 = u8::MAX;

/// The number of places as a power of two, and a factor by which no two names of the list have the same place.
const PLACE_BITS: u32 = 12;
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// The place of a name: a hash of its length and five of its bytes. These differ for all names of the list.
#[inline]
const fn place(name: &str) -> usize {
    let (bytes, length) = (name.as_bytes(), name.len());
    if length == 0 {
        return 0;
    }
    let end = [bytes[length - 1], bytes[length.saturating_sub(2)], bytes[length.saturating_sub(3)]];
    let mixed = [bytes[0], bytes[length / 2], end[0], end[1], end[2], length as u8, 0, 0];
    (u64::from_le_bytes(mixed).wrapping_mul(FACTOR) >> (u64::BITS - PLACE_BITS)) as usize
}

/// The most names that are entered at run time.
const MOST_ENTERED: usize = 4096;

/// The names entered at run time. They are shared by the whole process and stay: the number of a role means the same everywhere.
static ENTERED: Mutex<IndexSet<&'static str, FixedState>> =
    Mutex::new(IndexSet::with_hasher(FixedState::with_seed(0)));

/// The meaning of a span: a dotted name such as `tool.name`, which falls back to its parent `tool`.
/// Any name is allowed; `docs/roles.md` lists those in use.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Role(#[cfg_attr(feature = "schema", schemars(with = "String"))] u16);

impl Role {
    /// The role of a name that is known at compile time, where it costs nothing if it is in the list.
    #[inline]
    pub fn of(name: &'static str) -> Self {
        Self::listed(name).unwrap_or_else(|| Self::entered(name))
    }

    /// The role of this name, if it is valid: up to 64 letters, digits, `_`, `-`, and dots between them. A process remembers 4,096
    /// names that aren't in the list; any further name becomes its nearest known parent, or `text`.
    pub fn parse(name: &str) -> Option<Self> {
        let is_part = |part: &str| {
            !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        };
        let is_valid = || name.len() <= 64 && name.split('.').all(is_part);
        Self::listed(name).or_else(|| is_valid().then(|| Self::entered(name)))
    }

    /// The role of the glyph called `name`.
    pub fn of_mark(name: &str) -> Self {
        Self::parse(&["mark.", name].concat()).unwrap_or(Self::of("mark"))
    }

    /// The dotted name.
    #[inline]
    pub fn name(self) -> &'static str {
        ROLES.get(self.number()).copied().unwrap_or_else(|| self.entered_name())
    }

    #[cold]
    fn entered_name(self) -> &'static str {
        let all = ENTERED.lock().unwrap_or_else(PoisonError::into_inner);
        all.get_index(self.number() - ROLES.len()).copied().unwrap_or("text")
    }

    /// Its number: for a role of the list, its index in [`roles`]; for others, a larger one.
    #[inline]
    pub fn number(self) -> usize {
        self.0.into()
    }

    #[inline]
    fn listed(name: &str) -> Option<Self> {
        let number = PLACES[place(name)];
        ROLES.get(usize::from(number)).is_some_and(|known| *known == name).then_some(Self(number.into()))
    }

    #[cold]
    fn entered(name: &str) -> Self {
        let mut all = ENTERED.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < MOST_ENTERED && !all.contains(name) {
            // It is never freed, which the limit makes affordable.
            all.insert(Box::leak(name.into()));
        }
        let entered = |name| Some(Self((ROLES.len() + all.get_index_of(name)?) as u16));
        let mut names = iter::successors(Some(name), |name| Some(name.rsplit_once('.')?.0));
        names.find_map(|name| Self::listed(name).or_else(|| entered(name))).unwrap_or(Self::of("text"))
    }
}

impl From<&'static str> for Role {
    #[inline]
    fn from(name: &'static str) -> Self {
        Self::of(name)
    }
}

impl fmt::Debug for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.name(), f)
    }
}

impl Serialize for Role {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The names of the roles in use, by their numbers.
pub fn roles() -> impl Iterator<Item = &'static str> {
    ROLES.iter().copied()
}

/// Whether a role is one of those in use.
pub fn is_role(role: &str) -> bool {
    Role::listed(role).is_some()
}

/// A message if the name of a role is probably wrong: if no part of it is known, or if it is a few letters off or
/// abbreviated.
pub fn wrong_role(role: &str) -> Option<String> {
    if is_role(role) {
        return None;
    }
    let mut known: Vec<&str> = roles().collect();
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
    use crate::theme::{Appearance, Theme, glyph};

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
    fn every_name_has_a_number_and_one_too_many_becomes_its_parent() {
        for (number, name) in roles().enumerate() {
            assert_eq!((Role::parse(name).unwrap().number(), Role::of(name).name()), (number, name));
        }
        let mine = Role::parse("tool.name.mine").unwrap();
        assert_eq!((mine, mine.name()), (Role::of("tool.name.mine"), "tool.name.mine"));
        assert_eq!([Role::parse(""), Role::parse("a..b"), Role::parse("a b")], [None; 3]);
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
        for mark in glyph::names() {
            assert!(is_role(&format!("mark.{mark}")), "{mark}");
        }
        for role in roles().filter(|role| !role.starts_with("mark.")) {
            assert!(page.contains(&format!("`{role}`")) || role.starts_with("markdown.heading."), "{role}");
        }
    }
}
