//! What a session used, entry by entry: each request to a model, each call of a tool, and each prompt.
//!
//! The files of sessions repeat each other's lines, so sums of sessions can't be added up. Entries can: each has a key that its copies have, too.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use streamfmt::core::event::{Usage, UsageDetails};
use streamfmt::core::hash::{Map, hash};
use streamfmt::core::item::{FactRef, Id, Item, Kind};
use streamfmt::core::session::Session;
use streamfmt::side_files::side_files_below;
use streamfmt::unpack::UnpackedReader;

use super::super::sql::DatabaseSession;
use super::{FIRST, FigureReader};

/// The most entries of a kind. What is beyond is added to one more entry for each model or tool.
const MOST_ENTRIES: usize = 1 << 18;
/// The most US dollars that are taken for a cost.
pub(in super::super) const MOST_COST: f64 = 1e12;
/// The most names of models or tools.
const MOST_NAMES: usize = 1_000;

/// The entries of one file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    /// The names of models, to which the entries point by place.
    pub(crate) models: Vec<String>,
    /// The same of tools.
    pub(crate) tools: Vec<String>,
    /// The first time in the file, also of copied lines, in milliseconds since 1970.
    pub(crate) begins: Option<i64>,
    pub(crate) requests: Vec<RequestEntry>,
    pub(crate) calls: Vec<CallEntry>,
    pub(crate) prompts: Vec<PromptEntry>,
    /// The number of prompts; outcomes, if the file doesn't contain prompts.
    pub(crate) turns: u64,
    /// Whether it is a stream whose outcome has the sums.
    pub(crate) is_stream: bool,
    /// The cost that the agent stated for each model, in US dollars.
    pub(crate) costs: BTreeMap<String, f64>,
}

impl Ledger {
    /// Adds the requests and calls of sub-agents that no call of a history names: their files lie beside it. The others were read with it.
    pub(super) fn add_side_files(&mut self, history: &Path, session: &str) {
        if DatabaseSession::at(history).is_some() {
            return;
        }
        let files = side_files_below(history, session);
        let mut known: HashSet<u64> = HashSet::new();
        if !files.is_empty() {
            known.extend(self.requests.iter().map(|request| request.key));
        }
        for file in files {
            let is_known = |ledger: &Self| ledger.requests.iter().any(|request| known.contains(&request.key));
            if read_side_file(&file, FIRST).is_ok_and(|first| !is_known(&first))
                && let Ok(all) = read_side_file(&file, u64::MAX)
            {
                self.add(&all);
            }
        }
    }

    fn add(&mut self, other: &Self) {
        let models: Vec<u16> = other.models.iter().map(|name| place_of(&mut self.models, name)).collect();
        let tools: Vec<u16> = other.tools.iter().map(|name| place_of(&mut self.tools, name)).collect();
        let of = |places: &[u16], place: u16| places.get(usize::from(place)).copied().unwrap_or_default();
        self.requests
            .extend(other.requests.iter().map(|it| RequestEntry { model: of(&models, it.model), ..*it }));
        self.calls.extend(other.calls.iter().map(|it| CallEntry {
            tool: of(&tools, it.tool),
            model: it.model.map(|model| of(&models, model)),
            ..*it
        }));
    }
}

/// Reads the entries of the beginning of a sub-agent's file.
fn read_side_file(path: &Path, most: u64) -> io::Result<Ledger> {
    let mut reader = FigureReader::of_part();
    reader.read_archive(UnpackedReader::new(File::open(path)?).take(most))?;
    Ok(reader.finish().ledger)
}

/// How far the key of an entry reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum KeyScope {
    /// Any session may have a copy of the entry.
    #[default]
    All,
    /// A session that continues this one may.
    Family,
    /// Other sessions have the same key by chance.
    Session,
}

