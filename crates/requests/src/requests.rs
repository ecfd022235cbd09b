//! The interface of this room for others: commands on requests, and their immediate effects.
//! Must not know: HTTP.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use plenary_accounts::{AccountEvent, Accounts, Authority, Watchers, recheck};
use plenary_edge::Origin;
use plenary_engine::{ExecuteError, Room as _, Sealed, Streams, seal};
use plenary_hub::Observer;
use plenary_kernel::{AgentHandle, AskId, Clock, OwnerName, RuleId, TimestampMs, limits::READ_ROWS_MAX};
use plenary_log::{Fault, Log, Order, StoredEvent};
use plenary_room::async_trait;

use crate::{
    WAITS_PER_OWNER_MAX,
    command::{
        Answer, AnswerRequest, AnsweredBy, HandleRequest, MakeRequest, PassTime, Source, WithdrawRequest,
    },
    decide::Rejection,
    event::RequestEvent,
    room::{CommandContext, RequestRoom, WAITING_OF, WAITING_OF_STRANGERS, limited_lists},
    rules::{RemoveRule, RuleRejection, RuleRoom},
    tap::LinkReceivers,
    underway::Underway,
    wire::Kind,
};

/// Why a command was not carried out.
pub(crate) type CommandError = ExecuteError<Rejection>;

/// The room of requests to people. Cheap to clone.
#[derive(Clone)]
pub struct Requests(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    accounts: Accounts,
    pub(crate) streams: Streams<RequestRoom>,
    rules: Streams<RuleRoom>,
    pub(crate) waiting: Watchers<OwnerName>,
    pub(crate) underway: Underway,
    /// When the next timer is due, as far as known; zero if it must be looked up.
    pub(crate) next_due: AtomicU64,
    /// When the timers were last looked at; 0 before the first look.
    pub(crate) looked_at: AtomicU64,
    pub(crate) origin: std::sync::OnceLock<Origin>,
    pub(crate) link_receivers: std::sync::OnceLock<Arc<dyn LinkReceivers>>,
}

impl Requests {
    /// The room on a log.
    pub fn new(log: Log, clock: Arc<dyn Clock>, accounts: Accounts) -> Self {
        Self(Arc::new(Inner {
            accounts,
            streams: Streams::new(log.clone(), clock.clone()),
            rules: Streams::new(log, clock),
            waiting: Watchers::new(WAITS_PER_OWNER_MAX),
            underway: Underway::default(),
            next_due: AtomicU64::new(0),
            looked_at: AtomicU64::new(0),
            origin: std::sync::OnceLock::new(),
            link_receivers: std::sync::OnceLock::new(),
        }))
    }

