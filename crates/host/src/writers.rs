//! The output formats, and how their writers are created from the choices.

use std::fmt;
use std::sync::Arc;

use jiff::tz::TimeZone;
use streamfmt_core::profile::{Ci, Layout};
use streamfmt_core::theme::{Appearance, ColorDepth, Theme};
use streamfmt_core::writer::Writer;
use streamfmt_writers::atif::Atif;
use streamfmt_writers::cast::Cast;
use streamfmt_writers::ci::CiSafe;
use streamfmt_writers::html::{Html, IndexedPage};
use streamfmt_writers::json::Json;
use streamfmt_writers::log::Log;
use streamfmt_writers::markdown::Markdown;
use streamfmt_writers::page::{KeepPicture, PageOptions};
use streamfmt_writers::slack;
use streamfmt_writers::terminal::{LazyZone, Look, Paint, Terminal};

/// The capabilities of the output's destination. The default is a file: no colour, no wrapping.
#[derive(Clone, Debug, Default)]
pub struct OutputCapabilities {
    /// The colours to use, if it supports colours and they are wanted.
    pub color: Option<ColorDepth>,
    /// Whether to use colours if possible, even if the profile's writer has none.
    pub force_color: bool,
    /// The column at which rows are wrapped.
    pub width: Option<usize>,
    /// Whether the width was requested explicitly, so that it overrides a profile's.
    pub is_width_fixed: bool,
    /// Whether it supports links.
    pub links: bool,
    /// The background of the text.
    pub background: Background,
    /// The time zone of times and dates; UTC by default.
    pub zone: LazyZone,
    /// The CI service, if it is the log of one.
    pub ci: Ci,
}

/// The background of the text.
#[derive(Clone)]
pub enum Background {
    /// A known background.
    Known(Appearance),
    /// A function that determines it. It is called at most once, and only if a theme depends on it.
    Ask(Arc<dyn Fn() -> Appearance + Send + Sync>),
}

impl Background {
    /// Determines the background, if necessary by calling the function.
    pub fn find(&self) -> Appearance {
        match self {
            Self::Known(appearance) => *appearance,
            Self::Ask(ask) => ask(),
        }
    }
}

impl Default for Background {
    fn default() -> Self {
        Self::Known(Appearance::Dark)
    }
}

impl fmt::Debug for Background {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(appearance) => f.debug_tuple("Known").field(appearance).finish(),
            Self::Ask(_) => f.write_str("Ask"),
        }
    }
}

/// An output format and its properties.
#[expect(clippy::struct_excessive_bools, reason = "each holds or not, by itself")]
#[derive(Clone, Copy)]
pub struct WriterRow {
    /// Its name, for `--to` and `writer = `.
    pub name: &'static str,
    /// A short description.
    pub about: &'static str,
    /// Whether it is read by programs: nothing else may be written between its lines.
    pub is_data: bool,
    /// Whether it is a page instead of lines.
    pub is_page: bool,
    /// Whether the output is one document, which needs one writer from beginning to end.
    pub is_document: bool,
    /// Whether it begins with a head that is known last ([`HeadWriter`](streamfmt_core::writer::HeadWriter)).
    pub has_head: bool,
    /// Whether a plugin's writer can extend it.
    pub is_base: bool,
    /// The profile to use if none is requested and no settings name one.
    pub profile: &'static str,
    /// The extension of its files.
    pub ending: &'static str,
    /// The file extensions that select it if no format is named.
    pub chosen_by: &'static [&'static str],
    /// Its colours.
    pub colors: WriterColors,
    /// The same format with or without colours, which replaces it if that suits the destination better.
    pub counterpart: Option<&'static str>,
    /// The format whose output it repeats with marked roles.
    pub marks: Option<&'static str>,
    /// How it shows items that are still being written.
    pub live: LiveForm,
    /// Its treatment of commands in the log of a CI service.
    pub ci: CiUse,
    /// The place of pictures.
    pub pictures: PicturePlace,
    /// The properties of a folder of its pages, if it can be written to one.
    pub folder: Option<PageFolder>,
    /// Creates the writer. `None`: the output is the items themselves.
    pub(crate) make: Option<MakeWriter>,
}

/// Creates a writer from the choices.
pub(crate) type MakeWriter = fn(&Format<'_>) -> Box<dyn Writer>;

/// The colours of an output format.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum WriterColors {
    /// No colours.
    None,
    /// The terminal's colours, as escape sequences.
    Terminal,
    /// All colours, regardless of the terminal.
    Recorded,
}

