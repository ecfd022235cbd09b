//! The decisions on a contact request. Pure.
//!
//! A request to a handle that nobody has, or across a block, is answered and recorded like any other, so that the
//! asking one learns nothing; only the notice is withheld.

use plenary_engine::Decision;
use plenary_kernel::ContactId;

use super::{
    command::{AnswerContact, ContactFacts, RequestContact, RequestedContact},
    event::{ContactAccepted, ContactDeclined, ContactEvent, ContactRepeated, ContactRequested},
    state::{Answer, ContactState},
};
use crate::{Actor, KnownAgent, agent::new_entries, rejection::Rejection, trust::blocked_between};

type ContactDecision<R> = Result<Decision<ContactEvent, R>, Rejection>;

/// Whether what one of the two does may come to the other's knowledge.
fn in_reach(a: &KnownAgent, b: &KnownAgent) -> bool {
    a.state.is_live() && b.state.is_live() && !blocked_between(a, b)
}

/// Decides `RequestContact`. A repeated request is the same request; it changes something only when the other one
/// has come into reach meanwhile, so that a repetition tells nothing either. So it is with a request whose answer was
/// withheld: for the asking one it is unanswered.
pub(crate) fn request(
    state: &ContactState,
    facts: &ContactFacts,
    command: &RequestContact,
) -> ContactDecision<RequestedContact> {
    if !facts.is_authorized {
        return Err(Rejection::Revoked);
    }
    if command.from == command.to {
        return Err(Rejection::OwnContact);
    }
    let reply = |id: &ContactId| RequestedContact { id: id.clone(), revision: facts.revision };
    if let Some(other) = facts.unanswered.as_ref().filter(|id| **id != command.id) {
        return Ok(Decision::unchanged(reply(other)));
    }
    let is_reachable = facts.pair.as_ref().is_some_and(|(from, to)| in_reach(from, to));
    let message = command.message.clone();
    if state.pair.is_some() {
        let reached_nobody = match state.answer {
            None => state.withheld,
            Some(_) => state.answer_withheld,
        };
        let event = (is_reachable && reached_nobody)
            .then_some(ContactEvent::ContactRepeated(ContactRepeated { message }));
        return Ok(Decision::new(event.into_iter().collect(), reply(&command.id)));
    }
    if facts.is_full {
        return Err(Rejection::TooManyContacts);
    }
    let event = ContactRequested {
        from: command.from.clone(),
        to: command.to.clone(),
        withheld: !is_reachable,
        message,
    };
    Ok(Decision::new(vec![ContactEvent::ContactRequested(event)], reply(&command.id)))
}

/// Decides `AnswerContact`. Accepting changes allowlists: it needs the asked one's owner, or its leave to
/// configure itself (ASP-3, ASP-103).
pub(crate) fn answer(
    state: &ContactState,
    facts: &ContactFacts,
    command: &AnswerContact,
) -> ContactDecision<()> {
    if !facts.is_authorized {
        return Err(Rejection::Revoked);
    }
    let Some((from, to)) = &facts.pair else { return Err(Rejection::NotFound) };
    if state.withheld || !to.state.is_live() {
        return Err(Rejection::NotFound);
    }
    match &command.authority.by {
        Actor::Operator | Actor::Seed => {}
        Actor::Owner(owner) if owner.as_str() == to.handle.owner() => {}
        Actor::Agent(agent) if *agent == to.handle => {
            if command.answer == Answer::Accepted && !to.state.configures_itself() {
                return Err(Rejection::Forbidden);
            }
        }
        Actor::Owner(_) | Actor::Agent(_) => return Err(Rejection::NotFound),
    }
    match state.answer {
        Some(answer) if answer == command.answer => return Ok(Decision::unchanged(())),
        Some(_) => return Err(Rejection::ContactAnswered),
        None => {}
    }
    let by = command.authority.by.clone();
    let (withheld, from_handle, to_handle) = (!in_reach(from, to), from.handle.clone(), to.handle.clone());
    let event = match command.answer {
        Answer::Declined => {
            ContactEvent::ContactDeclined(ContactDeclined { by, from: from_handle, to: to_handle, withheld })
        }
        Answer::Accepted => {
            let listed_by_to = !new_entries(&to.state, &[(&from.handle).into()])?.is_empty();
            // The asked one must not learn that the asking one's list is full.
            let listed_by_from = !withheld
                && new_entries(&from.state, &[(&to.handle).into()]).is_ok_and(|entries| !entries.is_empty());
            ContactEvent::ContactAccepted(ContactAccepted {
                by,
                from: from_handle,
                to: to_handle,
                listed_by_from,
                listed_by_to,
                withheld,
            })
        }
    };
    Ok(Decision::new(vec![event], ()))
}
