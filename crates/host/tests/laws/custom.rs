//! Plugins and profiles that replace the built-in output: they lose nothing, and other items don't change.
//!
//! Rules are generated as users write them: tables `[tool.NAME]` and `[[filter]]` with templates of all kinds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::mpsc::channel;

use proptest::collection::vec;
use proptest::prelude::*;
use streamfmt::core::entry::{Block, Entry, Line, Span};
use streamfmt::core::item::{Id, Item, Kind};
use streamfmt::core::pipeline::{Output, Pipeline, Report};
use streamfmt::core::profile::Selector;
use streamfmt::engine::{Builder, Engine};
use streamfmt::plugin::source::PluginSource;

use crate::generated::{Input, stream};
use crate::recordings::sample;
use crate::witness::{Drawn, Witness};
use crate::{format, items};

/// Tables of a profile.
#[derive(Clone)]
pub(crate) struct Rules(Vec<String>);

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.concat())
    }
}

impl Rules {
    /// A builder with these rules over a profile.
    pub(crate) fn over(&self, builder: Builder, profile: &str) -> Builder {
        let files = [
            ("plugin.toml", "name = \"rules\"\nversion = \"1.0.0\"\napi = 1\n".to_owned()),
            ("init.lua", String::new()),
            ("profiles/ruled.toml", format!("extends = [\"{profile}\"]\n{}", self.0.concat())),
        ];
        let files = files.map(|(name, text)| (name.to_owned(), text)).into();
        builder.pack(PluginSource::from_files(files).unwrap()).profile("ruled").strict(true)
    }
}

/// A template: fields of inputs and results, some of them missing, with filters.
fn template() -> impl Strategy<Value = String> {
    let key = "(command|description|file_path|pattern|stdout|text|lines|path|url|tool|name|nope)";
    let filter = prop_oneof![Just("|path"), Just("|first"), Just("|'none'"), Just("|''")];
    let field = (vec(key, 1..3), vec(filter, 0..3))
        .prop_map(|(keys, filters)| format!("{{{}{}}}", keys.join("?"), filters.concat()));
    let piece = prop_oneof![3 => field, 1 => Just("a {{b}} ".to_owned()), 1 => Just(" ".to_owned())];
    prop_oneof![
        8 => vec(piece, 0..3).prop_map(|pieces| pieces.concat()),
        1 => key.prop_map(|key| format!("/{key}")),
    ]
}

/// The name of a tool, a glob or an action.
fn pattern() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("Bash"),
        Just("*"),
        Just("mcp__*"),
        Just("@read"),
        Just("@edit"),
        Just("@run"),
        Just("Grep")
    ]
}

/// A table of a tool.
fn tool(pattern: &str) -> impl Strategy<Value = String> + use<> {
    let line = prop_oneof![
        6 => ("(label|arg|summary)", template()).prop_map(|(key, template)| format!("{key} = \"{template}\"\n")),
        1 => "(call|result|both|none)".prop_map(|word| format!("collapse = \"{word}\"\n")),
        1 => "(error|✎|reply)".prop_map(|icon| format!("icon = \"{icon}\"\n")),
        1 => Just("role = \"accent\"\n".to_owned()),
        1 => (0..4).prop_map(|lines| format!("limits.result-lines = {lines}\n")),
    ];
    let head = format!("[tool.\"{pattern}\"]\n");
    vec(line, 1..4).prop_map(move |lines| {
        let mut keys = BTreeSet::new();
        let once = lines.iter().filter(|line| keys.insert(line.split(' ').next()));
        once.fold(head.clone(), |table, line| table + line)
    })
}

/// A table of a filter.
fn filter(pattern: &str) -> impl Strategy<Value = String> + use<> {
    let pattern = pattern.to_owned();
    (
        "(hide|collapse)",
        "(kind = 'call'\n|kind = 'result'\n|)",
        "(failed = true\n|failed = false\n|inside = false\n|)",
    )
        .prop_map(move |(action, kind, more)| {
            format!("[[filter]]\ntool = \"{pattern}\"\naction = \"{action}\"\n{kind}{more}")
        })
}

/// Rules for one pattern.
fn rules_of(pattern: &'static str) -> impl Strategy<Value = Rules> {
    prop_oneof![
        3 => tool(pattern).prop_map(|table| Rules(vec![table])),
        1 => filter(pattern).prop_map(|table| Rules(vec![table])),
        1 => (tool(pattern), filter(pattern)).prop_map(|(tool, filter)| Rules(vec![tool, filter])),
    ]
}

