//! The lines of `--report`.

use std::collections::BTreeMap;

use streamfmt::core::item::Kind;
use streamfmt::core::pipeline::Report;
use streamfmt::dialect::{DIALECTS, ForeignProgram};

/// The most names of one kind that are listed; the others are counted.
const MOST_NAMES: usize = 20;

/// Adds the counts of one input to those of the others.
pub(crate) fn add(total: &mut Report, report: &Report) {
    let Report {
        lines,
        events,
        unknown_events,
        other_dialects,
        blank_lines,
        further_lines,
        raw_lines,
        damaged,
        oversized,
        items,
        shown,
        hidden,
        elided,
        repeated,
        dropped,
        bookkeeping,
        unknown,
        redacted,
        finds,
        exceeded,
        failures,
        open_calls,
        unsaved,
        failed,
        ended,
        // Of one input alone.
        left_out: _,
        awaits_outcome: _,
        dialect: _,
        foreign: _,
    } = report;
    total.lines += lines;
    total.events += events;
    total.unknown_events += unknown_events;
    total.blank_lines += blank_lines;
    total.further_lines += further_lines;
    total.raw_lines += raw_lines;
    total.damaged += damaged;
    total.oversized += oversized;
    total.items += items;
    total.repeated += repeated;
    total.dropped += dropped;
    total.open_calls += open_calls;
    total.unsaved += unsaved;
    total.failed |= failed;
    total.ended = *ended;
    add_names(&mut total.other_dialects, other_dialects);
    add_names(&mut total.shown, shown);
    add_names(&mut total.hidden, hidden);
    add_names(&mut total.elided, elided);
    add_names(&mut total.bookkeeping, bookkeeping);
    add_names(&mut total.unknown, unknown);
    add_names(&mut total.redacted, redacted);
    add_names(&mut total.failures, failures);
    total.finds.clone_from(finds);
    total.exceeded.extend(exceeded.iter().cloned());
}

fn add_names<K: Ord + Clone>(total: &mut BTreeMap<K, u64>, counts: &BTreeMap<K, u64>) {
    for (name, count) in counts {
        *total.entry(name.clone()).or_default() += count;
    }
}

/// The report on `bytes` of input as lines. Counts that are zero are left out, except that of shown items.
pub(crate) fn lines(report: &Report, bytes: u64) -> Vec<String> {
    let counts = [
        (report.further_lines, "further lines of records"),
        (report.raw_lines, "passed through"),
        (report.damaged, "damaged"),
        (report.oversized, "too long"),
        (report.repeated, "repeated"),
        (report.dropped, "given up"),
        (report.open_calls, "calls without a result"),
    ];
    let counts =
        counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!(", {count} {what}"));
    let mut lines = vec![format!(
        "read: {} {} ({}), {} {}, {} {}{}",
        report.lines,
        if report.lines == 1 { "line" } else { "lines" },
        size(bytes),
        report.events,
        if report.events == 1 { "event" } else { "events" },
        report.items,
        if report.items == 1 { "item" } else { "items" },
        counts.collect::<String>()
    )];
    lines.push(shown(report));
    for (what, counts) in [
        ("hidden", &report.hidden),
        ("elided", &by_name(&report.elided)),
        ("redacted", &report.redacted),
        ("bookkeeping", &report.bookkeeping),
        ("unknown", &report.unknown),
        ("of other dialects", &report.other_dialects),
        ("failures of formatters", &report.failures),
    ] {
        if !counts.is_empty() {
            lines.push(format!("{what}: {}", names(counts)));
        }
    }
    if report.failed {
        lines.push("the run ended in an error".to_owned());
    }
    if report.unsaved > 0 {
        lines.push("the agent could not save all of the session".to_owned());
    }
    lines
}

/// What to say about custom patterns that took too much work, each once.
pub(crate) fn exceeded(report: &Report) -> impl Iterator<Item = String> {
    report.exceeded.iter().map(|name| {
        format!("the pattern \"{name}\" takes too much work on a long text: the rest of that text is masked")
    })
}

/// The report on a further output in one line; the input is counted with the main one.
pub(crate) fn line(output: &str, report: &Report) -> String {
    let mut line = format!("{output}: {}", shown(report));
    for (what, counts) in [
        ("hidden", &report.hidden),
        ("redacted", &report.redacted),
        ("failures of formatters", &report.failures),
    ] {
        if !counts.is_empty() {
            line = format!("{line}; {what}: {}", names(counts));
        }
    }
    line
}

