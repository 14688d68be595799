//! Finds out what is wrong with the store.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::runs::side_files;
use super::schema;
use super::tables::SqlTable;
use super::{Store, StoreError};
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
        let fail = |error: &rusqlite::Error| StoreError::of(&path, error);
        let found = match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(StoreError::File(path, error)),
            Ok(about) if about.len() == 0 => vec!["the file is empty".to_owned()],
            Ok(_) => {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
                let connection = Connection::open_with_flags(&path, flags).map_err(|error| fail(&error))?;
                match schema::version(&connection)
                    .and_then(|version| Ok((version, problems(&connection, MOST + 1)?)))
                {
                    Ok((version, _)) if version > schema::VERSION => return Err(StoreError::Newer(path)),
                    Ok((_, mut found)) => {
                        if found.len() > MOST {
                            found.truncate(MOST);
                            found.push("there are more problems".to_owned());
                        }
                        found
                    }
                    Err(error) if matches!(fail(&error), StoreError::Damaged(_)) => vec![error.to_string()],
                    Err(error) => return Err(fail(&error)),
                }
            }
        };
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

/// Returns what is wrong with a database, in as many lines at most: pages, indexes, the schema, and values that can't be decoded.
pub(super) fn problems(connection: &Connection, most: usize) -> rusqlite::Result<Vec<String>> {
    let version = schema::version(connection)?;
    if version > schema::VERSION {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare(&format!("PRAGMA integrity_check({most})"))?;
    let lines = statement.query_map([], |row| row.get(0))?;
    let mut found: Vec<String> = lines.collect::<Result<_, _>>()?;
    found.retain(|line| line != "ok");
    let right = schema::fresh(version)?;
    found.extend(missing(connection, &right)?);
    for table in SqlTable::all(&right)? {
        if found.len() < most {
            let undecodable = undecodable(connection, &table, most - found.len());
            found.extend(undecodable.unwrap_or_else(|error| vec![format!("{}: {error}", table.name)]));
        }
    }
    found.truncate(most);
    Ok(found)
}

/// Returns which tables and indexes are missing in a database, or defined in another way.
fn missing(connection: &Connection, right: &Connection) -> rusqlite::Result<Vec<String>> {
    let tables = SqlTable::all(connection)?;
    let mut found: Vec<String> = SqlTable::all(right)?
        .iter()
        .filter(|table| !tables.contains(table))
        .map(|table| format!("the table {} is missing or another one", table.name))
        .collect();
    let mut statement =
        right.prepare("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL")?;
    for name in statement.query_map([], |row| row.get(0))? {
        let name: String = name?;
        let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = ?1)";
        if !connection.query_row(sql, [&name], |row| row.get(0))? {
            found.push(format!("the index {name} is missing"));
        }
    }
    Ok(found)
}

/// Returns which rows of a table hold values that can't be decoded.
fn undecodable(connection: &Connection, table: &SqlTable, most: usize) -> rusqlite::Result<Vec<String>> {
    let names: Vec<&str> = table.columns.iter().map(|column| &*column.name).collect();
    let mut statement = connection.prepare(&format!("SELECT {} FROM {}", names.join(", "), table.name))?;
    let key = names.iter().position(|name| *name == table.key[0]).unwrap_or_default();
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while found.len() < most
        && let Some(row) = rows.next()?
    {
        for (at, column) in table.columns.iter().enumerate() {
            if !column.accepts(row.get_ref(at)?) {
                let id = row.get_ref(key)?.as_bytes().map(String::from_utf8_lossy).unwrap_or_default();
                found.push(format!("{id}: {}.{} can't be decoded", table.name, column.name));
            }
        }
        found.dedup();
    }
    Ok(found)
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
                let sql = "INSERT INTO sessions (id, status, started, num_turns) VALUES (?1, 'done', 1, -10)";
                store.connection.execute(sql, [format!("s-{row:03}")]).unwrap();
            }
            drop(store);
            let problems = Store::check(folder.path()).unwrap();
            assert_eq!(problems.last(), Some(&StoreProblem::Database(last.to_owned())));
            assert_eq!(problems.len(), rows);
        }
    }
}
