//! The tables of all settings keys.
//!
//! The parser of files, `--set`, error messages, the schema for editors and the reference in the documentation all use these
//! tables. To add a key, add a row here; to add a limit, a row in [`LIMITS`].

mod read;

use std::sync::LazyLock;

use streamfmt_core::item::Kind;
use streamfmt_core::profile::{Ci, Detail, Keep, LIMITS, LimitName, LimitRow, Pairs, Selector, Wrap};
use streamfmt_core::theme::Glyphs;

use super::document::{Spot, TableEntry};
use super::profile::Settings;
use super::switch::Switch;
use crate::tools::rule::{RuleValue, ToolField, ToolRule};

pub(crate) use read::{UnknownKey, walk};
pub use read::{find, is_group, split_list};

/// A key that sets a part of a `T`.
pub struct Key<T: 'static> {
    /// Its full name: `limits.result-lines`.
    pub name: &'static str,
    /// Its purpose, in a few words.
    pub about: &'static str,
    /// The values that it accepts, with the function that stores them.
    pub form: ValueForm<T>,
}

/// A word and the function that applies it.
pub type Word<T> = (&'static str, fn(&mut T));

/// The values that a key accepts, with the function that stores them.
pub enum ValueForm<T: 'static> {
    /// One of these words.
    Word(&'static [Word<T>]),
    /// The name of a writer; a plugin's writers are known only once it is loaded.
    Writer(fn(&mut T, Named)),
    /// Any name or pattern.
    Name(fn(&mut T, Named)),
    /// `true` or `false`.
    Flag(fn(&mut T, bool)),
    /// A whole number within these bounds, both included.
    Number(usize, usize, fn(&mut T, usize)),
    /// A number of lines, or `none`.
    Lines(fn(&mut T, Option<usize>)),
    /// A number of bytes (`8192`, `8KiB`), or `none`.
    Size(fn(&mut T, Option<usize>)),
    /// A limit: a number of lines or of bytes, or `none`.
    Limit(&'static LimitRow, fn(&mut T, LimitName, Option<usize>)),
    /// A list of names. `KEY.add` and `KEY.remove` change the list below instead of replacing it.
    List(fn(&mut T, Vec<Named>)),
    /// A list of kinds, tools, globs of tools and actions; otherwise like a list of names.
    Groups(fn(&mut T, Vec<Named>)),
    /// A tool, a glob of tools, or an action.
    Tool(fn(&mut T, Named)),
    /// A field of a tool's rule.
    Rule(ToolField, fn(&mut T, ToolField, RuleValue)),
    /// A function in a Lua file: `lib/bash.lua#arg`.
    Script(fn(&mut T, Named)),
    /// Tables `[[filter]]`.
    Filters(fn(&mut T, Vec<FilterRule>)),
    /// Tables `[[switch]]`.
    Switches(fn(&mut T, Vec<Switch>)),
}

/// A name and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The name.
    pub name: String,
    /// Its position.
    pub spot: Spot,
}

impl Named {
    /// A name given by a variable, or by default: `origin` is the variable, or "the default".
    pub fn given_by(name: impl Into<String>, origin: impl Into<String>) -> Self {
        Self { name: name.into(), spot: Spot::named(origin) }
    }
}

/// All keys of a profile except those of tools and plugins, in the order of the documentation.
pub static KEYS: LazyLock<Vec<Key<Settings>>> = LazyLock::new(|| {
    let keys: Vec<Key<Settings>> = vec![
        Key {
            name: "extends",
            about: "profiles to build on, from left to right; \"none\" drops the default profile below",
            // The merge of profiles reads these before the rest of the table.
            form: ValueForm::List(|_, _| {}),
        },
        Key {
            name: "writer",
            about: "the output format",
            form: ValueForm::Writer(|s, name| s.writer = Some(name)),
        },
        Key {
            name: "theme",
            about: "the theme for the terminal; \"auto\" picks dark or light to match the terminal",
            form: ValueForm::Name(|s, theme| s.theme = theme),
        },
        Key {
            name: "plugins",
            about: "plugins, lowest precedence first: names of installed plugins, or paths",
            form: ValueForm::List(|s, list| s.plugins = list),
        },
        Key {
            name: "detail",
            about: "how much detail to show",
            form: ValueForm::Word(&[
                ("compact", |s| s.profile.detail = Detail::Compact),
                ("whole", |s| s.profile.detail = Detail::Whole),
                ("full", |s| s.profile.detail = Detail::Full),
            ]),
        },
        Key {
            name: "only",
            about: "show only these: kinds, tools, globs of tools, @actions, \"failed\", \"answer\" (the answer of each turn)",
            form: ValueForm::Groups(|s, list| s.profile.filter.only = selectors(&list)),
        },
        Key {
            name: "hide",
            about: "don't show these: kinds, tools, globs of tools, @actions, \"failed\"",
            form: ValueForm::Groups(|s, list| s.profile.filter.hide = selectors(&list)),
        },
        Key {
            name: "show",
            about: "show these even if detail leaves them out, such as \"thinking\": kinds, tools, globs of tools, @actions",
            form: ValueForm::Groups(|s, list| s.profile.filter.show = selectors(&list)),
        },
        Key {
            name: "filter",
            about: "items to hide, fold or show alone: those that match every condition of a table",
            form: ValueForm::Filters(|s, rules| s.filters = rules),
        },
        Key {
            name: "markdown",
            about: "render the Markdown of replies instead of showing its source",
            form: ValueForm::Flag(|s, on| s.markdown = on),
        },
        Key {
            name: "records",
            about: "show the JSON records in replies as a tree: a schema such as \"project\", the path of a schema file, or a plugin's accumulator; \"none\" leaves records in the text",
            form: ValueForm::Name(|s, schema| s.records = Some(schema)),
        },
        Key {
            name: "timestamps",
            about: "show the time of each entry",
            form: ValueForm::Flag(|s, on| s.timestamps = on),
        },
        Key {
            name: "limits.line",
            about: "longest input line in bytes; longer ones are reported, not parsed",
            form: ValueForm::Size(|s, limit| s.max_line = limit.unwrap_or(LONGEST_LINE).min(LONGEST_LINE)),
        },
        Key {
            name: "limits.keep",
            about: "which end of a long result to keep",
            form: ValueForm::Word(&[
                ("head", |s| s.profile.limits.keep = Keep::Head),
                ("tail", |s| s.profile.limits.keep = Keep::Tail),
                ("head-tail", |s| s.profile.limits.keep = Keep::HeadTail),
            ]),
        },
        Key {
            name: "layout.gap",
            about: "blank lines between unrelated entries",
            form: ValueForm::Number(0, 10, |s, lines| s.profile.layout.gap = lines),
        },
        Key {
            name: "layout.margin",
            about: "columns of indentation before foreign text",
            form: ValueForm::Number(0, 40, |s, columns| s.profile.layout.margin = columns),
        },
        Key {
            name: "layout.width",
            about: "column to wrap at, regardless of the terminal's width; 0 disables wrapping",
            form: ValueForm::Number(0, 10_000, |s, columns| s.width = Some(columns)),
        },
        Key {
            name: "layout.fold",
            about: "fold results longer than this many lines, in Markdown and HTML",
            form: ValueForm::Lines(|s, lines| s.profile.layout.fold = lines),
        },
        Key {
            name: "layout.ci",
            about: "the CI service whose log this is, so that no text acts as a command there; \"auto\" detects it",
            form: ValueForm::Word(&[
                ("auto", |s| s.ci = None),
                ("none", |s| s.ci = Some(Ci::None)),
                ("plain", |s| s.ci = Some(Ci::Plain)),
                ("github", |s| s.ci = Some(Ci::Github)),
                ("gitlab", |s| s.ci = Some(Ci::Gitlab)),
            ]),
        },
        Key {
            name: "layout.glyphs",
            about: "the symbols: Unicode, ASCII, words for screen readers, or Nerd Font icons",
            form: ValueForm::Word(&[
                ("unicode", |s| s.profile.layout.glyphs = Glyphs::Unicode),
                ("ascii", |s| s.profile.layout.glyphs = Glyphs::Ascii),
                ("words", |s| s.profile.layout.glyphs = Glyphs::Words),
                ("nerd", |s| s.profile.layout.glyphs = Glyphs::Nerd),
            ]),
        },
        Key {
            name: "layout.pairs",
            about: "hold calls until their results arrive, to show both together: always, never, or only when the whole input is already there (auto)",
            form: ValueForm::Word(&[
                ("auto", |s| s.profile.layout.pairs = Pairs::Auto),
                ("always", |s| s.profile.layout.pairs = Pairs::Always),
                ("never", |s| s.profile.layout.pairs = Pairs::Never),
            ]),
        },
        Key {
            name: "layout.wrap",
            about: "wrap lines between words (hard), or leave wrapping to the terminal so that a line copies as one (soft)",
            form: ValueForm::Word(&[
                ("hard", |s| s.profile.layout.wrap = Wrap::Hard),
                ("soft", |s| s.profile.layout.wrap = Wrap::Soft),
            ]),
        },
        Key {
            name: "layout.bare",
            about: "write text unchanged: keep blanks, draw no bars, don't name calls",
            form: ValueForm::Flag(|s, on| s.profile.layout.bare = on),
        },
        Key {
            name: "live.rate",
            about: "repaints per second of text that is still being written, in live output",
            form: ValueForm::Number(1, 1_000, |s, rate| {
                s.profile.live.rate = u32::try_from(rate).unwrap_or(s.profile.live.rate);
            }),
        },
        Key {
            name: "live.motion",
            about: "animate the marks of running work",
            form: ValueForm::Flag(|s, on| s.profile.live.motion = on),
        },
        Key {
            name: "redact.secrets",
            about: "mask tokens, keys and passwords in all output",
            form: ValueForm::Flag(|s, on| s.profile.redaction.secrets = on),
        },
        Key {
            name: "redact.emails",
            about: "mask e-mail addresses",
            form: ValueForm::Flag(|s, on| s.profile.redaction.emails = on),
        },
        Key {
            name: "redact.home",
            about: "write ~ for home folders",
            form: ValueForm::Flag(|s, on| s.profile.redaction.home = on),
        },
    ];
    with_limits(keys, |_| true, |s, limit, most| s.profile.limits[limit] = most)
});

/// The table of one tool, `[tool.NAME]`.
#[derive(Clone, Debug, Default)]
pub struct ToolTable {
    /// Its fields without a script.
    pub(crate) rule: ToolRule,
    /// Its functions, by the name of the field.
    pub(crate) scripts: Vec<(&'static str, Named)>,
    /// Its limits.
    pub(crate) limits: Vec<(LimitName, Option<usize>)>,
    /// Which end of its long results to keep.
    pub(crate) keep: Option<Keep>,
}

/// The keys of a table `[tool.NAME]`; the name is a tool's, a glob such as `mcp__github__*`, or an action such as
/// `@run`.
pub static TOOL_KEYS: LazyLock<Vec<Key<ToolTable>>> = LazyLock::new(|| {
    let keys: Vec<Key<ToolTable>> = vec![
        Key {
            name: "label",
            about: "the tool's name as shown: a template such as \"gh {tool}\"",
            form: ValueForm::Rule(ToolField::Label, set_field),
        },
        Key {
            name: "arg",
            about: "the one-line argument: a template such as \"{file_path|path}\", or a JSON pointer into the input such as \"/number\"",
            form: ValueForm::Rule(ToolField::Arg, set_field),
        },
        Key {
            name: "summary",
            about: "the one-line summary of a result, after the message of a failure: a template or a JSON pointer",
            form: ValueForm::Rule(ToolField::Summary, set_field),
        },
        Key {
            name: "icon",
            about: "a glyph of the theme, or a text, before the name",
            form: ValueForm::Rule(ToolField::Icon, set_field),
        },
        Key {
            name: "role",
            about: "the role of the name, styled by the theme: \"tool.name\"",
            form: ValueForm::Rule(ToolField::Role, set_field),
        },
        Key {
            name: "collapse",
            about: "which bodies to fold: \"call\", \"result\", \"none\", or \"both\" (one line for a call and its result)",
            form: ValueForm::Rule(ToolField::Collapse, set_field),
        },
        Key {
            name: "limits.keep",
            about: "which end of a long result to keep",
            form: ValueForm::Word(&[
                ("head", |t| t.keep = Some(Keep::Head)),
                ("tail", |t| t.keep = Some(Keep::Tail)),
                ("head-tail", |t| t.keep = Some(Keep::HeadTail)),
            ]),
        },
        Key {
            name: "script.label",
            about: "a function that returns the label: \"lib/bash.lua#label\"",
            form: ValueForm::Script(|t, script| t.scripts.push(("label", script))),
        },
        Key {
            name: "script.arg",
            about: "a function that returns the argument",
            form: ValueForm::Script(|t, script| t.scripts.push(("arg", script))),
        },
        Key {
            name: "script.summary",
            about: "a function that returns the summary",
            form: ValueForm::Script(|t, script| t.scripts.push(("summary", script))),
        },
        Key {
            name: "script.call",
            about: "a function that returns the whole view of a call",
            form: ValueForm::Script(|t, script| t.scripts.push(("call", script))),
        },
        Key {
            name: "script.result",
            about: "a function that returns the whole view of a result",
            form: ValueForm::Script(|t, script| t.scripts.push(("result", script))),
        },
    ];
    with_limits(keys, |row| row.is_for_tools, |t, limit, most| t.limits.push((limit, most)))
});

fn set_field(table: &mut ToolTable, field: ToolField, value: RuleValue) {
    table.rule.fields.push((field, value));
}

/// A `[[filter]]` table: items and what to do with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilterRule {
    /// The groups that an item must be in, all of them.
    pub(crate) groups: Vec<Selector>,
    /// What to do with these items.
    pub(crate) action: Option<FilterAction>,
}

/// What a filter does with its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterAction {
    /// Hide them.
    Hide,
    /// Fold their bodies.
    Collapse,
    /// Hide all others.
    Only,
}

