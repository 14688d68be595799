//! Deserialises entries: text is cleaned on the way in, and names of newer versions are mapped to the nearest known ones.

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::Value;

use super::{Block, DiffLines, Line, LineChange, Mark, Role};
use crate::text::Text;
use crate::theme;

impl<'de> Deserialize<'de> for Role {
    /// Reads the name of a role. An invalid name becomes `text`.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Ok(Self::parse(&name).unwrap_or(Self::of("text")))
    }
}

impl<'de> Deserialize<'de> for Line {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// [`Span`](super::Span) with owned texts.
        #[derive(Deserialize)]
        #[serde(rename = "Span")]
        struct OwnedSpan {
            text: Text,
            role: Role,
            link: Option<Text>,
        }
        let mut line = Self::default();
        for OwnedSpan { text, role, link } in Vec::deserialize(deserializer)? {
            line.attach(role, text);
            if let Some(target) = link {
                line.link(target);
            }
        }
        Ok(line)
    }
}

impl<'de> Deserialize<'de> for DiffLines {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// [`DiffLine`] with an owned text.
        #[derive(Deserialize)]
        struct Owned {
            change: LineChange,
            text: String,
        }
        let mut all = Self::default();
        Vec::<Owned>::deserialize(deserializer)?.iter().for_each(|line| all.push(line.change, &line.text));
        Ok(all)
    }
}

/// Reads the name of a glyph. An unknown name becomes none.
pub(crate) fn mark<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Mark, D::Error> {
    let name = Option::<String>::deserialize(deserializer)?;
    Ok(name.as_deref().and_then(theme::mark))
}

/// Reads blocks. A block of an unknown type becomes a gap.
pub(crate) fn blocks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Block>, D::Error> {
    let blocks = Vec::<Value>::deserialize(deserializer)?.into_iter().map(|block| match block.get("type") {
        Some(Value::String(name)) if !Block::TYPES.contains(&name.as_str()) => {
            Ok(Block::Elided { lines: 0, bytes: block.to_string().len() as u64 })
        }
        _ => Block::deserialize(block).map_err(D::Error::custom),
    });
    blocks.collect()
}
