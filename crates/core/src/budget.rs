//! How much of a session is kept at a time.

/// How much of a session is kept at a time, so that memory stays bounded on any input. Who holds hundreds of sessions chooses less
/// than the default, which is for one.
///
/// Nothing is lost if there is less: an item that can't grow any longer is shown as far as it came, and its rest as an item of its own;
/// calls that are forgotten are counted; what came long ago and comes again is shown again.
///
/// Anything below [`Budget::LEAST`] is taken as that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Items that may grow at the same time. Of more the one that began first is ended, `cancelled`.
    pub open_items: usize,
    /// Bytes of text that open items may grow to together. Then the longest is ended, `cancelled`, and goes on as another item.
    pub open_bytes: usize,
    /// Calls that are remembered while their results are awaited. Of more the older half is only counted.
    pub calls: usize,
    /// Bytes of the lines that the remembered calls came with. A call of more than a quarter of it is remembered without its input.
    pub call_bytes: usize,
    /// Calls inside which items were seen: how deep these are, and how many there are.
    pub parents: usize,
    /// Ids of finished items, to tell what is new from what comes again: at least so many of the last are known. They are kept by
    /// generations, of sizes that suit the memory, so that it may be up to twice as many, and a third more.
    pub ids: usize,
    /// Lines, messages and calls that a dialect remembers, each: what later lines speak of.
    pub lines: usize,
    /// Bytes of what a dialect remembers of lines.
    pub line_bytes: usize,
}

impl Budget {
    /// With less nothing useful can be done.
    pub const LEAST: Self = Self {
        open_items: 4,
        open_bytes: 4 << 10,
        calls: 4,
        call_bytes: 4 << 10,
        parents: 4,
        ids: 64,
        lines: 64,
        line_bytes: 4 << 10,
    };

    /// The budget, with no part of it below [`Budget::LEAST`].
    pub(crate) fn at_least(self) -> Self {
        let Self { open_items, open_bytes, calls, call_bytes, parents, ids, lines, line_bytes } = Self::LEAST;
        Self {
            open_items: self.open_items.max(open_items),
            open_bytes: self.open_bytes.max(open_bytes),
            calls: self.calls.max(calls),
            call_bytes: self.call_bytes.max(call_bytes),
            parents: self.parents.max(parents),
            ids: self.ids.max(ids),
            lines: self.lines.max(lines),
            line_bytes: self.line_bytes.max(line_bytes),
        }
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            open_items: 256,
            open_bytes: 64 << 20,
            calls: 4_096,
            call_bytes: 4 << 20,
            parents: 4_096,
            ids: 86_016,
            lines: 8_192,
            line_bytes: 4 << 20,
        }
    }
}
