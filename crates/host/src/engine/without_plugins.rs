//! Plugins in a build without Lua: only native ones. Naming a script is reported as an error earlier.

use streamfmt_core::dialect::DialectPlugin;
use streamfmt_core::formatter::Formatter;
use streamfmt_core::profile::Profile;
use streamfmt_core::redact::Redaction;
use streamfmt_core::writer::Writer;

use crate::native::NativePlugins;
use crate::plugin::journal::Journal;
use crate::plugin::{AddedNames, EnabledPlugin, OutputContext};
use crate::problem::Problem;
use crate::tools::rule::ToolRule;

pub(crate) use self::NoScripts as Plugins;

/// The native plugins, if any, without scripts.
pub(crate) struct NoScripts(NativePlugins);

#[expect(clippy::unused_self, reason = "the same calls as with scripts")]
impl NoScripts {
    pub(super) fn load(
        chosen: &[EnabledPlugin],
        _: &[ToolRule],
        _: OutputContext,
        journal: &Journal,
    ) -> Self {
        Self(NativePlugins::load(chosen, journal))
    }

    pub(super) fn names(_: &[EnabledPlugin]) -> AddedNames {
        AddedNames::default()
    }

    pub(super) fn problems(_: &[EnabledPlugin]) -> Vec<Problem> {
        Vec::new()
    }

    pub(super) fn redact(&self, _: &mut Redaction) {}

    pub(super) fn dialects(&self) -> Vec<DialectPlugin> {
        Vec::new()
    }

    pub(super) fn formatter(
        &self,
        rules: &[ToolRule],
        profile: &Profile,
        _: bool,
    ) -> Option<Box<dyn Formatter>> {
        self.0.formatter(rules, profile)
    }

    pub(super) fn writer(&self, _: &str, base: Box<dyn Writer>, _: Box<dyn Writer>) -> Box<dyn Writer> {
        base
    }
}
