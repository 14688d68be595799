//! Imports runs that were recorded elsewhere: `ID.json` with `ID.ndjson` and `ID.stderr` beside it, as a CI job uploads them.
//!
//! Such a side file may have been written by anybody. Only regular files of its own folder that have its name are read, never a path that it
//! holds, and they are copied to the data folder. Its processes say nothing about this machine.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use streamfmt::unpack::{UnpackedReader, without_compression};

use super::runs::is_gone;
use super::{Store, StoreError, sql};
use crate::run_id::RunId;
use crate::side_file::{ProcessMark, RunSideFile, SessionStatus};

/// The largest side file, in bytes.
const LARGEST: u64 = 1 << 20;
/// The most ids that are tried if others are taken.
const IDS: u32 = 100;
/// The number of bytes that are read at once.
const CHUNK: usize = 64 * 1024;

/// A run in a foreign folder.
struct ForeignRun {
    /// The side file, without what is true on the machine of the run only.
    side: RunSideFile,
    text: Vec<u8>,
    log: Option<File>,
    errors: Option<File>,
}

/// The result of importing a run.
pub(super) enum ImportedRun {
    /// It was copied.
    New,
    /// It was here, and its log, which was gone, was copied.
    Restored,
    /// It was here.
    Known,
    /// Its side file is damaged.
    Damaged,
}

/// Who is in the same place in a data folder.
enum Occupant {
    Nobody,
    /// The same run, and whether its log is there.
    Same(bool),
    Another,
}

/// Returns the id in the name of a side file.
pub(super) fn side_file_id(path: &Path) -> Option<RunId> {
    path.file_name()?.to_str()?.strip_suffix(".json")?.parse().ok()
}

/// Returns the side file that belongs to a file: itself, or the one beside a log.
pub(super) fn side_file_of(path: &Path) -> Option<PathBuf> {
    let plain = without_compression(path);
    let side = plain.with_extension("json");
    let is_own = side == path || plain.extension().is_some_and(|extension| extension == "ndjson");
    let is_there = || fs::symlink_metadata(&side).is_ok_and(|about| about.is_file());
    (is_own && side_file_id(&side).is_some() && is_there()).then_some(side)
}

impl Store {
    /// Copies a run to the data folder and writes its row. If another run has its id, it gets another one, the same each time.
    pub(super) fn import_run(&mut self, side_file: &Path) -> Result<ImportedRun, StoreError> {
        let fail = |error| StoreError::File(side_file.to_owned(), error);
        let Some(mut run) = ForeignRun::open(side_file).map_err(fail)? else {
            return Ok(ImportedRun::Damaged);
        };
        // Two imports of the same run would write to the same files.
        let lock = sql::lock(self.database.path())?;
        let named = run.side.id.clone();
        let mut hash = None;
        for count in 0..IDS {
            if count > 0 {
                let hash = match hash {
                    Some(hash) => hash,
                    None => *hash.insert(run.hash().map_err(fail)?),
                };
                run.side.id = named.beside(hash.wrapping_add(count.into()));
            }
            let imported = match self.occupant(&mut run)? {
                Occupant::Another => continue,
                Occupant::Same(has_log) if has_log || run.log.is_none() => ImportedRun::Known,
                Occupant::Same(_) => ImportedRun::Restored,
                Occupant::Nobody => ImportedRun::New,
            };
            if !matches!(imported, ImportedRun::Known) {
                let is_new = matches!(imported, ImportedRun::New);
                self.copy(&mut run, is_new)?;
                drop(lock);
                self.record(&run.side.id, None)?;
            }
            return Ok(imported);
        }
        Err(fail(io::ErrorKind::AlreadyExists.into()))
    }

    /// Returns who has the run's id here.
    fn occupant(&self, run: &mut ForeignRun) -> Result<Occupant, StoreError> {
        let id = &run.side.id;
        let own = [self.paths.side_file(id), self.paths.log(id), self.paths.errors(id)];
        if own.iter().all(|path| is_gone(path)) {
            let is_taken = self.database.session(id.as_str())?.is_some();
            return Ok(if is_taken { Occupant::Another } else { Occupant::Nobody });
        }
        let Ok(side) = RunSideFile::read(&own[0]) else { return Ok(Occupant::Another) };
        let has_log = !is_gone(&side.log);
        let is_same = run.side == portable(side)
            && has_same_bytes(run.log.as_mut(), &own[1])
            && has_same_bytes(run.errors.as_mut(), &own[2]);
        Ok(if is_same { Occupant::Same(has_log) } else { Occupant::Another })
    }