/// Rules for some tools.
pub(crate) fn rules() -> impl Strategy<Value = Rules> {
    (pattern(), pattern()).prop_flat_map(|(one, other)| {
        let only = prop_oneof![
            4 => Just(""),
            1 => Just("only = ['call', 'result']\n"),
            1 => Just("hide = ['@read']\n"),
            1 => Just("show = ['thinking', 'result']\n"),
            1 => Just("only = ['thinking']\n"),
        ];
        let other = if one == other { "Task" } else { other };
        (only, rules_of(one), rules_of(other))
            .prop_map(|(only, one, other)| Rules([vec![only.to_owned()], one.0, other.0].concat()))
    })
}

/// The items, entries and counts of a run.
struct Seen {
    items: Vec<Item>,
    entries: Vec<Entry>,
    report: Report,
}

impl Seen {
    fn of(engine: &Engine, bytes: &[u8]) -> Self {
        let mut setup = engine.setup();
        let ((tell, met), (draw, drawn)) = (channel(), channel());
        setup.output = match setup.output {
            Output::Entries { formatters, .. } => {
                Output::Entries { formatters, writer: Box::new(Drawn(draw)) }
            }
            _ => panic!("an output of entries is wanted"),
        };
        setup.observers.push(Box::new(Witness(tell)));
        let mut pipeline = Pipeline::new(setup);
        pipeline.push(bytes, &mut String::new()).unwrap();
        pipeline.finish(&mut String::new()).unwrap();
        let report = pipeline.report().clone();
        Self { items: met.try_iter().collect(), entries: drawn.try_iter().collect(), report }
    }
}

/// Whether an entry has any content besides its mark.
fn says_something(entry: &Entry) -> bool {
    let is_content = |span: Span<'_>| !span.text().trim().is_empty() && span.role.name() != "tag";
    let is_said = |line: &Line| line.spans().any(is_content);
    let mut open: Vec<&Block> = entry.view.body.iter().collect();
    if is_said(&entry.view.title) {
        return true;
    }
    while let Some(block) = open.pop() {
        match block {
            Block::Prose { text, .. } | Block::Code { text, .. } if text.trim().is_empty() => {}
            Block::Lines { lines } if !lines.iter().any(is_said) => {}
            Block::Details { summary, body } if !is_said(summary) => open.extend(body),
            _ => return true,
        }
    }
    false
}

/// Every item is shown with content, or counted under a rule that hides it.
#[track_caller]
fn assert_accounted(engine: &Engine, bytes: &[u8], name: &str) {
    let Seen { items: met, entries, report } = Seen::of(engine, bytes);
    let drawn: BTreeSet<&Id> = entries.iter().map(|entry| &entry.id).collect();
    for entry in &entries {
        assert!(says_something(entry), "{name}: of {} nothing is shown: {entry:?}", entry.id);
    }
    let lost: Vec<&Item> = met.iter().filter(|item| !drawn.contains(&item.id)).collect();
    // Records without an item are counted with any profile. A blank item is hidden even there.
    let all = format(items(), [bytes]).report;
    let records = all.shown.values().chain(all.hidden.values()).sum::<u64>() - all.items;
    let hidden: u64 = report.hidden.values().sum();
    let unaccounted = (records + lost.len() as u64).saturating_sub(hidden);
    assert!(unaccounted == 0, "{name}: {unaccounted} of these are neither shown nor counted: {lost:?}");
    assert!(report.hidden.keys().all(|rule| !rule.is_empty()), "{name}: a rule without a name");
    let shown: u64 = report.shown.values().sum();
    // Output of plugins besides items has its own entries.
    assert!(shown <= entries.len() as u64, "{name}: {shown} are counted as shown, {} are", entries.len());
}

/// The entries of all items that don't match a group.
fn others(engine: &Engine, bytes: &[u8], group: &Selector) -> Vec<Entry> {
    let Seen { items: met, entries, .. } = Seen::of(engine, bytes);
    // A rule for all tools also applies to unknown ones.
    let is_of_all = *group == Selector::parse("*");
    // A label also applies where a notice or an outcome names the calls.
    let names_calls = |item: &Item| ["call", "calls", "denials"].iter().any(|name| item.fact(name).is_some());
    let is_about = |item: &Item| {
        group.matches(item)
            || (is_of_all && [Kind::Call, Kind::Result].contains(&item.kind))
            || names_calls(item)
    };
    let about: BTreeMap<&Id, bool> = met.iter().map(|item| (&item.id, is_about(item))).collect();
    let is_other = |entry: &Entry| about.get(&entry.id).is_none_or(|is_about| !is_about);
    entries.into_iter().filter(is_other).collect()
}

/// Asserts that items outside of the group are shown as without the plugin or rule.
#[track_caller]
fn assert_others_stay(with: &Engine, without: &Engine, bytes: &[u8], group: &Selector, name: &str) {
    let (with, without) = (others(with, bytes, group), others(without, bytes, group));
    let same = with.iter().zip(&without).take_while(|(one, other)| one == other).count();
    assert!(
        with == without,
        "{name}: something else than {group:?} is changed:\n{:?}\ninstead of\n{:?}",
        with.get(same),
        without.get(same)
    );
}

