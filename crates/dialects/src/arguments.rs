//! Arguments of command lines, as far as launching agents needs them.

/// The arguments before `--`: those that may be options.
pub(crate) fn before_dashes<'a>(arguments: &'a [&'a str]) -> &'a [&'a str] {
    let end = arguments.iter().position(|argument| *argument == "--");
    &arguments[..end.unwrap_or(arguments.len())]
}

/// Whether an option is among the arguments, with or without a value behind `=`.
pub(crate) fn has(arguments: &[&str], option: &str) -> bool {
    arguments.iter().any(|argument| argument.split('=').next() == Some(option))
}

/// Arguments as they are handed on.
pub(crate) fn owned(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(|argument| (*argument).to_owned()).collect()
}
