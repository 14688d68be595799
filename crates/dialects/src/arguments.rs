//! Helpers for the command lines of agents.

/// Returns the arguments before `--`: only these can be options.
pub(crate) fn before_dashes<'a>(arguments: &'a [&'a str]) -> &'a [&'a str] {
    let end = arguments.iter().position(|argument| *argument == "--");
    &arguments[..end.unwrap_or(arguments.len())]
}

/// Whether the arguments contain an option, with or without a value after `=`.
pub(crate) fn has(arguments: &[&str], option: &str) -> bool {
    arguments.iter().any(|argument| argument.split('=').next() == Some(option))
}

/// Copies the arguments.
pub(crate) fn owned(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(|argument| (*argument).to_owned()).collect()
}
