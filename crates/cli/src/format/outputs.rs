//! The outputs of a run over all inputs.

use std::path::PathBuf;
use std::sync::Arc;

use streamfmt::Engine;
use streamfmt::core::pipeline::Pipeline;

use super::RunEngines;
use crate::also::{AlsoOutput, SummaryPlace};
use crate::args::Args;
use crate::assets::Assets;
use crate::exit_code::{OUTPUT, USAGE};
use crate::live::{self, LiveTerminal};
use crate::message::{print, print_messages};
use crate::output::{InputsRead, TextOutput};
use crate::output_paths::{OutputPaths, RunFiles};
use crate::page_folder::Folder;
use crate::screen::Screen;
use crate::signal::Signals;
use crate::tee::Tee;
use crate::updates::UpdateLines;

/// The outputs of a run.
pub(super) struct FormatOutputs {
    /// The main output. Between the pages of a folder it is the index.
    pub(super) main: TextOutput,
    /// Paints open items below the text, on a terminal.
    pub(super) live: Option<LiveTerminal>,
    /// Writes updates of the current input, with `--live always`.
    pub(super) updates: Option<UpdateLines>,
    /// Those of `--also`.
    pub(super) also: Vec<AlsoOutput>,
    pub(super) tee: Option<Tee>,
    /// For `--summary`.
    pub(super) summary: Option<SummaryPlace>,
    /// The folder of pages, if the main output is one.
    pub(super) folder: Option<Folder>,
    assets: Option<Arc<Assets>>,
}

impl FormatOutputs {
    /// Opens all of them: see [`super::FormatRun::begin`].
    pub(super) fn open(
        args: &Args,
        engines: &RunEngines<'_>,
        files: RunFiles<'_>,
        signals: &mut Signals,
        assets: Option<&Arc<Assets>>,
        is_again: bool,
    ) -> Result<Self, u8> {
        let fail = |message: String| {
            print(&message);
            OUTPUT
        };
        let refuse = |message: String| {
            print(&message);
            USAGE
        };
        let (folder, first) = check_outputs(args, &engines.main, files).map_err(refuse)?;
        folder.as_ref().map_or(Ok(()), Folder::create).map_err(fail)?;
        let mut main = TextOutput::open(first.as_deref(), args.tail, signals).map_err(fail)?;
        if is_again {
            main.clear();
        }
        let is_on_stdout = first.is_none() && args.tail.is_none();
        let live = is_on_stdout.then(|| LiveTerminal::wanted(args.live, &engines.main)).flatten();
        if live.is_some() {
            main.put_on(Screen::new(live::reflows()));
            // Without these signals, a change of the size is only noticed later.
            let _ = signals.catch_terminal();
        }
        let tee = args.tee.as_deref().filter(|_| !is_again).map(|path| {
            let (tee, message) = Tee::open(path, signals);
            if let Some(message) = message {
                print(&message);
            }
            tee
        });
        let summary = args
            .summary
            .as_deref()
            .filter(|_| !is_again)
            .map(|path| SummaryPlace::open(path, signals).map_err(|message| print(&message)));
        let also = args.also.iter().zip(engines.also);
        let also = also.map(|(wanted, engine)| AlsoOutput::open(args, wanted, engine, signals)).collect();
        Ok(Self {
            main,
            live,
            updates: None,
            also,
            tee,
            summary: summary.and_then(Result::ok),
            folder,
            assets: assets.cloned(),
        })
    }

    /// Whether a further output could not be opened. `wants_summary`: whether a summary was requested.
    pub(super) fn lack_one(&self, wants_summary: bool) -> bool {
        wants_summary && self.summary.is_none()
            || self.tee.as_ref().is_some_and(Tee::has_failed)
            || self.also.iter().any(|also| !also.is_begun())
    }

    /// Whether any still accepts text.
    pub(super) fn take_text(&self) -> bool {
        self.main.is_open() || self.summary.is_some() || self.also.iter().any(AlsoOutput::is_open)
    }

    /// Whether any still accepts text or bytes.
    pub(super) fn take_bytes(&self) -> bool {
        self.take_text() || self.tee.is_some()
    }

