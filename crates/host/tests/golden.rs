//! The golden cases of the repository and of its plugins, each cell a test of its own: `cargo test --test golden bash`.
//!
//! `STREAMFMT_BLESS=1` accepts the actual output; review the diff like code.

use std::path::Path;
use std::process::ExitCode;

use streamfmt::Engine;
use streamfmt::golden::{self, CaseVariant, Suite};

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut suite = Suite::find(&root.join("tests/golden"));
    if cfg!(not(feature = "lua")) {
        suite.retain(needs_no_plugin);
    } else if root.join("plugins").is_dir() {
        suite.join(Suite::find(&root.join("plugins")));
    }
    golden::main_of(&suite)
}

/// Whether a variant works without plugins: it names none, and its profile is built in or readable.
fn needs_no_plugin(cell: &CaseVariant) -> bool {
    let choices = &cell.case.choices;
    let is_fine =
        || Engine::builder().profile(&cell.profile).writer(&cell.writer).strict(true).build().is_ok();
    choices.formatting.plugins.is_empty() && is_fine()
}
