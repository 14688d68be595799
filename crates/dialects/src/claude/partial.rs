//! Partial messages: the stream events of the API, which the program forwards while a message grows.
//!
//! A streamed block is provisional until the line of the complete message with its id has come, which is
//! *before* the block's stop event. A message that breaks off is retried under another id, or not
//! at all: its blocks are dropped when the next message of that thread begins. A message that had
//! both `message_delta` and `message_stop` is complete even without such a line.
//!
//! If a line of the message comes after a block that has stopped without one, only the end of the message decides about that block. The
//! items of the line are held back until then, so that they come after it.

use smallvec::SmallVec;

use streamfmt_core::budget::Budget;
use streamfmt_core::event::Event;
use streamfmt_core::item::{Fact, Id, Kind, Status};
use streamfmt_core::json::{Str, Value};
use streamfmt_core::session::Map;

use super::line::EnvelopeKey;
use super::message::TokenCounts;
use super::{Claude, ClaudeItemBuilder};

/// The most threads (the main one and sub-agents) whose current message is remembered.
const MAX_THREADS: usize = 256;
/// The most messages whose blocks are remembered, since they may be repeated.
const MAX_MESSAGES: usize = 4_096;
/// The number of messages at which the memory for all further messages is reserved, instead of growing in steps.
const FEW_MESSAGES: usize = 448;
/// The most blocks of one message that stream at the same time, or are recognised when the message is repeated.
const MAX_BLOCKS: usize = 1_024;

/// The most events that are held back for a block that is undecided.
const MAX_HELD: usize = 64;

/// The hashes of the blocks of a message. Most messages have few.
type Hashes = SmallVec<[u64; 2]>;

/// A block that is streaming, or has streamed.
struct Streamed {
    /// The block's index in the API's events.
    index: i64,
    /// The id of its item, once that is open. A text block that stays empty has no item.
    id: Option<Id>,
    kind: Kind,
    /// Whether the complete message's line contained it.
    is_whole: bool,
    /// Whether its stop event came.
    has_stopped: bool,
    /// Whether its item was closed although no line contained it.
    is_closed: bool,
    /// The first half of a surrogate pair, if its last piece ended with one.
    half: Option<u16>,
}

impl Streamed {
    /// Whether its item, if it has one, is still open.
    fn is_open(&self) -> bool {
        !self.is_whole && !self.is_closed
    }
}

/// A block in the line of a complete message.
pub(super) struct WholeBlock<'a> {
    pub(super) kind: Kind,
    /// The id of a call.
    pub(super) call: Option<&'a Id>,
    /// Identifies the block: the hash of a call's id, or of the text of any other block.
    pub(super) hash: u64,
    /// The block's place in its message, if the line has it.
    pub(super) index: Option<usize>,
}

/// The place of a block in its message.
pub(super) enum BlockPlace {
    /// It was streamed as this item.
    Twin(Id),
    /// Its index in the message.
    At(usize),
}

impl BlockPlace {
    /// Returns the id of the block at this place of `message`.
    pub(super) fn id(self, message: &Id) -> Id {
        match self {
            Self::Twin(id) => id,
            Self::At(place) => block_id(message, place),
        }
    }
}

/// The current message of a thread.
struct CurrentMessage {
    message: Id,
    /// Whether blocks that were seen before are repetitions, since another message or a user line came in between.
    is_replay: bool,
    streamed: Vec<Streamed>,
    /// The number of streamed blocks that have an item.
    begun: usize,
    has_delta: bool,
    has_stop: bool,
    /// The events of lines that come after an undecided block, each with the index of its block.
    held: Vec<(i64, Event)>,
}

/// The messages of all threads.
pub(super) struct Threads {
    /// The most threads whose current message is remembered.
    most: usize,
    /// The most messages whose blocks are remembered.
    most_messages: usize,
    /// The current messages, by the key of their [`thread`].
    current: Map<u64, CurrentMessage>,
    /// Whether a stream event came since all messages were settled.
    has_streamed: bool,
    /// Whether events of a message may be held back.
    holds: bool,
    /// Hash of a message's id → hashes of its blocks, in order; 0 for a block that was only streamed so far.
    blocks: Map<u64, Hashes>,
}

impl Threads {
    /// Remembers as many threads and messages as the budget allows.
    pub(super) fn new(budget: Budget) -> Self {
        Self {
            most: budget.open_items.min(MAX_THREADS),
            most_messages: budget.lines.min(MAX_MESSAGES),
            current: Map::default(),
            has_streamed: false,
            holds: false,
            blocks: Map::default(),
        }
    }

