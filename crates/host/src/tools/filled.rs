//! Fills templates with the fields of an item.

use streamfmt_core::item::{Action, Item};
use streamfmt_core::text::Text;

use super::amend::FormatRequest;
use super::field::ToolField;
use super::template::Template;
use crate::json;

/// Fills a template with the fields of an item: the one that `about` refers to, or its call. Returns `None` if a value is
/// missing.
pub(super) fn filled(
    template: &Template,
    field: ToolField,
    item: &Item,
    about: &FormatRequest<'_>,
) -> Option<Text> {
    let value = |keys: &[String]| {
        let simple = match (field, keys) {
            (ToolField::Label, [name]) => of_call(item, about.tool(), name),
            (ToolField::Summary, [name]) => of_result(item, name),
            _ => None,
        };
        simple.or_else(|| {
            let input = if field == ToolField::Summary { None } else { item.input() };
            of_value(input?, keys)
        })
    };
    let relative = |path: String| about.session.facts().relative(Text::clean_owned(path)).into_string();
    template.fill(value, relative).map(Text::clean_owned)
}

fn of_call(item: &Item, tool: Option<&str>, name: &str) -> Option<String> {
    match name {
        "name" => tool.map(str::to_owned),
        "tool" => {
            let own = item.fact("tool").and_then(|fact| fact.str().map(Into::into));
            own.or_else(|| tool.map(str::to_owned))
        }
        "action" => item.action().map(Action::name).map(str::to_owned),
        _ => item.fact(name)?.str().map(Into::into),
    }
}

fn of_result(item: &Item, name: &str) -> Option<String> {
    match name {
        "text" => item.text().lines().next().map(str::to_owned),
        "lines" if item.fact("lines").is_none() => Some(item.text().lines().count().to_string()),
        _ => {
            let fact = item.fact(name)?;
            fact.str().map(Into::into).or_else(|| fact.int().map(|number| number.to_string()))
        }
    }
}

/// The scalar at nested keys.
fn of_value(value: json::Value<'_>, keys: &[String]) -> Option<String> {
    let value = json::at(value, keys)?;
    match value.kind() {
        json::ValueKind::String => value.decode().map(Into::into),
        json::ValueKind::Number | json::ValueKind::True | json::ValueKind::False => {
            Some(value.raw().to_owned())
        }
        _ => None,
    }
}
