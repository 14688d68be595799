//! The item that scripts see at the moment. It is lent for the length of one call, never copied, and can't be reached afterwards.

use std::cell::{Cell, RefCell};
use std::ptr;

use mlua::{IntoLua, LightUserData, Lua, Value};
use scoped_tls::scoped_thread_local;
use streamfmt_core::event::Usage;
use streamfmt_core::item::Item;
use streamfmt_core::session::{Facts, Session};

use crate::tools::request::FormatRequest;

scoped_thread_local!(static ITEM: Item);
scoped_thread_local!(static CALL: Item);

thread_local! {
    static NOW: Cell<Time> = const { Cell::new(Time { number: 0, has_call: false, is_read: false }) };
    static LAST: Cell<usize> = const { Cell::new(0) };
}

/// A period in which one item, and its call if it is a result, is lent to scripts. Its number is unique within a thread.
#[derive(Clone, Copy)]
struct Time {
    number: usize,
    has_call: bool,
    /// Whether a dialect makes items from it, so that its JSON must be complete.
    is_read: bool,
}

/// Whether a dialect is reading a record at the moment.
pub(crate) fn is_reading() -> bool {
    NOW.get().is_read
}

/// Lends an item, and its call if it is a result, to the scripts that `work` runs on this thread.
fn lend<R>(item: &Item, call: Option<&Item>, is_read: bool, work: impl FnOnce() -> R) -> R {
    /// Restores the previous period, even if `work` panics.
    struct Back(Time);
    impl Drop for Back {
        fn drop(&mut self) {
            NOW.set(self.0);
        }
    }
    // The handle stores the number and one more bit in a pointer.
    let number = LAST.get() % (usize::MAX >> 1) + 1;
    LAST.set(number);
    let _back = Back(NOW.replace(Time { number, has_call: call.is_some(), is_read }));
    ITEM.set(item, || match call {
        Some(call) => CALL.set(call, work),
        None => work(),
    })
}

/// A script's handle to an item, valid only while the item is lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle {
    /// Whether it refers to the call of the lent result, instead of the lent item itself.
    is_call: bool,
    time: usize,
}

impl Handle {
    /// A handle to the lent item.
    pub(crate) fn item() -> Self {
        Self { is_call: false, time: NOW.get().number }
    }

    /// A handle to the call of the lent result.
    pub(crate) fn call() -> Option<Self> {
        let now = NOW.get();
        now.has_call.then_some(Self { is_call: true, time: now.number })
    }

    /// A handle to the call in question: the one that a result answers, or else the lent item itself.
    pub(crate) fn call_or_item() -> Self {
        Self::call().unwrap_or_else(Self::item)
    }

    /// Converts from a script's value. Returns `None` if that isn't a handle.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        let number = value.as_light_userdata()?.0.addr();
        Some(Self { is_call: number & 1 == 1, time: number >> 1 })
    }

    /// Whether it refers to the call that a result answers.
    pub(crate) fn is_call(self) -> bool {
        self.is_call
    }

    /// Whether the item is still lent.
    pub(crate) fn is_valid(self) -> bool {
        self.time == NOW.get().number && self.time > 0
    }

    /// Passes the item to `read`. Fails if it is no longer lent.
    pub(crate) fn with<R>(self, read: impl FnOnce(&Item) -> mlua::Result<R>) -> mlua::Result<R> {
        if !self.is_valid() {
            return Err(mlua::Error::runtime(
                "this item belongs to an earlier call: keep the texts and numbers that are needed later",
            ));
        }
        if self.is_call { CALL.with(read) } else { ITEM.with(read) }
    }
}

impl IntoLua for Handle {
    fn into_lua(self, _: &Lua) -> mlua::Result<Value> {
        // Never 0, so the pointer isn't null.
        let number = self.time << 1 | usize::from(self.is_call);
        Ok(Value::LightUserData(LightUserData(ptr::without_provenance_mut(number))))
    }
}

/// The session facts that the plugins of one run can see.
#[derive(Default)]
pub(crate) struct CurrentItem {
    facts: RefCell<Facts>,
    usage: Cell<Usage>,
}

impl CurrentItem {
    /// Runs `work` while scripts can see an item, its call if it is a result, and the facts of the run.
    pub(crate) fn show<R>(&self, request: FormatRequest<'_>, work: impl FnOnce() -> R) -> R {
        self.note(request.session);
        lend(request.item, request.call, false, work)
    }

    /// Runs `work` while scripts make items from the record of `item`.
    pub(crate) fn read<R>(&self, item: &Item, session: &Session, work: impl FnOnce() -> R) -> R {
        self.note(session);
        lend(item, None, true, work)
    }

    /// Updates the facts of the run that scripts can see.
    pub(crate) fn note(&self, session: &Session) {
        if *self.facts.borrow() != *session.facts() {
            self.facts.borrow_mut().clone_from(session.facts());
        }
        self.usage.set(session.usage());
    }

    /// Passes the facts of the run to `read`.
    pub(crate) fn facts<R>(&self, read: impl FnOnce(&Facts, Usage) -> R) -> R {
        read(&self.facts.borrow(), self.usage.get())
    }
}
