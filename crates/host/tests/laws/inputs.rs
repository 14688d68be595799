//! All inputs.

use std::fs;

use crate::recordings::{Recording, files, folders, hostile, recordings, root};

/// The inputs of the golden cases, with their names.
fn golden() -> Vec<(String, Vec<u8>)> {
    let folders = folders(&root().join("tests/golden"));
    let paths = folders.iter().flat_map(|folder| files(folder));
    let found: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "ndjson"))
        .filter_map(|path| Some((path.display().to_string(), fs::read(&path).ok()?)))
        .collect();
    assert!(!found.is_empty(), "there are no golden inputs");
    found
}

/// All inputs: recordings in all their forms, golden inputs, and hostile files.
pub(crate) fn inputs() -> Vec<(String, Vec<u8>)> {
    let recordings = recordings();
    let recorded = recordings.iter().flat_map(Recording::forms);
    recorded.map(|(name, bytes)| (name, bytes.to_vec())).chain(golden()).chain(hostile()).collect()
}
