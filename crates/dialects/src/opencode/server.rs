//! The events of opencode's server. Parts of messages come several times while they grow: each time whole, or as pieces of text.

use streamfmt_core::event::Event;
use streamfmt_core::hash::hash;
use streamfmt_core::item::{Content, Id, WaitsFor};
use streamfmt_core::json::Value;
use streamfmt_core::names::Names;

use crate::item_builder::ItemBuilder;
use crate::requests::Request;

use super::{Opencode, errors};

/// The first words of the names of events.
static SUBJECTS: Names = Names::of(
    "command file global ide installation lsp mcp message permission project pty question server session todo tui \
     vcs workspace worktree",
);

/// Events that repeat others, or don't belong to the conversation.
static BOOKKEEPING: Names = Names::of(
    "command.executed file.edited file.watcher.updated global.disposed ide.installed installation.update-available \
     installation.updated lsp.client.diagnostics lsp.updated mcp.browser.open.failed mcp.tools.changed \
     message.part.removed permission.replied project.updated pty.created pty.deleted pty.exited pty.updated \
     question.rejected question.replied server.connected server.heartbeat server.instance.disposed session.compacted \
     session.deleted session.diff todo.updated tui.command.execute tui.prompt.append tui.session.select \
     tui.toast.show vcs.branch.updated workspace.failed workspace.ready worktree.failed worktree.ready",
);

/// Events that are shown only in full.
static REPORTS: Names = Names::of("message.removed");

/// Whether an event of the server may have this name.
pub(super) fn is_event(name: &str) -> bool {
    name.split_once('.').is_some_and(|(subject, _)| SUBJECTS.has(subject))
}

impl Opencode {
    /// Decodes an event, an object with its type and properties.
    pub(super) fn server(&mut self, event: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [kind, properties] = event.get_all(["type", "properties"]);
        let kind = kind.and_then(Value::decode).unwrap_or_default();
        let Some(properties) = properties else { return builder.unknown(kind.into_owned(), event) };
        let [info, part, session, error] = properties.get_all(["info", "part", "sessionID", "error"]);
        match &*kind {
            "message.updated" if info.is_some() => {
                let info = info.unwrap_or(properties);
                self.enter(info.get("sessionID"), builder);
                self.message_info(info, builder);
                builder.bookkeeping("message.updated");
                if let Some(error) = info.get("error") {
                    self.error(Some(error), builder);
                }
            }
            "message.part.updated" if part.is_some() => {
                let part = part.unwrap_or(properties);
                self.enter(part.get("sessionID"), builder);
                builder.bookkeeping("message.part.updated");
                self.part(part, None, builder);
            }
            "message.part.delta" => {
                let [id, field, delta] = properties.get_all(["partID", "field", "delta"]);
                builder.bookkeeping("message.part.delta");
                let is_text = field.and_then(Value::str).is_none_or(|field| field.is("text"));
                if let (Some(id), Some(delta), true) =
                    (id.and_then(Value::decode), delta.and_then(Value::decode), is_text)
                {
                    builder.emit(Event::Append { id: Id::from(&*id), text: delta.into_owned() });
                }
            }
            "message.part.removed" => {
                let id = properties.get("partID").and_then(Value::decode);
                builder.bookkeeping("message.part.removed");
                builder.out.extend(id.map(|id| Event::Drop(Id::from(&*id))));
            }
            "session.created" | "session.updated" if info.is_some() => {
                self.session_info(info.unwrap_or(properties), &kind, builder);
            }
            "session.error" => {
                self.enter(session, builder);
                self.error(error, builder);
            }
            "session.status" => {
                self.enter(session, builder);
                let status = properties.get("status").unwrap_or(properties);
                let [state, attempt, message] = status.get_all(["type", "attempt", "message"]);
                if state.and_then(Value::str).is_some_and(|state| state.is("retry")) {
                    errors::retry(attempt, message, builder);
                } else {
                    builder.bookkeeping("session.status");
                }
            }
            "session.idle" => {
                self.enter(session, builder);
                builder.bookkeeping("session.idle");
                if builder.parent.is_none() {
                    self.fail(builder.out);
                }
            }
            "permission.asked" | "permission.updated" | "question.asked" => {
                self.enter(session, builder);
                self.asks(kind.into_owned(), properties, builder);
            }
            "permission.replied" | "question.replied" | "question.rejected" => {
                self.enter(session, builder);
                let [id, older] = properties.get_all(["requestID", "permissionID"]);
                if let Some(id) = id.or(older).and_then(Value::decode) {
                    self.requests.end(&id, builder);
                }
                builder.rest("", &kind, &BOOKKEEPING, properties);
            }
            _ if REPORTS.has(&kind) => builder.report(kind.into_owned(), properties),
            _ => builder.rest("", &kind, &BOOKKEEPING, properties),
        }
    }

    /// Emits the notice that a call waits for a person. A request that names no known call is only reported.
    fn asks(&mut self, kind: String, properties: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [id, tool, older, time] = properties.get_all(["id", "tool", "callID", "time"]);
        let own = tool.and_then(|tool| tool.get("callID")).or(older).and_then(Value::decode);
        let Some(call) = own.and_then(|own| self.parts_of_calls.get(hash(&*own)).cloned()) else {
            return builder.report(kind, properties);
        };
        let asked = self.calls.request_of(call);
        // An agent may need permission to ask.
        let waits_for = if kind == "question.asked" { WaitsFor::Answer } else { WaitsFor::Permission };
        let asked = Request { waits_for, ..asked };
        self.requests.add(id.and_then(Value::decode).as_deref(), &asked);
        builder.at = time.and_then(|time| time.get("created")).map(Value::node).or(builder.at);
        let notice = asked.notice(builder);
        builder.put(notice);
    }

    /// Reports the facts of a session that was created or changed. Sessions of sub-agents are shown inside their calls.
    fn session_info(&mut self, info: Value<'_>, kind: &str, builder: &mut ItemBuilder<'_>) {
        let [id, parent] = info.get_all(["id", "parentID"]);
        builder.bookkeeping(if kind == "session.created" { "session.created" } else { "session.updated" });
        let Some(id) = id.and_then(Value::decode).filter(|id| !id.is_empty()) else { return };
        if parent.is_some_and(|parent| parent.str().is_some()) {
            return;
        }
        let is_new = self.session.as_deref() != Some(&*id);
        if is_new {
            self.begin(&id, builder);
        }
        let facts = Self::session_facts(info, builder);
        if is_new {
            let mut notice = builder.notice("session", Content::None);
            notice.data.extend(facts);
            builder.put(notice);
        }
    }
}
