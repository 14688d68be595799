//! Writes the lines of machine output, those of items by hand.
//!
//! Every line is safe to print: characters that could control a terminal or hide text are escaped (`\u001b`). Texts of items are
//! otherwise unchanged; those of entries were cleaned before.

use std::fmt::{self, Write};
use std::io;
use std::ops::Deref;

use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::ser::{CharEscape, CompactFormatter, Formatter};
use serde_json::value::RawValue;
use wide::u8x16;

use super::{EntryLine, VERSION, fact_shape};
use crate::find::length_before;
use crate::item::{Action, Content, Fact, FactRef, Id, Item, Kind};
use crate::json::{Str, Value, ValueKind, string_length};
use crate::outline::{Node, Update};
use crate::text::{is_dangerous, is_joiner};

/// Containers nested more deeply than this are written as a string with their JSON.
const MAX_DEPTH: usize = 64;
/// The size of the pieces in which JSON is passed on, in bytes.
const PIECE: usize = 4 << 10;

/// Writes the entry of a node as a line.
pub fn write_entry(node: &Node, out: &mut dyn Write) -> fmt::Result {
    write_line(&EntryLine::of(node), out)
}

/// Writes an update as a line.
pub fn write_update(update: &Update, out: &mut dyn Write) -> fmt::Result {
    write_line(update, out)
}

/// Serialises a value as a line.
fn write_line(value: &impl Serialize, out: &mut dyn Write) -> fmt::Result {
    let mut pieces = EscapedText { out, held: Vec::with_capacity(PIECE) };
    let mut serializer = serde_json::Serializer::with_formatter(&mut pieces, ControlEscapes);
    value.serialize(&mut serializer).map_err(|_| fmt::Error)?;
    pieces.pass_on()?;
    out.write_char('\n')
}

/// Buffers JSON from the serialiser, and passes it on with dangerous characters escaped. Each write must consist of whole characters.
struct EscapedText<'a> {
    out: &'a mut dyn Write,
    held: Vec<u8>,
}

impl EscapedText<'_> {
    fn pass_on(&mut self) -> fmt::Result {
        let written = write_escaped(&self.held, self.out);
        self.held.clear();
        written
    }
}

impl io::Write for EscapedText<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.held.len() + bytes.len() > PIECE {
            self.pass_on().map_err(io::Error::other)?;
            if bytes.len() > PIECE {
                return write_escaped(bytes, self.out).map_err(io::Error::other);
            }
        }
        self.held.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes JSON with escapes for characters that could control a terminal or hide text, all of which are in strings. It searches
/// whole pieces rather than single strings, because most strings are short.
fn write_escaped(json: &[u8], out: &mut dyn Write) -> fmt::Result {
    let mut rest = simdutf8::basic::from_utf8(json).map_err(|_| fmt::Error)?;
    let is_wanted = |byte| byte >= DELETE;
    let wanted = |bytes: u8x16| bytes.max(u8x16::splat(DELETE)).simd_eq(bytes).to_bitmask();
    while let Some((at, ch)) = next_harmful(rest, is_wanted, wanted) {
        out.write_str(&rest[..at])?;
        escape(out, ch)?;
        rest = &rest[at + ch.len_utf8()..];
    }
    out.write_str(rest)
}

/// The only ASCII control character that JSON doesn't require to be escaped.
const DELETE: u8 = 0x7f;

/// Writes backspace and form feed as `\u` escapes, like [`write_string`].
struct ControlEscapes;

impl Formatter for ControlEscapes {
    fn write_char_escape<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        match escape {
            CharEscape::Backspace => out.write_all(b"\\u0008"),
            CharEscape::FormFeed => out.write_all(b"\\u000c"),
            other => CompactFormatter.write_char_escape(out, other),
        }
    }
}

impl Serialize for Item {
    /// Writes the line of `--to items`. Works only with `serde_json`, because facts are passed on as raw JSON.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut line = String::new();
        write_item(self, &mut line).map_err(S::Error::custom)?;
        RawValue::from_string(line).map_err(S::Error::custom)?.serialize(serializer)
    }
}

