//! Finds titles for a document in its prompts and replies.

use crate::entry::{Block, View};

/// The longest title, in characters.
const LONG_TITLE: usize = 100;

/// The first line of a prompt that isn't blank, without Markdown marks; else its title.
pub fn headline(view: &View) -> Option<String> {
    let text = view.body.iter().find_map(Block::source).map_or("", |(_, text)| text);
    let body = text.lines().map(unmarked).find(|line| !line.is_empty());
    body.or_else(|| Some(one_line(view.title.text())).filter(|title| !title.is_empty()))
}

/// The first heading of a reply, without Markdown marks.
pub(crate) fn heading(view: &View) -> Option<String> {
    view.body.iter().find_map(|block| {
        let Block::Prose { text, .. } = block else { return None };
        text.lines().filter(|line| is_heading(line)).map(unmarked).find(|line| !line.is_empty())
    })
}

/// Whether a line of Markdown is a heading.
pub fn is_heading(line: &str) -> bool {
    let level = line.len() - line.trim_start_matches('#').len();
    (1..=6).contains(&level) && line[level..].starts_with(' ')
}

/// A line of Markdown without the marks at its start and around its words.
pub fn unmarked(line: &str) -> String {
    let line = line.trim_start_matches(|ch: char| ch.is_whitespace() || matches!(ch, '#' | '>'));
    one_line(&line.replace("**", "").replace('`', ""))
}

/// A text without the blanks around it, cut to the longest title.
pub(crate) fn one_line(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(LONG_TITLE) {
        Some((end, _)) => {
            let start = &text[..end];
            let word = start.rfind(' ').filter(|at| *at > LONG_TITLE / 2).unwrap_or(end);
            format!("{}…", crate::text::clean(start[..word].trim_end()))
        }
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Text;

    #[test]
    fn a_title_is_a_line_without_marks() {
        let says = |text: &str| View::of(vec![Block::prose("reply", Text::clean(text))]);
        let prompt = says("\n## Fix `total` in **cart**\nIt is negative.");
        assert_eq!(headline(&prompt).as_deref(), Some("Fix total in cart"));
        assert_eq!(heading(&prompt).as_deref(), Some("Fix total in cart"));
        assert_eq!(heading(&says("#12 is closed\n\n## What changed")).as_deref(), Some("What changed"));
        assert_eq!((headline(&says("\n")), heading(&says("Done."))), (None, None));
        let long = headline(&says(&"many words ".repeat(20))).unwrap();
        assert!(long.ends_with(" many…") || long.ends_with(" words…"), "{long}");
    }
}
