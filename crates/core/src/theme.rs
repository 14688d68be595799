//! Themes: the style of each role, and the characters of each glyph name.
//!
//! A theme is a TOML file. The built-in ones are such files, too, embedded and read by the same code.
//!
//! ```
//! use streamfmt_core::theme::{Appearance, ThemeSource, Theme};
//!
//! let mine = ThemeSource::new("mine", "extends = \"auto\"\n[roles]\n\"tool.name\" = \"bold bright-blue\"\n");
//! let (theme, problems) = Theme::parse(&mine, &mut || Appearance::Light, &|name, _| Theme::find_builtin(name));
//! assert!(problems.is_empty());
//! assert!(theme.style("tool.name").bold);
//! ```

mod color;
mod file;
mod glyph;
mod parse;
mod role;

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use strum::{EnumString, IntoStaticStr};

pub use color::{Color, ColorDepth};

pub use glyph::{Glyphs, glyph, mark};
pub use role::{Role, is_role, roles, wrong_role};

use crate::nearest::hint;

/// The embedded themes: name and source. Names that begin with `@` are for extending only.
#[rustfmt::skip]
pub const BUILTIN: &[(&str, &str)] = &[
    (parse::BASE,  include_str!("../themes/@base.toml")),
    ("auto",       include_str!("../themes/auto.toml")),
    ("dark",       include_str!("../themes/dark.toml")),
    ("light",      include_str!("../themes/light.toml")),
    ("ansi",       include_str!("../themes/ansi.toml")),
    ("mono",       include_str!("../themes/mono.toml")),
    ("contrast",   include_str!("../themes/contrast.toml")),
    ("colorblind", include_str!("../themes/colorblind.toml")),
    ("slate",      include_str!("../themes/slate.toml")),
    ("ember",      include_str!("../themes/ember.toml")),
    ("fjord",      include_str!("../themes/fjord.toml")),
    ("paper",      include_str!("../themes/paper.toml")),
    ("neon",       include_str!("../themes/neon.toml")),
    ("catppuccin", include_str!("../themes/catppuccin.toml")),
    ("dracula",    include_str!("../themes/dracula.toml")),
    ("gruvbox",    include_str!("../themes/gruvbox.toml")),
];

/// Finds the source of a theme by its name in another theme, whose source is the second argument. The error is a message.
pub type Lookup<'a> = &'a dyn Fn(&str, &ThemeSource) -> Result<ThemeSource, String>;

/// A map by name, with a hasher that is the same in every run.
type ByName<V> = HashMap<String, V, foldhash::fast::FixedState>;

/// The source of a theme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThemeSource {
    /// Its unique name in messages: a built-in theme's name, or the path of a file.
    pub name: String,
    /// Its TOML.
    pub text: String,
}

impl ThemeSource {
    /// A source with its name.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }
}

/// The style of a role. Colours that aren't set are the terminal's own.
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
    /// This style, with `base` for everything that it doesn't set.
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

    /// The nearest style that `depth` can show. Grey text on a coloured background gets the background's hue if
    /// the background can't be shown. With 16 colours, a grey may well be the colour of the text or of the
    /// background: so a grey becomes the terminal's own colour, and dim if it is neither dark nor bright.
    #[must_use]
    pub fn at(self, depth: ColorDepth) -> Self {
        let bg = self.bg.and_then(|color| color.behind_at(depth));
        let is_mid_grey = self.fg.filter(|_| depth == ColorDepth::Ansi16).and_then(Color::is_mid_grey);
        if let (None, Some(is_mid_grey), None) = (bg, is_mid_grey, self.bg) {
            return Self { fg: None, bg, dim: self.dim || is_mid_grey, ..self };
        }
        let fg = match (self.fg, self.bg) {
            (Some(fg), Some(ground)) if bg.is_none() && fg.is_grey_at(depth) && depth != ColorDepth::None => {
                ground.hue().or_else(|| ground.at(depth))
            }
            (fg, _) => fg.and_then(|color| color.at(depth)),
        };
        Self { fg, bg, ..self }
    }

    /// Whether it sets nothing.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Writes the escape sequence that begins this style; nothing if it is plain. `ESC [ 0 m` ends it.
    pub fn begin(&self, out: &mut String) {
        if self.is_plain() {
            return;
        }
        out.push_str("\x1b[");
        let attributes = [self.bold, self.dim, self.italic, self.underline, self.reverse];
        for (is_set, code) in attributes.into_iter().zip(["1;", "2;", "3;", "4;", "7;"]) {
            out.push_str(if is_set { code } else { "" });
        }
        self.fg.iter().for_each(|color| color.code(30, 90, 38, out));
        self.bg.iter().for_each(|color| color.code(40, 100, 48, out));
        // The `m` replaces the last semicolon.
        out.pop();
        out.push('m');
    }
}

