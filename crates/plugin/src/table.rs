//! The table of the C interface, as `streamfmt_plugin.h` has it. The header explains each field; a test compares the two.

use std::ffi::c_void;

/// The major version: it is in the name of the function that a library exports.
pub const MAJOR: u32 = 1;
/// The minor version that these tables describe.
pub const MINOR: u32 = 1;

/// Done.
pub const OK: i32 = 0;
/// There is no such value, or it has another type.
pub const ABSENT: i32 = 1;
/// An argument can't be used.
pub const INVALID: i32 = -1;
/// Too much.
pub const LIMIT: i32 = -2;

/// Show what is in the sink.
pub const SHOW: i32 = 0;
/// Leave the item to the next plugin.
pub const PASS: i32 = 1;
/// Show nothing.
pub const HIDE: i32 = 2;
/// It failed.
pub const FAILED: i32 = -1;

/// The first item is about to come.
pub const BEGIN: i32 = 0;
/// The input has ended.
pub const END: i32 = 1;

/// The title of a view.
pub const TITLE: i32 = 1;
/// The body of a view.
pub const BODY: i32 = 2;

/// Printed as the output of the plugin.
pub const LOG_INFO: i32 = 0;
/// The reason, if the function fails.
pub const LOG_ERROR: i32 = 1;

/// Text, borrowed. An empty one may have a null pointer.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SfStr {
    /// Its first byte.
    pub ptr: *const u8,
    /// How many bytes it has.
    pub len: usize,
}

impl SfStr {
    /// No text.
    pub const EMPTY: Self = Self { ptr: std::ptr::null(), len: 0 };

    /// A text that lives at least as long as it is used.
    pub const fn of(text: &str) -> Self {
        Self { ptr: text.as_ptr(), len: text.len() }
    }
}

/// An item. It belongs to the host.
#[repr(C)]
#[derive(Debug)]
pub struct SfItem {
    _opaque: [u8; 0],
}

/// What a plugin says of an item. It belongs to the host.
#[repr(C)]
#[derive(Debug)]
pub struct SfSink {
    _opaque: [u8; 0],
}

/// What the host offers.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the header explains each field")]
pub struct SfHost {
    pub size: u32,
    pub minor: u32,
    pub has: extern "C" fn(SfStr) -> i32,
    pub log: extern "C" fn(i32, SfStr),
    pub item_json: extern "C" fn(*const SfItem, *mut SfStr) -> i32,
    pub item_str: extern "C" fn(*const SfItem, SfStr, *mut SfStr) -> i32,
    pub item_num: extern "C" fn(*const SfItem, SfStr, *mut f64) -> i32,
    pub item_call: extern "C" fn(*const SfItem) -> *const SfItem,
    pub item_default: extern "C" fn(*const SfItem, *mut SfStr) -> i32,
    pub sink_default: extern "C" fn(*mut SfSink) -> i32,
    pub sink_clear: extern "C" fn(*mut SfSink, i32) -> i32,
    pub sink_span: extern "C" fn(*mut SfSink, SfStr, SfStr) -> i32,
    pub sink_code: extern "C" fn(*mut SfSink, SfStr, SfStr, SfStr) -> i32,
    pub sink_blocks: extern "C" fn(*mut SfSink, SfStr) -> i32,
    pub sink_view: extern "C" fn(*mut SfSink, SfStr) -> i32,
}

/// What a plugin offers. A function that isn't there is null.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the header explains each field")]
pub struct SfPlugin {
    pub size: u32,
    pub minor: u32,
    pub name: SfStr,
    pub version: SfStr,
    pub formats: SfStr,
    pub create: Option<unsafe extern "C" fn(*const SfHost, SfStr) -> *mut c_void>,
    pub destroy: Option<unsafe extern "C" fn(*mut c_void)>,
    pub format: Option<unsafe extern "C" fn(*mut c_void, *const SfItem, *mut SfSink) -> i32>,
    pub session: Option<unsafe extern "C" fn(*mut c_void, i32, SfStr, *mut SfSink) -> i32>,
    pub observes: SfStr,
    pub observe: Option<unsafe extern "C" fn(*mut c_void, *const SfItem, *mut SfSink) -> i32>,
}

#[expect(
    unsafe_code,
    reason = "the table is never written after it is made, and its texts live as long as the library"
)]
mod shared {
    use super::{SfHost, SfPlugin};

    // SAFETY: all fields are plain data or functions; nobody writes them once the table is made, and the texts that they point to
    // are never freed.
    unsafe impl Sync for SfPlugin {}
    // SAFETY: as above.
    unsafe impl Send for SfPlugin {}
    // SAFETY: as above: the functions of a host may be called from any thread.
    unsafe impl Sync for SfHost {}
}

/// The function that a library exports, by its type.
pub type Entry = unsafe extern "C" fn(*const SfHost) -> *const SfPlugin;
