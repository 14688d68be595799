//! The cookbook shows the contents of its files and the expected output of its cases.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn each_recipe_is_a_file_and_a_case() {
    let page = fs::read_to_string(root().join("docs/cookbook.md")).unwrap();
    let mut shown: Vec<String> = Vec::new();
    for recipe in page.split("\n## ").skip(1) {
        let name = recipe.split_once("](cookbook/").and_then(|(_, rest)| rest.split_once(".lua)")).unwrap().0;
        let block = |lang: &str| {
            let (_, rest) = recipe.split_once(&format!("```{lang}\n")).unwrap();
            rest.split_once("\n```").unwrap().0
        };
        let file = fs::read_to_string(root().join(format!("docs/cookbook/{name}.lua"))).unwrap();
        assert_eq!(block("lua"), file.trim_end(), "{name}: the page shows another script");
        let expected = root().join(format!("tests/golden/cookbook/{name}/expected/default.text.txt"));
        let expected = fs::read_to_string(expected).unwrap();
        assert_eq!(block("text"), expected.trim_end(), "{name}: the page shows another output");
        shown.push(format!("{name}.lua"));
    }
    shown.sort();
    let files = fs::read_dir(root().join("docs/cookbook")).unwrap();
    let mut files: Vec<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    assert_eq!(shown, files, "each file is a recipe of the page");
    assert!(shown.len() >= 15);
}
