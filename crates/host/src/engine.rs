//! Turns a user's choices into set-up pipelines.
//!
//! ```text
//! Builder ─▶ build: settings, plugins, profile, theme, writer ─▶ Engine ─▶ setup ─▶ a pipeline for each input
//! ```

mod additions;
mod banner;
mod builder;
mod format;
#[cfg_attr(not(feature = "lua"), path = "engine/without_plugins.rs")]
mod plugins;

use std::ops::ControlFlow;
use std::sync::Arc;

use streamfmt_core::budget::Budget;
use streamfmt_core::formatter::Formatter;
use streamfmt_core::pipeline::{Output, Settle, Settled, Setup, Sink};
use streamfmt_core::profile::{Ci, Limits, Profile};
use streamfmt_core::theme::Theme;
use streamfmt_core::writer::Writer;
use streamfmt_core::writer::ci::CiSafe;
use streamfmt_core::writer::page::KeepPicture;
use streamfmt_core::writer::summary::Summary;

use crate::engine::banner::Banner;
use crate::files::Files;
use crate::folders::Folders;
use crate::plugin::journal::{Fault, Journal};
use crate::plugin::pack::PluginLayer;
use crate::plugin::{Chosen, OutputContext, WriterName};
use crate::problem::Problems;
use crate::settings::profile::Settings;
use crate::settings::switch::Switch;
use crate::settings::themes::Themes;
use crate::settings::{self, Active, Config, ProfileChoice, Resolved, tree};
use crate::tools::formatter::RuleFormatter;
use crate::writers::{Format, FormatOutput, Looks, WriterRow};
use additions::Additions;

pub use builder::Builder;
pub(crate) use plugins::RunPlugins;

/// Choices that were read and checked: makes a pipeline's set-up for each input.
#[derive(Clone)]
pub struct Engine {
    settings: Settings,
    writer: &'static WriterRow,
    /// The writer of a plugin on top of it, or one that was added and takes its place.
    plugin_writer: Option<WriterName>,
    additions: Additions,
    dialect: Option<String>,
    theme: Option<Theme>,
    looks: Looks,
    keep: Option<KeepPicture>,
    plugins: Vec<Active>,
    /// Native plugins that were chosen and aren't to be loaded, by name.
    left_out: Vec<String>,
    inline_plugin_errors: bool,
    /// Whether calls of plugins are counted, and may be met by faults.
    counts_calls: bool,
    /// Whether entries are given as updates, whatever the writer.
    gives_updates: bool,
    budget: Budget,
    journal: Journal,
    folders: Option<Folders>,
    config: Arc<Config>,
    resolved: Resolved,
    choice: ProfileChoice,
    themes: Themes,
    warnings: Problems,
    /// What is used instead if the stream is one of theirs, the first that fits.
    by_stream: Arc<Vec<(Switch, Engine)>>,
}

/// An engine is shared between threads, each of which makes its own pipelines.
const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<Engine>();
};

impl Engine {
    /// Begins to choose.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The set-up of a pipeline for one input.
    ///
    /// # Panics
    /// A pipeline with plugins in Lua does, if it is used or dropped on another thread than this.
    pub fn setup(&self) -> Setup {
        self.setup_with(&self.load_plugins())
    }

    pub(crate) fn setup_with(&self, plugins: &RunPlugins) -> Setup {
        let (profile, output, settle, is_thread_bound) = self.parts(plugins);
        Setup {
            dialect: self.dialect.clone(),
            dialect_plugins: plugins.dialects().into_iter().chain(self.additions.dialects()).collect(),
            max_line: self.settings.max_line,
            budget: self.budget,
            profile,
            output,
            is_whole: false,
            shows_open: false,
            subagents: None,
            settle,
            is_thread_bound,
            holds_head: false,
            also: Vec::new(),
        }
    }

