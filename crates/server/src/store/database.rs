//! Opens the database file, migrates it, and replaces it if it is damaged.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{StoreError, schema};

/// How long a statement waits for another process.
const PATIENCE: Duration = Duration::from_secs(10);

/// The time between attempts of a statement for which `SQLite` itself doesn't wait.
const RETRY: Duration = Duration::from_millis(5);

/// The suffixes of the files that `SQLite` keeps beside a database.
const BESIDE: [&str; 2] = ["-wal", "-shm"];

/// Opens the database, creating it if needed.
pub(super) fn open(path: &Path) -> Result<Connection, StoreError> {
    let fail = |error| StoreError::of(path, &error);
    create(path).map_err(|error| StoreError::File(path.to_owned(), error))?;
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
    Ok(connection)
}

/// Opens an empty database that is nowhere but in memory.
pub(super) fn in_memory() -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    connection.pragma_update(None, "foreign_keys", true)?;
    schema::migrate(&mut connection)?;
    Ok(connection)
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

/// Creates the file, accessible to its owner only: `SQLite` gives the files beside it the same mode. Symbolic links are not followed.
fn create(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
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
    drop(file);
    Ok(())
}

/// Sets the options of a connection.
fn prepare(connection: &Connection, path: &Path) -> rusqlite::Result<()> {
    let wanted = if shares_memory(path) { "wal" } else { "delete" };
    let begun = Instant::now();
    let mode = loop {
        let mode: rusqlite::Result<String> =
            connection.pragma_update_and_check(None, "journal_mode", wanted, |row| row.get(0));
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

/// Whether the error is that the file isn't a sound database. Only then is it replaced.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Moves a damaged database aside and creates a new one. `save` receives both, to copy the readable rows. If another process has done
/// this meanwhile, returns only the connection.
pub(super) fn replace<S>(
    path: &Path,
    save: impl FnOnce(Option<&Connection>, &mut Connection) -> S,
) -> Result<(Connection, Option<(PathBuf, S)>), StoreError> {
    let fail = |error| StoreError::File(path.to_owned(), error);
    let _lock = lock(&with_ending(path, ".lock")).map_err(fail)?;
    match open(path).and_then(|connection| is_sound(&connection, path).map(|()| connection)) {
        Ok(connection) => return Ok((connection, None)),
        Err(StoreError::Damaged(_)) => {}
        Err(error) => return Err(error),
    }
    let aside = free_name(path);
    // Move the database last: a process that opens it in between finds a damaged one, and waits for the lock. It must not find the new
    // one with the log of the old one.
    for ending in BESIDE.into_iter().chain([""]) {
        let beside = with_ending(path, ending);
        match fs::rename(&beside, with_ending(&aside, ending)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !ending.is_empty() => {}
            moved => moved.map_err(fail)?,
        }
    }
    let mut new = open(path)?;
    let old = Connection::open_with_flags(&aside, OpenFlags::SQLITE_OPEN_READ_ONLY).ok();
    let saved = save(old.as_ref(), &mut new);
    Ok((new, Some((aside, saved))))
}

/// Whether all pages can be read.
fn is_sound(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let check = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    match check {
        Ok(word) if word == "ok" => Ok(()),
        Ok(_) => Err(StoreError::Damaged(path.to_owned())),
        Err(error) => Err(StoreError::of(path, &error)),
    }
}

/// Waits for the lock on a file, which is created if needed.
pub(super) fn lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    }
    let file = options.open(path)?;
    // Without locks, continue.
    match file.lock() {
        Err(error) if error.kind() != io::ErrorKind::Unsupported => Err(error),
        _ => Ok(file),
    }
}

/// Returns an unused name for a damaged database.
fn free_name(path: &Path) -> PathBuf {
    let time = Timestamp::now().to_zoned_datetime(TimeZone::UTC).strftime("%Y%m%d-%H%M%S").to_string();
    let names = (1_u32..).map(|count| match count {
        1 => with_ending(path, &format!(".damaged-{time}")),
        _ => with_ending(path, &format!(".damaged-{time}-{count}")),
    });
    let is_free = |name: &PathBuf| BESIDE.iter().chain(&[""]).all(|it| !with_ending(name, it).exists());
    names.take(10_000).find(is_free).unwrap_or_else(|| with_ending(path, ".damaged"))
}

/// Returns a path with a suffix.
fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Returns the damaged databases that were moved aside.
pub(super) fn moved_aside(path: &Path) -> Vec<PathBuf> {
    let name = path.file_name().map(|name| format!("{}.damaged-", name.to_string_lossy()));
    let (Some(name), Some(folder)) = (name, path.parent()) else { return Vec::new() };
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(&name));
    names.map(|entry| entry.path()).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_network_file_systems_are_without_shared_memory() {
        let [nfs, cifs, fuse] = [0x6969, 0xff53_4d42, 0x6573_5546];
        assert!(is_remote(nfs) && is_remote(cifs) && is_remote(fuse) && is_remote(-11_317_950));
        let [ext4, btrfs, tmpfs, overlay] = [0xef53, 0x9123_683e, 0x0102_1994, 0x794c_7630];
        assert!([ext4, btrfs, tmpfs, overlay].into_iter().all(|kind| !is_remote(kind)));
    }
}
