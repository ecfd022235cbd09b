//! Networks that a server is linked to (`/_admin/peers`); the operator's token.
//! Must not know: how networks speak with each other.

use std::collections::BTreeMap;

use plenary_kernel::{OwnerName, TimestampMs};
use serde::{Deserialize, Serialize};

use crate::{Client, Reply, Result, client::segment, me::Usage};

const PEERS: &str = "/_admin/peers";

/// The names that one side grants the other, each for owners of its own.
pub type Grants = BTreeMap<String, Vec<String>>;

/// An invitation.
#[derive(Debug, Clone, Serialize)]
pub struct NewPeer {
    /// The origin of the network's public URL.
    pub network: String,
    /// Its name here.
    pub peer: OwnerName,
    /// The names granted to it.
    pub grants: Grants,
    /// How long the invitation lasts, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_in_s: Option<u64>,
}

/// The acceptance of an invitation.
#[derive(Clone, Serialize)]
pub struct PeerAcceptance {
    /// The origin of the inviting network's public URL.
    pub network: String,
    /// The code that its operator received.
    pub code: String,
    /// Its name here.
    pub peer: OwnerName,
    /// The names granted to it.
    pub grants: Grants,
}

/// A network with which the server has, had or wants an accord.
#[derive(Debug, Clone, Deserialize)]
pub struct Peer {
    /// Its name here.
    pub peer: OwnerName,
    /// The origin of its public URL.
    pub network: String,
    /// `invited`, `expired`, `active` or `revoked`.
    pub standing: String,
    /// Since when.
    pub since: TimestampMs,
    /// `us` or `peer`, if it is revoked.
    pub revoked_by: Option<String>,
    /// Whether the peer has confirmed the revocation, if this server's operator revoked it.
    pub told: Option<bool>,
    /// The names that the server grants it.
    pub grants: Grants,
    /// The names that it grants the server.
    pub granted: Vec<String>,
    /// What is stored for its agents, and the quota.
    #[serde(flatten)]
    pub stored: Option<Usage>,
    /// How many sessions have other events here than at the peer.
    #[serde(default)]
    pub diverged_sessions: u64,
    /// How many copies of its sessions are behind.
    #[serde(default)]
    pub sessions_behind: u64,
    /// Since when it tells no news of its sessions.
    pub no_news_since: Option<TimestampMs>,
    /// Why, for people.
    pub no_news_because: Option<String>,
}

/// A created invitation. The code is shown only this once.
#[derive(Clone, Deserialize)]
pub struct PeerInvitation {
    /// The peer.
    #[serde(flatten)]
    pub peer: Peer,
    /// The code with which its operator accepts.
    pub code: String,
    /// The server's own network, which the peer's operator needs together with the code.
    pub inviting: String,
}

/// Every peer.
#[derive(Debug, Clone, Deserialize)]
pub struct PeerList {
    /// The peers, by name.
    pub peers: Vec<Peer>,
}

/// A peer's answer to a check.
#[derive(Debug, Clone, Deserialize)]
pub struct PeerCheck {
    /// Whether the accord holds on the peer's side.
    pub alive: bool,
    /// Why it does not hold.
    pub error: Option<String>,
}

fn path(peer: &OwnerName, below: &str) -> String {
    format!("{PEERS}/{}{below}", segment(peer.as_str()))
}

impl Client {
    /// `POST /_admin/peers`.
    pub async fn invite_peer(&self, new: &NewPeer) -> Result<Reply<PeerInvitation>> {
        self.post(PEERS, new).await
    }

    /// `POST /_admin/peers/accept`.
    ///
    /// # Errors
    /// 409 `no_invitation` if the other network has no such invitation.
    pub async fn accept_peer(&self, acceptance: &PeerAcceptance) -> Result<Reply<Peer>> {
        self.post(&format!("{PEERS}/accept"), acceptance).await
    }

    /// `GET /_admin/peers`.
    pub async fn peers(&self) -> Result<Reply<PeerList>> {
        self.get(PEERS).await
    }

    /// `POST /_admin/peers/{peer}/check`.
    ///
    /// # Errors
    /// 404 if there is no active accord.
    pub async fn check_peer(&self, peer: &OwnerName) -> Result<Reply<PeerCheck>> {
        self.post_empty(&path(peer, "/check")).await
    }

    /// `DELETE /_admin/peers/{peer}`.
    ///
    /// # Errors
    /// 404 if there is neither an accord nor an invitation.
    pub async fn revoke_peer(&self, peer: &OwnerName) -> Result<Reply<()>> {
        self.delete(&path(peer, "")).await
    }
}
