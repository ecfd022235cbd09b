//! The sessions of a server: commands in, states and events out.

use std::{sync::Arc, time::Duration};

use plenary_accounts::Accounts;
use plenary_engine::{Clock, Command, Done, ExecuteError, KeyUse, Streams};
use plenary_hub::{Cursors, Presence, TAIL_OCTETS_MAX, Tail};
use plenary_kernel::{AgentHandle, SessionId, limits::READ_ROWS_MAX};
use plenary_log::{Fault, Log, Order};

use crate::{
    command::EvictAgent,
    decide::Rejection,
    room::{Asked, BY_AGENT, SessionRoom},
    transport::Transport,
    wire::Encoded,
};

/// What an operator may set.
#[derive(Debug, Clone, Copy)]
pub struct Config {
    /// How long an agent may be without a connection before it has left (ASP-51, 2.5 row 11).
    pub grace: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self { grace: Duration::from_secs(30) }
    }
}

/// The sessions of a server. Cheap to clone.
#[derive(Clone)]
pub struct Sessions(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) streams: Streams<SessionRoom>,
    pub(crate) accounts: Accounts,
    pub(crate) presence: Arc<Presence>,
    pub(crate) cursors: Arc<Cursors>,
    pub(crate) tail: Tail<Encoded>,
    pub(crate) transport: Transport,
    pub(crate) config: Config,
}

impl Sessions {
    /// The sessions in a log.
    #[must_use]
    pub fn new(
        log: Log,
        clock: Arc<dyn Clock>,
        accounts: Accounts,
        presence: Arc<Presence>,
        cursors: Arc<Cursors>,
        config: Config,
    ) -> Self {
        Self(Arc::new(Inner {
            streams: Streams::new(log, clock),
            accounts,
            presence,
            cursors,
            tail: Tail::new(TAIL_OCTETS_MAX),
            transport: Transport::default(),
            config,
        }))
    }

    pub(crate) fn log(&self) -> &Log {
        self.0.streams.log()
    }

    /// A fresh id for a session.
    pub(crate) fn mint(&self) -> SessionId {
        SessionId::mint(&self.0.streams.clock().stamp(), 0)
    }

    /// Carries out a command of an agent.
    pub(crate) async fn ask<C>(
        &self,
        id: &SessionId,
        command: C,
        key: Option<&KeyUse>,
    ) -> Result<Done<<Asked<C> as Command<SessionRoom>>::Reply>, ExecuteError<Rejection>>
    where
        Asked<C>: Command<SessionRoom, Rejection = Rejection>,
    {
        let asked = Asked { accounts: self.0.accounts.clone(), id: id.clone(), command };
        self.0.streams.execute(id.as_str(), &asked, key).await
    }

    /// Carries out a command of the server itself.
    pub(crate) async fn note<C>(&self, id: &str, command: &C) -> Result<(), Fault>
    where
        C: Command<SessionRoom, Rejection = std::convert::Infallible>,
    {
        match self.0.streams.execute(id, command, None).await {
            Ok(_) | Err(ExecuteError::KeyReused) => Ok(()),
            Err(ExecuteError::Fault(fault)) => Err(fault),
            Err(ExecuteError::Rejected(never)) => match never {},
        }
    }

    /// The ids behind `<handle>/` in an index, in pages.
    pub(crate) async fn ids(
        &self,
        index: &str,
        handle: &AgentHandle,
        after: Option<&str>,
        order: Order,
        max: usize,
    ) -> Result<Vec<String>, Fault> {
        let prefix = format!("{handle}/");
        let after = after.map(|id| format!("{prefix}{id}"));
        let rows = self.log().read_index(index, &prefix, after.as_deref(), max, order).await?;
        Ok(rows.into_iter().map(|row| row.key[prefix.len()..].to_owned()).collect())
    }

    /// Makes an agent leave every session that it shares with whoever blocked it, or every session when it was
    /// deleted.
    async fn evict(&self, agent: &AgentHandle, blocker: Option<&AgentHandle>) -> Result<(), Fault> {
        let command = EvictAgent { agent: agent.clone(), blocker: blocker.cloned() };
        let mut after = None;
        loop {
            let ids = self.ids(BY_AGENT, agent, after.as_deref(), Order::Ascending, READ_ROWS_MAX).await?;
            for id in &ids {
                self.note(id, &command).await?;
            }
            if ids.len() < READ_ROWS_MAX {
                return Ok(());
            }
            after = ids.into_iter().next_back();
        }
    }
}

impl plenary_accounts::Consequences for Sessions {
    fn blocked<'a>(
        &'a self,
        blocker: &'a AgentHandle,
        blocked: &'a AgentHandle,
    ) -> plenary_accounts::Following<'a> {
        Box::pin(self.evict(blocked, Some(blocker)))
    }
    fn removed<'a>(&'a self, agent: &'a AgentHandle) -> plenary_accounts::Following<'a> {
        Box::pin(self.evict(agent, None))
    }
}
