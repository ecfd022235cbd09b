//! The switch of an agent, turned by its owner: one stream per agent, `runs.switch/<name>`. Stopping an agent ends
//! its runs, and the agent stays stopped after a restart.
//! Must not know: HTTP; how a run ends.

use plenary_accounts::{Accounts, Actor};
use plenary_engine::{Command, Conditions, Decided, Decision, ExecuteError, Point, Room, Sealed, seal};
use plenary_kernel::{OwnerName, TimestampMs, Version};
use plenary_log::{Fault, Order};
use serde::{Deserialize, Serialize};

use crate::{
    Runs,
    access::may_configure,
    command::{Caller, CancelAll},
    id::ThreadId,
    room::{BUSY, HELD},
};

/// The switch was turned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SwitchEvent {
    /// The agent accepts no more runs.
    AgentStopped(SwitchChange),
    /// The agent accepts runs again.
    AgentStarted(SwitchChange),
}

/// Who turned the switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SwitchChange {
    pub(crate) by: Actor,
}

/// The version at which an agent was stopped; `None` if it is not stopped.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Switch {
    pub(crate) stopped: Option<Version>,
}

/// The switches as a room of the engine.
#[derive(Debug)]
pub(crate) struct SwitchRoom;

plenary_engine::stored_forms!(SwitchEvent: AgentStopped, AgentStarted);

impl Room for SwitchRoom {
    type State = Switch;
    type Event = SwitchEvent;
    const CATEGORY: &'static str = "runs.switch";
    const SNAPSHOT_FORM: u16 = 1;

    fn payer(_: &str, _: &Switch, event: &SwitchEvent) -> Option<OwnerName> {
        match event {
            SwitchEvent::AgentStarted(change) => change.by.owner(),
            SwitchEvent::AgentStopped(_) => None,
        }
    }
    fn evolve(state: &mut Switch, version: Version, _: TimestampMs, event: &SwitchEvent) {
        state.stopped = match event {
            SwitchEvent::AgentStopped(_) => Some(version),
            SwitchEvent::AgentStarted(_) => None,
        };
    }
}

/// Stops or starts an agent.
pub(crate) struct TurnSwitch {
    pub(crate) accounts: Accounts,
    pub(crate) caller: Caller,
    pub(crate) stops: bool,
}

/// The position of the switch after the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TurnedTo {
    pub(crate) stopped: bool,
}

/// Why a switch is not turned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SwitchRejection {
    /// The token is no longer valid.
    Unauthenticated,
    /// Only its owner and the operator stop and start an agent.
    Forbidden,
}

/// Decides `TurnSwitch`; a switch that is already in that position does not change.
fn decide(
    state: &Switch,
    is_token_valid: bool,
    command: &TurnSwitch,
) -> Result<Decision<SwitchEvent, TurnedTo>, SwitchRejection> {
    let Caller { authority, owner, .. } = &command.caller;
    if !is_token_valid {
        return Err(SwitchRejection::Unauthenticated);
    }
    if !may_configure(&authority.by, owner) {
        return Err(SwitchRejection::Forbidden);
    }
    let reply = TurnedTo { stopped: command.stops };
    let change = SwitchChange { by: authority.by.clone() };
    Ok(match (state.stopped.is_some(), command.stops) {
        (false, true) => Decision::new(vec![SwitchEvent::AgentStopped(change)], reply),
        (true, false) => Decision::new(vec![SwitchEvent::AgentStarted(change)], reply),
        (true, true) | (false, false) => Decision::unchanged(reply),
    })
}

impl Command<SwitchRoom> for TurnSwitch {
    const NAME: &'static str = "turn_switch";
    type Reply = TurnedTo;
    type Rejection = SwitchRejection;
    type Facts = bool;

    async fn facts(&self, _: &Switch, conditions: &mut Conditions) -> Result<bool, Fault> {
        self.accounts.holds(&self.caller.authority, conditions).await
    }

    fn decide(&self, state: &Switch, is_token_valid: &bool, _: &Point) -> Decided<SwitchRoom, Self> {
        decide(state, *is_token_valid, self)
    }
}

impl Runs {
    /// The version at which an agent was stopped; `None` if it accepts runs.
    ///
    /// # Errors
    /// If the store fails.
    pub fn stopped<'a>(&'a self, agent: &'a str) -> Sealed<'a, Result<Option<Version>, Fault>> {
        seal(async move { Ok(self.0.switches.fresh(agent).await?.0.stopped) })
    }

    /// Stops or starts an agent. When it stops, active runs are canceled, and queued and held runs end.
    pub(crate) async fn turn(
        &self,
        caller: Caller,
        stops: bool,
    ) -> Result<(), ExecuteError<SwitchRejection>> {
        let (agent, by) = (caller.agent.clone(), caller.authority.by.clone());
        let command = TurnSwitch { accounts: self.accounts().clone(), caller, stops };
        self.0.switches.execute(&agent, &command, None).await?;
        // Also if the agent was stopped already: the earlier cancellation may have been interrupted.
        if stops {
            self.cancel_agent(&agent, &by).await?;
        }
        Ok(())
    }

    /// Cancels all runs of an agent.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn cancel_agent(&self, agent: &str, by: &Actor) -> Result<(), Fault> {
        // An agent of the configuration that was enlisted before also has threads under its full name.
        let is_of_agent = |opened: &str| {
            opened == agent
                || self.0.registry.get(opened).is_some_and(|registered| registered.name() == agent)
        };
        // A thread that has only held runs is not busy.
        for index in [BUSY, HELD] {
            let mut rows = self.log().index_rows(index, "", Order::Ascending);
            while let Some(row) = rows.next().await? {
                let key = row.key.split_once('/').map_or(&*row.key, |(thread, _)| thread);
                let Ok(thread) = key.parse() else { continue };
                let state = self.fresh(thread).await;
                let state = Fault::skip_corrupt(state, "a damaged thread is left out of a cancellation")?;
                let Some(state) = state else { continue };
                if state.opened.as_ref().is_some_and(|opened| is_of_agent(&opened.agent)) {
                    self.cancel_thread(thread, by).await?;
                }
            }
        }
        Ok(())
    }

    /// Cancels all runs of a thread.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn cancel_thread(&self, thread: ThreadId, by: &Actor) -> Result<(), Fault> {
        ExecuteError::skip_refused(self.ask(thread, CancelAll { by: by.clone() }, None).await).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use plenary_engine::golden::assert_frozen;

    use super::*;

    #[test]
    fn the_stored_forms_are_frozen() {
        assert_frozen::<SwitchEvent>(&[
            ("AgentStopped", r#"{"by":"~nick"}"#),
            ("AgentStarted", r#"{"by":"~nick"}"#),
        ]);
    }
}
