//! A running plugin: its VM, what it registered, and its failures.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use mlua::{Function, IntoLua, IntoLuaMulti, Lua, Table, Value};
use streamfmt_core::profile::LIMITS;
use streamfmt_core::theme::wrong_role;

use super::call_counter::CallCounter;
use super::kept_state;
use crate::lua::api::current::CurrentItem;
use crate::lua::api::registered::Registered;
use crate::lua::api::registry::{Registry, registry};
use crate::lua::api::{self, item, spell};
use crate::lua::vm::{self, CallError, Vm, VmLimits};
use crate::plugin::OutputContext;
use crate::plugin::journal::{Journal, LEFT_OUT, Warning};
use crate::plugin::source::{PluginLayer, PluginSource};
use crate::settings::group;

/// Limit violations after which a plugin is disabled for the rest of the run.
pub(crate) const MOST_EXCEEDED: u32 = 3;
/// Failures of any kind after which a plugin is disabled for the rest of the run.
pub(crate) const MOST_FAILURES: u32 = 20;
/// Most custom roles of a plugin that are remembered, so that each is checked once.
const MOST_ROLES: usize = 256;

/// A running plugin.
pub(crate) struct LoadedPlugin {
    pub(crate) layer: PluginLayer,
    pub(crate) pack: Arc<PluginSource>,
    vm: Vm,
    registry: Rc<Registry>,
    /// Everything that it registered.
    pub(crate) registered: Registered,
    /// The table that its functions receive as `ctx`.
    pub(crate) context: Table,
    state: Table,
    counter: Rc<CallCounter>,
    /// How many calls reached a limit.
    exceeded: Cell<u32>,
    failures: Cell<u32>,
    /// Whether any of its files mentions `default()`.
    uses_default: bool,
    /// The custom roles that were already checked.
    roles: RefCell<BTreeSet<String>>,
}

impl LoadedPlugin {
    /// Creates a VM for a plugin and runs its entry file.
    pub(crate) fn load(
        layer: PluginLayer,
        pack: &Arc<PluginSource>,
        current: &Rc<CurrentItem>,
        shown: OutputContext,
        journal: &Journal,
        counter: &Rc<CallCounter>,
    ) -> Result<Self, Box<Warning>> {
        let (printing, fallback) = (journal.clone(), pack.name.clone());
        let is_heard = journal.is_heard(&pack.name);
        let log = move |lua: &Lua, text: &[u8]| {
            if !is_heard {
                let name = registry(lua).ok().and_then(|registry| registry.name.borrow().clone());
                printing.print(name.as_deref().unwrap_or(&fallback), text);
            }
        };
        let limits = VmLimits::default();
        let made = Vm::new(limits, item::iterate, spell::inspected, log, |lua, globals| {
            let registry = Registry::install(lua, current)?;
            let options = options(lua, pack)?;
            api::install(lua, globals, &registry, &options)?;
            if pack.has_modules() {
                globals.raw_set("require", require(lua, pack)?)?;
            }
            let (context, state) = context(lua, options, shown)?;
            Ok((registry, context, state))
        });
        let refuse = |name: String, error| Box::new(failure(pack, name, &error, None, "loading", LEFT_OUT));
        let (vm, (registry, context, state)) = made.map_err(|error| refuse(pack.name.clone(), error))?;
        let mut loaded = Self {
            layer,
            pack: Arc::clone(pack),
            vm,
            registry,
            registered: Registered::default(),
            context,
            state,
            counter: Rc::clone(counter),
            exceeded: Cell::new(0),
            failures: Cell::new(0),
            uses_default: pack.contains("default"),
            roles: RefCell::default(),
        };
        let (name, source) = pack.entry();
        let ran = loaded.vm.load(&name, source, pack.bytecodes());
        ran.map_err(|error| refuse(loaded.name(), error))?;
        loaded.registry.is_loaded.set(true);
        loaded.registered = loaded.registry.registered.take();
        loaded.warn_of_roles(journal);
        loaded.warn_of_tools(journal);
        Ok(loaded)
    }

