//! Which characters a glyph name becomes. One table: a new glyph is a new row.

use crate::profile::Glyphs;

/// Name, Unicode, ASCII, and what a screen reader should say. Empty: nothing is written.
#[rustfmt::skip]
const TABLE: &[(&str, [&str; 3])] = &[
    // Marks of entries.
    ("call",          ["●", "*", "call:"]),
    ("result",        ["↳", "^", "result of:"]),
    ("inside",        ["↳", "^", "inside of:"]),
    ("ok",            ["✓", "+", "ok:"]),
    ("error",         ["✗", "x", "error:"]),
    ("warning",       ["▲", "!", "warning:"]),
    ("notice",        ["·", "-", "note:"]),
    ("prompt",        ["›", ">", "prompt:"]),
    ("reply",         ["",  "",  "reply:"]),
    ("thinking",      ["✻", "~", "thinking:"]),
    ("plan",          ["≡", "=", "plan:"]),
    ("session",       ["◇", "#", "session:"]),
    ("outcome-ok",    ["✓", "+", "outcome:"]),
    ("outcome-error", ["✗", "x", "outcome:"]),
    // Parts of bodies.
    ("nest",          ["│", "|", ""]),
    ("elided",        ["…", "...", "left out:"]),
    ("command",       ["$", "$", "command:"]),
    ("arrow",         ["→", "->", "to"]),
    ("image",         ["image", "image", "image"]),
    ("quote",         ["▎", "|", "quote:"]),
    ("diff-add",      ["+", "+", "added:"]),
    ("diff-remove",   ["-", "-", "removed:"]),
    ("diff-keep",     ["",  "",  ""]),
    ("diff-hunk",     ["⋮", "..", "further on:"]),
    // States of points.
    ("plain",         ["•", "-", "-"]),
    ("open",          ["☐", "[ ]", "to do:"]),
    ("active",        ["▸", "[>]", "doing:"]),
    ("done",          ["✓", "[x]", "done:"]),
    ("failed",        ["✗", "[!]", "failed:"]),
    // Lines of tables and rules.
    ("row",           ["─", "-", ""]),
    ("column",        ["│", "|", ""]),
    ("cross",         ["┼", "+", ""]),
];

/// What `name` is written as; an unknown name is written as nothing.
pub(crate) fn glyph(set: Glyphs, name: &str) -> &'static str {
    let Some((_, spellings)) = TABLE.iter().find(|(known, _)| *known == name) else { return "" };
    match set {
        Glyphs::Unicode => spellings[0],
        Glyphs::Ascii => spellings[1],
        Glyphs::Words => spellings[2],
    }
}

/// The name of a glyph, if there is one of this name: what [`View::mark`](crate::entry::View::mark) may be.
pub fn mark(name: &str) -> Option<&'static str> {
    TABLE.iter().find(|(known, _)| *known == name).map(|(known, _)| *known)
}

/// Whether there is a glyph of this name.
pub(super) fn is_known(name: &str) -> bool {
    TABLE.iter().any(|(known, _)| *known == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Text;

    #[test]
    fn the_list_for_users_has_every_glyph() {
        let page = include_str!("../../../../docs/themes.md");
        for (name, spellings) in TABLE {
            let cells = spellings.map(|cell| match cell {
                "" => "nothing".to_owned(),
                _ => format!("`{}`", cell.replace('|', "\\|")),
            });
            let row = format!("| `{name}` | {} |", cells.join(" | "));
            assert!(page.contains(&row), "{row}");
        }
    }

    #[test]
    fn every_glyph_is_clean_and_its_twin_is_ascii() {
        for (name, [unicode, ascii, words]) in TABLE {
            assert_eq!(Text::clean(unicode).as_str(), *unicode, "{name}");
            assert!(ascii.is_ascii() && words.is_ascii(), "{name}");
            assert_eq!(unicode.is_empty(), ascii.is_empty(), "{name}");
        }
    }
}
