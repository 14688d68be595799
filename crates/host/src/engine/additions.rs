//! Additions of an embedding program: formatters, writers, dialects and themes.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use streamfmt_core::dialect::{Decoder, DialectPlugin};
use streamfmt_core::formatter::Formatter;
use streamfmt_core::theme::ThemeSource;
use streamfmt_core::writer::Writer;
use streamfmt_dialects::DIALECTS;

use super::Builder;
use crate::plugin::WriterName;
use crate::problem::{Problem, ProblemKind};
use crate::settings::themes::Themes;
use crate::writers;

/// Everything that a program added.
#[derive(Clone, Default)]
pub(super) struct Additions {
    formatters: Vec<Factory<dyn Formatter>>,
    writers: Vec<(String, Factory<dyn Writer>)>,
    dialects: Vec<(String, Factory<dyn Decoder>)>,
    themes: Vec<(String, String)>,
}

/// Creates an instance for each pipeline.
type Factory<T> = Arc<dyn Fn() -> Box<T> + Send + Sync>;

impl fmt::Debug for Additions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Additions")
    }
}

impl Builder {
    /// A formatter in Rust: `make` creates one for each output of each pipeline. Formatters are called in the order in which they
    /// are added, before plugins, rules and the built-in one; [`Verdict::Pass`] passes an item on to the next.
    ///
    /// [`Verdict::Pass`]: streamfmt_core::formatter::Verdict::Pass
    ///
    /// ```
    /// use streamfmt::Engine;
    /// use streamfmt::entry::{Line, View};
    /// use streamfmt::formatter::{FormatError, Formatter, Verdict};
    /// use streamfmt::item::Item;
    /// use streamfmt::session::Session;
    ///
    /// struct Deploys;
    ///
    /// impl Formatter for Deploys {
    ///     fn name(&self) -> &str {
    ///         "deploys"
    ///     }
    ///
    ///     fn format(&self, item: &Item, _: &Session) -> Result<Verdict, FormatError> {
    ///         if item.tool.as_deref() != Some("deploy") {
    ///             return Ok(Verdict::Pass);
    ///         }
    ///         let title = Line::of("tool.name", "Deploying");
    ///         Ok(Verdict::Show(View { title, ..View::default() }))
    ///     }
    /// }
    ///
    /// let engine = Engine::builder().dialect("claude").writer("text").add_formatter(|| Deploys).build()?;
    /// let line = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"deploy","input":{}}]}}"#;
    /// assert!(engine.format_line(line).starts_with("  Deploying\n"));
    /// # Ok::<(), streamfmt::Problems>(())
    /// ```
    pub fn add_formatter<F: Formatter + 'static>(
        mut self,
        make: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self {
        self.additions.formatters.push(Arc::new(move || Box::new(make())));
        self
    }

