//! The keys that a project may set before it is trusted: the rows of [`ALLOWED`], nothing else.
//!
//! Users judge an agent by its output. So a repository must not be able to hide, rename or cut what an agent does in it, let
//! alone run anything.

use super::document::{Leaf, SettingValue};
use super::keys::Named;
use crate::problem::{one_line, some_of};
use crate::trust::TrustStatus;

/// The lowest limit of lines that a project may set.
const LEAST_LINES: i64 = 3;
/// The smallest width that a project may set, in columns.
const LEAST_WIDTH: i64 = 40;
/// The profiles that neither hide nor rename anything.
pub(crate) const PLAIN_PROFILES: [&str; 4] = ["default", "page", "full", "plain"];

/// A key that an untrusted project may set.
pub struct Allowance {
    /// The key, of a profile or of the project's file. A `*` matches anything but a dot.
    pub key: &'static str,
    /// The values that it may have.
    pub about: &'static str,
    may: fn(&SettingValue, &[Named]) -> bool,
}

/// A setting of an untrusted project that was ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The key in the project's file.
    pub key: String,
    /// The line of the file, from 1.
    pub line: usize,
    /// The allowed values, if any.
    pub why: String,
}

/// All keys that an untrusted project may set.
pub static ALLOWED: &[Allowance] = &[
    Allowance { key: "version", about: "the version of the format", may: |_, _| true },
    Allowance { key: "profile", about: "default, full or plain", may: is_plain_profile },
    Allowance { key: "default-profile", about: "default, full or plain", may: is_plain_profile },
    Allowance { key: "theme", about: "the name of a theme that is installed", may: is_name_of },
    Allowance { key: "layout.glyphs", about: "the name of a set of glyphs", may: is_name_of },
    Allowance { key: "layout.width", about: "40 columns or more", may: is_wide },
    Allowance {
        key: "limits.*-lines",
        about: "3 lines or more",
        may: |value, _| {
            integer(value).is_some_and(|lines| lines >= LEAST_LINES) || text(value) == Some("none")
        },
    },
    Allowance { key: "limits.keep", about: "which end is kept", may: is_name_of },
    Allowance {
        key: "plugins",
        about: "packs that are named in your allow-in-projects",
        may: |value, granted| {
            let is_granted =
                |leaf: &Leaf| leaf.text().is_some_and(|name| granted.iter().any(|it| it.name == name));
            matches!(value, SettingValue::List(list) if list.iter().all(is_granted))
        },
    },
];

/// Checks whether an untrusted project may set `key` to `value`; the error is the reason. `granted` are the installed packs that
/// the user's own `allow-in-projects` permits.
pub fn check(key: &str, value: &SettingValue, granted: &[Named]) -> Result<(), String> {
    match ALLOWED.iter().find(|row| matches(row.key, key)) {
        None => Err("only a trusted project may set it".to_owned()),
        Some(row) if (row.may)(value, granted) => Ok(()),
        Some(row) => Err(format!("an untrusted project may set it to: {}", row.about)),
    }
}

/// The one-line warning about the ignored settings of a project's file, and how to trust it. `file` is the name to show, `root`
/// the folder to name in the command if it isn't the current one.
pub fn left_out(file: &str, status: TrustStatus, refusals: &[Refusal], root: Option<&str>) -> String {
    let mut keys: Vec<&str> = refusals.iter().map(|refusal| refusal.key.as_str()).collect();
    keys.dedup();
    let ignored = some_of(&keys);
    let root = root.map_or_else(String::new, |root| format!(" {root}"));
    let why = match status {
        TrustStatus::Denied => return one_line(&format!("{file} is denied: ignored {ignored}")),
        TrustStatus::Changed => {
            format!("has changed since you trusted it; see: streamfmt trust --diff{root}")
        }
        TrustStatus::Trusted | TrustStatus::Unknown => format!("is not trusted; see: streamfmt trust{root}"),
    };
    one_line(&format!("ignored {ignored}: {file} {why}"))
}

