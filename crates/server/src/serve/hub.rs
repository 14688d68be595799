//! The running pipelines: one for each session, profile and masking, dropped some time after their last reader.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::live::LiveSession;
use super::profiles::LoadedProfile;
use super::sessions::KnownSessions;
use crate::store::SessionRecord;

/// The most pipelines at a time that are read for one answer each.
const SINGLE: usize = 2;

/// Limits on the number and lifetime of pipelines.
#[derive(Clone, Copy, Debug)]
pub(super) struct HubLimits {
    /// How long a pipeline is kept after its last reader.
    pub(super) linger: Duration,
    /// The most pipelines at a time.
    pub(super) most: usize,
    /// How long a reader waits for a free one.
    pub(super) wait: Duration,
}

impl Default for HubLimits {
    fn default() -> Self {
        Self { linger: Duration::from_secs(30), most: 24, wait: Duration::from_secs(10) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct PipelineKey {
    id: String,
    /// The file that it reads. It changes if that file is gone.
    log: PathBuf,
    hash: String,
}

struct KnownPipeline {
    live: Arc<LiveSession>,
    readers: Arc<Mutex<ReaderCount>>,
}

impl KnownPipeline {
    fn readers(&self) -> ReaderCount {
        *lock(&self.readers)
    }
}

/// The readers of a pipeline.
#[derive(Clone, Copy, Debug)]
struct ReaderCount {
    now: usize,
    /// When the last one left.
    left: Instant,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The pipelines by session and look.
pub(super) struct Hub {
    pub(super) sessions: Arc<KnownSessions>,
    known: Mutex<HashMap<PipelineKey, KnownPipeline>>,
    limits: HubLimits,
    /// Rings when a reader leaves.
    left: Arc<Notify>,
    /// Limits those that are read for one answer.
    single: Arc<Semaphore>,
    report: fn(&str),
}

/// A reader's share of a pipeline, which is kept while this lives.
pub(super) struct Subscription {
    pub(super) live: Arc<LiveSession>,
    readers: Arc<Mutex<ReaderCount>>,
    rings: Arc<Notify>,
    /// The place of a pipeline that ends with this reader.
    single: Option<OwnedSemaphorePermit>,
}

impl Subscription {
    /// Whether the pipeline ends with this reader: what it shows doesn't grow.
    pub(super) fn is_single(&self) -> bool {
        self.single.is_some()
    }

    fn of(pipeline: &KnownPipeline, rings: &Arc<Notify>) -> Self {
        lock(&pipeline.readers).now += 1;
        Self {
            live: Arc::clone(&pipeline.live),
            readers: Arc::clone(&pipeline.readers),
            rings: Arc::clone(rings),
            single: None,
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if self.is_single() {
            self.live.stop();
        }
        let mut readers = lock(&self.readers);
        readers.now -= 1;
        readers.left = Instant::now();
        drop(readers);
        self.rings.notify_waiters();
    }
}

impl Hub {
    pub(super) fn new(sessions: Arc<KnownSessions>, limits: HubLimits, report: fn(&str)) -> Self {
        let single = Arc::new(Semaphore::new(SINGLE));
        Self { sessions, known: Mutex::default(), limits, left: Arc::default(), single, report }
    }

    /// Returns the pipeline of a session, and starts it if needed. Fails if there are too many, or if no thread can be started.
    pub(super) async fn open(&self, row: &SessionRecord, profile: LoadedProfile) -> io::Result<Subscription> {
        let begun = Instant::now();
        loop {
            let left = self.left.notified();
            let opened = self.try_open(row, &profile);
            let is_full = opened.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
            let rest = self.limits.wait.saturating_sub(begun.elapsed());
            if !is_full || tokio::time::timeout(rest, left).await.is_err() {
                return opened;
            }
        }
    }

    /// Like [`Self::open`], for one answer. If there are too many pipelines, this one is read for that answer alone.
    pub(super) async fn open_once(
        &self,
        row: &SessionRecord,
        profile: LoadedProfile,
    ) -> io::Result<Subscription> {
        match self.try_open(row, &profile) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            opened => return opened,
        }
        let place = tokio::time::timeout(self.limits.wait, Arc::clone(&self.single).acquire_owned()).await;
        let Ok(Ok(place)) = place else { return Err(io::ErrorKind::WouldBlock.into()) };
        let live = LiveSession::start(Arc::clone(&self.sessions), row, profile, self.report)?;
        let readers = Arc::new(Mutex::new(ReaderCount { now: 0, left: Instant::now() }));
        let mut reading = Subscription::of(&KnownPipeline { live, readers }, &self.left);
        reading.single = Some(place);
        Ok(reading)
    }

    fn try_open(&self, row: &SessionRecord, profile: &LoadedProfile) -> io::Result<Subscription> {
        let key =
            PipelineKey { id: row.run.id.clone(), log: row.source.path.clone(), hash: profile.hash.clone() };
        let mut known = lock(&self.known);
        if let Some(pipeline) = known.get(&key) {
            let state = pipeline.live.state();
            if !(state.has_problem && state.is_done) {
                return Ok(Subscription::of(pipeline, &self.left));
            }
            // Its log may be readable now.
            known.remove(&key);
        }
        if known.len() >= self.limits.most {
            // Drop the one that has had no reader for longest; it can be rebuilt from the log.
            let readers = known.iter().map(|(key, pipeline)| (pipeline.readers(), key));
            let idle = readers.filter(|(readers, _)| readers.now == 0);
            let Some(oldest) = idle.min_by_key(|(readers, _)| readers.left).map(|(_, key)| key.clone())
            else {
                return Err(io::ErrorKind::WouldBlock.into());
            };
            known.remove(&oldest).into_iter().for_each(|pipeline| pipeline.live.stop());
        }
        let live = LiveSession::start(Arc::clone(&self.sessions), row, profile.clone(), self.report)?;
        let readers = Arc::new(Mutex::new(ReaderCount { now: 0, left: Instant::now() }));
        let pipeline = KnownPipeline { live, readers };
        let reading = Subscription::of(&pipeline, &self.left);
        known.insert(key, pipeline);
        Ok(reading)
    }

    /// Drops those that by `now` have had no reader for some time.
    pub(super) fn sweep(&self, now: Instant) {
        let mut known = lock(&self.known);
        known.retain(|_, pipeline| {
            let readers = pipeline.readers();
            let stays = readers.now > 0 || now.saturating_duration_since(readers.left) < self.limits.linger;
            if !stays {
                pipeline.live.stop();
            }
            stays
        });
    }

    /// Ends all of them.
    pub(super) fn stop(&self) {
        let mut known = lock(&self.known);
        known.drain().for_each(|(_, pipeline)| pipeline.live.stop());
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use streamfmt::Folders;

    use super::*;
    use crate::run_id::RunId;
    use crate::serve::profiles::{KnownProfiles, USUAL};
    use crate::session_paths::SessionPaths;

    const EVENT: &str =
        r#"{"type":"result","subtype":"success","is_error":false,"session_id":"s","result":"Over."}"#;

    /// Sessions of runs that have ended, one for each number.
    fn sessions(folder: &std::path::Path, numbers: std::ops::Range<usize>) -> Vec<RunId> {
        fs::create_dir_all(folder.join("sessions")).unwrap();
        let ids = numbers.map(|number| {
            let id = format!("20261123-22410{number}-k3x9qa");
            let log = folder.join(format!("sessions/{id}.ndjson"));
            fs::write(&log, format!("{EVENT}\n")).unwrap();
            let side_file = serde_json::json!({
                "v": 1, "id": id, "status": "done", "command": ["agent"], "folder": "/", "log": log,
                "started": "2026-11-23T22:41:03Z", "ended": "2026-11-23T22:41:04Z", "recorder": {"pid": 1},
            });
            fs::write(folder.join(format!("sessions/{id}.json")), side_file.to_string()).unwrap();
            id.parse().unwrap()
        });
        ids.collect()
    }

    fn hub(folder: &std::path::Path, limits: HubLimits) -> Hub {
        let paths = SessionPaths { folder: folder.join("sessions") };
        Hub::new(Arc::new(KnownSessions::new(paths, |_| ())), limits, |_| ())
    }

    async fn open(hub: &Hub, id: &RunId) -> io::Result<Subscription> {
        let profile = KnownProfiles::new(Folders::default()).find(USUAL, false).unwrap().unwrap();
        let reading = hub.open(&hub.sessions.find(id.as_str()).unwrap(), profile).await?;
        reading.live.caught_up(Duration::from_secs(20)).await;
        Ok(reading)
    }

    fn run<T>(test: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
    }

    #[test]
    fn a_pipeline_is_shared_and_is_dropped_some_time_after_its_last_reader() {
        let folder = tempfile::tempdir().unwrap();
        let ids = sessions(folder.path(), 1..2);
        let limits = HubLimits::default();
        let hub = hub(folder.path(), limits);
        run(async {
            let first = open(&hub, &ids[0]).await.unwrap();
            let second = open(&hub, &ids[0]).await.unwrap();
            assert!(Arc::ptr_eq(&first.live, &second.live));
            drop(first);
            hub.sweep(Instant::now() + limits.linger * 2);
            assert_eq!(lock(&hub.known).len(), 1, "one reads it still");
            let before = Instant::now();
            drop(second);
            hub.sweep(before + limits.linger);
            assert_eq!(lock(&hub.known).len(), 1, "the last one went just now");
            let live = Arc::downgrade(&lock(&hub.known).values().next().unwrap().live);
            hub.sweep(Instant::now() + limits.linger);
            assert_eq!(lock(&hub.known).len(), 0);
            // Its thread has ended as well.
            let end = Instant::now() + Duration::from_secs(20);
            while live.upgrade().is_some() {
                assert!(Instant::now() < end, "it is still there");
                tokio::task::yield_now().await;
            }
        });
    }

    #[test]
    fn pipelines_are_bounded_and_others_wait_or_are_built_anew() {
        let folder = tempfile::tempdir().unwrap();
        let ids = sessions(folder.path(), 1..4);
        let limits = HubLimits { most: 2, wait: Duration::ZERO, ..HubLimits::default() };
        let mut hub = hub(folder.path(), limits);
        run(async {
            let first = open(&hub, &ids[0]).await.unwrap();
            let second = open(&hub, &ids[1]).await.unwrap();
            let refused = open(&hub, &ids[2]).await.err().unwrap();
            assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
            hub.limits.wait = Duration::from_secs(60);
            // A waiting reader gets the slot of a pipeline without readers.
            let (third, ()) = tokio::join!(open(&hub, &ids[2]), async { drop(first) });
            let third = third.unwrap();
            assert_eq!(lock(&hub.known).len(), 2);
            drop((second, third));
            let again = open(&hub, &ids[0]).await.unwrap();
            assert!(again.live.view().response.as_ref().unwrap().contains("Over."));
        });
    }
}
