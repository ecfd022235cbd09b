//! Enlisting and dismissing agents: the commands, and this process's registry of enlisted agents.
//! Must not know: HTTP; the execution of their runs.

use std::sync::Arc;

use plenary_accounts::{Actor, Authority};
use plenary_engine::{ExecuteError, Room as _};
use plenary_kernel::{AgentHandle, Refusal};
use plenary_log::{Fault, Order, StoredEvent};

use crate::{
    Agent, RegistryError, RunLimits, Runner, Runs,
    enlistment::{ENLISTED, EnlistCommand, EnlistRejection, EnlistedEvent, EnlistedRoom, Introduction},
    refusals::RunRefusal,
};

type Make = dyn Fn(&AgentHandle, Introduction) -> Arc<dyn Runner> + Send + Sync;

/// How the runs of enlisted agents are carried out, and their limits.
pub(crate) struct EnlistedRunners {
    make: Box<Make>,
    limits: RunLimits,
}

impl Runs {
    /// The category of the streams with the enlistments of agents.
    pub const ENLISTED: &'static str = EnlistedRoom::CATEGORY;
    /// The kind of the event that enlists an agent.
    pub const ENLISTED_KIND: &'static str = "AgentEnlisted";
    /// The kind of the event that dismisses an agent.
    pub const DISMISSED_KIND: &'static str = "AgentDismissed";

    /// Sets how the runs of enlisted agents are carried out. Without it no agent can enlist. Only the first call has
    /// an effect.
    pub fn set_enlisted_runners(
        &self,
        limits: RunLimits,
        make: impl Fn(&AgentHandle, Introduction) -> Arc<dyn Runner> + Send + Sync + 'static,
    ) {
        let _ = self.0.enlisted_runners.set(EnlistedRunners { make: Box::new(make), limits });
    }

    /// Enlists the agent of the token, under its full name. A new introduction replaces the earlier one. An agent of
    /// the configuration stays unchanged.
    ///
    /// # Errors
    /// Why the agent is not enlisted.
    pub async fn enlist(
        &self,
        handle: &AgentHandle,
        authority: Authority,
        introduction: Introduction,
    ) -> Result<(), Refusal> {
        if self.0.registry.is_full_for(handle) {
            return Err(EnlistRejection::TooMany.into());
        }
        let executed = self.execute_enlistment(handle, Some(authority), Some(introduction));
        executed.await.map_err(|error| RunRefusal::from(error).refusal)?;
        // It may have been dismissed meanwhile.
        let (state, _) =
            self.0.enlisted.state(handle.as_str()).await.map_err(|fault| RunRefusal::from(fault).refusal)?;
        if let Some(introduction) = &state.0 {
            self.add_enlisted(handle, introduction.clone());
        }
        Ok(())
    }

    /// Dismisses an enlisted agent. Active runs are canceled, queued runs end.
    ///
    /// # Errors
    /// If the caller may not dismiss it, or the store fails.
    pub(crate) async fn dismiss(
        &self,
        agent: &Agent,
        authority: Option<Authority>,
    ) -> Result<(), ExecuteError<EnlistRejection>> {
        let by = authority
            .as_ref()
            .map_or_else(|| Actor::Agent(agent.handle.clone()), |authority| authority.by.clone());
        self.execute_enlistment(&agent.handle, authority, None).await?;
        self.cancel_agent(agent.name(), &by).await?;
        self.remove_enlisted(&agent.handle);
        Ok(())
    }

    async fn execute_enlistment(
        &self,
        handle: &AgentHandle,
        authority: Option<Authority>,
        introduction: Option<Introduction>,
    ) -> Result<(), ExecuteError<EnlistRejection>> {
        let accounts = self.accounts().clone();
        let command = EnlistCommand { accounts, handle: handle.clone(), authority, introduction };
        self.0.enlisted.execute(handle.as_str(), &command, None).await?;
        Ok(())
    }

    /// Loads the agents that were enlisted before this process started.
    pub(crate) async fn recall_enlisted(&self) -> Result<(), Fault> {
        let mut rows = self.log().index_rows(ENLISTED, "", Order::Ascending);
        while let Some(row) = rows.next().await? {
            let parse = || Some((row.key.parse().ok()?, serde_json::from_slice(&row.value).ok()?));
            let Some::<(AgentHandle, _)>((handle, card)) = parse() else {
                tracing::error!(row = row.key, "an enlisted agent is damaged and left out");
                continue;
            };
            self.add_enlisted(&handle, card);
            // The account was deleted, and a crash came before the agent was dismissed.
            if !self.accounts().agent(&handle).await?.state.is_live() {
                self.account_deleted(&handle);
            }
        }
        Ok(())
    }

    /// Updates the registry after an agent was enlisted or dismissed, at this or another process.
    pub(crate) fn observe_enlistment(&self, stored: &StoredEvent) {
        self.0.enlisted.observe(stored);
        let Ok(handle) = stored.stream.id().parse() else { return };
        match EnlistedRoom::decode(stored) {
            Ok(EnlistedEvent::AgentEnlisted(introduction)) => self.add_enlisted(&handle, introduction),
            Ok(EnlistedEvent::AgentDismissed(_)) => self.remove_enlisted(&handle),
            Err(fault) => tracing::error!(%fault, "the state of agents' connections cannot be read"),
        }
    }

    /// Dismisses an enlisted agent whose account was deleted.
    pub(crate) fn account_deleted(&self, handle: &AgentHandle) {
        let agent = self.0.registry.of(handle);
        let Some(agent) = agent.filter(|agent| agent.is_enlisted()) else { return };
        let runs = self.clone();
        self.0.tasks.spawn(async move {
            if let Err(error) = runs.dismiss(&agent, None).await {
                tracing::warn!(agent = %agent.handle, ?error, "an agent without an account is still listed");
            }
        });
    }

    fn add_enlisted(&self, handle: &AgentHandle, introduction: Introduction) {
        let Some(EnlistedRunners { make, limits }) = self.0.enlisted_runners.get() else { return };
        let agent = Agent::enlisted(handle.clone(), make(handle, introduction), *limits);
        match self.0.registry.enlist(agent) {
            Ok(()) => self.accounts().hosts(handle.clone()),
            Err(RegistryError::TooMany | RegistryError::NameTwice(_)) => {
                tracing::warn!(agent = %handle, "a self-registered agent is no longer listed, because the limit is reached");
            }
        }
    }

    fn remove_enlisted(&self, handle: &AgentHandle) {
        if self.0.registry.dismiss(handle) {
            self.accounts().hosts_no_more(handle);
        }
    }
}
