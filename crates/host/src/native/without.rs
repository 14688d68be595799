//! What stands for native plugins where none can be loaded: there are none.

use std::sync::Arc;

use streamfmt_core::entry::{Block, Line, View};
use streamfmt_core::formatter::{FormatError, Formatter, Observation, Verdict};
use streamfmt_core::profile::{Profile, Selector};
use streamfmt_core::session::Session;

use crate::plugin::Chosen;
use crate::plugin::journal::Journal;
use crate::plugin::pack::{Pack, PluginLayer};
use crate::tools::amend::{About, Given};
use crate::tools::rule::ToolRule;

pub(crate) use self::{NoNativeLayer as NativeLayer, NoNativePlugins as NativePlugins, NoRest as RestOf};

/// What the layers below are asked for.
#[derive(Clone, Copy)]
#[expect(dead_code, reason = "nobody asks")]
pub(crate) enum NoRest {
    Item,
    Call,
}

/// No native plugins.
#[derive(Clone, Default)]
pub(crate) struct NoNativePlugins;

/// A native plugin that runs: there is none.
pub(crate) enum NoNativeLayer {}

impl NoNativePlugins {
    pub(crate) fn load(_: &[Chosen], _: &Journal) -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "the same call as with native plugins")]
    pub(crate) fn all(&self) -> &[NativeLayer] {
        &[]
    }

    pub(crate) fn formatter(&self, _: &[ToolRule], _: &Profile) -> Option<Box<dyn Formatter>> {
        None
    }
}

impl NoNativeLayer {
    pub(crate) fn layer(&self) -> PluginLayer {
        match *self {}
    }

    pub(crate) fn name(&self) -> &str {
        match *self {}
    }

    pub(crate) fn formats(&self) -> &[Selector] {
        match *self {}
    }

    pub(crate) fn is_off(&self) -> bool {
        match *self {}
    }

    pub(crate) fn ask(&self, _: About<'_>, _: &dyn Fn(RestOf) -> Verdict) -> Given<View> {
        match *self {}
    }

    pub(crate) fn fail_on_purpose(&self, _: About<'_>) -> Given<View> {
        match *self {}
    }

    pub(crate) fn observed_moment(&self, _: Observation<'_>, _: &Session) -> Vec<Block> {
        match *self {}
    }

    pub(crate) fn pack(&self) -> &Arc<Pack> {
        match *self {}
    }

    pub(crate) fn take_notes(&self) -> Vec<Line> {
        match *self {}
    }

    pub(crate) fn take_failures(&self) -> Vec<FormatError> {
        match *self {}
    }
}

/// What a native plugin is for: there is none.
pub(crate) fn described(_: &Pack) -> Result<(String, Option<String>, Vec<String>), String> {
    Err("native plugins can't be loaded".to_owned())
}
