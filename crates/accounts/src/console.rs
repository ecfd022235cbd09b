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
use plenary_kernel::{OwnerName, Stamp, TimestampMs, Version};
use plenary_log::{Fault, IndexOp};
use serde::{Serialize, de::DeserializeOwned};

use crate::{Accounts, Rejection, TokenDigest, index::PASSKEYS};
use command::{
    AddPasskey, IssuerSignIn, KeyringFacts, MakeLink, PasskeySignIn, RemovePasskey, SessionUse, SignIn,
    SignOut, SignedIn,
};
pub use cookie::{ConsoleCookie, cookie_of, csrf_of};
use decide::ConsoleDecision;
use event::ConsoleEvent;
pub use keyring::{Keyring, OpenSession};
use state::ConsoleState;
pub use state::{ConsoleRole, ConsoleSession, IssuerSubject};

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

/// A command on the links, sessions and passkeys of a console.
pub(crate) trait ConsoleCommand: Send + Sync {
    const NAME: &'static str;
    type Reply: Serialize + DeserializeOwned + Send + Sync;

    /// The token that must be valid, if any.
    fn required_token<'a>(&'a self, _state: &'a ConsoleState) -> Option<&'a TokenDigest> {
        None
    }
    fn decide(
        &self,
        state: &ConsoleState,
        facts: KeyringFacts,
        stamp: &Stamp,
    ) -> ConsoleDecision<Self::Reply>;
    /// An owner without quota must still be able to sign in and see the reason.
    fn exceeds_quota(&self) -> bool {
        true
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

/// `IssuerSignIn` with the digest of the cookie.
pub(crate) struct IssuerSignInWith<'a> {
    pub(crate) sign_in: &'a IssuerSignIn,
    pub(crate) cookie: TokenDigest,
}

impl ConsoleCommand for MakeLink {
    const NAME: &'static str = "make_link";
    type Reply = ();

    fn required_token<'a>(&'a self, _: &'a ConsoleState) -> Option<&'a TokenDigest> {
        Some(&self.through)
    }
    fn decide(&self, _: &ConsoleState, facts: KeyringFacts, stamp: &Stamp) -> ConsoleDecision<()> {
        decide::make_link(facts, stamp, self)
    }
}

impl ConsoleCommand for SignIn {
    const NAME: &'static str = "sign_in";
    type Reply = SignedIn;

    fn required_token<'a>(&'a self, state: &'a ConsoleState) -> Option<&'a TokenDigest> {
        Some(&state.link(&self.link)?.through)
    }
    fn decide(&self, state: &ConsoleState, facts: KeyringFacts, stamp: &Stamp) -> ConsoleDecision<SignedIn> {
        decide::sign_in(state, facts, stamp, self)
    }
}

impl ConsoleCommand for SessionUse {
    const NAME: &'static str = "use_session";
    type Reply = ();

    fn decide(&self, state: &ConsoleState, _: KeyringFacts, stamp: &Stamp) -> ConsoleDecision<()> {
        decide::touch(state, stamp, self)
    }
}

impl ConsoleCommand for SignOut {
    const NAME: &'static str = "sign_out";
    type Reply = ();

    fn decide(&self, state: &ConsoleState, _: KeyringFacts, _: &Stamp) -> ConsoleDecision<()> {
        decide::sign_out(state, self)
    }
}

impl ConsoleCommand for AddPasskey {
    const NAME: &'static str = "add_passkey";
    type Reply = String;

    fn required_token<'a>(&'a self, _: &'a ConsoleState) -> Option<&'a TokenDigest> {
        Some(&self.through)
    }
    fn decide(&self, state: &ConsoleState, facts: KeyringFacts, stamp: &Stamp) -> ConsoleDecision<String> {
        decide::add_passkey(state, facts, stamp, self)
    }
    fn exceeds_quota(&self) -> bool {
        false
    }
}

impl ConsoleCommand for PasskeySignIn {
    const NAME: &'static str = "sign_in_by_passkey";
    type Reply = SignedIn;

    fn required_token<'a>(&'a self, state: &'a ConsoleState) -> Option<&'a TokenDigest> {
        Some(&state.passkey(&self.passkey)?.through)
    }
    fn decide(&self, state: &ConsoleState, facts: KeyringFacts, stamp: &Stamp) -> ConsoleDecision<SignedIn> {
        decide::sign_in_by_passkey(state, facts, stamp, self)
    }
}

impl ConsoleCommand for IssuerSignInWith<'_> {
    const NAME: &'static str = "sign_in_at_issuer";
    type Reply = SignedIn;

    fn required_token<'a>(&'a self, _: &'a ConsoleState) -> Option<&'a TokenDigest> {
        Some(&self.sign_in.through)
    }
    fn decide(&self, _: &ConsoleState, facts: KeyringFacts, stamp: &Stamp) -> ConsoleDecision<SignedIn> {
        decide::sign_in_at_issuer(facts, stamp, self.sign_in, self.cookie)
    }
}

impl ConsoleCommand for RemovePasskey {
    const NAME: &'static str = "remove_passkey";
    type Reply = ();

    fn decide(&self, state: &ConsoleState, _: KeyringFacts, _: &Stamp) -> ConsoleDecision<()> {
        decide::remove_passkey(state, self)
    }
}
