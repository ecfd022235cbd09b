//! A server, a sender and a subscriber of the same principal, for trying many frames: what is taken must arrive as it
//! was sent, and what is refused must reach nobody (FO-63). Must not know: which frames are good.

use blackbox::{Agent, Server, Stream};
use serde_json::Value;

use super::speak::{Field, frame, id_of, patient_server, payload, refused, sent, submit, subscribe};

/// The bench of one test.
pub(super) struct Lab {
    pub(super) server: Server,
    pub(super) alice: Agent,
    stream: Stream,
    accepted: Vec<Value>,
}

impl Lab {
    pub(super) async fn new() -> Self {
        let server = patient_server().await;
        let alice = server.agent("@alice.bot").await;
        let stream = subscribe(&alice).await;
        Self { server, alice, stream, accepted: Vec::new() }
    }

    /// A good frame of this kind to alice's own sessions.
    pub(super) fn frame(&self, kind: &str, optional: bool) -> Value {
        frame(&self.alice, "~alice", kind, payload(kind, optional))
    }

    /// The same with another payload.
    pub(super) fn with(&self, kind: &str, payload: Value) -> Value {
        frame(&self.alice, "~alice", kind, payload)
    }

    /// The frame is accepted and goes to the one subscriber.
    pub(super) async fn takes(&mut self, what: &str, frame: Value) {
        let response = submit(&self.alice, &frame).await;
        assert_eq!(response.status, 200, "{what} is good: {response}");
        assert_eq!(sent(&response, &frame).count, 1, "{what}: {response}");
        self.accepted.push(frame);
    }

    pub(super) async fn refuses(&self, what: &str, frame: &Value, code: &str, field: Field<'_>) {
        let response = submit(&self.alice, frame).await;
        assert_eq!(response.status, 400, "{what} is refused: {response}");
        refused(&response, 400, code, field);
    }

    /// The subscriber got every accepted frame, unchanged and in order, and none of the others.
    pub(super) async fn finish(mut self) {
        let fence = self.frame("agent_advisory", false);
        self.takes("the fence", fence.clone()).await;
        let heard: Vec<Value> =
            self.stream.until(id_of(&fence)).await.into_iter().map(|event| event.frame).collect();
        assert_eq!(heard.len(), self.accepted.len(), "what was accepted arrives, and nothing else");
        for (heard, accepted) in heard.iter().zip(&self.accepted) {
            assert_eq!(heard, accepted, "a frame arrives as it was sent");
        }
    }
}
