//! The envelope of a line: the fields that stand around every message, found in one pass.
//!
//! Live lines use `snake_case`, history lines `camelCase`; both are read the same way. An [`Envelope`] says where
//! the fields stand. A [`ClaudeLine`] is the envelope together with its record.

use std::num::NonZeroU32;
use std::sync::LazyLock;

use streamfmt_core::json::{Str, Value};
use streamfmt_core::name_table::NameTable;

use super::message::Message;

/// Where a field stands in its record, if the object has it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FieldNode(Option<NonZeroU32>);

impl FieldNode {
    /// That of a value inside of another: the outermost, node 0, is no field.
    pub(super) fn of(value: Value<'_>) -> Self {
        Self(NonZeroU32::new(value.node()))
    }

    /// The value that stands there, in the record that `value` is of.
    #[inline]
    pub(super) fn of_record(self, value: Value<'_>) -> Option<Value<'_>> {
        self.0.map(|node| value.same_record(node.get()))
    }

    /// The string that stands there, if it is one.
    #[inline]
    pub(super) fn str(self, value: Value<'_>) -> Option<Str<'_>> {
        self.of_record(value)?.str()
    }
}

/// Where the fields of an envelope stand.
#[derive(Clone, Debug, Default)]
pub(crate) struct Envelope {
    /// By their keys.
    fields: [FieldNode; EnvelopeKey::FIELDS],
    pub(super) flags: Flags,
    /// The fields of `message`.
    pub(super) inside: Message,
    /// It has keys that aren't known.
    has_unknown: bool,
}

/// What is true of a line.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the format, and they occur together")]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flags {
    pub(super) is_history: bool,
    pub(super) is_sidechain: bool,
    /// `isMeta`, `isSynthetic`: made by the program, not by a person.
    pub(super) is_synthetic: bool,
    pub(super) is_summary: bool,
    pub(super) is_api_error: bool,
    pub(super) is_aborted: bool,
}

impl Envelope {
    /// Finds the fields of an object; of two with one name the last counts. What isn't one has no fields.
    pub(crate) fn of(value: Value<'_>) -> Self {
        let mut found = Self::default();
        let flags = &mut found.flags;
        let names = &*NAMES;
        value.fields(|name, field| {
            let is_true = || field.bool() == Some(true);
            let Some(name) = names.get(name) else {
                found.has_unknown = true;
                return;
            };
            match name {
                EnvelopeKey::HistorySession => flags.is_history = true,
                EnvelopeKey::Message => found.inside = Message::of(field),
                EnvelopeKey::Sidechain => flags.is_sidechain = is_true(),
                EnvelopeKey::Synthetic => flags.is_synthetic |= is_true(),
                EnvelopeKey::Summary => flags.is_summary = is_true(),
                EnvelopeKey::ApiError => flags.is_api_error |= is_true(),
                EnvelopeKey::Aborted => flags.is_aborted |= is_true(),
                _ => {}
            }
            if let Some(place) = found.fields.get_mut(name.place()) {
                *place = FieldNode::of(field);
            }
        });
        found
    }

    /// Keys of `value`, whose envelope this is, that aren't known.
    pub(super) fn unknown<'a>(&self, value: Value<'a>) -> impl Iterator<Item = Str<'a>> {
        let entries = self.has_unknown.then(|| value.entries()).into_iter().flatten();
        entries.map(|(key, _)| key).filter(|key| NAMES.get(key.decode().as_bytes()).is_none())
    }
}

/// A line and its envelope.
#[derive(Clone, Copy)]
pub(super) struct ClaudeLine<'a> {
    pub(super) value: Value<'a>,
    pub(super) envelope: &'a Envelope,
    /// What `type` says.
    pub(super) kind: Str<'a>,
}

impl<'a> ClaudeLine<'a> {
    /// The line of `value`, whose envelope this is. `None`: it has no `type`.
    pub(super) fn of(value: Value<'a>, envelope: &'a Envelope) -> Option<Self> {
        let kind = envelope.fields[EnvelopeKey::Type.place()].str(value)?;
        Some(Self { value, envelope, kind })
    }

    /// The value of a field that keeps its place.
    pub(super) fn get(&self, key: EnvelopeKey) -> Option<Value<'a>> {
        self.envelope.fields.get(key.place())?.of_record(self.value)
    }

    /// The same if it is a string.
    pub(super) fn str(&self, key: EnvelopeKey) -> Option<Str<'a>> {
        self.get(key)?.str()
    }
}

/// What a key of the envelope is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EnvelopeKey {
    Type,
    Subtype,
    Session,
    Uuid,
    ParentUuid,
    /// `parent_tool_use_id`: live only.
    Parent,
    Agent,
    Timestamp,
    Message,
    Event,
    /// `tool_use_result`, `toolUseResult`.
    Structured,
    Cwd,
    Version,
    Supersedes,
    BlockIndex,
    /// As [`EnvelopeKey::Session`], which it keeps the place of.
    HistorySession,
    Sidechain,
    Synthetic,
    Summary,
    ApiError,
    Aborted,
    /// Known, and needing no place in a rendering.
    Beside,
}

impl EnvelopeKey {
    /// How many keep their places: those before the others.
    const FIELDS: usize = Self::HistorySession as usize;

    /// Where it keeps its place.
    #[inline]
    fn place(self) -> usize {
        if self == Self::HistorySession { Self::Session as usize } else { self as usize }
    }
}

static NAMES: LazyLock<NameTable<EnvelopeKey>> = NameTable::lazy(|| NameTable::new(&FIELDS));

