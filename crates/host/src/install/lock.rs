//! The lock file: the installed plugins, their sources, and the hashes of their files.
//!
//! ```toml
//! version = 1
//!
//! [plugin.github]
//! version = "1.2.0"
//! source = "/home/ada/github"
//! sha256 = "…"
//! ```

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use crate::problem::Problem;
use crate::trust::disk::{read_private, write_private};

const NAME: &str = "plugins.lock";
const LARGEST: u64 = 4 << 20;

/// The installed plugins.
#[derive(Debug, Default)]
pub(super) struct Lock(BTreeMap<String, Locked>);

/// The record of one installed plugin.
#[derive(Clone, Debug)]
pub(super) struct Locked {
    pub(super) version: Option<String>,
    pub(super) source: String,
    pub(super) hash: String,
}

impl Lock {
    pub(super) fn read(data: &Path) -> Result<Self, Problem> {
        let path = data.join(NAME);
        let complain = |why: &str| Problem::of(path.display().to_string(), why);
        let bytes = match read_private(&path, LARGEST) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            read => read.map_err(|error| complain(&error.to_string()))?,
        };
        let damaged = || complain("it is damaged: remove it and add the plugins anew");
        let table: Table =
            String::from_utf8(bytes).ok().and_then(|text| text.parse().ok()).ok_or_else(damaged)?;
        let plugins = table.get("plugin").and_then(Value::as_table);
        let read = plugins.into_iter().flatten().map(|(name, entry)| {
            let text = |key: &str| Some(entry.get(key)?.as_str()?.to_owned());
            Some((
                name.clone(),
                Locked { version: text("version"), source: text("source")?, hash: text("sha256")? },
            ))
        });
        Ok(Self(read.collect::<Option<_>>().ok_or_else(damaged)?))
    }

    pub(super) fn get(&self, name: &str) -> Option<&Locked> {
        self.0.get(name)
    }

    /// Returns the record before.
    pub(super) fn insert(&mut self, name: &str, locked: Locked) -> Option<Locked> {
        self.0.insert(name.to_owned(), locked)
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    pub(super) fn write(&self, data: &Path) -> Result<(), Problem> {
        let entry = |locked: &Locked| {
            let mut table = Table::new();
            if let Some(version) = &locked.version {
                table.insert("version".to_owned(), Value::from(version.as_str()));
            }
            table.insert("source".to_owned(), Value::from(locked.source.as_str()));
            table.insert("sha256".to_owned(), Value::from(locked.hash.as_str()));
            Value::Table(table)
        };
        let plugins: Table = self.0.iter().map(|(name, locked)| (name.clone(), entry(locked))).collect();
        let table: Table =
            [("version".to_owned(), Value::Integer(1)), ("plugin".to_owned(), Value::Table(plugins))]
                .into_iter()
                .collect();
        let path: PathBuf = data.join(NAME);
        write_private(&path, table.to_string().as_bytes())
            .map_err(|error| Problem::of(path.display().to_string(), error.to_string()))
    }
}
