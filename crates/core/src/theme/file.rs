//! Reads the tables of one theme file, and reports each mistake with its position.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use unicode_width::UnicodeWidthStr;

use super::color::Color;
use super::{Appearance, ByName, Glyphs, Style, ThemeProblem, ThemeSource, glyph};
use crate::nearest::{hint, nearest};
use crate::syntax_errors::SyntaxErrors;
use crate::text;

/// How many problems are reported; nobody reads more at once.
const MAX_PROBLEMS: usize = 100;

/// The keys of a theme. Those of the first line are also those of `[dark]` and `[light]`.
const KEYS: [&str; 11] = [
    "background",
    "palette",
    "roles",
    "syntax", //
    "extends",
    "about",
    "appearance",
    "glyphs",
    "dark",
    "light",
    "version",
];

/// The keys of a variant.
const VARIANT_KEYS: &[&str] = KEYS.split_at(4).0;

/// The keys of a style that is a table.
const STYLE_KEYS: [&str; 8] = ["fg", "bg", "like", "bold", "dim", "italic", "underline", "reverse"];

/// A colour in a theme; `None` is `default`, the terminal's own.
pub(super) type PaletteColor = Option<Color>;

/// Names for colours.
pub(super) type Palette = ByName<PaletteColor>;

/// The definition of a role in a file. Attributes that it doesn't set come from the role that it is like.
#[derive(Clone, Debug, Default)]
pub(super) struct RoleDraft {
    fg: Option<PaletteColor>,
    bg: Option<PaletteColor>,
    bold: Option<bool>,
    dim: Option<bool>,
    italic: Option<bool>,
    underline: Option<bool>,
    reverse: Option<bool>,
    /// The role that it is like.
    pub(super) like: Option<Spanned<String>>,
    /// The span of its role in the file; empty if it comes from another theme, in which roles are checked separately.
    pub(super) at: Range<usize>,
}

impl RoleDraft {
    /// A definition that sets all attributes of a style.
    pub(super) fn of(style: Style) -> Self {
        Self {
            fg: Some(style.fg),
            bg: Some(style.bg),
            bold: Some(style.bold),
            dim: Some(style.dim),
            italic: Some(style.italic),
            underline: Some(style.underline),
            reverse: Some(style.reverse),
            ..Self::default()
        }
    }

    /// The style of this definition over the style of the role that it is like.
    pub(super) fn over(&self, below: Style) -> Style {
        Style {
            fg: self.fg.unwrap_or(below.fg),
            bg: self.bg.unwrap_or(below.bg),
            bold: self.bold.unwrap_or(below.bold),
            dim: self.dim.unwrap_or(below.dim),
            italic: self.italic.unwrap_or(below.italic),
            underline: self.underline.unwrap_or(below.underline),
            reverse: self.reverse.unwrap_or(below.reverse),
        }
    }

    /// The attribute of this name. Blinking and concealed text aren't available: the former distracts, the
    /// latter hides text.
    fn switch(&mut self, name: &str) -> Option<&mut Option<bool>> {
        match name {
            "bold" => Some(&mut self.bold),
            "dim" => Some(&mut self.dim),
            "italic" => Some(&mut self.italic),
            "underline" => Some(&mut self.underline),
            "reverse" => Some(&mut self.reverse),
            _ => None,
        }
    }
}

/// The source of the styles for code.
pub(super) enum Syntax<'a> {
    /// Another theme, and the span of its name.
    Of(String, Range<usize>),
    /// A table: `keyword = "bold"`.
    Words(&'a DeTable<'a>),
}

/// A role and the span of its key.
struct PlacedRole {
    role: String,
    span: Range<usize>,
}

impl PlacedRole {
    fn of(key: &Spanned<Cow<'_, str>>, role: impl Into<String>) -> Self {
        Self { role: role.into(), span: key.span() }
    }
}

/// A parsed theme file.
pub(super) struct ThemeFile<'a> {
    source: &'a ThemeSource,
    table: DeTable<'a>,
    /// The problems of all files of the theme.
    problems: &'a RefCell<Vec<ThemeProblem>>,
}

