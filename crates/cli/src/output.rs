//! The destination of text: standard output, a file, a pipe or a device, for all of the text or only its end.

use std::fmt::{self, Write as _};
use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal, Stdout, Write};
use std::path::{Path, PathBuf};

use streamfmt::{Spool, Tail};

use crate::exit_code::{OK, OUTPUT};
use crate::fifo::{is_fifo, open_fifo};
use crate::file_place::followed;
use crate::message::{print, reason, unwritten};
use crate::screen::{Screen, ScreenSize};
use crate::signal::Signals;

/// Text is written in pieces of about this size, so memory stays bounded and a closed pipe is noticed.
const PIECE: usize = 64 * 1024;

/// The most symbolic links that are followed from one to the next.
const MOST_LINKS: usize = 40;

/// Takes the text of a pipeline and writes it.
pub(crate) struct TextOutput {
    buffer: String,
    /// The rows below the text, on a terminal with live display.
    screen: Option<Screen>,
    tail: Option<Tail>,
    /// Holds the text back until its head is known.
    spool: Option<Spool>,
    destination: Destination,
    state: OutputState,
}

enum Destination {
    Stdout(Stdout),
    /// Standard output without a buffer, so each frame is written at once.
    #[cfg_attr(not(unix), expect(dead_code, reason = "only Unix gives a duplicate of it"))]
    Screen(File),
    File(Replacement),
}

enum OutputState {
    Open,
    /// Nobody reads standard output anymore, which is not a failure.
    Closed,
    Failed(String),
}

impl TextOutput {
    /// Opens `path`, or standard output. A pipe waits here for its reader, or for a signal.
    pub(crate) fn open(
        path: Option<&Path>,
        tail: Option<usize>,
        signals: &mut Signals,
    ) -> Result<Self, String> {
        let destination = match path {
            Some(path) if path != Path::new("-") => Destination::File(Replacement::create(path, signals)?),
            _ => Destination::Stdout(io::stdout()),
        };
        Ok(Self::to(destination, tail.map(Tail::lines)))
    }

    /// Opens `path` for a further output. `is_growing`: a file is written in place, so that it can be read meanwhile.
    pub(crate) fn beside(path: &Path, is_growing: bool, signals: &mut Signals) -> Result<Self, String> {
        let is_descriptor = is_descriptor(path);
        let metadata = fs::metadata(path);
        if is_descriptor && (metadata.is_err() || is_ours(path)) {
            return Err(unwritten(path, &io::Error::other("it isn't open")));
        }
        let is_file = !is_descriptor && metadata.as_ref().map_or(true, fs::Metadata::is_file);
        if !is_growing || !is_file || path == Path::new("-") {
            return Self::open(Some(path), None, signals);
        }
        let fail = |error: io::Error| unwritten(path, &error);
        let real = followed(path).map_err(fail)?;
        let file = unfollowing().create(true).truncate(true).open(real).map_err(fail)?;
        Ok(Self::to(Destination::File(Replacement::in_place(file, path.to_owned())), None))
    }

    fn to(destination: Destination, tail: Option<Tail>) -> Self {
        let (buffer, state) = (String::with_capacity(PIECE * 2), OutputState::Open);
        Self { buffer, screen: None, tail, spool: None, destination, state }
    }

    /// From now on, rows can be shown below the text: see [`TextOutput::show`].
    pub(crate) fn put_on(&mut self, screen: Screen) {
        self.screen = Some(screen);
        #[cfg(unix)]
        if let Ok(terminal) = std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned() {
            self.destination = Destination::Screen(File::from(terminal));
        }
    }

    /// From now on, holds the text back until [`TextOutput::release`]. Returns whether it does: not without room for a temporary file, nor
    /// with `--tail`, since the end of the text shows the answer only if that is written last.
    pub(crate) fn hold(&mut self) -> bool {
        if self.tail.is_none() && self.pass_on().is_ok() {
            self.spool = Spool::new();
        }
        self.spool.is_some()
    }

