//! The content and the timing of streams of events.

use super::*;
use streamfmt::writer::html::HtmlRow;

use crate::serve::tests::site::{OpenAnswer, SiteForm, TestSite, header, run_async};
use crate::store::SessionStatus;

const NEVER: Duration = Duration::from_secs(3600);

fn reply(number: usize, text: &str) -> String {
    format!(
        r#"{{"type":"assistant","session_id":"s","message":{{"id":"m-{number}","role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}}}"#
    ) + "\n"
}

/// A view with a line or node for each text, one per revision.
fn view(has_lines: bool, texts: &[&str]) -> SessionView {
    let mut view = SessionView::new(has_lines, SessionStatus::Running).unwrap();
    view.is_caught_up = true;
    for (revision, text) in (1..).zip(texts) {
        add(&mut view, revision, text);
    }
    view
}

fn add(view: &mut SessionView, revision: u64, text: &str) {
    view.revision = revision;
    if view.has_lines {
        view.add_line(text).unwrap();
    } else {
        let anchors = vec![format!("e-{revision:016x}")];
        view.add(HtmlRow { anchors, html: text.to_owned(), ..HtmlRow::default() }).unwrap();
    }
    view.complete(revision);
}

/// Writes the next changes. Returns the text, and whether the stream ends there.
fn written(
    form: StreamForm,
    view: &SessionView,
    pace: StreamPace,
    reader: &mut ReaderPosition,
) -> (String, bool) {
    let mut text = String::new();
    let is_end = form.spell(view, "hash", pace, reader, &mut text).unwrap();
    (text, is_end)
}

#[test]
fn each_event_is_lines_of_its_own() {
    let mut shown = view(false, &["wone\ntwo\rthree"]);
    let mut reader = ReaderPosition::at(0);
    let (text, is_end) = written(StreamForm::Changes, &shown, StreamPace::default(), &mut reader);
    assert!(
        !is_end && text.starts_with("event: put\nid: hash:1\ndata: {") && text.ends_with("}\n\n"),
        "{text}"
    );
    assert_eq!((text.lines().count(), text.contains('\r')), (4, false));
    assert_eq!(
        written(StreamForm::Changes, &shown, StreamPace::default(), &mut reader),
        (String::new(), false)
    );
    shown.revision = 2;
    shown.end();
    let (text, is_end) = written(StreamForm::Changes, &shown, StreamPace::default(), &mut reader);
    assert_eq!((text.as_str(), is_end), ("event: done\nid: hash:2\ndata: {\"v\":1}\n\n", true));
}

#[test]
fn a_line_is_one_line_even_with_a_carriage_return() {
    let mut shown = view(true, &["one", "event: done\rdata: forged\r\r", ""]);
    let mut reader = ReaderPosition::at(0);
    let (text, is_end) = written(StreamForm::Lines, &shown, StreamPace::default(), &mut reader);
    assert_eq!(text, "data: one\n\ndata: event: done␍data: forged␍␍\n\ndata: \n\n");
    assert!(!is_end);
    shown.end();
    let over = written(StreamForm::Lines, &shown, StreamPace::default(), &mut reader);
    assert_eq!(over, ("event: done\ndata: done\n\n".to_owned(), true));
}

#[test]
fn only_about_a_chunk_is_written_at_a_time() {
    for form in [StreamForm::Changes, StreamForm::Lines] {
        let text = format!("w{}", "x".repeat(100));
        let shown = view(matches!(form, StreamForm::Lines), &[&*text; 10]);
        let pace = StreamPace { chunk: 250, ..StreamPace::default() };
        let mut reader = ReaderPosition::at(0);
        let pieces = std::iter::repeat_with(|| written(form, &shown, pace, &mut reader).0);
        let pieces: Vec<String> = pieces.take_while(|piece| !piece.is_empty()).collect();
        assert!((4..=5).contains(&pieces.len()), "{form:?}: {}", pieces.len());
        assert_eq!(pieces.concat().matches("data: ").count(), 10, "nothing is lost");
    }
}

