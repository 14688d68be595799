//! Which tasks run in the background: an agent that has reported its result may still work on them.

use streamfmt_core::event::{Event, Facts};
use streamfmt_core::hash::hash;
use streamfmt_core::json::Value;

/// Tasks that are remembered. Of more, the rest is not counted.
const MAX_TASKS: usize = 1024;

/// The tasks that run in the background, by the hash of their id.
#[derive(Debug, Default)]
pub(super) struct BackgroundTasks {
    running: Vec<u64>,
    /// Whether the program lists them, as later versions do: what it reports of a single one is not needed then.
    is_listed: bool,
}

impl BackgroundTasks {
    /// A line of a subtype that may start or end tasks.
    pub(super) fn note(&mut self, subtype: &str, value: Value<'_>, out: &mut Vec<Event>) {
        let before = self.running.len();
        match subtype {
            "background_tasks_changed" => {
                self.is_listed = true;
                self.running.clear();
                let tasks = value.get("tasks").into_iter().flat_map(Value::items);
                self.running.extend(tasks.filter_map(id).take(MAX_TASKS));
            }
            "task_started" if !self.is_listed => {
                // The end of a command in the background isn't always reported by earlier versions.
                let is_command =
                    value.get("task_type").and_then(Value::str).is_some_and(|it| it.is("local_bash"));
                let id = id(value).filter(|id| !is_command && !self.running.contains(id));
                self.running.extend(id.filter(|_| before < MAX_TASKS));
            }
            "task_notification" if !self.is_listed => {
                let ended = id(value);
                self.running.retain(|id| Some(*id) != ended);
            }
            _ => {}
        }
        if self.running.len() != before {
            let background_tasks = Some(self.running.len());
            out.push(Event::Facts(Box::new(Facts { background_tasks, ..Facts::default() })));
        }
    }
}

fn id(task: Value<'_>) -> Option<u64> {
    Some(hash(&*task.get("task_id")?.decode()?))
}
