//! Contact requests as the engine sees them: the optional handshake after which two agents are on each other's
//! allowlists (wire.md D.1, 2.5 row 19).
//! Must not know: HTTP.

pub mod command;
mod decide;
#[cfg(test)]
mod decide_tests;
pub mod event;
pub(crate) mod open_requests;
pub mod state;

use bytes::Bytes;
use plenary_engine::{Command, Conditions, Decided, Decision, Point, Room, Sealed, SideEvents, seal};
use plenary_kernel::{AgentHandle, ContactId, EventId, OwnerName, Stamp, TimestampMs, Version};
use plenary_log::{Batch, Fault, IndexOp, NewEvent, Order, RowOp, Usage};

use crate::{
    Accounts, Actor, AgentCaller, AgentRoom, Authority, Failure, Rejection,
    agent::event::{AgentEvent, AllowedEntries},
    inbox::{Notice, NoticeKind},
    index::{CONTACTS_PENDING, CONTACTS_PENDING_TO},
    limits::{CONTACTS_PENDING_MAX, CONTACTS_PENDING_TO_MAX},
    trust::blocked_between,
};
use command::{AnswerContact, ContactFacts, RequestContact, RequestedContact};
use event::ContactEvent;
use state::ContactState;

/// What a request counts beside its message, which is also in the notice: both events, and those of an answer.
const REQUEST_USAGE: Usage = Usage { bytes: 1_024, events: 4 };

/// The streams `accounts.contact/<req_…>`.
#[derive(Debug)]
pub struct ContactRoom;

impl ContactRoom {
    /// The category of its streams.
    pub const STREAMS: &str = "accounts.contact";
}

impl Room for ContactRoom {
    type State = ContactState;
    type Event = ContactEvent;
    const CATEGORY: &'static str = Self::STREAMS;
    const SNAPSHOT_FORM: u16 = 1;

    fn evolve(state: &mut ContactState, _: Version, _: TimestampMs, event: &ContactEvent) {
        state.evolve(event);
    }
    /// That a request is repeated tells that the earlier one reached nobody, and an answer that somebody is there: the
    /// request pays for all of it.
    fn payer(_: &str, _: &ContactState, event: &ContactEvent) -> Option<OwnerName> {
        match event {
            ContactEvent::ContactRequested(event) => Some(event.from.owner_name()),
            ContactEvent::ContactRepeated(_)
            | ContactEvent::ContactAccepted(_)
            | ContactEvent::ContactDeclined(_) => None,
        }
    }
    /// The size of a request tells whether it reaches anybody.
    fn fixed_usage(event: &ContactEvent) -> Option<Usage> {
        let ContactEvent::ContactRequested(event) = event else { return None };
        let message = event.message.as_ref().map_or(0, String::len) as u64;
        Some(REQUEST_USAGE.plus(Usage { bytes: 2 * message, events: 0 }))
    }
    fn index(id: &str, event: &ContactEvent) -> Vec<IndexOp> {
        // For the asking one, a request whose answer is withheld is unanswered.
        let answered = |from, to, withheld| {
            let deletes = [
                IndexOp::delete(CONTACTS_PENDING, pending_key(from, to)),
                IndexOp::delete(CONTACTS_PENDING_TO, pending_to_key(from, to)),
            ];
            if withheld { Vec::new() } else { deletes.to_vec() }
        };
        match event {
            ContactEvent::ContactRequested(event) => {
                vec![
                    IndexOp::put_value(CONTACTS_PENDING, pending_key(&event.from, &event.to), id.to_owned()),
                    IndexOp::put(CONTACTS_PENDING_TO, pending_to_key(&event.from, &event.to)),
                ]
            }
            ContactEvent::ContactRepeated(_) => Vec::new(),
            ContactEvent::ContactAccepted(event) => answered(&event.from, &event.to, event.withheld),
            ContactEvent::ContactDeclined(event) => answered(&event.from, &event.to, event.withheld),
        }
    }
}

fn pending_key(from: &AgentHandle, to: &AgentHandle) -> String {
    format!("{from}/{to}")
}

/// The prefix of the requests of an owner's agents to an agent.
fn pending_to_prefix(from: &AgentHandle, to: &AgentHandle) -> String {
    format!("{to}/{}/", from.owner())
}

fn pending_to_key(from: &AgentHandle, to: &AgentHandle) -> String {
    format!("{}{from}", pending_to_prefix(from, to))
}

/// The row that every new request of an owner's agents replaces, so that parallel ones are decided one after the other: of two
/// agents only one is made, and none passes a limit.
fn owner_row(from: &AgentHandle) -> String {
    format!("accounts.contacts_of/{}", from.owner())
}

struct RequestContactWith<'a> {
    accounts: &'a Accounts,
    command: RequestContact,
}

