//! Templates: texts with placeholders, such as `{command}` or `{owner}/{repo}`, or a single JSON pointer: `/number`.
//!
//! A placeholder may contain alternatives, filters, and a default: `{url?path|path|"none"}`.

use std::fmt;

use crate::problem::suggestion;

/// A text with placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template {
    source: String,
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Field(Field),
}

/// `{a?b.c|first|"none"}`
#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    /// The path of keys to each alternative value, in order.
    alternatives: Vec<Vec<String>>,
    /// The filters, in the order in which they are applied.
    filters: Vec<TemplateFilter>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplateFilter {
    /// `|path`: makes a path relative to the session's folder.
    Path,
    /// `|first`: the first line that isn't blank.
    First,
    /// `|"text"`: the default for a missing or blank value.
    Default(String),
}

/// The named filters.
const FILTERS: [(&str, TemplateFilter); 2] =
    [("path", TemplateFilter::Path), ("first", TemplateFilter::First)];

impl Template {
    /// Parses a template. The error is a message with a column.
    pub(crate) fn parse(source: &str) -> Result<Self, String> {
        let pieces = match source.strip_prefix('/') {
            Some(pointer) => {
                let keys = pointer.split('/').map(|key| key.replace("~1", "/").replace("~0", "~"));
                vec![Piece::Field(Field { alternatives: vec![keys.collect()], filters: Vec::new() })]
            }
            None => TemplateReader { source, at: 0 }.pieces()?,
        };
        Ok(Self { source: source.to_owned(), pieces })
    }

    /// Whether it yields a text for every input.
    pub(crate) fn always_answers(&self) -> bool {
        self.pieces.iter().all(|piece| match piece {
            Piece::Text(_) => true,
            Piece::Field(field) => {
                field.filters.iter().any(|filter| matches!(filter, TemplateFilter::Default(_)))
            }
        })
    }

    /// Fills in the placeholders. Returns `None` if a value is missing. `value` looks up a value by its keys; `relative` shortens
    /// a path for display.
    pub(crate) fn fill(
        &self,
        value: impl Fn(&[String]) -> Option<String>,
        relative: impl Fn(String) -> String,
    ) -> Option<String> {
        self.pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => Some(text.clone()),
                Piece::Field(field) => field.fill(&value, &relative),
            })
            .collect()
    }
}

impl Field {
    /// The first value that isn't blank, or else the first that exists.
    fn fill(
        &self,
        value: impl Fn(&[String]) -> Option<String>,
        relative: impl Fn(String) -> String,
    ) -> Option<String> {
        let mut found: Option<String> = None;
        for keys in &self.alternatives {
            match value(keys) {
                Some(text) if !text.trim().is_empty() => {
                    found = Some(text);
                    break;
                }
                blank => found = found.or(blank),
            }
        }
        for filter in &self.filters {
            found = match filter {
                TemplateFilter::Path => found.map(&relative),
                TemplateFilter::First => found
                    .map(|text| text.trim_start().lines().next().unwrap_or_default().trim_end().to_owned()),
                TemplateFilter::Default(text) => {
                    found.filter(|text| !text.trim().is_empty()).or_else(|| Some(text.clone()))
                }
            };
        }
        found
    }
}

/// Parses a template from start to end.
struct TemplateReader<'s> {
    source: &'s str,
    at: usize,
}

impl<'s> TemplateReader<'s> {
    fn pieces(mut self) -> Result<Vec<Piece>, String> {
        let mut pieces = Vec::new();
        let mut text = String::new();
        while let Some(length) = self.rest().find(['{', '}']) {
            let at = self.at + length;
            text.push_str(&self.source[self.at..at]);
            let brace = &self.source[at..=at];
            self.at = at + 1;
            if self.take(brace) {
                text.push_str(brace);
                continue;
            }
            if brace == "}" {
                return Err(self.wrong(at, "unmatched brace (write }} for a brace)"));
            }
            if !text.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut text)));
            }
            pieces.push(Piece::Field(self.field(at)?));
        }
        text.push_str(self.rest());
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        Ok(pieces)
    }

    /// Parses the rest of a placeholder whose brace is at byte `open`.
    fn field(&mut self, open: usize) -> Result<Field, String> {
        let mut field = Field { alternatives: Vec::new(), filters: Vec::new() };
        loop {
            let (start, name) = self.word();
            if name.is_empty() || name.starts_with(['"', '\'']) {
                let what = if name.is_empty() {
                    "missing name"
                } else {
                    "quoted text must follow a bar, as in {a?b|\"none\"}"
                };
                return Err(self.wrong(start, what));
            }
            field.alternatives.push(name.split('.').map(str::to_owned).collect());
            if !self.take("?") {
                break;
            }
        }
        while self.take("|") {
            field.filters.push(self.filter()?);
        }
        if self.take("}") {
            return Ok(field);
        }
        Err(match self.rest().chars().next() {
            None | Some('{') => self.wrong(open, "unmatched brace (write {{ for a brace)"),
            Some(_) => self.wrong(self.at, "expected \"}\" or \"|\" here"),
        })
    }

    fn filter(&mut self) -> Result<TemplateFilter, String> {
        self.skip_blanks();
        let start = self.at;
        let Some(quote) = self.rest().chars().next().filter(|ch| matches!(ch, '"' | '\'')) else {
            let (start, name) = self.word();
            let known = FILTERS.into_iter().find(|(known, _)| *known == name);
            return known.map(|(_, filter)| filter).ok_or_else(|| {
                let hint = suggestion(name, FILTERS.map(|(known, _)| known));
                self.wrong(start, &format!("unknown filter \"{name}\" {hint}"))
            });
        };
        let inside = &self.source[start + 1..];
        let Some(end) = inside.find(quote) else {
            return Err(self.wrong(start, "unmatched quote"));
        };
        self.at = start + 1 + end + 1;
        self.skip_blanks();
        Ok(TemplateFilter::Default(inside[..end].to_owned()))
    }

    /// The text before the next delimiter, trimmed, and its start.
    fn word(&mut self) -> (usize, &'s str) {
        self.skip_blanks();
        let start = self.at;
        let length = self.rest().find(['{', '}', '?', '|']).unwrap_or(self.rest().len());
        self.at += length;
        (start, self.source[start..self.at].trim_end())
    }

    fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }

    fn skip_blanks(&mut self) {
        self.at = self.source.len() - self.rest().trim_start().len();
    }

    /// Skips `sign` if it is next. Returns whether it was.
    fn take(&mut self, sign: &str) -> bool {
        let is_next = self.rest().starts_with(sign);
        self.at += if is_next { sign.len() } else { 0 };
        is_next
    }

    fn wrong(&self, at: usize, message: &str) -> String {
        format!("column {}: {message}", self.source[..at].chars().count() + 1)
    }
}

