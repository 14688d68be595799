//! Parts that Markdown and HTML pages have in common.

use std::fmt::{self, Write};
use std::iter;
use std::sync::Arc;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use streamfmt_core::entry::{Block, Entry, Picture, View};
use streamfmt_core::figures;
use streamfmt_core::find::find;
use streamfmt_core::outline::{DocumentHead, is_heading, unmarked};
use streamfmt_core::text::Text;

/// Stores images beside the page instead of in it.
#[derive(Clone)]
pub struct KeepPicture(Arc<KeepFn>);

type KeepFn = dyn Fn(&str, &str) -> Option<String> + Send + Sync;

impl KeepPicture {
    /// `keep` receives the extension of the image's file (`png`) and its bytes in Base64. It returns the address of the stored image, or
    /// `None` if it could not be stored.
    pub fn new(keep: impl Fn(&str, &str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(keep))
    }
}

impl fmt::Debug for KeepPicture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeepPicture(…)")
    }
}

/// The layout of a page.
#[derive(Clone, Debug, Default)]
pub struct PageOptions {
    /// The number of lines above which results are folded; `None` folds none.
    pub fold: Option<usize>,
    /// The zone for the times of entries; `None` shows no times.
    pub timestamps: Option<TimeZone>,
    /// Stores images; `None` writes them into the page.
    pub keep: Option<KeepPicture>,
}

/// The types of images that pages show, with the extension of each.
const TYPES: [(&str, &str); 4] =
    [("image/png", "png"), ("image/jpeg", "jpg"), ("image/gif", "gif"), ("image/webp", "webp")];

/// The source of an image in a page.
pub(super) enum PictureSource {
    /// A `data:` URL with its bytes.
    Within(String),
    /// The address at which it is stored.
    Beside(String),
    /// It is only described. Holds the reason, which is empty if nothing is wrong with it.
    Absent(&'static str),
}

impl PageOptions {
    /// Returns the source of an image, after storing it if needed.
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

    /// Whether a result with this many lines is folded.
    pub(super) fn folds(&self, lines: usize) -> bool {
        self.fold.is_some_and(|most| lines > most)
    }
}

/// Returns the anchor of an entry. It depends only on the id, so links stay valid whatever the options of the page.
pub(super) fn anchor(id: &str) -> String {
    // FNV-1a: needs no secret, and never changes.
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut anchor = *b"e-0000000000000000";
    for (at, digit) in anchor[2..].iter_mut().rev().enumerate() {
        *digit = b"0123456789abcdef"[(hash >> (4 * at)) as usize & 15];
    }
    str::from_utf8(&anchor).unwrap_or_default().to_owned()
}

/// A formatted time. Pages contain thousands, so this is faster than a general formatter.
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

    /// Returns the time of day: `14:05:09`.
    pub(super) fn clock(&self) -> &str {
        str::from_utf8(&self.rest[7..15]).unwrap_or_default()
    }
}

impl fmt::Display for UtcTime {
    /// Writes `2026-01-31T14:05:09Z`, which is correct only for times in UTC.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}", self.year)?;
        f.write_str(str::from_utf8(&self.rest).unwrap_or_default())
    }
}

/// Returns the title of a page.
pub(super) fn title(head: &DocumentHead) -> &str {
    head.title.as_deref().unwrap_or("Agent session")
}

/// Returns the number of calls: `18 calls, 3 failed`. `None` if there are none.
pub(super) fn activity(head: &DocumentHead) -> Option<String> {
    let mut text = figures::count_of(head.calls, "call", "calls").into_string();
    if head.failed > 0 {
        let _ = write!(text, ", {} failed", &*figures::count(head.failed));
    }
    (head.calls > 0).then_some(text)
}

