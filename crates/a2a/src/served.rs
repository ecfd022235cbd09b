//! How the server mounts this room.
//! Must not know: what a call does.

use axum::Router;
use plenary_edge::RegistryFault;
use plenary_engine::recount_event;
use plenary_hub::Observer;
use plenary_log::StoredEvent;
use plenary_room::{Example, Mount, RoomDescription, ServedRoom, Tally, Task, async_trait};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{A2a, langgraph, openai, push::PushRoom, routes};

/// The category of the streams of sessions.
const SESSIONS: &str = "sessions.session";

/// An example body for each operation that has one.
const EXAMPLES: &[Example] = &[
    ("a2a.rpc", || {
        let message = json!({"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "What changed since yesterday?"}]});
        json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}})
    }),
    (
        "a2a.write",
        || json!({"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "What changed since yesterday?"}]}}),
    ),
    ("a2a.grpc", || json!("a message of the protocol, in a frame of gRPC")),
    openai::CHAT_EXAMPLE,
    openai::RESPONSE_EXAMPLE,
    langgraph::EXAMPLE,
];

#[async_trait]
impl ServedRoom for A2a {
    fn about() -> RoomDescription {
        let purpose = "Agents for clients of other protocols: Agent2Agent (A2A) 1.0, and the APIs of OpenAI and of LangGraph.";
        RoomDescription::new("a2a", purpose, &routes::operations(), EXAMPLES)
    }

    fn tally() -> Option<Tally> {
        Some(Box::new(recount_event::<PushRoom>))
    }

    fn routes(&self, mount: Mount<'_>) -> Result<Router, RegistryFault> {
        routes::routes(self.clone(), mount.metrics)
    }

    plenary_room::plays!(observer);

    fn serving(&self, stop: CancellationToken) -> Option<Task> {
        Some(Box::pin(self.clone().send_notifications(stop)))
    }

    fn close(&self) {
        self.0.stop.cancel();
    }

    async fn stop(&self) {
        self.end();
    }
}

#[async_trait]
impl Observer for A2a {
    async fn committed(&self, events: &[StoredEvent]) {
        for event in events {
            if event.stream.category() == SESSIONS {
                self.0.wakeups.wake(event.stream.id());
            }
            self.0.push.observe(event);
        }
    }
}
