//! The operations for other networks: the document of this network, and signed calls of peers. A request that no pinned key has
//! signed gets the one 404, whatever else is wrong with it.
//! Must not know: operators.

mod guests;
mod sessions;

use std::sync::Arc;

use axum::{
    Json,
    extract::{FromRequest, Path, Request, State, rejection::PathRejection},
};
use bytes::Bytes;
use http::{Method, StatusCode, request::Parts};
use plenary_edge::{Auth, Operation, OperationDoc, StrictJson, read_bytes};
use plenary_engine::ExecuteError;
use plenary_kernel::{AccordId, Class, OwnerName, Refusal, Share, Shares};
use tokio::sync::watch;

use super::Door;
use crate::{
    accord::{
        decide::{AccordStep, Rejection},
        state::PeersState,
    },
    grant::Grants,
    limits::BODY_BYTES_MAX,
    peer_calls::DOCUMENT_PATH,
    quota::Quotas,
    refusals::{HouseRefusal, too_many_requests},
    signature::{SentSignature, SignedParts},
    wire::{LinkAcceptance, LinkAccord, LinkFrame, LinkFrameTaken, NetworkDocument},
};

/// The code of a peer beyond its quota.
const BUSY: &[&str] = &["too_many_requests"];
/// Why models have no tools for these operations.
const NETWORKS: &str = "networks ask each other";

fn doc(id: &'static str, method: Method, path: &'static str, summary: &'static str) -> OperationDoc {
    OperationDoc::new(id, method, path, summary).auth(Auth::None).no_tool(NETWORKS).without_key()
}

/// The common part of signed calls.
fn signed_doc(doc: OperationDoc) -> OperationDoc {
    doc.errors(Class::Unauthenticated, &["signature_expired"])
        .errors(Class::NotFound, &["not_found"])
        .errors(Class::Conflict, &["signature_used"])
}

/// The common part of calls under an accord.
fn accord_doc(doc: OperationDoc) -> OperationDoc {
    signed_doc(doc).path_parameter::<AccordId>("accord_id", "The accord.")
}

pub(super) fn operations() -> Vec<Operation<Door>> {
    let network = doc("link.network", Method::GET, DOCUMENT_PATH, "Say who this network is")
        .description("Its URL, which names it, and the keys with which it signs requests to other networks (RFC 9421).")
        .reply::<NetworkDocument>()
        .errors(Class::NotFound, &["not_found"]);
    let accept = signed_doc(doc(
        "link.accept",
        Method::POST,
        "/link/v1/accords",
        "Accept an invitation of this network",
    ))
    .description("Signed (RFC 9421) with a key that the accepting network shows at `/.well-known/plenary`.")
    .success(StatusCode::CREATED)
    .request::<LinkAcceptance>()
    .reply::<LinkAccord>()
    .errors(Class::Forbidden, &["network_unproven"])
    .errors(Class::TooMany, BUSY)
    .errors(Class::Unavailable, &["peer_unreachable"]);
    let read_doc = accord_doc(doc(
        "link.read",
        Method::GET,
        "/link/v1/accords/{accord_id}",
        "Say whether an accord holds",
    ))
    .description("Signed (RFC 9421) with the peer's key.")
    .errors(Class::TooMany, BUSY)
    .reply::<LinkAccord>();
    let revoke = accord_doc(doc(
        "link.revoke",
        Method::POST,
        "/link/v1/accords/{accord_id}/revoke",
        "Hear that the peer revokes an accord",
    ))
    .description("Signed (RFC 9421) with the peer's key. The accord is dead on this side too.")
    .success(StatusCode::NO_CONTENT);
    let frame = accord_doc(doc("link.frame", Method::POST, "/link/v1/accords/{accord_id}/frames", "Take in a frame of a peer"))
        .description(
            "Signed (RFC 9421) with the peer's key. It reaches sessions of agents under the grant whose allowlists name the sender, \
             `@OWNER-at-PEER.NAME`.",
        )
        .request::<LinkFrame>()
        .reply::<LinkFrameTaken>()
        .errors(Class::Malformed, &["invalid_json", "invalid_body", "invalid_frame"])
        .errors(Class::Forbidden, &["not_granted"])
        .errors(Class::TooMany, BUSY)
        .errors(Class::Unavailable, &["unavailable"]);
    let mut all = sessions::operations();
    all.extend(guests::operations());
    all.extend(vec![
        network.handled_by(network_document),
        accept.handled_by(accept_invitation),
        read_doc.handled_by(read_accord),
        revoke.handled_by(record_revocation),
        frame.handled_by(receive_frame),
    ]);
    all
}

