//! The decisions on an agent. Pure.

use std::collections::BTreeSet;

use plenary_engine::Decision;
use plenary_kernel::{AgentHandle, AllowEntry, Stamp, TimestampMs};

use super::{
    attention::AttentionChange,
    command::{
        AgentEdit, EditAgent, EditFacts, EditOutcome, Eviction, RegisterAgent, RegisterFacts,
        RegisterOutcome, Settings,
    },
    event::{
        AgentConfigured, AgentDeleted, AgentEvent, AgentRegistered, AllowedEntries, Block, DisallowedEntries,
        TokenRotated,
    },
    grants::{end, issue},
    profile::{AgentKind, Profile},
    state::AgentState,
};
use crate::{
    Actor,
    limits::{ALLOWLIST_ENTRIES_MAX, BLOCKS_MAX},
    person::person_of,
    rejection::Rejection,
};

type AgentDecision<T> = Result<Decision<AgentEvent, T>, Rejection>;

/// Decides `RegisterAgent`.
pub(crate) fn register(
    state: &AgentState,
    facts: &RegisterFacts,
    command: &RegisterAgent,
) -> AgentDecision<RegisterOutcome> {
    if !facts.is_authorized {
        return Err(Rejection::Revoked);
    }
    match &command.authority.by {
        Actor::Operator | Actor::Seed => {}
        Actor::Owner(owner) if owner.as_str() == command.handle.owner() => {}
        Actor::Owner(_) | Actor::Agent(_) => return Err(Rejection::NotFound),
    }
    // An agent with the name of its owner would take the account of the owner's person. One that exists already stays.
    let is_free = !state.is_reserved() || state.kind() == AgentKind::Person;
    if is_free && command.kind == AgentKind::Agent && is_named_like_its_owner(&command.handle) {
        return Err(Rejection::OwnersPerson);
    }
    if state.is_reserved() {
        return Err(Rejection::AgentExists);
    }
    if facts.token_exists {
        return Err(Rejection::TokenExists);
    }
    if facts.owner_is_full {
        return Err(Rejection::TooManyAgents);
    }
    if !facts.owner_exists && command.handle.owner_name().is_elsewhere() {
        return Err(Rejection::OwnerElsewhere);
    }
    let allowlist: BTreeSet<_> = command.allowlist.iter().cloned().collect();
    if allowlist.len() > ALLOWLIST_ENTRIES_MAX {
        return Err(Rejection::AllowlistFull);
    }
    let event = AgentRegistered {
        by: command.authority.by.clone(),
        policy: command.policy,
        allowlist: allowlist.into_iter().collect(),
        self_service: command.self_service,
        token: command.token,
        through: facts.through,
        kind: command.kind,
        profile: Profile::default().difference(&command.profile),
    };
    let reply = RegisterOutcome { makes_owner: !facts.owner_exists };
    Ok(Decision::new(vec![AgentEvent::AgentRegistered(event)], reply))
}

/// Whether this is the handle of the owner's default person.
fn is_named_like_its_owner(handle: &AgentHandle) -> bool {
    *handle == person_of(&handle.owner_name())
}

/// Whether this is the default person of its owner.
fn is_own_person(handle: &AgentHandle, kind: AgentKind) -> bool {
    kind == AgentKind::Person && is_named_like_its_owner(handle)
}

/// Decides `EditAgent`.
pub(crate) fn edit(
    state: &AgentState,
    facts: EditFacts,
    stamp: &Stamp,
    command: &EditAgent,
) -> AgentDecision<EditOutcome> {
    permit(state, facts.is_authorized, command)?;
    let (by, handle) = (command.authority.by.clone(), &command.handle);
    let event = match &command.edit {
        AgentEdit::Configure(settings) => configure(state, by, settings, stamp.now)?,
        AgentEdit::Allow(entries) => {
            let entries = new_entries(state, entries)?;
            let allowed = AllowedEntries { by, entries, counted: true };
            (!allowed.entries.is_empty()).then_some(AgentEvent::EntriesAllowed(allowed))
        }
        AgentEdit::Disallow(entry) => {
            let entries = vec![entry.clone()];
            let is_listed = state.allowlist().contains(entry);
            is_listed.then_some(AgentEvent::EntriesDisallowed(DisallowedEntries { by, entries }))
        }
        AgentEdit::Block(blocked) => return block(state, stamp, by, handle, blocked),
        AgentEdit::Unblock(blocked) => {
            let is_blocked = state.blocks(blocked);
            is_blocked.then_some(AgentEvent::AgentUnblocked(Block { by, blocked: blocked.clone() }))
        }
        AgentEdit::RotateToken(_) if state.kind() != AgentKind::Agent => return Err(Rejection::NoTokens),
        AgentEdit::RotateToken(_) if facts.token_exists => return Err(Rejection::TokenExists),
        AgentEdit::RotateToken(new) => {
            let ended = state.issued().of_own();
            let (old, through) = (state.token(), facts.through);
            Some(AgentEvent::TokenRotated(TokenRotated { by, old, new: *new, through, ended }))
        }
        AgentEdit::IssueToken(_) if facts.token_exists => return Err(Rejection::TokenExists),
        AgentEdit::IssueToken(new) => Some(issue(state, stamp, &command.authority, (new, facts.through))?),
        AgentEdit::EndToken(id) => Some(end(state, &command.authority, id)?),
        // The server speaks to an owner through its person, and could not create another of this handle.
        AgentEdit::Delete if is_own_person(handle, state.kind()) => return Err(Rejection::OwnersPerson),
        AgentEdit::Delete => {
            let event = AgentEvent::AgentDeleted(AgentDeleted {
                by,
                token: state.token(),
                ended: state.issued().all(),
            });
            let eviction = Eviction::Agent { agent: handle.clone(), id: stamp.ulid(0).to_string() };
            return Ok(Decision::new(vec![event], EditOutcome { eviction: Some(eviction), issued: None }));
        }
    };
    let issued = match &event {
        Some(AgentEvent::TokenIssued(event)) => Some(event.id.clone()),
        Some(_) | None => None,
    };
    Ok(Decision::new(event.into_iter().collect(), EditOutcome { eviction: None, issued }))
}

