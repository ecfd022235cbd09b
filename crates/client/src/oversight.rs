//! The view of an owner or the operator on an agent: its sessions, their events, its inbox, as the agent sees them
//! and without changing marks.
//! Must not know: the transport of calls.

use plenary_kernel::{AgentHandle, OwnerName, SessionId};

use crate::{
    Client, Reply, Result,
    accounts::agent_path,
    client::segment,
    inbox::{self, InboxPage, InboxQuery},
    query::Query,
    sessions::{EventPage, EventsQuery, SessionList, SessionsQuery},
};

impl Client {
    /// `GET /_admin/agents/{handle}/sessions`, one page.
    ///
    /// # Errors
    /// 404 if the agent is not the caller's.
    pub async fn agent_sessions(
        &self,
        agent: &AgentHandle,
        query: &SessionsQuery,
    ) -> Result<Reply<SessionList>> {
        self.get(&query.path(&agent_path(Some(agent), "/sessions"))).await
    }

    /// `GET /_admin/sessions`, one page: the sessions of all agents of an owner, or of all agents for the operator.
    ///
    /// # Errors
    /// 404 if the owner is not the caller.
    pub async fn owner_sessions(
        &self,
        owner: Option<&OwnerName>,
        query: &SessionsQuery,
    ) -> Result<Reply<SessionList>> {
        self.get(&Query::of(query.path("/_admin/sessions")).with("owner", owner).path()).await
    }

    /// `GET /_admin/agents/{handle}/sessions/{id}/events`, one page.
    ///
    /// # Errors
    /// As [`Client::agent_sessions`]; 404 if the agent is not in the session.
    pub async fn agent_events(
        &self,
        agent: &AgentHandle,
        session: &SessionId,
        query: EventsQuery,
    ) -> Result<Reply<EventPage>> {
        let base = agent_path(Some(agent), &format!("/sessions/{}/events", segment(session.as_str())));
        self.get(&query.path(&base)).await
    }

    /// `GET /_admin/agents/{handle}/inbox`.
    ///
    /// # Errors
    /// As [`Client::agent_sessions`].
    pub async fn agent_inbox(&self, agent: &AgentHandle, query: &InboxQuery) -> Result<Reply<InboxPage>> {
        self.get(&inbox::path(&agent_path(Some(agent), "/inbox"), query, None)).await
    }
}
