//! Dependencies between our crates go one way, and each crate avoids the effects that it must not have. Dependencies between the top
//! modules of a crate have no cycles.

#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The dependencies that one of our crates may and must not have.
struct Rule {
    name: &'static str,
    /// Those of our crates that it may depend on, including its tests.
    ours: &'static [&'static str],
    /// Crates that it must not depend on directly.
    never_direct: &'static [&'static str],
    /// Crates that it must not depend on indirectly either; tests and benchmarks don't count.
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
        name: "streamfmt-dialects",
        ours: &["streamfmt-core"],
        never_direct: &["libc"],
        never_below: EFFECTS,
    },
    // Its tests use the dialects.
    Rule {
        name: "streamfmt-formatters",
        ours: &["streamfmt-core", "streamfmt-dialects"],
        never_direct: &["libc", "streamfmt-dialects"],
        never_below: EFFECTS,
    },
    Rule {
        name: "streamfmt-writers",
        ours: &["streamfmt-core"],
        never_direct: &["libc"],
        never_below: EFFECTS,
    },
    // A native plugin links little, and nothing that it must know, not even JSON.
    Rule {
        name: "streamfmt-plugin",
        ours: &[],
        never_direct: &["libc", "serde", "serde_json", "streamfmt-core"],
        never_below: EFFECTS,
    },
    Rule {
        name: "streamfmt",
        ours: &[
            "streamfmt-core",
            "streamfmt-dialects",
            "streamfmt-formatters",
            "streamfmt-plugin",
            "streamfmt-writers",
        ],
        never_direct: &[],
        never_below: &["axum", "clap", "reqwest", "rusqlite", "tokio"],
    },
    Rule {
        name: "streamfmt-server",
        ours: &["streamfmt"],
        never_direct: &["clap", "libloading", "mlua"],
        never_below: &["clap"],
    },
    Rule {
        name: "streamfmt-cli",
        ours: &["streamfmt", "streamfmt-server"],
        never_direct: &["libloading", "mlua", "pulldown-cmark", "rusqlite"],
        never_below: &[],
    },
    Rule {
        name: "streamfmt-sql",
        ours: &["streamfmt-plugin"],
        never_direct: &["streamfmt", "streamfmt-core"],
        never_below: EFFECTS,
    },
    Rule {
        name: "streamfmt-bench",
        ours: &["streamfmt"],
        never_direct: &[],
        never_below: &["criterion", "tokio"],
    },
];

/// The folders of crates whose top modules have no dependency cycle.
const WITHOUT_CIRCLES: &[&str] = &["core", "dialects", "formatters", "writers", "host", "server", "cli"];

/// The parts of the host's module for Lua, from the bottom: each uses those before it alone.
const PARTS_OF_LUA: &[&str] = &["vm", "api", "answer", "layers"];

/// Our crates and all their dependencies.
struct Graph {
    /// Names of the workspace's crates.
    ours: BTreeSet<String>,
    /// The dependencies of each crate; the flag marks those for tests only.
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
    assert!(graph.below("streamfmt").contains("mlua"), "what a default feature brings in is looked at");
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

#[test]
fn without_default_features_nothing_loads_code() {
    let below = |more: &[&str]| {
        let arguments =
            ["tree", "--offline", "--locked", "-p", "streamfmt", "-e", "normal", "--prefix", "none"];
        let mut cargo = Command::new(env!("CARGO"));
        run(cargo.args(arguments).args(more).current_dir(env!("CARGO_MANIFEST_DIR")))
    };
    let (with, without) = (below(&[]), below(&["--no-default-features"]));
    for name in ["mlua ", "libloading ", "streamfmt-plugin "] {
        assert!(with.lines().any(|line| line.starts_with(name)), "{name} is looked for: {with}");
        assert!(!without.lines().any(|line| line.starts_with(name)), "{without}");
    }
    assert!(without.contains("streamfmt-core "), "{without}");
}

#[test]
fn only_the_modules_of_queries_name_the_crate_of_the_database() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    files.retain(|file| fs::read_to_string(file).unwrap().contains("rusqlite"));
    let queries = root.join("store/sql");
    let is_inside = |file: &&PathBuf| file.starts_with(&queries) || **file == queries.with_extension("rs");
    assert!(files.iter().filter(is_inside).count() > 5, "they are found: {files:?}");
    let others: Vec<_> = files.iter().filter(|file| !is_inside(file)).collect();
    assert!(others.is_empty(), "{others:?}");
}

#[test]
fn modules_at_the_top_of_a_crate_use_each_other_one_way() {
    for name in WITHOUT_CIRCLES {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src");
        let modules = Modules::read(&root);
        assert!(modules.uses.len() > 3, "{name}: its modules are not found");
        if let Some(circle) = modules.circle() {
            panic!("modules of {name} use each other in a circle:\n  {}", circle.join("\n  "));
        }
    }
}

