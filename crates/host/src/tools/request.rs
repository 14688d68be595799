//! An item that is to be formatted, and templates filled with its fields.

use streamfmt_core::item::{Action, Item, Kind};
use streamfmt_core::session::Session;
use streamfmt_core::text::Text;

use super::field::ToolField;
use super::template::Template;
use crate::json;

/// An item that is to be formatted.
#[derive(Clone, Copy)]
pub(crate) struct FormatRequest<'a> {
    pub(crate) item: &'a Item,
    pub(crate) session: &'a Session,
    /// The call that it answers, if it is a result.
    pub(crate) call: Option<&'a Item>,
    /// Whether it represents a whole record. Then there is no layer below the plugins.
    pub(crate) is_frame: bool,
}

impl<'a> FormatRequest<'a> {
    /// Looks up the call that the item answers, if it is a result.
    pub(crate) fn of(item: &'a Item, session: &'a Session) -> Self {
        let call = item.call.as_ref().filter(|_| item.kind == Kind::Result).and_then(|id| session.call(id));
        Self { call, ..Self::alone(item, session) }
    }

    /// An item without a call.
    pub(crate) fn alone(item: &'a Item, session: &'a Session) -> Self {
        Self { item, session, call: None, is_frame: false }
    }

    /// The tool of the item or its call.
    pub(crate) fn tool(&self) -> Option<&'a str> {
        self.item.tool.as_deref().or_else(|| self.call?.tool.as_deref())
    }

    /// The action of the tool.
    pub(crate) fn action(&self) -> Option<Action> {
        self.item.action().or_else(|| self.call?.action())
    }

    /// Fills a template for a field. Returns `None` if a value that it names is missing.
    pub(crate) fn fill(&self, template: &Template, field: ToolField) -> Option<Text> {
        let item = if field == ToolField::Label { self.call.unwrap_or(self.item) } else { self.item };
        let text = filled(template, field, item, self)?;
        // A blank summary would hide the result's content.
        (field != ToolField::Summary || !text.trim().is_empty()).then_some(text)
    }

    /// Whether a template yields an argument for the call that this result answers.
    pub(crate) fn fills_call(&self, template: &Template) -> bool {
        let Some(call) = self.call.filter(|_| self.item.kind == Kind::Result) else { return false };
        filled(template, ToolField::Arg, call, self).is_some()
    }
}

/// For plugins.
#[cfg(any(feature = "lua", all(feature = "native", unix)))]
impl FormatRequest<'_> {
    /// Whether the item may still change.
    pub(crate) fn is_open(&self) -> bool {
        self.item.status == streamfmt_core::item::Status::Open
    }

    /// Describes what a plugin does with the item, for warnings.
    pub(crate) fn doing(&self) -> String {
        let what = match self.tool() {
            Some(tool) => tool,
            None if self.is_frame => "frame",
            None => self.item.kind.name(),
        };
        let result = if self.item.kind == Kind::Result { "the result of " } else { "" };
        format!("formatting {result}{what} (line {})", self.item.line)
    }
}

/// Fills a template with the fields of an item: that of the request, or its call. Returns `None` if a value is
/// missing.
fn filled(template: &Template, field: ToolField, item: &Item, request: &FormatRequest<'_>) -> Option<Text> {
    let value = |keys: &[String]| {
        let simple = match (field, keys) {
            (ToolField::Label, [name]) => of_call(item, request.tool(), name),
            (ToolField::Summary, [name]) => of_result(item, name),
            _ => None,
        };
        simple.or_else(|| {
            let input = if field == ToolField::Summary { None } else { item.input() };
            of_value(input?, keys)
        })
    };
    let relative = |path: String| request.session.facts().relative(Text::clean_owned(path)).into_string();
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
