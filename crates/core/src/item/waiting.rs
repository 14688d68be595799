//! Calls that wait for a person, and the notices that report it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantNames};

use super::{FactRef, Id, Item, Kind};

/// The event of a notice that a call waits for a person: the fact `call` names it, the fact `for` is the name of a [`WaitsFor`].
pub const WAITING: &str = "waiting";
/// The event of a notice that a call no longer waits. It has the same facts.
pub const WAITED: &str = "waited";

/// What a call needs from a person.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    EnumString,
    IntoStaticStr,
    VariantNames,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
#[non_exhaustive]
pub enum WaitsFor {
    /// The answer to a question.
    Answer,
    /// The approval of a plan.
    Approval,
    /// Permission to run. What this version doesn't know is read as this one.
    #[default]
    #[serde(other)]
    Permission,
}

impl WaitsFor {
    /// Its name in the machine formats.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// What is needed, in words for people: `permission`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Permission => "permission",
            Self::Answer => "an answer",
            Self::Approval => "approval of a plan",
        }
    }
}

/// What a call needs from a person, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Waiting {
    /// What it needs.
    #[serde(rename = "for")]
    pub waits_for: WaitsFor,
    /// When it began to wait, in UTC, if the stream has a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>", extend("format" = "date-time")))]
    pub since: Option<Timestamp>,
}

impl Item {
    /// The call that begins or ends to wait, if this is a notice that reports it, and whether it begins.
    pub(crate) fn wait(&self) -> Option<(Id, bool)> {
        if self.kind != Kind::Notice {
            return None;
        }
        let begins = match self.fact("event").and_then(FactRef::str)?.as_ref() {
            WAITING => true,
            WAITED => false,
            _ => return None,
        };
        Some((Id::from(&*self.fact("call")?.str()?), begins))
    }
}
