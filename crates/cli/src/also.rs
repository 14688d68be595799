//! Outputs beside the main one, of the same run: `--also TO=FILE` and `--summary FILE`.

use std::fmt::{self, Write as _};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use streamfmt::core::pipeline::{Report, Sink};
use streamfmt::{Engine, Problem, Problems, RunChoice};

use crate::args::{AlsoArg, Args};
use crate::choice::SettingsChoice;
use crate::fifo::{is_fifo, open_fifo};
use crate::file_place::followed;
use crate::message::{print, print_problems, unwritten};
use crate::output::{InputsRead, TextOutput, is_descriptor, unfollowing};
use crate::signal::Signals;
use crate::{report, terminal};

/// The engines of all further outputs. `None`: one can't be built. Problems are reported, each once for all outputs.
pub(crate) fn engines(args: &Args, main: &Engine) -> Option<Vec<Engine>> {
    let mut reported: Vec<Problem> = main.warnings().0.clone();
    let mut tell_new = |problems: &Problems| {
        let mut new = problems.clone();
        new.0.retain(|problem| !reported.contains(problem));
        reported.extend(new.0.iter().cloned());
        print_problems(&new);
    };
    let mut engines = Vec::new();
    for wanted in &args.also {
        match engine(args, wanted, main) {
            Ok(engine) => {
                tell_new(engine.warnings());
                engines.push(engine);
            }
            Err(problems) => tell_new(&problems),
        }
    }
    (engines.len() == args.also.len()).then_some(engines)
}

/// The engine of a further output. Each problem names the option.
fn engine(args: &Args, wanted: &AlsoArg, main: &Engine) -> Result<Engine, Problems> {
    let choice = SettingsChoice { profile: wanted.profile.clone(), ..args.choice.clone() };
    let builder = args
        .builder(&choice, main.files().clone())
        .writer(&wanted.to)
        .capabilities(terminal::capabilities_of_file(&wanted.to));
    let built = builder.build().map(|engine| engine.sharing_journal_with(main));
    built.map_err(|mut problems| {
        for problem in &mut problems.0 {
            if matches!(problem.choice, Some(RunChoice::Profile | RunChoice::Writer)) {
                problem.origin = wanted.to_string();
            }
        }
        problems
    })
}

/// A further output, open or closed.
pub(crate) struct AlsoOutput {
    wanted: AlsoArg,
    /// `None` if it couldn't be opened.
    output: Option<Arc<Mutex<TextOutput>>>,
    has_failed: bool,
    report: Report,
}

impl AlsoOutput {
    /// Opens the output's file, and reports a failure.
    pub(crate) fn open(args: &Args, wanted: &AlsoArg, engine: &Engine, signals: &mut Signals) -> Self {
        let is_growing = args.follow && !engine.is_document();
        let output = TextOutput::beside(&wanted.path, is_growing, signals).map_err(|message| print(&message));
        let has_failed = output.is_err();
        let output = output.ok().map(|output| Arc::new(Mutex::new(output)));
        Self { wanted: wanted.clone(), output, has_failed, report: Report::default() }
    }

    /// The sink for a pipeline.
    pub(crate) fn sink(&self, engine: &Engine) -> Option<Sink> {
        let output = self.output.as_ref()?;
        let of_text = Arc::clone(output);
        let mut sink = engine.sink(move |text| {
            let mut output = lock(&of_text);
            // The output keeps the failure.
            match output.write_str(text) {
                Ok(()) => ControlFlow::Continue(()),
                Err(fmt::Error) => ControlFlow::Break(()),
            }
        });
        if engine.has_head() && lock(output).hold() {
            let output = Arc::clone(output);
            sink.take_head = Some(Box::new(move |head| {
                lock(&output).release(head);
                ControlFlow::Continue(())
            }));
        }
        Some(sink)
    }

    /// Whether it could be opened.
    pub(crate) fn is_begun(&self) -> bool {
        self.output.is_some()
    }

    /// Whether it still accepts text.
    pub(crate) fn is_open(&self) -> bool {
        self.output.as_ref().is_some_and(|output| lock(output).is_open())
    }

    /// Flushes it. The first failure is reported.
    pub(crate) fn flush(&mut self) {
        let Some(output) = &self.output else { return };
        let mut output = lock(output);
        output.flush();
        if let Some(message) = output.failure().filter(|_| !self.has_failed) {
            self.has_failed = true;
            print(message);
        }
    }

    /// Adds the counts of one input.
    pub(crate) fn note(&mut self, report: &Report) {
        report::add(&mut self.report, report);
    }

    /// Its counts as a line of the report.
    pub(crate) fn counts(&self) -> Option<String> {
        self.is_begun().then(|| report::line(&self.wanted.to_string(), &self.report))
    }

    /// Moves a file into place, unless it is kept as it was because of the inputs; no pipeline may write to it any longer. Returns
    /// whether everything was written that should be; whatever wasn't was reported.
    pub(crate) fn finish(mut self, inputs: InputsRead) -> bool {
        self.flush();
        let output = self.output.take().and_then(Arc::into_inner).filter(|_| !self.has_failed);
        let Some(output) = output else { return false };
        let output = output.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(message) = output.withheld(inputs) {
            print(&message);
            return true;
        }
        output.finish().map_err(|message| print(&message)).is_ok()
    }
}

/// The file or pipe to which the summaries of a run are appended.
pub(crate) struct SummaryPlace {
    path: PathBuf,
    /// A pipe is open from the start. A file is opened when there is something to append, so one that was removed meanwhile is
    /// created again.
    pipe: Option<File>,
}

impl SummaryPlace {
    /// Opens `path`, and creates a file if there is none. A pipe waits here for its reader. The error is a message.
    pub(crate) fn open(path: &Path, signals: &mut Signals) -> Result<Self, String> {
        let is_pipe = fs::metadata(path).is_ok_and(|metadata| is_fifo(&metadata));
        let opened = if is_pipe { open_fifo(path, true, signals) } else { appended(path) };
        let file = opened.map_err(|error| unwritten(path, &error))?;
        Ok(Self { path: path.to_owned(), pipe: is_pipe.then_some(file) })
    }

    fn append(&mut self, text: &str) -> Result<(), String> {
        let written = match &mut self.pipe {
            Some(pipe) => pipe.write_all(text.as_bytes()),
            None => appended(&self.path).and_then(|mut file| file.write_all(text.as_bytes())),
        };
        written.map_err(|error| unwritten(&self.path, &error))
    }
}

fn appended(path: &Path) -> io::Result<File> {
    let real = followed(path)?;
    let mut options = if is_descriptor(path) { OpenOptions::new() } else { unfollowing() };
    options.append(true).create(true).open(real)
}

/// A summary of one input.
pub(crate) struct SummaryText(Arc<Mutex<String>>);

impl SummaryText {
    /// A summary, and the sink that fills it.
    pub(crate) fn new(engine: &Engine) -> (Self, Sink) {
        let text = Arc::new(Mutex::new(String::new()));
        let written = Arc::clone(&text);
        let sink = engine.summary(move |piece| {
            lock(&written).push_str(piece);
            ControlFlow::Continue(())
        });
        (Self(text), sink)
    }

    /// Appends it. The error is a message.
    pub(crate) fn append_to(self, place: &mut SummaryPlace) -> Result<(), String> {
        // The file's last line may be a paragraph.
        place.append(&format!("{}\n\n", lock(&self.0).trim_end()))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
