//! Measures the cost of showing a reply or call while it grows on a terminal, and the delay until it is shown.
//!
//! `cargo bench -p streamfmt-bench --bench live`; `LIVE_RUNS` (9) changes the number of runs.

use std::error::Error;
use std::hint::black_box;
use std::time::Duration;

use streamfmt::core::pipeline::{Pipeline, Setup};
use streamfmt::core::theme::ColorDepth;
use streamfmt::{Engine, OutputCapabilities};
use streamfmt_bench::measure::{Times, cpu};
use streamfmt_bench::session::{is_asked_for, number};

/// The program's allocator, so that what is measured here is what it does.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Rows of a frame.
const ROWS: usize = 20;
/// Pieces that a text comes in.
const DELTAS: usize = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    if !is_asked_for() {
        return Ok(());
    }
    let runs = number("LIVE_RUNS", 9).max(1);
    let looks = OutputCapabilities {
        color: Some(ColorDepth::TrueColor),
        width: Some(100),
        ..OutputCapabilities::default()
    };
    let engine = Engine::builder().dialect("claude").writer("ansi").capabilities(looks).build();
    let engine = engine.map_err(|problems| problems.to_string())?;
    println!("| what | must | best | median |\n|---|---|---|---|");
    for (what, lines) in [("a reply", reply(DELTAS)), ("a Write", write(DELTAS))] {
        for (looks, must) in [(20, "15 ms"), (2_000, "150 ms")] {
            let mut times = Times::default();
            for _ in 0..runs {
                times.add(cpu(|| paint(&engine, &lines, looks)));
            }
            let what = format!("{what} of 100 KB in 10,000 deltas, painted {looks} times, CPU in all");
            println!(
                "| {what} | {must} | {} | {} |",
                milliseconds(times.min()),
                milliseconds(times.median())
            );
        }
    }
    #[cfg(unix)]
    {
        let binary = streamfmt_bench::binary::Binary::build()?;
        // At a thousand looks a second hardly any of the time is waiting for the next look: what is left is our own work.
        for (rate, what, must) in [(20, "", "60 ms"), (1_000, ", live.rate = 1000", "2 ms")] {
            let times = terminal::show(&binary, rate)?;
            let row = format!("delta in to bytes on the terminal{what}");
            println!("| {row}, half of them |  |  | {} |", milliseconds(times.median()));
            println!("| {row}, 99 of 100 | {must} |  | {} |", milliseconds(times.quantile(0.99)));
        }
    }
    Ok(())
}

/// Formats what grows, and lays out what a terminal shows of it, so many times.
fn paint(engine: &Engine, lines: &[String], looks: usize) {
    let mut pipeline = Pipeline::new(Setup { shows_open: true, ..engine.setup() });
    let (mut text, mut frame) = (String::new(), String::new());
    for (number, line) in lines.iter().enumerate() {
        // A string takes everything.
        let _ = pipeline.push(line.as_bytes(), &mut text);
        if number % (lines.len() / looks) == 0 {
            frame.clear();
            let open = pipeline.open_nodes();
            let _ = pipeline.preview(&open.nodes, ROWS, &mut frame);
            black_box(&frame);
        }
    }
    let _ = pipeline.finish(&mut text);
    black_box(&text);
}

fn event(event: &str) -> String {
    format!(
        r#"{{"type":"stream_event","event":{event},"parent_tool_use_id":null,"session_id":"5e55","uuid":"u"}}"#
    ) + "\n"
}

