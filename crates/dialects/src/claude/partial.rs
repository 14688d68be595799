//! Partial messages: the API's own stream events, passed on while a message grows.
//!
//! A streamed block is provisional until the whole message line with its id has come, which is
//! *before* the block's stop event. A message that breaks off is retried under another id, or not
//! at all: its blocks are dropped when the next message of that thread begins. Text whose
//! message had both `message_delta` and `message_stop` is whole without such a line.

use smallvec::SmallVec;

use streamfmt_core::budget::Budget;
use streamfmt_core::event::Event;
use streamfmt_core::item::{Fact, Id, Kind, Status};
use streamfmt_core::json::{Str, Value};
use streamfmt_core::session::Map;

use super::line::EnvelopeKey;
use super::message::TokenCounts;
use super::{Claude, ClaudeItemBuilder};

/// Threads (the main one and sub-agents) whose current message is remembered at most.
const MAX_THREADS: usize = 256;
/// Messages whose blocks may come again, at most.
const MAX_MESSAGES: usize = 4_096;
/// Messages behind which all the room is taken that may be needed, rather than grow by and by.
const FEW_MESSAGES: usize = 448;
/// Blocks of one message that may stream at the same time, or be told by their place when it comes again.
const MAX_BLOCKS: usize = 1_024;

/// Hashes of the blocks of a message. Most messages have few.
type Hashes = SmallVec<[u64; 2]>;

/// A block that is streaming, or has streamed.
struct Streamed {
    /// The API's index of the block.
    index: i64,
    /// Its item, once it has begun; a text block that stays empty never does.
    id: Option<Id>,
    kind: Kind,
    /// The whole message line has told it.
    is_whole: bool,
    /// What its last piece ended with: the first half of a surrogate pair.
    half: Option<u16>,
}

/// A block that a whole message line tells.
pub(super) struct WholeBlock<'a> {
    pub(super) kind: Kind,
    /// A call's own id.
    pub(super) call: Option<&'a Id>,
    /// What tells the block from others: the hash of a call's own id, else of the block as written.
    pub(super) hash: u64,
    /// The block's place in its message, if the line says it.
    pub(super) index: Option<usize>,
}

/// Where a block stands that a whole message line tells.
pub(super) enum BlockPlace {
    /// It is what streamed as this item.
    Twin(Id),
    /// By number in its message.
    At(usize),
}

impl BlockPlace {
    /// The id of a block at this place of `message`.
    pub(super) fn id(self, message: &Id) -> Id {
        match self {
            Self::Twin(id) => id,
            Self::At(place) => block_id(message, place),
        }
    }
}

/// The message that a thread is at.
struct CurrentMessage {
    message: Id,
    /// What comes of it that was seen is told again: another message or a user line came in between.
    is_replay: bool,
    streamed: Vec<Streamed>,
    /// Streamed blocks that have begun.
    begun: usize,
    has_delta: bool,
    has_stop: bool,
}

/// What is remembered of messages.
pub(super) struct Threads {
    /// Threads whose current message is remembered.
    most: usize,
    /// Messages whose blocks may come again.
    most_messages: usize,
    /// By what stands for the thread: see [`thread`].
    current: Map<u64, CurrentMessage>,
    /// Something was streamed since all messages were settled.
    has_streamed: bool,
    /// Hash of a message's id → hashes of its blocks, in order; 0 while only streamed.
    blocks: Map<u64, Hashes>,
}

impl Threads {
    /// Remembers as many as the budget says.
    pub(super) fn new(budget: Budget) -> Self {
        Self {
            most: budget.open_items.min(MAX_THREADS),
            most_messages: budget.lines.min(MAX_MESSAGES),
            current: Map::default(),
            has_streamed: false,
            blocks: Map::default(),
        }
    }

    /// A message begins, or goes on. If it is another than the thread was at, that one is settled.
    pub(super) fn begin(&mut self, parent: Option<&Id>, message: &Id, out: &mut Vec<Event>) {
        let is_replay = || self.blocks.contains_key(&message.hash());
        if let Some(current) = self.current.get_mut(&thread(parent)) {
            if current.message != *message {
                current.settle(out);
                *current = CurrentMessage::at(message.clone(), is_replay());
            }
            return;
        }
        let current = CurrentMessage::at(message.clone(), is_replay());
        if self.current.len() >= self.most
            && let Some((_, mut oldest)) = self.current.shift_remove_index(0)
        {
            // Nobody gave it up: what has come of it is told.
            let status = if oldest.has_stop { Status::Done } else { Status::Cancelled };
            oldest.close(status, out);
        }
        self.current.insert(thread(parent), current);
    }

