//! From ids in a request to a thread or a run that the caller may see. What is not for the caller is not there.
//! Must not know: what is done with it.

use std::sync::Arc;

use plenary_accounts::Actor;
use plenary_kernel::Version;

use crate::{
    Runs,
    access::may_read,
    caller::Asking,
    id::{RunId, ThreadId},
    refusals::Refused,
    registry::Agent,
    state::{RunState, ThreadState},
    wire::Source,
};

/// A thread that the caller may see, and the run of it that is meant.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) source: Source,
    pub(crate) state: Arc<ThreadState>,
    pub(crate) head: Version,
    pub(crate) run: Option<RunId>,
}

impl Found {
    /// The run that is meant.
    pub(crate) fn run(&self) -> Option<&RunState> {
        self.state.run(self.run?)
    }
}

impl Runs {
    /// The agent of a name.
    pub(crate) fn agent(&self, name: &str) -> Result<Arc<Agent>, Refused> {
        self.0.registry.get(name).ok_or_else(Refused::agent_not_found)
    }

    /// A thread of an agent.
    pub(crate) async fn find_thread(
        &self,
        by: &Actor,
        agent: &Agent,
        thread: ThreadId,
    ) -> Result<Option<Found>, Refused> {
        let (state, head) = self.0.threads.fresh(&thread.to_string()).await?;
        let opened = state
            .opened
            .as_ref()
            .filter(|opened| agent.goes_by(&opened.agent) && may_read(by, &opened.by, &agent.owner()));
        let Some(opened) = opened else { return Ok(None) };
        let source = Source { thread, agent: opened.agent.clone() };
        Ok(Some(Found { source, state, head, run: None }))
    }

    /// A run of an agent.
    pub(crate) async fn find_run(
        &self,
        asking: &Asking,
        agent: &Agent,
        run: RunId,
    ) -> Result<Option<Found>, Refused> {
        let Some(thread) = self.thread_of(run).await? else { return Ok(None) };
        let found = self.find_thread(&asking.actor(), agent, thread).await?;
        Ok(found
            .filter(|found| found.state.run(run).is_some())
            .map(|found| Found { run: Some(run), ..found }))
    }

    /// What an id names: a run first, then a thread (wire.md 4.4, 2).
    pub(crate) async fn find(&self, asking: &Asking, agent: &Agent, id: &str) -> Result<Found, Refused> {
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
        Err(Refused::run_not_found())
    }
}
