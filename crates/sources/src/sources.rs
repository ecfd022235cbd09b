//! The sources of requests, and the events of the log that they react to.
//! Must not know: the effects.

use std::sync::Arc;

use plenary_accounts::{AccountEvent, Accounts, contact::ContactRoom};
use plenary_context::{
    Context,
    news::{asks_for_review, is_package, is_project},
};
use plenary_hub::{Observer, Reactor};
use plenary_kernel::{AgentHandle, text::is_hidden};
use plenary_log::{Log, StoredEvent};
use plenary_requests::{Requests, TITLE_CHARS_MAX, is_request};
use plenary_room::async_trait;
use plenary_runs::{EventKind, Runs, event::ThreadEvent};
use plenary_sessions::Sessions;
use tokio::sync::Notify;

use crate::invitations;

/// Makes requests to people from the events of other rooms. Cheap to clone.
#[derive(Clone)]
pub struct Sources(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) accounts: Accounts,
    pub(crate) context: Context,
    pub(crate) runs: Runs,
    pub(crate) requests: Requests,
    pub(crate) sessions: Sessions,
    pub(crate) reactor: Reactor,
    pub(crate) log: Log,
    /// Notified when there may be room for postponed requests.
    pub(crate) room: Notify,
}

/// Why an event is relevant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Concern {
    /// A run was held, waits, continued or ended.
    Run,
    /// A contact was requested or answered.
    Contact,
    /// An agent blocked another one, or lifted a block.
    Block,
    /// An agent was deleted.
    Deletion,
    /// A stranger invited an agent, or such an invitation was settled.
    Invitation,
    /// A package was deposited, or its review moved on.
    Package,
    /// A request has a final answer.
    Answer,
}

/// Whether a request stops waiting with this event, so that there is room for another one.
fn ends_request(event: &StoredEvent) -> bool {
    let ends = matches!(&*event.kind, "RequestAnswered" | "RequestWithdrawn" | "RequestExpired");
    ends && is_request(&event.stream)
}

/// Whether reviews of packages can be applied again after this event.
fn unarchives(event: &StoredEvent) -> bool {
    &*event.kind == "ProjectUnarchived" && is_project(&event.stream)
}

/// One line of a title, without invisible characters.
pub(crate) fn line(text: &str) -> String {
    let plain = text.chars().map(|c| if is_hidden(c) { ' ' } else { c });
    plain.take(TITLE_CHARS_MAX).collect()
}

/// The two agents of a block that began or ended.
pub(crate) fn blocked_pair(event: &StoredEvent) -> Option<[AgentHandle; 2]> {
    let AccountEvent::BlockChanged { blocker, blocked } = AccountEvent::of(event)? else { return None };
    Some([blocker, blocked])
}

pub(crate) fn deleted_agent(event: &StoredEvent) -> Option<AgentHandle> {
    let AccountEvent::AgentDeleted(agent) = AccountEvent::of(event)? else { return None };
    Some(agent)
}

/// Why an event is relevant; `None` if it is not.
pub(crate) fn concern(event: &StoredEvent) -> Option<Concern> {
    if is_request(&event.stream) {
        let settles = matches!(&*event.kind, "RequestAnswered" | "AnswerSettled" | "RequestExpired");
        return settles.then_some(Concern::Answer);
    }
    if is_package(&event.stream) {
        // Most deposits request no review.
        let is_silent = &*event.kind == "PackageDeposited" && !asks_for_review(event).unwrap_or(false);
        return (!is_silent).then_some(Concern::Package);
    }
    match (event.stream.category(), &*event.kind) {
        (Runs::CATEGORY, "RunResumed" | "CancelRequested" | "RunCompleted" | "QueuedRunCanceled") => {
            Some(Concern::Run)
        }
        (Runs::CATEGORY, "RunQueued") => {
            let is_held = match ThreadEvent::decode(event) {
                Ok(ThreadEvent::RunQueued(queued)) => queued.held,
                Ok(_) | Err(_) => false,
            };
            is_held.then_some(Concern::Run)
        }
        (Runs::CATEGORY, "EventEmitted") => {
            let waits = match ThreadEvent::decode(event) {
                Ok(ThreadEvent::EventEmitted(emitted)) => emitted.kind == EventKind::WaitForInput,
                Ok(_) | Err(_) => false,
            };
            waits.then_some(Concern::Run)
        }
        (ContactRoom::STREAMS, _) => Some(Concern::Contact),
        (Sessions::CATEGORY, _) => invitations::concerns(event).then_some(Concern::Invitation),
        _ => match AccountEvent::of(event)? {
            AccountEvent::BlockChanged { .. } => Some(Concern::Block),
            AccountEvent::AgentDeleted(_) => Some(Concern::Deletion),
            AccountEvent::ConsoleChanged
            | AccountEvent::OwnerChanged(_)
            | AccountEvent::AgentChanged(_)
            | AccountEvent::TokenRotated(_) => None,
        },
    }
}

impl Sources {
    /// The sources of a server.
    pub fn new(log: Log, accounts: Accounts, requests: Requests, rooms: (Sessions, Context, Runs)) -> Self {
        let (sessions, context, runs) = rooms;
        let reactor = Reactor::new(
            log.clone(),
            "sources/place",
            |event| concern(event).is_some(),
            // Each handler reads the current state, so that only events of one stream need their order. Owners do not
            // delay each other, and their appends share a flush.
            |event| event.stream.to_string(),
        );
        let room = Notify::new();
        Self(Arc::new(Inner { accounts, context, runs, requests, sessions, reactor, log, room }))
    }
}

#[async_trait]
impl Observer for Sources {
    async fn committed(&self, events: &[StoredEvent]) {
        self.0.reactor.add(events);
        if events.iter().any(|event| ends_request(event) || unarchives(event)) {
            self.0.room.notify_one();
        }
    }
}
