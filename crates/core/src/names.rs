//! Names that are written as one text, with blanks between them.

use std::sync::OnceLock;

/// Names of one kind: options, types of lines, keywords of a language.
#[derive(Debug)]
pub struct Names {
    text: &'static str,
    /// They are parted when they are first needed.
    all: OnceLock<Vec<&'static str>>,
}

impl Names {
    /// The names in a text.
    pub const fn of(text: &'static str) -> Self {
        Self { text, all: OnceLock::new() }
    }

    /// All of them, in the order written.
    pub fn all(&self) -> &[&'static str] {
        self.all.get_or_init(|| self.text.split_whitespace().collect())
    }

    /// Whether this is one of them.
    pub fn has(&self, name: &str) -> bool {
        self.all().contains(&name)
    }

    /// The name that equals this one, if it is one of them. They must be sorted.
    pub fn find(&self, name: &str) -> Option<&'static str> {
        debug_assert!(self.all().is_sorted(), "names that are searched");
        self.all().binary_search(&name).ok().map(|place| self.all()[place])
    }
}
