//! Requests as the engine sees them: their streams, their indexes, and their commands with their facts.
//! Must not know: HTTP.

use std::convert::Infallible;

use bytes::Bytes;
use plenary_accounts::{AgentKind, Authority};
use plenary_engine::{Command, Conditions, Decided, Decision, Point, Room, SideEvents};
use plenary_kernel::{
    AgentHandle, AskId, OwnerName, RuleId, Stamp, TimestampMs, Version, limits::READ_ROWS_MAX,
};
use plenary_log::{Condition, Fault, IndexOp, Order};
use serde::{Deserialize, Serialize};

use crate::{
    OPEN_OF_STRANGERS_MAX, OPEN_PER_AGENT_MAX, OPEN_PER_OWNER_MAX, OPEN_PER_STRANGER_MAX, Requests,
    command::{
        AnswerFacts, AnswerRequest, AnsweredBy, AskFacts, HandleRequest, Handling, MakeRequest, PassTime,
        Source, WithdrawRequest,
    },
    decide::{self, Rejection},
    event::{AnswerAuthor, RequestEvent, RequestSubject},
    rules::{
        RuleRoom,
        event::{RuleEvent, RuleMade},
    },
    state::RequestState,
    underway::List,
    wire::{Kind, Phase},
};

/// The waiting requests by creation time: `<owner>/<created>/<request>`, with a [`Row`]. Under [`EVERYBODY`], those
/// of all owners.
pub(crate) const WAITING: &str = "requests.waiting";
/// The waiting requests that no stranger caused, by agent and without a row: `<agent>/<request>`.
pub(crate) const WAITING_OF: &str = "requests.waiting_of";
/// The waiting requests that strangers caused: `<owner>/<asking owner>/<request>`.
pub(crate) const WAITING_OF_STRANGERS: &str = "requests.waiting_of_strangers";
/// The closed requests by closing time: `<owner>/<at>/<request>`, with a [`Row`].
pub(crate) const CLOSED: &str = "requests.closed";
/// The timers: `<at>/<request>`.
pub(crate) const DUE: &str = "requests.due";
/// The requests whose outcome is in an agent's inbox: `<agent>/<at>/<request>`.
pub(crate) const OUTCOMES: &str = "requests.told";
/// The one-tap links: `<digest>`, with the request as the value.
pub(crate) const LINKS: &str = "requests.links";
/// The owner part of the keys of all requests; not a valid owner name.
pub(crate) const EVERYBODY: &str = "*";

/// The lists in which a new request counts towards a limit: that of its agent, or of the stranger that causes it, and
/// that of all.
pub(crate) fn limited_lists(agent: &AgentHandle, stranger: Option<&OwnerName>) -> [List; 2] {
    let all = format!("{}/", agent.owner());
    match stranger {
        Some(stranger) => [(WAITING_OF_STRANGERS, format!("{all}{stranger}/")), (WAITING_OF_STRANGERS, all)],
        None => [(WAITING_OF, format!("{agent}/")), (WAITING, all)],
    }
}

/// A time as part of a key, in sortable form.
pub(crate) fn time(at: TimestampMs) -> String {
    format!("{:020}", at.0)
}

/// The key of a request in the lists and in [`OUTCOMES`].
pub(crate) fn key(list: &str, at: TimestampMs, id: &str) -> String {
    format!("{list}/{}/{id}", time(at))
}

/// The data of a request in the lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) kind: Kind,
    pub(crate) agent: AgentHandle,
    /// Its state, apart from a snooze.
    pub(crate) phase: Phase,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) snoozed_until: Option<TimestampMs>,
}

fn row(subject: &RequestSubject, phase: Phase, snoozed_until: Option<TimestampMs>) -> Bytes {
    let row = Row { kind: subject.kind, agent: subject.agent.clone(), phase, snoozed_until };
    serde_json::to_vec(&row).expect("names and numbers can be written").into()
}

fn put(name: &'static str, key: String, value: Bytes) -> IndexOp {
    IndexOp::Put { name, key, value }
}

fn delete(name: &'static str, key: String) -> IndexOp {
    IndexOp::Delete { name, key }
}

/// An operation on both lists: that of the owner and that of everybody.
fn in_both_lists(subject: &RequestSubject, op: impl Fn(&str) -> IndexOp) -> [IndexOp; 2] {
    [op(subject.owner().as_str()), op(EVERYBODY)]
}

