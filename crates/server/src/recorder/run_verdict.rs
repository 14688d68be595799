//! Decides how a run has ended, from the facts at its end.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use crate::findings::{StreamEnd, StreamVerdict};
use crate::side_file::{AgentExit, SessionStatus};

/// The facts about a run at its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunEndFacts {
    /// How the agent's process ended.
    pub(super) exit: AgentExit,
    /// Whether a signal to this program ended the run.
    pub(super) is_interrupted: bool,
    /// Whether the agent was ended because it kept running after its result.
    pub(super) is_stopped: bool,
    /// Whether a known agent was started.
    pub(super) is_known_agent: bool,
    /// The end of its stream.
    pub(super) stream: StreamVerdict,
}

/// How a run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RunVerdict {
    pub(super) status: SessionStatus,
    /// The exit code of the run: 0 if it is done, otherwise the agent's.
    pub(super) code: u8,
    /// Whether the lack of a result has to be reported: the stream that is shown doesn't show it.
    pub(super) lacks_result: bool,
}

impl RunEndFacts {
    pub(super) fn verdict(self) -> RunVerdict {
        let is_agent = self.stream.is_known || self.is_known_agent;
        let has_done_well = !is_agent || self.stream.end == StreamEnd::Done;
        let status = match self.exit {
            _ if self.is_interrupted => SessionStatus::Interrupted,
            _ if self.is_stopped && has_done_well => SessionStatus::Done,
            AgentExit::Signal(_) if !self.is_stopped => SessionStatus::Interrupted,
            AgentExit::Code(0) if has_done_well => SessionStatus::Done,
            _ if self.stream.end == StreamEnd::Interrupted => SessionStatus::Interrupted,
            _ => SessionStatus::Failed,
        };
        let code = if status == SessionStatus::Done { 0 } else { code_of(self.exit) };
        // For a known stream, the display shows the same at its place.
        let lacks_result = status == SessionStatus::Failed && is_agent && !self.stream.is_known;
        RunVerdict { status, code, lacks_result }
    }
}

/// Returns how a process ended.
pub(super) fn exit_of(status: ExitStatus) -> AgentExit {
    match (status.code(), status.signal()) {
        (Some(code), _) => AgentExit::Code(code),
        (None, Some(signal)) => AgentExit::Signal(signal),
        // Unreachable: the process was waited for, so it has ended.
        (None, None) => AgentExit::Code(1),
    }
}

