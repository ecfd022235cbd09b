//! The host's side: a signed request of a guest is carried out by the rooms, in the guest's name.
//! Must not know: signatures.

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http::{HeaderValue, Request, request::Parts};
use plenary_accounts::GuestIdentity;
use plenary_edge::operations::{Caller, Operations};
use plenary_kernel::{AgentHandle, Refusal, Share};

use super::{ANSWERED, CROSSING, HOPS, RETURNING, body::ending, copy_headers, targets::guest_target};
use crate::{
    Links,
    limits::GUEST_BYTES_PER_MINUTE_MAX,
    refusals::{HouseRefusal, too_many_requests, unavailable},
    routes::PeerCall,
};

impl Links {
    /// Sets the operations that guests call; until then, and after [`Links::end_operations`], there are none.
    pub fn begin_operations(&self, operations: Operations) {
        *self.0.operations.write() = Some(operations);
    }

    /// Drops the operations when the server stops.
    pub(crate) fn end_operations(&self) {
        self.0.operations.write().take();
    }

    /// The response of a room to a guest. `agent` is the guest's handle in its own network; `path` has the query.
    pub(crate) async fn serve_guest(
        &self,
        call: PeerCall,
        (agent, path): (&AgentHandle, &str),
        (parts, body): (&Parts, Bytes),
    ) -> Result<Response, HouseRefusal> {
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        let is_own = !agent.is_elsewhere();
        let guest = agent.elsewhere(&call.peer).filter(|_| is_own).ok_or_else(Refusal::not_found)?;
        // While the server starts or stops, nothing is known of the path.
        let operations = self.0.operations.read().clone().ok_or_else(unavailable)?;
        let requested = (&parts.method, path, query);
        let target = guest_target(operations.docs(), requested, &call.grants.owners())
            .ok_or_else(Refusal::not_found)?;
        if self.accounts().guest_standing(&guest).await?.is_none() {
            return Err(Refusal::not_found().into());
        }
        let now = self.now();
        if self.0.guest_bytes.of(&call.accord, now) >= GUEST_BYTES_PER_MINUTE_MAX {
            return Err(too_many_requests().into());
        }
        self.0.guest_bytes.add(&call.accord, body.len(), now);
        let caller = Caller::of(parts).without_headers();
        let hops = parts.headers.get(HOPS).and_then(|hops| hops.to_str().ok()?.parse().ok());
        let identity = GuestIdentity::of_signed(guest, hops).ok_or_else(Refusal::not_found)?;
        let mut request = Request::new(Body::from(body));
        copy_headers(&parts.headers, request.headers_mut(), CROSSING);
        *request.method_mut() = parts.method.clone();
        *request.uri_mut() = target.parse().map_err(|_| Refusal::not_found())?;
        let answer = operations.carry(&caller.known_as(identity), request).await;
        Ok(self.guest_response(call, answer))
    }

    fn guest_response(&self, call: PeerCall, answer: Response) -> Response {
        let (head, body) = answer.into_parts();
        let end = {
            let (links, accord, changes) = (self.clone(), call.accord.clone(), call.changes.clone());
            async move { links.accord_end(changes, &accord).await }
        };
        let share: Share<_> = call.into_share();
        let mut response = Response::new(ending(body.into_data_stream(), end, share));
        *response.status_mut() = head.status;
        copy_headers(&head.headers, response.headers_mut(), RETURNING);
        response.headers_mut().insert(ANSWERED, HeaderValue::from_static("1"));
        response
    }
}
