//! The functions that plugins call, and the data behind their arguments.
//!
//! An item is passed as the address of a [`FrameItem`], a sink as the address of a [`CallFrame`]. Both are on the stack of the
//! call to the plugin, and valid until it returns. Texts passed to the plugin are kept until then, up to a limit.

#![expect(unsafe_code, reason = "plugins pass pointers: to items and sinks of ours, and to texts of theirs")]

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};
use streamfmt_core::contract::write_item;
use streamfmt_core::entry::{Block, Line, Role, View};
use streamfmt_core::formatter::Verdict;
use streamfmt_core::item::{Item, Status};
use streamfmt_core::text::Text;
use streamfmt_core::theme;
use streamfmt_plugin::table::{
    ABSENT, BODY, INVALID, LIMIT, LOG_ERROR, MINOR, OK, SfHost, SfItem, SfSink, SfStr, TITLE,
};

use super::pointer::{Scalar, find};
use crate::plugin::library::text_of;

/// Most bytes of text that are created for one call to a plugin.
const MOST_BYTES: usize = 64 << 20;
/// The least size that a text counts as, since even a short one has overhead.
const LEAST_COUNTED: usize = 512;
/// Largest answer of one call to a plugin, in bytes.
const MOST_ANSWERED: usize = 16 << 20;
/// Most parts in an answer.
const MOST_PARTS: usize = 10_000;
/// Longest pointer, role or name, in bytes.
const LONGEST_NAME: usize = 4 << 10;
/// Longest line in a log, in bytes.
const LONGEST_LOG: usize = 64 << 10;
/// Most lines that a plugin may log during one call.
const MOST_LOGGED: usize = 1_000;

/// The features for which `has` returns true.
const FEATURES: &[&str] = &["observe"];

/// The table that all plugins receive.
pub(super) static HOST: SfHost = SfHost {
    size: size_of::<SfHost>() as u32,
    minor: MINOR,
    has,
    log,
    item_json,
    item_str,
    item_num,
    item_call,
    item_default,
    sink_default,
    sink_clear,
    sink_span,
    sink_code,
    sink_blocks,
    sink_view,
};

/// The arguments and the answer of one call to a plugin's function.
pub(super) struct CallFrame<'a> {
    item: Option<FrameItem<'a>>,
    call: Option<FrameItem<'a>>,
    answer: RefCell<View>,
    parts: Cell<usize>,
    answered: Cell<usize>,
    /// The reason why the answer can't be used.
    refused: RefCell<Option<String>>,
}

/// An item as passed to plugins.
struct FrameItem<'a> {
    item: &'a Item,
    /// Returns the verdict of the layers below about the item or, given `true`, about its call.
    below: &'a dyn Fn(bool) -> Verdict,
    is_call: bool,
    json: OnceCell<Result<SfStr, i32>>,
    default: OnceCell<Result<SfStr, i32>>,
    /// The texts that were created for the plugin.
    kept: RefCell<Vec<String>>,
    /// Their size, as counted against [`MOST_BYTES`].
    bytes: Cell<usize>,
    /// The call that it answers. Set once its address no longer changes.
    call: Cell<*const SfItem>,
}

/// The lines that a plugin logged during one call.
#[derive(Default)]
pub(super) struct Logged {
    /// Each line, with whether it may be the reason of a failure.
    pub(super) lines: Vec<(bool, String)>,
}

thread_local! {
    /// The logs of all calls in progress, innermost last.
    static LOGS: RefCell<Vec<Logged>> = const { RefCell::new(Vec::new()) };
}

/// Runs a function of a plugin, and returns what it logged.
pub(super) fn logged<T>(run: impl FnOnce() -> T) -> (T, Logged) {
    LOGS.with_borrow_mut(|logs| logs.push(Logged::default()));
    let done = run();
    let logged = LOGS.with_borrow_mut(Vec::pop);
    (done, logged.unwrap_or_default())
}

impl<'a> CallFrame<'a> {
    /// A call about an item; `call` is the call that the item answers. `below` returns the verdict of the layers below about the item or,
    /// given `true`, about its call.
    pub(super) fn new(
        item: Option<&'a Item>,
        call: Option<&'a Item>,
        below: &'a dyn Fn(bool) -> Verdict,
    ) -> Self {
        let frame = |item, is_call| FrameItem {
            item,
            below,
            is_call,
            json: OnceCell::new(),
            default: OnceCell::new(),
            kept: RefCell::default(),
            bytes: Cell::new(0),
            call: Cell::new(std::ptr::null()),
        };
        Self {
            item: item.map(|item| frame(item, false)),
            call: call.map(|call| frame(call, true)),
            answer: RefCell::default(),
            parts: Cell::new(0),
            answered: Cell::new(0),
            refused: RefCell::default(),
        }
    }

