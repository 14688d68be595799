//! Turns a user's choices into set-up pipelines.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use jiff::tz::TimeZone;
use streamfmt_core::dialect::{self, DIALECTS};
use streamfmt_core::formatter::Formatter;
use streamfmt_core::pipeline::{Output, Settle, Settled, Setup};
use streamfmt_core::profile::{Ci, Detail, Glyphs, Limits, Profile, Selector};
use streamfmt_core::redact::Redaction;
use streamfmt_core::theme::{ColorDepth, Theme};
use streamfmt_core::writer::Writer;
use streamfmt_core::writer::cast::Cast;
use streamfmt_core::writer::ci::Log;
use streamfmt_core::writer::html::Html;
use streamfmt_core::writer::json::Json;
use streamfmt_core::writer::markdown::Markdown;
use streamfmt_core::writer::sheet::{KeepPicture, Sheet};
use streamfmt_core::writer::summary::Summary;
use streamfmt_core::writer::terminal::{Look, Paint, Terminal};

use crate::banner::Banner;
use crate::config::document::Spot;
use crate::config::switch::Switch;
use crate::config::{self, Choice, Config, Request, Resolved, Told, tree};
use crate::explain::{Explanation, Question};
use crate::files::Files;
use crate::folders::Folders;
use crate::install::Installed;
use crate::keys::Named;
use crate::lua::journal::Journal;
use crate::lua::pack::{Layer, Pack};
use crate::lua::{self, Plugins, Scripts};
use crate::problem::{Problem, Problems, suggestion};
use crate::profile::Settings;
use crate::rule::ToolRule;
use crate::themes::{Background, Themes};

/// An output format.
pub struct WriterRow {
    /// Its name, for `--to` and `writer = `.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// Whether a program reads it: nothing may stand between its lines.
    pub is_data: bool,
    /// What the name of a file of it ends in.
    pub ending: &'static str,
    make: fn(&Engine) -> Made,
}

impl WriterRow {
    /// Whether people read it. A recording is played to them.
    pub fn is_for_people(&self) -> bool {
        !self.is_data || self.name == "cast"
    }
}

/// What an output format is made of.
enum Made {
    /// It spells entries.
    Writer(Box<dyn Writer>),
    /// It is the items themselves.
    Items,
}

/// All output formats.
pub static WRITERS: [WriterRow; 8] = [
    WriterRow {
        name: "text",
        about: "plain text",
        is_data: false,
        ending: "txt",
        make: |engine| engine.terminal(Paint::Plain),
    },
    WriterRow {
        name: "ansi",
        about: "text with colours",
        is_data: false,
        ending: "txt",
        make: |engine| engine.terminal(engine.paint()),
    },
    WriterRow {
        name: "markdown",
        about: "for pull requests, notes and chats",
        is_data: false,
        ending: "md",
        make: |engine| engine.logged(Markdown::new(engine.sheet())),
    },
    WriterRow {
        name: "html",
        about: "one page that needs nothing else, for browsers",
        is_data: false,
        ending: "html",
        // Its policy lets it show what is in it and nothing else, so it has its pictures within.
        make: |engine| {
            let sheet = Sheet { timestamps: Some(engine.zone()), keep: None, ..engine.sheet() };
            engine.entries(Html::new(sheet))
        },
    },
    WriterRow {
        name: "cast",
        about: "a recording of a terminal, for the asciinema player",
        is_data: true,
        ending: "cast",
        make: Engine::cast,
    },
    WriterRow {
        name: "json",
        about: "what is said: entries, one object a line",
        is_data: true,
        ending: "ndjson",
        make: |engine| engine.entries(Json),
    },
    WriterRow {
        name: "items",
        about: "what is: typed items, one object a line",
        is_data: true,
        ending: "ndjson",
        make: |_| Made::Items,
    },
    WriterRow {
        name: "roles",
        about: "text with its roles marked, for tests",
        is_data: false,
        ending: "txt",
        make: |engine| engine.terminal(Paint::Roles),
    },
];

/// What the place that the output goes to can show. By default it is a file: no colour, no wrapping.
#[derive(Clone, Debug, Default)]
pub struct Looks {
    /// The colours that it has and that are wanted, if any.
    pub color: Option<ColorDepth>,
    /// Whether colours are wanted wherever they are possible, even if the profile's writer has none.
    pub force_color: bool,
    /// Columns to wrap at.
    pub width: Option<usize>,
    /// Whether the width was asked for, so that a profile's has no say.
    pub is_width_fixed: bool,
    /// Whether links can be followed on it.
    pub links: bool,
    /// What lies behind the text.
    pub background: Background,
    /// The zone that times are shown in.
    pub zone: Option<TimeZone>,
    /// The CI service whose log it is.
    pub ci: Ci,
}

