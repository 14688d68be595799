//! The documentation of settings matches the program: the page of profiles, its examples, and the schema.
//!
//! `STREAMFMT_BLESS=1` rewrites the tables of keys and the schema.

#![cfg(feature = "lua")]
#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use jsonschema::Validator;
use serde_json::Value;
use streamfmt::core::pipeline::Pipeline;
use streamfmt::settings::keys::{
    FILE_KEYS, FILTER_KEYS, KEYS, Key, SERVE_KEYS, STORE_KEYS, SWITCH_KEYS, TOOL_KEYS,
};
use streamfmt::settings::profile::BUILT_IN;
use streamfmt::settings::{Config, Request, schema};
use streamfmt::{Engine, Folders};

#[test]
fn the_schema_and_the_tables_of_keys_are_fresh() {
    let page = read("docs/profiles.md");
    let mark = "--test settings -->\n";
    let (before, _) = page.split_once(mark).unwrap();
    is_fresh("docs/schema/config.schema.json", &schema::schema());
    is_fresh("docs/profiles.md", &format!("{before}{mark}{}", tables()));
}

#[track_caller]
fn is_fresh(name: &str, text: &str) {
    if env::var_os("STREAMFMT_BLESS").is_some_and(|value| !value.is_empty() && value != "0") {
        fs::write(root().join(name), text).unwrap();
    }
    assert!(
        read(name) == text,
        "{name} isn't what the keys say; if they are right: STREAMFMT_BLESS=1 cargo test -p streamfmt --test settings"
    );
}

/// All keys as tables of Markdown.
fn tables() -> String {
    let mut text = String::new();
    table(&mut text, "In `[profile.NAME]`, or outside of it for all profiles", &KEYS);
    table(&mut text, "In `[tool.NAME]` or `[profile.NAME.tool.NAME]`", &TOOL_KEYS);
    table(&mut text, "In `[[filter]]` or `[[profile.NAME.filter]]`", FILTER_KEYS);
    table(&mut text, "In `[[switch]]`, in your own settings", SWITCH_KEYS);
    table(&mut text, "In `[serve]`, in your own settings", SERVE_KEYS);
    table(&mut text, "In `[store]`, in your own settings", STORE_KEYS);
    table(&mut text, "At the top of a file", FILE_KEYS);
    text
}

fn table<T>(text: &mut String, heading: &str, keys: &'static [Key<T>]) {
    let cell = |text: &str| text.replace('|', "\\|").replace('<', "&lt;");
    write!(text, "\n### {heading}\n\n| key | for | values |\n|---|---|---|\n").unwrap();
    for key in keys {
        writeln!(text, "| `{}` | {} | {} |", key.name, cell(key.about), cell(&key.form.describe())).unwrap();
    }
}

/// A fenced block of the page: its language, its text, and the output shown below it.
struct Example {
    language: String,
    text: String,
    shown: Option<String>,
}

/// The blocks of TOML and Lua on the page.
fn examples() -> Vec<Example> {
    let page = read("docs/profiles.md");
    let mut examples: Vec<Example> = Vec::new();
    for block in page.split("\n```").collect::<Vec<_>>().chunks(2).filter_map(|pair| pair.get(1)) {
        let (language, text) = block.split_once('\n').unwrap();
        match language {
            "text" => examples.last_mut().unwrap().shown = Some(text.to_owned()),
            "toml" | "lua" => {
                examples.push(Example { language: language.to_owned(), text: text.to_owned(), shown: None });
            }
            _ => {}
        }
    }
    examples
}

/// The file name in the first line of a block.
fn file_name(text: &str) -> Option<&str> {
    let line = text.lines().next()?;
    let name = line.strip_prefix("# ").or_else(|| line.strip_prefix("-- "))?;
    Path::new(name).extension().is_some_and(|end| end == "toml" || end == "lua").then_some(name)
}

#[test]
fn the_examples_of_the_page_are_fine_and_do_what_it_says() {
    let folder = tempfile::TempDir::with_prefix("streamfmt-profiles-").unwrap().keep();
    let examples = examples();
    for example in &examples {
        if let Some(name) = file_name(&example.text) {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, &example.text).unwrap();
        }
    }
    let sample = read("tests/samples/shop.jsonl");
    let mut shown = 0;
    for example in examples.iter().filter(|example| example.language == "toml") {
        let file = folder.join("config.toml");
        fs::write(&file, &example.text).unwrap();
        let folders = Folders { work: folder.clone(), ..Folders::default() };
        let request =
            Request { folders: Some(folders.clone()), file: Some(file.clone()), ..Request::default() };
        let told = Config::load(&request).check();
        assert!(told == streamfmt::settings::SettingsProblems::default(), "{told:?} in\n{}", example.text);
        let engine = Engine::builder().config(&file).folders(folders).writer("text").build().unwrap();
        let mut pipeline = Pipeline::new(engine.setup());
        let mut text = String::new();
        pipeline.push(sample.as_bytes(), &mut text).unwrap();
        pipeline.finish(&mut text).unwrap();
        assert_eq!(engine.journal().failures(), 0, "{:?}", example.text);
        if let Some(lines) = &example.shown {
            shown += 1;
            // An ellipsis stands for omitted lines.
            let mut rest = text.as_str();
            for part in lines.trim_end().split("\n…\n") {
                let missing = || panic!("{}\ndoesn't give\n{part}\nthere, but\n{text}", example.text);
                (_, rest) = rest.split_once(part).unwrap_or_else(missing);
            }
        }
    }
    fs::remove_dir_all(&folder).unwrap();
    assert!(examples.len() > 10 && shown > 3, "{} examples, {shown} with output", examples.len());
}

