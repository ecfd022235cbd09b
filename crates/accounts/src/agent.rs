//! Agents as the engine sees them: the room, its indexes, and the facts of its commands.
//! Must not know: HTTP.

pub mod attention;
pub mod command;
mod decide;
#[cfg(test)]
mod decide_tests;
pub mod event;
#[cfg(test)]
mod granting_tests;
mod grants;
pub mod profile;
pub mod state;
#[cfg(test)]
mod stored_forms;
pub mod tokens;

use bytes::Bytes;
use plenary_engine::{Command, Conditions, Decided, Decision, Point, Room, SideEvents};
use plenary_kernel::{AgentHandle, OwnerName, Stamp, TimestampMs, Version};
use plenary_log::{Fault, IndexOp, RowOp};

use crate::{
    Accounts, Actor, Rejection, TokenDigest, claim,
    index::{AGENTS, BLOCKED_BY, EXPIRING, TOKENS, expiring_key},
    owner,
};
use command::{
    AgentEdit, EditAgent, EditFacts, EditOutcome, Eviction, NewToken, RegisterAgent, RegisterFacts,
    RegisterOutcome,
};
pub(crate) use decide::new_entries;
use event::{AgentEvent, EndedToken};
use state::AgentState;
use tokens::{GrantEdit, GrantOutcome};

/// The streams `accounts.agent/<handle>`.
#[derive(Debug)]
pub struct AgentRoom;

impl Room for AgentRoom {
    type State = AgentState;
    type Event = AgentEvent;
    const CATEGORY: &'static str = "accounts.agent";
    const SNAPSHOT_FORM: u16 = 6;

    fn evolve(state: &mut AgentState, version: Version, at: TimestampMs, event: &AgentEvent) {
        state.evolve(version, at, event);
    }
    fn payer(id: &str, _: &AgentState, event: &AgentEvent) -> Option<OwnerName> {
        match event {
            AgentEvent::AgentRegistered(event) => event.by.owner(),
            AgentEvent::AgentConfigured(event) => event.by.owner(),
            AgentEvent::AgentBlocked(event) => event.by.owner(),
            AgentEvent::TokenRotated(event) => event.by.owner(),
            // Tokens from an issuer's token count for the agent's owner.
            AgentEvent::TokenIssued(event) if event.issuer.is_some() => {
                id.parse::<AgentHandle>().ok().map(|agent| agent.owner_name())
            }
            AgentEvent::TokenIssued(event) => event.by.owner(),
            AgentEvent::EntriesAllowed(event) => event.by.owner().filter(|_| event.counted),
            AgentEvent::EntriesDisallowed(_)
            | AgentEvent::AgentUnblocked(_)
            | AgentEvent::GrantRenewed(_)
            | AgentEvent::TokensEnded(_)
            | AgentEvent::AgentDeleted(_) => None,
        }
    }
    fn index(id: &str, event: &AgentEvent) -> Vec<IndexOp> {
        let bearer = |token: &TokenDigest| IndexOp::put_value(TOKENS, token.hex(), id.to_owned());
        let delete_token = |token: &TokenDigest| IndexOp::delete(TOKENS, token.hex());
        let expiring = |at, token: &str| IndexOp::put_value(EXPIRING, expiring_key(at, token), id.to_owned());
        let not_expiring = |at, token: &str| IndexOp::delete(EXPIRING, expiring_key(at, token));
        let delete_tokens = |ended: &[EndedToken]| -> Vec<IndexOp> {
            let ended_token_ops = |ended: &EndedToken| {
                let expiring = ended.expires_at.map(|at| not_expiring(at, &ended.id));
                ended.token.as_ref().map(delete_token).into_iter().chain(expiring).collect::<Vec<_>>()
            };
            ended.iter().flat_map(ended_token_ops).collect()
        };
        match event {
            AgentEvent::AgentRegistered(event) => {
                vec![bearer(&event.token), IndexOp::put(AGENTS, list_key(id))]
            }
            AgentEvent::AgentConfigured(_)
            | AgentEvent::EntriesAllowed(_)
            | AgentEvent::EntriesDisallowed(_) => Vec::new(),
            AgentEvent::AgentBlocked(event) => {
                let key = format!("{}/{id}", event.blocked);
                vec![IndexOp::put(BLOCKED_BY, key)]
            }
            AgentEvent::AgentUnblocked(event) => {
                vec![IndexOp::delete(BLOCKED_BY, format!("{}/{id}", event.blocked))]
            }
            AgentEvent::TokenIssued(event) => {
                let expiring = event.expires_at.map(|at| expiring(at, &event.id));
                event.token.as_ref().map(bearer).into_iter().chain(expiring).collect()
            }
            AgentEvent::GrantRenewed(event) => {
                let pending = event.pending_until.map(|at| not_expiring(at, &event.id));
                let lasting = event.expires_at.map(|at| expiring(at, &event.id));
                pending.into_iter().chain(lasting).collect()
            }
            AgentEvent::TokensEnded(event) => delete_tokens(&event.ended),
            AgentEvent::TokenRotated(event) => {
                let old = event.old.as_ref().map(delete_token).into_iter();
                old.chain([bearer(&event.new)]).chain(delete_tokens(&event.ended)).collect()
            }
            AgentEvent::AgentDeleted(event) => event
                .token
                .as_ref()
                .map(delete_token)
                .into_iter()
                .chain(delete_tokens(&event.ended))
                .chain([IndexOp::delete(AGENTS, list_key(id))])
                .collect(),
        }
    }
}

