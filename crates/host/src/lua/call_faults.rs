//! Counts the calls of plugins and lets one fail, or all, for tests of what comes of it.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;

use streamfmt_core::item::Id;

use super::vm::Stop;
use crate::plugin::journal::{Fault, Met};

/// The calls of all plugins of a run.
#[derive(Default)]
pub(super) struct Meter {
    calls: Cell<u64>,
    fault: Option<Fault>,
    /// The item that is being told, if only one function of the plugins has a say in that.
    lone: RefCell<Option<Id>>,
    /// The items that were told so far, where there is a fault.
    entered: RefCell<HashSet<Id>>,
    met: RefCell<Option<Met>>,
}

impl Meter {
    pub(super) fn new(fault: Option<Fault>) -> Self {
        Self { fault, ..Self::default() }
    }

    /// Takes in that `item` is about to be told; `is_lone` says whether only one function of the plugins has a say in
    /// that. What is told of it later is the title that others name it by.
    pub(super) fn enter(&self, item: &Id, is_lone: impl FnOnce() -> bool) {
        if self.fault.is_some() {
            let is_first = self.entered.borrow_mut().insert(item.clone());
            self.lone.replace((is_first && is_lone()).then(|| item.clone()));
        }
    }

    /// Counts a call. What it is to give instead of being made, if anything.
    pub(super) fn next(&self, is_hook: bool) -> Option<Result<mlua::Value, Stop>> {
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
        self.met.replace(Some(Met { is_hook, lone }));
        let error = || mlua::Error::runtime("failed on purpose, to test the fallback");
        Some(if fails { Err(Stop::of(error())) } else { Ok(mlua::Value::Nil) })
    }

    pub(super) fn calls(&self) -> u64 {
        self.calls.get()
    }

    /// The last call that the fault met.
    pub(super) fn met(&self) -> Option<Met> {
        self.met.borrow().clone()
    }
}
