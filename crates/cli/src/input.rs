//! Inputs: files, pipes, files that grow, a running agent.

use std::cell::RefCell;
use std::env;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Take};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use streamfmt::core::pipeline::{Pipeline, Setup};
use streamfmt::follow::{FollowNote, Follower, SessionFolder, Sessions, SharedSessions, first_session};
use streamfmt::unpack::without_compression;
use streamfmt_server::store::{history_exists, open_history};

use crate::args::{self, Args};
use crate::file_place::FilePlace;
use crate::folders::session_folders;
use crate::message::{print, reason};
#[cfg(not(unix))]
use crate::not_recorded::NotRecordedInput as RecordedInput;
use crate::read_outcome::ReadOutcome;
#[cfg(unix)]
use crate::recorded::RecordedInput;
use crate::signal::{SignalWait, Signals, Woken};
use crate::usage_error::command_meant;

/// How long to wait after Ctrl-C for the last output of the program that we read from.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// An input as requested.
pub(crate) enum InputSource {
    Stdin,
    File(PathBuf),
    /// The log of a run: `size` bytes from `start`, or everything to its end while the run is in progress.
    Part {
        path: PathBuf,
        start: u64,
        size: Option<u64>,
    },
    /// The newest of these sessions, as soon as there is one.
    Newest(SharedSessions),
    /// A session that is followed until one of these is newer.
    Session(PathBuf, SharedSessions),
    /// An agent that runs.
    #[cfg_attr(not(unix), expect(dead_code, reason = "agents are run on Unix alone"))]
    Agent {
        /// The name of its program.
        name: String,
        /// A known agent that the arguments of an unknown program name: the program may start it.
        named: Option<&'static str>,
    },
}

impl InputSource {
    /// All requested inputs. If any can't be read, none is; the errors are messages.
    pub(crate) fn all(args: &Args) -> Result<Vec<Self>, Vec<String>> {
        if args.follow {
            return Self::followed(args).map(|input| vec![input]).map_err(|message| vec![message]);
        }
        if args.files.is_empty() {
            return Self::stdin(args).map(|input| vec![input]).map_err(|message| vec![message]);
        }
        let mut inputs = Vec::new();
        let mut wrong = Vec::new();
        for (index, file) in args.files.iter().enumerate() {
            if file == Path::new("-") {
                match Self::stdin(args) {
                    Ok(stdin) => inputs.push(stdin),
                    Err(message) => wrong.push(message),
                }
                continue;
            }
            let Err(message) = check(file, args) else {
                inputs.push(Self::File(file.clone()));
                continue;
            };
            let meant = file
                .to_str()
                .filter(|_| !file.exists())
                .and_then(|word| command_meant(word, &args::command()));
            let Some(meant) = meant else {
                wrong.push(format!("{}: {message}", file.display()));
                continue;
            };
            wrong.push(format!("{}: {message} ({meant})", file.display()));
            if index == 0 {
                // The words after a command belong to it.
                break;
            }
        }
        if wrong.is_empty() { Ok(inputs) } else { Err(wrong) }
    }

    /// The input to follow: standard input, a file, which needn't exist yet, or the newest session of a folder.
    fn followed(args: &Args) -> Result<Self, String> {
        let file = match &*args.files {
            [] if is_stdin_given() => return Self::stdin(args),
            [] => return Self::newest_here(args),
            [file] if file == Path::new("-") => return Self::stdin(args),
            [file] => file,
            _ => return Err("--follow takes one file or folder".to_owned()),
        };
        let checked = match fs::metadata(file) {
            Ok(metadata) if metadata.is_dir() => {
                let sessions = Sessions::new(vec![SessionFolder::given(file.clone())], args.written());
                return Ok(Self::Newest(Rc::new(RefCell::new(sessions))));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                check_written(&FilePlace::of(file), args)
            }
            _ => check(file, args),
        };
        checked.map_err(|message| format!("{}: {message}", file.display()))?;
        Ok(Self::File(file.clone()))
    }

