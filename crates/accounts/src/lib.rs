//! Owners, agents, tokens and trust, shared by every protocol (wire.md D.1).
//! Must not know: any protocol that builds on it.

mod accounts;
mod actor;
pub mod agent;
mod answer;
mod authentication;
mod claim;
mod commit_waits;
pub mod console;
pub mod contact;
mod event;
mod eviction;
mod extract;
mod fields;
mod followers;
mod foreign;
mod guest;
mod hosted;
mod inbox;
mod index;
mod known;
pub mod limits;
mod news;
mod once;
pub mod org;
pub mod owner;
mod person;
mod reach;
mod rejection;
mod routes;
mod scope;
mod searches;
mod seed;
mod served;
mod ticket;
mod token;
mod token_scope;
mod tokens;
mod trust;
#[cfg(test)]
mod trust_tests;
mod turns;
mod viewer;
mod watch_events;
pub mod wire;

pub use accounts::{Accounts, Failure};
pub use actor::{Actor, Authority, Principal, TokenOwner};
pub use agent::{
    AgentRoom,
    attention::{Attention, AttentionChange, AttentionLevel},
    profile::{AgentKind, Profile, ProfileChange, Visibility},
    state::AgentState,
};
pub use answer::token_required;
pub use console::{
    ConsoleCookie, ConsoleRole, ConsoleSession, IssuerSubject, Keyring, OpenSession, Rights, SessionClient,
    client_of, cookie_of, csrf_of,
    passkey::{KnownPasskey, NewPasskey, PasskeyUse},
};
pub use contact::open_requests::ContactWaiting;
pub use event::AccountEvent;
pub use eviction::Consequences;
pub use extract::{
    AS_AGENT, AgentCaller, CSRF, Caller, ConnectCaller, Credentials, admit, bearer, identified, identify,
    signed_in,
};
pub use fields::searched_text;
pub use followers::{Follower, Watch, Watchers, recheck};
pub use foreign::{Admission, ForeignTokens};
pub use guest::{GuestIdentity, PeerStanding, PeerStandings};
pub use hosted::{HostedAgent, HostedIdentity, NotHosted};
pub use inbox::{INBOX, inbox_of, notice};
pub use known::{KnownAgent, KnownOrg, KnownOwner};
pub use once::{AnsweredOnce, once};
pub use org::OrgRoom;
pub use owner::OwnerRoom;
pub use person::{Decider, person_of};
pub use rejection::Rejection;
pub use routes::{ReachableQuery, find_agents, operations, overseen, reachable_by, reached_by};
pub use scope::{Access, SCOPED_ROOMS, Scope};
pub use seed::{Seed, SeedError, SeedReport};
pub use token::{Token, TokenDigest, TokenKind};
pub use token_scope::MissingScope;
pub use tokens::TokenClient;
pub use trust::{
    Policy, TrustTier, admits_elsewhere, admits_owner, blocked_between, may_contact, may_contact_elsewhere,
    trust_tier,
};
