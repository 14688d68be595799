//! The envelope of a line: the fields that stand around every message, read in one pass.
//!
//! Live lines use `snake_case`, history lines `camelCase`; both are read the same way.

use crate::json::{Str, Value};

/// The envelope of one line.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) value: Value<'a>,
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
        let mut line = Self {
            value,
            kind: value.get("type")?.str()?,
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
            let name = key.decode();
            match &*name {
                "type" => {}
                "subtype" => line.subtype = field.str(),
                "session_id" => line.session = field.str(),
                "sessionId" => {
                    line.session = field.str();
                    line.is_history = true;
                }
                "uuid" => line.uuid = field.str(),
                "parentUuid" => line.parent_uuid = field.str(),
                "parent_tool_use_id" => line.parent = field.str(),
                "agentId" => line.agent = field.str(),
                "timestamp" => line.timestamp = Some(field),
                "message" => line.message = Some(field),
                "event" => line.event = Some(field),
                "tool_use_result" | "toolUseResult" => line.structured = Some(field),
                "cwd" => line.cwd = field.str(),
                "version" | "claude_code_version" => line.version = field.str(),
                "supersedes" | "supersedesUuids" => line.supersedes = Some(field),
                "apiBlockIndex" => line.block_index = field.int(),
                "isSidechain" => line.is_sidechain = field.bool() == Some(true),
                "isMeta" | "isSynthetic" => line.is_synthetic |= field.bool() == Some(true),
                "isCompactSummary" => line.is_summary = field.bool() == Some(true),
                "isApiErrorMessage" | "is_api_error_message" => {
                    line.is_api_error |= field.bool() == Some(true)
                }
                "aborted" | "isAbortedMidStream" => line.is_aborted |= field.bool() == Some(true),
                name if KNOWN.binary_search(&name).is_ok() => {}
                _ => unknown(key),
            }
        }
        Some(line)
    }
}

/// Fields of message lines that are known and need no place in a rendering. Sorted.
const KNOWN: &[&str] = &[
    "agent_id",
    "apiError",
    "apiErrorStatus",
    "apiErrorType",
    "api_error_status",
    "api_error_type",
    "api_message_id",
    "attributionAgent",
    "attributionMcpServer",
    "attributionMcpTool",
    "attributionSkill",
    "effort",
    "entrypoint",
    "error",
    "failedResponseHadNoToolCall",
    "gitBranch",
    "holdsPersonsWords",
    "imagePasteIds",
    "interruptedMessageId",
    "isReplay",
    "isVisibleInTranscriptOnly",
    "local_command_outcome",
    "local_command_run",
    "local_command_source",
    "logicalParentUuid",
    "madeBy",
    "mcpCallNotReadOnly",
    "mcpMeta",
    "origin",
    "perTurnEffort",
    "permissionDecision",
    "permissionMode",
    "promptCacheRequested",
    "promptId",
    "promptSource",
    "queueSkipAttachments",
    "refusedMessageId",
    "refused_message_id",
    "refusingModel",
    "requestId",
    "requestRef",
    "request_id",
    "requestedModel",
    "sandboxed",
    "serverClassifierRequest",
    "slug",
    "sourceToolAssistantUUID",
    "sourceToolUseID",
    "subagent_type",
    "task_description",
    "thinkingDisplay",
    "thinkingDurationMs",
    "thinkingMetadata",
    "thinking_display",
    "thinking_duration_ms",
    "todos",
    "toolDenialKind",
    "toolEndsTurn",
    "toolInputStreamMs",
    "tool_result_meta",
    "tool_use_meta",
    "ttft_ms",
    "turnAttributionKey",
    "turnCompanion",
    "turnOrigin",
    "turnPosition",
    "userType",
    "user_message_uuid",
    "user_message_uuids",
];

#[cfg(test)]
mod tests {
    use super::KNOWN;

    #[test]
    fn known_fields_are_sorted() {
        assert!(KNOWN.is_sorted());
    }
}