/// Adds a request to the waiting ones.
fn waiting_rows(id: &str, subject: &RequestSubject, snoozed_until: Option<TimestampMs>) -> Vec<IndexOp> {
    let mut ops = in_both_lists(subject, |list| {
        put(WAITING, key(list, subject.created, id), row(subject, Phase::Open, snoozed_until))
    })
    .to_vec();
    ops.push(match &subject.stranger {
        Some(stranger) => {
            put(WAITING_OF_STRANGERS, format!("{}/{stranger}/{id}", subject.owner()), Bytes::new())
        }
        None => put(WAITING_OF, format!("{}/{id}", subject.agent), Bytes::new()),
    });
    ops.extend(subject.deadline.map(|at| put(DUE, format!("{}/{id}", time(at)), Bytes::new())));
    ops
}

/// Moves a request from the waiting ones to the closed ones.
fn closed_rows(
    id: &str,
    subject: &RequestSubject,
    at: TimestampMs,
    (phase, notifies_inbox): (Phase, bool),
) -> Vec<IndexOp> {
    let mut ops = in_both_lists(subject, |list| delete(WAITING, key(list, subject.created, id))).to_vec();
    ops.push(match &subject.stranger {
        Some(stranger) => delete(WAITING_OF_STRANGERS, format!("{}/{stranger}/{id}", subject.owner())),
        None => delete(WAITING_OF, format!("{}/{id}", subject.agent)),
    });
    ops.extend(subject.deadline.map(|at| delete(DUE, format!("{}/{id}", time(at)))));
    ops.extend(in_both_lists(subject, |list| put(CLOSED, key(list, at, id), row(subject, phase, None))));
    ops.extend(notifies_inbox.then(|| outcome_row(id, subject, at)));
    ops
}

fn outcome_row(id: &str, subject: &RequestSubject, at: TimestampMs) -> IndexOp {
    put(OUTCOMES, key(subject.agent.as_str(), at, id), Bytes::new())
}

/// The streams `requests.request/<request>`.
#[derive(Debug)]
pub(crate) struct RequestRoom;

impl Room for RequestRoom {
    type State = RequestState;
    type Event = RequestEvent;
    const CATEGORY: &'static str = "requests.request";
    const SNAPSHOT_FORM: u16 = 3;

    fn evolve(state: &mut RequestState, version: Version, _: TimestampMs, event: &RequestEvent) {
        state.evolve(version, event);
    }
    /// A request counts towards its owner's quota. Events that end one count for nobody, and neither does a request
    /// that a stranger caused: on the stranger's account it would reveal whether the addressed agent exists.
    fn payer(_: &str, _: &RequestState, event: &RequestEvent) -> Option<OwnerName> {
        let subject = event.subject();
        match event {
            RequestEvent::RequestMade(_) | RequestEvent::LinkMade(_) => {
                subject.stranger.is_none().then(|| subject.owner())
            }
            RequestEvent::RequestSnoozed(_)
            | RequestEvent::RequestDelegated(_)
            | RequestEvent::AnswerUndone(_) => Some(subject.owner()),
            RequestEvent::RequestAnswered(_)
            | RequestEvent::AnswerSettled(_)
            | RequestEvent::RequestWithdrawn(_)
            | RequestEvent::RequestExpired(_) => None,
        }
    }
    fn index(id: &str, event: &RequestEvent) -> Vec<IndexOp> {
        let subject = event.subject();
        let due = |at: TimestampMs| format!("{}/{id}", time(at));
        match event {
            RequestEvent::RequestMade(_) => waiting_rows(id, subject, None),
            RequestEvent::RequestAnswered(event) => {
                let mut ops = closed_rows(id, subject, event.at, (Phase::Answered, false));
                ops.extend(event.undo_until.map(|until| put(DUE, due(until), Bytes::new())));
                ops.extend(outcome_op(
                    id,
                    subject,
                    event.at,
                    event.undo_until.is_none() && event.notifies_inbox,
                ));
                ops
            }
            RequestEvent::AnswerSettled(event) => {
                let mut ops = vec![delete(DUE, due(event.undo_until))];
                ops.extend(outcome_op(id, subject, event.at, event.notifies_inbox));
                ops
            }
            RequestEvent::AnswerUndone(event) => {
                let mut ops = waiting_rows(id, subject, None);
                ops.push(delete(DUE, due(event.undo_until)));
                ops.extend(in_both_lists(subject, |list| delete(CLOSED, key(list, event.answered, id))));
                // Both timers may be due at the same time: the one of the deadline stays.
                ops.extend(subject.deadline.map(|at| put(DUE, due(at), Bytes::new())));
                ops
            }
            RequestEvent::RequestSnoozed(event) => {
                let row = || row(subject, Phase::Open, Some(event.until));
                in_both_lists(subject, |list| put(WAITING, key(list, subject.created, id), row())).to_vec()
            }
            RequestEvent::RequestWithdrawn(event) => {
                let earlier_rows = event.answered.into_iter();
                let earlier_rows = earlier_rows
                    .flat_map(|at| in_both_lists(subject, |list| delete(CLOSED, key(list, at, id))));
                let mut ops: Vec<_> = earlier_rows.collect();
                ops.extend(event.undo_until.map(|until| delete(DUE, due(until))));
                ops.extend(closed_rows(id, subject, event.at, (Phase::Withdrawn, false)));
                ops
            }
            RequestEvent::RequestExpired(event) => {
                closed_rows(id, subject, event.at, (Phase::Expired, event.notifies_inbox))
            }
            RequestEvent::LinkMade(event) => {
                vec![put(LINKS, event.digest.hex(), Bytes::copy_from_slice(id.as_bytes()))]
            }
            RequestEvent::RequestDelegated(_) => Vec::new(),
        }
    }
}

