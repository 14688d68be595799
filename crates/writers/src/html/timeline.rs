//! The timeline of a run: the activity of each agent over time, with tokens and cost.
//!
//! It has a lane for the main thread and for each of the first sub-agents, a bar for each call from its start to its result,
//! and below them curves of tokens and cost. A pause without entries is drawn narrow. Memory is bounded: a long run is drawn
//! coarser, and its failures are left out last.

use std::fmt::{self, Write};

use indexmap::IndexMap;

use super::out::HtmlOut;
use super::samples::Samples;
use super::session_title;
use crate::page;
use streamfmt_core::bounded::Bounded;
use streamfmt_core::entry::{Entry, Line, Role};
use streamfmt_core::figures;
use streamfmt_core::item::{Action, Id, Kind};
use streamfmt_core::outline::DocumentHead;
use streamfmt_core::session::Map;

/// The most lanes of single threads. All other sub-agents share one more.
const MAX_LANES: usize = 6;
/// The most names of sub-agents that are kept until their first entry, and the most other sub-agents that are counted.
const MAX_AGENTS: usize = 4_096;
/// The most bars that are kept.
const MAX_BARS: usize = 2_000;
/// The most points of a curve that are kept.
const MAX_POINTS: usize = 400;
/// The most calls that wait for their results.
const MAX_OPEN: usize = 512;
/// The shortest pause, in milliseconds without an entry.
const LEAST_PAUSE: i64 = 10_000;
/// The most pauses that are kept; the longest ones are.
const MAX_PAUSES: usize = 128;
/// The class of a call that failed.
const FAILED: &str = "b-bad";
/// The most milliseconds by which the time of the stream and that of the outcomes differ while they count as equal.
const CLOCKS_DIFFER: u64 = 1_000;
/// The width of the drawing, in its own units.
const WIDTH: f64 = 1000.0;
/// The largest width of a pause.
const PAUSE_WIDTH: f64 = 12.0;
/// The largest width of all pauses together, if anything else is drawn.
const PAUSES_WIDTH: f64 = 200.0;
/// The label of each class of bars in the legend.
const LEGEND: [(&str, &str); 9] = [
    ("b-ask", "prompt"),
    ("b-say", "reply"),
    ("b-run", "command"),
    ("b-read", "read or search"),
    ("b-edit", "edit"),
    ("b-net", "web or MCP"),
    ("b-agent", "sub-agent"),
    ("b-other", "other call"),
    (FAILED, "failed call"),
];

/// A point in time: milliseconds since 1970, if the stream has times, and the number of entries up to it.
#[derive(Clone, Copy, Debug, Default)]
struct TimelinePoint {
    ms: Option<i64>,
    turn: u64,
}

#[derive(Debug)]
struct Bar {
    /// Its number in the order of all bars.
    number: u64,
    lane: usize,
    from: TimelinePoint,
    to: TimelinePoint,
    class: &'static str,
    anchor: String,
    title: String,
}

/// A time without entries, in milliseconds since 1970.
#[derive(Clone, Copy, Debug)]
struct Pause {
    from: i64,
    to: i64,
}

impl Pause {
    fn length(self) -> i64 {
        self.to.saturating_sub(self.from)
    }
}

/// Collects the data of the timeline, which is drawn at the end.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    lanes: IndexMap<Option<Id>, String>,
    /// The descriptions of sub-agents that have no entries yet.
    names: Bounded<Id, String>,
    /// Sub-agents without a separate lane.
    others: Map<Id, ()>,
    pauses: Vec<Pause>,
    bars: Vec<Bar>,
    /// How many bars were added.
    bar_count: u64,
    /// One of this many bars is drawn, as a power of 2.
    halvings: u32,
    /// Whether failures are so many that they are left out like other bars.
    are_failures_many: bool,
    /// The bars of calls that wait for their results.
    open: Bounded<Id, usize>,
    /// The tokens so far, without those of the cache: in total, and output.
    tokens: Samples<(TimelinePoint, u64, u64), MAX_POINTS>,
    costs: Samples<(TimelinePoint, f64), MAX_POINTS>,
    last: TimelinePoint,
    first: Option<TimelinePoint>,
    turn: u64,
    calls: u64,
    failures: u64,
    /// The tokens read from the cache and written to it so far.
    cached: [u64; 2],
}