/// Whether a background is dark or light.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Appearance {
    /// Light text on a dark background.
    #[default]
    Dark,
    /// Dark text on a light background.
    Light,
}

impl Appearance {
    /// Both, in the order of lists for users.
    pub const ALL: [Self; 2] = [Self::Dark, Self::Light];

    /// `dark` or `light`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Parses `dark` or `light`.
    pub fn parse(name: &str) -> Option<Self> {
        name.parse().ok()
    }
}

/// Styles for roles and characters for glyph names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Theme {
    name: String,
    about: Option<String>,
    appearance: Option<Appearance>,
    follows: bool,
    background: Option<Color>,
    roles: ByName<Style>,
    /// The style of each role of the list, by its number.
    listed: Vec<Option<Style>>,
    glyphs: HashMap<(Glyphs, String), String, foldhash::fast::FixedState>,
}

impl Theme {
    /// Parses a theme. Whatever can't be parsed is skipped and returned as a problem; the rest applies.
    ///
    /// `background` is called at most a few times, and only if the theme differs on dark and light backgrounds.
    /// `lookup` finds the themes that this one extends, including [`@base`](BUILTIN).
    pub fn parse(
        source: &ThemeSource,
        background: &mut dyn FnMut() -> Appearance,
        lookup: Lookup<'_>,
    ) -> (Self, Vec<ThemeProblem>) {
        parse::parse(source, background, lookup)
    }

    /// The built-in theme called `name` on a background.
    pub fn builtin(name: &str, background: Appearance) -> Option<Self> {
        let source = Self::find_builtin(name).ok()?;
        Some(Self::parse(&source, &mut || background, &|name, _| Self::find_builtin(name)).0)
    }

    /// The source of the built-in theme called `name`, to be shown, copied or extended. The error is a message that
    /// suggests a similar name.
    pub fn find_builtin(name: &str) -> Result<ThemeSource, String> {
        if let Some((name, text)) = BUILTIN.iter().find(|(known, _)| *known == name) {
            return Ok(ThemeSource::new(*name, *text));
        }
        Err(Self::unknown(name, Self::builtin_names()))
    }

