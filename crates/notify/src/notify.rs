//! The interface of this room for others, and its observer of commits.
//! Must not know: HTTP.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use plenary_accounts::{AccountEvent, Accounts, Actor, Authority};
use plenary_engine::{ExecuteError, Room as _, Streams};
use plenary_hub::{Observer, Reactor};
use plenary_kernel::{Clock, NoticeId, OwnerName, Shares, TimestampMs};
use plenary_log::{Fault, Log, StoredEvent};
use plenary_outward::TlsFault;
use plenary_requests::{Requests, is_request, owner_of};
use plenary_room::async_trait;
use tokio::sync::{Notify as Bell, OnceCell};

use crate::{
    Config, TESTS_PER_OWNER_MAX,
    delivery::{
        DeliveryCommand, DeliveryRoom, Unauthenticated,
        decide::{DeliveryStep, Outcome, Patience},
        event::DeliveryEvent,
    },
    matcher::{KnownReceivers, event_of},
    post::PostOrigins,
    push::Vapid,
    rates::MailRates,
    sender::Sender,
    subscription::{self, SubscriptionCommand, SubscriptionRoom, event::Subscription},
};

/// Most concurrent tests of all owners.
const TESTS_MAX: usize = 64;

/// Notifications of requests. Cheap to clone.
#[derive(Clone)]
pub struct Notify(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    accounts: Accounts,
    pub(crate) requests: Requests,
    pub(crate) subscriptions: Arc<Streams<SubscriptionRoom>>,
    pub(crate) deliveries: Streams<DeliveryRoom>,
    pub(crate) config: Config,
    pub(crate) sender: Sender,
    /// The room of requests that are no notifications.
    pub(crate) post_origins: OnceLock<Arc<dyn PostOrigins>>,
    pub(crate) tests: Shares<OwnerName>,
    pub(crate) mails: MailRates,
    /// The key that identifies this server to push services, after its first use.
    pub(crate) vapid: OnceCell<Vapid>,
    pub(crate) reactor: Reactor,
    /// When the next notification is due, as far as known; zero if it must be looked up.
    pub(crate) next_due: AtomicU64,
    /// Rung when a notification may be due earlier than known.
    pub(crate) bell: Bell,
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Notify {
    /// The room on a log.
    ///
    /// # Errors
    /// If TLS cannot be set up, or the configuration of the mail server is invalid; the error is text for people.
    pub fn new(
        log: Log,
        clock: Arc<dyn Clock>,
        accounts: Accounts,
        requests: Requests,
        config: Config,
    ) -> Result<Self, TlsFault> {
        let sender = Sender::new(&config)?;
        let subscriptions = Arc::new(Streams::new(log.clone(), clock.clone()));
        requests.set_link_receivers(Arc::new(KnownReceivers {
            subscriptions: subscriptions.clone(),
            accounts: accounts.clone(),
        }));
        Ok(Self(Arc::new(Inner {
            accounts,
            requests,
            subscriptions,
            deliveries: Streams::new(log.clone(), clock),
            sender,
            post_origins: OnceLock::new(),
            config,
            mails: MailRates::default(),
            tests: Shares::new(TESTS_MAX, TESTS_PER_OWNER_MAX),
            vapid: OnceCell::new(),
            reactor: Reactor::new(
                log,
                "notify/place",
                |event| match AccountEvent::of(event) {
                    Some(change) => matches!(change, AccountEvent::AgentDeleted(_)),
                    None => is_request(&event.stream) && event_of(&event.kind).is_some(),
                },
                // Owners do not delay each other.
                |event| match AccountEvent::of(event) {
                    Some(AccountEvent::AgentDeleted(agent)) => agent.owner_name().to_string(),
                    Some(_) | None => owner_of(event).map_or_else(String::new, |owner| owner.to_string()),
                },
            ),
            next_due: AtomicU64::new(0),
            bell: Bell::new(),
        })))
    }

    pub(crate) fn accounts(&self) -> &Accounts {
        &self.0.accounts
    }
    pub(crate) fn log(&self) -> &Log {
        self.0.deliveries.log()
    }
    pub(crate) fn now(&self) -> TimestampMs {
        self.0.deliveries.clock().now()
    }
    pub(crate) fn patience(&self) -> Patience {
        let Config { retry_first, retry_for, .. } = &self.0.config;
        Patience { first: milliseconds(*retry_first).max(1), all: milliseconds(*retry_for) }
    }

    /// Executes a command on a subscription.
    pub(crate) async fn subscribe(
        &self,
        owner: &OwnerName,
        authority: Authority,
        step: subscription::SubscriptionStep,
    ) -> Result<subscription::SubscriptionResult, ExecuteError<subscription::Rejection>> {
        let command = SubscriptionCommand { notify: self, authority, step };
        Ok(self.0.subscriptions.execute(owner.as_str(), &command, None).await?.reply)
    }

    /// Marks the receiver as gone: nothing is sent to it until a person changes the subscription.
    pub(crate) async fn mark_gone(
        &self,
        owner: &OwnerName,
        subscription: &Subscription,
    ) -> Result<(), Fault> {
        let authority = Authority { by: Actor::Operator, token: None };
        let step = subscription::SubscriptionStep::Gone(
            subscription.id.clone(),
            Box::new(subscription.target.clone()),
        );
        ExecuteError::skip_refused(self.subscribe(owner, authority, step).await).map(drop)
    }

    /// Executes a command on a notification.
    pub(crate) async fn deliver(
        &self,
        id: &NoticeId,
        step: DeliveryStep,
    ) -> Result<Outcome, ExecuteError<Unauthenticated>> {
        let command = DeliveryCommand { notify: self, step };
        Ok(self.0.deliveries.execute(id.as_str(), &command, None).await?.reply)
    }

    /// Executes a command of the server itself on a notification.
    pub(crate) async fn handle(&self, id: &NoticeId, step: DeliveryStep) -> Result<Outcome, Fault> {
        match self.deliver(id, step).await {
            Ok(done) => Ok(done),
            Err(ExecuteError::Fault(fault)) => Err(fault),
            Err(ExecuteError::OverQuota(exceeded)) => Err(exceeded.without_payer()),
            Err(ExecuteError::Rejected(Unauthenticated) | ExecuteError::KeyReused) => Ok(Outcome::Nothing),
        }
    }

    /// Notes that a notification is due at this time.
    fn note_due(&self, due: Option<TimestampMs>) {
        if let Some(due) = due {
            self.0.next_due.fetch_min(due.0, Ordering::AcqRel);
            self.0.bell.notify_one();
        }
    }
}

#[async_trait]
impl Observer for Notify {
    async fn committed(&self, events: &[StoredEvent]) {
        self.0.reactor.add(events);
        for event in events {
            match event.stream.category() {
                SubscriptionRoom::CATEGORY => self.0.subscriptions.observe(event),
                DeliveryRoom::CATEGORY => {
                    self.0.deliveries.observe(event);
                    // Notifications of other processes are due here too, in case those processes die.
                    self.note_due(DeliveryEvent::decode(event).ok().and_then(|event| event.due()));
                }
                _ => {}
            }
        }
    }
}
