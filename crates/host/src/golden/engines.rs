//! The engines that format cases.
//!
//! Cells with equal profile, writer and formatting share an engine, across threads, and all engines share the plugins: each
//! plugin is read once. Only the VM is created for each run.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use jiff::tz::TimeZone;
use streamfmt_core::theme::ColorDepth;

use super::case::Case;
use super::choices::Formatting;
use crate::engine::{Builder, Engine};
use crate::files::{Files, lock, read_plain_text};
use crate::plugin::manifest::{self, Manifest};
use crate::plugin::source::PluginSource;
use crate::problem::{ChoiceNames, Problem, ProblemKind, RunChoice};
use crate::settings::document::Spot;
use crate::settings::profile::BUILT_IN;
use crate::settings::project::settings_above;
use crate::settings::{Config, Request, is_path};
use crate::writers::{self, OutputCapabilities, WriterRow};

/// Largest `plugin.toml`, in bytes.
const LARGEST_MANIFEST: usize = 1 << 20;

/// The engines created so far.
#[derive(Default)]
pub(super) struct Engines {
    /// Whether native code is loaded: only that of a plugin for its own cases.
    pub(super) native: bool,
    /// Only a few, since most cases have the same settings.
    made: Mutex<Vec<(EngineKey, EngineSlot)>>,
    /// The plugins read so far, by path and whether native code was to be loaded.
    packs: Mutex<HashMap<(PathBuf, bool), PackRead>>,
}

/// The parameters of an engine.
#[derive(Clone, PartialEq)]
struct EngineKey {
    profile: String,
    writer: String,
    formatting: Formatting,
    /// The settings file of the project that contains the case, if the profile may be defined there.
    settings: Option<PathBuf>,
    /// The folders of native plugins to load.
    native: Vec<PathBuf>,
}

/// A plugin, or the reason why it can't be read.
type PackRead = Result<Arc<PluginSource>, String>;

/// An engine or the problems of its setup, initialized by the first caller.
type EngineSlot = Arc<OnceLock<Result<Arc<Engine>, Vec<Problem>>>>;

impl Engines {
    /// The engine for a case with this profile and writer, or the problems of its setup.
    pub(super) fn get(&self, case: &Case, profile: &str, writer: &str) -> Result<Arc<Engine>, Vec<Problem>> {
        let formatting = &case.choices.formatting;
        let is_own = !is_path(profile) && BUILT_IN.iter().all(|(name, _)| *name != profile);
        let key = EngineKey {
            profile: profile.to_owned(),
            writer: writer.to_owned(),
            formatting: formatting.clone(),
            settings: if is_own { settings_above(&case.path) } else { None },
            native: if self.native { own_natives(formatting, &case.path) } else { Vec::new() },
        };
        let slot = self.slot(&key);
        slot.get_or_init(|| self.make(&key).map(Arc::new)).clone()
    }

    /// The slot of this engine, created if missing.
    fn slot(&self, key: &EngineKey) -> EngineSlot {
        let mut made = lock(&self.made);
        if let Some((_, slot)) = made.iter().find(|(known, _)| known == key) {
            return Arc::clone(slot);
        }
        let slot = EngineSlot::default();
        made.push((key.clone(), Arc::clone(&slot)));
        slot
    }

