//! Looks: which style a role has, which character a glyph name becomes.
//!
//! A theme is a TOML file. The built-in ones are such files too, embedded and read by the same code.
//!
//! ```
//! use streamfmt_core::theme::Theme;
//!
//! let source = "extends = \"dark\"\n[roles]\n\"tool.name\" = \"bold bright-blue\"\n";
//! let (theme, problems) = Theme::parse("mine", source, &|name| Theme::builtin_source(name).map(Into::into));
//! assert!(problems.is_empty());
//! assert!(theme.style("tool.name").bold);
//! ```

mod color;
mod glyph;
mod parse;

use std::collections::HashMap;
use std::fmt;

pub use color::{Color, ColorDepth};
pub(crate) use glyph::glyph;
pub use glyph::mark;

/// The embedded themes: name and source.
pub const BUILTIN: &[(&str, &str)] = &[
    ("dark", include_str!("../themes/dark.toml")),
    ("light", include_str!("../themes/light.toml")),
    ("ansi", include_str!("../themes/ansi.toml")),
    ("mono", include_str!("../themes/mono.toml")),
];

/// A hasher that is the same in every run, like everything here.
type ByName<V> = HashMap<String, V, foldhash::fast::FixedState>;

/// How a role is painted. What is not set is left as the terminal has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "a terminal's attributes are independent switches")]
pub struct Style {
    /// Colour of the characters.
    pub fg: Option<Color>,
    /// Colour behind them.
    pub bg: Option<Color>,
    /// Bold.
    pub bold: bool,
    /// Dim.
    pub dim: bool,
    /// Italic.
    pub italic: bool,
    /// Underlined.
    pub underline: bool,
    /// Foreground and background exchanged.
    pub reverse: bool,
}

impl Style {
    /// This style, and where it sets nothing, `base`.
    #[must_use]
    pub fn over(self, base: Self) -> Self {
        Self {
            fg: self.fg.or(base.fg),
            bg: self.bg.or(base.bg),
            bold: self.bold || base.bold,
            dim: self.dim || base.dim,
            italic: self.italic || base.italic,
            underline: self.underline || base.underline,
            reverse: self.reverse || base.reverse,
        }
    }

    /// The nearest style that `depth` can show.
    #[must_use]
    pub fn at(self, depth: ColorDepth) -> Self {
        Self {
            fg: self.fg.and_then(|color| color.at(depth)),
            bg: self.bg.and_then(|color| color.behind_at(depth)),
            ..self
        }
    }

    /// Whether it changes nothing.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Writes the escape sequence that begins this style; nothing if it is plain. `ESC [ 0 m` ends it.
    pub fn begin(&self, out: &mut String) {
        if self.is_plain() {
            return;
        }
        out.push_str("\x1b[");
        let attributes = [
            (self.bold, '1'),
            (self.dim, '2'),
            (self.italic, '3'),
            (self.underline, '4'),
            (self.reverse, '7'),
        ];
        let mut first = true;
        let mut next = |out: &mut String| {
            if !std::mem::take(&mut first) {
                out.push(';');
            }
        };
        for (_, code) in attributes.into_iter().filter(|(on, _)| *on) {
            next(out);
            out.push(code);
        }
        if let Some(color) = self.fg {
            next(out);
            color.foreground(out);
        }
        if let Some(color) = self.bg {
            next(out);
            color.background(out);
        }
        out.push('m');
    }
}

/// Whether a theme is made for a dark or a light background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Appearance {
    /// For dark backgrounds.
    #[default]
    Dark,
    /// For light backgrounds.
    Light,
}

/// Styles for roles and characters for glyph names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Theme {
    name: String,
    appearance: Appearance,
    roles: ByName<Style>,
    glyphs: ByName<String>,
}

impl Theme {
    /// Reads a theme. Whatever can't be read is left out and told, the rest holds.
    ///
    /// `lookup` gives the source of the theme that `extends` names.
    pub fn parse(name: &str, source: &str, lookup: &dyn Fn(&str) -> Option<String>) -> (Self, Vec<Problem>) {
        parse::parse(name, source, lookup)
    }