    /// Standard input. It may be a file that an output writes to.
    fn stdin(args: &Args) -> Result<Self, String> {
        let metadata = stdin().and_then(|stdin| stdin.metadata());
        let checked = metadata.map_or(Ok(()), |metadata| check_written(&FilePlace::of_open(&metadata), args));
        checked.map(|()| Self::Stdin).map_err(|message| format!("{}: {message}", Self::Stdin.name()))
    }

    /// The newest session of the current folder, in the folders where agents keep sessions.
    fn newest_here(args: &Args) -> Result<Self, String> {
        let folders = session_folders();
        // The current folder itself may hold one, too, but no agent's folder is meant then.
        let work = env::current_dir().unwrap_or_default();
        let is_there = |folder: &&SessionFolder| folder.path.is_dir() && folder.path != work;
        let looked = folders.iter().filter(is_there).map(|folder| folder.path.display().to_string());
        let looked: Vec<String> = looked.collect();
        let mut sessions = Sessions::new(folders, args.written());
        if sessions.look() {
            return Ok(Self::Newest(Rc::new(RefCell::new(sessions))));
        }
        let looked = match &*looked {
            [] => "no agent keeps any".to_owned(),
            looked => format!("searched {}", looked.join(" and ")),
        };
        Err(format!("no session of this folder to follow ({looked}); name a file or a folder"))
    }

    /// Waits for the newest session of a folder; returns other inputs unchanged. `None`: a signal arrived first.
    pub(crate) fn settled(self, signals: &mut Signals) -> io::Result<Option<Self>> {
        let Self::Newest(sessions) = self else { return Ok(Some(self)) };
        let mut report = |note: &FollowNote| print(&note.to_string());
        let Some(path) =
            first_session(&sessions, &mut SignalWait { signals, watch_output: false }, &mut report)?
        else {
            return Ok(None);
        };
        print(&format!("following {}", path.display()));
        Ok(Some(Self::Session(path, sessions)))
    }

    /// The session to read after it, if a newer one appeared.
    pub(crate) fn successor(&self) -> Option<Self> {
        let Self::Session(_, sessions) = self else { return None };
        let path = sessions.borrow_mut().take()?;
        print(&format!("switching to the newer {}", path.display()));
        Some(Self::Session(path, Rc::clone(sessions)))
    }

    /// Its name in messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Stdin => "standard input".to_owned(),
            Self::Agent { name, .. } => name.clone(),
            Self::File(path) | Self::Part { path, .. } | Self::Session(path, _) => path.display().to_string(),
            Self::Newest(sessions) => sessions.borrow().shown_folders(),
        }
    }

    /// A known agent that the arguments of an unknown program name.
    pub(crate) fn named_agent(&self) -> Option<&'static str> {
        if let Self::Agent { named, .. } = self { *named } else { None }
    }

    /// Its path, if it is a file.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Stdin | Self::Newest(_) | Self::Agent { .. } => None,
            Self::File(path) | Self::Part { path, .. } | Self::Session(path, _) => Some(path),
        }
    }

    /// Whether it is the log of a run in progress, which has no result yet.
    pub(crate) fn is_in_progress(&self) -> bool {
        matches!(self, Self::Part { size: None, .. })
    }

    /// Whether it has an end and can be read again from its beginning.
    pub(crate) fn can_be_shown_again(&self, args: &Args) -> bool {
        let is_file = |metadata: io::Result<fs::Metadata>| metadata.is_ok_and(|metadata| metadata.is_file());
        match self {
            Self::Stdin => is_file(stdin().and_then(|stdin| stdin.metadata())),
            Self::File(path) => !args.follow && is_file(fs::metadata(path)),
            Self::Part { .. } | Self::Newest(_) | Self::Session(..) | Self::Agent { .. } => false,
        }
    }

    /// Opens it; `is_again`: it was read before and is rewound.
    pub(crate) fn open(&self, follow: bool, is_again: bool) -> io::Result<OpenInput> {
        let file = match self {
            Self::Stdin => stdin()?,
            Self::Session(path, sessions) => {
                return Ok(OpenInput::Growing(Follower::new(path, Some(Rc::clone(sessions))).into()));
            }
            // A named pipe is read like any other. What doesn't exist yet is taken for a file.
            Self::File(path) if follow && fs::metadata(path).map_or(true, |metadata| metadata.is_file()) => {
                return Ok(OpenInput::Growing(Follower::new(path, None).into()));
            }
            Self::File(path) => match open_file(path) {
                Err(_) if history_exists(path) => open_history(path)?,
                opened => opened?,
            },
            Self::Part { path, start, size } => return open_part(path, *start, *size),
            // An agent is started, not opened.
            Self::Newest(_) | Self::Agent { .. } => return Err(io::ErrorKind::NotFound.into()),
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Ok(OpenInput::Pipe(file));
        }
        if is_again {
            (&file).rewind()?;
        }
        Ok(OpenInput::File { file, size: metadata.len() })
    }
}

