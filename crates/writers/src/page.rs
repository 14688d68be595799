//! What pages have in common, whether Markdown or HTML.

use std::fmt::{self, Write};
use std::iter;
use std::sync::Arc;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use streamfmt_core::entry::{Block, Entry, Picture, Span, View};
use streamfmt_core::figures;
use streamfmt_core::find::find;
use streamfmt_core::outline::{DocumentHead, is_heading, unmarked};
use streamfmt_core::text::Text;

/// Takes pictures out of the page, to be kept beside it.
#[derive(Clone)]
pub struct KeepPicture(Arc<KeepFn>);

type KeepFn = dyn Fn(&str, &str) -> Option<String> + Send + Sync;

impl KeepPicture {
    /// `keep` gets what the name of the picture's file is to end in (`png`), and its bytes in Base64. It says the address
    /// at which the picture is then found, or nothing if it could not be kept.
    pub fn new(keep: impl Fn(&str, &str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(keep))
    }
}

impl fmt::Debug for KeepPicture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeepPicture(…)")
    }
}

/// How a page is laid out.
#[derive(Clone, Debug, Default)]
pub struct PageOptions {
    /// Results longer than so many lines are folded; `None`: no result is.
    pub fold: Option<usize>,
    /// The zone in which the time of each entry is shown, if it is.
    pub timestamps: Option<TimeZone>,
    /// Where pictures are kept; else they are written into the page.
    pub keep: Option<KeepPicture>,
}

/// The types of pictures that pages show, and the ending of a file of each.
const TYPES: [(&str, &str); 4] =
    [("image/png", "png"), ("image/jpeg", "jpg"), ("image/gif", "gif"), ("image/webp", "webp")];

/// Where a page shows a picture from.
pub(super) enum PictureSource {
    /// Its bytes are in the page.
    Within(String),
    /// It is kept at this address.
    Beside(String),
    /// It isn't shown, only described; a word says why, if something is wrong with it.
    Absent(&'static str),
}

impl PageOptions {
    /// Where a picture is shown from.
    pub(super) fn shown(&self, media: &str, picture: Option<&Picture>) -> PictureSource {
        let known = TYPES.into_iter().find(|(known, _)| *known == media);
        let (Some((media, ending)), Some(picture)) = (known, picture) else {
            return PictureSource::Absent("");
        };
        let Some(bytes) = picture.base64() else { return PictureSource::Absent("damaged") };
        match &self.keep {
            Some(KeepPicture(keep)) => {
                keep(ending, &bytes).map_or(PictureSource::Absent("not kept"), PictureSource::Beside)
            }
            None => PictureSource::Within(format!("data:{media};base64,{bytes}")),
        }
    }

    /// Whether so many lines are folded.
    pub(super) fn folds(&self, lines: usize) -> bool {
        self.fold.is_some_and(|most| lines > most)
    }
}

/// The anchor of an entry: of its id alone, so that a link stays right however the page is made.
pub(super) fn anchor(id: &str) -> String {
    // FNV-1a: no secret is in it, and it is the same everywhere for good.
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut anchor = *b"e-0000000000000000";
    for (at, digit) in anchor[2..].iter_mut().rev().enumerate() {
        *digit = b"0123456789abcdef"[(hash >> (4 * at)) as usize & 15];
    }
    str::from_utf8(&anchor).unwrap_or_default().to_owned()
}

/// A moment, spelled out: for pages tell thousands of them.
pub(super) struct UtcTime {
    year: i16,
    /// `-01-31T14:05:09Z`
    rest: [u8; 16],
}

impl UtcTime {
    pub(super) fn new(at: DateTime) -> Self {
        let mut rest = *b"-00-00T00:00:00Z";
        let numbers = [at.month(), at.day(), at.hour(), at.minute(), at.second()];
        for (digits, number) in rest.chunks_exact_mut(3).zip(numbers) {
            let number = number.unsigned_abs();
            digits[1] += number / 10;
            digits[2] += number % 10;
        }
        Self { year: at.year(), rest }
    }

    /// `14:05:09`
    pub(super) fn clock(&self) -> &str {
        str::from_utf8(&self.rest[7..15]).unwrap_or_default()
    }
}

impl fmt::Display for UtcTime {
    /// `2026-01-31T14:05:09Z`, right for the zone of UTC.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}", self.year)?;
        f.write_str(str::from_utf8(&self.rest).unwrap_or_default())
    }
}

/// The title of a page.
pub(super) fn title(head: &DocumentHead) -> &str {
    head.title.as_deref().unwrap_or("Agent session")
}

/// `18 calls, 3 failed`; nothing if there is no call.
pub(super) fn activity(head: &DocumentHead) -> Option<String> {
    let mut text = figures::count_of(head.calls, "call", "calls").into_string();
    if head.failed > 0 {
        let _ = write!(text, ", {} failed", &*figures::count(head.failed));
    }
    (head.calls > 0).then_some(text)
}

/// A reply without the heading at its start, if that is the title of the page.
pub(super) fn below_title(entry: &Entry, title: &str) -> Option<Entry> {
    let Some(Block::Prose { text, role }) = entry.view.body.first() else { return None };
    let line = text.lines().next().filter(|line| is_heading(line) && unmarked(line) == title)?;
    let text = text.clone().without_start(line.len());
    let text = text.clone().without_start(text.len() - text.trim_start_matches('\n').len());
    let mut below = entry.clone();
    below.view.body[0] = Block::Prose { text, role: role.clone() };
    Some(below)
}

/// Whether a view says nothing that the title doesn't.
pub(super) fn says_only(view: &View, title: &str) -> bool {
    match &view.body[..] {
        [] => true,
        [block] => block.source().is_some_and(|(_, text)| text.trim() == title),
        _ => false,
    }
}