    /// The built-in theme called `name`.
    pub fn builtin(name: &str) -> Option<Self> {
        let source = Self::builtin_source(name)?;
        Some(Self::parse(name, source, &|base| Self::builtin_source(base).map(str::to_owned)).0)
    }

    /// The source of the built-in theme called `name`, to be shown, copied or extended.
    pub fn builtin_source(name: &str) -> Option<&'static str> {
        BUILTIN.iter().find(|(known, _)| *known == name).map(|(_, source)| *source)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The background it is made for.
    pub fn appearance(&self) -> Appearance {
        self.appearance
    }

    /// The style of `role`, else of its parents (`tool.name`, `tool`), else of `text`.
    pub fn style(&self, role: &str) -> Style {
        self.exact_style(role).or_else(|| self.roles.get("text").copied()).unwrap_or_default()
    }

    /// The style of `role` or of its parents; `None` if the theme names none of them.
    pub fn exact_style(&self, role: &str) -> Option<Style> {
        let mut name = role;
        loop {
            if let Some(style) = self.roles.get(name) {
                return Some(*style);
            }
            name = name.rsplit_once('.')?.0;
        }
    }

    /// The theme's own character for a glyph name, if it has one.
    pub fn glyph(&self, name: &str) -> Option<&str> {
        self.glyphs.get(name).map(String::as_str)
    }

    /// All roles that the theme gives a style, in order of their names.
    pub fn roles(&self) -> Vec<(&str, Style)> {
        let mut roles: Vec<_> = self.roles.iter().map(|(name, style)| (name.as_str(), *style)).collect();
        roles.sort_unstable_by_key(|(name, _)| *name);
        roles
    }

    /// The same theme in the colours that `depth` can show.
    #[must_use]
    pub fn at(mut self, depth: ColorDepth) -> Self {
        for style in self.roles.values_mut() {
            *style = style.at(depth);
        }
        self
    }
}

