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
    pub(crate) is_runnable: bool,
}

impl VisibleAgent {
    /// Turns a refusal into "agent not found" if the caller may not run the agent, so that the agent looks absent.
    /// Faults of the server stay unchanged.
    pub(crate) fn reveal<T>(&self, result: Result<T, RunRefusal>) -> Result<T, RunRefusal> {
        match result {
            Err(refused) if !self.is_runnable && !is_fault(refused.refusal.class) => {
                Err(refusals::agent_not_found())
            }
            result => result,
        }
    }
}

/// Whether a refusal is about the server and reveals nothing about the requested object.
fn is_fault(class: Class) -> bool {
    matches!(class, Class::Internal | Class::Unavailable)
}

impl Runs {
    /// The agent of a name, if the caller may run it; otherwise it looks absent.
    pub(crate) async fn agent(&self, caller: &RequestCaller, name: &str) -> Result<Arc<Agent>, RunRefusal> {
        let visible_agent = self.visible_agent(caller, name).await?;
        if visible_agent.is_runnable { Ok(visible_agent.agent) } else { Err(refusals::agent_not_found()) }
    }

    /// The agent of a name, and whether the caller may run it.
    pub(crate) async fn visible_agent(
        &self,
        caller: &RequestCaller,
        name: &str,
    ) -> Result<VisibleAgent, RunRefusal> {
        let agent = self.0.registry.get(name).ok_or_else(refusals::agent_not_found)?;
        if self.is_outside_accord(caller, &agent).await? {
            return Err(refusals::agent_not_found());
        }
        let is_runnable = self.may_run(&caller.actor(), &agent).await?;
        Ok(VisibleAgent { agent, is_runnable })
    }

    /// Whether the caller is of another network, and the agent's owner takes no part in the accord with it: not even its earlier
    /// runs are there then.
    async fn is_outside_accord(&self, caller: &RequestCaller, agent: &Agent) -> Result<bool, Fault> {
        let Actor::Agent(guest) = caller.actor() else { return Ok(false) };
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
    pub async fn may_run(&self, actor: &Actor, agent: &Agent) -> Result<bool, Fault> {
        if matches!(actor, Actor::Agent(_)) {
            self.accounts().observe_others().await?;
        }
        admits(self.accounts(), actor, &agent.gate(), &mut Vec::new()).await
    }

    /// The agents that the caller may run, by name.
    pub(crate) async fn agents_for(&self, caller: &RequestCaller) -> Result<Vec<Arc<Agent>>, RunRefusal> {
        let actor = caller.actor();
        if matches!(actor, Actor::Agent(_)) {
            self.accounts().observe_others().await?;
        }
        let mut agents = Vec::new();
        for agent in self.0.registry.all() {
            if admits(self.accounts(), &actor, &agent.gate(), &mut Vec::new()).await? {
                agents.push(agent);
            }
        }
        Ok(agents)
    }

    /// A thread of an agent.
    pub(crate) async fn find_thread(
        &self,
        actor: &Actor,
        agent: &Agent,
        thread: ThreadId,
    ) -> Result<Option<VisibleThread>, RunRefusal> {
        let (state, head) = self.0.threads.fresh(&thread.to_string()).await?;
        let opened = state
            .opened
            .as_ref()
            .filter(|opened| agent.has_name(&opened.agent) && may_read(actor, &opened.by, &agent.owner()));
        let Some(opened) = opened else { return Ok(None) };
        let source = Source { thread, agent: opened.agent.clone() };
        Ok(Some(VisibleThread { source, state, head, run: None }))
    }

    /// A run of an agent.
    pub(crate) async fn find_run(
        &self,
        caller: &RequestCaller,
        agent: &Agent,
        run: RunId,
    ) -> Result<Option<VisibleThread>, RunRefusal> {
        let Some(thread) = self.thread_of(run).await? else { return Ok(None) };
        let visible_thread = self.find_thread(&caller.actor(), agent, thread).await?;
        Ok(visible_thread
            .filter(|visible_thread| visible_thread.state.run(run).is_some())
            .map(|visible_thread| VisibleThread { run: Some(run), ..visible_thread }))
    }

    /// The run that an id names.
    pub(crate) async fn find_by_id(
        &self,
        caller: &RequestCaller,
        agent: &Agent,
        id: &str,
    ) -> Result<VisibleThread, RunRefusal> {
        let run = id.parse().map_err(|_| refusals::run_not_found())?;
        self.find_run(caller, agent, run).await?.ok_or_else(refusals::run_not_found)
    }

    /// The run or else the thread with this id (wire.md 4.4, 2).
    pub(crate) async fn find(
        &self,
        caller: &RequestCaller,
        agent: &Agent,
        id: &str,
    ) -> Result<VisibleThread, RunRefusal> {
        if let Ok(run) = id.parse()
            && let Some(visible_thread) = self.find_run(caller, agent, run).await?
        {
            return Ok(visible_thread);
        }
        if let Ok(thread) = id.parse()
            && let Some(visible_thread) = self.find_thread(&caller.actor(), agent, thread).await?
        {
            return Ok(visible_thread);
        }
        Err(refusals::run_not_found())
    }
}