impl Command<ContactRoom> for RequestContactWith<'_> {
    const NAME: &'static str = "request";
    type Reply = RequestedContact;
    type Rejection = Rejection;
    type Facts = ContactFacts;

    async fn facts(&self, _: &ContactState, conditions: &mut Conditions) -> Result<ContactFacts, Fault> {
        let RequestContact { authority, from, to, .. } = &self.command;
        let (target, was_read) = self.accounts.look_agent_up(to).await?;
        if !was_read {
            self.accounts.imitate_load(&target).await?;
        }
        let mut facts = self.accounts.contact_facts(authority, Some((from, to)), conditions).await?;
        // Before the index: a request in between replaces the row, and this one is decided again.
        let row = self.accounts.log().read_row(&owner_row(from)).await?;
        facts.revision = row.map_or(0, |row| row.revision);
        facts.unanswered = self.accounts.unanswered_contact(from, to).await?;
        // Withheld requests count as well, so that the limits tell nothing either.
        let pending = [
            (CONTACTS_PENDING, format!("{from}/"), CONTACTS_PENDING_MAX),
            (CONTACTS_PENDING_TO, pending_to_prefix(from, to), CONTACTS_PENDING_TO_MAX),
        ];
        for (index, prefix, max) in pending {
            let rows = self.accounts.log().read_index(index, &prefix, None, max, Order::Ascending).await?;
            facts.is_full |= rows.len() >= max;
        }
        Ok(facts)
    }

    fn decide(&self, state: &ContactState, facts: &ContactFacts, _: &Point) -> Decided<ContactRoom, Self> {
        decide::request(state, facts, &self.command)
    }

    fn side_events(&self, decision: &Decision<ContactEvent, RequestedContact>, stamp: &Stamp) -> SideEvents {
        let RequestContact { id, from, to, .. } = &self.command;
        let mut side_events = SideEvents::default();
        for event in &decision.events {
            let (withheld, message) = match event {
                ContactEvent::ContactRequested(event) => {
                    side_events.rows.push(RowOp {
                        name: owner_row(from),
                        expected: Some(decision.reply.revision),
                        value: Some(Bytes::new()),
                    });
                    (event.withheld, &event.message)
                }
                ContactEvent::ContactRepeated(event) => (false, &event.message),
                ContactEvent::ContactAccepted(_) | ContactEvent::ContactDeclined(_) => continue,
            };
            let notice = notice(stamp, id, from, to, message.clone());
            side_events.events.push(notice.event(NoticeKind::Requested, to, withheld));
        }
        side_events
    }
}

struct AnswerContactWith<'a> {
    accounts: &'a Accounts,
    command: AnswerContact,
}

impl Command<ContactRoom> for AnswerContactWith<'_> {
    const NAME: &'static str = "answer";
    type Reply = ();
    type Rejection = Rejection;
    type Facts = ContactFacts;

    async fn facts(&self, state: &ContactState, conditions: &mut Conditions) -> Result<ContactFacts, Fault> {
        let pair = state.pair.as_ref().map(|(from, to)| (from, to));
        self.accounts.contact_facts(&self.command.authority, pair, conditions).await
    }

    fn decide(&self, state: &ContactState, facts: &ContactFacts, _: &Point) -> Decided<ContactRoom, Self> {
        decide::answer(state, facts, &self.command)
    }

    fn side_events(&self, decision: &Decision<ContactEvent, ()>, stamp: &Stamp) -> SideEvents {
        let mut side_events = SideEvents::default();
        let id = &self.command.id;
        for event in &decision.events {
            match event {
                ContactEvent::ContactAccepted(event) => {
                    if event.listed_by_from {
                        side_events.events.push(listing(&event.by, &event.from, &event.to));
                    }
                    if event.listed_by_to {
                        side_events.events.push(listing(&event.by, &event.to, &event.from));
                    }
                    let notice = notice(stamp, id, &event.from, &event.to, None);
                    side_events.events.push(notice.event(NoticeKind::Accepted, &event.from, event.withheld));
                }
                ContactEvent::ContactDeclined(event) => {
                    let notice = notice(stamp, id, &event.from, &event.to, None);
                    side_events.events.push(notice.event(NoticeKind::Declined, &event.from, event.withheld));
                }
                ContactEvent::ContactRequested(_) | ContactEvent::ContactRepeated(_) => {}
            }
        }
        side_events
    }
}

fn notice(
    stamp: &Stamp,
    id: &ContactId,
    from: &AgentHandle,
    to: &AgentHandle,
    message: Option<String>,
) -> Notice {
    let (request, from, to) = (id.clone(), from.clone(), to.clone());
    Notice { id: EventId::mint(stamp, 0), request, from, to, message }
}

/// An entry for one agent's allowlist. The append is held to the version at which that list was read; an
/// `EntriesAllowed` changes no index.
fn listing(actor: &Actor, agent: &AgentHandle, entry: &AgentHandle) -> (plenary_log::StreamName, NewEvent) {
    // The request pays for its answer.
    let allowed = AllowedEntries { by: actor.clone(), entries: vec![entry.into()], counted: false };
    let event = AgentEvent::EntriesAllowed(allowed);
    (AgentRoom::stream(agent.as_str()), event.encode())
}

