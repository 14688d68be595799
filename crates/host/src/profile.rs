//! Loads a profile: a TOML file of the keys in [`KEYS`], over the profiles that it extends.
//!
//! Built-in profiles are such files too, embedded and read by the same code. Every profile lies over
//! `default` unless it says `extends = ["none"]`.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use streamfmt_core::profile::Profile;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::keys::{Given, KEYS, Key};
use crate::lua::pack::Pack;
use crate::problem::{Problem, Problems, nearest, suggestion};
use crate::rule::ToolRule;

/// The profiles that come with the program, as the files they are.
pub static BUILT_IN: &[(&str, &str)] = &[
    ("default", include_str!("../profiles/default.toml")),
    ("full", include_str!("../profiles/full.toml")),
    ("quiet", include_str!("../profiles/quiet.toml")),
    ("ci", include_str!("../profiles/ci.toml")),
    ("review", include_str!("../profiles/review.toml")),
    ("plain", include_str!("../profiles/plain.toml")),
];

/// No profile needs more bytes.
const LARGEST: u64 = 256 * 1024;

/// No profile may extend others over more steps.
const DEEPEST: usize = 8;

/// No profile may extend more others in all, however often each.
const MOST: usize = 64;

/// Further problems are not told: nobody reads more at once.
const TOLD: usize = 20;

/// What a profile says, with nothing left open but what the terminal decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The name of the writer, if the profile wants a certain one.
    pub writer: Option<&'static str>,
    /// The name of the theme.
    pub theme: String,
    /// Whether Markdown is laid out.
    pub markdown: bool,
    /// Whether times are shown.
    pub timestamps: bool,
    /// Longest line of the input that is read, in bytes.
    pub max_line: usize,
    /// What it says of tools: later ones go over earlier ones where they mean the same tools.
    pub tools: Vec<ToolRule>,
    /// The choices that the core knows.
    pub profile: Profile,
}

impl Default for Settings {
    /// What is below everything: no limits, nothing left out.
    fn default() -> Self {
        Self {
            writer: None,
            theme: "auto".to_owned(),
            markdown: true,
            timestamps: false,
            max_line: 64 << 20,
            tools: Vec::new(),
            profile: Profile::default(),
        }
    }
}

impl Settings {
    /// Loads the profile `name`: a built-in one, or the path of a file (with a `/` or the ending `.toml`).
    pub fn load(name: &str) -> Result<Self, Problems> {
        let mut loader = Loader::default();
        let wanted = Wanted { name, by: None, folder: Path::new("") };
        loader.load(&wanted);
        loader.problems.or(loader.settings)
    }

    /// Reads the profile that `source` says, told by the name `file`.
    pub fn parse(file: &str, source: &str) -> Result<Self, Problems> {
        let mut loader = Loader::default();
        let wanted = Wanted { name: file, by: None, folder: Path::new("") };
        loader.apply(&wanted, file.to_owned(), file, source, Path::new(""));
        loader.problems.or(loader.settings)
    }

    /// Sets one key from an option's text, `KEY=VALUE`.
    pub fn set(&mut self, assignment: &str) -> Result<(), Problem> {
        let origin = format!("--set {assignment}");
        let Some((name, value)) = assignment.split_once('=') else {
            return Err(Problem::of(origin, "a key and a value are wanted, as in limits.result-lines=40"));
        };
        let name = name.trim();
        if name == "extends" {
            return Err(Problem::of(origin, "profiles are chosen with --profile"));
        }
        let Some(key) = Key::find(name) else { return Err(Problem::of(origin, unknown_key(name, ""))) };
        let value = value.trim();
        let value = value.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')).unwrap_or(value);
        key.set(self, &Given::Bare(value)).map_err(|message| Problem::of(origin, message))
    }
}

/// A profile that is asked for.
struct Wanted<'a> {
    name: &'a str,
    /// The file that extends it, with the place of its name there.
    by: Option<(&'a Document<'a>, std::ops::Range<usize>)>,
    /// What its path is relative to.
    folder: &'a Path,
}

