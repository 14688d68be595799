//! How decoders make the items of a line.

use std::borrow::Cow;

use streamfmt_core::dialect::Input;
use streamfmt_core::event::{Event, Facts};
use streamfmt_core::item::{Content, Fact, Id, Item, Kind};
use streamfmt_core::json::Value;
use streamfmt_core::names::Names;
use streamfmt_core::session::SessionId;

/// What all items of one line have in common, and how they are made.
pub(super) struct ItemBuilder<'a, L = ()> {
    pub(super) input: Input<'a>,
    /// Where they go.
    pub(super) out: &'a mut Vec<Event>,
    /// What its dialect has read of the line.
    pub(super) line: L,
    pub(super) parent: Option<Id>,
    pub(super) session: Option<SessionId>,
    /// The time of the line, by node.
    pub(super) at: Option<u32>,
    /// Items of this line that had to be named for it.
    unnamed: u32,
}

impl<'a, L> ItemBuilder<'a, L> {
    /// For the items of `input`, inside of the call `parent`.
    pub(super) fn new(
        input: Input<'a>,
        line: L,
        parent: Option<Id>,
        session: Option<SessionId>,
        out: &'a mut Vec<Event>,
    ) -> Self {
        Self { input, out, line, parent, session, at: None, unnamed: 0 }
    }

    pub(super) fn item(&self, id: impl Into<Id>, kind: Kind) -> Item {
        let mut item = Item::new(id, kind, self.input.line);
        item.parent.clone_from(&self.parent);
        item.session.clone_from(&self.session);
        item.at = self.at;
        item.record = Some(self.input.record.clone());
        item
    }

    /// An id for something that has none of its own.
    pub(super) fn unnamed(&mut self) -> Id {
        self.unnamed += 1;
        let (parent, slash) = self.input.parent.map_or(("", ""), |parent| (parent.as_str(), "/"));
        let id = [parent, slash, "line-", &self.input.line.to_string()].concat();
        match self.unnamed {
            1 => id.into(),
            count => Id::below(&id, &count.to_string()),
        }
    }

    /// An item that has no id of its own.
    pub(super) fn unnamed_item(&mut self, kind: Kind) -> Item {
        let id = self.unnamed();
        self.item(id, kind)
    }

    /// How a turn or run ended.
    pub(super) fn outcome(&mut self) -> Item {
        let id = Id::below(self.unnamed().as_str(), "outcome");
        self.item(id, Kind::Outcome)
    }

    /// The id that is in `value`, or one made for it.
    pub(super) fn id_of(&mut self, value: Option<Value<'_>>) -> Id {
        let id = value.and_then(Value::decode).filter(|id| !id.is_empty());
        id.map_or_else(|| self.unnamed(), |id| Id::from(&*id))
    }

    /// Tells something that happened.
    pub(super) fn emit(&mut self, event: Event) {
        self.out.push(event);
    }

    /// What is known of the run.
    pub(super) fn facts(&mut self, facts: Facts) {
        self.emit(Event::Facts(Box::new(facts)));
    }

    /// Puts an item that is whole.
    pub(super) fn put(&mut self, item: Item) {
        self.emit(Event::Put(Box::new(item)));
    }

    /// Puts an item that has only a text.
    pub(super) fn put_text(&mut self, kind: Kind, text: Content) {
        let mut item = self.unnamed_item(kind);
        item.text = text;
        self.put(item);
    }

    /// Counts the line by this name, since others say the same or there is nothing to say.
    pub(super) fn bookkeeping(&mut self, name: impl Into<Cow<'static, str>>) {
        self.emit(Event::Bookkeeping(name.into()));
    }

    /// A notice of `event` with this text.
    pub(super) fn notice(&mut self, event: &str, text: Content) -> Item {
        let mut item = self.unnamed_item(Kind::Notice);
        item.text = text;
        item.data.push(("event", Fact::Text(event.to_owned())));
        item
    }

    /// Something of a type that has no arm of its own. One of `known` is only counted: others say the same, or there is
    /// nothing to say. Any other is unknown, under the name of its type behind `prefix`.
    pub(super) fn rest(&mut self, prefix: &str, kind: &str, known: &Names, value: Value<'_>) {
        match known.find(kind) {
            Some(known) => self.bookkeeping(known),
            None => self.unknown([prefix, kind].concat(), value),
        }
    }

    /// Something whose name isn't known, shown as it is.
    pub(super) fn unknown(&mut self, name: String, value: Value<'_>) {
        let id = self.unnamed();
        let item = self.unknown_item(id, name, value);
        self.put(item);
    }

    /// The same with an id of its own, to be put.
    pub(super) fn unknown_item(&mut self, id: Id, name: String, value: Value<'_>) -> Item {
        let mut item = self.item(id, Kind::Unknown);
        item.data.extend([("type", Fact::Text(name.clone())), ("value", Fact::Node(value.node()))]);
        self.emit(Event::Unknown(name));
        item
    }
}

/// Valid JSON that is no event: passes through as it is written.
pub(super) fn not_an_event(input: Input<'_>, out: &mut Vec<Event>) {
    let mut item = Item::new(format!("line-{}", input.line), Kind::Unknown, input.line);
    item.text = Content::Own(input.value.raw().to_owned());
    item.data.extend([("raw", Fact::Bool(true)), ("type", Fact::Text("no event".into()))]);
    out.push(Event::Unknown("no event".into()));
    out.push(Event::Put(Box::new(item)));
}
