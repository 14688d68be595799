//! Opens the database file, migrates it, and replaces it if it is damaged.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::super::StoreError;
use super::salvage::{self, Salvage};
use super::{Database, PATIENCE, failure, problems, schema};

/// The time between attempts of a statement for which `SQLite` itself doesn't wait.
const RETRY: Duration = Duration::from_millis(5);

/// The suffixes of the files that `SQLite` keeps beside a database.
const BESIDE: [&str; 3] = [LOG, "-shm", JOURNAL];
/// The suffix of the write-ahead log, which holds the newest pages.
const LOG: &str = "-wal";
/// The suffix of the journal, which holds pages as they were before an unfinished transaction.
const JOURNAL: &str = "-journal";

impl Database {
    /// Opens the database at a path, creating it if needed. An empty file is damage, since a new one is never seen empty.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        if is_missing(path) {
            let _lock = lock(path)?;
            // Another process may have been faster.
            if is_missing(path) {
                let draft = DatabaseDraft::at(with_ending(path, ".new"));
                drop(draft.create()?);
                draft.publish(path)?;
            }
        }
        open_existing(path)
    }

    /// Opens an empty database that is nowhere but in memory. `path`: where it would be otherwise.
    pub(crate) fn in_memory(path: &Path) -> Result<Self, StoreError> {
        let open = || {
            let mut connection = Connection::open_in_memory()?;
            connection.pragma_update(None, "foreign_keys", true)?;
            schema::migrate(&mut connection)?;
            Ok(connection)
        };
        Ok(Self::new(open().map_err(|error| failure(path, &error))?, path))
    }

    /// Empties the write-ahead log, which contains earlier versions of pages. Returns false if other processes are reading.
    pub(crate) fn empty_log(&self) -> Result<bool, StoreError> {
        let busy = self.first("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>("busy"))?;
        Ok(busy.unwrap_or(0) == 0)
    }
}

fn is_missing(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn open_existing(path: &Path) -> Result<Database, StoreError> {
    let fail = |error| failure(path, &error);
    let file = open_file(path, OpenOptions::new().read(true).write(true));
    let size = file.and_then(|file| Ok(file.metadata()?.len()));
    if size.map_err(|error| StoreError::File(path.to_owned(), error))? == 0 {
        return Err(StoreError::Damaged(path.to_owned()));
    }
    let (mut connection, version) = match connect(path, false) {
        // On a full disk, no memory can be shared. Then open it exclusively, so that sessions can still be listed and removed.
        Err(error) if is_unshared(&error) => connect(path, true).map_err(fail)?,
        connected => connected.map_err(fail)?,
    };
    // Check this first: a newer program may have changed the meaning of all that follows.
    if version > schema::VERSION {
        return Err(StoreError::Newer(path.to_owned()));
    }
    prepare(&connection, path).map_err(fail)?;
    schema::migrate(&mut connection).map_err(fail)?;
    Ok(Database::new(connection, path))
}

/// Connects to the file, exclusively or with others, and reads its version.
fn connect(path: &Path, is_alone: bool) -> rusqlite::Result<(Connection, usize)> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    if is_alone {
        connection.pragma_update_and_check(None, "locking_mode", "exclusive", |_| Ok(()))?;
    }
    let version = schema::version(&connection)?;
    Ok((connection, version))
}

/// Opens a file that is accessible to its owner only: `SQLite` gives the files beside it the same mode. Symbolic links are not followed.
fn open_file(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    }
    let file = options.open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if file.metadata()?.permissions().mode() & 0o077 != 0 {
            file.set_permissions(PermissionsExt::from_mode(0o600))?;
        }
    }
    Ok(file)
}

/// A database that isn't in its place yet. It is removed when this is dropped.
struct DatabaseDraft {
    path: PathBuf,
}

impl DatabaseDraft {
    /// A draft at a path, without what a process that was killed left there.
    fn at(path: PathBuf) -> Self {
        let draft = Self { path };
        draft.remove();
        draft
    }

