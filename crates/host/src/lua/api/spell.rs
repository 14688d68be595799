//! Lua values as text: as JSON, or as Lua source.

use std::fmt::Write;

use mlua::{Table, Value};

use super::item;

/// Deepest nesting of tables in JSON.
const DEEPEST: usize = 64;
/// Most values in one JSON text.
const MOST_VALUES: usize = 100_000;
/// Size limit of one JSON text, in bytes.
const MOST_BYTES: usize = 8 << 20;

const TOO_LARGE: &str = "the value is too large";

/// Deepest nesting of tables that is inspected.
const DEEPEST_SHOWN: usize = 6;
/// Longest text of an inspected value, in characters.
const LONGEST_SHOWN: usize = 4_000;

/// Converts a value to JSON without running any script. A table with elements from 1 on becomes an array, any other table an
/// object with sorted keys. The error says why the value can't be converted.
pub(crate) fn to_json(value: &Value) -> Result<String, String> {
    let mut json = JsonText::default();
    json.push(value, 0)?;
    Ok(json.out)
}

/// JSON text under construction.
#[derive(Default)]
struct JsonText {
    out: String,
    values: usize,
}

impl JsonText {
    /// Appends a value that is nested in `depth` tables.
    fn push(&mut self, value: &Value, depth: usize) -> Result<(), String> {
        self.values += 1;
        if self.values > MOST_VALUES || self.out.len() > MOST_BYTES {
            return Err(TOO_LARGE.to_owned());
        }
        match value {
            Value::Table(_) if depth == DEEPEST => {
                return Err(format!("tables are nested more than {DEEPEST} deep"));
            }
            Value::Table(table) => self.push_table(table, depth + 1)?,
            Value::Nil => self.out.push_str("null"),
            Value::Boolean(truth) => self.out.push_str(if *truth { "true" } else { "false" }),
            Value::Integer(number) => self.out.push_str(&number.to_string()),
            Value::Number(number) if number.is_finite() => self.out.push_str(&number.to_string()),
            Value::Number(_) => return Err("a number without a value".to_owned()),
            Value::String(text) => push_string(&mut self.out, &String::from_utf8_lossy(&text.as_bytes())),
            other => {
                let wrong = || format!("{} can't be kept", item::a_type(other));
                self.out.push_str(&item::raw_of(other).ok_or_else(wrong)?);
            }
        }
        Ok(())
    }

    fn push_table(&mut self, table: &Table, depth: usize) -> Result<(), String> {
        let ends = if table.raw_len() > 0 { ['[', ']'] } else { ['{', '}'] };
        self.out.push(ends[0]);
        for (index, (key, value)) in json_parts(table)?.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            if let Some(key) = key {
                push_string(&mut self.out, key);
                self.out.push(':');
            }
            self.push(value, depth)?;
        }
        self.out.push(ends[1]);
        Ok(())
    }
}

/// The elements of an array, or the values of an object with their keys.
fn json_parts(table: &Table) -> Result<Vec<(Option<String>, Value)>, String> {
    let length = table.raw_len();
    if length > MOST_VALUES {
        return Err(TOO_LARGE.to_owned());
    }
    if length > 0 {
        let elements = (1..=length).map(|index| Ok((None, table.raw_get(index)?)));
        return elements.collect::<mlua::Result<_>>().map_err(|error| error.to_string());
    }
    let mut parts = Vec::new();
    let walked = table.for_each(|key: Value, value: Value| {
        let key = match key {
            Value::String(key) => String::from_utf8_lossy(&key.as_bytes()).into_owned(),
            Value::Integer(key) => key.to_string(),
            Value::Number(key) => key.to_string(),
            other => return Err(mlua::Error::runtime(format!("a key can't be {}", item::a_type(&other)))),
        };
        parts.push((Some(key), value));
        Ok(())
    });
    walked.map_err(|error| error.to_string())?;
    parts.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(parts)
}

fn push_string(out: &mut String, text: &str) {
    // Serializing a string can't fail.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

/// A value as Lua source, in one line. It is meant for people, so it is cut where it is long or deeply nested.
pub(crate) fn inspected(value: &Value) -> String {
    let mut out = String::new();
    inspect(value, DEEPEST_SHOWN, &mut out);
    if let Some((end, _)) = out.char_indices().nth(LONGEST_SHOWN) {
        out.truncate(end);
        out.push('…');
    }
    out
}

/// Appends a value, with at most `depth` levels of tables.
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

/// The entries of a table, each with the text before its value. Elements come first, the others are sorted by key: the order of a
/// Lua table may differ between runs.
fn pairs(table: &Table) -> Vec<(String, Value)> {
    let length = table.raw_len();
    let mut parts = Vec::new();
    // A key that isn't plain text is written as its type.
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

#[cfg(test)]
mod tests {
    use mlua::Lua;

    use super::*;

    #[test]
    fn a_value_beyond_a_limit_of_json_is_refused() {
        let lua = Lua::new();
        let nested = |depth: usize| format!("local t = 1 for _ = 1, {depth} do t = {{ t }} end return t");
        let keyed =
            |count: usize| format!("local t = {{}} for n = 1, {count} do t['k' .. n] = 1 end return t");
        let long = |bytes: usize| format!("return {{ ('x'):rep({bytes}), 1 }}");
        for (source, wrong) in [
            (nested(DEEPEST), None),
            (nested(DEEPEST + 1), Some("tables are nested more than 64 deep")),
            // The table itself counts as a value.
            (format!("return table.create({}, 1)", MOST_VALUES - 1), None),
            (format!("return table.create({MOST_VALUES}, 1)"), Some(TOO_LARGE)),
            (keyed(MOST_VALUES - 1), None),
            (keyed(MOST_VALUES), Some(TOO_LARGE)),
            (long(MOST_BYTES - 10), None),
            (long(MOST_BYTES), Some(TOO_LARGE)),
        ] {
            let value = lua.load(&source).eval().unwrap();
            assert_eq!(to_json(&value).err().as_deref(), wrong, "{source}");
        }
    }

    #[test]
    fn where_an_inspected_value_is_cut_there_is_an_ellipsis() {
        let lua = Lua::new();
        let shown = |source: &str| inspected(&lua.load(source).eval().unwrap());
        assert_eq!(shown("return { { { { { { 1 } } } } } }"), "{ { { { { { 1 } } } } } }");
        assert_eq!(shown("return { { { { { { { 1 } } } } } } }"), "{ { { { { { {…} } } } } } }");
        for (length, end) in
            [(LONGEST_SHOWN - 2, "x\""), (LONGEST_SHOWN - 1, "xx…"), (LONGEST_SHOWN * 99, "xx…")]
        {
            let text = shown(&format!("return ('x'):rep({length})"));
            assert!(text.ends_with(end) && text.chars().count() <= LONGEST_SHOWN + 1, "{length}");
        }
        assert!(shown("return table.create(99999, 'é')").ends_with('…'));
    }
}
