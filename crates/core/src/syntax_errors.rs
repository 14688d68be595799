//! The syntax errors of a TOML file, without those that are only a consequence of an earlier one.
//!
//! The parser recovers from an error and continues. After a missing `]` it takes everything up to the end for elements
//! of the array, and reports each of them. Only the first of these errors is useful.

use std::ops::Range;

use toml::de::{DeTable, DeValue, Error};

/// The errors of one file, in order.
#[derive(Debug, Default)]
pub struct SyntaxErrors {
    /// The span and the one-line message of each; at most one per line of the file.
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
            // The parser notices it late, often at the end of the file: the bracket is missing at the first error.
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

    /// Whether a value is unreliable because there is an error in it or at its end.
    pub fn spoil(&self, value: &DeValue<'_>, span: &Range<usize>) -> bool {
        // A table contains other values, which are checked one by one.
        let next = self.errors.partition_point(|(at, _)| at.start < span.start);
        !value.is_table() && self.errors.get(next).is_some_and(|(at, _)| at.start <= span.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(source: &str) -> Vec<String> {
        let (_, errors) = SyntaxErrors::parse(source);
        errors.errors.into_iter().map(|(span, message)| format!("{}: {message}", span.start)).collect()
    }

    #[test]
    fn a_missing_bracket_is_one_error_where_it_is_missing() {
        assert_eq!(messages("a = [\"x\", \"y\"\nb = 1\n[c]\nd = []\n"), ["14: unclosed array, expected `]`"]);
        assert_eq!(messages("a = [1, 2"), ["9: unclosed array, expected `]`"]);
    }

    #[test]
    fn errors_in_several_lines_are_all_reported() {
        assert_eq!(messages("a =\nb = 1\nc = d\n").len(), 2);
        assert_eq!(messages("a = 1\n"), [""; 0]);
    }

    #[test]
    fn a_value_with_an_error_in_it_is_spoiled() {
        let (table, errors) = SyntaxErrors::parse("a = [1\nb = \"x\"\n");
        let (_, value) = table.iter().next().unwrap();
        assert!(errors.spoil(value.get_ref(), &value.span()));
    }
}
