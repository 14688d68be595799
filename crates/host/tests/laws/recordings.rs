//! Finds recorded sessions: those of this repository, and more if the checkout has them beside it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde_json::Value;

/// More recordings, if the checkout has them beside it.
const MORE: &[&str] = &["../shared/corpus/claude"];
/// Hostile files, if the checkout has them beside it.
const HOSTILE: &[&str] = &["../shared/hostile"];

/// A session in all its recorded forms.
#[derive(Default)]
pub(crate) struct Recording {
    /// Its path, for messages.
    pub(crate) name: String,
    /// The stream.
    pub(crate) stream: Option<Vec<u8>>,
    /// The stream with partial messages, maybe of another run.
    pub(crate) partial: Option<Vec<u8>>,
    /// The session file.
    pub(crate) history: Option<Vec<u8>>,
}

impl Recording {
    /// All forms, each with a name.
    pub(crate) fn forms(&self) -> impl Iterator<Item = (String, &[u8])> {
        let forms = [("stream", &self.stream), ("partial", &self.partial), ("history", &self.history)];
        forms
            .into_iter()
            .filter_map(|(form, bytes)| Some((format!("{} ({form})", self.name), bytes.as_deref()?)))
    }
}

/// All recorded sessions, in the order of their names.
pub(crate) fn recordings() -> Vec<Recording> {
    let samples = root().join("tests/samples");
    let mut found: Vec<Recording> = files(&samples)
        .into_iter()
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().matches('.').count() == 1))
        .filter(|path| is_lines(path))
        .map(|path| Recording {
            name: name(&path),
            partial: fs::read(path.with_extension("partial.jsonl")).ok(),
            history: fs::read(path.with_extension("history.jsonl")).ok(),
            stream: fs::read(path).ok(),
        })
        .collect();
    assert!(!found.is_empty(), "{} has no samples", samples.display());
    for more in MORE {
        for folder in folders(&root().join(more)) {
            let read = |form: &str| fs::read(folder.join(form).with_extension("jsonl")).ok();
            let recording = Recording {
                name: name(&folder),
                stream: read("stream"),
                partial: read("partial"),
                history: read("history"),
            };
            if recording.forms().next().is_some() {
                found.push(recording);
            }
        }
    }
    found
}

/// The samples and every `step`-th other recording, starting at `at`. Long ones are left out, since this is for laws that are tried in many
/// ways.
pub(crate) fn sample(at: usize, step: usize) -> Vec<(String, Vec<u8>)> {
    const LONG: usize = 64 << 10;
    static ALL: LazyLock<Vec<(String, Vec<u8>)>> = LazyLock::new(|| {
        let all = recordings();
        let forms = all.iter().flat_map(Recording::forms);
        forms.map(|(name, bytes)| (name, bytes.to_vec())).filter(|(_, bytes)| bytes.len() < LONG).collect()
    });
    let (samples, others): (Vec<_>, Vec<_>) = ALL.iter().partition(|(name, _)| name.starts_with("samples/"));
    let few = others.into_iter().skip(at % step).step_by(step);
    samples.into_iter().chain(few).cloned().collect()
}

/// Hostile files, with their names; none if the checkout has none beside it.
pub(crate) fn hostile() -> Vec<(String, Vec<u8>)> {
    let paths = HOSTILE.iter().flat_map(|folder| files(&root().join(folder)));
    paths
        .filter(|path| is_lines(path))
        .filter_map(|path| Some((name(&path), fs::read(&path).ok()?)))
        .collect()
}

/// The events of a file, each as one value. `None` if plain JSON readers can't read a line, for example because of half a surrogate pair:
/// then the file's content isn't known.
pub(crate) fn events(bytes: &[u8]) -> Option<Vec<Value>> {
    let mut events = Vec::new();
    for line in
        bytes.split(|&byte| byte == b'\n').filter(|line| line.starts_with(b"{") || line.starts_with(b"["))
    {
        match serde_json::from_slice(line).ok()? {
            Value::Array(several) => events.extend(several),
            one => events.push(one),
        }
    }
    Some(events)
}

/// The root folder of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn name(path: &Path) -> String {
    let parts: Vec<_> =
        path.components().rev().take(2).map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.into_iter().rev().collect::<Vec<_>>().join("/")
}

fn is_lines(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}

/// The entries of a folder, by name; none if the folder doesn't exist.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

/// All folders below a folder, by name.
pub(crate) fn folders(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        waiting.extend(files(&folder).into_iter().rev().filter(|path| path.is_dir()));
        found.push(folder);
    }
    found
}
