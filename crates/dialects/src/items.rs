//! Reads items back from the JSON lines of `--to items`.

use std::fmt;

use streamfmt_core::contract::{ItemLine, write_does};
use streamfmt_core::item::{Action, Content, Does, Fact, Item, facts};
use streamfmt_core::json::{Record, Str, Value, ValueKind};

/// Why a text isn't the line of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// The defect and its position.
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

/// Parses a line of `--to items`, which becomes the item's record.
///
/// Unknown fields and facts are ignored. Texts are kept verbatim; like those of any item, they are cleaned when they enter an entry.
/// Writing the item again gives the same line.
///
/// A line lacks some of what a dialect knows: the bytes of images, the record of the stream, and which parts of a result's text were
/// added by the agent's program.
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
    let parsed: ItemLine = serde_json::from_str(line).map_err(wrong)?;
    let record = Record::from_line(line.to_owned())
        .map_err(|(damage, _)| wrong(format!("it is no JSON at byte {}", damage.at)))?;
    let field = |name: &str, kind: ValueKind| match record.root().get(name).filter(|field| !field.is_null()) {
        Some(field) if field.kind() != kind => Err(wrong(format!("`{name}` is of another type"))),
        field => Ok(field),
    };
    let mut item = Item::new(parsed.id, parsed.kind, parsed.line);
    (item.parent, item.place, item.status) = (parsed.parent, parsed.place, parsed.status);
    (item.session, item.call) = (parsed.session.map(Into::into), parsed.call);
    item.error = parsed.error.unwrap_or(false);
    item.at = field("at", ValueKind::String)?.map(Value::node);
    item.text = field("text", ValueKind::String)?.map_or(Content::None, |text| Content::Node(text.node()));
    item.input = record.root().get("input").map(Value::node);
    let does = field("does", ValueKind::Object)?;
    if let Some(data) = field("data", ValueKind::Object)? {
        read_facts(&mut item, data);
    }
    // Any derived facts were made from the input.
    let does = does.map(|does| (does.raw().to_owned(), parts(does), item.input.unwrap_or(does.node())));
    item.record = Some(record);
    name_tool(&mut item, parsed.tool.as_deref(), parsed.action);
    if let Some((written, facts, of)) = does {
        // Where the tool is known, reading its input gives more: it also shows which parts have no common name.
        let mut same = String::new();
        if write_does(&item, &mut same).is_err() || same != written {
            item.does = Some(Does::Facts { facts, of });
        }
    } else if !item.does().parts().is_empty() {
        // Its dialect didn't know the tool, though that of another agent has its name.
        item.does = None;
    }
    Ok(item)
}

/// Sets the tool, its kind and the facts of its input, as far as its name and action determine them.
fn name_tool(item: &mut Item, tool: Option<&str>, action: Option<Action>) {
    if let Some(tool) = tool {
        // The line already has the facts of the name, if the dialect set them.
        let data = std::mem::take(&mut item.data);
        crate::set_tool(item, tool);
        item.data = data;
    }
    match action {
        Some(action) if item.action() != Some(action) => crate::set_action(item, action),
        Some(_) => {}
        None => (item.tool_kind, item.does) = (None, None),
    }
}

/// Adds the facts of `data` to the item: the first of each known name. Facts of an unexpected type (`odd`) come last.
fn read_facts(item: &mut Item, data: Value<'_>) {
    let odd = data.get("odd").filter(|odd| odd.kind() == ValueKind::Object);
    let all = data.entries().chain(odd.into_iter().flat_map(Value::entries));
    for (name, value) in known(all, facts::FACTS) {
        match name {
            "odd" => {}
            name => item.data.push(crate::fact(name, value.node())),
        }
    }
}

/// Returns the known parts of `does`.
fn parts(does: Value<'_>) -> Box<[(&'static str, Fact)]> {
    known(does.entries(), facts::DOES)
        .into_iter()
        .map(|(name, value)| (name, Fact::Node(value.node())))
        .collect()
}

/// Returns the values whose names are rows of a table, the first of each name. This bounds their number by that of the rows.
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