impl Timeline {
    /// Adds an entry.
    pub(super) fn note(&mut self, entry: &Entry) {
        self.turn += 1;
        let ms = entry.at.map(jiff::Timestamp::as_millisecond);
        let now = TimelinePoint { ms: ms.or(self.last.ms), turn: self.turn };
        self.first.get_or_insert(now);
        if let (Some(from), Some(to)) = (self.last.ms, now.ms)
            && to.saturating_sub(from) > LEAST_PAUSE
        {
            self.pause(Pause { from, to });
        }
        self.last = TimelinePoint { ms: now.ms.max(self.last.ms), turn: self.turn };
        if self.first.is_some_and(|first| first.ms.is_none()) {
            self.first = Some(now);
        }
        match entry.kind {
            Kind::Call => self.call(entry, now),
            Kind::Result => self.result(entry, now),
            Kind::Reply | Kind::Prompt => {
                let class = if entry.kind == Kind::Reply { "b-say" } else { "b-ask" };
                self.bar(entry, now, class, entry.kind.name().to_owned());
            }
            _ => {}
        }
        if let Some(known) = entry.figures {
            let usage = known.usage;
            let total = usage.spent();
            self.cached = [usage.cache_read, usage.cache_write];
            if total > 0 && self.tokens.last().is_none_or(|(_, before, _)| *before != total) {
                self.tokens.push((now, total, usage.output));
            }
            if let Some(cost) = known.cost.filter(|cost| cost.is_finite()) {
                self.costs.push((now, cost));
            }
        }
    }

    fn call(&mut self, entry: &Entry, now: TimelinePoint) {
        self.calls += 1;
        let class = match entry.action {
            Some(Action::Run) => "b-run",
            Some(Action::Read | Action::Search) => "b-read",
            Some(Action::Write | Action::Edit) => "b-edit",
            Some(Action::Fetch | Action::Mcp) => "b-net",
            Some(Action::Delegate) => "b-agent",
            _ => "b-other",
        };
        let title = session_title(&entry.view.title);
        if entry.action == Some(Action::Delegate) && self.lanes.len() < MAX_LANES {
            let name = description(&entry.view.title).unwrap_or_else(|| title.clone());
            self.names.add(entry.id.clone(), name, MAX_AGENTS);
        }
        let at = self.bar(entry, now, class, title);
        self.open.add(entry.id.clone(), at, MAX_OPEN);
    }

    fn result(&mut self, entry: &Entry, now: TimelinePoint) {
        let is_failed = entry.is_failed();
        self.failures += u64::from(is_failed);
        let bar = entry.call.as_ref().and_then(|call| self.open.shift_remove(call));
        let Some(bar) = bar.and_then(|at| self.bars.get_mut(at)) else { return };
        bar.to = now;
        if is_failed {
            bar.class = FAILED;
        }
        // The time of a call isn't a pause.
        if let (Some(from), Some(to)) = (bar.from.ms, bar.to.ms) {
            self.pauses.retain(|pause| pause.from < from || to < pause.to);
        }
    }

    fn pause(&mut self, pause: Pause) {
        self.pauses.push(pause);
        if self.pauses.len() > MAX_PAUSES
            && let Some((shortest, _)) =
                self.pauses.iter().enumerate().min_by_key(|(_, pause)| pause.length())
        {
            self.pauses.remove(shortest);
        }
    }

    fn bar(&mut self, entry: &Entry, now: TimelinePoint, class: &'static str, title: String) -> usize {
        let lane = self.lane(entry.parent.as_ref());
        let anchor = page::anchor(entry.id.as_str());
        if self.bars.len() >= MAX_BARS {
            self.coarsen();
        }
        self.bars.push(Bar { number: self.bar_count, lane, from: now, to: now, class, anchor, title });
        self.bar_count += 1;
        self.bars.len() - 1
    }

