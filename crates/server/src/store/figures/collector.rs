//! Collects the figures of a session, item by item.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use streamfmt::core::event::{Usage, UsageDetails};
use streamfmt::core::item::{AnswerClaim, FactRef, Id, Item, Kind, TurnStep};
use streamfmt::core::observer::Observer;
use streamfmt::core::pipeline::{Pipeline, Setup};
use streamfmt::core::session::Session;
use streamfmt::core::session::counted::{CountedFrom, Counting, MAX_NAME, SpentSoFar, SumCounter, count_of};
use streamfmt::core::text::Text;
use streamfmt::dialect::DIALECTS;
use streamfmt::formatter::first_sentence;

use super::super::record::SessionRun;
use super::copies::{CountedElsewhere, MessageCollector};
use super::ledger::LedgerCollector;
use super::{ReadSession, SessionFigures, SessionOutcome};
use crate::side_file::SessionStatus;

/// The longest title, in characters.
const MAX_TITLE: usize = 200;
/// The most bytes that are kept of a text for a title.
const MAX_TITLE_SOURCE: usize = 4 * 1024;
/// The longest response that is kept, in bytes.
const MAX_RESPONSE: usize = 4 << 20;

/// Collects the figures of a session while it is read, also for another purpose.
#[derive(Clone, Debug, Default)]
pub struct FiguresCollector(Arc<Mutex<Collected>>);

#[derive(Debug, Default)]
struct Collected {
    figures: SessionFigures,
    /// Whether the times of all items are collected.
    has_times: bool,
    first_at: Option<Timestamp>,
    last_at: Option<Timestamp>,
    /// Whether somebody asked something, or the agent said something.
    was_asked: bool,
    /// Whether the most recent event was a user interrupt.
    was_interrupted: bool,
    /// The times and messages that are counted for other sessions.
    elsewhere: CountedElsewhere,
    /// The figures at the start of the current one of these times, if there is one.
    left: Option<SpentSoFar>,
    /// The figures of these times, and of a copy.
    spent_elsewhere: SpentSoFar,
    messages: MessageCollector,
    /// The agent's own id of the session that started this one as a sub-agent.
    started_by: Option<String>,
    /// The tokens of the copy with which the session begins.
    copied: Option<Usage>,
    /// The beginning of the user's first prompt, and of the first reply.
    prompt: Option<String>,
    reply: Option<String>,
    /// The item that may be the answer of the turn, and that of the turn before in a history.
    answer: Option<(AnswerClaim, Box<Item>)>,
    last_answer: Option<Box<Item>>,
    /// The sums of the outcomes.
    sums: SumCounter,
    /// The agent's session id, from the first item.
    session: Option<String>,
    /// The entries, if they are collected.
    ledger: Option<LedgerCollector>,
    /// The turns of a history.
    turns: TurnTimes,
    /// Calls that failed.
    failed: u64,
}

/// How long the turns of a history took.
#[derive(Clone, Copy, Debug, Default)]
struct TurnTimes {
    count: u64,
    /// The sum of those before this one, in milliseconds.
    before: i64,
    /// The times of the first and the last item of this one, in milliseconds since 1970.
    first: Option<i64>,
    last: i64,
}

impl TurnTimes {
    fn begin(&mut self, at: Option<Timestamp>) {
        *self = Self {
            count: self.count + 1,
            before: self.so_far(),
            first: at.map(Timestamp::as_millisecond),
            last: 0,
        };
    }

    fn so_far(&self) -> i64 {
        let now = self.first.map_or(0, |first| self.last.saturating_sub(first).max(0));
        self.before.saturating_add(now)
    }

    fn milliseconds(&self) -> u64 {
        self.so_far().unsigned_abs()
    }
}

impl FiguresCollector {
    /// A collector for a file that is read only for its figures, with times. Parts that are counted elsewhere aren't counted.
    pub(super) fn of_file(elsewhere: CountedElsewhere) -> Self {
        Self(Arc::new(Mutex::new(Collected {
            has_times: true,
            elsewhere,
            ledger: Some(LedgerCollector::default()),
            ..Collected::default()
        })))
    }

