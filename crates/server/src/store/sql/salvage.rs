//! Saves what can be read of a damaged database.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, Params, Row, Statement, Transaction, params_from_iter};

use super::nanoseconds;
use super::schema::{self, READ_BEFORE};
use super::tables::{SqlColumn, SqlTable};
use crate::run_id::RunId;

/// The number of bytes read at once.
const CHUNK: usize = 64 * 1024;
/// The length of the id of a session.
const ID: usize = 22;
/// The length of the header of a database.
const HEADER: usize = 100;
/// The size of a page if the header has none.
const PAGE: usize = 4_096;

/// The result of a salvage.
pub(crate) struct Salvage {
    /// The number of sessions that were saved.
    pub(crate) saved: usize,
    /// Sessions that were not.
    pub(crate) lost: Vec<LostSession>,
}

/// A session that is in the damaged database and can't be read.
pub(crate) struct LostSession {
    pub(crate) id: String,
    /// The files that it was read from, as far as they are known.
    pub(crate) sources: Vec<String>,
}

/// Copies rows from a damaged database to a new one: those that a scan finds from either end, and those that are found by `ids`, which are
/// counted in the file. All sources count as unread, so that values that are damaged without a trace are replaced. Fails only if the new
/// one can't be written.
pub(super) fn salvage(
    damaged: &Connection,
    ids: &BTreeMap<String, usize>,
    new: &mut Connection,
) -> rusqlite::Result<Salvage> {
    let tables = SqlTable::all(new)?;
    let transaction = new.transaction()?;
    let mut lost = Vec::new();
    let mut saved = 0;
    for (at, table) in tables.iter().enumerate() {
        // A table that can't be read has no rows.
        if let Ok(statements) = statements(damaged, table) {
            copy(statements, table, ids, &transaction)?;
        }
        if at == 0 {
            (saved, lost) = stand_in(damaged, ids, &transaction)?;
        }
    }
    transaction.execute(
        "UPDATE sources SET mtime = CASE kind WHEN 'run' THEN NULL ELSE ?1 END, \
         kind = CASE kind WHEN 'run' THEN kind ELSE 'history' END WHERE NOT gone",
        [READ_BEFORE],
    )?;
    transaction.commit()?;
    Ok(Salvage { saved, lost })
}

/// Writes a row with nothing but its id for each lost session that has a file, so that its other rows are kept, and the file is read again.
/// Returns the number of sessions that were saved, and the lost ones.
fn stand_in(
    damaged: &Connection,
    ids: &BTreeMap<String, usize>,
    new: &Transaction<'_>,
) -> rusqlite::Result<(usize, Vec<LostSession>)> {
    let mut saved = new.prepare("SELECT id FROM sessions")?;
    let saved: BTreeSet<String> = saved.query_map([], |row| row.get("id"))?.collect::<Result<_, _>>()?;
    let mut insert = new.prepare("INSERT INTO sessions (id, status, started) VALUES (?1, 'failed', ?2)")?;
    let mut lost = Vec::new();
    // An id that is there only once is damaged itself.
    for (id, _) in ids.iter().filter(|(id, count)| **count > 1 && !saved.contains(*id)) {
        let sources = sources(damaged, id);
        if !sources.is_empty() {
            let started = id.parse().as_ref().map(RunId::started).unwrap_or_default();
            insert.execute((id, nanoseconds(started)))?;
        }
        lost.push(LostSession { id: id.clone(), sources });
    }
    Ok((saved.len(), lost))
}

/// The statements that read a table of a damaged database: all rows from both ends, and those of a session from both ends.
fn statements<'a>(damaged: &'a Connection, table: &SqlTable) -> rusqlite::Result<[Statement<'a>; 4]> {
    let SqlTable { name, key, .. } = table;
    let backwards: Vec<String> = key.iter().map(|column| format!("{column} DESC")).collect();
    let (session, backwards) = (&key[0], backwards.join(", "));
    Ok([
        damaged.prepare(&format!("SELECT * FROM {name}"))?,
        damaged.prepare(&format!("SELECT * FROM {name} ORDER BY {backwards}"))?,
        damaged.prepare(&format!("SELECT * FROM {name} WHERE {session} = ?1"))?,
        damaged.prepare(&format!("SELECT * FROM {name} WHERE {session} = ?1 ORDER BY {backwards}"))?,
    ])
}