/// Whether the objects of an input were laid out without knowing their program.
pub(crate) fn is_fallback(report: &Report) -> bool {
    report.dialect.as_deref() == Some(DIALECTS.fallback)
}

/// Describes an input without events of a known agent.
pub(crate) fn without_events(report: &Report) -> String {
    if report.lines == report.blank_lines {
        return "the input is empty".to_owned();
    }
    let seems = seems(report);
    let known: Vec<&str> =
        DIALECTS.rows.iter().map(|row| row.name).filter(|name| *name != DIALECTS.fallback).collect();
    let way = if report.foreign.is_none() {
        format!(" (known: {}; --from NAME if it is one of them)", known.join(", "))
    } else {
        String::new()
    };
    let how = if is_fallback(report) { "laid out as JSON objects" } else { "passed through as text" };
    format!("no events of a known agent{seems}; {how}{way}")
}

/// Describes an input whose dialect knows few of its events.
pub(crate) fn mostly_unknown(report: &Report) -> String {
    let dialect = report.dialect.as_deref().unwrap_or_default();
    let (unknown, all) = (report.unknown_events, report.events);
    format!("{unknown} of {all} events are unknown to {dialect}{}", seems(report))
}

/// Describes the items that have no place in the format of an output; `None` if there are none.
pub(crate) fn left_out(report: &Report) -> Option<String> {
    let is_some = !report.left_out.is_empty();
    is_some.then(|| {
        format!("not in the output, whose format has no place for them: {}", names(&report.left_out))
    })
}

/// Names the program that seems to have written the input.
fn seems(report: &Report) -> String {
    match report.foreign {
        None => String::new(),
        Some(ForeignProgram { name, .. }) => format!(" (the format looks like {name})"),
    }
}

fn shown(report: &Report) -> String {
    let shown = if report.shown.is_empty() { "nothing".to_owned() } else { names(&by_name(&report.shown)) };
    format!("shown: {shown}")
}

fn by_name(counts: &BTreeMap<Kind, u64>) -> BTreeMap<String, u64> {
    counts.iter().map(|(kind, count)| (kind.name().to_owned(), *count)).collect()
}

/// Names with their counts, the most frequent first.
fn names(counts: &BTreeMap<String, u64>) -> String {
    let mut sorted: Vec<_> = counts.iter().collect();
    sorted.sort_by_key(|(name, count)| (u64::MAX - **count, *name));
    let rest = sorted.len().saturating_sub(MOST_NAMES);
    let mut listed: Vec<String> =
        sorted.into_iter().take(MOST_NAMES).map(|(name, count)| format!("{count} {name}")).collect();
    if rest > 0 {
        listed.push(format!("{rest} more"));
    }
    listed.join(", ")
}

pub(crate) fn size(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = None;
    for next in units {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = Some(next);
    }
    match unit {
        None => format!("{bytes} bytes"),
        Some(unit) => format!("{value:.1} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_happened_is_told() {
        let mut total = Report::default();
        assert_eq!(lines(&total, 0), ["read: 0 lines (0 bytes), 0 events, 0 items", "shown: nothing"]);
        let one = Report {
            lines: 3,
            events: 1,
            damaged: 2,
            items: 8,
            shown: [(Kind::Call, 2), (Kind::Reply, 5)].into(),
            hidden: [("filter".to_owned(), 1)].into(),
            elided: [(Kind::Call, 1)].into(),
            dropped: 1,
            bookkeeping: [("mode".to_owned(), 3)].into(),
            unknown: [("new_type".to_owned(), 1)].into(),
            failed: true,
            ..Report::default()
        };
        add(&mut total, &one);
        add(&mut total, &one);
        assert_eq!(
            lines(&total, 4096),
            [
                "read: 6 lines (4.0 KiB), 2 events, 16 items, 4 damaged, 2 given up",
                "shown: 10 reply, 4 call",
                "hidden: 2 filter",
                "elided: 2 call",
                "bookkeeping: 6 mode",
                "unknown: 2 new_type",
                "the run ended in an error",
            ]
        );
    }

    #[test]
    fn the_most_frequent_names_are_listed_and_the_others_counted() {
        let counts = (1..=22).map(|number| (format!("n-{number:02}"), number)).collect();
        let text = names(&counts);
        assert!(text.starts_with("22 n-22, 21 n-21, ") && text.ends_with(", 3 n-03, 2 more"), "{text}");
    }
}
