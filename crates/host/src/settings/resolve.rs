//! Merges a profile with all that it extends.

use std::path::Path;
use std::sync::Arc;

use indexmap::IndexSet;

use super::document::{SettingsFile, SettingsLayer, Spot};
use super::packs::PackProfile;
use super::tree::{ProfilePart, SettingsTree};
use super::{Config, Loaded, SettingsProblems, is_path};
use crate::problem::{Problem, ProblemKind, RunChoice, suggestion};
use crate::settings::keys::Named;
use crate::settings::profile::BUILT_IN;

/// Most levels of `extends`.
const DEEPEST: usize = 8;
/// Most profiles that are merged into one, including repeated ones.
const MOST: usize = 64;

/// A profile merged with all that it extends and the settings for all profiles.
#[derive(Clone, Debug, Default)]
pub struct Resolved {
    /// The merged settings.
    pub tree: SettingsTree,
    /// Problems in the profiles.
    pub problems: SettingsProblems,
    /// The names of the merged profiles, lowest precedence first.
    pub profiles: Vec<String>,
    /// The profiles of plugins among them.
    pub(crate) packs: Vec<PackProfile>,
    /// Whether the requested profile exists.
    pub is_found: bool,
}

impl Config {
    /// Merges the profile `wanted`, all that it extends, and the settings for all profiles.
    pub fn resolve(&self, wanted: &Named) -> Resolved {
        let mut resolver = Resolver::new(self);
        let found = resolver.find(wanted, &Scope { level: self.layers.len(), file: None });
        resolver.below(found.iter().flatten().any(|found| drops_default(found.part())));
        resolver.resolved.is_found = wanted.name == "default" || resolver.merge(wanted, found);
        resolver.resolved
    }

    /// Merges the profile in `document`, all that it extends, and the settings for all profiles.
    pub(crate) fn resolve_text(&self, document: SettingsFile) -> Resolved {
        let mut resolver = Resolver::new(self);
        let file = resolver.loaded(document);
        let spot = Spot { document: Arc::clone(&file.document), span: 0..0 };
        let wanted = Named { name: file.document.name.clone(), spot };
        resolver.below(drops_default(&file.general));
        let (identity, shown) = (wanted.name.clone(), wanted.name.clone());
        let below = Scope { level: self.layers.len(), file: None };
        let scope = Scope { file: Some(Arc::clone(&file)), ..below };
        let found = Found { file, name: None, identity, shown, scope, below };
        resolver.resolved.is_found = resolver.merge(&wanted, Ok(vec![found]));
        resolver.resolved
    }
}

/// Whether the profile itself has `extends = ["none"]`.
fn drops_default(part: &ProfilePart) -> bool {
    part.extends.iter().flatten().any(|name| name.name == "none")
}

/// Where to look up a name: in the lowest `level` layers, and in the file that contains the reference.
#[derive(Clone)]
struct Scope {
    level: usize,
    file: Option<Arc<Loaded>>,
}

/// A table of a profile.
struct Found {
    file: Arc<Loaded>,
    /// Its name in the file; `None` is the whole file.
    name: Option<String>,
    /// Identifies it, to detect cycles.
    identity: String,
    /// Its name in messages.
    shown: String,
    /// The scope of the names that it extends.
    scope: Scope,
    /// The scope of its own name in its `extends`: the layers below it.
    below: Scope,
}

impl Found {
    fn part(&self) -> &ProfilePart {
        let named = self.name.as_ref().and_then(|name| self.file.profiles.get(name));
        named.map_or(&self.file.general, |(_, part)| part)
    }
}

struct Resolver<'c> {
    config: &'c Config,
    resolved: Resolved,
    /// The profiles being merged, outermost first, each with its identity and its name.
    chain: Vec<(String, String)>,
    /// Profiles merged so far.
    applied: usize,
    /// Files read so far.
    opened: Vec<Arc<Loaded>>,
}

impl<'c> Resolver<'c> {
    fn new(config: &'c Config) -> Self {
        Self { config, resolved: Resolved::default(), chain: Vec::new(), applied: 0, opened: Vec::new() }
    }

    /// Merges the layers below every profile: the default profile, and the settings for all profiles.
    fn below(&mut self, drops_default: bool) {
        let config = self.config;
        if !drops_default {
            let default = Named::given_by("default", "the default");
            let found = self.find(&default, &Scope { level: config.layers.len(), file: None });
            self.merge(&default, found);
        }
        for loaded in &config.layers {
            for assignment in &loaded.general.assignments {
                self.resolved.tree.assign(assignment);
            }
            if let Some(name) = loaded.general.extends.iter().flatten().next() {
                let message = format!(
                    "extends is only valid in a profile: [profile.NAME] (or pass this file with {})",
                    RunChoice::Profile.name(config.request.names)
                );
                self.resolved.problems.add_at(&name.spot, ProblemKind::NotAllowed, message);
            }
        }
    }

