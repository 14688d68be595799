//! Functions that failed at an item while it was open: until it is whole they aren't asked of it again.

use std::cell::RefCell;
use std::collections::VecDeque;

use mlua::Function;
use streamfmt_core::item::Id;

/// Items that are remembered: more than may be open at the same time. Of those that were given up nobody hears.
const MOST_ITEMS: usize = 512;

/// Functions that failed at open items, by item.
#[derive(Default)]
pub(super) struct RestingFunctions(RefCell<VecDeque<(Id, Vec<FunctionAddress>)>>);

/// Where a function of a machine lies. Registered ones stay there as long as the machine.
type FunctionAddress = usize;

impl RestingFunctions {
    /// Whether a function failed at an item.
    pub(super) fn rests(&self, item: &Id, function: &Function) -> bool {
        let items = self.0.borrow();
        let mut of_item = items.iter().filter(|(id, _)| id == item);
        of_item.any(|(_, functions)| functions.contains(&address(function)))
    }

    /// A function has failed at an item that is open.
    pub(super) fn rest(&self, item: &Id, function: &Function) {
        let mut items = self.0.borrow_mut();
        if let Some((_, functions)) = items.iter_mut().find(|(id, _)| id == item) {
            return functions.push(address(function));
        }
        if items.len() == MOST_ITEMS {
            items.pop_front();
        }
        items.push_back((item.clone(), vec![address(function)]));
    }

    /// An item is whole: all are asked of it.
    pub(super) fn wake(&self, item: &Id) {
        let mut items = self.0.borrow_mut();
        if !items.is_empty() {
            items.retain(|(id, _)| id != item);
        }
    }
}

fn address(function: &Function) -> FunctionAddress {
    function.to_pointer().addr()
}
