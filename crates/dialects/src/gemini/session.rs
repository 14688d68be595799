//! The records of a session file.
//!
//! A message is written several times: with its text, then again with its calls and their results, and once more, without most of it,
//! when the session is resumed. Only what is new in a message is emitted. Messages that the file drops, such as the prompt of a failed
//! run, stay.

use std::borrow::Cow;

use crate::facts::{fail, image, leveled, push_list, string, strings};
use crate::shell_report;
use streamfmt_core::event::{Facts, Usage};
use streamfmt_core::hash::hash;
use streamfmt_core::item::{Content, Fact, Id, Item, Kind};
use streamfmt_core::json::{Value, ValueKind};
use streamfmt_core::text::Text;

use super::stream::numbers;
use super::{Gemini, ItemBuilder, result, wrapped};

/// The beginning of the message in which the program describes the session to the model.
const CONTEXT: &str = "<session_context>";

/// What precedes the session's folder there, by version: in the same line, or in a list that follows.
const FOLDER: [&str; 3] = [
    "- **Workspace Directories:**",
    "I'm currently working in the directory:",
    "I'm currently working in the following directories:",
];

/// What the program writes around texts.
pub(crate) const SENTENCES: [&str; 11] = [
    CONTEXT,
    FOLDER[0],
    FOLDER[1],
    FOLDER[2],
    result::NOTE,
    shell_report::SENTENCES[0],
    shell_report::SENTENCES[1],
    shell_report::SENTENCES[2],
    shell_report::SENTENCES[3],
    wrapped::SENTENCES[0],
    wrapped::SENTENCES[1],
];

impl Gemini {
    /// Decodes the first line of a file, or of a run that resumes it. In older versions it has all messages.
    pub(super) fn header(&mut self, builder: &mut ItemBuilder<'_>) {
        let value = builder.input.value;
        if builder.parent.is_some() {
            builder.bookkeeping("sub-agent's header");
            return self.messages_of(value, true, builder);
        }
        self.begin(value.get("sessionId"), None, builder);
        self.title(value, builder);
        let notice = builder.notice("session", Content::None);
        builder.put(notice);
        self.messages_of(value, true, builder);
    }

    /// Decodes a change of earlier lines.
    pub(super) fn update(&mut self, builder: &mut ItemBuilder<'_>) {
        let value = builder.input.value;
        if let Some(set) = value.get("$set") {
            self.title(set, builder);
            self.messages_of(set, false, builder);
            return builder.bookkeeping("$set");
        }
        let notice = builder.notice("reset", Content::Own("rewound to an earlier message".to_owned()));
        builder.put(notice);
    }

    fn title(&mut self, value: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let Some(summary) = value.get("summary").filter(|it| it.str().is_some_and(|it| !it.is_blank()))
        else {
            return;
        };
        builder.facts(Facts { title: summary.str().map(Text::from_json), ..Facts::default() });
        let notice = builder.notice("title", string(Some(summary)));
        builder.put(notice);
    }

    /// Decodes a list of messages. `is_newer`: whether a known message may have something new.
    fn messages_of(&mut self, value: Value<'_>, is_newer: bool, builder: &mut ItemBuilder<'_>) {
        for message in value.get("messages").into_iter().flat_map(Value::items) {
            let [kind, at] = message.get_all(["type", "timestamp"]);
            builder.at = at.map(Value::node);
            self.message(&kind.and_then(Value::decode).unwrap_or_default(), message, is_newer, builder);
        }
    }