    /// Writes `head` and then the text that was held back, or fails if that can't be read back.
    pub(crate) fn release(&mut self, head: &str) {
        let Some(spool) = self.spool.take() else { return };
        // A failure is kept in `state`.
        let _ = self.write_str(head);
        if let Err(error) = spool.read(|piece| _ = self.write_str(piece)) {
            self.state = OutputState::Failed(format!("can't write a temporary file: {}", reason(&error)));
        }
    }

    /// Whether no text waits to be flushed.
    pub(crate) fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Flushes the text, and shows these rows below it until there is more.
    pub(crate) fn show(&mut self, size: ScreenSize, rows: Vec<String>) {
        let Some(screen) = self.screen.as_mut().filter(|_| matches!(self.state, OutputState::Open)) else {
            return self.flush();
        };
        let mut painted = String::new();
        screen.paint(size, &self.buffer, rows, &mut painted);
        self.buffer.clear();
        let out = self.destination.as_write();
        let written = out.write_all(painted.as_bytes()).and_then(|()| out.flush());
        self.judge(written);
    }

    /// Flushes the text and erases the rows below it, so that something else can be written there.
    pub(crate) fn step_aside(&mut self) {
        self.flush();
        let mut painted = String::new();
        if let Some(screen) = &mut self.screen {
            screen.step_aside(&mut painted);
        }
        let out = self.destination.as_write();
        let written = out.write_all(painted.as_bytes()).and_then(|()| out.flush());
        self.judge(written);
    }

    /// The message of the failure, if writing failed.
    pub(crate) fn failure(&self) -> Option<&str> {
        if let OutputState::Failed(message) = &self.state { Some(message) } else { None }
    }

    /// Whether more text can be written.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, OutputState::Open)
    }

    /// Whether the text isn't written to a terminal, so a progress bar doesn't disturb it.
    pub(crate) fn is_out_of_sight(&self) -> bool {
        match self.destination {
            Destination::Stdout(_) => !io::stdout().is_terminal(),
            Destination::Screen(_) => false,
            Destination::File(_) => true,
        }
    }

    /// The file that it replaces at the end; until then, that is unchanged.
    pub(crate) fn replaces(&self) -> Option<&Path> {
        match &self.destination {
            Destination::File(replacement) => replacement.replaces(),
            Destination::Stdout(_) | Destination::Screen(_) => None,
        }
    }

    /// Why the file isn't replaced by the text, if it isn't: incomplete text would look complete. Text of a damaged input becomes no
    /// better, so only a file that has text already is kept from it.
    pub(crate) fn withheld(&self, inputs: InputsRead) -> Option<String> {
        let file = self.replaces()?;
        let has_text = || fs::metadata(file).is_ok_and(|metadata| metadata.len() > 0);
        let is_withheld = match inputs {
            InputsRead::Whole => false,
            InputsRead::Damaged => has_text(),
            InputsRead::Stopped => true,
        };
        let why = "not written, because the input was not read to its end";
        is_withheld.then(|| format!("{}: {why}", file.display()))
    }

    /// Clears a terminal.
    pub(crate) fn clear(&mut self) {
        if !self.is_out_of_sight() {
            self.buffer.push_str("\x1b[H\x1b[2J\x1b[3J");
        }
    }

    /// Flushes the text.
    pub(crate) fn flush(&mut self) {
        if self.spool.is_some() || self.screen.is_some() && self.buffer.is_empty() {
            // The rows below the text stay.
            return;
        }
        if self.pass_on().is_ok() && self.tail.is_none() {
            let flushed = self.destination.as_write().flush();
            self.judge(flushed);
        }
    }

    /// Writes the rest and moves a file into place. The error is a message.
    pub(crate) fn finish(mut self) -> Result<(), String> {
        self.flush();
        if let Some(tail) = self.tail.take() {
            let written = write_pieces(&mut self.destination, tail.text().as_bytes());
            self.judge(written);
        }
        match (self.state, self.destination) {
            (OutputState::Failed(message), _) => Err(message),
            (_, Destination::File(file)) => file.put_in_place(),
            (_, Destination::Stdout(_) | Destination::Screen(_)) => Ok(()),
        }
    }

    fn pass_on(&mut self) -> fmt::Result {
        if !self.is_open() {
            return Err(fmt::Error);
        }
        if let Some(screen) = &mut self.screen {
            let mut painted = String::new();
            screen.finish(&self.buffer, &mut painted);
            let written = write_pieces(&mut self.destination, painted.as_bytes());
            self.judge(written);
        } else if let Some(tail) = &mut self.tail {
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
        let is_stdout = !matches!(self.destination, Destination::File(_));
        self.state = if is_stdout && is_closed(&error) {
            OutputState::Closed
        } else {
            OutputState::Failed(format!("can't write {}: {}", self.destination.name(), reason(&error)))
        };
    }
}

