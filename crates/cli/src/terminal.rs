//! The looks of the output, decided in one place from options, environment and terminal.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;
use std::{env, fs};

use clap::ValueEnum;
use jiff::tz::TimeZone;
use streamfmt::core::profile::Ci;
use streamfmt::core::theme::{Appearance, ColorDepth};
use streamfmt::writer::terminal::LazyZone;
use streamfmt::writers::{self, WriterRow};
use streamfmt::{Background, OutputCapabilities};

use crate::background_color;
use crate::message::print;

/// The least width that lines are wrapped at.
const NARROWEST: usize = 20;

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    #[default]
    Auto,
    Always,
    Never,
}

/// When to show items that are still being written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhenLive {
    /// On a terminal
    #[default]
    Auto,
    /// On a terminal; with --to json, as updates
    Always,
    /// Show only complete items
    Never,
}

/// The options that affect the looks.
#[derive(Clone, Copy, Default)]
pub(crate) struct TerminalOptions<'a> {
    /// The output format.
    pub(crate) to: Option<&'a str>,
    pub(crate) color: ColorWhen,
    pub(crate) width: Option<usize>,
    /// Whether a file is written instead of standard output.
    pub(crate) is_file: bool,
    /// Whether standard input is read: then bytes from a terminal are input, not an answer to a query.
    pub(crate) reads_stdin: bool,
}

/// The looks of a further output of format `to`, to a file. The options for a terminal don't apply to it.
pub(crate) fn capabilities_of_file(to: &str) -> OutputCapabilities {
    let options = TerminalOptions { to: Some(to), is_file: true, ..TerminalOptions::default() };
    let surroundings = Environment {
        is_terminal: false,
        can_ask: false,
        columns: &|| None,
        variable: &|name| env::var(name).ok(),
    };
    surroundings.capabilities(&options)
}

/// The looks of standard output, or of the file that is written instead.
pub(crate) fn capabilities(options: &TerminalOptions<'_>) -> OutputCapabilities {
    let is_terminal = !options.is_file && io::stdout().is_terminal();
    let columns = || terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
    let can_ask = is_terminal && !(options.reads_stdin && io::stdin().is_terminal());
    let surroundings =
        Environment { is_terminal, can_ask, columns: &columns, variable: &|name| env::var(name).ok() };
    surroundings.capabilities(options)
}

/// Whether the program runs on a CI service, so standard error is a part of its log.
pub(crate) fn is_ci() -> bool {
    let surroundings = Environment {
        is_terminal: false,
        can_ask: false,
        columns: &|| None,
        variable: &|name| env::var(name).ok(),
    };
    surroundings.ci() != Ci::None
}

/// The local time zone, read from its file: looking it up by name searches a folder of hundreds of files, which takes longer than
/// formatting a short recording.
fn local_zone() -> TimeZone {
    let name = env::var_os("TZ").unwrap_or_default();
    let file = match name.to_str() {
        Some("") => "/etc/localtime".into(),
        Some("UTC") => return TimeZone::UTC,
        // Without a slash it may also be a rule, such as `CET-1`.
        Some(name) if name.contains('/') => Path::new("/usr/share/zoneinfo").join(name),
        _ => return TimeZone::system(),
    };
    let zone = fs::read(file).ok().and_then(|rules| TimeZone::tzif("local", &rules).ok());
    zone.unwrap_or_else(TimeZone::system)
}