/// The keys of a table `[[filter]]`.
pub static FILTER_KEYS: &[Key<FilterRule>] = &[
    Key {
        name: "kind",
        about: "items of this kind",
        form: ValueForm::Word(&[
            ("prompt", |f| f.groups.push(Selector::Kind(Kind::Prompt))),
            ("reply", |f| f.groups.push(Selector::Kind(Kind::Reply))),
            ("thinking", |f| f.groups.push(Selector::Kind(Kind::Thinking))),
            ("call", |f| f.groups.push(Selector::Kind(Kind::Call))),
            ("result", |f| f.groups.push(Selector::Kind(Kind::Result))),
            ("plan", |f| f.groups.push(Selector::Kind(Kind::Plan))),
            ("notice", |f| f.groups.push(Selector::Kind(Kind::Notice))),
            ("outcome", |f| f.groups.push(Selector::Kind(Kind::Outcome))),
            ("record", |f| f.groups.push(Selector::Kind(Kind::Record))),
            ("unknown", |f| f.groups.push(Selector::Kind(Kind::Unknown))),
        ]),
    },
    Key {
        name: "tool",
        about: "items of this tool: a name, a glob, or an action such as \"@edit\"",
        form: ValueForm::Tool(|f, tool| f.groups.push(tool_group(&tool.name))),
    },
    Key {
        name: "failed",
        about: "whether they report a failure",
        form: ValueForm::Flag(|f, on| f.groups.push(if_so(Selector::Failed, on))),
    },
    Key {
        name: "inside",
        about: "whether they come from a sub-agent",
        form: ValueForm::Flag(|f, on| f.groups.push(if_so(Selector::Inside, on))),
    },
    Key {
        name: "action",
        about: "what to do with them",
        form: ValueForm::Word(&[
            ("hide", |f| f.action = Some(FilterAction::Hide)),
            ("collapse", |f| f.action = Some(FilterAction::Collapse)),
            ("only", |f| f.action = Some(FilterAction::Only)),
        ]),
    },
];

