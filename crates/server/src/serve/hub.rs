//! The pipelines that run: one for each session, profile and masking, dropped a while after their last reader.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::live::LiveSession;
use super::looks::SessionLook;
use super::sessions::{KnownSessions, ServedSession};
use crate::run_id::RunId;

/// How long a pipeline stays after its last reader.
const LINGER: Duration = Duration::from_secs(30);
/// Pipelines at a time.
const MOST: usize = 24;
/// How long is waited for one of them to become free.
const WAIT: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct PipelineKey {
    id: RunId,
    /// The file that it reads: another one is shown when the first is gone.
    log: PathBuf,
    hash: String,
}

struct KnownPipeline {
    live: Arc<LiveSession>,
    readers: Arc<AtomicUsize>,
    /// When the last reader went.
    left: Instant,
}

/// The pipelines by session and look.
pub(super) struct Hub {
    pub(super) sessions: Arc<KnownSessions>,
    known: Mutex<HashMap<PipelineKey, KnownPipeline>>,
    tell: fn(&str),
}

/// A session for as long as it is read.
pub(super) struct Reading {
    pub(super) live: Arc<LiveSession>,
    readers: Arc<AtomicUsize>,
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.readers.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Hub {
    pub(super) fn new(sessions: Arc<KnownSessions>, tell: fn(&str)) -> Self {
        Self { sessions, known: Mutex::default(), tell }
    }

    /// The pipeline of a session, which is begun if there is none. An error: there are too many, or no thread for it.
    pub(super) async fn open(&self, row: &ServedSession, look: SessionLook) -> io::Result<Reading> {
        let begun = Instant::now();
        loop {
            match self.try_open(row, &look) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && begun.elapsed() < WAIT => {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                opened => return opened,
            }
        }
    }

    fn try_open(&self, row: &ServedSession, look: &SessionLook) -> io::Result<Reading> {
        let key = PipelineKey { id: row.id.clone(), log: row.log.clone(), hash: look.hash.clone() };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // What couldn't be read may be readable now.
        known.retain(|at, pipeline| {
            let view = pipeline.live.view();
            *at != key || !view.has_problem() || !view.is_done
        });
        if let Some(pipeline) = known.get(&key) {
            pipeline.readers.fetch_add(1, Ordering::SeqCst);
            return Ok(Reading { live: Arc::clone(&pipeline.live), readers: Arc::clone(&pipeline.readers) });
        }
        if known.len() >= MOST {
            // That which nobody has read for longest is rebuilt from the log when it is needed.
            let idle = known.iter().filter(|(_, pipeline)| pipeline.readers.load(Ordering::SeqCst) == 0);
            let Some(oldest) = idle.min_by_key(|(_, pipeline)| pipeline.left).map(|(key, _)| key.clone())
            else {
                return Err(io::ErrorKind::WouldBlock.into());
            };
            known.remove(&oldest).into_iter().for_each(|pipeline| pipeline.live.stop());
        }
        let live = LiveSession::start(Arc::clone(&self.sessions), row, look.clone(), self.tell)?;
        let readers = Arc::new(AtomicUsize::new(1));
        let pipeline =
            KnownPipeline { live: Arc::clone(&live), readers: Arc::clone(&readers), left: Instant::now() };
        known.insert(key, pipeline);
        Ok(Reading { live, readers })
    }

    /// Drops those that nobody has read for a while.
    pub(super) fn sweep(&self) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, pipeline| {
            if pipeline.readers.load(Ordering::SeqCst) > 0 {
                pipeline.left = Instant::now();
            }
            let stays = pipeline.left.elapsed() < LINGER;
            if !stays {
                pipeline.live.stop();
            }
            stays
        });
    }

    /// Ends all of them.
    pub(super) fn stop(&self) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.drain().for_each(|(_, pipeline)| pipeline.live.stop());
    }
}
