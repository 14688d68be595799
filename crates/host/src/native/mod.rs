//! Plugins that are shared libraries: how items are passed to them, how answers are read, and the formatters made of them.
//!
//! ```text
//! an item that a plugin formats ─▶ NativeLayer ─▶ format(instance, item, sink) ─▶ a view, hidden, or the layer below
//!                                                  │ host functions (call_frame.rs):
//!                                                  │ values by pointer, the item as JSON, the view of the layers below
//!                                                  ▼ blocks and spans, copied and checked as they arrive
//! ```
//!
//! Other items are never passed. A plugin's error costs only its own output and is reported once. Nothing protects against one
//! that aborts, crashes or never returns: a native plugin has all rights of the program.

#[cfg(all(feature = "native", unix))]
mod call_frame;
mod chain;
#[cfg_attr(not(all(feature = "native", unix)), path = "without.rs")]
mod layer;
#[cfg(all(feature = "native", unix))]
mod pointer;

use std::sync::Arc;

use streamfmt_core::entry::{Block, Line};
use streamfmt_core::formatter::{FormatError, Observation, Verdict};
use streamfmt_core::item::Item;
use streamfmt_core::profile::Selector;
use streamfmt_core::session::Session;

use crate::plugin::source::{PluginLayer, PluginSource};
use crate::tools::request::FormatRequest;

pub(crate) use chain::NativePlugins;
#[cfg(feature = "lua")]
pub(crate) use layer::described;

/// A running native plugin.
pub(crate) trait NativeLayer: Send + Sync {
    /// The layer that it belongs to.
    fn layer(&self) -> PluginLayer;

    /// Its name.
    fn name(&self) -> &str;

    /// The pack that it was loaded from.
    fn pack(&self) -> &Arc<PluginSource>;

    /// The groups of items that it formats.
    fn formats(&self) -> &[Selector];

    /// Whether it formats this item, unless it passes.
    fn is_for(&self, item: &Item) -> bool {
        self.formats().iter().any(|group| group.matches(item))
    }

    /// Whether it was disabled after too many failures.
    fn is_off(&self) -> bool;

    /// Formats an item. `below` returns the verdict of the layers below about it or, given `true`, about the call that it answers.
    fn format(&self, request: FormatRequest<'_>, below: &dyn Fn(bool) -> Verdict) -> Verdict;

    /// Fails instead of being called, to test the fallback.
    fn fail_on_purpose(&self, request: FormatRequest<'_>);

    /// Passes a moment of the session to it. Returns the blocks to show there.
    fn observed_moment(&self, moment: Observation<'_>, session: &Session) -> Vec<Block>;

    /// Takes the notes to show below the next view.
    fn take_notes(&self) -> Vec<Line>;

    /// Takes the failures since the last call.
    fn take_failures(&self) -> Vec<FormatError>;
}