fn open_part(path: &Path, start: u64, size: Option<u64>) -> io::Result<OpenInput> {
    let mut file = File::open(path)?;
    let there = file.metadata()?.len().saturating_sub(start);
    file.seek(SeekFrom::Start(start))?;
    let size = size.unwrap_or(there).min(there);
    Ok(if size == there {
        OpenInput::File { file, size }
    } else {
        OpenInput::Part { file: file.take(size), size }
    })
}

fn check(file: &Path, args: &Args) -> Result<(), String> {
    let metadata = match fs::metadata(file) {
        // A session in an agent's database.
        Err(_) if history_exists(file) => return check_written(&FilePlace::of(file), args),
        found => found.map_err(|error| reason(&error))?,
    };
    if metadata.is_dir() {
        return Err("is a folder (name the files in it)".to_owned());
    }
    check_written(&FilePlace::of(file), args)?;
    if args.writes_session_in(&without_compression(file).with_extension("")) {
        return Err("can't be read while a file of its sub-agents is written".to_owned());
    }
    // A pipe must not be opened twice: its writer would see it close.
    if metadata.is_file() {
        File::open(file).map_err(|error| reason(&error))?;
    }
    Ok(())
}

/// Checks that no output writes to an input. The error is a message.
pub(crate) fn check_written(place: &FilePlace, args: &Args) -> Result<(), String> {
    if args.writes_to(place) { Err("can't be both read and written".to_owned()) } else { Ok(()) }
}

/// Whether standard input is something to read: not a terminal, and not `/dev/null`.
#[cfg(unix)]
fn is_stdin_given() -> bool {
    use std::os::unix::fs::FileTypeExt;
    let kind = stdin().and_then(|stdin| stdin.metadata()).map(|metadata| metadata.file_type());
    kind.is_ok_and(|kind| kind.is_fifo() || kind.is_socket() || kind.is_file())
}

#[cfg(not(unix))]
fn is_stdin_given() -> bool {
    use std::io::IsTerminal;
    !io::stdin().is_terminal()
}

/// Opens a file. A named pipe opens at once, so that signals end the wait for its writer, which is a wait for its bytes then.
#[cfg(target_os = "linux")]
fn open_file(path: &Path) -> io::Result<File> {
    use rustix::fs::{OFlags, fcntl_setfl};
    use std::os::unix::fs::OpenOptionsExt;
    let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(nonblocking).open(path)?;
    fcntl_setfl(&file, OFlags::empty())?;
    Ok(file)
}

