//! What Gemini CLI and its forks write around the results of searches, of listings, and of tools of MCP servers.

use streamfmt_core::item::{Fact, Item, ToolKind};
use streamfmt_core::json::{Record, Value};
use streamfmt_core::text::Text;

use crate::facts::{push_list, without_repeated_json};

/// The beginning of the result of a search that found something. The number of hits follows.
const FOUND: &str = "Found ";
/// The line between the number of hits and the hits.
const RULE: &str = "---\n";
/// The same before a note that there are more.
const CUT: &str = "\n---\n[";
/// The beginning of the line above the names in a folder.
const LISTING: &str = "Directory listing for ";
/// The beginning of the error of an MCP tool, and what precedes its response in it.
const FAILED: [&str; 2] = ["MCP tool '", " with response: "];
/// The beginning of a line that stands for a picture, and what precedes the picture's type in it.
const PICTURE: [&str; 2] = ["[Tool '", "' provided the following image data with mime-type: "];

/// What the program writes.
pub(crate) const SENTENCES: [&str; 2] = [LISTING, PICTURE[1]];

/// Adds the facts in the text of a result, and removes what is around it from the text for people.
pub(crate) fn add_facts(result: &mut Item) {
    match result.tool_kind {
        Some(ToolKind::Find | ToolKind::Grep) if !result.error && result.fact("content").is_none() => {
            add_hits(result);
        }
        Some(ToolKind::List) if !result.error => result.words = Some(|_, text| listed(&text).unwrap_or(text)),
        Some(ToolKind::Mcp) => {
            let text = result.text();
            let pictures = text.lines().filter_map(picture);
            let pictures = pictures.map(|media| Fact::Map(vec![("media", Fact::Text(media.to_owned()))]));
            let pictures: Vec<_> = pictures.collect();
            if result.fact("images").is_none() {
                push_list(result, "images", pictures);
            }
            result.words = Some(mcp_words);
        }
        _ => {}
    }
}

/// Adds what a search found.
fn add_hits(result: &mut Item) {
    let text = result.text().into_owned();
    let Some(found) = text.strip_prefix(FOUND) else { return };
    let (head, hits) = found.split_once('\n').unwrap_or((found, ""));
    let Some(total) = head.split(' ').next().and_then(|number| number.parse::<i64>().ok()) else { return };
    let hits = hits.strip_prefix(RULE).unwrap_or(hits);
    let (hits, is_cut) = hits.rsplit_once(CUT).map_or((hits, false), |(hits, _)| (hits, true));
    let hits = hits.trim_end();
    if is_cut {
        result.data.push(("truncated", Fact::Bool(true)));
    }
    if result.tool_kind == Some(ToolKind::Find) {
        let files: Vec<_> =
            hits.lines().filter(|path| !path.is_empty()).map(|path| Fact::Text(path.to_owned())).collect();
        let count = if files.is_empty() { total } else { i64::try_from(files.len()).unwrap_or(i64::MAX) };
        result.data.extend([("count", Fact::Int(count)), ("total", Fact::Int(total))]);
        push_list(result, "files", files);
    } else if !hits.is_empty() {
        result.data.extend([
            ("mode", Fact::Text("content".to_owned())),
            ("content", Fact::Text(hits.to_owned())),
            ("lines", Fact::Int(total)),
        ]);
    }
}

/// Returns the names in a folder.
fn listed(text: &Text) -> Option<Text> {
    let (head, names) = text.split_once('\n')?;
    (head.starts_with(LISTING) && head.ends_with(':')).then(|| Text::clean(names))
}

/// Returns the type of the picture that a line stands for.
fn picture(line: &str) -> Option<&str> {
    line.strip_prefix(PICTURE[0])?.strip_suffix(']')?.split_once(PICTURE[1]).map(|(_, media)| media)
}

