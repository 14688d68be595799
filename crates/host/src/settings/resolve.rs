//! Merges a profile with all that it extends.

use std::path::Path;
use std::sync::Arc;

use super::document::{SettingsFile, SettingsLayer, Spot};
use super::packs::PackProfile;
use super::tree::{ProfilePart, SettingsTree};
use super::{Config, Loaded, SettingsProblems, is_path};
use crate::problem::suggestion;
use crate::settings::keys::Named;
use crate::settings::profile::BUILT_IN;

/// No profile may extend others over more steps.
const DEEPEST: usize = 8;
/// No profile may extend more others in all, however often each.
const MOST: usize = 64;

/// A profile with all that it extends, and what else the settings say.
#[derive(Clone, Debug, Default)]
pub struct Resolved {
    /// What they say together.
    pub tree: SettingsTree,
    /// What is wrong with it.
    pub problems: SettingsProblems,
    /// The profiles that took part, the lowest first, as they are shown.
    pub profiles: Vec<String>,
    /// Those of plugins that are among them.
    pub(crate) packs: Vec<PackProfile>,
    /// Whether the profile that was asked for is there.
    pub is_found: bool,
}

impl Config {
    /// Merges the profile `wanted`, all that it extends, and what holds for all profiles.
    pub fn resolve(&self, wanted: &Named) -> Resolved {
        let mut resolver = Resolver::new(self);
        let drops_default = resolver.drops_default(wanted);
        resolver.below(drops_default);
        if wanted.name == "default" {
            resolver.resolved.is_found = true;
        } else {
            let found = resolver.profile(wanted, Scope { level: self.layers.len(), file: None });
            resolver.resolved.is_found = found;
        }
        resolver.resolved
    }
}

impl Config {
    /// Merges the profile that is the text of `document`, all that it extends, and what holds for all profiles.
    pub(crate) fn resolve_text(&self, document: SettingsFile) -> Resolved {
        let mut resolver = Resolver::new(self);
        let loaded = resolver.loaded(document);
        let spot = Spot { document: Arc::clone(&loaded.document), span: 0..0 };
        let wanted = Named { name: loaded.document.name.clone(), spot };
        let part = &loaded.general;
        resolver.below(part.extends.iter().flatten().any(|name| name.name == "none"));
        let scope = Scope { level: self.layers.len(), file: Some(&loaded) };
        let document = Arc::clone(&loaded.document);
        let link = Link { identity: wanted.name.clone(), shown: wanted.name.clone() };
        resolver.part(&wanted, link, &Found { document, part, scope, below: Scope { file: None, ..scope } });
        resolver.resolved.is_found = true;
        resolver.resolved
    }
}

/// What a name may mean: the profiles of the lowest so many layers, and those of the file that it stands in.
#[derive(Clone, Copy)]
struct Scope<'a> {
    level: usize,
    file: Option<&'a Arc<Loaded>>,
}

/// A profile that is being merged.
#[derive(PartialEq)]
struct Link {
    /// What tells it from all others.
    identity: String,
    shown: String,
}

struct Resolver<'c> {
    config: &'c Config,
    resolved: Resolved,
    /// The profiles that are being merged, outermost first.
    chain: Vec<Link>,
    /// How many were merged.
    applied: usize,
    /// Files that profiles lead to.
    opened: Vec<Arc<Loaded>>,
}

/// A table of a profile.
struct Found<'a> {
    document: Arc<SettingsFile>,
    part: &'a ProfilePart,
    /// What its own names mean.
    scope: Scope<'a>,
    /// What its own name means in it: the profile below.
    below: Scope<'a>,
}

impl<'a> Found<'a> {
    /// A whole file that lies below all others.
    fn below_all(loaded: &'a Arc<Loaded>) -> Self {
        let scope = Scope { level: 0, file: None };
        Self { document: Arc::clone(&loaded.document), part: &loaded.general, scope, below: scope }
    }
}

impl<'c> Resolver<'c> {
    fn new(config: &'c Config) -> Self {
        Self { config, resolved: Resolved::default(), chain: Vec::new(), applied: 0, opened: Vec::new() }
    }

    /// Merges what lies below every profile: the default, and what holds for all.
    fn below(&mut self, drops_default: bool) {
        let config = self.config;
        if !drops_default {
            let default = Named { name: "default".to_owned(), spot: Spot::of_option("the default") };
            self.profile(&default, Scope { level: config.layers.len(), file: None });
        }
        for loaded in &config.layers {
            for said in &loaded.general.said {
                self.resolved.tree.say(said);
            }
            if let Some(name) = loaded.general.extends.iter().flatten().next() {
                let message =
                    "extends is only valid in a profile: [profile.NAME] (or pass this file with --profile)";
                let problem = name.spot.problem(message);
                self.resolved.problems.tell(loaded.document.layer, [problem]);
            }
        }
    }