type KeyValue<'a> = (&'a Spanned<Cow<'a, str>>, &'a Spanned<DeValue<'a>>);

impl<'a> ThemeFile<'a> {
    /// Parses TOML. A syntax error affects only its line.
    pub(super) fn read(source: &'a ThemeSource, problems: &'a RefCell<Vec<ThemeProblem>>) -> Self {
        let (table, found) = SyntaxErrors::parse(&source.text);
        let errors = found.errors.into_iter().take(MAX_PROBLEMS);
        problems.borrow_mut().extend(errors.map(|(span, message)| ThemeProblem::at(source, span, message)));
        Self { source, table, problems }
    }

    /// Reports a problem at a position in this file.
    pub(super) fn report(&self, span: Range<usize>, message: impl Into<String>) {
        let mut problems = self.problems.borrow_mut();
        if problems.len() < MAX_PROBLEMS {
            problems.push(ThemeProblem::at(self.source, span, message));
        }
    }

    /// The description of the theme, in a few words.
    pub(super) fn about(&self) -> Option<String> {
        self.table.get("about")?.get_ref().as_str().map(|about| text::clean(about).into_owned())
    }

    /// The only background for which the theme is meant, if any.
    pub(super) fn appearance(&self) -> Option<Appearance> {
        Appearance::parse(self.table.get("appearance")?.get_ref().as_str()?)
    }

    /// Whether it has a table for dark or for light backgrounds.
    pub(super) fn has_variants(&self) -> bool {
        self.table.contains_key("dark") || self.table.contains_key("light")
    }