    /// Returns the lane of a thread. The one after the last is shared.
    fn lane(&mut self, parent: Option<&Id>) -> usize {
        if self.lanes.is_empty() {
            self.lanes.insert(None, "main".to_owned());
        }
        let key = parent.cloned();
        if let Some(lane) = self.lanes.get_index_of(&key) {
            return lane;
        }
        if let Some(parent) = parent
            && self.lanes.len() >= MAX_LANES
        {
            if self.others.len() < MAX_AGENTS {
                self.others.insert(parent.clone(), ());
            }
            return MAX_LANES;
        }
        let name = parent.and_then(|parent| self.names.shift_remove(parent));
        self.lanes.insert_full(key, name.unwrap_or_else(|| "sub-agent".to_owned())).0
    }

    /// Whether a bar is drawn: an even share of all bars is, and failures are, unless they are half of all.
    fn is_drawn(&self, bar: &Bar) -> bool {
        let is_kept_failure = bar.class == FAILED && !self.are_failures_many;
        is_kept_failure || bar.number.trailing_zeros() >= self.halvings
    }

    /// Removes the bars that aren't drawn, and halves the share of those that are if that is too few. Bars of calls that wait for a
    /// result are kept.
    fn coarsen(&mut self) {
        let failed = self.bars.iter().filter(|bar| bar.class == FAILED).count();
        self.are_failures_many |= failed >= MAX_BARS / 2;
        let drawn = |timeline: &Self| timeline.bars.iter().filter(|bar| timeline.is_drawn(bar)).count();
        while drawn(self) > MAX_BARS * 2 / 3 {
            self.halvings += 1;
        }
        let mut is_kept: Vec<bool> = self.bars.iter().map(|bar| self.is_drawn(bar)).collect();
        for at in self.open.values() {
            if let Some(is_kept) = is_kept.get_mut(*at) {
                *is_kept = true;
            }
        }
        let (mut index, mut kept) = (0, 0);
        let mut moved = Vec::with_capacity(self.bars.len());
        self.bars.retain(|_| {
            moved.push(kept);
            kept += usize::from(is_kept[index]);
            index += 1;
            is_kept[index - 1]
        });
        for at in self.open.values_mut() {
            *at = moved.get(*at).copied().unwrap_or(0);
        }
    }

    /// Returns the horizontal position of a point in time, from 0 to [`WIDTH`].
    fn x(&self, moment: TimelinePoint) -> f64 {
        let first = self.first.unwrap_or_default();
        let share =
            |at: f64, end: f64, width: f64| if end > 0.0 { (at / end).clamp(0.0, 1.0) * width } else { 0.0 };
        match (moment.ms, first.ms, self.last.ms) {
            (Some(ms), Some(from), Some(to)) if to > from => {
                let paused: i64 = self.pauses.iter().map(|pause| pause.length()).sum();
                let each = self.pause_width();
                let rest = WIDTH - each * self.pauses.len() as f64;
                let (mut before, mut x) = (0, 0.0);
                for pause in &self.pauses {
                    let within = ms.clamp(pause.from, pause.to) - pause.from;
                    before += within;
                    x += share(within as f64, pause.length() as f64, each);
                }
                let active = to - from - paused;
                (x + share((ms - from - before) as f64, active as f64, rest)).clamp(0.0, WIDTH)
            }
            _ => share((moment.turn - 1) as f64, (self.last.turn.max(2) - 1) as f64, WIDTH),
        }
    }

    /// Returns the width of each pause, whatever its length.
    fn pause_width(&self) -> f64 {
        let number = self.pauses.len().max(1) as f64;
        let (Some(from), Some(to)) = (self.first.and_then(|first| first.ms), self.last.ms) else {
            return 0.0;
        };
        let paused: i64 = self.pauses.iter().map(|pause| pause.length()).sum();
        if to - from > paused { PAUSE_WIDTH.min(PAUSES_WIDTH / number) } else { WIDTH / number }
    }

    /// Returns the duration of the run by the stream's times, in milliseconds.
    fn length(&self) -> Option<u64> {
        let length = self.last.ms?.checked_sub(self.first?.ms?)?;
        u64::try_from(length).ok().filter(|length| *length > 0)
    }

