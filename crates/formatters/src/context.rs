//! What the parts of the presentation know when they decide.

use streamfmt_core::entry::Block;
use streamfmt_core::home::home_of;
use streamfmt_core::item::{Deed, FactRef, Item};
use streamfmt_core::session::Session;
use streamfmt_core::text::Text;

/// What the parts of this formatter know when they decide. `None` from one of them hides the item.
#[derive(Clone, Copy)]
pub(super) struct ItemContext<'a> {
    /// The item in question.
    pub(super) item: &'a Item,
    /// All before it.
    pub(super) session: &'a Session,
    /// Whether nothing is left out that people read.
    pub(super) whole: bool,
    /// Whether everything is said as the stream has it, and so more than once. Then `whole` is true, too.
    pub(super) full: bool,
    /// On a result: whether others say its call, so that the call's title may tell nothing of what was asked for.
    pub(super) is_apart: bool,
}

impl<'a> ItemContext<'a> {
    /// The fact called `name`.
    #[inline]
    pub(super) fn fact(self, name: &str) -> Option<FactRef<'a>> {
        self.item.fact(name)
    }

    /// The fact called `name`, as text.
    #[inline]
    pub(super) fn text(self, name: &str) -> Option<Text> {
        self.fact(name)?.text()
    }

    /// The fact called `name`, as a number from 0.
    #[inline]
    pub(super) fn count(self, name: &str) -> Option<u64> {
        self.fact(name)?.count()
    }

    /// The elements of the fact called `name`; none if it isn't there.
    pub(super) fn list(self, name: &str) -> Vec<FactRef<'a>> {
        self.fact(name).map(FactRef::list).unwrap_or_default()
    }

    /// Whether the fact called `name` is true.
    #[inline]
    pub(super) fn is(self, name: &str) -> bool {
        self.fact(name).and_then(FactRef::bool) == Some(true)
    }

    /// Whether the item's record was cut at a limit.
    pub(super) fn is_cut(self) -> bool {
        self.item.record.as_ref().is_some_and(|record| record.is_cut())
    }

    /// What was done, by the item itself or, on a result, by its call.
    pub(super) fn deed(self) -> Option<Deed> {
        let of_call = || self.session.call(self.item.call.as_ref()?)?.deed;
        self.item.deed.or_else(of_call)
    }

    /// A path, relative if it lies in the session's folder, and below `~` if it lies in the same home folder as that.
    pub(super) fn path(self, path: Text) -> Text {
        let facts = self.session.facts();
        let path = facts.relative(path);
        let home = facts.cwd.as_deref().filter(|_| path.starts_with('/')).and_then(home_of);
        let below = home.and_then(|home| path.strip_prefix(home)).filter(|below| below.starts_with('/'));
        match below {
            Some(below) => Text::clean_owned(["~", below].concat()),
            None => path,
        }
    }
}

/// Pictures and documents that came with the item: told, not shown.
pub(super) fn images(context: ItemContext<'_>, body: &mut Vec<Block>) {
    for image in context.list("images") {
        body.push(Block::Image {
            media: image.text_at("media").unwrap_or(Text::own("image")),
            bytes: image.count_at("bytes"),
            name: image.text_at("name"),
            picture: image.get("data").and_then(FactRef::picture),
        });
    }
}
