//! What the host knows about a VM.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use mlua::{Function, Lua, LuaString};
use streamfmt_core::pattern::CountedRegex;

use super::current::{CurrentItem, Handle};
use super::item::Methods;
use super::registered::Registered;
use super::wrong;

/// What the functions of the host know about a VM, as mlua's app data: what its plugin declares, and the state of its handles.
pub(crate) struct Registry {
    /// The formatters, writers and dialects that the plugin registers while it is loaded.
    pub(crate) registered: RefCell<Registered>,
    /// The name that the plugin gave itself.
    pub(crate) name: RefCell<Option<String>>,
    /// Converts the state of the plugin's previous version after a reload.
    pub(crate) reload: RefCell<Option<Function>>,
    /// Whether loading has finished; nothing can be registered afterwards.
    pub(crate) is_loaded: Cell<bool>,
    pub(crate) patterns: RefCell<BTreeMap<String, CountedRegex>>,
    pub(crate) current: Rc<CurrentItem>,
    /// The function behind `default()`: what the layers below make of the current item or, given `true`, of its call.
    pub(crate) below: RefCell<Option<Function>>,
    /// The text read last: scripts often read its length and then the text itself.
    pub(crate) text: RefCell<Option<(Handle, LuaString)>>,
    pub(crate) methods: Methods,
}

impl Registry {
    /// Creates the registry of a VM, and installs handles.
    pub(crate) fn install(lua: &Lua, current: &Rc<CurrentItem>) -> mlua::Result<Rc<Self>> {
        let registry = Rc::new(Self {
            registered: RefCell::default(),
            name: RefCell::default(),
            reload: RefCell::default(),
            is_loaded: Cell::default(),
            patterns: RefCell::default(),
            current: Rc::clone(current),
            below: RefCell::default(),
            text: RefCell::default(),
            methods: Methods::new(lua)?,
        });
        lua.set_app_data(Rc::clone(&registry));
        Handle::install(lua, Rc::clone(&registry))?;
        Ok(registry)
    }

    /// Lets `register` add to what the plugin registers. Fails once the plugin is loaded; `what` names the function in messages.
    pub(crate) fn register(
        &self,
        what: &str,
        register: impl FnOnce(&mut Registered) -> Result<(), String>,
    ) -> mlua::Result<()> {
        if self.is_loaded.get() {
            return Err(wrong(format!("sf.{what}: only while the plugin is loaded")));
        }
        register(&mut self.registered.borrow_mut()).map_err(|error| wrong(format!("sf.{what}: {error}")))
    }
}

/// The registry of a VM.
pub(crate) fn registry(lua: &Lua) -> mlua::Result<Rc<Registry>> {
    lua.app_data_ref::<Rc<Registry>>()
        .map(|registry| Rc::clone(&registry))
        .ok_or_else(|| wrong("no item is available here"))
}
