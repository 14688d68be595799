//! Images of a page as files beside it.

use std::fs;

use crate::program::{Folder, SESSION};

/// An image of one pixel.
const DOT: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const DOT_FILE: &str = "6b7fa434f92a8b80aab02d9bf1a12e49.png";

/// A session that reads images of these types, with these bytes in Base64.
fn session(pictures: &[(&str, &str)]) -> String {
    let lines = pictures.iter().enumerate().map(|(at, (media, data))| {
        let call = format!(
            r#"{{"type":"tool_use","id":"t-{at}","name":"Read","input":{{"file_path":"/home/dev/shop/../x.png"}}}}"#
        );
        let source = format!(r#"{{"type":"base64","media_type":"{media}","data":"{data}"}}"#);
        let result = format!(
            r#"{{"type":"tool_result","tool_use_id":"t-{at}","content":[{{"type":"image","source":{source}}}]}}"#
        );
        format!(
            "{{\"type\":\"assistant\",\"message\":{{\"id\":\"m-{at}\",\"content\":[{call}]}},\"uuid\":\"a-{at}\"}}\n\
             {{\"type\":\"user\",\"message\":{{\"content\":[{result}]}},\"uuid\":\"r-{at}\"}}\n"
        )
    });
    lines.collect()
}

/// The addresses of all images in a page.
fn addresses(page: &str) -> Vec<&str> {
    page.lines().filter_map(|line| line.split_once("](<")?.1.strip_suffix(">)")).collect()
}

fn names(folder: &Folder, of: &str) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder.path(of))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn pictures_are_files_that_the_page_leads_to() {
    for (arguments, page, expected) in [
        ("-o run.md --assets run.assets", "run.md", "run.assets/"),
        ("-o out/run.md --assets pictures", "out/run.md", "../pictures/"),
        ("-o out/run.md --assets out/a/b", "out/run.md", "a/b/"),
        ("-o pages/ --assets pages/pictures", "pages/one.md", "pictures/"),
        ("-o out/run.md --assets out", "out/run.md", ""),
    ] {
        let folder = Folder::with(&[("one.jsonl", &session(&[("image/png", DOT)])), ("out/x", "")]);
        folder.run(&format!("--to markdown one.jsonl {arguments}")).expect(0, "");
        let page = folder.read(page);
        assert_eq!(addresses(&page), [format!("{expected}{DOT_FILE}")], "{arguments}: {page}");
        assert!(!page.contains("base64"), "{page}");
    }
}

#[test]
fn standard_output_leads_to_pictures_from_where_the_program_runs() {
    let folder = Folder::with(&[("one.jsonl", &session(&[("image/png", DOT), ("image/png", DOT)]))]);
    let told = folder.run("--to markdown one.jsonl --assets pictures").expect(0, "");
    let name = format!("pictures/{DOT_FILE}");
    assert_eq!(addresses(&told.stdout), [&name, &name], "the same bytes are the same file");
    assert_eq!(names(&folder, "pictures"), [DOT_FILE]);
    let bytes = fs::read(folder.path(&name)).unwrap();
    assert!(bytes.starts_with(b"\x89PNG\r\n") && bytes.ends_with(b"IEND\xaeB`\x82"), "{bytes:?}");
}

#[test]
fn several_inputs_share_the_folder() {
    let two = session(&[("image/gif", "R0lGODlhAQABAAAAADs="), ("image/png", DOT)]);
    let folder = Folder::with(&[("one.jsonl", &session(&[("image/png", DOT)])), ("two.jsonl", &two)]);
    folder.run("--to markdown one.jsonl two.jsonl -o pages --assets pages/pictures").expect(0, "");
    assert_eq!(names(&folder, "pages"), ["index.md", "one.md", "pictures", "two.md"]);
    assert_eq!(names(&folder, "pages/pictures").len(), 2);
    for (page, count) in [("pages/one.md", 1), ("pages/two.md", 2)] {
        let page = folder.read(page);
        let found = addresses(&page);
        assert_eq!(found.len(), count, "{page}");
        assert!(found.iter().all(|it| folder.path("pages").join(it).is_file()), "{page}");
    }
}

#[test]
fn what_is_no_picture_is_told_and_no_text_of_the_stream_is_in_a_path() {
    let odd = [
        ("image/png", "no base64!"),
        ("image/svg+xml", "PHN2Zy8+"),
        ("image/../../etc/x", DOT),
        ("text/html", DOT),
        ("image/png", "iVBORw0KGgp="),
    ];
    let folder = Folder::with(&[("one.jsonl", &session(&odd))]);
    let told = folder.run("--to markdown one.jsonl --assets pictures --profile full").expect(0, "");
    for word in ["damaged", "image svg+xml", "image .. .. etc x"] {
        assert!(told.stdout.contains(word), "{word}: {}", told.stdout);
    }
    assert_eq!(names(&folder, "pictures").len(), 1, "bits behind the last byte mean nothing");
}

#[test]
fn a_picture_that_cannot_be_written_is_told_and_the_page_is_whole() {
    let twice = session(&[("image/png", DOT), ("image/gif", "R0lGODlhAQABAAAAADs=")]) + SESSION;
    let folder = Folder::with(&[("one.jsonl", &twice), ("taken", "no folder")]);
    let told = folder.run("--to markdown one.jsonl --assets taken");
    assert_eq!(told.code, Some(74), "{told:?}");
    assert!(told.stderr.starts_with("streamfmt: can't write images to taken: "), "{}", told.stderr);
    assert_eq!(told.stderr.lines().count(), 1, "{}", told.stderr);
    assert!(told.stdout.contains("not kept") && told.stdout.contains("Second reply."), "{}", told.stdout);
    assert_eq!(folder.read("taken"), "no folder");
}

#[cfg(unix)]
#[test]
fn a_link_in_the_folder_leads_nothing_astray() {
    let folder =
        Folder::with(&[("one.jsonl", &session(&[("image/png", DOT)])), ("mine", "mine"), ("pictures/x", "")]);
    std::os::unix::fs::symlink(folder.path("mine"), folder.path("pictures").join(DOT_FILE)).unwrap();
    folder.run("--to markdown one.jsonl -o one.md --assets pictures").expect(0, "");
    assert_eq!(folder.read("mine"), "mine");
    assert!(fs::read(folder.path("pictures").join(DOT_FILE)).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn other_formats_have_no_pictures_beside_them() {
    let folder = Folder::with(&[("one.jsonl", SESSION)]);
    for (format, told) in [
        ("html", "--assets needs --to markdown; an HTML page always embeds its images"),
        ("text", "--assets needs --to markdown"),
    ] {
        folder
            .run(&format!("--to {format} one.jsonl --assets pictures"))
            .expect(2, &format!("streamfmt: {told}\n"));
        assert!(!folder.path("pictures").exists());
    }
}
