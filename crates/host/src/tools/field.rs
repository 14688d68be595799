//! The properties of a tool that can be said anew, and what a text says for each.

use streamfmt_core::entry::Role;
use streamfmt_core::item::Kind;

use super::template::Template;

/// A field of a tool's spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolField {
    Label,
    Arg,
    Summary,
    Call,
    Result,
    Icon,
    Role,
    Collapse,
}

impl ToolField {
    /// All of them, with their names.
    pub(crate) const ALL: [(Self, &'static str); 8] = [
        (Self::Label, "label"),
        (Self::Arg, "arg"),
        (Self::Summary, "summary"),
        (Self::Call, "call"),
        (Self::Result, "result"),
        (Self::Icon, "icon"),
        (Self::Role, "role"),
        (Self::Collapse, "collapse"),
    ];

    /// The field called `name`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, known)| *known == name).map(|(field, _)| field)
    }

    /// Those that say something of items of a kind.
    pub(crate) fn of_kind(kind: Kind) -> &'static [Self] {
        match kind {
            Kind::Call => &[Self::Label, Self::Arg, Self::Call, Self::Icon, Self::Role, Self::Collapse],
            Kind::Result => &[Self::Summary, Self::Result, Self::Collapse],
            _ => &[],
        }
    }
}

/// What a text says of a field.
#[derive(Clone, Debug)]
pub(crate) enum FieldValue {
    /// A text with fields in it.
    Template(Template),
    /// A word: a glyph, a role, what is folded.
    Word(String),
}

impl FieldValue {
    /// What a text says for a field; the error says what is wrong with it.
    pub(crate) fn parse(field: ToolField, text: &str) -> Result<Self, String> {
        match field {
            ToolField::Label | ToolField::Arg | ToolField::Summary => {
                Template::parse(text).map(Self::Template)
            }
            ToolField::Icon => Ok(Self::Word(text.to_owned())),
            ToolField::Role => match Role::parse(text) {
                Some(_) => Ok(Self::Word(text.to_owned())),
                None => Err(format!("\"{text}\" is not a role name")),
            },
            ToolField::Collapse => match text {
                "call" | "result" | "both" | "none" => Ok(Self::Word(text.to_owned())),
                _ => Err(format!("expected call, result, both or none, not \"{text}\"")),
            },
            ToolField::Call | ToolField::Result => Err("only a script can set this".to_owned()),
        }
    }
}