    /// Its Lua state, for creating values.
    pub(crate) fn lua(&self) -> &Lua {
        self.vm.lua()
    }

    /// Its name in messages.
    pub(crate) fn name(&self) -> String {
        self.registry.name.borrow().clone().unwrap_or_else(|| self.pack.name.clone())
    }

    /// Whether it was disabled after too many failures.
    pub(crate) fn is_off(&self) -> bool {
        self.exceeded.get() >= MOST_EXCEEDED || self.failures.get() >= MOST_FAILURES
    }

    /// Calls one of its functions within the limits.
    pub(crate) fn call(&self, function: &Function, arguments: impl IntoLuaMulti) -> mlua::Result<Value> {
        self.apply(function, arguments, false)
    }

    /// Calls a function that may use `default()`. `below` returns what the layers below make of the item or, given `true`, of the
    /// call that it answers.
    pub(crate) fn call_over(
        &self,
        function: &Function,
        arguments: impl IntoLuaMulti,
        below: &dyn Fn(&Lua, bool) -> mlua::Result<Value>,
    ) -> mlua::Result<Value> {
        if !self.uses_default {
            return self.call(function, arguments);
        }
        if let Some(instead) = self.counter.next(false) {
            return instead;
        }
        let lua = self.vm.lua();
        self.vm.run(|| {
            lua.scope(|scope| {
                let below = scope.create_function(|lua, of_call| below(lua, of_call))?;
                let before = self.registry.below.replace(Some(below));
                let answer = function.call(arguments);
                self.registry.below.replace(before);
                answer
            })
        })
    }

    /// Calls a function that may write `ctx.state`.
    pub(crate) fn call_hook(&self, function: &Function, arguments: impl IntoLuaMulti) -> mlua::Result<Value> {
        self.state.set_readonly(false);
        let answer = self.apply(function, arguments, true);
        self.state.set_readonly(true);
        answer
    }

    /// Calls a function whose result affects more than one item.
    pub(crate) fn call_fold(&self, function: &Function, arguments: impl IntoLuaMulti) -> mlua::Result<Value> {
        self.apply(function, arguments, true)
    }

    fn apply(&self, function: &Function, arguments: impl IntoLuaMulti, is_hook: bool) -> mlua::Result<Value> {
        if let Some(instead) = self.counter.next(is_hook) {
            return instead;
        }
        self.vm.run(|| function.call(arguments))
    }

    /// The steps that it used so far.
    pub(crate) fn spent(&self) -> u64 {
        self.vm.spent()
    }

    /// Its `ctx.state`, with the VM that owns it.
    pub(crate) fn state(&self) -> (Lua, Table) {
        (self.lua().clone(), self.state.clone())
    }

    /// Its function that converts the state of its previous version.
    pub(crate) fn reload(&self) -> Option<Function> {
        self.registry.reload.borrow().clone()
    }

    /// Sets `ctx.state` to what its `reload` returns for the previous state.
    pub(crate) fn take_over(&self, reload: &Function, before: &Table) -> mlua::Result<()> {
        let lua = self.lua();
        let copied = lua.create_table()?;
        kept_state::copy(before, lua, &copied)?;
        let Value::Table(made) = self.call(reload, copied)? else {
            return Err(mlua::Error::runtime("reload gives no table"));
        };
        self.state.set_readonly(false);
        let taken = kept_state::copy(&made, lua, &self.state);
        self.state.set_readonly(true);
        taken
    }

    /// Counts a failed call and creates its warning. Unless the error has a place, the warning points to the function.
    pub(crate) fn count_failure(
        &self,
        function: &Function,
        error: &mlua::Error,
        doing: &str,
        outcome: &'static str,
    ) -> Warning {
        self.failures.set(self.failures.get() + 1);
        if CallError::is_limit(error) {
            self.exceeded.set(self.exceeded.get() + 1);
        }
        failure(&self.pack, self.name(), error, self.place(function), doing, outcome)
    }

