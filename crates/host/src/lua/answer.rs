//! What scripts return, and what they receive besides items: blocks and lines as tables, and the items of dialects.

pub(crate) mod block;
pub(crate) mod new_items;
pub(crate) mod value;
pub(crate) mod view_to_lua;
