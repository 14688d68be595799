//! The loop with real pipes and logs, but without an agent: a script determines all writes, closes, signals and reads, and their times.
//! Time passes only while nothing can be read, so a run of a minute takes no time, and is deterministic.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io::{PipeWriter, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;

use rustix::event::{Timespec, poll};
use streamfmt::Engine;
use tempfile::TempDir;

use super::*;
use crate::feed::{FeedStep, LiveFeed, feed};
use crate::findings::StreamEnd;
use crate::helper::Helper;
use crate::keeper::KeptSideFile;
use crate::recorder::RunRecorder;
use crate::recorder::run_state::RunState;
use crate::run_id::RunId;
use crate::session_paths::SessionPaths;
use crate::side_file::{LogGap, SessionStatus};
use crate::signals::SignalLines;
use crate::sync::SyncPolicy;

/// A request of the loop, with the milliseconds since the start of the run.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    Send(u64, Signal),
    Dismiss(u64),
    EndBy(Signal),
}

/// The other ends of all pipes of the loop.
struct Ends {
    folder: TempDir,
    output: Option<PipeWriter>,
    errors: Option<PipeWriter>,
    exit: Option<PipeWriter>,
    requests: PipeWriter,
    int: UnixStream,
    term: UnixStream,
    display: Option<LiveFeed>,
    kept: Option<LiveFeed>,
    /// Everything that the display has read: bytes of standard output and of standard error, and notices as text.
    shown: Vec<(&'static str, Vec<u8>)>,
    /// The processes that the agent left running.
    helpers: Vec<Helper>,
    exited: ExitStatus,
}

type Step = fn(&mut Ends);

/// A scripted run.
struct Script {
    begun: Instant,
    now: Instant,
    /// The steps, each with the milliseconds since the start.
    steps: VecDeque<(u64, Step)>,
    ends: Rc<RefCell<Ends>>,
    asked: Rc<RefCell<Vec<Asked>>>,
    /// The number of times that the loop waited.
    waits: Rc<RefCell<usize>>,
}

impl Script {
    fn millis(&self) -> u64 {
        u64::try_from((self.now - self.begun).as_millis()).unwrap()
    }
}

impl RunWorld for Script {
    fn now(&self) -> Instant {
        self.now
    }

    /// Advances to the next step, or to the end of the loop's patience if that is earlier.
    fn wait(&mut self, sources: &mut [PollFd<'_>], patience: Option<Duration>) {
        *self.waits.borrow_mut() += 1;
        let at_once = Timespec::try_from(Duration::ZERO).unwrap();
        if poll(sources, Some(&at_once)).unwrap() > 0 {
            return;
        }
        let next = self.steps.front().map(|(millis, _)| self.begun + Duration::from_millis(*millis));
        let end = patience.map(|patience| self.now + patience);
        match (next, end) {
            (Some(next), end) if end.is_none_or(|end| next <= end) => {
                self.now = self.now.max(next);
                let (_, step) = self.steps.pop_front().unwrap();
                step(&mut self.ends.borrow_mut());
            }
            (_, Some(end)) => self.now = end,
            (_, None) => panic!("the loop waits for ever, after {} ms", self.millis()),
        }
    }

    fn send(&mut self, signal: Signal) {
        self.asked.borrow_mut().push(Asked::Send(self.millis(), signal));
        if signal == Signal::KILL {
            self.ends.borrow_mut().helpers.clear();
        }
    }

    fn helpers(&self) -> Vec<Helper> {
        self.ends.borrow().helpers.clone()
    }

    fn exit(&mut self) -> ExitStatus {
        self.ends.borrow().exited
    }

    fn dismiss_watchdog(&mut self) {
        self.asked.borrow_mut().push(Asked::Dismiss(self.millis()));
    }

    fn end_by(&mut self, signal: Signal, _: Duration) {
        self.asked.borrow_mut().push(Asked::EndBy(signal));
    }
}

impl Ends {
    fn write(&mut self, text: &str) {
        self.output.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Ends the agent. `holds`: whether a helper keeps its pipes open.
    fn agent_ends(&mut self, holds: bool) {
        self.exit = None;
        if !holds {
            (self.output, self.errors) = (None, None);
        }
    }

    /// Lets the display read everything available.
    fn show(&mut self) {
        let mut buffer = vec![0; CHUNK];
        let Some(display) = &mut self.display else { return };
        loop {
            let (from, bytes) = match display.next(&mut buffer).unwrap() {
                FeedStep::Output(count) => ("output", buffer[..count].to_vec()),
                FeedStep::Errors(count) => ("errors", buffer[..count].to_vec()),
                FeedStep::Notice(notice) => ("notice", format!("{notice:?}").into_bytes()),
                FeedStep::Wait | FeedStep::Over => return,
            };
            match self.shown.last_mut() {
                Some((of, shown)) if *of == from && from != "notice" => shown.extend(bytes),
                _ => self.shown.push((from, bytes)),
            }
        }
    }

    /// Returns the displayed text: each output, and each notice.
    fn shown(&self) -> Vec<(&'static str, String)> {
        let text = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).unwrap();
        self.shown.iter().map(|(from, bytes)| (*from, text(bytes))).collect()
    }

