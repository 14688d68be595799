//! The head of a document.

use jiff::Timestamp;

use crate::text::Text;

/// The facts about a whole run, known once its input has ended, for a writer that puts a head before the document
/// ([`crate::writer::HeadWriter`]). Figures include items that a filter hides, except where noted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DocumentHead {
    /// The title of the document, one line: the title of the session ([`crate::event::Facts::title`]), else the first prompt shown, else the first heading of the last reply, else the folder.
    pub title: Option<String>,
    /// The model that answered last.
    pub model: Option<Text>,
    /// The working folder of the session, with `~` for the home folder: `~/shop`.
    pub folder: Option<Text>,
    /// The earliest time in the stream.
    pub begun: Option<Timestamp>,
    /// The latest time in the stream.
    pub ended: Option<Timestamp>,
    /// Prompts of the user.
    pub prompts: u64,
    /// Turns of the agent, the sum over all outcomes.
    pub turns: u64,
    /// The duration of the run in milliseconds, the sum over all outcomes; in a history, as stated at its end.
    pub duration_ms: Option<u64>,
    /// The total cost of the run, in US dollars.
    pub cost: Option<f64>,
    /// The number of calls shown.
    pub calls: u64,
    /// The number of results shown that failed.
    pub failed: u64,
}
