//! The rules of accords: both operators must agree, and either one can revoke. Pure.
//! Must not know: how a peer proves its identity.

use std::collections::BTreeSet;

use plenary_accounts::{Actor, TokenDigest};
use plenary_engine::Decision;
use plenary_kernel::{AccordId, OwnerName, Stamp, TimestampMs};
use serde::{Deserialize, Serialize};

use super::{
    event::{AccordEvent, AccordMade, AccordRevoked, PeerInvited, RevocationTold},
    state::{Peer, PeersState, Standing},
};
use crate::{
    grant::{GrantName, Grants},
    key::PublicKey,
    limits::PEERS_MAX,
    network::NetworkUrl,
};

/// A command on a peer.
#[derive(Debug, Clone)]
pub(crate) enum AccordStep {
    /// The operator invites a network.
    Invite(NewInvitation),
    /// The operator accepted the invitation of a network, and that network confirmed it.
    Make(NewAccord),
    /// A network accepts an invitation of this one.
    Accept(Acceptance),
    /// The operator revokes an accord or an invitation.
    Revoke(OwnerName),
    /// The peer revokes the accord.
    RevokedByPeer(AccordId),
    /// The peer has confirmed a revocation, or the server has given up notifying it.
    NotificationDone { accord: AccordId, is_confirmed: bool },
}

/// See [`AccordStep::Invite`].
#[derive(Debug, Clone)]
pub(crate) struct NewInvitation {
    pub(crate) peer: OwnerName,
    pub(crate) network: NetworkUrl,
    pub(crate) grants: Grants,
    pub(crate) code: TokenDigest,
    pub(crate) expires_at: TimestampMs,
}

/// See [`AccordStep::Make`].
#[derive(Debug, Clone)]
pub(crate) struct NewAccord {
    pub(crate) peer: OwnerName,
    pub(crate) network: NetworkUrl,
    pub(crate) accord: AccordId,
    pub(crate) key: PublicKey,
    pub(crate) grants: Grants,
    pub(crate) peer_grants: BTreeSet<GrantName>,
}

/// See [`AccordStep::Accept`].
#[derive(Debug, Clone)]
pub(crate) struct Acceptance {
    pub(crate) code: TokenDigest,
    /// The network, which has proved its domain.
    pub(crate) network: NetworkUrl,
    pub(crate) key: PublicKey,
    pub(crate) peer_grants: BTreeSet<GrantName>,
}

/// Why a command is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Rejection {
    /// The token is no longer valid.
    Unauthenticated,
    /// The peer, the accord or the invitation does not exist.
    Absent,
    /// Another network has this name here, or had it.
    NameTaken,
    /// The network already has an accord or an open invitation, as this peer.
    AlreadyLinked { peer: OwnerName, is_active: bool },
    /// The limit of peers is reached.
    TooMany,
}

/// The accord that a command concerned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AffectedAccord {
    pub(crate) peer: OwnerName,
    pub(crate) accord: AccordId,
}

type AccordDecision = Result<Decision<AccordEvent, AffectedAccord>, Rejection>;

/// Decides a command. `by` is the actor of this network; `None` for a peer.
pub(crate) fn decide(
    state: &PeersState,
    stamp: &Stamp,
    by: Option<&Actor>,
    step: &AccordStep,
) -> AccordDecision {
    match (step, by) {
        (AccordStep::Invite(new), Some(by)) => invite(state, stamp, by, new),
        (AccordStep::Make(new), Some(by)) => make(state, stamp.now, by, new),
        (AccordStep::Accept(acceptance), None) => accept(state, stamp.now, acceptance),
        (AccordStep::Revoke(peer), Some(_)) => {
            let live = state.all.get(peer).filter(|peer| peer.is_live(stamp.now));
            revoke(peer, live.ok_or(Rejection::Absent)?, by)
        }
        (AccordStep::RevokedByPeer(accord), None) => {
            let (name, peer, _) = state.of_accord(accord).ok_or(Rejection::Absent)?;
            revoke(name, peer, None)
        }
        (AccordStep::NotificationDone { accord, is_confirmed }, None) => {
            end_notification(state, accord, *is_confirmed)
        }
        _ => Err(Rejection::Absent),
    }
}

/// Checks that this network may accept an invitation of `network` under a name, or has already made that accord.
pub(crate) fn may_accept(
    state: &PeersState,
    now: TimestampMs,
    name: &OwnerName,
    network: &NetworkUrl,
) -> Result<(), Rejection> {
    let peer = state.all.get(name).filter(|peer| peer.network == *network);
    if peer.is_some_and(|peer| peer.active().is_some()) { Ok(()) } else { is_free(state, now, name, network) }
}