    /// Decodes a message. `is_newer`: whether a known message may have something new.
    pub(super) fn message(
        &mut self,
        kind: &str,
        message: Value<'_>,
        is_newer: bool,
        builder: &mut ItemBuilder<'_>,
    ) {
        let [id, content] = message.get_all(["id", "content"]);
        let id = builder.id_of(id);
        let text = hash(content.map_or("", Value::raw));
        let known = self.messages.add(id.hash(), || text).copied();
        if known.is_some() && !is_newer {
            return builder.bookkeeping("repeated message");
        }
        let is_new = known != Some(text);
        if let Some(known) = self.messages.get_mut(id.hash()) {
            *known = text;
        }
        match kind {
            "user" if is_new => self.said(message, &id, builder),
            "gemini" => self.answered(message, &id, is_new, builder),
            "info" | "warning" | "error" if is_new => {
                let notice = builder.notice(kind, texts_of(content));
                builder.put(leveled(notice, kind));
            }
            "user" | "info" | "warning" | "error" => builder.bookkeeping("repeated message"),
            _ => builder.unknown(kind.to_owned(), message),
        }
    }

    /// Decodes a message in the user's role: a prompt, or the results of calls.
    fn said(&mut self, message: Value<'_>, id: &Id, builder: &mut ItemBuilder<'_>) {
        let [content, shown] = message.get_all(["content", "displayContent"]);
        let text = texts_of(content);
        let mut images = Vec::new();
        for part in parts(content) {
            let [response, data, file] = part.get_all(["functionResponse", "inlineData", "fileData"]);
            match (response, data.or(file)) {
                (Some(response), _) => self.response(response, part, builder),
                (None, Some(data)) => images.push(image(data)),
                (None, None) if part.get("text").is_some() || part.kind() == ValueKind::String => {}
                (None, None) => builder.unknown("user/part".to_owned(), part),
            }
        }
        if matches!(text, Content::None) && images.is_empty() {
            return builder.bookkeeping("results");
        }
        let mut prompt = builder.item(id.clone(), Kind::Prompt);
        prompt.text = text;
        push_list(&mut prompt, "images", images);
        if prompt.text().starts_with(CONTEXT) {
            if let Some(cwd) = folder_of(&prompt.text()).filter(|_| builder.parent.is_none()) {
                builder.facts(Facts { cwd: Some(Text::clean(cwd)), ..Facts::default() });
            }
            return builder.put_minor("synthetic", prompt.text, |_| {});
        }
        let shown = texts_of(shown);
        if !matches!(shown, Content::None) {
            let words = Item { text: shown, record: prompt.record.clone(), ..Item::new("", Kind::Prompt, 0) };
            prompt.data.push(("words", Fact::Text(words.text().into_owned())));
        }
        builder.put(prompt);
    }

    /// Decodes the response to a call. Usually, the message with the call has it already.
    fn response(&mut self, response: Value<'_>, part: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let call = builder.id_of(response.get("id"));
        if self.calls.get(&call).is_some() && !self.calls.awaits(&call) {
            return;
        }
        let mut item = self.calls.result_of(&call, builder);
        self.calls.mark_answered(&call);
        let [answer] = response.get_all(["response"]);
        if answer.is_some_and(|answer| answer.get("error").is_some_and(|error| !error.is_null())) {
            fail(&mut item);
        }
        result::add_parts(&mut item, [part].into_iter());
        wrapped::add_facts(&mut item);
        result::mark_success_if_silent(&mut item);
        builder.put(item);
    }

