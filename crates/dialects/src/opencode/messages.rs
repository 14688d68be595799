//! Exported sessions, and messages with their parts.

use streamfmt_core::event::Facts;
use streamfmt_core::hash::hash;
use streamfmt_core::item::{Content, Fact};
use streamfmt_core::json::{Value, ValueKind};
use streamfmt_core::text::Text;

use crate::facts::{filled, nodes};
use crate::item_builder::ItemBuilder;

use super::{MessageAuthor, Opencode, wrapped};

impl Opencode {
    /// Decodes an exported session.
    pub(super) fn export(&mut self, info: Value<'_>, messages: Value<'_>, builder: &mut ItemBuilder<'_>) {
        if builder.parent.is_some() {
            builder.bookkeeping("session");
        } else {
            let id = info.get("id").and_then(Value::decode).unwrap_or_default();
            self.begin(&id, builder);
            let facts = Self::session_facts(info, builder);
            builder.at = info.get("time").and_then(|time| time.get("created")).map(Value::node);
            let mut notice = builder.notice("session", Content::None);
            notice.data.extend(facts);
            builder.put(notice);
        }
        for message in messages.items() {
            match message.get_all(["info", "parts"]) {
                [Some(info), Some(parts)] => self.message(info, parts, builder),
                _ => builder.unknown("message".to_owned(), message),
            }
        }
    }

    /// Reports the facts of a session, and returns those for its notice.
    pub(super) fn session_facts(info: Value<'_>, builder: &mut ItemBuilder<'_>) -> Vec<(&'static str, Fact)> {
        let [cwd, title, version, model, parent] =
            info.get_all(["directory", "title", "version", "model", "parentID"]);
        let title = title.filter(|title| !title.decode().is_some_and(|title| wrapped::is_unnamed(&title)));
        let model = model.and_then(|model| model.get("id").or(model.get("modelID")));
        let text = |value: Option<Value<'_>>| filled(value).and_then(Value::str).map(Text::from_json);
        builder.facts(Facts {
            cwd: text(cwd),
            title: text(title),
            version: text(version),
            model: text(model),
            ..Facts::default()
        });
        let known = [("model", model), ("cwd", cwd), ("version", version), ("parent", parent)];
        nodes(known.map(|(name, value)| (name, filled(value)))).collect()
    }

    /// Decodes a message with its parts.
    pub(super) fn message(&mut self, info: Value<'_>, parts: Value<'_>, builder: &mut ItemBuilder<'_>) {
        self.enter(info.get("sessionID"), builder);
        let [id, time, error, finish, tokens, cost] =
            info.get_all(["id", "time", "error", "finish", "tokens", "cost"]);
        let [created, completed] = time.map_or([None; 2], |time| time.get_all(["created", "completed"]));
        self.message_info(info, builder);
        builder.at = created.map(Value::node);
        builder.bookkeeping("message");
        if builder.parent.is_none() {
            self.totals.begin(created.and_then(Value::int));
        }
        let is_step = |part: Value<'_>| {
            part.get("type").and_then(Value::str).is_some_and(|kind| kind.is("step-finish"))
        };
        let has_steps = parts.items().any(is_step);
        for part in parts.items() {
            self.in_step(part, completed, builder);
            self.part(part, None, builder);
        }
        builder.at = completed.or(created).map(Value::node);
        if !has_steps && finish.is_some() && error.is_none() {
            self.step_finished([id, finish, tokens, cost], builder);
        }
        if error.is_some_and(|error| error.kind() == ValueKind::Object) {
            self.error(error, builder);
        }
    }

    /// Sets the time of a step's end, which has none of its own, to that of its message.
    fn in_step(&self, part: Value<'_>, completed: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
        if part.get("time").is_none() {
            builder.at = completed.map(Value::node).or(builder.at);
        }
    }

    /// Notes the author and the model of a message.
    pub(super) fn message_info(&mut self, info: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [id, role, summary, model, path] = info.get_all(["id", "role", "summary", "modelID", "path"]);
        let is_person = role.and_then(Value::str).is_some_and(|role| role.is("user"));
        let author = match summary.and_then(Value::bool) {
            _ if is_person => MessageAuthor::Person,
            Some(true) => MessageAuthor::Summary,
            _ => MessageAuthor::Agent,
        };
        if let Some(id) = id.and_then(Value::decode) {
            self.authors.add(hash(&*id), || author);
        }
        let cwd = path.and_then(|path| path.get("cwd"));
        let text = |value: Option<Value<'_>>| filled(value).and_then(Value::str).map(Text::from_json);
        if builder.parent.is_none() && (model.is_some() || cwd.is_some()) {
            builder.facts(Facts { model: text(model), cwd: text(cwd), ..Facts::default() });
        }
    }
}
