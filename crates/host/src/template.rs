//! Texts with fields in them: `{command}`, `{owner}/{repo}`, or a JSON pointer alone: `/number`.

use std::fmt;

/// A text with fields in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template {
    source: String,
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// The keys that lead to a value.
    Field(Vec<String>),
}

impl Template {
    /// Reads a template; the error says what is wrong with it.
    pub(crate) fn parse(source: &str) -> Result<Self, String> {
        if let Some(pointer) = source.strip_prefix('/') {
            let keys = pointer.split('/').map(|key| key.replace("~1", "/").replace("~0", "~"));
            let pieces = vec![Piece::Field(keys.collect())];
            return Ok(Self { source: source.to_owned(), pieces });
        }
        let mut pieces = Vec::new();
        let mut text = String::new();
        let mut rest = source;
        while let Some(at) = rest.find(['{', '}']) {
            text.push_str(&rest[..at]);
            let brace = &rest[at..=at];
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix(brace) {
                text.push_str(brace);
                rest = after;
                continue;
            }
            let field = rest.split_once('}').filter(|(name, _)| brace == "{" && !name.contains('{'));
            let Some((name, after)) = field else {
                return Err(format!("a brace without its partner in \"{source}\" (write {{{{ for a brace)"));
            };
            if !text.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut text)));
            }
            pieces.push(Piece::Field(name.trim().split('.').map(str::to_owned).collect()));
            rest = after;
        }
        text.push_str(rest);
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        Ok(Self { source: source.to_owned(), pieces })
    }

    /// Whether it has no fields.
    pub(crate) fn is_constant(&self) -> bool {
        self.pieces.iter().all(|piece| matches!(piece, Piece::Text(_)))
    }

    /// The text with its fields filled in; `None` if one of them isn't there.
    pub(crate) fn fill(&self, field: impl Fn(&[String]) -> Option<String>) -> Option<String> {
        self.pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => Some(text.clone()),
                Piece::Field(keys) => field(keys),
            })
            .collect()
    }
}

impl fmt::Display for Template {
    /// As it was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(source: &str) -> Option<String> {
        Template::parse(source).unwrap().fill(|keys| match keys.join("|").as_str() {
            "a" => Some("A".to_owned()),
            "a|b" => Some("B".to_owned()),
            "x/y" => Some("XY".to_owned()),
            _ => None,
        })
    }

    #[test]
    fn fields_are_filled_in_or_the_template_says_nothing() {
        for (source, expected) in [
            ("plain", Some("plain")),
            ("{a}", Some("A")),
            ("<{ a }/{a.b}>", Some("<A/B>")),
            ("{{{a}}}", Some("{A}")),
            ("/a/b", Some("B")),
            ("/x~1y", Some("XY")),
            ("{nope}", None),
            ("", Some("")),
        ] {
            assert_eq!(filled(source).as_deref(), expected, "{source}");
        }
        assert!(Template::parse("{a").is_err() && Template::parse("a}").is_err());
        assert!(Template::parse("{a{b}").is_err());
    }
}
