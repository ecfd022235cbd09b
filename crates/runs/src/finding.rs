//! Finds the thread or run of an id in a request; what the caller may not see looks absent.
//! Must not know: the operation.

use std::sync::Arc;

use plenary_accounts::Actor;
use plenary_kernel::{Class, Version};
use plenary_log::Fault;

use crate::{
    Runs,
    access::{admits, may_read},
    caller::RequestCaller,
    id::{RunId, ThreadId},
    refusals::{self, RunRefusal},
    registry::Agent,
    state::{RunState, ThreadState},
    wire::Source,
};

/// A thread that the caller may see, and the requested run of it.
#[derive(Debug, Clone)]
pub(crate) struct VisibleThread {
    pub(crate) source: Source,
    pub(crate) state: Arc<ThreadState>,
    pub(crate) head: Version,
    pub(crate) run: Option<RunId>,
}

impl VisibleThread {
    /// The requested run.
    pub(crate) fn run(&self) -> Option<&RunState> {
        self.state.run(self.run?)
    }
}

/// An agent as the caller sees it.
#[derive(Debug, Clone)]
pub(crate) struct VisibleAgent {
    pub(crate) agent: Arc<Agent>,
    /// Whether the caller may run the agent. If not, the caller can still read and stop the runs that it started
    /// itself, even after it lost its access.
    pub(crate) is_there: bool,
}

impl VisibleAgent {
    /// Turns a refusal into "agent not found" if the caller may not run the agent, so that the agent looks absent.
    /// Faults of the server stay unchanged.
    pub(crate) fn look<T>(&self, found: Result<T, RunRefusal>) -> Result<T, RunRefusal> {
        match found {
            Err(refused) if !self.is_there && !is_fault(refused.refusal.class) => {
                Err(refusals::agent_not_found())
            }
            found => found,
        }
    }
}

/// Whether a refusal is about the server and reveals nothing about the requested object.
fn is_fault(class: Class) -> bool {
    matches!(class, Class::Internal | Class::Unavailable)
}

impl Runs {
    /// The agent of a name, if the caller may run it; otherwise it looks absent.
    pub(crate) async fn agent(&self, asking: &RequestCaller, name: &str) -> Result<Arc<Agent>, RunRefusal> {
        let seen = self.seen(asking, name).await?;
        if seen.is_there { Ok(seen.agent) } else { Err(refusals::agent_not_found()) }
    }

    /// The agent of a name, and whether the caller may run it.
    pub(crate) async fn seen(&self, asking: &RequestCaller, name: &str) -> Result<VisibleAgent, RunRefusal> {
        let agent = self.0.registry.get(name).ok_or_else(refusals::agent_not_found)?;
        if self.is_apart(asking, &agent).await? {
            return Err(refusals::agent_not_found());
        }
        let is_there = self.may_run(&asking.actor(), &agent).await?;
        Ok(VisibleAgent { agent, is_there })
    }

    /// Whether the caller is of another network, and the agent's owner takes no part in the accord with it: not even its earlier
    /// runs are there then.
    async fn is_apart(&self, asking: &RequestCaller, agent: &Agent) -> Result<bool, Fault> {
        let Actor::Agent(guest) = asking.actor() else { return Ok(false) };
        if !guest.is_elsewhere() {
            return Ok(false);
        }
        let standing = self.accounts().guest_standing(&guest).await?;
        Ok(standing.is_some_and(|standing| !standing.owners.contains(&agent.owner())))
    }

    /// Whether an actor may run an agent, with changes at other processes of the store included.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn may_run(&self, by: &Actor, agent: &Agent) -> Result<bool, Fault> {
        if matches!(by, Actor::Agent(_)) {
            self.accounts().observe_others().await?;
        }
        admits(self.accounts(), by, &agent.gate(), &mut Vec::new()).await
    }

    /// The agents that the caller may run, by name.
    pub(crate) async fn agents_for(&self, asking: &RequestCaller) -> Result<Vec<Arc<Agent>>, RunRefusal> {
        let by = asking.actor();
        if matches!(by, Actor::Agent(_)) {
            self.accounts().observe_others().await?;
        }
        let mut agents = Vec::new();
        for agent in self.0.registry.all() {
            if admits(self.accounts(), &by, &agent.gate(), &mut Vec::new()).await? {
                agents.push(agent);
            }
        }
        Ok(agents)
    }

    /// A thread of an agent.
    pub(crate) async fn find_thread(
        &self,
        by: &Actor,
        agent: &Agent,
        thread: ThreadId,
    ) -> Result<Option<VisibleThread>, RunRefusal> {
        let (state, head) = self.0.threads.fresh(&thread.to_string()).await?;
        let opened = state
            .opened
            .as_ref()
            .filter(|opened| agent.is_known_as(&opened.agent) && may_read(by, &opened.by, &agent.owner()));
        let Some(opened) = opened else { return Ok(None) };
        let source = Source { thread, agent: opened.agent.clone() };
        Ok(Some(VisibleThread { source, state, head, run: None }))
    }

    /// A run of an agent.
    pub(crate) async fn find_run(
        &self,
        asking: &RequestCaller,
        agent: &Agent,
        run: RunId,
    ) -> Result<Option<VisibleThread>, RunRefusal> {
        let Some(thread) = self.thread_of(run).await? else { return Ok(None) };
        let found = self.find_thread(&asking.actor(), agent, thread).await?;
        Ok(found
            .filter(|found| found.state.run(run).is_some())
            .map(|found| VisibleThread { run: Some(run), ..found }))
    }

    /// The run that an id names.
    pub(crate) async fn find_by_id(
        &self,
        asking: &RequestCaller,
        agent: &Agent,
        id: &str,
    ) -> Result<VisibleThread, RunRefusal> {
        let run = id.parse().map_err(|_| refusals::run_not_found())?;
        self.find_run(asking, agent, run).await?.ok_or_else(refusals::run_not_found)
    }

    /// The run or else the thread with this id (wire.md 4.4, 2).
    pub(crate) async fn find(
        &self,
        asking: &RequestCaller,
        agent: &Agent,
        id: &str,
    ) -> Result<VisibleThread, RunRefusal> {
        if let Ok(run) = id.parse()
            && let Some(found) = self.find_run(asking, agent, run).await?
        {
            return Ok(found);
        }
        if let Ok(thread) = id.parse()
            && let Some(found) = self.find_thread(&asking.actor(), agent, thread).await?
        {
            return Ok(found);
        }
        Err(refusals::run_not_found())
    }
}
