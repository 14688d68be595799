//! Clips views to the limits of a profile: once, after they are complete, and visibly.
//!
//! The kept parts stay in their order; a cut in a line is between graphemes. Replies, outcomes, plans and records are never clipped.
//! Lines are only counted, with two exceptions: of a failed result the lines that report the failure are kept, and of a long line in a
//! diff the part that changed.

mod failed_lines;
mod long_lines;

pub use failed_lines::first_failure;

use unicode_segmentation::UnicodeSegmentation;

use crate::entry::{Block, BlockSize, FOLDED, HIDDEN, Line, View};
use crate::item::Kind;
use crate::profile::{Keep, LimitName, Limits};
use crate::text::Text;

/// Clips the view of an item of this kind. `error`: whether it reports a failure.
///
/// The limit of bytes applies to everything that has a limit of lines, and to successful results in any case. A cut that
/// would hide a single line isn't made.
pub fn clip(view: &mut View, kind: Kind, error: bool, limits: &Limits) {
    let lines = limits[match kind {
        Kind::Reply | Kind::Outcome | Kind::Plan | Kind::Record => return,
        Kind::Result | Kind::Unknown if error => LimitName::ErrorLines,
        Kind::Result | Kind::Unknown => LimitName::ResultLines,
        Kind::Prompt => LimitName::PromptLines,
        Kind::Thinking => LimitName::ThinkingLines,
        Kind::Call => LimitName::CallLines,
        Kind::Notice => LimitName::NoticeLines,
    }];
    if view.body.is_empty() {
        return;
    }
    let keep = if let Kind::Result | Kind::Call = kind { limits.keep } else { Keep::Head };
    // While a call is being written, the end of its diff is the new part.
    let keep_of_diffs = if kind == Kind::Call { keep } else { Keep::Head };
    let is_result = kind == Kind::Result && !error;
    let bytes = |lines: Option<usize>| limits[LimitName::ResultBytes].filter(|_| lines.is_some());
    let own_bytes = if is_result { limits[LimitName::ResultBytes] } else { bytes(lines) };
    let reports_failure = kind == Kind::Result && (error || view.is_failure());
    let mut open = Vec::new();
    let mut next = Some(&mut view.body);
    while let Some(body) = next {
        BlockLimit { diffs: false, lines, bytes: own_bytes, keep, reports_failure }.apply(body);
        let diff_lines = limits[LimitName::DiffLines];
        let bytes = bytes(diff_lines);
        BlockLimit { diffs: true, lines: diff_lines, bytes, keep: keep_of_diffs, reports_failure: false }
            .apply(body);
        open.extend(body.iter_mut().filter_map(Block::inside_mut));
        next = open.pop();
    }
}

/// Clips the view of any item to so many bytes of text, and as many of diffs. The beginning is kept.
pub fn clip_bytes(view: &mut View, bytes: usize) {
    let limit = BlockLimit {
        diffs: false,
        lines: None,
        bytes: Some(bytes),
        keep: Keep::Head,
        reports_failure: false,
    };
    limit.apply(&mut view.body);
    BlockLimit { diffs: true, ..limit }.apply(&mut view.body);
}

/// Folds the body of a view under a line with its size. In formats that can't unfold, the role of that line,
/// `details.folded`, means that the body isn't written.
pub fn fold(view: &mut View) {
    if view.body.is_empty() || matches!(view.body[..], [Block::Details { .. }]) {
        return;
    }
    let summary = Line::of(FOLDED, folded_away(&view.body));
    let body = std::mem::take(&mut view.body);
    view.body.push(Block::Details { summary, body });
}

/// Folds a view so that only its title is shown: in formats that can't unfold, the role `details.hidden` means that neither the body nor
/// the line for it is written. Unless `keeps_title`, the title becomes that line.
pub fn fold_unseen(view: &mut View, keeps_title: bool) {
    let mut text = String::new();
    if !keeps_title {
        view.mark = None;
        view.continues_call = false;
        text.push_str(std::mem::take(&mut view.title).text());
    }
    if view.body.is_empty() && text.is_empty() {
        return;
    }
    let text = if text.is_empty() { folded_away(&view.body) } else { Text::clean_owned(text) };
    let body = std::mem::take(&mut view.body);
    view.body.push(Block::Details { summary: Line::of(HIDDEN, text), body });
}

