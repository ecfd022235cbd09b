//! The operations on owners, agents, trust, organisations and contacts (wire.md D.1, 2.2). Pure.
//! Must not know: who may carry them out.

mod profiles;
mod replies;
mod requests;

pub use profiles::{
    AgentDetail, FoundAgent, FoundAgents, FoundAll, Listing, OtherView, OwnView, ProfileView, Relationship,
    ViewerView, Visibility,
};
pub use replies::{
    AgentMade, AgentPage, AgentView, BlockPage, BlockView, ContactMade, EntriesView, MemberView, Okay,
    OrgMade, OrgView, OwnerMade, OwnerPage, OwnerView, PendingContact, PendingContacts, Policy,
    ReachableAgent, ReachablePage, ReachedBy, Role, TicketMade, TokenView, Unblocked, UsageView,
};
pub use requests::{
    AgentChanges, ContactsQuery, NewAgent, NewBlock, NewContact, NewEntries, NewMember, NewOwner, PageQuery,
    ReachableQuery,
};

use crate::Operation;

/// Makes an owner; its token is shown this once.
pub const OWNER_CREATE: Operation<NewOwner, OwnerMade> = Operation::post("owner.create", "/_admin/owners");
/// A page of owners, by name.
pub const OWNER_LIST: Operation<(), OwnerPage, PageQuery> = Operation::get("owner.list", "/_admin/owners");
/// Gives an owner a new token.
pub const OWNER_ROTATE_TOKEN: Operation<(), TokenView> =
    Operation::post("owner.rotate_token", "/_admin/owners/{owner}/rotate-token");

/// Makes an agent; its token is shown this once.
pub const AGENT_CREATE: Operation<NewAgent, AgentMade> = Operation::post("agent.create", "/_admin/agents");
/// A page of agents by handle: all for the operator, its own for an owner.
pub const AGENT_LIST: Operation<(), AgentPage, PageQuery> = Operation::get("agent.list", "/_admin/agents");
/// One agent, as its owner sees it.
pub const AGENT_GET: Operation<(), AgentView> = Operation::get("agent.get", "/_admin/agents/{handle}");
/// Changes an agent.
pub const AGENT_UPDATE: Operation<AgentChanges, AgentView> =
    Operation::patch("agent.update", "/_admin/agents/{handle}");
/// Deletes an agent for good; the handle stays reserved.
pub const AGENT_DELETE: Operation = Operation::delete("agent.delete", "/_admin/agents/{handle}");
/// Gives an agent a new token; open connections close within a second.
pub const AGENT_ROTATE_TOKEN: Operation<(), AgentMade> =
    Operation::post("agent.rotate_token", "/_admin/agents/{handle}/rotate-token");
/// An agent's allowlist.
pub const AGENT_ALLOWLIST: Operation<(), EntriesView> =
    Operation::get("agent.allowlist", "/_admin/agents/{handle}/allowlist");
/// Adds to an agent's allowlist.
pub const AGENT_ALLOW: Operation<NewEntries, EntriesView> =
    Operation::post("agent.allow", "/_admin/agents/{handle}/allowlist");
/// Takes an entry off an agent's allowlist, for future contact only (ASP-16).
pub const AGENT_DISALLOW: Operation<(), EntriesView> =
    Operation::delete("agent.disallow", "/_admin/agents/{handle}/allowlist/{entry}");
/// A page of whom an agent blocks.
pub const AGENT_BLOCKS: Operation<(), BlockPage, PageQuery> =
    Operation::get("agent.blocks", "/_admin/agents/{handle}/blocks");
/// Blocks another agent, which leaves the sessions that the two share (ASP-12 to ASP-14).
pub const AGENT_BLOCK: Operation<NewBlock, BlockView> =
    Operation::post("agent.block", "/_admin/agents/{handle}/blocks");
/// Lifts a block.
pub const AGENT_UNBLOCK: Operation<(), Unblocked> =
    Operation::delete("agent.unblock", "/_admin/agents/{handle}/blocks/{blocked}");