    /// Whether a profile says `extends = ["none"]` itself.
    fn drops_default(&mut self, wanted: &Named) -> bool {
        let is_none = |part: &ProfilePart| part.extends.iter().flatten().any(|name| name.name == "none");
        if is_path(&wanted.name) {
            let opened = self.open(wanted);
            let part =
                opened.as_ref().ok().and_then(|(loaded, fragment)| part_of(loaded, fragment.as_deref()));
            return part.is_some_and(is_none);
        }
        let config = self.config;
        let in_layers = config.layers.iter().filter_map(|loaded| loaded.profiles.get(&wanted.name));
        let mut parts: Vec<&ProfilePart> = in_layers.map(|(_, part)| part).collect();
        let below = self.built_in(wanted);
        let below = below.or_else(|| self.of_any_plugin(wanted).ok()?.filter(|_| parts.is_empty()));
        parts.extend(below.as_ref().map(|loaded| &loaded.general));
        parts.into_iter().any(is_none)
    }

    /// Merges a profile. Whether it is there.
    fn profile(&mut self, wanted: &Named, scope: Scope<'_>) -> bool {
        if is_path(&wanted.name) {
            return self.path(wanted, scope);
        }
        let layers = &self.config.layers;
        let built_in = self.built_in(wanted);
        let mut found: Vec<Found<'_>> = Vec::new();
        found.extend(built_in.as_ref().map(Found::below_all));
        for (level, loaded) in layers.iter().enumerate().take(scope.level) {
            if let Some((_, part)) = loaded.profiles.get(&wanted.name) {
                let document = Arc::clone(&loaded.document);
                let scope = Scope { level: level + 1, file: None };
                found.push(Found { document, part, scope, below: Scope { level, file: None } });
            }
        }
        if let Some(loaded) = scope.file
            && let Some((_, part)) = loaded.profiles.get(&wanted.name)
        {
            let below = Scope { file: None, ..scope };
            found.push(Found { document: Arc::clone(&loaded.document), part, scope, below });
        }
        let mut of_plugin = None;
        if found.is_empty() {
            match self.of_any_plugin(wanted) {
                Ok(loaded) => of_plugin = loaded,
                Err(message) => {
                    self.tell(&wanted.spot, message);
                    return false;
                }
            }
        }
        found.extend(of_plugin.as_ref().map(Found::below_all));
        if found.is_empty() {
            let message = if let Some(wrong) = self.config.wrong_with_pack(&wanted.name) {
                format!("the plugin \"{}\" can't be read: {wrong}", wanted.name)
            } else {
                let names = self.names(scope);
                let hint = suggestion(&wanted.name, names.iter().map(String::as_str));
                format!("unknown profile \"{}\" {hint}", wanted.name)
            };
            self.tell(&wanted.spot, message);
            return false;
        }
        for found in found {
            let identity = format!("{}#{}", found.document.name, wanted.name);
            self.part(wanted, Link { identity, shown: wanted.name.clone() }, &found);
        }
        true
    }

    /// Merges the profile of a file.
    fn path(&mut self, wanted: &Named, scope: Scope<'_>) -> bool {
        let (loaded, fragment) = match self.open(wanted) {
            Ok(opened) => opened,
            Err(message) => {
                self.tell(&wanted.spot, message);
                return false;
            }
        };
        let Some(part) = part_of(&loaded, fragment.as_deref()) else {
            let names: Vec<&str> = loaded.profiles.keys().map(String::as_str).collect();
            let message = match &fragment {
                Some(name) => {
                    let hint = suggestion(name, names);
                    format!("unknown profile \"{name}\" in {} {hint}", loaded.document.name)
                }
                None => format!("choose one of its profiles: {}#{}", wanted.name, names.join(", #")),
            };
            self.tell(&wanted.spot, message);
            return false;
        };
        let shown = match (&loaded.document.path, &fragment) {
            (Some(path), Some(name)) => format!("{}#{name}", path.display()),
            (Some(path), None) => path.display().to_string(),
            _ => wanted.name.clone(),
        };
        let scope = Scope { file: Some(&loaded), ..scope };
        let below = Scope { file: None, ..scope };
        let found = Found { document: Arc::clone(&loaded.document), part, scope, below };
        self.part(wanted, Link { identity: shown.clone(), shown }, &found);
        true
    }

