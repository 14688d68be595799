//! Builds an engine from the choices: reads the settings and checks everything.

use std::sync::Arc;

use streamfmt_core::item::Id;
use streamfmt_core::profile::{Ci, Selector};
use streamfmt_core::theme::Glyphs;
use streamfmt_dialects::DIALECTS;

use super::super::{ChosenProfile, Engine, Plugins};
use super::{Builder, PluginRequest};
use crate::install::Installed;
use crate::plugin::journal::Journal;
use crate::plugin::manifest;
use crate::plugin::source::{self, PluginLayer, PluginSource, is_source};
use crate::plugin::{EnabledPlugin, PluginOrigin, WITHOUT_LUA, WriterName};
use crate::problem::{ChoiceNames, Problem, ProblemKind, Problems, RunChoice, suggestion};
use crate::settings::document::{SettingsLayer, Spot};
use crate::settings::group;
use crate::settings::keys::Named;
use crate::settings::profile::Settings;
use crate::settings::{Config, ProfileChoice, Request, SettingsProblems, tree};
use crate::writers::{self, CiUse, OutputCapabilities, WRITERS, WriterColors, WriterRow};

/// The inputs that all profiles of a build have in common.
struct BuildInputs<'a> {
    config: &'a Arc<Config>,
    plugins: &'a [EnabledPlugin],
    journal: &'a Journal,
}

impl Builder {
    /// Reads and checks all choices. The error holds all problems of choices for this run. Wrong values in settings files are ignored,
    /// and plugins that can't be loaded are left out: [`Engine::warnings`] returns these problems, or they are errors, too, with
    /// [`Builder::strict`].
    pub fn build(self) -> Result<Engine, Problems> {
        let mut found = SettingsProblems::default();
        found.errors.0.extend(self.additions.problems());
        let journal = Journal::default();
        let plugins = self.plugins_of_run(&journal, &mut found);
        let packs = plugins.iter().map(|plugin| Arc::clone(&plugin.pack)).collect();
        let config =
            Arc::new(Config::load(&Request { packs, names: self.names(), ..self.sources.request.clone() }));
        found.extend(config.problems().clone());
        let otherwise =
            self.look.writer.as_deref().and_then(writers::find).map_or("default", |row| row.profile);
        let asked = self.requested().or_else(|| profile_of(&plugins, self.names()));
        let choices = config.choices(asked, otherwise);
        let begun = BuildInputs { config: &config, plugins: &plugins, journal: &journal };
        let mut make = |choice| self.chosen_profile(&begun, choice, &mut found);
        let chosen = choices.profiles.into_iter().find_map(&mut make);
        let by_stream = choices.by_stream.into_iter();
        let by_stream = by_stream.filter_map(|(switch, choice)| Some((switch, make(choice)?))).collect();
        if !self.plugins.is_deferred {
            found.warnings.0.extend(journal.problems());
        }
        if self.sources.is_strict {
            let warnings = std::mem::take(&mut found.warnings);
            found.errors.0.extend(warnings.0);
        }
        found.errors.sort();
        found.warnings.sort();
        let (Some(chosen), true) = (chosen, found.errors.0.is_empty()) else { return Err(found.errors) };
        let mut warnings = found.warnings;
        // They aren't certainly mistakes, so `strict` doesn't make them errors.
        warnings.0.extend(self.group_hints(&chosen));
        Ok(Engine {
            chosen,
            by_stream: Arc::new(by_stream),
            folders: self.sources.request.folders,
            config,
            warnings,
            keep: self.look.keep,
            emits_updates: false,
            inline_errors: self.plugins.inline_errors,
            counts_calls: false,
            journal,
            additions: self.additions,
            budget: self.budget,
        })
    }

    /// Hints about names of groups in options and settings.
    fn group_hints(&self, chosen: &ChosenProfile) -> Vec<Problem> {
        let own = &chosen.settings.tools;
        let mut hints = group::hints_in(&chosen.resolved.tree, own, !self.items.only.is_empty());
        hints.extend(group::hints(&self.only_list(), own, true));
        hints.extend(group::hints(&self.hide_list(), own, false));
        hints
    }

    fn only_list(&self) -> Vec<Named> {
        self.named(RunChoice::Only, &self.items.only)
    }

    fn hide_list(&self) -> Vec<Named> {
        self.named(RunChoice::Hide, &self.items.hide)
    }

