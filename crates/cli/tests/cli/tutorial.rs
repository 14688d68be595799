//! The tutorial, from its first command to its last.

use std::fs;
use std::path::Path;

use crate::page::follow;
use crate::program::Folder;

#[test]
fn the_tutorial_goes_as_it_says() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/samples/shop.jsonl");
    let folder = Folder::with(&[("shop.jsonl", &fs::read_to_string(sample).unwrap())]);
    let commands = follow(include_str!("../../../../docs/tutorial.md"), &folder);
    assert!(commands >= 18, "only {commands} commands were tried");
}
