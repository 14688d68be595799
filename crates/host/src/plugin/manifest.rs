//! A plugin's manifest, `plugin.toml`.
//!
//! ```toml
//! name = "github"
//! version = "1.2.0"
//! api = 1                          # the level of the interface that it needs
//! about = "Issues and pull requests on one line"
//! license = "MIT"
//! entry = "init.lua"               # the file to run; this is the default
//! min-features = ["table"]         # functions of `sf` that it can't do without
//! tools = ["mcp__github__*"]       # the tools that it formats
//!
//! [library]                        # of a native plugin, in place of `entry`: its library for each platform
//! x86_64-linux = "target/release/libgithub.so"
//!
//! [options.columns]
//! about = "Columns of a table"
//! type = "number"                  # string, number, boolean or list; of the default if absent
//! default = 5
//! ```

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use streamfmt_core::syntax_errors::SyntaxErrors;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Value};

use crate::problem::{Problem, ProblemKind, Problems, suggestion};

/// The name of the manifest in a plugin's folder.
pub const FILE: &str = "plugin.toml";

/// The level of the interface. A plugin that requires a higher one is rejected.
pub const API: u32 = 1;

/// The features that `min-features` may require: the functions of `sf`.
pub(crate) static FEATURES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let registering = "plugin tool view on dialect writer records has";
    let showing = "text span line prose code diff patch table kv list details path link note header";
    let items = "item.prompt item.reply item.thinking item.call item.result item.plan item.notice item.outcome item.unknown \
                 item.append item.close item.drop item.session item.usage";
    let texts = "redact raw cut json json_encode inspect re basename truncate trim first_line count_lines plural duration \
                 bytes sorted";
    [registering, showing, items, texts].into_iter().flat_map(str::split_whitespace).collect()
});

/// Longest name of a plugin.
const LONGEST_NAME: usize = 64;

const KEYS: &[&str] =
    &["name", "version", "api", "about", "license", "entry", "min-features", "tools", "library", "options"];
const OPTION_KEYS: &[&str] = &["about", "type", "default"];
const TYPES: &[&str] = &["string", "number", "boolean", "list"];

/// The manifest of a plugin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Manifest {
    /// Its name: letters, digits, `-`, `_` and `.`; the first character is a letter or digit.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
    /// A short description.
    pub about: Option<String>,
    /// Its licence.
    pub license: Option<String>,
    /// The file that is run.
    pub entry: String,
    /// The tools that it formats.
    pub tools: Vec<String>,
    /// The libraries of a native plugin by platform, such as `x86_64-linux`. Empty for one in Lua.
    pub library: BTreeMap<String, String>,
    /// Its options, by name.
    pub options: BTreeMap<String, PluginOption>,
}

/// An option of a plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginOption {
    /// Its description.
    pub about: String,
    /// Its value: the default, unless another was chosen. The default determines the type.
    pub value: Value,
}

impl PluginOption {
    /// The name of its type in `plugin.toml`.
    pub fn type_name(&self) -> &'static str {
        match self.value {
            Value::String(_) | Value::Datetime(_) => "string",
            Value::Integer(_) | Value::Float(_) => "number",
            Value::Boolean(_) => "boolean",
            Value::Array(_) | Value::Table(_) => "list",
        }
    }
}

/// The message about an invalid name.
pub(crate) const NAMES: &str =
    "a plugin's name is made of letters, digits, - _ and . and begins with one of the first two";

/// Whether this is a valid name for a plugin, and for its folder.
pub fn is_name(name: &str) -> bool {
    name.len() <= LONGEST_NAME
        && name.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric)
        && !name.ends_with('.')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

impl Manifest {
    /// Parses a manifest. The error contains all problems. Unknown keys aren't errors, since a later version may define them:
    /// [`Manifest::unknown`] returns those.
    pub fn parse(source: &str) -> Result<Self, Problems> {
        let mut reader = ManifestReader { source, problems: Problems::default() };
        let (table, found) = SyntaxErrors::parse(source);
        for (span, message) in found.errors {
            reader.report(ProblemKind::Syntax, span, message);
        }
        let manifest = reader.manifest(&table);
        reader.problems.or(manifest)
    }

    /// The keys of a manifest that this version doesn't know.
    pub fn unknown(source: &str) -> Vec<Problem> {
        let (table, _) = DeTable::parse_recoverable(source);
        let mut found = Vec::new();
        let mut check = |table: &DeTable<'_>, known: &[&str]| {
            for (key, _) in table.iter().filter(|(key, _)| !known.contains(&&**key.get_ref())) {
                let hint = suggestion(key.get_ref(), known.iter().copied());
                let message = format!("unknown key \"{}\" {hint}", key.get_ref());
                found.push(Problem::at(ProblemKind::UnknownKey, FILE, source, key.span(), message));
            }
        };
        check(table.get_ref(), KEYS);
        if let Some(DeValue::Table(options)) = table.get_ref().get("options").map(Spanned::get_ref) {
            for (_, option) in options {
                if let DeValue::Table(option) = option.get_ref() {
                    check(option, OPTION_KEYS);
                }
            }
        }
        found
    }
}

