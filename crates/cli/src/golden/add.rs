//! `golden add`: a case made of a recorded session.

use std::fmt::Write;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use streamfmt::golden::add::{LineRange, add};
use streamfmt::golden::report::word;

use super::{StdoutPage, usual_folder};
use crate::message::{OK, USAGE, one_line, reason, tell};

#[derive(Debug, clap::Args)]
pub(super) struct AddArgs {
    /// Its name: the folder to be made, as in claude/a-failed-command
    name: String,

    /// The recorded session; `-` is standard input
    #[arg(long, value_name = "FILE")]
    from: PathBuf,

    /// Only these lines of it, by number from 1, both included: 10..20
    #[arg(long, value_name = "RANGE")]
    events: Option<LineRange>,

    /// Take out home folders, e-mail addresses and secrets of known shapes. Read what is left all the same
    #[arg(long)]
    redact: bool,

    /// The folder of all cases; `tests/golden` if there is one, `tests` in a plugin's folder, else this folder
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

impl AddArgs {
    pub(super) fn run(&self) -> Result<u8, u8> {
        let usual = if Path::new("plugin.toml").is_file() { PathBuf::from("tests") } else { usual_folder() };
        let root = self.root.clone().unwrap_or(usual);
        let lines = self.events.clone().unwrap_or_default();
        let wrong = |message: String| {
            tell(&message);
            USAGE
        };
        let from = self.from.display().to_string();
        let recording: Box<dyn BufRead> = if from == "-" {
            Box::new(io::stdin().lock())
        } else {
            let file = File::open(&self.from)
                .map_err(|error| wrong(format!("can't read {from}: {}", reason(&error))))?;
            Box::new(BufReader::new(file))
        };
        let added = add(&root, &self.name, &from, recording, &lines, self.redact).map_err(wrong)?;
        let mut page = StdoutPage::new();
        let lines = if added.lines == 1 { "line" } else { "lines" };
        let input = one_line(&added.input.display().to_string());
        let _ = writeln!(page, "wrote {input}: {} {lines}", added.lines);
        for (what, count) in &added.taken {
            let _ = writeln!(page, "masked {count} × {what}");
        }
        let folder = word(&root.join(&self.name).display().to_string());
        let _ = writeln!(page, "check the input, then run: streamfmt golden bless {folder}");
        page.end(OK)
    }
}
