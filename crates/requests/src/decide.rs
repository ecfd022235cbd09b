//! The decisions on a request. Pure.
//! Must not know: HTTP, the effects of an answer.

use plenary_accounts::{Actor, Authority};
use plenary_engine::Decision;
use plenary_kernel::{AgentHandle, Stamp, TimestampMs};

use crate::{
    AHEAD_MS_MAX, CHANGES_MAX,
    command::{
        AnswerFacts, AnswerRequest, AnsweredBy, AskFacts, HandleRequest, Handling, MakeRequest, NewLink,
        PassTime, Source, WithdrawRequest,
    },
    event::{
        AnswerAuthor, AnswerSettled, AnswerUndone, LinkMade, RequestAnswered, RequestDelegated, RequestEvent,
        RequestExpired, RequestMade, RequestSnoozed, RequestSubject, RequestWithdrawn, RuleOfAnswer,
    },
    state::{Creation, Progress, RequestState},
    wire::{AnswerType, OnTimeout},
};

/// Why a command is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    /// The token is no longer valid.
    Unauthenticated,
    /// The request does not exist, or not for the caller.
    NoSuchRequest,
    /// The limit of waiting requests is reached.
    TooMany,
    /// The deadline is in the past, or too far in the future.
    InvalidDeadline,
    /// The end of a snooze is in the past, or too far in the future.
    InvalidUntil,
    /// The owner has no person with that handle.
    UnknownPerson,
    /// The request does not allow this answer.
    NotAllowed,
    /// The request already has an answer.
    AlreadyAnswered,
    /// The agent withdrew it.
    Withdrawn,
    /// Its deadline passed.
    Expired,
    /// The answer is for another version.
    StaleVersion,
    /// This answer cannot become such a rule.
    InvalidRule,
    /// The limit of an owner's rules is reached.
    TooManyRules,
    /// The request has no answer.
    NotAnswered,
    /// The answer can no longer be undone.
    TooLate,
    /// The request was changed too often.
    TooManyChanges,
}

type RequestDecision = Result<Decision<RequestEvent, ()>, Rejection>;

/// Decides `MakeRequest`. A matching rule answers at once.
pub fn make(state: &RequestState, facts: &AskFacts, stamp: &Stamp, command: &MakeRequest) -> RequestDecision {
    if !facts.is_authorized {
        return Err(Rejection::Unauthenticated);
    }
    // The server may repeat the request for the same subject.
    if state.creation.is_some() {
        return Ok(Decision::unchanged(()));
    }
    if !facts.knows_person {
        return Err(Rejection::UnknownPerson);
    }
    if command.deadline.is_some_and(|deadline| !is_ahead(deadline, stamp)) {
        return Err(Rejection::InvalidDeadline);
    }
    let subject = RequestSubject {
        agent: command.agent.clone(),
        kind: command.kind,
        created: stamp.now,
        deadline: command.deadline,
        stranger: command.stranger.clone(),
    };
    let rule = facts.rule.clone().filter(|(_, answer)| command.allow.takes(*answer));
    if facts.is_full && rule.is_none() {
        return Err(Rejection::TooMany);
    }
    let event = RequestMade {
        subject: subject.clone(),
        to: command.to.clone(),
        allow: command.allow,
        on_timeout: command.on_timeout,
        tool: command.tool.clone(),
        notifies_inbox: command.notifies_inbox,
        by_server: command.source == Source::Server,
        content: command.content.clone(),
    };
    let mut events = vec![RequestEvent::RequestMade(event)];
    if let Some((rule, answer)) = rule {
        events.push(RequestEvent::RequestAnswered(RequestAnswered {
            subject,
            answer,
            by: AnswerAuthor::Rule(rule),
            person: None,
            at: stamp.now,
            undo_until: None,
            rule: None,
            // The agent gets the answer in the response.
            notifies_inbox: false,
            content: "{}".into(),
        }));
    }
    Ok(Decision::new(events, ()))
}

fn is_ahead(time: TimestampMs, stamp: &Stamp) -> bool {
    time > stamp.now && time.0 - stamp.now.0 <= AHEAD_MS_MAX
}

