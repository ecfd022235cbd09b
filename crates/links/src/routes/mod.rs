//! The operations of this room: parse, call the room, translate the reply.
//! Must not know: the effects of a command.

mod guests;
mod link;
mod peers;

use axum::{Router, extract::FromRef};
use plenary_accounts::Accounts;
use plenary_edge::{Metrics, Operation, Origin, RegistryFault};

use crate::{
    Links, NetworkUrl,
    refusals::{HouseRefusal, no_public_url},
};
pub(crate) use link::PeerCall;

/// The media type of a content.
pub(crate) const OPAQUE: &str = "application/octet-stream";

/// The room, and the URL of this network.
#[derive(Clone)]
pub(crate) struct Door {
    links: Links,
    own: Option<NetworkUrl>,
}

impl Door {
    pub(crate) fn new(links: Links, origin: &Origin) -> Self {
        Self { links, own: origin.stated_url().parse().ok() }
    }

    /// The URL of this network, which an accord requires.
    fn own(&self) -> Result<&NetworkUrl, HouseRefusal> {
        self.own.as_ref().ok_or_else(|| no_public_url().into())
    }
}

impl FromRef<Door> for Accounts {
    fn from_ref(door: &Door) -> Self {
        door.links.accounts().clone()
    }
}

/// The operations of the room.
pub(crate) fn operations() -> Vec<Operation<Door>> {
    peers::operations().into_iter().chain(guests::operations()).chain(link::operations()).collect()
}

/// The routes of the room.
///
/// # Errors
/// The operations contradict each other.
pub(crate) fn routes(door: Door, metrics: &Metrics) -> Result<Router, RegistryFault> {
    Ok(plenary_edge::routes(operations(), metrics)?.with_state(door))
}
