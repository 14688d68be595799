//! The shares of sessions: what each used at each time, counted once.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::Timestamp;
use streamfmt::core::event::Usage;
use streamfmt::core::hash::{Map, hash};

use super::super::figures::{KeyScope, Ledger, MOST_COST, RequestEntry};
use super::CountedSession;
use crate::prices::{PriceTable, RequestUsage};

/// The most generations that are followed from a session to the one that it goes back to.
const MOST_GENERATIONS: usize = 50;

/// What a session used at a time.
#[derive(Clone, Debug, Default)]
pub(super) struct Share<'a> {
    /// The place of the session in the list.
    pub(super) session: usize,
    /// Milliseconds since 1970.
    pub(super) at: i64,
    pub(super) model: &'a str,
    pub(super) usage: Usage,
    cache_write_hour: u64,
    searches: u64,
    pub(super) cost: Cost,
}

/// The cost of a share, in US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Cost {
    /// The model has no price.
    #[default]
    Unknown,
    /// The agent stated it.
    Stated(f64),
    /// By prices.
    Estimated(f64),
}

/// A call of a tool, or a turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Act<'a> {
    pub(super) session: usize,
    pub(super) at: i64,
    pub(super) model: Option<&'a str>,
    /// `None` for a turn.
    pub(super) tool: Option<&'a str>,
    pub(super) failed: bool,
    pub(super) count: u64,
}

/// All that is added up.
#[derive(Debug, Default)]
pub(super) struct Shares<'a> {
    pub(super) used: Vec<Share<'a>>,
    pub(super) acts: Vec<Act<'a>>,
}

/// Returns the shares of sessions.
pub(super) fn shares<'a>(sessions: &'a [CountedSession], prices: &PriceTable) -> Shares<'a> {
    let mut order: Vec<usize> = (0..sessions.len()).collect();
    order.sort_by_key(|at| (sessions[*at].begins(), &sessions[*at].id));
    let mut found = Attribution::new(sessions);
    for at in &order {
        found.histories_of(*at);
    }
    let mut shares = found.finish();
    for share in shares.used.iter_mut().filter(|share| share.cost == Cost::Unknown) {
        share.cost = estimate(share, prices).map_or(Cost::Unknown, Cost::Estimated);
    }
    shares
}

fn estimate(share: &Share<'_>, prices: &PriceTable) -> Option<f64> {
    let Share { usage, cache_write_hour, searches, .. } = *share;
    let at = Timestamp::from_millisecond(share.at).unwrap_or_default();
    prices.cost(share.model, at, &RequestUsage { usage, cache_write_hour, searches })
}

impl CountedSession {
    /// When its first file begins, also with lines of another session.
    fn begins(&self) -> i64 {
        let files = self.files.iter().filter_map(|file| file.ledger.begins);
        files.min().unwrap_or_else(|| self.started.as_millisecond())
    }

    fn end(&self) -> i64 {
        self.ended.unwrap_or(self.started).as_millisecond()
    }

    /// The ledgers of its streams, which have the sums that the agent stated, and of its histories.
    fn ledgers(&self, of_streams: bool) -> impl Iterator<Item = &Ledger> {
        let files =
            self.files.iter().filter(move |file| (file.is_log || file.ledger.is_stream) == of_streams);
        files.map(|file| &file.ledger)
    }

    /// Whether it counts by sums: its stream ended, and has them.
    fn has_sums(&self) -> bool {
        !self.is_live && (self.is_run || self.ledgers(true).next().is_some() || self.files.is_empty())
    }

    /// Whether one of its runs was in progress at a time.
    fn ran_at(&self, at: Option<i64>) -> bool {
        let at = at.and_then(|at| Timestamp::from_millisecond(at).ok());
        // A run that was killed has no end.
        self.is_run && at.is_some_and(|at| at >= self.started && self.ended.is_none_or(|end| at <= end))
    }
}

