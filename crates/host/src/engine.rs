//! Turns a user's choices into set-up pipelines.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use jiff::tz::TimeZone;
use streamfmt_core::dialect::{self, DIALECTS};
use streamfmt_core::formatter::Formatter;
use streamfmt_core::pipeline::{Output, Setup};
use streamfmt_core::profile::{Glyphs, Selector};
use streamfmt_core::redact::Redaction;
use streamfmt_core::theme::{ColorDepth, Theme};
use streamfmt_core::writer::Writer;
use streamfmt_core::writer::cast::Cast;
use streamfmt_core::writer::html::Html;
use streamfmt_core::writer::json::Json;
use streamfmt_core::writer::markdown::Markdown;
use streamfmt_core::writer::sheet::Sheet;
use streamfmt_core::writer::terminal::{Look, Paint, Terminal};

use crate::explain::{Explanation, Question};
use crate::files::Files;
use crate::folders::Folders;
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
        make: |engine| engine.entries(Markdown::new(engine.sheet())),
    },
    WriterRow {
        name: "html",
        about: "one page that needs nothing else, for browsers",
        is_data: false,
        ending: "html",
        make: |engine| engine.entries(Html::new(Sheet { timestamps: Some(engine.zone()), ..engine.sheet() })),
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
    /// Whether links can be followed on it.
    pub links: bool,
    /// What lies behind the text.
    pub background: Background,
    /// The zone that times are shown in.
    pub zone: Option<TimeZone>,
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
    plugins: Vec<lua::Chosen>,
    inline_plugin_errors: bool,
    journal: Journal,
    folders: Option<Folders>,
    files: Files,
    themes: Themes,
    warnings: Problems,
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
            settle: None,
        }
    }

    /// The same choices with a journal of their own.
    #[must_use]
    pub fn apart(&self) -> Self {
        Self { journal: Journal::default(), ..self.clone() }
    }

    /// The same choices, for runs in which a call of a plugin is met by a fault.
    pub(crate) fn with_fault(&self, fault: lua::Fault) -> Self {
        Self { journal: Journal::with_fault(fault), ..self.clone() }
    }

    /// The same choices without plugins, with a journal of their own.
    #[must_use]
    pub fn without_plugins(&self) -> Self {
        Self { plugins: Vec::new(), ..self.apart() }
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
        self.entries(self.drawn(paint, self.looks.width))
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
            keep: None,
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
        let scripts = Scripts::new(plugins, self.settings.profile.detail);
        scripts.map(|scripts| Box::new(scripts) as Box<dyn Formatter>).into_iter().collect()
    }

    /// The themes that can be chosen.
    pub fn themes(&self) -> &Themes {
        &self.themes
    }

    /// The files that the choices were read from, and those that were looked for.
    pub fn files(&self) -> &Files {
        &self.files
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

    /// What is wrong with the set-up, though it can do without.
    pub fn warnings(&self) -> &Problems {
        &self.warnings
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

/// Collects choices; each is checked when the engine is built.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    dialect: Option<String>,
    writer: Option<String>,
    profile: Option<String>,
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

    /// Reads and checks everything that was chosen. The error holds all problems.
    pub fn build(self) -> Result<Engine, Problems> {
        let mut problems = Problems::default();
        // A page folds what is long, so nothing needs to be left out of it.
        let otherwise = if self.writer.as_deref() == Some("html") { "full" } else { "default" };
        let mut settings = match Settings::load(self.profile.as_deref().unwrap_or(otherwise)) {
            Ok(settings) => settings,
            Err(found) => {
                problems.0.extend(found.0);
                Settings::default()
            }
        };
        for assignment in &self.set {
            problems.0.extend(settings.set(assignment).err());
        }
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
        let journal = Journal::default();
        let files = self.files.clone();
        let plugins = self.read_plugins(&files, &journal, &mut problems);
        let dialect = self.dialect_of(&plugins).unwrap_or_else(|problem| {
            problems.0.push(problem);
            None
        });
        let (writer, plugin_writer) = self.writer_of(&settings, &plugins).unwrap_or_else(|problem| {
            problems.0.push(problem);
            (&WRITERS[0], None)
        });
        let mut themes = Themes::new(self.folders.as_ref(), files.clone());
        for chosen in &self.plugins {
            if let Chosen::Path(path) = chosen {
                themes.add_plugin(&path.display().to_string(), path);
            }
        }
        let (mut theme, mut warnings) = (None, Problems::default());
        if writer.name == "cast" || writer.name == "ansi" && self.looks.color.is_some() {
            match self.theme_of(&settings, &themes) {
                Ok((found, wrong)) => {
                    theme = Some(found);
                    warnings = wrong;
                }
                Err(problem) => problems.0.push(problem),
            }
        }
        settings.tools.extend(self.tools);
        let (looks, inline_plugin_errors) = (self.looks, self.inline_plugin_errors);
        problems.or(Engine {
            settings,
            writer,
            plugin_writer,
            dialect,
            theme,
            looks,
            plugins,
            inline_plugin_errors,
            journal,
            folders: self.folders,
            files,
            themes,
            warnings,
        })
    }

    /// Reads the plugins, the lowest first. One that isn't there is a problem; one that is broken is left out, and
    /// the others and the stream are told all the same.
    fn read_plugins(&self, files: &Files, journal: &Journal, problems: &mut Problems) -> Vec<lua::Chosen> {
        let mut plugins = Vec::new();
        // A profile that a plugin brings along is used with the plugin.
        if let Some(pack) = self.profile.as_deref().and_then(Pack::built_in) {
            plugins.push((Layer::Pack, Arc::new(pack)));
        }
        for chosen in &self.plugins {
            match chosen {
                Chosen::Pack(layer, pack) => plugins.push((*layer, Arc::clone(pack))),
                Chosen::Path(path) => match Pack::read(files, path) {
                    Ok(pack) => plugins.push((Layer::Run, Arc::new(pack))),
                    Err(message) if !path.exists() => {
                        if let Some(pack) = path.to_str().and_then(Pack::built_in) {
                            plugins.push((Layer::Run, Arc::new(pack)));
                            continue;
                        }
                        problems.0.push(Problem::of(format!("--plugin {}", path.display()), message));
                    }
                    Err(message) => journal.note_unread(path, message),
                },
            }
        }
        plugins.sort_by_key(|(layer, _)| *layer);
        plugins
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
        let name = match (self.writer.as_deref(), settings.writer) {
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
        Err(Problem::of(format!("--to {name}"), format!("there is no such output format {hint}")))
    }

    fn theme_of(&self, settings: &Settings, themes: &Themes) -> Result<(Theme, Problems), Problem> {
        let name = self.theme.as_deref().unwrap_or(&settings.theme);
        let origin =
            if self.theme.is_some() { format!("--theme {name}") } else { format!("theme \"{name}\"") };
        themes.load(name, &self.looks.background).map_err(|message| Problem::of(origin, message))
    }
}