    /// A user line came in a thread.
    pub(super) fn answered(&mut self, parent: Option<&Id>) {
        if let Some(current) = self.current.get_mut(&thread(parent)) {
            current.is_replay = true;
        }
    }

    /// Settles all messages: an outcome has come.
    pub(super) fn settle(&mut self, out: &mut Vec<Event>) {
        if !std::mem::take(&mut self.has_streamed) {
            return;
        }
        for current in self.current.values_mut() {
            current.settle(out);
        }
    }

    /// Ends the input: messages that were stopped are whole; what else is open the session cancels.
    pub(super) fn end(&mut self, out: &mut Vec<Event>) {
        for current in self.current.values_mut().filter(|current| current.has_stop) {
            current.close(Status::Done, out);
        }
    }

    /// Where a block stands that a whole message line tells. A replay of an earlier message gets the places that
    /// it had; `is_replay`: whether the line was seen before.
    pub(super) fn whole(
        &mut self,
        parent: Option<&Id>,
        message: &Id,
        told: &WholeBlock<'_>,
        is_replay: impl FnOnce() -> bool,
    ) -> BlockPlace {
        let current = self.current.get_mut(&thread(parent));
        let is_told_again = current.as_ref().is_some_and(|current| current.is_replay);
        let twin = current.and_then(|current| current.twin(told));
        let known = self.blocks_of(message);
        if let Some(id) = twin {
            let recent = known.len().saturating_sub(MAX_BLOCKS);
            if let Some(place) = known[recent..].iter_mut().find(|hash| **hash == 0) {
                *place = told.hash;
            }
            return BlockPlace::Twin(id);
        }
        if let Some(index) = told.index {
            return BlockPlace::At(index);
        }
        let is_replay = !known.is_empty() && (is_told_again || is_replay());
        let mut first = known.iter().take(if is_replay { MAX_BLOCKS } else { 0 });
        let place = first.position(|&hash| hash == told.hash).unwrap_or_else(|| {
            known.push(told.hash);
            known.len() - 1
        });
        BlockPlace::At(place)
    }

    fn blocks_of(&mut self, message: &Id) -> &mut Hashes {
        if self.blocks.len() >= self.most_messages {
            self.blocks.drain(..self.most_messages / 2);
        } else if self.blocks.len() == FEW_MESSAGES {
            self.blocks.reserve(self.most_messages - FEW_MESSAGES);
        }
        self.blocks.entry(message.hash()).or_default()
    }
}

/// What stands for a thread: that of the call that it is inside of, or nothing for the main one.
fn thread(parent: Option<&Id>) -> u64 {
    parent.map_or(0, Id::hash)
}

fn block_id(message: &Id, place: usize) -> Id {
    const PLACES: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
    match PLACES.get(place) {
        Some(place) => Id::below(message.as_str(), place),
        None => Id::below(message.as_str(), &place.to_string()),
    }
}

impl CurrentMessage {
    /// At the beginning of a message.
    fn at(message: Id, is_replay: bool) -> Self {
        Self { message, is_replay, streamed: Vec::new(), begun: 0, has_delta: false, has_stop: false }
    }

    /// Ends the message: its blocks are whole if it was, else they never happened.
    fn settle(&mut self, out: &mut Vec<Event>) {
        if self.has_delta && self.has_stop {
            return self.close(Status::Done, out);
        }
        for streamed in self.streamed.drain(..).filter(|streamed| !streamed.is_whole) {
            out.extend(streamed.id.map(Event::Drop));
        }
    }

    fn close(&mut self, status: Status, out: &mut Vec<Event>) {
        for streamed in self.streamed.drain(..).filter(|streamed| !streamed.is_whole) {
            out.extend(streamed.id.map(|id| Event::Close { id, status }));
        }
    }

    /// The id of the streamed block that is told whole now.
    fn twin(&mut self, told: &WholeBlock<'_>) -> Option<Id> {
        let twin = self.streamed.iter_mut().find(|streamed| {
            let is_same = told.call.is_none() || streamed.id.as_ref() == told.call;
            streamed.id.is_some() && !streamed.is_whole && streamed.kind == told.kind && is_same
        })?;
        twin.is_whole = true;
        twin.id.clone()
    }