/// The day and the time that a run began at, and if no outcome says how long it took, when it ended:
/// `21 Nov 2026 21:05 UTC`, `21 Nov 2026 21:05–21:41 UTC`. In UTC, so that a page is the same wherever it is made.
pub(super) fn when(head: &DocumentHead) -> Option<String> {
    let (begun, ended) = (head.begun?, head.ended.filter(|_| head.duration_ms.is_none()));
    let [begun, ended] = [Some(begun), ended].map(|at| at.map(|at| TimeZone::UTC.to_datetime(at)));
    let (begun, mut when) = (begun?, moment(begun?));
    if let Some(ended) = ended.filter(|ended| moment(*ended) != when) {
        if ended.date() == begun.date() {
            let _ = write!(when, "–{:02}:{:02}", ended.hour(), ended.minute());
        } else {
            when.extend([" – ", &moment(ended)]);
        }
    }
    Some(when + " UTC")
}

/// When the last step of a run was: `21:41 UTC`, with the day if it began on another one.
pub(super) fn last(head: &DocumentHead) -> Option<String> {
    let [begun, ended] = [head.begun, head.ended].map(|at| at.map(|at| TimeZone::UTC.to_datetime(at)));
    let ended = ended?;
    let is_same_day = begun.is_some_and(|begun| begun.date() == ended.date());
    let when = if is_same_day { format!("{:02}:{:02}", ended.hour(), ended.minute()) } else { moment(ended) };
    Some(when + " UTC")
}

/// `21 Nov 2026 21:05`
fn moment(at: DateTime) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = MONTHS[(at.month().unsigned_abs() as usize).clamp(1, 12) - 1];
    format!("{} {month} {} {:02}:{:02}", at.day(), at.year(), at.hour(), at.minute())
}

/// What a run came to, each figure with its word: `8 prompts`, `38 turns`, `35s`, `$0.21`.
pub(super) fn figures(head: &DocumentHead) -> Vec<Text> {
    let some =
        |count: u64, least: u64, one, many| (count >= least).then(|| figures::count_of(count, one, many));
    let all = [
        some(head.prompts, 2, "prompt", "prompts"),
        some(head.turns, 1, "turn", "turns"),
        head.duration_ms.map(figures::duration),
        head.cost.and_then(figures::money),
    ];
    all.into_iter().flatten().collect()
}

/// A picture in words: `image png, 12 KB, logo.png`.
pub(super) fn description(media: &str, bytes: Option<u64>, name: Option<&str>) -> String {
    let kind = match media {
        "application/pdf" => "PDF".to_owned(),
        "" => "image".to_owned(),
        _ => media.replace('/', " "),
    };
    described(kind, bytes, name)
}

/// What kind of picture it is, its size and its name, as far as they are known.
pub(super) fn described(kind: String, bytes: Option<u64>, name: Option<&str>) -> String {
    let mut description = kind;
    if let Some(bytes) = bytes {
        let _ = write!(description, ", {}", &*figures::size(bytes));
    }
    if let Some(name) = name {
        let _ = write!(description, ", {name}");
    }
    description.replace('\n', " ")
}

/// How much was left out: in lines, or in bytes if it is a part of one.
pub(super) fn amount(lines: u64, bytes: u64) -> Text {
    if lines == 0 { figures::size(bytes) } else { figures::count_of(lines, "line", "lines") }
}

/// About how many lines blocks take.
pub(super) fn lines_of(blocks: &[Block]) -> usize {
    let lines = |block: &Block| match block {
        Block::Diff { hunks, .. } => block.size().lines + hunks.len(),
        Block::Table { rows, .. } => rows.len() + 2,
        Block::Image { .. } | Block::Details { .. } | Block::Elided { .. } => 1,
        _ => block.size().lines,
    };
    blocks.iter().map(lines).sum()
}

/// Whether a limit left something out.
pub(super) fn is_cut(blocks: &[Block]) -> bool {
    blocks.iter().any(|block| matches!(block, Block::Elided { .. }))
}

/// The lines of a text.
pub(super) fn lines(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() + 1
}

/// The lines of a text, the last one too if it is empty.
pub(super) fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    iter::from_fn(move || {
        let text = rest?;
        let Some(end) = find(b'\n', text.as_bytes()) else { return rest.take() };
        rest = Some(&text[end + 1..]);
        Some(&text[..end])
    })
}

/// A result with the time since its call behind its title, if that is known: for writers that show times.
pub(super) fn timed(entry: &Entry) -> Option<Entry> {
    let took = figures::duration(entry.took?);
    let mut entry = entry.clone();
    let title = &mut entry.view.title;
    if !title.is_empty() {
        title.spans.push(Span::new("time", Text::own(" · ")));
    }
    title.spans.push(Span::new("time", took));
    Some(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_of_time_is_shown_where_no_outcome_says_how_long_it_took() {
        let at = |text: &str| Some(text.parse().expect("a moment"));
        for (ended, duration_ms, expected) in [
            ("2026-11-21T21:05:40Z", None, "21 Nov 2026 21:05 UTC"),
            ("2026-11-21T21:41:00Z", None, "21 Nov 2026 21:05–21:41 UTC"),
            ("2026-11-22T21:05:00Z", None, "21 Nov 2026 21:05 – 22 Nov 2026 21:05 UTC"),
            ("2026-11-22T21:05:00Z", Some(1), "21 Nov 2026 21:05 UTC"),
        ] {
            let begun = at("2026-11-21T21:05:09Z");
            let head = DocumentHead { begun, ended: at(ended), duration_ms, ..DocumentHead::default() };
            assert_eq!(when(&head).as_deref(), Some(expected));
        }
    }
}
