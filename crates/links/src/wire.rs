//! What the operator and other networks send and get. Members are snake_case, times are epoch milliseconds. Pure.
//! Must not know: who may see what.

use std::collections::BTreeMap;

use plenary_kernel::{AccordId, AgentHandle, OwnerName};
use plenary_sessions::crossing::wire::CrossingOutcome;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// `GET /.well-known/plenary`: who this network is.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct NetworkDocument {
    /// The origin of its public URL, which names it.
    pub network: String,
    /// The keys with which it signs.
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
    /// Its thumbprint (RFC 7638), by which signatures name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kid: Option<String>,
}

/// What one side grants: names, each for owners of its own.
pub type GrantsSent = BTreeMap<String, Vec<String>>;

/// `POST /_admin/peers`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct NewPeer {
    /// The origin of the network's public URL, such as `https://plenary.example`.
    pub network: String,
    /// What it is called here.
    pub peer: String,
    /// What is granted it: names, each for owners of this network. Who is in none takes no part.
    #[serde(default)]
    pub grants: GrantsSent,
    /// How long the invitation lasts, in seconds; a day unless said otherwise.
    #[serde(default)]
    pub expires_in_s: Option<u64>,
}

/// `POST /_admin/peers/accept`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct PeerAcceptance {
    /// The origin of the public URL of the network that invited this one.
    pub network: String,
    /// What its operator got when it invited this network.
    pub code: String,
    /// What it is called here.
    pub peer: String,
    /// What is granted it: names, each for owners of this network. Who is in none takes no part.
    #[serde(default)]
    pub grants: GrantsSent,
}

/// How an accord stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PeerStanding {
    /// The peer has still to accept.
    Invited,
    /// It did not in time.
    Expired,
    /// Both said yes.
    Active,
    /// One says no.
    Revoked,
}

/// Who revoked an accord.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RevokedBy {
    /// This network.
    Us,
    /// The peer.
    Peer,
}

/// A network that this one has, had or wants an accord with.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PeerView {
    /// What it is called here.
    pub peer: OwnerName,
    /// The origin of its public URL.
    pub network: String,
    /// The accord.
    pub accord_id: AccordId,
    /// How it stands.
    pub standing: PeerStanding,
    /// Since when.
    pub since: u64,
    /// Until when it may be accepted; of an invitation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// Who revoked it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked_by: Option<RevokedBy>,
    /// Whether the peer has heard of it, or nothing more is tried; where this network revoked it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told: Option<bool>,
    /// What this network grants it.
    pub grants: BTreeMap<String, Vec<OwnerName>>,
    /// The names of what it grants this network.
    pub granted: Vec<String>,
}

/// The answer of `POST /_admin/peers`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PeerInvitation {
    /// The peer.
    #[serde(flatten)]
    pub peer: PeerView,
    /// What the peer's operator accepts with. Shown once.
    pub code: String,
    /// This network, which the peer's operator names with it.
    pub inviting: String,
}

/// `GET /_admin/peers`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PeerList {
    /// By name.
    pub peers: Vec<PeerView>,
}

/// The answer of `POST /_admin/peers/{peer}/check`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PeerCheck {
    /// Whether the peer answers that the accord holds.
    pub alive: bool,
    /// Why it does not, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// `POST /link/v1/accords`: a network accepts an invitation.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct LinkAcceptance {
    /// The invitation's code.
    pub code: String,
    /// The origin of the public URL of the network that accepts.
    pub network: String,
    /// The names of what it grants.
    pub grants: Vec<String>,
}

/// `POST /link/v1/accords/{accord_id}/frames`: a frame for sessions under a grant of the network that is asked.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct LinkFrame {
    /// The grant.
    pub grant: String,
    /// The agent that submitted it, as the asking network calls it.
    pub agent: AgentHandle,
    /// The class of tools of its session.
    pub tool: String,
    /// The frame.
    #[schemars(with = "serde_json::Value")]
    pub frame: Box<RawValue>,
}

/// The answer to a frame.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct LinkFrameTaken {
    /// To how many sessions it was given.
    pub count: u64,
}

/// What a peer says of an accord.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct LinkAccord {
    /// The accord.
    pub accord_id: AccordId,
    /// The names of what the answering network grants.
    pub grants: Vec<String>,
}

/// `POST /link/v1/accords/{accord_id}/commands`: what became of a command, and what the answering network calls the other.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct LinkOutcome {
    /// What the answering network calls the other.
    pub you: OwnerName,
    /// What became of the command.
    pub outcome: CrossingOutcome,
}
