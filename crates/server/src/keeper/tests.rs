use std::path::Path;
use std::thread;

use super::*;
use crate::feed::{Channel, feed};
use crate::findings::StreamEnd;
use crate::side_file::SessionStatus;

const STREAM: &str = r#"{"type":"system","subtype":"init","session_id":"s-1","model":"m","cwd":"/","tools":[]}
{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"Done.","session_id":"s-1"}
"#;

/// Runs a keeper on a stream, of which the display has decoded `shown`. Returns the verdict and the session in the side file.
fn kept(stream: &str, shown: Option<&str>) -> (StreamVerdict, Option<String>) {
    let folder = tempfile::TempDir::with_prefix("streamfmt-keeper-").unwrap();
    let paths = SessionPaths { folder: folder.path().to_owned() };
    let side = Arc::new(KeptSideFile::new(paths, SyncPolicy::Never, side_file()));
    let engine = Engine::builder().no_project(true).build().unwrap();
    let (mut end, feed) = feed().unwrap();
    let (_requests, to_recorder) = io::pipe().unwrap();
    let findings = SharedFindings::default();
    let keeper =
        Keeper::new(feed, Arc::clone(&side), None, CostLimits::default(), to_recorder, findings.clone());
    end.push(Channel::Output, stream.as_bytes(), None);
    end.end();
    if let Some(shown) = shown {
        let mut pipeline = Pipeline::new(setup(&engine));
        let _ = pipeline.push(shown.as_bytes(), &mut String::new());
        findings.update(&pipeline, stream.as_bytes());
    }
    let verdict = keeper.run(&engine);
    let session = side.content().agent_session.clone();
    (verdict, session)
}

#[test]
fn what_the_display_finds_is_taken_and_a_late_one_is_not_waited_for() {
    let good = StreamVerdict { is_known: true, end: StreamEnd::Done };
    let bad = StreamVerdict { end: StreamEnd::Failed, ..good };
    let other = STREAM.replace("\"is_error\":false", "\"is_error\":true").replace("s-1", "s-2");
    assert_eq!(kept(STREAM, Some(&other)), (bad, Some("s-2".to_owned())), "nothing else was read");
    assert_eq!(kept(STREAM, None), (good, Some("s-1".to_owned())));
    // The end of the stream completes the last line, and the stream may be no agent's.
    let cut = STREAM.trim_end();
    assert_eq!(kept(cut, Some(cut)), (good, Some("s-1".to_owned())));
    assert_eq!(kept("a\n", Some("a\n")).0, StreamVerdict::default());
}

#[test]
fn the_display_is_followed_while_it_keeps_up_or_is_late_for_less_than_half_a_second() {
    const MILLI: Duration = Duration::from_millis(1);
    let begun = Instant::now();
    let mut progress = DisplayProgress::default();
    // The time, the agent's bytes, whether they are complete, the display's bytes, and whether it has decoded whole lines of an agent.
    let rows = [
        (0, 0, false, 0, false, KeeperStep::Wait(None)),
        (9, 5, false, 0, false, KeeperStep::Wait(Some(LOOK))),
        // The display hasn't reached the newest bytes.
        (300, 8, false, 5, false, KeeperStep::Wait(Some(LOOK))),
        (700, 8, false, 5, false, KeeperStep::Wait(Some(LOOK))),
        (770, 8, false, 5, false, KeeperStep::Wait(Some(30 * MILLI))),
        (799, 9, false, 7, false, KeeperStep::Wait(Some(MILLI))),
        (800, 9, false, 8, false, KeeperStep::Wait(Some(LOOK))),
        (900, 9, false, 9, true, KeeperStep::Wait(None)),
        (950, 10, true, 9, true, KeeperStep::AwaitDisplay(LATE)),
        (1_000, 10, true, 9, true, KeeperStep::AwaitDisplay(450 * MILLI)),
        // At its end the stream may have more findings.
        (1_100, 10, true, 10, false, KeeperStep::Decode),
        (1_100, 10, true, 10, true, KeeperStep::Over),
        (1_200, 12, false, 10, true, KeeperStep::Wait(Some(LOOK))),
        (1_699, 12, false, 11, true, KeeperStep::Wait(Some(MILLI))),
        (1_700, 12, false, 11, true, KeeperStep::Decode),
        (1_700, 12, true, 11, true, KeeperStep::Decode),
    ];
    for row in rows {
        let (millis, output, is_over, bytes, is_certain, expected) = row;
        let view = FeedView { output, is_over, is_full: false };
        let display = StreamFindings { bytes, is_certain, ..StreamFindings::default() };
        let now = begun + millis * MILLI;
        let full = FeedView { is_full: true, ..view };
        assert_eq!(progress.step(view, &display, now), expected, "{row:?}");
        // With a full buffer, the recorder waits until something is read.
        assert_eq!(progress.step(full, &display, now), KeeperStep::Decode, "{row:?}");
    }
    // Nothing was ever written, so nothing has to be decoded.
    let nothing = FeedView { output: 0, is_over: true, is_full: false };
    let step = DisplayProgress::default().step(nothing, &StreamFindings::default(), begun);
    assert_eq!(step, KeeperStep::Over);
}