    /// Remembers a block that begins. Of too many, the older ones are over.
    fn begin(&mut self, index: i64, kind: Kind, out: &mut Vec<Event>) {
        if self.streamed.len() >= MAX_BLOCKS {
            let older = self.streamed.drain(..MAX_BLOCKS / 2).filter(|streamed| !streamed.is_whole);
            let status = Status::Cancelled;
            out.extend(older.filter_map(|streamed| streamed.id).map(|id| Event::Close { id, status }));
        }
        self.streamed.push(Streamed { index, id: None, kind, is_whole: false, half: None });
    }

    /// The block of this index that began last.
    fn block(&mut self, index: i64) -> Option<&mut Streamed> {
        self.streamed.iter_mut().rev().find(|streamed| streamed.index == index)
    }
}

impl Claude {
    /// A `stream_event` line.
    pub(super) fn partial(&mut self, builder: &mut ClaudeItemBuilder<'_>) {
        let Some(event) = builder.line.get(EnvelopeKey::Event) else {
            return builder.unknown("stream_event".into(), builder.line.value);
        };
        self.threads.has_streamed = true;
        let kind = event.get("type").and_then(Value::decode).unwrap_or_default();
        let index = event.get("index").and_then(Value::int).unwrap_or(0);
        match &*kind {
            "message_start" => {
                let message = event.get("message");
                let id = message.and_then(|message| message.get("id")?.decode());
                let id = id.map_or_else(|| builder.unnamed(), |id| Id::from(&*id));
                self.threads.begin(builder.parent.as_ref(), &id, builder.out);
            }
            "content_block_start" => self.block_start(builder, event, index),
            "content_block_delta" => self.block_delta(builder, event, index),
            "message_delta" => {
                let current = self.current(builder);
                current.has_delta = true;
                if let Some(usage) = event.get("usage") {
                    let (message, usage) = (current.message.clone(), TokenCounts::used(usage).usage());
                    builder.emit(Event::Usage { message, usage });
                    self.counted = None;
                }
            }
            "message_stop" => {
                let current = self.current(builder);
                current.has_stop = true;
                if let Some(from) = builder
                    .line
                    .value
                    .get("abandoned_blocks")
                    .and_then(|blocks| blocks.get("from_block_index")?.int())
                {
                    let given_up = current
                        .streamed
                        .extract_if(.., |streamed| streamed.index >= from && !streamed.is_whole);
                    builder.out.extend(given_up.filter_map(|streamed| streamed.id).map(Event::Drop));
                }
            }
            "content_block_stop" => {
                let half = self.current(builder).block(index).and_then(|block| block.half.take());
                if half.is_some() {
                    self.append(builder, index, LONE);
                }
            }
            "ping" => {}
            _ => builder.unknown(format!("stream_event/{kind}"), event),
        }
    }

    /// The message that the line's thread is at; one is made up for events without a start.
    fn current(&mut self, builder: &mut ClaudeItemBuilder<'_>) -> &mut CurrentMessage {
        let key = thread(builder.parent.as_ref());
        if !self.threads.current.contains_key(&key) {
            let id = builder.unnamed();
            self.threads.begin(builder.parent.as_ref(), &id, builder.out);
        }
        self.threads.current.entry(key).or_insert_with(|| CurrentMessage::at(builder.unnamed(), false))
    }

    fn block_start(&mut self, builder: &mut ClaudeItemBuilder<'_>, event: Value<'_>, index: i64) {
        let Some(block) = event.get("content_block") else { return };
        let kind = block.get("type").and_then(Value::decode).unwrap_or_default();
        let item_kind = match &*kind {
            "text" => Kind::Reply,
            "thinking" | "redacted_thinking" => Kind::Thinking,
            "tool_use" | "server_tool_use" | "mcp_tool_use" => Kind::Call,
            // Blocks that don't grow come whole, in their message's line.
            _ => return,
        };
        self.current(builder).begin(index, item_kind, builder.out);
        match item_kind {
            Kind::Call | Kind::Thinking => {
                let call = Some(block).filter(|_| item_kind == Kind::Call);
                self.open_block(builder, index, call);
            }
            _ => {
                if let Some(text) = block.get("text").and_then(Value::decode).filter(|text| !text.is_empty())
                {
                    self.append(builder, index, &text);
                }
            }
        }
    }

