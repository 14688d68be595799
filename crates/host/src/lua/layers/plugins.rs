//! All plugins of a run, and their failures.
//!
//! They are loaded once for each input: its formatter, dialect and writer share the same VMs.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use mlua::Function;
use send_wrapper::SendWrapper;
use streamfmt_core::entry::{Block, View};
use streamfmt_core::formatter::FormatError;
use streamfmt_core::item::Action;
use streamfmt_core::redact::Redaction;

use super::call_counter::CallCounter;
use super::plugin::LoadedPlugin;
use crate::lua::api::current::CurrentItem;
use crate::lua::api::registered::{Hook, Registered, ScriptOverride, Viewed};
use crate::lua::vm::CallError;
use crate::native::{NativeLayer, NativePlugins};
use crate::plugin::journal::{Journal, OFF, PendingFailures, Warning};
use crate::plugin::source::{PluginLayer, PluginSource};
use crate::plugin::{AddedNames, EnabledPlugin, OutputContext};
use crate::tools::overrides::{LayerId, Override, overrides_of};
use crate::tools::rule::ToolRule;

/// Panics if plugins are used on another thread than the one that loaded them: a VM can't move.
pub(crate) fn assert_on_thread(plugins: &SendWrapper<Rc<Plugins>>) {
    assert!(
        plugins.valid(),
        "a pipeline with plugins in Lua is used on another thread than the one that made it: make it where it is used"
    );
}

/// All plugins of a run.
pub(crate) struct Plugins {
    /// The plugins in Lua, lowest layer first.
    pub(crate) all: Vec<LoadedPlugin>,
    pub(crate) native: NativePlugins,
    /// The groups that each native plugin formats.
    native_registered: Vec<Registered>,
    /// All layers, lowest first.
    pub(crate) order: Vec<LayerId>,
    /// The profile's rules for tools. Their layer is directly above the plugins of [`PluginLayer::Pack`].
    rules: Registered,
    pub(crate) current: Rc<CurrentItem>,
    pub(crate) counter: Rc<CallCounter>,
    journal: Journal,
    failures: RefCell<PendingFailures>,
}

impl Drop for Plugins {
    fn drop(&mut self) {
        let spent = self.all.iter().map(|plugin| (plugin.name(), plugin.spent()));
        self.journal.note_run(self.counter.calls.get(), self.counter.faulty_call.take(), spent);
    }
}

impl Plugins {
    /// The names of dialects, writers and accumulators that plugins add. Loads the plugins without reporting anything.
    pub(crate) fn names(chosen: &[EnabledPlugin]) -> AddedNames {
        // A native plugin adds no names, so its code needn't be loaded.
        let scripts: Vec<EnabledPlugin> =
            chosen.iter().filter(|plugin| !plugin.is_native()).cloned().collect();
        let plugins = Self::load(&scripts, &[], OutputContext::default(), &Journal::default());
        let mut names = AddedNames::default();
        for registered in plugins.all.iter().map(|plugin| &plugin.registered) {
            names.dialects.extend(registered.dialects.iter().map(|dialect| dialect.name.clone()));
            names.accumulators.extend(registered.accumulators.iter().map(|known| known.name.clone()));
            names.writers.extend(registered.writers.iter().map(|writer| writer.known.clone()));
        }
        names
    }

    /// Loads plugins, lowest layer first. One that fails to load is skipped.
    pub(crate) fn load(
        chosen: &[EnabledPlugin],
        rules: &[ToolRule],
        shown: OutputContext,
        journal: &Journal,
    ) -> Self {
        let native = NativePlugins::load(chosen, journal);
        let native_registered = native.all().iter().map(|native| Registered::of_native(native.formats()));
        let mut plugins = Self {
            all: Vec::new(),
            native_registered: native_registered.collect(),
            native,
            order: Vec::new(),
            rules: Registered::of_profile(rules),
            current: Rc::default(),
            counter: Rc::new(CallCounter::new(journal.fault())),
            journal: journal.clone(),
            failures: RefCell::default(),
        };
        let mut natives = 0;
        let mut below_rules = 0;
        for EnabledPlugin { layer, pack, .. } in chosen {
            if pack.is_native() {
                // A native plugin that can't be loaded is skipped.
                let native = plugins.native.all().get(natives);
                if native.is_none_or(|native| !Arc::ptr_eq(native.pack(), pack)) {
                    continue;
                }
                plugins.order.push(LayerId::Native(natives));
                natives += 1;
            } else {
                match LoadedPlugin::load(*layer, pack, &plugins.current, shown, journal, &plugins.counter) {
                    Ok(plugin) => {
                        plugins.order.push(LayerId::Plugin(plugins.all.len()));
                        plugins.all.push(plugin);
                    }
                    Err(warning) => {
                        plugins.failures.borrow_mut().keep(&warning);
                        journal.fail(*warning, false);
                        continue;
                    }
                }
            }
            below_rules += usize::from(*layer == PluginLayer::Pack);
        }
        plugins.order.insert(below_rules, LayerId::Profile);
        plugins
    }

    /// The native plugin of a layer, if it is one.
    pub(crate) fn native(&self, layer: LayerId) -> Option<&dyn NativeLayer> {
        match layer {
            LayerId::Native(index) => self.native.all().get(index).map(|native| &**native),
            LayerId::Plugin(_) | LayerId::Profile => None,
        }
    }