    /// Creates an empty database of the newest version.
    fn create(&self) -> Result<Connection, StoreError> {
        let path = &self.path;
        open_file(path, OpenOptions::new().read(true).write(true).create_new(true))
            .map_err(|error| StoreError::File(path.clone(), error))?;
        let created = connect(path, false).and_then(|(mut connection, _)| {
            schema::migrate(&mut connection)?;
            Ok(connection)
        });
        created.map_err(|error| failure(path, &error))
    }

    /// Copies a damaged database such that as much as possible of it can be read.
    fn readable(&self, damaged: &Path) -> Result<Connection, StoreError> {
        let copy =
            |ending| salvage::copy_file(&with_ending(damaged, ending), &with_ending(&self.path, ending));
        let copied = copy("").and_then(|_| copy(JOURNAL)).and_then(|_| copy(LOG));
        let mended = copied.and_then(|has_log| salvage::mend_header(&self.path, has_log));
        mended.map_err(|error| StoreError::File(self.path.clone(), error))?;
        salvage::open(&self.path).map_err(|error| failure(&self.path, &error))
    }

    /// Moves a complete database, which isn't open, to its place.
    fn publish(self, path: &Path) -> Result<(), StoreError> {
        fs::rename(&self.path, path).map_err(|error| StoreError::File(path.to_owned(), error))
    }

    fn remove(&self) {
        for ending in BESIDE.into_iter().chain([""]) {
            let _ = fs::remove_file(with_ending(&self.path, ending));
        }
    }
}