    /// Calls the plugin with the addresses of the item, which may be null, and the sink.
    pub(super) fn enter<T>(&self, call: impl FnOnce(*const SfItem, *mut SfSink) -> T) -> T {
        let address = |item: &FrameItem<'a>| std::ptr::from_ref(item).cast::<SfItem>();
        let item = self.item.as_ref().map_or(std::ptr::null(), address);
        if let (Some(item), Some(call)) = (&self.item, &self.call) {
            item.call.set(address(call));
        }
        call(item, std::ptr::from_ref(self).cast_mut().cast())
    }

    /// The answer, or the reason why it can't be used.
    pub(super) fn into_answer(self) -> Result<View, String> {
        match self.refused.into_inner() {
            None => Ok(self.answer.into_inner()),
            Some(why) => Err(why),
        }
    }

    /// Rejects a part of the answer, and thereby the whole answer.
    fn refuse(&self, code: i32, why: impl Into<String>) -> i32 {
        self.refused.borrow_mut().get_or_insert_with(|| why.into());
        code
    }

    /// Counts a part of the answer against the limits.
    fn count(&self, bytes: usize) -> Result<(), i32> {
        self.parts.set(self.parts.get() + 1);
        self.answered.set(self.answered.get().saturating_add(bytes));
        if self.parts.get() > MOST_PARTS {
            return Err(self.refuse(LIMIT, format!("its answer has more than {MOST_PARTS} parts")));
        }
        if self.answered.get() > MOST_ANSWERED {
            return Err(self.refuse(LIMIT, format!("its answer is larger than {} MiB", MOST_ANSWERED >> 20)));
        }
        Ok(())
    }

    /// Reads a text of the plugin.
    ///
    /// # Safety
    /// See [`text_of`].
    unsafe fn text<'t>(&self, text: SfStr, what: &str, longest: usize) -> Result<&'t str, i32> {
        // SAFETY: guaranteed by the caller.
        unsafe { text_of(text, longest) }
            .map_err(|why| self.refuse(INVALID, format!("the {what} of its answer {why}")))
    }
}

impl FrameItem<'_> {
    /// Keeps a text until the call returns, if the limit allows.
    fn keep(&self, text: String) -> Result<SfStr, i32> {
        self.bytes.set(self.bytes.get().saturating_add(text.len().max(LEAST_COUNTED)));
        if self.bytes.get() > MOST_BYTES {
            return Err(LIMIT);
        }
        let mut kept = self.kept.borrow_mut();
        kept.push(text);
        Ok(kept.last().map_or(SfStr::EMPTY, |text| SfStr::of(text)))
    }

    /// The item as JSON.
    fn json(&self) -> Result<SfStr, i32> {
        let mut json = String::new();
        write_item(self.item, &mut json).map_err(|_| INVALID)?;
        json.truncate(json.trim_end().len());
        if self.item.status == Status::Open {
            json.pop();
            json.push_str(",\"partial\":true}");
        }
        self.keep(json)
    }

    /// The view of the layers below as JSON.
    fn default(&self) -> Result<SfStr, i32> {
        let Verdict::Show(view) = (self.below)(self.is_call) else { return Err(ABSENT) };
        let json = ViewJson { mark: view.mark, title: &view.title, body: &view.body };
        self.keep(serde_json::to_string(&json).map_err(|_| INVALID)?)
    }
}

/// Runs a host function. A panic must not unwind into a plugin's frames.
fn guarded<T>(otherwise: T, run: impl FnOnce() -> Result<T, T>) -> T {
    catch_unwind(AssertUnwindSafe(run)).map_or(otherwise, |done| done.unwrap_or_else(|code| code))
}

/// # Safety
/// `item` is null, or the address of an item whose call of the plugin still runs.
unsafe fn item_at<'a>(item: *const SfItem) -> Result<&'a FrameItem<'a>, i32> {
    // SAFETY: guaranteed by the caller.
    unsafe { item.cast::<FrameItem<'a>>().as_ref() }.ok_or(INVALID)
}