    /// The names in a list, each as typed. A stray comma is ignored.
    fn named(&self, choice: RunChoice, groups: &[String]) -> Vec<Named> {
        let names = groups.iter().map(|group| group.trim()).filter(|group| !group.is_empty());
        names.map(|name| Named { name: name.to_owned(), spot: self.spot(choice, name) }).collect()
    }

    fn names(&self) -> ChoiceNames {
        if self.sources.names_options { ChoiceNames::Options } else { ChoiceNames::Methods }
    }

    /// Where this choice was made.
    fn spot(&self, choice: RunChoice, value: &str) -> Spot {
        Spot::of_choice(choice, value, self.names())
    }

    /// Parses the groups in a list. At least one is required.
    fn selectors(&self, list: &[Named], choice: RunChoice, found: &mut SettingsProblems) -> Vec<Selector> {
        if list.is_empty() {
            let option = choice.name(self.names());
            let message =
                format!("the list is empty (name kinds and tools, as in {option} reply,Bash,@edit)");
            found.add_at(&self.spot(choice, ""), ProblemKind::BadValue, message);
        }
        found.add(SettingsLayer::Option, list.iter().filter_map(group::problem_of));
        list.iter().map(|named| Selector::parse(&named.name)).collect()
    }

    /// The explicitly requested profile, if any.
    fn requested(&self) -> Option<ProfileChoice> {
        let by = RunChoice::Profile.name(self.names());
        let choice =
            |name: &String, spot, by| ProfileChoice { profile: Named { name: name.clone(), spot }, by };
        let of_option = self.sources.profile.as_ref();
        let of_option = of_option.map(|name| choice(name, self.spot(RunChoice::Profile, ""), by));
        let name = self.sources.environment_profile.as_ref();
        let variable = "STREAMFMT_PROFILE";
        of_option.or_else(|| Some(choice(name?, Spot::named(variable), variable)))
    }

    /// Reads the plugins that were requested for this run.
    fn plugins_of_run(&self, journal: &Journal, found: &mut SettingsProblems) -> Vec<EnabledPlugin> {
        let Request { files, folders, .. } = &self.sources.request;
        let installed = Installed::new(&folders.clone().unwrap_or_default());
        let origin_of = |name: &str| installed.origin(name).map_or("", PluginOrigin::name);
        let mut plugins = Vec::new();
        let enabled = |layer, pack| EnabledPlugin::new(layer, pack, "this run");
        for chosen in &self.plugins.requested {
            let (is_native, spot) = match chosen {
                PluginRequest::Path(path) => {
                    let spot = self.spot(RunChoice::Plugin, &path.display().to_string());
                    (source::is_library(path), spot)
                }
                PluginRequest::Pack(_, pack) => (pack.is_native(), Spot::named(&pack.name)),
            };
            if let Some(why) = WITHOUT_LUA.filter(|_| !is_native) {
                found.errors.0.push(spot.problem(ProblemKind::Unsupported, why));
                continue;
            }
            let path = match chosen {
                PluginRequest::Pack(layer, pack) => {
                    plugins.push(enabled(*layer, Arc::clone(pack)));
                    continue;
                }
                PluginRequest::Path(path) => path,
            };
            // An installed or built-in plugin takes precedence over a folder of the same name, whether that is there by accident
            // or on purpose.
            if let Some(name) = path.to_str().filter(|name| installed.origin(name).is_some()) {
                match installed.find(files, name) {
                    Ok(pack) => plugins.push(enabled(PluginLayer::Run, Arc::new(pack))),
                    Err(problem) => journal.note_unread(path, problem.message),
                }
                if path.join(manifest::FILE).is_file() {
                    let message = format!("the {} plugin is used, not the folder ./{name}", origin_of(name));
                    found.warnings.0.push(spot.problem(ProblemKind::Doubtful, message));
                }
                continue;
            }
            let read =
                if is_native { PluginSource::read_library(path) } else { PluginSource::read(files, path) };
            match read {
                Ok(pack) => plugins.push(enabled(PluginLayer::Run, Arc::new(pack))),
                Err(message) if !path.exists() => {
                    let name = path
                        .to_str()
                        .filter(|name| manifest::is_name(name) && !is_source(path) && !is_native);
                    let problem = match name {
                        Some(name) => spot.problem(ProblemKind::UnknownName, installed.no_such(name)),
                        None => spot.problem(ProblemKind::Unreadable, message),
                    };
                    found.errors.0.push(problem);
                }
                // A broken plugin is left out; the others and the stream still work.
                Err(message) => journal.note_unread(path, message),
            }
        }
        plugins
    }

