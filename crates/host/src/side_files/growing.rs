//! The files of sub-agents while they are written, beside a history that grows as well.
//!
//! Each line of such a file is read once, and whole: what is there when its call is read goes right under that, what comes
//! later goes to the pipeline as lines inside of the call. Between two looks nothing is held but where each file was left.

use std::collections::{HashSet, VecDeque};
use std::fmt::{self, Write};
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use streamfmt_core::dialect::SideFiles;
use streamfmt_core::frame::Framer;
use streamfmt_core::item::Id;
use streamfmt_core::pipeline::{Pieces, Pipeline, Subagents};

use crate::files::lock;

use super::{
    MOST_FILES, PIECE, SideFile, SideFileStart, Starter, beginning, call, files_of, layouts, places,
    real_paths,
};

/// Calls that no file was found for and that may still get one: the last ones.
const MOST_CALLS: usize = 256;

/// Files that have not begun, or that no call has claimed: the last ones.
const MOST_UNCLAIMED: usize = 256;

/// Files that are looked at each time: those that grew last. Of the others as many, in turn.
const LIVELY: usize = 64;

/// A folder that was changed so short a time ago may change again without another time of change.
const TICK: Duration = Duration::from_millis(100);

/// The files of the sub-agents of one history, as they appear and grow. Clones share what was found.
#[derive(Clone)]
pub struct GrowingSideFiles {
    found: Arc<Mutex<FoundFiles>>,
    max_line: usize,
}

impl GrowingSideFiles {
    /// Those of `history`, which need not be there yet. Files of `given` are left out. `max_line`: the pipeline's limit.
    pub fn new(history: &Path, given: &[PathBuf], max_line: usize) -> Self {
        let place = |(folder, layout)| Place { folder, layout, changed: None };
        let found = FoundFiles {
            history: history.to_owned(),
            given: given.to_owned(),
            places: places(history).into_iter().map(place).collect(),
            ..FoundFiles::default()
        };
        Self { found: Arc::new(Mutex::new(found)), max_line }
    }

    /// What a pipeline asks for the file of a call ([`streamfmt_core::pipeline::Setup::subagents`]).
    pub fn subagents(&self) -> Subagents {
        let found = Arc::clone(&self.found);
        Box::new(move |item| {
            let session = layouts().find_map(|layout| (layout.session)(item))?;
            let call = item.call.as_ref().unwrap_or(&item.id).clone();
            let file = lock(&found).ask(AwaitingCall { call, session, starter: Starter::of(item) })?;
            Some(Box::new(std::iter::from_fn(move || lock(&file).next_piece())) as Pieces)
        })
    }

    /// The folders in which such files may appear, whether they are there or not; none before a call asked for one.
    pub fn folders(&self) -> Vec<PathBuf> {
        let found = lock(&self.found);
        let places = found.places.iter().filter(|_| found.is_asked);
        places.map(|place| place.folder.clone()).collect()
    }

    /// Reads the whole lines that came since the last time, each inside of its call.
    pub fn push(&self, pipeline: &mut Pipeline, out: &mut dyn Write) -> fmt::Result {
        let files = lock(&self.found).look();
        let mut written = Ok(());
        for file in files {
            let (call, lines, mut piece) = {
                let mut file = lock(&file);
                (file.call.clone(), file.lines, file.next_piece())
            };
            if piece.is_some() {
                lock(&self.found).grew(&file);
            }
            let mut framer = Framer::after(lines, self.max_line);
            while let Some(bytes) = piece {
                // The pipeline may ask for further files meanwhile.
                written = written.and(pipeline.push_inside(&call, &mut framer, &bytes, out));
                piece = lock(&file).next_piece();
            }
        }
        written
    }

    /// Reads all that came, last lines without an end included: nothing more will be read.
    pub fn finish(&self, pipeline: &mut Pipeline, out: &mut dyn Write) -> fmt::Result {
        let mut written = self.push(pipeline, out);
        let files = lock(&self.found).claimed.clone();
        for file in files {
            let mut file = lock(&file);
            let mut framer = Framer::after(file.lines, self.max_line);
            let call = file.call.clone();
            let mut has_rest = false;
            while let Some(bytes) = file.rest() {
                has_rest = true;
                written = written.and(pipeline.push_inside(&call, &mut framer, &bytes, out));
            }
            if has_rest {
                written = written.and(pipeline.push_inside(&call, &mut framer, b"\n", out));
            }
        }
        written
    }
}

