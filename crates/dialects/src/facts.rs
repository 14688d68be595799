//! Parts of items that all dialects build alike: facts that are JSON values, and the content of results.

use streamfmt_core::item::{Content, Fact, Item, Status};
use streamfmt_core::json::{self, Value};
use streamfmt_core::text::Text;

/// Returns facts of these names for the values that are present.
pub(super) fn nodes<'a>(
    values: impl IntoIterator<Item = (&'static str, Option<Value<'a>>)>,
) -> impl Iterator<Item = (&'static str, Fact)> {
    values.into_iter().filter_map(|(name, value)| Some((name, Fact::Node(value?.node()))))
}

/// Returns a string as the text of an item, and no text for any other value.
pub(super) fn string(value: Option<Value<'_>>) -> Content {
    match value {
        Some(text) if text.kind() == json::ValueKind::String => Content::Node(text.node()),
        _ => Content::None,
    }
}

/// Returns strings, one below the other, as the text of an item.
pub(super) fn strings(nodes: Vec<u32>) -> Content {
    match nodes[..] {
        [] => Content::None,
        [one] => Content::Node(one),
        _ => Content::Parts(nodes),
    }
}

/// Returns the value if it is a string that isn't empty.
pub(super) fn filled(value: Option<Value<'_>>) -> Option<Value<'_>> {
    value.filter(|value| value.str().is_some_and(|text| !text.raw().is_empty()))
}

/// Adds a list of facts to an item, unless it is empty.
pub(super) fn push_list(item: &mut Item, name: &'static str, facts: Vec<Fact>) {
    if !facts.is_empty() {
        item.data.push((name, Fact::List(facts)));
    }
}

/// Marks an item as one that reports a failure.
pub(super) fn fail(item: &mut Item) {
    (item.error, item.status) = (true, Status::Failed);
}

/// Marks a notice as minor.
pub(super) fn minor(mut notice: Item) -> Item {
    notice.data.push(("minor", Fact::Bool(true)));
    notice
}

/// Marks a notice as a minor one whose content another item repeats.
pub(super) fn echoed(notice: Item) -> Item {
    let mut notice = minor(notice);
    notice.data.push(("echo", Fact::Bool(true)));
    notice
}

/// Sets the level of a notice: `info`, `warning` or `error`.
pub(super) fn leveled(mut notice: Item, level: &str) -> Item {
    notice.error = level == "error";
    notice.data.push(("level", Fact::Text(level.to_owned())));
    notice
}

/// Whether a value of a type that isn't interpreted reports a failure: a field `error`, `failed` or `lost` that isn't empty, or a level
/// above `info`.
pub(super) fn reports_failure(value: Value<'_>) -> bool {
    let [error, failed, lost, level] = value.get_all(["error", "failed", "lost", "level"]);
    let is_severe = |level: Value<'_>| {
        level.str().is_some_and(|level| ["warning", "warn", "error"].iter().any(|name| level.is(name)))
    };
    [error, failed, lost].into_iter().flatten().any(has_content) || level.is_some_and(is_severe)
}

/// Whether a value is neither `null`, `false` or 0, nor empty.
fn has_content(value: Value<'_>) -> bool {
    match value.kind() {
        json::ValueKind::Null | json::ValueKind::False => false,
        json::ValueKind::True => true,
        json::ValueKind::Number => value.float() != Some(0.0),
        json::ValueKind::String => value.str().is_some_and(|text| !text.is_blank()),
        json::ValueKind::Array => value.items().next().is_some(),
        json::ValueKind::Object => value.entries().next().is_some(),
    }
}

/// Returns a text without a copy of itself: some agents join the JSON that a tool returned as a text with the same as a structured value.
pub(super) fn without_repeated_json(text: Text) -> Text {
    if !text.trim_start().starts_with(['{', '[']) {
        return text;
    }
    let halves = [text.split_once('\n'), text.trim_end().rsplit_once('\n')];
    let once = halves.into_iter().flatten().find(|(one, other)| compact(one).eq(compact(other)));
    once.map(|(one, _)| Text::clean(one.trim())).unwrap_or(text)
}