    fn block_delta(&mut self, builder: &mut ClaudeItemBuilder<'_>, event: Value<'_>, index: i64) {
        let Some(delta) = event.get("delta") else { return };
        let kind = delta.get("type").and_then(Value::decode).unwrap_or_default();
        let (key, item_kind) = match &*kind {
            "text_delta" => ("text", Kind::Reply),
            "thinking_delta" => ("thinking", Kind::Thinking),
            "input_json_delta" => ("partial_json", Kind::Call),
            "signature_delta" | "citations_delta" => return,
            _ => return builder.unknown(format!("stream_event/{kind}"), delta),
        };
        let Some(piece) = delta.get(key).and_then(Value::str).filter(|piece| !piece.raw().is_empty()) else {
            return;
        };
        let current = self.current(builder);
        if current.block(index).is_none_or(|block| block.kind != item_kind) {
            if item_kind == Kind::Call {
                // Input of a call that was never named: its whole line will tell it.
                return;
            }
            current.begin(index, item_kind, builder.out);
        }
        let text = current.block(index).map(|block| joined(&mut block.half, piece)).unwrap_or_default();
        if !text.is_empty() {
            self.append(builder, index, &text);
        }
    }

    fn append(&mut self, builder: &mut ClaudeItemBuilder<'_>, index: i64, text: &str) {
        let current = self.current(builder);
        let id = match current.block(index) {
            Some(block) if block.is_whole => return,
            Some(block) => block.id.clone(),
            None => return,
        };
        let id = id.unwrap_or_else(|| self.open_block(builder, index, None));
        builder.emit(Event::Append { id, text: text.to_owned() });
    }

    /// Opens the item of a streamed block. `call`: how a call begins.
    fn open_block(&mut self, builder: &mut ClaudeItemBuilder<'_>, index: i64, call: Option<Value<'_>>) -> Id {
        let id = call.and_then(|call| call.get("id")?.decode()).map(|id| Id::from(&*id));
        let current = self.current(builder);
        let (message, place) = (current.message.clone(), current.begun);
        current.begun += 1;
        let id = id.unwrap_or_else(|| block_id(&message, place));
        let kind = current.block(index).map_or(Kind::Reply, |block| {
            block.id = Some(id.clone());
            block.kind
        });
        let known = self.threads.blocks_of(&message);
        if known.len() <= place {
            known.push(0);
        } else if let Some(block) = self.current(builder).block(index) {
            // The whole line came first.
            block.is_whole = true;
        }
        let mut item = builder.item(id.clone(), kind);
        item.at = None;
        // An input that is there from the start; mostly it is empty, and grows.
        item.input = call.and_then(input_of).map(Value::node);
        if item.input.is_none() {
            item.record = None;
        }
        if let Some(call) = call {
            self.name_tool(&mut item, call.get("name"));
            if call.get("type").and_then(Value::str).is_some_and(|kind| !kind.is("tool_use")) {
                item.data.push(("server_side", Fact::Bool(true)));
            }
            self.calls.made(&item);
        }
        builder.emit(Event::Open(Box::new(item)));
        id
    }
}

/// The input that a call begins with, if there is something in it.
fn input_of(call: Value<'_>) -> Option<Value<'_>> {
    call.get("input").filter(|input| input.entries().next().is_some())
}

/// What stands for half a surrogate pair.
const LONE: &str = "\u{fffd}";

/// A piece of text, behind the half of a surrogate pair that the piece before ended with. If it ends with such a half itself,
/// that is kept for the next.
fn joined(half: &mut Option<u16>, piece: Str<'_>) -> String {
    let mut text = piece.decode().into_owned();
    if let Some(first) = half.take() {
        let second = code(piece.raw().get(..6));
        match second.and_then(|second| char::decode_utf16([first, second]).next()?.ok()) {
            Some(ch) if text.starts_with(LONE) => {
                text.replace_range(..LONE.len(), ch.encode_utf8(&mut [0; 4]));
            }
            _ => text.insert_str(0, LONE),
        }
    }
    let last = piece.raw().len().checked_sub(6).and_then(|start| code(piece.raw().get(start..)));
    if let Some(first @ 0xd800..=0xdbff) = last
        && text.ends_with(LONE)
    {
        text.truncate(text.len() - LONE.len());
        *half = Some(first);
    }
    text
}

/// The code of an escape such as `\ud83d`.
fn code(escape: Option<&str>) -> Option<u16> {
    u16::from_str_radix(escape?.strip_prefix("\\u")?, 16).ok()
}