    /// The table for all backgrounds, then the one for this background.
    fn tables(&self, wanted: Appearance) -> impl Iterator<Item = &DeTable<'a>> {
        let variant = self.table.get(wanted.name()).and_then(|value| value.get_ref().as_table());
        [&self.table].into_iter().chain(variant)
    }

    /// The entries of the subtables of this name.
    fn sections(&self, wanted: Appearance, name: &str) -> impl Iterator<Item = KeyValue<'_>> {
        self.tables(wanted).flat_map(move |table| section(table, name))
    }

    /// Reports unknown keys and values of wrong types.
    pub(super) fn check(&self) {
        for (key, value) in sorted(&self.table) {
            self.check_key((key, value), &KEYS);
            if let ("dark" | "light", Some(table)) = (&**key.get_ref(), value.get_ref().as_table()) {
                for entry in sorted(table) {
                    self.check_key(entry, VARIANT_KEYS);
                }
            }
        }
    }

    fn check_key(&self, (key, value): KeyValue<'_>, known: &[&str]) {
        let (name, set) = (&**key.get_ref(), value.get_ref());
        let wrong = match name {
            _ if !known.contains(&name) => {
                return self.report(key.span(), format!("unknown key {name:?} {}", hint(name, known)));
            }
            "palette" | "roles" | "glyphs" | "dark" | "light" if !set.is_table() => {
                format!("{name} is a table: [{name}]")
            }
            "appearance" if self.appearance().is_none() => "appearance is \"dark\" or \"light\"".to_owned(),
            "about" if !set.is_str() => "about is a text in quotes".to_owned(),
            "syntax" if !set.is_str() && !set.is_table() => {
                "syntax is the name of a theme, or a table: [syntax]".to_owned()
            }
            "version" if set.as_integer().is_none_or(|it| it.as_str() != "1") => {
                "the only version is 1".to_owned()
            }
            _ => return,
        };
        self.report(value.span(), wrong);
    }

    /// Adds its named colours to `palette`.
    pub(super) fn palette(&self, wanted: Appearance, palette: &mut Palette) {
        for (key, value) in self.sections(wanted, "palette") {
            if let Some(color) = self.color(value, &Palette::default()) {
                palette.insert(key.get_ref().to_string(), color);
            }
        }
    }

    /// The background for which its colours are made.
    pub(super) fn background(&self, wanted: Appearance, palette: &Palette) -> Option<Color> {
        let value = self.tables(wanted).filter_map(|table| table.get("background")).last()?;
        self.color(value, palette)?
    }

    /// Its styles, in the order of the file.
    pub(super) fn roles(&self, wanted: Appearance, palette: &Palette) -> Vec<(String, RoleDraft)> {
        let roles = self.sections(wanted, "roles");
        self.styles(
            roles.map(|(key, value)| (PlacedRole::of(key, key.get_ref().as_ref()), value)).collect(),
            palette,
        )
    }

    /// Its sources of styles for code, in increasing precedence.
    pub(super) fn syntax(&self, wanted: Appearance) -> Vec<Syntax<'_>> {
        let mut found = Vec::new();
        for syntax in self.tables(wanted).filter_map(|table| table.get("syntax")) {
            let of = |value: &Spanned<DeValue<'_>>| {
                value.get_ref().as_str().map(|name| Syntax::Of(name.to_owned(), value.span()))
            };
            found.extend(of(syntax));
            if let Some(table) = syntax.get_ref().as_table() {
                found.extend(table.get("extends").and_then(of));
                found.push(Syntax::Words(table));
            }
        }
        found
    }

    /// The styles of a table of [`Syntax::Words`].
    pub(super) fn words(&self, table: &DeTable<'_>, palette: &Palette) -> Vec<(String, RoleDraft)> {
        let words = sorted(table).into_iter().filter(|(key, _)| &**key.get_ref() != "extends");
        self.styles(
            words
                .map(|(key, value)| (PlacedRole::of(key, format!("syntax.{}", key.get_ref())), value))
                .collect(),
            palette,
        )
    }

    fn styles<'v>(
        &self,
        mut waiting: Vec<(PlacedRole, &'v Spanned<DeValue<'v>>)>,
        palette: &Palette,
    ) -> Vec<(String, RoleDraft)> {
        let mut roles = Vec::new();
        waiting.reverse();
        // Tables are nested like roles (`tool.name = …` without quotes is a table in a table), to any depth.
        while let Some((named, value)) = waiting.pop() {
            let Some(table) = value.get_ref().as_table() else {
                let draft = self.style_of_text(value, palette);
                roles.push((named.role, RoleDraft { at: named.span, ..draft }));
                continue;
            };
            // A table in braces is a style; one under a header may also contain roles below it.
            let is_style = self.source.text.get(value.span()).is_some_and(|text| text.starts_with('{'));
            let (own, parts): (Vec<_>, Vec<_>) = sorted(table).into_iter().partition(|(key, value)| {
                !value.get_ref().is_table() && (is_style || STYLE_KEYS.contains(&&**key.get_ref()))
            });
            if !own.is_empty() {
                let draft = self.style_of_table(&own, palette);
                roles.push((named.role.clone(), RoleDraft { at: named.span.clone(), ..draft }));
            }
            let below = |(key, value): KeyValue<'v>| {
                (PlacedRole::of(key, format!("{}.{}", named.role, key.get_ref())), value)
            };
            waiting.extend(parts.into_iter().rev().map(below));
        }
        roles
    }

    fn style_of_text(&self, value: &Spanned<DeValue<'_>>, palette: &Palette) -> RoleDraft {
        let mut draft = RoleDraft::default();
        let Some(text) = value.get_ref().as_str() else {
            self.report(value.span(), "a style is a text such as \"bold red\", or a table");
            return draft;
        };
        let mut words = text.split_whitespace();
        while let Some(word) = words.next() {
            if let Some(switch) = draft.switch(word) {
                *switch = Some(true);
            } else if let Some(like) = word.strip_prefix('@') {
                draft.like = Some(Spanned::new(value.span(), like.to_owned()));
            } else {
                let (slot, word) = match word {
                    "on" => (&mut draft.bg, words.next().unwrap_or("")),
                    word => (&mut draft.fg, word),
                };
                match find_color(word, palette) {
                    Some(color) => *slot = Some(color),
                    None => self.report(value.span(), unknown_color(word, palette, true)),
                }
            }
        }
        draft
    }

    fn style_of_table(&self, entries: &[KeyValue<'_>], palette: &Palette) -> RoleDraft {
        let mut draft = RoleDraft::default();
        for (key, value) in entries {
            match (&**key.get_ref(), value.get_ref()) {
                ("fg", _) => draft.fg = self.color(value, palette),
                ("bg", _) => draft.bg = self.color(value, palette),
                ("like", DeValue::String(role)) => {
                    let role = role.strip_prefix('@').unwrap_or(role);
                    draft.like = Some(Spanned::new(value.span(), role.to_owned()));
                }
                ("like", _) => self.report(value.span(), "like is the name of a role, in quotes"),
                (name, value_of) => match (draft.switch(name), value_of.as_bool()) {
                    (Some(switch), Some(on)) => *switch = Some(on),
                    (Some(_), None) => self.report(value.span(), format!("{name} is true or false")),
                    (None, _) => {
                        self.report(key.span(), format!("unknown key {name:?} {}", hint(name, &STYLE_KEYS)));
                    }
                },
            }
        }
        draft
    }

    /// Parses a colour. An unknown colour is reported.
    fn color(&self, value: &Spanned<DeValue<'_>>, palette: &Palette) -> Option<PaletteColor> {
        let name = match value.get_ref() {
            DeValue::String(name) => name.as_ref(),
            DeValue::Integer(number) => number.as_str(),
            _ => "",
        };
        let found = find_color(name, palette);
        if found.is_none() {
            self.report(value.span(), unknown_color(name, palette, false));
        }
        found
    }

    /// Its glyphs of a set: `[glyphs]` has those of Unicode, `[glyphs.nerd]` and so on the others.
    pub(super) fn glyphs(&self, set: Glyphs) -> impl Iterator<Item = (String, String)> {
        let mut found = Vec::new();
        let mut entries = section(&self.table, "glyphs");
        if set != Glyphs::Unicode {
            let own = entries.into_iter().find(|(key, _)| &**key.get_ref() == set.name());
            entries = own.and_then(|(_, value)| value.get_ref().as_table()).map(sorted).unwrap_or_default();
        }
        for (key, value) in entries {
            let name = &**key.get_ref();
            let is_set = set == Glyphs::Unicode && value.get_ref().is_table();
            if is_set && Glyphs::ALL.iter().any(|set| set.name() == name) {
                continue;
            }
            if glyph::mark(name).is_none() {
                let names: Vec<&str> = glyph::names().collect();
                self.report(key.span(), format!("unknown glyph {name:?} {}", hint(name, &names)));
                continue;
            }
            match value.get_ref().as_str() {
                Some(spelling) if set == Glyphs::Ascii && !spelling.is_ascii() => {
                    self.report(value.span(), "a glyph of this set is of ASCII characters");
                }
                Some(spelling) if is_glyph(spelling) => found.push((name.to_owned(), spelling.to_owned())),
                _ => self.report(value.span(), "a glyph is one to eight visible characters"),
            }
        }
        found.into_iter()
    }
}

