//! Named pipes as outputs: each is opened once somebody reads it.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use crate::signal::Signals;

#[cfg(unix)]
pub(crate) fn is_fifo(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    metadata.file_type().is_fifo()
}

#[cfg(not(unix))]
pub(crate) fn is_fifo(_: &fs::Metadata) -> bool {
    false
}

/// Opens a pipe once somebody reads it, and reports after a moment that it is waiting. Without `waits` the pipe must have a reader
/// already. A signal ends the wait with an error.
#[cfg(unix)]
pub(crate) fn open_fifo(path: &Path, waits: bool, signals: &mut Signals) -> io::Result<File> {
    use std::fs::OpenOptions;
    use std::os::unix::fs::OpenOptionsExt;
    use std::time::{Duration, Instant};

    use rustix::fs::{OFlags, fcntl_setfl};
    use rustix::io::Errno;

    use crate::message::print;

    /// How long to wait between attempts to open the pipe.
    const LOOK: Duration = Duration::from_millis(10);
    /// How long to wait before that is reported.
    const SILENCE: Duration = Duration::from_secs(1);

    let mut options = OpenOptions::new();
    options.write(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    let begun = Instant::now();
    let mut is_silent = true;
    loop {
        match options.open(path) {
            Ok(file) => {
                fcntl_setfl(&file, OFlags::empty())?;
                return Ok(file);
            }
            Err(error) if error.raw_os_error() != Some(Errno::NXIO.raw_os_error()) => return Err(error),
            Err(_) if !waits || signals.caught().is_some() => {
                return Err(io::Error::other("nobody reads it"));
            }
            Err(_) => {
                if is_silent && begun.elapsed() >= SILENCE {
                    is_silent = false;
                    print(&format!("{}: waiting for a reader of this pipe", path.display()));
                }
                signals.wait(None, Some(LOOK), false)?;
            }
        }
    }
}

#[cfg(not(unix))]
pub(crate) fn open_fifo(path: &Path, _: bool, _: &mut Signals) -> io::Result<File> {
    File::options().write(true).open(path)
}