/// The keys of a table `[[switch]]`.
pub static SWITCH_KEYS: &[Key<Switch>] = &[
    Key {
        name: "path",
        about: "the working directory, or a folder above it: a glob in which ~ is the home directory and ** any folders",
        form: ValueForm::Name(|s, path| s.path = Some(path.name)),
    },
    Key {
        name: "stream.cwd",
        about: "the working directory that the stream reports: the same kind of glob",
        form: ValueForm::Name(|s, path| s.cwd = Some(path.name)),
    },
    Key {
        name: "stream.model",
        about: "the model that the stream reports: a name or a glob",
        form: ValueForm::Name(|s, model| s.model = Some(model.name)),
    },
    Key {
        name: "stream.dialect",
        about: "the dialect of the stream: a name or a glob",
        form: ValueForm::Name(|s, dialect| s.dialect = Some(dialect.name)),
    },
    Key {
        name: "profile",
        about: "the profile to use",
        form: ValueForm::Name(|s, profile| s.profile = Some(profile)),
    },
];

/// The parts of a settings file other than profiles.
#[derive(Clone, Debug, Default)]
pub struct Head {
    pub(crate) default_profile: Option<Named>,
    pub(crate) switches: Vec<Switch>,
    pub(crate) allowed_in_projects: Vec<Named>,
    pub(crate) trusted_paths: Vec<Named>,
    /// The keys of the `[serve]` table.
    pub(crate) serve: Vec<TableEntry>,
    /// The keys of the `[store]` table.
    pub(crate) store: Vec<TableEntry>,
    /// The keys of a project's file that are in one of the [`OWN_TABLES`].
    pub(crate) misplaced: Vec<Named>,
}