/// Choices that were read and checked: makes a pipeline's set-up for each input.
#[derive(Clone)]
pub struct Engine {
    settings: Settings,
    writer: &'static WriterRow,
    /// The plugin's writer on top of it.
    plugin_writer: Option<lua::WriterName>,
    dialect: Option<String>,
    theme: Option<Theme>,
    looks: Looks,
    keep: Option<KeepPicture>,
    plugins: Vec<lua::Chosen>,
    inline_plugin_errors: bool,
    journal: Journal,
    folders: Option<Folders>,
    config: Arc<Config>,
    resolved: Resolved,
    choice: Choice,
    themes: Themes,
    warnings: Problems,
    /// What is used instead if the stream is one of theirs, the first that fits.
    by_stream: Arc<Vec<(Switch, Engine)>>,
}

impl Engine {
    /// Begins to choose.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The set-up of a pipeline for one input.
    pub fn setup(&self) -> Setup {
        let plugins = self.load_plugins();
        let mut profile = self.settings.profile.clone();
        plugins.redact(&mut profile.redaction);
        let output = match (self.writer.make)(self) {
            Made::Items => Output::Items,
            Made::Writer(writer) => {
                let writer = self.over(writer, &plugins);
                Output::Entries { formatters: self.formatters_of(&plugins), writer }
            }
        };
        Setup {
            dialect: self.dialect.clone(),
            guests: lua::guests(&plugins),
            max_line: self.settings.max_line,
            profile,
            output,
            subagents: None,
            settle: self.settle(),
        }
    }

    /// The set-up of a pipeline that sums an input up in Markdown, whatever the output says of it. What is masked there is
    /// masked here.
    pub fn summary(&self) -> Setup {
        let mut engine = Self { by_stream: Arc::default(), ..self.apart() };
        let profile = &mut engine.settings.profile;
        let limits = Limits { error_lines: Some(40), ..Limits::default() };
        *profile =
            Profile { limits, redaction: std::mem::take(&mut profile.redaction), ..Profile::default() };
        let mut setup = engine.setup();
        if let Output::Entries { writer, .. } = &mut setup.output {
            *writer = Box::new(Summary::default());
        } else {
            setup.output =
                Output::Entries { formatters: engine.formatters(), writer: Box::new(Summary::default()) };
        }
        setup
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

    /// Which profile is used, and why; what a switch by the stream may choose instead is left aside.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// What is wrong in settings that were found: it was left out.
    pub fn warnings(&self) -> &Problems {
        &self.warnings
    }

    /// The same choices with a journal of their own.
    #[must_use]
    pub fn apart(&self) -> Self {
        self.with_journal(&Journal::default())
    }

    fn with_journal(&self, journal: &Journal) -> Self {
        let by_stream = self.by_stream.iter();
        let by_stream = by_stream.map(|(switch, engine)| (switch.clone(), engine.with_journal(journal)));
        Self { by_stream: Arc::new(by_stream.collect()), journal: journal.clone(), ..self.clone() }
    }

    /// The same choices, for runs in which a call of a plugin is met by a fault.
    pub(crate) fn with_fault(&self, fault: lua::Fault) -> Self {
        self.with_journal(&Journal::with_fault(fault))
    }

    /// The same choices without plugins, with a journal of their own.
    #[must_use]
    pub fn without_plugins(&self) -> Self {
        let by_stream = self.by_stream.iter();
        let by_stream = by_stream.map(|(switch, engine)| (switch.clone(), engine.without_plugins()));
        Self { by_stream: Arc::new(by_stream.collect()), plugins: Vec::new(), ..self.apart() }
    }

    /// The writer of a plugin that was chosen, and what the name of a file of it ends in.
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

    /// The choices, with everything decided.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    fn terminal(&self, paint: Paint) -> Made {
        self.logged(self.drawn(paint, self.looks.width))
    }

    /// Rows as the CI service wants them whose log they are for, if they are.
    fn logged(&self, rows: impl Writer + 'static) -> Made {
        match self.settings.profile.layout.ci {
            Ci::None => self.entries(rows),
            ci => self.entries(Log::new(Box::new(rows), ci)),
        }
    }

