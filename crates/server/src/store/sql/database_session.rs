//! Reads sessions from the databases of agents, which are never changed.
//!
//! The row of a dialect contains the queries. A query that fails shows that the layout of a database is another one, or that it is damaged.
//! Everything in it is foreign, even its schema.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row};
use streamfmt::core::dialect::SessionDatabase;
use streamfmt::core::frame::MAX_LINE;
use streamfmt::dialect::DIALECTS;

use super::file::with_ending;

/// The beginning of every database.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// The offset of a byte that is 2 if a database has a write-ahead log.
const READ_VERSION: usize = 19;
/// How long a query waits for the agent.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest id.
const LONGEST_ID: usize = 128;
/// The most sessions that are read from a database.
pub(crate) const MOST_SESSIONS: usize = 1 << 20;

/// A session in the database of an agent.
#[derive(Clone, Debug)]
pub(crate) struct DatabaseSession {
    database: PathBuf,
    id: String,
}

/// A database that is open for reading.
pub(crate) struct ReadOnlyDatabase {
    connection: Connection,
    layout: &'static SessionDatabase,
}

/// The layouts that the dialects know.
fn layouts() -> impl Iterator<Item = &'static SessionDatabase> {
    DIALECTS.rows.iter().filter_map(|dialect| dialect.database.as_ref())
}

/// Whether a file has the name of an agent's database.
pub(crate) fn is_named_as_database(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| layouts().any(|layout| (layout.is_named)(name)))
}

/// Whether a file is a database, by its beginning.
pub(crate) fn is_database(path: &Path) -> bool {
    header(path).is_ok_and(|header| header.starts_with(MAGIC))
}

fn header(path: &Path) -> io::Result<Vec<u8>> {
    let mut header = Vec::new();
    File::open(path)?.take(READ_VERSION as u64 + 1).read_to_end(&mut header)?;
    Ok(header)
}

/// Opens a database with a known layout. Nothing is written, also not beside it.
pub(crate) fn read_only(path: &Path) -> io::Result<ReadOnlyDatabase> {
    let header = header(path)?;
    if !header.starts_with(MAGIC) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "isn't a database"));
    }
    let connection = connect(path, &header).map_err(|error| unreadable(&error))?;
    let mut layouts = layouts().peekable();
    while let Some(layout) = layouts.next() {
        let queries = [layout.sessions, layout.below, layout.changed, layout.records, layout.record];
        match queries.iter().try_for_each(|query| connection.prepare(query).map(drop)) {
            Ok(()) => return Ok(ReadOnlyDatabase { connection, layout }),
            Err(_) if layouts.peek().is_some() => {}
            Err(error) => return Err(unknown_layout(&error)),
        }
    }
    Err(io::ErrorKind::Unsupported.into())
}

/// Connects to a database. One that no program has open is read as a file that doesn't change: otherwise `SQLite` would create files
/// beside it.
fn connect(path: &Path, header: &[u8]) -> rusqlite::Result<Connection> {
    let is_logged = header.get(READ_VERSION) == Some(&2);
    let is_open = with_ending(path, "-wal").exists() || with_ending(path, "-shm").exists();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = if is_logged && !is_open {
        let address = format!("file:{}?immutable=1", escaped(path));
        Connection::open_with_flags(address, flags | OpenFlags::SQLITE_OPEN_URI)?
    } else {
        Connection::open_with_flags(path, flags)?
    };
    connection.busy_timeout(PATIENCE)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // What a view selects could have no end.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, i32::try_from(MAX_LINE).unwrap_or(i32::MAX))?;
    Ok(connection)
}

