//! The agents of an owner that an agent can contact: computed from all states, and cached until an agent changes.
//! Must not know: the message.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use plenary_engine::{Sealed, seal};
use plenary_kernel::{AgentHandle, OwnerName};
use plenary_log::{Fault, Order};
use quick_cache::sync::Cache;

use crate::{
    Accounts, KnownAgent,
    index::AGENTS,
    limits::REACHES_CACHED_MAX,
    trust::{lists_anybody_elsewhere, lists_stranger, may_contact},
};

/// The cached results, and the count of changes.
pub(crate) struct Reaches {
    changes: AtomicU64,
    /// The key: an agent, or all agents of other networks together, because a peer can invent any number of them.
    cached: Cache<(Option<AgentHandle>, OwnerName), Reach>,
}

/// The count of changes at the time of the computation, and the agents.
type Reach = (u64, Arc<[AgentHandle]>);

impl Default for Reaches {
    fn default() -> Self {
        Self { changes: AtomicU64::new(0), cached: Cache::new(REACHES_CACHED_MAX) }
    }
}

impl Reaches {
    /// An agent may have changed: earlier results become invalid.
    pub(crate) fn note_change(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }
}

impl Accounts {
    /// The agents of an owner that an agent may contact, by handle: with at least everything
    /// that this process has committed, and the commits of other processes whose events have arrived. To include all of
    /// those, wait with [`Accounts::observe_others`] before. Empty if the owner does not exist.
    pub fn reachable<'a>(
        &'a self,
        from: &'a AgentHandle,
        owner: &'a OwnerName,
    ) -> Sealed<'a, Result<Arc<[AgentHandle]>, Fault>> {
        seal(async move { self.cached_reach(Some(from), owner).await })
    }

    /// The agents of an owner whose allowlists name an agent of another network, and that do not block it, by
    /// handle: an open policy covers only agents of this network.
    ///
    /// # Errors
    /// The fault of the store.
    pub fn listing<'a>(
        &'a self,
        from: &'a AgentHandle,
        owner: &'a OwnerName,
    ) -> Sealed<'a, Result<Arc<[AgentHandle]>, Fault>> {
        seal(async move {
            let mut agents = Vec::new();
            for handle in self.cached_reach(None, owner).await?.iter() {
                if lists_stranger(&self.agent(handle).await?.state, from) {
                    agents.push(handle.clone());
                }
            }
            Ok(agents.into())
        })
    }

    /// The agents of an owner that an agent may contact, or that list an agent of another network.
    async fn cached_reach(
        &self,
        from: Option<&AgentHandle>,
        owner: &OwnerName,
    ) -> Result<Arc<[AgentHandle]>, Fault> {
        let key = (from.cloned(), owner.clone());
        // The count is read before the states: a change in between makes the result stale, never wrongly fresh.
        let changes = self.0.reaches.changes.load(Ordering::Acquire);
        if let Some((since, agents)) = self.0.reaches.cached.get(&key)
            && since == changes
        {
            return Ok(agents);
        }
        let agents = match from {
            Some(from) => {
                let me = self.agent(from).await?;
                self.handles_where(owner, |agent| may_contact(&me, agent)).await?
            }
            None => self.handles_where(owner, |agent| lists_anybody_elsewhere(&agent.state)).await?,
        };
        self.0.reaches.cached.insert(key, (changes, agents.clone()));
        Ok(agents)
    }

    /// The agents of an owner with this property, by handle.
    async fn handles_where(
        &self,
        owner: &OwnerName,
        is_one: impl Fn(&KnownAgent) -> bool,
    ) -> Result<Arc<[AgentHandle]>, Fault> {
        let (prefix, mut agents) = (format!("{owner}/"), Vec::new());
        let mut rows = self.log().index_rows(AGENTS, &prefix, Order::Ascending);
        while let Some(row) = rows.next().await? {
            let handle = format!("@{owner}.{}", &row.key[prefix.len()..]);
            let handle = handle.parse().map_err(|_| Fault::Corrupt(format!("{} in {AGENTS}", row.key)))?;
            if is_one(&self.agent(&handle).await?) {
                agents.push(handle);
            }
        }
        agents.sort_unstable();
        Ok(agents.into())
    }
}
