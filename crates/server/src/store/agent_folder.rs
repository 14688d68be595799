//! The folders in which agents keep their sessions: those that can be imported.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use streamfmt::core::figures::count_of;
use streamfmt::dialect::DIALECTS;
use streamfmt::histories::{cleanup_days, is_named_as_session};
use streamfmt::side_files::{holds_side_files, is_named_as_side_file};

use super::import::DEEPEST;
use super::sql::is_named_as_database;

/// How long the folders of all agents are searched for a count.
const COUNTING: Duration = Duration::from_millis(300);

/// A folder in which an agent keeps its sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFolder {
    /// The name of the agent's dialect.
    pub agent: &'static str,
    /// The path of the folder, which may not exist.
    pub path: PathBuf,
    /// The agent's own folder, with its settings.
    pub product: PathBuf,
}

impl AgentFolder {
    /// Returns how the agent deletes old sessions from the folder by itself, if it does.
    pub fn cleanup(&self) -> Option<AgentCleanup> {
        let cleanup = DIALECTS.find(self.agent)?.histories.as_ref()?.cleanup?;
        let settings = self.product.join(cleanup.settings);
        Some(AgentCleanup { days: cleanup_days(&self.product, &cleanup), settings, key: cleanup.key })
    }
}

/// How an agent deletes old sessions by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentCleanup {
    /// The days after which a session is deleted.
    pub days: u64,
    /// The file in which that can be set.
    pub settings: PathBuf,
    /// The name of the setting.
    pub key: &'static str,
}

/// The number of sessions in an agent's folder, by the names of its files. `Display` writes it without the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentSessions {
    /// The folder.
    pub folder: AgentFolder,
    /// The number of files with the name of a session.
    pub files: u64,
    /// The number of databases, whose sessions aren't counted.
    pub databases: u64,
    /// Whether the whole folder was searched. Otherwise there may be more.
    pub is_whole: bool,
}

impl AgentSessions {
    /// Counts the sessions in folders, within a short time. Folders without any are left out.
    pub fn in_folders(folders: &[AgentFolder]) -> Vec<Self> {
        let end = Instant::now() + COUNTING;
        let counts = folders.iter().map(|folder| {
            let mut count = Self { folder: folder.clone(), files: 0, databases: 0, is_whole: true };
            count.add(&folder.path, DEEPEST, end);
            count
        });
        counts.filter(|count| count.files + count.databases > 0).collect()
    }

    fn add(&mut self, folder: &Path, depth: usize, end: Instant) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            if Instant::now() >= end {
                self.is_whole = false;
                return;
            }
            let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else { continue };
            let name = name.to_str().unwrap_or_default();
            if kind.is_dir() && depth > 0 && !holds_side_files(name) {
                self.add(&entry.path(), depth - 1, end);
            } else if kind.is_file() && is_named_as_database(name.as_ref()) {
                self.databases += 1;
            } else if kind.is_file() && is_named_as_session(name.as_ref()) && !is_named_as_side_file(name) {
                self.files += 1;
            }
        }
    }
}

impl fmt::Display for AgentSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at_least = if self.is_whole { "" } else { "at least " };
        let counts = [
            (self.files, count_of(self.files, "session", "sessions")),
            (self.databases, count_of(self.databases, "database of sessions", "databases of sessions")),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts: Vec<&str> = counts.map(|(_, text)| text.as_str()).collect();
        write!(f, "{}: {at_least}{}", self.folder.agent, counts.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_counted_by_their_names_until_the_time_is_over() {
        let root = tempfile::TempDir::with_prefix("streamfmt-agent-").unwrap();
        let write = |name: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        for name in ["a/1.jsonl", "a/2.jsonl.gz", "a/1/subagents/agent-3.jsonl", "a/agent-4.jsonl", "a/x.txt"]
        {
            write(name);
        }
        let folder = |agent, name: &str| AgentFolder {
            agent,
            path: root.path().join(name),
            product: root.path().to_owned(),
        };
        let count = |name| AgentSessions::in_folders(&[folder("claude", "none"), folder("claude", name)]);
        let text = |name| count(name).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(text("a"), ["claude: 2 sessions"]);
        write("b/opencode.db");
        assert_eq!(text("b"), ["claude: 1 database of sessions"]);
        let mut cut = count("a").remove(0);
        cut.add(&root.path().join("b"), 1, Instant::now());
        assert_eq!(cut.to_string(), "claude: at least 2 sessions");
    }
}
