//! Passes a run's bytes from the recorder to the display.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::notice::RunNotice;

/// The most bytes that are kept in memory for a slow reader. It reads all others from the log.
const HELD: usize = 1024 * 1024;

/// The most bytes of a joined piece in memory. Small pieces are joined, since each has an overhead.
const PIECE: usize = 64 * 1024;
/// That overhead in bytes, which counts as memory: the agent's two outputs may alternate byte by byte.
const PIECE_COST: usize = 64;

/// The most pieces that are kept in order. The agent's two outputs may alternate often; beyond this number, each output's pieces are
/// joined.
const PIECES: usize = 4096;

/// One of the agent's outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    Output,
    Errors,
}

impl Channel {
    fn step(self, count: usize) -> FeedStep {
        match self {
            Self::Output => FeedStep::Output(count),
            Self::Errors => FeedStep::Errors(count),
        }
    }
}

/// The next step of a feed.
#[derive(Debug)]
pub enum FeedStep {
    /// This many bytes of standard output.
    Output(usize),
    /// This many bytes of standard error.
    Errors(usize),
    /// Something that the user should know.
    Notice(RunNotice),
    /// Nothing yet: [`LiveFeed::bell`] becomes readable once there is something.
    Wait,
    /// The run is over.
    Over,
}

/// The state of a feed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FeedView {
    /// Bytes of standard output.
    pub(crate) output: u64,
    /// Whether that is all.
    pub(crate) is_over: bool,
    /// Whether the recorder waits until something is read.
    pub(crate) is_full: bool,
}

/// The reader's end of a feed. It may be read at any pace.
pub struct LiveFeed {
    shared: Arc<Mutex<FeedState>>,
    bell: PipeReader,
    made_room: PipeWriter,
    output: Option<File>,
    errors: Option<File>,
    /// Whether the last bytes of a log couldn't be read, which is reported once.
    is_unreadable: bool,
}

/// The recorder's end of a feed.
pub(crate) struct FeedEnd {
    shared: Arc<Mutex<FeedState>>,
    ring: PipeWriter,
    /// Receives a byte when there is room again. `None` once the reader is gone.
    room: Option<PipeReader>,
}

#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each holds or not, by itself")]
struct FeedState {
    pieces: VecDeque<FeedPiece>,
    held: usize,
    /// Whether the bell holds a byte.
    is_rung: bool,
    /// Whether the recorder waits for room.
    is_full: bool,
    is_over: bool,
    is_abandoned: bool,
    /// The number of bytes of standard output that were passed on.
    output: u64,
    /// Logs that were opened and that the reader hasn't taken yet.
    opened: Vec<(Channel, File)>,
}

enum FeedPiece {
    Held(Channel, Vec<u8>, usize),
    Logged(Channel, Range<u64>),
    Notice(RunNotice),
}

/// Creates both ends of a feed.
pub(crate) fn feed() -> io::Result<(FeedEnd, LiveFeed)> {
    let (bell, ring) = io::pipe()?;
    let (room, made_room) = io::pipe()?;
    let shared = Arc::new(Mutex::new(FeedState::default()));
    let end = FeedEnd { shared: Arc::clone(&shared), ring, room: Some(room) };
    Ok((end, LiveFeed { shared, bell, made_room, output: None, errors: None, is_unreadable: false }))
}

impl FeedEnd {
    /// Adds a log that a slow reader can read from.
    pub(crate) fn open(&self, channel: Channel, log: File) {
        lock(&self.shared).opened.push((channel, log));
    }

    /// Whether there is room for bytes that are in no log. If not, [`FeedEnd::room`] becomes readable once there is.
    pub(crate) fn has_room(&self) -> bool {
        let mut state = lock(&self.shared);
        state.is_full = !state.has_room();
        let has_room = !state.is_full;
        if !has_room {
            // Wake a reader that only looks at the state: it must start to read.
            self.ring(state);
        }
        has_room
    }