    /// A recording has a terminal of its own, with all colours.
    fn cast(&self) -> Made {
        let width = self.looks.width.unwrap_or(80);
        let theme = self.theme.clone().unwrap_or_default();
        let paint = Paint::Ansi { theme, depth: ColorDepth::TrueColor, hyperlinks: false };
        self.entries(Cast::new(self.drawn(paint, Some(width)), width, 24))
    }

    fn drawn(&self, paint: Paint, width: Option<usize>) -> Terminal {
        let is_ansi = matches!(paint, Paint::Ansi { .. });
        Terminal::new(Look {
            paint,
            width,
            layout: self.settings.profile.layout.clone(),
            // Text is for files and pipes: Markdown stays what it is there.
            markdown: self.settings.markdown && is_ansi,
            timestamps: self.settings.timestamps.then(|| self.zone()),
        })
    }

    fn sheet(&self) -> Sheet {
        Sheet {
            fold: self.settings.profile.layout.fold,
            timestamps: self.settings.timestamps.then(|| self.zone()),
            keep: self.keep.clone(),
        }
    }

    fn zone(&self) -> TimeZone {
        self.looks.zone.clone().unwrap_or(TimeZone::UTC)
    }

    #[expect(clippy::unused_self, reason = "the rows of the table read alike")]
    fn entries(&self, writer: impl Writer + 'static) -> Made {
        Made::Writer(Box::new(writer))
    }

    /// The formatters that are asked before the standard one. Each call loads the plugins anew, so that no
    /// input sees what another one left behind.
    pub fn formatters(&self) -> Vec<Box<dyn Formatter>> {
        self.formatters_of(&self.load_plugins())
    }

    fn formatters_of(&self, plugins: &Rc<Plugins>) -> Vec<Box<dyn Formatter>> {
        let mut formatters: Vec<Box<dyn Formatter>> = Vec::new();
        let changes = self.project_changes();
        if !changes.is_empty() && self.writer.is_for_people() {
            formatters.push(Box::new(Banner::new(self.config.project(), &changes)));
        }
        let scripts = Scripts::new(plugins, self.settings.profile.detail);
        formatters.extend(scripts.map(|scripts| Box::new(scripts) as Box<dyn Formatter>));
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

    /// The plugin's writer that was chosen, if one was, over the one that it stands on.
    fn over(&self, base: Box<dyn Writer>, plugins: &Rc<Plugins>) -> Box<dyn Writer> {
        match (&self.plugin_writer, (self.writer.make)(self)) {
            (Some(writer), Made::Writer(scratch)) => {
                match lua::writer::Scripted::new(plugins, &writer.name, base, scratch) {
                    Ok(writer) => Box::new(writer),
                    Err(base) => base,
                }
            }
            _ => base,
        }
    }

    fn load_plugins(&self) -> Rc<Plugins> {
        let rules = &self.settings.tools;
        let limits = &self.settings.profile.limits;
        Rc::new(Plugins::load(&self.plugins, rules, limits, &self.journal, self.inline_plugin_errors))
    }

    /// Where things were looked for, if anywhere.
    pub fn folders(&self) -> Option<&Folders> {
        self.folders.as_ref()
    }

    /// Tells who says what of a tool or a kind.
    pub fn explain(&self, question: &Question) -> Explanation {
        Explanation::of(question, &self.load_plugins())
    }

    /// What plugins did wrong and printed.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// What a project, trusted as it is, hides, renames or runs.
    pub fn project_changes(&self) -> Vec<String> {
        let is_of_project = |setting: &tree::Setting<'_>| {
            setting.leaf.spot.document.layer == config::document::Layer::Project && setting.changes_meaning()
        };
        let settings = self.resolved.tree.settings();
        let mut changes: Vec<String> =
            settings.into_iter().filter(is_of_project).map(|setting| setting.name).collect();
        let by = &self.choice.profile.spot.document;
        let is_harmless = ["default", "full", "plain"].contains(&self.choice.profile.name.as_str());
        if by.layer == config::document::Layer::Project && !is_harmless {
            changes.push(format!("the profile {}", self.choice.profile.name));
        }
        if self.plugins.iter().any(|(layer, _)| *layer == Layer::Project) {
            changes.push("a plugin of its own".to_owned());
        }
        changes
    }

