//! The sentences that Copilot writes around the output of commands.

use crate::facts::without_repeated_json;
use streamfmt_core::item::{Item, ToolKind};
use streamfmt_core::text::Text;

/// The beginning of the line after a command's output: `<shellId: 0 completed with exit code 7>`.
const SHELL: &str = "<shellId: ";

/// Returns the sentences.
pub(crate) fn sentences() -> Vec<&'static str> {
    vec![SHELL]
}

/// Returns the text of a result without the line that repeats the exit code of a command, or the structured value of an MCP tool.
pub(super) fn words(item: &Item, text: Text) -> Text {
    let text = text.trimmed_end();
    if item.tool_kind == Some(ToolKind::Mcp) {
        return without_repeated_json(text);
    }
    let is_command = matches!(item.tool_kind, Some(ToolKind::Run | ToolKind::Job | ToolKind::EndJob));
    let end = text.as_str().rfind('\n').map_or(0, |at| at + 1);
    let last = &text.as_str()[end..];
    if !is_command || !last.starts_with(SHELL) || !last.ends_with('>') {
        return text;
    }
    text.slice(0, end).trimmed_end()
}