    fn notices(&self) -> Vec<String> {
        let notices = self.shown().into_iter().filter(|(from, _)| *from == "notice");
        notices.map(|(_, notice)| notice).collect()
    }

    /// Returns the keeper's available input, if it has read nothing so far.
    fn kept(&mut self) -> Vec<u8> {
        let (mut found, mut buffer) = (Vec::new(), vec![0; CHUNK]);
        let kept = self.kept.as_mut().unwrap();
        loop {
            match kept.next(&mut buffer).unwrap() {
                FeedStep::Output(count) => found.extend_from_slice(&buffer[..count]),
                FeedStep::Errors(_) => panic!("it has standard output only"),
                FeedStep::Notice(_) => {}
                FeedStep::Wait | FeedStep::Over => return found,
            }
        }
    }

    /// Returns the log of standard error.
    fn errors_log(&self) -> String {
        let names = fs::read_dir(self.folder.path().join("sessions")).unwrap();
        let mut paths = names.map(|entry| entry.unwrap().path());
        let path = paths.find(|path| path.extension().is_some_and(|ending| ending == "stderr")).unwrap();
        fs::read_to_string(path).unwrap()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

/// A scripted run, before it starts.
struct Scripted {
    run: RunLoop<Script>,
    ends: Rc<RefCell<Ends>>,
    asked: Rc<RefCell<Vec<Asked>>>,
    waits: Rc<RefCell<usize>>,
}

impl Scripted {
    /// Creates a run. `log`: a path relative to the folder of the test, or an absolute one.
    fn new(log: &str, steps: &[(u64, Step)]) -> Self {
        let folder = tempfile::Builder::new().prefix("streamfmt-loop-").tempdir().unwrap();
        let (log, opened) = RawLog::open(&folder.path().join(log), SyncPolicy::Never);
        let (mut display, display_feed) = feed().unwrap();
        let (kept, kept_feed) = feed().unwrap();
        match (opened, log.reader(), log.reader()) {
            (Err(error), ..) => display.notice(RunNotice::Unwritten(log.path.clone(), error)),
            (Ok(()), Some(one), Some(other)) => {
                display.open(Channel::Output, one);
                kept.open(Channel::Output, other);
            }
            _ => {}
        }
        let (output, output_end) = io::pipe().unwrap();
        let (errors, errors_end) = io::pipe().unwrap();
        let (exit, exit_end) = io::pipe().unwrap();
        let (requests, requests_end) = io::pipe().unwrap();
        let (int, int_end) = UnixStream::pair().unwrap();
        let (term, term_end) = UnixStream::pair().unwrap();
        let ends = Rc::new(RefCell::new(Ends {
            output: Some(output_end),
            errors: Some(errors_end),
            exit: Some(exit_end),
            requests: requests_end,
            int: int_end,
            term: term_end,
            display: Some(display_feed),
            kept: Some(kept_feed),
            shown: Vec::new(),
            helpers: Vec::new(),
            exited: ExitStatus::default(),
            folder,
        }));
        let (asked, waits) = (Rc::default(), Rc::default());
        let begun = Instant::now();
        let world = Script {
            begun,
            now: begun,
            steps: steps.iter().copied().collect(),
            ends: Rc::clone(&ends),
            asked: Rc::clone(&asked),
            waits: Rc::clone(&waits),
        };
        let paths = SessionPaths { folder: ends.borrow().folder.path().join("sessions") };
        paths.create().unwrap();
        let options = RunRecorder {
            id: RunId::new(Timestamp::UNIX_EPOCH),
            started: Timestamp::UNIX_EPOCH,
            command: Vec::new(),
            added: Vec::new(),
            agent: None,
            engine: Engine::builder().no_project(true).build().unwrap(),
            task: None,
            resumes: None,
            labels: BTreeMap::new(),
            passes_stdin: false,
            window: (80, 24),
            paths: paths.clone(),
            log: None,
            sync: SyncPolicy::Never,
            kill_after: None,
            exit_after_result: None,
            cost_limits: CostLimits::default(),
            ends_helpers: false,
            minds_hangup: true,
        };
        let side = options.side_file(&log);
        let verdict = StreamVerdict { is_known: true, end: StreamEnd::Done };
        let run = RunLoop {
            world,
            signals: SignalLines::scripted(vec![(Signal::INT, int), (Signal::TERM, term)]),
            display,
            kept,
            keeper: Some(thread::spawn(move || verdict)),
            side: Arc::new(KeptSideFile::new(paths, SyncPolicy::Never, side)),
            output: AgentOutput { pipe: Some(output), log: Some(log) },
            errors: AgentOutput { pipe: Some(errors), log: None },
            exit: Some(exit),
            requests: Some(requests),
            state: RunState::new(options.kill_after, begun),
            begun,
            last_retry: begun,
            options,
        };
        Self { run, ends, asked, waits }
    }

    /// Runs the loop. Returns the reason for its end, and the time in milliseconds.
    fn listen(&mut self) -> (RunOver, u64) {
        let over = self.run.listen();
        assert_eq!(self.run.world.steps.len(), 0, "all of the script happened before the run was over");
        (over, self.run.world.millis())
    }

    /// Lets the run end, and the display read the rest.
    fn finish(self) -> (RunEnd, Vec<Asked>, Ends) {
        self.end(RunLoop::finish)
    }

    fn end(self, end: impl FnOnce(RunLoop<Script>) -> RunEnd) -> (RunEnd, Vec<Asked>, Ends) {
        let end = end(self.run);
        self.ends.borrow_mut().show();
        let Ok(ends) = Rc::try_unwrap(self.ends) else { panic!("the loop is gone") };
        (end, self.asked.take(), ends.into_inner())
    }
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn pieces_cut_anywhere_are_in_the_log_before_they_are_shown() {
    let mut scripted = Scripted::new(
        "log",
        &[
            (10, |ends| ends.write("{\"a\":1}\n{\"b")),
            (20, |ends| {
                assert_eq!(ends.log(), "{\"a\":1}\n{\"b", "a line that isn't whole is kept as well");
                ends.show();
                ends.errors.as_mut().unwrap().write_all("caf\u{e9}".as_bytes().split_at(4).0).unwrap();
            }),
            (30, |ends| {
                ends.show();
                ends.errors.as_mut().unwrap().write_all(&"\u{e9}\n".as_bytes()[1..]).unwrap();
                ends.write("\":");
            }),
            (40, |ends| ends.write("2}\n")),
            (50, |ends| ends.agent_ends(false)),
        ],
    );
    assert_eq!(scripted.listen(), (RunOver::Heard, 50));
    let (end, asked, ends) = scripted.finish();
    let whole = "{\"a\":1}\n{\"b\":2}\n";
    assert_eq!((ends.log().as_str(), ends.errors_log().as_str()), (whole, "caf\u{e9}\n"));
    let of = |from: &str| -> Vec<u8> {
        ends.shown.iter().filter(|(of, _)| *of == from).flat_map(|(_, bytes)| bytes.clone()).collect()
    };
    assert_eq!((of("output"), of("errors")), (whole.into(), "caf\u{e9}\n".into()));
    let order: Vec<&str> = ends.shown.iter().map(|(from, _)| *from).collect();
    assert_eq!(order[..3], ["output", "errors", "output"], "in the order in which they came");
    assert!(end.is_log_whole && end.status == SessionStatus::Done);
    assert_eq!(asked, [Asked::Dismiss(50)]);
}

#[test]
fn a_helper_that_holds_the_pipes_is_heard_until_half_a_second_is_quiet() {
    let mut scripted = Scripted::new(
        "log",
        &[
            (0, |ends| ends.write("1\n")),
            // Before the agent ends, silence of any length has no effect.
            (600_000, |ends| {
                ends.write("2\n");
                ends.helpers = vec![Helper { pid: 7, name: "server".to_owned() }];
                ends.agent_ends(true);
            }),
            (600_400, |ends| ends.write("3\n")),
            (600_899, |ends| ends.write("4\n")),
        ],
    );
    assert_eq!(scripted.listen(), (RunOver::Heard, 601_399));
    let waits = *scripted.waits.borrow();
    assert!(waits < 15, "it waited {waits} times, and nothing is asked again and again");
    let (end, asked, ends) = scripted.finish();
    assert_eq!(ends.log(), "1\n2\n3\n4\n");
    assert_eq!((end.code, asked), (0, vec![Asked::Dismiss(601_399)]), "what was left running goes on");
    let notices: Vec<_> = ends.shown().into_iter().filter(|(from, _)| *from == "notice").collect();
    assert_eq!(notices.len(), 1);
    assert!(notices[0].1.contains("LeftRunning") && notices[0].1.contains("server"), "{notices:?}");
}

#[test]
fn a_helper_that_never_stops_writing_is_heard_for_half_a_minute() {
    let mut steps: Vec<(u64, Step)> = vec![(0, |ends| ends.agent_ends(true))];
    steps.extend((1..=299).map(|number| (number * 100, (|ends| ends.write("x")) as Step)));
    steps.push((29_999, |ends| ends.write("y")));
    steps.push((30_000, |ends| ends.write("and on it goes")));
    let mut scripted = Scripted::new("log", &steps);
    assert_eq!(scripted.listen(), (RunOver::StillWriting, 30_000));
    let (_, _, ends) = scripted.finish();
    assert_eq!(ends.log(), format!("{}y", "x".repeat(299)));
}

#[test]
fn what_the_pipe_holds_when_the_agent_ends_is_read_however_much_it_is() {
    let mut scripted = Scripted::new(
        "log",
        &[(5, |ends| {
            ends.write(&"o".repeat(60_000));
            ends.errors.as_mut().unwrap().write_all("e".repeat(60_000).as_bytes()).unwrap();
            ends.agent_ends(false);
        })],
    );
    assert_eq!(scripted.listen(), (RunOver::Heard, 5));
    let (_, _, ends) = scripted.finish();
    assert_eq!((ends.log().len(), ends.errors_log().len()), (60_000, 60_000));
}

#[test]
fn a_log_that_cannot_be_opened_is_tried_each_second_while_the_display_goes_on() {
    let mut scripted = Scripted::new(
        "missing/log",
        &[
            (100, |ends| ends.write("1\n")),
            (200, |ends| {
                ends.show();
                assert_eq!(
                    ends.shown().last().unwrap(),
                    &("output", "1\n".to_owned()),
                    "the display doesn't wait"
                );
            }),
            (2500, |ends| fs::create_dir(ends.folder.path().join("missing")).unwrap()),
            (2600, |ends| ends.write("2\n")),
            (2999, |ends| assert!(!ends.folder.path().join("missing/log").exists())),
            (3001, |ends| assert_eq!(read(ends.folder.path(), "missing/log"), "1\n2\n")),
            (3100, |ends| ends.write("3\n")),
            (3200, |ends| ends.agent_ends(false)),
        ],
    );
    assert_eq!(scripted.listen(), (RunOver::Heard, 3200));
    let (end, _, ends) = scripted.finish();
    assert_eq!(read(ends.folder.path(), "missing/log"), "1\n2\n3\n");
    let shown = ends.shown();
    let notices: Vec<&str> =
        shown.iter().filter(|(from, _)| *from == "notice").map(|(_, it)| it.as_str()).collect();
    assert!(notices.len() == 2 && notices[0].starts_with("Unwritten"), "once: {notices:?}");
    assert!(notices[1].starts_with("Resumed") && end.is_log_whole, "{notices:?}");
}

#[test]
fn a_log_that_cannot_be_written_costs_evidence_and_is_reported_but_the_display_is_whole() {
    let mut scripted = Scripted::new(
        "/dev/full",
        &[
            (10, |ends| ends.write("1\n")),
            (20, |ends| {
                ends.show();
                ends.write("2\n");
                ends.agent_ends(false);
            }),
        ],
    );
    assert_eq!(scripted.listen(), (RunOver::Heard, 20));
    let (end, _, ends) = scripted.finish();
    assert!(!end.is_log_whole && end.log.is_none());
    let shown = ends.shown();
    let outputs: String =
        shown.iter().filter(|(from, _)| *from == "output").map(|(_, it)| it.as_str()).collect();
    let notices: Vec<&str> =
        shown.iter().filter(|(from, _)| *from == "notice").map(|(_, it)| it.as_str()).collect();
    assert_eq!(outputs, "1\n2\n");
    assert!(notices.len() == 2 && notices[0].starts_with("Unwritten"), "{notices:?}");
    assert_eq!(notices[1], "Missing(\"/dev/full\", 4)");
}

/// Writes 64 KiB, the capacity of a pipe.
fn fill(ends: &mut Ends) {
    ends.write(&"x".repeat(CHUNK));
}

#[test]
fn without_a_log_the_agent_waits_for_a_slow_display_and_nothing_is_lost() {
    // 1 MiB is held in memory, one pipe is full, and the agent's end is an hour before the display reads on.
    let mut steps: Vec<(u64, Step)> = (0..17).map(|number| (number, fill as Step)).collect();
    steps.extend::<[(u64, Step); 4]>([
        (100, |ends| {
            let output = ends.output.as_ref().unwrap();
            let mut polled = [PollFd::new(output, PollFlags::OUT)];
            let at_once = Timespec::try_from(Duration::ZERO).unwrap();
            assert_eq!(poll(&mut polled, Some(&at_once)).unwrap(), 0, "the pipe is full: nobody reads it");
            ends.kept = None;
        }),
        (200, |ends| ends.agent_ends(true)),
        (3_600_000, Ends::show),
        (3_600_100, Ends::show),
    ]);
    let mut scripted = Scripted::new("/dev/null", &steps);
    assert_eq!(scripted.listen(), (RunOver::Heard, 3_600_500));
    let waits = *scripted.waits.borrow();
    assert!(waits < 60, "it waited {waits} times, and nothing is asked again and again");
    let (end, _, ends) = scripted.finish();
    let shown: usize = ends.shown.iter().map(|(_, bytes)| bytes.len()).sum();
    assert_eq!((shown, end.is_log_whole), (17 * CHUNK, true));
}

#[test]
fn a_display_that_is_gone_does_not_hold_up_the_agent() {
    let mut steps: Vec<(u64, Step)> = (0..17).map(|number| (number, fill as Step)).collect();
    steps.extend::<[(u64, Step); 3]>([
        (100, |ends| ends.kept = None),
        (200, |ends| ends.display = None),
        (300, |ends| {
            fill(ends);
            ends.agent_ends(false);
        }),
    ]);
    let mut scripted = Scripted::new("/dev/null", &steps);
    assert_eq!(scripted.listen(), (RunOver::Heard, 300));
    let waits = *scripted.waits.borrow();
    assert!(waits < 60, "it waited {waits} times: what is gone doesn't wake it");
    assert!(scripted.finish().0.is_log_whole);
}

#[test]
fn signals_are_passed_on_and_an_agent_that_ignores_them_is_killed() {
    let mut scripted = Scripted::new(
        "log",
        &[
            (100, |ends| ends.term.write_all(b"x").unwrap()),
            (9_000, |ends| ends.write("still here\n")),
            (10_100, |_| {}),
            (10_200, |ends| ends.agent_ends(false)),
        ],
    );
    assert_eq!(scripted.listen(), (RunOver::Heard, 10_200));
    let (end, asked, ends) = scripted.finish();
    let expected = [
        Asked::Send(100, Signal::TERM),
        Asked::Send(10_100, Signal::KILL),
        Asked::Dismiss(10_200),
        Asked::EndBy(Signal::TERM),
    ];
    assert_eq!(asked, expected);
    assert_eq!((end.signal, end.status), (Some(15), SessionStatus::Interrupted));
    assert_eq!(ends.log(), "still here\n");
}

#[test]
fn two_signals_that_arrive_before_the_loop_looks_are_two() {
    let mut scripted = Scripted::new(
        "log",
        &[(100, |ends| ends.int.write_all(b"xx").unwrap()), (110, |ends| ends.agent_ends(false))],
    );
    assert_eq!(scripted.listen(), (RunOver::Heard, 110));
    let (_, asked, _) = scripted.finish();
    assert_eq!(asked[..2], [Asked::Send(100, Signal::INT), Asked::Send(100, Signal::KILL)]);
}

#[test]
fn what_a_killed_run_left_running_has_a_second_to_end() {
    let mut scripted = Scripted::new(
        "log",
        &[
            (100, |ends| ends.int.write_all(b"x").unwrap()),
            (200, |ends| {
                ends.helpers = vec![Helper { pid: 7, name: "server".to_owned() }];
                ends.agent_ends(false);
            }),
        ],
    );
    scripted.listen();
    let (_, asked, _) = scripted.finish();
    let expected = [
        Asked::Send(100, Signal::INT),
        Asked::Send(200, Signal::TERM),
        Asked::Send(1_200, Signal::KILL),
        Asked::Dismiss(1_200),
        Asked::EndBy(Signal::INT),
    ];
    assert_eq!(asked, expected);
}

#[test]
fn an_agent_that_the_keeper_wants_ended_is_ended_and_its_good_result_counts() {
    let mut scripted = Scripted::new(
        "log",
        &[
            (0, |ends| ends.write("result\n")),
            (30_000, |ends| ends.requests.write_all(&[STOP]).unwrap()),
            (30_010, |ends| {
                ends.exited = ExitStatus::from_raw(15);
                ends.agent_ends(false);
            }),
        ],
    );
    assert_eq!(scripted.listen(), (RunOver::Heard, 30_010));
    let (end, asked, ends) = scripted.finish();
    assert_eq!(asked, [Asked::Send(30_000, Signal::TERM), Asked::Dismiss(30_010)]);
    assert_eq!((end.code, end.status), (0, SessionStatus::Done));
    assert_eq!(ends.shown().last().unwrap().1, "Lingering { is_ended: true }");
}

#[test]
fn a_run_ends_after_its_start_though_the_clock_was_set_back() {
    let mut scripted = Scripted::new("log", &[(90_000, |ends| ends.agent_ends(false))]);
    let future: Timestamp = "2199-11-02T10:00:00Z".parse().unwrap();
    scripted.run.side.change(|side| side.started = future);
    let side = Arc::clone(&scripted.run.side);
    scripted.listen();
    scripted.finish();
    assert_eq!(side.content().ended, Some("2199-11-02T10:01:30Z".parse().unwrap()));
}

#[test]
fn it_is_reported_if_other_processes_write_on_and_only_then() {
    for (last, expected) in [(30_000, &["StillWriting"][..]), (300, &[])] {
        let mut steps: Vec<(u64, Step)> = vec![(0, |ends| ends.agent_ends(true))];
        steps.extend((1..=last / 100).map(|number| (number * 100, (|ends| ends.write("x")) as Step)));
        let (_, _, ends) = Scripted::new("log", &steps).end(RunLoop::run);
        assert_eq!(ends.notices(), expected);
    }
}

#[test]
fn an_output_is_heard_though_the_other_one_is_closed() {
    let mut scripted = Scripted::new(
        "log",
        &[
            (10, |ends| ends.output = None),
            (20, |ends| ends.exit = None),
            (30, |ends| ends.errors.as_mut().unwrap().write_all(b"late").unwrap()),
            (40, |ends| ends.errors = None),
        ],
    );
    assert_eq!(scripted.listen(), (RunOver::Heard, 40));
    let (_, _, mut ends) = scripted.finish();
    assert_eq!((ends.log().as_str(), ends.errors_log().as_str()), ("", "late"));
    assert_eq!(ends.kept(), b"");
}

#[test]
fn an_output_is_withheld_only_if_it_is_in_no_log_and_a_reader_has_no_room() {
    // The log, whether the display and the keeper have no room, and whether standard output and standard error are withheld.
    for (log, is_display_full, is_kept_full, expected) in [
        ("log", true, true, [false, false]),
        ("missing/log", false, false, [false, false]),
        ("missing/log", true, false, [true, true]),
        // The keeper reads standard output only.
        ("missing/log", false, true, [true, false]),
        ("/dev/null", false, false, [false, false]),
        ("/dev/null", true, true, [true, true]),
    ] {
        let Scripted { mut run, ends, .. } = Scripted::new(log, &[]);
        let logs = || RawLog::open(&ends.borrow().folder.path().join(log), SyncPolicy::Never).0;
        (run.output.log, run.errors.log) = (Some(logs()), Some(logs()));
        let full = vec![b'x'; 1024 * 1024];
        if is_display_full {
            run.display.push(Channel::Output, &full, None);
        }
        if is_kept_full {
            run.kept.push(Channel::Output, &full, None);
        }
        let withheld =
            |run: &RunLoop<Script>| [Channel::Output, Channel::Errors].map(|it| run.is_withheld(it));
        assert_eq!(withheld(&run), expected, "{log} {is_display_full} {is_kept_full}");
        (run.output.pipe, run.errors.pipe) = (None, None);
        assert_eq!(withheld(&run), [false, false], "there is nothing to read");
        (run.output.log, run.errors.log) = (None, None);
        assert_eq!(withheld(&run), [false, false]);
    }
}

#[test]
fn a_log_is_opened_as_soon_as_it_can_be_though_nothing_was_written() {
    let mut scripted = Scripted::new(
        "missing/log",
        &[
            (500, |ends| fs::create_dir(ends.folder.path().join("missing")).unwrap()),
            (999, |ends| assert!(!ends.folder.path().join("missing/log").exists())),
            (1_500, |ends| assert!(ends.folder.path().join("missing/log").exists())),
            (1_600, |ends| ends.agent_ends(false)),
        ],
    );
    assert_eq!(scripted.listen(), (RunOver::Heard, 1_600));
    let (end, _, ends) = scripted.finish();
    assert!(end.is_log_whole && end.log.is_none());
    assert_eq!(ends.notices().len(), 2, "{:?}", ends.notices());
}

#[test]
fn the_folder_of_runs_is_created_again_for_a_log_that_could_not_be_opened() {
    let mut scripted = Scripted::new(
        "sessions/log",
        &[
            (100, |ends| fs::remove_dir(ends.folder.path().join("sessions")).unwrap()),
            (1_100, |ends| ends.write("1\n")),
            (1_200, |ends| ends.agent_ends(false)),
        ],
    );
    scripted.listen();
    let (end, _, ends) = scripted.finish();
    assert_eq!(read(ends.folder.path(), "sessions/log"), "1\n");
    assert!(end.is_log_whole && end.log == Some(ends.folder.path().join("sessions/log")));
}

#[test]
fn an_agent_that_stays_after_its_result_is_reported_and_goes_on() {
    let mut scripted = Scripted::new(
        "log",
        &[
            (30_000, |ends| ends.requests.write_all(&[REPORT_LINGERING]).unwrap()),
            (31_000, |ends| ends.requests.write_all(b"?").unwrap()),
            // The sender of an unknown request is disconnected.
            (32_000, |ends| assert!(ends.requests.write_all(&[STOP]).is_err())),
            (40_000, |ends| ends.agent_ends(false)),
        ],
    );
    assert_eq!(scripted.listen(), (RunOver::Heard, 40_000));
    let (end, asked, ends) = scripted.finish();
    assert_eq!((end.status, asked), (SessionStatus::Done, vec![Asked::Dismiss(40_000)]));
    assert_eq!(ends.notices(), ["Lingering { is_ended: false }"]);
}

#[test]
fn a_run_that_costs_too_much_is_interrupted_and_then_killed() {
    let mut scripted = Scripted::new(
        "log",
        &[
            (1_000, |ends| ends.requests.write_all(&[REPORT_MISSING_PRICE, REPORT_COST]).unwrap()),
            (2_000, |ends| ends.requests.write_all(&[STOP_FOR_COST]).unwrap()),
            (15_000, |ends| ends.agent_ends(false)),
        ],
    );
    scripted.run.options.cost_limits = CostLimits { warn: Some(1.5), stop: Some(2.0) };
    assert_eq!(scripted.listen(), (RunOver::Heard, 15_000));
    let (end, asked, ends) = scripted.finish();
    assert_eq!((end.status, end.signal), (SessionStatus::Interrupted, Some(2)));
    let sent = [Asked::Send(2_000, Signal::INT), Asked::Send(12_000, Signal::KILL)];
    assert_eq!(asked, sent.into_iter().chain([Asked::Dismiss(15_000)]).collect::<Vec<_>>());
    let passed = [
        "NoPrice",
        "CostPassed { limit: 1.5, is_stopped: false }",
        "CostPassed { limit: 2.0, is_stopped: true }",
    ];
    assert_eq!(ends.notices(), passed);
}

#[test]
fn what_the_cost_requires_after_the_end_is_only_reported() {
    let mut scripted = Scripted::new("log", &[(1_000, |ends| ends.agent_ends(false))]);
    scripted.run.options.cost_limits = CostLimits { warn: None, stop: Some(2.0) };
    assert_eq!(scripted.listen(), (RunOver::Heard, 1_000));
    scripted.ends.borrow_mut().requests.write_all(&[STOP_FOR_COST, STOP]).unwrap();
    let (end, asked, ends) = scripted.finish();
    assert_eq!((end.status, end.signal, asked), (SessionStatus::Done, None, vec![Asked::Dismiss(1_000)]));
    assert_eq!(ends.notices(), ["CostPassed { limit: 2.0, is_stopped: false }"]);
}

#[test]
fn the_keeper_gets_standard_output_once_though_the_log_was_cut() {
    fn cut(ends: &mut Ends) {
        let log = fs::File::options().write(true).open(ends.folder.path().join("log")).unwrap();
        log.set_len(0).unwrap();
    }
    fn fill_anew(ends: &mut Ends) {
        ends.write(&"y".repeat(CHUNK));
    }
    fn complain(ends: &mut Ends) {
        ends.errors.as_mut().unwrap().write_all(b"e").unwrap();
    }
    // Of 18 pieces, 16 fit in memory. The other two are in the log, where other bytes replace them.
    let mut steps: Vec<(u64, Step)> = (0..18).map(|number| (number, fill as Step)).collect();
    steps.extend::<[(u64, Step); 2]>([(20, complain), (21, cut)]);
    steps.extend((30..60).map(|number| (number, fill_anew as Step)));
    steps.push((70, |ends| ends.agent_ends(false)));
    let mut scripted = Scripted::new("log", &steps);
    scripted.listen();
    let side = Arc::clone(&scripted.run.side);
    let (end, _, mut ends) = scripted.finish();
    let kept = ends.kept();
    let count = |byte: u8| kept.iter().map(|it| usize::from(*it == byte)).sum::<usize>();
    assert_eq!((count(b'x'), count(b'y')), (16 * CHUNK, 30 * CHUNK));
    let lost = 18 * CHUNK as u64;
    assert_eq!(side.content().gaps, [LogGap { at: 0, bytes: lost }]);
    assert_eq!((side.content().log_bytes, end.is_log_whole), (Some(30 * CHUNK as u64), false));
    assert!(ends.notices().iter().any(|it| it.starts_with("Cut")), "{:?}", ends.notices());
}

#[test]
fn a_log_is_named_at_the_end_if_it_can_be_read_and_holds_something_of_the_run() {
    for (log, before, written, is_named) in [
        ("log", None, "1\n", true),
        ("log", None, "", false),
        ("log", Some("before\n"), "", false),
        ("log", Some("before\n"), "1\n", true),
        ("/dev/null", None, "1\n", false),
    ] {
        let mut scripted = Scripted::new("unused", &[]);
        {
            let ends = scripted.ends.borrow();
            let path = ends.folder.path().join(log);
            if let Some(before) = before {
                fs::write(&path, before).unwrap();
            }
            scripted.run.output.log = Some(RawLog::open(&path, SyncPolicy::Never).0);
        }
        if let Some(log) = &mut scripted.run.output.log {
            log.append(written.as_bytes());
        }
        let side = Arc::clone(&scripted.run.side);
        let (end, _, _) = scripted.finish();
        assert_eq!(end.log.is_some(), is_named, "{log} {before:?} {written:?}");
        let side = side.content();
        let (start, bytes) = (before.map_or(0, str::len) as u64, written.len() as u64);
        assert_eq!((side.log_start, side.log_bytes), (start, Some(bytes)), "{log} {before:?} {written:?}");
    }
}

#[test]
fn a_log_that_could_not_be_flushed_is_not_whole_though_nothing_is_missing() {
    for (is_output, is_flushed) in [(true, true), (true, false), (false, false)] {
        let mut scripted = Scripted::new("log", &[(10, |ends| ends.agent_ends(false))]);
        let path = scripted.ends.borrow().folder.path().join("log-2");
        let mut log = RawLog::open(&path, SyncPolicy::Second).0;
        if !is_flushed {
            log.fail_to_flush();
        }
        *if is_output { &mut scripted.run.output.log } else { &mut scripted.run.errors.log } = Some(log);
        scripted.listen();
        let (end, _, ends) = scripted.finish();
        assert_eq!((end.is_log_whole, end.status), (is_flushed, SessionStatus::Done), "{is_output}");
        let reported = ends.notices().iter().filter(|it| it.starts_with("Unsynced")).count();
        assert_eq!(reported, usize::from(!is_flushed), "{is_output}: {:?}", ends.notices());
    }
}

#[test]
fn a_side_file_that_could_not_be_written_at_first_is_there_at_the_end_or_its_lack_is_reported() {
    for (is_mended, expected) in [(true, 0), (false, 1)] {
        let scripted = Scripted::new("log", &[]);
        let path = scripted.run.options.paths.side_file(&scripted.run.options.id);
        let folder = path.parent().unwrap().to_owned();
        fs::remove_dir(&folder).unwrap();
        fs::write(&folder, "no folder").unwrap();
        assert!(scripted.run.side.write().is_err());
        if is_mended {
            fs::remove_file(&folder).unwrap();
        }
        let (end, _, ends) = scripted.finish();
        let reported = ends.notices().iter().filter(|it| it.starts_with("NoSideFile")).count();
        assert_eq!((reported, end.is_log_whole, path.exists()), (expected, true, is_mended));
    }
}

#[test]
fn the_end_of_a_run_is_never_before_its_start() {
    let at = |second: i64| Timestamp::from_second(second).unwrap();
    for (started, now, passed, expected) in [
        (100, 107, 7, 107),
        // The clock was set forward.
        (100, 500, 7, 500),
        (100, 100, 7, 100),
        (100, 99, 7, 107),
        (100, 0, 0, 100),
    ] {
        assert_eq!(ended(at(started), at(now), Duration::from_secs(passed)), at(expected));
    }
    assert_eq!(ended(Timestamp::MAX, at(0), Duration::from_secs(1)), Timestamp::MAX);
}

#[test]
fn an_output_that_can_t_be_read_is_over() {
    let mut scripted = Scripted::new("log", &[]);
    // The system refuses to read a folder.
    let folder = fs::File::open(scripted.ends.borrow().folder.path()).unwrap();
    scripted.run.output.pipe = Some(OwnedFd::from(folder).into());
    scripted.run.read(Channel::Output, &mut [0]);
    assert!(scripted.run.output.pipe.is_none() && scripted.run.errors.pipe.is_some());
}
