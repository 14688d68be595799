//! Looks: which style a role has, which character a glyph name becomes.
//!
//! A theme is a TOML file. The built-in ones are such files too, embedded and read by the same code.
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
pub use role::{is_role, roles, wrong_role};

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

/// Finds the source of a theme by a name that stands in another one, or says why there is none.
pub type Lookup<'a> = &'a dyn Fn(&str, &ThemeSource) -> Result<ThemeSource, String>;

/// A hasher that is the same in every run, like everything here.
type ByName<V> = HashMap<String, V, foldhash::fast::FixedState>;

/// The text of a theme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThemeSource {
    /// What it is called in messages: a built-in theme's name, or the path of a file. No two have the same.
    pub name: String,
    /// Its TOML.
    pub text: String,
}

impl ThemeSource {
    /// A text with its name.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }
}

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

    /// The nearest style that `depth` can show. What is grey on a coloured ground takes on the ground's hue where
    /// the ground can't be shown. Among 16 colours the greys are as likely as not those of the text or of the
    /// background: a grey is the terminal's own colour there, and dim if it is neither dark nor bright.
    #[must_use]
    pub fn at(self, depth: ColorDepth) -> Self {
        let bg = self.bg.and_then(|color| color.behind_at(depth));
        let stands_back = self.fg.filter(|_| depth == ColorDepth::Ansi16).and_then(Color::stands_back);
        if let (None, Some(stands_back), None) = (bg, stands_back, self.bg) {
            return Self { fg: None, bg, dim: self.dim || stands_back, ..self };
        }
        let fg = match (self.fg, self.bg) {
            (Some(fg), Some(ground)) if bg.is_none() && fg.is_grey_at(depth) && depth != ColorDepth::None => {
                ground.hue().or_else(|| ground.at(depth))
            }
            (fg, _) => fg.and_then(|color| color.at(depth)),
        };
        Self { fg, bg, ..self }
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
        let attributes = [self.bold, self.dim, self.italic, self.underline, self.reverse];
        for (is_set, code) in attributes.into_iter().zip(["1;", "2;", "3;", "4;", "7;"]) {
            out.push_str(if is_set { code } else { "" });
        }
        self.fg.iter().for_each(|color| color.code(30, 90, 38, out));
        self.bg.iter().for_each(|color| color.code(40, 100, 48, out));
        // In place of the last semicolon.
        out.pop();
        out.push('m');
    }
}

/// Whether a background is dark or light.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Appearance {
    /// Light text on a dark ground.
    #[default]
    Dark,
    /// Dark text on a light ground.
    Light,
}

impl Appearance {
    /// Both, in the order in which they are shown.
    pub const ALL: [Self; 2] = [Self::Dark, Self::Light];

    /// `dark` or `light`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Reads `dark` or `light`.
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
    glyphs: HashMap<(Glyphs, String), String, foldhash::fast::FixedState>,
}

impl Theme {
    /// Reads a theme. Whatever can't be read is left out and told, the rest holds.
    ///
    /// `background` is asked at most a few times, and only if the theme differs on dark and light backgrounds.
    /// `lookup` gives the themes that this one builds on, [`@base`](BUILTIN) included.
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

    /// The source of the built-in theme called `name`, to be shown, copied or extended. The error says that there
    /// is none, and which may have been meant.
    pub fn find_builtin(name: &str) -> Result<ThemeSource, String> {
        if let Some((name, text)) = BUILTIN.iter().find(|(known, _)| *known == name) {
            return Ok(ThemeSource::new(*name, *text));
        }
        Err(Self::unknown(name, Self::builtin_names()))
    }

