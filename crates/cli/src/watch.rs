//! Watches the files that the choices were read from, for `--watch`.
//!
//! They are looked at every now and then instead of asking the system to tell of changes: some dozen files cost a few
//! microseconds a look, nothing has to be set up before the first line is shown, it works on any file system, and an
//! editor that writes a new file and gives it the old name is no special case.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use streamfmt::{Engine, Files, Problem, Problems};

use crate::message::{tell, tell_journal, tell_problems};
use crate::signal::Signals;

/// How long after the last change it is taken for whole: editors write in several steps.
const CALM: Duration = Duration::from_millis(100);

/// How often is looked.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// Makes the choices anew, reading files through the given reader.
pub(crate) type Build<'a> = &'a dyn Fn(Files) -> Result<Engine, Problems>;

/// Sees when the choices change, and makes them anew.
pub(crate) struct Watch<'a> {
    build: Build<'a>,
    /// Each file that matters, and how it was when it was last looked at.
    files: BTreeMap<PathBuf, Option<Stamp>>,
    /// What is wrong in the settings that are in use. A new mistake is a broken save; an old one is not.
    known: Vec<ToldProblem>,
    looked: Instant,
    /// When the last change was seen, if the choices have not been made anew since.
    changed: Option<Instant>,
}

/// Something that is wrong, wherever it stands: a line that is added above moves it.
type ToldProblem = (String, String);

/// What changes when a file is written or a link switched: its time, its length, and which file has the name.
type Stamp = (Option<SystemTime>, u64, u64);

impl<'a> Watch<'a> {
    /// Watches what `engine` was made of by `build`.
    pub(crate) fn new(build: Build<'a>, engine: &Engine) -> Self {
        let known = told(engine.warnings());
        let mut watch = Self { build, files: BTreeMap::new(), known, looked: Instant::now(), changed: None };
        watch.add(engine.files());
        watch
    }

    /// The choices made anew, if they changed and can be used. If they can't, that is told, and those before hold.
    pub(crate) fn renewed(&mut self) -> Option<Engine> {
        if !self.is_due() {
            return None;
        }
        let files = Files::default();
        let built = (self.build)(files.clone());
        self.add(&files);
        match built {
            Ok(engine) => {
                // A plugin that is broken tells so when it is loaded.
                drop(engine.setup());
                let is_new = |problem: &&Problem| !self.known.contains(&told_of(problem));
                let new: Vec<Problem> = engine.warnings().0.iter().filter(is_new).cloned().collect();
                if engine.journal().failures() == 0 && new.is_empty() {
                    self.known = told(engine.warnings());
                    return Some(engine);
                }
                tell_problems(&Problems(new));
                tell_journal(engine.journal());
            }
            Err(problems) => tell_problems(&problems),
        }
        tell("keeping what was loaded before");
        None
    }

    /// Waits until the choices can be made anew; nothing if a signal comes first.
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

    /// Whether something changed, and has been calm since.
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

    /// Watches what was asked for, by the names it was asked by: what was missing may come, and a link may be made to
    /// lead elsewhere.
    fn add(&mut self, files: &Files) {
        for path in files.asked() {
            let stamp = stamp_of(&path);
            self.files.entry(path).or_insert(stamp);
        }
    }
}

fn told(problems: &Problems) -> Vec<ToldProblem> {
    problems.0.iter().map(told_of).collect()
}

fn told_of(problem: &Problem) -> ToldProblem {
    (problem.origin.clone(), problem.message.clone())
}

fn stamp_of(path: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(path).ok()?;
    // What else comes and goes in a plugin's folder, such as our own output, changes nothing.
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