fn text() -> Builder {
    Engine::builder().dialect("claude").writer("text")
}

fn engine(builder: Builder) -> Engine {
    builder.build().unwrap_or_else(|problems| panic!("{problems}"))
}

/// The bundled plugins, including profiles, each with the tools that it is limited to.
const PLUGINS: [(&str, Option<&str>); 6] = [
    ("mcp-pretty", Some("mcp__*")),
    ("cost", None),
    ("redact", None),
    ("github-actions", None),
    ("claudedo", None),
    ("claude-ops", None),
];

#[test]
fn with_each_plugin_items_are_shown_or_counted() {
    for (at, (plugin, _)) in PLUGINS.iter().enumerate() {
        for profile in ["default", "ci", plugin].iter().filter(|name| !name.contains('-') || at == 5) {
            let Ok(engine) = text().plugin(*plugin).profile(*profile).build() else { continue };
            for (name, bytes) in sample(at, 40) {
                assert_accounted(&engine, &bytes, &format!("{name} with {plugin} and {profile}"));
            }
        }
    }
}

#[test]
fn a_line_of_blanks_is_counted_once() {
    assert_accounted(&engine(text()), b" ", "a blank");
}

#[test]
fn what_rules_say_may_be_blank() {
    for field in ["label", "arg", "summary"] {
        for template in ["", " ", "{nope|''}", "{description}", "{stdout}", "{nope}"] {
            for more in ["", "label = ''\narg = ''\nsummary = ''\n"] {
                let more =
                    more.split_inclusive('\n').filter(|line| !line.starts_with(field)).collect::<String>();
                let rules = Rules(vec![format!("[tool.\"*\"]\n{field} = \"{template}\"\n{more}")]);
                for profile in ["default", "full", "ci"] {
                    let engine = engine(rules.over(text(), profile));
                    let (name, bytes) = sample(0, 1).remove(0);
                    assert_accounted(&engine, &bytes, &format!("{name} with {profile}\n{rules:?}"));
                }
            }
        }
    }
}

#[test]
fn a_plugin_of_some_tools_leaves_others_alone() {
    for (at, (plugin, tools)) in PLUGINS.iter().enumerate() {
        let Some(tools) = tools else { continue };
        for profile in ["default", "full", "ci"] {
            let (without, with) =
                (engine(text().profile(profile)), engine(text().plugin(*plugin).profile(profile)));
            for (name, bytes) in sample(at, 40) {
                assert_others_stay(
                    &with,
                    &without,
                    &bytes,
                    &Selector::parse(tools),
                    &format!("{name} with {plugin}"),
                );
            }
        }
    }
}

#[test]
#[should_panic(expected = "is shown")]
fn an_entry_without_content_is_noticed() {
    // Only the view of a whole record may be blank.
    let silent = "sf.view('frame', function() return sf.code('  ', nil, { exact = true }) end)";
    let engine = engine(text().pack(PluginSource::from_text("silent.lua", silent)));
    let (name, bytes) = sample(0, 1).remove(0);
    assert_accounted(&engine, &bytes, &name);
}

#[test]
#[should_panic(expected = "something else than")]
fn a_change_of_other_tools_is_noticed() {
    let rules = Rules(vec!["[tool.\"*\"]\nlabel = 'x'\n".to_owned()]);
    let (without, with) = (engine(text()), engine(rules.over(text(), "default")));
    let (name, bytes) = sample(0, 1).remove(0);
    assert_others_stay(&with, &without, &bytes, &Selector::parse("Bash"), &name);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn with_any_rules_items_are_shown_or_counted(
        rules in rules(),
        profile in "(default|full|ci)",
        input in stream(),
        at in 0_usize..1000,
    ) {
        let engine = engine(rules.over(text(), &profile));
        let Input(bytes) = input;
        assert_accounted(&engine, &bytes, &format!("{rules:?}"));
        let (name, bytes) = sample(at, 300).pop().unwrap();
        assert_accounted(&engine, &bytes, &format!("{name}\n{rules:?}"));
    }

    #[test]
    fn rules_of_a_tool_leave_others_alone(
        (pattern, rules) in pattern().prop_flat_map(|pattern| (Just(pattern), rules_of(pattern))),
        profile in "(default|full|ci)",
        input in stream(),
        at in 0_usize..1000,
    ) {
        let (without, with) = (engine(text().profile(&profile)), engine(rules.over(text(), &profile)));
        let Input(bytes) = input;
        let group = Selector::parse(pattern);
        assert_others_stay(&with, &without, &bytes, &group, &format!("{rules:?}"));
        let (name, bytes) = sample(at, 300).pop().unwrap();
        assert_others_stay(&with, &without, &bytes, &group, &format!("{name}\n{rules:?}"));
    }
}
