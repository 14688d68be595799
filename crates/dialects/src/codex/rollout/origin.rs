//! The beginning of a session file, and the sessions that it continues.
//!
//! The first `session_meta` of a file is its own. The file of a fork or of a sub-agent then repeats the lines of the session that it
//! continues, from its `session_meta` on.

use streamfmt_core::event::Facts;
use streamfmt_core::item::{Content, Fact};
use streamfmt_core::json::Value;
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
}

impl Codex {
    /// Decodes a `session_meta`. The session's notice is emitted when the model is known.
    pub(super) fn meta(&mut self, payload: Value<'_>, builder: &mut ItemBuilder<'_>) {
        if builder.input.parent.is_some() {
            self.flush_rollout(builder.out);
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
            return builder.bookkeeping("session_meta");
        }
        self.flush_rollout(builder.out);
        self.rollout.origin = RolloutOrigin {
            is_at_start: true,
            ids: origins.into_iter().flatten().map(Into::into).collect(),
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
