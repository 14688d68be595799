//! Finds out what is wrong with the store.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::runs::side_files;
use super::{Store, StoreError, sql};
use crate::run_id::RunId;
use crate::session_paths::SessionPaths;
use crate::side_file::RunSideFile;

/// The most problems that are listed.
const MOST: usize = 100;

/// Something that is wrong with the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreProblem {
    /// The database is damaged. [`Store::repair`] mends it.
    Database(String),
    /// A side file is damaged or can't be read.
    SideFile(PathBuf),
}

impl fmt::Display for StoreProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database(problem) => write!(f, "the database: {problem}"),
            Self::SideFile(path) => write!(f, "{}: damaged or can't be read", path.display()),
        }
    }
}

impl Store {
    /// Returns what is wrong with the store of a data folder, at most 100 problems of the database, and whether there are more.
    /// Nothing is changed.
    pub fn check(data: &Path) -> Result<Vec<StoreProblem>, StoreError> {
        let path = data.join("sessions.db");
        let mut found = match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(StoreError::File(path, error)),
            Ok(about) if about.len() == 0 => vec!["the file is empty".to_owned()],
            Ok(_) => sql::problems_at(&path, MOST + 1)?,
        };
        if found.len() > MOST {
            found.truncate(MOST);
            found.push("there are more problems".to_owned());
        }
        let mut problems: Vec<StoreProblem> = found.into_iter().map(StoreProblem::Database).collect();
        let paths = SessionPaths { folder: data.join("sessions") };
        problems.extend(damaged_side_files(&paths).into_iter().map(StoreProblem::SideFile));
        Ok(problems)
    }
}

fn damaged_side_files(paths: &SessionPaths) -> Vec<PathBuf> {
    let is_damaged = |id: &RunId| match RunSideFile::read(&paths.side_file(id)) {
        Ok(side) => side.id != *id,
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    };
    side_files(paths).iter().filter(|id| is_damaged(id)).map(|id| paths.side_file(id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_problems_of_the_database_are_listed_and_it_is_stated_that_there_are_more() {
        for (rows, last) in
            [(100, "s-100: sessions.num_turns can't be decoded"), (101, "there are more problems")]
        {
            let folder = tempfile::TempDir::with_prefix("streamfmt-check-").unwrap();
            let store = Store::open(folder.path()).unwrap();
            for row in 1..=rows {
                store.database.execute(&format!(
                    "INSERT INTO sessions (id, status, started, num_turns) VALUES ('s-{row:03}', 'done', 1, -10)"
                ));
            }
            drop(store);
            let problems = Store::check(folder.path()).unwrap();
            assert_eq!(problems.last(), Some(&StoreProblem::Database(last.to_owned())));
            assert_eq!(problems.len(), rows);
        }
    }
}
