//! Arrows between our crates go one way, and each crate stays away from the effects it must not have.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// What one of our crates may and may not depend on.
struct Rule {
    /// The crate.
    name: &'static str,
    /// Which of our crates it may name, tests included.
    ours: &'static [&'static str],
    /// What it must not name itself.
    never_direct: &'static [&'static str],
    /// What must not be anywhere below it; tests and benchmarks don't count.
    never_below: &'static [&'static str],
}

const EFFECTS: &[&str] = &[
    "async-std",
    "clap",
    "crossterm",
    "getrandom",
    "libloading",
    "mio",
    "mlua",
    "notify",
    "rand",
    "reqwest",
    "rusqlite",
    "rustix",
    "socket2",
    "tempfile",
    "tokio",
    "ureq",
];

const RULES: &[Rule] = &[
    Rule { name: "streamfmt-core", ours: &[], never_direct: &["libc"], never_below: EFFECTS },
    Rule {
        name: "streamfmt",
        ours: &["streamfmt-core"],
        never_direct: &[],
        never_below: &["axum", "clap", "reqwest", "tokio"],
    },
    Rule {
        name: "streamfmt-cli",
        ours: &["streamfmt"],
        never_direct: &["libloading", "mlua", "pulldown-cmark"],
        never_below: &[],
    },
    Rule {
        name: "streamfmt-bench",
        ours: &["streamfmt"],
        never_direct: &[],
        never_below: &["criterion", "tokio"],
    },
];

/// Our crates and all crates below them.
struct Graph {
    /// Names of the workspace's crates.
    ours: BTreeSet<String>,
    /// Crate → what it names; the flag tells whether only for tests.
    arrows: BTreeMap<String, BTreeSet<(String, bool)>>,
}

#[test]
fn every_crate_of_ours_has_a_rule() {
    let ruled: BTreeSet<String> = RULES.iter().map(|rule| rule.name.to_owned()).collect();
    assert_eq!(graph().ours, ruled, "a crate came or went: mend RULES");
}

#[test]
fn arrows_between_our_crates_go_one_way() {
    let graph = graph();
    for rule in RULES {
        for (name, _) in &graph.arrows[rule.name] {
            let fine = !graph.ours.contains(name) || rule.ours.contains(&name.as_str());
            assert!(fine, "{} must not depend on {name}", rule.name);
        }
    }
}

#[test]
fn no_crate_has_effects_that_are_not_its_own() {
    let graph = graph();
    for rule in RULES {
        let direct: BTreeSet<&str> = graph.uses(rule.name).collect();
        for never in rule.never_direct {
            assert!(!direct.contains(never), "{} must not depend on {never}", rule.name);
        }
        let below = graph.below(rule.name);
        for never in rule.never_below {
            assert!(!below.contains(never), "{} must not have {never} below it", rule.name);
        }
    }
}

impl Graph {
    /// What a crate names for other than tests.
    fn uses(&self, name: &str) -> impl Iterator<Item = &str> {
        self.arrows
            .get(name)
            .into_iter()
            .flatten()
            .filter(|(_, for_tests)| !for_tests)
            .map(|(name, _)| name.as_str())
    }

    /// Everything below a crate.
    fn below<'a>(&'a self, name: &'a str) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::new();
        let mut waiting = vec![name];
        while let Some(name) = waiting.pop() {
            waiting.extend(self.uses(name).filter(|name| found.insert(*name)));
        }
        found
    }
}

/// Asks cargo. Only crates for this platform are asked for: those of others may not be on the disk.
fn graph() -> Graph {
    let host = field(&run(Command::new("rustc").arg("-vV")), "host: ");
    let metadata = run(Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--locked", "--format-version", "1", "--filter-platform", &host])
        .current_dir(env!("CARGO_MANIFEST_DIR")));
    let metadata: Value = serde_json::from_str(&metadata).unwrap();
    let names: BTreeMap<&str, &str> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|package| (text(&package["id"]), text(&package["name"])))
        .collect();
    let ours = metadata["workspace_members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|id| names[text(id)].to_owned())
        .collect();
    // What only a feature brings in that nobody asks for but tests.
    let optional: BTreeSet<(&str, &str)> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|package| package["source"].is_null())
        .flat_map(|package| {
            let below = package["dependencies"].as_array().unwrap().iter();
            let optional = below.filter(|to| to["optional"] == true);
            optional.map(|to| (text(&package["name"]), text(&to["name"])))
        })
        .collect();
    let mut arrows: BTreeMap<String, BTreeSet<(String, bool)>> = BTreeMap::new();
    for node in metadata["resolve"]["nodes"].as_array().unwrap() {
        let from = arrows.entry(names[text(&node["id"])].to_owned()).or_default();
        for to in node["deps"].as_array().unwrap() {
            let (name, below) = (names[text(&node["id"])], names[text(&to["pkg"])]);
            // A crate's tests may ask for its own features.
            if name == below {
                continue;
            }
            let is_for_tests = to["dep_kinds"].as_array().unwrap().iter().all(|kind| kind["kind"] == "dev");
            from.insert((below.to_owned(), is_for_tests || optional.contains(&(name, below))));
        }
    }
    Graph { ours, arrows }
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn field(lines: &str, key: &str) -> String {
    lines.lines().find_map(|line| line.strip_prefix(key)).unwrap().to_owned()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// Luau raises C++ exceptions through frames of Rust: where panics abort, an endless script would end the program.
#[test]
fn panics_unwind_in_what_is_released() {
    let manifest = include_str!("../../../Cargo.toml");
    let profiles = manifest.split("\n[").filter(|part| part.starts_with("profile."));
    let mut unwinding = 0;
    for profile in profiles {
        assert!(!profile.contains("panic = \"abort\""), "{profile}");
        unwinding += profile.matches("panic = \"unwind\"").count();
    }
    assert_eq!(unwinding, 1, "the release profile says so");
}