/// Something in a theme's file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The theme that it stands in: the one that was read, or one that it extends.
    pub theme: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.theme, self.line, self.column, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &str) -> (Theme, Vec<String>) {
        let (theme, problems) = Theme::parse("mine", source, &|name| match name {
            "loop" => Some("extends = \"mine\"".to_owned()),
            "base" => {
                Some("[palette]\nmain = \"#010203\"\n[roles]\ntool = \"main\"\nmuted = \"dim\"".to_owned())
            }
            _ => None,
        });
        (theme, problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn roles_fall_back_to_their_parents_and_then_to_text() {
        let (theme, problems) =
            read("[roles]\ntool = \"bold\"\ntext = \"red\"\n\"tool.name\" = { fg = 200, italic = true }");
        assert_eq!(problems, [""; 0]);
        assert!(theme.style("tool.path.base").bold);
        assert_eq!(theme.style("tool.name").fg, Some(Color::Index(200)));
        assert_eq!(theme.style("other").fg, Some(Color::Index(1)));
    }

    #[test]
    fn dotted_names_need_no_quotes() {
        let source =
            "[roles]\ntool.name = \"bold\"\n[roles.diff]\nadd.word = \"on #102030\"\nadd.bg = \"red\"";
        let (theme, problems) = read(source);
        assert_eq!(problems, [""; 0]);
        assert_eq!(theme.style("diff.add").bg, Some(Color::Index(1)));
        assert!(theme.style("tool.name").bold);
        assert!(!theme.style("tool").bold);
        assert_eq!(theme.style("diff.add.word").bg, Some(Color::Rgb(0x10, 0x20, 0x30)));
    }

    #[test]
    fn a_bad_line_is_told_and_the_rest_holds() {
        let source = "[roles]\ntool = \"bold blurple\"\ncall = \"blink\"\nok = { fg = \"#12\" }\nreply = \"italic\"\n[glyphs]\nnope = \"x\"\ncall = \"a\\u001bb\"\n";
        let (theme, problems) = read(source);
        assert_eq!(
            problems,
            [
                "mine:2:8: unknown colour \"blurple\" (a name from [palette], an ANSI name or #rrggbb)",
                "mine:3:8: unknown colour \"blink\" (a name from [palette], an ANSI name or #rrggbb)",
                "mine:4:13: unknown colour \"#12\" (a name from [palette], an ANSI name or #rrggbb)",
                "mine:7:1: unknown glyph \"nope\"",
                "mine:8:8: a glyph is one to eight visible characters",
            ]
        );
        assert!(theme.style("reply").italic);
        assert!(theme.style("tool").bold, "the part that can be read holds");
    }

    #[test]
    fn a_syntax_error_has_a_place_and_costs_one_line() {
        let (theme, problems) = read("[roles]\ntool = bold\nreply = \"italic\"\n");
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("mine:2:8: "), "{problems:?}");
        assert!(theme.style("reply").italic);
    }

    #[test]
    fn a_theme_changes_the_palette_of_the_one_it_extends() {
        let (theme, problems) =
            read("extends = \"base\"\n[palette]\nmain = \"#ffffff\"\n[roles]\nmuted = \"bold\"");
        assert_eq!(problems, [""; 0]);
        assert_eq!(theme.style("tool").fg, Some(Color::Rgb(255, 255, 255)));
        assert!(theme.style("muted").bold && !theme.style("muted").dim);
    }

    #[test]
    fn cycles_and_missing_bases_are_refused() {
        assert_eq!(read("extends = \"loop\"").1, ["loop:1:11: \"mine\" extends itself"]);
        assert_eq!(read("extends = \"gone\"").1, ["mine:1:11: no theme is called \"gone\""]);
    }

    #[test]
    fn built_in_themes_are_without_problems() {
        for (name, source) in BUILTIN {
            let (theme, problems) =
                Theme::parse(name, source, &|base| Theme::builtin_source(base).map(str::to_owned));
            assert_eq!(problems, []);
            assert!(!theme.roles().is_empty());
        }
        let mono = Theme::builtin("mono").unwrap();
        assert!(mono.roles().iter().all(|(_, style)| style.fg.is_none() && style.bg.is_none()));
        let ansi = Theme::builtin("ansi").unwrap();
        let of_sixteen =
            |color: Option<Color>| color.is_none_or(|color| matches!(color, Color::Index(0..=15)));
        assert!(ansi.roles().iter().all(|(_, style)| of_sixteen(style.fg) && of_sixteen(style.bg)));
    }

    #[test]
    fn built_in_themes_can_be_read_on_their_background() {
        for (name, background) in
            [("dark", [0x1e, 0x1e, 0x1e]), ("dark", [0, 0, 0]), ("light", [255, 255, 255])]
        {
            for (role, style) in Theme::builtin(name).unwrap().roles() {
                let Some(Color::Rgb(r, g, b)) = style.fg else { continue };
                let behind = match style.bg {
                    Some(Color::Rgb(r, g, b)) => [r, g, b],
                    _ => background,
                };
                // Bars, numbers and rules are shapes, not text; text needs more.
                let least = if matches!(
                    role,
                    "nest"
                        | "markdown.bar"
                        | "code.number"
                        | "diff.number"
                        | "table.border"
                        | "markdown.rule"
                ) {
                    2.5
                } else {
                    4.5
                };
                let contrast = contrast([r, g, b], behind);
                assert!(contrast >= least, "{name} {role}: {contrast:.1}");
            }
        }
    }

    fn contrast(one: [u8; 3], other: [u8; 3]) -> f64 {
        let luminance = |rgb: [u8; 3]| {
            let [r, g, b] = rgb.map(|part| {
                let part = f64::from(part) / 255.0;
                if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
            });
            0.2126 * r + 0.7152 * g + 0.0722 * b
        };
        let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
        one.max(other) / one.min(other)
    }

    #[test]
    fn the_list_for_users_has_every_role_of_the_built_in_themes() {
        let page = include_str!("../../../docs/roles.md");
        for (name, _) in BUILTIN {
            for (role, _) in Theme::builtin(name).unwrap().roles() {
                assert!(page.contains(&format!("`{role}`")), "{role}");
            }
        }
    }

    #[test]
    fn styles_begin_with_one_sequence() {
        let style = Style {
            bold: true,
            fg: Some(Color::Index(9)),
            bg: Some(Color::Rgb(1, 2, 3)),
            ..Style::default()
        };
        let mut out = String::new();
        style.begin(&mut out);
        Style::default().begin(&mut out);
        assert_eq!(out, "\x1b[1;91;48;2;1;2;3m");
    }
}
