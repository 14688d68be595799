//! Turns a user's choices into the setup of pipelines.
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
use std::rc::Rc;
use std::sync::Arc;

use streamfmt_core::budget::Budget;
use streamfmt_core::formatter::Formatter;
use streamfmt_core::observer::Observer;
use streamfmt_core::pipeline::{DecideOutput, Output, OutputDecision, Setup, Sink};
use streamfmt_core::profile::{Ci, LimitName, Limits, Profile};
use streamfmt_core::theme::Theme;
use streamfmt_core::writer::Writer;
use streamfmt_dialects::DIALECTS;
use streamfmt_formatters::PRESENTATION;
use streamfmt_writers::ci::CiSafe;
use streamfmt_writers::page::KeepPicture;
use streamfmt_writers::summary::Summary;

use crate::engine::banner::Banner;
use crate::files::Files;
use crate::folders::Folders;
use crate::plugin::journal::{Fault, Journal};
use crate::plugin::source::PluginLayer;
use crate::plugin::{EnabledPlugin, OutputContext, WriterName};
use crate::problem::Problems;
use crate::settings::allowance::PLAIN_PROFILES;
use crate::settings::document::SettingsLayer;
use crate::settings::profile::Settings;
use crate::settings::switch::Switch;
use crate::settings::themes::Themes;
use crate::settings::{Config, ProfileChoice, Resolved, tree};
use crate::tools::formatter::RuleFormatter;
use crate::writers::{Format, OutputCapabilities, WriterRow};
use additions::Additions;

pub use builder::Builder;
#[cfg(feature = "lua")]
pub(crate) use format::read;
use plugins::Plugins;

/// A user's choices, read and checked: sets up a pipeline for each input.
#[derive(Clone)]
pub struct Engine {
    chosen: ChosenProfile,
    /// The profiles of the user's switches: the first one that matches the stream replaces `chosen`.
    by_stream: Arc<Vec<(Switch, ChosenProfile)>>,
    folders: Option<Folders>,
    config: Arc<Config>,
    warnings: Problems,
    keep: Option<KeepPicture>,
    /// Whether the output is updates, regardless of the format.
    emits_updates: bool,
    inline_errors: bool,
    /// Whether calls of plugins are counted, so that a fault can be injected into one.
    counts_calls: bool,
    journal: Journal,
    additions: Additions,
    budget: Budget,
}

/// A profile, and the choices that depend on it.
#[derive(Clone)]
struct ChosenProfile {
    settings: Settings,
    resolved: Resolved,
    choice: ProfileChoice,
    themes: Themes,
    dialect: Option<String>,
    row: &'static WriterRow,
    /// The writer of a plugin that extends `row`, or an added one that replaces it.
    writer: Option<WriterName>,
    theme: Option<Theme>,
    capabilities: OutputCapabilities,
    plugins: Vec<EnabledPlugin>,
    /// The names of native plugins that were chosen but aren't loaded.
    left_out: Vec<String>,
}

/// An engine is shared between threads, each of which makes its own pipelines.
const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<Engine>();
};

impl Engine {
    /// A builder without choices.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The setup of a pipeline for one input.
    ///
    /// # Panics
    /// A pipeline with plugins in Lua panics if it is used or dropped on another thread than this.
    pub fn setup(&self) -> Setup {
        self.setup_with(&self.load_plugins())
    }

    pub(crate) fn setup_with(&self, plugins: &Rc<Plugins>) -> Setup {
        let (profile, output, settle) = self.output(plugins);
        Setup { profile, output, settle, ..self.watch_with(plugins, Vec::new()) }
    }

    /// The setup of a pipeline without an output: `observers` see the items of one input, in the dialects of this engine. No formatter and
    /// no writer is made, so a line costs less than with any output.
    ///
    /// ```
    /// use std::sync::mpsc::{Sender, channel};
    /// use streamfmt::item::{Item, Kind};
    /// use streamfmt::observer::Observer;
    /// use streamfmt::session::Session;
    /// use streamfmt::{Engine, Pipeline};
    ///
    /// /// Sends the name of each tool that is called.
    /// struct Tools(Sender<String>);
    ///
    /// impl Observer for Tools {
    ///     fn item(&mut self, item: &Item, _: &Session) {
    ///         if let (Kind::Call, Some(tool)) = (item.kind, &item.tool) {
    ///             // Nobody may be interested any more.
    ///             let _ = self.0.send(tool.to_string());
    ///         }
    ///     }
    /// }
    ///
    /// let (sender, tools) = channel();
    /// let engine = Engine::builder().dialect("claude").build()?;
    /// let mut pipeline = Pipeline::new(engine.watch(vec![Box::new(Tools(sender))]));
    /// let line = br#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]}}"#;
    /// let mut no_text = String::new();
    /// pipeline.push(line, &mut no_text)?;
    /// pipeline.finish(&mut no_text)?;
    /// assert_eq!((tools.try_recv()?.as_str(), no_text.as_str()), ("Bash", ""));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// Like [`Self::setup`], if a plugin in Lua has a dialect.
    pub fn watch(&self, observers: Vec<Box<dyn Observer>>) -> Setup {
        self.watch_with(&self.load_plugins(), observers)
    }

