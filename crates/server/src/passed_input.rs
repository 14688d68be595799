//! Passes standard input on to the agent, and keeps its beginning.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::process::Stdio;
use std::thread;

/// The most bytes that are kept.
const KEPT: usize = 4 * 1024;

/// Returns standard input for the agent. `keep` receives its beginning as soon as that is known, which may be never.
pub(crate) fn pass(keep: impl FnOnce(&str) + Send + 'static) -> io::Result<Stdio> {
    let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    if input.metadata()?.is_file() {
        // Read from the position where the agent will start to read, without changing it.
        let at = io::Seek::stream_position(&mut input)?;
        let mut beginning = [0; KEPT];
        let count = input.read_at(&mut beginning, at).unwrap_or(0);
        keep_text(&beginning[..count], keep);
        return Ok(Stdio::inherit());
    }
    let (reader, mut writer) = io::pipe()?;
    thread::Builder::new().name("input".to_owned()).spawn(move || {
        let mut keep = Some(keep);
        let mut beginning = Vec::new();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let count = match input.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read.unwrap_or(0),
            };
            beginning.extend_from_slice(&buffer[..count.min(KEPT - beginning.len())]);
            // Pass it to the agent first. Once the agent stops reading, there is nothing left to do.
            let is_over = count == 0 || writer.write_all(&buffer[..count]).is_err();
            if (is_over || beginning.len() == KEPT)
                && let Some(keep) = keep.take()
            {
                keep_text(&beginning, keep);
            }
            if is_over {
                return;
            }
        }
    })?;
    Ok(reader.into())
}

fn keep_text(beginning: &[u8], keep: impl FnOnce(&str)) {
    // A character that is cut at the end is left out.
    let text = String::from_utf8_lossy(beginning);
    let text = if beginning.len() == KEPT { text.trim_end_matches('\u{fffd}') } else { &text };
    if !text.trim().is_empty() {
        keep(text);
    }
}
