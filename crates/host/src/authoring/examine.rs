//! Checks a plugin before it is used or published.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::trial;
use crate::files::{FileError, Files};
use crate::folders::Folders;
use crate::golden::Suite;
use crate::lua::{Hook, Plugins};
use crate::native;
use crate::plugin::journal::{Journal, PluginMessage};
use crate::plugin::manifest::{self, Manifest};
use crate::plugin::source::{PluginSource, is_library};
use crate::problem::{Problem, ProblemKind};
use crate::settings::Config;

/// Largest manifest, in bytes.
const LARGEST: usize = 1 << 20;

/// The result of examining a plugin.
#[derive(Clone, Debug, Default)]
pub struct Examined {
    /// Its manifest. A single file has none.
    pub manifest: Option<Manifest>,
    /// Everything that it registers, if it loads.
    pub hooks: Vec<Hook>,
    /// Whether it is native code that wasn't loaded.
    pub is_left_out: bool,
    /// The number of its golden cases.
    pub cases: usize,
    /// Errors that prevent its use.
    pub problems: Vec<Problem>,
    /// Flaws to fix before it is published.
    pub flaws: Vec<Problem>,
}

/// Loads a plugin, a file or a folder, and reports what it registers and what is wrong with it. Its profiles may name plugins in
/// `folders`.
///
/// The library of a native plugin is loaded only if `native` is set. Otherwise only its `plugin.toml` is examined.
pub fn examine(files: &Files, folders: &Folders, path: &Path, native: bool) -> Examined {
    let mut found = Examined::default();
    let about = path.join(manifest::FILE);
    let origin = about.strip_prefix(".").unwrap_or(&about).display().to_string();
    let placed = |problem: Problem| Problem { origin: origin.clone(), ..problem };
    match files.read(&about, LARGEST) {
        Ok(source) => {
            let text = String::from_utf8_lossy(&source.bytes);
            match Manifest::parse(&text) {
                Ok(manifest) => found.manifest = Some(manifest),
                Err(problems) => found.problems.extend(problems.0.into_iter().map(placed)),
            }
            found.flaws.extend(Manifest::unknown(&text).into_iter().map(placed));
        }
        Err(FileError::Missing) => {}
        Err(error) => found.problems.push(Problem::of(ProblemKind::Unreadable, &origin, error.to_string())),
    }
    if !found.problems.is_empty() {
        return found;
    }
    let is_library = is_library(path);
    let is_native = is_library || found.manifest.as_ref().is_some_and(Manifest::is_native);
    if is_native && !native {
        found.is_left_out = true;
    } else {
        let read = match (is_library, is_native) {
            (true, _) => PluginSource::read_library(path),
            (false, true) => PluginSource::read_native(files, path),
            (false, false) => PluginSource::read(files, path),
        };
        match read {
            Ok(pack) if is_native => found.load_native(&Arc::new(pack)),
            Ok(pack) => {
                let pack = Arc::new(pack);
                found.load(&pack);
                found.flaws.extend(trial::faults(&pack, &found.hooks));
                found.flaws.extend(Config::check_pack(files, folders, &pack));
                for problem in found.problems.iter_mut().chain(&mut found.flaws) {
                    if let Some(path) = pack.path_of(&problem.origin) {
                        problem.origin = path;
                    }
                }
            }
            Err(message) => {
                let path = path.display().to_string();
                found.problems.push(Problem::of(ProblemKind::Plugin, path, message));
                return found;
            }
        }
    }
    if path.is_dir() {
        found.count_cases(path);
    }
    found
}

impl Examined {
    /// Examines a plugin that was already read, without its folder.
    pub fn of(pack: PluginSource) -> Self {
        let manifest = pack.manifest().and_then(|text| Manifest::parse(text).ok());
        let mut found = Self { manifest, is_left_out: pack.is_native(), ..Self::default() };
        if !found.is_left_out {
            found.load(&Arc::new(pack));
        }
        found
    }

    /// Loads the plugin.
    fn load(&mut self, pack: &Arc<PluginSource>) {
        let journal = Journal::default();
        match Plugins::hooks_of(pack, &journal) {
            Ok(hooks) => self.hooks = hooks,
            Err(warning) => return self.problems.push(warning.problem()),
        }
        self.flaws.extend(journal.take().into_iter().filter_map(|message| match message {
            PluginMessage::Warning(warning) => Some(warning.problem()),
            PluginMessage::Printed(..) => None,
        }));
        if self.hooks.is_empty() && pack.profiles().next().is_none() && pack.themes().next().is_none() {
            let message = "it registers nothing: call sf.tool, sf.view, sf.on or the like while it loads";
            self.flaws.push(Problem::of(ProblemKind::Doubtful, &pack.name, message));
        }
    }

    /// Loads a native plugin.
    fn load_native(&mut self, pack: &Arc<PluginSource>) {
        match native::described(pack) {
            Ok((name, version, groups)) => {
                // A single library has no manifest, so its table is used.
                let manifest = self
                    .manifest
                    .get_or_insert_with(|| Manifest { name: name.clone(), ..Manifest::default() });
                manifest.version = manifest.version.take().or(version);
                if name != manifest.name {
                    let message =
                        format!("its library has the name \"{name}\", its plugin.toml \"{}\"", pack.name);
                    self.flaws.push(Problem::of(ProblemKind::Doubtful, &pack.name, message));
                }
                let hook = |what: String| Hook { what, fields: Vec::new(), place: None };
                self.hooks = groups.into_iter().map(hook).collect();
            }
            Err(message) => self.problems.push(Problem::of(ProblemKind::Plugin, &pack.name, message)),
        }
    }

    /// Counts the golden cases.
    fn count_cases(&mut self, folder: &Path) {
        let suite = Suite::find(folder);
        let names: BTreeSet<&str> = suite.cells.iter().map(|cell| cell.case.name.as_str()).collect();
        self.cases = names.len();
        if self.cases == 0 && suite.problems.0.is_empty() {
            let message = "there is no golden case: tests/<case>/input.ndjson with the expected output \
                           (streamfmt golden add makes one)";
            self.flaws.push(Problem::of(ProblemKind::GoldenCase, "tests", message));
        }
        self.flaws.extend(suite.problems.0);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_manifest_over_the_limit_is_a_problem() {
        let root = tempfile::TempDir::with_prefix("streamfmt-examine-").unwrap();
        fs::write(root.path().join("init.lua"), "").unwrap();
        let about = "name = 'demo'\napi = 1\n#";
        for (size, problem) in [(LARGEST, None), (LARGEST + 1, Some("larger than 1 MiB"))] {
            let text = about.to_owned() + &" ".repeat(size - about.len());
            fs::write(root.path().join(manifest::FILE), text).unwrap();
            let found = examine(&Files::default(), &Folders::default(), root.path(), false).problems;
            let found = found.first().map(|problem| problem.message.as_str());
            assert_eq!(found, problem, "{size}");
        }
    }
}
