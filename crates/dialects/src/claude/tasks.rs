//! Counts the tasks that run in the background: an agent that has reported its result may still work on them.

use streamfmt_core::event::{Event, Facts};
use streamfmt_core::hash::hash;
use streamfmt_core::json::Value;

/// The most tasks that are counted.
const MAX_TASKS: usize = 1024;

/// The tasks that run in the background.
#[derive(Debug, Default)]
pub(super) struct BackgroundTasks {
    /// The hashes of their ids.
    running: Vec<u64>,
    /// Whether the program reports the list of all tasks, as later versions do. Then reports about single tasks are ignored.
    is_listed: bool,
}

impl BackgroundTasks {
    /// Updates the tasks from a `system` line, and emits their number if it changed.
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
                // Earlier versions don't always report the end of a command in the background.
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
