//! The files of sub-agents while they grow, beside a history that grows as well.
//!
//! Each line of such a file is read once, when it is complete. Lines that exist when the call is read are shown directly below
//! it; later ones are pushed into the pipeline as lines inside of the call. Between two reads, only the position in each file is
//! kept.

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
use crate::histories::{GrowingDocument, is_document};
use crate::unpack::Compression;

use super::{
    PIECE, SideFile, SideFileStart, SideFolder, SideLimits, Starter, beginning, call, files_of, layouts,
    meta_of, pieces, places, real_paths,
};

/// Most calls without a file that may still get one; the latest are kept.
const MOST_CALLS: usize = 256;

/// Most files that have no usable beginning yet, or that no call has claimed; the latest are kept.
const MOST_UNCLAIMED: usize = 256;

/// Most folders that are named after a session.
const MOST_NAMED: usize = 16;

/// Number of files checked each time: those that grew last. As many of the others are checked in turn.
const LIVELY: usize = 64;

/// A folder that was modified less than this ago may change again without a new modification time.
const TICK: Duration = Duration::from_millis(100);

/// The files of the sub-agents of one history, as they appear and grow. Clones share their state.
#[derive(Clone)]
pub struct GrowingSideFiles {
    found: Arc<Mutex<FoundFiles>>,
    max_line: usize,
}

impl GrowingSideFiles {
    /// The files for `history`, which needn't exist yet. Files in `given` are excluded. `max_line` is the pipeline's limit.
    pub fn new(history: &Path, given: &[PathBuf], max_line: usize) -> Self {
        let found = FoundFiles {
            history: history.to_owned(),
            given: given.to_owned(),
            places: places(history, None).into_iter().map(Place::of).collect(),
            ..FoundFiles::default()
        };
        Self { found: Arc::new(Mutex::new(found)), max_line }
    }

    /// The source from which a pipeline reads the file of a call ([`streamfmt_core::pipeline::Setup::subagents`]).
    pub fn subagents(&self) -> Subagents {
        let found = Arc::clone(&self.found);
        Box::new(move |item| {
            let session = layouts().find_map(|layout| (layout.session)(item))?;
            let call = item.call.as_ref().unwrap_or(&item.id).clone();
            let file = lock(&found).request(AwaitingCall { call, session, starter: Starter::of(item) })?;
            Some(Box::new(std::iter::from_fn(move || lock(&file).next_piece())) as Pieces)
        })
    }

    /// The folders in which such files may appear, whether they exist or not. Empty until a call requests a file.
    pub fn folders(&self) -> Vec<PathBuf> {
        let found = lock(&self.found);
        let places = found.places.iter().filter(|_| found.is_asked);
        places.map(|place| place.place.folder.clone()).collect()
    }

    /// Reads the complete lines since the last call, each inside of its call.
    pub fn push(&self, pipeline: &mut Pipeline, out: &mut dyn Write) -> fmt::Result {
        let files = lock(&self.found).check();
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
                // The pipeline may request further files meanwhile.
                written = written.and(pipeline.push_inside(&call, &mut framer, &bytes, out));
                piece = lock(&file).next_piece();
            }
        }
        written
    }

    /// Reads the rest, including last lines without a line feed. Nothing may be read afterwards.
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

/// The state of all files.
#[derive(Default)]
struct FoundFiles {
    history: PathBuf,
    given: Vec<PathBuf>,
    places: Vec<Place>,
    limits: SideLimits,
    /// Whether a call has requested a file. Before that, nothing is searched.
    is_asked: bool,
    /// The agents whose files were found.
    known: HashSet<String>,
    /// Files that don't identify their call yet.
    silent: VecDeque<SilentSideFile>,
    /// Files that no call has claimed yet.
    begun: Vec<SideFileStart>,
    /// Calls for which no file was found yet.
    calls: VecDeque<AwaitingCall>,
    /// Files that are read; those that grew last are at the end.
    claimed: Vec<Arc<Mutex<GrowingSideFile>>>,
    /// The index of the next quiet file to check.
    turn: usize,
}

/// A folder in which files may appear.
struct Place {
    place: SideFolder,
    /// The last time that an entry was added. `None` if a later change could have the same time.
    changed: Option<SystemTime>,
}

impl Place {
    fn of(place: SideFolder) -> Self {
        Self { place, changed: None }
    }
}

/// A file that doesn't identify its call yet.
struct SilentSideFile {
    file: SideFile,
    layout: &'static SideFiles,
    size: u64,
}

/// A call, or its result, whose sub-agent's file doesn't exist yet.
struct AwaitingCall {
    call: Id,
    session: String,
    starter: Starter,
}

