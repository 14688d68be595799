//! The dialects, writers and accumulators that a plugin registers: reads the tables that describe them.

use mlua::{Function, Table, Value};
use streamfmt_core::entry::Block;

use super::item::{self, a_type};
use crate::plugin::WriterName;
use crate::writers;

/// The name that disables record views, and that no accumulator may have.
const NONE: &str = "none";

/// The parts that a script may write besides blocks: a heading of Markdown, and the parts around blocks.
const OTHER_PARTS: [&str; 5] = ["begin", "finish", "entry", "title", "heading"];
/// A dialect that a plugin registered.
#[derive(Clone)]
pub(crate) struct DialectRegistration {
    pub(crate) name: String,
    pub(crate) detect: Option<Function>,
    pub(crate) parse: Function,
    pub(crate) finish: Option<Function>,
    pub(crate) ends_with_outcome: bool,
}

impl DialectRegistration {
    /// Reads `sf.dialect(name, spec)`.
    pub(crate) fn read(name: &str, spec: &Table) -> Result<Self, String> {
        check_name(name, "dialect")?;
        let function = |key| function_of(spec, key);
        check_keys(spec, &["detect", "parse", "finish", "ends_with_outcome"])?;
        let Some(parse) = function("parse")? else {
            return Err("a dialect needs a function parse".to_owned());
        };
        let ends_with_outcome = match spec.raw_get("ends_with_outcome") {
            Ok(Value::Nil) => false,
            Ok(Value::Boolean(ends)) => ends,
            Ok(other) => {
                return Err(format!("ends_with_outcome: expected true or false, not {}", a_type(&other)));
            }
            Err(error) => return Err(error.to_string()),
        };
        let (detect, finish) = (function("detect")?, function("finish")?);
        Ok(Self { name: name.to_owned(), detect, parse, finish, ends_with_outcome })
    }
}

/// The names of all parts that a script may write.
fn writer_parts() -> impl Iterator<Item = &'static str> {
    OTHER_PARTS.into_iter().chain(Block::TYPES.iter().copied())
}

/// A writer that a plugin registered.
#[derive(Clone)]
pub(crate) struct WriterRegistration {
    /// Its name and properties, as other modules see them.
    pub(crate) known: WriterName,
    parts: Vec<(&'static str, Function)>,
    pub(crate) spans: Vec<(String, Function)>,
}

impl WriterRegistration {
    /// The roles whose spans it writes.
    pub(crate) fn roles(&self) -> impl Iterator<Item = &str> {
        self.spans.iter().map(|(role, _)| role.as_str())
    }

    /// Its first function in the source, if any.
    pub(crate) fn first(&self) -> Option<&Function> {
        let spans = self.spans.iter().map(|(_, function)| function);
        let line = |function: &&Function| function.info().line_defined;
        self.parts.iter().map(|(_, function)| function).chain(spans).min_by_key(line)
    }

    /// Reads `sf.writer(name, spec)`.
    pub(crate) fn read(name: &str, spec: &Table) -> Result<Self, String> {
        check_name(name, "writer")?;
        let known: Vec<&'static str> =
            ["base", "ext", "log", "span"].into_iter().chain(writer_parts()).collect();
        check_keys(spec, &known)?;
        let get = |key: &str| spec.raw_get::<Value>(key).map_err(|error| error.to_string());
        let word = |key: &str, otherwise: &str| match get(key)? {
            Value::Nil => Ok(otherwise.to_owned()),
            Value::String(text) => Ok(text.to_string_lossy()),
            other => Err(format!("{key} is a text, not {}", a_type(&other))),
        };
        let (base, ext) = (word("base", "text")?, word("ext", "txt")?);
        if !writers::find(&base).is_some_and(|row| row.is_base) {
            let bases = writers::WRITERS.iter().filter(|row| row.is_base).map(|row| row.name);
            let hint = crate::problem::suggestion(&base, bases);
            return Err(format!("a writer can't be based on \"{base}\" {hint}"));
        }
        check_name(&ext, "file ending")?;
        let is_log = match get("log")? {
            Value::Nil => false,
            Value::Boolean(is_log) => is_log,
            other => return Err(format!("log is true or false, not {}", a_type(&other))),
        };
        let mut parts = Vec::new();
        for part in writer_parts() {
            parts.extend(function_of(spec, part)?.map(|function| (part, function)));
        }
        let no_spans = || "span is a table of roles and functions".to_owned();
        let spans = match get("span")? {
            Value::Nil => Vec::new(),
            Value::Table(table) => table.pairs().collect::<mlua::Result<_>>().map_err(|_| no_spans())?,
            _ => return Err(no_spans()),
        };
        let known = WriterName { name: name.to_owned(), base, ending: ext, is_log };
        Ok(Self { known, parts, spans })
    }

    pub(crate) fn part(&self, name: &str) -> Option<&Function> {
        self.parts.iter().find(|(known, _)| *known == name).map(|(_, function)| function)
    }

    /// The function for a role, or else for its nearest parent role.
    pub(crate) fn span(&self, role: &str) -> Option<&Function> {
        let mut role = role;
        loop {
            if let Some((_, function)) = self.spans.iter().find(|(known, _)| known == role) {
                return Some(function);
            }
            role = &role[..role.rfind('.')?];
        }
    }
}

/// An accumulator that a plugin registered.
#[derive(Clone)]
pub(crate) struct RecordsRegistration {
    pub(crate) name: String,
    pub(crate) begin: Option<Function>,
    pub(crate) add: Function,
    pub(crate) view: Function,
}

impl RecordsRegistration {
    /// Reads `sf.records(name, spec)`.
    pub(crate) fn read(name: &str, spec: &Table) -> Result<Self, String> {
        check_name(name, "accumulator")?;
        if name == NONE {
            return Err(format!("{NONE} is the word for no accumulator"));
        }
        check_keys(spec, &["begin", "add", "view"])?;
        let needed = |key| {
            function_of(spec, key)?
                .ok_or_else(|| format!("an accumulator needs the functions add and view; there is no {key}"))
        };
        Ok(Self {
            name: name.to_owned(),
            begin: function_of(spec, "begin")?,
            add: needed("add")?,
            view: needed("view")?,
        })
    }
}

/// Checks the name of a dialect, writer or accumulator: it must be usable in a command-line option.
pub(crate) fn check_name(name: &str, what: &str) -> Result<(), String> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if name.is_empty() || name.len() > 64 || !name.bytes().all(is_name) || name == "auto" {
        let article = if what.starts_with('a') { "an" } else { "a" };
        return Err(format!("the name of {article} {what} is made of letters, digits, - and _"));
    }
    Ok(())
}

/// The function under a key of a table, or `None` if the key is absent.
pub(crate) fn function_of(table: &Table, key: &str) -> Result<Option<Function>, String> {
    match table.raw_get(key) {
        Ok(Value::Function(function)) => Ok(Some(function)),
        Ok(Value::Nil) => Ok(None),
        Ok(other) => Err(format!("{key} is a function, not {}", item::a_type(&other))),
        Err(error) => Err(error.to_string()),
    }
}

/// Checks that a table has no keys but these.
pub(crate) fn check_keys(table: &Table, known: &[&'static str]) -> Result<(), String> {
    for pair in table.pairs::<Value, Value>() {
        let key = pair.and_then(|(key, _)| key.to_string()).map_err(|error| error.to_string())?;
        if !known.contains(&key.as_str()) {
            let hint = crate::problem::suggestion(&key, known.iter().copied());
            return Err(format!("unknown field \"{key}\" {hint}"));
        }
    }
    Ok(())
}
