//! The syntax errors of a TOML file, without those that only follow from an earlier one.
//!
//! The parser recovers from an error and goes on. After a missing `]` it takes everything that follows for elements
//! of the array, and reports each of them. Only the first of these helps.

use std::ops::Range;

use toml::de::{DeTable, DeValue, Error};

/// Errors of one file, in its order.
#[derive(Debug, Default)]
pub struct SyntaxErrors {
    /// Where each is and what is wrong, in one line; at most one for a line of the file.
    pub errors: Vec<(Range<usize>, String)>,
}

impl SyntaxErrors {
    /// Parses a file as far as possible.
    pub fn parse(source: &str) -> (DeTable<'_>, Self) {
        let (table, errors) = DeTable::parse_recoverable(source);
        (table.into_inner(), Self::of(source, &errors))
    }

    fn of(source: &str, errors: &[Error]) -> Self {
        let mut errors: Vec<(Range<usize>, String)> = errors
            .iter()
            .map(|error| (error.span().unwrap_or(0..0), error.message().replace('\n', ", ")))
            .collect();
        errors.sort_by_key(|(span, _)| span.start);
        let unclosed = errors.iter().position(|(_, message)| message.starts_with("unclosed array"));
        if let Some(unclosed) = unclosed {
            // It is noticed late, often at the end of the file: the bracket is missing where the first error is.
            let message = errors[unclosed].1.clone();
            errors[0].1 = message;
            errors.truncate(1);
        }
        let (mut line, mut end) = (0, 0);
        let mut line_of = |at: usize| {
            line += memchr::memchr_iter(b'\n', &source.as_bytes()[end..at]).count();
            end = at;
            line
        };
        let mut last = None;
        errors.retain(|(span, _)| {
            let line = line_of(span.start.min(source.len()));
            last.replace(line) != Some(line)
        });
        Self { errors }
    }

    /// Whether a value can't be relied on, since there is an error in it or at its end.
    pub fn spoil(&self, value: &DeValue<'_>, span: &Range<usize>) -> bool {
        // A table holds other values, which are looked at one by one.
        let next = self.errors.partition_point(|(at, _)| at.start < span.start);
        !value.is_table() && self.errors.get(next).is_some_and(|(at, _)| at.start <= span.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(source: &str) -> Vec<String> {
        let (_, errors) = SyntaxErrors::parse(source);
        errors.errors.into_iter().map(|(span, message)| format!("{}: {message}", span.start)).collect()
    }

    #[test]
    fn a_missing_bracket_is_one_error_where_it_is_missing() {
        assert_eq!(told("a = [\"x\", \"y\"\nb = 1\n[c]\nd = []\n"), ["14: unclosed array, expected `]`"]);
        assert_eq!(told("a = [1, 2"), ["9: unclosed array, expected `]`"]);
    }

    #[test]
    fn errors_in_several_lines_are_all_reported() {
        assert_eq!(told("a =\nb = 1\nc = d\n").len(), 2);
        assert_eq!(told("a = 1\n"), [""; 0]);
    }

    #[test]
    fn a_value_with_an_error_in_it_is_spoiled() {
        let (table, errors) = SyntaxErrors::parse("a = [1\nb = \"x\"\n");
        let (_, value) = table.iter().next().unwrap();
        assert!(errors.spoil(value.get_ref(), &value.span()));
    }
}
