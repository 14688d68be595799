//! Reads a session from standard input with an observer and without an output, and prints how many items and tokens it has.

use std::error::Error;
use std::io::{self, Read};
use std::sync::mpsc::{Sender, channel};

use streamfmt::item::Item;
use streamfmt::observer::Observer;
use streamfmt::session::Session;
use streamfmt::{Engine, Pipeline};

/// The program's allocator, so that counts are comparable.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Counts the items, and sends their number and the tokens at the end.
struct Counter {
    items: u64,
    at_end: Sender<(u64, u64)>,
}

impl Observer for Counter {
    fn item(&mut self, _: &Item, _: &Session) {
        self.items += 1;
    }

    fn end(&mut self, session: &Session) {
        // The receiver is read after the end.
        let _ = self.at_end.send((self.items, session.usage().spent()));
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (at_end, counted) = channel();
    let engine = Engine::builder().build()?;
    let mut pipeline = Pipeline::new(engine.watch(vec![Box::new(Counter { items: 0, at_end })]));
    let (mut input, mut buffer, mut no_text) = (io::stdin().lock(), vec![0; 64 * 1024], String::new());
    loop {
        match input.read(&mut buffer)? {
            0 => break,
            length => pipeline.push(&buffer[..length], &mut no_text)?,
        }
    }
    pipeline.finish(&mut no_text)?;
    let (items, tokens) = counted.recv()?;
    println!("{items} items, {tokens} tokens");
    Ok(())
}
