//! The decisions on a request. Pure.
//! Must not know: HTTP, the effects of an answer.

use plenary_accounts::{Actor, Authority};
use plenary_engine::Decision;
use plenary_kernel::{AgentHandle, Stamp, TimestampMs};

use crate::{
    AHEAD_MS_MAX, CHANGES_MAX,
    command::{
        AnswerFacts, AnswerRequest, AnsweredBy, AskFacts, HandleRequest, Handling, MakeRequest, PassTime,
        Source, WithdrawRequest,
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
pub fn make(
    state: &RequestState,
    asking: &AskFacts,
    stamp: &Stamp,
    command: &MakeRequest,
) -> RequestDecision {
    if !asking.holds {
        return Err(Rejection::Unauthenticated);
    }
    // The server may repeat the request for the same subject.
    if state.made.is_some() {
        return Ok(Decision::unchanged(()));
    }
    if !asking.knows_person {
        return Err(Rejection::UnknownPerson);
    }
    if command.deadline.is_some_and(|deadline| !is_ahead(deadline, stamp)) {
        return Err(Rejection::InvalidDeadline);
    }
    let of = RequestSubject {
        agent: command.agent.clone(),
        kind: command.kind,
        created: stamp.now,
        deadline: command.deadline,
        stranger: command.stranger.clone(),
    };
    let rule = asking.rule.clone().filter(|(_, answer)| command.allow.takes(*answer));
    if asking.is_full && rule.is_none() {
        return Err(Rejection::TooMany);
    }
    let made = RequestMade {
        of: of.clone(),
        to: command.to.clone(),
        allow: command.allow,
        on_timeout: command.on_timeout,
        tool: command.tool.clone(),
        notifies_inbox: command.notifies_inbox,
        by_server: command.source == Source::Server,
        content: command.content.clone(),
    };
    let mut events = vec![RequestEvent::RequestMade(made)];
    if let Some((rule, answer)) = rule {
        events.push(RequestEvent::RequestAnswered(RequestAnswered {
            of,
            answer,
            by: AnswerAuthor::Rule(rule),
            person: None,
            at: stamp.now,
            undo_until: None,
            rule: None,
            // The agent gets the answer in the response.
            notifies_inbox: false,
            said: "{}".into(),
        }));
    }
    Ok(Decision::new(events, ()))
}

fn is_ahead(time: TimestampMs, stamp: &Stamp) -> bool {
    time > stamp.now && time.0 - stamp.now.0 <= AHEAD_MS_MAX
}

/// The request, if the caller is the owner or the operator.
fn owned<'a>(state: &'a RequestState, authority: &Authority) -> Result<&'a Creation, Rejection> {
    let made = state.made.as_ref().ok_or(Rejection::NoSuchRequest)?;
    let may = match &authority.by {
        Actor::Operator => true,
        Actor::Owner(owner) => *owner == made.of.owner(),
        Actor::Agent(_) | Actor::Seed => false,
    };
    if may { Ok(made) } else { Err(Rejection::NoSuchRequest) }
}

/// `Err` with the reason if the request no longer waits.
fn waits(state: &RequestState, now: TimestampMs) -> Result<(), Rejection> {
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
    standing: &AnswerFacts,
    stamp: &Stamp,
    command: &AnswerRequest,
) -> RequestDecision {
    if !standing.holds {
        return Err(Rejection::Unauthenticated);
    }
    let made = match &command.by {
        AnsweredBy::Person(authority, _) => owned(state, authority)?,
        AnsweredBy::Link => state.made.as_ref().ok_or(Rejection::NoSuchRequest)?,
    };
    waits(state, stamp.now)?;
    if command.version.is_some_and(|version| version != state.version) {
        return Err(Rejection::StaleVersion);
    }
    if !made.allow.takes(command.answer.answer) {
        return Err(Rejection::NotAllowed);
    }
    if let Some(rule) = &command.rule {
        let is_plain = matches!(command.answer.answer, AnswerType::Accept | AnswerType::Ignore);
        let is_of_owner = rule.agent.owner() == made.of.agent.owner();
        if !is_plain || !is_of_owner || made.tool.is_none() || command.by == AnsweredBy::Link {
            return Err(Rejection::InvalidRule);
        }
        if standing.has_all_rules {
            return Err(Rejection::TooManyRules);
        }
    }
    let (by, person) = match &command.by {
        AnsweredBy::Person(authority, person) => (AnswerAuthor::Person(authority.by.clone()), person.clone()),
        AnsweredBy::Link => (AnswerAuthor::Link, None),
    };
    let undo_until = (command.undo_ms > 0).then(|| TimestampMs(stamp.now.0.saturating_add(command.undo_ms)));
    let event = RequestAnswered {
        of: made.of.clone(),
        answer: command.answer.answer,
        by,
        person,
        at: stamp.now,
        undo_until,
        rule: command.rule.clone(),
        notifies_inbox: made.notifies_inbox,
        said: command.answer.said.clone(),
    };
    Ok(Decision::new(vec![RequestEvent::RequestAnswered(event)], ()))
}

