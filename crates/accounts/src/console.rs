//! Sign-in of people: single-use links, the sessions that they open, and their cookies. The sessions of an owner are
//! on one stream, those of the operator on another; only digests are stored.
//! Must not know: HTTP bodies, or pages.

pub mod command;
pub(crate) mod cookie;
mod decide;
pub mod event;
mod keyring;
pub mod passkey;
pub mod state;

use plenary_engine::{Command, Conditions, Decided, Point, Room};
use plenary_kernel::{OwnerName, TimestampMs, Version};
use plenary_log::{Fault, IndexOp};

use crate::{Accounts, Rejection, index::PASSKEYS};
use command::{ConsoleCommand, KeyringFacts};
pub use cookie::{ConsoleCookie, client_of, cookie_of, csrf_of};
use event::ConsoleEvent;
pub use keyring::{Keyring, OpenSession};
use state::ConsoleState;
pub use state::{ConsoleRole, ConsoleSession, IssuerSubject, Rights, SessionClient};

/// The streams `accounts.console/~<owner>`, and `accounts.console/operator`.
#[derive(Debug)]
pub struct ConsoleRoom;

impl Room for ConsoleRoom {
    type State = ConsoleState;
    type Event = ConsoleEvent;
    const CATEGORY: &'static str = "accounts.console";
    const SNAPSHOT_FORM: u16 = 2;

    fn evolve(state: &mut ConsoleState, _: Version, at: TimestampMs, event: &ConsoleEvent) {
        state.evolve(at, event);
    }
    fn payer(id: &str, _: &ConsoleState, event: &ConsoleEvent) -> Option<OwnerName> {
        match event {
            ConsoleEvent::LinkMade(_)
            | ConsoleEvent::SignedIn(_)
            | ConsoleEvent::PasskeyAdded(_)
            | ConsoleEvent::PasskeyUsed(_)
            | ConsoleEvent::SignedInAtIssuer(_) => id.strip_prefix('~')?.parse().ok(),
            ConsoleEvent::SessionUsed(_) | ConsoleEvent::SignedOut(_) | ConsoleEvent::PasskeyRemoved(_) => {
                None
            }
        }
    }
    fn index(id: &str, event: &ConsoleEvent) -> Vec<IndexOp> {
        match event {
            ConsoleEvent::PasskeyAdded(event) => {
                let key = passkey::row(&event.credential, id);
                vec![IndexOp::put(PASSKEYS, key)]
            }
            ConsoleEvent::PasskeyRemoved(event) => {
                vec![IndexOp::delete(PASSKEYS, passkey::row(&event.credential, id))]
            }
            ConsoleEvent::LinkMade(_)
            | ConsoleEvent::SignedIn(_)
            | ConsoleEvent::SessionUsed(_)
            | ConsoleEvent::SignedOut(_)
            | ConsoleEvent::PasskeyUsed(_)
            | ConsoleEvent::SignedInAtIssuer(_) => Vec::new(),
        }
    }
}

/// A command with the accounts, which check its token.
pub(crate) struct KeyringCommand<'a, C> {
    pub(crate) accounts: &'a Accounts,
    pub(crate) command: &'a C,
}

impl<C: ConsoleCommand> Command<ConsoleRoom> for KeyringCommand<'_, C> {
    const NAME: &'static str = C::NAME;
    type Reply = C::Reply;
    type Rejection = Rejection;
    type Facts = KeyringFacts;

    async fn facts(&self, state: &ConsoleState, conditions: &mut Conditions) -> Result<KeyringFacts, Fault> {
        match self.command.required_token(state) {
            Some(token) => self.accounts.keyring_facts(token, conditions).await,
            None => Ok(KeyringFacts { is_token_valid: false }),
        }
    }

    fn decide(&self, state: &ConsoleState, facts: &KeyringFacts, at: &Point) -> Decided<ConsoleRoom, Self> {
        self.command.decide(state, *facts, &at.stamp)
    }

    fn exceeds_quota(&self) -> bool {
        self.command.exceeds_quota()
    }
}
