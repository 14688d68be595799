//! Counts the calls of plugins, and makes one or all of them fail so that tests can check the fallback.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;

use streamfmt_core::item::Id;

use crate::plugin::journal::{Fault, FaultyCall};

/// The calls of all plugins of a run.
#[derive(Default)]
pub(crate) struct CallCounter {
    pub(crate) calls: Cell<u64>,
    fault: Option<Fault>,
    /// The item being formatted, if exactly one plugin function formats it.
    lone: RefCell<Option<Id>>,
    /// The items formatted so far. Filled only when there is a fault.
    entered: RefCell<HashSet<Id>>,
    /// The last call that the fault replaced.
    pub(crate) faulty_call: RefCell<Option<FaultyCall>>,
}

impl CallCounter {
    pub(crate) fn new(fault: Option<Fault>) -> Self {
        Self { fault, ..Self::default() }
    }

    /// Records that `item` is about to be formatted. `is_lone` returns whether exactly one plugin function formats it. Later
    /// calls for the same item only make the title by which others name it.
    pub(crate) fn enter(&self, item: &Id, is_lone: impl FnOnce() -> bool) {
        if self.fault.is_some() {
            let is_first = self.entered.borrow_mut().insert(item.clone());
            self.lone.replace((is_first && is_lone()).then(|| item.clone()));
        }
    }

    /// Counts a call. Returns the result to use in place of making the call, if the fault applies to it.
    pub(crate) fn next(&self, is_hook: bool) -> Option<mlua::Result<mlua::Value>> {
        let number = self.calls.get() + 1;
        self.calls.set(number);
        let (fails, is_met) = match self.fault? {
            Fault::Fails(at) => (true, at == number),
            Fault::Passes(at) => (false, at == number),
            Fault::AllFail => (true, true),
        };
        if !is_met {
            return None;
        }
        let lone = self.lone.borrow().clone().filter(|_| !is_hook);
        self.faulty_call.replace(Some(FaultyCall { is_hook, lone }));
        let error = || mlua::Error::runtime("failed on purpose, to test the fallback");
        Some(if fails { Err(error()) } else { Ok(mlua::Value::Nil) })
    }
}