fn copy(
    [forwards, backwards, by_id, by_id_backwards]: [Statement<'_>; 4],
    table: &SqlTable,
    ids: &BTreeMap<String, usize>,
    new: &Transaction<'_>,
) -> rusqlite::Result<()> {
    let places = places(&forwards, table);
    let names: Vec<&str> = table.columns.iter().map(|column| &*column.name).collect();
    let marks: Vec<String> = (1..=names.len()).map(|number| format!("?{number}")).collect();
    let sql =
        format!("INSERT OR IGNORE INTO {} ({}) VALUES ({})", table.name, names.join(", "), marks.join(", "));
    let mut copier = Copier { table, places, insert: new.prepare(&sql)? };
    for mut statement in [forwards, backwards] {
        copier.copy(&mut statement, [])?;
    }
    for mut statement in [by_id, by_id_backwards] {
        for id in ids.keys() {
            copier.copy(&mut statement, [id])?;
        }
    }
    Ok(())
}

/// Returns where each column is in the rows of a damaged database: by its name, or where it should be if no column there has a known name.
fn places(damaged: &Statement<'_>, table: &SqlTable) -> Vec<Option<usize>> {
    let names = damaged.column_names();
    let is_known = |name: &str| table.columns.iter().any(|column| column.name == name);
    let columns = table.columns.iter().enumerate();
    let place = |(at, column): (usize, &SqlColumn)| {
        let found = names.iter().position(|name| *name == column.name);
        let is_same_width = names.len() == table.columns.len();
        found.or_else(|| Some(at).filter(|at| is_same_width && !is_known(names[*at])))
    };
    columns.map(place).collect()
}

/// Copies rows into a table.
struct Copier<'a> {
    table: &'a SqlTable,
    places: Vec<Option<usize>>,
    insert: Statement<'a>,
}

impl Copier<'_> {
    /// Copies rows up to the first that can't be read, except those that are already there, or belong to no session.
    fn copy(&mut self, damaged: &mut Statement<'_>, parameters: impl Params) -> rusqlite::Result<()> {
        let Ok(mut rows) = damaged.query(parameters) else { return Ok(()) };
        while let Ok(Some(row)) = rows.next() {
            let Some(values) = self.values(row) else { continue };
            match self.insert.execute(params_from_iter(values)) {
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {}
                done => drop(done?),
            }
        }
        Ok(())
    }

    /// Returns the values of a row; `None` if its key isn't that of a row.
    fn values(&self, row: &Row<'_>) -> Option<Vec<Value>> {
        let mut values = Vec::new();
        for (column, place) in self.table.columns.iter().zip(&self.places) {
            let value = place.and_then(|at| row.get_ref(at).ok()).unwrap_or(ValueRef::Null);
            let value = column.mended(value)?;
            let is_id = column.name == self.table.key[0];
            if is_id && !matches!(&value, Value::Text(id) if id.parse::<RunId>().is_ok()) {
                return None;
            }
            values.push(value);
        }
        Some(values)
    }
}

/// Returns the files that a session was read from, as far as they can be read.
fn sources(damaged: &Connection, id: &str) -> Vec<String> {
    let Ok(mut statement) = damaged.prepare("SELECT path FROM sources WHERE session = ?1") else {
        return Vec::new();
    };
    let Ok(paths) = statement.query_map([id], |row| row.get("path")) else { return Vec::new() };
    paths.map_while(Result::ok).collect()
}

