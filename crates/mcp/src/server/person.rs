//! The person at a client that supports elicitation: gets a form there. In a session the server asks during the call
//! (`elicitation/create`); without sessions the result of the call asks, and the client repeats the call with the answer.
//! Must not know: the tool, or its purpose.

use std::sync::Arc;

use rmcp::{
    RoleServer,
    model::{
        CallToolRequestParams, InputRequests, InputRequiredResult, RequestId, ServerNotification,
        ServerRequest,
    },
    service::{Peer, PeerRequestOptions, RequestContext},
};
use serde_json::{Map, Value, json};

use crate::tool::{ClientPerson, LivePerson, PersonFuture, PersonQuestion, PersonReply, Rounds};

/// The name of the question among the requests for input of a result.
const KEY: &str = "answer";

/// The client of one call.
struct Client(Peer<RoleServer>);

/// The person at the client of a call, if it supports elicitation by forms.
pub(super) fn of(
    context: &RequestContext<RoleServer>,
    request: &CallToolRequestParams,
    is_sessionless: bool,
) -> Option<ClientPerson> {
    if is_sessionless {
        let reply = reply(request);
        let rounds = (reply.is_some() || shows_forms(context)).then(|| Rounds::new(reply));
        return rounds.map(|rounds| ClientPerson::BetweenCalls(Arc::new(rounds)));
    }
    shows_forms(context).then(|| ClientPerson::InCall(Arc::new(Client(context.peer.clone()))))
}

fn shows_forms(context: &RequestContext<RoleServer>) -> bool {
    let declared = serde_json::to_value(context.client_capabilities()).unwrap_or_default();
    // A client without modes supports forms, as before modes existed.
    declared["elicitation"]
        .as_object()
        .is_some_and(|modes| modes.is_empty() || modes.get("form").is_some_and(Value::is_object))
}

/// The person's reply to the question of an earlier call. Its state comes from the client, so it only names what the caller
/// may read anyway.
fn reply(request: &CallToolRequestParams) -> Option<PersonReply> {
    let state = request.request_state.clone()?;
    let answer = request.input_responses.as_ref().and_then(|answers| answers.get(KEY));
    Some(PersonReply { state, values: answer.and_then(accepted) })
}

/// The values of an answer; `None` without values: the client may have declined by itself.
fn accepted(answer: &Value) -> Option<Map<String, Value>> {
    (answer["action"] == "accept").then(|| answer["content"].as_object().cloned().unwrap_or_default())
}

fn form(message: &str, schema: &Value) -> Value {
    let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
    json!({"method": "elicitation/create", "params": params})
}

/// The result that asks the person, if the call has a question.
pub(super) fn input_required(person: &ClientPerson) -> Option<InputRequiredResult> {
    let ClientPerson::BetweenCalls(rounds) = person else { return None };
    let PersonQuestion { message, schema, state } = rounds.question()?;
    let requests: InputRequests = serde_json::from_value(json!({KEY: form(message, schema)})).ok()?;
    Some(InputRequiredResult::new(Some(requests), Some(state.clone())))
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

impl LivePerson for Client {
    fn ask<'a>(&'a self, message: &'a str, schema: Value) -> PersonFuture<'a> {
        Box::pin(async move {
            let request: ServerRequest = serde_json::from_value(form(message, &schema)).ok()?;
            let pending =
                self.0.send_cancellable_request(request, PeerRequestOptions::no_options()).await.ok()?;
            let mut question = OpenQuestion(self.0.clone(), Some(pending.id.clone()));
            let answer = pending.await_response().await;
            question.1 = None;
            accepted(&serde_json::to_value(answer.ok()?).ok()?)
        })
    }
}
