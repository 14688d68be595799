//! The output formats, and how each is made of the choices.

use std::fmt;
use std::sync::Arc;

use jiff::tz::TimeZone;
use streamfmt_core::profile::{Ci, Layout};
use streamfmt_core::theme::{Appearance, ColorDepth, Theme};
use streamfmt_core::writer::Writer;
use streamfmt_writers::cast::Cast;
use streamfmt_writers::ci::CiSafe;
use streamfmt_writers::html::Html;
use streamfmt_writers::json::Json;
use streamfmt_writers::log::Log;
use streamfmt_writers::markdown::Markdown;
use streamfmt_writers::page::{KeepPicture, PageOptions};
use streamfmt_writers::slack;
use streamfmt_writers::terminal::{LazyZone, Look, Paint, Terminal};

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
    /// The zone that times and the dates of sessions are shown in; UTC by default.
    pub zone: LazyZone,
    /// The CI service whose log it is.
    pub ci: Ci,
}

/// What lies behind the text.
#[derive(Clone)]
pub enum Background {
    /// It is known.
    Known(Appearance),
    /// It is found out by asking: at most once, and only if a theme needs to know.
    Ask(Arc<dyn Fn() -> Appearance + Send + Sync>),
}

impl Background {
    /// Which it is, by asking if need be.
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

/// An output format.
pub struct WriterRow {
    /// Its name, for `--to` and `writer = `.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// Whether a program reads it: nothing may stand between its lines.
    pub is_data: bool,
    /// Whether it is laid out as a page, not as lines.
    pub is_page: bool,
    /// The profile that is used where none is asked for and no settings name one.
    pub profile: &'static str,
    /// What the name of a file of it ends in.
    pub ending: &'static str,
    pub(crate) make: fn(&Format<'_>) -> FormatOutput,
}

impl WriterRow {
    /// Whether people read it. A recording is played to them.
    pub fn is_for_people(&self) -> bool {
        !self.is_data || self.name == "cast"
    }
}

/// All output formats.
pub static WRITERS: [WriterRow; 10] = [
    WriterRow {
        name: "text",
        about: "plain text",
        is_data: false,
        is_page: false,
        profile: "default",
        ending: "txt",
        make: |format| format.terminal(Paint::Plain),
    },
    WriterRow {
        name: "ansi",
        about: "text with colours",
        is_data: false,
        is_page: false,
        profile: "default",
        ending: "txt",
        make: |format| format.terminal(format.paint()),
    },
    WriterRow {
        name: "log",
        about: "one line an event, for the logs of CI services",
        is_data: false,
        is_page: false,
        profile: "default",
        ending: "log",
        make: |format| format.log(),
    },
    WriterRow {
        name: "markdown",
        about: "for pull requests, notes and chats",
        is_data: false,
        is_page: true,
        profile: "default",
        ending: "md",
        make: |format| format.logged(Markdown::new(format.page_options())),
    },
    WriterRow {
        name: "slack",
        about: "a message for Slack, in its mrkdwn",
        is_data: false,
        is_page: true,
        profile: "default",
        ending: "txt",
        make: |format| {
            let timestamps = format.timestamps.then(|| format.zone());
            format.logged(slack::message(PageOptions { timestamps, ..format.page_options() }))
        },
    },
    WriterRow {
        name: "html",
        about: "one page that needs nothing else, for browsers",
        is_data: false,
        is_page: true,
        // A page folds what is long, so nothing needs to be left out of it.
        profile: "page",
        ending: "html",
        // Its policy lets it show what is in it and nothing else, so it has its pictures within.
        make: |format| {
            let page_options =
                PageOptions { timestamps: Some(TimeZone::UTC), keep: None, ..format.page_options() };
            format.entries(Html::new(page_options))
        },
    },
    WriterRow {
        name: "cast",
        about: "a recording of a terminal, for the asciinema player",
        is_data: true,
        is_page: false,
        profile: "default",
        ending: "cast",
        make: |format| format.cast(),
    },
    WriterRow {
        name: "json",
        about: "what is said: entries, one object a line",
        is_data: true,
        is_page: false,
        profile: "default",
        ending: "ndjson",
        make: |format| format.entries(Json),
    },
    WriterRow {
        name: "items",
        about: "what is: typed items, one object a line",
        is_data: true,
        is_page: false,
        profile: "default",
        ending: "ndjson",
        make: |_| FormatOutput::Items,
    },
    WriterRow {
        name: "roles",
        about: "text with its roles marked, for tests",
        is_data: false,
        is_page: false,
        profile: "default",
        ending: "txt",
        make: |format| format.terminal(Paint::Roles),
    },
];

/// What an output format is made of.
pub(crate) enum FormatOutput {
    /// It spells entries.
    Writer(Box<dyn Writer>),
    /// It is the items themselves.
    Items,
}

/// The choices that an output format is made of.
pub(crate) struct Format<'a> {
    /// How entries lie on the page.
    pub(crate) layout: &'a Layout,
    /// Whether Markdown is laid out.
    pub(crate) markdown: bool,
    /// Whether times are shown.
    pub(crate) timestamps: bool,
    /// What the place of the output can show.
    pub(crate) looks: &'a Looks,
    /// The colours.
    pub(crate) theme: Option<&'a Theme>,
    /// Where pictures are kept.
    pub(crate) keep: Option<&'a KeepPicture>,
}

impl Format<'_> {
    fn terminal(&self, paint: Paint) -> FormatOutput {
        self.logged(self.drawn(paint, self.looks.width))
    }