    /// Becomes readable once there is room again: [`FeedEnd::take_room`] is then due. There is none once the reader is gone.
    pub(crate) fn room(&self) -> Option<BorrowedFd<'_>> {
        self.room.as_ref().map(AsFd::as_fd)
    }

    /// Takes the report that there is room again; blocks if there is none.
    pub(crate) fn take_room(&mut self) {
        self.room.take_if(|room| !matches!(room.read(&mut [0]), Ok(1)));
    }

    /// Passes bytes on; `logged` is their position in their channel's log.
    pub(crate) fn push(&mut self, channel: Channel, bytes: &[u8], logged: Option<u64>) {
        let mut state = lock(&self.shared);
        if state.is_abandoned {
            return;
        }
        if channel == Channel::Output {
            state.output += bytes.len() as u64;
        }
        match logged.map(|start| start..start + bytes.len() as u64) {
            Some(range) if state.held >= HELD => state.push_logged(channel, range),
            _ => state.push_held(channel, bytes),
        }
        self.ring(state);
    }

    /// Records that another program cut a log to this length: later bytes can't be read anymore.
    pub(crate) fn cut(&mut self, channel: Channel, length: u64) {
        lock(&self.shared).cut(channel, length);
    }

    /// Wakes the reader though there is nothing to read.
    pub(crate) fn wake(&mut self) {
        self.ring(lock(&self.shared));
    }

    /// Passes a notice on.
    pub(crate) fn notice(&mut self, notice: RunNotice) {
        let mut state = lock(&self.shared);
        state.pieces.push_back(FeedPiece::Notice(notice));
        self.ring(state);
    }

    /// Marks the end.
    pub(crate) fn end(&mut self) {
        let mut state = lock(&self.shared);
        state.is_over = true;
        self.ring(state);
    }

    fn ring(&self, mut state: MutexGuard<'_, FeedState>) {
        if !state.is_rung && !state.is_abandoned {
            state.is_rung = true;
            // This fails only if the reader is gone.
            let _ = (&self.ring).write_all(b"\n");
        }
    }
}

impl Drop for FeedEnd {
    fn drop(&mut self) {
        self.end();
    }
}

impl FeedState {
    fn has_room(&self) -> bool {
        self.held < HELD || self.is_abandoned
    }

    fn push_held(&mut self, channel: Channel, bytes: &[u8]) {
        self.held += bytes.len();
        match self.pieces.back_mut() {
            Some(FeedPiece::Held(of, held, _)) if *of == channel && held.len() + bytes.len() <= PIECE => {
                held.extend_from_slice(bytes);
            }
            _ => {
                self.held += PIECE_COST;
                self.pieces.push_back(FeedPiece::Held(channel, bytes.to_vec(), 0));
            }
        }
    }

    fn cut(&mut self, channel: Channel, length: u64) {
        for piece in &mut self.pieces {
            match piece {
                FeedPiece::Logged(of, range) if *of == channel && range.start >= length => {
                    *piece = FeedPiece::Notice(RunNotice::Unreadable);
                }
                FeedPiece::Logged(of, range) if *of == channel => range.end = range.end.min(length),
                _ => {}
            }
        }
    }

    fn push_logged(&mut self, channel: Channel, range: Range<u64>) {
        let is_full = self.pieces.len() > PIECES;
        let looked = if is_full { 8 } else { 1 };
        for piece in self.pieces.iter_mut().rev().take(looked) {
            if let FeedPiece::Logged(of, before) = piece
                && *of == channel
                && before.end == range.start
            {
                before.end = range.end;
                return;
            }
        }
        self.pieces.push_back(FeedPiece::Logged(channel, range));
    }
}

impl LiveFeed {
    /// Becomes readable once [`LiveFeed::next`] has something to return.
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// Returns the state without reading anything. The bell stays silent until there is more.
    pub(crate) fn look(&mut self) -> io::Result<FeedView> {
        let mut state = lock(&self.shared);
        if std::mem::take(&mut state.is_rung) {
            self.bell.read_exact(&mut [0])?;
        }
        Ok(FeedView { output: state.output, is_over: state.is_over, is_full: state.is_full })
    }

