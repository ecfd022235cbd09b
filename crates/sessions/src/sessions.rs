//! The sessions of a server: commands in, states and events out.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::{TryStreamExt as _, stream};
use plenary_accounts::Accounts;
use plenary_engine::{Command, ExecuteError, Executed, KeyUse, Room as _, Streams};
use plenary_hub::{Cursors, Presence, TAIL_BYTES_MAX, Tail};
use plenary_kernel::{
    AgentHandle, Clock, OwnerName, Position, SessionId, Shares, Stamp, TimestampMs, limits::READ_ROWS_MAX,
};
use plenary_log::{Fault, Log, Order};
use plenary_room::{WordIndex, async_trait};
use quick_cache::sync::Cache;
use serde::de::DeserializeOwned;
use tokio::sync::OnceCell;

use crate::{
    INVITATIONS_UNANSWERED_MAX,
    command::{Acknowledgement as Okay, EvictAgent},
    crossing::{Crossings, ForwardedCommand, ID_AHEAD_MS_MAX},
    decide::Rejection,
    files::{FILE_BYTES_MAX, FILE_UNNAMED_MS_MAX, Files, UPLOADS_AT_ONCE_MAX, UPLOADS_PER_OWNER_MAX},
    room::{CommandContext, EVERY_PART, OfAgent, Offers, SessionRoom},
    seen_ranges::Reads,
    transport::Transport,
    wire::EncodedEvent,
};

/// How many events back the log is searched for the newest session id, once after a start.
const RECENT_MAX: u64 = 4_096;
/// Most cached participations; for others the index is read.
const PARTS_KNOWN_MAX: usize = 65_536;

/// Most sessions that an agent leaves at a time after a block or its deletion: their appends share flushes.
const EVICTIONS_AT_ONCE: usize = 64;

/// The result of a command.
type Decided<T> = Result<Executed<T>, ExecuteError<Rejection>>;

/// The settings of an operator.
#[derive(Debug, Clone, Copy)]
pub struct Config {
    /// How long an agent may be without a connection before it leaves (ASP-51, 2.5 row 11).
    pub grace: Duration,
    /// Most unanswered invitations of one owner's agents to an agent that does not list them; beyond it 429
    /// `too_many_invitations`.
    pub invitations_unanswered_max: usize,
    /// Largest file, in bytes; beyond it 413 `body_too_large`.
    pub file_bytes_max: u64,
    /// How long a file without a message that names it is kept, in milliseconds.
    pub file_unnamed_ms_max: u64,
    /// Most concurrent uploads of one owner's agents; beyond it 429 `too_many_uploads`.
    pub uploads_per_owner_max: usize,
}

/// The session age after which an unanswered invitation no longer counts.
const OFFER_AGE_MAX_MS: u64 = 30 * 24 * 60 * 60 * 1_000;

impl Default for Config {
    fn default() -> Self {
        Self {
            grace: Duration::from_secs(30),
            invitations_unanswered_max: INVITATIONS_UNANSWERED_MAX,
            file_bytes_max: FILE_BYTES_MAX,
            file_unnamed_ms_max: FILE_UNNAMED_MS_MAX,
            uploads_per_owner_max: UPLOADS_PER_OWNER_MAX,
        }
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
    pub(crate) tail: Tail<EncodedEvent>,
    pub(crate) transport: Transport,
    pub(crate) config: Config,
    pub(crate) reads: Reads,
    pub(crate) files: Files,
    pub(crate) crossings: Crossings,
    /// The time in the newest session id.
    newest: OnceCell<AtomicU64>,
    /// The known participations, current or former.
    parts: Cache<(AgentHandle, SessionId), ()>,
    /// The word index for messages; without one, messages are scanned.
    pub(crate) words: OnceLock<Arc<dyn WordIndex>>,
}

impl Sessions {
    /// The sessions in a log.
    pub fn new(
        log: Log,
        clock: Arc<dyn Clock>,
        accounts: Accounts,
        presence: Arc<Presence>,
        cursors: Arc<Cursors>,
        config: Config,
    ) -> Self {
        let files = Files {
            streams: Streams::new(log.clone(), clock.clone()),
            blobs: OnceLock::new(),
            uploads: Shares::new(UPLOADS_AT_ONCE_MAX, config.uploads_per_owner_max),
        };
        Self(Arc::new(Inner {
            streams: Streams::new(log, clock),
            files,
            accounts,
            presence,
            cursors,
            tail: Tail::new(TAIL_BYTES_MAX),
            transport: Transport::default(),
            config,
            reads: Reads::default(),
            crossings: Crossings::default(),
            newest: OnceCell::new(),
            parts: Cache::new(PARTS_KNOWN_MAX),
            words: OnceLock::new(),
        }))
    }

