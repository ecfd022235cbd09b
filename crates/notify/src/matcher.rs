//! Turns events of requests into notifications, one for each matching subscription, and ends subscriptions with their
//! person. Idempotent: the id of a notification derives from its subject.
//! Must not know: how notifications are sent.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::try_join_all;
use plenary_accounts::{AccountEvent, Accounts, Actor, Authority};
use plenary_engine::{ExecuteError, Room as _, Streams};
use plenary_kernel::{
    AgentHandle, NoticeId, OwnerName, SubscriptionId, TimestampMs, Version, limits::READ_ROWS_MAX,
};
use plenary_log::{Fault, Order, StoredEvent, StreamName};
use plenary_requests::{
    LinkReceivers, Phase,
    wire::{Detail, RequestView},
};
use plenary_room::async_trait;

use crate::{
    EXCERPT_CHARS_MAX, Notify, QUEUED_OF_STRANGERS_MAX, QUEUED_PER_OWNER_MAX,
    delivery::{
        QUEUED, QUEUED_OF_STRANGERS,
        decide::{DeliveryStep, NewItem, Outcome},
        event::DeliverySubject,
    },
    hours::collected_until,
    subscription::{SubscriptionRoom, SubscriptionStep, event::Subscription, state::StoredSubscription},
    wire::{Event, Notice, RequestSummary, Target, Urgency},
};

const DELEGATED: &str = "RequestDelegated";

/// The event of a notification for an event of a request, if there is one.
pub(crate) fn event_of(kind: &str) -> Option<Event> {
    match kind {
        // To the new recipient a delegated request is new.
        "RequestMade" | DELEGATED => Some(Event::Created),
        "RequestAnswered" | "AnswerSettled" => Some(Event::Answered),
        "RequestWithdrawn" => Some(Event::Withdrawn),
        "RequestExpired" => Some(Event::Expired),
        _ => None,
    }
}

/// The beginning of the content.
fn excerpt(detail: &Detail) -> Option<String> {
    let Detail { command, text, document, diff } = detail;
    let first = [command, text, document, diff].into_iter().flatten().find(|text| !text.is_empty())?;
    Some(first.chars().take(EXCERPT_CHARS_MAX).collect())
}

/// The summary of a request for a notification.
fn about(view: RequestView, event: Event) -> RequestSummary {
    let command =
        view.action.as_ref().and_then(|action| action.args.get("command")?.as_str().map(str::to_owned));
    let detail = view.detail.unwrap_or_default();
    let excerpt = excerpt(&Detail { command: detail.command.clone().or(command), ..detail });
    let answer = view.answer.filter(|_| event != Event::Created);
    RequestSummary {
        urgency: Urgency::of(view.kind, view.created_at, view.deadline_at),
        request_id: view.request_id,
        kind: view.kind,
        title: view.title,
        from: view.from,
        to: view.to,
        action: view.action.map(|action| action.name),
        directory: view.directory,
        excerpt,
        allow: view.allow,
        choices: view.choices,
        created_at: view.created_at,
        deadline_at: view.deadline_at,
        answer: answer.as_ref().map(|answer| answer.answer),
        answered_by: answer.map(|answer| answer.author().to_owned()),
    }
}

impl Subscription {
    /// Whether the receiver is a person. People are not notified about requests that no longer wait; programs get
    /// everything.
    pub(crate) const fn is_for_people(&self) -> bool {
        !matches!(self.target, Target::Webhook { .. })
    }

    /// Whether the rule of an issuer that it depends on still exists, and its person was not deleted.
    async fn is_admitted(&self, accounts: &Accounts) -> Result<bool, Fault> {
        let is_deleted = match &self.person {
            Some(person) => accounts.fresh_agent(person).await?.state.is_deleted(),
            None => false,
        };
        Ok(!is_deleted && self.through.is_none_or(|rule| accounts.is_issuer_proof(&rule)))
    }
}

/// What the links in notifications end with.
pub(crate) struct KnownReceivers {
    pub(crate) subscriptions: Arc<Streams<SubscriptionRoom>>,
    pub(crate) accounts: Accounts,
}

#[async_trait]
impl LinkReceivers for KnownReceivers {
    async fn has(&self, owner: &OwnerName, receiver: &SubscriptionId) -> Result<bool, Fault> {
        let (state, _) = self.subscriptions.fresh(owner.as_str()).await?;
        match state.get(receiver) {
            Some(subscription) => subscription.is_admitted(&self.accounts).await,
            None => Ok(false),
        }
    }
}

impl Notify {
    /// Whether what the subscription depends on still exists.
    pub(crate) async fn is_admitted(&self, subscription: &Subscription) -> Result<bool, Fault> {
        subscription.is_admitted(self.accounts()).await
    }

    /// Removes the subscriptions of a deleted person: they end with it.
    async fn forget_person(&self, person: &AgentHandle) -> Result<(), Fault> {
        let owner = person.owner_name();
        let (state, _) = self.0.subscriptions.fresh(owner.as_str()).await?;
        for subscription in state.all.values().map(|stored| &stored.subscription) {
            if subscription.person.as_ref() == Some(person) {
                let authority = Authority { by: Actor::Operator, token: None };
                let step = SubscriptionStep::Remove(subscription.id.clone());
                ExecuteError::skip_refused(self.subscribe(&owner, authority, step).await)?;
            }
        }
        Ok(())
    }

