//! The native plugins of one output, and their formatter for runs without scripts.

use std::sync::Arc;

use streamfmt_core::entry::Block;
use streamfmt_core::formatter::{
    FormatError, Formatter, Observation, PluginFormatter, StreamFormatter, Verdict,
};
use streamfmt_core::item::Item;
use streamfmt_core::profile::Profile;
use streamfmt_core::session::Session;
use streamfmt_formatters::standard::Standard;

use super::{NativeLayer, layer};
use crate::plugin::EnabledPlugin;
use crate::plugin::journal::Journal;
use crate::tools::formatter::RuleFormatter;
use crate::tools::request::FormatRequest;
use crate::tools::rule::ToolRule;

/// The loaded native plugins of one output, lowest layer first.
#[derive(Clone, Default)]
pub(crate) struct NativePlugins(Arc<Vec<Box<dyn NativeLayer>>>);

impl NativePlugins {
    /// Loads the native plugins among `chosen`. One that fails to load is reported and skipped.
    pub(crate) fn load(chosen: &[EnabledPlugin], journal: &Journal) -> Self {
        let mut layers = Vec::new();
        for EnabledPlugin { layer, pack, .. } in chosen {
            let Some(code) = pack.native() else { continue };
            match layer::load(*layer, pack, code, journal) {
                Ok(loaded) => layers.push(loaded),
                Err(warning) => drop(journal.fail(*warning, false)),
            }
        }
        Self(Arc::new(layers))
    }

    /// The plugins, lowest layer first.
    pub(crate) fn all(&self) -> &[Box<dyn NativeLayer>] {
        &self.0
    }

    /// The formatter for these plugins and the rules below them, or `None` without plugins.
    pub(crate) fn formatter(&self, rules: &[ToolRule], profile: &Profile) -> Option<Box<dyn Formatter>> {
        if self.0.is_empty() {
            return None;
        }
        let chain = NativeChain {
            plugins: self.clone(),
            rules: RuleFormatter::new(rules, profile),
            standard: Standard::of(profile),
        };
        Some(Box::new(chain))
    }
}

/// Calls native plugins, highest first. Below them are the rules of the profile and the built-in formatter.
struct NativeChain {
    plugins: NativePlugins,
    rules: Option<RuleFormatter>,
    standard: Standard,
}

impl NativeChain {
    /// The verdict of the lowest `count` plugins and the layers below them.
    fn below(&self, request: FormatRequest<'_>, count: usize) -> Verdict {
        let plugins = self.plugins.all()[..count].iter().enumerate().rev();
        for (at, plugin) in plugins.filter(|(_, plugin)| plugin.is_for(request.item)) {
            let below = |of_call: bool| match request.call.filter(|_| of_call) {
                Some(call) => self.below(FormatRequest::alone(call, request.session), at),
                None => self.below(request, at),
            };
            match plugin.format(request, &below) {
                Verdict::Pass => {}
                verdict => return verdict,
            }
        }
        let rules = self.rules.as_ref().and_then(|rules| rules.format(request.item, request.session).ok());
        match rules {
            None | Some(Verdict::Pass) => {
                self.standard.format(request.item, request.session).unwrap_or(Verdict::Pass)
            }
            Some(verdict) => verdict,
        }
    }
}

impl Formatter for NativeChain {
    fn name(&self) -> &'static str {
        "plugins"
    }

    fn format(&self, item: &Item, session: &Session) -> Result<Verdict, FormatError> {
        let plugins = self.plugins.all();
        // If no plugin formats this item, the rules alone decide, as without plugins.
        if !plugins.iter().any(|plugin| plugin.is_for(item)) {
            return self.rules.as_ref().map_or(Ok(Verdict::Pass), |rules| rules.format(item, session));
        }
        let mut verdict = self.below(FormatRequest::of(item, session), plugins.len());
        if let Verdict::Show(view) = &mut verdict {
            for lines in plugins.iter().map(|plugin| plugin.take_notes()).filter(|lines| !lines.is_empty()) {
                view.body.push(Block::Lines { lines });
            }
        }
        Ok(verdict)
    }

    fn stream(&self) -> Option<&dyn StreamFormatter> {
        Some(self)
    }

    fn plugins(&self) -> Option<&dyn PluginFormatter> {
        Some(self)
    }
}

impl StreamFormatter for NativeChain {
    fn observe(&self, moment: Observation<'_>, session: &Session) -> Vec<Block> {
        let plugins = self.plugins.all().iter();
        plugins.flat_map(|plugin| plugin.observed_moment(moment, session)).collect()
    }
}

impl PluginFormatter for NativeChain {
    fn resume(&self, _: Option<Box<dyn std::any::Any>>, session: &Session) {
        for plugin in self.plugins.all() {
            // What it shows at the beginning was already shown.
            drop(plugin.observed_moment(Observation::Begin, session));
        }
    }

    fn take_failures(&self) -> Vec<FormatError> {
        self.plugins.all().iter().flat_map(|plugin| plugin.take_failures()).collect()
    }
}