    /// Returns the next step; bytes are copied to `buffer`, as many as fit.
    pub fn next(&mut self, buffer: &mut [u8]) -> io::Result<FeedStep> {
        loop {
            if let Some(step) = self.step(buffer)? {
                return Ok(step);
            }
        }
    }

    /// Returns the next step, if the next piece has one.
    fn step(&mut self, buffer: &mut [u8]) -> io::Result<Option<FeedStep>> {
        let mut state = lock(&self.shared);
        for (channel, log) in state.opened.drain(..) {
            match channel {
                Channel::Output => self.output = Some(log),
                Channel::Errors => self.errors = Some(log),
            }
        }
        let Some(piece) = state.pieces.front_mut() else {
            if state.is_over {
                return Ok(Some(FeedStep::Over));
            }
            if std::mem::take(&mut state.is_rung) {
                self.bell.read_exact(&mut [0])?;
            }
            return Ok(Some(FeedStep::Wait));
        };
        let (channel, range, is_done) = match piece {
            FeedPiece::Notice(_) => {
                let Some(FeedPiece::Notice(notice)) = state.pieces.pop_front() else {
                    return Ok(Some(FeedStep::Wait));
                };
                return Ok(Some(FeedStep::Notice(notice)));
            }
            FeedPiece::Held(channel, bytes, taken) => {
                let count = buffer.len().min(bytes.len() - *taken);
                buffer[..count].copy_from_slice(&bytes[*taken..*taken + count]);
                *taken += count;
                let (channel, is_done) = (*channel, *taken == bytes.len());
                state.held -= count;
                if is_done {
                    state.held -= PIECE_COST;
                    state.pieces.pop_front();
                }
                report_room(&self.made_room, &mut state);
                return Ok(Some(channel.step(count)));
            }
            FeedPiece::Logged(channel, range) => {
                let most = buffer.len() as u64;
                let taken = range.start..range.end.min(range.start + most);
                range.start = taken.end;
                (*channel, taken, range.is_empty())
            }
        };
        if is_done {
            state.pieces.pop_front();
        }
        // A disk may be slow, and the recorder must not wait for it.
        drop(state);
        let count = usize::try_from(range.end - range.start).unwrap_or(usize::MAX).min(buffer.len());
        let log = if channel == Channel::Output { &self.output } else { &self.errors };
        let read = log.as_ref().map(|log| log.read_exact_at(&mut buffer[..count], range.start));
        if matches!(read, Some(Ok(()))) {
            self.is_unreadable = false;
            return Ok(Some(channel.step(count)));
        }
        // Another program cut the log: these bytes can't be shown.
        let is_known = std::mem::replace(&mut self.is_unreadable, true);
        Ok((!is_known).then_some(FeedStep::Notice(RunNotice::Unreadable)))
    }
}

impl Drop for LiveFeed {
    fn drop(&mut self) {
        let mut state = lock(&self.shared);
        state.is_abandoned = true;
        state.pieces.clear();
        report_room(&self.made_room, &mut state);
    }
}