    /// Merges one table of a profile over what it extends.
    fn part(&mut self, wanted: &Named, link: Link, found: &Found<'_>) {
        let is_circle = self.chain.iter().any(|open| open.identity == link.identity);
        if is_circle || self.chain.len() >= DEEPEST {
            let shown: Vec<&str> = self.chain.iter().map(|link| link.shown.as_str()).collect();
            let chain = shown.join(" → ");
            let message = if is_circle {
                format!("profiles extend each other in a cycle: {chain} → {}", link.shown)
            } else {
                format!("more than {DEEPEST} levels of extends: {chain} → …")
            };
            self.tell(&wanted.spot, message);
            return;
        }
        if self.applied == MOST {
            self.tell(&wanted.spot, format!("more than {MOST} profiles in extends"));
        }
        self.applied += 1;
        if self.applied > MOST {
            return;
        }
        let own = link.shown.clone();
        self.chain.push(link);
        for parent in found.part.extends.iter().flatten().filter(|parent| parent.name != "none") {
            let is_own = parent.name == wanted.name && !is_path(&parent.name);
            self.profile(parent, if is_own { found.below } else { found.scope });
        }
        for said in &found.part.said {
            self.resolved.tree.say(said);
        }
        self.chain.pop();
        if self.resolved.profiles.last() != Some(&own) {
            self.resolved.profiles.push(own);
        }
    }

    /// A profile that was handed over as text, or that comes with the program or with a plugin that is known.
    fn built_in(&mut self, wanted: &Named) -> Option<Arc<Loaded>> {
        if let Some((name, source)) = self.config.texts.iter().rfind(|(known, _)| *known == wanted.name) {
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

    /// A profile of any plugin that can be chosen by name. The error says that several have it.
    fn of_any_plugin(&mut self, wanted: &Named) -> Result<Option<Arc<Loaded>>, String> {
        let mut found = self.config.other_profiles(&wanted.name);
        if found.len() > 1 {
            let names: Vec<&str> = found.iter().map(|profile| profile.pack.name.as_str()).collect();
            return Err(format!(
                "several plugins define the profile \"{}\": {} (--plugin {} chooses that one's, and so does plugins = \
                 [\"{2}\"] outside of a profile)",
                wanted.name,
                names.join(", "),
                names[0],
            ));
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
        self.resolved.problems.tell(layer, problems);
        let loaded = Arc::new(loaded);
        self.opened.push(Arc::clone(&loaded));
        loaded
    }

    /// Reads the file of a path, and which of its profiles is meant.
    fn open(&mut self, wanted: &Named) -> Result<(Arc<Loaded>, Option<String>), String> {
        let (path, fragment) = match wanted.name.split_once('#') {
            Some((path, fragment)) => (path, Some(fragment.to_owned())),
            None => (wanted.name.as_str(), None),
        };
        let by = &wanted.spot.document;
        let shown = Path::new(&by.name).parent().unwrap_or(Path::new("")).join(path);
        let shown = if by.path.is_some() { shown } else { Path::new(path).to_owned() };
        let fail = |error: String| format!("can't read the profile \"{}\": {error}", shown.display());
        let (path, text) = self.config.read_beside(by, path).map_err(fail)?;
        // What an option names was chosen for this run; what a file leads to is as good as that file.
        let layer = if by.layer == SettingsLayer::Option { SettingsLayer::Chosen } else { by.layer };
        let document = SettingsFile::new(shown.display().to_string(), Some(path), layer, text);
        Ok((self.loaded(document), fragment))
    }

    fn names(&self, scope: Scope<'_>) -> Vec<String> {
        let mut names: Vec<String> = BUILT_IN.iter().map(|(name, _)| (*name).to_owned()).collect();
        names.extend(self.config.pack_profiles().into_iter().map(|(name, _)| name));
        let layers = self.config.layers[..scope.level].iter();
        names.extend(layers.chain(scope.file).flat_map(|loaded| loaded.profiles.keys().cloned()));
        names.sort_by_key(|name| !BUILT_IN.iter().any(|(known, _)| known == name));
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names
    }

    fn tell(&mut self, spot: &Spot, message: String) {
        self.resolved.problems.tell(spot.document.layer, [spot.problem(message)]);
    }
}

/// What a file says of a profile: of that named after `#`, or as a file of one profile.
fn part_of<'l>(loaded: &'l Loaded, fragment: Option<&str>) -> Option<&'l ProfilePart> {
    match fragment {
        Some(name) => loaded.profiles.get(name).map(|(_, part)| part),
        None if loaded.general.is_empty() && !loaded.profiles.is_empty() => None,
        None => Some(&loaded.general),
    }
}