fn folded_away(body: &[Block]) -> Text {
    let lines: usize = body.iter().map(|block| block.size().lines.max(1)).sum();
    let unit = if lines == 1 { "line" } else { "lines" };
    Text::clean_owned(format!("{lines} {unit} folded away"))
}

/// A limit for some of the blocks of a body.
struct BlockLimit {
    /// Whether it applies to diffs, or to all other blocks.
    diffs: bool,
    lines: Option<usize>,
    bytes: Option<usize>,
    keep: Keep,
    /// Whether lines that report a failure take precedence over all others.
    reports_failure: bool,
}

impl BlockLimit {
    fn apply(&self, body: &mut Vec<Block>) {
        if self.lines.is_none() && self.bytes.is_none() {
            return;
        }
        let size = |block: &Block| (matches!(block, Block::Diff { .. }) == self.diffs).then(|| block.size());
        let sum = |body: &[Block]| body.iter().filter_map(size).sum::<BlockSize>();
        let mut all = sum(body);
        let limit =
            BlockSize { lines: self.lines.unwrap_or(usize::MAX), bytes: self.bytes.unwrap_or(usize::MAX) };
        let hides_one = limit.lines > 0 && all.lines == limit.lines.saturating_add(1);
        let fits = |all: BlockSize| (all.lines <= limit.lines || hides_one) && all.bytes <= limit.bytes;
        if fits(all) {
            return;
        }
        let taken_out = if self.diffs && all.bytes > limit.bytes { long_lines::shorten(body) } else { 0 };
        if taken_out > 0 {
            all = sum(body);
            if fits(all) {
                let last = body.iter().rposition(|block| matches!(block, Block::Diff { .. }));
                let gap = Block::Elided { lines: 0, bytes: taken_out as u64 };
                body.insert(last.map_or(body.len(), |last| last + 1), gap);
                return;
            }
            all.bytes += taken_out;
        }
        let sizes: Vec<Option<BlockSize>> = body.iter().map(size).collect();
        if self.reports_failure && failed_lines::keep(body, &sizes, limit, self.keep) {
            return;
        }
        let (mut head, mut tail) = match self.keep {
            Keep::Head => (limit, BlockSize::default()),
            Keep::Tail => (BlockSize::default(), limit),
            Keep::HeadTail => {
                let half = BlockSize { lines: limit.lines.div_ceil(2), bytes: limit.bytes.div_ceil(2) };
                (half, BlockSize { lines: limit.lines - half.lines, bytes: limit.bytes - half.bytes })
            }
        };
        let heads: Vec<BlockSize> = body
            .iter()
            .zip(&sizes)
            .map(|(block, size)| {
                size.map_or(BlockSize::default(), |size| take(&mut head, size, |room| head_of(block, room)))
            })
            .collect();
        let mut tails = vec![BlockSize::default(); body.len()];
        for (index, block) in body.iter().enumerate().rev() {
            if let Some(size) = sizes[index] {
                tails[index] = take(&mut tail, size, |room| tail_of(block, room));
            }
        }
        rebuild(body, &sizes, &heads, &tails, all);
    }
}

/// Returns how much of a block fits in the room, and reduces the room by that. After a cut no room is left.
fn take(room: &mut BlockSize, size: BlockSize, part: impl FnOnce(BlockSize) -> BlockSize) -> BlockSize {
    if size.lines <= room.lines && size.bytes <= room.bytes {
        room.lines -= size.lines;
        room.bytes -= size.bytes;
        return size;
    }
    let taken = if room.lines == 0 || room.bytes == 0 { BlockSize::default() } else { part(*room) };
    *room = BlockSize::default();
    taken
}

