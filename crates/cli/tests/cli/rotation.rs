//! How logs are rotated and truncated while they are written: the table that the tests of `--follow` and `serve` share.

use std::fs;

use crate::program::{Folder, reply};

/// How often a log is rotated, and how many events are written before each rotation.
pub(crate) const ROUNDS: usize = 20;
const EACH: usize = 50;

/// All kinds.
pub(crate) const ROTATIONS: [Rotation; 6] = [
    Rotation::Renamed,
    Rotation::Deleted,
    Rotation::Replaced,
    Rotation::Cut,
    Rotation::WrittenAnew,
    Rotation::Switched,
];

/// A way to rotate a log.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rotation {
    /// It is renamed, and a new file takes its name.
    Renamed,
    /// It is deleted, and a new file takes its name, maybe with the same inode number.
    Deleted,
    /// The same, but the new file replaces it atomically.
    Replaced,
    /// It is truncated in place.
    Cut,
    /// It is copied, truncated in place, and at once as long as before.
    WrittenAnew,
    /// A symbolic link is switched to another file.
    Switched,
}

impl Rotation {
    /// Whether lines may be missing, which is reported.
    pub(crate) fn is_noted(self) -> bool {
        matches!(self, Self::Cut | Self::WrittenAnew)
    }
}

/// A log `run.jsonl` that is written and rotated.
pub(crate) struct RotatedLog<'a> {
    folder: &'a Folder,
    rotation: Rotation,
}

impl<'a> RotatedLog<'a> {
    /// An empty one.
    pub(crate) fn new(folder: &'a Folder, rotation: Rotation) -> Self {
        let log = Self { folder, rotation };
        folder.write(&log.name(0), "");
        if let Rotation::Switched = rotation {
            log.switch(0);
        }
        log
    }

    /// The numbers of the replies written.
    pub(crate) fn numbers() -> Vec<usize> {
        (0..ROUNDS * EACH).map(|number| 10_000 + number).collect()
    }

    fn name(&self, round: usize) -> String {
        match self.rotation {
            Rotation::Switched => format!("run-{round}.jsonl"),
            _ => "run.jsonl".to_owned(),
        }
    }

    fn switch(&self, round: usize) {
        std::os::unix::fs::symlink(self.name(round), self.folder.path("next")).unwrap();
        fs::rename(self.folder.path("next"), self.folder.path("run.jsonl")).unwrap();
    }

    /// Writes all events. `until_shown` waits until a text is shown.
    pub(crate) fn write(&self, mut until_shown: impl FnMut(&str)) {
        let folder = self.folder;
        let event = |number: usize| reply(10_000 + number);
        for round in 0..ROUNDS {
            let first = round * EACH;
            folder.append(&self.name(round), &event(first));
            until_shown(&format!("reply number {}.", 10_000 + first));
            // The others may still be unread when the file is rotated, unless that would lose them.
            for number in first + 1..first + EACH {
                folder.append(&self.name(round), &event(number));
            }
            let last = format!("reply number {}.", 10_000 + first + EACH - 1);
            match self.rotation {
                Rotation::Renamed => {
                    fs::rename(folder.path("run.jsonl"), folder.path(&format!("run.{round}"))).unwrap();
                    folder.write("run.jsonl", "");
                    until_shown(&last);
                }
                Rotation::Switched => {
                    folder.write(&self.name(round + 1), "");
                    self.switch(round + 1);
                    until_shown(&last);
                }
                Rotation::Replaced => {
                    until_shown(&last);
                    folder.replace("run.jsonl", "");
                }
                Rotation::Deleted => {
                    until_shown(&last);
                    fs::remove_file(folder.path("run.jsonl")).unwrap();
                }
                Rotation::Cut => {
                    until_shown(&last);
                    folder.write("run.jsonl", "");
                }
                Rotation::WrittenAnew => {
                    until_shown(&last);
                    fs::copy(folder.path("run.jsonl"), folder.path(&format!("run.{round}"))).unwrap();
                    let next: String = (first + EACH..first + EACH + EACH / 2).map(event).collect();
                    let file = fs::OpenOptions::new().write(true).open(folder.path("run.jsonl")).unwrap();
                    file.set_len(0).unwrap();
                    // The lines of the next round are longer then, and already shown.
                    folder.append("run.jsonl", &next);
                }
            }
        }
    }
}