/// A request with a signature that has not been verified yet.
pub(super) struct SignedCall {
    signature: SentSignature,
    body: Bytes,
}

impl FromRequest<Door> for SignedCall {
    type Rejection = HouseRefusal;

    async fn from_request(request: Request, door: &Door) -> Result<Self, HouseRefusal> {
        Self::read(request, door, BODY_BYTES_MAX).await.map(|(_, call)| call)
    }
}

impl SignedCall {
    /// Reads a signed request with a body of at most `bytes_max`.
    async fn read(request: Request, door: &Door, bytes_max: usize) -> Result<(Parts, Self), HouseRefusal> {
        let own_url = door.own.as_ref().ok_or_else(Refusal::not_found)?;
        let (parts, body) = request.into_parts();
        let body = read_bytes(&parts, body, bytes_max).await.map_err(unread)?;
        let target = format!("{own_url}{}", parts.uri.path_and_query().map_or("/", |path| path.as_str()));
        let signed_parts = SignedParts { method: parts.method.as_str(), target: &target, body: &body };
        let signature = SentSignature::read(&signed_parts, &parts.headers).ok_or_else(Refusal::not_found)?;
        Ok((parts, Self { signature, body }))
    }
}

/// Whoever has not signed gets the one 404, but a peer must not take a lack of memory for the end of the accord.
fn unread(refusal: Refusal) -> Refusal {
    if refusal.code == "overloaded" { refusal } else { Refusal::not_found() }
}

/// A call of a peer under an active accord.
pub(crate) struct PeerCall {
    pub(crate) accord: AccordId,
    /// The local name of the peer.
    pub(crate) peer: OwnerName,
    /// The grants of this network to the peer.
    pub(crate) grants: Grants,
    /// The changes of peers since the accord was checked.
    pub(crate) changes: watch::Receiver<()>,
    share: Share<AccordId>,
}

impl PeerCall {
    /// The peer's share of concurrent requests, for a response that outlasts the call.
    pub(crate) fn into_share(self) -> Share<AccordId> {
        self.share
    }
}

type OnePath = Result<Path<String>, PathRejection>;

impl Door {
    /// The accord of a path, if it is active and its peer has signed the request.
    async fn accord_of_path(
        &self,
        call: &SignedCall,
        path: OnePath,
    ) -> Result<(AccordId, Arc<PeersState>), HouseRefusal> {
        let Path(text) = path.map_err(|_| Refusal::not_found())?;
        let accord: AccordId = text.parse().map_err(|_| Refusal::not_found())?;
        let peers = self.links.peers().await?;
        let (_, _, active) = peers.of_accord(&accord).ok_or_else(Refusal::not_found)?;
        if call.signature.is_by(&active.key) { Ok((accord, peers)) } else { Err(Refusal::not_found().into()) }
    }

    /// Admits a session request of a peer. These requests have their own quota.
    async fn admit_session_request(
        &self,
        call: &SignedCall,
        path: OnePath,
        at_once: &Shares<AccordId>,
    ) -> Result<PeerCall, HouseRefusal> {
        self.admit_within(call, path, (&self.links.0.session_quotas, at_once)).await
    }

