//! A plugin as it lies on the disk: a lone file, or a folder with a `plugin.toml`.
//!
//! Everything is read once, when the plugin is chosen; what runs later are those bytes. `require` finds the
//! files of its own folder among them and nothing else.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use toml::{Table, Value};

use super::api::API;

/// Largest file of a plugin, and all of them together, in bytes.
const LARGEST: u64 = 4 << 20;
/// Most files of a plugin.
const MOST_FILES: usize = 256;
/// Folders inside one another.
const DEEPEST: usize = 8;

/// How high a plugin stands: a higher one is asked first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// One that the profile names. What the profile itself says of tools stands over it.
    #[default]
    Pack,
    /// The user's own script, over all profiles.
    User,
    /// One of the project, which the user trusts.
    Project,
    /// One that was named for this run.
    Run,
}

impl Layer {
    /// Its name, for `explain`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pack => "plugin",
            Self::User => "user script",
            Self::Project => "project plugin",
            Self::Run => "plugin of this run",
        }
    }
}

/// A plugin that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Pack {
    /// Its name.
    pub name: String,
    /// Its version, if it tells.
    pub version: Option<String>,
    /// Its options, by name.
    pub options: BTreeMap<String, Choice>,
    /// The file that is run.
    entry: String,
    /// Its files, by path inside the folder.
    files: BTreeMap<String, String>,
    is_folder: bool,
}

/// An option of a plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// What it is for.
    pub about: String,
    /// What it is: the default until something else is chosen. Its type is that of the default.
    pub value: Value,
}

impl Pack {
    /// Reads a plugin. The error says what is wrong with it.
    pub fn read(path: &Path) -> Result<Self, String> {
        let kind = fs::metadata(path).map_err(|error| reason(&error))?;
        if kind.is_dir() { Self::read_folder(path) } else { Self::read_file(path) }
    }

    fn read_file(path: &Path) -> Result<Self, String> {
        let file = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let name = path.file_stem().map_or_else(|| file.clone(), |stem| stem.to_string_lossy().into_owned());
        Ok(Self { name, ..Self::from_source(&file, read(path)?) })
    }

    /// A plugin of one file, which is called `name` in messages.
    pub fn from_source(name: &str, source: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            version: None,
            options: BTreeMap::new(),
            entry: name.to_owned(),
            files: [(name.to_owned(), source.into())].into(),
            is_folder: false,
        }
    }

    fn read_folder(folder: &Path) -> Result<Self, String> {
        let about = read(&folder.join("plugin.toml")).map_err(|error| format!("plugin.toml: {error}"))?;
        let about: Table = about.parse().map_err(|error: toml::de::Error| {
            let line = error.span().map_or(1, |span| about[..span.start].matches('\n').count() + 1);
            format!("plugin.toml:{line}: {}", error.message())
        })?;
        let text = |key: &str| -> Result<Option<String>, String> {
            match about.get(key) {
                None => Ok(None),
                Some(Value::String(text)) => Ok(Some(text.clone())),
                Some(_) => Err(format!("plugin.toml: {key} must be a text")),
            }
        };
        let name = text("name")?.ok_or("plugin.toml: it has no name")?;
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if name.is_empty() || name.len() > 64 || !name.bytes().all(is_name) {
            return Err("plugin.toml: the name is made of letters, digits, - _ and .".to_owned());
        }
        match about.get("api").map(Value::as_integer) {
            None => return Err(format!("plugin.toml: it doesn't say which api it needs (api = {API})")),
            Some(Some(api)) if api == i64::from(API) => {}
            Some(_) => {
                return Err(format!("plugin.toml: it needs another api than {API}, which this program has"));
            }
        }
        let entry = text("entry")?.unwrap_or_else(|| "init.lua".to_owned());
        let options = options(about.get("options"))?;
        let files = sources(folder)?;
        if !files.contains_key(&entry) {
            return Err(format!("plugin.toml: there is no file {entry} in its folder"));
        }
        Ok(Self { name, version: text("version")?, options, entry, files, is_folder: true })
    }

    /// Chooses an option; the error says what is wrong.
    pub fn choose(&mut self, option: &str, value: Value) -> Result<(), String> {
        let Some(choice) = self.options.get_mut(option) else {
            let hint = crate::problem::suggestion(option, self.options.keys().map(String::as_str));
            return Err(format!("{} has no option \"{option}\" {hint}", self.name));
        };
        if !is_of_type(&value, &choice.value) {
            return Err(format!("the option {option} of {} is a {}", self.name, choice.value.type_str()));
        }
        choice.value = value;
        Ok(())
    }

    /// The file that is run, and its text.
    pub(super) fn entry(&self) -> (String, &str) {
        let source = self.files.get(&self.entry).map_or("", String::as_str);
        (self.shown(&self.entry), source)
    }

    /// Whether it may ask for files of its own.
    pub(super) fn has_modules(&self) -> bool {
        self.is_folder
    }

    /// The file that `require(name)` means, by its name in messages, and its text.
    pub(super) fn module(&self, name: &str) -> Option<(String, &str)> {
        let path = name.strip_prefix("./").unwrap_or(name).replace('.', "/");
        ["lua", "luau"]
            .iter()
            .flat_map(|end| [format!("{path}.{end}"), format!("{path}/init.{end}")])
            .find_map(|file| Some((self.shown(&file), self.files.get(&file)?.as_str())))
    }

    /// The text of a line of one of its files, by the file's name in messages.
    pub(super) fn line(&self, shown: &str, number: usize) -> Option<&str> {
        let (_, source) = self.files.iter().find(|(file, _)| self.shown(file) == shown)?;
        source.lines().nth(number.checked_sub(1)?)
    }

    /// The file and line that a message begins with, and the rest of the message.
    pub(super) fn place<'a>(&self, message: &'a str) -> Option<(String, usize, &'a str)> {
        self.files.keys().find_map(|file| {
            let shown = self.shown(file);
            let rest = message.strip_prefix(&shown)?.strip_prefix(':')?;
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let number = rest[..digits].parse().ok()?;
            Some((shown, number, rest[digits..].trim_start_matches([':', ' '])))
        })
    }

    /// How a file is called in messages: never with a path of the machine.
    fn shown(&self, file: &str) -> String {
        if self.is_folder { format!("{}/{file}", self.name) } else { file.to_owned() }
    }
}

