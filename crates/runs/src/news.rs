//! The runs that wait for the agent that started them.
//! Must not know: marks, or the presentation.

use plenary_accounts::Actor;
use plenary_engine::Room as _;
use plenary_kernel::{AgentHandle, Version};
use plenary_log::{Fault, Order, StoredEvent, StreamName};
use serde_json::Value;

use crate::{
    Runs,
    access::admits,
    event::ThreadEvent,
    id::{RunId, ThreadId},
    room::{OPENED, ThreadRoom},
    state::{RunState, RunStatus, ThreadStart, ThreadState},
};

/// A run that waits for input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingRun {
    /// The event since which it waits.
    pub event: StoredEvent,
    /// The name of its agent.
    pub agent: String,
    /// Its thread.
    pub thread: ThreadId,
    /// The run.
    pub run: RunId,
    /// The title of its thread.
    pub title: Option<String>,
    /// The requested input, as text.
    pub text: String,
}

/// Whether the stream is a thread's.
pub fn is_thread(stream: &StreamName) -> bool {
    stream.category() == ThreadRoom::CATEGORY
}

fn waits(state: &ThreadState) -> Option<&RunState> {
    state.active().filter(|run| run.status == RunStatus::Waiting)
}

impl Runs {
    /// The threads that an agent opened.
    pub async fn threads_of(&self, me: &AgentHandle) -> Result<Vec<StreamName>, Fault> {
        let (prefix, mut threads) = (format!("{me}/"), Vec::new());
        let mut rows = self.log().index_rows(OPENED, &prefix, Order::Ascending);
        while let Some(row) = rows.next().await? {
            threads.extend(row.key.rsplit('/').next().map(ThreadRoom::stream));
        }
        Ok(threads)
    }

    /// The agent that opened a thread in which a run waits now, and the version since which it waits.
    pub async fn waits_for(&self, stream: &StreamName) -> Result<Option<(AgentHandle, Version)>, Fault> {
        let (state, _) = self.0.threads.observed(stream.id()).await?;
        let opener = state.opened.as_ref().map(|opened| opened.by.clone());
        Ok(match (waits(&state), opener) {
            (Some(run), Some(Actor::Agent(agent))) => Some((agent, run.waits)),
            (Some(_) | None, _) => None,
        })
    }

    /// The run of a thread that waits for its opener since the event at this version.
    pub async fn waiting(
        &self,
        me: &AgentHandle,
        stream: &StreamName,
        since: Version,
    ) -> Result<Option<WaitingRun>, Fault> {
        let (state, _) = self.0.threads.fresh(stream.id()).await?;
        let Some((opened, run)) = self.answerable(me, &state, since).await? else { return Ok(None) };
        let before = Version(since.0.saturating_sub(1));
        let Some(event) = self.0.threads.log().read_stream(stream, before, 1).await?.pop() else {
            return Ok(None);
        };
        let ThreadEvent::EventEmitted(emitted) = ThreadEvent::decode(&event)? else { return Ok(None) };
        let Ok(thread) = stream.id().parse() else { return Ok(None) };
        let (agent, title) = (opened.agent.to_string(), opened.title.clone());
        Ok(Some(WaitingRun {
            agent,
            thread,
            run: run.id,
            title,
            text: question_text(&emitted.members),
            event,
        }))
    }

    /// Whether a run of a thread waits for its opener since the event at this version. From the states in memory.
    pub(crate) async fn is_waiting(
        &self,
        me: &AgentHandle,
        stream: &StreamName,
        since: Version,
    ) -> Result<bool, Fault> {
        let (state, _) = self.0.threads.observed(stream.id()).await?;
        Ok(self.answerable(me, &state, since).await?.is_some())
    }

    /// How a thread was opened, and its run that waits since this version, if the agent opened the thread and can
    /// answer.
    async fn answerable<'s>(
        &self,
        me: &AgentHandle,
        state: &'s ThreadState,
        since: Version,
    ) -> Result<Option<(&'s ThreadStart, &'s RunState)>, Fault> {
        let opened = state.opened.as_ref().filter(|opened| opened.by == Actor::Agent(me.clone()));
        let run = waits(state).filter(|run| run.waits == since);
        let (Some(opened), Some(run)) = (opened, run) else { return Ok(None) };
        // If the agent no longer accepts the caller, the question cannot be answered.
        if let Some(agent) = self.0.registry.get(&opened.agent)
            && !admits(self.accounts(), &opened.by, &agent.gate(), &mut Vec::new()).await?
        {
            return Ok(None);
        }
        Ok(Some((opened, run)))
    }
}

/// `request_keys` as lines: each key and its description.
fn question_text(members: &[u8]) -> String {
    let members: Value = serde_json::from_slice(members).unwrap_or_default();
    let Some(keys) = members.get("request_keys").and_then(Value::as_object) else { return String::new() };
    let line = |(name, question): (&String, &Value)| {
        let text = question.as_str().map_or_else(|| question.to_string(), str::to_owned);
        format!("{name}: {text}")
    };
    keys.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_a_line_each() {
        assert_eq!(
            question_text(br#"{"request_keys":{"city":"Which city?","n":3}}"#),
            "city: Which city?\nn: 3"
        );
        assert_eq!(question_text(b"{}"), "");
    }
}
