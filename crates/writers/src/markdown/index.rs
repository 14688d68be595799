//! The index of pages, in Markdown.

use std::fmt::Write;

use super::{Markdown, inline};
use crate::html::IndexedPage;
use crate::page;
use streamfmt_core::figures;

impl Markdown {
    /// Returns an index of `pages`, in their order.
    pub fn index(pages: &[IndexedPage]) -> String {
        let mut index = String::from("# Agent sessions\n\n");
        for IndexedPage { href, head, .. } in pages {
            // The file names have no characters that need escaping.
            match &head.title {
                Some(title) => {
                    index.push_str("- [");
                    inline::text(title, false, &mut index);
                    let _ = write!(index, "]({href}) · {href}");
                }
                None => drop(write!(index, "- [{href}]({href})")),
            }
            let activity = page::activity(head);
            let figures = [
                page::when(head),
                head.duration_ms.map(|ms| figures::duration(ms).to_string()),
                activity,
                head.cost.and_then(figures::money).map(|cost| cost.to_string()),
            ];
            for figure in figures.into_iter().flatten() {
                index.extend([" · ", &figure]);
            }
            index.push('\n');
        }
        index
    }
}
