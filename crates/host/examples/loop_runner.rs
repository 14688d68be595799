//! Runs an agent again and again until a run succeeds, and shows each as it goes:
//! `cargo run --example loop_runner -- 5 claude -p "fix the tests" --output-format stream-json --verbose`

use std::io::{self, Read, Write};
use std::process::{Command, ExitCode, Stdio};

use streamfmt::{Engine, Pipeline};

/// Runs a command once and writes what it does to `out`. Returns whether the run ended well.
pub(crate) fn run(engine: &Engine, command: &[String], out: &mut impl Write) -> io::Result<bool> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut agent = Command::new(program).args(arguments).stdout(Stdio::piped()).spawn()?;
    let (mut pipeline, mut text) = (Pipeline::new(engine.setup()), String::new());
    let mut stream = agent.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let mut buffer = [0; 16 * 1024];
    loop {
        let length = stream.read(&mut buffer)?;
        if length == 0 {
            pipeline.finish(&mut text).map_err(io::Error::other)?;
        } else {
            pipeline.push(&buffer[..length], &mut text).map_err(io::Error::other)?;
        }
        out.write_all(text.as_bytes())?;
        text.clear();
        if length == 0 {
            break;
        }
    }
    let report = pipeline.report();
    Ok(agent.wait()?.success() && !report.failed && !report.lacks_outcome())
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [times, command @ ..] = &arguments[..] else {
        return Err("usage: loop_runner TIMES COMMAND…".into());
    };
    let engine = Engine::builder().dialect("claude").writer("text").build()?;
    for _ in 0..times.parse::<u32>()? {
        if run(&engine, command, &mut io::stdout())? {
            return Ok(ExitCode::SUCCESS);
        }
    }
    Ok(ExitCode::FAILURE)
}