impl fmt::Write for TextOutput {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if let Some(spool) = &mut self.spool {
            let written = spool.write_str(text);
            if written.is_err() {
                self.release("");
            }
            return written;
        }
        if text.len() > PIECE && self.tail.is_none() && self.screen.is_none() {
            // It may be of any length, so it isn't copied.
            self.pass_on()?;
            let written = write_pieces(&mut self.destination, text.as_bytes());
            self.judge(written);
            return if self.is_open() { Ok(()) } else { Err(fmt::Error) };
        }
        self.buffer.push_str(text);
        if self.buffer.len() < PIECE { Ok(()) } else { self.pass_on() }
    }
}

/// Whether writing to standard output failed because nobody reads it anymore: a closed pipe, or a terminal that is gone.
pub(crate) fn is_closed(error: &io::Error) -> bool {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => true,
        _ => is_hung_up(error),
    }
}

/// Terminals that are gone fail with EIO. They no longer count as terminals then, but still as devices.
#[cfg(unix)]
fn is_hung_up(error: &io::Error) -> bool {
    use rustix::fs::{FileType, fstat};
    let is_device = |mode| FileType::from_raw_mode(mode) == FileType::CharacterDevice;
    error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error())
        && fstat(io::stdout()).is_ok_and(|about| is_device(about.st_mode))
}

#[cfg(not(unix))]
fn is_hung_up(_: &io::Error) -> bool {
    false
}

fn write_pieces(destination: &mut Destination, bytes: &[u8]) -> io::Result<()> {
    bytes.chunks(PIECE).try_for_each(|piece| destination.as_write().write_all(piece))
}

impl Destination {
    fn as_write(&mut self) -> &mut dyn Write {
        match self {
            Self::Stdout(stdout) => stdout,
            Self::Screen(terminal) => terminal,
            Self::File(replacement) => &mut replacement.file,
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Stdout(_) | Self::Screen(_) => "standard output".to_owned(),
            Self::File(replacement) => replacement.target.display().to_string(),
        }
    }
}

/// How far the inputs of a run were read.
#[derive(Clone, Copy)]
pub(crate) enum InputsRead {
    /// To their ends.
    Whole,
    /// One could not be read, or not to its end.
    Damaged,
    /// Up to a signal.
    Stopped,
}

impl InputsRead {
    pub(crate) fn of(is_stopped: bool, is_damaged: bool) -> Self {
        match (is_stopped, is_damaged) {
            (true, _) => Self::Stopped,
            (false, true) => Self::Damaged,
            (false, false) => Self::Whole,
        }
    }
}

/// A file that replaces another once it is complete. If it is dropped before, nothing is left of it.
pub(crate) struct Replacement {
    pub(crate) file: File,
    draft: Draft,
    target: PathBuf,
}

/// Where a replacement is being written.
enum Draft {
    /// In the target itself, which can't be replaced or was replaced already.
    InPlace,
    /// Nowhere: the file has no name, so nothing is left of it however the program ends.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux has files without names"))]
    Unnamed,
    /// In a file beside the target.
    Named(PathBuf),
}

