//! Owners as the engine sees them.
//! Must not know: HTTP.

pub mod command;
mod decide;
pub mod event;
pub mod state;

use plenary_engine::{Command, Conditions, Decided, Decision, Point, Room, SideEvents};
use plenary_kernel::{OwnerName, Stamp, TimestampMs, Version};
use plenary_log::{Fault, IndexOp, RowOp};

use crate::{
    Accounts, Actor, Rejection, TokenDigest, claim,
    index::{OWNERS, TOKENS},
};
use command::{GiveFacts, GiveToken};
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

    fn evolve(state: &mut OwnerState, _: Version, at: TimestampMs, event: &OwnerEvent) {
        state.evolve(at, event);
    }
    fn payer(_: &str, _: &OwnerState, event: &OwnerEvent) -> Option<OwnerName> {
        match event {
            OwnerEvent::OwnerRegistered(event) => event.by.owner(),
            OwnerEvent::OwnerTokenSet(event) => event.by.owner(),
        }
    }
    fn index(id: &str, event: &OwnerEvent) -> Vec<IndexOp> {
        let bearer = |token: &TokenDigest| IndexOp::put_value(TOKENS, token.hex(), format!("~{id}"));
        match event {
            OwnerEvent::OwnerRegistered(event) => {
                let list_row = IndexOp::put(OWNERS, id.to_owned());
                [list_row].into_iter().chain(event.token.as_ref().map(bearer)).collect()
            }
            OwnerEvent::OwnerTokenSet(event) => {
                let delete_token = |old: TokenDigest| IndexOp::delete(TOKENS, old.hex());
                event.old.map(delete_token).into_iter().chain([bearer(&event.new)]).collect()
            }
        }
    }
}

/// A new owner, in the same append as its first agent or organisation, on the condition that the owner does not exist.
pub(crate) fn registration_side_events(owner: &OwnerName, by: &Actor) -> SideEvents {
    let event = OwnerEvent::OwnerRegistered(OwnerRegistered { by: by.clone(), token: None });
    SideEvents {
        events: vec![(OwnerRoom::stream(owner.as_str()), event.encode())],
        index: OwnerRoom::index(owner.as_str(), &event),
        rows: Vec::new(),
    }
}

/// The changes of the token index by an event.
fn claims(event: &OwnerEvent) -> Vec<RowOp> {
    match event {
        OwnerEvent::OwnerRegistered(event) => event.token.as_ref().map(claim::claim).into_iter().collect(),
        OwnerEvent::OwnerTokenSet(event) => {
            event.old.as_ref().map(claim::release).into_iter().chain([claim::claim(&event.new)]).collect()
        }
    }
}

/// `GiveToken` with its facts.
pub(crate) struct GiveTokenWith<'a> {
    pub(crate) accounts: &'a Accounts,
    pub(crate) command: &'a GiveToken,
    /// Whether a person acts who signed in at an issuer.
    pub(crate) signed_in_at_issuer: bool,
}

impl Command<OwnerRoom> for GiveTokenWith<'_> {
    const NAME: &'static str = "give_token";
    type Reply = ();
    type Rejection = Rejection;
    type Facts = GiveFacts;

    async fn facts(&self, _: &OwnerState, _: &mut Conditions) -> Result<GiveFacts, Fault> {
        let token_exists = self.accounts.is_token_in_use(&self.command.token).await?;
        Ok(GiveFacts { token_exists, signed_in_at_issuer: self.signed_in_at_issuer })
    }

    fn decide(&self, state: &OwnerState, facts: &GiveFacts, _: &Point) -> Decided<OwnerRoom, Self> {
        decide::give_token(state, *facts, self.command)
    }

    /// The owner may replace a leaked token without quota.
    fn exceeds_quota(&self) -> bool {
        true
    }

    fn side_events(&self, decision: &Decision<OwnerEvent, ()>, _: &Stamp) -> SideEvents {
        SideEvents { rows: decision.events.iter().flat_map(claims).collect(), ..SideEvents::default() }
    }
}
