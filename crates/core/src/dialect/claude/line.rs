//! The envelope of a line: the fields that stand around every message, found in one pass.
//!
//! Live lines use `snake_case`, history lines `camelCase`; both are read the same way. Finding the fields needs
//! nothing but the line, so it is done where lines are read, maybe on another thread: an [`Envelope`] says where
//! they stand. A [`Line`] is the envelope together with its record.

use std::sync::LazyLock;

use crate::dialect::names::Names;
use crate::json::{Str, Value};

/// Where the fields of an envelope stand: nodes of the record, or [`NONE`].
#[derive(Clone, Debug)]
pub(in crate::dialect) struct Envelope {
    kind: u32,
    subtype: u32,
    session: u32,
    uuid: u32,
    parent_uuid: u32,
    parent: u32,
    agent: u32,
    timestamp: u32,
    message: u32,
    event: u32,
    structured: u32,
    cwd: u32,
    version: u32,
    supersedes: u32,
    block_index: u32,
    flags: Flags,
    /// Keys that aren't known.
    unknown: Vec<u32>,
}

/// No field.
const NONE: u32 = u32::MAX;

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
        let mut found = Self {
            kind: NONE,
            subtype: NONE,
            session: NONE,
            uuid: NONE,
            parent_uuid: NONE,
            parent: NONE,
            agent: NONE,
            timestamp: NONE,
            message: NONE,
            event: NONE,
            structured: NONE,
            cwd: NONE,
            version: NONE,
            supersedes: NONE,
            block_index: NONE,
            flags: Flags::default(),
            unknown: Vec::new(),
        };
        let flags = &mut found.flags;
        for (key, field) in value.entries() {
            let is_true = || field.bool() == Some(true);
            let node = field.node();
            let Some(name) = NAMES.get(&key.decode()) else {
                // A key stands right before its value.
                found.unknown.push(node - 1);
                continue;
            };
            match name {
                Field::Type => found.kind = node,
                Field::Subtype => found.subtype = node,
                Field::Session => found.session = node,
                Field::HistorySession => {
                    found.session = node;
                    flags.is_history = true;
                }
                Field::Uuid => found.uuid = node,
                Field::ParentUuid => found.parent_uuid = node,
                Field::Parent => found.parent = node,
                Field::Agent => found.agent = node,
                Field::Timestamp => found.timestamp = node,
                Field::Message => found.message = node,
                Field::Event => found.event = node,
                Field::Structured => found.structured = node,
                Field::Cwd => found.cwd = node,
                Field::Version => found.version = node,
                Field::Supersedes => found.supersedes = node,
                Field::BlockIndex => found.block_index = node,
                Field::Sidechain => flags.is_sidechain = is_true(),
                Field::Synthetic => flags.is_synthetic |= is_true(),
                Field::Summary => flags.is_summary = is_true(),
                Field::ApiError => flags.is_api_error |= is_true(),
                Field::Aborted => flags.is_aborted |= is_true(),
                Field::Beside => {}
            }
        }
        found
    }

    /// Keys of the record of `value` that aren't known.
    pub(super) fn unknown<'a>(&self, value: Value<'a>) -> impl Iterator<Item = Str<'a>> {
        self.unknown.iter().filter_map(move |&key| value.same_record(key).str())
    }
}

/// The envelope of one line.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) value: Value<'a>,
    /// What `type` says.
    pub(super) kind: Str<'a>,
    pub(super) subtype: Option<Str<'a>>,
    pub(super) session: Option<Str<'a>>,
    pub(super) uuid: Option<Str<'a>>,
    pub(super) parent_uuid: Option<Str<'a>>,
    /// `parent_tool_use_id`: live only.
    pub(super) parent: Option<Str<'a>>,
    pub(super) agent: Option<Str<'a>>,
    pub(super) timestamp: Option<Value<'a>>,
    pub(super) message: Option<Value<'a>>,
    pub(super) event: Option<Value<'a>>,
    /// `tool_use_result`, `toolUseResult`.
    pub(super) structured: Option<Value<'a>>,
    pub(super) cwd: Option<Str<'a>>,
    pub(super) version: Option<Str<'a>>,
    pub(super) supersedes: Option<Value<'a>>,
    pub(super) block_index: Option<i64>,
    pub(super) flags: Flags,
}

impl<'a> Line<'a> {
    /// The line of `value`, whose envelope this is. `None`: it has no `type`.
    pub(super) fn of(value: Value<'a>, envelope: &Envelope) -> Option<Self> {
        let field = |node: u32| (node != NONE).then(|| value.same_record(node));
        let string = |node: u32| field(node).and_then(Value::str);
        Some(Self {
            value,
            kind: string(envelope.kind)?,
            subtype: string(envelope.subtype),
            session: string(envelope.session),
            uuid: string(envelope.uuid),
            parent_uuid: string(envelope.parent_uuid),
            parent: string(envelope.parent),
            agent: string(envelope.agent),
            timestamp: field(envelope.timestamp),
            message: field(envelope.message),
            event: field(envelope.event),
            structured: field(envelope.structured),
            cwd: string(envelope.cwd),
            version: string(envelope.version),
            supersedes: field(envelope.supersedes),
            block_index: field(envelope.block_index).and_then(Value::int),
            flags: envelope.flags,
        })
    }
}