/// Rebuilds the body from the parts that are kept of its start and of its end.
fn rebuild(
    body: &mut Vec<Block>,
    sizes: &[Option<BlockSize>],
    heads: &[BlockSize],
    tails: &[BlockSize],
    all: BlockSize,
) {
    let kept: BlockSize = heads.iter().chain(tails).copied().sum();
    let mut gap = Some(Block::Elided {
        lines: all.lines.saturating_sub(kept.lines) as u64,
        bytes: all.bytes.saturating_sub(kept.bytes) as u64,
    });
    let old = std::mem::take(body);
    for (index, mut block) in old.into_iter().enumerate() {
        let (Some(size), head, tail) = (sizes[index], heads[index], tails[index]) else {
            body.push(block);
            continue;
        };
        if head == size || tail == size {
            body.push(block);
            continue;
        }
        let end = (tail.lines > 0).then(|| block.split_end(size, tail)).flatten();
        if head.lines > 0 {
            block.truncate(head);
            body.push(block);
        }
        if let Some(gap) = gap.take() {
            push_gap(body, gap);
        }
        body.extend(end);
    }
}

/// Adds a gap, merged with the one before it if there is one.
fn push_gap(body: &mut Vec<Block>, gap: Block) {
    if let (Some(Block::Elided { lines, bytes }), Block::Elided { lines: more_lines, bytes: more_bytes }) =
        (body.last_mut(), &gap)
    {
        *lines += more_lines;
        *bytes += more_bytes;
        return;
    }
    body.push(gap);
}

/// How much of the start of a block fits in the room.
fn head_of(block: &Block, room: BlockSize) -> BlockSize {
    match block.source() {
        Some((_, text)) => {
            let reach = text.len().min(room.bytes.saturating_add(1));
            let ends = memchr::memchr_iter(b'\n', &text.as_bytes()[..reach]);
            let (lines, end) =
                ends.take(room.lines).fold((0, None), |(lines, _), end| (lines + 1, Some(end)));
            match end {
                Some(end) if lines == room.lines || end >= room.bytes / 2 => BlockSize { lines, bytes: end },
                // The line that doesn't fit is cut if too little would be kept without it.
                _ => BlockSize { lines: lines + 1, bytes: floor(text, room.bytes) },
            }
        }
        None => rows_within(block.row_bytes(), room),
    }
}

/// How much of the end of a block fits in the room.
fn tail_of(block: &Block, room: BlockSize) -> BlockSize {
    match block.source() {
        Some((_, text)) => {
            let from = text.len() - text.len().min(room.bytes.saturating_add(1));
            let starts = memchr::memrchr_iter(b'\n', &text.as_bytes()[from..]).map(|at| from + at + 1);
            let (lines, start) =
                starts.take(room.lines).fold((0, None), |(lines, _), start| (lines + 1, Some(start)));
            match start {
                Some(start) if lines == room.lines || text.len() - start >= room.bytes / 2 => {
                    BlockSize { lines, bytes: text.len() - start }
                }
                _ => BlockSize {
                    lines: lines + 1,
                    bytes: text.len() - ceil(text, text.len() - room.bytes.min(text.len())),
                },
            }
        }
        None => rows_within(block.row_bytes().rev(), room),
    }
}

/// How many of these rows fit in the room.
fn rows_within(rows: impl Iterator<Item = usize>, room: BlockSize) -> BlockSize {
    let mut taken = BlockSize::default();
    for bytes in rows {
        if taken.lines == room.lines || taken.bytes + bytes > room.bytes {
            break;
        }
        taken = taken + BlockSize { lines: 1, bytes };
    }
    taken
}

/// How many bytes are searched for the boundary of a grapheme.
const REACH: usize = 128;

/// The last boundary between graphemes up to byte `limit`; if none is nearby, one between characters.
pub fn floor(text: &str, limit: usize) -> usize {
    if limit >= text.len() {
        return text.len();
    }
    let start = character(text, limit.saturating_sub(REACH));
    let end = character(text, limit + REACH);
    let graphemes = text[start..end].grapheme_indices(true).map(|(at, _)| start + at);
    let found = graphemes.take_while(|at| *at <= limit).last().unwrap_or(start);
    if found > start || start == 0 {
        return found;
    }
    // Half of a flag made of tag characters wouldn't be clean.
    let mut at = character(text, limit);
    while let Some(ch) =
        text[start..at].chars().next_back().filter(|ch| matches!(ch, '\u{e0000}'..='\u{e007f}'))
    {
        at -= ch.len_utf8();
    }
    at
}

/// The start of a text, up to `most` bytes, followed by `…` if it is cut.
pub(crate) fn start_of(text: &str, most: usize) -> Text {
    let end = floor(text, most);
    let more = if end < text.len() { "…" } else { "" };
    Text::clean_owned(format!("{}{more}", &text[..end]))
}

