//! The envelope of a line: the fields that stand around every message, read in one pass.
//!
//! Live lines use `snake_case`, history lines `camelCase`; both are read the same way.

use std::sync::LazyLock;

use crate::dialect::names::Names;
use crate::json::{Str, Value};

/// The envelope of one line.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the format, and they occur together")]
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
    pub(super) is_history: bool,
    pub(super) is_sidechain: bool,
    /// `isMeta`, `isSynthetic`: made by the program, not by a person.
    pub(super) is_synthetic: bool,
    pub(super) is_summary: bool,
    pub(super) is_api_error: bool,
    pub(super) is_aborted: bool,
}

impl<'a> Line<'a> {
    /// Reads the envelope of an object that has a `type`. `unknown` sees each key that isn't known.
    pub(super) fn read(value: Value<'a>, mut unknown: impl FnMut(Str<'a>)) -> Option<Self> {
        let mut kind = None;
        let mut line = Self {
            value,
            kind: Str::EMPTY,
            subtype: None,
            session: None,
            uuid: None,
            parent_uuid: None,
            parent: None,
            agent: None,
            timestamp: None,
            message: None,
            event: None,
            structured: None,
            cwd: None,
            version: None,
            supersedes: None,
            block_index: None,
            is_history: false,
            is_sidechain: false,
            is_synthetic: false,
            is_summary: false,
            is_api_error: false,
            is_aborted: false,
        };
        for (key, field) in value.entries() {
            let is_true = || field.bool() == Some(true);
            let Some(name) = NAMES.get(&key.decode()) else {
                unknown(key);
                continue;
            };
            match name {
                Field::Type => kind = field.str(),
                Field::Subtype => line.subtype = field.str(),
                Field::Session => line.session = field.str(),
                Field::HistorySession => {
                    line.session = field.str();
                    line.is_history = true;
                }
                Field::Uuid => line.uuid = field.str(),
                Field::ParentUuid => line.parent_uuid = field.str(),
                Field::Parent => line.parent = field.str(),
                Field::Agent => line.agent = field.str(),
                Field::Timestamp => line.timestamp = Some(field),
                Field::Message => line.message = Some(field),
                Field::Event => line.event = Some(field),
                Field::Structured => line.structured = Some(field),
                Field::Cwd => line.cwd = field.str(),
                Field::Version => line.version = field.str(),
                Field::Supersedes => line.supersedes = Some(field),
                Field::BlockIndex => line.block_index = field.int(),
                Field::Sidechain => line.is_sidechain = is_true(),
                Field::Synthetic => line.is_synthetic |= is_true(),
                Field::Summary => line.is_summary = is_true(),
                Field::ApiError => line.is_api_error |= is_true(),
                Field::Aborted => line.is_aborted |= is_true(),
                Field::Beside => {}
            }
        }
        line.kind = kind?;
        Some(line)
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
