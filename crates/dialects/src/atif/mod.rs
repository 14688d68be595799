//! Trajectories of the Agent Trajectory Interchange Format: one JSON object for a whole session, of any agent.
//!
//! ```text
//! {"schema_version":"ATIF-v1.7","agent":{…},"steps":[{"step_id":1,"source":"user","message":"…"},…],"final_metrics":{…}}
//! ```
//!
//! A step of the agent is one answer of the model, with its calls and their results. The ids of calls may begin anew in each step. The
//! format has no outcome, and no field for failures: only what `extra` states is taken for one.

mod metrics;
mod step;
pub(super) mod tools;

use std::sync::Arc;

use crate::calls::Calls;
use crate::facts::{filled, nodes, string};
use crate::item_builder::{ItemBuilder, not_an_event};
use streamfmt_core::budget::Budget;
use streamfmt_core::dialect::{Decoder, Dialect, Input};
use streamfmt_core::event::{Event, Facts};
use streamfmt_core::item::{Content, Id};
use streamfmt_core::json::{Value, ValueKind};
use streamfmt_core::session::Map;
use streamfmt_core::text::Text;

use metrics::StepSums;

/// How deep sub-agents may start further ones.
const MAX_DEPTH: usize = 16;

/// Whether a value is a trajectory.
pub(super) fn claim(value: Value<'_>) -> bool {
    let [version, steps, agent] = value.get_all(["schema_version", "steps", "agent"]);
    let is_list = steps.is_some_and(|steps| steps.kind() == ValueKind::Array);
    // Some writers omit the prefix.
    let is_version = |version: Value<'_>| version.str().is_some_and(|version| version.begins_with("ATIF-v"));
    version.is_some_and(is_version) || (version.is_some() && agent.is_some() && is_list)
}

/// No value is a line of a stream that ends with an outcome.
pub(super) fn is_stream(_: Value<'_>) -> bool {
    false
}

/// The decoder: its state between trajectories.
pub(super) struct AtifDecoder {
    calls: Calls,
    /// The number of trajectories so far.
    count: u64,
}

impl AtifDecoder {
    /// Creates a decoder whose state is limited by the budget.
    pub(super) fn new(budget: Budget) -> Self {
        Self { calls: Calls::new(budget), count: 0 }
    }
}

/// The trajectories of sub-agents that weren't decoded yet, by their ids. A step may refer to one that is embedded further outside.
type Embedded<'a> = Map<Id, Value<'a>>;

/// A trajectory that is being decoded.
struct AtifTrajectory {
    /// What the ids of its items begin with; empty for the first.
    prefix: String,
    /// The dialect of its agent, if there is one.
    agent: Option<&'static Dialect>,
    /// The ids of the trajectories that are embedded in it.
    own: Vec<Id>,
    depth: usize,
}

/// What is decoded and counted over a whole document.
#[derive(Default)]
struct AtifDocument<'a> {
    embedded: Embedded<'a>,
    spent: StepSums,
}

impl AtifTrajectory {
    fn new<'a>(value: Value<'a>, prefix: String, depth: usize, document: &mut AtifDocument<'a>) -> Self {
        let [agent, embedded] = value.get_all(["agent", "subagent_trajectories"]);
        let name = agent.and_then(|agent| agent.get("name")?.decode()).unwrap_or_default().to_lowercase();
        let mut words = name.split(|char: char| !char.is_ascii_alphanumeric());
        let agent = words.find_map(|word| crate::DIALECTS.find(word));
        let mut own = Vec::new();
        for value in embedded.into_iter().flat_map(Value::items) {
            let [id, session] = value.get_all(["trajectory_id", "session_id"]);
            let id = filled(id).or(filled(session)).and_then(Value::decode).unwrap_or_default();
            let mut id = Id::from(&*id);
            if id.as_str().is_empty() || document.embedded.contains_key(&id) {
                // Its node is a name that no other has.
                id = Id::from(format!("trajectory at {}", value.node()));
            }
            own.push(id.clone());
            document.embedded.insert(id, value);
        }
        Self { prefix, agent, own, depth }
    }

    /// Returns an id for a part of this trajectory.
    fn id(&self, name: &str) -> Id {
        if self.prefix.is_empty() { Id::from(name) } else { Id::below(&self.prefix, name) }
    }
}

