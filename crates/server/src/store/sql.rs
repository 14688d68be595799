//! The database: all SQL of the store, a function for each query. No other module sees a type of `SQLite`.
//!
//! Values are bound parameters, and rows are read by the names of their columns.

mod database_session;
mod figures;
mod file;
mod ledgers;
#[cfg(unix)]
mod node_table;
mod problems;
mod salvage;
mod schema;
mod sessions;
mod sources;
mod tables;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Params, Row};

use super::StoreError;

pub(super) use database_session::{
    DatabaseSession, MOST_SESSIONS, is_database, is_named_as_database, read_only,
};
pub(super) use file::{Replaced, lock, lock_imports, moved_aside, replace};
#[cfg(unix)]
pub(crate) use node_table::{NodeTable, TableNode};
pub(super) use problems::problems_at;
pub(super) use salvage::Salvage;
pub(super) use schema::READ_BEFORE;

/// How long a statement waits for another process.
const PATIENCE: Duration = Duration::from_secs(10);

/// An open database. Within [`Self::transaction`], its functions belong to the transaction.
#[derive(Debug)]
pub(super) struct Database {
    connection: Connection,
    path: PathBuf,
    /// The ids of sessions of which something couldn't be decoded.
    undecoded: RefCell<BTreeSet<String>>,
}

impl Database {
    fn new(connection: Connection, path: &Path) -> Self {
        Self { connection, path: path.to_owned(), undecoded: RefCell::default() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Calls a function in a transaction, which is undone if the function fails.
    pub(super) fn transaction<T>(
        &self,
        act: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let transaction = self.connection.unchecked_transaction().map_err(|error| self.failure(&error))?;
        let done = act()?;
        transaction.commit().map_err(|error| self.failure(&error))?;
        Ok(done)
    }

    /// Returns the ids of sessions of which something couldn't be decoded since the last call.
    pub(super) fn take_undecoded(&self) -> BTreeSet<String> {
        self.undecoded.take()
    }

    /// Reads the first row of a query, if there is one.
    fn first<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let first =
            self.connection.prepare_cached(sql).and_then(|mut it| it.query_row(values, read).optional());
        first.map_err(|error| self.failure(&error))
    }

    /// Reads all rows of a query.
    fn all<T, C: FromIterator<T>>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<C, StoreError> {
        let all =
            self.connection.prepare_cached(sql).and_then(|mut it| it.query_map(values, read)?.collect());
        all.map_err(|error| self.failure(&error))
    }

    /// Reads the rows of a query until `take` returns false.
    fn each<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
        mut take: impl FnMut(T) -> bool,
    ) -> Result<(), StoreError> {
        let read = self.connection.prepare_cached(sql).and_then(|mut statement| {
            for row in statement.query_map(values, read)? {
                if !take(row?) {
                    break;
                }
            }
            Ok(())
        });
        read.map_err(|error| self.failure(&error))
    }

    /// Executes a statement, and returns the number of rows that it changed.
    fn change(&self, sql: &str, values: impl Params) -> Result<usize, StoreError> {
        let changed = self.connection.prepare_cached(sql).and_then(|mut it| it.execute(values));
        changed.map_err(|error| self.failure(&error))
    }

    /// Executes statements.
    #[cfg(test)]
    pub(super) fn execute(&self, sql: &str) {
        self.connection.execute_batch(sql).unwrap();
    }

    /// Returns the text that a query selects, or an empty one.
    #[cfg(test)]
    pub(super) fn text(&self, sql: &str) -> String {
        let text: Option<Option<String>> = self.first(sql, [], |row| row.get(0)).unwrap();
        text.flatten().unwrap_or_default()
    }

    fn failure(&self, error: &rusqlite::Error) -> StoreError {
        failure(&self.path, error)
    }

    /// Returns what was read of a session. `None` if it can't be decoded, which is noted.
    fn decodable<T>(&self, id: &str, read: rusqlite::Result<T>) -> rusqlite::Result<Option<T>> {
        match read {
            Err(error) if is_undecodable(&error) => {
                self.undecoded.borrow_mut().insert(id.to_owned());
                Ok(None)
            }
            read => read.map(Some),
        }
    }
}

/// Returns the error of the database at a path.
fn failure(path: &Path, error: &rusqlite::Error) -> StoreError {
    if is_damage(error) {
        return StoreError::Damaged(path.to_owned());
    }
    if error.sqlite_error_code() == Some(ErrorCode::DiskFull) {
        return StoreError::Full(path.to_owned());
    }
    let reason = match error {
        rusqlite::Error::SqliteFailure(code, None) => {
            rusqlite::ffi::code_to_str(code.extended_code).to_owned()
        }
        rusqlite::Error::SqliteFailure(_, Some(reason)) => reason.clone(),
        error => error.to_string(),
    };
    StoreError::Database(path.to_owned(), reason)
}

/// Whether the error is that the file isn't a sound database of ours: pages or values that can't be read, or another schema, where no
/// statement fits. Only then is it replaced, unless [`problems::problems`] finds nothing.
fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::Error;
    match error {
        Error::SqliteFailure(code, _) => {
            matches!(code.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
                || code.extended_code == rusqlite::ffi::SQLITE_ERROR
        }
        Error::SqlInputError { .. } | Error::InvalidColumnType(..) => true,
        error => is_undecodable(error),
    }
}

/// Whether the error is that a value can't be decoded, although it has the right type.
fn is_undecodable(error: &rusqlite::Error) -> bool {
    use rusqlite::Error;
    matches!(
        error,
        Error::Utf8Error(..) | Error::IntegralValueOutOfRange(..) | Error::FromSqlConversionFailure(..)
    )
}

/// Converts a time for the database.
fn nanoseconds(time: Timestamp) -> i64 {
    i64::try_from(time.as_nanosecond()).unwrap_or(if time.as_second() < 0 { i64::MIN } else { i64::MAX })
}

fn time(nanoseconds: i64) -> Timestamp {
    Timestamp::from_nanosecond(nanoseconds.into()).unwrap_or_default()
}

/// Converts a value for a column of JSON.
fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Reads a column of JSON.
fn parsed<T: Default + serde::de::DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<T> {
    let text: Option<String> = row.get(column)?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
}
