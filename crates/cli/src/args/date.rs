//! Times on the command line: days of the local zone, moments, and how long ago something was.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};

/// What a time may look like.
const FORMS: &str = "expected a day (2026-11-02), a time (2026-11-02T10:00:00Z) or an age (7d, 12h, 30m)";

/// Parses the beginning of a span of time: that of a day, in the local zone.
pub(super) fn since(text: &str) -> Result<Timestamp, &'static str> {
    parse(text, &TimeZone::system(), Timestamp::now()).map(|(first, _)| first)
}

/// Parses the end of a span of time, which belongs to it: that of a day, in the local zone.
pub(super) fn until(text: &str) -> Result<Timestamp, &'static str> {
    parse(text, &TimeZone::system(), Timestamp::now()).map(|(_, last)| last)
}

/// Parses how long ago something was.
pub(super) fn age(text: &str) -> Result<SignedDuration, &'static str> {
    let wanted = "expected a number with a unit: 90d, 12h, 30m";
    let (number, unit) = text.split_at(text.len() - text.chars().next_back().map_or(0, char::len_utf8));
    let unit: i64 = match unit {
        "d" => 86_400,
        "h" => 3_600,
        "m" => 60,
        "s" => 1,
        _ => return Err(wanted),
    };
    let seconds = number.parse::<u32>().ok().and_then(|count| i64::from(count).checked_mul(unit));
    seconds.map(SignedDuration::from_secs).ok_or(wanted)
}

/// A day of a time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Day {
    /// This one.
    Date(Date),
    /// That of this moment.
    Of(Timestamp),
}

impl Day {
    /// Parses a day, or how long ago it was.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        if let Ok(age) = age(text) {
            return Ok(Self::Of(Timestamp::now().checked_sub(age).unwrap_or(Timestamp::MIN)));
        }
        let is_day = text.len() == "2026-11-02".len();
        let date = text.parse::<Date>().ok().filter(|_| is_day);
        date.map(Self::Date).ok_or("expected a day (2026-11-02) or an age (7d)")
    }

    /// Returns its first and its last moment.
    pub(crate) fn span(self, zone: &TimeZone) -> (Timestamp, Timestamp) {
        let date = match self {
            Self::Date(date) => date,
            Self::Of(moment) => zone.to_datetime(moment).date(),
        };
        day_of(date, zone).unwrap_or((Timestamp::MIN, Timestamp::MAX))
    }
}

/// Finds a time zone by its name.
pub(super) fn zone(name: &str) -> Result<TimeZone, &'static str> {
    TimeZone::get(name).map_err(|_| "expected the name of a time zone, such as Europe/Berlin or UTC")
}

/// Returns the first and the last moment of a day. `None` if it is beyond all times.
fn day_of(day: Date, zone: &TimeZone) -> Option<(Timestamp, Timestamp)> {
    let first = zone.to_timestamp(day.into()).ok()?;
    let next = day.checked_add(1.day()).and_then(|next| zone.to_timestamp(next.into()));
    let last = next.ok().and_then(|next| next.checked_sub(SignedDuration::from_nanos(1)).ok());
    Some((first, last.unwrap_or(Timestamp::MAX)))
}

/// Returns the first and the last moment of a time.
fn parse(text: &str, zone: &TimeZone, now: Timestamp) -> Result<(Timestamp, Timestamp), &'static str> {
    if let Ok(age) = age(text) {
        // Longer ago than there are times: the first one.
        let moment = now.checked_sub(age).unwrap_or(Timestamp::MIN);
        return Ok((moment, moment));
    }
    let is_day = text.len() == "2026-11-02".len();
    if let Some(day) = text.parse::<Date>().ok().filter(|_| is_day) {
        return day_of(day, zone).ok_or(FORMS);
    }
    let moment = text.parse::<Timestamp>().or_else(|error| {
        // Without an offset, it is a time of the zone.
        let is_longer = text.len() > "2026-11-02".len();
        let local = text.parse::<DateTime>().ok().filter(|_| is_longer);
        local.map_or(Err(error), |local| zone.to_timestamp(local))
    });
    moment.map(|moment| (moment, moment)).map_err(|_| FORMS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_whole_and_one_of_the_zone() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let now: Timestamp = "2026-11-27T12:00:00Z".parse().unwrap();
        let span = |text: &str| {
            let (first, last) = parse(text, &zone, now).unwrap();
            (first.to_string(), last.to_string())
        };
        let both = |first: &str, last: &str| (first.to_owned(), last.to_owned());
        assert_eq!(span("2026-11-02"), both("2026-11-01T23:00:00Z", "2026-11-02T22:59:59.999999999Z"));
        // A day of 25 hours.
        assert_eq!(span("2026-10-25"), both("2026-10-24T22:00:00Z", "2026-10-25T22:59:59.999999999Z"));
        for (text, moment) in [
            ("2026-11-02T10:00:00Z", "2026-11-02T10:00:00Z"),
            ("2026-11-02T10:00:00+02:00", "2026-11-02T08:00:00Z"),
            ("2026-11-02 10:00:00.5-00:30", "2026-11-02T10:30:00.5Z"),
            ("2026-11-02T10:00", "2026-11-02T09:00:00Z"),
            ("7d", "2026-11-20T12:00:00Z"),
            ("12h", "2026-11-27T00:00:00Z"),
        ] {
            assert_eq!(span(text), both(moment, moment), "{text}");
        }
        assert_eq!(parse("4000000000d", &zone, now).unwrap().0, Timestamp::MIN);
        for wrong in [
            "",
            "d",
            "-7d",
            "7",
            "7w",
            "2026-13-01",
            "2026-02-30",
            "yesterday",
            "20261102",
            "02.11.2026",
            "€",
        ] {
            assert_eq!(parse(wrong, &zone, now), Err(FORMS), "{wrong}");
        }
    }
}
