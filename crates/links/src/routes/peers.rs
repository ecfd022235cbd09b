//! `/_admin/peers`: the operator's peers. Checks come in the order 401, 404, 400, 409.
//! Must not know: how a peer proves its identity.

use axum::{
    Json,
    extract::{Path, State, rejection::PathRejection},
};
use http::{Method, StatusCode};
use plenary_accounts::{Caller, Principal, TokenOwner};
use plenary_edge::{Auth, JsonBody, Operation, OperationDoc};
use plenary_kernel::{AccordId, Class, OwnerName, Refusal, TimestampMs};
use plenary_log::{Fault, Usage, UsageMax, account_of_peer};

use super::Door;
use crate::{
    Links,
    accord::{
        decide::AccordStep,
        state::{Peer, PeersState, Standing},
    },
    peer_calls::{ACCORDS_PATH, CallFailure},
    refusals::HouseRefusal,
    request::{invitation_lifetime_ms, parse_peer, require_code},
    sessions::diverged,
    wire::{
        LinkAccord, NewPeer, PeerAcceptance, PeerCheck, PeerInvitation, PeerList, PeerStanding, PeerView,
        RevokedBy,
    },
};

const WRONG: &[&str] = &["invalid_json", "invalid_body", "invalid_network", "invalid_peer", "invalid_grants"];
/// Why models have no tools for these operations.
const OPERATORS: &str = "operators say which networks are linked";

fn doc(id: &'static str, method: Method, path: &'static str, summary: &'static str) -> OperationDoc {
    OperationDoc::new(id, method, path, summary)
        .needs_token(Auth::Operator)
        .no_tool(OPERATORS)
        .errors(Class::NotFound, &["not_found"])
}

pub(super) fn operations() -> Vec<Operation<Door>> {
    let invite = doc("peer.invite", Method::POST, "/_admin/peers", "Invite another network to an accord")
        .description(
            "By the origin of its public URL. `code` is good once, for that network alone; its operator accepts with it. An open \
             invitation of the same network under the same name is replaced.",
        )
        .success(StatusCode::CREATED)
        .request::<NewPeer>()
        .reply::<PeerInvitation>()
        .errors(Class::Malformed, WRONG)
        .errors(Class::Malformed, &["invalid_expires_in"])
        .errors(Class::Conflict, &["peer_exists", "already_linked", "too_many_peers", "no_public_url"]);
    let accept = doc("peer.accept", Method::POST, "/_admin/peers/accept", "Accept the invitation of another network")
        .description(
            "That network looks at this one's domain for the key that signs. Where its answer is lost, the same call may be made again.",
        )
        .success(StatusCode::CREATED)
        .request::<PeerAcceptance>()
        .reply::<PeerView>()
        .errors(Class::Malformed, WRONG)
        .errors(Class::Malformed, &["invalid_code"])
        .errors(Class::Forbidden, &["network_unproven"])
        .errors(
            Class::Conflict,
            &["peer_exists", "already_linked", "too_many_peers", "no_public_url", "no_invitation"],
        )
        .errors(Class::Unavailable, &["peer_unreachable"]);
    let list = doc("peer.list", Method::GET, "/_admin/peers", "List the networks that this one is linked to")
        .description("With those that are invited, and the last that are linked no more.")
        .reply::<PeerList>();
    let peer_doc =
        |doc: OperationDoc| doc.path_parameter::<OwnerName>("peer", "What the network is called here.");
    let check = peer_doc(doc(
        "peer.check",
        Method::POST,
        "/_admin/peers/{peer}/check",
        "Ask a peer whether the accord holds",
    ))
    .without_key()
    .reply::<PeerCheck>();
    let revoke = peer_doc(doc(
        "peer.revoke",
        Method::DELETE,
        "/_admin/peers/{peer}",
        "Revoke an accord or an invitation",
    ))
    .description("Nothing crosses from now on. The peer is told until it has heard.")
    .success(StatusCode::NO_CONTENT);
    vec![
        invite.handled_by(invite_peer),
        accept.handled_by(accept_invitation),
        list.handled_by(list_peers),
        check.handled_by(check_peer),
        revoke.handled_by(revoke_peer),
    ]
}

type OnePath = Result<Path<String>, PathRejection>;

fn operator(principal: &Principal) -> Result<(), Refusal> {
    match principal.who {
        TokenOwner::Operator => Ok(()),
        TokenOwner::Owner(_) | TokenOwner::Agent(_) => Err(Refusal::not_found()),
    }
}

fn parse_peer_name(path: OnePath) -> Result<OwnerName, Refusal> {
    let Path(text) = path.map_err(|_| Refusal::not_found())?;
    text.parse().map_err(|_| Refusal::not_found())
}

