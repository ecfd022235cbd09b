//! The signed requests of a peer's agents to channels, projects and runs.
//! Must not know: the rules of those rooms.

use axum::{
    extract::{FromRequest, Path, Request, State, rejection::PathRejection},
    response::Response,
};
use http::{Method, request::Parts};
use plenary_edge::{Operation, OperationDoc};
use plenary_kernel::{AgentHandle, Class, Refusal};
use serde_json::{Map, Value};

use super::{BUSY, Door, SignedCall, accord_doc, doc};
use crate::{guests::METHODS, limits::GUEST_BODY_BYTES_MAX, refusals::HouseRefusal};

const PATH: &str = "/link/v1/accords/{accord_id}/as/{agent}/{*path}";

fn guest_doc(id: &'static str, method: Method, summary: &'static str) -> OperationDoc {
    accord_doc(doc(id, method, PATH, summary))
        .description(
            "Signed (RFC 9421) with the peer's key. The room of the path answers `@OWNER-at-PEER.NAME` in its own form, with the \
             header `plenary-guest`; without that header the response is one of the link.",
        )
        .path_parameter::<AgentHandle>("agent", "The agent, as its network names it.")
        .path_parameter::<String>("path", "The path of an operation for guests.")
        .reply::<Value>()
        .or_reply_type("text/event-stream")
        .errors(Class::TooMany, BUSY)
        .errors(Class::Unavailable, &["unavailable"])
}

pub(super) fn operations() -> Vec<Operation<Door>> {
    let [get, post, patch, delete] = METHODS;
    vec![
        guest_doc("link.guest_read", get, "Read as an agent of the peer").handled_by(serve),
        guest_doc("link.guest_write", post, "Write as an agent of the peer")
            .optional_request::<Map<String, Value>>()
            .example(|| Value::Object(Map::new()))
            .handled_by(serve),
        guest_doc("link.guest_edit", patch, "Change something as an agent of the peer")
            .optional_request::<Map<String, Value>>()
            .example(|| Value::Object(Map::new()))
            .handled_by(serve),
        guest_doc("link.guest_delete", delete, "Delete as an agent of the peer").handled_by(serve),
    ]
}

/// A signed request of a guest.
pub(super) struct GuestCall {
    call: SignedCall,
    parts: Parts,
}

impl FromRequest<Door> for GuestCall {
    type Rejection = HouseRefusal;

    async fn from_request(request: Request, door: &Door) -> Result<Self, HouseRefusal> {
        let (parts, call) = SignedCall::read(request, door, GUEST_BODY_BYTES_MAX).await?;
        Ok(Self { call, parts })
    }
}

async fn serve(
    State(door): State<Door>,
    path: Result<Path<(String, String, String)>, PathRejection>,
    GuestCall { call, parts }: GuestCall,
) -> Result<Response, HouseRefusal> {
    let Path((accord, agent, _)) = path.map_err(|_| Refusal::not_found())?;
    let agent: AgentHandle = agent.parse().map_err(|_| Refusal::not_found())?;
    let peer = door.admit_guest(&call, Ok(Path(accord))).await?;
    // As it was sent: a decoded path could have other segments.
    let sent = parts.uri.path_and_query().map_or("", |path| path.as_str());
    let path = sent.splitn(8, '/').nth(7).map(|rest| format!("/{rest}")).ok_or_else(Refusal::not_found)?;
    door.links.serve_guest(peer, (&agent, &path), (&parts, call.body)).await
}