/// The changes of the token index by an event.
fn claims(event: &AgentEvent) -> Vec<RowOp> {
    let release_all = |ended: &[EndedToken]| {
        let tokens = ended.iter().filter_map(|ended| ended.token.as_ref());
        tokens.flat_map(|token| [claim::release(token), claim::forget_use(token)]).collect::<Vec<_>>()
    };
    match event {
        AgentEvent::AgentRegistered(event) => vec![claim::claim(&event.token)],
        AgentEvent::TokenRotated(event) => {
            let old = event.old.as_ref().map(claim::release).into_iter();
            old.chain([claim::claim(&event.new)]).chain(release_all(&event.ended)).collect()
        }
        AgentEvent::AgentDeleted(event) => {
            event.token.as_ref().map(claim::release).into_iter().chain(release_all(&event.ended)).collect()
        }
        AgentEvent::TokenIssued(event) => event.token.as_ref().map(claim::claim).into_iter().collect(),
        AgentEvent::TokensEnded(event) => release_all(&event.ended),
        AgentEvent::GrantRenewed(_) => Vec::new(),
        AgentEvent::AgentConfigured(_)
        | AgentEvent::EntriesAllowed(_)
        | AgentEvent::EntriesDisallowed(_)
        | AgentEvent::AgentBlocked(_)
        | AgentEvent::AgentUnblocked(_) => Vec::new(),
    }
}

/// The list key of `@owner.name`: `owner/name`, so that an owner's agents are adjacent.
pub(crate) fn list_key(handle: &str) -> String {
    handle.trim_start_matches('@').replacen('.', "/", 1)
}

/// The handle of a list key.
pub(crate) fn handle_of_key(key: &str) -> Result<AgentHandle, Fault> {
    let handle = format!("@{}", key.replacen('/', ".", 1));
    handle.parse().map_err(|_| Fault::Corrupt(format!("{key} in the list of agents is no handle")))
}

/// `RegisterAgent` with its facts.
pub(crate) struct RegisterWith<'a> {
    pub(crate) accounts: &'a Accounts,
    pub(crate) command: RegisterAgent,
}

impl Command<AgentRoom> for RegisterWith<'_> {
    const NAME: &'static str = "register";
    type Reply = RegisterOutcome;
    type Rejection = Rejection;
    type Facts = RegisterFacts;

    async fn facts(&self, _: &AgentState, conditions: &mut Conditions) -> Result<RegisterFacts, Fault> {
        let RegisterAgent { authority, handle, token, .. } = &self.command;
        let is_authorized = self.accounts.holds_for_agent(authority, conditions).await?;
        let owner = self.accounts.owner(&handle.owner_name()).await?;
        conditions.push(owner.condition());
        let owner_is_full =
            matches!(authority.by, Actor::Owner(_)) && self.accounts.is_full(&owner.owner).await?;
        Ok(RegisterFacts {
            is_authorized,
            owner_exists: owner.state.exists(),
            token_exists: self.accounts.is_token_in_use(token).await?,
            owner_is_full,
            through: self.accounts.signed_in_through(authority).await?,
        })
    }

    fn decide(&self, state: &AgentState, facts: &RegisterFacts, _: &Point) -> Decided<AgentRoom, Self> {
        decide::register(state, facts, &self.command)
    }

    fn side_events(&self, decision: &Decision<AgentEvent, RegisterOutcome>, _: &Stamp) -> SideEvents {
        let mut side_events = if decision.reply.makes_owner {
            owner::registration_side_events(&self.command.handle.owner_name(), &self.command.authority.by)
        } else {
            SideEvents::default()
        };
        side_events.rows.extend(decision.events.iter().flat_map(claims));
        side_events
    }
}

