//! The requests and responses of the operator and of other networks. Members are snake_case, times are epoch milliseconds.
//! Pure.
//! Must not know: permissions.

use std::collections::BTreeMap;

use plenary_kernel::{AccordId, AgentHandle, OwnerName};
use plenary_sessions::crossing::wire::CrossingOutcome;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::limits::{INVITATION_SECONDS_MAX, URL_BYTES_MAX};

/// `GET /.well-known/plenary`: the document of this network.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct NetworkDocument {
    /// The origin of its public URL, which is its name.
    pub network: String,
    /// The keys of its signatures.
    pub keys: Vec<NetworkKeyView>,
}

/// A public key (RFC 7517, RFC 8037).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NetworkKey")]
pub struct NetworkKeyView {
    /// `OKP`.
    pub kty: String,
    /// `Ed25519`.
    pub crv: String,
    /// The key, base64url.
    pub x: String,
    /// Its thumbprint (RFC 7638), which is the key id in signatures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kid: Option<String>,
}

/// The grants of one side: names, each with a list of its own owners.
pub type GrantsSent = BTreeMap<String, Vec<String>>;

/// `POST /_admin/peers`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct NewPeer {
    /// The origin of the network's public URL, such as `https://plenary.example`.
    #[schemars(length(min = 1, max = URL_BYTES_MAX))]
    pub network: String,
    /// Its name here.
    pub peer: String,
    /// The grants to it: names, each with owners of this network. Other owners take no part.
    #[serde(default)]
    pub grants: GrantsSent,
    /// The lifetime of the invitation in seconds; one day by default.
    #[schemars(range(min = 1, max = INVITATION_SECONDS_MAX))]
    #[serde(default)]
    pub expires_in_s: Option<u64>,
}

/// `POST /_admin/peers/accept`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct PeerAcceptance {
    /// The origin of the public URL of the network that invited this one.
    #[schemars(length(min = 1, max = URL_BYTES_MAX))]
    pub network: String,
    /// The code that its operator received when inviting this network.
    pub code: String,
    /// Its name here.
    pub peer: String,
    /// The grants to it: names, each with owners of this network. Other owners take no part.
    #[serde(default)]
    pub grants: GrantsSent,
}

/// The state of an accord.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PeerStanding {
    /// The peer has not accepted yet.
    Invited,
    /// The peer did not accept in time.
    Expired,
    /// Both operators agreed.
    Active,
    /// One side revoked it.
    Revoked,
}

/// The side that revoked an accord.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RevokedBy {
    /// This network.
    Us,
    /// The peer.
    Peer,
}

/// A network with an accord or an invitation, present or past.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PeerView {
    /// Its name here.
    pub peer: OwnerName,
    /// The origin of its public URL.
    pub network: String,
    /// The accord.
    pub accord_id: AccordId,
    /// The state of the accord.
    pub standing: PeerStanding,
    /// When this state began.
    pub since: u64,
    /// When the invitation expires; only for an invitation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// The side that revoked the accord.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked_by: Option<RevokedBy>,
    /// If this network revoked the accord: whether the peer has confirmed the revocation, or the server has given up notifying
    /// it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told: Option<bool>,
    /// The grants of this network to the peer.
    pub grants: BTreeMap<String, Vec<OwnerName>>,
    /// The names of the peer's grants to this network.
    pub granted: Vec<String>,
    /// The bytes that are stored here for the peer's agents.
    pub stored_bytes: u64,
    /// The quota of bytes; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored_bytes_max: Option<u64>,
    /// The events that are stored here for them.
    pub stored_events: u64,
    /// The quota of events; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored_events_max: Option<u64>,
    /// How many sessions have other events here than at the peer, because one of the networks was restored from a backup; at
    /// most 1,000. They are over between the networks.
    pub diverged_sessions: usize,
    /// How many copies of the peer's sessions are behind, because the last attempt to update them failed, in the view of the
    /// process that answers.
    pub sessions_behind: usize,
    /// Since when the peer tells no news of its sessions, in the view of the process that answers; absent if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_news_since: Option<u64>,
    /// Why, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_news_because: Option<String>,
}

/// The response of `POST /_admin/peers`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PeerInvitation {
    /// The peer.
    #[serde(flatten)]
    pub peer: PeerView,
    /// The code that the peer's operator accepts with. Shown once.
    pub code: String,
    /// The URL of this network, which the peer's operator sends with the code.
    pub inviting: String,
}

/// `GET /_admin/peers`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PeerList {
    /// Sorted by name.
    pub peers: Vec<PeerView>,
}

/// The response of `POST /_admin/peers/{peer}/check`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PeerCheck {
    /// Whether the peer confirms that the accord is active.
    pub alive: bool,
    /// The reason if it does not, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// `POST /link/v1/accords`: a network accepts an invitation.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct LinkAcceptance {
    /// The invitation's code.
    pub code: String,
    /// The origin of the public URL of the accepting network.
    pub network: String,
    /// The names of its grants.
    pub grants: Vec<String>,
}

/// `POST /link/v1/accords/{accord_id}/frames`: a frame for sessions under a grant of the receiving network.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct LinkFrame {
    /// The grant.
    pub grant: String,
    /// The agent that submitted it, by its handle in the sending network.
    pub agent: AgentHandle,
    /// The class of tools of the agent's session.
    pub tool: String,
    /// The frame.
    #[schemars(with = "serde_json::Value")]
    pub frame: Box<RawValue>,
}

/// The response to a frame.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct LinkFrameTaken {
    /// The number of sessions that received it.
    pub count: u64,
}

/// An accord, as the responding network has it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct LinkAccord {
    /// The accord.
    pub accord_id: AccordId,
    /// The names of the responding network's grants.
    pub grants: Vec<String>,
}

/// `POST /link/v1/accords/{accord_id}/commands`: the outcome of a command.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct LinkOutcome {
    /// The responding network's name for the requesting one.
    pub you: OwnerName,
    /// The outcome of the command.
    pub outcome: CrossingOutcome,
}