    /// Decodes an answer of the model. `has_new_text`: whether its text wasn't emitted yet.
    fn answered(&mut self, message: Value<'_>, id: &Id, has_new_text: bool, builder: &mut ItemBuilder<'_>) {
        let [content, thoughts, tokens, model, calls] =
            message.get_all(["content", "thoughts", "tokens", "model", "toolCalls"]);
        let is_own = builder.parent.is_none();
        let is_other = |model: &Cow<'_, str>| is_own && self.model.as_deref() != Some(&**model);
        if let Some(model) = model.and_then(Value::decode).filter(is_other) {
            builder.facts(Facts { model: Some(Text::clean(&model)), ..Facts::default() });
            self.model = Some((&*model).into());
        }
        if let Some(tokens) = tokens {
            let [input, output, cached, thoughts] =
                numbers(tokens, ["input", "output", "cached", "thoughts"]);
            let usage = Usage {
                input: input.saturating_sub(cached),
                output: output.saturating_add(thoughts),
                cache_read: cached,
                cache_write: 0,
            };
            builder.emit_usage(id.clone(), usage);
        }
        if !has_new_text {
            builder.bookkeeping("repeated message");
        }
        let before = builder.out.len();
        if has_new_text {
            for (place, thought) in thoughts.into_iter().flat_map(Value::items).enumerate() {
                let mut item =
                    builder.item(Id::below(id.as_str(), &format!("thought-{}", place + 1)), Kind::Thinking);
                let parts = thought.get_all(["subject", "description"]).into_iter().flatten();
                item.text = strings(
                    parts
                        .filter(|part| part.str().is_some_and(|part| !part.is_blank()))
                        .map(Value::node)
                        .collect(),
                );
                builder.put_thought(item);
            }
            let text = texts_of(content);
            if !matches!(text, Content::None) {
                let mut reply = builder.item(id.clone(), Kind::Reply);
                reply.text = text;
                builder.put(reply);
            }
            for call in parts(content).filter_map(|part| part.get("functionCall")) {
                let [name, id, input] = call.get_all(["name", "id", "args"]);
                self.call(name, id, input, builder);
            }
        }
        let list = || calls.into_iter().flat_map(Value::items);
        for call in list() {
            let [name, id, input] = call.get_all(["name", "id", "args"]);
            let is_known =
                id.and_then(Value::decode).is_some_and(|id| self.calls.get(&Id::from(&*id)).is_some());
            if !is_known {
                self.call(name, id, input, builder);
            }
        }
        for call in list() {
            self.call_result(call, builder);
        }
        if has_new_text && builder.out.len() == before {
            builder.bookkeeping("empty message");
        }
    }

    /// Emits the result of a call in the message of its call, if it has one.
    fn call_result(&mut self, call: Value<'_>, builder: &mut ItemBuilder<'_>) {
        let [id, status, parts, display, agent, at, input] =
            call.get_all(["id", "status", "result", "resultDisplay", "agentId", "timestamp", "args"]);
        let id = builder.id_of(id);
        let is = |name: &str| status.and_then(Value::str).is_some_and(|status| status.is(name));
        let is_complete = is("success") || is("error") || is("cancelled");
        if !is_complete || !self.calls.awaits(&id) {
            return;
        }
        let mut item = self.calls.result_of(&id, builder);
        item.at = at.map(Value::node).or(item.at);
        self.calls.mark_answered(&id);
        if !is("success") {
            fail(&mut item);
        }
        if is("cancelled") {
            item.data.push(("stopped", Fact::Text("stopped".to_owned())));
        }
        result::add_parts(&mut item, parts.into_iter().flat_map(Value::items));
        result::add_lines(&mut item, input);
        if let Some(display) = display.filter(|display| !display.is_null()) {
            result::add_display(&mut item, display);
        }
        wrapped::add_facts(&mut item);
        if let Some(agent) = agent.filter(|agent| agent.str().is_some()) {
            item.data.push(("agent", Fact::Node(agent.node())));
        }
        result::mark_success_if_silent(&mut item);
        builder.put(item);
    }
}

/// Returns the session's folder from the message that describes the session to the model.
fn folder_of(context: &str) -> Option<&str> {
    let (_, rest) = FOLDER.iter().find_map(|before| context.split_once(before))?;
    let line = rest.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.strip_prefix("- ").unwrap_or(line)).filter(|path| path.len() > 1)
}

/// Returns the parts of a message. A single text is the only one.
fn parts(content: Option<Value<'_>>) -> impl Iterator<Item = Value<'_>> {
    let (one, list) = match content {
        Some(list) if list.kind() == ValueKind::Array => (None, Some(list)),
        one => (one, None),
    };
    one.into_iter().chain(list.into_iter().flat_map(Value::items))
}

/// Returns the texts of a message.
fn texts_of(content: Option<Value<'_>>) -> Content {
    let text = |part: Value<'_>| {
        let text = if part.kind() == ValueKind::String { part } else { part.get("text")? };
        text.str().filter(|text| !text.is_blank()).map(|_| text.node())
    };
    strings(parts(content).filter_map(text).collect())
}