    /// A collector that watches the session of a pipeline. `has_ledger`: whether it collects its entries as well.
    pub fn watching(setup: &mut Setup, has_ledger: bool) -> Self {
        let ledger = has_ledger.then(LedgerCollector::default);
        let collector = Self(Arc::new(Mutex::new(Collected { ledger, ..Collected::default() })));
        setup.observers.push(Box::new(collector.clone()));
        collector
    }

    /// Returns the session so far. `pipeline`: the one that feeds this collector. After the end of its input, the figures are final.
    pub fn so_far(&self, pipeline: &Pipeline) -> ReadSession {
        let session = pipeline.session();
        let (facts, totals) = (session.facts(), session.totals());
        let collected = self.collected();
        let named = |text: &Option<Text>| {
            text.as_ref().filter(|text| text.len() <= MAX_NAME).map(|text| text.as_str().to_owned())
        };
        let given_title = facts.title.as_deref().and_then(title_of);
        let title = given_title.clone().or_else(|| collected.prompt.as_deref().and_then(title_of));
        let is_stream = pipeline.report().awaits_outcome;
        let mut figures = collected.figures.clone();
        let run = SessionRun {
            agent: pipeline.report().dialect.as_deref().map(str::to_owned),
            agent_session: named(&facts.session).or_else(|| collected.session.clone()),
            parent_session: named(&facts.resumes).or_else(|| collected.started_by.clone()),
            model: named(&facts.model),
            folder: named(&facts.cwd),
            title: title.or_else(|| collected.reply.as_deref().and_then(title_of_reply)),
            ended: collected.last_at,
            status: match figures.outcome {
                _ if collected.was_interrupted => SessionStatus::Interrupted,
                Some(SessionOutcome::Error(_)) => SessionStatus::Failed,
                None if !collected.was_asked && !is_stream => SessionStatus::Empty,
                _ => SessionStatus::Done,
            },
            ..SessionRun::default()
        };
        let now = SpentSoFar::of(session);
        let mut spent = now.less(collected.spent_elsewhere);
        if let Some(left) = collected.left {
            spent = spent.less(now.less(left));
        }
        let copied = if collected.messages.is_in_copy { Some(now.usage) } else { collected.copied };
        if collected.messages.is_in_copy {
            // Nothing but a copy.
            spent = SpentSoFar::default();
        }
        figures.messages = collected.messages.messages.clone();
        if figures.outcome.is_none() && !collected.messages.is_in_copy && !is_stream {
            let answer = collected.answer.as_ref().map(|(_, answer)| answer);
            figures.answer = answer.or(collected.last_answer.as_ref()).map(|answer| text_of_answer(answer));
        }
        // A history has neither: its prompts, and the time from each to the last item before the next one.
        let is_counted = figures.outcome.is_none() && !is_stream && collected.has_times;
        let counted =
            |count: u64| (is_counted && count > 0 && !collected.messages.is_in_copy).then_some(count);
        figures.num_turns = totals.turns.map(|_| spent.turns).or_else(|| counted(collected.turns.count));
        figures.duration_ms =
            totals.duration_ms.map(|_| spent.duration_ms).or_else(|| counted(collected.turns.milliseconds()));
        figures.failed_calls = (!figures.calls.is_empty()).then_some(collected.failed);
        figures.cost_usd = totals.cost_usd.map(|_| spent.cost_usd);
        figures.api_ms = collected.sums.api_ms();
        let dialect = run.agent.as_deref().and_then(|name| DIALECTS.find(name));
        let counting = dialect.map_or(Counting::Own, |dialect| dialect.counting);
        let by_model = collected.sums.by_model(counting);
        (figures.usage, figures.counted_from) = by_model.unwrap_or_else(|| {
            let model = run.model.as_deref().unwrap_or("unknown");
            let of_model = |usage: Usage| BTreeMap::from([(model.to_owned(), usage)]);
            let usage = Some(spent.usage).filter(|usage| *usage != Usage::default());
            // A sub-agent doesn't count what its parent did.
            let is_sub_agent = facts.resumes.is_none() && collected.started_by.is_some();
            let from = match copied {
                Some(copied) => CountedFrom::Session(of_model(copied)),
                None if figures.outcome.is_some() && counting == Counting::Usage && !is_sub_agent => {
                    CountedFrom::Either(BTreeMap::new())
                }
                None => CountedFrom::Start,
            };
            (usage.map(of_model).unwrap_or_default(), from)
        });
        figures.tokens =
            figures.usage.values().copied().reduce(|sum, usage| sum.combined(usage, u64::saturating_add));
        let copied_to = copied.and(collected.messages.copied_to);
        let ledger = collected
            .ledger
            .as_ref()
            .map(|it| it.ledger(totals.prompts, is_stream && figures.outcome.is_some()));
        let ledger = ledger.unwrap_or_default();
        ReadSession {
            run,
            figures,
            ledger,
            given_title,
            first_at: collected.first_at,
            copied_to,
            damage: None,
        }
    }

