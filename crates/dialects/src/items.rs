//! Items read back from their lines of JSON.

use std::fmt;
use std::sync::Arc;

use streamfmt_core::contract::{ItemLine, write_does};
use streamfmt_core::item::{Action, Content, Does, Fact, Item, facts};
use streamfmt_core::json::{Record, Str, Value, ValueKind};

/// Why a text isn't the line of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// What is wrong, and where.
    pub message: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a line of `--to items`: {}", self.message)
    }
}

impl std::error::Error for ReadError {}

fn wrong(message: impl fmt::Display) -> ReadError {
    ReadError { message: message.to_string() }
}

/// Reads a line of `--to items`, and keeps it as the item's record.
///
/// Fields and facts that aren't known are ignored. Texts stay as they are written there, faithful to the stream; they are cleaned where
/// they enter an entry, as those of any item are. Written again the item is the same line.
///
/// A line doesn't hold all that a dialect knows: the bytes of pictures, the record of the stream, and what of a result's text its
/// agent's program put around it.
///
/// ```
/// use streamfmt_core::item::Kind;
///
/// let line = r#"{"v":1,"id":"t1/result","place":2,"kind":"result","status":"failed","line":7,"tool":"Bash","action":"run","call":"t1","text":"no such file","error":true,"data":{"exit":2}}"#;
/// let item = streamfmt_dialects::read_item(line)?;
/// assert_eq!((item.kind, &*item.text()), (Kind::Result, "no such file"));
/// assert_eq!(item.fact("exit").and_then(|exit| exit.int()), Some(2));
/// # Ok::<(), streamfmt_dialects::ReadError>(())
/// ```
pub fn read_item(line: &str) -> Result<Item, ReadError> {
    let told: ItemLine = serde_json::from_str(line).map_err(wrong)?;
    let record = Record::from_line(line.to_owned())
        .map_err(|(damage, _)| wrong(format!("it is no JSON at byte {}", damage.at)))?;
    let field = |name: &str, kind: ValueKind| match record.root().get(name).filter(|field| !field.is_null()) {
        Some(field) if field.kind() != kind => Err(wrong(format!("`{name}` is of another type"))),
        field => Ok(field),
    };
    let mut item = Item::new(told.id, told.kind, told.line);
    (item.parent, item.place, item.status) = (told.parent, told.place, told.status);
    (item.session, item.call) = (told.session.map(Into::into), told.call);
    item.error = told.error.unwrap_or(false);
    item.at = field("at", ValueKind::String)?.map(Value::node);
    item.text = field("text", ValueKind::String)?.map_or(Content::None, |text| Content::Node(text.node()));
    item.input = record.root().get("input").map(Value::node);
    let does = field("does", ValueKind::Object)?;
    if let Some(data) = field("data", ValueKind::Object)? {
        read_facts(&mut item, data);
    }
    // As far as facts were made, it was of the input.
    let does = does.map(|does| (does.raw().to_owned(), parts(does), item.input.unwrap_or(does.node())));
    item.record = Some(Arc::new(record));
    name_tool(&mut item, told.tool.as_deref(), told.action);
    if let Some((written, facts, of)) = does {
        // Where the tool is known, its input tells more: which of its parts have no common name.
        let mut same = String::new();
        if write_does(&item, &mut same).is_err() || same != written {
            item.does = Some(Does::Facts { facts, of });
        }
    }
    Ok(item)
}

/// The tool, and what it does as far as its name and its action tell.
fn name_tool(item: &mut Item, tool: Option<&str>, action: Option<Action>) {
    if let Some(tool) = tool {
        // The facts of its name are in the line, if the dialect told them.
        let told = std::mem::take(&mut item.data);
        crate::set_tool(item, tool);
        item.data = told;
    }
    match action {
        Some(action) if item.action() != Some(action) => crate::set_action(item, action),
        Some(_) => {}
        None => (item.deed, item.does) = (None, None),
    }
}

/// The facts of these names, the first of each; those that are of another type come behind the others.
fn read_facts(item: &mut Item, data: Value<'_>) {
    let odd = data.get("odd").filter(|odd| odd.kind() == ValueKind::Object);
    let all = data.entries().chain(odd.into_iter().flat_map(Value::entries));
    for (name, value) in known(all, facts::FACTS) {
        match name {
            "odd" => {}
            "mode_only" if data.get("changed").is_some() => {}
            "mode_only" => item.data.push(("changed", Fact::Text("mode".to_owned()))),
            "quiet" if data.get("minor").is_some() => {}
            "say" if data.get("words").is_some() => {}
            name => item.data.push(crate::fact(name, value.node())),
        }
    }
}

/// The parts of what a call does.
fn parts(does: Value<'_>) -> Box<[(&'static str, Fact)]> {
    known(does.entries(), facts::DOES)
        .into_iter()
        .map(|(name, value)| (name, Fact::Node(value.node())))
        .collect()
}

/// Values whose names are rows of a table, the first of each name: there are no more of them than rows.
fn known<'a>(
    values: impl Iterator<Item = (Str<'a>, Value<'a>)>,
    rows: &'static [facts::FactRow],
) -> Vec<(&'static str, Value<'a>)> {
    let mut found: Vec<(&'static str, Value<'a>)> = Vec::new();
    for (name, value) in values {
        let Some((name, _)) = rows.iter().find(|(row, _)| name.is(row)) else { continue };
        if found.iter().all(|(before, _)| before != name) {
            found.push((name, value));
        }
    }
    found
}
