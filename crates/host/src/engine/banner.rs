//! Shows, before anything else, how a project changes the presentation of its own runs.
//!
//! People judge an agent by the output. A trusted project may hide and rename items, but not silently.

use streamfmt_core::entry::{Block, Line};
use streamfmt_core::formatter::{FormatError, Formatter, Observation, StreamFormatter, Verdict};
use streamfmt_core::item::Item;
use streamfmt_core::session::Session;
use streamfmt_core::text::Text;

use crate::problem::some_of;
use crate::settings::Project;

/// A formatter that shows one line at the beginning and passes all items on. An observer couldn't show the line.
pub(crate) struct Banner(String);

impl Banner {
    /// Creates the line about what `project` changes. `changes` must not be empty.
    pub(crate) fn new(project: Option<&Project>, changes: &[String]) -> Self {
        let file = project.map_or("the project", |project| project.file.as_str());
        let list = some_of(changes);
        Self(format!("{file} changes the output: {list} (--no-project leaves it out)"))
    }
}

impl Formatter for Banner {
    fn name(&self) -> &'static str {
        "project"
    }

    fn format(&self, _: &Item, _: &Session) -> Result<Verdict, FormatError> {
        Ok(Verdict::Pass)
    }

    fn stream(&self) -> Option<&dyn StreamFormatter> {
        Some(self)
    }
}

impl StreamFormatter for Banner {
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