    /// The names of the built-in themes that can be chosen.
    pub fn builtin_names() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|(name, _)| *name).filter(|name| !name.starts_with('@'))
    }

    /// What to say if no theme of `known` is called `name`.
    pub fn unknown<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
        let known: Vec<&str> = known.into_iter().collect();
        format!("no theme is called {name:?} {}", hint(name, &known))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is, in a few words, if it says so.
    pub fn about(&self) -> Option<&str> {
        self.about.as_deref()
    }

    /// The background that it is for, if it is for one only.
    pub fn appearance(&self) -> Option<Appearance> {
        self.appearance
    }

    /// Whether it looks different on dark and on light backgrounds.
    pub fn follows_background(&self) -> bool {
        self.follows
    }

    /// The background that its colours are made for, if it says so. The terminal keeps its own.
    pub fn background(&self) -> Option<Color> {
        self.background
    }

    /// The style of `role`, else of its parents (`tool.name`, `tool`), else of `text`.
    pub fn style(&self, role: &str) -> Style {
        self.exact_style(role).or_else(|| self.roles.get("text").copied()).unwrap_or_default()
    }

    /// The style of `role` or of its parents; `None` if the theme names none of them.
    pub fn exact_style(&self, role: &str) -> Option<Style> {
        of_role(&self.roles, role).copied()
    }

    /// The theme's own character for a glyph name in a set, if it has one.
    pub fn glyph(&self, set: Glyphs, name: &str) -> Option<&str> {
        if self.glyphs.is_empty() {
            return None;
        }
        self.glyphs.get(&(set, name.to_owned())).map(String::as_str)
    }

    /// All roles that the theme gives a style, in order of their names.
    pub fn roles(&self) -> Vec<(&str, Style)> {
        let mut roles: Vec<_> = self.roles.iter().map(|(name, style)| (name.as_str(), *style)).collect();
        roles.sort_unstable_by_key(|(name, _)| *name);
        roles
    }

    /// What is hard to read on the theme's own background, in order of the roles' names: by the measure of WCAG 2,
    /// where text wants 4.5, and bars, rules and numbers at the edge 3. Nothing if the theme names no background.
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

    /// The same theme in the colours that `depth` can show. What only a ground told apart from its surroundings
    /// is underlined where that can't be shown. Among 16 colours none is that of the text or of what stands back, for
    /// sure: these are the terminal's own there, and dim.
    #[must_use]
    pub fn at(self, depth: ColorDepth) -> Self {
        let ground = |role: &str| self.exact_style(role).and_then(|style| style.bg);
        let shown = |role: &String, style: &Style| {
            let around = role.rsplit_once('.').and_then(|(parent, _)| ground(parent));
            let stood_out = style.bg.is_some() && around.is_some() && around != style.bg;
            let stands_out = |shown: Style| shown.bg != around.and_then(|around| around.behind_at(depth));
            let mut shown = style.at(depth);
            let is_like = |role: &str| style.fg.is_some() && style.fg == self.style(role).fg;
            if depth == ColorDepth::Ansi16 && style.bg.is_none() && style.fg.and_then(Color::rgb).is_some() {
                let stands_back = is_like("muted") || is_like("faint");
                if stands_back || is_like("text") {
                    shown = Style { fg: None, dim: style.dim || stands_back, ..shown };
                }
            }
            Style { underline: style.underline || stood_out && !stands_out(shown), ..shown }
        };
        let roles = self.roles.iter().map(|(role, style)| (role.clone(), shown(role, style))).collect();
        Self { roles, ..self }
    }
}

/// What there is for a role, else for the nearest of its parents (`tool.name`, `tool`).
fn of_role<'t, V>(table: &'t ByName<V>, role: &str) -> Option<&'t V> {
    let mut name = role;
    loop {
        if let Some(found) = table.get(name) {
            return Some(found);
        }
        name = name.rsplit_once('.')?.0;
    }
}

/// Roles of what is to be seen rather than read.
const SHAPES: [&str; 7] =
    ["faint", "nest", "markdown.bar", "markdown.rule", "code.number", "diff.number", "table.border"];

/// A role that is hard to read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Faint<'a> {
    /// The role.
    pub role: &'a str,
    /// The contrast it has, from 1 to 21.
    pub contrast: f64,
    /// The contrast it should have.
    pub least: f64,
}

/// Something in a theme's file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThemeProblem {
    /// The file that it stands in: the one that was read, or one that it builds on.
    pub theme: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The text of the line.
    pub text: String,
    /// How many characters of it are meant.
    pub length: usize,
    /// What is wrong, and what would be right.
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
