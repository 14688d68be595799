//! Verifies that a plugin's failure costs only its own output.
//!
//! Each call of a plugin's function is made to fail in turn. Then that item must be formatted as if the function had returned
//! nothing, by the layers below and finally by the built-in formatter, and all others as before. If the function is the only one
//! that formats the item, the item must be formatted as without plugins.

use streamfmt_core::item::Id;
use streamfmt_core::pipeline::Setup;
use streamfmt_dialects::DIALECTS;

pub(super) use super::witness::EntriesById;
use super::witness::entries_of;
use crate::engine::Engine;
use crate::plugin::journal::Fault;

/// Most calls that are made to fail.
const MOST_CALLS: u64 = 200;

/// The violations when plugin calls fail.
pub(super) fn broken(engine: &Engine, input: &[u8]) -> Vec<String> {
    let usual = engine.with_own_journal();
    let Some(expected) = entries(&usual, input) else { return Vec::new() };
    let calls = usual.journal().calls();
    if calls == 0 {
        return Vec::new();
    }
    let Some(bare) = entries_without_plugins(engine, input) else { return Vec::new() };
    let numbers = 1..=calls.min(MOST_CALLS);
    let broken = numbers.filter_map(|number| one_fails(engine, input, &expected, &bare, number));
    broken.chain(all_fail(engine, input, &bare)).collect()
}

/// The violation when the call with this number fails.
pub(super) fn one_fails(
    engine: &Engine,
    input: &[u8],
    expected: &EntriesById,
    bare: &EntriesById,
    number: u64,
) -> Option<String> {
    let failing = engine.with_fault(Fault::Fails(number));
    let (with, without) =
        (entries(&failing, input)?, entries(&engine.with_fault(Fault::Passes(number)), input)?);
    if let Some(id) = difference(&with, &without) {
        return Some(format!(
            "when plugin call {number} fails, {id} is not formatted as if the call had returned nothing"
        ));
    }
    let faulty = failing.journal().faulty_call()?;
    if let Some(id) = faulty.lone.filter(|id| with.get(id) != bare.get(id)) {
        return Some(format!("when plugin call {number} fails, {id} is not formatted as without plugins"));
    }
    if faulty.is_hook {
        // Its state then lacks an update, so later items may be formatted differently, but none may be missing.
        let is_lost = |id: &Id| !with.contains_key(id) && !is_aside(id) && !is_of_records(id);
        let lost = expected.keys().find(|id| is_lost(id))?;
        return Some(format!("when plugin call {number} fails, {lost} is missing from the output"));
    }
    let mut changed = expected.iter().filter(|(id, entry)| with.get(*id) != Some(*entry)).map(|(id, _)| id);
    match (changed.next(), changed.next()) {
        (Some(first), Some(other)) => {
            Some(format!("when plugin call {number} fails, {other} changes too, not only {first}"))
        }
        _ => None,
    }
}

/// The violation when all calls fail: every entry of the built-in formatter must still be there.
fn all_fail(engine: &Engine, input: &[u8], bare: &EntriesById) -> Option<String> {
    let with = entries(&engine.with_fault(Fault::AllFail), input)?;
    let lost = bare.keys().find(|id| !with.contains_key(*id))?;
    Some(format!("when all plugin calls fail, {lost} is missing from the output"))
}

/// Whether a plugin added this entry beside the items.
fn is_aside(id: &Id) -> bool {
    let id = id.as_str();
    id.ends_with("/after") || matches!(id, "begin" | "end")
}

/// Whether an entry is a record of a reply or the text between records. Without one of them, others contain the same text.
fn is_of_records(id: &Id) -> bool {
    let part = id.as_str().rsplit('/').next().unwrap_or_default();
    part.starts_with("record-") || part.starts_with("prose-")
}

/// The first entry that differs or is missing on one side.
fn difference<'a>(one: &'a EntriesById, other: &'a EntriesById) -> Option<&'a Id> {
    one.keys().chain(other.keys()).find(|id| one.get(*id) != other.get(*id))
}

/// The entries of an input without plugins. What the plugins mask stays masked.
pub(super) fn entries_without_plugins(engine: &Engine, input: &[u8]) -> Option<EntriesById> {
    let mut setup = engine.without_plugins().setup();
    setup.profile.redaction = engine.with_own_journal().setup().profile.redaction;
    known_entries(setup, input)
}

/// The entries of an input. `None` if the output has no entries, or if a plugin's dialect reads the input.
pub(super) fn entries(engine: &Engine, input: &[u8]) -> Option<EntriesById> {
    known_entries(engine.setup(), input)
}

fn known_entries(setup: Setup, input: &[u8]) -> Option<EntriesById> {
    let (entries, report) = entries_of(setup, input)?;
    let is_known = report.dialect.as_deref().is_some_and(|name| DIALECTS.find(name).is_some());
    is_known.then_some(entries)
}