fn outcome_op(id: &str, subject: &RequestSubject, at: TimestampMs, notifies_inbox: bool) -> Option<IndexOp> {
    notifies_inbox.then(|| outcome_row(id, subject, at))
}

/// A command with the room, which provides its facts.
pub(crate) struct CommandContext<'a, C> {
    pub(crate) requests: &'a Requests,
    pub(crate) id: AskId,
    pub(crate) command: C,
}

impl<C> CommandContext<'_, C> {
    async fn is_authorized(
        &self,
        authority: &Authority,
        conditions: &mut Vec<Condition>,
    ) -> Result<bool, Fault> {
        self.requests.accounts().holds(authority, conditions).await
    }

    /// Whether the owner has the named person; true if none is named.
    async fn knows(
        &self,
        person: Option<&AgentHandle>,
        agent: &AgentHandle,
        conditions: &mut Vec<Condition>,
    ) -> Result<bool, Fault> {
        let Some(person) = person else { return Ok(true) };
        if person.owner() != agent.owner() {
            return Ok(false);
        }
        // The default person of an owner needs no account.
        if person.name() == person.owner() {
            return Ok(true);
        }
        let named_person = self.requests.accounts().agent(person).await?;
        conditions.push(named_person.condition());
        Ok(named_person.state.is_live() && named_person.state.kind() == AgentKind::Person)
    }

    /// Whether the limit of waiting requests is reached. Requests of strangers have their own limit, so that they
    /// leave room for those of the owner's agents.
    async fn is_full(&self, agent: &AgentHandle, stranger: Option<&OwnerName>) -> Result<bool, Fault> {
        let [of_one, of_all] = limited_lists(agent, stranger);
        if stranger.is_some() {
            return Ok(self.has(&of_one, OPEN_PER_STRANGER_MAX).await?
                || self.has(&of_all, OPEN_OF_STRANGERS_MAX).await?);
        }
        if self.has(&of_one, OPEN_PER_AGENT_MAX).await? {
            return Ok(true);
        }
        let of_strangers = self.count(WAITING_OF_STRANGERS, &of_all.1, OPEN_OF_STRANGERS_MAX).await?;
        self.has(&of_all, OPEN_PER_OWNER_MAX + of_strangers).await
    }

    /// Whether a list has no room, if all requests that are being made find theirs.
    async fn has(&self, list: &List, limit: usize) -> Result<bool, Fault> {
        let room = limit.saturating_sub(self.requests.0.underway.others(list));
        Ok(self.count(list.0, &list.1, room).await? >= room)
    }

    /// The number of rows, up to `max`.
    async fn count(&self, index: &str, prefix: &str, max: usize) -> Result<usize, Fault> {
        let (mut count, mut after) = (0, None::<String>);
        while count < max {
            let page = READ_ROWS_MAX.min(max - count);
            let log = self.requests.log();
            let rows = log.read_index(index, prefix, after.as_deref(), page, Order::Ascending).await?;
            count += rows.len();
            if rows.len() < page {
                break;
            }
            after = rows.into_iter().next_back().map(|row| row.key);
        }
        Ok(count)
    }
}

