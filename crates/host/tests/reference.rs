//! The page of the Lua interface and the types for editors are those of the table that the machine is furnished from; the page
//! of facts is that of the table of facts.
//!
//! With `STREAMFMT_BLESS=1` they are written anew.

#![cfg(feature = "lua")]

use std::path::Path;
use std::{env, fs};

use streamfmt::core::contract::facts_page;
use streamfmt::lua::{luau_types, reference};

#[test]
fn the_reference_and_the_types_are_fresh() {
    let blesses = env::var_os("STREAMFMT_BLESS").is_some_and(|value| !value.is_empty() && value != "0");
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let types = reference::types();
    for (name, text) in [
        ("facts.md", facts_page()),
        ("lua.md", reference::page()),
        ("sf.d.lua", types.clone()),
        ("sf.d.luau", luau_types::luau(&types)),
    ] {
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