impl FoundFiles {
    /// The file of a call, if it exists. Otherwise the call is remembered.
    fn request(&mut self, request: AwaitingCall) -> Option<Arc<Mutex<GrowingSideFile>>> {
        self.is_asked = true;
        self.add_places(&request.session);
        self.find();
        let file = self.claim(&request);
        if file.is_none() {
            if self.calls.len() >= MOST_CALLS {
                self.calls.pop_front();
            }
            self.calls.push_back(request);
        }
        file
    }

    /// Adds the folders that are named after a session.
    fn add_places(&mut self, session: &str) {
        let is_known = |place: &Place| place.place.session.as_deref() == Some(session);
        let named = self.places.iter().filter(|place| place.place.session.is_some());
        if named.count() < MOST_NAMED && !self.places.iter().any(is_known) {
            let new =
                places(&self.history, Some(session)).into_iter().filter(|place| place.session.is_some());
            self.places.extend(new.map(Place::of));
        }
    }

    /// Finds new files, and returns those that may have grown.
    fn check(&mut self) -> Vec<Arc<Mutex<GrowingSideFile>>> {
        if !self.is_asked {
            return Vec::new();
        }
        if self.find() {
            let calls = std::mem::take(&mut self.calls);
            self.calls = calls.into_iter().filter(|request| self.claim(request).is_none()).collect();
        }
        let lively = self.claimed.len().saturating_sub(LIVELY);
        let (quiet, lively) = self.claimed.split_at(lively);
        let mut files = lively.to_vec();
        let turn = self.turn.checked_rem(quiet.len()).unwrap_or(0);
        files.extend(quiet.iter().cycle().skip(turn).take(LIVELY.min(quiet.len())).cloned());
        self.turn = turn + LIVELY;
        files
    }