/// The environment that the decision depends on.
struct Environment<'a> {
    is_terminal: bool,
    /// Whether the terminal can be queried.
    can_ask: bool,
    columns: &'a dyn Fn() -> Option<usize>,
    variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Environment<'_> {
    fn capabilities(&self, options: &TerminalOptions<'_>) -> OutputCapabilities {
        OutputCapabilities {
            color: self.wants_color(options).then(|| self.depth()),
            force_color: options.color == ColorWhen::Always,
            width: self.width(options.width),
            is_width_fixed: options.width.is_some(),
            links: self.is_terminal && self.follows_links(),
            background: self.background(),
            zone: LazyZone::new(local_zone),
            ci: if options.is_file { Ci::None } else { self.ci() },
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

    fn wants_color(&self, options: &TerminalOptions<'_>) -> bool {
        let forced = self.get("CLICOLOR_FORCE").is_some_and(|value| value != "0");
        match options.color {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            // Whoever names the format has considered the destination.
            ColorWhen::Auto if options.to.and_then(writers::find).is_some_and(WriterRow::has_escapes) => true,
            ColorWhen::Auto if self.get("NO_COLOR").is_some() => false,
            ColorWhen::Auto if forced => true,
            ColorWhen::Auto => self.is_terminal && self.get("TERM").is_none_or(|term| term != "dumb"),
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

    fn width(&self, options: Option<usize>) -> Option<usize> {
        let width = match options {
            Some(width) => Some(width),
            None if self.is_terminal => {
                let wanted = self
                    .get("COLUMNS")
                    .and_then(|columns| columns.parse().ok())
                    .filter(|&columns| columns > 0);
                wanted.or_else(|| (self.columns)())
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

    /// The background, from the user's variable, else from a query of the terminal, else from the numbers `foreground;background` that
    /// some terminals set.
    fn background(&self) -> Background {
        let wanted = self.get("STREAMFMT_BACKGROUND");
        match wanted.as_deref().map(|word| (word, Appearance::parse(word))) {
            Some((_, Some(wanted))) => return Background::Known(wanted),
            Some((word, None)) => print(&format!("STREAMFMT_BACKGROUND can't be \"{word}\" (dark or light)")),
            None => {}
        }
        let numbers = self.get("COLORFGBG").unwrap_or_default();
        let appearance = match numbers.rsplit(';').next().and_then(|ground| ground.parse().ok()) {
            Some(7 | 9..=15) => Appearance::Light,
            _ => Appearance::Dark,
        };
        if self.can_ask {
            Background::Ask(Arc::new(move || background_color::ask().unwrap_or(appearance)))
        } else {
            Background::Known(appearance)
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

    const NONE: TerminalOptions<'_> =
        TerminalOptions { to: None, color: ColorWhen::Auto, width: None, is_file: false, reads_stdin: false };
    const ALWAYS: TerminalOptions<'_> = TerminalOptions { color: ColorWhen::Always, ..NONE };
    const NEVER: TerminalOptions<'_> = TerminalOptions { color: ColorWhen::Never, ..NONE };
    const ANSI: TerminalOptions<'_> = TerminalOptions { to: Some("ansi"), ..NONE };

    fn width(width: usize) -> TerminalOptions<'static> {
        TerminalOptions { width: Some(width), ..NONE }
    }

    /// The appearance on a terminal of 100 columns, or without one.
    fn capabilities(
        options: TerminalOptions<'_>,
        is_terminal: bool,
        variables: &[(&str, &str)],
    ) -> OutputCapabilities {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Environment { is_terminal, can_ask: false, columns: &|| Some(100), variable: &variable }
            .capabilities(&options)
    }

    #[test]
    fn colours_need_a_terminal_or_a_wish() {
        for (options, is_terminal, variables, colored) in [
            (NONE, true, &[][..], true),
            (NONE, false, &[], false),
            (ALWAYS, false, &[("NO_COLOR", "1")], true),
            (NEVER, true, &[("CLICOLOR_FORCE", "1")], false),
            (TerminalOptions { color: ColorWhen::Never, ..ANSI }, true, &[], false),
            (ANSI, false, &[], true),
            (NONE, true, &[("NO_COLOR", "1")], false),
            (NONE, true, &[("NO_COLOR", "")], true),
            (NONE, false, &[("CLICOLOR_FORCE", "1")], true),
            (NONE, false, &[("CLICOLOR_FORCE", "0")], false),
            (NONE, true, &[("TERM", "dumb")], false),
        ] {
            assert_eq!(
                capabilities(options, is_terminal, variables).color.is_some(),
                colored,
                "{variables:?}"
            );
        }
    }

    #[test]
    fn the_width_is_the_terminals_unless_told() {
        for (options, is_terminal, columns, width) in [
            (NONE, true, "", Some(100)),
            (NONE, true, "60", Some(60)),
            (NONE, true, "0", Some(100)),
            (NONE, true, "1", Some(NARROWEST)),
            (NONE, false, "60", None),
            (width(40), false, "60", Some(40)),
            (width(0), true, "60", None),
        ] {
            assert_eq!(
                capabilities(options, is_terminal, &[("COLUMNS", columns)]).width,
                width,
                "{columns:?}"
            );
        }
    }

    #[test]
    fn depth_background_and_links_are_read_from_the_environment() {
        let told = capabilities(
            NONE,
            true,
            &[("COLORTERM", "truecolor"), ("COLORFGBG", "0;15"), ("VTE_VERSION", "7200")],
        );
        assert_eq!((told.color, told.links), (Some(ColorDepth::TrueColor), true));
        assert!(matches!(told.background, Background::Known(Appearance::Light)));
        let told = capabilities(
            NONE,
            true,
            &[("TERM", "tmux-256color"), ("COLORFGBG", "15;0"), ("VTE_VERSION", "7200")],
        );
        assert_eq!((told.color, told.links), (Some(ColorDepth::Ansi256), false));
        assert!(matches!(told.background, Background::Known(Appearance::Dark)));
        let told = capabilities(NONE, true, &[("COLORFGBG", "15;0"), ("STREAMFMT_BACKGROUND", "light")]);
        assert!(matches!(told.background, Background::Known(Appearance::Light)));
        assert!(!capabilities(ALWAYS, false, &[("VTE_VERSION", "7200")]).links);
    }

    #[test]
    fn the_log_of_a_service_is_known_by_its_variables() {
        for (options, variables, ci) in [
            (NONE, &[][..], Ci::None),
            (NONE, &[("CI", "true")], Ci::Plain),
            (NONE, &[("CI", "false")], Ci::None),
            (NONE, &[("CI", "true"), ("GITHUB_ACTIONS", "true")], Ci::Github),
            (NONE, &[("CI", "true"), ("GITLAB_CI", "true")], Ci::Gitlab),
            (TerminalOptions { is_file: true, ..NONE }, &[("GITHUB_ACTIONS", "true")], Ci::None),
        ] {
            assert_eq!(capabilities(options, false, variables).ci, ci, "{variables:?}");
        }
    }
}