/// A request to a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RequestEntry {
    pub(crate) key: u64,
    pub(crate) scope: KeyScope,
    /// The hash of the message's id, which the stream and the history of a session have alike.
    pub(crate) message: u64,
    /// Milliseconds since 1970.
    pub(crate) at: Option<i64>,
    pub(crate) model: u16,
    pub(crate) usage: Usage,
    /// See [`UsageDetails`].
    pub(crate) cache_write_hour: u64,
    pub(crate) searches: u64,
    /// US dollars that the line itself states.
    pub(crate) cost: Option<f64>,
}

/// A call of a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct CallEntry {
    pub(crate) key: u64,
    pub(crate) scope: KeyScope,
    /// The hash of its id, which the stream and the history of a session have alike.
    pub(crate) id: u64,
    pub(crate) at: Option<i64>,
    pub(crate) tool: u16,
    /// That of the request before it.
    pub(crate) model: Option<u16>,
    pub(crate) failed: bool,
    /// How many calls these are: more than one only beyond [`MOST_ENTRIES`].
    pub(crate) count: u64,
}

/// A prompt of a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PromptEntry {
    pub(crate) key: u64,
    pub(crate) scope: KeyScope,
    pub(crate) at: Option<i64>,
    /// That of the request after it.
    pub(crate) model: Option<u16>,
}

/// Collects the entries of a file while it is read.
#[derive(Debug, Default)]
pub(super) struct LedgerCollector {
    ledger: Ledger,
    requests: Map<u64, RequestEntry>,
    /// The keys of requests by the hashes of their messages' ids.
    keys: Map<u64, u64>,
    calls: Map<u64, CallEntry>,
    last_at: Option<i64>,
    last_model: Option<u16>,
    /// The first prompt whose request hasn't come.
    unanswered: usize,
}

impl LedgerCollector {
    /// Takes a report of tokens.
    pub(super) fn usage(&mut self, message: &Id, usage: Usage, details: &UsageDetails, session: &Session) {
        if details.is_repeated {
            return;
        }
        let at = details.at.map(Timestamp::as_millisecond).or(self.last_at);
        self.saw(at);
        let of_message = message.hash();
        let (usage, key, scope) = if let Some(added) = details.added {
            let Usage { input, output, cache_read, cache_write } = usage;
            let key = hash(&(input, output, cache_read, cache_write));
            (added, key, KeyScope::Family)
        } else if let Some(key) = details.key {
            if self.keys.len() < MOST_ENTRIES {
                self.keys.insert(of_message, key);
            }
            (usage, key, KeyScope::All)
        } else {
            let known = self.keys.get(&of_message);
            (usage, *known.unwrap_or(&of_message), known.map_or(KeyScope::Session, |_| KeyScope::All))
        };
        if usage == Usage::default() && !self.requests.contains_key(&key) {
            return;
        }
        let of_session = || session.facts().model.as_ref().map_or("unknown", |model| model.as_str());
        let known = self.requests.get(&key).map(|known| known.model);
        let model = match (&details.model, known) {
            (Some(model), _) => place_of(&mut self.ledger.models, model),
            (None, Some(known)) => known,
            (None, None) => place_of(&mut self.ledger.models, of_session()),
        };
        self.last_model = Some(model);
        for prompt in &mut self.ledger.prompts[self.unanswered..] {
            prompt.model = Some(model);
        }
        self.unanswered = self.ledger.prompts.len();
        let is_full = self.requests.len() >= MOST_ENTRIES && known.is_none();
        let key = if is_full { u64::from(model) } else { key };
        let entry = self.requests.entry(key).or_default();
        let combine: fn(u64, u64) -> u64 = if is_full { u64::saturating_add } else { u64::max };
        let whole = entry.usage.combined(usage, combine);
        if usage.output >= entry.usage.output {
            entry.model = model;
        }
        *entry = RequestEntry {
            key,
            scope: if is_full { KeyScope::Session } else { scope },
            message: of_message,
            at: entry.at.max(at),
            model: entry.model,
            usage: whole,
            cache_write_hour: combine(entry.cache_write_hour, details.cache_write_hour),
            searches: combine(entry.searches, details.searches),
            cost: details.cost_usd.filter(|cost| (0.0..=MOST_COST).contains(cost)).or(entry.cost),
        };
    }