/// The entries of a subtable, in the order of the file.
fn section<'t>(table: &'t DeTable<'_>, name: &str) -> Vec<KeyValue<'t>> {
    table.get(name).and_then(|value| value.get_ref().as_table()).map(sorted).unwrap_or_default()
}

fn sorted<'t>(table: &'t DeTable<'_>) -> Vec<KeyValue<'t>> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// The colour of this name.
fn find_color(name: &str, palette: &Palette) -> Option<PaletteColor> {
    match name {
        "default" => Some(None),
        _ => palette.get(name).copied().or_else(|| Color::parse(name).map(Some)),
    }
}

fn unknown_color(name: &str, palette: &Palette, is_word: bool) -> String {
    let mut names: Vec<&str> = palette.keys().map(String::as_str).chain(Color::NAMES).collect();
    if is_word {
        names.extend(["bold", "dim", "italic", "underline", "reverse"]);
    }
    names.sort_unstable();
    match nearest(name, &names) {
        Some(near) => format!("unknown colour {name:?} (did you mean {near:?}?)"),
        None => format!("unknown colour {name:?} (a name from [palette], an ANSI name or #rrggbb)"),
    }
}

fn is_glyph(spelling: &str) -> bool {
    let visible = text::clean(spelling) == spelling && !spelling.chars().any(char::is_whitespace);
    visible && (1..=8).contains(&spelling.width())
}