/// Writes one item as a line.
pub fn write_item(item: &Item, out: &mut String) -> fmt::Result {
    let mut object = Object::open(out);
    object.field("v").write_fmt(format_args!("{VERSION}"))?;
    object.string("id", item.id.as_str())?;
    object.string_if("parent", item.parent.as_ref().map(Id::as_str))?;
    object.field("place").write_fmt(format_args!("{}", item.place))?;
    object.string("kind", item.kind.name())?;
    object.string("status", item.status.name())?;
    object.string_if("at", item.at().map(|at| at.to_string()).as_deref())?;
    object.string_if("session", item.session.as_deref())?;
    object.field("line").write_fmt(format_args!("{}", item.line))?;
    object.string_if("tool", item.tool.as_deref())?;
    object.string_if("action", item.action().map(Action::name))?;
    if item.kind == Kind::Call {
        let does = item.does();
        let parts = known(does.parts());
        if !parts.is_empty() {
            write_parts(&parts, object.field("does"))?;
        }
    }
    if let Some(input) = item.input() {
        value(object.field("input"), input)?;
    }
    object.string_if("call", item.call.as_ref().map(Id::as_str))?;
    if !matches!(item.text, Content::None) {
        object.string("text", &item.text())?;
    }
    if item.error {
        object.field("error").push_str("true");
    }
    let facts = item.facts();
    if !facts.is_empty() {
        data(object.field("data"), &facts)?;
    }
    object.close()?;
    out.write_char('\n')
}

/// A JSON object that is being written.
struct Object<'a> {
    out: &'a mut String,
    is_empty: bool,
}

impl<'a> Object<'a> {
    fn open(out: &'a mut String) -> Self {
        out.push('{');
        Self { out, is_empty: true }
    }

    /// Writes a name, which must need no escapes. Returns the output for its value.
    fn field(&mut self, name: &str) -> &mut String {
        self.out.push_str(if std::mem::take(&mut self.is_empty) { "\"" } else { ",\"" });
        self.out.push_str(name);
        self.out.push_str("\":");
        self.out
    }

    fn string(&mut self, name: &str, text: &str) -> fmt::Result {
        write_string(self.field(name), text)
    }

    fn string_if(&mut self, name: &str, text: Option<&str>) -> fmt::Result {
        text.map_or(Ok(()), |text| self.string(name, text))
    }

    fn close(self) -> fmt::Result {
        self.out.write_char('}')
    }
}

fn list<T>(
    out: &mut String,
    values: impl IntoIterator<Item = T>,
    mut each: impl FnMut(&mut String, T) -> fmt::Result,
) -> fmt::Result {
    out.write_char('[')?;
    for (index, value) in values.into_iter().enumerate() {
        if index > 0 {
            out.write_char(',')?;
        }
        each(out, value)?;
    }
    out.write_char(']')
}

/// Writes the arguments of a call.
pub fn write_does(item: &Item, out: &mut String) -> fmt::Result {
    write_parts(&known(item.does().parts()), out)
}

