//! What scripts look at just now: an item is lent to them while it is told, never copied, and out of reach after.

use std::cell::{Cell, RefCell};
use std::ptr;

use mlua::{IntoLua, LightUserData, Lua, Value};
use scoped_tls::scoped_thread_local;
use streamfmt_core::event::Usage;
use streamfmt_core::item::Item;
use streamfmt_core::session::{Facts, Session};

use crate::tools::amend::About;

scoped_thread_local!(static ITEM: Item);
scoped_thread_local!(static CALL: Item);

thread_local! {
    static NOW: Cell<Time> = const { Cell::new(Time { number: 0, has_call: false, is_read: false }) };
    static LAST: Cell<usize> = const { Cell::new(0) };
}

/// A time in which one item is at hand, and its call if it is a result. No two of a thread have the same number.
#[derive(Clone, Copy)]
struct Time {
    number: usize,
    has_call: bool,
    /// Whether items are made of it, so that nothing of it may be missing.
    is_read: bool,
}

/// Whether scripts read a record at the moment, to make items of it.
pub(super) fn is_reading() -> bool {
    NOW.get().is_read
}

/// Lends an item, and its call if it is a result, to the scripts that `work` runs on this thread.
fn lend<R>(item: &Item, call: Option<&Item>, is_read: bool, work: impl FnOnce() -> R) -> R {
    /// Goes back to the time before, also if `work` panics.
    struct Back(Time);
    impl Drop for Back {
        fn drop(&mut self) {
            NOW.set(self.0);
        }
    }
    // A number and one more bit is all that a script has of an item.
    let number = LAST.get() % (usize::MAX >> 1) + 1;
    LAST.set(number);
    let _back = Back(NOW.replace(Time { number, has_call: call.is_some(), is_read }));
    ITEM.set(item, || match call {
        Some(call) => CALL.set(call, work),
        None => work(),
    })
}

/// An item, as scripts have it: they may look at it for as long as it is at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle {
    /// Whether it is of the call of the result at hand, not of the item itself.
    is_call: bool,
    time: usize,
}

impl Handle {
    /// The item at hand.
    pub(super) fn item() -> Self {
        Self { is_call: false, time: NOW.get().number }
    }

    /// The call of the result at hand.
    pub(super) fn call() -> Option<Self> {
        let now = NOW.get();
        now.has_call.then_some(Self { is_call: true, time: now.number })
    }

    /// The call that the item at hand is about: the one that a result answers, or the item itself.
    pub(super) fn one_called() -> Self {
        Self::call().unwrap_or_else(Self::item)
    }

    /// The item that a script has, if it is one.
    pub(super) fn of(value: &Value) -> Option<Self> {
        let number = value.as_light_userdata()?.0.addr();
        Some(Self { is_call: number & 1 == 1, time: number >> 1 })
    }

    /// Whether it is of a call that a result answers.
    pub(super) fn is_call(self) -> bool {
        self.is_call
    }

    /// Whether the item is still at hand.
    pub(super) fn is_good(self) -> bool {
        self.time == NOW.get().number && self.time > 0
    }

    /// Looks at the item. It is an error if it is at hand no more.
    pub(super) fn look<R>(self, look: impl FnOnce(&Item) -> mlua::Result<R>) -> mlua::Result<R> {
        if !self.is_good() {
            return Err(mlua::Error::runtime(
                "this item belongs to an earlier call: keep the texts and numbers that are needed later",
            ));
        }
        if self.is_call { CALL.with(look) } else { ITEM.with(look) }
    }
}

impl IntoLua for Handle {
    fn into_lua(self, _: &Lua) -> mlua::Result<Value> {
        // A number that is not 0.
        let number = self.time << 1 | usize::from(self.is_call);
        Ok(Value::LightUserData(LightUserData(ptr::without_provenance_mut(number))))
    }
}

/// What the plugins of one run look at.
#[derive(Default)]
pub(super) struct Current {
    facts: RefCell<Facts>,
    usage: Cell<Usage>,
}

impl Current {
    /// Does `work`, in which scripts may see an item, its call if it is a result, and the facts of the run.
    pub(super) fn show<R>(&self, about: About<'_>, work: impl FnOnce() -> R) -> R {
        self.note(about.session);
        lend(about.item, about.call, false, work)
    }

    /// Does `work`, in which scripts make items of a record, that of `item`.
    pub(super) fn read<R>(&self, item: &Item, session: &Session, work: impl FnOnce() -> R) -> R {
        self.note(session);
        lend(item, None, true, work)
    }

    /// Lets scripts see the facts of the run as they are now.
    pub(super) fn note(&self, session: &Session) {
        if *self.facts.borrow() != *session.facts() {
            self.facts.borrow_mut().clone_from(session.facts());
        }
        self.usage.set(session.usage());
    }

    /// Reads the facts of the run.
    pub(super) fn facts<R>(&self, read: impl FnOnce(&Facts, Usage) -> R) -> R {
        read(&self.facts.borrow(), self.usage.get())
    }
}