    /// Warns of roles in its registrations that are probably misspelled.
    fn warn_of_roles(&self, journal: &Journal) {
        for (role, origin) in self.registered.roles() {
            self.warn_of_role(journal, role, origin.map(|origin| (origin.file.as_str(), origin.line)));
        }
    }

    /// Warns of tools in its registrations that are probably misspelled. A plugin with its own dialect may know tools that are
    /// known to no one else, and settings are checked where they are read.
    fn warn_of_tools(&self, journal: &Journal) {
        if !self.registered.dialects.is_empty() || self.pack.is_of_settings() {
            return;
        }
        for first in self.registered.tools() {
            let Some(meant) = group::meant_tool(&first.pattern) else { continue };
            let place = first.origin.as_ref().map(|origin| (origin.file.clone(), origin.line));
            let doing = "names an unknown tool".to_owned();
            let message = format!("unknown tool \"{}\" (did you mean \"{meant}\"?)", first.pattern);
            let outcome = "used for tools of this name alone";
            journal.doubt(warning(&self.pack, self.name(), doing, place, message, outcome));
        }
    }

    /// Warns of a role in a function's result that is probably misspelled.
    pub(crate) fn warn_of_role_by(&self, journal: &Journal, role: &str, function: &Function) {
        if !self.roles.borrow().contains(role) {
            if self.roles.borrow().len() < MOST_ROLES {
                self.roles.borrow_mut().insert(role.to_owned());
            }
            let place = self.place(function);
            self.warn_of_role(journal, role, place.as_ref().map(|(file, line)| (file.as_str(), *line)));
        }
    }

    fn warn_of_role(&self, journal: &Journal, role: &str, from: Option<(&str, usize)>) {
        let Some(message) = wrong_role(role) else { return };
        let place = self.pack.quoted(role, from).or_else(|| from.map(|(file, line)| (file.to_owned(), line)));
        let doing = "uses an unknown role".to_owned();
        let outcome = "shown with the style of its parent role, or of text";
        journal.doubt(warning(&self.pack, self.name(), doing, place, message, outcome));
    }

    /// The file and line where one of its functions begins.
    fn place(&self, function: &Function) -> Option<(String, usize)> {
        let info = function.info();
        let (file, line) = (info.short_src.or(info.source)?, info.line_defined?);
        let file = file.trim_start_matches('=').to_owned();
        self.pack.line(&file, line)?;
        Some((file, line))
    }
}

/// `require`: runs a file of the plugin's own folder once, and returns its value.
fn require(lua: &Lua, pack: &Arc<PluginSource>) -> mlua::Result<Function> {
    let pack = Arc::clone(pack);
    let loaded = lua.create_table()?;
    lua.create_function(move |lua, name: String| {
        let known: Value = loaded.raw_get(name.as_str())?;
        if !known.is_nil() {
            return Ok(known);
        }
        let Some((file, source)) = pack.module(&name) else {
            return Err(mlua::Error::runtime(format!("require: the plugin has no module \"{name}\"")));
        };
        // A module that requires itself, directly or indirectly, gets this value.
        loaded.raw_set(name.as_str(), false)?;
        let value: Value = vm::chunk(lua, &file, source, pack.bytecodes())?.call(())?;
        let value = if value.is_nil() { Value::Boolean(true) } else { value };
        loaded.raw_set(name, value.clone())?;
        Ok(value)
    })
}

/// The plugin's options, for `sf.options` and `ctx.options`.
fn options(lua: &Lua, pack: &PluginSource) -> mlua::Result<Table> {
    let options = lua.create_table()?;
    for (name, choice) in &pack.options {
        options.raw_set(name.as_str(), option(lua, &choice.value)?)?;
    }
    let about = " (a plugin declares its options in plugin.toml)";
    item::close(lua, &options, "ctx.options", Vec::new(), about)?;
    options.set_readonly(true);
    Ok(options)
}

