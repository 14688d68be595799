//! `sf.re`: regular expressions. What they scan counts as steps of the script.

use std::ops::Range;
use std::rc::Rc;

use mlua::{Function, Lua, LuaString, Table, UserData, UserDataMethods, Value};
use regex::bytes::Captures;
use streamfmt_core::pattern::CountedRegex;

use super::registry::Registry;
use super::wrong;
use crate::lua::vm::counted;

/// Size of the longest text that a regular expression is applied to, in bytes.
pub(crate) const MOST_SUBJECT: usize = 1 << 20;
/// Most regular expressions of one plugin.
pub(crate) const MOST_PATTERNS: usize = 64;
/// Size of the longest pattern, in bytes.
pub(crate) const MOST_PATTERN: usize = 256;
/// Largest size of a compiled pattern, in bytes.
const MOST_COMPILED: usize = 128 << 10;

/// The function behind `sf.re`.
pub(crate) fn re(lua: &Lua, registry: &Rc<Registry>) -> mlua::Result<Function> {
    let registry = Rc::clone(registry);
    lua.create_function(move |_, pattern: String| {
        if let Some(known) = registry.patterns.borrow().get(&pattern) {
            return Ok(LuaRegex(known.clone()));
        }
        if pattern.len() > MOST_PATTERN {
            return Err(wrong(format!("sf.re: the pattern is longer than {MOST_PATTERN} bytes")));
        }
        if registry.patterns.borrow().len() >= MOST_PATTERNS {
            return Err(wrong(format!("sf.re: more than {MOST_PATTERNS} patterns")));
        }
        let regex =
            CountedRegex::new(&pattern, MOST_COMPILED).map_err(|error| wrong(format!("sf.re: {error}")))?;
        registry.patterns.borrow_mut().insert(pattern, regex.clone());
        Ok(LuaRegex(regex))
    })
}

/// A regular expression.
struct LuaRegex(CountedRegex);

impl LuaRegex {
    /// The first match from `at` on.
    fn captures_at<'t>(&self, lua: &Lua, text: &'t [u8], at: usize) -> mlua::Result<Option<Captures<'t>>> {
        counted(lua, |budget| self.0.captures_at(text, at, budget))
    }

    /// Passes all matches to `take`, each with its range.
    fn each(
        &self,
        lua: &Lua,
        text: &[u8],
        mut take: impl FnMut(&Captures<'_>, Range<usize>) -> mlua::Result<()>,
    ) -> mlua::Result<()> {
        let (mut at, mut last) = (0, None);
        while at <= text.len() {
            let Some(found) = self.captures_at(lua, text, at)? else { return Ok(()) };
            let Some(range) = found.get(0).map(|whole| whole.range()) else { return Ok(()) };
            at = if range.is_empty() { range.end + 1 } else { range.end };
            // An empty match right behind another one is none.
            if !range.is_empty() || last != Some(range.start) {
                last = Some(range.end);
                take(&found, range)?;
            }
        }
        Ok(())
    }
}

impl UserData for LuaRegex {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("test", |lua, this, text: LuaString| {
            let text = text.as_bytes();
            let text = subject(&text)?;
            counted(lua, |budget| this.0.find_at(text, 0, budget).map(|found| found.is_some()))
        });
        methods.add_method("find", |lua, this, text: LuaString| {
            let text = text.as_bytes();
            match this.captures_at(lua, subject(&text)?, 0)? {
                Some(found) => groups(lua, &this.0, &found).map(Value::Table),
                None => Ok(Value::Nil),
            }
        });
        methods.add_method("all", |lua, this, text: LuaString| {
            let text = text.as_bytes();
            let list = lua.create_table()?;
            this.each(lua, subject(&text)?, |found, _| list.raw_push(groups(lua, &this.0, found)?))?;
            Ok(list)
        });
        methods.add_method("replace", |lua, this, (text, with): (LuaString, LuaString)| {
            let (text, with) = (text.as_bytes(), with.as_bytes());
            let text = subject(&text)?;
            let mut out = Vec::with_capacity(text.len());
            let mut at = 0;
            this.each(lua, text, |found, range| {
                out.extend_from_slice(&text[at..range.start]);
                found.expand(&with, &mut out);
                at = range.end;
                subject(&out).map(drop)
            })?;
            out.extend_from_slice(&text[at..]);
            lua.create_string(&out)
        });
    }
}

/// Checks that a text isn't too long for a regular expression.
fn subject(text: &[u8]) -> mlua::Result<&[u8]> {
    if text.len() > MOST_SUBJECT { Err(wrong("sf.re: the text is longer than 1 MiB")) } else { Ok(text) }
}

/// The groups of a match as a table: `[0]` is the whole match, `[1]` and so on are the groups, which are also stored by name.
fn groups(lua: &Lua, regex: &CountedRegex, found: &Captures<'_>) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    for (index, name) in regex.regex().capture_names().enumerate() {
        let Some(part) = found.get(index) else { continue };
        let text = lua.create_string(part.as_bytes())?;
        if let Some(name) = name {
            table.raw_set(name, text.clone())?;
        }
        table.raw_set(index, text)?;
    }
    Ok(table)
}
