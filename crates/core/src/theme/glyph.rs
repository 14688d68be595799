//! The characters of each glyph name, in one table: a new glyph is a new row.

use strum::IntoStaticStr;

/// A set of characters for glyph names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Glyphs {
    /// `●`, `✓`, `│`, …
    #[default]
    Unicode,
    /// `*`, `+`, `|`, …
    Ascii,
    /// `call:`, `ok:`, …: for screen readers.
    Words,
    /// The icons of a Nerd Font, which the terminal must have.
    Nerd,
}

impl Glyphs {
    /// All sets.
    pub const ALL: [Self; 4] = [Self::Unicode, Self::Ascii, Self::Words, Self::Nerd];

    /// Its name in a profile and in a theme.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The name, and the characters in the order of [`Glyphs`]: Unicode, ASCII, words for screen readers, Nerd Font. If empty, nothing is
/// written.
#[rustfmt::skip]
const TABLE: &[(&str, [&str; 4])] = &[
    // Marks of entries.
    ("call",          ["●", "*", "call:", "\u{f444}"]),
    ("result",        ["↳", "^", "result of:", "↳"]),
    ("output",        ["└", ":", "result:", "└"]),
    ("inside",        ["↳", "^", "inside of:", "↳"]),
    ("ok",            ["✓", "+", "ok:", "\u{f00c}"]),
    ("error",         ["✗", "x", "error:", "\u{f00d}"]),
    ("warning",       ["▲", "!", "warning:", "\u{f071}"]),
    ("notice",        ["·", "-", "note:", "\u{f05a}"]),
    ("prompt",        ["›", ">", "prompt:", "\u{f007}"]),
    ("reply",         ["",  "",  "reply:", ""]),
    ("thinking",      ["✻", "~", "thinking:", "\u{f0eb}"]),
    ("plan",          ["≡", "=", "plan:", "\u{f0ae}"]),
    ("session",       ["◇", "#", "session:", "\u{f120}"]),
    ("outcome-ok",    ["✓", "+", "outcome:", "\u{f058}"]),
    ("outcome-error", ["✗", "x", "outcome:", "\u{f057}"]),
    ("totals",        ["Σ", "=", "totals:", "Σ"]),
    // Parts of bodies.
    ("nest",          ["│", "|", "", "│"]),
    ("elided",        ["…", "...", "left out:", "…"]),
    ("command",       ["$", "$", "command:", "\u{f489}"]),
    ("arrow",         ["→", "->", "to", "→"]),
    ("image",         ["image", "image", "image", "\u{f03e}"]),
    ("quote",         ["▎", "|", "quote:", "▎"]),
    ("diff-add",      ["+", "+", "added:", "+"]),
    ("diff-remove",   ["-", "-", "removed:", "-"]),
    ("diff-keep",     ["",  "",  "", ""]),
    ("diff-hunk",     ["⋮", "..", "further on:", "⋮"]),
    // States of points.
    ("plain",         ["•", "-", "-", "•"]),
    ("open",          ["☐", "[ ]", "to do:", "\u{f096}"]),
    ("active",        ["▸", "[>]", "doing:", "\u{f0da}"]),
    ("done",          ["✓", "[x]", "done:", "\u{f046}"]),
    ("failed",        ["✗", "[!]", "failed:", "\u{f2d3}"]),
    // Lines of tables and rules.
    ("row",           ["─", "-", "", "─"]),
    ("column",        ["│", "|", "", "│"]),
    ("cross",         ["┼", "+", "", "┼"]),
];

/// The characters of the glyph called `name`; empty for an unknown name.
pub fn glyph(set: Glyphs, name: &str) -> &'static str {
    let row = TABLE.iter().find(|(known, _)| *known == name);
    row.map_or("", |(_, spellings)| spellings[set as usize])
}

/// The static name of a glyph, for [`View::mark`](crate::entry::View::mark); `None` for an unknown name.
pub fn mark(name: &str) -> Option<&'static str> {
    TABLE.iter().find(|(known, _)| *known == name).map(|(known, _)| *known)
}

/// The names of all glyphs.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Text;

    #[test]
    fn the_list_for_users_has_every_glyph() {
        let page = include_str!("../../../../docs/themes.md");
        for (name, spellings) in TABLE {
            let cells = spellings.map(|cell| match cell.chars().next() {
                None => "nothing".to_owned(),
                Some(icon @ '\u{e000}'..='\u{f8ff}') => format!("U+{:04X}", icon as u32),
                Some(_) => format!("`{}`", cell.replace('|', "\\|")),
            });
            let row = format!("| `{name}` | {} |", cells.join(" | "));
            assert!(page.contains(&row), "{row}");
        }
    }

    #[test]
    fn every_glyph_is_clean_and_has_ascii_equivalents() {
        for (name, [unicode, ascii, words, nerd]) in TABLE {
            assert_eq!(Text::clean(unicode).as_str(), *unicode, "{name}");
            assert_eq!(Text::clean(nerd).as_str(), *nerd, "{name}");
            assert!(ascii.is_ascii() && words.is_ascii(), "{name}");
            assert_eq!(unicode.is_empty(), ascii.is_empty(), "{name}");
        }
    }
}
