//! Lua values as text: as JSON, and as they would be written in Lua.

use std::fmt::Write;

use mlua::{Table, Value};

use super::item;

/// Tables inside one another.
const DEEPEST: usize = 64;
/// Values of one text.
const MOST_VALUES: usize = 100_000;
/// Bytes of one text.
const MOST_BYTES: usize = 8 << 20;

/// Tables inside one another that are inspected.
const DEEPEST_SHOWN: usize = 6;
/// Longest text of a value that is inspected, in characters.
const LONGEST_SHOWN: usize = 4_000;

/// A table that is being spelled.
struct SpelledTable {
    /// What is left of it, the last first.
    left: Vec<(Option<String>, Value)>,
    end: char,
    is_first: bool,
}

/// A value as JSON: a table with elements from 1 is an array, another one an object with its keys in order. The
/// error says why it has none. Nothing runs and nothing recurses.
pub(super) fn spelled(value: &Value) -> Result<String, String> {
    let mut out = String::new();
    let mut open: Vec<SpelledTable> = Vec::new();
    let mut count = 0;
    let mut next = Some((None, value.clone()));
    loop {
        let (key, value) = if let Some(part) = next.take() {
            part
        } else if let Some(table) = open.last_mut() {
            let Some(part) = table.left.pop() else {
                out.push(table.end);
                open.pop();
                continue;
            };
            if !std::mem::replace(&mut table.is_first, false) {
                out.push(',');
            }
            part
        } else {
            return Ok(out);
        };
        count += 1;
        if count > MOST_VALUES || out.len() > MOST_BYTES {
            return Err("the value is too large".to_owned());
        }
        if let Some(key) = key {
            push_string(&mut out, &key);
            out.push(':');
        }
        match &value {
            Value::Table(table) => {
                if open.len() >= DEEPEST {
                    return Err(format!("tables are nested more than {DEEPEST} deep"));
                }
                let table = opened(table)?;
                out.push(if table.end == ']' { '[' } else { '{' });
                open.push(table);
            }
            Value::Nil => out.push_str("null"),
            Value::Boolean(truth) => out.push_str(if *truth { "true" } else { "false" }),
            Value::Integer(number) => out.push_str(&number.to_string()),
            Value::Number(number) if number.is_finite() => out.push_str(&number.to_string()),
            Value::Number(_) => return Err("a number without a value".to_owned()),
            Value::String(text) => push_string(&mut out, &String::from_utf8_lossy(&text.as_bytes())),
            other => match item::raw_of(other) {
                Some(raw) => out.push_str(&raw),
                None => return Err(format!("{} can't be kept", item::a_type(other))),
            },
        }
    }
}

fn opened(table: &Table) -> Result<SpelledTable, String> {
    let length = table.raw_len();
    let mut left = Vec::new();
    if length > 0 {
        if length > MOST_VALUES {
            return Err("the value is too large".to_owned());
        }
        for index in (1..=length).rev() {
            left.push((None, table.raw_get(index).map_err(|error| error.to_string())?));
        }
        return Ok(SpelledTable { left, end: ']', is_first: true });
    }
    let walked = table.for_each(|key: Value, value: Value| {
        let key = match key {
            Value::String(key) => String::from_utf8_lossy(&key.as_bytes()).into_owned(),
            Value::Integer(key) => key.to_string(),
            Value::Number(key) => key.to_string(),
            other => {
                return Err(mlua::Error::runtime(format!("a key can't be {}", item::a_type(&other))));
            }
        };
        left.push((Some(key), value));
        Ok(())
    });
    walked.map_err(|error| error.to_string())?;
    left.sort_by(|(one, _), (other, _)| other.cmp(one));
    Ok(SpelledTable { left, end: '}', is_first: true })
}

fn push_string(out: &mut String, text: &str) {
    // A text can always be spelled.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

/// A value as it would be written in Lua, in one line: for people, so that it is cut where it is long or deep.
pub(super) fn inspected(value: &Value) -> String {
    let mut out = String::new();
    inspect(value, DEEPEST_SHOWN, &mut out);
    if let Some((end, _)) = out.char_indices().nth(LONGEST_SHOWN) {
        out.truncate(end);
        out.push('…');
    }
    out
}

/// Goes no deeper than `depth` tables.
fn inspect(value: &Value, depth: usize, out: &mut String) {
    // Writing to a string can't fail.
    let _ = match value {
        Value::Nil => write!(out, "nil"),
        Value::Boolean(truth) => write!(out, "{truth}"),
        Value::Integer(number) => write!(out, "{number}"),
        Value::Number(number) => write!(out, "{number}"),
        Value::String(text) => write!(out, "{:?}", text.to_string_lossy()),
        Value::Table(table) if table.is_empty() => write!(out, "{{}}"),
        Value::Table(_) if depth == 0 => write!(out, "{{…}}"),
        Value::Table(table) => {
            out.push('{');
            let mut comma = " ";
            for (key, value) in pairs(table) {
                if out.len() > LONGEST_SHOWN * 4 {
                    break;
                }
                out.push_str(std::mem::replace(&mut comma, ", "));
                out.push_str(&key);
                inspect(&value, depth - 1, out);
            }
            write!(out, " }}")
        }
        other => {
            write!(out, "{}", item::describe(other).unwrap_or_else(|| item::type_name(other).to_owned()))
        }
    };
}

/// The parts of a table, each with what stands before its value: the elements first, then by key, since the order of a Lua
/// table may differ from run to run.
fn pairs(table: &Table) -> Vec<(String, Value)> {
    let length = table.raw_len();
    let mut parts = Vec::new();
    // A key that can't be written as a text is written as its type.
    let _ = table.for_each(|key: Value, value: Value| {
        let place = key.as_usize().filter(|place| (1..=length).contains(place));
        let is_name = |name: &str| {
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                && name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit())
        };
        let before = match &key {
            _ if place.is_some() => String::new(),
            Value::String(name) if is_name(&name.to_string_lossy()) => {
                format!("{} = ", name.to_string_lossy())
            }
            key => {
                let mut before = String::from("[");
                inspect(key, 0, &mut before);
                before + "] = "
            }
        };
        parts.push((place.unwrap_or(usize::MAX), before, value));
        Ok(())
    });
    parts.sort_by(|(one, name, _), (other, another, _)| (one, name).cmp(&(other, another)));
    parts.into_iter().map(|(_, before, value)| (before, value)).collect()
}
