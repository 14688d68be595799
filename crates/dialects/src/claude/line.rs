//! The envelope of a line: the fields around every message, found in one pass.
//!
//! Live lines use `snake_case`, history lines `camelCase`; both are read the same way. An [`Envelope`] has the positions of the
//! fields. A [`ClaudeLine`] is the envelope together with its record.

use std::num::NonZeroU32;
use std::sync::LazyLock;

use streamfmt_core::json::{Str, Value};
use streamfmt_core::name_table::NameTable;

use super::message::Message;

/// The node of a field in its record, if the object has the field.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FieldNode(Option<NonZeroU32>);

impl FieldNode {
    /// Returns the node of a field's value. The outermost value of a record, node 0, is no field.
    pub(super) fn of(value: Value<'_>) -> Self {
        Self(NonZeroU32::new(value.node()))
    }

    /// Returns the field's value. `value`: any value of the same record.
    #[inline]
    pub(super) fn of_record(self, value: Value<'_>) -> Option<Value<'_>> {
        self.0.map(|node| value.same_record(node.get()))
    }

    /// Returns the field's value if it is a string.
    #[inline]
    pub(super) fn str(self, value: Value<'_>) -> Option<Str<'_>> {
        self.of_record(value)?.str()
    }
}

/// The positions of the fields of an envelope.
#[derive(Clone, Debug, Default)]
pub(crate) struct Envelope {
    /// The fields, by their keys.
    fields: [FieldNode; EnvelopeKey::FIELDS],
    pub(super) flags: Flags,
    /// The fields of `message`.
    pub(super) inside: Message,
    /// Whether it has unknown keys.
    has_unknown: bool,
}

/// The flags of a line.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the format, and they occur together")]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flags {
    pub(super) is_history: bool,
    pub(super) is_sidechain: bool,
    /// `isMeta`, `isSynthetic`: written by the program, not by the user.
    pub(super) is_synthetic: bool,
    pub(super) is_summary: bool,
    pub(super) is_api_error: bool,
    pub(super) is_aborted: bool,
}

impl Envelope {
    /// Finds the fields of an object. Of two with one name, the last counts. Other values have no fields.
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
            let node = FieldNode::of(field);
            if let Some(place) = found.fields.get_mut(name as usize) {
                *place = node;
            }
            match name {
                EnvelopeKey::HistorySession => {
                    found.fields[EnvelopeKey::Session as usize] = node;
                    flags.is_history = true;
                }
                EnvelopeKey::Message => found.inside = Message::of(field),
                EnvelopeKey::Sidechain => flags.is_sidechain = is_true(),
                EnvelopeKey::Synthetic => flags.is_synthetic |= is_true(),
                EnvelopeKey::Summary => flags.is_summary = is_true(),
                EnvelopeKey::ApiError => flags.is_api_error |= is_true(),
                EnvelopeKey::Aborted => flags.is_aborted |= is_true(),
                _ => {}
            }
        });
        found
    }

    /// Returns the unknown keys of `value`, whose envelope this is.
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
    /// The `type`.
    pub(super) kind: Str<'a>,
}

impl<'a> ClaudeLine<'a> {
    /// Returns the line of `value`, whose envelope this is, or `None` if it has no `type`.
    pub(super) fn of(value: Value<'a>, envelope: &'a Envelope) -> Option<Self> {
        let kind = envelope.fields[EnvelopeKey::Type as usize].str(value)?;
        Some(Self { value, envelope, kind })
    }

    /// Returns the value of a field whose position is kept (see [`EnvelopeKey::FIELDS`]).
    pub(super) fn get(&self, key: EnvelopeKey) -> Option<Value<'a>> {
        self.envelope.fields.get(key as usize)?.of_record(self.value)
    }

    /// Returns the value of such a field if it is a string.
    pub(super) fn str(&self, key: EnvelopeKey) -> Option<Str<'a>> {
        self.get(key)?.str()
    }
}

/// The meaning of a key of the envelope.
#[derive(Clone, Copy)]
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
    Origin,
    PromptSource,
    RowSource,
    HookText,
    /// Kept as [`EnvelopeKey::Session`].
    HistorySession,
    Sidechain,
    Synthetic,
    Summary,
    ApiError,
    Aborted,
    /// Known, but not used.
    KnownUnused,
}

impl EnvelopeKey {
    /// The number of keys whose positions are kept: those before [`Self::HistorySession`].
    const FIELDS: usize = Self::HistorySession as usize;
}

static NAMES: LazyLock<NameTable<EnvelopeKey>> = NameTable::lazy(|| {
    let unused = KNOWN_UNUSED.split_whitespace().map(|name| (name, EnvelopeKey::KnownUnused));
    NameTable::new(&FIELDS.into_iter().chain(unused).collect::<Vec<_>>())
});

/// The fields of message lines that are used.
const FIELDS: [(&str, EnvelopeKey); 31] = [
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
    ("origin", EnvelopeKey::Origin),
    ("promptSource", EnvelopeKey::PromptSource),
    ("rowSource", EnvelopeKey::RowSource),
    ("hookText", EnvelopeKey::HookText),
    ("isSidechain", EnvelopeKey::Sidechain),
    ("isMeta", EnvelopeKey::Synthetic),
    ("isSynthetic", EnvelopeKey::Synthetic),
    ("isCompactSummary", EnvelopeKey::Summary),
    ("isApiErrorMessage", EnvelopeKey::ApiError),
    ("is_api_error_message", EnvelopeKey::ApiError),
    ("aborted", EnvelopeKey::Aborted),
    ("isAbortedMidStream", EnvelopeKey::Aborted),
];

/// The other known fields.
const KNOWN_UNUSED: &str = "agent_id apiError apiErrorStatus apiErrorType api_error_status api_error_type \
     api_message_id attributionAgent attributionMcpServer attributionMcpTool attributionSkill effort \
     entrypoint error failedResponseHadNoToolCall gitBranch hookTextLead holdsPersonsWords imagePasteIds \
     interruptedMessageId isReplay isVisibleInTranscriptOnly local_command_outcome local_command_run \
     local_command_source logicalParentUuid madeBy mcpCallNotReadOnly mcpMeta perTurnEffort \
     permissionDecision permissionMode promptCacheRequested promptId queueSkipAttachments \
     refusedMessageId refused_message_id refusingModel requestId requestRef request_id requestedModel \
     sandboxed serverClassifierRequest slug sourceToolAssistantUUID sourceToolUseID subagent_type \
     task_description thinkingDisplay thinkingDurationMs thinkingMetadata thinking_display \
     thinking_duration_ms todos toolDenialKind toolEndsTurn toolInputStreamMs tool_result_meta \
     tool_use_meta ttft_ms turnAttributionKey turnCompanion turnOrigin turnPosition userType \
     user_message_uuid user_message_uuids";
