//! Rules: a person's answer is repeated automatically for later requests of one agent and one tool.
//! Must not know: HTTP, or when an answer becomes a rule.

pub mod event;
pub mod state;

use plenary_accounts::Authority;
use plenary_engine::{Command, Conditions, Decided, Decision, Point, Room};
use plenary_kernel::{OwnerName, RuleId, TimestampMs, Version};
use plenary_log::Fault;

use crate::Requests;
use event::{RuleEvent, RuleRemoved};
use state::RulesState;

/// The streams `requests.rules/<owner>`.
#[derive(Debug)]
pub struct RuleRoom;

impl Room for RuleRoom {
    type State = RulesState;
    type Event = RuleEvent;
    const CATEGORY: &'static str = "requests.rules";
    const SNAPSHOT_FORM: u16 = 1;

    fn evolve(state: &mut RulesState, _: Version, at: TimestampMs, event: &RuleEvent) {
        state.evolve(at, event);
    }
    /// No quota: a rule is counted with its answer, and its removal is free.
    fn payer(_: &str, _: &RulesState, _: &RuleEvent) -> Option<OwnerName> {
        None
    }
}

pub(crate) struct RemoveRule<'a> {
    pub(crate) requests: &'a Requests,
    pub(crate) authority: Authority,
    pub(crate) rule: RuleId,
}

/// Why a rule is not removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuleRejection {
    /// The token is no longer valid.
    Unauthenticated,
    /// The rule does not exist.
    NoSuchRule,
}

impl Command<RuleRoom> for RemoveRule<'_> {
    const NAME: &'static str = "remove_rule";
    type Reply = ();
    type Rejection = RuleRejection;
    type Facts = bool;

    async fn facts(&self, _: &RulesState, conditions: &mut Conditions) -> Result<bool, Fault> {
        self.requests.accounts().holds(&self.authority, conditions).await
    }

    fn decide(&self, state: &RulesState, is_authorized: &bool, _: &Point) -> Decided<RuleRoom, Self> {
        if !is_authorized {
            return Err(RuleRejection::Unauthenticated);
        }
        if !state.rules.contains_key(&self.rule) {
            return Err(RuleRejection::NoSuchRule);
        }
        let event = RuleRemoved { rule: self.rule.clone(), by: self.authority.by.clone() };
        Ok(Decision::new(vec![RuleEvent::RuleRemoved(event)], ()))
    }

    fn exceeds_quota(&self) -> bool {
        true
    }
}
