//! Compares two generations of a file that was rewritten.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use streamfmt::core::hash::hash;
use streamfmt::core::item::{Item, Kind};
use streamfmt::core::observer::Observer;
use streamfmt::core::pipeline::Pipeline;
use streamfmt::core::session::Session;

use super::super::figures::observed;

/// The number of bytes that are read at once.
const CHUNK: usize = 64 * 1024;
/// The fields of an item that say where it is and how far it has come. What it says is compared on its own.
const STATE: [&str; 5] = ["place", "line", "at", "status", "text"];

/// Whether each line of an older content is in a newer one, as often.
pub(super) fn holds_lines(newer: impl Read, older: impl Read) -> io::Result<bool> {
    let mut left: HashMap<[u8; 16], u64> = HashMap::new();
    each_line(older, |line| *left.entry(line).or_default() += 1)?;
    each_line(newer, |line| {
        if let Some(count) = left.get_mut(&line) {
            *count -= 1;
            if *count == 0 {
                left.remove(&line);
            }
        }
    })?;
    Ok(left.is_empty())
}

/// Passes on the hash of each line. No line is held as a whole.
fn each_line(input: impl Read, mut each: impl FnMut([u8; 16])) -> io::Result<()> {
    let mut input = BufReader::with_capacity(CHUNK, input);
    let (mut hash, mut is_begun) = (Sha256::new(), false);
    loop {
        let bytes = input.fill_buf()?;
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let count = end.map_or(bytes.len(), |end| end + 1);
        hash.update(&bytes[..count]);
        is_begun |= count > 0;
        input.consume(count);
        if (end.is_some() || count == 0) && is_begun {
            let done = std::mem::take(&mut hash).finalize();
            each(std::array::from_fn(|at| done[at]));
            is_begun = false;
        }
        if count == 0 {
            return Ok(());
        }
    }
}

/// Whether each item of an older content is in a newer one. Its text may have grown.
pub(super) fn holds_items(newer: impl Read, older: impl Read) -> io::Result<bool> {
    let seen = SeenItems::default();
    read(older, Box::new(seen.clone()))?;
    let older = std::mem::take(&mut *seen.0.lock().unwrap_or_else(PoisonError::into_inner));
    let left = LeftItems(Arc::new(Mutex::new(older)));
    let was_empty = left.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
    read(newer, Box::new(left.clone()))?;
    // A content without an item isn't understood.
    Ok(!was_empty && left.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty())
}

/// What an item says: a hash of what never changes, the length of its text, and the hash of that.
struct ItemContent {
    fixed: u64,
    length: usize,
    text: u64,
}

type ItemContents = HashMap<String, ItemContent>;

/// Collects the items of an older content.
#[derive(Clone, Default)]
struct SeenItems(Arc<Mutex<ItemContents>>);

impl Observer for SeenItems {
    fn item(&mut self, item: &Item, _: &Session) {
        let text = item.text();
        let content = ItemContent { fixed: fixed(item), length: text.len(), text: hash(&text) };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(item.id.as_str().to_owned(), content);
    }
}

/// Takes away those that a newer content has as well.
#[derive(Clone)]
struct LeftItems(Arc<Mutex<ItemContents>>);

impl Observer for LeftItems {
    fn item(&mut self, item: &Item, _: &Session) {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(older) = left.get(item.id.as_str()) else { return };
        let text = item.text();
        let is_same = text.get(..older.length).is_some_and(|text| hash(text) == older.text);
        if is_same && fixed(item) == older.fixed {
            left.remove(item.id.as_str());
        }
    }
}

/// A hash of all that an item has, except for its text and what changes as it grows: its state, and the facts of what isn't a result.
fn fixed(item: &Item) -> u64 {
    let mut line = String::new();
    if streamfmt::core::contract::write_item(item, &mut line).is_err() {
        return 0;
    }
    let mut fields: Map<String, Value> = serde_json::from_str(&line).unwrap_or_default();
    fields.retain(|name, _| !STATE.contains(&&**name) && (name != "data" || item.kind == Kind::Result));
    hash(&Value::Object(fields).to_string())
}

fn read(mut input: impl Read, observer: Box<dyn Observer>) -> io::Result<()> {
    let mut pipeline = Pipeline::new(observed(observer));
    let mut buffer = vec![0; CHUNK];
    loop {
        match input.read(&mut buffer)? {
            0 => break,
            // Nothing is written, so nothing can fail.
            count => drop(pipeline.push(&buffer[..count], &mut String::new())),
        }
    }
    let _ = pipeline.finish(&mut String::new());
    Ok(())
}