    /// Copies the files of a run. The side file comes last: a run without one isn't listed.
    fn copy(&self, run: &mut ForeignRun, is_new: bool) -> Result<(), StoreError> {
        let id = run.side.id.clone();
        let (log, errors, side) = (self.paths.log(&id), self.paths.errors(&id), self.paths.side_file(&id));
        let mut copied = Vec::new();
        let mut copy = |from: &mut Option<File>, to: &Path| {
            let Some(from) = from.as_mut().filter(|_| is_gone(to)) else { return Ok(()) };
            copied.push(to.to_owned());
            copy_to(from, to).map_err(|error| StoreError::File(to.to_owned(), error))
        };
        let mut written = copy(&mut run.log, &log).and_then(|()| copy(&mut run.errors, &errors));
        if is_new && written.is_ok() {
            let here =
                RunSideFile { log, errors: run.errors.is_some().then_some(errors), ..run.side.clone() };
            written = here.write(&side).map_err(|error| StoreError::File(side, error));
        }
        if written.is_err() {
            for path in copied {
                drop(fs::remove_file(path));
            }
        }
        written
    }
}

impl ForeignRun {
    /// Opens a run. `None`: its side file is damaged, or that of another run.
    fn open(side_file: &Path) -> io::Result<Option<Self>> {
        let Some(file) = open_regular(side_file)? else { return Ok(None) };
        let mut text = Vec::new();
        file.take(LARGEST + 1).read_to_end(&mut text)?;
        let side = serde_json::from_slice(&text).ok().filter(|_| text.len() as u64 <= LARGEST);
        let Some(side) = side.filter(|side: &RunSideFile| Some(&side.id) == side_file_id(side_file).as_ref())
        else {
            return Ok(None);
        };
        let log = match open_regular(&side_file.with_extension("ndjson"))? {
            Some(log) => Some(log),
            None => open_regular(&side_file.with_extension("ndjson.zst"))?.map(unpacked).transpose()?,
        };
        let errors = open_regular(&side_file.with_extension("stderr"))?;
        Ok(Some(Self { side: portable(side), text, log, errors }))
    }

    /// Returns a hash of all that it consists of: FNV-1a, which never changes.
    fn hash(&mut self) -> io::Result<u64> {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut add = |bytes: &[u8]| {
            for byte in bytes {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        add(&self.text);
        let mut buffer = vec![0; CHUNK];
        for file in [&mut self.log, &mut self.errors].into_iter().flatten() {
            file.rewind()?;
            loop {
                match file.read(&mut buffer)? {
                    0 => break,
                    count => add(&buffer[..count]),
                }
            }
        }
        Ok(hash ^ (hash >> 32))
    }
}

/// Returns the side file of a run without what is true on its machine only. Without its recorder, a run can't be in progress.
fn portable(side: RunSideFile) -> RunSideFile {
    let status = if side.status == SessionStatus::Running { SessionStatus::Interrupted } else { side.status };
    let recorder = ProcessMark { pid: 0, start: None, boot: None };
    RunSideFile {
        status,
        recorder,
        process: None,
        waiting: None,
        log: PathBuf::new(),
        log_start: 0,
        errors: None,
        ..side
    }
}

/// Decompresses a log that was packed to an unnamed file.
fn unpacked(packed: File) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut UnpackedReader::new(packed), &mut file)?;
    Ok(file)
}

/// Opens a file, if it is there and neither a link nor anything else that isn't a file.
fn open_regular(path: &Path) -> io::Result<Option<File>> {
    if !fs::symlink_metadata(path).is_ok_and(|about| about.is_file()) {
        return Ok(None);
    }
    let mut options = OpenOptions::new();
    options.read(true);
    // It may have been replaced since.
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path)?;
    let is_file = file.metadata()?.is_file();
    Ok(Some(file).filter(|_| is_file))
}

/// Whether a file holds the same as the one at a path. One that isn't there is no difference.
fn has_same_bytes(file: Option<&mut File>, path: &Path) -> bool {
    let (Some(file), false) = (file, is_gone(path)) else { return true };
    let mut compare = || -> io::Result<bool> {
        let Some(mut other) = open_regular(path)? else { return Ok(false) };
        if file.metadata()?.len() != other.metadata()?.len() {
            return Ok(false);
        }
        file.rewind()?;
        let (mut one, mut two) = (Vec::new(), Vec::new());
        loop {
            one.clear();
            two.clear();
            file.by_ref().take(CHUNK as u64).read_to_end(&mut one)?;
            other.by_ref().take(CHUNK as u64).read_to_end(&mut two)?;
            if one != two || one.is_empty() {
                return Ok(one == two);
            }
        }
    };
    compare().unwrap_or(false)
}

