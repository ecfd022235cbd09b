//! Sign-in of people: links that are used once, the sessions that they open, and the cookie that stands for one. The
//! sessions of an owner stand on one stream, those of the operator on another; only digests are kept.
//! Must not know: HTTP bodies, or pages.

pub mod command;
pub(crate) mod cookie;
mod decide;
pub mod event;
mod keyring;
pub mod passkey;
pub mod state;

use bytes::Bytes;
use plenary_engine::{Command, Decision, Facts, Room};
use plenary_kernel::{OwnerName, Stamp, TimestampMs, Version};
use plenary_log::{Fault, IndexOp, NewEvent, StoredEvent};

use crate::{Accounts, Rejection, TokenDigest, index::PASSKEYS};
use command::{
    AddPasskey, IssuerSignIn, KeyringFacts, MakeLink, PasskeySignIn, RemovePasskey, SessionUse, SignIn,
    SignOut, SignedIn,
};
pub use cookie::{CONSOLE_COOKIE, ConsoleCookie, cookie_of, csrf_of};
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

    fn encode(event: &ConsoleEvent) -> NewEvent {
        event.encode()
    }
    fn decode(event: &StoredEvent) -> Result<ConsoleEvent, Fault> {
        ConsoleEvent::decode(event)
    }
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
                vec![IndexOp::Put { name: PASSKEYS, key, value: Bytes::new() }]
            }
            ConsoleEvent::PasskeyRemoved(event) => {
                vec![IndexOp::Delete { name: PASSKEYS, key: passkey::row(&event.credential, id) }]
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

/// `MakeLink` with what it asks.
pub(crate) struct MakeLinkWith<'a> {
    pub(crate) accounts: &'a Accounts,
    pub(crate) command: &'a MakeLink,
}

impl Command<ConsoleRoom> for MakeLinkWith<'_> {
    const NAME: &'static str = "make_link";
    type Reply = ();
    type Rejection = Rejection;
    type Facts = KeyringFacts;

    async fn facts(&self, _: &ConsoleState) -> Result<Facts<KeyringFacts>, Fault> {
        self.accounts.keyring_facts(&self.command.through).await
    }

    fn decide(
        &self,
        _: &ConsoleState,
        _: Version,
        facts: &KeyringFacts,
        stamp: &Stamp,
    ) -> Result<Decision<ConsoleEvent, ()>, Rejection> {
        decide::make_link(*facts, stamp, self.command)
    }

    /// Whoever has used up its quota must be able to look why.
    fn exceeds_quota(&self) -> bool {
        true
    }
}

/// `SignIn` with what it asks.
pub(crate) struct SigningIn<'a> {
    pub(crate) accounts: &'a Accounts,
    pub(crate) command: &'a SignIn,
}

impl Command<ConsoleRoom> for SigningIn<'_> {
    const NAME: &'static str = "sign_in";
    type Reply = SignedIn;
    type Rejection = Rejection;
    type Facts = KeyringFacts;

    async fn facts(&self, state: &ConsoleState) -> Result<Facts<KeyringFacts>, Fault> {
        match state.link(&self.command.link) {
            Some(link) => self.accounts.keyring_facts(&link.through).await,
            None => Ok(Facts { value: KeyringFacts { through_holds: false }, conditions: Vec::new() }),
        }
    }

    fn decide(
        &self,
        state: &ConsoleState,
        _: Version,
        facts: &KeyringFacts,
        stamp: &Stamp,
    ) -> Result<Decision<ConsoleEvent, SignedIn>, Rejection> {
        decide::sign_in(state, *facts, stamp, self.command)
    }

    fn exceeds_quota(&self) -> bool {
        true
    }
}

/// A change of one session that is there.
pub(crate) struct UseSession<'a>(pub(crate) &'a SessionUse);

impl Command<ConsoleRoom> for UseSession<'_> {
    const NAME: &'static str = "use_session";
    type Reply = ();
    type Rejection = Rejection;
    type Facts = ();

    async fn facts(&self, _: &ConsoleState) -> Result<Facts<()>, Fault> {
        Ok(Facts::none())
    }

    fn decide(
        &self,
        state: &ConsoleState,
        _: Version,
        (): &(),
        stamp: &Stamp,
    ) -> Result<Decision<ConsoleEvent, ()>, Rejection> {
        decide::touch(state, stamp, self.0)
    }

    fn exceeds_quota(&self) -> bool {
        true
    }
}

/// `SignOut`.
pub(crate) struct SigningOut<'a>(pub(crate) &'a SignOut);