    /// An output of these choices for an input that another engine's pipeline reads: it is what this engine's pipeline would
    /// write, as long as both read with the same dialects and the same longest line. `take` takes the text, piece by piece, and
    /// says whether to go on.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use std::sync::{Arc, Mutex};
    /// use streamfmt::{Engine, Pipeline};
    ///
    /// let log = Engine::builder().profile("ci").build()?;
    /// let page = Engine::builder().writer("html").build()?;
    /// let html = Arc::new(Mutex::new(String::new()));
    /// let sink = Arc::clone(&html);
    /// let mut setup = log.setup();
    /// setup.also.push(page.beside(&log).sink(move |text| match sink.lock() {
    ///     Ok(mut html) => {
    ///         html.push_str(text);
    ///         ControlFlow::Continue(())
    ///     }
    ///     Err(_) => ControlFlow::Break(()),
    /// }));
    /// let (mut pipeline, mut text) = (Pipeline::new(setup), String::new());
    /// pipeline.push(b"{\"type\":\"result\",\"subtype\":\"success\",\"result\":\"done\"}\n", &mut text)?;
    /// pipeline.finish(&mut text)?;
    /// assert!(text.contains("done"));
    /// # let html = html.lock().map_err(|_| "poisoned")?;
    /// assert!(html.ends_with("</html>\n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// As with [`Self::setup`], if it is used or dropped on another thread than this and has plugins in Lua.
    pub fn sink(&self, take: impl FnMut(&str) -> ControlFlow<()> + Send + 'static) -> Sink {
        let (profile, output, settle, is_thread_bound) = self.parts(&self.load_plugins());
        Sink { profile, output, settle, is_thread_bound, take: Box::new(take), take_head: None }
    }

    /// An output that sums the input up in Markdown, whatever this engine's says of it. What is masked there is masked here.
    ///
    /// # Panics
    /// As [`Self::sink`] does.
    pub fn summary(&self, take: impl FnMut(&str) -> ControlFlow<()> + Send + 'static) -> Sink {
        let mut engine = Self { by_stream: Arc::default(), ..self.apart() };
        let profile = &mut engine.settings.profile;
        let limits = Limits { error_lines: Some(40), ..Limits::default() };
        *profile =
            Profile { limits, redaction: std::mem::take(&mut profile.redaction), ..Profile::default() };
        let plugins = engine.load_plugins();
        let (profile, _, settle, is_thread_bound) = engine.parts(&plugins);
        let formatters = engine.formatters_of(&plugins);
        let output = Output::Entries { formatters, writer: Box::new(Summary::default()) };
        Sink { profile, output, settle, is_thread_bound, take: Box::new(take), take_head: None }
    }

    /// What an output is made of.
    fn parts(&self, plugins: &RunPlugins) -> (Profile, Output, Option<Settle>, bool) {
        let mut profile = self.settings.profile.clone();
        plugins.redact(&mut profile.redaction);
        let output = match self.made() {
            FormatOutput::Items => Output::Items,
            FormatOutput::Writer(_) if self.gives_updates => {
                Output::Updates { formatters: self.formatters_of(plugins) }
            }
            FormatOutput::Writer(writer) => {
                let writer = self.over(writer, plugins);
                Output::Entries { formatters: self.formatters_of(plugins), writer }
            }
        };
        let settle = self.settle();
        // The machines of scripts are; what is settled later may have some.
        let is_bound = settle.is_some() || (!self.plugins.is_empty() && plugins.is_bound());
        (profile, output, settle, is_bound)
    }

    /// The output format, without what a plugin has on top of it.
    fn made(&self) -> FormatOutput {
        (self.writer.make)(&Format {
            layout: &self.settings.profile.layout,
            markdown: self.settings.markdown,
            timestamps: self.settings.timestamps,
            looks: &self.looks,
            theme: self.theme.as_ref(),
            keep: self.keep.as_ref(),
        })
    }

    /// The writer that was added, or the plugin's over the one that it stands on, if one of them was chosen.
    fn over(&self, base: Box<dyn Writer>, plugins: &RunPlugins) -> Box<dyn Writer> {
        let Some(chosen) = &self.plugin_writer else { return base };
        let writer = match (self.additions.writer(&chosen.name), self.made()) {
            (Some(added), _) => added,
            (None, FormatOutput::Writer(scratch)) => plugins.writer(&chosen.name, base, scratch),
            (None, _) => return base,
        };
        // A writer for logs may write commands, and keeps those of others out by itself.
        let may_command = chosen.is_log || self.settings.profile.layout.ci == Ci::None;
        if may_command { writer } else { Box::new(CiSafe::new(writer)) }
    }