    fn paint(&self) -> Paint {
        match (&self.theme, self.looks.color) {
            (Some(theme), Some(depth)) => {
                Paint::Ansi { theme: theme.clone(), depth, hyperlinks: self.looks.links }
            }
            _ => Paint::Plain,
        }
    }
}

/// A plugin that was chosen.
#[derive(Clone, Debug)]
enum Chosen {
    Path(PathBuf),
    Pack(Layer, Arc<Pack>),
}

/// What all engines of a build have in common.
struct Begun<'a> {
    config: &'a Arc<Config>,
    plugins: &'a [(Layer, Arc<Pack>)],
    journal: &'a Journal,
}

/// Collects choices; each is checked when the engine is built.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
#[derive(Clone, Debug, Default)]
pub struct Builder {
    dialect: Option<String>,
    writer: Option<String>,
    profile: Option<String>,
    environment_profile: Option<String>,
    config: Option<PathBuf>,
    no_project: bool,
    trusted: Option<String>,
    strict: bool,
    theme: Option<String>,
    set: Vec<String>,
    only: Vec<String>,
    hide: Vec<String>,
    ascii: bool,
    timestamps: bool,
    redaction: Redaction,
    plugins: Vec<Chosen>,
    tools: Vec<ToolRule>,
    inline_plugin_errors: bool,
    looks: Looks,
    keep: Option<KeepPicture>,
    folders: Option<Folders>,
    files: Files,
}

impl Builder {
    /// The dialect of the input, or `auto`.
    #[must_use]
    pub fn dialect(mut self, name: impl Into<String>) -> Self {
        self.dialect = Some(name.into());
        self
    }

    /// The output format, whatever the profile says.
    #[must_use]
    pub fn writer(mut self, name: impl Into<String>) -> Self {
        self.writer = Some(name.into());
        self
    }

    /// The profile: a built-in one, or the path of a file.
    #[must_use]
    pub fn profile(mut self, name: impl Into<String>) -> Self {
        self.profile = Some(name.into());
        self
    }

    /// The profile that the environment asks for: [`Builder::profile`] goes before it.
    #[must_use]
    pub fn environment_profile(mut self, name: impl Into<String>) -> Self {
        self.environment_profile = Some(name.into());
        self
    }

    /// A file of settings, read instead of the user's and the project's.
    #[must_use]
    pub fn config(mut self, path: impl Into<PathBuf>) -> Self {
        self.config = Some(path.into());
        self
    }

    /// Leaves the project's settings alone, trusted or not.
    #[must_use]
    pub fn no_project(mut self, on: bool) -> Self {
        self.no_project = on;
        self
    }

    /// Hashes of projects that are trusted wherever they lie, with commas between.
    #[must_use]
    pub fn trusted(mut self, hashes: impl Into<String>) -> Self {
        self.trusted = Some(hashes.into());
        self
    }

    /// Takes what is wrong in settings that were found as an error.
    #[must_use]
    pub fn strict(mut self, on: bool) -> Self {
        self.strict = on;
        self
    }

    /// Where settings, plugins and records of trust are looked for. Without this nothing is searched.
    #[must_use]
    pub fn folders(mut self, folders: Folders) -> Self {
        self.folders = Some(folders);
        self
    }

    /// The reader of all files, to know afterwards what was read, whether that came to anything or not.
    #[must_use]
    pub fn files(mut self, files: Files) -> Self {
        self.files = files;
        self
    }

    /// The theme, whatever the profile says: a name, or the path of a file.
    #[must_use]
    pub fn theme(mut self, name: impl Into<String>) -> Self {
        self.theme = Some(name.into());
        self
    }

    /// Sets one key of the profile: `limits.result-lines=40`.
    #[must_use]
    pub fn set(mut self, assignment: impl Into<String>) -> Self {
        self.set.push(assignment.into());
        self
    }

    /// Shows only items of these groups, whatever the profile says.
    #[must_use]
    pub fn only(mut self, groups: impl IntoIterator<Item = String>) -> Self {
        self.only.extend(groups);
        self
    }

    /// Shows no items of these groups, beside those that the profile hides.
    #[must_use]
    pub fn hide(mut self, groups: impl IntoIterator<Item = String>) -> Self {
        self.hide.extend(groups);
        self
    }

    /// Writes no marks beyond ASCII.
    #[must_use]
    pub fn ascii(mut self, on: bool) -> Self {
        self.ascii = on;
        self
    }

