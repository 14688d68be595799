//! A session in the browser has the same document as its page in a file.

use std::fs;
use std::path::{Path, PathBuf};

use streamfmt::core::pipeline::Pipeline;

use super::site::{SiteForm, TestSite, run_async, text};

/// The text between two pieces of markup.
fn between<'a>(page: &'a str, start: &str, end: &str) -> &'a str {
    let Some((_, rest)) = page.split_once(start) else { return "" };
    rest.split_once(end).map_or("", |(part, _)| part)
}

/// The words of markup, without entries' links to themselves and without dots: in a file, raw lines share a block without a mark.
fn words(html: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut rest = html;
    while let Some((before, tag)) = rest.split_once('<') {
        plain.push_str(before);
        let (tag, after) = tag.split_once('>').unwrap();
        let is_own_link = tag.starts_with("a class=\"at\"");
        rest = if is_own_link { after.split_once("</a>").unwrap().1 } else { after };
        plain.push(' ');
    }
    plain.push_str(rest);
    plain.split_whitespace().filter(|word| *word != "·").map(str::to_owned).collect()
}

/// The words of the activity and of the answer, in a file.
fn in_file(site: &TestSite, profile: &str, log: &[u8]) -> (Vec<String>, Vec<String>) {
    let engine = site.site.profiles.find(profile, false).unwrap().unwrap().engine;
    let mut pipeline = Pipeline::new(engine.setup());
    let mut page = String::new();
    pipeline.push(log, &mut page).unwrap();
    pipeline.require_outcome();
    pipeline.finish(&mut page).unwrap();
    let activity = between(&page, "<h2 id=\"h-activity\">Activity</h2>", "<p id=\"none\" hidden>");
    (words(activity), words(between(&page, "<h2 id=\"h-answer\">Answer</h2>", "</section>")))
}

/// The same in the browser, over all its pages.
async fn in_browser(site: &TestSite, profile: &str, id: &str) -> (Vec<String>, Vec<String>) {
    let mut address = format!("/sessions/{id}?profile={profile}");
    let (mut activity, mut answer) = (Vec::new(), Vec::new());
    loop {
        let page = text(site.get(&address).await).await;
        assert!(!page.contains("id=\"reading\""), "{page}");
        let mut nodes = words(between(&page, "<div id=\"nodes\">", "<p id=\"none\" hidden>"));
        if answer.is_empty() {
            answer = words(between(&page, "<h2 id=\"h-response\">Answer</h2>", "</section>"));
        }
        nodes.append(&mut activity);
        activity = nodes;
        let older = between(&page, "<p id=\"older\"><a rel=\"prev\" href=\"", "\"");
        if older.is_empty() {
            return (activity, answer);
        }
        address = older.replace("&amp;", "&");
    }
}

/// All inputs of golden cases below a folder.
fn inputs(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            inputs(&path, found);
        } else if path.file_name().is_some_and(|name| name == "input.ndjson" || name == "input.jsonl") {
            found.push(path);
        }
    }
}