/// The request, if the caller is the owner or the operator.
fn owned_creation<'a>(state: &'a RequestState, authority: &Authority) -> Result<&'a Creation, Rejection> {
    let creation = state.creation.as_ref().ok_or(Rejection::NoSuchRequest)?;
    let may_see = match &authority.by {
        Actor::Operator => true,
        Actor::Owner(owner) => *owner == creation.subject.owner(),
        Actor::Agent(_) | Actor::Seed => false,
    };
    if may_see { Ok(creation) } else { Err(Rejection::NoSuchRequest) }
}

/// `Err` with the reason if the request no longer waits.
fn check_waiting(state: &RequestState, now: TimestampMs) -> Result<(), Rejection> {
    match &state.progress {
        Progress::Open if state.is_late(now) => Err(Rejection::Expired),
        Progress::Open => Ok(()),
        Progress::Answered { .. } => Err(Rejection::AlreadyAnswered),
        Progress::Withdrawn => Err(Rejection::Withdrawn),
        Progress::Expired => Err(Rejection::Expired),
    }
}

/// Decides `AnswerRequest`. The first answer counts.
pub fn answer(
    state: &RequestState,
    facts: &AnswerFacts,
    stamp: &Stamp,
    command: &AnswerRequest,
) -> RequestDecision {
    if !facts.is_authorized {
        return Err(Rejection::Unauthenticated);
    }
    let creation = match &command.by {
        AnsweredBy::Person(authority, _) => owned_creation(state, authority)?,
        AnsweredBy::Link => state.creation.as_ref().ok_or(Rejection::NoSuchRequest)?,
    };
    check_waiting(state, stamp.now)?;
    if command.version.is_some_and(|version| version != state.version) {
        return Err(Rejection::StaleVersion);
    }
    if !creation.allow.takes(command.answer.answer) {
        return Err(Rejection::NotAllowed);
    }
    if let Some(rule) = &command.rule {
        let is_plain = matches!(command.answer.answer, AnswerType::Accept | AnswerType::Ignore);
        let is_of_owner = rule.agent.owner() == creation.subject.agent.owner();
        if !is_plain || !is_of_owner || creation.tool.is_none() || command.by == AnsweredBy::Link {
            return Err(Rejection::InvalidRule);
        }
        if facts.has_all_rules {
            return Err(Rejection::TooManyRules);
        }
    }
    let (author, person) = match &command.by {
        AnsweredBy::Person(authority, person) => (AnswerAuthor::Person(authority.by.clone()), person.clone()),
        AnsweredBy::Link => (AnswerAuthor::Link, None),
    };
    let undo_until = (command.undo_ms > 0).then(|| TimestampMs(stamp.now.0.saturating_add(command.undo_ms)));
    let event = RequestAnswered {
        subject: creation.subject.clone(),
        answer: command.answer.answer,
        by: author,
        person,
        at: stamp.now,
        undo_until,
        rule: command.rule.clone(),
        notifies_inbox: creation.notifies_inbox,
        content: command.answer.content.clone(),
    };
    Ok(Decision::new(vec![RequestEvent::RequestAnswered(event)], ()))
}

/// Decides `HandleRequest`.
pub fn handle(
    state: &RequestState,
    facts: &AnswerFacts,
    stamp: &Stamp,
    command: &HandleRequest,
) -> RequestDecision {
    if !facts.is_authorized {
        return Err(Rejection::Unauthenticated);
    }
    let subject = owned_creation(state, &command.authority)?.subject.clone();
    let actor = command.authority.by.clone();
    let event = match &command.handling {
        Handling::Undo => match &state.progress {
            Progress::Answered { at, undo_until: Some(until), .. }
                if is_undoable((*at, *until), stamp.now) =>
            {
                RequestEvent::AnswerUndone(AnswerUndone {
                    subject,
                    by: actor,
                    answered: *at,
                    undo_until: *until,
                })
            }
            Progress::Answered { .. } => return Err(Rejection::TooLate),
            Progress::Open => return Err(Rejection::NotAnswered),
            Progress::Withdrawn => return Err(Rejection::Withdrawn),
            Progress::Expired => return Err(Rejection::Expired),
        },
        Handling::Snooze(until) => {
            check_waiting(state, stamp.now)?;
            if !is_ahead(*until, stamp) {
                return Err(Rejection::InvalidUntil);
            }
            RequestEvent::RequestSnoozed(RequestSnoozed { subject, by: actor, until: *until })
        }
        Handling::Delegate(to) => {
            check_waiting(state, stamp.now)?;
            if !facts.knows_person || !is_person(to, &subject) {
                return Err(Rejection::UnknownPerson);
            }
            RequestEvent::RequestDelegated(RequestDelegated { subject, by: actor, to: to.clone() })
        }
        Handling::Link(link) => {
            check_waiting(state, stamp.now)?;
            let NewLink { digest, until, through, person, receiver } = link.clone();
            RequestEvent::LinkMade(LinkMade { subject, digest, until, through, person, receiver })
        }
    };
    // Checked last, so that a request that has ended gets its own rejection.
    if state.changes >= CHANGES_MAX {
        return Err(Rejection::TooManyChanges);
    }
    Ok(Decision::new(vec![event], ()))
}

