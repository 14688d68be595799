//! A running native plugin: its instance and its failures.

#![expect(unsafe_code, reason = "functions of a library are called by pointer")]

use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Map, Value};
use streamfmt_core::entry::{Block, Line, View};
use streamfmt_core::formatter::{FormatError, Observation, Verdict};
use streamfmt_core::item::Item;
use streamfmt_core::profile::Selector;
use streamfmt_core::session::Session;
use streamfmt_plugin::table::{BEGIN, END, HIDE, PASS, SHOW, SfItem, SfPlugin, SfSink, SfStr};

use super::NativeLayer;
use super::call_frame::{CallFrame, HOST, Logged, logged};
use crate::files::lock;
use crate::plugin::journal::{BELOW, Journal, LEFT_OUT, OFF, PendingFailures, Warning, short};
use crate::plugin::library::{NativeCode, NativeTable};
use crate::plugin::source::{PluginLayer, PluginSource};
use crate::tools::request::FormatRequest;

/// Failures after which a plugin is disabled for the rest of the run.
const MOST_FAILURES: u32 = 20;

/// A native plugin whose library is loaded.
struct NativePlugin {
    layer: PluginLayer,
    pack: Arc<PluginSource>,
    table: &'static NativeTable,
    instance: Mutex<Instance>,
    state: Mutex<LayerState>,
    journal: Journal,
}

/// The failures of a plugin and its pending notes.
#[derive(Default)]
struct LayerState {
    failures: u32,
    pending: PendingFailures,
}

/// An instance of a plugin, for one output of one session.
struct Instance {
    functions: SfPlugin,
    address: *mut c_void,
}

// SAFETY: the interface lets an instance move between threads, as long as calls don't overlap, which the mutex ensures.
unsafe impl Send for Instance {}

impl Drop for Instance {
    fn drop(&mut self) {
        if let Some(destroy) = self.functions.destroy {
            // SAFETY: `create` of the same plugin returned it, and no other call uses it any more.
            let ((), _) = logged(|| unsafe { destroy(self.address) });
        }
    }
}

/// Loads the library of a plugin, unless it is loaded already, and creates an instance.
pub(super) fn load(
    layer: PluginLayer,
    pack: &Arc<PluginSource>,
    code: &NativeCode,
    journal: &Journal,
) -> Result<Box<dyn NativeLayer>, Box<Warning>> {
    let refuse = |name: &str, message: String| {
        let warning = Warning::new(name, "failed while loading", message, LEFT_OUT);
        Box::new(Warning { is_misuse: true, ..warning })
    };
    let table = code.table(&HOST).map_err(|message| refuse(&pack.name, message))?;
    let functions = &table.functions;
    let options = options(pack);
    let (address, log) = match functions.create {
        // SAFETY: the host's table lives as long as the process, the options until the call returns.
        Some(create) => logged(|| unsafe { create(&raw const HOST, SfStr::of(&options)) }),
        None => (std::ptr::null_mut(), Logged::default()),
    };
    let this = NativePlugin {
        layer,
        pack: Arc::clone(pack),
        table,
        // A null instance must not be destroyed.
        instance: Mutex::new(Instance {
            functions: SfPlugin { destroy: functions.destroy.filter(|_| !address.is_null()), ..*functions },
            address,
        }),
        state: Mutex::default(),
        journal: journal.clone(),
    };
    let reason = this.take_log(log, address.is_null());
    if address.is_null() {
        let why = reason.unwrap_or_else(|| "without giving a reason".to_owned());
        return Err(refuse(&table.name, format!("it refuses to start: {why}")));
    }
    Ok(Box::new(this))
}

impl NativeLayer for NativePlugin {
    fn layer(&self) -> PluginLayer {
        self.layer
    }

    fn name(&self) -> &str {
        &self.table.name
    }

    fn pack(&self) -> &Arc<PluginSource> {
        &self.pack
    }

    fn formats(&self) -> &[Selector] {
        &self.table.formats
    }