/// The text of a profile file and the name it is told by.
struct Document<'a> {
    file: &'a str,
    source: &'a str,
}

impl Document<'_> {
    fn problem(&self, span: std::ops::Range<usize>, message: impl Into<String>) -> Problem {
        Problem::at(self.file, self.source, span, message)
    }
}

#[derive(Default)]
struct Loader {
    settings: Settings,
    problems: Problems,
    /// The profiles that are being loaded, outermost first.
    chain: Vec<String>,
    /// How many were loaded.
    loaded: usize,
}

impl Loader {
    fn load(&mut self, wanted: &Wanted<'_>) {
        let built_in = BUILT_IN.iter().find(|(name, _)| *name == wanted.name);
        if let Some((name, source)) = built_in {
            self.apply(wanted, (*name).to_owned(), &format!("{name}.toml"), source, Path::new(""));
            return;
        }
        let pack = Pack::built_in(wanted.name);
        let own = pack.as_ref().and_then(|pack| pack.profiles().find(|(name, ..)| *name == wanted.name));
        if let Some((name, file, source)) = own {
            self.apply(wanted, name.to_owned(), &file, source, Path::new(""));
            return;
        }
        if !is_path(wanted.name) {
            let names = BUILT_IN.iter().map(|(name, _)| *name);
            let message =
                format!("there is no profile \"{}\" {}", wanted.name, suggestion(wanted.name, names));
            self.complain(wanted, message);
            return;
        }
        let path = wanted.folder.join(wanted.name);
        match read_file(&path) {
            Ok(source) => {
                let folder = path.parent().unwrap_or(Path::new(""));
                let identity = path.canonicalize().unwrap_or_else(|_| path.clone());
                self.apply(
                    wanted,
                    identity.display().to_string(),
                    &path.display().to_string(),
                    &source,
                    folder,
                );
            }
            Err(message) => {
                self.complain(wanted, format!("can't read the profile \"{}\": {message}", path.display()));
            }
        }
    }

    /// Applies a profile over those that it extends. `identity` tells it from all others.
    fn apply(&mut self, wanted: &Wanted<'_>, identity: String, file: &str, source: &str, folder: &Path) {
        if self.chain.contains(&identity) || self.chain.len() >= DEEPEST {
            let chain = self.chain.join(" → ");
            let message = if self.chain.contains(&identity) {
                format!("profiles extend each other in a circle: {chain} → {identity}")
            } else {
                format!("profiles extend each other over more than {DEEPEST} steps: {chain} → …")
            };
            self.complain(wanted, message);
            return;
        }
        if self.loaded == MOST {
            self.complain(wanted, format!("profiles extend more than {MOST} others"));
        }
        self.loaded += 1;
        if self.loaded > MOST {
            return;
        }
        self.chain.push(identity);
        let document = Document { file, source };
        let (table, errors) = DeTable::parse_recoverable(source);
        for error in errors.into_iter().take(TOLD) {
            let span = error.span().unwrap_or(0..0);
            self.problems.0.push(document.problem(span, error.message().replace('\n', ", ")));
        }
        self.extend(&document, table.get_ref(), folder);
        self.walk(&document, table.get_ref());
        self.chain.pop();
    }

    /// Applies what `table` extends.
    fn extend(&mut self, document: &Document<'_>, table: &DeTable<'_>, folder: &Path) {
        let parents = table.get("extends").map(|parents| names(parents.get_ref())).unwrap_or_default();
        let is_bottom = self.chain.iter().any(|name| name == "default");
        if !is_bottom && self.chain.len() == 1 && parents.iter().all(|parent| *parent.get_ref() != "none") {
            self.load(&Wanted { name: "default", by: None, folder: Path::new("") });
        }
        for parent in parents {
            if *parent.get_ref() != "none" {
                let by = Some((document, parent.span()));
                self.load(&Wanted { name: parent.get_ref(), by, folder });
            }
        }
    }

