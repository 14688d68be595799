//! The output doesn't depend on how the bytes arrive; it is harmless, and every line is counted.

use streamfmt::golden::pieces;

use crate::recordings::{hostile, recordings};
use crate::{FORMS, Form, agents, assert_counted, assert_harmless, form_of_agent, format};

/// Longer files are tried whole and line by line only.
const LONG: usize = 256 << 10;
/// Shorter files are also tried byte by byte.
const SHORT: usize = 24 << 10;

#[test]
fn recordings_come_out_the_same_however_they_arrive() {
    for recording in recordings() {
        for (name, bytes) in recording.forms() {
            try_all_ways(&name, bytes);
        }
    }
}

/// The same holds for agents that are detected.
#[test]
fn recordings_of_each_agent_come_out_the_same_however_they_arrive() {
    let forms = [form_of_agent("items", "default"), form_of_agent("text", "full")];
    for (name, bytes) in agents::sample(1) {
        try_ways(forms.iter(), &name, bytes);
    }
}

#[test]
fn hostile_files_come_out_the_same_however_they_arrive() {
    for (name, bytes) in hostile() {
        try_all_ways(&name, &bytes);
    }
}

fn try_all_ways(name: &str, bytes: &[u8]) {
    // Grammars are loaded for each pipeline with coloured code: too slow for all files.
    let is_sample = name.starts_with("samples/");
    try_ways(FORMS.iter().filter(|form| is_sample || !form.is_coloured), name, bytes);
}

fn try_ways<'a>(forms: impl Iterator<Item = &'a Form>, name: &str, bytes: &[u8]) {
    for form in forms {
        let whole = format(form, [bytes]);
        assert_harmless(form, &whole.text, name);
        assert_counted(bytes, &whole, name);
        assert_same(form, &whole.text, &pieces::lines(bytes), name);
        if bytes.len() <= LONG {
            assert_same(form, &whole.text, &pieces::odd(bytes, bytes.len() as u64), name);
        }
        if bytes.len() <= SHORT {
            assert_same(form, &whole.text, &pieces::single(bytes), name);
        }
    }
}

/// Asserts that an input in pieces gives the expected text.
pub(crate) fn assert_same(form: &Form, expected: &str, pieces: &[&[u8]], name: &str) {
    let text = format(form, pieces.iter().copied()).text;
    let same = text.lines().zip(expected.lines()).take_while(|(one, other)| one == other).count();
    assert!(
        text == expected,
        "{name} as {}, in {} pieces: line {} is\n{:?}\ninstead of\n{:?}",
        form.name,
        pieces.len(),
        same + 1,
        text.lines().nth(same),
        expected.lines().nth(same)
    );
}
