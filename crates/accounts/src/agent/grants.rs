//! The decisions on an agent's additional tokens and on grants. Pure.

use plenary_engine::Decision;
use plenary_kernel::{AgentHandle, Stamp, TimestampMs};

use super::{
    command::NewToken,
    event::{AgentEvent, GrantRenewed, TokenIssued, TokensEnded, WhyEnded},
    profile::AgentKind,
    state::AgentState,
    tokens::{GrantEdit, GrantOutcome, IssuedToken, OWN, Renewal},
};
use crate::{
    Actor, Authority, Rejection, TokenDigest,
    limits::{
        TOKENS_BELOW_ONE_MAX, TOKENS_OF_ISSUERS_MAX, TOKENS_PER_AGENT_MAX, TOKENS_PER_GRANT_MAX,
        TOKENS_REFUSED_MAX,
    },
};

/// Decides `AgentEdit::IssueToken` after the check of permissions; `through` is the proof of the rule by which the actor
/// signed in at an issuer.
pub(super) fn issue(
    state: &AgentState,
    stamp: &Stamp,
    authority: &Authority,
    (new, through): (&NewToken, Option<TokenDigest>),
) -> Result<AgentEvent, Rejection> {
    if state.kind() != AgentKind::Agent {
        return Err(Rejection::NoTokens);
    }
    if state.issued().len() >= TOKENS_PER_AGENT_MAX {
        return Err(Rejection::TooManyTokens);
    }
    if new.issuer.is_some() {
        // A revoked token of an issuer stays revoked until its expiry, although its signature is still valid.
        let digests = [new.token, new.statement.map(|statement| statement.signed)];
        if digests.iter().flatten().any(|digest| state.has_refused(digest, stamp.now)) {
            return Err(Rejection::Revoked);
        }
        let is_full = state.issued().of_issuers(stamp.now) >= TOKENS_OF_ISSUERS_MAX;
        if is_full || state.refused_count(stamp.now) >= TOKENS_REFUSED_MAX {
            return Err(Rejection::TooManyTokens);
        }
    }
    let mut expires_at = new.expires_at;
    let parent = match maker_of(state, authority) {
        Maker::Owner => None,
        Maker::OwnToken => Some(OWN.to_owned()),
        Maker::With(id, parent) => {
            // A token with few rights must not use up the agent's limit of tokens.
            if state.issued().below_topmost(id) >= TOKENS_BELOW_ONE_MAX {
                return Err(Rejection::TooManyTokensBelow);
            }
            if !parent.scope.covers(&new.scope) {
                return Err(Rejection::ScopeExceeded);
            }
            expires_at = expires_at.or(parent.expires_at);
            if parent.expires_at.is_some_and(|end| expires_at > Some(end)) {
                return Err(Rejection::LastsTooLong);
            }
            Some(id.to_owned())
        }
    };
    Ok(AgentEvent::TokenIssued(TokenIssued {
        by: authority.by.clone(),
        id: stamp.ulid(0).to_string(),
        token: new.token,
        parent,
        scope: new.scope.clone(),
        name: new.name.clone(),
        expires_at,
        client: new.client.clone(),
        issuer: new.issuer.clone(),
        statement: new.statement,
        resource: new.resource.clone(),
        through,
    }))
}

/// Decides `AgentEdit::EndToken`. An additional token can end only itself and the tokens below it.
pub(super) fn end(state: &AgentState, authority: &Authority, id: &str) -> Result<AgentEvent, Rejection> {
    let issued = state.issued();
    let is_within = match maker_of(state, authority) {
        Maker::Owner | Maker::OwnToken => true,
        Maker::With(own, _) => issued.is_within(id, own),
    };
    if !is_within || issued.get(id).is_none() {
        return Err(Rejection::NotFound);
    }
    Ok(tokens_ended(state, Some(authority.by.clone()), WhyEnded::Revoked, id))
}

/// The token with which an agent's tokens are changed.
enum Maker<'a> {
    Owner,
    OwnToken,
    With(&'a str, &'a IssuedToken),
}

fn maker_of<'a>(state: &'a AgentState, authority: &Authority) -> Maker<'a> {
    match (&authority.by, &authority.token) {
        // A person who acts as the agent has the rights of its owner.
        (Actor::Agent(_), Some(token)) if !token.is_person() => {
            state.issued().of(token).map_or(Maker::OwnToken, |(id, parent)| Maker::With(id, parent))
        }
        _ => Maker::Owner,
    }
}

fn tokens_ended(state: &AgentState, by: Option<Actor>, why: WhyEnded, id: &str) -> AgentEvent {
    AgentEvent::TokensEnded(TokensEnded { by, why, ended: state.issued().with_descendants(id) })
}