    /// Applies the keys of `table`. Tables inside it are groups of keys, known by name.
    fn walk(&mut self, document: &Document<'_>, table: &DeTable<'_>) {
        let mut found: Vec<Problem> = Vec::new();
        let mut tables = vec![(String::new(), table)];
        while let Some((prefix, table)) = tables.pop() {
            for (key, value) in table {
                if found.len() == TOLD {
                    break;
                }
                let name = format!("{prefix}{}", key.get_ref());
                match (Key::find(&name), value.get_ref()) {
                    (Some(key), given) => {
                        if let Err(message) = key.set(&mut self.settings, &given_of(given)) {
                            found.push(document.problem(value.span(), message));
                        }
                    }
                    (None, DeValue::Table(inner)) if Key::is_group(&name) => {
                        tables.push((format!("{name}."), inner));
                    }
                    (None, _) => found.push(document.problem(key.span(), unknown_key(&name, &prefix))),
                }
            }
        }
        found.sort_by_key(|problem| problem.place.as_ref().map(|place| (place.line, place.column)));
        self.problems.0.extend(found);
    }

    fn complain(&mut self, wanted: &Wanted<'_>, message: String) {
        self.problems.0.push(match &wanted.by {
            Some((document, span)) => document.problem(span.clone(), message),
            None => Problem::of("--profile", message),
        });
    }
}

/// Whether the name of a profile is a path rather than a name.
fn is_path(name: &str) -> bool {
    name.contains(['/', std::path::MAIN_SEPARATOR])
        || Path::new(name).extension().is_some_and(|end| end == "toml")
}

fn read_file(path: &PathBuf) -> Result<String, String> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes))
        .map_err(|error| error.to_string())?;
    if bytes.len() as u64 > LARGEST {
        return Err(format!("it is larger than {} KiB", LARGEST / 1024));
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
}

/// The strings of an array with their places; whatever is no string is told when the key is set.
fn names<'a>(value: &'a DeValue<'_>) -> Vec<Spanned<&'a str>> {
    let DeValue::Array(array) = value else { return Vec::new() };
    let name = |value: &'a Spanned<DeValue<'_>>| match value.get_ref() {
        DeValue::String(name) => Some(Spanned::new(value.span(), &**name)),
        _ => None,
    };
    array.iter().filter_map(name).collect()
}

fn given_of<'a>(value: &'a DeValue<'_>) -> Given<'a> {
    match value {
        DeValue::String(text) => Given::Text(text),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Given::Number(number),
            Err(_) => Given::Other("a number out of all range"),
        },
        DeValue::Float(_) => Given::Other("a number with a fraction"),
        DeValue::Boolean(flag) => Given::Flag(*flag),
        DeValue::Datetime(_) => Given::Other("a date"),
        DeValue::Array(array) => {
            let list = names(value);
            if list.len() < array.iter().count() {
                return Given::Other("a list with something else in it");
            }
            Given::List(list.into_iter().map(|name| (*name.get_ref()).to_owned()).collect())
        }
        DeValue::Table(_) => Given::Other("a table"),
    }
}

/// What to say of a key that isn't known; `prefix` is the group that it stands in.
fn unknown_key(name: &str, prefix: &str) -> String {
    let names: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
    // A key is often given without its group, or in the wrong one.
    let last = |name: &str| name.rsplit('.').next().map(str::to_owned);
    let displaced = names.iter().copied().find(|known| last(known) == last(name));
    if let Some(known) = displaced.or_else(|| nearest(name, &names)) {
        return format!("there is no key \"{name}\" (did you mean \"{known}\"?)");
    }
    let mut here: Vec<&str> =
        names.iter().filter_map(|known| known.strip_prefix(prefix)?.split('.').next()).collect();
    here.dedup();
    format!("there is no key \"{name}\" (one of: {})", here.join(", "))
}

#[cfg(test)]
mod tests;
