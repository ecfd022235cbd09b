//! The run events that `/watch` reports: to the caller that opened the thread, and to the owner of its agent.
//! Must not know: how they are sent.

use plenary_accounts::Actor;
use plenary_engine::Room as _;
use plenary_kernel::AgentHandle;
use plenary_log::{Fault, StoredEvent, StreamName};
use plenary_room::{Onlooker, OnlookerEvent, Teller, async_trait, excerpt};
use serde_json::{Map, Value, json};

use crate::{Runs, event::ThreadEvent, registry::handle_of, room::ThreadRoom, runner::EventKind};

#[async_trait]
impl Teller for Runs {
    fn room(&self) -> &'static str {
        "runs"
    }

    fn tells_of(&self, stream: &StreamName) -> bool {
        stream.category() == ThreadRoom::CATEGORY
    }

    async fn tell(&self, event: &StoredEvent) -> Result<Option<OnlookerEvent>, Fault> {
        let (state, _) = self.0.threads.observed(event.stream.id()).await?;
        let Some(opened) = state.opened.clone() else { return Ok(None) };
        let thread_event = ThreadEvent::decode(event)?;
        let trace = if let ThreadEvent::RunQueued(queued) = &thread_event {
            queued.trace_id()
        } else {
            state.run(thread_event.run()).and_then(|run| run.trace.as_deref().map(str::to_owned))
        };
        let (kind, extra_data) = name_and_data(&thread_event);
        let mut data = Map::new();
        data.insert("run_id".into(), thread_event.run().to_string().into());
        data.insert("thread_id".into(), event.stream.id().into());
        data.insert("agent".into(), (*opened.agent).into());
        opened.title.as_deref().map(|title| data.insert("title".into(), excerpt(title).into()));
        if let Value::Object(extra_data) = extra_data {
            data.extend(extra_data);
        }
        // An agent that is no longer registered has no owner but the operator.
        let agent = self.agents().get(&opened.agent).map(|agent| agent.gate().agent);
        let agent = agent.or_else(|| handle_of(&opened.agent));
        let agents: Vec<AgentHandle> = agent.iter().chain(opened.by.agent()).cloned().collect();
        let audience = move |onlooker: &Onlooker| {
            let has_agent = agent
                .as_ref()
                .is_some_and(|agent| onlooker.owner().is_some_and(|owner| owner.as_str() == agent.owner()));
            let is_opener = match &opened.by {
                Actor::Agent(by) => onlooker.has(by),
                Actor::Owner(by) => onlooker.owner() == Some(by),
                Actor::Operator | Actor::Seed => false,
            };
            has_agent || is_opener
        };
        let data = Value::Object(data);
        Ok(Some(OnlookerEvent::new(kind, event.stream.id(), agents, data, audience).traced(trace)))
    }
}

/// The event's name, and the data of a list entry beside the run.
fn name_and_data(event: &ThreadEvent) -> (&'static str, Value) {
    match event {
        ThreadEvent::RunQueued(event) if event.held => ("run.held", json!({"by": event.by})),
        ThreadEvent::RunQueued(event) => ("run.queued", json!({"by": event.by})),
        ThreadEvent::RunReleased(_) => ("run.released", json!({})),
        ThreadEvent::RunStarted(_) => ("run.started", json!({})),
        ThreadEvent::EventEmitted(event) => {
            let kind = if event.kind == EventKind::WaitForInput { "run.waiting" } else { "run.event" };
            let text = excerpt(std::str::from_utf8(&event.members).unwrap_or_default());
            (kind, json!({"event_id": event.id, "type": event.kind, "text": text}))
        }
        ThreadEvent::RunResumed(event) => ("run.resumed", json!({"by": event.by})),
        ThreadEvent::CancelRequested(event) => ("run.cancel_requested", json!({"by": event.by})),
        ThreadEvent::RunCompleted(event) => {
            let why = event.why.as_deref().map(excerpt);
            ("run.completed", json!({"finish_reason": event.finish_reason, "why": why}))
        }
        ThreadEvent::QueuedRunCanceled(event) => {
            ("run.completed", json!({"finish_reason": "canceled", "by": event.by}))
        }
    }
}
