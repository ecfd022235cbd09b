//! The home's side: signs a request of an agent of this network, sends it to the peer, and returns the peer's response.
//! Must not know: the content of a request.

use axum::response::Response;
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header, request::Parts};
use http_body_util::BodyExt as _;
use plenary_accounts::HostedIdentity;
use plenary_kernel::{AgentHandle, OwnerName, Refusal};
use plenary_sessions::crossing::SessionCarrier as _;
use tokio::time::timeout;

use super::{ANSWERED, CROSSING, HOPS, RETURNING, body::ending, copy_headers};
use crate::{
    Links,
    limits::GUEST_ANSWER_WITHIN,
    peer_calls::{ACCORDS_PATH, CallFailure},
    refusals::{HouseRefusal, peer_unreachable, too_many_requests},
};

/// The peer's response is data of another network, and never a page of this one.
const SANDBOX: HeaderValue = HeaderValue::from_static("default-src 'none'; sandbox");

impl Links {
    /// The response of a peer to an agent of this network. `path` has the query.
    pub(crate) async fn forward_request(
        &self,
        agent: &AgentHandle,
        (peer, path): (&OwnerName, &str),
        (parts, body): (&Parts, Bytes),
    ) -> Result<Response, HouseRefusal> {
        let changes = self.0.changed.subscribe();
        let owner = agent.owner_name();
        let linked = self.linked(peer).await?.ok_or_else(Refusal::not_found)?;
        if !self.takes_part(peer, &owner).await? {
            return Err(Refusal::not_found().into());
        }
        let owners = self.0.guests_out.take(owner, 1).map_err(|_| too_many_requests())?;
        let peers = self.0.guests_out_to.take(linked.accord.clone(), 1).map_err(|_| too_many_requests())?;
        let target = format!("{ACCORDS_PATH}/{}/as/{agent}{path}", linked.accord);
        let request = self.signed_request(&linked.network, (&parts.method, &target), body).await;
        let mut request = request.map_err(|failure| unanswered(&failure))?;
        copy_headers(&parts.headers, request.headers_mut(), CROSSING);
        if let Some(identity) = parts.extensions.get::<HostedIdentity>() {
            request.headers_mut().insert(HOPS, HeaderValue::from(identity.hops()));
        }
        let mut closed = self.0.closed.subscribe();
        let outcome = tokio::select! {
            outcome = timeout(GUEST_ANSWER_WITHIN, self.send(&linked.network, request)) => outcome,
            () = self.accord_end(changes.clone(), &linked.accord) => return Err(Refusal::not_found().into()),
            _ = closed.wait_for(|closed| *closed) => return Err(peer_unreachable("this server stops").into()),
        };
        let answer = match outcome {
            Ok(Ok(answer)) => answer,
            Ok(Err(failure)) => return Err(unanswered(&failure)),
            Err(_) => return Err(peer_unreachable("it did not answer in time").into()),
        };
        let (head, body) = answer.into_parts();
        if !head.headers.contains_key(ANSWERED) {
            return Err(unanswered(&CallFailure::Refused(head.status, None)));
        }
        let links = self.clone();
        let end = async move {
            tokio::select! {
                () = links.accord_end(changes, &linked.accord) => {}
                _ = closed.wait_for(|closed| *closed) => {}
            }
        };
        let mut response = Response::new(ending(body.into_data_stream(), end, (owners, peers)));
        *response.status_mut() = head.status;
        copy_headers(&head.headers, response.headers_mut(), RETURNING);
        let headers = response.headers_mut();
        // A peer may redirect only to its own paths.
        if let Some(location) = headers.remove(header::LOCATION)
            && let Some(local) = local_location(peer, &location)
        {
            headers.insert(header::LOCATION, local);
        }
        headers.insert(header::CONTENT_SECURITY_POLICY, SANDBOX);
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        Ok(response)
    }
}

/// A path at the peer, as a path here.
fn local_location(peer: &OwnerName, path: &HeaderValue) -> Option<HeaderValue> {
    let path = path.to_str().ok().filter(|path| path.starts_with('/'))?;
    HeaderValue::try_from(format!("/peers/{peer}{path}")).ok()
}

/// The refusal for a request that no room of the peer answered.
fn unanswered(failure: &CallFailure) -> HouseRefusal {
    match failure {
        CallFailure::Refused(StatusCode::NOT_FOUND, _) => Refusal::not_found().into(),
        CallFailure::Refused(StatusCode::TOO_MANY_REQUESTS, _) => too_many_requests().into(),
        CallFailure::Refused(..) => peer_unreachable(&failure.to_string()).into(),
        CallFailure::Unreachable(error) => peer_unreachable(error).into(),
    }
}