    /// Draws the timeline. Figures in `head` take precedence over those collected here, so that a figure is the same on the whole
    /// page.
    pub(super) fn write(&self, head: Option<&DocumentHead>, out: &mut HtmlOut<'_>) {
        if self.bars.is_empty() {
            return;
        }
        out.raw("<section id=\"timeline\" aria-labelledby=\"h-timeline\"><h2 id=\"h-timeline\">Timeline</h2>\n<div class=\"lanes\">\n");
        let others = match self.others.len() {
            0 => None,
            MAX_AGENTS => Some(format!("+{MAX_AGENTS} agents or more")),
            number => Some(format!("+{}", &*figures::count_of(number as u64, "agent", "agents"))),
        };
        // The others share the lane after the last. They exist only if all lanes are used.
        for (lane, name) in self.lanes.values().chain(&others).enumerate() {
            let bars = || self.bars.iter().filter(|bar| bar.lane == lane && self.is_drawn(bar));
            let count = bars().count();
            if count == 0 {
                continue;
            }
            out.within("<div class=\"lane\"><span class=\"who\" title=\"", name, "\">");
            out.within("", name, "</span><svg viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\"");
            let (number, steps) = (lane + 1, figures::count_of(count as u64, "step", "steps"));
            let _ = out.formatted(format_args!(" role=\"img\" aria-label=\"lane {number}: {steps}\">"));
            self.pauses_of(out);
            for bar in bars() {
                self.bar_of(bar, out);
            }
            out.raw("</svg></div>\n");
        }
        self.curves(out);
        out.raw("</div>\n");
        self.legend(out);
        out.raw("<p class=\"facts\">");
        self.facts(head, out);
        out.raw("</p></section>\n");
    }

    fn pauses_of(&self, out: &mut HtmlOut<'_>) {
        let width = self.pause_width();
        for pause in &self.pauses {
            let from = self.x(TimelinePoint { ms: Some(pause.from), turn: 1 });
            rect("pause", from, width, ["0", "10"], out);
            let length = figures::duration(pause.length().unsigned_abs());
            out.within("><title>pause of ", &length, "</title></rect>");
        }
    }

    /// Writes the meaning of each colour that occurs.
    fn legend(&self, out: &mut HtmlOut<'_>) {
        out.raw("<p class=\"legend\">");
        for (class, meaning) in LEGEND {
            if self.bars.iter().any(|bar| bar.class == class && self.is_drawn(bar)) {
                let _ = out.formatted(format_args!("<span><i class=\"{class}\"></i>{meaning}</span> "));
            }
        }
        if !self.pauses.is_empty() {
            out.raw("<span><i class=\"pause\"></i>pause of over 10s, shortened</span> ");
        }
        if self.tokens.is_curve() {
            out.raw("<span><i class=\"curve-tokens\"></i>tokens</span> ");
            if self.costs.is_curve() {
                out.raw("<span><i class=\"curve-cost\"></i>cost</span> ");
            }
        }
        out.raw("</p>\n");
    }

    fn bar_of(&self, bar: &Bar, out: &mut HtmlOut<'_>) {
        let (from, to) = (self.x(bar.from), self.x(bar.to));
        let thinnest = if bar.class == "b-say" || bar.class == "b-ask" { 1.5 } else { 2.5 };
        let width = (to - from).max(thinnest);
        let from = from.min(WIDTH - width).max(0.0);
        rect(bar.class, from, width, ["1", "8"], out);
        out.raw_parts(&[" data-e=\"", &bar.anchor]);
        out.within("\"><title>", &bar.title, "");
        if let (Some(from), Some(to)) = (bar.from.ms, bar.to.ms)
            && let Ok(length @ 1..) = u64::try_from(to.saturating_sub(from))
        {
            out.within(" · ", &figures::duration(length), "");
        }
        out.raw("</title></rect>");
    }

