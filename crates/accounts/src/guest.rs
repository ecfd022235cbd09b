//! Agents of other networks as callers: a peer has signed their requests, and their rights end with its accord.
//! Must not know: signatures, or how a peer is reached.

use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock},
};

use plenary_engine::{Sealed, seal};
use plenary_kernel::{AgentHandle, OwnerName};
use plenary_log::{Condition, Fault};
use plenary_room::async_trait;

use crate::{Accounts, KnownAgent, Principal, TokenDigest, TokenOwner, trust::lists_stranger};

/// The accord with a peer, while it is active.
#[derive(Debug, Clone)]
pub struct PeerStanding {
    /// Holds an append to the accord: it is still active.
    pub condition: Condition,
    /// The owners of this network that take part.
    pub owners: Arc<BTreeSet<OwnerName>>,
}

impl PeerStanding {
    /// Whether an agent of this network admits a guest of the peer: its owner takes part, and its allowlist names the
    /// guest, which it does not block. An open policy covers only agents of this network.
    pub fn admits(&self, host: &KnownAgent, guest: &AgentHandle) -> bool {
        self.owners.contains(&host.handle.owner_name()) && lists_stranger(&host.state, guest)
    }
}

/// Knows the accords with peers.
#[async_trait]
pub trait PeerStandings: Send + Sync {
    /// The accord with the peer of this local name; `None` if there is no active one.
    async fn standing(&self, peer: &OwnerName) -> Result<Option<PeerStanding>, Fault>;
}

/// An agent of another network as a caller. Only the room that has verified the peer's signature makes it, and nothing that a
/// client sends becomes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestIdentity {
    handle: AgentHandle,
    hops: Option<u32>,
}

impl GuestIdentity {
    /// The guest with this local handle, for a request that its network has signed; `None` if it is not the handle of an agent
    /// of another network. `hops` is how many agents of that network have passed on what it acts upon.
    pub fn of_signed(handle: AgentHandle, hops: Option<u32>) -> Option<Self> {
        handle.is_elsewhere().then_some(Self { handle, hops })
    }

    /// How many agents of its network have passed on what it acts upon, if its network runs it.
    pub fn hops(&self) -> Option<u32> {
        self.hops
    }

    /// The guest as the bearer of a token.
    pub fn principal(&self) -> Principal {
        Principal { who: TokenOwner::Agent(self.handle.clone()), token: TokenDigest::GUEST }
    }
}

/// The source of the accords, once it is set.
#[derive(Default)]
pub(crate) struct Guests(OnceLock<Arc<dyn PeerStandings>>);

impl Accounts {
    /// Sets the source of the accords. Only the first call counts; until then there are no guests.
    pub fn set_peers(&self, peers: Arc<dyn PeerStandings>) {
        let _first = self.0.guests.0.set(peers);
    }

    /// The standing of an agent of another network; `None` if no accord is active with that network, or an owner of this network
    /// has the name from an earlier version.
    ///
    /// # Errors
    /// The fault of the store.
    pub fn guest_standing<'a>(
        &'a self,
        guest: &'a AgentHandle,
    ) -> Sealed<'a, Result<Option<PeerStanding>, Fault>> {
        seal(async move {
            let Some(peers) = self.0.guests.0.get() else { return Ok(None) };
            let Some((_, peer)) = guest.of_peer() else { return Ok(None) };
            if self.owner(&guest.owner_name()).await?.state.exists() {
                return Ok(None);
            }
            peers.standing(&peer).await
        })
    }

    /// The standing of the actor, if it is a guest; conditions as for [`Accounts::holds`].
    pub(crate) async fn guest_holds(
        &self,
        guest: &AgentHandle,
        conditions: &mut Vec<Condition>,
    ) -> Result<bool, Fault> {
        let standing = self.guest_standing(guest).await?;
        let is_valid = standing.is_some();
        conditions.extend(standing.map(|standing| standing.condition));
        Ok(is_valid)
    }
}
