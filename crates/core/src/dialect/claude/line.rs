//! The envelope of a line: the fields that stand around every message, found in one pass.
//!
//! Live lines use `snake_case`, history lines `camelCase`; both are read the same way. Finding the fields needs
//! nothing but the line, so it is done where lines are read, maybe on another thread: an [`Envelope`] says where
//! they stand. A [`Line`] is the envelope together with its record.

use std::num::NonZeroU32;
use std::sync::LazyLock;

use crate::json::{Str, Value};
use crate::names::Names;

use super::message::Message;

/// Where a field stands in its record, if the object has it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Field(Option<NonZeroU32>);

impl Field {
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
pub(in crate::dialect) struct Envelope {
    kind: Field,
    subtype: Field,
    session: Field,
    uuid: Field,
    parent_uuid: Field,
    parent: Field,
    agent: Field,
    timestamp: Field,
    message: Field,
    event: Field,
    structured: Field,
    cwd: Field,
    version: Field,
    supersedes: Field,
    block_index: Field,
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
    pub(in crate::dialect) fn of(value: Value<'_>) -> Self {
        let mut found = Self::default();
        let flags = &mut found.flags;
        let names = &*NAMES;
        value.fields(|name, field| {
            let is_true = || field.bool() == Some(true);
            let Some(name) = names.get(name) else {
                found.has_unknown = true;
                return;
            };
            let node = Field::of(field);
            match name {
                Key::Type => found.kind = node,
                Key::Subtype => found.subtype = node,
                Key::Session => found.session = node,
                Key::HistorySession => {
                    found.session = node;
                    flags.is_history = true;
                }
                Key::Uuid => found.uuid = node,
                Key::ParentUuid => found.parent_uuid = node,
                Key::Parent => found.parent = node,
                Key::Agent => found.agent = node,
                Key::Timestamp => found.timestamp = node,
                Key::Message => {
                    found.message = node;
                    found.inside = Message::of(field);
                }
                Key::Event => found.event = node,
                Key::Structured => found.structured = node,
                Key::Cwd => found.cwd = node,
                Key::Version => found.version = node,
                Key::Supersedes => found.supersedes = node,
                Key::BlockIndex => found.block_index = node,
                Key::Sidechain => flags.is_sidechain = is_true(),
                Key::Synthetic => flags.is_synthetic |= is_true(),
                Key::Summary => flags.is_summary = is_true(),
                Key::ApiError => flags.is_api_error |= is_true(),
                Key::Aborted => flags.is_aborted |= is_true(),
                Key::Beside => {}
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
pub(super) struct Line<'a> {
    pub(super) value: Value<'a>,
    pub(super) envelope: &'a Envelope,
    /// What `type` says.
    pub(super) kind: Str<'a>,
}

impl<'a> Line<'a> {
    /// The line of `value`, whose envelope this is. `None`: it has no `type`.
    pub(super) fn of(value: Value<'a>, envelope: &'a Envelope) -> Option<Self> {
        Some(Self { value, envelope, kind: envelope.kind.str(value)? })
    }

    pub(super) fn subtype(&self) -> Option<Str<'a>> {
        self.envelope.subtype.str(self.value)
    }

    pub(super) fn session(&self) -> Option<Str<'a>> {
        self.envelope.session.str(self.value)
    }

    pub(super) fn uuid(&self) -> Option<Str<'a>> {
        self.envelope.uuid.str(self.value)
    }

    pub(super) fn parent_uuid(&self) -> Option<Str<'a>> {
        self.envelope.parent_uuid.str(self.value)
    }

    /// `parent_tool_use_id`: live only.
    pub(super) fn parent(&self) -> Option<Str<'a>> {
        self.envelope.parent.str(self.value)
    }

    pub(super) fn agent(&self) -> Option<Str<'a>> {
        self.envelope.agent.str(self.value)
    }

    pub(super) fn timestamp(&self) -> Option<Value<'a>> {
        self.envelope.timestamp.of_record(self.value)
    }

    pub(super) fn message(&self) -> Option<Value<'a>> {
        self.envelope.message.of_record(self.value)
    }

    pub(super) fn event(&self) -> Option<Value<'a>> {
        self.envelope.event.of_record(self.value)
    }

    /// `tool_use_result`, `toolUseResult`.
    pub(super) fn structured(&self) -> Option<Value<'a>> {
        self.envelope.structured.of_record(self.value)
    }

    pub(super) fn cwd(&self) -> Option<Str<'a>> {
        self.envelope.cwd.str(self.value)
    }

    pub(super) fn version(&self) -> Option<Str<'a>> {
        self.envelope.version.str(self.value)
    }

    pub(super) fn supersedes(&self) -> Option<Value<'a>> {
        self.envelope.supersedes.of_record(self.value)
    }

    pub(super) fn block_index(&self) -> Option<i64> {
        self.envelope.block_index.of_record(self.value)?.int()
    }
}

