//! Streams a project plan into a terminal, where the tree grows as the model writes it:
//! `cargo run -p streamfmt --example plan_tree -- docs/examples/plan.partial.jsonl`

use std::io::{self, BufRead, BufReader, Write};
use std::thread::sleep;
use std::time::Duration;

use streamfmt::{Engine, Pipeline, Setup};

/// Rows at the end of the terminal in which is drawn what isn't complete yet.
const ROWS: usize = 20;

/// Draws what a recording comes to, a line of it after each pause.
pub(crate) fn draw(recording: impl BufRead, pause: Duration, out: &mut impl Write) -> io::Result<()> {
    let engine = Engine::builder().dialect("claude").writer("text").set("records = \"project\"");
    let engine = engine.build().map_err(io::Error::other)?;
    let mut pipeline = Pipeline::new(Setup { shows_open: true, ..engine.setup() });
    let mut preview = String::new();
    for line in recording.lines() {
        // Up to the first row of what was drawn last, and all below it away.
        let above = preview.lines().count();
        let mut text = if above > 0 { format!("\x1b[{above}A\x1b[J") } else { String::new() };
        pipeline.push((line? + "\n").as_bytes(), &mut text).map_err(io::Error::other)?;
        let open = pipeline.open_nodes();
        preview.clear();
        pipeline.preview(&open.nodes, ROWS, &mut preview).map_err(io::Error::other)?;
        // Of a longer one the terminal would keep the first rows.
        let first = preview.lines().count().saturating_sub(ROWS);
        preview = preview.split_inclusive('\n').skip(first).collect();
        out.write_all((text + &preview).as_bytes())?;
        out.flush()?;
        sleep(pause);
    }
    let above = preview.lines().count();
    let mut text = if above > 0 { format!("\x1b[{above}A\x1b[J") } else { String::new() };
    pipeline.finish(&mut text).map_err(io::Error::other)?;
    out.write_all(text.as_bytes())
}

fn main() -> io::Result<()> {
    let path = std::env::args().nth(1).ok_or_else(|| io::Error::other("usage: plan_tree RECORDING"))?;
    let recording = BufReader::new(std::fs::File::open(path)?);
    draw(recording, Duration::from_millis(60), &mut io::stdout())
}
