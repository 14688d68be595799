//! `streamfmt sessions find`: which session made a pull request, a commit, or a change to a file.

use std::env;

use jiff::tz::TimeZone;
use streamfmt::json;
use streamfmt_server::store::{SessionWork, Store, WorkHit};

use super::with_progress;
use crate::args::{FindArgs, WorkChoice};
use crate::exit_code::RUN_FAILED;
use crate::message::one_line;
use crate::output::write_out;

impl FindArgs {
    pub(super) fn run(self, store: &mut Store) -> Result<u8, u8> {
        let WorkChoice { pr, commit, file } = self.work;
        let file = file.map(|path| SessionWork::file(&path, &env::current_dir().unwrap_or_default()));
        // The command line has one of them.
        let Some(work) = pr.or(commit).or(file) else { return Ok(RUN_FAILED) };
        let hits = with_progress(store, |store, each| store.find_work(&work, each))?;
        if hits.is_empty() {
            return Ok(RUN_FAILED);
        }
        let lines = hits.iter().map(|hit| if self.json { json::line(hit) } else { text(hit) });
        write_out(lines.collect::<Vec<_>>().join("\n").as_bytes())
    }
}

/// A hit as a line: the session, the item, its time in the local time zone, and the title.
fn text(hit: &WorkHit) -> String {
    let at = hit.at.map(|at| at.to_zoned_datetime(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string());
    let title = hit.title.as_deref().map(one_line).unwrap_or_default();
    let at = at.unwrap_or_else(|| "-".to_owned());
    [&*hit.session, &one_line(&hit.item), &at, &title].join("  ").trim_end().to_owned()
}