    pub(crate) fn accounts(&self) -> &Accounts {
        &self.0.accounts
    }
    pub(crate) fn log(&self) -> &Log {
        self.0.streams.log()
    }
    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        self.0.streams.clock()
    }
    pub(crate) fn rules(&self) -> &Streams<RuleRoom> {
        &self.0.rules
    }
    /// The time against which deadlines are checked.
    pub fn now(&self) -> TimestampMs {
        self.clock().now()
    }

    /// Makes a request to a person.
    pub(crate) async fn make(&self, id: &AskId, command: MakeRequest) -> Result<AskId, CommandError> {
        let deadline = command.deadline;
        let _counted = self.0.underway.begin(limited_lists(&command.agent, command.stranger.as_ref()));
        let context = CommandContext { requests: self, id: id.clone(), command };
        let outcome = self.0.streams.begin(id.as_str(), &context, None).await?;
        self.note_due(deadline);
        Ok(outcome.reply)
    }

    /// Makes a request in an agent's name, for another part of the server. An equal id is the same request. `false`
    /// if there is no room now: a limit or the quota is reached.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn ask(&self, id: &AskId, command: MakeRequest) -> Result<bool, Fault> {
        match self.make(id, command).await {
            Err(ExecuteError::Fault(fault)) => Err(fault),
            Err(ExecuteError::Rejected(Rejection::TooMany) | ExecuteError::OverQuota(_)) => Ok(false),
            // Any other rejection is permanent.
            Ok(_) | Err(ExecuteError::Rejected(_) | ExecuteError::KeyReused) => Ok(true),
        }
    }

    /// Withdraws a request in the server's own name; one that has ended stays unchanged.
    ///
    /// # Errors
    /// If the store fails.
    pub fn give_up<'a>(&'a self, id: &'a AskId) -> Sealed<'a, Result<(), Fault>> {
        seal(async move { ExecuteError::skip_refused(self.withdraw(id, Source::Server).await).map(drop) })
    }

    /// Withdraws what a deleted agent asked, because nobody waits for the answers, and the contact requests to it. What other
    /// parts of the server ask in its name, about runs and packages, ends with its subject.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn give_up_of(&self, agent: &AgentHandle) -> Result<(), Fault> {
        let (own, contacts) = (format!("{agent}/"), format!("{}/", agent.owner()));
        for (index, prefix) in [(WAITING_OF, own), (WAITING_OF_STRANGERS, contacts)] {
            let mut rows = self.log().index_rows(index, &prefix, Order::Ascending);
            while let Some(row) = rows.next().await? {
                let Some(Ok(id)) = row.key.rsplit('/').next().map(str::parse::<AskId>) else { continue };
                let request =
                    Fault::skip_corrupt(self.read(&id).await, "a damaged request is not withdrawn")?;
                let is_pointless = request.flatten().is_some_and(|request| {
                    request.view.from == *agent && (!request.by_server || request.view.kind == Kind::Contact)
                });
                if is_pointless {
                    self.give_up(&id).await?;
                }
            }
        }
        Ok(())
    }

    pub(crate) async fn answer(&self, id: &AskId, command: AnswerRequest) -> Result<(), CommandError> {
        let (owner, undo_ms) = (self.owner_of(id).await?, command.undo_ms);
        let makes_rule = command.rule.is_some() && undo_ms == 0;
        let context = CommandContext { requests: self, id: id.clone(), command };
        self.0.streams.execute(id.as_str(), &context, None).await?;
        if undo_ms > 0 {
            self.note_due(Some(TimestampMs(self.now().0.saturating_add(undo_ms))));
        }
        if let Some(owner) = owner.filter(|_| makes_rule) {
            self.refresh_rules(&owner).await;
        }
        Ok(())
    }

    /// Records an answer through a one-tap link.
    pub(crate) async fn answer_by_link(&self, id: &AskId, answer: Answer) -> Result<(), CommandError> {
        let by = AnsweredBy::Link;
        self.answer(id, AnswerRequest { by, answer, version: None, undo_ms: 0, rule: None }).await
    }

    pub(crate) async fn handle(
        &self,
        id: &AskId,
        command: HandleRequest,
    ) -> Result<Option<TimestampMs>, CommandError> {
        let context = CommandContext { requests: self, id: id.clone(), command };
        let outcome = self.0.streams.execute(id.as_str(), &context, None).await?;
        // After an undo, the deadline applies again.
        self.0.next_due.store(0, Ordering::Release);
        Ok(outcome.reply)
    }

    pub(crate) async fn withdraw(&self, id: &AskId, source: Source) -> Result<(), CommandError> {
        let context = CommandContext { requests: self, id: id.clone(), command: WithdrawRequest { source } };
        self.0.streams.execute(id.as_str(), &context, None).await?;
        Ok(())
    }

    /// Settles or expires a request.
    pub(crate) async fn pass_time(&self, id: &AskId) -> Result<(), Fault> {
        let context = CommandContext { requests: self, id: id.clone(), command: PassTime };
        ExecuteError::settled(self.0.streams.execute(id.as_str(), &context, None).await)?;
        if let Some(owner) = self.owner_of(id).await? {
            self.refresh_rules(&owner).await;
        }
        Ok(())
    }

    pub(crate) async fn remove_rule(
        &self,
        owner: &OwnerName,
        authority: Authority,
        rule: RuleId,
    ) -> Result<(), ExecuteError<RuleRejection>> {
        let command = RemoveRule { requests: self, authority, rule };
        self.0.rules.execute(owner.as_str(), &command, None).await?;
        Ok(())
    }

    async fn owner_of(&self, id: &AskId) -> Result<Option<OwnerName>, Fault> {
        let (state, _) = self.0.streams.state(id.as_str()).await?;
        Ok(state.creation.as_ref().map(|creation| creation.subject.owner()))
    }

    /// Applies the rules that came with an answer, so that the next request is matched against them. The answer is
    /// stored already and the observer applies the same events later, so a fault is only logged.
    async fn refresh_rules(&self, owner: &OwnerName) {
        if let Err(fault) = self.catch_up(owner).await {
            tracing::warn!(%fault, "the rules of an owner are applied later");
        }
    }

    async fn catch_up(&self, owner: &OwnerName) -> Result<(), Fault> {
        let (_, version) = self.0.rules.state(owner.as_str()).await?;
        let stream = RuleRoom::stream(owner.as_str());
        for event in self.log().read_stream(&stream, version, READ_ROWS_MAX).await? {
            self.0.rules.observe(&event);
        }
        Ok(())
    }

    /// Notes that a timer is due at this time.
    pub(crate) fn note_due(&self, due: Option<TimestampMs>) {
        if let Some(due) = due {
            self.0.next_due.fetch_min(due.0, Ordering::AcqRel);
        }
    }
}

#[async_trait]
impl Observer for Requests {
    async fn committed(&self, events: &[StoredEvent]) {
        for event in events {
            match event.stream.category() {
                RequestRoom::CATEGORY => {
                    self.0.streams.observe(event);
                    // The timers of other processes are due here too, in case those processes die.
                    self.note_due(RequestEvent::decode(event).ok().and_then(|event| event.due()));
                    self.0.waiting.wake(&event.stream, event.version);
                }
                RuleRoom::CATEGORY => self.0.rules.observe(event),
                // The wait of somebody who may no longer read the request ends at once.
                _ => AccountEvent::of(event).iter().for_each(|change| recheck(&self.0.waiting, change)),
            }
        }
    }
}
