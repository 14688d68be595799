//! Where the text goes: standard output or a file, whole or only its end.

use std::fmt::{self, Write as _};
use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal, Stdout, Write};
use std::path::{Path, PathBuf};

use streamfmt::Tail;

use crate::input::reason;

/// Text is passed on in pieces of about this size, so that memory stays bounded and a closed pipe is seen.
const PIECE: usize = 64 * 1024;

/// Takes the text of a pipeline and passes it on.
pub(crate) struct Output {
    buffer: String,
    tail: Option<Tail>,
    destination: Destination,
    state: State,
}

enum Destination {
    Stdout(Stdout),
    File(Replacement),
}

enum State {
    Open,
    /// Nobody reads standard output any more; that is no failure.
    Closed,
    Failed(String),
}

impl Output {
    /// Opens `path`, or standard output.
    pub(crate) fn open(path: Option<&Path>, tail: Option<usize>) -> Result<Self, String> {
        let destination = match path {
            Some(path) if path != Path::new("-") => Destination::File(Replacement::create(path)?),
            _ => Destination::Stdout(io::stdout()),
        };
        let tail = tail.map(Tail::lines);
        Ok(Self { buffer: String::with_capacity(PIECE * 2), tail, destination, state: State::Open })
    }

    /// Whether text can still be given.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, State::Open)
    }

    /// Whether progress may be shown beside it: the text goes elsewhere than to a terminal.
    pub(crate) fn is_out_of_sight(&self) -> bool {
        match self.destination {
            Destination::Stdout(_) => !io::stdout().is_terminal(),
            Destination::File(_) => true,
        }
    }

    /// The file that it will take the place of once all is written; until then that stays as it is.
    pub(crate) fn replaces(&self) -> Option<&Path> {
        match &self.destination {
            Destination::File(Replacement { draft: Some(_), target, .. }) => Some(target),
            _ => None,
        }
    }

    /// Makes room on a terminal, where something else was shown.
    pub(crate) fn clear(&mut self) {
        if !self.is_out_of_sight() {
            self.buffer.push_str("\x1b[H\x1b[2J\x1b[3J");
        }
    }

    /// Passes on all that was given.
    pub(crate) fn flush(&mut self) {
        if self.pass_on().is_ok() && self.tail.is_none() {
            let flushed = self.destination.as_write().flush();
            self.judge(flushed);
        }
    }

    /// Writes what is left and puts a file in its place. An error says what could not be written.
    pub(crate) fn finish(mut self) -> Result<(), String> {
        self.flush();
        if let Some(tail) = self.tail.take() {
            let written = write_pieces(&mut self.destination, tail.text().as_bytes());
            self.judge(written);
        }
        match (self.state, self.destination) {
            (State::Failed(message), _) => Err(message),
            (_, Destination::File(file)) => file.put_in_place(),
            (_, Destination::Stdout(_)) => Ok(()),
        }
    }

    fn pass_on(&mut self) -> fmt::Result {
        if !self.is_open() {
            return Err(fmt::Error);
        }
        if let Some(tail) = &mut self.tail {
            tail.write_str(&self.buffer)?;
        } else {
            let written = write_pieces(&mut self.destination, self.buffer.as_bytes());
            self.judge(written);
        }
        self.buffer.clear();
        if self.is_open() { Ok(()) } else { Err(fmt::Error) }
    }

    fn judge(&mut self, result: io::Result<()>) {
        let Err(error) = result else { return };
        let is_stdout = matches!(self.destination, Destination::Stdout(_));
        self.state = if is_stdout && error.kind() == io::ErrorKind::BrokenPipe {
            State::Closed
        } else {
            State::Failed(format!("can't write {}: {}", self.destination.name(), reason(&error)))
        };
    }
}

impl fmt::Write for Output {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if text.len() > PIECE && self.tail.is_none() {
            // It may be of any length: no need for a copy.
            self.pass_on()?;
            let written = write_pieces(&mut self.destination, text.as_bytes());
            self.judge(written);
            return if self.is_open() { Ok(()) } else { Err(fmt::Error) };
        }
        self.buffer.push_str(text);
        if self.buffer.len() < PIECE { Ok(()) } else { self.pass_on() }
    }
}

fn write_pieces(destination: &mut Destination, bytes: &[u8]) -> io::Result<()> {
    bytes.chunks(PIECE).try_for_each(|piece| destination.as_write().write_all(piece))
}

impl Destination {
    fn as_write(&mut self) -> &mut dyn Write {
        match self {
            Self::Stdout(stdout) => stdout,
            Self::File(replacement) => &mut replacement.file,
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Stdout(_) => "standard output".to_owned(),
            Self::File(replacement) => replacement.target.display().to_string(),
        }
    }
}

/// A file that is written beside the one that it will replace. It goes away if it isn't put in place.
pub(crate) struct Replacement {
    pub(crate) file: File,
    /// Where it is being written; nothing once it is in place, or if the target can't be replaced.
    draft: Option<PathBuf>,
    target: PathBuf,
}

impl Replacement {
    fn create(path: &Path) -> Result<Self, String> {
        let fail = |error: io::Error| format!("can't write {}: {}", path.display(), reason(&error));
        // What a link leads to is replaced, not the link.
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let existing = fs::metadata(&target).ok();
        if existing.as_ref().is_some_and(|metadata| !metadata.is_file()) {
            // A device, a pipe, or a folder, which says so itself.
            let file = OpenOptions::new().write(true).open(&target).map_err(fail)?;
            return Ok(Self { file, draft: None, target });
        }
        let replacement = Self::draft(target).map_err(fail)?;
        if let Some(metadata) = existing {
            replacement.file.set_permissions(metadata.permissions()).map_err(fail)?;
        }
        Ok(replacement)
    }

    /// Begins a file that will take the place of whatever is called `target` itself, be it a link.
    pub(crate) fn draft(target: PathBuf) -> io::Result<Self> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let draft = target.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
        let file = OpenOptions::new().write(true).create_new(true).open(&draft)?;
        Ok(Self { file, draft: Some(draft), target })
    }

    /// Makes sure that all is on the disk, then gives it the name.
    pub(crate) fn put_in_place(mut self) -> Result<(), String> {
        let Some(draft) = &self.draft else { return Ok(()) };
        let placed = self.file.sync_all().and_then(|()| fs::rename(draft, &self.target));
        placed.map_err(|error| format!("can't write {}: {}", self.target.display(), reason(&error)))?;
        self.draft = None;
        // The name is safe on the disk once its folder is. Not every system can do that.
        let folder = self.target.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some(draft) = &self.draft {
            let _ = fs::remove_file(draft);
        }
    }
}
