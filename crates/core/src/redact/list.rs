//! Lists what was masked, and what looks like a secret and wasn't, each with its place: for a person to read before the output is sent.
//!
//! The list has no secret in it: the texts around a find are masked, and what was left is shown by its first characters only.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use super::find::SecretSpan;
use super::read::next_boundary;
use super::suspect::{Suspect, suspects};
use crate::hash::hash;
use crate::item::{Id, Kind};
use crate::text::Text;

/// The most finds of a sort that are listed. Others are counted.
const MOST: usize = 5_000;
/// The most kinds that are told apart: media types are foreign text.
const MOST_KINDS: usize = 200;
/// The most bytes of a media type.
const MEDIA: usize = 80;
/// The most bytes of the text before a find, and after it.
const AROUND: usize = 48;
/// The most first characters of what was left.
const START: usize = 4;

/// What was found in an output, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FindList {
    /// The finds.
    pub finds: Vec<ListedFind>,
    /// How often each kind of a sort was found, whether listed or not.
    pub counts: BTreeMap<(FindSort, String), u64>,
    /// How many of them aren't listed, because there are too many.
    pub unlisted: BTreeMap<FindSort, u64>,
}

impl FindList {
    /// How often something of a sort was found.
    pub fn count(&self, sort: FindSort) -> u64 {
        self.counts.iter().filter(|((other, _), _)| *other == sort).map(|(_, count)| count).sum()
    }
}

/// What became of a find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindSort {
    /// It was masked.
    Masked,
    /// It looks like a secret and wasn't masked.
    Left,
    /// It is a picture, whose pixels weren't looked at.
    Picture,
    /// It is another file, which is only named.
    File,
}

impl FindSort {
    /// Returns its name in machine output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Masked => "masked",
            Self::Left => "left",
            Self::Picture => "picture",
            Self::File => "file",
        }
    }
}

/// A find at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedFind {
    /// What became of it.
    pub sort: FindSort,
    /// Its kind: the name of the mask, or the media type of a file.
    pub kind: String,
    /// How often it is at this place.
    pub count: u64,
    /// A number that equal finds share, from 1.
    pub value: usize,
    /// The place; `None` for the head of the document.
    pub place: Option<Arc<FindPlace>>,
    /// A few words around it, in which everything that was found is hidden; the name of a file.
    pub text: String,
    /// The first characters of what was left, and the number of all of them.
    pub start: Option<(String, usize)>,
}

/// The item that a find is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindPlace {
    /// The item's id, masked as in the output.
    pub id: Id,
    /// The id of the entry that contains it in a document where results are below their calls: the call's, if the result has no body.
    pub shown_in: Id,
    /// The id of the call that it is inside of, masked.
    pub parent: Option<Id>,
    /// The item's kind.
    pub kind: Kind,
    /// The tool of a call or a result, masked.
    pub tool: Option<Text>,
    /// The number of the item's first line, in the file that it comes from.
    pub line: u64,
}

/// Notes finds while texts are masked.
#[derive(Debug, Default)]
pub(super) struct FindNotes {
    list: FindList,
    place: Option<Arc<FindPlace>>,
    /// The ids of the place, which look random.
    ids: String,
    /// The number of the place.
    places: usize,
    /// How many finds of a sort are listed.
    listed: BTreeMap<FindSort, usize>,
    /// The hash of a find → its number, the number of the last place where it was listed, and its index there.
    values: HashMap<u64, (usize, usize, usize)>,
}

impl FindNotes {
    /// From now on, finds are at this place, whose ids are no secrets.
    pub(super) fn set_place(&mut self, place: Option<FindPlace>, ids: String) {
        self.place = place.map(Arc::new);
        self.ids = ids;
        self.places += 1;
    }

    pub(super) fn into_list(self) -> FindList {
        self.list
    }