    /// Finds the tables of a profile, lowest precedence first; at least one.
    fn find(&mut self, wanted: &Named, scope: &Scope) -> Result<Vec<Found>, Problem> {
        if is_path(&wanted.name) {
            return Ok(vec![self.find_path(wanted, scope)?]);
        }
        let name = &wanted.name;
        let found = |file: &Arc<Loaded>, is_whole: bool, scope, below| Found {
            file: Arc::clone(file),
            name: (!is_whole).then(|| name.clone()),
            identity: format!("{}#{name}", file.document.name),
            shown: name.clone(),
            scope,
            below,
        };
        let at = |level| Scope { level, file: None };
        let mut all: Vec<Found> = Vec::new();
        all.extend(self.built_in(wanted).map(|file| found(&file, true, at(0), at(0))));
        for (level, file) in self.config.layers.iter().enumerate().take(scope.level) {
            if file.profiles.contains_key(name) {
                all.push(found(file, false, at(level + 1), at(level)));
            }
        }
        if let Some(file) = scope.file.as_ref().filter(|file| file.profiles.contains_key(name)) {
            all.push(found(file, false, scope.clone(), at(scope.level)));
        }
        if all.is_empty() {
            all.extend(self.of_any_plugin(wanted)?.map(|file| found(&file, true, at(0), at(0))));
        }
        if all.is_empty() {
            return Err(if let Some(wrong) = self.config.wrong_with_pack(name) {
                let message = format!("the plugin \"{name}\" can't be read: {wrong}");
                wanted.spot.problem(ProblemKind::Plugin, message)
            } else {
                let names = self.names(scope);
                let hint = suggestion(name, names.iter().map(String::as_str));
                wanted.spot.problem(ProblemKind::UnknownName, format!("unknown profile \"{name}\" {hint}"))
            });
        }
        Ok(all)
    }

    /// Finds the profile of a path.
    fn find_path(&mut self, wanted: &Named, scope: &Scope) -> Result<Found, Problem> {
        let (file, name) = self.open(wanted)?;
        let names = || file.profiles.keys().map(String::as_str);
        match &name {
            Some(name) if !file.profiles.contains_key(name) => {
                let hint = suggestion(name, names());
                let message = format!("unknown profile \"{name}\" in {} {hint}", file.document.name);
                return Err(wanted.spot.problem(ProblemKind::UnknownName, message));
            }
            None if file.general.is_empty() && !file.profiles.is_empty() => {
                let names: Vec<&str> = names().collect();
                let message = format!("choose one of its profiles: {}#{}", wanted.name, names.join(", #"));
                return Err(wanted.spot.problem(ProblemKind::Ambiguous, message));
            }
            _ => {}
        }
        let shown = match (&file.document.path, &name) {
            (Some(path), Some(name)) => format!("{}#{name}", path.display()),
            (Some(path), None) => path.display().to_string(),
            _ => wanted.name.clone(),
        };
        let below = Scope { file: None, level: scope.level };
        let scope = Scope { file: Some(Arc::clone(&file)), ..below };
        Ok(Found { file, name, identity: shown.clone(), shown, scope, below })
    }

    /// Merges a profile, or reports that it doesn't exist. Returns whether it does.
    fn merge(&mut self, wanted: &Named, found: Result<Vec<Found>, Problem>) -> bool {
        match found {
            Ok(found) => found.iter().for_each(|found| self.part(wanted, found)),
            Err(problem) => {
                self.resolved.problems.add(wanted.spot.document.layer, [problem]);
                return false;
            }
        }
        true
    }

    /// Merges one table of a profile on top of those that it extends.
    fn part(&mut self, wanted: &Named, found: &Found) {
        let Found { identity, shown: own, .. } = found;
        let is_circle = self.chain.iter().any(|(open, _)| open == identity);
        if is_circle || self.chain.len() >= DEEPEST {
            let shown: Vec<&str> = self.chain.iter().map(|(_, shown)| shown.as_str()).collect();
            let chain = shown.join(" → ");
            let message = if is_circle {
                format!("profiles extend each other in a cycle: {chain} → {own}")
            } else {
                format!("more than {DEEPEST} levels of extends: {chain} → …")
            };
            let kind = if is_circle { ProblemKind::BadValue } else { ProblemKind::TooMany };
            self.resolved.problems.add_at(&wanted.spot, kind, message);
            return;
        }
        if self.applied == MOST {
            let message = format!("more than {MOST} profiles in extends");
            self.resolved.problems.add_at(&wanted.spot, ProblemKind::TooMany, message);
        }
        self.applied += 1;
        if self.applied > MOST {
            return;
        }
        self.chain.push((identity.clone(), own.clone()));
        for parent in found.part().extends.iter().flatten().filter(|parent| parent.name != "none") {
            let is_own = parent.name == wanted.name && !is_path(&parent.name);
            let parents = self.find(parent, if is_own { &found.below } else { &found.scope });
            self.merge(parent, parents);
        }
        for assignment in &found.part().assignments {
            self.resolved.tree.assign(assignment);
        }
        self.chain.pop();
        if self.resolved.profiles.last() != Some(own) {
            self.resolved.profiles.push(own.clone());
        }
    }