    pub(crate) fn accounts(&self) -> &Accounts {
        &self.0.accounts
    }
    pub(crate) fn log(&self) -> &Log {
        self.0.streams.log()
    }

    /// Loads sessions that are needed next, with few reads.
    pub(crate) async fn load(&self, ids: impl Iterator<Item = &String>) {
        let ids: Vec<_> = ids.map(String::as_str).collect();
        self.0.streams.load_short(&ids).await;
    }

    /// A new session id. Ids rise in order of creation, because lists are sorted by id: each has a later millisecond
    /// than all existing ones, also after the clock was set back. Only a session with agents of a peer keeps to the
    /// clock if it would be ahead by more than the peer accepts.
    pub(crate) async fn mint(&self, invitees: &[AgentHandle]) -> Result<SessionId, Fault> {
        let newest = self.0.newest.get_or_try_init(|| self.newest()).await?;
        let stamp = self.0.streams.clock().stamp();
        let crosses = invitees.iter().any(AgentHandle::is_elsewhere);
        let latest = if crosses { stamp.now.0.saturating_add(ID_AHEAD_MS_MAX / 2) } else { u64::MAX };
        let rise =
            |newest: u64| Some(stamp.now.0.max(newest.saturating_add(1))).filter(|next| *next <= latest);
        let previous = newest.fetch_update(Ordering::AcqRel, Ordering::Acquire, rise).ok();
        let at = previous.and_then(rise).unwrap_or(stamp.now.0);
        Ok(SessionId::mint(&stamp.at(TimestampMs(at)), 0))
    }

    /// The newest time in the ids of recently active sessions.
    async fn newest(&self) -> Result<AtomicU64, Fault> {
        let head = self.log().head().await?;
        let after = Position(head.0.saturating_sub(RECENT_MAX));
        let recent = self.log().streams_between(SessionRoom::CATEGORY, after, head).await?;
        let ids = recent.iter().filter_map(|news| news.stream.id().parse::<SessionId>().ok());
        let newest = ids.filter_map(|id| id.minted_at()).max();
        Ok(AtomicU64::new(newest.unwrap_or_default().0))
    }

    /// Executes an agent's command on a session in which the agent takes or took part.
    pub(crate) async fn ask<C>(
        &self,
        id: &SessionId,
        command: C,
        key: Option<&KeyUse>,
    ) -> Result<Executed<C::Reply>, ExecuteError<Rejection>>
    where
        C: OfAgent + ForwardedCommand,
        C::Reply: DeserializeOwned,
        CommandContext<C>: Command<SessionRoom, Rejection = Rejection, Reply = C::Reply>,
    {
        if !self.takes_part(&command.caller().handle, id).await? {
            return Err(ExecuteError::Rejected(Rejection::NotFound));
        }
        self.carry_out(id, command, key).await
    }

    /// Executes a command of an agent of this network.
    pub(crate) async fn carry_out<C: OfAgent + ForwardedCommand>(
        &self,
        id: &SessionId,
        command: C,
        key: Option<&KeyUse>,
    ) -> Result<Executed<C::Reply>, ExecuteError<Rejection>>
    where
        C::Reply: DeserializeOwned,
        CommandContext<C>: Command<SessionRoom, Rejection = Rejection, Reply = C::Reply>,
    {
        let (answer, command) = self.decide_here(id, command, key, None).await?;
        match answer {
            Err(ExecuteError::Rejected(Rejection::Elsewhere(peer))) => {
                self.forward((id, &peer), &command, key).await
            }
            answer => answer,
        }
    }