    /// Whether a subscription is older than an event: it gets no events from before its creation. Their positions
    /// decide if their times do not: the clock may have been set back.
    async fn is_older(
        &self,
        stored: &StoredSubscription,
        owner: &OwnerName,
        event: &StoredEvent,
    ) -> Result<bool, Fault> {
        if stored.created_at <= event.at {
            return Ok(true);
        }
        let stream = StreamName::new(SubscriptionRoom::CATEGORY, owner.as_str());
        let before = Version(stored.created_in.0 - 1);
        let created = self.0.subscriptions.log().read_stream(&stream, before, 1).await?;
        Ok(created.first().is_some_and(|created| created.position < event.position))
    }

    /// Handles an event of a request, or the deletion of a person.
    pub(crate) async fn handle_event(&self, event: &StoredEvent) -> Result<(), Fault> {
        if let Some(AccountEvent::AgentDeleted(agent)) = AccountEvent::of(event) {
            return self.forget_person(&agent).await;
        }
        let (Some(kind), Ok(id)) = (event_of(&event.kind), event.stream.id().parse()) else { return Ok(()) };
        let Some(request) = self.0.requests.read(&id).await? else { return Ok(()) };
        // An answer that can still be undone is not final.
        if kind == Event::Answered && request.settled_version != Some(event.version) {
            return Ok(());
        }
        let owner = request.view.owner.clone();
        let (state, _) = self.0.subscriptions.fresh(owner.as_str()).await?;
        if state.all.is_empty() {
            return Ok(());
        }
        let is_open = matches!(request.view.state, Phase::Open | Phase::Snoozed);
        let stranger = request.stranger;
        let notice = Notice { event: kind, at: event.at.0, request: about(request.view, kind) };
        let is_past = kind == Event::Created && !is_open;
        let is_given = event.kind == DELEGATED;
        // A delegated request was announced before; only its new recipient is notified.
        let is_addressed = |subscription: &Subscription| {
            !is_given || subscription.person.is_some() && subscription.person == notice.request.to
        };
        let mut recipients = Vec::new();
        for stored in state.matching(&notice) {
            let subscription = &stored.subscription;
            if is_addressed(subscription)
                && !(is_past && subscription.is_for_people())
                && self.is_older(stored, &owner, event).await?
                && self.is_admitted(subscription).await?
            {
                recipients.push(subscription);
            }
        }
        if recipients.is_empty() {
            return Ok(());
        }
        let room = self.room(&owner, stranger.is_some()).await?;
        if room < recipients.len() {
            tracing::warn!(%owner, "notifications are left out: too many are on their way already");
        }
        let json = serde_json::to_vec(&notice).expect("texts, numbers, lists and flags can be written");
        let json = Bytes::from(json);
        let queued = recipients.into_iter().take(room).map(|subscription| {
            let (id, created) = (subscription.id.clone(), self.now());
            let subject = DeliverySubject { owner: owner.clone(), subscription: id, created };
            let (item, notice) = (event.position.0, json.clone());
            let new = NewItem { subject, item, digest: None, stranger: stranger.clone(), notice };
            self.queue(subscription, event.at, new)
        });
        // Concurrent appends share a commit.
        try_join_all(queued).await?;
        Ok(())
    }

    /// Queues a notification, alone or in a digest. The time of the event decides which one, so that an event that is
    /// handled again, after a restart or by another process, gets the same id.
    async fn queue(&self, subscription: &Subscription, at: TimestampMs, new: NewItem) -> Result<(), Fault> {
        let digest = collected_until(subscription.quiet.as_ref(), subscription.digest_minutes, at);
        let alone = NoticeId::of_source(&format!("{}/{}", subscription.id, new.item));
        let Some(end) = digest else {
            self.handle(&alone, DeliveryStep::Add(new)).await?;
            return Ok(());
        };
        // Handled before, when the subscription had no digest.
        if self.0.deliveries.fresh(alone.as_str()).await?.0.subject.is_some() {
            return Ok(());
        }
        let id = NoticeId::of_source(&format!("{}/digest/{}", subscription.id, end.0));
        let digest_item = NewItem { digest, ..new.clone() };
        if self.handle(&id, DeliveryStep::Add(digest_item)).await? == Outcome::Closed {
            // The digest was sent at this moment.
            self.handle(&alone, DeliveryStep::Add(new)).await?;
        }
        Ok(())
    }

    /// How many more notifications of an owner may be queued.
    pub(crate) async fn room(&self, owner: &OwnerName, of_strangers: bool) -> Result<usize, Fault> {
        const { assert!(QUEUED_PER_OWNER_MAX <= READ_ROWS_MAX && QUEUED_OF_STRANGERS_MAX <= READ_ROWS_MAX) };
        let (index, max) = if of_strangers {
            (QUEUED_OF_STRANGERS, QUEUED_OF_STRANGERS_MAX)
        } else {
            (QUEUED, QUEUED_PER_OWNER_MAX)
        };
        let prefix = format!("{owner}/");
        let rows = self.log().read_index(index, &prefix, None, max, Order::Ascending).await?;
        Ok(max.saturating_sub(rows.len()))
    }
}