    /// The names of the built-in themes that users can choose.
    pub fn builtin_names() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|(name, _)| *name).filter(|name| !name.starts_with('@'))
    }

    /// The error message if none of the `known` themes is called `name`.
    pub fn unknown<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
        let known: Vec<&str> = known.into_iter().collect();
        format!("no theme is called {name:?} {}", hint(name, &known))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its description in a few words, if it has one.
    pub fn about(&self) -> Option<&str> {
        self.about.as_deref()
    }

    /// The only background for which it is meant, if any.
    pub fn appearance(&self) -> Option<Appearance> {
        self.appearance
    }

    /// Whether it looks different on dark and on light backgrounds.
    pub fn follows_background(&self) -> bool {
        self.follows
    }

    /// The background for which its colours are made, if it names one. The background of the terminal isn't changed.
    pub fn background(&self) -> Option<Color> {
        self.background
    }

    /// The style of `role`, else of its parents (`tool.name`, `tool`), else of `text`.
    #[inline]
    pub fn style(&self, role: impl Into<Role>) -> Style {
        self.exact_style(role).or_else(|| self.exact_style("text")).unwrap_or_default()
    }

    /// The style of `role` or of the nearest of its parents; `None` if the theme sets none of them.
    #[inline]
    pub fn exact_style(&self, role: impl Into<Role>) -> Option<Style> {
        let role = role.into();
        let listed = self.listed.get(role.number()).copied();
        listed.unwrap_or_else(|| of_role(&self.roles, role.name()).copied())
    }

    /// The same theme with these styles.
    fn styled(self, roles: ByName<Style>) -> Self {
        Self { listed: role::roles().map(|role| of_role(&roles, role).copied()).collect(), roles, ..self }
    }

    /// The theme's own character for a glyph name in a set, if it has one.
    pub fn glyph(&self, set: Glyphs, name: &str) -> Option<&str> {
        if self.glyphs.is_empty() {
            return None;
        }
        self.glyphs.get(&(set, name.to_owned())).map(String::as_str)
    }

    /// All roles that have a style, sorted by name.
    pub fn roles(&self) -> Vec<(&str, Style)> {
        let mut roles: Vec<_> = self.roles.iter().map(|(name, style)| (name.as_str(), *style)).collect();
        roles.sort_unstable_by_key(|(name, _)| *name);
        roles
    }

    /// The roles that are hard to read on the theme's own background, sorted by name: those whose contrast by WCAG 2
    /// is below 4.5 for text, or below 3 for bars, rules and numbers at the edge. Empty if the theme names no background.
    pub fn hard_to_read(&self) -> Vec<Faint<'_>> {
        let Some(own) = self.background else { return Vec::new() };
        let block = self.exact_style("markdown.block").and_then(|style| style.bg);
        let mut faint = Vec::new();
        for (role, style) in self.roles() {
            let Some(fg) = style.fg else { continue };
            let least = if SHAPES.contains(&role) { 3.0 } else { 4.5 };
            let behind_code = block.filter(|_| role.starts_with("syntax.") && style.bg.is_none());
            let contrasts = [style.bg.or(Some(own)), behind_code].into_iter().flatten();
            let contrast = contrasts.filter_map(|ground| fg.contrast(ground)).reduce(f64::min);
            if let Some(contrast) = contrast.filter(|contrast| *contrast < least) {
                faint.push(Faint { role, contrast, least });
            }
        }
        faint
    }

    /// The same theme in the colours that `depth` can show. A role that is distinguished only by its background
    /// is underlined if that can't be shown. With 16 colours, no colour is reliably that of the text or of muted text:
    /// they become the terminal's own, and muted text dim.
    #[must_use]
    pub fn at(self, depth: ColorDepth) -> Self {
        let ground = |role: &str| of_role(&self.roles, role).and_then(|style| style.bg);
        let shown = |role: &String, style: &Style| {
            let around = role.rsplit_once('.').and_then(|(parent, _)| ground(parent));
            let stood_out = style.bg.is_some() && around.is_some() && around != style.bg;
            let stands_out = |shown: Style| shown.bg != around.and_then(|around| around.behind_at(depth));
            let mut shown = style.at(depth);
            let is_like = |role: &'static str| style.fg.is_some() && style.fg == self.style(role).fg;
            if depth == ColorDepth::Ansi16 && style.bg.is_none() && style.fg.and_then(Color::rgb).is_some() {
                let is_muted = is_like("muted") || is_like("faint");
                if is_muted || is_like("text") {
                    shown = Style { fg: None, dim: style.dim || is_muted, ..shown };
                }
            }
            Style { underline: style.underline || stood_out && !stands_out(shown), ..shown }
        };
        let roles = self.roles.iter().map(|(role, style)| (role.clone(), shown(role, style))).collect();
        self.styled(roles)
    }
}

/// The entry of a role, else of the nearest of its parents (`tool.name`, `tool`).
fn of_role<'t, V>(table: &'t ByName<V>, role: &str) -> Option<&'t V> {
    let mut name = role;
    loop {
        if let Some(found) = table.get(name) {
            return Some(found);
        }
        name = name.rsplit_once('.')?.0;
    }
}

/// Roles that are shapes rather than text.
const SHAPES: [&str; 7] =
    ["faint", "nest", "markdown.bar", "markdown.rule", "code.number", "diff.number", "table.border"];

/// A role that is hard to read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Faint<'a> {
    /// The role.
    pub role: &'a str,
    /// Its contrast, from 1 to 21.
    pub contrast: f64,
    /// The contrast that it should have at least.
    pub least: f64,
}

/// A problem in a theme's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThemeProblem {
    /// The name of the source that contains it: the theme, or one that it extends.
    pub theme: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The text of the line.
    pub text: String,
    /// The length of the faulty part of the line, in characters.
    pub length: usize,
    /// The message: what is wrong, and what is expected.
    pub message: String,
}

impl ThemeProblem {
    fn at(source: &ThemeSource, span: Range<usize>, message: impl Into<String>) -> Self {
        let text = source.text.as_str();
        let before = text.get(..span.start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = text[line_start..].lines().next().unwrap_or_default();
        let meant = text.get(span).and_then(|meant| meant.lines().next()).unwrap_or_default();
        Self {
            theme: source.name.clone(),
            line: before.bytes().filter(|&byte| byte == b'\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            text: line.to_owned(),
            length: meant.chars().count(),
            message: message.into(),
        }
    }
}

impl fmt::Display for ThemeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.theme, self.line, self.column, self.message)
    }
}

#[cfg(test)]
mod tests;