    /// Loads a plugin to list what it registers. Its prints and warnings go to the journal; the error is why it can't be loaded.
    pub(crate) fn hooks_of(pack: &Arc<PluginSource>, journal: &Journal) -> Result<Vec<Hook>, Box<Warning>> {
        let shown = OutputContext::default();
        let plugin =
            LoadedPlugin::load(PluginLayer::Run, pack, &Rc::default(), shown, journal, &Rc::default())?;
        let mut hooks = plugin.registered.hooks_of_all();
        let Redaction { secrets, emails, home, own } = &plugin.registered.redaction;
        let masks =
            [(*secrets, "secrets"), (*emails, "emails"), (*home, "home"), (!own.is_empty(), "patterns")];
        let fields: Vec<_> = masks.into_iter().filter(|(on, _)| *on).map(|(_, name)| name).collect();
        if !fields.is_empty() {
            hooks.push(Hook { what: "redact".to_owned(), fields, place: None });
        }
        Ok(hooks)
    }

    /// Whether the layer `one` is below `other`.
    pub(crate) fn is_below(&self, one: LayerId, other: LayerId) -> bool {
        let height = |id| self.order.iter().position(|layer| *layer == id);
        height(one) < height(other)
    }

    /// The Lua plugin of a layer, if it is one.
    pub(crate) fn get(&self, layer: LayerId) -> Option<&LoadedPlugin> {
        match layer {
            LayerId::Plugin(index) => self.all.get(index),
            LayerId::Native(_) | LayerId::Profile => None,
        }
    }

    /// Whether the plugin of a layer is disabled.
    pub(crate) fn is_off(&self, layer: LayerId) -> bool {
        self.get(layer).is_some_and(LoadedPlugin::is_off)
            || self.native(layer).is_some_and(NativeLayer::is_off)
    }

    /// The Lua plugin of a layer, unless it is disabled.
    pub(crate) fn running(&self, layer: LayerId) -> Option<&LoadedPlugin> {
        self.get(layer).filter(|plugin| !plugin.is_off())
    }

    /// All layers with what they registered, lowest first.
    pub(crate) fn layers(&self) -> impl DoubleEndedIterator<Item = (LayerId, &Registered)> {
        self.order.iter().map(|layer| match *layer {
            LayerId::Plugin(index) => (*layer, &self.all[index].registered),
            LayerId::Native(index) => (*layer, &self.native_registered[index]),
            LayerId::Profile => (*layer, &self.rules),
        })
    }

    /// The overrides of all layers for a tool, from the top down.
    pub(crate) fn overrides_of_tool(&self, tool: &str, action: Option<Action>) -> Vec<ScriptOverride> {
        let layers = self.layers().rev().map(|(layer, registered)| (layer, &registered.rules[..]));
        overrides_of(layers, tool, action)
    }

    /// The overrides of all layers for a view, from the top down.
    pub(crate) fn overrides_of_view(&self, viewed: Viewed) -> Vec<ScriptOverride> {
        let all = self.layers().rev().flat_map(|(layer, registered)| {
            let fitting = registered.views.iter().rev().filter(move |(of, _)| *of == viewed);
            fitting.map(move |(_, view)| Override { layer, ..view.clone() })
        });
        all.collect()
    }

    /// Adds what the plugins asked to have masked.
    pub(crate) fn redact(&self, redaction: &mut Redaction) {
        for plugin in &self.all {
            redaction.add(&plugin.registered.redaction);
        }
    }

    /// Whether no layer affects items or records.
    pub(crate) fn affect_nothing(&self) -> bool {
        self.native.all().is_empty() && self.layers().all(|(_, registered)| registered.affects_nothing())
    }

    /// Whether there are native plugins and no scripts.
    pub(crate) fn are_native_alone(&self) -> bool {
        self.all.is_empty() && !self.native.all().is_empty()
    }

    /// Checks the custom roles in a function's result.
    pub(crate) fn check_roles(&self, plugin: &LoadedPlugin, function: &Function, roles: &[String]) {
        for role in roles {
            plugin.warn_of_role_by(&self.journal, role, function);
        }
    }

    /// Counts a failed call of a plugin, and reports it if it is new.
    pub(crate) fn fail(
        &self,
        plugin: &LoadedPlugin,
        function: &Function,
        error: &mlua::Error,
        doing: &str,
        outcome: &'static str,
    ) {
        let warning = plugin.count_failure(function, error, doing, outcome);
        let shown = warning.message.clone();
        self.failures.borrow_mut().fail(&self.journal, warning, &shown);
        if plugin.is_off() {
            let is_limit = CallError::is_limit(error);
            let why = if is_limit { "it ran into limits too often" } else { "it failed too often" };
            self.journal.fail(Warning::new(plugin.name(), "failed while it ran", why, OFF), false);
        }
    }

    /// The result of a call, or `None` after a failure, which is counted and reported.
    pub(crate) fn unless_failed<T>(
        &self,
        plugin: &LoadedPlugin,
        function: &Function,
        result: mlua::Result<T>,
        doing: impl FnOnce() -> String,
        outcome: &'static str,
    ) -> Option<T> {
        result.map_err(|error| self.fail(plugin, function, &error, &doing(), outcome)).ok()
    }

    /// Adds the pending notes below a view.
    pub(crate) fn with_notes(&self, mut view: View) -> View {
        let mut lines = std::mem::take(&mut self.failures.borrow_mut().notes);
        lines.extend(self.native.all().iter().flat_map(|native| native.take_notes()));
        if !lines.is_empty() {
            view.body.push(Block::Lines { lines });
        }
        view
    }

    /// Takes the failures since the last call.
    pub(crate) fn take_failures(&self) -> Vec<FormatError> {
        let mut failures = std::mem::take(&mut self.failures.borrow_mut().errors);
        failures.extend(self.native.all().iter().flat_map(|native| native.take_failures()));
        failures
    }
}