/// # Safety
/// `sink` is null, or the address of a sink whose call of the plugin still runs.
unsafe fn sink_at<'a>(sink: *mut SfSink) -> Result<&'a CallFrame<'a>, i32> {
    // SAFETY: guaranteed by the caller.
    unsafe { sink.cast_const().cast::<CallFrame<'a>>().as_ref() }.ok_or(INVALID)
}

/// # Safety
/// `out` is null, or may be written to.
unsafe fn put<T>(out: *mut T, value: T) -> Result<i32, i32> {
    if out.is_null() || !out.is_aligned() {
        return Err(INVALID);
    }
    // SAFETY: guaranteed by the caller.
    unsafe { out.write(value) };
    Ok(OK)
}

extern "C" fn has(feature: SfStr) -> i32 {
    // SAFETY: the interface requires a valid text.
    let feature = unsafe { text_of(feature, LONGEST_NAME) };
    i32::from(feature.is_ok_and(|feature| FEATURES.contains(&feature)))
}

extern "C" fn log(level: i32, message: SfStr) {
    guarded((), || {
        let message = SfStr { len: message.len.min(LONGEST_LOG), ..message };
        if message.len > 0 && message.ptr.is_null() {
            return Ok(());
        }
        let bytes: &[u8] = if message.len == 0 {
            b""
        } else {
            // SAFETY: the interface requires a valid text.
            unsafe { std::slice::from_raw_parts(message.ptr, message.len) }
        };
        let line = String::from_utf8_lossy(bytes).into_owned();
        LOGS.with_borrow_mut(|logs| {
            let Some(log) = logs.last_mut() else { return };
            match log.lines.len() {
                0..MOST_LOGGED => log.lines.push((level == LOG_ERROR, line)),
                MOST_LOGGED => log.lines.push((false, "(further lines are omitted)".to_owned())),
                _ => {}
            }
        });
        Ok(())
    });
}

extern "C" fn item_json(item: *const SfItem, out: *mut SfStr) -> i32 {
    guarded(INVALID, || {
        // SAFETY: the interface requires an item of the running call.
        let item = unsafe { item_at(item) }?;
        let json = *item.json.get_or_init(|| item.json());
        // SAFETY: the interface requires a writable address.
        unsafe { put(out, json?) }
    })
}

/// The scalar at a pointer.
///
/// # Safety
/// As the interface requires: an item of the running call, and a valid text.
unsafe fn scalar<'a>(item: &'a FrameItem<'a>, pointer: SfStr) -> Result<Scalar<'a>, i32> {
    // SAFETY: guaranteed by the caller.
    let pointer = unsafe { text_of(pointer, LONGEST_NAME) }.map_err(|_| INVALID)?;
    find(item.item, pointer).ok_or(ABSENT)
}

extern "C" fn item_str(item: *const SfItem, pointer: SfStr, out: *mut SfStr) -> i32 {
    guarded(INVALID, || {
        // SAFETY: the interface requires an item of the running call.
        let item = unsafe { item_at(item) }?;
        // SAFETY: as the interface requires.
        let text = match unsafe { scalar(item, pointer) }? {
            Scalar::Text(Cow::Borrowed(text)) => SfStr::of(text),
            Scalar::Text(Cow::Owned(text)) => item.keep(text)?,
            Scalar::Number(_) => return Err(ABSENT),
        };
        // SAFETY: the interface requires a writable address.
        unsafe { put(out, text) }
    })
}

extern "C" fn item_num(item: *const SfItem, pointer: SfStr, out: *mut f64) -> i32 {
    guarded(INVALID, || {
        // SAFETY: the interface requires an item of the running call.
        let item = unsafe { item_at(item) }?;
        // SAFETY: as the interface requires.
        let Scalar::Number(number) = unsafe { scalar(item, pointer) }? else { return Err(ABSENT) };
        // SAFETY: the interface requires a writable address.
        unsafe { put(out, number) }
    })
}

extern "C" fn item_call(item: *const SfItem) -> *const SfItem {
    // SAFETY: the interface requires an item of the running call.
    unsafe { item_at(item) }.map_or(std::ptr::null(), |item| item.call.get())
}

/// A view, in the form that plugins receive.
#[derive(Serialize)]
struct ViewJson<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    mark: Option<&'static str>,
    title: &'a Line,
    body: &'a [Block],
}

/// A view, in the form that plugins return.
#[derive(Deserialize)]
struct AnswerJson {
    mark: Option<String>,
    #[serde(default)]
    title: Line,
    #[serde(default)]
    body: Vec<Block>,
}