/// Copies a file as a whole, for its owner only. Nothing has its name until all of it is there.
fn copy_to(from: &mut File, to: &Path) -> io::Result<()> {
    let mut draft = to.as_os_str().to_owned();
    draft.push(".tmp");
    let draft = PathBuf::from(draft);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    }
    let copied = from.rewind().and_then(|()| {
        let mut file = options.open(&draft)?;
        io::copy(from, &mut file)?;
        file.sync_all()?;
        fs::rename(&draft, to)
    });
    copied.inspect_err(|_| drop(fs::remove_file(&draft)))
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::store::{ImportCounts, SessionFilter};

    const ID: &str = "20261123-224103-k3x9qa";
    const LOG: &str = "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s-1\"}\n";

    fn side(task: &str) -> String {
        format!(
            r#"{{"v":1,"id":"{ID}","status":"done","command":["a"],"task":"{task}","folder":"/","log":"/gone",
                "errors":"/gone","started":"2026-11-23T22:41:03Z","recorder":{{"pid":1}}}}"#
        )
    }

    fn put(folder: &Path, ending: &str, text: &str) {
        fs::write(folder.join(format!("{ID}.{ending}")), text).unwrap();
    }

    /// Each file, link and folder of a folder, with its content.
    fn content(folder: &Path) -> Vec<(String, String)> {
        let entries = fs::read_dir(folder).unwrap().flatten();
        let mut found: Vec<(String, String)> = entries
            .map(|entry| {
                let name = entry.file_name().into_string().unwrap();
                let link = fs::read_link(entry.path()).map(|target| target.display().to_string());
                (name, link.unwrap_or_else(|_| fs::read_to_string(entry.path()).unwrap_or_default()))
            })
            .collect();
        found.sort();
        found
    }

    /// Creates files in the folder of sessions. The second folder is the imported run's.
    type Before = fn(&Path, &Path);

    /// Imports the run twice into a folder with the files that `before` creates. Returns the counts of the first import, whether the run
    /// has its id, and the names of new files without their ids.
    fn imported(before: Before) -> (ImportCounts, bool, Vec<String>) {
        let folder = tempfile::TempDir::with_prefix("streamfmt-elsewhere-").unwrap();
        let (ci, data) = (folder.path().join("ci"), folder.path().join("data"));
        fs::create_dir(&ci).unwrap();
        put(&ci, "json", &side("Build"));
        put(&ci, "ndjson", LOG);
        put(&ci, "stderr", "warning\n");
        let mut store = Store::open(&data).unwrap();
        let sessions = data.join("sessions");
        before(&sessions, &ci);
        let (was, outside) = (content(&sessions), content(&ci));
        let counts = store.import(std::slice::from_ref(&ci), |_| ()).unwrap();
        let now = content(&sessions);
        assert!(was.iter().all(|file| now.contains(file)), "{was:?} {now:?}");
        assert_eq!(content(&ci), outside);
        let again = store.import(std::slice::from_ref(&ci), |_| ()).unwrap();
        assert_eq!(
            (again, content(&sessions)),
            (ImportCounts { unchanged: 1, ..ImportCounts::default() }, now.clone())
        );
        store.catch_up().unwrap();
        let rows = store.list(&SessionFilter::default()).unwrap();
        let row = rows.iter().find(|row| row.run.title.as_deref() == Some("Build")).unwrap();
        let new: Vec<_> = now.into_iter().filter(|file| !was.contains(file)).collect();
        let log = new.iter().find(|(name, _)| name.ends_with("ndjson"));
        assert!(log.is_none_or(|(_, text)| text == LOG));
        (counts, row.run.id == ID, new.into_iter().map(|(name, _)| name[ID.len()..].to_owned()).collect())
    }

    #[test]
    fn an_imported_run_takes_another_id_rather_than_write_over_anything() {
        let new = ImportCounts { new: 1, ..ImportCounts::default() };
        let restored = ImportCounts { changed: 1, ..ImportCounts::default() };
        let known = ImportCounts { unchanged: 1, ..ImportCounts::default() };
        let all = [".json", ".ndjson", ".stderr"].as_slice();
        let rows: [(&str, Before, ImportCounts, bool, &[&str]); 13] = [
            ("nothing", |_, _| (), new, true, all),
            (
                "the same run",
                |own, _| {
                    put(own, "json", &side("Build"));
                    put(own, "ndjson", LOG);
                    put(own, "stderr", "warning\n");
                },
                known,
                true,
                &[],
            ),
            (
                "the same run, whose log is gone",
                |own, _| {
                    put(own, "json", &side("Build"));
                    put(own, "stderr", "warning\n");
                },
                restored,
                true,
                &[".ndjson"],
            ),
            ("another run", |own, _| put(own, "json", &side("Mine")), new, false, all),
            (
                "the same run with another log",
                |own, _| {
                    put(own, "json", &side("Build"));
                    put(own, "ndjson", "other\n");
                },
                new,
                false,
                all,
            ),
            (
                "the same run with other errors of the same length",
                |own, _| {
                    put(own, "json", &side("Build"));
                    put(own, "stderr", "WARNING\n");
                },
                new,
                false,
                all,
            ),
            ("a damaged side file", |own, _| put(own, "json", "{"), new, false, all),
            ("a log without a side file", |own, _| put(own, "ndjson", LOG), new, false, all),
            ("errors without a side file", |own, _| put(own, "stderr", "mine"), new, false, all),
            (
                "a link to another file",
                |own, ci| symlink(ci.join(format!("{ID}.stderr")), own.join(format!("{ID}.ndjson"))).unwrap(),
                new,
                false,
                all,
            ),
            (
                "a link that leads nowhere",
                |own, ci| symlink(ci.join("new"), own.join(format!("{ID}.ndjson"))).unwrap(),
                new,
                false,
                all,
            ),
            (
                "a link as the side file",
                |own, ci| symlink(ci.join("new"), own.join(format!("{ID}.json"))).unwrap(),
                new,
                false,
                all,
            ),
            ("a folder", |own, _| fs::create_dir(own.join(format!("{ID}.stderr"))).unwrap(), new, false, all),
        ];
        for (why, before, counts, has_id, files) in rows {
            let (found_counts, found_id, found) = imported(before);
            assert_eq!((found_counts, found_id), (counts, has_id), "{why}");
            assert_eq!(found, files, "{why}");
        }
    }

    #[test]
    fn nothing_is_written_through_a_link_in_the_place_of_a_draft() {
        let folder = tempfile::TempDir::with_prefix("streamfmt-elsewhere-").unwrap();
        let (ci, data) = (folder.path().join("ci"), folder.path().join("data"));
        fs::create_dir(&ci).unwrap();
        put(&ci, "json", &side("Build"));
        put(&ci, "ndjson", LOG);
        for ending in ["ndjson.tmp", "json.tmp"] {
            let mut store = Store::open(&data).unwrap();
            let draft = data.join(format!("sessions/{ID}.{ending}"));
            fs::write(folder.path().join("target"), "mine").unwrap();
            symlink(folder.path().join("target"), &draft).unwrap();
            let imported = store.import(std::slice::from_ref(&ci), |_| ());
            assert!(matches!(imported, Err(StoreError::File(..))), "{ending}: {imported:?}");
            assert_eq!(fs::read_to_string(folder.path().join("target")).unwrap(), "mine", "{ending}");
            assert_eq!(content(&data.join("sessions")), [], "{ending}: nothing is half there");
        }
    }

    #[test]
    fn a_side_file_that_is_too_large_is_damaged_and_a_run_with_no_free_id_is_an_error() {
        let folder = tempfile::TempDir::with_prefix("streamfmt-elsewhere-").unwrap();
        let (ci, data) = (folder.path().join("ci"), folder.path().join("data"));
        fs::create_dir(&ci).unwrap();
        let mut store = Store::open(&data).unwrap();
        let side_file = ci.join(format!("{ID}.json"));
        for (size, is_read) in [((1 << 20) + 1, false), (1 << 20, true)] {
            let padded = side("Build") + &" ".repeat(size);
            put(&ci, "json", &padded[..size]);
            let imported = store.import_run(&side_file).unwrap();
            assert_eq!(matches!(imported, ImportedRun::New), is_read, "{size}");
            assert_eq!(matches!(imported, ImportedRun::Damaged), !is_read, "{size}");
        }
        let mine = data.join("sessions");
        for count in 1..=100 {
            // Each name taken so far now belongs to another run.
            for (name, _) in content(&mine) {
                fs::write(mine.join(name), "{").unwrap();
            }
            let imported = store.import_run(&side_file);
            assert_eq!(imported.is_ok(), count < 100, "{count}");
        }
        assert_eq!(content(&mine).len(), 100, "nothing was written over");
    }
}
