//! The plugins of one input, and their parts of its pipeline.

use std::rc::Rc;

use streamfmt_core::dialect::DialectPlugin;
use streamfmt_core::formatter::Formatter;
use streamfmt_core::profile::Profile;
use streamfmt_core::redact::Redaction;
use streamfmt_core::writer::Writer;

use crate::lua::{self, Plugins, Scripts};
use crate::plugin::journal::Journal;
use crate::plugin::{AddedNames, Chosen, OutputContext};
use crate::problem::Problem;
use crate::tools::rule::ToolRule;

/// The plugins of one input, loaded.
#[derive(Clone)]
pub(crate) struct RunPlugins(pub(crate) Rc<Plugins>);

impl RunPlugins {
    /// Loads plugins, the lowest first. One that fails is left out.
    pub(super) fn load(
        chosen: &[Chosen],
        rules: &[ToolRule],
        shown: OutputContext,
        journal: &Journal,
    ) -> Self {
        Self(Rc::new(Plugins::load(chosen, rules, shown, journal)))
    }

    /// The names of dialects and writers that plugins add.
    pub(super) fn names(chosen: &[Chosen]) -> AddedNames {
        Plugins::names(chosen)
    }

    /// The problems that keep plugins from being loaded.
    pub(super) fn problems(chosen: &[Chosen]) -> Vec<Problem> {
        let scripts = chosen.iter().filter(|(_, pack)| !pack.is_native());
        let failed = scripts.filter_map(|(_, pack)| Plugins::hooks_of(pack, &Journal::default()).err());
        failed.map(|warning| warning.problem()).collect()
    }

    /// Adds what they want to be masked.
    pub(super) fn redact(&self, redaction: &mut Redaction) {
        self.0.redact(redaction);
    }

    /// Their dialects.
    pub(super) fn dialects(&self) -> Vec<DialectPlugin> {
        lua::dialect_plugins(&self.0)
    }

    /// The formatter for plugins and rules, or `None` if neither affects items.
    pub(super) fn formatter(
        &self,
        rules: &[ToolRule],
        profile: &Profile,
        counts_calls: bool,
    ) -> Option<Box<dyn Formatter>> {
        // Scripts need this thread; native plugins don't. Only the formatter for scripts counts calls.
        if self.0.are_native_alone() && !counts_calls {
            return self.0.natives().formatter(rules, profile);
        }
        Some(Box::new(Scripts::new(&self.0, profile)?))
    }

    /// Their writer `name` over `base`, of which `scratch` is a second one; `base` if none of them has it.
    pub(super) fn writer(
        &self,
        name: &str,
        base: Box<dyn Writer>,
        scratch: Box<dyn Writer>,
    ) -> Box<dyn Writer> {
        lua::writer::ScriptedWriter::over(&self.0, name, base, scratch)
    }
}
