//! The scanner: one pass over a text, which records the position of each value. It never recurses.
//!
//! It is the hottest loop of all. It compiles to a single function whose state stays in
//! registers: only inlined functions get a reference to the [`Cursor`] or to [`OpenContainer`].

#![expect(clippy::inline_always, reason = "the loop over a record is one function: a third faster")]

use super::cursor::{Cursor, Misfit};
use super::{Damage, MAX_DEPTH, MAX_ELEMENTS, ValueKind, ValueNode};

/// Once a record has this many nodes, further containers are checked but not recorded.
const MAX_NODES: usize = 1 << 21;

/// The usual number of bytes for each node; in long texts there are more.
pub(super) const BYTES_OF_NODE: usize = 10;

/// The nodes that are being recorded.
struct Scanned {
    /// The nodes of the value and of all values in it, after those that were there.
    nodes: Vec<ValueNode>,
    /// The number of nodes after which no more containers are recorded: see [`MAX_NODES`].
    most: usize,
    /// Whether a container was cut at a limit.
    cut: bool,
}

/// Scans the value at the start of a text, and adds its nodes. Returns its end, as an offset in the text.
pub(super) fn value_at_start(text: &str, nodes: &mut Vec<ValueNode>) -> Result<usize, Damage> {
    let mut cursor = Cursor::at(0, text.as_bytes());
    run(&mut cursor, nodes).map_err(|Misfit| cursor.damage())?;
    Ok(cursor.position())
}

/// Scans a text that from byte `start` on consists of one value and blanks, and adds the nodes of the value.
pub(super) fn whole_value(text: &str, start: usize, nodes: &mut Vec<ValueNode>) -> Result<(), Damage> {
    let mut cursor = Cursor::at(start, text.as_bytes());
    run(&mut cursor, nodes).and_then(|()| cursor.end()).map_err(|Misfit| cursor.damage())
}

/// The innermost open container.
///
/// While a container is open, two fields of its node are used for other purposes: `next` is the container around it, and
/// `end`, while another container is open inside of it, is the number of elements that are still recorded.
#[derive(Clone, Copy)]
struct OpenContainer {
    node: u32,
    /// How many more of its elements may be recorded.
    left: u32,
    is_object: bool,
}

/// No container is open.
const NONE: u32 = u32::MAX;

fn run(shared: &mut Cursor<'_>, nodes: &mut Vec<ValueNode>) -> Result<(), Misfit> {
    // Local copies stay in registers.
    let mut at = *shared;
    let first = nodes.len();
    let mut scanned = Scanned { nodes: std::mem::take(nodes), most: first + MAX_NODES, cut: false };
    scanned.nodes.reserve((at.rest() / BYTES_OF_NODE).min(4096) + 4);
    let done = values(&mut at, &mut scanned);
    (*shared, *nodes) = (at, scanned.nodes);
    if let Some(outermost) = nodes.get_mut(first).filter(|_| scanned.cut) {
        outermost.escaped = true;
    }
    done
}

/// Reads a value and all values in it.
#[inline(always)]
fn values(at: &mut Cursor<'_>, scanned: &mut Scanned) -> Result<(), Misfit> {
    let mut open = OpenContainer { node: NONE, left: 1, is_object: false };
    let mut depth = 0;
    let mut first = at.token();
    loop {
        let opens = matches!(first, b'{' | b'[');
        if first == b'"' && open.left > 0 {
            open.left -= 1;
            let start = at.position();
            let escaped = at.string()?;
            record(ValueKind::String, start, at.position(), escaped, &mut scanned.nodes);
        } else if open.left == 0 || opens && (depth >= MAX_DEPTH || scanned.nodes.len() > scanned.most) {
            // In an object, the key is recorded already: without a value it is ignored.
            scanned.cut = true;
            let passed;
            (passed, *at) = skip_rest(first, open.is_object, *at);
            passed?;
        } else if opens {
            open = open.enter(first == b'{', depth == 0, at.position(), &mut scanned.nodes);
            depth += 1;
            at.step();
            first = at.token();
            if first != closing(open.is_object) {
                if open.is_object {
                    first = key(first, at, &mut scanned.nodes)?;
                }
                continue;
            }
        } else {
            open.left -= 1;
            scalar(first, at, &mut scanned.nodes)?;
        }
        loop {
            if depth == 0 {
                return Ok(());
            }
            let token = at.token();
            if token == b',' {
                at.step();
                first = at.token();
                if open.is_object {
                    first = key(first, at, &mut scanned.nodes)?;
                }
                break;
            }
            if token != closing(open.is_object) {
                return Err(Misfit);
            }
            at.step();
            depth -= 1;
            open = open.close(at.position(), &mut scanned.nodes);
        }
    }
}

