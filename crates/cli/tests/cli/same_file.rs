//! No two outputs are one file, whatever command writes them and however they are named.

use std::fs;

use crate::program::{Folder, SESSION};
use crate::run::{agents, command, run};

/// Pairs of outputs that are one file, in every way that a file can have several names: `hard` and `soft` are links to `a`, `linked` is one
/// to the folder `d`, and `ahead` one to a file that doesn't exist yet.
const PAIRS: [&str; 16] = [
    "-o a --tee a",
    "-o a --also items=a",
    "--also items=a --also json=a",
    "--tee a --also items=a",
    "-o a --summary a",
    "--tee a --summary a",
    "-o ./a --tee a",
    "-o d/../a --tee a",
    "-o hard --tee a",
    "-o soft --tee a",
    "--summary soft --tee hard",
    "-o linked/new --tee d/new",
    "--also items=ahead --tee new",
    "-o new --summary ./new",
    "--to html -o d/ --tee d/index.html",
    "--to html -o linked/ --summary d/index.html",
];

fn folder() -> Folder {
    let folder = agents(&[("agent", "touch ran; cat session")]);
    folder.write("a", "before");
    fs::create_dir(folder.path("d")).unwrap();
    fs::hard_link(folder.path("a"), folder.path("hard")).unwrap();
    for (link, target) in [("soft", "a"), ("linked", "d"), ("ahead", "new")] {
        std::os::unix::fs::symlink(target, folder.path(link)).unwrap();
    }
    folder
}

#[test]
fn two_outputs_of_one_name_are_refused_before_anything_is_read_or_run() {
    let folder = folder();
    let log =
        ["-o a", "--also html=a", "--tee a", "--summary hard", "-o soft", "-o d/../a", "--also items=hard"];
    let log = log.map(|output| format!("--log a {output}"));
    let log =
        log.into_iter().chain(["--log new -o ahead".to_owned(), "--log d/new --tee linked/new".to_owned()]);
    let pairs: Vec<String> = PAIRS.iter().map(|pair| (*pair).to_owned()).collect();
    let agents = pairs.iter().cloned().chain(log).map(|options| format!("run {options} -- ./agent"));
    let files = pairs.iter().flat_map(|pair| [format!("session {pair}"), format!("missing.jsonl -f {pair}")]);
    let names = folder.names();
    for arguments in agents.chain(files.filter(|line| !line.contains("-f ") || !line.contains("-o "))) {
        let outcome = run(&folder, &arguments);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{arguments}: {outcome:?}");
        assert_eq!(outcome.stderr.lines().count(), 1, "{arguments}: {outcome:?}");
        assert!(outcome.stderr.contains(" writes to the same file as "), "{arguments}: {outcome:?}");
        assert_eq!(folder.read("a"), "before", "{arguments}");
        assert_eq!((folder.names(), folder.names_in("d")), (names.clone(), Vec::new()), "{arguments}");
    }
}

#[test]
fn standard_output_is_an_output_like_the_others() {
    let folder = folder();
    for arguments in [
        "session --tee a",
        "run --log hard -- ./agent",
        "session --summary soft",
        "golden check --report-file a",
    ] {
        let stdout = fs::OpenOptions::new().append(true).open(folder.path("a")).unwrap();
        let output = command(&folder, arguments).stdout(stdout).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {told}");
        assert!(told.contains("writes to the same file as"), "{arguments}: {told}");
        assert_eq!(folder.read("a"), "before", "{arguments}");
    }
}

#[test]
fn the_log_that_a_second_run_would_take_is_no_output() {
    let folder = folder();
    run(&folder, "run --log run.ndjson -o run-2.ndjson -- ./agent").expect(
        2,
        "streamfmt: -o run-2.ndjson is the file that --log run.ndjson uses if another run is writing to that log\n",
    );
    run(&folder, "run --log run.ndjson -o run-1.ndjson -- cat session");
    assert_eq!(
        (folder.read("run.ndjson").as_str(), folder.read("run-1.ndjson").is_empty()),
        (SESSION, false)
    );
}

#[test]
fn devices_and_pipes_may_be_named_twice() {
    let folder = folder();
    run(&folder, "session -o /dev/null --tee /dev/null --also html=/dev/null").expect(0, "");
    assert_eq!(run(&folder, "run --log /dev/null -o /dev/null -- cat session").code, Some(0));
}

#[test]
fn a_page_has_no_other_output_s_name() {
    let folder = folder();
    std::os::unix::fs::symlink("session-2.html", folder.path("d/other.html")).unwrap();
    folder.write("other", SESSION);
    folder.write("e/session", SESSION);
    run(&folder, "session other e/session --to html -o d/ --tee d/session.html").expect(0, "");
    assert_eq!(fs::read_to_string(folder.path("d/session.html")).unwrap(), SESSION.repeat(3));
    // `other.html` is the link, which leads to the page of the first input.
    assert_eq!(
        folder.names_in("d"),
        ["e-session.html", "index.html", "other-2.html", "other.html", "session-2.html", "session.html"]
    );
}

#[test]
fn an_output_that_can_t_be_opened_is_known_before_the_agent_runs() {
    let folder = folder();
    for (options, message) in [
        ("-o no/x", "streamfmt: can't write no/x: no such file or directory\n"),
        ("--also items=no/x", "streamfmt: can't write no/x: no such file or directory\n"),
        ("--tee no/x", "streamfmt: no copy is saved: can't open no/x: no such file or directory\n"),
        ("--tee soft", "streamfmt: no copy is saved: can't open soft: symbolic link\n"),
        ("--summary no/x", "streamfmt: can't write no/x: no such file or directory\n"),
        ("--summary d", "streamfmt: can't write d: is a directory\n"),
        ("--also items=d", "streamfmt: can't write d: is a directory\n"),
    ] {
        run(&folder, &format!("run {options} -- ./agent")).expect(2, message);
        assert!(!folder.path("ran").exists(), "{options}");
        assert!(!folder.path("home").exists(), "nothing is kept: {options}");
    }
}
