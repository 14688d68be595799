//! What stands for plugins where the crate is built without Lua: there are none. Whoever names one is told so before.

use streamfmt_core::dialect::DialectPlugin;
use streamfmt_core::formatter::Formatter;
use streamfmt_core::profile::Profile;
use streamfmt_core::redact::Redaction;
use streamfmt_core::writer::Writer;

use crate::plugin::journal::Journal;
use crate::plugin::{AddedNames, Chosen, OutputContext};
use crate::problem::Problem;
use crate::tools::rule::ToolRule;

pub(crate) use self::NoPlugins as RunPlugins;

/// No plugins.
#[derive(Clone)]
pub(crate) struct NoPlugins;

#[expect(clippy::unused_self, reason = "the same calls as with plugins")]
impl NoPlugins {
    pub(super) fn load(_: &[Chosen], _: &[ToolRule], _: OutputContext, _: &Journal, _: bool) -> Self {
        Self
    }

    pub(super) fn names(_: &[Chosen]) -> AddedNames {
        AddedNames::default()
    }

    pub(super) fn problems(_: &[Chosen]) -> Vec<Problem> {
        Vec::new()
    }

    pub(super) fn redact(&self, _: &mut Redaction) {}

    pub(super) fn dialects(&self) -> Vec<DialectPlugin> {
        Vec::new()
    }

    pub(super) fn formatter(&self, _: &Profile) -> Option<Box<dyn Formatter>> {
        None
    }

    pub(super) fn writer(&self, _: &str, base: Box<dyn Writer>, _: Box<dyn Writer>) -> Box<dyn Writer> {
        base
    }

    pub(super) fn is_bound(&self) -> bool {
        false
    }
}