/// The fields of message lines.
static FIELDS: [(&str, EnvelopeKey); 96] = [
    ("type", EnvelopeKey::Type),
    ("subtype", EnvelopeKey::Subtype),
    ("session_id", EnvelopeKey::Session),
    ("sessionId", EnvelopeKey::HistorySession),
    ("uuid", EnvelopeKey::Uuid),
    ("parentUuid", EnvelopeKey::ParentUuid),
    ("parent_tool_use_id", EnvelopeKey::Parent),
    ("agentId", EnvelopeKey::Agent),
    ("timestamp", EnvelopeKey::Timestamp),
    ("message", EnvelopeKey::Message),
    ("event", EnvelopeKey::Event),
    ("tool_use_result", EnvelopeKey::Structured),
    ("toolUseResult", EnvelopeKey::Structured),
    ("cwd", EnvelopeKey::Cwd),
    ("version", EnvelopeKey::Version),
    ("claude_code_version", EnvelopeKey::Version),
    ("supersedes", EnvelopeKey::Supersedes),
    ("supersedesUuids", EnvelopeKey::Supersedes),
    ("apiBlockIndex", EnvelopeKey::BlockIndex),
    ("isSidechain", EnvelopeKey::Sidechain),
    ("isMeta", EnvelopeKey::Synthetic),
    ("isSynthetic", EnvelopeKey::Synthetic),
    ("isCompactSummary", EnvelopeKey::Summary),
    ("isApiErrorMessage", EnvelopeKey::ApiError),
    ("is_api_error_message", EnvelopeKey::ApiError),
    ("aborted", EnvelopeKey::Aborted),
    ("isAbortedMidStream", EnvelopeKey::Aborted),
    ("agent_id", EnvelopeKey::Beside),
    ("apiError", EnvelopeKey::Beside),
    ("apiErrorStatus", EnvelopeKey::Beside),
    ("apiErrorType", EnvelopeKey::Beside),
    ("api_error_status", EnvelopeKey::Beside),
    ("api_error_type", EnvelopeKey::Beside),
    ("api_message_id", EnvelopeKey::Beside),
    ("attributionAgent", EnvelopeKey::Beside),
    ("attributionMcpServer", EnvelopeKey::Beside),
    ("attributionMcpTool", EnvelopeKey::Beside),
    ("attributionSkill", EnvelopeKey::Beside),
    ("effort", EnvelopeKey::Beside),
    ("entrypoint", EnvelopeKey::Beside),
    ("error", EnvelopeKey::Beside),
    ("failedResponseHadNoToolCall", EnvelopeKey::Beside),
    ("gitBranch", EnvelopeKey::Beside),
    ("holdsPersonsWords", EnvelopeKey::Beside),
    ("imagePasteIds", EnvelopeKey::Beside),
    ("interruptedMessageId", EnvelopeKey::Beside),
    ("isReplay", EnvelopeKey::Beside),
    ("isVisibleInTranscriptOnly", EnvelopeKey::Beside),
    ("local_command_outcome", EnvelopeKey::Beside),
    ("local_command_run", EnvelopeKey::Beside),
    ("local_command_source", EnvelopeKey::Beside),
    ("logicalParentUuid", EnvelopeKey::Beside),
    ("madeBy", EnvelopeKey::Beside),
    ("mcpCallNotReadOnly", EnvelopeKey::Beside),
    ("mcpMeta", EnvelopeKey::Beside),
    ("origin", EnvelopeKey::Beside),
    ("perTurnEffort", EnvelopeKey::Beside),
    ("permissionDecision", EnvelopeKey::Beside),
    ("permissionMode", EnvelopeKey::Beside),
    ("promptCacheRequested", EnvelopeKey::Beside),
    ("promptId", EnvelopeKey::Beside),
    ("promptSource", EnvelopeKey::Beside),
    ("queueSkipAttachments", EnvelopeKey::Beside),
    ("refusedMessageId", EnvelopeKey::Beside),
    ("refused_message_id", EnvelopeKey::Beside),
    ("refusingModel", EnvelopeKey::Beside),
    ("requestId", EnvelopeKey::Beside),
    ("requestRef", EnvelopeKey::Beside),
    ("request_id", EnvelopeKey::Beside),
    ("requestedModel", EnvelopeKey::Beside),
    ("sandboxed", EnvelopeKey::Beside),
    ("serverClassifierRequest", EnvelopeKey::Beside),
    ("slug", EnvelopeKey::Beside),
    ("sourceToolAssistantUUID", EnvelopeKey::Beside),
    ("sourceToolUseID", EnvelopeKey::Beside),
    ("subagent_type", EnvelopeKey::Beside),
    ("task_description", EnvelopeKey::Beside),
    ("thinkingDisplay", EnvelopeKey::Beside),
    ("thinkingDurationMs", EnvelopeKey::Beside),
    ("thinkingMetadata", EnvelopeKey::Beside),
    ("thinking_display", EnvelopeKey::Beside),
    ("thinking_duration_ms", EnvelopeKey::Beside),
    ("todos", EnvelopeKey::Beside),
    ("toolDenialKind", EnvelopeKey::Beside),
    ("toolEndsTurn", EnvelopeKey::Beside),
    ("toolInputStreamMs", EnvelopeKey::Beside),
    ("tool_result_meta", EnvelopeKey::Beside),
    ("tool_use_meta", EnvelopeKey::Beside),
    ("ttft_ms", EnvelopeKey::Beside),
    ("turnAttributionKey", EnvelopeKey::Beside),
    ("turnCompanion", EnvelopeKey::Beside),
    ("turnOrigin", EnvelopeKey::Beside),
    ("turnPosition", EnvelopeKey::Beside),
    ("userType", EnvelopeKey::Beside),
    ("user_message_uuid", EnvelopeKey::Beside),
    ("user_message_uuids", EnvelopeKey::Beside),
];
