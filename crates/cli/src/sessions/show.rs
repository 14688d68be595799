//! `streamfmt sessions show`: formats a session with the same pipeline as a file.

use streamfmt::json;
use streamfmt_server::store::{SourceRow, Store, history_exists};

use super::around::AroundItem;
use super::{find, mask_details, refuse};
use crate::args::{Args, ShowArgs};
use crate::exit_code::USAGE;
use crate::file_place::FilePlace;
use crate::input::{InputSource, check_written};
use crate::message::{print, reason, usable};
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
        let id = &session.record.run.id;
        let input = match &self.at {
            Some(item) => {
                let (source, ids) = around(store, id, item)?;
                self.args.within = Some(ids);
                input_of(&source, &self.args)?
            }
            None => input(store, id, &self.args)?,
        };
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
    input_of(source, args)
}

/// The source of a session that contains an item, and the ids of the item and of its neighbours.
fn around(store: &mut Store, id: &str, item: &str) -> Result<(SourceRow, Vec<String>), u8> {
    let sources = store.mended(|store| store.readable_sources(id)).map_err(|error| refuse(&error))?;
    for source in sources.into_iter().filter(|source| history_exists(&source.path)) {
        let observer = AroundItem::new(item);
        if let Err(error) = store.observe(&source, Box::new(observer.clone())) {
            print(&format!("{}: {}", usable(&source.path), reason(&error)));
            return Err(USAGE);
        }
        if let Some(ids) = observer.ids() {
            return Ok((source, ids));
        }
    }
    print(&format!(
        "{id} has no item \"{item}\" (to list the ids of its items: streamfmt sessions show {id} --to items)"
    ));
    Err(USAGE)
}

/// A source of a session as an input.
fn input_of(source: &SourceRow, args: &Args) -> Result<InputSource, u8> {
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
