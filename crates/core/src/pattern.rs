//! Regular expressions whose work is counted and bounded, for patterns of users that are applied to texts of others.
//!
//! A search takes time in proportion to the bytes that it scans. But the many searches of one text may each scan it to its end, and a
//! pattern may need a new state of its automaton for each byte. So a lazily built automaton goes ahead of each search, and what it scans
//! and builds is taken from a [`ScanBudget`].

use std::sync::{Arc, Mutex, PoisonError};

use regex::bytes::{Captures, Match, Regex, RegexBuilder};
use regex_automata::Input;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;

/// How many bytes are scanned between two looks at the automaton's memory.
const BETWEEN: usize = 64;
/// How much the budget of a text grows by each of its bytes.
const OF_BYTE: u64 = 64;
/// The least budget of a text.
const LEAST: u64 = 4 << 20;
/// What a byte costs that only a slower engine can scan: a word boundary after a character that isn't ASCII needs it.
const SLOW: u64 = 16;
/// How many states of the automaton cost as much as a byte where the groups of a match are found.
const STATES: usize = 8;

/// How much work searches may still do: about one unit for each byte scanned.
#[derive(Debug)]
pub struct ScanBudget {
    left: u64,
}

impl ScanBudget {
    /// A budget of so many units.
    pub fn new(units: u64) -> Self {
        Self { left: units }
    }

    /// The budget of all searches of a text of this length. Only patterns that scan the text again and again exceed it.
    pub fn of_text(length: usize) -> Self {
        Self::new((length as u64).saturating_mul(OF_BYTE).saturating_add(LEAST))
    }

    /// What is left of it.
    pub fn left(&self) -> u64 {
        self.left
    }

    fn spend(&mut self, units: u64) -> Result<(), ScanOverrun> {
        let left = self.left.checked_sub(units);
        self.left = left.unwrap_or(0);
        left.map(drop).ok_or(ScanOverrun)
    }
}

/// A search would have exceeded its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanOverrun;

/// A regular expression whose work is counted.
#[derive(Clone, Debug)]
pub struct CountedRegex {
    regex: Regex,
    /// `None` if the automaton would be too large.
    automaton: Option<Arc<Automaton>>,
}

#[derive(Debug)]
struct Automaton {
    dfa: DFA,
    cache: Mutex<Cache>,
}

impl CountedRegex {
    /// Compiles a pattern in the syntax of the `regex` crate, within so many bytes. The error is a one-line message.
    pub fn new(pattern: &str, most_compiled: usize) -> Result<Self, String> {
        let built =
            RegexBuilder::new(pattern).size_limit(most_compiled).dfa_size_limit(most_compiled).build();
        let regex = built.map_err(|error| one_line(&error))?;
        let config = DFA::config()
            .cache_capacity(most_compiled)
            .skip_cache_capacity_check(true)
            .unicode_word_boundary(true);
        let dfa = DFA::builder()
            .configure(config)
            .syntax(syntax::Config::new().utf8(false))
            .thompson(thompson::Config::new().utf8(false).nfa_size_limit(Some(4 * most_compiled)))
            .build(pattern);
        let automaton = dfa.ok().map(|dfa| {
            let cache = Mutex::new(dfa.create_cache());
            Arc::new(Automaton { dfa, cache })
        });
        Ok(Self { regex, automaton })
    }

    /// The pattern.
    pub fn as_str(&self) -> &str {
        self.regex.as_str()
    }

    /// The expression itself, whose work isn't counted.
    pub fn regex(&self) -> &Regex {
        &self.regex
    }

    /// The first match from `at` on.
    pub fn find_at<'t>(
        &self,
        text: &'t [u8],
        at: usize,
        budget: &mut ScanBudget,
    ) -> Result<Option<Match<'t>>, ScanOverrun> {
        let may_match = if let Some(automaton) = &self.automaton {
            automaton.scan(text, at, budget)?
        } else {
            budget.spend((text.len().saturating_sub(at)) as u64 * SLOW)?;
            true
        };
        Ok(if may_match { self.regex.find_at(text, at) } else { None })
    }

    /// The first match from `at` on, with its groups.
    pub fn captures_at<'t>(
        &self,
        text: &'t [u8],
        at: usize,
        budget: &mut ScanBudget,
    ) -> Result<Option<Captures<'t>>, ScanOverrun> {
        let Some(found) = self.find_at(text, at, budget)? else { return Ok(None) };
        if self.regex.captures_len() > 1 {
            let states =
                self.automaton.as_ref().map_or(STATES, |automaton| automaton.dfa.get_nfa().states().len());
            budget.spend((found.len() * (1 + states / STATES)) as u64)?;
        }
        Ok(self.regex.captures_at(text, found.start()))
    }
}

