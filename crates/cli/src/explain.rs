//! `streamfmt explain`: which layers apply to a tool, a kind or a line of a stream, and where each is defined.

use std::fmt::Write;
use std::fs::File;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use streamfmt::core::item::Kind;
use streamfmt::explain::{At, Candidate, Explanation, Question, Turn};
use streamfmt::unpack::UnpackedReader;
use streamfmt::{Builder, Engine, json};

use crate::choice::{SettingsChoice, build};
use crate::exit_code::USAGE;
use crate::message::{one_line, print, print_journal, reason};

/// The most characters that are shown of a layer's value.
const LONGEST: usize = 120;

/// Show which plugins and profile rules apply to a tool, a kind of item or a line of a stream, in which order, where
/// each is defined, what hides the items, and which functions listen to them.
#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// An item kind or a tool; with --at, the file of the stream
    #[arg(value_name = "KIND|TOOL|FILE", required_unless_present_any = ["tool", "kind"])]
    what: Option<String>,

    /// The exact name of the tool
    #[arg(long, value_name = "NAME", conflicts_with = "at")]
    tool: Option<String>,

    /// The item kind; `call` and `result` also need a tool
    #[arg(long, value_name = "KIND", value_parser = kinds(), conflicts_with = "at")]
    kind: Option<String>,

    /// Show how each layer formats the items that begin at this line of FILE
    #[arg(long, value_name = "LINE", value_parser = clap::value_parser!(u64).range(1..), requires = "what")]
    at: Option<u64>,

    /// Print one JSON object, for programs
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    choice: SettingsChoice,

    /// Include this plugin; repeatable
    #[arg(long, value_name = "PATH")]
    plugin: Vec<PathBuf>,
}

fn kinds() -> PossibleValuesParser {
    PossibleValuesParser::new(Kind::NAMES)
}

impl ExplainArgs {
    /// Runs the command and returns its output. The error is an exit code; its reason was reported.
    pub(crate) fn run(&self) -> Result<Vec<u8>, u8> {
        if let (Some(line), Some(file)) = (self.at, &self.what) {
            return self.at_line(file, line);
        }
        let question = self.question()?;
        let engine = build(self.builder())?;
        let explanation = engine.explain(&question);
        print_journal(engine.journal());
        if let (Some(tool), Some(doubt)) = (&explanation.tool, &explanation.doubt) {
            print(&format!("{tool}: {doubt}"));
        }
        let text = if self.json { json::pretty(&explanation) } else { explanation_text(&explanation) };
        Ok(text.trim_end().as_bytes().to_vec())
    }

    fn builder(&self) -> Builder {
        self.plugin.iter().fold(self.choice.builder(), Builder::plugin)
    }

    /// Returns the question. A single word is a kind, or else a tool.
    fn question(&self) -> Result<Question, u8> {
        let named = |name: &str| name.parse::<Kind>().ok();
        let (mut tool, mut kind) = (self.tool.clone(), self.kind.as_deref().and_then(named));
        if let Some(what) = &self.what {
            match named(what) {
                Some(found) if kind.is_none() => kind = Some(found),
                None if tool.is_none() => tool = Some(what.clone()),
                _ => {
                    print(&format!("\"{what}\" is unexpected: explain takes one tool and one kind"));
                    return Err(USAGE);
                }
            }
        }
        match (kind, &tool) {
            (Some(Kind::Call | Kind::Result), None) => {
                print("calls and results need a tool: name it with --tool");
                Err(USAGE)
            }
            (Some(kind), Some(tool)) if !matches!(kind, Kind::Call | Kind::Result) => {
                print(&format!("a {} has no tool; --tool {tool} doesn\'t apply", kind.name()));
                Err(USAGE)
            }
            _ => Ok(Question { tool, kind }),
        }
    }

    fn at_line(&self, file: &str, line: u64) -> Result<Vec<u8>, u8> {
        let complain = |message: &str| {
            print(&format!("{file}: {message}"));
            USAGE
        };
        let input = File::open(file).map_err(|error| complain(&reason(&error)))?;
        let mut input = UnpackedReader::new(input);
        let engine: Engine = build(self.builder())?;
        let at = engine.explain_line(&mut input, line).map_err(|error| complain(&reason(&error)))?;
        print_journal(engine.journal());
        if at.items.is_empty() {
            let next =
                at.next.map_or_else(String::new, |next| format!(" (the next one begins at line {next})"));
            return Err(complain(&format!("no item begins at line {line}{next}")));
        }
        let text = if self.json { json::pretty(&at) } else { items_text(&at, line) };
        Ok(text.trim_end().as_bytes().to_vec())
    }
}