/// Opens a file. Elsewhere a pipe that no writer has opened yet may look like one that ended.
#[cfg(not(target_os = "linux"))]
fn open_file(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Standard input without a buffer, so available bytes can be read at once.
#[cfg(unix)]
fn stdin() -> io::Result<File> {
    use std::os::fd::AsFd;
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
fn stdin() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    io::stdin().as_handle().try_clone_to_owned().map(File::from)
}

/// An input that is open.
pub(crate) enum OpenInput {
    /// A file, read to its end.
    File { file: File, size: u64 },
    /// A part of a file that continues after it.
    Part { file: Take<File>, size: u64 },
    /// A pipe, a terminal or a device: available bytes are read at once.
    Pipe(File),
    /// A file that may grow.
    Growing(Box<Follower>),
    /// The output of a running agent.
    #[cfg_attr(not(unix), expect(dead_code, reason = "agents are run on Unix alone"))]
    Recorded(Box<RecordedInput>),
}

impl OpenInput {
    /// The number of bytes to read, if known.
    pub(crate) fn size(&self) -> Option<u64> {
        match self {
            Self::File { size, .. } | Self::Part { size, .. } => Some(*size),
            _ => None,
        }
    }

    /// The follower of a file that may grow.
    pub(crate) fn follower(&mut self) -> Option<&mut Follower> {
        match self {
            Self::Growing(follower) => Some(follower),
            _ => None,
        }
    }

    /// Whether it is read to its end even if the output is closed: a running agent.
    pub(crate) fn goes_on(&self) -> bool {
        matches!(self, Self::Recorded(_))
    }

    /// Notes what the pipeline has found, which got these bytes last: the recorder of a running agent needs it as well.
    pub(crate) fn note(&self, pipeline: &Pipeline, bytes: &[u8]) {
        if let Self::Recorded(recorded) = self {
            recorded.note(pipeline, bytes);
        }
    }

    /// Prepares the pipeline that will decode it.
    pub(crate) fn watch(&self, setup: &mut Setup) {
        if let Self::Recorded(recorded) = self {
            recorded.watch(setup);
        }
    }

    /// Why a running agent was stopped, if it was.
    pub(crate) fn stopped_for(&self) -> Option<&'static str> {
        match self {
            Self::Recorded(recorded) => recorded.stopped_for(),
            _ => None,
        }
    }

    /// The file, if it is one of more than `least` bytes.
    pub(crate) fn large_file(&self, least: u64) -> Option<File> {
        match self {
            Self::File { file, size } if *size > least => file.try_clone().ok(),
            _ => None,
        }
    }

    /// Reads the next bytes. `watch_output`: stop waiting when nobody reads the output anymore. `patience`: how long to wait before
    /// returning [`ReadOutcome::Pause`]; a signal that doesn't end the program returns it at once.
    pub(crate) fn read(
        &mut self,
        buffer: &mut [u8],
        signals: &mut Signals,
        watch_output: bool,
        patience: Option<Duration>,
    ) -> io::Result<ReadOutcome> {
        match self {
            Self::File { .. } | Self::Part { .. } if signals.caught().is_some() => Ok(ReadOutcome::End),
            Self::File { file, .. } => read_some(file, buffer),
            Self::Part { file, .. } => read_some(file, buffer),
            Self::Pipe(pipe) => read_pipe(pipe, buffer, signals, watch_output, patience),
            Self::Growing(follower) => {
                let mut wait = SignalWait { signals, watch_output };
                follower.read(buffer, &mut wait, patience).map(ReadOutcome::from)
            }
            Self::Recorded(recorded) => recorded.read(buffer, signals, patience),
        }
    }
}

/// Reads available bytes.
fn read_some(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<ReadOutcome> {
    Ok(match streamfmt::follow::read_some(file, buffer)? {
        0 => ReadOutcome::End,
        count => ReadOutcome::Bytes(count),
    })
}

fn read_pipe(
    pipe: &mut File,
    buffer: &mut [u8],
    signals: &mut Signals,
    watch_output: bool,
    patience: Option<Duration>,
) -> io::Result<ReadOutcome> {
    if signals.caught().is_some() && !signals.interrupted() {
        return Ok(ReadOutcome::End);
    }
    let patience = if signals.interrupted() { Some(LAST_WORDS) } else { patience };
    match wait_for(pipe, signals, patience, watch_output)? {
        Woken::Input => read_some(pipe, buffer),
        Woken::Signal => Ok(ReadOutcome::Pause),
        Woken::Timeout if !signals.interrupted() => Ok(ReadOutcome::Pause),
        Woken::Timeout | Woken::Closed => Ok(ReadOutcome::End),
    }
}

#[cfg(unix)]
fn wait_for(
    pipe: &File,
    signals: &mut Signals,
    timeout: Option<Duration>,
    watch_output: bool,
) -> io::Result<Woken> {
    use std::os::fd::AsFd;
    signals.wait(Some(pipe.as_fd()), timeout, watch_output)
}

#[cfg(not(unix))]
fn wait_for(
    _: &File,
    signals: &mut Signals,
    timeout: Option<Duration>,
    watch_output: bool,
) -> io::Result<Woken> {
    signals.wait(Some(std::marker::PhantomData), timeout, watch_output)
}