    fn watch_with(&self, plugins: &Rc<Plugins>, observers: Vec<Box<dyn Observer>>) -> Setup {
        Setup {
            dialects: DIALECTS,
            presentation: PRESENTATION,
            dialect: self.chosen.dialect.clone(),
            dialect_plugins: plugins.dialects().into_iter().chain(self.additions.dialects()).collect(),
            max_line: self.chosen.settings.max_line,
            budget: self.budget,
            profile: Profile::default(),
            output: Output::Nothing,
            is_whole: false,
            shows_open: false,
            subagents: None,
            origins: None,
            facts: None,
            settle: None,
            holds_head: false,
            lists_finds: false,
            also: Vec::new(),
            observers,
        }
    }

    /// An output of this engine for an input that another engine's pipeline reads. It equals the output of this engine's own
    /// pipeline, as long as both have the same dialects and line limit. `take` receives the text in pieces, and returns whether
    /// to continue.
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
    /// setup.also.push(page.sharing_journal_with(&log).sink(move |text| match sink.lock() {
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
    /// Like [`Self::setup`]: a sink with plugins in Lua panics if it is used or dropped on another thread than this.
    pub fn sink(&self, take: impl FnMut(&str) -> ControlFlow<()> + Send + 'static) -> Sink {
        let (profile, output, settle) = self.output(&self.load_plugins());
        Sink { profile, output, settle, take: Box::new(take), take_head: None }
    }

    /// An output with a summary of the input in Markdown, regardless of this engine's own format. It masks the same secrets.
    ///
    /// # Panics
    /// Like [`Self::sink`].
    pub fn summary(&self, take: impl FnMut(&str) -> ControlFlow<()> + Send + 'static) -> Sink {
        let mut engine = Self { by_stream: Arc::default(), ..self.with_own_journal() };
        let profile = &mut engine.chosen.settings.profile;
        let limits = Limits::default().with(LimitName::ErrorLines, 40);
        *profile =
            Profile { limits, redaction: std::mem::take(&mut profile.redaction), ..Profile::default() };
        let plugins = engine.load_plugins();
        let (profile, _, settle) = engine.output(&plugins);
        let formatters = engine.formatters_of(&plugins);
        let output = Output::Entries { formatters, writer: Box::new(Summary::default()) };
        Sink { profile, output, settle, take: Box::new(take), take_head: None }
    }

    /// The profile, output and switches of a pipeline or sink.
    fn output(&self, plugins: &Rc<Plugins>) -> (Profile, Output, Option<DecideOutput>) {
        let mut profile = self.chosen.settings.profile.clone();
        plugins.redact(&mut profile.redaction);
        let formatters = self.formatters_of(plugins);
        let output = match self.built_in_writer() {
            None => Output::Items { formatters, writer: None },
            Some(mut writer) => {
                if writer.items().is_some() {
                    Output::Items { formatters, writer: Some(writer) }
                } else if self.emits_updates {
                    Output::Updates { formatters }
                } else {
                    Output::Entries { formatters, writer: self.with_plugin_writer(writer, plugins) }
                }
            }
        };
        (profile, output, self.settle())
    }

    /// The output format's own writer, without a plugin's. Returns `None` if the output is the items themselves.
    fn built_in_writer(&self) -> Option<Box<dyn Writer>> {
        let format = Format {
            layout: &self.chosen.settings.profile.layout,
            markdown: self.chosen.settings.markdown,
            timestamps: self.chosen.settings.timestamps,
            capabilities: &self.chosen.capabilities,
            theme: self.chosen.theme.as_ref(),
            keep: self.keep.as_ref(),
        };
        self.chosen.row.make.map(|make| make(&format))
    }

