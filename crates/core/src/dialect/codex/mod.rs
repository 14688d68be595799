//! Codex: the stream of `codex exec --json`, that of versions before 0.44, and the files that its sessions are
//! recorded in, through one decoder. Each line shows which of the three it is of.
//!
//! ```text
//! {"type":"item.completed","item":{…}}                          [stream]
//! {"id":"0","msg":{"type":"exec_command_end",…}}                [old]
//! {"timestamp":…,"type":"response_item","payload":{…}}          [rollout]
//! ```
//!
//! What is easy to get wrong stands where it is dealt with: calls that never end in [`stream`], what is recorded twice in
//! [`rollout`].

mod agents;
mod call;
mod command;
mod errors;
mod old;
mod result;
mod rollout;
mod stream;
mod tokens;
pub(super) mod tools;
pub(super) mod wrapped;

use std::borrow::Cow;
use std::sync::Arc;

use crate::dialect::calls::Calls;
use crate::dialect::{Decoder, Input};
use crate::event::Event;
use crate::item::{Content, Fact, Id, Item, Kind};
use crate::json::{self, Value};
use crate::session::{Facts, SessionId};
use crate::text::Text;

pub(super) use agents::SIDE_FILES;

use old::OldStream;
use rollout::Rollout;
use stream::Stream;
use tokens::Tokens;

/// Whether a value is an event of Codex.
pub(super) fn claim(value: Value<'_>) -> bool {
    if value.kind() == json::Kind::Array {
        return value.items().next().is_some_and(claim);
    }
    let [kind, payload, message, item, thread] =
        value.get_all(["type", "payload", "msg", "item", "thread_id"]);
    let is_object = |value: Option<Value<'_>>| value.is_some_and(|value| value.kind() == json::Kind::Object);
    match kind.and_then(Value::decode).as_deref() {
        Some("thread.started") => thread.is_some(),
        Some("turn.started" | "turn.completed" | "turn.failed") => true,
        Some("item.started" | "item.updated" | "item.completed") => is_object(item),
        Some(kind) => is_object(payload) && rollout::is_known(kind),
        None => message.is_some_and(|message| message.get("type").is_some()) || old::is_settings(value),
    }
}

/// The decoder: what must be remembered from line to line.
#[derive(Default)]
pub(super) struct Codex {
    session: Option<SessionId>,
    calls: Calls,
    /// Tokens of all model calls, as the last line that counts them has them.
    used: Option<Item>,
    stream: Stream,
    old: OldStream,
    rollout: Rollout,
}

impl Decoder for Codex {
    fn decode(&mut self, input: Input<'_>, out: &mut Vec<Event>) {
        let [kind, payload, message, prompt] = input.value.get_all(["type", "payload", "msg", "prompt"]);
        let mut maker = Maker { input, at: None, session: self.session.clone(), unnamed: 0 };
        let kind = kind.and_then(Value::decode);
        match (kind.as_deref(), payload, message) {
            (Some(kind), Some(payload), _) => self.rollout(kind, payload, &mut maker, out),
            (Some(kind), None, _) => self.stream(kind, &mut maker, out),
            (None, _, Some(message)) => self.old(message, &mut maker, out),
            _ if old::is_settings(input.value) => self.settings(&mut maker, out),
            _ => match prompt.filter(|prompt| prompt.str().is_some()) {
                Some(prompt) => maker.put(Kind::Prompt, content(prompt), out),
                None => not_an_event(input, out),
            },
        }
    }

    fn end(&mut self, out: &mut Vec<Event>) {
        self.open_rollout(out);
        out.extend(self.used.take().map(|totals| Event::Put(Box::new(totals))));
    }
}

/// What all items of one line have in common, and how they are made.
struct Maker<'a> {
    input: Input<'a>,
    /// The time of the line, by node.
    at: Option<u32>,
    session: Option<SessionId>,
    /// Items of this line that had to be named for it.
    unnamed: u32,
}

