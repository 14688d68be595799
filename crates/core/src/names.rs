//! Lists of names, written as one text and separated by blanks.

use std::sync::OnceLock;

/// A list of names: options, types of lines, keywords of a language.
#[derive(Debug)]
pub struct Names {
    text: &'static str,
    /// The separate names, split at first use.
    all: OnceLock<Vec<&'static str>>,
}

impl Names {
    /// The names in a text.
    pub const fn of(text: &'static str) -> Self {
        Self { text, all: OnceLock::new() }
    }

    /// All names, in the order written.
    pub fn all(&self) -> &[&'static str] {
        self.all.get_or_init(|| self.text.split_whitespace().collect())
    }

    /// Whether `name` is one of them.
    pub fn has(&self, name: &str) -> bool {
        self.all().contains(&name)
    }

    /// The static name equal to `name`, if it is one of them. The list must be sorted.
    pub fn find(&self, name: &str) -> Option<&'static str> {
        debug_assert!(self.all().is_sorted(), "names that are searched");
        self.all().binary_search(&name).ok().map(|place| self.all()[place])
    }
}
