//! The context of an item, which all parts of the presentation receive.

use streamfmt_core::entry::Block;
use streamfmt_core::home::home_of;
use streamfmt_core::item::{FactRef, Item, ToolKind};
use streamfmt_core::json::Record;
use streamfmt_core::session::Session;
use streamfmt_core::text::Text;

/// An item, with what is needed to format it.
#[derive(Clone, Copy)]
pub(super) struct ItemContext<'a> {
    /// The item to format.
    pub(super) item: &'a Item,
    /// The session up to the item.
    pub(super) session: &'a Session,
    /// Whether all content for people is shown, but nothing twice.
    pub(super) whole: bool,
    /// Whether everything is shown as in the stream, even if it repeats. Implies `whole`.
    pub(super) full: bool,
    /// For a result: whether another formatter shows its call, so that the call's title may lack its arguments.
    pub(super) is_apart: bool,
}

impl<'a> ItemContext<'a> {
    /// Returns the fact called `name`.
    #[inline]
    pub(super) fn fact(self, name: &str) -> Option<FactRef<'a>> {
        self.item.fact(name)
    }

    /// Returns the fact called `name`, as text.
    #[inline]
    pub(super) fn text(self, name: &str) -> Option<Text> {
        self.fact(name)?.text()
    }

    /// Returns the fact called `name`, as a number that isn't negative.
    #[inline]
    pub(super) fn count(self, name: &str) -> Option<u64> {
        self.fact(name)?.count()
    }

    /// Returns the elements of the fact called `name`; none if it is missing.
    pub(super) fn list(self, name: &str) -> Vec<FactRef<'a>> {
        self.fact(name).map(FactRef::list).unwrap_or_default()
    }

    /// For a notice or outcome: the name that the title of a call has for the tool, if another formatter may have made that title.
    pub(super) fn tool_name(self, call: &str) -> Option<Text> {
        let titles = self.list("titles");
        let of_call = titles.iter().find(|title| title.text_at("call").as_deref() == Some(call))?;
        of_call.text_at("name").filter(|text| !text.is_empty())
    }

    /// Whether the fact called `name` is true.
    #[inline]
    pub(super) fn is(self, name: &str) -> bool {
        self.fact(name).and_then(FactRef::bool) == Some(true)
    }

    /// Whether the item's record was cut at a limit.
    pub(super) fn is_cut(self) -> bool {
        self.item.record.as_ref().is_some_and(Record::is_cut)
    }

    /// Returns the kind of the item or, for a result without one, of its call.
    pub(super) fn tool_kind(self) -> Option<ToolKind> {
        let of_call = || self.session.call(self.item.call.as_ref()?)?.tool_kind;
        self.item.tool_kind.or_else(of_call)
    }

    /// Shortens a path: relative if it is in the session's folder, or starting with `~` if it is in the home folder that contains the
    /// session's folder.
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

/// Adds a block for each image and document of the item.
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
