//! Links to networks of other operators: who this network is, the accords that it made with others, and the requests that cross
//! under them. An accord is what both operators said yes to; either revokes it at once.
//! Must not know: how owners and agents are kept, or what crosses.

mod accord;
mod ceremony;
mod frames;
mod grant;
mod identity;
mod key;
pub mod limits;
mod links;
mod network;
mod nonces;
mod outgoing;
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

/// How other networks are asked.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Whether networks at addresses that are not public are asked too, and over `http`.
    pub private_addresses: bool,
    /// Certificate authorities in place of the system's.
    pub ca_file: Option<PathBuf>,
}
