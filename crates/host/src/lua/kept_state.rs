//! State that a plugin keeps across a reload: copied out of the old machine, and from there into the new one.

use std::collections::HashMap;

use mlua::{Lua, Table, Value};

/// Most keys and values that are kept.
const MOST: usize = 100_000;

/// A table, and those inside it: numbers, texts and truths. Anything else stays behind.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    /// All tables; the first is the one that was kept. A table that is in several places is here once.
    tables: Vec<Vec<(Plain, StoredValue)>>,
}

/// What is the same in every machine.
#[derive(Clone, Debug)]
enum Plain {
    Truth(bool),
    Number(f64),
    Text(Vec<u8>),
}

#[derive(Clone, Debug)]
enum StoredValue {
    Plain(Plain),
    Table(usize),
}

impl Memory {
    /// Keeps a table.
    pub(super) fn of(table: &Table) -> Self {
        let mut memory = Self { tables: vec![Vec::new()] };
        let mut known = HashMap::from([(table.to_pointer(), 0)]);
        let mut open = vec![(0, table.clone())];
        let mut left = MOST;
        while let Some((index, table)) = open.pop() {
            for pair in table.pairs::<Value, Value>() {
                let Ok((key, value)) = pair else { break };
                let Some(rest) = left.checked_sub(1) else { return memory };
                left = rest;
                let Some(key) = Plain::of(&key) else { continue };
                let node = match &value {
                    Value::Table(inner) => {
                        let next = memory.tables.len();
                        let place = *known.entry(inner.to_pointer()).or_insert(next);
                        if place == next {
                            memory.tables.push(Vec::new());
                            open.push((next, inner.clone()));
                        }
                        StoredValue::Table(place)
                    }
                    value => match Plain::of(value) {
                        Some(plain) => StoredValue::Plain(plain),
                        None => continue,
                    },
                };
                memory.tables[index].push((key, node));
            }
        }
        memory
    }

    /// Makes the table in a machine.
    pub(super) fn table(&self, lua: &Lua) -> mlua::Result<Table> {
        let table = lua.create_table()?;
        self.fill(lua, &table)?;
        Ok(table)
    }

    /// Makes a table that there is into this one.
    pub(super) fn fill(&self, lua: &Lua, root: &Table) -> mlua::Result<()> {
        root.clear()?;
        let mut made = vec![root.clone()];
        for _ in 1..self.tables.len() {
            made.push(lua.create_table()?);
        }
        for (table, pairs) in made.iter().zip(&self.tables) {
            for (key, node) in pairs {
                let value = match node {
                    StoredValue::Plain(plain) => plain.value(lua)?,
                    StoredValue::Table(index) => Value::Table(made[*index].clone()),
                };
                table.raw_set(key.value(lua)?, value)?;
            }
        }
        Ok(())
    }
}

impl Plain {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Boolean(truth) => Some(Self::Truth(*truth)),
            Value::Integer(number) => Some(Self::Number(*number as f64)),
            Value::Number(number) => Some(Self::Number(*number)),
            Value::String(text) => Some(Self::Text(text.as_bytes().to_vec())),
            _ => None,
        }
    }

    fn value(&self, lua: &Lua) -> mlua::Result<Value> {
        Ok(match self {
            Self::Truth(truth) => Value::Boolean(*truth),
            Self::Number(number) => Value::Number(*number),
            Self::Text(text) => Value::String(lua.create_string(text)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_comes_over_with_all_that_is_plain() {
        let (one, other) = (Lua::new(), Lua::new());
        let source =
            "local t = { 1, 2, n = { deep = true }, f = print, s = 'ä' } t.me = t t.same = t.n return t";
        let table: Table = one.load(source).eval().unwrap();
        other.globals().set("t", Memory::of(&table).table(&other).unwrap()).unwrap();
        let check =
            "return #t == 2 and t.n.deep and t.f == nil and t.s == 'ä' and t.me == t and t.same == t.n";
        assert!(other.load(check).eval::<bool>().unwrap());
    }
}
