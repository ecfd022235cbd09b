//! Owners as the engine sees them.
//! Must not know: HTTP.

pub mod command;
mod decide;
pub mod event;
pub mod state;

use std::future::{Future, ready};

use bytes::Bytes;
use plenary_engine::{Beside, Command, Decision, Facts, NoFacts, Room};
use plenary_kernel::{OwnerName, Stamp, TimestampMs, Version};
use plenary_log::{Fault, IndexOp, NewEvent, StoredEvent};

use crate::{
    Actor, Rejection, TokenDigest,
    index::{OWNERS, TOKENS},
};
use command::GiveToken;
use event::{OwnerEvent, OwnerRegistered};
pub use state::OwnerState;

/// The streams `accounts.owner/<owner>`.
#[derive(Debug)]
pub struct OwnerRoom;

impl Room for OwnerRoom {
    type State = OwnerState;
    type Event = OwnerEvent;
    const CATEGORY: &'static str = "accounts.owner";
    const SNAPSHOT_FORM: u16 = 1;

    fn encode(event: &OwnerEvent) -> NewEvent {
        event.encode()
    }
    fn decode(event: &StoredEvent) -> Result<OwnerEvent, Fault> {
        OwnerEvent::decode(event)
    }
    fn evolve(state: &mut OwnerState, _: Version, at: TimestampMs, event: &OwnerEvent) {
        state.evolve(at, event);
    }
    fn index(id: &str, event: &OwnerEvent) -> Vec<IndexOp> {
        let bearer = |token: &TokenDigest| IndexOp::Put {
            name: TOKENS,
            key: token.hex(),
            value: Bytes::from(format!("~{id}")),
        };
        match event {
            OwnerEvent::OwnerRegistered(event) => {
                let listed = IndexOp::Put { name: OWNERS, key: id.to_owned(), value: Bytes::new() };
                [listed].into_iter().chain(event.token.as_ref().map(bearer)).collect()
            }
            OwnerEvent::OwnerTokenSet(event) => {
                let dead = |old: TokenDigest| IndexOp::Delete { name: TOKENS, key: old.hex() };
                event.old.map(dead).into_iter().chain([bearer(&event.new)]).collect()
            }
        }
    }
}

/// A new owner, in the same append as what brought it along. The append is held to the owner's absence.
pub(crate) fn made_beside(owner: &OwnerName, by: &Actor) -> Beside {
    let event = OwnerEvent::OwnerRegistered(OwnerRegistered { by: by.clone(), token: None });
    Beside {
        events: vec![(OwnerRoom::stream(owner.as_str()), event.encode())],
        index: OwnerRoom::index(owner.as_str(), &event),
        rows: Vec::new(),
    }
}

impl Command<OwnerRoom> for GiveToken {
    type Reply = ();
    type Rejection = Rejection;
    type Facts = ();

    fn facts(&self, _: &OwnerState) -> impl Future<Output = Result<Facts<()>, Fault>> + Send {
        ready(Ok(NoFacts::none()))
    }

    fn decide(
        &self,
        state: &OwnerState,
        _: Version,
        (): &(),
        _: &Stamp,
    ) -> Result<Decision<OwnerEvent, ()>, Rejection> {
        decide::give_token(state, self)
    }
}