    /// Finds a profile that was passed as text, is built in, or belongs to a known plugin.
    fn built_in(&mut self, wanted: &Named) -> Option<Arc<Loaded>> {
        if let Some((name, source)) =
            self.config.request.texts.iter().rfind(|(known, _)| *known == wanted.name)
        {
            let document = SettingsFile::new(name.clone(), None, SettingsLayer::Chosen, source.clone());
            return Some(self.loaded(document));
        }
        if let Some((name, source)) = BUILT_IN.iter().find(|(known, _)| *known == wanted.name) {
            let document =
                SettingsFile::new(format!("{name}.toml"), None, SettingsLayer::BuiltIn, (*source).to_owned());
            return Some(self.loaded(document));
        }
        let beside = self.resolved.beside(&wanted.spot.document, &wanted.name);
        let profile = beside.or_else(|| self.config.pack_profile(&wanted.name))?;
        Some(self.of_plugin(profile))
    }

    /// Finds a profile of any plugin that can be chosen by name. Fails if several plugins define it.
    fn of_any_plugin(&mut self, wanted: &Named) -> Result<Option<Arc<Loaded>>, Problem> {
        let mut found = self.config.other_profiles(&wanted.name);
        if found.len() > 1 {
            let names: Vec<&str> = found.iter().map(|profile| profile.pack.name.as_str()).collect();
            let message = format!(
                "several plugins define the profile \"{}\": {} ({} {} chooses that one's, and so does plugins = \
                 [\"{3}\"] outside of a profile)",
                wanted.name,
                names.join(", "),
                RunChoice::Plugin.name(self.config.request.names),
                names[0],
            );
            return Err(wanted.spot.problem(ProblemKind::Ambiguous, message));
        }
        Ok(found.pop().map(|profile| self.of_plugin(profile)))
    }

    fn of_plugin(&mut self, profile: PackProfile) -> Arc<Loaded> {
        let document =
            SettingsFile::new(profile.file.clone(), None, SettingsLayer::Pack, profile.text.clone());
        if self.resolved.packs.iter().all(|known| known.file != profile.file) {
            self.resolved.packs.push(profile);
        }
        self.loaded(document)
    }

    fn loaded(&mut self, document: SettingsFile) -> Arc<Loaded> {
        let known = self.opened.iter().find(|loaded| *loaded.document == document);
        if let Some(loaded) = known {
            return Arc::clone(loaded);
        }
        let layer = document.layer;
        let (loaded, problems) = Loaded::read(document);
        self.resolved.problems.add(layer, problems);
        let loaded = Arc::new(loaded);
        self.opened.push(Arc::clone(&loaded));
        loaded
    }

    /// Reads the file of a path. Returns it and the profile name after `#`.
    fn open(&mut self, wanted: &Named) -> Result<(Arc<Loaded>, Option<String>), Problem> {
        let (path, fragment) = match wanted.name.split_once('#') {
            Some((path, fragment)) => (path, Some(fragment.to_owned())),
            None => (wanted.name.as_str(), None),
        };
        let by = &wanted.spot.document;
        let shown = Path::new(&by.name).parent().unwrap_or(Path::new("")).join(path);
        let shown = if by.path.is_some() { shown } else { Path::new(path).to_owned() };
        let fail = |error: String| {
            let message = format!("can't read the profile \"{}\": {error}", shown.display());
            wanted.spot.problem(ProblemKind::Unreadable, message)
        };
        let (path, text) = self.config.read_beside(by, path).map_err(fail)?;
        // A file named by an option was chosen for this run; one named by a file belongs to that file's layer.
        let layer = if by.layer == SettingsLayer::Option { SettingsLayer::Chosen } else { by.layer };
        let document = SettingsFile::new(shown.display().to_string(), Some(path), layer, text);
        Ok((self.loaded(document), fragment))
    }

    fn names(&self, scope: &Scope) -> IndexSet<String> {
        let mut names: IndexSet<String> = BUILT_IN.iter().map(|(name, _)| (*name).to_owned()).collect();
        names.extend(self.config.pack_profiles().into_iter().map(|(name, _)| name));
        let layers = self.config.layers[..scope.level].iter();
        names.extend(layers.chain(&scope.file).flat_map(|loaded| loaded.profiles.keys().cloned()));
        names
    }
}
