//! `/peers/{peer}/…`: what an agent of this network asks of a peer.
//! Must not know: what a peer answers.

use axum::{
    extract::{FromRequest, FromRequestParts, Path, Request, State, rejection::PathRejection},
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use http::{Method, request::Parts};
use plenary_accounts::AgentCaller;
use plenary_edge::{Operation, OperationDoc, read_bytes};
use plenary_kernel::{Class, OwnerName, Refusal};
use plenary_room::house_error;
use serde_json::{Map, Value};

use super::Door;
use crate::{guests::METHODS, limits::GUEST_BODY_BYTES_MAX, refusals::HouseRefusal};

const PATH: &str = "/peers/{peer}/{*path}";

fn doc(id: &'static str, method: Method, summary: &'static str) -> OperationDoc {
    OperationDoc::new(id, method, PATH, summary)
        .no_tool("the tools `channel` and `run_agent` take a peer")
        .without_key()
        .description(
            "`path` is that of an operation of the peer about channels, projects (named in full, `OWNER:ID`) or runs, with its \
             query, body and `Idempotency-Key`. The peer's room answers in its own form, and with the names of its network.",
        )
        .path_parameter::<OwnerName>("peer", "The local name of the peer.")
        .path_parameter::<String>("path", "The path at the peer.")
        .reply::<Value>()
        .or_reply_type("text/event-stream")
        .errors(Class::Unauthenticated, &["missing_authorization", "invalid_authorization"])
        .errors(Class::NotFound, &["not_found"])
        .errors(Class::TooMany, &["too_many_requests"])
        .errors(Class::Unavailable, &["peer_unreachable"])
}

pub(super) fn operations() -> Vec<Operation<Door>> {
    let [get, post, patch, delete] = METHODS;
    vec![
        doc("peer.read", get, "Read at a peer").handled_by(forward),
        doc("peer.write", post, "Write at a peer")
            .optional_request::<Map<String, Value>>()
            .example(|| Value::Object(Map::new()))
            .handled_by(forward),
        doc("peer.edit", patch, "Change something at a peer")
            .optional_request::<Map<String, Value>>()
            .example(|| Value::Object(Map::new()))
            .handled_by(forward),
        doc("peer.delete", delete, "Delete at a peer").handled_by(forward),
    ]
}

/// A request of an agent for a peer.
struct Forwarded {
    caller: AgentCaller,
    parts: Parts,
    body: Bytes,
}

impl FromRequest<Door> for Forwarded {
    type Rejection = Response;

    async fn from_request(request: Request, door: &Door) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let caller = AgentCaller::from_request_parts(&mut parts, door).await?;
        let body = read_bytes(&parts, body, GUEST_BODY_BYTES_MAX).await.map_err(house_error)?;
        Ok(Self { caller, parts, body })
    }
}

async fn forward(
    State(door): State<Door>,
    path: Result<Path<(String, String)>, PathRejection>,
    Forwarded { caller, parts, body }: Forwarded,
) -> Result<Response, HouseRefusal> {
    let Path((peer, _)) = path.map_err(|_| Refusal::not_found())?;
    let peer: OwnerName = peer.parse().map_err(|_| Refusal::not_found())?;
    // As it was sent, so that the peer sees the same path.
    let sent = parts.uri.path_and_query().map_or("", |path| path.as_str());
    let path = sent.splitn(4, '/').nth(3).map(|rest| format!("/{rest}")).ok_or_else(Refusal::not_found)?;
    let answer = door.links.forward_request(&caller.handle, (&peer, &path), (&parts, body)).await?;
    Ok(answer.into_response())
}