/// Returns the exit code of this program for an agent that ended in this way.
fn code_of(exit: AgentExit) -> u8 {
    let code = match exit {
        AgentExit::Code(code) => code,
        AgentExit::Signal(signal) => 128 + signal,
    };
    u8::try_from(code).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use streamfmt::Engine;
    use streamfmt::core::pipeline::Pipeline;

    use super::*;
    use crate::findings::StreamFindings;
    use crate::keeper::setup;

    const INIT: &str =
        r#"{"type":"system","subtype":"init","session_id":"s-1","model":"m","cwd":"/","tools":[]}"#;

    fn result(fields: &str) -> String {
        format!("{INIT}\n{{\"type\":\"result\",{fields},\"num_turns\":1,\"session_id\":\"s-1\"}}\n")
    }

    /// The streams of the table, by name.
    fn stream(name: &str) -> String {
        match name {
            // All its output is on standard error.
            "silent" => String::new(),
            "text" => "building\n".to_owned(),
            "success" => result(r#""subtype":"success","is_error":false,"result":"Done.""#),
            "is_error" => result(r#""subtype":"success","is_error":true,"result":"API Error: 500""#),
            "subtype" => result(r#""subtype":"error_max_turns","is_error":false"#),
            "both" => result(r#""subtype":"error_during_execution","is_error":true"#),
            // It breaks off.
            "stops" => format!("{INIT}\n"),
            "half a line" => format!("{INIT}\n{{\"type\":\"resu"),
            "interrupt" => format!(
                "{INIT}\n{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"text\",\"text\":\"[Request interrupted by user]\"}}]}},\"session_id\":\"s-1\"}}\n"
            ),
            "second run fails" => stream("success") + &stream("is_error"),
            // Nothing was done after the result.
            "second run begins" => stream("success") + INIT + "\n",
            "second run stops" => {
                let reply = r#"{"type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"Next."}]},"session_id":"s-1"}"#;
                stream("second run begins") + reply + "\n"
            }
            _ => panic!("{name}"),
        }
    }

    fn verdict_of(engine: &Engine, stream: &str) -> StreamVerdict {
        let mut pipeline = Pipeline::new(setup(engine));
        let mut findings = StreamFindings::default();
        let _ = pipeline.push(stream.as_bytes(), &mut String::new());
        let _ = pipeline.finish(&mut String::new());
        findings.update(&pipeline, stream.as_bytes(), None);
        findings.verdict
    }

    /// An exit: a code, or a negative signal number.
    fn exit(name: i32) -> AgentExit {
        exit_of(ExitStatus::from_raw(if name < 0 { -name } else { name << 8 }))
    }

    /// Who ended the run.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum EndedBy {
        Itself,
        /// A signal to this program.
        User,
        /// This program, since the agent kept running after its result.
        Us,
    }
    use EndedBy::{Itself, Us, User};

    const DONE: SessionStatus = SessionStatus::Done;
    const FAILED: SessionStatus = SessionStatus::Failed;
    const INTERRUPTED: SessionStatus = SessionStatus::Interrupted;

    #[test]
    fn a_known_agent_has_done_well_if_its_last_result_and_its_exit_are_good() {
        check(
            true,
            &[
                ("success", 0, Itself, DONE, 0),
                ("success", 1, Itself, FAILED, 1),
                ("success", 255, Itself, FAILED, 255),
                ("success", -15, Itself, INTERRUPTED, 143),
                ("success", -9, Itself, INTERRUPTED, 137),
                ("success", 0, User, INTERRUPTED, 0),
                ("success", 1, User, INTERRUPTED, 1),
                ("success", -2, User, INTERRUPTED, 130),
                // It was ended because it had finished.
                ("success", 0, Us, DONE, 0),
                ("success", 143, Us, DONE, 0),
                ("success", -15, Us, DONE, 0),
                ("success", -9, Us, DONE, 0),
                // Some agents exit with 0 although they failed.
                ("is_error", 0, Itself, FAILED, 0),
                ("is_error", 1, Itself, FAILED, 1),
                ("is_error", -15, Itself, INTERRUPTED, 143),
                ("is_error", 0, User, INTERRUPTED, 0),
                ("is_error", 0, Us, FAILED, 0),
                ("is_error", -15, Us, FAILED, 143),
                ("subtype", 0, Itself, FAILED, 0),
                ("subtype", 1, Itself, FAILED, 1),
                ("subtype", -6, Itself, INTERRUPTED, 134),
                ("subtype", -15, Us, FAILED, 143),
                ("both", 0, Itself, FAILED, 0),
                ("both", 2, Itself, FAILED, 2),
                ("stops", 0, Itself, FAILED, 0),
                ("stops", 1, Itself, FAILED, 1),
                ("stops", -11, Itself, INTERRUPTED, 139),
                ("stops", 0, User, INTERRUPTED, 0),
                ("half a line", 0, Itself, FAILED, 0),
                ("half a line", -9, Itself, INTERRUPTED, 137),
                // The user interrupted it, and it ended by itself.
                ("interrupt", 0, Itself, INTERRUPTED, 0),
                ("interrupt", 1, Itself, INTERRUPTED, 1),
                ("interrupt", -2, Itself, INTERRUPTED, 130),
                ("second run fails", 0, Itself, FAILED, 0),
                ("second run begins", 0, Itself, DONE, 0),
                ("second run stops", 0, Itself, FAILED, 0),
                ("silent", 0, User, INTERRUPTED, 0),
                ("silent", -9, Itself, INTERRUPTED, 137),
                ("text", -9, Itself, INTERRUPTED, 137),
            ],
            false,
        );
        // Only here the displayed stream lacks a notice about the missing result.
        check(
            true,
            &[
                ("silent", 0, Itself, FAILED, 0),
                ("silent", 1, Itself, FAILED, 1),
                ("silent", 127, Itself, FAILED, 127),
                ("text", 0, Itself, FAILED, 0),
                ("text", 1, Itself, FAILED, 1),
            ],
            true,
        );
    }

    #[test]
    fn any_other_program_has_done_well_if_its_exit_is_good_and_its_stream_has_no_bad_end() {
        check(
            false,
            &[
                ("silent", 0, Itself, DONE, 0),
                ("silent", 1, Itself, FAILED, 1),
                ("silent", -9, Itself, INTERRUPTED, 137),
                ("silent", 0, User, INTERRUPTED, 0),
                ("text", 0, Itself, DONE, 0),
                ("text", 2, Itself, FAILED, 2),
                ("text", -15, Itself, INTERRUPTED, 143),
                ("success", 0, Itself, DONE, 0),
                ("success", 3, Itself, FAILED, 3),
                ("success", -15, Us, DONE, 0),
                ("is_error", 0, Itself, FAILED, 0),
                ("subtype", 0, Itself, FAILED, 0),
                ("stops", 0, Itself, FAILED, 0),
                ("half a line", 0, Itself, FAILED, 0),
                ("interrupt", 0, Itself, INTERRUPTED, 0),
                ("second run stops", 1, Itself, FAILED, 1),
            ],
            false,
        );
    }

    /// Checks rows of a stream, an exit and the cause of the end, then the status and the code of the run.
    fn check(is_known_agent: bool, rows: &[(&str, i32, EndedBy, SessionStatus, u8)], lacks_result: bool) {
        let engine = Engine::builder().no_project(true).build().unwrap();
        for row in rows {
            let (name, raw, by, status, code) = *row;
            let facts = RunEndFacts {
                exit: exit(raw),
                is_interrupted: by == User,
                is_stopped: by == Us,
                is_known_agent,
                stream: verdict_of(&engine, &stream(name)),
            };
            assert_eq!(facts.verdict(), RunVerdict { status, code, lacks_result }, "{row:?}");
        }
    }
}