#[test]
fn a_reader_that_was_up_to_date_and_is_far_behind_for_long_doesn_t_go_on() {
    let now = StreamPace { behind: 10, patience: Duration::ZERO, ..StreamPace::default() };
    let later = StreamPace { patience: NEVER, ..now };
    for (form, resync) in
        [(StreamForm::Changes, "event: resync\nid: hash:2\ndata: {\"v\":1}\n\n"), (StreamForm::Lines, "")]
    {
        for (reason, was_there, pace, text, is_left) in [
            ("far and long", true, now, "w1234567890", true),
            ("far, but not for long", true, later, "w1234567890", false),
            ("long, but not far", true, now, "w123456789", false),
            ("it never was up to date", false, now, "w1234567890", false),
        ] {
            let mut shown = view(matches!(form, StreamForm::Lines), &["wone"]);
            let mut reader = ReaderPosition::at(0);
            if was_there {
                written(form, &shown, now, &mut reader);
            }
            add(&mut shown, 2, text);
            let (rest, is_end) = written(form, &shown, pace, &mut reader);
            assert_eq!(is_end, is_left, "{form:?}: {reason}");
            assert_eq!(rest == resync, is_left, "{form:?}: {reason}: {rest}");
            assert_eq!(rest.contains("123456789"), !is_left, "{form:?}: {reason}: {rest}");
        }
    }
}

/// A site with a run in progress, and its id.
fn running(pace: StreamPace) -> (TestSite, String) {
    let site = TestSite::new(SiteForm { pace, ..SiteForm::default() });
    let log = site.log("run.ndjson", reply(1, "EVT1E").as_bytes());
    let id = site.run(1, true, &log, (0, None));
    (site, id)
}

fn write_on(site: &TestSite, text: &str) {
    use std::io::Write as _;
    let log = std::fs::File::options().append(true).open(site.folder.path().join("run.ndjson"));
    log.unwrap().write_all(text.as_bytes()).unwrap();
}

#[test]
fn a_silent_stream_is_kept_alive() {
    let (site, id) = running(StreamPace { ping: Duration::ZERO, ..StreamPace::default() });
    run_async(async {
        let answer = site.get(&format!("/sessions/{id}/events")).await;
        assert_eq!(header(&answer, "content-type"), "text/event-stream; charset=utf-8");
        assert_eq!(header(&answer, "x-accel-buffering"), "no");
        let mut open = OpenAnswer::of(answer);
        assert!(open.until(": ping\n\n: ping\n\n").await);
        assert!(
            open.text.starts_with(": ready\n\nevent: facts\n") && open.text.contains("EVT1E"),
            "{}",
            open.text
        );
    });
}

#[test]
fn a_stream_goes_on_with_the_run_and_ends_with_the_server_by_a_hint_to_return() {
    let (site, id) = running(StreamPace { ping: NEVER, ..StreamPace::default() });
    run_async(async {
        let mut open = OpenAnswer::of(site.get(&format!("/sessions/{id}/events?since=0")).await);
        assert!(open.until("EVT1E").await);
        write_on(&site, &reply(2, "EVT2E"));
        assert!(open.until("EVT2E").await);
        site.stop.send_replace(true);
        assert!(open.until("\n\nretry: 1000\n\n").await, "{}", open.text);
        assert!(!open.until("more").await, "it has ended");
        assert!(open.text.ends_with("retry: 1000\n\n") && !open.text.contains(": ping"), "{}", open.text);
    });
}

#[test]
fn a_stream_ends_when_its_reader_leaves() {
    let (site, id) = running(StreamPace::default());
    run_async(async {
        let reading = site.reading(&id).await;
        let live = std::sync::Arc::clone(&reading.live);
        let with_reader = std::sync::Arc::strong_count(&live);
        let pace = StreamPace { ping: NEVER, ..StreamPace::default() };
        let mut open = OpenAnswer::of(changes(reading, ReplayStart::After(0), pace, site.stop.subscribe()));
        assert!(open.until("EVT1E").await);
        drop(open);
        // A write in progress for it is completed. If the reader never left, the test would time out.
        while std::sync::Arc::strong_count(&live) >= with_reader {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
}

#[test]
fn a_reader_that_is_a_megabyte_behind_is_told_to_begin_again_and_holds_nobody_up() {
    // The reader was up to date, and no delay is tolerated.
    let pace = StreamPace { ping: NEVER, patience: Duration::ZERO, ..StreamPace::default() };
    let (site, id) = running(pace);
    let long = "words ".repeat(200_000);
    run_async(async {
        let mut slow = OpenAnswer::of(site.get(&format!("/sessions/{id}/events")).await);
        assert!(slow.until("EVT1E").await);
        write_on(&site, &(reply(2, &format!("{long} EVT2E")) + &reply(3, "EVT3E")));
        // Meanwhile another reader has received everything.
        let patient = StreamPace { patience: NEVER, ..pace };
        let reading = site.reading(&id).await;
        let mut other =
            OpenAnswer::of(changes(reading, ReplayStart::After(0), patient, site.stop.subscribe()));
        assert!(other.until("EVT3E").await && other.text.contains("EVT2E"));
        assert!(!slow.until("EVT2E").await, "it got the rest");
        assert!(slow.text.contains("event: resync\n"), "{} bytes", slow.text.len());
    });
}