extern "C" fn item_default(item: *const SfItem, out: *mut SfStr) -> i32 {
    guarded(INVALID, || {
        // SAFETY: the interface requires an item of the running call.
        let item = unsafe { item_at(item) }?;
        let json = *item.default.get_or_init(|| item.default());
        // SAFETY: the interface requires a writable address.
        unsafe { put(out, json?) }
    })
}

extern "C" fn sink_default(sink: *mut SfSink) -> i32 {
    guarded(INVALID, || {
        // SAFETY: the interface requires a sink of the running call.
        let sink = unsafe { sink_at(sink) }?;
        sink.count(0)?;
        let item = sink.item.as_ref().ok_or(ABSENT)?;
        let Verdict::Show(view) = (item.below)(item.is_call) else { return Err(ABSENT) };
        sink.answer.replace(view);
        Ok(OK)
    })
}

extern "C" fn sink_clear(sink: *mut SfSink, parts: i32) -> i32 {
    guarded(INVALID, || {
        // SAFETY: the interface requires a sink of the running call.
        let sink = unsafe { sink_at(sink) }?;
        sink.count(0)?;
        if parts & !(TITLE | BODY) != 0 {
            return Err(sink.refuse(INVALID, format!("it clears parts {parts}, which a view doesn't have")));
        }
        let mut answer = sink.answer.borrow_mut();
        if parts & TITLE != 0 {
            let view = std::mem::take(&mut *answer);
            *answer = view.retitled(Line::default());
        }
        if parts & BODY != 0 {
            answer.body.clear();
        }
        Ok(OK)
    })
}

/// Parses a role. An invalid name counts as the role of plain text.
fn role(name: &str) -> Role {
    Role::parse(name).unwrap_or(Role::of("text"))
}

extern "C" fn sink_span(sink: *mut SfSink, text: SfStr, name: SfStr) -> i32 {
    guarded(INVALID, || {
        // SAFETY: the interface requires a sink of the running call.
        let sink = unsafe { sink_at(sink) }?;
        sink.count(text.len)?;
        // SAFETY: the interface requires valid texts.
        let (text, name) =
            unsafe { (sink.text(text, "title", MOST_ANSWERED)?, sink.text(name, "role", LONGEST_NAME)?) };
        sink.answer.borrow_mut().title.attach(role(name), text);
        Ok(OK)
    })
}

extern "C" fn sink_code(sink: *mut SfSink, text: SfStr, lang: SfStr, name: SfStr) -> i32 {
    guarded(INVALID, || {
        // SAFETY: the interface requires a sink of the running call.
        let sink = unsafe { sink_at(sink) }?;
        sink.count(text.len)?;
        // SAFETY: the interface requires valid texts.
        let (text, lang, name) = unsafe {
            (
                sink.text(text, "code", MOST_ANSWERED)?,
                sink.text(lang, "language", LONGEST_NAME)?,
                sink.text(name, "role", LONGEST_NAME)?,
            )
        };
        let lang = (!lang.is_empty()).then(|| Text::clean(lang));
        let text = Text::clean(text.strip_suffix('\n').unwrap_or(text));
        sink.answer.borrow_mut().body.push(Block::Code { text, lang, start: None, role: role(name) });
        Ok(OK)
    })
}

/// Counts and reads a JSON text of the plugin.
///
/// # Safety
/// See [`text_of`].
unsafe fn json_text<'t>(sink: &CallFrame<'_>, text: SfStr) -> Result<&'t str, i32> {
    sink.count(text.len)?;
    // SAFETY: guaranteed by the caller.
    unsafe { sink.text(text, "JSON", MOST_ANSWERED) }
}

/// Parses JSON of a plugin.
fn read_json<T: for<'de> Deserialize<'de>>(sink: &CallFrame<'_>, text: &str) -> Result<T, i32> {
    let read = serde_json::from_str(text);
    read.map_err(|error| sink.refuse(INVALID, format!("the JSON of its answer can't be read: {error}")))
}

extern "C" fn sink_blocks(sink: *mut SfSink, text: SfStr) -> i32 {
    guarded(INVALID, || {
        // SAFETY: the interface requires a sink of the running call.
        let sink = unsafe { sink_at(sink) }?;
        // SAFETY: the interface requires a valid text.
        let text = unsafe { json_text(sink, text) }?;
        let body = &mut sink.answer.borrow_mut().body;
        if text.trim_start().starts_with('[') {
            body.extend(read_json::<Vec<Block>>(sink, text)?);
        } else {
            body.push(read_json(sink, text)?);
        }
        Ok(OK)
    })
}