    /// Reads one profile and the choices that depend on it. Returns `None` if the profile doesn't exist.
    fn chosen_profile(
        &self,
        begun: &BuildInputs<'_>,
        choice: ProfileChoice,
        found: &mut SettingsProblems,
    ) -> Option<ChosenProfile> {
        let mut resolved = begun.config.resolve(&choice.profile);
        found.extend(resolved.problems.clone());
        if !resolved.is_found {
            return None;
        }
        for assignment in &self.sources.set {
            match tree::read_assignment(assignment, self.names()) {
                Ok(setting) => resolved.tree.assign(&setting),
                Err(problem) => found.add(SettingsLayer::Option, [problem]),
            }
        }
        let mut settings = Settings::of(&resolved.tree);
        settings.timestamps |= self.look.timestamps;
        settings.profile.redaction.add(&self.items.redaction);
        if self.look.ascii {
            let layout = &mut settings.profile.layout;
            layout.ascii = true;
            if layout.glyphs != Glyphs::Words {
                layout.glyphs = Glyphs::Ascii;
            }
        }
        if let Some(name) = &self.look.theme {
            settings.theme = Named { name: name.clone(), spot: self.spot(RunChoice::Theme, name) };
        }
        let option = SettingsLayer::Option;
        let filter = &mut settings.profile.filter;
        if !self.items.only.is_empty() {
            filter.only = self.selectors(&self.only_list(), RunChoice::Only, found);
        }
        let ids = |ids: &Vec<String>| Arc::new(ids.iter().map(|id| Id::from(id.as_str())).collect());
        filter.within = self.items.within.as_ref().map(ids);
        if !self.items.hide.is_empty() {
            filter.hide.extend(self.selectors(&self.hide_list(), RunChoice::Hide, found));
        }
        let mut plugins = begun.config.all_plugins(&settings, &resolved, begun.plugins, begun.journal, found);
        let mut left_out = Vec::new();
        if self.plugins.without_native {
            let natives = plugins.extract_if(.., |active| active.pack.is_native());
            left_out = natives.map(|active| active.pack.name.clone()).collect();
        }
        if !self.plugins.is_deferred {
            found.warnings.0.extend(Plugins::problems(&plugins));
        }
        // If something is unknown, the cause may be a plugin that can't be loaded.
        let with_plugins = |problems: Vec<Problem>| Plugins::problems(&plugins).into_iter().chain(problems);
        let accumulators = || Some(Plugins::names(&plugins).accumulators);
        match (begun.config.records_of(&settings, accumulators), &settings.records) {
            (Ok(drawn), _) => settings.profile.records = drawn,
            (Err(problems), named) => {
                let layer = named.as_ref().map_or(option, |named| named.spot.document.layer);
                found.add(layer, with_plugins(problems.0));
            }
        }
        let dialect = self.dialect_of(&plugins).unwrap_or_else(|problem| {
            found.add(option, with_plugins(vec![problem]));
            None
        });
        let (writer, plugin_writer) = self.writer_of(&settings, &plugins).unwrap_or_else(|problem| {
            let of_profile = settings.writer.take().filter(|_| self.look.writer.is_none());
            let layer = of_profile.map_or(option, |named| named.spot.document.layer);
            found.add(layer, with_plugins(vec![problem]));
            self.writer_of(&settings, &plugins).unwrap_or((&WRITERS[0], None))
        });
        let mut themes = begun.config.themes(plugins.iter().rev().map(|active| &active.pack));
        self.additions.add_themes(&mut themes);
        let has_colors = match writer.colors {
            WriterColors::None => false,
            WriterColors::Terminal => self.look.capabilities.color.is_some(),
            WriterColors::Recorded => true,
        };
        let background = &self.look.capabilities.background;
        let (theme, wrong) = if has_colors {
            match begun.config.theme_of(&settings.theme, &themes, background) {
                Ok((theme, wrong)) => (Some(theme), Some(wrong)),
                Err(wrong) => (themes.load("auto", background).ok().map(|(theme, _)| theme), Some(wrong)),
            }
        } else {
            (None, begun.config.check_theme(&settings.theme, &themes).err())
        };
        found.extend(wrong.unwrap_or_default());
        settings.tools.extend(self.items.tools.iter().cloned());
        settings.profile.layout.ci = self.ci_of(&settings, writer, plugin_writer.as_ref());
        let mut capabilities = self.look.capabilities.clone();
        if let (Some(width), false) = (settings.width, capabilities.is_width_fixed) {
            capabilities.width = (width > 0).then_some(width);
        }
        Some(ChosenProfile {
            settings,
            resolved,
            choice,
            themes,
            dialect,
            row: writer,
            writer: plugin_writer,
            theme,
            capabilities,
            plugins,
            left_out,
        })
    }

