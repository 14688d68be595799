//! [`ItemBuilder`], with which decoders build the items of a line.

use std::borrow::Cow;

use crate::facts::{leveled, minor, reports_failure};
use streamfmt_core::dialect::Input;
use streamfmt_core::event::{Event, Facts, Usage, UsageDetails};
use streamfmt_core::item::{Content, Fact, Id, Item, Kind, time_of};
use streamfmt_core::json::Value;
use streamfmt_core::names::Names;
use streamfmt_core::session::SessionId;

/// Builds the items of one line, and holds what they have in common.
pub(super) struct ItemBuilder<'a, L = ()> {
    pub(super) input: Input<'a>,
    /// Receives the events.
    pub(super) out: &'a mut Vec<Event>,
    /// The dialect's view of the line.
    pub(super) line: L,
    pub(super) parent: Option<Id>,
    pub(super) session: Option<SessionId>,
    /// The session that the line repeats.
    pub(super) repeats: Option<SessionId>,
    /// The node of the line's timestamp.
    pub(super) at: Option<u32>,
    /// The number of ids made for items of this line that have no id in the stream.
    unnamed: u32,
}

impl<'a, L> ItemBuilder<'a, L> {
    /// Creates a builder for the items of `input`, inside the call `parent`.
    pub(super) fn new(
        input: Input<'a>,
        line: L,
        parent: Option<Id>,
        session: Option<SessionId>,
        out: &'a mut Vec<Event>,
    ) -> Self {
        Self { input, out, line, parent, session, repeats: None, at: None, unnamed: 0 }
    }

    /// Returns an item of this line, without content.
    pub(super) fn item(&self, id: impl Into<Id>, kind: Kind) -> Item {
        let mut item = Item::new(id, kind, self.input.line);
        item.parent.clone_from(&self.parent);
        item.session.clone_from(&self.session);
        item.at = self.at;
        item.record = Some(self.input.record.clone());
        if let Some(origin) = &self.repeats {
            item.session = Some(origin.clone());
            item.data.push(("repeats", Fact::Text((**origin).to_owned())));
        }
        item
    }

    /// Makes an id, from the line's number, for something that has none in the stream.
    pub(super) fn unnamed(&mut self) -> Id {
        self.unnamed += 1;
        let (parent, slash) = self.input.parent.map_or(("", ""), |parent| (parent.as_str(), "/"));
        let mut id = [parent, slash, "line-", &self.input.line.to_string()].concat();
        if let node @ 2.. = self.input.value.node() {
            // An array of events is on the line, and this isn't the first.
            id.extend(["/n", &node.to_string()]);
        }
        match self.unnamed {
            1 => id.into(),
            count => Id::below(&id, &count.to_string()),
        }
    }

    /// Returns an item with an id made for it.
    pub(super) fn unnamed_item(&mut self, kind: Kind) -> Item {
        let id = self.unnamed();
        self.item(id, kind)
    }

    /// Returns the item for the end of a turn or run.
    pub(super) fn outcome(&mut self) -> Item {
        let id = Id::below(self.unnamed().as_str(), "outcome");
        self.item(id, Kind::Outcome)
    }

    /// Returns the id in `value`, or makes one if it is missing or empty.
    pub(super) fn id_of(&mut self, value: Option<Value<'_>>) -> Id {
        let id = value.and_then(Value::decode).filter(|id| !id.is_empty());
        id.map_or_else(|| self.unnamed(), |id| Id::from(&*id))
    }

    /// Emits an event.
    pub(super) fn emit(&mut self, event: Event) {
        self.out.push(event);
    }

    /// Emits the tokens of a message.
    pub(super) fn emit_usage(&mut self, message: Id, usage: Usage) {
        let details = self.input.counts.then(|| Box::new(self.usage_details()));
        self.emit(Event::Usage { message, usage, details });
    }

    /// What a line says about the tokens that it reports, in all formats.
    pub(super) fn usage_details(&self) -> UsageDetails {
        let at = self.at.and_then(|node| time_of(self.input.record.value(node)));
        UsageDetails { at, is_repeated: self.repeats.is_some(), ..UsageDetails::NONE }
    }

    /// Emits facts about the run.
    pub(super) fn facts(&mut self, facts: Facts) {
        self.emit(Event::Facts(Box::new(facts)));
    }

    /// Emits a complete item.
    pub(super) fn put(&mut self, item: Item) {
        self.emit(Event::Put(Box::new(item)));
    }

