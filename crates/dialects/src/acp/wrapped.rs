//! The sentences that agents write into fields of the protocol.

/// The beginning of a text by which Gemini reports another mode.
const MODE: &str = "[MODE_UPDATE] ";
/// Around the working directory and the purpose of a command of Gemini.
const FOLDER: [&str; 2] = ["[current working directory ", "] ("];
/// The end of the title of an MCP call of Gemini: `stock_level (inventory MCP Server)`.
const SERVER: &str = " MCP Server)";

/// Returns the sentences.
pub(crate) fn sentences() -> Vec<&'static str> {
    vec![MODE, FOLDER[0], SERVER]
}

/// Returns the mode that a text reports.
pub(super) fn mode(text: &str) -> Option<&str> {
    text.strip_prefix(MODE)
}

/// Returns the working directory and the purpose of a command.
pub(super) fn folder_and_purpose(text: &str) -> Option<(&str, &str)> {
    text.trim().strip_prefix(FOLDER[0])?.strip_suffix(')')?.split_once(FOLDER[1])
}

/// Returns the server and the tool of an MCP call, by its title.
pub(super) fn server_and_tool(title: &str) -> Option<(&str, &str)> {
    let (tool, server) = title.strip_suffix(SERVER)?.rsplit_once(" (")?;
    Some((server, tool))
}