/// Returns the text of an MCP tool's result for people.
fn mcp_words(result: &Item, text: Text) -> Text {
    if result.error {
        return reported(&text).unwrap_or(text);
    }
    if !text.contains(PICTURE[1]) {
        return without_repeated_json(text);
    }
    let (mut words, mut media) = (Vec::new(), None);
    for line in text.lines() {
        if let Some(kind) = picture(line) {
            media = Some(kind);
            continue;
        }
        // A stream has a second line for the picture.
        let inside = line.strip_prefix('[').and_then(|line| line.strip_suffix(']'));
        let before = media.take();
        if before.is_none() || before != inside {
            words.push(line);
        }
    }
    Text::clean(&words.join("\n"))
}

/// Returns the texts in the response of an MCP tool that failed, which is in the error as JSON.
fn reported(error: &str) -> Option<Text> {
    let (_, response) = error.strip_prefix(FAILED[0])?.split_once(FAILED[1])?;
    let record = Record::from_line(response.trim_end().to_owned()).ok()?;
    let texts: Vec<_> = record
        .root()
        .items()
        .filter_map(|part| {
            let response = part.get("functionResponse")?.get("response")?;
            let failed = response.get("error").and_then(|error| error.get("content"));
            failed.or_else(|| response.get("content"))
        })
        .flat_map(Value::items)
        .filter_map(|block| block.get("text")?.decode())
        .collect();
    (!texts.is_empty()).then(|| Text::clean(&texts.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use streamfmt_core::item::{Content, FactRef, Kind};

    fn result(tool_kind: ToolKind, text: &str) -> Item {
        let mut result = Item::new("r", Kind::Result, 1);
        result.tool_kind = Some(tool_kind);
        result.text = Content::Own(text.to_owned());
        add_facts(&mut result);
        result
    }

    #[test]
    fn hits_follow_the_line_that_counts_them() {
        for (tool_kind, text, expected) in [
            (ToolKind::Find, "Found 2 file(s) matching \"*\" in x:\n---\na\nb", "2 2 a,b"),
            (ToolKind::Find, "Found 7 file(s):\n/a\n---\n[6 files truncated] ...", "1 7 /a cut"),
            (ToolKind::Find, "Found 3 matching file(s)", "3 3 "),
            (ToolKind::Find, "Found several", "- - "),
            (ToolKind::Find, "No files found", "- - "),
        ] {
            let result = result(tool_kind, text);
            let number = |name| result.fact(name).and_then(FactRef::int);
            let number = |name| number(name).map_or("-".to_owned(), |number| number.to_string());
            let files = result.fact("files").map(FactRef::list).unwrap_or_default();
            let files: Vec<_> = files.into_iter().filter_map(FactRef::text).map(Text::into_string).collect();
            let cut = if result.fact("truncated").is_some() { " cut" } else { "" };
            let shown = format!("{} {} {}{cut}", number("count"), number("total"), files.join(","));
            assert_eq!(shown, expected, "{text}");
        }
        let grep = result(ToolKind::Grep, "Found 2 matches for pattern \"x\" in y:\n---\na:1:x\nb:2:x\n");
        assert_eq!(grep.fact("content").and_then(FactRef::text).as_deref(), Some("a:1:x\nb:2:x"));
    }

    #[test]
    fn the_texts_of_an_mcp_tool_have_nothing_around_them() {
        for (text, is_error, expected) in [
            ("{\"a\":1}\n{\"a\": 1}", false, "{\"a\":1}"),
            (
                "shelf\n[Tool 't' provided the following image data with mime-type: image/png]\n[image/png]\n[x]",
                false,
                "shelf\n[x]",
            ),
            (
                "MCP tool 't' reported tool error for function call: {\"name\":\"t\"} with response: \
                 [{\"functionResponse\":{\"response\":{\"error\":{\"content\":[{\"type\":\"text\",\"text\":\"no\"}]}}}}]",
                true,
                "no",
            ),
            ("MCP tool 't' reported tool error with response: [", true, ""),
        ] {
            let mut result = Item::new("r", Kind::Result, 1);
            (result.tool_kind, result.error) = (Some(ToolKind::Mcp), is_error);
            result.text = Content::Own(text.to_owned());
            add_facts(&mut result);
            assert_eq!(result.words().as_str(), if expected.is_empty() { text } else { expected });
        }
    }
}
