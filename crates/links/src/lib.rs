//! Links to networks of other operators: the identity of this network, its accords, and the requests under them. Both operators
//! must agree to an accord; either one can revoke it at any time.
//! Must not know: how owners and agents are stored, or the content that crosses.

mod accord;
mod ceremony;
mod frames;
mod grant;
mod guests;
mod identity;
mod key;
pub mod limits;
mod links;
mod network;
mod nonces;
mod peer_calls;
mod quota;
mod refusals;
mod request;
mod revocations;
mod routes;
mod served;
mod sessions;
mod signature;
#[cfg(test)]
mod stored_forms;
pub mod wire;

use std::path::PathBuf;

pub use links::Links;
pub use network::NetworkUrl;

/// How the server reaches other networks.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Whether networks at private addresses, and over `http`, are permitted.
    pub private_addresses: bool,
    /// A file of certificate authorities that replaces the system's.
    pub ca_file: Option<PathBuf>,
}