/// What a field of the envelope is for.
#[derive(Clone, Copy)]
enum Field {
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

static NAMES: LazyLock<Names<Field>> = Names::lazy(|| Names::new(&FIELDS));

/// The fields of message lines.
static FIELDS: [(&str, Field); 96] = [
    ("type", Field::Type),
    ("subtype", Field::Subtype),
    ("session_id", Field::Session),
    ("sessionId", Field::HistorySession),
    ("uuid", Field::Uuid),
    ("parentUuid", Field::ParentUuid),
    ("parent_tool_use_id", Field::Parent),
    ("agentId", Field::Agent),
    ("timestamp", Field::Timestamp),
    ("message", Field::Message),
    ("event", Field::Event),
    ("tool_use_result", Field::Structured),
    ("toolUseResult", Field::Structured),
    ("cwd", Field::Cwd),
    ("version", Field::Version),
    ("claude_code_version", Field::Version),
    ("supersedes", Field::Supersedes),
    ("supersedesUuids", Field::Supersedes),
    ("apiBlockIndex", Field::BlockIndex),
    ("isSidechain", Field::Sidechain),
    ("isMeta", Field::Synthetic),
    ("isSynthetic", Field::Synthetic),
    ("isCompactSummary", Field::Summary),
    ("isApiErrorMessage", Field::ApiError),
    ("is_api_error_message", Field::ApiError),
    ("aborted", Field::Aborted),
    ("isAbortedMidStream", Field::Aborted),
    ("agent_id", Field::Beside),
    ("apiError", Field::Beside),
    ("apiErrorStatus", Field::Beside),
    ("apiErrorType", Field::Beside),
    ("api_error_status", Field::Beside),
    ("api_error_type", Field::Beside),
    ("api_message_id", Field::Beside),
    ("attributionAgent", Field::Beside),
    ("attributionMcpServer", Field::Beside),
    ("attributionMcpTool", Field::Beside),
    ("attributionSkill", Field::Beside),
    ("effort", Field::Beside),
    ("entrypoint", Field::Beside),
    ("error", Field::Beside),
    ("failedResponseHadNoToolCall", Field::Beside),
    ("gitBranch", Field::Beside),
    ("holdsPersonsWords", Field::Beside),
    ("imagePasteIds", Field::Beside),
    ("interruptedMessageId", Field::Beside),
    ("isReplay", Field::Beside),
    ("isVisibleInTranscriptOnly", Field::Beside),
    ("local_command_outcome", Field::Beside),
    ("local_command_run", Field::Beside),
    ("local_command_source", Field::Beside),
    ("logicalParentUuid", Field::Beside),
    ("madeBy", Field::Beside),
    ("mcpCallNotReadOnly", Field::Beside),
    ("mcpMeta", Field::Beside),
    ("origin", Field::Beside),
    ("perTurnEffort", Field::Beside),
    ("permissionDecision", Field::Beside),
    ("permissionMode", Field::Beside),
    ("promptCacheRequested", Field::Beside),
    ("promptId", Field::Beside),
    ("promptSource", Field::Beside),
    ("queueSkipAttachments", Field::Beside),
    ("refusedMessageId", Field::Beside),
    ("refused_message_id", Field::Beside),
    ("refusingModel", Field::Beside),
    ("requestId", Field::Beside),
    ("requestRef", Field::Beside),
    ("request_id", Field::Beside),
    ("requestedModel", Field::Beside),
    ("sandboxed", Field::Beside),
    ("serverClassifierRequest", Field::Beside),
    ("slug", Field::Beside),
    ("sourceToolAssistantUUID", Field::Beside),
    ("sourceToolUseID", Field::Beside),
    ("subagent_type", Field::Beside),
    ("task_description", Field::Beside),
    ("thinkingDisplay", Field::Beside),
    ("thinkingDurationMs", Field::Beside),
    ("thinkingMetadata", Field::Beside),
    ("thinking_display", Field::Beside),
    ("thinking_duration_ms", Field::Beside),
    ("todos", Field::Beside),
    ("toolDenialKind", Field::Beside),
    ("toolEndsTurn", Field::Beside),
    ("toolInputStreamMs", Field::Beside),
    ("tool_result_meta", Field::Beside),
    ("tool_use_meta", Field::Beside),
    ("ttft_ms", Field::Beside),
    ("turnAttributionKey", Field::Beside),
    ("turnCompanion", Field::Beside),
    ("turnOrigin", Field::Beside),
    ("turnPosition", Field::Beside),
    ("userType", Field::Beside),
    ("user_message_uuid", Field::Beside),
    ("user_message_uuids", Field::Beside),
];