/// What is known of the files.
#[derive(Default)]
struct FoundFiles {
    history: PathBuf,
    given: Vec<PathBuf>,
    places: Vec<Place>,
    /// Whether a call asked for a file: before that nothing is looked for.
    is_asked: bool,
    /// The agents whose files were found.
    known: HashSet<String>,
    /// Files that don't tell yet whose they are.
    silent: VecDeque<SilentSideFile>,
    /// Files that no call has claimed yet.
    begun: Vec<SideFileStart>,
    /// Calls for which no file was found yet.
    calls: VecDeque<AwaitingCall>,
    /// Files that are read. Those that grew last come last.
    claimed: Vec<Arc<Mutex<GrowingSideFile>>>,
    /// Which of those that are quiet comes next.
    turn: usize,
}

/// A folder in which files may appear.
struct Place {
    folder: PathBuf,
    layout: &'static SideFiles,
    /// When something last appeared in it; `None` if that isn't sure.
    changed: Option<SystemTime>,
}

/// A file that doesn't tell yet whose it is.
struct SilentSideFile {
    file: SideFile,
    layout: &'static SideFiles,
    size: u64,
}

/// A call, or its result, whose sub-agent's file isn't there yet.
struct AwaitingCall {
    call: Id,
    session: String,
    starter: Starter,
}

impl FoundFiles {
    /// The file of a call, if it is there. Otherwise the call is remembered.
    fn ask(&mut self, asking: AwaitingCall) -> Option<Arc<Mutex<GrowingSideFile>>> {
        self.is_asked = true;
        self.find();
        let file = self.claim(&asking);
        if file.is_none() {
            if self.calls.len() >= MOST_CALLS {
                self.calls.pop_front();
            }
            self.calls.push_back(asking);
        }
        file
    }

    /// Looks for new files, and gives those that may have grown.
    fn look(&mut self) -> Vec<Arc<Mutex<GrowingSideFile>>> {
        if !self.is_asked {
            return Vec::new();
        }
        if self.find() {
            let calls = std::mem::take(&mut self.calls);
            self.calls = calls.into_iter().filter(|asking| self.claim(asking).is_none()).collect();
        }
        let lively = self.claimed.len().saturating_sub(LIVELY);
        let (quiet, lively) = self.claimed.split_at(lively);
        let mut files = lively.to_vec();
        let turn = self.turn.checked_rem(quiet.len()).unwrap_or(0);
        files.extend(quiet.iter().cycle().skip(turn).take(LIVELY.min(quiet.len())).cloned());
        self.turn = turn + LIVELY;
        files
    }

    /// Finds new files, and reads how they begin; whether some have begun.
    fn find(&mut self) -> bool {
        let mut given = None;
        for place in &mut self.places {
            let changed = fs::metadata(&place.folder).and_then(|metadata| metadata.modified()).ok();
            if changed.is_none() || changed == place.changed {
                continue;
            }
            let is_sure = changed.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > TICK);
            place.changed = changed.filter(|_| is_sure);
            let given = given.get_or_insert_with(|| real_paths(&self.history, &self.given));
            for file in files_of(&place.folder, place.layout, given, &|agent| self.known.contains(agent)) {
                if self.known.len() < MOST_FILES && self.known.insert(file.agent_id.clone()) {
                    self.silent.push_back(SilentSideFile { file, layout: place.layout, size: 0 });
                }
            }
        }
        let before = self.begun.len();
        let begun = &mut self.begun;
        self.silent.retain_mut(|silent| silent.is_still(begun));
        let has_begun = self.begun.len() > before;
        self.begun.drain(..self.begun.len().saturating_sub(MOST_UNCLAIMED));
        self.silent.drain(..self.silent.len().saturating_sub(MOST_UNCLAIMED));
        has_begun
    }

    /// Takes the file of a call, if it has begun.
    fn claim(&mut self, asking: &AwaitingCall) -> Option<Arc<Mutex<GrowingSideFile>>> {
        let place = asking.starter.find(&self.begun, &asking.session)?;
        let SideFileStart { file, .. } = self.begun.remove(place);
        let file = Arc::new(Mutex::new(GrowingSideFile::new(file.path, asking.call.clone())));
        self.claimed.push(Arc::clone(&file));
        Some(file)
    }

    /// Notes that a file grew just now.
    fn grew(&mut self, file: &Arc<Mutex<GrowingSideFile>>) {
        let lively = self.claimed.len().saturating_sub(LIVELY);
        if let Some(place) = self.claimed[..lively].iter().position(|known| Arc::ptr_eq(known, file)) {
            let file = self.claimed.remove(place);
            self.claimed.push(file);
        }
    }
}

