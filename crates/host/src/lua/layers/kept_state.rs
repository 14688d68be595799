//! The state that a plugin keeps across a reload: copied from the old VM into the new one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use mlua::{Lua, Table, Value};

/// Most entries that are copied. More are an error.
const MOST: usize = 100_000;

/// Copies a table, and those inside it, into a table of the VM `lua`. Copies numbers, texts and booleans, and skips all else. A
/// table that occurs several times is copied once.
pub(crate) fn copy(from: &Table, lua: &Lua, into: &Table) -> mlua::Result<()> {
    let mut known = HashMap::from([(from.to_pointer(), into.clone())]);
    let mut open = vec![(from.clone(), into.clone())];
    let mut left = MOST;
    while let Some((from, into)) = open.pop() {
        for pair in from.pairs::<Value, Value>() {
            let (key, value) = pair?;
            let Some(rest) = left.checked_sub(1) else {
                return Err(mlua::Error::runtime(format!("the state has more than {MOST} values")));
            };
            left = rest;
            let Some(key) = plain(lua, &key)? else { continue };
            let copied = match &value {
                Value::Table(inner) => Some(Value::Table(match known.entry(inner.to_pointer()) {
                    Entry::Occupied(table) => table.get().clone(),
                    Entry::Vacant(place) => {
                        let made = place.insert(lua.create_table()?).clone();
                        open.push((inner.clone(), made.clone()));
                        made
                    }
                })),
                value => plain(lua, value)?,
            };
            if let Some(copied) = copied {
                into.raw_set(key, copied)?;
            }
        }
    }
    Ok(())
}

/// Copies a number, text or boolean into the VM `lua`. Returns `None` for all else.
fn plain(lua: &Lua, value: &Value) -> mlua::Result<Option<Value>> {
    Ok(match value {
        Value::Boolean(truth) => Some(Value::Boolean(*truth)),
        Value::Integer(number) => Some(Value::Number(*number as f64)),
        Value::Number(number) => Some(Value::Number(*number)),
        Value::String(text) => Some(Value::String(lua.create_string(text.as_bytes())?)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copied_table_keeps_its_plain_values() {
        let (one, other) = (Lua::new(), Lua::new());
        let source =
            "local t = { 1, 2, n = { deep = true }, f = print, s = 'ä' } t.me = t t.same = t.n return t";
        let (table, copied) = (one.load(source).eval().unwrap(), other.create_table().unwrap());
        copy(&table, &other, &copied).unwrap();
        other.globals().set("t", copied).unwrap();
        let check =
            "return #t == 2 and t.n.deep and t.f == nil and t.s == 'ä' and t.me == t and t.same == t.n";
        assert!(other.load(check).eval::<bool>().unwrap());
    }

    #[test]
    fn a_table_with_too_many_values_is_refused() {
        let lua = Lua::new();
        for (count, is_copied) in [(MOST, true), (MOST + 1, false)] {
            let table = lua.load(format!("return table.create({count}, 1)")).eval().unwrap();
            let into = lua.create_table().unwrap();
            assert_eq!(copy(&table, &lua, &into).is_ok(), is_copied, "{count}");
            assert_eq!(into.raw_len(), MOST, "{count}");
        }
    }
}
