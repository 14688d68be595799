//! Remembers functions that failed for an open item; they aren't called for it again until it is complete.

use std::cell::RefCell;
use std::collections::VecDeque;

use mlua::Function;
use streamfmt_core::item::Id;

/// Most items that are remembered: more than are open at the same time. An item that never completes is dropped this way.
const MOST_ITEMS: usize = 512;

/// The functions that failed, by open item.
#[derive(Default)]
pub(super) struct RestingFunctions(RefCell<VecDeque<(Id, Vec<FunctionAddress>)>>);

/// The address of a function in its VM. Registered functions keep theirs as long as the VM exists.
type FunctionAddress = usize;

impl RestingFunctions {
    /// Whether a function failed for an item.
    pub(super) fn rests(&self, item: &Id, function: &Function) -> bool {
        let items = self.0.borrow();
        let mut of_item = items.iter().filter(|(id, _)| id == item);
        of_item.any(|(_, functions)| functions.contains(&address(function)))
    }

    /// Records that a function failed for an open item.
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

    /// Forgets the failures of an item that is now complete.
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

#[cfg(test)]
mod tests {
    use mlua::Lua;

    use super::*;

    #[test]
    fn of_too_many_items_the_oldest_is_forgotten() {
        let lua = Lua::new();
        let function = lua.create_function(|_, ()| Ok(())).unwrap();
        let resting = RestingFunctions::default();
        let id = |number: usize| Id::from(number.to_string());
        for number in 0..MOST_ITEMS {
            resting.rest(&id(number), &function);
        }
        assert!(resting.rests(&id(0), &function));
        resting.rest(&id(MOST_ITEMS), &function);
        let rests = [0, 1, MOST_ITEMS].map(|number| resting.rests(&id(number), &function));
        assert_eq!(rests, [false, true, true]);
    }
}
