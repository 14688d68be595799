//! Finds a value of an item by a JSON pointer, without creating the JSON.

use std::borrow::Cow;

use streamfmt_core::item::{FactRef, Item, Status};

use crate::json::{self, Value, ValueKind};

/// The value at a pointer.
pub(super) enum Scalar<'a> {
    /// A text, unmodified.
    Text(Cow<'a, str>),
    /// A number; true is 1 and false is 0.
    Number(f64),
}

impl Scalar<'static> {
    fn of_flag(flag: bool) -> Self {
        Self::Number(f64::from(u8::from(flag)))
    }
}

/// The scalar at a JSON pointer, such as `/input/edits/0/new_string`.
pub(super) fn find<'a>(item: &'a Item, pointer: &str) -> Option<Scalar<'a>> {
    let mut keys = pointer.strip_prefix('/')?.split('/').map(unescaped);
    let first = keys.next()?;
    let text = |text: &'a str| Some(Scalar::Text(Cow::Borrowed(text)));
    let found = match &*first {
        "input" => return of_value(item.input()?, keys),
        "does" => {
            let does = item.does();
            return Some(owned(of_fact(does.get(&keys.next()?)?, keys)?));
        }
        "data" => return of_fact(item.fact(&keys.next()?)?, keys),
        "id" => text(item.id.as_str()),
        "parent" => text(item.parent.as_ref()?.as_str()),
        "kind" => text(item.kind.name()),
        "status" => text(item.status.name()),
        "at" => Some(Scalar::Text(Cow::Owned(item.at()?.to_string()))),
        "session" => text(item.session.as_deref()?),
        "tool" => text(item.tool.as_deref()?),
        "action" => text(item.action()?.name()),
        "call" => text(item.call.as_ref()?.as_str()),
        "text" => Some(item.text()).filter(|text| !text.is_empty()).map(Scalar::Text),
        "error" => item.error.then_some(Scalar::Number(1.0)),
        "partial" => (item.status == Status::Open).then_some(Scalar::Number(1.0)),
        "line" => Some(Scalar::Number(item.line as f64)),
        "place" => Some(Scalar::Number(f64::from(item.place))),
        "v" => Some(Scalar::Number(1.0)),
        _ => None,
    };
    found.filter(|_| keys.next().is_none())
}

/// Unescapes a part of a pointer: `~1` means a slash, `~0` a tilde.
fn unescaped(key: &str) -> Cow<'_, str> {
    if key.contains('~') { Cow::Owned(key.replace("~1", "/").replace("~0", "~")) } else { Cow::Borrowed(key) }
}

fn of_value<'a, 'k>(value: Value<'a>, keys: impl Iterator<Item = Cow<'k, str>>) -> Option<Scalar<'a>> {
    let value = json::at(value, keys)?;
    match value.kind() {
        ValueKind::String => value.decode().map(Scalar::Text),
        ValueKind::Number => value.float().map(Scalar::Number),
        _ => value.bool().map(Scalar::of_flag),
    }
}

fn of_fact<'a, 'k>(mut fact: FactRef<'a>, keys: impl Iterator<Item = Cow<'k, str>>) -> Option<Scalar<'a>> {
    for key in keys {
        fact = match fact.get(&key) {
            Some(part) => part,
            None => fact.list().into_iter().nth(key.parse().ok()?)?,
        };
    }
    if let Some(flag) = fact.bool() {
        return Some(Scalar::of_flag(flag));
    }
    fact.str().map(Scalar::Text).or_else(|| fact.float().map(Scalar::Number))
}

/// Detaches a value from the fact that it was read from.
fn owned(found: Scalar<'_>) -> Scalar<'static> {
    match found {
        Scalar::Text(text) => Scalar::Text(Cow::Owned(text.into_owned())),
        Scalar::Number(number) => Scalar::Number(number),
    }
}