    /// Whether only the main output was requested.
    pub(super) fn are_main_alone(&self) -> bool {
        self.tee.is_none() && self.summary.is_none() && self.also.is_empty()
    }

    /// Flushes all of them.
    pub(super) fn flush(&mut self) {
        self.main.flush();
        self.also.iter_mut().for_each(AlsoOutput::flush);
    }

    /// Pushes bytes of the input.
    pub(super) fn push(&mut self, pipeline: &mut Pipeline, bytes: &[u8]) {
        match &mut self.updates {
            Some(updates) => updates.push(pipeline, bytes, &mut self.main),
            // The output keeps a failure.
            None => drop(pipeline.push(bytes, &mut self.main)),
        }
    }

    /// Flushes finished text, and shows open items where they are shown. `is_news`: something was read.
    pub(super) fn pass_on(&mut self, pipeline: &mut Pipeline, signals: &mut Signals, is_news: bool) {
        if let Some(updates) = &mut self.updates {
            updates.look(pipeline, &mut self.main);
            return self.flush();
        }
        match &mut self.live {
            Some(live) => {
                if is_news {
                    live.note();
                }
                live.look(pipeline, &mut self.main, signals);
                self.also.iter_mut().for_each(AlsoOutput::flush);
            }
            None if is_news => self.flush(),
            None => {}
        }
    }

    /// Reports failures and messages of plugins, after the text before them.
    pub(super) fn print_journal(&mut self, engine: &Engine) {
        let messages = engine.journal().take();
        if !messages.is_empty() {
            self.main.step_aside();
            print_messages(messages);
        }
    }

    /// Finishes each output, even if another failed, and reports failures to write, after the earlier ones in `unwritten`. Returns the
    /// counts of further outputs, and whether everything was written that should be.
    pub(super) fn finish(mut self, mut unwritten: Vec<String>, inputs: InputsRead) -> (Vec<String>, bool) {
        if let Some(folder) = &self.folder {
            folder.write_index(&mut self.main);
        }
        match self.main.withheld(inputs) {
            Some(message) => print(&message),
            None => unwritten.extend(self.main.finish().err()),
        }
        unwritten.extend(self.assets.as_ref().and_then(|assets| assets.failure()));
        let uncopied = self.tee.as_mut().and_then(Tee::finish);
        for message in unwritten.iter().chain(&uncopied) {
            print(message);
        }
        let is_copy_broken = self.tee.as_ref().is_some_and(Tee::has_failed);
        let counts = self.also.iter().filter_map(AlsoOutput::counts).collect();
        let is_beside_whole = self.also.into_iter().fold(true, |all, also| also.finish(inputs) & all);
        (counts, unwritten.is_empty() && !is_copy_broken && is_beside_whole)
    }
}

/// Checks that no two outputs are one file. Returns the folder for pages, if there is one, and the path of the main output, which is
/// the index there. `files`: those of a running agent. The error is a message.
pub(crate) fn check_outputs(
    args: &Args,
    engine: &Engine,
    files: RunFiles<'_>,
) -> Result<(Option<Folder>, Option<PathBuf>), String> {
    let mut folder = Folder::wanted(args, engine)?;
    if let Some(also) = args.also.first().filter(|_| args.files.len() > 1) {
        return Err(format!("{also} takes a single FILE"));
    }
    let first = folder.as_ref().map_or_else(|| args.output.clone(), |folder| Some(folder.index()));
    let mut outputs = OutputPaths::default();
    outputs.add_main(first.as_deref())?;
    for (option, path) in [
        ("--log", files.log),
        ("--id-file", files.id_file),
        ("--tee", args.tee.as_deref()),
        ("--summary", args.summary.as_deref()),
    ] {
        if let Some(path) = path {
            outputs.add_file(option, path)?;
        }
    }
    for also in &args.also {
        outputs.add_text(also.to_string(), &also.path)?;
    }
    if let Some(log) = files.log {
        outputs.check_log(log)?;
    }
    if let Some(folder) = &mut folder {
        folder.avoid(&outputs);
    }
    Ok((folder, first))
}