    fn is_off(&self) -> bool {
        self.state().failures >= MOST_FAILURES
    }

    fn format(&self, request: FormatRequest<'_>, below: &dyn Fn(bool) -> Verdict) -> Verdict {
        let item = request.item;
        if self.is_off() {
            return Verdict::Pass;
        }
        let frame = CallFrame::new(Some(item), request.call, below);
        let answer = self.ask(frame, |functions, instance, item, sink| {
            // SAFETY: the instance is this plugin's and locked; item and sink live until the call returns.
            functions.format.map(|format| unsafe { format(instance, item, sink) })
        });
        answer.and_then(|(code, view)| verdict(item, code, view)).unwrap_or_else(|why| {
            // An error for an incomplete item may not occur for the complete one.
            if !request.is_open() {
                self.fail(&request.doing(), why);
            }
            Verdict::Pass
        })
    }

    fn fail_on_purpose(&self, request: FormatRequest<'_>) {
        self.fail(&request.doing(), "failed on purpose, to test the fallback".to_owned());
    }

    fn observed_moment(&self, moment: Observation<'_>, session: &Session) -> Vec<Block> {
        match moment {
            Observation::Begin => self.session(false, session),
            Observation::Complete(item) => self.observe(item, session),
            Observation::End => self.session(true, session),
        }
    }

    fn take_notes(&self) -> Vec<Line> {
        std::mem::take(&mut self.state().pending.notes)
    }

    fn take_failures(&self) -> Vec<FormatError> {
        std::mem::take(&mut self.state().pending.errors)
    }
}

impl NativePlugin {
    fn state(&self) -> MutexGuard<'_, LayerState> {
        lock(&self.state)
    }

    /// Calls one of its functions with the item and the sink of `frame`. Returns the code and the answer; the error is why they can't
    /// be used.
    fn ask(
        &self,
        frame: CallFrame<'_>,
        function: impl FnOnce(&SfPlugin, *mut c_void, *const SfItem, *mut SfSink) -> Option<i32>,
    ) -> Result<(i32, View), String> {
        // The layers below never call it again, unless the plugin calls itself on another thread.
        let Ok(instance) = self.instance.try_lock() else {
            return Err("it is called while it is still being asked".to_owned());
        };
        let call = |item, sink| function(&instance.functions, instance.address, item, sink);
        let (code, log) = logged(|| frame.enter(call));
        let code = code.unwrap_or(PASS);
        let reason = self.take_log(log, code < 0);
        let view = frame.into_answer()?;
        if code < 0 {
            return Err(reason.unwrap_or_else(|| format!("it returned the error code {code}")));
        }
        Ok((code, view))
    }

    /// Prints the logged lines. If the call failed, the last reason is returned instead of printed.
    fn take_log(&self, log: Logged, is_failed: bool) -> Option<String> {
        let mut reason = None;
        for (is_reason, line) in log.lines {
            let before = if is_failed && is_reason { reason.replace(line) } else { Some(line) };
            if let Some(line) = before.filter(|_| !self.journal.is_heard(&self.pack.name)) {
                self.journal.print(&self.table.name, line.as_bytes());
            }
        }
        reason
    }

    /// Calls its `session` function at the beginning or the end. Returns the blocks to show there.
    fn session(&self, is_end: bool, session: &Session) -> Vec<Block> {
        let facts = session_json(session);
        let moment = if is_end { END } else { BEGIN };
        let what = if is_end { "formatting session.end" } else { "formatting session.start" };
        self.observed(None, None, what, |functions, instance, _, sink| {
            // SAFETY: the instance is this plugin's and locked; text and sink live until the call returns.
            functions.session.map(|session| unsafe { session(instance, moment, SfStr::of(&facts), sink) })
        })
    }

    /// Passes a complete item to it if it observes such items. Returns the blocks to show after the item.
    fn observe(&self, item: &Item, session: &Session) -> Vec<Block> {
        if !self.table.observes.iter().any(|group| group.matches(item)) {
            return Vec::new();
        }
        let request = FormatRequest::of(item, session);
        self.observed(Some(item), request.call, &request.doing(), |functions, instance, item, sink| {
            // SAFETY: the instance is this plugin's and locked; item and sink live until the call returns.
            functions.observe.map(|observe| unsafe { observe(instance, item, sink) })
        })
    }

    fn observed(
        &self,
        item: Option<&Item>,
        call: Option<&Item>,
        what: &str,
        function: impl FnOnce(&SfPlugin, *mut c_void, *const SfItem, *mut SfSink) -> Option<i32>,
    ) -> Vec<Block> {
        if self.is_off() {
            return Vec::new();
        }
        let frame = CallFrame::new(item, call, &|_| Verdict::Pass);
        match self.ask(frame, function) {
            Ok((_, mut view)) if !view.is_blank() => {
                if !view.title.is_empty() {
                    view.body.insert(0, Block::line(view.title));
                }
                view.body
            }
            Ok(_) => Vec::new(),
            Err(why) => {
                self.fail(what, why);
                Vec::new()
            }
        }
    }

    /// Counts a failure, and reports it if it is new.
    fn fail(&self, doing: &str, why: String) {
        let name = &self.table.name;
        let mut state = self.state();
        state.failures += 1;
        let shown = short(&why);
        let warning = Warning::new(name, format!("failed while {doing}"), why, BELOW);
        state.pending.fail(&self.journal, warning, &shown);
        if state.failures == MOST_FAILURES {
            let off = Warning::new(name, "failed while it ran", "it failed too often", OFF);
            self.journal.fail(off, false);
        }
    }
}

