//! The lock file, which lists the installed plugins with their sources and the hashes of their files.
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
use std::path::Path;

use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::problem::{Problem, ProblemKind};
use crate::trust::disk::{read_private, write_private};

const NAME: &str = "plugins.lock";
const LARGEST: u64 = 4 << 20;

/// The installed plugins.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Lock {
    /// The plugins by name.
    #[serde(default)]
    pub(super) plugin: BTreeMap<String, Locked>,
}

/// The record of one installed plugin.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Locked {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<String>,
    pub(super) source: String,
    #[serde(rename = "sha256")]
    pub(super) hash: String,
}

impl Lock {
    pub(super) fn read(data: &Path) -> Result<Self, Problem> {
        let path = data.join(NAME);
        let complain = |kind, why: &str| Problem::of(kind, path.display().to_string(), why);
        let bytes = match read_private(&path, LARGEST) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            read => read.map_err(|error| complain(ProblemKind::Unreadable, &error.to_string()))?,
        };
        let lock = String::from_utf8(bytes).ok().and_then(|text| toml::from_str(&text).ok());
        lock.ok_or_else(|| {
            complain(ProblemKind::Damaged, "it is damaged: remove it and add the plugins anew")
        })
    }

    pub(super) fn write(&self, data: &Path) -> Result<(), Problem> {
        let path = data.join(NAME);
        let complain = |why: String| Problem::of(ProblemKind::Unwritable, path.display().to_string(), why);
        let mut table = Table::try_from(self).map_err(|error| complain(error.to_string()))?;
        table.insert("version".to_owned(), Value::Integer(1));
        write_private(&path, table.to_string().as_bytes()).map_err(|error| complain(error.to_string()))
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_list_over_the_limit_is_not_taken_for_an_empty_one() {
        let data = tempfile::TempDir::with_prefix("streamfmt-lock-").unwrap();
        let path = data.path().join(NAME);
        for (size, problem) in [(0, None), (LARGEST + 1, Some("too large"))] {
            let file = fs::File::create(&path).unwrap();
            file.set_permissions(fs::Permissions::from_mode(0o600)).unwrap();
            file.set_len(size).unwrap();
            let found = Lock::read(data.path()).err().map(|problem| problem.message);
            assert_eq!(found.as_deref(), problem, "{size}");
        }
    }
}