/// The arguments that have the type that their names promise. Others are only in the input.
fn known<N: Deref<Target = str>>(mut parts: Vec<(N, FactRef<'_>)>) -> Vec<(N, FactRef<'_>)> {
    parts.retain(|(name, part)| fact_shape::is_part(name, *part));
    parts
}

fn write_parts<N: Deref<Target = str>>(parts: &[(N, FactRef<'_>)], out: &mut String) -> fmt::Result {
    let mut inside = Object::open(out);
    for (name, part) in parts {
        write_part(inside.field(name), *part)?;
    }
    inside.close()
}

/// Writes an argument of a call. The recursion is limited by the depth of the tables of tools.
fn write_part(out: &mut String, part: FactRef<'_>) -> fmt::Result {
    match part {
        FactRef::Json(of) => value(out, of),
        FactRef::Sole(..) | FactRef::Made(_, Fact::List(_)) => list(out, part.list(), write_part),
        FactRef::Named(of, _) if of.kind() == ValueKind::Array => {
            list(out, part.list().into_iter().filter(|part| fact_shape::is_object(*part)), write_part)
        }
        FactRef::Named(..) | FactRef::Made(_, Fact::Map(_)) => write_parts(&known(part.parts()), out),
        FactRef::Of(..) | FactRef::Word(_) => write_string(out, &part.str().unwrap_or_default()),
        FactRef::Made(..) => fact(out, Some(part)),
    }
}

/// Writes the typed facts. Those without the type that their names promise are written under `odd`.
fn data(out: &mut String, facts: &[(&'static str, Option<FactRef<'_>>)]) -> fmt::Result {
    let mut object = Object::open(out);
    if !named(&mut object, facts, fact_shape::fits)? {
        let mut odd = Object::open(object.field("odd"));
        named(&mut odd, facts, |name, known| !fact_shape::fits(name, known))?;
        odd.close()?;
    }
    object.close()
}

/// Writes the wanted facts that have a value, the first of each name, as formatters see them. Returns whether all facts are wanted.
fn named(
    object: &mut Object<'_>,
    facts: &[(&'static str, Option<FactRef<'_>>)],
    wants: impl Fn(&str, FactRef<'_>) -> bool,
) -> Result<bool, fmt::Error> {
    let mut has_others = false;
    for (at, (name, known)) in facts.iter().enumerate() {
        let Some(known) = *known else { continue };
        let is_wanted = wants(name, known);
        has_others |= !is_wanted;
        if !is_wanted || facts[..at].iter().any(|(other, _)| other == name) {
            continue;
        }
        match known {
            FactRef::Of(make, of) => {
                if let Some(fact) = make(of) {
                    scalar(object.field(name), &fact)?;
                }
            }
            FactRef::Made(_, Fact::Since(..)) => {
                if let Some(number) = known.int() {
                    write!(object.field(name), "{number}")?;
                }
            }
            FactRef::Made(_, Fact::Float(number)) if !number.is_finite() => {}
            FactRef::Made(_, Fact::Bytes(_)) => {}
            _ => fact(object.field(name), Some(known))?,
        }
    }
    Ok(!has_others)
}

/// Writes a fact; `null` if it has no value. The recursion is limited: dialects nest facts only a few levels deep.
fn fact(out: &mut String, known: Option<FactRef<'_>>) -> fmt::Result {
    match known {
        Some(FactRef::Json(of) | FactRef::Named(of, _)) => value(out, of),
        Some(FactRef::Made(item, Fact::List(known))) => {
            list(out, known, |out, known| fact(out, FactRef::new(item, known)))
        }
        Some(FactRef::Made(item, Fact::Map(known))) => {
            let facts: Vec<_> =
                known.iter().map(|(name, known)| (*name, FactRef::new(item, known))).collect();
            let mut object = Object::open(out);
            named(&mut object, &facts, |_, _| true)?;
            object.close()
        }
        Some(known @ FactRef::Made(_, Fact::Since(..))) => match known.int() {
            Some(number) => write!(out, "{number}"),
            None => out.write_str("null"),
        },
        Some(FactRef::Made(_, known)) => scalar(out, known),
        Some(FactRef::Of(make, of)) => match make(of) {
            Some(fact) => scalar(out, &fact),
            None => out.write_str("null"),
        },
        Some(FactRef::Word(word)) => write_string(out, word),
        Some(FactRef::Sole(..)) | None => out.write_str("null"),
    }
}

/// Writes a text, a number or a truth value; `null` for anything else.
fn scalar(out: &mut String, fact: &Fact) -> fmt::Result {
    match fact {
        Fact::Text(text) => write_string(out, text),
        Fact::Int(number) => write!(out, "{number}"),
        Fact::Float(number) if number.is_finite() => write!(out, "{number}"),
        Fact::Bool(truth) => write!(out, "{truth}"),
        _ => out.write_str("null"),
    }
}

/// Writes a JSON string with its quotes, and with escapes for characters that could control a terminal or hide text.
pub fn write_string(out: &mut (impl Write + ?Sized), text: &str) -> fmt::Result {
    out.write_char('"')?;
    let mut rest = text;
    while let Some((at, ch)) = next_escaped(rest) {
        out.write_str(&rest[..at])?;
        match ch {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\t' => out.write_str("\\t")?,
            '\r' => out.write_str("\\r")?,
            _ => escape(out, ch)?,
        }
        rest = &rest[at + ch.len_utf8()..];
    }
    out.write_str(rest)?;
    out.write_char('"')
}

/// The first character that must be escaped, and its offset.
fn next_escaped(text: &str) -> Option<(usize, char)> {
    next_harmful(text, |byte| !is_plain(byte), odd_ones)
}

/// The first character that could control a terminal or hide text, or is wanted and ASCII, and its offset. For `is_wanted` and `wanted`
/// see [`length_before`]; they must accept all bytes that aren't ASCII.
#[inline]
fn next_harmful(
    text: &str,
    is_wanted: impl Fn(u8) -> bool,
    wanted: impl Fn(u8x16) -> u32,
) -> Option<(usize, char)> {
    let mut at = 0;
    loop {
        at += length_before(&text.as_bytes()[at..], &is_wanted, &wanted);
        let ch = text[at..].chars().next()?;
        if ch.is_ascii() || is_dangerous(ch) || is_joiner(ch) {
            return Some((at, ch));
        }
        at += ch.len_utf8();
    }
}

/// Whether a byte is a character that needs no escape.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\')
}

/// A bit mask of the bytes that aren't [plain](is_plain).
fn odd_ones(bytes: u8x16) -> u32 {
    let [quote, backslash, last_control, delete] = [b'"', b'\\', 0x1f, 0x7f].map(u8x16::splat);
    let is_special = bytes.simd_eq(quote) | bytes.simd_eq(backslash);
    (is_special | bytes.min(last_control).simd_eq(bytes) | bytes.max(delete).simd_eq(bytes)).to_bitmask()
}

fn escape(out: &mut (impl Write + ?Sized), ch: char) -> fmt::Result {
    ch.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(out, "\\u{unit:04x}"))
}

/// Writes a value of a record with its key order and numbers, without blanks. Escapes are normalised, lone surrogates are replaced, and
/// containers nested too deeply are written as a string.
fn value(out: &mut String, value: Value<'_>) -> fmt::Result {
    match value.kind() {
        ValueKind::String => write_string(out, &value.str().map(Str::decode).unwrap_or_default()),
        ValueKind::Object | ValueKind::Array => container(out, value.raw()),
        _ => out.write_str(value.raw()),
    }
}

fn container(out: &mut String, raw: &str) -> fmt::Result {
    let bytes = raw.as_bytes();
    let (mut depth, mut at) = (0_usize, 0);
    // How much is written. The rest is written in stretches as long as possible.
    let mut written = 0;
    while at < bytes.len() {
        let start = at;
        match bytes[at] {
            b'"' => {
                at += string_length(&bytes[at..]);
                let inside = &raw[start + 1..at - 1];
                if next_escaped(inside).is_some() {
                    out.write_str(&raw[written..start])?;
                    write_string(out, &Str::of_raw(inside).decode())?;
                    written = at;
                }
                continue;
            }
            b'{' | b'[' if depth == MAX_DEPTH => {
                at += container_length(&bytes[at..]);
                out.write_str(&raw[written..start])?;
                write_string(out, &raw[start..at])?;
                written = at;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            byte if byte.is_ascii_whitespace() => {
                out.write_str(&raw[written..start])?;
                written = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    out.write_str(&raw[written..])
}

/// The length of the container at the start of valid JSON.
fn container_length(bytes: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at += string_length(&bytes[at..]);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            break;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Record;

    fn written(json: &str) -> String {
        let record = Record::from_line(json.to_owned()).unwrap_or_else(|(damage, _)| panic!("{damage:?}"));
        let mut out = String::new();
        value(&mut out, record.root()).unwrap_or_else(|error| panic!("{error}"));
        out
    }

    #[test]
    fn values_are_written_unchanged_but_cannot_control_a_terminal() {
        for (json, want) in [
            (r#" { "b" : [1.50, 1e400, "x\/y"], "a":{} } "#, r#"{"b":[1.50,1e400,"x/y"],"a":{}}"#),
            (r#"["\u001b[2J","\ud800","a\"b"]"#, r#"["\u001b[2J","�","a\"b"]"#),
            ("[\"\u{202e}\u{7f}\"]", r#"["\u202e\u007f"]"#),
            ("\"\u{e0041}\"", r#""\udb40\udc41""#),
        ] {
            assert_eq!(written(json), want);
        }
    }

    #[test]
    fn a_container_nested_too_deeply_becomes_a_string() {
        let deep = format!("{}\"x\"{}", "[".repeat(70), "]".repeat(70));
        let want =
            format!("{}\"{}\\\"x\\\"{}\"{}", "[".repeat(64), "[".repeat(6), "]".repeat(6), "]".repeat(64));
        assert_eq!(written(&deep), want);
    }
}