struct ManifestReader<'a> {
    source: &'a str,
    problems: Problems,
}

impl ManifestReader<'_> {
    fn complain(&mut self, span: Range<usize>, message: impl Into<String>) {
        self.report(ProblemKind::BadValue, span, message);
    }

    fn report(&mut self, kind: ProblemKind, span: Range<usize>, message: impl Into<String>) {
        self.problems.0.push(Problem::at(kind, FILE, self.source, span, message));
    }

    fn manifest(&mut self, table: &DeTable<'_>) -> Manifest {
        let name = self.text(table, "name");
        match &name {
            None if !table.contains_key("name") => self.complain(0..0, "it has no name (name = \"…\")"),
            Some(name) if !is_name(name) => {
                let span = table.get("name").map_or(0..0, Spanned::span);
                self.complain(span, NAMES);
            }
            _ => {}
        }
        match table.get("api").map(|api| (api.get_ref().as_integer(), api.span())) {
            None => self.complain(0..0, format!("it doesn't say which api it needs (api = {API})")),
            Some((Some(api), _)) if i64::from_str_radix(api.as_str(), api.radix()) == Ok(API.into()) => {}
            Some((_, span)) => {
                self.complain(span, format!("it needs another api than {API}, which this program has"));
            }
        }
        for feature in self.list(table, "min-features") {
            if !FEATURES.contains(&feature.get_ref().as_str()) {
                let message = format!("it needs \"{}\", which this version doesn't have", feature.get_ref());
                self.complain(feature.span(), message);
            }
        }
        let tools = self.list(table, "tools").into_iter().map(Spanned::into_inner).collect();
        let options = self.options(table);
        let library = self.library(table);
        Manifest {
            name: name.unwrap_or_default(),
            version: self.text(table, "version"),
            about: self.text(table, "about"),
            license: self.text(table, "license"),
            entry: self.text(table, "entry").unwrap_or_else(|| "init.lua".to_owned()),
            tools,
            library,
            options,
        }
    }

    fn library(&mut self, table: &DeTable<'_>) -> BTreeMap<String, String> {
        let mut library = BTreeMap::new();
        let Some(value) = table.get("library") else { return library };
        let DeValue::Table(files) = value.get_ref() else {
            self.complain(value.span(), "library must be a table of platforms and files");
            return library;
        };
        if let Some(entry) = table.get("entry") {
            self.complain(entry.span(), "a native plugin has no entry: its library is loaded");
        }
        if files.is_empty() {
            self.complain(
                value.span(),
                format!("library names no file (as in {} = \"libfoo.so\")", platform()),
            );
        }
        for (name, file) in files {
            match file.get_ref().as_str().filter(|file| is_inside(file)) {
                Some(path) => drop(library.insert(name.get_ref().to_string(), path.to_owned())),
                None => self.complain(file.span(), "a library is a path inside the plugin's folder"),
            }
        }
        library
    }

    fn text(&mut self, table: &DeTable<'_>, key: &str) -> Option<String> {
        let value = table.get(key)?;
        let text = value.get_ref().as_str().map(str::to_owned);
        if text.is_none() {
            self.complain(value.span(), format!("{key} must be a text"));
        }
        text
    }

    fn list(&mut self, table: &DeTable<'_>, key: &str) -> Vec<Spanned<String>> {
        let Some(value) = table.get(key) else { return Vec::new() };
        let DeValue::Array(array) = value.get_ref() else {
            self.complain(value.span(), format!("{key} must be a list of texts"));
            return Vec::new();
        };
        let mut list = Vec::new();
        for value in array {
            match value.get_ref().as_str() {
                Some(text) => list.push(Spanned::new(value.span(), text.to_owned())),
                None => self.complain(value.span(), format!("{key} must be a list of texts")),
            }
        }
        list
    }

    fn options(&mut self, table: &DeTable<'_>) -> BTreeMap<String, PluginOption> {
        let mut options = BTreeMap::new();
        let Some(value) = table.get("options") else { return options };
        let DeValue::Table(named) = value.get_ref() else {
            self.complain(value.span(), "options must be a table");
            return options;
        };
        for (name, option) in named {
            let DeValue::Table(table) = option.get_ref() else {
                let message = format!("the option {} must be a table with a default", name.get_ref());
                self.complain(option.span(), message);
                continue;
            };
            let about = self.text(table, "about").unwrap_or_default();
            let Some(default) = table.get("default") else {
                self.complain(name.span(), format!("the option {} has no default", name.get_ref()));
                continue;
            };
            let Some(value) = value_of(default.get_ref(), true) else {
                self.complain(
                    default.span(),
                    "a default is a text, a number, true or false, or a list of such",
                );
                continue;
            };
            let choice = PluginOption { about, value };
            if let Some(kind) = table.get("type") {
                let name = kind.get_ref().as_str().unwrap_or_default();
                if !TYPES.contains(&name) {
                    self.complain(kind.span(), "a type is string, number, boolean or list");
                } else if choice.type_name() != name {
                    self.complain(default.span(), format!("the default is not a {name}"));
                }
            }
            options.insert(name.get_ref().to_string(), choice);
        }
        options
    }
}