    /// Executes a command of a peer's agent.
    pub(crate) async fn ask_for<C: OfAgent>(
        &self,
        peer: &OwnerName,
        id: &SessionId,
        command: C,
        key: Option<&KeyUse>,
    ) -> Result<Executed<C::Reply>, ExecuteError<Rejection>>
    where
        CommandContext<C>: Command<SessionRoom, Rejection = Rejection, Reply = C::Reply>,
    {
        match self.decide_here(id, command, key, Some(peer.clone())).await?.0 {
            // This network does not decide for a third one.
            Err(ExecuteError::Rejected(Rejection::Elsewhere(_) | Rejection::Unauthenticated)) => {
                Err(ExecuteError::Rejected(Rejection::NotFound))
            }
            answer => answer,
        }
    }

    /// Decides a command. If it invites agents of other networks, these networks are asked first, once.
    async fn decide_here<C: OfAgent>(
        &self,
        id: &SessionId,
        command: C,
        key: Option<&KeyUse>,
        caller_peer: Option<OwnerName>,
    ) -> Result<(Decided<C::Reply>, C), Fault>
    where
        CommandContext<C>: Command<SessionRoom, Rejection = Rejection, Reply = C::Reply>,
    {
        let named_agents = parking_lot::Mutex::default();
        let readable_files = self.readable_files(command.caller(), command.files()).await?;
        let readable_files = readable_files.into_keys().collect();
        let mut context = CommandContext {
            sessions: self.clone(),
            readable_files,
            accounts: self.0.accounts.clone(),
            offers: self.offers(),
            id: id.clone(),
            command,
            named_agents,
            caller_peer,
            consents: BTreeMap::new(),
        };
        let mut answer = self.0.streams.execute(id.as_str(), &context, key).await;
        if let Err(ExecuteError::Rejected(Rejection::AskElsewhere(invitees))) = &mut answer {
            let invitees = std::mem::take(invitees);
            let all_answered = self.ask_peers(&mut context, invitees).await?;
            answer = self.0.streams.execute(id.as_str(), &context, key).await;
            if !all_answered && matches!(answer, Err(ExecuteError::Rejected(Rejection::NotFound))) {
                answer = Err(ExecuteError::Rejected(Rejection::InviteeUnreachable));
            }
        }
        if !answer.as_ref().is_ok_and(|execution| context.command.reached_all(&execution.reply)) {
            context.equalize_cost().await?;
        }
        Ok((answer, context.command))
    }

    fn offers(&self) -> Offers {
        let now = self.0.streams.clock().now();
        let oldest = TimestampMs(now.0.saturating_sub(OFFER_AGE_MAX_MS));
        Offers {
            log: self.log().clone(),
            max: self.0.config.invitations_unanswered_max,
            since: SessionId::mint(&Stamp::new(oldest, [0; 10]), 0),
        }
    }