    /// Decides by the stream between this and the other engines of the user's switches.
    fn settle(&self) -> Option<Settle> {
        if self.by_stream.is_empty() {
            return None;
        }
        let engines = Arc::clone(&self.by_stream);
        let folders = self.folders.clone().unwrap_or_default();
        Some(Box::new(move |known| {
            for (switch, engine) in engines.iter() {
                match switch.fits_stream(known, &folders) {
                    Some(true) => {
                        let Setup { profile, output, .. } = engine.setup();
                        return Settled::Use(Box::new((profile, output)));
                    }
                    Some(false) => {}
                    // A later one counts only if this one doesn't fit.
                    None => return Settled::Wait,
                }
            }
            Settled::Keep
        }))
    }

    /// The settings that were found.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The profile that is used, merged, with where everything was said.
    pub fn resolved(&self) -> &Resolved {
        &self.resolved
    }

    /// The plugins that take part, the lowest first.
    pub fn plugins(&self) -> &[Active] {
        &self.plugins
    }

    /// The native plugins that were chosen and are left out, by name, since [`Builder::native`] says so.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Which profile is used, and why; what a switch by the stream may choose instead is left aside.
    pub fn choice(&self) -> &ProfileChoice {
        &self.choice
    }

    /// Columns at which rows are wrapped, if they are.
    pub fn width(&self) -> Option<usize> {
        self.looks.width
    }

    /// What is wrong in settings that were found: it was left out. And names of groups that may be mistakes.
    pub fn warnings(&self) -> &Problems {
        &self.warnings
    }

    /// The same choices with a journal of their own.
    #[must_use]
    pub fn apart(&self) -> Self {
        self.with_journal(&Journal::default())
    }

    /// The same choices for one more output of the input that `main` is for: what plugins did wrong is told by its journal,
    /// once for all outputs.
    #[must_use]
    pub fn beside(&self, main: &Self) -> Self {
        let heard = main.plugins.iter().map(|active| active.pack.name.clone()).collect();
        let journal = main.journal.beside(heard);
        journal.take_in(&self.journal);
        self.with_journal(&journal)
    }

    fn with_journal(&self, journal: &Journal) -> Self {
        let by_stream = self.by_stream.iter();
        let by_stream = by_stream.map(|(switch, engine)| (switch.clone(), engine.with_journal(journal)));
        Self { by_stream: Arc::new(by_stream.collect()), journal: journal.clone(), ..self.clone() }
    }

    /// The same choices for a sink that can change what it shows: pipelines give [`Output::Updates`] in place of text, whatever
    /// the output format.
    #[must_use]
    pub fn updating(&self) -> Self {
        let by_stream = self.by_stream.iter();
        let by_stream = by_stream.map(|(switch, engine)| (switch.clone(), engine.updating()));
        Self { by_stream: Arc::new(by_stream.collect()), gives_updates: true, ..self.clone() }
    }

    /// The same choices, for runs in which calls of plugins are counted.
    pub(crate) fn counting_calls(self) -> Self {
        Self { counts_calls: true, ..self }
    }

    /// The same choices, for runs in which a call of a plugin is met by a fault.
    pub(crate) fn with_fault(&self, fault: Fault) -> Self {
        self.with_journal(&Journal::with_fault(fault))
    }

    /// The same choices without plugins, with a journal of their own.
    #[must_use]
    pub fn without_plugins(&self) -> Self {
        let by_stream = self.by_stream.iter();
        let by_stream = by_stream.map(|(switch, engine)| (switch.clone(), engine.without_plugins()));
        Self { by_stream: Arc::new(by_stream.collect()), plugins: Vec::new(), ..self.apart() }
    }

