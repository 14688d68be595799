//! The tables as the schema has them: which columns their rows are found by, and which values are sound.

use rusqlite::Connection;
use rusqlite::types::{Type, Value, ValueRef};

/// The columns that hold counts, which are never negative.
const COUNTS: [&str; 14] = [
    "pid",
    "pid_start",
    "num_turns",
    "failed_calls",
    "duration_ms",
    "api_ms",
    "tokens_input",
    "tokens_output",
    "tokens_cache_read",
    "tokens_cache_write",
    "start",
    "size",
    "tokens",
    "calls",
];

/// A table with rows of sessions. The first column of its key is the id of the session.
#[derive(Debug, PartialEq)]
pub(super) struct SqlTable {
    pub(super) name: String,
    pub(super) columns: Vec<SqlColumn>,
    /// The names of the columns of its primary key, in its order.
    pub(super) key: Vec<String>,
}

#[derive(Debug, PartialEq)]
pub(super) struct SqlColumn {
    pub(super) name: String,
    kind: Option<Type>,
    is_required: bool,
    is_key: bool,
}

impl SqlTable {
    /// Returns the tables of a database: that of the sessions, and those whose rows belong to sessions.
    pub(super) fn all(connection: &Connection) -> rusqlite::Result<Vec<Self>> {
        let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name <> 'sessions', rowid";
        let mut statement = connection.prepare(sql)?;
        let names: Vec<String> = statement.query_map([], |row| row.get("name"))?.collect::<Result<_, _>>()?;
        let tables = names.into_iter().map(|name| Self::read(connection, name));
        let mut tables: Vec<Self> = tables.collect::<Result<_, _>>()?;
        tables.retain(|table| {
            table.key.first().is_some_and(|key| key == "session" || table.name == "sessions" && key == "id")
        });
        Ok(tables)
    }

    fn read(connection: &Connection, name: String) -> rusqlite::Result<Self> {
        let sql = "SELECT name, type, \"notnull\", pk FROM pragma_table_info(?1)";
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([&name])?;
        let (mut columns, mut key) = (Vec::new(), Vec::new());
        while let Some(row) = rows.next()? {
            let (kind, place): (String, usize) = (row.get("type")?, row.get("pk")?);
            let column = SqlColumn {
                name: row.get("name")?,
                kind: match &*kind {
                    "TEXT" => Some(Type::Text),
                    "INTEGER" => Some(Type::Integer),
                    "REAL" => Some(Type::Real),
                    "BLOB" => Some(Type::Blob),
                    _ => None,
                },
                is_required: row.get("notnull")?,
                is_key: place > 0,
            };
            key.extend((place > 0).then(|| (place, column.name.clone())));
            columns.push(column);
        }
        key.sort();
        Ok(Self { name, columns, key: key.into_iter().map(|(_, name)| name).collect() })
    }
}

impl SqlColumn {
    /// Whether a value can be decoded.
    pub(super) fn accepts(&self, value: ValueRef<'_>) -> bool {
        match value {
            ValueRef::Null => !self.is_required,
            ValueRef::Integer(number) => {
                self.kind == Some(Type::Integer) && (number >= 0 || !COUNTS.contains(&&*self.name))
            }
            ValueRef::Text(bytes) => self.kind == Some(Type::Text) && str::from_utf8(bytes).is_ok(),
            ValueRef::Real(_) | ValueRef::Blob(_) => self.kind == Some(value.data_type()),
        }
    }

    /// Returns a value that can be decoded: this one, what is left of it, or an empty one. `None` for a key that can't be decoded.
    pub(super) fn mended(&self, value: ValueRef<'_>) -> Option<Value> {
        if self.accepts(value) {
            return value.try_into().ok();
        }
        match (value, self.kind) {
            (ValueRef::Text(bytes), Some(Type::Text)) => {
                Some(Value::Text(String::from_utf8_lossy(bytes).into_owned()))
            }
            _ if self.is_key => None,
            _ if !self.is_required => Some(Value::Null),
            (_, Some(Type::Text)) => Some(Value::Text(String::new())),
            (_, Some(Type::Real)) => Some(Value::Real(0.0)),
            (_, Some(Type::Blob)) => Some(Value::Blob(Vec::new())),
            _ => Some(Value::Integer(0)),
        }
    }
}