    fn make(&self, key: &EngineKey) -> Result<Engine, Vec<Problem>> {
        let EngineKey { profile, writer, formatting, settings, native } = key;
        let is_ansi = writers::find(writer).is_some_and(WriterRow::has_escapes);
        let capabilities = OutputCapabilities {
            color: is_ansi.then_some(formatting.color.unwrap_or(ColorDepth::TrueColor)),
            width: formatting.width.or(is_ansi.then_some(formatting.terminal_width.unwrap_or(80))),
            zone: formatting.timezone.clone().unwrap_or(TimeZone::UTC).into(),
            ..OutputCapabilities::default()
        };
        let mut builder = Engine::builder()
            .names_options(true)
            .defer_plugins(true)
            .profile(profile)
            .writer(writer)
            .ascii(formatting.ascii)
            .timestamps(formatting.timestamps)
            .only(formatting.only.iter().cloned())
            .hide(formatting.hide.iter().cloned())
            .capabilities(capabilities);
        if let Some(dialect) = &formatting.from {
            builder = builder.dialect(dialect);
        }
        if let Some(theme) = &formatting.theme {
            builder = builder.theme(theme);
        }
        for assignment in &formatting.set {
            builder = builder.set(assignment);
        }
        let mut problems: Vec<Problem> = Vec::new();
        let mut packs = Vec::new();
        for path in &formatting.plugins {
            match self.pack(path, native.contains(path)) {
                Ok(pack) => packs.push(pack),
                Err(wrong) => {
                    let path = path.display().to_string();
                    let spot = Spot::of_choice(RunChoice::Plugin, &path, ChoiceNames::Options);
                    problems.push(spot.problem(ProblemKind::Plugin, wrong));
                }
            }
        }
        if let Some(settings) = settings.as_ref().filter(|_| !is_known(profile, &packs)) {
            builder = builder.config(settings);
        }
        builder = packs.into_iter().fold(builder, Builder::pack);
        let built = builder.build().map_err(|found| problems.extend(found.0)).ok();
        built.filter(|_| problems.is_empty()).map(Engine::counting_calls).ok_or(problems)
    }

    fn pack(&self, path: &Path, is_native: bool) -> Result<Arc<PluginSource>, String> {
        let files = Files::default();
        let read = if is_native { PluginSource::read_native } else { PluginSource::read };
        let mut packs = lock(&self.packs);
        packs.entry((path.to_owned(), is_native)).or_insert_with(|| read(&files, path).map(Arc::new)).clone()
    }

    /// The reason why a case is skipped: it needs native code, which isn't loaded.
    pub(super) fn left_out(&self, formatting: &Formatting) -> Option<String> {
        let native = formatting.plugins.iter().find(|path| is_native(path)).filter(|_| !self.native)?;
        let name = native.file_name().unwrap_or_default().to_string_lossy();
        Some(format!("{name} is a native plugin, which is loaded only with --native"))
    }
}

/// Whether a path is a native plugin, according to its `plugin.toml`.
fn is_native(path: &Path) -> bool {
    let about = read_plain_text(&path.join(manifest::FILE), LARGEST_MANIFEST);
    about.ok().and_then(|about| Manifest::parse(&about).ok()).is_some_and(|manifest| manifest.is_native())
}

/// The native plugins whose own cases are at `place`. A plugin that a case names isn't one of them unless it contains the case.
fn own_natives(formatting: &Formatting, place: &Path) -> Vec<PathBuf> {
    let Ok(place) = place.canonicalize() else { return Vec::new() };
    let is_around = |path: &Path| path.canonicalize().is_ok_and(|path| place.starts_with(path));
    formatting.plugins.iter().filter(|path| is_around(path) && is_native(path)).cloned().collect()
}

/// Whether a profile is built in or comes from one of these plugins.
fn is_known(profile: &str, packs: &[Arc<PluginSource>]) -> bool {
    let known = Config::load(&Request { packs: packs.to_vec(), ..Request::default() }).profiles();
    known.iter().any(|(name, ..)| name == profile)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_with_a_manifest_over_the_limit_is_not_taken_for_a_native_one() {
        let root = tempfile::TempDir::with_prefix("streamfmt-engines-").unwrap();
        let about = "name = 'demo'\napi = 1\n[library]\nx86_64-linux = 'lib.so'\n";
        for (size, is_native_one) in [(LARGEST_MANIFEST, true), (LARGEST_MANIFEST + 1, false)] {
            let text = format!("{about}#{}", " ".repeat(size - about.len() - 1));
            std::fs::write(root.path().join(manifest::FILE), text).unwrap();
            assert_eq!(is_native(root.path()), is_native_one, "{size}");
        }
    }
}
