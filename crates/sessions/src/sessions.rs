//! The sessions of a server: commands in, states and events out.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use plenary_accounts::Accounts;
use plenary_engine::{Clock, Command, Done, ExecuteError, KeyUse, Streams};
use plenary_hub::{Cursors, Presence, TAIL_OCTETS_MAX, Tail};
use plenary_kernel::{AgentHandle, SessionId, limits::READ_ROWS_MAX};
use plenary_log::{Fault, Log, Order};
use quick_cache::sync::Cache;

use crate::{
    command::EvictAgent,
    decide::Rejection,
    reads::Reads,
    room::{Asked, BY_AGENT, OfAgent, SessionRoom},
    transport::Transport,
    wire::Encoded,
};

/// Most participations that are remembered; past it the index is asked again.
const PARTS_KNOWN_MAX: usize = 65_536;

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
    pub(crate) reads: Reads,
    /// Who is known to take or have taken part in what.
    parts: Cache<(AgentHandle, SessionId), ()>,
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
            reads: Reads::default(),
            parts: Cache::new(PARTS_KNOWN_MAX),
        }))
    }

    pub(crate) fn log(&self) -> &Log {
        self.0.streams.log()
    }

    /// A fresh id for a session.
    pub(crate) fn mint(&self) -> SessionId {
        SessionId::mint(&self.0.streams.clock().stamp(), 0)
    }

    /// Carries out a command of an agent on a session that it takes or took part in.
    pub(crate) async fn ask<C: OfAgent>(
        &self,
        id: &SessionId,
        command: C,
        key: Option<&KeyUse>,
    ) -> Result<Done<C::Reply>, ExecuteError<Rejection>>
    where
        Asked<C>: Command<SessionRoom, Rejection = Rejection, Reply = C::Reply>,
    {
        if !self.takes_part(&command.caller().handle, id).await? {
            return Err(ExecuteError::Rejected(Rejection::NotFound));
        }
        self.carry_out(id, command, key).await
    }

    /// Carries out a command of an agent.
    pub(crate) async fn carry_out<C: OfAgent>(
        &self,
        id: &SessionId,
        command: C,
        key: Option<&KeyUse>,
    ) -> Result<Done<C::Reply>, ExecuteError<Rejection>>
    where
        Asked<C>: Command<SessionRoom, Rejection = Rejection, Reply = C::Reply>,
    {
        let named = Mutex::default();
        let asked = Asked { accounts: self.0.accounts.clone(), id: id.clone(), command, named };
        let answer = self.0.streams.execute(id.as_str(), &asked, key).await;
        if !answer.as_ref().is_ok_and(|done| asked.command.reached_all(&done.reply)) {
            asked.level().await?;
        }
        answer
    }

    /// Whether the agent takes or took part in the session. Who does is remembered, for it is so for ever; for
    /// anybody else it is one look into the index, whether or not there is such a session (ASP-18).
    pub(crate) async fn takes_part(&self, me: &AgentHandle, id: &SessionId) -> Result<bool, Fault> {
        let part = (me.clone(), id.clone());
        if self.0.parts.get(&part).is_some() {
            return Ok(true);
        }
        let key = format!("{me}/{id}");
        let rows = self.log().read_index(BY_AGENT, &key, None, 1, Order::Ascending).await?;
        let takes_part = rows.first().is_some_and(|row| row.key == key);
        if takes_part {
            self.0.parts.insert(part, ());
        }
        Ok(takes_part)
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