impl Command<ConsoleRoom> for SigningOut<'_> {
    const NAME: &'static str = "sign_out";
    type Reply = ();
    type Rejection = Rejection;
    type Facts = ();

    async fn facts(&self, _: &ConsoleState) -> Result<Facts<()>, Fault> {
        Ok(Facts::none())
    }

    fn decide(
        &self,
        state: &ConsoleState,
        _: Version,
        (): &(),
        _: &Stamp,
    ) -> Result<Decision<ConsoleEvent, ()>, Rejection> {
        decide::sign_out(state, self.0)
    }

    fn exceeds_quota(&self) -> bool {
        true
    }
}

/// `AddPasskey` with what it asks.
pub(crate) struct AddingPasskey<'a> {
    pub(crate) accounts: &'a Accounts,
    pub(crate) command: &'a AddPasskey,
}

impl Command<ConsoleRoom> for AddingPasskey<'_> {
    const NAME: &'static str = "add_passkey";
    type Reply = String;
    type Rejection = Rejection;
    type Facts = KeyringFacts;

    async fn facts(&self, _: &ConsoleState) -> Result<Facts<KeyringFacts>, Fault> {
        self.accounts.keyring_facts(&self.command.through).await
    }

    fn decide(
        &self,
        state: &ConsoleState,
        _: Version,
        facts: &KeyringFacts,
        stamp: &Stamp,
    ) -> Result<Decision<ConsoleEvent, String>, Rejection> {
        decide::add_passkey(state, *facts, stamp, self.command)
    }
}

/// `PasskeySignIn` with what it asks.
pub(crate) struct SigningInByPasskey<'a> {
    pub(crate) accounts: &'a Accounts,
    pub(crate) command: &'a PasskeySignIn,
}

impl Command<ConsoleRoom> for SigningInByPasskey<'_> {
    const NAME: &'static str = "sign_in_by_passkey";
    type Reply = SignedIn;
    type Rejection = Rejection;
    type Facts = KeyringFacts;

    async fn facts(&self, state: &ConsoleState) -> Result<Facts<KeyringFacts>, Fault> {
        match state.passkey(&self.command.passkey) {
            Some(known) => self.accounts.keyring_facts(&known.through).await,
            None => Ok(Facts { value: KeyringFacts { through_holds: false }, conditions: Vec::new() }),
        }
    }

    fn decide(
        &self,
        state: &ConsoleState,
        _: Version,
        facts: &KeyringFacts,
        stamp: &Stamp,
    ) -> Result<Decision<ConsoleEvent, SignedIn>, Rejection> {
        decide::sign_in_by_passkey(state, *facts, stamp, self.command)
    }

    fn exceeds_quota(&self) -> bool {
        true
    }
}

/// `IssuerSignIn` with what it asks.
pub(crate) struct SigningInAtIssuer<'a> {
    pub(crate) accounts: &'a Accounts,
    pub(crate) command: &'a IssuerSignIn,
    pub(crate) cookie: TokenDigest,
}

impl Command<ConsoleRoom> for SigningInAtIssuer<'_> {
    const NAME: &'static str = "sign_in_at_issuer";
    type Reply = SignedIn;
    type Rejection = Rejection;
    type Facts = KeyringFacts;

    async fn facts(&self, _: &ConsoleState) -> Result<Facts<KeyringFacts>, Fault> {
        self.accounts.keyring_facts(&self.command.through).await
    }

    fn decide(
        &self,
        _: &ConsoleState,
        _: Version,
        facts: &KeyringFacts,
        stamp: &Stamp,
    ) -> Result<Decision<ConsoleEvent, SignedIn>, Rejection> {
        decide::sign_in_at_issuer(*facts, stamp, self.command, self.cookie)
    }

    fn exceeds_quota(&self) -> bool {
        true
    }
}

/// `RemovePasskey`.
pub(crate) struct RemovingPasskey<'a>(pub(crate) &'a RemovePasskey);

impl Command<ConsoleRoom> for RemovingPasskey<'_> {
    const NAME: &'static str = "remove_passkey";
    type Reply = ();
    type Rejection = Rejection;
    type Facts = ();

    async fn facts(&self, _: &ConsoleState) -> Result<Facts<()>, Fault> {
        Ok(Facts::none())
    }

    fn decide(
        &self,
        state: &ConsoleState,
        _: Version,
        (): &(),
        _: &Stamp,
    ) -> Result<Decision<ConsoleEvent, ()>, Rejection> {
        decide::remove_passkey(state, self.0)
    }

    fn exceeds_quota(&self) -> bool {
        true
    }
}