/// `EditAgent` with its facts.
pub(crate) struct EditWith<'a> {
    pub(crate) accounts: &'a Accounts,
    pub(crate) command: EditAgent,
}

impl Command<AgentRoom> for EditWith<'_> {
    const NAME: &'static str = "edit";
    type Reply = EditOutcome;
    type Rejection = Rejection;
    type Facts = EditFacts;

    async fn facts(&self, _: &AgentState, conditions: &mut Conditions) -> Result<EditFacts, Fault> {
        let is_authorized = self.accounts.holds_for_agent(&self.command.authority, conditions).await?;
        let token_exists = match &self.command.edit {
            AgentEdit::RotateToken(new) | AgentEdit::IssueToken(NewToken { token: Some(new), .. }) => {
                self.accounts.is_token_in_use(new).await?
            }
            AgentEdit::IssueToken(_)
            | AgentEdit::EndToken(_)
            | AgentEdit::Configure(_)
            | AgentEdit::Allow(_)
            | AgentEdit::Disallow(_)
            | AgentEdit::Block(_)
            | AgentEdit::Unblock(_)
            | AgentEdit::Delete => false,
        };
        let makes_token = matches!(self.command.edit, AgentEdit::RotateToken(_) | AgentEdit::IssueToken(_));
        let through =
            if makes_token { self.accounts.signed_in_through(&self.command.authority).await? } else { None };
        Ok(EditFacts { is_authorized, token_exists, through })
    }

    fn decide(&self, state: &AgentState, facts: &EditFacts, at: &Point) -> Decided<AgentRoom, Self> {
        decide::edit(state, *facts, &at.stamp, &self.command)
    }

    /// A restriction may use the reserve beyond the quota.
    fn exceeds_quota(&self) -> bool {
        match &self.command.edit {
            AgentEdit::RotateToken(_)
            | AgentEdit::Disallow(_)
            | AgentEdit::Block(_)
            | AgentEdit::Unblock(_)
            | AgentEdit::EndToken(_)
            | AgentEdit::Delete => true,
            AgentEdit::Configure(_) | AgentEdit::Allow(_) | AgentEdit::IssueToken(_) => false,
        }
    }

    fn side_events(&self, decision: &Decision<AgentEvent, EditOutcome>, _: &Stamp) -> SideEvents {
        let eviction_row =
            |eviction: &Eviction| RowOp { name: eviction.row(), expected: None, value: Some(Bytes::new()) };
        let claims = decision.events.iter().flat_map(claims);
        let rows = claims.chain(decision.reply.eviction.as_ref().map(eviction_row)).collect();
        SideEvents { rows, ..SideEvents::default() }
    }
}

/// `GrantEdit` on its agent. It needs no facts of other streams, because the secrets decide.
pub(crate) struct GrantCommand<'a>(pub(crate) &'a GrantEdit, pub(crate) &'a AgentHandle);

impl Command<AgentRoom> for GrantCommand<'_> {
    const NAME: &'static str = "grant";
    type Reply = GrantOutcome;
    type Rejection = Rejection;
    type Facts = ();

    async fn facts(&self, _: &AgentState, _: &mut Conditions) -> Result<(), Fault> {
        Ok(())
    }

    fn decide(&self, state: &AgentState, (): &(), at: &Point) -> Decided<AgentRoom, Self> {
        grants::edit(state, &at.stamp, self.1, self.0)
    }

    /// A client with a valid grant is not refused for a quota.
    fn exceeds_quota(&self) -> bool {
        true
    }

    fn side_events(&self, decision: &Decision<AgentEvent, GrantOutcome>, _: &Stamp) -> SideEvents {
        SideEvents { rows: decision.events.iter().flat_map(claims).collect(), ..SideEvents::default() }
    }
}