extern "C" fn sink_view(sink: *mut SfSink, text: SfStr) -> i32 {
    guarded(INVALID, || {
        // SAFETY: the interface requires a sink of the running call.
        let sink = unsafe { sink_at(sink) }?;
        // SAFETY: the interface requires a valid text.
        let AnswerJson { mark, title, body } = read_json(sink, unsafe { json_text(sink, text) }?)?;
        let mark = mark.as_deref().and_then(theme::mark);
        sink.answer.replace(View { mark, body, ..View::default() }.retitled(title));
        Ok(OK)
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::c_void;

    use streamfmt_core::item::{Content, Kind};
    use streamfmt_plugin::table::{FAILED, SHOW};
    use streamfmt_plugin::{Answer, Decision, HostApi, ItemRef, NativePlugin, table_of};

    use super::*;

    /// Repeats an item's text in its answer, and panics if the text is "panic".
    struct Parrot;

    impl NativePlugin for Parrot {
        const NAME: &'static str = "parrot";
        const FORMATS: &'static [&'static str] = &["reply", "a \"quoted\" name"];

        fn new(host: HostApi, options: &str) -> Result<Self, String> {
            host.log(options);
            if options == "no" { Err("no".to_owned()) } else { Ok(Self) }
        }

        fn format(&mut self, item: &ItemRef<'_>, answer: &mut Answer<'_>) -> Result<Decision, String> {
            let text = item.str("/text").unwrap_or_default();
            assert!(text != "panic", "on purpose");
            answer.start_from_default();
            answer.span(text, "reply");
            answer.code(item.json().unwrap_or_default(), "json", "text");
            answer.blocks(r#"{"type":"code","text":"one","role":"text"}"#);
            answer.code(item.default_json().unwrap_or_default(), "", "text");
            assert_eq!((item.num("/line"), item.num("/text"), item.str("/line")), (Some(7.0), None, None));
            assert!(item.call().is_none() && !item.is_partial() && item.kind() == "reply");
            Ok(Decision::Show)
        }
    }

    fn formatted(text: &str) -> (i32, Result<View, String>, Logged) {
        let table = table_of::<Parrot>();
        let mut item = Item::new("m/0", Kind::Reply, 7);
        item.text = Content::Own(text.to_owned());
        let below = |_| Verdict::Show(View::titled("call", Line::of("text", Text::own("below "))));
        let frame = CallFrame::new(Some(&item), None, &below);
        let (code, log) = logged(|| {
            // SAFETY: the table is that of a plugin in this crate; the host's table is static, the options live as long as the call.
            let instance: *mut c_void = unsafe { table.create.unwrap()(&raw const HOST, SfStr::of("{}")) };
            // SAFETY: the instance is from the same table, and it isn't shared.
            let code = frame.enter(|item, sink| unsafe { table.format.unwrap()(instance, item, sink) });
            // SAFETY: it is called once, at the end.
            unsafe { table.destroy.unwrap()(instance) };
            code
        });
        (code, frame.into_answer(), log)
    }

    #[test]
    fn both_sides_of_the_interface_agree() {
        let (code, view, log) = formatted("Hello\u{1b}[2J");
        let view = view.unwrap();
        assert_eq!((code, log.lines.as_slice()), (SHOW, &[(false, "{}".to_owned())][..]));
        assert_eq!((view.title.text(), view.body.len(), view.mark), ("below Hello␛[2J", 3, Some("call")));
        let code = |at: usize| match &view.body[at] {
            Block::Code { text, .. } => text.as_str(),
            other => panic!("{other:?}"),
        };
        assert!(code(0).starts_with("{\"v\":1,\"id\":\"m/0\"") && code(0).contains("\\u001b"), "{}", code(0));
        assert_eq!(
            (code(1), code(2)),
            ("one", "{\"mark\":\"call\",\"title\":[{\"text\":\"below \",\"role\":\"text\"}],\"body\":[]}")
        );
    }

    #[test]
    fn a_panic_is_a_failure_with_its_place() {
        let (code, _, log) = formatted("panic");
        assert_eq!(code, FAILED);
        let (is_reason, line) = log.lines.last().unwrap();
        assert!(*is_reason && line.contains("call_frame.rs:") && line.ends_with(": on purpose"), "{line}");
    }

    #[test]
    fn a_plugin_that_refuses_has_no_instance() {
        let table = table_of::<Parrot>();
        // SAFETY: the host's table is static, the options live as long as the call.
        let (instance, log) = logged(|| unsafe { table.create.unwrap()(&raw const HOST, SfStr::of("no")) });
        assert!(instance.is_null());
        assert_eq!(log.lines.last(), Some(&(true, "no".to_owned())));
        // SAFETY: the texts of a table are static.
        let formats = unsafe { text_of(table.formats, 100) };
        assert_eq!(formats, Ok(r#"["reply","a \"quoted\" name"]"#));
    }

    #[test]
    fn beyond_a_limit_of_an_answer_a_plugin_is_refused() {
        let frame = || CallFrame::new(None, None, &|_| Verdict::Pass);
        let null = |len: usize| SfStr { ptr: std::ptr::null(), len };
        let parts = frame();
        parts.enter(|_, sink| {
            assert!((0..MOST_PARTS).all(|_| sink_clear(sink, 0) == OK));
            assert_eq!(sink_clear(sink, 0), LIMIT);
        });
        assert_eq!(parts.into_answer(), Err("its answer has more than 10000 parts".to_owned()));
        let bytes = frame();
        bytes.enter(|_, sink| {
            assert_eq!(sink_span(sink, null(MOST_ANSWERED), SfStr::EMPTY), INVALID, "only its size counts");
            assert_eq!(sink_span(sink, null(1), SfStr::EMPTY), LIMIT);
        });
        let name = frame();
        name.enter(|_, sink| {
            let of = |length: usize| "x".repeat(length);
            assert_eq!(sink_span(sink, SfStr::of("x"), SfStr::of(&of(LONGEST_NAME))), OK);
            assert_eq!(sink_span(sink, SfStr::of("x"), SfStr::of(&of(LONGEST_NAME + 1))), INVALID);
        });
        assert!(name.into_answer().unwrap_err().starts_with("the role of its answer is "));
    }

    #[test]
    fn beyond_a_limit_of_bytes_no_text_is_kept_for_a_plugin() {
        let item = Item::new("m", Kind::Reply, 1);
        for (length, count) in [(MOST_BYTES, 1), (MOST_BYTES / 2, 2), (0, MOST_BYTES / LEAST_COUNTED)] {
            let frame = CallFrame::new(Some(&item), None, &|_| Verdict::Pass);
            let kept = |text: String| frame.item.as_ref().unwrap().keep(text).map(|text| text.len);
            assert!((0..count).all(|_| kept("x".repeat(length)) == Ok(length)), "{length}");
            assert_eq!(kept(String::new()), Err(LIMIT), "{length}");
        }
    }

    #[test]
    fn long_logs_are_cut_and_omitted_lines_are_stated() {
        let ((), one) = logged(|| log(LOG_ERROR, SfStr::of(&"x".repeat(LONGEST_LOG + 1))));
        assert_eq!(one.lines, [(true, "x".repeat(LONGEST_LOG))]);
        for (count, kept) in [(MOST_LOGGED, MOST_LOGGED), (MOST_LOGGED + 9, MOST_LOGGED + 1)] {
            let ((), many) = logged(|| (0..count).for_each(|_| log(LOG_ERROR, SfStr::of("x"))));
            let is_stated = many.lines.last() == Some(&(false, "(further lines are omitted)".to_owned()));
            assert_eq!((many.lines.len(), is_stated), (kept, count > MOST_LOGGED));
        }
    }

    #[test]
    fn invalid_arguments_are_refused() {
        assert_eq!(item_json(std::ptr::null(), std::ptr::null_mut()), INVALID);
        assert!(item_call(std::ptr::null()).is_null());
        assert_eq!(sink_clear(std::ptr::null_mut(), 1), INVALID);
        let frame = CallFrame::new(None, None, &|_| Verdict::Pass);
        frame.enter(|item, sink| {
            assert!(item.is_null());
            assert_eq!(sink_default(sink), ABSENT);
            assert_eq!(sink_span(sink, SfStr { ptr: std::ptr::null(), len: 4 }, SfStr::EMPTY), INVALID);
            assert_eq!(sink_span(sink, SfStr { ptr: b"x".as_ptr(), len: usize::MAX }, SfStr::EMPTY), LIMIT);
            assert_eq!(sink_clear(sink, 8), LIMIT, "what is too large stays too large");
        });
        assert_eq!(frame.into_answer(), Err("the title of its answer is null".to_owned()));
    }
}
