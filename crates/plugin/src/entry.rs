//! The functions of the table, for any [`NativePlugin`]: they catch panics and turn errors into codes.

#![expect(unsafe_code, reason = "these functions are called through the table, with pointers")]

use std::any::Any;
use std::cell::RefCell;
use std::ffi::c_void;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use crate::calls::text;
use crate::table::{
    BEGIN, FAILED, HIDE, LOG_ERROR, MINOR, OK, PASS, SHOW, SfHost, SfItem, SfPlugin, SfSink, SfStr,
};
use crate::{Answer, Decision, HostApi, ItemRef, Moment, NativePlugin};

/// An instance, with the host that it was made for.
struct Running<P> {
    host: HostApi,
    plugin: P,
}

thread_local! {
    /// Where the last panic of this thread happened, while a function of the table runs on it.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The table of a plugin. [`export!`](crate::export) calls it once; what it makes lives as long as the process.
pub fn table_of<P: NativePlugin>() -> SfPlugin {
    SfPlugin {
        size: size_of::<SfPlugin>() as u32,
        minor: MINOR,
        name: SfStr::of(P::NAME),
        version: SfStr::of(P::VERSION),
        formats: SfStr::of(list(P::FORMATS).leak()),
        create: Some(create::<P>),
        destroy: Some(destroy::<P>),
        format: Some(format::<P>),
        session: Some(session::<P>),
        observes: SfStr::of(list(P::OBSERVES).leak()),
        observe: Some(observe::<P>),
    }
}

/// Names as a JSON list.
fn list(names: &[&str]) -> String {
    let mut json = String::from("[");
    for name in names {
        if json.len() > 1 {
            json.push(',');
        }
        json.push('"');
        for ch in name.chars() {
            match ch {
                '"' | '\\' => json.extend(['\\', ch]),
                ch if ch.is_control() => {
                    let _ = write!(json, "\\u{:04x}", u32::from(ch));
                }
                ch => json.push(ch),
            }
        }
        json.push('"');
    }
    json.push(']');
    json
}

/// Keeps the place of a panic for its report, instead of printing it. Panics of other threads are printed as before.
fn keep_places() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let keep = |kept: &RefCell<Option<String>>| {
                let mut kept = kept.borrow_mut();
                let is_ours = kept.is_some();
                if is_ours {
                    *kept = info.location().map(ToString::to_string);
                }
                is_ours
            };
            if !PLACE.try_with(keep).unwrap_or(false) {
                before(info);
            }
        }));
    });
}

/// Runs a part of a plugin. An error or a panic is logged and gives `None`.
fn caught<T>(host: HostApi, run: impl FnOnce() -> Result<T, String>) -> Option<T> {
    let outer = PLACE.replace(Some(String::new()));
    let done = catch_unwind(AssertUnwindSafe(run));
    let place = PLACE.replace(outer);
    let reason = match done {
        Ok(Ok(done)) => return Some(done),
        Ok(Err(reason)) => reason,
        Err(panic) => {
            let place = place.unwrap_or_default();
            let reason = format!("panicked at {place}: {}", words(&*panic));
            // Dropping what was thrown may panic again, and it is nothing but a message.
            std::mem::forget(panic);
            reason
        }
    };
    host.log_at(LOG_ERROR, &reason);
    None
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown reason")
}

unsafe extern "C" fn create<P: NativePlugin>(host: *const SfHost, options: SfStr) -> *mut c_void {
    keep_places();
    // SAFETY: the host gives its table, which lives as long as the process.
    let Some(host) = (unsafe { HostApi::new(host) }) else { return std::ptr::null_mut() };
    let made = caught(host, || {
        // SAFETY: the host's text lives until this function returns.
        let options = unsafe { text(options) }.ok_or("the options are not text")?;
        P::new(host, options)
    });
    made.map_or(std::ptr::null_mut(), |plugin| Box::into_raw(Box::new(Running { host, plugin })).cast())
}

unsafe extern "C" fn destroy<P: NativePlugin>(instance: *mut c_void) {
    if instance.is_null() {
        return;
    }
    // SAFETY: it was made by `create` of the same plugin, and the host ends it once.
    let running = unsafe { Box::from_raw(instance.cast::<Running<P>>()) };
    let host = running.host;
    caught(host, || {
        drop(running);
        Ok(())
    });
}

/// # Safety
/// `instance` was made by `create` of the same plugin and is used by nobody else meanwhile.
unsafe fn running<'a, P>(instance: *mut c_void) -> Option<&'a mut Running<P>> {
    // SAFETY: the caller promises it.
    unsafe { instance.cast::<Running<P>>().as_mut() }
}

unsafe extern "C" fn format<P: NativePlugin>(
    instance: *mut c_void,
    item: *const SfItem,
    sink: *mut SfSink,
) -> i32 {
    // SAFETY: the host calls an instance of its own from one thread at a time.
    let Some(Running { host, plugin }) = (unsafe { running::<P>(instance) }) else { return FAILED };
    // SAFETY: the host's item and sink live until this function returns.
    let (item, mut answer) = unsafe { (ItemRef::new(*host, item), Answer::new(*host, sink)) };
    match caught(*host, || plugin.format(&item, &mut answer)) {
        Some(Decision::Show) => SHOW,
        Some(Decision::Pass) => PASS,
        Some(Decision::Hide) => HIDE,
        None => FAILED,
    }
}

unsafe extern "C" fn session<P: NativePlugin>(
    instance: *mut c_void,
    moment: i32,
    session: SfStr,
    sink: *mut SfSink,
) -> i32 {
    // SAFETY: the host calls an instance of its own from one thread at a time.
    let Some(Running { host, plugin }) = (unsafe { running::<P>(instance) }) else { return FAILED };
    // SAFETY: the host's text and sink live until this function returns.
    let (session, mut answer) = unsafe { (text(session), Answer::new(*host, sink)) };
    let moment = if moment == BEGIN { Moment::Begin } else { Moment::End };
    let outcome = caught(*host, || plugin.session(moment, session.unwrap_or("{}"), &mut answer));
    outcome.map_or(FAILED, |()| OK)
}

unsafe extern "C" fn observe<P: NativePlugin>(
    instance: *mut c_void,
    item: *const SfItem,
    sink: *mut SfSink,
) -> i32 {
    // SAFETY: the host calls an instance of its own from one thread at a time.
    let Some(Running { host, plugin }) = (unsafe { running::<P>(instance) }) else { return FAILED };
    // SAFETY: the host's item and sink live until this function returns.
    let (item, mut answer) = unsafe { (ItemRef::new(*host, item), Answer::new(*host, sink)) };
    caught(*host, || plugin.observe(&item, &mut answer)).map_or(FAILED, |()| OK)
}
