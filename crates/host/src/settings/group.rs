//! Checks the names of items (`--only`, `--hide`, profiles) and roles, and suggests corrections.
//!
//! Any name may be a tool's, so an unknown one is valid. But it is reported, since a typo hides everything or nothing.

use streamfmt_core::item::{Action, Kind};
use streamfmt_core::profile::Selector;
use streamfmt_core::theme::wrong_role;
use streamfmt_dialects::DIALECTS;

use crate::problem::{Problem, ProblemKind, nearest};
use crate::settings::document::{Leaf, SettingValue, SettingsLayer, quoted};
use crate::settings::keys::Named;
use crate::settings::tree::SettingsTree;
use crate::tools::rule::{self, ToolRule};

/// Wildcards of other programs. Here they would match no tool.
const FOREIGN_SIGNS: [char; 5] = ['[', ']', '{', '}', '?'];

/// The problem of a group's name, if it is invalid.
pub(crate) fn problem_of(named: &Named) -> Option<Problem> {
    let is_action = named.name.starts_with('@');
    let kind = if is_action { ProblemKind::UnknownName } else { ProblemKind::BadValue };
    Some(named.spot.problem(kind, wrong_with(&named.name)?))
}

/// Returns why the name of a group is invalid, if it is.
fn wrong_with(name: &str) -> Option<String> {
    if name.starts_with('@') {
        return rule::wrong_with_pattern(name);
    }
    if name.is_empty() {
        return Some("empty name (expected reply, failed, Bash, mcp__*, @edit, …)".to_owned());
    }
    let sign = name.chars().find(|sign| FOREIGN_SIGNS.contains(sign))?;
    Some(format!("\"{sign}\" is not allowed in a name (the only wildcard is *, as in mcp__*)"))
}

/// Returns a hint for each name in a list that is treated as a tool name although no such tool is known. `own` are the tools
/// that the settings name. `is_only`: the list is that of `only`.
pub(crate) fn hints(list: &[Named], own: &[ToolRule], is_only: bool) -> Vec<Problem> {
    let is_known = |name: &str| is_known(name) || own.iter().any(|tool| tool.pattern == name);
    let shows_nothing = is_only && !list.iter().any(|named| is_known(&named.name));
    let unknown = list.iter().filter(|named| !is_known(&named.name));
    let hints = unknown.filter_map(|named| {
        let message = match meant(&named.name) {
            Some(name) => format!("treated as a tool name (did you mean \"{name}\"?)"),
            // Users with other tools in a file know them, and don't want a hint each time.
            None if named.spot.document.layer == SettingsLayer::Option || shows_nothing => {
                let kinds: Vec<&str> = words().collect();
                let kinds = kinds.join(", ");
                format!("treated as a tool name, but no such tool is known (kinds: {kinds})")
            }
            None => return None,
        };
        Some(named.spot.problem(ProblemKind::Doubtful, message))
    });
    hints.collect()
}

/// Returns such hints for all lists in settings and for the tables `[tool.NAME]`, including misspelled roles in these tables.
/// `without_only`: the list `only` is overridden.
pub(crate) fn hints_in(tree: &SettingsTree, own: &[ToolRule], without_only: bool) -> Vec<Problem> {
    let settings = tree.settings();
    // Only its author can fix what a plugin sets.
    let own_settings =
        settings.iter().filter(|setting| setting.leaf.spot.document.layer > SettingsLayer::Pack);
    let hints = own_settings.flat_map(|setting| match setting.name.as_str() {
        "only" if without_only => Vec::new(),
        name @ ("only" | "hide" | "show") => {
            hints(&setting.leaf.names().unwrap_or_default(), own, name == "only")
        }
        "filter" => hints(&tools_of_filters(setting.leaf), own, false),
        name if name.strip_prefix("tool.").is_some_and(|rule| rule.rsplit('.').next() == Some("role")) => {
            let wrong = setting.leaf.text().and_then(wrong_role);
            wrong.map(|wrong| setting.leaf.spot.problem(ProblemKind::Doubtful, wrong)).into_iter().collect()
        }
        _ => Vec::new(),
    });
    hints.chain(hints_of_tables(tree)).collect()
}

/// Returns a hint for each table `[tool.NAME]` whose name resembles that of a known tool, at the first key of the table. A table
/// that matches no tool has no effect, and users wouldn't see why. Unlike a list, it may be meant for tools that are unknown here,
/// so a name that resembles no other gets no hint, not even in an option.
fn hints_of_tables(tree: &SettingsTree) -> impl Iterator<Item = Problem> {
    tree.tools().filter(|(_, spot)| spot.document.layer > SettingsLayer::Pack).filter_map(|(name, spot)| {
        let meant = meant_tool(name)?;
        let name = quoted(name);
        let message = format!("tool.{name}: no known tool has this name (did you mean \"{meant}\"?)");
        Some(spot.problem(ProblemKind::Doubtful, message))
    })
}

/// The tools in `[[filter]]` tables.
fn tools_of_filters(leaf: &Leaf) -> Vec<Named> {
    let SettingValue::List(filters) = &leaf.value else { return Vec::new() };
    let tables = filters.iter().filter_map(|filter| match &filter.value {
        SettingValue::Table(table) => Some(&table.0),
        _ => None,
    });
    let tools = tables.flatten().filter(|entry| entry.key == "tool");
    tools.filter_map(|entry| entry.leaf.named()).collect()
}