    /// Shows times, whatever the profile says.
    #[must_use]
    pub fn timestamps(mut self, on: bool) -> Self {
        self.timestamps = on;
        self
    }

    /// Masks this in whatever is written, beside what the profile masks.
    #[must_use]
    pub fn redact(mut self, redaction: &Redaction) -> Self {
        self.redaction.add(redaction);
        self
    }

    /// A plugin for this run: a Lua file, a folder with a `plugin.toml`, or the name of one that comes with the
    /// program. It stands over all others; later
    /// ones go over earlier ones.
    #[must_use]
    pub fn plugin(mut self, path: impl Into<PathBuf>) -> Self {
        self.plugins.push(Chosen::Path(path.into()));
        self
    }

    /// A plugin that was read already, as one that the profile names, over those before.
    #[must_use]
    pub fn pack(self, pack: impl Into<Arc<Pack>>) -> Self {
        self.pack_at(Layer::Pack, pack)
    }

    /// A plugin that was read already, over those of its layer that came before.
    #[must_use]
    pub fn pack_at(mut self, layer: Layer, pack: impl Into<Arc<Pack>>) -> Self {
        self.plugins.push(Chosen::Pack(layer, pack.into()));
        self
    }

    /// What is said of some tools without a script, over what the profile says.
    #[must_use]
    pub fn tool(mut self, rule: ToolRule) -> Self {
        self.tools.push(rule);
        self
    }

    /// Tells failures of plugins where they happen, in the output, instead of in the journal.
    #[must_use]
    pub fn inline_plugin_errors(mut self, on: bool) -> Self {
        self.inline_plugin_errors = on;
        self
    }

    /// What the place of the output can show.
    #[must_use]
    pub fn looks(mut self, looks: Looks) -> Self {
        self.looks = looks;
        self
    }

    /// Where pictures of a Markdown page are kept; else they are written into it. An HTML page has them within.
    #[must_use]
    pub fn keep_pictures(mut self, keep: KeepPicture) -> Self {
        self.keep = Some(keep);
        self
    }

    /// Reads and checks everything that was chosen. The error holds all problems of what was named for this run;
    /// what is wrong in settings that were found is left out and told by [`Engine::warnings`].
    pub fn build(self) -> Result<Engine, Problems> {
        let mut told = Told::default();
        let journal = Journal::default();
        let files = self.files.clone();
        let plugins = self.plugins_of_run(&files, &journal, &mut told);
        let config = Arc::new(Config::load(&Request {
            files,
            folders: self.folders.clone(),
            file: self.config.clone(),
            no_project: self.no_project,
            trusted: self.trusted.clone(),
            packs: plugins.iter().map(|(_, pack)| Arc::clone(pack)).collect(),
        }));
        told.extend(config.problems().clone());
        // A page folds what is long, so nothing needs to be left out of it.
        let otherwise = if self.writer.as_deref() == Some("html") { "full" } else { "default" };
        let choices = config.choices(self.asked(), otherwise);
        let begun = Begun { config: &config, plugins: &plugins, journal: &journal };
        let mut engine = None;
        for choice in choices.profiles {
            let resolved = config.resolve(&choice.profile);
            told.extend(resolved.problems.clone());
            if resolved.is_found {
                engine = Some(self.assemble(&begun, choice, resolved, &mut told));
                break;
            }
        }
        let mut by_stream = Vec::new();
        for (switch, choice) in choices.by_stream {
            let resolved = config.resolve(&choice.profile);
            told.extend(resolved.problems.clone());
            if resolved.is_found {
                by_stream.push((switch, self.assemble(&begun, choice, resolved, &mut told)));
            }
        }
        if self.strict {
            let warnings = std::mem::take(&mut told.warnings);
            told.errors.0.extend(warnings.0);
        }
        let (Some(mut engine), true) = (engine, told.errors.0.is_empty()) else { return Err(told.errors) };
        engine.by_stream = Arc::new(by_stream);
        engine.warnings = told.warnings;
        Ok(engine)
    }

    /// The profile that was asked for, if one was.
    fn asked(&self) -> Option<Choice> {
        let choice = |name: &String, option: &str, by| Choice {
            profile: Named { name: name.clone(), spot: Spot::of_option(option) },
            by,
        };
        let of_option = self.profile.as_ref().map(|name| choice(name, "--profile", "--profile"));
        of_option.or_else(|| {
            let name = self.environment_profile.as_ref()?;
            Some(choice(name, "STREAMFMT_PROFILE", "STREAMFMT_PROFILE"))
        })
    }

