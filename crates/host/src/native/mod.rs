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
#[cfg(all(feature = "native", unix))]
mod crossing;
#[cfg_attr(not(all(feature = "native", unix)), path = "without.rs")]
mod layer;
#[cfg(all(feature = "native", unix))]
mod pointer;

use std::sync::Arc;

use streamfmt_core::entry::{Block, Line, View};
use streamfmt_core::formatter::{FormatError, Observation, Verdict};
use streamfmt_core::item::Item;
use streamfmt_core::profile::Selector;
use streamfmt_core::session::Session;

use crate::plugin::pack::{Pack, PluginLayer};
use crate::tools::amend::{About, Given};

pub(crate) use chain::NativePlugins;
#[cfg(feature = "lua")]
pub(crate) use layer::described;

/// What the layers below are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(all(feature = "native", unix)), expect(dead_code, reason = "nobody asks"))]
pub(crate) enum RestOf {
    /// What they show of the item.
    Item,
    /// What they show of the call that it answers.
    Call,
}

/// A native plugin that runs.
pub(crate) trait NativeLayer: Send + Sync {
    /// How high it is in the chain.
    fn layer(&self) -> PluginLayer;

    /// Its name.
    fn name(&self) -> &str;

    /// What it was read from.
    fn pack(&self) -> &Arc<Pack>;

    /// What it formats.
    fn formats(&self) -> &[Selector];

    /// Whether it may have something to say about an item.
    fn is_for(&self, item: &Item) -> bool {
        self.formats().iter().any(|group| group.matches(item))
    }

    /// Whether it failed too often to be asked again.
    fn is_off(&self) -> bool;

    /// What it shows of an item. `rest` gives what the layers below show.
    fn ask(&self, about: About<'_>, rest: &dyn Fn(RestOf) -> Verdict) -> Given<View>;

    /// Fails instead of being asked, to test what comes of it.
    fn fail_on_purpose(&self, about: About<'_>) -> Given<View>;

    /// Tells it about a moment of the session; gives the blocks that it shows there.
    fn observed_moment(&self, moment: Observation<'_>, session: &Session) -> Vec<Block>;

    /// Takes what is to be shown under the next view.
    fn take_notes(&self) -> Vec<Line>;

    /// Takes what went wrong since this was last asked.
    fn take_failures(&self) -> Vec<FormatError>;
}