fn view(
    peers: &PeersState,
    (name, peer): (&OwnerName, &Peer),
    (used, max): (Usage, Option<UsageMax>),
    now: TimestampMs,
) -> PeerView {
    let (mut expires_at, mut revoked_by, mut told) = (None, None, None);
    let mut granted = Vec::new();
    let standing = match &peer.standing {
        Standing::Invited(invitation) => {
            expires_at = Some(invitation.until.0);
            if peer.is_live(now) { PeerStanding::Invited } else { PeerStanding::Expired }
        }
        Standing::Active(active) => {
            granted = active.granted.iter().map(ToString::to_string).collect();
            PeerStanding::Active
        }
        Standing::Revoked { by_peer } => {
            revoked_by = Some(if *by_peer { RevokedBy::Peer } else { RevokedBy::Us });
            told = (!by_peer).then(|| !peers.untold.contains_key(&peer.accord));
            PeerStanding::Revoked
        }
    };
    PeerView {
        peer: name.clone(),
        network: peer.network.to_string(),
        accord_id: peer.accord.clone(),
        standing,
        since: peer.since.0,
        expires_at,
        revoked_by,
        told,
        grants: peer.grants.view(),
        granted,
        stored_bytes: used.bytes,
        stored_bytes_max: max.map(|max| max.bytes),
        stored_events: used.events,
        stored_events_max: max.map(|max| max.events),
        diverged_sessions: 0,
        sessions_behind: 0,
        no_news_since: None,
        no_news_because: None,
    }
}

impl Links {
    /// What is stored here for a peer's agents, and the quota.
    async fn stored_for(&self, peer: &OwnerName) -> Result<(Usage, Option<UsageMax>), Fault> {
        let account = account_of_peer(peer);
        Ok((self.log().read_usage(&account).await?, self.log().ledger().max_of(&account)))
    }

    async fn peer_view(&self, name: &OwnerName) -> Result<PeerView, HouseRefusal> {
        let peers = self.peers().await?;
        let peer = peers.all.get(name).ok_or_else(Refusal::not_found)?;
        Ok(self.view_of(&peers, (name, peer)).await?)
    }

    async fn view_of(&self, peers: &PeersState, named: (&OwnerName, &Peer)) -> Result<PeerView, Fault> {
        let (name, Peer { accord, .. }) = named;
        let mut view = view(peers, named, self.stored_for(name).await?, self.now());
        view.diverged_sessions = diverged::count(self.log(), accord).await?;
        view.sessions_behind = self.0.due.behind(name);
        if let Some((since, why)) = self.0.outages.of(accord) {
            (view.no_news_since, view.no_news_because) = (Some(since.0), Some(why));
        }
        Ok(view)
    }
}

async fn invite_peer(
    State(door): State<Door>,
    Caller(principal): Caller,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<PeerInvitation>), HouseRefusal> {
    operator(&principal)?;
    let new_peer: NewPeer = body.and_then(|body| body.parse())?;
    let (own, links) = (door.own()?, &door.links);
    let peer = parse_peer(links, own, (&new_peer.network, &new_peer.peer, &new_peer.grants)).await?;
    let expires_at =
        TimestampMs(links.now().0.saturating_add(invitation_lifetime_ms(new_peer.expires_in_s)?));
    let (affected, code) = links.invite(principal.into(), peer, expires_at).await?;
    let peer = links.peer_view(&affected.peer).await?;
    Ok((StatusCode::CREATED, Json(PeerInvitation { peer, code, inviting: own.to_string() })))
}

async fn accept_invitation(
    State(door): State<Door>,
    Caller(principal): Caller,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<PeerView>), HouseRefusal> {
    operator(&principal)?;
    let acceptance: PeerAcceptance = body.and_then(|body| body.parse())?;
    let (own, links) = (door.own()?, &door.links);
    let peer = parse_peer(links, own, (&acceptance.network, &acceptance.peer, &acceptance.grants)).await?;
    require_code(&acceptance.code)?;
    let affected = links.accept(principal.into(), own, peer, acceptance.code).await?;
    Ok((StatusCode::CREATED, Json(links.peer_view(&affected.peer).await?)))
}

async fn list_peers(
    State(door): State<Door>,
    Caller(principal): Caller,
) -> Result<Json<PeerList>, HouseRefusal> {
    operator(&principal)?;
    let peers = door.links.peers().await?;
    let mut list = Vec::with_capacity(peers.all.len());
    for (name, peer) in &peers.all {
        list.push(door.links.view_of(&peers, (name, peer)).await?);
    }
    Ok(Json(PeerList { peers: list }))
}

async fn check_peer(
    State(door): State<Door>,
    Caller(principal): Caller,
    path: OnePath,
    JsonBody(body): JsonBody,
) -> Result<Json<PeerCheck>, HouseRefusal> {
    operator(&principal)?;
    body?;
    let name = parse_peer_name(path)?;
    let peers = door.links.peers().await?;
    let peer = peers.all.get(&name).filter(|peer| peer.active().is_some()).ok_or_else(Refusal::not_found)?;
    let answer = door.links.read_accord(peer, &peer.accord).await;
    let error = answer.err().map(|failure| failure.of_accord());
    Ok(Json(PeerCheck { alive: error.is_none(), error }))
}

impl Links {
    /// Asks a peer for its view of an accord.
    async fn read_accord(&self, peer: &Peer, accord: &AccordId) -> Result<LinkAccord, CallFailure> {
        let path = format!("{ACCORDS_PATH}/{accord}");
        self.call(&peer.network, (Method::GET, &path), None::<&()>).await
    }
}

async fn revoke_peer(
    State(door): State<Door>,
    Caller(principal): Caller,
    path: OnePath,
    JsonBody(body): JsonBody,
) -> Result<StatusCode, HouseRefusal> {
    operator(&principal)?;
    body?;
    door.links.execute(Some(principal.into()), AccordStep::Revoke(parse_peer_name(path)?)).await?;
    Ok(StatusCode::NO_CONTENT)
}