#[test]
fn what_came_and_what_was_found_is_noted_once() {
    let mut progress = DisplayProgress::default();
    for (output, bytes, expected) in [
        (0, 0, (false, false)),
        (5, 0, (true, false)),
        (5, 5, (false, true)),
        (5, 5, (false, false)),
        (9, 7, (true, true)),
        // The display may be ahead of the view: its findings aren't undone when the view follows.
        (9, 12, (false, true)),
        (12, 12, (false, false)),
    ] {
        let view = FeedView { output, is_over: false, is_full: false };
        let display = StreamFindings { bytes, ..StreamFindings::default() };
        assert_eq!(progress.note(view, &display), expected, "{output} {bytes}");
    }
}

/// A keeper of a run without output, and its requests.
fn idle(folder: &Path, exit_after_result: Option<Duration>) -> (Keeper, io::PipeReader) {
    let paths = SessionPaths { folder: folder.to_owned() };
    let side = Arc::new(KeptSideFile::new(paths, SyncPolicy::Never, side_file()));
    let (_, feed) = feed().unwrap();
    let (requests, to_recorder) = io::pipe().unwrap();
    (
        Keeper::new(
            feed,
            side,
            exit_after_result,
            CostLimits::default(),
            to_recorder,
            SharedFindings::default(),
        ),
        requests,
    )
}

#[test]
fn a_side_file_that_could_not_be_written_is_tried_again_each_second() {
    let folder = tempfile::TempDir::with_prefix("streamfmt-side-").unwrap();
    // A file here makes it impossible to create the folder.
    let data = folder.path().join("data");
    fs::write(&data, "").unwrap();
    let (mut keeper, _requests) = idle(&data.join("sessions"), None);
    let path = keeper.side.paths.side_file(&side_file().id);
    let begun = Instant::now();
    keeper.write_side_file(begun);
    assert_eq!(keeper.patience(None, begun), Some(RETRY));
    fs::remove_file(&data).unwrap();
    keeper.write_side_file(begun + Duration::from_millis(999));
    assert!(!path.exists(), "it isn't time yet");
    assert_eq!(keeper.patience(None, begun + RETRY), Some(Duration::ZERO));
    keeper.write_side_file(begun + RETRY);
    assert_eq!((RunSideFile::read(&path).unwrap(), keeper.retry_at), (side_file(), None));
    assert_eq!(keeper.patience(None, begun + RETRY), None);
    // Without a change, it isn't written again.
    fs::remove_file(&path).unwrap();
    keeper.write_side_file(begun + RETRY);
    assert!(!path.exists());
    keeper.side.change(|side| side.log_start = 7);
    keeper.write_side_file(begun + RETRY);
    assert_eq!(RunSideFile::read(&path).unwrap().log_start, 7);
}

