//! How decoders make the items of a line.

use streamfmt_core::event::Event;
use streamfmt_core::item::{Content, Fact, Id, Item, Kind};
use streamfmt_core::json::Value;
use streamfmt_core::session::SessionId;

use streamfmt_core::dialect::Input;

/// What all items of one line have in common, and how they are made.
pub(super) struct ItemBuilder<'a, L = ()> {
    pub(super) input: Input<'a>,
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
    pub(super) fn new(input: Input<'a>, line: L, parent: Option<Id>, session: Option<SessionId>) -> Self {
        Self { input, line, parent, session, at: None, unnamed: 0 }
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

    /// The id that is in `value`, or one made for it.
    pub(super) fn id_of(&mut self, value: Option<Value<'_>>) -> Id {
        let id = value.and_then(Value::decode).filter(|id| !id.is_empty());
        id.map_or_else(|| self.unnamed(), |id| Id::from(&*id))
    }

    /// An item that has only a text, put.
    pub(super) fn put(&mut self, kind: Kind, text: Content, out: &mut Vec<Event>) {
        let id = self.unnamed();
        let mut item = self.item(id, kind);
        item.text = text;
        out.push(Event::Put(Box::new(item)));
    }

    /// A notice of `event` with this text.
    pub(super) fn notice(&mut self, event: &str, text: Content) -> Item {
        let id = self.unnamed();
        let mut item = self.item(id, Kind::Notice);
        item.text = text;
        item.data.push(("event", Fact::Text(event.to_owned())));
        item
    }

    /// Something whose name isn't known, shown as it is.
    pub(super) fn unknown(&mut self, name: String, value: Value<'_>, out: &mut Vec<Event>) {
        let id = self.unnamed();
        let mut item = self.item(id, Kind::Unknown);
        item.data.extend([("type", Fact::Text(name.clone())), ("value", Fact::Node(value.node()))]);
        out.push(Event::Unknown(name));
        out.push(Event::Put(Box::new(item)));
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
