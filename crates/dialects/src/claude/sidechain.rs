//! Sub-agents in a history file: which call a sidechain's line is inside of.
//!
//! Live lines name their call. History lines don't: versions 1.0 write a sub-agent's lines into
//! the main file and mark them, without saying whose they are. Its first line repeats the call's
//! prompt, the others hang on it by `parentUuid`.

use std::borrow::Cow;

use streamfmt_core::budget::Budget;
use streamfmt_core::dialect::{Beginning, SideFiles};
use streamfmt_core::hash::hash;
use streamfmt_core::item::{Action, Id};
use streamfmt_core::json::{Str, Value};
use streamfmt_core::session::Map;

use super::line::{ClaudeLine, EnvelopeKey};

/// Newer versions write a file for each sub-agent.
pub(crate) const SIDE_FILES: SideFiles = SideFiles {
    folders: &["*/subagents", "sidechains", "."],
    agent: |name| {
        let id = name.strip_prefix("agent-")?.strip_suffix(".jsonl")?;
        // The helpers of compaction belong to nobody.
        (!id.is_empty() && !id.starts_with("acompact-")).then_some(id)
    },
    is_named_alike: false,
    meta: "meta.json",
    call: |meta| meta.get("toolUseId")?.decode().map(Cow::into_owned),
    beginning: |line| {
        let prompt = prompt(line.get("message")?).filter(|prompt| prompt != WARM_UP);
        Some(Beginning { session: session(line), prompt: prompt.map(Cow::into_owned) })
    },
    session: |item| session(item.record.as_ref()?.root()),
};

/// First message of the helpers that some versions start beside each session: they say nothing.
const WARM_UP: &str = "Warmup";

fn session(line: Value<'_>) -> Option<String> {
    line.get("sessionId")?.decode().map(Cow::into_owned)
}

/// What a message begins with.
fn prompt(message: Value<'_>) -> Option<Cow<'_, str>> {
    let content = message.get("content")?;
    content.decode().or_else(|| content.items().next()?.get("text")?.decode())
}

/// What is remembered of sidechains.
pub(super) struct Sidechains {
    /// Sidechain lines that others may still hang on, and prompts.
    most: usize,
    /// Hash of a line's uuid, or of an agent's id → its call.
    calls: Map<u64, Id>,
    /// Prompts of the calls that may start a sub-agent: hash → call.
    prompts: Map<u64, Id>,
    /// The file is a sub-agent's own: its lines are the main thread.
    alone: Option<bool>,
}

impl Sidechains {
    /// Remembers as many as the budget says.
    pub(super) fn new(budget: Budget) -> Self {
        Self { most: budget.lines, calls: Map::default(), prompts: Map::default(), alone: None }
    }

    /// Remembers a call that may start a sub-agent.
    pub(super) fn called(&mut self, id: &Id, action: Action, input: Value<'_>) {
        if action != Action::Delegate {
            return;
        }
        if let Some(prompt) = input.get("prompt").and_then(Value::decode) {
            if self.prompts.len() >= self.most {
                self.prompts.drain(..self.most / 2);
            }
            self.prompts.insert(hash(prompt.trim()), id.clone());
        }
    }

    /// Sees a line of the main thread: the file is not a sub-agent's own.
    pub(super) fn main_thread(&mut self) {
        self.alone.get_or_insert(false);
    }

    /// The call that a sidechain's line is inside of.
    pub(super) fn parent(&mut self, line: &ClaudeLine<'_>) -> Option<Id> {
        if *self.alone.get_or_insert(true) {
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
            if self.calls.len() >= self.most {
                self.calls.drain(..self.most / 2);
            }
            self.calls.insert(hash(key.raw()), parent.clone());
        }
        Some(parent)
    }

    fn by_prompt(&self, line: &ClaudeLine<'_>) -> Option<Id> {
        let prompt = prompt(line.get(EnvelopeKey::Message)?)?;
        self.prompts.get(&hash(prompt.trim())).cloned()
    }
}
