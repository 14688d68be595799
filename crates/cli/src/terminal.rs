//! What the output can show, decided in one place from options, environment and terminal.

use std::env;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;

use jiff::tz::TimeZone;
use streamfmt::core::profile::Ci;
use streamfmt::core::theme::{Appearance, ColorDepth};
use streamfmt::{Background, Looks};

use crate::args::{Args, When};
use crate::background;
use crate::message::tell;

/// Narrower is no layout any more.
const NARROWEST: usize = 20;

/// What the file of an output of format `to` beside the main one can show. The options for a terminal don't hold for it.
pub(crate) fn looks_of_file(args: &Args, to: &str) -> Looks {
    let asked = Asked { to: Some(to), color: When::Auto, width: None, is_file: true };
    let surroundings = Surroundings {
        is_terminal: false,
        can_ask: false,
        columns: &|| None,
        variable: &|name| env::var(name).ok(),
    };
    Looks { zone: zone(args), ..surroundings.looks(&asked) }
}

/// What standard output, or the file that is written instead, can show.
pub(crate) fn looks(args: &Args) -> Looks {
    let is_terminal = args.output.is_none() && io::stdout().is_terminal();
    let columns = || terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
    // What is read from the terminal itself is the input then, not an answer.
    let is_read = io::stdin().is_terminal() && args.files.iter().any(|file| file == Path::new("-"));
    let can_ask = is_terminal && !is_read;
    let surroundings =
        Surroundings { is_terminal, can_ask, columns: &columns, variable: &|name| env::var(name).ok() };
    Looks { zone: zone(args), ..surroundings.looks(&Asked::of(args)) }
}

fn zone(args: &Args) -> Option<TimeZone> {
    args.timestamps.then(TimeZone::system)
}

/// What was asked for.
struct Asked<'a> {
    to: Option<&'a str>,
    color: When,
    width: Option<usize>,
    /// Whether a file is written instead of standard output.
    is_file: bool,
}

impl<'a> Asked<'a> {
    fn of(args: &'a Args) -> Self {
        Self { to: args.to.as_deref(), color: args.color, width: args.width, is_file: args.output.is_some() }
    }
}

