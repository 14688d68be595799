//! The fields of a tool that rules can set, and their values.

use streamfmt_core::entry::Role;
use streamfmt_core::item::Kind;
use strum::{EnumString, IntoStaticStr, VariantArray};

use super::template::Template;

/// A field in the formatting of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum ToolField {
    /// The tool's name as shown: a template.
    Label,
    /// The one-line argument: a template, or a JSON pointer into the input.
    Arg,
    /// The one-line summary of a result: a template.
    Summary,
    /// The whole view of a call, which only a script can set.
    Call,
    /// The whole view of a result, which only a script can set.
    Result,
    /// A glyph of the theme, or a text in front of the name.
    Icon,
    /// The role of the name.
    Role,
    /// The part to fold: `call`, `result`, `none`, or `both`, which leaves one line for a call and its result.
    Collapse,
}

impl ToolField {
    /// All fields, in the order in which they are documented.
    pub(crate) const ALL: &'static [Self] = Self::VARIANTS;

    /// Its name in a profile and in Lua.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }

    /// The fields that apply to items of a kind.
    pub(crate) fn of_kind(kind: Kind) -> &'static [Self] {
        match kind {
            Kind::Call => &[Self::Label, Self::Arg, Self::Call, Self::Icon, Self::Role, Self::Collapse],
            Kind::Result => &[Self::Summary, Self::Result, Self::Collapse],
            _ => &[],
        }
    }
}

/// A value for a field, which a rule or a plugin sets. `F` is a function of a script.
#[derive(Clone, Debug)]
pub(crate) enum FieldValue<F> {
    /// A text with placeholders.
    Template(Template),
    /// A word: a glyph, a role, or the part to collapse.
    Word(String),
    /// A function, called for each item.
    #[cfg_attr(not(feature = "lua"), expect(dead_code, reason = "only scripts have functions"))]
    Function(F),
    /// A native plugin, called for each item.
    #[cfg_attr(not(feature = "lua"), expect(dead_code, reason = "they have their own chain"))]
    Native,
}

impl<F> FieldValue<F> {
    /// Parses a value for a field. The error is a message.
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
