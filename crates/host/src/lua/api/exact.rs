//! `sf.cut` and `sf.redact`: a text cut to a length, and a plugin's masking.

use std::rc::Rc;

use mlua::{Function, Lua, LuaString, Table, Value};
use streamfmt_core::redact::{CustomPattern, Redaction};

use super::registry::Registry;
use super::{item, wrong};

/// `sf.cut(text, most, unit)`.
pub(crate) fn cut(lua: &Lua, _: &Rc<Registry>) -> mlua::Result<Function> {
    lua.create_function(|lua, (text, most, unit): (LuaString, f64, Option<String>)| {
        let text = text.to_string_lossy();
        let measure: fn(char) -> usize = match unit.as_deref() {
            None | Some("bytes") => char::len_utf8,
            Some("utf16") => char::len_utf16,
            Some("characters") => |_| 1,
            Some(other) => {
                return Err(wrong(format!(
                    "sf.cut: the unit is bytes, utf16 or characters, not \"{other}\""
                )));
            }
        };
        #[expect(clippy::cast_sign_loss, reason = "it is not negative")]
        let most = most.clamp(0.0, 9e15) as usize;
        let mut used = 0;
        let end = text.char_indices().find_map(|(at, ch)| {
            used += measure(ch);
            (used > most).then_some(at)
        });
        Ok((lua.create_string(&text[..end.unwrap_or(text.len())])?, end.is_some()))
    })
}

/// `sf.redact(what)`.
pub(crate) fn redact(lua: &Lua, registry: &Rc<Registry>) -> mlua::Result<Function> {
    let registry = Rc::clone(registry);
    lua.create_function(move |_, what: Table| {
        registry.register("redact", |registered| {
            registered.redaction.add(&redaction(&what)?);
            Ok(())
        })
    })
}

fn redaction(what: &Table) -> Result<Redaction, String> {
    let mut redaction = Redaction::default();
    for pair in what.pairs::<String, Value>() {
        let (name, value) = pair.map_err(|error| error.to_string())?;
        match (name.as_str(), value) {
            ("secrets", Value::Boolean(on)) => redaction.secrets = on,
            ("emails", Value::Boolean(on)) => redaction.emails = on,
            ("home", Value::Boolean(on)) => redaction.home = on,
            ("patterns", Value::Table(patterns)) => redaction.own = own(&patterns)?,
            ("secrets" | "emails" | "home", other) => {
                return Err(format!("{name} is true or false, not {}", item::a_type(&other)));
            }
            ("patterns", other) => return Err(format!("patterns is a table, not {}", item::a_type(&other))),
            _ => {
                let hint = crate::problem::suggestion(&name, ["secrets", "emails", "home", "patterns"]);
                return Err(format!("there is no \"{name}\" {hint}"));
            }
        }
    }
    Ok(redaction)
}

/// Patterns by name, or a list of patterns. Sorted by name, so that each run masks alike.
fn own(patterns: &Table) -> Result<Vec<CustomPattern>, String> {
    let mut named = Vec::new();
    for pair in patterns.pairs::<Value, String>() {
        let (name, pattern) = pair.map_err(|_| "a pattern is a text".to_owned())?;
        let name = match &name {
            Value::String(name) => name.to_string_lossy(),
            _ => "text".to_owned(),
        };
        named.push((name, pattern));
    }
    named.sort();
    let own = |(name, pattern): (String, String)| {
        CustomPattern::new(&name, &pattern).map_err(|error| format!("the pattern \"{pattern}\": {error}"))
    };
    named.into_iter().map(own).collect()
}