    /// The chosen writer: an added one, or a plugin's on top of `base`. Returns `base` if none was chosen.
    fn with_plugin_writer(&self, base: Box<dyn Writer>, plugins: &Rc<Plugins>) -> Box<dyn Writer> {
        let Some(chosen) = &self.chosen.writer else { return base };
        let writer = match (self.additions.writer(&chosen.name), self.built_in_writer()) {
            (Some(added), _) => added,
            (None, Some(scratch)) => plugins.writer(&chosen.name, base, scratch),
            (None, None) => return base,
        };
        // A writer for logs may write commands, and neutralizes foreign ones itself.
        let may_command = chosen.is_log || self.chosen.settings.profile.layout.ci == Ci::None;
        if may_command { writer } else { Box::new(CiSafe::new(writer)) }
    }

    /// Chooses between the profile in use and those of the user's switches, once the stream is known.
    fn settle(&self) -> Option<DecideOutput> {
        if self.by_stream.is_empty() {
            return None;
        }
        let engine = self.clone();
        let folders = self.folders.clone().unwrap_or_default();
        Some(Box::new(move |known| {
            for (switch, chosen) in engine.by_stream.iter() {
                match switch.fits_stream(known, &folders) {
                    Some(true) => {
                        let by_stream = Arc::default();
                        let engine = Self { chosen: chosen.clone(), by_stream, ..engine.clone() };
                        let (profile, output, _) = engine.output(&engine.load_plugins());
                        return OutputDecision::Use(Box::new((profile, output)));
                    }
                    Some(false) => {}
                    // A later switch counts only if this one doesn't match.
                    None => return OutputDecision::Wait,
                }
            }
            OutputDecision::Keep
        }))
    }

    /// The settings that were loaded.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The profile in use, merged, with the origin of each value.
    pub fn resolved(&self) -> &Resolved {
        &self.chosen.resolved
    }

    /// The plugins in use, the lowest first.
    pub fn plugins(&self) -> &[EnabledPlugin] {
        &self.chosen.plugins
    }

    /// The names of native plugins that were chosen but are left out because of [`Builder::native`].
    pub fn left_out(&self) -> &[String] {
        &self.chosen.left_out
    }

    /// The profile in use, and why it is used. A switch may still choose another by the stream.
    pub fn choice(&self) -> &ProfileChoice {
        &self.chosen.choice
    }

    /// The column at which rows are wrapped, if any.
    pub fn width(&self) -> Option<usize> {
        self.chosen.capabilities.width
    }

    /// Problems in settings files, whose values were ignored; plugins that can't be loaded, and are left out; and names of groups that may
    /// be misspelled.
    pub fn warnings(&self) -> &Problems {
        &self.warnings
    }

    /// The same choices with a separate journal.
    #[must_use]
    pub fn with_own_journal(&self) -> Self {
        self.with_journal(Journal::default())
    }

    /// The same choices for a further output of the input of `main`. Failures of plugins go to the journal of `main`, once for
    /// all outputs.
    #[must_use]
    pub fn sharing_journal_with(&self, main: &Self) -> Self {
        let heard = main.chosen.plugins.iter().map(|active| active.pack.name.clone()).collect();
        let journal = main.journal.beside(heard);
        journal.merge(&self.journal);
        self.with_journal(journal)
    }

    fn with_journal(&self, journal: Journal) -> Self {
        Self { journal, ..self.clone() }
    }

    /// The same choices for a sink that can change its output: pipelines return [`Output::Updates`] instead of text, regardless of the
    /// output format.
    #[must_use]
    pub fn updating(&self) -> Self {
        Self { emits_updates: true, ..self.clone() }
    }

    /// The same choices, for runs in which calls of plugins are counted.
    pub(crate) fn counting_calls(mut self) -> Self {
        self.counts_calls = true;
        self
    }

    /// The same choices, for runs in which a fault is injected into a call of a plugin.
    pub(crate) fn with_fault(&self, fault: Fault) -> Self {
        self.with_journal(Journal::with_fault(fault))
    }

    /// The same choices without plugins, with a separate journal.
    #[must_use]
    pub fn without_plugins(&self) -> Self {
        let mut engine = self.with_own_journal();
        let others = Arc::make_mut(&mut engine.by_stream).iter_mut().map(|(_, chosen)| chosen);
        others.chain([&mut engine.chosen]).for_each(|chosen| chosen.plugins.clear());
        engine
    }