/// Checks that a name is free for a network: no other network has it, the network has no other accord, and the limit of peers
/// is not reached.
fn is_free(
    state: &PeersState,
    now: TimestampMs,
    name: &OwnerName,
    network: &NetworkUrl,
) -> Result<(), Rejection> {
    if state.all.get(name).is_some_and(|peer| peer.was_linked && peer.network != *network) {
        return Err(Rejection::NameTaken);
    }
    let live = || state.all.iter().filter(|(_, peer)| peer.is_live(now));
    // A new invitation of the same network under the same name replaces the open one.
    let is_replaced =
        |other: &OwnerName, peer: &Peer| other == name && peer.network == *network && peer.active().is_none();
    for (other, peer) in live().filter(|(other, peer)| !is_replaced(other, peer)) {
        if peer.network == *network {
            return Err(already_linked(other, peer));
        }
        if other == name {
            return Err(Rejection::NameTaken);
        }
    }
    if live().filter(|(other, _)| *other != name).count() >= PEERS_MAX {
        Err(Rejection::TooMany)
    } else {
        Ok(())
    }
}

fn already_linked(name: &OwnerName, peer: &Peer) -> Rejection {
    Rejection::AlreadyLinked { peer: name.clone(), is_active: peer.active().is_some() }
}

fn invite(state: &PeersState, stamp: &Stamp, by: &Actor, new: &NewInvitation) -> AccordDecision {
    is_free(state, stamp.now, &new.peer, &new.network)?;
    let accord = AccordId::mint(stamp, 0);
    let event = PeerInvited {
        peer: new.peer.clone(),
        network: new.network.clone(),
        accord: accord.clone(),
        code: new.code,
        until: new.expires_at,
        grants: new.grants.clone(),
        by: by.clone(),
    };
    let affected = AffectedAccord { peer: new.peer.clone(), accord };
    Ok(Decision::new(vec![AccordEvent::PeerInvited(event)], affected))
}

fn make(state: &PeersState, now: TimestampMs, by: &Actor, new: &NewAccord) -> AccordDecision {
    let affected = AffectedAccord { peer: new.peer.clone(), accord: new.accord.clone() };
    let existing = state.of_accord(&new.accord);
    if existing.is_some_and(|(name, _, active)| *name == new.peer && active.key == new.key) {
        return Ok(Decision::unchanged(affected));
    }
    is_free(state, now, &new.peer, &new.network)?;
    // The other network chose the id, so it must not be the id of a third network's accord.
    let is_other = |peer: &Peer| peer.accord == new.accord && peer.network != new.network;
    if let Some((name, peer)) = state.all.iter().find(|(_, peer)| is_other(peer)) {
        return Err(already_linked(name, peer));
    }
    let event = AccordMade {
        peer: new.peer.clone(),
        network: new.network.clone(),
        accord: new.accord.clone(),
        key: new.key,
        grants: new.grants.clone(),
        granted: new.peer_grants.clone(),
        by: Some(by.clone()),
    };
    Ok(Decision::new(vec![AccordEvent::AccordMade(event)], affected))
}

fn accept(state: &PeersState, now: TimestampMs, acceptance: &Acceptance) -> AccordDecision {
    let (name, peer) = state.of_code(&acceptance.code).ok_or(Rejection::Absent)?;
    let is_open = peer.invitation().is_some_and(|invitation| now < invitation.until);
    if peer.network != acceptance.network || !is_open {
        return Err(Rejection::Absent);
    }
    let affected = AffectedAccord { peer: name.clone(), accord: peer.accord.clone() };
    match &peer.standing {
        // The reply was lost, and the peer retries.
        Standing::Active(active)
            if active.key == acceptance.key && active.granted == acceptance.peer_grants =>
        {
            Ok(Decision::unchanged(affected))
        }
        Standing::Active(_) | Standing::Revoked { .. } => Err(Rejection::Absent),
        Standing::Invited(_) => {
            let event = AccordMade {
                peer: name.clone(),
                network: peer.network.clone(),
                accord: peer.accord.clone(),
                key: acceptance.key,
                grants: peer.grants.clone(),
                granted: acceptance.peer_grants.clone(),
                by: None,
            };
            Ok(Decision::new(vec![AccordEvent::AccordMade(event)], affected))
        }
    }
}

fn revoke(name: &OwnerName, peer: &Peer, by: Option<&Actor>) -> AccordDecision {
    let affected = AffectedAccord { peer: name.clone(), accord: peer.accord.clone() };
    let event = AccordRevoked { peer: name.clone(), accord: peer.accord.clone(), by: by.cloned() };
    Ok(Decision::new(vec![AccordEvent::AccordRevoked(event)], affected))
}

fn end_notification(state: &PeersState, accord: &AccordId, is_confirmed: bool) -> AccordDecision {
    let peer = state.untold.get(accord).ok_or(Rejection::Absent)?.peer.clone();
    let affected = AffectedAccord { peer: peer.clone(), accord: accord.clone() };
    let event = RevocationTold { peer, accord: accord.clone(), heard: is_confirmed };
    Ok(Decision::new(vec![AccordEvent::RevocationTold(event)], affected))
}
