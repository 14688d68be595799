//! What may go to another thread, and what stays on its own.

#![cfg(feature = "lua")]

use streamfmt::Engine;
use streamfmt::core::pipeline::Pipeline;
use streamfmt::plugin::pack::Pack;

#[test]
fn what_scripts_take_part_in_stays_on_its_thread() {
    let pack = Pack::from_source("x.lua", r#"sf.tool("*", { label = "x" })"#);
    let engine = Engine::builder().pack(pack).build().unwrap();
    assert!(Pipeline::new(engine.setup()).stages().is_none());
}