/// Decides which session each entry belongs to.
struct Attribution<'a> {
    sessions: &'a [CountedSession],
    /// The sessions that have sums, by the agent's own ids.
    with_sums: HashMap<&'a str, Vec<usize>>,
    /// The messages and calls of streams, with the sessions that have the sums of them: any session may have copies of them, or only
    /// those with the same id.
    of_all: HashMap<u64, usize>,
    of_session: HashMap<(&'a str, u64), usize>,
    /// The sessions from which sessions go on, by the agent's own ids.
    parents: HashMap<&'a str, &'a str>,
    /// Shares of requests by their keys.
    used: Map<u64, Share<'a>>,
    acts: Map<u64, Act<'a>>,
    /// The requests in histories that belong to sums.
    weights: BTreeMap<usize, Map<u64, Share<'a>>>,
    /// The times of calls of streams.
    times: HashMap<(usize, u64), i64>,
    /// The owners of requests that a session's files repeat.
    copied_from: BTreeMap<usize, HashSet<usize>>,
}

impl<'a> Attribution<'a> {
    fn new(sessions: &'a [CountedSession]) -> Self {
        let (mut with_sums, mut parents) = (HashMap::<_, Vec<_>>::new(), HashMap::new());
        let (mut of_all, mut of_session) = (HashMap::new(), HashMap::new());
        for (place, session) in sessions.iter().enumerate() {
            let name = session.name();
            if let Some(parent) = &session.parent_session {
                parents.insert(name, &**parent);
            }
            if !session.has_sums() {
                continue;
            }
            with_sums.entry(name).or_default().push(place);
            for ledger in session.ledgers(true) {
                for request in &ledger.requests {
                    match request.scope {
                        KeyScope::All => drop(of_all.insert(request.message, place)),
                        _ => drop(of_session.insert((name, request.message), place)),
                    }
                }
                of_session.extend(ledger.calls.iter().map(|call| ((name, call.id), place)));
            }
        }
        Self {
            sessions,
            with_sums,
            of_all,
            of_session,
            parents,
            used: Map::default(),
            acts: Map::default(),
            weights: BTreeMap::new(),
            times: HashMap::new(),
            copied_from: BTreeMap::new(),
        }
    }

    /// The key of an entry among those of all sessions.
    fn key(&self, session: usize, key: u64, scope: KeyScope) -> u64 {
        let name = self.sessions[session].name();
        match scope {
            KeyScope::All => key,
            KeyScope::Session => hash(&(name, key)),
            KeyScope::Family => {
                let mut first = name;
                for _ in 0..MOST_GENERATIONS {
                    let Some(parent) = self.parents.get(first) else { break };
                    first = parent;
                }
                hash(&(first, key))
            }
        }
    }

    /// The session that has the sum of an entry: its stream has the message or call, or it ran at that time.
    fn owner(&self, session: usize, of_all: Option<u64>, id: u64, at: Option<i64>) -> Option<usize> {
        let name = self.sessions[session].name();
        let known = of_all.and_then(|id| self.of_all.get(&id)).or_else(|| self.of_session.get(&(name, id)));
        known.copied().or_else(|| {
            let runs = self.with_sums.get(name)?;
            runs.iter().copied().find(|run| self.sessions[*run].ran_at(at))
        })
    }

