//! Reads a theme's TOML, and that of the themes it extends, into styles and glyphs.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use unicode_width::UnicodeWidthStr;

use super::color::Color;
use super::{Appearance, ByName, Problem, Style, Theme, glyph};
use crate::text;

/// Further problems are not told: nobody reads more at once.
const TOLD: usize = 100;

/// A longer chain of `extends` is taken for a mistake.
const MAX_CHAIN: usize = 16;

pub(super) fn parse(
    name: &str,
    source: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> (Theme, Vec<Problem>) {
    let mut problems = Vec::new();
    let chain = chain(name, source, lookup, &mut problems);
    let files: Vec<File<'_>> =
        chain.iter().map(|(name, source)| File::read(name, source, &mut problems)).collect();

    let mut theme = Theme { name: name.to_owned(), ..Theme::default() };
    let mut palette = ByName::default();
    // All palettes come before all roles, so that a theme can change a colour that its base uses.
    for file in files.iter().rev() {
        file.palette(&mut palette, &mut problems);
    }
    for file in files.iter().rev() {
        file.rest(&palette, &mut theme, &mut problems);
    }
    problems.sort_by_key(|problem| (problem.theme != name, problem.line, problem.column));
    (theme, problems)
}

/// The theme and those that it extends, each with its source, the theme itself first.
fn chain(
    name: &str,
    source: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
    problems: &mut Vec<Problem>,
) -> Vec<(String, String)> {
    let mut chain = vec![(name.to_owned(), source.to_owned())];
    while let Some((name, source)) = chain.last() {
        let (table, _) = DeTable::parse_recoverable(source);
        let Some(value) = table.get_ref().get("extends") else { break };
        let mut tell = |message| problems.push(problem(name, source, value.span(), message));
        let Some(base) = value.get_ref().as_str() else {
            tell("extends is the name of a theme, in quotes".to_owned());
            break;
        };
        if chain.iter().any(|(known, _)| known == base) || chain.len() == MAX_CHAIN {
            tell(format!("{base:?} extends itself"));
            break;
        }
        let Some(found) = lookup(base) else {
            tell(format!("no theme is called {base:?}"));
            break;
        };
        chain.push((base.to_owned(), found));
    }
    chain
}

fn problem(theme: &str, source: &str, span: Range<usize>, message: String) -> Problem {
    let before = source.get(..span.start).unwrap_or(source);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    Problem {
        theme: theme.to_owned(),
        line: before.bytes().filter(|&byte| byte == b'\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        message,
    }
}

/// One file of the chain.
struct File<'a> {
    name: &'a str,
    source: &'a str,
    table: DeTable<'a>,
}

type Entry<'a> = (&'a Spanned<std::borrow::Cow<'a, str>>, &'a Spanned<DeValue<'a>>);

impl<'a> File<'a> {
    fn read(name: &'a str, source: &'a str, problems: &mut Vec<Problem>) -> Self {
        let (table, errors) = DeTable::parse_recoverable(source);
        for error in errors.into_iter().take(TOLD) {
            let span = error.span().unwrap_or(0..0);
            problems.push(problem(name, source, span, error.message().to_owned()));
        }
        Self { name, source, table: table.into_inner() }
    }

    fn tell(&self, problems: &mut Vec<Problem>, span: Range<usize>, message: impl Into<String>) {
        if problems.len() < TOLD {
            problems.push(problem(self.name, self.source, span, message.into()));
        }
    }

    /// The entries of a table, in the order of the file.
    fn section(&self, name: &str, problems: &mut Vec<Problem>) -> Vec<Entry<'_>> {
        let Some(value) = self.table.get(name) else { return Vec::new() };
        let Some(table) = value.get_ref().as_table() else {
            self.tell(problems, value.span(), format!("{name} is a table: [{name}]"));
            return Vec::new();
        };
        sorted(table)
    }

    fn palette(&self, palette: &mut ByName<Color>, problems: &mut Vec<Problem>) {
        for (key, value) in self.section("palette", problems) {
            if let Some(color) = self.color(value, &ByName::default(), problems) {
                palette.insert(key.get_ref().to_string(), color);
            }
        }
    }

    fn rest(&self, palette: &ByName<Color>, theme: &mut Theme, problems: &mut Vec<Problem>) {
        for (key, value) in sorted(&self.table) {
            match &**key.get_ref() {
                "appearance" => match value.get_ref().as_str() {
                    Some("dark") => theme.appearance = Appearance::Dark,
                    Some("light") => theme.appearance = Appearance::Light,
                    _ => self.tell(problems, value.span(), "appearance is \"dark\" or \"light\""),
                },
                "extends" | "palette" => {}
                "roles" => self.roles(palette, theme, problems),
                "glyphs" => self.glyphs(theme, problems),
                other => self.tell(
                    problems,
                    key.span(),
                    format!("unknown key {other:?} (extends, appearance, palette, roles, glyphs)"),
                ),
            }
        }
    }

    fn roles(&self, palette: &ByName<Color>, theme: &mut Theme, problems: &mut Vec<Problem>) {
        let mut waiting: Vec<(String, &Spanned<DeValue<'_>>)> = self
            .section("roles", problems)
            .into_iter()
            .rev()
            .map(|(key, value)| (key.get_ref().to_string(), value))
            .collect();
        // Tables nest as roles do (`tool.name = …` without quotes is a table in a table), to any depth.
        while let Some((role, value)) = waiting.pop() {
            let Some(table) = value.get_ref().as_table() else {
                let style = self.style_of_text(value, palette, problems);
                theme.roles.insert(role, style);
                continue;
            };
            let (own, parts): (Vec<_>, Vec<_>) = sorted(table)
                .into_iter()
                .partition(|(key, value)| is_style_key(key.get_ref()) && !value.get_ref().is_table());
            if !own.is_empty() {
                let style = self.style_of_table(&own, palette, problems);
                theme.roles.insert(role.clone(), style);
            }
            waiting.extend(
                parts.into_iter().rev().map(|(key, value)| (format!("{role}.{}", key.get_ref()), value)),
            );
        }
    }

    fn style_of_text(
        &self,
        value: &Spanned<DeValue<'_>>,
        palette: &ByName<Color>,
        problems: &mut Vec<Problem>,
    ) -> Style {
        let mut style = Style::default();
        let Some(text) = value.get_ref().as_str() else {
            self.tell(problems, value.span(), "a style is a text such as \"bold red\" or a table");
            return style;
        };
        let mut words = text.split_whitespace();
        while let Some(word) = words.next() {
            if let Some(switch) = switch(&mut style, word) {
                *switch = true;
                continue;
            }
            let (behind, word) =
                if word == "on" { (true, words.next().unwrap_or("")) } else { (false, word) };
            match find_color(word, palette) {
                Found::Unknown => self.tell(problems, value.span(), unknown_color(word)),
                Found::Default => {}
                Found::Color(color) if behind => style.bg = Some(color),
                Found::Color(color) => style.fg = Some(color),
            }
        }
        style
    }

    fn style_of_table(
        &self,
        entries: &[Entry<'_>],
        palette: &ByName<Color>,
        problems: &mut Vec<Problem>,
    ) -> Style {
        let mut style = Style::default();
        for (key, value) in entries {
            match &**key.get_ref() {
                "fg" => style.fg = self.color(value, palette, problems),
                "bg" => style.bg = self.color(value, palette, problems),
                name => match (switch(&mut style, name), value.get_ref().as_bool()) {
                    (Some(switch), Some(on)) => *switch = on,
                    _ => self.tell(problems, value.span(), format!("{name} is true or false")),
                },
            }
        }
        style
    }

    fn color(
        &self,
        value: &Spanned<DeValue<'_>>,
        palette: &ByName<Color>,
        problems: &mut Vec<Problem>,
    ) -> Option<Color> {
        let name = match value.get_ref() {
            DeValue::String(name) => name.as_ref(),
            DeValue::Integer(number) => number.as_str(),
            _ => "",
        };
        match find_color(name, palette) {
            Found::Color(color) => Some(color),
            Found::Default => None,
            Found::Unknown => {
                self.tell(problems, value.span(), unknown_color(name));
                None
            }
        }
    }

    fn glyphs(&self, theme: &mut Theme, problems: &mut Vec<Problem>) {
        for (key, value) in self.section("glyphs", problems) {
            let name = key.get_ref();
            if !glyph::is_known(name) {
                self.tell(problems, key.span(), format!("unknown glyph {name:?}"));
                continue;
            }
            match value.get_ref().as_str() {
                Some(spelling) if is_glyph(spelling) => {
                    theme.glyphs.insert(name.to_string(), spelling.to_owned());
                }
                _ => self.tell(problems, value.span(), "a glyph is one to eight visible characters"),
            }
        }
    }
}

fn sorted<'a>(table: &'a DeTable<'_>) -> Vec<Entry<'a>> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

enum Found {
    Color(Color),
    Default,
    Unknown,
}

fn find_color(name: &str, palette: &ByName<Color>) -> Found {
    if name == "default" {
        return Found::Default;
    }
    palette.get(name).copied().or_else(|| Color::parse(name)).map_or(Found::Unknown, Found::Color)
}

fn unknown_color(name: &str) -> String {
    format!("unknown colour {name:?} (a name from [palette], an ANSI name or #rrggbb)")
}

fn is_style_key(name: &str) -> bool {
    matches!(name, "fg" | "bg") || switch(&mut Style::default(), name).is_some()
}

/// The switch of a style that a word names. Blinking and concealed text are not offered: the one
/// disturbs, the other hides.
fn switch<'a>(style: &'a mut Style, name: &str) -> Option<&'a mut bool> {
    match name {
        "bold" => Some(&mut style.bold),
        "dim" => Some(&mut style.dim),
        "italic" => Some(&mut style.italic),
        "underline" => Some(&mut style.underline),
        "reverse" => Some(&mut style.reverse),
        _ => None,
    }
}

fn is_glyph(spelling: &str) -> bool {
    let visible = text::clean(spelling) == spelling && !spelling.chars().any(char::is_whitespace);
    visible && (1..=8).contains(&spelling.width())
}
