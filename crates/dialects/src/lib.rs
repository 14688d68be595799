//! The dialects: they decode the lines of each product into events.
//!
//! A dialect is a row of [`DIALECTS`] and a folder. [`streamfmt_core::dialect`] defines dialects and the fields of a row. No dialect
//! knows how anything is shown.

mod acp;
mod aider;
mod arguments;
mod atif;
mod calls;
mod claude;
mod cline;
mod codex;
mod copilot;
mod cursor;
mod facts;
mod foreign;
mod gemini;
mod generic;
mod item_builder;
mod items;
mod opencode;
mod patch;
mod pi;
mod qwen;
mod records;
mod requests;
mod shell_report;
mod step_totals;
mod tool;

use streamfmt_core::dialect::{Dialect, Dialects};
use streamfmt_core::json::Value;
use streamfmt_core::session::counted::Counting;

#[doc(hidden)]
pub use claude::wrapped::add_facts as add_wrapped_facts;
pub use items::{ReadError, read_item};
pub use tool::{action_of, fact, set_action, set_tool};

/// The known dialects.
pub const DIALECTS: Dialects = Dialects { rows: ROWS, fallback: GENERIC, recognise: foreign::recognise };

/// The dialect of objects of unknown programs.
const GENERIC: &str = "generic";

/// What holds for a dialect whose row doesn't name it: it reads records by the decoder for unknown objects, claims nothing, and has no files.
const PLAIN: Dialect = Dialect {
    name: GENERIC,
    claim: |_| false,
    is_certain: |_| true,
    claim_text: None,
    ends_with_outcome: |_| false,
    decoder: |_| Box::new(generic::Generic),
    tools: &[],
    tool: |_| None,
    sentences: Vec::new,
    side_files: None,
    histories: None,
    database: None,
    launch: None,
    counting: Counting::Own,
};

/// The dialects, in the order in which they may claim an input.
const ROWS: &[Dialect] = &[
    Dialect {
        name: "claude",
        claim: |value| claude::claim(value) && !resembles_claude(value),
        is_certain: claude::is_certain,
        ends_with_outcome: claude::is_stream,
        decoder: |budget| Box::new(claude::Claude::new(&claude::CLAUDE, budget)),
        tools: &claude::tools::TOOLS,
        tool: claude::tools::find,
        sentences: claude::wrapped::sentences,
        side_files: Some(claude::SIDE_FILES),
        histories: Some(claude::HISTORIES),
        launch: Some(claude::LAUNCH),
        counting: Counting::Models,
        ..PLAIN
    },
    Dialect {
        name: "codex",
        claim: codex::claim,
        is_certain: codex::is_certain,
        ends_with_outcome: codex::is_stream,
        decoder: |budget| Box::new(codex::Codex::new(budget)),
        tools: &codex::tools::TOOLS,
        tool: codex::tools::find,
        sentences: codex::wrapped::sentences,
        side_files: Some(codex::SIDE_FILES),
        histories: Some(codex::HISTORIES),
        launch: Some(codex::LAUNCH),
        counting: Counting::Usage,
        ..PLAIN
    },
    Dialect {
        name: "copilot",
        claim: copilot::claim,
        is_certain: copilot::is_certain,
        ends_with_outcome: copilot::is_stream,
        decoder: |budget| Box::new(copilot::Copilot::new(budget)),
        tools: &copilot::tools::TOOLS,
        tool: copilot::tools::find,
        sentences: copilot::wrapped::sentences,
        histories: Some(copilot::HISTORIES),
        launch: Some(copilot::LAUNCH),
        ..PLAIN
    },
    Dialect {
        name: "opencode",
        claim: opencode::claim,
        ends_with_outcome: opencode::is_stream,
        decoder: |budget| Box::new(opencode::Opencode::new(budget)),
        tools: &opencode::tools::TOOLS,
        tool: opencode::tools::find,
        sentences: opencode::wrapped::sentences,
        database: Some(opencode::DATABASE),
        launch: Some(opencode::LAUNCH),
        ..PLAIN
    },
    Dialect {
        name: "pi",
        claim: pi::claim,
        is_certain: pi::is_certain,
        ends_with_outcome: pi::is_stream,
        decoder: |budget| Box::new(pi::Pi::new(budget)),
        tools: &pi::tools::TOOLS,
        tool: pi::tools::find,
        sentences: pi::wrapped::sentences,
        histories: Some(pi::HISTORIES),
        launch: Some(pi::LAUNCH),
        ..PLAIN
    },
    Dialect {
        name: "cline",
        claim: cline::claim,
        ends_with_outcome: cline::is_stream,
        decoder: |budget| Box::new(cline::Cline::new(budget)),
        tools: &cline::tools::TOOLS,
        tool: cline::tools::find,
        sentences: cline::wrapped::sentences,
        side_files: Some(cline::SIDE_FILES),
        histories: Some(cline::HISTORIES),
        launch: Some(cline::LAUNCH),
        ..PLAIN
    },
    Dialect {
        name: "cursor",
        claim: cursor::claim,
        ends_with_outcome: cursor::is_stream,
        decoder: |budget| Box::new(cursor::CursorAgent::new(budget)),
        tools: &cursor::tools::TOOLS,
        tool: cursor::tools::find,
        sentences: || cursor::SENTENCES.to_vec(),
        histories: Some(cursor::HISTORIES),
        launch: Some(cursor::LAUNCH),
        ..PLAIN
    },
    Dialect {
        name: "gemini",
        claim: gemini::claim,
        ends_with_outcome: gemini::is_stream,
        decoder: |budget| Box::new(gemini::Gemini::new(budget)),
        tools: &gemini::tools::TOOLS,
        tool: gemini::tools::find,
        sentences: || gemini::SENTENCES.to_vec(),
        side_files: Some(gemini::SIDE_FILES),
        histories: Some(gemini::HISTORIES),
        launch: Some(gemini::LAUNCH),
        ..PLAIN
    },
    Dialect {
        name: "qwen",
        claim: qwen::claim,
        ends_with_outcome: claude::is_stream,
        decoder: |budget| Box::new(qwen::Qwen::new(budget)),
        tools: &qwen::tools::TOOLS,
        tool: qwen::tools::find,
        sentences: || qwen::SENTENCES.to_vec(),
        side_files: Some(qwen::SIDE_FILES),
        histories: Some(qwen::HISTORIES),
        launch: Some(qwen::LAUNCH),
        ..PLAIN
    },
    Dialect {
        name: "aider",
        claim_text: Some(aider::claim),
        decoder: |_| Box::new(aider::Aider::default()),
        histories: Some(aider::HISTORIES),
        ..PLAIN
    },
    PLAIN,
    Dialect {
        name: "acp",
        claim: acp::claim,
        ends_with_outcome: acp::is_stream,
        decoder: |budget| Box::new(acp::Acp::new(budget)),
        sentences: acp::wrapped::sentences,
        ..PLAIN
    },
    Dialect {
        name: "atif",
        claim: atif::claim,
        ends_with_outcome: atif::is_stream,
        decoder: |budget| Box::new(atif::AtifDecoder::new(budget)),
        tools: &atif::tools::TOOLS,
        tool: atif::tools::find,
        ..PLAIN
    },
    Dialect {
        name: "records",
        claim: records::claim,
        ends_with_outcome: records::is_stream,
        decoder: |_| Box::new(records::Records),
        ..PLAIN
    },
];

/// Whether a value is an event of a program whose lines have the fields of Claude Code's, but other marks.
fn resembles_claude(value: Value<'_>) -> bool {
    cursor::claim(value) || qwen::claim(value)
}