    /// Takes the entries of a session's histories.
    fn histories_of(&mut self, place: usize) {
        let session = &self.sessions[place];
        for ledger in session.ledgers(false) {
            // The times from which the requests belong to a sum, or not.
            let mut times: Vec<(i64, bool)> = Vec::new();
            for request in &ledger.requests {
                let of_all = (request.scope == KeyScope::All).then_some(request.message);
                let owner = self.owner(place, of_all, request.message, request.at);
                times.extend(request.at.map(|at| (at, owner.is_some())));
                self.request(place, owner, ledger, request);
            }
            times.sort_unstable();
            for call in &ledger.calls {
                if let Some(owner) = self.owner(place, None, call.id, call.at) {
                    self.times.extend(call.at.map(|at| ((owner, call.id), at)));
                    continue;
                }
                let act = Act {
                    session: place,
                    at: call.at.unwrap_or_else(|| session.end()),
                    model: call.model.and_then(|model| name(&ledger.models, model)),
                    tool: Some(name(&ledger.tools, call.tool).unwrap_or("unknown")),
                    failed: call.failed,
                    count: call.count,
                };
                let key = self.key(place, hash(&("call", call.key)), call.scope);
                self.acts.entry(key).or_insert(act).failed |= call.failed;
            }
            for prompt in &ledger.prompts {
                let next = times.partition_point(|(at, _)| Some(*at) < prompt.at);
                let is_owned = times.get(next).is_some_and(|(_, is_owned)| *is_owned);
                if is_owned || self.owner(place, None, prompt.key, prompt.at).is_some() {
                    continue;
                }
                let key = self.key(place, hash(&("prompt", prompt.key)), prompt.scope);
                let model = prompt.model.and_then(|model| name(&ledger.models, model));
                let at = prompt.at.unwrap_or_else(|| session.end());
                self.acts.entry(key).or_insert(Act {
                    session: place,
                    at,
                    model,
                    tool: None,
                    failed: false,
                    count: 1,
                });
            }
        }
    }

    fn request(&mut self, place: usize, owner: Option<usize>, ledger: &'a Ledger, request: &RequestEntry) {
        let key = self.key(place, request.key, request.scope);
        let share = Share {
            session: owner.unwrap_or(place),
            at: request.at.unwrap_or_else(|| self.sessions[place].end()),
            model: name(&ledger.models, request.model).unwrap_or("unknown"),
            usage: request.usage,
            cache_write_hour: request.cache_write_hour,
            searches: request.searches,
            cost: request.cost.map_or(Cost::Unknown, Cost::Stated),
        };
        let shares = match owner {
            Some(owner) => self.weights.entry(owner).or_default(),
            None => &mut self.used,
        };
        let known = shares.entry(key).or_insert_with(|| share.clone());
        if known.session != share.session {
            self.copied_from.entry(place).or_default().insert(known.session);
        }
        // An earlier line has only a part of the tokens.
        if share.usage.output > known.usage.output {
            known.model = share.model;
        }
        known.usage = known.usage.combined(share.usage, u64::max);
        known.at = known.at.max(share.at);
        known.cache_write_hour = known.cache_write_hour.max(share.cache_write_hour);
        known.searches = known.searches.max(share.searches);
        if known.cost == Cost::Unknown {
            known.cost = share.cost;
        }
    }

    /// Adds the sums, and the costs that agents stated.
    fn finish(mut self) -> Shares<'a> {
        let mut shares = Shares::default();
        let mut by_session: BTreeMap<usize, Vec<Share<'a>>> = BTreeMap::new();
        for share in std::mem::take(&mut self.used).into_values() {
            by_session.entry(share.session).or_default().push(share);
        }
        for (place, session) in self.sessions.iter().enumerate() {
            let mut own = by_session.remove(&place).unwrap_or_default();
            if session.has_sums() {
                let weights = self.weights.remove(&place).unwrap_or_default();
                let mut sums = sums(place, session, weights.into_values().collect());
                state(&mut sums, place, session);
                shares.used.append(&mut sums);
                self.acts_of_stream(place, &mut shares.acts);
            } else if !self.repeats_costs(place) {
                state(&mut own, place, session);
            }
            shares.used.append(&mut own);
        }
        shares.acts.extend(self.acts.into_values());
        shares
    }

    /// Whether a session repeats what another one states as its cost, with a copy of its lines.
    fn repeats_costs(&self, place: usize) -> bool {
        let costs = |place: &usize| {
            self.sessions[*place].ledgers(false).map(|it| &it.costs).find(|it| !it.is_empty())
        };
        let own = costs(&place);
        let origins = self.copied_from.get(&place);
        own.is_some() && origins.is_some_and(|origins| origins.iter().any(|origin| costs(origin) == own))
    }

    /// Adds the calls and turns of a session's streams. Streams have no times; its history may.
    fn acts_of_stream(&self, place: usize, acts: &mut Vec<Act<'a>>) {
        let session = &self.sessions[place];
        let end = session.end();
        // Several streams of a session may be copies.
        let mut seen = HashSet::new();
        for ledger in session.ledgers(true) {
            let calls = ledger.calls.iter().filter(|call| seen.insert(call.id));
            acts.extend(calls.map(|call| Act {
                session: place,
                at: self.times.get(&(place, call.id)).copied().or(call.at).unwrap_or(end),
                model: call.model.and_then(|model| name(&ledger.models, model)),
                tool: Some(name(&ledger.tools, call.tool).unwrap_or("unknown")),
                failed: call.failed,
                count: call.count,
            }));
        }
        let count = session.ledgers(true).map(|ledger| ledger.turns).max().unwrap_or(0);
        if count > 0 {
            let model = session.model.as_deref();
            acts.push(Act { session: place, at: end, model, tool: None, failed: false, count });
        }
    }
}

