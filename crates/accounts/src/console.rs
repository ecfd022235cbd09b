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

macro_rules! console_command {
    ($name:literal, $command:ty => $reply:ty, |$this:ident, $state:ident, $facts:ident, $stamp:ident| $decide:expr
        $(, token $token:expr)? $(, exceeds $exceeds:literal)?) => {
        impl ConsoleCommand for $command {
            const NAME: &'static str = $name;
            type Reply = $reply;

            $(fn required_token<'a>(&'a self, $state: &'a ConsoleState) -> Option<&'a TokenDigest> {
                let ($this, _) = (self, $state);
                $token
            })?
            fn decide(
                &self,
                $state: &ConsoleState,
                $facts: KeyringFacts,
                $stamp: &Stamp,
            ) -> ConsoleDecision<$reply> {
                let $this = self;
                $decide
            }
            $(fn exceeds_quota(&self) -> bool {
                $exceeds
            })?
        }
    };
}

console_command!("make_link", MakeLink => (), |this, _state, facts, stamp| decide::make_link(facts, stamp, this),
    token Some(&this.through));
console_command!("sign_in", SignIn => SignedIn, |this, state, facts, stamp| decide::sign_in(state, facts, stamp, this),
    token Some(&state.link(&this.link)?.through));
console_command!("use_session", SessionUse => (), |this, state, _facts, stamp| decide::touch(state, stamp, this));
console_command!("sign_out", SignOut => (), |this, state, _facts, _stamp| decide::sign_out(state, this));
console_command!("add_passkey", AddPasskey => String,
    |this, state, facts, stamp| decide::add_passkey(state, facts, stamp, this),
    token Some(&this.through), exceeds false);
console_command!("sign_in_by_passkey", PasskeySignIn => SignedIn,
    |this, state, facts, stamp| decide::sign_in_by_passkey(state, facts, stamp, this),
    token Some(&state.passkey(&this.passkey)?.through));
console_command!("sign_in_at_issuer", IssuerSignInWith<'_> => SignedIn,
    |this, _state, facts, stamp| decide::sign_in_at_issuer(facts, stamp, this.sign_in, this.cookie),
    token Some(&this.sign_in.through));
console_command!("remove_passkey", RemovePasskey => (), |this, state, _facts, _stamp| decide::remove_passkey(state, this));
