//! `streamfmt sessions verify`.

use streamfmt_server::store::{CopyFinding, Store, VerifiedCopies};

use super::with_progress;
use crate::exit_code::{OK, RUN_FAILED};
use crate::message::{print, usable};
use crate::output::write_out;

/// Prints what is missing of each session that has copies.
pub(super) fn run(store: &mut Store) -> Result<u8, u8> {
    let sessions = with_progress(store, |store, each| store.verify_copies(each))?;
    if sessions.is_empty() {
        return write_out(b"no session has copies");
    }
    let lines: Vec<String> = sessions.iter().map(line).collect();
    write_out(lines.join("\n").as_bytes())?;
    match sessions.iter().filter(|session| session.is_damaged()).count() {
        0 => Ok(OK),
        count => {
            let copies = if count == 1 { "the copies of 1 session are" } else { "copies of sessions are" };
            print(&format!("{copies} damaged"));
            Err(RUN_FAILED)
        }
    }
}

fn line(session: &VerifiedCopies) -> String {
    let files = if session.files == 1 { "file" } else { "files" };
    let findings: Vec<String> = session.findings.iter().map(words).collect();
    let findings = if findings.is_empty() { "nothing is missing".to_owned() } else { findings.join("; ") };
    format!("{}  {} {files}, {} bytes: {findings}", session.id, session.files, session.bytes)
}

fn words(finding: &CopyFinding) -> String {
    let counted = |count: u64, one: &str, more: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {more}"),
    };
    match finding {
        CopyFinding::Damaged(path) => format!("{} is damaged", usable(path)),
        CopyFinding::NoEntry => "no entry in the database".to_owned(),
        CopyFinding::SourceGone(path) => format!("{} is gone", usable(path)),
        CopyFinding::Generations(path, count) => format!("{count} generations of {}", usable(path)),
        CopyFinding::Gaps(bytes) => format!("{bytes} bytes are missing in its log"),
        CopyFinding::NoResult => "no result".to_owned(),
        CopyFinding::OpenCalls(count) => counted(*count, "call without a result", "calls without a result"),
        CopyFinding::DamagedRecords(count) => {
            counted(*count, "record was damaged before", "records were damaged before")
        }
        CopyFinding::Unsaved(count) => counted(
            *count,
            "report that the agent couldn't save all",
            "reports that the agent couldn't save all",
        ),
    }
}