/// Reads a scalar. `first`: its first token.
#[inline(always)]
fn scalar(first: u8, at: &mut Cursor<'_>, nodes: &mut Vec<ValueNode>) -> Result<(), Misfit> {
    let start = at.position();
    let (kind, escaped) = at.scalar(first)?;
    record(kind, start, at.position(), escaped, nodes);
    Ok(())
}

/// Reads a key and its colon, and returns the token after them. `first`: the first token of the key.
#[inline(always)]
fn key(first: u8, at: &mut Cursor<'_>, nodes: &mut Vec<ValueNode>) -> Result<u8, Misfit> {
    let start = at.position();
    let escaped = at.key(first)?;
    record(ValueKind::String, start, at.position(), escaped, nodes);
    at.colon()?;
    Ok(at.token())
}

#[inline(always)]
fn record(kind: ValueKind, start: usize, end: usize, escaped: bool, nodes: &mut Vec<ValueNode>) {
    let next = nodes.len() as u32 + 1;
    nodes.push(ValueNode { start: start as u32, end: end as u32, next, kind, escaped });
}

impl OpenContainer {
    /// Opens the element that begins at `start`.
    #[inline(always)]
    fn enter(self, is_object: bool, is_outermost: bool, start: usize, nodes: &mut Vec<ValueNode>) -> Self {
        if let Some(around) = nodes.get_mut(self.node as usize) {
            around.end = self.left - 1;
        }
        let node = nodes.len() as u32;
        let kind = if is_object { ValueKind::Object } else { ValueKind::Array };
        nodes.push(ValueNode { start: start as u32, end: 0, next: self.node, kind, escaped: false });
        // The outermost array may be a whole session on one line: only the limit of nodes applies to its events.
        let left = if is_outermost && !is_object { MAX_NODES as u32 } else { MAX_ELEMENTS };
        Self { node, left, is_object }
    }

    /// Closes it before `end`, and returns the container around it.
    #[inline(always)]
    fn close(self, end: usize, nodes: &mut [ValueNode]) -> Self {
        let next = nodes.len() as u32;
        let node = &mut nodes[self.node as usize];
        node.end = end as u32;
        let around = std::mem::replace(&mut node.next, next);
        match nodes.get(around as usize) {
            Some(node) => Self { node: around, left: node.end, is_object: node.kind == ValueKind::Object },
            None => Self { node: NONE, left: 0, is_object: false },
        }
    }
}

/// Skips the rest of a container, from the element that begins with `first` up to its end, without recording it.
/// The cursor is passed by value, so that the one in the loop above stays in registers.
#[cold]
fn skip_rest(first: u8, is_object: bool, mut at: Cursor<'_>) -> (Result<(), Misfit>, Cursor<'_>) {
    let passed = skip_elements(first, is_object, &mut at);
    (passed, at)
}

fn skip_elements(mut first: u8, mut is_object: bool, at: &mut Cursor<'_>) -> Result<(), Misfit> {
    // For each container opened here, whether the one around it is an object.
    let mut around = BitStack::default();
    loop {
        if let b'{' | b'[' = first {
            around.push(std::mem::replace(&mut is_object, first == b'{'));
            at.step();
            first = at.token();
            if first != closing(is_object) {
                if is_object {
                    at.key(first)?;
                    at.colon()?;
                    first = at.token();
                }
                continue;
            }
        } else {
            at.scalar(first)?;
        }
        loop {
            let token = at.token();
            if token == b',' {
                at.step();
                first = at.token();
                if is_object {
                    at.key(first)?;
                    at.colon()?;
                    first = at.token();
                }
                break;
            }
            if token != closing(is_object) {
                return Err(Misfit);
            }
            let Some(outer) = around.pop() else { return Ok(()) };
            is_object = outer;
            at.step();
        }
    }
}

/// The last token of a container.
#[inline(always)]
fn closing(is_object: bool) -> u8 {
    if is_object { b'}' } else { b']' }
}

/// A stack of bits.
#[derive(Clone, Debug, Default)]
pub(crate) struct BitStack {
    words: Vec<u64>,
    length: usize,
}

impl BitStack {
    /// The number of bits.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// The bit at index `place`, which must be below [`Self::len`].
    pub(crate) fn get(&self, place: usize) -> bool {
        self.words[place / 64] >> (place % 64) & 1 == 1
    }

    pub(crate) fn push(&mut self, bit: bool) {
        let (word, place) = (self.length / 64, self.length % 64);
        if word == self.words.len() {
            self.words.push(0);
        }
        self.words[word] = self.words[word] & !(1 << place) | u64::from(bit) << place;
        self.length += 1;
    }

    pub(crate) fn pop(&mut self) -> Option<bool> {
        self.length = self.length.checked_sub(1)?;
        Some(self.get(self.length))
    }
}