    /// Reads the plugins that were named for this run.
    fn plugins_of_run(&self, files: &Files, journal: &Journal, told: &mut Told) -> Vec<lua::Chosen> {
        let mut plugins = Vec::new();
        for chosen in &self.plugins {
            let path = match chosen {
                Chosen::Pack(layer, pack) => {
                    plugins.push((*layer, Arc::clone(pack)));
                    continue;
                }
                Chosen::Path(path) => path,
            };
            match Pack::read(files, path) {
                Ok(pack) => plugins.push((Layer::Run, Arc::new(pack))),
                Err(message) if !path.exists() => {
                    let installed = Installed::new(&self.folders.clone().unwrap_or_default());
                    let named = path.to_str().filter(|name| installed.home(name).is_some());
                    if let Some(name) = named {
                        match installed.find(files, name) {
                            Ok(pack) => plugins.push((Layer::Run, Arc::new(pack))),
                            Err(message) => journal.note_unread(path, message),
                        }
                        continue;
                    }
                    told.errors.0.push(Problem::of(format!("--plugin {}", path.display()), message));
                }
                // A plugin that is broken is left out; the others and the stream are told all the same.
                Err(message) => journal.note_unread(path, message),
            }
        }
        plugins
    }

    /// Makes an engine of one profile.
    fn assemble(&self, begun: &Begun<'_>, choice: Choice, mut resolved: Resolved, told: &mut Told) -> Engine {
        for assignment in &self.set {
            match tree::read_assignment(assignment) {
                Ok(said) => resolved.tree.say(&said),
                Err(problem) => told.tell(config::document::Layer::Option, [problem]),
            }
        }
        let mut settings = Settings::of(&resolved.tree);
        settings.timestamps |= self.timestamps;
        settings.profile.redaction.add(&self.redaction);
        if self.ascii && settings.profile.layout.glyphs != Glyphs::Words {
            settings.profile.layout.glyphs = Glyphs::Ascii;
        }
        let filter = &mut settings.profile.filter;
        if !self.only.is_empty() {
            filter.only = self.only.iter().map(|group| Selector::parse(group)).collect();
        }
        filter.hide.extend(self.hide.iter().map(|group| Selector::parse(group)));
        let option = config::document::Layer::Option;
        let plugins = begun.config.all_plugins(&settings, &resolved, begun.plugins, begun.journal, told);
        let dialect = self.dialect_of(&plugins).unwrap_or_else(|problem| {
            told.tell(option, [problem]);
            None
        });
        let (writer, plugin_writer) = self.writer_of(&settings, &plugins).unwrap_or_else(|problem| {
            let of_profile = settings.writer.take().filter(|_| self.writer.is_none());
            told.tell(of_profile.map_or(option, |named| named.spot.document.layer), [problem]);
            self.writer_of(&settings, &plugins).unwrap_or((&WRITERS[0], None))
        });
        let mut themes = Themes::new(self.folders.as_ref(), begun.config.files().clone());
        for (_, plugin) in plugins.iter().rev() {
            themes.add_plugin(Arc::clone(plugin));
        }
        let mut theme = None;
        if writer.name == "cast" || writer.name == "ansi" && self.looks.color.is_some() {
            let (found, wrong) = self.theme_of(&settings, &themes, begun.config);
            theme = found;
            told.extend(wrong);
        }
        settings.tools.extend(self.tools.iter().cloned());
        settings.profile.layout.ci = self.ci_of(&settings, writer, plugin_writer.is_some());
        let mut looks = self.looks.clone();
        if let (Some(width), false) = (settings.width, looks.is_width_fixed) {
            looks.width = (width > 0).then_some(width);
        }
        Engine {
            settings,
            writer,
            plugin_writer,
            dialect,
            theme,
            looks,
            keep: self.keep.clone(),
            plugins,
            inline_plugin_errors: self.inline_plugin_errors,
            journal: begun.journal.clone(),
            folders: self.folders.clone(),
            config: Arc::clone(begun.config),
            resolved,
            choice,
            warnings: Problems::default(),
            by_stream: Arc::default(),
            themes,
        }
    }

