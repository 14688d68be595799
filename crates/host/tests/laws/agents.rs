//! Recorded sessions of all agents: those of this repository, and more if the checkout has them beside it.
//!
//! A recording is a folder, `<agent>/<version>/<scenario>`. It has `stream.jsonl`, and further runs of the same session as
//! `stream-2.jsonl`; and the agent's own file, `session.jsonl`, `session.json` or `session.messages.json`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::recordings::{files, root};

/// The folders of recordings.
const FOLDERS: [&str; 2] = ["tests/samples", "../shared/corpus"];

/// One recorded session.
pub(crate) struct Scenario {
    /// The name of the agent's folder: for a protocol, the protocol and the agent that uses it.
    pub(crate) agent: String,
    pub(crate) version: String,
    pub(crate) name: String,
    /// Whether it is in this repository.
    pub(crate) is_sample: bool,
    /// Its files by name: those that an agent wrote or received.
    pub(crate) files: Vec<(String, Vec<u8>)>,
}

impl Scenario {
    fn read(is_sample: bool, folder: &Path) -> Option<Self> {
        let mut names = folder.iter().rev().map(|name| name.to_string_lossy().into_owned());
        let [name, version, agent] = [names.next()?, names.next()?, names.next()?];
        let is_recorded = |name: &str| {
            let is_known = ["stream", "session", "sent"].iter().any(|start| name.starts_with(start));
            is_known && [".jsonl", ".json"].iter().any(|end| name.ends_with(end))
        };
        let found = files(folder).into_iter().filter_map(|path| {
            let name = path.file_name()?.to_string_lossy().into_owned();
            is_recorded(&name).then(|| Some((name, fs::read(&path).ok()?)))?
        });
        let files: Vec<_> = found.collect();
        (!files.is_empty()).then_some(Self { agent, version, name, is_sample, files })
    }

    /// Its path, for messages.
    pub(crate) fn place(&self) -> String {
        [&*self.agent, &self.version, &self.name].join("/")
    }

    /// The file of this name.
    pub(crate) fn file(&self, name: &str) -> Option<&[u8]> {
        self.files.iter().find(|(file, _)| file == name).map(|(_, bytes)| &**bytes)
    }

    /// All runs, in order.
    pub(crate) fn streams(&self) -> impl Iterator<Item = &[u8]> {
        ["stream.jsonl", "stream-2.jsonl"].into_iter().filter_map(|name| self.file(name))
    }
}

/// The recordings of all agents except those that [`crate::recordings`] finds.
pub(crate) fn scenarios() -> &'static [Scenario] {
    static ALL: LazyLock<Vec<Scenario>> = LazyLock::new(|| {
        let inside = |folder: PathBuf| files(&folder).into_iter().filter(|path| path.is_dir());
        let mut all = Vec::new();
        for (place, folder) in FOLDERS.iter().enumerate() {
            let agents = inside(root().join(folder)).filter(|agent| !agent.ends_with("claude"));
            let scenarios = agents.flat_map(inside).flat_map(inside);
            all.extend(scenarios.filter_map(|folder| Scenario::read(place == 0, &folder)));
        }
        assert!(all.iter().any(|scenario| scenario.is_sample), "there are no samples");
        all
    });
    &ALL
}

/// The files of all samples and every `step`-th other file, with their names.
pub(crate) fn sample(step: usize) -> impl Iterator<Item = (String, &'static [u8])> {
    let of = |is_sample: bool| {
        let scenarios = scenarios().iter().filter(move |scenario| scenario.is_sample == is_sample);
        let files = scenarios.flat_map(|scenario| scenario.files.iter().map(move |file| (scenario, file)));
        files.map(|(scenario, (name, bytes))| (format!("{}/{name}", scenario.place()), &**bytes))
    };
    of(true).chain(of(false).step_by(step))
}