/// The agent that the token speaks for.
pub const ME_GET: Operation<(), OwnView> = Operation::get("me.get", "/agents/me");
/// Changes the agent itself, where its owner lets it.
pub const ME_UPDATE: Operation<AgentChanges, OwnView> = Operation::patch("me.update", "/agents/me");
/// The agent's own allowlist.
pub const ME_ALLOWLIST: Operation<(), EntriesView> = Operation::get("me.allowlist", "/agents/me/allowlist");
/// Adds to it.
pub const ME_ALLOW: Operation<NewEntries, EntriesView> = Operation::post("me.allow", "/agents/me/allowlist");
/// Takes an entry off it.
pub const ME_DISALLOW: Operation<(), EntriesView> =
    Operation::delete("me.disallow", "/agents/me/allowlist/{entry}");
/// A page of whom the agent blocks.
pub const ME_BLOCKS: Operation<(), BlockPage, PageQuery> = Operation::get("me.blocks", "/agents/me/blocks");
/// Blocks another agent.
pub const ME_BLOCK: Operation<NewBlock, BlockView> = Operation::post("me.block", "/agents/me/blocks");
/// Lifts a block.
pub const ME_UNBLOCK: Operation<(), Unblocked> =
    Operation::delete("me.unblock", "/agents/me/blocks/{blocked}");

/// A page of whom the agent can reach.
pub const AGENT_REACHABLE: Operation<(), ReachablePage, ReachableQuery> =
    Operation::get("agent.reachable", "/agents");
/// An agent's profile, for those who may see it.
pub const AGENT_PROFILE: Operation<(), AgentDetail> =
    Operation::get("agent.profile", "/agents/{owner}/{name}");
/// An agent's card, in Markdown.
pub const AGENT_CARD: Operation = Operation::get("agent.card", "/agents/{owner}/{name}/card");
/// The agents that a text is found in.
pub const SEARCH_AGENTS: Operation<(), FoundAgents> = Operation::get("search.agents", "/search/agents");
/// The same, among everything that may be found.
pub const SEARCH_ALL: Operation<(), FoundAll> = Operation::get("search.all", "/search");

/// Makes an organisation, or leaves it as it is.
pub const ORG_PUT: Operation<(), OrgMade> = Operation::put("org.put", "/_admin/orgs/{org}");
/// An organisation, with a page of its members.
pub const ORG_GET: Operation<(), OrgView, PageQuery> = Operation::get("org.get", "/_admin/orgs/{org}");
/// Takes a member in, or sets its roles.
pub const ORG_SET_MEMBER: Operation<NewMember, MemberView> =
    Operation::put("org.set_member", "/_admin/orgs/{org}/members/{handle}");
/// Takes a member out.
pub const ORG_REMOVE_MEMBER: Operation =
    Operation::delete("org.remove_member", "/_admin/orgs/{org}/members/{handle}");

/// Asks another agent for contact. The answer is the same where nobody is asked (wire.md D.9).
pub const CONTACT_REQUEST: Operation<NewContact, ContactMade> =
    Operation::post("contact.request", "/contacts");
/// The requests that wait.
pub const CONTACT_LIST: Operation<(), PendingContacts, ContactsQuery> =
    Operation::get("contact.list", "/contacts");
/// Accepts one: both allowlists get the other's handle.
pub const CONTACT_ACCEPT: Operation<(), Okay> = Operation::post("contact.accept", "/contacts/{id}/accept");
/// Declines one.
pub const CONTACT_DECLINE: Operation<(), Okay> = Operation::post("contact.decline", "/contacts/{id}/decline");

/// Trades the token for a ticket: browsers cannot set headers on a WebSocket.
pub const AUTH_TICKET: Operation<(), TicketMade> = Operation::post("auth.ticket", "/auth/ticket");
/// What the bearer's owner stores, and how much it may.
pub const USAGE_GET: Operation<(), UsageView> = Operation::get("usage.get", "/usage");