impl Replacement {
    /// Opens a file for output. Pipes, devices and files that are open already are written in place; a pipe waits here for its
    /// reader.
    pub(crate) fn create(path: &Path, signals: &mut Signals) -> Result<Self, String> {
        let fail = |error: io::Error| unwritten(path, &error);
        let is_descriptor = is_descriptor(path);
        // The target of a link is replaced, not the link.
        let real = followed(path).map_err(fail)?;
        let path = if is_descriptor { path } else { &*real };
        if fs::metadata(path).is_ok_and(|metadata| is_fifo(&metadata)) {
            // Whoever opened a descriptor had a reader for it.
            let file = open_fifo(path, !is_descriptor, signals).map_err(fail)?;
            return Ok(Self::in_place(file, path.to_owned()));
        }
        if is_descriptor {
            // Whatever is open there is appended to.
            let file = OpenOptions::new().append(true).open(path).map_err(fail)?;
            return Ok(Self::in_place(file, path.to_owned()));
        }
        let target = match (folder_of(path).canonicalize(), path.file_name()) {
            (Ok(folder), Some(name)) => folder.join(name),
            _ => path.to_owned(),
        };
        let existing = fs::symlink_metadata(&target).ok();
        if existing.as_ref().is_some_and(|metadata| !metadata.is_file()) {
            // A device, or a folder, for which this fails.
            let file = unfollowing().open(&target).map_err(fail)?;
            return Ok(Self::in_place(file, target));
        }
        let replacement = Self::draft(target).map_err(fail)?;
        if let Some(metadata) = existing {
            replacement.file.set_permissions(metadata.permissions()).map_err(fail)?;
        }
        Ok(replacement)
    }

    fn in_place(file: File, target: PathBuf) -> Self {
        Self { file, draft: Draft::InPlace, target }
    }

    /// Begins a file that replaces `target`, even if that is a link.
    pub(crate) fn draft(target: PathBuf) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(file) = unnamed_file(folder_of(&target)) {
            return Ok(Self { file, draft: Draft::Unnamed, target });
        }
        let draft = draft_path(&target);
        let file = OpenOptions::new().write(true).create_new(true).open(&draft)?;
        Ok(Self { file, draft: Draft::Named(draft), target })
    }

    /// The file that it replaces, if it is a file of its own.
    pub(crate) fn replaces(&self) -> Option<&Path> {
        (!matches!(self.draft, Draft::InPlace)).then_some(&*self.target)
    }

    /// Flushes it to disk, then renames it.
    pub(crate) fn put_in_place(mut self) -> Result<(), String> {
        if let Draft::InPlace = self.draft {
            return Ok(());
        }
        self.place().map_err(|error| unwritten(&self.target, &error))?;
        self.draft = Draft::InPlace;
        // The name is on disk once its folder is. Not every system can flush a folder.
        let _ = File::open(folder_of(&self.target)).and_then(|folder| folder.sync_all());
        Ok(())
    }

    fn place(&mut self) -> io::Result<()> {
        self.file.sync_all()?;
        #[cfg(target_os = "linux")]
        if let Draft::Unnamed = self.draft {
            // A file without a name can't replace another one directly.
            let draft = draft_path(&self.target);
            give_name(&self.file, &draft)?;
            self.draft = Draft::Named(draft);
        }
        match &self.draft {
            Draft::Named(draft) => fs::rename(draft, &self.target),
            Draft::InPlace | Draft::Unnamed => Ok(()),
        }
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Draft::Named(draft) = &self.draft {
            let _ = fs::remove_file(draft);
        }
    }
}

/// Options to write a file whose path is the end of all links.
pub(crate) fn unfollowing() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NOFOLLOW.bits().cast_signed(),
    );
    options
}

/// The folder that a file is in.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."))
}