#[test]
fn the_keeper_waits_for_whatever_is_due_first() {
    const SECOND: Duration = Duration::from_secs(1);
    let now = Instant::now();
    // The time of the side file's retry, the time of a result, and the longest wait.
    for (retry, result, most, expected) in [
        (None, None, None, None),
        (None, None, Some(5), Some(5)),
        (Some(3), None, None, Some(3)),
        (Some(3), None, Some(5), Some(3)),
        (Some(3), Some(6), Some(5), Some(3)),
        (None, Some(6), None, Some(4)),
        (Some(7), Some(6), Some(5), Some(4)),
        (None, Some(60), None, Some(0)),
    ] {
        let (mut keeper, _requests) = idle(Path::new("/"), Some(10 * SECOND));
        keeper.retry_at = retry.map(|seconds| now + seconds * SECOND);
        if let Some(seconds) = result {
            keeper.lingering.note(true, now.checked_sub(seconds * SECOND).unwrap());
        }
        let patience = keeper.patience(most.map(|seconds| seconds * SECOND), now);
        assert_eq!(patience, expected.map(|seconds: u32| seconds * SECOND), "{retry:?} {result:?} {most:?}");
    }
}

#[test]
fn an_agent_that_stays_after_its_result_is_reported_or_ended() {
    const HOUR: Duration = Duration::from_secs(3_600);
    let long_ago = Instant::now().checked_sub(HOUR).unwrap();
    for (exit_after_result, is_done, expected) in [
        (None, true, &[REPORT_LINGERING][..]),
        (Some(HOUR), true, &[STOP]),
        (Some(2 * HOUR), true, &[]),
        (None, false, &[]),
    ] {
        let (mut keeper, mut requests) = idle(Path::new("/"), exit_after_result);
        keeper.lingering.note(is_done, long_ago);
        keeper.request();
        keeper.request();
        drop(keeper);
        let mut asked = Vec::new();
        io::Read::read_to_end(&mut requests, &mut asked).unwrap();
        assert_eq!(asked, expected, "{exit_after_result:?} {is_done}");
    }
}

#[test]
fn a_line_is_decoded_up_to_a_limit_and_a_longer_one_costs_only_itself() {
    let engine = |most: usize| {
        let builder = Engine::builder().no_project(true).set(format!("limits.line={most}"));
        builder.build().unwrap()
    };
    assert_eq!(setup(&engine(MAX_LINE + 1)).max_line, MAX_LINE);
    assert_eq!(setup(&engine(1_000)).max_line, 1_000);
    let mut pipeline = Pipeline::new(setup(&engine(1_000)));
    let mut found = StreamFindings::default();
    let [init, result] = STREAM.split_inclusive('\n').collect::<Vec<_>>()[..] else { panic!() };
    let long = format!("{{\"type\":\"assistant\",\"message\":\"{}\"}}\n", "x".repeat(5_000));
    for piece in [init, &long, result] {
        let _ = pipeline.push(piece.as_bytes(), &mut String::new());
        found.update(&pipeline, piece.as_bytes(), None);
    }
    assert_eq!(found.verdict, StreamVerdict { is_known: true, end: StreamEnd::Done });
}

#[test]
fn a_side_file_is_flushed_when_the_policy_says_so() {
    let folder = tempfile::TempDir::with_prefix("streamfmt-side-").unwrap();
    let paths = SessionPaths { folder: folder.path().to_owned() };
    // Before the agent has started, while it runs, and at the end.
    for (policy, expected) in [
        (SyncPolicy::Always, [true, true, true]),
        (SyncPolicy::Second, [false, true, true]),
        (SyncPolicy::End, [false, false, true]),
        (SyncPolicy::Never, [false, false, false]),
    ] {
        let side = KeptSideFile::new(paths.clone(), policy, side_file());
        let starting = side_file();
        let running = RunSideFile { process: Some(starting.recorder.clone()), ..starting.clone() };
        let ended = RunSideFile { ended: Some(running.started), ..running.clone() };
        assert_eq!(
            [starting, running, ended].map(|content| side.is_synced(&content)),
            expected,
            "{policy:?}"
        );
    }
}

