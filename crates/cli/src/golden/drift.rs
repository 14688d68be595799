//! `golden drift`: finds parts of recordings that no formatter shows.

use std::fmt::Write;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use serde_json::json;
use streamfmt::Engine;
use streamfmt::golden::drift::{Baseline, Drift as Finder, DriftFound, DriftGroup, DriftSubject, dialect_of};
use streamfmt::histories::is_named_as_session;
use streamfmt::json::pretty;
use streamfmt::unpack::{UnpackedReader, beginning_of};

use super::{NOTHING_RAN, StdoutPage};
use crate::exit_code::{OK, OUTPUT, USAGE};
use crate::file_place::FilePlace;
use crate::message::{one_line, print, print_journal, print_problems, reason, unwritten};

/// Something new was found.
const NEWS: u8 = 1;
/// The version of the JSON output.
const SCHEMA: u32 = 1;
/// The most folders inside of each other that are searched for recordings.
const DEEPEST: usize = 16;
/// The number of bytes of a recording that are read to detect its dialect.
const BEGINNING: u64 = 256 * 1024;

#[derive(Debug, clap::Args)]
pub(super) struct DriftArgs {
    /// Recorded sessions, or folders of them: the files `*.jsonl` and `*.ndjson` in them
    #[arg(value_name = "RECORDING", required = true)]
    recordings: Vec<PathBuf>,

    /// Known findings: report only new ones, with exit code 1
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// Write all findings to the file of --baseline
    #[arg(long, requires = "baseline")]
    write_baseline: bool,

    /// The profile whose formatters are examined
    #[arg(long, value_name = "NAME", default_value = "full")]
    profile: String,

    /// Include this plugin; repeatable
    #[arg(long, value_name = "PATH")]
    plugin: Vec<PathBuf>,

    /// Print one JSON object, for programs
    #[arg(long)]
    json: bool,
}

impl DriftArgs {
    pub(super) fn run(&self) -> Result<u8, u8> {
        let recordings = self.files().map_err(|message| {
            print(&message);
            USAGE
        })?;
        let is_written = |path: &FilePlace| recordings.iter().any(|input| FilePlace::of(input).is_same(path));
        if let (true, Some(path)) = (self.write_baseline, &self.baseline)
            && is_written(&FilePlace::of(path))
        {
            print(&format!("{}: can't be both read and written", path.display()));
            return Err(USAGE);
        }
        let baseline = self.read_baseline().map_err(|message| {
            print(&message);
            USAGE
        })?;
        let engine = self.engine(&recordings)?;
        let journal = engine.journal().clone();
        let mut finder = Finder::new(engine);
        for path in &recordings {
            let before = finder.events;
            let read = File::open(path)
                .map(|file| BufReader::new(UnpackedReader::new(file)))
                .and_then(|input| finder.read(&path.display().to_string(), input));
            if let Err(error) = read {
                print(&format!("can't read {}: {}", path.display(), reason(&error)));
                return Err(USAGE);
            }
            if finder.events == before {
                print(&format!("{}: no line is an event of a known agent", path.display()));
            }
        }
        // Items that a plugin failed at are shown without it.
        print_journal(&journal);
        if finder.events == 0 {
            return Err(NOTHING_RAN);
        }
        let found = finder.found();
        if let (true, Some(path)) = (self.write_baseline, &self.baseline) {
            if let Err(error) = fs::write(path, Baseline::of(&found).to_text()) {
                print(&unwritten(path, &error));
                return Err(OUTPUT);
            }
            let mut page = StdoutPage::new();
            let _ = writeln!(page, "wrote {}: {} known", one_line(&path.display().to_string()), found.len());
            return page.end(OK);
        }
        let is_news = |one: &DriftFound| baseline.as_ref().is_none_or(|known| !known.knows(one));
        let news: Vec<&DriftFound> = found.iter().filter(|one| is_news(one)).collect();
        let mut page = StdoutPage::new();
        let known = found.len() - news.len();
        let _ = if self.json {
            print_json(&finder, &news, known, &mut page)
        } else {
            print_text(&finder, &news, known, baseline.is_some(), &mut page)
        };
        page.end(if baseline.is_some() && !news.is_empty() { NEWS } else { OK })
    }

    /// The files to read, those of a folder in the order of their names.
    fn files(&self) -> Result<Vec<PathBuf>, String> {
        let mut files = Vec::new();
        for path in &self.recordings {
            if !path.is_dir() {
                files.push(path.clone());
                continue;
            }
            let before = files.len();
            add_recordings(path, DEEPEST, &mut files)
                .map_err(|error| format!("can't read {}: {}", path.display(), reason(&error)))?;
            if files.len() == before {
                return Err(format!(
                    "{}: no recording (*.jsonl, *.ndjson) is in this folder",
                    path.display()
                ));
            }
        }
        Ok(files)
    }

    /// The baseline, if there is one. A file that is to be written may be missing.
    fn read_baseline(&self) -> Result<Option<Baseline>, String> {
        let Some(path) = self.baseline.as_deref().filter(|_| !self.write_baseline) else { return Ok(None) };
        let name = path.display();
        let text = fs::read_to_string(path).map_err(|error| {
            format!("can't read {name}: {} (create it with --write-baseline)", reason(&error))
        })?;
        Baseline::parse(&name.to_string(), &text).map(Some).map_err(|wrong| wrong.to_string())
    }