/// Decides `HandleRequest`.
pub fn handle(
    state: &RequestState,
    standing: &AnswerFacts,
    stamp: &Stamp,
    command: &HandleRequest,
) -> RequestDecision {
    if !standing.holds {
        return Err(Rejection::Unauthenticated);
    }
    let of = owned(state, &command.authority)?.of.clone();
    let by = command.authority.by.clone();
    let event = match &command.handling {
        Handling::Undo => match &state.progress {
            Progress::Answered { at, undo_until: Some(until), .. } if stamp.now < *until => {
                RequestEvent::AnswerUndone(AnswerUndone { of, by, answered: *at, undo_until: *until })
            }
            Progress::Answered { .. } => return Err(Rejection::TooLate),
            Progress::Open => return Err(Rejection::NotAnswered),
            Progress::Withdrawn => return Err(Rejection::Withdrawn),
            Progress::Expired => return Err(Rejection::Expired),
        },
        Handling::Snooze(until) => {
            waits(state, stamp.now)?;
            if !is_ahead(*until, stamp) {
                return Err(Rejection::InvalidUntil);
            }
            RequestEvent::RequestSnoozed(RequestSnoozed { of, by, until: *until })
        }
        Handling::Delegate(to) => {
            waits(state, stamp.now)?;
            if !standing.knows_person || !is_person(to, &of) {
                return Err(Rejection::UnknownPerson);
            }
            RequestEvent::RequestDelegated(RequestDelegated { of, by, to: to.clone() })
        }
        Handling::Link(digest, until) => {
            waits(state, stamp.now)?;
            RequestEvent::LinkMade(LinkMade { of, digest: *digest, until: *until })
        }
    };
    // Checked last, so that a request that has ended gets its own rejection.
    if state.changes >= CHANGES_MAX {
        return Err(Rejection::TooManyChanges);
    }
    Ok(Decision::new(vec![event], ()))
}

/// Whether the request may be delegated to this handle.
pub(crate) fn is_person(to: &AgentHandle, of: &RequestSubject) -> bool {
    to.owner() == of.agent.owner() && *to != of.agent
}

/// Decides `WithdrawRequest`. A repeated withdrawal changes nothing.
pub fn withdraw(
    state: &RequestState,
    holds: bool,
    stamp: &Stamp,
    command: &WithdrawRequest,
) -> RequestDecision {
    if !holds {
        return Err(Rejection::Unauthenticated);
    }
    let made = state.made.as_ref().ok_or(Rejection::NoSuchRequest)?;
    let may = match &command.source {
        Source::Server => made.by_server,
        Source::Agent(authority) => authority.by == Actor::Agent(made.of.agent.clone()) && !made.by_server,
    };
    if !may {
        return Err(Rejection::NoSuchRequest);
    }
    let (answered, undo_until) = match &state.progress {
        Progress::Open => (None, None),
        Progress::Answered { at, undo_until: Some(until), .. } => (Some(*at), Some(*until)),
        Progress::Answered { undo_until: None, .. } => return Err(Rejection::AlreadyAnswered),
        Progress::Withdrawn => return Ok(Decision::unchanged(())),
        Progress::Expired => return Err(Rejection::Expired),
    };
    let event = RequestWithdrawn { of: made.of.clone(), at: stamp.now, answered, undo_until };
    Ok(Decision::new(vec![RequestEvent::RequestWithdrawn(event)], ()))
}

/// Decides `PassTime`: an answer becomes final, or the deadline passes.
pub fn pass_time(state: &RequestState, stamp: &Stamp, _: PassTime) -> Decision<RequestEvent, ()> {
    let Some(made) = &state.made else { return Decision::unchanged(()) };
    let of = made.of.clone();
    let event = match &state.progress {
        Progress::Open if state.is_late(stamp.now) => {
            let answer = match made.on_timeout {
                OnTimeout::Accept => Some(AnswerType::Accept),
                OnTimeout::Ignore => Some(AnswerType::Ignore),
                OnTimeout::None => None,
            };
            RequestEvent::RequestExpired(RequestExpired {
                of,
                at: stamp.now,
                answer,
                notifies_inbox: made.notifies_inbox,
            })
        }
        Progress::Answered { answer, by, undo_until: Some(until), rule, .. } if stamp.now >= *until => {
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
                of,
                undo_until,
                at,
                rule,
                notifies_inbox: made.notifies_inbox,
            })
        }
        Progress::Open | Progress::Answered { .. } | Progress::Withdrawn | Progress::Expired => {
            return Decision::unchanged(());
        }
    };
    Decision::new(vec![event], ())
}