/// Returns a reply without the heading at its start, if that is the title of the page.
pub(super) fn below_title(entry: &Entry, title: &str) -> Option<Entry> {
    let Some(Block::Prose { text, role }) = entry.view.body.first() else { return None };
    let line = text.lines().next().filter(|line| is_heading(line) && unmarked(line) == title)?;
    let text = text.clone().without_start(line.len());
    let text = text.clone().without_start(text.len() - text.trim_start_matches('\n').len());
    let mut below = entry.clone();
    below.view.body[0] = Block::Prose { text, role: *role };
    Some(below)
}

/// Whether the body of a view is empty or equals the title.
pub(super) fn is_only(view: &View, title: &str) -> bool {
    match &view.body[..] {
        [] => true,
        [block] => block.source().is_some_and(|(_, text)| text.trim() == title),
        _ => false,
    }
}

/// Returns the start of a run and, if no outcome reports its duration, its end:
/// `21 Nov 2026 21:05 UTC`, `21 Nov 2026 21:05–21:41 UTC`. In UTC, so that a page is the same wherever it is written.
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

/// Returns the time of a run's last step: `21:41 UTC`, with the date if the run began on another day.
pub(super) fn last(head: &DocumentHead) -> Option<String> {
    let [begun, ended] = [head.begun, head.ended].map(|at| at.map(|at| TimeZone::UTC.to_datetime(at)));
    let ended = ended?;
    let is_same_day = begun.is_some_and(|begun| begun.date() == ended.date());
    let when = if is_same_day { format!("{:02}:{:02}", ended.hour(), ended.minute()) } else { moment(ended) };
    Some(when + " UTC")
}

/// Formats a time: `21 Nov 2026 21:05`.
fn moment(at: DateTime) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = MONTHS[(at.month().unsigned_abs() as usize).clamp(1, 12) - 1];
    format!("{} {month} {} {:02}:{:02}", at.day(), at.year(), at.hour(), at.minute())
}

/// Returns the figures of a run: `8 prompts`, `38 turns`, `35s`, `$0.21`.
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

/// Describes an image: `image png, 12 KB, logo.png`.
pub(super) fn description(media: &str, bytes: Option<u64>, name: Option<&str>) -> String {
    let kind = match media {
        "application/pdf" => "PDF".to_owned(),
        "" => "image".to_owned(),
        _ => media.replace('/', " "),
    };
    described(kind, bytes, name)
}

/// Describes an image by its kind and, as far as known, its size and name.
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

/// Formats how much was left out: in lines, or in bytes if it is a part of a line.
pub(super) fn amount(lines: u64, bytes: u64) -> Text {
    if lines == 0 { figures::size(bytes) } else { figures::count_of(lines, "line", "lines") }
}

/// Returns the approximate number of lines that blocks take.
pub(super) fn lines_of(blocks: &[Block]) -> usize {
    let lines = |block: &Block| match block {
        Block::Diff { hunks, .. } => block.size().lines + hunks.len(),
        Block::Table { rows, .. } => rows.len() + 2,
        Block::Image { .. } | Block::Details { .. } | Block::Elided { .. } => 1,
        _ => block.size().lines,
    };
    blocks.iter().map(lines).sum()
}

/// Whether a limit cut some of the blocks.
pub(super) fn is_cut(blocks: &[Block]) -> bool {
    blocks.iter().any(|block| matches!(block, Block::Elided { .. }))
}

/// Counts the lines of a text.
pub(super) fn lines(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() + 1
}

/// Splits a text into lines, including an empty last one.
pub(super) fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    iter::from_fn(move || {
        let text = rest?;
        let Some(end) = find(b'\n', text.as_bytes()) else { return rest.take() };
        rest = Some(&text[end + 1..]);
        Some(&text[..end])
    })
}

/// Adds the time since the call to a result's title, for writers that show times. `None` if it is unknown.
pub(super) fn timed(entry: &Entry) -> Option<Entry> {
    let took = figures::duration(entry.took?);
    let mut entry = entry.clone();
    let title = &mut entry.view.title;
    if !title.is_empty() {
        title.attach("time", Text::own(" · "));
    }
    title.attach("time", took);
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
