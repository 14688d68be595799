//! Who wrote a line in the user's role, as far as its fields tell.
//!
//! Newer versions have fields for that. Where they are missing, the author is determined from the text, see [`marker`](super::marker).

use streamfmt_core::item::Fact;
use streamfmt_core::json::{Value, ValueKind};

use super::line::{ClaudeLine, EnvelopeKey};

/// The fields of a line, or of an attachment, that name its author.
pub(super) const AUTHOR_FIELDS: [&str; 4] = ["origin", "promptSource", "rowSource", "hookText"];

/// The author of a line.
#[derive(Clone, Debug)]
pub(super) enum Author {
    /// A person.
    Person,
    /// Another agent, a hook, or the program.
    Other(Sender),
    /// The fields don't say.
    Unknown,
}

/// An author who isn't a person.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    /// The event of the notices for its texts.
    pub(super) event: &'static str,
    /// Its name.
    pub(super) from: Option<Fact>,
    /// The text without the frame that the program put around it.
    pub(super) body: Option<Fact>,
}

impl Author {
    /// Returns the author of a line.
    pub(super) fn of_line(line: &ClaudeLine<'_>) -> Self {
        use EnvelopeKey::{HookText, Origin, PromptSource, RowSource};
        Self::of([Origin, PromptSource, RowSource, HookText].map(|key| line.get(key)))
    }

    /// Determines the author from the values of [`AUTHOR_FIELDS`]. The origin decides if there is one.
    pub(super) fn of(fields: [Option<Value<'_>>; 4]) -> Self {
        let [origin, prompt, row, hook] = fields.map(|field| field.filter(|field| !field.is_null()));
        if let Some(author) = origin.and_then(of_origin) {
            return author;
        }
        let [prompt, row] = [prompt, row].map(|field| field.and_then(Value::decode));
        let has_hook_text = hook.is_some_and(|hook| hook.kind() != ValueKind::False);
        if has_hook_text || row.as_deref() == Some("hook") {
            return Self::other("hook", None);
        }
        // The value of `promptSource` is how a person entered the text, such as `typed` and `queued`, except for that of the program.
        match (prompt.as_deref(), row.as_deref()) {
            (Some("system"), _) | (None, Some("harness")) => Self::program(),
            (Some(_), _) => Self::Person,
            _ => Self::Unknown,
        }
    }

    /// The agent's program.
    pub(super) fn program() -> Self {
        Self::other("message", Some(Fact::Text("the agent's program".to_owned())))
    }

    /// A background task.
    pub(super) fn task() -> Self {
        Self::other("task", Some(Fact::Text("background task".to_owned())))
    }

    /// A person's command to the shell.
    pub(super) fn shell() -> Self {
        Self::other("shell-input", None)
    }

    fn other(event: &'static str, from: Option<Fact>) -> Self {
        Self::Other(Sender { event, from, body: None })
    }
}

/// Returns the author that an `origin` names; `None` if it names none.
fn of_origin(origin: Value<'_>) -> Option<Author> {
    let kind = origin.get("kind")?.decode()?;
    let fields = origin.get_all(["name", "from", "server", "body", "subkind"]);
    let filled = fields.map(|field| field.filter(|field| field.str().is_some_and(|text| !text.is_blank())));
    let [name, from, server, body, _] = filled.map(|field| field.map(|field| Fact::Node(field.node())));
    let sender = name.or(from);
    let (event, from) = match &*kind {
        "" | "unclassified" => return None,
        "human" => return Some(Author::Person),
        "channel" => ("channel", server.or(sender)),
        "peer" => ("agent", sender),
        "coordinator" => ("coordinator", sender),
        "observer" | "observer-activity" => ("observer", sender),
        "auto-continuation" => ("continuation", None),
        "task-notification" => match filled[4].and_then(Value::decode).as_deref() {
            None => return Some(Author::task()),
            Some("peer-send-message") => ("agent", sender),
            Some(kind) => ("message", Some(Fact::Text(format!("a {}", kind.replace('-', " "))))),
        },
        // A kind of a later version: people have only one.
        kind => ("message", sender.or_else(|| Some(Fact::Text(kind.replace('-', " "))))),
    };
    Some(Author::Other(Sender { event, from, body }))
}