impl SilentSideFile {
    /// Whether it doesn't tell yet whose it is. One that does is put to those that have `begun`, if it is a sub-agent's.
    fn is_still(&mut self, begun: &mut Vec<SideFileStart>) -> bool {
        let size = fs::metadata(&self.file.path).map_or(0, |metadata| metadata.len());
        if size == self.size {
            return true;
        }
        self.size = size;
        let Some(start) = beginning(&self.file.path) else { return true };
        if let (Some(session), Some(prompt)) = (start.session, start.prompt) {
            // Its meta file may have come after it.
            let call = call(&self.file.path.with_extension(self.layout.meta), self.layout);
            begun.push(SideFileStart { file: SideFile { call, ..self.file.clone() }, session, prompt });
        }
        false
    }
}

/// A file that is read as it grows. It is opened for each piece, so that any number of them can be read.
struct GrowingSideFile {
    path: PathBuf,
    call: Id,
    /// Where the next piece begins.
    position: u64,
    /// The end of the last whole line that is known.
    end: u64,
    /// How far line feeds were looked for.
    searched: u64,
    /// Lines that were read.
    lines: u64,
}

impl GrowingSideFile {
    fn new(path: PathBuf, call: Id) -> Self {
        Self { path, call, position: 0, end: 0, searched: 0, lines: 0 }
    }

    /// More whole lines, or the next part of a long one that is whole. What can't be read isn't there.
    fn next_piece(&mut self) -> Option<Vec<u8>> {
        let size = fs::metadata(&self.path).ok()?.len();
        if size < self.position {
            // It is written anew; lines that are the same as before are known.
            *self = Self::new(std::mem::take(&mut self.path), self.call.clone());
        }
        if self.position == self.end && size <= self.searched {
            return None;
        }
        let mut file = File::open(&self.path).ok()?;
        while self.position == self.end {
            let piece = read_at(&mut file, self.searched, PIECE)?;
            let end = memchr::memrchr(b'\n', &piece).map(|last| self.searched + last as u64 + 1);
            self.searched = end.unwrap_or(self.searched + piece.len() as u64);
            self.end = end.unwrap_or(self.end);
        }
        let most = usize::try_from(self.end - self.position).unwrap_or(PIECE).min(PIECE);
        let piece = read_at(&mut file, self.position, most)?;
        self.position += piece.len() as u64;
        self.lines += memchr::memchr_iter(b'\n', &piece).count() as u64;
        Some(piece)
    }

    /// More of what is behind the last whole line.
    fn rest(&mut self) -> Option<Vec<u8>> {
        let piece = read_at(&mut File::open(&self.path).ok()?, self.position, PIECE)?;
        self.position += piece.len() as u64;
        Some(piece)
    }
}

/// Up to `most` bytes from `position` on; `None` at the end.
fn read_at(file: &mut File, position: u64, most: usize) -> Option<Vec<u8>> {
    file.seek(SeekFrom::Start(position)).ok()?;
    let mut piece = Vec::new();
    file.take(most as u64).read_to_end(&mut piece).ok()?;
    (!piece.is_empty()).then_some(piece)
}