#[test]
fn the_activity_and_the_answer_are_those_of_the_page_in_a_file() {
    let mut found = Vec::new();
    inputs(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden"), &mut found);
    found.sort();
    assert!(found.len() > 100, "{}", found.len());
    let (mut with_answer, mut differing) = (0, Vec::new());
    for (at, path) in found.iter().enumerate() {
        let site = TestSite::new(SiteForm::default());
        let log = fs::read(path).unwrap();
        let id = site.run(1, false, &site.log("run.ndjson", &log), (0, None));
        // A third of them with the usual profile, and some with each of the others.
        let profiles = site.site.profiles.profiles();
        let chosen = profiles.iter().enumerate().filter(|(number, profile)| {
            if *profile == "page" { at % 3 == 0 } else { (at + number) % 30 == 0 }
        });
        for (_, profile) in chosen {
            if site.site.profiles.find(profile, false).unwrap().unwrap().has_lines {
                continue;
            }
            let (file, file_answer) = in_file(&site, profile, &log);
            let (browser, answer) = run_async(in_browser(&site, profile, &id));
            // In the browser, the activity keeps replies that are part of the answer.
            let same = file.iter().zip(&browser).take_while(|(one, other)| one == other).count();
            let rest = file.len() - same;
            let added = browser.get(same..browser.len().saturating_sub(rest)).unwrap_or_default();
            let is_of_answer = added.is_empty() || file_answer.windows(added.len()).any(|part| part == added);
            let is_same = browser.len() >= file.len() && browser.ends_with(&file[same..]) && is_of_answer;
            if !is_same || answer != file_answer {
                differing.push(format!(
                    "{} in {profile}:\n  file:    {}\n  browser: {}\n  answer:  {}\n  browser: {}",
                    path.display(),
                    file.join(" "),
                    browser.join(" "),
                    file_answer.join(" "),
                    answer.join(" "),
                ));
            }
            with_answer += usize::from(!answer.is_empty());
        }
    }
    assert!(with_answer > 50, "{with_answer}");
    assert!(differing.is_empty(), "{} differ:\n{}", differing.len(), differing.join("\n"));
}

/// An open page: its nodes by id, in order.
#[derive(Default)]
struct OpenPage {
    nodes: Vec<(String, String)>,
    read: usize,
}

impl OpenPage {
    /// The current page, and the revision from which its stream continues.
    async fn of(site: &TestSite, id: &str) -> (Self, String) {
        let page = text(site.get(&format!("/sessions/{id}")).await).await;
        let mut nodes = Vec::new();
        for node in between(&page, "<div id=\"nodes\">", "</div>\n<p id=\"none\" hidden>")
            .split("<div class=\"n ")
            .skip(1)
        {
            nodes.push((
                between(node, "id=\"", "\"").to_owned(),
                format!("<div class=\"n {}", node.trim_end()),
            ));
        }
        (Self { nodes, read: 0 }, between(&page, " data-revision=\"", "\"").to_owned())
    }

    fn at(&self, id: &serde_json::Value) -> Option<usize> {
        self.nodes.iter().position(|(known, _)| id.as_str() == Some(known))
    }

    /// Applies a part of the stream, as the page's script does.
    fn apply(&mut self, stream: &str) {
        let whole = stream[self.read..].rfind("\n\n").map_or(0, |end| end + 2);
        let events = &stream[self.read..self.read + whole];
        self.read += whole;
        for event in events.split("\n\n") {
            let name = event.lines().find_map(|line| line.strip_prefix("event: "));
            let data = event.lines().find_map(|line| line.strip_prefix("data: "));
            let (Some(name @ ("put" | "drop")), Some(data)) = (name, data) else { continue };
            let data: serde_json::Value = serde_json::from_str(data).unwrap();
            let at = self.at(&data["id"]);
            if name == "drop" {
                at.map(|at| self.nodes.remove(at));
                continue;
            }
            let (id, html) = (data["id"].as_str().unwrap(), data["html"].as_str().unwrap().trim_end());
            self.nodes.retain(|(known, _)| {
                known == id || !html.contains(&format!(" id=\"{}\"", known.replacen("n-", "e-", 1)))
            });
            let node = (id.to_owned(), html.to_owned());
            match (self.at(&data["id"]), self.at(&data["after"]), self.at(&data["before"])) {
                (Some(at), ..) => self.nodes[at] = node,
                (None, Some(at), _) => self.nodes.insert(at + 1, node),
                (None, None, Some(at)) => self.nodes.insert(at, node),
                (None, None, None) => self.nodes.push(node),
            }
        }
    }

    fn shown(&self) -> Vec<&str> {
        self.nodes.iter().map(|(_, html)| html.as_str()).collect()
    }
}

#[test]
fn readers_that_join_at_any_time_end_with_the_same_page() {
    for case in ["claude/sub-agents", "claude/partial", "codex", "acp", "opencode", "records"] {
        let mut found = Vec::new();
        inputs(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(case), &mut found);
        found.sort();
        for path in found.iter().step_by(5) {
            let log = fs::read(path).unwrap();
            let lines: Vec<&[u8]> = log.split_inclusive(|byte| *byte == b'\n').collect();
            let site = TestSite::new(SiteForm::default());
            let run = site.log("run.ndjson", b"");
            let id = site.run(1, true, &run, (0, None));
            run_async(async {
                let mut readers = Vec::new();
                // A new reader joins before each quarter, and the last one after the end.
                for part in 0..=4 {
                    let (page, revision) = OpenPage::of(&site, &id).await;
                    let stream = site.get(&format!("/sessions/{id}/events?since={revision}")).await;
                    readers.push((page, super::site::OpenAnswer::of(stream)));
                    let pieces = lines.chunks(lines.len().div_ceil(4)).nth(part).unwrap_or_default();
                    for line in pieces {
                        use std::io::Write;
                        let mut log = fs::File::options().append(true).open(&run).unwrap();
                        log.write_all(line).unwrap();
                        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
                    }
                }
                for (number, (page, stream)) in readers.iter_mut().enumerate() {
                    let mut same = false;
                    for _ in 0..1_000 {
                        stream.wait(std::time::Duration::from_millis(30)).await;
                        page.apply(&stream.text);
                        let (now, revision) = OpenPage::of(&site, &id).await;
                        same = page.shown() == now.shown() && revision == lines.len().to_string();
                        if same {
                            break;
                        }
                    }
                    let (now, _) = OpenPage::of(&site, &id).await;
                    assert!(
                        same,
                        "{}, reader {number}:\n{:#?}\n{:#?}",
                        path.display(),
                        page.shown(),
                        now.shown()
                    );
                }
            });
        }
    }
}

#[test]
fn a_log_that_is_damaged_in_the_middle_keeps_the_facts_before_the_damage() {
    let line = b"{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\",\"cwd\":\"/\",\"model\":\"claude-opus-4-5\",\"tools\":[]}\n";
    let text = line.repeat(100);
    let length = u16::try_from(text.len()).unwrap();
    // A gzip file of a stored block, and one of a kind that doesn't exist.
    let head = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0];
    let packed = [&head[..], &length.to_le_bytes(), &(!length).to_le_bytes(), &text, &[7; 32]].concat();
    let site = TestSite::new(SiteForm::default());
    let id = site.run(1, false, &site.log("run.ndjson.gz", &packed), (0, None));
    let page = run_async(async { self::text(site.get(&format!("/sessions/{id}")).await).await });
    assert!(page.contains("the log can&#39;t be read: "), "{page}");
    assert!(page.contains("<dt>Model</dt><dd>claude-opus-4-5</dd>"), "{page}");
}
