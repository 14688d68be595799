//! `streamfmt explain`: who says what of a tool or a kind, with the place where it was told to.

use std::fmt::Write;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use streamfmt::core::item::Kind;
use streamfmt::explain::{Candidate, Explanation, Question, Turn};

use crate::choice::{Choice, build};
use crate::message::{USAGE, one_line, tell, tell_journal};

/// Says for each property of a tool, or for a kind of item, which plugins and profiles are asked, in which
/// order, and where each of them was told to.
#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    /// The tool, by its exact name
    #[arg(long, value_name = "NAME", required_unless_present = "kind")]
    tool: Option<String>,

    /// The kind of item; for `call` and `result` also name the tool
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    kind: Option<String>,

    /// For programs: one JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    choice: Choice,

    /// A plugin that would be added; repeatable
    #[arg(long, value_name = "PATH")]
    plugin: Vec<PathBuf>,
}

fn kinds() -> PossibleValuesParser {
    PossibleValuesParser::new(Kind::ALL.map(Kind::name))
}

impl Explain {
    /// Writes the answer.
    pub(crate) fn run(&self) -> Result<Vec<u8>, u8> {
        let mut builder = self.choice.builder();
        for path in &self.plugin {
            builder = builder.plugin(path);
        }
        let kind = self.kind.as_deref().and_then(|name| Kind::ALL.into_iter().find(|it| it.name() == name));
        if matches!(kind, Some(Kind::Call | Kind::Result)) && self.tool.is_none() {
            tell("a call or result belongs to a tool: name it with --tool");
            return Err(USAGE);
        }
        let engine = build(builder)?;
        let explanation = engine.explain(&Question { tool: self.tool.clone(), kind });
        tell_journal(engine.journal());
        if self.json {
            return Ok(explanation.to_json().into_bytes());
        }
        let mut text = told(&explanation);
        text.truncate(text.trim_end().len());
        Ok(text.into_bytes())
    }
}

fn told(explanation: &Explanation) -> String {
    let mut text = String::new();
    // Writing to a string can't fail.
    if let Some(tool) = &explanation.tool {
        let action = explanation.action.map_or(String::new(), |action| format!(" (@{action})"));
        let _ = writeln!(text, "{}{action}\n", one_line(tool));
    }
    if let (None, Some(kind)) = (&explanation.tool, explanation.kind) {
        let _ = writeln!(text, "{kind}\n");
    }
    for walk in &explanation.properties {
        let _ = writeln!(text, "{}", walk.name);
        let rows: Vec<[String; 4]> = walk.candidates.iter().map(row).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let mut widths = [0, 1, 2].map(width);
        // As wide as the word for the layer that answers.
        widths[0] = "answers".len();
        for row in &rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(widths) {
                let _ = write!(line, "  {cell:<width$}");
            }
            let _ = writeln!(text, "{line}  {}", row[3]);
        }
        let is_answered = walk.candidates.iter().any(|candidate| candidate.turn == Turn::Answers);
        let built_in = if is_answered { "never" } else { "answers" };
        let _ = writeln!(text, "  {built_in:<0$}  built-in: {1}\n", widths[0], walk.built_in);
    }
    text
}

/// A candidate in four columns.
fn row(candidate: &Candidate) -> [String; 4] {
    let turn = match candidate.turn {
        Turn::Asked => "asked",
        Turn::Answers => "answers",
        Turn::Never => "never",
    };
    let place = match (&candidate.file, candidate.line) {
        (Some(file), Some(line)) => format!("{}:{line}", one_line(file)),
        _ => "-".to_owned(),
    };
    let whose = match &candidate.plugin {
        Some(plugin) => format!("({} {})", candidate.layer, one_line(plugin)),
        None => format!("({})", candidate.layer),
    };
    let says = format!("{}  {whose}", one_line(&candidate.says));
    [turn.to_owned(), place, one_line(&candidate.pattern), says]
}