    /// The dialect that was asked for, if it is one of the known or of a plugin.
    fn dialect_of(&self, plugins: &[lua::Chosen]) -> Result<Option<String>, Problem> {
        let Some(name) = self.dialect.as_deref().filter(|name| *name != "auto") else { return Ok(None) };
        if dialect::find(name).is_some() {
            return Ok(Some(name.to_owned()));
        }
        let others = Plugins::names(plugins).dialects;
        if others.iter().any(|other| other == name) {
            return Ok(Some(name.to_owned()));
        }
        let known = DIALECTS.iter().map(|dialect| dialect.name).chain(others.iter().map(String::as_str));
        let hint = suggestion(name, ["auto"].into_iter().chain(known));
        Err(Problem::of(format!("--from {name}"), format!("there is no such dialect {hint}")))
    }

    /// Decides on the output format: what was asked for, then what the profile wants, then what can be shown.
    /// A plugin's writer is named beside the one that it stands on.
    fn writer_of(
        &self,
        settings: &Settings,
        plugins: &[lua::Chosen],
    ) -> Result<(&'static WriterRow, Option<lua::WriterName>), Problem> {
        let of_profile = settings.writer.as_ref();
        let name = match (self.writer.as_deref(), of_profile.map(|named| named.name.as_str())) {
            (Some(asked), _) => asked,
            (None, Some("text") | None) if self.looks.force_color => "ansi",
            (None, Some("ansi") | None) if self.looks.color.is_none() => "text",
            (None, Some(wanted)) => wanted,
            (None, None) => "ansi",
        };
        let row = |name: &str| WRITERS.iter().find(|row| row.name == name);
        if let Some(row) = row(name) {
            return Ok((row, None));
        }
        let others = Plugins::names(plugins).writers;
        if let Some(other) = others.iter().rfind(|other| other.name == name) {
            let base = &other.base;
            let row = row(base).ok_or_else(|| {
                let message =
                    format!("the writer {name} stands on \"{base}\", which this program doesn't have");
                Problem::of(format!("--to {name}"), message)
            })?;
            return Ok((row, Some(other.clone())));
        }
        let known = WRITERS.iter().map(|row| row.name).chain(others.iter().map(|other| other.name.as_str()));
        let hint = suggestion(name, known);
        Err(match of_profile.filter(|_| self.writer.is_none()) {
            Some(named) => named.spot.problem(format!("there is no output format \"{name}\" {hint}")),
            None => Problem::of(format!("--to {name}"), format!("there is no such output format {hint}")),
        })
    }

    /// The CI service whose log is written. Only one line an event leaves room for commands of ours; else it is enough
    /// that there are none of others. What programs read is never changed.
    fn ci_of(&self, settings: &Settings, writer: &WriterRow, is_scripted: bool) -> Ci {
        let is_lines = settings.profile.detail == Detail::Lines;
        let wanted = match (settings.ci, self.looks.ci) {
            (Some(told), _) => told,
            (None, Ci::None) if is_lines => Ci::Plain,
            (None, found) => found,
        };
        match (wanted, writer.name) {
            (Ci::Github | Ci::Gitlab, "text" | "ansi" | "roles") if is_lines && !is_scripted => wanted,
            (Ci::None, _) => Ci::None,
            (_, "text" | "ansi" | "roles" | "markdown") => Ci::Plain,
            _ => Ci::None,
        }
    }

    /// The theme that was asked for, else that of the profile: with what is wrong in it.
    fn theme_of(&self, settings: &Settings, themes: &Themes, config: &Config) -> (Option<Theme>, Told) {
        let Named { name, spot } = &settings.theme;
        let by = &spot.document;
        let found = match &self.theme {
            Some(name) => themes.load(name, &self.looks.background).map_err(|message| {
                (config::document::Layer::Option, Problem::of(format!("--theme {name}"), message))
            }),
            None => themes
                .named_in(by, self.folders.as_ref(), config.closure())
                .load(name, &self.looks.background)
                .map_err(|message| (by.layer, spot.problem(format!("theme \"{name}\": {message}")))),
        };
        let mut told = Told::default();
        match found {
            Ok((theme, wrong)) => {
                told.tell(config::document::Layer::User, wrong.0);
                (Some(theme), told)
            }
            Err((layer, problem)) => {
                told.tell(layer, [problem]);
                let usual = themes.load("auto", &self.looks.background);
                (usual.ok().map(|(theme, _)| theme), told)
            }
        }
    }
}
