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

/// The peers, by what they are called here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PeersState {
    pub(crate) all: BTreeMap<OwnerName, Peer>,
    /// Accords that this network revoked and whose peers have still to be told, whatever became of their names meanwhile.
    pub(crate) untold: BTreeMap<AccordId, Untold>,
}

/// A peer that has still to be told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Untold {
    pub(crate) peer: OwnerName,
    pub(crate) network: NetworkUrl,
    /// When the accord was revoked.
    pub(crate) since: TimestampMs,
}

/// One peer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Peer {
    pub(crate) network: NetworkUrl,
    pub(crate) accord: AccordId,
    /// What this network grants it.
    pub(crate) grants: Grants,
    /// Whether an accord was ever made under this name: allowlists may name agents by it, so it is for no other network.
    pub(crate) was_linked: bool,
    /// How it stands, and since when.
    pub(crate) standing: Standing,
    pub(crate) since: TimestampMs,
}

/// How an accord stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Standing {
    /// This side said yes.
    Invited(Invitation),
    /// Both did.
    Active(Active),
    /// One says no.
    Revoked {
        /// The peer did.
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
    /// Where the peer was invited: with what it accepted, in case it asks once more.
    pub(crate) invitation: Option<Invitation>,
}

impl Peer {
    /// Whether it takes a place: its accord holds, or may still be accepted.
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

    /// With what it is or was accepted here.
    pub(crate) fn invitation(&self) -> Option<&Invitation> {
        match &self.standing {
            Standing::Invited(invitation) => Some(invitation),
            Standing::Active(active) => active.invitation.as_ref(),
            Standing::Revoked { .. } => None,
        }
    }
}

impl PeersState {
    /// The peer whose accord this is, as long as it holds.
    pub(crate) fn of_accord(&self, accord: &AccordId) -> Option<(&OwnerName, &Peer, &Active)> {
        let (name, peer) = self.all.iter().find(|(_, peer)| peer.accord == *accord)?;
        Some((name, peer, peer.active()?))
    }

    /// The peer that was invited with a code.
    pub(crate) fn of_code(&self, code: &TokenDigest) -> Option<(&OwnerName, &Peer)> {
        self.all.iter().find(|(_, peer)| peer.invitation().is_some_and(|one| one.code.matches(code)))
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

    /// Past the limit of revoked accords the oldest goes.
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
