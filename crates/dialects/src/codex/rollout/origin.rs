//! The beginning of a session file, and the sessions that it continues.
//!
//! The first `session_meta` of a file is its own. The file of a fork or of a sub-agent then repeats the lines of the session that it
//! continues, from its `session_meta` on. They end where that session's file does, or, in newer versions, at a line whose number the first
//! one contains. If neither is known, a notice reports it.

use std::sync::Arc;

use streamfmt_core::dialect::{LineKey, SessionStart};
use streamfmt_core::event::{Event, Facts};
use streamfmt_core::hash::hash;
use streamfmt_core::item::{Content, Fact, Item, Kind};
use streamfmt_core::json::Value;
use streamfmt_core::session::SessionId;
use streamfmt_core::text::Text;

use super::super::{Codex, ItemBuilder};
use crate::facts::{filled, nodes};

/// The most sessions that are remembered, each continued by the one before.
const MAX_ORIGINS: usize = 64;

/// The sessions that a file continues.
#[derive(Default)]
pub(super) struct RolloutOrigin {
    /// Whether the file's own `session_meta` has come, and nothing after it.
    is_at_start: bool,
    /// Whether the session's notice was emitted.
    pub(super) has_shown_head: bool,
    /// The ids of the sessions that the file continues.
    ids: Vec<String>,
    /// The folders of those whose lines it repeats.
    folders: Vec<String>,
    /// The session whose lines it repeats, and the number of its own first line, if the file contains that.
    own_from: Option<(SessionId, i64)>,
    /// The session that the last line repeated, and the number of that line in the file.
    repeats: Option<(SessionId, u64)>,
    /// Whether a notice has reported that the end of the repeated lines isn't known.
    is_missed: bool,
}

/// Parses the first line of a session file.
pub(in super::super) fn session_start(value: Value<'_>) -> Option<SessionStart> {
    let [kind, payload] = value.get_all(["type", "payload"]);
    if !kind?.str()?.is("session_meta") {
        return None;
    }
    let payload = payload?;
    let id = filled(payload.get("id")).and_then(Value::decode)?.into_owned();
    let repeats = repeated_by(payload).and_then(Value::decode).map(Into::into).filter(|other| *other != id);
    Some(SessionStart { id, repeats })
}

