//! A painted run leaves the same terminal content as one without painting.

use std::fs;
use std::path::{Path, PathBuf};

use super::run::{PaintedRun, check_same, unpainted};
use crate::program::SESSION;

const WIDTHS: [usize; 3] = [40, 80, 140];

/// Only every eighth recording beside the repository is tried: all of them take a minute.
const STEP: usize = 8;

/// Recordings with partial messages: the repository's own, and more if the checkout has them beside it.
fn recordings() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = |path: PathBuf| {
        let entries = fs::read_dir(path).into_iter().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    };
    let corpus = folders(root.join("../shared/corpus/claude")).into_iter().flat_map(folders);
    let more = corpus.map(|path| path.join("partial.jsonl")).filter(|path| path.exists()).step_by(STEP);
    let samples = folders(root.join("tests/samples")).into_iter();
    samples.filter(|path| path.to_string_lossy().ends_with(".partial.jsonl")).chain(more).collect()
}

#[test]
fn recordings_leave_the_same_at_any_width() {
    let recordings = recordings();
    assert!(!recordings.is_empty());
    for recording in recordings {
        let input = fs::read_to_string(&recording).unwrap();
        for columns in WIDTHS {
            let unpainted = unpainted("", (columns, 24), &input);
            // Feed it at the rate of the frames, so that each step is painted.
            let mut run = PaintedRun::sized("--set live.rate=1000", (columns, 24));
            run.feed_slowly(&input);
            let ended = run.finish();
            eprintln!("{} at {columns}: frames of {} rows", recording.display(), ended.highest);
            check_same(&ended, &unpainted);
        }
    }
}

/// Input that arrives all at once needs no frame in between.
#[test]
fn what_comes_at_once_leaves_the_same() {
    let mut run = PaintedRun::sized("", (40, 10));
    run.feed(SESSION);
    check_same(&run.finish(), &unpainted("", (40, 10), SESSION));
}