    /// Admits a request of a peer's agent. These requests have their own quota, too.
    async fn admit_guest(&self, call: &SignedCall, path: OnePath) -> Result<PeerCall, HouseRefusal> {
        let links = &self.links.0;
        self.admit_within(call, path, (&links.guest_quotas, &links.guests_at_once)).await
    }

    /// Admits any other request of a peer.
    async fn admit(&self, call: &SignedCall, path: OnePath) -> Result<PeerCall, HouseRefusal> {
        let links = &self.links.0;
        self.admit_within(call, path, (&links.quotas, &links.at_once)).await
    }

    /// Checks the key of a request, its quota, the time, and the nonce.
    async fn admit_within(
        &self,
        call: &SignedCall,
        path: OnePath,
        (quotas, at_once): (&Quotas, &Shares<AccordId>),
    ) -> Result<PeerCall, HouseRefusal> {
        let changes = self.links.0.changed.subscribe();
        let (accord, peers) = self.accord_of_path(call, path).await?;
        let (name, peer, _) = peers.of_accord(&accord).ok_or_else(Refusal::not_found)?;
        quotas.take(&accord, self.links.now())?;
        let share = at_once.take(accord.clone(), 1).map_err(|_| too_many_requests())?;
        self.links.use_nonce(&call.signature).await?;
        Ok(PeerCall { accord, peer: name.clone(), grants: peer.grants.clone(), changes, share })
    }
}

fn accord(accord_id: AccordId, grants: &Grants) -> LinkAccord {
    LinkAccord { accord_id, grants: grants.names().into_iter().map(String::from).collect() }
}

async fn network_document(State(door): State<Door>) -> Result<Json<NetworkDocument>, HouseRefusal> {
    let own_url = door.own.as_ref().ok_or_else(Refusal::not_found)?;
    let key = door.links.key().await?;
    Ok(Json(NetworkDocument { network: own_url.to_string(), keys: vec![key.public().view()] }))
}

async fn accept_invitation(
    State(door): State<Door>,
    call: SignedCall,
) -> Result<(StatusCode, Json<LinkAccord>), HouseRefusal> {
    let acceptance: Result<LinkAcceptance, Refusal> =
        StrictJson::check(call.body).and_then(|body| body.parse());
    let acceptance = acceptance.map_err(|_| Refusal::not_found())?;
    let affected = door.links.redeem(&call.signature, &acceptance).await?;
    let peers = door.links.peers().await?;
    let (_, peer, _) = peers.of_accord(&affected.accord).ok_or_else(Refusal::not_found)?;
    Ok((StatusCode::CREATED, Json(accord(affected.accord, &peer.grants))))
}

async fn read_accord(
    State(door): State<Door>,
    path: OnePath,
    call: SignedCall,
) -> Result<Json<LinkAccord>, HouseRefusal> {
    let call = door.admit(&call, path).await?;
    Ok(Json(accord(call.accord.clone(), &call.grants)))
}

async fn record_revocation(
    State(door): State<Door>,
    path: OnePath,
    call: SignedCall,
) -> Result<StatusCode, HouseRefusal> {
    // No quota applies, so that a peer beyond its quota can still revoke.
    let (accord, _) = door.accord_of_path(&call, path).await?;
    door.links.use_nonce(&call.signature).await?;
    match door.links.execute(None, AccordStep::RevokedByPeer(accord)).await {
        // The accord is revoked already.
        Ok(_) | Err(ExecuteError::Rejected(Rejection::Absent)) => Ok(StatusCode::NO_CONTENT),
        Err(error) => Err(error.into()),
    }
}

async fn receive_frame(
    State(door): State<Door>,
    path: OnePath,
    call: SignedCall,
) -> Result<Json<LinkFrameTaken>, HouseRefusal> {
    let peer = door.admit(&call, path).await?;
    let frame: LinkFrame = StrictJson::check(call.body).and_then(|body| body.parse())?;
    Ok(Json(door.links.receive_frame(&peer, &frame).await?))
}
