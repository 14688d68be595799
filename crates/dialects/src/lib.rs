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
mod shell_report;
mod step_totals;
mod tool;

use streamfmt_core::dialect::{Dialect, Dialects};
use streamfmt_core::json::Value;

#[doc(hidden)]
pub use claude::wrapped::add_facts as add_wrapped_facts;
pub use items::{ReadError, read_item};
pub use tool::{action_of, fact, set_action, set_tool};

/// The known dialects.
pub const DIALECTS: Dialects = Dialects { rows: ROWS, fallback: GENERIC, recognise: foreign::recognise };

/// The dialect of objects of unknown programs.
const GENERIC: &str = "generic";

/// The dialects, in the order in which they may claim an input.
const ROWS: &[Dialect] = &[
    Dialect {
        name: "claude",
        claim: |value| claude::claim(value) && !resembles_claude(value),
        is_certain: claude::is_certain,
        claim_text: None,
        ends_with_outcome: claude::is_stream,
        decoder: |budget| Box::new(claude::Claude::new(&claude::CLAUDE, budget)),
        tools: &claude::tools::TOOLS,
        tool: claude::tools::find,
        sentences: claude::wrapped::sentences,
        side_files: Some(claude::SIDE_FILES),
        histories: Some(claude::HISTORIES),
        database: None,
        launch: Some(claude::LAUNCH),
        cumulative: &["cost_usd", "api_ms", "models"],
    },
    Dialect {
        name: "codex",
        claim: codex::claim,
        is_certain: codex::is_certain,
        claim_text: None,
        ends_with_outcome: codex::is_stream,
        decoder: |budget| Box::new(codex::Codex::new(budget)),
        tools: &codex::tools::TOOLS,
        tool: codex::tools::find,
        sentences: codex::wrapped::sentences,
        side_files: Some(codex::SIDE_FILES),
        histories: Some(codex::HISTORIES),
        database: None,
        launch: Some(codex::LAUNCH),
        cumulative: &["usage"],
    },
    Dialect {
        name: "copilot",
        claim: copilot::claim,
        is_certain: copilot::is_certain,
        claim_text: None,
        ends_with_outcome: copilot::is_stream,
        decoder: |budget| Box::new(copilot::Copilot::new(budget)),
        tools: &copilot::tools::TOOLS,
        tool: copilot::tools::find,
        sentences: copilot::wrapped::sentences,
        side_files: None,
        histories: Some(copilot::HISTORIES),
        database: None,
        launch: Some(copilot::LAUNCH),
        cumulative: &["api_ms"],
    },
    Dialect {
        name: "opencode",
        claim: opencode::claim,
        is_certain: |_| true,
        claim_text: None,
        ends_with_outcome: opencode::is_stream,
        decoder: |budget| Box::new(opencode::Opencode::new(budget)),
        tools: &opencode::tools::TOOLS,
        tool: opencode::tools::find,
        sentences: opencode::wrapped::sentences,
        side_files: None,
        histories: None,
        database: Some(opencode::DATABASE),
        launch: Some(opencode::LAUNCH),
        cumulative: &[],
    },
    Dialect {
        name: "pi",
        claim: pi::claim,
        is_certain: pi::is_certain,
        claim_text: None,
        ends_with_outcome: pi::is_stream,
        decoder: |budget| Box::new(pi::Pi::new(budget)),
        tools: &pi::tools::TOOLS,
        tool: pi::tools::find,
        sentences: pi::wrapped::sentences,
        side_files: None,
        histories: Some(pi::HISTORIES),
        database: None,
        launch: Some(pi::LAUNCH),
        cumulative: &[],
    },
    Dialect {
        name: "cline",
        claim: cline::claim,
        is_certain: |_| true,
        claim_text: None,
        ends_with_outcome: cline::is_stream,
        decoder: |budget| Box::new(cline::Cline::new(budget)),
        tools: &cline::tools::TOOLS,
        tool: cline::tools::find,
        sentences: cline::wrapped::sentences,
        side_files: Some(cline::SIDE_FILES),
        histories: Some(cline::HISTORIES),
        database: None,
        launch: Some(cline::LAUNCH),
        cumulative: &[],
    },
    Dialect {
        name: "cursor",
        claim: cursor::claim,
        is_certain: |_| true,
        claim_text: None,
        ends_with_outcome: cursor::is_stream,
        decoder: |budget| Box::new(cursor::CursorAgent::new(budget)),
        tools: &cursor::tools::TOOLS,
        tool: cursor::tools::find,
        sentences: || cursor::SENTENCES.to_vec(),
        side_files: None,
        histories: Some(cursor::HISTORIES),
        database: None,
        launch: Some(cursor::LAUNCH),
        cumulative: &[],
    },
    Dialect {
        name: "gemini",
        claim: gemini::claim,
        is_certain: |_| true,
        claim_text: None,
        ends_with_outcome: gemini::is_stream,
        decoder: |budget| Box::new(gemini::Gemini::new(budget)),
        tools: &gemini::tools::TOOLS,
        tool: gemini::tools::find,
        sentences: || gemini::SENTENCES.to_vec(),
        side_files: Some(gemini::SIDE_FILES),
        histories: Some(gemini::HISTORIES),
        database: None,
        launch: Some(gemini::LAUNCH),
        cumulative: &[],
    },
    Dialect {
        name: "qwen",
        claim: qwen::claim,
        is_certain: |_| true,
        claim_text: None,
        ends_with_outcome: claude::is_stream,
        decoder: |budget| Box::new(qwen::Qwen::new(budget)),
        tools: &qwen::tools::TOOLS,
        tool: qwen::tools::find,
        sentences: || qwen::SENTENCES.to_vec(),
        side_files: Some(qwen::SIDE_FILES),
        histories: Some(qwen::HISTORIES),
        database: None,
        launch: Some(qwen::LAUNCH),
        cumulative: &[],
    },
    Dialect {
        name: "aider",
        claim: |_| false,
        is_certain: |_| true,
        claim_text: Some(aider::claim),
        ends_with_outcome: |_| false,
        decoder: |_| Box::new(aider::Aider::default()),
        tools: &[],
        tool: |_| None,
        sentences: Vec::new,
        side_files: None,
        histories: Some(aider::HISTORIES),
        database: None,
        launch: None,
        cumulative: &[],
    },
    Dialect {
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
        cumulative: &[],
    },
    Dialect {
        name: "acp",
        claim: acp::claim,
        is_certain: |_| true,
        claim_text: None,
        ends_with_outcome: acp::is_stream,
        decoder: |budget| Box::new(acp::Acp::new(budget)),
        tools: &[],
        tool: |_| None,
        sentences: acp::wrapped::sentences,
        side_files: None,
        histories: None,
        database: None,
        launch: None,
        cumulative: &["cost_usd"],
    },
    Dialect {
        name: "atif",
        claim: atif::claim,
        is_certain: |_| true,
        claim_text: None,
        ends_with_outcome: atif::is_stream,
        decoder: |budget| Box::new(atif::AtifDecoder::new(budget)),
        tools: &atif::tools::TOOLS,
        tool: atif::tools::find,
        sentences: Vec::new,
        side_files: None,
        histories: None,
        database: None,
        launch: None,
        cumulative: &[],
    },
    Dialect {
        name: "records",
        claim: records::claim,
        is_certain: |_| true,
        claim_text: None,
        ends_with_outcome: records::is_stream,
        decoder: |_| Box::new(records::Records),
        tools: &[],
        tool: |_| None,
        sentences: Vec::new,
        side_files: None,
        histories: None,
        database: None,
        launch: None,
        cumulative: &[],
    },
];

/// Whether a value is an event of a program whose lines have the fields of Claude Code's, but other marks.
fn resembles_claude(value: Value<'_>) -> bool {
    cursor::claim(value) || qwen::claim(value)
}
