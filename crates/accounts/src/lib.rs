//! Owners, agents, tokens and trust, shared by every protocol (wire.md D.1).
//! Must not know: any protocol that builds on it.

mod accounts;
mod actor;
pub mod agent;
mod answer;
mod authentication;
mod claim;
pub mod contact;
mod event;
mod eviction;
mod extract;
mod following;
#[cfg(test)]
mod golden;
mod hearing;
mod hosted;
mod inbox;
mod index;
mod known;
pub mod limits;
mod news;
mod once;
pub mod org;
pub mod owner;
mod reach;
mod rejection;
mod request;
mod routes;
mod seed;
mod served;
mod ticket;
mod token;
mod trust;
#[cfg(test)]
mod trust_tests;
mod viewer;
pub mod wire;

pub use accounts::{Accounts, Failure};
pub use actor::{Actor, Authority, Principal, Who};
pub use agent::{
    AgentRoom,
    profile::{Profile, ProfileChange, Visibility},
    state::AgentState,
};
pub use event::AccountEvent;
pub use eviction::{Consequences, Following};
pub use extract::{AgentCaller, Caller, ConnectCaller, Credentials, admit, identify};
pub use following::{Follower, Watch, Watchers, recheck};
pub use hosted::{Acting, Hosted, NotHosted};
pub use inbox::{INBOX, inbox_of, notice};
pub use known::{Known, KnownOrg, KnownOwner};
pub use once::{AnsweredOnce, once};
pub use org::OrgRoom;
pub use owner::OwnerRoom;
pub use rejection::Rejection;
pub use routes::operations;
pub use seed::{Seed, SeedError, Seeded};
pub use token::{Token, TokenDigest, TokenKind};
pub use trust::{Policy, TrustTier, blocked_between, may_contact, trust_tier};
