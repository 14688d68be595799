//! What items mean for the answer of their turn: which of them may be it, and which end the turn.

use crate::item::{Content, Fact, FactList, FactRef, Id, Item, Kind, Status, ToolKind};

/// What an item means for the answer of its turn. Items of sub-agents and repeated ones mean nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TurnStep {
    /// Nothing.
    #[default]
    Other,
    /// It may be the answer: the last item with the highest claim is.
    Claim(AnswerClaim),
    /// The agent worked on: replies before and after it don't belong together.
    Work,
    /// The call that may have been the answer failed.
    Refused,
    /// A prompt. In a history, which has no outcomes, a turn ends with the next one.
    Prompt,
    /// The turn was interrupted or ended in an error, unless the agent continues.
    Stop,
    /// The turn ended with an outcome: without an answer if it failed.
    End {
        /// Whether it failed.
        is_failed: bool,
    },
    /// The input ended, possibly while calls were open.
    InputEnd,
}

/// How certainly an item is the answer of its turn, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnswerClaim {
    /// A reply, or a plan that waits for approval.
    Reply,
    /// An answer in the structured form that was requested.
    Structured,
    /// The agent or the outcome declares it the answer.
    Final,
}

impl TurnStep {
    /// What `item` means.
    pub fn of(item: &Item) -> Self {
        match item.kind {
            _ if item.is_repeated() => Self::Other,
            Kind::Outcome => Self::End { is_failed: item.error || item.status == Status::Failed },
            _ if item.parent.is_some() => Self::Other,
            Kind::Prompt => Self::Prompt,
            Kind::Reply if item.is_blank() => Self::Other,
            Kind::Reply => Self::Claim(AnswerClaim::of_reply(item)),
            Kind::Call => match item.tool_kind {
                Some(ToolKind::Answer) => Self::Claim(AnswerClaim::Structured),
                Some(ToolKind::PlanMode) if item.does().get("plan").and_then(FactRef::str).is_some() => {
                    Self::Claim(AnswerClaim::Reply)
                }
                _ => Self::Work,
            },
            Kind::Result if item.error && item.tool_kind == Some(ToolKind::Answer) => Self::Refused,
            Kind::Result | Kind::Plan => Self::Work,
            Kind::Notice => match item.fact("event").and_then(FactRef::str).as_deref() {
                Some("interrupt") => Self::Stop,
                Some("synthetic" | "error") if item.error => Self::Stop,
                Some("open-calls" | "no-outcome") => Self::InputEnd,
                _ => Self::Other,
            },
            _ => Self::Other,
        }
    }
}

impl AnswerClaim {
    fn of_reply(reply: &Item) -> Self {
        if reply.fact("final").and_then(FactRef::bool) == Some(true) { Self::Final } else { Self::Reply }
    }
}

impl Item {
    /// The answer that a call or an outcome contains, as a reply: a plan, an answer in a structured form, or a text that no reply before
    /// the outcome had.
    pub fn as_answer(&self) -> Option<Self> {
        let is_true = |name: &str| self.fact(name).and_then(FactRef::bool) == Some(true);
        let (text, structured) = match (self.kind, self.tool_kind) {
            (Kind::Outcome, _) if self.error || self.status == Status::Failed => return None,
            (Kind::Outcome, _) => {
                let structured = self.fact("structured").and_then(FactRef::value);
                match structured.filter(|_| !is_true("structured_repeated")) {
                    Some(value) => (Content::Own(value.raw().to_owned()), true),
                    None if is_true("repeated") || self.text().trim().is_empty() => return None,
                    None => (self.text.clone(), false),
                }
            }
            (Kind::Call, Some(ToolKind::Answer)) => (Content::Own(self.input()?.raw().to_owned()), true),
            (Kind::Call, Some(ToolKind::PlanMode)) => {
                (Content::Own(self.does().get("plan")?.str()?.into_owned()), false)
            }
            _ => return None,
        };
        let mut reply = Self { text, ..self.copy_without_text() };
        (reply.id, reply.kind) = (Id::below(self.id.as_str(), "answer"), Kind::Reply);
        (reply.tool, reply.does, reply.input, reply.words) = (None, None, None, None);
        reply.data = FactList::default();
        if structured {
            reply.data.push(("structured", Fact::Bool(true)));
        }
        Some(reply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_that_the_agent_declares_final_has_the_highest_claim() {
        let mut reply = Item::new("r", Kind::Reply, 1);
        assert_eq!(TurnStep::of(&reply), TurnStep::Other, "it is empty");
        reply.text = Content::Own("Yes.".to_owned());
        assert_eq!(TurnStep::of(&reply), TurnStep::Claim(AnswerClaim::Reply));
        reply.data.push(("final", Fact::Bool(true)));
        assert_eq!(TurnStep::of(&reply), TurnStep::Claim(AnswerClaim::Final));
        reply.parent = Some("a".into());
        assert_eq!(TurnStep::of(&reply), TurnStep::Other, "it is a sub-agent's");
    }

    #[test]
    fn only_a_successful_outcome_contains_an_answer() {
        let mut outcome = Item::new("o", Kind::Outcome, 1);
        assert!(outcome.as_answer().is_none());
        outcome.text = Content::Own("Yes.".to_owned());
        let reply = outcome.as_answer().unwrap();
        assert_eq!((reply.id.as_str(), reply.kind, &*reply.text()), ("o/answer", Kind::Reply, "Yes."));
        outcome.error = true;
        assert!(outcome.as_answer().is_none());
    }
}