/// Decides `GrantEdit`.
pub(super) fn edit(
    state: &AgentState,
    stamp: &Stamp,
    handle: &AgentHandle,
    edit: &GrantEdit,
) -> Result<Decision<AgentEvent, GrantOutcome>, Rejection> {
    let unchanged_reply = |events| Ok(Decision::new(events, GrantOutcome::Done));
    let revocation = |why, id: &str| vec![tokens_ended(state, None, why, id)];
    match edit {
        GrantEdit::TakeUp(renewal) => {
            let grant = grant(state, stamp.now, renewal)?;
            if grant.refresh.is_some() {
                return Err(Rejection::GrantInvalid);
            }
            renew(state, stamp, handle, renewal, grant)
        }
        GrantEdit::Renew { used, renewal } => {
            let grant = grant(state, stamp.now, renewal)?;
            if !grant.key.is_some_and(|key| key.matches(&renewal.key)) {
                return Err(Rejection::GrantInvalid);
            }
            if !grant.refresh.is_some_and(|refresh| refresh.matches(used)) {
                let events = revocation(WhyEnded::Reused, &renewal.grant);
                return Ok(Decision::new(events, GrantOutcome::Reused));
            }
            renew(state, stamp, handle, renewal, grant)
        }
        GrantEdit::GiveBack { grant, key } => match state.issued().get(grant) {
            Some(grant_token) if grant_token.key.is_some_and(|grant_key| grant_key.matches(key)) => {
                unchanged_reply(revocation(WhyEnded::Revoked, grant))
            }
            Some(_) | None => unchanged_reply(Vec::new()),
        },
        GrantEdit::Distrust { grant } => match state.issued().get(grant) {
            Some(_) => unchanged_reply(revocation(WhyEnded::Reused, grant)),
            None => unchanged_reply(Vec::new()),
        },
        GrantEdit::GiveBackToken(token) => match state.issued().of(token) {
            Some((id, _)) => unchanged_reply(revocation(WhyEnded::Revoked, id)),
            None => unchanged_reply(Vec::new()),
        },
        GrantEdit::Expire => {
            let ended_tokens = state.issued().expired_tokens(stamp.now);
            let event = TokensEnded { by: None, why: WhyEnded::Expired, ended: ended_tokens };
            unchanged_reply(if event.ended.is_empty() {
                Vec::new()
            } else {
                vec![AgentEvent::TokensEnded(event)]
            })
        }
    }
}

/// The valid grant of a client.
fn grant<'a>(
    state: &'a AgentState,
    now: TimestampMs,
    renewal: &Renewal,
) -> Result<&'a IssuedToken, Rejection> {
    let grant = state.issued().get(&renewal.grant).filter(|grant| state.is_live() && grant.is_open(now));
    let is_its = |grant: &&IssuedToken| {
        grant.client.as_ref().is_some_and(|client| client.client_id == renewal.client_id)
    };
    grant.filter(is_its).ok_or(Rejection::GrantInvalid)
}

fn renew(
    state: &AgentState,
    stamp: &Stamp,
    handle: &AgentHandle,
    renewal: &Renewal,
    grant: &IssuedToken,
) -> Result<Decision<AgentEvent, GrantOutcome>, Rejection> {
    let scope = renewal.scope.clone().unwrap_or_else(|| grant.scope.clone());
    if !grant.scope.covers(&scope) {
        return Err(Rejection::ScopeExceeded);
    }
    let until = grant.client.as_ref().map_or(stamp.now, |client| client.until);
    let lasts_until = TimestampMs(stamp.now.0.saturating_add(renewal.lasts_ms));
    let mut events = vec![AgentEvent::GrantRenewed(GrantRenewed {
        id: renewal.grant.clone(),
        key: renewal.key,
        refresh: renewal.refresh,
        pending_until: grant.expires_at.filter(|_| grant.refresh.is_none()),
        expires_at: grant.refresh.is_none().then_some(until),
    })];
    let surplus_tokens = state.issued().surplus_tokens(&renewal.grant, TOKENS_PER_GRANT_MAX - 1);
    if !surplus_tokens.is_empty() {
        events.push(AgentEvent::TokensEnded(TokensEnded {
            by: None,
            why: WhyEnded::Revoked,
            ended: surplus_tokens,
        }));
    }
    events.push(AgentEvent::TokenIssued(TokenIssued {
        by: Actor::Agent(handle.clone()),
        id: stamp.ulid(0).to_string(),
        token: Some(renewal.access),
        parent: Some(renewal.grant.clone()),
        scope,
        name: grant.name.clone(),
        expires_at: Some(lasts_until.min(until)),
        client: None,
        issuer: None,
        statement: None,
        resource: renewal.resource.clone(),
        through: None,
    }));
    Ok(Decision::new(events, GrantOutcome::Done))
}