/// How an output format shows items that are still being written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum LiveForm {
    /// Not at all.
    Never,
    /// As rows, which are repainted.
    Rows,
    /// As updates.
    Updates,
}

/// The treatment of CI commands by an output format.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CiUse {
    /// The output is never changed.
    Ignored,
    /// Foreign commands are neutralized.
    Escaped,
    /// Foreign commands are neutralized, and own commands are written.
    Commands,
}

/// The place of pictures in an output format.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PicturePlace {
    /// Nowhere.
    None,
    /// In separate files.
    Files,
    /// In the output itself.
    Within,
}

/// A folder with a page for each input.
#[derive(Clone, Copy)]
pub struct PageFolder {
    /// Creates the page that links to the others.
    pub index: fn(&[IndexedPage]) -> String,
    /// Whether several inputs require a folder, since a page can contain only one.
    pub is_needed: bool,
}

impl WriterRow {
    /// Whether it is read by people. A recording is played to people.
    pub fn is_for_people(&self) -> bool {
        !self.is_data || self.colors == WriterColors::Recorded
    }

    /// Whether its text has escape sequences if the terminal has colours.
    pub fn has_escapes(&self) -> bool {
        self.colors == WriterColors::Terminal
    }

    /// Whether it is the items themselves, each written when it is complete.
    pub fn is_items(&self) -> bool {
        self.make.is_none()
    }
}

/// The output format of this name.
pub fn find(name: &str) -> Option<&'static WriterRow> {
    WRITERS.iter().find(|row| row.name == name)
}

/// The properties of lines of text, from which the other rows differ.
const LINES: WriterRow = WriterRow {
    name: "",
    about: "",
    is_data: false,
    is_page: false,
    is_document: false,
    has_head: false,
    is_base: false,
    profile: "default",
    ending: "txt",
    chosen_by: &[],
    colors: WriterColors::None,
    counterpart: None,
    marks: None,
    live: LiveForm::Never,
    ci: CiUse::Escaped,
    pictures: PicturePlace::None,
    folder: None,
    make: None,
};

/// The properties of a page.
const PAGE: WriterRow = WriterRow { is_page: true, is_document: true, ..LINES };

/// The properties of data with one object per line.
const DATA: WriterRow = WriterRow { is_data: true, ending: "ndjson", ci: CiUse::Ignored, ..LINES };

/// All output formats.
pub static WRITERS: [WriterRow; 11] = [
    WriterRow {
        name: "text",
        about: "plain text",
        is_base: true,
        counterpart: Some("ansi"),
        live: LiveForm::Rows,
        make: Some(|format| format.terminal(Paint::Plain)),
        ..LINES
    },
    WriterRow {
        name: "ansi",
        about: "text with colours",
        colors: WriterColors::Terminal,
        counterpart: Some("text"),
        live: LiveForm::Rows,
        make: Some(|format| format.terminal(format.paint())),
        ..LINES
    },
    WriterRow {
        name: "log",
        about: "one line an event, for the logs of CI services",
        is_document: true,
        ending: "log",
        ci: CiUse::Commands,
        make: Some(|format| format.log()),
        ..LINES
    },
    WriterRow {
        name: "markdown",
        about: "for pull requests, notes and chats",
        has_head: true,
        is_base: true,
        ending: "md",
        chosen_by: &["md", "markdown"],
        pictures: PicturePlace::Files,
        folder: Some(PageFolder { index: Markdown::index, is_needed: false }),
        make: Some(|format| format.logged(Markdown::new(format.page_options()))),
        ..PAGE
    },
    WriterRow {
        name: "slack",
        about: "a message for Slack, in its mrkdwn",
        make: Some(|format| {
            let timestamps = format.timestamps.then(|| format.zone());
            format.logged(slack::message(PageOptions { timestamps, ..format.page_options() }))
        }),
        ..PAGE
    },
    WriterRow {
        name: "html",
        about: "one page that needs nothing else, for browsers",
        has_head: true,
        // A page folds what is long, so nothing needs to be left out of it.
        profile: "page",
        ending: "html",
        chosen_by: &["html", "htm"],
        ci: CiUse::Ignored,
        // Its security policy allows only embedded content.
        pictures: PicturePlace::Within,
        folder: Some(PageFolder { index: Html::index, is_needed: true }),
        make: Some(|format| {
            let timestamps = Some(TimeZone::UTC);
            Box::new(Html::new(PageOptions { timestamps, keep: None, ..format.page_options() }))
        }),
        ..PAGE
    },
    WriterRow {
        name: "cast",
        about: "a recording of a terminal, for the asciinema player",
        is_document: true,
        ending: "cast",
        chosen_by: &["cast"],
        colors: WriterColors::Recorded,
        make: Some(|format| format.cast()),
        ..DATA
    },
    WriterRow {
        name: "json",
        about: "what is said: entries, one object a line",
        chosen_by: &["json", "jsonl", "ndjson"],
        live: LiveForm::Updates,
        make: Some(|_| Box::new(Json)),
        ..DATA
    },
    WriterRow {
        name: "items",
        about: "what is: typed items, one object a line",
        // It has no writer: the items are written directly.
        make: None,
        ..DATA
    },
    WriterRow {
        name: "atif",
        about: "a trajectory, for programs that evaluate agents",
        is_document: true,
        ending: "json",
        make: Some(|_| Box::new(Atif::default())),
        ..DATA
    },
    WriterRow {
        name: "roles",
        about: "text with its roles marked, for tests",
        is_base: true,
        marks: Some("text"),
        make: Some(|format| format.terminal(Paint::Roles)),
        ..LINES
    },
];

