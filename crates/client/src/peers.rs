//! Networks that a server is linked to (`/_admin/peers`); the operator's token.
//! Must not know: how networks speak with each other.

use std::collections::BTreeMap;

use plenary_kernel::{AccordId, OwnerName, TimestampMs};
use serde::{Deserialize, Serialize};

use crate::{Client, Reply, Result, client::segment};

const PEERS: &str = "/_admin/peers";

/// What one side grants the other: names, each for owners of its own.
pub type Grants = BTreeMap<String, Vec<String>>;

/// An invitation.
#[derive(Debug, Clone, Serialize)]
pub struct NewPeer {
    /// The origin of the network's public URL.
    pub network: String,
    /// What it is called here.
    pub peer: OwnerName,
    /// What is granted it.
    pub grants: Grants,
    /// How long the invitation lasts, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_in_s: Option<u64>,
}

/// The acceptance of an invitation.
#[derive(Clone, Serialize)]
pub struct PeerAcceptance {
    /// The origin of the public URL of the network that invited.
    pub network: String,
    /// What its operator got.
    pub code: String,
    /// What it is called here.
    pub peer: OwnerName,
    /// What is granted it.
    pub grants: Grants,
}

/// A network that the server has, had or wants an accord with.
#[derive(Debug, Clone, Deserialize)]
pub struct Peer {
    /// What it is called here.
    pub peer: OwnerName,
    /// The origin of its public URL.
    pub network: String,
    /// The accord.
    pub accord_id: AccordId,
    /// `invited`, `expired`, `active` or `revoked`.
    pub standing: String,
    /// Since when.
    pub since: TimestampMs,
    /// `us` or `peer`, of one that is revoked.
    #[serde(default)]
    pub revoked_by: Option<String>,
    /// Whether the peer has heard of it, where the server's operator revoked it.
    #[serde(default)]
    pub told: Option<bool>,
    /// What the server grants it.
    pub grants: Grants,
    /// What it grants the server.
    pub granted: Vec<String>,
}

/// An invitation that was made. The code is shown this once.
#[derive(Clone, Deserialize)]
pub struct PeerInvitation {
    /// The peer.
    #[serde(flatten)]
    pub peer: Peer,
    /// What its operator accepts with.
    pub code: String,
    /// The server's network, which its operator names with it.
    pub inviting: String,
}

/// Every peer.
#[derive(Debug, Clone, Deserialize)]
pub struct PeerList {
    /// By name.
    pub peers: Vec<Peer>,
}

/// What a peer said when it was asked.
#[derive(Debug, Clone, Deserialize)]
pub struct PeerCheck {
    /// Whether the accord holds there.
    pub alive: bool,
    /// Why it does not.
    #[serde(default)]
    pub error: Option<String>,
}

fn path(peer: &OwnerName, below: &str) -> String {
    format!("{PEERS}/{}{below}", segment(peer.as_str()))
}

impl Client {
    /// `POST /_admin/peers`.
    ///
    /// # Errors
    /// As every call.
    pub async fn invite_peer(&self, new: &NewPeer) -> Result<Reply<PeerInvitation>> {
        self.post(PEERS, new).await
    }

    /// `POST /_admin/peers/accept`.
    ///
    /// # Errors
    /// As every call; 409 `no_invitation` where the other network knows of none.
    pub async fn accept_peer(&self, acceptance: &PeerAcceptance) -> Result<Reply<Peer>> {
        self.post(&format!("{PEERS}/accept"), acceptance).await
    }

    /// `GET /_admin/peers`.
    ///
    /// # Errors
    /// As every call.
    pub async fn peers(&self) -> Result<Reply<PeerList>> {
        self.get(PEERS).await
    }

    /// `POST /_admin/peers/{peer}/check`.
    ///
    /// # Errors
    /// As every call; 404 where there is no accord that holds.
    pub async fn check_peer(&self, peer: &OwnerName) -> Result<Reply<PeerCheck>> {
        self.post_empty(&path(peer, "/check")).await
    }

    /// `DELETE /_admin/peers/{peer}`.
    ///
    /// # Errors
    /// As every call; 404 where there is neither an accord nor an invitation.
    pub async fn revoke_peer(&self, peer: &OwnerName) -> Result<Reply<()>> {
        self.delete(&path(peer, "")).await
    }
}
