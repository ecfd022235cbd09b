//! The interface of this room for others: states of agents and owners, and commands on them.
//! Must not know: HTTP, or any protocol that builds on it.

use std::{
    collections::HashSet,
    sync::{Arc, OnceLock},
};

use parking_lot::RwLock;
use plenary_engine::{ExecuteError, LookedUp, Room, Sealed, Streams, seal};
use plenary_hub::{Observer, Presence};
use plenary_kernel::{AgentHandle, Clock, OwnerName, TimestampMs, Version, limits::READ_ROWS_MAX};
use plenary_log::{Condition, ExceededQuota, Fault, HighWater, Log, Order, StoredEvent};
use plenary_room::async_trait;

use crate::{
    Actor, Authority, Consequences, KnownAgent, KnownOwner, Rejection, TokenDigest,
    agent::{
        AgentRoom, EditWith, RegisterWith,
        command::{EditAgent, RegisterAgent},
        handle_of_key,
    },
    authentication::Bearers,
    console::ConsoleRoom,
    contact::ContactRoom,
    foreign::ForeignTokens,
    guest::Guests,
    index::{AGENTS, BLOCKED_BY, TOKENS},
    limits::AGENTS_PER_OWNER_MAX,
    org::OrgRoom,
    owner::{GiveTokenWith, OwnerRoom, command::GiveToken},
    reach::Reaches,
    searches::Searches,
    token_scope::Demands,
    tokens::Uses,
    turns::Turns,
};

/// Why a command of this room was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The command is refused.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The owner's quota is used up.
    #[error("the owner's quota is exceeded")]
    OverQuota(ExceededQuota),
    /// The store failed.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl From<ExecuteError<Rejection>> for Failure {
    fn from(error: ExecuteError<Rejection>) -> Self {
        match error {
            ExecuteError::Rejected(rejection) => Self::Rejected(rejection),
            ExecuteError::KeyReused => Self::Rejected(Rejection::KeyReused),
            ExecuteError::OverQuota(exceeded) => Self::OverQuota(exceeded),
            ExecuteError::Fault(fault) => Self::Fault(fault),
        }
    }
}

/// The room of owners, agents, tokens and trust. Cheap to clone.
#[derive(Clone)]
pub struct Accounts(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) agents: Streams<AgentRoom>,
    pub(crate) owners: Streams<OwnerRoom>,
    pub(crate) orgs: Streams<OrgRoom>,
    pub(crate) contacts: Streams<ContactRoom>,
    /// Contact requests, by the owner of the asking agent: their limits count those before.
    pub(crate) contact_turns: Turns,
    pub(crate) keyrings: Streams<ConsoleRoom>,
    pub(crate) operator: TokenDigest,
    pub(crate) bearers: Bearers,
    pub(crate) reaches: Reaches,
    /// All events up to here were observed.
    pub(crate) observed: HighWater,
    consequences: OnceLock<Arc<dyn Consequences>>,
    pub(crate) hosted: RwLock<HashSet<AgentHandle>>,
    presence: OnceLock<Arc<Presence>>,
    /// The running searches.
    pub(crate) searches: OnceLock<Searches>,
    /// The scope that each operation needs, once it is set.
    pub(crate) demands: OnceLock<Demands>,
    pub(crate) uses: Uses,
    pub(crate) foreign: OnceLock<Arc<dyn ForeignTokens>>,
    pub(crate) guests: Guests,
    pub(crate) issuer_proofs: OnceLock<HashSet<TokenDigest>>,
}

impl Accounts {
    /// The room in a log. `operator` is the digest of the operator's token, which is not in the log.
    pub fn new(log: Log, clock: Arc<dyn Clock>, operator: TokenDigest) -> Self {
        Self(Arc::new(Inner {
            agents: Streams::new(log.clone(), clock.clone()),
            owners: Streams::new(log.clone(), clock.clone()),
            orgs: Streams::new(log.clone(), clock.clone()),
            contacts: Streams::new(log.clone(), clock.clone()),
            contact_turns: Turns::default(),
            keyrings: Streams::new(log, clock),
            operator,
            bearers: Bearers::default(),
            reaches: Reaches::default(),
            observed: HighWater::default(),
            consequences: OnceLock::new(),
            hosted: RwLock::default(),
            presence: OnceLock::new(),
            searches: OnceLock::new(),
            demands: OnceLock::new(),
            uses: Uses::default(),
            foreign: OnceLock::new(),
            guests: Guests::default(),
            issuer_proofs: OnceLock::new(),
        }))
    }

