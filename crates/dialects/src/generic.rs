//! JSON Lines of an unknown program: each object is an item with what is likely its text, time, type and level.
//!
//! Nothing is claimed for certain about them: no item is a reply or a result, and no outcome is known.

use streamfmt_core::dialect::{Decoder, Input};
use streamfmt_core::event::Event;
use streamfmt_core::item::{Content, Fact, Kind};
use streamfmt_core::json::{Value, ValueKind};

use crate::facts::filled;
use crate::item_builder::ItemBuilder;

/// The fields that are likely the text of a line, the likeliest first, as loggers name them.
const TEXTS: [&str; 8] = ["msg", "message", "text", "content", "body", "log", "summary", "description"];
/// The fields that are likely its time.
const TIMES: [&str; 9] =
    ["timestamp", "time", "ts", "@timestamp", "datetime", "date", "created_at", "createdAt", "at"];
/// The fields that are likely its type.
const TYPES: [&str; 3] = ["type", "event", "kind"];
/// The fields that are likely its level.
const LEVELS: [&str; 5] = ["level", "severity", "lvl", "loglevel", "log.level"];

/// The decoder. It has no state: each line is decoded by itself.
pub(super) struct Generic;

impl Decoder for Generic {
    fn decode(&mut self, input: Input<'_>, out: &mut Vec<Event>) {
        let value = input.value;
        let mut builder = ItemBuilder::new(input, (), input.parent.cloned(), None, out);
        let mut item = builder.unnamed_item(Kind::Unknown);
        if value.kind() != ValueKind::Object {
            item.text = Content::Own(value.raw().to_owned());
            item.data.push(("raw", Fact::Bool(true)));
            return builder.put(item);
        }
        let (text, kind) = (filled_first(value, TEXTS), filled_first(value, TYPES));
        // Of an object without a text, the type is all that can be read.
        if let Some(text) = text.or(kind) {
            item.text = Content::Node(text.node());
        }
        item.at = value.get_all(TIMES).into_iter().flatten().find(|time| is_time(*time)).map(Value::node);
        item.data.extend(kind.filter(|_| text.is_some()).map(|kind| ("type", Fact::Node(kind.node()))));
        let level = value.get_all(LEVELS).into_iter().flatten().find(|level| level_of(*level).is_some());
        if let Some(level) = level {
            item.error = level_of(level) == Some("error");
            item.data.push((
                "level",
                Fact::Made(|level| Some(Fact::Text(level_of(level)?.to_owned())), level.node()),
            ));
        }
        item.data.push(("value", Fact::Node(value.node())));
        builder.put(item);
    }

    fn end(&mut self, _: &mut Vec<Event>) {}
}

/// Returns the first of these fields that is a text with words.
fn filled_first<'a, const N: usize>(value: Value<'a>, names: [&str; N]) -> Option<Value<'a>> {
    let fields = value.get_all(names).into_iter().flatten();
    fields
        .map(Some)
        .find_map(|field| filled(field).filter(|text| text.str().is_some_and(|text| !text.is_blank())))
}

/// Whether a value is a time: a number of seconds or their fractions since 1970, or a text that begins with a year.
fn is_time(value: Value<'_>) -> bool {
    match value.kind() {
        ValueKind::Number => value.float().is_some_and(|number| number >= 1e9),
        ValueKind::String => {
            let digits = value.decode().map_or(0, |text| text.bytes().take_while(u8::is_ascii_digit).count());
            digits == 4
        }
        _ => false,
    }
}

/// Returns the level that a value names, in our terms: by the names of syslog and loggers, or by the numbers of Bunyan and Pino.
fn level_of(value: Value<'_>) -> Option<&'static str> {
    if let Some(number) = value.int() {
        return Some(match number {
            50.. => "error",
            40..50 => "warning",
            10..40 => "info",
            _ => return None,
        });
    }
    let name = value.decode()?.to_ascii_lowercase();
    Some(match &*name {
        "error" | "err" | "fatal" | "critical" | "crit" | "alert" | "emerg" | "emergency" | "panic" => {
            "error"
        }
        "warn" | "warning" => "warning",
        "info" | "information" | "notice" | "debug" | "trace" | "verbose" | "log" => "info",
        _ => return None,
    })
}