/// The tables with addresses and with what is kept. They are read from one's own settings only: a project doesn't set them, trusted or not.
pub(crate) const OWN_TABLES: [&str; 2] = ["serve", "store"];

/// The defaults of the options of `streamfmt serve`.
#[derive(Clone, Debug, Default)]
pub struct ServeSettings {
    /// The port.
    pub port: Option<u16>,
    /// The addresses to listen on, each with its position.
    pub bind: Vec<Named>,
    /// Host names of the server on other machines, as a reverse proxy sends them.
    pub allow_hosts: Vec<Named>,
    /// Origins whose pages may read older logs.
    pub allow_origins: Vec<Named>,
    /// The prefix of all paths.
    pub base_path: Option<Named>,
    /// Whether to show secrets beyond this machine.
    pub show_secrets: Option<bool>,
}

/// The keys of the table `[serve]`.
pub static SERVE_KEYS: &[Key<ServeSettings>] = &[
    Key {
        name: "port",
        about: "the port that `streamfmt serve` listens on",
        form: ValueForm::Number(1, 65_535, |serve, port| serve.port = u16::try_from(port).ok()),
    },
    Key {
        name: "bind",
        about: "the addresses to listen on, instead of 127.0.0.1 and ::1",
        form: ValueForm::List(|serve, list| replace(&mut serve.bind, list)),
    },
    Key {
        name: "allow-hosts",
        about: "host names that a reverse proxy uses; secrets are masked there",
        form: ValueForm::List(|serve, list| replace(&mut serve.allow_hosts, list)),
    },
    Key {
        name: "allow-origins",
        about: "origins whose pages may read `log.sse` with its key",
        form: ValueForm::List(|serve, list| replace(&mut serve.allow_origins, list)),
    },
    Key {
        name: "base-path",
        about: "a path prefix for all URLs, such as `/agents`",
        form: ValueForm::Name(|serve, path| serve.base_path = Some(path)),
    },
    Key {
        name: "show-secrets",
        about: "whether to show secrets and raw logs beyond this machine",
        form: ValueForm::Flag(|serve, on| serve.show_secrets = Some(on)),
    },
];