/// A path in the form of an address.
fn escaped(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/-_.:\\".contains(byte);
    let text = bytes.iter().map(|byte| match byte {
        b'\\' if cfg!(windows) => "/".to_owned(),
        byte if is_plain(byte) && *byte != b'\\' => char::from(*byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    let root = if cfg!(windows) { "/" } else { "" };
    text.fold(root.to_owned(), |text, part| text + &part)
}

fn unreadable(error: &rusqlite::Error) -> io::Error {
    io::Error::other(format!("the database can't be read: {error}"))
}

fn unknown_layout(error: &rusqlite::Error) -> io::Error {
    let exports: Vec<&str> = layouts().map(|layout| layout.export).collect();
    let exports = exports.join(", or ");
    let reason = match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::Unknown) => "isn't the database of a known agent, or of another version",
        _ => return unreadable(error),
    };
    let message = format!("{reason} ({error}); import what the agent itself exports ({exports})");
    io::Error::new(io::ErrorKind::Unsupported, message)
}

impl ReadOnlyDatabase {
    /// Returns the paths of at most `most` sessions in the database at a path, and the number of further ones. Those with an id that
    /// can't be part of a path are left out.
    pub(crate) fn sessions(&self, database: &Path, most: usize) -> io::Result<(Vec<PathBuf>, usize)> {
        let mut statement =
            self.connection.prepare(self.layout.sessions).map_err(|error| unreadable(&error))?;
        let mut rows =
            statement.query_map([], |row| row.get::<_, String>(0)).map_err(|error| unreadable(&error))?;
        let ids = rows.by_ref().take(most).filter(|row| row.as_ref().map_or(true, |id| is_id(id)));
        let paths: io::Result<Vec<PathBuf>> =
            ids.map(|id| Ok(database.join(id.map_err(|error| unreadable(&error))?))).collect();
        Ok((paths?, rows.count()))
    }

    /// Returns the first row of a query about a session.
    fn first<T>(
        &self,
        query: &str,
        id: &str,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> io::Result<Option<T>> {
        let first = self.connection.query_row(query, [id], read).optional();
        first.map_err(|error| unreadable(&error))
    }
}

impl DatabaseSession {
    /// The session at a path, if this is one below a file.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        let id = path.file_name()?.to_str().filter(|id| is_id(id))?;
        let database = path.parent().filter(|database| database.is_file())?;
        Some(Self { database: database.to_owned(), id: id.to_owned() })
    }

    /// Another session of the same database.
    pub(crate) fn beside(&self, id: String) -> Self {
        Self { database: self.database.clone(), id }
    }

    /// Returns its path, without links.
    pub(crate) fn real_path(&self) -> io::Result<PathBuf> {
        Ok(self.database.canonicalize()?.join(&self.id))
    }

    pub(crate) fn database(&self) -> &Path {
        &self.database
    }

    pub(crate) fn exists(&self) -> io::Result<bool> {
        let database = read_only(&self.database)?;
        Ok(database.first(database.layout.records, &self.id, |_| Ok(()))?.is_some())
    }

    /// Returns a time in nanoseconds since 1970 that changes with each change of it: that of its last change, and its length in the
    /// digits that the agent leaves out.
    pub(crate) fn changed(&self) -> io::Result<i64> {
        let database = read_only(&self.database)?;
        let read = |row: &Row<'_>| Ok((row.get::<_, Option<i64>>("changed")?, row.get::<_, i64>("entries")?));
        let (at, count) = database.first(database.layout.changed, &self.id, read)?.unwrap_or_default();
        Ok(at.unwrap_or_default().saturating_mul(1_000_000).saturating_add(count % 1_000_000))
    }

    /// Returns the ids of the sessions below it.
    pub(crate) fn below(&self, database: &ReadOnlyDatabase) -> rusqlite::Result<BTreeSet<String>> {
        let mut statement = database.connection.prepare(database.layout.below)?;
        let rows = statement.query_map([&self.id], |row| row.get::<_, String>(0))?;
        // An id that isn't plain could lead elsewhere.
        rows.filter(|id| id.as_ref().map_or(true, |id| is_id(id))).take(MOST_SESSIONS).collect()
    }

    /// Writes its records to an unnamed file, a line each, and returns it. In the place of a record that can't be read, there is a line of
    /// text.
    pub(crate) fn spool(&self, database: &ReadOnlyDatabase) -> io::Result<File> {
        let fail = |error: rusqlite::Error| unreadable(&error);
        let transaction = database.connection.unchecked_transaction().map_err(fail)?;
        let mut keys = transaction.prepare(database.layout.records).map_err(fail)?;
        let mut record = transaction.prepare(database.layout.record).map_err(fail)?;
        let mut keys = keys.query([&self.id]).map_err(fail)?;
        let mut out = BufWriter::new(tempfile::tempfile()?);
        let mut is_empty = true;
        loop {
            let key = match keys.next().and_then(|row| row.map(|row| row.get::<_, String>(0)).transpose()) {
                Ok(None) => break,
                Ok(Some(key)) => key,
                Err(error) if is_empty => return Err(unreadable(&error)),
                Err(error) => {
                    writeln!(out, "The rest of the session can't be read: {error}")?;
                    break;
                }
            };
            is_empty = false;
            let written = record.query_row([&key], |row| {
                let record = row.get_ref(0)?.as_bytes().unwrap_or_default();
                Ok(out.write_all(record).and_then(|()| out.write_all(b"\n")))
            });
            match written {
                Ok(written) => written?,
                Err(error) => writeln!(out, "The record {} can't be read: {error}", key.escape_default())?,
            }
        }
        if is_empty {
            return Err(io::ErrorKind::NotFound.into());
        }
        let mut file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        Ok(file)
    }
}

/// Whether an id can be part of a path: it leads nowhere else.
fn is_id(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_beyond_the_most_are_counted() {
        let connection = Connection::open_in_memory().unwrap();
        let tables = "CREATE TABLE session (id TEXT, parent_id TEXT, time_created INTEGER);
            CREATE TABLE part (session_id TEXT, data TEXT);
            INSERT INTO session VALUES ('c', NULL, 3), ('a', NULL, 1), ('..', NULL, 0), ('b', NULL, 2);";
        connection.execute_batch(tables).unwrap();
        let open = ReadOnlyDatabase { connection, layout: layouts().next().unwrap() };
        for (most, ids, left) in [(4, "abc", 0), (3, "ab", 1), (2, "a", 2)] {
            let (paths, more) = open.sessions(Path::new(""), most).unwrap();
            let found: String = paths.iter().map(|path| path.display().to_string()).collect();
            assert_eq!((found.as_str(), more), (ids, left), "{most}");
        }
    }

    #[test]
    fn an_id_is_plain_and_not_long() {
        for (id, is_right) in [
            ("x".repeat(128), true),
            ("x".repeat(129), false),
            ("ses_A-1".to_owned(), true),
            (String::new(), false),
            ("..".to_owned(), false),
            ("a/b".to_owned(), false),
        ] {
            assert_eq!(is_id(&id), is_right, "{id}");
        }
    }
}
