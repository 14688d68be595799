//! The golden cases of the repository and of its plugins, each cell a test of its own: `cargo test --test golden bash`.
//!
//! With `STREAMFMT_BLESS=1` what comes out becomes what is expected; read its diff like code.

use std::path::Path;
use std::process::ExitCode;

use streamfmt::golden::{self, Suite};

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut suite = Suite::find(&root.join("tests/golden"));
    if root.join("plugins").is_dir() {
        suite.join(Suite::find(&root.join("plugins")));
    }
    golden::main_of(&suite)
}