/// What is kept of imported sessions.
#[derive(Clone, Debug, Default)]
pub struct StoreSettings {
    /// Whether `streamfmt sessions import` copies the files of sessions.
    pub keep: Option<bool>,
    /// The most bytes that these copies may take, if that is set; the inner `None` is no limit.
    pub keep_most: Option<Option<usize>>,
}

/// The keys of the table `[store]`.
pub static STORE_KEYS: &[Key<StoreSettings>] = &[
    Key {
        name: "keep",
        about: "whether `streamfmt sessions import` keeps copies of the files of sessions",
        form: ValueForm::Flag(|store, on| store.keep = Some(on)),
    },
    Key {
        name: "keep-most",
        about: "how much these copies may take on the disk; at the limit, nothing more is copied",
        form: ValueForm::Size(|store, most| store.keep_most = Some(most)),
    },
];

/// An empty list leaves the value of the layer below.
fn replace(below: &mut Vec<Named>, list: Vec<Named>) {
    if !list.is_empty() {
        *below = list;
    }
}

/// The keys of a file outside of profiles.
pub static FILE_KEYS: &[Key<Head>] = &[
    Key { name: "version", about: "the version of the format", form: ValueForm::Number(1, 1, |_, _| {}) },
    Key {
        name: "default-profile",
        about: "the profile to use unless another is requested",
        form: ValueForm::Name(|head, name| head.default_profile = Some(name)),
    },
    Key {
        name: "profile",
        about: "the same, in a file without [profile.NAME] tables",
        form: ValueForm::Name(|head, name| head.default_profile = Some(name)),
    },
    Key {
        name: "switch",
        about: "which profile to use where; the first match applies (your own settings only)",
        form: ValueForm::Switches(|head, switches| head.switches = switches),
    },
    Key {
        name: "allow-in-projects",
        about: "installed plugins that any project may use, trusted or not (your own settings only)",
        form: ValueForm::List(|head, names| head.allowed_in_projects = names),
    },
    Key {
        name: "trusted-paths",
        about: "globs of folders whose projects are always trusted (your own settings only)",
        form: ValueForm::List(|head, names| head.trusted_paths = names),
    },
];