    /// The requested dialect, if it is built in, added, or a plugin's.
    fn dialect_of(&self, plugins: &[EnabledPlugin]) -> Result<Option<String>, Problem> {
        let Some(name) = self.dialect.as_deref().filter(|name| *name != "auto") else { return Ok(None) };
        if DIALECTS.find(name).is_some() {
            return Ok(Some(name.to_owned()));
        }
        let mut others = Plugins::names(plugins).dialects;
        others.extend(self.additions.dialect_names());
        if others.iter().any(|other| other == name) {
            return Ok(Some(name.to_owned()));
        }
        let known = DIALECTS.rows.iter().map(|dialect| dialect.name).chain(others.iter().map(String::as_str));
        let hint = suggestion(name, ["auto"].into_iter().chain(known));
        let spot = self.spot(RunChoice::Dialect, name);
        Err(spot.problem(ProblemKind::UnknownName, format!("unknown dialect {hint}")))
    }

    /// Chooses the output format: the requested one, else the profile's, else the default for the destination. For a plugin's
    /// writer or an added one, also returns its name, beside the format that it extends.
    fn writer_of(
        &self,
        settings: &Settings,
        plugins: &[EnabledPlugin],
    ) -> Result<(&'static WriterRow, Option<WriterName>), Problem> {
        let of_profile = settings.writer.as_ref();
        let name =
            self.look.writer.as_deref().or(of_profile.map(|named| named.name.as_str())).unwrap_or("ansi");
        if let Some(row) = writers::find(name) {
            let OutputCapabilities { force_color, color, .. } = self.look.capabilities;
            let wants_escapes = force_color || row.has_escapes() && color.is_some();
            let counterpart =
                row.counterpart.filter(|_| self.look.writer.is_none() && wants_escapes != row.has_escapes());
            return Ok((counterpart.and_then(writers::find).unwrap_or(row), None));
        }
        let mut others = Plugins::names(plugins).writers;
        others.extend(self.additions.writer_names());
        if let Some(other) = others.iter().rfind(|other| other.name == name) {
            let base = &other.base;
            let row = writers::find(base).ok_or_else(|| {
                let message =
                    format!("the writer {name} is based on \"{base}\", which this program doesn't have");
                self.spot(RunChoice::Writer, name).problem(ProblemKind::UnknownName, message)
            })?;
            return Ok((row, Some(other.clone())));
        }
        let known = WRITERS.iter().map(|row| row.name).chain(others.iter().map(|other| other.name.as_str()));
        let hint = suggestion(name, known);
        let (spot, message) = match of_profile.filter(|_| self.look.writer.is_none()) {
            Some(named) => (named.spot.clone(), format!("unknown output format \"{name}\" {hint}")),
            None => (self.spot(RunChoice::Writer, name), format!("unknown output format {hint}")),
        };
        Err(spot.problem(ProblemKind::UnknownName, message))
    }

    /// The CI service whose commands may be written. Only a format with one line for each event can contain our commands;
    /// in other formats, foreign commands are neutralized. Formats for programs are never changed.
    fn ci_of(&self, settings: &Settings, writer: &WriterRow, scripted: Option<&WriterName>) -> Ci {
        let wanted = match (settings.ci, self.look.capabilities.ci, writer.ci) {
            (Some(chosen), _, _) => chosen,
            (None, Ci::None, CiUse::Commands) => Ci::Plain,
            (None, found, _) => found,
        };
        match (wanted, writer.ci) {
            _ if scripted.is_some_and(|writer| writer.is_log) => Ci::Plain,
            (_, CiUse::Commands) => wanted,
            (Ci::None, _) | (_, CiUse::Ignored) => Ci::None,
            (_, CiUse::Escaped) => Ci::Plain,
        }
    }
}

/// The profile that the last plugin named for this run brings for itself: one of the plugin's name.
fn profile_of(plugins: &[EnabledPlugin], names: ChoiceNames) -> Option<ProfileChoice> {
    let of_run = plugins.iter().rev().filter(|plugin| plugin.layer == PluginLayer::Run);
    let pack =
        of_run.map(|plugin| &plugin.pack).find(|pack| pack.profiles().any(|(name, ..)| name == pack.name))?;
    let spot = Spot::of_choice(RunChoice::Plugin, "", names);
    let profile = Named { name: pack.name.clone(), spot };
    Some(ProfileChoice { profile, by: RunChoice::Plugin.name(names) })
}
