//! The row of a run in the store, which is written on a separate thread, so that the run never waits for the database.

use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use streamfmt_server::RunId;
use streamfmt_server::store::{ReadSession, Store, StoreError};

use crate::sessions::print_notices;

/// How long the end of a run waits for its row. A row that isn't written by then is completed later.
const PATIENCE: Duration = Duration::from_millis(200);

/// The row of a run in progress.
pub(super) struct RunRow {
    /// Receives the run's session once it is over, if its stream was read.
    end: Sender<Option<ReadSession>>,
    written: Receiver<()>,
}

impl RunRow {
    /// Writes the row of a run that has started.
    pub(super) fn begin(data: PathBuf, id: RunId) -> Self {
        let (end, ended) = mpsc::channel::<Option<ReadSession>>();
        let (done, written) = mpsc::channel();
        // Without a thread, the row is written later.
        let _ = thread::Builder::new().name("store".to_owned()).spawn(move || {
            // Failures are of no concern to the run: the log and the side file are the truth.
            let mut store = Store::open(&data);
            let mut write = |read: Option<&ReadSession>, is_end: bool| -> Result<(), StoreError> {
                if store.is_err() {
                    store = Store::open(&data);
                }
                let Ok(store) = &mut store else { return Ok(()) };
                let written = store.mended(|store| store.record(&id, read));
                if is_end && written.is_ok() {
                    store.mended(Store::catch_up)?;
                }
                print_notices(store);
                written
            };
            let _ = write(None, false);
            if let Ok(read) = ended.recv() {
                let _ = write(read.as_ref(), true);
            }
            // Closing the connection removes the files beside the database.
            drop(store);
            let _ = done.send(());
        });
        Self { end, written }
    }

    /// Completes the row of a run that is over, with what its stream says. Waits for this for at most [`PATIENCE`].
    pub(super) fn finish(self, read: Option<ReadSession>) {
        if self.end.send(read).is_ok() {
            let _ = self.written.recv_timeout(PATIENCE);
        }
    }
}