/// The name of a draft beside the file that it will replace.
fn draft_path(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    // The file's own name may be as long as names can be.
    let name: String = name.chars().take(40).collect();
    target.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

/// A new file without a name in a folder; `None` if the file system has no such files, or they couldn't be named later.
#[cfg(target_os = "linux")]
fn unnamed_file(folder: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = File::from(open(folder, flags, Mode::from_raw_mode(0o666)).ok()?);
    fs::symlink_metadata(descriptor_path(&file)).ok()?;
    Some(file)
}

/// Names a file that has no name.
#[cfg(target_os = "linux")]
fn give_name(file: &File, name: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    Ok(linkat(CWD, descriptor_path(file), CWD, name, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(target_os = "linux")]
fn descriptor_path(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd;
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Writes a page to standard output and returns the exit code. A failure is reported; a closed pipe isn't one.
pub(crate) fn write_out(text: &[u8]) -> Result<u8, u8> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text).and_then(|()| stdout.write_all(b"\n")).and_then(|()| stdout.flush()) {
        Err(error) if !is_closed(&error) => {
            print(&format!("can't write standard output: {}", reason(&error)));
            Err(OUTPUT)
        }
        _ => Ok(OK),
    }
}

/// Whether a path names something that this process has open already, such as `/dev/stdout` or `/dev/fd/3`.
pub(crate) fn is_descriptor(path: &Path) -> bool {
    let (mut path, mut steps) = (path.to_owned(), 0);
    loop {
        let folder = path.parent().unwrap_or(Path::new("/"));
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let is_of_process = real.starts_with("/proc") && real.ends_with("fd");
        if is_of_process || real == Path::new("/dev/fd") {
            return true;
        }
        // A link to one is one, too.
        let Ok(next) = fs::read_link(&path) else { return false };
        path = folder.join(next);
        steps += 1;
        if steps > MOST_LINKS {
            return false;
        }
    }
}

/// Whether this program opened a descriptor, rather than whoever started it: ours are closed on exec.
fn is_ours(path: &Path) -> bool {
    const CLOSED_IN_OTHERS: u32 = 0o200_0000;
    let number = path.file_name().unwrap_or_default().to_string_lossy();
    let about = fs::read_to_string(format!("/proc/self/fdinfo/{number}")).unwrap_or_default();
    let flags = about.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & CLOSED_IN_OTHERS != 0)
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_to_an_open_file_is_one_over_as_many_links_as_the_kernel_follows() {
        let folder = tempfile::tempdir().unwrap();
        let place = |number: usize| folder.path().join(number.to_string());
        symlink("/dev/fd/1", place(1)).unwrap();
        for number in 2..=41 {
            symlink((number - 1).to_string(), place(number)).unwrap();
        }
        assert_eq!([1, 40, 41].map(|number| is_descriptor(&place(number))), [true, true, false]);
    }

    /// An output to a file in this folder.
    fn to_file(folder: &Path) -> TextOutput {
        let path = folder.join("text");
        let file = File::create(&path).unwrap();
        TextOutput::to(Destination::File(Replacement::in_place(file, path)), None)
    }

    #[test]
    fn a_file_is_not_cleared() {
        let folder = tempfile::tempdir().unwrap();
        let mut output = to_file(folder.path());
        output.clear();
        assert!(output.is_empty());
    }

    #[test]
    fn the_rows_below_the_text_stay_when_there_is_no_text_to_flush() {
        let folder = tempfile::tempdir().unwrap();
        let written = || fs::read_to_string(folder.path().join("text")).unwrap();
        let mut output = TextOutput { screen: Some(Screen::new(true)), ..to_file(folder.path()) };
        output.show(ScreenSize { columns: 20, rows: 9 }, vec!["a row".to_owned()]);
        let shown = written();
        output.flush();
        assert!(shown.contains("a row") && written() == shown, "{shown:?}");
        output.write_str("text\n").unwrap();
        output.flush();
        assert_ne!(written(), shown);
    }

    #[test]
    fn short_texts_are_gathered_and_a_long_one_is_not_copied() {
        let folder = tempfile::tempdir().unwrap();
        let mut output = to_file(folder.path());
        output.write_str("short").unwrap();
        assert!(!output.is_empty());
        let room = output.buffer.capacity();
        output.write_str(&"x".repeat(room + 1)).unwrap();
        assert_eq!((output.is_empty(), output.buffer.capacity()), (true, room));
    }

    #[test]
    fn a_file_without_a_name_can_be_written_and_is_closed_in_other_programs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        // Not every file system supports such files.
        let flags = rustix::fs::OFlags::TMPFILE | rustix::fs::OFlags::WRONLY;
        if rustix::fs::open(path, flags, rustix::fs::Mode::RWXU).is_err() {
            return;
        }
        let mut file = unnamed_file(folder.path()).unwrap();
        file.write_all(b"text").unwrap();
        assert!(is_ours(&descriptor_path(&file)));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