/// The first boundary between graphemes from byte `limit` on; if none is nearby, one between characters.
fn ceil(text: &str, limit: usize) -> usize {
    let start = character(text, limit.saturating_sub(REACH));
    let end = character(text, limit.saturating_add(REACH));
    let mut graphemes = text[start..end].grapheme_indices(true).map(|(at, _)| start + at);
    graphemes.find(|at| *at >= limit).unwrap_or(end)
}

/// The last boundary between characters up to byte `limit`.
fn character(text: &str, limit: usize) -> usize {
    let mut at = limit.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{DiffLine, Hunk, LineChange};
    use crate::profile::LIMITS;
    use proptest::prelude::*;

    fn text_view(texts: &[&str]) -> View {
        View::of(texts.iter().map(|text| Block::text("result.text", *text)).collect())
    }

    fn limits(lines: impl Into<Option<usize>>, bytes: impl Into<Option<usize>>, keep: Keep) -> Limits {
        let mut limits = Limits::default().with(LimitName::ResultLines, lines);
        (limits[LimitName::ResultBytes], limits.keep) = (bytes.into(), keep);
        limits
    }

    fn shown(view: &View) -> String {
        let parts = view.body.iter().map(|block| match block {
            Block::Code { text, .. } => text.as_str().replace('\n', "|"),
            Block::Elided { lines, bytes } => format!("<{lines},{bytes}>"),
            Block::Diff { hunks, .. } => {
                hunks.iter().flat_map(|hunk| hunk.lines.iter()).map(|line| line.text).collect()
            }
            other => format!("{other:?}"),
        });
        parts.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn cuts_are_made_where_the_profile_wants_them() {
        for (texts, lines, bytes, keep, expected) in [
            (&["a\nb\nc\nd"][..], Some(2), None, Keep::Head, "a|b <2,4>"),
            (&["a\nb\nc\nd"], Some(2), None, Keep::Tail, "<2,4> c|d"),
            (&["a\nb\nc\nd\ne"], Some(3), None, Keep::HeadTail, "a|b <2,5> e"),
            (&["a\nb\nc"], Some(2), None, Keep::Head, "a|b|c"),
            (&["a\nb\nc"], Some(3), None, Keep::Head, "a|b|c"),
            (&["a\nb"], Some(0), None, Keep::Head, "<2,3>"),
            (&["a"], Some(0), None, Keep::Head, "<1,1>"),
            (&["a\nb", "c\nd", "e"], Some(3), None, Keep::Head, "a|b c <2,3>"),
            (&["a\nb", "c\nd", "e"], Some(2), None, Keep::Tail, "<3,5> d e"),
            (&["abcdefgh"], None, Some(3), Keep::Head, "abc <0,5>"),
            (&["abcdefgh"], None, Some(3), Keep::Tail, "<0,5> fgh"),
            (&["abcdefgh"], None, Some(4), Keep::HeadTail, "ab <0,4> gh"),
            (&["ab\ncd\nefgh"], None, Some(6), Keep::Head, "ab|cd <1,5>"),
            (&["ne\u{301}e\u{301}x"], None, Some(3), Keep::Head, "n <0,7>"),
            (&["x"], None, None, Keep::Head, "x"),
        ] {
            let mut view = text_view(texts);
            clip(&mut view, Kind::Result, false, &limits(lines, bytes, keep));
            assert_eq!(shown(&view), expected, "{texts:?} {lines:?} {bytes:?} {keep:?}");
        }
    }

    #[test]
    fn text_and_diffs_are_each_cut_to_so_many_bytes() {
        let lines = ["abc", "defg"].map(|text| DiffLine { change: LineChange::Add, text });
        let hunk = Hunk { old_start: None, new_start: Some(1), lines: lines.into_iter().collect() };
        let diff = Block::Diff { path: None, hunks: vec![hunk] };
        for (bytes, expected) in [(4, "abcd <0,4> abc <1,4>"), (8, "abcdefgh abcdefg")] {
            let mut view = text_view(&["abcdefgh"]);
            view.body.push(diff.clone());
            clip_bytes(&mut view, bytes);
            assert_eq!(shown(&view), expected);
        }
    }

    #[test]
    fn a_folded_body_shows_its_size() {
        let mut view = text_view(&["a\nb\nc", "d"]);
        fold(&mut view);
        fold(&mut view);
        assert!(matches!(&view.body[..], [Block::Details { summary, body }]
            if body.len() == 2 && summary.text() == "4 lines folded away"));
    }

    #[test]
    fn replies_and_outcomes_are_never_cut() {
        for kind in [Kind::Reply, Kind::Outcome] {
            let mut view = text_view(&["a\nb\nc\nd"]);
            clip(&mut view, kind, false, &limits(1, 1, Keep::Head));
            assert_eq!(shown(&view), "a|b|c|d");
        }
    }

    #[test]
    fn failures_and_diffs_have_separate_limits() {
        let limits = limits(1, None, Keep::Head).with(LimitName::ErrorLines, 3).with(LimitName::DiffLines, 2);
        let mut view = text_view(&["a\nb\nc"]);
        clip(&mut view, Kind::Result, true, &limits);
        assert_eq!(shown(&view), "a|b|c");
        let lines = ["1", "2", "3", "4", "5"].map(|text| DiffLine { change: LineChange::Add, text });
        let hunk = Hunk { old_start: Some(1), new_start: Some(1), lines: lines.into_iter().collect() };
        let mut view = View::of(vec![Block::Diff { path: None, hunks: vec![hunk] }]);
        clip(&mut view, Kind::Result, false, &limits);
        assert_eq!(shown(&view), "12 <3,3>");
    }

    fn diff_view(lines: &[&str]) -> View {
        let lines = lines.iter().map(|text| DiffLine { change: LineChange::Add, text }).collect();
        let hunk = Hunk { old_start: Some(1), new_start: Some(1), lines };
        View::of(vec![Block::Diff { path: None, hunks: vec![hunk] }])
    }

    #[test]
    fn the_end_of_a_diff_is_kept_only_while_it_is_written() {
        let limits = |keep| limits(None, None, keep).with(LimitName::DiffLines, 2);
        for (kind, keep, expected) in [
            (Kind::Call, Keep::Tail, "<3,3> 45"),
            (Kind::Call, Keep::Head, "12 <3,3>"),
            (Kind::Result, Keep::Tail, "12 <3,3>"),
        ] {
            let mut view = diff_view(&["1", "2", "3", "4", "5"]);
            clip(&mut view, kind, false, &limits(keep));
            assert_eq!(shown(&view), expected, "{kind:?} {keep:?}");
        }
    }

    #[test]
    fn what_is_taken_out_of_a_long_line_counts_as_cut() {
        let long = "a".repeat(5000);
        let limits = |lines, bytes| limits(None, bytes, Keep::Head).with(LimitName::DiffLines, lines);
        let short = format!("{}…", "a".repeat(400));
        for (lines, bytes, expected) in [
            (3, 1000, format!("{short}bb <3,4600>")),
            (9, 1000, format!("{short}bbbbb <0,4597>")),
            (9, 6000, format!("{long}bbbbb")),
        ] {
            let mut view = diff_view(&[&long, "b", "b", "b", "b", "b"]);
            clip(&mut view, Kind::Result, false, &limits(lines, bytes));
            assert_eq!(shown(&view), expected, "{lines} {bytes}");
        }
    }

    #[test]
    fn two_gaps_in_a_row_are_one_with_the_sum_of_both() {
        let mut view = text_view(&["a\nb\nc"]);
        view.body.append(&mut diff_view(&["1", "2", "3", "4"]).body);
        clip(&mut view, Kind::Result, false, &limits(0, None, Keep::Head).with(LimitName::DiffLines, 0));
        assert_eq!(shown(&view), "<7,9>");
    }

    #[test]
    fn a_failure_keeps_the_lines_that_report_it_and_all_gaps_are_counted() {
        let text = "> test\n1\n2\n3\n4\nok 1\nnot ok 2\n  x\n\n6\n7\n8\n9\n# done";
        for (keep, expected) in [
            (Keep::HeadTail, "> test <4,9> ok 1|not ok 2|  x <4,8> 9|# done"),
            (Keep::Tail, "<5,15> ok 1|not ok 2|  x <3,6> 8|9|# done"),
            (Keep::Head, "> test|1|2 <2,5> ok 1|not ok 2|  x <6,16>"),
        ] {
            let mut view = text_view(&[text]);
            clip(&mut view, Kind::Result, true, &limits(1, None, keep).with(LimitName::ErrorLines, 6));
            assert_eq!(shown(&view), expected, "{keep:?}");
        }
        let mut view = View::titled("error", Line::of("result.error", "exit 1"));
        view.body.push(Block::text("text", text));
        clip(&mut view, Kind::Result, false, &limits(4, None, Keep::Tail));
        assert!(shown(&view).contains("not ok 2"), "{}", shown(&view));
    }

    #[test]
    fn without_a_limit_of_lines_there_is_none_of_bytes() {
        let mut few = Limits::default();
        for row in LIMITS {
            few[row.limit] = Some(if row.is_bytes { 3 } else { 9 });
        }
        let line = DiffLine { change: LineChange::Add, text: "abcdefgh" };
        let hunk = Hunk { old_start: Some(1), new_start: Some(1), lines: [line].into_iter().collect() };
        let diff = vec![Block::Diff { path: None, hunks: vec![hunk] }];
        let text = vec![Block::text("text", "abcdefgh")];
        for (kind, error, body, none) in [
            (Kind::Result, true, &text, few.with(LimitName::ErrorLines, None)),
            (Kind::Result, false, &diff, few.with(LimitName::DiffLines, None)),
            (Kind::Call, false, &text, few.with(LimitName::CallLines, None)),
            (Kind::Prompt, false, &text, few.with(LimitName::PromptLines, None)),
            (Kind::Thinking, false, &text, few.with(LimitName::ThinkingLines, None)),
            (Kind::Notice, false, &text, few.with(LimitName::NoticeLines, None)),
        ] {
            for (limits, is_cut) in [(few, true), (none, false)] {
                let mut view = View::of(body.clone());
                clip(&mut view, kind, error, &limits);
                assert_eq!(&view.body != body, is_cut, "{kind:?} {limits:?}");
            }
        }
    }

    #[test]
    fn the_end_of_numbered_code_keeps_its_numbers() {
        let text = Text::clean("a\nb\nc\nd");
        let mut view = View::of(vec![Block::Code { text, lang: None, start: Some(10), role: "x".into() }]);
        clip(&mut view, Kind::Result, false, &limits(1, None, Keep::Tail));
        assert!(matches!(&view.body[1], Block::Code { start: Some(13), text, .. } if &**text == "d"));
    }

    proptest! {
        #[test]
        fn no_text_is_lost_uncounted(
            texts in prop_oneof![
                proptest::collection::vec("[a-cé👨\n]{0,40}", 0..4),
                proptest::collection::vec("[a-cé👨\u{200d}👩\u{301}\n🏴\u{e0067}\u{e007f}]{0,40}", 0..4),
            ],
            lines in proptest::option::of(0usize..6),
            bytes in proptest::option::of(0usize..50),
            keep in prop_oneof![Just(Keep::Head), Just(Keep::Tail), Just(Keep::HeadTail)],
        ) {
            let clean: Vec<Text> = texts.iter().map(|text| Text::clean(text)).collect();
            let mut view = View::of(clean.iter().map(|text| Block::text("x", text.clone())).collect());
            clip(&mut view, Kind::Result, false, &limits(lines, bytes, keep));
            let whole: usize = clean.iter().map(|text| text.len()).sum();
            let (mut kept, mut gone) = (0, 0);
            for block in &view.body {
                match block {
                    Block::Code { text, .. } => kept += text.len(),
                    Block::Elided { bytes, .. } => gone += *bytes as usize,
                    _ => {}
                }
            }
            // A joiner separated from its character is replaced, which takes more bytes.
            let may_grow = texts.concat().contains(['\u{200d}', '\u{301}', '\u{e0067}', '\u{e007f}']);
            prop_assert!(kept + gone == whole || may_grow && kept + gone > whole, "{kept} + {gone} of {whole}");
            if let (Some(bytes), true) = (bytes, keep == Keep::Head) {
                prop_assert!(kept <= bytes || gone == 0);
            }
        }
    }
}
