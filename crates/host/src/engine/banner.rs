//! Says, before anything else, what a project changes in how its own runs are told.
//!
//! What is shown is what a person judges an agent by. A project that the user trusts may hide and rename, but not
//! quietly.

use streamfmt_core::entry::{Block, Line};
use streamfmt_core::formatter::{FormatError, Formatter, Observation, Verdict};
use streamfmt_core::item::Item;
use streamfmt_core::session::Session;
use streamfmt_core::text::Text;

use crate::settings::Project;

/// Names in the line; further ones are counted.
const TOLD: usize = 6;

/// A formatter that says one line at the beginning and leaves all items to the next.
pub(crate) struct Banner(String);

impl Banner {
    /// A line about what `project` changes; `changes` is not empty.
    pub(crate) fn new(project: Option<&Project>, changes: &[String]) -> Self {
        let file = project.map_or("the project", |project| project.file.as_str());
        let shown = &changes[..changes.len().min(TOLD)];
        let more = changes.len() - shown.len();
        let and_more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let list = shown.join(", ");
        Self(format!("{file} changes the output: {list}{and_more} (--no-project leaves it out)"))
    }
}

impl Formatter for Banner {
    fn name(&self) -> &'static str {
        "project"
    }

    fn format(&self, _: &Item, _: &Session) -> Result<Verdict, FormatError> {
        Ok(Verdict::Pass)
    }

    fn observe(&self, moment: Observation<'_>, _: &Session) -> Vec<Block> {
        match moment {
            Observation::Begin => {
                let text = Text::clean_owned(self.0.replace('\n', "␊"));
                vec![Block::Lines { lines: vec![Line::of("notice.warning", text)] }]
            }
            _ => Vec::new(),
        }
    }
}
