//! `streamfmt theme`: lists, shows, checks and previews themes.

use std::fmt::Write;

use streamfmt::core::pipeline::Pipeline;
use streamfmt::core::theme::{Appearance, Theme};
use streamfmt::settings::themes::KnownTheme;
use streamfmt::{Background, Engine, Problem, Themes};

use crate::exit_code::{OK, RUN_FAILED, USAGE};
use crate::message::{one_line, print, print_problems};
use crate::output::write_out;
use crate::terminal::{ColorWhen, TerminalOptions};
use crate::usage_error::number;
use crate::{folders, terminal};

/// A short session that has a bit of everything.
const SAMPLE: &str = include_str!("preview.jsonl");

/// Lists, shows, checks and previews themes.
#[derive(Debug, clap::Args)]
pub(crate) struct ThemeArgs {
    #[command(subcommand)]
    task: ThemeCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ThemeCommand {
    /// List all themes: built-in, yours, and those of plugins
    List,
    /// Write a theme's file, to be copied and changed
    Show {
        /// The name of the theme, or a path
        name: String,
    },
    /// Check themes for errors and poor contrast
    Check {
        /// The names or paths of themes
        #[arg(required = true, value_name = "FILE")]
        names: Vec<String>,
    },
    /// Show a sample session in themes; by default in all that fit the background
    Preview {
        /// The names or paths of themes
        names: Vec<String>,

        /// When to use colours
        #[arg(long, value_name = "WHEN", value_enum, default_value_t = ColorWhen::Auto)]
        color: ColorWhen,

        /// Wrap lines at N columns
        #[arg(long, value_name = "N", value_parser = number, allow_negative_numbers = true)]
        width: Option<usize>,
    },
}

impl ThemeArgs {
    /// Runs the command and returns the exit code. The error is an exit code; its reason was reported.
    pub(crate) fn run(&self) -> Result<u8, u8> {
        match &self.task {
            ThemeCommand::List => list(&themes()?),
            ThemeCommand::Show { name } => {
                let source = themes()?.find(name, None).map_err(|problem| {
                    print(&problem.message);
                    USAGE
                })?;
                write_out(source.text.trim_end().as_bytes())
            }
            ThemeCommand::Check { names } => check(&themes()?, names),
            ThemeCommand::Preview { names, color, width } => preview(names, *color, *width),
        }
    }
}

/// Returns the themes of this run.
fn themes() -> Result<Themes, u8> {
    let builder = Engine::builder().names_options(true).defer_plugins(true).folders(folders::folders());
    let engine = builder.build().map_err(|problems| {
        print_problems(&problems);
        USAGE
    })?;
    Ok(engine.themes().clone())
}

fn list(themes: &Themes) -> Result<u8, u8> {
    let known = themes.list();
    let width = known.iter().map(|known| known.name.chars().count()).max().unwrap_or_default();
    let mut text = String::new();
    for known in &known {
        let (grounds, about) = match load(themes, known) {
            Ok(look) => (grounds(&look), look.about().unwrap_or_default().to_owned()),
            Err(problem) => ("?", problem.message),
        };
        let origin = if known.file.is_some() { format!(" ({})", known.origin) } else { String::new() };
        let line = format!("{:<width$}  {grounds:<14}  {about}{origin}", known.name);
        let _ = writeln!(text, "{}", one_line(line.trim_end()));
    }
    write_out(text.trim_end().as_bytes())
}

fn load(themes: &Themes, known: &KnownTheme) -> Result<Theme, Problem> {
    themes.load(&known.name, &Background::default()).map(|(look, _)| look)
}

fn grounds(look: &Theme) -> &'static str {
    match look.appearance() {
        Some(appearance) => appearance.name(),
        None if look.follows_background() => "dark and light",
        None => "any",
    }
}

/// Prints the problems of themes, each once, and the roles that are hard to read on a background.
fn check(themes: &Themes, names: &[String]) -> Result<u8, u8> {
    let mut is_wrong = false;
    let mut text = String::new();
    for name in names {
        let mut wrong = Vec::new();
        let mut notes: Vec<String> = Vec::new();
        for appearance in Appearance::ALL {
            let (look, problems) = match themes.load(name, &Background::Known(appearance)) {
                Ok(found) => found,
                Err(problem) => {
                    print(&problem.message);
                    return Err(USAGE);
                }
            };
            for problem in problems.0 {
                if !wrong.contains(&problem) {
                    wrong.push(problem);
                }
            }
            let on =
                if look.follows_background() { format!(" on {}", appearance.name()) } else { String::new() };
            for faint in look.hard_to_read() {
                let note = format!(
                    "{name}: {} is hard to read{on} (contrast {:.1}, at least {} is recommended)",
                    faint.role, faint.contrast, faint.least
                );
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
        let found = match (wrong.len(), notes.len()) {
            (0, 0) => "fine".to_owned(),
            (problems, faint) => format!("{problems} wrong, {faint} hard to read"),
        };
        let _ = writeln!(text, "{}: {found}", one_line(name));
        is_wrong |= !wrong.is_empty();
        print_problems(&streamfmt::Problems(wrong));
        for note in &notes {
            print(note);
        }
    }
    write_out(text.trim_end().as_bytes())?;
    Ok(if is_wrong { RUN_FAILED } else { OK })
}

fn preview(names: &[String], color: ColorWhen, width: Option<usize>) -> Result<u8, u8> {
    let mut capabilities =
        terminal::capabilities(&TerminalOptions { color, width, ..TerminalOptions::default() });
    if capabilities.color.is_none() {
        print("colours are off, so all themes look the same (use --color always)");
    }
    let ground = capabilities.background.find();
    capabilities.background = Background::Known(ground);
    let themes = themes()?;
    let all: Vec<String>;
    let names = if names.is_empty() {
        let fits = |known: &KnownTheme| {
            load(&themes, known).is_ok_and(|look| look.appearance().is_none_or(|wanted| wanted == ground))
        };
        all = themes.list().into_iter().filter(fits).map(|known| known.name).collect();
        &all
    } else {
        names
    };
    let mut text = String::new();
    for name in names {
        let engine = Engine::builder()
            .names_options(true)
            .defer_plugins(true)
            .folders(folders::folders())
            .capabilities(capabilities.clone())
            .theme(name)
            .build()
            .map_err(|problems| {
                print_problems(&problems);
                USAGE
            })?;
        print_problems(engine.warnings());
        let gap = if text.is_empty() { "" } else { "\n" };
        let _ = writeln!(text, "{gap}==> {} <==\n", one_line(name));
        let mut pipeline = Pipeline::new(engine.setup());
        // Writing to a `String` can't fail.
        let _ = pipeline.push(SAMPLE.as_bytes(), &mut text).and_then(|()| pipeline.finish(&mut text));
    }
    write_out(text.trim_end().as_bytes())
}