impl fmt::Display for Template {
    /// Writes the source text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(source: &str) -> Option<String> {
        let value = |keys: &[String]| match keys.join("|").as_str() {
            "a" => Some("A".to_owned()),
            "a|b" => Some("B".to_owned()),
            "x/y" => Some("XY".to_owned()),
            "blank" => Some(" ".to_owned()),
            "lines" => Some("\n  one \r\ntwo".to_owned()),
            "file" => Some("/home/x".to_owned()),
            _ => None,
        };
        let relative = |path: String| path.trim_start_matches("/home/").to_owned();
        Template::parse(source).unwrap().fill(value, relative)
    }

    #[test]
    fn fields_are_filled_in_or_the_template_yields_nothing() {
        for (source, expected) in [
            ("plain", Some("plain")),
            ("{a}", Some("A")),
            ("<{ a }/{a.b}>", Some("<A/B>")),
            ("{{{a}}}", Some("{A}")),
            ("/a/b", Some("B")),
            ("/x~1y", Some("XY")),
            ("{nope}", None),
            ("", Some("")),
            ("{nope?a}", Some("A")),
            ("{a?nope}", Some("A")),
            ("{ nope ? a.b }", Some("B")),
            ("{blank?a}", Some("A")),
            ("{blank?nope}", Some(" ")),
            ("{nope?blank}", Some(" ")),
            ("{nope?nope}", None),
            ("{lines|first}", Some("one")),
            ("{blank|first}", Some("")),
            ("{nope|first}", None),
            ("{file|path}", Some("x")),
            ("in {nope?file|path|first}", Some("in x")),
            ("{nope|\"none\"}", Some("none")),
            ("{blank|'it is \"}\" | ?'}", Some("it is \"}\" | ?")),
            ("{a|\"none\"}", Some("A")),
            ("{nope|path|'/home/y'}", Some("/home/y")),
            ("{nope|'/home/y'|path}", Some("y")),
            ("{nope| '' }", Some("")),
        ] {
            assert_eq!(filled(source).as_deref(), expected, "{source}");
        }
    }

    #[test]
    fn errors_are_reported_with_their_column() {
        for (source, expected) in [
            ("{a", "column 1: unmatched brace (write {{ for a brace)"),
            ("é {a", "column 3: unmatched brace (write {{ for a brace)"),
            ("a}", "column 2: unmatched brace (write }} for a brace)"),
            ("{a{b}", "column 1: unmatched brace (write {{ for a brace)"),
            ("x {}", "column 4: missing name"),
            ("{a?}", "column 4: missing name"),
            ("{?a}", "column 2: missing name"),
            ("{a?\"none\"}", "column 4: quoted text must follow a bar, as in {a?b|\"none\"}"),
            ("{a|pth}", "column 4: unknown filter \"pth\" (did you mean \"path\"?)"),
            ("{a| }", "column 5: unknown filter \"\" (one of: path, first)"),
            ("{a|'none}", "column 4: unmatched quote"),
            ("{a|'none' x}", "column 11: expected \"}\" or \"|\" here"),
            ("{a|first?b}", "column 9: expected \"}\" or \"|\" here"),
        ] {
            assert_eq!(Template::parse(source).unwrap_err(), expected, "{source}");
        }
    }

    #[test]
    fn a_template_whose_fields_have_defaults_always_answers() {
        for (source, answers) in
            [("sh", true), ("{a|'none'}", true), ("{a|'none'} {b}", false), ("/a", false)]
        {
            assert_eq!(Template::parse(source).unwrap().always_answers(), answers, "{source}");
        }
    }
}