impl Drop for DatabaseDraft {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Sets the options of a connection.
fn prepare(connection: &Connection, path: &Path) -> rusqlite::Result<()> {
    let wanted = if shares_memory(path) { "wal" } else { "delete" };
    let begun = Instant::now();
    let mode = loop {
        let mode: rusqlite::Result<String> =
            connection.pragma_update_and_check(None, "journal_mode", wanted, |row| row.get("journal_mode"));
        // SQLite doesn't wait for other processes here.
        match mode {
            Err(error) if is_busy(&error) && begun.elapsed() < PATIENCE => std::thread::sleep(RETRY),
            mode => break mode,
        }
    };
    match mode {
        Ok(_) => {}
        // A file may be unshareable for other reasons, too.
        Err(error) if is_unshared(&error) => {
            connection
                .pragma_update_and_check(None, "journal_mode", "delete", |_| Ok(()))
                .map_err(|_| error)?;
        }
        Err(error) => return Err(error),
    }
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    // Overwrite deleted data.
    connection.pragma_update_and_check(None, "secure_delete", true, |_| Ok(()))?;
    connection.pragma_update_and_check(None, "journal_size_limit", 4 << 20, |_| Ok(()))
}

/// Whether the error is that another process is using the database.
fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Whether the error is that memory can't be shared.
fn is_unshared(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    let shared = [
        rusqlite::ffi::SQLITE_IOERR_SHMOPEN,
        rusqlite::ffi::SQLITE_IOERR_SHMSIZE,
        rusqlite::ffi::SQLITE_IOERR_SHMLOCK,
        rusqlite::ffi::SQLITE_IOERR_SHMMAP,
        rusqlite::ffi::SQLITE_PROTOCOL,
    ];
    code.is_some_and(|code| shared.contains(&code))
}

/// Whether processes that use files in this folder can share memory. On a network file system, they may be on other machines.
#[cfg(target_os = "linux")]
#[expect(clippy::unnecessary_cast, reason = "the type differs between platforms")]
fn shares_memory(path: &Path) -> bool {
    let folder = path.parent().unwrap_or(path);
    rustix::fs::statfs(folder).map_or(true, |about| !is_remote(about.f_type as i64))
}

#[cfg(not(target_os = "linux"))]
fn shares_memory(_: &Path) -> bool {
    true
}

/// Whether a file system of this type is on another machine: NFS, SMB (three types), AFS, Ceph, 9P, and FUSE, which usually is.
#[cfg(target_os = "linux")]
fn is_remote(kind: i64) -> bool {
    const REMOTE: [i64; 8] =
        [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x5346_414f, 0x00c3_6400, 0x0102_1997, 0x6573_5546];
    REMOTE.contains(&(kind & 0xffff_ffff))
}

/// A damaged database that was replaced.
pub(crate) struct Replaced {
    /// Where it is now.
    pub(crate) aside: PathBuf,
    /// What could be saved of it.
    pub(crate) salvage: Salvage,
}

/// Replaces a damaged database by a new one with everything that can be read, and keeps it under another name. Until the new one is
/// complete, the damaged one stays in its place. If another process has done this meanwhile, returns only the database.
pub(crate) fn replace(path: &Path) -> Result<(Database, Option<Replaced>), StoreError> {
    let fail = |error| StoreError::File(path.to_owned(), error);
    let _lock = lock(path)?;
    match open_existing(path).and_then(|database| is_sound(&database).map(|()| database)) {
        Ok(database) => return Ok((database, None)),
        Err(StoreError::Damaged(_)) => {}
        Err(error) => return Err(error),
    }
    let aside = free_name(path, Timestamp::now());
    let new = DatabaseDraft::at(with_ending(path, ".new"));
    let salvage = {
        let copy = DatabaseDraft::at(with_ending(&aside, "-copy"));
        let damaged = copy.readable(path)?;
        let mut ids = BTreeMap::new();
        salvage::count_ids(path, &mut ids).map_err(fail)?;
        // There may be no log.
        let _ = salvage::count_ids(&with_ending(path, LOG), &mut ids);
        let mut connection = new.create()?;
        salvage::salvage(&damaged, &ids, &mut connection).map_err(|error| failure(&new.path, &error))?
    };
    // Move the database last: a process that opens it in between finds a damaged one, and waits for the lock. It must not find the new
    // one with the log of the old one.
    for ending in BESIDE {
        match fs::rename(with_ending(path, ending), with_ending(&aside, ending)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            moved => moved.map_err(fail)?,
        }
    }
    // With a second name, there is no moment without a database. Not every file system has links.
    if fs::hard_link(path, &aside).is_err() {
        fs::rename(path, &aside).map_err(fail)?;
    }
    new.publish(path)?;
    Ok((open_existing(path)?, Some(Replaced { aside, salvage })))
}

/// Whether all of it can be read.
fn is_sound(database: &Database) -> Result<(), StoreError> {
    match problems::problems(&database.connection, 1) {
        Ok(found) if found.is_empty() => Ok(()),
        Ok(_) => Err(StoreError::Damaged(database.path.clone())),
        Err(error) => Err(database.failure(&error)),
    }
}

/// Waits for the lock under which a database is created or replaced, and files are added to the data folder.
pub(crate) fn lock(path: &Path) -> Result<File, StoreError> {
    let name = with_ending(path, ".lock");
    let fail = |error| StoreError::File(name.clone(), error);
    let file = open_file(&name, OpenOptions::new().write(true).create(true).truncate(false)).map_err(fail)?;
    // Without locks, continue.
    match file.lock() {
        Err(error) if error.kind() != io::ErrorKind::Unsupported => Err(fail(error)),
        _ => Ok(file),
    }
}

/// Takes the lock under which one process looks for new histories. `None` if another process has it.
pub(crate) fn lock_imports(path: &Path) -> Result<Option<File>, StoreError> {
    let name = with_ending(path, ".imports.lock");
    let fail = |error| StoreError::File(name.clone(), error);
    let file = open_file(&name, OpenOptions::new().write(true).create(true).truncate(false)).map_err(fail)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(None),
        // Without locks, continue.
        Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Unsupported => Err(fail(error)),
        _ => Ok(Some(file)),
    }
}

/// Returns an unused name for a database that is found to be damaged at this time.
fn free_name(path: &Path, now: Timestamp) -> PathBuf {
    let time = now.to_zoned_datetime(TimeZone::UTC).strftime("%Y%m%d-%H%M%S").to_string();
    let names = (1_u32..).map(|count| match count {
        1 => with_ending(path, &format!(".damaged-{time}")),
        _ => with_ending(path, &format!(".damaged-{time}-{count}")),
    });
    let is_free = |name: &PathBuf| BESIDE.iter().chain(&[""]).all(|it| is_missing(&with_ending(name, it)));
    names.take(10_000).find(is_free).unwrap_or_else(|| with_ending(path, ".damaged"))
}

