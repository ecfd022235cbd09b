//! The session events that `/watch` reports: those that the reader's agents may read, at the time of reading.
//! Must not know: how they are sent.

use plenary_engine::Room as _;
use plenary_kernel::AgentHandle;
use plenary_log::{Fault, StoredEvent, StreamName};
use plenary_room::{Onlooker, OnlookerEvent, Teller, async_trait, excerpt};
use plenary_telemetry::TraceParent;
use serde_json::{Value, json};

use crate::{
    Sessions,
    event::{SessionEvent, sequence},
    news::plain,
    room::SessionRoom,
};

/// Most participants that are listed with an event.
const AGENTS_PER_EVENT_MAX: usize = 16;

#[async_trait]
impl Teller for Sessions {
    fn room(&self) -> &'static str {
        "sessions"
    }

    fn tells_of(&self, stream: &StreamName) -> bool {
        stream.category() == SessionRoom::CATEGORY
    }

    async fn tell(&self, event: &StoredEvent) -> Result<Option<OnlookerEvent>, Fault> {
        let (state, _) = self.0.streams.observed(event.stream.id()).await?;
        let decoded = SessionEvent::decode(event)?;
        let trace = trace_of(&decoded);
        let (kind, actor, mut data) = describe(&decoded);
        if let Some(members) = data.as_object_mut() {
            members.insert("session_id".into(), event.stream.id().into());
            members.insert("sequence".into(), sequence(event.version).into());
            let topic = state.created.as_ref().and_then(|created| created.topic.as_deref());
            topic.map(|topic| members.insert("topic".into(), excerpt(topic).into()));
        }
        let others = state.present().filter(|other| Some(*other) != actor.as_ref()).cloned();
        let agents = actor.iter().cloned().chain(others).take(AGENTS_PER_EVENT_MAX).collect();
        let version = event.version;
        let audience = move |onlooker: &Onlooker| {
            let mut own_participants = state.participants.iter().filter(|(handle, _)| onlooker.has(handle));
            own_participants.any(|(_, participant)| participant.may_read(version))
        };
        Ok(Some(OnlookerEvent::new(kind, event.stream.id(), agents, data, audience).traced(trace)))
    }
}

/// The trace of the request that sent a message.
fn trace_of(event: &SessionEvent) -> Option<String> {
    let SessionEvent::MessageSent(message) = event else { return None };
    TraceParent::trace_of(message.trace.as_deref()?)
}

/// The event's name, its actor, and its data for a list view.
fn describe(event: &SessionEvent) -> (&'static str, Option<AgentHandle>, Value) {
    match event {
        SessionEvent::SessionCreated(event) => ("session.created", Some(event.creator.clone()), json!({})),
        SessionEvent::MessageSent(event) => {
            let text = excerpt(&plain(&event.members));
            let data = json!({"message_id": format!("msg_{}", event.id), "from": event.sender, "text": text});
            ("session.message", Some(event.sender.clone()), data)
        }
        SessionEvent::AgentInvited(event) => {
            let data = json!({"invitee": event.invitee, "by": event.by});
            ("session.invited", Some(event.by.clone()), data)
        }
        SessionEvent::AgentJoined(event) => describe_change("session.joined", &event.agent),
        SessionEvent::AgentDisconnected(event) => describe_change("session.disconnected", &event.agent),
        SessionEvent::AgentReconnected(event) => describe_change("session.reconnected", &event.agent),
        SessionEvent::AgentLeft(event) => {
            let data = json!({"agent": event.agent, "reason": event.reason});
            ("session.left", Some(event.agent.clone()), data)
        }
        SessionEvent::SessionEnded(event) => {
            ("session.ended", event.by.clone(), json!({"ended_by": event.by}))
        }
        SessionEvent::SessionReopened(event) => {
            ("session.reopened", Some(event.by.clone()), json!({"reopened_by": event.by}))
        }
    }
}

fn describe_change(kind: &'static str, agent: &AgentHandle) -> (&'static str, Option<AgentHandle>, Value) {
    (kind, Some(agent.clone()), json!({"agent": agent}))
}
