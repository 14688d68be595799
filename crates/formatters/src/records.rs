//! Formats the nodes of a tree of records: the label, then the type of the record and its id, then all other fields.
//!
//! ```text
//! ≡ Website relaunch · project · startDate: 2026-01-05
//!     A new site by March.
//!   • Design · tasklist tl-1
//!     • Wireframes · task t-1 · priority: high
//! ```

use streamfmt_core::entry::{Block, Line, View};
use streamfmt_core::json::Value;
use streamfmt_core::records::{RecordTree, TreeNode};
use streamfmt_core::text::Text;

use crate::generic;

/// The separator between the parts of a title.
const BETWEEN: &str = "·";

/// Returns the view of a node; `None` if the schema has no such type.
pub(crate) fn node_view(tree: &RecordTree, node: &TreeNode) -> Option<View> {
    let schema = tree.schema();
    let kind = schema.types.get(node.kind)?;
    let record = node.record.root();
    // The nodes of the fields that are shown already.
    let mut known = Vec::new();
    // The name of the type is shown instead.
    take(record, "type", &mut known);
    let mark = if kind.parent.is_none() { "plan" } else { "plain" };
    let mut view = View::titled(mark, Line::default());
    let label = take(record, &kind.label, &mut known).map(shown).filter(|label| !label.trim().is_empty());
    view.title.push("record.label", label.unwrap_or(Text::own("(no name)")));
    let mut about = kind.name.clone();
    if let Some(id) = kind.id.as_ref().and_then(|field| take(record, field, &mut known)) {
        about = format!("{about} {}", shown(id));
    }
    push_note(&mut view.title, Text::clean_owned(about));
    let parent_field = kind.parent.as_ref().and_then(|parent| parent.field.as_deref());
    if let Some(field) = parent_field.filter(|_| node.parent().is_some()) {
        take(record, field, &mut known);
    }
    let text = kind.text.as_ref().and_then(|field| take(record, field, &mut known)).map(shown);
    for field in &kind.fields {
        let value = record.get(&field.name).filter(|value| !known.contains(&value.node()));
        let Some(text) = value.map(shown).filter(|text| generic::is_short(text)) else { continue };
        take(record, &field.name, &mut known);
        push_note(&mut view.title, Text::clean_owned(format!("{}: {text}", field.name)));
    }
    if node.updates > 0 {
        push_note(&mut view.title, Text::clean_owned(format!("updated {}", times(node.updates))));
    }
    if kind.parent.is_none()
        && let Some(end) = schema.end.as_ref().filter(|_| tree.is_complete())
    {
        push_note(&mut view.title, Text::clean(end));
    }
    if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
        view.body.push(Block::prose("record.text", text));
    }
    view.body.extend(generic::fields(record, &known, node.record.is_cut()));
    Some(view)
}

/// Returns the value of a field, and marks it as shown.
fn take<'r>(record: Value<'r>, field: &str, known: &mut Vec<u32>) -> Option<Value<'r>> {
    let value = record.get(field)?;
    known.push(value.node());
    Some(value)
}

fn push_note(title: &mut Line, note: Text) {
    title.push("record.note", Text::own(BETWEEN));
    title.push("record.note", note);
}

fn times(count: u32) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// Returns a value as text: the content of a string, or the JSON of any other value.
fn shown(value: Value<'_>) -> Text {
    value.str().map_or_else(|| Text::clean(value.raw()), Text::from_json)
}