fn options(told: Option<&Value>) -> Result<BTreeMap<String, Choice>, String> {
    let table = match told {
        None => return Ok(BTreeMap::new()),
        Some(Value::Table(table)) => table,
        Some(_) => return Err("plugin.toml: options must be a table".to_owned()),
    };
    let mut options = BTreeMap::new();
    for (name, option) in table {
        let wrong = |what: &str| format!("plugin.toml: option {name}: {what}");
        let value = option.get("default").ok_or_else(|| wrong("it has no default"))?.clone();
        let is_plain =
            |value: &Value| !matches!(value, Value::Table(_) | Value::Datetime(_) | Value::Array(_));
        let is_fine = match &value {
            Value::Array(list) => list.iter().all(is_plain),
            value => is_plain(value),
        };
        if !is_fine {
            return Err(wrong("the default is a text, a number, true or false, or a list of such"));
        }
        let fits = match (option.get("type").and_then(Value::as_str), &value) {
            (None, _)
            | (Some("string"), Value::String(_))
            | (Some("number"), Value::Integer(_) | Value::Float(_))
            | (Some("boolean"), Value::Boolean(_))
            | (Some("list"), Value::Array(_)) => true,
            (Some("string" | "number" | "boolean" | "list"), _) => false,
            (Some(_), _) => return Err(wrong("the type is string, number, boolean or list")),
        };
        if !fits {
            return Err(wrong("the default is not of the type"));
        }
        let about = option.get("about").and_then(Value::as_str).unwrap_or_default().to_owned();
        options.insert(name.clone(), Choice { about, value });
    }
    Ok(options)
}

fn is_of_type(value: &Value, like: &Value) -> bool {
    match (value, like) {
        (Value::Integer(_) | Value::Float(_), Value::Integer(_) | Value::Float(_)) => true,
        (value, like) => value.same_type(like),
    }
}

/// All Lua files of a folder. Links are not followed: a plugin is what lies in its folder.
fn sources(folder: &Path) -> Result<BTreeMap<String, String>, String> {
    let mut files = BTreeMap::new();
    let mut room = LARGEST as usize;
    let mut open = vec![(folder.to_owned(), String::new(), 0)];
    while let Some((folder, prefix, depth)) = open.pop() {
        let entries = fs::read_dir(&folder).map_err(|error| reason(&error))?;
        for entry in entries.take(MOST_FILES * 16).flatten() {
            let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else { continue };
            let path = format!("{prefix}{name}");
            if kind.is_dir() && depth < DEEPEST && !name.starts_with('.') {
                open.push((entry.path(), format!("{path}/"), depth + 1));
            }
            let is_source = Path::new(&name).extension().is_some_and(|it| it == "lua" || it == "luau");
            if !kind.is_file() || !is_source {
                continue;
            }
            let source = read(&entry.path()).map_err(|error| format!("{path}: {error}"))?;
            room = room.checked_sub(source.len()).ok_or("its files are larger than 4 MiB together")?;
            files.insert(path, source);
            if files.len() > MOST_FILES {
                return Err(format!("it has more than {MOST_FILES} files"));
            }
        }
    }
    Ok(files)
}

fn read(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| reason(&error))?;
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| reason(&error))?;
    if bytes.len() as u64 > LARGEST {
        return Err("it is larger than 4 MiB".to_owned());
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        _ => error.to_string(),
    }
}
