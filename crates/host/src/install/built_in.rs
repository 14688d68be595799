//! A built-in plugin as a `PluginTree`, the form that installed ones have; the list is in `plugin/built_in.rs`.

use super::tree::PluginTree;

pub use crate::plugin::built_in::BUILT_IN;

/// The files of the built-in plugin `name`.
pub(super) fn tree(name: &str) -> Option<PluginTree> {
    let (_, files) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    let file = |(path, text): &(&str, &str)| ((*path).to_owned(), text.as_bytes().into());
    Some(PluginTree { files: files.iter().map(file).collect() })
}