/// Whether an answer of the time `at` can still be undone. After the clock was set back the window is over too, unless that was
/// by less than its length.
fn is_undoable((at, until): (TimestampMs, TimestampMs), now: TimestampMs) -> bool {
    now.0.abs_diff(at.0) < until.0.saturating_sub(at.0)
}

/// Whether the request may be delegated to this handle.
pub(crate) fn is_person(to: &AgentHandle, subject: &RequestSubject) -> bool {
    to.owner() == subject.agent.owner() && *to != subject.agent
}

/// Decides `WithdrawRequest`. A repeated withdrawal changes nothing.
pub fn withdraw(
    state: &RequestState,
    is_authorized: bool,
    stamp: &Stamp,
    command: &WithdrawRequest,
) -> RequestDecision {
    if !is_authorized {
        return Err(Rejection::Unauthenticated);
    }
    let creation = state.creation.as_ref().ok_or(Rejection::NoSuchRequest)?;
    let may_withdraw = match &command.source {
        Source::Server => true,
        Source::Agent(authority) => {
            authority.by == Actor::Agent(creation.subject.agent.clone()) && !creation.by_server
        }
    };
    if !may_withdraw {
        return Err(Rejection::NoSuchRequest);
    }
    let (answered, undo_until) = match &state.progress {
        Progress::Open => (None, None),
        Progress::Answered { at, undo_until: Some(until), .. } => (Some(*at), Some(*until)),
        Progress::Answered { undo_until: None, .. } => return Err(Rejection::AlreadyAnswered),
        Progress::Withdrawn => return Ok(Decision::unchanged(())),
        Progress::Expired => return Err(Rejection::Expired),
    };
    let event = RequestWithdrawn { subject: creation.subject.clone(), at: stamp.now, answered, undo_until };
    Ok(Decision::new(vec![RequestEvent::RequestWithdrawn(event)], ()))
}

/// Decides `PassTime`: an answer becomes final, or the deadline passes.
pub fn pass_time(state: &RequestState, stamp: &Stamp, _: PassTime) -> Decision<RequestEvent, ()> {
    let Some(creation) = &state.creation else { return Decision::unchanged(()) };
    let subject = creation.subject.clone();
    let event = match &state.progress {
        Progress::Open if state.is_late(stamp.now) => {
            let answer = match creation.on_timeout {
                OnTimeout::Accept => Some(AnswerType::Accept),
                OnTimeout::Ignore => Some(AnswerType::Ignore),
                OnTimeout::None => None,
            };
            RequestEvent::RequestExpired(RequestExpired {
                subject,
                at: stamp.now,
                answer,
                notifies_inbox: creation.notifies_inbox,
            })
        }
        Progress::Answered { answer, by, at, undo_until: Some(until), rule }
            if !is_undoable((*at, *until), stamp.now) =>
        {
            let rule = match (by, rule) {
                (AnswerAuthor::Person(by), Some(rule)) => {
                    Some(RuleOfAnswer { rule: rule.clone(), answer: *answer, by: by.clone() })
                }
                (
                    AnswerAuthor::Person(_)
                    | AnswerAuthor::Rule(_)
                    | AnswerAuthor::Link
                    | AnswerAuthor::Deadline,
                    _,
                ) => None,
            };
            let (undo_until, at) = (*until, stamp.now);
            RequestEvent::AnswerSettled(AnswerSettled {
                subject,
                undo_until,
                at,
                rule,
                notifies_inbox: creation.notifies_inbox,
            })
        }
        Progress::Open | Progress::Answered { .. } | Progress::Withdrawn | Progress::Expired => {
            return Decision::unchanged(());
        }
    };
    Decision::new(vec![event], ())
}