impl Decoder for AtifDecoder {
    fn decode(&mut self, input: Input<'_>, out: &mut Vec<Event>) {
        let value = input.value;
        if !claim(value) {
            return not_an_event(input, out);
        }
        self.count += 1;
        let prefix = if self.count == 1 { String::new() } else { format!("trajectory-{}", self.count) };
        let [session, notes, metrics, next, extra] =
            value.get_all(["session_id", "notes", "final_metrics", "continued_trajectory_ref", "extra"]);
        let id = filled(session).and_then(Value::decode).map(|id| Arc::from(&*id));
        let mut builder = ItemBuilder::new(input, (), input.parent.cloned(), id, out);
        begin(value, session, &mut builder);
        let mut document = AtifDocument::default();
        let trajectory = AtifTrajectory::new(value, prefix, 0, &mut document);
        self.steps(value, &trajectory, &mut document, &mut builder);
        if filled(notes).is_some() {
            builder.put_minor("info", string(notes), |_| {});
        }
        if filled(next).is_some() {
            builder.put_minor("continuation", string(next), |_| {});
        }
        document.spent.finish(metrics, extra, &mut builder);
    }

    fn end(&mut self, _: &mut Vec<Event>) {}
}

/// Emits the notice of the session.
fn begin(value: Value<'_>, session: Option<Value<'_>>, builder: &mut ItemBuilder<'_>) {
    let agent = value.get("agent").filter(|agent| agent.kind() == ValueKind::Object);
    let [name, version, model] =
        agent.map_or([None; 3], |agent| agent.get_all(["name", "version", "model_name"]));
    let version = filled(version).filter(|version| !version.str().is_some_and(|text| text.is("unknown")));
    let text = |value: Option<Value<'_>>| value.and_then(Value::str).map(Text::from_json);
    builder.facts(Facts {
        agent: text(name),
        version: text(version),
        model: text(model),
        session: text(session),
        ..Facts::default()
    });
    let mut notice = builder.notice("session", Content::None);
    let facts = [("agent", filled(name)), ("model", filled(model)), ("version", version)];
    notice.data.extend(nodes(facts));
    builder.put(notice);
}

impl AtifDecoder {
    /// Decodes the steps of a trajectory, and the trajectories in it that no result refers to.
    fn steps<'a>(
        &mut self,
        value: Value<'a>,
        trajectory: &AtifTrajectory,
        document: &mut AtifDocument<'a>,
        builder: &mut ItemBuilder<'_>,
    ) {
        let steps = value.get("steps").filter(|steps| steps.kind() == ValueKind::Array);
        let Some(steps) = steps else { return builder.unknown("trajectory".into(), value) };
        for (at, step) in steps.items().enumerate() {
            let at = i64::try_from(at).unwrap_or(i64::MAX).saturating_add(1);
            self.step(step, at, trajectory, document, builder);
        }
        for id in &trajectory.own {
            if let Some(value) = document.embedded.swap_remove(id) {
                self.inside(value, id, trajectory.depth, document, builder);
            }
        }
    }

    /// Decodes the trajectory of a sub-agent, inside of this call.
    fn inside<'a>(
        &mut self,
        value: Value<'a>,
        call: &Id,
        depth: usize,
        document: &mut AtifDocument<'a>,
        builder: &mut ItemBuilder<'_>,
    ) {
        if depth >= MAX_DEPTH {
            return builder.unknown("trajectory".into(), value);
        }
        let at = builder.at.take();
        let outside = builder.parent.replace(call.clone());
        let trajectory = AtifTrajectory::new(value, call.as_str().to_owned(), depth + 1, document);
        self.steps(value, &trajectory, document, builder);
        (builder.parent, builder.at) = (outside, at);
    }
}