    fn collected(&self) -> MutexGuard<'_, Collected> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for FiguresCollector {
    fn needs_usage_details(&self) -> bool {
        self.collected().ledger.is_some()
    }

    fn usage(&mut self, message: &Id, usage: Usage, details: &UsageDetails, session: &Session) {
        if let Some(ledger) = &mut self.collected().ledger {
            ledger.usage(message, usage, details, session);
        }
    }

    fn item(&mut self, item: &Item, session: &Session) {
        let mut collected = self.collected();
        if let Some(ledger) = &mut collected.ledger {
            ledger.item(item);
        }
        let Collected { messages, elsewhere, .. } = &mut *collected;
        let is_own = messages.take(item, session, &elsewhere.messages);
        if is_own || item.is_event("origin-end") {
            collected.begin_own(session);
        }
        if item.is_repeated() {
            // Somebody asked, though in another session.
            collected.was_asked |= matches!(item.kind, Kind::Prompt | Kind::Reply);
        } else if !collected.is_elsewhere(item, session) {
            collected.take(item);
        }
    }
}

impl Collected {
    /// Whether an item was added while the session was continued elsewhere. An item without a time belongs with the one before it.
    fn is_elsewhere(&mut self, item: &Item, session: &Session) -> bool {
        if let Some(at) = item.at().filter(|_| !self.elsewhere.times.is_empty()) {
            let is_elsewhere = self.elsewhere.times.iter().any(|times| times.contains(&at));
            match self.left {
                None if is_elsewhere => self.left = Some(SpentSoFar::of(session)),
                Some(left) if !is_elsewhere => {
                    self.left = None;
                    self.spent_elsewhere = self.spent_elsewhere.plus(SpentSoFar::of(session).less(left));
                }
                _ => {}
            }
        }
        self.left.is_some()
    }

    /// Leaves out all that has come: it is a copy of another session.
    fn begin_own(&mut self, session: &Session) {
        self.copied = Some(session.usage());
        self.spent_elsewhere = SpentSoFar::of(session);
        self.left = None;
        (self.prompt, self.reply) = (None, None);
        (self.answer, self.last_answer) = (None, None);
        (self.first_at, self.figures.outcome) = (None, None);
        self.figures.calls.clear();
        (self.turns, self.failed) = (TurnTimes::default(), 0);
    }