impl CountedSession {
    /// The agent's own id, or else ours.
    fn name(&self) -> &str {
        self.agent_session.as_deref().unwrap_or(&self.id)
    }
}

fn name(names: &[String], place: u16) -> Option<&str> {
    names.get(usize::from(place)).map(String::as_str)
}

/// The shares of sums: divided by the requests of the history, as far as it is known; the rest at the end.
fn sums<'a>(place: usize, session: &'a CountedSession, mut weights: Vec<Share<'a>>) -> Vec<Share<'a>> {
    let mut shares = Vec::new();
    weights.sort_by_key(|weight| weight.at);
    // Several streams of a session may be copies.
    let (mut of_stream, mut seen) = (Vec::new(), HashSet::new());
    for ledger in session.ledgers(true) {
        let requests = ledger.requests.iter().filter(|request| seen.insert(request.key));
        of_stream.extend(requests.map(|request| Share {
            session: place,
            at: request.at.unwrap_or_else(|| session.end()),
            model: name(&ledger.models, request.model).unwrap_or("unknown"),
            usage: request.usage,
            cache_write_hour: request.cache_write_hour,
            searches: request.searches,
            cost: request.cost.map_or(Cost::Unknown, Cost::Stated),
        }));
    }
    if session.usage.is_empty() {
        // It was killed before it stated any: what its messages state, in the history or in the stream.
        return if weights.is_empty() { of_stream } else { weights };
    }
    // What the sums don't tell apart.
    let mut apart: HashMap<&str, (u64, u64)> = HashMap::new();
    for request in of_stream {
        let (hour, searches) = apart.entry(request.model).or_default();
        *hour = hour.saturating_add(request.cache_write_hour);
        *searches = searches.saturating_add(request.searches);
    }
    for (stated, all) in &session.usage {
        // A stream that names no model; the session's history may.
        let model = Some(&**stated).filter(|model| *model != "unknown").or(session.model.as_deref());
        let model = model.unwrap_or("unknown");
        let (hour, searches) = apart.get(&**stated).copied().unwrap_or_default();
        let mut rest = Share {
            session: place,
            at: session.end(),
            model,
            usage: *all,
            cache_write_hour: hour.min(all.cache_write),
            searches,
            cost: Cost::Unknown,
        };
        let of_model: Vec<&Share<'_>> = weights.iter().filter(|weight| weight.model == model).collect();
        let weight =
            of_model.iter().fold(Usage::default(), |sum, it| sum.combined(it.usage, u64::saturating_add));
        let mut so_far = Usage::default();
        let mut given = Usage::default();
        for of in of_model {
            so_far = so_far.combined(of.usage, u64::saturating_add);
            let due = part(*all, so_far, weight);
            let usage = due.combined(given, u64::saturating_sub);
            given = due;
            let hour = of.cache_write_hour.min(usage.cache_write);
            rest.cache_write_hour = rest.cache_write_hour.saturating_sub(hour);
            rest.searches = rest.searches.saturating_sub(of.searches);
            shares.push(Share { session: place, usage, cache_write_hour: hour, ..of.clone() });
        }
        rest.usage = rest.usage.combined(given, u64::saturating_sub);
        rest.cache_write_hour = rest.cache_write_hour.min(rest.usage.cache_write);
        if rest.usage != Usage::default() {
            shares.push(rest);
        }
    }
    shares
}

