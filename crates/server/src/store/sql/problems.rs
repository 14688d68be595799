//! Finds out what is wrong with a database.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::super::StoreError;
use super::tables::SqlTable;
use super::{failure, schema};

/// Returns what is wrong with the database at a path, in as many lines at most. Nothing is changed.
pub(crate) fn problems_at(path: &Path, most: usize) -> Result<Vec<String>, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|error| failure(path, &error))?;
    let found = schema::version(&connection).and_then(|version| Ok((version, problems(&connection, most)?)));
    match found {
        Ok((version, _)) if version > schema::VERSION => Err(StoreError::Newer(path.to_owned())),
        Ok((_, found)) => Ok(found),
        Err(error) => match failure(path, &error) {
            StoreError::Damaged(_) => Ok(vec![error.to_string()]),
            failure => Err(failure),
        },
    }
}

/// Returns what is wrong with a database, in as many lines at most: pages, indexes, the schema, and values that can't be decoded.
pub(super) fn problems(connection: &Connection, most: usize) -> rusqlite::Result<Vec<String>> {
    let version = schema::version(connection)?;
    if version > schema::VERSION {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare(&format!("PRAGMA integrity_check({most})"))?;
    let lines = statement.query_map([], |row| row.get("integrity_check"))?;
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
    for name in statement.query_map([], |row| row.get("name"))? {
        let name: String = name?;
        let sql = "SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = ?1";
        if !connection.prepare(sql)?.exists([&name])? {
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