/// The session that a file repeats, if its first line names one. A file with a `history_base` only refers to the other file.
fn repeated_by(meta: Value<'_>) -> Option<Value<'_>> {
    let [forked, base] = meta.get_all(["forked_from_id", "history_base"]);
    filled(forked).filter(|_| base.is_none_or(Value::is_null))
}

/// The session that a file repeats, and the number of its own first line, if the first line contains them.
fn own_from(meta: Value<'_>) -> Option<(SessionId, i64)> {
    let [own, forked, parent] =
        meta.get_all(["subagent_history_start_ordinal", "forked_from_id", "parent_thread_id"]);
    let own = own.and_then(Value::int)?;
    let session = filled(forked).or_else(|| filled(parent)).and_then(Value::decode)?;
    Some((Arc::from(&*session), own))
}

/// Returns the key of a line of a session file: the hash of its payload, in any order of its fields. A copy has new times, and may lack ids
/// and empty fields.
pub(in super::super) fn line_key(value: Value<'_>) -> Option<LineKey> {
    let [kind, payload] = value.get_all(["type", "payload"]);
    let (kind, payload) = (kind?.decode()?, payload?);
    if kind == "session_meta" {
        let id = payload.get("id").and_then(Value::decode);
        return Some(LineKey { hash: hash(&(&*kind, id)), is_prompt: false });
    }
    let mut fields = 0_u64;
    payload.fields(|name, field| {
        if !field.is_null() && !matches!(name, b"id" | b"timestamp") {
            fields = fields.wrapping_add(hash(&(name, field.raw())));
        }
    });
    let shown = payload.get("type").and_then(Value::decode).filter(|_| kind == "event_msg");
    let is_prompt = match shown.as_deref() {
        Some("user_message") => true,
        Some("item_completed") => {
            let item = payload.get("item").and_then(|item| item.get("type")?.str());
            item.is_some_and(|kind| kind.is("UserMessage"))
        }
        _ => false,
    };
    Some(LineKey { hash: hash(&(&*kind, fields)), is_prompt })
}

impl Codex {
    /// Decodes a `session_meta`. The session's notice is emitted when the model is known.
    pub(super) fn meta(&mut self, payload: Value<'_>, builder: &mut ItemBuilder<'_>) {
        if builder.input.parent.is_some() {
            self.flush_rollout(builder.out);
            let known = &mut self.rollout.origin.own_from;
            *known = known.take().or_else(|| own_from(payload));
            return builder.bookkeeping("session_meta");
        }
        let [id, cwd, version, forked, parent, base, source] = payload.get_all([
            "id",
            "cwd",
            "cli_version",
            "forked_from_id",
            "parent_thread_id",
            "history_base",
            "source",
        ]);
        let id = filled(id);
        let [forked, parent] = [forked, parent].map(filled);
        let base = base.and_then(|base| filled(base.get("thread_id")));
        let subagent = source.and_then(|source| source.get("subagent"));
        let spawn = subagent.and_then(|subagent| subagent.get("thread_spawn"));
        let parent = parent.or_else(|| filled(spawn?.get("parent_thread_id")));
        let origins = [forked, base, parent].map(|id| id.and_then(Value::decode));
        let own = id.and_then(Value::decode);
        let is_other = own.is_some() && own.as_deref() != self.session.as_deref();
        let origin = &mut self.rollout.origin;
        if is_other
            && (origin.is_at_start || own.as_deref().is_some_and(|id| origin.ids.iter().any(|it| it == id)))
        {
            let known = origin.ids.iter().any(|it| Some(&**it) == own.as_deref());
            let ids = origins.into_iter().flatten().chain(own.filter(|_| !known));
            origin.ids.extend(ids.map(Into::into).take(MAX_ORIGINS.saturating_sub(origin.ids.len())));
            if origin.folders.len() < MAX_ORIGINS {
                origin.folders.extend(cwd.and_then(Value::decode).map(Into::into));
            }
            self.note_missing(id, builder);
            return builder.bookkeeping("session_meta");
        }
        self.end_repeated(builder.out);
        self.flush_rollout(builder.out);
        self.rollout.origin = RolloutOrigin {
            is_at_start: true,
            ids: origins.into_iter().flatten().map(Into::into).collect(),
            own_from: own_from(payload),
            ..RolloutOrigin::default()
        };
        self.begin(id, builder);
        let text = |value: Option<Value<'_>>| value.and_then(Value::str).map(Text::from_json);
        let resumes = text(forked.or(base));
        let facts = Facts { cwd: text(cwd), version: text(version), resumes, ..self.facts() };
        builder.facts(facts);
        self.rollout.known = [None, cwd.and_then(Value::decode).map(Into::into)];
        let mut notice = builder.notice("session", Content::None);
        let [nickname, role] = ["agent_nickname", "agent_role"]
            .map(|name| filled(payload.get(name)).or_else(|| filled(spawn?.get(name))));
        let kind = subagent.or_else(|| source?.get("internal"));
        let role = role.or_else(|| filled(kind)).or_else(|| filled(kind?.get("other")));
        notice.data.extend(nodes([
            ("cwd", cwd),
            ("version", version),
            ("name", nickname),
            ("agent_type", role),
            ("parent", parent),
            ("forked_from", forked),
            ("continues", base),
        ]));
        self.rollout.head = Some(Box::new(notice));
        self.note_missing(repeated_by(payload), builder);
    }

    /// Emits a notice, once, if the lines of a session follow whose end isn't known.
    fn note_missing(&mut self, session: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
        let origin = &mut self.rollout.origin;
        let is_known =
            builder.input.origin.is_some() || origin.own_from.is_some() || origin.repeats.is_some();
        let Some(session) = session.filter(|_| !is_known && !origin.is_missed) else { return };
        let Some(id) = session.decode() else { return };
        origin.is_missed = true;
        let words = format!("the origin isn't at hand: what follows may repeat session {id}");
        let mut notice = builder.notice("origin-missing", Content::Own(words));
        notice.data.extend(nodes([("forked_from", Some(session))]));
        self.wait(notice, None, builder.out);
    }

    /// Notes whether a line repeats another session. The first one after such lines is preceded by a notice.
    pub(super) fn note_repeated(&mut self, kind: &str, payload: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let origin = &mut self.rollout.origin;
        // The file's own number is certain: what follows may be alike by chance.
        let numbered = origin.own_from.as_ref().and_then(|(session, own)| {
            let number = builder.input.value.get("ordinal")?.int()?;
            Some((number < *own).then(|| session.clone()))
        });
        let repeats = numbered.unwrap_or_else(|| builder.input.origin.map(SessionId::from));
        match repeats {
            Some(session) => {
                // A session of its own may begin with the same context.
                let role = payload.get("role").and_then(Value::str);
                let is_context = role.is_some_and(|role| role.is("developer") || role.is("user"));
                if matches!(kind, "response_item" | "event_msg" | "compacted") && !is_context {
                    origin.repeats = Some((session.clone(), builder.input.line));
                }
                builder.session = Some(session.clone());
                builder.repeats = Some(session);
            }
            None if builder.input.parent.is_none() => self.end_repeated(builder.out),
            None => origin.repeats = None,
        }
    }

    /// Emits a notice if the lines so far repeated another session: this one's own lines follow.
    pub(in super::super) fn end_repeated(&mut self, out: &mut Vec<Event>) {
        let Some((session, line)) = self.rollout.origin.repeats.take() else { return };
        self.flush_rollout(out);
        self.rollout.scripts.clear();
        (self.rollout.answer, self.rollout.was_stopped) = (None, false);
        (self.settled, self.repeated) = (self.counted, self.counted);
        self.used = None;
        let mut notice = Item::new(format!("line-{line}/origin"), Kind::Notice, line);
        notice.session.clone_from(&self.session);
        notice.text = Content::Own(format!("the history of session {session} ends here"));
        notice.data.push(("event", Fact::Text("origin-end".into())));
        notice.data.push(("forked_from", Fact::Text((*session).to_owned())));
        out.push(Event::Put(Box::new(notice)));
    }

    /// Notes that a line has come that isn't a `session_meta`.
    pub(super) fn leave_start(&mut self) {
        self.rollout.origin.is_at_start = false;
    }

    /// Decodes the settings of a turn, or, before 0.120, of each call of the model.
    pub(super) fn context(&mut self, payload: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let fields = payload.get_all(["model", "cwd", "approval_policy"]);
        let [model, cwd, mode] = fields.map(|field| field.and_then(Value::decode));
        // The folder of a line that is repeated isn't this session's.
        let folders = &self.rollout.origin.folders;
        let cwd = cwd.filter(|cwd| !folders.iter().any(|folder| *folder == **cwd));
        let now = [model.as_deref(), cwd.as_deref()];
        let is_new =
            self.rollout.known.iter().zip(now).any(|(known, now)| now.is_some() && known.as_deref() != now);
        let clean = |text: &Option<std::borrow::Cow<'_, str>>| text.as_deref().map(Text::clean);
        if is_new && builder.input.parent.is_none() {
            let facts =
                Facts { model: clean(&model), cwd: clean(&cwd), mode: clean(&mode), ..Facts::default() };
            builder.facts(facts);
        }
        // The head may come before the model is known. Its model is no change.
        let is_named = self.rollout.origin.has_shown_head && self.rollout.known[0].is_none();
        let is_changed = cwd.is_some() && self.rollout.known[1].as_deref() != cwd.as_deref();
        let has_head = self.rollout.head.is_some() || (is_named && !is_changed);
        if is_new && !has_head && builder.input.parent.is_none() {
            let notice = builder.notice("session", Content::None);
            builder.put(notice);
        } else {
            builder.bookkeeping("turn_context");
        }
        if let Some(head) = &mut self.rollout.head {
            let facts = [("model", &model), ("mode", &mode)];
            let facts = facts
                .into_iter()
                .filter_map(|(name, text)| Some((name, Fact::Text(text.as_deref()?.to_owned()))));
            head.data.extend(facts);
        }
        for (known, now) in self.rollout.known.iter_mut().zip(now) {
            *known = now.map(str::to_owned).or_else(|| known.take());
        }
        self.flush_head(builder.out);
    }
}

#[cfg(test)]
mod tests {
    use streamfmt_core::json::Record;

    use super::*;

    fn key(line: &str) -> Option<LineKey> {
        line_key(Record::from_line(line.to_owned()).unwrap().root())
    }

    #[test]
    fn a_copy_has_the_key_of_its_line() {
        let line = r#"{"timestamp":"t1","type":"response_item","payload":{"type":"message","id":"m1","role":"user","content":[1]}}"#;
        let copy = r#"{"timestamp":"t2","ordinal":7,"type":"response_item","payload":{"role":"user","type":"message","phase":null,"content":[1]}}"#;
        assert!(key(line).is_some());
        assert_eq!(key(line), key(copy));
        for other in ["event_msg", "compacted"] {
            assert_ne!(key(line), key(&line.replace("response_item", other)), "{other}");
        }
        assert_ne!(key(line), key(&line.replace("[1]", "[2]")));
        let start = |more: &str| format!(r#"{{"type":"session_meta","payload":{{"id":"s1"{more}}}}}"#);
        assert_eq!(key(&start("")), key(&start(r#","cwd":"/home/dev""#)));
    }

    #[test]
    fn the_first_line_names_the_session_that_is_repeated() {
        let repeats = |payload: &str| {
            let line = format!(r#"{{"type":"session_meta","payload":{payload}}}"#);
            session_start(Record::from_line(line).unwrap().root()).map(|start| start.repeats)
        };
        let forked = Some(Some("s0".to_owned()));
        assert_eq!(repeats(r#"{"id":"s1","forked_from_id":"s0"}"#), forked);
        assert_eq!(repeats(r#"{"id":"s1","forked_from_id":"s0","history_base":null}"#), forked);
        // The lines of this one are in the other file only.
        assert_eq!(
            repeats(r#"{"id":"s1","forked_from_id":"s0","history_base":{"thread_id":"s0"}}"#),
            Some(None)
        );
        assert_eq!(repeats(r#"{"id":"s1","forked_from_id":"s1"}"#), Some(None));
        assert_eq!(repeats(r#"{"id":"s1","forked_from_id":7,"parent_thread_id":"s0"}"#), Some(None));
        assert_eq!(repeats(r#"{"id":""}"#), None);
        assert_eq!(repeats("7"), None);
    }
}
