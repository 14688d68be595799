//! Reading ahead on another thread gives the same output, and ends when it should.

#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use streamfmt::core::item::Action;
use streamfmt::core::pipeline::{Pieces, Pipeline, Report};
use streamfmt::{Engine, format_ahead};

/// Returns bytes in pieces of varying size, then ends or fails.
struct Drip<'a> {
    bytes: &'a [u8],
    size: usize,
    fails: bool,
}

impl<'a> Drip<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, size: 1, fails: false }
    }
}

impl Read for Drip<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.bytes.is_empty() && self.fails {
            return Err(io::Error::other("no more"));
        }
        // From a few bytes to more than the buffer's size.
        self.size = (self.size * 7 + 3) % 200_003;
        let count = self.size.min(buffer.len()).min(self.bytes.len());
        let (piece, rest) = self.bytes.split_at(count);
        buffer[..count].copy_from_slice(piece);
        self.bytes = rest;
        Ok(count)
    }
}

/// A session of `turns` calls with their results, some far from their calls, with long and broken lines in between and an incomplete last
/// line.
fn session(turns: usize) -> String {
    let mut lines = Vec::new();
    let line = |kind: &str, uuid: String, content: String| {
        let message = format!(r#"{{"id":"msg-{uuid}","role":"{kind}","content":[{content}]}}"#);
        format!(r#"{{"type":"{kind}","uuid":"{uuid}","session_id":"s-{}","message":{message}}}"#, turns % 7)
    };
    for turn in 0..turns {
        let words = "word ".repeat(turn % 50);
        lines.push(line(
            "assistant",
            format!("t{turn}"),
            format!(r#"{{"type":"text","text":"turn {turn}: {words}"}}"#),
        ));
        let input = format!(r#"{{"command":"echo {turn}","description":"say it"}}"#);
        let call = format!(r#"{{"type":"tool_use","id":"call-{turn}","name":"Bash","input":{input}}}"#);
        lines.push(line("assistant", format!("c{turn}"), call));
        if turn >= 3 {
            let text = if turn % 900 == 0 { "long ".repeat(100_000) } else { format!("{turn}\\nsaid") };
            let result =
                format!(r#"{{"type":"tool_result","tool_use_id":"call-{}","content":"{text}"}}"#, turn - 3);
            lines.push(line("user", format!("r{turn}"), result));
        }
        match turn % 211 {
            100 => lines.push("a warning that is no JSON".to_owned()),
            150 => lines.push(r#"{"type":"assistant","uuid":"cut","mess"#.to_owned()),
            200 => lines.push(String::new()),
            _ => {}
        }
    }
    lines.push(r#"{"type":"result","subtype":"success","result":"done","session_id":"s"}"#.to_owned());
    lines.join("\n")
}

fn pipeline(writer: &str) -> Pipeline {
    Pipeline::new(Engine::builder().writer(writer).build().unwrap().setup())
}

fn on_one_thread(writer: &str, input: &str) -> (String, Report) {
    let (mut pipeline, mut text) = (pipeline(writer), String::new());
    pipeline.push(input.as_bytes(), &mut text).unwrap();
    pipeline.finish(&mut text).unwrap();
    (text, pipeline.report().clone())
}

fn read_ahead(mut pipeline: Pipeline, input: impl Read + Send) -> (io::Result<()>, String, Report) {
    let mut text = String::new();
    let read = format_ahead(&mut pipeline, input, |piece| {
        text.push_str(piece);
        ControlFlow::Continue(())
    });
    pipeline.finish(&mut text).unwrap();
    (read, text, pipeline.report().clone())
}

#[test]
fn what_is_read_ahead_says_the_same() {
    let input = session(4_000);
    for writer in ["text", "json", "items", "html"] {
        let (text, report) = on_one_thread(writer, &input);
        assert!(
            text.contains("turn 3999") && report.lines > 12_000 && report.damaged > 0 && report.raw_lines > 0
        );
        let (read, ahead, counts) = read_ahead(pipeline(writer), Drip::of(input.as_bytes()));
        read.unwrap();
        assert!(ahead == text, "{writer}");
        assert_eq!(counts, report, "{writer}");
    }
}

#[test]
fn lines_of_hardly_a_byte_are_said_in_order() {
    let tiny = "\n".repeat(150_000) + &"{}\n".repeat(20_000) + &"x\n".repeat(20_000);
    let input = session(200).replace("call-", "one-") + "\n" + &tiny + &session(200);
    let (text, report) = on_one_thread("json", &input);
    assert!(report.lines > 190_000);
    let (read, ahead, counts) = read_ahead(pipeline("json"), input.as_bytes());
    read.unwrap();
    assert!(ahead == text);
    assert_eq!(counts, report);
}

#[test]
fn an_input_that_no_dialect_claims_is_said_the_same() {
    let input = "no record\n{\"some\":1}\n{\"cut\":\n\n".repeat(20_000) + "no end";
    for writer in ["text", "items"] {
        let (text, report) = on_one_thread(writer, &input);
        assert!(report.dialect.is_none() && report.raw_lines > 40_000 && report.damaged > 19_000);
        let (read, ahead, counts) = read_ahead(pipeline(writer), Drip::of(input.as_bytes()));
        read.unwrap();
        assert!(ahead == text, "{writer}");
        assert_eq!(counts, report, "{writer}");
    }
}

#[test]
fn what_was_read_before_an_error_is_said() {
    let input = session(2_000);
    let (text, _) = on_one_thread("text", &input);
    let drip = Drip { fails: true, ..Drip::of(input.as_bytes()) };
    let (read, ahead, _) = read_ahead(pipeline("text"), drip);
    assert_eq!(read.unwrap_err().to_string(), "no more");
    assert!(ahead == text);
}

#[test]
fn nothing_more_is_read_once_nothing_more_is_wanted() {
    let input = session(20_000);
    let mut pipeline = pipeline("text");
    let mut drip = Drip::of(input.as_bytes());
    let mut said = 0;
    format_ahead(&mut pipeline, &mut drip, |_| {
        said += 1;
        if said < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
    .unwrap();
    assert_eq!(said, 3);
    assert!(drip.bytes.len() > input.len() / 2, "{} bytes left", drip.bytes.len());
}

#[test]
fn a_panic_ends_both_threads_and_comes_out() {
    let input = session(5_000);
    let mut pipeline = pipeline("text");
    let mut said = 0;
    let ended = catch_unwind(AssertUnwindSafe(|| {
        format_ahead(&mut pipeline, Drip::of(input.as_bytes()), |_| {
            said += 1;
            assert!(said < 4, "on purpose");
            ControlFlow::Continue(())
        })
    }));
    assert!(ended.is_err() && said == 4);
}

#[test]
fn a_sub_agents_file_of_any_size_is_said_at_its_place() {
    let result = r#"{"type":"user","uuid":"u","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"task","content":"ok"}]}}"#;
    let call = r#"{"type":"assistant","uuid":"a","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"task","name":"Task","input":{"prompt":"go"}}]}}"#;
    let input = format!("{}\n{call}\n{result}\n{}", session(300).replace("call-", "one-"), session(300));
    let nested = session(6_000).replace("call-", "inner-");
    let with_agent = || {
        let mut setup = Engine::builder().writer("json").build().unwrap().setup();
        let mut nested = Some(nested.clone().into_bytes());
        setup.subagents = Some(Box::new(move |item| {
            let is_call = item.action() == Some(Action::Delegate);
            let bytes = nested.take_if(|_| is_call)?;
            Some(Box::new(std::iter::once(bytes)) as Pieces)
        }));
        Pipeline::new(setup)
    };
    let (mut one, mut text) = (with_agent(), String::new());
    one.push(input.as_bytes(), &mut text).unwrap();
    one.finish(&mut text).unwrap();
    assert!(text.contains("inner-5999"));
    let (read, ahead, report) = read_ahead(with_agent(), Drip::of(input.as_bytes()));
    read.unwrap();
    assert!(ahead == text);
    assert_eq!(&report, one.report());
}
