//! The starter plugins of `plugin new`: each works, and its test passes.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::Path;

use crate::engine::Engine;
use crate::install::tree::PluginTree;
use crate::lua::reference;
use crate::plugin::manifest::{NAMES, is_name, platform};
use crate::problem::{Problem, ProblemKind, Problems};

/// The files of a new plugin, with `NAME` as a placeholder for its name.
const FILES: &[(&str, &str)] = &[
    ("plugin.toml", include_str!("starter/plugin.toml")),
    ("init.lua", include_str!("starter/init.lua")),
    ("README.md", include_str!("starter/README.md")),
    ("tests/a-command/case.toml", include_str!("starter/case.toml")),
    ("tests/a-command/input.ndjson", SAMPLE),
];

/// A short stream to try a plugin with.
pub const SAMPLE: &str = include_str!("starter/input.ndjson");

/// The path of the expected output.
const EXPECTED: &str = "tests/a-command/expected/default.text.txt";

/// Creates a plugin in `folder`, which must not exist yet. The folder's name becomes the plugin's. Returns the paths of the
/// files.
pub fn create(folder: &Path) -> Result<Vec<String>, Problems> {
    let name = name_of(folder, |_| true)?;
    let file =
        |(path, text): &(&str, &str)| ((*path).to_owned(), text.replace("NAME", name).into_bytes().into());
    let mut tree = PluginTree { files: FILES.iter().map(file).collect() };
    let broken = |message: String| problem(ProblemKind::Plugin, folder, message);
    let engine = Engine::builder().writer("text").pack(tree.pack().map_err(broken)?).build()?;
    let input = tree.files.get("tests/a-command/input.ndjson").map_or(&b""[..], |bytes| bytes);
    let mut expected = String::new();
    // Neither reading from memory nor writing to a string can fail.
    let _ = engine.format(input, &mut expected);
    let more = editor_files().chain([(EXPECTED, expected)]);
    tree.files.extend(more.map(|(path, text)| (path.to_owned(), text.into_bytes().into())));
    tree.write(folder).map_err(|error| problem(ProblemKind::Unwritable, folder, error.to_string()))?;
    Ok(tree.files.into_keys().collect())
}

/// The name of a new plugin, which is its folder's. Fails if that isn't a valid name, or if the folder exists.
fn name_of(folder: &Path, is_fit: impl Fn(&str) -> bool) -> Result<&str, Problem> {
    let name = folder.file_name().and_then(|name| name.to_str()).filter(|name| is_name(name));
    let name = name.ok_or_else(|| problem(ProblemKind::BadValue, folder, NAMES))?;
    if !is_fit(name) {
        let why = "the name of a native plugin is a crate's too: it begins with a letter and has no dots";
        return Err(problem(ProblemKind::BadValue, folder, why));
    }
    if folder.exists() || folder.is_symlink() {
        return Err(problem(ProblemKind::Taken, folder, "already exists"));
    }
    Ok(name)
}

fn problem(kind: ProblemKind, folder: &Path, message: impl Into<String>) -> Problem {
    Problem::of(kind, folder.display().to_string(), message)
}

/// The files of a new native plugin in Rust. They include a copy of the crate that it links, so that it builds anywhere.
const NATIVE_FILES: &[(&str, &str)] = &[
    ("Cargo.toml", include_str!("starter/native/Cargo.toml.in")),
    (".gitignore", "/target\n"),
    ("plugin.toml", include_str!("starter/native/plugin.toml")),
    ("src/lib.rs", include_str!("starter/native/lib.rs.in")),
    ("README.md", include_str!("starter/native/README.md")),
    ("tests/a-command/case.toml", include_str!("starter/native/case.toml")),
    ("tests/a-command/input.ndjson", SAMPLE),
    (EXPECTED, include_str!("starter/native/expected.txt")),
    ("streamfmt-plugin/Cargo.toml", include_str!("starter/native/sdk.toml")),
    ("streamfmt-plugin/src/lib.rs", include_str!("../../sdk/src/lib.rs")),
    ("streamfmt-plugin/src/calls.rs", include_str!("../../sdk/src/calls.rs")),
    ("streamfmt-plugin/src/entry.rs", include_str!("../../sdk/src/entry.rs")),
    ("streamfmt-plugin/src/table.rs", include_str!("../../sdk/src/table.rs")),
    ("streamfmt-plugin/include/streamfmt_plugin.h", include_str!("../../sdk/include/streamfmt_plugin.h")),
];

/// Creates a native plugin in `folder`, in the same way as [`create`].
pub fn create_native(folder: &Path) -> Result<Vec<String>, Problems> {
    // The name is also the name of a crate.
    let is_crate =
        |name: &str| name.starts_with(|first: char| first.is_ascii_alphabetic()) && !name.contains('.');
    let name = name_of(folder, is_crate)?;
    let library = format!("{DLL_PREFIX}{}{DLL_SUFFIX}", name.replace('-', "_"));
    let filled = |text: &str| {
        text.replace("@PLATFORM@", &platform()).replace("@LIBRARY@", &library).replace("@NAME@", name)
    };
    let is_ours = |path: &str| path.starts_with("streamfmt-plugin/") && path != "streamfmt-plugin/Cargo.toml";
    let file = |(path, text): &(&str, &str)| {
        let text = if is_ours(path) { (*text).to_owned() } else { filled(text) };
        ((*path).to_owned(), text.into_bytes().into())
    };
    let tree = PluginTree { files: NATIVE_FILES.iter().map(file).collect() };
    tree.write(folder).map_err(|error| problem(ProblemKind::Unwritable, folder, error.to_string()))?;
    Ok(tree.files.into_keys().collect())
}

/// The files that describe the interface to an editor, by name.
pub fn editor_files() -> impl Iterator<Item = (&'static str, String)> {
    [("sf.d.lua", reference::types()), (".luarc.json", include_str!("starter/luarc.json").to_owned())]
        .into_iter()
}
