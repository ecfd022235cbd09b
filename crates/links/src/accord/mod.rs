//! The peers as a room of the engine: the one stream `links.network/peers`, and the commands on it.
//! Must not know: HTTP.

pub(crate) mod decide;
#[cfg(test)]
mod decide_tests;
pub(crate) mod event;
pub(crate) mod state;

use plenary_accounts::Authority;
use plenary_engine::{Command, Conditions, Decided, Point, Room};
use plenary_kernel::{OwnerName, TimestampMs, Version};
use plenary_log::Fault;

use crate::Links;
use decide::{AccordStep, AffectedAccord, Rejection, decide};
use event::AccordEvent;
use state::PeersState;

/// The id of the only stream.
pub(crate) const PEERS: &str = "peers";

/// The stream `links.network/peers`.
#[derive(Debug)]
pub(crate) struct AccordRoom;

impl Room for AccordRoom {
    type State = PeersState;
    type Event = AccordEvent;
    const CATEGORY: &'static str = "links.network";
    const SNAPSHOT_FORM: u16 = 1;

    fn evolve(state: &mut PeersState, _: Version, at: TimestampMs, event: &AccordEvent) {
        state.evolve(at, event);
    }
    /// Peers belong to the operator, who has no quota.
    fn payer(_: &str, _: &PeersState, _: &AccordEvent) -> Option<OwnerName> {
        None
    }
}

/// A command on the peers.
pub(crate) struct DoAccord<'a> {
    pub(crate) links: &'a Links,
    /// The caller's authority; `None` for a peer.
    pub(crate) authority: Option<Authority>,
    pub(crate) step: AccordStep,
}

impl Command<AccordRoom> for DoAccord<'_> {
    const NAME: &'static str = "do_accord";
    type Reply = AffectedAccord;
    type Rejection = Rejection;
    type Facts = bool;

    async fn facts(&self, _: &PeersState, conditions: &mut Conditions) -> Result<bool, Fault> {
        Ok(match &self.authority {
            Some(authority) => self.links.accounts().holds(authority, conditions).await?,
            None => true,
        })
    }

    fn decide(&self, state: &PeersState, is_token_valid: &bool, at: &Point) -> Decided<AccordRoom, Self> {
        if !is_token_valid {
            return Err(Rejection::Unauthenticated);
        }
        decide(state, &at.stamp, self.authority.as_ref().map(|authority| &authority.by), &self.step)
    }
}