    fn take(&mut self, item: &Item) {
        if self.has_times
            && let Some(at) = item.at()
        {
            self.first_at = Some(self.first_at.map_or(at, |first| first.min(at)));
            self.last_at = Some(self.last_at.map_or(at, |last| last.max(at)));
        }
        if self.session.is_none() {
            self.session = item.session.as_deref().filter(|id| id.len() <= MAX_NAME).map(str::to_owned);
        }
        self.note_answer(item);
        let at = item.at();
        if item.kind == Kind::Prompt && item.parent.is_none() {
            self.turns.begin(at);
        }
        if let Some(at) = at {
            self.turns.last = self.turns.last.max(at.as_millisecond());
        }
        match item.kind {
            Kind::Result if item.error && item.fact("again").is_none() => self.failed += 1,
            Kind::Call => {
                self.was_asked |= item.parent.is_none();
                *count_of(&mut self.figures.calls, item.tool.as_deref().unwrap_or("unknown")) += 1;
            }
            Kind::Outcome => self.settle(item),
            _ if item.parent.is_some() => {}
            Kind::Prompt => {
                (self.was_interrupted, self.was_asked) = (false, true);
                if self.prompt.is_none() {
                    let words = item.fact("words").and_then(FactRef::str).map(|words| cut(&words));
                    let words = words.unwrap_or_else(|| cut(&item.text()));
                    self.prompt = Some(words).filter(|words| !words.trim().is_empty());
                }
            }
            Kind::Reply => {
                (self.was_interrupted, self.was_asked) = (false, true);
                if self.reply.is_none() {
                    self.reply = Some(cut(&item.text())).filter(|words| !words.trim().is_empty());
                }
            }
            Kind::Notice => {
                let event = item.fact("event").and_then(FactRef::str);
                match event.as_deref() {
                    Some("interrupt") => self.was_interrupted = true,
                    Some("session") if self.started_by.is_none() => {
                        let parent = item.fact("parent").and_then(FactRef::str);
                        self.started_by =
                            parent.filter(|id| id.len() <= MAX_NAME).map(std::borrow::Cow::into_owned);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// Notes what an item means for the answer of the turn.
    fn note_answer(&mut self, item: &Item) {
        let claimed = self.answer.as_ref().map(|(claim, _)| *claim);
        match TurnStep::of(item) {
            TurnStep::Claim(claim) if claimed <= Some(claim) => {
                self.answer = Some((claim, Box::new(item.as_answer().unwrap_or_else(|| item.clone()))));
            }
            TurnStep::Refused if claimed == Some(AnswerClaim::Structured) => self.answer = None,
            TurnStep::Stop => (self.answer, self.last_answer) = (None, None),
            // In a history, a turn ends with the next prompt. A stream may have one within a turn, whose answer follows.
            TurnStep::Prompt => {
                if let Some((claim, answer)) = &mut self.answer {
                    *claim = AnswerClaim::Reply;
                    self.last_answer = Some(answer.clone());
                }
            }
            _ => {}
        }
    }

    /// Adds an outcome.
    fn settle(&mut self, outcome: &Item) {
        self.was_interrupted = outcome.fact("cause").and_then(FactRef::str).as_deref() == Some("interrupted");
        let answer = self.answer.take();
        self.figures.outcome = Some(if outcome.error {
            SessionOutcome::Error(error_of(outcome, &outcome.text()))
        } else {
            let has_text = !outcome.text().trim().is_empty();
            let structured = outcome.fact("structured").and_then(FactRef::value);
            SessionOutcome::Response(match (structured, answer) {
                (_, Some((AnswerClaim::Final, answer))) => text_of_answer(&answer),
                (Some(value), _) => cut_at(value.raw(), MAX_RESPONSE).to_owned(),
                (None, Some((claim, answer))) if !has_text || claim == AnswerClaim::Structured => {
                    text_of_answer(&answer)
                }
                _ => text_of_answer(outcome),
            })
        });
        self.sums.settle(outcome);
    }
}

/// Returns the text of an answer.
fn text_of_answer(answer: &Item) -> String {
    cut_at(&answer.text(), MAX_RESPONSE).to_owned()
}

/// Returns the error message of an outcome, which is never empty.
fn error_of(outcome: &Item, text: &str) -> String {
    let errors = outcome.fact("errors").map(FactRef::list).unwrap_or_default();
    let errors: Vec<_> = errors.into_iter().filter_map(FactRef::str).collect();
    let listed = errors.join("\n");
    let subtype = outcome.fact("subtype").and_then(FactRef::str).unwrap_or_default();
    let found = [text, &listed, &subtype].into_iter().find(|text| !text.trim().is_empty());
    cut_at(found.unwrap_or("error"), MAX_RESPONSE).to_owned()
}

/// Returns the title for a task: its first line with any words.
pub(in super::super) fn title_of(task: &str) -> Option<String> {
    let line = task.lines().map(str::trim).find(|line| line.chars().any(char::is_alphanumeric))?;
    Some(match line.char_indices().nth(MAX_TITLE) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line.to_owned(),
    })
}

/// Returns the title for a reply: its first sentence.
fn title_of_reply(reply: &str) -> Option<String> {
    let first = first_sentence(&Text::clean(reply)).map(|(first, _)| first.as_str().to_owned());
    title_of(first.as_deref().unwrap_or(reply))
}

/// Cuts a text to the length that a title needs.
fn cut(text: &str) -> String {
    cut_at(text, MAX_TITLE_SOURCE).to_owned()
}

/// Cuts a text to at most this many bytes.
fn cut_at(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::super::FigureReader;
    use super::*;

    fn read(stream: &str) -> ReadSession {
        let mut reader = FigureReader::of_part();
        reader.read(stream.as_bytes()).unwrap();
        reader.finish()
    }

    #[test]
    fn a_long_id_model_or_folder_is_unknown_and_a_long_name_of_a_tool_is_cut() {
        for (length, is_kept) in [(1_024, true), (1_025, false)] {
            let name = "n".repeat(length);
            let ReadSession { run, figures: found, .. } = read(&format!(
                r#"{{"type":"system","subtype":"init","session_id":"{name}","model":"{name}","cwd":"{name}","tools":[]}}
{{"type":"assistant","message":{{"id":"m-1","role":"assistant","content":[{{"type":"tool_use","id":"t-1","name":"{name}","input":{{}}}}]}},"session_id":"{name}"}}
"#
            ));
            let kept = is_kept.then(|| name.clone());
            assert_eq!(
                (run.agent_session, run.model, run.folder),
                (kept.clone(), kept.clone(), kept),
                "{length}"
            );
            assert_eq!(found.calls, BTreeMap::from([("n".repeat(1_024), 1)]), "{length}");
        }
    }

    #[test]
    fn tools_and_models_beyond_the_first_thousand_count_as_others() {
        let (mut lines, mut models) = (Vec::new(), Vec::new());
        for number in 0..1_003 {
            lines.push(format!(
                r#"{{"type":"assistant","message":{{"id":"m-{number}","role":"assistant","content":[{{"type":"tool_use","id":"t-{number}","name":"tool-{number:04}","input":{{}}}}]}},"session_id":"s-1"}}"#
            ));
            models.push(format!(r#""model-{number:04}":{{"inputTokens":2,"outputTokens":1}}"#));
        }
        let ReadSession { figures: found, .. } = read(&format!(
            r#"{}
{{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"Done.","session_id":"s-1","modelUsage":{{{}}}}}
"#,
            lines.join("\n"),
            models.join(",")
        ));
        assert_eq!((found.calls.len(), found.calls["tool-0999"], found.calls["others"]), (1_001, 1, 3));
        assert_eq!((found.usage.len(), found.usage["model-0999"].input), (1_001, 2));
        assert_eq!(
            (found.usage["others"].input, found.tokens.unwrap().input),
            (6, 2_006),
            "no token is lost"
        );
    }

    #[test]
    fn a_title_is_looked_for_near_the_start_and_cut_and_an_answer_is_cut_at_four_mebibytes() {
        let titles = [
            ("é".repeat(200), Some("é".repeat(200))),
            ("é".repeat(201), Some("é".repeat(200) + "…")),
            ("-\n".repeat(2_047) + "ok", Some("ok".to_owned())),
            ("-\n".repeat(2_048) + "ok", None),
        ];
        for (text, title) in titles {
            assert_eq!(title_of(&cut(&text)), title, "{} bytes", text.len());
        }
        let answer = |length: usize| {
            let text = "é".repeat(length / 2);
            let line = r#"{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"TEXT","session_id":"s-1"}"#;
            let Some(SessionOutcome::Response(answer)) =
                read(&(line.replace("TEXT", &text) + "\n")).figures.outcome
            else {
                panic!("{length}")
            };
            answer.len()
        };
        assert_eq!([4 << 20, (4 << 20) + 2].map(answer), [4 << 20; 2]);
    }

    #[test]
    fn messages_beyond_those_that_are_remembered_are_counted() {
        let mut reader = FigureReader::of_part();
        reader.collector.collected().messages.messages.all = vec![0; 65_535];
        for number in 1..=3 {
            let line = format!(
                r#"{{"type":"assistant","sessionId":"s-1","cwd":"/","version":"2.1.0","uuid":"r-{number}","parentUuid":null,"isSidechain":false,"timestamp":"2026-11-20T09:00:0{number}.000Z","message":{{"id":"m-{number}","role":"assistant","model":"model-1","content":[{{"type":"text","text":"Done."}}],"usage":{{"input_tokens":5,"output_tokens":1}}}}}}"#
            );
            reader.read((line + "\n").as_bytes()).unwrap();
        }
        let found = reader.finish().figures;
        assert_eq!((found.messages.all.len(), found.tokens.unwrap().input), (65_536, 15));
    }
}
