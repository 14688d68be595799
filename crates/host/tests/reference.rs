//! The types for editors match the table of script functions; the page of facts matches the table of facts.
//!
//! `STREAMFMT_BLESS=1` rewrites them.

#![cfg(feature = "lua")]

#[path = "reference/facts_page.rs"]
mod facts_page;

use std::path::Path;
use std::{env, fs};

use streamfmt::lua::reference;

use facts_page::facts_page;

#[test]
fn the_reference_and_the_types_are_fresh() {
    let blesses = env::var_os("STREAMFMT_BLESS").is_some_and(|value| !value.is_empty() && value != "0");
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for (name, text) in [("facts.md", facts_page()), ("sf.d.lua", reference::types())] {
        let path = docs.join(name);
        if blesses {
            fs::write(&path, &text).expect("the page can be written");
        }
        assert!(
            fs::read_to_string(&path).unwrap_or_default() == text,
            "docs/{name} isn't what the table says; to accept: \
             STREAMFMT_BLESS=1 cargo test -p streamfmt --test reference"
        );
    }
}