    fn curves(&self, out: &mut HtmlOut<'_>) {
        let most = self.tokens.iter().map(|(_, total, _)| *total).max().unwrap_or(0);
        // A single point is no curve.
        if most == 0 || !self.tokens.is_curve() {
            return;
        }
        out.raw("<div class=\"lane\"><span class=\"who\">tokens</span><svg class=\"curve\" viewBox=\"0 0 1000 40\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"tokens over the run\">");
        let tokens = self.tokens.iter().map(|(moment, total, _)| (*moment, *total as f64 / most as f64));
        let path = self.curve(40, tokens);
        let _ = out.formatted(format_args!("<path class=\"area\" d=\"{path}L1000 40Z\"/><path class=\"edge\" vector-effect=\"non-scaling-stroke\" d=\"{path}\"/>"));
        let dearest = self.costs.iter().map(|(_, cost)| *cost).fold(0.0, f64::max);
        if dearest > 0.0 && self.costs.is_curve() {
            let costs = self.costs.iter().map(|(moment, cost)| (*moment, (cost / dearest).clamp(0.0, 1.0)));
            let path = self.curve(38, costs);
            out.raw_parts(&["<path class=\"cost\" vector-effect=\"non-scaling-stroke\" d=\"", &path, "\"/>"]);
        }
        out.raw("</svg></div>\n");
    }

    /// Returns the path of a curve of steps, each relative to the highest. `start`: the vertical position at which it begins.
    fn curve(&self, start: u32, steps: impl Iterator<Item = (TimelinePoint, f64)>) -> String {
        let mut path = format!("M0 {start}");
        let mut last = f64::from(start);
        for (moment, share) in steps {
            let (x, y) = (self.x(moment), 38.0 - 36.0 * share);
            let (at, before, now) = (Tenths(x), Tenths(last), Tenths(y));
            // A string takes everything.
            let _ = write!(path, "L{at} {before}L{at} {now}");
            last = y;
        }
        let _ = write!(path, "L1000 {last:.1}");
        path
    }

    fn facts(&self, head: Option<&DocumentHead>, out: &mut HtmlOut<'_>) {
        let mut facts = Vec::new();
        facts.push(figures::count_of(self.calls, "call", "calls").to_string());
        if self.failures > 0 {
            facts.push(format!("{} failed", self.failures));
        }
        let active = head.and_then(|head| head.duration_ms);
        facts.push(match (self.length(), active) {
            // The times of lines are slightly inexact.
            (Some(length), Some(active)) if length > active.saturating_add(CLOCKS_DIFFER) => {
                format!("active {} of {}", &*figures::duration(active), &*figures::duration(length))
            }
            (Some(_), Some(active)) => figures::duration(active).to_string(),
            (Some(length), None) => figures::duration(length).to_string(),
            (None, _) if self.last.ms.is_some() => {
                "drawn in order: the stream tells one time alone".to_owned()
            }
            (None, _) => "drawn in order: the stream tells no times".to_owned(),
        });
        if let Some((_, total, written)) = self.tokens.last() {
            facts.push(format!(
                "{} tokens, {} of them written",
                &*figures::tokens(*total),
                &*figures::tokens(*written)
            ));
            for (count, which) in self.cached.into_iter().zip(["from cache", "to cache"]) {
                if count > 0 {
                    facts.push(format!("{} {which}", &*figures::tokens(count)));
                }
            }
        }
        let cost = head.map_or_else(|| self.costs.last().map(|(_, cost)| *cost), |head| head.cost);
        if let Some(cost) = cost.and_then(figures::money) {
            facts.push(cost.to_string());
        }
        out.text(&facts.join(" · "));
    }
}

/// Begins a rectangle of the drawing, with this height and distance from the top.
fn rect(class: &str, x: f64, width: f64, [y, height]: [&str; 2], out: &mut HtmlOut<'_>) {
    out.raw_parts(&["<rect class=\"", class, "\" x=\""]);
    out.number(Tenths(x));
    out.raw_parts(&["\" y=\"", y, "\" width=\""]);
    out.number(Tenths(width));
    out.raw_parts(&["\" height=\"", height, "\""]);
}

/// Returns the description of a sub-agent, without its tool and type.
fn description(title: &Line) -> Option<String> {
    let spans = title.spans().filter(|span| span.role == Role::of("call.arg"));
    Some(session_title(&spans.collect())).filter(|text| !text.is_empty())
}

/// A number of the drawing, formatted with one decimal digit as by `{:.1}`, but faster.
struct Tenths(f64);