    /// Notes what is masked in a text, and what looks like a secret in the rest of it.
    pub(super) fn text(&mut self, source: &str, masked: &[SecretSpan<'_>]) {
        let (mut shown, mut done) = (String::with_capacity(source.len()), 0);
        let mut marks = Vec::with_capacity(masked.len());
        for span in masked {
            shown.push_str(&source[done..span.range.start]);
            let start = shown.len();
            span.write_mark(&source[span.range.clone()], &mut |piece| shown.push_str(piece));
            // Each further line of it is an ellipsis.
            marks.push(start..start + shown[start..].find('\n').unwrap_or(shown.len() - start));
            done = span.range.end;
        }
        shown.push_str(&source[done..]);
        let mut left = suspects(&shown);
        left.retain(|suspect| {
            if self.ids.contains(&shown[suspect.range.clone()]) {
                return false;
            }
            let next = marks.partition_point(|mark| mark.end <= suspect.range.start);
            marks.get(next).is_none_or(|mark| suspect.range.end <= mark.start)
        });
        for (span, mark) in masked.iter().zip(&marks) {
            let kind = span.name.unwrap_or("home");
            let text = || around(&shown, mark, &marks, &left);
            self.add(FindSort::Masked, kind, &source[span.range.clone()], None, text);
        }
        for suspect in &left {
            let value = &shown[suspect.range.clone()];
            let start = Some((start_of(value).to_owned(), value.chars().count()));
            let text = || around(&shown, &suspect.range, &marks, &left);
            self.add(FindSort::Left, suspect.kind, value, start, text);
        }
    }

    /// Notes a picture or another file. `is_included`: whether its bytes are in the session.
    pub(super) fn file(&mut self, media: &str, name: Option<&str>, is_included: bool) {
        // The types that are shown as pictures.
        let is_shown = matches!(media, "image/png" | "image/jpeg" | "image/gif" | "image/webp");
        let sort = if is_included && is_shown { FindSort::Picture } else { FindSort::File };
        let media = &media[..next_boundary(media, media.len().min(MEDIA))];
        let name = name.unwrap_or_default();
        let text = || name[..next_boundary(name, name.len().min(4 * AROUND))].to_owned();
        self.add(sort, media, name, None, text);
    }

    fn add(
        &mut self,
        sort: FindSort,
        kind: &str,
        value: &str,
        start: Option<(String, usize)>,
        text: impl FnOnce() -> String,
    ) {
        let mut key = (sort, kind.to_owned());
        if self.list.counts.len() >= MOST_KINDS && !self.list.counts.contains_key(&key) {
            "others".clone_into(&mut key.1);
        }
        *self.list.counts.entry(key.clone()).or_default() += 1;
        let kind = key.1;
        let key = hash(&(sort, &*kind, value));
        let known = self.values.get(&key).copied();
        if let Some((_, place, index)) = known
            && place == self.places
        {
            self.list.finds[index].count += 1;
            return;
        }
        let listed = self.listed.entry(sort).or_default();
        if *listed >= MOST {
            *self.list.unlisted.entry(sort).or_default() += 1;
            return;
        }
        *listed += 1;
        let number = known.map_or(self.values.len() + 1, |(number, ..)| number);
        self.values.insert(key, (number, self.places, self.list.finds.len()));
        let place = self.place.clone();
        self.list.finds.push(ListedFind { sort, kind, count: 1, value: number, place, text: text(), start });
    }
}

/// The first characters of what was left: at most a quarter of it.
fn start_of(value: &str) -> &str {
    let shown = START.min(value.chars().count() / 4);
    value.char_indices().nth(shown).map_or(value, |(end, _)| &value[..end])
}

/// A few words around a part of a text, on its line, without what was left.
fn around(text: &str, part: &Range<usize>, marks: &[Range<usize>], left: &[Suspect]) -> String {
    let from = next_boundary(text, part.start.saturating_sub(AROUND));
    let before = &text[from..part.start];
    let from = match before.rfind('\n') {
        Some(end) => from + end + 1,
        // A word that is cut isn't shown.
        None if from > 0 => before.find(char::is_whitespace).map_or(part.start, |blank| from + blank),
        None => from,
    };
    let until = next_boundary(text, (part.end + AROUND).min(text.len()));
    let after = &text[part.end..until];
    let until = match after.find('\n') {
        Some(end) => part.end + end,
        None if until < text.len() => part.end + after.rfind(char::is_whitespace).unwrap_or(0),
        None => until,
    };
    // A mark isn't cut.
    let mark_at = |at: usize| {
        let mark = marks.get(marks.partition_point(|mark| mark.end <= at))?;
        (mark.start < at).then_some(mark)
    };
    let (from, until) =
        (mark_at(from).map_or(from, |mark| mark.start), mark_at(until).map_or(until, |mark| mark.end));
    let (mut words, mut at) = (String::new(), from);
    let first = left.partition_point(|suspect| suspect.range.end <= from);
    for suspect in left[first..].iter().take_while(|suspect| suspect.range.start < until) {
        words.push_str(&text[at..suspect.range.start.max(at)]);
        words.push_str(start_of(&text[suspect.range.clone()]));
        words.push('…');
        at = suspect.range.end;
    }
    words.push_str(text.get(at..until).unwrap_or_default());
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::{Redaction, Redactor};

    fn listed(text: &str) -> Vec<(FindSort, String, u64, String)> {
        let mut redactor = Redactor::new(&Redaction::everything()).unwrap();
        redactor.list_finds();
        redactor.text(text);
        let finds = redactor.take_finds().finds.into_iter();
        finds.map(|find| (find.sort, find.kind, find.count, find.text)).collect()
    }

    #[test]
    fn what_is_around_a_find_is_on_its_line_and_hides_every_find() {
        let key = format!("q7{}", "Xk2LW9bZ4Tn6".repeat(2));
        let text = format!("first\nsend it to ada@example.org with {key} and ada@example.org\nlast");
        let words = "send it to [redacted email] with q7Xk… and [redacted email]".to_owned();
        assert_eq!(
            listed(&text),
            [
                (FindSort::Masked, "email".to_owned(), 2, words.clone()),
                (FindSort::Left, "random".to_owned(), 1, words)
            ]
        );
    }

    #[test]
    fn a_find_is_shown_in_part_only_and_a_long_line_is_cut_at_words() {
        let key = format!("q7{}", "Xk2LW9bZ4Tn6".repeat(8));
        let far = "word ".repeat(40);
        let list = listed(&format!("{far}{key} {far}"));
        let [(_, _, _, words)] = &list[..] else { panic!("{list:?}") };
        assert!(words.starts_with("word ") && words.ends_with(" word") && words.len() < 110, "{words}");
        assert!(words.contains(" q7Xk… ") && !words.contains(&key[..6]), "{words}");
        // Without blanks, only the find is shown.
        let list = listed(&format!("é{}|{key}|é{0}", "~".repeat(90)));
        assert!(list.iter().all(|(.., words)| words.len() < 110), "{list:?}");
    }

    #[test]
    fn the_list_is_bounded_and_counts_the_rest() {
        let mut redactor = Redactor::new(&Redaction::everything()).unwrap();
        redactor.list_finds();
        let many = 3 * MOST;
        for number in 0..many {
            redactor.text(&format!("ada{number}@example.org"));
        }
        let list = redactor.take_finds();
        assert_eq!((list.finds.len(), list.count(FindSort::Masked)), (MOST, many as u64));
        assert_eq!(list.unlisted, [(FindSort::Masked, (many - MOST) as u64)].into());
    }

    proptest::proptest! {
        #[test]
        fn nothing_breaks_and_nothing_left_is_shown_whole(text in "[a-zA-Z0-9é\n\"=: *\\\\&/+-]{0,20}(password: |token=|key=|10\\.0\\.0\\.)[a-zA-Z0-9$é\n\"+/=*\\\\-]{0,80}") {
            let mut redactor = Redactor::new(&Redaction::everything()).unwrap();
            redactor.list_finds();
            redactor.text(&text);
            for find in redactor.take_finds().finds {
                let length = find.start.map_or(0, |(start, length)| { assert!(start.chars().count() * 4 <= length); length });
                proptest::prop_assert!(find.sort != FindSort::Left || length >= 8, "{length}");
                proptest::prop_assert!(!find.text.contains('\n') && find.text.len() < 400);
            }
        }
    }
}
