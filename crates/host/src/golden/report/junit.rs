//! XML as `JUnit` writes it, which every CI reads.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use jiff::Timestamp;
use streamfmt_core::text::clean;

use super::{Style, details, reason};
use crate::golden::case::Cell;
use crate::golden::check::Summary;
use crate::golden::outcome::{Outcome, State};
use crate::golden::suite::Suite;

/// The suites so far, by folder.
#[derive(Default)]
pub(super) struct Suites(BTreeMap<String, Tests>);

/// The tests of one folder.
#[derive(Default)]
struct Tests {
    count: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
    /// The latest time that its cases carry.
    time: Option<Timestamp>,
    xml: String,
}

impl Suites {
    /// Takes in what became of a cell.
    pub(super) fn add(&mut self, cell: &Cell, outcome: &Outcome, style: &Style) {
        let case = &cell.case.name;
        let (folder, own) = case.rsplit_once('/').unwrap_or(("golden", case));
        let rest = cell.name.strip_prefix(case.as_str()).unwrap_or_default().replacen('.', "/", 1);
        let tests = self.0.entry(folder.to_owned()).or_default();
        let state = outcome.state();
        let body = match state {
            State::Equal => None,
            State::Skipped => {
                let reason = outcome.skipped.as_deref().unwrap_or_default();
                Some(format!("<skipped message=\"{}\"/>", escaped(reason)))
            }
            _ => {
                let tag = if state == State::Wrong { "error" } else { "failure" };
                let (reason, details) = (reason(outcome).unwrap_or_default(), details(cell, outcome, style));
                let (message, details) = (escaped(&reason), escaped(&details));
                Some(format!("<{tag} type=\"{}\" message=\"{message}\">{details}</{tag}>", state.name()))
            }
        };
        tests.time = tests.time.max(cell.case.choices.now);
        tests.add(state, folder, &format!("{own}{rest}"), body);
    }

    /// Writes all of it.
    pub(super) fn write(&mut self, suite: &Suite, summary: &Summary, out: &mut dyn Write) -> fmt::Result {
        for problem in &suite.problems.0 {
            let body = format!("<error type=\"wrong\" message=\"{}\"/>", escaped(&problem.to_string()));
            self.0.entry("set-up".to_owned()).or_default().add(
                State::Wrong,
                "set-up",
                &problem.origin,
                Some(body),
            );
        }
        for orphan in suite.orphans.iter().filter(|_| summary.is_strict) {
            let body = "<failure type=\"left-over\" message=\"no case asks for this file\"/>".to_owned();
            let tests = self.0.entry("left over".to_owned()).or_default();
            tests.add(State::Different, "left over", &orphan.display().to_string(), Some(body));
        }
        let sum = |count: fn(&Tests) -> usize| self.0.values().map(count).sum::<usize>();
        writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
        writeln!(
            out,
            "<testsuites tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">",
            sum(|tests| tests.count),
            sum(|tests| tests.failures),
            sum(|tests| tests.errors),
            sum(|tests| tests.skipped)
        )?;
        for (folder, tests) in &self.0 {
            let Tests { count, failures, errors, skipped, time, xml } = tests;
            let time = time.map_or_else(String::new, |time| format!(" timestamp=\"{time}\""));
            writeln!(
                out,
                "  <testsuite name=\"{}\" tests=\"{count}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"{time}>",
                escaped(folder)
            )?;
            writeln!(out, "{xml}  </testsuite>")?;
        }
        writeln!(out, "</testsuites>")
    }
}

impl Tests {
    fn add(&mut self, state: State, folder: &str, name: &str, body: Option<String>) {
        self.count += 1;
        match state {
            State::Equal => {}
            State::Skipped => self.skipped += 1,
            State::Wrong => self.errors += 1,
            State::New | State::PluginFailed | State::Different => self.failures += 1,
        }
        let head = format!("    <testcase classname=\"{}\" name=\"{}\"", escaped(folder), escaped(name));
        match body {
            None => self.xml.extend([&head, "/>\n"]),
            Some(body) => self.xml.extend([&head, ">", &body, "</testcase>\n"]),
        }
    }
}

/// Text for XML: without the characters that XML forbids, also those that it could only name.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in clean(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' => escaped.push_str("&#9;"),
            '\n' => escaped.push_str("&#10;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            _ => escaped.push(character),
        }
    }
    escaped
}
