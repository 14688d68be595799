//! Watches the files that settings and plugins were read from, for `--watch`.
//!
//! They are polled: this takes a few microseconds for some dozen files, needs no preparation before the first line is shown, works on
//! any file system, and an editor that writes a new file and renames it is no special case.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use streamfmt::{Engine, Files, Problem, Problems};

use crate::message::{print, print_journal, print_problems};
use crate::signal::Signals;

/// How long after the last change files are read: editors write in several steps.
const CALM: Duration = Duration::from_millis(100);

/// How often files are checked.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// Builds an engine, reading files through the given reader.
pub(crate) type Build<'a> = &'a dyn Fn(Files) -> Result<Engine, Problems>;

/// Notices changes, and builds a new engine.
pub(crate) struct Watch<'a> {
    build: Build<'a>,
    /// Each watched file, and its state at the last check.
    files: BTreeMap<PathBuf, Option<Stamp>>,
    /// The problems of the settings in use. Only a new problem means that a save broke something.
    known: Vec<KnownProblem>,
    looked: Instant,
    /// When the last change was noticed, if it wasn't acted on yet.
    changed: Option<Instant>,
}

/// A problem without its line, which changes when a line is added above.
type KnownProblem = (String, String);

/// What changes when a file is written or a link switched: its time, its length, and which file it is.
type Stamp = (Option<SystemTime>, u64, u64);

impl<'a> Watch<'a> {
    /// Watches the files that `build` read for `engine`.
    pub(crate) fn new(build: Build<'a>, engine: &Engine) -> Self {
        let known = known(engine.warnings());
        let mut watch = Self { build, files: BTreeMap::new(), known, looked: Instant::now(), changed: None };
        watch.add(engine.files());
        watch
    }

    /// A new engine, if files changed and it can be used. If it can't, its problems are reported.
    pub(crate) fn renewed(&mut self) -> Option<Engine> {
        if !self.is_due() {
            return None;
        }
        let files = Files::default();
        let built = (self.build)(files.clone());
        self.add(&files);
        match built {
            Ok(engine) => {
                // A broken plugin reports its failure when it is loaded.
                drop(engine.setup());
                let is_new = |problem: &&Problem| !self.known.contains(&known_of(problem));
                let new: Vec<Problem> = engine.warnings().0.iter().filter(is_new).cloned().collect();
                if engine.journal().failures() == 0 && new.is_empty() {
                    self.known = known(engine.warnings());
                    return Some(engine);
                }
                print_problems(&Problems(new));
                print_journal(engine.journal());
            }
            Err(problems) => print_problems(&problems),
        }
        print("keeping what was loaded before");
        None
    }

    /// Waits for a new engine; `None` if a signal arrives first.
    pub(crate) fn wait(&mut self, signals: &mut Signals) -> Option<Engine> {
        loop {
            if let Some(engine) = self.renewed() {
                return Some(engine);
            }
            signals.wait(None, Some(TICK), false).ok()?;
            if signals.caught().is_some() {
                return None;
            }
        }
    }

    /// Whether files changed and then stayed the same for a while.
    fn is_due(&mut self) -> bool {
        let now = Instant::now();
        if now.duration_since(self.looked) >= TICK {
            self.looked = now;
            for (path, stamp) in &mut self.files {
                let new = stamp_of(path);
                if new != *stamp {
                    *stamp = new;
                    self.changed = Some(now);
                }
            }
        }
        let is_due = self.changed.is_some_and(|changed| now.duration_since(changed) >= CALM);
        if is_due {
            self.changed = None;
        }
        is_due
    }

    /// Watches files by the names under which they were requested: a missing file may appear, and a link may get
    /// another target.
    fn add(&mut self, files: &Files) {
        for path in files.requested() {
            let stamp = stamp_of(&path);
            self.files.entry(path).or_insert(stamp);
        }
    }
}

fn known(problems: &Problems) -> Vec<KnownProblem> {
    problems.0.iter().map(known_of).collect()
}

fn known_of(problem: &Problem) -> KnownProblem {
    (problem.origin.clone(), problem.message.clone())
}

fn stamp_of(path: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(path).ok()?;
    // Other files that appear in a plugin's folder, such as our own output, don't matter.
    if metadata.is_dir() {
        return Some((None, 0, number(&metadata)));
    }
    Some((metadata.modified().ok(), metadata.len(), number(&metadata)))
}

#[cfg(unix)]
fn number(metadata: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    metadata.ino()
}

#[cfg(not(unix))]
fn number(_: &fs::Metadata) -> u64 {
    0
}