    /// The name and the file extension of the chosen plugin writer or added writer.
    pub fn plugin_writer(&self) -> Option<(&str, &str)> {
        self.chosen.writer.as_ref().map(|writer| (writer.name.as_str(), writer.ending.as_str()))
    }

    /// The output format. For a plugin's writer, the format that it extends.
    pub fn writer(&self) -> &'static WriterRow {
        self.chosen.row
    }

    /// The output format, unless it is a plugin's writer or an added one.
    pub fn own_writer(&self) -> Option<&'static WriterRow> {
        self.chosen.writer.is_none().then_some(self.chosen.row)
    }

    /// Whether the output is one document, written by one writer from beginning to end, rather than separate lines.
    pub fn is_document(&self) -> bool {
        self.own_writer().is_none_or(|writer| writer.is_document)
    }

    /// Whether the output is a document whose head is known last: its title, the answer, the totals. If the head can be put
    /// first, request it ([`Setup::holds_head`], [`Sink::take_head`]) and hold the text back in a [`Spool`](crate::Spool).
    pub fn has_head(&self) -> bool {
        !self.emits_updates && self.own_writer().is_some_and(|writer| writer.has_head)
    }

    /// The final settings.
    pub fn settings(&self) -> &Settings {
        &self.chosen.settings
    }

    /// The formatters before the standard one. Each call loads the plugins again, so no input sees the state of another.
    ///
    /// # Panics
    /// Formatters of plugins in Lua panic if they are used or dropped on another thread than this.
    pub fn formatters(&self) -> Vec<Box<dyn Formatter>> {
        self.formatters_of(&self.load_plugins())
    }

    fn formatters_of(&self, plugins: &Rc<Plugins>) -> Vec<Box<dyn Formatter>> {
        let mut formatters: Vec<Box<dyn Formatter>> = Vec::new();
        let changes = self.project_changes();
        if !changes.is_empty() && self.chosen.row.is_for_people() {
            formatters.push(Box::new(Banner::new(self.config.project(), &changes)));
        }
        formatters.extend(self.additions.formatters());
        let profile = &self.chosen.settings.profile;
        let rules = &self.chosen.settings.tools;
        let of_plugins = match self.chosen.plugins.as_slice() {
            [] => None,
            _ => plugins.formatter(rules, profile, self.counts_calls),
        };
        // Rules apply without plugins, too, and where none of them could be loaded.
        let of_rules = || Some(Box::new(RuleFormatter::new(rules, profile)?) as Box<dyn Formatter>);
        formatters.extend(of_plugins.or_else(of_rules));
        formatters
    }

    /// The themes that can be chosen.
    pub fn themes(&self) -> &Themes {
        &self.chosen.themes
    }

    /// The files that the choices were read from, and those that were searched for.
    pub fn files(&self) -> &Files {
        self.config.files()
    }

    pub(crate) fn load_plugins(&self) -> Rc<Plugins> {
        let rules = &self.chosen.settings.tools;
        let shown =
            OutputContext { limits: self.chosen.settings.profile.limits, is_page: self.chosen.row.is_page };
        let mut journal = self.journal.clone();
        journal.is_inline = self.inline_errors;
        Rc::new(Plugins::load(&self.chosen.plugins, rules, shown, &journal))
    }

    /// The folders that were searched, if any.
    pub fn folders(&self) -> Option<&Folders> {
        self.folders.as_ref()
    }

    /// The failures and messages of plugins.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The items that a trusted project hides, renames or formats with code.
    pub fn project_changes(&self) -> Vec<String> {
        let is_of_project = |setting: &tree::KeySetting<'_>| {
            setting.leaf.spot.document.layer == SettingsLayer::Project && setting.changes_meaning()
        };
        let settings = self.chosen.resolved.tree.settings();
        let mut changes: Vec<String> =
            settings.into_iter().filter(is_of_project).map(|setting| setting.name).collect();
        let by = &self.chosen.choice.profile.spot.document;
        let is_harmless = PLAIN_PROFILES.contains(&self.chosen.choice.profile.name.as_str());
        if by.layer == SettingsLayer::Project && !is_harmless {
            changes.push(format!("the profile {}", self.chosen.choice.profile.name));
        }
        if self.chosen.plugins.iter().any(|active| active.layer == PluginLayer::Project) {
            changes.push("a plugin of its own".to_owned());
        }
        changes
    }
}