/// The part of a sum that is due to the weight so far, of the whole weight.
fn part(all: Usage, so_far: Usage, weight: Usage) -> Usage {
    let of = |all: u64, so_far: u64, weight: u64| match weight {
        0 => 0,
        _ => u64::try_from(u128::from(all) * u128::from(so_far) / u128::from(weight)).unwrap_or(all),
    };
    Usage {
        input: of(all.input, so_far.input, weight.input),
        output: of(all.output, so_far.output, weight.output),
        cache_read: of(all.cache_read, so_far.cache_read, weight.cache_read),
        cache_write: of(all.cache_write, so_far.cache_write, weight.cache_write),
    }
}

/// Gives the shares of a session the costs that the agent stated, divided by their tokens.
fn state<'a>(shares: &mut Vec<Share<'a>>, place: usize, session: &'a CountedSession) {
    let has_sums = session.has_sums();
    let Some(cost) = session.cost_usd.filter(|cost| (0.0..=MOST_COST).contains(cost)) else { return };
    let costs = session.ledgers(has_sums).map(|ledger| &ledger.costs).find(|costs| !costs.is_empty());
    let all: f64 = costs.into_iter().flat_map(BTreeMap::values).sum();
    let mut stated: Vec<(Option<&str>, f64)> = Vec::new();
    match costs {
        Some(costs) if all > 0.0 => {
            stated.extend(costs.iter().map(|(model, of)| (Some(&**model), cost * (of / all))));
        }
        Some(costs) if cost == 0.0 => stated.extend(costs.keys().map(|model| (Some(&**model), 0.0))),
        _ => stated.push((None, cost)),
    }
    for (model, cost) in stated {
        let is_of = |share: &Share<'_>| {
            model.is_none_or(|it| is_same(it, share.model)) && share.cost == Cost::Unknown
        };
        let weight = |share: &Share<'_>| {
            let Usage { input, output, cache_read, cache_write } = share.usage;
            // About what tokens of each kind cost, compared with each other.
            input as f64 + 5.0 * output as f64 + 0.1 * cache_read as f64 + 1.25 * cache_write as f64
        };
        let whole: f64 = shares.iter().filter(|share| is_of(share)).map(weight).sum();
        if whole > 0.0 {
            for share in shares.iter_mut().filter(|share| is_of(share)) {
                share.cost = Cost::Stated(cost * weight(share) / whole);
            }
        } else if cost > 0.0 && (has_sums || !shares.is_empty() || has_no_requests(session)) {
            let model = model.or(session.model.as_deref()).unwrap_or("unknown");
            let cost = Cost::Stated(cost);
            shares.push(Share { session: place, at: session.end(), model, cost, ..Share::default() });
        }
    }
}

/// Whether two names are of one model: one may have the date of its release.
fn is_same(one: &str, other: &str) -> bool {
    let without_date = |name: &str| {
        let name = name.split('[').next().unwrap_or_default();
        let (rest, date) = name.rsplit_once('-').unwrap_or((name, ""));
        let is_date = date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit());
        if is_date { rest } else { name }.to_owned()
    };
    one == other || without_date(one) == without_date(other)
}

fn has_no_requests(session: &CountedSession) -> bool {
    session.files.iter().all(|file| file.ledger.requests.is_empty())
}
