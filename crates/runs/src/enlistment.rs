//! Enlisted agents: each attached with its own token, without a configuration. The log stores them, so that they
//! survive restarts and all processes of a store know them: `runs.enlisted/<handle>`.
//! Must not know: HTTP; the effect on a process.

use plenary_accounts::{Accounts, Actor, Authority};
use plenary_engine::{Command, Conditions, Decided, Decision, Point, Room};
use plenary_kernel::{
    AgentHandle, OwnerName, TimestampMs, Version,
    text::{check_line, check_name},
};
use plenary_log::{Fault, IndexOp};
use serde::{Deserialize, Serialize};

use crate::{
    access::may_configure,
    limits::{AGENT_TOOLS_MAX, PURPOSE_CHARS_MAX, TOOL_CHARS_MAX},
};

/// How an enlisted agent describes itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Introduction {
    /// Its purpose, one line.
    pub purpose: String,
    /// The tools that it uses, for information.
    pub tools: Vec<String>,
}

impl Introduction {
    /// Whether it is within the limits.
    fn fits(&self) -> bool {
        let chars = |text: &str, max| text.chars().nth(max).is_none();
        chars(&self.purpose, PURPOSE_CHARS_MAX)
            && self.tools.len() <= AGENT_TOOLS_MAX
            && self.tools.iter().all(|tool| chars(tool, TOOL_CHARS_MAX))
    }

    /// Whether each text is one line without hidden characters.
    fn is_plain(&self) -> bool {
        check_line(&self.purpose).is_ok() && self.tools.iter().all(|tool| check_name(tool).is_ok())
    }
}

/// A change of an enlistment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EnlistedEvent {
    /// The agent enlisted, or changed its introduction.
    AgentEnlisted(Introduction),
    AgentDismissed(Dismissal),
}

/// The actor; `None` if the agent's account was deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Dismissal {
    pub(crate) by: Option<Actor>,
}

/// The introduction of an agent; `None` if it is not enlisted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Enlistment(pub(crate) Option<Introduction>);

/// The enlistments as a room of the engine.
#[derive(Debug)]
pub(crate) struct EnlistedRoom;

/// The introductions of the enlisted agents, by handle.
pub(crate) const ENLISTED: &str = "runs.enlisted";

plenary_engine::stored_forms!(EnlistedEvent: AgentEnlisted, AgentDismissed);

impl Room for EnlistedRoom {
    type State = Enlistment;
    type Event = EnlistedEvent;
    const CATEGORY: &'static str = "runs.enlisted";
    const SNAPSHOT_FORM: u16 = 1;

    fn payer(id: &str, _: &Enlistment, event: &EnlistedEvent) -> Option<OwnerName> {
        match event {
            EnlistedEvent::AgentEnlisted(_) => id.parse().ok().map(|handle: AgentHandle| handle.owner_name()),
            EnlistedEvent::AgentDismissed(_) => None,
        }
    }
    fn evolve(state: &mut Enlistment, _: Version, _: TimestampMs, event: &EnlistedEvent) {
        state.0 = match event {
            EnlistedEvent::AgentEnlisted(introduction) => Some(introduction.clone()),
            EnlistedEvent::AgentDismissed(_) => None,
        };
    }
    fn index(id: &str, event: &EnlistedEvent) -> Vec<IndexOp> {
        let key = id.to_owned();
        vec![match event {
            EnlistedEvent::AgentEnlisted(introduction) => {
                let value = serde_json::to_vec(introduction).expect("strings can be written");
                IndexOp::put_value(ENLISTED, key, value)
            }
            EnlistedEvent::AgentDismissed(_) => IndexOp::delete(ENLISTED, key),
        }]
    }
}

/// Enlists the agent of the token, or dismisses an agent.
pub(crate) struct EnlistCommand {
    pub(crate) accounts: Accounts,
    pub(crate) handle: AgentHandle,
    /// The caller; `None` if the agent's account was deleted.
    pub(crate) authority: Option<Authority>,
    /// The introduction; `None` dismisses the agent.
    pub(crate) introduction: Option<Introduction>,
}

/// Why an agent is not enlisted or dismissed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EnlistRejection {
    /// The token is no longer valid.
    Unauthenticated,
    /// Only the agent itself may enlist; the agent, its owner and the operator may dismiss it.
    Forbidden,
    /// The introduction is too long.
    TooLong,
    /// A text has more than one line, or contains a control, direction or invisible character.
    Hidden,
    /// The server, or the agent's owner, has the maximum number of agents.
    TooMany,
}

/// Decides [`EnlistCommand`], with or without a caller. A command that would change nothing writes nothing.
fn decide(
    state: &Enlistment,
    handle: &AgentHandle,
    by: Option<Actor>,
    introduction: Option<&Introduction>,
) -> Result<Decision<EnlistedEvent, ()>, EnlistRejection> {
    let is_itself = by == Some(Actor::Agent(handle.clone()));
    let may_dismiss = by.as_ref().is_none_or(|by| is_itself || may_configure(by, &handle.owner_name()));
    match introduction {
        Some(_) if !is_itself => Err(EnlistRejection::Forbidden),
        None if !may_dismiss => Err(EnlistRejection::Forbidden),
        Some(introduction) if !introduction.fits() => Err(EnlistRejection::TooLong),
        Some(introduction) if !introduction.is_plain() => Err(EnlistRejection::Hidden),
        wanted if wanted == state.0.as_ref() => Ok(Decision::unchanged(())),
        Some(introduction) => Ok(Decision::new(vec![EnlistedEvent::AgentEnlisted(introduction.clone())], ())),
        None => Ok(Decision::new(vec![EnlistedEvent::AgentDismissed(Dismissal { by })], ())),
    }
}

