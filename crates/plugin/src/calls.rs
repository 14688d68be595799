//! What a plugin gets in its hands: the host, an item, and the answer that it writes.

#![expect(unsafe_code, reason = "items and sinks of the host are pointers, whose functions are called")]

use std::marker::PhantomData;

use crate::table::{BODY, LOG_INFO, OK, SfHost, SfItem, SfSink, SfStr, TITLE};

/// The functions of the program that a plugin runs in.
#[derive(Clone, Copy, Debug)]
pub struct HostApi(&'static SfHost);

impl HostApi {
    /// # Safety
    /// `host` is null or points to a host's table, which lives as long as the process.
    pub(crate) unsafe fn new(host: *const SfHost) -> Option<Self> {
        // SAFETY: the caller promises it.
        unsafe { host.as_ref() }.map(Self)
    }

    /// Whether the program has a feature that came after the first version of the interface: `observe`.
    pub fn has(self, feature: &str) -> bool {
        (self.0.has)(SfStr::of(feature)) == 1
    }

    /// Prints a line as the output of the plugin. It is to be called where one of the plugin's functions runs, on its thread.
    pub fn log(self, line: &str) {
        self.log_at(LOG_INFO, line);
    }

    pub(crate) fn log_at(self, level: i32, line: &str) {
        (self.0.log)(level, SfStr::of(line));
    }
}

/// An item, for as long as the plugin's function runs.
#[derive(Debug)]
pub struct ItemRef<'a> {
    host: HostApi,
    item: *const SfItem,
    /// Texts of the item live as long, and stay on this thread with it.
    life: PhantomData<&'a *const SfItem>,
}

impl<'a> ItemRef<'a> {
    /// # Safety
    /// `item` is an item of this host, and lives for `'a`.
    pub(crate) unsafe fn new(host: HostApi, item: *const SfItem) -> Self {
        Self { host, item, life: PhantomData }
    }

    /// A text by its place in the item's JSON, as a JSON pointer: `/tool`, `/input/command`, `/text`, `/data/stdout`. It costs much less
    /// than the whole item. `None`: there is none, or it isn't a text.
    pub fn str(&self, pointer: &str) -> Option<&'a str> {
        let mut out = SfStr::EMPTY;
        let code = (self.host.0.item_str)(self.item, SfStr::of(pointer), &raw mut out);
        // SAFETY: on success the host gives a text that lives as long as the item.
        (code == OK).then(|| unsafe { text(out) }).flatten()
    }

    /// A number, likewise; true is 1 and false is 0: `/data/exit`, `/line`.
    pub fn num(&self, pointer: &str) -> Option<f64> {
        let mut out = 0.0;
        let code = (self.host.0.item_num)(self.item, SfStr::of(pointer), &raw mut out);
        (code == OK).then_some(out)
    }

    /// The item as JSON: one line of `streamfmt --to items`, with `"partial": true` while it may still grow. `None` if that is too large.
    pub fn json(&self) -> Option<&'a str> {
        let mut out = SfStr::EMPTY;
        let code = (self.host.0.item_json)(self.item, &raw mut out);
        // SAFETY: on success the host gives a text that lives as long as the item.
        (code == OK).then(|| unsafe { text(out) }).flatten()
    }

    /// What would be shown without this plugin, as JSON with `mark`, `title` and `body`. `None`: nothing.
    pub fn default_json(&self) -> Option<&'a str> {
        let mut out = SfStr::EMPTY;
        let code = (self.host.0.item_default)(self.item, &raw mut out);
        // SAFETY: on success the host gives a text that lives as long as the item.
        (code == OK).then(|| unsafe { text(out) }).flatten()
    }

    /// What it is: `call`, `result`, `reply`, …
    pub fn kind(&self) -> &'a str {
        self.str("/kind").unwrap_or_default()
    }

    /// The tool, on calls and results.
    pub fn tool(&self) -> Option<&'a str> {
        self.str("/tool")
    }

    /// Whether it may still grow.
    pub fn is_partial(&self) -> bool {
        self.num("/partial") == Some(1.0)
    }

    /// The call that this result answers, if it is one and the call is known.
    pub fn call(&self) -> Option<Self> {
        let item = (self.host.0.item_call)(self.item);
        (!item.is_null()).then_some(Self { host: self.host, item, life: PhantomData })
    }
}

/// What a plugin says of an item. Text is copied at once. What the host doesn't take makes the plugin's function fail.
#[derive(Debug)]
pub struct Answer<'a> {
    host: HostApi,
    sink: *mut SfSink,
    life: PhantomData<&'a mut SfSink>,
}

impl Answer<'_> {
    /// # Safety
    /// `sink` is a sink of this host and lives for the lifetime of the answer.
    pub(crate) unsafe fn new(host: HostApi, sink: *mut SfSink) -> Self {
        Self { host, sink, life: PhantomData }
    }

    /// Takes what would be shown without this plugin, in place of all that is in the answer. False if nothing would be.
    pub fn start_from_default(&mut self) -> bool {
        (self.host.0.sink_default)(self.sink) == OK
    }

    /// Empties the title.
    pub fn clear_title(&mut self) {
        (self.host.0.sink_clear)(self.sink, TITLE);
    }

    /// Empties the body.
    pub fn clear_body(&mut self) {
        (self.host.0.sink_clear)(self.sink, BODY);
    }

    /// Adds text to the title. `role` names its meaning: `tool.name`, `call.arg`, `muted`, …
    pub fn span(&mut self, text: &str, role: &str) {
        (self.host.0.sink_span)(self.sink, SfStr::of(text), SfStr::of(role));
    }

    /// Adds a block of verbatim text. `lang` is a language or a file extension, or empty.
    pub fn code(&mut self, text: &str, lang: &str, role: &str) {
        (self.host.0.sink_code)(self.sink, SfStr::of(text), SfStr::of(lang), SfStr::of(role));
    }

    /// Adds blocks in the JSON form of `streamfmt --to json`: a list of them, or one.
    pub fn blocks(&mut self, json: &str) {
        (self.host.0.sink_blocks)(self.sink, SfStr::of(json));
    }

    /// Takes a whole view as JSON, in the form of [`ItemRef::default_json`], in place of all that is in the answer.
    pub fn view(&mut self, json: &str) {
        (self.host.0.sink_view)(self.sink, SfStr::of(json));
    }
}

/// # Safety
/// The text lives for `'a` and is UTF-8.
pub(crate) unsafe fn text<'a>(text: SfStr) -> Option<&'a str> {
    if text.len == 0 {
        return Some("");
    }
    if text.ptr.is_null() {
        return None;
    }
    // SAFETY: the caller promises that so many bytes are there for as long.
    let bytes = unsafe { std::slice::from_raw_parts(text.ptr, text.len) };
    std::str::from_utf8(bytes).ok()
}
