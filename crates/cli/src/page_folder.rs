//! Several pages in one folder, and their index.

use std::collections::HashSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use streamfmt::Engine;
use streamfmt::core::pipeline::Pipeline;
use streamfmt::writer::html::IndexedPage;
use streamfmt::writers::PageFolder;

use crate::args::Args;
use crate::file_place::{FilePlace, followed};
use crate::input::InputSource;
use crate::message::reason;
use crate::output::TextOutput;
use crate::output_paths::OutputPaths;
use crate::signal::Signals;

/// A folder with a page for each input.
pub(crate) struct Folder {
    path: PathBuf,
    /// The ending of the pages' names.
    ending: String,
    /// The ending of the index's name: the index isn't written by a plugin.
    index_ending: &'static str,
    /// Returns the text of the index.
    page_of_index: fn(&[IndexedPage]) -> String,
    names: HashSet<String>,
    /// The places of other outputs and of the pages so far.
    taken: Vec<FilePlace>,
    pages: Vec<IndexedPage>,
    count: usize,
}

impl Folder {
    /// The folder, if the arguments ask for one. The error is a message.
    pub(crate) fn wanted(args: &Args, engine: &Engine) -> Result<Option<Self>, String> {
        let writer = engine.writer();
        let several = args.files.len() > 1;
        let is_needed = several && writer.folder.is_some_and(|folder| folder.is_needed);
        let Some(path) = args.output.as_deref().filter(|path| *path != Path::new("-")) else {
            return if is_needed {
                Err("several files become several pages: name a folder for them with -o DIR".to_owned())
            } else {
                Ok(None)
            };
        };
        let is_named_so = path.to_string_lossy().ends_with(['/', std::path::MAIN_SEPARATOR]);
        let is_folder =
            path.is_dir() || is_named_so || (several && writer.folder.is_some() && !path.exists());
        if !is_folder && is_needed {
            return Err(format!(
                "several files become several pages, but {} is not a folder",
                path.display()
            ));
        }
        if !is_folder {
            return Ok(None);
        }
        let Some(PageFolder { index, .. }) = writer.folder else {
            return Err(format!(
                "{}: only pages can be written to a folder (--to html or --to markdown)",
                path.display()
            ));
        };
        Ok(Some(Self {
            path: path.to_owned(),
            ending: engine.plugin_writer().map_or(writer.ending, |(_, ending)| ending).to_owned(),
            index_ending: writer.ending,
            page_of_index: index,
            names: HashSet::from(["index".to_owned()]),
            taken: Vec::new(),
            pages: Vec::new(),
            count: args.files.len().max(1),
        }))
    }

    /// The path of the index.
    pub(crate) fn index(&self) -> PathBuf {
        self.path.join(format!("index.{}", self.index_ending))
    }

    /// Keeps pages from overwriting other outputs.
    pub(crate) fn avoid(&mut self, outputs: &OutputPaths) {
        self.taken = outputs.places().cloned().collect();
    }

    /// Creates the folder.
    pub(crate) fn create(&self) -> Result<(), String> {
        followed(&self.path)
            .and_then(fs::create_dir_all)
            .map_err(|error| format!("can't create the folder {}: {}", self.path.display(), reason(&error)))
    }

    /// Opens the page of an input. Returns its name as well.
    pub(crate) fn open(
        &mut self,
        input: &InputSource,
        signals: &mut Signals,
    ) -> Result<(TextOutput, String), String> {
        let name = format!("{}.{}", self.name(input), self.ending);
        let path = self.path.join(&name);
        self.taken.push(FilePlace::of(&path));
        Ok((TextOutput::open(Some(&path), None, signals)?, name))
    }

    /// The text before a progress bar: `3 of 12 `.
    pub(crate) fn progress(&self) -> String {
        if self.count > 1 { format!("{} of {} ", self.pages.len() + 1, self.count) } else { String::new() }
    }

    /// A name for an input's page that no other page has.
    fn name(&mut self, input: &InputSource) -> String {
        let stem = page_stem(input);
        let parent = plain_stem(input.path().and_then(Path::parent));
        let is_taken = |name: &str| {
            let page = self.path.join(format!("{name}.{}", self.ending));
            let place = FilePlace::of(&page);
            if self.taken.iter().any(|taken| taken.is_same(&place)) {
                return true;
            }
            input.path().and_then(|path| path.canonicalize().ok()) == page.canonicalize().ok()
                && page.exists()
        };
        let tries = [stem.clone(), format!("{parent}-{stem}")].into_iter();
        let more = (2..).map(|number| format!("{stem}-{number}"));
        let name = tries
            .chain(more)
            .find(|name| !name.starts_with('-') && !self.names.contains(name) && !is_taken(name))
            .unwrap_or(stem);
        self.names.insert(name.clone());
        name
    }

    /// Adds a written page to the index.
    pub(crate) fn note(&mut self, href: String, input: &InputSource, pipeline: &Pipeline) {
        self.pages.push(IndexedPage {
            href,
            name: shareable_name(input),
            head: pipeline.document_head().cloned().unwrap_or_default(),
            report: pipeline.report().clone(),
        });
    }

    /// Writes the index. The output keeps a failure.
    pub(crate) fn write_index(&self, out: &mut TextOutput) {
        let _ = out.write_str(&(self.page_of_index)(&self.pages));
    }
}

/// The name of an input's page, without its ending.
pub(crate) fn page_stem(input: &InputSource) -> String {
    let stem = plain_stem(input.path());
    if stem.is_empty() { "session".to_owned() } else { stem }
}

/// The name of a file without its ending, in plain characters.
fn plain_stem(path: Option<&Path>) -> String {
    let name = path.and_then(Path::file_stem).unwrap_or_default().to_string_lossy();
    let is_plain = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, '-' | '_' | '.');
    let name: String = name.chars().map(|ch| if is_plain(ch) { ch } else { '-' }).take(100).collect();
    name.trim_start_matches(['.', '-']).to_owned()
}

/// The name of an input for a shared page: a relative path as given, otherwise only the file's name.
fn shareable_name(input: &InputSource) -> String {
    let path = input.path().filter(|path| path.has_root());
    let name = path.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| input.name())
}