    /// A writer in Rust, chosen by its name: with [`Builder::writer`], or as the `writer` of a profile. `make` creates one for
    /// each output of each pipeline.
    ///
    /// ```
    /// use std::fmt;
    /// use streamfmt::Engine;
    /// use streamfmt::outline::Node;
    /// use streamfmt::writer::Writer;
    ///
    /// struct Kinds;
    ///
    /// impl Writer for Kinds {
    ///     fn node(&mut self, node: &Node, out: &mut dyn fmt::Write) -> fmt::Result {
    ///         node.entries().try_for_each(|entry| writeln!(out, "{}", entry.kind.name()))
    ///     }
    /// }
    ///
    /// let engine = Engine::builder().add_writer("kinds", || Kinds).writer("kinds").build()?;
    /// assert_eq!(engine.format_line(r#"{"type":"result","subtype":"success","result":"done"}"#), "outcome\n");
    /// # Ok::<(), streamfmt::Problems>(())
    /// ```
    pub fn add_writer<W: Writer + 'static>(
        mut self,
        name: impl Into<String>,
        make: impl Fn() -> W + Send + Sync + 'static,
    ) -> Self {
        self.additions.writers.push((name.into(), Arc::new(move || Box::new(make()))));
        self
    }

    /// A dialect in Rust. A stream is read in it if [`Decoder::weigh`] returns a high enough weight, or if [`Builder::dialect`]
    /// chooses it by name. `make` creates a decoder for each pipeline.
    ///
    /// ```
    /// use streamfmt::Engine;
    /// use streamfmt::dialect::{Decoder, Input};
    /// use streamfmt::event::Event;
    /// use streamfmt::item::{Content, Item, Kind};
    ///
    /// struct Acme;
    ///
    /// impl Decoder for Acme {
    ///     fn decode(&mut self, input: Input<'_>, out: &mut Vec<Event>) {
    ///         let Some(said) = input.value.get("say").and_then(|said| said.decode()) else { return };
    ///         let mut item = Item::new(format!("line-{}", input.line), Kind::Reply, input.line);
    ///         item.text = Content::Own(said.into_owned());
    ///         out.push(Event::Put(Box::new(item)));
    ///     }
    ///
    ///     fn end(&mut self, _: &mut Vec<Event>) {}
    /// }
    ///
    /// let engine = Engine::builder().add_dialect("acme", || Acme).dialect("acme").writer("text").build()?;
    /// assert_eq!(engine.format_line(r#"{"say":"Hello"}"#), "  Hello\n");
    /// # Ok::<(), streamfmt::Problems>(())
    /// ```
    pub fn add_dialect<D: Decoder + 'static>(
        mut self,
        name: impl Into<String>,
        make: impl Fn() -> D + Send + Sync + 'static,
    ) -> Self {
        self.additions.dialects.push((name.into(), Arc::new(move || Box::new(make()))));
        self
    }

    /// A theme, in the format of a theme file. It is chosen by its name, with [`Builder::theme`] or as the `theme` of a profile,
    /// and takes precedence over the themes of the user, of plugins and of the program.
    ///
    /// ```
    /// use streamfmt::theme::ColorDepth;
    /// use streamfmt::{Engine, OutputCapabilities};
    ///
    /// let capabilities = OutputCapabilities { color: Some(ColorDepth::TrueColor), ..OutputCapabilities::default() };
    /// let engine = Engine::builder()
    ///     .add_theme("calm", "extends = \"dark\"\n[roles]\n\"mark.outcome-ok\" = \"#123456\"\n")
    ///     .theme("calm")
    ///     .capabilities(capabilities)
    ///     .build()?;
    /// let line = r#"{"type":"result","subtype":"success","result":"done"}"#;
    /// assert!(engine.format_line(line).starts_with("\u{1b}[38;2;18;52;86m✓"));
    /// # Ok::<(), streamfmt::Problems>(())
    /// ```
    pub fn add_theme(mut self, name: impl Into<String>, source: impl Into<String>) -> Self {
        self.additions.themes.push((name.into(), source.into()));
        self
    }
}

impl Additions {
    /// The problems of names that are already taken.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let is_dialect = |name: &str| name == "auto" || DIALECTS.find(name).is_some();
        let dialects = self.dialects.iter().map(|(name, _)| ("dialect", name, is_dialect(name)));
        let is_writer = |name: &str| writers::find(name).is_some();
        let writers = self.writers.iter().map(|(name, _)| ("writer", name, is_writer(name)));
        let mut known = HashSet::new();
        let taken = dialects
            .chain(writers)
            .filter(|(what, name, is_taken)| *is_taken || !known.insert((*what, *name)));
        taken
            .map(|(what, name, _)| {
                Problem::of(ProblemKind::Taken, format!("{what} {name}"), "this name is already taken")
            })
            .collect()
    }

    /// Creates the formatters, in the order in which they are called.
    pub(super) fn formatters(&self) -> impl Iterator<Item = Box<dyn Formatter>> {
        self.formatters.iter().map(|make| make())
    }

    /// Creates the writer of this name, if there is one.
    pub(super) fn writer(&self, name: &str) -> Option<Box<dyn Writer>> {
        self.writers.iter().find(|(known, _)| known == name).map(|(_, make)| make())
    }

    /// The names of the writers. They are treated like writers of plain text.
    pub(super) fn writer_names(&self) -> impl Iterator<Item = WriterName> {
        self.writers.iter().map(|(name, _)| WriterName {
            name: name.clone(),
            base: "text".to_owned(),
            ending: "txt".to_owned(),
            is_log: false,
        })
    }

    /// Creates the decoders of the dialects.
    pub(super) fn dialects(&self) -> impl Iterator<Item = DialectPlugin> {
        self.dialects.iter().map(|(name, make)| DialectPlugin { name: name.as_str().into(), decoder: make() })
    }

    /// The names of the dialects.
    pub(super) fn dialect_names(&self) -> impl Iterator<Item = String> {
        self.dialects.iter().map(|(name, _)| name.clone())
    }

    /// Adds the themes to those that can be chosen.
    pub(super) fn add_themes(&self, themes: &mut Themes) {
        for (name, source) in &self.themes {
            themes.add_source(name, ThemeSource::new(format!("theme {name}"), source.as_str()));
        }
    }
}
