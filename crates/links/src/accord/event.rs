//! The events on the stream of peers, and their stored forms. Pure.
//! Must not know: the effects of an event.

use std::collections::BTreeSet;

use plenary_accounts::{Actor, TokenDigest};
use plenary_kernel::{AccordId, OwnerName, TimestampMs};
use serde::{Deserialize, Serialize};

use crate::{
    grant::{GrantName, Grants},
    key::PublicKey,
    network::NetworkUrl,
};

/// An event of the peers of this network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AccordEvent {
    /// The operator invited a network, which has not accepted yet.
    PeerInvited(PeerInvited),
    /// Both operators agreed to an accord.
    AccordMade(AccordMade),
    /// One side revoked an accord or an invitation.
    AccordRevoked(AccordRevoked),
    /// The peer has confirmed a revocation, or the server has given up notifying it.
    RevocationTold(RevocationTold),
}

/// See [`AccordEvent::PeerInvited`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PeerInvited {
    /// The local name of the peer.
    pub(crate) peer: OwnerName,
    pub(crate) network: NetworkUrl,
    pub(crate) accord: AccordId,
    /// The digest of the code that the peer accepts with.
    pub(crate) code: TokenDigest,
    pub(crate) until: TimestampMs,
    pub(crate) grants: Grants,
    pub(crate) by: Actor,
}

/// See [`AccordEvent::AccordMade`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AccordMade {
    pub(crate) peer: OwnerName,
    pub(crate) network: NetworkUrl,
    pub(crate) accord: AccordId,
    /// The key of the peer's signatures.
    pub(crate) key: PublicKey,
    pub(crate) grants: Grants,
    /// The names of the peer's grants.
    pub(crate) granted: BTreeSet<GrantName>,
    /// The actor of this network that accepted the peer's invitation; absent if the peer accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<Actor>,
}

/// See [`AccordEvent::AccordRevoked`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AccordRevoked {
    pub(crate) peer: OwnerName,
    pub(crate) accord: AccordId,
    /// The actor of this network; absent if the peer revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<Actor>,
}

/// See [`AccordEvent::RevocationTold`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RevocationTold {
    pub(crate) peer: OwnerName,
    pub(crate) accord: AccordId,
    /// Whether the peer has confirmed the revocation.
    pub(crate) heard: bool,
}

plenary_engine::stored_forms!(AccordEvent: PeerInvited, AccordMade, AccordRevoked, RevocationTold);