#[test]
fn each_part_of_lua_uses_only_those_below_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lua");
    for (at, part) in PARTS_OF_LUA.iter().enumerate() {
        let mut files = vec![root.join(part).with_extension("rs")];
        sources(&root.join(part), &mut files);
        assert!(files.len() > 1, "{part} is not found");
        for file in files {
            let source = fs::read_to_string(&file).unwrap();
            for path in source.split("crate::lua::").skip(1) {
                let used = path.split(|sign: char| !sign.is_alphanumeric()).next().unwrap();
                assert!(PARTS_OF_LUA[..at].contains(&used), "{}: crate::lua::{used}", file.display());
            }
            for above in &PARTS_OF_LUA[at + 1..] {
                assert!(!source.contains(&format!("super::{above}")), "{}: super::{above}", file.display());
            }
        }
    }
}

#[test]
fn paths_in_sources_are_found() {
    let named = |source: &str, depth| {
        paths(source, depth).into_iter().map(|(name, line)| format!("{name}:{line}")).collect::<Vec<_>>()
    };
    let source = "use crate::a::{B, C};\nuse crate::{\n    d, e::{F, g},\n    h,\n};\n// crate::x\nfn f() { crate::i::j() }\n\
                  use super::k;\nuse super::super::l::M;\n#[cfg(test)]\nmod tests {\n    use crate::y;\n}\n";
    assert_eq!(named(source, 2), ["a:1", "d:2", "e:2", "h:2", "i:7", "l:9"]);
    assert_eq!(named("use super::k;", 1), ["k:1"]);
    let inline = "mod unix {\n    use super::{a, b};\n    use super::super::{c, d};\n    fn f() {\n    }\n}\nuse super::e;\n";
    assert_eq!(
        named(inline, 1),
        ["c:3", "d:3", "e:7"],
        "inside of `unix`, `super` is the module of the file"
    );
}

/// The top modules of a crate, and for each module the others that it uses, with one place.
struct Modules {
    uses: BTreeMap<String, BTreeMap<String, String>>,
}

impl Modules {
    /// Reads the sources in a folder. Tests may use any module.
    fn read(root: &Path) -> Self {
        let entry = ["lib.rs", "main.rs"].map(|name| root.join(name)).into_iter().find(|it| it.exists());
        let entry = fs::read_to_string(entry.unwrap()).unwrap();
        let mut files = Vec::new();
        sources(root, &mut files);
        let top = |file: &Path| {
            let first = file.strip_prefix(root).unwrap().iter().next().unwrap().to_str().unwrap();
            first.trim_end_matches(".rs").to_owned()
        };
        let mut uses: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        for file in files.iter().filter(|file| !["lib", "main"].contains(&&*top(file))) {
            uses.entry(top(file)).or_default();
        }
        // An item re-exported at the crate's root still belongs to its module.
        let mut given = BTreeMap::new();
        for export in entry.split("pub use ").skip(1) {
            let (path, _) = export.split_once(';').unwrap();
            let (module, names) = path.split_once("::").unwrap_or((path, ""));
            for name in names.split(|sign: char| !sign.is_alphanumeric() && sign != '_') {
                given.insert(name.to_owned(), module.to_owned());
            }
        }
        for file in &files {
            let from = top(file);
            let inside = file.strip_prefix(root).unwrap();
            let is_parent = file.file_stem().is_some_and(|stem| stem == "mod");
            let depth = inside.iter().count() - usize::from(is_parent);
            let source = fs::read_to_string(file).unwrap();
            for (name, line) in paths(&source, depth) {
                let to = given.get(&name).unwrap_or(&name).clone();
                if to != from && uses.contains_key(&to) {
                    let place = format!("{from} uses {to}: {}:{line}", inside.display());
                    uses.get_mut(&from).into_iter().for_each(|uses| {
                        uses.entry(to.clone()).or_insert_with(|| place.clone());
                    });
                }
            }
        }
        Self { uses }
    }

    /// A dependency cycle, as the places that form it.
    fn circle(&self) -> Option<Vec<String>> {
        self.uses.keys().find_map(|start| {
            // Search step by step for a path back to the start.
            let mut ways: Vec<(&String, Vec<&String>)> =
                self.uses[start].iter().map(|(to, place)| (to, vec![place])).collect();
            let mut seen = BTreeSet::new();
            while let Some((at, way)) = ways.pop() {
                if at == start {
                    return Some(way.into_iter().cloned().collect());
                }
                if seen.insert(at) {
                    let next = self.uses[at].iter();
                    ways.extend(next.map(|(to, place)| (to, way.iter().copied().chain([place]).collect())));
                }
            }
            None
        })
    }
}

/// All sources below a folder, without tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_tests = path.file_stem().is_some_and(|stem| stem == "tests");
        if path.is_dir() && !is_tests {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") && !is_tests {
            found.push(path);
        }
    }
}

