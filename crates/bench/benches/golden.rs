//! Prints how long golden cases take: `cargo bench -p streamfmt-bench --bench golden`.
//!
//! `GOLDEN_CASES` (1000) is how many, each a folder with a call, its result and a reply; once without a plugin and
//! once with one, each on two threads with all that a case tries for nothing.

use std::error::Error;
use std::path::Path;
use std::time::Instant;
use std::{env, fs};

use streamfmt::golden::{Checker, State, Suite};

/// The program's allocator, so that what is measured here is what it does.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const INPUT: &str = r#"{"type":"assistant","message":{"id":"m-1","role":"assistant","content":[{"type":"tool_use","id":"t-1","name":"Bash","input":{"command":"cargo test"}}]},"session_id":"s"}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t-1","content":"4 passed"}]},"session_id":"s"}
{"type":"assistant","message":{"id":"m-2","role":"assistant","content":[{"type":"text","text":"All is well."}]},"session_id":"s"}
"#;

const PLUGIN: &str = "name = \"bench\"\nversion = \"1.0.0\"\napi = 1\n";
const SCRIPT: &str =
    "sf.tool(\"Bash\", { label = \"sh\", arg = function(input) return input.command end })\n";

fn main() -> Result<(), Box<dyn Error>> {
    let cases: usize = env::var("GOLDEN_CASES").map_or(Ok(1000), |count| count.parse())?;
    let folder = env::temp_dir().join(format!("streamfmt-golden-bench-{}", std::process::id()));
    let measured = measure(&folder, cases);
    fs::remove_dir_all(&folder)?;
    measured
}

fn measure(folder: &Path, cases: usize) -> Result<(), Box<dyn Error>> {
    for number in 0..cases {
        let case = folder.join(format!("tests/case-{number:05}"));
        fs::create_dir_all(&case)?;
        fs::write(case.join("input.ndjson"), INPUT)?;
    }
    for what in ["without a plugin", "with a plugin"] {
        if what == "with a plugin" {
            fs::write(folder.join("plugin.toml"), PLUGIN)?;
            fs::write(folder.join("init.lua"), SCRIPT)?;
        }
        let suite = Suite::find(folder);
        for cell in &suite.cells {
            cell.bless(&cell.check())?;
        }
        let begun = Instant::now();
        let suite = Suite::find(folder);
        let mut equal = 0;
        Checker::default().check_all(&suite.cells, 2, |_, outcome| {
            equal += usize::from(outcome.state() == State::Equal);
            true
        });
        println!("{equal} of {cases} cases equal {what}: {:.2} s (2 s)", begun.elapsed().as_secs_f64());
    }
    Ok(())
}
