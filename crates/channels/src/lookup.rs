//! Finds a channel that the caller may use. A channel that the caller may not use looks absent.
//! Must not know: HTTP, the budget of misses.

use std::{collections::HashMap, sync::Arc};

use plenary_accounts::{Accounts, Actor, Authority, KnownAgent, PeerStanding};
use plenary_engine::{Conditions, ExecuteError, LookedUp};
use plenary_kernel::{AgentHandle, Version};
use plenary_log::{Fault, StreamName};

use crate::{
    Channels,
    access::{Access, People, access},
    command::{AdmitOwner, Caller, ChangeKey},
    id::ChannelId,
    key::LinkKey,
    state::{ChannelState, owner_of},
};

/// A channel that the caller may use.
pub(crate) struct OpenChannel {
    pub(crate) id: ChannelId,
    pub(crate) state: Arc<ChannelState>,
    pub(crate) head: Version,
    pub(crate) access: Access,
}

/// The states of agents for one request, each read once. On a shared store they include the commits of other processes.
#[derive(Debug, Default)]
pub(crate) struct AgentCache(HashMap<AgentHandle, KnownAgent>);

impl AgentCache {
    async fn agent(
        &mut self,
        accounts: &Accounts,
        handle: &AgentHandle,
        shared: bool,
    ) -> Result<KnownAgent, Fault> {
        if let Some(known) = self.0.get(handle) {
            return Ok(known.clone());
        }
        // Another process of a shared store may have committed a block.
        let known = if shared { accounts.fresh_agent(handle).await? } else { accounts.agent(handle).await? };
        self.0.insert(handle.clone(), known.clone());
        Ok(known)
    }
}

/// The agent that created a channel, if it is another agent than the caller.
fn other_creator<'a>(state: &'a ChannelState, caller: &Caller) -> Option<&'a AgentHandle> {
    state.creator().filter(|creator| matches!(caller.via(), Some(Actor::Agent(agent)) if agent != *creator))
}

/// The facts of a decision on a channel, with the conditions of its append.
pub(crate) async fn people(
    accounts: &Accounts,
    state: &ChannelState,
    caller: &Caller,
    conditions: &mut Conditions,
) -> Result<People, Fault> {
    let Some(authority) = &caller.authority else {
        return Ok(People { is_authorized: true, ..People::default() });
    };
    let Authority { by: Actor::Agent(agent), token } = authority else {
        let is_authorized = accounts.holds(authority, conditions).await?;
        return Ok(People { is_authorized, ..People::default() });
    };
    let agent = accounts.agent(agent).await?;
    let standing = standing(accounts, caller).await?;
    let condition =
        standing.as_ref().map_or_else(|| agent.condition(), |standing| standing.condition.clone());
    conditions.push(condition);
    let is_authorized = match token {
        Some(token) if token.is_guest() => standing.is_some(),
        Some(token) if token.is_person() => {
            agent.state.is_live() && accounts.person_holds(&authority.by, token, conditions).await?
        }
        Some(token) => agent.state.accepts_token(token),
        None => false,
    };
    let creator = match other_creator(state, caller) {
        Some(creator) => Some(accounts.agent(creator).await?),
        None => None,
    };
    conditions.extend(creator.as_ref().map(KnownAgent::condition));
    Ok(People { is_authorized, agent: Some(agent), creator, standing })
}

/// The accord under which a caller of another network acts.
async fn standing(accounts: &Accounts, caller: &Caller) -> Result<Option<PeerStanding>, Fault> {
    match &caller.authority {
        Some(Authority { by: Actor::Agent(guest), token: Some(token) }) if token.is_guest() => {
            accounts.guest_standing(guest).await
        }
        _ => Ok(None),
    }
}