fn started(block: &str) -> Vec<String> {
    vec![
        event(r#"{"type":"message_start","message":{"id":"msg_1","role":"assistant","content":[]}}"#),
        event(&format!(r#"{{"type":"content_block_start","index":0,"content_block":{block}}}"#)),
    ]
}

fn delta(delta: &str) -> String {
    event(&format!(r#"{{"type":"content_block_delta","index":0,"delta":{delta}}}"#))
}

fn whole(block: &str) -> Vec<String> {
    let message = format!(
        r#"{{"type":"assistant","message":{{"id":"msg_1","role":"assistant","content":[{block}]}},"session_id":"5e55","uuid":"v"}}"#
    );
    vec![message + "\n", event(r#"{"type":"message_stop"}"#)]
}

/// A reply in Markdown: a paragraph every 60 words, a point and code here and there.
fn reply(count: usize) -> Vec<String> {
    let piece = |number: usize| match number % 600 {
        59 => "the list:\\n\\n- ",
        119 => "the **end**\\n\\n",
        179 => ":\\n\\n```rust\\n",
        239 => "\\n```\\n\\n",
        other if other % 60 == 59 => "the end.\\n\\n",
        _ => "and so on ",
    };
    let pieces = (0..count).map(piece);
    let mut lines = started(r#"{"type":"text","text":""}"#);
    lines.extend(pieces.clone().map(|piece| delta(&format!(r#"{{"type":"text_delta","text":"{piece}"}}"#))));
    lines.extend(whole(&format!(r#"{{"type":"text","text":"{}"}}"#, pieces.collect::<String>())));
    lines
}

/// A file that is written, its content in small pieces.
fn write(count: usize) -> Vec<String> {
    let piece = |number: usize| if number % 6 == 5 { "f();\\n    " } else { "and so on " };
    let content: String = (0..count).map(piece).collect();
    let named = r#"{"type":"tool_use","id":"t1","name":"Write","input":"#;
    let mut lines = started(&format!("{named}{{}}}}"));
    let json = |json: &str| {
        let escaped = json.replace('\\', "\\\\").replace('"', "\\\"");
        delta(&format!(r#"{{"type":"input_json_delta","partial_json":"{escaped}"}}"#))
    };
    lines.push(json(r#"{"file_path":"/tmp/a.rs","content":""#));
    lines.extend((0..count).map(|number| json(piece(number))));
    lines.push(json(r#""}"#));
    lines.extend(whole(&format!(r#"{named}{{"file_path":"/tmp/a.rs","content":"{content}"}}}}"#)));
    lines
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

#[cfg(unix)]
mod terminal {
    use std::error::Error;
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::sync::mpsc::{Receiver, channel};
    use std::thread;
    use std::time::{Duration, Instant};

    use streamfmt_bench::binary::Binary;
    use streamfmt_bench::measure::Times;

    use super::{delta, started};

    /// How long it takes from a piece of a reply to its bytes on a terminal, at so many looks a second.
    pub(super) fn show(binary: &Binary, rate: u32) -> Result<Times, Box<dyn Error>> {
        let (pty, pts) = pty_process::blocking::open()?;
        pty.resize(pty_process::Size::new(40, 100))?;
        let (input, mut deltas) = std::io::pipe()?;
        let command = pty_process::blocking::Command::new(binary.path())
            .env("TERM", "xterm-256color")
            .env("STREAMFMT_BACKGROUND", "dark")
            .env("STREAMFMT_MOTION", "0")
            .args(["--set", &format!("live.rate={rate}")])
            .stdin(input);
        let mut program = command.spawn(pts)?;
        let screen = read(File::from(pty.as_fd().try_clone_to_owned()?));
        for line in started(r#"{"type":"text","text":""}"#) {
            deltas.write_all(line.as_bytes())?;
        }
        let mut times = Times::default();
        let mut seen = String::new();
        for number in 0..500 {
            let word = format!("w{number:05}");
            let line = delta(&format!(r#"{{"type":"text_delta","text":"{word} "}}"#));
            let sent = Instant::now();
            deltas.write_all(line.as_bytes())?;
            while !seen.contains(&word) {
                let (at, bytes) = screen.recv_timeout(Duration::from_secs(5))?;
                seen.push_str(&String::from_utf8_lossy(&bytes));
                if seen.contains(&word) {
                    times.add(at.duration_since(sent));
                }
            }
            seen.clear();
            // So that pieces come at any time between two looks.
            thread::sleep(Duration::from_millis(7 * (number % 13)));
        }
        drop(deltas);
        drop(screen);
        drop(pty);
        let _ = program.wait()?;
        Ok(times)
    }

    /// What comes out of a terminal, and when.
    fn read(mut terminal: File) -> Receiver<(Instant, Vec<u8>)> {
        let (send, receive) = channel();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = terminal.read(&mut buffer) {
                if send.send((Instant::now(), buffer[..count].to_vec())).is_err() {
                    return;
                }
            }
        });
        receive
    }
}
