//! Plugins that are shared libraries: how items cross to them, what comes back, and the formatters made of them.
//!
//! ```text
//! an item that a plugin is for ─▶ NativeLayer ─▶ format(instance, item, sink) ─▶ a view, hidden, or the layer below
//!                                                  │ host functions (crossing.rs):
//!                                                  │ values by pointer, the item as JSON, the view of the layers below
//!                                                  ▼ blocks and spans, copied and checked as they come
//! ```
//!
//! Other items never cross. What a plugin does wrong costs its own words alone and is reported once. That it aborts, crashes or never
//! returns can't be helped: a native plugin has all rights of the program.

mod chain;
mod crossing;
mod layer;
mod pointer;

pub(crate) use chain::NativePlugins;
pub(crate) use layer::{NativeLayer, RestOf};

use streamfmt_core::profile::Selector;

use crate::plugin::pack::Pack;

/// What the library of a native plugin has in its table: name, version, and what it is for, as `format Bash` and `observe call`. The
/// library is loaded.
#[cfg(feature = "lua")]
pub(crate) fn described(pack: &Pack) -> Result<(String, Option<String>, Vec<String>), String> {
    let code = pack.native().ok_or_else(|| "it has no library".to_owned())?;
    let table = code.table(&crossing::HOST)?;
    let named = |verb: &'static str, groups: &[Selector]| -> Vec<String> {
        let name = |group: &Selector| match group {
            Selector::Kind(kind) => kind.name().to_owned(),
            Selector::Action(action) => format!("@{action}"),
            Selector::Tool(tool) => tool.clone(),
            _ => String::new(),
        };
        groups.iter().map(|group| format!("{verb} {}", name(group))).collect()
    };
    let mut groups = named("format", &table.formats);
    groups.extend(named("observe", &table.observes));
    Ok((table.name.clone(), table.version.clone(), groups))
}