impl Accounts {
    /// Asks another agent for contact. The answer is the same whether or not there is anybody to ask; asked again
    /// before it was answered, it is the same request.
    pub fn request_contact<'a>(
        &'a self,
        caller: &'a AgentCaller,
        to: &'a AgentHandle,
        message: Option<String>,
    ) -> Sealed<'a, Result<ContactId, Failure>> {
        seal(async move {
            let from = &caller.handle;
            // Otherwise many parallel requests of this process conflict in the owner's row, and try again.
            let _turn = self.0.contact_turns.turn(("contacts".to_owned(), from.owner().to_owned())).await;
            let unanswered = self.unanswered_contact(from, to).await?;
            let id = unanswered.unwrap_or_else(|| ContactId::mint(&self.clock().stamp(), 0));
            let command = RequestContact {
                authority: caller.authority(),
                id: id.clone(),
                from: from.clone(),
                to: to.clone(),
                message,
            };
            let command = RequestContactWith { accounts: self, command };
            Ok(self.0.contacts.execute(id.as_str(), &command, None).await?.reply.id)
        })
    }

    /// The request of an agent to another that, for the asking one, is unanswered.
    pub fn unanswered_contact<'a>(
        &'a self,
        from: &'a AgentHandle,
        to: &'a AgentHandle,
    ) -> Sealed<'a, Result<Option<ContactId>, Fault>> {
        seal(async move {
            let key = pending_key(from, to);
            let rows = self.log().read_index(CONTACTS_PENDING, &key, None, 1, Order::Ascending).await?;
            let Some(row) = rows.first().filter(|row| row.key == key) else { return Ok(None) };
            let id = std::str::from_utf8(&row.value).ok().and_then(|id| id.parse().ok());
            id.map(Some).ok_or_else(|| Fault::Corrupt(format!("{key} in {CONTACTS_PENDING}")))
        })
    }

    /// Answers a request. Accepting puts each of the two on the other's allowlist, in one append.
    pub fn answer_contact(&self, command: AnswerContact) -> Sealed<'_, Result<(), Failure>> {
        seal(async move {
            let id = command.id.clone();
            self.0
                .contacts
                .execute(id.as_str(), &AnswerContactWith { accounts: self, command }, None)
                .await?;
            let (state, _) = self.0.contacts.state(id.as_str()).await?;
            if let Some((from, to)) = &state.pair {
                self.catch_up(&self.0.agents, from.as_str()).await?;
                self.catch_up(&self.0.agents, to.as_str()).await?;
            }
            Ok(())
        })
    }

    /// Whether a request waits for an answer, and the two are in each other's reach.
    pub fn awaits_answer<'a>(&'a self, request: &'a ContactId) -> Sealed<'a, Result<bool, Fault>> {
        seal(async move {
            let (state, _) = self.0.contacts.fresh(request.as_str()).await?;
            self.is_in_reach(&state).await
        })
    }

    /// The same from the states in memory, which have everything that was dispatched.
    pub(crate) async fn is_request_open(&self, request: &str) -> Result<bool, Fault> {
        let (state, _) = self.0.contacts.observed(request).await?;
        self.is_in_reach(&state).await
    }

    async fn is_in_reach(&self, state: &ContactState) -> Result<bool, Fault> {
        let Some((from, to)) = state.pair.as_ref().filter(|_| state.answer.is_none()) else {
            return Ok(false);
        };
        let (from, to) = (self.known_agent(from).await?, self.known_agent(to).await?);
        Ok(from.state.is_live() && !blocked_between(&from, &to))
    }

    /// Writes a notice that nobody reads, in place of the request to the people of the asked agent: the number of
    /// events, which ids and cursors show, tells nobody whether such a request was made.
    pub fn withhold_request<'a>(&'a self, id: &'a ContactId) -> Sealed<'a, Result<(), Fault>> {
        seal(async move {
            let (state, _) = self.0.contacts.fresh(id.as_str()).await?;
            let Some((from, to)) = &state.pair else { return Ok(()) };
            let stamp = self.clock().stamp();
            let event = notice(&stamp, id, from, to, None).event(NoticeKind::Requested, to, true);
            let batch = Batch { at: stamp.now, events: vec![event], ..Batch::default() };
            self.log().append(batch).await.map(drop)
        })
    }

    async fn contact_facts(
        &self,
        authority: &Authority,
        pair: Option<(&AgentHandle, &AgentHandle)>,
        conditions: &mut Conditions,
    ) -> Result<ContactFacts, Fault> {
        let is_authorized = self.holds(authority, conditions).await?;
        let mut facts =
            ContactFacts { is_authorized, is_full: false, unanswered: None, revision: 0, pair: None };
        if let Some((from, to)) = pair {
            let (from, to) = (self.agent(from).await?, self.agent(to).await?);
            conditions.extend([from.condition(), to.condition()]);
            facts.pair = Some((from, to));
        }
        Ok(facts)
    }
}