impl Command<RequestRoom> for CommandContext<'_, MakeRequest> {
    const NAME: &'static str = "make_request";
    /// The id of the request: a repetition after a crash returns the existing one.
    type Reply = AskId;
    type Rejection = Rejection;
    type Facts = AskFacts;

    async fn facts(&self, state: &RequestState, conditions: &mut Conditions) -> Result<AskFacts, Fault> {
        let MakeRequest { source, agent, to, tool, directory, .. } = &self.command;
        let is_authorized = match source {
            Source::Agent(authority) => self.is_authorized(authority, conditions).await?,
            Source::Server => true,
        };
        if !is_authorized || state.creation.is_some() {
            return Ok(AskFacts { is_authorized, ..AskFacts::default() });
        }
        let knows_person = self.knows(to.as_ref(), agent, conditions).await?;
        let is_full = self.is_full(agent, self.command.stranger.as_ref()).await?;
        let rule = match tool {
            Some(tool) => {
                let rules = self.requests.rules().look_up(agent.owner()).await?;
                let now = self.requests.clock().now();
                let matching_rule = rules.state.newest_match(now, agent, tool, directory.as_deref());
                let rule = matching_rule.map(|rule| (rule.rule.clone(), rule.answer));
                // A rule that was removed meanwhile must not answer.
                let stream = RuleRoom::stream(agent.owner());
                conditions.push(Condition { stream, expected: rules.version, upon: rules.upon });
                rule
            }
            None => None,
        };
        Ok(AskFacts { is_authorized, knows_person, is_full, rule })
    }

    fn decide(&self, state: &RequestState, facts: &AskFacts, at: &Point) -> Decided<RequestRoom, Self> {
        let Decision { events, reply: () } = decide::make(state, facts, &at.stamp, &self.command)?;
        Ok(Decision::new(events, self.id.clone()))
    }
}

impl Command<RequestRoom> for CommandContext<'_, AnswerRequest> {
    const NAME: &'static str = "answer_request";
    type Reply = ();
    type Rejection = Rejection;
    type Facts = AnswerFacts;

    async fn facts(&self, state: &RequestState, conditions: &mut Conditions) -> Result<AnswerFacts, Fault> {
        let is_authorized = match &self.command.by {
            AnsweredBy::Person(authority, _) => self.is_authorized(authority, conditions).await?,
            AnsweredBy::Link => true,
        };
        let has_all_rules = match (&self.command.rule, &state.creation) {
            (Some(_), Some(creation)) => {
                let (rules, _) = self.requests.rules().state(creation.subject.agent.owner()).await?;
                rules.is_full(self.requests.clock().now())
            }
            (Some(_) | None, _) => false,
        };
        Ok(AnswerFacts { is_authorized, has_all_rules, knows_person: true })
    }

    fn decide(&self, state: &RequestState, facts: &AnswerFacts, at: &Point) -> Decided<RequestRoom, Self> {
        decide::answer(state, facts, &at.stamp, &self.command)
    }

    fn side_events(&self, decision: &Decision<RequestEvent, ()>, stamp: &Stamp) -> SideEvents {
        rules_of(&self.id, decision, stamp)
    }

    fn exceeds_quota(&self) -> bool {
        true
    }
}

