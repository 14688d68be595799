//! `golden add`: creates a case from a recorded session.

use std::fmt::Write;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use streamfmt::golden::add::{LineRange, add};
use streamfmt::golden::report::word;
use streamfmt::unpack::UnpackedReader;

use super::{StdoutPage, usual_folder};
use crate::exit_code::{OK, USAGE};
use crate::message::{one_line, print, reason};

#[derive(Debug, clap::Args)]
pub(super) struct AddArgs {
    /// The name of the case, which is the folder to create, such as claude/a-failed-command
    name: String,

    /// The recorded session; `-` for standard input
    #[arg(long, value_name = "FILE")]
    from: PathBuf,

    /// Only these lines, numbered from 1, both included, such as 10..20
    #[arg(long, value_name = "RANGE")]
    events: Option<LineRange>,

    /// Mask home folders, e-mail addresses and secrets of known shapes. Review the result all the same
    #[arg(long)]
    redact: bool,

    /// The folder of all cases; by default `tests/golden` if it exists, `tests` in a plugin's folder, otherwise the current folder
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

impl AddArgs {
    pub(super) fn run(&self) -> Result<u8, u8> {
        let usual = if Path::new("plugin.toml").is_file() { PathBuf::from("tests") } else { usual_folder() };
        let root = self.root.clone().unwrap_or(usual);
        let lines = self.events.clone().unwrap_or_default();
        let wrong = |message: String| {
            print(&message);
            USAGE
        };
        let from = self.from.display().to_string();
        let recording: Box<dyn BufRead> = if from == "-" {
            Box::new(BufReader::new(UnpackedReader::new(io::stdin().lock())))
        } else {
            let file = File::open(&self.from)
                .map_err(|error| wrong(format!("can't read {from}: {}", reason(&error))))?;
            Box::new(BufReader::new(UnpackedReader::new(file)))
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
