//! Outputs beside the main one, of the same run: `--also TO=FILE` and `--summary FILE`.

use std::fmt::{self, Write as _};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use streamfmt::core::pipeline::{Report, Sink};
use streamfmt::{Engine, Problem, Problems};

use crate::args::{AlsoArg, Args};
use crate::choice::SettingsChoice;
use crate::message::{reason, tell, tell_problems};
use crate::output::TextOutput;
use crate::signal::Signals;
use crate::{report, terminal};

/// The choices for all outputs that the arguments ask for beside that of `main`. What is wrong is told, once for all: then
/// there is nothing.
pub(crate) fn engines(args: &Args, main: &Engine) -> Option<Vec<Engine>> {
    let mut told: Vec<Problem> = main.warnings().0.clone();
    let mut tell_new = |problems: &Problems| {
        let mut new = problems.clone();
        new.0.retain(|problem| !told.contains(problem));
        told.extend(new.0.iter().cloned());
        tell_problems(&new);
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

/// The engine of a further output. The error says what is wrong with its settings; each problem names the option.
fn engine(args: &Args, wanted: &AlsoArg, main: &Engine) -> Result<Engine, Problems> {
    let choice = SettingsChoice { profile: wanted.profile.clone(), ..args.choice.clone() };
    let builder = args
        .builder(&choice, main.files().clone())
        .writer(&wanted.to)
        .looks(terminal::looks_of_file(&wanted.to));
    let built = builder.build().map(|engine| engine.beside(main));
    built.map_err(|mut problems| {
        for problem in &mut problems.0 {
            if problem.origin == "--profile" || problem.origin == format!("--to {}", wanted.to) {
                problem.origin = wanted.to_string();
            }
        }
        problems
    })
}

/// An output beside the main one that is open, or was.
pub(crate) struct AlsoOutput {
    wanted: AlsoArg,
    /// Where it is written, if it could be opened.
    output: Option<Arc<Mutex<TextOutput>>>,
    has_failed: bool,
    report: Report,
}

impl AlsoOutput {
    /// Opens the output's file. A failure is told.
    pub(crate) fn open(args: &Args, wanted: &AlsoArg, engine: &Engine, signals: &mut Signals) -> Self {
        let is_growing = args.follow && !engine.is_document();
        let output = TextOutput::beside(&wanted.path, is_growing, signals).map_err(|message| tell(&message));
        let has_failed = output.is_err();
        let output = output.ok().map(|output| Arc::new(Mutex::new(output)));
        Self { wanted: wanted.clone(), output, has_failed, report: Report::default() }
    }

    /// The output for a pipeline.
    pub(crate) fn sink(&self, engine: &Engine) -> Option<Sink> {
        let output = self.output.as_ref()?;
        let of_text = Arc::clone(output);
        let mut sink = engine.sink(move |text| {
            let mut output = lock(&of_text);
            // A failure is kept by the output.
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

    /// Whether text can still be given.
    pub(crate) fn is_open(&self) -> bool {
        self.output.as_ref().is_some_and(|output| lock(output).is_open())
    }

    /// Passes on all that was given. The first failure is told.
    pub(crate) fn flush(&mut self) {
        let Some(output) = &self.output else { return };
        let mut output = lock(output);
        output.flush();
        if let Some(message) = output.failure().filter(|_| !self.has_failed) {
            self.has_failed = true;
            tell(message);
        }
    }

    /// Takes in what was counted of it.
    pub(crate) fn note(&mut self, report: &Report) {
        report::add(&mut self.report, report);
    }

    /// What was counted of it, in a line.
    pub(crate) fn counts(&self) -> Option<String> {
        self.is_begun().then(|| report::line(&self.wanted.to_string(), &self.report))
    }

    /// Puts a file in its place, once no pipeline writes it. Whether all was written; a failure was told.
    pub(crate) fn finish(mut self) -> bool {
        self.flush();
        let output = self.output.take().and_then(Arc::into_inner).filter(|_| !self.has_failed);
        let Some(output) = output else { return false };
        let finished = output.into_inner().unwrap_or_else(PoisonError::into_inner).finish();
        finished.map_err(|message| tell(&message)).is_ok()
    }
}

/// A summary of one input.
pub(crate) struct SummaryFile<'a> {
    path: &'a Path,
    text: Arc<Mutex<String>>,
}

impl<'a> SummaryFile<'a> {
    /// A summary that will be appended to `path`, and the output for a pipeline.
    pub(crate) fn new(path: &'a Path, engine: &Engine) -> (Self, Sink) {
        let text = Arc::new(Mutex::new(String::new()));
        let written = Arc::clone(&text);
        let sink = engine.summary(move |piece| {
            lock(&written).push_str(piece);
            ControlFlow::Continue(())
        });
        (Self { path, text }, sink)
    }

    /// Appends it. An error says what could not be written.
    pub(crate) fn finish(self) -> Result<(), String> {
        // What stands in the file already may be a paragraph.
        let text = format!("{}\n\n", lock(&self.text).trim_end());
        let opened = OpenOptions::new().append(true).create(true).open(self.path);
        opened
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| format!("can't write {}: {}", self.path.display(), reason(&error)))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Looks whether each output has a place of its own. `main`: where the main one is written, if not to standard output. The error
/// says what is wrong with the arguments.
pub(crate) fn check(args: &Args, main: Option<&Path>) -> Result<(), String> {
    let Some(first) = args.also.first() else { return Ok(()) };
    if args.files.len() > 1 {
        return Err(format!("{first} takes a single FILE"));
    }
    let named = |option: &str, path: &Path| (format!("{option} {}", path.display()), FilePlace::of(path));
    let mut taken = vec![match main {
        Some(path) if path != Path::new("-") => named("-o", path),
        _ => {
            ("the main output (use -o FILE to write it elsewhere)".to_owned(), FilePlace::of(Path::new("-")))
        }
    }];
    taken.extend(args.tee.as_deref().map(|path| named("--tee", path)));
    taken.extend(args.summary.as_deref().map(|path| named("--summary", path)));
    for wanted in &args.also {
        let place = FilePlace::of(&wanted.path);
        if let Some((other, _)) = taken.iter().find(|(_, taken)| place.is_some() && *taken == place) {
            return Err(format!("{wanted} writes to the same file as {other}"));
        }
        taken.push((wanted.to_string(), place));
    }
    Ok(())
}

/// Where a path leads, however it is spelled.
#[derive(PartialEq, Eq)]
pub(crate) enum FilePlace {
    /// To something that there is: its device and number.
    #[cfg(unix)]
    Node(u64, u64),
    /// To this path.
    Path(PathBuf),
}

impl FilePlace {
    /// The place that a path leads to; none for the null device, which takes everything.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        if let Some(metadata) = metadata(path) {
            return Self::of_existing(path, &metadata);
        }
        let mut path = path.to_owned();
        // A link to a file that is yet to come leads there.
        for _ in 0..40 {
            let Ok(next) = fs::read_link(&path) else { break };
            path = path.parent().unwrap_or(Path::new("")).join(next);
        }
        let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        Some(Self::Path(folder.join(path.file_name().unwrap_or_default())))
    }

    #[cfg(unix)]
    fn of_existing(_: &Path, metadata: &fs::Metadata) -> Option<Self> {
        let number = |metadata: &fs::Metadata| {
            use std::os::unix::fs::MetadataExt;
            (metadata.dev(), metadata.ino())
        };
        let node = number(metadata);
        let is_null = fs::metadata("/dev/null").is_ok_and(|null| number(&null) == node);
        (!is_null).then_some(Self::Node(node.0, node.1))
    }

    #[cfg(not(unix))]
    fn of_existing(path: &Path, _: &fs::Metadata) -> Option<Self> {
        Some(Self::Path(path.canonicalize().unwrap_or_else(|_| path.to_owned())))
    }
}

/// What a path leads to, standard output for `-`.
#[cfg(unix)]
fn metadata(path: &Path) -> Option<fs::Metadata> {
    use std::os::fd::AsFd;
    if path == Path::new("-") {
        let stdout = std::io::stdout().as_fd().try_clone_to_owned().ok()?;
        return fs::File::from(stdout).metadata().ok();
    }
    fs::metadata(path).ok()
}

#[cfg(not(unix))]
fn metadata(path: &Path) -> Option<fs::Metadata> {
    fs::metadata(path).ok()
}
