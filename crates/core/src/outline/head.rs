//! What heads the document of a run.

use jiff::Timestamp;

use crate::text::Text;

/// What is known of a run as a whole once its input has ended, for a writer that heads a document with it
/// ([`crate::writer::HeadWriter`]). Figures are of all items, also of those that a filter hides, unless it
/// says that they are of what is shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DocumentHead {
    /// What the document is called, in a line: the first prompt that is shown, else the first heading of the last reply, else the folder.
    pub title: Option<String>,
    /// The model that answered last.
    pub model: Option<Text>,
    /// The folder that the session works in, as people read it: `~/shop`.
    pub folder: Option<Text>,
    /// The first moment that the stream gives.
    pub begun: Option<Timestamp>,
    /// The last one.
    pub ended: Option<Timestamp>,
    /// Prompts of the user.
    pub prompts: u64,
    /// Turns of the agent, all outcomes taken together.
    pub turns: u64,
    /// How long the run took by its outcomes, all taken together, in milliseconds. A history has none.
    pub duration_ms: Option<u64>,
    /// What the run cost in all, in dollars.
    pub cost: Option<f64>,
    /// Calls that are shown.
    pub calls: u64,
    /// Results of them that are shown and failed.
    pub failed: u64,
}