    /// Whether the agent takes or took part in the session. A positive answer never changes, so it is cached. A
    /// negative answer takes two index reads, whether or not the session exists (ASP-18).
    ///
    /// # Errors
    /// When the store fails.
    pub async fn takes_part(&self, agent: &AgentHandle, id: &SessionId) -> Result<bool, Fault> {
        let part = (agent.clone(), id.clone());
        if self.0.parts.get(&part).is_some() {
            return Ok(true);
        }
        let key = format!("{agent}/{id}");
        for index in EVERY_PART {
            let rows = self.log().read_index(index, &key, None, 1, Order::Ascending).await?;
            if rows.first().is_some_and(|row| row.key == key) {
                self.0.parts.insert(part, ());
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The subset of these sessions, which are sorted, in which an agent takes or took part.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn taken_part_in(&self, agent: &AgentHandle, ids: &[&str]) -> Result<BTreeSet<String>, Fault> {
        let mut found = BTreeSet::new();
        for index in EVERY_PART {
            found.extend(self.own_of(index, agent, ids).await?);
        }
        Ok(found)
    }

    /// Executes a command of the server itself.
    pub(crate) async fn note<C>(&self, id: &str, command: &C) -> Result<(), Fault>
    where
        C: Command<SessionRoom, Rejection = std::convert::Infallible, Reply = Okay>,
    {
        self.note_with_reply(id, command).await.map(drop)
    }

    /// Executes a command of the server itself and returns its reply: not `ok` if a peer decides.
    pub(crate) async fn note_with_reply<C>(&self, id: &str, command: &C) -> Result<Okay, Fault>
    where
        C: Command<SessionRoom, Rejection = std::convert::Infallible, Reply = Okay>,
    {
        let execution = ExecuteError::settled(self.0.streams.execute(id, command, None).await)?;
        Ok(execution.map_or(Okay { ok: true }, |execution| execution.reply))
    }

    /// The ids after `<handle>/` in an index, one page.
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

    /// A page of the sessions in which an agent takes or took part, including strangers' offers.
    pub(crate) async fn ids_of(
        &self,
        handle: &AgentHandle,
        after: Option<&str>,
        order: Order,
        max: usize,
    ) -> Result<Vec<String>, Fault> {
        self.ids_in(EVERY_PART, handle, after, order, max).await
    }

    /// A page of the sessions of an agent in any of these indexes.
    pub(crate) async fn ids_in(
        &self,
        indexes: &[&'static str],
        handle: &AgentHandle,
        after: Option<&str>,
        order: Order,
        max: usize,
    ) -> Result<Vec<String>, Fault> {
        let mut ids = Vec::new();
        for index in indexes {
            ids.extend(self.ids(index, handle, after, order, max).await?);
        }
        ids.sort_unstable();
        if order == Order::Descending {
            ids.reverse();
        }
        ids.dedup();
        ids.truncate(max);
        Ok(ids)
    }

    /// Makes an agent leave every session that it shares with its blocker, or every session if it was deleted.
    async fn evict(&self, agent: &AgentHandle, blocker: Option<&AgentHandle>) -> Result<(), Fault> {
        let command = EvictAgent { agent: agent.clone(), blocker: blocker.cloned() };
        let has_local_agent =
            [Some(agent), blocker].into_iter().flatten().any(|handle| !handle.is_elsewhere());
        let mut after = None;
        loop {
            let ids = self.ids_of(agent, after.as_deref(), Order::Ascending, READ_ROWS_MAX).await?;
            after = ids.last().filter(|_| ids.len() == READ_ROWS_MAX).cloned();
            stream::iter(ids.into_iter().map(Ok))
                .try_for_each_concurrent(EVICTIONS_AT_ONCE, |id| {
                    self.evict_from(id, &command, has_local_agent)
                })
                .await?;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    async fn evict_from(&self, id: String, command: &EvictAgent, has_local_agent: bool) -> Result<(), Fault> {
        if !self.note_with_reply(&id, command).await?.ok && has_local_agent {
            self.note_copy_due(&id).await?;
        }
        Ok(())
    }

    /// Somebody has to leave a session of a peer, which is asked in the background: a slow peer must not delay the caller.
    async fn note_copy_due(&self, id: &str) -> Result<(), Fault> {
        let (state, _) = self.0.streams.state(id).await?;
        if let (Some(peer), Some(carrier), Ok(id)) = (state.host(), self.0.crossings.carrier(), id.parse()) {
            carrier.copy_due(peer, &id);
        }
        Ok(())
    }
}

#[async_trait]
impl plenary_accounts::Consequences for Sessions {
    async fn on_block(&self, blocker: &AgentHandle, blocked: &AgentHandle) -> Result<(), Fault> {
        self.evict(blocked, Some(blocker)).await
    }
    async fn on_removal(&self, agent: &AgentHandle) -> Result<(), Fault> {
        self.evict(agent, None).await?;
        self.remove_unnamed_of(agent).await
    }
}