impl Command<EnlistedRoom> for EnlistCommand {
    const NAME: &'static str = "enlist";
    type Reply = ();
    type Rejection = EnlistRejection;
    type Facts = bool;

    async fn facts(&self, _: &Enlistment, conditions: &mut Conditions) -> Result<bool, Fault> {
        Ok(match &self.authority {
            Some(authority) => self.accounts.holds(authority, conditions).await?,
            None => true,
        })
    }

    fn decide(&self, state: &Enlistment, is_token_valid: &bool, _: &Point) -> Decided<EnlistedRoom, Self> {
        if !is_token_valid {
            return Err(EnlistRejection::Unauthenticated);
        }
        let by = self.authority.as_ref().map(|authority| authority.by.clone());
        decide(state, &self.handle, by, self.introduction.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use plenary_engine::golden::assert_frozen;

    use super::*;

    fn introduction(purpose: &str, tools: &[&str]) -> Introduction {
        Introduction { purpose: purpose.into(), tools: tools.iter().map(|tool| (*tool).into()).collect() }
    }

    /// The decision if `actor` enlists `@nick.tool`; `-` is no caller.
    fn decide_events(
        state: &Enlistment,
        actor: &str,
        introduced: Option<&Introduction>,
    ) -> Result<Vec<EnlistedEvent>, EnlistRejection> {
        let actor = (actor != "-").then(|| actor.parse().unwrap());
        let decision = decide(state, &"@nick.tool".parse().unwrap(), actor, introduced);
        decision.map(|decision| decision.events)
    }

    #[test]
    fn an_agent_enlists_itself_and_is_let_go_by_those_who_own_it() {
        let enlisted = || EnlistedEvent::AgentEnlisted(introduction("reads", &["a"]));
        let enlisted_state = Enlistment(Some(introduction("reads", &["a"])));
        let reads_card = introduction("reads", &["a"]);
        let reads = || Some(&reads_card);
        assert_eq!(decide_events(&Enlistment::default(), "@nick.tool", reads()), Ok(vec![enlisted()]));
        assert_eq!(decide_events(&enlisted_state, "@nick.tool", reads()), Ok(Vec::new()), "it stands so");
        let writes = introduction("writes", &[]);
        let changed = decide_events(&enlisted_state, "@nick.tool", Some(&writes));
        assert_eq!(changed, Ok(vec![EnlistedEvent::AgentEnlisted(writes)]));
        for other in ["@nick.other", "~nick", "operator"] {
            assert_eq!(
                decide_events(&enlisted_state, other, reads()),
                Err(EnlistRejection::Forbidden),
                "{other}"
            );
        }
        for actor in ["@nick.tool", "~nick", "operator"] {
            let dismissed = EnlistedEvent::AgentDismissed(Dismissal { by: Some(actor.parse().unwrap()) });
            assert_eq!(decide_events(&enlisted_state, actor, None), Ok(vec![dismissed]), "{actor}");
        }
        assert_eq!(
            decide_events(&enlisted_state, "-", None),
            Ok(vec![EnlistedEvent::AgentDismissed(Dismissal { by: None })])
        );
        for other in ["@nick.other", "~ann"] {
            assert_eq!(
                decide_events(&enlisted_state, other, None),
                Err(EnlistRejection::Forbidden),
                "{other}"
            );
        }
        assert_eq!(decide_events(&Enlistment::default(), "~nick", None), Ok(Vec::new()), "nobody is there");
    }

    #[test]
    fn what_an_agent_tells_of_itself_has_limits() {
        let (longest_purpose, tool) = ("ü".repeat(PURPOSE_CHARS_MAX), "t".repeat(TOOL_CHARS_MAX));
        let tools = vec![&*tool; AGENT_TOOLS_MAX];
        let event_count = |purpose: &str, tools: &[&str]| {
            decide_events(&Enlistment::default(), "@nick.tool", Some(&introduction(purpose, tools)))
                .map(|events| events.len())
        };
        assert_eq!(event_count(&longest_purpose, &tools), Ok(1));
        assert_eq!(event_count(&(longest_purpose.clone() + "x"), &tools), Err(EnlistRejection::TooLong));
        assert_eq!(
            event_count(&longest_purpose, &[&tools[..], &["t"]].concat()),
            Err(EnlistRejection::TooLong)
        );
        assert_eq!(event_count(&longest_purpose, &[&(tool.clone() + "t")]), Err(EnlistRejection::TooLong));
    }

    #[test]
    fn the_stored_forms_are_frozen() {
        assert_frozen::<EnlistedEvent>(&[
            ("AgentEnlisted", r#"{"purpose":"reads","tools":["a"]}"#),
            ("AgentDismissed", r#"{"by":"~nick"}"#),
            ("AgentDismissed", r#"{"by":null}"#),
        ]);
    }
}
