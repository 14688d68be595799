//! Sub-agents in a history file: finds the call that a sidechain's line is inside.
//!
//! Live lines name their call. History lines don't: versions 1.0 write a sub-agent's lines to
//! the main file and mark them as a sidechain, without naming its call. The sidechain's first line repeats the
//! call's prompt; the others are linked to it by `parentUuid`.

use std::borrow::Cow;

use streamfmt_core::bounded::Bounded;
use streamfmt_core::budget::Budget;
use streamfmt_core::dialect::{Beginning, SideFiles};
use streamfmt_core::hash::hash;
use streamfmt_core::item::{Action, Id};
use streamfmt_core::json::{Str, Value};

use super::line::{ClaudeLine, EnvelopeKey};

/// How the files of sub-agents are found: newer versions write one for each.
pub(crate) const SIDE_FILES: SideFiles = SideFiles {
    folders: &["*/subagents", "sidechains", "."],
    is_in_session_folder: false,
    agent: |name| {
        let id = name.strip_prefix("agent-")?.strip_suffix(".jsonl")?;
        // The agents that compact the conversation have no call.
        (!id.is_empty() && !id.starts_with("acompact-")).then_some(id)
    },
    is_named_alike: false,
    meta: "meta.json",
    call: |meta| meta.get("toolUseId")?.decode().map(Cow::into_owned),
    beginning: |line| {
        let message = line.get("message").filter(|message| message.get("content").is_some())?;
        let prompt = prompt(message).filter(|prompt| prompt != WARM_UP);
        Some(Beginning { session: session(line), prompt: prompt.map(Cow::into_owned) })
    },
    session: |item| session(item.record.as_ref()?.root()),
};

/// The first message of the idle agents that some versions start with each session.
const WARM_UP: &str = "Warmup";

fn session(line: Value<'_>) -> Option<String> {
    line.get("sessionId")?.decode().map(Cow::into_owned)
}

/// Returns the first text of a message.
fn prompt(message: Value<'_>) -> Option<Cow<'_, str>> {
    let content = message.get("content")?;
    content.decode().or_else(|| content.items().next()?.get("text")?.decode())
}

fn is_warm_up(line: &ClaudeLine<'_>) -> bool {
    line.get(EnvelopeKey::Message).and_then(prompt).is_some_and(|prompt| prompt == WARM_UP)
}

/// The sidechains of a history file.
pub(super) struct Sidechains {
    /// The most sidechain lines, and the most prompts, that are remembered.
    most: usize,
    /// Hash of a line's uuid or of an agent's id → its call.
    calls: Bounded<u64, Id>,
    /// Hash of the prompt of a call that may start a sub-agent → the call.
    prompts: Bounded<u64, Id>,
    /// Whether this is a sub-agent's file, so that its lines are the main thread. `None` until the first message. An idle agent's file has
    /// no main thread: nobody asked it anything.
    alone: Option<bool>,
}

impl Sidechains {
    /// Remembers as many lines as the budget allows.
    pub(super) fn new(budget: Budget) -> Self {
        Self { most: budget.lines, calls: Bounded::default(), prompts: Bounded::default(), alone: None }
    }

    /// Remembers a call that may start a sub-agent.
    pub(super) fn add_call(&mut self, id: &Id, action: Action, input: Value<'_>) {
        if action != Action::Delegate {
            return;
        }
        if let Some(prompt) = input.get("prompt").and_then(Value::decode) {
            self.prompts.add(hash(prompt.trim()), id.clone(), self.most);
        }
    }

    /// Records that a line of the main thread came. If it is the first message, this isn't a sub-agent's file.
    pub(super) fn note_main_thread(&mut self) {
        self.alone.get_or_insert(false);
    }

    /// Returns the call that a sidechain's line is inside, or `None` in a sub-agent's file.
    pub(super) fn parent(&mut self, line: &ClaudeLine<'_>) -> Option<Id> {
        if *self.alone.get_or_insert_with(|| !is_warm_up(line)) {
            return None;
        }
        let by = |key: Option<Str<'_>>| self.calls.get(&hash(key?.raw())).cloned();
        let parent = by(line.str(EnvelopeKey::Agent))
            .or_else(|| by(line.str(EnvelopeKey::ParentUuid)))
            .or_else(|| self.by_prompt(line));
        let parent = parent.unwrap_or_else(|| {
            let agent = line.str(EnvelopeKey::Agent).map(Str::decode).unwrap_or_default();
            if agent.is_empty() { Id::from("sidechain") } else { format!("agent-{agent}").into() }
        });
        for key in [line.str(EnvelopeKey::Uuid), line.str(EnvelopeKey::Agent)].into_iter().flatten() {
            self.calls.add(hash(key.raw()), parent.clone(), self.most);
        }
        Some(parent)
    }

    fn by_prompt(&self, line: &ClaudeLine<'_>) -> Option<Id> {
        let prompt = prompt(line.get(EnvelopeKey::Message)?)?;
        self.prompts.get(&hash(prompt.trim())).cloned()
    }
}