    /// Finds new files, and reads their beginnings. Returns whether more of them can be claimed.
    fn find(&mut self) -> bool {
        let mut given = None;
        for place in &mut self.places {
            let changed = fs::metadata(&place.place.folder).and_then(|metadata| metadata.modified()).ok();
            if changed.is_none() || changed == place.changed {
                continue;
            }
            let is_sure = changed.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > TICK);
            place.changed = changed.filter(|_| is_sure);
            let given = given.get_or_insert_with(|| real_paths(&self.history, &self.given));
            let layout = place.place.layout;
            for file in files_of(&place.place, given, self.limits, &|agent| self.known.contains(agent)) {
                if self.known.len() < self.limits.files && self.known.insert(file.agent_id.clone()) {
                    self.silent.push_back(SilentSideFile { file, layout, size: 0 });
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

    /// Claims the file of a call, if it has a usable beginning.
    fn claim(&mut self, request: &AwaitingCall) -> Option<Arc<Mutex<GrowingSideFile>>> {
        let place = request.starter.find(&self.begun, &request.session)?;
        let SideFileStart { file, .. } = self.begun.remove(place);
        let file = Arc::new(Mutex::new(GrowingSideFile::new(file.path, request.call.clone())));
        self.claimed.push(Arc::clone(&file));
        Some(file)
    }

    /// Records that a file has grown.
    fn grew(&mut self, file: &Arc<Mutex<GrowingSideFile>>) {
        let lively = self.claimed.len().saturating_sub(LIVELY);
        if let Some(place) = self.claimed[..lively].iter().position(|known| Arc::ptr_eq(known, file)) {
            let file = self.claimed.remove(place);
            self.claimed.push(file);
        }
    }
}

impl SilentSideFile {
    /// Whether it still doesn't identify its call. One that does is moved to `begun`, if it is a sub-agent's.
    fn is_still(&mut self, begun: &mut Vec<SideFileStart>) -> bool {
        let size = fs::metadata(&self.file.path).map_or(0, |metadata| metadata.len());
        if size == self.size {
            return true;
        }
        self.size = size;
        let Some(start) = beginning(&self.file.path) else { return true };
        // The meta file may have been created after it.
        let call = call(&meta_of(&self.file.path, self.layout), self.layout);
        begun.extend(SideFileStart::begun(SideFile { call, ..self.file.clone() }, start));
        false
    }
}

/// A file that is read as it grows. It is opened for each read, so the number of such files isn't limited by open files.
struct GrowingSideFile {
    path: PathBuf,
    call: Id,
    /// The start of the next piece.
    position: u64,
    /// The end of the last complete line.
    end: u64,
    /// The position up to which line feeds were searched.
    searched: u64,
    /// The number of lines read.
    lines: u64,
    /// The state of it, if it is a document.
    document: Option<GrowingDocument>,
    /// The rest of a compressed file, which doesn't grow.
    packed: Option<Pieces>,
}

impl GrowingSideFile {
    fn new(path: PathBuf, call: Id) -> Self {
        let document = is_document(&path).then(GrowingDocument::default);
        Self { path, call, position: 0, end: 0, searched: 0, lines: 0, document, packed: None }
    }

    /// More complete lines, or the next part of a long complete line. Read errors count as a missing file.
    fn next_piece(&mut self) -> Option<Vec<u8>> {
        if let Some(known) = &mut self.document {
            let line = known.read(&mut File::open(&self.path).ok()?).ok()??;
            self.lines += 1;
            return Some(line);
        }
        if let Some(packed) = &mut self.packed {
            return packed.next();
        }
        let size = fs::metadata(&self.path).ok()?.len();
        if size < self.position {
            // The file was rewritten; lines that are the same as before are recognised.
            *self = Self::new(std::mem::take(&mut self.path), self.call.clone());
        }
        if self.position == self.end && size <= self.searched {
            return None;
        }
        let mut file = File::open(&self.path).ok()?;
        if self.searched == 0
            && read_at(&mut file, 0, 4).is_some_and(|start| Compression::of(&start).is_some())
        {
            let end = std::iter::once(b"\n".to_vec());
            let packed = self.packed.insert(Box::new(pieces(&self.path)?.chain(end)));
            return packed.next();
        }
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

    /// The next piece after the last complete line.
    fn rest(&mut self) -> Option<Vec<u8>> {
        if self.document.is_some() || self.packed.is_some() {
            return None;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with a history's files of sub-agents.
    struct Disk(tempfile::TempDir);

    impl Disk {
        fn new() -> Self {
            let disk = Self(tempfile::TempDir::with_prefix("streamfmt-growing-").unwrap());
            fs::create_dir_all(disk.0.path().join("s/subagents")).unwrap();
            disk
        }

        fn files(&self) -> GrowingSideFiles {
            GrowingSideFiles::new(&self.0.path().join("s.jsonl"), &[], 1000)
        }

        /// Writes the file of an agent, with a usable beginning or none yet.
        fn write(&self, agent: &str, has_begun: bool) {
            let prompt = r#"{"type":"user","isSidechain":true,"sessionId":"s","message":{"role":"user","content":"count"}}"#;
            let text = if has_begun { format!("{prompt}\n") } else { String::new() };
            fs::write(self.0.path().join(format!("s/subagents/agent-{agent}.jsonl")), text).unwrap();
        }
    }

    /// The call or result of session `s` that starts or names this agent.
    fn asking(agent: &str) -> AwaitingCall {
        let starter = Starter { id: format!("call-{agent}"), prompt: None, agent: Some(agent.to_owned()) };
        AwaitingCall { call: Id::from(starter.id.clone()), session: "s".to_owned(), starter }
    }

    #[test]
    fn a_call_that_is_no_longer_kept_gets_its_file_when_its_result_asks() {
        let disk = Disk::new();
        let files = disk.files();
        let mut found = lock(&files.found);
        for number in 0..=MOST_CALLS {
            assert!(found.request(asking(&format!("{number}"))).is_none());
        }
        for agent in ["0", "1", "256"] {
            disk.write(agent, true);
        }
        let claimed: Vec<String> =
            found.check().iter().map(|file| lock(file).call.as_str().to_owned()).collect();
        assert_eq!(claimed, ["call-1", "call-256"]);
        assert!(found.request(asking("0")).is_some());
    }

    #[test]
    fn of_too_many_files_without_a_call_the_latest_are_kept() {
        let disk = Disk::new();
        (0..=MOST_UNCLAIMED).for_each(|number| disk.write(&format!("{number:03}"), true));
        let files = disk.files();
        let mut found = lock(&files.found);
        assert!(found.request(asking("000")).is_none());
        assert!(found.request(asking("001")).is_some() && found.request(asking("256")).is_some());

        let disk = Disk::new();
        (0..=MOST_UNCLAIMED).for_each(|number| disk.write(&format!("{number:03}"), false));
        let files = disk.files();
        let mut found = lock(&files.found);
        assert!(found.request(asking("none")).is_none());
        for agent in ["000", "001"] {
            disk.write(agent, true);
        }
        assert!(found.request(asking("000")).is_none() && found.request(asking("001")).is_some());
    }

    #[test]
    fn of_too_many_files_the_first_that_were_found_are_kept() {
        let disk = Disk::new();
        for agent in ["b", "c"] {
            disk.write(agent, true);
        }
        let files = disk.files();
        let mut found = lock(&files.found);
        found.limits.files = 3;
        assert!(found.request(asking("none")).is_none());
        for agent in ["a", "d"] {
            disk.write(agent, true);
        }
        let is_found = ["a", "b", "c", "d"].map(|agent| found.request(asking(agent)).is_some());
        assert_eq!(is_found, [true, true, true, false]);
    }

    #[test]
    fn so_many_folders_named_after_a_session_are_watched() {
        let files = Disk::new().files();
        for number in 0..=MOST_NAMED {
            lock(&files.found).request(AwaitingCall { session: format!("s-{number}"), ..asking("a") });
        }
        let named = files.folders().iter().filter(|folder| folder.ends_with("s-15")).count();
        let over = files.folders().iter().filter(|folder| folder.ends_with("s-16")).count();
        assert_eq!((named, over), (1, 0));
    }
}