fn items_text(at: &At, line: u64) -> String {
    let mut text = String::new();
    // Writing to a string can't fail.
    for item in &at.items {
        let kind = item.kind.unwrap_or_default();
        let tool = item.tool.as_ref().map_or_else(String::new, |tool| format!(" of {}", one_line(tool)));
        let _ = writeln!(text, "line {line}: {kind}{tool}\n");
        text.push_str(&properties(item));
    }
    if let Some(more) = at.more {
        let s = if more == 1 { "" } else { "s" };
        let _ = writeln!(text, "… and {more} more item{s}\n");
    }
    text.push_str("shown\n");
    if at.shown.is_empty() {
        text.push_str("  (nothing)\n");
    }
    for line in at.shown.lines() {
        let _ = writeln!(text, "{}", format!("  {line}").trim_end());
    }
    text
}

fn explanation_text(explanation: &Explanation) -> String {
    let head = match (&explanation.tool, explanation.action, explanation.kind) {
        (Some(tool), Some(action), _) => format!("{} (@{action})", one_line(tool)),
        (_, _, kind) => kind.unwrap_or_default().to_owned(),
    };
    format!("{head}\n\n{}", properties(explanation))
}

fn properties(explanation: &Explanation) -> String {
    let mut text = String::new();
    // Writing to a string can't fail.
    for walk in &explanation.properties {
        let _ = writeln!(text, "{}", walk.name);
        let rows: Vec<[String; 4]> = walk.candidates.iter().map(row).collect();
        // At least as wide as the word in the row of the built-in.
        let widths = widths(&rows, "answers".len());
        for (row, candidate) in rows.iter().zip(&walk.candidates) {
            text.push_str(&line(row, &widths));
            for (index, given) in candidate.gives.iter().flat_map(|gives| gives.lines()).enumerate() {
                let arrow = if index == 0 { "=>" } else { "  " };
                let _ = writeln!(text, "  {:<1$}  {arrow} {2}", "", widths[0], short(given));
            }
        }
        let is_answered = walk.candidates.iter().any(|candidate| candidate.turn == Turn::Answers);
        let built_in = if is_answered { "never" } else { "answers" };
        let _ = writeln!(text, "  {built_in:<0$}  built-in: {1}\n", widths[0], walk.built_in);
    }
    let hiding = explanation.hiding.iter();
    let hiding = hiding.map(|it| [it.does.to_owned(), it.place.clone(), it.to.clone(), it.says.clone()]);
    table("hiding", hiding.collect(), &mut text);
    let listeners = explanation.listeners.iter().map(|listener| {
        let whose = format!("({} {})", listener.layer, listener.plugin);
        ["sees".to_owned(), place(listener.file.as_deref(), listener.line), listener.kind.to_owned(), whose]
    });
    table("listening with sf.on", listeners.collect(), &mut text);
    text
}

/// Writes rows under a title, if there are any.
fn table(title: &str, rows: Vec<[String; 4]>, text: &mut String) {
    if rows.is_empty() {
        return;
    }
    let rows: Vec<[String; 4]> = rows.into_iter().map(|row| row.map(|cell| one_line(&cell))).collect();
    let widths = widths(&rows, 0);
    let _ = writeln!(text, "{title}");
    for row in &rows {
        text.push_str(&line(row, &widths));
    }
    text.push('\n');
}

fn widths(rows: &[[String; 4]], least: usize) -> [usize; 3] {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let [first, others @ ..] = [0, 1, 2].map(width);
    [first.max(least), others[0], others[1]]
}

fn line(row: &[String; 4], widths: &[usize; 3]) -> String {
    let mut line = String::new();
    for (cell, width) in row.iter().zip(widths) {
        let _ = write!(line, "  {cell:<width$}");
    }
    format!("{line}  {}\n", row[3])
}

/// A candidate in four columns.
fn row(candidate: &Candidate) -> [String; 4] {
    let turn = match candidate.turn {
        Turn::Asked => "asked",
        Turn::Answers => "answers",
        Turn::Never => "never",
    };
    let whose = match &candidate.plugin {
        Some(plugin) => format!("({} {})", candidate.layer, one_line(plugin)),
        None => format!("({})", candidate.layer),
    };
    let says = format!("{}  {whose}", one_line(&candidate.says));
    let place = place(candidate.file.as_deref(), candidate.line);
    [turn.to_owned(), place, one_line(&candidate.pattern), says]
}

fn place(file: Option<&str>, line: Option<usize>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!("{}:{line}", one_line(file)),
        _ => "-".to_owned(),
    }
}

/// Shortens a text of the stream to a part of one line.
fn short(text: &str) -> String {
    let text = one_line(text);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_items_that_are_not_explained_are_counted_above_the_output() {
        for (more, text) in [
            (None, "shown\n  ● ls\n"),
            (Some(1), "… and 1 more item\n\nshown\n  ● ls\n"),
            (Some(6), "… and 6 more items\n\nshown\n  ● ls\n"),
        ] {
            let at = At { more, shown: "● ls".to_owned(), ..At::default() };
            assert_eq!(items_text(&at, 1), text);
        }
    }

    #[test]
    fn a_long_value_of_a_layer_is_cut() {
        assert_eq!(short(&"é".repeat(120)), "é".repeat(120));
        assert_eq!(short(&"é".repeat(121)), "é".repeat(120) + "…");
    }
}
