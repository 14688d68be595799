//! The keys of a profile, in one table.
//!
//! The reader of profile files, `--set`, their messages and the reference in the documentation all
//! come from [`KEYS`]: a new key is a row here.

use streamfmt_core::profile::{Detail, Glyphs, Keep, Selector};

use crate::engine::WRITERS;
use crate::problem::suggestion;
use crate::profile::Settings;

/// A key that a profile may set.
pub struct Key {
    /// Its full name: `limits.result-lines`.
    pub name: &'static str,
    /// What it is for, in a few words.
    pub about: &'static str,
    /// Which values it takes, and where they go.
    pub form: Form,
}

/// A word with what it sets.
pub type Word = (&'static str, fn(&mut Settings));

/// Which values a key takes, and where they go.
pub enum Form {
    /// One of these words.
    Word(&'static [Word]),
    /// The name of a writer.
    Writer(fn(&mut Settings, &'static str)),
    /// Any name.
    Name(fn(&mut Settings, String)),
    /// `true` or `false`.
    Flag(fn(&mut Settings, bool)),
    /// A whole number up to the given one.
    Number(usize, fn(&mut Settings, usize)),
    /// A number of lines, or `none`.
    Lines(fn(&mut Settings, Option<usize>)),
    /// A number of bytes (`8192`, `8KiB`), or `none`.
    Size(fn(&mut Settings, Option<usize>)),
    /// A list of names.
    List(fn(&mut Settings, Vec<String>)),
}

/// A value as it was given: a value of a file, or the text after `=` of an option.
pub enum Given<'a> {
    /// A string of a file.
    Text(&'a str),
    /// A whole number.
    Number(i64),
    /// True or false.
    Flag(bool),
    /// An array of strings.
    List(Vec<String>),
    /// Anything else, by what it is.
    Other(&'static str),
    /// The text of an option: its form decides what it means.
    Bare(&'a str),
}

/// All keys, in the order in which they are documented.
pub static KEYS: &[Key] = &[
    Key {
        name: "extends",
        about: "profiles that this one builds on, from left to right; \"none\" leaves out the default below",
        // The loader has read these before anything else of the file.
        form: Form::List(|_, _| {}),
    },
    Key { name: "writer", about: "the output format", form: Form::Writer(|s, name| s.writer = Some(name)) },
    Key {
        name: "theme",
        about: "the looks on a terminal; \"auto\" is dark or light by the terminal",
        form: Form::Name(|s, name| s.theme = name),
    },
    Key {
        name: "detail",
        about: "how much is said",
        form: Form::Word(&[
            ("compact", |s| s.profile.detail = Detail::Compact),
            ("full", |s| s.profile.detail = Detail::Full),
            ("lines", |s| s.profile.detail = Detail::Lines),
        ]),
    },
    Key {
        name: "only",
        about: "show only these: kinds, tools, globs of tools, @actions, \"failed\"",
        form: Form::List(|s, list| s.profile.filter.only = selectors(&list)),
    },
    Key {
        name: "hide",
        about: "don't show these: kinds, tools, globs of tools, @actions, \"failed\"",
        form: Form::List(|s, list| s.profile.filter.hide = selectors(&list)),
    },
    Key {
        name: "markdown",
        about: "lay out the Markdown of replies instead of showing its source",
        form: Form::Flag(|s, on| s.markdown = on),
    },
    Key {
        name: "timestamps",
        about: "show when things happened",
        form: Form::Flag(|s, on| s.timestamps = on),
    },
    Key {
        name: "limits.result-lines",
        about: "lines of a result that went well",
        form: Form::Lines(|s, limit| s.profile.limits.result_lines = limit),
    },
    Key {
        name: "limits.result-bytes",
        about: "bytes of a result",
        form: Form::Size(|s, limit| s.profile.limits.result_bytes = limit),
    },
    Key {
        name: "limits.error-lines",
        about: "lines of a result that failed",
        form: Form::Lines(|s, limit| s.profile.limits.error_lines = limit),
    },
    Key {
        name: "limits.diff-lines",
        about: "lines of a diff",
        form: Form::Lines(|s, limit| s.profile.limits.diff_lines = limit),
    },
    Key {
        name: "limits.call-lines",
        about: "lines of a call's command or input",
        form: Form::Lines(|s, limit| s.profile.limits.call_lines = limit),
    },
    Key {
        name: "limits.prompt-lines",
        about: "lines of a prompt",
        form: Form::Lines(|s, limit| s.profile.limits.prompt_lines = limit),
    },
    Key {
        name: "limits.thinking-lines",
        about: "lines of thinking",
        form: Form::Lines(|s, limit| s.profile.limits.thinking_lines = limit),
    },
    Key {
        name: "limits.notice-lines",
        about: "lines of a notice",
        form: Form::Lines(|s, limit| s.profile.limits.notice_lines = limit),
    },
    Key {
        name: "limits.line",
        about: "bytes of a line of the input; a longer one is told, not read",
        form: Form::Size(|s, limit| s.max_line = limit.unwrap_or(LONGEST_LINE).min(LONGEST_LINE)),
    },
    Key {
        name: "limits.keep",
        about: "which end of a long result is kept",
        form: Form::Word(&[
            ("head", |s| s.profile.limits.keep = Keep::Head),
            ("tail", |s| s.profile.limits.keep = Keep::Tail),
            ("head-tail", |s| s.profile.limits.keep = Keep::HeadTail),
        ]),
    },
    Key {
        name: "layout.gap",
        about: "blank lines between entries that don't belong together",
        form: Form::Number(10, |s, lines| s.profile.layout.gap = lines),
    },
    Key {
        name: "layout.margin",
        about: "columns before all foreign text",
        form: Form::Number(40, |s, columns| s.profile.layout.margin = columns),
    },
    Key {
        name: "layout.fold",
        about: "results longer than so many lines are folded, in Markdown and HTML",
        form: Form::Lines(|s, lines| s.profile.layout.fold = lines),
    },
    Key {
        name: "layout.glyphs",
        about: "the characters of marks: Unicode, ASCII, words for screen readers, or the icons of a Nerd Font",
        form: Form::Word(&[
            ("unicode", |s| s.profile.layout.glyphs = Glyphs::Unicode),
            ("ascii", |s| s.profile.layout.glyphs = Glyphs::Ascii),
            ("words", |s| s.profile.layout.glyphs = Glyphs::Words),
            ("nerd", |s| s.profile.layout.glyphs = Glyphs::Nerd),
        ]),
    },
    Key {
        name: "layout.bare",
        about: "write what is said as it is: blanks included, without bars and without naming calls",
        form: Form::Flag(|s, on| s.profile.layout.bare = on),
    },
    Key {
        name: "redact.secrets",
        about: "mask tokens, keys and passwords in whatever is written",
        form: Form::Flag(|s, on| s.profile.redaction.secrets = on),
    },
    Key {
        name: "redact.emails",
        about: "mask e-mail addresses",
        form: Form::Flag(|s, on| s.profile.redaction.emails = on),
    },
    Key {
        name: "redact.home",
        about: "write ~ for home folders",
        form: Form::Flag(|s, on| s.profile.redaction.home = on),
    },
];

/// No line of the input may be longer than this, whatever a profile says: a record counts in 32 bits.
const LONGEST_LINE: usize = 1 << 30;

impl Key {
    /// The key of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name)
    }

    /// Whether `name` is a table that keys stand in: `limits`.
    pub fn is_group(name: &str) -> bool {
        KEYS.iter().any(|key| key.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
    }

    /// Sets this key, or says what is wrong with the value.
    pub fn set(&self, settings: &mut Settings, given: &Given<'_>) -> Result<(), String> {
        match &self.form {
            Form::Word(words) => {
                let word = given.text().ok_or_else(|| self.wants(given))?;
                let (_, set) = words
                    .iter()
                    .find(|(name, _)| *name == word)
                    .ok_or_else(|| self.unknown(word, words.iter().map(|(name, _)| *name)))?;
                set(settings);
            }
            Form::Writer(set) => {
                let name = given.text().ok_or_else(|| self.wants(given))?;
                let row = WRITERS
                    .iter()
                    .find(|row| row.name == name)
                    .ok_or_else(|| self.unknown(name, WRITERS.iter().map(|row| row.name)))?;
                set(settings, row.name);
            }
            Form::Name(set) => set(settings, given.text().ok_or_else(|| self.wants(given))?.to_owned()),
            Form::Flag(set) => set(settings, given.flag().ok_or_else(|| self.wants(given))?),
            Form::Number(most, set) => {
                let number =
                    given.number().filter(|number| number <= most).ok_or_else(|| self.wants(given))?;
                set(settings, number);
            }
            Form::Lines(set) if given.text() == Some("none") => set(settings, None),
            Form::Lines(set) => set(settings, Some(given.number().ok_or_else(|| self.wants(given))?)),
            Form::Size(set) if given.text() == Some("none") => set(settings, None),
            Form::Size(set) => set(settings, Some(given.size().ok_or_else(|| self.wants(given))?)),
            Form::List(set) => set(settings, given.list().ok_or_else(|| self.wants(given))?),
        }
        Ok(())
    }

    fn unknown<'a>(&self, word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
        format!("{} can't be \"{word}\" {}", self.name, suggestion(word, names))
    }

    fn wants(&self, given: &Given<'_>) -> String {
        format!("{} must be {}, not {}", self.name, self.form.describe(), given.describe())
    }
}

impl Form {
    /// The values it takes, for documentation and messages.
    pub fn describe(&self) -> String {
        match self {
            Self::Word(words) => words.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" | "),
            Self::Writer(_) => WRITERS.iter().map(|row| row.name).collect::<Vec<_>>().join(" | "),
            Self::Name(_) => "a name".to_owned(),
            Self::Flag(_) => "true or false".to_owned(),
            Self::Number(most, _) => format!("a number from 0 to {most}"),
            Self::Lines(_) => "a number of lines, or \"none\"".to_owned(),
            Self::Size(_) => "a number of bytes (\"8KiB\"), or \"none\"".to_owned(),
            Self::List(_) => "a list of names".to_owned(),
        }
    }
}

impl<'a> Given<'a> {
    fn text(&self) -> Option<&'a str> {
        match self {
            Self::Text(text) | Self::Bare(text) => Some(text),
            _ => None,
        }
    }

    fn flag(&self) -> Option<bool> {
        match self {
            Self::Flag(flag) => Some(*flag),
            Self::Bare(text) => text.parse().ok(),
            _ => None,
        }
    }

    fn number(&self) -> Option<usize> {
        match self {
            Self::Number(number) => usize::try_from(*number).ok(),
            Self::Bare(text) => text.parse().ok(),
            _ => None,
        }
    }

    fn size(&self) -> Option<usize> {
        match self {
            Self::Text(text) | Self::Bare(text) => parse_size(text),
            _ => self.number(),
        }
    }

    pub(crate) fn list(&self) -> Option<Vec<String>> {
        match self {
            Self::List(list) => Some(list.clone()),
            Self::Bare(text) => Some(split_list(text)),
            _ => None,
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Text(text) | Self::Bare(text) => format!("\"{text}\""),
            Self::Number(number) => number.to_string(),
            Self::Flag(flag) => flag.to_string(),
            Self::List(_) => "a list".to_owned(),
            Self::Other(what) => (*what).to_owned(),
        }
    }
}

/// The parts of a list that stands in an option: `Bash,@edit`.
pub fn split_list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

fn selectors(list: &[String]) -> Vec<Selector> {
    list.iter().map(|text| Selector::parse(text)).collect()
}

/// A number of bytes with or without a unit: `512`, `8KiB`, `2MB`.
fn parse_size(text: &str) -> Option<usize> {
    let digits = text.find(|ch: char| !ch.is_ascii_digit()).unwrap_or(text.len());
    let number: usize = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim() {
        "" | "B" => 1,
        "KB" | "kB" => 1_000,
        "KiB" | "K" => 1 << 10,
        "MB" => 1_000_000,
        "MiB" | "M" => 1 << 20,
        "GiB" | "G" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, size) in
            [("8192", Some(8192)), ("8KiB", Some(8192)), ("2 MB", Some(2_000_000)), ("x", None), ("8X", None)]
        {
            assert_eq!(parse_size(text), size, "{text}");
        }
        assert_eq!(parse_size("99999999999999999999GiB"), None);
    }

    #[test]
    fn each_key_is_documented_and_found_by_its_name() {
        for key in KEYS {
            assert!(!key.about.is_empty() && !key.form.describe().is_empty());
            assert_eq!(Key::find(key.name).map(|found| found.name), Some(key.name), "two keys {}", key.name);
        }
        assert!(Key::is_group("limits") && !Key::is_group("limits.keep") && !Key::is_group("lim"));
    }
}