fn is_plain_profile(value: &SettingValue, _: &[Named]) -> bool {
    text(value).is_some_and(|name| PLAIN_PROFILES.contains(&name))
}

fn is_wide(value: &SettingValue, _: &[Named]) -> bool {
    integer(value).is_some_and(|width| width >= LEAST_WIDTH)
}

fn integer(value: &SettingValue) -> Option<i64> {
    if let SettingValue::Number(number) = value { Some(*number) } else { None }
}

fn text(value: &SettingValue) -> Option<&str> {
    if let SettingValue::Text(text) = value { Some(text) } else { None }
}

fn is_name_of(value: &SettingValue, _: &[Named]) -> bool {
    text(value).is_some_and(is_name)
}

/// Whether this can only be a name, not a path.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 64
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// Whether `key` matches `pattern`, which has at most one `*`.
fn matches(pattern: &str, key: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == key,
        Some((start, end)) => key
            .strip_prefix(start)
            .and_then(|rest| rest.strip_suffix(end))
            .is_some_and(|middle| !middle.is_empty() && !middle.contains('.')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::document::{self, SettingsFile, SettingsLayer};
    use crate::settings::keys::{
        FILE_KEYS, FILTER_KEYS, KEYS, OWN_TABLES, SERVE_KEYS, STORE_KEYS, SWITCH_KEYS, TOOL_KEYS,
    };

    #[track_caller]
    fn expect(source: &str, may: bool) {
        let document = SettingsFile::new("x.toml", None, SettingsLayer::Project, source.to_owned());
        let (table, _) = document::parse(&document.into());
        let (mut key, mut leaf) = (String::new(), None);
        let mut open = Some(&table);
        while let Some(table) = open.take() {
            let Some(entry) = table.0.first() else { break };
            key = format!("{key}{}{}", if key.is_empty() { "" } else { "." }, entry.key);
            match &entry.leaf.value {
                SettingValue::Table(table) => open = Some(table),
                _ => leaf = Some(&entry.leaf),
            }
        }
        let granted = [Named::given_by("cost", "")];
        let told = check(&key, &leaf.unwrap().value, &granted);
        assert_eq!(told.is_ok(), may, "{source}: {told:?}");
    }

    #[test]
    fn an_untrusted_project_may_choose_looks() {
        for source in [
            "version = 1",
            "profile = 'full'",
            "theme = 'dark'",
            "layout.glyphs = 'ascii'",
            "layout.width = 40",
            "limits.result-lines = 3",
            "limits.error-lines = 'none'",
            "limits.keep = 'tail'",
            "plugins = ['cost']",
            "plugins = []",
        ] {
            expect(source, true);
        }
    }

    #[test]
    fn it_may_not_hide_rename_cut_off_point_elsewhere_or_run_anything() {
        for source in [
            "profile = 'quiet'",
            "profile = './mine.toml'",
            "theme = '../x.toml'",
            "theme = 'x/y'",
            "theme = 3",
            "theme = ''",
            "layout.glyphs = '/etc/passwd'",
            "layout.margin = 40",
            "layout.width = 39",
            "layout.width = 0x1",
            "layout.width = -4000",
            "layout.width = 9223372036854775808",
            "limits.result-lines = 2",
            "limits.result-lines = '0'",
            "limits.line = 1",
            "limits.x.y-lines = 9",
            "limits.result-bytes = 1",
            "plugins = ['cost', 'other']",
            "plugins = ['./cost']",
            "plugins = 'cost'",
            "plugins.add = ['cost']",
            "hide = ['call']",
            "only = []",
            "detail = 'compact'",
            "writer = 'items'",
            "extends = ['full']",
            "tool.Bash.label = 'read'",
            "tool.Bash.script = 'x.lua'",
            "trusted-paths = ['/']",
            "allow-in-projects = ['x']",
            "strict = false",
            "links = 'file://{path}'",
            "pager = 'sh -c id'",
            "output = '/tmp/x'",
            "Theme = 'dark'",
            "\"theme.\" = 'dark'",
            "switch = []",
            "records = 'project'",
            "records = 'none'",
            "records = './plan.toml'",
        ] {
            expect(source, false);
        }
    }

    /// Every key of a profile or of a file, and whether any of its values may come from a project that isn't trusted.
    #[test]
    fn each_key_is_classified() {
        const MAY: &[&str] = &[
            "default-profile",
            "layout.glyphs",
            "layout.width",
            "limits.keep",
            "plugins",
            "profile",
            "theme",
            "version",
        ];
        const MAY_NOT: &[&str] = &[
            "allow-in-projects",
            "detail",
            "extends",
            "filter",
            "hide",
            "layout.bare",
            "layout.ci",
            "layout.fold",
            "layout.gap",
            "layout.margin",
            "layout.pairs",
            "layout.wrap",
            "limits.line",
            "limits.result-bytes",
            "live.motion",
            "live.rate",
            "markdown",
            "only",
            "records",
            "redact.emails",
            "redact.home",
            "redact.secrets",
            "show",
            "switch",
            "timestamps",
            "trusted-paths",
            "writer",
        ];
        let values = [
            SettingValue::Text("full".to_owned()),
            SettingValue::Text("none".to_owned()),
            SettingValue::Number(100),
            SettingValue::Flag(true),
            SettingValue::List(Vec::new()),
        ];
        let may = |key: &str| values.iter().any(|value| check(key, value, &[]).is_ok());
        let keys = KEYS.iter().map(|key| key.name).chain(FILE_KEYS.iter().map(|key| key.name));
        let keys: Vec<&str> = keys.collect();
        // Every limit of lines may be raised.
        let (lines, others): (Vec<&str>, Vec<&str>) =
            keys.iter().partition(|key| key.starts_with("limits.") && key.ends_with("-lines"));
        assert!(lines.len() > 3 && lines.iter().all(|key| may(key)), "{lines:?}");
        let (mut allowed, mut refused): (Vec<&str>, Vec<&str>) = others.into_iter().partition(|key| may(key));
        allowed.sort_unstable();
        refused.sort_unstable();
        assert_eq!(
            (allowed.as_slice(), refused.as_slice()),
            (MAY, MAY_NOT),
            "a new key belongs in one of them"
        );
        // Nothing within a table or a list of tables, whatever it is named.
        let within = |table: &str, name: &str| format!("{table}.{name}");
        let tables = (TOOL_KEYS.iter().map(|key| within("tool.Bash", key.name)))
            .chain(FILTER_KEYS.iter().map(|key| within("filter", key.name)))
            .chain(SWITCH_KEYS.iter().map(|key| within("switch", key.name)))
            .chain(SERVE_KEYS.iter().map(|key| within("serve", key.name)))
            .chain(STORE_KEYS.iter().map(|key| within("store", key.name)))
            // The user's own tables are so as a whole, whether there are keys in them yet or not.
            .chain(OWN_TABLES.iter().map(|table| within(table, "folder")));
        for key in tables {
            assert!(!may(&key), "{key}");
        }
    }

    #[test]
    fn what_was_left_out_is_told_in_one_line() {
        let refusal = |key: &str| Refusal { key: key.to_owned(), line: 1, why: String::new() };
        let two = [refusal("hide"), refusal("tool.\u{1b}[2J\n")];
        assert_eq!(
            left_out("streamfmt.toml", TrustStatus::Unknown, &two, None),
            "ignored hide, tool.␛[2J␊: streamfmt.toml is not trusted; see: streamfmt trust"
        );
        let many: Vec<Refusal> = (0..20).map(|number| refusal(&format!("k{number}"))).collect();
        assert_eq!(
            left_out("streamfmt.toml", TrustStatus::Changed, &many, Some("/x")),
            "ignored k0, k1, k2, k3, k4, k5 and 14 more: streamfmt.toml has changed since you trusted it; \
             see: streamfmt trust --diff /x"
        );
    }
}
