//! The person at a client that supports elicitation: gets a form there (`elicitation/create`), in sessions.
//! Must not know: the tool, or its purpose.

use rmcp::{
    RoleServer,
    model::{RequestId, ServerNotification, ServerRequest},
    service::{Peer, PeerRequestOptions, RequestContext},
};
use serde_json::{Map, Value, json};

use crate::tool::{ClientPerson, PersonFuture};

/// The client of one call.
pub(super) struct Client(Peer<RoleServer>);

impl Client {
    /// The client of a call in a session, if it supports elicitation by forms.
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Option<Self> {
        let declared = serde_json::to_value(context.client_capabilities()).unwrap_or_default();
        let modes = declared["elicitation"].as_object()?;
        // A client without modes supports forms, as before modes existed.
        (modes.is_empty() || modes.get("form").is_some_and(Value::is_object))
            .then(|| Self(context.peer.clone()))
    }
}

/// Withdraws a question when nobody waits for it any more.
struct OpenQuestion(Peer<RoleServer>, Option<RequestId>);

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        let Some(id) = self.1.take() else { return };
        let params =
            json!({"requestId": id, "reason": "It was answered elsewhere, or nobody waits any more."});
        let notice = json!({"method": "notifications/cancelled", "params": params});
        let Ok(notice) = serde_json::from_value::<ServerNotification>(notice) else { return };
        let peer = self.0.clone();
        tokio::spawn(async move {
            // Ignored: a disconnected client has no open question.
            let _sent = peer.send_notification(notice).await;
        });
    }
}

impl ClientPerson for Client {
    fn ask<'a>(&'a self, message: &'a str, schema: Value) -> PersonFuture<'a> {
        Box::pin(async move {
            let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
            let request = json!({"method": "elicitation/create", "params": params});
            let request: ServerRequest = serde_json::from_value(request).ok()?;
            let pending =
                self.0.send_cancellable_request(request, PeerRequestOptions::no_options()).await.ok()?;
            let mut question = OpenQuestion(self.0.clone(), Some(pending.id.clone()));
            let answer = pending.await_response().await;
            question.1 = None;
            let answer = serde_json::to_value(answer.ok()?).ok()?;
            let values = || answer["content"].as_object().cloned().unwrap_or_else(Map::new);
            (answer["action"] == "accept").then(values)
        })
    }
}