/// A warning for a tool name that no dialect has.
pub(crate) fn doubt_of_tool(tool: &str) -> Option<String> {
    if is_known(tool) {
        return None;
    }
    let meant = meant(tool).filter(|meant| words().all(|word| word != *meant));
    let hint = meant.map_or_else(String::new, |meant| format!(" (did you mean \"{meant}\"?)"));
    Some(format!("no known agent, setting or plugin has a tool of this name{hint}"))
}

/// The tool that a name or glob was probably meant to match, if it matches no known one.
pub(crate) fn meant_tool(name: &str) -> Option<&'static str> {
    if name.starts_with('@') || streamfmt_dialects::action_of(name) != Action::Other {
        return None;
    }
    let Some(beginning) = name.strip_suffix('*') else {
        let is_known = name.contains('*') || tools().any(|known| known == name);
        return if is_known { None } else { nearest_of(name, tools) };
    };
    // In a glob only the part before the wildcard can be misspelled: as a whole name, or as the beginning of one.
    if beginning.contains('*') || beginning.is_empty() || tools().any(|known| known.starts_with(beginning)) {
        return None;
    }
    let begins =
        |known: &str| known.get(..beginning.len()).is_some_and(|start| start.eq_ignore_ascii_case(beginning));
    tools().find(|known| begins(known)).or_else(|| nearest_of(beginning, tools))
}

/// The nearest of these names, ignoring case.
fn nearest_of<I: Iterator<Item = &'static str>>(name: &str, names: impl Fn() -> I) -> Option<&'static str> {
    let lower: Vec<String> = names().map(str::to_lowercase).collect();
    let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
    let found = nearest(name, &lower)?;
    names().find(|known| known.to_lowercase() == found)
}

/// Whether a name is a kind or a known tool, or a glob that matches one.
fn is_known(name: &str) -> bool {
    match Selector::parse(name) {
        Selector::Tool(tool) if tool.contains('*') => meant_tool(&tool).is_none(),
        Selector::Tool(tool) => {
            streamfmt_dialects::action_of(&tool) != Action::Other || tools().any(|known| known == tool)
        }
        _ => true,
    }
}

/// The word or tool that an unknown name probably meant, ignoring case.
fn meant(name: &str) -> Option<&'static str> {
    if name.contains('*') {
        return meant_tool(name);
    }
    let names = || words().chain(tools());
    // The one plural that differs a lot from its singular: replies.
    nearest_of(name, names).or_else(|| nearest_of(&format!("{}y", name.strip_suffix("ies")?), names))
}

/// The tool names of all dialects.
fn tools() -> impl Iterator<Item = &'static str> {
    DIALECTS.rows.iter().flat_map(|dialect| dialect.tools).map(|(name, _)| *name)
}

/// The words that aren't names of tools.
fn words() -> impl Iterator<Item = &'static str> {
    Kind::NAMES.iter().copied().chain(["failed", "answer"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::document::Spot;

    #[test]
    fn a_name_is_no_pattern_of_another_program() {
        for name in ["", "[", "[a-z]*", "Rea?", "{Bash", "@edti"] {
            assert!(wrong_with(name).is_some(), "{name}");
        }
        for name in ["*", "mcp__*", "*__get_*", "Bash", "an own tool", "@edit", "failed"] {
            assert_eq!(wrong_with(name), None, "{name}");
        }
    }

    #[test]
    fn what_was_meant_is_found_whatever_is_written_large() {
        for (name, wanted) in [
            ("replies", Some("reply")),
            ("Reply", Some("reply")),
            ("calls", Some("call")),
            ("BASH", Some("Bash")),
            ("bsah", Some("Bash")),
            ("TODOWRITE", Some("TodoWrite")),
            ("Ls", Some("LS")),
            ("Foo", None),
            ("TODOW*", Some("TodoWrite")),
            ("Bsh*", Some("Bash")),
        ] {
            assert!(!is_known(name), "{name}");
            assert_eq!(meant(name), wanted, "{name}");
        }
        for name in
            ["Bash", "mcp__github__get", "Foo*", "reply", "failed", "@edit", "*", "*Edit", "Todo*", "mcp__*"]
        {
            assert!(is_known(name), "{name}");
        }
        for name in
            ["Bash", "mcp__github__get", "Foo", "Foo*", "@edit", "*", "*Edit", "Todo*", "mcp__x__*", ""]
        {
            assert_eq!(meant_tool(name), None, "{name}");
        }
    }

    #[test]
    fn names_in_files_are_told_if_another_was_meant_or_nothing_is_shown() {
        use crate::settings::document::SettingsFile;
        let document =
            std::sync::Arc::new(SettingsFile::new("x.toml", None, SettingsLayer::User, "x".to_owned()));
        let of_file = Spot { document, span: 0..1 };
        let of_option = Spot::named("--only");
        for (spot, names, is_only, told) in [
            (&of_option, "Foo,reply", true, 1),
            (&of_option, "Foo", false, 1),
            (&of_file, "Foo,reply", true, 0),
            (&of_file, "Foo", false, 0),
            (&of_file, "Foo", true, 1),
            (&of_file, "BASH,reply", true, 1),
        ] {
            let named = |name: &str| Named { name: name.to_owned(), spot: spot.clone() };
            let list: Vec<Named> = names.split(',').map(named).collect();
            assert_eq!(hints(&list, &[], is_only).len(), told, "{names}");
            let own = ToolRule::new("Foo", spot.origin());
            let of_others = hints(&list, &[own], is_only);
            assert!(of_others.iter().all(|hint| !hint.message.contains("none is known")), "{names}");
        }
    }
}
