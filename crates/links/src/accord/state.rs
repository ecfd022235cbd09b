//! The peers of this network: the fold of their stream. Pure.
//! Must not know: how a peer is reached.

use std::collections::{BTreeMap, BTreeSet};

use plenary_accounts::TokenDigest;
use plenary_kernel::{AccordId, OwnerName, TimestampMs};
use serde::{Deserialize, Serialize};

use super::event::AccordEvent;
use crate::{
    grant::{GrantName, Grants},
    key::PublicKey,
    limits::REVOKED_KEPT_MAX,
    network::NetworkUrl,
};

/// The peers by their local names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PeersState {
    pub(crate) all: BTreeMap<OwnerName, Peer>,
    /// Accords that this network revoked and whose peers have not confirmed it yet. A later accord under the same name does not
    /// change them.
    pub(crate) untold: BTreeMap<AccordId, Untold>,
}

/// A peer that has not confirmed a revocation yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Untold {
    pub(crate) peer: OwnerName,
    pub(crate) network: NetworkUrl,
    /// The time of the revocation.
    pub(crate) since: TimestampMs,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Peer {
    pub(crate) network: NetworkUrl,
    pub(crate) accord: AccordId,
    /// The grants of this network to the peer.
    pub(crate) grants: Grants,
    /// Whether an accord was ever made under this name. Allowlists may name agents by it, so no other network can get the name.
    pub(crate) was_linked: bool,
    /// The state of the accord; `since` is when it began.
    pub(crate) standing: Standing,
    pub(crate) since: TimestampMs,
}

/// The state of an accord.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Standing {
    /// This network has invited the peer.
    Invited(Invitation),
    /// Both operators have agreed.
    Active(Active),
    /// One side has revoked the accord.
    Revoked {
        /// Whether the peer revoked it.
        by_peer: bool,
    },
}

/// See [`Standing::Invited`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Invitation {
    pub(crate) code: TokenDigest,
    pub(crate) until: TimestampMs,
}

/// See [`Standing::Active`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Active {
    pub(crate) key: PublicKey,
    pub(crate) granted: BTreeSet<GrantName>,
    /// This network's invitation, if there was one, so that the peer can repeat a request whose reply was lost.
    pub(crate) invitation: Option<Invitation>,
}

impl Peer {
    /// Whether the peer counts against the limit: its accord is active, or its invitation is still open.
    pub(crate) fn is_live(&self, now: TimestampMs) -> bool {
        match &self.standing {
            Standing::Invited(invitation) => now < invitation.until,
            Standing::Active(_) => true,
            Standing::Revoked { .. } => false,
        }
    }

    pub(crate) fn active(&self) -> Option<&Active> {
        match &self.standing {
            Standing::Active(active) => Some(active),
            Standing::Invited(_) | Standing::Revoked { .. } => None,
        }
    }

    /// The invitation that the peer can accept or has accepted.
    pub(crate) fn invitation(&self) -> Option<&Invitation> {
        match &self.standing {
            Standing::Invited(invitation) => Some(invitation),
            Standing::Active(active) => active.invitation.as_ref(),
            Standing::Revoked { .. } => None,
        }
    }
}

impl PeersState {
    /// The peer with this accord, if the accord is active.
    pub(crate) fn of_accord(&self, accord: &AccordId) -> Option<(&OwnerName, &Peer, &Active)> {
        let (name, peer) = self.all.iter().find(|(_, peer)| peer.accord == *accord)?;
        Some((name, peer, peer.active()?))
    }

    /// The peer that was invited with this code.
    pub(crate) fn of_code(&self, code: &TokenDigest) -> Option<(&OwnerName, &Peer)> {
        self.all
            .iter()
            .find(|(_, peer)| peer.invitation().is_some_and(|invitation| invitation.code.matches(code)))
    }

    pub(crate) fn evolve(&mut self, at: TimestampMs, event: &AccordEvent) {
        match event {
            AccordEvent::PeerInvited(event) => {
                let invitation = Invitation { code: event.code, until: event.until };
                let peer = Peer {
                    network: event.network.clone(),
                    accord: event.accord.clone(),
                    grants: event.grants.clone(),
                    was_linked: self.all.get(&event.peer).is_some_and(|peer| peer.was_linked),
                    standing: Standing::Invited(invitation),
                    since: at,
                };
                self.all.insert(event.peer.clone(), peer);
            }
            AccordEvent::AccordMade(event) => {
                let invitation = self.all.get(&event.peer).and_then(Peer::invitation).cloned();
                let active = Active { key: event.key, granted: event.granted.clone(), invitation };
                let peer = Peer {
                    network: event.network.clone(),
                    accord: event.accord.clone(),
                    grants: event.grants.clone(),
                    was_linked: true,
                    standing: Standing::Active(active),
                    since: at,
                };
                self.all.insert(event.peer.clone(), peer);
            }
            AccordEvent::AccordRevoked(event) => {
                let by_peer = event.by.is_none();
                if let Some(peer) = self.all.get_mut(&event.peer) {
                    if !by_peer && peer.active().is_some() {
                        let (name, network) = (event.peer.clone(), peer.network.clone());
                        let untold = Untold { peer: name, network, since: at };
                        self.untold.insert(event.accord.clone(), untold);
                    }
                    peer.standing = Standing::Revoked { by_peer };
                    peer.since = at;
                }
                self.forget();
            }
            AccordEvent::RevocationTold(event) => {
                self.untold.remove(&event.accord);
            }
        }
    }

    /// Beyond the limits, drops the accord that was revoked first, and the pending notification with the lowest accord id.
    fn forget(&mut self) {
        let revoked =
            || self.all.iter().filter(|(_, peer)| matches!(peer.standing, Standing::Revoked { .. }));
        if revoked().count() > REVOKED_KEPT_MAX {
            let oldest = revoked().min_by_key(|(_, peer)| peer.since).map(|(name, _)| name.clone());
            oldest.map(|name| self.all.remove(&name));
        }
        if self.untold.len() > REVOKED_KEPT_MAX {
            self.untold.pop_first();
        }
    }
}