    /// Emits a thought.
    pub(super) fn put_thought(&mut self, thought: Item) {
        let thought = Box::new(thought);
        self.emit(if self.input.shows_minor { Event::Put(thought) } else { Event::Hidden(thought) });
    }

    /// Emits a complete item that has only a text.
    pub(super) fn put_text(&mut self, kind: Kind, text: Content) {
        let mut item = self.unnamed_item(kind);
        item.text = text;
        self.put(item);
    }

    /// Counts the line under this name instead of showing it: other lines have the same content, or it has none.
    pub(super) fn bookkeeping(&mut self, name: impl Into<Cow<'static, str>>) {
        self.emit(Event::Bookkeeping(name.into()));
    }

    /// Returns a notice of `event` with this text.
    pub(super) fn notice(&mut self, event: &str, text: Content) -> Item {
        let mut item = self.unnamed_item(Kind::Notice);
        item.text = text;
        item.data.push(("event", Fact::Text(event.to_owned())));
        item
    }

    /// Emits the notice that a reply is incomplete because it reached the limit of the model's output.
    pub(super) fn put_output_limit(&mut self) {
        let text = "the reply is incomplete: it reached the limit of the model's output";
        let notice = self.notice("info", Content::Own(text.to_owned()));
        self.put(leveled(notice, "warning"));
    }

    /// Emits a notice of minor importance. If no output shows it, no facts are made for it.
    pub(super) fn put_minor(&mut self, event: &str, text: Content, add_facts: impl FnOnce(&mut Item)) {
        if self.input.shows_minor {
            let mut notice = self.notice(event, text);
            add_facts(&mut notice);
            return self.put(minor(notice));
        }
        self.put_hidden(text);
    }

    /// Emits a notice of minor importance that no output shows: it has no facts.
    pub(super) fn put_hidden(&mut self, text: Content) {
        let mut notice = self.unnamed_item(Kind::Notice);
        notice.text = text;
        self.emit(Event::Hidden(Box::new(notice)));
    }

    /// Handles a value of a type that the decoder doesn't interpret. A type in `known` is only counted, as by
    /// [`bookkeeping`](Self::bookkeeping), unless the value reports a failure. Any other becomes an unknown item, named `prefix`
    /// followed by the type.
    pub(super) fn rest(&mut self, prefix: &str, kind: &str, known: &Names, value: Value<'_>) {
        match known.find(kind) {
            Some(known) if !reports_failure(value) => self.bookkeeping(known),
            Some(known) => self.report([prefix, known].concat(), value),
            None => self.unknown([prefix, kind].concat(), value),
        }
    }

    /// Emits a notice for a value of a known type that no formatter interprets: minor, unless the value reports a failure.
    pub(super) fn report(&mut self, name: String, value: Value<'_>) {
        let is_failure = reports_failure(value);
        if !is_failure && !self.input.shows_minor {
            return self.put_hidden(Content::None);
        }
        let notice = self.report_item(name, value);
        self.put(if is_failure { leveled(notice, "warning") } else { minor(notice) });
    }

    /// Returns the notice for a value of a known type that no formatter interprets.
    pub(super) fn report_item(&mut self, name: String, value: Value<'_>) -> Item {
        let mut notice = self.notice("report", Content::None);
        notice.data.extend([("type", Fact::Text(name)), ("value", Fact::Node(value.node()))]);
        notice
    }

    /// Emits an item for a value of an unknown type, which is shown verbatim.
    pub(super) fn unknown(&mut self, name: String, value: Value<'_>) {
        let id = self.unnamed();
        let item = self.unknown_item(id, name, value);
        self.put(item);
    }

    /// Reports a value of an unknown type, and returns an item for it with this id: a warning if the value reports a failure. The caller
    /// emits the item.
    pub(super) fn unknown_item(&mut self, id: Id, name: String, value: Value<'_>) -> Item {
        let mut item = self.item(id, Kind::Unknown);
        item.data.extend([("type", Fact::Text(name.clone())), ("value", Fact::Node(value.node()))]);
        self.emit(Event::Unknown(name));
        if reports_failure(value) { leveled(item, "warning") } else { item }
    }
}

/// Emits valid JSON that is no event as an item, which is shown verbatim.
pub(super) fn not_an_event(input: Input<'_>, out: &mut Vec<Event>) {
    let mut item = Item::new(format!("line-{}", input.line), Kind::Unknown, input.line);
    item.text = Content::Own(input.value.raw().to_owned());
    item.data.extend([("raw", Fact::Bool(true)), ("type", Fact::Text("no event".into()))]);
    out.push(Event::Unknown("no event".into()));
    out.push(Event::Put(Box::new(item)));
}