/// What the decision depends on.
struct Surroundings<'a> {
    is_terminal: bool,
    /// Whether the terminal may be asked.
    can_ask: bool,
    columns: &'a dyn Fn() -> Option<usize>,
    variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Surroundings<'_> {
    fn looks(&self, asked: &Asked<'_>) -> Looks {
        Looks {
            color: self.wants_color(asked).then(|| self.depth()),
            force_color: asked.color == When::Always,
            width: self.width(asked.width),
            is_width_fixed: asked.width.is_some(),
            links: self.is_terminal && self.follows_links(),
            background: self.background(),
            zone: None,
            ci: if asked.is_file { Ci::None } else { self.ci() },
        }
    }

    /// The CI service that this runs on.
    fn ci(&self) -> Ci {
        let is_on = |name| self.get(name).is_some_and(|value| value != "false");
        if is_on("GITHUB_ACTIONS") {
            Ci::Github
        } else if is_on("GITLAB_CI") {
            Ci::Gitlab
        } else if is_on("CI") || is_on("TF_BUILD") || is_on("TEAMCITY_VERSION") {
            Ci::Plain
        } else {
            Ci::None
        }
    }

    fn wants_color(&self, asked: &Asked<'_>) -> bool {
        let forced = self.get("CLICOLOR_FORCE").is_some_and(|value| value != "0");
        match asked.color {
            When::Always => true,
            When::Never => false,
            // Who asks for the format by its name has thought of where it goes.
            When::Auto if asked.to == Some("ansi") => true,
            When::Auto if self.get("NO_COLOR").is_some() => false,
            When::Auto if forced => true,
            When::Auto => self.is_terminal && self.get("TERM").is_none_or(|term| term != "dumb"),
        }
    }

    fn depth(&self) -> ColorDepth {
        let term = self.get("TERM").unwrap_or_default();
        let direct = self.get("COLORTERM").is_some_and(|value| value == "truecolor" || value == "24bit");
        if direct || term.ends_with("-direct") || self.get("WT_SESSION").is_some() {
            ColorDepth::TrueColor
        } else if self.is_terminal && ["linux", "vt100", "vt220", "ansi", "xterm"].contains(&term.as_str()) {
            ColorDepth::Ansi16
        } else {
            ColorDepth::Ansi256
        }
    }

    fn width(&self, asked: Option<usize>) -> Option<usize> {
        let width = match asked {
            Some(width) => Some(width),
            None if self.is_terminal => {
                let told = self
                    .get("COLUMNS")
                    .and_then(|columns| columns.parse().ok())
                    .filter(|&columns| columns > 0);
                told.or_else(|| (self.columns)())
            }
            None => None,
        };
        width.filter(|&width| width > 0).map(|width| width.max(NARROWEST))
    }

    /// Whether the terminal is known to show links as links. Others could show the address as text.
    fn follows_links(&self) -> bool {
        let term = self.get("TERM").unwrap_or_default();
        if term == "dumb" || term.starts_with("screen") || term.starts_with("tmux") {
            return false;
        }
        let program = self.get("TERM_PROGRAM").unwrap_or_default();
        let vte = self.get("VTE_VERSION").and_then(|version| version.parse::<u32>().ok());
        ["iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby"].contains(&program.as_str())
            || ["xterm-kitty", "xterm-ghostty", "alacritty", "foot", "foot-extra", "contour"]
                .contains(&term.as_str())
            || vte.is_some_and(|version| version >= 5000)
            || self.get("WT_SESSION").is_some()
            || self.get("KONSOLE_VERSION").is_some()
    }

    /// What the user says; else what the terminal says when it is asked; else what it said to its programs in
    /// numbers, `foreground;background`.
    fn background(&self) -> Background {
        let told = self.get("STREAMFMT_BACKGROUND");
        match told.as_deref().map(|said| (said, Appearance::parse(said))) {
            Some((_, Some(said))) => return Background::Known(said),
            Some((said, None)) => tell(&format!("STREAMFMT_BACKGROUND can't be \"{said}\" (dark or light)")),
            None => {}
        }
        let told = self.get("COLORFGBG").unwrap_or_default();
        let told = match told.rsplit(';').next().and_then(|ground| ground.parse().ok()) {
            Some(7 | 9..=15) => Appearance::Light,
            _ => Appearance::Dark,
        };
        if self.can_ask {
            Background::Ask(Arc::new(move || background::ask().unwrap_or(told)))
        } else {
            Background::Known(told)
        }
    }

    /// A variable that is set and not empty.
    fn get(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The looks for a line of options, with a terminal of 100 columns or none.
    fn looks(line: &str, is_terminal: bool, variables: &[(&str, &str)]) -> Looks {
        let words = ["streamfmt"].into_iter().chain(line.split_whitespace()).map(Into::into);
        let args = Args::read(words).unwrap();
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Surroundings { is_terminal, can_ask: false, columns: &|| Some(100), variable: &variable }
            .looks(&Asked::of(&args))
    }

    #[test]
    fn colours_need_a_terminal_or_a_wish() {
        for (line, is_terminal, variables, colored) in [
            ("", true, &[][..], true),
            ("", false, &[], false),
            ("--color always", false, &[("NO_COLOR", "1")], true),
            ("--color never", true, &[("CLICOLOR_FORCE", "1")], false),
            ("--color never --to ansi", true, &[], false),
            ("--to ansi", false, &[], true),
            ("", true, &[("NO_COLOR", "1")], false),
            ("", true, &[("NO_COLOR", "")], true),
            ("", false, &[("CLICOLOR_FORCE", "1")], true),
            ("", false, &[("CLICOLOR_FORCE", "0")], false),
            ("", true, &[("TERM", "dumb")], false),
        ] {
            assert_eq!(
                looks(line, is_terminal, variables).color.is_some(),
                colored,
                "{line:?} {variables:?}"
            );
        }
    }

    #[test]
    fn the_width_is_the_terminals_unless_told() {
        for (line, is_terminal, columns, width) in [
            ("", true, "", Some(100)),
            ("", true, "60", Some(60)),
            ("", true, "0", Some(100)),
            ("", true, "1", Some(NARROWEST)),
            ("", false, "60", None),
            ("--width 40", false, "60", Some(40)),
            ("--width 0", true, "60", None),
        ] {
            assert_eq!(
                looks(line, is_terminal, &[("COLUMNS", columns)]).width,
                width,
                "{line:?} {columns:?}"
            );
        }
    }

    #[test]
    fn depth_background_and_links_are_read_from_the_environment() {
        let told =
            looks("", true, &[("COLORTERM", "truecolor"), ("COLORFGBG", "0;15"), ("VTE_VERSION", "7200")]);
        assert_eq!((told.color, told.links), (Some(ColorDepth::TrueColor), true));
        assert!(matches!(told.background, Background::Known(Appearance::Light)));
        let told =
            looks("", true, &[("TERM", "tmux-256color"), ("COLORFGBG", "15;0"), ("VTE_VERSION", "7200")]);
        assert_eq!((told.color, told.links), (Some(ColorDepth::Ansi256), false));
        assert!(matches!(told.background, Background::Known(Appearance::Dark)));
        let told = looks("", true, &[("COLORFGBG", "15;0"), ("STREAMFMT_BACKGROUND", "light")]);
        assert!(matches!(told.background, Background::Known(Appearance::Light)));
        assert!(!looks("--color always", false, &[("VTE_VERSION", "7200")]).links);
    }

    #[test]
    fn the_log_of_a_service_is_known_by_its_variables() {
        for (line, variables, ci) in [
            ("", &[][..], Ci::None),
            ("", &[("CI", "true")], Ci::Plain),
            ("", &[("CI", "false")], Ci::None),
            ("", &[("CI", "true"), ("GITHUB_ACTIONS", "true")], Ci::Github),
            ("", &[("CI", "true"), ("GITLAB_CI", "true")], Ci::Gitlab),
            ("-o x.txt", &[("GITHUB_ACTIONS", "true")], Ci::None),
        ] {
            assert_eq!(looks(line, false, variables).ci, ci, "{line:?} {variables:?}");
        }
    }
}
