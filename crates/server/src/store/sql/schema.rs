//! The schema of the database, as numbered migrations. A released migration is never edited; a change is a new one.

use rusqlite::{Connection, TransactionBehavior};
use rusqlite_migration::{M, Migrations};

/// The newest version of the schema.
pub(super) const VERSION: usize = MIGRATIONS.len();

/// The migrations, one for each version.
const MIGRATIONS: &[M<'static>] = &[
    M::up(SOURCES),
    M::up(OUTCOME),
    M::up(USAGE),
    M::up(RESUMED),
    M::up(COPIES),
    M::up(RESUMING),
    M::up(LEDGERS),
    M::up(FOLDERS),
];

/// Sessions, and the files that they are read from. Times are nanoseconds since 1970, in UTC.
const SOURCES: &str = "
CREATE TABLE sessions (
    id TEXT NOT NULL PRIMARY KEY,
    agent_session TEXT,
    resumes TEXT,
    agent TEXT,
    model TEXT,
    title TEXT,
    folder TEXT,
    command TEXT,
    labels TEXT,
    status TEXT NOT NULL,
    started INTEGER NOT NULL,
    ended INTEGER,
    exit TEXT,
    pid INTEGER,
    pid_start INTEGER,
    boot TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_time ON sessions (started, id);
CREATE INDEX sessions_by_agent_session ON sessions (agent_session);
CREATE TABLE sources (
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    kind TEXT NOT NULL,
    start INTEGER NOT NULL,
    size INTEGER,
    errors TEXT,
    gaps TEXT,
    mtime INTEGER,
    gone INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (session, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX sources_by_path ON sources (path, start);
";

/// The figures that the stream reports at its end. The `counted` columns hold figures as reported by the agent, which may include those
/// of a resumed run; the others hold those of this run alone.
const OUTCOME: &str = "
ALTER TABLE sessions ADD COLUMN response TEXT;
ALTER TABLE sessions ADD COLUMN error TEXT;
ALTER TABLE sessions ADD COLUMN num_turns INTEGER;
ALTER TABLE sessions ADD COLUMN duration_ms INTEGER;
ALTER TABLE sessions ADD COLUMN cost_usd REAL;
ALTER TABLE sessions ADD COLUMN cost_counted REAL;
ALTER TABLE sessions ADD COLUMN api_ms INTEGER;
ALTER TABLE sessions ADD COLUMN api_counted INTEGER;
ALTER TABLE sessions ADD COLUMN tokens_input INTEGER;
ALTER TABLE sessions ADD COLUMN tokens_output INTEGER;
ALTER TABLE sessions ADD COLUMN tokens_cache_read INTEGER;
ALTER TABLE sessions ADD COLUMN tokens_cache_write INTEGER;
";

/// Tokens by model and kind, and calls by tool.
const USAGE: &str = "
ALTER TABLE sessions ADD COLUMN fresh_model TEXT;
CREATE TABLE usage (
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    model TEXT NOT NULL,
    kind TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    counted INTEGER,
    PRIMARY KEY (session, model, kind)
) STRICT, WITHOUT ROWID;
CREATE TABLE calls (
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    tool TEXT NOT NULL,
    calls INTEGER NOT NULL,
    PRIMARY KEY (session, tool)
) STRICT, WITHOUT ROWID;
";

/// The session of the agent that a run resumed, and the tokens that it had counted before this run.
const RESUMED: &str = "
ALTER TABLE sessions ADD COLUMN parent_session TEXT;
ALTER TABLE sessions DROP COLUMN fresh_model;
CREATE INDEX sessions_by_parent ON sessions (parent_session) WHERE parent_session IS NOT NULL;
ALTER TABLE usage ADD COLUMN base INTEGER;
";

/// What shows that a session is a copy of another: the first message that it counted, and the hashes of all of them, eight bytes each.
/// Histories that an older version imported are read again ([`READ_BEFORE`]); without a title and a file, they were empty.
const COPIES: &str = "
ALTER TABLE sessions ADD COLUMN first_message INTEGER;
CREATE INDEX sessions_by_first_message ON sessions (first_message) WHERE first_message IS NOT NULL;
CREATE TABLE messages (
    session TEXT NOT NULL PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    hashes BLOB NOT NULL
) STRICT;
UPDATE sessions SET status = 'empty' WHERE status = 'done' AND title IS NULL AND command IS NULL AND response IS NULL
    AND num_turns IS NULL AND NOT EXISTS (SELECT 1 FROM sources WHERE session = id AND kind = 'run');
UPDATE sources SET mtime = -1 WHERE kind = 'history' AND mtime IS NOT NULL;
";

/// Finds the sessions that resume a session, which is removed.
const RESUMING: &str = "CREATE INDEX sessions_by_resumes ON sessions (resumes) WHERE resumes IS NOT NULL;";

/// What each file of a session used, entry by entry, and where the session ran. All files are read again for it.
const LEDGERS: &str = "
ALTER TABLE sessions ADD COLUMN host TEXT;
ALTER TABLE sessions ADD COLUMN repo TEXT;
ALTER TABLE sessions ADD COLUMN failed_calls INTEGER;
CREATE TABLE ledgers (
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    changed INTEGER NOT NULL,
    entries BLOB NOT NULL,
    PRIMARY KEY (session, path)
) STRICT;
CREATE INDEX ledgers_by_path ON ledgers (path);
UPDATE sources SET mtime = -1 WHERE kind = 'history' AND mtime IS NOT NULL;
UPDATE sources SET mtime = NULL WHERE kind = 'run' AND NOT gone;
";

/// The folders that were imported, in which new and grown histories may be looked for.
const FOLDERS: &str = "CREATE TABLE folders (path TEXT NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;";

/// The time of the last change of a history that an older version read.
pub(crate) const READ_BEFORE: i64 = -1;

/// Returns the version of a database.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<usize> {
    connection.pragma_query_value(None, "user_version", |row| row.get("user_version"))
}

/// Returns an empty database of a version, in memory.
pub(super) fn fresh(version: usize) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    let migrated = Migrations::from_slice(MIGRATIONS).to_version(&mut connection, version);
    migrated.map_err(failure)?;
    Ok(connection)
}

/// Migrates a database to the newest version, in one transaction. Another process may do the same at the same time.
pub(super) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.set_transaction_behavior(TransactionBehavior::Immediate);
    loop {
        let before = version(connection)?;
        if before >= VERSION {
            return Ok(());
        }
        match Migrations::from_slice(MIGRATIONS).to_latest(connection) {
            Ok(()) => return Ok(()),
            // The version was read before the transaction began: another process was faster, and the failed migration was rolled back.
            Err(_) if version(connection)? > before => {}
            Err(error) => return Err(failure(error)),
        }
    }
}

fn failure(error: rusqlite_migration::Error) -> rusqlite::Error {
    match error {
        rusqlite_migration::Error::RusqliteError { err, .. } => err,
        error => rusqlite::Error::ToSqlConversionFailure(Box::new(error)),
    }
}
