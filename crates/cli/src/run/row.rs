//! The row of a run in the store, which is written on a separate thread, so that the run never waits for the database.

use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use streamfmt_server::RunId;
use streamfmt_server::store::{SessionFigures, Store, StoreError};

use crate::sessions::print_notices;

/// How long the end of a run waits for its row. A row that isn't written by then is completed later.
const PATIENCE: Duration = Duration::from_millis(200);

/// The row of a run in progress.
pub(super) struct RunRow {
    /// Receives the run's figures once it is over.
    end: Sender<Option<SessionFigures>>,
    written: Receiver<()>,
}

impl RunRow {
    /// Writes the row of a run that has started.
    pub(super) fn begin(data: PathBuf, id: RunId) -> Self {
        let (end, ended) = mpsc::channel::<Option<SessionFigures>>();
        let (done, written) = mpsc::channel();
        // Without a thread, the row is written later.
        let _ = thread::Builder::new().name("store".to_owned()).spawn(move || {
            // Failures are of no concern to the run: the log and the side file are the truth.
            let mut store = Store::open(&data);
            let mut write = |figures: Option<&SessionFigures>, is_end: bool| -> Result<(), StoreError> {
                if store.is_err() {
                    store = Store::open(&data);
                }
                let Ok(store) = &mut store else { return Ok(()) };
                let written = store.mended(|store| store.record(&id, figures));
                if is_end && written.is_ok() {
                    store.mended(Store::catch_up)?;
                }
                print_notices(store);
                written
            };
            let _ = write(None, false);
            if let Ok(figures) = ended.recv() {
                let _ = write(figures.as_ref(), true);
            }
            // Closing the connection removes the files beside the database.
            drop(store);
            let _ = done.send(());
        });
        Self { end, written }
    }

    /// Completes the row of a run that is over, with its figures. Waits for this for at most [`PATIENCE`].
    pub(super) fn finish(self, figures: Option<SessionFigures>) {
        if self.end.send(figures).is_ok() {
            let _ = self.written.recv_timeout(PATIENCE);
        }
    }
}
