//! How logs are rotated and truncated while they are written: the table that `--follow` and `serve` both go through.

use std::fs;

use crate::program::{Folder, reply};

/// How often a log is rotated, and how many events are written before each rotation.
pub(crate) const ROUNDS: usize = 20;
const EACH: usize = 50;

/// All ways.
pub(crate) const ROTATIONS: [Rotation; 6] = [
    Rotation::Renamed,
    Rotation::Deleted,
    Rotation::Replaced,
    Rotation::Cut,
    Rotation::WrittenAnew,
    Rotation::Switched,
];

/// How a log is taken out of its writer's way.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rotation {
    /// It gets another name, and a new one takes its own.
    Renamed,
    /// It is deleted, and a new one takes its name: maybe with its number.
    Deleted,
    /// The same, but the new one takes its place at once.
    Replaced,
    /// It is cut where it lies.
    Cut,
    /// It is copied, cut where it lies, and at once as long again as before.
    WrittenAnew,
    /// A link is made to lead to another.
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

    /// The numbers of the replies that are written.
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

    /// Writes all events. `until_shown` waits for a text.
    pub(crate) fn write(&self, mut until_shown: impl FnMut(&str)) {
        let folder = self.folder;
        let event = |number: usize| reply(10_000 + number);
        for round in 0..ROUNDS {
            let first = round * EACH;
            folder.append(&self.name(round), &event(first));
            until_shown(&format!("reply number {}.", 10_000 + first));
            // The others may still be there to be read when the file is taken away, but where that would lose them.
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
                    // The lines of the round to come are then longer, and shown already.
                    folder.append("run.jsonl", &next);
                }
            }
        }
    }
}
