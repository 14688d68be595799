//! The id of a run.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::str::FromStr;

use jiff::civil::DateTime;
use jiff::{Timestamp, tz::TimeZone};
use serde::{Deserialize, Serialize};

/// The characters of the random part, without characters that look alike.
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// The length of the random part.
const RANDOM: usize = 6;

/// The id of a run: its start time in UTC and six random characters. It sorts by time and consists of digits, letters and `-`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(String);

impl RunId {
    /// The number of its characters.
    pub(crate) const LENGTH: usize = "20261123-224103-".len() + RANDOM;

    /// Creates a new id for a run that starts at this time.
    pub fn new(started: Timestamp) -> Self {
        // Each state has new keys from the system's random source.
        Self::with(started, RandomState::new().hash_one((std::process::id(), started.as_nanosecond())))
    }

    /// Returns the id of a session that already has a name. It is the same for the same name and time.
    pub(crate) fn of(started: Timestamp, name: &str) -> Self {
        // FNV-1a, which never changes.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self::with(started, hash ^ (hash >> 32))
    }

    /// Returns another id of the same time.
    pub(crate) fn beside(&self, random: u64) -> Self {
        Self::of_time(format!("{}-", Self::time_of(&self.0)), random)
    }

    fn with(started: Timestamp, random: u64) -> Self {
        let time = started.to_zoned_datetime(TimeZone::UTC).strftime("%Y%m%d-%H%M%S-");
        Self::of_time(time.to_string(), random)
    }

    fn of_time(mut name: String, mut random: u64) -> Self {
        for _ in 0..RANDOM {
            name.push(char::from(LETTERS[(random % 32) as usize]));
            random /= 32;
        }
        Self(name)
    }

    /// Returns the part of an id that is its time.
    pub(crate) fn time_of(id: &str) -> &str {
        id.rsplit_once('-').map_or(id, |(time, _)| time)
    }

    /// Returns the time at which the run started, to the second.
    pub(crate) fn started(&self) -> Timestamp {
        let time = DateTime::strptime("%Y%m%d-%H%M%S", Self::time_of(&self.0));
        time.and_then(|time| TimeZone::UTC.to_timestamp(time)).unwrap_or_default()
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RunId {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.split('-');
        let digits = |part: Option<&str>, count| {
            part.is_some_and(|part| part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let is_random = |part: &str| part.len() == RANDOM && part.bytes().all(|byte| LETTERS.contains(&byte));
        let is_sound =
            digits(parts.next(), 8) && digits(parts.next(), 6) && parts.next().is_some_and(is_random);
        if is_sound && parts.next().is_none() {
            Ok(Self(text.to_owned()))
        } else {
            Err("not the id of a session")
        }
    }
}

impl TryFrom<String> for RunId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_its_time_and_six_characters_and_never_a_path() {
        let time: Timestamp = "2026-11-23T22:41:03.5Z".parse().unwrap();
        let id = RunId::new(time);
        assert!(id.as_str().starts_with("20261123-224103-"), "{id}");
        assert_eq!(id.as_str().parse(), Ok(id.clone()));
        assert_ne!(RunId::new(time), id);
        assert_eq!(id.started().to_string(), "2026-11-23T22:41:03Z");
        let odd: RunId = "99999999-999999-aaaaaa".parse().unwrap();
        assert_eq!(odd.started(), Timestamp::UNIX_EPOCH);
        for other in [
            "",
            "../../etc/passwd",
            "20261123-224103-../../",
            "20261123-224103-abcdef-",
            "20261123-224103-ABCDEF",
        ] {
            assert!(other.parse::<RunId>().is_err(), "{other}");
        }
    }
}