/// Returns a path with a suffix.
pub(super) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Returns the damaged databases that were moved aside.
pub(crate) fn moved_aside(path: &Path) -> Vec<PathBuf> {
    let name = path.file_name().map(|name| format!("{}.damaged-", name.to_string_lossy()));
    let (Some(name), Some(folder)) = (name, path.parent()) else { return Vec::new() };
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(&name));
    names.map(|entry| entry.path()).collect()
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    #[test]
    fn only_network_file_systems_are_without_shared_memory() {
        let [nfs, cifs, fuse] = [0x6969, 0xff53_4d42, 0x6573_5546];
        assert!(is_remote(nfs) && is_remote(cifs) && is_remote(fuse) && is_remote(-11_317_950));
        let [ext4, btrfs, tmpfs, overlay] = [0xef53, 0x9123_683e, 0x0102_1994, 0x794c_7630];
        assert!([ext4, btrfs, tmpfs, overlay].into_iter().all(|kind| !is_remote(kind)));
    }

    #[test]
    fn a_damaged_database_takes_a_name_that_nothing_has() {
        let folder = tempfile::TempDir::with_prefix("streamfmt-database-").unwrap();
        let (path, now) = (folder.path().join("sessions.db"), Timestamp::UNIX_EPOCH);
        let free = || free_name(&path, now).file_name().unwrap().to_str().unwrap().to_owned();
        assert_eq!(free(), "sessions.db.damaged-19700101-000000");
        fs::write(folder.path().join(free()), "").unwrap();
        assert_eq!(free(), "sessions.db.damaged-19700101-000000-2");
        std::os::unix::fs::symlink("nowhere", folder.path().join(free())).unwrap();
        // Files beside a name belong to a database of that name.
        for (beside, next) in ["-wal", "-shm", "-journal"].into_iter().zip(3..) {
            assert_eq!(free(), format!("sessions.db.damaged-19700101-000000-{next}"));
            fs::write(folder.path().join(free() + beside), "").unwrap();
        }
        assert_eq!(free(), "sessions.db.damaged-19700101-000000-6");
        assert_eq!(
            free_name(&path, Timestamp::from_second(1).unwrap()).file_name().unwrap(),
            "sessions.db.damaged-19700101-000001"
        );
    }

    #[test]
    fn neither_a_new_database_nor_a_repair_is_written_through_a_link() {
        // The link, whether there is a damaged database, and whether opening it fails.
        for (link, is_damaged, is_refused) in [
            ("sessions.db", false, true),
            ("sessions.db.lock", false, true),
            ("sessions.db.lock", true, true),
            // A file left by a killed process is removed.
            ("sessions.db.new", false, false),
            ("sessions.db.new", true, false),
        ] {
            let folder = tempfile::TempDir::with_prefix("streamfmt-database-").unwrap();
            let (data, target) = (folder.path().join("data"), folder.path().join("target"));
            fs::create_dir(&data).unwrap();
            let garbage = "no database at all ".repeat(1_000);
            fs::write(&target, &garbage).unwrap();
            if is_damaged {
                fs::write(data.join("sessions.db"), "garbage").unwrap();
            }
            std::os::unix::fs::symlink(&target, data.join(link)).unwrap();
            for repair in [false, true] {
                let opened = if repair { Store::repair(&data) } else { Store::open(&data) };
                assert_eq!(
                    matches!(opened, Err(StoreError::File(..))),
                    is_refused,
                    "{link} {is_damaged} {repair}"
                );
                assert!(is_refused || opened.is_ok(), "{link} {is_damaged} {repair}");
            }
            assert_eq!(fs::read_to_string(&target).unwrap(), garbage, "{link} {is_damaged}");
            assert_eq!(fs::symlink_metadata(data.join(link)).is_ok(), is_refused, "{link} {is_damaged}");
        }
    }
}
