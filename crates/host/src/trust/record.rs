//! A trust record: one file for each project.
//!
//! ```toml
//! root = "/home/ada/shop"
//! standing = "trusted"              # or "denied"
//!
//! [file."streamfmt.toml"]
//! text = "…"                        # or `bytes`, in hexadecimal digits, if not a text
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use toml::{Table, Value};

use super::disk::{make_private_folder, read_private, write_private};
use super::{TrustEntry, hash_of};
use crate::problem::{Problem, ProblemKind};

/// Largest record, in bytes. It contains all files of a project.
const LARGEST: u64 = 256 << 20;

/// The file with the decision about one project.
pub(super) struct TrustRecord {
    pub(super) path: PathBuf,
}

impl TrustRecord {
    /// The record of the project in the folder `root`.
    pub(super) fn named(folder: &Path, root: &Path) -> Self {
        let name = hash_of([("", root.as_os_str().as_encoded_bytes())].into_iter());
        Self { path: folder.join(format!("{}.toml", &name[..32])) }
    }

    /// All records in `folder`.
    pub(super) fn all(folder: &Path) -> Vec<Self> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let is_record = |path: &PathBuf| {
            path.extension().is_some_and(|end| end == "toml")
                && path.file_name().is_some_and(|name| !name.as_encoded_bytes().starts_with(b"."))
        };
        let mut records: Vec<Self> = entries.filter(is_record).map(|path| Self { path }).collect();
        records.sort_by(|a, b| a.path.cmp(&b.path));
        records
    }

    /// Its decision, if it exists.
    pub(super) fn read(&self) -> Result<Option<TrustEntry>, Problem> {
        let bytes = match read_private(&self.path, LARGEST) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|error| self.problem(ProblemKind::Unreadable, &error))?,
        };
        let damaged = |why: &str| self.problem(ProblemKind::Damaged, &why);
        let text = String::from_utf8(bytes).map_err(|_| damaged("not UTF-8"))?;
        let table: Table = text.parse().map_err(|_| damaged("damaged"))?;
        parse(&table).map(Some).ok_or_else(|| damaged("damaged"))
    }

    pub(super) fn write(&self, entry: &TrustEntry) -> Result<(), Problem> {
        let root = entry.root.to_str();
        let unwritable = |why: &dyn std::fmt::Display| self.problem(ProblemKind::Unwritable, why);
        let root = root.ok_or_else(|| unwritable(&"the path of the project is not UTF-8"))?;
        let mut table = Table::new();
        table.insert("root".to_owned(), Value::from(root));
        let standing = if entry.files.is_some() { "trusted" } else { "denied" };
        table.insert("standing".to_owned(), Value::from(standing));
        let file = |bytes: &Arc<[u8]>| {
            let content = match std::str::from_utf8(bytes) {
                Ok(text) => ("text".to_owned(), Value::from(text)),
                Err(_) => ("bytes".to_owned(), Value::from(HEXLOWER.encode(bytes))),
            };
            Value::Table([content].into_iter().collect())
        };
        let files: Table =
            entry.files.iter().flatten().map(|(name, bytes)| (name.clone(), file(bytes))).collect();
        table.insert("file".to_owned(), Value::Table(files));
        let folder = self.path.parent().unwrap_or(Path::new(""));
        make_private_folder(folder)
            .and_then(|()| write_private(&self.path, table.to_string().as_bytes()))
            .map_err(|error| unwritable(&error))
    }

    /// Removes it. Returns whether it existed.
    pub(super) fn remove(&self) -> Result<bool, Problem> {
        match fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(self.problem(ProblemKind::Unwritable, &error)),
        }
    }

    fn problem(&self, kind: ProblemKind, why: &dyn std::fmt::Display) -> Problem {
        Problem::of(kind, self.path.display().to_string(), format!("ignoring this trust record: {why}"))
    }
}

fn parse(table: &Table) -> Option<TrustEntry> {
    let root = PathBuf::from(table.get("root")?.as_str()?);
    let files = match table.get("standing")?.as_str()? {
        "denied" => None,
        "trusted" => {
            Some(table.get("file")?.as_table()?.iter().map(file).collect::<Option<BTreeMap<_, _>>>()?)
        }
        _ => return None,
    };
    Some(TrustEntry { root, files })
}

fn file((name, content): (&String, &Value)) -> Option<(String, Arc<[u8]>)> {
    let bytes = match content.get("text") {
        Some(text) => text.as_str()?.as_bytes().to_vec(),
        None => HEXLOWER_PERMISSIVE.decode(content.get("bytes")?.as_str()?.as_bytes()).ok()?,
    };
    Some((name.clone(), bytes.into()))
}