impl fmt::Display for Tenths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = self.0 * 10.0;
        let near = tenths.round();
        // Up to the width, the error of the product is far smaller than the distance to the middle between two tenths.
        if self.0.is_sign_positive() && (0.0..=10.0 * WIDTH).contains(&near) && (tenths - near).abs() < 0.499
        {
            let near = near as i64;
            write!(f, "{}.{}", near / 10, near % 10)
        } else {
            write!(f, "{:.1}", self.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use streamfmt_core::entry::View;

    proptest! {
        #[test]
        fn tenths_are_rounded_as_numbers_are(number in prop_oneof![-1.0..1_100.0, (0_u32..44_000).prop_map(|it| f64::from(it) / 40.0)]) {
            prop_assert_eq!(Tenths(number).to_string(), format!("{number:.1}"));
        }
    }

    fn at(seconds: i64, entry: Entry) -> Entry {
        Entry { at: jiff::Timestamp::from_second(seconds).ok(), ..entry }
    }

    fn call(id: &str, action: Action, title: Line) -> Entry {
        Entry { action: Some(action), ..Entry::new(id, Kind::Call, View::titled("call", title)) }
    }

    fn drawn(timeline: &Timeline) -> String {
        let (mut buffer, mut page) = (String::new(), String::new());
        let mut out = HtmlOut::new(&mut buffer, &mut page);
        timeline.write(None, &mut out);
        out.end().unwrap();
        page
    }

    #[test]
    fn a_pause_is_drawn_narrow_and_the_time_of_a_call_is_none() {
        let mut timeline = Timeline::default();
        let result = |id: &str| {
            let result = Entry::new(Id::below(id, "result"), Kind::Result, View::default());
            Entry { call: Some(id.into()), ..result }
        };
        let bash = || Line::of("tool.name", "Bash");
        timeline.note(&at(0, call("a", Action::Run, bash())));
        timeline.note(&at(40, result("a")));
        timeline.note(&at(3_640, call("b", Action::Run, bash())));
        timeline.note(&at(3_700, result("b")));
        let page = drawn(&timeline);
        assert_eq!(page.matches("class=\"pause\" x=").count(), 1, "{page}");
        // Forty of a hundred seconds, a pause of an hour, and the rest.
        assert!(page.contains("x=\"0.0\" y=\"1\" width=\"395.2\""), "{page}");
        assert!(page.contains("x=\"395.2\" y=\"0\" width=\"12.0\""), "{page}");
        assert!(page.contains("<title>pause of 1h") && page.contains("shortened"), "{page}");
    }

    #[test]
    fn agents_have_lanes_by_what_they_do_and_many_of_them_share_one() {
        let mut timeline = Timeline::default();
        timeline.note(&Entry::new("p", Kind::Prompt, View::default()));
        for number in 0..40 {
            let mut title = Line::of("tool.name", "Agent");
            title.push("call.arg", streamfmt_core::text::Text::clean_owned(format!("Part {number}")));
            let agent = call(&format!("agent-{number}"), Action::Delegate, title);
            timeline.note(&agent);
            // The first has no entries.
            if number > 0 {
                let inside = call(&format!("call-{number}"), Action::Run, Line::of("tool.name", "Bash"));
                timeline.note(&Entry { parent: Some(agent.id), ..inside });
            }
        }
        let page = drawn(&timeline);
        let names: Vec<_> =
            page.split("title=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        assert_eq!(names, ["main", "Part 1", "Part 2", "Part 3", "Part 4", "Part 5", "+34 agents"]);
    }

    #[test]
    fn however_much_fails_or_is_never_answered_the_drawing_stays_bounded() {
        let mut timeline = Timeline::default();
        for number in 0..20_000 {
            let id = Id::from(&*format!("call-{number}"));
            let call =
                Entry::new(id.clone(), Kind::Call, View::titled("call", Line::of("tool.name", "Bash")));
            timeline.note(&call);
            if number % 3 > 0 {
                let view = View::titled("error", Line::of("result.error", "failed"));
                let result = Entry::new(Id::below(id.as_str(), "result"), Kind::Result, view);
                timeline.note(&Entry { call: Some(id), ..result });
            }
            assert!(timeline.bars.len() <= MAX_BARS, "{number}");
        }
        let failed = timeline.bars.iter().filter(|bar| bar.class == FAILED).count();
        assert!(failed > MAX_BARS / 8, "{failed} failures are left");
        assert_eq!(timeline.failures, 13_333);
    }
}