/// The tables `ctx` and `ctx.state`.
fn context(lua: &Lua, options: Table, shown: OutputContext) -> mlua::Result<(Table, Table)> {
    let OutputContext { limits, is_page } = shown;
    let (context, state) = (lua.create_table()?, lua.create_table()?);
    let values = lua.create_table()?;
    let names = LIMITS.iter().map(|row| row.key.trim_start_matches("limits.").replace('-', "_"));
    let names: Vec<String> = names.collect();
    for (name, row) in names.iter().zip(LIMITS) {
        values.raw_set(name.as_str(), limits[row.limit].map(|limit| limit as f64))?;
    }
    item::close(lua, &values, "ctx.limits", names, "")?;
    values.set_readonly(true);
    state.set_readonly(true);
    context.raw_set("session", item::RunFacts)?;
    context.raw_set("state", state.clone())?;
    context.raw_set("options", options)?;
    context.raw_set("limits", values)?;
    context.raw_set("page", is_page)?;
    item::close(lua, &context, "ctx", Vec::new(), "")?;
    context.set_readonly(true);
    Ok((context, state))
}

fn option(lua: &Lua, value: &toml::Value) -> mlua::Result<Value> {
    match value {
        toml::Value::String(text) => text.as_str().into_lua(lua),
        toml::Value::Integer(number) => Ok(Value::Number(*number as f64)),
        toml::Value::Float(number) => Ok(Value::Number(*number)),
        toml::Value::Boolean(truth) => Ok(Value::Boolean(*truth)),
        toml::Value::Array(list) => {
            let table = lua.create_table()?;
            for value in list.iter().filter(|value| !value.is_array()) {
                table.raw_push(option(lua, value)?)?;
            }
            table.set_readonly(true);
            Ok(Value::Table(table))
        }
        toml::Value::Datetime(_) | toml::Value::Table(_) => Ok(Value::Nil),
    }
}

/// Creates a warning about a plugin, with the source line at `place` and the path of its file on disk.
fn warning(
    pack: &PluginSource,
    plugin: String,
    doing: String,
    place: Option<(String, usize)>,
    message: String,
    outcome: &'static str,
) -> Warning {
    let path = place.as_ref().and_then(|(file, _)| pack.path_of(file));
    let place = place.map(|(file, line)| {
        let source = pack.line(&file, line).unwrap_or_default().to_owned();
        (file, line, source)
    });
    Warning { place, path, ..Warning::new(plugin, doing, message, outcome) }
}

/// Creates the warning for a failure. Unless the error has a place, the warning points to `place`.
fn failure(
    pack: &PluginSource,
    name: String,
    error: &mlua::Error,
    place: Option<(String, usize)>,
    doing: &str,
    outcome: &'static str,
) -> Warning {
    let (limit, raised) = match CallError::of(error) {
        Some(CallError::LimitExceeded { message, error }) => (Some(message), error.as_ref()),
        _ => (None, Some(error)),
    };
    let (own, message) = raised.map_or((None, String::new()), |error| explain(pack, error));
    let message = limit.cloned().unwrap_or(message);
    let is_misuse = raised.is_some_and(|error| matches!(CallError::of(error), Some(CallError::Misuse(_))));
    let source = own.as_ref().map(|(file, line)| pack.line(file, *line).unwrap_or_default());
    let hint = source.and_then(|source| hint(&message, source)).unwrap_or_default();
    let doing = format!("failed while {doing}");
    let warning = warning(pack, name, doing, own.or(place), message + hint, outcome);
    Warning { is_misuse, ..warning }
}