    /// Sets the handler that makes agents leave when they are blocked or deleted. Only the first call counts; until then
    /// evictions wait for [`Accounts::sweep`].
    pub fn set_consequences(&self, consequences: Arc<dyn Consequences>) {
        let _ = self.0.consequences.set(consequences);
    }
    /// Sets the source of connected agents. Only the first call counts; until then no agent counts as connected.
    pub fn set_presence(&self, presence: Arc<Presence>) {
        let _ = self.0.presence.set(presence);
    }
    /// Whether an agent has a live connection to this process.
    pub(crate) fn is_online(&self, handle: &AgentHandle) -> bool {
        self.0.presence.get().is_some_and(|presence| presence.is_online(handle))
    }
    pub(crate) fn consequences(&self) -> Option<&Arc<dyn Consequences>> {
        self.0.consequences.get()
    }
    pub(crate) fn log(&self) -> &Log {
        self.0.agents.log()
    }
    /// The current time.
    pub fn now(&self) -> TimestampMs {
        self.clock().now()
    }
    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        self.0.agents.clock()
    }

    /// An agent, with at least everything that this process has committed.
    pub fn agent<'a>(&'a self, handle: &'a AgentHandle) -> Sealed<'a, Result<KnownAgent, Fault>> {
        seal(self.known_agent(handle))
    }

    /// The same within this crate, without an allocation.
    pub(crate) async fn known_agent(&self, handle: &AgentHandle) -> Result<KnownAgent, Fault> {
        let LookedUp { state, version, upon, .. } = self.0.agents.look_up(handle.as_str()).await?;
        Ok(KnownAgent { handle: handle.clone(), state, version, upon })
    }

    /// Loads agents that are needed next, with few reads.
    pub(crate) async fn load(&self, handles: &[AgentHandle]) {
        let ids: Vec<_> = handles.iter().map(AgentHandle::as_str).collect();
        self.0.agents.load_short(&ids).await;
    }

    /// The same as [`Accounts::agent`], and whether the store was read.
    pub fn look_agent_up<'a>(
        &'a self,
        handle: &'a AgentHandle,
    ) -> Sealed<'a, Result<(KnownAgent, bool), Fault>> {
        seal(async move {
            let LookedUp { state, version, upon, was_read } = self.0.agents.look_up(handle.as_str()).await?;
            Ok((KnownAgent { handle: handle.clone(), state, version, upon }, was_read))
        })
    }

    /// Reads the store for an agent that was in memory. Where the answer must not reveal whether an agent exists, an
    /// agent in memory then takes as long as an absent one, which prevents a timing side channel
    /// (ASP-18, ASP-19).
    pub fn imitate_load<'a>(&'a self, agent: &'a KnownAgent) -> Sealed<'a, Result<(), Fault>> {
        seal(async move { self.0.agents.imitate_load(agent.handle.as_str()).await })
    }

    /// The same as [`Accounts::agent`], and everything that other processes have committed.
    pub fn fresh_agent<'a>(&'a self, handle: &'a AgentHandle) -> Sealed<'a, Result<KnownAgent, Fault>> {
        seal(async move {
            let (state, version) = self.0.agents.fresh(handle.as_str()).await?;
            Ok(KnownAgent { handle: handle.clone(), state, version, upon: None })
        })
    }

    /// An owner, with at least everything that this process has committed.
    pub fn owner<'a>(&'a self, owner: &'a OwnerName) -> Sealed<'a, Result<KnownOwner, Fault>> {
        seal(async move {
            let LookedUp { state, version, upon, .. } = self.0.owners.look_up(owner.as_str()).await?;
            Ok(KnownOwner { owner: owner.clone(), state, version, upon })
        })
    }

    /// The same, and everything that other processes have committed.
    pub fn fresh_owner<'a>(&'a self, owner: &'a OwnerName) -> Sealed<'a, Result<KnownOwner, Fault>> {
        seal(async move {
            let (state, version) = self.0.owners.fresh(owner.as_str()).await?;
            Ok(KnownOwner { owner: owner.clone(), state, version, upon: None })
        })
    }

    /// All agents that block an agent now, each with the version of the block on the blocker's stream.
    pub fn blockers<'a>(
        &'a self,
        blocked: &'a AgentHandle,
    ) -> Sealed<'a, Result<Vec<(AgentHandle, Version)>, Fault>> {
        seal(async move {
            let (prefix, mut blockers) = (format!("{blocked}/"), Vec::new());
            let mut rows = self.log().index_rows(BLOCKED_BY, &prefix, Order::Ascending);
            while let Some(row) = rows.next().await? {
                let blocker: AgentHandle = row.key[prefix.len()..]
                    .parse()
                    .map_err(|_| Fault::Corrupt(format!("{} in {BLOCKED_BY}", row.key)))?;
                // The state decides: the index keeps the rows of deleted blockers.
                let blocker_state = self.agent(&blocker).await?;
                if let Some(since) =
                    blocker_state.state.blocks_since(blocked).filter(|_| blocker_state.state.is_live())
                {
                    blockers.push((blocker, since.version));
                }
            }
            Ok(blockers)
        })
    }

    /// Creates an agent, and its owner if it is new.
    pub fn register_agent(&self, command: RegisterAgent) -> Sealed<'_, Result<KnownAgent, Failure>> {
        seal(async move {
            let handle = command.handle.clone();
            let command = RegisterWith { accounts: self, command };
            let execution = self.0.agents.execute(handle.as_str(), &command, None).await;
            self.0.reaches.note_change();
            let execution = execution?;
            if execution.reply.makes_owner {
                self.catch_up(&self.0.owners, handle.owner()).await?;
            }
            Ok(self.agent(&handle).await?)
        })
    }

    /// Changes an agent. Returns after all consequences have happened.
    pub fn edit_agent(&self, command: EditAgent) -> Sealed<'_, Result<KnownAgent, Failure>> {
        seal(async move { Ok(self.edit_agent_with_token(command).await?.0) })
    }

    /// The same, and the id of the issued token.
    pub(crate) async fn edit_agent_with_token(
        &self,
        command: EditAgent,
    ) -> Result<(KnownAgent, Option<String>), Failure> {
        let handle = command.handle.clone();
        let command = EditWith { accounts: self, command };
        let execution = self.0.agents.execute(handle.as_str(), &command, None).await;
        self.0.reaches.note_change();
        let execution = execution?;
        if let Some(eviction) = &execution.reply.eviction {
            self.evict(eviction).await?;
        }
        Ok((self.agent(&handle).await?, execution.reply.issued))
    }

    /// Gives an owner a token, and creates the owner if it is new.
    pub fn give_token<'a>(&'a self, command: &'a GiveToken) -> Sealed<'a, Result<(), Failure>> {
        seal(async move {
            // An owner's token would outlast the person's account at the issuer.
            let signed_in_at_issuer = self.signed_in_through(&command.authority).await?.is_some();
            let giving = GiveTokenWith { accounts: self, command, signed_in_at_issuer };
            self.0.owners.execute(command.owner.as_str(), &giving, None).await?;
            Ok(())
        })
    }

    /// Observes a committed event of this process or another one.
    pub fn observe(&self, event: &StoredEvent) {
        match event.stream.category() {
            AgentRoom::CATEGORY => {
                self.0.agents.observe(event);
                self.0.reaches.note_change();
            }
            OwnerRoom::CATEGORY => self.0.owners.observe(event),
            OrgRoom::CATEGORY => self.0.orgs.observe(event),
            ContactRoom::CATEGORY => self.0.contacts.observe(event),
            ConsoleRoom::CATEGORY => self.0.keyrings.observe(event),
            _ => {}
        }
    }

    /// Whether an authority's token is still valid, with the condition for the append.
    ///
    /// # Errors
    /// The fault of the store.
    pub fn holds<'a>(
        &'a self,
        authority: &'a Authority,
        conditions: &'a mut Vec<Condition>,
    ) -> Sealed<'a, Result<bool, Fault>> {
        seal(self.holds_with(authority, conditions, true))
    }

    async fn holds_with(
        &self,
        authority: &Authority,
        conditions: &mut Vec<Condition>,
        loads_person: bool,
    ) -> Result<bool, Fault> {
        let Some(token) = &authority.token else {
            return Ok(matches!(authority.by, Actor::Seed | Actor::Operator));
        };
        let holds = match (token.is_person(), loads_person) {
            (false, _) => true,
            (true, true) => self.person_holds(&authority.by, token, conditions).await?,
            (true, false) => self.session_holds(&authority.by, token, conditions).await?.is_some(),
        };
        if !holds {
            return Ok(false);
        }
        match &authority.by {
            Actor::Operator => Ok(token.is_person() || self.0.operator.matches(token)),
            Actor::Seed => Ok(true),
            Actor::Owner(owner) => {
                let owner = self.owner(owner).await?;
                conditions.push(owner.condition());
                Ok(owner.state.accepts_token(token))
            }
            Actor::Agent(agent) if token.is_guest() => self.guest_holds(agent, conditions).await,
            Actor::Agent(agent) => {
                let agent = self.agent(agent).await?;
                conditions.push(agent.condition());
                Ok(agent.state.accepts_token(token))
            }
        }
    }

    /// The same for a command on an agent's stream, whose lock is held now. The only agent that may act is the stream's own,
    /// and the decider checks its token; loading another agent's state here could deadlock, that of a session's person too.
    pub(crate) async fn holds_for_agent(
        &self,
        authority: &Authority,
        conditions: &mut Vec<Condition>,
    ) -> Result<bool, Fault> {
        match &authority.by {
            Actor::Agent(_) => Ok(true),
            Actor::Operator | Actor::Seed | Actor::Owner(_) => {
                self.holds_with(authority, conditions, false).await
            }
        }
    }

    /// Whether the token is in use.
    pub(crate) async fn is_token_in_use(&self, token: &TokenDigest) -> Result<bool, Fault> {
        let rows = self.log().read_index(TOKENS, &token.hex(), None, 1, Order::Ascending).await?;
        Ok(self.0.operator.matches(token) || !rows.is_empty())
    }

    /// Whether an owner has reached its own limit of agents.
    pub(crate) async fn is_full(&self, owner: &OwnerName) -> Result<bool, Fault> {
        let prefix = format!("{owner}/");
        let rows =
            self.log().read_index(AGENTS, &prefix, None, AGENTS_PER_OWNER_MAX, Order::Ascending).await?;
        Ok(rows.len() >= AGENTS_PER_OWNER_MAX)
    }

    /// The live agents and people of an owner, or of all owners, by handle.
    pub fn agents_of<'a>(
        &'a self,
        owner: Option<&'a OwnerName>,
        max: usize,
    ) -> Sealed<'a, Result<Vec<KnownAgent>, Fault>> {
        seal(async move {
            let prefix = owner.map(|owner| format!("{owner}/")).unwrap_or_default();
            let (mut agents, mut after) = (Vec::new(), None::<String>);
            while agents.len() < max {
                let page_size = max - agents.len();
                let rows = self
                    .log()
                    .read_index(AGENTS, &prefix, after.as_deref(), page_size, Order::Ascending)
                    .await?;
                for row in &rows {
                    let agent = self.agent(&handle_of_key(&row.key)?).await?;
                    agents.extend(agent.state.is_live().then_some(agent));
                }
                match rows.last() {
                    Some(last) if rows.len() == page_size => after = Some(last.key.clone()),
                    _ => break,
                }
            }
            Ok(agents)
        })
    }

    /// Observes events that a command wrote to other streams, so that the next read sees them.
    pub(crate) async fn catch_up<R: Room>(&self, streams: &Streams<R>, id: &str) -> Result<(), Fault> {
        let (_, version) = streams.state(id).await?;
        for event in self.log().read_stream(&R::stream(id), version, READ_ROWS_MAX).await? {
            streams.observe(&event);
        }
        self.0.reaches.note_change();
        Ok(())
    }
}

#[async_trait]
impl Observer for Accounts {
    async fn committed(&self, events: &[StoredEvent]) {
        for event in events {
            self.observe(event);
        }
        if let Some(last) = events.last() {
            self.0.observed.raise(last.position);
        }
    }
}
