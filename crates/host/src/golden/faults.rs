//! The proof that a plugin's failure costs its own words only.
//!
//! Each call of a plugin's function is made to fail in turn. Then that one item must be told as if the function had
//! had nothing to say, by the layers below and in the end by the built-in formatter, and all others as before. Where
//! the function is all that plugins say of the item, it must be told as it is without any plugin.

use streamfmt_core::item::Id;
use streamfmt_core::pipeline::Setup;
use streamfmt_dialects::DIALECTS;

pub(super) use super::witness::EntriesById;
use super::witness::entries_of;
use crate::engine::Engine;
use crate::plugin::journal::Fault;

/// Calls that are made to fail: further ones are like them.
const MOST_CALLS: u64 = 200;

/// What doesn't hold when calls of plugins fail.
pub(super) fn broken(engine: &Engine, input: &[u8]) -> Vec<String> {
    let usual = engine.apart();
    let Some(told) = entries(&usual, input) else { return Vec::new() };
    let calls = usual.journal().calls();
    if calls == 0 {
        return Vec::new();
    }
    let Some(bare) = entries_without_plugins(engine, input) else { return Vec::new() };
    let numbers = 1..=calls.min(MOST_CALLS);
    let broken = numbers.filter_map(|number| one_fails(engine, input, &told, &bare, number));
    broken.chain(all_fail(engine, input, &bare)).collect()
}

/// What doesn't hold when the call with this number fails.
pub(super) fn one_fails(
    engine: &Engine,
    input: &[u8],
    told: &EntriesById,
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
    let met = failing.journal().met()?;
    if let Some(id) = met.lone.filter(|id| with.get(id) != bare.get(id)) {
        return Some(format!("when plugin call {number} fails, {id} is not formatted as without plugins"));
    }
    if met.is_hook {
        // What it would have kept in its state is missing from then on: others may be told otherwise, but are told.
        let is_lost = |id: &Id| !with.contains_key(id) && !is_aside(id) && !is_of_records(id);
        let lost = told.keys().find(|id| is_lost(id))?;
        return Some(format!("when plugin call {number} fails, {lost} is missing from the output"));
    }
    let mut changed = told.iter().filter(|(id, entry)| with.get(*id) != Some(*entry)).map(|(id, _)| id);
    match (changed.next(), changed.next()) {
        (Some(first), Some(other)) => {
            Some(format!("when plugin call {number} fails, {other} changes too, not only {first}"))
        }
        _ => None,
    }
}

/// What doesn't hold when all calls fail: what the built-in formatter tells is told.
fn all_fail(engine: &Engine, input: &[u8], bare: &EntriesById) -> Option<String> {
    let with = entries(&engine.with_fault(Fault::AllFail), input)?;
    let lost = bare.keys().find(|id| !with.contains_key(*id))?;
    Some(format!("when all plugin calls fail, {lost} is missing from the output"))
}

/// Whether an entry is what a plugin adds beside the items.
fn is_aside(id: &Id) -> bool {
    let id = id.as_str();
    id.ends_with("/after") || matches!(id, "begin" | "end")
}

/// Whether an entry is what records make of a reply: without one of them the same words are in others.
fn is_of_records(id: &Id) -> bool {
    let part = id.as_str().rsplit('/').next().unwrap_or_default();
    part.starts_with("record-") || part.starts_with("prose-")
}

/// The first that is told in one way only, or in two.
fn difference<'a>(one: &'a EntriesById, other: &'a EntriesById) -> Option<&'a Id> {
    one.keys().chain(other.keys()).find(|id| one.get(*id) != other.get(*id))
}

/// What is told of an input without plugins. What they mask stays masked.
pub(super) fn entries_without_plugins(engine: &Engine, input: &[u8]) -> Option<EntriesById> {
    let mut setup = engine.without_plugins().setup();
    setup.profile.redaction = engine.apart().setup().profile.redaction;
    known_entries(setup, input)
}

/// What is told of an input; nothing if no entries are made, or a plugin reads the lines.
pub(super) fn entries(engine: &Engine, input: &[u8]) -> Option<EntriesById> {
    known_entries(engine.setup(), input)
}

fn known_entries(setup: Setup, input: &[u8]) -> Option<EntriesById> {
    let (entries, report) = entries_of(setup, input)?;
    let is_known = report.dialect.as_deref().is_some_and(|name| DIALECTS.find(name).is_some());
    is_known.then_some(entries)
}