/// The message of an error about a pattern, without the pattern.
pub(crate) fn one_line(error: &impl ToString) -> String {
    let text = error.to_string();
    text.lines().last().unwrap_or("not a pattern").trim().trim_start_matches("error: ").to_owned()
}

impl Automaton {
    /// Scans as far as a search from `at` on does. Whether there may be a match.
    fn scan(&self, text: &[u8], at: usize, budget: &mut ScanBudget) -> Result<bool, ScanOverrun> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let cache = &mut *cache;
        let Some(rest) = text.get(at..) else { return Ok(false) };
        let slow = |budget: &mut ScanBudget, bytes: usize| budget.spend(bytes as u64 * SLOW).map(|()| true);
        let Ok(mut state) = self.dfa.start_state_forward(cache, &Input::new(text).range(at..)) else {
            return slow(budget, rest.len());
        };
        let mut has_match = false;
        let mut built = self.built(cache);
        for (index, part) in rest.chunks(BETWEEN).enumerate() {
            for byte in part {
                let Ok(next) = self.dfa.next_state(cache, state, *byte) else {
                    return slow(budget, rest.len() - index * BETWEEN);
                };
                state = next;
                if state.is_tagged() {
                    has_match |= state.is_match();
                    if state.is_dead() {
                        return budget.spend(part.len() as u64).map(|()| has_match);
                    }
                    if state.is_quit() {
                        return slow(budget, rest.len() - index * BETWEEN);
                    }
                }
            }
            let now = self.built(cache);
            budget.spend((part.len() + now.saturating_sub(built)) as u64)?;
            built = now;
        }
        let last = self.dfa.next_eoi_state(cache, state);
        Ok(has_match || last.is_ok_and(|state| state.is_match()))
    }

    /// How many bytes of states it has built so far.
    fn built(&self, cache: &Cache) -> usize {
        cache.memory_usage() + cache.clear_count() * self.dfa.get_config().get_cache_capacity()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;

    /// The number of matches within the text's budget.
    fn matches(pattern: &str, text: &str) -> Result<usize, ScanOverrun> {
        let regex = CountedRegex::new(pattern, 128 << 10).unwrap();
        let mut budget = ScanBudget::of_text(text.len());
        let (mut at, mut count) = (0, 0);
        while let Some(found) = regex.captures_at(text.as_bytes(), at, &mut budget)? {
            let end = found.get(0).unwrap().end();
            at = end.max(at + 1);
            count += 1;
        }
        Ok(count)
    }

    #[test]
    fn many_searches_are_within_the_budget_unless_each_scans_to_the_end() {
        let words = "ACME-x ".repeat(20_000);
        assert_eq!(matches("ACME-([a-z]+)", &words), Ok(20_000));
        assert_eq!(matches(r"\bACME-\w+\b", &words), Ok(20_000));
        assert_eq!(matches(r"ACME-[a-z]+(?:[^\n]*END)?", &words), Err(ScanOverrun));
        let lines = words.replace(' ', " \n");
        assert_eq!(matches(r"ACME-[a-z]+(?:[^\n]*END)?", &lines), Ok(20_000));
        assert_eq!(matches(".*[^A-Z]|[A-Z]", &"A".repeat(200_000)), Err(ScanOverrun));
        let mut seed = 1_u32;
        let drawn = std::iter::repeat_with(|| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if seed >> 31 == 0 { 'a' } else { 'b' }
        });
        let drawn: String = drawn.take(20_000).collect();
        assert_eq!(matches("(?:[ab]{1,20}a){1,20}c", &drawn), Err(ScanOverrun), "a state for each byte");
    }

    /// Patterns, each in this implementation and in the library's.
    static BOTH_WAYS: LazyLock<Vec<(&str, CountedRegex, Regex)>> = LazyLock::new(|| {
        let patterns = [r"\ba+", "a.*b|1", "(?s)a.*?b", "^b", r"1\b", r"\w+$", "(a)|(b)", r"[^é]é"];
        let both =
            |pattern| (pattern, CountedRegex::new(pattern, 128 << 10).unwrap(), Regex::new(pattern).unwrap());
        patterns.map(both).into()
    });

    proptest! {
        #[test]
        fn the_same_is_found_as_without_counting(text in "[ab1é \n]{0,30}", at in 0..10_usize) {
            for (pattern, counted, plain) in &*BOTH_WAYS {
                let found = counted.captures_at(text.as_bytes(), at.min(text.len()), &mut ScanBudget::new(u64::MAX)).unwrap();
                let want = plain.captures_at(text.as_bytes(), at.min(text.len()));
                let ranges = |found: Option<Captures<'_>>| found.map(|found| {
                    found.iter().map(|part| part.map(|part| part.range())).collect::<Vec<_>>()
                });
                prop_assert_eq!(ranges(found), ranges(want), "{}", pattern);
            }
        }
    }
}