    /// Rows as the CI service wants them whose log they are for, if they are.
    fn logged(&self, rows: impl Writer + 'static) -> FormatOutput {
        match self.layout.ci {
            Ci::None => self.entries(rows),
            _ => self.entries(CiSafe::new(Box::new(rows))),
        }
    }

    /// Rows that each stand alone: without gaps, margins and colours.
    fn log(&self) -> FormatOutput {
        // Tags alone are in column 0, in whatever rows a line is broken into.
        let look = Look { markdown: false, hang: 2, ..self.look(Paint::Plain, self.looks.width) };
        let layout = Layout { gap: 0, margin: 0, ..look.layout };
        let ci = layout.ci;
        self.entries(Log::new(Terminal::new(Look { layout, ..look }), ci))
    }

    /// A recording has a terminal of its own, with all colours.
    fn cast(&self) -> FormatOutput {
        let width = self.looks.width.unwrap_or(80);
        let theme = self.theme.cloned().unwrap_or_default();
        let paint = Paint::Ansi { theme: theme.clone(), depth: ColorDepth::TrueColor, hyperlinks: false };
        self.entries(Cast::new(self.drawn(paint, Some(width)), &theme, width, 24))
    }

    fn drawn(&self, paint: Paint, width: Option<usize>) -> Terminal {
        Terminal::new(self.look(paint, width))
    }

    fn look(&self, paint: Paint, width: Option<usize>) -> Look {
        let is_ansi = matches!(paint, Paint::Ansi { .. });
        Look {
            paint,
            width,
            layout: self.layout.clone(),
            // Text is for files and pipes: Markdown stays what it is there.
            markdown: self.markdown && is_ansi,
            timestamps: self.timestamps.then(|| self.zone()),
            dates: (!self.layout.bare).then(|| self.looks.zone.clone()),
            hang: 0,
            text_end: None,
        }
    }

    fn page_options(&self) -> PageOptions {
        PageOptions {
            fold: self.layout.fold,
            // Pages are read anywhere.
            timestamps: self.timestamps.then_some(TimeZone::UTC),
            keep: self.keep.cloned(),
        }
    }

    fn zone(&self) -> TimeZone {
        self.looks.zone.get().clone()
    }

    #[expect(clippy::unused_self, reason = "the rows of the table read alike")]
    fn entries(&self, writer: impl Writer + 'static) -> FormatOutput {
        FormatOutput::Writer(Box::new(writer))
    }

    fn paint(&self) -> Paint {
        match (self.theme, self.looks.color) {
            (Some(theme), Some(depth)) => {
                Paint::Ansi { theme: theme.clone(), depth, hyperlinks: self.looks.links }
            }
            _ => Paint::Plain,
        }
    }
}