/// The names at the root of the crate that a source uses, each with its line. `depth`: the module's depth below the root.
fn paths(source: &str, depth: usize) -> Vec<(String, usize)> {
    let is_word = |sign: char| sign.is_alphanumeric() || sign == '_';
    let code = source.split("\nmod tests {").next().unwrap();
    let code: String = code.lines().map(|line| line.split("//").next().unwrap().to_owned() + "\n").collect();
    let inline = inline_depths(&code);
    let mut found = Vec::new();
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|sign| is_word(sign) || sign == '$' || sign == ':') {
                continue;
            }
            let line = code[..at].matches('\n').count() + 1;
            let mut rest = &code[at + start.len()..];
            if start == "super::" {
                let mut steps = 1;
                while let Some(further) = rest.strip_prefix(start) {
                    (rest, steps) = (further, steps + 1);
                }
                if steps != depth + inline[line - 1] {
                    continue;
                }
            }
            let names: Vec<&str> = match rest.strip_prefix('{') {
                None => vec![rest],
                Some(list) => {
                    let mut open = 0;
                    // Commas within nested braces don't separate names of the root.
                    list.split(|sign: char| {
                        open += i32::from(sign == '{') - i32::from(sign == '}');
                        open == 0 && sign == ',' || open < 0
                    })
                    .take_while(|name| !name.contains(';'))
                    .collect()
                }
            };
            let word = |name: &str| name.trim_start().split(|sign| !is_word(sign)).next().unwrap().to_owned();
            found
                .extend(names.into_iter().map(word).filter(|name| !name.is_empty()).map(|name| (name, line)));
        }
    }
    found
}

/// For each line, its depth in inline modules. A module ends at a brace in the column where it began, as rustfmt formats it, so braces in
/// strings don't count.
fn inline_depths(code: &str) -> Vec<usize> {
    let mut open: Vec<usize> = Vec::new();
    let lines = code.lines().map(|line| {
        let text = line.trim();
        let column = line.len() - line.trim_start().len();
        if text == "}" {
            open.pop_if(|began| *began == column);
        }
        let depth = open.len();
        let is_module = text.strip_suffix('{').is_some_and(|head| head.split(' ').any(|word| word == "mod"));
        open.extend(is_module.then_some(column));
        depth
    });
    lines.collect()
}

impl Graph {
    /// A crate's dependencies, without those for tests.
    fn uses(&self, name: &str) -> impl Iterator<Item = &str> {
        self.arrows
            .get(name)
            .into_iter()
            .flatten()
            .filter(|(_, for_tests)| !for_tests)
            .map(|(name, _)| name.as_str())
    }

    /// All direct and indirect dependencies of a crate.
    fn below<'a>(&'a self, name: &'a str) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::new();
        let mut waiting = vec![name];
        while let Some(name) = waiting.pop() {
            waiting.extend(self.uses(name).filter(|name| found.insert(*name)));
        }
        found
    }
}

/// Reads the dependencies from cargo, for this platform only: crates for others may not be on the disk.
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
    // Optional dependencies that only a non-default feature enables: only tests request it.
    let optional: BTreeSet<(&str, &str)> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|package| package["source"].is_null())
        .flat_map(|package| {
            let below = package["dependencies"].as_array().unwrap().iter();
            let default = by_default(&package["features"]);
            let optional =
                below.filter(move |to| to["optional"] == true && !default.contains(text(&to["name"])));
            optional.map(|to| (text(&package["name"]), text(&to["name"])))
        })
        .collect();
    let mut arrows: BTreeMap<String, BTreeSet<(String, bool)>> = BTreeMap::new();
    for node in metadata["resolve"]["nodes"].as_array().unwrap() {
        let from = arrows.entry(names[text(&node["id"])].to_owned()).or_default();
        for to in node["deps"].as_array().unwrap() {
            let (name, below) = (names[text(&node["id"])], names[text(&to["pkg"])]);
            // A crate's tests may enable the crate's own features.
            if name == below {
                continue;
            }
            let is_for_tests = to["dep_kinds"].as_array().unwrap().iter().all(|kind| kind["kind"] == "dev");
            from.insert((below.to_owned(), is_for_tests || optional.contains(&(name, below))));
        }
    }
    Graph { ours, arrows }
}

/// The optional crates that a package's default features enable.
fn by_default(features: &Value) -> BTreeSet<&str> {
    let (mut found, mut open) = (BTreeSet::new(), vec!["default"]);
    while let Some(feature) = open.pop() {
        for part in features[feature].as_array().into_iter().flatten().map(text) {
            match part.strip_prefix("dep:") {
                Some(below) => drop(found.insert(below)),
                None => open.push(part),
            }
        }
    }
    found
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

/// Luau raises C++ exceptions through Rust frames: with `panic = "abort"`, an endless script would end the program.
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

/// Without features, a build has no plugins of any kind and needs no C++ compiler.
#[test]
fn without_features_nothing_runs_or_loads_plugins() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = [
        "tree",
        "--offline",
        "-p",
        "streamfmt",
        "--no-default-features",
        "-e",
        "normal,build",
        "--prefix",
        "none",
    ];
    let tree = Command::new(cargo).args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    let tree = String::from_utf8(tree.stdout).unwrap();
    assert!(tree.contains("streamfmt-core v"), "{tree}");
    for name in ["mlua", "luau0-src", "cc", "libloading"] {
        assert!(!tree.lines().any(|line| line.split(' ').next() == Some(name)), "{name}:\n{tree}");
    }
}