/// The schema's first error about a file.
fn wrong(schema: &Validator, source: &str) -> Option<String> {
    let value: Value = toml::from_str(source).unwrap();
    schema.iter_errors(&value).next().map(|error| error.to_string())
}

#[test]
fn the_schema_takes_what_the_program_takes() {
    let schema = jsonschema::draft7::new(&serde_json::from_str(&schema::schema()).unwrap()).unwrap();
    let examples = examples();
    let samples = examples.iter().filter(|example| example.language == "toml").map(|example| &*example.text);
    for source in samples.chain(BUILT_IN.iter().map(|(_, source)| *source)) {
        assert_eq!(wrong(&schema, source), None, "{source}");
    }
    for (source, is_fine) in [
        ("", true),
        ("version = 1", true),
        ("version = 2", false),
        ("'$schema' = 'x'", false),
        ("detail = 'full'", true),
        ("detail = 'ful'", false),
        ("records = 'project'", true),
        ("records = './plan.toml'", true),
        ("records = ['project']", false),
        ("detial = 'full'", false),
        ("writer = 'github-actions'", true),
        ("writer = 3", false),
        ("limits.result-lines = 'none'", true),
        ("limits.result-lines = 0", true),
        ("limits.result-lines = -1", false),
        ("limits.result-lines = 'few'", false),
        ("limits.reslt-lines = 3", false),
        ("limits.result-bytes = '8 KiB'", true),
        ("limits.result-bytes = '8 KiX'", false),
        ("layout.width = 10001", false),
        ("only = ['reply']", true),
        ("only.add = ['reply']", true),
        ("only.more = ['reply']", false),
        ("only = 'reply'", false),
        ("extends.add = ['full']", false),
        ("allow-in-projects.add = ['git']", false),
        ("allow-in-projects = ['git']", true),
        ("profile = 'full'", true),
        ("profile.mine.extends = ['none']", true),
        ("profile.mine.version = 1", false),
        ("profile.mine = 3", false),
        ("tool.Bash.arg = '{command}'", true),
        ("tool.Bash.collapse = true", true),
        ("tool.Bash.arg = true", false),
        ("tool.Bash.agr = '{command}'", false),
        ("tool.Bash.script.arg = 'lib/a.lua#arg'", true),
        ("tool.Bash.script.arg = '../a.lua'", false),
        ("tool.Bash.script.arg = 'a/../b.lua'", false),
        ("tool = 3", false),
        ("plugin.cost.every = 3", true),
        ("plugin.cost = 3", false),
        ("[[filter]]\nkind = 'call'\naction = 'hide'", true),
        ("[[filter]]\nkind = 'calls'\naction = 'hide'", false),
        ("[[filter]]\nkind = 'call'", false),
        ("[[filter]]\naction = 'hide'", false),
        ("[[switch]]\npath = '~/x'\nprofile = 'full'", true),
        ("[[switch]]\nstream.model = '*'\nprofile = 'full'", true),
        ("[[switch]]\npath = '~/x'", false),
        ("[[switch]]\nprofile = 'full'", false),
    ] {
        // The program and the schema agree.
        let file = tempfile::Builder::new().prefix("streamfmt-schema-").suffix(".toml").tempfile().unwrap();
        let path = file.into_temp_path().keep().unwrap();
        fs::write(&path, source).unwrap();
        let config = Config::load(&Request { file: Some(path.clone()), ..Request::default() });
        fs::remove_file(&path).unwrap();
        let told = &config.problems().errors.0;
        assert_eq!(told.is_empty(), is_fine, "the program of {source}: {told:?}");
        let told = wrong(&schema, source);
        assert_eq!(told.is_none(), is_fine, "the schema of {source}: {told:?}");
    }
}

#[test]
fn a_name_where_the_table_of_profiles_belongs_is_explained() {
    let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    fs::write(file.path(), "profile = 'quiet'\n[profile.mine]\nhide = ['call']\n").unwrap();
    let config = Config::load(&Request { file: Some(file.path().to_owned()), ..Request::default() });
    let told: Vec<_> = config.problems().errors.0.iter().map(ToString::to_string).collect();
    assert!(told.iter().any(|told| told.contains("`default-profile`")), "{told:?}");
}

#[test]
fn a_plugin_named_for_the_run_brings_the_profile_of_its_name() {
    for (builder, profile) in [
        (Engine::builder().plugin("claudedo"), "claudedo"),
        (Engine::builder().plugin("claudedo").profile("quiet"), "quiet"),
        (Engine::builder().plugin("cost"), "default"),
        (Engine::builder().plugin("claude-ops").plugin("cost"), "claude-ops"),
    ] {
        assert_eq!(builder.build().unwrap().choice().profile.name, profile);
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// The root folder of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
