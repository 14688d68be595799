//! `streamfmt sessions show`: formats a session with the same pipeline as a file.

use streamfmt::json;
use streamfmt_server::store::{Store, history_exists};

use super::{find, mask_details, refuse};
use crate::args::{Args, ShowArgs};
use crate::exit_code::USAGE;
use crate::file_place::FilePlace;
use crate::input::{InputSource, check_written};
use crate::message::{print, usable};
use crate::output::write_out;

impl ShowArgs {
    pub(super) fn run(mut self, store: &mut Store) -> Result<u8, u8> {
        if self.args.follow || self.args.watch {
            print("sessions show doesn't take --follow or --watch");
            return Err(USAGE);
        }
        let names = std::mem::take(&mut self.args.files);
        let name = names.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut session = find(store, &name, "session")?;
        if self.json {
            if self.args.redact {
                mask_details(&mut session);
            }
            return write_out(json::line(&session).as_bytes());
        }
        let input = input(store, &session.record.run.id, &self.args)?;
        crate::format_inputs(&self.args, vec![input])
    }
}

/// The input of a session: its own bytes of the log.
pub(super) fn input(store: &mut Store, id: &str, args: &Args) -> Result<InputSource, u8> {
    let sources = store.mended(|store| store.readable_sources(id)).map_err(|error| refuse(&error))?;
    let Some(source) = sources.iter().find(|source| history_exists(&source.path)) else {
        let path = sources.first().map(|source| format!(": {}", usable(&source.path)));
        print(&format!(
            "{id}: its log is gone{} (what is known of it: streamfmt sessions show {id} --json)",
            path.unwrap_or_default()
        ));
        return Err(USAGE);
    };
    check_written(&FilePlace::of(&source.path), args).map_err(|message| {
        print(&format!("{}: {message}", usable(&source.path)));
        USAGE
    })?;
    let path = source.path.clone();
    // A session in a database may have changed anywhere since it was imported.
    Ok(if path.is_file() {
        InputSource::Part { path, start: source.start, size: source.size }
    } else {
        InputSource::File(path)
    })
}
