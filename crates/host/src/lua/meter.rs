//! Counts the calls of plugins, and makes one of them fail where a test wants to see what comes of it.

use std::cell::Cell;

use super::vm::Stop;

/// What is to become of one call of a plugin's function. The first call of a run has the number 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It raises an error.
    Fails(u64),
    /// It gives `nil`.
    Passes(u64),
    /// Every call raises an error.
    AllFail,
}

/// The calls of all plugins of a run.
#[derive(Default)]
pub(super) struct Meter {
    calls: Cell<u64>,
    fault: Option<Fault>,
    /// Whether the call that the fault met was one that may write its plugin's state.
    met_hook: Cell<Option<bool>>,
}

impl Meter {
    pub(super) fn new(fault: Option<Fault>) -> Self {
        Self { fault, ..Self::default() }
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
        self.met_hook.set(Some(is_hook));
        let error = || mlua::Error::runtime("made to fail, to see what is told then");
        Some(if fails { Err(Stop { trip: None, error: Some(error()) }) } else { Ok(mlua::Value::Nil) })
    }

    pub(super) fn calls(&self) -> u64 {
        self.calls.get()
    }

    pub(super) fn met_hook(&self) -> Option<bool> {
        self.met_hook.get()
    }
}