    /// The writer of a plugin, or one that was added, that was chosen, and what the name of a file of it ends in.
    pub fn plugin_writer(&self) -> Option<(&str, &str)> {
        self.plugin_writer.as_ref().map(|writer| (writer.name.as_str(), writer.ending.as_str()))
    }

    /// The output format that was decided on; of a plugin's writer the one that it stands on.
    pub fn writer(&self) -> &'static WriterRow {
        self.writer
    }

    /// Whether the output is one document, begun and ended by one writer, rather than lines.
    pub fn is_document(&self) -> bool {
        let of_lines = ["text", "ansi", "roles", "json", "items"];
        self.plugin_writer.is_some() || !of_lines.contains(&self.writer.name)
    }

    /// Whether the output is a document whose head is known last: its title, the answer, what the run came to. Where it can be put
    /// first, ask for it ([`Setup::holds_head`], [`Sink::take_head`]) and hold the text back in a [`Spool`](crate::Spool).
    pub fn has_head(&self) -> bool {
        self.plugin_writer.is_none() && !self.gives_updates && matches!(self.writer.name, "html" | "markdown")
    }

    /// The choices, with everything decided.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The formatters that are asked before the standard one. Each call loads the plugins anew, so that no
    /// input sees what another one left behind.
    ///
    /// # Panics
    /// Formatters of plugins do, if they are used or dropped on another thread than this.
    pub fn formatters(&self) -> Vec<Box<dyn Formatter>> {
        self.formatters_of(&self.load_plugins())
    }

    fn formatters_of(&self, plugins: &RunPlugins) -> Vec<Box<dyn Formatter>> {
        let mut formatters: Vec<Box<dyn Formatter>> = Vec::new();
        let changes = self.project_changes();
        if !changes.is_empty() && self.writer.is_for_people() {
            formatters.push(Box::new(Banner::new(self.config.project(), &changes)));
        }
        formatters.extend(self.additions.formatters());
        let profile = &self.settings.profile;
        if self.plugins.is_empty() {
            let rules = RuleFormatter::new(&self.settings.tools, profile);
            formatters.extend(rules.map(|rules| Box::new(rules) as Box<dyn Formatter>));
        } else {
            formatters.extend(plugins.formatter(&self.settings.tools, profile, self.counts_calls));
        }
        formatters
    }

    /// The themes that can be chosen.
    pub fn themes(&self) -> &Themes {
        &self.themes
    }

    /// The files that the choices were read from, and those that were looked for.
    pub fn files(&self) -> &Files {
        self.config.files()
    }

    pub(crate) fn load_plugins(&self) -> RunPlugins {
        let rules = &self.settings.tools;
        let shown = OutputContext { limits: self.settings.profile.limits, is_page: self.writer.is_page };
        let chosen: Vec<Chosen> = self.plugins.iter().map(Active::chosen).collect();
        RunPlugins::load(&chosen, rules, shown, &self.journal, self.inline_plugin_errors)
    }

    /// Where things were looked for, if anywhere.
    pub fn folders(&self) -> Option<&Folders> {
        self.folders.as_ref()
    }

    /// What plugins did wrong and printed.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// What a project, trusted as it is, hides, renames or runs.
    pub fn project_changes(&self) -> Vec<String> {
        let is_of_project = |setting: &tree::KeySetting<'_>| {
            setting.leaf.spot.document.layer == settings::document::SettingsLayer::Project
                && setting.changes_meaning()
        };
        let settings = self.resolved.tree.settings();
        let mut changes: Vec<String> =
            settings.into_iter().filter(is_of_project).map(|setting| setting.name).collect();
        let by = &self.choice.profile.spot.document;
        let is_harmless = ["default", "page", "full", "plain"].contains(&self.choice.profile.name.as_str());
        if by.layer == settings::document::SettingsLayer::Project && !is_harmless {
            changes.push(format!("the profile {}", self.choice.profile.name));
        }
        if self.plugins.iter().any(|active| active.layer == PluginLayer::Project) {
            changes.push("a plugin of its own".to_owned());
        }
        changes
    }
}