    /// Takes a complete item.
    pub(super) fn item(&mut self, item: &Item) {
        let at = item.at().map(Timestamp::as_millisecond);
        self.saw(at);
        if item.is_repeated() {
            return;
        }
        match item.kind {
            Kind::Call => self.call(item, at),
            Kind::Result if item.error && item.fact("again").is_none() => {
                let call = item.call.as_ref().and_then(|call| self.calls.get_mut(&call.hash()));
                if let Some(call) = call {
                    call.failed = true;
                }
            }
            Kind::Prompt if item.parent.is_none() && self.ledger.prompts.len() < MOST_ENTRIES => {
                let scope = at.map_or(KeyScope::Session, |_| KeyScope::All);
                let place = at.unwrap_or(self.ledger.prompts.len().cast_signed() as i64);
                let key = hash(&(&*item.text(), place));
                self.ledger.prompts.push(PromptEntry { key, scope, at, model: None });
            }
            Kind::Outcome => self.costs(item),
            Kind::Notice if item.is_event("totals") => self.costs(item),
            _ => {}
        }
    }

    fn call(&mut self, item: &Item, at: Option<i64>) {
        let id = item.id.hash();
        let tool = place_of(&mut self.ledger.tools, item.tool.as_deref().unwrap_or("unknown"));
        let is_full = self.calls.len() >= MOST_ENTRIES && !self.calls.contains_key(&id);
        let id = if is_full { u64::from(tool) } else { id };
        let (key, scope) = match at {
            // A copy keeps the time.
            Some(at) if !is_full => (hash(&(id, at)), KeyScope::All),
            _ => (id, KeyScope::Session),
        };
        let model = self.last_model;
        let entry = self.calls.entry(id).or_default();
        *entry = CallEntry { key, scope, id, at, tool, model, failed: entry.failed, count: entry.count + 1 };
        if !is_full {
            entry.count = 1;
        }
    }

    /// Notes what the agent stated for each model.
    fn costs(&mut self, item: &Item) {
        for model in item.fact("models").map(FactRef::list).unwrap_or_default().into_iter().take(MOST_NAMES) {
            let cost = model.get("cost_usd").and_then(FactRef::float);
            // An absurd one would make sums of others senseless.
            let cost = cost.filter(|cost| (0.0..=MOST_COST).contains(cost));
            if let (Some(name), Some(cost)) = (model.get("model").and_then(FactRef::str), cost) {
                let has_room = self.ledger.costs.len() < MOST_NAMES;
                if has_room || self.ledger.costs.contains_key(&*name) {
                    self.ledger.costs.insert(name.into_owned(), cost);
                }
            }
        }
    }

    fn saw(&mut self, at: Option<i64>) {
        if at.is_some() {
            self.last_at = at;
            self.ledger.begins = self.ledger.begins.or(at);
        }
    }

    /// Returns the entries so far.
    pub(super) fn ledger(&self, turns: u64, is_stream: bool) -> Ledger {
        Ledger {
            is_stream,
            requests: self.requests.values().copied().collect(),
            calls: self.calls.values().copied().collect(),
            turns,
            ..self.ledger.clone()
        }
    }
}

/// The place of a name in a list, to which it is added. Beyond [`MOST_NAMES`], they are `others`.
fn place_of(names: &mut Vec<String>, name: &str) -> u16 {
    let known = names.iter().rposition(|known| known == name);
    let place = known.unwrap_or_else(|| {
        if names.len() <= MOST_NAMES {
            names.push(if names.len() < MOST_NAMES { name } else { "others" }.to_owned());
        }
        names.len() - 1
    });
    place as u16
}