/// Adds a row for each limit that `fits`, before the other keys of `limits`.
fn with_limits<T>(
    mut keys: Vec<Key<T>>,
    fits: fn(&LimitRow) -> bool,
    set: fn(&mut T, LimitName, Option<usize>),
) -> Vec<Key<T>> {
    let at = keys.iter().position(|key| key.name.starts_with("limits.")).unwrap_or(keys.len());
    let limits = LIMITS.iter().filter(|row| fits(row));
    let rows = limits.map(|row| Key { name: row.key, about: row.about, form: ValueForm::Limit(row, set) });
    keys.splice(at..at, rows);
    keys
}

/// The upper bound of `limits.line`: positions in a record have 32 bits.
const LONGEST_LINE: usize = 1 << 30;

/// A group, or its complement.
fn if_so(group: Selector, on: bool) -> Selector {
    if on { group } else { Selector::Not(Box::new(group)) }
}

/// The calls and results of a tool, a glob of tools, or an action.
pub(super) fn tool_group(pattern: &str) -> Selector {
    match pattern.strip_prefix('@') {
        Some(action) => Selector::Action(action.to_owned()),
        None => Selector::Tool(pattern.to_owned()),
    }
}

fn selectors(list: &[Named]) -> Vec<Selector> {
    list.iter().map(|named| Selector::parse(&named.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documented<T>(keys: &'static [Key<T>]) {
        for key in keys {
            assert!(!key.about.is_empty() && !key.form.describe().is_empty());
            let found = find(keys, key.name).map(|found| found.about);
            assert_eq!(found, Some(key.about), "two keys {}", key.name);
        }
    }

    #[test]
    fn each_key_is_documented_and_found_by_its_name() {
        documented(&KEYS);
        documented(&TOOL_KEYS);
        documented(FILTER_KEYS);
        documented(SWITCH_KEYS);
        documented(FILE_KEYS);
        documented(SERVE_KEYS);
        documented(STORE_KEYS);
        assert!(is_group(&KEYS, "limits") && !is_group(&KEYS, "limits.keep") && !is_group(&KEYS, "lim"));
    }
}
