//! Separate parts of a page, for a page that grows while it is shown.

use super::out::written;
use super::{Html, SCRIPT, STYLE, prose};
use crate::page::{self, PageOptions};
use streamfmt_core::entry::Entry;
use streamfmt_core::item::Id;
use streamfmt_core::outline::{DocumentHead, Node};
use streamfmt_core::text::Text;

use super::contents::Contents;

/// Writes parts of a page, and collects the data of its timeline and its contents.
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

    /// Creates a writer for parts of a page with this layout.
    pub fn new(options: PageOptions) -> Self {
        Self { page: Html::new(options), ..Self::default() }
    }

    /// Returns the anchor of an entry, which is the same in every page.
    pub fn anchor(id: &Id) -> String {
        page::anchor(id.as_str())
    }

    /// Adds an entry to the timeline and the contents. Must be called once for each entry, when it is complete.
    pub fn note(&mut self, entry: &Entry) {
        self.page.timeline.note(entry);
        self.contents.note(entry);
    }

    /// Returns the HTML of a node: an entry, with its result if it is a call.
    pub fn node(&self, node: &Node) -> String {
        written(|out| self.page.write(node, out))
    }

    /// Returns the HTML of separate Markdown, whose headings keep their levels.
    pub fn prose(text: &Text) -> String {
        written(|out| prose::write_alone(out, text))
    }

    /// Returns the timeline of the noted entries, and the prompts; empty if there is nothing to draw. `duration_ms` and `cost`: the
    /// figures of the run that the page shows elsewhere, if any, so that the timeline shows the same.
    pub fn overview(&self, duration_ms: Option<u64>, cost: Option<f64>) -> String {
        let head = DocumentHead { duration_ms, cost, ..DocumentHead::default() };
        written(|out| {
            self.page.timeline.write(Some(&head), out);
            self.contents.write(out);
        })
    }

    /// Escapes clean text for the content of an element or for an attribute in double quotes.
    pub fn escaped(text: &str) -> String {
        written(|out| out.text(text))
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