/// What a key of the envelope is for.
#[derive(Clone, Copy)]
enum Key {
    Type,
    Subtype,
    Session,
    HistorySession,
    Uuid,
    ParentUuid,
    Parent,
    Agent,
    Timestamp,
    Message,
    Event,
    Structured,
    Cwd,
    Version,
    Supersedes,
    BlockIndex,
    Sidechain,
    Synthetic,
    Summary,
    ApiError,
    Aborted,
    /// Known, and needing no place in a rendering.
    Beside,
}

static NAMES: LazyLock<Names<Key>> = Names::lazy(|| Names::new(&FIELDS));

/// The fields of message lines.
static FIELDS: [(&str, Key); 96] = [
    ("type", Key::Type),
    ("subtype", Key::Subtype),
    ("session_id", Key::Session),
    ("sessionId", Key::HistorySession),
    ("uuid", Key::Uuid),
    ("parentUuid", Key::ParentUuid),
    ("parent_tool_use_id", Key::Parent),
    ("agentId", Key::Agent),
    ("timestamp", Key::Timestamp),
    ("message", Key::Message),
    ("event", Key::Event),
    ("tool_use_result", Key::Structured),
    ("toolUseResult", Key::Structured),
    ("cwd", Key::Cwd),
    ("version", Key::Version),
    ("claude_code_version", Key::Version),
    ("supersedes", Key::Supersedes),
    ("supersedesUuids", Key::Supersedes),
    ("apiBlockIndex", Key::BlockIndex),
    ("isSidechain", Key::Sidechain),
    ("isMeta", Key::Synthetic),
    ("isSynthetic", Key::Synthetic),
    ("isCompactSummary", Key::Summary),
    ("isApiErrorMessage", Key::ApiError),
    ("is_api_error_message", Key::ApiError),
    ("aborted", Key::Aborted),
    ("isAbortedMidStream", Key::Aborted),
    ("agent_id", Key::Beside),
    ("apiError", Key::Beside),
    ("apiErrorStatus", Key::Beside),
    ("apiErrorType", Key::Beside),
    ("api_error_status", Key::Beside),
    ("api_error_type", Key::Beside),
    ("api_message_id", Key::Beside),
    ("attributionAgent", Key::Beside),
    ("attributionMcpServer", Key::Beside),
    ("attributionMcpTool", Key::Beside),
    ("attributionSkill", Key::Beside),
    ("effort", Key::Beside),
    ("entrypoint", Key::Beside),
    ("error", Key::Beside),
    ("failedResponseHadNoToolCall", Key::Beside),
    ("gitBranch", Key::Beside),
    ("holdsPersonsWords", Key::Beside),
    ("imagePasteIds", Key::Beside),
    ("interruptedMessageId", Key::Beside),
    ("isReplay", Key::Beside),
    ("isVisibleInTranscriptOnly", Key::Beside),
    ("local_command_outcome", Key::Beside),
    ("local_command_run", Key::Beside),
    ("local_command_source", Key::Beside),
    ("logicalParentUuid", Key::Beside),
    ("madeBy", Key::Beside),
    ("mcpCallNotReadOnly", Key::Beside),
    ("mcpMeta", Key::Beside),
    ("origin", Key::Beside),
    ("perTurnEffort", Key::Beside),
    ("permissionDecision", Key::Beside),
    ("permissionMode", Key::Beside),
    ("promptCacheRequested", Key::Beside),
    ("promptId", Key::Beside),
    ("promptSource", Key::Beside),
    ("queueSkipAttachments", Key::Beside),
    ("refusedMessageId", Key::Beside),
    ("refused_message_id", Key::Beside),
    ("refusingModel", Key::Beside),
    ("requestId", Key::Beside),
    ("requestRef", Key::Beside),
    ("request_id", Key::Beside),
    ("requestedModel", Key::Beside),
    ("sandboxed", Key::Beside),
    ("serverClassifierRequest", Key::Beside),
    ("slug", Key::Beside),
    ("sourceToolAssistantUUID", Key::Beside),
    ("sourceToolUseID", Key::Beside),
    ("subagent_type", Key::Beside),
    ("task_description", Key::Beside),
    ("thinkingDisplay", Key::Beside),
    ("thinkingDurationMs", Key::Beside),
    ("thinkingMetadata", Key::Beside),
    ("thinking_display", Key::Beside),
    ("thinking_duration_ms", Key::Beside),
    ("todos", Key::Beside),
    ("toolDenialKind", Key::Beside),
    ("toolEndsTurn", Key::Beside),
    ("toolInputStreamMs", Key::Beside),
    ("tool_result_meta", Key::Beside),
    ("tool_use_meta", Key::Beside),
    ("ttft_ms", Key::Beside),
    ("turnAttributionKey", Key::Beside),
    ("turnCompanion", Key::Beside),
    ("turnOrigin", Key::Beside),
    ("turnPosition", Key::Beside),
    ("userType", Key::Beside),
    ("user_message_uuid", Key::Beside),
    ("user_message_uuids", Key::Beside),
];