/// The platform that this program was built for, such as `x86_64-linux`.
pub fn platform() -> String {
    format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS)
}

/// Whether a relative path stays inside its folder, judged lexically.
fn is_inside(path: &str) -> bool {
    path.split('/').all(|part| !part.is_empty() && part != "." && part != ".." && !part.contains(['\\', ':']))
}

impl Manifest {
    /// Whether the plugin is native.
    pub fn is_native(&self) -> bool {
        !self.library.is_empty()
    }

    /// The library of a native plugin for this platform. The error says that there is none.
    pub fn library_here(&self) -> Result<&str, String> {
        let here = platform();
        self.library.get(&here).map(String::as_str).ok_or_else(|| {
            let names: Vec<&str> = self.library.keys().map(String::as_str).collect();
            format!("it has no library for {here} (only for {})", names.join(", "))
        })
    }
}

/// Converts a value for an option. A list is valid only if `may_nest`.
fn value_of(value: &DeValue<'_>, may_nest: bool) -> Option<Value> {
    Some(match value {
        DeValue::String(text) => Value::from(&**text),
        DeValue::Integer(number) => {
            Value::Integer(i64::from_str_radix(number.as_str(), number.radix()).ok()?)
        }
        DeValue::Float(number) => Value::Float(number.as_str().parse().ok()?),
        DeValue::Boolean(truth) => Value::Boolean(*truth),
        DeValue::Array(list) if may_nest => {
            Value::Array(list.iter().map(|value| value_of(value.get_ref(), false)).collect::<Option<_>>()?)
        }
        DeValue::Array(_) | DeValue::Datetime(_) | DeValue::Table(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_read() {
        let manifest = Manifest::parse(
            "name = 'github'\nversion = '1.2.0'\napi = 1\nmin-features = ['table']\ntools = ['mcp__github__*']\n\
             [options.columns]\nabout = 'Columns'\ntype = 'number'\ndefault = 5\n[options.hide]\ndefault = ['a']\n",
        )
        .unwrap();
        assert_eq!((&*manifest.name, &*manifest.entry), ("github", "init.lua"));
        assert_eq!(manifest.options["columns"].value, Value::Integer(5));
        assert_eq!(manifest.options["hide"].type_name(), "list");
    }

    #[test]
    fn all_problems_are_reported_with_their_places() {
        let source = "name = '../x'\napi = 2\nversion = 1\nmin-features = ['teleport']\ntools = 'x'\nhook = 1\n\
                      [options.a]\ntype = 'number'\ndefault = 'x'\n[options.b]\n[options.c]\ndefault = {}\n\
                      [options.d]\ntype = 'colour'\ndefualt = 1\ndefault = 1\n[options]\ne = 1\n";
        let problems: Vec<String> = match Manifest::parse(source) {
            Err(problems) => problems.0.iter().map(ToString::to_string).collect(),
            Ok(manifest) => panic!("{manifest:?}"),
        };
        for (place, what) in [
            ("1:8", "name is made of"),
            ("2:7", "another api"),
            ("3:11", "version must be a text"),
            ("4:17", "\"teleport\", which this version doesn't have"),
            ("5:9", "tools must be a list"),
            ("9:11", "the default is not a number"),
            ("10:10", "the option b has no default"),
            ("12:11", "a default is a text"),
            ("14:8", "a type is string"),
        ] {
            let is_reported =
                |line: &String| line.starts_with(&format!("plugin.toml:{place}: ")) && line.contains(what);
            assert!(problems.iter().any(is_reported), "{place} {what}: {problems:#?}");
        }
        let unknown: Vec<String> = Manifest::unknown(source).iter().map(ToString::to_string).collect();
        assert!(unknown.iter().any(|line| line.contains("\"hook\"")), "{unknown:?}");
        assert!(unknown.iter().any(|line| line.contains("did you mean \"default\"?")), "{unknown:?}");
    }

    #[test]
    fn names_are_safe_as_names_of_folders() {
        for (name, is_fine) in [
            ("github-pack", true),
            ("a.b_c-1", true),
            ("..", false),
            (".x", false),
            ("-x", false),
            ("a/b", false),
            ("a.", false),
            ("", false),
            ("ä", false),
        ] {
            assert_eq!(is_name(name), is_fine, "{name}");
        }
        assert!(!is_name(&"x".repeat(65)));
    }
}