/// The choices that determine a writer.
pub(crate) struct Format<'a> {
    /// The layout of entries.
    pub(crate) layout: &'a Layout,
    /// Whether Markdown is rendered.
    pub(crate) markdown: bool,
    /// Whether times are shown.
    pub(crate) timestamps: bool,
    /// The capabilities of the destination.
    pub(crate) capabilities: &'a OutputCapabilities,
    /// The colours.
    pub(crate) theme: Option<&'a Theme>,
    /// Saves pictures, if they aren't embedded.
    pub(crate) keep: Option<&'a KeepPicture>,
}

impl Format<'_> {
    fn terminal(&self, paint: Paint) -> Box<dyn Writer> {
        self.logged(Terminal::new(self.look(paint, self.capabilities.width)))
    }

    /// Makes rows safe for the log of a CI service, if they are for one.
    fn logged(&self, rows: impl Writer + 'static) -> Box<dyn Writer> {
        match self.layout.ci {
            Ci::None => Box::new(rows),
            _ => Box::new(CiSafe::new(Box::new(rows))),
        }
    }

    /// Self-contained rows: without gaps, margins and colours.
    fn log(&self) -> Box<dyn Writer> {
        // Only tags begin in column 0, even if a line is wrapped.
        let look = Look { markdown: false, hang: 2, ..self.look(Paint::Plain, self.capabilities.width) };
        let layout = Layout { gap: 0, margin: 0, ..look.layout };
        let ci = layout.ci;
        Box::new(Log::new(Terminal::new(Look { layout, ..look }), ci))
    }

    /// Creates a recording, which has its own terminal with all colours.
    fn cast(&self) -> Box<dyn Writer> {
        let width = self.capabilities.width.unwrap_or(80);
        let theme = self.theme.cloned().unwrap_or_default();
        let paint = Paint::Ansi { theme: theme.clone(), depth: ColorDepth::TrueColor, hyperlinks: false };
        Box::new(Cast::new(Terminal::new(self.look(paint, Some(width))), &theme, width, 24))
    }

    fn look(&self, paint: Paint, width: Option<usize>) -> Look {
        let is_ansi = matches!(paint, Paint::Ansi { .. });
        Look {
            paint,
            width,
            layout: self.layout.clone(),
            // Text is for files and pipes, so Markdown is left as source.
            markdown: self.markdown && is_ansi,
            timestamps: self.timestamps.then(|| self.zone()),
            dates: (!self.layout.bare).then(|| self.capabilities.zone.clone()),
            hang: 0,
            text_end: None,
        }
    }

    fn page_options(&self) -> PageOptions {
        PageOptions {
            fold: self.layout.fold,
            // Pages are read in any time zone.
            timestamps: self.timestamps.then_some(TimeZone::UTC),
            keep: self.keep.cloned(),
        }
    }

    fn zone(&self) -> TimeZone {
        self.capabilities.zone.get().clone()
    }

    fn paint(&self) -> Paint {
        match (self.theme, self.capabilities.color) {
            (Some(theme), Some(depth)) => {
                Paint::Ansi { theme: theme.clone(), depth, hyperlinks: self.capabilities.links }
            }
            _ => Paint::Plain,
        }
    }
}