/// Globals that scripts expect but that don't exist, and what to use instead.
const ABSENT: [(&str, &str); 8] = [
    (
        "os",
        ": there is no `os`: a plugin has neither a clock nor the environment; item.time and result.took are the times recorded in the stream, and plugin.toml declares options",
    ),
    (
        "io",
        ": there is no `io`: a plugin reads and writes no files; what its functions return is shown, and print writes to standard error",
    ),
    (
        "require",
        ": there is no `require` in a plugin of one file: make it a folder with a plugin.toml (streamfmt plugin new NAME)",
    ),
    ("package", ": there is no `package`: a plugin that is a folder has `require` for its own files"),
    ("debug", ": there is no `debug`: print and sf.inspect show values"),
    ("load", ": there is no `load`: no text is run as code"),
    ("loadstring", ": there is no `loadstring`: no text is run as code"),
    ("dofile", ": there is no `dofile`: a plugin that is a folder has `require` for its own files"),
];
const NO_INPUT: &str =
    ": only a call has an input; result.call is the call of a result, and a function's second argument";
const READ_ONLY: &str =
    " (only functions of sf.on may write ctx.state; nothing of sf, ctx and the libraries can be changed)";

/// The hint for an error of Luau's own that is caused by a missing or forbidden feature.
fn hint(message: &str, source: &str) -> Option<&'static str> {
    if message == "attempt to modify a readonly table" {
        return Some(READ_ONLY);
    }
    let key = message.strip_prefix("attempt to index nil with '").and_then(|key| key.strip_suffix('\''));
    if key.is_some_and(|key| source.contains(&format!(".input.{key}"))) {
        return Some(NO_INPUT);
    }
    let is_nil = message == "attempt to call a nil value" || key.is_some();
    let is_named = |name: &str| {
        source.match_indices(name).any(|(at, _)| {
            let is_part = |ch: char| ch.is_ascii_alphanumeric() || ch == '_';
            let before = source[..at].chars().next_back();
            let after = source[at + name.len()..].chars().next();
            !before.is_some_and(|ch| is_part(ch) || matches!(ch, '.' | ':')) && !after.is_some_and(is_part)
        })
    };
    ABSENT.iter().find(|(name, _)| is_nil && is_named(name)).map(|(_, hint)| *hint)
}

/// The place of an error and its message.
fn explain(pack: &PluginSource, error: &mlua::Error) -> (Option<(String, usize)>, String) {
    let mut error = error;
    let mut traces = Vec::new();
    while let mlua::Error::CallbackError { traceback, cause } = error {
        traces.push(traceback.as_str());
        error = cause;
    }
    let text = match error {
        mlua::Error::RuntimeError(text) | mlua::Error::MemoryError(text) => text.clone(),
        mlua::Error::SyntaxError { message, .. } => message.clone(),
        mlua::Error::BadArgument { to, pos, cause, .. } => bad_argument(to.as_deref(), *pos, cause),
        other => other.to_string(),
    };
    let (message, trace) = text.split_once("\nstack traceback:").unwrap_or((&text, ""));
    // An error that our own Luau code passes on belongs to the plugin, whose place is further down the trace.
    let message = message.strip_prefix("prelude:").map_or(message, |rest| {
        rest.trim_start_matches(|ch: char| ch.is_ascii_digit() || matches!(ch, ':' | ' '))
    });
    if let Some((file, line, rest)) = pack.place(message) {
        return (Some((file, line)), rest.to_owned());
    }
    traces.insert(0, trace);
    let place = traces.iter().flat_map(|trace| trace.lines()).find_map(|line| pack.place(line.trim_start()));
    (place.map(|(file, line, _)| (file, line)), message.to_owned())
}

/// The message for a wrong argument of a host method, as a Lua author counts: mlua counts `self` as the first argument.
fn bad_argument(to: Option<&str>, position: usize, cause: &mlua::Error) -> String {
    let (method, position) = match to.and_then(|name| name.strip_prefix("LuaRegex.")) {
        Some(method) => (format!("re:{method}: "), position.saturating_sub(1)),
        None => (String::new(), position),
    };
    match cause {
        mlua::Error::FromLuaConversionError { from, to, .. } => {
            format!("{method}argument {position} must be a {}, got {from}", to.to_lowercase())
        }
        other => format!("{method}argument {position}: {other}"),
    }
}