/// Wakes a recorder that waits for room, if there is some.
fn report_room(mut made_room: &PipeWriter, state: &mut FeedState) {
    if state.is_full && state.has_room() {
        state.is_full = false;
        // This fails only if the recorder is gone.
        let _ = made_room.write_all(b"\n");
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(feed: &mut LiveFeed) -> Vec<u8> {
        let (mut found, mut buffer) = (Vec::new(), [0; 1000]);
        loop {
            match feed.next(&mut buffer).unwrap() {
                FeedStep::Output(count) => found.extend_from_slice(&buffer[..count]),
                FeedStep::Over => return found,
                step => panic!("{step:?}"),
            }
        }
    }

    #[test]
    fn what_is_late_is_read_from_the_log_and_memory_stays_bounded() {
        let path =
            tempfile::NamedTempFile::with_prefix("streamfmt-feed-").unwrap().into_temp_path().keep().unwrap();
        let written: Vec<u8> = (0..5 * HELD).map(|at| (at % 251) as u8).collect();
        std::fs::write(&path, &written).unwrap();
        let (mut end, mut feed) = feed().unwrap();
        end.open(Channel::Output, File::open(&path).unwrap());
        let mut at = 0;
        for piece in written.chunks(3000) {
            end.push(Channel::Output, piece, Some(at));
            at += piece.len() as u64;
            let state = lock(&end.shared);
            assert!(state.held < HELD + 3000 + PIECE_COST && state.pieces.len() < HELD / 3000 + 3);
        }
        assert!(!end.has_room());
        end.end();
        assert!(all(&mut feed) == written);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn single_bytes_are_held_in_few_pieces() {
        let (mut end, mut feed) = feed().unwrap();
        for number in 0..3 * PIECE {
            end.push(Channel::Output, &[(number % 251) as u8], None);
        }
        assert_eq!(lock(&end.shared).pieces.len(), 3);
        end.end();
        assert!(all(&mut feed).iter().enumerate().all(|(at, byte)| usize::from(*byte) == at % 251));
    }

    #[test]
    fn outputs_that_alternate_byte_by_byte_take_bounded_memory() {
        let (mut end, mut feed) = feed().unwrap();
        let mut pushed = 0;
        while end.has_room() {
            let channel = if pushed % 2 == 0 { Channel::Output } else { Channel::Errors };
            end.push(channel, b"x", None);
            pushed += 1;
        }
        assert!(pushed <= HELD / PIECE_COST, "{pushed}");
        end.end();
        let steps = std::iter::from_fn(|| feed.next(&mut [0; 10]).ok());
        let taken = steps.take_while(|step| !matches!(step, FeedStep::Over)).count();
        assert_eq!((taken, lock(&end.shared).held), (pushed, 0));
    }

    #[test]
    fn a_log_that_can_t_be_read_is_reported_once() {
        let log = tempfile::tempfile().unwrap();
        let (mut end, mut feed) = feed().unwrap();
        end.open(Channel::Output, log);
        end.push(Channel::Output, &vec![b'm'; HELD], None);
        end.push(Channel::Output, &vec![b'o'; 1000], Some(0));
        end.end();
        let mut buffer = [0; 100];
        let steps = std::iter::from_fn(|| feed.next(&mut buffer).ok());
        let steps = steps.take_while(|step| !matches!(step, FeedStep::Over));
        assert_eq!(steps.filter(|step| matches!(step, FeedStep::Notice(RunNotice::Unreadable))).count(), 1);
    }

    #[test]
    fn what_was_cut_off_a_log_is_not_read_even_if_other_bytes_take_its_place() {
        let path = tempfile::NamedTempFile::with_prefix("streamfmt-feed-cut-")
            .unwrap()
            .into_temp_path()
            .keep()
            .unwrap();
        std::fs::write(&path, vec![b'o'; 100]).unwrap();
        let (mut end, mut feed) = feed().unwrap();
        end.open(Channel::Output, File::open(&path).unwrap());
        end.push(Channel::Output, &vec![b'm'; HELD], None);
        end.push(Channel::Output, &[b'o'; 100], Some(0));
        end.cut(Channel::Output, 60);
        let mut buffer = vec![0; HELD];
        assert!(matches!(feed.next(&mut buffer), Ok(FeedStep::Output(HELD))));
        assert!(matches!(feed.next(&mut buffer), Ok(FeedStep::Output(60))) && buffer[59] == b'o');
        end.push(Channel::Output, &vec![b'm'; HELD], None);
        end.push(Channel::Output, &[b'o'; 100], Some(60));
        end.cut(Channel::Output, 60);
        assert!(matches!(feed.next(&mut buffer), Ok(FeedStep::Output(HELD))));
        assert!(matches!(feed.next(&mut buffer), Ok(FeedStep::Notice(RunNotice::Unreadable))));
        std::fs::remove_file(path).unwrap();
    }
}
