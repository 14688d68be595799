//! The parts of a pipeline that come from the plugins of one input.

use std::rc::Rc;

use streamfmt_core::dialect::DialectPlugin;
use streamfmt_core::formatter::Formatter;
use streamfmt_core::profile::Profile;
use streamfmt_core::writer::Writer;

pub(crate) use crate::lua::Plugins;
use crate::lua::{self, ScriptedWriter, Scripts};
use crate::plugin::EnabledPlugin;
use crate::plugin::journal::Journal;
use crate::problem::Problem;
use crate::tools::rule::ToolRule;

impl Plugins {
    /// The errors of plugins that can't be loaded.
    pub(super) fn problems(chosen: &[EnabledPlugin]) -> Vec<Problem> {
        let scripts = chosen.iter().filter(|plugin| !plugin.is_native());
        let failed = scripts.filter_map(|plugin| Self::hooks_of(&plugin.pack, &Journal::default()).err());
        failed.map(|warning| warning.problem()).collect()
    }

    /// The dialects of the plugins.
    pub(super) fn dialects(self: &Rc<Self>) -> Vec<DialectPlugin> {
        lua::dialect_plugins(self)
    }

    /// The formatter for plugins and rules, or `None` if neither affects items.
    pub(super) fn formatter(
        self: &Rc<Self>,
        rules: &[ToolRule],
        profile: &Profile,
        counts_calls: bool,
    ) -> Option<Box<dyn Formatter>> {
        // Scripts need this thread; native plugins don't. Only the formatter for scripts counts calls.
        if self.are_native_alone() && !counts_calls {
            return self.native.formatter(rules, profile);
        }
        Some(Box::new(Scripts::new(self, profile)?))
    }

    /// The plugin writer `name` on top of `base`; `scratch` is another writer like `base`. Returns `base` if no plugin has this
    /// writer.
    pub(super) fn writer(
        self: &Rc<Self>,
        name: &str,
        base: Box<dyn Writer>,
        scratch: Box<dyn Writer>,
    ) -> Box<dyn Writer> {
        ScriptedWriter::over(self, name, base, scratch)
    }
}