/// Adds the ids of sessions in a file, wherever they are in it, and how often each is there.
pub(super) fn count_ids(path: &Path, ids: &mut BTreeMap<String, usize>) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut bytes = Vec::with_capacity(CHUNK + ID);
    while (&mut file).take(CHUNK as u64).read_to_end(&mut bytes)? > 0 {
        let places = bytes.windows(ID).filter(|id| id[8] == b'-' && id[15] == b'-');
        let texts = places.filter_map(|id| str::from_utf8(id).ok());
        for id in texts.filter(|id| id.parse::<RunId>().is_ok()) {
            *ids.entry(id.to_owned()).or_default() += 1;
        }
        // An id may lie on both sides of the border.
        bytes.drain(..bytes.len().saturating_sub(ID - 1));
    }
    Ok(())
}

/// Opens a copy of a damaged database such that as much as possible can be read. The copy is changed for this.
pub(super) fn open(copy: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || {
        let connection = Connection::open_with_flags(copy, flags)?;
        // Ignores errors in the schema, and pages that are missing at the end.
        connection.pragma_update(None, "writable_schema", true)?;
        connection.pragma_update(None, "trusted_schema", false)?;
        Ok(connection)
    };
    let connection = open()?;
    if mend_schema(&connection).is_ok_and(|is_changed| is_changed) {
        drop(connection);
        return open();
    }
    Ok(connection)
}

/// Writes everything in the header of a database that is known without it.
pub(super) fn mend_header(path: &Path, has_log: bool) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    let size = file.metadata()?.len();
    let mut header = [0; HEADER];
    if size < HEADER as u64 {
        return Ok(());
    }
    file.read_exact(&mut header)?;
    let page = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 1 << 16,
        page if page >= 512 && page.is_power_of_two() => usize::from(page),
        _ => PAGE,
    };
    let pages = u32::try_from(size.div_ceil(page as u64)).unwrap_or(u32::MAX);
    let journal = if has_log { 2 } else { 1 };
    header[..16].copy_from_slice(b"SQLite format 3\0");
    header[16..18].copy_from_slice(&u16::try_from(page).unwrap_or(1).to_be_bytes());
    // How it is journalled, no reserved space, and fixed fractions.
    header[18..24].copy_from_slice(&[journal, journal, 0, 64, 32, 32]);
    header[28..32].copy_from_slice(&pages.to_be_bytes());
    // The format of the schema, no automatic vacuum, UTF-8.
    header[44..48].copy_from_slice(&4_u32.to_be_bytes());
    header[52..56].fill(0);
    header[56..60].copy_from_slice(&1_u32.to_be_bytes());
    // The page count counts only if both numbers are equal.
    header.copy_within(24..28, 92);
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&header)
}

/// Defines tables as they should be if they can't be read without that. Returns whether it did. Their roots stay.
fn mend_schema(damaged: &Connection) -> rusqlite::Result<bool> {
    let version = schema::version(damaged)?.clamp(1, schema::VERSION);
    // The first statement may fail because of the schema. The readable part of it is used from then on.
    let _ = damaged.prepare("SELECT 1 FROM sqlite_schema");
    let right = schema::fresh(version)?;
    let sql = "SELECT name, sql, rowid FROM sqlite_schema WHERE type = 'table' AND sql IS NOT NULL";
    let mut statement = right.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut is_changed = false;
    while let Some(row) = rows.next()? {
        let (name, sql, at): (String, String, i64) = (row.get("name")?, row.get("sql")?, row.get("rowid")?);
        if damaged.prepare(&format!("SELECT 1 FROM {name}")).is_err() {
            let update = "UPDATE sqlite_schema SET type = 'table', name = ?1, tbl_name = ?1, sql = ?2 WHERE rowid = ?3";
            is_changed |= damaged.execute(update, (name, sql, at))? > 0;
        }
    }
    Ok(is_changed)
}

/// Copies a file, if it exists.
pub(super) fn copy_file(from: &Path, to: &Path) -> io::Result<bool> {
    match fs::copy(from, to) {
        Ok(size) => Ok(size > 0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