    /// Begins or continues a message. If the thread's current message is another, that one is settled.
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
            // It wasn't abandoned, so its blocks are closed rather than dropped.
            let status = if oldest.has_stop { Status::Done } else { Status::Cancelled };
            oldest.close(status, out);
        }
        self.current.insert(thread(parent), current);
    }

    /// Records that a user line came in a thread.
    pub(super) fn note_user_line(&mut self, parent: Option<&Id>) {
        if let Some(current) = self.current.get_mut(&thread(parent)) {
            current.is_replay = true;
        }
    }

    /// Settles all messages, since an outcome has come.
    pub(super) fn settle(&mut self, out: &mut Vec<Event>) {
        if !std::mem::take(&mut self.has_streamed) {
            return;
        }
        for current in self.current.values_mut() {
            current.settle(out);
        }
    }

    /// Ends the input. Messages that had a `message_stop` are complete; the session cancels all other open items.
    pub(super) fn end(&mut self, out: &mut Vec<Event>) {
        for current in self.current.values_mut() {
            if current.has_stop {
                current.close(Status::Done, out);
            } else if !current.held.is_empty() {
                current.close(Status::Cancelled, out);
            }
        }
    }

    /// Holds back the events since there were `first`, of a line of the thread's current message, if a block before them is undecided.
    pub(super) fn hold(&mut self, parent: Option<&Id>, first: usize, out: &mut Vec<Event>) {
        let Some(current) = self.current.get_mut(&thread(parent)).filter(|it| !it.streamed.is_empty()) else {
            return;
        };
        let Some(index) = current.index_after_undecided() else { return };
        current.held.extend(out.drain(first..).map(|event| (index, event)));
        if current.has_delta && current.has_stop {
            current.end_blocks(|id| Event::Close { id, status: Status::Done }, out);
        } else if current.held.len() > MAX_HELD {
            current.release(first, out);
        } else {
            self.holds = true;
        }
    }

    /// Emits the events that are held back before those since there were `first`: the latter belong to lines that are no part of a message.
    pub(super) fn release(&mut self, first: usize, out: &mut Vec<Event>) {
        let is_shown = |event: &Event| {
            matches!(event, Event::Put(_) | Event::Hidden(_) | Event::Open(_) | Event::Retract { .. })
        };
        if !self.holds || !out[first..].iter().any(is_shown) {
            return;
        }
        self.holds = false;
        for current in self.current.values_mut() {
            current.release(first, out);
        }
    }

    /// Returns the place of a block in the line of a complete message. Blocks of a repeated message get the places that they had.
    /// `is_replay`: whether the line was seen before.
    pub(super) fn whole(
        &mut self,
        parent: Option<&Id>,
        message: &Id,
        whole: &WholeBlock<'_>,
        is_replay: impl FnOnce() -> bool,
    ) -> BlockPlace {
        let current = self.current.get_mut(&thread(parent));
        let is_repeated = current.as_ref().is_some_and(|current| current.is_replay);
        let twin = current.and_then(|current| current.twin(whole));
        let known = self.blocks_of(message);
        if let Some(id) = twin {
            let recent = known.len().saturating_sub(MAX_BLOCKS);
            if let Some(place) = known[recent..].iter_mut().find(|hash| **hash == 0) {
                *place = whole.hash;
            }
            return BlockPlace::Twin(id);
        }
        if let Some(index) = whole.index {
            return BlockPlace::At(index);
        }
        let is_replay = !known.is_empty() && (is_repeated || is_replay());
        let mut first = known.iter().take(if is_replay { MAX_BLOCKS } else { 0 });
        let place = first.position(|&hash| hash == whole.hash).unwrap_or_else(|| {
            known.push(whole.hash);
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

/// Returns the key of a thread: the hash of the call that it is inside, or 0 for the main thread.
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
    /// Creates a message without blocks.
    fn at(message: Id, is_replay: bool) -> Self {
        Self {
            message,
            is_replay,
            streamed: Vec::new(),
            begun: 0,
            has_delta: false,
            has_stop: false,
            held: Vec::new(),
        }
    }

    /// Returns the index of the last block that was in a line, if an earlier one has stopped without a line, or events are held back.
    fn index_after_undecided(&self) -> Option<i64> {
        let last = self.streamed.iter().rposition(|streamed| streamed.is_whole)?;
        let is_undecided = |streamed: &Streamed| streamed.is_open() && streamed.has_stopped;
        let waits = !self.held.is_empty() || self.streamed[..last].iter().any(is_undecided);
        waits.then(|| self.streamed[last].index)
    }

    /// Inserts the events that are held back before those since there were `first`.
    fn release(&mut self, first: usize, out: &mut Vec<Event>) {
        if !self.held.is_empty() {
            out.splice(first..first, self.held.drain(..).map(|(_, event)| event));
        }
    }

    /// Ends the message: closes its blocks if it is complete, otherwise drops them.
    fn settle(&mut self, out: &mut Vec<Event>) {
        if self.has_delta && self.has_stop {
            return self.close(Status::Done, out);
        }
        self.end_blocks(Event::Drop, out);
        self.streamed.clear();
    }

    fn close(&mut self, status: Status, out: &mut Vec<Event>) {
        self.end_blocks(|id| Event::Close { id, status }, out);
        self.streamed.clear();
    }

    /// Ends the open blocks with an event for each, and emits the events that are held back between them, each in its place.
    fn end_blocks(&mut self, end: impl Fn(Id) -> Event, out: &mut Vec<Event>) {
        let mut held = self.held.drain(..).peekable();
        for streamed in &mut self.streamed {
            while let Some((_, event)) = held.next_if(|(index, _)| *index < streamed.index) {
                out.push(event);
            }
            if streamed.is_open() {
                streamed.is_closed = true;
                out.extend(streamed.id.clone().map(&end));
            }
        }
        out.extend(held.map(|(_, event)| event));
    }

    /// Returns the id of the streamed block that corresponds to this complete one, and marks it as complete.
    fn twin(&mut self, whole: &WholeBlock<'_>) -> Option<Id> {
        let twin = self.streamed.iter_mut().find(|streamed| {
            let is_same = whole.call.is_none() || streamed.id.as_ref() == whole.call;
            streamed.id.is_some() && !streamed.is_whole && streamed.kind == whole.kind && is_same
        })?;
        twin.is_whole = true;
        twin.id.clone()
    }

    /// Adds a block that begins. If there are too many, the older ones are cancelled.
    fn begin(&mut self, index: i64, kind: Kind, out: &mut Vec<Event>) {
        if self.streamed.len() >= MAX_BLOCKS {
            let older = self.streamed.drain(..MAX_BLOCKS / 2).filter(Streamed::is_open);
            let status = Status::Cancelled;
            out.extend(older.filter_map(|streamed| streamed.id).map(|id| Event::Close { id, status }));
        }
        let [is_whole, has_stopped, is_closed] = [false; 3];
        self.streamed.push(Streamed { index, id: None, kind, is_whole, has_stopped, is_closed, half: None });
    }

    /// Returns the latest block with this index.
    fn block(&mut self, index: i64) -> Option<&mut Streamed> {
        self.streamed.iter_mut().rev().find(|streamed| streamed.index == index)
    }
}

impl Claude {
    /// Decodes a `stream_event` line.
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
                    let (message, usage) = (
                        current.message.clone(),
                        TokenCounts::used(usage, self.product.counts_cached).usage(),
                    );
                    builder.emit_usage(message, usage);
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
                        .extract_if(.., |streamed| streamed.index >= from && streamed.is_open());
                    builder.out.extend(given_up.filter_map(|streamed| streamed.id).map(Event::Drop));
                }
                if current.has_delta && !current.held.is_empty() {
                    current.end_blocks(|id| Event::Close { id, status: Status::Done }, builder.out);
                }
            }
            "content_block_stop" => {
                let block = self.current(builder).block(index);
                let half = block.and_then(|block| {
                    block.has_stopped = true;
                    block.half.take()
                });
                if half.is_some() {
                    self.append(builder, index, LONE);
                }
            }
            "ping" => {}
            _ => builder.unknown(format!("stream_event/{kind}"), event),
        }
    }

    /// Returns the current message of the line's thread. For events without a `message_start`, it creates one.
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
            // Blocks of other types don't grow: they come with the complete message.
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
                // The call's start is missing: the complete message will have its input.
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
            Some(block) if !block.is_open() => return,
            Some(block) => block.id.clone(),
            None => return,
        };
        let id = id.unwrap_or_else(|| self.open_block(builder, index, None));
        builder.emit(Event::Append { id, text: text.to_owned() });
    }

    /// Opens the item of a streamed block. `call`: the initial block of a call.
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
            // The complete message came first.
            block.is_whole = true;
        }
        let mut item = builder.item(id.clone(), kind);
        item.at = None;
        // The initial input is usually empty, and grows.
        item.input = call.and_then(input_of).map(Value::node);
        if item.input.is_none() {
            item.record = None;
        }
        if let Some(call) = call {
            self.name_tool(&mut item, call.get("name"));
            if call.get("type").and_then(Value::str).is_some_and(|kind| !kind.is("tool_use")) {
                item.data.push(("server_side", Fact::Bool(true)));
            }
            self.calls.add(&item);
        }
        builder.emit(Event::Open(Box::new(item)));
        id
    }
}

/// Returns the initial input of a call, unless it is empty.
fn input_of(call: Value<'_>) -> Option<Value<'_>> {
    call.get("input").filter(|input| input.entries().next().is_some())
}

/// The replacement for half a surrogate pair.
const LONE: &str = "\u{fffd}";

/// Decodes a piece of text, and joins surrogate pairs that are split between pieces. `half`: the first half of a pair from the end of the
/// piece before, replaced by that of this piece.
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

/// Parses an escape such as `\ud83d`.
fn code(escape: Option<&str>) -> Option<u16> {
    u16::from_str_radix(escape?.strip_prefix("\\u")?, 16).ok()
}

#[cfg(test)]
mod tests;