/// Returns the bytes of a JSON text that aren't blanks between its values.
fn compact(json: &str) -> impl Iterator<Item = u8> {
    let (mut is_string, mut is_escaped) = (false, false);
    json.bytes().filter(move |byte| {
        if is_string {
            is_string = is_escaped || *byte != b'"';
            is_escaped = !is_escaped && *byte == b'\\';
            return true;
        }
        is_string = *byte == b'"';
        !byte.is_ascii_whitespace()
    })
}

/// Adds the content of a result block to an item: its texts, its images, its search hits, and any other parts.
pub(super) fn result_content(item: &mut Item, content: Option<Value<'_>>) {
    let Some(body) = content else { return };
    match body.kind() {
        json::ValueKind::String => item.text = Content::Node(body.node()),
        json::ValueKind::Array => {
            let mut texts = Vec::new();
            let (mut images, mut hits, mut more) = (Vec::new(), Vec::new(), Vec::new());
            for part in body.items() {
                let kind = part.get("type").and_then(Value::decode).unwrap_or_default();
                match &*kind {
                    "text" | "Text" | "input_text" | "inputText" | "output_text"
                        if part.get("text").is_some_and(|text| text.kind() == json::ValueKind::String) =>
                    {
                        texts.extend(part.get("text").map(Value::node));
                    }
                    "image" | "document" | "input_image" | "inputImage" | "local_image" => {
                        images.push(image(part));
                    }
                    "web_search_result" => hits.push(Fact::Node(part.node())),
                    _ if part.kind() == json::ValueKind::String => texts.push(part.node()),
                    _ => more.push(Fact::Node(part.node())),
                }
            }
            item.text = strings(texts);
            for (name, facts) in [("images", images), ("hits", hits), ("more", more)] {
                push_list(item, name, facts);
            }
        }
        json::ValueKind::Null => {}
        _ => item.data.push(("more", Fact::List(vec![Fact::Node(body.node())]))),
    }
}

/// Returns the facts of an image or document: its type, name and size, and a reference to its Base64 data, which isn't copied.
pub(super) fn image(block: Value<'_>) -> Fact {
    let source = block.get("source").unwrap_or(block);
    let media = nodes(["media_type", "mimeType"].map(|name| ("media", source.get(name))));
    let names = nodes(["url", "file_id", "path"].map(|name| ("name", source.get(name))));
    let mut facts: Vec<_> = media.chain(names).chain(nodes([("name", block.get("title"))])).collect();
    if let Some((data, base64)) = source.get("data").and_then(|data| Some((data, data.str()?))) {
        facts.push(("bytes", Fact::Int(decoded_size(base64.raw()))));
        facts.push(("data", Fact::Bytes(data.node())));
    }
    let address = block.get("image_url").or(block.get("imageUrl")).unwrap_or(block);
    if let Some(url) = address.decode() {
        match url.strip_prefix("data:").and_then(|url| url.split_once(";base64,")) {
            Some((media, base64)) => {
                facts.push(("media", Fact::Text(media.to_owned())));
                facts.push(("bytes", Fact::Int(decoded_size(base64))));
                facts.push(("data", Fact::Bytes(address.node())));
            }
            None => facts.push(("name", Fact::Node(address.node()))),
        }
    }
    if facts.is_empty() {
        facts.push(("value", Fact::Node(block.node())));
    }
    Fact::Map(facts)
}

/// Returns the number of bytes that Base64 decodes to: three for four characters, less the padding.
pub(super) fn decoded_size(base64: &str) -> i64 {
    let padding = base64.len() - base64.trim_end_matches('=').len();
    (base64.len() as u64 / 4 * 3).saturating_sub(padding as u64).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_structured_value_is_no_second_text() {
        for (text, expected) in [
            (r#"{"a":[1," x"]}|{"a": [1, " x"]}"#, Some(r#"{"a":[1," x"]}"#)),
            (r#"{|  "a": "\\\""|}||{"a":"\\\""}"#, Some(r#"{|  "a": "\\\""|}"#)),
            (r#"{"a":" x"}|{"a":"x"}"#, None),
            ("{}", None),
            ("a|a", None),
            ("", None),
        ] {
            let text = text.replace('|', "\n");
            let expected = expected.map_or(text.clone(), |expected| expected.replace('|', "\n"));
            assert_eq!(without_repeated_json(Text::clean(&text)).as_str(), expected);
        }
    }
}