#[test]
fn nothing_is_left_of_a_run_whose_agent_could_not_be_started() {
    let folder = tempfile::TempDir::with_prefix("streamfmt-side-").unwrap();
    let paths = SessionPaths { folder: folder.path().join("sessions") };
    let side = KeptSideFile::new(paths.clone(), SyncPolicy::Never, side_file());
    side.write().unwrap();
    assert!(fs::read_dir(&paths.folder).unwrap().count() > 1);
    side.discard();
    assert_eq!(fs::read_dir(&paths.folder).unwrap().count(), 0);
    side.change(|side| side.log_start = 7);
    side.write().unwrap();
    assert_eq!(fs::read_dir(&paths.folder).unwrap().count(), 0);
}

#[test]
fn a_side_file_is_written_though_its_lock_or_its_room_can_t_be_had() {
    let folder = tempfile::TempDir::with_prefix("streamfmt-side-").unwrap();
    let paths = SessionPaths { folder: folder.path().to_owned() };
    let id = side_file().id;
    let [end, draft] = paths.drafts(&id);
    // Another program's file.
    fs::write(paths.lock(&id), "other").unwrap();
    fs::create_dir(&end).unwrap();
    let side = KeptSideFile::new(paths.clone(), SyncPolicy::Never, side_file());
    side.write().unwrap();
    assert_eq!(RunSideFile::read(&paths.side_file(&id)).unwrap(), side_file());
    // The space becomes available later, and another program removes the file.
    fs::remove_dir(&end).unwrap();
    side.change(|side| side.log_start = 7);
    side.write().unwrap();
    fs::remove_file(&end).unwrap();
    side.change(|side| (side.ended, side.status) = (Some(side.started), SessionStatus::Done));
    side.write().unwrap();
    assert_eq!(RunSideFile::read(&paths.side_file(&id)).unwrap().status, SessionStatus::Done);
    side.release();
    assert_eq!(fs::read_to_string(paths.lock(&id)).unwrap(), "other", "it isn't ours");
    assert!(!end.exists() && !draft.exists());
}

fn side_file() -> RunSideFile {
    let text = r#"{"v":1,"id":"20261123-224103-k3x9qa","status":"running","command":["a"],"folder":"/","log":"/l",
            "started":"2026-11-23T22:41:03.1Z","recorder":{"pid":1}}"#;
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_side_file_never_goes_back_and_stays_as_it_is_once_the_run_is_over() {
    let folder = tempfile::TempDir::with_prefix("streamfmt-side-").unwrap();
    let paths = SessionPaths { folder: folder.path().to_owned() };
    let content = side_file();
    let (id, path) = (content.id.clone(), paths.side_file(&content.id));
    let status = || RunSideFile::read(&path).unwrap().status;
    for _ in 0..100 {
        let side = KeptSideFile::new(paths.clone(), SyncPolicy::Never, content.clone());
        thread::scope(|scope| {
            // The keeper does this while the recorder ends.
            let keeper = scope.spawn(|| {
                for number in 0..20 {
                    side.change(|side| side.agent_session = Some(number.to_string()));
                    side.write().unwrap();
                }
            });
            side.change(|side| side.status = SessionStatus::Done);
            side.write().unwrap();
            assert_eq!(status(), SessionStatus::Done);
            side.release();
            keeper.join().unwrap();
        });
        assert_eq!(status(), SessionStatus::Done);
        let was = std::fs::read(&path).unwrap();
        side.change(|side| side.status = SessionStatus::Running);
        side.write().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), was);
        assert!(!paths.lock(&id).exists());
    }
}

#[test]
fn a_very_long_session_id_is_not_kept_and_an_earlier_one_is() {
    let engine = Engine::builder().no_project(true).build().unwrap();
    let mut pipeline = Pipeline::new(setup(&engine));
    let mut found = StreamFindings::default();
    for (length, kept) in [(1_024, 1_024), (1_025, 1_024), (9, 9)] {
        let line = STREAM.lines().next().unwrap().replace("s-1", &"s".repeat(length)) + "\n";
        let _ = pipeline.push(line.as_bytes(), &mut String::new());
        found.update(&pipeline, line.as_bytes(), None);
        assert_eq!(found.session, Some("s".repeat(kept)), "{length}");
    }
}
