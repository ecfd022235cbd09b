//! Owners, agents, trust and organisations, configured by their owner or the operator (wire.md D.1).
//! Must not know: sessions, or how trust is decided.

mod agents;
mod orgs;
mod owners;
mod tokens;
mod trust;

pub(crate) use agents::agent_path;
pub use agents::{Agent, AgentList, Attention, ChangeAgent, CreateAgent, CreatedAgent, NewToken};
pub use orgs::{Org, OrgMember};
pub use owners::{CreatedOwner, OwnerEntry, OwnerList};
pub use tokens::{CreateToken, CreatedToken, GrantedClient, ScopedToken, ScopedTokens};
pub use trust::{Allowlist, Block, Blocks, Policy, Reachable, ReachablePage};
