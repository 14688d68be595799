//! Parts of a page, each by itself: for a page that grows while it is shown.

use super::out::spelled;
use super::{Html, SCRIPT, STYLE, prose};
use crate::page::{self, PageOptions};
use streamfmt_core::entry::Entry;
use streamfmt_core::item::Id;
use streamfmt_core::outline::{DocumentHead, Node};
use streamfmt_core::text::Text;

use super::contents::Contents;

/// Spells parts of a page, and collects what its timeline and its contents show.
#[derive(Debug, Default)]
pub struct HtmlFragments {
    page: Html,
    contents: Contents,
}

impl HtmlFragments {
    /// The style of every page.
    pub const STYLE: &'static str = STYLE;

    /// The script of every page. A page that has grown sends the event `grown` to its document.
    pub const SCRIPT: &'static str = SCRIPT;

    /// Of a page with this layout.
    pub fn new(options: PageOptions) -> Self {
        Self { page: Html::new(options), ..Self::default() }
    }

    /// The anchor of an entry: the same in every page.
    pub fn anchor(id: &Id) -> String {
        page::anchor(id.as_str())
    }

    /// Takes note of an entry that is whole, once, for the timeline and the contents.
    pub fn note(&mut self, entry: &Entry) {
        self.page.timeline.note(entry);
        self.contents.note(entry);
    }

    /// A node: an entry, a call with its result if that is known.
    pub fn node(&self, node: &Node) -> String {
        spelled(|out| self.page.write(node, out))
    }

    /// Markdown that stands by itself: its headings are of the levels that it says.
    pub fn prose(text: &Text) -> String {
        spelled(|out| prose::write_alone(out, text))
    }

    /// The timeline of the noted entries, and the prompts; nothing if there is nothing to draw. `duration_ms` and `cost` are those of the
    /// run as the page shows them elsewhere, if it does: the timeline then names the same.
    pub fn overview(&self, duration_ms: Option<u64>, cost: Option<f64>) -> String {
        let head = DocumentHead { duration_ms, cost, ..DocumentHead::default() };
        spelled(|out| {
            self.page.timeline.write(Some(&head), out);
            self.contents.write(out);
        })
    }

    /// Clean text, so that it means nothing to a browser, in an element or between double quotes.
    pub fn escaped(text: &str) -> String {
        spelled(|out| out.text(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use streamfmt_core::entry::{Block, View};
    use streamfmt_core::item::Kind;

    #[test]
    fn a_fragment_is_the_entry_as_it_is_in_a_page_and_text_means_nothing() {
        let view = View::of(vec![Block::prose("reply", Text::clean("**a** <b>"))]);
        let entry = Entry::new("m/0", Kind::Reply, view);
        let anchor = HtmlFragments::anchor(&entry.id);
        let html = HtmlFragments::default().node(&Node::from(entry));
        assert!(html.starts_with(&format!("<div class=\"e reply\" id=\"{anchor}\"")), "{html}");
        assert!(html.contains("<strong>a</strong> &lt;b&gt;"), "{html}");
        assert_eq!(HtmlFragments::escaped("<a b=\"'&"), "&lt;a b=&quot;&#39;&amp;");
        assert_eq!(HtmlFragments::default().overview(None, None), "");
        let prose = HtmlFragments::prose(&Text::clean("# One\n\n#### Four"));
        assert!(prose.contains("<h1>One</h1>") && prose.contains("<h4>Four</h4>"), "{prose}");
    }
}
