//! Requests of agents of other networks to channels, projects, runs and files: the network where a thing began serves it, and the
//! home of the agent signs and forwards the agent's requests.
//! Must not know: the rules of channels, projects and runs.

mod body;
mod home_side;
mod host_side;
mod targets;

pub(crate) use body::ending;

use std::collections::BTreeSet;

use http::{HeaderMap, HeaderName, Method, header};
use plenary_accounts::{PeerStanding, PeerStandings};
use plenary_engine::Room as _;
use plenary_kernel::OwnerName;
use plenary_log::{Condition, Fault};
use plenary_room::async_trait;

use crate::{
    Links,
    accord::{AccordRoom, PEERS},
};

/// The methods of guests' requests.
pub(crate) const METHODS: [Method; 4] = [Method::GET, Method::POST, Method::PATCH, Method::DELETE];

/// Marks the response of a room, in contrast to one of the link itself.
pub(crate) const ANSWERED: HeaderName = HeaderName::from_static("plenary-guest");

/// How many agents of the home have passed on what the guest acts upon; only the home sets it.
pub(crate) const HOPS: HeaderName = HeaderName::from_static("plenary-hops");

/// The headers of a guest's request that cross.
pub(crate) const CROSSING: [HeaderName; 8] = [
    header::ACCEPT,
    header::CONTENT_TYPE,
    header::IF_NONE_MATCH,
    header::IF_RANGE,
    header::RANGE,
    HeaderName::from_static("idempotency-key"),
    HeaderName::from_static("last-event-id"),
    HeaderName::from_static("x-reader"),
];

/// The headers of the response that cross.
pub(crate) const RETURNING: [HeaderName; 15] = [
    header::ACCEPT_RANGES,
    header::CACHE_CONTROL,
    header::CONTENT_DISPOSITION,
    header::CONTENT_LENGTH,
    header::CONTENT_RANGE,
    header::CONTENT_TYPE,
    header::ETAG,
    header::LINK,
    header::LOCATION,
    header::RETRY_AFTER,
    HeaderName::from_static("idempotency-replayed"),
    HeaderName::from_static("x-accel-buffering"),
    HeaderName::from_static("x-content-hash"),
    HeaderName::from_static("x-run-id"),
    HeaderName::from_static("x-thread-id"),
];

/// Copies these headers, as far as they are there.
fn copy_headers(from: &HeaderMap, to: &mut HeaderMap, names: impl IntoIterator<Item = HeaderName>) {
    for name in names {
        if let Some(value) = from.get(&name) {
            to.insert(name, value.clone());
        }
    }
}

#[async_trait]
impl PeerStandings for Links {
    async fn standing(&self, peer: &OwnerName) -> Result<Option<PeerStanding>, Fault> {
        let observed = self.0.peers.look_up(PEERS).await?;
        let Some(active_peer) = observed.state.all.get(peer).filter(|peer| peer.active().is_some()) else {
            return Ok(None);
        };
        let owners: BTreeSet<OwnerName> = active_peer.grants.owners().into_iter().cloned().collect();
        let condition =
            Condition { stream: AccordRoom::stream(PEERS), expected: observed.version, upon: observed.upon };
        Ok(Some(PeerStanding { condition, owners: owners.into() }))
    }
}
