//! What can stand on the stream of peers, and its stored form. Pure.
//! Must not know: what an event causes.

use std::collections::BTreeSet;

use plenary_accounts::{Actor, TokenDigest};
use plenary_engine::stored::{read, unknown, written};
use plenary_kernel::{AccordId, OwnerName, TimestampMs};
use plenary_log::{Fault, NewEvent, StoredEvent};
use serde::{Deserialize, Serialize};

use crate::{
    grant::{GrantName, Grants},
    key::PublicKey,
    network::NetworkUrl,
};

/// An event of the peers of this network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AccordEvent {
    /// The operator said yes to an accord with a network, which has still to accept.
    PeerInvited(PeerInvited),
    /// Both said yes.
    AccordMade(AccordMade),
    /// One says no.
    AccordRevoked(AccordRevoked),
    /// The peer has heard of it, or nothing more is tried.
    RevocationTold(RevocationTold),
}

/// See [`AccordEvent::PeerInvited`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PeerInvited {
    /// What the peer is called here.
    pub(crate) peer: OwnerName,
    pub(crate) network: NetworkUrl,
    pub(crate) accord: AccordId,
    /// The digest of what it is accepted with.
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
    /// With which the peer signs.
    pub(crate) key: PublicKey,
    pub(crate) grants: Grants,
    /// What the peer grants.
    pub(crate) granted: BTreeSet<GrantName>,
    /// Who here said yes last; none where the peer did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<Actor>,
}

/// See [`AccordEvent::AccordRevoked`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AccordRevoked {
    pub(crate) peer: OwnerName,
    pub(crate) accord: AccordId,
    /// Who here; none where the peer did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<Actor>,
}

/// See [`AccordEvent::RevocationTold`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RevocationTold {
    pub(crate) peer: OwnerName,
    pub(crate) accord: AccordId,
    /// Whether it has heard of it.
    pub(crate) heard: bool,
}

impl AccordEvent {
    pub(crate) fn encode(&self) -> NewEvent {
        match self {
            Self::PeerInvited(event) => written("PeerInvited", event),
            Self::AccordMade(event) => written("AccordMade", event),
            Self::AccordRevoked(event) => written("AccordRevoked", event),
            Self::RevocationTold(event) => written("RevocationTold", event),
        }
    }

    /// Reads a stored event; an unknown kind or form is corrupt.
    pub(crate) fn decode(stored: &StoredEvent) -> Result<Self, Fault> {
        Ok(match &*stored.kind {
            "PeerInvited" => Self::PeerInvited(read(stored)?),
            "AccordMade" => Self::AccordMade(read(stored)?),
            "AccordRevoked" => Self::AccordRevoked(read(stored)?),
            "RevocationTold" => Self::RevocationTold(read(stored)?),
            _ => return unknown(stored),
        })
    }
}