/// The rules from final answers, as side events on the stream of their owner's rules.
fn rules_of(id: &AskId, decision: &Decision<RequestEvent, ()>, stamp: &Stamp) -> SideEvents {
    let mut side_events = SideEvents::default();
    for event in &decision.events {
        let rule_of_answer = match event {
            RequestEvent::RequestAnswered(event) if event.undo_until.is_none() => match &event.by {
                AnswerAuthor::Person(by) => event.rule.as_ref().map(|rule| (rule, event.answer, by)),
                AnswerAuthor::Rule(_) | AnswerAuthor::Link | AnswerAuthor::Deadline => None,
            },
            RequestEvent::AnswerSettled(event) => event
                .rule
                .as_ref()
                .map(|rule_of_answer| (&rule_of_answer.rule, rule_of_answer.answer, &rule_of_answer.by)),
            RequestEvent::RequestAnswered(_)
            | RequestEvent::RequestMade(_)
            | RequestEvent::AnswerUndone(_)
            | RequestEvent::RequestSnoozed(_)
            | RequestEvent::RequestDelegated(_)
            | RequestEvent::RequestWithdrawn(_)
            | RequestEvent::RequestExpired(_)
            | RequestEvent::LinkMade(_) => None,
        };
        let Some((rule, answer, by)) = rule_of_answer else { continue };
        let days = rule.expires_in_days.saturating_mul(24 * 3_600_000);
        let event = RuleMade {
            rule: RuleId::mint(stamp, 0),
            agent: rule.agent.clone(),
            tool: rule.tool.clone(),
            directory: rule.directory.clone(),
            answer,
            by: by.clone(),
            request: id.clone(),
            until: TimestampMs(stamp.now.0.saturating_add(days)),
        };
        let stream = RuleRoom::stream(rule.agent.owner());
        side_events.events.push((stream, RuleEvent::RuleMade(event).encode()));
    }
    side_events
}

impl Command<RequestRoom> for CommandContext<'_, HandleRequest> {
    const NAME: &'static str = "handle_request";
    /// When the link expires.
    type Reply = Option<TimestampMs>;
    type Rejection = Rejection;
    type Facts = AnswerFacts;

    async fn facts(&self, state: &RequestState, conditions: &mut Conditions) -> Result<AnswerFacts, Fault> {
        let is_authorized = self.is_authorized(&self.command.authority, conditions).await?;
        let knows_person = match (&self.command.handling, &state.creation) {
            (Handling::Delegate(to), Some(creation)) => {
                self.knows(Some(to), &creation.subject.agent, conditions).await?
            }
            (Handling::Delegate(_) | Handling::Undo | Handling::Snooze(_) | Handling::Link(_), _) => true,
        };
        Ok(AnswerFacts { is_authorized, has_all_rules: false, knows_person })
    }

    fn decide(&self, state: &RequestState, facts: &AnswerFacts, at: &Point) -> Decided<RequestRoom, Self> {
        let Decision { events, reply: () } = decide::handle(state, facts, &at.stamp, &self.command)?;
        let until = match self.command.handling {
            Handling::Link(ref link) => Some(link.until),
            Handling::Undo | Handling::Snooze(_) | Handling::Delegate(_) => None,
        };
        Ok(Decision::new(events, until))
    }
}

impl Command<RequestRoom> for CommandContext<'_, WithdrawRequest> {
    const NAME: &'static str = "withdraw_request";
    type Reply = ();
    type Rejection = Rejection;
    type Facts = bool;

    async fn facts(&self, _: &RequestState, conditions: &mut Conditions) -> Result<bool, Fault> {
        Ok(match &self.command.source {
            Source::Agent(authority) => self.is_authorized(authority, conditions).await?,
            Source::Server => true,
        })
    }

    fn decide(&self, state: &RequestState, is_authorized: &bool, at: &Point) -> Decided<RequestRoom, Self> {
        decide::withdraw(state, *is_authorized, &at.stamp, &self.command)
    }

    fn exceeds_quota(&self) -> bool {
        true
    }
}

impl Command<RequestRoom> for CommandContext<'_, PassTime> {
    const NAME: &'static str = "pass_time";
    type Reply = ();
    type Rejection = Infallible;
    type Facts = ();

    async fn facts(&self, _: &RequestState, _: &mut Conditions) -> Result<(), Fault> {
        Ok(())
    }

    fn decide(&self, state: &RequestState, (): &(), at: &Point) -> Decided<RequestRoom, Self> {
        Ok(decide::pass_time(state, &at.stamp, self.command))
    }

    fn side_events(&self, decision: &Decision<RequestEvent, ()>, stamp: &Stamp) -> SideEvents {
        rules_of(&self.id, decision, stamp)
    }

    fn exceeds_quota(&self) -> bool {
        true
    }
}