    fn engine(&self, recordings: &[PathBuf]) -> Result<Engine, u8> {
        let builder = Engine::builder().names_options(true).defer_plugins(true);
        let mut builder = builder.profile(&self.profile).writer("json");
        let beginning = |path: &PathBuf| File::open(path).and_then(|file| beginning_of(file, BEGINNING));
        if let Some(dialect) =
            recordings.iter().find_map(|path| dialect_of(&beginning(path).unwrap_or_default()))
        {
            builder = builder.dialect(dialect);
        }
        for path in &self.plugin {
            builder = builder.plugin(path);
        }
        builder.build().map_err(|problems| {
            print_problems(&problems);
            USAGE
        })
    }
}

/// Adds the recordings in a folder and in the folders below it, to this depth. Links to folders aren't followed.
fn add_recordings(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            if depth > 0 {
                add_recordings(&path, depth - 1, files)?;
            }
        } else if is_named_as_session(&path) && path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

fn print_text(
    finder: &Finder,
    news: &[&DriftFound],
    known: usize,
    has_baseline: bool,
    page: &mut StdoutPage,
) -> std::fmt::Result {
    let folder = common_folder(news);
    for (is_unknown, what, heading) in [
        (true, DriftSubject::Type, "line types that are unknown"),
        (true, DriftSubject::Subtype, "subtypes that are unknown"),
        (true, DriftSubject::Field, "fields that are unknown"),
        (false, DriftSubject::Type, "line types that are known and not shown"),
        (false, DriftSubject::Subtype, "subtypes that are known and not shown"),
        (false, DriftSubject::Block, "blocks that are not shown"),
        (false, DriftSubject::Tool, "tools without a formatter of their own"),
        (false, DriftSubject::Field, "fields that are known or ignored, and not shown"),
    ] {
        let is_listed = |one: &&&DriftFound| one.what == what && one.is_unknown == is_unknown;
        let found: Vec<&DriftFound> = news.iter().filter(is_listed).copied().collect();
        if found.is_empty() {
            continue;
        }
        writeln!(page, "{heading}:")?;
        for DriftGroup { name, found } in finder.grouped(&found) {
            let Some(first) = found.first() else { continue };
            let file = first.file.strip_prefix(&folder).unwrap_or(&first.file);
            write!(page, "  {:>6} × {}", first.count, one_line(&name))?;
            if let Some(sample) = &first.sample {
                let own = match field_of(&first.name, &name) {
                    Some(own) if found.len() > 1 => format!("  {} fields, {own}", found.len()),
                    _ => String::new(),
                };
                write!(page, "{} = {}", one_line(&own), one_line(sample))?;
            }
            writeln!(page, "  {}:{}", one_line(file), first.line)?;
        }
    }
    let what = if has_baseline { "new" } else { "found" };
    let s = if finder.lines == 1 { "" } else { "s" };
    let unknown = news.iter().filter(|one| one.is_unknown).count();
    write!(page, "{} line{s} read, {} {what}, {unknown} of them unknown", finder.lines, news.len())?;
    if has_baseline {
        writeln!(page, ", {known} known")?;
    } else {
        writeln!(page)?;
    }
    finder.left_out().iter().try_for_each(|sentence| writeln!(page, "{sentence}"))
}

/// The name of a field within its group.
fn field_of<'a>(field: &'a str, group: &str) -> Option<&'a str> {
    let root = group.split_once('{').map_or(group.trim_end_matches('*'), |(parent, _)| parent);
    field.strip_prefix(root)
}

/// The folder that all of these were found in, with the separator at its end; empty if they are all in one file.
fn common_folder(found: &[&DriftFound]) -> String {
    let mut files = found.iter().map(|one| one.file.as_str());
    let first = files.next().unwrap_or_default();
    let common = files.fold(first, |common, file| {
        let alike = common.char_indices().zip(file.chars()).find(|((_, a), b)| a != b);
        &common[..alike.map_or(common.len().min(file.len()), |((at, _), _)| at)]
    });
    common.rfind(['/', std::path::MAIN_SEPARATOR]).map_or(String::new(), |end| common[..=end].to_owned())
}

fn print_json(
    finder: &Finder,
    news: &[&DriftFound],
    known: usize,
    page: &mut StdoutPage,
) -> std::fmt::Result {
    let found: Vec<_> = news
        .iter()
        .map(|DriftFound { what, name, is_unknown, count, file, line, sample }| {
            let mut one =
                json!({ "what": what.name(), "name": name, "count": count, "file": file, "line": line });
            if *is_unknown {
                one["unknown"] = true.into();
            }
            if let Some(sample) = sample {
                one["sample"] = sample.as_str().into();
            }
            one
        })
        .collect();
    let mut output = json!({ "schema": SCHEMA, "lines": finder.lines, "known": known, "found": found });
    let left_out = finder.left_out();
    if !left_out.is_empty() {
        output["left_out"] = left_out.into();
    }
    writeln!(page, "{}", pretty(&output))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_are_searched_sixteen_folders_deep() {
        let folder = tempfile::tempdir().unwrap();
        for levels in [16, 17] {
            let deep = folder.path().join("d/".repeat(levels));
            fs::create_dir_all(&deep).unwrap();
            fs::write(deep.join("a.jsonl"), "{}").unwrap();
        }
        let count = |from: &Path| {
            let mut files = Vec::new();
            add_recordings(from, DEEPEST, &mut files).unwrap();
            files.len()
        };
        assert_eq!((count(folder.path()), count(&folder.path().join("d"))), (1, 2));
    }
}