/// The settings that change something; `None` if none does.
fn configure(
    state: &AgentState,
    by: Actor,
    settings: &Settings,
    now: TimestampMs,
) -> Result<Option<AgentEvent>, Rejection> {
    let policy = settings.policy.filter(|policy| *policy != state.policy());
    let self_service = settings.self_service.filter(|on| *on != state.configures_itself());
    let hold_runs = settings.hold_runs.filter(|on| *on != state.holds_runs());
    let hold_invitations = settings.hold_invitations.filter(|on| *on != state.holds_invitations());
    let profile = state.profile().difference(&settings.profile);
    if settings.attention.is_some_and(|change| !change.is_valid(now)) {
        return Err(Rejection::AttentionEnd);
    }
    let is_other = |change: &AttentionChange| change.after(state.attention(), now) != state.attention();
    let change = settings.attention.filter(is_other);
    let (attention, attention_until) = (change.map(|to| to.level), change.and_then(|to| to.until));
    let changes_holds = hold_runs.is_some() || hold_invitations.is_some();
    let gates = policy.is_some() || self_service.is_some() || changes_holds;
    let changes = gates || attention.is_some() || !profile.is_empty();
    let event = AgentConfigured {
        by,
        policy,
        self_service,
        hold_runs,
        hold_invitations,
        attention,
        attention_until,
        profile,
    };
    Ok(changes.then_some(AgentEvent::AgentConfigured(event)))
}

/// Checks who changes the agent: the operator, its owner, or the agent itself if its owner permits it (ASP-3, ASP-102). For
/// anyone else the agent is not found.
fn permit(state: &AgentState, is_authorized: bool, command: &EditAgent) -> Result<(), Rejection> {
    if !is_authorized {
        return Err(Rejection::Revoked);
    }
    let is_itself = match &command.authority.by {
        Actor::Operator | Actor::Seed => false,
        Actor::Owner(owner) if owner.as_str() == command.handle.owner() => false,
        Actor::Agent(agent) if *agent == command.handle => true,
        Actor::Owner(_) | Actor::Agent(_) => return Err(Rejection::NotFound),
    };
    if is_itself && !command.authority.token.is_some_and(|token| state.accepts_token(&token)) {
        return Err(Rejection::Revoked);
    }
    if !state.is_live() {
        return Err(Rejection::NotFound);
    }
    let needs_owner = match &command.edit {
        AgentEdit::Configure(settings) => settings.sets_what_the_owner_decides(),
        AgentEdit::RotateToken(_) | AgentEdit::Delete => true,
        AgentEdit::Allow(_) | AgentEdit::Disallow(_) | AgentEdit::Block(_) | AgentEdit::Unblock(_) => false,
        // A token issues no more than its own scope, and ends only tokens below itself.
        AgentEdit::IssueToken(_) | AgentEdit::EndToken(_) => return Ok(()),
    };
    let needs_no_leave =
        matches!(&command.edit, AgentEdit::Configure(settings) if settings.is_attention_alone());
    if is_itself && !needs_no_leave && (needs_owner || !state.configures_itself()) {
        return Err(Rejection::Forbidden);
    }
    Ok(())
}

/// The entries that are not on the list yet, without repetition.
pub(crate) fn new_entries(state: &AgentState, entries: &[AllowEntry]) -> Result<Vec<AllowEntry>, Rejection> {
    let new: BTreeSet<_> = entries.iter().filter(|entry| !state.allowlist().contains(*entry)).collect();
    if state.allowlist().len() + new.len() > ALLOWLIST_ENTRIES_MAX {
        return Err(Rejection::AllowlistFull);
    }
    Ok(new.into_iter().cloned().collect())
}

/// A block may name an unused handle. It applies if the handle is registered later, and reveals nothing to the blocker.
fn block(
    state: &AgentState,
    stamp: &Stamp,
    by: Actor,
    handle: &AgentHandle,
    blocked: &AgentHandle,
) -> AgentDecision<EditOutcome> {
    if blocked == handle {
        return Err(Rejection::BlocksItself);
    }
    let pair =
        Eviction::Pair { blocker: handle.clone(), blocked: blocked.clone(), id: stamp.ulid(0).to_string() };
    // A repeated block changes nothing, but its acknowledgement again means that the agents share no session.
    let reply = EditOutcome { eviction: Some(pair), issued: None };
    if state.blocks(blocked) {
        return Ok(Decision::unchanged(reply));
    }
    if state.blocked().len() >= BLOCKS_MAX {
        return Err(Rejection::BlocksFull);
    }
    Ok(Decision::new(vec![AgentEvent::AgentBlocked(Block { by, blocked: blocked.clone() })], reply))
}