impl Channels {
    /// A channel that the caller may use; `None` if it is absent or the caller may not use it, after the same work in both
    /// cases. An owner that shows the key for the first time is admitted, unless the caller may only read: then the key opens
    /// the channel for this request alone, because all agents of an admitted owner may write.
    pub(crate) async fn found(
        &self,
        id: &ChannelId,
        caller: &Caller,
        may_write: bool,
    ) -> Result<Option<OpenChannel>, Fault> {
        let LookedUp { was_read, .. } = self.0.streams.look_up(id.as_str()).await?;
        let (mut state, head) = self.fresh(id).await?;
        let mut access = self.access_of(&state, caller, &mut AgentCache::default()).await?;
        // A peer may have any number of owners, so its agents show the key each time.
        let is_new = access == Some(Access::Key) && owner_of(caller.via()).is_some() && !caller.is_guest();
        if is_new && may_write && !self.admit(id, caller).await? {
            access = None;
        }
        let Some(access) = access else {
            if !was_read {
                self.0.streams.imitate_load(id.as_str()).await?;
            }
            return Ok(None);
        };
        if access == Access::Owner && state.key.is_none() {
            // If the store accepts no writes, the channel can still be read.
            match self.give_key(id, caller).await {
                Ok(()) => (state, _) = self.fresh(id).await?,
                Err(fault) => tracing::warn!(%fault, "an old channel without a link key was given no key"),
            }
        }
        Ok(Some(OpenChannel { id: id.clone(), state, head, access }))
    }

    /// Whether and why a caller with a valid token may use a channel.
    pub(crate) async fn access_of(
        &self,
        state: &ChannelState,
        caller: &Caller,
        seen: &mut AgentCache,
    ) -> Result<Option<Access>, Fault> {
        let shared = self.log().shared();
        let standing = standing(self.accounts(), caller).await?;
        if caller.is_guest() && standing.is_none() {
            return Ok(None);
        }
        let mut people = People { is_authorized: true, standing, ..People::default() };
        if let Some(creator) = other_creator(state, caller)
            && let Some(Actor::Agent(agent)) = caller.via()
        {
            people.agent = Some(seen.agent(self.accounts(), agent, shared).await?);
            people.creator = Some(seen.agent(self.accounts(), creator, shared).await?);
        }
        Ok(access(state, caller, &people))
    }

    /// Whether the caller of a live stream may still use the channel, by the state that this process knows.
    pub(crate) async fn admits(&self, id: &ChannelId, caller: &Caller) -> Result<bool, Fault> {
        let (state, _) = self.0.streams.state(id.as_str()).await?;
        let people = people(self.accounts(), &state, caller, &mut Vec::new()).await?;
        Ok(people.is_authorized && access(&state, caller, &people).is_some())
    }

    /// Whether an agent may read a channel, so that its events can be news for the agent.
    pub async fn is_open_to(&self, agent: &AgentHandle, channel: &StreamName) -> Result<bool, Fault> {
        let Ok(id) = channel.id().parse::<ChannelId>() else { return Ok(false) };
        let (state, _) = self.0.streams.state(id.as_str()).await?;
        let authority = Some(Authority { by: Actor::Agent(agent.clone()), token: None });
        let caller = Caller { authority, key: None, open: self.config().open };
        Ok(self.access_of(&state, &caller, &mut AgentCache::default()).await?.is_some())
    }

    /// Admits the caller's owner, which has shown the key; false if the key is no longer valid.
    async fn admit(&self, id: &ChannelId, caller: &Caller) -> Result<bool, Fault> {
        let admitted = self.ask(id, AdmitOwner { caller: caller.clone() }, None).await;
        Ok(ExecuteError::skip_refused(admitted)?.is_some())
    }

    /// Gives a key to a channel that was created before links had keys.
    async fn give_key(&self, id: &ChannelId, caller: &Caller) -> Result<(), Fault> {
        let (caller, key) = (caller.clone(), LinkKey::random());
        let command = ChangeKey { caller, key, only_if_none: true, revokes: false };
        ExecuteError::skip_refused(self.ask(id, command, None).await).map(drop)
    }
}