/// Loads the library of a native plugin and returns its name, its version, and the groups that it handles, such as `format Bash`
/// or `observe call`.
#[cfg(feature = "lua")]
pub(crate) fn described(pack: &PluginSource) -> Result<(String, Option<String>, Vec<String>), String> {
    let code = pack.native().ok_or_else(|| "it has no library".to_owned())?;
    let table = code.table(&HOST)?;
    let named = |verb: &'static str, groups: &[Selector]| -> Vec<String> {
        let name = |group: &Selector| match group {
            Selector::Kind(kind) => kind.name().to_owned(),
            Selector::Action(action) => format!("@{action}"),
            Selector::Tool(tool) => tool.clone(),
            _ => String::new(),
        };
        groups.iter().map(|group| format!("{verb} {}", name(group))).collect()
    };
    let mut groups = named("format", &table.formats);
    groups.extend(named("observe", &table.observes));
    Ok((table.name.clone(), table.version.clone(), groups))
}

/// Interprets a return code and an answer.
fn verdict(item: &Item, code: i32, view: View) -> Result<Verdict, String> {
    match code {
        PASS => Ok(Verdict::Pass),
        HIDE => Ok(Verdict::Hide),
        SHOW if view.is_blank() && !item.is_blank() => {
            Err("its answer shows nothing (SF_HIDE hides an item, SF_PASS leaves it to the layer below)"
                .to_owned())
        }
        SHOW if view.is_empty() => Ok(Verdict::Pass),
        SHOW => Ok(Verdict::Show(view)),
        code => Err(format!("it returned {code}, which means nothing")),
    }
}

/// The options of a plugin as JSON.
fn options(pack: &PluginSource) -> String {
    let options: Map<String, Value> = pack
        .options
        .iter()
        .filter_map(|(name, option)| Some((name.clone(), serde_json::to_value(&option.value).ok()?)))
        .collect();
    Value::Object(options).to_string()
}

/// The facts of a session as JSON.
fn session_json(session: &Session) -> String {
    let facts = session.facts();
    let facts =
        [("agent", &facts.agent), ("model", &facts.model), ("cwd", &facts.cwd), ("id", &facts.session)];
    let known =
        facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), Value::from(value.as_deref()?))));
    Value::Object(known.collect()).to_string()
}
