//! A summary of each run, appended to a file beside the output.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use streamfmt::Engine;
use streamfmt::core::pipeline::Pipeline;

use crate::input::reason;

/// Reads an input once more, to sum it up.
pub(crate) struct Summary<'a> {
    path: &'a Path,
    pipeline: Pipeline,
    text: String,
}

impl<'a> Summary<'a> {
    /// A summary of one input, to be appended to `path`.
    pub(crate) fn new(path: &'a Path, engine: &Engine) -> Self {
        Self { path, pipeline: Pipeline::new(engine.summary()), text: String::new() }
    }

    /// Takes the next bytes of the input.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        // Writing into a string doesn't fail.
        let _ = self.pipeline.push(bytes, &mut self.text);
    }

    /// Appends the summary. An error says what could not be written.
    pub(crate) fn finish(mut self) -> Result<(), String> {
        let _ = self.pipeline.finish(&mut self.text);
        // What stands in the file already may be a paragraph.
        let text = format!("{}\n\n", self.text.trim_end());
        let opened = OpenOptions::new().append(true).create(true).open(self.path);
        opened
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| format!("can't write {}: {}", self.path.display(), reason(&error)))
    }
}
