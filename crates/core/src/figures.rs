//! Formats figures for people: durations, sizes, counts, money.

use crate::text::Text;

/// A duration: `340ms`, `3.4s`, `42s`, `1m 42s`, `2h 5m`.
pub fn duration(ms: u64) -> Text {
    let seconds = ms / 1000;
    Text::clean_owned(match ms {
        0..1_000 => format!("{ms}ms"),
        1_000..10_000 => format!("{seconds}.{}s", ms % 1000 / 100),
        10_000..60_000 => format!("{seconds}s"),
        60_000..3_600_000 => format!("{}m {}s", seconds / 60, seconds % 60),
        _ => format!("{}h {}m", count_text(seconds / 3600), seconds / 60 % 60),
    })
}

/// A size: `812 B`, `12.3 KB`, `4.1 MB`. A kilobyte is 1024 bytes.
pub fn size(bytes: u64) -> Text {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if bytes < 1024 {
        return Text::clean_owned(format!("{bytes} B"));
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    // 1023.95 would be written as 1024.0.
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    Text::clean_owned(format!("{value:.1} {}", UNITS[unit]))
}

/// A whole number: `1,234`.
pub fn count(number: u64) -> Text {
    Text::clean_owned(count_text(number))
}

/// A number of things: `1 file`, `1,234 files`.
pub fn count_of(number: u64, one: &str, many: &str) -> Text {
    let mut text = count_text(number);
    text.push(' ');
    text.push_str(if number == 1 { one } else { many });
    Text::clean_owned(text)
}

/// Whether `text` is a possible result of [`count_of`] for these words.
pub fn is_count_of(text: &str, one: &str, many: &str) -> bool {
    let number = text.rsplit_once(' ').filter(|(_, word)| [one, many].contains(word));
    number.is_some_and(|(number, _)| number.bytes().all(|byte| byte.is_ascii_digit() || byte == b','))
}

fn count_text(number: u64) -> String {
    let digits = number.to_string();
    if digits.len() <= 3 {
        return digits;
    }
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number of tokens, rounded down: `812`, `32k`, `1.2M`.
pub fn tokens(number: u64) -> Text {
    Text::clean_owned(match number {
        0..1_000 => number.to_string(),
        1_000..10_000 => format!("{}.{}k", number / 1000, number % 1000 / 100),
        10_000..1_000_000 => format!("{}k", number / 1000),
        _ => format!("{}.{}M", count_text(number / 1_000_000), number % 1_000_000 / 100_000),
    })
}

/// A time, from the seconds since 1970: `2025-07-01 14:00 UTC`. `None` if it is out of range.
pub fn moment(seconds: i64) -> Option<Text> {
    let time = jiff::Timestamp::from_second(seconds).ok()?;
    Some(Text::clean_owned(time.strftime("%Y-%m-%d %H:%M UTC").to_string()))
}

/// An amount in dollars, with more digits if it is small: `$12.40`, `$0.31`, `$0.0312`. `None` if it is negative, too large or not a
/// number.
pub fn money(dollars: f64) -> Option<Text> {
    if !(0.0..1e12).contains(&dollars) {
        return None;
    }
    Some(Text::clean_owned(if dollars == 0.0 {
        "$0".to_owned()
    } else if dollars < 0.0001 {
        "<$0.0001".to_owned()
    } else if dollars < 0.0995 {
        let parts = rounded(dollars * 10_000.0);
        // `$0.01`, but `$0.0312`.
        if parts.is_multiple_of(100) { format!("$0.{:02}", parts / 100) } else { format!("$0.{parts:04}") }
    } else {
        let cents = rounded(dollars * 100.0);
        format!("${}.{:02}", cents / 100, cents % 100)
    }))
}

/// The nearest whole number, which is formatted many times faster than a fraction.
#[expect(clippy::cast_sign_loss, reason = "amounts of money aren't negative")]
fn rounded(amount: f64) -> u64 {
    amount.round_ties_even() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(texts: &[Text]) -> String {
        texts.iter().map(Text::as_str).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn figures_read_well_at_every_size() {
        let durations = [0, 340, 3_456, 42_999, 102_000, 7_500_000].map(duration);
        assert_eq!(joined(&durations), "0ms, 340ms, 3.4s, 42s, 1m 42s, 2h 5m");
        assert_eq!(joined(&[812, 12_595, 1_048_575, 4_299_161].map(size)), "812 B, 12.3 KB, 1.0 MB, 4.1 MB");
        assert_eq!(joined(&[0, 999, 1_234, 1_234_567].map(count)), "0, 999, 1,234, 1,234,567");
        assert_eq!(count_of(1, "file", "files").as_str(), "1 file");
        assert_eq!(joined(&[812, 1_999, 32_100, 1_250_000].map(tokens)), "812, 1.9k, 32k, 1.2M");
        let amounts = [0.0, 0.000_01, 0.0312, 0.01, 0.31, 12.4].map(|dollars| money(dollars).unwrap());
        assert_eq!(joined(&amounts), "$0, <$0.0001, $0.0312, $0.01, $0.31, $12.40");
        assert_eq!(moment(1_751_378_400).unwrap().as_str(), "2025-07-01 14:00 UTC");
        assert_eq!(moment(i64::MAX), None);
        assert_eq!([-1.0, f64::NAN, f64::INFINITY].map(money), [None, None, None]);
    }
}
