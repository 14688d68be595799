//! The memory limits of a session.

/// The memory limits of a session, which hold for any input. The default suits a single session; a host with hundreds of sessions
/// chooses lower limits.
///
/// Nothing is lost with lower limits: an item that can't grow any longer is shown as far as it came, and the rest as a separate item;
/// calls that are forgotten are counted; an item that is repeated after a long time is shown again.
///
/// Limits below [`Budget::LEAST`] are raised to that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// How many items may grow at the same time. Beyond it, the oldest one is ended as `cancelled`.
    pub open_items: usize,
    /// How many bytes of text open items may grow to together. Beyond it, the longest is ended as `cancelled` and continues as another
    /// item.
    pub open_bytes: usize,
    /// How many calls are remembered until their results come. Beyond it, the older half is only counted.
    pub calls: usize,
    /// How many bytes the records of the remembered calls may take. A call that takes more than a quarter of it is remembered without its
    /// input.
    pub call_bytes: usize,
    /// For how many calls the number and depth of the items inside of them are remembered.
    pub parents: usize,
    /// How many ids of complete items are remembered at least, to recognise repeated items. They are kept in generations whose sizes are
    /// rounded up, so that up to 8/3 times as many may be remembered.
    pub ids: usize,
    /// How many lines, messages and calls a dialect remembers, each, because later lines refer to them.
    pub lines: usize,
    /// How many bytes a dialect may use to remember lines.
    pub line_bytes: usize,
}

impl Budget {
    /// The lowest useful limits.
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

    /// The budget, with each limit raised to [`Budget::LEAST`] if it is lower.
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
