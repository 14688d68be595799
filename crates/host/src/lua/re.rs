//! `sf.re`: regular expressions that run in linear time.

use std::rc::Rc;

use mlua::{Function, Lua, LuaString, Table, UserData, UserDataMethods, Value};
use regex::bytes::{Regex, RegexBuilder};

use super::api::{Plugin, wrong};

/// Size of the longest text that a regular expression is applied to, in bytes.
pub(super) const MOST_SUBJECT: usize = 1 << 20;
/// Most regular expressions of one plugin.
pub(super) const MOST_PATTERNS: usize = 64;
/// Size of the longest pattern, in bytes.
pub(super) const MOST_PATTERN: usize = 256;
/// Largest size of a compiled pattern, in bytes.
const MOST_COMPILED: usize = 128 << 10;

/// The function behind `sf.re`.
pub(super) fn re(lua: &Lua, plugin: &Rc<Plugin>) -> mlua::Result<Function> {
    let plugin = Rc::clone(plugin);
    lua.create_function(move |_, pattern: String| {
        if let Some(known) = plugin.patterns.borrow().get(&pattern) {
            return Ok(LuaRegex(known.clone()));
        }
        if pattern.len() > MOST_PATTERN {
            return Err(wrong(format!("sf.re: the pattern is longer than {MOST_PATTERN} bytes")));
        }
        if plugin.patterns.borrow().len() >= MOST_PATTERNS {
            return Err(wrong(format!("sf.re: more than {MOST_PATTERNS} patterns")));
        }
        let built =
            RegexBuilder::new(&pattern).size_limit(MOST_COMPILED).dfa_size_limit(MOST_COMPILED).build();
        let regex = built.map_err(|error| {
            let text = error.to_string();
            wrong(format!("sf.re: {}", text.lines().last().unwrap_or("not a pattern").trim()))
        })?;
        plugin.patterns.borrow_mut().insert(pattern, regex.clone());
        Ok(LuaRegex(regex))
    })
}

/// A regular expression.
struct LuaRegex(Regex);

impl UserData for LuaRegex {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods
            .add_method("test", |_, this, text: LuaString| Ok(this.0.is_match(subject(&text.as_bytes())?)));
        methods.add_method("find", |lua, this, text: LuaString| {
            let text = text.as_bytes();
            match this.0.captures(subject(&text)?) {
                Some(found) => groups(lua, &this.0, &found).map(Value::Table),
                None => Ok(Value::Nil),
            }
        });
        methods.add_method("all", |lua, this, text: LuaString| {
            let text = text.as_bytes();
            let list = lua.create_table()?;
            for found in this.0.captures_iter(subject(&text)?) {
                list.raw_push(groups(lua, &this.0, &found)?)?;
            }
            Ok(list)
        });
        methods.add_method("replace", |lua, this, (text, with): (LuaString, LuaString)| {
            let (text, with) = (text.as_bytes(), with.as_bytes());
            let text = subject(&text)?;
            let mut out = Vec::with_capacity(text.len());
            let mut at = 0;
            for found in this.0.captures_iter(text) {
                let Some(whole) = found.get(0) else { continue };
                out.extend_from_slice(&text[at..whole.start()]);
                found.expand(&with, &mut out);
                at = whole.end();
                subject(&out)?;
            }
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
fn groups(lua: &Lua, regex: &Regex, found: &regex::bytes::Captures<'_>) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    for (index, name) in regex.capture_names().enumerate() {
        let Some(part) = found.get(index) else { continue };
        let text = lua.create_string(part.as_bytes())?;
        if let Some(name) = name {
            table.raw_set(name, text.clone())?;
        }
        table.raw_set(index, text)?;
    }
    Ok(table)
}
