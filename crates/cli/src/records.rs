//! `streamfmt records`: prints instructions for a model to write records, and checks its output.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Subcommand;
use streamfmt::Files;
use streamfmt::core::frame::{Framer, Frames};
use streamfmt::records::{self, Flaw, MAX_RECORD, RecordCheck, RecordSchema, instructions};
use streamfmt::unpack::UnpackedReader;
use streamfmt::writer::ci::parted;

use crate::exit_code::{OK, RUN_FAILED, USAGE};
use crate::message::{one_line, print, print_problems, reason};
use crate::output::write_out;
use crate::terminal;

/// The number of bytes read at once.
const PIECE: usize = 64 * 1024;

/// Prints instructions for a model to write records, and checks what it wrote.
#[derive(Debug, clap::Args)]
pub(crate) struct RecordsArgs {
    #[command(subcommand)]
    command: RecordsCommand,
}

#[derive(Debug, Subcommand)]
enum RecordsCommand {
    /// Print instructions for a model to write the records of a schema
    Prompt {
        /// The schema: `project`, or the path of a TOML file
        schema: String,
    },
    /// List the lines of a file that don't fit a schema; exit with 1 if there are any
    Check {
        /// The schema: `project`, or the path of a TOML file
        schema: String,
        /// The text that the model wrote, prose included; standard input for `-`
        file: PathBuf,
    },
}

impl RecordsArgs {
    /// Runs the command and returns the exit code. The error is an exit code; its reason was reported.
    pub(crate) fn run(&self) -> Result<u8, u8> {
        match &self.command {
            RecordsCommand::Prompt { schema } => {
                write_out(one_line_each(&instructions(&load(schema)?)).trim_end().as_bytes())
            }
            RecordsCommand::Check { schema, file } => check(&load(schema)?, file),
        }
    }
}

fn load(schema: &str) -> Result<RecordSchema, u8> {
    records::load(&Files::default(), schema).map_err(|problems| {
        print_problems(&problems);
        USAGE
    })
}

/// Cleans each line of a text.
fn one_line_each(text: &str) -> String {
    text.lines().fold(String::new(), |clean, line| clean + &one_line(line) + "\n")
}

/// Prints a line for each flaw of a file as it is read.
fn check(schema: &RecordSchema, path: &Path) -> Result<u8, u8> {
    let is_stdin = path == Path::new("-");
    let name = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
    let fail = |error: &io::Error| {
        print(&format!("can't read {name}: {}", reason(error)));
        USAGE
    };
    let mut input: Box<dyn Read> = if is_stdin {
        Box::new(UnpackedReader::new(io::stdin().lock()))
    } else {
        Box::new(UnpackedReader::new(File::open(path).map_err(|error| fail(&error))?))
    };
    let is_ci = terminal::is_ci();
    let mut flaws = 0_u64;
    let mut lines = String::new();
    let mut add = |lines: &mut String, flaw: Option<Flaw>| {
        let Some(Flaw { line, reason }) = flaw else { return };
        flaws += 1;
        let message = one_line(&format!("{name}:{line}: {reason}"));
        let message = if is_ci { parted(&message) } else { message.into() };
        let _ = writeln!(lines, "{message}");
    };
    let mut check = RecordCheck::new(schema);
    let mut framer = Framer::new(MAX_RECORD);
    let mut piece = vec![0; PIECE];
    loop {
        let read = match input.read(&mut piece) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(fail(&error)),
        };
        let take = |frames: Frames<'_>| {
            if frames.oversized.is_some() {
                return add(&mut lines, Some(check.long_line()));
            }
            frames.lines().for_each(|line| add(&mut lines, check.line(line)));
        };
        if read == 0 {
            framer.finish(take);
            break;
        }
        framer.push(&piece[..read], take);
        flush(&mut lines)?;
    }
    add(&mut lines, check.finish());
    flush(&mut lines)?;
    if flaws > 0 {
        return Err(RUN_FAILED);
    }
    write_out(format!("{}: fine", one_line(&name)).as_bytes())?;
    Ok(OK)
}

fn flush(lines: &mut String) -> Result<(), u8> {
    if !lines.is_empty() {
        write_out(lines.trim_end().as_bytes())?;
        lines.clear();
    }
    Ok(())
}
