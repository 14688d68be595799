//! Rows in a database in memory: what is written, and how runs are linked.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use streamfmt::core::event::Usage;
use streamfmt::core::session::counted::CountedFrom;

use super::*;
use crate::side_file::{AgentExit, LogGap, ProcessMark, SessionStatus};
use crate::store::record::{SourceKind, SourceRow};
use crate::store::{CountedMessages, SessionFigures, SessionOutcome};

/// A run with the fields on which links depend.
#[derive(Clone)]
struct Run {
    id: &'static str,
    session: &'static str,
    parent: Option<&'static str>,
    /// Seconds since 1970.
    started: i64,
    /// The boot, and the time since then.
    boot: Option<(&'static str, u64)>,
    figures: SessionFigures,
}

fn run(id: &'static str, session: &'static str, started: i64) -> Run {
    Run { id, session, parent: None, started, boot: None, figures: SessionFigures::default() }
}

impl Run {
    fn resumes(self, parent: &'static str) -> Self {
        Self { parent: Some(parent), ..self }
    }

    fn at(self, boot: &'static str, time: u64) -> Self {
        Self { boot: Some((boot, time)), ..self }
    }

    fn with(self, figures: SessionFigures) -> Self {
        Self { figures, ..self }
    }
}

/// The figures of one model: the agent's report, and the start of its count.
fn sums(cost: f64, api_ms: u64, input: u64, output: u64, counted_from: CountedFrom) -> SessionFigures {
    SessionFigures {
        outcome: Some(SessionOutcome::Response("Done.".to_owned())),
        cost_usd: Some(cost),
        api_ms: Some(api_ms),
        usage: of_model(input, output),
        counted_from,
        ..SessionFigures::default()
    }
}

fn of_model(input: u64, output: u64) -> BTreeMap<String, Usage> {
    BTreeMap::from([("m".to_owned(), Usage { input, output, ..Usage::default() })])
}

/// The run continues counting if the run before it ended with these sums.
fn either(input: u64, output: u64) -> CountedFrom {
    CountedFrom::Either(of_model(input, output))
}

fn session_run(run: &Run) -> SessionRun {
    let (boot, start) = run.boot.map_or((None, None), |(boot, start)| (Some(boot.to_owned()), Some(start)));
    SessionRun {
        agent_session: Some(run.session.to_owned()),
        parent_session: run.parent.map(str::to_owned),
        recorder: Some(ProcessMark { pid: 1, start, boot }),
        ..SessionRun::unknown(
            run.id.to_owned(),
            SessionStatus::Done,
            Timestamp::from_second(run.started).unwrap(),
        )
    }
}

/// Writes the row of a run, without its figures and links.
fn write(database: &Database, run: &Run) {
    write_session(database, &session_run(run), None).unwrap();
}

fn add(database: &Database, run: &Run) {
    write(database, run);
    database.write_figures(run.id, &run.figures, false).unwrap();
    link(database, run.session).unwrap();
}

fn empty() -> Database {
    Database::in_memory(Path::new("nowhere")).unwrap()
}

fn all(runs: &[Run]) -> Database {
    let database = empty();
    for run in runs {
        add(&database, run);
    }
    database
}

/// Each run with the run that it resumes, by id.
fn links(database: &Database) -> String {
    database.text("SELECT group_concat(id || '<' || coalesce(resumes, ''), ' ' ORDER BY id) FROM sessions")
}

/// The cost, the API time, and the tokens of input and output of each run, by id.
fn own(database: &Database) -> String {
    let sql = "SELECT group_concat(id || ' ' || cost_usd || ' ' || api_ms || ' ' || tokens_input || ' ' || tokens_output, ', ' ORDER BY id) \
               FROM sessions";
    database.text(sql)
}

#[test]
fn runs_of_a_session_resume_each_other_in_the_order_of_time() {
    // The reason, the runs of one session, and the run that each resumes. The order in which they are added doesn't matter.
    let rows: [(&str, Vec<Run>, &str); 6] = [
        ("by date", vec![run("a", "s", 30), run("b", "s", 10), run("c", "s", 20)], "a<c b< c<b"),
        ("of one second by id", vec![run("b", "s", 10), run("a", "s", 10)], "a< b<a"),
        (
            "of one boot by the time since then, whatever the clock shows",
            vec![run("a", "s", 30).at("x", 1), run("b", "s", 20).at("x", 2), run("c", "s", 10).at("x", 3)],
            "a< b<a c<b",
        ),
        (
            "of different boots by date",
            vec![run("a", "s", 10).at("x", 9), run("b", "s", 20).at("y", 1), run("c", "s", 30).at("z", 5)],
            "a< b<a c<b",
        ),
        (
            "runs of a boot take its places among the others",
            vec![
                run("a", "s", 10).at("x", 9),
                run("b", "s", 20),
                run("c", "s", 30).at("x", 1),
                run("d", "s", 40),
                run("e", "s", 50).at("y", 1),
            ],
            "a<b b<c c< d<a e<d",
        ),
        ("runs of other sessions are no part of it", vec![run("a", "s", 10), run("b", "t", 20)], "a< b<"),
    ];
    for (why, runs, expected) in rows {
        assert_eq!(links(&all(&runs)), expected, "{why}");
        let reversed: Vec<Run> = runs.into_iter().rev().collect();
        assert_eq!(links(&all(&reversed)), expected, "{why}, the last one first");
    }
}

#[test]
fn the_first_run_of_a_session_resumes_the_last_run_before_it_of_the_session_that_it_came_from() {
    let rows: [(&str, Vec<Run>, &str); 10] = [
        ("by date", vec![run("a", "s", 10), run("b", "s", 20), run("c", "t", 30).resumes("s")], "a< b<a c<b"),
        (
            "later runs of that session are no part of it",
            vec![run("a", "s", 10), run("b", "s", 30), run("c", "t", 20).resumes("s")],
            "a< b<a c<a",
        ),
        (
            "only the first one comes from there",
            vec![run("a", "s", 10), run("b", "t", 20).resumes("s"), run("c", "t", 30).resumes("s")],
            "a< b<a c<b",
        ),
        (
            "of one boot by the time since then",
            vec![
                run("a", "s", 40).at("x", 1),
                run("b", "s", 50).at("x", 2),
                run("c", "s", 10).at("x", 4),
                run("d", "t", 20).at("x", 3).resumes("s"),
            ],
            "a< b<a c<b d<b",
        ),
        (
            "a run of a boot that was started with it isn't before it",
            vec![
                run("a", "s", 40).at("x", 1),
                run("b", "s", 50).at("x", 3),
                run("d", "t", 60).at("x", 3).resumes("s"),
            ],
            "a< b<a d<a",
        ),
        (
            "of different boots by date",
            vec![run("a", "s", 10).at("x", 9), run("b", "t", 20).at("y", 1).resumes("s")],
            "a< b<a",
        ),
        ("without a boot by date", vec![run("a", "s", 10), run("b", "t", 20).resumes("s")], "a< b<a"),
        ("of one second by id", vec![run("b", "s", 10), run("c", "t", 10).resumes("s")], "b< c<b"),
        (
            "a run of one second with a later id isn't before it",
            vec![run("d", "s", 10), run("c", "t", 10).resumes("s")],
            "c< d<",
        ),
        (
            "a session is not its own parent",
            vec![run("a", "s", 10).resumes("s"), run("b", "s", 20).resumes("s")],
            "a< b<a",
        ),
    ];
    for (why, runs, expected) in rows {
        assert_eq!(links(&all(&runs)), expected, "{why}");
        let reversed: Vec<Run> = runs.into_iter().rev().collect();
        assert_eq!(links(&all(&reversed)), expected, "{why}, the last one first");
    }
    let database = all(&[run("a", "s", 10).resumes("s"), run("b", "t", 20).resumes("s")]);
    let sql = "SELECT group_concat(id || '<' || coalesce(parent_session, ''), ' ' ORDER BY id) FROM sessions";
    assert_eq!(database.text(sql), "a< b<s", "that isn't kept");
}

#[test]
fn runs_that_are_left_by_a_run_are_linked_anew_and_so_is_whoever_came_from_them() {
    let runs = [
        run("a", "s", 10).with(sums(1.0, 100, 10, 10, either(0, 0))),
        run("b", "s", 20).with(sums(3.0, 300, 30, 30, either(10, 10))),
        run("c", "s", 30).with(sums(6.0, 600, 60, 60, either(10, 10))),
        run("d", "t", 40).with(sums(7.0, 700, 70, 70, either(60, 60))).resumes("s"),
    ];
    let database = all(&runs);
    // The third one doesn't continue from the second.
    assert_eq!(links(&database), "a< b<a c<b d<c");
    assert_eq!(own(&database), "a 1.0 100 10 10, b 2.0 200 20 20, c 6.0 600 60 60, d 1.0 100 10 10");
    // The agent names the session of the second run only later.
    let moved = Run { session: "u", ..runs[1].clone() };
    write(&database, &moved);
    assert_eq!(links(&database), "a< b<a c<a d<c", "the run itself is linked by the caller");
    assert_eq!(own(&database), "a 1.0 100 10 10, b 2.0 200 20 20, c 5.0 500 50 50, d 1.0 100 10 10");
    link(&database, "u").unwrap();
    assert_eq!(links(&database), "a< b< c<a d<c");
    assert_eq!(own(&database), "a 1.0 100 10 10, b 3.0 300 30 30, c 5.0 500 50 50, d 1.0 100 10 10");
    // A run before all others of a session changes the link of the runs that resumed the session.
    let late = Run { session: "t", ..run("e", "t", 35) };
    add(&database, &late);
    assert_eq!(links(&database), "a< b< c<a d<e e<");
}

#[test]
fn sums_are_read_as_they_were_written_whatever_the_order_of_the_runs() {
    let part = CountedFrom::Session(of_model(100, 50));
    let unknown = || CountedFrom::Either(BTreeMap::new());
    let rows: [(&str, Vec<SessionFigures>, &str); 4] = [
        // A run without figures is no base; the one before it is.
        (
            "over a run without",
            vec![SessionFigures::default(), sums(0.5, 500, 140, 70, either(100, 50))],
            "0.2 200 40 20",
        ),
        (
            "the third",
            vec![sums(0.5, 500, 140, 70, either(100, 50)), sums(0.6, 650, 150, 80, either(140, 70))],
            "0.1 150 10 10",
        ),
        (
            "after a part",
            vec![sums(0.2, 500, 40, 20, part), sums(0.3, 650, 150, 80, either(140, 70))],
            "0.1 150 10 10",
        ),
        (
            "only sums",
            vec![sums(0.5, 500, 170, 70, unknown()), sums(0.6, 650, 250, 80, unknown())],
            "0.1 150 80 10",
        ),
    ];
    for (why, mut figures, expected) in rows {
        figures.insert(0, sums(0.3, 300, 100, 50, CountedFrom::Start));
        let ids = (10..).zip(["a", "b", "c"]);
        let runs: Vec<Run> = ids.zip(figures).map(|((at, id), it)| run(id, "s", at).with(it)).collect();
        let of_last = |database: &Database| own(database).rsplit_once("c ").unwrap().1.to_owned();
        assert_eq!(of_last(&all(&runs)), expected, "{why}");
        let reversed: Vec<Run> = runs.into_iter().rev().collect();
        assert_eq!(of_last(&all(&reversed)), expected, "{why}, the last one first");
    }
}

#[test]
fn figures_are_replaced_as_a_whole_and_count_only_what_is_known() {
    let database = empty();
    let row = run("a", "s", 10);
    write(&database, &row);
    let usage = Usage { input: 1, output: 2, cache_read: 3, cache_write: 4 };
    let more = Usage { input: 10, ..Usage::default() };
    let full = SessionFigures {
        num_turns: Some(3),
        duration_ms: Some(700),
        usage: BTreeMap::from([("m".to_owned(), usage), ("n".to_owned(), more)]),
        calls: BTreeMap::from([("Bash".to_owned(), 2), ("Read".to_owned(), u64::MAX)]),
        ..sums(0.5, 300, 0, 0, CountedFrom::Start)
    };
    let all = "SELECT concat_ws(' ', coalesce(response, '-'), coalesce(error, '-'), coalesce(num_turns, '-'), coalesce(duration_ms, '-'), \
               coalesce(cost_usd, '-'), coalesce(cost_counted, '-'), coalesce(api_ms, '-'), coalesce(api_counted, '-'), \
               coalesce(tokens_input, '-'), coalesce(tokens_output, '-'), coalesce(tokens_cache_read, '-'), coalesce(tokens_cache_write, '-')) \
               FROM sessions";
    let usages = "SELECT group_concat(concat_ws(' ', model, kind, tokens, coalesce(counted, '-'), coalesce(base, '-')), ', ' \
                  ORDER BY model, kind) FROM usage";
    let calls = "SELECT group_concat(tool || ' ' || calls, ', ' ORDER BY tool) FROM calls";
    let base = || BTreeMap::from([("m".to_owned(), Usage { input: 7, ..Usage::default() })]);
    let one = |from| SessionFigures { counted_from: from, ..sums(0.5, 300, 9, 8, CountedFrom::Start) };
    let kinds = "m cache_read 0 - 0, m cache_write 0 - 0, m input 9 - 7, m output 8 - 0";
    let open = "m cache_read 0 0 0, m cache_write 0 0 0, m input 9 9 7, m output 8 8 0";
    let none = "m cache_read 0 - -, m cache_write 0 - -, m input 9 - -, m output 8 - -";
    let failed =
        SessionFigures { outcome: Some(SessionOutcome::Error("no".to_owned())), ..one(CountedFrom::Start) };
    let answered =
        SessionFigures { outcome: None, answer: Some("Yes.".to_owned()), ..one(CountedFrom::Start) };
    let absurd = SessionFigures { usage: of_model(u64::MAX, 1 << 52), ..one(CountedFrom::Start) };
    for (figures_of, has_tokens, row, usage, called) in [
        (
            full,
            false,
            "Done. - 3 700 0.5 - 300 - 11 2 3 4",
            "m cache_read 3 - -, m cache_write 4 - -, m input 1 - -, m output 2 - -, \
             n cache_read 0 - -, n cache_write 0 - -, n input 10 - -, n output 0 - -",
            "Bash 2, Read 4503599627370496",
        ),
        (one(CountedFrom::Session(base())), false, "Done. - - - 0.5 - 300 300 9 8 0 0", kinds, ""),
        (one(CountedFrom::Either(base())), false, "Done. - - - 0.5 0.5 300 300 9 8 0 0", open, ""),
        (failed, false, "- no - - 0.5 - 300 - 9 8 0 0", none, ""),
        // Figures without an outcome may be incomplete.
        (answered.clone(), false, "Yes. - - - 0.5 - 300 - - - - -", "", ""),
        (answered, true, "Yes. - - - 0.5 - 300 - 9 8 0 0", none, ""),
        (
            absurd,
            false,
            "Done. - - - 0.5 - 300 - 4503599627370496 4503599627370496 0 0",
            "m cache_read 0 - -, m cache_write 0 - -, m input 4503599627370496 - -, m output 4503599627370496 - -",
            "",
        ),
    ] {
        database.write_figures("a", &figures_of, has_tokens).unwrap();
        assert_eq!(database.text(all), row);
        assert_eq!((database.text(usages).as_str(), database.text(calls).as_str()), (usage, called), "{row}");
    }
    let messages = CountedMessages { first: Some(1), all: vec![1, 258] };
    let with = SessionFigures { messages, ..SessionFigures::default() };
    database.write_figures("a", &with, true).unwrap();
    assert_eq!(database.text("SELECT hex(hashes) FROM messages"), "01000000000000000201000000000000");
}

#[test]
fn a_row_is_updated_as_a_whole_and_its_figures_stay() {
    let database = all(&[run("a", "s", 10).with(sums(0.5, 300, 9, 8, CountedFrom::Start))]);
    let shown = "SELECT concat_ws('|', agent_session, coalesce(parent_session, '-'), coalesce(agent, '-'), coalesce(model, '-'), \
                 coalesce(title, '-'), coalesce(folder, '-'), coalesce(command, '-'), coalesce(labels, '-'), status, started, \
                 coalesce(ended, '-'), coalesce(exit, '-'), coalesce(pid, '-'), coalesce(pid_start, '-'), coalesce(boot, '-'), \
                 coalesce(first_message, '-'), cost_usd) FROM sessions";
    assert_eq!(database.text(shown), "s|-|-|-|-|-|-|-|done|10000000000|-|-|1|-|-|-|0.5");
    let full = SessionRun {
        parent_session: Some("t".to_owned()),
        agent: Some("claude".to_owned()),
        model: Some("m".to_owned()),
        title: Some("Fix".to_owned()),
        folder: Some("/home".to_owned()),
        command: vec!["claude".to_owned(), "-p".to_owned()],
        labels: BTreeMap::from([("job".to_owned(), "7".to_owned())]),
        status: SessionStatus::Failed,
        ended: Some(Timestamp::from_second(30).unwrap()),
        exit: Some(AgentExit::Code(3)),
        recorder: Some(ProcessMark { pid: 7, start: Some(8), boot: Some("x".to_owned()) }),
        ..session_run(&run("a", "s", 20))
    };
    write_session(&database, &full, Some(5)).unwrap();
    let expected = r#"s|t|claude|m|Fix|/home|["claude","-p"]|{"job":"7"}|failed|20000000000|30000000000|{"code":3}|7|8|x|5|0.5"#;
    assert_eq!(database.text(shown), expected);
}

#[test]
fn a_run_has_one_log_which_may_be_moved_and_other_sources_stay() {
    let database = all(&[run("a", "s", 10), run("b", "s", 20)]);
    let of = |path: &str, kind| SourceRow {
        path: PathBuf::from(path),
        kind,
        start: 3,
        size: Some(5),
        errors: Some(PathBuf::from("/e")),
        gaps: Vec::new(),
        mtime: Some(7),
        gone: false,
        is_copy: false,
    };
    let shown = "SELECT group_concat(concat_ws(' ', session, path, kind, start, size, errors, coalesce(gaps, '-'), mtime, gone), ', ' \
                 ORDER BY session, path) FROM sources";
    for (session, row, expected) in [
        ("a", of("/1", SourceKind::Run), "a /1 run 3 5 /e - 7 0"),
        ("b", of("/1", SourceKind::Run), "a /1 run 3 5 /e - 7 0, b /1 run 3 5 /e - 7 0"),
        (
            "a",
            of("/h", SourceKind::History),
            "a /1 run 3 5 /e - 7 0, a /h history 3 5 /e - 7 0, b /1 run 3 5 /e - 7 0",
        ),
        (
            "a",
            SourceRow { gaps: vec![LogGap { at: 1, bytes: 2 }], gone: true, ..of("/2", SourceKind::Run) },
            "a /2 run 3 5 /e [{\"at\":1,\"bytes\":2}] 7 1, a /h history 3 5 /e - 7 0, b /1 run 3 5 /e - 7 0",
        ),
    ] {
        database.write_source(session, &row).unwrap();
        assert_eq!(database.text(shown), expected);
    }
}
