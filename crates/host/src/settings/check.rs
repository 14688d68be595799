//! Checks all settings, and all profiles and themes of plugins, whether or not they are in use.

use std::sync::Arc;

use streamfmt_core::theme::{Appearance, Theme};

use super::document::{SettingsFile, SettingsLayer};
use super::{Config, Request, Resolved, SettingsProblems, packs};
use crate::files::Files;
use crate::folders::Folders;
use crate::plugin::journal::{self, Journal};
use crate::plugin::source::PluginSource;
use crate::problem::{Problem, ProblemKind, Problems, suggestion};
use crate::settings::group;
use crate::settings::keys::Named;
use crate::settings::profile::{BUILT_IN, Settings};
use crate::settings::themes::Themes;
use crate::writers::{self, Background, WRITERS};

impl Config {
    /// Returns the problems of all files and of every profile in them, including a project's, trusted or not. Runs nothing.
    pub fn check(&self) -> SettingsProblems {
        let mut found = self.problems.clone();
        let default = Named::given_by("default", "the default");
        found.extend(self.look_over(&self.resolve(&default)));
        for loaded in &self.layers {
            for (name, (spot, _)) in &loaded.profiles {
                let named = Named { name: name.clone(), spot: spot.clone() };
                found.extend(self.look_over(&self.resolve(&named)));
            }
            let switched = loaded.head.switches.iter().filter_map(|switch| switch.profile.as_ref());
            for named in switched.chain(&loaded.head.default_profile) {
                found.extend(self.resolve(named).problems);
            }
        }
        if let Some(project) = &self.project {
            found.add(SettingsLayer::Project, project.problems.iter().cloned());
        }
        found
    }

    /// Returns the problems of a plugin's profiles and themes as they would be for anyone who installs it: the user's own settings
    /// are ignored, other installed plugins are known.
    pub(crate) fn check_pack(files: &Files, folders: &Folders, pack: &Arc<PluginSource>) -> Vec<Problem> {
        let request = Request { files: files.clone(), packs: vec![Arc::clone(pack)], ..Request::default() };
        let folders = Folders { config: None, ..folders.clone() };
        let config = Self { request, folders, ..Self::default() };
        let mut found = SettingsProblems::default();
        for (name, file, text) in pack.profiles() {
            if name == "none" || BUILT_IN.iter().any(|(known, _)| *known == name) {
                let message = "this profile can't be chosen: a built-in profile has the same name";
                found.add(SettingsLayer::Pack, [Problem::of(ProblemKind::Taken, &file, message)]);
            }
            let document = SettingsFile::new(file, None, SettingsLayer::Pack, text.to_owned());
            found.extend(config.look_over(&config.resolve_text(document)));
        }
        let themes = config.themes([pack]);
        for (name, file, _) in pack.themes() {
            for appearance in Appearance::ALL {
                match themes.load(name, &Background::Known(appearance)) {
                    Ok((_, problems)) => found.add(SettingsLayer::Pack, problems.0),
                    Err(problem) => {
                        found.add(SettingsLayer::Pack, [Problem { origin: file.clone(), ..problem }]);
                    }
                }
            }
        }
        let mut all = found.errors;
        all.0.extend(found.warnings.0);
        all.sort();
        all.0
    }

    /// Returns the problems of a profile and of everything that it names.
    fn look_over(&self, resolved: &Resolved) -> SettingsProblems {
        let mut found = resolved.problems.clone();
        let settings = Settings::of(&resolved.tree);
        let journal = Journal::default();
        let plugins = self.all_plugins(&settings, resolved, &[], &journal, &mut found);
        for failure in journal.take() {
            if let journal::PluginMessage::Warning(warning) = failure {
                found.add(SettingsLayer::User, [warning.problem()]);
            }
        }
        // Options of an unused plugin are kept for profiles that use it, and can be checked now.
        for (plugin, option, leaf) in &settings.options {
            let is_used = plugins.iter().any(|active| active.pack.name == *plugin);
            if let (false, Ok(mut pack)) = (is_used, self.pack_named(plugin))
                && let Err(message) = packs::choose(&mut pack, option, &leaf.value)
            {
                found.add_at(&leaf.spot, ProblemKind::BadValue, message);
            }
        }
        // A plugin may provide an accumulator or a writer; its name is known only once the plugin runs.
        if let (Err(problems), Some(named)) =
            (self.records_of(&settings, || plugins.is_empty().then(Vec::new)), &settings.records)
        {
            found.add(named.spot.document.layer, problems.0);
        }
        let writer = settings
            .writer
            .as_ref()
            .filter(|writer| plugins.is_empty() && writers::find(&writer.name).is_none());
        if let Some(writer) = writer {
            let hint = suggestion(&writer.name, WRITERS.iter().map(|row| row.name));
            let message = format!("unknown output format \"{}\" {hint}", writer.name);
            found.add_at(&writer.spot, ProblemKind::UnknownName, message);
        }
        found.add(SettingsLayer::User, group::hints_in(&resolved.tree, &settings.tools, false));
        let themes = self.themes(plugins.iter().rev().map(|active| &active.pack));
        for appearance in Appearance::ALL {
            let loaded_theme = self.theme_of(&settings.theme, &themes, &Background::Known(appearance));
            found.extend(loaded_theme.map_or_else(|found| found, |(_, found)| found));
        }
        found
    }

    /// The themes that can be chosen with these plugins; the first plugins have precedence.
    pub(crate) fn themes<'p>(&self, plugins: impl IntoIterator<Item = &'p Arc<PluginSource>>) -> Themes {
        let mut themes = Themes::new(Some(&self.folders), self.request.files.clone());
        for plugin in plugins {
            themes.add_plugin(Arc::clone(plugin));
        }
        themes
    }

    /// Loads the theme that settings name, with the problems of its files. Fails if there is no such theme.
    pub(crate) fn theme_of(
        &self,
        named: &Named,
        themes: &Themes,
        background: &Background,
    ) -> Result<(Theme, SettingsProblems), SettingsProblems> {
        let themes = themes.named_in(&named.spot.document, &self.folders, self.closure());
        let (theme, Problems(wrong)) =
            themes.load(&named.name, background).map_err(|problem| no_theme(named, &problem))?;
        let mut found = SettingsProblems::default();
        found.add(SettingsLayer::User, wrong);
        Ok((theme, found))
    }

    /// Checks that the theme exists: otherwise a misspelled name would be noticed only on a terminal.
    pub(crate) fn check_theme(&self, named: &Named, themes: &Themes) -> Result<(), SettingsProblems> {
        // Files that a project names are opened only when needed, trusted or not.
        if named.spot.document.layer == SettingsLayer::Project {
            return Ok(());
        }
        let themes = themes.named_in(&named.spot.document, &self.folders, self.closure());
        themes.check(&named.name).map_err(|problem| no_theme(named, &problem))
    }
}

fn no_theme(named: &Named, problem: &Problem) -> SettingsProblems {
    let Problem { kind, message, .. } = problem;
    // A problem of an option begins with the option, which already contains the name.
    let message = match named.spot.document.layer {
        SettingsLayer::Option => message.clone(),
        _ => format!("theme \"{}\": {message}", named.name),
    };
    let mut found = SettingsProblems::default();
    found.add_at(&named.spot, *kind, message);
    found
}