impl Maker<'_> {
    fn item(&self, id: impl Into<Id>, kind: Kind) -> Item {
        let mut item = Item::new(id, kind, self.input.line);
        item.parent = self.input.parent.cloned();
        item.session.clone_from(&self.session);
        item.at = self.at;
        item.record = Some(self.input.record.clone());
        item
    }

    /// An id for something that has none of its own.
    fn unnamed(&mut self) -> Id {
        self.unnamed += 1;
        let (parent, slash) = self.input.parent.map_or(("", ""), |parent| (parent.as_str(), "/"));
        let id = [parent, slash, "line-", &self.input.line.to_string()].concat();
        match self.unnamed {
            1 => id.into(),
            count => Id::below(&id, &count.to_string()),
        }
    }

    /// The id that is in `value`, or one made for it.
    fn id_of(&mut self, value: Option<Value<'_>>) -> Id {
        let id = value.and_then(Value::decode).filter(|id| !id.is_empty());
        id.map_or_else(|| self.unnamed(), |id| Id::from(&*id))
    }

    /// An item that has only a text, put.
    fn put(&mut self, kind: Kind, text: Content, out: &mut Vec<Event>) {
        let id = self.unnamed();
        let mut item = self.item(id, kind);
        item.text = text;
        out.push(Event::Put(Box::new(item)));
    }

    /// A notice of `event` with this text.
    fn notice(&mut self, event: &str, text: Content) -> Item {
        let id = self.unnamed();
        let mut item = self.item(id, Kind::Notice);
        item.text = text;
        item.data.push(("event", Fact::Text(event.to_owned())));
        item
    }

    /// Something whose name isn't known, shown as it is.
    fn unknown(&mut self, name: String, value: Value<'_>, out: &mut Vec<Event>) {
        let id = self.unnamed();
        let mut item = self.item(id, Kind::Unknown);
        item.data = vec![("type", Fact::Text(name.clone())), ("value", Fact::Node(value.node()))];
        out.push(Event::Unknown(name));
        out.push(Event::Put(Box::new(item)));
    }
}

/// Valid JSON that is no event: passes through as it is written.
fn not_an_event(input: Input<'_>, out: &mut Vec<Event>) {
    let mut item = Item::new(format!("line-{}", input.line), Kind::Unknown, input.line);
    item.text = Content::Own(input.value.raw().to_owned());
    item.data = vec![("raw", Fact::Bool(true)), ("type", Fact::Text("no event".into()))];
    out.push(Event::Unknown("no event".into()));
    out.push(Event::Put(Box::new(item)));
}

/// A string as an item's text.
fn content(value: Value<'_>) -> Content {
    if value.kind() == json::Kind::String { Content::Node(value.node()) } else { Content::None }
}

/// A line that is counted by this name, since others say the same or there is nothing to say.
fn bookkeeping(name: impl Into<Cow<'static, str>>, out: &mut Vec<Event>) {
    out.push(Event::Bookkeeping(name.into()));
}

impl Codex {
    /// The session that lines belong to from here on.
    fn begin(&mut self, id: Option<Value<'_>>, maker: &mut Maker<'_>) {
        let id = id.and_then(Value::decode).filter(|id| !id.is_empty());
        self.session = id.map(|id| Arc::from(&*id)).or_else(|| self.session.take());
        maker.session.clone_from(&self.session);
    }

    /// What is known of the run, whose session the line names.
    fn facts(&self) -> Facts {
        Facts {
            agent: Some(Text::own("codex")),
            session: self.session.as_deref().map(Text::clean),
            ..Facts::default()
        }
    }

    /// Counts the tokens of all model calls of the session so far, which take the place of those counted before.
    fn count(&mut self, total: Value<'_>, out: &mut Vec<Event>) -> Tokens {
        let tokens = Tokens::of(total);
        let message = Id::below(self.session.as_deref().unwrap_or_default(), "tokens");
        out.push(Event::Usage { message, usage: tokens.usage() });
        tokens
    }

    /// The same of a line that is no end, and may be the last.
    fn count_so_far(&mut self, info: Option<Value<'_>>, maker: &Maker<'_>, out: &mut Vec<Event>) {
        if let Some(total) = info.and_then(|info| info.get("total_token_usage")) {
            let mut totals = maker.item("totals", Kind::Notice);
            totals.data.push(("event", Fact::Text("totals".into())));
            self.count(total, out).tell(&mut totals);
            self.used = Some(totals);
        }
        bookkeeping("token_count", out);
    }
}
